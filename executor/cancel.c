/* Cancelling a run: its owner is asked, or it is marked where there is none. */
#include "base/clock.h"
#include "plan/open_run_view.h"
#include "process/keeper.h"
#include "process/live.h"
#include "process/spawn.h"
#include "runs/owner.h"
#include "runs/view.h"

static int ask_owner(struct cairn_store *store, uint64_t run, struct cairn_error *error)
{
    int result = store_begin(store, -1, error);
    if (result)
        return result;
    struct command_row command = {.run = run,
                                  .verb = COMMAND_CANCEL,
                                  .task = UINT32_MAX,
                                  .time_ns = clock_utc_ns()};
    result = store_put_command(store, &command, error);
    if (result)
        store_abort(store);
    else
        result = store_commit(store, error);
    if (!result)
        live_wake(store_live_dir(store), run);
    return result;
}

static int mark_cancelled(struct cairn_store *store, struct run_row *row,
                          struct cairn_error *error)
{
    int result = store_begin(store, -1, error);
    if (result)
        return result;
    row->state = CAIRN_RUN_CANCELLED;
    row->ended_ns = clock_utc_ns();
    result = store_set_run(store, row, error);
    if (result) {
        store_abort(store);
        return result;
    }
    return store_commit(store, error);
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
    struct view v;
    int result = view_open(&v, store, run, false, error);
    if (result)
        return result;
    result = v.row.state == CAIRN_RUN_UNFINISHED ? mark_cancelled(store, &v.row, error)
                                                 : refuse_ended(&v.row, error);
    view_release(&v);
    return result;
}

/* Tasks under keepers outlived their cairn; cancelling the run ends them, too. */
static int end_what_lives(struct cairn_store *store, uint64_t run,
                          struct cairn_error *error)
{
    enum { GRACE_MS = 10000 };
    struct leftovers left = {0};
    int result = keepers_stop(store_live_dir(store), store_id(store), run, error);
    if (!result)
        result = leftovers_end(store_live_dir(store), store_id(store), run, GRACE_MS,
                               &left, error);
    if (!result && left.survived)
        return error_set(error, CAIRN_EBUSY,
                         "%u processes of run %llu do not end; end them and cancel "
                         "again",
                         left.survived, (unsigned long long)run);
    return result;
}

int cairn_cancel(struct cairn_store *store, uint64_t run, struct cairn_error *error)
{
    struct view v;
    uint64_t workflow;
    int64_t offset;
    int result = view_open(&v, store, run, false, error);
    if (result)
        return result;
    if (v.row.state != CAIRN_RUN_UNFINISHED)
        result = refuse_ended(&v.row, error);
    if (!result)
        result = store_check_keyed(store, v.row.run, v.row.keyed, error);
    if (!result) {
        result = owner_acquire(store, v.row.workflow_name, &workflow, &offset, error);
        if (!result) {
            result = end_what_lives(store, v.row.run, error);
            if (!result)
                result = cancel_owned(store, v.row.run, error);
            owner_release(store, offset);
        } else if (result == CAIRN_EOWNED)
            result = ask_owner(store, v.row.run, error);
    }
    view_release(&v);
    return result;
}
