/* SPDX-License-Identifier: MIT */
/* The keys of a mapping: which there are, and what was meant by others. People come from
 * other tools, so the two tables have their words for what is here, too. */
#include "workflow/expect_int.h"

#include <stdio.h>

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* The same word however it is put together: depends_on, depends-on, dependsOn. */
static bool same_word(struct str a, struct str b)
{
    size_t i = 0, j = 0;
    for (;; i++, j++) {
        while (i < a.len && (a.ptr[i] == '-' || a.ptr[i] == '_'))
            i++;
        while (j < b.len && (b.ptr[j] == '-' || b.ptr[j] == '_'))
            j++;
        if (i == a.len || j == b.len)
            return i == a.len && j == b.len;
        if (lower(a.ptr[i]) != lower(b.ptr[j]))
            return false;
    }
}

/* What other tools call it. */
static struct str own_word(struct str word, const struct str names[], size_t n)
{
    static const struct {
        struct str theirs, ours;
    } words[] = {{NAME("depends_on"), NAME("needs")},
                 {NAME("depends"), NAME("needs")},
                 {NAME("deps"), NAME("needs")},
                 {NAME("retry"), NAME("retries")},
                 {NAME("retrys"), NAME("retries")},
                 {NAME("retry_policy"), NAME("retries")},
                 {NAME("max_retries"), NAME("retries")},
                 {NAME("rounds"), NAME("max")},
                 {NAME("max_rounds"), NAME("max")},
                 {NAME("interval"), NAME("delay")},
                 {NAME("interval_sec"), NAME("delay")},
                 {NAME("condition"), NAME("until")},
                 {NAME("repeat_policy"), NAME("repeat")},
                 {NAME("runs_after"), NAME("needs")},
                 {NAME("command"), NAME("run")},
                 {NAME("cmd"), NAME("run")},
                 {NAME("script"), NAME("run")},
                 {NAME("shell_command"), NAME("run")},
                 {NAME("steps"), NAME("tasks")},
                 {NAME("timeout_sec"), NAME("timeout")},
                 {NAME("timeout_sec"), NAME("deadline")},
                 {NAME("max_active_steps"), NAME("jobs")},
                 {NAME("publish_dir"), NAME("outputs")},
                 {NAME("stages"), NAME("tasks")},
                 {NAME("environment"), NAME("env")},
                 {NAME("vars"), NAME("params")},
                 {NAME("working_dir"), NAME("cwd")},
                 {NAME("workdir"), NAME("cwd")},
                 {NAME("matrix"), NAME("foreach")},
                 {NAME("enum"), NAME("choices")},
                 {NAME("options"), NAME("choices")},
                 {NAME("allowed"), NAME("choices")},
                 {NAME("values"), NAME("choices")},
                 {NAME("header"), NAME("columns")},
                 {NAME("fieldnames"), NAME("columns")},
                 {NAME("index_col"), NAME("key")},
                 {NAME("filter"), NAME("where")},
                 {NAME("after"), NAME("needs")},
                 {NAME("condition"), NAME("if")},
                 {NAME("always"), NAME("finally")},
                 {NAME("compensate"), NAME("undo")},
                 {NAME("rollback"), NAME("undo")},
                 {NAME("prune"), NAME("stale")},
                 {NAME("on_stale"), NAME("stale")},
                 {NAME("arguments"), NAME("args")},
                 {NAME("argv"), NAME("args")},
                 {NAME("artefacts"), NAME("artifacts")},
                 {NAME("publish"), NAME("artifacts")},
                 {NAME("publishDir"), NAME("artifacts")},
                 {NAME("upload_artifact"), NAME("artifacts")},
                 {NAME("upload_artifacts"), NAME("artifacts")},
                 {NAME("store_artifacts"), NAME("artifacts")},
                 {NAME("archive_artifacts"), NAME("artifacts")},
                 {NAME("archiveArtifacts"), NAME("artifacts")},
                 {NAME("artifact_paths"), NAME("artifacts")},
                 {NAME("paths"), NAME("files")},
                 {NAME("path"), NAME("files")},
                 {NAME("expire_in"), NAME("keep")},
                 {NAME("retention"), NAME("keep")},
                 {NAME("retention_days"), NAME("keep")},
                 {NAME("if_no_files_found"), NAME("none")},
                 {NAME("verify"), NAME("check")},
                 {NAME("cmds"), NAME("run")},
                 {NAME("commands"), NAME("run")},
                 {NAME("dir"), NAME("cwd")},
                 {NAME("requires"), NAME("needs")},
                 {NAME("optional"), NAME("soft")},
                 {NAME("niceness"), NAME("nice")},
                 {NAME("skip_exit_code"), NAME("skip_exit")},
                 {NAME("skip_on_exit"), NAME("skip_exit")},
                 {NAME("skip_exit_codes"), NAME("skip_exit")},
                 {NAME("skip_on_exit_code"), NAME("skip_exit")},
                 {NAME("weak"), NAME("soft")},
                 {NAME("exit_codes"), NAME("on")},
                 {NAME("when"), NAME("on")},
                 {NAME("max_delay"), NAME("cap")},
                 {NAME("max_interval"), NAME("cap")},
                 {NAME("maxDuration"), NAME("cap")},
                 {NAME("limit"), NAME("max")},
                 {NAME("attempts"), NAME("max")},
                 {NAME("dependencies"), NAME("needs")},
                 {NAME("max_receive_count"), NAME("lost_claims")},
                 {NAME("lost_leases"), NAME("lost_claims")},
                 {NAME("dependency_file"), NAME("depfile")},
                 {NAME("job"), NAME("task")},
                 {NAME("includes"), NAME("include")},
                 {NAME("import"), NAME("include")},
                 {NAME("imports"), NAME("include")},
                 {NAME("subworkflows"), NAME("include")},
                 {NAME("taskfile"), NAME("file")},
                 {NAME("path"), NAME("file")},
                 {NAME("namespace"), NAME("as")},
                 {NAME("template"), NAME("extends")},
                 {NAME("extend"), NAME("extends")},
                 {NAME("inherit"), NAME("extends")},
                 {NAME("inherits"), NAME("extends")},
                 {NAME("with"), NAME("params")},
                 {NAME("desc"), NAME("description")},
                 {NAME("title"), NAME("description")},
                 {NAME("summary"), NAME("description")},
                 {NAME("doc"), NAME("description")}};
    for (size_t k = 0; k < n; k++)
        if (same_word(word, names[k]))
            return names[k];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (size_t k = 0; same_word(word, words[i].theirs) && k < n; k++)
            if (str_equal(names[k], words[i].ours))
                return names[k];
    return (struct str){NULL, 0};
}

