/* SPDX-License-Identifier: MIT */
#include "snapshot/rules.h"

#include "snapshot/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_text(int file, struct buf *out)
{
    enum { PART = 64 << 10 };
    for (;;) {
        size_t had = out->size;
        char *room = buf_grow(out, PART);
        if (!room)
            return ENOMEM;
        ssize_t n = read(file, room, PART);
        out->size = had + (n > 0 ? (size_t)n : 0);
        if (n < 0 && errno != EINTR)
            return errno;
        if (n == 0 || out->size > RULES_BYTES_MOST)
            return 0;
    }
}

/* What cannot be read has no rules, as for git. */
static int read_rules(int fd, const char *name, struct buf *out,
                      struct cairn_error *error)
{
    struct stat st;
    int file = openat(fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return 0;
    int sys = fstat(file, &st) == 0 && S_ISREG(st.st_mode) ? read_text(file, out) : 0;
    close(file);
    if (sys == ENOMEM)
        return error_nomem(error);
    if (out->size > RULES_BYTES_MOST)
        return error_set(error, CAIRN_ELIMIT, "%s has more than %d bytes", name,
                         RULES_BYTES_MOST);
    return 0;
}

int rules_read(int fd, struct str dir, const struct ignore_level *above,
               struct arena *arena, const struct ignore_level **rules,
               struct cairn_error *error)
{
    static const char *const names[] = {".gitignore", ".cairnignore"};
    struct buf text = BUF_INIT;
    int rc = 0;
    *rules = above;
    for (size_t i = 0; i < 2 && !rc; i++) {
        buf_clear(&text);
        rc = read_rules(fd, names[i], &text, error);
        if (rc || !text.size)
            continue;
        struct ignore_level *level = arena_take(arena, 1, sizeof *level);
        if (!level) {
            rc = error_nomem(error);
            continue;
        }
        level->above = *rules;
        level->dir = arena_str(arena, dir);
        rc = ignore_parse(arena, buf_view(&text), &level->rules, error);
        *rules = level;
    }
    buf_release(&text);
    return rc ? rc : arena->failed ? error_nomem(error) : 0;
}

/* The next directory on the way, or -1 where there is none. */
static int go_into(int fd, struct str name)
{
    char text[TREE_NAME_BYTES + 1];
    if (fd < 0 || name.len > TREE_NAME_BYTES)
        return -1;
    memcpy(text, name.ptr, name.len);
    text[name.len] = '\0';
    return openat(fd, text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int rules_leave_out(int root, struct str path, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    const struct ignore_level *rules = NULL;
    int fd = dup(root), rc = fd < 0 ? error_sys(error, errno, "reading rules") : 0;
    size_t at = 0;
    bool out = false;
    while (!rc && !out && at < path.len) {
        const char *slash = memchr(path.ptr + at, '/', path.len - at);
        size_t end = slash ? (size_t)(slash - path.ptr) : path.len;
        struct str name = {path.ptr + at, end - at}, dir = {path.ptr, at ? at - 1 : 0};
        if (fd >= 0)
            rc = rules_read(fd, dir, rules, &arena, &rules, error);
        out = tree_is_never_taken(name) ||
              (!rc && ignore_matches(rules, (struct str){path.ptr, end}, true));
        int next = go_into(fd, name);
        if (fd >= 0)
            close(fd);
        fd = next;
        at = end + 1;
    }
    if (fd >= 0)
        close(fd);
    arena_release(&arena);
    return rc ? rc : out;
}
