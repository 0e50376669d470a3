/* SPDX-License-Identifier: MIT */
/* What comes from outside before it is stored: the environment, what a command or an
 * agent gives, and what git says. No secret is left in it. */
#include "session/outside.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/str.h"
#include "base/utf8.h"
#include "secrets/outside.h"

#include <stdlib.h>
#include <unistd.h>

enum { ENVIRONMENT_VARIABLES = 256 }; /* at most, of each ... */

enum { ENVIRONMENT_VALUE = 4096 }; /* ... so many bytes; then comes the mark */

enum { CONTEXT_SUMMARY = 500, CONTEXT_DESCRIPTION = 10000 }; /* characters */

enum { CONTEXT_KEY = 50, CONTEXT_VALUE = 500 }; /* ... so many characters */

/* ==== Lists of names ==== */

enum { LIST_BYTES = 4096 };

struct str next_name(struct str *list)
{
    size_t n = 0;
    while (n < list->len && list->ptr[n] != ',')
        n++;
    struct str name = {list->ptr, n};
    size_t used = n < list->len ? n + 1 : n;
    *list = (struct str){list->ptr + used, list->len - used};
    return name;
}

static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return name.len > 0;
}

static bool is_in_list(struct str list, struct str name)
{
    while (list.len)
        if (str_equal(next_name(&list), name))
            return true;
    return false;
}

bool is_name_list(struct str list)
{
    struct str rest = list;
    if (list.len > LIST_BYTES || (list.len && list.ptr[list.len - 1] == ','))
        return false;
    while (rest.len) {
        struct str name = next_name(&rest);
        if (!is_name(name) || is_in_list(rest, name))
            return false;
    }
    return true;
}

static bool is_pattern(struct str name)
{
    return name.len > 1 && name.ptr[name.len - 1] == '*';
}

bool is_pattern_list(struct str names)
{
    struct buf plain = BUF_INIT;
    for (struct str rest = names; rest.len && !plain.failed;) {
        struct str name = next_name(&rest);
        name.len -= is_pattern(name);
        buf_str(&plain, name);
        if (rest.len)
            buf_byte(&plain, ',');
    }
    bool good = names.len <= LIST_BYTES && !plain.failed &&
                (!names.len || names.ptr[names.len - 1] != ',') &&
                is_name_list(buf_view(&plain));
    buf_release(&plain);
    return good;
}

bool is_text_list(struct str list, size_t most)
{
    struct str rest = list;
    if (list.len > LIST_BYTES || (list.len && list.ptr[list.len - 1] == ','))
        return false;
    while (rest.len) {
        struct str text = next_name(&rest);
        if (!text.len || text.len > most || !utf8_is_printable(text) ||
            is_in_list(rest, text))
            return false;
    }
    return true;
}

/* ==== The secrets that a session knows ==== */

struct collecting {
    struct arena arena; /* of names that end with a NUL */
    struct secret *at;
    size_t n;
};

/* Of the variables that have at least so many bytes. */
static void collect_variables(struct collecting *c, struct str names, size_t least)
{
    while (names.len && !c->arena.failed) {
        struct str name = next_name(&names);
        const char *plain = arena_str(&c->arena, name).ptr;
        const char *value = plain ? getenv(plain) : NULL;
        if (value && strlen(value) >= least)
            c->at[c->n++] = (struct secret){name, str_of(value)};
    }
}

int redactor_of_values(const struct hidden_values *hidden, struct redactor **out,
                       struct cairn_error *error)
{
    size_t most = hidden->names.len + hidden->declared.len + hidden->n_given + 1;
    struct collecting c = {.arena = ARENA_INIT, .at = calloc(most, sizeof *c.at)};
    if (!c.at)
        return error_nomem(error);
    collect_variables(&c, hidden->names, 1);
    collect_variables(&c, hidden->declared, LIMIT_SECRET_LEAST);
    for (size_t i = 0; i < hidden->n_given; i++)
        if (hidden->given[i].value.len >= LIMIT_SECRET_LEAST)
            c.at[c.n++] = hidden->given[i];
    int rc = c.arena.failed ? error_nomem(error) : redactor_new(out, c.at, c.n, error);
    arena_release(&c.arena);
    free(c.at);
    return rc;
}

/* ==== Kinds of hooks ==== */

static const char *const hook_names[HOOK_KINDS] = {
    "checkpoint", "task-failed", "contradiction", "hypothesis", "evidence", "belief",
    "dependency", "gap",         "note",          "command",    "check",    "restore",
    "branch",     "prune",       "undo",          "session"};

