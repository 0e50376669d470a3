/* SPDX-License-Identifier: MIT */
#include "plan/nearest.h"

#include "graph/fingerprint.h"
#include "graph/match.h"
#include "storage/rows_attempt.h"

#include <stdlib.h>

/* A run that cannot be read says nothing. */
static int load(struct nearest *n, struct cairn_store *store, struct cairn_error *error)
{
    struct cairn_error why = {0};
    n->tried = true;
    int rc = n->run ? stored_run_open(&n->then, store, n->run, true, &why) : 1;
    if (rc)
        return rc == CAIRN_ENOMEM ? error_nomem(error) : 0;
    n->loaded = true;
    n->lookup = (struct lookup){.graph = &n->then.graph,
                                .states = &n->then.recovery.states,
                                .store = store,
                                .digests = FILE_DIGESTS_INIT};
    n->fingerprints = malloc(n->then.graph.n_tasks * sizeof *n->fingerprints);
    return n->fingerprints ? graph_fingerprints(&n->then.graph, n->fingerprints, error)
                           : error_nomem(error);
}

void nearest_release(struct nearest *n)
{
    if (n->loaded) {
        lookup_release(&n->lookup);
        stored_run_release(&n->then);
    }
    free(n->fingerprints);
    *n = (struct nearest){0};
}

static int name_field(void *context, const char *field, const char *old,
                      const char *now)
{
    (void)old;
    (void)now;
    buf_text(context, field);
    return 1;
}

static int describe_edit(struct nearest *n, const struct reuse *r, uint32_t task,
                         uint32_t then, struct buf *out, struct cairn_error *error)
{
    struct buf field = BUF_INIT;
    int rc =
        task_changes(&n->then.graph, then, r->graph, task, name_field, &field, error);
    if (field.size)
        buf_format(out, "did it with another definition (%s)", field.data);
    else
        buf_text(out, "did it with other members of a group that it needs");
    buf_release(&field);
    return rc;
}

/* NULL: they are the same. */
static const char *difference(uint8_t evidence)
{
    static const char *const texts[] = {
        [OUTPUT_MISSING] = "did it, but its output %s is missing",
        [OUTPUT_DIFFERS] = "did it, but its output %s is another one by now",
        [INPUT_DIFFERS] = "did it with another content of %s",
        [INPUT_MISSING] = "did it with %s, which is missing",
        [INPUT_NEW] = "did it without %s",
        [SECRET_DIFFERS] = "did it with another value of %s"};
    return evidence < sizeof texts / sizeof *texts ? texts[evidence] : NULL;
}

/* Where copies of outputs are kept, outputs only matter once all else is as it was, and
 * then it is the copies that are gone. */
static int look(struct reuse *r, uint32_t task, bool same_key, uint8_t *evidence,
                struct buf *which, struct cairn_error *error)
{
    bool copies = graph_def(r->graph, task)->reuse_ms;
    r->evidence.outputs = !copies;
    int rc = evidence_look(&r->evidence, task, evidence, which, error);
    r->evidence.outputs = true;
    return !rc && *evidence == EVIDENCE_GOOD && copies && same_key
               ? evidence_look(&r->evidence, task, evidence, which, error)
               : rc;
}

/* Compares files and secrets as if the task had completed so. 1: something is said. */
static int describe_evidence(struct nearest *n, struct reuse *r, uint32_t task,
                             uint32_t then, const struct reused *found, struct buf *out,
                             struct cairn_error *error)
{
    const struct states *states = n->lookup.states;
    struct reused as_then = {.row = {.attempt = 1}};
    struct buf which = BUF_INIT;
    struct cairn_error why = {0};
    uint8_t evidence = EVIDENCE_GOOD;
    if (states->outputs)
        as_then.row.result = states->outputs[then];
    int rc = reuse_take(r, task, &as_then, error);
    if (rc)
        return rc;
    rc = look(r, task, found->row.run, &evidence, &which, &why);
    const char *text = rc ? NULL : difference(evidence);
    bool output = evidence == OUTPUT_MISSING || evidence == OUTPUT_DIFFERS;
    if (text)
        buf_format(out, text, which.data ? which.data : "");
    if (text && output && graph_def(r->graph, task)->reuse_ms)
        buf_text(out, ", and no copy of it is kept any more");
    buf_release(&which);
    if (rc && rc != CAIRN_ENOMEM && rc != CAIRN_ESTOPPED)
        rc = 0;
    int failed = reuse_take_back(r, task, rc ? NULL : error);
    if (rc)
        return error_set(error, rc, "%s", why.text);
    return failed ? failed : text != NULL;
}

/* 1: something is said. */
static int describe_artifacts(struct nearest *n, struct reuse *r, uint32_t task,
                              uint32_t then, const struct reused *found,
                              struct buf *out, struct cairn_error *error)
{
    const struct task_def *now = graph_def(r->graph, task);
    const struct task_def *was = graph_def(&n->then.graph, then);
    bool same = now->n_artifacts == was->n_artifacts;
    for (uint32_t i = 0; i < now->n_artifacts && same; i++)
        same = str_equal(now->artifacts[i], was->artifacts[i]);
    int there = same && found->row.run ? reuse_has_artifacts(r, task, found, error) : 1;
    if (!same)
        buf_text(out, "did it with other artifacts");
    else if (!there)
        buf_text(out, "did it, but its artifacts are not kept any more");
    return there < 0 ? there : !same || !there;
}

