/* SPDX-License-Identifier: MIT */
/* needs: `task`, or the members `task[key=value, ...]` with ${{ }} in values. */
#include "workflow/parse_refs_int.h"
#include "workflow/parse_task_int.h"

#include "base/limits.h"
#include "graph/members.h"

#include <stdio.h>

struct need_reading {
    struct parser *p;
    uint32_t index; /* of the needing task */
    const struct task_def *def;
    const struct node *node; /* the need's text */
    struct str text;
    struct need *need;
    const struct task_def *target;
    struct text_template pieces; /* of the text: a comma in ${{ }} separates nothing */
};

/* The place of text[part] in the file. */
static struct position position_of(const struct need_reading *r, struct str part)
{
    return source_inside(&r->p->source, r->node->at, r->text,
                         (size_t)(part.ptr - r->text.ptr), part.len);
}

static int unknown_task(const struct need_reading *r, struct str name)
{
    const struct definition *out = r->p->out;
    struct str *ids = arena_take(&r->p->scratch, out->n_defs, sizeof *ids);
    if (!ids)
        return out_of_memory(r->p);
    for (uint32_t i = 0; i < out->n_defs; i++)
        ids[i] = out->defs[i].id;
    struct hint hint = hint_nearest(name, ids, out->n_defs);
    if (memchr(name.ptr, ',', name.len) || memchr(name.ptr, ' ', name.len))
        snprintf(hint.text, sizeof hint.text, "; several are a list, as in [a, b]");
    return diagnose(&r->p->diagnostic, r->node->at,
                    "task `%.*s` needs `%.*s`, which does not exist%s",
                    SHOWN(r->def->id), SHOWN(name), hint.text);
}

static int find_target(struct need_reading *r, struct str name)
{
    uint32_t target = map_get(&r->p->out->by_id, name);
    if (target == MAP_NONE)
        return unknown_task(r, name);
    if (target == r->index)
        return diagnose(&r->p->diagnostic, r->node->at, "task `%.*s` needs itself",
                        SHOWN(name));
    r->need->target = target;
    r->target = &r->p->out->defs[target];
    if (r->target->finally == r->def->finally)
        return 0;
    if (r->def->finally)
        return diagnose(&r->p->diagnostic, r->node->at,
                        "task `%.*s` of `finally` runs after all of `tasks` anyway; it "
                        "can only need other tasks of `finally`",
                        SHOWN(r->def->id));
    return diagnose(&r->p->diagnostic, r->node->at,
                    "task `%.*s` cannot need `%.*s`, which stands under `finally` and "
                    "runs after everything else",
                    SHOWN(r->def->id), SHOWN(name));
}

/* ---- Bindings ---- */

static struct str trim_blanks(struct str text)
{
    while (text.len && text.ptr[0] == ' ') {
        text.ptr++;
        text.len--;
    }
    while (text.len && text.ptr[text.len - 1] == ' ')
        text.len--;
    return text;
}

/* The next comma of `text` at or after `from` that is not inside ${{ }}, or its end. */
static size_t next_comma(const struct need_reading *r, struct str text, size_t from)
{
    for (uint32_t i = 0; i < r->pieces.n; i++) {
        const struct piece *piece = &r->pieces.pieces[i];
        if (piece->expression)
            continue;
        const char *start = text.ptr + from, *end = text.ptr + text.len;
        const char *piece_end = piece->text.ptr + piece->text.len;
        if (piece_end <= start)
            continue;
        if (piece->text.ptr > start)
            start = piece->text.ptr;
        if (piece_end < end)
            end = piece_end;
        const char *comma =
            start < end ? memchr(start, ',', (size_t)(end - start)) : NULL;
        if (comma)
            return (size_t)(comma - text.ptr);
    }
    return text.len;
}

