/* SPDX-License-Identifier: MIT */
/* The slots: processes and calls that are alive. jobs.c is the only writer of `jobs`;
 * what stands in a slot belongs to whoever handles its attempt. */
#ifndef EXECUTOR_STATE_JOBS_H
#define EXECUTOR_STATE_JOBS_H

#include "base/limits.h"
#include "base/log_times.h"
#include "executor/given/invocation.h"
#include "executor/state/turn.h"
#include "process/runner.h"
#include "runs/result.h"
#include "secrets/redact.h"

struct engine;
struct look;

/* OVER: it has no process and no call any more, or never got one; its ending is made.
 * LOOKING: it waits for a look at its inputs, before it has one, or at its outputs,
 * after that (looks.h). */
enum job_state {
    JOB_FREE,
    JOB_SPAWNING,
    JOB_RUNNING,
    JOB_CALLED,
    JOB_OVER,
    JOB_LOOKING
};

/* Output of a task with secrets comes through a pipe and the redactor into the capture
 * file, so that nothing is stored as it was written. */
struct job_pipe {
    int fd;    /* -1: none */
    bool held; /* `stream` is in use */
    bool lost; /* some of it could not be written, which was said */
    struct redact_stream stream;
};

struct job { /* one slot */
    enum job_state state;
    bool used; /* it may have files */
    enum job_role role;
    uint32_t slots;       /* of the limit */
    struct intent intent; /* whose attempt it is */
    uint64_t stamp;       /* new with every process, for timers and pipes */
    struct capture capture;
    bool capture_open;
    bool merged;      /* its process writes one log: both streams into the first file */
    uint64_t told[2]; /* bytes of its streams that TASK_OUTPUT has told */
    uint64_t seen[2]; /* ... that there were at the last tick */
    struct log_times log_times;
    struct spawn_request request;
    struct runner_process process;
    int64_t started_ns;
    int64_t ended_ns; /* 0: when it is noticed */
    bool timed_out, cancelled, killed;
    struct invocation given; /* command line and environment */
    struct buf cwd;
    struct buf outputs;   /* for the spawner: its declared files, each with a NUL */
    struct arena arena;   /* of `result` */
    struct result result; /* what is known of it so far */
    struct ending
        held; /* of the task, while its outputs are looked at or its check runs
               */
    bool has_held, values_ready;
    bool listed;   /* there may be a file for its $CAIRN_INPUTS */
    uint32_t note; /* where its end is noted; NOTE_NONE: nowhere, or by its ending */
    bool noted;    /* its end is: what it leaves is kept until that is committed */
    char *values; /* path of the slot's own file for $CAIRN_OUTPUT, made at first use */
    struct job_pipe pipe[2];
    /* Under a keeper (on_crash: adopt). */
    bool kept, adopted; /* adopted: started by an earlier process */
    bool edited;        /* ... by another definition: its end settles nothing */
    bool outside;       /* a call or adopted: the runner's limit does not count it */
    bool beside; /* a service, or what asks whether it is ready: it takes no job's
                    place */
    /* A service. */
    bool dismissed;  /* it was asked to end, since nothing needs it any more */
    uint32_t probe;  /* the slot of what asks whether it is ready, + 1; 0: none */
    struct buf said; /* the last line of the newest answer that it is not */
    uint32_t bereft; /* of a task: the service, + 1, that ended while it ran; 0: none */
    /* While it is LOOKING. */
    struct look *look;      /* NULL: that is over, and it is to be started */
    int64_t look_began_ns;  /* (monotonic) */
    int64_t look_since_ns;  /* when the attempt started whose files are looked at */
    int64_t reading_ns;     /* of all looks of its attempt that are over */
    bool awaits_inputs;     /* else outputs */
    struct job *next_ready; /* in the list of looks.c */
    /* A callback. */
    bool called;                /* it has no process */
    struct cairn_attempt *call; /* NULL: it has ended */
    bool asked;                 /* to stop */
    bool grace_over;            /* since it was asked */
    struct keeper_order order;
    char token[SLOTS_TOKEN + 32];
};

