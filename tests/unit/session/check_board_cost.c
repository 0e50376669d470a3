/* SPDX-License-Identifier: MIT */
/* make: not-valgrind */
/* What a change of a board costs does not depend on how many items the board has: the
 * steps of SQLite's machine are counted, of a small board and of one ten times as
 * large. The difference of two checkpoints holds in memory what differs. */
#include "cairn/board.h"
#include "cairn/session.h"
#include "session/board/item.h"
#include "storage/rows_lost.h"
#include "storage/rows_meta.h"
#include "storage/sessions/rows_session.h"
#include "storage/sqlite/db_int.h"
#include "storage/store_int.h"
#include "tests/support/store.h"

#include <malloc.h>
#include <stdio.h>

enum { SMALL = 60, LARGE = 600, TOO_MUCH = 120 /* percent */ };

static void add(struct cairn_store *store, const char *kind,
                const struct cairn_set *sets, size_t n)
{
    good(cairn_item_add(store, NULL, kind, sets, n, NULL, &error));
}

/* Four items: a hypothesis with evidence, a belief of a subject of its own, a note. */
static void add_four(struct cairn_store *store, unsigned n)
{
    char hypothesis[24], subject[24];
    snprintf(hypothesis, sizeof hypothesis, "h%u", n);
    snprintf(subject, sizeof subject, "host %u", n);
    const struct cairn_set evidence[] = {
        {"text", "seen"}, {"hypothesis", hypothesis}, {"strength", "0.3"}};
    const struct cairn_set belief[] = {
        {"statement", "it is slow"}, {"subject", subject}, {"claim", "slow"}};
    add(store, "hypothesis", &(struct cairn_set){"statement", "the disk"}, 1);
    add(store, "evidence", evidence, 3);
    add(store, "belief", belief, 3);
    add(store, "note", &(struct cairn_set){"text", "a note"}, 1);
}

/* ---- The changes ---- */

static void add_note(struct cairn_store *store)
{
    add(store, "note", &(struct cairn_set){"text", "one more"}, 1);
}

static void change_note(struct cairn_store *store)
{
    const struct cairn_set set = {"text", "changed"};
    good(cairn_item_set(store, NULL, "n2", &set, 1, NULL, &error));
}

static void remove_note(struct cairn_store *store)
{
    good(cairn_item_remove(store, NULL, "n3", NULL, &error));
}

static void undo(struct cairn_store *store)
{
    good(cairn_session_undo(store, NULL, NULL, &error));
}

static void add_evidence(struct cairn_store *store)
{
    const struct cairn_set sets[] = {
        {"text", "seen again"}, {"hypothesis", "h2"}, {"strength", "0.2"}};
    add(store, "evidence", sets, 3);
}

static void change_hypothesis(struct cairn_store *store)
{
    const struct cairn_set set = {"prior", "0.4"};
    good(cairn_item_set(store, NULL, "h2", &set, 1, NULL, &error));
}

static void contradict(struct cairn_store *store)
{
    const struct cairn_set sets[] = {{"statement", "it is not slow"},
                                     {"subject", "host 2"},
                                     {"claim", "slow"},
                                     {"denied", "yes"}};
    add(store, "belief", sets, 4);
}

static void add_dependency(struct cairn_store *store)
{
    const struct cairn_set sets[] = {{"from", "b4"}, {"to", "b5"}};
    add(store, "dependency", sets, 2);
}

static int pass_step(void *context, const struct cairn_cascade_step *step)
{
    (void)context;
    (void)step;
    return 0;
}

static void preview(struct cairn_store *store)
{
    struct cairn_cascade cascade;
    good(cairn_belief_preview(store, NULL, "b5", 0.4, 1, pass_step, NULL, &cascade,
                              &error));
    ck_assert_uint_eq(cascade.steps, 2);
}

static void add_check(struct cairn_store *store)
{
    const struct cairn_set sets[] = {
        {"text", "is it fast?"}, {"command", "true"}, {"hypothesis", "h3"}};
    add(store, "check", sets, 3);
}

static const struct change {
    const char *name;
    void (*make)(struct cairn_store *store);
} changes[] = {{"add a note", add_note},
               {"change a note", change_note},
               {"remove a note", remove_note},
               {"undo", undo},
               {"undo the one before", undo},
               {"add evidence", add_evidence},
               {"change a hypothesis", change_hypothesis},
               {"add a belief", contradict},
               {"add a dependency", add_dependency},
               {"preview a belief", preview},
               {"add a check", add_check}};
