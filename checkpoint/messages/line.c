/* SPDX-License-Identifier: MIT */
#include "checkpoint/messages/line.h"

#include "checkpoint/sections.h"

#include "base/memory.h"
#include "base/str.h"
#include "base/utf8.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/sessions/rows_message.h"
#include "storage/sessions/rows_session.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_VERSION = 1 };

/* ---- As bytes ---- */

static bool is_line(const struct message_line *line)
{
    bool empty = !line->position && !line->tokens_in && !line->tokens_out &&
                 digest_is_none(&line->chain) && !line->model.len && !line->prompt.len;
    return (line->n ? line->position && line->position <= line->n : empty) &&
           utf8_is_text(line->model) && line->model.len <= MESSAGE_MODEL_BYTES &&
           utf8_is_text(line->prompt) && line->prompt.len <= MESSAGE_PROMPT_BYTES;
}

int message_line_encode(const struct message_line *line, struct buf *out,
                        struct cairn_error *error)
{
    if (!is_line(line))
        return error_set(error, CAIRN_EUSAGE, "this is not a line of messages");
    buf_byte(out, LINE_VERSION);
    buf_varint(out, line->n);
    buf_varint(out, line->position);
    buf_add(out, line->chain.bytes, DIGEST_SIZE);
    buf_varint(out, line->tokens_in);
    buf_varint(out, line->tokens_out);
    buf_lstr(out, line->model);
    buf_lstr(out, line->prompt);
    return buf_check(out, error);
}

int message_line_decode(struct str bytes, struct message_line *out,
                        struct cairn_error *error)
{
    struct reader in = reader_of(bytes.ptr, bytes.len);
    struct message_line line = {0};
    uint8_t version = read_byte(&in);
    if (version > LINE_VERSION)
        return error_set(error, CAIRN_ENEWER,
                         "its messages are of a version that this release does not "
                         "know: use the cairn that wrote it");
    line.n = read_varint(&in);
    line.position = read_varint(&in);
    struct str chain = read_bytes(&in, DIGEST_SIZE);
    if (chain.len == DIGEST_SIZE)
        memcpy(line.chain.bytes, chain.ptr, DIGEST_SIZE);
    line.tokens_in = read_varint(&in);
    line.tokens_out = read_varint(&in);
    line.model = read_lstr(&in);
    line.prompt = read_lstr(&in);
    if (version != LINE_VERSION || !reader_done(&in) || line.n > INT64_MAX ||
        line.tokens_in > INT64_MAX || line.tokens_out > INT64_MAX || !is_line(&line))
        return error_set(error, CAIRN_EDAMAGED,
                         "what it says of its messages is damaged");
    *out = line;
    return 0;
}

/* ---- Against the rows ---- */

struct seeing {
    struct cairn_store *store;
    struct message_seen *out;
};

static int see_row(void *context, const struct message_row *row)
{
    const struct seeing *seeing = context;
    *seeing->out = (struct message_seen){.n = row->n,
                                         .parent = row->parent,
                                         .position = row->position,
                                         .tokens_in = row->tokens_in,
                                         .tokens_out = row->tokens_out,
                                         .total_in = row->total_in,
                                         .total_out = row->total_out,
                                         .prompt = row->prompt,
                                         .reply = row->reply,
                                         .role = row->role,
                                         .form = row->form,
                                         .chain = row->chain};
    store_message_columns(seeing->store, row, &seeing->out->columns);
    return 0;
}

int message_see(struct cairn_store *store, uint64_t session, uint64_t n,
                struct message_seen *out, struct cairn_error *error)
{
    struct seeing seeing = {store, out};
    return store_get_message(store, session, n, see_row, &seeing, error);
}

bool message_follows(struct cairn_store *store, const struct message_seen *row,
                     const struct message_seen *before)
{
    static const struct message_seen none = {.form = 0};
    struct digest chain;
    if (row->form == MESSAGE_LOST)
        return true;
    if (before && before->form == MESSAGE_LOST)
        return row->position > before->position;
    store_message_chain(store, &row->columns, before ? &before->chain : NULL, &chain);
    before = before ? before : &none;
    return digest_equal(&chain, &row->chain) && row->position == before->position + 1 &&
           row->total_in == before->total_in + row->tokens_in &&
           row->total_out == before->total_out + row->tokens_out;
}

static int does_not_fit(uint64_t session, uint64_t n, const char *what,
                        struct cairn_error *error)
{
    return error_set(error, CAIRN_EDAMAGED, "message %llu of session %llu %s",
                     (unsigned long long)n, (unsigned long long)session, what);
}

static bool is_end_of(const struct message_line *line, const struct message_seen *row)
{
    bool same = digest_equal(&row->chain, &line->chain) ||
                (row->form == MESSAGE_LOST && digest_is_none(&row->chain));
    return same && row->position == line->position &&
           row->total_in == line->tokens_in && row->total_out == line->tokens_out;
}

