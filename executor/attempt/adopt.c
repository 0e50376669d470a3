/* SPDX-License-Identifier: MIT */
#include "executor/attempt/adopt.h"

#include "executor/attempt/attempt_result.h"
#include "executor/attempt/ending.h"
#include "executor/attempt/kept.h"
#include "executor/attempt/launch.h"
#include "executor/state/command_line.h"
#include "executor/state/report.h"

#include "base/limits.h"
#include "base/os.h"
#include "cairn/plan.h"
#include "plan/ended_files.h"
#include "runs/outputs.h"
#include "storage/rows_attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* What was moved before, by the last owner or at a resume that was killed, stays. */
static void move_file(struct engine *e, uint32_t task, const struct attempt_id *id,
                      struct live_name of_slot, enum live_kind of_attempt)
{
    char from[LIVE_PATH], to[LIVE_PATH], text[LIMIT_ID_BYTES + 160];
    live_path(from, sizeof from, id->live_dir, of_slot);
    live_path(to, sizeof to, id->live_dir, live_of_attempt(of_attempt, id));
    if (os_is_there(AT_FDCWD, to) || rename(from, to) == 0 || os_is_missing(errno))
        return;
    snprintf(text, sizeof text, "what %s wrote before the run was killed is lost: %s",
             situation_old(&e->run.situation, e->request.workflow)->id[task],
             strerrordesc_np(errno));
    report(e, CAIRN_EVENT_NOTICE, text);
}

/* Is the slot still that of the attempt? */
static bool has_slot(const struct slot_map *map, uint32_t slot,
                     const struct attempt_id *id)
{
    return slot < map->slots->n &&
           slot_has(&map->slots->slot[slot], id->gen, id->task, id->attempt);
}

void noted_move_files(struct engine *e)
{
    const struct recorded *r = &e->run.situation.recorded;
    struct slot_map map;
    if (!r->n_noted || slots_open(&map, e->run.live_dir, r->row.run, NULL))
        return;
    for (uint32_t i = 0; i < r->n_noted; i++) {
        const struct end_note *note = &r->noted[i];
        const struct kept_as *kept = &r->kept[note->task];
        struct attempt_id id = {e->run.live_dir, r->row.run,
                                kept->gen,       kept->task,
                                note->attempt,   live_store(e->run.identity)};
        if (!has_slot(&map, note->slot, &id))
            continue;
        move_file(e, note->task, &id, live_of_slot(LIVE_SLOT_OUT, id.run, note->slot),
                  LIVE_OUT);
        move_file(e, note->task, &id, live_of_slot(LIVE_SLOT_ERR, id.run, note->slot),
                  LIVE_ERR);
        move_file(e, note->task, &id, live_of_values(id.run, note->slot, id.store),
                  LIVE_VALUES);
    }
    slots_close(&map, false);
}

/* That some of their output may be lost. */
static void noted_report_losses(struct engine *e)
{
    const struct recorded *r = &e->run.situation.recorded;
    uint32_t n = 0;
    char text[200];
    for (uint32_t i = 0; i < r->n_noted; i++)
        n += r->noted[i].flags & NOTE_PIPED ? 1 : 0;
    if (!n)
        return;
    snprintf(text, sizeof text,
             "%u task%s had ended when the run was killed; of their output, what was "
             "not yet searched for secrets is lost",
             n, n == 1 ? "" : "s");
    report(e, CAIRN_EVENT_NOTICE, text);
}

/* As if a keeper had recorded it. */
static struct keeper noted_keeper(const struct attempt_id *id,
                                  const struct end_note *note)
{
    bool as_shell = note->signal && note->flags & NOTE_AS_SHELL &&
                    !(note->flags & (NOTE_TIMED_OUT | NOTE_STOPPED));
    return (struct keeper){
        .id = *id,
        .fate = KEEPER_ENDED,
        .pidfd = -1,
        .started_ns = note->started_ns,
        .inputs = note->inputs,
        .record = {.exit_code = as_shell ? 128 + note->signal : note->exit_code,
                   .signal = as_shell ? 0 : note->signal,
                   .timed_out = note->flags & NOTE_TIMED_OUT,
                   .started_ns = note->started_ns,
                   .ended_ns = note->ended_ns,
                   .cpu_us = note->cpu_us}};
}

