/* The commit of a turn: endings, checkpoints and intents in one transaction, and what
 * may happen once it is durable. */
#include "executor/engine.h"

#include "base/clock.h"
#include "checkpoint/verify.h"

#include <stdlib.h>

enum { DEFAULT_KEEP = 50, COMMIT_RETRY_NS = 2000000, DEGRADED_RETRY_NS = 1000000000 };

/* ---- Writing one turn ---- */

static int put_captured(struct engine *e, const struct captured *captured,
                        struct digest *digest, struct str *field,
                        struct cairn_error *error)
{
    *field = (struct str){NULL, 0};
    if (captured->content.size == 0)
        return 0;
    int result =
        store_put_object(e->store, buf_view(&captured->content), digest, error);
    *field = (struct str){(const char *)digest->bytes, DIGEST_SIZE};
    return result;
}

static int put_attempt(struct engine *e, struct ending *ending,
                       struct cairn_error *error)
{
    struct attempt_row *row = &ending->row;
    struct digest out, err, outputs;
    int result = put_captured(e, &ending->captured[0], &out, &row->out, error);
    if (!result)
        result = put_captured(e, &ending->captured[1], &err, &row->err, error);
    row->outputs = (struct str){NULL, 0};
    if (!result && ending->outputs.size) {
        result =
            store_put_object(e->store, buf_view(&ending->outputs), &outputs, error);
        row->outputs = (struct str){(const char *)outputs.bytes, DIGEST_SIZE};
    }
    row->text = buf_view(&ending->text);
    return result ? result : store_put_attempt(e->store, row, error);
}

static int by_task(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* What could not run because of this one shares a record. */
static int put_skips(struct engine *e, struct ending *ending, struct cairn_error *error)
{
    if (!ending->n_skipped)
        return 0;
    struct change *changes = calloc(ending->n_skipped, sizeof *changes);
    if (!changes)
        return error_nomem(error);
    qsort(ending->skipped, ending->n_skipped, sizeof *ending->skipped, by_task);
    for (uint32_t i = 0; i < ending->n_skipped; i++)
        changes[i] =
            (struct change){.task = ending->skipped[i], .outcome = CAIRN_SKIPPED};
    int result = stream_delta(&e->stream, changes, ending->n_skipped,
                              ending->row.ended_ns, NULL, error);
    free(changes);
    return result;
}

static int put_ending(struct engine *e, struct ending *ending,
                      struct cairn_error *error)
{
    struct checkpoint_ref ref;
    int result = put_attempt(e, ending, error);
    if (result || !ending->final)
        return result;
    struct change change = {.task = ending->row.task,
                            .outcome = ending->row.outcome,
                            .attempts = ending->row.number,
                            .outputs = ending->outputs_digest};
    result = stream_delta(&e->stream, &change, 1, ending->row.ended_ns, &ref, error);
    if (result)
        return result;
    ending->seq = ref.seq;
    return put_skips(e, ending, error);
}

/* Intents first: while saving failed, an attempt may have started and ended unsaved,
 * and then its ending replaces the row of its intent. */
static int put_turn(struct engine *e, struct cairn_error *error)
{
    int result = 0;
    for (uint32_t i = 0; i < e->n_intents && !result; i++) {
        struct attempt_row row = {.run = e->row.run,
                                  .gen = e->row.gen,
                                  .task = e->intents[i].task,
                                  .number = e->intents[i].attempt,
                                  .intent_ns = e->intents[i].intent_ns,
                                  .exit_code = -1};
        result = store_put_intent(e->store, &row, error);
    }
    for (uint32_t i = 0; i < e->n_endings && !result; i++)
        result = put_ending(e, &e->endings[i], error);
    if (!result && stream_wants_full(&e->stream))
        result = stream_full(&e->stream, &e->states, clock_utc_ns(), NULL, error);
    return result;
}

/* ---- Acting on it ---- */

static int queue_start(struct engine *e, const struct intent *intent)
{
    if (e->n_starts == e->starts_capacity) {
        uint32_t capacity = e->starts_capacity ? 2 * e->starts_capacity : 64;
        struct intent *starts = realloc(e->starts, capacity * sizeof *starts);
        if (!starts)
            return CAIRN_ENOMEM;
        e->starts = starts;
        e->starts_capacity = capacity;
    }
    e->starts[e->n_starts++] = *intent;
    return 0;
}

/* Reports endings and queues starts, each once. */
static void act(struct engine *e)
{
    for (uint32_t i = 0; i < e->n_endings; i++) {
        if (e->endings[i].acted)
            continue;
        e->endings[i].acted = true;
        report_ending(e, &e->endings[i]);
    }
    for (uint32_t i = 0; i < e->n_intents; i++) {
        if (e->intents[i].acted)
            continue;
        e->intents[i].acted = true;
        e->broken |= queue_start(e, &e->intents[i]) != 0;
    }
    e->unacted = e->unacted_intents = 0;
}

static void forget(struct engine *e)
{
    for (uint32_t i = 0; i < e->n_endings; i++)
        ending_release(&e->endings[i]);
    e->n_endings = e->n_intents = 0;
    if (e->slots.slots)
        e->slots.slots->reserved = 0;
}

static void drop_sequence_numbers(struct engine *e)
{
    for (uint32_t i = 0; i < e->n_endings; i++)
        e->endings[i].seq = 0;
}

static uint32_t unsaved(const struct engine *e)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->n_endings; i++)
        n += e->endings[i].final;
    return n;
}

