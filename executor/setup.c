/* Everything that must exist before the loop, in order, and its orderly end. What was
 * never made is NULL, 0 or -1, so engine_close works from any point of engine_open. */
#include "executor/engine.h"

#include "base/clock.h"
#include "base/limits.h"
#include "executor/owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Memory ---- */

static int allocate(struct engine *e, struct cairn_error *error)
{
    uint32_t n = e->graph->n_tasks;
    e->attempts = calloc(n, sizeof *e->attempts);
    e->failures = calloc(n, sizeof *e->failures);
    e->jobs = calloc(e->n_jobs, sizeof *e->jobs);
    e->free_jobs = calloc(e->n_jobs, sizeof *e->free_jobs);
    e->sha = sha256_new();
    if (!e->attempts || !e->failures || !e->jobs || !e->free_jobs || !e->sha)
        return error_nomem(error);
    for (uint32_t i = e->n_jobs; i-- > 0;) {
        e->jobs[i].pidfd = -1;
        e->free_jobs[e->n_free++] = i;
    }
    return 0;
}

static void number_attempts(struct engine *e)
{
    const struct situation *s = &e->situation;
    for (uint32_t task = 0; task < e->graph->n_tasks; task++) {
        uint32_t old = s->old_task[task];
        if (old != NODE_NONE && s->last_attempt && s->recovered)
            e->attempts[task] = s->last_attempt[old];
    }
}

static uint32_t count_jobs(const struct engine *e)
{
    uint32_t jobs = e->options->jobs ? e->options->jobs : e->graph->definition->jobs;
    if (!jobs) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        jobs = processors > 0 ? (uint32_t)processors : 1;
    }
    return jobs < LIMIT_JOBS ? jobs : LIMIT_JOBS;
}

/* ---- Descriptors ---- */

static int watch(struct engine *e, int fd, uint64_t what, struct cairn_error *error)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = what};
    if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return error_sys(error, errno, "cannot watch a descriptor");
    return 0;
}

