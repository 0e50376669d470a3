/* SPDX-License-Identifier: MIT */
/* The moves of hypotheses: forge-reasoning, types.rs. */
#include "session/board/status.h"

#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>

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

static void list_names(const char *const *names, char *out, size_t size)
{
    size_t used = 0;
    for (unsigned i = 1; names[i] && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 i == 1         ? ""
                                 : names[i + 1] ? ", "
                                                : " or ",
                                 names[i]);
}

/* The number, or <0. */
static int find_name(const char *what, const char *const *names, struct str name,
                     struct cairn_error *error)
{
    char list[128] = "";
    for (int i = 1; names[i]; i++)
        if (str_equal(name, str_of(names[i])))
            return i;
    list_names(names, list, sizeof list);
    return error_set(error, CAIRN_EUSAGE, "'%.*s' is no status of a %s; take %s",
                     (int)utf8_fit(name, 80), name.ptr, what, list);
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

int hypothesis_status_parse(struct str name, enum hypothesis_status *status,
                            struct cairn_error *error)
{
    int found = find_name("hypothesis", hypothesis_names, name, error);
    if (found < 0)
        return found;
    *status = (enum hypothesis_status)found;
    return 0;
}

int gap_status_parse(struct str name, enum gap_status *status,
                     struct cairn_error *error)
{
    int found = find_name("gap", gap_names, name, error);
    if (found < 0)
        return found;
    *status = (enum gap_status)found;
    return 0;
}

int check_status_parse(struct str name, enum check_status *status,
                       struct cairn_error *error)
{
    int found = find_name("check", check_names, name, error);
    if (found < 0)
        return found;
    *status = (enum check_status)found;
    return 0;
}

int branch_status_parse(struct str name, enum branch_status *status,
                        struct cairn_error *error)
{
    int found = find_name("branch", branch_names, name, error);
    if (found < 0)
        return found;
    *status = (enum branch_status)found;
    return 0;
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
        return error_set(error, CAIRN_EUSAGE, "%d is no status of a hypothesis",
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
