/* SPDX-License-Identifier: MIT */
/* Messages from the lines of a file, each verified. They keep their numbers, which
 * checkpoints name: the session is a new one. */
#include "session/transfer/transfer_int.h"

#include "base/utf8.h"
#include "checkpoint/messages/line.h"
#include "storage/object.h"
#include "storage/sessions/rows_message.h"

#include <stdio.h>

struct file_message {
    struct message_row row;
    struct digest columns, object;
    struct buf body, origin, reference;
};

static int damaged(struct cairn_error *why, const char *what)
{
    return error_set(why, CAIRN_EDAMAGED, "%s", what);
}

static bool read_numbers(const struct line *line, struct message_row *row)
{
    uint64_t role = 0, form = 0;
    bool good = line_get_number(line, "n", &row->n) &&
                line_get_number(line, "parent", &row->parent) &&
                line_get_number(line, "position", &row->position) &&
                line_get_time(line, "time", &row->time_ns) &&
                line_get_number(line, "role", &role) &&
                line_get_number(line, "form", &form) &&
                line_get_number(line, "tokens_in", &row->tokens_in) &&
                line_get_number(line, "tokens_out", &row->tokens_out) &&
                line_get_number(line, "total_in", &row->total_in) &&
                line_get_number(line, "total_out", &row->total_out) &&
                line_get_number(line, "prompt", &row->prompt) &&
                line_get_number(line, "reply", &row->reply) &&
                line_get_number(line, "size", &row->size);
    row->role = (uint8_t)role;
    row->form = (uint8_t)form;
    return good && role >= MESSAGE_USER && role <= MESSAGE_OTHER &&
           form >= MESSAGE_TEXT && form <= MESSAGE_LOST;
}

static bool numbers_fit(const struct message_row *row)
{
    return row->n && row->n <= INT64_MAX && row->parent < row->n && row->position &&
           row->position <= row->n && row->prompt <= row->n && row->reply <= row->n &&
           row->tokens_in <= INT64_MAX && row->tokens_out <= INT64_MAX &&
           row->total_in <= INT64_MAX && row->total_out <= INT64_MAX &&
           row->size <= INT64_MAX;
}

static bool read_rest(const struct line *line, struct file_message *m)
{
    struct message_row *row = &m->row;
    struct str model = STR(""), file = STR("");
    bool good = line_get_text(line, "model", &model) &&
                line_get_text(line, "file", &file) &&
                line_get_bytes(line, "origin", &m->origin) &&
                line_get_bytes(line, "object", &m->reference) &&
                line_get_digest(line, "digest", &m->columns) &&
                line_get_digest(line, "chain", &row->chain) &&
                line_get_bytes(line, "body", &m->body);
    row->model = clean_stored(model);
    row->file = clean_stored(file);
    row->origin = buf_view(&m->origin);
    row->object = buf_view(&m->reference);
    return good && utf8_is_text(model) && model.len < MESSAGE_MODEL_BYTES &&
           utf8_is_text(file) &&
           (row->origin.len == 0 || row->origin.len == MESSAGE_ORIGIN_BYTES) &&
           (row->object.len == 0 || row->object.len == DIGEST_SIZE);
}

/* The body of the row: what it names in the content pool is put there. */
static int put_body(struct importing *im, struct file_message *m,
                    struct cairn_error *why)
{
    struct message_row *row = &m->row;
    struct digest digest;
    bool pooled = row->object.len && row->form != MESSAGE_LEFT_OUT;
    row->body = pooled ? STR("") : buf_view(&m->body);
    if (!pooled)
        return 0;
    int rc = sha256_of(m->body.data, m->body.size, &digest, im->error);
    if (!rc && !str_equal(row->object, (struct str){(char *)digest.bytes, DIGEST_SIZE}))
        return damaged(why, "its body is not the one that it names");
    return rc ? rc
              : store_put_object(im->store, buf_view(&m->body), &digest, im->error);
}

