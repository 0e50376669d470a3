/* SPDX-License-Identifier: MIT */
/* needs: `task`, or the members `task[key=value, ...]` with ${{ }} in values. */
#include "workflow/keys_set.h"
#include "workflow/parse_int.h"

#include "base/limits.h"
#include "base/words.h"
#include "graph/lists.h"
#include "graph/members.h"
#include "graph/task_fields.h"
#include "graph/text_expand.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

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
    uint32_t n;
    struct str *ids = names_of_tasks(r->p, &n);
    if (!ids)
        return out_of_memory(r->p);
    struct hint hint = hint_nearest(name, ids, n);
    if (memchr(name.ptr, ',', name.len) || memchr(name.ptr, ' ', name.len))
        snprintf(hint.text, sizeof hint.text, "; several are a list, as in [a, b]");
    return diagnose(&r->p->diagnostic, r->node->at,
                    "task `%.*s` needs `%.*s`, which does not exist%s",
                    SHOWN(r->def->id), SHOWN(name), hint.text);
}

static int set_target(struct need_reading *r, uint32_t target)
{
    if (target == r->index)
        return diagnose(&r->p->diagnostic, r->node->at, "task `%.*s` needs itself",
                        SHOWN(r->def->id));
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
                    "task `%.*s` cannot need `%.*s`, which is under `finally` and "
                    "runs after everything else",
                    SHOWN(r->def->id), SHOWN(r->target->id));
}

static int find_target(struct need_reading *r, struct str name)
{
    uint32_t target = definition_task(r->p->out, r->p->in->scope, name);
    return target == MAP_NONE ? unknown_task(r, name) : set_target(r, target);
}

/* NAME, also of {task: NAME}. */
static const struct node *name_of_need(const struct node *node)
{
    const struct node *key = node->kind == NODE_MAP ? node->first : NULL;
    while (key && !str_equal(key->text, STR("task")))
        key = key->next->next;
    return key ? key->next : node;
}

/* The included file that a need names, or NULL. */
static struct workflow_file *file_of_need(const struct parser *p,
                                          const struct node *node)
{
    node = name_of_need(node);
    return node->kind == NODE_TEXT ? included_as(p, node->text) : NULL;
}

/* An included file stands for all its tasks: a need of each, as this one is. */
static int spread_need(struct need_reading *r, struct workflow_file *file, uint32_t *n)
{
    struct need like = *r->need;
    int rc = 0;
    for (uint32_t i = 0; i < file->n_targets && !rc; i++) {
        r->need[i] = like;
        r->need[i].text = r->p->out->defs[file->targets[i]].id;
        struct need_reading one = *r;
        one.need = &r->need[i];
        rc = set_target(&one, file->targets[i]);
    }
    *n = file->n_targets;
    return rc;
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
                    "`%.*s` is not a foreach key of task `%.*s`%s", SHOWN(key),
                    SHOWN(r->target->id), hint.text);
}

/* A value without ${{ }} can be checked now; the others when members are compiled. */
static int check_value(const struct need_reading *r, const struct foreach_key *key,
                       struct str value)
{
    enum { NEAR = 10000 }; /* candidates for a hint; a group may have millions */
    if (template_has(value))
        return check_text(r->p, r->node, &value, r->def, IN_NEED, NULL);
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
        return check_text(r->p, r->node, &r->text, r->def, IN_NEED, NULL);
    return rc ? out_of_memory(r->p) : 0;
}

/* {task: TASK, order: true, soft: true}; r->node becomes that of the text. */
static int read_need_map(struct need_reading *r)
{
    enum { TASK, ORDER, SOFT, COUNT };
    static const struct str names[COUNT] = {NAME("task"), NAME("order"), NAME("soft")};
    const struct node *found[COUNT] = {NULL};
    struct where where = {"in `needs`", {NULL, 0}};
    int rc = expect_keys(r->p, r->node, where, names, found, COUNT);
    if (!rc && !found[TASK])
        rc = diagnose(&r->p->diagnostic, r->node->at,
                      "a need is a task, or {task: NAME, order: true}, or soft: true");
    if (!rc && found[ORDER])
        rc = expect_bool(r->p, found[ORDER]->next, "`order`", &r->need->order);
    if (!rc && found[SOFT])
        rc = expect_bool(r->p, found[SOFT]->next, "`soft`", &r->need->soft);
    if (!rc && r->need->soft && r->def->when != WHEN_SUCCESS)
        rc = diagnose(&r->p->diagnostic, found[SOFT]->at,
                      "a soft need is for a task that runs after success: `when` of "
                      "task `%.*s` says already after what it runs",
                      SHOWN(r->def->id));
    if (!rc)
        r->node = found[TASK]->next;
    return rc;
}

