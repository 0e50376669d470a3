/* SPDX-License-Identifier: MIT */
/* Attempts as `explain` and `log` show them. */
#ifndef CLI_ATTEMPTS_H
#define CLI_ATTEMPTS_H

#include "cairn.h"
#include "cli/json.h"

/* One attempt's line on stdout: "  attempt 2  failed  exit 1  0.3s  2026-...". */
void attempt_print(const struct cairn_attempt_info *attempt);
/* Its members, in an object that is already open. */
void attempt_document(struct doc *doc, const struct cairn_attempt_info *attempt);

#endif