/* Attempts of the last owner that were not interrupted: those that it left under
 * keepers (on_crash: adopt; keeper.h has the rules), and those that had ended, which it
 * noted and did not live to store. */

struct orphan {
    struct attempt_row row;
    uint32_t old;  /* its task, as recorded */
    uint32_t task; /* in the workflow as it is now */
    bool wanted;   /* its end, if there is one, is that of its task */
    struct keeper keeper;
    struct orphan *next;
};

struct orphans {
    struct engine *e;
    bool finally; /* of which tasks */
    struct orphan *first;
    uint32_t n;
    struct past_definition past;
    struct cairn_error *error;
};

static int note_orphan(void *context, const struct attempt_row *row)
{
    struct orphans *o = context;
    const struct situation *s = &o->e->run.situation;
    const struct recorded *r = &s->recorded;
    bool moved = row->gen != r->row.gen; /* by open_run.c, to the generation of now */
    uint32_t old = moved ? s->present.old_task[row->task] : row->task;
    if (old >= r->states.n || !(r->marks[old] & MARK_OUTLIVED) ||
        row->number != r->last_attempt[old])
        return 0;
    uint32_t task =
        moved ? row->task : situation_task_now(s, o->e->request.workflow, row->task);
    bool finally = task != NODE_NONE && graph_def(o->e->request.graph, task)->finally;
    if (finally != o->finally)
        return 0;
    struct orphan *orphan = arena_take(&o->e->run.arena, 1, sizeof *orphan);
    if (!orphan)
        return error_nomem(o->error);
    *orphan = (struct orphan){
        .row = {.gen = row->gen,
                .task = row->task,
                .number = row->number,
                .flags = row->flags & (ATTEMPT_MERGED | ATTEMPT_FALLBACK),
                .intent_ns = row->intent_ns,
                .start_turn = row->start_turn},
        .old = old,
        .task = task,
        .next = o->first};
    o->first = orphan;
    o->n++;
    return 0;
}

/* Some of them are gone, or cannot be read. */
static int forget_inputs(struct job *job, const struct scope *scope,
                         struct cairn_error *error)
{
    struct result *r = &job->result;
    struct files f;
    struct buf inputs = BUF_INIT;
    int rc = files_begin(&f, scope, true, error);
    while (!rc && files_step(&f, NULL) > 0) {
        struct result_file input = {.name = arena_str(&job->arena, buf_view(&f.name)),
                                    .kind = 'f'};
        file_forget(&input);
        buf_add(&inputs, &input, sizeof input);
    }
    files_release(&f);
    r->n_inputs = (uint32_t)(inputs.size / sizeof *r->inputs);
    r->inputs = arena_take(&job->arena, r->n_inputs, sizeof *r->inputs);
    bool failed = job->arena.failed || inputs.failed;
    if (!failed && inputs.data)
        memcpy(r->inputs, inputs.data, inputs.size);
    buf_release(&inputs);
    return !rc && failed ? error_nomem(error) : rc;
}

/* What the attempt read is what is there now, unless that looks otherwise than before
 * the attempt, or is younger. */
static int find_inputs(struct engine *e, struct job *job, uint64_t before,
                       struct cairn_error *error)
{
    struct cairn_error why = {0};
    struct result *r = &job->result;
    struct asker asker = job_asker(e, job);
    int rc = files_look(&asker, true, &job->arena, r, &why);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    if (rc == CAIRN_ESTOPPED && e->phase == PHASE_MAIN) /* nothing was begun */
        return error_set(error, rc, "%s", why.text);
    struct scope scope = lookup_scope(&asker);
    uint64_t now = 0;
    if (rc)
        return forget_inputs(job, &scope, error);
    rc = inputs_sign_of(r->inputs, r->n_inputs, &now, error);
    for (uint32_t i = 0; !rc && i < r->n_inputs; i++)
        if (now != before || r->inputs[i].changed_ns >= job->started_ns)
            file_forget(&r->inputs[i]);
    return rc;
}

