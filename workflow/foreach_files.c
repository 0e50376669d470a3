/* SPDX-License-Identifier: MIT */
/* Values that come from outside the workflow file: names of files, lines of a file.
 * What the run that is resumed has recorded is used again, so that files which the run
 * itself makes change nothing. */
#include "workflow/foreach_int.h"
#include "workflow/parse_refs_int.h"

#include "base/limits.h"
#include "workflow/glob.h"

/* The same key of the run that is resumed, if it has the same source and spec. */
static const struct foreach_key *recorded_key(const struct foreach_reading *r)
{
    const struct definition *recorded = r->p->options->recorded;
    uint32_t index = recorded ? map_get(&recorded->by_id, r->def->id) : MAP_NONE;
    if (index == MAP_NONE)
        return NULL;
    const struct task_def *def = &recorded->defs[index];
    uint32_t k = task_def_key(def, r->key->name);
    if (k == UINT32_MAX)
        return NULL;
    const struct foreach_key *key = &def->foreach[k];
    bool same = key->source == r->key->source && str_equal(key->spec, r->key->spec);
    return same && (key->n > 0 || r->allow_empty) ? key : NULL;
}

/* Takes the recorded values, and notes what is different on disk by now. */
static int use_recorded(struct foreach_reading *r, const struct foreach_key *from)
{
    int rc = foreach_take_values(r, from->n);
    for (uint32_t i = 0; i < from->n && !rc; i++) {
        r->key->values[i] = arena_str(&r->p->out->arena, from->values[i]);
        if (!r->key->values[i].ptr)
            rc = out_of_memory(r->p);
    }
    r->key->n = from->n;
    return rc ? rc : foreach_note_changes(r);
}

static int nothing_found(const struct foreach_reading *r, const struct node *node,
                         const char *what)
{
    if (r->key->n || r->allow_empty)
        return 0;
    return diagnose(&r->p->diagnostic, node->at,
                    "%s (in %.200s); values are read before anything runs; write "
                    "allow_empty: true if there may be none",
                    what, r->p->options->root);
}

int foreach_read_glob(struct foreach_reading *r, const struct node *node)
{
    struct cairn_error inner = {0};
    struct glob_names found;
    r->key->source = FOREACH_GLOB;
    int rc = read_expanded(r->p, node, "`glob`", r->def, &r->key->spec);
    if (rc)
        return rc;
    const struct foreach_key *recorded = recorded_key(r);
    if (recorded)
        return use_recorded(r, recorded);
    rc = glob_expand(r->p->options->root, r->key->spec, &r->p->out->arena, &found,
                     &inner);
    if (rc)
        return diagnose_as(&r->p->diagnostic, rc, node->at, "%s", inner.text);
    r->key->values = found.names;
    r->key->n = found.n;
    rc = foreach_count_values(r, found.n);
    for (uint32_t i = 0; i < found.n && !rc; i++)
        rc = foreach_check_size(r, found.names[i], node->at);
    return rc ? rc : nothing_found(r, node, "no file matches");
}

static uint64_t count_lines(struct str content)
{
    uint64_t n = 0;
    for (size_t at = 0; at < content.len;)
        n += foreach_next_line(content, at, &at).len > 0;
    return n;
}

static int split_lines(struct foreach_reading *r, const struct node *node,
                       struct str content)
{
    uint32_t number = 0;
    uint64_t n = count_lines(content);
    int rc = foreach_take_values(r, n);
    r->lines = arena_take(&r->p->scratch, n, sizeof *r->lines);
    if (!rc && !r->lines)
        return out_of_memory(r->p);
    for (size_t at = 0; at < content.len && !rc;) {
        struct str line = foreach_next_line(content, at, &at);
        number++;
        if (line.len == 0)
            continue;
        if (memchr(line.ptr, 0, line.len))
            return diagnose(&r->p->diagnostic, node->at,
                            "%.*s:%u: the line has a NUL byte in it",
                            SHOWN(r->key->spec), number);
        r->lines[r->key->n] = number;
        struct str *value = &r->key->values[r->key->n++];
        *value = arena_str(&r->p->out->arena, line);
        rc = value->ptr ? foreach_check_size(r, *value, node->at) : out_of_memory(r->p);
    }
    return rc;
}

static int load_lines(const struct foreach_reading *r, const struct node *node,
                      struct buf *content)
{
    struct cairn_error inner = {0};
    int rc = foreach_load_lines(r, content, &inner);
    if (rc == CAIRN_ENOMEM)
        return out_of_memory(r->p);
    if (!rc)
        return 0;
    bool of_file = rc == CAIRN_ENOTFOUND || rc == CAIRN_EUSAGE;
    return diagnose_as(&r->p->diagnostic, of_file ? CAIRN_EWORKFLOW : rc, node->at,
                       "%s", inner.text);
}

int foreach_read_lines(struct foreach_reading *r, const struct node *node)
{
    struct buf content = BUF_INIT;
    r->key->source = FOREACH_LINES;
    int rc = read_expanded(r->p, node, "`lines`", r->def, &r->key->spec);
    if (!rc && r->key->spec.len == 0)
        rc = diagnose(&r->p->diagnostic, node->at, "`lines` is empty");
    if (rc)
        return rc;
    const struct foreach_key *recorded = recorded_key(r);
    if (recorded)
        return use_recorded(r, recorded);
    rc = load_lines(r, node, &content);
    if (!rc)
        rc = split_lines(r, node, buf_view(&content));
    if (!rc)
        rc = nothing_found(r, node, "the file has no line that is not empty");
    buf_release(&content);
    return rc;
}
