/* SPDX-License-Identifier: MIT */
/* Sessions and streams of `cairn mcp --listen`: what can be read again, and the bounds
 * of what is kept for clients that do not read, do not come back, or are too many. */
#include "server/web.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <string.h>

static const struct serve_options options = {.toolsets = TOOLSET_ALL, .version = "0"};
static struct server server;
static struct web web;

static void set_up(void)
{
    server_init(&server, &options);
    web_init(&web, &server);
}

static void tear_down(void)
{
    ck_assert(!server.failed);
    server_end(&server);
    web_release(&web);
}

static void wake(void *reader)
{
    ++*(int *)reader;
}

static void say(struct stream *stream, const char *json)
{
    stream->outlet.send(&stream->outlet, json, strlen(json));
}

/* All that is left to read: heap. */
static char *rest(struct stream *stream)
{
    struct buf all = BUF_INIT;
    char bytes[7];
    size_t n;
    while ((n = stream_read(stream, bytes, sizeof bytes)) > 0)
        buf_add(&all, bytes, n);
    buf_text(&all, "");
    return text_take(&all);
}

START_TEST(test_read_again)
{
    struct session *session = session_new(&web);
    struct stream *stream = session->notices;
    char event[64];
    char *text;
    int woken = 0;
    stream_join(stream, &woken, wake);
    say(stream, "{\"a\":1}");
    say(stream, "{\"b\":2}");
    ck_assert_int_eq(woken, 2);
    text = rest(stream);
    ck_assert_msg(strstr(text, "data: {\"a\":1}\n\n") && strstr(text, "{\"b\":2}"),
                  "%s", text);
    snprintf(event, sizeof event, "%.*s", (int)strcspn(text + 4, "\n"), text + 4);
    free(text);
    stream_leave(stream, &woken);
    ck_assert_ptr_eq(stream_after(&web, session, event), stream);
    text = rest(stream);
    ck_assert_msg(!strstr(text, "\"a\"") && strstr(text, "\"b\""), "%s", text);
    free(text);
    ck_assert_ptr_null(stream_after(&web, session_new(&web), event));
    ck_assert_ptr_null(stream_after(&web, session, "7"));
    ck_assert_ptr_null(stream_after(&web, session, ""));
}
END_TEST

START_TEST(test_another_reader)
{
    struct stream *stream = session_new(&web)->notices;
    int first = 0, second = 0;
    stream_join(stream, &first, wake);
    stream_join(stream, &second, wake);
    ck_assert_int_eq(first, 1); /* it is told, and finds that it is not the reader */
    ck_assert_ptr_eq(stream->reader, &second);
    stream_leave(stream, &first);
    ck_assert_ptr_eq(stream->reader, &second);
}
END_TEST

START_TEST(test_notices_have_a_bound)
{
    struct session *session = session_new(&web);
    struct stream *stream = session->notices;
    int woken = 0;
    char *text;
    for (int i = 0; i < 20000; i++)
        say(stream, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}");
    ck_assert_uint_le(stream->text.size, NOTICES_BYTES + 200);
    ck_assert_uint_eq(web.bytes, stream->text.size);
    ck_assert(!stream->lost);
    /* Who was there long ago has what is left, from the beginning of an event. */
    ck_assert_ptr_eq(stream_after(&web, session, "1-0"), stream);
    text = rest(stream);
    ck_assert_msg(strncmp(text, "id: 1-", 6) == 0, "%.40s", text);
    free(text);
    /* Who reads too slowly has missed something. */
    stream_after(&web, session, "1-0");
    stream_join(stream, &woken, wake);
    for (int i = 0; i < 20000; i++)
        say(stream, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}");
    ck_assert(stream->lost);
}
END_TEST

START_TEST(test_read_and_gone)
{
    struct stream *stream = stream_new(&web, NULL);
    int woken = 0;
    stream->form = STREAM_EVENTS;
    stream_join(stream, &woken, wake);
    for (int i = 0; i < 1000; i++) {
        say(stream, "{\"a\":1}");
        char *text = rest(stream);
        ck_assert_str_eq(text, "data: {\"a\":1}\n\n");
        free(text);
        ck_assert_uint_eq(web.bytes, 0); /* nobody can come back to it */
    }
    ck_assert(!stream->lost);
}
END_TEST

START_TEST(test_streams_that_are_kept)
{
    struct session *session = session_new(&web);
    size_t n = 0;
    for (int i = 0; i < 1000; i++) {
        struct stream *stream = stream_new(&web, session);
        stream->form = STREAM_EVENTS;
        say(stream, "{}");
        stream->complete = true;
        web_sweep(&web, clock_ms());
    }
    for (const struct stream *stream = web.streams; stream; stream = stream->next)
        n++;
    ck_assert_uint_eq(n, KEPT_STREAMS + 1); /* and that of the notices */
    session_end(session, &web);
    web_sweep(&web, clock_ms());
    ck_assert_ptr_null(web.streams);
    ck_assert_uint_eq(web.n_sessions + web.bytes, 0);
}
END_TEST

