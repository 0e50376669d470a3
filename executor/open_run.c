/* SPDX-License-Identifier: MIT */
/* Becoming the owner of a run: processes of its last owner are ended (or stay with
 * their keepers), then comes the first commit. */
#include "executor/open_run.h"

#include "executor/attempt/made.h"
#include "executor/attempt/noted.h"
#include "executor/begin.h"
#include "executor/state/report.h"

#include "base/os.h"
#include "process/keeper.h"
#include "process/leftovers.h"
#include "process/live.h"
#include "runs/owner.h"
#include "runs/stored.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <dirent.h>
#include <unistd.h>

static int report_leftovers(struct engine *e, const struct leftovers *left,
                            struct cairn_error *error)
{
    char text[128];
    if (left->found) {
        snprintf(text, sizeof text,
                 "ended %u processes that the interrupted run had left behind",
                 left->ended);
        report(e, CAIRN_EVENT_NOTICE, text);
    }
    if (left->survived)
        return error_set(error, CAIRN_EBUSY,
                         "%u processes of the interrupted run do not end; end them and "
                         "resume again",
                         left->survived);
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

int engine_open_run(struct engine *e, struct skip_list *early,
                    struct cairn_error *error)
{
    bool recovered = e->run.situation.recorded.recovered;
    bool whole = e->request.mode != MODE_SETTLE;
    int rc = check_keeping(e, error);
    if (!rc)
        rc = owned_run_take_row(e, error);
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
