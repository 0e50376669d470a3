/* SPDX-License-Identifier: MIT */
/* Boards: what changes are allowed, what follows from them, and that the list of
 * changes says all that has changed. */
#include "session/board/board.h"

#include "session/board/beliefs.h"
#include "session/board/confidence.h"
#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

static struct cairn_error failure;
static struct board board;
static struct board_changes changes;

static void begin(void)
{
    board_init(&board);
    changes = (struct board_changes){0};
}

static void end(void)
{
    board_release(&board);
    free(changes.at);
}

/* ---- Items ---- */

static struct item_value text_of(const char *text)
{
    return (struct item_value){.present = true, .text = str_of(text)};
}

static struct item_value word_of(unsigned word)
{
    return (struct item_value){.present = true, .count = word};
}

static struct item_value number_of(double number)
{
    return (struct item_value){.present = true, .number = number};
}

static struct item_value time_of(int64_t ns)
{
    return (struct item_value){.present = true, .time_ns = ns};
}

static struct item_value ref_of(uint8_t kind, uint32_t n)
{
    return (struct item_value){.present = true, .ref = {kind, n}};
}

static struct item hypothesis(double prior)
{
    struct item item = {.id = {ITEM_HYPOTHESIS, 0}};
    item.values[HYPOTHESIS_STATEMENT] = text_of("the cache is stale");
    item.values[HYPOTHESIS_PRIOR] = number_of(prior);
    item.values[HYPOTHESIS_STATUS] = word_of(HYPOTHESIS_PROPOSED);
    item.values[HYPOTHESIS_CREATED] = time_of(1);
    return item;
}

static struct item evidence(uint32_t about, enum evidence_kind kind, double strength)
{
    struct item item = {.id = {ITEM_EVIDENCE, 0}};
    item.values[EVIDENCE_TEXT] = text_of("it was seen");
    item.values[EVIDENCE_HYPOTHESIS] = ref_of(ITEM_HYPOTHESIS, about);
    item.values[EVIDENCE_KIND] = word_of(kind);
    item.values[EVIDENCE_STRENGTH] = number_of(strength);
    item.values[EVIDENCE_CREATED] = time_of(1);
    return item;
}

static struct item belief(double confidence)
{
    struct item item = {.id = {ITEM_BELIEF, 0}};
    item.values[BELIEF_STATEMENT] = text_of("it holds");
    item.values[BELIEF_CONFIDENCE] = number_of(confidence);
    item.values[BELIEF_CREATED] = time_of(1);
    return item;
}

static struct item dependency(uint32_t from, uint32_t to, enum dependency_kind kind)
{
    struct item item = {.id = {ITEM_DEPENDENCY, 0}};
    item.values[DEPENDENCY_FROM] = ref_of(ITEM_BELIEF, from);
    item.values[DEPENDENCY_TO] = ref_of(ITEM_BELIEF, to);
    item.values[DEPENDENCY_KIND] = word_of(kind);
    item.values[DEPENDENCY_CREATED] = time_of(1);
    return item;
}

static struct item gap(uint32_t about)
{
    struct item item = {.id = {ITEM_GAP, 0}};
    item.values[GAP_TEXT] = text_of("who writes it?");
    item.values[GAP_KIND] = word_of(GAP_INFORMATION);
    item.values[GAP_CRITICALITY] = word_of(GAP_HIGH);
    item.values[GAP_STATUS] = word_of(GAP_OPEN);
    item.values[GAP_CREATED] = time_of(1);
    if (about)
        item.values[GAP_HYPOTHESIS] = ref_of(ITEM_HYPOTHESIS, about);
    return item;
}

static void put(struct item item)
{
    uint32_t n = item.id.n, last = board.lists[item.id.kind].last;
    ck_assert_msg(board_put(&board, &item, 99, &changes, &failure) == 0, "%s",
                  failure.text);
    ck_assert_uint_eq(item.id.n, n ? n : last + 1);
}

static void refuse(struct item item, const char *why)
{
    uint32_t n = changes.n;
    int missing = strncmp(why, "there is no ", 12) == 0;
    ck_assert_int_eq(board_put(&board, &item, 99, &changes, &failure),
                     missing ? CAIRN_ENOTFOUND : CAIRN_EUSAGE);
    ck_assert_str_eq(failure.text, why);
    ck_assert_uint_eq(changes.n, n);
}

static const struct item *find(uint8_t kind, uint32_t n)
{
    return board_find(&board, (struct item_ref){kind, n});
}