static int find_what_it_read(struct engine *e, struct job *job, uint64_t before,
                             struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    struct asker asker = job_asker(e, job);
    int rc = 0;
    arena_release(&job->arena);
    job->result = (struct result){0};
    job->reading_ns = 0;
    if (def->n_inputs)
        rc = find_inputs(e, job, before, error);
    if (!rc)
        rc = launch_mark_secrets(e, job->intent.task, &job->arena, &job->result, error);
    if (!rc && def->undo.len)
        rc = launch_describe(&asker, def->undo, &job->arena, &job->result.undo, error);
    return rc;
}

static struct intent intent_of(const struct orphan *orphan, uint32_t task)
{
    return (struct intent){.task = task,
                           .attempt = orphan->row.number,
                           .intent_ns = orphan->row.intent_ns,
                           .turn = orphan->row.start_turn,
                           .merged = orphan->row.flags & ATTEMPT_MERGED,
                           .fallback = orphan->row.flags & ATTEMPT_FALLBACK};
}

/* A new generation has rows of its own; the old one is not left open for ever. */
static int close_old_row(struct engine *e, const struct orphan *orphan,
                         const char *text, struct cairn_error *error)
{
    struct intent intent = intent_of(orphan, orphan->row.task);
    struct ending *ending = turn_draft_ending(e, &intent, error);
    if (!ending)
        return error_nomem(error);
    ending->row.gen = orphan->row.gen;
    ending->row.flags |= ATTEMPT_INTERRUPTED;
    ending->acted = true; /* nothing to report */
    buf_text(&ending->text, text);
    turn_add_ending(e, ending);
    return 0;
}

static int take_over(struct engine *e, struct past_definition *past,
                     const struct orphan *orphan, struct cairn_error *error)
{
    bool edited;
    const struct keeper *keeper = &orphan->keeper;
    struct intent intent = intent_of(orphan, orphan->task);
    int rc = kept_is_edited(e, past, &keeper->id, orphan->task, &edited, error);
    if (rc)
        return rc;
    struct job *job = jobs_take(e, &intent);
    if (job->capture_open)
        capture_close(&job->capture);
    job->started_ns = keeper->started_ns ? keeper->started_ns : loop_utc_ns(e);
    job->capture_open =
        !capture_attempt_open(&job->capture, &keeper->id, intent.merged, NULL);
    rc = jobs_adopt(e, job, keeper, edited, error)
             ?: find_what_it_read(e, job, keeper->inputs, error);
    if (!rc && orphan->row.gen != e->run.row.gen)
        rc = close_old_row(e, orphan, "taken over", error);
    if (rc)
        return rc;
    return keeper->fate == KEEPER_LIVE ? 0 : engine_exited(e, job, error);
}

/* By what it left, rather than by another attempt? */
static bool settles_task(const struct engine *e, const struct orphan *orphan)
{
    enum keeper_fate fate = orphan->keeper.fate;
    return orphan->wanted &&
           (fate == KEEPER_LIVE || fate == KEEPER_ENDED ||
            (fate == KEEPER_LOST && graph_def(e->request.graph, orphan->task)->once));
}

/* Its row was left open at the beginning, because it looked as if it could be kept. */
static int close_orphan(struct engine *e, const struct orphan *orphan,
                        struct cairn_error *error)
{
    const struct keeper *keeper = &orphan->keeper;
    uint32_t task = orphan->task;
    struct intent intent = intent_of(orphan, task);
    struct ending *ending = turn_draft_ending(e, &intent, error);
    bool lost = keeper->fate == KEEPER_LOST;
    if (!ending)
        return error_nomem(error);
    ending->row.flags |= lost ? ATTEMPT_INTERRUPTED : 0;
    ending->kept = true;
    ending->id = keeper->id;
    buf_text(&ending->text, lost ? "interrupted" : "it had not started");
    if (settles_task(e, orphan))
        settle_unknown(e, ending);
    else
        turn_add_ending(e, ending);
    return 0;
}

/* Nobody will ask for its end. `task` NULL: its name is not known any more. An error:
 * it still runs, and nothing may start beside it. */
