/* SPDX-License-Identifier: MIT */
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

#include "executor/timers.h"
#include "plan/sched.h"
#include "plan/situation.h"
#include "process/guard.h"
#include "process/keeper.h"
#include "process/reap.h"
#include "runs/values.h"
#include "storage/rows_attempt.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"

#include <pthread.h>

enum job_state { JOB_FREE, JOB_SPAWNING, JOB_RUNNING, JOB_CALLED };
/* What a process of a slot is: the task itself, its check after it ended well, the
 * check that decides an unknown task, or its undo. */
enum job_role { ROLE_TASK, ROLE_CHECK, ROLE_DECIDE, ROLE_UNDO };

struct intent {
    uint32_t task, attempt;
    int64_t intent_ns;
    uint64_t turn; /* in which it was stored */
    enum job_role role;
    bool acted;
    bool withheld; /* it was said that it waits for saving */
};

/* Output of a task with secrets comes through a pipe and the redactor into the capture
 * file, so that nothing is stored as it was written. */
struct job_pipe {
    int fd;    /* -1: none */
    bool held; /* `stream` is in use */
    struct redact_stream stream;
};

struct offer { /* an external task that can be done; told once that is durable */
    uint32_t task;
    char *text;
};

struct skip {             /* a task that ended without being started */
    uint32_t task, cause; /* cause: what it needs, or NODE_NONE */
    uint8_t outcome;      /* CAIRN_SKIPPED or CAIRN_EXCLUDED */
};

struct ending { /* the end of an attempt, until it is committed and reported */
    struct attempt_row row; /* number 0: no attempt, only a change. out, err, outputs
                               and text are set when stored */
    bool final, acted;      /* final: `change` is recorded */
    bool settled;           /* `change` is the task's outcome: what follows from it is
                               decided by failure.c */
    struct change change;
    struct captured captured[2];
    struct buf result; /* encoded, if it says anything */
    struct buf text;
    int64_t duration_ms, next_ms;
    struct skip *skipped; /* tasks that cannot run because of it */
    uint32_t n_skipped;
    size_t skipped_capacity;
    uint64_t seq; /* of its checkpoint */
    bool kept;    /* the files of `id` are there until it is committed */
    struct attempt_id id;
};

struct job { /* one slot */
    enum job_state state;
    enum job_role role;
    struct intent intent; /* whose attempt it is */
    uint64_t stamp;       /* new with every process, for timers and pipes */
    struct capture capture;
    bool capture_open;
    struct spawn_request request;
    pid_t pid;
    int pidfd;
    bool watching; /* pidfd by epoll_fd: for an end that the spawner does not tell */
    int64_t started_ns;
    int64_t ended_ns; /* 0: when it is noticed */
    bool timed_out, cancelled, killed;
    struct buf text; /* argv and environment strings of the attempt */
    struct buf cwd;
    struct buf outputs; /* for the spawner: its declared files, each with a NUL */
    char **vector;      /* argv, NULL, envp, NULL, otherwise, NULL */
    size_t vector_size;
    struct arena arena;   /* of `result` */
    struct result result; /* what is known of it so far */
    struct ending held;   /* of the task, while its check runs */
    bool has_held, values_ready;
    char *values; /* path of the slot's own file for $CAIRN_OUTPUT, made at first use */
    struct job_pipe pipe[2];
    /* Under a keeper (on_crash: adopt). */
    bool kept, adopted; /* adopted: started by an earlier process */
    bool outsider;      /* not started by our spawner */
    struct keeper keeper;
    struct keeper_order order;
    char token[SLOTS_TOKEN + 32];
};

struct cairn_attempt { /* a call in process */
    struct engine *engine;
    uint32_t task, number, slot;
    enum cairn_outcome outcome;
    char *text;
    struct cairn_attempt *next;
};

struct environment { /* of one task_def: inherited entries that it does not replace */
    char **entries;
    uint32_t n;
    bool made;
    bool direct; /* plain words need no shell */
};

enum halt { HALT_NONE, HALT_FAILURE, HALT_STOP, HALT_KILL };
/* A run is its tasks, then the undoing (on_failure: undo), then `finally`. */
enum phase { PHASE_MAIN, PHASE_UNDO, PHASE_FINALLY };
/* TURN: take commands, settle what follows, start no process. UNDO: only undo. */
enum engine_mode { MODE_RUN, MODE_TURN, MODE_UNDO };

