/* SPDX-License-Identifier: MIT */
/* What waits for the next commit: endings, intents, offers. */
#include "executor/engine.h"

#include "base/array.h"
#include "base/clock.h"
#include "storage/rows_command.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

struct ending *turn_draft_ending(struct engine *e, const struct intent *intent,
                                 struct cairn_error *error)
{
    struct ending *endings =
        array_room(e->endings, e->n_endings, &e->endings_capacity, sizeof *endings);
    if (!endings) {
        error_nomem(error);
        return NULL;
    }
    e->endings = endings;
    struct ending *ending = &e->endings[e->n_endings];
    *ending = (struct ending){.row = {.run = e->row.run,
                                      .gen = e->row.gen,
                                      .task = intent->task,
                                      .number = intent->attempt,
                                      .intent_ns = intent->intent_ns,
                                      .start_turn = intent->turn,
                                      .exit_code = -1,
                                      .ended_ns = clock_utc_ns()}};
    return ending;
}

void turn_add_ending(struct engine *e, const struct ending *ending)
{
    assert(ending == &e->endings[e->n_endings]);
    e->n_endings++;
    e->unacted += !ending->acted;
}

void ending_release(struct ending *ending)
{
    buf_release(&ending->captured[0].content);
    buf_release(&ending->captured[1].content);
    buf_release(&ending->result);
    buf_release(&ending->text);
    free(ending->skipped);
}

int turn_add_intent(struct engine *e, uint32_t task, enum job_role role)
{
    struct intent *intents =
        array_room(e->intents, e->n_intents, &e->intents_capacity, sizeof *intents);
    if (!intents)
        return CAIRN_ENOMEM;
    e->intents = intents;
    e->unacted++;
    e->unacted_intents++;
    e->intents[e->n_intents++] = (struct intent){.task = task,
                                                 .attempt = ++e->attempts[task],
                                                 .intent_ns = clock_utc_ns(),
                                                 .role = role};
    return 0;
}

/* Those that were never acted on and may not be any more: nothing of them is stored. */
void turn_withdraw_intents(struct engine *e)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < e->n_intents; i++) {
        struct intent *intent = &e->intents[i];
        enum sched_kind kind = sched_kind_of(graph_def(e->graph, intent->task));
        if (intent->acted || intent->role != ROLE_TASK || e->sched.allowed & kind) {
            e->intents[kept++] = *intent;
            continue;
        }
        e->attempts[intent->task]--;
        e->unacted_intents--;
        e->unacted -= e->unacted > 0 && !intent->withheld;
        sched_return(&e->sched, intent->task);
    }
    e->n_intents = kept;
}

int turn_add_offer(struct engine *e, uint32_t task, struct str text,
                   struct cairn_error *error)
{
    struct offer *offers =
        array_room(e->offers, e->n_offers, &e->offers_capacity, sizeof *offers);
    if (!offers)
        return error_nomem(error);
    e->offers = offers;
    char *copy = strndup(text.ptr ? text.ptr : "", text.len);
    if (!copy)
        return error_nomem(error);
    sched_offer(&e->sched, task);
    e->offers[e->n_offers++] = (struct offer){task, copy};
    return 0;
}

void turn_forget_offers(struct engine *e)
{
    for (uint32_t i = 0; i < e->n_offers; i++)
        free(e->offers[i].text);
    e->n_offers = 0;
}

void ending_remove_files(const struct ending *ending)
{
    char path[4200];
    if (!ending->kept)
        return;
    capture_attempt_remove(&ending->id);
    values_path_of(&ending->id, path, sizeof path);
    unlink(path);
    keeper_forget(&ending->id);
}

int turn_mark_commands(struct engine *e, struct cairn_error *error)
{
    if (e->last_command == e->stored_command)
        return 0;
    return store_mark_commands(e->store, e->row.run, e->last_command, error);
}