#define CONTAINER \
    "tasks run on this machine; a container is started by `run: docker run ...`"

#define SERVICES                                                                    \
    "a service is a task with `service: true` and `ready: CMD`, which others name " \
    "under `needs`"

#define READY                                                                   \
    "of a service (`service: true`) write `ready: CMD`, or `ready: {run: CMD, " \
    "within: 30s, every: 200ms}`"

#define CACHE                                                                  \
    "a task with `inputs` and `outputs` runs again only if they change; with " \
    "`reuse: true` that holds in a new run, too"
#define SHARD "for four parts write `foreach: {part: {range: [1, 4]}}`"
#define SHEET "a task for each row of a sheet is `foreach: {csv: FILE, key: COLUMN}`"
#define LISTS                                                                      \
    "a task for each entry of a list that another task makes is `foreach: {item: " \
    "{from: TASK, value: NAME}}`"
#define ROUNDS \
    "a task that runs in rounds has `repeat: {until: EXPR, max: 10, delay: 5s}`"
#define LOOP "write `foreach: {item: [a, b]}`; `run` has it as \"$item\""

#define MAY_FAIL                                                                       \
    "write `may_fail: true`; what is to run after it all the same needs it as {task: " \
    "NAME, soft: true}"

#define RETRIES "write `retries: 3`, or `retries: {max: 3, delay: 5s}`"