/* *n: how many needs it is. */
static int read_need(struct need_reading *r, uint32_t *n)
{
    struct workflow_file *file = file_of_need(r->p, r->node);
    *n = 1;
    int rc = r->node->kind == NODE_MAP ? read_need_map(r) : 0;
    if (!rc)
        rc = expect_filled(r->p, r->node, "a need", &r->text);
    if (!rc && !template_unescape(&r->p->out->arena, &r->text))
        rc = out_of_memory(r->p);
    if (rc)
        return rc;
    const char *bracket = memchr(r->text.ptr, '[', r->text.len);
    size_t name_len = bracket ? (size_t)(bracket - r->text.ptr) : r->text.len;
    r->need->text = r->text;
    r->need->at = r->node->at;
    if (file)
        return spread_need(r, file, n);
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

/* When all needs have been read; `key`: where the task has `needs_all`. */
static int check_needs_all(struct parser *p, const struct task_def *def,
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

/* A list of needs, or one alone. */
struct need_list {
    const struct node *node;
    struct workflow_file *in; /* where it stands */
    struct workflow_file
        *of; /* the included file of which all tasks have it, or NULL */
};

/* Of a task: its own, and what all of its file wait for. */
static uint32_t lists_of_needs(struct parser *p, uint32_t index, struct need_list *out)
{
    struct workflow_file *file = p->files[p->out->defs[index].file];
    uint32_t n = 0;
    if (p->nodes[index].needs)
        out[n++] = (struct need_list){p->nodes[index].needs, file, NULL};
    for (; file->parent && !p->out->defs[index].finally; file = file->parent)
        if (file->needs)
            out[n++] = (struct need_list){file->needs, file->parent, file};
    return n;
}

static const struct node *first_need(const struct need_list *list)
{
    return list->node->kind == NODE_LIST ? list->node->first : list->node;
}

static const struct node *next_need(const struct need_list *list,
                                    const struct node *need)
{
    return list->node->kind == NODE_LIST ? need->next : NULL;
}

static int count_needs(struct parser *p, const struct need_list *list, size_t *n)
{
    int rc = 0;
    parse_enter(p, list->in);
    if (list->node->kind == NODE_LIST)
        rc = expect_list(p, list->node, "`needs`");
    for (const struct node *need = first_need(list); need && !rc;
         need = next_need(list, need)) {
        struct workflow_file *file = file_of_need(p, need);
        rc = file ? included_tasks(p, file) : 0;
        *n += file ? file->n_targets : 1;
    }
    return rc;
}

/* The params in a text are those of the task's own file. */
static int check_needs_of_file(const struct parser *p, const struct node *need)
{
    struct str text;
    need = name_of_need(need);
    return need->kind == NODE_TEXT
               ? expect_fixed(p, need, "`needs` of an included file", &text)
               : 0;
}

/* Whether it leads to a task that is not here, of one that was checked before. */
static bool is_passed_over(struct parser *p, uint32_t index, const struct node *need)
{
    struct str name = name_of_id(name_of_need(need)->text);
    return parse_was_checked(p, index) && !file_of_need(p, need) &&
           definition_task(p->out, p->in->scope, name) == MAP_NONE;
}

static int add_needs(struct parser *p, uint32_t index, const struct need_list *list)
{
    struct task_def *def = &p->out->defs[index];
    int rc = 0;
    parse_enter(p, list->in);
    for (const struct node *need = first_need(list); need && !rc;
         need = next_need(list, need)) {
        uint32_t taken = 0;
        struct need_reading r = {.p = p,
                                 .index = index,
                                 .def = def,
                                 .node = need,
                                 .need = &def->needs[def->n_needs]};
        if (is_passed_over(p, index, need))
            continue;
        rc = list->of ? check_needs_of_file(p, need) : 0;
        rc = rc ? rc : read_need(&r, &taken);
        if (rc && list->of)
            list->of->needs = NULL; /* told once */
        rc = parse_go_on(p, rc);
        def->n_needs += taken;
    }
    return rc;
}

/* When all tasks have been read. */
static int read_needs(struct parser *p, uint32_t index)
{
    struct task_def *def = &p->out->defs[index];
    struct need_list lists[LIMIT_INCLUDED_DEPTH + 1];
    uint32_t n_lists = lists_of_needs(p, index, lists);
    size_t n = 0;
    int rc = 0;
    for (uint32_t i = 0; i < n_lists && !rc; i++)
        rc = count_needs(p, &lists[i], &n);
    if (rc || !n)
        return rc;
    def->n_needs = 0; /* that of a list comes again (add_needs_of_lists) */
    def->needs = arena_take(&p->out->arena, n, sizeof *def->needs);
    if (!def->needs)
        return out_of_memory(p);
    for (uint32_t i = 0; i < n_lists && !rc; i++)
        rc = add_needs(p, index, &lists[i]);
    parse_enter_task(p, index);
    return !rc && n > 1 && parse_is_good(p) ? check_duplicates(p, def) : rc;
}

/* Tasks: first all ids, then every task, then the needs, which look at ids and foreach
 * keys of other tasks, then what only holds with all needs known. */

static int id_twice(const struct parser *p, const struct node *key, struct str id)
{
    const struct definition *out = p->out;
    struct position first = out->defs[map_get(&out->by_id, id)].at;
    const struct source *text = source_of_line(p->diagnostic.source, first.line);
    if (text->before) /* one of those that were added to a run */
        return diagnose(&p->diagnostic, key->at,
                        "there is a task `%.*s` already, by %s", SHOWN(id), text->name);
    return diagnose(&p->diagnostic, key->at,
                    "there is a task `%.*s` already, at %u:%u; `tasks` and `finally` "
                    "share their ids",
                    SHOWN(id), first.line, first.column);
}

static int add_id(struct parser *p, const struct node *key, bool finally)
{
    struct definition *out = p->out;
    struct task_def *def = &out->defs[out->n_defs];
    task_def_empty_texts(def);
    int rc = expect_filled(p, key, "the id of a task", &def->id);
    if (rc)
        return rc;
    if (!str_is_id(def->id))
        return diagnose(&p->diagnostic, key->at,
                        "the task id `%.*s` must be made of A-Z, a-z, 0-9, _, - and "
                        ". and not begin with - or .",
                        SHOWN(def->id));
    if (p->in->scope.len)
        def->id = arena_join(&out->arena, p->in->scope, def->id);
    if (!def->id.ptr)
        return out_of_memory(p);
    if (def->id.len > LIMIT_ID_BYTES)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, key->at,
                           "the task id is longer than %d bytes", LIMIT_ID_BYTES);
    def->at = key->at;
    def->file = p->in->index;
    def->finally = finally;
    p->nodes[out->n_defs].task = key->next;
    int added = map_add(&out->by_id, def->id, out->n_defs, NULL);
    if (added == 0)
        return id_twice(p, key, def->id);
    out->n_defs++;
    return added < 0 ? out_of_memory(p) : 0;
}

/* A need must not be able to mean both. */
static int check_included_name(struct parser *p, const struct workflow_file *file)
{
    struct str name = {file->scope.ptr, file->scope.len - 1};
    uint32_t task = map_get(&p->out->by_id, name);
    if (task == MAP_NONE)
        return 0;
    parse_enter(p, file->parent);
    return diagnose(&p->diagnostic, p->out->defs[task].at,
                    "`%.*s` is the name of an included file, too; give one of them "
                    "another name",
                    SHOWN(name_in_scope(name)));
}

/* The keys of one map, up to `end`. */
static int add_ids_of(struct parser *p, const struct node *first,
                      const struct node *end, bool finally)
{
    int rc = 0;
    for (const struct node *key = first; key && key != end && !rc;
         key = key->next->next)
        rc = add_id(p, key, finally);
    return rc;
}

/* In all; the first ones may be there. */
static bool room_for_tasks(struct definition *d, size_t n)
{
    if (!d->defs_growing)
        d->defs = arena_take(&d->arena, n, sizeof *d->defs);
    else if (n > d->defs_capacity) {
        struct task_def *defs = realloc(d->defs, n * sizeof *defs);
        if (!defs)
            return false;
        d->defs = defs;
    }
    if (d->defs_growing)
        memset(&d->defs[d->n_defs], 0, (n - d->n_defs) * sizeof *d->defs);
    d->defs_capacity = n > d->defs_capacity ? n : d->defs_capacity;
    return d->defs != NULL;
}

/* Those of `tasks` of all files, then those of `finally`, then those that were added to
 * a run: each addition leaves the numbers of all tasks as they are. */
static int add_ids(struct parser *p)
{
    struct definition *out = p->out;
    static const struct node nothing = {.kind = NODE_MAP};
    size_t n = out->n_defs; /* those that a program has added */
    int rc = 0;
    for (uint32_t i = 0; i < p->n_files; i++) {
        const struct node *finally = p->files[i]->finally;
        const struct node *tasks = p->files[i]->tasks;
        n += (tasks ? tasks->n : 0) + (finally ? finally->n : 0);
    }
    if (n > LIMIT_TASKS)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT,
                           p->in->tasks ? p->in->tasks->at : (struct position){0, 0},
                           "more than %d tasks", LIMIT_TASKS);
    p->nodes = arena_take(&p->scratch, n, sizeof *p->nodes);
    if (!p->nodes || !room_for_tasks(out, n) || map_reserve(&out->by_id, n))
        return out_of_memory(p);
    for (uint32_t i = 0; i < out->n_defs; i++) {
        const struct node *map = p->options->set->tasks[i].map;
        p->nodes[i].task = map ? map : &nothing;
    }
    for (uint32_t k = 0; k < 2 * p->n_files && !rc; k++) {
        bool finally = k >= p->n_files;
        parse_enter(p, p->files[finally ? k - p->n_files : k]);
        const struct node *map = finally ? p->in->finally : p->in->tasks;
        rc = add_ids_of(p, map ? map->first : NULL, finally ? NULL : p->added, finally);
    }
    if (!rc && p->added) {
        uint32_t before = out->n_defs;
        parse_enter(p, p->files[0]);
        rc = add_ids_of(p, p->added, NULL, false);
        out->n_added = out->n_defs - before;
    }
    for (uint32_t i = 1; i < p->n_files && !rc; i++)
        rc = check_included_name(p, p->files[i]);
    return rc;
}

