/* SPDX-License-Identifier: MIT */
/* Looking through all checkpoints in parts, however small these are, finds what one look
 * finds: every version of a file, and every line of all versions. */
#include "cairn.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CHECKPOINTS = 24, FILES = 7, MANY = 60 };

static struct cairn_store *store;
static struct cairn_error error;
static char dir[256], found[2][1 << 16];
static int left; /* matches until the callback stops; 0: it does not */

static void good(int rc)
{
    ck_assert_msg(rc == 0, "%s", error.text);
}

/* The first checkpoint has many files; contents come back, and go. */
static void write_files(int n)
{
    char path[400];
    for (int i = n == 0 ? 0 : MANY; i < MANY + FILES; i++) {
        snprintf(path, sizeof path, "%s/files/f%02d", dir, i);
        if (i >= MANY && n % 5 == i % 5) {
            remove(path);
            continue;
        }
        FILE *file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fprintf(file, "line one of f%02d\nversion %d\n", i,
                i < MANY ? 0 : n % (3 + i - MANY));
        ck_assert_int_eq(fclose(file), 0);
    }
}

static void begin(void)
{
    char path[300];
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/cairn-check-XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/store", dir);
    good(cairn_store_open(&store,
                          &(struct cairn_store_options){
                              .path = path, .create = true, .sync = CAIRN_SYNC_OFF},
                          &error));
    snprintf(path, sizeof path, "%s/files", dir);
    ck_assert_int_eq(mkdir(path, 0777), 0);
    good(cairn_session_start(store, "parts", true, NULL, &error));
    good(cairn_session_configure(store, NULL, "files", path, &error));
    for (int n = 0; n < CHECKPOINTS; n++) {
        struct cairn_capture capture = {.message = "one"};
        struct cairn_captured made;
        write_files(n);
        good(cairn_session_checkpoint(store, NULL, &capture, &made, &error));
    }
}

static void end(void)
{
    cairn_store_close(store);
    remove_tree(dir);
}

/* ---- Versions ---- */

static int add_version(void *context, const struct cairn_file_version *version)
{
    char *text = context;
    size_t n = strlen(text);
    snprintf(text + n, sizeof found[0] - n, "%s %s\n", version->id, version->change);
    return 0;
}

static void log_in_parts(uint64_t most, uint32_t limit_ms)
{
    struct cairn_files_part part = {.limit_ms = limit_ms};
    found[1][0] = '\0';
    do {
        part.from = part.next;
        good(cairn_files_log(store, NULL, "f63", true, most, &part, add_version,
                             found[1], &error));
    } while (part.next != 0);
    ck_assert_str_eq(found[0], found[1]);
}

START_TEST(versions)
{
    struct cairn_files_part part = {.limit_ms = 0};
    begin();
    found[0][0] = '\0';
    good(cairn_files_log(store, NULL, "f63", true, 0, NULL, add_version, found[0],
                         &error));
    ck_assert_uint_gt(strlen(found[0]), 100);
    log_in_parts(1, 0);
    log_in_parts(3, 0);
    log_in_parts(0, 1);
    log_in_parts(0, 0);
    ck_assert_int_eq(cairn_files_log(store, NULL, "none", true, 0, &part, add_version,
                                     found[1], &error),
                     CAIRN_ENOTFOUND);
    part.from = 10;
    good(cairn_files_log(store, NULL, "none", true, 0, &part, add_version, found[1],
                         &error));
    part.size = 1 << 20;
    ck_assert_int_eq(cairn_files_log(store, NULL, "none", true, 0, &part, add_version,
                                     found[1], &error),
                     CAIRN_EUSAGE);
    end();
}
END_TEST

/* ---- Lines ---- */

/* What came back is found anew by a later part, so each is kept once; the first one of a
 * version alone, for there may be a stop at it. */
static int add_match(void *context, const struct cairn_file_match *match)
{
    char *text = context, line[200];
    size_t n = strlen(text);
    snprintf(line, sizeof line, "|%s %.*s\n", match->path, (int)match->bytes,
             match->text);
    if (!strstr(text, line))
        snprintf(text + n, sizeof found[0] - n, "%s", line);
    return left > 0 && --left == 0;
}