START_TEST(test_sessions_have_a_bound)
{
    char first[SESSION_ID_BYTES], last[SESSION_ID_BYTES];
    struct session *busy;
    for (int i = 0; i < SESSIONS_MAX + 10; i++) {
        struct session *session = session_new(&web);
        ck_assert_ptr_nonnull(session);
        session->used_ms = i; /* the order in which they were used */
        memcpy(i == 0 ? first : last, session->id, SESSION_ID_BYTES);
        ck_assert_str_eq(session_find(&web, session->id)->id, session->id);
        session->used_ms = i;
    }
    ck_assert_uint_le(web.n_sessions, SESSIONS_MAX);
    ck_assert_ptr_null(session_find(&web, first));
    busy = session_find(&web, last);
    ck_assert_ptr_nonnull(busy);
    web_sweep(&web, busy->used_ms + 2 * SESSION_IDLE_MS);
    ck_assert_uint_eq(web.n_sessions, 0);
}
END_TEST

START_TEST(test_busy_sessions_stay)
{
    for (int i = 0; i < SESSIONS_MAX; i++)
        session_new(&web)->client.due = 1;
    ck_assert_ptr_null(session_new(&web));
    web_sweep(&web, clock_ms() + 2 * SESSION_IDLE_MS);
    ck_assert_uint_eq(web.n_sessions, SESSIONS_MAX);
    for (struct session *session = web.sessions; session; session = session->next)
        session->client.due = 0;
}
END_TEST

/* A call of two hours: the idle time begins at its end. */
START_TEST(test_busy_sessions_are_in_use)
{
    struct session *session = session_new(&web);
    int64_t now = session->used_ms + 2 * SESSION_IDLE_MS;
    int reader = 0;
    session->client.due = 1;
    web_sweep(&web, now);
    session->client.due = 0;
    web_sweep(&web, now + 1000);
    ck_assert(!session->ended);
    stream_join(session->notices, &reader, wake);
    web_sweep(&web, now += 2 * SESSION_IDLE_MS);
    stream_leave(session->notices, &reader);
    web_sweep(&web, now + SESSION_IDLE_MS);
    ck_assert(!session->ended);
    web_sweep(&web, now + SESSION_IDLE_MS + 1);
    ck_assert_uint_eq(web.n_sessions, 0);
}
END_TEST

static bool is_there(const struct stream *stream)
{
    const struct stream *other = web.streams;
    while (other && other != stream)
        other = other->next;
    return other != NULL;
}

/* Its call takes longer to end than until the next sweep; a notice may still come. */
START_TEST(test_ended_with_a_call)
{
    struct session *session = session_new(&web);
    const struct stream *notices = session->notices;
    session->client.due = 1;
    session_end(session, &web);
    for (int i = 0; i < 3; i++) {
        web_sweep(&web, clock_ms());
        ck_assert_uint_eq(web.n_sessions, 1);
        ck_assert(is_there(notices));
        session->client.notices->send(session->client.notices, "{}", 2);
    }
    session->client.due = 0;
    web_sweep(&web, clock_ms());
    ck_assert(!is_there(notices));
    ck_assert_uint_eq(web.n_sessions + web.bytes, 0);
}
END_TEST

START_TEST(test_ended_with_a_reader)
{
    struct session *session = session_new(&web);
    struct stream *notices = session->notices, *answers = stream_new(&web, session);
    int first = 0, second = 0;
    stream_join(notices, &first, wake);
    stream_join(answers, &second, wake);
    session_end(session, &web);
    ck_assert_int_eq(first, 1);
    web_sweep(&web, clock_ms());
    stream_leave(notices, &first);
    web_sweep(&web, clock_ms());
    ck_assert(is_there(answers));
    stream_leave(answers, &second);
    web_sweep(&web, clock_ms());
    ck_assert_ptr_null(web.streams);
    ck_assert_uint_eq(web.n_sessions, 0);
}
END_TEST

START_TEST(test_readers_that_do_not_read)
{
    static char json[1 << 20];
    struct session *session = session_new(&web);
    int woken = 0;
    memset(json, 'x', sizeof json - 1);
    for (int i = 0; i < 80; i++) {
        struct stream *stream = stream_new(&web, session);
        stream->form = STREAM_EVENTS;
        stream_join(stream, &woken, wake);
        say(stream, json);
        web_sweep(&web, clock_ms());
    }
    ck_assert_uint_le(web.bytes, QUEUE_BYTES + sizeof json);
    ck_assert_int_gt(woken, 80); /* those that have lost something are told */
    for (struct stream *stream = web.streams; stream; stream = stream->next)
        stream->reader = NULL;
}
END_TEST

/* ---- Clients that do as they like ---- */

