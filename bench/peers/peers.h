/* SPDX-License-Identifier: MIT */
/* The same graphs for every tool: shapes of tasks, and the files that say them. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* LAYERS: 100 to a layer, each needs 3 of the layer before. */
enum shape { WIDE, CHAIN, LAYERS };
/* NOOP: `true`. TOUCH: `touch out/N`, which is declared as an output. LOGGED: the same,
 * and a line in `log` before it and in `ended` after it, to see what ran. */
enum work { NOOP, TOUCH, LOGGED };

struct graph {
    enum shape shape;
    enum work work;
    uint32_t n;
    uint32_t jobs;
};

enum { NEEDS_MOST = 3, WORDS_MOST = 16 };

uint32_t graph_needs(const struct graph *graph, uint32_t task,
                     uint32_t needs[NEEDS_MOST]);

struct tool {
    const char *name;
    const char *file;                                     /* that `write` fills */
    void (*write)(FILE *file, const struct graph *graph); /* NULL: needs none */
    const char *const *(*words)(const struct graph *graph, bool again);
    uint32_t most;  /* tasks in a reasonable time; 0: any number */
    bool only_wide; /* knows no dependencies */
    bool no_logged; /* no shell, so nothing can be logged */
    bool kill_once; /* slow to start: killed with two jobs on an idle machine only */
    const char *version; /* command that prints it */
};

extern const struct tool tools[];
extern const uint32_t n_tools;
/* The cairn command, and where `run` or `exec` is written. */
void tools_use(const char *cairn);

#endif