static void warn_of_unreachable(struct parser *p)
{
    for (uint32_t i = 0; i < p->out->n_defs; i++) {
        const struct task_def *def = &p->out->defs[i];
        parse_enter_task(p, i);
        if (def->when == WHEN_FAILED && def->n_needs == 0)
            parse_warn(p, p->nodes[i].when->at,
                       "task `%.*s` never runs: it waits for a failure, but needs "
                       "nothing that could fail",
                       SHOWN(def->id));
    }
}

/* What is valid in each task and doubtful in all of them together. */

/* ---- Secrets that nobody gets ---- */

void warn_of_unlisted_secrets(struct parser *p, const struct node *list)
{
    for (const struct node *item = list->first; item; item = item->next)
        if (item->kind == NODE_TEXT && !definition_gives_secret(p->out, item->text))
            parse_warn(p, item->at,
                       "no task gets the secret `%.*s`; list it under `secrets` of the "
                       "tasks that need it",
                       SHOWN(item->text));
}

/* ---- Outputs of two tasks ---- */

static struct str place_of(struct parser *p, const struct task_def *def,
                           struct str output)
{
    struct buf text = BUF_INIT;
    buf_lstr(&text, output.len && output.ptr[0] == '/' ? STR("") : def->cwd);
    buf_str(&text, output);
    struct str copy = arena_str(&p->scratch, buf_view(&text));
    buf_release(&text);
    return copy;
}