static int unknown_binding(const struct need_reading *r, struct str key)
{
    struct str names[LIMIT_FOREACH_KEYS];
    for (uint32_t k = 0; k < r->target->n_foreach; k++)
        names[k] = r->target->foreach[k].name;
    struct hint hint = hint_nearest(key, names, r->target->n_foreach);
    return diagnose(&r->p->diagnostic, position_of(r, key),
                    "`%.*s` is no foreach key of task `%.*s`%s", SHOWN(key),
                    SHOWN(r->target->id), hint.text);
}

/* A value without ${{ }} can be checked now; the others when members are compiled. */
static int check_value(const struct need_reading *r, const struct foreach_key *key,
                       struct str value)
{
    enum { NEAR = 10000 }; /* candidates for a hint; a group may have millions */
    if (template_has(value))
        return check_text(r->p, r->node, value, r->def, IN_NEED, NULL);
    if (foreach_key_find(key, value) != UINT32_MAX)
        return 0;
    struct hint hint = hint_nearest(value, key->shown, key->n < NEAR ? key->n : NEAR);
    return diagnose(&r->p->diagnostic, position_of(r, value),
                    "task `%.*s` has no member with %.*s = `%.*s`%s",
                    SHOWN(r->target->id), SHOWN(key->name), SHOWN(value), hint.text);
}

static int read_binding(struct need_reading *r, struct str text)
{
    const char *equals = memchr(text.ptr, '=', text.len);
    if (!equals)
        return diagnose(&r->p->diagnostic, position_of(r, text),
                        "`%.*s`: a member is written %.*s[key=value]", SHOWN(r->text),
                        SHOWN(r->target->id));
    size_t at = (size_t)(equals - text.ptr);
    struct str key = trim_blanks((struct str){text.ptr, at});
    struct str value = trim_blanks((struct str){equals + 1, text.len - at - 1});
    uint32_t k = task_def_key(r->target, key);
    if (k == UINT32_MAX)
        return unknown_binding(r, key);
    if (r->need->bindings[k].key.ptr)
        return diagnose(&r->p->diagnostic, position_of(r, key),
                        "the key `%.*s` is in the brackets twice", SHOWN(key));
    int rc = check_value(r, &r->target->foreach[k], value);
    if (rc)
        return rc;
    struct str copy = arena_str(&r->p->out->arena, value);
    if (!copy.ptr)
        return out_of_memory(r->p);
    r->need->bindings[k] = (struct key_value){r->target->foreach[k].name, copy};
    return 0;
}

static int read_bindings(struct need_reading *r, struct str inside)
{
    uint32_t n = r->target->n_foreach;
    int rc = 0;
    if (n == 0)
        return diagnose(
            &r->p->diagnostic, r->node->at,
            "task `%.*s` has no foreach, so it has no members; write `%.*s`",
            SHOWN(r->target->id), SHOWN(r->target->id));
    r->need->bindings = arena_take(&r->p->out->arena, n, sizeof *r->need->bindings);
    if (!r->need->bindings)
        return out_of_memory(r->p);
    r->need->n_bindings = n;
    for (size_t at = 0; at <= inside.len && !rc;) {
        size_t stop = next_comma(r, inside, at);
        rc = read_binding(r, (struct str){inside.ptr + at, stop - at});
        at = stop + 1;
    }
    for (uint32_t k = 0; k < n && !rc; k++)
        if (!r->need->bindings[k].key.ptr) {
            r->need->open |= (uint8_t)(1U << k);
            r->need->bindings[k] =
                (struct key_value){r->target->foreach[k].name, STR("")};
        }
    return rc;
}

static int cut_pieces(struct need_reading *r)
{
    struct expression_error wrong = {0};
    int rc = template_parse(&r->p->scratch, r->text, &r->pieces, &wrong);
    if (rc == CAIRN_EWORKFLOW) /* the whole text, for the message and the place */
        return check_text(r->p, r->node, r->text, r->def, IN_NEED, NULL);
    return rc ? out_of_memory(r->p) : 0;
}