const char *hook_kind_name(unsigned kind)
{
    return hook_names[kind];
}

unsigned hook_kind_parse(struct str name)
{
    unsigned kind = 0;
    while (kind < HOOK_KINDS && !str_equal(name, str_of(hook_names[kind])))
        kind++;
    return kind;
}

bool hook_is_command(struct str command)
{
    size_t at = 0, n = 1;
    uint32_t code = 1;
    for (; at < command.len && n && code; at += n)
        n = utf8_next(command.ptr + at, command.ptr + command.len, &code);
    return n && code && command.len > 0 && command.len <= HOOK_BYTES;
}

/* ==== The environment ==== */

enum { VERSION = 1 };

/* ---- Of this process ---- */

static bool is_listed(struct str names, struct str name)
{
    while (names.len) {
        struct str listed = next_name(&names);
        size_t n = listed.len - is_pattern(listed);
        if (is_pattern(listed) ? name.len >= n && memcmp(name.ptr, listed.ptr, n) == 0
                               : str_equal(name, listed))
            return true;
    }
    return false;
}

static bool is_text(struct str text)
{
    size_t at = 0, n = 1;
    uint32_t code = 1;
    for (; at < text.len && n && code; at += n)
        n = utf8_next(text.ptr + at, text.ptr + text.len, &code);
    return n && code;
}

struct found {
    struct environment_variable at[ENVIRONMENT_VARIABLES];
    uint32_t n;
};

static int by_name(const void *a, const void *b)
{
    return str_compare(((const struct environment_variable *)a)->name,
                       ((const struct environment_variable *)b)->name);
}

/* Of a name that stands there twice, the first counts, as for getenv. */
static bool has_name(const struct found *found, struct str name)
{
    for (uint32_t i = 0; i < found->n; i++)
        if (str_equal(found->at[i].name, name))
            return true;
    return false;
}

static void find_variables(struct str names, struct str declared, struct found *found)
{
    found->n = 0;
    for (char **at = environ; *at && found->n < ENVIRONMENT_VARIABLES; at++) {
        const char *equals = strchr(*at, '=');
        struct str name = {*at, equals ? (size_t)(equals - *at) : 0};
        if (!name.len || !is_listed(names, name) || is_listed(declared, name) ||
            has_name(found, name) || !is_text(name))
            continue;
        found->at[found->n++] = (struct environment_variable){name, str_of(equals + 1)};
    }
    if (found->n)
        qsort(found->at, found->n, sizeof found->at[0], by_name);
}

struct cleaning {
    struct redactor *redactor;
    bool all; /* nothing may be kept: a secret is too short to be found */
};

static void add_value(const struct cleaning *cleaning, struct str value,
                      struct buf *out)
{
    struct buf clean = BUF_INIT;
    if (cleaning->all && value.len)
        buf_text(&clean, REDACTED);
    else
        add_clean(cleaning->redactor, value, &clean);
    struct str text = buf_view(&clean);
    if (text.len > ENVIRONMENT_VALUE) {
        clean.size = utf8_fit(text, ENVIRONMENT_VALUE);
        buf_text(&clean, ENVIRONMENT_CUT);
    }
    buf_lstr(out, buf_view(&clean));
    out->failed |= clean.failed;
    buf_release(&clean);
}

static int begin_cleaning(const struct hidden_values *hidden, struct cleaning *cleaning,
                          struct cairn_error *error)
{
    struct cairn_error why = {0};
    *cleaning = (struct cleaning){0};
    int rc = redactor_of_values(hidden, &cleaning->redactor, &why);
    cleaning->all = rc == CAIRN_EUSAGE;
    return rc && !cleaning->all ? error_set(error, rc, "%s", why.text) : 0;
}

int environment_encode(struct str names, const struct hidden_values *hidden,
                       struct buf *out, uint32_t *n, struct cairn_error *error)
{
    struct cleaning cleaning;
    struct found found;
    int rc = begin_cleaning(hidden, &cleaning, error);
    if (rc)
        return rc;
    find_variables(names, hidden->declared, &found);
    char *directory = getcwd(NULL, 0);
    buf_byte(out, VERSION);
    add_value(&cleaning, str_of(directory), out);
    buf_varint(out, found.n);
    for (uint32_t i = 0; i < found.n; i++) {
        buf_lstr(out, found.at[i].name);
        add_value(&cleaning, found.at[i].value, out);
    }
    free(directory);
    redactor_free(cleaning.redactor);
    *n = found.n;
    return buf_check(out, error);
}

