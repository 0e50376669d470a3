/* SPDX-License-Identifier: MIT */
/* The queue of durable intents. */
#include "executor/state/turn.h"

#include "executor/state/command_line.h"
#include "executor/state/report.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

/* A copy at the end of the list; CAIRN_ENOMEM. */
static int intent_list_add(struct intent_list *list, const struct intent *intent)
{
    struct intent *at = array_room(list->at, list->n, &list->capacity, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    list->at = at;
    list->at[list->n++] = *intent;
    return 0;
}

int starts_add(struct starts *starts, const struct intent *intent, bool call)
{
    struct intent copy = *intent;
    copy.order = ++starts->added;
    return intent_list_add(call ? &starts->calls.list : &starts->queue.list, &copy);
}

struct start_queue *starts_next(struct starts *starts, bool busy)
{
    struct start_queue *queue =
        start_queue_count(&starts->queue) ? &starts->queue : NULL;
    if (busy || !start_queue_count(&starts->calls))
        return queue;
    return queue && start_queue_first(queue)->order <
                        start_queue_first(&starts->calls)->order
               ? queue
               : &starts->calls;
}

struct intent start_queue_take(struct start_queue *queue)
{
    assert(start_queue_count(queue));
    return queue->list.at[queue->head++];
}

static void compact_queue(struct start_queue *queue)
{
    struct intent_list *list = &queue->list;
    uint32_t left = start_queue_count(queue);
    if (!queue->head || (queue->head <= left + 64 && left))
        return;
    memmove(list->at, list->at + queue->head, left * sizeof *list->at);
    list->n = left;
    queue->head = 0;
}

void starts_compact(struct starts *starts)
{
    compact_queue(&starts->queue);
    compact_queue(&starts->calls);
}

int starts_drop(struct starts *starts, const struct intent *intent)
{
    return intent_list_add(&starts->dropped, intent);
}

void starts_release(struct starts *starts)
{
    free(starts->queue.list.at);
    free(starts->calls.list.at);
    free(starts->dropped.at);
    *starts = (struct starts){0};
}

/* The lists of the turn, and what is done with them around its commit. */

int turn_open(struct engine *e, struct cairn_error *error)
{
    e->turn.attempts = calloc(e->request.graph->n_tasks, sizeof *e->turn.attempts);
    if (!e->turn.attempts)
        return error_nomem(error);
    for (uint32_t task = 0; task < e->request.graph->n_tasks; task++)
        e->turn.attempts[task] = situation_attempts(&e->run.situation, task);
    return 0;
}

int turn_extend(struct engine *e, uint32_t before)
{
    return array_extend(&e->turn.attempts, before, e->request.graph->n_tasks,
                        sizeof *e->turn.attempts)
               ? 0
               : CAIRN_ENOMEM;
}

uint32_t turn_next_attempt(struct engine *e, uint32_t task)
{
    return ++e->turn.attempts[task];
}

void turn_take_back_attempt(struct engine *e, uint32_t task)
{
    assert(e->turn.attempts[task]);
    e->turn.attempts[task]--;
}

uint16_t intent_flags(const struct intent *intent)
{
    return (uint16_t)((intent->merged ? ATTEMPT_MERGED : 0) |
                      (intent->fallback ? ATTEMPT_FALLBACK : 0));
}

struct ending *turn_draft_ending(struct engine *e, const struct intent *intent,
                                 struct cairn_error *error)
{
    struct ending *endings = array_room(e->turn.endings, e->turn.n_endings,
                                        &e->turn.endings_capacity, sizeof *endings);
    if (!endings) {
        error_nomem(error);
        return NULL;
    }
    e->turn.endings = endings;
    struct ending *ending = &e->turn.endings[e->turn.n_endings];
    *ending = (struct ending){.row = {.run = e->run.row.run,
                                      .gen = e->run.row.gen,
                                      .task = intent->task,
                                      .number = intent->attempt,
                                      .intent_ns = intent->intent_ns,
                                      .start_turn = intent->turn,
                                      .flags = intent_flags(intent),
                                      .exit_code = -1,
                                      .ended_ns = loop_utc_ns(e)}};
    return ending;
}

void turn_add_ending(struct engine *e, const struct ending *ending)
{
    assert(ending == &e->turn.endings[e->turn.n_endings]);
    e->turn.n_endings++;
    e->turn.unacted += !ending->acted;
}

void ending_release(struct ending *ending)
{
    buf_release(&ending->captured[0].content);
    buf_release(&ending->captured[1].content);
    buf_release(&ending->times);
    buf_release(&ending->result);
    buf_release(&ending->left);
    buf_release(&ending->text);
    free(ending->skipped.at);
}

const struct ending *turn_next_settled(struct engine *e)
{
    while (e->turn.n_checked < e->turn.n_endings) {
        const struct ending *ending = &e->turn.endings[e->turn.n_checked++];
        if (ending->settled)
            return ending;
    }
    return NULL;
}

/* Does the attempt write one log? What decides an unknown task answers on stdout. */
static bool writes_merged(const struct engine *e, uint32_t task, enum job_role role)
{
    const struct task_def *def = graph_def(e->request.graph, task);
    return (role == ROLE_TASK || role == ROLE_UNDO) && !def->apart &&
           (role == ROLE_UNDO || def->kind == TASK_RUN || def->kind == TASK_EXEC);
}

int turn_add_intent(struct engine *e, uint32_t task, enum job_role role)
{
    struct intent intent = {.task = task,
                            .attempt = e->turn.attempts[task] + 1,
                            .intent_ns = loop_utc_ns(e),
                            .role = role,
                            .merged = writes_merged(e, task, role),
                            .fallback = role == ROLE_TASK && falls_back(e, task)};
    if (intent_list_add(&e->turn.intents, &intent))
        return CAIRN_ENOMEM;
    turn_next_attempt(e, task);
    e->turn.unacted++;
    e->turn.unacted_intents++;
    return 0;
}

void turn_withdraw_intents(struct engine *e)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < e->turn.intents.n; i++) {
        struct intent *intent = &e->turn.intents.at[i];
        enum sched_kind kind = sched_kind_of(graph_def(e->request.graph, intent->task));
        if (intent->acted || intent->role != ROLE_TASK ||
            e->progress.sched.allowed & kind) {
            e->turn.intents.at[kept++] = *intent;
            continue;
        }
        turn_take_back_attempt(e, intent->task);
        e->turn.unacted_intents--;
        e->turn.unacted -= e->turn.unacted > 0 && !intent->withheld;
        sched_return(&e->progress.sched, intent->task);
    }
    e->turn.intents.n = kept;
}

