/* SPDX-License-Identifier: MIT */
/* The sweep of failing calls: commands of cairn are run with faults.so, which makes one
 * call fail (tests/prove/preload/faults.c), and what they leave is judged. All lies in
 * the working directory: states/NAME, a prepared directory per state; work, in which
 * the commands run; out and err, what they printed. */
#ifndef TESTS_PROVE_FAULTS_DRIVER_H
#define TESTS_PROVE_FAULTS_DRIVER_H

#include "tests/prove/preload/faults.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { ARGUMENTS_MAX = 12, LINE_SIZE = 512, NAME_SIZE = 32, TASKS_MAX = 16 };
enum { HUNG = -1, SIGNALLED = 256 };
enum { LEAKED = 99 }; /* what a sanitizer ends with; no status of cairn's */

/* ---- world.c: files and processes ---- */

struct world {
    const char *cairn, *preload; /* paths */
    struct fault_page *page;
    const char *state; /* what is in work/, untouched; or NULL */
};
struct output {
    int status;      /* exit status, SIGNALLED + signal, or HUNG */
    char *out, *err; /* text, owned */
    char left[64];   /* a process that outlived it, or "" */
};

bool world_open(struct world *world, const char *cairn, const char *preload);
void world_close(struct world *world);
/* Runs `cairn LINE` in work/, LINE's words separated by blanks; `fault` is the value of
 * CAIRN_FAULT, or NULL. False: it could not be started. */
bool world_run(struct world *world, const char *line, const char *fault, bool stacks,
               struct output *output);
void output_release(struct output *output);
/* Copies and removals of whole directories; false and a message when that fails. */
bool tree_copy(const char *from, const char *to);
bool tree_remove(const char *path);
/* NULL if it cannot be read; `*size` may be NULL. */
char *file_read(const char *path, size_t *size);

/* ---- cases.c: states and commands ---- */

enum finish { NO_FINISH, RESUME, RUN, EXTERNAL, UNDO, RESOLVE };
struct sweep_case {
    const char *name, *state, *line;
    enum finish finish;
    bool run;     /* continues a run, may end with 9 */
    bool changes; /* may write to the store */
    bool waits;   /* for as long as nothing can be saved */
};
extern const struct sweep_case sweep_cases[];
extern const size_t n_sweep_cases;
bool states_prepare(struct world *world);

/* ---- judge.c: what one failed call led to ---- */

struct counts {
    unsigned points, fired, lost, repeated, other;
};
struct clean { /* how a case ends when nothing fails */
    int status;
    char *text;              /* what it prints, without its numbers */
    char summary[LINE_SIZE]; /* the newest run at the very end */
};
void clean_release(struct clean *clean);
/* Runs the case once with nothing failing: `fault` is KIND:0. */
bool judge_clean(struct world *world, const struct sweep_case *c, const char *fault,
                 struct clean *clean);
/* Runs it with `fault` (KIND:N[+]); adds to `counts`, tells failures on stdout. False
 * only if the test itself could not go on. */
bool judge_point(struct world *world, const struct sweep_case *c,
                 const struct clean *clean, const char *fault, struct counts *counts);

#endif