enum { CHANGES = sizeof changes / sizeof changes[0] };

/* ---- Counting ---- */

static long steps(const struct cairn_store *store)
{
    long sum = 0;
    for (size_t i = 0; i < SQL_COUNT; i++)
        if (store->db->statements[i])
            sum += sqlite3_stmt_status(store->db->statements[i],
                                       SQLITE_STMTSTATUS_VM_STEP, 0);
    return sum;
}

static void measure(const char *name, unsigned items, long cost[CHANGES])
{
    struct cairn_store *store = open_store();
    good(cairn_session_start(store, name, true, NULL, &error));
    good(cairn_session_configure(store, NULL, "significant-time", "off", &error));
    good(cairn_session_configure(store, NULL, "contradiction", "off", &error));
    for (unsigned i = 1; i <= items / 4; i++)
        add_four(store, i);
    for (size_t i = 0; i < CHANGES; i++) {
        long before = steps(store);
        changes[i].make(store);
        cost[i] = steps(store) - before;
    }
    cairn_store_close(store);
}

START_TEST(flat)
{
    long small[CHANGES], large[CHANGES];
    measure("small", SMALL, small);
    measure("large", LARGE, large);
    for (size_t i = 0; i < CHANGES; i++)
        ck_assert_msg(small[i] > 0 && large[i] * 100 <= small[i] * TOO_MUCH,
                      "%s: %ld steps with %d items, %ld with %d", changes[i].name,
                      small[i], SMALL, large[i], LARGE);
}
END_TEST

/* ---- Two checkpoints ---- */

enum { NOTES = 800, ROOM_OF_EACH = 400 /* bytes; an item has 1,000 and its text */ };

struct seen {
    size_t changes, room;
};

