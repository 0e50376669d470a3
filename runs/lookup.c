/* SPDX-License-Identifier: MIT */
#include "runs/lookup.h"

#include "base/json_scan.h"
#include "storage/object.h"

#include <errno.h>
#include <stdlib.h>

enum { ANSWERS = 8 };

void lookup_release(struct lookup *l)
{
    free(l->results);
    free(l->answers);
    file_digests_release(&l->digests);
    arena_release(&l->arena);
    *l = (struct lookup){0};
}

int lookup_extend(struct lookup *l, uint32_t before)
{
    for (uint32_t i = 0; i < l->n_answers && i < ANSWERS; i++)
        l->answers[i].def = NODE_NONE; /* they point into the graph that it was */
    return array_extend(&l->results, before, l->graph->n_tasks, sizeof(void *))
               ? 0
               : CAIRN_ENOMEM;
}

static int make_room(struct lookup *l, struct cairn_error *error)
{
    if (!l->results)
        l->results = calloc(l->graph->n_tasks, sizeof(const struct result *));
    return l->results ? 0 : error_nomem(error);
}

static int keep_result(struct lookup *l, uint32_t task, struct str encoded,
                       struct cairn_error *error)
{
    struct result *result = arena_take(&l->arena, 1, sizeof *result);
    int rc = result ? make_room(l, error) : error_nomem(error);
    if (!rc && encoded.len)
        rc = result_decode(&l->arena, encoded, result, error);
    if (!rc)
        l->results[task] = result;
    return rc;
}

/* A member of the group has another result by now. */
static void forget_answers(struct lookup *l, uint32_t task)
{
    for (uint32_t i = 0; i < l->n_answers && i < ANSWERS; i++)
        if (l->answers[i].def == l->graph->def_of[task])
            l->answers[i].def = NODE_NONE;
}

int lookup_put(struct lookup *l, uint32_t task, struct str encoded,
               struct cairn_error *error)
{
    forget_answers(l, task);
    return keep_result(l, task, encoded, error);
}

/* Appends the encoded result that the task's checkpoint names. One that is gone is
 * damage. */
static int load_result(const struct lookup *l, uint32_t task, struct buf *bytes,
                       struct cairn_error *error)
{
    struct cairn_error why = {0};
    if (!l->store || !l->states->outputs || digest_is_none(&l->states->outputs[task]))
        return 0;
    int rc = store_get_object(l->store, &l->states->outputs[task], bytes, &why);
    return rc ? error_set(error, rc == CAIRN_ENOTFOUND ? CAIRN_EDAMAGED : rc, "%s",
                          why.text)
              : 0;
}

int lookup_result(struct lookup *l, uint32_t task, const struct result **out,
                  struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    int rc = make_room(l, error);
    if (rc)
        return rc;
    if (!l->results[task]) {
        rc = load_result(l, task, &bytes, error)
                 ?: keep_result(l, task, buf_view(&bytes), error);
        buf_release(&bytes);
    }
    if (!rc)
        *out = l->results[task];
    return rc;
}

const struct result *lookup_known(const struct lookup *l, uint32_t task)
{
    return l->results ? l->results[task] : NULL;
}

int lookup_keep(struct lookup *l, uint32_t task, const struct result *result,
                struct cairn_error *error)
{
    int rc = make_room(l, error);
    forget_answers(l, task);
    if (!rc)
        l->results[task] = result;
    return rc;
}

void lookup_forget(struct lookup *l, uint32_t task)
{
    forget_answers(l, task);
    if (l->results)
        l->results[task] = NULL;
}

/* ---- What other tasks say ---- */

/* How a group stands: as its barrier would. Members that were excluded are left out,
 * if others are left. */
static enum cairn_outcome status_of(const struct lookup *l, struct node_range range)
{
    static const uint8_t weight[] = {
        [CAIRN_COMPLETED] = 0, [CAIRN_EXCLUDED] = 1, [CAIRN_SKIPPED] = 2,
        [CAIRN_UNDONE] = 3,    [CAIRN_PENDING] = 4,  [CAIRN_CANCELLED] = 5,
        [CAIRN_UNKNOWN] = 6,   [CAIRN_FAILED] = 7};
    uint8_t worst = CAIRN_COMPLETED;
    uint32_t completed = 0;
    for (uint32_t i = 0; i < range.n; i++) {
        uint8_t outcome = l->states->outcome[node_at(range, i)];
        completed += outcome == CAIRN_COMPLETED;
        if (outcome < sizeof weight && weight[outcome] > weight[worst])
            worst = outcome;
    }
    bool left = completed && !l->graph->definition->all_need_all;
    return worst == CAIRN_EXCLUDED && left ? CAIRN_COMPLETED : worst;
}