static void try_again(struct engine *e, int64_t delay_ns)
{
    struct timer timer = {clock_mono_ns() + delay_ns, TIMER_COMMIT, 0, 0};
    e->commit_waits = true;
    e->broken |= timers_add(&e->timers, timer, NULL) != 0;
}

static void degrade(struct engine *e, const struct cairn_error *why)
{
    if (!e->degraded) {
        e->degraded = true;
        report(e, CAIRN_EVENT_DEGRADED, why->text);
    }
    if (e->options->saving == CAIRN_BEST_EFFORT)
        act(e);
    if (e->slots.slots)
        e->slots.slots->reserved = unsaved(e); /* for `cairn status` */
    try_again(e, DEGRADED_RETRY_NS);
}

static int transact(struct engine *e, int wait_ms,
                    int (*put)(struct engine *, struct cairn_error *),
                    struct cairn_error *error)
{
    struct stream before = e->stream;
    int result = store_begin(e->store, wait_ms, error);
    if (result)
        return result;
    result = put(e, error);
    if (result)
        store_abort(e->store);
    else
        result = store_commit(e->store, error);
    if (result) {
        e->stream = before;
        drop_sequence_numbers(e);
    }
    return result;
}

int engine_commit(struct engine *e, struct cairn_error *error)
{
    struct cairn_error why = {0};
    if (!e->n_endings && !e->n_intents)
        return 0;
    if (e->commit_waits) {
        if (e->degraded && e->options->saving == CAIRN_BEST_EFFORT)
            act(e);
        return 0;
    }
    if (!e->store) {
        act(e);
        forget(e);
        return 0;
    }
    int result = transact(e, 0, put_turn, &why);
    if (result == CAIRN_EBUSY) {
        /* Another command writes at this moment; a lock kept for long is trouble. */
        enum { PATIENCE_S = 30 };
        int64_t now = clock_mono_ns();
        if (!e->commit_since_ns)
            e->commit_since_ns = now;
        if (now - e->commit_since_ns < PATIENCE_S * 1000000000ll) {
            try_again(e, COMMIT_RETRY_NS);
            return 0;
        }
    }
    e->commit_since_ns = 0;
    if (result == CAIRN_ENOMEM || result == CAIRN_EDAMAGED) {
        if (error)
            *error = why;
        return result;
    }
    if (result) {
        degrade(e, &why);
        return 0;
    }
    if (e->degraded) {
        e->degraded = false;
        report(e, CAIRN_EVENT_RECOVERED, "checkpoints can be saved again");
    }
    act(e);
    forget(e);
    return 0;
}

int engine_add_intent(struct engine *e, uint32_t task)
{
    if (e->n_intents == e->intents_capacity) {
        uint32_t capacity = e->intents_capacity ? 2 * e->intents_capacity : 64;
        struct intent *intents = realloc(e->intents, capacity * sizeof *intents);
        if (!intents)
            return CAIRN_ENOMEM;
        e->intents = intents;
        e->intents_capacity = capacity;
    }
    e->unacted++;
    e->unacted_intents++;
    e->intents[e->n_intents++] = (struct intent){
        .task = task, .attempt = ++e->attempts[task], .intent_ns = clock_utc_ns()};
    return 0;
}