struct undo_list { /* tasks to be undone, in order */
    uint32_t *tasks;
    uint32_t n, next;
};

/* Events of the audit log, until they are committed. */
struct pending_event {
    struct event_row row; /* data is in `data` */
    size_t at, length;
};
struct event_list {
    struct pending_event *at;
    uint32_t n;
    size_t capacity;
    struct buf data;
};

/* Most intents beyond those for what may run now, where processes are started. */
enum { AHEAD_MOST = 32 };

struct engine {
    enum engine_mode mode;
    uint64_t run; /* MODE_TURN and MODE_UNDO: of it */
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
    struct lookup lookup; /* of `states` */
    bool *referred;       /* [n_defs] results of its tasks are asked for */
    enum phase phase;
    struct undo_list undo;
    uint32_t failed_undos;
    char halt_text[160]; /* why nothing more is started */
    struct event_list events;
    uint64_t last_command;   /* id of the newest command that was applied */
    uint64_t stored_command; /* ... and marked as taken */
    struct offer *offers;    /* not yet told */
    uint32_t n_offers;
    size_t offers_capacity;
    struct skip *early; /* [n_early] tasks that could not run from the start */
    uint32_t n_early;
    size_t early_capacity;

    struct run_stream stream;
    struct sha256 *sha;

    struct job *jobs;
    uint32_t n_jobs, running; /* running: slots in use */
    uint32_t limit;           /* processes and calls alive at once */
    uint32_t waiting;         /* of `running`: handed to the spawner, not yet started */
    bool submitted;           /* some of them since the last wait */
    uint32_t outsiders; /* of `running`: calls and adopted tasks, not the spawner's */
    uint32_t *free_jobs, n_free;
    struct intent *intents; /* not yet stored */
    uint32_t n_intents;
    size_t intents_capacity;
    struct intent *starts; /* stored, to be started; a queue from starts_head */
    uint32_t starts_head, n_starts;
    size_t starts_capacity;
    struct intent *dropped; /* stored, and not to be started */
    uint32_t n_dropped;
    size_t dropped_capacity;
    struct ending *endings; /* not yet stored */
    uint32_t followed;      /* of them: failure.c has looked at those before */
    uint32_t n_endings;
    size_t endings_capacity;
    uint32_t ahead;   /* intents beyond those for what may run now */
    uint32_t unacted; /* endings and intents that were neither reported nor started */
    uint32_t unacted_intents;
    int64_t unacted_ns; /* monotonic: since when there are any; 0: none was seen */
    int64_t acted_ns;   /* of the last commit */

    bool degraded, broken; /* broken: cannot go on at all (out of memory) */
    bool disk_told;        /* that there is no room for the output of tasks */
    bool
        orderly; /* ended, and all of it stored: nothing in the live directory counts */
    bool commit_waits; /* the write lock is taken; try again soon */
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
    bool trimming; /* a TIMER_TRIM is set */

    pthread_mutex_t later_lock;
    struct cairn_attempt *later; /* finished ones */

    struct arena arena;
    char **environment; /* copy of the caller's, without CAIRN_* */
    uint32_t n_environment;
    bool direct; /* sh is one that only starts what plain words say */
    struct environment *environments; /* [n_defs] */
};

struct cairn_stop {
    int fd;
    _Atomic uint32_t count;
};

/* report.c: calling the observer, after what it is told is durable. */
/* Replaces the text of a buffer by what may be stored. */
void redact_buf(const struct engine *e, struct buf *text);
void report(struct engine *e, enum cairn_event_kind kind, const char *text);
void report_start(struct engine *e, const struct job *job);
void report_ending(struct engine *e, const struct ending *ending);
void report_waiting(struct engine *e, uint32_t task, const char *text);

/* audit.c: the audit log. */
void audit_event(struct engine *e, enum event_kind kind, uint8_t argument,
                 uint32_t task, struct str data);
/* One event for each cause. Sorts the list. */
void audit_skips(struct engine *e, struct skip *skips, uint32_t n);
void audit_tasks(struct engine *e, enum event_kind kind, uint8_t argument,
                 uint32_t cause, const uint32_t *tasks, uint32_t n);
