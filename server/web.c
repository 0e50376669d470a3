/* SPDX-License-Identifier: MIT */
#include "server/web.h"

#include "base/clock.h"
#include "server/gate.h"

#include <inttypes.h>
#include <string.h>

void web_init(struct web *web, struct server *server)
{
    *web = (struct web){.server = server};
}

/* ---- Streams ---- */

static void add(struct stream *stream, const char *bytes, size_t n)
{
    size_t before = stream->text.size;
    buf_add(&stream->text, bytes, n);
    stream->web->bytes += stream->text.size - before;
    stream->web->server->failed = stream->web->server->failed || stream->text.failed;
}

static void cut(struct stream *stream, size_t n)
{
    text_cut(&stream->text, n);
    stream->base += n;
    stream->web->bytes -= n;
    if (stream->at < stream->base) {
        stream->lost = stream->reader != NULL;
        stream->at = stream->base;
    }
}

static void add_event(struct stream *stream, const char *json, size_t n)
{
    char head[80];
    int length = snprintf(head, sizeof head, "id: %" PRIu64 "-%" PRIu64 "\n",
                          stream->number, stream->base + stream->text.size);
    if (stream->session)
        add(stream, head, (size_t)length);
    add(stream, "data: ", 6);
    add(stream, json, n);
    add(stream, "\n\n", 2);
}

/* Of what nobody reads the oldest events go. */
static void forget_old(struct stream *stream)
{
    size_t keep = NOTICES_BYTES / 2;
    const char *end;
    if (stream->text.size <= NOTICES_BYTES)
        return;
    end = strstr(stream->text.data + (stream->text.size - keep), "\n\n");
    cut(stream, end ? (size_t)(end - stream->text.data) + 2 : stream->text.size);
}

static void wake(struct stream *stream)
{
    if (stream->reader)
        stream->wake(stream->reader);
}

/* A session's notices go with it. */
static bool is_notices(const struct stream *stream)
{
    return stream->session && stream->session->notices == stream;
}

static void send_message(struct outlet *outlet, const char *json, size_t n)
{
    struct stream *stream = (struct stream *)outlet;
    stream->messages++;
    if (stream->form == STREAM_EVENTS) {
        add_event(stream, json, n);
        if (is_notices(stream))
            forget_old(stream);
    } else {
        add(stream, json, n);
        add(stream, "\n", 1);
    }
    wake(stream);
}

static void all_answered(struct outlet *outlet)
{
    struct stream *stream = (struct stream *)outlet;
    stream->complete = true;
    wake(stream);
}

struct stream *stream_new(struct web *web, struct session *session)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->outlet.send = send_message;
    stream->outlet.done = all_answered;
    stream->web = web;
    stream->session = session;
    stream->self.log_level = LOG_NOTHING;
    stream->number = ++web->last;
    stream->next = web->streams;
    web->streams = stream;
    return stream;
}

struct client *stream_client(struct stream *stream)
{
    return stream->session ? &stream->session->client : &stream->self;
}

enum stream_form stream_settle(struct stream *stream)
{
    struct buf lines = stream->text;
    const char *version = stream_client(stream)->version;
    if (stream->complete && stream->messages <= 1) {
        stream->form = stream->messages == 1 ? STREAM_JSON : STREAM_RAW;
        return stream->form;
    }
    stream->form = STREAM_EVENTS;
    stream->text = BUF_INIT;
    stream->web->bytes -= lines.size;
    /* An event without data, so that who loses the connection now can come back. Older
     * clients take it for a message. */
    if (stream->session && version && strcmp(version, "2025-11-25") >= 0)
        add_event(stream, "", 0);
    for (const char *line = text_get(&lines), *end; (end = strchr(line, '\n'));
         line = end + 1)
        add_event(stream, line, (size_t)(end - line));
    buf_release(&lines);
    return stream->form;
}

struct stream *stream_after(struct web *web, struct session *session, const char *event)
{
    char *end;
    uint64_t number = strtoull(event, &end, 10);
    uint64_t at = *end == '-' ? strtoull(end + 1, NULL, 10) : 0;
    struct stream *stream = web->streams;
    const char *next;
    while (stream && (stream->number != number || stream->session != session))
        stream = stream->next;
    if (!stream || stream->form != STREAM_EVENTS || *end != '-')
        return NULL;
    if (at < stream->base || at - stream->base >= stream->text.size) {
        stream->at = stream->base; /* that one is gone, so all that is left is newer */
        return stream;
    }
    next = strstr(stream->text.data + (at - stream->base), "\n\n");
    stream->at = next ? stream->base + (uint64_t)(next - stream->text.data) + 2
                      : stream->base + stream->text.size;
    return stream;
}

void stream_join(struct stream *stream, void *reader, void (*wake_reader)(void *))
{
    void *before = stream->reader;
    stream->reader = reader;
    if (before)
        stream->wake(before);
    stream->wake = wake_reader;
    stream->lost = false;
}

void stream_leave(struct stream *stream, void *reader)
{
    if (stream->reader != reader)
        return;
    stream->reader = NULL;
    if (stream->session)
        return;
    /* Nobody can ask for the rest. */
    server_forget(stream->web->server, &(struct whose){.outlet = &stream->outlet});
}

