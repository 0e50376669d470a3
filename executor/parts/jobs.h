/* SPDX-License-Identifier: MIT */
/* The slots: processes and calls that are alive. jobs.c is the only writer of `jobs`;
 * what stands in a slot belongs to whoever handles its attempt. */
#ifndef EXECUTOR_PARTS_JOBS_H
#define EXECUTOR_PARTS_JOBS_H

#include "executor/parts/turn.h"
#include "process/guard.h"
#include "process/keeper.h"
#include "process/reap.h"
#include "runs/result.h"
#include "secrets/redact.h"

struct engine;

struct spawn_request;

enum job_state { JOB_FREE, JOB_SPAWNING, JOB_RUNNING, JOB_CALLED };

/* Output of a task with secrets comes through a pipe and the redactor into the capture
 * file, so that nothing is stored as it was written. */
struct job_pipe {
    int fd;    /* -1: none */
    bool held; /* `stream` is in use */
    struct redact_stream stream;
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

struct jobs {
    struct job *at;
    uint32_t n, running; /* running: slots in use */
    uint32_t limit;      /* processes and calls alive at once */
    uint32_t waiting;    /* of `running`: handed to the spawner, not yet started */
    bool submitted;      /* some of them since the last wait */
    uint32_t outsiders;  /* of `running`: calls and adopted tasks, not the spawner's */
    uint32_t *free, n_free;
    uint64_t next_stamp;
    uint32_t started; /* attempts of tasks, those that were recalled not counted */
    struct slot_map slots;
    struct guard guard;
    bool guarded;
    struct spawner *spawner;
    bool disk_told; /* that there is no room for the output of tasks */
};

static inline uint32_t job_index(const struct jobs *jobs, const struct job *job)
{
    return (uint32_t)(job - jobs->at);
}

/* Does anything of the workflow run as a process? */
bool jobs_need_processes(const struct engine *e);
int jobs_open(struct engine *e, struct cairn_error *error);
/* The slot file, and what starts and guards processes. */
int jobs_open_processes(struct engine *e, struct cairn_error *error);
/* Starts the guard, or another one after it died. */
int jobs_start_guard(struct engine *e, struct cairn_error *error);
void jobs_stop_processes(struct engine *e);
void jobs_close(struct engine *e);

/* A task with secrets needs us to redact what it writes, so it cannot outlive us. */
bool task_wants_keeper(const struct engine *e, const struct task_def *def);
/* A free slot, for the attempt of the intent. */
struct job *jobs_take(struct engine *e, const struct intent *intent);
void jobs_free(struct engine *e, struct job *job);
/* Hands the slot's request to the spawner. */
void jobs_submit(struct engine *e, struct job *job);
/* The request has come back with a process, or without one. */
void jobs_take_process(struct engine *e, struct job *job,
                       const struct spawn_request *request);
/* A new stamp, for timers and events of its next process. */
uint64_t jobs_stamp(struct engine *e, struct job *job);
/* It was taken back before it had started. */
void jobs_free_recalled(struct engine *e, struct job *job);
void jobs_begin_call(struct engine *e, struct job *job);
void jobs_adopt(struct engine *e, struct job *job, const struct keeper *keeper);
/* The loop has waited since the last one was submitted. */
void jobs_clear_submitted(struct engine *e);
/* When the run is given up: there is no process, and nothing is reported. */
void jobs_abandon(struct engine *e, struct job *job);
/* For `cairn status`. */
void jobs_set_unsaved(struct engine *e, uint32_t n);

/* What a process writes goes into files of ours. Where there is no room for it, the
 * process fails because of it, and often cannot say so. To be asked before its files
 * are given back. */
void job_check_disk(struct engine *e, const struct job *job);

/* A draft: what every end of a job's process, or call, leaves in its row. `end` may be
 * NULL. NULL: out of memory. */
struct ending *ending_of_job(struct engine *e, const struct job *job,
                             const struct process_end *end, struct cairn_error *error);
/* What the process used, and whether it ran out of time. */
void ending_add_usage(struct ending *ending, const struct job *job,
                      const struct process_end *end);

#endif
