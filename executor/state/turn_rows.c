/* SPDX-License-Identifier: MIT */
/* The rows and records that a turn becomes. */
#include "executor/state/turn_rows.h"

#include "executor/state/job_disk.h"

#include "runs/outputs.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_made.h"
#include "storage/store.h"

#include <stdlib.h>

/* What is too large to be stored at all must not keep the rest from being saved. */
static int put_captured(struct engine *e, struct ending *ending, int stream,
                        struct digest *digest, struct cairn_error *error)
{
    struct buf *content = &ending->captured[stream].content;
    struct str *field = stream ? &ending->row.err : &ending->row.out;
    struct cairn_error why = {0};
    *field = (struct str){NULL, 0};
    if (content->size == 0)
        return 0;
    int rc = store_put_object(e->request.store, buf_view(content), digest, &why);
    if (rc == CAIRN_ELIMIT) {
        buf_release(content);
        job_lose_output(e, ending->row.task, why.text);
        return 0;
    }
    *field = (struct str){(const char *)digest->bytes, DIGEST_SIZE};
    if (rc && error)
        *error = why;
    return rc;
}

/* Of a merged log, in the place of the second stream. */
static int put_times(struct engine *e, struct ending *ending, struct digest *digest,
                     struct cairn_error *error)
{
    if (!(ending->row.flags & ATTEMPT_MERGED) || !ending->times.size)
        return 0;
    int rc =
        store_put_object(e->request.store, buf_view(&ending->times), digest, error);
    ending->row.err = (struct str){(const char *)digest->bytes, DIGEST_SIZE};
    return rc;
}

/* A row that was never an intent in the store, because saving failed meanwhile, begins
 * where it ends. */
int put_attempt(struct engine *e, struct ending *ending, uint64_t turn,
                struct cairn_error *error)
{
    struct attempt_row *row = &ending->row;
    struct digest out, err, result_digest;
    int rc = put_captured(e, ending, 0, &out, error);
    if (!rc)
        rc = put_captured(e, ending, 1, &err, error);
    if (!rc)
        rc = put_times(e, ending, &err, error);
    row->outputs = (struct str){NULL, 0};
    if (!rc && ending->result.size) {
        rc = store_put_object(e->request.store, buf_view(&ending->result),
                              &result_digest, error);
        row->outputs = (struct str){(const char *)result_digest.bytes, DIGEST_SIZE};
    }
    row->text = buf_view(&ending->text);
    row->end_turn = turn;
    if (!row->start_turn)
        row->start_turn = turn;
    return rc ? rc : store_put_attempt(e->request.store, row, error);
}

static int by_task(const void *a, const void *b)
{
    uint32_t x = ((const struct change *)a)->task, y = ((const struct change *)b)->task;
    return (x > y) - (x < y);
}

/* What could not run because of this one shares a record. */
static int put_skips(struct engine *e, struct ending *ending, struct cairn_error *error)
{
    if (!ending->skipped.n)
        return 0;
    struct change *changes = calloc(ending->skipped.n, sizeof *changes);
    if (!changes)
        return error_nomem(error);
    for (uint32_t i = 0; i < ending->skipped.n; i++)
        changes[i] = (struct change){.task = ending->skipped.at[i].task,
                                     .outcome = ending->skipped.at[i].outcome};
    qsort(changes, ending->skipped.n, sizeof *changes, by_task);
    int rc = run_stream_delta(&e->saving.stream, changes, ending->skipped.n,
                              ending->row.ended_ns, NULL, error);
    free(changes);
    return rc;
}

/* What it changed in place was there before, and may be the user's own. */
static bool is_input(const struct result *result, struct str name)
{
    bool found = false;
    for (uint32_t i = 0; i < result->n_inputs && !found; i++)
        found = str_equal(result->inputs[i].name, name);
    return found;
}

