/* SPDX-License-Identifier: MIT */
/* What may be found after a power cut, and what may not. */
#include "cairn/checkpoint.h"
#include "cairn/runs.h"
#include "power.h"

#include <stdarg.h>
#include <stdlib.h>

struct look { /* at one run of an image */
    struct judge *judge;
    const struct fate *fates;
    uint64_t run;
    uint32_t lost, repeated, not_begun, invented, tasks, completed;
    bool done[TASKS_MAX];
};

__attribute__((format(printf, 3, 4))) static void blame(struct judge *judge,
                                                        uint32_t *count,
                                                        const char *format, ...)
{
    va_list list;
    ++*count;
    printf("# %s: ", judge->name);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    printf("\n");
    fflush(stdout);
}

/* ---- Opening ---- */

static int open_image(const struct judge *judge, const char *dir, bool read_only,
                      bool create, struct cairn_store **store,
                      struct cairn_error *error)
{
    char path[700];
    snprintf(path, sizeof path, "%s/.cairn", dir);
    struct cairn_store_options options = {
        .path = path, .read_only = read_only, .create = create};
    return store_open_at(store, &options, judge->network ? STORE_NETWORK : STORE_LOCAL,
                         error);
}

/* True if the judgement is over: the damage has a name, or should not have one. */
static bool complained(struct judge *judge, int rc, const char *what,
                       const struct cairn_error *error)
{
    if (rc == 0)
        return false;
    if (rc == CAIRN_EDAMAGED && judge->sync != CAIRN_SYNC_FULL)
        judge->tally->named++;
    else
        blame(judge, &judge->tally->other, "%s: %s: %s", what, cairn_code_name(rc),
              error->text);
    return true;
}

/* A reader changes nothing, so it may come upon what only a writer can put right. */
static bool look_as_reader(struct judge *judge, const char *dir)
{
    struct cairn_error error = {0};
    struct cairn_store *store = NULL;
    int rc = open_image(judge, dir, true, false, &store, &error);
    cairn_store_close(store);
    if (rc == CAIRN_ENOTFOUND)
        return true; /* the writer will tell whether that may be */
    if (rc == CAIRN_EIO && strstr(error.text, "interrupted while it wrote"))
        return true;
    return !complained(judge, rc, "reading", &error);
}

/* ---- What is in it ---- */

static int see_task(void *context, const struct cairn_task_info *info)
{
    struct look *look = context;
    if (info->node >= TASKS_MAX)
        return 0;
    const struct fate *fate = &look->fates[info->node];
    bool recorder = look->judge->work->recorder;
    look->tasks++;
    look->done[info->node] = info->outcome == CAIRN_COMPLETED;
    look->completed += info->outcome == CAIRN_COMPLETED;
    look->lost += fate->outcome == CAIRN_COMPLETED && info->outcome != CAIRN_COMPLETED;
    look->not_begun += !recorder && info->attempt < fate->attempts;
    look->invented += !recorder && info->outcome == CAIRN_COMPLETED && !fate->attempts;
    return 0;
}

static uint32_t promised(const struct fate *fates)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < TASKS_MAX; i++)
        n += fates[i].outcome == CAIRN_COMPLETED;
    return n;
}

/* One run; the acknowledged outcomes that are not there. */
static uint32_t judge_run(struct judge *judge, struct cairn_store *store, uint64_t run,
                          struct look *look)
{
    struct cairn_error error = {0};
    struct cairn_run_info info = {0};
    struct tally *tally = judge->tally;
    *look = (struct look){
        .judge = judge, .fates = history_fates(judge->history, run, NULL), .run = run};
    int rc = cairn_run_get(store, run, &info, &error);
    if (rc == CAIRN_ENOTFOUND)
        return promised(look->fates);
    if (!rc)
        rc = cairn_run_tasks(store, run, see_task, look, &error);
    if (complained(judge, rc, "the tasks of a run", &error))
        return 0;
    if (look->invented)
        blame(judge, &tally->undetected,
              "run %llu: %u tasks completed that never began", (unsigned long long)run,
              look->invented);
    if (info.state == CAIRN_RUN_COMPLETED && look->completed < look->tasks)
        blame(judge, &tally->undetected, "run %llu completed with %u of %u tasks",
              (unsigned long long)run, look->completed, look->tasks);
    if (look->not_begun && judge->sync == CAIRN_SYNC_FULL)
        blame(judge, &tally->other, "run %llu: the intents of %u tasks are lost",
              (unsigned long long)run, look->not_begun);
    return look->lost;
}

struct chain {
    struct judge *judge;
    uint64_t newest, count;
    uint32_t others;
};