/* ---- Reading ---- */

static struct str copy_text(struct arena *arena, struct reader *in)
{
    struct str text = read_lstr(in);
    in->failed = in->failed || !is_text(text);
    return in->failed ? STR("") : arena_str(arena, text);
}

static void read_variables(struct arena *arena, struct reader *in,
                           struct environment *out)
{
    uint64_t n = read_varint(in);
    in->failed = in->failed || n > ENVIRONMENT_VARIABLES;
    out->n = in->failed ? 0 : (uint32_t)n;
    if (out->n)
        out->at = arena_take(arena, out->n, sizeof *out->at);
    for (uint32_t i = 0; i < out->n && out->at; i++) {
        out->at[i].name = copy_text(arena, in);
        out->at[i].value = copy_text(arena, in);
        in->failed = in->failed || !out->at[i].name.len ||
                     (i && by_name(&out->at[i - 1], &out->at[i]) >= 0);
    }
}

int environment_decode(struct arena *arena, struct str bytes, struct environment *out,
                       struct cairn_error *error)
{
    struct environment made = {0};
    struct reader in = reader_of(bytes.ptr, bytes.len);
    in.failed = read_byte(&in) != VERSION;
    made.directory = copy_text(arena, &in);
    read_variables(arena, &in, &made);
    if (arena->failed)
        return error_nomem(error);
    if (!reader_done(&in))
        return error_set(error, CAIRN_EDAMAGED, "its part environment is damaged");
    *out = made;
    return 0;
}

/* ==== What an agent needs to go on ==== */

/* One function says what is wrong with a context, for writers and readers alike, so
 * that whatever is read could have been written. */

/* ---- Numbers ---- */

uint32_t context_given(const struct context *context)
{
    uint32_t n = context->n_pairs;
    n += context->summary.len > 0;
    n += context->description.len > 0;
    n += context->state.len > 0;
    return n;
}

bool context_has_any(const struct context *context)
{
    return context_given(context) || context->has_tokens || context->has_usage ||
           context->branch.len || context->commit.len;
}

uint64_t context_estimate(const struct context *context)
{
    uint64_t bytes =
        context->summary.len + context->description.len + context->state.len;
    for (uint32_t i = 0; i < context->n_pairs; i++)
        bytes += context->pairs[i].key.len + context->pairs[i].value.len;
    return (bytes + 3) / 4;
}

const struct context_threshold context_thresholds[CONTEXT_THRESHOLDS] = {
    {25, "25"}, {50, "50"}, {75, "75"}, {90, "90"}};

uint8_t context_threshold(uint32_t usage)
{
    uint8_t reached = 0;
    for (unsigned i = 0; i < CONTEXT_THRESHOLDS; i++)
        if (usage >= context_thresholds[i].percent * (CONTEXT_USAGE_ALL / 100u))
            reached = context_thresholds[i].percent;
    return reached;
}

uint64_t context_characters(struct str text)
{
    uint64_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += ((uint8_t)text.ptr[i] & 0xc0) != 0x80; /* none that goes on with one */
    return n;
}

/* ---- What may be stored ---- */

static int check_text(const char *name, struct str text, uint64_t most,
                      struct cairn_error *error)
{
    if (text.len && !utf8_is_text(text))
        return error_set(error, CAIRN_EUSAGE, "%s is not UTF-8, or has a NUL in it",
                         name);
    uint64_t n = context_characters(text);
    if (n > most)
        return error_set(error, CAIRN_EUSAGE,
                         "%s has %llu characters: it may have at most %llu", name,
                         (unsigned long long)n, (unsigned long long)most);
    return 0;
}

static bool has_control(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((uint8_t)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f)
            return true;
    return false;
}

static int check_pair(const struct context_pair *pair, struct cairn_error *error)
{
    if (!pair->key.len)
        return error_set(error, CAIRN_EUSAGE, "a key of the context is empty");
    int rc = check_text("a key of the context", pair->key, CONTEXT_KEY, error);
    if (!rc && has_control(pair->key))
        rc = error_set(error, CAIRN_EUSAGE,
                       "a key of the context has a control character in it");
    return rc
               ?: check_text("a value of the context", pair->value, CONTEXT_VALUE,
                             error);
}