/* ---- The beginning ---- */

static int collect_open(void *context, const struct attempt_row *row)
{
    struct engine *e = context;
    struct ending *ending = engine_add_ending(e, row->task, row->number);
    if (!ending)
        return CAIRN_ENOMEM;
    int64_t ended_ns = ending->row.ended_ns;
    ending->row = *row;
    ending->row.ended_ns = ended_ns;
    ending->row.flags |= ATTEMPT_INTERRUPTED;
    ending->row.outcome = CAIRN_PENDING;
    ending->row.text = (struct str){NULL, 0};
    buf_text(&ending->text, "interrupted");
    return 0;
}

/* What an interrupted attempt wrote is still in the live directory. */
static void rescue_output(struct engine *e, struct ending *ending,
                          const struct slot_map *map)
{
    char path[4096];
    for (uint32_t s = 0; s < map->slots->n; s++) {
        const struct slot *slot = &map->slots->slot[s];
        if (!slot->used || slot->gen != ending->row.gen ||
            slot->task != ending->row.task || slot->attempt != ending->row.number)
            continue;
        ending->row.started_ns = slot->started_ns;
        for (int i = 0; i < 2; i++) {
            struct buf content = BUF_INIT;
            capture_path(path, sizeof path, e->live_dir, e->row.run, s, i);
            if (os_read_file(path, 16u << 20, &content, NULL) == 0) {
                ending->captured[i].content = content;
                *(i ? &ending->row.err_bytes : &ending->row.out_bytes) = content.size;
            } else
                buf_release(&content);
        }
    }
}

static int close_interrupted(struct engine *e, struct cairn_error *error)
{
    struct slot_map map;
    int result = store_each_run_attempt(e->store, e->row.run, e->situation.row.gen,
                                        true, collect_open, e, error);
    if (!result && e->n_endings &&
        slots_open(&map, e->live_dir, e->row.run, NULL) == 0) {
        for (uint32_t i = 0; i < e->n_endings; i++)
            rescue_output(e, &e->endings[i], &map);
        slots_close(&map, false);
    }
    for (uint32_t i = 0; i < e->n_endings && !result; i++)
        result = put_attempt(e, &e->endings[i], error);
    for (uint32_t i = 0; i < e->n_endings; i++)
        ending_release(&e->endings[i]);
    e->n_endings = e->unacted = 0;
    return result;
}

static int put_graph(struct engine *e, struct cairn_error *error)
{
    struct digest digest;
    int result =
        store_put_object(e->store, buf_view(&e->situation.encoded), &digest, error);
    e->row.graph = digest;
    e->row.tasks = e->graph->n_tasks;
    return result
               ? result
               : store_put_run_graph(e->store, e->row.run, e->row.gen, &digest, error);
}

/* A run that goes on gets a full record whenever what it starts from is not simply its
 * newest record: another definition, outcomes that no longer count, a damaged chain. */
static bool needs_full(const struct engine *e)
{
    const struct situation *s = &e->situation;
    if (!s->recovered || s->recovery.gap || s->recovery.n_damaged || !s->same_graph)
        return true;
    for (uint32_t i = 0; i < e->states.n; i++)
        if (e->states.outcome[i] != s->before.outcome[i])
            return true;
    return false;
}

/* Attempts are numbered by task index, so another graph needs another generation; also
 * when damage made the run fall back to an older graph than its newest one. */
static bool new_generation(const struct situation *s)
{
    return !digest_equal(&s->row.graph, &s->graph) ||
           !digest_equal(&s->row.graph, &s->recovery.graph);
}

static int begin_run(struct engine *e, struct cairn_error *error)
{
    struct situation *s = &e->situation;
    bool fresh = !s->recovered;
    struct buf params = BUF_INIT;
    e->row.state = CAIRN_RUN_UNFINISHED;
    e->row.ended_ns = 0;
    int result = workflow_params(e->workflow, &params, &e->row.params, error);
    e->row.params_text = arena_str(&e->arena, buf_view(&params));
    buf_release(&params);
    if (!result && e->arena.failed)
        result = error_nomem(error);
    if (!result && fresh) {
        e->row.gen = 1;
        e->row.graph = s->graph;
        e->row.tasks = e->graph->n_tasks;
        e->row.started_ns = clock_utc_ns();
        e->row.from_run = s->from_run;
        e->row.from_seq = s->from_seq;
        result = store_add_run(e->store, &e->row, error);
    } else if (!result && new_generation(s))
        e->row.gen++;
    if (!result)
        result = put_graph(e, error);
    if (!result && !fresh)
        result = store_set_run(e->store, &e->row, error);
    return result;
}