static int end_unwanted(struct engine *e, struct keeper *keeper, const char *task,
                        struct cairn_error *error)
{
    struct ending ending = {.kept = true, .id = keeper->id};
    struct cairn_error trouble = {0};
    struct buf text = BUF_INIT;
    bool lives = keeper->fate == KEEPER_LIVE;
    int rc = e->request.runner->ops->discard(e->request.runner, keeper, &trouble);
    if (rc == CAIRN_EBUSY)
        return error_set(error, rc, "%s", trouble.text);
    if (rc)
        report(e, CAIRN_EVENT_NOTICE, trouble.text);
    else if (lives) {
        buf_format(&text, "task %s was still running under its keeper: ended",
                   task ? task : "(of an attempt that is not recorded)");
        buf_byte(&text, '\0');
        report(e, CAIRN_EVENT_NOTICE,
               text.failed ? "a task was still running under its keeper: ended"
                           : text.data);
    }
    buf_release(&text);
    ending_remove_files(&ending);
    return 0;
}

static int find_keeper(struct engine *e, struct orphan *orphan,
                       struct cairn_error *error)
{
    struct runner *runner = e->request.runner;
    const struct recorded *r = &e->run.situation.recorded;
    struct kept_as kept = r->kept[orphan->old];
    struct attempt_id id = {e->run.live_dir,
                            e->run.row.run,
                            kept.gen ? kept.gen : r->row.gen,
                            kept.gen ? kept.task : orphan->old,
                            orphan->row.number,
                            live_store(e->run.identity)};
    const struct end_note *note = situation_noted_end(&e->run.situation, orphan->old);
    if (!note)
        return runner->ops->look(runner, &orphan->keeper, &id, e->run.identity, error);
    orphan->keeper = noted_keeper(&id, note);
    return 0;
}

/* They were there when the note was read (runs/run_tasks.c), but could not be moved.
 */
static bool values_are_gone(const struct engine *e, const struct orphan *orphan)
{
    const struct end_note *note = situation_noted_end(&e->run.situation, orphan->old);
    char path[LIVE_PATH];
    if (!note || !note->values_bytes)
        return false;
    values_path_of(&orphan->keeper.id, path, sizeof path);
    return !os_is_there(AT_FDCWD, path);
}

/* It may have ended, and a file may have changed, after the run was loaded, which can
 * take long. What is known of its files then is as good as nothing. */
static int check_ended(struct engine *e, struct orphan *orphan,
                       struct cairn_error *error)
{
    struct keeper *keeper = &orphan->keeper;
    struct buf why = BUF_INIT, text = BUF_INIT;
    struct asker asker = {.lookup = &e->progress.lookup,
                          .task = orphan->task,
                          .attempt = orphan->row.number};
    if (!orphan->wanted || keeper->fate != KEEPER_ENDED)
        return 0;
    struct end_note end = ended_note_of(keeper, orphan->task);
    int rc = ended_files_check(&asker, &end, &why, error);
    if (!rc && !why.size && values_are_gone(e, orphan))
        buf_text(&why, "the values that it passed on are gone");
    if (!rc && why.size) {
        keeper->fate = KEEPER_LOST;
        buf_format(&text, "%s has ended, but %.*s: that end does not count",
                   e->request.graph->id[orphan->task], (int)why.size, why.data);
        buf_byte(&text, '\0');
        report(e, CAIRN_EVENT_NOTICE,
               text.failed ? "an end does not count" : text.data);
    }
    buf_release(&why);
    buf_release(&text);
    return rc;
}

static int look_at_orphan(struct engine *e, struct orphan *orphan,
                          struct cairn_error *error)
{
    /* If it was edited or dropped since, or is not wanted any more, its end counts for
     * nothing. */
    orphan->wanted =
        orphan->task != NODE_NONE && e->progress.sched.state[orphan->task] == READY &&
        e->run.situation.decisions.reason[orphan->task] == CAIRN_REASON_ADOPTED;
    int rc = find_keeper(e, orphan, error);
    if (rc)
        return rc;
    struct keeper *keeper = &orphan->keeper;
    /* Stopped before us: for this owner it was interrupted. */
    if (keeper->fate == KEEPER_ENDED && keeper->record.stopped)
        keeper->fate = KEEPER_LOST;
    return check_ended(e, orphan, error);
}