/* To an expression it does not matter why a task was skipped. */
static struct str status_name(enum cairn_outcome outcome)
{
    return str_of(
        cairn_outcome_name(outcome == CAIRN_EXCLUDED ? CAIRN_SKIPPED : outcome));
}

/* What the task has set instead of what is missing: messages have it. */
static struct str name_values(struct lookup *l, uint32_t task,
                              const struct result *result)
{
    enum { NAMED = 8 };
    struct buf text = BUF_INIT;
    uint32_t lists = result_lists(result), n = result->n_values - lists;
    const struct key_value *values = lists ? result->values + lists : result->values;
    buf_str(&text, str_of(l->graph->id[task]));
    buf_text(&text, n ? " set " : " set no value in $CAIRN_OUTPUT");
    for (uint32_t i = 0; i < n && i < NAMED; i++)
        buf_format(&text, "%s%.*s", i ? ", " : "", (int)values[i].key.len,
                   values[i].key.ptr);
    if (n > NAMED)
        buf_format(&text, " and %u more", n - NAMED);
    struct str copy = text.failed ? STR("") : arena_str(&l->arena, buf_view(&text));
    buf_release(&text);
    return copy.ptr ? copy : STR("");
}

static int find_output(struct lookup *l, uint32_t task, struct str key,
                       struct value *out, struct cairn_error *error)
{
    const struct result *result;
    *out = (struct value){.type = VALUE_MISSING, .text = STR("")};
    if (l->states->outcome[task] != CAIRN_COMPLETED) {
        out->text = STR("that task has not completed");
        return 0;
    }
    int rc = lookup_result(l, task, &result, error);
    for (uint32_t i = 0; !rc && i < result->n_values; i++)
        if (str_equal(result->values[i].key, key))
            *out = (struct value){.type = VALUE_TEXT, .text = result->values[i].value};
    if (!rc && out->type == VALUE_MISSING)
        out->text = name_values(l, task, result);
    return rc;
}

/* A JSON list with the values of the members that completed, in their order; null for
 * one that did not set it. If none did, the value is missing: the key may be a mistake.
 */
static int find_output_list(struct lookup *l, struct node_range range, struct str key,
                            struct value *out, struct cairn_error *error)
{
    struct buf text = BUF_INIT;
    struct str why = STR("no task of that name has completed");
    uint32_t n = 0, set = 0;
    int rc = 0;
    buf_byte(&text, '[');
    for (uint32_t i = 0; i < range.n && !rc; i++) {
        uint32_t task = node_at(range, i);
        struct value value;
        if (l->states->outcome[task] != CAIRN_COMPLETED)
            continue;
        rc = find_output(l, task, key, &value, error);
        buf_text(&text, n++ ? ", " : "");
        if (!rc && value.type == VALUE_TEXT) {
            set++;
            buf_byte(&text, '"');
            json_escape(value.text, &text);
            buf_byte(&text, '"');
        } else if (!rc) {
            buf_text(&text, "null");
            why = value.text;
        }
    }
    buf_byte(&text, ']');
    if (!rc)
        rc = buf_check(&text, error);
    *out = (struct value){.type = VALUE_MISSING, .text = why};
    if (!rc && (set || !range.n))
        *out = (struct value){.type = VALUE_TEXT,
                              .text = arena_str(&l->arena, buf_view(&text))};
    buf_release(&text);
    return rc ? rc : out->text.ptr ? 0 : error_nomem(error);
}

/* Where the outputs of `task` are seen from: NULL directory, as they are declared, from
 * the same place. */
static int directory_for(const struct asker *a, const struct scope *scope,
                         struct buf *directory, bool *same, struct cairn_error *error)
{
    struct str own = graph_def(a->lookup->graph, a->task)->cwd, cwd = scope->def->cwd;
    bool fixed = text_is_fixed(scope->definition, cwd);
    *same = str_equal(own, cwd) && !template_has(cwd);
    if (*same)
        return 0;
    if (!fixed)
        return error_set(
            error, CAIRN_EWORKFLOW,
            "the files of `%.*s` cannot be named: its `cwd` has a value in "
            "it that is only known while it runs",
            (int)scope->def->id.len, scope->def->id.ptr);
    return task_directory(scope, directory, error);
}