static int check_pairs(const struct context *context, struct cairn_error *error)
{
    int rc = 0;
    if (context->n_pairs > CONTEXT_PAIRS)
        return error_set(error, CAIRN_EUSAGE,
                         "the context has %u pairs: it may have at most %d",
                         context->n_pairs, CONTEXT_PAIRS);
    for (uint32_t i = 0; i < context->n_pairs && !rc; i++)
        rc = check_pair(&context->pairs[i], error);
    return rc;
}

static int check_numbers(const struct context *context, struct cairn_error *error)
{
    if (context->has_tokens && context->tokens >> CONTEXT_TOKENS_BITS)
        return error_set(error, CAIRN_EUSAGE, "there are fewer than 2^40 tokens");
    if (context->has_usage && context->usage > CONTEXT_USAGE_ALL)
        return error_set(error, CAIRN_EUSAGE, "the usage is more than 1");
    bool crossed = !context->threshold;
    for (unsigned i = 0; i < CONTEXT_THRESHOLDS && context->has_usage; i++)
        crossed |= context->threshold == context_thresholds[i].percent &&
                   context->threshold <= context_threshold(context->usage);
    return crossed ? 0
                   : error_set(error, CAIRN_EUSAGE, "no such threshold was crossed");
}

/* 40 or 64 hex digits in lower case. */
static bool context_is_commit(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
    }
    return text.len == 40 || text.len == 64;
}

static int check_git(const struct context *context, struct cairn_error *error)
{
    if (context->branch.len > CONTEXT_BRANCH ||
        (context->branch.len && !utf8_is_text(context->branch)))
        return error_set(error, CAIRN_EUSAGE,
                         "the branch of git is longer than 1024 bytes, or no UTF-8");
    if (!context->commit.len || context_is_commit(context->commit))
        return 0;
    return error_set(error, CAIRN_EUSAGE, "the commit of git is none");
}

int context_check(const struct context *context, struct cairn_error *error)
{
    int rc = check_text("the summary", context->summary, CONTEXT_SUMMARY, error)
             ?: check_text("the description", context->description, CONTEXT_DESCRIPTION,
                           error)
             ?: check_pairs(context, error);
    if (!rc && context->state.len > CONTEXT_STATE)
        rc = error_set(error, CAIRN_EUSAGE,
                       "the state has %zu bytes: it may have at most %d (1 MiB)",
                       context->state.len, CONTEXT_STATE);
    return rc
           ?: check_text("the state", context->state, UINT64_MAX, error)
           ?: check_numbers(context, error)
           ?: check_git(context, error);
}

/* ---- Writing ---- */

static int by_key(const void *a, const void *b)
{
    return str_compare(((const struct context_pair *)a)->key,
                       ((const struct context_pair *)b)->key);
}

static bool has_order(const struct context *context)
{
    for (uint32_t i = 1; i < context->n_pairs; i++)
        if (by_key(&context->pairs[i - 1], &context->pairs[i]) >= 0)
            return false;
    return true;
}

static void put(const struct context *context, struct buf *out)
{
    buf_byte(out, VERSION);
    buf_lstr(out, context->summary);
    buf_lstr(out, context->description);
    buf_varint(out, context->n_pairs);
    for (uint32_t i = 0; i < context->n_pairs; i++) {
        buf_lstr(out, context->pairs[i].key);
        buf_lstr(out, context->pairs[i].value);
    }
    buf_lstr(out, context->state);
    buf_varint(out, context->has_tokens ? context->tokens + 1 : 0);
    buf_varint(out, context->has_usage ? context->usage + UINT64_C(1) : 0);
    buf_byte(out, context->threshold);
    buf_lstr(out, context->branch);
    buf_lstr(out, context->commit);
}

int context_encode(struct context *context, struct buf *out, struct cairn_error *error)
{
    int rc = context_check(context, error);
    if (rc)
        return rc;
    if (!context_has_any(context))
        return error_set(error, CAIRN_EUSAGE, "the context is empty");
    if (context->n_pairs)
        qsort(context->pairs, context->n_pairs, sizeof *context->pairs, by_key);
    if (!has_order(context))
        return error_set(error, CAIRN_EUSAGE,
                         "two keys of the context are the same (secrets in them were "
                         "removed)");
    put(context, out);
    return buf_check(out, error);
}

/* ---- Reading ---- */

static struct str copy_context_text(struct arena *arena, struct reader *in)
{
    struct str text = read_lstr(in);
    return in->failed ? STR("") : arena_str(arena, text);
}

