/* SPDX-License-Identifier: MIT */
/* What `cairn mcp` keeps of what a command prints. The command is this program itself.
 */
#include "server/call.h"
#include "server/server.h"

#include "tests/support/suite.h"

#include <string.h>
#include <unistd.h>

static const struct serve_options options = {.toolsets = TOOLSET_ALL, .version = "0"};

static void print(int fd, char byte, size_t n)
{
    char bytes[1000];
    memset(bytes, byte, sizeof bytes);
    while (n > 0) {
        ssize_t done = write(fd, bytes, n < sizeof bytes ? n : sizeof bytes);
        if (done <= 0)
            _exit(70);
        n -= (size_t)done;
    }
}

static int be_command(const char *what)
{
    bool much = strcmp(what, "much") == 0;
    print(STDOUT_FILENO, 'o', much ? CALL_OUTPUT_BYTES + 1 : 100);
    print(STDERR_FILENO, 'e', much ? 10 * CALL_ERRORS_BYTES : 100);
    return write(STDERR_FILENO, "\nthe last words\n", 16) == 16 ? 3 : 70;
}

struct kept {
    bool ended, too_large;
    int status;
    size_t n_out, n_err;
    char last[16];
};
static struct kept kept;

static void keep(struct server *server, struct call *call)
{
    const char *err = text_get(&call->err);
    kept = (struct kept){true,           call->too_large, call->status,
                         call->out.size, call->err.size,  ""};
    if (call->err.size >= 15)
        memcpy(kept.last, err + call->err.size - 15, 15);
    server_drop(server, &call->reply);
}

static void drop(struct outlet *outlet, const char *json, size_t n)
{
    (void)outlet;
    (void)json;
    (void)n;
}

static void run_command(const char *what)
{
    struct server server;
    struct outlet outlet = {.send = drop};
    struct client client = {.log_level = LOG_NOTHING};
    struct call *call = call_new();
    ck_assert_ptr_nonnull(call);
    server_init(&server, &options);
    kept = (struct kept){.ended = false};
    call->reply = reply_to(&(struct route){&client, &outlet, NULL}, NULL);
    call->finish = keep;
    arguments_add(&call->arguments, "check_mcp_calls");
    arguments_add(&call->arguments, what);
    ck_assert(calls_add(&server.calls, call));
    while (!kept.ended) {
        struct pollfd fds[CALLS_FDS];
        int64_t until = clock_ms() + 1000;
        (void)poll(fds, (nfds_t)calls_poll(&server.calls, fds, &until), 1000);
        calls_serve(&server.calls);
    }
    server_end(&server);
    ck_assert_uint_eq(client.due, 0);
}

START_TEST(test_little_is_kept_whole)
{
    run_command("little");
    ck_assert_int_eq(kept.status, 3);
    ck_assert(!kept.too_large);
    ck_assert_uint_eq(kept.n_out, 100);
    ck_assert_uint_eq(kept.n_err, 116);
}
END_TEST

START_TEST(test_of_much_the_last_words)
{
    run_command("much");
    ck_assert_int_eq(kept.status, 3);
    ck_assert(kept.too_large);
    ck_assert_uint_le(kept.n_out, CALL_OUTPUT_BYTES);
    ck_assert_uint_eq(kept.n_err, CALL_ERRORS_BYTES);
    ck_assert_str_eq(kept.last, "the last words\n");
}
END_TEST

/* Nothing is due for what is told no more, so the loop can sleep until it has ended. */
START_TEST(test_cancelled_has_no_progress)
{
    char token[] = "1";
    struct call call = {.progress = token};
    struct calls calls = {.running = &call};
    ck_assert_int_ne(calls_tell_due(&calls), INT64_MAX);
    call.cancelled = true;
    ck_assert_int_eq(calls_tell_due(&calls), INT64_MAX);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1)
        return be_command(argv[1]);
    Suite *suite = suite_create("mcp_calls");
    TCase *tests = tcase_create("mcp_calls");
    tcase_add_test(tests, test_little_is_kept_whole);
    tcase_add_test(tests, test_of_much_the_last_words);
    tcase_add_test(tests, test_cancelled_has_no_progress);
    suite_add_tcase(suite, tests);
    return help_run(suite);
}
