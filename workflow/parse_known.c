/* SPDX-License-Identifier: MIT */
/* Names in ${{ }} and conditions: each must be known, and may not stand everywhere.
 * Names of other tasks are kept until all needs are known (parse_reach.c). */
#include "workflow/parse_common_int.h"
#include "workflow/parse_known_int.h"

#include "base/limits.h"

#include <stdio.h>

/* Of the name. Reads the file from its beginning, so it is only for errors. */
static struct position position_of_name(const struct checking *c)
{
    return source_inside(&c->p->source, c->node->at, c->text, c->at, c->name->length);
}

static struct str word_of(const struct checking *c)
{
    return (struct str){c->text.ptr + c->at, c->name->length};
}

static const char *place_name(const struct checking *c)
{
    switch (c->place) {
    case IN_WORKFLOW:
        return "the workflow's `env`";
    case IN_FOREACH:
        return "`foreach`";
    case IN_NEED:
        return "the brackets of `needs`";
    case IN_CONDITION:
        return "`if`";
    case IN_ENV:
    case IN_TASK:
        break;
    }
    return "${{ }}";
}

/* Read before anything runs. */
static bool is_early(const struct checking *c)
{
    return c->place == IN_WORKFLOW || c->place == IN_FOREACH || c->place == IN_NEED;
}

/* ---- Names ---- */

static bool has_env(const struct task_def *def, struct str name)
{
    for (uint32_t i = 0; i < def->n_env; i++)
        if (str_equal(def->env[i].key, name))
            return true;
    return false;
}

/* Everything that could stand there: foreach keys, params.NAME, env.NAME. */
static struct hint nearest_name(const struct checking *c, struct str word)
{
    enum { MOST = 64 };
    const struct definition *out = c->p->out;
    char texts[2 * MOST][LIMIT_NAME_BYTES + 8];
    struct str candidates[LIMIT_FOREACH_KEYS + 2 * MOST];
    size_t n = 0, made = 0;
    for (uint32_t k = 0; c->def && k < c->def->n_foreach; k++)
        candidates[n++] = c->def->foreach[k].name;
    for (uint32_t i = 0; i < out->n_params && i < MOST; i++, made++) {
        struct str key = out->params[i].key;
        snprintf(texts[made], sizeof texts[made], "params.%.*s", (int)key.len, key.ptr);
        candidates[n++] = str_of(texts[made]);
    }
    for (uint32_t i = 0; c->def && i < c->def->n_env && i < MOST; i++, made++) {
        struct str key = c->def->env[i].key;
        snprintf(texts[made], sizeof texts[made], "env.%.*s", (int)key.len, key.ptr);
        candidates[n++] = str_of(texts[made]);
    }
    return hint_nearest(word, candidates, n);
}

static int unknown_name(const struct checking *c)
{
    struct str bare = c->name->first;
    struct hint hint = nearest_name(c, word_of(c));
    if (definition_param(c->p->out, bare) != UINT32_MAX)
        snprintf(hint.text, sizeof hint.text, "; a param is written params.%.*s",
                 SHOWN(bare));
    else if (c->def && has_env(c->def, bare))
        snprintf(hint.text, sizeof hint.text, "; it is written env.%.*s", SHOWN(bare));
    return diagnose(&c->p->diagnostic, position_of_name(c),
                    "unknown name `%.*s` in %s%s", SHOWN(word_of(c)), place_name(c),
                    hint.text);
}

int refuse_secret(const struct checking *c, struct position at, struct str name)
{
    return diagnose(&c->p->diagnostic, at,
                    "a secret cannot be referred to in %s; a task that lists it under "
                    "`secrets` has it as an environment variable, $%.*s",
                    place_name(c), SHOWN(name));
}

static int refuse_here(const struct checking *c)
{
    return diagnose(&c->p->diagnostic, position_of_name(c),
                    "`%.*s` has no value yet in %s; only %s can be referred to there",
                    SHOWN(word_of(c)), place_name(c),
                    c->place == IN_NEED ? "params and foreach keys of the task"
                                        : "params");
}

static int check_key(const struct checking *c)
{
    bool keys = c->def && c->place != IN_FOREACH;
    if (keys && task_def_key(c->def, c->name->first) != UINT32_MAX)
        return 0;
    if (is_secret(c->p, c->name->first))
        return refuse_secret(c, position_of_name(c), c->name->first);
    return unknown_name(c);
}

static int check_param(const struct checking *c)
{
    if (definition_param(c->p->out, c->name->first) == UINT32_MAX)
        return unknown_name(c);
    if (!c->def || task_def_takes_param(c->def, c->name->first))
        return 0;
    return diagnose(&c->p->diagnostic, position_of_name(c),
                    "task `%.*s` lists the params that it takes, and `%.*s` is not "
                    "among them; add it to its `params`",
                    SHOWN(c->def->id), SHOWN(c->name->first));
}

