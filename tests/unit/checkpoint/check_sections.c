/* SPDX-License-Identifier: MIT */
/* The payload of debug records: round trips, limits, and bytes that must be refused
 * although their hash is right. */
#include "tests/support/sessions/sections.h"

#include "base/limits.h"
#include "checkpoint/payload.h"

static struct str encoded(const struct sections *s, struct buf *payload)
{
    struct cairn_error error = {0};
    buf_clear(payload);
    int rc = sections_encode(s, payload, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    return buf_view(payload);
}

START_TEST(round_trips)
{
    struct lab lab = {.seed = 15};
    struct buf payload = BUF_INIT, again = BUF_INIT;
    for (int i = 0; i < 500; i++) {
        struct arena in = ARENA_INIT, out = ARENA_INIT;
        struct sections found, s = sections_random(&lab, &in);
        struct str bytes = encoded(&s, &payload);
        ck_assert_int_eq(sections_decode(&out, bytes, &found, NULL), 0);
        ck_assert(sections_same(&s, &found));
        arena_release(&in); /* everything is copied */
        ck_assert(str_equal(bytes, encoded(&found, &again)));
        arena_release(&out);
    }
    buf_release(&payload);
    buf_release(&again);
}
END_TEST

/* Whatever is taken is written again as the very same bytes. */
START_TEST(one_encoding)
{
    struct lab lab = {.seed = 16};
    struct buf payload = BUF_INIT, again = BUF_INIT;
    int taken = 0;
    for (int i = 0; i < 40000; i++) {
        struct arena in = ARENA_INIT, out = ARENA_INIT;
        struct sections found, s = sections_random(&lab, &in);
        if (i % 40 == 0)
            encoded(&s, &payload);
        uint32_t at = lab_below(&lab, (uint32_t)payload.size);
        char before = payload.data[at];
        payload.data[at] = (char)(before ^ (1 << lab_below(&lab, 8)));
        if (sections_decode(&out, buf_view(&payload), &found, NULL) == 0) {
            ck_assert(str_equal(buf_view(&payload), encoded(&found, &again)));
            taken++;
        }
        payload.data[at] = before;
        arena_release(&in);
        arena_release(&out);
    }
    ck_assert_int_gt(taken, 1000); /* a digest or a message may be any */
    buf_release(&payload);
    buf_release(&again);
}
END_TEST

START_TEST(cut_and_grown)
{
    struct lab lab = {.seed = 17};
    struct arena in = ARENA_INIT;
    struct sections found, s = sections_random(&lab, &in);
    struct buf payload = BUF_INIT;
    struct cairn_error error = {0};
    struct str bytes = encoded(&s, &payload);
    for (size_t n = 0; n < bytes.len; n++) {
        struct arena out = ARENA_INIT;
        struct str cut = {bytes.ptr, n};
        ck_assert_int_eq(sections_decode(&out, cut, &found, &error), CAIRN_EDAMAGED);
        arena_release(&out);
    }
    buf_byte(&payload, 0);
    ck_assert_int_eq(sections_decode(&in, buf_view(&payload), &found, &error),
                     CAIRN_EDAMAGED);
    buf_release(&payload);
    arena_release(&in);
}
END_TEST

/* ---- Limits: at each, and one past it ---- */

static void refuse(const struct sections *s, const char *part)
{
    struct buf payload = BUF_INIT;
    struct cairn_error error = {0};
    ck_assert_int_eq(sections_encode(s, &payload, &error), CAIRN_EUSAGE);
    ck_assert_msg(strstr(error.text, part) != NULL, "%s", error.text);
    ck_assert_uint_eq(payload.size, 0);
}

static void take(const struct sections *s)
{
    struct arena arena = ARENA_INIT;
    struct buf payload = BUF_INIT;
    struct sections found;
    ck_assert_int_eq(sections_decode(&arena, encoded(s, &payload), &found, NULL), 0);
    ck_assert(sections_same(s, &found));
    buf_release(&payload);
    arena_release(&arena);
}

static char letters[CHECKPOINT_MESSAGE_BYTES + 1];

static struct str many(size_t n)
{
    memset(letters, 'x', sizeof letters);
    return (struct str){letters, n};
}

START_TEST(limits_of_texts)
{
    struct str tag[1];
    struct sections s = {.message = many(CHECKPOINT_MESSAGE_BYTES)};
    take(&s);
    s.message.len++;
    refuse(&s, "message");
    s.message = STR("caf\xc3");
    refuse(&s, "message");
    s.message = STR("a\0b");
    refuse(&s, "message");
    s.message = STR("");
    s.boot = many(CHECKPOINT_BOOT_BYTES);
    take(&s);
    s.boot.len++;
    refuse(&s, "boot");
    s.boot.len = 0;
    s.boot_ns = -1;
    refuse(&s, "boot");
    s.boot_ns = INT64_MAX;
    s.tags = tag;
    s.n_tags = 1;
    tag[0] = many(CHECKPOINT_TAG_BYTES);
    take(&s);
    tag[0].len++;
    refuse(&s, "tag");
    tag[0].len = 0;
    refuse(&s, "tag");
    tag[0] = STR("one,two");
    refuse(&s, "comma");
}
END_TEST

START_TEST(limits_of_numbers)
{
    struct str tags[CHECKPOINT_TAGS_MOST + 1];
    struct sections s = {.tags = tags, .n_tags = CHECKPOINT_TAGS_MOST};
    for (size_t i = 0; i <= CHECKPOINT_TAGS_MOST; i++)
        tags[i] = STR("t");
    take(&s);
    s.n_tags++;
    refuse(&s, "64 tags");
    s.n_tags = 0;
    s.n = SECTIONS_MOST;
    for (uint8_t i = 0; i < SECTIONS_MOST; i++)
        s.list[i] = (struct section_ref){.kind = (uint8_t)(i + 1), .digest = {{i + 1}}};
    s.list[SECTIONS_MOST - 1].kind = UINT8_MAX;
    s.list[0].n = s.list[0].last = UINT32_MAX;
    take(&s);
    s.n++;
    refuse(&s, "32 sections");
    s.n = 2;
    s.list[1].kind = 1;
    refuse(&s, "not in order");
    s.list[0].kind = 0;
    refuse(&s, "not in order");
    s.list[0].kind = 1;
    s.list[1] = (struct section_ref){.kind = 2};
    refuse(&s, "no digest");
}
END_TEST

START_TEST(limits_of_links)
{
    struct task_link good = {.run = INT64_MAX,
                             .seq = INT64_MAX,
                             .task = many(LIMIT_ID_BYTES),
                             .attempt = UINT32_MAX,
                             .end = 2,
                             .code = UINT32_MAX,
                             .tail = many(CHECKPOINT_TAIL_BYTES)};
    struct sections s = {.linked = true, .link = good};
    take(&s);
    s.link.tail = STR("\xff\0\xfe"); /* a task may write anything */
    take(&s);
    s.link.tail = many(CHECKPOINT_TAIL_BYTES + 1);
    refuse(&s, "output");
    s.link = good;
    s.link.task.len++;
    refuse(&s, "id of its task");
    s.link.task.len = 0;
    refuse(&s, "id of its task");
    s.link = good;
    s.link.end = 3;
    refuse(&s, "unknown way");
    s.link = good;
    s.link.run = 0;
    refuse(&s, "run");
    s.link.run = (uint64_t)INT64_MAX + 1;
    refuse(&s, "run");
    s.link = good;
    s.link.seq = (uint64_t)INT64_MAX + 1;
    refuse(&s, "run or a checkpoint");
    s.linked = false; /* what is there then does not count */
    s.link.end = 9;
    struct buf payload = BUF_INIT;
    encoded(&s, &payload);
    buf_release(&payload);
}
END_TEST

/* ---- Sound images that hold anything else ---- */

static void expect_damaged(struct str head, struct str list, const char *part)
{
    struct arena arena = ARENA_INIT;
    struct buf payload = BUF_INIT, packed = BUF_INIT;
    struct cairn_error error = {0};
    struct sections found;
    buf_str(&packed, list);
    ck_assert_int_eq(payload_sections(1, head, &packed, &payload, &error), 0);
    int rc = sections_decode(&arena, buf_view(&payload), &found, &error);
    ck_assert_msg(rc == CAIRN_EDAMAGED && strstr(error.text, part), "%d %s", rc,
                  error.text);
    buf_release(&payload);
    buf_release(&packed);
    arena_release(&arena);
}

START_TEST(other_images_are_refused)
{
    static const char none[] = "\0", bad_flag[] = "\1\0\0\0\0\0\0\0\0\0\0\0\2";
    static const char good[] = "\1\0\0\0\0\0\0\0\0\0\0\0";
    static const char version[] = "\2\0\0\0\0\0\0\0\0\0\0\0";
    struct str list = {none, 1}, head = {good, sizeof good};
    expect_damaged((struct str){version, sizeof version}, list, "unknown version");
    expect_damaged((struct str){bad_flag, sizeof bad_flag - 1}, list, "not whole");
    expect_damaged(head, STR("\x21"), "list");        /* 33 of them */
    expect_damaged(head, STR("\x80\0"), "list");      /* a longer zero */
    expect_damaged(head, STR("\1\1\0\0abc"), "list"); /* a short digest */
    expect_damaged(head, STR("\1\0\0\0abcdefghijklmnopqrstuvwxyz012345"), "order");
    struct buf longer = BUF_INIT;
    buf_str(&longer, head);
    buf_byte(&longer, 0);
    expect_damaged(buf_view(&longer), list, "not whole");
    buf_release(&longer);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, round_trips);
    tcase_add_test(tests, one_encoding);
    tcase_add_test(tests, cut_and_grown);
    tcase_add_test(tests, limits_of_texts);
    tcase_add_test(tests, limits_of_numbers);
    tcase_add_test(tests, limits_of_links);
    tcase_add_test(tests, other_images_are_refused);
}

int main(void)
{
    return lab_run_suite("sections", add);
}