enum { OPEN_MOST = 12 };
static struct reply replies[OPEN_MOST]; /* answers that are to come */
static struct stream *readers[OPEN_MOST];
static size_t n_replies, n_readers;
static int woken;

static struct session *any_session(uint64_t *seed)
{
    struct session *session = web.sessions;
    for (uint32_t i = help_below(seed, 6); session && i > 0; i--)
        session = session->next;
    return session;
}

static struct stream *any_stream(uint64_t *seed)
{
    struct stream *stream = web.streams;
    for (uint32_t i = help_below(seed, 10); stream && i > 0; i--)
        stream = stream->next;
    return stream;
}

/* A message comes, which is answered later. */
static void post(uint64_t *seed)
{
    struct session *session = help_below(seed, 5) ? any_session(seed) : NULL;
    if (n_replies == OPEN_MOST || (session && session->ended))
        return;
    struct stream *stream = stream_new(&web, session);
    ck_assert_ptr_nonnull(stream);
    replies[n_replies++] =
        reply_to(&(struct route){stream_client(stream), &stream->outlet, NULL}, NULL);
    stream_settle(stream);
}

static void answer(uint64_t *seed)
{
    if (n_replies == 0)
        return;
    size_t i = help_below(seed, (uint32_t)n_replies);
    struct reply reply = replies[i];
    if (help_below(seed, 2))
        reply.outlet->send(reply.outlet, "{}", 2);
    replies[i] = replies[--n_replies];
    server_drop(&server, &reply);
}

static void join(struct stream *stream)
{
    if (!stream || stream->form != STREAM_EVENTS || n_readers == OPEN_MOST)
        return;
    for (size_t i = 0; i < n_readers; i++)
        if (readers[i] == stream)
            return;
    readers[n_readers] = stream;
    stream_join(stream, &woken, wake);
    n_readers++;
}

static void leave(uint64_t *seed)
{
    if (n_readers == 0)
        return;
    size_t i = help_below(seed, (uint32_t)n_readers);
    free(rest(readers[i]));
    stream_leave(readers[i], &woken);
    readers[i] = readers[--n_readers];
}

static void do_something(uint64_t *seed)
{
    struct session *session = any_session(seed);
    struct stream *stream = any_stream(seed);
    switch (help_below(seed, 9)) {
    case 0:
        session_new(&web);
        break;
    case 1:
        if (session && !session->ended)
            session_end(session, &web);
        break;
    case 2:
    case 3:
        post(seed);
        break;
    case 4:
        answer(seed);
        break;
    case 5:
        if (session) /* also to one that was ended */
            session->client.notices->send(session->client.notices, "{}", 2);
        break;
    case 6:
        join(stream);
        break;
    case 7:
        leave(seed);
        break;
    default:
        web_sweep(&web, clock_ms() + (help_below(seed, 50) ? 0 : 2 * SESSION_IDLE_MS));
    }
}

/* What refers to something finds it. */
static void expect_whole(void)
{
    size_t n = 0, bytes = 0;
    for (const struct session *session = web.sessions; session;
         session = session->next, n++)
        ck_assert(is_there(session->notices));
    ck_assert_uint_eq(n, web.n_sessions);
    for (const struct stream *stream = web.streams; stream; stream = stream->next) {
        const struct session *session = web.sessions;
        bytes += stream->text.size;
        while (session && session != stream->session)
            session = session->next;
        ck_assert_ptr_eq(session, stream->session);
    }
    ck_assert_uint_eq(bytes, web.bytes);
    for (size_t i = 0; i < n_replies; i++)
        ck_assert(is_there((const struct stream *)replies[i].outlet));
    for (size_t i = 0; i < n_readers; i++)
        ck_assert(is_there(readers[i]));
}

START_TEST(test_as_they_like)
{
    for (uint64_t round = 1; round <= 200; round++) {
        uint64_t seed = round;
        for (int i = 0; i < 300; i++) {
            do_something(&seed);
            expect_whole();
        }
        while (n_replies > 0)
            answer(&seed);
        while (n_readers > 0)
            leave(&seed);
        web_sweep(&web, clock_ms() + 4 * SESSION_IDLE_MS);
        ck_assert_msg(!web.streams && web.n_sessions + web.bytes == 0, "seed %d",
                      (int)round);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mcp_web");
    TCase *c = tcase_create("mcp_web");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, test_read_again);
    tcase_add_test(c, test_another_reader);
    tcase_add_test(c, test_notices_have_a_bound);
    tcase_add_test(c, test_read_and_gone);
    tcase_add_test(c, test_streams_that_are_kept);
    tcase_add_test(c, test_sessions_have_a_bound);
    tcase_add_test(c, test_busy_sessions_stay);
    tcase_add_test(c, test_busy_sessions_are_in_use);
    tcase_add_test(c, test_ended_with_a_call);
    tcase_add_test(c, test_ended_with_a_reader);
    tcase_add_test(c, test_readers_that_do_not_read);
    tcase_add_test(c, test_as_they_like);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
