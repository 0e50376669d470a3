/* SPDX-License-Identifier: MIT */
/* The top level of a workflow file, in the order that the parts depend on each other.
 */
#include "workflow/parse_common_int.h"
#include "workflow/parse_top_int.h"

#include "base/identifier.h"
#include "base/limits.h"
#include "graph/text_expand.h"

enum { GRACE_MS = 10000, CHECK_MIN = 700, CHECK_WARN = 850 };

static int read_name(struct parser *p, const struct node *node)
{
    struct str name;
    int rc = expect_key(p, node, "`name`", &name);
    if (!rc)
        rc = expect_fixed(p, node, "`name`", &name);
    if (rc)
        return rc;
    for (size_t i = 0; i < name.len; i++)
        if ((uint8_t)name.ptr[i] < 0x20 || name.ptr[i] == 0x7f)
            return diagnose(&p->diagnostic, node->at,
                            "`name` has a line break or another control character in "
                            "it");
    p->out->name = name;
    return 0;
}

static int read_top_env(struct parser *p, const struct node *node)
{
    return read_env(p, node, NULL, &p->env, &p->n_env);
}

static int read_deadline(struct parser *p, const struct node *node)
{
    return expect_duration(p, node, "`deadline`", 1, &p->out->deadline_ms);
}

/* ---- The keys of the top level ---- */

enum {
    TOP_NAME,
    PARAMS,
    SECRETS,
    ENV,
    POOLS,
    DEFAULTS,
    JOBS,
    DEADLINE,
    ON_FAILURE,
    ON_CRASH,
    TASKS,
    FINALLY,
    TOP_KEYS
};

/* In the order in which they are read. */
static const struct {
    struct str name;
    int (*read)(struct parser *p, const struct node *value); /* NULL: see read_keys */
} top_keys[TOP_KEYS] = {
    [TOP_NAME] = {NAME("name"), read_name},
    [PARAMS] = {NAME("params"), read_params},
    [SECRETS] = {NAME("secrets"), read_secrets},
    [ENV] = {NAME("env"), read_top_env},
    [POOLS] = {NAME("pools"), read_pools},
    [DEFAULTS] = {NAME("defaults"), read_defaults},
    [JOBS] = {NAME("jobs"), read_jobs},
    [DEADLINE] = {NAME("deadline"), read_deadline},
    [ON_FAILURE] = {NAME("on_failure"), read_on_failure},
    [ON_CRASH] = {NAME("on_crash"), read_on_crash},
    [TASKS] = {NAME("tasks"), NULL}, /* these two together */
    [FINALLY] = {NAME("finally"), NULL},
};

static const struct node *value_of(const struct node *key)
{
    return key ? key->next : NULL;
}

static int read_keys(struct parser *p, const struct node *const found[])
{
    int rc = use_default_shell(p);
    for (size_t i = 0; i < TOP_KEYS && !rc; i++)
        if (top_keys[i].read && (found[i] || i == PARAMS)) {
            rc = top_keys[i].read(p, value_of(found[i]));
            if (rc && i >= PARAMS && i <= DEFAULTS && p->options->mistakes)
                p->options->mistakes->names_unknown = true;
            rc = parse_go_on(p, rc);
        }
    if (!rc && p->options->mistakes && p->options->mistakes->names_unknown)
        return 0;
    if (!rc)
        rc = read_tasks(p, value_of(found[TASKS]), value_of(found[FINALLY]));
    if (!rc && found[POOLS])
        warn_of_unused_pools(p, value_of(found[POOLS]));
    if (!rc && found[SECRETS])
        warn_of_unlisted_secrets(p, value_of(found[SECRETS]));
    return rc;
}

static int refuse_github_jobs(const struct parser *p, const struct node *key)
{
    const struct node *first = key->next->first;
    struct str name = first && str_is_id(first->text) ? first->text : STR("NAME");
    return diagnose(&p->diagnostic, key->at,
                    "`jobs` is the number of tasks that run at the same time; a job of "
                    "GitHub Actions is a task here: `tasks: {%.*s: {needs: [OTHER], "
                    "run: CMD}}`; docs/coming-from.md shows a whole workflow in both "
                    "forms",
                    SHOWN(name));
}

static int read_top(struct parser *p, const struct node *root)
{
    struct str names[TOP_KEYS];
    const struct node *found[TOP_KEYS] = {NULL};
    struct where where = {"at the top level", {NULL, 0}};
    for (size_t i = 0; i < TOP_KEYS; i++)
        names[i] = top_keys[i].name;
    int rc = expect_map(p, root, "a workflow file");
    if (!rc)
        rc = expect_keys(p, root, where, names, found, TOP_KEYS);
    if (rc)
        return rc;
    if (!found[TOP_NAME])
        rc = parse_go_on(p,
                         diagnose(&p->diagnostic, root->at,
                                  "the workflow has no `name`; it is what its runs are "
                                  "found by"));
    if (rc)
        return rc;
    if (found[JOBS] && value_of(found[JOBS])->kind == NODE_MAP)
        return refuse_github_jobs(p, found[JOBS]);
    if (!found[TASKS])
        return diagnose(&p->diagnostic, root->at,
                        "the workflow has no tasks; write them under `tasks`");
    return read_keys(p, found);
}

/* ---- The whole ---- */

static int begin_parsing(struct parser *p, struct str text)
{
    if (text.len > LIMIT_FILE_BYTES)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, (struct position){0, 0},
                           "the file is larger than %d bytes", LIMIT_FILE_BYTES);
    p->source.text = str_without_mark(text);
    p->out->file = arena_str(&p->out->arena, str_of(p->options->file));
    p->out->root = arena_str(&p->out->arena, str_of(p->options->root));
    return p->out->arena.failed ? out_of_memory(p) : 0;
}

int definition_parse(struct str text, const struct parse_options *options,
                     struct definition *out, struct cairn_error *error)
{
    struct parser p = {.options = options,
                       .source = {options->name, {"", 0}},
                       .out = out,
                       .grace_ms = GRACE_MS,
                       .retry = {.factor_permille = 1000},
                       .check = {CHECK_MIN, CHECK_WARN}};
    const struct node *root = NULL;
    p.diagnostic = (struct diagnostic){&p.source, error, &p.place};
    definition_init(out);
    int rc = begin_parsing(&p, text);
    if (!rc)
        rc = yaml_read(&p.diagnostic, &p.scratch, &root);
    if (!rc)
        rc = read_top(&p, root);
    if (!rc && !parse_is_good(&p))
        rc = CAIRN_EWORKFLOW;
    else if (rc && options->mistakes && options->mistakes->n < MISTAKES)
        parse_go_on(&p, rc);
    if (!rc)
        rc = keep_messages(&p);
    if (!rc)
        rc = definition_prepare(out, error);
    buf_release(&p.warnings);
    buf_release(&p.notes);
    buf_release(&p.pending);
    arena_release(&p.scratch);
    if (rc)
        definition_release(out);
    return rc;
}
