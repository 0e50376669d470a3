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

#define CONFIDENCE_PRIOR 0.5     /* of a hypothesis of which nothing else is said */
#define CONFIDENCE_CERTAIN 0.9   /* above it, gaps of the hypothesis are closed */
#define CONFIDENCE_BELIEVED 0.7  /* above it, two opposite beliefs contradict */
#define CONFIDENCE_DIVISOR 1e-10 /* the least P(E) that Bayes' rule divides by */

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
/* "observation"; NULL for a number that is no kind. */
const char *evidence_kind_name(enum evidence_kind kind);
int evidence_kind_parse(struct str name, enum evidence_kind *kind,
                        struct cairn_error *error);
/* The greatest strength of the kind; 0 for a number that is no kind. */
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

#endif
