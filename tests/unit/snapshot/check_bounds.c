/* SPDX-License-Identifier: MIT */
/* Trees that contain each other: what a check sums up without walking them is what a
 * walk counts, and a walk ends at the number of paths that a snapshot can have. */
#include "snapshot/snapshot.h"

#include "storage/object.h"
#include "tests/support/random.h"
#include "tests/support/store.h"

enum { DIRECTORIES = 12, ENTRIES = 4, WIDE = 1500 };

static struct digest put_content(struct cairn_store *store, struct buf *content)
{
    struct digest digest;
    good(buf_check(content, &error));
    good(store_put_object(store, buf_view(content), &digest, &error));
    buf_release(content);
    return digest;
}

static struct digest put_entries(struct cairn_store *store, struct tree_entry *entries,
                                 uint32_t n)
{
    const struct tree tree = {entries, n};
    struct buf content = BUF_INIT;
    tree_encode(&tree, &content);
    return put_content(store, &content);
}

static struct digest put_head(struct cairn_store *store, const struct digest *root,
                              const struct snapshot_counts *counts)
{
    const struct snapshot_head head = {*root, STR("."), *counts};
    struct buf content = BUF_INIT;
    snapshot_head_encode(&head, &content);
    return put_content(store, &content);
}

static struct tree_entry a_file(struct cairn_store *store, struct str name)
{
    struct buf content = BUF_INIT;
    buf_text(&content, "text\n");
    return (struct tree_entry){.name = name,
                               .kind = TREE_FILE,
                               .size = content.size,
                               .digest = put_content(store, &content)};
}

/* Each of the directories made so far may be in the next one, more than once. */
static struct digest random_tree(struct cairn_store *store, uint64_t *seed)
{
    static const char *const names[ENTRIES] = {"a", "bcd", "e", "fghijk"};
    struct digest made[DIRECTORIES];
    for (uint32_t i = 0; i < DIRECTORIES; i++) {
        struct tree_entry entries[ENTRIES];
        uint32_t n = help_below(seed, ENTRIES + 1);
        for (uint32_t j = 0; j < n; j++) {
            entries[j] = a_file(store, str_of(names[j]));
            uint32_t kind = help_below(seed, 8);
            if (i && kind < 5) {
                entries[j].kind = TREE_DIRECTORY;
                entries[j].size = 0;
                entries[j].digest = made[i - 1 - help_below(seed, i < 3 ? i : 3)];
            } else if (kind == 5) {
                entries[j] = (struct tree_entry){
                    .name = entries[j].name, .kind = TREE_LINK, .target = STR("to")};
            } else if (kind == 6) {
                entries[j] = (struct tree_entry){.name = entries[j].name,
                                                 .kind = TREE_LEFT_OUT,
                                                 .why = LEFT_SPECIAL};
            }
        }
        made[i] = put_entries(store, entries, n);
    }
    return made[DIRECTORIES - 1];
}

static int count_path(void *context, struct str at, const struct tree_entry *entry)
{
    snapshot_count(context, entry, at.len);
    return 0;
}

static int count_change(void *context, struct str at, const struct tree_entry *before,
                        const struct tree_entry *after)
{
    ck_assert_ptr_null(before);
    return count_path(context, at, after);
}

START_TEST(test_sums_are_those_of_a_walk)
{
    struct cairn_store *store = open_store();
    uint64_t seed = 5;
    good(store_begin(store, 0, &error));
    struct snapshot_checked checked = {.n = 0};
    for (int round = 0; round < help_rounds(300, 300); round++) {
        struct snapshot_sums walked = {.height = 0}, compared = {.height = 0};
        struct digest root = random_tree(store, &seed);
        good(snapshot_each(store, &root, count_path, &walked, &error));
        good(snapshot_compare(store, NULL, &root, false, count_change, &compared,
                              &error));
        ck_assert_mem_eq(&walked, &compared, sizeof walked);
        struct digest head = put_head(store, &root, &walked.counts);
        good(snapshot_check(store, &head, &checked, &error));
        const struct snapshot_sums *sums =
            &checked.sums[map_get(&checked.trees, digest_view(&root))];
        ck_assert_mem_eq(&sums->counts, &walked.counts, sizeof walked.counts);
        ck_assert_uint_eq(sums->path_bytes, walked.path_bytes);
        walked.counts.files++;
        head = put_head(store, &root, &walked.counts);
        ck_assert_int_eq(snapshot_check(store, &head, &checked, &error),
                         CAIRN_EDAMAGED);
    }
    snapshot_checked_release(&checked);
    store_abort(store);
    cairn_store_close(store);
}
END_TEST

START_TEST(test_walks_end)
{
    static struct tree_entry entries[WIDE];
    static char names[WIDE][8];
    struct cairn_store *store = open_store();
    struct snapshot_sums seen = {.height = 0};
    struct snapshot_checked checked = {.n = 0};
    good(store_begin(store, 0, &error));
    for (int i = 0; i < WIDE; i++) {
        snprintf(names[i], sizeof names[i], "%04d", i);
        entries[i] = a_file(store, str_of(names[i]));
    }
    struct digest inner = put_entries(store, entries, WIDE);
    for (int i = 0; i < WIDE; i++)
        entries[i] = (struct tree_entry){
            .name = str_of(names[i]), .kind = TREE_DIRECTORY, .digest = inner};
    struct digest root = put_entries(store, entries, WIDE);
    ck_assert_int_eq(snapshot_each(store, &root, count_path, &seen, &error),
                     CAIRN_ELIMIT);
    ck_assert_uint_eq(snapshot_paths(&seen.counts), SNAPSHOT_PATHS_MOST);
    ck_assert_ptr_nonnull(strstr(error.text, "counted up to '1332/0667'"));
    seen = (struct snapshot_sums){.height = 0};
    ck_assert_int_eq(
        snapshot_compare(store, NULL, &root, false, count_change, &seen, &error),
        CAIRN_ELIMIT);
    ck_assert_uint_eq(snapshot_paths(&seen.counts), SNAPSHOT_PATHS_MOST);
    struct digest head = put_head(store, &root, &seen.counts);
    ck_assert_int_eq(snapshot_check(store, &head, &checked, &error), CAIRN_ELIMIT);
    ck_assert_uint_eq(checked.n, 1); /* the inner one, which is sound */
    snapshot_checked_release(&checked);
    store_abort(store);
    cairn_store_close(store);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_sums_are_those_of_a_walk, test_walks_end};
    return run_tests("bounds", tests, sizeof tests / sizeof *tests);
}