int message_line_check(struct cairn_store *store, uint64_t session,
                       const struct message_line *line, bool whole,
                       struct cairn_error *error)
{
    struct message_seen row, before = {.n = 0};
    int rc = line->n ? message_see(store, session, line->n, &row, error) : 0;
    if (rc || !line->n)
        return rc;
    if (!is_end_of(line, &row))
        return does_not_fit(session, row.n, "is not the one that it names", error);
    do {
        if (row.parent)
            rc = message_see(store, session, row.parent, &before, error);
        if (!rc && !message_follows(store, &row, row.parent ? &before : NULL))
            rc = does_not_fit(session, row.n, "does not fit the one before it", error);
        bool more = row.parent && whole;
        row = before;
        if (!more)
            break;
    } while (!rc);
    return rc;
}

/* Messages that are lost: rows that stand for them, so that lines hold together. What
 * is known of one comes from a checkpoint whose line ended there, and else from the
 * message behind it. */

enum { MESSAGES_LOST_MOST = 1 << 22 }; /* of a session */

struct gap {
    uint64_t n, position, total_in, total_out; /* position 0: not known */
    struct digest chain;
};

struct place {
    uint64_t n, position;
};

struct places {
    struct place *at;
    size_t n, room;
};

struct mending {
    struct cairn_store *store;
    struct sha256 *sha;
    uint64_t session;
    struct gap *gaps; /* ascending */
    size_t n, room;
    struct places rows;   /* those that are there, by number */
    struct places newest; /* of each position the highest number so far, by position */
    uint64_t seen;        /* the last number that was there, or is in the gaps */
    void (*lost)(void *, uint64_t session, uint64_t n);
    void *context;
    struct cairn_error *error;
};

/* ---- Which are missing ---- */

static int add_place(struct mending *m, struct places *places, struct place place)
{
    struct place *at =
        array_room(places->at, places->n, &places->room, sizeof *places->at);
    if (!at)
        return error_nomem(m->error);
    places->at = at;
    at[places->n++] = place;
    return 0;
}

/* Numbers are given out one by one, so that far more than a session ever had come from
 * a row that is wrong. */
static int add_gaps(struct mending *m, uint64_t next)
{
    if (next > m->seen && next - m->seen + m->n > MESSAGES_LOST_MOST)
        return error_set(m->error, CAIRN_ELIMIT,
                         "session %llu has no messages between %llu and %llu: so many "
                         "cannot have been lost",
                         (unsigned long long)m->session, (unsigned long long)m->seen,
                         (unsigned long long)next);
    for (; m->seen + 1 < next; m->seen++) {
        struct gap *at = array_room(m->gaps, m->n, &m->room, sizeof *at);
        if (!at)
            return error_nomem(m->error);
        m->gaps = at;
        at[m->n++] = (struct gap){.n = m->seen + 1};
    }
    return 0;
}

static int see_number(void *context, const struct message_row *row)
{
    struct mending *m = context;
    int rc = add_gaps(m, row->n);
    m->seen = row->n;
    return rc ?: add_place(m, &m->rows, (struct place){row->n, row->position});
}

struct numbered {
    uint64_t *last;
    bool *again; /* a repair has made the row */
};

static int see_numbers(void *context, const struct session_row *row)
{
    const struct numbered *numbered = context;
    uint64_t head;
    message_numbers(row->numbers, numbered->last, &head);
    *numbered->again = row->numbers.len == 0;
    return 0;
}

static int see_log(void *context, const struct session_log_row *row)
{
    if (row->verb == SESSION_LOG_MESSAGES)
        *(uint64_t *)context = row->number;
    return row->verb == SESSION_LOG_MESSAGES;
}

/* The highest number that was given: by the row of the session, or where a repair made
 * that again by the log. */
static int find_last(struct mending *m, uint64_t *last)
{
    bool again = false;
    struct numbered numbered = {last, &again};
    int rc = store_get_session(m->store, m->session, see_numbers, &numbered, m->error);
    if (!rc && again)
        rc = store_each_session_log(m->store, m->session, UINT64_MAX, true, see_log,
                                    last, m->error);
    return rc;
}

static int find_gaps(struct mending *m)
{
    uint64_t last = 0;
    return store_each_message(m->store, m->session, 0, 0, see_number, m, m->error)
           ?: find_last(m, &last)
           ?: add_gaps(m, last + 1);
}

static struct gap *gap_of(struct mending *m, uint64_t n)
{
    size_t low = 0, high = m->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->gaps[middle].n < n)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m->n && m->gaps[low].n == n ? &m->gaps[low] : NULL;
}

/* ---- What is known of them ---- */

static int read_line(struct mending *m, const struct section_ref *ref)
{
    struct buf content = BUF_INIT;
    struct message_line line;
    int rc = store_get_object(m->store, &ref->digest, &content, NULL)
                 ?: message_line_decode(buf_view(&content), &line, NULL);
    struct gap *gap = rc ? NULL : gap_of(m, line.n);
    if (gap)
        *gap = (struct gap){line.n, line.position, line.tokens_in, line.tokens_out,
                            line.chain};
    buf_release(&content);
    return rc == CAIRN_ENOMEM ? error_nomem(m->error) : 0;
}

