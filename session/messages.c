/* SPDX-License-Identifier: MIT */
/* Messages of a session, and what a line of a transcript says. */
#include "session/messages.h"

#include "session/names.h"
#include "session/outside.h"
#include "session/session_int.h"

#include "base/error.h"
#include "base/json_scan.h"
#include "base/memory.h"
#include "base/struct_take.h"
#include "base/utf8.h"
#include "cairn/message.h"
#include "storage/object.h"
#include "storage/sessions/rows_message.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== A line of a transcript ==== */

/* Each line is read once; values are known by the path of keys that leads to
 * them, as "usage.input_tokens" and "content[].text". What is in "message" counts as if
 * it stood outside of it. */

enum { PATH_LEVELS = 6, PATH_BYTES = 96 };

struct walk {
    struct json_scan in;
    struct str keys[PATH_LEVELS]; /* of each open object, else ptr NULL */
    uint32_t depth;               /* of what is open around the token */
    char path[PATH_BYTES];        /* of the token; "": deeper than is looked at */
    bool inner;                   /* below "message" */
};

/* ---- Paths ---- */

static void make_path(struct walk *w, uint32_t levels)
{
    size_t n = 0;
    w->path[0] = '\0';
    w->inner = levels && w->keys[0].ptr && str_equal(w->keys[0], STR("message"));
    if (levels > PATH_LEVELS)
        return;
    for (uint32_t i = w->inner; i < levels; i++) {
        struct str key = w->keys[i].ptr ? w->keys[i] : STR("[]");
        size_t dot = n && w->keys[i].ptr;
        if (n + dot + key.len >= PATH_BYTES) {
            w->path[0] = '\0';
            return;
        }
        if (dot)
            w->path[n++] = '.';
        memcpy(w->path + n, key.ptr, key.len);
        n += key.len;
        w->path[n] = '\0';
    }
}

/* The next token that is not a key, with its path; of an end that of what it ends. */
static enum json_token walk_next(struct walk *w)
{
    enum json_token token;
    while ((token = json_next(&w->in)) == JSON_KEY)
        if (w->depth && w->depth <= PATH_LEVELS)
            w->keys[w->depth - 1] = w->in.raw;
    bool opens = token == JSON_OBJECT || token == JSON_ARRAY,
         closes = token == JSON_OBJECT_END || token == JSON_ARRAY_END;
    w->depth -= closes;
    make_path(w, w->depth);
    if (opens && w->depth < PATH_LEVELS)
        w->keys[w->depth] = (struct str){NULL, 0};
    w->depth += opens;
    return token;
}

static bool at(const struct walk *w, const char *path)
{
    return strcmp(w->path, path) == 0;
}

/* ---- Times ---- */

static int64_t days_before(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = year / 400, y = year - era * 400;
    int64_t d = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + y * 365 + y / 4 - y / 100 + d - 719468;
}

/* Digits where the pattern has 0, the same bytes elsewhere. */
static bool has_shape(struct str text, const char *pattern)
{
    size_t n = strlen(pattern);
    for (size_t i = 0; i < n && i < text.len; i++) {
        bool digit = text.ptr[i] >= '0' && text.ptr[i] <= '9';
        if (pattern[i] == '0' ? !digit : text.ptr[i] != pattern[i])
            return false;
    }
    return text.len >= n;
}

static int64_t number_at(struct str text, size_t at, size_t n)
{
    return (int64_t)json_count((struct str){text.ptr + at, n});
}

/* Minutes east of UTC at the end; false: it says nothing. */
static bool zone_of(struct str text, size_t from, int64_t *minutes)
{
    struct str zone = {text.ptr + from, text.len - from};
    *minutes = 0;
    if (str_equal(zone, STR("Z")) || str_equal(zone, STR("z")))
        return true;
    if (zone.len != 6 || (zone.ptr[0] != '+' && zone.ptr[0] != '-') ||
        !has_shape((struct str){zone.ptr + 1, 5}, "00:00"))
        return false;
    *minutes = number_at(zone, 1, 2) * 60 + number_at(zone, 4, 2);
    *minutes = zone.ptr[0] == '-' ? -*minutes : *minutes;
    return true;
}