/* Other processes write to this fifo after they have stored a command. */
static int open_wake(struct engine *e, struct cairn_error *error)
{
    snprintf(e->wake_path, sizeof e->wake_path, "%s/run-%llu.wake", e->live_dir,
             (unsigned long long)e->row.run);
    if (unlink(e->wake_path) < 0 && errno != ENOENT)
        return error_sys(error, errno, "cannot remove %s", e->wake_path);
    if (mkfifo(e->wake_path, 0600) < 0)
        return error_sys(error, errno, "cannot make %s", e->wake_path);
    /* Read and write: so it never reads as ended when a writer has gone. */
    e->wake_fd = open(e->wake_path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return e->wake_fd < 0 ? error_sys(error, errno, "cannot open %s", e->wake_path) : 0;
}

static int open_descriptors(struct engine *e, struct cairn_error *error)
{
    e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    e->later_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (e->epoll_fd < 0 || e->later_fd < 0)
        return error_sys(error, errno, "cannot make a descriptor");
    int result = watch(e, e->later_fd, WATCH_LATER, error);
    if (!result && e->store)
        result = open_wake(e, error);
    if (!result && e->store)
        result = watch(e, e->wake_fd, WATCH_WAKE, error);
    if (!result && e->options->stop)
        result = watch(e, e->options->stop->fd, WATCH_STOP, error);
    return result;
}

/* ---- Processes ---- */

static bool has_processes(const struct engine *e)
{
    const struct definition *d = e->graph->definition;
    for (uint32_t i = 0; i < d->n_defs; i++)
        if (d->defs[i].kind != TASK_CALL)
            return true;
    return false;
}

int engine_guard(struct engine *e, struct cairn_error *error)
{
    int result = guard_start(&e->guard, &e->slots, error);
    e->guarded = !result;
    return result ? result : watch(e, e->guard.pidfd, WATCH_GUARD, error);
}

static int open_processes(struct engine *e, struct cairn_error *error)
{
    int result =
        slots_create(&e->slots, e->live_dir, e->identity, e->row.run, e->n_jobs, error);
    if (result || !has_processes(e))
        return result;
    result = engine_guard(e, error);
    if (!result)
        result = spawner_start(&e->spawner, error);
    if (!result)
        result = watch(e, spawner_fd(e->spawner), WATCH_SPAWNER, error);
    return result ? result : launch_environment(e, error);
}

/* A run without a store still needs a place for output. */
static int make_temporary(struct engine *e, struct cairn_error *error)
{
    const char *base = getenv("TMPDIR");
    struct buf path = BUF_INIT;
    buf_format(&path, "%s/cairn.XXXXXX", base && *base ? base : "/tmp");
    if (path.failed)
        return error_nomem(error);
    if (!mkdtemp(path.data)) {
        int saved = errno;
        buf_release(&path);
        return error_sys(error, saved, "cannot make a temporary directory");
    }
    e->temporary = path.data;
    e->live_dir = e->temporary;
    snprintf(e->identity, sizeof e->identity, "%016llx",
             (unsigned long long)random_u64());
    return 0;
}

/* ---- The store ---- */

static int end_leftovers(struct engine *e, uint64_t run, struct cairn_error *error)
{
    enum { GRACE_MS = 2000 };
    struct leftovers left = {0};
    char text[128];
    int result = leftovers_end(e->live_dir, e->identity, run, GRACE_MS, &left, error);
    if (result)
        return result;
    if (left.found) {
        snprintf(text, sizeof text,
                 "ended %u processes that the interrupted run had left behind",
                 left.ended);
        report(e, CAIRN_EVENT_NOTICE, text);
    }
    if (left.survived)
        return error_set(error, CAIRN_EBUSY,
                         "%u processes of the interrupted run do not end; end them and "
                         "resume again",
                         left.survived);
    return 0;
}

/* Is the process that made this slot file still there? */
static bool owner_alive(const struct slot_map *map)
{
    char boot[37];
    os_boot_id(boot);
    return strcmp(boot, map->slots->boot_id) == 0 &&
           os_process_start(map->slots->owner_pid) == map->slots->owner_start;
}

/* We hold the lock; if the last owner works on all the same, the lock file was replaced
 * under it. Its tasks must not be taken for left-overs. */
static int check_previous_owner(struct engine *e, struct cairn_error *error)
{
    struct slot_map map;
    if (slots_open(&map, e->live_dir, e->row.run, NULL))
        return 0;
    bool alive = owner_alive(&map);
    long long pid = map.slots->owner_pid;
    slots_close(&map, false);
    if (!alive)
        return 0;
    return error_set(
        error, CAIRN_EOWNED,
        "process %lld still works on run %llu, though the lock file of the "
        "store was removed or replaced; end it first",
        pid, (unsigned long long)e->row.run);
}

/* Runs that died and that nobody resumed: what they left alive ends now. Their slot
 * files stay, for the output of what was running. */
static int end_other_leftovers(struct engine *e, struct cairn_error *error)
{
    DIR *directory = opendir(e->live_dir);
    uint64_t own = e->row.run;
    const struct dirent *entry;
    int result = 0;
    while (directory && !result && (entry = readdir(directory))) {
        unsigned long long run;
        int end = 0;
        struct slot_map map;
        if (sscanf(entry->d_name, "run-%llu.slots%n", &run, &end) != 1 || !end ||
            entry->d_name[end] || run == own ||
            slots_open(&map, e->live_dir, run, NULL))
            continue;
        bool alive = owner_alive(&map);
        slots_close(&map, false);
        if (!alive)
            result = end_leftovers(e, run, error);
    }
    if (directory)
        closedir(directory);
    return result;
}

static int open_store(struct engine *e, struct cairn_error *error)
{
    e->live_dir = store_live_dir(e->store);
    snprintf(e->identity, sizeof e->identity, "%s", store_id(e->store));
    if (store_read_only(e->store))
        return error_set(error, CAIRN_EUSAGE, "the store was opened read-only");
    return owner_acquire(e->store, e->graph->definition->name, &e->row.workflow,
                         &e->lock_offset, error);
}

static int open_run(struct engine *e, struct cairn_error *error)
{
    struct owner_text *owner = arena_take(&e->arena, 1, sizeof *owner);
    uint64_t workflow = e->row.workflow;
    if (!owner)
        return error_nomem(error);
    if (e->situation.recovered)
        e->row = e->situation.row;
    e->row.workflow = workflow;
    e->row.workflow_name = e->graph->definition->name;
    e->row.file = e->graph->definition->file;
    owner_describe(&e->row, owner);
    int result = e->situation.recovered ? check_previous_owner(e, error) : 0;
    if (!result && e->situation.recovered)
        result = end_leftovers(e, e->row.run, error);
    if (!result)
        result = end_other_leftovers(e, error);
    return result ? result : engine_commit_begin(e, error);
}

/* Durations that the newest run of this very definition measured, for the critical
 * path. */
struct durations {
    uint32_t n, *ms;
};

static int note_duration(void *context, const struct attempt_row *row)
{
    struct durations *d = context;
    int64_t ms = (row->ended_ns - row->started_ns) / 1000000;
    if (row->task < d->n && row->outcome == CAIRN_COMPLETED && row->started_ns &&
        ms > 0)
        d->ms[row->task] = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
    return 0;
}

struct predecessor {
    uint64_t run;
    uint32_t gen, tasks;
    struct digest graph;
};

static int note_predecessor(void *context, const struct run_row *row)
{
    struct predecessor *p = context;
    *p = (struct predecessor){row->run, row->gen, row->tasks, row->graph};
    return 0;
}

static int weigh(struct engine *e, struct cairn_error *error)
{
    struct predecessor p = {0};
    int result = e->situation.latest_run && e->situation.latest_run != e->row.run
                     ? store_get_run(e->store, e->situation.latest_run,
                                     note_predecessor, &p, error)
                     : 0;
    if (result || !p.run || !digest_equal(&p.graph, &e->situation.graph) ||
        p.tasks != e->graph->n_tasks)
        return result;
    struct durations d = {p.tasks, calloc(p.tasks, sizeof *d.ms)};
    if (!d.ms)
        return error_nomem(error);
    result =
        store_each_run_attempt(e->store, p.run, p.gen, false, note_duration, &d, error);
    if (!result)
        result = graph_weigh(&e->workflow->graph, d.ms, error);
    free(d.ms);
    return result;
}

int engine_open(struct engine *e, struct cairn_error *error)
{
    e->n_jobs = count_jobs(e);
    e->ahead = has_processes(e) ? e->n_jobs : 64;
    int result = allocate(e, error);
    if (!result)
        result = situation_states(&e->situation, e->workflow, &e->states, error);
    if (!result && e->store)
        result = weigh(e, error);
    if (!result)
        result = sched_init(&e->sched, e->graph, e->states.outcome, error);
    if (result)
        return result;
    number_attempts(e);
    e->reported = states_tally(&e->states);
    result = e->store ? open_run(e, error) : make_temporary(e, error);
    if (!result)
        result = open_descriptors(e, error);
    if (!result)
        result = open_processes(e, error);
    return result;
}

int engine_own(struct engine *e, struct cairn_error *error)
{
    return e->store ? open_store(e, error) : 0;
}

/* ---- The end ---- */

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void close_jobs(struct engine *e)
{
    for (uint32_t i = 0; e->jobs && i < e->n_jobs; i++) {
        struct job *job = &e->jobs[i];
        if (job->capture_open) {
            capture_close(&job->capture);
            capture_remove(e->live_dir, e->row.run, i);
        }
        buf_release(&job->text);
        buf_release(&job->cwd);
        free(job->vector);
    }
    free(e->jobs);
    free(e->free_jobs);
}

static void close_lists(struct engine *e)
{
    for (uint32_t i = 0; i < e->n_endings; i++)
        ending_release(&e->endings[i]);
    free(e->endings);
    free(e->intents);
    free(e->starts);
    free(e->attempts);
    free(e->failures);
}

void engine_close(struct engine *e)
{
    if (e->spawner)
        spawner_stop(e->spawner);
    if (e->guarded)
        guard_stop(&e->guard);
    close_jobs(e);
    if (e->slots.slots)
        slots_close(&e->slots, true);
    close_fd(e->epoll_fd);
    close_fd(e->later_fd);
    close_fd(e->wake_fd);
    if (e->wake_path[0])
        unlink(e->wake_path);
    if (e->temporary)
        rmdir(e->temporary);
    free(e->temporary);
    close_lists(e);
    sched_release(&e->sched);
    states_release(&e->states);
    timers_release(&e->timers);
    sha256_free(e->sha);
    situation_release(&e->situation);
    if (e->lock_offset)
        owner_release(e->store, e->lock_offset);
    arena_release(&e->arena);
}
