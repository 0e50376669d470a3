/* SPDX-License-Identifier: MIT */
/* How certain hypotheses are, the moves of what has a status, and which gap matters
 * most. */
#include "session/board/confidence.h"

#include "base/str.h"
#include "base/utf8.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define CONFIDENCE_PRIOR 0.5     /* of a hypothesis of which nothing else is said */
#define CONFIDENCE_DIVISOR 1e-10 /* the least P(E) that Bayes' rule divides by */

/* ==== Confidence ==== */

/* Figures: forge-reasoning, confidence.rs and evidence.rs. Tenths are computed as
 * quotients of whole numbers where they can be: 5 + 4 over 10 is 0.9, and one full
 * experiment on an even prior gives 0.9 to the last bit. */

static const struct {
    const char *name;
    double cap;
} kinds[] = {
    [EVIDENCE_OBSERVATION] = {"observation", 0.5},
    [EVIDENCE_EXPERIMENT] = {"experiment", 1.0},
    [EVIDENCE_REFERENCE] = {"reference", 0.3},
    [EVIDENCE_DEDUCTION] = {"deduction", 0.7},
};

enum { N_EVIDENCE_KINDS = COUNT_OF(kinds) };

int confidence_check(const char *what, double value, struct cairn_error *error)
{
    if (isnan(value))
        return error_set(error, CAIRN_EUSAGE,
                         "%s is not a number; give one from 0 to 1", what);
    if (value < 0 || value > 1)
        return error_set(error, CAIRN_EUSAGE, "%s is %g; give a number from 0 to 1",
                         what, value);
    return 0;
}

bool confidence_above(double confidence, double threshold)
{
    return confidence - threshold > 1e-9;
}

int confidence_update(double prior, struct likelihoods evidence, double *posterior,
                      struct cairn_error *error)
{
    int rc = confidence_check("prior", prior, error)
             ?: confidence_check("P(E|H)", evidence.if_true, error)
             ?: confidence_check("P(E|not H)", evidence.if_false, error);
    if (rc)
        return rc;
    double with = prior * evidence.if_true;
    double seen = with + (1 - prior) * evidence.if_false;
    double result = with / (seen > CONFIDENCE_DIVISOR ? seen : CONFIDENCE_DIVISOR);
    *posterior = result < 1 ? result : 1; /* rounding */
    return 0;
}

const char *evidence_kind_name(enum evidence_kind kind)
{
    return (unsigned)kind < N_EVIDENCE_KINDS ? kinds[kind].name : NULL;
}

double evidence_cap(enum evidence_kind kind)
{
    return (unsigned)kind < N_EVIDENCE_KINDS ? kinds[kind].cap : 0;
}

int evidence_kind_parse(struct str name, enum evidence_kind *kind,
                        struct cairn_error *error)
{
    for (unsigned i = EVIDENCE_OBSERVATION; i < N_EVIDENCE_KINDS; i++)
        if (str_equal(name, str_of(kinds[i].name))) {
            *kind = (enum evidence_kind)i;
            return 0;
        }
    return error_set(
        error, CAIRN_EUSAGE,
        "there is no evidence of kind '%.*s'; take observation, experiment, "
        "reference or deduction",
        (int)utf8_fit(name, 80), name.ptr);
}

int evidence_init(struct evidence *evidence, enum evidence_kind kind, double strength,
                  struct cairn_error *error)
{
    double cap = evidence_cap(kind);
    if (cap == 0)
        return error_set(error, CAIRN_EUSAGE, "%d is not a kind of evidence",
                         (int)kind);
    if (!isfinite(strength))
        return error_set(error, CAIRN_EUSAGE,
                         "strength is not a number; give one from -1 (refutes) to 1 "
                         "(supports)");
    double stored = strength > cap ? cap : strength < -cap ? -cap : strength;
    *evidence = (struct evidence){kind, stored};
    return 0;
}

int evidence_likelihoods(const struct evidence *evidence, struct likelihoods *out,
                         struct cairn_error *error)
{
    struct evidence checked;
    int rc = evidence_init(&checked, evidence->kind, evidence->strength, error);
    if (rc)
        return rc;
    double share = checked.strength / evidence_cap(checked.kind);
    *out = (struct likelihoods){(5 + 4 * share) / 10, (5 - 4 * share) / 10};
    return 0;
}

