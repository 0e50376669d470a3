/* SPDX-License-Identifier: MIT */
/* Cancelling a run: its owner is asked, or it is marked where there is none. */
#include "base/clock.h"
#include "cairn/run.h"
#include "process/keeper.h"
#include "process/leftovers.h"
#include "process/live.h"
#include "runs/owner.h"
#include "runs/stored.h"
#include "runs/values.h"
#include "storage/rows_command.h"
#include "storage/rows_event.h"
#include "storage/rows_run.h"
#include "storage/store.h"

static int ask_owner(struct cairn_store *store, uint64_t run, struct cairn_error *error)
{
    int rc = store_begin(store, -1, error);
    if (rc)
        return rc;
    struct command_row command = {.run = run,
                                  .verb = COMMAND_CANCEL,
                                  .task = UINT32_MAX,
                                  .time_ns = clock_utc_ns()};
    rc = store_end(store, store_put_command(store, &command, error), error);
    if (!rc)
        live_wake(store_live_dir(store), run);
    return rc;
}

/* The owner of the workflow, which may be at another of its runs; or it does not say
 * yet, as it has just begun. */
static int ask_or_refuse(struct cairn_store *store, const struct run_row *row,
                         struct cairn_error *error)
{
    unsigned long long other = owner_run(store, row->workflow);
    if (!other || other == row->run)
        return ask_owner(store, row->run, error);
    return error_set(
        error, CAIRN_EOWNED,
        "run %llu has no owner, and cannot be marked cancelled while run "
        "%llu of its workflow is live\nwait for that one with `cairn watch "
        "%llu`, or end it with `cairn cancel %llu`",
        (unsigned long long)row->run, other, other, other);
}

/* As an owner records it. */
static int put_events(struct cairn_store *store, const struct run_row *row,
                      struct cairn_error *error)
{
    struct event_row event = {.run = row->run,
                              .time_ns = row->ended_ns,
                              .gen = row->gen,
                              .task = UINT32_MAX,
                              .kind = EVENT_COMMAND,
                              .argument = COMMAND_CANCEL,
                              .data = STR("no cairn carried it out")};
    int rc = store_next_turn(store, row->run, &event.turn, error);
    if (!rc)
        rc = store_put_event(store, &event, error);
    event.kind = EVENT_ENDED;
    event.argument = row->state;
    event.data = STR("");
    return rc ? rc : store_put_event(store, &event, error);
}

static int mark_cancelled(struct cairn_store *store, struct run_row *row,
                          struct cairn_error *error)
{
    int rc = store_begin(store, -1, error);
    if (rc)
        return rc;
    row->state = CAIRN_RUN_CANCELLED;
    row->ended_ns = clock_utc_ns();
    rc = store_set_run(store, row, error);
    if (!rc)
        rc = put_events(store, row, error);
    return store_end(store, rc, error);
}

static int refuse_ended(const struct run_row *row, struct cairn_error *error)
{
    return error_set(error, CAIRN_EUSAGE, "run %llu has %s already",
                     (unsigned long long)row->run, cairn_run_state_name(row->state));
}

/* The row is read again now that nobody else can change it: the run may have ended, or
 * gone on with another definition, in the meantime. */
static int cancel_owned(struct cairn_store *store, uint64_t run,
                        struct cairn_error *error)
{
    struct stored_run stored;
    int rc = stored_run_open(&stored, store, run, false, error);
    if (rc)
        return rc;
    rc = stored.row.state == CAIRN_RUN_UNFINISHED
             ? mark_cancelled(store, &stored.row, error)
             : refuse_ended(&stored.row, error);
    stored_run_release(&stored);
    return rc;
}

/* Also tasks under keepers, which outlived their cairn. */
static int end_processes(struct cairn_store *store, uint64_t run,
                         struct cairn_error *error)
{
    enum { GRACE_MS = 10000 };
    struct leftovers left = {0};
    int rc =
        keepers_stop(store_live_dir(store), store_id(store), run, NULL, NULL, error);
    if (!rc)
        rc = leftovers_end(store_live_dir(store), store_id(store), run, GRACE_MS, &left,
                           error);
    if (!rc && left.survived)
        return error_set(error, CAIRN_EBUSY,
                         "%u processes of run %llu do not end; end them and cancel "
                         "again",
                         left.survived, (unsigned long long)run);
    return rc;
}

static int cancel_unowned(struct cairn_store *store, const struct run_row *row,
                          struct cairn_error *error)
{
    int rc = end_processes(store, row->run, error);
    if (!rc)
        rc = cancel_owned(store, row->run, error);
    if (!rc)
        live_values_remove(store, row);
    return rc;
}

int cairn_cancel_run(struct cairn_store *store, uint64_t run,
                     enum cairn_cancelling *how, struct cairn_error *error)
{
    struct stored_run stored;
    uint64_t workflow;
    int64_t offset;
    enum cairn_cancelling done = CAIRN_CANCEL_ASKED;
    int rc = stored_run_open(&stored, store, run, false, error);
    if (rc)
        return rc;
    if (stored.row.state != CAIRN_RUN_UNFINISHED)
        rc = refuse_ended(&stored.row, error);
    if (!rc)
        rc = store_check_keyed(store, stored.row.run, stored.row.keyed, error);
    if (!rc) {
        rc = owner_acquire(store, stored.row.workflow_name, &workflow, &offset, error);
        if (!rc) {
            done = CAIRN_CANCEL_MARKED;
            rc = cancel_unowned(store, &stored.row, error);
            owner_release(store, offset);
        } else if (rc == CAIRN_EOWNED)
            rc = ask_or_refuse(store, &stored.row, error);
    }
    stored_run_release(&stored);
    if (!rc && how)
        *how = done;
    return rc;
}

int cairn_cancel(struct cairn_store *store, uint64_t run, struct cairn_error *error)
{
    return cairn_cancel_run(store, run, NULL, error);
}
