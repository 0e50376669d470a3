/* SPDX-License-Identifier: MIT */
#include "checkpoint/messages/line.h"

#include "base/reader.h"
#include "base/utf8.h"
#include "storage/sessions/rows_message.h"

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
        return error_set(error, CAIRN_EUSAGE, "this is no line of messages");
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
