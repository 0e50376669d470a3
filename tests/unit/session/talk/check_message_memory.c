/* SPDX-License-Identifier: MIT */
/* make: wrap=malloc,calloc,realloc */
/* Each allocation refused in turn while messages are added, imported, read and
 * checkpointed: CAIRN_ENOMEM, and nothing has changed, until nothing is refused any
 * more. */
#include "cairn/message.h"
#include "cairn/session.h"
#include "tests/support/memory/refuse_allocations.h"
#include "tests/support/remove_tree.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct cairn_store *store;
static char large[100000];
static struct cairn_error error;

static void good(int rc)
{
    ck_assert_msg(rc == 0, "%s", error.text);
}

/* ---- What is done ---- */

static int add_small(void)
{
    struct cairn_new_message message = {.role = "assistant",
                                        .model = "m",
                                        .text = "a \xff ghp_0123456789abcdefghijABCDEFG"
                                                "HIJ012345",
                                        .bytes = 44};
    return cairn_message_add(store, NULL, &message, NULL, &error);
}

static int add_large(void)
{
    struct cairn_new_message message = {.text = large, .bytes = sizeof large};
    return cairn_message_add(store, NULL, &message, NULL, &error);
}

static int64_t read_lines(void *context, char *bytes, size_t n)
{
    static const char text[] =
        "{\"type\":\"assistant\",\"uuid\":\"u1\",\"message\":{\"id\":\"a\",\"model\":"
        "\"m\",\"content\":\"say \\\"ghp_0123456789abcdefghijABCDEFGHIJ012345\\\"\","
        "\"usage\":{\"output_tokens\":4}}}\n"
        "not JSON, but ghp_0123456789abcdefghijABCDEFGHIJ012345\n"
        "{\"role\":\"user\",\"content\":\"same\"}\n{\"role\":\"user\",\"content\":"
        "\"same\"}"
        "\n";
    size_t *at = context, part = sizeof text - 1 - *at;
    part = part < n ? part : n;
    memcpy(bytes, text + *at, part);
    *at += part;
    return (int64_t)part;
}

static int import(void)
{
    size_t at = 0;
    return cairn_message_import(store, NULL, "f", read_lines, NULL, &at, NULL, &error);
}

static int pass(void *context, const struct cairn_message *message)
{
    (void)context;
    (void)message;
    return 0;
}

static int list(void)
{
    return cairn_message_list(store, NULL, NULL, 0, pass, NULL, NULL, &error);
}

static int checkpoint(void)
{
    struct cairn_capture capture = {.message = "x"};
    return cairn_session_checkpoint(store, NULL, &capture, NULL, &error);
}

static int check_context(void *context, const struct cairn_context *found)
{
    (void)context;
    ck_assert_str_eq(found->summary, "a key: [REDACTED]");
    ck_assert_str_eq(found->state, "a state");
    ck_assert_uint_eq(found->n_pairs, 2);
    ck_assert_str_eq(found->pairs[0].key, "a");
    ck_assert_str_eq(found->git_branch, "main");
    ck_assert_str_eq(found->git_commit, "0123456789012345678901234567890123456789");
    return 0;
}

/* Nothing of it is left out silently. */
static int keep_context(void)
{
    static const struct cairn_context_pair pairs[] = {{"b", "1"}, {"a", "2"}};
    static const char *const tags[] = {"one"};
    const struct cairn_context context = {
        .summary = "a key: ghp_0123456789abcdefghijABCDEFGHIJ012345",
        .pairs = pairs,
        .n_pairs = 2,
        .state = "a state"};
    struct cairn_capture capture = {.tags = tags, .n_tags = 1, .context = &context};
    struct cairn_captured made;
    int rc = cairn_session_checkpoint(store, NULL, &capture, &made, &error);
    long rest = allocations_left;
    allocations_left = 0;
    if (!rc)
        good(cairn_checkpoint_context(store, made.id, check_context, NULL, &error));
    allocations_left = rest;
    return rc;
}

static int ignore_context(void *context, const struct cairn_context *found)
{
    *(bool *)context = found->given;
    return 0;
}

static int look_at_context(void)
{
    struct cairn_checkpoint_info info;
    bool given = false;
    int rc = cairn_session_newest_context(store, NULL, 0, &info, &error);
    if (!rc)
        rc = cairn_checkpoint_context(store, info.id, ignore_context, &given, &error);
    long rest = allocations_left;
    allocations_left = 0;
    ck_assert(rc || given);
    allocations_left = rest;
    return rc;
}

static int get_info(void *context, const struct cairn_session_checkpoint_info *info)
{
    *(bool *)context = info->messages != NULL;
    return 0;
}

static int look(void)
{
    bool has = false;
    int rc = cairn_session_checkpoint_get(store, "1", get_info, &has, &error);
    long rest = allocations_left;
    allocations_left = 0; /* libcheck allocates, too */
    ck_assert(rc || has);
    allocations_left = rest;
    return rc;
}

/* ---- Each in turn ---- */

static const struct {
    int (*do_it)(void);
    uint64_t adds;
} parts[] = {{add_small, 1}, {add_large, 1},    {import, 4},
             {list, 0},      {checkpoint, 0},   {look, 0},
             {import, 0},    {keep_context, 0}, {look_at_context, 0}};

static uint64_t count_messages(void)
{
    struct cairn_message_line line;
    good(cairn_message_list(store, NULL, NULL, 1, pass, NULL, &line, &error));
    return line.messages;
}

/* A refusal may also be passed over, where what is done does not need it: files of an
 * earlier restore that wait, for instance. Then it was done. */
static void refuse_each(int (*do_it)(void), uint64_t adds)
{
    bool passed = false; /* nothing is refused any more */
    int refused = 0, failed = 0;
    for (; !passed; refused++) {
        uint64_t before = count_messages();
        error = (struct cairn_error){0};
        allocations_left = refused + 1;
        int rc = do_it();
        passed = allocations_left > 0;
        allocations_left = 0;
        uint64_t added = count_messages() - before;
        ck_assert_msg(rc == 0 || rc == CAIRN_ENOMEM, "%s", error.text);
        ck_assert(rc == 0 || !passed);
        ck_assert_uint_eq(added, rc ? 0 : adds);
        failed += rc != 0;
        if (!rc && adds > 1) /* they are known from now on */
            adds = 0;
        ck_assert_int_lt(refused, 10000);
    }
    ck_assert_int_gt(refused, 3);
    ck_assert_int_ne(failed, 0);
}

/* content NULL: a directory. */
static void put_file(const char *dir, const char *name, const char *content)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (!content) {
        ck_assert_int_eq(mkdir(path, 0700), 0);
        return;
    }
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(content, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(every_allocation_refused)
{
    const char *tmp = getenv("TMPDIR");
    char dir[256], path[300];
    snprintf(dir, sizeof dir, "%s/check_memory.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/.cairn", dir);
    const struct cairn_store_options options = {.path = path, .create = true};
    good(cairn_store_open(&store, &options, &error));
    put_file(dir, ".git", NULL);
    put_file(dir, ".git/HEAD", "ref: refs/heads/main\n");
    put_file(dir, ".git/packed-refs",
             "0123456789012345678901234567890123456789 refs/heads/main\n");
    memset(large, 'x', sizeof large);
    good(cairn_session_start(store, NULL, true, NULL, &error));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        refuse_each(parts[i].do_it, parts[i].adds);
    cairn_store_close(store);
    remove_tree(dir);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("message_memory");
    TCase *tests = tcase_create("message_memory");
    tcase_add_test(tests, every_allocation_refused);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
