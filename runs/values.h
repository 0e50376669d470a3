/* SPDX-License-Identifier: MIT */
/* What a task passes on: the file named by $CAIRN_OUTPUT, and the answer of a check.
 * Pure: works on bytes. Both come from a task, so nothing in them is trusted.
 *
 * Files with values ($CAIRN_OUTPUT) that attempts of a dead owner have left in the live
 * directory. Where the workflow has secrets they may hold some, as nobody has redacted
 * them. */
#ifndef RUNS_VALUES_H
#define RUNS_VALUES_H

#include "graph/definition.h"
#include "storage/rows_run.h"

/* Lines `key=value`, or a value of several lines:
 *
 *   key<<END
 *   first line
 *   END
 *
 * (the value is what stands between, without its last line break). Keys are
 * [a-zA-Z_][a-zA-Z0-9_]*, at most LIMIT_NAME_BYTES; the last one of the same name
 * counts. Empty lines are skipped. Lines may end with CR LF; in a value of several
 * lines each CR LF is then a line break, if the line `key<<END` ends with one. Values
 * are any bytes but NUL. At most LIMIT_VALUES keys and LIMIT_VALUES_BYTES of file.
 * Result sorted by key, in the arena. CAIRN_EWORKFLOW with "line 3: ..." in *error;
 * CAIRN_ELIMIT. */
int values_parse(struct arena *arena, struct str text, struct key_value **out,
                 uint32_t *n, struct cairn_error *error);
/* The same pairs as `cairn complete` puts them into a command: key, value, key, ...,
 * each a varint length and so many bytes; sorted. What values_parse would not give is
 * CAIRN_EDAMAGED. The result's texts point into `packed`. */
int values_unpack(struct arena *arena, struct str packed, struct key_value **out,
                  uint32_t *n, struct cairn_error *error);
/* Whether it can be the name of a value. */
bool value_name_is_good(struct str name);
const struct key_value *values_find(const struct key_value *values, uint32_t n,
                                    struct str key);

/* The answer of a check: its exit code and stdout. Exit code not 0: not passed. Else,
 * if the last line that is not blank begins with {, it must be a JSON object with one
 * number `confidence` from 0 to 1; without such a line the confidence is 1. Anything
 * else that begins with { (no confidence, out of range, NaN, twice, no JSON) is an
 * error: the check counts as failed. Other members of the object are skipped whatever
 * they are (nesting limited). */
struct verdict {
    double confidence;   /* 0 after an exit code other than 0 or an error; never -0 */
    bool passed, warned; /* against min and warn, inclusive */
    char text[256];      /* why not, or what to warn of; "" if fine */
};

/* Confidence in words: whole percent, cut, not rounded (0.849 is 84 %). */
void verdict_of(int exit_code, struct str out, uint32_t min_permille,
                uint32_t warn_permille, struct verdict *verdict);

/* Removes those of a run whose workflow has secrets, but for those of attempts under
 * keepers, which the next owner takes over. The caller owns the workflow. */
void live_values_remove(struct cairn_store *store, const struct run_row *row);
/* The same for every run that nobody works on, and for runs that are gone. */
void live_values_sweep(struct cairn_store *store);

#endif