static int begin_stream(struct engine *e, struct cairn_error *error)
{
    struct situation *s = &e->situation;
    if (s->recovered)
        e->stream = s->recovery.head;
    else {
        e->stream = (struct stream){.id = e->row.run, .parent = s->from_seq};
        e->stream.parent_digest = s->from_digest;
    }
    e->stream.store = e->store;
    e->stream.sha = e->sha;
    e->stream.graph = s->graph;
    int result = 0;
    for (size_t i = 0; s->recovered && i < s->recovery.n_damaged && !result; i++)
        result = store_put_quarantine(e->store, s->recovery.damaged[i], clock_utc_ns(),
                                      s->recovery.reasons[i], error);
    if (!result && needs_full(e))
        result = stream_full(&e->stream, &e->states, clock_utc_ns(), NULL, error);
    return result;
}

/* A wish to stop that an earlier owner of the run did not live to see is no wish to
 * stop this one. */
static int drop_commands(struct engine *e, struct cairn_error *error)
{
    uint8_t verb = 1;
    int result = 0;
    while (verb && !result)
        result = store_take_command(e->store, e->row.run, &verb, error);
    return result;
}

static int put_beginning(struct engine *e, struct cairn_error *error)
{
    int result = begin_run(e, error);
    if (!result)
        result = drop_commands(e, error);
    if (!result && e->situation.recovered)
        result = close_interrupted(e, error);
    return result ? result : begin_stream(e, error);
}

int engine_commit_begin(struct engine *e, struct cairn_error *error)
{
    return transact(e, -1, put_beginning, error);
}

/* ---- The end ---- */

/* Intents whose attempt never started are closed, so that nobody takes them for
 * interrupted ones. */
static int close_intents(struct engine *e, struct cairn_error *error)
{
    int result = 0;
    for (uint32_t i = e->starts_head; i < e->n_starts && !result; i++) {
        struct attempt_row row = {.run = e->row.run,
                                  .gen = e->row.gen,
                                  .task = e->starts[i].task,
                                  .number = e->starts[i].attempt,
                                  .intent_ns = e->starts[i].intent_ns,
                                  .ended_ns = clock_utc_ns(),
                                  .exit_code = -1};
        result = store_put_attempt(e->store, &row, error);
    }
    return result;
}

/* Intents that were never acted on need no row at all. Those that were, while saving
 * failed, have an ending, which brings the row. */
static void drop_unacted_intents(struct engine *e)
{
    e->n_intents = e->unacted_intents = 0;
}

static int put_end(struct engine *e, struct cairn_error *error)
{
    struct cairn_prune_result pruned;
    drop_unacted_intents(e);
    int result = put_turn(e, error);
    if (!result)
        result = close_intents(e, error);
    if (!result && e->stream.tail_bytes)
        result = stream_full(&e->stream, &e->states, clock_utc_ns(), NULL, error);
    e->row.ended_ns = clock_utc_ns();
    if (!result)
        result = store_set_run(e->store, &e->row, error);
    if (!result && !e->options->keep_all)
        result = prune_stream(e->store, e->sha, e->row.run,
                              e->options->keep ? e->options->keep : DEFAULT_KEEP, false,
                              &pruned, error);
    return result;
}

int engine_commit_end(struct engine *e, enum cairn_run_state state,
                      struct cairn_error *error)
{
    struct cairn_error why = {0};
    if (!e->store)
        return engine_commit(e, error);
    e->row.state = (uint8_t)state;
    int result = transact(e, -1, put_end, &why);
    if (result == CAIRN_EDAMAGED || result == CAIRN_ENOMEM) {
        if (error)
            *error = why;
        return result;
    }
    if (result) {
        degrade(e, &why);
        e->result->unsaved = unsaved(e);
        e->result->end_unsaved = true;
        return 0;
    }
    if (e->degraded)
        report(e, CAIRN_EVENT_RECOVERED, "checkpoints can be saved again");
    e->degraded = false;
    act(e);
    forget(e);
    return 0;
}