/* Appends a line for each output of a member that completed. */
static int add_files(const struct asker *a, uint32_t task, struct buf *out,
                     struct cairn_error *error)
{
    struct lookup *l = a->lookup;
    struct asker maker = {.lookup = l, .task = task};
    struct scope scope = lookup_scope(&maker);
    struct buf directory = BUF_INIT;
    const struct result *result;
    bool same;
    int rc = directory_for(a, &scope, &directory, &same, error)
                 ?: lookup_result(l, task, &result, error);
    for (uint32_t i = 0; !rc && i < result->n_outputs; i++) {
        struct str name = result->outputs[i].name;
        if (memchr(name.ptr, '\n', name.len))
            rc = error_set(error, CAIRN_EWORKFLOW,
                           "the name of an output of %s has a line break in it, so its "
                           "files cannot be listed",
                           l->graph->id[task]);
        if (out->size)
            buf_byte(out, '\n');
        if (!same && name.ptr[0] != '/') {
            buf_str(out, buf_view(&directory));
            buf_byte(out, '/');
        }
        buf_str(out, name);
    }
    buf_release(&directory);
    return rc;
}

static int find_files(const struct asker *a, struct node_range range, struct value *out,
                      struct cairn_error *error)
{
    struct lookup *l = a->lookup;
    struct buf text = BUF_INIT;
    uint32_t completed = 0;
    int rc = 0;
    for (uint32_t i = 0; i < range.n && !rc; i++)
        if (l->states->outcome[node_at(range, i)] == CAIRN_COMPLETED) {
            rc = add_files(a, node_at(range, i), &text, error);
            completed++;
        }
    if (!rc && range.n && !completed) {
        *out = (struct value){.type = VALUE_MISSING,
                              .text = STR("no task of that name has completed")};
        return 0;
    }
    if (!rc)
        rc = buf_check(&text, error);
    *out = (struct value){.type = VALUE_TEXT,
                          .text = rc ? STR("") : arena_str(&l->arena, buf_view(&text))};
    buf_release(&text);
    return rc ? rc : out->text.ptr ? 0 : error_nomem(error);
}

/* What the attempt itself has passed on. */
static void find_own_output(const struct asker *a, struct str key, struct value *out)
{
    const struct result *own = a->own;
    *out = (struct value){.type = VALUE_MISSING, .text = STR("")};
    for (uint32_t i = 0; own && i < own->n_values; i++)
        if (str_equal(own->values[i].key, key))
            *out = (struct value){.type = VALUE_TEXT, .text = own->values[i].value};
    if (own && out->type == VALUE_MISSING)
        out->text = name_values(a->lookup, a->task, own);
}

static int ask_group(const struct asker *a, const struct name *name,
                     struct node_range range, struct value *out,
                     struct cairn_error *error)
{
    return name->kind == NAME_TASK_FILES
               ? find_files(a, range, out, error)
               : find_output_list(a->lookup, range, name->second, out, error);
}

static bool is_answer_to(const struct lookup *l, const struct group_answer *answer,
                         const struct group_answer *wanted)
{
    const struct node_range *of = &wanted->of;
    bool is = answer->def == wanted->def && answer->asker == wanted->asker &&
              answer->of.at == of->at && answer->of.first == of->first &&
              answer->of.n == of->n && str_equal(answer->key, wanted->key);
    for (uint32_t i = 0; is && of->at && i < of->n; i++)
        is = answer->outcomes[i] == l->states->outcome[of->at[i]];
    return is && (of->at || !of->n ||
                  memcmp(answer->outcomes, l->states->outcome + of->first, of->n) == 0);
}

/* A member of a large group that asks for another one's values costs a look at the
 * outcomes, and not all of its results again. */
static int ask_group_once(const struct asker *a, const struct name *name,
                          struct node_range range, struct value *out,
                          struct cairn_error *error)
{
    struct lookup *l = a->lookup;
    bool files = name->kind == NAME_TASK_FILES;
    struct group_answer answer = {.def = l->graph->def_of[node_at(range, 0)],
                                  .asker =
                                      files ? l->graph->def_of[a->task] : NODE_NONE,
                                  .key = files ? STR("") : name->second,
                                  .of = range};
    if (!l->answers)
        l->answers = calloc(ANSWERS, sizeof *l->answers);
    for (uint32_t i = 0; l->answers && i < l->n_answers && i < ANSWERS; i++)
        if (is_answer_to(l, &l->answers[i], &answer)) {
            *out = l->answers[i].value;
            return 0;
        }
    int rc = ask_group(a, name, range, out, error);
    if (rc)
        return rc;
    answer.value = *out;
    answer.key = arena_str(&l->arena, answer.key);
    answer.outcomes = arena_take(&l->arena, range.n, 1);
    for (uint32_t i = 0; answer.outcomes && i < range.n; i++)
        answer.outcomes[i] = l->states->outcome[node_at(range, i)];
    if (!l->answers || !answer.outcomes || l->arena.failed)
        return error_nomem(error);
    l->answers[l->n_answers++ % ANSWERS] = answer;
    return 0;
}

