/* SPDX-License-Identifier: MIT */
/* The end of a line of messages as bytes: round trips, and bytes that must be refused.
 */
#include "checkpoint/messages/line.h"

#include "storage/sessions/rows_message.h"
#include "tests/support/random.h"
#include "tests/support/suite.h"

static const struct message_line some = {.n = 300,
                                         .position = 200,
                                         .tokens_in = 1u << 20,
                                         .tokens_out = 7,
                                         .chain = {{1, 2, 3}},
                                         .model = {"m-1", 3},
                                         .prompt = {"why \xc3\xa4", 6}};

static bool same(const struct message_line *a, const struct message_line *b)
{
    return a->n == b->n && a->position == b->position && a->tokens_in == b->tokens_in &&
           a->tokens_out == b->tokens_out && digest_equal(&a->chain, &b->chain) &&
           str_equal(a->model, b->model) && str_equal(a->prompt, b->prompt);
}

START_TEST(round_trips)
{
    const struct message_line empty = {.n = 0};
    const struct message_line *const lines[] = {&some, &empty};
    for (size_t i = 0; i < 2; i++) {
        struct buf bytes = BUF_INIT;
        struct message_line found;
        ck_assert_int_eq(message_line_encode(lines[i], &bytes, NULL), 0);
        ck_assert_int_eq(message_line_decode(buf_view(&bytes), &found, NULL), 0);
        ck_assert(same(lines[i], &found));
        buf_release(&bytes);
    }
}
END_TEST

/* Whatever is taken is written again as the very same bytes. */
START_TEST(one_encoding)
{
    struct buf bytes = BUF_INIT, again = BUF_INIT;
    uint64_t seed = 3;
    int taken = 0, refused = 0;
    ck_assert_int_eq(message_line_encode(&some, &bytes, NULL), 0);
    for (int i = 0; i < 20000; i++) {
        struct message_line found;
        uint32_t at = help_below(&seed, (uint32_t)bytes.size);
        char before = bytes.data[at];
        bytes.data[at] = (char)(before ^ (1 << help_below(&seed, 8)));
        if (message_line_decode(buf_view(&bytes), &found, NULL) == 0) {
            buf_clear(&again);
            ck_assert_int_eq(message_line_encode(&found, &again, NULL), 0);
            ck_assert(str_equal(buf_view(&bytes), buf_view(&again)));
            taken++;
        } else {
            refused++;
        }
        bytes.data[at] = before;
    }
    ck_assert_int_gt(taken, 1000);
    ck_assert_int_gt(refused, 1000);
    for (size_t n = 0; n < bytes.size; n++) {
        struct message_line found;
        ck_assert_int_ne(message_line_decode((struct str){bytes.data, n}, &found, NULL),
                         0);
    }
    buf_release(&bytes);
    buf_release(&again);
}
END_TEST

static int encodes(struct message_line line)
{
    struct buf bytes = BUF_INIT;
    int rc = message_line_encode(&line, &bytes, NULL);
    buf_release(&bytes);
    return rc;
}

START_TEST(refused)
{
    char large[MESSAGE_PROMPT_BYTES + 1];
    memset(large, 'x', sizeof large);
    struct message_line line = some;
    line.prompt = (struct str){large, MESSAGE_PROMPT_BYTES};
    ck_assert_int_eq(encodes(line), 0);
    line.prompt.len++;
    ck_assert_int_eq(encodes(line), CAIRN_EUSAGE);
    line = some;
    line.model = STR("\xff");
    ck_assert_int_eq(encodes(line), CAIRN_EUSAGE);
    line = some;
    line.model = (struct str){"a\0b", 3};
    ck_assert_int_eq(encodes(line), CAIRN_EUSAGE);
    line = some;
    line.n = 0; /* and yet it has messages */
    ck_assert_int_eq(encodes(line), CAIRN_EUSAGE);
    line = some;
    line.position = 301;
    ck_assert_int_eq(encodes(line), CAIRN_EUSAGE);
    struct message_line found;
    ck_assert_int_eq(message_line_decode(STR("\x02\0\0"), &found, NULL), CAIRN_ENEWER);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("message_line");
    TCase *tests = tcase_create("message_line");
    tcase_add_test(tests, round_trips);
    tcase_add_test(tests, one_encoding);
    tcase_add_test(tests, refused);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
