/* SPDX-License-Identifier: MIT */
/* Only what is offered can be claimed, so all that it needs had ended then. Where any
 * of that does not end as it is recorded, or its own definition was edited (text, env,
 * params), it is another question now, which the answer to the old one must not answer.
 */
#include "executor/open_run.h"

#include "executor/attempt/adopt.h"
#include "executor/attempt/made.h"
#include "executor/attempt/spared.h"
#include "executor/attempt/undo.h"
#include "executor/state/before.h"
#include "executor/state/report.h"
#include "executor/state/turn_rows.h"

#include "base/log_times.h"
#include "base/memory.h"
#include "base/os.h"
#include "cairn/plan.h"
#include "graph/definition_codec.h"
#include "graph/fingerprint.h"
#include "graph/lists.h"
#include "graph/match.h"
#include "process/keeper.h"
#include "process/leftovers.h"
#include "process/live.h"
#include "runs/owner.h"
#include "runs/stored.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The claims of one generation of the run's graph. */
struct open_claim {
    uint32_t task; /* in its numbers */
    bool spent;    /* only a report that nobody has taken yet can be void then */
};

struct open_claims {
    struct open_claim *at;
    size_t n, capacity;
};

static int add_claim(void *context, const struct claim_row *row)
{
    struct open_claims *open = context;
    struct open_claim *at = array_room(open->at, open->n, &open->capacity, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    open->at = at;
    open->at[open->n++] = (struct open_claim){row->task, row->spent};
    return 0;
}

static bool needs_end_anew(const struct engine *e, uint32_t task)
{
    const struct graph *g = e->request.graph;
    const uint16_t *fate = e->run.situation.decisions.fate;
    for (uint32_t i = g->need_start[task]; i < g->need_start[task + 1]; i++)
        if (fate[g->needs[i]] & FATE_ANEW && !graph_need_is_order(g, task, i))
            return true;
    return false;
}

/* The tasks of a claim's generation, and of the graph as it is now. */
struct generations {
    bool edited;                  /* else the two are one */
    uint32_t *now;                /* [tasks then] the same task now, or NODE_NONE */
    struct digest *meant, *means; /* fingerprints, then and now */
};

static int compare_generations(const struct engine *e, const struct graph *then,
                               struct generations *g, struct cairn_error *error)
{
    const struct graph *now = e->request.graph;
    g->edited = then != now;
    if (!g->edited)
        return 0;
    g->now = malloc(((size_t)then->n_tasks + 1) * sizeof *g->now);
    g->meant = malloc(((size_t)then->n_tasks + 1) * sizeof *g->meant);
    g->means = malloc(((size_t)now->n_tasks + 1) * sizeof *g->means);
    if (!g->now || !g->meant || !g->means)
        return error_nomem(error);
    map_tasks(then, now, g->now);
    int rc = graph_fingerprints(then, g->meant, error);
    return rc ? rc : graph_fingerprints(now, g->means, error);
}

static bool is_stale(const struct engine *e, const struct generations *g, uint32_t task)
{
    uint32_t now = g->edited ? g->now[task] : task;
    return now == NODE_NONE || needs_end_anew(e, now) ||
           (g->edited && !digest_equal(&g->meant[task], &g->means[now]));
}

static int drop_claim(struct engine *e, const struct graph *then, uint32_t gen,
                      uint32_t task, struct cairn_error *error)
{
    struct buf text = BUF_INIT;
    buf_format(&text,
               "%s was claimed; the claim is void, because what it needs does not end "
               "as before, or it was edited",
               then->id[task]);
    audit_event(e, EVENT_NOTICE, 0, UINT32_MAX, buf_view(&text));
    buf_release(&text);
    return store_drop_claim(e->request.store, e->run.row.run, gen, task, error);
}

/* A report that came when the run had ended. Without its claim it is refused. */
static int has_report(const struct engine *e, uint32_t gen, uint32_t task, bool *has,
                      struct cairn_error *error)
{
    struct buf data = BUF_INIT;
    struct command_row row = {0};
    int rc;
    do {
        buf_clear(&data);
        rc = store_next_command(e->request.store, e->run.row.run, row.id, &row, &data,
                                error);
        if (rc == CAIRN_EDAMAGED && row.id) {
            rc = 0; /* nobody will carry it out */
            continue;
        }
        *has = !rc && row.id && row.gen == gen && row.task == task &&
               (row.verb == COMMAND_COMPLETE || row.verb == COMMAND_FAIL);
    } while (!rc && row.id && !*has);
    buf_release(&data);
    return rc;
}

static int drop_stale(struct engine *e, const struct open_claims *open, uint32_t gen,
                      const struct graph *then, struct cairn_error *error)
{
    struct generations g = {0};
    int rc = compare_generations(e, then, &g, error);
    for (size_t i = 0; i < open->n && !rc; i++) {
        uint32_t task = open->at[i].task;
        bool counts = !open->at[i].spent;
        if (task >= then->n_tasks || !is_stale(e, &g, task))
            continue;
        if (!counts)
            rc = has_report(e, gen, task, &counts, error);
        if (!rc && counts)
            rc = drop_claim(e, then, gen, task, error);
    }
    free(g.now);
    free(g.meant);
    free(g.means);
    return rc;
}

static int drop_of_generation(struct engine *e, const struct open_claims *open,
                              uint32_t gen, struct cairn_error *error)
{
    struct definition definition;
    struct graph then;
    if (gen == e->run.row.gen)
        return drop_stale(e, open, gen, e->request.graph, error);
    int rc =
        generation_load(e->request.store, &e->run.row, gen, &definition, &then, error);
    if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND)
        return 0; /* nobody can make use of them: plan/waiting.c refuses that */
    if (rc)
        return rc;
    rc = drop_stale(e, open, gen, &then, error);
    graph_release(&then);
    definition_release(&definition);
    return rc;
}