int confidence_of(double prior, const struct evidence *evidence, size_t n,
                  double *confidence, struct cairn_error *error)
{
    double value = prior;
    int rc = confidence_check("prior", prior, error);
    for (size_t i = 0; !rc && i < n; i++) {
        struct likelihoods likelihoods;
        rc = evidence_likelihoods(&evidence[i], &likelihoods, error)
                 ?: confidence_update(value, likelihoods, &value, error);
    }
    if (!rc)
        *confidence = value;
    return rc;
}

/* ==== Status ==== */

/* The moves of hypotheses: forge-reasoning, types.rs. */

/* Names by number; 0 is none. A NULL ends them. */
static const char *const hypothesis_names[] = {NULL,        "proposed", "testing",
                                               "confirmed", "rejected", NULL};
static const char *const gap_names[] = {NULL, "open", "filled", "closed", NULL};

static const char *const check_names[] = {NULL,     "pending", "running", "passed",
                                          "failed", "timeout", "error",   NULL};

static const char *const branch_names[] = {NULL,        "active",   "merged",
                                           "abandoned", "archived", NULL};

static const char *name_of(const char *const *names, unsigned number)
{
    for (unsigned i = 1; names[i]; i++)
        if (i == number)
            return names[i];
    return NULL;
}

const char *hypothesis_status_name(enum hypothesis_status status)
{
    return name_of(hypothesis_names, (unsigned)status);
}

const char *gap_status_name(enum gap_status status)
{
    return name_of(gap_names, (unsigned)status);
}

const char *check_status_name(enum check_status status)
{
    return name_of(check_names, (unsigned)status);
}

const char *branch_status_name(enum branch_status status)
{
    return name_of(branch_names, (unsigned)status);
}

/* Row: from; bit: to. */
static const uint8_t moves[] = {
    [HYPOTHESIS_PROPOSED] = 1 << HYPOTHESIS_TESTING | 1 << HYPOTHESIS_REJECTED,
    [HYPOTHESIS_TESTING] = 1 << HYPOTHESIS_CONFIRMED | 1 << HYPOTHESIS_REJECTED,
    [HYPOTHESIS_CONFIRMED] = 0,
    [HYPOTHESIS_REJECTED] = 0,
};

static const char *const remedies[] = {
    [HYPOTHESIS_PROPOSED] = "it can become testing or rejected",
    [HYPOTHESIS_TESTING] = "it can become confirmed or rejected",
    [HYPOTHESIS_CONFIRMED] = "that is final; add a new hypothesis",
    [HYPOTHESIS_REJECTED] = "that is final; add a new hypothesis",
};

int hypothesis_move(enum hypothesis_status from, enum hypothesis_status to,
                    struct cairn_error *error)
{
    const char *old = hypothesis_status_name(from), *new = hypothesis_status_name(to);
    if (!old || !new)
        return error_set(error, CAIRN_EUSAGE, "%d is not a status of a hypothesis",
                         (int)(old ? to : from));
    if (moves[from] & 1 << to)
        return 0;
    if (from == to)
        return error_set(error, CAIRN_EUSAGE, "the hypothesis is %s already; %s", old,
                         remedies[from]);
    return error_set(error, CAIRN_EUSAGE,
                     "a hypothesis that is %s cannot become %s; %s", old, new,
                     remedies[from]);
}

/* ==== Gaps ==== */

/* Figures: forge-reasoning, gaps/scoring.rs. That counts whole days, which makes a jump
 * at each midnight of a gap; here age grows steadily. */

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
    N_GAP_KINDS = COUNT_OF(kind_names),
    N_CRITICALITIES = COUNT_OF(criticalities),
};

const char *gap_kind_name(enum gap_kind kind)
{
    return (unsigned)kind < N_GAP_KINDS ? kind_names[kind] : NULL;
}

const char *gap_criticality_name(enum gap_criticality criticality)
{
    return (unsigned)criticality < N_CRITICALITIES ? criticalities[criticality].name
                                                   : NULL;
}

int gap_kind_parse(struct str name, enum gap_kind *kind, struct cairn_error *error)
{
    for (unsigned i = GAP_ASSUMPTION; i < N_GAP_KINDS; i++)
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
                     "'%.*s' is not a criticality of a gap; take high, medium or low",
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
                           "Evidence contradicts evidence; one more experiment can "
                           "tell which is wrong."},
    [GAP_DEPENDENCY] = {GAP_DO_RESOLVE, "resolve",
                        "What it rests on is not known, so it is not known what would "
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