static int see_checkpoint(void *context, const struct cairn_checkpoint_info *info)
{
    struct chain *chain = context;
    const struct history *history = chain->judge->history;
    chain->count++;
    if (info->seq > chain->newest)
        chain->newest = info->seq;
    if (!info->damaged && info->seq < history->n_digests &&
        history->digests[info->seq][0])
        chain->others += strcmp(info->digest, history->digests[info->seq]) != 0;
    return 0;
}

static bool judge_records(struct judge *judge, struct cairn_store *store)
{
    struct cairn_error error = {0};
    struct cairn_verify_result result;
    int rc = cairn_checkpoint_verify(store, NULL, NULL, NULL, &result, &error);
    return !complained(judge, rc, "verify", &error);
}

/* The records are those that were written, and none is missing before another. */
static bool judge_chain(struct judge *judge, struct cairn_store *store)
{
    struct cairn_error error = {0};
    struct cairn_checkpoint_filter all = {.page = {.all = true}};
    struct chain chain = {.judge = judge};
    if (!judge_records(judge, store))
        return false;
    int rc = cairn_checkpoint_list(store, &all, see_checkpoint, &chain, NULL, &error);
    if (complained(judge, rc, "the list of checkpoints", &error))
        return false;
    if (chain.others)
        blame(judge, &judge->tally->undetected, "%u checkpoints are not the same",
              chain.others);
    if (chain.count != chain.newest && !judge->history->pruned)
        blame(judge, &judge->tally->undetected, "%llu of the first %llu checkpoints",
              (unsigned long long)chain.count, (unsigned long long)chain.newest);
    return true;
}

/* ---- Going on ---- */

static void watch(void *context, const struct cairn_event *event)
{
    struct look *look = context;
    if (event->kind == CAIRN_EVENT_TASK_STARTED && event->run == look->run &&
        event->node < TASKS_MAX && look->done[event->node])
        look->repeated++;
}

static void judge_resume(struct judge *judge, struct cairn_store *store,
                         struct look *look, uint32_t workflow)
{
    struct cairn_error error = {0};
    struct cairn_run_result result = {0};
    int rc = work_resume(judge->work, store, workflow, watch, look, &result, &error);
    if (rc == CAIRN_ENOTFOUND && look->tasks == 0)
        return;
    if (complained(judge, rc, "resume", &error))
        return;
    judge->tally->resumed++;
    if (look->repeated)
        blame(judge, &judge->tally->repeated, "%u finished tasks ran again",
              look->repeated);
    if (result.state != CAIRN_RUN_COMPLETED || result.completed != judge->work->tasks)
        blame(judge, &judge->tally->other, "resumed: %s with %u completed",
              cairn_run_state_name(result.state), result.completed);
    if (result.damaged)
        blame(judge, &judge->tally->other, "resume stepped over damage");
    (void)judge_records(judge, store);
}

static void note_loss(struct judge *judge, uint32_t lost)
{
    struct tally *tally = judge->tally;
    if (lost > 0 && judge->sync == CAIRN_SYNC_FULL)
        blame(judge, &tally->lost, "%u acknowledged outcomes are lost", lost);
    tally->losing += lost > 0;
    tally->worst = lost > tally->worst ? lost : tally->worst;
    if (lost > 0 && judge->sync != CAIRN_SYNC_FULL)
        printf("loss %u\n", lost);
}

static void judge_store(struct judge *judge, struct cairn_store *store)
{
    static struct look look;
    struct history *history = judge->history;
    uint32_t lost = 0;
    if (!judge_chain(judge, store))
        return;
    uint32_t named = judge->tally->named;
    for (uint32_t i = 0; i < history->n_runs; i++)
        lost += judge_run(judge, store, history->runs[i].run, &look);
    if (judge->tally->named > named)
        return;
    note_loss(judge, lost);
    /* The newest run is what `look` has seen last, if each has a workflow of its own.
     */
    if (judge->resume && history->n_runs > 0 && !judge->work->recorder)
        judge_resume(judge, store, &look, history->runs[history->n_runs - 1].workflow);
}

static bool settled(const char *dir)
{
    char path[700];
    snprintf(path, sizeof path, "%s/.cairn/open", dir);
    return store_file(path, NULL, NULL, NULL) == 0;
}

void judge_image(struct judge *judge, const char *dir)
{
    struct cairn_error error = {0};
    struct cairn_store *store = NULL;
    judge->tally->images++;
    if (!look_as_reader(judge, dir))
        return;
    int rc = open_image(judge, dir, false, false, &store, &error);
    if (rc == CAIRN_ENOTFOUND) {
        if (judge->history->acks > 0)
            note_loss(judge, judge->history->acks);
        rc = open_image(judge, dir, false, true, &store, &error);
    }
    if (complained(judge, rc, "opening", &error))
        return;
    judge_store(judge, store);
    cairn_store_close(store);
    if (!settled(dir))
        blame(judge, &judge->tally->other, "closing has left the marker");
}
