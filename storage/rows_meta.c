/* SPDX-License-Identifier: MIT */
/* Rows of `meta`: the settings of the store (its id, and what schema.c, rows_gc.c and
 * runs/stored.c note), the key under which values of secrets are hashed, and the
 * tallies of rows (rows_lost.h). In a write transaction the tally that is being changed
 * is kept in the handle, and written when another one is, or before the commit.
 *
 * That key is the setting `secret_key`: 64 hex digits of the key and 16 of the SHA-256
 * over it, which show damage. If damage went unnoticed, tasks would run again and
 * nobody would know why. */
#include "storage/rows_meta.h"

#include "base/clock.h"
#include "base/words.h"
#include "storage/rows_int.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int store_setting(struct cairn_store *store, const char *key, char *out, size_t size,
                  struct cairn_error *error)
{
    struct query query;
    assert(key[0] && size > 0);
    store_assert_open(store);
    query_start(&query, store->db, SQL_GET_META, VALUES(value_text(str_of(key))),
                error);
    bool found = query_step(&query);
    if (found) {
        struct str text = query_text(&query, 0);
        snprintf(out, size, "%.*s", (int)(text.len < size ? text.len : size),
                 text.len ? text.ptr : "");
    }
    int rc = query_end(&query);
    return rc ? rc : found;
}

int store_set_setting(struct cairn_store *store, const char *key, const char *text,
                      struct cairn_error *error)
{
    assert(key[0]);
    return store_write_summed(store, SQL_SET_META,
                              VALUES(value_text(str_of(key)), value_text(str_of(text))),
                              error);
}

int store_drop_setting(struct cairn_store *store, const char *key,
                       struct cairn_error *error)
{
    assert(key[0]);
    return store_write(store, SQL_DELETE_META, VALUES(value_text(str_of(key))), error);
}

/* ---- Settings under their checksum ---- */

struct sound_setting {
    struct str key;
    char *out;
    size_t size;
    bool strict; /* every setting of the store has a checksum */
    bool found;
};

/* A row may be one whose key is damaged, and then it stands beside the place of the key
 * (storage/sessions/rows_checked_int.h has the reason). */
static int check_setting(struct cairn_store *store, const struct query *query,
                         struct sound_setting *setting, struct cairn_error *error)
{
    enum { META_KEY, META_VALUE, META_SUM, META_COLUMNS };
    struct sql_value values[META_COLUMNS];
    for (int i = 0; i < META_COLUMNS; i++)
        values[i] = query_value(query, i);
    struct str key = values[META_KEY].bytes, text = values[META_VALUE].bytes;
    bool same = str_equal(key, setting->key);
    bool texts = values[META_KEY].kind == SQL_VALUE_TEXT &&
                 values[META_VALUE].kind == SQL_VALUE_TEXT;
    if (!texts ||
        !values_sound(store->sha, values, META_COLUMNS, same || setting->strict))
        return error_set(error, CAIRN_EDAMAGED,
                         "the setting %.*s of the store is damaged: its checksum does "
                         "not match; `cairn doctor --repair` saves all others",
                         (int)(key.len < 100 ? key.len : 100), key.len ? key.ptr : "");
    if (same)
        snprintf(setting->out, setting->size, "%.*s",
                 (int)(text.len < setting->size ? text.len : setting->size),
                 text.len ? text.ptr : "");
    setting->found = setting->found || same;
    return 0;
}

int store_sound_setting(struct cairn_store *store, const char *key, char *out,
                        size_t size, struct cairn_error *error)
{
    enum { CHECKSUMS_SINCE = 3 };
    struct sound_setting setting = {.key = str_of(key), .size = size};
    struct query query;
    char sums[8] = "";
    assert(key[0] && size > 0);
    setting.out = out;
    store_assert_open(store);
    if (store->stands_in && store->stands_in < CHECKSUMS_SINCE)
        return 0;
    int rc = store_setting(store, "sums", sums, sizeof sums, error);
    if (rc < 0)
        return rc;
    setting.strict = strcmp(sums, "all") == 0;
    query_start(&query, store->db, SQL_META_BESIDE, VALUES(value_text(setting.key)),
                error);
    while (query_step(&query))
        query.rc = check_setting(store, &query, &setting, error);
    rc = query_end(&query);
    return rc ? rc : setting.found;
}

int store_whole_setting(struct cairn_store *store, const char *key, char **text,
                        struct cairn_error *error)
{
    enum { LEAST = 4096, MOST = 1 << 26 };
    char *room = NULL;
    int rc = 1;
    *text = NULL;
    for (size_t size = LEAST; size <= MOST && rc > 0; size *= 2) {
        char *larger = realloc(room, size);
        if (!larger)
            rc = error_nomem(error);
        room = larger ? larger : room;
        if (rc > 0)
            rc = store_sound_setting(store, key, room, size, error);
        if (rc > 0 && strlen(room) + 1 < size) {
            *text = room;
            return 1;
        }
    }
    free(room);
    return rc > 0 ? error_set(error, CAIRN_EDAMAGED, "the setting %s is too long", key)
                  : rc;
}

