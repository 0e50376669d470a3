/* SPDX-License-Identifier: MIT */
#include "snapshot/stage.h"

#include "base/array.h"
#include "base/clock.h"
#include "storage/object.h"
#include "storage/rows_gc.h"
#include "storage/store.h"

#include <assert.h>
#include <stdlib.h>

enum { WAITING_BYTES = 8 << 20, WAITING_MOST = 1024, SLICE_NS = 20000000 };
enum { LITTLE_BYTES = 256 << 10 };

int stage_begin(struct stage *stage, struct cairn_store *store,
                struct cairn_error *error)
{
    *stage = (struct stage){.store = store, .sha = sha256_new()};
    if (!stage->sha)
        return error_nomem(error);
    int rc = store_gc_hold_off(store, error);
    stage->locked = rc == 0;
    return rc;
}

void stage_end(struct stage *stage)
{
    if (stage->locked)
        store_gc_unlock(stage->store);
    sha256_free(stage->sha);
    free(stage->waiting);
    buf_release(&stage->bytes);
    *stage = (struct stage){0};
}

static int put_one(struct stage *stage, const struct staged_content *one,
                   struct cairn_error *error)
{
    struct str content = {stage->bytes.data + one->at, one->len};
    struct digest digest;
    stage->objects++;
    stage->stored_bytes += content.len;
    return one->has_before ? store_put_object_after(stage->store, content, &one->before,
                                                    &digest, error)
                           : store_put_object(stage->store, content, &digest, error);
}

/* At least one of them. */
static int put_slice(struct stage *stage, size_t *next, struct cairn_error *error)
{
    int rc = store_begin(stage->store, -1, error);
    if (rc)
        return rc;
    int64_t since = clock_mono_ns();
    do
        rc = put_one(stage, &stage->waiting[(*next)++], error);
    while (!rc && *next < stage->n && clock_mono_ns() - since < SLICE_NS);
    return store_end(stage->store, rc, error);
}

int stage_flush(struct stage *stage, struct cairn_error *error)
{
    int rc = 0;
    assert(stage->locked);
    for (size_t next = 0; next < stage->n && !rc;)
        rc = put_slice(stage, &next, error);
    stage->n = 0;
    buf_clear(&stage->bytes);
    return rc;
}

bool stage_is_little(const struct stage *stage)
{
    return stage->bytes.size <= LITTLE_BYTES;
}

int stage_put_waiting(struct stage *stage, struct cairn_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < stage->n && !rc; i++)
        rc = put_one(stage, &stage->waiting[i], error);
    if (rc)
        return rc;
    stage->n = 0;
    buf_clear(&stage->bytes);
    return 0;
}

int stage_put(struct stage *stage, struct str content, const struct digest *before,
              struct digest *digest, struct cairn_error *error)
{
    int rc = 0;
    if (stage->n &&
        (stage->n >= WAITING_MOST || stage->bytes.size + content.len > WAITING_BYTES))
        rc = stage_flush(stage, error);
    if (rc)
        return rc;
    struct staged_content *waiting =
        array_room(stage->waiting, stage->n, &stage->room, sizeof *waiting);
    if (!waiting)
        return error_nomem(error);
    stage->waiting = waiting;
    struct staged_content *one = &waiting[stage->n];
    *one = (struct staged_content){
        .at = stage->bytes.size, .len = content.len, .has_before = before != NULL};
    if (before)
        one->before = *before;
    buf_str(&stage->bytes, content);
    rc = buf_check(&stage->bytes, error);
    if (rc)
        return rc;
    stage->n++;
    sha256_begin(stage->sha);
    sha256_add(stage->sha, content.ptr, content.len);
    sha256_end(stage->sha, digest);
    return 0;
}
