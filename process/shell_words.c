/* SPDX-License-Identifier: MIT */
#include "process/shell_words.h"

#include "base/words.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct scan {
    const char *at, *end;
    const struct direct_values *values;
    struct buf *out;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

/* Without any meaning to a shell, wherever it stands in a word. */
static bool is_plain(char c)
{
    return is_name(c) || (c && strchr("-./:,+@%=", c));
}

static bool is_printable(char c)
{
    return c >= ' ' && c <= '~';
}

/* ---- The first word ---- */

/* Built into some shell (dash, bash, ksh, busybox) or reserved in one; setsid behaves
 * differently where it is the first process of its group. */
static bool is_special(struct str word)
{
    static const char *const names[] = {
        ".",       ":",        "alias",     "autoload", "bg",      "bind",
        "break",   "builtin",  "caller",    "case",     "cd",      "chdir",
        "command", "compgen",  "complete",  "compopt",  "coproc",  "continue",
        "declare", "dirs",     "disown",    "do",       "done",    "echo",
        "elif",    "else",     "enable",    "esac",     "eval",    "exec",
        "exit",    "export",   "false",     "fc",       "fg",      "fi",
        "for",     "function", "functions", "getopts",  "hash",    "help",
        "hist",    "history",  "if",        "in",       "integer", "jobs",
        "kill",    "let",      "local",     "logout",   "mapfile", "nameref",
        "newgrp",  "popd",     "print",     "printf",   "pushd",   "pwd",
        "r",       "read",     "readarray", "readonly", "return",  "select",
        "set",     "setsid",   "shift",     "shopt",    "source",  "stop",
        "suspend", "test",     "then",      "time",     "times",   "trap",
        "true",    "type",     "typeset",   "ulimit",   "umask",   "unalias",
        "unset",   "until",    "wait",      "whence",   "while",   NULL};
    return str_among(word, names);
}

/* `true` and `false` alone do the same built in or not. */
static bool may_begin(struct str word, uint32_t n)
{
    if (word.len == 0 || memchr(word.ptr, '=', word.len)) /* an assignment */
        return false;
    for (size_t i = 0; i < word.len; i++)
        if (!is_plain(word.ptr[i])) /* `[`, `!` and the like */
            return false;
    return (n == 1 &&
            (str_equal(word, STR("true")) || str_equal(word, STR("false")))) ||
           !is_special(word);
}

/* ---- Words ---- */

/* The shell has values of its own for these. */
static bool is_own(struct str name)
{
    static const char *const names[] = {"IFS", "LINENO", "OLDPWD", "OPTIND", "PPID",
                                        "PS1", "PS2",    "PS4",    "PWD",    NULL};
    return str_among(name, names);
}

/* What is not quoted is split and may name files, unless it is plain. */
static bool add_value(struct scan *s, struct str value, bool quoted)
{
    if (!value.ptr || (!quoted && !value.len))
        return false;
    for (size_t i = 0; i < value.len; i++)
        if (quoted ? !is_printable(value.ptr[i]) : !is_plain(value.ptr[i]))
            return false;
    buf_str(s->out, value);
    return true;
}

/* $name or ${name}, from behind the $. */
static bool add_variable(struct scan *s, bool quoted)
{
    bool braces = s->at < s->end && *s->at == '{';
    s->at += braces;
    const char *start = s->at;
    while (s->at < s->end && is_name(*s->at))
        s->at++;
    struct str name = {start, (size_t)(s->at - start)};
    if (!str_is_env_name(name) || is_own(name))
        return false;
    if (braces && (s->at == s->end || *s->at++ != '}'))
        return false;
    return add_value(s, s->values->get(s->values->context, name), quoted);
}

static bool add_single_quoted(struct scan *s)
{
    for (; s->at < s->end && *s->at != '\''; s->at++) {
        if (!is_printable(*s->at))
            return false;
        buf_byte(s->out, (uint8_t)*s->at);
    }
    return s->at++ < s->end;
}

static bool add_double_quoted(struct scan *s)
{
    bool good = true;
    while (good && s->at < s->end && *s->at != '"') {
        char c = *s->at++;
        if (c == '$') {
            good = add_variable(s, true);
            continue;
        }
        good = is_printable(c) && c != '`' && c != '\\';
        buf_byte(s->out, (uint8_t)c);
    }
    return good && s->at++ < s->end;
}

