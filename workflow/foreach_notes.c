/* SPDX-License-Identifier: MIT */
/* Members that a run has recorded, compared with what is on disk by now: a resumed run
 * keeps its members, and a note says which files or lines it will not see. */
#include "workflow/foreach_int.h"

#include "base/limits.h"
#include "workflow/glob.h"

enum { SHOWN_NAMES = 3 };

/* Names that are only on one side: how many, and the first few. */
struct difference {
    uint32_t n;
    struct str first[SHOWN_NAMES];
};

static void count_name(struct difference *difference, struct str name)
{
    if (difference->n < SHOWN_NAMES)
        difference->first[difference->n] = name;
    difference->n++;
}

static void add_names(struct buf *line, const struct difference *difference)
{
    uint32_t n = difference->n < SHOWN_NAMES ? difference->n : SHOWN_NAMES;
    for (uint32_t i = 0; i < n; i++)
        buf_format(line, "%s%.*s", i ? ", " : "", SHOWN(difference->first[i]));
    if (difference->n > n)
        buf_text(line, ", ...");
}

static int keep_note(const struct foreach_reading *r, struct buf *line)
{
    int rc = line->failed ? out_of_memory(r->p) : 0;
    if (!rc)
        parse_note(r->p, line);
    buf_release(line);
    return rc;
}

static int note_new(const struct foreach_reading *r, const struct difference *added)
{
    struct buf line = BUF_INIT;
    bool one = added->n == 1;
    buf_str(&line, r->def->id);
    if (r->key->source == FOREACH_GLOB)
        buf_format(&line, ": %u new file%s `%.*s` and %s", added->n,
                   one ? " matches" : "s match", SHOWN(r->key->spec),
                   one ? "is" : "are");
    else
        buf_format(&line, ": %u new line%s of `%.*s` %s", added->n, one ? "" : "s",
                   SHOWN(r->key->spec), one ? "is" : "are");
    buf_text(&line, " no part of this run: ");
    add_names(&line, added);
    buf_format(&line, "; a new run has %s: ", one ? "it" : "them");
    definition_put_fresh(r->p->out, &line);
    return keep_note(r, &line);
}

static int note_gone(const struct foreach_reading *r, const struct difference *gone)
{
    struct buf line = BUF_INIT;
    buf_str(&line, r->def->id);
    buf_format(&line, ": %u recorded member%s gone: ", gone->n,
               gone->n == 1 ? " is" : "s are");
    add_names(&line, gone);
    buf_format(&line,
               "; this run keeps %s: put back what it needs, or begin a new run: ",
               gone->n == 1 ? "it" : "them");
    definition_put_fresh(r->p->out, &line);
    return keep_note(r, &line);
}

static int note_unreadable(const struct foreach_reading *r,
                           const struct cairn_error *error)
{
    struct buf line = BUF_INIT;
    buf_str(&line, r->def->id);
    buf_format(&line,
               ": it cannot be told whether there are new members (%s); this run keeps "
               "those that it has",
               error->text);
    return keep_note(r, &line);
}

/* ---- What is there now ---- */

static int lines_now(const struct foreach_reading *r, struct arena *arena,
                     struct glob_names *out, struct cairn_error *error)
{
    struct buf content = BUF_INIT, names = BUF_INIT;
    int rc = foreach_load_lines(r, &content, error);
    for (size_t at = 0; !rc && at < content.size;) {
        struct str line = foreach_next_line(buf_view(&content), at, &at);
        struct str copy = line.len ? arena_str(arena, line) : line;
        if (line.len)
            buf_add(&names, &copy, sizeof copy);
    }
    out->n = (uint32_t)(names.size / sizeof *out->names);
    out->names = arena_take(arena, out->n, sizeof *out->names);
    if (!rc && (arena->failed || names.failed))
        rc = error_nomem(error);
    if (!rc && out->n)
        memcpy(out->names, names.data, names.size);
    buf_release(&content);
    buf_release(&names);
    return rc;
}

static int add_all(struct map *map, const struct str *names, uint32_t n)
{
    int rc = map_reserve(map, n);
    for (uint32_t i = 0; i < n && rc >= 0; i++)
        rc = map_add(map, names[i], i, NULL);
    return rc < 0 ? rc : 0;
}

/* Members of `names` that are not in the map. */
static void find_others(const struct map *map, const struct str *names, uint32_t n,
                        struct difference *out)
{
    for (uint32_t i = 0; i < n; i++)
        if (map_get(map, names[i]) == MAP_NONE)
            count_name(out, names[i]);
}

static int note_differences(const struct foreach_reading *r,
                            const struct glob_names *now)
{
    struct map recorded = MAP_INIT, present = MAP_INIT;
    struct difference added = {.n = 0}, gone = {.n = 0};
    int rc = add_all(&recorded, r->key->values, r->key->n);
    if (!rc)
        rc = add_all(&present, now->names, now->n);
    if (!rc) {
        find_others(&recorded, now->names, now->n, &added);
        find_others(&present, r->key->values, r->key->n, &gone);
    }
    map_release(&recorded);
    map_release(&present);
    if (rc)
        return out_of_memory(r->p);
    if (added.n)
        rc = note_new(r, &added);
    return !rc && gone.n ? note_gone(r, &gone) : rc;
}

int foreach_note_changes(const struct foreach_reading *r)
{
    struct cairn_error inner = {0};
    struct glob_names now = {NULL, 0};
    struct arena arena = ARENA_INIT;
    int rc;
    if (r->key->source == FOREACH_GLOB)
        rc = glob_expand(r->p->options->root, r->key->spec, &arena, &now, &inner);
    else
        rc = lines_now(r, &arena, &now, &inner);
    if (!rc)
        rc = note_differences(r, &now);
    else
        rc = rc == CAIRN_ENOMEM ? out_of_memory(r->p) : note_unreadable(r, &inner);
    arena_release(&arena);
    return rc;
}
