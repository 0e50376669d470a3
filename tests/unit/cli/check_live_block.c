/* SPDX-License-Identifier: MIT */
/* The live block, frame by frame, at terminals of 40, 80 and 200 columns; and how many
 * rows it takes after the terminal was made narrower. */
#include "cli/display.h"

#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct live live;
static struct block block;

static void setup(void)
{
    live = (struct live){0};
    memset(&block, 0, sizeof block);
}

static void teardown(void)
{
    live_release(&live);
}

static void put(uint32_t node, enum live_state state, const char *id, int64_t ms)
{
    struct live_task task = {.node = node, .attempt = 1, .state = state, .ms = ms};
    snprintf(task.id, sizeof task.id, "%s", id);
    live_put(&live, &task);
}

static void line(uint32_t node, const char *bytes)
{
    live_text(&live, node, bytes, strlen(bytes));
}

static struct live_view view(int width, int height)
{
    return (struct live_view){.live = &live,
                              .width = width,
                              .height = height,
                              .now_ms = 100000,
                              .run = 7,
                              .hint = "",
                              .failed = "",
                              .done = 12,
                              .total = 40,
                              .running = 3,
                              .rate = 2};
}

static void expect(const struct live_view *v, const char *wanted)
{
    char frame[BLOCK_LINES * BLOCK_LINE] = "";
    size_t used = 0;
    block_reset(&block, v->width);
    live_draw(v, &block);
    ck_assert_int_le(block.lines, v->height > 4 ? v->height - 1 : 4);
    for (int i = 0; i < block.lines; i++) {
        ck_assert_uint_lt(strlen(block.text[i]), (size_t)v->width);
        used +=
            (size_t)snprintf(frame + used, sizeof frame - used, "%s\n", block.text[i]);
    }
    ck_assert_str_eq(frame, wanted);
}

static void three_running(void)
{
    put(1, LIVE_RUNS, "compile[target=x86_64-unknown-linux-gnu,mode=release]", 9000);
    put(2, LIVE_RUNS, "lint", 98500);
    put(3, LIVE_RUNS, "test", 99990);
    line(1, "one\ntwo\rcompiling crate 7 of 60 with all optimisations\r\n");
    line(2, "\033[31mred\033[0m \033[2Jalarm\a\n\n");
}

START_TEST(running_at_three_widths)
{
    three_running();
    struct live_view v = view(40, 24);
    expect(&v, "[12/40] 3 running  2.0/s  eta 14s\n"
               "  compile[targe..mode=release]   1m31s\n"
               "  lint                            1.5s\n"
               "  test                           0.01s\n");
    v = view(80, 24);
    expect(&v,
           "[12/40] 3 running  2.0/s  eta 14s\n"
           "  compile[target=x86_..x-gnu,mode=release]   1m31s  compiling crate 7 of "
           "60 wit\n"
           "  lint                                        1.5s  red ^[[2Jalarm^G\n"
           "  test                                       0.01s\n");
    v = view(200, 24);
    expect(&v,
           "[12/40] 3 running  2.0/s  eta 14s\n"
           "  compile[target=x86_64-unknown-linux-gnu,mode=release]   1m31s  compiling "
           "crate 7 of 60 with all optimisations\n"
           "  lint                                                     1.5s  red "
           "^[[2Jalarm^G\n"
           "  test                                                    0.01s\n");
}
END_TEST

START_TEST(as_many_as_fit)
{
    char id[32];
    for (uint32_t i = 0; i < 50; i++) {
        snprintf(id, sizeof id, "t[n=%u]", i);
        put(i, LIVE_RUNS, id, 95000);
    }
    struct live_view v = view(80, 8);
    v.running = 40; /* ten have ended, and were not told yet */
    expect(&v, "[12/40] 40 running  2.0/s  eta 14s\n"
               "  t[n=0]    5.0s\n"
               "  t[n=1]    5.0s\n"
               "  t[n=2]    5.0s\n"
               "  t[n=3]    5.0s\n"
               "  and 36 more\n");
    v = view(80, 3); /* hardly any room */
    v.running = 40;
    expect(&v, "[12/40] 40 running  2.0/s  eta 14s\n"
               "  and 40 more\n");
}
END_TEST

START_TEST(a_retry_counts_down)
{
    put(1, LIVE_RETRIES, "fetch", 112001);
    struct live_view v = view(80, 24);
    v.running = 0;
    expect(&v, "[12/40] 0 running  2.0/s  eta 14s\n"
               "  fetch     13s  until attempt 2\n");
    v.now_ms = 111100;
    expect(&v, "[12/40] 0 running  2.0/s  eta 14s\n"
               "  fetch      1s  until attempt 2\n");
    put(1, LIVE_RUNS, "fetch", 111100); /* in its place */
    ck_assert_uint_eq(live.n, 1);
    ck_assert_uint_eq(live.count[LIVE_RETRIES], 0);
}
END_TEST

START_TEST(waiting_says_what_to_type)
{
    put(1, LIVE_WAITS, "approve it", 0);
    snprintf(live.at[0].text, LIVE_TEXT, "Look at the result");
    struct live_view v = view(80, 24);
    v.running = 0;
    expect(&v, "[12/40] waits for somebody to do 1 task\n"
               "  approve it waits: Look at the result\n"
               "    cairn complete 7 'approve it'\n");
    put(2, LIVE_WAITS, "b", 0);
    put(3, LIVE_WAITS, "c", 0);
    put(4, LIVE_RUNS, "test", 99000);
    v.running = 1;
    v.hint = " --store s";
    expect(&v, "[12/40] 1 running\n"
               "  test    1.0s\n"
               "  approve it waits: Look at the result\n"
               "    cairn complete 7 'approve it' --store s\n"
               "  b waits:\n"
               "    cairn complete 7 b --store s\n"
               "  1 more waits: cairn next 7 --store s\n");
}
END_TEST

START_TEST(nothing_new_starts)
{
    put(1, LIVE_RUNS, "test", 99000);
    struct live_view v = view(80, 24);
    v.running = 1;
    v.stopping = true;
    v.left = 2;
    v.failed = "lint";
    expect(&v, "[12 done, 2 left] nothing new starts: lint failed\n"
               "  test    1.0s\n");
    v.failed = "";
    expect(&v, "[12 done, 2 left] nothing new starts\n"
               "  test    1.0s\n");
}
END_TEST

/* A terminal that wraps lines anew has more rows to go up; one that became wider, or
 * cuts lines off, has not. */
START_TEST(rows_after_a_resize)
{
    block.painted = 3;
    block.painted_width = 80;
    block.columns[0] = 10;
    block.columns[1] = 79;
    block.columns[2] = 40;
    ck_assert_int_eq(block_rows(&block, 80, true), 3);
    ck_assert_int_eq(block_rows(&block, 200, true), 3);
    ck_assert_int_eq(block_rows(&block, 40, true), 4);
    ck_assert_int_eq(block_rows(&block, 39, true), 6);
    ck_assert_int_eq(block_rows(&block, 39, false), 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("live_block");
    TCase *tests = tcase_create("live");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, running_at_three_widths);
    tcase_add_test(tests, as_many_as_fit);
    tcase_add_test(tests, a_retry_counts_down);
    tcase_add_test(tests, waiting_says_what_to_type);
    tcase_add_test(tests, nothing_new_starts);
    tcase_add_test(tests, rows_after_a_resize);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
