/* SPDX-License-Identifier: MIT */
#include "session/files_pending.h"

#include "base/decimal.h"
#include "base/lock.h"
#include "storage/rows_meta.h"
#include "storage/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* "1 SESSION BEFORE AFTER": snapshots, in hex */
static const char setting[] = "restore";
enum { VALUE_MAX = 24 + 2 * DIGEST_HEX_SIZE };

/* ---- Where the files are ---- */

int files_home(struct cairn_store *store, char **out, struct cairn_error *error)
{
    *out = realpath(cairn_store_path(store), NULL);
    if (!*out)
        return error_sys(error, errno, "the store %s", cairn_store_path(store));
    char *slash = strrchr(*out, '/');
    slash[slash == *out] = '\0';
    return 0;
}

/* A link that has come into its place leads elsewhere. */
static int check_root(const char *root, struct cairn_error *error)
{
    char *real = realpath(root, NULL);
    if (!real)
        return error_sys(error, errno,
                         "the directory %s, whose files belong to the "
                         "session",
                         root);
    bool same = strcmp(real, root) == 0;
    free(real);
    return same ? 0
                : error_set(error, CAIRN_EUSAGE,
                            "%s, whose files belong to the session, is another "
                            "directory now, by way of a link: `cairn session config "
                            "files DIR` names it anew",
                            root);
}

int files_root_path(struct cairn_store *store, struct str name, struct buf *out,
                    struct cairn_error *error)
{
    char *home = NULL;
    bool is_home = str_equal(name, STR("."));
    buf_clear(out);
    int rc = name.len && name.ptr[0] == '/' ? 0 : files_home(store, &home, error);
    if (!rc && home)
        buf_text(out, home);
    if (!rc && home && !is_home && out->size > 1)
        buf_byte(out, '/');
    if (!rc && !is_home)
        buf_str(out, name);
    free(home);
    if (!rc)
        rc = buf_check(out, error);
    return rc ? rc : check_root(out->data, error);
}

char *files_index_path(struct cairn_store *store, uint64_t session)
{
    struct buf path = BUF_INIT;
    buf_format(&path, "%s/files-%llu.index", cairn_store_path(store),
               (unsigned long long)session);
    if (!path.failed)
        return path.data; /* which is the caller's now */
    buf_release(&path);
    return NULL;
}

/* ---- One at a time ---- */

int pending_lock(struct cairn_store *store, struct cairn_error *error)
{
    int rc = lock_wait(store_lock_file(store), LOCK_RESTORE, LOCK_EXCLUSIVE,
                       2 * store_lock_wait_ms(store), error);
    if (rc == CAIRN_EBUSY)
        return error_set(error, rc,
                         "another process restores files of the store %s: try again",
                         cairn_store_path(store));
    if (!rc)
        rc = store_hold(store, LOCK_RESTORE, error);
    if (rc)
        lock_drop(store_lock_file(store), LOCK_RESTORE);
    return rc;
}

void pending_unlock(struct cairn_store *store)
{
    store_unhold(store, LOCK_RESTORE);
    lock_drop(store_lock_file(store), LOCK_RESTORE);
}

int pending_note(struct cairn_store *store, uint64_t session,
                 const struct digest *before, const struct digest *after,
                 struct cairn_error *error)
{
    char value[VALUE_MAX], from[DIGEST_HEX_SIZE], to[DIGEST_HEX_SIZE];
    digest_hex(before, from);
    digest_hex(after, to);
    snprintf(value, sizeof value, "1 %llu %s %s", (unsigned long long)session, from,
             to);
    return store_set_setting(store, setting, value, error);
}

int pending_carry_out(struct cairn_store *store, struct restore *restore,
                      struct cairn_error *error)
{
    int rc = restore_apply(restore);
    if (!rc)
        rc = store_begin(store, -1, error);
    if (!rc)
        rc = store_end(store, store_drop_setting(store, setting, error), error);
    return rc;
}

/* ---- Finishing ---- */

