/* SPDX-License-Identifier: MIT */
/* Unpacks a zstd file: a bare machine has the library, but not the command.
 *
 *   unpack FILE.zst OUT */
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

enum { PACKED_MOST = 1 << 20, UNPACKED_MOST = 1 << 26 };

int main(int argc, char **argv)
{
    static char packed[PACKED_MOST];
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL;
    FILE *out = in ? fopen(argv[2], "wb") : NULL;
    char *whole = malloc(UNPACKED_MOST);
    if (!in || !out || !whole) {
        fprintf(stderr, "usage: unpack FILE.zst OUT\n");
        return 2;
    }
    size_t n = fread(packed, 1, sizeof packed, in);
    size_t size = ZSTD_decompress(whole, UNPACKED_MOST, packed, n);
    if (ZSTD_isError(size) || fwrite(whole, 1, size, out) != size || fclose(out)) {
        fprintf(stderr, "unpack: %s cannot be unpacked\n", argv[1]);
        return 1;
    }
    free(whole);
    fclose(in);
    return 0;
}
