/* SPDX-License-Identifier: MIT */
/* Opening a damaged store for repair: its locks, and files that are in their place. */
#include "storage/rescue/rescue_int.h"

#include "base/clock.h"
#include "base/lock.h"
#include "storage/health.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum { OWNER_WAIT_MS = 300, WRITERS_WAIT_MS = 5000 };

/* ---- Locks ---- */

struct live_owner {
    int64_t workflow;
    uint64_t run;
    long long pid, since_ns;
    char host[64];
};

static int note_live(void *context, const struct salvage_row *row)
{
    enum { RUN = 0, WORKFLOW = 1, OWNER_PID = 13, OWNER_HOST = 15, OWNER_SINCE = 17 };
    struct live_owner *live = context;
    const struct sql_value *v = row->values;
    if (v[WORKFLOW].integer != live->workflow || (uint64_t)v[RUN].integer < live->run)
        return 0;
    live->run = (uint64_t)v[RUN].integer;
    live->pid = v[OWNER_PID].integer;
    live->since_ns = v[OWNER_SINCE].integer;
    struct str host = v[OWNER_HOST].bytes;
    snprintf(live->host, sizeof live->host, "%.*s",
             (int)(host.len < 63 ? host.len : 63), host.len ? host.ptr : "");
    return 0;
}

/* Names the owner if the row of the run can still be read. */
static int refuse_live_run(struct rescue *rescue, int64_t offset,
                           struct cairn_error *error)
{
    assert(offset >= LOCK_WORKFLOW);
    struct live_owner live = {.workflow = offset - LOCK_WORKFLOW};
    struct pages pages;
    struct salvage salvage;
    if (pages_load(&pages, rescue->paths.db, rescue->paths.wal, NULL) == 0) {
        if (salvage_open(&salvage, &pages, NULL) == 0) {
            salvage_reached(&salvage, SALVAGE_RUN, note_live, &live, NULL);
            salvage_close(&salvage);
        }
        pages_release(&pages);
    }
    if (!live.run)
        return error_set(error, CAIRN_EOWNED,
                         "a run is live in the store %s: let it end, then repair",
                         rescue->paths.dir);
    return error_set(
        error, CAIRN_EOWNED,
        "run %llu is live, owned by process %lld on %s: let it end, or end "
        "it with `cairn cancel %llu`, then repair",
        (unsigned long long)live.run, live.pid, live.host,
        (unsigned long long)live.run);
}

