/* SPDX-License-Identifier: MIT */
/* make: wrap=malloc,calloc,realloc */
/* Each allocation refused in turn: CAIRN_ENOMEM, and the output is left alone, until
 * nothing is refused any more. */
#include "checkpoint/sections.h"

#include "tests/support/memory/refuse_allocations.h"
#include "tests/support/suite.h"

#include <stdlib.h>

/* libcheck allocates, too. */
static int disarmed(int rc)
{
    allocations_left = 0;
    return rc;
}

static char long_text[9000]; /* more than an arena takes at once */
static struct str tags[] = {STR("auto"), STR("task-failed")};
static struct sections what = {.trigger = 14,
                               .tags = tags,
                               .n_tags = 2,
                               .linked = true,
                               .link = {.run = 7, .task = STR("publish")},
                               .list = {{.kind = 1, .digest = {{1}}}},
                               .n = 1};
static struct cairn_error failure;

static int encode(struct buf *payload)
{
    memset(long_text, 'x', sizeof long_text);
    what.message = (struct str){long_text, sizeof long_text};
    what.link.tail = what.message;
    return sections_encode(&what, payload, &failure);
}

START_TEST(encoding)
{
    int rc = CAIRN_ENOMEM;
    long n = 0;
    while (rc) {
        struct buf payload = BUF_INIT;
        allocations_left = ++n;
        rc = disarmed(encode(&payload));
        ck_assert_msg(rc == 0 || rc == CAIRN_ENOMEM, "%ld: %d", n, rc);
        ck_assert(rc == 0 || payload.size == 0);
        buf_release(&payload);
    }
    ck_assert_int_gt(n, 3);
}
END_TEST

static int decode(struct str payload)
{
    struct arena arena = ARENA_INIT;
    struct sections found = {.trigger = 99};
    int rc = disarmed(sections_decode(&arena, payload, &found, &failure));
    ck_assert_uint_eq(found.trigger, rc ? 99 : 14);
    arena_release(&arena);
    return rc;
}

static int describe(struct str payload)
{
    struct cairn_checkpoint_info info = {0};
    struct sound_record record = {.header = {.namespace_id = NAMESPACE_DEBUG,
                                             .kind = RECORD_FULL,
                                             .stream = 1,
                                             .seq = 1,
                                             .position = 1,
                                             .payload_bytes = (uint32_t)payload.len},
                                  .payload = payload,
                                  .bytes = RECORD_HEADER_BYTES + payload.len};
    return disarmed(sections_kind.describe(&record, &info, &failure));
}

static void refuse_each(int (*read)(struct str payload))
{
    struct buf payload = BUF_INIT;
    int rc = CAIRN_ENOMEM;
    long n = 0;
    ck_assert_int_eq(encode(&payload), 0);
    while (rc) {
        allocations_left = ++n;
        rc = read(buf_view(&payload));
        ck_assert_msg(rc == 0 || rc == CAIRN_ENOMEM, "%ld: %d", n, rc);
    }
    ck_assert_int_gt(n, 3);
    buf_release(&payload);
}

START_TEST(decoding)
{
    refuse_each(decode);
}
END_TEST

START_TEST(describing)
{
    refuse_each(describe);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sections_memory");
    TCase *tests = tcase_create("sections_memory");
    tcase_add_test(tests, encoding);
    tcase_add_test(tests, decoding);
    tcase_add_test(tests, describing);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
