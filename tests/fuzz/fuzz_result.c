/* SPDX-License-Identifier: MIT */
/* Result objects. What is taken of version 1 must be encoded as the very same bytes;
 * of the older list, as something that reads back as the same. */
#include "runs/result.h"
#include "tests/fuzz/fuzz.h"

static void again(const struct result *result, struct str bytes, bool same)
{
    struct arena arena = ARENA_INIT;
    struct buf first = BUF_INIT, second = BUF_INIT;
    struct result back;
    struct cairn_error error = {0};
    HOLDS(result_encode(result, &first, &error) == 0);
    HOLDS(!same || str_equal(buf_view(&first), bytes));
    HOLDS(result_decode(&arena, buf_view(&first), &back, &error) == 0);
    HOLDS(result_encode(&back, &second, &error) == 0);
    HOLDS(str_equal(buf_view(&first), buf_view(&second)));
    HOLDS(back.n_outputs == result->n_outputs && back.n_values == result->n_values);
    buf_release(&first);
    buf_release(&second);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT;
    struct fenced copy = fence((struct str){(const char *)data, size});
    struct str bytes = {copy.ptr, size};
    struct result result;
    struct cairn_error error = {0};
    int code = result_decode(&arena, bytes, &result, &error);
    if (code) {
        EXPLAINED(code, error);
        HOLDS(code == CAIRN_EDAMAGED);
    } else
        again(&result, bytes, size > 0 && bytes.ptr[0] == 0);
    /* What it costs is in proportion to what was read. */
    HOLDS(arena.total <= 65536 + 64 * size);
    arena_release(&arena);
    unfence(&copy);
    return 0;
}
