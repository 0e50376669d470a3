/* SPDX-License-Identifier: MIT */
/* The rows and records that a turn becomes. */
#include "executor/state/turn_rows.h"

#include "executor/state/before.h"
#include "executor/state/job_disk.h"
#include "executor/state/report.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "checkpoint/retain/retain.h"
#include "runs/output.h"
#include "runs/outputs.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"
#include "storage/rows_files.h"
#include "storage/rows_gc.h"
#include "storage/rows_made.h"
#include "storage/rows_reuse.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <stdlib.h>

/* Output that is in the store already; that of an attempt of another run may be gone by
 * now. */
static int put_stored(struct engine *e, const struct digest *stored, struct str *field,
                      struct cairn_error *error)
{
    bool there = false;
    int rc = store_use_object(e->request.store, stored, &there, error);
    if (there)
        *field = digest_view(stored);
    return rc;
}

static uint16_t list_flag(int stream)
{
    return stream ? ATTEMPT_ERR_LIST : ATTEMPT_OUT_LIST;
}

static int put_captured(struct engine *e, struct ending *ending, int stream,
                        struct digest *digest, struct cairn_error *error)
{
    const struct buf *content = &ending->captured[stream].content;
    struct str *field = stream ? &ending->row.err : &ending->row.out;
    bool listed = false;
    *field = (struct str){NULL, 0};
    if (!digest_is_none(&ending->stored[stream]))
        return put_stored(e, &ending->stored[stream], field, error);
    ending->row.flags &= (uint16_t)~list_flag(stream);
    if (content->size == 0)
        return 0;
    int rc = output_put(e->request.store, buf_view(content), digest, &listed, error);
    *field = (struct str){(const char *)digest->bytes, DIGEST_SIZE};
    ending->row.flags |= listed ? list_flag(stream) : 0;
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

/* The result of the other attempt is this one's, too. Its run may have been deleted since
 * it was read. */
static int use_result(struct engine *e, const struct ending *ending,
                      struct digest *digest, struct cairn_error *error)
{
    struct buf encoded = BUF_INIT;
    bool there;
    int rc = store_use_object(e->request.store, &ending->change.outputs, &there, error);
    *digest = ending->change.outputs;
    if (!rc && !there)
        rc = result_encode(ending->same, &encoded, error)
                 ?: store_put_object(e->request.store, buf_view(&encoded), digest,
                                     error);
    buf_release(&encoded);
    if (!rc && !digest_equal(digest, &ending->change.outputs))
        rc = error_set(error, CAIRN_EDAMAGED,
                       "what the task has left is not in the store any more");
    return rc;
}

/* A row that was never an intent in the store, because saving failed meanwhile, begins
 * where it ends. */
int put_attempt(struct engine *e, struct ending *ending, uint64_t turn,
                struct cairn_error *error)
{
    struct attempt_row *row = &ending->row;
    struct digest out, err, result_digest;
    int rc = put_captured(e, ending, 0, &out, error)
             ?: put_captured(e, ending, 1, &err, error)
             ?: put_times(e, ending, &err, error);
    row->outputs = (struct str){NULL, 0};
    bool same = ending->same && !digest_is_none(&ending->change.outputs);
    if (!rc && (same || ending->result.size)) {
        rc = same ? use_result(e, ending, &result_digest, error)
                  : store_put_object(e->request.store, buf_view(&ending->result),
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

/* `task` of the graph; NODE_NONE: it is gone from it. */
static int put_made_file(struct engine *e, const struct scope *scope, uint32_t task,
                         const char *id, const struct result_file *file,
                         struct cairn_error *error)
{
    struct buf place = BUF_INIT;
    int rc = task_file_place(scope, file->name, &place, error);
    bool anew = file->kind == MADE_DIRECTORY ||
                (task != NODE_NONE && !before_has(e, task, buf_view(&place)));
    const struct made_row row = {.workflow = e->run.row.workflow,
                                 .task = str_of(id),
                                 .path = buf_view(&place),
                                 .kind = anew ? file->kind : MADE_IN_PLACE,
                                 .size = file->size,
                                 .inode = file->inode,
                                 .mtime_ns = file->mtime_ns,
                                 .ctime_ns = file->ctime_ns,
                                 .digest = file->digest};
    if (!rc)
        rc = store_put_made(e->request.store, &row, error);
    if (!rc)
        before_note(e, &row);
    buf_release(&place);
    return rc;
}

/* Who made its outputs stays known when the task is gone from the definition. */
static int put_made(struct engine *e, const struct ending *ending,
                    struct cairn_error *error)
{
    struct asker asker = {.lookup = &e->progress.lookup,
                          .task = ending->row.task,
                          .attempt = ending->row.number};
    struct scope scope = lookup_scope(&asker);
    struct arena arena = ARENA_INIT;
    struct result result = {0};
    bool completed = ending->change.outcome == CAIRN_COMPLETED;
    const struct buf *made = completed ? &ending->result : &ending->left;
    if (!scope.def->n_outputs || !made->size)
        return 0;
    int rc = result_decode(&arena, buf_view(made), &result, error);
    for (uint32_t i = 0; i < result.n_outputs && !rc; i++)
        if (!is_input(&result, result.outputs[i].name))
            rc = put_made_file(e, &scope, asker.task, e->request.graph->id[asker.task],
                               &result.outputs[i], error);
    arena_release(&arena);
    return rc;
}

/* Whoever is given the same later may use what it made; not if that has failed since, nor
 * what its fallback made: the task itself is tried. */
static int put_key(struct engine *e, const struct ending *ending,
                   struct cairn_error *error)
{
    const struct attempt_row *row = &ending->row;
    uint8_t outcome =
        row->flags & ATTEMPT_FALLBACK ? CAIRN_FAILED : ending->change.outcome;
    if (!e->keys || !ending->final || !row->number || row->flags & ATTEMPT_UNDO ||
        (outcome != CAIRN_COMPLETED && outcome != CAIRN_FAILED) ||
        digest_is_none(&e->keys[row->task]))
        return 0;
    const struct reuse_row key = {.workflow = e->run.row.workflow,
                                  .key = e->keys[row->task],
                                  .run = row->run,
                                  .gen = row->gen,
                                  .task = row->task,
                                  .attempt = row->number,
                                  .result = ending->change.outputs};
    return outcome == CAIRN_FAILED ? store_drop_reuse(e->request.store, &key, error)
                                   : store_put_reuse(e->request.store, &key, error);
}

/* In the transaction in which the other attempt's are still there. */
static int copy_files(struct engine *e, const struct ending *ending,
                      struct files_row *row, struct cairn_error *error)
{
    struct files_row other = {
        .kind = row->kind, .run = ending->spared_run, .id = row->id};
    int rc = store_get_files(e->request.store, &other, error);
    if (rc > 0 && other.attempt != ending->spared_attempt)
        rc = 0;
    row->files = other.files;
    return rc;
}

/* What it has left in the pool is found by the task's id. `own`: the snapshot is that of
 * the ending; `time_ms` 0: as long as the run. */
static int put_files(struct engine *e, const struct ending *ending,
                     struct files_row *files, bool own, int64_t time_ms,
                     struct cairn_error *error)
{
    const struct attempt_row *row = &ending->row;
    int64_t longest_ms = (INT64_MAX - row->ended_ns) / 1000000;
    bool there = true;
    files->run = row->run;
    files->id = str_of(e->request.graph->id[row->task]);
    files->gen = row->gen;
    files->task = row->task;
    files->attempt = row->number;
    int rc = own ? 1 : copy_files(e, ending, files, error);
    if (rc <= 0)
        return rc;
    if (time_ms && time_ms < longest_ms)
        files->until_ns = row->ended_ns + time_ms * 1000000;
    rc = digest_is_none(&files->files)
             ? 0
             : store_use_object(e->request.store, &files->files, &there, error);
    return rc || !there ? rc : store_put_files(e->request.store, files, error);
}

static int put_artifacts(struct engine *e, const struct ending *ending,
                         struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->request.graph, ending->row.task);
    struct files_row files = {.kind = FILES_ARTIFACTS, .files = ending->artifacts};
    return !def->n_artifacts || (!ending->has_artifacts && !ending->spared_run)
               ? 0
               : put_files(e, ending, &files, ending->has_artifacts, def->artifacts_ms,
                           error);
}

/* Copies of its outputs stay for their time after each run that uses them. */
static int put_kept(struct engine *e, const struct ending *ending,
                    struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->request.graph, ending->row.task);
    struct files_row files = {.kind = FILES_KEPT, .files = ending->copies};
    return !def->reuse_ms || (!ending->has_copies && !ending->spared_run)
               ? 0
               : put_files(e, ending, &files, ending->has_copies, def->reuse_ms, error);
}

/* What was spared in one go shares a record. */
static uint32_t end_of_record(const struct engine *e, uint32_t i)
{
    const struct ending *endings = e->turn.endings;
    bool spared = endings[i++].spared;
    while (spared && i < e->turn.n_endings && endings[i].spared)
        i++;
    return i;
}

/* The checkpoint of the endings [from, end). */
static int put_outcomes(struct engine *e, uint32_t from, uint32_t end,
                        struct cairn_error *error)
{
    struct ending *endings = e->turn.endings;
    struct checkpoint_ref ref = {0};
    struct change one, *changes = &one;
    uint32_t n = 0;
    if (end > from + 1)
        changes = malloc((end - from) * sizeof *changes);
    if (!changes)
        return error_nomem(error);
    for (uint32_t i = from; i < end; i++)
        if (endings[i].final)
            changes[n++] = endings[i].change;
    qsort(changes, n, sizeof *changes, by_task);
    int rc = n ? run_stream_delta(&e->saving.stream, changes, n,
                                  endings[from].row.ended_ns, &ref, error)
               : 0;
    for (uint32_t i = from; i < end; i++)
        endings[i].seq = endings[i].row.checkpoint = ref.seq;
    if (changes != &one)
        free(changes);
    return rc;
}

/* After the checkpoint, which the attempt's row names. Then what was skipped. */
static int put_ending(struct engine *e, struct ending *ending, uint64_t turn,
                      struct cairn_error *error)
{
    int rc = ending->row.number ? put_attempt(e, ending, turn, error) : 0;
    if (!rc && ending->final && (!ending->spared || ending->put_back))
        rc = put_made(e, ending, error);
    if (!rc && ending->row.number)
        rc = put_artifacts(e, ending, error) ?: put_kept(e, ending, error);
    if (!rc)
        rc = put_key(e, ending, error);
    return rc ? rc : put_skips(e, ending, error);
}

static size_t bytes_to_store(const struct ending *ending)
{
    size_t bytes = 0;
    for (int i = 0; i < 2; i++)
        bytes +=
            digest_is_none(&ending->stored[i]) ? ending->captured[i].content.size : 0;
    return bytes;
}

/* Gives up what attempts wrote, where it is more than so many bytes and waits to be
 * stored, and says so with the reason; false: there was nothing. */
static bool endings_lose_output(struct engine *e, size_t bytes, const char *why)
{
    bool lost = false;
    for (uint32_t i = 0; i < e->turn.n_endings; i++) {
        struct ending *ending = &e->turn.endings[i];
        if (bytes_to_store(ending) <= bytes)
            continue;
        for (int k = 0; k < 2; k++)
            if (digest_is_none(&ending->stored[k]))
                buf_release(&ending->captured[k].content);
        buf_release(&ending->times);
        job_lose_output(e, ending->row.task, why);
        lost = true;
    }
    return lost;
}

static uint16_t flags_of(const struct intent *intent)
{
    uint16_t flags = intent_flags(intent);
    return intent->role == ROLE_UNDO     ? ATTEMPT_UNDO | flags
           : intent->role == ROLE_DECIDE ? ATTEMPT_CHECK
                                         : flags;
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

static int put_intent(struct engine *e, struct intent *intent, uint64_t turn,
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

/* Intents whose attempt never started are closed, so that nobody takes them for
 * interrupted ones. */
static int close_intents(struct engine *e, struct cairn_error *error)
{
    int rc = close_queued(e, &e->starts.queue, error)
                 ?: close_queued(e, &e->starts.calls, error);
    for (uint32_t i = 0; i < e->starts.dropped.n && !rc; i++)
        rc = close_intent(e, &e->starts.dropped.at[i], error);
    return rc;
}

/* The commit of a turn: endings, checkpoints and intents in one transaction; and what
 * happens while it fails. */

enum { DEFAULT_KEEP = 50, COMMIT_RETRY_NS = 2000000, DEGRADED_RETRY_NS = 1000000000 };

/* ---- The chain ---- */

int saving_open(struct engine *e, uint32_t ahead, struct cairn_error *error)
{
    e->saving.ahead = ahead;
    e->saving.sha = sha256_new();
    return e->saving.sha ? 0 : error_nomem(error);
}

void saving_hold_content(struct engine *e, bool *locked)
{
    e->saving.holds_content |= *locked;
    *locked = false;
}

void saving_let_go_of_content(struct engine *e)
{
    if (e->saving.holds_content)
        store_gc_unlock(e->request.store);
    e->saving.holds_content = false;
}

void saving_release(struct engine *e)
{
    saving_let_go_of_content(e);
    sha256_free(e->saving.sha);
}

void saving_begin_chain(struct engine *e, const struct run_stream *head)
{
    e->saving.stream = *head;
    e->saving.since = head->chain.parent;
    e->saving.stream.chain.in.store = e->request.store;
    e->saving.stream.chain.in.sha = e->saving.sha;
    e->saving.stream.graph = e->run.situation.present.digest;
}

int saving_put_full(struct engine *e, struct cairn_error *error)
{
    return run_stream_full(&e->saving.stream, &e->progress.states, loop_utc_ns(e), NULL,
                           error);
}

void saving_try_now(struct engine *e)
{
    e->saving.waits = false;
}

/* ---- A turn ---- */

static int mark_commands(struct engine *e, struct cairn_error *error)
{
    const struct turn *turn = &e->turn;
    return turn->last_command == turn->stored_command
               ? 0
               : store_mark_commands(e->request.store, e->run.row.run,
                                     turn->last_command, error);
}

/* With a record, so that those of the attempts that follow have numbers of its graph. */
static int put_extended(struct engine *e, struct cairn_error *error)
{
    if (!e->run.grown)
        return 0;
    int64_t began_ns = clock_thread_ns();
    struct run_stream *stream = &e->saving.stream;
    run_stream_extend(stream, &e->run.row.graph, e->run.row.tasks);
    int rc = owned_run_put_extended(e, error);
    if (!rc)
        rc = stream->chain.base
                 ? run_stream_delta(stream, NULL, 0, loop_utc_ns(e), NULL, error)
                 : saving_put_full(e, error);
    e->run.took_ns += clock_thread_ns() - began_ns;
    return rc;
}

/* Intents first: while saving failed, an attempt may have started and ended unsaved,
 * and then its ending replaces the row of its intent. */
static int put_turn(struct engine *e, struct cairn_error *error)
{
    uint64_t turn;
    int rc = store_next_turn(e->request.store, e->run.row.run, &turn, error)
                 ?: put_extended(e, error);
    for (uint32_t i = 0; i < e->turn.intents.n && !rc; i++)
        rc = put_intent(e, &e->turn.intents.at[i], turn, error);
    for (uint32_t i = 0, end; i < e->turn.n_endings && !rc; i = end) {
        end = end_of_record(e, i);
        rc = put_outcomes(e, i, end, error);
        for (uint32_t k = i; k < end && !rc; k++)
            rc = put_ending(e, &e->turn.endings[k], turn, error);
    }
    if (!rc)
        rc = audit_put(e, turn, error);
    if (!rc && e->saving.degraded)
        rc = audit_put_now(e, turn, EVENT_RECOVERED, error);
    if (!rc)
        rc = owned_run_put_answers(e, error) ?: mark_commands(e, error);
    if (!rc && chain_wants_full(&e->saving.stream.chain))
        rc = saving_put_full(e, error);
    return rc;
}

/* All of it is stored, or nothing is kept. */
static void finish_turn(struct engine *e)
{
    turn_act(e, true);
    turn_forget(e);
    owned_run_note_extended(e);
    saving_let_go_of_content(e);
    jobs_set_unsaved(e, 0);
}

static void retry_commit_in(struct engine *e, int64_t delay_ns)
{
    e->saving.waits = true;
    loop_set_timer(e, TIMER_COMMIT, delay_ns, 0, 0);
}

static void note_save_failure(struct engine *e, const struct cairn_error *why)
{
    if (!e->saving.degraded) {
        e->saving.degraded = true;
        audit_event(e, EVENT_DEGRADED, 0, UINT32_MAX, str_of(why->text));
        report(e, CAIRN_EVENT_DEGRADED, why->text);
    }
    if (e->request.options->saving == CAIRN_BEST_EFFORT)
        turn_act(e, false);
    jobs_set_unsaved(e, turn_count_unsaved(e));
    retry_commit_in(e, DEGRADED_RETRY_NS);
}

/* The outputs that a failed attempt has written: nobody reads them, so they are known
 * by size and times alone. What is older is not from this attempt. */
static int find_left(struct files *files, const struct result *known,
                     int64_t started_ns, struct result *left, struct cairn_error *error)
{
    enum { CLOCK_STEP_NS = 10000000 }; /* times of files may be so far behind */
    struct stat st;
    size_t room = 0;
    int rc;
    while ((rc = files_step(files, error)) > 0) {
        if (lstat(files->path.data, &st) != 0 ||
            is_input(known, buf_view(&files->name)))
            continue;
        int64_t changed_ns = st.st_ctim.tv_sec * 1000000000ll + st.st_ctim.tv_nsec;
        if (changed_ns < started_ns - CLOCK_STEP_NS)
            continue;
        struct result_file *all =
            array_room(left->outputs, left->n_outputs, &room, sizeof *all);
        struct str name = arena_str(&files->arena, buf_view(&files->name));
        if (all)
            left->outputs = all;
        if (!all || !name.ptr)
            return error_nomem(error);
        all[left->n_outputs++] = (struct result_file){
            .name = name,
            .kind = S_ISDIR(st.st_mode) ? 'd' : 'f',
            .size = (uint64_t)st.st_size,
            .inode = st.st_ino,
            .mtime_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec,
            .ctime_ns = changed_ns};
    }
    return rc;
}

static int look_at_left(struct engine *e, struct ending *ending,
                        struct cairn_error *error)
{
    struct asker asker = {.lookup = &e->progress.lookup,
                          .task = ending->row.task,
                          .attempt = ending->row.number};
    struct scope scope = lookup_scope(&asker);
    struct arena arena = ARENA_INIT;
    struct result known = {0}, left = {0};
    struct files files;
    struct cairn_error why = {0};
    if (!scope.def->n_outputs)
        return 0;
    int rc = files_begin(&files, &scope, false, &why);
    if (!rc && ending->result.size)
        rc = result_decode(&arena, buf_view(&ending->result), &known, &why);
    if (!rc)
        rc = find_left(&files, &known, ending->row.started_ns, &left, &why)
                 ?: result_encode(&left, &ending->left, &why);
    files_release(&files);
    free(left.outputs);
    arena_release(&arena);
    /* Names that cannot be made are why it failed: they name no files. */
    return rc == CAIRN_ENOMEM ? error_nomem(error) : 0;
}

/* Before the store is locked: a file system may let us wait. */
static int look_at_all_left(struct engine *e, struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < e->turn.n_endings && !rc; i++) {
        struct ending *ending = &e->turn.endings[i];
        bool skipped = ending->change.outcome == CAIRN_EXCLUDED && ending->row.number;
        bool left = skipped || ending->change.outcome == CAIRN_FAILED ||
                    ending->change.outcome == CAIRN_CANCELLED;
        if (!ending->final || !left || ending->left_known)
            continue;
        rc = look_at_left(e, ending, error);
        ending->left_known = !rc;
    }
    return rc;
}

int put_left_by_gone(struct engine *e, const struct attempt_row *row,
                     struct cairn_error *error)
{
    const struct situation *s = &e->run.situation;
    const struct graph *old = situation_old(s, e->request.workflow);
    if (row->task >= old->n_tasks ||
        situation_task_now(s, e->request.workflow, row->task) != NODE_NONE)
        return 0;
    struct scope scope = {.definition = old->definition,
                          .def = graph_def(old, row->task),
                          .member = graph_member(old, row->task)};
    struct result known = {0}, left = {0};
    struct files files;
    struct cairn_error why = {0};
    int rc = files_begin(&files, &scope, false, &why)
                 ?: find_left(&files, &known, row->started_ns, &left, &why);
    for (uint32_t i = 0; i < left.n_outputs && !rc; i++)
        rc = put_made_file(e, &scope, NODE_NONE, old->id[row->task], &left.outputs[i],
                           error);
    files_release(&files);
    free(left.outputs);
    /* Names that cannot be made without the values of other tasks are not known. */
    return rc == CAIRN_EWORKFLOW ? 0 : rc;
}

/* Not where the disk may become full, since what was put would not be taken back, and the
 * outcome needs room. */
static void put_long_output(struct engine *e, struct ending *ending, int stream)
{
    enum { ROOM_BYTES = 64 << 20 };
    struct str content = buf_view(&ending->captured[stream].content);
    struct digest list;
    bool holds;
    if (content.len <= LONG_OUTPUT_BYTES || !digest_is_none(&ending->stored[stream]) ||
        !disk_has_room(cairn_store_path(e->request.store),
                       2 * (uint64_t)content.len + ROOM_BYTES))
        return;
    int rc = output_put_ahead(e->request.store, content, &list, &holds, NULL);
    saving_hold_content(e, &holds);
    if (rc)
        return;
    ending->stored[stream] = list;
    ending->row.flags |= list_flag(stream);
}

void saving_put_long_output(struct engine *e, struct ending *ending)
{
    for (int stream = 0; stream < 2; stream++)
        put_long_output(e, ending, stream);
}

int engine_transact(struct engine *e, int wait_ms,
                    int (*put)(struct engine *, struct cairn_error *),
                    struct cairn_error *error)
{
    struct run_stream before = e->saving.stream;
    int rc = look_at_all_left(e, error);
    for (uint32_t i = 0; i < e->turn.n_endings && !rc; i++)
        saving_put_long_output(e, &e->turn.endings[i]);
    rc = rc ?: store_begin(e->request.store, wait_ms, error);
    if (rc)
        return rc;
    rc = store_end(e->request.store, put(e, error), error);
    if (rc) {
        e->saving.stream = before;
        turn_drop_sequence_numbers(e);
    }
    return rc;
}

/* As many intents ahead as tasks are likely to end within the window, by the rate since
 * the last commit. */
static void adapt_intents_ahead(struct engine *e)
{
    enum { WINDOW_NS = 12000000 };
    uint32_t least = e->jobs.limit < AHEAD_MOST ? e->jobs.limit : AHEAD_MOST;
    int64_t now = loop_now_ns(e), took = now - e->saving.acted_ns;
    e->saving.acted_ns = now;
    if (!e->jobs.runner_open || !e->turn.n_endings)
        return;
    int64_t wanted = (int64_t)e->turn.n_endings * WINDOW_NS / (took > 0 ? took : 1);
    uint32_t next = wanted < AHEAD_MOST ? (uint32_t)wanted : AHEAD_MOST;
    next = (e->saving.ahead + next + 1) / 2;
    e->saving.ahead = next > least ? next : least;
}

int engine_commit(struct engine *e, struct cairn_error *error)
{
    struct cairn_error why = {0};
    if (!e->turn.n_endings && !e->turn.intents.n && !e->run.grown &&
        e->turn.last_command == e->turn.stored_command) {
        turn_act(e, true); /* offers */
        return 0;
    }
    if (e->saving.waits) {
        if (e->saving.degraded && e->request.options->saving == CAIRN_BEST_EFFORT)
            turn_act(e, false);
        return 0;
    }
    if (!e->request.store) {
        finish_turn(e);
        return 0;
    }
    int rc = engine_transact(e, 0, put_turn, &why);
    if (rc == CAIRN_EBUSY) {
        /* Another command writes at this moment; a lock kept for long is trouble. */
        enum { PATIENCE_S = 30 };
        int64_t now = loop_now_ns(e);
        if (!e->saving.busy_since_ns)
            e->saving.busy_since_ns = now;
        if (now - e->saving.busy_since_ns < PATIENCE_S * 1000000000ll) {
            retry_commit_in(e, COMMIT_RETRY_NS);
            return 0;
        }
    }
    e->saving.busy_since_ns = 0;
    if (rc == CAIRN_ENOMEM || rc == CAIRN_EDAMAGED) {
        if (error)
            *error = why;
        return rc;
    }
    if (rc) {
        note_save_failure(e, &why);
        return 0;
    }
    if (e->saving.degraded) {
        e->saving.degraded = false;
        report(e, CAIRN_EVENT_RECOVERED, "checkpoints can be saved again");
    }
    adapt_intents_ahead(e);
    finish_turn(e);
    return owned_run_note_answers(e, error);
}

/* ---- The end ---- */

static int put_end(struct engine *e, struct cairn_error *error)
{
    turn_discard_intents(e);
    int rc = put_turn(e, error) ?: close_intents(e, error);
    if (!rc && e->saving.stream.chain.tail_bytes)
        rc = saving_put_full(e, error);
    if (!rc)
        rc = owned_run_put_end(e, error);
    if (!rc && !e->request.options->keep_all)
        rc = run_stream_prune(
            e->request.store, e->saving.sha, e->run.row.run,
            e->request.options->keep ? e->request.options->keep : DEFAULT_KEEP, error);
    return rc;
}

/* What tasks wrote may be what there is no room for. Outcomes count more: first without
 * what is large, then without any of it. */
static int put_end_without_output(struct engine *e, struct cairn_error *why)
{
    static const size_t larger_than[] = {64 << 10, 0};
    int rc = CAIRN_EIO;
    for (int i = 0; i < 2 && rc == CAIRN_EIO; i++)
        if (endings_lose_output(e, larger_than[i], why->text))
            rc = engine_transact(e, -1, put_end, why);
    return rc;
}

int engine_commit_end(struct engine *e, enum cairn_run_state state,
                      struct cairn_error *error)
{
    struct cairn_error why = {0};
    if (!e->request.store)
        return engine_commit(e, error);
    owned_run_end(e, state);
    audit_event(e, EVENT_ENDED, (uint8_t)state, UINT32_MAX, STR(""));
    int rc = engine_transact(e, -1, put_end, &why);
    if (rc == CAIRN_EIO)
        rc = put_end_without_output(e, &why);
    if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOMEM) {
        if (error)
            *error = why;
        return rc;
    }
    if (rc) {
        note_save_failure(e, &why);
        e->saving.unsaved = turn_count_unsaved(e);
        e->saving.end_unsaved = true;
        return 0;
    }
    if (e->saving.degraded)
        report(e, CAIRN_EVENT_RECOVERED, "checkpoints can be saved again");
    e->saving.degraded = false;
    finish_turn(e);
    return 0;
}