/* Where the one before it was refused, its own digest is all that there is. */
static int check_place(struct importing *im, struct file_message *m,
                       struct cairn_error *why)
{
    struct message_row *row = &m->row;
    struct digest columns;
    struct message_seen before, now = {.n = row->n,
                                       .parent = row->parent,
                                       .position = row->position,
                                       .tokens_in = row->tokens_in,
                                       .tokens_out = row->tokens_out,
                                       .total_in = row->total_in,
                                       .total_out = row->total_out,
                                       .form = row->form,
                                       .chain = row->chain};
    store_message_columns(im->store, row, &columns);
    if (!digest_equal(&columns, &m->columns))
        return damaged(why, "its SHA-256 does not match");
    now.columns = columns;
    int rc = row->parent
                 ? message_see(im->store, row->session, row->parent, &before, why)
                 : 0;
    if (rc == CAIRN_EDAMAGED)
        *why = (struct cairn_error){0}; /* it was refused, or is missing */
    if (rc)
        return rc == CAIRN_EDAMAGED ? 0 : rc;
    return message_follows(im->store, &now, row->parent ? &before : NULL)
               ? 0
               : damaged(why, "it does not fit the message before it");
}

/* A row is put for each that is missing: more than this cannot be. */
static bool too_far(const struct session_import *s, uint64_t n)
{
    enum { MISSING_MOST = 100000 };
    return n > s->n_messages && n - s->n_messages > MISSING_MOST;
}

static int take_message(struct importing *im, const struct line *line,
                        struct file_message *m, struct cairn_error *why)
{
    struct session_import *s = &im->session;
    struct message_row *row = &m->row;
    if (!read_numbers(line, row) || !numbers_fit(row) || row->n <= s->message)
        return damaged(why, "it is not complete, or not in order");
    if (too_far(s, row->n))
        return damaged(why, "its number is far beyond those before it");
    if (s->last_message < row->n)
        s->last_message = row->n;
    if (!read_rest(line, m)) {
        bool nomem = m->body.failed || m->origin.failed || m->reference.failed;
        return nomem ? error_nomem(im->error) : damaged(why, "it is not complete");
    }
    row->session = s->live.row.session;
    if (s->continued && row->n <= s->live.last_message)
        return 0; /* no message is ever changed */
    s->n_added += s->continued;
    int rc = put_body(im, m, why);
    if (!rc)
        rc = check_place(im, m, why);
    if (!rc)
        rc = store_put_message(im->store, row, im->error);
    if (!rc)
        s->message = row->n;
    return rc;
}

int import_message(struct importing *im, const struct line *line)
{
    struct session_import *s = &im->session;
    struct file_message m = {.row = {.n = 0}};
    struct cairn_error why = {0};
    char what[40];
    if (s->known && !s->made)
        return s->recognized ? 0 : import_look_at_message(im, line);
    s->n_messages++;
    int rc = s->made ? 0 : import_make_session(im);
    if (!rc)
        rc = take_message(im, line, &m, &why);
    snprintf(what, sizeof what, "message %llu", (unsigned long long)m.row.n);
    buf_release(&m.body);
    buf_release(&m.origin);
    buf_release(&m.reference);
    return rc && why.text[0] ? import_left_out(im, rc, what, &why) : rc;
}

static void note_lost(void *context, uint64_t session, uint64_t n)
{
    (void)context;
    (void)session;
    (void)n;
}

int import_mend_messages(struct importing *im)
{
    struct session_import *s = &im->session;
    if (!s->last_message)
        return 0;
    if (too_far(s, s->last_message))
        return error_set(im->error, CAIRN_EDAMAGED,
                         "the session %s is not imported: a state of it ends with "
                         "message %llu, and the file has %llu",
                         s->file_name, (unsigned long long)s->last_message,
                         (unsigned long long)s->n_messages);
    if (s->live.last_message < s->last_message)
        s->live.last_message = s->last_message;
    s->live.message = 0;
    int rc = live_put_row(&s->live, im->error);
    return rc ? rc
              : message_lines_mend(im->store, im->sha, s->live.row.session, note_lost,
                                   NULL, im->error);
}