static bool same_content(const struct result *a, const struct result *b)
{
    bool same = a->n_outputs == b->n_outputs && a->n_values == b->n_values;
    for (uint32_t i = 0; same && i < a->n_outputs; i++)
        same = digest_equal(&a->outputs[i].digest, &b->outputs[i].digest);
    for (uint32_t i = 0; same && i < a->n_values; i++)
        same = str_equal(a->values[i].key, b->values[i].key) &&
               str_equal(a->values[i].value, b->values[i].value);
    return same;
}

/* 1: something is said of the needed task. */
static int describe_need(struct nearest *n, struct reuse *r, uint32_t need,
                         struct buf *out)
{
    uint32_t then = map_task(r->graph, need, &n->then.graph);
    const struct result *now, *before;
    const char *id = r->graph->id[need];
    if (r->evidence.lookup->states->outcome[need] != CAIRN_COMPLETED)
        return 0;
    if (lookup_result(r->evidence.lookup, need, &now, NULL))
        return 0;
    if (!now->n_outputs && !now->n_values) {
        buf_format(out,
                   "did it, but %s, which it needs, leaves neither outputs nor values",
                   id);
        return 1;
    }
    if (then != NODE_NONE && n->lookup.states->outcome[then] == CAIRN_COMPLETED &&
        !lookup_result(&n->lookup, then, &before, NULL) && same_content(now, before))
        return 0;
    buf_format(out, "did it when %s, which it needs, had made something else", id);
    return 1;
}

static void describe_needs(struct nearest *n, struct reuse *r, uint32_t task,
                           struct buf *out)
{
    enum { LOOKED_AT = 1000 };
    const struct graph *g = r->graph;
    uint32_t looked = 0;
    int said = 0;
    for (uint32_t e = g->need_start[task]; !said && e < g->need_start[task + 1]; e++) {
        uint32_t need = g->needs[e];
        if (graph_need_is_order(g, task, e))
            continue;
        if (!graph_is_barrier(g, need)) {
            said = describe_need(n, r, need, out);
            continue;
        }
        for (uint32_t m = g->need_start[need];
             !said && m < g->need_start[need + 1] && looked++ < LOOKED_AT; m++)
            said = describe_need(n, r, g->needs[m], out);
    }
    if (!said)
        buf_text(out, "did it, but was given something else");
}

static int note_fallback(void *context, const struct attempt_row *row)
{
    bool *fallback = context;
    *fallback = row->flags & ATTEMPT_FALLBACK;
    return 0;
}

/* What its fallback made is not reused. */
static bool was_by_fallback(const struct nearest *n, struct cairn_store *store,
                            uint32_t then)
{
    const struct attempt_row key = {.run = n->run,
                                    .gen = n->then.row.gen,
                                    .task = then,
                                    .number = n->lookup.states->attempts[then]};
    struct cairn_error unknown = {0};
    bool fallback = false;
    return !store_get_attempt(store, &key, note_fallback, &fallback, &unknown) &&
           fallback;
}

static int describe_result(struct nearest *n, struct reuse *r, uint32_t task,
                           uint32_t then, const struct reused *found, struct buf *out,
                           struct cairn_error *error)
{
    const struct result *result;
    if (lookup_result(&n->lookup, then, &result, NULL)) {
        buf_text(out, "did it, but what it left is damaged or gone");
        return 0;
    }
    if (!result->n_outputs && !result->n_values) {
        buf_text(out, "did it, but it left neither outputs nor values");
        return 0;
    }
    int rc = describe_artifacts(n, r, task, then, found, out, error)
                 ?: describe_evidence(n, r, task, then, found, out, error);
    if (!rc)
        describe_needs(n, r, task, out);
    return rc < 0 ? rc : 0;
}

int nearest_describe(struct nearest *n, struct reuse *r, uint32_t task,
                     const struct reused *found, struct buf *out,
                     struct cairn_error *error)
{
    int rc = n->tried ? 0 : load(n, r->store, error);
    if (rc || !n->loaded)
        return rc;
    uint32_t then = map_task(r->graph, task, &n->then.graph);
    if (then == NODE_NONE)
        return 0;
    buf_format(out, "run %llu ", (unsigned long long)n->run);
    if (n->lookup.states->outcome[then] != CAIRN_COMPLETED)
        buf_text(out, "did not complete it");
    else if (!digest_equal(&n->fingerprints[then], &r->fingerprints[task]))
        rc = describe_edit(n, r, task, then, out, error);
    else if (was_by_fallback(n, r->store, then))
        buf_text(out, "did it by its fallback");
    else
        rc = describe_result(n, r, task, then, found, out, error);
    return rc ? rc : buf_check(out, error);
}
