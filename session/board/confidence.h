/* SPDX-License-Identifier: MIT */
/* Confidence in a hypothesis: a probability, which evidence moves by Bayes' rule.
 *
 *     strength of evidence  ->  P(E|H), P(E|not H)  ->  P(H|E)
 *
 * A hypothesis stores its prior and its evidence; its confidence is confidence_of both,
 * computed anew after each change. So evidence that is taken away takes its effect
 * away.
 *
 * Everything here refuses NaN and what is out of range, with CAIRN_EUSAGE and a text,
 * and then leaves its output alone. */
#ifndef SESSION_BOARD_CONFIDENCE_H
#define SESSION_BOARD_CONFIDENCE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIDENCE_CERTAIN 0.9  /* above it, gaps of the hypothesis are closed */
#define CONFIDENCE_BELIEVED 0.7 /* above it, two opposite beliefs contradict */

/* Is it a number from 0 to 1? `what` begins the text of the error: "prior". */
int confidence_check(const char *what, double value, struct cairn_error *error);
/* Strictly above, where the last digits of a product do not decide: 0.9 that was
 * computed is not above 0.9. */
bool confidence_above(double confidence, double threshold);

struct likelihoods {
    double if_true, if_false; /* P(E|H), P(E|not H) */
};

/* P(H|E). A prior of 0 or 1 stays what it is, unless its evidence is impossible. */
int confidence_update(double prior, struct likelihoods evidence, double *posterior,
                      struct cairn_error *error);

/* Stored: never renumbered. */
enum evidence_kind {
    EVIDENCE_OBSERVATION = 1, /* strength at most 0.5 */
    EVIDENCE_EXPERIMENT = 2,  /* 1.0 */
    EVIDENCE_REFERENCE = 3,   /* 0.3 */
    EVIDENCE_DEDUCTION = 4,   /* 0.7 */
};

/* "observation"; NULL for a number that is not a kind. */
const char *evidence_kind_name(enum evidence_kind kind);
int evidence_kind_parse(struct str name, enum evidence_kind *kind,
                        struct cairn_error *error);
/* The greatest strength of the kind; 0 for a number that is not a kind. */
double evidence_cap(enum evidence_kind kind);

/* Positive strength supports, negative refutes, 0 does neither. */
struct evidence {
    enum evidence_kind kind;
    double strength; /* -cap to +cap of its kind */
};

/* Evidence as it is stored: a strength beyond the cap becomes the cap. */
int evidence_init(struct evidence *evidence, enum evidence_kind kind, double strength,
                  struct cairn_error *error);
/* 0.5 +- 0.4 * strength / cap. */
int evidence_likelihoods(const struct evidence *evidence, struct likelihoods *out,
                         struct cairn_error *error);
/* What `n` pieces of evidence make of the prior, in their order. */
int confidence_of(double prior, const struct evidence *evidence, size_t n,
                  double *confidence, struct cairn_error *error);

/* Where the items of the board stand. The numbers are stored: never renumbered. Names
 * are what people write and JSON has; NULL for a number that is none.
 *
 *     proposed ---> testing ---> confirmed
 *         |            |
 *         +------------+-------> rejected
 */

enum hypothesis_status {
    HYPOTHESIS_PROPOSED = 1,
    HYPOTHESIS_TESTING = 2,
    HYPOTHESIS_CONFIRMED = 3,
    HYPOTHESIS_REJECTED = 4,
};

enum gap_status {
    GAP_OPEN = 1,
    GAP_FILLED = 2, /* somebody found out */
    GAP_CLOSED = 3, /* by itself: its hypothesis is certain */
};

enum check_status {
    CHECK_PENDING = 1, /* never ran */
    CHECK_RUNNING = 2,
    CHECK_PASSED = 3,
    CHECK_FAILED = 4,  /* it ran, and said no */
    CHECK_TIMEOUT = 5, /* its limit ended it */
    CHECK_ERROR = 6,   /* it could not be run */
};

enum branch_status {
    BRANCH_ACTIVE = 1,
    BRANCH_MERGED = 2,
    BRANCH_ABANDONED = 3,
    BRANCH_ARCHIVED = 4,
};

const char *hypothesis_status_name(enum hypothesis_status status);
const char *gap_status_name(enum gap_status status);
const char *check_status_name(enum check_status status);
const char *branch_status_name(enum branch_status status);
/* May a hypothesis go from one to the other? CAIRN_EUSAGE says what it may become. */
int hypothesis_move(enum hypothesis_status from, enum hypothesis_status to,
                    struct cairn_error *error);

/* Knowledge gaps: which open question matters most, what to do about it, and which have
 * closed by themselves. The score is always computed for the present moment, never
 * stored: it grows with age and shrinks with evidence. */

/* Stored: never renumbered. */
enum gap_kind {
    GAP_ASSUMPTION = 1,    /* taken for granted, never tested */
    GAP_INFORMATION = 2,   /* nobody has looked */
    GAP_CONTRADICTION = 3, /* evidence for both */
    GAP_DEPENDENCY = 4,    /* what it rests on is not known */
    GAP_OTHER = 5,
};

enum gap_criticality {
    GAP_HIGH = 1,
    GAP_MEDIUM = 2,
    GAP_LOW = 3,
};

/* "assumption", "high"; NULL for a number that is none. */
const char *gap_kind_name(enum gap_kind kind);
const char *gap_criticality_name(enum gap_criticality criticality);
int gap_kind_parse(struct str name, enum gap_kind *kind, struct cairn_error *error);
int gap_criticality_parse(struct str name, enum gap_criticality *criticality,
                          struct cairn_error *error);

struct gap {
    enum gap_kind kind;
    enum gap_criticality criticality;
    enum gap_status status;
    bool has_hypothesis;
    double confidence;  /* of the hypothesis; else not looked at */
    uint32_t depth;     /* levels of what it rests on: belief_reach's greatest depth */
    double strength;    /* of the evidence that there is, -1 to 1; 0 for none */
    int64_t created_ns; /* UTC */
};

/* 0.5 criticality (1, 0.6, 0.3) + 0.3 depth / 10 + 0.15 (1 - |strength|) + 0.05 age /
 * 30 days; depth and age count up to 10 and 30. In 0..1. A gap of the future has no
 * age. CAIRN_EUSAGE for numbers that are none. */
int gap_score(const struct gap *gap, int64_t now_ns, double *score,
              struct cairn_error *error);
/* Is it open, and its hypothesis certain? Then it closes by itself. */
bool gap_closes(const struct gap *gap);

enum gap_action {
    GAP_DO_CHECK,       /* add a verification check */
    GAP_DO_RESEARCH,    /* look it up */
    GAP_DO_INVESTIGATE, /* find out which of them is right */
    GAP_DO_RESOLVE,     /* find out what depends on what */
    GAP_DO_GATHER,      /* gather evidence */
    GAP_DO_DECIDE,      /* say what would fill it */
};

struct gap_suggestion {
    enum gap_action action;
    const char *name;      /* "check" */
    const char *rationale; /* a sentence; never freed */
};

/* By kind; NULL texts for a number that is not a kind. */
struct gap_suggestion gap_suggest(const struct gap *gap);

/* The open ones in order: the highest score first, then the oldest, then by number.
 * `ranked` has room for n; *n_ranked is how many there are. */
struct gap_rank {
    uint32_t gap;
    double score;
};

int gap_order(const struct gap *gaps, uint32_t n, int64_t now_ns,
              struct gap_rank *ranked, uint32_t *n_ranked, struct cairn_error *error);

#endif
