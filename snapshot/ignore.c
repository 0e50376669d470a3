/* SPDX-License-Identifier: MIT */
/* Lines to rules, and which rule decides. What looks odd here is what git does. */
#include "snapshot/ignore.h"

#include "snapshot/pattern_int.h"

struct ignore_rule {
    struct pattern pattern;
    size_t line;
    bool is_negated, is_for_dirs;
    bool is_path; /* held against the path below the level, not the last name of it */
};

/* Cuts the next line off the text: without its end, which is \n or \r\n (at the end of
 * the text, too). */
static struct str next_line(struct str *text)
{
    const char *end = memchr(text->ptr, '\n', text->len);
    size_t len = end ? (size_t)(end - text->ptr) : text->len;
    struct str line = {text->ptr, len};
    size_t used = end ? len + 1 : len;
    text->ptr += used;
    text->len -= used;
    if (line.len && line.ptr[line.len - 1] == '\r')
        line.len--;
    return line;
}

/* Spaces at the end do not count, unless there is a backslash before them. */
static struct str without_spaces(struct str line)
{
    size_t len = 0; /* up to the last byte that is no space */
    for (size_t i = 0; i < line.len; i++) {
        if (line.ptr[i] == ' ')
            continue;
        if (line.ptr[i] == '\\' && ++i == line.len)
            return line;
        len = i + 1;
    }
    return (struct str){line.ptr, len};
}

static struct str without_first(struct str text)
{
    return (struct str){text.ptr + 1, text.len - 1};
}

/* 1, 0 if the line is no rule, or CAIRN_ENOMEM. */
static int parse_line(struct arena *arena, struct str line, struct ignore_rule *rule,
                      struct cairn_error *error)
{
    const char *nul = line.len ? memchr(line.ptr, 0, line.len) : NULL;
    if (line.len && line.ptr[0] == '#')
        return 0;
    if (nul) /* git has the line as a text of C */
        line.len = (size_t)(nul - line.ptr);
    line = without_spaces(line);
    rule->is_negated = line.len && line.ptr[0] == '!';
    if (rule->is_negated)
        line = without_first(line);
    rule->is_for_dirs = line.len && line.ptr[line.len - 1] == '/';
    line.len -= rule->is_for_dirs;
    rule->is_path = line.len && memchr(line.ptr, '/', line.len);
    if (rule->is_path && line.ptr[0] == '/')
        line = without_first(line);
    return line.len ? pattern_compile(arena, line, &rule->pattern, error) : 0;
}

/* At least as many as there are rules. */
static size_t count_lines(struct str text)
{
    size_t n = 0;
    while (text.len) {
        struct str line = next_line(&text);
        n += line.len && line.ptr[0] != '#';
    }
    return n;
}

int ignore_parse(struct arena *arena, struct str text, struct ignore_rules *rules,
                 struct cairn_error *error)
{
    text = str_without_mark(text);
    struct ignore_rule *made = arena_take(arena, count_lines(text), sizeof *made);
    if (!made)
        return error_nomem(error);
    size_t n = 0;
    for (size_t line = 1; text.len; line++) {
        struct ignore_rule rule = {.line = line};
        int rc = parse_line(arena, next_line(&text), &rule, error);
        if (rc < 0)
            return rc;
        if (rc)
            made[n++] = rule;
    }
    *rules = (struct ignore_rules){made, n};
    return 0;
}

/* The path below the directory of the level; false: it lies elsewhere. */
static bool path_below(struct str dir, struct str path, struct str *below)
{
    *below = path;
    if (dir.len == 0)
        return true;
    if (path.len <= dir.len || path.ptr[dir.len] != '/' ||
        memcmp(path.ptr, dir.ptr, dir.len) != 0)
        return false;
    *below = (struct str){path.ptr + dir.len + 1, path.len - dir.len - 1};
    return true;
}

static struct str last_name(struct str path)
{
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    size_t at = slash ? (size_t)(slash - path.ptr) + 1 : 0;
    return (struct str){path.ptr + at, path.len - at};
}

static const struct ignore_rule *deciding_rule(const struct ignore_level **level,
                                               struct str path, bool is_dir)
{
    struct str name = last_name(path), below;
    for (; *level; *level = (*level)->above) {
        if (!path_below((*level)->dir, path, &below))
            continue;
        for (size_t i = (*level)->rules.n; i-- > 0;) {
            const struct ignore_rule *rule = &(*level)->rules.at[i];
            if (rule->is_for_dirs && !is_dir)
                continue;
            if (pattern_matches(&rule->pattern, rule->is_path ? below : name))
                return rule;
        }
    }
    return NULL;
}

bool ignore_matches(const struct ignore_level *level, struct str path, bool is_dir)
{
    const struct ignore_rule *rule = deciding_rule(&level, path, is_dir);
    return rule && !rule->is_negated;
}

size_t ignore_reason(const struct ignore_level **level, struct str path, bool is_dir,
                     bool *wanted)
{
    const struct ignore_rule *rule = deciding_rule(level, path, is_dir);
    *wanted = rule && rule->is_negated;
    return rule ? rule->line : 0;
}
