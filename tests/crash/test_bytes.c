/* SPDX-License-Identifier: MIT */
/* Every byte of every record and digest of a small store is changed in turn: verify
 * must name that checkpoint each time. */
#include "crash.h"

#include <sqlite3.h>

enum { COMMAND_EVERY = 61 }; /* how often the command is asked, too */

struct bytes {
    struct scenario *s;
    sqlite3 *db;
    struct cairn_store *store;
    uint64_t seq;
    bool named;
    uint32_t changed, asked;
};

static int note_problem(void *context, const struct cairn_problem *problem)
{
    struct bytes *b = context;
    b->named |= problem->seq == b->seq;
    return 0;
}

static void ask_command(struct bytes *b)
{
    const char *verify[] = {"checkpoint", "verify", NULL};
    char id[32];
    int status = cairn_do(b->s, b->s->dir, "verify", verify);
    char *text = printed(b->s->dir, "out", "verify");
    snprintf(id, sizeof id, "workflow:%llu", (unsigned long long)b->seq);
    check(b->s, status == 5 && text && strstr(text, id), "verify ended with %d: %s",
          status, text ? text : "");
    free(text);
    b->asked++;
}

static bool write_byte(struct bytes *b, const char *column, int at, uint8_t flip)
{
    sqlite3_blob *blob = NULL;
    uint8_t byte = 0;
    if (sqlite3_blob_open(b->db, "main", "checkpoint", column, (sqlite3_int64)b->seq, 1,
                          &blob) != SQLITE_OK)
        return false;
    bool good = sqlite3_blob_read(blob, &byte, 1, at) == SQLITE_OK;
    byte ^= flip;
    good = good && sqlite3_blob_write(blob, &byte, 1, at) == SQLITE_OK;
    return sqlite3_blob_close(blob) == SQLITE_OK && good;
}

static void change_byte(struct bytes *b, const char *column, int at)
{
    struct cairn_verify_result result;
    struct cairn_error error = {0};
    uint8_t flip = (uint8_t)(1 + rng_below(&b->s->rng, 255));
    if (!check(b->s, write_byte(b, column, at, flip), "cannot change a byte: %s",
               sqlite3_errmsg(b->db)))
        return;
    b->named = false;
    int code =
        cairn_checkpoint_verify(b->store, NULL, note_problem, b, &result, &error);
    check(b->s, code == CAIRN_EDAMAGED && b->named,
          "byte %d of the %s of %llu changed by %02x: verify says %s", at, column,
          (unsigned long long)b->seq, flip, cairn_code_name(code));
    if (b->changed++ % COMMAND_EVERY == 0)
        ask_command(b);
    check(b->s, write_byte(b, column, at, flip), "cannot change a byte back");
}

static int length_of(struct bytes *b, const char *column)
{
    sqlite3_blob *blob = NULL;
    int n = 0;
    if (sqlite3_blob_open(b->db, "main", "checkpoint", column, (sqlite3_int64)b->seq, 0,
                          &blob) == SQLITE_OK)
        n = sqlite3_blob_bytes(blob);
    sqlite3_blob_close(blob);
    return n;
}

static void change_all(struct bytes *b, const uint64_t *seqs, uint32_t n)
{
    static const char *const columns[] = {"record", "digest"};
    for (uint32_t i = 0; i < n; i++) {
        b->seq = seqs[i];
        for (size_t c = 0; c < 2; c++) {
            int length = length_of(b, columns[c]);
            check(b->s, length >= 32, "no %s of %llu", columns[c],
                  (unsigned long long)b->seq);
            for (int at = 0; at < length && b->s->failures < 5; at++)
                change_byte(b, columns[c], at);
        }
    }
}

static bool open_both(struct bytes *b)
{
    char path[DIR_SIZE + 32];
    struct cairn_error error = {0};
    struct cairn_store_options options = {.path = path, .read_only = true};
    snprintf(path, sizeof path, "%s/.cairn/cairn.db", b->s->dir);
    if (sqlite3_open_v2(path, &b->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        return check(b->s, false, "cannot open %s", path);
    sqlite3_db_config(b->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_exec(b->db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    snprintf(path, sizeof path, "%s/.cairn", b->s->dir);
    return check(b->s, cairn_store_open(&b->store, &options, &error) == 0, "%s",
                 error.text);
}

void test_bytes(const struct setup *setup)
{
    static uint64_t seqs[SEQS_MAX];
    struct shape shape = {.least = 5, .most = 5, .sleep_ms = 0, .plain = true};
    char detail[128];
    struct scenario s;
    struct bytes b = {.s = &s};
    uint32_t n = 0;
    if (scenario_begin(&s, setup, "every byte", setup->seed, &shape)) {
        session_finish(&s);
        n = checkpoint_seqs(&s, s.dir, seqs);
        if (check(&s, n >= 5, "only %u checkpoints", n) && open_both(&b))
            change_all(&b, seqs, n);
        cairn_store_close(b.store);
        sqlite3_close(b.db);
        b.store = NULL;
        /* And with everything put back all is well. */
        const char *verify[] = {"checkpoint", "verify", NULL};
        check(&s, cairn_do(&s, s.dir, "verify", verify) == 0, "verify at the end");
    }
    snprintf(detail, sizeof detail, "%u bytes of %u checkpoints, %u by the command",
             b.changed, n, b.asked);
    scenario_end(&s, detail);
}