/* What cannot be read tells nothing. */
static int see_checkpoint(void *context, const struct checkpoint_row *row)
{
    struct mending *m = context;
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct sections_at at;
    int rc = sections_read(m->store, m->sha, row->seq, &arena, &sections, &at, NULL);
    bool ours = !rc && at.session == m->session;
    rc = rc == CAIRN_ENOMEM ? error_nomem(m->error) : 0;
    for (uint32_t i = 0; ours && i < sections.n && !rc; i++)
        if (sections.list[i].kind == SECTION_MESSAGES)
            rc = read_line(m, &sections.list[i]);
    arena_release(&arena);
    return rc;
}

static int see_child(void *context, const struct message_row *row)
{
    struct mending *m = context;
    struct gap *gap = row->parent ? gap_of(m, row->parent) : NULL;
    if (gap && !gap->position && row->position > 1) {
        gap->position = row->position - 1;
        gap->total_in = row->total_in - row->tokens_in;
        gap->total_out = row->total_out - row->tokens_out;
    }
    return 0;
}

/* ---- Rows that stand for them ---- */

/* The first that has at least that position. */
static size_t place_of(const struct places *places, uint64_t position)
{
    size_t low = 0, high = places->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places->at[middle].position < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* One whose number is higher than those that are known. */
static int see_place(struct mending *m, struct place place)
{
    struct places *newest = &m->newest;
    size_t i = place_of(newest, place.position);
    int rc = 0;
    if (i == newest->n || newest->at[i].position != place.position) {
        rc = add_place(m, newest, place);
        if (!rc)
            memmove(newest->at + i + 1, newest->at + i,
                    (newest->n - 1 - i) * sizeof *newest->at);
    }
    if (!rc)
        newest->at[i] = place;
    return rc;
}

static int put_lost(struct mending *m, const struct gap *gap)
{
    struct message_seen below = {.n = 0};
    size_t i = gap->position ? place_of(&m->newest, gap->position) : m->newest.n;
    uint64_t parent = i ? m->newest.at[i - 1].n : 0;
    int rc = 0;
    if (parent)
        rc = message_see(m->store, m->session, parent, &below, m->error);
    struct message_row row = {
        .session = m->session,
        .n = gap->n,
        .parent = parent,
        .position = gap->position ? gap->position : below.position + 1,
        .role = MESSAGE_OTHER,
        .form = MESSAGE_LOST,
        .total_in = gap->position ? gap->total_in : below.total_in,
        .total_out = gap->position ? gap->total_out : below.total_out,
        .prompt = below.prompt,
        .reply = below.reply,
        .chain = gap->chain};
    if (!rc)
        rc = store_put_message(m->store, &row, m->error)
                 ?: see_place(m, (struct place){row.n, row.position});
    if (!rc)
        m->lost(m->context, m->session, gap->n);
    return rc;
}

/* In the order of the numbers: each stands behind what has lower ones. */
static int put_all_lost(struct mending *m)
{
    int rc = 0;
    for (size_t i = 0, row = 0; i < m->n && !rc; i++) {
        for (; row < m->rows.n && m->rows.at[row].n < m->gaps[i].n && !rc; row++)
            rc = see_place(m, m->rows.at[row]);
        if (!rc)
            rc = put_lost(m, &m->gaps[i]);
    }
    return rc;
}

static int mend_session(struct mending *m)
{
    struct checkpoint_range debug = {.namespace_id = NAMESPACE_DEBUG};
    m->n = m->seen = m->rows.n = m->newest.n = 0;
    int rc = find_gaps(m);
    if (!rc && m->n)
        rc = store_each_checkpoint(m->store, &debug, see_checkpoint, m, m->error);
    if (!rc && m->n)
        rc = store_each_message(m->store, m->session, 0, 0, see_child, m, m->error);
    return rc ?: put_all_lost(m);
}

struct session_list {
    uint64_t *at;
    size_t n, room;
    struct cairn_error *error;
};

static int add_session(void *context, const struct session_row *row)
{
    struct session_list *list = context;
    uint64_t *at = array_room(list->at, list->n, &list->room, sizeof *at);
    if (!at)
        return error_nomem(list->error);
    list->at = at;
    at[list->n++] = row->session;
    return 0;
}

int message_lines_mend(struct cairn_store *store, struct sha256 *sha, uint64_t session,
                       void (*lost)(void *, uint64_t session, uint64_t n),
                       void *context, struct cairn_error *error)
{
    const struct cairn_page all = {.all = true, .oldest_first = true};
    struct session_list list = {.error = error};
    struct mending m = {.store = store,
                        .sha = sha,
                        .session = session,
                        .lost = lost,
                        .context = context,
                        .error = error};
    int rc =
        session ? 0 : store_each_session(store, &all, add_session, &list, NULL, error);
    if (!rc && session)
        rc = mend_session(&m);
    for (size_t i = 0; i < list.n && !rc; i++) {
        m.session = list.at[i];
        rc = mend_session(&m);
    }
    free(list.at);
    free(m.gaps);
    free(m.rows.at);
    free(m.newest.at);
    return rc;
}