int turn_add_offer(struct engine *e, uint32_t task, struct str text,
                   struct cairn_error *error)
{
    struct offer *offers = array_room(e->turn.offers, e->turn.n_offers,
                                      &e->turn.offers_capacity, sizeof *offers);
    if (!offers)
        return error_nomem(error);
    e->turn.offers = offers;
    char *copy = strndup(text.ptr ? text.ptr : "", text.len);
    if (!copy)
        return error_nomem(error);
    sched_offer(&e->progress.sched, task);
    e->turn.offers[e->turn.n_offers++] = (struct offer){task, copy};
    return 0;
}

static void forget_offers(struct engine *e)
{
    for (uint32_t i = 0; i < e->turn.n_offers; i++)
        free(e->turn.offers[i].text);
    e->turn.n_offers = 0;
}

void ending_remove_files(const struct ending *ending)
{
    char path[4200];
    if (!ending->kept && !ending->has_files)
        return;
    capture_attempt_remove(&ending->id);
    values_path_of(&ending->id, path, sizeof path);
    unlink(path);
    inputs_remove(&ending->id);
    if (ending->kept)
        keeper_forget(&ending->id);
}

void turn_discard_intents(struct engine *e)
{
    e->turn.intents.n = e->turn.unacted_intents = 0;
}

