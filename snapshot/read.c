/* SPDX-License-Identifier: MIT */
/* Snapshots out of the pool. */
#include "base/reader.h"
#include "checkpoint/nodes/nodes.h"
#include "snapshot/snapshot.h"
#include "storage/object.h"
#include "storage/rows_lost.h"

int snapshot_missing(struct cairn_store *store, const struct digest *digest,
                     const char *what, struct cairn_error *error)
{
    char hex[DIGEST_HEX_SIZE];
    bool known = false;
    digest_hex(digest, hex);
    int rc = store_is_known_loss(store, hex, &known, error);
    if (rc)
        return rc;
    return error_set(error, CAIRN_EDAMAGED,
                     known ? "%s could not be saved by a repair: `cairn checkpoint "
                             "verify` names each checkpoint that lacks something, and "
                             "`cairn checkpoint cat ID FILE` prints a file that is left"
                           : "%s is missing: run `cairn doctor`",
                     what);
}

static int read_object(struct cairn_store *store, const struct digest *digest,
                       struct arena *arena, struct str *out, struct cairn_error *error)
{
    struct buf content = BUF_INIT;
    int rc = store_get_object(store, digest, &content, error);
    if (rc == CAIRN_ENOTFOUND)
        rc = snapshot_missing(store, digest, "a part of the snapshot of files", error);
    *out = rc ? STR("") : arena_str(arena, buf_view(&content));
    buf_release(&content);
    return !rc && arena->failed ? error_nomem(error) : rc;
}

int snapshot_read(struct cairn_store *store, const struct digest *digest,
                  struct arena *arena, struct snapshot_head *out,
                  struct cairn_error *error)
{
    struct str content;
    struct node node;
    int rc = read_object(store, digest, arena, &content, error);
    if (!rc)
        rc = node_decode(content, &node, error);
    if (rc)
        return rc;
    struct reader in = reader_of(node.body.ptr, node.body.len);
    bool good = read_byte(&in) == 1;
    *out = (struct snapshot_head){.root_name = read_lstr(&in)};
    out->counts.files = read_varint(&in);
    out->counts.directories = read_varint(&in);
    out->counts.links = read_varint(&in);
    out->counts.left_out = read_varint(&in);
    out->counts.bytes = read_varint(&in);
    good = good && reader_done(&in) && node_count(node.nodes) == 1 && !node.leaves.len;
    if (!good)
        return error_set(error, CAIRN_EDAMAGED, "it is not a snapshot of files");
    out->root = node_digest(node.nodes, 0);
    return 0;
}

int snapshot_read_tree(struct cairn_store *store, const struct digest *digest,
                       struct arena *arena, struct tree *out, struct cairn_error *error)
{
    struct str content;
    int rc = read_object(store, digest, arena, &content, error);
    return rc ? rc : tree_decode(arena, content, out, error);
}

int snapshot_read_chunks(struct cairn_store *store, const struct digest *digest,
                         struct arena *arena, struct chunk_list *out,
                         struct cairn_error *error)
{
    struct str content;
    int rc = read_object(store, digest, arena, &content, error);
    return rc ? rc : chunk_list_decode(arena, content, out, error);
}