static double confidence_in(uint32_t n)
{
    double confidence = -1;
    ck_assert_int_eq(board_confidence(&board, (struct item_ref){ITEM_HYPOTHESIS, n},
                                      &confidence, &failure),
                     0);
    return confidence;
}

/* ---- Rules ---- */

START_TEST(test_evidence_moves_confidence)
{
    begin();
    put(hypothesis(0.5));
    ck_assert_double_eq(confidence_in(1), 0.5);
    put(evidence(1, EVIDENCE_EXPERIMENT, 1));
    ck_assert_double_eq_tol(confidence_in(1), 0.9, 1e-12);
    put(evidence(1, EVIDENCE_EXPERIMENT, -1));
    ck_assert_double_eq_tol(confidence_in(1), 0.5, 1e-12);
    ck_assert_int_eq(
        board_remove(&board, (struct item_ref){ITEM_EVIDENCE, 1}, &changes, &failure),
        0);
    ck_assert_double_eq_tol(confidence_in(1), 0.1, 1e-12);
    put(evidence(1, EVIDENCE_OBSERVATION, 0.5));
    ck_assert_ptr_nonnull(find(ITEM_EVIDENCE, 3)); /* numbers are used once */
    ck_assert_ptr_null(find(ITEM_EVIDENCE, 1));
    ck_assert_double_eq_tol(confidence_in(1), 0.5, 1e-12);
    end();
}
END_TEST

START_TEST(test_what_is_refused)
{
    begin();
    refuse(hypothesis(1.5), "prior is 1.5; give a number from 0 to 1");
    struct item confirmed = hypothesis(0.5);
    confirmed.values[HYPOTHESIS_STATUS] = word_of(HYPOTHESIS_CONFIRMED);
    refuse(confirmed, "a new hypothesis is proposed, not confirmed");
    refuse(evidence(1, EVIDENCE_EXPERIMENT, 1), "there is no h1");
    put(hypothesis(0.5));
    put(hypothesis(0.5));
    refuse(evidence(1, EVIDENCE_REFERENCE, 0.31),
           "a strength of the kind reference is from -0.3 to 0.3, not 0.31");
    put(evidence(1, EVIDENCE_REFERENCE, 0.3));
    struct item moved = evidence(2, EVIDENCE_REFERENCE, 0.3);
    moved.id.n = 1;
    refuse(moved, "evidence stays with its hypothesis: remove it, and add it to the "
                  "other one");
    confirmed.id.n = 1;
    refuse(confirmed, "a hypothesis that is proposed cannot become confirmed; it can "
                      "become testing or rejected");
    confirmed.id.n = 7;
    refuse(confirmed, "there is no h7");
    confirmed.id.n = 1;
    confirmed.values[HYPOTHESIS_STATUS] = word_of(HYPOTHESIS_TESTING);
    put(confirmed);
    confirmed.values[HYPOTHESIS_STATUS] = word_of(HYPOTHESIS_CONFIRMED);
    put(confirmed);
    refuse(belief(NAN), "the confidence of the belief is not possible");
    ck_assert_int_eq(
        board_remove(&board, (struct item_ref){ITEM_HYPOTHESIS, 1}, &changes, &failure),
        CAIRN_EUSAGE);
    ck_assert_str_eq(failure.text, "h1 is needed by e1: remove that first");
    ck_assert_int_eq(
        board_remove(&board, (struct item_ref){ITEM_GAP, 1}, &changes, &failure),
        CAIRN_ENOTFOUND);
    end();
}
END_TEST

START_TEST(test_dependencies)
{
    begin();
    for (int i = 0; i < 3; i++)
        put(belief(0.5));
    put(dependency(1, 2, DEPENDENCY_CAUSE));
    put(dependency(2, 3, DEPENDENCY_CAUSE));
    struct item circle = dependency(3, 1, DEPENDENCY_CAUSE);
    ck_assert_int_eq(board_put(&board, &circle, 1, &changes, &failure), CAIRN_EUSAGE);
    for (int i = 1; i <= 3; i++) {
        char id[ITEM_ID_MAX];
        snprintf(id, sizeof id, "b%d", i);
        ck_assert_msg(strstr(failure.text, id) != NULL, "%s", failure.text);
    }
    circle = dependency(2, 2, DEPENDENCY_CAUSE);
    ck_assert_int_eq(board_put(&board, &circle, 1, &changes, &failure), CAIRN_EUSAGE);
    refuse(dependency(1, 2, DEPENDENCY_CAUSE), "d1 says that already");
    put(dependency(1, 2, DEPENDENCY_EVIDENCE));
    put(dependency(3, 1, DEPENDENCY_CONTRADICTS));
    struct item changed = dependency(1, 3, DEPENDENCY_CAUSE);
    changed.id.n = 1;
    refuse(changed, "a dependency is not changed: remove it, and add another");
    ck_assert_int_eq(
        board_remove(&board, (struct item_ref){ITEM_BELIEF, 2}, &changes, &failure),
        CAIRN_EUSAGE);
    ck_assert_str_eq(failure.text, "b2 is needed by d1, d2, d3: remove that first");
    end();
}
END_TEST

