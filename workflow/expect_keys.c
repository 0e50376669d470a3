/* SPDX-License-Identifier: MIT */
/* The keys of a mapping: which there are, and what was meant by others. */
#include "workflow/expect_int.h"

#include <stdio.h>

/* What other tools call it. */
static struct str own_word(struct str word, const struct str names[], size_t n)
{
    static const struct {
        struct str theirs, ours;
    } words[] = {
        {NAME("depends_on"), NAME("needs")},  {NAME("depends"), NAME("needs")},
        {NAME("deps"), NAME("needs")},        {NAME("retry"), NAME("retries")},
        {NAME("retrys"), NAME("retries")},    {NAME("runs_after"), NAME("needs")},
        {NAME("command"), NAME("run")},       {NAME("cmd"), NAME("run")},
        {NAME("script"), NAME("run")},        {NAME("shell_command"), NAME("run")},
        {NAME("steps"), NAME("tasks")},       {NAME("stages"), NAME("tasks")},
        {NAME("environment"), NAME("env")},   {NAME("vars"), NAME("params")},
        {NAME("working_dir"), NAME("cwd")},   {NAME("workdir"), NAME("cwd")},
        {NAME("matrix"), NAME("foreach")},    {NAME("after"), NAME("needs")},
        {NAME("condition"), NAME("if")},      {NAME("always"), NAME("finally")},
        {NAME("compensate"), NAME("undo")},   {NAME("rollback"), NAME("undo")},
        {NAME("artifacts"), NAME("outputs")}, {NAME("verify"), NAME("check")},
        {NAME("dependsOn"), NAME("needs")},   {NAME("cmds"), NAME("run")},
        {NAME("commands"), NAME("run")},      {NAME("dir"), NAME("cwd")},
        {NAME("requires"), NAME("needs")},    {NAME("on"), NAME("on_exit")},
        {NAME("dependencies"), NAME("needs")}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (size_t k = 0; str_equal(word, words[i].theirs) && k < n; k++)
            if (str_equal(names[k], words[i].ours))
                return names[k];
    return (struct str){NULL, 0};
}

#define CONTAINER \
    "tasks run on this machine; a container is started by `run: docker run ...`"
#define SERVICES                                                                    \
    "there are no services: a task starts one with `setsid -f CMD`, and one under " \
    "`finally` stops it"
#define CACHE                                                                          \
    "there is nothing to declare: a task with `inputs` and `outputs` runs again only " \
    "if they change"
#define SHARD "for four parts write `foreach: {part: {range: [1, 4]}}`"
#define LOOP "write `foreach: {item: [a, b]}`; `run` has it as \"$item\""
#define SCHEDULE \
    "cairn starts nothing by itself: call `cairn run FILE` from cron or a timer"
#define RESOURCES                                                                  \
    "nothing is reserved: for at most two tasks at once write `pool: NAME`, with " \
    "`pools: {NAME: 2}` at the top"
#define BEFORE \
    "write these lines first under `run: |`, or make a task of them with `needs`"
#define AFTER "write a task under `finally`, which runs however the others end"
#define ONLY \
    "a condition is `if: params.NAME == 'VALUE'` of a task; cairn knows no branches"

/* What has no key of the same meaning, and what to write instead. */
static const char *other_way(struct str word, bool task)
{
    static const struct {
        struct str word;
        const char *in_task, *at_top; /* NULL: nothing is known */
    } ways[] = {
        {NAME("continue-on-error"),
         "to go on after failures: `on_failure: continue` at the top level; for one "
         "command: `run: CMD || true`",
         "write `on_failure: continue`"},
        {NAME("ignore_errors"), "for one command: `run: CMD || true`", NULL},
        {NAME("allow_failure"),
         "to go on after failures: `on_failure: continue` at the top level; for one "
         "command: `run: CMD || true`",
         "write `on_failure: continue`"},
        {NAME("timeout-minutes"), "write `timeout: 10m`",
         "write `deadline: 10m`, or `timeout: 10m` in a task"},
        {NAME("timeout_minutes"), "write `timeout: 10m`",
         "write `deadline: 10m`, or `timeout: 10m` in a task"},
        {NAME("uses"), "there are no actions of others; write the command under `run`",
         NULL},
        {NAME("with"), "values for the command are `env`", NULL},
        {NAME("steps"),
         "a task is one command: write the lines under `run: |`, or make a task of "
         "each "
         "with `needs`",
         NULL},
        {NAME("runs-on"), "tasks run on this machine; leave it out", NULL},
        {NAME("image"), CONTAINER, CONTAINER},
        {NAME("container"), CONTAINER, CONTAINER},
        {NAME("services"), SERVICES, SERVICES},
        {NAME("service"), SERVICES, SERVICES},
        {NAME("cache"), CACHE, CACHE},
        {NAME("strategy"),
         "write the lists of its `matrix` under `foreach`: `foreach: {os: [a, b]}`; "
         "`fail-fast` is `on_failure` at the top level, `max-parallel` is `pool`",
         "write the lists of its `matrix` under `foreach` of a task"},
        {NAME("shard"), SHARD, NULL},
        {NAME("shards"), SHARD, NULL},
        {NAME("parallel"), SHARD, "write `jobs: 4`"},
        {NAME("loop"), LOOP, NULL},
        {NAME("with_items"), LOOP, NULL},
        {NAME("for"), LOOP, NULL},
        {NAME("schedule"), SCHEDULE, SCHEDULE},
        {NAME("cron"), SCHEDULE, SCHEDULE},
        {NAME("triggers"), SCHEDULE, SCHEDULE},
        {NAME("threads"), RESOURCES, RESOURCES},
        {NAME("cpus"), RESOURCES, RESOURCES},
        {NAME("memory"), RESOURCES, RESOURCES},
        {NAME("mem"), RESOURCES, RESOURCES},
        {NAME("gpus"), RESOURCES, RESOURCES},
        {NAME("resources"), RESOURCES, RESOURCES},
        {NAME("concurrency"), "write `pool: NAME`, with `pools: {NAME: 1}` at the top",
         "write `jobs: 4`"},
        {NAME("before_script"), BEFORE, BEFORE},
        {NAME("after_script"), AFTER, AFTER},
        {NAME("only"), ONLY, ONLY},
        {NAME("except"), ONLY, ONLY},
        {NAME("rules"), ONLY, ONLY},
        {NAME("name"), "a task is named by its key, as in `tasks: {NAME: {run: CMD}}`",
         NULL},
        {NAME("desc"), "write a comment, `# ...`", "write a comment, `# ...`"},
        {NAME("description"), "write a comment, `# ...`", "write a comment, `# ...`"},
        {NAME("sources"), "write `inputs`", NULL},
        {NAME("generates"), "write `outputs`", NULL},
        {NAME("max-parallel"), "write `pool: NAME`, with `pools: {NAME: 2}` at the top",
         "write `jobs: 4`"},
        {NAME("fail-fast"), "write `on_failure: stop` at the top level",
         "write `on_failure: stop`"},
        {NAME("working-directory"), "write `cwd`", NULL},
        {NAME("on"), NULL, "cairn starts nothing by itself; leave it out"},
        {NAME("version"), NULL, "there is only one; leave it out"},
        {NAME("include"), NULL, "a workflow is one file; leave it out"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (str_equal(word, ways[i].word))
            return task ? ways[i].in_task : ways[i].at_top;
    return NULL;
}

static bool looks_like_task(const struct node *value)
{
    for (const struct node *key = value->kind == NODE_MAP ? value->first : NULL; key;
         key = key->next->next)
        if (str_equal(key->text, STR("run")) || str_equal(key->text, STR("exec")) ||
            str_equal(key->text, STR("external")))
            return true;
    return false;
}

static size_t index_of(struct str word, const struct str names[], size_t n)
{
    size_t i = 0;
    while (i < n && !str_equal(word, names[i]))
        i++;
    return i;
}

/* The name that was meant, or n. */
static size_t meant_key(struct str word, const struct str names[], size_t n)
{
    struct str own = own_word(word, names, n);
    return index_of(own.len ? own : str_nearest(word, names, n), names, n);
}

static int unknown_key(const struct parser *p, const struct node *key,
                       struct where where, const struct str names[], size_t n)
{
    char place[128] = "";
    if (where.name.ptr)
        snprintf(place, sizeof place, " in %s `%.*s`", where.text, SHOWN(where.name));
    else
        snprintf(place, sizeof place, " %s", where.text);
    bool task = where.name.ptr && strcmp(where.text, "task") == 0;
    bool top = !where.name.ptr && strcmp(where.text, "at the top level") == 0;
    const char *way = task || top ? other_way(key->text, task) : NULL;
    if (way)
        return diagnose(&p->diagnostic, key->at, "unknown key `%.*s`%s; %s",
                        SHOWN(key->text), place, way);
    struct str own = own_word(key->text, names, n);
    struct hint hint =
        own.len ? hint_nearest(own, &own, 1) : hint_nearest(key->text, names, n);
    if (top && !own.len && looks_like_task(key->next))
        return diagnose(
            &p->diagnostic, key->at,
            "unknown key `%.*s`%s; if it is a task, indent it under `tasks`",
            SHOWN(key->text), place);
    return diagnose(&p->diagnostic, key->at, "unknown key `%.*s`%s%s", SHOWN(key->text),
                    place, hint.text);
}

int expect_keys(const struct parser *p, const struct node *map, struct where where,
                const struct str names[], const struct node *found[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        found[i] = NULL;
    for (const struct node *key = map->first; key; key = key->next->next) {
        size_t i = index_of(key->text, names, n);
        if (i < n) {
            found[i] = key;
            continue;
        }
        int rc = parse_go_on(p, unknown_key(p, key, where, names, n));
        if (rc)
            return rc;
        i = meant_key(key->text, names, n); /* it is read as what was meant */
        if (i < n && !found[i])
            found[i] = key;
    }
    return 0;
}