#define FALLBACK                                                                     \
    "write `fallback: CMD`, which makes what the task could not; what only handles " \
    "the failure is a task that needs it, with `when: failed`"

#define HANDLERS                                                                     \
    "write a task under `finally`, which runs however the others end; for failures " \
    "with `if: run.status == 'failed'`"

#define PRECONDITION                                                                   \
    "write `if: EXPR`, as in `if: params.day != 'none'`; where a command decides, it " \
    "says by `skip_exit` that there is nothing to do"

#define INCLUDED                                                                   \
    "tasks of another file come by `include: [{file: x.yaml, as: x}]` at the top " \
    "level"

#define SCHEDULE \
    "cairn starts nothing by itself: call `cairn run FILE` from cron or a timer"

#define RESOURCES                                                             \
    "write `pool: {NAME: 1}` for one of two, with `pools: {NAME: 2}` at the " \
    "top, or `slots: 4` for four of `jobs`"

#define QUEUE                                                                         \
    "a limit for all runs of the store together is `pools: {NAME: {slots: 2, scope: " \
    "store}}` at the top, with `pool: NAME` in the task"

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
        {NAME("continue-on-error"), MAY_FAIL, "write `on_failure: continue`"},
        {NAME("continue_on"), MAY_FAIL, "write `on_failure: continue`"},
        {NAME("error_strategy"), "write `retries: 2`, or `may_fail: true`", NULL},
        {NAME("ignore_errors"), MAY_FAIL, NULL},
        {NAME("ignore_error"), MAY_FAIL, NULL},
        {NAME("allow_failure"), MAY_FAIL, "write `on_failure: continue`"},
        {NAME("on_failure"), MAY_FAIL, NULL},
        {NAME("retry"), RETRIES, NULL},
        {NAME("retry_delay"), RETRIES, NULL},
        {NAME("retry_interval"), RETRIES, NULL},
        {NAME("retry_backoff"), RETRIES, NULL},
        {NAME("rescue"), FALLBACK, NULL},
        {NAME("catch"), FALLBACK, NULL},
        {NAME("on_error"), FALLBACK, NULL},
        {NAME("or_else"), FALLBACK, NULL},
        {NAME("finally"),
         "`finally` stands beside `tasks` at the top level: `finally: {NAME: {run: "
         "CMD}}`",
         NULL},
        {NAME("deadline"), "write `timeout: 10m`", NULL},
        {NAME("timeout"), NULL,
         "write `defaults: {timeout: 10m}` for each task, or `deadline: 10m` for the "
         "whole run"},
        {NAME("pools"), "write `pool: NAME`, with `pools: {NAME: 2}` at the top", NULL},
        {NAME("queue"), QUEUE, QUEUE},
        {NAME("queues"), QUEUE, QUEUE},
        {NAME("resource_group"), QUEUE, NULL},
        {NAME("timeout-minutes"), "write `timeout: 10m`",
         "write `deadline: 10m`, or `timeout: 10m` in a task"},
        {NAME("uses"),
         "there are no actions of others; write the command under `run`; " INCLUDED,
         NULL},
        {NAME("handler_on"), HANDLERS, HANDLERS},
        {NAME("mail_on"), HANDLERS, HANDLERS},
        {NAME("precondition"), PRECONDITION, PRECONDITION},
        {NAME("preconditions"), PRECONDITION, PRECONDITION},
        {NAME("steps"),
         "a task is one command: write the lines under `run: |`, or make a task of "
         "each with `needs`",
         NULL},
        {NAME("runs-on"), "tasks run on this machine; leave it out", NULL},
        {NAME("image"), CONTAINER, CONTAINER},
        {NAME("container"), CONTAINER, CONTAINER},
        {NAME("services"), SERVICES, SERVICES},
        {NAME("service"), NULL, SERVICES},
        {NAME("daemon"), SERVICES, SERVICES},
        {NAME("background"), SERVICES, SERVICES},
        {NAME("healthcheck"), READY, NULL},
        {NAME("readiness_probe"), READY, NULL},
        {NAME("ready_when"), READY, NULL},
        {NAME("cache"), CACHE, CACHE},
        {NAME("cached"), CACHE, CACHE},
        {NAME("memoize"), CACHE, CACHE},
        {NAME("restat"), "write `cutoff: true`", NULL},
        {NAME("early_cutoff"), "write `cutoff: true`", NULL},
        {NAME("strategy"),
         "write the lists of its `matrix` under `foreach`: `foreach: {os: [a, b]}`; "
         "`fail-fast` is `on_failure` at the top level, `max-parallel` is `pool`",
         "write the lists of its `matrix` under `foreach` of a task"},
        {NAME("shard"), SHARD, NULL},
        {NAME("shards"), SHARD, NULL},
        {NAME("parallel"), SHARD, "write `jobs: 4`"},
        {NAME("samples"), SHEET, SHEET},
        {NAME("samplesheet"), SHEET, SHEET},
        {NAME("expand"), LISTS, NULL},
        {NAME("scatter"), LISTS, NULL},
        {NAME("withParam"), LISTS, NULL},
        {NAME("checkpoint"), LISTS, NULL},
        {NAME("dynamic"), LISTS, NULL},
        {NAME("splitCsv"), LISTS, NULL},
        {NAME("until"), ROUNDS, NULL},
        {NAME("while"), ROUNDS, NULL},
        {NAME("retry_until"), ROUNDS, NULL},
        {NAME("loop"), LOOP, NULL},
        {NAME("with_items"), LOOP, NULL},
        {NAME("for"), LOOP, NULL},
        {NAME("schedule"), SCHEDULE, SCHEDULE},
        {NAME("cron"), SCHEDULE, SCHEDULE},
        {NAME("triggers"), SCHEDULE, SCHEDULE},
        {NAME("threads"), RESOURCES, RESOURCES},
        {NAME("cpus"), RESOURCES, RESOURCES},
        {NAME("cores"), RESOURCES, "write `jobs: 4`"},
        {NAME("weight"), RESOURCES, NULL},
        {NAME("mem"), "write `memory: 2G`", "write `memory: 16G`"},
        {NAME("mem_mb"), "write `memory: 2G`", "write `memory: 16G`"},
        {NAME("mem_limit"), "write `memory: 2G`", "write `memory: 16G`"},
        {NAME("gpus"), RESOURCES, RESOURCES},
        {NAME("resources"), RESOURCES, RESOURCES},
        {NAME("concurrency"), "write `pool: NAME`, with `pools: {NAME: 1}` at the top",
         NULL},
        {NAME("before_script"), BEFORE, BEFORE},
        {NAME("after_script"), AFTER, AFTER},
        {NAME("only"), ONLY, ONLY},
        {NAME("except"), ONLY, ONLY},
        {NAME("rules"), ONLY, ONLY},
        {NAME("name"), "a task is named by its key, as in `tasks: {NAME: {run: CMD}}`",
         NULL},
        {NAME("sources"), "write `inputs`", NULL},
        {NAME("generates"), "write `outputs`", NULL},
        {NAME("max_forks"), "write `pool: NAME`, with `pools: {NAME: 2}` at the top",
         NULL},
        {NAME("max-parallel"), "write `pool: NAME`, with `pools: {NAME: 2}` at the top",
         "write `jobs: 4`"},
        {NAME("fail-fast"), "write `on_failure: cancel` at the top level",
         "write `on_failure: cancel`"},
        {NAME("working-directory"), "write `cwd`", NULL},
        {NAME("on"), NULL, "cairn starts nothing by itself; leave it out"},
        {NAME("version"), NULL, "there is only one; leave it out"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (same_word(word, ways[i].word))
            return task ? ways[i].in_task : ways[i].at_top;
    return NULL;
}