START_TEST(test_gaps_close)
{
    begin();
    put(hypothesis(0.5));
    put(gap(1));
    put(gap(0));
    put(evidence(1, EVIDENCE_EXPERIMENT, 1));
    ck_assert_uint_eq(find(ITEM_GAP, 1)->values[GAP_STATUS].count, GAP_OPEN); /* 0.9 */
    put(evidence(1, EVIDENCE_OBSERVATION, 0.1));
    ck_assert_uint_eq(find(ITEM_GAP, 1)->values[GAP_STATUS].count, GAP_CLOSED);
    ck_assert_int_eq(find(ITEM_GAP, 1)->values[GAP_ENDED].time_ns, 99);
    ck_assert_uint_eq(find(ITEM_GAP, 2)->values[GAP_STATUS].count, GAP_OPEN);
    ck_assert_uint_eq(changes.n, 6);
    ck_assert(changes.at[5].id.kind == ITEM_GAP && changes.at[5].had);
    put(gap(1)); /* of one that is certain already: a question all the same */
    ck_assert_uint_eq(find(ITEM_GAP, 3)->values[GAP_STATUS].count, GAP_OPEN);
    put(evidence(1, EVIDENCE_OBSERVATION, 0.1)); /* which was certain before */
    ck_assert_uint_eq(find(ITEM_GAP, 3)->values[GAP_STATUS].count, GAP_OPEN);
    put(evidence(1, EVIDENCE_EXPERIMENT, -1));
    put(evidence(1, EVIDENCE_EXPERIMENT, 1));
    ck_assert_uint_eq(find(ITEM_GAP, 3)->values[GAP_STATUS].count, GAP_CLOSED);
    end();
}
END_TEST

START_TEST(test_notes_outlive_what_they_are_about)
{
    struct item_ref about = {ITEM_HYPOTHESIS, 1};
    struct item note = {.id = {ITEM_NOTE, 0}};
    note.values[NOTE_TEXT] = text_of("see the log");
    note.values[NOTE_CREATED] = time_of(1);
    note.values[NOTE_ABOUT] =
        (struct item_value){.present = true, .refs = &about, .n = 1};
    begin();
    refuse(note, "there is no h1");
    put(hypothesis(0.5));
    put(note);
    ck_assert_int_eq(board_remove(&board, about, &changes, &failure), 0);
    note.id.n = 1;
    note.values[NOTE_TEXT] = text_of("see the other log");
    put(note);
    about.n = 2;
    refuse(note, "there is no h2");
    end();
}
END_TEST

/* ---- Random changes ---- */

enum { STEPS = 120 };
static uint64_t seed;

static uint32_t any_number(uint8_t kind)
{
    return 1 + help_below(&seed, board.lists[kind].last + 2);
}

static struct item any_item(void)
{
    switch (help_below(&seed, 6)) {
    case 0:
        return hypothesis((double)help_below(&seed, 12) / 10);
    case 1:
        return evidence(any_number(ITEM_HYPOTHESIS),
                        (enum evidence_kind)(1 + help_below(&seed, 4)),
                        (double)help_below(&seed, 9) / 4 - 1);
    case 2:
        return belief((double)help_below(&seed, 12) / 10);
    case 3:
    case 4:
        return dependency(any_number(ITEM_BELIEF), any_number(ITEM_BELIEF),
                          (enum dependency_kind)(1 + help_below(&seed, 7)));
    default:
        return gap(help_below(&seed, 2) ? any_number(ITEM_HYPOTHESIS) : 0);
    }
}

/* All sections, one after the other. */
static void encode_board(struct buf *out)
{
    for (uint8_t kind = 1; kind < ITEM_KINDS_END; kind++) {
        struct section section = board_section(&board, kind);
        ck_assert_int_eq(section_encode(&section, out, &failure), 0);
    }
}

