/* SPDX-License-Identifier: MIT */
/* What is around cairn fails: containers, stores that go, files that take long to read,
 * limits and refused calls; see main.c. Each part is a file with a function of its
 * name; world.c has what they share. */
#ifndef TESTS_PROVE_OUTSIDE_OUTSIDE_H
#define TESTS_PROVE_OUTSIDE_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { PATH_SIZE = 400, NAME_SIZE = 40, ARGS_MAX = 40, TASKS_MAX = 80 };

struct world {
    uint64_t seed;
    char top[PATH_SIZE], base[PATH_SIZE + 16]; /* of all rounds, of this one */
    char log[PATH_SIZE + 32];
    char self[PATH_SIZE], cairn[PATH_SIZE], refuse[PATH_SIZE];
    bool trace;
    unsigned round, commands;
    unsigned lost, repeated, undetected, other;
};

uint32_t below(struct world *w, uint32_t n);
bool one_in(struct world *w, uint32_t n);
unsigned failures(const struct world *w);
/* One line of what went wrong; counted in *count. */
void wrong(struct world *w, unsigned *count, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void say(const struct world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool round_begin(struct world *w);
/* Nothing that the round started may live on; its directory goes if all was well. */
void round_end(struct world *w, unsigned failures_before);

/* ---- Files ---- */

/* path: of PATH_SIZE + 160 bytes. */
void in_base(const struct world *w, char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void put_file(const char *path, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The project directory NAME, with an empty store. */
bool make_project(struct world *w, const char *name);

/* ---- Commands ---- */

enum { ANYWHERE = -1 };
struct box; /* namespaces to be in */
struct job {
    pid_t wait_for, pid; /* the relay or the command; the command, seen from here */
    int status;          /* once it has ended; -1 */
    char tag[NAME_SIZE], dir[PATH_SIZE + 32];
};
/* Starts `argv`, in `box` if not NULL, in the directory NAME of the round. Its output
 * is in the files out.TAG and err.TAG beside that. */
bool job_start(struct world *w, struct job *job, struct box *box, const char *name,
               const char *const *argv);
bool job_ended(struct job *job);
/* Its exit status, or 128 + signal; what takes longer is killed, and wrong. */
int job_wait(struct world *w, struct job *job, int seconds);
void job_kill(struct job *job, int signal);
/* What it printed, for the caller to free; "out" or "err". */
char *job_text(const struct world *w, const struct job *job, const char *kind);
bool job_said(const struct world *w, const struct job *job, const char *text);
void job_show(const struct world *w, const struct job *job);
/* cairn with these words, to its end. */
int cairn_do(struct world *w, struct box *box, const char *name, struct job *job,
             const char *words);
/* Splits words at spaces into argv, after cairn. */
bool cairn_start(struct world *w, struct job *job, struct box *box, const char *name,
                 const char *words);

/* ---- What tasks logged ---- */

struct entry {
    char what[12], label[NAME_SIZE], task[NAME_SIZE], text[NAME_SIZE];
    unsigned run, attempt;
    int64_t ms;
};
struct notes {
    struct entry *list;
    size_t n;
};
void notes_read(const struct world *w, struct notes *notes);
void notes_free(struct notes *notes);
/* How many, of a run (0: of any), of a task (NULL: of any). */
unsigned noted(const struct world *w, const char *what, const char *label,
               const char *task, unsigned run);
/* No attempt began beside a living one. */
void check_beside(struct world *w);
int task_main(int argc, char **argv);

/* ---- What cairn says of a run ---- */

struct state {
    int exit_status;
    unsigned run, n;
    bool live;
    char state[NAME_SIZE];
    struct {
        char name[NAME_SIZE], state[NAME_SIZE];
    } task[TASKS_MAX];
};
/* run 0: the newest; store NULL: the one in the project. */
void state_ask(struct world *w, struct box *box, const char *name, unsigned run,
               const char *store, struct state *state);
const char *state_of(const struct state *state, const char *task);

/* ---- Namespaces ---- */

enum box_kind {
    OUTSIDE,   /* no namespace of its own */
    CONTAINER, /* PIDs and /proc */
    FOREIGN,   /* PIDs, with the /proc of everybody */
    BLIND,     /* an empty /proc */
    HALF,      /* PIDs, and an empty /proc */
    BOX_KINDS
};
struct box {
    enum box_kind kind;
    pid_t first; /* the process that keeps it, seen from here */
    int relay;   /* its parent */
};
bool box_make(struct box *box, enum box_kind kind);
/* In a process that is to run there; its next child is. */
bool box_enter(const struct box *box);
void box_end(struct box *box);
const char *box_name(const struct box *box);

/* ---- The parts: rounds ---- */

void part_namespaces(struct world *w);
void part_gone(struct world *w);
void part_hashing(struct world *w);
void part_limits(struct world *w);
void part_refused(struct world *w);

#endif