static int check_env(const struct checking *c)
{
    if (is_secret(c->p, c->name->first))
        return refuse_secret(c, position_of_name(c), c->name->first);
    if (is_early(c))
        return refuse_here(c);
    if (c->place == IN_ENV)
        return diagnose(&c->p->diagnostic, position_of_name(c),
                        "`%.*s`: the value of one `env` entry cannot refer to another",
                        SHOWN(word_of(c)));
    return has_env(c->def, c->name->first) ? 0 : unknown_name(c);
}

static int check_run(const struct checking *c)
{
    if (is_early(c))
        return refuse_here(c);
    if (c->name->kind == NAME_RUN_STATUS && !c->def->finally)
        return diagnose(&c->p->diagnostic, position_of_name(c),
                        "`run.status` is only known to the tasks of `finally`");
    if (c->name->kind == NAME_RUN_ATTEMPT && c->place == IN_CONDITION)
        return diagnose(&c->p->diagnostic, position_of_name(c),
                        "`run.attempt` has no value in `if`, which is decided before "
                        "the first attempt");
    return 0;
}

static int check_task(const struct checking *c)
{
    struct pending pending = {
        .node = c->node, .text = c->text, .at = c->at, .name = c->name};
    if (is_early(c))
        return refuse_here(c);
    pending.def = (uint32_t)(c->def - c->p->out->defs);
    buf_add(&c->p->pending, &pending, sizeof pending);
    return c->p->pending.failed ? out_of_memory(c->p) : 0;
}

static int check_name(struct checking *c)
{
    enum name_kind kind = c->name->kind;
    c->only_params &= kind == NAME_PARAM;
    switch (kind) {
    case NAME_KEY:
        return check_key(c);
    case NAME_PARAM:
        return check_param(c);
    case NAME_ENV:
        return check_env(c);
    case NAME_TASK_OUTPUT:
    case NAME_TASK_STATUS:
    case NAME_TASK_FILES:
        return check_task(c);
    case NAME_RUN_ID:
    case NAME_RUN_ATTEMPT:
    case NAME_RUN_STATUS:
        break;
    }
    return check_run(c);
}

/* ---- Statuses ---- */

/* In the words of others. */
static const char *meant_by(struct str word)
{
    static const struct {
        const char *word, *meant;
    } words[] = {{"success", "completed"}, {"succeeded", "completed"},
                 {"ok", "completed"},      {"done", "completed"},
                 {"failure", "failed"},    {"error", "failed"},
                 {"canceled", "cancelled"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (str_equal(word, str_of(words[i].word)))
            return words[i].meant;
    return NULL;
}

/* A status that there is not would never be equal: what depends on it would never, or
 * always, be done. */
static int check_status(const struct checking *c, const struct status_compared *s,
                        size_t from)
{
    static const enum cairn_outcome of_tasks[] = {
        CAIRN_COMPLETED, CAIRN_FAILED, CAIRN_CANCELLED, CAIRN_SKIPPED,
        CAIRN_EXCLUDED,  CAIRN_UNDONE, CAIRN_UNKNOWN,   CAIRN_PENDING};
    enum { OF_TASKS = sizeof of_tasks / sizeof of_tasks[0], OF_RUNS = 3 };
    bool of_run = s->name->kind == NAME_RUN_STATUS;
    struct str words[OF_TASKS];
    size_t n = of_run ? OF_RUNS : OF_TASKS;
    for (size_t i = 0; i < n; i++) {
        words[i] = str_of(cairn_outcome_name(of_tasks[i]));
        if (str_equal(s->text, words[i]))
            return 0;
    }
    struct hint hint = hint_nearest(s->text, words, n);
    const char *meant = meant_by(s->text);
    if (meant)
        snprintf(hint.text, sizeof hint.text, "; did you mean `%s`?", meant);
    return diagnose(
        &c->p->diagnostic,
        source_inside(&c->p->source, c->node->at, c->text, from + s->at, s->length),
        "there is no status `%.*s`: it is %s%s", SHOWN(s->text),
        of_run ? "completed, failed or cancelled"
               : "completed, failed, skipped, excluded, undone, cancelled, "
                 "unknown or pending",
        hint.text);
}

int check_names(struct checking *c, const struct expression *expression, size_t from)
{
    struct status_compared compared;
    uint32_t next = 0;
    int rc = 0;
    for (uint32_t i = 0; i < expression_names(expression) && !rc; i++) {
        c->name = expression_name(expression, i);
        c->at = from + c->name->at;
        rc = check_name(c);
    }
    while (!rc && expression_status_compared(expression, &next, &compared))
        rc = check_status(c, &compared, from);
    return rc;
}
