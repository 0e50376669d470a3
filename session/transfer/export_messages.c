/* SPDX-License-Identifier: MIT */
/* Messages as lines of a file. Each carries its whole body, and two digests: of what it
 * says, and of its whole line of messages up to it. */
#include "session/transfer/transfer_int.h"

#include "storage/object.h"
#include "storage/sessions/rows_message.h"

struct writing {
    struct cairn_store *store;
    struct buf *line;
    int (*write)(void *);
    void *context;
    struct cairn_error *error;
};

static int add_body(struct writing *w, const struct message_row *row)
{
    struct digest digest;
    struct buf content = BUF_INIT;
    int rc = 0;
    if (row->object.len && row->form != MESSAGE_LEFT_OUT) {
        memcpy(digest.bytes, row->object.ptr, DIGEST_SIZE);
        rc = store_get_object(w->store, &digest, &content, w->error);
    }
    line_bytes(w->line, "body", content.size ? buf_view(&content) : row->body);
    buf_release(&content);
    return rc;
}

static int write_row(void *context, const struct message_row *row)
{
    struct writing *w = context;
    struct digest columns;
    store_message_columns(w->store, row, &columns);
    line_begin(w->line, "message");
    line_number(w->line, "n", row->n);
    line_number(w->line, "parent", row->parent);
    line_number(w->line, "position", row->position);
    line_time(w->line, "time", row->time_ns);
    line_number(w->line, "role", row->role);
    line_number(w->line, "form", row->form);
    line_number(w->line, "tokens_in", row->tokens_in);
    line_number(w->line, "tokens_out", row->tokens_out);
    line_number(w->line, "total_in", row->total_in);
    line_number(w->line, "total_out", row->total_out);
    line_number(w->line, "prompt", row->prompt);
    line_number(w->line, "reply", row->reply);
    line_number(w->line, "size", row->size);
    line_text(w->line, "model", row->model);
    line_text(w->line, "file", row->file);
    line_bytes(w->line, "origin", row->origin);
    line_bytes(w->line, "object", row->object);
    line_digest(w->line, "digest", &columns);
    line_digest(w->line, "chain", &row->chain);
    int rc = add_body(w, row);
    return rc ? rc : w->write(w->context);
}

int export_messages(struct cairn_store *store, uint64_t session, struct buf *line,
                    int (*write)(void *), void *context, struct cairn_error *error)
{
    struct writing w = {store, line, write, context, error};
    int rc = store_each_message(store, session, 0, 0, write_row, &w, error);
    if (rc)
        buf_clear(line);
    return rc;
}
