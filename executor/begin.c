/* SPDX-License-Identifier: MIT */
/* The first commit of a new or resumed run: its row, its graph, the attempts that a
 * dead owner left open, and a full record unless the run simply continues behind its
 * newest one. */
#include "executor/begin.h"

#include "executor/stale_claims.h"
#include "executor/state/report.h"
#include "executor/state/turn_rows.h"

#include "base/array.h"
#include "base/log_times.h"
#include "base/os.h"
#include "cairn/plan.h"
#include "graph/definition_codec.h"
#include "runs/stored.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* An attempt that its keeper still has, or has recorded the end of, was not
 * interrupted; nor was one whose end was noted, which an undo leaves to the next run.
 */
static bool is_kept(const struct engine *e, const struct attempt_row *row)
{
    const struct recorded *r = &e->run.situation.recorded;
    bool left = e->request.mode == MODE_RUN ||
                situation_noted_end(&e->run.situation, row->task);
    return left && row->task < r->states.n && r->marks[row->task] & MARK_OUTLIVED &&
           row->number == r->last_attempt[row->task];
}

/* The context of collect_open. */
struct open_attempts {
    struct engine *e;
    struct cairn_error *error;
    struct ending *closed; /* interrupted, or moved */
    uint32_t n;
    size_t capacity;
};

/* One that is taken over after an edit gets a row of the new generation in place of the
 * old one, with the beginning of that generation: whoever comes next finds it there.
 * NODE_NONE: it gets none. */
static uint32_t moves_to(const struct engine *e, const struct attempt_row *row)
{
    const struct situation *s = &e->run.situation;
    uint32_t now = situation_task_now(s, e->request.workflow, row->task);
    bool taken = e->request.mode == MODE_RUN && now != NODE_NONE &&
                 e->run.row.gen != s->recorded.row.gen &&
                 s->decisions.reason[now] == CAIRN_REASON_ADOPTED;
    return taken ? now : NODE_NONE;
}

/* No keeper had taken it when the run was loaded. */
static bool is_untaken(const struct engine *e, const struct attempt_row *row)
{
    const struct recorded *r = &e->run.situation.recorded;
    const struct graph *old = situation_old(&e->run.situation, e->request.workflow);
    return old->definition->on_crash == ON_CRASH_ADOPT && row->task < old->n_tasks &&
           !graph_def(old, row->task)->n_secrets &&
           !(row->flags & (ATTEMPT_UNDO | ATTEMPT_CHECK)) &&
           r->marks[row->task] & MARK_RESET && r->kept[row->task].newest;
}

/* After this no keeper can start the attempt. 0; 1: one just has. */
static int revoke_keeper(struct engine *e, const struct attempt_row *row,
                         struct cairn_error *error)
{
    struct attempt_id id = {e->run.live_dir, row->run,    row->gen,
                            row->task,       row->number, live_store(e->run.identity)};
    int revoked = keeper_revoke(&id, error);
    if (revoked)
        return revoked < 0 ? revoked : 0;
    owned_run_note_outlived(e, row->task);
    return 1;
}

/* Of an attempt that ends here, or moves to another generation. */
static void describe_closed(struct engine *e, struct ending *ending, bool moves,
                            bool untaken)
{
    ending->row.ended_ns = loop_utc_ns(e);
    ending->row.flags |= untaken ? 0 : ATTEMPT_INTERRUPTED;
    ending->row.outcome = CAIRN_PENDING;
    ending->row.text = (struct str){NULL, 0};
    ending->kept = moves;
    buf_text(&ending->text, moves     ? "taken over"
                            : untaken ? "it had not started"
                                      : "interrupted");
}

static int collect_open(void *context, const struct attempt_row *row)
{
    struct open_attempts *open = context;
    struct engine *e = open->e;
    bool untaken = !is_kept(e, row) && is_untaken(e, row);
    int kept = untaken ? revoke_keeper(e, row, open->error) : is_kept(e, row);
    bool moves = kept > 0 && moves_to(e, row) != NODE_NONE;
    if (kept && !moves)
        return kept < 0 ? kept : 0;
    struct ending *list =
        array_room(open->closed, open->n, &open->capacity, sizeof *list);
    if (!list)
        return error_nomem(open->error);
    open->closed = list;
    struct ending *ending = &list[open->n++];
    *ending = (struct ending){.row = *row};
    describe_closed(e, ending, moves, untaken && !moves);
    return 0;
}