/* The same fixed name is no matter of two tasks of which only one runs. */
static bool may_both_run(const struct task_def *a, const struct task_def *b)
{
    return !a->condition.len && !b->condition.len && a->when == WHEN_SUCCESS &&
           b->when == WHEN_SUCCESS;
}

static int look_at_outputs(struct parser *p, struct map *makers, uint32_t index)
{
    const struct task_def *def = &p->out->defs[index];
    parse_enter_task(p, index);
    for (uint32_t i = 0; i < def->n_outputs; i++) {
        uint32_t other = index;
        if (template_has(def->outputs[i]) || template_has(def->cwd))
            continue;
        if (def->members > 1) {
            parse_warn(p, def->at, "all members of `%.*s` have the output `%.*s`",
                       SHOWN(def->id), SHOWN(def->outputs[i]));
            continue;
        }
        struct str place = place_of(p, def, def->outputs[i]);
        int added = place.ptr ? map_add(makers, place, index, &other) : CAIRN_ENOMEM;
        if (added < 0)
            return out_of_memory(p);
        if (added == 0 && other != index && may_both_run(def, &p->out->defs[other]))
            parse_warn(p, def->at,
                       "`%.*s` and `%.*s` have the same output `%.*s`: each of them "
                       "changes what the other one made",
                       SHOWN(p->out->defs[other].id), SHOWN(def->id),
                       SHOWN(def->outputs[i]));
    }
    return 0;
}

