/* SPDX-License-Identifier: MIT */
/* Warnings, notes and trouble with memory of the parser. */
#include "workflow/expect_int.h"

#include "workflow/scalar.h"

#include "base/decimal.h"
#include "base/limits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Copies the line into the definition's arena and its view behind `list`. */
static void add_line(struct parser *p, struct buf *list, const struct buf *line)
{
    struct str copy = arena_str(&p->out->arena, buf_view(line));
    list->failed |= line->failed;
    buf_add(list, &copy, sizeof copy);
}

int parse_go_on(const struct parser *p, int rc)
{
    struct mistakes *mistakes = p->options->mistakes;
    bool of_file = rc == CAIRN_EWORKFLOW || rc == CAIRN_EUSAGE || rc == CAIRN_ELIMIT;
    if (!mistakes || !of_file || mistakes->n == MISTAKES)
        return rc;
    mistakes->list[mistakes->n++] =
        (struct mistake){p->in->index, p->place, *p->diagnostic.error};
    return mistakes->n < MISTAKES ? 0 : rc;
}

bool parse_is_good(const struct parser *p)
{
    return !p->options->mistakes || p->options->mistakes->n == 0;
}

void parse_warn(struct parser *p, struct position at, const char *format, ...)
{
    char message[256];
    struct buf line = BUF_INIT;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    const struct source *source = source_of_line(&p->source, at.line);
    buf_format(&line, "%s:%u:%u: %s", source->name, at.line - source->before, at.column,
               message);
    add_line(p, &p->warnings, &line);
    buf_release(&line);
}

void parse_note(struct parser *p, const struct buf *line)
{
    add_line(p, &p->notes, line);
}

static struct str *copy_lines(struct parser *p, const struct buf *lines, uint32_t *n)
{
    *n = (uint32_t)(lines->size / sizeof(struct str));
    struct str *copy = arena_take(&p->out->arena, *n, sizeof *copy);
    p->out->arena.failed |= lines->failed;
    if (copy && *n)
        memcpy(copy, lines->data, lines->size);
    return copy;
}

int keep_messages(struct parser *p)
{
    struct definition *out = p->out;
    out->warnings = copy_lines(p, &p->warnings, &out->n_warnings);
    out->notes = copy_lines(p, &p->notes, &out->n_notes);
    return out->arena.failed ? out_of_memory(p) : 0;
}

/* Nodes of the right kind and values of the right type, with the messages for all
 * others. */

bool node_is_null(const struct node *node)
{
    const char *reads_as;
    return node->kind == NODE_TEXT && node->plain &&
           scalar_type(node->text, &reads_as) == SCALAR_NULL;
}

static const char *kind_name(const struct node *node)
{
    static const char *const names[] = {"text", "a list", "a mapping"};
    const char *reads_as = NULL;
    if (node->kind == NODE_TEXT && node->plain)
        scalar_type(node->text, &reads_as);
    return reads_as ? reads_as : names[node->kind];
}

static int expect_kind(const struct parser *p, const struct node *node,
                       const char *what, enum node_kind kind, const char *form)
{
    if (node->kind == kind)
        return 0;
    if (node_is_null(node))
        return diagnose(&p->diagnostic, node->at, "%s has no value; it must be %s",
                        what, form);
    return diagnose(&p->diagnostic, node->at, "%s must be %s, not %s", what, form,
                    kind_name(node));
}

int expect_map(const struct parser *p, const struct node *node, const char *what)
{
    return expect_kind(p, node, what, NODE_MAP, "a mapping (key: value)");
}

int expect_list(const struct parser *p, const struct node *node, const char *what)
{
    return expect_kind(p, node, what, NODE_LIST, "a list [a, b]");
}

/* Text that has no other reading. */
static int check_traps(const struct parser *p, const struct node *node,
                       const char *what)
{
    const char *reads_as;
    if (!node->plain)
        return 0;
    switch (scalar_type(node->text, &reads_as)) {
    case SCALAR_TEXT:
    case SCALAR_INTEGER:
    case SCALAR_DECIMAL:
        return 0;
    case SCALAR_NULL:
        if (node->text.len == 0)
            return diagnose(&p->diagnostic, node->at,
                            "%s has no value; an empty text is written \"\"", what);
        break;
    case SCALAR_BOOL:
    case SCALAR_TRAP:
        break;
    }
    return diagnose(&p->diagnostic, node->at,
                    "%s: `%.*s` without quotes is %s in YAML; for the text write "
                    "\"%.*s\"",
                    what, SHOWN(node->text), reads_as, SHOWN(node->text));
}

int expect_text(const struct parser *p, const struct node *node, const char *what,
                struct str *out)
{
    int rc = expect_kind(p, node, what, NODE_TEXT, "text");
    if (!rc)
        rc = check_traps(p, node, what);
    if (rc)
        return rc;
    if (memchr(node->text.ptr, 0, node->text.len))
        return diagnose(&p->diagnostic, node->at, "%s has a NUL byte in it", what);
    struct str copy = arena_str(&p->out->arena, node->text);
    if (!copy.ptr)
        return out_of_memory(p);
    *out = copy;
    return 0;
}