static bool looks_like_task(const struct node *value)
{
    for (const struct node *key = value->kind == NODE_MAP ? value->first : NULL; key;
         key = key->next->next)
        if (str_equal(key->text, STR("run")) || str_equal(key->text, STR("exec")) ||
            str_equal(key->text, STR("external")) || str_equal(key->text, STR("call")))
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

static bool is_at(struct where where, const char *place)
{
    return !where.name.ptr && strcmp(where.text, place) == 0;
}

static bool is_of_task(struct where where)
{
    return where.name.ptr &&
           (strcmp(where.text, "task") == 0 || strcmp(where.text, "template") == 0);
}

/* What has the key that is not one of this place: KEY_OF_... */
static unsigned other_places(const struct parser *p, struct str key, struct where where)
{
    bool task = is_of_task(where);
    return task || is_at(where, "at the top level") || is_at(where, "in `defaults`")
               ? p->places_of(key)
               : 0;
}

static int unknown_key(const struct parser *p, const struct node *key,
                       struct where where, const struct str names[], size_t n)
{
    char place[128] = "";
    if (where.name.ptr)
        snprintf(place, sizeof place, " in %s `%.*s`", where.text, SHOWN(where.name));
    else
        snprintf(place, sizeof place, " %s", where.text);
    bool task = is_of_task(where);
    bool top = is_at(where, "at the top level");
    const char *way = task || top ? other_way(key->text, task) : NULL;
    if (way)
        return diagnose(&p->diagnostic, key->at, "unknown key `%.*s`%s; %s",
                        SHOWN(key->text), place, way);
    bool is_param = strcmp(where.text, "param") == 0;
    if (is_param && (str_equal(key->text, STR("required")) ||
                     str_equal(key->text, STR("optional"))))
        return diagnose(&p->diagnostic, key->at,
                        "unknown key `%.*s`%s; a param without `default` is required, "
                        "any other one is not",
                        SHOWN(key->text), place);
    if (is_at(where, "in `defaults`") && str_equal(key->text, STR("env")))
        return diagnose(
            &p->diagnostic, key->at,
            "unknown key `env` in `defaults`; the `env` at the top level is "
            "for all tasks");
    unsigned places = other_places(p, key->text, where);
    if (top && places & KEY_OF_DEFAULTS)
        return diagnose(&p->diagnostic, key->at,
                        "unknown key `%.*s`%s; `%.*s` is a key of a task; for all "
                        "tasks: `defaults: {%.*s: ...}`",
                        SHOWN(key->text), place, SHOWN(key->text), SHOWN(key->text));
    if (places)
        return diagnose(&p->diagnostic, key->at,
                        "unknown key `%.*s`%s; `%.*s` is a key of %s", SHOWN(key->text),
                        place, SHOWN(key->text),
                        places & KEY_OF_TASK ? "a task" : "the top level");
    struct str own = own_word(key->text, names, n);
    struct hint hint =
        own.len ? hint_nearest(own, &own, 1) : hint_nearest(key->text, names, n);
    struct str rest = {key->text.ptr + 1, key->text.len ? key->text.len - 1 : 0};
    if (top && rest.len && key->text.ptr[0] == '.')
        return diagnose(&p->diagnostic, key->at,
                        "unknown key `%.*s`%s; what is only there for its anchor has a "
                        "name with x-, as in `x-%.*s: &%.*s`",
                        SHOWN(key->text), place, SHOWN(rest), SHOWN(rest));
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
        if (is_at(where, "at the top level") && key->text.len > 2 &&
            str_begins(key->text, STR("x-")))
            continue; /* a place for anchors */
        int rc = parse_go_on(p, unknown_key(p, key, where, names, n));
        if (rc)
            return rc;
        i = meant_key(key->text, names, n); /* it is read as what was meant */
        if (i < n && !found[i] && !other_places(p, key->text, where))
            found[i] = key;
    }
    return 0;
}