static uint32_t grep_in_parts(int stop, uint32_t limit_ms)
{
    struct cairn_files_part part = {.limit_ms = limit_ms};
    struct cairn_files_search search = {
        .pattern = "version", .fixed = true, .part = &part};
    struct cairn_files_searched result;
    uint32_t parts = 0;
    found[1][0] = '\0';
    do {
        left = stop;
        part.from = part.next;
        part.from_nth = part.next_nth;
        good(cairn_files_search(store, NULL, &search, add_match, found[1], &result,
                                &error));
        parts++;
    } while (part.next != 0);
    ck_assert_str_eq(found[0], found[1]);
    return parts;
}

START_TEST(lines)
{
    struct cairn_files_search search = {.pattern = "version", .fixed = true};
    struct cairn_files_searched result;
    begin();
    found[0][0] = '\0';
    good(
        cairn_files_search(store, NULL, &search, add_match, found[0], &result, &error));
    ck_assert_uint_gt(result.matches, MANY);
    ck_assert_uint_eq(grep_in_parts(0, 0), 1);
    ck_assert_uint_ge(grep_in_parts(1, 0), result.matches);
    ck_assert_uint_ge(grep_in_parts(7, 0), result.matches / 7);
    grep_in_parts(0, 1);
    search.checkpoint = "debug:1";
    search.part = &(struct cairn_files_part){.limit_ms = 1};
    found[0][0] = found[1][0] = '\0';
    left = 0;
    do {
        search.part->from = search.part->next;
        search.part->from_nth = search.part->next_nth;
        good(cairn_files_search(store, NULL, &search, add_match, found[0], &result,
                                &error));
    } while (search.part->next != 0);
    search.part = NULL;
    good(
        cairn_files_search(store, NULL, &search, add_match, found[1], &result, &error));
    ck_assert_str_eq(found[0], found[1]);
    end();
}
END_TEST

/* ---- Since when each line is there ---- */

struct blamed {
    uint64_t seq[2], line_then[2];
    char path[64];
    bool open;
    size_t n;
};

static int note_line(void *context, const struct cairn_file_line *line)
{
    struct blamed *blamed = context;
    ck_assert_uint_lt(blamed->n, 2);
    blamed->seq[blamed->n] = line->seq;
    blamed->line_then[blamed->n++] = line->line_then;
    if (line->open) {
        blamed->open = true;
        snprintf(blamed->path, sizeof blamed->path, "%s", line->path);
    }
    return 0;
}

START_TEST(origins)
{
    struct cairn_files_part part = {.limit_ms = 1};
    struct blamed all = {.n = 0}, some = {.n = 0};
    char at[32];
    int parts = 0;
    begin();
    for (int n = 0; n < 300; n++) {
        struct cairn_capture capture = {.message = "more"};
        struct cairn_captured made;
        write_files(n);
        good(cairn_session_checkpoint(store, NULL, &capture, &made, &error));
    }
    good(cairn_files_blame(store, NULL, NULL, "f00", 0, NULL, note_line, &all, &error));
    ck_assert(all.n == 2 && all.seq[0] == 1 && !all.open);
    good(cairn_files_blame(store, NULL, NULL, "f00", 0, &part, note_line, &some,
                           &error));
    while (part.next != 0) {
        ck_assert(some.open && some.seq[0] == part.next);
        ck_assert_int_lt(parts++, 400);
        snprintf(at, sizeof at, "debug:%llu", (unsigned long long)part.next);
        char path[64];
        memcpy(path, some.path, sizeof path);
        some = (struct blamed){.n = 0};
        good(cairn_files_blame(store, NULL, at, path, 0, &part, note_line, &some,
                               &error));
    }
    ck_assert(some.n == 2 && !some.open);
    ck_assert(some.seq[0] == all.seq[0] && some.line_then[1] == all.line_then[1]);
    part.from = 1;
    ck_assert_int_eq(
        cairn_files_blame(store, NULL, NULL, "f00", 0, &part, note_line, &some, &error),
        CAIRN_EUSAGE);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("files_parts");
    TCase *tests = tcase_create("files_parts");
    tcase_add_test(tests, versions);
    tcase_add_test(tests, lines);
    tcase_add_test(tests, origins);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
