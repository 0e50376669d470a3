/* SPDX-License-Identifier: MIT */
/* The lock decides; the names in the run row only show people who holds it. An owner
 * has the lock first and writes its name down later, when what the last one left has
 * ended. So the name counts only while that process lives. */
#include "runs/owner.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/os.h"
#include "cairn/outcome.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
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
    bool gone;  /* it has ended: the lock is held by somebody else */
    bool works; /* the run has not ended */
};

/* Where an owner's number is that of a process: the id of the boot, and behind a dot
 * the PID namespace. An older cairn noted the boot alone. */
static void describe_here(char out[60])
{
    os_boot_id(out);
    size_t n = strlen(out);
    snprintf(out + n, 60 - n, ".%" PRIu64, os_pid_namespace());
}

enum sight { OWNER_LIVES, OWNER_GONE, OWNER_HIDDEN };

/* What can be seen of it from here. A container shares the boot, but not the numbers.
 */
static enum sight look_for_owner(const struct run_row *row)
{
    char here[60];
    describe_here(here);
    size_t boot = strcspn(here, "."), len = row->owner_boot.len;
    if (!os_pid_namespace() || len < boot ||
        memcmp(row->owner_boot.ptr, here, boot) != 0)
        return OWNER_HIDDEN;
    if (len != boot && !str_equal(row->owner_boot, str_of(here)))
        return OWNER_HIDDEN;
    return os_process_start((pid_t)row->owner_pid) == row->owner_start ? OWNER_LIVES
                                                                       : OWNER_GONE;
}

static bool is_of_boot(const struct run_row *row)
{
    char boot[37];
    os_boot_id(boot);
    return row->owner_boot.len >= strlen(boot) &&
           memcmp(row->owner_boot.ptr, boot, strlen(boot)) == 0;
}

/* Processes of another host cannot be examined from here. */
static bool is_gone(const struct run_row *row, const char *host)
{
    char here[64];
    os_host_name(here);
    return strcmp(here, host) == 0 &&
           (!is_of_boot(row) || look_for_owner(row) == OWNER_GONE);
}

/* The newest run, unless somebody is seen to work on an earlier one. */
static bool is_holder(const struct holder *so_far, const struct run_row *row)
{
    return !so_far->run || (row->state == CAIRN_RUN_UNFINISHED &&
                            (so_far->gone || row->owner_since_ns > so_far->since_ns) &&
                            look_for_owner(row) == OWNER_LIVES);
}

static int note_holder(void *context, const struct run_row *row)
{
    struct holder *holder = context;
    if (!is_holder(holder, row))
        return 0;
    *holder = (struct holder){.run = row->run,
                              .pid = row->owner_pid,
                              .since_ns = row->owner_since_ns,
                              .works = row->state == CAIRN_RUN_UNFINISHED};
    snprintf(holder->host, sizeof holder->host, "%.*s", (int)row->owner_host.len,
             row->owner_host.ptr ? row->owner_host.ptr : "");
    holder->gone = is_gone(row, holder->host);
    return 0;
}

static struct holder find_holder(struct cairn_store *store, uint64_t workflow)
{
    struct holder holder = {0};
    enum { RUNS_MOST = 1000 }; /* not more with every run that there ever was */
    struct run_filter filter = {.workflow = workflow, .limit = RUNS_MOST};
    store_each_run(store, &filter, note_holder, &holder, NULL);
    return holder;
}

static int refuse_owned(const struct holder *holder, struct str workflow,
                        struct cairn_error *error)
{
    char since[32] = "?";
    struct tm tm;
    time_t seconds = (time_t)(holder->since_ns / 1000000000);
    if (holder->pid && localtime_r(&seconds, &tm))
        strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S", &tm);
    if (!holder->pid || holder->gone)
        return error_set(error, CAIRN_EOWNED,
                         "workflow `%.*s` is just being started by another process; "
                         "look with `cairn status`",
                         (int)workflow.len, workflow.ptr);
    return error_set(error, CAIRN_EOWNED,
                     "workflow `%.*s` is owned by process %lld on %s since %s (run "
                     "%llu)\nwatch it with `cairn watch %llu`, or end it with `cairn "
                     "cancel %llu`",
                     (int)workflow.len, workflow.ptr, (long long)holder->pid,
                     holder->host, since, (unsigned long long)holder->run,
                     (unsigned long long)holder->run, (unsigned long long)holder->run);
}

