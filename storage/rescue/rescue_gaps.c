/* SPDX-License-Identifier: MIT */
/* What the files as a whole have lost, or may have lost: nobody can say which rows. */
#include "storage/rescue/rescue_int.h"
#include "storage/schema.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

struct gaps {
    struct rescue *rescue;
    rescue_gap_fn *each;
    void *context;
};

static void report_gap(const struct gaps *gaps, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void report_gap(const struct gaps *gaps, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gaps->each(gaps->context, text);
}

/* ---- Files ---- */

/* What is wrong with a file, or NULL. */
static const char *trouble_of(const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return "is gone";
    return S_ISREG(st.st_mode) ? NULL : "is not a file";
}

static void report_database(const struct gaps *gaps)
{
    const char *trouble = trouble_of(gaps->rescue->paths.db);
    if (!trouble && gaps->rescue->pages.file.size == 0)
        trouble = "is empty";
    if (trouble)
        report_gap(gaps, "the database cairn.db %s: all that stood in it", trouble);
}

/* The marker exists only as long as the log holds commits. */
static void report_log(const struct gaps *gaps)
{
    const struct rescue *rescue = gaps->rescue;
    const struct wal *wal = &rescue->pages.wal;
    const char *trouble = trouble_of(rescue->paths.wal);
    size_t bad = 0;
    if (store_file(rescue->paths.marker, NULL, NULL, NULL) <= 0 ||
        ((trouble || wal_is_blank(wal)) && store_holds_last_commit(&rescue->paths)))
        return;
    if (!trouble && wal_is_blank(wal) && store_log_begun(&rescue->paths))
        trouble = "is empty";
    if (trouble)
        report_gap(
            gaps,
            "the write-ahead log cairn.db-wal %s: what was committed since the store "
            "was last closed",
            trouble);
    for (size_t i = 0; wal->state == WAL_DAMAGED && i < wal->committed; i++)
        bad += !wal->frames[i].whole;
    if (bad)
        report_gap(
            gaps,
            "%zu page%s in the write-ahead log: what was committed to %s, as far as it "
            "is not saved from what is left",
            bad, bad == 1 ? "" : "s", bad == 1 ? "it" : "them");
    else if (!trouble && store_lost_last_commit(&rescue->paths))
        report_gap(gaps,
                   "the end of the write-ahead log cairn.db-wal: the last of what "
                   "was committed since the store was last closed");
}

/* ---- Pages ---- */

/* As the newest commit states it, else the header of the database; 0: neither does. */
static uint32_t stated_pages(const struct pages *pages)
{
    assert(pages->wal.committed <= pages->wal.n);
    enum { HEADER = 100, PAGES = 28, CHANGES = 24, VALID_FOR = 92 };
    const uint8_t *first = pages_at(pages, 1);
    if (!first && pages->file.size >= HEADER)
        first = (const uint8_t *)pages->file.data;
    for (size_t i = pages->wal.committed; i-- > 0;)
        if (pages->wal.frames[i].commit)
            return pages->wal.frames[i].commit;
    bool good = first && memcmp(first, "SQLite format 3", 16) == 0 &&
                big32(first + CHANGES) == big32(first + VALID_FOR);
    return good ? big32(first + PAGES) : 0;
}

static bool is_zero(const struct pages *pages, const uint8_t *page)
{
    size_t i = 0;
    while (i < pages->page_size && page[i] == 0)
        i++;
    return i == pages->page_size;
}

static void report_pages(const struct gaps *gaps)
{
    assert(gaps->rescue->salvage.owner);
    const struct salvage *s = &gaps->rescue->salvage;
    const struct pages *pages = &gaps->rescue->pages;
    uint32_t stated = stated_pages(pages), zero = 0;
    uint32_t missing = stated > pages->n ? stated - pages->n : 0;
    for (uint32_t page = 1; page <= pages->n; page++) {
        const uint8_t *at = pages_at(pages, page);
        missing += !at;
        /* Page 1 leads to the list of free pages. */
        zero += at && s->owner[1] && s->owner[page] == 0 && is_zero(pages, at);
    }
    if (missing)
        report_gap(
            gaps, "%u of %u pages of the database, which was cut off: what stood there",
            missing, stated > pages->n ? stated : pages->n);
    if (zero)
        report_gap(
            gaps,
            "%u page%s of the database, which hold%s only zeros: what stood there",
            zero, zero == 1 ? "" : "s", zero == 1 ? "s" : "");
    if (s->bad_tables > (size_t)missing + zero)
        report_gap(
            gaps,
            "%zu damaged page%s of tables, as far as rows on them are not saved from "
            "what is left",
            s->bad_tables - missing - zero,
            s->bad_tables - missing - zero == 1 ? "" : "s");
}

/* ---- Tables ---- */

/* Where the table of tables cannot be read, rows are found by their shape. */
static void report_tables(const struct gaps *gaps)
{
    enum { USER_VERSION = 60 };
    const struct salvage *s = &gaps->rescue->salvage;
    const uint8_t *first = pages_at(&gaps->rescue->pages, 1);
    bool any = false;
    for (int i = 0; i < SALVAGE_TABLES; i++)
        any = any || s->roots[i];
    assert(!any || first); /* it leads to all of them */
    for (int i = 0; any && i < SALVAGE_TABLES; i++) {
        enum salvage_table table = (enum salvage_table)i;
        uint32_t since = (uint32_t)salvage_since(table);
        if (!s->roots[i] && (since == 1 || big32(first + USER_VERSION) >= since))
            report_gap(gaps, "the table %s: all of its rows", salvage_name(table));
    }
}

void rescue_each_gap(struct rescue *rescue, rescue_gap_fn *each, void *context)
{
    assert(each && rescue->salvage.pages);
    struct gaps gaps = {rescue, each, context};
    report_database(&gaps);
    report_log(&gaps);
    report_pages(&gaps);
    report_tables(&gaps);
}

bool rescue_has_id(const struct rescue *rescue)
{
    return rescue->has_id;
}
