/* SPDX-License-Identifier: MIT */
/* Directories and lists of chunks as bytes: each is read back as it was written, and
 * what could not have been written is refused, above all names that lead elsewhere. */
#include "checkpoint/nodes/nodes.h"
#include "snapshot/tree.h"

#include "tests/support/suite.h"

static struct cairn_error failure;

static struct digest digest_of(const char *text)
{
    struct digest digest;
    ck_assert_int_eq(sha256_of(text, strlen(text), &digest, NULL), 0);
    return digest;
}

static struct tree_entry a_file(const char *name)
{
    return (struct tree_entry){.name = str_of(name),
                               .kind = TREE_FILE,
                               .mode = 0644,
                               .mtime_ns = -5,
                               .size = 12,
                               .digest = digest_of(name)};
}

START_TEST(test_every_kind_comes_back)
{
    struct tree_entry entries[] = {a_file("\xff odd\nname"),
                                   a_file("a"),
                                   a_file("b"),
                                   a_file("c"),
                                   a_file("d"),
                                   a_file("e")};
    struct tree tree = {entries + 1, 5}, found;
    struct arena arena = ARENA_INIT;
    struct buf content = BUF_INIT, again = BUF_INIT;
    entries[2].kind = TREE_CHUNKED;
    entries[2].size = 5000000000;
    entries[3] =
        (struct tree_entry){.name = STR("c"), .kind = TREE_LINK, .target = STR("../x")};
    entries[4].kind = TREE_DIRECTORY;
    entries[4].size = 0;
    entries[5] = (struct tree_entry){
        .name = STR("e"), .kind = TREE_LEFT_OUT, .why = LEFT_SPECIAL};
    tree_encode(&tree, &content);
    ck_assert_int_eq(tree_decode(&arena, buf_view(&content), &found, &failure), 0);
    ck_assert_uint_eq(found.n, 5);
    for (uint32_t i = 0; i < 5; i++) {
        ck_assert(tree_same(&found.entries[i], &tree.entries[i]));
        ck_assert(str_equal(found.entries[i].name, tree.entries[i].name));
        ck_assert_uint_eq(found.entries[i].size, tree.entries[i].size);
        ck_assert_int_eq(found.entries[i].mtime_ns, tree.entries[i].mtime_ns);
    }
    tree_encode(&found, &again);
    ck_assert(str_equal(buf_view(&content), buf_view(&again)));
    ck_assert_ptr_nonnull(tree_find(&found, STR("d")));
    ck_assert_ptr_null(tree_find(&found, STR("da")));
    ck_assert_ptr_null(tree_find(&found, STR("")));
    for (size_t n = 0; n < content.size; n++)
        ck_assert_int_eq(
            tree_decode(&arena, (struct str){content.data, n}, &found, &failure),
            CAIRN_EDAMAGED);
    buf_release(&content);
    buf_release(&again);
    arena_release(&arena);
}
END_TEST

static void expect_refused(struct tree_entry *entries, uint32_t n)
{
    struct arena arena = ARENA_INIT;
    struct buf nodes = BUF_INIT, leaves = BUF_INIT, body = BUF_INIT, content = BUF_INIT;
    struct tree found;
    buf_varint(&body, n);
    for (uint32_t i = 0; i < n; i++) { /* as tree_encode, which would not do it */
        buf_lstr(&body, entries[i].name);
        buf_byte(&body, entries[i].kind);
        buf_varint(&body, entries[i].mode);
        buf_varint(&body, 0);
        buf_varint(&body, entries[i].size);
        buf_str(&leaves, digest_view(&entries[i].digest));
    }
    node_encode(buf_view(&nodes), buf_view(&leaves), buf_view(&body), &content);
    ck_assert_int_eq(tree_decode(&arena, buf_view(&content), &found, &failure),
                     CAIRN_EDAMAGED);
    ck_assert_ptr_nonnull(strstr(failure.text, "it is not a directory: its entry "));
    buf_release(&leaves);
    buf_release(&body);
    buf_release(&content);
    arena_release(&arena);
}

START_TEST(test_names_that_lead_elsewhere_are_refused)
{
    static const char *const names[] = {"", ".", "..", "a/b", "/", "../a"};
    char many[TREE_NAME_BYTES + 2];
    memset(many, 'x', sizeof many - 1);
    many[sizeof many - 1] = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct tree_entry entry = a_file(names[i]);
        expect_refused(&entry, 1);
    }
    struct tree_entry longest = a_file(many);
    expect_refused(&longest, 1);
    longest.name = (struct str){"a\0b", 3};
    expect_refused(&longest, 1);
}
END_TEST

START_TEST(test_order_modes_and_sizes_are_checked)
{
    struct tree_entry two[] = {a_file("b"), a_file("a")};
    expect_refused(two, 2);
    two[1] = a_file("b");
    expect_refused(two, 2);
    two[0].mode = TREE_MODE_BITS + 1;
    expect_refused(two, 1);
    two[0] = a_file("b");
    two[0].size = (uint64_t)TREE_CHUNK_MOST + 1;
    expect_refused(two, 1);
    two[0] = a_file("b");
    two[0].kind = TREE_KINDS_END;
    expect_refused(two, 1);
}
END_TEST

START_TEST(test_chunk_lists)
{
    struct digest digests[] = {digest_of("1"), digest_of("2"), digest_of("1")};
    uint64_t sizes[] = {1, TREE_CHUNK_MOST, 1};
    struct chunk_list list = {
        {(const char *)digests, sizeof digests}, sizes, 3, TREE_CHUNK_MOST + 2};
    struct chunk_list found;
    struct arena arena = ARENA_INIT;
    struct buf content = BUF_INIT;
    chunk_list_encode(&list, &content);
    ck_assert_int_eq(chunk_list_decode(&arena, buf_view(&content), &found, &failure),
                     0);
    ck_assert_uint_eq(found.n, 3);
    ck_assert_uint_eq(found.size, list.size);
    ck_assert(str_equal(found.digests, list.digests));
    buf_clear(&content);
    sizes[1]++;
    chunk_list_encode(&list, &content);
    ck_assert_int_eq(chunk_list_decode(&arena, buf_view(&content), &found, &failure),
                     CAIRN_EDAMAGED);
    buf_clear(&content);
    sizes[1] = 0;
    chunk_list_encode(&list, &content);
    ck_assert_int_eq(chunk_list_decode(&arena, buf_view(&content), &found, &failure),
                     CAIRN_EDAMAGED);
    buf_release(&content);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tree");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_every_kind_comes_back);
    tcase_add_test(c, test_names_that_lead_elsewhere_are_refused);
    tcase_add_test(c, test_order_modes_and_sizes_are_checked);
    tcase_add_test(c, test_chunk_lists);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
