/* SPDX-License-Identifier: MIT */
/* For the process part only: the vfork-style clone, and what runs in its child.
 *
 * A child made here shares the engine's memory until it execs, while the thread that
 * made it stands still. It may do nothing but system calls and writes to its job. */
#ifndef PROCESS_SPAWN_INT_H
#define PROCESS_SPAWN_INT_H

#include "process/spawn.h"

/* A stack for one child at a time, with a page below it that faults. */
struct child_stack {
    char *base;
    size_t size;
};
int child_stack_init(struct child_stack *stack, struct cairn_error *error);
void child_stack_release(struct child_stack *stack);

/* Runs entry(job) in a new process. Returns when that has execed or ended: its pid and
 * a pidfd (close-on-exec), or -errno of the clone. */
pid_t child_clone(const struct child_stack *stack, int (*entry)(void *), void *job,
                  int *pidfd);

/* Becomes the task of a spawn_request, or fills in error, exit_code and stage. */
struct task_job {
    struct spawn_request *request;
    int null_fd; /* /dev/null, for reading and writing */
    pid_t parent;
};
int child_task(void *job);

/* Becomes the guard, or fills in error and stage. */
struct guard_job {
    int life_fd, slots_fd, null_fd;
    int image_fd; /* the helper program */
    int error;
    const char *stage;
};
int child_guard(void *job);

/* Becomes the keeper of the request's task, or fills in error, exit_code and stage. */
struct keeper_job {
    struct spawn_request *request;
    int spec_fd, dir_fd, null_fd, image_fd;
    char variable[SLOTS_TOKEN + 64]; /* CAIRN_TOKEN=... */
};
int child_keeper(void *job);

/* What keepers of one spawner are made with. */
struct keeper_maker {
    int image_fd;  /* -1 at first */
    bool in_file;  /* image_fd is not a memory file: such may not be executed here */
    uint64_t salt; /* of the room of its keepers (keeper_file.h); 0: none yet */
};
/* As child_clone. 0: there is no process, the request says why. */
pid_t keeper_clone(struct keeper_maker *maker, const struct child_stack *stack,
                   struct spawn_request *request, int null_fd);

/* The part of a claim that its attempt tells. */
struct attempt_id;
struct keep_start;
void keeper_start_fill(struct keep_start *start, const struct attempt_id *id);

/* The helper program, see helper_image.S. */
extern const char helper_image[] __attribute__((visibility("hidden")));
extern const char helper_image_end[] __attribute__((visibility("hidden")));

/* image.c. A descriptor to execute, close-on-exec; -1: no memory files here. */
int image_in_memory(void);
/* A descriptor or a code. The file was made at `path` and has no name any more. */
int image_in_file(const char *path, struct cairn_error *error);
enum { IMAGE_TRIES = 100 };
void image_pause(void);

#endif
