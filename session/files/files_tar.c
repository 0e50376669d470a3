/* SPDX-License-Identifier: MIT */
/* The files of a checkpoint as an archive. */
#include "session/files/files_int.h"
#include "snapshot/tar.h"

struct writing {
    struct files_reading r;
    int (*write)(void *, const char *, size_t);
    void *context;
    struct buf header;
};

static int give(struct writing *w, struct str bytes)
{
    return bytes.len && w->write(w->context, bytes.ptr, bytes.len) ? 1 : 0;
}

static int give_part(void *context, struct str part)
{
    return give(context, part);
}

static int give_zeros(struct writing *w, size_t n)
{
    static const char zeros[TAR_END];
    return give(w, (struct str){zeros, n});
}

static int write_entry(void *context, struct str path, const struct tree_entry *entry)
{
    struct writing *w = context;
    struct tar_entry tar = {.path = path,
                            .mode = entry->mode,
                            .mtime_ns = entry->mtime_ns,
                            .kind = TAR_FILE};
    if (entry->kind == TREE_LEFT_OUT)
        return 0;
    if (entry->kind == TREE_DIRECTORY) {
        tar.kind = TAR_DIRECTORY;
    } else if (entry->kind == TREE_LINK) {
        tar.kind = TAR_LINK;
        tar.target = entry->target;
        tar.mode = 0777;
        tar.mtime_ns = w->r.time_ns;
    } else {
        tar.size = entry->size;
    }
    buf_clear(&w->header);
    tar_header(&w->header, &tar);
    int rc = buf_check(&w->header, w->r.error);
    if (!rc)
        rc = give(w, buf_view(&w->header));
    if (rc || tar.kind != TAR_FILE)
        return rc;
    rc = snapshot_content(w->r.live.store, entry, give_part, w, w->r.error);
    if (rc == CAIRN_EDAMAGED)
        error_context(w->r.error, "%.200s", path.ptr);
    return rc ? rc : give_zeros(w, tar_padding(entry->size));
}

int cairn_files_tar(struct cairn_store *store, const char *id,
                    int (*write)(void *, const char *bytes, size_t n), void *context,
                    struct cairn_files_summary *summary, struct cairn_error *error)
{
    struct writing w = {.write = write, .context = context};
    int rc = files_open(&w.r, store, id, error);
    if (!rc && summary)
        *summary = files_summary(&w.r);
    if (!rc)
        rc = snapshot_each(store, &w.r.head.root, write_entry, &w, error);
    if (!rc)
        rc = give_zeros(&w, TAR_END);
    buf_release(&w.header);
    return files_close(&w.r, rc < 0 ? rc : 0);
}
