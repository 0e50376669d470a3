/* SPDX-License-Identifier: MIT */
/* Printed ids of checkpoints, looked up in a store of four. Whatever digits of a hash
 * an id has, they are those of the record that it is taken for. */
#include "storage/rows_checkpoint.h"
#include "storage/store.h"
#include "tests/fuzz/store.h"

#include <ctype.h>

static char ids[5][CAIRN_ID_MAX]; /* by seq */
static char hashes[5][DIGEST_HEX_SIZE];

static void put_records(void)
{
    struct cairn_error error = {0};
    struct states states;
    struct change change = {.task = 0, .outcome = CAIRN_COMPLETED, .attempts = 1};
    fuzz_store_make(3);
    struct run_stream stream =
        run_stream_of(fuzz_store, fuzz_sha, fuzz_run, &fuzz_graph);
    HOLDS(states_init(&states, 3, &error) == 0);
    HOLDS(store_begin(fuzz_store, -1, &error) == 0);
    for (uint32_t i = 0; i < 4; i++) {
        struct checkpoint_ref ref;
        change.task = i - 1;
        int code = i ? run_stream_delta(&stream, &change, 1, 1000 * i, &ref, &error)
                     : run_stream_full(&stream, &states, 1000, &ref, &error);
        HOLDS(code == 0 && ref.seq == i + 1);
        checkpoint_id(NAMESPACE_WORKFLOW, ref.seq, &ref.digest, ids[ref.seq]);
        digest_hex(&ref.digest, hashes[ref.seq]);
    }
    HOLDS(store_commit(fuzz_store, &error) == 0);
    states_release(&states);
}

static void check_found(const char *id, uint64_t seq)
{
    HOLDS(seq >= 1 && seq <= 4);
    const char *digits = strchr(id, '-');
    const char *number = strncmp(id, "workflow:", 9) == 0 ? id + 9 : id;
    if (digits || strspn(number, "0123456789") == strlen(number)) {
        HOLDS(strtoull(number, NULL, 10) == seq);
        digits = digits ? digits + 1 : "";
    } else {
        digits = id;
        HOLDS(strlen(id) >= 4);
    }
    HOLDS(strlen(digits) <= 64);
    for (size_t i = 0; digits[i]; i++)
        HOLDS(tolower((unsigned char)digits[i]) == hashes[seq][i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char id[600];
    uint64_t seq = 0;
    struct cairn_error error = {0};
    if (!fuzz_store)
        put_records();
    size_t n = size < sizeof id - 1 ? size : sizeof id - 1;
    memcpy(id, data, n);
    id[n] = 0;
    int code = checkpoint_find(fuzz_store, id, &seq, &error);
    if (code == 0)
        check_found(id, seq);
    else {
        EXPLAINED(code, error);
        HOLDS(code == CAIRN_EUSAGE || code == CAIRN_ENOTFOUND ||
              code == CAIRN_EAMBIGUOUS);
    }
    for (uint64_t i = 1; i <= 4 && size == 0; i++)
        HOLDS(checkpoint_find(fuzz_store, ids[i], &seq, &error) == 0 && seq == i);
    return 0;
}
