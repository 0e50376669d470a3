/* SPDX-License-Identifier: MIT */
/* Figures: forge-reasoning, confidence.rs and evidence.rs. Tenths are computed as
 * quotients of whole numbers where they can be: 5 + 4 over 10 is 0.9, and one full
 * experiment on an even prior gives 0.9 to the last bit. */
#include "session/board/confidence.h"

#include "base/utf8.h"

#include <math.h>

static const struct {
    const char *name;
    double cap;
} kinds[] = {
    [EVIDENCE_OBSERVATION] = {"observation", 0.5},
    [EVIDENCE_EXPERIMENT] = {"experiment", 1.0},
    [EVIDENCE_REFERENCE] = {"reference", 0.3},
    [EVIDENCE_DEDUCTION] = {"deduction", 0.7},
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

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
    int rc = confidence_check("prior", prior, error);
    if (!rc)
        rc = confidence_check("P(E|H)", evidence.if_true, error);
    if (!rc)
        rc = confidence_check("P(E|not H)", evidence.if_false, error);
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
    return (unsigned)kind < N_KINDS ? kinds[kind].name : NULL;
}

double evidence_cap(enum evidence_kind kind)
{
    return (unsigned)kind < N_KINDS ? kinds[kind].cap : 0;
}

int evidence_kind_parse(struct str name, enum evidence_kind *kind,
                        struct cairn_error *error)
{
    for (unsigned i = EVIDENCE_OBSERVATION; i < N_KINDS; i++)
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
        return error_set(error, CAIRN_EUSAGE, "%d is no kind of evidence", (int)kind);
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
        rc = evidence_likelihoods(&evidence[i], &likelihoods, error);
        if (!rc)
            rc = confidence_update(value, likelihoods, &value, error);
    }
    if (!rc)
        *confidence = value;
    return rc;
}
