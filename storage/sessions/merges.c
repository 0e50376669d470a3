/* SPDX-License-Identifier: MIT */
/* The setting: the turn, then of each merge its four numbers, all decimal, with a space
 * between them. */
#include "storage/sessions/merges.h"

#include "base/memory.h"
#include "base/str.h"
#include "base/words.h"
#include "storage/rows_meta.h"
#include "storage/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEY_BYTES = 40 };
enum { BEHIND_MOST = 500 }; /* turns */

void session_merges_release(struct session_merges *merges)
{
    free(merges->at);
    *merges = (struct session_merges){0};
}

/* One with numbers that nothing has is passed over. */
static int add_merge(struct session_merges *merges, const struct session_merge *merge,
                     struct cairn_error *error)
{
    if (!merge->branch || !merge->into || !merge->head || merge->head > INT64_MAX)
        return 0;
    struct session_merge *at =
        array_room(merges->at, merges->n, &merges->capacity, sizeof *at);
    if (!at)
        return error_nomem(error);
    merges->at = at;
    at[merges->n++] = *merge;
    return 0;
}

/* ---- The setting ---- */

static void name_setting(uint64_t session, char key[KEY_BYTES])
{
    snprintf(key, KEY_BYTES, "merges.%" PRIu64, session);
}

static bool take_number(char **at, uint64_t *number)
{
    size_t n = strcspn(*at, " ");
    bool good = str_to_u64((struct str){*at, n}, number);
    *at += n + ((*at)[n] == ' ');
    return good;
}

static bool parse_text(char *at, struct session_merges *out, struct cairn_error *error)
{
    bool good = take_number(&at, &out->turn);
    while (good && *at) {
        struct session_merge merge;
        good = take_number(&at, &merge.branch) && take_number(&at, &merge.head) &&
               take_number(&at, &merge.into) && take_number(&at, &merge.made);
        if (good && add_merge(out, &merge, error))
            return false;
    }
    return good;
}

/* What is not such a text, or damaged, counts for nothing: the log has all. */
static int load_setting(struct cairn_store *store, uint64_t session,
                        struct session_merges *out, struct cairn_error *error)
{
    struct cairn_error why = {0};
    char key[KEY_BYTES], *text = NULL;
    name_setting(session, key);
    int rc = store_whole_setting(store, key, &text, &why);
    if (rc < 0 && rc != CAIRN_EDAMAGED)
        return error_set(error, rc, "%s", why.text);
    why = (struct cairn_error){0};
    if (text && !parse_text(text, out, &why)) {
        out->n = 0;
        out->turn = 0;
    }
    free(text);
    return why.code ? error_set(error, why.code, "%s", why.text) : 0;
}

/* ---- The log ---- */

struct log_reading {
    struct session_merges *out;
    struct cairn_error *error;
};

static int see_row(void *context, const struct session_log_row *row)
{
    struct log_reading *r = context;
    struct reader in = reader_of(row->after.ptr, row->after.len);
    if (row->verb != SESSION_LOG_MERGED)
        return 0;
    struct session_merge merge = {.branch = row->number};
    merge.into = read_varint(&in);
    merge.head = read_varint(&in);
    merge.made = read_varint(&in);
    return reader_done(&in) ? add_merge(r->out, &merge, r->error) : 0;
}

void session_merge_encode(const struct session_merge *merge, struct buf *after)
{
    buf_varint(after, merge->into);
    buf_varint(after, merge->head);
    buf_varint(after, merge->made);
}

int store_load_merges(struct cairn_store *store, uint64_t session,
                      struct session_merges *out, struct cairn_error *error)
{
    struct log_reading reading = {out, error};
    *out = (struct session_merges){0};
    return load_setting(store, session, out, error)
               ?: store_each_session_log(store, session, out->turn, false, see_row,
                                         &reading, error);
}

/* ---- Writing ---- */

int store_note_merges(struct cairn_store *store, uint64_t session, uint64_t turn,
                      struct cairn_error *error)
{
    struct session_merges merges;
    struct buf text = BUF_INIT;
    char key[KEY_BYTES];
    int rc = store_load_merges(store, session, &merges, error);
    name_setting(session, key);
    buf_format(&text, "%" PRIu64, turn);
    for (size_t i = 0; i < merges.n; i++) {
        const struct session_merge *m = &merges.at[i];
        buf_format(&text, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, m->branch,
                   m->head, m->into, m->made);
    }
    buf_byte(&text, 0);
    if (!rc)
        rc = buf_check(&text, error) ?: store_set_setting(store, key, text.data, error);
    buf_release(&text);
    session_merges_release(&merges);
    return rc;
}

int store_tend_merges(struct cairn_store *store, uint64_t session, uint64_t turn,
                      struct cairn_error *error)
{
    char key[KEY_BYTES], text[32] = "";
    uint64_t noted = 0;
    name_setting(session, key);
    int rc = store_setting(store, key, text, sizeof text, error);
    text[strcspn(text, " ")] = '\0';
    if (rc < 0)
        return rc;
    if (!str_to_u64(str_of(text), &noted))
        noted = 0;
    bool near = noted <= turn && turn - noted <= BEHIND_MOST;
    return near ? 0 : store_note_merges(store, session, turn, error);
}