int expect_filled(const struct parser *p, const struct node *node, const char *what,
                  struct str *out)
{
    struct str text;
    int rc = expect_text(p, node, what, &text);
    if (rc)
        return rc;
    if (text.len == 0)
        return diagnose(&p->diagnostic, node->at, "%s is empty", what);
    *out = text;
    return 0;
}

int expect_key(const struct parser *p, const struct node *node, const char *what,
               struct str *out)
{
    struct str text;
    int rc = expect_filled(p, node, what, &text);
    if (rc)
        return rc;
    if (text.len > LIMIT_NAME_BYTES)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, node->at,
                           "%s is longer than %d bytes", what, LIMIT_NAME_BYTES);
    *out = text;
    return 0;
}

struct position place_of_reference(const struct parser *p, const struct node *node,
                                   struct str text)
{
    const char *at = memmem(text.ptr, text.len, "${{", 3);
    size_t offset = at ? (size_t)(at - text.ptr) : 0;
    return source_inside(&p->source, node->at, text, offset, at ? 3 : 0);
}

int expect_fixed(const struct parser *p, const struct node *node, const char *what,
                 struct str *out)
{
    struct str text;
    int rc = expect_text(p, node, what, &text);
    if (rc)
        return rc;
    if (template_has(text))
        return diagnose(&p->diagnostic, place_of_reference(p, node, text),
                        "${{ }} cannot stand in %s; it is evaluated in `exec`, `env`, "
                        "`if`, `cwd`, `inputs`, `outputs`, `external`, values of "
                        "`foreach` and the brackets of `needs`",
                        what);
    *out = text;
    return 0;
}

int expect_integer(const struct parser *p, const struct node *node, const char *what,
                   struct bounds bounds, int64_t *out)
{
    int64_t value;
    int rc = expect_kind(p, node, what, NODE_TEXT, "a whole number");
    if (rc)
        return rc;
    if (node_is_null(node))
        return diagnose(&p->diagnostic, node->at,
                        "%s has no value; it must be a whole number", what);
    if (!node->plain)
        return diagnose(&p->diagnostic, node->at,
                        "%s must be a whole number, not text; write it without quotes",
                        what);
    const char *reads_as;
    if (scalar_type(node->text, &reads_as) != SCALAR_INTEGER)
        return diagnose(&p->diagnostic, node->at,
                        "%s must be a whole number such as 8, without leading zeros, "
                        "not `%.*s`",
                        what, SHOWN(node->text));
    if (!scalar_to_i64(node->text, &value) || value < bounds.least ||
        value > bounds.most)
        return diagnose(&p->diagnostic, node->at,
                        "%s must lie between %" PRId64 " and %" PRId64, what,
                        bounds.least, bounds.most);
    *out = value;
    return 0;
}

int expect_bool(const struct parser *p, const struct node *node, const char *what,
                bool *out)
{
    bool yes = node->kind == NODE_TEXT && str_equal(node->text, STR("true"));
    bool no = node->kind == NODE_TEXT && str_equal(node->text, STR("false"));
    if (node->kind != NODE_TEXT || !node->plain || (!yes && !no))
        return diagnose(&p->diagnostic, node->at,
                        "%s must be true or false (without quotes)", what);
    *out = yes;
    return 0;
}

void join_words(char *out, size_t size, const struct str words[], size_t n)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < n; i++) {
        const char *between = i == 0 ? "" : i + 1 == n ? " or " : ", ";
        size_t left = n - i, room = size - used;
        bool fits = strlen(between) + (size_t)shown_length(words[i]) + 20 < room;
        used +=
            (size_t)(fits ? snprintf(out + used, room, "%s%.*s", between,
                                     SHOWN(words[i]))
                          : snprintf(out + used, room, " or one of %zu more", left));
        if (!fits)
            return;
    }
}

int expect_choice(const struct parser *p, const struct node *node, const char *what,
                  const struct str words[], size_t n, uint8_t *out)
{
    char all[128] = "";
    struct str word;
    int rc = expect_text(p, node, what, &word);
    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++)
        if (str_equal(word, words[i])) {
            *out = (uint8_t)i;
            return 0;
        }
    join_words(all, sizeof all, words, n);
    struct hint hint = hint_nearest(word, words, n);
    return diagnose(&p->diagnostic, node->at, "%s must be %s, not `%.*s`%s", what, all,
                    SHOWN(word), hint.text);
}

int expect_permille(const struct parser *p, const struct node *node, const char *what,
                    struct bounds bounds, uint32_t *out)
{
    int64_t permille = 0;
    bool number = node->kind == NODE_TEXT && node->plain &&
                  scalar_to_permille(node->text, &permille);
    if (!number || permille < bounds.least * 1000 || permille > bounds.most * 1000)
        return diagnose(&p->diagnostic, node->at,
                        "%s must be a number between %" PRId64 " and %" PRId64
                        " with at most three decimals, such as %s",
                        what, bounds.least, bounds.most,
                        bounds.most > 1 ? "2 or 1.5" : "0.7");
    *out = (uint32_t)permille;
    return 0;
}

