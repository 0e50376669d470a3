/* SPDX-License-Identifier: MIT */
/* Messages of a session: adding them to its line, and reading them back. */

#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"
#include "cairn/message.h"
#include "session/messages/transcript.h"
#include "session/names.h"
#include "session/outside/redaction.h"
#include "session/session_int.h"
#include "storage/object.h"
#include "storage/sessions/rows_message.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

_Static_assert((int)TRANSCRIPT_USER == MESSAGE_USER &&
                   (int)TRANSCRIPT_OTHER == MESSAGE_OTHER,
               "roles are stored as they are read");

static const char *const role_names[] = {
    [MESSAGE_USER] = "user",       [MESSAGE_ASSISTANT] = "assistant",
    [MESSAGE_SYSTEM] = "system",   [MESSAGE_TOOL] = "tool",
    [MESSAGE_SUMMARY] = "summary", [MESSAGE_OTHER] = "other"};
static const char *const form_names[] = {[MESSAGE_TEXT] = "text",
                                         [MESSAGE_LINE] = "json",
                                         [MESSAGE_UNREADABLE] = "unreadable",
                                         [MESSAGE_LEFT_OUT] = "too-large",
                                         [MESSAGE_LOST] = "lost"};

static const char *name_in(const char *const *names, size_t n, uint8_t number)
{
    return number < n && names[number] ? names[number] : "unknown";
}

const char *message_role_name(uint8_t role)
{
    return name_in(role_names, sizeof role_names / sizeof *role_names, role);
}

/* ---- Adding one ---- */

int message_end(struct live *live, struct message_seen *end, struct cairn_error *error)
{
    *end = (struct message_seen){.n = 0};
    return live->message
               ? message_see(live->store, live->row.session, live->message, end, error)
               : 0;
}

/* Large bodies go to the content pool. */
static int put_body(struct live *live, const struct new_message *message,
                    struct message_row *row, struct digest *stored,
                    struct cairn_error *error)
{
    int rc = 0;
    row->body = message->body;
    row->size = message->digest ? message->size : message->body.len;
    if (message->digest)
        *stored = *message->digest;
    else if (message->body.len > MESSAGE_INLINE_BYTES)
        rc = store_put_object(live->store, message->body, stored, error);
    else
        return 0;
    row->body = STR("");
    row->object = (struct str){(const char *)stored->bytes, DIGEST_SIZE};
    return rc;
}

static bool sums_fit(const struct message_row *row)
{
    return row->total_in <= INT64_MAX && row->total_out <= INT64_MAX;
}

int message_append(struct live *live, const struct new_message *message,
                   struct message_seen *end, struct cairn_error *error)
{
    struct digest stored;
    uint64_t n = live->last_message + 1;
    struct message_row row = {.session = live->row.session,
                              .n = n,
                              .parent = end->n,
                              .position = end->position + 1,
                              .time_ns = message->time_ns,
                              .role = message->role,
                              .form = message->form,
                              .tokens_in = message->tokens_in,
                              .tokens_out = message->tokens_out,
                              .total_in = end->total_in + message->tokens_in,
                              .total_out = end->total_out + message->tokens_out,
                              .prompt = message->prompt ? n : end->prompt,
                              .reply = message->reply ? n : end->reply,
                              .model = message->model,
                              .file = message->file,
                              .origin = message->origin};
    if (!sums_fit(&row))
        return error_set(error, CAIRN_ELIMIT, "the tokens of the line do not fit");
    int rc = put_body(live, message, &row, &stored, error);
    if (rc)
        return rc;
    struct message_seen made = {.n = n,
                                .parent = row.parent,
                                .position = row.position,
                                .tokens_in = row.tokens_in,
                                .tokens_out = row.tokens_out,
                                .total_in = row.total_in,
                                .total_out = row.total_out,
                                .prompt = row.prompt,
                                .reply = row.reply,
                                .role = row.role,
                                .form = row.form};
    store_message_columns(live->store, &row, &made.columns);
    store_message_chain(live->store, &made.columns, end->n ? &end->chain : NULL,
                        &made.chain);
    row.chain = made.chain;
    rc = store_put_message(live->store, &row, error);
    if (rc)
        return rc;
    live->last_message = live->message = n;
    *end = made;
    return 0;
}