static void read_pairs(struct arena *arena, struct reader *in, struct context *out)
{
    uint64_t n = read_varint(in);
    in->failed = in->failed || n > CONTEXT_PAIRS;
    out->n_pairs = in->failed ? 0 : (uint32_t)n;
    if (out->n_pairs)
        out->pairs = arena_take(arena, out->n_pairs, sizeof *out->pairs);
    for (uint32_t i = 0; i < out->n_pairs && out->pairs; i++) {
        out->pairs[i].key = copy_context_text(arena, in);
        out->pairs[i].value = copy_context_text(arena, in);
    }
}

static void read_numbers(struct reader *in, struct context *out)
{
    uint64_t tokens = read_varint(in), usage = read_varint(in);
    out->threshold = read_byte(in);
    out->has_tokens = tokens > 0;
    out->tokens = tokens ? tokens - 1 : 0;
    out->has_usage = usage > 0;
    in->failed = in->failed || usage > CONTEXT_USAGE_ALL + UINT64_C(1);
    out->usage = usage && !in->failed ? (uint32_t)(usage - 1) : 0;
}

int context_decode(struct arena *arena, struct str bytes, struct context *out,
                   struct cairn_error *error)
{
    struct context made = {0};
    struct cairn_error why = {0};
    struct reader in = reader_of(bytes.ptr, bytes.len);
    in.failed = read_byte(&in) != VERSION;
    made.summary = copy_context_text(arena, &in);
    made.description = copy_context_text(arena, &in);
    read_pairs(arena, &in, &made);
    made.state = copy_context_text(arena, &in);
    read_numbers(&in, &made);
    made.branch = copy_context_text(arena, &in);
    made.commit = copy_context_text(arena, &in);
    if (arena->failed)
        return error_nomem(error);
    if (!reader_done(&in) || context_check(&made, &why) || !has_order(&made) ||
        !context_has_any(&made))
        return error_set(error, CAIRN_EDAMAGED, "its part context is damaged");
    *out = made;
    return 0;
}

/* ==== Branch and commit of git ==== */

enum { NAMED_BYTES = 8192 }; /* of a file that has a name or a digest in it */

enum { PACKED_BYTES = 32 << 20 }; /* of the list of packed references */

enum { LINKS_MOST = 5, ABOVE = 64 }; /* references to references; directories above */

struct looking {
    struct buf own;    /* directory of git, of this work tree */
    struct buf common; /* that of all work trees */
    struct buf path, content;
    bool failed; /* out of memory */
};

/* ---- Files ---- */

/* One that is not there, too long or no file has no content. */
static struct str read_at(struct looking *l, const struct buf *directory,
                          struct str name, size_t most)
{
    buf_clear(&l->path);
    buf_clear(&l->content);
    buf_str(&l->path, buf_view(directory));
    buf_byte(&l->path, '/');
    buf_str(&l->path, name);
    l->failed = l->failed || l->path.failed;
    int rc = l->failed ? CAIRN_ENOMEM
                       : os_read_regular(l->path.data, most, &l->content, NULL);
    l->failed = l->failed || rc == CAIRN_ENOMEM || l->content.failed;
    return rc || !l->content.size ? STR("") : buf_view(&l->content);
}

/* The text of a file of one line. */
static struct str read_line_at(struct looking *l, const struct buf *directory,
                               struct str name)
{
    struct str text = read_at(l, directory, name, NAMED_BYTES);
    while (text.len &&
           (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == ' ' ||
            text.ptr[text.len - 1] == '\r'))
        text.len--;
    return text;
}

static bool take_start(struct str *text, struct str start)
{
    if (text->len < start.len || memcmp(text->ptr, start.ptr, start.len) != 0)
        return false;
    *text = (struct str){text->ptr + start.len, text->len - start.len};
    return true;
}

/* ---- The directory of git ---- */

static void set_path(struct buf *out, struct str from, struct str path)
{
    buf_clear(out);
    if (path.ptr[0] != '/') {
        buf_str(out, from);
        buf_byte(out, '/');
    }
    buf_str(out, path);
}

/* `.git` is a directory, or a file that names one. */
static bool open_git(struct looking *l, struct str directory)
{
    struct buf here = BUF_INIT;
    buf_str(&here, directory);
    struct str line = read_line_at(l, &here, STR(".git"));
    if (take_start(&line, STR("gitdir: ")) && line.len) {
        struct buf named = BUF_INIT;
        set_path(&named, directory, line);
        buf_clear(&l->own);
        buf_str(&l->own, buf_view(&named));
        l->failed = l->failed || named.failed;
        buf_release(&named);
    } else
        set_path(&l->own, directory, STR(".git"));
    l->failed = l->failed || here.failed || l->own.failed;
    buf_release(&here);
    return !l->failed && read_line_at(l, &l->own, STR("HEAD")).len > 0;
}

