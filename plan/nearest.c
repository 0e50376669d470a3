/* SPDX-License-Identifier: MIT */
#include "plan/nearest.h"

#include "graph/fingerprint.h"
#include "graph/match.h"
#include "graph/task_fields.h"
#include "graph/text_expand.h"
#include "storage/rows_attempt.h"

#include "base/utf8.h"

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

/* Compares files and secrets as if the task had completed with that result. 1: something
 * is said. */
static int describe_evidence(struct reuse *r, uint32_t task,
                             const struct digest *result, bool same_key,
                             struct buf *out, struct cairn_error *error)
{
    const struct reused as_then = {.row = {.attempt = 1, .result = *result}};
    struct buf which = BUF_INIT;
    struct cairn_error why = {0};
    uint8_t evidence = EVIDENCE_GOOD;
    int rc = reuse_take(r, task, &as_then, error);
    if (rc)
        return rc;
    rc = look(r, task, same_key, &evidence, &which, &why);
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
static int describe_artifacts(const struct nearest *n, const struct reuse *r,
                              uint32_t task, uint32_t then, struct buf *out)
{
    const struct task_def *now = graph_def(r->graph, task);
    const struct task_def *was = graph_def(&n->then.graph, then);
    bool same = now->n_artifacts == was->n_artifacts;
    for (uint32_t i = 0; i < now->n_artifacts && same; i++)
        same = str_equal(now->artifacts[i], was->artifacts[i]);
    if (!same)
        buf_text(out, "did it with other artifacts");
    return !same;
}

/* An attempt was given all of the same: what it has left is not what there is. 1:
 * something is said. */
static int describe_left(struct reuse *r, uint32_t task, const struct reused *found,
                         struct buf *out, struct cairn_error *error)
{
    size_t before = out->size;
    buf_format(out, "run %llu ", (unsigned long long)found->row.run);
    int there = reuse_has_artifacts(r, task, found, error);
    if (there < 0)
        return there;
    if (!there)
        buf_text(out, "did it, but its artifacts are not kept any more");
    int said =
        !there ? 1 : describe_evidence(r, task, &found->row.result, true, out, error);
    if (!said && !out->failed)
        out->size = before;
    return said;
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

/* As it is written: values may be secret, or long. */
static void name_text(const struct task_field *field, struct str text, struct buf *out)
{
    enum { SHOWN = 120 };
    struct str shown = {text.ptr, utf8_fit(text, SHOWN)};
    const char *name = field->name ? field->name : "its command";
    buf_format(out, "did it with another value in %s: %.*s%s", name, (int)shown.len,
               shown.ptr, shown.len < text.len ? "..." : "");
}

/* 1: the text has another value now than it had; 0: the same, or one is not known. */
static int text_differs(const struct scope *now, const struct scope *then,
                        struct str text, struct str before)
{
    struct buf a = BUF_INIT, b = BUF_INIT;
    struct cairn_error unknown = {0};
    bool differs = str_equal(text, before) && !text_expand(now, text, &a, &unknown) &&
                   !text_expand(then, before, &b, &unknown) && !a.failed && !b.failed &&
                   !str_equal(buf_view(&a), buf_view(&b));
    buf_release(&a);
    buf_release(&b);
    return differs;
}

/* 1: something is said of the values in its texts, which the fingerprints do not have,
 * or of where it ran. */
static int describe_texts(struct nearest *n, struct reuse *r, uint32_t task,
                          uint32_t then, struct buf *out)
{
    struct asker asker = {.lookup = r->evidence.lookup, .task = task, .attempt = 1};
    struct asker before = {.lookup = &n->lookup,
                           .task = then,
                           .attempt = n->lookup.states->attempts[then]};
    struct scope scope = lookup_scope(&asker), was = lookup_scope(&before);
    struct str root = n->then.graph.definition->root;
    n->lookup.run = n->run;
    if (!str_equal(root, r->graph->definition->root)) {
        buf_format(out, "did it in another directory, %.*s", (int)utf8_fit(root, 400),
                   root.ptr);
        return 1;
    }
    for (const struct task_field *const *field = reference_fields; *field; field++) {
        uint32_t texts = reference_texts(*field, scope.def);
        if (texts != reference_texts(*field, was.def))
            continue;
        for (uint32_t i = 0; i < texts; i++) {
            struct str text = reference_text(*field, scope.def, i);
            if (!text_differs(&scope, &was, text, reference_text(*field, was.def, i)))
                continue;
            name_text(*field, text, out);
            return 1;
        }
    }
    return 0;
}

static void describe_needs(struct nearest *n, struct reuse *r, uint32_t task,
                           uint32_t then, struct buf *out)
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
    if (!said && !describe_texts(n, r, task, then, out))
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
                           uint32_t then, struct buf *out, struct cairn_error *error)
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
    const struct digest none = {{0}};
    const struct states *states = n->lookup.states;
    int rc = describe_artifacts(n, r, task, then, out)
                 ?: describe_evidence(r, task,
                                      states->outputs ? &states->outputs[then] : &none,
                                      false, out, error);
    if (!rc)
        describe_needs(n, r, task, then, out);
    return rc < 0 ? rc : 0;
}

int nearest_describe(struct nearest *n, struct reuse *r, uint32_t task,
                     const struct reused *found, struct buf *out,
                     struct cairn_error *error)
{
    int rc = found->row.run ? describe_left(r, task, found, out, error) : 0;
    if (!rc && !n->tried)
        rc = load(n, r->store, error);
    if (rc || !n->loaded)
        return rc > 0 ? buf_check(out, error) : rc;
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
        rc = describe_result(n, r, task, then, out, error);
    return rc ? rc : buf_check(out, error);
}
