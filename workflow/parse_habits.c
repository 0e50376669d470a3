/* SPDX-License-Identifier: MIT */
/* Warnings of what only a shell would do: `~`, `$NAME`, `$(COMMAND)` and `*` where
 * nothing expands them, words of the shell and several words in one where a program is
 * started without one, and `[[` for a shell that may not have it. All of it is valid,
 * and fails late.
 */
#include "workflow/parse_int.h"

#include <stdio.h>

static bool is_upper(char c)
{
    return (c >= 'A' && c <= 'Z') || c == '_';
}

/* Where `$NAME` or `${NAME}` of the environment begins; NULL: nowhere. */
static const char *find_variable(struct str text)
{
    for (size_t i = 0; i + 1 < text.len; i++) {
        bool braces = text.ptr[i + 1] == '{';
        size_t at = i + 1 + braces, n = 0;
        if (text.ptr[i] != '$')
            continue;
        while (at + n < text.len &&
               (is_upper(text.ptr[at + n]) ||
                (n > 0 && text.ptr[at + n] >= '0' && text.ptr[at + n] <= '9')))
            n++;
        if (n > 1 && (!braces || (at + n < text.len && text.ptr[at + n] == '}')))
            return text.ptr + i;
    }
    return NULL;
}

static bool is_home(struct str text)
{
    return text.len > 0 && text.ptr[0] == '~' && (text.len == 1 || text.ptr[1] == '/');
}

/* $(COMMAND), or a pair of backquotes; ptr NULL: there is none. */
static struct str find_command(struct str text)
{
    uint32_t depth = 0;
    for (size_t i = 0; i + 1 < text.len; i++) {
        const char *at = text.ptr + i, *end = NULL;
        size_t left = text.len - i;
        if (at[0] == '`')
            end = memchr(at + 1, '`', left - 1);
        for (size_t k = 1; at[0] == '$' && at[1] == '(' && !end && k < left; k++) {
            depth += at[k] == '(';
            depth -= at[k] == ')';
            end = depth ? NULL : at + k;
        }
        if (end > at + 1)
            return (struct str){at, (size_t)(end - at) + 1};
        depth = 0;
    }
    return (struct str){NULL, 0};
}

/* In backquotes, which those of a command are already. */
struct quoted {
    const char *mark;
    struct str text;
};

static struct quoted quote(struct str text)
{
    return (struct quoted){text.ptr[0] == '`' ? "" : "`", text};
}

#define QUOTED(q) (q).mark, SHOWN((q).text), (q).mark

static struct str what_stays(struct str text)
{
    const char *at = is_home(text) ? text.ptr : find_variable(text);
    if (!at)
        return find_command(text);
    size_t left = (size_t)(text.ptr + text.len - at), n = 1;
    while (at[0] == '$' && n < left &&
           (is_upper(at[n]) || at[n] == '{' || (at[n] >= '0' && at[n] <= '9')))
        n++;
    n += n < left && at[n] == '}';
    return (struct str){at, n};
}

void warn_of_path(struct parser *p, const struct node *node, const char *key,
                  struct str text)
{
    struct str stays = what_stays(text);
    const char *dollar = text.len ? memchr(text.ptr, '$', text.len) : NULL;
    bool output = strcmp(key, "outputs") == 0;
    if (stays.ptr)
        parse_warn(p, node->at,
                   "%s%.*s%s is not expanded in `%s`: write the path itself, or give "
                   "it as ${{ params.NAME }}",
                   QUOTED(quote(stays)), key);
    else if (dollar && !template_has(text))
        parse_warn(
            p, node->at,
            "`$` stays as it is in `%s`: write ${{ NAME }} or ${{ params.NAME }} "
            "for a value",
            key);
    else if (output && !template_has(text) && memchr(text.ptr, '*', text.len))
        parse_warn(
            p, node->at,
            "`%.*s` is the name of one file, and no pattern: name each file that "
            "the task makes",
            SHOWN(text));
}

void warn_of_env(struct parser *p, const struct node *node, struct str name,
                 struct str text)
{
    struct str stays = what_stays(text);
    bool home = is_home(text);
    if (!stays.ptr)
        return;
    if (home)
        text = (struct str){text.ptr + 1, text.len - 1};
    parse_warn(p, node->at,
               "%s%.*s%s stays as it is: nothing expands the values of `env`; set it "
               "in `run`, as in `%.*s=\"%s%.*s\"`",
               QUOTED(quote(stays)), SHOWN(name), home ? "$HOME" : "", SHOWN(text));
}

void warn_of_param(struct parser *p, const struct node *node, struct str name,
                   struct str text)
{
    struct str stays = what_stays(text);
    bool home = is_home(text);
    if (!stays.ptr)
        return;
    if (home)
        text = (struct str){text.ptr + 1, text.len - 1};
    parse_warn(p, node->at,
               "%s%.*s%s stays as it is: nothing expands the values of `params`; give "
               "it when the run begins: --param %.*s=\"%s%.*s\"",
               QUOTED(quote(stays)), SHOWN(name), home ? "$HOME" : "", SHOWN(text));
}