static bool add_word(struct scan *s)
{
    bool good = true;
    while (good && s->at < s->end && !is_blank(*s->at)) {
        char c = *s->at++;
        if (c == '\'')
            good = add_single_quoted(s);
        else if (c == '"')
            good = add_double_quoted(s);
        else if (c == '$')
            good = add_variable(s, false);
        else {
            good = is_plain(c);
            buf_byte(s->out, (uint8_t)c);
        }
    }
    buf_byte(s->out, 0);
    return good;
}

uint32_t direct_words(struct str text, const struct direct_values *values,
                      struct buf *out)
{
    struct scan s = {text.ptr, text.ptr + text.len, values, out};
    size_t start = out->size;
    uint32_t n = 0;
    bool good = text.len <= DIRECT_BYTES;
    while (s.end > s.at && (is_blank(s.end[-1]) || s.end[-1] == '\n'))
        s.end--;
    while (good && s.at < s.end) {
        if (is_blank(*s.at)) {
            s.at++;
            continue;
        }
        good = add_word(&s);
        n++;
    }
    if (good && n && !out->failed && may_begin(str_of(out->data + start), n))
        return n;
    out->size = start;
    return 0;
}

/* ---- The shell ---- */

/* The first `sh` of the path. */
static bool find_shell(const char *path, char *out, size_t size)
{
    for (const char *at = path;; at++) {
        int len = (int)strcspn(at, ":");
        snprintf(out, size, "%.*s/sh", len ? len : 1, len ? at : ".");
        if (access(out, X_OK) == 0)
            return true;
        at += len;
        if (!*at)
            return false;
    }
}

/* ---- Words that values are split into ---- */

/* Whether `$name` or `${name` stands there. */
static bool is_use(struct str text, size_t at, struct str name)
{
    size_t from = at + 1 + (at + 1 < text.len && text.ptr[at + 1] == '{');
    size_t end = from + name.len;
    return end <= text.len && memcmp(text.ptr + from, name.ptr, name.len) == 0 &&
           (end == text.len || !is_name(text.ptr[end]));
}

/* NAME= at the begin of a command, or `case`, before it. */
static bool keeps_whole(struct str text, size_t at)
{
    size_t from = at;
    if (at > 0 && text.ptr[at - 1] == '=') {
        from = at - 1;
        while (from > 0 && is_name(text.ptr[from - 1]))
            from--;
        while (from > 0 && is_blank(text.ptr[from - 1]))
            from--;
        return from == 0 || strchr("\n;&|({", text.ptr[from - 1]);
    }
    while (from > 0 && is_blank(text.ptr[from - 1]))
        from--;
    return from >= 4 && memcmp(text.ptr + from - 4, "case", 4) == 0 &&
           (from == 4 || !is_name(text.ptr[from - 5]));
}

bool shell_splits(struct str text, struct str name)
{
    enum { DEPTH = 32 };
    bool quoted[DEPTH] = {false};
    uint32_t depth = 0;
    if (!text.len || memmem(text.ptr, text.len, "IFS=", 4))
        return false;
    for (size_t i = 0; i < text.len && depth + 1 < DEPTH; i++) {
        char c = text.ptr[i], next = i + 1 < text.len ? text.ptr[i + 1] : 0;
        bool begins = i == 0 || strchr(" \t\n;(", text.ptr[i - 1]);
        const char *end = NULL;
        if (c == '\\')
            i++;
        else if (c == '"' && quoted[depth])
            depth--;
        else if (c == '"')
            quoted[++depth] = true;
        else if (c == '$' && next == '(') {
            quoted[++depth] = false;
            i++;
        } else if (quoted[depth])
            continue;
        else if (c == '(')
            quoted[++depth] = false;
        else if (c == ')')
            depth -= depth > 0;
        else if (c == '<' && next == '<')
            return false;
        else if (c == '\'' || (c == '#' && begins)) {
            end = memchr(text.ptr + i + 1, c == '#' ? '\n' : c, text.len - i - 1);
            if (!end)
                return false;
            i = (size_t)(end - text.ptr);
        } else if (c == '$' && is_use(text, i, name) && !keeps_whole(text, i))
            return true;
    }
    return false;
}

bool direct_shell(const char *path)
{
    char found[PATH_MAX], real[PATH_MAX];
    /* To dash, %builtin and %func in a PATH mean something. */
    if (strchr(path, '%') || !find_shell(path, found, sizeof found) ||
        !realpath(found, real))
        return false;
    const char *name = strrchr(real, '/');
    return name && strcmp(name, "/dash") == 0;
}
