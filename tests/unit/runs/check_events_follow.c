/* SPDX-License-Identifier: MIT */
/* make: tsan */
/* The audit log, followed while it grows, and read in parts. */
#include "tests/support/runs/events.h"

/* Adds a random turn to the run: some open attempts end, others start. */
struct history {
    unsigned seed;
    uint64_t turn;
    struct attempt_row open[64];
    size_t n_open;
    uint32_t numbers[3][3];
};

static unsigned pick(struct history *h, unsigned n)
{
    return (unsigned)rand_r(&h->seed) % n;
}

static void end_one(struct history *h)
{
    if (h->n_open == 0)
        return;
    size_t i = pick(h, (unsigned)h->n_open);
    struct attempt_row row = h->open[i];
    h->open[i] = h->open[--h->n_open];
    row.started_ns = 1500;
    row.ended_ns = 2000;
    row.end_turn = h->turn;
    row.outcome = (uint8_t)(1 + pick(h, 2));
    if (pick(h, 4) == 0)
        row.flags |= ATTEMPT_RETRY;
    put_attempt(row);
}

static void start_one(struct history *h)
{
    uint32_t gen = 1 + pick(h, 2), task = pick(h, gen == 1 ? 3 : 2);
    struct attempt_row row = {.run = 1,
                              .gen = gen,
                              .task = task,
                              .number = ++h->numbers[gen][task],
                              .intent_ns = 1000 + (int64_t)h->turn,
                              .exit_code = -1,
                              .flags = pick(h, 3) ? 0 : ATTEMPT_UNDO,
                              .start_turn = h->turn};
    if (h->n_open == 64)
        return;
    good(store_put_intent(store, &row, &error));
    h->open[h->n_open++] = row;
}

static void add_turn(struct history *h)
{
    good(store_begin(store, 0, &error));
    h->turn++;
    for (unsigned n = 1 + pick(h, 6); n > 0; n--) {
        switch (pick(h, 4)) {
        case 0:
            end_one(h);
            break;
        case 1:
            put_event(h->turn, (uint8_t)(1 + pick(h, 11)), 1, pick(h, 3), STR("\1\1"));
            break;
        default:
            start_one(h);
        }
    }
    good(store_commit(store, &error));
}

static void read_in_windows(struct buf *text, size_t window)
{
    struct event_display display = {.each = add_long, .context = text, .error = &error};
    buf_clear(text);
    good(events_in_windows(store, 1, 0, &display, window));
    if (!text->size)
        buf_text(text, "");
}

/* Whoever follows a live run has been told what the whole log tells afterwards, and in
 * the same order and words; whatever fits into memory at a time. */
START_TEST(following_is_the_same)
{
    struct history h = {.seed = (unsigned)random_u64()};
    struct buf told = BUF_INIT, whole = BUF_INIT;
    uint64_t last = 0;
    printf("seed %u\n", h.seed);
    put_run();
    for (int i = 0; i < 150; i++) {
        add_turn(&h);
        if (pick(&h, 3))
            continue;
        good(cairn_events(store, 1, last, add_long, &told, &last, &error));
        ck_assert_uint_le(last, h.turn);
    }
    good(cairn_events(store, 1, last, add_long, &told, &last, &error));
    ck_assert_uint_gt(told.size, 3000);
    static const size_t windows[] = {1, 2, 7, 50, 400, 100000};
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        read_in_windows(&whole, windows[i]);
        ck_assert_msg(str_equal(buf_view(&told), buf_view(&whole)),
                      "seed and window %zu: not the same", windows[i]);
    }
    buf_release(&told);
    buf_release(&whole);
}
END_TEST

struct limited {
    struct buf *text;
    unsigned left;
};

static int add_limited(void *context, const struct cairn_log_event *event)
{
    struct limited *l = context;
    add_long(l->text, event);
    return --l->left == 0;
}

/* What was left out when the window was narrowed is told, even if nothing came later.
 */
START_TEST(narrowing_loses_nothing)
{
    struct buf text = BUF_INIT;
    put_run();
    good(store_begin(store, 0, &error));
    put_attempt((struct attempt_row){.task = 0, .start_turn = 5});
    put_attempt((struct attempt_row){.task = 1, .start_turn = 6});
    put_attempt((struct attempt_row){.task = 2, .start_turn = 1});
    good(store_commit(store, &error));
    struct event_display display = {
        .each = add_short, .context = &text, .error = &error};
    good(events_in_windows(store, 1, 0, &display, 2));
    ck_assert_str_eq(text.data,
                     "1 task_intended c.1\n5 task_intended a.1\n6 task_intended b.1\n");
    buf_release(&text);
}
END_TEST

/* Who stops early and continues after the last whole turn loses nothing. */
START_TEST(stopping_loses_nothing)
{
    struct history h = {.seed = 11};
    struct buf whole = BUF_INIT, part = BUF_INIT;
    put_run();
    for (int i = 0; i < 30; i++) {
        add_turn(&h);
        good(store_begin(store, 0, &error)); /* one that ends with a list */
        put_list(++h.turn, EVENT_SKIPPED, 0, 0);
        good(store_commit(store, &error));
    }
    good(cairn_events(store, 1, 0, add_long, &whole, NULL, &error));
    for (unsigned n = 1; n < 60; n++) {
        struct limited limited = {.text = &part, .left = n};
        struct buf before = BUF_INIT;
        uint64_t last = 0;
        buf_clear(&part);
        good(cairn_events(store, 1, 0, add_limited, &limited, &last, &error));
        ck_assert(part.size <= whole.size);
        ck_assert_mem_eq(part.data, whole.data, part.size);
        /* What was told up to `last`, and what comes after it, is everything. */
        good(cairn_events(store, 1, last, add_long, &before, NULL, &error));
        ck_assert_uint_le(whole.size - before.size, part.size);
        ck_assert_mem_eq(whole.data + whole.size - before.size, before.data,
                         before.size);
        buf_release(&before);
    }
    buf_release(&whole);
    buf_release(&part);
}
END_TEST

/* A callback may read the store and follow its own log. */
static int count_all(void *context, const struct cairn_log_event *event)
{
    (void)event;
    ++*(int *)context;
    return 0;
}

static int read_again(void *context, const struct cairn_log_event *event)
{
    int n = 0;
    (void)event;
    good(cairn_events(store, 1, 0, count_all, &n, NULL, &error));
    ck_assert_int_gt(n, 0);
    ++*(int *)context;
    return 0;
}

START_TEST(callbacks_may_read)
{
    struct history h = {.seed = 5};
    int n = 0, all = 0;
    put_run();
    for (int i = 0; i < 10; i++)
        add_turn(&h);
    good(cairn_events(store, 1, 0, count_all, &all, NULL, &error));
    good(cairn_events(store, 1, 0, read_again, &n, NULL, &error));
    ck_assert_int_eq(n, all);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {narrowing_loses_nothing, following_is_the_same,
                                  stopping_loses_nothing, callbacks_may_read};
    return run_events("events_follow", tests, sizeof tests / sizeof tests[0]);
}
