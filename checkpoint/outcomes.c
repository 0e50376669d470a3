/* SPDX-License-Identifier: MIT */
/* The payload kind of runs, their streams, and which of their rows may be relied on. */
#include "checkpoint/outcomes.h"

#include "checkpoint/chain.h"

#include "base/limits.h"
#include "base/memory.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Whether the row of a run may be relied on: its checksum and HMAC match, and its
 * records have HMACs if and only if it has one. */

/* Of a damaged record as well: only the flag is used. */
static int see_flags(void *context, const struct checkpoint_row *row)
{
    bool *keyed = context;
    *keyed = record_peek(row->record).flags & RECORD_KEYED;
    return 1;
}

int run_stripped(struct cairn_store *store, const struct run_row *row, bool *stripped,
                 struct cairn_error *error)
{
    struct checkpoint_range newest = {.namespace_id = NAMESPACE_WORKFLOW,
                                      .stream = row->run,
                                      .descending = true,
                                      .limit = 1};
    *stripped = false;
    int rc = row->keyed
                 ? 0
                 : store_each_checkpoint(store, &newest, see_flags, stripped, error);
    return rc < 0 ? rc : 0;
}

int run_check_forged(struct cairn_store *store, const struct run_row *row,
                     struct cairn_error *error)
{
    int rc = store_key(store) ? run_trust(store, row, error) : 0;
    return rc == CAIRN_EUSAGE ? 0 : rc;
}

static int check_stripped(struct cairn_store *store, const struct run_row *row,
                          struct cairn_error *error)
{
    bool stripped;
    int rc = run_stripped(store, row, &stripped, error);
    if (rc || !stripped)
        return rc;
    return error_set(
        error, CAIRN_EDAMAGED,
        "the row of run %llu has no HMAC, but its checkpoints have: it was "
        "changed or forged; put back a copy of the store, or start again "
        "with `cairn run FILE --fresh`",
        (unsigned long long)row->run);
}

int run_trust(struct cairn_store *store, const struct run_row *row,
              struct cairn_error *error)
{
    unsigned long long run = row->run;
    int rc = check_stripped(store, row, error);
    if (!rc && store_key(store))
        rc = store_check_keyed(store, row->run, row->keyed, error);
    if (rc || row->sum_ok)
        return rc;
    if (store_key(store))
        return error_set(
            error, CAIRN_EDAMAGED,
            "the HMAC of run %llu is not of this key: its row was changed "
            "or forged, or the key is another one; start again with `cairn "
            "run FILE --fresh`",
            run);
    return error_set(error, CAIRN_EDAMAGED,
                     "the row of run %llu is damaged (its checksum does not match), so "
                     "what it says of the file, the params and the state is not to be "
                     "believed: `cairn doctor --repair` makes it again from the run's "
                     "checkpoints",
                     run);
}

/* What several records of a run add up to, as one: from a full record on the state of
 * all tasks, before one the last change of each task. Invariant: all changes are about
 * the full record `base`. */

struct folded_change {
    struct change change;
    size_t order;
};

struct outcome_fold {
    uint64_t base;            /* 0: nothing yet */
    bool full;                /* `whole` counts, else the changes */
    struct states whole;      /* with all changes */
    struct digest graph;      /* of them */
    uint64_t tag;             /* that they name */
    struct grown grown;       /* without `full`: the newest */
    struct folded_change *at; /* in the order of the records */
    size_t n, room;
};

static int outcome_fold(void *fold, const struct sound_record *record,
                        struct cairn_error *error);

static void outcome_fold_release(void *fold)
{
    struct outcome_fold *f = fold;
    states_release(&f->whole);
    free(f->at);
    *f = (struct outcome_fold){0};
}

/* ---- Adding ---- */

static int begin_whole(struct outcome_fold *f, const struct sound_record *record,
                       struct cairn_error *error)
{
    struct outcome_fold made = {.base = record->header.seq, .full = true};
    int rc = payload_parse_full_for(record->payload, &made.whole, &made.graph,
                                    &made.tag, error);
    if (rc)
        return rc;
    outcome_fold_release(f);
    *f = made;
    return 0;
}

struct adding {
    struct outcome_fold *fold;
    struct cairn_error *error;
};

static int fold_change(void *context, const struct change *change)
{
    struct adding *adding = context;
    return states_apply(&adding->fold->whole, change, adding->error);
}

