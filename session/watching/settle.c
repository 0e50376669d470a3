/* SPDX-License-Identifier: MIT */
#include "session/watching/settle.h"

#include <string.h>

#define MINUTE_NS 60000000000ll
#define RETRY_NS 1000000000ll
#define RETRY_MOST_NS (5 * MINUTE_NS)
#define STEADY_MOST_NS (5 * MINUTE_NS)
#define STEADY_QUIET_NS (30 * RETRY_NS)

static void note_change(struct settle *settle, int64_t now_ns)
{
    if (now_ns - settle->last_ns > settle->settle_ns) /* else it is the same change */
        settle->gap_ns = now_ns - settle->last_ns;
    if (!settle->changed)
        settle->first_ns = now_ns;
    settle->changed = true;
    settle->last_ns = now_ns;
}

void settle_note(struct settle *settle, int64_t now_ns)
{
    if (settle->changed && settle->echo) /* the time of an edit begins with it */
        settle->first_ns = now_ns;
    note_change(settle, now_ns);
    settle->echo = false;
}

void settle_note_echo(struct settle *settle, int64_t now_ns)
{
    settle->echo = settle->echo || !settle->changed;
    if (!settle->changed || settle->echo)
        note_change(settle, now_ns);
}

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* When a file that alone grows is stored: at a long pause in it, which ends what a
 * person typed, or when its time has come, for a log. */
static int64_t steady_time(const struct settle *settle)
{
    int64_t quiet = SETTLE_GAPS * settle->gap_ns;
    if (settle->gap_ns > STEADY_MOST_NS || quiet < STEADY_QUIET_NS)
        quiet = STEADY_QUIET_NS;
    quiet += settle->last_ns;
    return quiet < settle->steady_until_ns ? quiet : settle->steady_until_ns;
}

int64_t settle_wait(const struct settle *settle, int64_t now_ns)
{
    if (!settle->changed || settle->settle_ns <= 0)
        return INT64_MAX;
    int64_t at = settle->last_ns + settle->settle_ns;
    int64_t latest = settle->first_ns + SETTLE_LATEST_TIMES * settle->settle_ns;
    if (at > latest)
        at = latest;
    if (settle->n_made == SETTLE_A_MINUTE)
        at = later_of(at, settle->made_ns[0] + MINUTE_NS);
    at = later_of(at, settle->not_before_ns);
    if (settle->steady >= SETTLE_STEADY)
        at = later_of(at, steady_time(settle));
    if (settle->echo)
        at = later_of(at, settle->last_ns + (MINUTE_NS << settle->echoes));
    return at > now_ns ? at - now_ns : 0;
}

void settle_begin(struct settle *settle)
{
    settle->changed = false;
    settle->echoes = settle->echo ? settle->echoes + 1 : 0;
    if (settle->echoes > SETTLE_ECHOES)
        settle->echoes = SETTLE_ECHOES;
    settle->echo = false;
}

static void note_made(struct settle *settle, int64_t now_ns)
{
    int64_t *made = settle->made_ns;
    if (settle->n_made == SETTLE_A_MINUTE)
        memmove(made, made + 1, --settle->n_made * sizeof *made);
    made[settle->n_made++] = now_ns;
}

void settle_end(struct settle *settle, enum settle_end how, int64_t began_ns,
                int64_t now_ns)
{
    int64_t rest = SETTLE_PAUSE_TIMES * (now_ns - began_ns);
    if (how == SETTLE_MADE)
        note_made(settle, now_ns);
    if (how != SETTLE_FAILED) {
        settle->failures = 0;
        settle->not_before_ns = now_ns + (rest < MINUTE_NS ? rest : MINUTE_NS);
        return;
    }
    int64_t pause = RETRY_NS;
    for (unsigned i = 0; i < settle->failures && pause < RETRY_MOST_NS; i++)
        pause *= 2;
    settle->failures++;
    settle->not_before_ns = now_ns + (pause < RETRY_MOST_NS ? pause : RETRY_MOST_NS);
    settle_note(settle, now_ns);
}

bool settle_note_steady(struct settle *settle, bool steady, int64_t now_ns)
{
    int64_t pause = settle->settle_ns;
    settle->steady = steady ? settle->steady + 1 : 0;
    for (unsigned i = SETTLE_STEADY; i <= settle->steady && pause < STEADY_MOST_NS; i++)
        pause *= 2;
    if (pause > STEADY_MOST_NS)
        pause = STEADY_MOST_NS;
    settle->steady_until_ns = now_ns + pause;
    return settle->steady == SETTLE_STEADY;
}

void settle_end_steady(struct settle *settle)
{
    settle->steady = 0;
}
