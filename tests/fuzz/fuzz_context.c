/* SPDX-License-Identifier: MIT */
/* The context of an agent in a checkpoint: what is taken must be written back as the
 * very same bytes. */
#include "session/outside.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fenced copy = fence((struct str){(const char *)data, size});
    struct str bytes = {copy.ptr, size};
    struct arena arena = ARENA_INIT;
    struct context found;
    struct buf again = BUF_INIT;
    struct cairn_error error = {0};
    int code = context_decode(&arena, bytes, &found, &error);
    if (code) {
        EXPLAINED(code, error);
        HOLDS(code == CAIRN_EDAMAGED);
    } else {
        HOLDS(context_has_any(&found));
        HOLDS(context_given(&found) <= CONTEXT_PAIRS + 3);
        HOLDS(context_estimate(&found) <= size / 4 + 1);
        HOLDS(context_encode(&found, &again, &error) == 0);
        HOLDS(str_equal(buf_view(&again), bytes));
    }
    /* What it costs is in proportion to what was read. */
    HOLDS(arena.total <= 65536 + 64 * size);
    buf_release(&again);
    arena_release(&arena);
    unfence(&copy);
    return 0;
}