static int put_moved(struct engine *e, const struct attempt_row *old, uint64_t turn,
                     struct cairn_error *error)
{
    struct attempt_row row = {.run = old->run,
                              .gen = e->run.row.gen,
                              .task = moves_to(e, old),
                              .number = old->number,
                              .intent_ns = old->intent_ns,
                              .flags = ATTEMPT_ADOPTED | (old->flags & ATTEMPT_MERGED),
                              .exit_code = -1,
                              .start_turn = turn};
    return store_put_attempt(e->request.store, &row, error);
}

/* Nobody has noted when a merged log grew, but for its end. */
static void note_last_write(struct ending *ending, const char *path, uint64_t bytes)
{
    struct stat st;
    struct log_times times;
    if (!(ending->row.flags & ATTEMPT_MERGED) || lstat(path, &st))
        return;
    log_times_init(&times);
    log_times_add(&times, bytes,
                  (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
    log_times_encode(&times, ending->row.started_ns, &ending->times);
    log_times_release(&times);
}

/* One stream of it: head and tail where it is long. */
static void rescue_stream(struct engine *e, struct ending *ending, int stream,
                          const char *path)
{
    struct captured *captured = &ending->captured[stream];
    int fd = os_open_plain(path, O_RDONLY);
    int rc = fd < 0 ? fd : capture_read(fd, output_limit(e), captured, NULL);
    if (fd >= 0)
        close(fd);
    if (rc)
        return;
    redact_captured(e, captured);
    note_last_write(ending, path, captured->bytes);
    *(stream ? &ending->row.err_bytes : &ending->row.out_bytes) = captured->bytes;
    *(stream ? &ending->row.err_head : &ending->row.out_head) = captured->head;
}

/* What an interrupted attempt wrote is still in the live directory. */
static void rescue_output(struct engine *e, struct ending *ending,
                          const struct slot_map *map)
{
    char path[4096];
    for (uint32_t s = 0; s < map->slots->n; s++) {
        const struct slot *slot = &map->slots->slot[s];
        if (!slot_has(slot, ending->row.gen, ending->row.task, ending->row.number))
            continue;
        ending->row.started_ns = slot->started_ns;
        for (int i = 0; i < (ending->row.flags & ATTEMPT_MERGED ? 1 : 2); i++) {
            capture_slot_path(path, sizeof path, map->slots, s, e->run.live_dir, i);
            rescue_stream(e, ending, i, path);
        }
    }
}

static int close_interrupted(struct engine *e, uint64_t turn, struct cairn_error *error)
{
    struct slot_map map;
    struct open_attempts o = {.e = e, .error = error};
    int rc = store_each_run_attempt(e->request.store, e->run.row.run,
                                    e->run.situation.recorded.row.gen, true,
                                    collect_open, &o, error);
    if (!rc && o.n && slots_open(&map, e->run.live_dir, e->run.row.run, NULL) == 0) {
        for (uint32_t i = 0; i < o.n; i++)
            if (!o.closed[i].kept && o.closed[i].row.flags & ATTEMPT_INTERRUPTED)
                rescue_output(e, &o.closed[i], &map);
        slots_close(&map, false);
    }
    for (uint32_t i = 0; i < o.n && !rc; i++) {
        rc = put_attempt(e, &o.closed[i], turn, error);
        if (!rc && o.closed[i].kept)
            rc = put_moved(e, &o.closed[i].row, turn, error);
    }
    for (uint32_t i = 0; i < o.n; i++)
        ending_release(&o.closed[i]);
    free(o.closed);
    return rc;
}

/* A resumed run needs a full record unless it starts from exactly its newest record:
 * after an edit, after resets, after damage. */
static bool needs_full(const struct engine *e)
{
    const struct recorded *r = &e->run.situation.recorded;
    if (!r->recovered || r->recovery.gap || r->recovery.n_damaged || !r->same_graph)
        return true;
    for (uint32_t i = 0; i < e->progress.states.n; i++)
        if (e->progress.states.outcome[i] != r->states.outcome[i])
            return true;
    return false;
}

static int compare_source(void *context, const struct checkpoint_row *row)
{
    const struct recorded *r = context;
    struct str wanted = {(const char *)r->from_digest.bytes, DIGEST_SIZE};
    return str_equal(row->digest, wanted) ? 0 : CAIRN_ENOTFOUND;
}

/* The source of a fork was read before this transaction. Only while it is stored does
 * it keep the objects that its states refer to. */
static int check_source(struct engine *e, struct cairn_error *error)
{
    struct recorded *r = &e->run.situation.recorded;
    if (r->recovered || !r->from_seq)
        return 0;
    int rc =
        store_get_checkpoint(e->request.store, r->from_seq, compare_source, r, error);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(error, rc,
                         "checkpoint workflow:%llu was deleted just now, so no run can "
                         "go on from it",
                         (unsigned long long)r->from_seq);
    return rc;
}

static int begin_stream(struct engine *e, struct cairn_error *error)
{
    const struct recorded *r = &e->run.situation.recorded;
    struct run_stream fresh =
        run_stream_of(e->request.store, e->saving.sha, e->run.row.run,
                      &e->run.situation.present.digest);
    fresh.chain.parent = r->from_seq;
    fresh.chain.parent_digest = r->from_digest;
    saving_begin_chain(e, r->recovered ? &r->recovery.head : &fresh);
    int rc = check_source(e, error);
    store_keep_seq(e->request.store, r->last_named);
    for (size_t i = 0; r->recovered && i < r->recovery.n_damaged && !rc; i++)
        rc = store_put_quarantine(e->request.store, r->recovery.damaged[i],
                                  loop_utc_ns(e), r->recovery.reasons[i], error);
    if (!rc && needs_full(e))
        rc = saving_put_full(e, error);
    return rc;
}

/* ---- Its events ---- */

struct task_list {
    uint32_t *tasks;
    uint32_t n;
};

/* One event for each reason that makes recorded tasks run again. */
static void log_resets(struct engine *e, struct task_list *list)
{
    const struct situation *s = &e->run.situation;
    for (unsigned reason = 0; reason <= CAIRN_REASON_LAST; reason++) {
        list->n = 0;
        for (uint32_t task = 0; task < e->request.graph->n_tasks; task++)
            if (s->decisions.reset[task] && s->decisions.reason[task] == reason &&
                s->present.states.outcome[task] != CAIRN_PENDING)
                list->tasks[list->n++] = task;
        audit_tasks(e, EVENT_RESET, (uint8_t)reason, UINT32_MAX, list->tasks, list->n);
    }
}

static void log_unknown(struct engine *e, struct task_list *list)
{
    list->n = 0;
    for (uint32_t task = 0; task < e->request.graph->n_tasks; task++)
        if (e->progress.states.outcome[task] == CAIRN_UNKNOWN &&
            e->run.situation.present.states.outcome[task] != CAIRN_UNKNOWN)
            list->tasks[list->n++] = task;
    audit_tasks(e, EVENT_UNKNOWN, 0, UINT32_MAX, list->tasks, list->n);
}

static int log_beginning(struct engine *e, struct skip_list *early,
                         struct cairn_error *error)
{
    const struct recorded *r = &e->run.situation.recorded;
    char text[96] = "new";
    struct task_list list = {malloc(e->request.graph->n_tasks * sizeof *list.tasks), 0};
    if (!list.tasks)
        return error_nomem(error);
    if (r->recovered)
        snprintf(text, sizeof text, "goes on");
    else if (r->from_seq)
        snprintf(text, sizeof text, "forks from %llu", (unsigned long long)r->from_seq);
    audit_event(e, EVENT_BEGUN, (uint8_t)e->request.mode, UINT32_MAX, str_of(text));
    if (r->exists && e->request.mode == MODE_RUN)
        log_resets(e, &list);
    log_unknown(e, &list);
    audit_skips(e, early);
    for (size_t i = 0; situation_notice(&e->run.situation, i); i++)
        audit_event(e, EVENT_NOTICE, 0, UINT32_MAX,
                    str_of(situation_notice(&e->run.situation, i)));
    free(list.tasks);
    return 0;
}

static int put_beginning(struct engine *e, struct cairn_error *error)
{
    uint64_t turn = 0;
    int rc = owned_run_put_row(e, error);
    if (!rc)
        rc = owned_run_put_parent(e, error);
    /* A `cancel` that was stored before we came was meant for an earlier owner. */
    if (!rc)
        rc = store_drop_commands(e->request.store, e->run.row.run, COMMAND_CANCEL,
                                 e->run.earlier_commands, error);
    if (!rc)
        rc = store_next_turn(e->request.store, e->run.row.run, &turn, error);
    if (!rc)
        rc = secrets_key(&e->run.situation.secrets, e->request.store, true, error);
    if (!rc && e->run.situation.recorded.recovered && e->request.mode != MODE_SETTLE)
        rc = close_interrupted(e, turn, error);
    if (!rc && e->request.mode == MODE_RUN)
        rc = stale_claims_drop(e, error);
    if (!rc)
        rc = audit_put(e, turn, error);
    return rc ? rc : begin_stream(e, error);
}

int engine_commit_begin(struct engine *e, struct skip_list *early,
                        struct cairn_error *error)
{
    int rc = log_beginning(e, early, error);
    if (!rc)
        rc = engine_transact(e, -1, put_beginning, error);
    audit_forget(e);
    return rc;
}