/* Who cannot come back does not need what it has read. */
static void forget_read(struct stream *stream)
{
    enum { SELDOM = 65536 };
    size_t n = (size_t)(stream->at - stream->base);
    if (!stream->session && stream->form == STREAM_EVENTS &&
        (n == stream->text.size || n >= SELDOM))
        cut(stream, n);
}

size_t stream_read(struct stream *stream, char *bytes, size_t max)
{
    size_t from = (size_t)(stream->at - stream->base), n = stream->text.size - from;
    /* The line feed behind a message is not part of a document. */
    if (stream->form == STREAM_JSON && n > 0)
        n--;
    n = n < max ? n : max;
    if (n > 0)
        memcpy(bytes, stream->text.data + from, n);
    stream->at += n;
    forget_read(stream);
    return n;
}

/* ---- Sessions ---- */

static bool is_unused(const struct session *session)
{
    return session->client.due == 0 && !session->notices->reader;
}

/* Room for another one: of those that do nothing the one that has done so longest. */
static void make_room(struct web *web)
{
    struct session *oldest = NULL;
    if (web->n_sessions < SESSIONS_MAX)
        return;
    for (struct session *session = web->sessions; session; session = session->next)
        if (!session->ended && is_unused(session) &&
            (!oldest || session->used_ms < oldest->used_ms))
            oldest = session;
    if (oldest)
        session_end(oldest, web);
    web_sweep(web, clock_ms());
}

struct session *session_new(struct web *web)
{
    struct session *session;
    make_room(web);
    session = web->n_sessions < SESSIONS_MAX ? calloc(1, sizeof *session) : NULL;
    if (!session)
        return NULL;
    session->notices = random_hex(session->id, (SESSION_ID_BYTES - 1) / 2, NULL)
                           ? NULL
                           : stream_new(web, session);
    if (!session->notices) {
        free(session);
        return NULL;
    }
    session->notices->form = STREAM_EVENTS;
    session->client.notices = &session->notices->outlet;
    session->client.log_level = LOG_NOTHING;
    session->used_ms = clock_ms();
    session->next = web->sessions;
    web->sessions = session;
    web->n_sessions++;
    return session;
}

struct session *session_find(const struct web *web, const char *id)
{
    struct session *session = web->sessions;
    while (session && (session->ended || strcmp(session->id, id) != 0))
        session = session->next;
    if (session)
        session->used_ms = clock_ms();
    return session;
}

void session_end(struct session *session, struct web *web)
{
    session->ended = true;
    session->notices->complete = true;
    wake(session->notices);
    server_forget(web->server, &(struct whose){.client = &session->client});
}

/* ---- What is no longer needed ---- */

static bool is_held(const struct stream *stream)
{
    return stream->outlet.due > 0 || stream->reader;
}

static void free_stream(struct web *web, struct stream **at)
{
    struct stream *stream = *at;
    *at = stream->next;
    web->bytes -= stream->text.size;
    buf_release(&stream->text);
    free(stream);
}

/* Those that wait for somebody who comes back: the newest, within the limits. */
static void sweep_streams(struct web *web)
{
    size_t bytes = 0, n = 0;
    for (struct stream **at = &web->streams; *at;) {
        struct stream *stream = *at;
        if (is_held(stream) || is_notices(stream)) {
            at = &stream->next;
        } else if (stream->session && !stream->session->ended &&
                   stream->form == STREAM_EVENTS && n < KEPT_STREAMS &&
                   bytes + stream->text.size <= KEPT_BYTES) {
            bytes += stream->text.size;
            n++;
            at = &stream->next;
        } else {
            free_stream(web, at);
        }
    }
}

/* An answer that is to come, a reader, and a stream of answers refer to it. */
static bool is_referred_to(const struct web *web, const struct session *session)
{
    const struct stream *stream = web->streams;
    while (stream && (stream->session != session || stream == session->notices))
        stream = stream->next;
    return stream || session->client.due > 0 || is_held(session->notices);
}

static void free_session(struct web *web, struct session **at)
{
    struct session *session = *at;
    for (struct stream **its = &web->streams; *its; its = &(*its)->next)
        if (*its == session->notices) {
            free_stream(web, its);
            break;
        }
    *at = session->next;
    web->n_sessions--;
    free(session);
}

/* Of readers that do not read the one with most goes: its stream ends. */
static void lose_largest(struct web *web)
{
    struct stream *largest = web->streams;
    for (struct stream *stream = web->streams; stream; stream = stream->next)
        if (stream->text.size > largest->text.size)
            largest = stream;
    if (web->bytes <= QUEUE_BYTES || !largest)
        return;
    server_forget(web->server, &(struct whose){.outlet = &largest->outlet});
    cut(largest, largest->text.size);
    wake(largest);
}

void web_sweep(struct web *web, int64_t now_ms)
{
    for (struct session *session = web->sessions; session; session = session->next) {
        if (!is_unused(session))
            session->used_ms = now_ms;
        else if (!session->ended && now_ms - session->used_ms > SESSION_IDLE_MS)
            session_end(session, web);
    }
    sweep_streams(web);
    lose_largest(web);
    for (struct session **at = &web->sessions; *at;) {
        if (!(*at)->ended || is_referred_to(web, *at))
            at = &(*at)->next;
        else
            free_session(web, at);
    }
}

void web_release(struct web *web)
{
    while (web->streams)
        free_stream(web, &web->streams);
    while (web->sessions) {
        struct session *session = web->sessions;
        web->sessions = session->next;
        free(session);
    }
}