int64_t transcript_time(struct str text)
{
    static const char pattern[] = "0000-00-00T00:00:00";
    size_t at = sizeof pattern - 1;
    int64_t ns = 0, unit = 100000000, zone;
    if (!has_shape(text, pattern))
        return 0;
    int64_t year = number_at(text, 0, 4), month = number_at(text, 5, 2),
            day = number_at(text, 8, 2);
    if (at < text.len && text.ptr[at] == '.')
        for (at++; at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9'; at++) {
            ns += (text.ptr[at] - '0') * unit;
            unit /= 10;
        }
    if (!zone_of(text, at, &zone) || month < 1 || month > 12 || day < 1 || day > 31 ||
        year < 1970 || year > 2200)
        return 0;
    int64_t seconds = days_before(year, month, day) * 86400 +
                      number_at(text, 11, 2) * 3600 + number_at(text, 14, 2) * 60 +
                      number_at(text, 17, 2) - zone * 60;
    return seconds * 1000000000 + ns;
}

/* ---- What is known of it ---- */

/* Of one of the shapes all others are 0. */
struct usage {
    uint64_t input, created, output;     /* tokens; created: put into a cache */
    uint64_t prompt, cached, completion; /* prompt: with those from a cache */
};

struct reading {
    struct transcript_line *line;
    struct str type, role;    /* raw */
    bool aside, meta;         /* of another agent; not typed by the user */
    bool text, result, other; /* what the content has */
    struct str block;         /* type of the block */
    struct usage usage[2];    /* outside of "message", and in it */
};

static enum transcript_role role_named(struct str name)
{
    static const struct {
        const char *name;
        enum transcript_role role;
    } roles[] = {{"user", TRANSCRIPT_USER},           {"human", TRANSCRIPT_USER},
                 {"assistant", TRANSCRIPT_ASSISTANT}, {"system", TRANSCRIPT_SYSTEM},
                 {"developer", TRANSCRIPT_SYSTEM},    {"tool", TRANSCRIPT_TOOL},
                 {"function", TRANSCRIPT_TOOL},       {"summary", TRANSCRIPT_SUMMARY}};
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        if (str_equal(name, str_of(roles[i].name)))
            return roles[i].role;
    return TRANSCRIPT_OTHER;
}

static void note_string(struct reading *r, const struct walk *w)
{
    struct str raw = w->in.raw;
    if (at(w, "type") && !w->inner)
        r->type = raw;
    else if (at(w, "role"))
        r->role = raw;
    else if (at(w, "model"))
        r->line->model = raw;
    else if (at(w, "uuid") && !w->inner)
        r->line->uuid = raw;
    else if (at(w, "id") && w->inner)
        r->line->reply_id = raw;
    else if (at(w, "timestamp") && !w->inner)
        r->line->time_ns = transcript_time(raw);
    else if (at(w, "content") || at(w, "content[]"))
        r->text = r->text || raw.len > 0;
    else if (at(w, "content[].type"))
        r->block = raw;
}

static void note_number(struct reading *r, const struct walk *w)
{
    enum { TOKENS_BITS = 40 }; /* so that sums fit */
    struct usage *usage = &r->usage[w->inner];
    const struct {
        const char *path;
        uint64_t *to;
    } known[] = {{"usage.input_tokens", &usage->input},
                 {"usage.cache_creation_input_tokens", &usage->created},
                 {"usage.output_tokens", &usage->output},
                 {"usage.prompt_tokens", &usage->prompt},
                 {"usage.prompt_tokens_details.cached_tokens", &usage->cached},
                 {"usage.completion_tokens", &usage->completion},
                 {"tokens_in", &usage->input},
                 {"tokens_out", &usage->output}};
    uint64_t n = json_count(w->in.raw);
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (at(w, known[i].path))
            *known[i].to = n >> TOKENS_BITS ? 0 : n;
}