static int warn_of_same_outputs(struct parser *p)
{
    struct map makers = MAP_INIT;
    size_t n = 0;
    int rc = 0;
    for (uint32_t i = 0; i < p->out->n_defs; i++)
        n += p->out->defs[i].n_outputs;
    if (n == 0)
        return 0;
    if (map_reserve(&makers, n))
        rc = out_of_memory(p);
    for (uint32_t i = 0; i < p->out->n_defs && !rc; i++)
        rc = look_at_outputs(p, &makers, i);
    map_release(&makers);
    return rc;
}

/* ---- Needs that are never met ---- */

static bool needs_def(const struct task_def *def, uint32_t target)
{
    for (uint32_t i = 0; i < def->n_needs; i++)
        if (def->needs[i].target == target && !def->needs[i].n_bindings)
            return true;
    return false;
}

/* It runs only if something fails that `def` needs, too. */
static bool excludes(const struct task_def *def, const struct task_def *need)
{
    bool all = need->when == WHEN_FAILED && need->n_needs > 0;
    for (uint32_t i = 0; i < need->n_needs && all; i++)
        all = needs_def(def, need->needs[i].target);
    return all;
}

static void warn_of_needs(struct parser *p, const struct task_def *def)
{
    for (uint32_t i = 0; i < def->n_needs; i++) {
        const struct task_def *need = &p->out->defs[def->needs[i].target];
        if (def->needs[i].soft)
            continue;
        if (str_equal(need->condition, STR("false")))
            parse_warn(
                p, def->needs[i].at,
                "task `%.*s` never runs: the condition of `%.*s`, which it needs, "
                "is false",
                SHOWN(def->id), SHOWN(need->id));
        else if (excludes(def, need))
            parse_warn(
                p, def->needs[i].at,
                "task `%.*s` never runs: `%.*s` runs only after a failure, and it "
                "needs what failed, too",
                SHOWN(def->id), SHOWN(need->id));
    }
}

/* ---- Groups over files that are still to be made ---- */

/* The name with an X for each ${{ }}. */
static int fill_in(struct parser *p, struct str output, char **out)
{
    struct buf text = BUF_INIT;
    const char *at = output.ptr, *end = output.ptr + output.len, *open;
    while ((open = memmem(at, (size_t)(end - at), "${{", 3))) {
        const char *close = memmem(open, (size_t)(end - open), "}}", 2);
        buf_add(&text, at, (size_t)(open - at));
        buf_byte(&text, 'X');
        at = close ? close + 2 : end;
    }
    buf_add(&text, at, (size_t)(end - at));
    *out = text.failed ? NULL : arena_text(&p->scratch, buf_view(&text));
    buf_release(&text);
    return *out ? 0 : out_of_memory(p);
}

static int is_made(struct parser *p, const struct task_def *maker,
                   const struct foreach_key *key, bool *made)
{
    char *pattern = arena_text(&p->scratch, key->spec), *name;
    int rc = pattern ? 0 : out_of_memory(p);
    *made = false;
    for (uint32_t i = 0; i < maker->n_outputs && !rc && !maker->cwd.len && !*made;
         i++) {
        rc = fill_in(p, maker->outputs[i], &name);
        if (!rc)
            *made = key->source == FOREACH_GLOB
                        ? fnmatch(pattern, name, FNM_PATHNAME | FNM_PERIOD) == 0
                        : strcmp(pattern, name) == 0;
    }
    return rc;
}

