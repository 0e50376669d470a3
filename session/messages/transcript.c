/* SPDX-License-Identifier: MIT */
/* A line is walked through once; values are told by the path of keys that leads to
 * them, as "usage.input_tokens" and "content[].text". What is in "message" counts as if
 * it stood outside of it. */
#include "session/messages/transcript.h"

#include "base/json_scan.h"

#include <assert.h>
#include <string.h>

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

/* The next token that is no key, with its path; of an end that of what it ends. */
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
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
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
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
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

struct telling {
    struct buf *out;
    struct str type, text, name; /* raw, of the block */
    const char *input;           /* where the input of a tool begins */
    struct str input_json;
    struct buf result; /* texts of the result of a tool */
    bool any;          /* it had content */
};

static void begin_part(struct telling *t)
{
    if (t->out->size && t->out->data[t->out->size - 1] != '\n')
        buf_byte(t->out, '\n');
    t->any = true;
}

static void tell_plain(struct telling *t, struct str raw)
{
    if (!raw.len)
        return;
    begin_part(t);
    json_unescape(raw, t->out);
}

static void tell_block(struct telling *t)
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

static void tell_string(struct telling *t, const struct walk *w)
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

static void tell_token(struct telling *t, const struct walk *w, enum json_token token)
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
    struct telling t = {.out = out, .result = BUF_INIT};
    size_t start = out->size;
    enum json_token token;
    while ((token = walk_next(&w)) != JSON_END && token != JSON_BAD)
        tell_token(&t, &w, token);
    if (!t.any && out->size == start)
        buf_str(out, line);
    out->failed |= t.result.failed;
    buf_release(&t.result);
}