/* What is said at both levels is the same thing said twice. */
static void count_tokens(struct reading *r)
{
    const struct usage *in = &r->usage[1], *out = &r->usage[0];
    bool inner = in->input || in->created || in->output || in->prompt || in->completion;
    const struct usage *u = inner ? in : out;
    uint64_t fresh = u->prompt > u->cached ? u->prompt - u->cached : 0;
    r->line->tokens_in = u->input + u->created + fresh;
    r->line->tokens_out = u->output + u->completion;
}

static void note_block(struct reading *r)
{
    if (str_equal(r->block, STR("text")))
        r->text = true;
    else if (str_equal(r->block, STR("tool_result")))
        r->result = true;
    else
        r->other = true;
    r->block = STR("");
}

static void note_token(struct reading *r, const struct walk *w, enum json_token token)
{
    if (token == JSON_STRING)
        note_string(r, w);
    else if (token == JSON_NUMBER)
        note_number(r, w);
    else if (token == JSON_OBJECT_END && at(w, "content[]"))
        note_block(r);
    else if (token == JSON_TRUE && at(w, "isSidechain"))
        r->aside = true;
    else if (token == JSON_TRUE && (at(w, "isMeta") || at(w, "isCompactSummary")))
        r->meta = true;
}

/* What says that it is a message of a kind counts before the role in it. */
static void settle(struct reading *r)
{
    struct transcript_line *line = r->line;
    bool typed = r->type.len && !str_equal(r->type, STR("message"));
    line->role = role_named(typed ? r->type : r->role);
    if (line->role == TRANSCRIPT_USER && r->result && !r->text && !r->other)
        line->role = TRANSCRIPT_TOOL;
    line->prompt =
        line->role == TRANSCRIPT_USER && !r->aside && !r->meta && (r->text || r->other);
    line->reply = line->role == TRANSCRIPT_ASSISTANT && !r->aside && line->model.len &&
                  !str_equal(line->model, STR("<synthetic>"));
    count_tokens(r);
}

bool transcript_read(struct str line, struct transcript_line *out)
{
    struct walk w = {.in = json_scan_of(line)};
    struct reading r = {.line = out};
    enum json_token token = walk_next(&w);
    *out = (struct transcript_line){.role = TRANSCRIPT_OTHER};
    if (token != JSON_OBJECT)
        return false;
    while ((token = walk_next(&w)) != JSON_END && token != JSON_BAD)
        note_token(&r, &w, token);
    settle(&r);
    return token == JSON_END;
}

/* ---- Its text ---- */

struct line_telling {
    struct buf *out;
    struct str type, text, name; /* raw, of the block */
    const char *input;           /* where the input of a tool begins */
    struct str input_json;
    struct buf result; /* texts of the result of a tool */
    bool any;          /* it had content */
};

static void begin_part(struct line_telling *t)
{
    if (t->out->size && t->out->data[t->out->size - 1] != '\n')
        buf_byte(t->out, '\n');
    t->any = true;
}

static void tell_plain(struct line_telling *t, struct str raw)
{
    if (!raw.len)
        return;
    begin_part(t);
    json_unescape(raw, t->out);
}

static void tell_block(struct line_telling *t)
{
    if (str_equal(t->type, STR("text"))) {
        tell_plain(t, t->text);
    } else {
        begin_part(t);
        buf_byte(t->out, '[');
        json_unescape(t->type.len ? t->type : STR("block"), t->out);
        if (t->name.len)
            buf_byte(t->out, ' ');
        json_unescape(t->name, t->out);
        buf_byte(t->out, ']');
        struct str rest = t->input_json.len ? t->input_json : buf_view(&t->result);
        if (rest.len || t->text.len)
            buf_byte(t->out, ' ');
        buf_str(t->out, rest);
        if (!rest.len)
            json_unescape(t->text, t->out);
    }
    t->type = t->text = t->name = t->input_json = STR("");
    buf_clear(&t->result);
}