void warn_of_value(struct parser *p, const struct node *node)
{
    struct str stays = what_stays(node->text);
    if (stays.ptr)
        parse_warn(p, node->at,
                   "%s%.*s%s stays as it is: nothing expands the values of `foreach`; "
                   "to use what a command prints, write it to a file and name that: "
                   "{lines: FILE}",
                   QUOTED(quote(stays)));
}

/* ---- A program that is started without a shell ---- */

static bool is_one_of(struct str word, const char *const words[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_equal(word, str_of(words[i])))
            return true;
    return false;
}

#define IS_ONE_OF(word, words) is_one_of(word, words, sizeof(words) / sizeof(words)[0])

static struct str base_name(struct str path)
{
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    size_t n = slash ? (size_t)(slash + 1 - path.ptr) : 0;
    return (struct str){path.ptr + n, path.len - n};
}

/* Those that take a program's text, or a pattern of their own. */
static const char *const own_text[] = {
    "sh",      "bash", "dash", "zsh", "ksh",  "fish", "awk",  "sed", "perl", "python",
    "python3", "ruby", "node", "php", "make", "find", "grep", "rg",  "git",  "env"};
static const char *const of_files[] = {"ls",  "cat", "cp",    "mv",    "rm",   "wc",
                                       "cc",  "gcc", "tar",   "sort",  "head", "tail",
                                       "c++", "g++", "clang", "touch", "chmod"};
static const char *const of_shells[] = {
    "cd",     "source", ".",    "export", "set",  "unset", "eval", "alias",
    "ulimit", "umask",  "trap", "shift",  "exec", "if",    "for",  "while"};

static void warn_of_argument(struct parser *p, const struct node *item,
                             struct str program, struct str text)
{
    struct str stays = what_stays(text);
    if (stays.ptr != text.ptr || (stays.len && stays.ptr[0] == '`'))
        stays = find_command(text);
    if (!IS_ONE_OF(program, own_text) && stays.len && stays.ptr[0] != '`')
        parse_warn(
            p, item->at,
            "`%.*s` is not expanded in `exec`, which starts the program without a "
            "shell: use `run`, or ${{ params.NAME }}",
            SHOWN(stays));
    else if (IS_ONE_OF(program, of_files) && !template_has(text) &&
             memchr(text.ptr, '*', text.len))
        parse_warn(
            p, item->at,
            "`%.*s` is not expanded in `exec`, which starts the program without a "
            "shell: use `run`",
            SHOWN(text));
}

void warn_of_exec(struct parser *p, const struct node *list, struct str program)
{
    const struct node *first = list->first;
    struct str name = base_name(program);
    if (template_has(program))
        return;
    if (IS_ONE_OF(program, of_shells))
        parse_warn(
            p, first->at, "`%.*s` is a word of the shell and no program: use `run`%s",
            SHOWN(program), str_equal(program, STR("cd")) ? ", or `cwd: DIR`" : "");
    else if (memchr(program.ptr, ' ', program.len) &&
             !memchr(program.ptr, '/', program.len))
        parse_warn(
            p, first->at,
            "the first item is the name of the program, here with a blank in it: "
            "write each word as an item, or `run: %.*s`",
            SHOWN(program));
    for (const struct node *item = first->next; item; item = item->next)
        if (item->kind == NODE_TEXT)
            warn_of_argument(p, item, name, item->text);
}

/* ---- `[[` ---- */

/* What stands before it begins a command. */
static bool begins_command(struct str text, const char *at)
{
    static const char *const words[] = {"if",   "elif", "while", "until",
                                        "then", "else", "do",    "!"};
    while (at > text.ptr && (at[-1] == ' ' || at[-1] == '\t'))
        at--;
    if (at == text.ptr || strchr("\n;&|({", at[-1]))
        return true;
    const char *end = at;
    while (at > text.ptr && !strchr(" \t\n;&|({", at[-1]))
        at--;
    return IS_ONE_OF(((struct str){at, (size_t)(end - at)}), words);
}

void warn_of_bash(struct parser *p, const struct node *node, struct str text,
                  struct str shell)
{
    struct str name = base_name(shell), rest = text;
    const char *at;
    if (!str_equal(name, STR("sh")) && !str_equal(name, STR("dash")))
        return;
    while ((at = memmem(rest.ptr, rest.len, "[[ ", 3))) {
        if (begins_command(text, at)) {
            parse_warn(
                p,
                source_inside(&p->source, node->at, text, (size_t)(at - text.ptr), 2),
                "`[[` is of bash, and `%.*s` may not have it: write `[ ... ]`, or "
                "`shell: bash`",
                SHOWN(name));
            return;
        }
        rest = (struct str){at + 3, (size_t)(text.ptr + text.len - at) - 3};
    }
}