int message_log(struct live *live, uint64_t n, struct cairn_error *error)
{
    struct buf after = BUF_INIT;
    buf_varint(&after, n);
    struct log_entry entry = {
        .verb = VERB_MESSAGES, .number = live->message, .after = buf_view(&after)};
    int rc = buf_check(&after, error);
    if (!rc)
        rc = live_log(live, &entry, error);
    buf_release(&after);
    return rc;
}

static int check_message(const struct cairn_new_message *given,
                         struct new_message *message, struct cairn_error *error)
{
    enum { TOKENS_BITS = 40 };
    const char *role = given->role ? given->role : "user";
    for (uint8_t i = MESSAGE_USER; i <= (uint8_t)MESSAGE_TOOL; i++)
        if (strcmp(role, role_names[i]) == 0)
            message->role = i;
    struct str model = str_of(given->model ? given->model : "");
    if (!message->role)
        return error_set(error, CAIRN_EUSAGE,
                         "there is no role '%.40s': it is user, assistant, system or "
                         "tool",
                         role);
    if (!given->bytes)
        return error_set(error, CAIRN_EUSAGE, "a message needs a text");
    if (given->bytes > CAIRN_MESSAGE_LINE_MAX)
        return error_set(error, CAIRN_EUSAGE, "a message has at most 16 MiB");
    if (given->tokens_in >> TOKENS_BITS || given->tokens_out >> TOKENS_BITS)
        return error_set(error, CAIRN_EUSAGE, "a message has fewer than 2^40 tokens");
    if (model.len >= MESSAGE_MODEL_BYTES || !utf8_is_text(model))
        return error_set(error, CAIRN_EUSAGE,
                         "the name of a model is UTF-8 of at most %d bytes",
                         MESSAGE_MODEL_BYTES - 1);
    message->form = MESSAGE_TEXT;
    message->tokens_in = given->tokens_in;
    message->tokens_out = given->tokens_out;
    message->prompt = message->role == MESSAGE_USER;
    message->reply = message->role == MESSAGE_ASSISTANT && model.len;
    return 0;
}

static int add_one(struct live *live, const struct cairn_new_message *given,
                   struct new_message *message, struct cairn_error *error)
{
    struct redactor *redactor = NULL;
    struct message_seen end;
    struct clean body = CLEAN("");
    struct outside_text model = {OUTSIDE_NAME, "the name of the model",
                                 str_of(given->model ? given->model : ""), NULL};
    struct outside_text text = {
        OUTSIDE_PROSE, "the message", {given->text, given->bytes}, NULL};
    int rc = live_redactor(live, &redactor, error);
    struct outside outside = {redactor, true, live->store};
    if (!rc)
        rc = outside_take(&outside, &model, &live->arena, &message->model, error);
    if (!rc)
        rc = outside_take(&outside, &text, &live->arena, &body, error);
    redactor_free(redactor);
    message->body = clean_str(body);
    message->time_ns = live->now.utc_ns;
    if (!rc)
        rc = message_end(live, &end, error);
    if (!rc)
        rc = message_append(live, message, &end, error);
    if (!rc)
        rc = message_log(live, 1, error);
    if (!rc)
        rc = live_put_row(live, error);
    return rc;
}

int cairn_message_add(struct cairn_store *store, const char *session,
                      const struct cairn_new_message *given, uint64_t *number,
                      struct cairn_error *error)
{
    SIZE_CHECK("cairn_new_message", given, error);
    struct live live;
    struct new_message message = {.role = 0};
    uint64_t n = 0;
    int rc = check_message(given, &message, error);
    if (rc)
        return rc;
    rc = live_write(&live, store, session, error);
    if (!rc)
        rc = live_check_open(&live, error);
    if (!rc)
        rc = add_one(&live, given, &message, error);
    n = live.last_message;
    rc = live_close(&live, rc, error);
    if (!rc && number)
        *number = n;
    return rc;
}

/* ---- Reading one ---- */

/* A body in the content pool; where a repair could not save that, there is none. */
static int read_body(struct cairn_store *store, const struct message_row *row,
                     struct buf *content, struct cairn_error *error)
{
    struct digest digest;
    if (row->form == MESSAGE_LEFT_OUT || !row->object.len) {
        buf_str(content, row->body);
        return buf_check(content, error);
    }
    memcpy(digest.bytes, row->object.ptr, DIGEST_SIZE);
    int rc = store_get_object(store, &digest, content, error);
    return rc == CAIRN_ENOTFOUND
               ? error_set(error, CAIRN_EDAMAGED,
                           "the content of message %llu of session %llu is missing",
                           (unsigned long long)row->n, (unsigned long long)row->session)
               : rc;
}

