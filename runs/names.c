/* SPDX-License-Identifier: MIT */
/* The names of reasons, as every text and JSON shows them. */
#include "base/error.h"
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
