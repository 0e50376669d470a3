/* SPDX-License-Identifier: MIT */
#include "tests/support/decide.h"

struct definition definition, old_definition;
struct graph graph, old;
struct states states;
uint32_t *old_task;
uint8_t *marks, *evidence;
struct decisions decisions;
struct cairn_error failure;
condition_fn *condition;

void begin_nothing(void)
{
    ck_assert_int_eq(states_init(&states, old.n_tasks, NULL), 0);
    old_task = malloc(graph.n_tasks * sizeof *old_task);
    marks = calloc(old.n_tasks, 1);
    evidence = calloc(graph.n_tasks, 1);
    ck_assert(old_task && marks && evidence);
}

void begin(const char *before, const char *now)
{
    help_build(&old, &old_definition, before);
    help_build(&graph, &definition, now ? now : before);
    definition.on_failure = old_definition.on_failure = ON_FAILURE_CONTINUE;
    begin_nothing();
    memset(states.outcome, CAIRN_COMPLETED, states.n);
}

void end(void)
{
    decisions_release(&decisions);
    states_release(&states);
    free(old_task);
    free(marks);
    free(evidence);
    help_drop(&graph, &definition);
    help_drop(&old, &old_definition);
}

void judge(enum cairn_on_change on_change)
{
    map_tasks(&graph, &old, old_task);
    struct decide_input input = {.graph = &graph,
                                 .old = &old,
                                 .old_task = old_task,
                                 .states = &states,
                                 .marks = marks,
                                 .evidence = evidence,
                                 .on_change = on_change,
                                 .condition = condition};
    decisions_release(&decisions);
    ck_assert_int_eq(decide(&input, &decisions, &failure), 0);
}

uint32_t now(const char *id)
{
    uint32_t task = graph_find(&graph, str_of(id));
    ck_assert_msg(task != NODE_NONE, "no %s", id);
    return task;
}

void set(const char *id, enum cairn_outcome outcome)
{
    states.outcome[graph_find(&old, str_of(id))] = (uint8_t)outcome;
}

void mark(const char *id, int what)
{
    marks[graph_find(&old, str_of(id))] |= (uint8_t)what;
}

const char *fate_name(uint16_t fate)
{
    return fate & FATE_WILL        ? "will"
           : fate & FATE_MAY       ? "may"
           : fate & FATE_COMPLETED ? "completed"
           : fate & FATE_FAILED    ? "failed"
           : fate & FATE_BAD       ? "bad"
           : fate & FATE_OPEN      ? "open"
                                   : "nothing";
}

uint16_t plain_fate(uint16_t fate)
{
    fate &= (uint16_t) ~(FATE_RISK | FATE_EXCLUDED);
    return fate == FATE_OPEN ? fate : fate & (uint16_t)~FATE_OPEN;
}

void expect(const char *id, enum cairn_reason reason, uint16_t fate)
{
    uint32_t task = now(id);
    uint16_t found = plain_fate(decisions.fate[task]);
    ck_assert_msg(decisions.reason[task] == reason && found == fate,
                  "%s: %s (%s), not %s (%s)", id, fate_name(found),
                  cairn_reason_name(decisions.reason[task]), fate_name(fate),
                  cairn_reason_name(reason));
}

void expect_cause(const char *id, const char *cause)
{
    uint32_t found = decisions.cause[now(id)];
    const char *name = found == NODE_NONE ? "-" : graph.id[found];
    ck_assert_msg(strcmp(name, cause) == 0, "%s because of %s, not %s", id, name,
                  cause);
}

void expect_counts(uint32_t will, uint32_t may)
{
    ck_assert_uint_eq(decisions.n, graph.n_tasks);
    ck_assert_uint_eq(decisions.will, will);
    ck_assert_uint_eq(decisions.may, may);
}

void expect_edits(uint32_t changed, uint32_t added, uint32_t removed)
{
    ck_assert_uint_eq(decisions.changed, changed);
    ck_assert_uint_eq(decisions.added, added);
    ck_assert_uint_eq(decisions.removed, removed);
}

void give(const char *what)
{
    char *copy = strdup(what), *rest = copy, *word;
    while ((word = strsep(&rest, " ")) != NULL && *word) {
        char *value = strchr(word, '=');
        *value++ = 0;
        for (int which = 0; which < 2; which++) {
            struct definition *d = which ? &definition : &old_definition;
            uint32_t index = map_get(&d->by_id, str_of(word));
            if (index == MAP_NONE)
                continue;
            struct task_def *def = &d->defs[index];
            if (strcmp(value, "failed") == 0)
                def->when = WHEN_FAILED;
            else if (strcmp(value, "always") == 0)
                def->when = WHEN_ALWAYS;
            else if (strcmp(value, "finally") == 0)
                def->finally = true;
            else if (strcmp(value, "all") == 0)
                def->needs_all = true;
            else if (strcmp(value, "if") == 0)
                def->condition = STR("x");
            else if (strcmp(value, "once") == 0)
                def->once = true;
            else if (strcmp(value, "external") == 0)
                def->kind = TASK_EXTERNAL;
            else
                ck_abort_msg("%s?", value);
        }
    }
    free(copy);
}