static int check_group(struct parser *p, const struct task_def *def,
                       const struct foreach_key *key)
{
    bool made = false;
    int rc = 0;
    if (key->source == FOREACH_LIST || key->source == FOREACH_RANGE)
        return 0;
    for (uint32_t i = 0; i < def->n_needs && !rc; i++) {
        const struct task_def *maker = &p->out->defs[def->needs[i].target];
        rc = is_made(p, maker, key, &made);
        if (!rc && made)
            return diagnose(
                &p->diagnostic, def->needs[i].at,
                "the values of `%.*s` are read before anything runs, but "
                "`%.*s` makes what they come from; write `from: %.*s` beside the file "
                "or pattern, then they are read when it has completed, or let one task "
                "go over all with `inputs: {glob: ...}`",
                SHOWN(key->name), SHOWN(maker->id), SHOWN(maker->id));
    }
    return rc;
}

static int look_for_doubtful(struct parser *p)
{
    int rc = warn_of_same_outputs(p);
    for (uint32_t i = 0; i < p->out->n_defs && !rc; i++) {
        const struct task_def *def = &p->out->defs[i];
        parse_enter_task(p, i);
        if (def->when == WHEN_SUCCESS)
            warn_of_needs(p, def);
        for (uint32_t k = 0; k < def->n_foreach && def->n_needs && !rc; k++)
            rc = parse_go_on(p, check_group(p, def, &def->foreach[k]));
    }
    return rc;
}

/* ---- Lists that tasks make ---- */

/* Keys of the maker in the name of the file that each of its members leaves. */
static int check_list_name(struct parser *p, const struct task_def *def,
                           const struct task_def *maker, const struct list_spec *spec)
{
    const struct text_template *template;
    if (definition_text(p->out, spec->value, false, &template, NULL))
        return out_of_memory(p);
    for (uint32_t i = 0; i < template->n; i++) {
        const struct expression *e = template->pieces[i].expression;
        for (uint32_t k = 0; e && k < expression_names(e); k++) {
            const struct name *name = expression_name(e, k);
            if (name->kind == NAME_KEY &&
                task_def_key(maker, name->first) == UINT32_MAX)
                return diagnose(&p->diagnostic, def->at,
                                "task `%.*s` from `%.*s`: `%.*s` in the name of the "
                                "file is not a foreach key of `%.*s`",
                                SHOWN(def->id), SHOWN(maker->id), SHOWN(name->first),
                                SHOWN(maker->id));
        }
    }
    return 0;
}

static int check_maker(struct parser *p, uint32_t index, const struct list_spec *spec)
{
    const struct task_def *def = &p->out->defs[index];
    struct str name = spec->task;
    uint32_t target = map_get(&p->out->by_id, name);
    if (target == MAP_NONE) {
        const struct node node = {.at = def->at};
        struct need_reading r = {.p = p, .index = index, .def = def, .node = &node};
        return unknown_task(&r, name_in_scope(name));
    }
    const struct task_def *maker = &p->out->defs[target];
    const char *wrong =
        target == index                  ? "it makes its own list"
        : maker->finally || def->finally ? "`finally` cannot have lists that tasks make"
        : def->kind == TASK_EXTERNAL
            ? "an external task cannot have a list that a task makes"
        : maker->kind == TASK_EXTERNAL && spec->form != LIST_VALUE
            ? "an external task passes a list on as a value (`value`)"
        : maker->n_foreach && spec->form != LIST_VALUE && !list_is_of_members(spec)
            ? "members of a group leave a file each: name it by the keys of that group"
        : !maker->n_foreach && list_is_of_members(spec)
            ? "only a group leaves a file for each value of a key"
        : task_def_is_service(maker) ? "a service makes no list, since it does not end"
        : def->when != WHEN_SUCCESS  ? "it has to run after success (`when`)"
                                     : NULL;
    if (wrong)
        return diagnose(&p->diagnostic, def->at, "task `%.*s` from `%.*s`: %s",
                        SHOWN(def->id), SHOWN(name), wrong);
    return list_is_of_members(spec) ? check_list_name(p, def, maker, spec) : 0;
}

