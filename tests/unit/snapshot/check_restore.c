/* SPDX-License-Identifier: MIT */
/* What a restore leaves in its stage when a content is damaged. All else is tried by
 * tests/cli/t-files-restore.sh. */
#include "snapshot/restore.h"

#include "tests/support/store.h"

#include <sqlite3.h>

static void write_large(const char *name)
{
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    for (unsigned i = 0; i < 3 << 20; i++)
        fprintf(file, "%07u\n", i * 2654435761u % 10000000);
    ck_assert_int_eq(fclose(file), 0);
}

static struct digest take(struct cairn_store *store, const char *root)
{
    struct snapshot snapshot;
    const struct snapshot_request request = {
        .store = store, .root = root, .root_name = str_of(root)};
    good(snapshot_take(&request, &snapshot, &error));
    struct digest tree = snapshot.root;
    snapshot_end(&snapshot);
    return tree;
}

/* The last chunk of the file is not in the pool any more. */
static void lose_chunk(struct cairn_store *store, const struct digest *root)
{
    struct arena arena = ARENA_INIT;
    struct tree_entry entry;
    struct chunk_list list;
    sqlite3 *db;
    sqlite3_stmt *statement;
    ck_assert_int_eq(snapshot_find(store, root, STR("large"), &arena, &entry, &error),
                     1);
    good(snapshot_read_chunks(store, &entry.digest, &arena, &list, &error));
    ck_assert_uint_gt(list.n, 2);
    cairn_store_close(store);
    ck_assert_int_eq(sqlite3_open(in_store("cairn.db"), &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, "DELETE FROM object WHERE digest = ?1", -1,
                                        &statement, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_bind_blob(statement, 1,
                                       list.digests.ptr + (list.n - 1) * DIGEST_SIZE,
                                       DIGEST_SIZE, SQLITE_TRANSIENT),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_DONE);
    ck_assert_int_eq(sqlite3_changes(db), 1);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    arena_release(&arena);
}

/* Of one that goes on, and will again. Another one would take it for somebody's. */
START_TEST(what_is_not_whole_is_not_staged)
{
    char from[320], to[320], name[400];
    struct cairn_store *store = open_store();
    struct restore restore;
    snprintf(from, sizeof from, "%s/from", dir);
    snprintf(to, sizeof to, "%s/to", dir);
    ck_assert(mkdir(from, 0700) == 0 && mkdir(to, 0700) == 0);
    snprintf(name, sizeof name, "%s/large", from);
    write_large(name);
    struct digest none = take(store, to), tree = take(store, from);
    lose_chunk(store, &tree);
    store = open_store();
    for (unsigned threads = 1; threads <= 2; threads++) {
        good(restore_open(&restore, store, to, &none, &tree, NULL, &error));
        restore.threads = threads;
        ck_assert_int_eq(restore_prepare(&restore, true), CAIRN_EDAMAGED);
        ck_assert_ptr_nonnull(strstr(error.text, "large"));
        restore_close(&restore);
        ck_assert(exists(RESTORE_STAGE));
        ck_assert(!exists(RESTORE_STAGE "/0"));
    }
    cairn_store_close(store);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {what_is_not_whole_is_not_staged};
    return run_tests("restore", tests, 1);
}