static int append_change(void *context, const struct change *change)
{
    struct adding *adding = context;
    struct outcome_fold *f = adding->fold;
    struct folded_change *at = array_room(f->at, f->n, &f->room, sizeof *at);
    if (!at)
        return error_nomem(adding->error);
    f->at = at;
    f->at[f->n] = (struct folded_change){*change, f->n};
    f->n++;
    return 0;
}

static int fit_fold(const struct outcome_fold *f, const struct delta *delta,
                    struct cairn_error *error)
{
    if (f->base && f->base != delta->base)
        return error_set(error, CAIRN_EDAMAGED, "it belongs to another full record");
    if (!f->full)
        return f->base && f->tag != delta->graph_tag
                   ? error_set(error, CAIRN_EDAMAGED, "it belongs to another graph")
                   : 0;
    return delta_fit_graph(delta, f->tag, error)
               ?: delta_fit_tasks(delta, f->whole.n, error);
}

static int fold_grown(struct outcome_fold *f, const struct grown *grown,
                      struct cairn_error *error)
{
    if (!grown->tasks)
        return 0;
    if (!f->full) {
        f->grown = *grown;
        return 0;
    }
    f->graph = grown->graph;
    return states_extend(&f->whole, grown->tasks, error);
}

static int outcome_fold(void *fold, const struct sound_record *record,
                        struct cairn_error *error)
{
    struct outcome_fold *f = fold;
    struct adding adding = {f, error};
    struct delta delta;
    assert_sound(record);
    if (record->header.kind == RECORD_FULL)
        return begin_whole(f, record, error);
    int rc = payload_parse_delta(record->payload, &delta, error);
    if (rc)
        return rc;
    size_t before = f->n;
    rc = fit_fold(f, &delta, error)
             ?: fold_grown(f, &delta.grown, error)
             ?: delta_each(&delta, LIMIT_TASKS, f->full ? fold_change : append_change,
                           &adding, error);
    if (!rc && !f->full) {
        assert(f->n == before + delta.n);
        f->base = delta.base;
        f->tag = delta.graph_tag;
    } else if (rc) {
        f->n = before;
    }
    delta_release(&delta);
    return rc;
}

/* ---- The result ---- */

