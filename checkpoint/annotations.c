/* SPDX-License-Identifier: MIT */
/* Labels and notes of checkpoints. */
#include "checkpoint/annotations.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "checkpoint/find.h"
#include "storage/sessions/rows_annotation.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

/* Stored: never renumbered. */
static const char *const severities[] = {NULL, "info", "warning", "critical"};
enum { SEVERITIES = COUNT_OF(severities) };

/* ---- What is there ---- */

struct search {
    struct str label;
    uint32_t found; /* number of it, 0: not there */
    uint32_t last;  /* highest number */
};

static int see_row(void *context, const struct annotation_row *row)
{
    struct search *search = context;
    search->last = row->n;
    if (row->kind == ANNOTATION_LABEL && str_equal(clean_str(row->text), search->label))
        search->found = row->n;
    return 0;
}

static int look(struct cairn_store *store, uint64_t seq, const char *label,
                struct search *search, struct cairn_error *error)
{
    *search = (struct search){.label = str_of(label)};
    return store_each_annotation(store, seq, see_row, search, error);
}

int checkpoint_has_label(struct cairn_store *store, uint64_t seq, const char *label,
                         struct cairn_error *error)
{
    struct search search;
    int rc = look(store, seq, label, &search, error);
    return rc ? rc : search.found > 0;
}

int checkpoint_check_broken(struct cairn_store *store, uint64_t seq, const char *id,
                            struct cairn_error *error)
{
    int rc = checkpoint_has_label(store, seq, "broken", error);
    if (rc <= 0)
        return rc;
    return error_set(error, CAIRN_EUSAGE,
                     "checkpoint %s is labelled broken: take another one, give --force "
                     "where there is that option, or take the label off",
                     id);
}

/* Whatever namespace it is of, damaged or not. */
static int find_seq(struct cairn_store *store, const char *id, uint64_t *seq,
                    struct cairn_error *error)
{
    struct catalog catalog = {
        .store = store, .sha = sha256_new(), .kinds = &payload_kinds};
    struct found_checkpoint found;
    if (!catalog.sha)
        return error_nomem(error);
    int rc = catalog_find(&catalog, id, &found, error);
    sha256_free(catalog.sha);
    if (!rc)
        *seq = found.seq;
    return rc;
}

/* ---- Labels ---- */

static bool is_label(struct str text)
{
    const char *at = text.ptr, *end = text.ptr + text.len;
    uint32_t code;
    if (!text.len || text.len >= CAIRN_LABEL_MAX)
        return false;
    for (size_t n = 1; at < end; at += n) {
        n = utf8_next(at, end, &code);
        if (!n || code <= 0x20 || (code >= 0x7f && code <= 0xa0) || code == ',')
            return false;
    }
    return true;
}

static int set_label(struct cairn_store *store, const char *id, struct clean label,
                     bool on, struct cairn_error *error)
{
    struct search search;
    uint64_t seq = 0;
    int rc =
        find_seq(store, id, &seq, error) ?: look(store, seq, label.ptr, &search, error);
    if (rc)
        return rc;
    if (on == (search.found > 0))
        return error_set(error, CAIRN_EUSAGE, "checkpoint %s has %s label '%.*s'", id,
                         on ? "the" : "no", (int)label.len, label.ptr);
    struct annotation_row row = {.seq = seq,
                                 .n = search.last + 1,
                                 .time_ns = clock_utc_ns(),
                                 .kind = ANNOTATION_LABEL,
                                 .text = label};
    return on ? store_put_annotation(store, &row, error)
              : store_drop_annotation(store, seq, search.found, error);
}

int checkpoint_label(struct cairn_store *store, const char *id, struct clean label,
                     bool on, struct cairn_error *error)
{
    struct str text = clean_str(label);
    if (!is_label(text))
        return error_set(
            error, CAIRN_EUSAGE,
            "'%.*s' is not a label: it has 1 to %d bytes, without white space "
            "and commas",
            (int)utf8_fit(text, 80), text.ptr, CAIRN_LABEL_MAX - 1);
    return store_begin(store, -1, error)
               ?: store_end(store, set_label(store, id, label, on, error), error);
}

/* ---- Notes ---- */

static int severity_parse(const char *name, uint8_t *severity,
                          struct cairn_error *error)
{
    *severity = 1;
    for (uint8_t i = 1; name && i < SEVERITIES; i++)
        if (strcmp(severities[i], name) == 0) {
            *severity = i;
            return 0;
        }
    return name ? error_set(error, CAIRN_EUSAGE,
                            "'%.80s' is not a severity: give info, warning or critical",
                            name)
                : 0;
}

static bool is_text(struct str text)
{
    const char *at = text.ptr, *end = text.ptr + text.len;
    uint32_t code;
    size_t n = 1;
    for (; at < end && n; at += n)
        n = utf8_next(at, end, &code);
    return text.len > 0 && text.len <= LIMIT_TEXT_BYTES && n;
}

static int put_note(struct cairn_store *store, const char *id, struct clean text,
                    uint8_t severity, struct cairn_error *error)
{
    struct search search;
    uint64_t seq = 0;
    int rc = find_seq(store, id, &seq, error) ?: look(store, seq, "", &search, error);
    struct annotation_row row = {.seq = seq,
                                 .n = rc ? 0 : search.last + 1,
                                 .time_ns = clock_utc_ns(),
                                 .kind = ANNOTATION_NOTE,
                                 .severity = severity,
                                 .text = text};
    return rc ?: store_put_annotation(store, &row, error);
}

int checkpoint_note(struct cairn_store *store, const char *id, struct clean text,
                    const char *severity, struct cairn_error *error)
{
    uint8_t number;
    int rc = severity_parse(severity, &number, error);
    if (!rc && !is_text(clean_str(text)))
        rc = error_set(error, CAIRN_EUSAGE,
                       "a note is a text of UTF-8, of 1 to %d bytes", LIMIT_TEXT_BYTES);
    return rc
           ?: store_begin(store, -1, error)
           ?: store_end(store, put_note(store, id, text, number, error), error);
}

/* ---- Telling ---- */

struct telling {
    int (*each)(void *, const struct cairn_annotation *);
    void *context;
    struct buf text;
    struct cairn_error *error;
};

static int tell_row(void *context, const struct annotation_row *row)
{
    struct telling *t = context;
    buf_clear(&t->text);
    buf_str(&t->text, clean_str(row->text));
    if (buf_check(&t->text, t->error))
        return CAIRN_ENOMEM;
    struct cairn_annotation told = {.n = row->n,
                                    .label = row->kind == ANNOTATION_LABEL,
                                    .text = t->text.data,
                                    .time_ns = row->time_ns};
    if (!told.label)
        told.severity = row->severity > 0 && row->severity < SEVERITIES
                            ? severities[row->severity]
                            : "info";
    return t->each(t->context, &told) ? 1 : 0;
}

int cairn_checkpoint_annotations(struct cairn_store *store, const char *id,
                                 int (*each)(void *, const struct cairn_annotation *),
                                 void *context, struct cairn_error *error)
{
    struct telling t = {each, context, BUF_INIT, error};
    uint64_t seq = 0;
    int rc = find_seq(store, id, &seq, error)
                 ?: store_each_annotation(store, seq, tell_row, &t, error);
    buf_release(&t.text);
    return rc;
}
