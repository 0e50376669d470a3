/* SPDX-License-Identifier: MIT */
/* The payload kinds of this release. */
#include "checkpoint/outcomes.h"
#include "checkpoint/sections.h"

const struct payload_kinds payload_kinds = {
    .at = {[NAMESPACE_WORKFLOW] = &outcomes_kind, [NAMESPACE_DEBUG] = &sections_kind},
};
