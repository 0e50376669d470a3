/* SPDX-License-Identifier: MIT */
/* Values of channels in the pool: small ones as one object, large ones in chunks, so
 * that a change of a large one stores few of them. */
#include "session/thread/thread_int.h"

#include "checkpoint/nodes/nodes.h"
#include "snapshot/content.h"
#include "storage/object.h"

enum { CHUNKED_BYTES = CHUNK_USUAL };

/* A node whose leaves are the chunks, and whose body is varint bytes. */
static int put_chunks(struct cairn_store *store, struct str bytes, struct digest *out,
                      struct cairn_error *error)
{
    struct buf leaves = BUF_INIT, body = BUF_INIT, node = BUF_INIT;
    int rc = 0;
    buf_varint(&body, bytes.len);
    while (bytes.len && !rc) {
        struct digest digest;
        struct str chunk = {bytes.ptr, chunk_cut(bytes)};
        rc = store_put_object(store, chunk, &digest, error);
        if (!rc)
            buf_add(&leaves, digest.bytes, DIGEST_SIZE);
        bytes = (struct str){bytes.ptr + chunk.len, bytes.len - chunk.len};
    }
    node_encode(STR(""), buf_view(&leaves), buf_view(&body), &node);
    rc = rc ?: buf_check(&leaves, error) ?: buf_check(&body, error);
    rc = rc ?: buf_check(&node, error)
             ?: store_put_object(store, buf_view(&node), out, error);
    buf_release(&leaves);
    buf_release(&body);
    buf_release(&node);
    return rc;
}

int thread_value_put(struct cairn_store *store, struct str bytes, size_t within,
                     const struct thread_value *before, struct thread_value *out,
                     struct cairn_error *error)
{
    *out = (struct thread_value){.bytes = bytes};
    if (bytes.len <= within)
        return 0;
    *out = (struct thread_value){.pooled = true, .is_node = bytes.len > CHUNKED_BYTES};
    if (out->is_node)
        return put_chunks(store, bytes, &out->object, error);
    return before && before->pooled && !before->is_node
               ? store_put_object_after(store, bytes, &before->object, &out->object,
                                        error)
               : store_put_object(store, bytes, &out->object, error);
}

static int get_chunks(struct cairn_store *store, const struct digest *digest,
                      struct buf *out, struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    struct node node;
    int rc = store_get_object(store, digest, &bytes, error)
                 ?: node_decode(buf_view(&bytes), &node, error);
    for (size_t i = 0; !rc && i < node_count(node.leaves); i++) {
        struct digest leaf = node_digest(node.leaves, i);
        rc = store_get_object(store, &leaf, out, error);
    }
    if (!rc) {
        struct reader in = reader_of(node.body.ptr, node.body.len);
        uint64_t size = read_varint(&in);
        if (!reader_done(&in) || size != out->size)
            rc = error_set(error, CAIRN_EDAMAGED,
                           "the chunks of a value do not add up: run `cairn doctor`");
    }
    buf_release(&bytes);
    return rc;
}

int thread_value_get(struct cairn_store *store, const struct thread_value *value,
                     struct arena *arena, struct str *out, struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    *out = value->bytes;
    if (!value->pooled)
        return 0;
    int rc = value->is_node ? get_chunks(store, &value->object, &bytes, error)
                            : store_get_object(store, &value->object, &bytes, error);
    if (rc == CAIRN_ENOTFOUND)
        rc = error_set(error, CAIRN_EDAMAGED,
                       "content of a value is lost: run `cairn "
                       "doctor`");
    if (!rc)
        *out = arena_str(arena, buf_view(&bytes));
    buf_release(&bytes);
    return !rc && arena->failed ? error_nomem(error) : rc;
}

int thread_value_use(struct cairn_store *store, const struct thread_value *value,
                     struct str channel, struct cairn_error *error)
{
    bool has = true;
    int rc = value->pooled ? store_use_object(store, &value->object, &has, error) : 0;
    if (rc || has)
        return rc;
    return error_set(error, CAIRN_EDAMAGED,
                     "the value of channel %.*s is lost: put it again",
                     (int)(channel.len < 80 ? channel.len : 80), channel.ptr);
}