/* Inside a transaction. They stay in the list until audit_forget. */
int audit_put(struct engine *e, uint64_t turn, struct cairn_error *error);
void audit_forget(struct engine *e);

/* loop.c: descriptors. */
enum {
    WATCH_LATER = 1,
    WATCH_WAKE,
    WATCH_STOP,
    WATCH_GUARD,
    WATCH_SPAWNER,
    WATCH_JOB,
    WATCH_PIPE = 0x4000
};
/* Index and stamp of a job: an event that was on its way while the job ended and its
 * slot got another attempt is recognised as old. */
static inline uint64_t job_watch(const struct engine *e, const struct job *job)
{
    return job->stamp << 16 | (WATCH_JOB + (uint64_t)(job - e->jobs));
}
int loop_watch(struct engine *e, int fd, uint64_t what, struct cairn_error *error);
/* For a job whose end the spawner does not report. */
int loop_watch_job(struct engine *e, struct job *job, struct cairn_error *error);

/* starts.c: the queue of durable intents, and those that are not started after all:
 * their rows are closed at the end. */
int starts_add(struct engine *e, const struct intent *intent);
int starts_drop(struct engine *e, const struct intent *intent);
/* Gives back the room of what was taken. */
void starts_shift(struct engine *e);

/* turn.c: what waits for the next commit. */
/* The end of an attempt, to be filled in; it is in no list until turn_add_ending, and
 * nothing else may be drafted before. NULL: out of memory. */
struct ending *turn_draft_ending(struct engine *e, const struct intent *intent,
                                 struct cairn_error *error);
/* The newest draft; it stays where it is until the next one. */
void turn_add_ending(struct engine *e, const struct ending *ending);
void ending_release(struct ending *ending);
/* The files of a kept attempt go once its outcome is committed. */
void ending_remove_files(const struct ending *ending);
int turn_add_intent(struct engine *e, uint32_t task, enum job_role role);
/* After a halt: takes back what was not stored and may not start any more. */
void turn_withdraw_intents(struct engine *e);
int turn_add_offer(struct engine *e, uint32_t task, struct str text,
                   struct cairn_error *error);
void turn_forget_offers(struct engine *e);
/* Inside the transaction that stores what came of them. */
int turn_mark_commands(struct engine *e, struct cairn_error *error);

/* commit.c */
/* How long a commit may still wait for more to go with it; 0: not at all. */
int64_t engine_lingers_ns(struct engine *e);
/* Commits if there is anything to commit; acts on it. Only trouble that ends the run is
 * an error. */
int engine_commit(struct engine *e, struct cairn_error *error);
/* The last commit: the run's state, a full record, retention. */
int engine_commit_end(struct engine *e, enum cairn_run_state state,
                      struct cairn_error *error);
/* All of `put` in one transaction, or nothing. */
int engine_transact(struct engine *e, int wait_ms,
                    int (*put)(struct engine *, struct cairn_error *),
                    struct cairn_error *error);
int engine_put_attempt(struct engine *e, struct ending *ending, uint64_t turn,
                       struct cairn_error *error);

/* settle.c: from the end of an attempt to an outcome, or to a retry. Each of these adds
 * the draft to the turn. */
void settle_ending(struct engine *e, struct ending *ending);
/* It was interrupted, and must not run twice. */
void settle_unknown(struct engine *e, struct ending *ending);
void settle_undone(struct engine *e, struct ending *ending);
/* An unknown task is to run again. */
void settle_rerun(struct engine *e, struct ending *ending);
/* A failure of the task now is final. */
void settle_no_retry(struct engine *e, uint32_t task);
/* Adds to a list of skips, and sets the state. */
void skip_add(struct engine *e, struct skip **list, uint32_t *n, size_t *capacity,
              uint32_t task, enum cairn_outcome outcome);

/* halt.c: stopping, and time limits. */
void halt_run(struct engine *e, enum halt halt, const char *why);
void halt_job(struct engine *e, struct job *job);
void halt_timed_out(struct engine *e, const struct timer *timer);
void halt_grace_over(struct engine *e, const struct timer *timer);