static int look_at_orphans(struct engine *e, struct orphan *first,
                           struct cairn_error *error)
{
    for (struct orphan *o = first; o; o = o->next) {
        int rc = look_at_orphan(e, o, error);
        if (!rc)
            continue;
        for (struct orphan *seen = first; seen != o; seen = seen->next)
            if (seen->keeper.pidfd >= 0)
                close(seen->keeper.pidfd);
        return rc;
    }
    return 0;
}

/* Takes such tasks away from the scheduler: before any of them is settled, since one
 * that has failed may stop the run. */
static int take_tasks(const struct orphans *orphans)
{
    struct engine *e = orphans->e;
    uint32_t n = 0, *tasks = arena_take(&e->run.arena, orphans->n, sizeof *tasks);
    if (!tasks)
        return error_nomem(orphans->error);
    for (const struct orphan *o = orphans->first; o; o = o->next)
        if (settles_task(e, o))
            tasks[n++] = o->task;
    sched_take_tasks(&e->progress.sched, tasks, n);
    return 0;
}

static int settle_orphan(struct engine *e, struct past_definition *past,
                         struct orphan *orphan, struct cairn_error *error)
{
    enum keeper_fate fate = orphan->keeper.fate;
    const struct graph *old = situation_old(&e->run.situation, e->request.workflow);
    if (!orphan->wanted) {
        int rc = end_unwanted(e, &orphan->keeper, old->id[orphan->old], error);
        return rc ? rc
                  : close_old_row(e, orphan, "ended: its task is not as it was", error);
    }
    return fate == KEEPER_LIVE || fate == KEEPER_ENDED
               ? take_over(e, past, orphan, error)
               : close_orphan(e, orphan, error);
}

/* Attempts that the store does not know as open: started while it could not be written,
 * or of an earlier generation. */
static int end_if_unknown(void *context, struct keeper *keeper)
{
    const struct orphans *orphans = context;
    struct engine *e = orphans->e;
    const struct recorded *r = &e->run.situation.recorded;
    uint32_t task = situation_kept_task(&e->run.situation, &keeper->id);
    keeper->id.store = live_store(e->run.identity);
    bool known = task != NODE_NONE && r->marks[task] & MARK_OUTLIVED;
    return known ? 0 : end_unwanted(e, keeper, NULL, orphans->error);
}

/* Those of `finally`, or all others. */
static int adopt_orphans(struct engine *e, bool finally, struct cairn_error *error)
{
    struct orphans orphans = {.e = e, .finally = finally, .error = error};
    if (!e->run.situation.recorded.n_outlived)
        return 0;
    uint32_t before = e->run.situation.recorded.row.gen;
    int rc = store_each_run_attempt(e->request.store, e->run.row.run, before, true,
                                    note_orphan, &orphans, error);
    if (!rc && e->run.row.gen != before)
        rc = store_each_run_attempt(e->request.store, e->run.row.run, e->run.row.gen,
                                    true, note_orphan, &orphans, error);
    rc = rc ? rc : look_at_orphans(e, orphans.first, error);
    if (!rc && orphans.n)
        rc = take_tasks(&orphans);
    for (struct orphan *o = orphans.first; o && !rc; o = o->next)
        rc = settle_orphan(e, &orphans.past, o, error);
    past_definition_release(&orphans.past);
    return rc;
}

int adopt_all(struct engine *e, struct cairn_error *error)
{
    const struct recorded *r = &e->run.situation.recorded;
    if (e->request.mode == MODE_SETTLE)
        return 0;
    /* A new run has them, too: what is left of a store that was removed. */
    keepers_forget_foreign(e->run.live_dir, e->run.identity, e->run.row.run);
    if (!r->recovered)
        return 0;
    struct orphans unknown = {.e = e, .error = error};
    int rc = keepers_each(e->run.live_dir, e->run.identity, e->run.row.run,
                          end_if_unknown, &unknown, error);
    if (!r->n_noted && e->jobs.slots.slots)
        end_notes_remove_others(e->run.live_dir, e->jobs.slots.slots);
    if (!rc)
        noted_report_losses(e);
    return rc ? rc : adopt_orphans(e, false, error);
}

int adopt_finally(struct engine *e, struct cairn_error *error)
{
    return e->run.situation.recorded.recovered ? adopt_orphans(e, true, error) : 0;
}