static int by_task(const void *a, const void *b)
{
    const struct folded_change *x = a, *y = b;
    if (x->change.task != y->change.task)
        return x->change.task < y->change.task ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int put_changes(const struct outcome_fold *f, struct buf *payload,
                       struct cairn_error *error)
{
    struct folded_change *sorted = malloc((f->n + 1) * sizeof *sorted);
    struct change *last = malloc((f->n + 1) * sizeof *last);
    int rc = 0;
    if (sorted && last) {
        size_t n = 0;
        if (f->n)
            memcpy(sorted, f->at, f->n * sizeof *sorted);
        qsort(sorted, f->n, sizeof *sorted, by_task);
        for (size_t i = 0; i < f->n; i++)
            if (i + 1 == f->n || sorted[i + 1].change.task != sorted[i].change.task)
                last[n++] = sorted[i].change;
        assert(n <= f->n);
        rc = f->grown.tasks
                 ? payload_grown(f->base, f->tag, &f->grown, last, n, payload, error)
                 : payload_delta(f->base, f->tag, last, n, payload, error);
    } else {
        rc = error_nomem(error);
    }
    free(sorted);
    free(last);
    return rc;
}

static int outcome_fold_put(const void *fold, struct folded *folded,
                            struct buf *payload, struct cairn_error *error)
{
    const struct outcome_fold *f = fold;
    assert(f->base > 0 && (f->full || f->n > 0 || f->grown.tasks));
    *folded = (struct folded){f->full, f->base};
    return f->full ? payload_full_for(&f->whole, &f->graph, f->tag, payload, error)
                   : put_changes(f, payload, error);
}

/* The payload kind of runs: how the chain reads, applies and describes outcomes, and
 * what the rows of runs say about streams. */

void outcomes_release(struct outcomes *outcomes)
{
    states_release(&outcomes->states);
    *outcomes = (struct outcomes){0};
}

/* ---- Reading ---- */

static int visit_full_roots(const struct states *states, const struct digest *graph,
                            const struct payload_check *check)
{
    if (check->roots == ROOTS_NONE)
        return 0;
    assert(check->root);
    int rc = check->root(check->context, graph, false);
    if (check->roots != ROOTS_ALL || !states->outputs)
        return rc;
    for (uint32_t i = 0; i < states->n && !rc; i++)
        if (!digest_is_none(&states->outputs[i]))
            rc = check->root(check->context, &states->outputs[i], false);
    return rc;
}

static void frame_full(struct payload_check *check, const struct sound_record *record,
                       const struct states *states, uint64_t tag)
{
    assert(states->n > 0);
    check->base = record->header.seq;
    if (check->frame)
        *check->frame = (struct payload_frame){
            .base = record->header.seq, .size = states->n, .subject = tag};
}

static int check_full(const struct sound_record *record, struct payload_check *check,
                      struct cairn_error *error)
{
    struct states states;
    struct digest graph;
    uint64_t tag;
    int rc = payload_parse_full_for(record->payload, &states, &graph, &tag, error);
    if (rc)
        return rc;
    frame_full(check, record, &states, tag);
    rc = visit_full_roots(&states, &graph, check);
    states_release(&states);
    return rc;
}

struct root_visit {
    const struct payload_check *check;
    int rc;
};

static int visit_output(void *context, const struct change *change)
{
    struct root_visit *visit = context;
    if (digest_is_none(&change->outputs))
        return 0;
    visit->rc = visit->check->root(visit->check->context, &change->outputs, false);
    return visit->rc;
}

/* Its graph is a root of its full record, but where that has grown. */
static int visit_delta_roots(const struct delta *delta,
                             const struct payload_check *check,
                             struct cairn_error *error)
{
    struct root_visit visit = {.check = check};
    int rc = 0;
    if (check->roots != ROOTS_NONE && delta->grown.tasks)
        rc = check->root(check->context, &delta->grown.graph, false);
    if (check->roots != ROOTS_ALL || rc)
        return rc;
    assert(check->root);
    rc = delta_each(delta, LIMIT_TASKS, visit_output, &visit, error);
    return rc ? rc : visit.rc;
}

static int check_delta(const struct sound_record *record, struct payload_check *check,
                       struct cairn_error *error)
{
    struct delta delta;
    struct payload_frame *frame = check->frame;
    int rc = payload_parse_delta(record->payload, &delta, error);
    if (rc)
        return rc;
    check->base = delta.base;
    if (frame && frame->base == delta.base) {
        rc = delta_fit_tasks(&delta, frame->size, error)
                 ?: delta_fit_graph(&delta, frame->subject, error);
        if (!rc && delta.grown.tasks)
            frame->size = delta.grown.tasks;
    }
    if (!rc)
        rc = visit_delta_roots(&delta, check, error);
    delta_release(&delta);
    return rc;
}

static int check_payload(const struct sound_record *record, struct payload_check *check,
                         struct cairn_error *error)
{
    assert_sound(record);
    assert(record->header.namespace_id == NAMESPACE_WORKFLOW);
    assert(check->roots == ROOTS_NONE || check->root);
    check->base = 0;
    return record->header.kind == RECORD_FULL ? check_full(record, check, error)
                                              : check_delta(record, check, error);
}

/* ---- Adding up ---- */

static int apply_full(struct outcomes *outcomes, const struct sound_record *record,
                      struct payload_check *check, struct cairn_error *error)
{
    struct outcomes made = {0};
    assert(record->header.kind == RECORD_FULL);
    int rc = payload_parse_full_for(record->payload, &made.states, &made.graph,
                                    &made.tag, error);
    if (rc)
        return rc;
    frame_full(check, record, &made.states, made.tag);
    outcomes_release(outcomes);
    *outcomes = made;
    return 0;
}

struct change_target {
    struct states *states;
    struct cairn_error *error;
};

static int apply_change(void *context, const struct change *change)
{
    struct change_target *target = context;
    return states_apply(target->states, change, target->error);
}

/* Without a full record, all tasks that there are now are there from the start. */
static int apply_grown(struct outcomes *outcomes, const struct delta *delta,
                       struct cairn_error *error)
{
    uint32_t tasks = delta->grown.tasks;
    if (outcomes->any_tag && tasks <= outcomes->states.n)
        return delta->last < outcomes->states.n
                   ? 0
                   : delta_fit_tasks(delta, outcomes->states.n, error);
    int rc = delta_fit_tasks(delta, outcomes->states.n, error);
    if (rc || !tasks)
        return rc;
    outcomes->graph = delta->grown.graph;
    return states_extend(&outcomes->states, tasks, error);
}

static int apply_delta(struct outcomes *outcomes, const struct sound_record *record,
                       struct payload_check *check, struct cairn_error *error)
{
    struct delta delta;
    struct change_target target = {&outcomes->states, error};
    assert_states(&outcomes->states);
    assert(record->header.kind == RECORD_DELTA);
    int rc = payload_parse_delta(record->payload, &delta, error);
    if (rc)
        return rc;
    check->base = delta.base;
    outcomes->changes = delta.n;
    if (delta.graph_tag == graph_tag(&outcomes->graph)) /* of a full one that is lost */
        outcomes->tag = delta.graph_tag;
    if (!outcomes->any_tag && delta_fit_graph(&delta, outcomes->tag, error))
        rc = PAYLOAD_FOREIGN;
    if (!rc)
        rc =
            apply_grown(outcomes, &delta, error)
                ?: delta_each(&delta, outcomes->states.n, apply_change, &target, error);
    delta_release(&delta);
    return rc;
}

static int apply_payload(void *state, const struct sound_record *record,
                         struct payload_check *check, struct cairn_error *error)
{
    assert_sound(record);
    assert(record->header.namespace_id == NAMESPACE_WORKFLOW);
    check->base = 0;
    return record->header.kind == RECORD_FULL
               ? apply_full(state, record, check, error)
               : apply_delta(state, record, check, error);
}

static void release_state(void *state)
{
    outcomes_release(state);
}

struct beginning {
    bool known;
    uint32_t tasks;
    struct digest graph;
};

static int note_beginning(void *context, const struct run_row *row)
{
    struct beginning *beginning = context;
    beginning->known = row->sum_ok && row->from_seq == 0 && row->gen == 1;
    beginning->tasks = row->tasks;
    beginning->graph = row->graph;
    return 0;
}

/* A run that is not a fork and whose definition never changed began with nothing
 * done. */
static int begin_empty(void *state, struct cairn_store *store, uint64_t run,
                       struct payload_frame *frame, struct cairn_error *error)
{
    struct outcomes *outcomes = state;
    struct beginning beginning = {0};
    assert(frame->base == 0); /* no full record was found */
    int rc = store_get_run(store, run, note_beginning, &beginning, error);
    if (rc < 0 && rc != CAIRN_ENOTFOUND)
        return rc;
    if (!beginning.known)
        return 0;
    struct outcomes made = {
        .graph = beginning.graph, .tag = graph_tag(&beginning.graph), .any_tag = true};
    rc = states_init(&made.states, beginning.tasks, error);
    if (rc)
        return rc;
    outcomes_release(outcomes);
    *outcomes = made;
    frame->size = beginning.tasks;
    frame->subject = made.tag;
    return 1;
}

/* ---- Describing ---- */

static void count_states(const struct states *states,
                         struct cairn_checkpoint_info *info)
{
    struct tally tally = states_tally(states);
    assert_states(states);
    info->total = tally.total;
    info->completed = tally.completed;
    info->failed = tally.failed;
    info->skipped = tally.skipped;
    info->cancelled = tally.cancelled;
    info->counted = true;
}

static int describe_payload(const struct sound_record *record,
                            struct cairn_checkpoint_info *info,
                            struct cairn_error *error)
{
    assert_sound(record);
    if (record->header.kind == RECORD_FULL) {
        struct states states;
        struct digest graph;
        int rc = payload_parse_full(record->payload, &states, &graph, error);
        if (rc)
            return rc;
        count_states(&states, info);
        states_release(&states);
        return 0;
    }
    struct delta delta;
    int rc = payload_parse_delta(record->payload, &delta, error);
    if (rc)
        return rc;
    info->changes = delta.n;
    delta_release(&delta);
    return 0;
}

static void summarize_state(const void *state, struct cairn_checkpoint_info *info)
{
    const struct outcomes *outcomes = state;
    info->changes = outcomes->changes;
    count_states(&outcomes->states, info);
}

/* ---- What the rows of runs say ---- */

struct fork_search {
    uint64_t run;
    payload_fork_fn *each;
    void *context;
};

/* A fork is always a newer run than what it forks from: newest first, stop early. */
static int match_fork(void *context, const struct run_row *row)
{
    struct fork_search *search = context;
    struct payload_fork branch = {row->from_seq, row->run, false};
    if (row->run <= search->run)
        return 1;
    if (row->from_seq == 0 || row->from_run != search->run)
        return 0;
    return search->each(search->context, &branch);
}

static int find_forks(struct cairn_store *store, uint64_t run, payload_fork_fn *each,
                      void *context, struct cairn_error *error)
{
    struct fork_search search = {run, each, context};
    struct run_filter newest_first = {.ascending = false};
    int rc = store_each_run(store, &newest_first, match_fork, &search, error);
    return rc < 0 ? rc : 0;
}

static int keep_needed(struct cairn_store *store, uint64_t stream,
                       const struct payload_fork *by, struct cairn_error *error)
{
    unsigned long long run = by->stream;
    (void)store;
    (void)stream;
    return error_set(error, CAIRN_EUSAGE,
                     "checkpoint workflow:%llu is kept: run %llu was started from it; "
                     "it can be deleted when run %llu is: `cairn gc --keep-runs 1 "
                     "--any-params` deletes that run once there is a newer one",
                     (unsigned long long)by->seq, run, run);
}

static int copy_state(void *context, const struct run_row *row)
{
    *(uint8_t *)context = row->state;
    return 0;
}

static int keep_newest(struct cairn_store *store, uint64_t stream, uint64_t seq,
                       bool newest, struct cairn_error *error)
{
    uint8_t state = CAIRN_RUN_COMPLETED;
    unsigned long long run = stream;
    if (!newest)
        return 0;
    int rc = store_get_run(store, stream, copy_state, &state, error);
    if (rc == CAIRN_ENOTFOUND)
        return 0;
    if (rc || state != CAIRN_RUN_UNFINISHED)
        return rc;
    return error_set(
        error, CAIRN_EUSAGE,
        "checkpoint workflow:%llu is kept: it is the newest of run %llu, "
        "which is unfinished and continues from it; finish the run (`cairn "
        "resume %llu`) or give it up (`cairn cancel %llu`) first",
        (unsigned long long)seq, run, run, run);
}

struct run_identity {
    struct cairn_store *store;
    struct cairn_checkpoint_info *info;
    int trust;
    struct cairn_error why;
};

static int copy_workflow(void *context, const struct run_row *row)
{
    struct run_identity *identity = context;
    snprintf(identity->info->workflow, sizeof identity->info->workflow, "%.*s",
             (int)row->workflow_name.len, row->workflow_name.ptr);
    identity->trust = run_check_forged(identity->store, row, &identity->why);
    return 0;
}

/* With a key, the records of a run whose row is forged do not count. */
static int identify_run(struct cairn_store *store, struct cairn_checkpoint_info *info,
                        struct cairn_error *error)
{
    struct run_identity identity = {.store = store, .info = info};
    int rc = store_get_run(store, info->run, copy_workflow, &identity, error);
    if (rc)
        return rc == CAIRN_ENOTFOUND ? 0 : rc;
    return identity.trust ? error_set(error, identity.trust, "%s", identity.why.text)
                          : 0;
}

const struct payload_kind outcomes_kind = {
    .namespace_id = NAMESPACE_WORKFLOW,
    .stream_noun = "run",
    .loss_text = "Resume passes it over; tasks whose end only it recorded run again",
    .restart = "`cairn run FILE --fresh` starts again",
    .root_noun = "graph",
    .root_loss = "their runs go on only with the workflow's file as it was",
    .part_lost =
        "a repair could not save the graph of its run, which continues only with "
        "the workflow's file as it was",
    .check = check_payload,
    .describe = describe_payload,
    .state_bytes = sizeof(struct outcomes),
    .apply = apply_payload,
    .state_release = release_state,
    .summarize = summarize_state,
    .fold_bytes = sizeof(struct outcome_fold),
    .fold = outcome_fold,
    .fold_put = outcome_fold_put,
    .fold_release = outcome_fold_release,
    .begin = begin_empty,
    .find_forks = find_forks,
    .keep_needed = keep_needed,
    .keep_one = keep_newest,
    .identify = identify_run,
};

/* Writing the checkpoints of a run, and reading them back. */

/* ---- Writing ---- */

struct run_stream run_stream_of(struct cairn_store *store, struct sha256 *sha,
                                uint64_t run, const struct digest *graph)
{
    assert(run > 0);
    return (struct run_stream){
        .chain = {.in = {.store = store, .sha = sha, .kind = &outcomes_kind},
                  .id = run},
        .graph = *graph};
}

int run_stream_full(struct run_stream *stream, const struct states *states,
                    int64_t time_ns, struct checkpoint_ref *ref,
                    struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    assert_states(states);
    assert(stream->chain.in.kind == &outcomes_kind);
    int rc = payload_full(states, &stream->graph, &bytes, error);
    if (rc == 0) {
        struct chain_payload payload = {.bytes = buf_view(&bytes),
                                        .size = states->n,
                                        .full = true,
                                        .time_ns = time_ns};
        rc = chain_append(&stream->chain, &payload, ref, error);
    }
    if (rc == 0)
        stream->tag = stream->tasks = 0;
    buf_release(&bytes);
    return rc;
}

void run_stream_extend(struct run_stream *stream, const struct digest *graph,
                       uint32_t tasks)
{
    assert(tasks >= stream->tasks);
    if (!stream->tasks)
        stream->tag = graph_tag(&stream->graph);
    stream->graph = *graph;
    stream->tasks = tasks;
}

int run_stream_delta(struct run_stream *stream, const struct change *changes, size_t n,
                     int64_t time_ns, struct checkpoint_ref *ref,
                     struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    assert(stream->chain.in.kind == &outcomes_kind);
    const struct grown grown = {(uint32_t)stream->tasks, stream->graph};
    uint64_t base = stream->chain.base, tag = graph_tag(&stream->graph);
    int rc = grown.tasks
                 ? payload_grown(base, stream->tag, &grown, changes, n, &bytes, error)
                 : payload_delta(base, tag, changes, n, &bytes, error);
    if (rc == 0) {
        struct chain_payload payload = {.bytes = buf_view(&bytes), .time_ns = time_ns};
        rc = chain_append(&stream->chain, &payload, ref, error);
    }
    buf_release(&bytes);
    return rc;
}

/* ---- Reading ---- */

int outcomes_rebuild(struct cairn_store *store, uint64_t seq, struct outcomes *out,
                     struct rebuilt *at, struct cairn_error *error)
{
    struct outcomes made = {0};
    struct rebuilt built;
    struct chains in = {.store = store, .sha = sha256_new(), .kind = &outcomes_kind};
    if (!in.sha)
        return error_nomem(error);
    int rc = chain_rebuild(&in, seq, &made, &built, error);
    sha256_free(in.sha);
    if (rc)
        return rc;
    assert(built.ref.seq == seq);
    if (at)
        *at = built;
    if (out)
        *out = made;
    else
        outcomes_release(&made);
    return 0;
}

int outcomes_recover(struct cairn_store *store, struct sha256 *sha, uint64_t run,
                     struct recovery *recovery, struct cairn_error *error)
{
    struct chains in = {.store = store, .sha = sha, .kind = &outcomes_kind};
    struct outcomes found = {0};
    struct chain_recovery chain;
    int rc = chain_recover(&in, run, &found, &chain, error);
    if (rc)
        return rc;
    assert(chain.head.parent == chain.newest.seq && chain.head.id == run);
    bool grown = found.tag != graph_tag(&found.graph);
    *recovery = (struct recovery){.states = found.states,
                                  .graph = found.graph,
                                  .head = {.chain = chain.head,
                                           .graph = found.graph,
                                           .tasks = grown ? found.states.n : 0,
                                           .tag = grown ? found.tag : 0},
                                  .newest = chain.newest,
                                  .damaged = chain.damaged,
                                  .reasons = chain.reasons,
                                  .n_damaged = chain.n_damaged,
                                  .gap = chain.gap};
    return 0;
}

void recovery_release(struct recovery *recovery)
{
    struct chain_recovery chain = {.damaged = recovery->damaged,
                                   .reasons = recovery->reasons,
                                   .n_damaged = recovery->n_damaged};
    chain_recovery_release(&chain);
    states_release(&recovery->states);
    *recovery = (struct recovery){0};
}