/* *directory becomes the one that has it. */
static bool find_git(struct looking *l, struct str *directory)
{
    struct str at = *directory;
    for (int i = 0; i < ABOVE && !l->failed; i++) {
        *directory = at;
        if (open_git(l, at))
            return true;
        while (at.len && at.ptr[at.len - 1] != '/')
            at.len--;
        if (!at.len)
            return false;
        at.len--;
    }
    return false;
}

static void find_common(struct looking *l)
{
    struct buf named = BUF_INIT;
    struct str line = read_line_at(l, &l->own, STR("commondir"));
    buf_str(&named, line.len ? line : STR("."));
    if (!named.failed)
        set_path(&l->common, buf_view(&l->own), buf_view(&named));
    l->failed = l->failed || named.failed || l->common.failed;
    buf_release(&named);
}

/* ---- References ---- */

/* git-check-ref-format(1), as far as it keeps a name from leading elsewhere. */
static bool is_reference(struct str name)
{
    if (name.len > GIT_NAME_BYTES || !utf8_is_text(name) ||
        !take_start(&name, STR("refs/")))
        return false;
    char before = '/';
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if ((uint8_t)c <= 0x20 || c == 0x7f || (c == '.' && before == '.') ||
            (before == '/' && (c == '/' || c == '.')))
            return false;
        before = c;
    }
    return before != '/';
}

/* "DIGEST NAME" among the lines. */
static struct str find_packed(struct str list, struct str name)
{
    const char *at = list.ptr, *end = list.ptr + list.len;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        const char *blank = memchr(at, ' ', n);
        size_t digest = blank ? (size_t)(blank - at) : n;
        if (blank && str_equal((struct str){blank + 1, n - digest - 1}, name) &&
            context_is_commit((struct str){at, digest}))
            return (struct str){at, digest};
        at += n + (stop != NULL);
    }
    return STR("");
}

/* What is behind a reference: of this work tree, of all, or packed. */
static struct str look_up(struct looking *l, struct str name)
{
    struct str text = read_line_at(l, &l->own, name);
    if (!text.len)
        text = read_line_at(l, &l->common, name);
    if (text.len)
        return text;
    return find_packed(read_at(l, &l->common, STR("packed-refs"), PACKED_BYTES), name);
}

static void copy(char *out, struct str text)
{
    memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
}

static void read_head(struct looking *l, struct git_head *out)
{
    char name[GIT_NAME_BYTES + 1];
    struct str text = read_line_at(l, &l->own, STR("HEAD"));
    for (int i = 0; i < LINKS_MOST && take_start(&text, STR("ref: ")); i++) {
        if (!is_reference(text))
            return;
        copy(name, text);
        take_start(&text, STR("refs/heads/"));
        if (i == 0)
            copy(out->branch, text);
        text = look_up(l, str_of(name));
    }
    if (context_is_commit(text))
        copy(out->commit, text);
}

static int end_looking(struct looking *l, struct cairn_error *error)
{
    buf_release(&l->own);
    buf_release(&l->common);
    buf_release(&l->path);
    buf_release(&l->content);
    return l->failed ? error_nomem(error) : 0;
}

int git_head_read(const char *directory, struct git_head *out,
                  struct cairn_error *error)
{
    struct looking l = {.failed = false};
    struct str at = str_of(directory);
    *out = (struct git_head){.branch = ""};
    if (find_git(&l, &at)) {
        find_common(&l);
        if (!l.failed)
            read_head(&l, out);
    }
    return end_looking(&l, error);
}

int git_work_tree(const char *directory, struct buf *root, struct buf *common,
                  struct cairn_error *error)
{
    struct looking l = {.failed = false};
    struct str at = str_of(directory);
    bool found = find_git(&l, &at);
    buf_clear(root);
    buf_clear(common);
    if (found) {
        find_common(&l);
        buf_str(root, at.len ? at : STR("/"));
        buf_str(common, buf_view(&l.common));
        l.failed = l.failed || root->failed || common->failed;
    }
    int rc = end_looking(&l, error);
    return rc ? rc : found;
}
