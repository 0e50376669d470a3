/* SPDX-License-Identifier: MIT */
/* The names of reasons, outcomes and states of runs, as every text and JSON shows them.
 */
#include "base/error.h"
#include "cairn/outcome.h"
#include "cairn/plan.h"

const char *cairn_reason_name(enum cairn_reason reason)
{
    static const char *const names[] = {
        "done",    "never-ran", "failed",    "cancelled", "skipped",      "interrupted",
        "damaged", "changed",   "output",    "upstream",  "kept",         "input",
        "secret",  "undone",    "unknown",   "excluded",  "need-skipped", "handled",
        "adopted", "asked",     "not-chosen"};
    return (unsigned)reason < sizeof names / sizeof names[0] ? names[reason]
                                                             : "unknown";
}

const char *cairn_outcome_name(enum cairn_outcome outcome)
{
    static const char *const names[] = {"pending", "completed", "failed",
                                        "skipped", "cancelled", "undone",
                                        "unknown", "excluded"};
    return (unsigned)outcome < sizeof names / sizeof names[0] ? names[outcome]
                                                              : "unknown";
}

const char *cairn_run_state_name(enum cairn_run_state state)
{
    static const char *const names[] = {"unfinished", "completed", "failed",
                                        "cancelled", "undone"};
    return (unsigned)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}
