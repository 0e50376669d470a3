/* SPDX-License-Identifier: MIT
 *
 * cairn: run a graph of tasks and record a durable, checksummed checkpoint after every
 * task. This header includes all of the library; each header in cairn/ can also be used
 * alone.
 *
 *   cairn/error.h        error codes, struct cairn_error, the version
 *   cairn/outcome.h      how a task ended, and how a run did
 *   cairn/store.h        open and close a store
 *   cairn/workflow.h     load a workflow file, or build a workflow in memory
 *   cairn/plan.h         what a run would do, and why
 *   cairn/run.h          run a workflow; cancel, undo, resolve; external tasks; a run
 *                        whose tasks another program carries out
 *   cairn/runs.h         past and live runs: tasks, attempts, output
 *   cairn/events.h       what happens in a run and in a store, to be followed
 *   cairn/checkpoint.h   list, get, verify, compare checkpoints; labels and notes
 *   cairn/session.h      debugging sessions, their checkpoints and settings; export
 *                        and import
 *   cairn/restore.h      restore, branch, merge, fork, bisect, recover
 *   cairn/board.h        what a session knows: hypotheses, evidence, notes, commands
 *   cairn/files.h        files of checkpoints; checkpoints after edits have settled
 *   cairn/message.h      messages of a session; agents' hooks; commands as hooks
 *   cairn/thread.h       states of agents' frameworks, by keys of their own
 *   cairn/search.h       search by text similarity in all that a store holds
 *   cairn/maintenance.h  delete, examine and repair; sizes and counts
 *
 * Conventions
 * - A function that can fail returns 0 or a negative CAIRN_E* code and fills the
 *   caller's `struct cairn_error` (may be NULL). On failure outputs are untouched.
 * - `cairn_X_free`/`cairn_X_close` accept NULL. Strings handed to a callback live
 *   until the callback returns; strings inside a `struct cairn_X_info` filled by a
 *   getter are arrays, so they live as long as the struct.
 * - A struct that the caller fills begins with `size`: sizeof of it, or 0 for that of
 *   version 0.1. A later version of the library adds members at the end and reads no
 *   more than `size` bytes, so programs need not be compiled again. An older library
 *   takes a longer struct if all that it does not know is 0, else CAIRN_EUSAGE. Those
 *   of an array have the size of the first. All other members may be 0.
 * - Text is UTF-8 where it comes from a workflow file; task output is bytes.
 * - Times are nanoseconds since 1970-01-01 UTC (`_ns`) or milliseconds (`_ms`).
 * - A list callback returns 0 to continue, anything else to stop early (no error).
 * - The library never exits, prints, installs signal handlers or reaps children
 *   that are not its own. Handles are not thread-safe; use one per thread.
 *   cairn_stop_request and cairn_attempt_finish may be called from any thread.
 */
#ifndef CAIRN_H
#define CAIRN_H

#include "cairn/board.h"
#include "cairn/checkpoint.h"
#include "cairn/error.h"
#include "cairn/events.h"
#include "cairn/files.h"
#include "cairn/maintenance.h"
#include "cairn/message.h"
#include "cairn/outcome.h"
#include "cairn/plan.h"
#include "cairn/restore.h"
#include "cairn/run.h"
#include "cairn/runs.h"
#include "cairn/search.h"
#include "cairn/session.h"
#include "cairn/store.h"
#include "cairn/thread.h"
#include "cairn/workflow.h"

#endif