/* A child that a killed owner had just forked holds its lock for a moment. */
static int check_owners(struct rescue *rescue, struct cairn_error *error)
{
    assert(rescue->lock.fd >= 0);
    int64_t end = clock_mono_ns() + (int64_t)OWNER_WAIT_MS * 1000000, where = 0;
    for (;;) {
        int held = lock_held_from(&rescue->lock, LOCK_WORKFLOW, &where, error);
        if (held <= 0)
            return held;
        if (clock_mono_ns() >= end)
            return refuse_live_run(rescue, where, error);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
}

static int take_locks(struct rescue *rescue, struct cairn_error *error)
{
    assert(!rescue->locked);
    int rc = check_owners(rescue, error);
    if (!rc)
        rc = lock_wait(&rescue->lock, LOCK_COMMIT, LOCK_EXCLUSIVE, WRITERS_WAIT_MS,
                       error);
    if (!rc)
        rc = lock_wait(&rescue->lock, LOCK_WRITERS, LOCK_EXCLUSIVE, WRITERS_WAIT_MS,
                       error);
    if (rc == CAIRN_EBUSY)
        return error_set(error, CAIRN_EBUSY,
                         "another process has the store %s open for writing: let it "
                         "end, then repair",
                         rescue->paths.dir);
    if (!rc)
        rc = check_owners(rescue, error);
    rescue->locked = rc == 0;
    return rc;
}

/* ---- Opening and closing ---- */

/* Renames whatever has the name of our file or directory and is something else; the new
 * name is appended to `renamed`. */
static int put_aside(const struct rescue *rescue, const char *name, mode_t kind,
                     char renamed[RESCUE_ASIDE], struct cairn_error *error)
{
    assert(kind == S_IFREG || kind == S_IFDIR);
    int (*look)(const char *, struct stat *) = kind == S_IFDIR ? stat : lstat;
    struct stat st;
    char odd[48];
    size_t n = strlen(renamed);
    snprintf(odd, sizeof odd, "odd-%s-%lld", name, (long long)(clock_utc_ns() / 1000));
    char *path = store_path_join(rescue->paths.dir, name);
    char *aside = store_path_join(rescue->paths.dir, odd);
    int rc = path && aside ? 0 : error_nomem(error);
    bool fine = rc || lstat(path, &st) < 0 ||
                (look(path, &st) == 0 && (st.st_mode & S_IFMT) == kind);
    if (!fine && rename(path, aside) < 0)
        rc = error_sys(error, errno, "cannot move %s out of the way", path);
    else if (!fine)
        snprintf(renamed + n, RESCUE_ASIDE - n, "%s%s", n ? " " : "", odd);
    free(path);
    free(aside);
    return rc;
}

static int find_paths(struct rescue *rescue, const char *path,
                      struct cairn_error *error)
{
    assert(!rescue->new_dir);
    struct cairn_store_options options = {.path = path};
    int rc = store_paths_find(&rescue->paths, &options, error);
    if (rc)
        return rc;
    rescue->new_dir = store_path_join(rescue->paths.dir, RESCUE_NEW);
    rescue->note = store_path_join(rescue->paths.dir, STORE_NOTE);
    rescue->new_db =
        rescue->new_dir ? store_path_join(rescue->new_dir, "cairn.db") : NULL;
    return rescue->new_db && rescue->note ? 0 : error_nomem(error);
}

int rescue_open(struct rescue **out, const char *path, char finished[64],
                char aside[RESCUE_ASIDE], struct cairn_error *error)
{
    struct rescue *rescue = calloc(1, sizeof *rescue);
    char kept[64] = "";
    aside[0] = 0;
    if (!rescue)
        return error_nomem(error);
    rescue->lock.fd = -1;
    int rc = find_paths(rescue, path, error);
    if (!rc)
        rc = put_aside(rescue, "lock", S_IFREG, aside, error);
    if (!rc)
        rc = put_aside(rescue, "live", S_IFDIR, aside, error); /* of live output */
    if (!rc)
        rc = lock_open(&rescue->lock, rescue->paths.lock, error);
    if (!rc)
        rc = take_locks(rescue, error);
    if (!rc)
        rc = rescue_go_on(rescue, kept, error);
    if (rc) {
        rescue_close(rescue);
        return rc;
    }
    if (finished)
        snprintf(finished, 64, "%s", kept);
    *out = rescue;
    return 0;
}

bool rescue_log_is_lost(const struct rescue *rescue)
{
    return store_judge_log(&rescue->paths) == LOG_LOST;
}

bool rescue_is_unmade(const struct rescue *rescue)
{
    return store_file(rescue->paths.db, NULL, NULL, NULL) > 0;
}

void rescue_close(struct rescue *rescue)
{
    if (!rescue)
        return;
    salvage_close(&rescue->salvage);
    pages_release(&rescue->pages);
    cairn_store_close(rescue->store);
    /* While the note exists, only the new store is whole. */
    if (rescue->locked && store_file(rescue->note, NULL, NULL, NULL) == 0)
        rescue_remove_new(rescue);
    lock_close(&rescue->lock);
    store_paths_release(&rescue->paths);
    free(rescue->new_dir);
    free(rescue->new_db);
    free(rescue->note);
    free(rescue);
}

struct cairn_store *rescue_store(struct rescue *rescue)
{
    return rescue->store;
}

const char *rescue_dir(const struct rescue *rescue)
{
    assert(rescue->paths.dir);
    return rescue->paths.dir;
}

const char *rescue_new_dir(const struct rescue *rescue)
{
    assert(rescue->new_dir);
    return rescue->new_dir;
}