int store_each_setting(struct cairn_store *store, const char *prefix,
                       int (*each)(void *context, struct str key), void *context,
                       struct cairn_error *error)
{
    struct query query;
    char end[64];
    size_t n = strlen(prefix);
    assert(n > 0 && n < sizeof end);
    store_assert_open(store);
    memcpy(end, prefix, n + 1);
    end[n - 1]++;
    query_start(&query, store->db, SQL_EACH_META_RANGE,
                VALUES(value_text(str_of(prefix)), value_text(str_of(end))), error);
    while (query_step(&query))
        query.rc = each(context, query_text(&query, 0));
    query_end(&query);
    return query.rc;
}

/* ---- The key for values of secrets ---- */

enum { KEY_BYTES = 32, CHECK_BYTES = 8, KEY_HEX = 2 * (KEY_BYTES + CHECK_BYTES) };

static int checksum_key(const uint8_t key[KEY_BYTES], uint8_t check[CHECK_BYTES],
                        struct cairn_error *error)
{
    struct digest digest;
    int rc = sha256_of(key, KEY_BYTES, &digest, error);
    if (!rc)
        memcpy(check, digest.bytes, CHECK_BYTES);
    return rc;
}

static int decode_key(struct str text, uint8_t key[KEY_BYTES],
                      struct cairn_error *error)
{
    uint8_t bytes[KEY_BYTES + CHECK_BYTES], check[CHECK_BYTES];
    bool whole = text.len == KEY_HEX && bytes_of_hex(text, bytes);
    int rc = whole ? checksum_key(bytes, check, error) : 0;
    if (rc)
        return rc;
    if (!whole || memcmp(check, bytes + KEY_BYTES, CHECK_BYTES) != 0)
        return error_set(error, CAIRN_EDAMAGED,
                         "the key with which the store hashes secrets is damaged (meta "
                         "secret_key): the next run makes another, and tasks that use "
                         "secrets run again");
    memcpy(key, bytes, KEY_BYTES);
    return 0;
}

static int load_key(struct cairn_store *store, uint8_t key[KEY_BYTES],
                    struct cairn_error *error)
{
    struct query query;
    query_start(&query, store->db, SQL_GET_META, VALUES(value_text(STR("secret_key"))),
                error);
    if (query_step(&query))
        query.rc = decode_key(query_text(&query, 0), key, error);
    else if (!query.rc)
        query.rc =
            error_set(error, CAIRN_ENOTFOUND, "the store has no key for secrets yet");
    return query_end(&query);
}

static int make_key(struct cairn_store *store, uint8_t key[KEY_BYTES],
                    struct cairn_error *error)
{
    uint8_t bytes[KEY_BYTES + CHECK_BYTES];
    char hex[KEY_HEX + 1];
    store_assert_writing(store);
    int rc = random_bytes(bytes, KEY_BYTES, error)
                 ?: checksum_key(bytes, bytes + KEY_BYTES, error);
    if (rc)
        return rc;
    hex_of_bytes(bytes, sizeof bytes, hex);
    rc = store_set_setting(store, "secret_key", hex, error);
    if (!rc)
        memcpy(key, bytes, KEY_BYTES);
    return rc;
}

int store_secret_key(struct cairn_store *store, bool create, uint8_t key[32],
                     struct cairn_error *error)
{
    struct cairn_error local = {0};
    assert(!create || store->writing);
    int rc = load_key(store, key, &local);
    if (create && (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED))
        return make_key(store, key, error);
    if (rc && error)
        *error = local;
    return rc;
}

/* ---- Tallies ---- */

/* How the keys of the settings begin. A scope of the store is not part of the key. */
static const char *const tally_keys[TALLY_KINDS] = {
    [TALLY_ITEMS] = "rows item",
    [TALLY_LOG] = "rows session_log",
    [TALLY_MESSAGES] = "rows message",
    [TALLY_BRANCHES] = "rows branch",
    [TALLY_ANNOTATIONS] = "rows annotation",
};
enum { TALLY_BYTES = 48 };

static uint64_t sum_number(struct str sum)
{
    uint64_t number = 0;
    for (size_t i = 0; i < sum.len && i < sizeof(struct value_sum); i++)
        number |= (uint64_t)(uint8_t)sum.ptr[i] << 8 * i;
    return number;
}

void tally_add(struct row_tally *tally, struct str sum)
{
    tally->n++;
    tally->sum ^= sum_number(sum);
}