void turn_note_command(struct engine *e, uint64_t id)
{
    e->turn.last_command = id;
}

static void report_offers(struct engine *e)
{
    for (uint32_t i = 0; i < e->turn.n_offers; i++)
        report_waiting(e, e->turn.offers[i].task, e->turn.offers[i].text);
    forget_offers(e);
}

static void report_withheld(struct engine *e, struct intent *intent)
{
    char text[LIMIT_ID_BYTES + 96];
    if (intent->withheld)
        return;
    intent->withheld = true;
    snprintf(text, sizeof text,
             "%s must not run twice, so it waits until checkpoints can be saved",
             e->request.graph->id[intent->task]);
    report(e, CAIRN_EVENT_NOTICE, text);
}

/* A callback that runs beside no other one. */
static bool is_lone_call(const struct engine *e, const struct intent *intent)
{
    const struct task_def *def = graph_def(e->request.graph, intent->task);
    return intent->role == ROLE_TASK && def->kind == TASK_CALL && !def->parallel;
}

void turn_act(struct engine *e, bool saved)
{
    e->turn.unacted = e->turn.unacted_intents = 0;
    e->turn.unacted_ns = 0;
    for (uint32_t i = 0; i < e->turn.n_endings; i++) {
        if (e->turn.endings[i].acted)
            continue;
        e->turn.endings[i].acted = true;
        report_ending(e, &e->turn.endings[i]);
    }
    for (uint32_t i = 0; i < e->turn.intents.n; i++) {
        struct intent *intent = &e->turn.intents.at[i];
        if (intent->acted)
            continue;
        if (!saved && graph_def(e->request.graph, intent->task)->once) {
            e->turn.unacted_intents++;
            report_withheld(e, intent);
            continue;
        }
        intent->acted = true;
        if (starts_add(&e->starts, intent, is_lone_call(e, intent)))
            engine_break(e);
    }
    report_offers(e);
}

void turn_forget(struct engine *e)
{
    for (uint32_t i = 0; i < e->turn.n_endings; i++) {
        ending_remove_files(&e->turn.endings[i]);
        noting_return(e, e->turn.endings[i].note);
        ending_release(&e->turn.endings[i]);
    }
    e->turn.n_endings = e->turn.intents.n = e->turn.n_checked = 0;
    audit_forget(e);
    e->turn.stored_command = e->turn.last_command;
}

void turn_drop_sequence_numbers(struct engine *e)
{
    for (uint32_t i = 0; i < e->turn.n_endings; i++)
        e->turn.endings[i].seq = 0;
}

uint32_t turn_count_unsaved(const struct engine *e)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->turn.n_endings; i++)
        n += e->turn.endings[i].final;
    return n;
}

/* While the spawner has enough to do, ends that come soon after each other share one
 * commit: a sync costs as much as a small task. */
int64_t turn_commit_delay_ns(struct engine *e)
{
    enum { LINGER_NS = 4000000 };
    bool enough = 2 * e->jobs.waiting >= e->saving.ahead ||
                  start_queue_count(&e->starts.calls) > 0;
    if (!e->turn.unacted || !enough || e->halting.level || e->phase != PHASE_MAIN ||
        e->saving.waits || e->saving.degraded || e->turn.n_offers ||
        e->turn.last_command != e->turn.stored_command)
        return 0;
    int64_t now = loop_now_ns(e);
    if (!e->turn.unacted_ns)
        e->turn.unacted_ns = now;
    int64_t left = e->turn.unacted_ns + LINGER_NS - now;
    return left > 0 ? left : 0;
}

void turn_release(struct engine *e)
{
    for (uint32_t i = 0; i < e->turn.n_endings; i++)
        ending_release(&e->turn.endings[i]);
    forget_offers(e);
    free(e->turn.attempts);
    free(e->turn.endings);
    free(e->turn.intents.at);
    free(e->turn.offers);
}
