/* SPDX-License-Identifier: MIT */
#include "session/outside/git_head.h"

#include "base/os.h"
#include "base/utf8.h"
#include "session/outside/context.h"

#include <stdlib.h>

enum { NAMED_BYTES = 8192 };         /* of a file that has a name or a digest in it */
enum { PACKED_BYTES = 32 << 20 };    /* of the list of packed references */
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
