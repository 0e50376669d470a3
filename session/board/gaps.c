/* SPDX-License-Identifier: MIT */
/* Figures: forge-reasoning, gaps/scoring.rs. That counts whole days, which makes a jump
 * at each midnight of a gap; here age grows steadily. */
#include "session/board/gaps.h"

#include "base/utf8.h"
#include "session/board/confidence.h"

#include <stdlib.h>

static const char *const kind_names[] = {
    [GAP_ASSUMPTION] = "assumption",
    [GAP_INFORMATION] = "information",
    [GAP_CONTRADICTION] = "contradiction",
    [GAP_DEPENDENCY] = "dependency",
    [GAP_OTHER] = "other",
};
static const struct {
    const char *name;
    double weight;
} criticalities[] = {
    [GAP_HIGH] = {"high", 1}, [GAP_MEDIUM] = {"medium", 0.6}, [GAP_LOW] = {"low", 0.3}};
enum {
    N_KINDS = sizeof kind_names / sizeof kind_names[0],
    N_CRITICALITIES = sizeof criticalities / sizeof criticalities[0],
};

const char *gap_kind_name(enum gap_kind kind)
{
    return (unsigned)kind < N_KINDS ? kind_names[kind] : NULL;
}

const char *gap_criticality_name(enum gap_criticality criticality)
{
    return (unsigned)criticality < N_CRITICALITIES ? criticalities[criticality].name
                                                   : NULL;
}

int gap_kind_parse(struct str name, enum gap_kind *kind, struct cairn_error *error)
{
    for (unsigned i = GAP_ASSUMPTION; i < N_KINDS; i++)
        if (str_equal(name, str_of(kind_names[i]))) {
            *kind = (enum gap_kind)i;
            return 0;
        }
    return error_set(error, CAIRN_EUSAGE,
                     "there is no gap of kind '%.*s'; take assumption, information, "
                     "contradiction, dependency or other",
                     (int)utf8_fit(name, 80), name.ptr);
}

int gap_criticality_parse(struct str name, enum gap_criticality *criticality,
                          struct cairn_error *error)
{
    for (unsigned i = GAP_HIGH; i < N_CRITICALITIES; i++)
        if (str_equal(name, str_of(criticalities[i].name))) {
            *criticality = (enum gap_criticality)i;
            return 0;
        }
    return error_set(error, CAIRN_EUSAGE,
                     "'%.*s' is no criticality of a gap; take high, medium or low",
                     (int)utf8_fit(name, 80), name.ptr);
}

/* ---- Score ---- */

static double share_of(double value, double most)
{
    return value < most ? value / most : 1;
}

static double age_days(int64_t created_ns, int64_t now_ns)
{
    if (now_ns <= created_ns)
        return 0;
    return (double)((uint64_t)now_ns - (uint64_t)created_ns) / 86400e9;
}

int gap_score(const struct gap *gap, int64_t now_ns, double *score,
              struct cairn_error *error)
{
    if (!gap_kind_name(gap->kind) || !gap_criticality_name(gap->criticality))
        return error_set(error, CAIRN_EUSAGE,
                         "a gap of an unknown kind or criticality");
    if (!(gap->strength >= -1 && gap->strength <= 1))
        return error_set(error, CAIRN_EUSAGE,
                         "strength of evidence is %g; give a number from -1 to 1",
                         gap->strength);
    *score = 0.5 * criticalities[gap->criticality].weight +
             0.3 * share_of(gap->depth, 10) +
             0.15 * (1 - (gap->strength < 0 ? -gap->strength : gap->strength)) +
             0.05 * share_of(age_days(gap->created_ns, now_ns), 30);
    return 0;
}

bool gap_closes(const struct gap *gap)
{
    return gap->status == GAP_OPEN && gap->has_hypothesis &&
           confidence_above(gap->confidence, CONFIDENCE_CERTAIN);
}

/* ---- What to do ---- */

static const struct gap_suggestion suggestions[] = {
    [GAP_ASSUMPTION] = {GAP_DO_CHECK, "check",
                        "It is taken for granted; a check that runs a command shows "
                        "whether it holds."},
    [GAP_INFORMATION] = {GAP_DO_RESEARCH, "research",
                         "Nobody has looked; what is written down may already answer "
                         "it."},
    [GAP_CONTRADICTION] = {GAP_DO_INVESTIGATE, "investigate",
                           "Evidence stands against evidence; one more experiment can "
                           "tell which is wrong."},
    [GAP_DEPENDENCY] = {GAP_DO_RESOLVE, "resolve",
                        "What it rests on is not known, so nobody knows what would "
                        "overturn it."},
    [GAP_OTHER] = {GAP_DO_DECIDE, "decide",
                   "Say first what answer would fill it, and how to get it."},
};
/* Its hypothesis depends on it, and has no evidence yet. */
static const struct gap_suggestion gather = {
    GAP_DO_GATHER, "gather",
    "Its hypothesis has no evidence for or against it; any would help."};

struct gap_suggestion gap_suggest(const struct gap *gap)
{
    if (!gap_kind_name(gap->kind))
        return (struct gap_suggestion){GAP_DO_DECIDE, NULL, NULL};
    bool bare = gap->has_hypothesis && gap->strength == 0;
    if (bare && (gap->kind == GAP_INFORMATION || gap->kind == GAP_OTHER))
        return gather;
    return suggestions[gap->kind];
}

/* ---- Order ---- */

struct ordered {
    struct gap_rank rank;
    int64_t created_ns;
};

static int by_score(const void *left, const void *right)
{
    const struct ordered *x = left, *y = right;
    if (x->rank.score != y->rank.score)
        return x->rank.score > y->rank.score ? -1 : 1;
    if (x->created_ns != y->created_ns)
        return x->created_ns < y->created_ns ? -1 : 1;
    return (x->rank.gap > y->rank.gap) - (x->rank.gap < y->rank.gap);
}

int gap_order(const struct gap *gaps, uint32_t n, int64_t now_ns,
              struct gap_rank *ranked, uint32_t *n_ranked, struct cairn_error *error)
{
    uint32_t open = 0;
    int rc = 0;
    struct ordered *list = malloc(((size_t)n + 1) * sizeof *list);
    if (!list)
        return error_nomem(error);
    for (uint32_t i = 0; i < n && !rc; i++) {
        if (gaps[i].status != GAP_OPEN)
            continue;
        list[open] = (struct ordered){{i, 0}, gaps[i].created_ns};
        rc = gap_score(&gaps[i], now_ns, &list[open].rank.score, error);
        open++;
    }
    if (!rc) {
        qsort(list, open, sizeof *list, by_score);
        for (uint32_t i = 0; i < open; i++)
            ranked[i] = list[i].rank;
        *n_ranked = open;
    }
    free(list);
    return rc;
}