struct pending {
    uint64_t session;
    struct digest snapshots[2];
};

static bool digest_from_hex(const char *hex, struct digest *out)
{
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        unsigned byte;
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
            return false;
        out->bytes[i] = (uint8_t)byte;
    }
    return true;
}

static bool parse(const char *value, struct pending *out)
{
    unsigned long long session;
    char hex[2][DIGEST_HEX_SIZE];
    int end = 0;
    if (sscanf(value, "1 %llu %64[0-9a-f] %64[0-9a-f]%n", &session, hex[0], hex[1],
               &end) != 3 ||
        value[end] != '\0')
        return false;
    out->session = session;
    return digest_from_hex(hex[0], &out->snapshots[0]) &&
           digest_from_hex(hex[1], &out->snapshots[1]);
}

/* 1: there is one. */
static int read_pending(struct cairn_store *store, struct pending *out,
                        struct cairn_error *error)
{
    char value[VALUE_MAX];
    int rc = store_sound_setting(store, setting, value, sizeof value, error);
    if (rc <= 0)
        return rc;
    return parse(value, out)
               ? 1
               : error_set(error, CAIRN_EDAMAGED,
                           "what the store says of a restore of files is damaged: run "
                           "`cairn doctor`");
}

int pending_forget(struct cairn_store *store, uint64_t session,
                   struct cairn_error *error)
{
    struct pending pending;
    int rc = read_pending(store, &pending, NULL);
    if (rc == 0 || (rc > 0 && pending.session != session))
        return 0;
    return store_drop_setting(store, setting, error);
}

static int finish(struct cairn_store *store, const struct pending *pending,
                  struct cairn_error *error)
{
    struct snapshot_head heads[2];
    struct arena arena = ARENA_INIT;
    struct buf root = BUF_INIT;
    struct restore restore = {.fd = -1, .stage = -1};
    restore.parent.fd = -1;
    int rc = 0;
    for (int i = 0; i < 2 && !rc; i++)
        rc = snapshot_read(store, &pending->snapshots[i], &arena, &heads[i], error);
    if (!rc)
        rc = files_root_path(store, heads[0].root_name, &root, error);
    if (!rc)
        rc = restore_open(&restore, store, root.data, &heads[0].root, &heads[1].root,
                          error);
    if (!rc)
        rc = restore_prepare(&restore, true);
    if (!rc)
        rc = pending_carry_out(store, &restore, error);
    restore_close(&restore);
    buf_release(&root);
    arena_release(&arena);
    return rc;
}

/* What a process that is gone had written beside the files before it decided. */
static void clear_stage(struct cairn_store *store)
{
    struct buf path = BUF_INIT;
    buf_format(&path, "%s/" RESTORE_STAGE, cairn_store_path(store));
    if (!path.failed && access(path.data, F_OK) == 0 &&
        lock_try(store_lock_file(store), LOCK_RESTORE, LOCK_EXCLUSIVE, NULL) > 0) {
        restore_clear_stage(path.data);
        lock_drop(store_lock_file(store), LOCK_RESTORE);
    }
    buf_release(&path);
}

int pending_finish(struct cairn_store *store, bool locked, struct cairn_error *error)
{
    struct pending pending;
    if (!locked && store_holds(store, LOCK_RESTORE)) /* it is this handle's */
        return 0;
    int rc = read_pending(store, &pending, error);
    if (!rc && !locked)
        clear_stage(store);
    if (rc <= 0)
        return rc;
    rc = locked ? 0 : pending_lock(store, error);
    if (rc)
        return rc;
    rc = read_pending(store, &pending, error);
    if (rc > 0) {
        char *index = files_index_path(store, pending.session);
        if (index)
            unlink(index);
        free(index);
        rc = finish(store, &pending, error);
        if (rc)
            error_context(error,
                          "a restore of files that was begun is not finished (`cairn "
                          "session config files` gives it up)");
    }
    if (!locked)
        pending_unlock(store);
    return rc;
}