/* Takes the lock, or finds out who has it. */
static int lock_or_name(struct cairn_store *store, struct str workflow, uint64_t id,
                        struct cairn_error *error)
{
    /* A child that a killed owner was just making holds a copy of its descriptors, and
     * so the lock, until the kernel has ended it, too. And somebody who has the lock
     * may take so long to end what is left of the run before it writes its name, or,
     * with another workflow to run, before it lets go of the lock again. */
    enum { HEAL_MS = 300, NAME_MS = 8000 };
    int64_t until = clock_mono_ns() + (int64_t)NAME_MS * 1000000;
    for (;;) {
        int rc = lock_wait(store_lock_file(store), offset_of(id), LOCK_EXCLUSIVE,
                           HEAL_MS, error);
        if (rc != CAIRN_EBUSY)
            return rc;
        struct holder holder = find_holder(store, id);
        if ((holder.pid && !holder.gone) || clock_mono_ns() > until)
            return refuse_owned(&holder, workflow, error);
    }
}

static int find_or_make(struct cairn_store *store, struct str workflow, uint64_t *id,
                        struct cairn_error *error)
{
    struct cairn_error local = {0};
    int rc = store_workflow_id(store, workflow, false, id, &local);
    if (rc != CAIRN_ENOTFOUND) {
        if (rc && error)
            *error = local;
        return rc;
    }
    rc = store_begin(store, -1, error);
    if (rc)
        return rc;
    rc = store_workflow_id(store, workflow, true, id, error);
    return store_end(store, rc, error);
}

int owner_acquire(struct cairn_store *store, struct str workflow, uint64_t *workflow_id,
                  int64_t *offset, struct cairn_error *error)
{
    uint64_t id;
    int rc = find_or_make(store, workflow, &id, error);
    if (rc)
        return rc;
    if (store_holds(store, offset_of(id))) {
        struct holder holder = find_holder(store, id);
        return refuse_owned(&holder, workflow, error);
    }
    rc = lock_or_name(store, workflow, id, error)
             ?: store_hold(store, offset_of(id), error);
    if (rc)
        return rc;
    *workflow_id = id;
    *offset = offset_of(id);
    return 0;
}

int owner_try(struct cairn_store *store, uint64_t workflow_id, int64_t *offset,
              struct cairn_error *error)
{
    int64_t at = offset_of(workflow_id);
    if (store_holds(store, at))
        return 0;
    int got = lock_try(store_lock_file(store), at, LOCK_EXCLUSIVE, error);
    if (got <= 0)
        return got;
    int rc = store_hold(store, at, error);
    if (rc) {
        lock_drop(store_lock_file(store), at);
        return rc;
    }
    *offset = at;
    return 1;
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
    describe_here(text->boot);
    row->owner_pid = getpid();
    row->owner_start = os_process_start(getpid());
    row->owner_host = str_of(text->host);
    row->owner_boot = str_of(text->boot);
    row->owner_since_ns = clock_utc_ns();
}

uint64_t owner_run(struct cairn_store *store, uint64_t workflow_id)
{
    struct holder holder = find_holder(store, workflow_id);
    return holder.works && !holder.gone ? holder.run : 0;
}

/* The lock says that somebody owns the workflow; the recorded owner says which of its
 * runs that is. */
int run_live(struct cairn_store *store, const struct run_row *row,
             struct cairn_error *error)
{
    if (row->state != CAIRN_RUN_UNFINISHED)
        return 0;
    int held = owner_live(store, row->workflow, error);
    if (held <= 0)
        return held;
    /* Another machine or container cannot be looked at from here: its lock can. */
    return look_for_owner(row) != OWNER_GONE;
}
