/* The lock decides; the names in the run row only tell people who holds it. */
#include "executor/owner.h"

#include "base/clock.h"

#include <time.h>
#include <unistd.h>

static int64_t offset_of(uint64_t workflow_id)
{
    return LOCK_WORKFLOW + (int64_t)workflow_id;
}

struct holder {
    uint64_t run;
    int64_t pid, since_ns;
    char host[64];
};

static int note_holder(void *context, const struct run_row *row)
{
    struct holder *holder = context;
    *holder = (struct holder){
        .run = row->run, .pid = row->owner_pid, .since_ns = row->owner_since_ns};
    snprintf(holder->host, sizeof holder->host, "%.*s", (int)row->owner_host.len,
             row->owner_host.ptr ? row->owner_host.ptr : "");
    return 0;
}

static int owned(struct cairn_store *store, struct str workflow, uint64_t id,
                 struct cairn_error *error)
{
    struct holder holder = {0};
    struct run_filter filter = {.workflow = id, .limit = 1};
    char since[32] = "?";
    struct tm tm;
    store_each_run(store, &filter, note_holder, &holder, NULL);
    time_t seconds = (time_t)(holder.since_ns / 1000000000);
    if (holder.pid && localtime_r(&seconds, &tm))
        strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S", &tm);
    if (!holder.pid)
        return error_set(error, CAIRN_EOWNED,
                         "workflow `%.*s` is just being started by another process; "
                         "look with `cairn status`",
                         (int)workflow.len, workflow.ptr);
    return error_set(error, CAIRN_EOWNED,
                     "workflow `%.*s` is owned by process %lld on %s since %s (run "
                     "%llu)\nwatch it with `cairn watch %llu`, or end it with `cairn "
                     "cancel %llu`",
                     (int)workflow.len, workflow.ptr, (long long)holder.pid,
                     holder.host, since, (unsigned long long)holder.run,
                     (unsigned long long)holder.run, (unsigned long long)holder.run);
}

static int find_or_make(struct cairn_store *store, struct str workflow, uint64_t *id,
                        struct cairn_error *error)
{
    struct cairn_error local = {0};
    int result = store_workflow_id(store, workflow, false, id, &local);
    if (result != CAIRN_ENOTFOUND) {
        if (result && error)
            *error = local;
        return result;
    }
    result = store_begin(store, -1, error);
    if (result)
        return result;
    result = store_workflow_id(store, workflow, true, id, error);
    if (result) {
        store_abort(store);
        return result;
    }
    return store_commit(store, error);
}

int owner_acquire(struct cairn_store *store, struct str workflow, uint64_t *workflow_id,
                  int64_t *offset, struct cairn_error *error)
{
    uint64_t id;
    int result = find_or_make(store, workflow, &id, error);
    if (result)
        return result;
    if (store_holds(store, offset_of(id)))
        return owned(store, workflow, id, error);
    /* A child that a killed owner was just making holds a copy of its descriptors, and
     * so the lock, until the kernel has ended it, too. */
    enum { HEAL_MS = 300 };
    result = lock_wait(store_lock_file(store), offset_of(id), LOCK_EXCLUSIVE, HEAL_MS,
                       error);
    if (result == CAIRN_EBUSY)
        return owned(store, workflow, id, error);
    if (!result)
        result = store_hold(store, offset_of(id), error);
    if (result)
        return result;
    *workflow_id = id;
    *offset = offset_of(id);
    return 0;
}

void owner_release(struct cairn_store *store, int64_t offset)
{
    store_unhold(store, offset);
    lock_drop(store_lock_file(store), offset);
}

int owner_live(struct cairn_store *store, uint64_t workflow_id,
               struct cairn_error *error)
{
    if (store_holds(store, offset_of(workflow_id)))
        return 1;
    return lock_held(store_lock_file(store), offset_of(workflow_id), error);
}

void owner_describe(struct run_row *row, struct owner_text *text)
{
    os_host_name(text->host);
    os_boot_id(text->boot);
    row->owner_pid = getpid();
    row->owner_start = os_process_start(getpid());
    row->owner_host = str_of(text->host);
    row->owner_boot = str_of(text->boot);
    row->owner_since_ns = clock_utc_ns();
}

/* The lock tells that somebody owns the workflow; which of
 * its runs that is, the recorded owner tells. */
int run_live(struct cairn_store *store, const struct run_row *row,
             struct cairn_error *error)
{
    char boot[37];
    if (row->state != CAIRN_RUN_UNFINISHED)
        return 0;
    int held = owner_live(store, row->workflow, error);
    if (held <= 0)
        return held;
    os_boot_id(boot);
    if (!str_equal(row->owner_boot, str_of(boot)))
        return 1; /* another machine or container: cannot be looked at from here */
    return os_process_start((pid_t)row->owner_pid) == row->owner_start;
}
