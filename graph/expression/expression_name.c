/* SPDX-License-Identifier: MIT */
/* Names of an expression, and texts for messages. */
#include "graph/expression/expression_int.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

int expression_fail(struct expression_error *error, size_t at, size_t length,
                    const char *format, ...)
{
    if (!error)
        return CAIRN_EWORKFLOW;
    va_list arguments;
    va_start(arguments, format);
    error->at = at;
    error->length = length;
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return CAIRN_EWORKFLOW;
}

struct shown expression_shown(struct str text)
{
    enum { MOST = 60 };
    struct shown shown = {""};
    size_t n = utf8_fit(text, MOST);
    for (size_t i = 0; i < n; i++) {
        uint8_t byte = (uint8_t)text.ptr[i];
        shown.text[i] = byte < ' ' || byte == 0x7f ? '?' : text.ptr[i];
    }
    snprintf(shown.text + n, sizeof shown.text - n, "%s", n < text.len ? "..." : "");
    return shown;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

size_t word_scan(struct str text, size_t at)
{
    size_t end = at;
    while (end < text.len &&
           (is_letter(text.ptr[end]) || (end > at && is_digit(text.ptr[end]))))
        end++;
    return end - at;
}

/* A name being read: text from `start`, read up to `at`. */
struct name_reading {
    struct str text;
    size_t start, at;
    struct expression_error *error;
};

static struct shown so_far(const struct name_reading *r)
{
    return expression_shown((struct str){r->text.ptr + r->start, r->at - r->start});
}

static int fail_name(const struct name_reading *r, const char *what)
{
    return expression_fail(r->error, r->start, r->at - r->start, "`%s` %s",
                           so_far(r).text, what);
}

static bool next_is(const struct name_reading *r, char c)
{
    return r->at < r->text.len && r->text.ptr[r->at] == c;
}

/* `.word` */
static bool read_part(struct name_reading *r, struct str *out)
{
    size_t n = next_is(r, '.') ? word_scan(r->text, r->at + 1) : 0;
    if (!n)
        return false;
    *out = (struct str){r->text.ptr + r->at + 1, n};
    r->at += 1 + n;
    return true;
}

/* `.X` of a task; a task's id may begin with a digit and hold `-`. */
static bool read_plain_id(struct name_reading *r, struct str *out)
{
    if (!next_is(r, '.'))
        return false;
    size_t start = r->at + 1, end = start;
    while (end < r->text.len && (is_letter(r->text.ptr[end]) ||
                                 is_digit(r->text.ptr[end]) || r->text.ptr[end] == '-'))
        end++;
    *out = (struct str){r->text.ptr + start, end - start};
    if (end > start)
        r->at = end;
    return end > start;
}

/* `['X']` */
static bool read_quoted_id(struct name_reading *r, struct str *out)
{
    struct str rest = {r->text.ptr + r->at, r->text.len - r->at};
    if (rest.len < 2 || memcmp(rest.ptr, "['", 2) != 0)
        return false;
    const char *quote = memchr(rest.ptr + 2, '\'', rest.len - 2);
    size_t end = quote ? (size_t)(quote - rest.ptr) : rest.len;
    if (end == 2 || end + 1 >= rest.len || rest.ptr[end + 1] != ']')
        return false;
    *out = (struct str){rest.ptr + 2, end - 2};
    r->at += end + 2;
    return true;
}

static int read_task(struct name_reading *r, struct name *out)
{
    struct str part = {NULL, 0};
    bool plain = next_is(r, '.');
    if (plain ? !read_plain_id(r, &out->first) : !read_quoted_id(r, &out->first))
        return fail_name(r, "needs a task: tasks.X.status, tasks.X.outputs.KEY, "
                            "tasks.X.files, or tasks['X'].status");
    bool any = read_part(r, &part);
    out->kind = any && str_equal(part, STR("status"))  ? NAME_TASK_STATUS
                : any && str_equal(part, STR("files")) ? NAME_TASK_FILES
                                                       : NAME_TASK_OUTPUT;
    if (out->kind != NAME_TASK_OUTPUT)
        return 0;
    if (any && (str_equal(part, STR("port")) || str_equal(part, STR("ports")))) {
        out->kind = NAME_TASK_PORT;
        out->second = STR("");
        if (part.len == strlen("port") || read_part(r, &out->second))
            return 0;
        return fail_name(r, "needs the name of a port: tasks.X.ports.NAME");
    }
    if (part.ptr && str_equal(part, STR("outputs"))) {
        if (read_part(r, &out->second))
            return 0;
        return fail_name(r, "needs the name of an output: tasks.X.outputs.KEY");
    }
    return fail_name(r, plain ? "must be tasks.X.status, tasks.X.outputs.KEY or "
                                "tasks.X.files; a task with a dot in its id is written "
                                "tasks['a.b']"
                              : "must continue with .status, .outputs.KEY or .files");
}

static int read_run(struct name_reading *r, struct name *out)
{
    struct str part = {NULL, 0};
    if (read_part(r, &part)) {
        out->kind = str_equal(part, STR("id"))        ? NAME_RUN_ID
                    : str_equal(part, STR("attempt")) ? NAME_RUN_ATTEMPT
                                                      : NAME_RUN_STATUS;
        if (out->kind != NAME_RUN_STATUS || str_equal(part, STR("status")))
            return 0;
    }
    return fail_name(r, "is not known: there are run.id, run.attempt and run.status");
}

static int read_member(struct name_reading *r, enum name_kind kind, struct name *out)
{
    out->kind = kind;
    if (read_part(r, &out->first))
        return 0;
    return fail_name(
        r, "needs a name after it, such as params.day, env.HOME or outputs.done");
}

/* A word alone is a foreach key, whatever it is. */
static int read_name(struct name_reading *r, struct name *out)
{
    struct str word = {r->text.ptr + r->at, word_scan(r->text, r->at)};
    r->at += word.len;
    bool more = next_is(r, '.');
    if (str_equal(word, STR("tasks")) && (more || next_is(r, '[')))
        return read_task(r, out);
    if (more && str_equal(word, STR("params")))
        return read_member(r, NAME_PARAM, out);
    if (more && str_equal(word, STR("env")))
        return read_member(r, NAME_ENV, out);
    if (more && str_equal(word, STR("run")))
        return read_run(r, out);
    if (more && str_equal(word, STR("outputs")))
        return read_member(r, NAME_OWN_OUTPUT, out);
    out->kind = NAME_KEY;
    out->first = word;
    return 0;
}

int name_parse(struct str text, size_t at, struct name *out,
               struct expression_error *error)
{
    struct name_reading r = {text, at, at, error};
    struct name name = {.at = at};
    int rc = read_name(&r, &name);
    if (rc)
        return rc;
    name.length = r.at - at;
    if (next_is(&r, '.') || next_is(&r, '['))
        return fail_name(&r, name.kind == NAME_KEY
                                 ? "has nothing in it: names begin with params, env, "
                                   "tasks or run, or are a foreach key"
                                 : "has nothing further in it");
    *out = name;
    return 0;
}