static void tally_key(enum tally_of of, uint64_t scope, char key[TALLY_BYTES])
{
    assert(of < TALLY_KINDS);
    if (scope)
        snprintf(key, TALLY_BYTES, "%s %" PRIu64, tally_keys[of], scope);
    else
        snprintf(key, TALLY_BYTES, "%s", tally_keys[of]);
}

static int read_tally(struct cairn_store *store, enum tally_of of, uint64_t scope,
                      struct row_tally *due, struct cairn_error *error)
{
    char key[TALLY_BYTES], text[TALLY_BYTES] = "", *end = text;
    tally_key(of, scope, key);
    *due = (struct row_tally){0};
    int rc = store_sound_setting(store, key, text, sizeof text, error);
    if (rc <= 0)
        return rc;
    due->n = strtoull(text, &end, 10);
    bool good = end > text && *end == ' ';
    if (good)
        due->sum = strtoull(end + 1, &end, 16);
    if (good && !*end)
        return 0;
    return error_set(error, CAIRN_EDAMAGED,
                     "the setting %s of the store is damaged: run `cairn doctor`", key);
}

int tally_write(struct cairn_store *store, enum tally_of of, uint64_t scope,
                const struct row_tally *due, struct cairn_error *error)
{
    char key[TALLY_BYTES], text[TALLY_BYTES];
    tally_key(of, scope, key);
    snprintf(text, sizeof text, "%" PRIu64 " %016" PRIx64, due->n, due->sum);
    return store_set_setting(store, key, text, error);
}

/* ---- Tallies that the open transaction changes ---- */

static int put_tally(struct cairn_store *store, enum tally_of of,
                     struct cairn_error *error)
{
    struct store_tally *kept = &store->tallies[of];
    if (!kept->changed)
        return 0;
    kept->changed = false;
    return tally_write(store, of, kept->scope, &kept->due, error);
}

static int open_tally(struct cairn_store *store, enum tally_of of, uint64_t scope,
                      struct row_tally **due, struct cairn_error *error)
{
    struct store_tally *kept = &store->tallies[of];
    store_assert_writing(store);
    *due = &kept->due;
    if (kept->known && kept->scope == scope)
        return 0;
    int rc = put_tally(store, of, error);
    kept->known = false;
    if (!rc)
        rc = read_tally(store, of, scope, &kept->due, error);
    kept->scope = scope;
    kept->known = rc == 0;
    return rc;
}

int tally_put_sum(struct cairn_store *store, enum tally_of of, uint64_t scope,
                  struct str sum, struct cairn_error *error)
{
    struct row_tally *due;
    int rc = open_tally(store, of, scope, &due, error);
    if (rc)
        return rc;
    tally_add(due, sum);
    store->tallies[of].changed = true;
    return 0;
}

int tally_put_row(struct cairn_store *store, enum tally_of of, uint64_t scope,
                  const struct sql_value *values, size_t n, struct cairn_error *error)
{
    struct value_sum sum;
    values_sum(store->sha, values, n, &sum);
    return tally_put_sum(store, of, scope, value_sum_view(&sum), error);
}

int tally_drop_rows(struct cairn_store *store, enum tally_of of, uint64_t scope,
                    enum sql_id sums, const struct sql_value *values, size_t n,
                    struct cairn_error *error)
{
    struct query query;
    struct row_tally *due;
    int rc = open_tally(store, of, scope, &due, error);
    if (rc)
        return rc;
    query_start(&query, store->db, sums, values, n, error);
    while (query_step(&query)) {
        due->n -= due->n > 0;
        due->sum ^= sum_number(query_blob(&query, 0));
        store->tallies[of].changed = true;
    }
    return query_end(&query);
}

int tally_forget(struct cairn_store *store, enum tally_of of, uint64_t scope,
                 struct cairn_error *error)
{
    char key[TALLY_BYTES];
    struct store_tally *kept = &store->tallies[of];
    store_assert_writing(store);
    assert(scope);
    if (kept->known && kept->scope == scope)
        *kept = (struct store_tally){0};
    tally_key(of, scope, key);
    return store_drop_setting(store, key, error);
}

int store_put_tallies(struct cairn_store *store, struct cairn_error *error)
{
    int rc = 0;
    for (int of = 0; of < TALLY_KINDS && !rc; of++)
        rc = put_tally(store, (enum tally_of)of, error);
    return rc;
}

void store_tallies_end(struct cairn_store *store)
{
    memset(store->tallies, 0, sizeof store->tallies);
}

int store_tally(struct cairn_store *store, enum tally_of of, uint64_t scope,
                struct row_tally *due, struct cairn_error *error)
{
    const struct store_tally *kept = &store->tallies[of];
    store_assert_open(store);
    if (!kept->known || kept->scope != scope)
        return read_tally(store, of, scope, due, error);
    *due = kept->due;
    return 0;
}
