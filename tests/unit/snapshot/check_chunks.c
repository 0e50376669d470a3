/* SPDX-License-Identifier: MIT */
/* Where content is cut: always at the same places, within the sizes, and at places that
 * move along with the content. */
#include "snapshot/content.h"

#include "tests/support/suite.h"

#include <stdlib.h>

enum { BYTES = 24 << 20 };

static char *some_bytes(void)
{
    char *bytes = malloc(BYTES);
    uint64_t x = 1;
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < BYTES; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (char)(x >> 56);
    }
    return bytes;
}

static size_t cut_all(const char *bytes, size_t n, size_t *places)
{
    size_t count = 0;
    for (size_t at = 0; at < n;) {
        size_t most = n - at < CHUNK_MOST ? n - at : CHUNK_MOST;
        size_t length = chunk_cut((struct str){bytes + at, most});
        ck_assert_uint_gt(length, 0);
        ck_assert_uint_le(length, CHUNK_MOST);
        ck_assert(length >= CHUNK_LEAST || at + length == n);
        at += length;
        places[count++] = at;
    }
    return count;
}

/* Lists of chunks that are stored depend on them. */
START_TEST(test_the_places_never_change)
{
    static const size_t first[] = {1075201, 2956584, 4188147};
    size_t places[BYTES / CHUNK_LEAST + 1];
    char *bytes = some_bytes();
    size_t n = cut_all(bytes, BYTES, places);
    ck_assert_uint_gt(n, 12);
    ck_assert_uint_lt(n, 36);
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_eq(places[i], first[i]);
    free(bytes);
}
END_TEST

START_TEST(test_places_move_with_the_content)
{
    enum { MORE = 4711 };
    size_t before[BYTES / CHUNK_LEAST + 1], after[BYTES / CHUNK_LEAST + 2];
    char *bytes = some_bytes(), *moved = malloc(BYTES + MORE);
    ck_assert_ptr_nonnull(moved);
    memset(moved, 'x', MORE);
    memcpy(moved + MORE, bytes, BYTES);
    size_t n = cut_all(bytes, BYTES, before), m = cut_all(moved, BYTES + MORE, after);
    size_t same = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++)
            same += after[k] == before[i] + MORE;
    ck_assert_uint_ge(same, n - 4);
    free(bytes);
    free(moved);
}
END_TEST

START_TEST(test_content_without_places)
{
    char *zeros = calloc(1, CHUNK_MOST);
    ck_assert_ptr_nonnull(zeros);
    ck_assert_uint_eq(chunk_cut((struct str){zeros, CHUNK_MOST}), CHUNK_MOST);
    ck_assert_uint_eq(chunk_cut((struct str){zeros, 5}), 5);
    ck_assert_uint_eq(chunk_cut((struct str){zeros, 0}), 0);
    free(zeros);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chunks");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_the_places_never_change);
    tcase_add_test(c, test_places_move_with_the_content);
    tcase_add_test(c, test_content_without_places);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
