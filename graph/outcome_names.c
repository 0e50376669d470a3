/* SPDX-License-Identifier: MIT */
/* The names of outcomes and states of runs, as every text, JSON and condition has them.
 */
#include "cairn/outcome.h"

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
