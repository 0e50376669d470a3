/* SPDX-License-Identifier: MIT */
/* Untrusted text of a task. One pass; every name is copied once. */
#include "runs/depfile.h"

#include "base/error.h"
#include "base/memory.h"

struct depfile_reader {
    const char *at, *end;
    uint32_t line;
    struct arena *arena;
    struct buf name;  /* the one that is read */
    struct buf names; /* of struct str */
    struct map seen;
    uint32_t n;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* A blank, the end of a line or of the text, at `at`. */
static bool is_border(const struct depfile_reader *r, const char *at)
{
    return at >= r->end || is_blank(*at) || *at == '\n';
}

/* The length of a line break behind a backslash, 0: there is none. */
static size_t line_break(const struct depfile_reader *r, const char *at)
{
    if (at < r->end && *at == '\n')
        return 1;
    return r->end - at >= 2 && at[0] == '\r' && at[1] == '\n' ? 2 : 0;
}

/* Blanks, and line breaks behind a backslash. */
static void skip_blanks(struct depfile_reader *r)
{
    while (r->at < r->end) {
        size_t n = *r->at == '\\' ? line_break(r, r->at + 1) : 0;
        if (!n && !is_blank(*r->at))
            return;
        r->line += n > 0;
        r->at += 1 + n;
    }
}

/* A run of backslashes, with the character behind it where that is escaped. The last
 * one stays where it continues the line. */
static void read_backslashes(struct depfile_reader *r)
{
    size_t n = 0;
    while (r->at + n < r->end && r->at[n] == '\\')
        n++;
    const char *behind = r->at + n;
    bool end = behind == r->end, blank = !end && (*behind == ' ' || *behind == '\t');
    bool odd = blank && n % 2;
    bool mark =
        !end && (*behind == '#' || (*behind == ':' && !is_border(r, behind + 1)));
    size_t kept = blank ? n / 2 : mark || line_break(r, behind) ? n - 1 : n;
    for (size_t i = 0; i < kept; i++)
        buf_byte(&r->name, '\\');
    if (odd || mark)
        buf_byte(&r->name, (uint8_t)*behind++);
    r->at = line_break(r, behind) ? behind - 1 : behind;
}

/* Up to the next blank; `targets`: or the colon that ends them. */
static void read_name(struct depfile_reader *r, bool targets)
{
    buf_clear(&r->name);
    while (!is_border(r, r->at)) {
        if (*r->at == '\\') {
            if (line_break(r, r->at + 1))
                return;
            read_backslashes(r);
            continue;
        }
        if (targets && *r->at == ':' && is_border(r, r->at + 1))
            return;
        r->at += *r->at == '$' && r->at + 1 < r->end && r->at[1] == '$';
        buf_byte(&r->name, (uint8_t)*r->at++);
    }
}

static int keep_name(struct depfile_reader *r, struct cairn_error *error)
{
    struct str name = arena_str(r->arena, buf_view(&r->name));
    int added = name.ptr && !r->name.failed ? map_add(&r->seen, name, r->n, NULL)
                                            : CAIRN_ENOMEM;
    if (added < 0)
        return error_nomem(error);
    if (!added)
        return 0;
    if (r->n == DEPFILE_NAMES_MOST)
        return error_set(error, CAIRN_ELIMIT, "more than %d names", DEPFILE_NAMES_MOST);
    buf_add(&r->names, &name, sizeof name);
    r->n++;
    return 0;
}

static int no_colon(const struct depfile_reader *r, struct cairn_error *error)
{
    return error_set(error, CAIRN_EWORKFLOW,
                     "line %u is not a rule: write TARGET: FILE FILE", r->line);
}

/* A rule, or an empty line, with the line break behind it. */
static int read_rule(struct depfile_reader *r, struct cairn_error *error)
{
    bool targets = true, any = false;
    int rc = 0;
    for (skip_blanks(r); !rc && r->at < r->end && *r->at != '\n'; skip_blanks(r)) {
        any = true;
        if (targets && *r->at == ':' && is_border(r, r->at + 1)) {
            targets = false;
            r->at++;
            continue;
        }
        read_name(r, targets);
        if (!targets)
            rc = keep_name(r, error);
    }
    if (!rc && any && targets)
        rc = no_colon(r, error);
    if (r->at < r->end)
        r->at++;
    r->line++;
    return rc;
}

int depfile_parse(struct str text, struct arena *arena, struct depfile_names *out,
                  struct cairn_error *error)
{
    struct depfile_reader r = {.at = text.ptr,
                               .end = text.ptr + text.len,
                               .line = 1,
                               .arena = arena,
                               .seen = MAP_INIT};
    int rc = text.len && memchr(text.ptr, 0, text.len)
                 ? error_set(error, CAIRN_EWORKFLOW, "it has a NUL in it")
                 : 0;
    while (!rc && r.at < r.end)
        rc = read_rule(&r, error);
    struct str *names = arena_take(arena, r.n, sizeof *names);
    if (!rc && (!names || r.names.failed))
        rc = error_nomem(error);
    if (!rc) {
        if (r.n)
            memcpy(names, r.names.data, r.names.size);
        *out = (struct depfile_names){names, r.n};
    }
    buf_release(&r.name);
    buf_release(&r.names);
    map_release(&r.seen);
    return rc;
}