/* failure.c: what follows from settled endings. */
bool failure_unhandled(const struct engine *e, uint32_t task, bool still_open);
/* Of those endings that were not looked at before. */
void failure_follow(struct engine *e);
/* What failed while nobody ran the workflow stops it now. */
void failure_recall(struct engine *e);

/* jobs.c: the slots. */
/* A task with secrets needs us to redact what it writes, so it cannot outlive us. */
bool task_wants_keeper(const struct engine *e, const struct task_def *def);
/* A free slot, for the attempt of the intent. */
struct job *jobs_take(struct engine *e, const struct intent *intent);
void jobs_free(struct engine *e, struct job *job);
/* A draft: what every end of a job's process, or call, leaves in its row. `end` may be
 * NULL. NULL: out of memory. */
struct ending *ending_of_job(struct engine *e, const struct job *job,
                             const struct process_end *end, struct cairn_error *error);
/* What the process used, and whether it ran out of time. */
void ending_add_usage(struct ending *ending, const struct job *job,
                      const struct process_end *end);

/* job_output.c: what a process leaves. */
/* Takes what it wrote; the slot's files are ready for the next one then. */
void job_capture(struct engine *e, struct job *job, struct ending *ending);
void job_describe_end(const struct engine *e, const struct job *job,
                      struct ending *ending);
void job_describe_signal(int signal, struct buf *text);
/* What a process writes goes into files of ours. Where there is no room for it, the
 * process fails because of it, and often cannot say so. To be asked before its files
 * are given back. */
void job_check_disk(struct engine *e, const struct job *job);

/* pipes.c: output of tasks with secrets. */
int job_pipes_open(struct engine *e, struct job *job, struct cairn_error *error);
void job_pipes_spawned(struct job *job);
int job_pipes_watch(struct engine *e, struct job *job, struct cairn_error *error);
void job_pipe_read(struct engine *e, struct job *job, int stream);
void job_pipes_finish(struct engine *e, struct job *job);
void job_pipes_close(struct job *job);

/* values_file.c: where an attempt leaves its values. */
void values_path_of(const struct attempt_id *id, char *out, size_t size);
void values_path(const struct engine *e, const struct job *job, char *out, size_t size);
void values_open(struct engine *e, struct job *job);
/* Takes the values out of the slot's file; it is empty then. */
int values_take(struct engine *e, struct job *job, struct buf *text,
                struct cairn_error *error);

/* attempt_result.c: the result of an attempt. An attempt that completed without what it
 * declared has failed. */
void engine_check_result(struct engine *e, struct job *job, struct ending *ending);
/* Encodes the result and its digest into the ending. */
int ending_keep_result(struct engine *e, struct ending *ending,
                       const struct result *result, struct cairn_error *error);

/* command_line.c: command line and environment of an attempt. */
int environments_open(struct engine *e, struct cairn_error *error);
int command_line_make(struct engine *e, struct job *job, struct buf *why);
int command_line_make_action(struct engine *e, struct job *job,
                             const struct undo_action *action, struct buf *why);

/* launch.c: from a taken slot to a process. If not, `why` says why. */
int launch_task(struct engine *e, struct job *job, struct buf *why);
/* The shell text of a check or an undo. */
int launch_action(struct engine *e, struct job *job, const struct undo_action *action,
                  struct buf *why);
/* The action of a task as it stands: its text under its shell, environment, directory.
 */
int launch_describe(const struct asker *asker, struct str text, struct arena *arena,
                    struct undo_action *out, struct cairn_error *error);
bool task_was_interrupted(const struct engine *e, uint32_t task);

/* task.c, check.c, undo.c: see roles.h. */
void task_started(struct engine *e, const struct job *job);
int task_not_started(struct engine *e, const struct intent *intent, const char *why,
                     struct cairn_error *error);
int task_ended(struct engine *e, struct job *job, const struct process_end *end,
               const struct buf *text, struct cairn_error *error);
/* Its callback has returned, or finished later. */
int task_returned(struct engine *e, struct job *job, enum cairn_outcome outcome,
                  const char *text, struct cairn_error *error);

/* Starts the check of an attempt that ended well; the draft is kept until it ends. True
 * if it was started; else the draft says why it failed. */
bool check_start(struct engine *e, struct job *job, struct ending *ending);
int check_ended(struct engine *e, struct job *job, const struct process_end *end,
                const struct buf *text, struct cairn_error *error);