/* Every ref leads somewhere, no dependency to itself through others. */
static void check_invariants(void)
{
    const struct board_list *all = &board.lists[ITEM_DEPENDENCY];
    uint32_t n = board.lists[ITEM_BELIEF].last + 1;
    bool *reach = calloc((size_t)n * n, sizeof *reach);
    for (uint32_t i = 0; i < all->n; i++) {
        const struct item_value *values = all->items[i].values;
        uint32_t from = values[DEPENDENCY_FROM].ref.n, to = values[DEPENDENCY_TO].ref.n;
        ck_assert(find(ITEM_BELIEF, from) && find(ITEM_BELIEF, to));
        reach[from * n + to] |= values[DEPENDENCY_KIND].count != DEPENDENCY_CONTRADICTS;
    }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; reach[i * n + k] && j < n; j++)
                reach[i * n + j] |= reach[k * n + j];
    for (uint32_t i = 0; i < n; i++)
        ck_assert(!reach[i * n + i]);
    free(reach);
    for (uint32_t i = 0; i < board.lists[ITEM_HYPOTHESIS].n; i++) {
        double confidence = confidence_in(board.lists[ITEM_HYPOTHESIS].items[i].id.n);
        ck_assert(confidence >= 0 && confidence <= 1);
    }
}

/* The changes from the end to the beginning, on a board of their own, lead back. */
static void expect_undone(const struct buf *now, const struct buf *then, uint32_t from)
{
    struct arena arena = ARENA_INIT;
    struct board other;
    struct buf back = BUF_INIT;
    board_init(&other);
    for (uint8_t kind = 1; kind < ITEM_KINDS_END; kind++) {
        struct section section = board_section(&board, kind);
        ck_assert_int_eq(board_load(&other, kind, &section, 0, &failure), 0);
    }
    for (uint32_t i = changes.n; i-- > from;) {
        const struct board_change *change = &changes.at[i];
        struct board_list *list = &other.lists[change->id.kind];
        struct section rest;
        struct item *items = arena_take(&arena, list->n + 1u, sizeof *items);
        uint32_t n = 0;
        bool done = !change->had;
        for (uint32_t k = 0; k < list->n; k++) {
            if (!done && list->items[k].id.n >= change->id.n) {
                items[n++] = change->before;
                done = true;
            }
            if (list->items[k].id.n != change->id.n)
                items[n++] = list->items[k];
        }
        if (!done)
            items[n++] = change->before;
        rest = (struct section){items, n};
        list->n = 0;
        ck_assert_int_eq(board_load(&other, change->id.kind, &rest, 0, &failure), 0);
    }
    for (uint8_t kind = 1; kind < ITEM_KINDS_END; kind++) {
        struct section section = board_section(&other, kind);
        ck_assert_int_eq(section_encode(&section, &back, &failure), 0);
    }
    ck_assert(str_equal(buf_view(&back), buf_view(then)));
    ck_assert(from < changes.n || str_equal(buf_view(now), buf_view(then)));
    buf_release(&back);
    board_release(&other);
    arena_release(&arena);
}

START_TEST(test_random_changes)
{
    seed = 20261123;
    for (int round = 0; round < help_rounds(60, 60); round++) {
        begin();
        for (int step = 0; step < STEPS; step++) {
            struct buf then = BUF_INIT, now = BUF_INIT;
            uint32_t from = changes.n;
            int rc;
            encode_board(&then);
            if (help_below(&seed, 4) == 0) {
                uint8_t kind = (uint8_t)(1 + help_below(&seed, ITEM_KINDS_END - 1));
                struct item_ref id = {kind, any_number(kind)};
                rc = board_remove(&board, id, &changes, &failure);
            } else {
                struct item item = any_item();
                if (help_below(&seed, 3) == 0)
                    item.id.n = any_number(item.id.kind);
                rc = board_put(&board, &item, step, &changes, &failure);
            }
            encode_board(&now);
            ck_assert_msg(rc == 0 || rc == CAIRN_EUSAGE || rc == CAIRN_ENOTFOUND,
                          "%d: %s", rc, failure.text);
            if (rc) {
                ck_assert_uint_eq(changes.n, from);
                ck_assert(str_equal(buf_view(&now), buf_view(&then)));
            }
            check_invariants();
            expect_undone(&now, &then, from);
            buf_release(&now);
            buf_release(&then);
        }
        end();
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("board");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_evidence_moves_confidence);
    tcase_add_test(tests, test_what_is_refused);
    tcase_add_test(tests, test_dependencies);
    tcase_add_test(tests, test_gaps_close);
    tcase_add_test(tests, test_notes_outlive_what_they_are_about);
    tcase_add_test(tests, test_random_changes);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