static void tell_text(const struct message_row *row, struct str body, struct buf *out)
{
    struct buf text = BUF_INIT;
    if (row->form == MESSAGE_LEFT_OUT)
        buf_format(&text, "[left out: a line of %llu bytes]",
                   (unsigned long long)row->size);
    else if (row->form == MESSAGE_LOST)
        buf_text(&text, "[lost: a repair could not save it]");
    else if (row->form == MESSAGE_LINE)
        transcript_text(body, &text);
    else
        buf_str(&text, body);
    add_visible(out, buf_view(&text));
    out->failed |= text.failed;
    buf_release(&text);
}

struct telling {
    struct cairn_store *store;
    int (*each)(void *, const struct cairn_message *);
    void *context;
    int stopped;
    struct cairn_error *error;
};

static int tell_message(struct telling *t, const struct message_row *row,
                        struct str body, struct buf *text)
{
    struct buf names = BUF_INIT;
    buf_str(&names, clean_str(row->model));
    buf_byte(&names, 0);
    size_t file = names.size;
    buf_str(&names, clean_str(row->file));
    buf_byte(text, 0);
    bool has_body = row->form != MESSAGE_LEFT_OUT && row->form != MESSAGE_LOST;
    int rc = buf_check(&names, t->error);
    if (!rc)
        rc = buf_check(text, t->error);
    struct cairn_message told = {
        .n = row->n,
        .parent = row->parent,
        .position = row->position,
        .time_ns = row->time_ns,
        .role = message_role_name(row->role),
        .form = name_in(form_names, sizeof form_names / sizeof *form_names, row->form),
        .model = row->model.len ? names.data : NULL,
        .file = row->file.len && !rc ? names.data + file : NULL,
        .tokens_in = row->tokens_in,
        .tokens_out = row->tokens_out,
        .total_in = row->total_in,
        .total_out = row->total_out,
        .text = text->data,
        .size = row->size,
        .body = has_body ? body.ptr : NULL,
        .body_bytes = has_body ? body.len : 0};
    if (!rc)
        t->stopped = t->each(t->context, &told);
    buf_release(&names);
    return rc;
}

static int tell_row(void *context, const struct message_row *row)
{
    struct telling *t = context;
    struct buf body = BUF_INIT, text = BUF_INIT;
    int rc = read_body(t->store, row, &body, t->error);
    if (!rc) {
        tell_text(row, buf_view(&body), &text);
        rc = tell_message(t, row, buf_view(&body), &text);
    }
    buf_release(&body);
    buf_release(&text);
    return rc;
}

int cairn_message_get(struct cairn_store *store, const char *session, uint64_t n,
                      int (*got)(void *, const struct cairn_message *), void *context,
                      struct cairn_error *error)
{
    struct live live;
    struct telling t = {
        .store = store, .each = got, .context = context, .error = error};
    int rc = live_read(&live, store, session, error);
    if (!rc && (n == 0 || n > live.last_message))
        rc =
            error_set(error, CAIRN_ENOTFOUND, "session %.*s has no message %llu",
                      (int)live.row.name.len, live.row.name.ptr, (unsigned long long)n);
    if (!rc)
        rc = store_get_message(store, live.row.session, n, tell_row, &t, error);
    return live_close(&live, rc, error);
}

/* ---- The end of a line, for checkpoints ---- */

struct message_texts {
    struct cairn_store *store;
    struct buf *out;
    struct cairn_error *error;
};

static int take_model(void *context, const struct message_row *row)
{
    struct message_texts *texts = context;
    buf_str(texts->out, clean_str(row->model));
    return 0;
}

static int take_text(void *context, const struct message_row *row)
{
    struct message_texts *texts = context;
    struct buf body = BUF_INIT;
    int rc = read_body(texts->store, row, &body, texts->error);
    if (!rc)
        tell_text(row, buf_view(&body), texts->out);
    else if (rc == CAIRN_EDAMAGED) /* it only describes */
        rc = 0;
    buf_release(&body);
    return rc;
}