struct jobs {
    struct job *at;
    uint32_t n, running; /* running: jobs in use */
    uint32_t used;    /* of `limit`, by them: heavy tasks take several, services none */
    bool weighted;    /* there are such tasks */
    uint32_t limit;   /* processes and calls alive at once */
    uint32_t wanted;  /* what it would be with more descriptors */
    uint32_t waiting; /* of `running`: handed to the runner, not yet started */
    bool submitted;   /* some of them since the last wait */
    uint32_t n_outside; /* of `running`: calls and adopted tasks */
    uint32_t n_beside;  /* of `running`: services, and what asks whether one is ready */
    uint32_t n_services;              /* of them ... */
    uint32_t service[LIMIT_SERVICES]; /* [n_services] ... the slots of services */
    uint16_t *port; /* [n_tasks * ports_each] that services were given, 0: none; ... */
    uint32_t ports_each; /* ... NULL: no service wants one */
    uint32_t *free, n_free;
    uint64_t next_stamp;
    uint32_t started; /* attempts of tasks, those that were recalled not counted */
    struct slot_map slots;
    bool runner_open;
    bool growth_reported; /* that what a task writes cannot be bounded */
    bool disk_reported;   /* that a disk is full which a task writes to */
    bool lacks_room;      /* in the live directory, when it was last looked at, ... */
    int64_t looked_ns;    /* ... then (monotonic); 0: never */
    uint32_t leftovers_told; /* tasks of which it was told that they left processes */
    uint32_t lost_outputs;   /* attempts whose output could not be kept */
};

/* Files that its process writes to. */
static inline int job_streams(const struct job *job)
{
    return job->merged ? 1 : 2;
}

/* Of those that `limit` bounds. */
static inline uint32_t jobs_counted(const struct jobs *jobs)
{
    return jobs->running - jobs->n_beside;
}

/* Its process was asked to end, or is about to be. */
static inline bool job_was_asked(const struct job *job)
{
    return job->cancelled || job->timed_out || job->dismissed || job->bereft;
}

static inline uint32_t job_index(const struct jobs *jobs, const struct job *job)
{
    return (uint32_t)(job - jobs->at);
}

/* Does anything of the workflow run as a process? */
bool jobs_need_processes(const struct engine *e);
int jobs_open(struct engine *e, struct cairn_error *error);
/* The slot file, and the runner. */
int jobs_open_runner(struct engine *e, struct cairn_error *error);
void jobs_close_runner(struct engine *e);
void jobs_close(struct engine *e);

/* A task with secrets needs us to redact what it writes, so it cannot outlive us. */
bool task_wants_keeper(const struct engine *e, const struct task_def *def);
/* A free slot, for the attempt of the intent. */
struct job *jobs_take(struct engine *e, const struct intent *intent);
void jobs_free(struct engine *e, struct job *job);
/* Is there room for it now, beside all that runs? */
bool jobs_have_room(const struct engine *e, uint32_t task);
/* Hands the slot's request to the runner. */
void jobs_submit(struct engine *e, struct job *job);
/* The request has come back with a process, or without one: then the job is over. */
void jobs_take_process(struct engine *e, struct job *job,
                       const struct spawn_request *request);
/* Its process has ended: as the runner's reap. */
int jobs_reap(struct engine *e, struct job *job, struct process_end *end,
              struct cairn_error *error);
/* A new stamp, for timers and events of its next process. */
uint64_t jobs_stamp(struct engine *e, struct job *job);
/* It was taken back before it had started. */
void jobs_free_recalled(struct engine *e, struct job *job);
void jobs_begin_call(struct engine *e, struct job *job);
void jobs_end_call(struct job *job);
/* It was not called after all: the state is as it was. */
void jobs_not_called(struct job *job, enum job_state before);
void jobs_set_call(struct job *job, struct cairn_attempt *call);
void jobs_begin_look(struct job *job, struct look *look, bool inputs);
/* One at inputs leaves it LOOKING until it is started. */
void jobs_end_look(struct job *job);
/* A taken slot that was LOOKING, before it started anything, is as it was. */
void jobs_not_begun(struct job *job);
/* A keeper that lives or has ended; the job is over if it has. */
int jobs_adopt(struct engine *e, struct job *job, const struct keeper *keeper,
               bool edited, struct cairn_error *error);
/* The loop has waited since the last one was submitted. */
void jobs_clear_submitted(struct engine *e);
/* When the run is given up: there is no process, and nothing is reported. What is left
 * of an end that is noted stays. */
void jobs_abandon(struct engine *e, struct job *job);
/* Free ports for a service that has none: an errno, or 0. */
int jobs_pick_ports(struct engine *e, uint32_t service);
/* The next start gets another one: nobody has been given this one. */
void jobs_forget_ports(struct engine *e, uint32_t service);
/* It was told that a task had left processes behind. */
void jobs_told_leftovers(struct engine *e);
/* For `cairn status`. */
void jobs_set_unsaved(struct engine *e, uint32_t n);

#endif