int expect_duration(const struct parser *p, const struct node *node, const char *what,
                    int64_t least, int64_t *out)
{
    int64_t number, ms;
    int rc = expect_kind(p, node, what, NODE_TEXT, "a duration such as 10s");
    if (rc)
        return rc;
    if (node_is_null(node))
        return diagnose(&p->diagnostic, node->at,
                        "%s has no value; it must be a duration such as 10s", what);
    if (scalar_to_i64(node->text, &number))
        return diagnose(&p->diagnostic, node->at,
                        "%s is a duration and needs a unit; write %.*ss for seconds",
                        what, SHOWN(node->text));
    if (!str_to_duration_ms(node->text, &ms))
        return diagnose(&p->diagnostic, node->at,
                        "%s must be a duration such as 500ms, 0.5s, 10s, 5m, 2h, 1d or "
                        "1m30s, at most 36500d, not `%.*s`",
                        what, SHOWN(node->text));
    if (ms < least)
        return diagnose(&p->diagnostic, node->at, "%s must be at least %" PRId64 "ms",
                        what, least);
    *out = ms;
    return 0;
}

int too_long(const struct parser *p, struct position at, const char *what)
{
    return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, at,
                       "%s is longer than %d bytes, the most the kernel passes to a "
                       "process in one string; put it into a file",
                       what, LIMIT_ENV_STRING);
}

/* The keys of a mapping: which there are, and what was meant by others. */

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
                 {NAME("rounds"), NAME("max")},
                 {NAME("limit"), NAME("max")},
                 {NAME("max_rounds"), NAME("max")},
                 {NAME("interval"), NAME("delay")},
                 {NAME("interval_sec"), NAME("delay")},
                 {NAME("condition"), NAME("until")},
                 {NAME("repeat_policy"), NAME("repeat")},
                 {NAME("repeatPolicy"), NAME("repeat")},
                 {NAME("runs_after"), NAME("needs")},
                 {NAME("command"), NAME("run")},
                 {NAME("cmd"), NAME("run")},
                 {NAME("script"), NAME("run")},
                 {NAME("shell_command"), NAME("run")},
                 {NAME("steps"), NAME("tasks")},
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
                 {NAME("artifacts"), NAME("outputs")},
                 {NAME("verify"), NAME("check")},
                 {NAME("dependsOn"), NAME("needs")},
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
                 {NAME("dep_file"), NAME("depfile")},
                 {NAME("dependency_file"), NAME("depfile")},
                 {NAME("DEPFILE"), NAME("depfile")},
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
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (size_t k = 0; str_equal(word, words[i].theirs) && k < n; k++)
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
    "within: "                                                                  \
    "30s, every: 200ms}`"

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

#define SCHEDULE \
    "cairn starts nothing by itself: call `cairn run FILE` from cron or a timer"

#define RESOURCES                                                             \
    "write `pool: {NAME: 1}` for one of two, with `pools: {NAME: 2}` at the " \
    "top, or `slots: 4` for four of `jobs`"

#define MEMORY                                                                  \
    "the memory of tasks is not bounded; so that they do not need too much at " \
    "once write `pool: {gib: 4}`, with `pools: {gib: 16}` at the top"

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
        {NAME("ignore_errors"), MAY_FAIL, NULL},
        {NAME("ignore_error"), MAY_FAIL, NULL},
        {NAME("allow_failure"), MAY_FAIL, "write `on_failure: continue`"},
        {NAME("continue_on_error"), MAY_FAIL, "write `on_failure: continue`"},
        {NAME("on_failure"), MAY_FAIL, NULL},
        {NAME("finally"),
         "`finally` stands beside `tasks` at the top level: `finally: {NAME: {run: "
         "CMD}}`",
         NULL},
        {NAME("deadline"), "write `timeout: 10m`", NULL},
        {NAME("timeout"), NULL,
         "write `defaults: {timeout: 10m}` for each task, or `deadline: 10m` for the "
         "whole run"},
        {NAME("pools"), "write `pool: NAME`, with `pools: {NAME: 2}` at the top", NULL},
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
        {NAME("sample_sheet"), SHEET, SHEET},
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
        {NAME("memory"), MEMORY, MEMORY},
        {NAME("mem"), MEMORY, MEMORY},
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
        {NAME("sources"), "write `inputs`", NULL},
        {NAME("generates"), "write `outputs`", NULL},
        {NAME("max-parallel"), "write `pool: NAME`, with `pools: {NAME: 2}` at the top",
         "write `jobs: 4`"},
        {NAME("fail-fast"), "write `on_failure: cancel` at the top level",
         "write `on_failure: cancel`"},
        {NAME("working-directory"), "write `cwd`", NULL},
        {NAME("on"), NULL, "cairn starts nothing by itself; leave it out"},
        {NAME("version"), NULL, "there is only one; leave it out"},
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