static int ask_task(const struct asker *a, const struct name *name, struct value *out,
                    struct cairn_error *error)
{
    struct lookup *l = a->lookup;
    struct str scope = name_scope(graph_def(l->graph, a->task)->id);
    uint32_t def = definition_task(l->graph->definition, scope, name->first);
    if (def == MAP_NONE)
        return error_set(error, CAIRN_EWORKFLOW, "there is no task `%.*s`",
                         (int)name->first.len, name->first.ptr);
    struct node_range range = graph_referred(l->graph, a->task, def);
    if (name->kind == NAME_TASK_OUTPUT && range.one)
        return find_output(l, node_at(range, 0), name->second, out, error);
    if (name->kind == NAME_TASK_OUTPUT || name->kind == NAME_TASK_FILES)
        return range.n > 1 ? ask_group_once(a, name, range, out, error)
                           : ask_group(a, name, range, out, error);
    *out = (struct value){.type = VALUE_TEXT, .text = status_name(status_of(l, range))};
    return 0;
}

/* Of a service that the task needs, or of itself. What is the same whatever the port is,
 * as the key of its reuse, does not know it. */
static int ask_port(const struct asker *a, const struct name *name, struct value *out,
                    struct cairn_error *error)
{
    const struct graph *g = a->lookup->graph;
    struct str scope = name_scope(graph_def(g, a->task)->id);
    uint32_t def = definition_task(g->definition, scope, name->first), node = NODE_NONE;
    uint32_t i = g->need_start[a->task];
    if (def != MAP_NONE && g->def_of[a->task] == def)
        node = a->task;
    for (; node == NODE_NONE && i < g->need_start[a->task + 1]; i++)
        if (!graph_is_barrier(g, g->needs[i]) && g->def_of[g->needs[i]] == def)
            node = g->needs[i];
    const struct task_def *service = node == NODE_NONE ? NULL : graph_def(g, node);
    uint32_t at = service ? service_port(service, name->second) : 0;
    if (!service || at == task_def_ports(service))
        return error_set(
            error, CAIRN_EWORKFLOW,
            "tasks.%.*s.port%s%.*s: it needs no service that has this port",
            (int)name->first.len, name->first.ptr, name->second.len ? "s." : "",
            (int)name->second.len, name->second.ptr);
    uint16_t port = a->ports ? a->ports[node * a->ports_each + at] : 0;
    *out = port ? (struct value){.type = VALUE_NUMBER, .number = port}
                : (struct value){.type = VALUE_TEXT, .text = STR("PORT")};
    return 0;
}

int lookup_name(void *context, const struct name *name, struct value *out,
                struct cairn_error *error)
{
    const struct asker *a = context;
    switch (name->kind) {
    case NAME_TASK_OUTPUT:
    case NAME_TASK_STATUS:
    case NAME_TASK_FILES:
        return ask_task(a, name, out, error);
    case NAME_TASK_PORT:
        return ask_port(a, name, out, error);
    case NAME_OWN_OUTPUT:
        find_own_output(a, name->first, out);
        return 0;
    case NAME_RUN_ID:
        *out = (struct value){.type = VALUE_NUMBER, .number = (double)a->lookup->run};
        return 0;
    case NAME_RUN_ATTEMPT:
        *out =
            (struct value){.type = VALUE_NUMBER, .number = a->attempt ? a->attempt : 1};
        return 0;
    case NAME_RUN_STATUS:
        *out = (struct value){.type = VALUE_MISSING, .text = STR("")};
        if (a->lookup->run_status)
            *out = (struct value){.type = VALUE_TEXT,
                                  .text = str_of(a->lookup->run_status)};
        return 0;
    default:
        return error_set(error, CAIRN_EWORKFLOW, "a name cannot be looked up here");
    }
}

int lookup_removes(const struct lookup *lookup, struct str directory, struct str name)
{
    struct buf path = BUF_INIT;
    if (!lookup->removed)
        return 0;
    buf_str(&path, directory);
    buf_path(&path, name);
    char *real = path.failed ? NULL : realpath(path.data, NULL);
    bool nomem = path.failed || (!real && errno == ENOMEM);
    bool is = real && map_get(lookup->removed, str_of(real)) != MAP_NONE;
    free(real);
    buf_release(&path);
    return nomem ? CAIRN_ENOMEM : is;
}

struct scope lookup_scope(const struct asker *asker)
{
    const struct graph *g = asker->lookup->graph;
    return (struct scope){.definition = g->definition,
                          .def = graph_def(g, asker->task),
                          .member = graph_member(g, asker->task),
                          .lookup = lookup_name,
                          .context = (void *)(uintptr_t)asker};
}