static int read_need(struct need_reading *r)
{
    int rc = expect_filled(r->p, r->node, "a need", &r->text);
    if (rc)
        return rc;
    const char *bracket = memchr(r->text.ptr, '[', r->text.len);
    size_t name_len = bracket ? (size_t)(bracket - r->text.ptr) : r->text.len;
    r->need->text = r->text;
    r->need->at = r->node->at;
    rc = find_target(r, (struct str){r->text.ptr, name_len});
    if (rc || !bracket)
        return rc;
    if (r->text.ptr[r->text.len - 1] != ']')
        return diagnose(&r->p->diagnostic, r->node->at,
                        "`%.*s`: the bracket is not closed at the end", SHOWN(r->text));
    rc = cut_pieces(r);
    if (rc)
        return rc;
    return read_bindings(r, (struct str){bracket + 1, r->text.len - name_len - 2});
}

/* ---- All needs of a task ---- */

/* What makes two needs the same, whatever order and blanks they are written with. */
static struct str identity_of_need(const struct parser *p, const struct need *need,
                                   struct arena *arena)
{
    const struct task_def *target = &p->out->defs[need->target];
    struct buf text = BUF_INIT;
    buf_u32(&text, need->target);
    buf_byte(&text, need->open);
    for (uint32_t k = 0; k < need->n_bindings; k++) {
        if (need->open >> k & 1)
            continue;
        uint32_t index = foreach_key_find(&target->foreach[k], need->bindings[k].value);
        buf_byte(&text, index == UINT32_MAX);
        if (index == UINT32_MAX)
            buf_lstr(&text, need->bindings[k].value);
        else
            buf_u32(&text, index);
    }
    struct str copy = arena_str(arena, buf_view(&text));
    arena->failed |= text.failed;
    buf_release(&text);
    return copy;
}

static int check_duplicates(struct parser *p, const struct task_def *def)
{
    struct map seen = MAP_INIT;
    int added = map_reserve(&seen, def->n_needs);
    int rc = 0;
    uint32_t first = 0;
    for (uint32_t i = 0; i < def->n_needs && added >= 0 && !rc; i++) {
        struct str key = identity_of_need(p, &def->needs[i], &p->scratch);
        added = p->scratch.failed ? CAIRN_ENOMEM : map_add(&seen, key, i, &first);
        if (added == 0)
            rc = diagnose(&p->diagnostic, def->needs[i].at,
                          "`%.*s` is needed twice; the first one is at %u:%u",
                          SHOWN(def->needs[i].text), def->needs[first].at.line,
                          def->needs[first].at.column);
    }
    map_release(&seen);
    return added < 0 ? out_of_memory(p) : rc;
}

int check_needs_all(struct parser *p, const struct task_def *def,
                    const struct node *node)
{
    if (!def->needs_all || task_def_wants_group(p->out, def))
        return 0;
    return diagnose(&p->diagnostic, node->at,
                    "`needs_all` says what members of a needed group mean that their "
                    "own condition left out; task `%.*s` %s",
                    SHOWN(def->id),
                    def->when == WHEN_SUCCESS ? "needs no group"
                                              : "does not ask whether all completed");
}

int read_needs(struct parser *p, uint32_t index, const struct node *node)
{
    struct task_def *def = &p->out->defs[index];
    bool single = node->kind == NODE_TEXT;
    int rc = single ? 0 : expect_list(p, node, "`needs`");
    if (rc)
        return rc;
    uint32_t n = single ? 1 : node->n;
    def->needs = arena_take(&p->out->arena, n, sizeof *def->needs);
    if (!def->needs)
        return out_of_memory(p);
    const struct node *item = single ? node : node->first;
    for (uint32_t i = 0; i < n && !rc; i++, item = item->next) {
        struct need_reading r = {
            .p = p, .index = index, .def = def, .node = item, .need = &def->needs[i]};
        rc = parse_go_on(p, read_need(&r));
        def->n_needs = i + 1;
    }
    return !rc && n > 1 && parse_is_good(p) ? check_duplicates(p, def) : rc;
}
