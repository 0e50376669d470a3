/* SPDX-License-Identifier: MIT
 *
 * cairn: run a graph of tasks and record a durable, checksummed checkpoint after every
 * task. This header includes all of the library; each header in cairn/ can also be used
 * alone.
 *
 *   cairn/error.h       error codes, struct cairn_error, the version
 *   cairn/outcome.h     how a task ended, and how a run did
 *   cairn/store.h       open and close a store
 *   cairn/workflow.h    load a workflow file, or build a workflow in memory
 *   cairn/run.h         run a workflow; cancel, undo and resolve what a run did
 *   cairn/plan.h        what a run would do, and why
 *   cairn/runs.h        past and live runs: tasks, attempts, output, audit log
 *   cairn/shell.h       what the process of an attempt was given
 *   cairn/external.h    tasks that a person or another program carries out
 *   cairn/checkpoint.h  list, get, verify, compare checkpoints
 *   cairn/annotation.h  labels and notes of checkpoints
 *   cairn/gc.h          delete checkpoints, runs, content
 *   cairn/recorder.h    checkpoints for programs that run their tasks themselves
 *   cairn/session.h     debugging sessions and their checkpoints
 *   cairn/restore.h     going back to a checkpoint of a session, and forward again
 *   cairn/branch.h      branches of sessions
 *   cairn/board.h       what a session knows: hypotheses, evidence, beliefs, notes
 *   cairn/watch.h       checkpoints after edits of files have settled
 *   cairn/message.h     what a person, an agent and its tools said in a session
 *   cairn/agent.h       agents whose hooks tell a session what they do
 *   cairn/context.h     what an agent needs to go on, kept with a checkpoint
 *   cairn/history.h     lines of checkpoints: bisecting, copying, recovering
 *   cairn/size.h        what takes room in the store, of one session
 *   cairn/stats.h       counts, sizes and durations of what a store holds
 *   cairn/transfer.h    sessions in a file, to be taken to another store
 *   cairn/repair.h      examine a store, and repair a damaged one
 *
 * Conventions
 * - A function that can fail returns 0 or a negative CAIRN_E* code and fills the
 *   caller's `struct cairn_error` (may be NULL). On failure outputs are untouched.
 * - `cairn_X_free`/`cairn_X_close` accept NULL. Strings handed to a callback live
 *   until the callback returns; strings inside a `struct cairn_X_info` filled by a
 *   getter are arrays, so they live as long as the struct.
 * - Text is UTF-8 where it comes from a workflow file; task output is bytes.
 * - Times are nanoseconds since 1970-01-01 UTC (`_ns`) or milliseconds (`_ms`).
 * - A list callback returns 0 to continue, anything else to stop early (no error).
 * - The library never exits, prints, installs signal handlers or reaps children
 *   that are not its own. Handles are not thread-safe; use one per thread.
 *   cairn_stop_request and cairn_attempt_finish may be called from any thread.
 */
#ifndef CAIRN_H
#define CAIRN_H

#include "cairn/agent.h"
#include "cairn/annotation.h"
#include "cairn/board.h"
#include "cairn/branch.h"
#include "cairn/checkpoint.h"
#include "cairn/command.h"
#include "cairn/context.h"
#include "cairn/environment.h"
#include "cairn/error.h"
#include "cairn/external.h"
#include "cairn/feed.h"
#include "cairn/files.h"
#include "cairn/gc.h"
#include "cairn/history.h"
#include "cairn/hook.h"
#include "cairn/message.h"
#include "cairn/outcome.h"
#include "cairn/plan.h"
#include "cairn/recorder.h"
#include "cairn/repair.h"
#include "cairn/restore.h"
#include "cairn/run.h"
#include "cairn/runs.h"
#include "cairn/search.h"
#include "cairn/session.h"
#include "cairn/shell.h"
#include "cairn/size.h"
#include "cairn/stats.h"
#include "cairn/store.h"
#include "cairn/transfer.h"
#include "cairn/watch.h"
#include "cairn/workflow.h"

#endif
