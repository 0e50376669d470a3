/* SPDX-License-Identifier: MIT */
#include "executor/attempt/noted.h"

#include "executor/state/report.h"

#include "base/limits.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

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

void noted_report_losses(struct engine *e)
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

struct keeper noted_keeper(const struct attempt_id *id, const struct end_note *note)
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
