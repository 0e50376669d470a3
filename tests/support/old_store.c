/* SPDX-License-Identifier: MIT */
#include "tests/support/old_store.h"

void put_store_of_version(const char *directory, int version)
{
    const char *root = getenv("SOURCE_ROOT");
    static char plain[1 << 20];
    char name[4096];
    struct buf packed = BUF_INIT;
    struct cairn_error why = {0};
    snprintf(name, sizeof name, "%s/tests/data/store-v%d.db.zst", root ? root : ".",
             version);
    ck_assert_msg(os_read_file(name, sizeof plain, &packed, &why) == 0,
                  "run it in the project's root, or set SOURCE_ROOT: %s", why.text);
    size_t size = ZSTD_decompress(plain, sizeof plain, packed.data, packed.size);
    ck_assert(!ZSTD_isError(size));
    buf_release(&packed);
    ck_assert_int_eq(mkdir(directory, 0700), 0);
    snprintf(name, sizeof name, "%s/cairn.db", directory);
    ck_assert_msg(os_write_file(name, 0600, (struct str){plain, size}, &why) == 0, "%s",
                  why.text);
}

void put_old_store(const char *directory)
{
    put_store_of_version(directory, 1);
}
