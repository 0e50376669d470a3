/* SPDX-License-Identifier: MIT */
#include "snapshot/paths.h"

#include "base/utf8.h"

#include <string.h>

/* Of what people write: "./src" is "src", and "." is everything. */
static struct str plain(struct str text)
{
    while (text.len > 1 && text.ptr[0] == '.' && text.ptr[1] == '/')
        text = (struct str){text.ptr + 2, text.len - 2};
    return str_equal(text, STR(".")) || !text.len ? STR("*") : text;
}

static int add_pattern(struct paths *paths, struct str given, struct cairn_error *error)
{
    struct ignore_level *level = &paths->levels[paths->n];
    struct str text = plain(given);
    struct buf line = BUF_INIT;
    if (!given.len || memchr(given.ptr, '\n', given.len))
        return error_set(error, CAIRN_EUSAGE,
                         "a pattern of paths is empty or has a line break in it: ? "
                         "stands for any byte");
    if (text.ptr[0] == '!' || text.ptr[0] == '#')
        buf_byte(&line, '\\');
    buf_str(&line, text);
    *level = (struct ignore_level){.dir = STR("")};
    int rc = buf_check(&line, error);
    if (!rc)
        rc = ignore_parse(&paths->arena, buf_view(&line), &level->rules, error);
    buf_release(&line);
    if (!rc && !level->rules.n)
        rc = error_set(error, CAIRN_EUSAGE, "the pattern '%.*s' can match no path",
                       (int)utf8_fit(given, 200), given.ptr);
    paths->n += rc == 0;
    return rc;
}

int paths_open(struct paths *paths, const struct str *texts, size_t n,
               struct cairn_error *error)
{
    size_t bytes = 0;
    *paths = (struct paths){.arena = ARENA_INIT, .texts = texts};
    for (size_t i = 0; i < n; i++)
        bytes += texts[i].len;
    if (n > PATHS_MOST || bytes > PATHS_BYTES_MOST)
        return error_set(error, CAIRN_ELIMIT,
                         "there are more than %d patterns of paths, or more than %d "
                         "bytes of them",
                         PATHS_MOST, PATHS_BYTES_MOST);
    paths->levels = arena_take(&paths->arena, n, sizeof *paths->levels);
    paths->found = arena_take(&paths->arena, n, sizeof *paths->found);
    if (!paths->levels || !paths->found)
        return error_nomem(error);
    int rc = 0;
    memset(paths->found, 0, n * sizeof *paths->found);
    for (size_t i = 0; i < n && !rc; i++)
        rc = add_pattern(paths, texts[i], error);
    return rc;
}

void paths_close(struct paths *paths)
{
    arena_release(&paths->arena);
}

static bool matches(const struct ignore_level *level, struct str path, bool is_dir)
{
    for (size_t i = 0; i < path.len; i++)
        if (path.ptr[i] == '/' &&
            ignore_matches(level, (struct str){path.ptr, i}, true))
            return true;
    return ignore_matches(level, path, is_dir);
}

bool paths_match(struct paths *paths, struct str path, bool is_dir)
{
    bool any = false;
    for (size_t i = 0; i < paths->n; i++)
        if (matches(&paths->levels[i], path, is_dir))
            any = paths->found[i] = true;
    return any;
}

const struct str *paths_missing(const struct paths *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        if (!paths->found[i])
            return &paths->texts[i];
    return NULL;
}
