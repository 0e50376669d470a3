/* SPDX-License-Identifier: MIT */
/* Crash tests of what outlives cairn (on_crash: adopt), and of `once`: what is known of
 * every attempt from outside, and what must hold of it at the end. */
#ifndef TESTS_CRASH_ADOPT_H
#define TESTS_CRASH_ADOPT_H

#include "crash.h"

enum { TRIES_MAX = 64 };

/* Of one attempt. */
struct fate {
    bool cut;      /* it may have been cut short: its keeper was killed, or it */
    bool recorded; /* its keeper had recorded its end when cairn was dead: */
    int64_t started_ns, ended_ns;
    int exit_code, signal;
    bool timed_out;
};
struct adoption {
    struct scenario s;
    struct fate fates[TASKS_MAX][TRIES_MAX];
    uint32_t reruns[TASKS_MAX]; /* decided by us */
    bool done[TASKS_MAX];
    bool edited[TASKS_MAX]; /* or what it needs was */
    uint32_t first;         /* session of the run that is judged */
    uint32_t keeper_kills, decisions;
};

/* ---- adopt.c ---- */

/* Ends keepers, each with a chance of one in `one_in`, and waits until they are gone.
 */
void keepers_kill(struct adoption *a, uint32_t one_in);
/* While cairn is dead: what their files say. */
void keepers_note(struct adoption *a);
/* Attempts that the store knows as open. */
void cut_note(struct adoption *a, const struct snapshot *snapshot);
/* Decides all that are unknown; false if there are none. */
bool unknown_decide(struct adoption *a);
/* A session that nobody disturbs. Its status must be what is recorded. */
void adoption_session(struct adoption *a, const char *const *arguments);
/* Resumes and decides until nothing is unknown. */
void adoption_finish(struct adoption *a);
/* No file of the run is left in the live directory. */
bool live_empty(const struct scenario *s, uint64_t run);

/* ---- adopt_judge.c ---- */

void adoption_judge(struct adoption *a);

#endif