static size_t allocated(void)
{
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

static int see_change(void *context, const struct cairn_board_change *change)
{
    struct seen *seen = context;
    ck_assert_str_eq(change->id, "n2");
    seen->room = allocated();
    seen->changes++;
    return 0;
}

static int see_any(void *context, const struct cairn_board_change *change)
{
    struct seen *seen = context;
    (void)change;
    seen->changes++;
    return 0;
}

static void save(struct cairn_store *store, struct cairn_captured *made)
{
    const struct cairn_capture capture = {.message = "here"};
    good(cairn_session_checkpoint(store, NULL, &capture, made, &error));
}

/* Of two checkpoints only the items that differ are decoded. */
START_TEST(apart)
{
    struct cairn_store *store = open_store();
    struct cairn_captured before, after;
    struct seen seen = {0};
    good(cairn_session_start(store, "apart", true, NULL, &error));
    good(cairn_session_configure(store, NULL, "significant-time", "off", &error));
    for (int i = 0; i < NOTES; i++)
        add_note(store);
    save(store, &before);
    change_note(store);
    save(store, &after);
    size_t room = allocated();
    good(cairn_session_diff(store, NULL, before.id, after.id, see_change, &seen, NULL,
                            &error));
    ck_assert_uint_eq(seen.changes, 1);
    ck_assert_uint_lt(seen.room, room + (size_t)NOTES * ROOM_OF_EACH);
    cairn_store_close(store);
}
END_TEST

/* What a checkpoint after one change and its difference to the one before read. */
static void measure_checkpoint(const char *name, unsigned notes, long cost[2])
{
    struct cairn_store *store = open_store();
    struct cairn_captured before, after;
    struct seen seen = {0};
    good(cairn_session_start(store, name, true, NULL, &error));
    good(cairn_session_configure(store, NULL, "significant-time", "off", &error));
    for (unsigned i = 0; i < notes; i++)
        add_note(store);
    save(store, &before);
    change_note(store);
    long began = steps(store);
    save(store, &after);
    cost[0] = steps(store) - began;
    began = steps(store);
    good(cairn_session_diff(store, NULL, before.id, after.id, see_change, &seen, NULL,
                            &error));
    cost[1] = steps(store) - began;
    ck_assert_uint_eq(seen.changes, 1);
    cairn_store_close(store);
}

START_TEST(flat_checkpoint)
{
    long small[2], large[2];
    measure_checkpoint("few", LARGE / 10, small);
    measure_checkpoint("many", LARGE, large);
    for (int i = 0; i < 2; i++)
        ck_assert_msg(small[i] > 0 && large[i] * 100 <= small[i] * TOO_MUCH,
                      "%s: %ld steps with %d notes, %ld with %d",
                      i ? "difference" : "checkpoint", small[i], LARGE / 10, large[i],
                      LARGE);
}
END_TEST

/* What the log does not name is in a checkpoint all the same: then all are read. */
START_TEST(unlogged)
{
    struct cairn_store *store = open_store();
    struct cairn_captured before, after;
    struct seen seen = {0};
    good(cairn_session_start(store, "unlogged", true, NULL, &error));
    good(cairn_session_configure(store, NULL, "significant-time", "off", &error));
    for (unsigned i = 0; i < SMALL; i++)
        add_note(store);
    save(store, &before);
    change_note(store);
    good(store_begin(store, -1, &error));
    good(store_drop_item(store, 1, ITEM_NOTE, 5, &error));
    good(store_commit(store, &error));
    save(store, &after);
    good(cairn_session_diff(store, NULL, before.id, after.id, see_any, &seen, NULL,
                            &error));
    ck_assert_uint_eq(seen.changes, 2);
    cairn_store_close(store);
}
END_TEST

static void change_store(const char *text)
{
    sqlite3 *other;
    ck_assert_int_eq(sqlite3_open(in_store("cairn.db"), &other), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(other, text, NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_changes(other), 1);
    sqlite3_close(other);
}

/* Of the oldest object, which is the leaf with the first notes. */
static void lose_leaf(struct cairn_store *store)
{
    struct digest digest = {{0}};
    char hex[DIGEST_HEX_SIZE];
    sqlite3_stmt *oldest;
    ck_assert_int_eq(sqlite3_prepare_v2(store->db->handle,
                                        "SELECT digest FROM object WHERE id = 1", -1,
                                        &oldest, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(oldest), SQLITE_ROW);
    memcpy(digest.bytes, sqlite3_column_blob(oldest, 0), DIGEST_SIZE);
    sqlite3_finalize(oldest);
    digest_hex(&digest, hex);
    change_store("DELETE FROM object WHERE id = 1");
    good(store_begin(store, -1, &error));
    good(store_put_known_loss(store, hex, &error));
    good(store_commit(store, &error));
}

static int read_whole(struct cairn_store *store, const struct cairn_captured *made)
{
    struct seen seen = {0};
    return cairn_session_diff(store, NULL, "", made->id, see_any, &seen, NULL, &error);
}

/* A leaf that nobody reads is carried on as it is; it is mended by a checkpoint without a
 * change, and after a repair by any. */
START_TEST(mended)
{
    struct cairn_store *store = open_store();
    struct cairn_captured made;
    good(cairn_session_start(store, "mended", true, NULL, &error));
    good(cairn_session_configure(store, NULL, "significant-time", "off", &error));
    for (unsigned i = 0; i < SMALL; i++)
        add_note(store);
    save(store, &made);
    change_store("UPDATE object SET data = zeroblob(length(data)) WHERE id = 1");
    add_note(store);
    save(store, &made);
    ck_assert_int_eq(read_whole(store, &made), CAIRN_EDAMAGED);
    ck_assert_ptr_nonnull(strstr(error.text, "checkpoint debug:2"));
    save(store, &made);
    good(read_whole(store, &made));
    lose_leaf(store);
    add_note(store);
    save(store, &made);
    good(read_whole(store, &made));
    cairn_store_close(store);
}
END_TEST

/* A repair could not save a hypothesis: that it is missing is found out once, and not for
 * each evidence that names it. */
START_TEST(missing)
{
    enum { EVIDENCE = 300, STEPS_OF_EACH = 200 };
    const struct cairn_set evidence[] = {
        {"text", "seen"}, {"hypothesis", "h1"}, {"strength", "0.01"}};
    struct cairn_store *store = open_store();
    good(cairn_session_start(store, "missing", true, NULL, &error));
    good(cairn_session_configure(store, NULL, "significant-time", "off", &error));
    add(store, "hypothesis", &(struct cairn_set){"statement", "the disk"}, 1);
    for (int i = 0; i < EVIDENCE; i++)
        add(store, "evidence", evidence, 3);
    good(store_begin(store, -1, &error));
    good(db_script(store->db, "DELETE FROM item WHERE kind = 1", &error));
    good(store_tally_settle(store, TALLY_ITEMS, 1, &error));
    good(store_commit(store, &error));
    long before = steps(store);
    const struct cairn_set set = {"text", "changed"};
    ck_assert_int_eq(cairn_item_set(store, NULL, "e7", &set, 1, NULL, &error),
                     CAIRN_EDAMAGED);
    ck_assert_ptr_nonnull(strstr(error.text, "h1 is missing, though other items"));
    ck_assert_int_lt(steps(store) - before, EVIDENCE * STEPS_OF_EACH);
    cairn_store_close(store);
}
END_TEST

static int pass_item(void *context, const struct cairn_item *item)
{
    (void)context;
    (void)item;
    return 0;
}

static int list(struct cairn_store *store, const char *kind, long *cost)
{
    const struct cairn_item_filter filter = {.kind = kind};
    long before = steps(store);
    int rc = cairn_item_list(store, NULL, &filter, pass_item, NULL, NULL, &error);
    *cost = steps(store) - before;
    return rc;
}

static void lose_turn(const char *where)
{
    char text[128];
    sqlite3 *other;
    snprintf(text, sizeof text, "DELETE FROM session_log WHERE turn %s", where);
    ck_assert_int_eq(sqlite3_open(in_store("cairn.db"), &other), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(other, text, NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_changes(other), 1);
    sqlite3_close(other);
}

static int pass_event(void *context, const struct cairn_session_event *event)
{
    ++*(int *)context;
    return event->turn <= 100;
}

/* What is undone must be the last thing that was done: a row that was lost since the
 * log was counted is missed. One that was lost before is missed by who reads so far. */
START_TEST(lost_turn)
{
    enum { TURNS = 140 };
    int seen = 0;
    struct cairn_store *store = open_store();
    good(cairn_session_start(store, "turns", true, NULL, &error));
    good(cairn_session_configure(store, NULL, "significant-time", "off", &error));
    for (int i = 3; i <= TURNS; i++)
        add_note(store);
    lose_turn("= 40");
    undo(store);
    ck_assert_int_eq(cairn_session_events(store, NULL, 0, pass_event, &seen, &error),
                     CAIRN_EDAMAGED);
    lose_turn("= 140");
    ck_assert_int_eq(cairn_session_undo(store, NULL, NULL, &error), CAIRN_EDAMAGED);
    ck_assert_ptr_nonnull(strstr(error.text, "missing"));
    cairn_store_close(store);
}
END_TEST

/* Many undos in a row go behind what was counted. */
START_TEST(undo_all)
{
    enum { NOTES_ADDED = 80 };
    struct cairn_store *store = open_store();
    struct cairn_item_filter filter = {.kind = "note"};
    uint64_t total = 1;
    good(cairn_session_start(store, "turns", true, NULL, &error));
    good(cairn_session_configure(store, NULL, "significant-time", "off", &error));
    for (int i = 0; i < NOTES_ADDED; i++)
        add_note(store);
    for (int i = 0; i < NOTES_ADDED; i++)
        undo(store);
    good(cairn_item_list(store, NULL, &filter, pass_item, NULL, &total, &error));
    ck_assert_uint_eq(total, 0);
    ck_assert_int_eq(cairn_session_undo(store, NULL, NULL, &error), CAIRN_EUSAGE);
    cairn_store_close(store);
}
END_TEST

/* A handle adds up all items once, and again when somebody else has changed the store. */
START_TEST(once)
{
    struct cairn_store *store = open_store();
    sqlite3 *other;
    long first, again;
    good(cairn_session_start(store, "once", true, NULL, &error));
    good(cairn_session_configure(store, NULL, "significant-time", "off", &error));
    for (int i = 0; i < LARGE; i++)
        add_note(store);
    good(list(store, "command", &first));
    good(list(store, "belief", &again));
    ck_assert_int_gt(first, LARGE);
    ck_assert_int_lt(again, LARGE);
    ck_assert_int_eq(sqlite3_open(in_store("cairn.db"), &other), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_exec(other, "DELETE FROM item WHERE n = 7", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(other);
    ck_assert_int_eq(list(store, "command", &again), CAIRN_EDAMAGED);
    ck_assert_ptr_nonnull(strstr(error.text, "is missing"));
    ck_assert_int_eq(list(store, "belief", &again), CAIRN_EDAMAGED);
    cairn_store_close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("board_cost");
    TCase *tests = tcase_create("board_cost");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, flat);
    tcase_add_test(tests, missing);
    tcase_add_test(tests, lost_turn);
    tcase_add_test(tests, undo_all);
    tcase_add_test(tests, apart);
    tcase_add_test(tests, flat_checkpoint);
    tcase_add_test(tests, unlogged);
    tcase_add_test(tests, mended);
    tcase_add_test(tests, once);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
