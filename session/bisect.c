/* SPDX-License-Identifier: MIT */
#include "session/bisect_int.h"

#include "session/line_int.h"

#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static bool can_try(const struct bisection *bisection, size_t at)
{
    return at > bisection->good && at < bisection->bad && !bisection->skipped[at];
}

bool bisection_next(const struct bisection *bisection, size_t *at)
{
    assert(bisection->good < bisection->bad);
    size_t width = bisection->bad - bisection->good,
           middle = bisection->good + width / 2;
    for (size_t away = 0; away < width; away++) {
        size_t before = away < middle ? middle - away : 0;
        *at = can_try(bisection, before) ? before : middle + away;
        if (can_try(bisection, *at))
            return true;
    }
    return false;
}

/* The first bad checkpoint on a line. */

struct bisect {
    struct cairn_store *store;
    struct sha256 *sha;
    struct line line;
    struct bisection state;
    bool checked; /* the two that were given */
    int (*probe)(void *, const struct cairn_probe *, enum cairn_verdict *verdict);
    void *context;
    struct cairn_bisected result;
    struct cairn_error *error;
};

static int load_line(struct bisect *b, const char *good, const char *bad)
{
    uint64_t from = 0, to = 0;
    int rc = store_begin_read(b->store, b->error);
    if (rc)
        return rc;
    rc = debug_seq(b->store, good, &from, b->error)
             ?: debug_seq(b->store, bad, &to, b->error);
    if (!rc && from == to)
        rc = error_set(b->error, CAIRN_EUSAGE,
                       "checkpoint debug:%llu is given as the good one and as the bad "
                       "one",
                       (unsigned long long)from);
    if (!rc)
        rc = line_load(b->store, from, to, &b->line, b->error);
    store_end_read(b->store);
    if (rc)
        return rc;
    b->state.bad = b->line.n - 1;
    b->state.skipped = calloc(b->line.n, sizeof *b->state.skipped);
    return b->state.skipped ? 0 : error_nomem(b->error);
}

/* ---- Trying one ---- */

static int try_one(struct bisect *b, size_t at, uint64_t candidates,
                   enum cairn_verdict *verdict)
{
    struct cairn_line_entry entry;
    *verdict = CAIRN_VERDICT_SKIP;
    int rc = line_describe(b->store, b->sha, &b->line.at[at], &entry, b->error);
    if (rc)
        return rc;
    b->result.probes += !entry.damaged;
    struct cairn_probe told = {.seq = entry.seq,
                               .time_ns = entry.time_ns,
                               .damaged = entry.damaged,
                               .number = b->result.probes,
                               .candidates = candidates};
    memcpy(told.id, entry.id, sizeof told.id);
    rc = b->probe(b->context, &told, verdict);
    if (entry.damaged && *verdict != CAIRN_VERDICT_STOP)
        *verdict = CAIRN_VERDICT_SKIP;
    return rc;
}

/* Whether the two that were given are what they were given as. */
static int check_ends(struct bisect *b)
{
    enum cairn_verdict verdict;
    int rc = try_one(b, b->state.good, 0, &verdict);
    b->result.good_fails = !rc && verdict == CAIRN_VERDICT_BAD;
    b->result.stopped = !rc && verdict == CAIRN_VERDICT_STOP;
    if (rc || b->result.good_fails || b->result.stopped)
        return rc;
    rc = try_one(b, b->state.bad, 0, &verdict);
    b->result.bad_passes = !rc && verdict == CAIRN_VERDICT_GOOD;
    b->result.stopped = !rc && verdict == CAIRN_VERDICT_STOP;
    return rc;
}

static int search(struct bisect *b)
{
    size_t at;
    int rc = 0;
    while (!rc && !b->result.stopped && bisection_next(&b->state, &at)) {
        enum cairn_verdict verdict;
        rc = try_one(b, at, b->state.bad - b->state.good, &verdict);
        if (rc)
            break;
        if (verdict == CAIRN_VERDICT_GOOD)
            b->state.good = at;
        else if (verdict == CAIRN_VERDICT_BAD)
            b->state.bad = at;
        else if (verdict == CAIRN_VERDICT_SKIP)
            b->state.skipped[at] = true;
        b->result.skipped += verdict == CAIRN_VERDICT_SKIP;
        b->result.stopped = verdict == CAIRN_VERDICT_STOP;
    }
    return rc;
}

/* ---- What was found ---- */

static int tell(struct bisect *b,
                int (*candidate)(void *, const struct cairn_line_entry *))
{
    bool wrong = b->result.good_fails || b->result.bad_passes;
    struct cairn_line_entry entry;
    int stopped = wrong || !candidate;
    int rc =
        line_describe(b->store, b->sha, &b->line.at[b->state.good], &entry, b->error);
    if (rc)
        return rc;
    memcpy(b->result.last_good, entry.id, sizeof entry.id);
    b->result.candidates = wrong ? 0 : b->state.bad - b->state.good;
    bool found = !b->checked && b->result.candidates == 1;
    b->result.bad_untested = found && b->state.bad + 1 == b->line.n;
    b->result.good_untested = found && b->state.good == 0;
    for (size_t at = b->state.good + 1; at <= b->state.bad && !rc; at++) {
        rc = line_describe(b->store, b->sha, &b->line.at[at], &entry, b->error);
        if (!rc && !stopped)
            stopped = candidate(b->context, &entry);
    }
    memcpy(b->result.first_bad, entry.id, sizeof entry.id);
    return rc;
}

int cairn_session_bisect(
    struct cairn_store *store, const char *good, const char *bad, bool check,
    int (*probe)(void *, const struct cairn_probe *, enum cairn_verdict *verdict),
    int (*candidate)(void *, const struct cairn_line_entry *), void *context,
    struct cairn_bisected *result, struct cairn_error *error)
{
    struct bisect b = {.store = store,
                       .sha = sha256_new(),
                       .probe = probe,
                       .checked = check,
                       .context = context,
                       .error = error};
    int rc = b.sha ? load_line(&b, good, bad) : error_nomem(error);
    if (!rc && check)
        rc = check_ends(&b);
    if (!rc && !b.result.good_fails && !b.result.bad_passes)
        rc = search(&b);
    if (!rc)
        rc = tell(&b, candidate);
    free(b.state.skipped);
    free(b.line.at);
    sha256_free(b.sha);
    if (!rc && result)
        *result = b.result;
    return rc;
}