int messages_encode(struct live *live, struct buf *out, uint32_t *n,
                    struct cairn_error *error)
{
    struct message_seen end;
    struct buf model = BUF_INIT, prompt = BUF_INIT;
    struct message_texts models = {live->store, &model, error},
                         prompts = {live->store, &prompt, error};
    uint64_t session = live->row.session;
    int rc = message_end(live, &end, error);
    if (!rc && end.reply)
        rc = store_get_message(live->store, session, end.reply, take_model, &models,
                               error);
    if (!rc && end.prompt)
        rc = store_get_message(live->store, session, end.prompt, take_text, &prompts,
                               error);
    if (!rc)
        rc = buf_check(&model, error);
    if (!rc)
        rc = buf_check(&prompt, error);
    struct message_line line = {.n = end.n,
                                .position = end.position,
                                .tokens_in = end.total_in,
                                .tokens_out = end.total_out,
                                .chain = end.chain,
                                .model = buf_view(&model),
                                .prompt = buf_view(&prompt)};
    line.prompt.len = utf8_fit(line.prompt, MESSAGE_PROMPT_BYTES);
    *n = (uint32_t)end.position;
    if (!rc)
        rc = message_line_encode(&line, out, error);
    buf_release(&model);
    buf_release(&prompt);
    return rc;
}

/* ---- A list ---- */

struct message_numbers {
    uint64_t *at; /* newest first */
    size_t n, room;
};

/* Back from the end of a line. Each is compared with the one before it. */
static int walk_back(struct cairn_store *store, uint64_t session,
                     const struct cairn_message_line *line, uint64_t last,
                     struct message_numbers *numbers, struct cairn_error *error)
{
    struct message_seen row, before = {.n = 0};
    int rc = line->last ? message_see(store, session, line->last, &row, error) : 0;
    for (bool more = line->last; more && !rc;) {
        uint64_t *at = array_room(numbers->at, numbers->n, &numbers->room, sizeof *at);
        if (!at)
            return error_nomem(error);
        numbers->at = at;
        at[numbers->n++] = row.n;
        more = row.parent && (!last || numbers->n < last);
        if (!more)
            break;
        rc = message_see(store, session, row.parent, &before, error);
        if (!rc && !message_follows(store, &row, &before))
            rc = error_set(error, CAIRN_EDAMAGED,
                           "message %llu of session %llu does not fit the one before "
                           "it: run `cairn checkpoint verify`",
                           (unsigned long long)row.n, (unsigned long long)session);
        row = before;
    }
    return rc;
}

/* The end of the line, and whose it is. */
static int find_line(struct live *live, const char *at, struct cairn_message_line *line,
                     uint64_t *session, struct cairn_error *error)
{
    struct message_seen end;
    struct state_at state;
    uint64_t seq = 0;
    *session = live->row.session;
    int rc =
        at ? debug_seq(live->store, at, &seq, error) : message_end(live, &end, error);
    if (!rc && !at)
        *line = (struct cairn_message_line){.last = end.n,
                                            .messages = end.position,
                                            .tokens_in = end.total_in,
                                            .tokens_out = end.total_out};
    if (rc || !at)
        return rc;
    rc = state_read(live->store, live->sha, seq, &state, error);
    if (!rc && state.at.session)
        *session = state.at.session;
    if (!rc)
        *line = (struct cairn_message_line){.last = state.messages.n,
                                            .messages = state.messages.position,
                                            .tokens_in = state.messages.tokens_in,
                                            .tokens_out = state.messages.tokens_out};
    state_release(&state);
    return rc;
}

int cairn_message_list(struct cairn_store *store, const char *session, const char *at,
                       uint64_t last, int (*each)(void *, const struct cairn_message *),
                       void *context, struct cairn_message_line *line,
                       struct cairn_error *error)
{
    struct live live;
    struct telling t = {
        .store = store, .each = each, .context = context, .error = error};
    struct message_numbers numbers = {0};
    struct cairn_message_line found = {0};
    uint64_t whose = 0;
    int rc = at ? live_begin(&live, store, false, error)
                : live_read(&live, store, session, error);
    if (!rc)
        rc = find_line(&live, at, &found, &whose, error);
    if (!rc)
        rc = walk_back(store, whose, &found, last, &numbers, error);
    for (size_t i = numbers.n; i > 0 && !rc && !t.stopped; i--)
        rc = store_get_message(store, whose, numbers.at[i - 1], tell_row, &t, error);
    free(numbers.at);
    rc = live_close(&live, rc, error);
    if (!rc && line)
        *line = found;
    return rc;
}
