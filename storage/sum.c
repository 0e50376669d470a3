/* Checksums of rows: first the numbers, 8 bytes little endian each, then the texts and
 * blobs, each behind its length. Like every unkeyed hash it shows damage, not malice.
 */
#include "storage/store_int.h"

int row_sum(struct cairn_store *store, const struct summed *summed, struct row_sum *sum,
            struct cairn_error *error)
{
    struct buf canon = BUF_INIT;
    struct digest digest;
    for (size_t i = 0; i < summed->n_numbers; i++)
        buf_u64(&canon, summed->numbers[i]);
    for (size_t i = 0; i < summed->n_texts; i++)
        buf_lstr(&canon, summed->texts[i]);
    int rc = buf_check(&canon, error);
    if (!rc) {
        sha256_begin(store->sha);
        sha256_add(store->sha, canon.data, canon.size);
        sha256_end(store->sha, &digest);
        memcpy(sum->bytes, digest.bytes, sizeof sum->bytes);
    }
    buf_release(&canon);
    return rc;
}