static void tell_string(struct line_telling *t, const struct walk *w)
{
    struct str raw = w->in.raw;
    if (at(w, "content") || at(w, "content[]"))
        tell_plain(t, raw);
    else if (at(w, "summary") && !w->inner)
        tell_plain(t, raw);
    else if (at(w, "content[].type"))
        t->type = raw;
    else if (at(w, "content[].text") || at(w, "content[].thinking"))
        t->text = raw;
    else if (at(w, "content[].name") || at(w, "tool_calls[].function.name"))
        t->name = raw;
    else if (at(w, "tool_calls[].function.arguments"))
        t->text = raw;
    else if (at(w, "content[].content") || at(w, "content[].content[].text")) {
        if (t->result.size)
            buf_byte(&t->result, '\n');
        json_unescape(raw, &t->result);
    }
}

static void tell_token(struct line_telling *t, const struct walk *w,
                       enum json_token token)
{
    if (token == JSON_STRING)
        tell_string(t, w);
    else if (token == JSON_OBJECT && at(w, "content[].input"))
        t->input = w->in.raw.ptr;
    else if (token == JSON_OBJECT_END && at(w, "content[].input") && t->input)
        t->input_json = (struct str){t->input, (size_t)(w->in.at - t->input)};
    else if (token == JSON_OBJECT_END && at(w, "content[]"))
        tell_block(t);
    else if (token == JSON_OBJECT_END && at(w, "tool_calls[]")) {
        t->type = STR("tool_use");
        tell_block(t);
    }
}

void transcript_text(struct str line, struct buf *out)
{
    struct walk w = {.in = json_scan_of(line)};
    struct line_telling t = {.out = out, .result = BUF_INIT};
    size_t start = out->size;
    enum json_token token;
    while ((token = walk_next(&w)) != JSON_END && token != JSON_BAD)
        tell_token(&t, &w, token);
    if (!t.any && out->size == start)
        buf_str(out, line);
    out->failed |= t.result.failed;
    buf_release(&t.result);
}

/* ==== The messages of a session ==== */

/* Messages of a session: adding them to its line, and reading them back. */

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
    int rc = buf_check(&after, error) ?: live_log(live, &entry, error);
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
        rc = outside_take(&outside, &model, &live->arena, &message->model, error)
                 ?: outside_take(&outside, &text, &live->arena, &body, error);
    redactor_free(redactor);
    message->body = clean_str(body);
    message->time_ns = live->now.utc_ns;
    return rc
           ?: message_end(live, &end, error)
           ?: message_append(live, message, &end, error)
           ?: message_log(live, 1, error)
           ?: live_put_row(live, error);
}

int cairn_message_add(struct cairn_store *store, const char *session,
                      const struct cairn_new_message *given, uint64_t *number,
                      struct cairn_error *error)
{
    STRUCT_TAKE(cairn_new_message, given, error);
    struct live live;
    struct new_message message = {.role = 0};
    uint64_t n = 0;
    int rc = check_message(given, &message, error);
    if (rc)
        return rc;
    rc = live_write(&live, store, session, error)
         ?: live_check_open(&live, error)
         ?: add_one(&live, given, &message, error);
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
    int rc = buf_check(&names, t->error) ?: buf_check(text, t->error);
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
        rc = buf_check(&model, error) ?: buf_check(&prompt, error);
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
        rc = find_line(&live, at, &found, &whose, error)
                 ?: walk_back(store, whose, &found, last, &numbers, error);
    for (size_t i = numbers.n; i > 0 && !rc && !t.stopped; i--)
        rc = store_get_message(store, whose, numbers.at[i - 1], tell_row, &t, error);
    free(numbers.at);
    rc = live_close(&live, rc, error);
    if (!rc && line)
        *line = found;
    return rc;
}