/* Deletes the claims whose question is another one now, and logs that. In the
 * transaction that begins with the run again. */
static int stale_claims_drop(struct engine *e, struct cairn_error *error)
{
    struct open_claims open = {0};
    int rc = 0;
    for (uint32_t gen = 1; gen <= e->run.row.gen && !rc; gen++) {
        open.n = 0;
        rc = store_each_claim(e->request.store, e->run.row.run, gen, add_claim, &open,
                              error);
        if (rc == CAIRN_EDAMAGED) /* those count for nothing */
            rc = 0;
        if (rc == CAIRN_ENOMEM)
            rc = error_nomem(error);
        if (!rc && open.n)
            rc = drop_of_generation(e, &open, gen, error);
    }
    free(open.at);
    return rc;
}

/* The first commit of a new or resumed run: its row, its graph, the attempts that a
 * dead owner left open, and a full record unless the run simply continues behind its
 * newest one. */

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
    struct attempt_row row = {
        .run = old->run,
        .gen = e->run.row.gen,
        .task = moves_to(e, old),
        .number = old->number,
        .intent_ns = old->intent_ns,
        .flags = (uint16_t)(ATTEMPT_ADOPTED |
                            (old->flags & (ATTEMPT_MERGED | ATTEMPT_FALLBACK))),
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

static int collect_interrupted(void *context, const struct attempt_row *row)
{
    struct open_attempts *open = context;
    if (is_kept(open->e, row) || is_untaken(open->e, row))
        return 0;
    struct ending *list =
        array_room(open->closed, open->n, &open->capacity, sizeof *list);
    if (!list)
        return error_nomem(open->error);
    open->closed = list;
    list[open->n] = (struct ending){.row = *row};
    list[open->n].row.text = (struct str){NULL, 0};
    open->n++;
    return 0;
}

static bool wrote_much(const struct engine *e, const struct ending *ending,
                       const struct slot_map *map)
{
    char path[4096];
    struct stat st;
    for (uint32_t s = 0; s < map->slots->n; s++) {
        bool own = slot_has(&map->slots->slot[s], ending->row.gen, ending->row.task,
                            ending->row.number);
        for (int i = 0; i < 2 && own; i++) {
            capture_slot_path(path, sizeof path, map->slots, s, e->run.live_dir, i);
            if (lstat(path, &st) == 0 && st.st_size > LONG_OUTPUT_BYTES)
                return true;
        }
    }
    return false;
}

/* Before the transaction of the beginning, which would keep others from writing for as
 * long as it takes to store what was written. Best effort: that transaction does the
 * rest. */
static void rescue_long_output(struct engine *e)
{
    struct slot_map map;
    struct open_attempts o = {.e = e};
    if (!e->run.situation.recorded.recovered || e->request.mode == MODE_SETTLE ||
        slots_open(&map, e->run.live_dir, e->run.row.run, NULL) != 0)
        return;
    (void)store_each_run_attempt(e->request.store, e->run.row.run,
                                 e->run.situation.recorded.row.gen, true,
                                 collect_interrupted, &o, NULL);
    for (uint32_t i = 0; i < o.n; i++) {
        struct ending *ending = &o.closed[i];
        if (!wrote_much(e, ending, &map))
            continue;
        rescue_output(e, ending, &map);
        saving_put_long_output(e, ending);
        for (int k = 0; k < 2; k++)
            if (!digest_is_none(&ending->stored[k]))
                buf_release(&ending->captured[k].content);
        o.closed[e->run.n_rescued++] = *ending;
    }
    slots_close(&map, false);
    e->run.rescued = o.closed;
}

static void forget_rescued(struct engine *e)
{
    for (uint32_t i = 0; i < e->run.n_rescued; i++)
        ending_release(&e->run.rescued[i]);
    free(e->run.rescued);
    e->run.rescued = NULL;
    e->run.n_rescued = 0;
    saving_let_go_of_content(e);
}

/* Whether its output was rescued already. */
static bool take_rescued(struct engine *e, struct ending *ending)
{
    enum { LISTS = ATTEMPT_OUT_LIST | ATTEMPT_ERR_LIST };
    for (uint32_t i = 0; i < e->run.n_rescued; i++) {
        struct ending *from = &e->run.rescued[i];
        if (from->row.gen != ending->row.gen || from->row.task != ending->row.task ||
            from->row.number != ending->row.number)
            continue;
        memcpy(ending->captured, from->captured, sizeof ending->captured);
        memcpy(ending->stored, from->stored, sizeof ending->stored);
        ending->times = from->times;
        ending->row.started_ns = from->row.started_ns;
        ending->row.flags |= from->row.flags & LISTS;
        ending->row.out_bytes = from->row.out_bytes;
        ending->row.err_bytes = from->row.err_bytes;
        ending->row.out_head = from->row.out_head;
        ending->row.err_head = from->row.err_head;
        *from = (struct ending){.row.gen = from->row.gen, .row.task = UINT32_MAX};
        return true;
    }
    return false;
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
            if (!o.closed[i].kept && o.closed[i].row.flags & ATTEMPT_INTERRUPTED &&
                !take_rescued(e, &o.closed[i]))
                rescue_output(e, &o.closed[i], &map);
        slots_close(&map, false);
    }
    for (uint32_t i = 0; i < o.n && !rc; i++) {
        const struct attempt_row *row = &o.closed[i].row;
        rc = put_attempt(e, &o.closed[i], turn, error);
        if (!rc && row->flags & ATTEMPT_INTERRUPTED &&
            !(row->flags & (ATTEMPT_UNDO | ATTEMPT_CHECK)))
            rc = put_left_by_gone(e, row, error);
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
                         "continue from it",
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
    const struct decisions *d = &e->run.situation.decisions;
    const uint8_t *outcome = e->run.situation.present.states.outcome;
    uint32_t n_tasks = e->request.graph->n_tasks;
    bool found[CAIRN_REASON_LAST + 1] = {false};
    for (uint32_t task = 0; task < n_tasks; task++)
        if (d->reset[task] && outcome[task] != CAIRN_PENDING)
            found[d->reason[task]] = true;
    found[CAIRN_REASON_REUSED] = false; /* they do not run */
    for (unsigned reason = 0; reason <= CAIRN_REASON_LAST; reason++) {
        list->n = 0;
        for (uint32_t task = 0; found[reason] && task < n_tasks; task++)
            if (d->reset[task] && d->reason[task] == reason &&
                outcome[task] != CAIRN_PENDING)
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
    _Static_assert((int)MODE_UNDO == (int)EVENT_BEGUN_UNDO &&
                       (int)PHASE_UNDO == (int)EVENT_PHASE_UNDO,
                   "modes and phases are stored as they are numbered");
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
    int rc = owned_run_put_row(e, error) ?: owned_run_put_parent(e, error);
    /* A `cancel` that was stored before we came was meant for an earlier owner. */
    if (!rc)
        rc = store_drop_commands(e->request.store, e->run.row.run, COMMAND_CANCEL,
                                 e->run.earlier_commands, error)
             ?: store_next_turn(e->request.store, e->run.row.run, &turn, error)
             ?: secrets_key(&e->run.situation.secrets, e->request.store, true, error);
    if (!rc && e->run.situation.recorded.recovered && e->request.mode != MODE_SETTLE)
        rc = close_interrupted(e, turn, error);
    if (!rc && e->request.mode == MODE_RUN)
        rc = stale_claims_drop(e, error);
    if (!rc)
        rc = audit_put(e, turn, error);
    return rc ? rc : begin_stream(e, error);
}

static int engine_commit_begin(struct engine *e, struct skip_list *early,
                               struct cairn_error *error)
{
    rescue_long_output(e);
    int rc =
        log_beginning(e, early, error) ?: engine_transact(e, -1, put_beginning, error);
    forget_rescued(e);
    audit_forget(e);
    return rc;
}

/* Becoming the owner of a run: processes of its last owner are ended (or stay with
 * their keepers), then comes the first commit. */

static int report_leftovers(struct engine *e, const struct leftovers *left,
                            struct cairn_error *error)
{
    char text[128];
    if (left->found) {
        snprintf(text, sizeof text,
                 "ended %u process%s that the interrupted run had left behind",
                 left->ended, left->ended == 1 ? "" : "es");
        report(e, CAIRN_EVENT_NOTICE, text);
    }
    if (left->survived)
        return error_set(error, CAIRN_EBUSY,
                         "%u process%s of the interrupted run did not end: end what is "
                         "left and resume again",
                         left->survived, left->survived == 1 ? "" : "es");
    return 0;
}

/* ---- Tasks under keepers that nobody will adopt ---- */

/* The definition that names them, as long as it is that of one generation. */
struct ended_tasks {
    struct engine *e;
    uint64_t run;
    uint32_t gen; /* 0: none is loaded */
    struct definition definition;
    struct graph graph;
};

static void release_definition(struct ended_tasks *t)
{
    if (t->gen) {
        graph_release(&t->graph);
        definition_release(&t->definition);
    }
    t->gen = 0;
}

static void load_definition(struct ended_tasks *t, uint32_t gen)
{
    struct arena arena = ARENA_INIT;
    struct run_row row;
    struct cairn_store *store = t->e->request.store;
    if (t->gen == gen)
        return;
    release_definition(t);
    if (run_row_get(&row, store, t->run, &arena, NULL) == 0 &&
        generation_load(store, &row, gen, &t->definition, &t->graph, NULL) == 0)
        t->gen = gen;
    arena_release(&arena);
}

/* A task whose name cannot be read is told, too. */
static void report_ended_task(void *context, const struct keeper *keeper)
{
    struct ended_tasks *t = context;
    struct buf text = BUF_INIT;
    load_definition(t, keeper->id.gen);
    bool named = t->gen && keeper->id.task < t->graph.n_tasks;
    buf_format(&text, "task %s of run %llu was still running under its keeper: ended",
               named ? t->graph.id[keeper->id.task] : "(its name cannot be read)",
               (unsigned long long)t->run);
    buf_byte(&text, '\0');
    report(t->e, CAIRN_EVENT_NOTICE,
           text.failed ? "a task of an earlier run was still running under its keeper: "
                         "ended"
                       : text.data);
    buf_release(&text);
}

static int end_kept_tasks(struct engine *e, uint64_t run, struct cairn_error *error)
{
    struct ended_tasks t = {.e = e, .run = run};
    int rc = keepers_stop(e->run.live_dir, e->run.identity, run, report_ended_task, &t,
                          error);
    release_definition(&t);
    return rc;
}

/* With `keep`, tasks under a keeper are left alone: those of this run are adopted
 * later, and runs of other workflows keep theirs. */
static int end_leftovers(struct engine *e, uint64_t run, bool keep,
                         struct cairn_error *error)
{
    enum { GRACE_MS = 2000 };
    struct leftovers left = {0};
    int rc = keep ? 0 : end_kept_tasks(e, run, error);
    if (rc)
        return rc;
    rc = keep ? leftovers_end_unkept(e->run.live_dir, e->run.identity, run, GRACE_MS,
                                     &left, error)
              : leftovers_end(e->run.live_dir, e->run.identity, run, GRACE_MS, &left,
                              error);
    return rc ? rc : report_leftovers(e, &left, error);
}

static int note_workflow(void *context, const struct run_row *row)
{
    *(uint64_t *)context = row->workflow;
    return 0;
}

/* 0: it is not known, or the run has been removed. */
static uint64_t workflow_of(const struct engine *e, uint64_t run)
{
    uint64_t workflow = 0;
    int rc = store_get_run(e->request.store, run, note_workflow, &workflow, NULL);
    return rc ? 0 : workflow;
}

static bool is_of_workflow(const struct engine *e, uint64_t run)
{
    return workflow_of(e, run) == e->run.row.workflow;
}

/* Is the process that made this slot file still there? A file whose end was not written
 * names none, and one that came here in a copy of a store means nothing. Nor do numbers
 * of another PID namespace: there, and for all who can ask, the lock tells. */
static bool owner_alive(const struct engine *e, const struct slot_map *map)
{
    char boot[37];
    os_boot_id(boot);
    uint64_t start = os_process_start(map->slots->owner_pid);
    return slots_token_is_of(map->slots->token, e->run.identity) &&
           map->slots->pid_ns == os_pid_namespace() &&
           strcmp(boot, map->slots->boot_id) == 0 && start != 0 &&
           start == map->slots->owner_start;
}

/* We hold the lock of its workflow. If the last owner is alive all the same, the lock
 * file was replaced under it, and its tasks are no left-overs. */
static int check_previous_owner(const struct engine *e, uint64_t run,
                                struct cairn_error *error)
{
    struct slot_map map;
    if (slots_open(&map, e->run.live_dir, run, NULL))
        return 0;
    bool alive = owner_alive(e, &map);
    long long pid = map.slots->owner_pid;
    slots_close(&map, false);
    if (!alive)
        return 0;
    return error_set(
        error, CAIRN_EOWNED,
        "process %lld still works on run %llu, though the lock file of the "
        "store was removed or replaced; end it first",
        pid, (unsigned long long)run);
}

void engine_clean_live(const struct engine *e, uint64_t run)
{
    (void)keepers_close_epochs(store_live_dir(e->request.store), run, NULL);
    DIR *directory = opendir(store_live_dir(e->request.store));
    const struct dirent *entry;
    while (directory && (entry = readdir(directory)))
        if (live_is_of_run(entry->d_name, run))
            (void)unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
}

enum owner_state { OWNER_DEAD, OWNER_LIVES, OWNER_UNKNOWN };

static enum owner_state owner_state_of(const struct engine *e, uint64_t run)
{
    struct slot_map map;
    if (slots_open(&map, e->run.live_dir, run, NULL))
        return OWNER_UNKNOWN;
    bool alive = owner_alive(e, &map), here = map.slots->pid_ns == os_pid_namespace();
    slots_close(&map, false);
    return alive ? OWNER_LIVES : here ? OWNER_DEAD : OWNER_UNKNOWN;
}

/* Calls visit for each run that has a slot file. */
static int each_slot_file(struct engine *e,
                          int (*visit)(struct engine *, uint64_t run,
                                       struct cairn_error *),
                          struct cairn_error *error)
{
    DIR *directory = opendir(e->run.live_dir);
    const struct dirent *entry;
    int rc = 0;
    while (directory && !rc && (entry = readdir(directory))) {
        struct live_name name;
        if (live_parse(&name, entry->d_name) && name.kind == LIVE_SLOTS)
            rc = visit(e, name.run, error);
    }
    if (directory)
        closedir(directory);
    return rc;
}

/* Two runs of one workflow never overlap, so of an earlier one that is not resumed the
 * tasks under keepers are ended, too. */
static int end_earlier_run(struct engine *e, uint64_t run, struct cairn_error *error)
{
    int rc = check_previous_owner(e, run, error);
    return rc ? rc : end_leftovers(e, run, false, error);
}

/* Of another workflow: only with its lock in our hands nobody goes on with the run
 * while we look for what is left of it. Whoever does later ends that itself. */
static int end_foreign_run(struct engine *e, uint64_t run, uint64_t workflow,
                           struct cairn_error *error)
{
    int64_t offset = 0;
    int got = workflow ? owner_try(e->request.store, workflow, &offset, error) : 1;
    if (got <= 0)
        return got;
    /* The row may have become that of a live owner before we had the lock. */
    enum owner_state state = owner_state_of(e, run);
    bool dead = state == OWNER_DEAD || (workflow && state == OWNER_UNKNOWN);
    struct cairn_error why = {0};
    int rc = dead ? end_leftovers(e, run, true, &why) : 0;
    if (workflow)
        owner_release(e->request.store, offset);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    /* Nothing of ours depends on it; whoever goes on with that run will be refused. */
    if (rc && rc != CAIRN_EOWNED)
        report(e, CAIRN_EVENT_NOTICE, why.text);
    return 0;
}

/* Ends what a dead run left alive. Its slot file stays: it names the output files of
 * the attempts that were running. */
static int end_other_run(struct engine *e, uint64_t run, struct cairn_error *error)
{
    if (run == e->run.row.run)
        return 0;
    uint64_t workflow = workflow_of(e, run);
    return workflow == e->run.row.workflow ? end_earlier_run(e, run, error)
                                           : end_foreign_run(e, run, workflow, error);
}

static int close_epochs(struct engine *e, uint64_t run, struct cairn_error *error)
{
    return owner_state_of(e, run) != OWNER_LIVES && is_of_workflow(e, run)
               ? keepers_close_epochs(e->run.live_dir, run, error)
               : 0;
}

int engine_close_epochs(struct engine *e, struct cairn_error *error)
{
    return each_slot_file(e, close_epochs, error);
}

/* Whether a keeper is the one that was noted shows when it began, in /proc. */
static int check_keeping(const struct engine *e, struct cairn_error *error)
{
    if (e->request.mode != MODE_RUN ||
        e->request.graph->definition->on_crash != ON_CRASH_ADOPT || os_pid_namespace())
        return 0;
    return error_set(error, CAIRN_EIO,
                     "on_crash: adopt needs /proc, which cannot be read or is of "
                     "another PID namespace: mount it (mount -t proc proc /proc) "
                     "and try again");
}

static int engine_open_run(struct engine *e, struct skip_list *early,
                           struct cairn_error *error)
{
    bool recovered = e->run.situation.recorded.recovered;
    bool whole = e->request.mode != MODE_SETTLE;
    int rc = check_keeping(e, error) ?: owned_run_take_row(e, error);
    if (!rc && recovered)
        rc = check_previous_owner(e, e->run.row.run, error);
    if (!rc && whole && recovered)
        rc = end_leftovers(e, e->run.row.run, e->request.mode == MODE_RUN, error);
    if (!rc && whole)
        rc = each_slot_file(e, end_other_run, error);
    if (!rc && whole && recovered)
        noted_move_files(e);
    return rc ? rc : engine_commit_begin(e, early, error);
}

/* Opens everything that the loop needs, in order, and closes it. What was never opened
 * is NULL, 0 or -1, so engine_close works after a failure anywhere in engine_open. */

static int check_store(const struct engine *e, struct cairn_error *error)
{
    const struct definition *d = e->request.graph->definition;
    const struct recorded *r = &e->run.situation.recorded;
    if (e->request.store && r->recovered) {
        int rc = store_check_keyed(e->request.store, r->row.run, r->row.keyed, error);
        return e->request.mode == MODE_RUN
                   ? situation_advise_fresh(rc, e->request.workflow, error)
                   : rc;
    }
    if (!e->request.store && definition_has_lists(d))
        return error_set(error, CAIRN_EUSAGE,
                         "a list that a task makes needs a store, which keeps it");
    for (uint32_t i = 0; !e->request.store && i < d->n_defs; i++)
        if (d->defs[i].kind == TASK_EXTERNAL)
            return error_set(error, CAIRN_EUSAGE,
                             "task %.*s is external: without a store nobody could ever "
                             "complete it",
                             (int)d->defs[i].id.len, d->defs[i].id.ptr);
    return 0;
}

/* Not for MODE_SETTLE, which starts nothing. */
static int check_secrets(const struct engine *e, struct cairn_error *error)
{
    struct str name = secrets_missing(&e->run.situation.secrets);
    if (!name.len || e->request.mode == MODE_SETTLE)
        return 0;
    return error_set(error, CAIRN_EUSAGE,
                     "the secret %.*s is not given: set it in the environment, or pass "
                     "it with --secrets-fd",
                     (int)name.len, name.ptr);
}

static void start_deadline(struct engine *e)
{
    int64_t deadline_ms = e->request.graph->definition->deadline_ms;
    if (deadline_ms && e->request.mode == MODE_RUN)
        loop_set_timer(e, TIMER_DEADLINE,
                       deadline_ms * 1000000 > e->request.spent_ns
                           ? deadline_ms * 1000000 - e->request.spent_ns
                           : 0,
                       0, 0);
}

static int check_functions(const struct engine *e, struct cairn_error *error)
{
    const struct definition *d = e->request.graph->definition;
    if (e->request.mode != MODE_RUN ||
        !cairn_workflow_lacks_functions(e->request.workflow))
        return 0;
    struct str name = STR("");
    for (uint32_t i = 0; i < d->n_defs; i++)
        if (task_def_lacks_function(&d->defs[i], &name) && name.len)
            return error_set(error, CAIRN_EUSAGE,
                             "task `%s` calls `%s`, a function that this program does "
                             "not have: start the program that has it in its registry",
                             d->defs[i].id.ptr, name.ptr);
    return error_set(error, CAIRN_EUSAGE,
                     "run %llu has functions of a program: start that program, which "
                     "continues it",
                     (unsigned long long)e->run.situation.recorded.row.run);
}

static int check_memory(const struct engine *e, struct cairn_error *error)
{
    return e->request.mode != MODE_RUN
               ? 0
               : memory_check(e->request.graph->definition,
                              e->request.options->memory_mib, error);
}

/* Before anything of the run is changed. */
static int open_parts(struct engine *e, struct skip_list *early,
                      struct cairn_error *error)
{
    enum { AHEAD_OF_CALLS = 64 };
    int rc = check_store(e, error)
             ?: check_functions(e, error)
             ?: check_secrets(e, error)
             ?: check_memory(e, error)
             ?: shares_check(e, error)
             ?: jobs_open(e, error)
             ?: saving_open(e, jobs_need_processes(e) ? e->jobs.limit : AHEAD_OF_CALLS,
                            error)
             ?: turn_open(e, error)
             ?: progress_open(e, early, error);
    if (!rc)
        report_open(e);
    return rc;
}

static int open_processes(struct engine *e, struct cairn_error *error)
{
    if (e->request.mode == MODE_SETTLE)
        return 0;
    int rc = jobs_open_runner(e, error);
    if (!rc && jobs_need_processes(e))
        rc = environments_open(e, error);
    return rc;
}

static int open_rest(struct engine *e, struct cairn_error *error)
{
    int rc = loop_open(e, error)
             ?: shares_open(e, error)
             ?: calls_open(e, error)
             ?: open_processes(e, error);
    if (!rc && e->request.mode == MODE_RUN)
        rc = adopt_all(e, error);
    /* The run is recorded, and nobody knows its number yet. */
    if (rc == CAIRN_EIO && error && (error->sys == ENOSPC || error->sys == EDQUOT) &&
        e->request.store && e->request.mode == MODE_RUN) {
        int sys = error->sys;
        char text[sizeof error->text], words[RESUME_WORDS];
        memcpy(text, error->text, sizeof text);
        error_set(error, rc, "%.800s: free some space there, then: %s", text,
                  definition_resume_words(words, e->request.graph->definition,
                                          e->run.row.run, ""));
        error->sys = sys;
    }
    return rc;
}

int engine_open(struct engine *e, struct cairn_error *error)
{
    struct skip_list early = {0};
    int rc = open_parts(e, &early, error);
    if (!rc)
        rc = e->request.store ? engine_open_run(e, &early, error)
                              : owned_run_make_temporary(e, error);
    free(early.at);
    if (rc)
        return rc;
    progress_set_run(e, e->run.row.run);
    rc = spared_open(e, error) ?: open_rest(e, error);
    if (!rc)
        start_deadline(e);
    return rc;
}

void engine_close(struct engine *e)
{
    looks_close(e);
    jobs_close_runner(e);
    jobs_close(e);
    shares_close(e);
    noting_close(e);
    loop_close(e);
    calls_close(e);
    if (e->run.orderly)
        engine_clean_live(e, e->run.row.run);
    turn_release(e);
    starts_release(&e->starts);
    undo_release(e);
    audit_release(e);
    made_release(e->made);
    before_release(e->before);
    spared_close(e);
    progress_release(e);
    saving_release(e);
    owned_run_release(e);
}
