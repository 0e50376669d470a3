/* SPDX-License-Identifier: MIT */
/* Messages as lines of a file. Each carries its whole body, and two digests: of what it
 * says, and of its whole line of messages up to it. */
#include "session/transfer/transfer_int.h"

#include "storage/object.h"
#include "storage/sessions/rows_message.h"

static int add_body(const struct message_export *out, const struct message_row *row,
                    struct cairn_error *error)
{
    struct digest digest;
    struct buf content = BUF_INIT;
    int rc = 0;
    if (row->object.len && row->form != MESSAGE_LEFT_OUT) {
        memcpy(digest.bytes, row->object.ptr, DIGEST_SIZE);
        rc = store_get_object(out->store, &digest, &content, error);
    }
    line_bytes(out->line, "body", content.size ? buf_view(&content) : row->body);
    buf_release(&content);
    return rc;
}

static int write_row(void *context, const struct message_row *row)
{
    const struct message_export *out = context;
    struct cairn_error why = {0};
    struct digest columns;
    store_message_columns(out->store, row, &columns);
    line_begin(out->line, "message");
    line_number(out->line, "n", row->n);
    line_number(out->line, "parent", row->parent);
    line_number(out->line, "position", row->position);
    line_time(out->line, "time", row->time_ns);
    line_number(out->line, "role", row->role);
    line_number(out->line, "form", row->form);
    line_number(out->line, "tokens_in", row->tokens_in);
    line_number(out->line, "tokens_out", row->tokens_out);
    line_number(out->line, "total_in", row->total_in);
    line_number(out->line, "total_out", row->total_out);
    line_number(out->line, "prompt", row->prompt);
    line_number(out->line, "reply", row->reply);
    line_number(out->line, "size", row->size);
    line_text(out->line, "model", clean_str(row->model));
    line_text(out->line, "file", clean_str(row->file));
    line_bytes(out->line, "origin", row->origin);
    line_bytes(out->line, "object", row->object);
    line_digest(out->line, "digest", &columns);
    line_digest(out->line, "chain", &row->chain);
    int rc = add_body(out, row, &why);
    if (!rc)
        return out->write(out->context);
    error_context(&why, "message %llu", (unsigned long long)row->n);
    return out->left_out(out->context, rc, &why);
}

int export_messages(const struct message_export *out, uint64_t session,
                    struct cairn_error *error)
{
    struct message_export own = *out;
    int rc = store_each_message(out->store, session, 0, 0, write_row, &own, error);
    if (rc)
        buf_clear(out->line);
    return rc;
}
