/* The engine behind cairn_run: one loop, one turn at a time. For executor/ only.
 *
 *   collect   what happened: exits, spawned, timers, stop, finished callbacks, commands
 *   decide    outcomes, retries, skips, what is ready (sched.h; no I/O)
 *   commit    outcomes, checkpoints and intents in one transaction (turn.c)
 *   act       start what has a durable intent, report what is durable
 *
 * Invariants
 * - An attempt starts only after its intent is committed; an outcome is reported, and
 *   releases its users' starts, only after its checkpoint is committed. While saving
 *   fails and the policy is best effort, both happen unsaved, and are written by the
 *   next commit that succeeds: nothing leaves `endings` or `intents` before.
 * - `states` is what the next record would say: it includes all of `endings`. */
#ifndef EXECUTOR_ENGINE_H
#define EXECUTOR_ENGINE_H

#include "executor/capture.h"
#include "executor/sched.h"
#include "executor/situation.h"
#include "executor/spawn.h"
#include "executor/timers.h"

#include <pthread.h>

enum job_state { JOB_FREE, JOB_SPAWNING, JOB_RUNNING, JOB_CALLED };

struct job { /* one slot */
    enum job_state state;
    uint32_t task, attempt;
    uint64_t stamp; /* new with every attempt, for timers */
    struct capture capture;
    bool capture_open;
    struct spawn_request request;
    pid_t pid;
    int pidfd;
    int64_t intent_ns, started_ns;
    bool timed_out, cancelled, killed;
    struct buf text; /* argv and environment strings of the attempt */
    struct buf cwd;
    char **vector; /* argv, NULL, envp, NULL */
    size_t vector_size;
};

struct cairn_attempt { /* a call in process */
    struct engine *engine;
    uint32_t task, number, slot;
    enum cairn_outcome outcome;
    char *text;
    struct cairn_attempt *next;
};

struct intent {
    uint32_t task, attempt;
    int64_t intent_ns;
    bool acted;
};

struct ending { /* the end of an attempt, until it is committed and reported */
    struct attempt_row row; /* out, err, outputs and text are set when stored */
    bool final, acted;
    struct captured captured[2];
    struct buf outputs; /* list, if any */
    struct digest outputs_digest;
    struct buf text;
    int64_t duration_ms, next_ms;
    uint32_t *skipped; /* tasks that cannot run because of it */
    uint32_t n_skipped, skipped_capacity;
    uint64_t seq; /* of its checkpoint */
};

struct environment { /* of one task_def: inherited entries that it does not replace */
    char **entries;
    uint32_t n;
    bool made;
};

enum halt { HALT_NONE, HALT_FAILURE, HALT_STOP, HALT_KILL };

struct engine {
    struct cairn_workflow *workflow;
    const struct graph *graph;
    struct cairn_store *store; /* NULL: nothing is kept */
    const struct cairn_run_options *options;
    struct cairn_run_result *result;
    struct situation situation;
    struct run_row row;
    int64_t lock_offset; /* of the workflow, 0: not held */

    struct states states;
    uint32_t *attempts; /* [n_tasks] number of the newest attempt */
    uint32_t *failures; /* [n_tasks] failed attempts of this call, for retries */
    struct sched sched;
    struct tally reported;

    struct stream stream;
    struct sha256 *sha;

    struct job *jobs;
    uint32_t n_jobs, running; /* running: slots in use */
    uint32_t *free_jobs, n_free;
    struct intent *intents; /* not yet stored */
    uint32_t n_intents, intents_capacity;
    struct intent *starts; /* stored, to be started; a queue from starts_head */
    uint32_t starts_head, n_starts, starts_capacity;
    struct ending *endings; /* not yet stored */
    uint32_t n_endings, endings_capacity;
    uint32_t ahead;   /* intents kept beyond the free slots */
    uint32_t unacted; /* endings and intents that were neither reported nor started */
    uint32_t unacted_intents;

    bool degraded, broken; /* broken: cannot go on at all (out of memory) */
    bool commit_waits;     /* the write lock is taken; try again soon */
    int64_t commit_since_ns;
    enum halt halt;
    uint32_t stops_seen;

    int epoll_fd, wake_fd, later_fd;
    char wake_path[4096];
    char *temporary; /* live directory of a run without a store */
    const char *live_dir;
    char identity[64];
    struct slot_map slots;
    struct guard guard;
    bool guarded;
    struct spawner *spawner;
    struct timers timers;
    uint64_t next_stamp;
    uint32_t ticks;

    pthread_mutex_t later_lock;
    struct cairn_attempt *later; /* finished ones */

    struct arena arena;
    char **environment; /* copy of the caller's, without CAIRN_* */
    uint32_t n_environment;
    struct environment *environments; /* [n_defs] */
};

struct cairn_stop {
    int fd;
    _Atomic uint32_t count;
};

/* report.c: calling the observer. */
void report(struct engine *e, enum cairn_event_kind kind, const char *text);
void report_start(struct engine *e, const struct job *job);
void report_ending(struct engine *e, const struct ending *ending);

/* turn.c */
struct ending *engine_add_ending(struct engine *e, uint32_t task, uint32_t attempt);
void ending_release(struct ending *ending);
int engine_add_intent(struct engine *e, uint32_t task);
/* Commits if there is anything to commit; acts on it. Only trouble that ends the run is
 * an error. */
int engine_commit(struct engine *e, struct cairn_error *error);
/* The last commit: the run's state, a full record, retention. */
int engine_commit_end(struct engine *e, enum cairn_run_state state,
                      struct cairn_error *error);
/* Setting up in the store: the run row, its first record, interrupted attempts. */
int engine_commit_begin(struct engine *e, struct cairn_error *error);

/* launch.c: from a stored intent to a process or call. */
int engine_start_ready(struct engine *e, struct cairn_error *error);
int launch_environment(struct engine *e, struct cairn_error *error);

/* ending.c: from the end of an attempt to an outcome. */
int engine_spawned(struct engine *e, struct spawn_request *request,
                   struct cairn_error *error);
int engine_exited(struct engine *e, struct job *job, struct cairn_error *error);
int engine_called(struct engine *e, struct job *job, enum cairn_outcome outcome,
                  const char *text, struct cairn_error *error);
int engine_not_started(struct engine *e, const struct intent *intent, int exit_code,
                       const char *text, struct cairn_error *error);

/* halt.c: stopping and time limits. */
int engine_timers(struct engine *e, struct cairn_error *error);
void engine_halt(struct engine *e, enum halt halt);
void job_terminate(struct engine *e, struct job *job);
/* Takes a command that another process has stored for this run, if there is one. */
void engine_look_for_command(struct engine *e);

/* setup.c: everything that must exist before the loop and go away after it. */
enum { WATCH_LATER = 1, WATCH_WAKE, WATCH_STOP, WATCH_GUARD, WATCH_SPAWNER, WATCH_JOB };
/* Ownership of the workflow: before the situation is looked at. */
int engine_own(struct engine *e, struct cairn_error *error);
int engine_open(struct engine *e, struct cairn_error *error);
/* Starts the guard, or another one after it died. */
int engine_guard(struct engine *e, struct cairn_error *error);
void engine_close(struct engine *e);

#endif
