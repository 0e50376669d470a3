/* SPDX-License-Identifier: MIT */
/* Parts of paths, by their bytes. */
#include "graph/expression/expression_int.h"

static size_t without_slashes(struct str path, size_t n)
{
    while (n && path.ptr[n - 1] == '/')
        n--;
    return n;
}

/* Where the base name begins that ends at `end`. */
static size_t base_start(struct str path, size_t end)
{
    while (end && path.ptr[end - 1] != '/')
        end--;
    return end;
}

struct str path_basename(struct str path)
{
    size_t end = without_slashes(path, path.len), start = base_start(path, end);
    if (!end)
        return path.len ? STR("/") : path;
    return (struct str){path.ptr + start, end - start};
}

struct str path_dirname(struct str path)
{
    size_t start = base_start(path, without_slashes(path, path.len));
    if (!start)
        return path.len && path.ptr[0] == '/' ? STR("/") : STR(".");
    size_t end = without_slashes(path, start);
    return end ? (struct str){path.ptr, end} : STR("/");
}

struct str path_stem(struct str path)
{
    struct str base = path_basename(path);
    size_t first = 0, dot = base.len;
    while (first < base.len && base.ptr[first] == '.')
        first++;
    while (dot > first && base.ptr[dot - 1] != '.')
        dot--;
    if (dot <= first || dot == base.len)
        return base;
    return (struct str){base.ptr, dot - 1};
}