/* A member is needed by the value of the same list only. */
static int check_element(struct parser *p, const struct task_def *def,
                         const struct need *need)
{
    const struct task_def *target = &p->out->defs[need->target];
    for (uint32_t k = 0; k < need->n_bindings; k++) {
        const struct foreach_key *key = &target->foreach[k];
        struct str value = need->bindings[k].value;
        bool same = false;
        if (!foreach_is_made(key) || need->open >> k & 1)
            continue;
        for (uint32_t i = 0; i < def->n_foreach && !same; i++) {
            char text[2][256];
            int n = (int)def->foreach[i].name.len;
            snprintf(text[0], sizeof text[0], "${{ %.*s }}", n,
                     def->foreach[i].name.ptr);
            snprintf(text[1], sizeof text[1], "${{%.*s}}", n, def->foreach[i].name.ptr);
            same = str_equal(def->foreach[i].spec, key->spec) &&
                   (str_equal(value, str_of(text[0])) ||
                    str_equal(value, str_of(text[1])));
        }
        if (!same)
            return diagnose(&p->diagnostic, need->at,
                            "a member of `%.*s` can only be needed with the value of a "
                            "key that comes from the same list, as in "
                            "%.*s[%.*s=${{ %.*s }}]: which others there are is not "
                            "known before the run",
                            SHOWN(target->id), SHOWN(target->id), SHOWN(key->name),
                            SHOWN(key->name));
    }
    return 0;
}

static int check_makers(struct parser *p, uint32_t index)
{
    const struct task_def *def = &p->out->defs[index];
    struct list_spec spec;
    int rc = 0;
    for (uint32_t k = 0; k < def->n_foreach && !rc; k++)
        if (list_spec_of(&def->foreach[k], &spec))
            rc = check_maker(p, index, &spec);
    return rc;
}

static int add_makers(struct parser *p, struct task_def *def)
{
    int rc = 0;
    for (uint32_t j = 0; j < def->n_needs && !rc; j++)
        rc = check_element(p, def, &def->needs[j]);
    return rc ? rc : definition_need_makers(p->out, def) ? out_of_memory(p) : 0;
}

/* First all makers are looked for: their ids are written in specs. */
static int add_needs_of_lists(struct parser *p)
{
    struct definition *d = p->out;
    int rc = 0;
    if (!definition_has_lists(d))
        return 0;
    for (uint32_t i = 0; i < d->n_defs && !rc; i++) {
        parse_enter_task(p, i);
        rc = check_makers(p, i);
    }
    for (uint32_t i = 0; i < d->n_defs && !rc; i++) {
        parse_enter_task(p, i);
        rc = add_makers(p, &d->defs[i]);
    }
    return rc;
}

/* ---- Services ---- */

/* A service is needed only for the order: a task does not run again because of it. */
static int check_service_need(struct parser *p, const struct task_def *def,
                              const struct need *need)
{
    const struct task_def *service = &p->out->defs[need->target];
    if (def->kind == TASK_EXTERNAL)
        return diagnose(&p->diagnostic, need->at,
                        "the external task `%.*s` cannot need the service `%.*s`: "
                        "services live only while cairn runs, and it may be done later",
                        SHOWN(def->id), SHOWN(service->id));
    if (need->soft)
        return diagnose(
            &p->diagnostic, need->at,
            "the need of the service `%.*s` cannot be soft: a task runs only "
            "while its services are ready",
            SHOWN(service->id));
    if (def->when != WHEN_SUCCESS)
        return diagnose(&p->diagnostic, need->at,
                        "task `%.*s` has `when`, so it cannot need the service `%.*s`: "
                        "a service ends when the tasks that need it have ended",
                        SHOWN(def->id), SHOWN(service->id));
    return 0;
}

static int check_ports(struct parser *p, const struct task_def *def)
{
    uint32_t at = 0;
    if (task_def_port_clash(p->out, def, &at))
        return out_of_memory(p);
    if (at == def->n_needs)
        return 0;
    const struct task_def *service = &p->out->defs[def->needs[at].target];
    struct buf name = BUF_INIT;
    service_port_name(def, service, 0, &name);
    int rc = name.failed ? out_of_memory(p)
                         : diagnose(&p->diagnostic, def->needs[at].at,
                                    "task `%.*s` would be given several ports as "
                                    "$%.*s: let it need one member of `%.*s`, or give "
                                    "the services other names",
                                    SHOWN(def->id), (int)name.size, name.data,
                                    SHOWN(service->id));
    buf_release(&name);
    return rc;
}