/* Adds intents for unknown tasks that have a check. */
int decide_unknown(struct engine *e, struct cairn_error *error);
int decide_launch(struct engine *e, struct job *job, struct buf *why);
int decide_not_started(struct engine *e, const struct intent *intent, const char *why,
                       struct cairn_error *error);
int decide_ended(struct engine *e, struct job *job, const struct process_end *end,
                 const struct buf *text, struct cairn_error *error);

int undo_collect(struct engine *e, enum undo_scope scope, struct cairn_error *error);
/* An intent for the next one of the list. */
int undo_next(struct engine *e, struct cairn_error *error);
int undo_launch(struct engine *e, struct job *job, struct buf *why);
int undo_not_started(struct engine *e, const struct intent *intent, const char *why,
                     struct cairn_error *error);
int undo_ended(struct engine *e, struct job *job, const struct process_end *end,
               const struct buf *text, struct cairn_error *error);

/* kept.c: the end of an attempt under a keeper. 0: *end is how the task ended; 1: all
 * is settled here. */
int kept_ended(struct engine *e, struct job *job, struct process_end *end,
               struct buf *text, struct cairn_error *error);

/* ending.c: what is known of a process, by the role of its attempt. */
int engine_spawned(struct engine *e, struct spawn_request *request,
                   struct cairn_error *error);
int engine_exited(struct engine *e, struct job *job, struct cairn_error *error);
int engine_called(struct engine *e, struct job *job, enum cairn_outcome outcome,
                  const char *text, struct cairn_error *error);
int engine_not_started(struct engine *e, const struct intent *intent, const char *why,
                       struct cairn_error *error);

/* adopt.c: attempts that a dead owner left to their keepers. */
int adopt_all(struct engine *e, struct cairn_error *error);

/* start.c: starting what has a durable intent. */
int engine_start_ready(struct engine *e, struct cairn_error *error);
/* Would that start something now? */
bool launch_possible(const struct engine *e);

/* intents.c: makes intents for ready tasks while there is room. */
int engine_plan_intents(struct engine *e, struct cairn_error *error);

/* command_apply.c: what other processes want. */
void commands_apply(struct engine *e);

/* phases.c: what comes after the tasks, and the outcome of the whole. */
/* True if there is nothing left to do in any phase. */
int engine_advance(struct engine *e, bool *over, struct cairn_error *error);
enum cairn_run_state engine_final_state(const struct engine *e);
void engine_fill_result(struct engine *e, enum cairn_run_state state);

/* due.c: timers that are due. */
int engine_timers(struct engine *e, struct cairn_error *error);

/* begin.c: the run row, its first record, interrupted attempts. */
int engine_commit_begin(struct engine *e, struct cairn_error *error);

/* open_run.c: the run row, left-overs, the first commit. */
/* Before it is looked at what became of the attempts of dead owners of the workflow: no
 * keeper takes one any more. */
int engine_close_rooms(struct engine *e, struct cairn_error *error);
int engine_open_run(struct engine *e, struct cairn_error *error);
/* Removes what an owner that died after the end of its run left in the live directory.
 */
void engine_clean_live(const struct engine *e, uint64_t run);

/* setup.c: everything that must exist before the loop and go away after it. */
/* Ownership of the workflow: before the situation is looked at. */
int engine_own(struct engine *e, struct cairn_error *error);
int engine_open(struct engine *e, struct cairn_error *error);
/* Starts the guard, or another one after it died. */
int engine_guard(struct engine *e, struct cairn_error *error);
void engine_close(struct engine *e);

/* collect.c: waits, and takes what has happened. */
int engine_collect(struct engine *e, struct cairn_error *error);

/* engine.c: the other ways in. `workflow` is the recorded one of the run. */
int engine_turn(struct cairn_workflow *workflow, struct cairn_store *store,
                uint64_t run, struct cairn_run_result *result,
                struct cairn_error *error);
int engine_undo(struct cairn_workflow *workflow, struct cairn_store *store,
                uint64_t run, const struct cairn_run_options *options,
                const uint32_t *tasks, uint32_t n, struct cairn_run_result *result,
                struct cairn_error *error);

#endif