static int put_made_files(struct engine *e, const struct scope *scope,
                          const struct result *result, struct cairn_error *error)
{
    struct buf place = BUF_INIT;
    int rc = 0;
    for (uint32_t i = 0; i < result->n_outputs && !rc; i++) {
        const struct result_file *file = &result->outputs[i];
        if (is_input(result, file->name))
            continue;
        rc = task_file_place(scope, file->name, &place, error);
        const struct made_row row = {
            .workflow = e->run.row.workflow,
            .task =
                str_of(e->request.graph->id[((struct asker *)scope->context)->task]),
            .path = buf_view(&place),
            .kind = file->kind,
            .size = file->size,
            .inode = file->inode,
            .mtime_ns = file->mtime_ns,
            .ctime_ns = file->ctime_ns,
            .digest = file->digest};
        if (!rc)
            rc = store_put_made(e->request.store, &row, error);
    }
    buf_release(&place);
    return rc;
}

/* Who made its outputs stays known when the task is gone from the definition. */
static int put_made(struct engine *e, const struct ending *ending,
                    struct cairn_error *error)
{
    struct asker asker = {&e->progress.lookup, ending->row.task, ending->row.number};
    struct scope scope = lookup_scope(&asker);
    struct arena arena = ARENA_INIT;
    struct result result;
    if (ending->change.outcome != CAIRN_COMPLETED || !ending->result.size ||
        !scope.def->n_outputs)
        return 0;
    int rc = result_decode(&arena, buf_view(&ending->result), &result, error);
    if (!rc)
        rc = put_made_files(e, &scope, &result, error);
    arena_release(&arena);
    return rc;
}

int put_ending(struct engine *e, struct ending *ending, uint64_t turn,
               struct cairn_error *error)
{
    struct checkpoint_ref ref = {0};
    int rc = ending->final ? run_stream_delta(&e->saving.stream, &ending->change, 1,
                                              ending->row.ended_ns, &ref, error)
                           : 0;
    ending->seq = ending->row.checkpoint = ref.seq;
    if (!rc && ending->row.number)
        rc = put_attempt(e, ending, turn, error);
    if (!rc && ending->final)
        rc = put_made(e, ending, error);
    return rc ? rc : put_skips(e, ending, error);
}

bool endings_lose_output(struct engine *e, size_t bytes, const char *why)
{
    bool lost = false;
    for (uint32_t i = 0; i < e->turn.n_endings; i++) {
        struct ending *ending = &e->turn.endings[i];
        struct buf *out = &ending->captured[0].content;
        struct buf *err = &ending->captured[1].content;
        if (out->size + err->size <= bytes)
            continue;
        buf_release(out);
        buf_release(err);
        buf_release(&ending->times);
        job_lose_output(e, ending->row.task, why);
        lost = true;
    }
    return lost;
}

static uint8_t flags_of(const struct intent *intent)
{
    uint8_t merged = intent->merged ? ATTEMPT_MERGED : 0;
    return intent->role == ROLE_UNDO     ? ATTEMPT_UNDO | merged
           : intent->role == ROLE_DECIDE ? ATTEMPT_CHECK
                                         : merged;
}

/* Of an attempt that was not started. */
static struct attempt_row row_of(const struct engine *e, const struct intent *intent)
{
    return (struct attempt_row){.run = e->run.row.run,
                                .gen = e->run.row.gen,
                                .task = intent->task,
                                .number = intent->attempt,
                                .intent_ns = intent->intent_ns,
                                .exit_code = -1,
                                .flags = flags_of(intent),
                                .start_turn = intent->turn};
}

int put_intent(struct engine *e, struct intent *intent, uint64_t turn,
               struct cairn_error *error)
{
    intent->turn = turn;
    struct attempt_row row = row_of(e, intent);
    return store_put_intent(e->request.store, &row, error);
}

static int close_intent(struct engine *e, const struct intent *intent,
                        struct cairn_error *error)
{
    struct attempt_row row = row_of(e, intent);
    row.ended_ns = loop_utc_ns(e);
    return store_put_attempt(e->request.store, &row, error);
}

static int close_queued(struct engine *e, const struct start_queue *queue,
                        struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t i = queue->head; i < queue->list.n && !rc; i++)
        rc = close_intent(e, &queue->list.at[i], error);
    return rc;
}

int close_intents(struct engine *e, struct cairn_error *error)
{
    int rc = close_queued(e, &e->starts.queue, error);
    if (!rc)
        rc = close_queued(e, &e->starts.calls, error);
    for (uint32_t i = 0; i < e->starts.dropped.n && !rc; i++)
        rc = close_intent(e, &e->starts.dropped.at[i], error);
    return rc;
}