static int check_services(struct parser *p)
{
    struct definition *d = p->out;
    int rc = 0;
    if (!definition_services(d))
        return 0;
    bool *needed = arena_take(&p->scratch, d->n_defs, sizeof *needed);
    if (!needed)
        return out_of_memory(p);
    for (uint32_t i = 0; i < d->n_defs && !rc; i++)
        for (uint32_t j = 0; j < d->defs[i].n_needs && !rc; j++) {
            struct need *need = &d->defs[i].needs[j];
            if (!task_def_is_service(&d->defs[need->target]))
                continue;
            need->order = needed[need->target] = true;
            parse_enter_task(p, i);
            rc = parse_go_on(p, check_service_need(p, &d->defs[i], need));
        }
    for (uint32_t i = 0; i < d->n_defs && !rc; i++) {
        parse_enter_task(p, i);
        rc = parse_go_on(p, check_ports(p, &d->defs[i]));
    }
    for (uint32_t i = 0; i < d->n_defs && !rc; i++) {
        parse_enter_task(p, i);
        if (task_def_is_service(&d->defs[i]) && task_def_made_key(&d->defs[i]))
            rc = parse_go_on(p, diagnose(&p->diagnostic, d->defs[i].at,
                                         "the service `%.*s` cannot have a list that a "
                                         "task makes",
                                         SHOWN(d->defs[i].id)));
        else if (task_def_is_service(&d->defs[i]) && !needed[i])
            parse_warn(p, d->defs[i].at,
                       "no task needs the service `%.*s`, so it never starts",
                       SHOWN(d->defs[i].id));
    }
    return rc;
}

/* ---- All of them ---- */

static int read_all_needs(struct parser *p)
{
    int rc = 0;
    for (uint32_t i = 0; i < p->out->n_defs && !rc; i++)
        if (p->nodes[i].needs || p->files[p->out->defs[i].file]->parent)
            rc = parse_go_on(p, read_needs(p, i));
    if (!rc && parse_is_good(p))
        rc = add_needs_of_lists(p);
    if (!rc && parse_is_good(p))
        rc = check_services(p);
    for (uint32_t i = 0; i < p->out->n_defs && !rc && parse_is_good(p); i++)
        if (p->nodes[i].needs_all) {
            parse_enter_task(p, i);
            rc = parse_go_on(
                p, check_needs_all(p, &p->out->defs[i], p->nodes[i].needs_all));
        }
    return rc;
}

static int check_maps(struct parser *p)
{
    const struct node *map = p->in->tasks;
    if (!map) /* a program has added them */
        return p->in->finally ? expect_map(p, p->in->finally, "`finally`") : 0;
    if (node_is_null(map) || (map->kind == NODE_MAP && map->n == 0))
        return diagnose(&p->diagnostic, map->at,
                        "no tasks; a task is written as `id: {run: ...}`");
    int rc = expect_map(p, map, "`tasks`");
    return !rc && p->in->finally ? expect_map(p, p->in->finally, "`finally`") : rc;
}

int read_tasks(struct parser *p)
{
    int rc = 0;
    for (uint32_t k = 0; k < p->n_files && !rc; k++) {
        parse_enter(p, p->files[k]);
        rc = check_maps(p);
    }
    if (!rc)
        rc = add_ids(p);
    for (uint32_t i = 0; i < p->out->n_defs && !rc; i++) {
        parse_enter_task(p, i);
        rc = parse_go_on(p, read_task(p, i, p->nodes[i].task));
    }
    if (!rc && !(p->options->mistakes && p->options->mistakes->names_unknown))
        rc = read_all_needs(p);
    if (!rc && parse_is_good(p))
        rc = check_pending(p);
    if (!rc && parse_is_good(p))
        rc = drop_unused_columns(p);
    if (!rc && parse_is_good(p))
        warn_of_unreachable(p);
    if (!rc && parse_is_good(p))
        rc = look_for_doubtful(p);
    return rc;
}
