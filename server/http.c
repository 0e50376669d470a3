/* SPDX-License-Identifier: MIT */
#include "server/http.h"

#include "server/answer.h"
#include "server/call.h"
#include "server/gate.h"
#include "server/listen.h"
#include "server/microhttpd.h"
#include "server/site.h"
#include "server/web.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#define STALL_S 30 /* a reader that takes nothing */

#define CONNECTIONS_MAX 512
/* Bodies of requests that are still coming in, together. */
#define BODIES_BYTES ((size_t)32 << 20)

struct connection {
    struct connection *next, **link;
    int fd;
    int64_t deadline_ms;    /* 0: none */
    unsigned char peer[16]; /* its address; of IPv6 what a network has in common */
    bool trusted, cut;
    /* Of the request that comes in: where its address ends for the library, which takes
     * a NUL in it for the end. */
    const char *address_end;
    bool many_parts; /* of that address, the rest of which was cut off */
};

static void cut(struct connection *connection);

static void find_peer(int fd, unsigned char peer[16])
{
    struct sockaddr_storage any = {.ss_family = AF_UNSPEC};
    socklen_t n = sizeof any;
    const struct sockaddr_in *four = (const void *)&any;
    const struct sockaddr_in6 *six = (const void *)&any;
    memset(peer, 0, 16);
    if (getpeername(fd, (struct sockaddr *)&any, &n) != 0)
        return;
    if (any.ss_family == AF_INET)
        memcpy(peer + 12, &four->sin_addr, 4);
    else if (any.ss_family == AF_INET6)
        memcpy(peer, &six->sin6_addr, IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) ? 16 : 8);
}

/* Puts one with such a deadline into the list. NULL: out of memory. */
static struct connection *connection_begin(struct connection **list, int fd, int64_t ms)
{
    struct connection *connection = calloc(1, sizeof *connection);
    int patience_ms = 2 * STALL_S * 1000, yes = 1;
    if (!connection)
        return NULL;
    *connection = (struct connection){
        .next = *list, .link = list, .fd = fd, .deadline_ms = clock_ms() + ms};
    if (connection->next)
        connection->next->link = &connection->next;
    *list = connection;
    find_peer(fd, connection->peer);
    /* A peer that has vanished is noticed while something is on its way to it. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms,
                     sizeof patience_ms);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return connection;
}

/* NULL is none. Does not close its descriptor. */
static void connection_end(struct connection *connection)
{
    if (!connection)
        return;
    *connection->link = connection->next;
    if (connection->next)
        connection->next->link = connection->link;
    free(connection);
}

/* From now on; 0: none, its request is being answered. */
static void connection_arm(struct connection *connection, int64_t ms)
{
    connection->deadline_ms = ms > 0 ? clock_ms() + ms : 0;
}

/* It has shown the token: it is not cut off to make room. */
static void connection_trust(struct connection *connection)
{
    connection->trusted = true;
}

static void cut(struct connection *connection)
{
    connection->cut = true;
    connection->deadline_ms = 0;
    (void)shutdown(connection->fd, SHUT_RDWR);
}

/* For one that was put into the list last: where there are more than `each` of its peer
 * that have not shown the token, or more than `all` connections, the oldest such one is
 * cut off. */
static void connections_make_room(struct connection *list, size_t each, size_t all)
{
    struct connection *oldest = NULL, *oldest_of_peer = NULL;
    size_t n = 0, of_peer = 0;
    for (struct connection *at = list; at; at = at->next) {
        bool same = memcmp(at->peer, list->peer, sizeof at->peer) == 0;
        if (at->cut)
            continue;
        n++;
        if (at->trusted)
            continue;
        of_peer += same;
        if (at == list) /* trusted ones may leave no other */
            continue;
        oldest = at;
        oldest_of_peer = same ? at : oldest_of_peer;
    }
    if (of_peer > each && oldest_of_peer)
        cut(oldest_of_peer);
    else if (n > all && oldest)
        cut(oldest);
}

static void connections_cut_off(struct connection *list, int64_t now)
{
    for (struct connection *at = list; at; at = at->next) {
        if (at->deadline_ms == 0 || now < at->deadline_ms)
            continue;
        cut(at);
    }
}

/* A client up to 2025-11-25 begins a session with `initialize` and names it in each
 * request; from 2026-07-28 on each request stands for itself. */

static void put_error(struct response *response, unsigned status, int code,
                      const char *why)
{
    struct buf *body = &response->body;
    response->status = status;
    response->type = "application/json";
    response->allow = "POST, GET, DELETE";
    text_open(body, '{');
    text_pair(body, "jsonrpc", "2.0");
    text_key(body, "error");
    text_open(body, '{');
    text_key(body, "code");
    text_int(body, code);
    text_pair(body, "message", why);
    text_close(body, '}');
    text_key(body, "id");
    text_raw(body, "null", 4);
    text_close(body, '}');
}

/* An error of JSON-RPC to nobody's id. */
static void response_error(struct response *response, unsigned status, const char *why)
{
    put_error(response, status, status == 503 ? ERROR_BUSY : ERROR_REQUEST, why);
}

/* The session that is named, or NULL: then that is answered. */
static struct session *named_session(struct web *web, const struct ask *ask,
                                     struct response *response)
{
    struct session *session = ask->session ? session_find(web, ask->session) : NULL;
    if (!ask->session)
        response_error(response, 400,
                       "the header Mcp-Session-Id is required, from the answer to "
                       "initialize");
    else if (!session)
        response_error(response, 404, "there is no such session, or it has ended");
    return session;
}

/* ---- POST ---- */

/* The status of an error that came before any method. In sessions only what is no
 * request at all has one: their clients read an answer's status before its error. */
static unsigned status_of(int code, bool modern)
{
    if (code == ERROR_METHOD)
        return modern ? 404 : 200;
    return code != 0 && (modern || code == ERROR_PARSE || code == ERROR_REQUEST) ? 400
                                                                                 : 200;
}

static void put_stream(struct stream *stream, bool modern, struct response *response)
{
    switch (stream_settle(stream)) {
    case STREAM_RAW:
        response->status = 202;
        return;
    case STREAM_JSON:
        response->status = status_of(stream->outlet.refused, modern);
        response->type = "application/json";
        break;
    case STREAM_EVENTS:
        response->type = "text/event-stream";
        break;
    }
    response->stream = stream;
}

static void post_value(struct web *web, const struct ask *ask,
                       const struct value *value, struct response *response)
{
    bool modern = message_is_modern(value, &ask->headers);
    struct session *session = NULL;
    struct stream *stream;
    struct route route;
    if (!modern && message_is_initialize(value)) {
        session = session_new(web);
        if (!session) {
            response_error(response, 503, "too many sessions are there");
            return;
        }
    } else if (!modern) {
        session = named_session(web, ask, response);
        if (!session)
            return;
    }
    stream = stream_new(web, session);
    if (!stream) {
        response_error(response, 503, "out of memory");
        return;
    }
    route = (struct route){stream_client(stream), &stream->outlet, &ask->headers};
    server_value(web->server, &route, value);
    put_stream(stream, modern, response);
    if (message_is_initialize(value) && session) {
        if (session->client.version)
            response->session = session->id;
        else
            session_end(session, web); /* it was refused */
    }
}

static void post(struct web *web, const struct ask *ask, struct response *response)
{
    char why[160] = "";
    struct value *value = value_parse(text_get(&ask->body), ask->body.size, why);
    char *masked = value ? NULL : server_masked(web->server, why);
    if (value)
        post_value(web, ask, value, response);
    else
        put_error(response, 400, ERROR_PARSE, masked ? masked : "out of memory");
    free(masked);
    value_free(value);
}

/* ---- GET and DELETE ---- */

static void get(struct web *web, const struct ask *ask, struct response *response)
{
    struct session *session = named_session(web, ask, response);
    struct stream *stream = session ? session->notices : NULL;
    if (!session)
        return;
    if (ask->last_event)
        stream = stream_after(web, session, ask->last_event);
    if (!stream) {
        response_error(response, 400,
                       "what comes behind the event of Last-Event-ID is not kept");
        return;
    }
    response->type = "text/event-stream";
    response->stream = stream;
}

void web_answer(struct web *web, const struct ask *ask, struct response *response)
{
    const char *version = ask->headers.version;
    struct session *session;
    if (strcmp(ask->method, "POST") == 0) {
        post(web, ask, response);
        return;
    }
    if (version && message_is_modern(NULL, &ask->headers)) {
        response_error(response, 405, "from 2026-07-28 on the method is POST");
        response->allow = "POST";
        return;
    }
    if (strcmp(ask->method, "GET") == 0) {
        get(web, ask, response);
        return;
    }
    session = named_session(web, ask, response);
    if (!session)
        return;
    session_end(session, web);
    response->status = 204;
}

/* libmicrohttpd runs without threads: our loop waits for its descriptors. (By its epoll
 * descriptor it would wait for less: version 0.9.75 leaves bodies unread when many come
 * at once.) A connection whose stream has nothing to say is suspended. Then the library
 * does not see its end, so its socket is watched by us. */

#define REQUEST_MS 30000 /* for headers and body */
#define IDLE_MS 60000    /* between requests */
#define ALIVE_MS 15000   /* a stream that is silent says that it is there */
#define QUIET_MS 7500    /* ... and with it each that has been silent so long */
#define SWEEP_MS 1000
#define NEWS_MS 100       /* news are looked at so often, ... */
#define NEWS_AGAIN_MS 500 /* ... and what they are about once more */
#define NEWS_BLIND_MS 250 /* where the system does not tell them */
#define DEED_MS 60000     /* for what a form asks for */
#define LATE_MS 2000      /* until who asked is told that it goes on */
#define LIVE_MAX 64       /* pages that are renewed at once */
/* Of calls, workers without a call, and files. */
#define OWN_FDS (2 * CALLS_FDS + 3 * CALLS_RUNNING + 32)

static const struct microhttpd *mhd; /* from http_start on */

struct exchange {
    struct exchange *next, **link;
    struct http *http;
    struct site *site; /* it is about pages; NULL: about MCP */
    struct MHD_Connection *handle;
    struct buf body;
    struct stream *stream;
    int fd;
    bool suspended, gone, too_large, refused;
    int64_t alive_ms;  /* when it last sent something */
    void *live;        /* of the site; NULL: it is no stream of events of a page */
    struct buf text;   /* of these, what is to be sent ... */
    size_t sent;       /* ... and was */
    struct deed *deed; /* its command is carried out; or ... */
    struct site_answer answer; /* ... this has come of it */
    bool acted;
    int64_t due_ms;  /* when to ask for more, ... */
    int64_t rest_ms; /* ... and not before this, whatever happens */
};

struct http {
    struct web *web;   /* NULL: only pages are served */
    struct site *site; /* NULL: none are */
    const struct gate *gate;
    struct MHD_Daemon *daemon;
    int gone; /* a descriptor for the ends of suspended ones */
    fd_set readable, writable, special;
    int highest;                    /* of the descriptors in these sets */
    struct connection *connections; /* with their deadlines */
    struct exchange *exchanges;
    size_t bodies;
    int64_t swept_ms;
    int64_t quiet_ms;   /* until then news are not looked at */
    int64_t echo_ms;    /* when what the last ones were about is asked again, or 0 */
    size_t own;         /* descriptors of ours that are polled */
    unsigned most;      /* connections */
    bool ending, woken; /* woken: the library has something to do at once */
};

/* ---- Connections ---- */

static void arm(struct MHD_Connection *handle, int64_t ms)
{
    const union MHD_ConnectionInfo *info =
        mhd->get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (info && info->socket_context)
        connection_arm(info->socket_context, ms);
}

static void trust(struct MHD_Connection *handle)
{
    const union MHD_ConnectionInfo *info =
        mhd->get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (info && info->socket_context)
        connection_trust(info->socket_context);
}

/* The library has memory for some hundred parts of an address, and for more of them it
 * would close the connection without a word: it is given the first ones, and the request
 * is refused. */
static bool cut_parts(char *address)
{
    enum { PARTS_MOST = 128 };
    char *at = strchr(address, '?');
    for (unsigned n = 0; at && n < PARTS_MOST; n++)
        at = strchr(at + 1, '&');
    if (at)
        *at = '\0';
    return at != NULL;
}

/* Before anything is cut out of the address, which stands in the request: the library
 * shows its own buffer. */
static void *note_address(void *context, const char *address,
                          struct MHD_Connection *handle)
{
    const union MHD_ConnectionInfo *info =
        mhd->get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct connection *connection = info ? info->socket_context : NULL;
    (void)context;
    if (connection) {
        connection->address_end = address + strlen(address);
        connection->many_parts = cut_parts((char *)(uintptr_t)address);
    }
    return NULL;
}

/* NULL, or what is wrong with an address. The version stands right behind it and one
 * byte. */
static const char *wrong_address(struct MHD_Connection *handle, const char *version)
{
    enum { REQUEST_MOST = 32768 };
    const union MHD_ConnectionInfo *info =
        mhd->get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    const struct connection *connection = info ? info->socket_context : NULL;
    uintptr_t end = connection ? (uintptr_t)connection->address_end : 0;
    if (end != 0 && (uintptr_t)version > end + 1 &&
        (uintptr_t)version - end < REQUEST_MOST)
        return "an address has no NUL";
    return end != 0 && connection->many_parts ? "an address has at most 128 parts"
                                              : NULL;
}

static int socket_of(struct MHD_Connection *handle)
{
    const union MHD_ConnectionInfo *info =
        mhd->get_connection_info(handle, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/* One for which there is no memory has no deadline, but the daemon's own timeout. */
static void on_connection(void *context, struct MHD_Connection *handle, void **own,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http *http = context;
    if (code != MHD_CONNECTION_NOTIFY_CLOSED) {
        *own = connection_begin(&http->connections, socket_of(handle), REQUEST_MS);
        if (*own)
            connections_make_room(http->connections, http->most / 2,
                                  http->most - http->most / 4);
        return;
    }
    connection_end(*own);
    *own = NULL;
}

/* ---- Streams, read ---- */

static void watch(struct exchange *exchange, bool on)
{
    struct epoll_event event = {.events = EPOLLRDHUP, .data.ptr = exchange};
    (void)epoll_ctl(exchange->http->gone, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
                    exchange->fd, &event);
}

static void wake_exchange(void *reader)
{
    struct exchange *exchange = reader;
    if (!exchange->suspended)
        return;
    exchange->suspended = false;
    exchange->http->woken = true;
    watch(exchange, false);
    mhd->resume_connection(exchange->handle);
}

/* After n bytes of a stream were given to the library. Without any it may be time for a
 * sign of life; else the exchange is suspended. */
static ssize_t end_read(struct exchange *exchange, size_t n, char *bytes, size_t max)
{
    static const char alive[] = ": alive\n\n";
    int64_t now = clock_ms();
    if (n == 0 && now - exchange->alive_ms >= QUIET_MS && max >= sizeof alive) {
        n = sizeof alive - 1;
        memcpy(bytes, alive, n);
    }
    if (n > 0) {
        exchange->alive_ms = now;
        return (ssize_t)n;
    }
    exchange->suspended = true;
    watch(exchange, true);
    mhd->suspend_connection(exchange->handle);
    return 0;
}

static ssize_t read_exchange(void *reader, uint64_t at, char *bytes, size_t max)
{
    struct exchange *exchange = reader;
    struct stream *stream = exchange->stream;
    size_t n;
    (void)at;
    if (exchange->gone || stream->reader != exchange || stream->lost)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    n = stream_read(stream, bytes, max);
    if (n == 0 && (stream->complete || exchange->http->ending))
        return MHD_CONTENT_READER_END_OF_STREAM;
    return end_read(exchange, n, bytes, max);
}

/* ---- Streams of pages ---- */

static size_t count_live(const struct http *http)
{
    size_t n = 0;
    for (const struct exchange *at = http->exchanges; at; at = at->next)
        n += at->live != NULL;
    return n;
}

/* A client that was slow to read gets the newest state when there is room again, and
 * nothing of what was before. */
static ssize_t read_live(void *reader, uint64_t at, char *bytes, size_t max)
{
    struct exchange *exchange = reader;
    size_t n = exchange->text.size - exchange->sent;
    (void)at;
    if (exchange->gone || exchange->text.failed)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    n = n < max ? n : max;
    if (n > 0) {
        memcpy(bytes, exchange->text.data + exchange->sent, n);
        exchange->sent += n;
        if (exchange->sent == exchange->text.size) {
            buf_release(&exchange->text);
            exchange->sent = 0;
        }
    } else if (exchange->http->ending) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    return end_read(exchange, n, bytes, max);
}

static bool has_live(const struct http *http)
{
    const struct exchange *at = http->exchanges;
    while (at && !at->live)
        at = at->next;
    return at != NULL;
}

/* Something may have been committed. What is written first is not there for readers
 * yet, so it is asked again a little later. */
static void take_news(struct http *http, const struct pollfd *fds)
{
    const struct site_options *options = http->site->options;
    int64_t now = clock_ms();
    bool told = http->own > 1 && fds[1].revents != 0;
    bool echo = http->echo_ms != 0 && now >= http->echo_ms;
    bool blind = now >= http->quiet_ms && options->news(options->context, false) < 0;
    if (!has_live(http) || (!told && !echo && !blind))
        return;
    if (told)
        (void)options->news(options->context, true);
    http->quiet_ms = told || !blind ? now + NEWS_MS : now + NEWS_BLIND_MS;
    http->echo_ms = told ? now + NEWS_AGAIN_MS : 0;
    for (struct exchange *at = http->exchanges; at; at = at->next)
        if (at->live && at->due_ms > at->rest_ms)
            at->due_ms = at->rest_ms;
}

static int64_t later(int64_t now, int64_t ms)
{
    return ms < INT64_MAX - now ? now + ms : INT64_MAX;
}

/* Asks for what is new where it is time. Who has a page open is there. */
static void tick_all(struct http *http)
{
    const struct site_options *options = http->site->options;
    for (struct exchange *at = http->exchanges; at; at = at->next) {
        if (!at->live)
            continue;
        http->site->used_ms = clock_ms();
        if (!at->suspended || at->due_ms > clock_ms())
            continue;
        struct site_rest rest = options->tick(options->context, at->live, &at->text);
        at->rest_ms = later(clock_ms(), rest.least_ms);
        at->due_ms = later(clock_ms(), rest.most_ms);
        if (at->text.size > 0 || at->text.failed)
            wake_exchange(at);
    }
}

/* Until when nobody has to be asked. */
static int64_t next_tick(const struct http *http)
{
    const struct site_options *options = http->site->options;
    int64_t until = INT64_MAX;
    if (!has_live(http))
        return until;
    if (http->echo_ms != 0)
        until = http->echo_ms;
    if ((http->own < 2 || options->news(options->context, false) < 0) &&
        http->quiet_ms < until)
        until = http->quiet_ms;
    for (const struct exchange *at = http->exchanges; at; at = at->next)
        if (at->live && at->suspended && at->due_ms < until)
            until = at->due_ms;
    return until;
}

static void take_gone(struct http *http)
{
    struct epoll_event events[16];
    int n = epoll_wait(http->gone, events, 16, 0);
    for (int i = 0; i < n; i++) {
        struct exchange *exchange = events[i].data.ptr;
        exchange->gone = true;
        wake_exchange(exchange);
    }
}

/* ---- Answers ---- */

static const char *header(struct MHD_Connection *handle, const char *name)
{
    return mhd->lookup_connection_value(handle, MHD_HEADER_KIND, name);
}

/* Those of which nobody may read one, and somebody else another. */
struct single {
    unsigned seen;
    const char *twice;
};

static enum MHD_Result count_header(void *context, enum MHD_ValueKind kind,
                                    const char *name, const char *value)
{
    static const char *const names[] = {"Host",
                                        "Origin",
                                        "Authorization",
                                        "Content-Type",
                                        "Content-Length",
                                        "Last-Event-ID",
                                        "MCP-Protocol-Version",
                                        "Mcp-Session-Id",
                                        "Mcp-Method",
                                        "Mcp-Name",
                                        "Cookie",
                                        "Sec-Fetch-Site"};
    struct single *single = context;
    (void)kind;
    (void)value;
    for (unsigned i = 0; i < COUNT_OF(names); i++) {
        if (strcasecmp(name, names[i]) != 0)
            continue;
        if (single->seen >> i & 1)
            single->twice = names[i];
        single->seen |= 1u << i;
    }
    return MHD_YES;
}

/* What an address stands for is not asked: %00 would end it for us, and for no other.
 */
static size_t keep_escapes(void *context, struct MHD_Connection *handle, char *text)
{
    (void)context;
    (void)handle;
    return strlen(text);
}

/* Nothing but our own style and script, forms that ask for our own pages, no frame
 * around it; and no page of others can open, embed or load one of ours. */
static void add_page_headers(struct MHD_Response *response,
                             const struct response *wanted)
{
    static const char *const headers[][2] = {
        {"Content-Security-Policy",
         "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
         "img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "same-origin"}, /* else a form has the origin "null" */
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"}};
    for (size_t i = 0; i < COUNT_OF(headers); i++)
        mhd->add_response_header(response, headers[i][0], headers[i][1]);
    if (wanted->disposition)
        mhd->add_response_header(response, "Content-Disposition", wanted->disposition);
    if (wanted->cookie)
        mhd->add_response_header(response, "Set-Cookie", wanted->cookie);
}

static enum MHD_Result queue(struct exchange *exchange, struct MHD_Response *response,
                             const struct response *wanted)
{
    enum MHD_Result queued;
    if (!response)
        return MHD_NO;
    if (wanted->type)
        mhd->add_response_header(response, "Content-Type", wanted->type);
    mhd->add_response_header(response, "Cache-Control",
                             wanted->fixed ? "private, max-age=31536000, immutable"
                                           : "no-store");
    mhd->add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (exchange->site)
        add_page_headers(response, wanted);
    if (wanted->session)
        mhd->add_response_header(response, "Mcp-Session-Id", wanted->session);
    if (wanted->status == 401 && !exchange->site)
        mhd->add_response_header(response, "WWW-Authenticate", "Bearer");
    if (wanted->status == 405)
        mhd->add_response_header(response, "Allow", wanted->allow);
    if (wanted->status == 503)
        mhd->add_response_header(response, "Retry-After", "1");
    /* What comes behind it may be a body that nobody has read, and no request. */
    if (exchange->refused)
        mhd->add_response_header(response, "Connection", "close");
    arm(exchange->handle, 0);
    queued = mhd->queue_response(exchange->handle, wanted->status, response);
    mhd->destroy_response(response);
    return queued;
}

/* Who has read it until now may be stuck with a full socket, and be there for longer
 * than the stream. */
static void take_over(struct exchange *exchange, struct stream *stream)
{
    struct exchange *before = stream->reader;
    if (before) {
        before->gone = true;
        before->stream = NULL;
    }
    exchange->stream = stream;
    exchange->alive_ms = 0; /* the library sends headers with the first bytes */
    stream_join(stream, exchange, wake_exchange);
}

static enum MHD_Result respond(struct exchange *exchange, struct response *response)
{
    enum MHD_Result queued;
    struct stream *stream = response->stream;
    if (stream) {
        take_over(exchange, stream);
        queued = queue(exchange,
                       mhd->create_response_from_callback(
                           stream->form == STREAM_EVENTS ? MHD_SIZE_UNKNOWN
                                                         : stream->text.size - 1,
                           16384, read_exchange, exchange, NULL),
                       response);
    } else {
        queued =
            queue(exchange,
                  mhd->create_response_from_buffer(
                      response->body.size, response->body.data, MHD_RESPMEM_MUST_COPY),
                  response);
    }
    buf_release(&response->body);
    return queued;
}

/* ---- What forms ask for ---- */

/* One command. It is an outlet, since calls are answered into one. */
struct deed {
    struct outlet outlet;
    struct site *site;
    struct exchange *exchange; /* NULL: who asked for it has gone */
    struct site_command *command;
    bool told; /* what came of it */
};

static void release_deed(struct outlet *outlet)
{
    struct deed *deed = (struct deed *)outlet;
    const struct site_options *options = deed->site->options;
    if (!deed->told)
        (void)options->acted(options->context, deed->command, NULL, NULL);
    if (deed->exchange && !deed->told) {
        deed->exchange->deed = NULL;
        deed->exchange->gone = true;
    }
    free(deed);
}

static const char *why_not_started(const struct site *site)
{
    return site->ending ? "the server ends: this was not begun"
                        : "too much is being done: ask again later";
}

static void finish_deed(struct server *server, struct call *call);

/* Who asked is answered now; the command goes on, and tells its end to nobody here. */
static void late_deed(struct server *server, struct call *call)
{
    struct deed *deed = (struct deed *)call->reply.outlet;
    struct exchange *exchange = deed->exchange;
    (void)server;
    if (!exchange)
        return;
    exchange->answer = (struct site_answer){.status = 200};
    deed->site->options->lasting(deed->site->options->context, deed->command,
                                 &exchange->answer);
    exchange->acted = true;
    exchange->deed = NULL;
    deed->exchange = NULL;
    wake_exchange(exchange);
}

static char asked_by_web[] = "CAIRN_ASKED_BY=web";

/* False: the server ends, or too much is being done, and the call (NULL: no memory) is freed; so is the
 * deed, if this was its only one. */
static bool start_command(struct deed *deed, struct call *call)
{
    const struct site_command *command = deed->command;
    if (!call)
        return false;
    for (const char *const *word = command->argv; *word; word++)
        arguments_add(&call->arguments, *word);
    call->reply =
        reply_to(&(struct route){&deed->site->client, &deed->outlet, NULL}, NULL);
    call->finish = finish_deed;
    call->starts = command->starts;
    call->late = command->lasts ? late_deed : NULL;
    call->late_ms = LATE_MS;
    call->lane = command->lasts ? LANE_LONG : LANE_QUICK;
    /* One that changes something is not stopped in the middle of it. */
    call->time_limit_ms = command->looks || command->starts ? DEED_MS : 0;
    call->variable = command->looks ? NULL : asked_by_web;
    if (!deed->site->ending && !call->arguments.failed && !call->arguments.too_many &&
        calls_add(&deed->site->calls, call))
        return true;
    deed->told = true;
    server_drop(NULL, &call->reply);
    call_free(call);
    return false;
}

/* Its answer, or its next command. */
static void tell_deed(struct deed *deed, const struct call *call,
                      struct site_answer *answer)
{
    const struct site_options *options = deed->site->options;
    struct answer printed;
    answer_init(&printed, call);
    bool ended = call->status == 0 || call->status == deed->command->verdict;
    bool failed = deed->command->text ? !ended || call->timed_out || call->too_large
                                      : printed.refused;
    struct site_came came = {.problem = !failed ? NULL
                                        : printed.problem.size > 0
                                            ? text_get(&printed.problem)
                                            : text_get(&call->err),
                             .printed = text_get(&call->out),
                             .err = text_get(&call->err)};
    deed->command =
        options->acted(options->context, deed->command,
                       deed->exchange || deed->command->lasts ? &came : NULL, answer);
    answer_release(&printed);
    deed->told = !deed->command;
}

static void finish_deed(struct server *server, struct call *call)
{
    struct deed *deed = (struct deed *)call->reply.outlet;
    const struct site_options *options = deed->site->options;
    struct site_answer answer = {.status = 200};
    tell_deed(deed, call, &answer);
    if (!deed->told && !start_command(deed, call_new())) {
        (void)options->acted(options->context, deed->command, NULL, NULL);
        deed->told = true;
        answer = (struct site_answer){.status = 503, .type = "text/plain"};
        buf_format(&answer.body, "cairn: %s\n", why_not_started(deed->site));
    }
    if (!deed->told) {
        /* its next command goes on */
    } else if (deed->exchange) {
        deed->exchange->answer = answer;
        deed->exchange->acted = true;
        deed->exchange->deed = NULL;
        wake_exchange(deed->exchange);
    } else {
        buf_release(&answer.body);
    }
    server_drop(server, &call->reply);
}

/* The connection waits for the answer, and the command not for the connection. */
static bool start_deed(struct exchange *exchange, struct site_command *command)
{
    struct deed *deed = calloc(1, sizeof *deed);
    struct call *call = deed ? call_new() : NULL;
    if (!call) {
        free(deed);
        return false;
    }
    *deed = (struct deed){.outlet.done = release_deed,
                          .site = exchange->site,
                          .exchange = exchange,
                          .command = command};
    exchange->deed = deed;
    if (!start_command(deed, call)) {
        exchange->deed = NULL;
        return false;
    }
    arm(exchange->handle, 0);
    exchange->suspended = true;
    watch(exchange, true);
    mhd->suspend_connection(exchange->handle);
    return true;
}

static const struct call *next_owed(const struct call *call)
{
    while (call && !call->variable)
        call = call->next;
    return call;
}

bool site_owes(const struct site *site)
{
    return next_owed(site->calls.running) || next_owed(site->calls.waiting);
}

void site_tell_owed(const struct site *site, bool left)
{
    const struct call *const lists[] = {site->calls.running, site->calls.waiting};
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (const struct call *call = lists[i]; (call = next_owed(call));
             call = call->next) {
            const struct deed *deed = (const struct deed *)call->reply.outlet;
            site->options->owed(site->options->context, deed->command, left);
        }
}

static void put_plain(struct response *response, const char *why)
{
    response->type = "text/plain; charset=utf-8";
    response->allow = "GET, HEAD";
    buf_format(&response->body, "cairn: %s\n", why);
}

static enum MHD_Result refuse(struct exchange *exchange, unsigned status,
                              const char *why)
{
    struct response response = {.status = status};
    if (exchange->site)
        put_plain(&response, why);
    else
        response_error(&response, status, why);
    exchange->refused = true;
    return respond(exchange, &response);
}

/* ---- Requests ---- */

static enum MHD_Result begin(struct http *http, struct MHD_Connection *handle,
                             const char *path, const char *method, const char *version,
                             void **own)
{
    struct exchange *exchange = calloc(1, sizeof *exchange);
    struct single single = {0, NULL};
    char address[64];
    struct knock knock;
    const char *why;
    unsigned status;
    if (!exchange)
        return MHD_NO;
    *exchange = (struct exchange){
        .next = http->exchanges,
        .link = &http->exchanges,
        .http = http,
        .site = http->web && strcmp(path, GATE_PATH) == 0 ? NULL : http->site,
        .handle = handle,
        .fd = socket_of(handle)};
    if (exchange->next)
        exchange->next->link = &exchange->next;
    http->exchanges = exchange;
    *own = exchange;
    arm(handle, REQUEST_MS);
    listen_local_address(exchange->fd, address);
    (void)mhd->get_connection_values(handle, MHD_HEADER_KIND, count_header, &single);
    knock = (struct knock){.method = method,
                           .path = path,
                           .host = header(handle, "Host"),
                           .origin = header(handle, "Origin"),
                           .authorization = header(handle, "Authorization"),
                           .content_type = header(handle, "Content-Type"),
                           .content_length = header(handle, "Content-Length"),
                           .accept = header(handle, "Accept"),
                           .cookie = header(handle, "Cookie"),
                           .fetch_site = header(handle, "Sec-Fetch-Site"),
                           .twice = single.twice,
                           .address = address};
    if (exchange->site && header(handle, "Transfer-Encoding"))
        knock.content_length = "chunked";
    status = exchange->site ? gate_page(http->gate, exchange->site, &knock, &why)
                            : gate_check(http->gate, &knock, &why);
    if (status == 0)
        trust(handle);
    const char *wrong = wrong_address(handle, version);
    if (status == 0 && wrong) {
        status = 400;
        why = wrong;
    }
    if (status == 0 && http->bodies > BODIES_BYTES) {
        status = 503;
        why = "too many requests are coming in: ask again later";
    }
    return status == 0 ? MHD_YES : refuse(exchange, status, why);
}

static void drop_body(struct exchange *exchange)
{
    exchange->http->bodies -= exchange->body.size;
    buf_release(&exchange->body);
}

static enum MHD_Result take_body(struct exchange *exchange, const char *bytes, size_t n)
{
    struct http *http = exchange->http;
    if (exchange->refused || exchange->too_large)
        return MHD_YES;
    if (exchange->body.size + n > (exchange->site ? SITE_FORM_BYTES : MESSAGE_BYTES)) {
        exchange->too_large = true; /* the library takes no answer before its end */
        drop_body(exchange);
        return MHD_YES;
    }
    if (http->bodies + n > 2 * BODIES_BYTES)
        return MHD_NO;
    buf_add(&exchange->body, bytes, n);
    http->bodies += n;
    return exchange->body.failed ? MHD_NO : MHD_YES;
}

static enum MHD_Result finish(struct exchange *exchange, const char *method)
{
    struct MHD_Connection *handle = exchange->handle;
    struct response response = {.status = 200};
    struct ask ask = {.method = method,
                      .body = exchange->body,
                      .session = header(handle, "Mcp-Session-Id"),
                      .last_event = header(handle, "Last-Event-ID"),
                      .headers = {.version = header(handle, "MCP-Protocol-Version"),
                                  .method = header(handle, "Mcp-Method"),
                                  .name = header(handle, "Mcp-Name")}};
    if (exchange->too_large)
        return refuse(exchange, 413, GATE_TOO_LONG);
    web_answer(exchange->http->web, &ask, &response);
    drop_body(exchange);
    return respond(exchange, &response);
}

static const char *query_value(void *request, const char *name)
{
    return mhd->lookup_connection_value(request, MHD_GET_ARGUMENT_KIND, name);
}

/* The fields of a form: the values stand behind their names, each ended by a NUL. */
static const char *field_value(void *request, const char *name)
{
    const struct buf *body = request;
    size_t n = strlen(name);
    for (const char *at = body->data, *end = at ? at + body->size : at; at < end;
         at += strlen(at) + 1)
        if (strncmp(at, name, n) == 0 && at[n] == '=')
            return at + n + 1;
    return NULL;
}

static enum MHD_Result respond_site(struct exchange *exchange,
                                    struct site_answer *answer)
{
    struct response response = {.status = answer->body.failed ? 503 : answer->status,
                                .type = answer->type,
                                .fixed = answer->fixed,
                                .body = answer->body};
    char disposition[sizeof answer->file + 40];
    snprintf(disposition, sizeof disposition, "attachment; filename=\"%s\"",
             answer->file);
    response.disposition = answer->file[0] ? disposition : NULL;
    answer->body = BUF_INIT;
    return respond(exchange, &response);
}

static enum MHD_Result finish_form(struct exchange *exchange, const char *path)
{
    const struct site_options *options = exchange->site->options;
    struct site_answer answer = {.status = 200};
    struct site_ask ask = {path, &exchange->body, field_value};
    exchange->site->used_ms = clock_ms();
    if (exchange->gone)
        return MHD_NO;
    if (exchange->acted)
        return respond_site(exchange, &exchange->answer);
    if (exchange->body.size > 0 && memchr(exchange->body.data, 0, exchange->body.size))
        return refuse(exchange, 400, "a form has no NUL");
    buf_byte(&exchange->body, 0);
    if (exchange->too_large || exchange->body.failed)
        return refuse(exchange, 413, "a form has at most 64 KiB");
    exchange->http->bodies++; /* that byte */
    for (size_t i = 0; i < exchange->body.size; i++)
        if (exchange->body.data[i] == '&')
            exchange->body.data[i] = '\0';
    const char *key = field_value(&exchange->body, SITE_KEY);
    if (!key || !secret_is(options->key, key, strlen(key)))
        return refuse(exchange, 403,
                      "this form is not one of this server, or of an earlier start of "
                      "it: load its page again");
    struct site_command *command = options->act(options->context, &ask, &answer);
    if (!command)
        return respond_site(exchange, &answer);
    if (start_deed(exchange, command))
        return MHD_YES;
    (void)options->acted(options->context, command, NULL, NULL);
    return refuse(exchange, 503, why_not_started(exchange->site));
}

/* The address with the token leads to the first page, with a cookie: by a page of ours
 * and not by a status, since a browser that came by a link of another site would not
 * show the cookie behind that. */
static enum MHD_Result finish_page(struct exchange *exchange, const char *path)
{
    struct site *site = exchange->site;
    struct response response = {.status = 200};
    struct site_answer answer = {.status = 200};
    struct site_ask ask = {path, exchange->handle, query_value};
    char cookie[160];
    site->used_ms = clock_ms();
    if (strncmp(path, SITE_OPEN, strlen(SITE_OPEN)) == 0) {
        if (!site_open(site, path))
            return refuse(
                exchange, 401,
                "this address does not count any more: a new one was printed");
        snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict",
                 site->cookie, site->secret);
        response.type = "text/html; charset=utf-8";
        buf_text(&response.body,
                 "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta "
                 "http-equiv=\"refresh\" content=\"0;url=/\"><title>cairn</title><a "
                 "href=\"/\">cairn</a>\n");
        response.cookie = cookie;
        return respond(exchange, &response);
    }
    exchange->live = site->options->live(site->options->context, &ask,
                                         header(exchange->handle, "Last-Event-ID"));
    if (exchange->live && count_live(exchange->http) > LIVE_MAX)
        return refuse(exchange, 503, "too many pages are renewed at once");
    if (exchange->live) {
        response.type = "text/event-stream";
        return queue(exchange,
                     mhd->create_response_from_callback(MHD_SIZE_UNKNOWN, 16384,
                                                        read_live, exchange, NULL),
                     &response);
    }
    site->options->answer(site->options->context, &ask, &answer);
    return respond_site(exchange, &answer);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *handle,
                                  const char *path, const char *method,
                                  const char *version, const char *bytes, size_t *n,
                                  void **own)
{
    struct exchange *exchange = *own;
    enum MHD_Result taken;
    if (!exchange)
        return begin(context, handle, path, method, version, own);
    if (*n == 0)
        return exchange->refused || exchange->stream || exchange->live ? MHD_YES
               : !exchange->site             ? finish(exchange, method)
               : strcmp(method, "POST") == 0 ? finish_form(exchange, path)
                                             : finish_page(exchange, path);
    taken = take_body(exchange, bytes, *n);
    *n = 0;
    return taken;
}

static void on_completed(void *context, struct MHD_Connection *handle, void **own,
                         enum MHD_RequestTerminationCode code)
{
    struct exchange *exchange = *own;
    (void)context;
    (void)code;
    arm(handle, IDLE_MS);
    if (!exchange)
        return;
    *own = NULL;
    if (exchange->suspended)
        watch(exchange, false);
    if (exchange->stream)
        stream_leave(exchange->stream, exchange);
    if (exchange->live)
        exchange->site->options->live_end(exchange->live);
    if (exchange->deed)
        exchange->deed->exchange = NULL;
    buf_release(&exchange->answer.body);
    buf_release(&exchange->text);
    drop_body(exchange);
    *exchange->link = exchange->next;
    if (exchange->next)
        exchange->next->link = exchange->link;
    free(exchange);
}

/* ---- The loop's halves, beginning and end ---- */

static unsigned connections_max(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
        limit.rlim_cur < CONNECTIONS_MAX + OWN_FDS)
        return limit.rlim_cur > OWN_FDS + 8 ? (unsigned)(limit.rlim_cur - OWN_FDS) : 8;
    return CONNECTIONS_MAX;
}

struct http *http_start(struct web *web, struct site *site, const struct gate *gate,
                        int listening, char why[512])
{
    mhd = microhttpd_load(why);
    struct http *http = mhd ? calloc(1, sizeof *http) : NULL;
    if (mhd)
        snprintf(why, 512, "the HTTP server could not be started");
    if (!http)
        return NULL;
    http->web = web;
    http->site = site;
    http->gate = gate;
    http->gone = epoll_create1(EPOLL_CLOEXEC);
    http->most = connections_max();
    http->daemon = mhd->start_daemon(
        MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, http,
        MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_CONNECTION_LIMIT, http->most,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)STALL_S, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, http, MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
        MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_URI_LOG_CALLBACK,
        note_address, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (http->daemon && http->gone >= 0)
        return http;
    http_stop(http);
    return NULL;
}

/* What the library wants to wait for, in its own terms. */
static void ask_library(struct http *http)
{
    FD_ZERO(&http->readable);
    FD_ZERO(&http->writable);
    FD_ZERO(&http->special);
    http->highest = -1;
    if (mhd->get_fdset(http->daemon, &http->readable, &http->writable, &http->special,
                       &http->highest) != MHD_YES)
        http->highest = -1; /* only what is due is done then */
}

/* When a connection is to be cut off, a silent stream says that it is there, or a
 * session of MCP may be too old. */
/* A stream that has nothing to say. */
static bool is_quiet(const struct exchange *exchange)
{
    return exchange->suspended && !exchange->deed &&
           (exchange->live ||
            (exchange->stream && exchange->stream->form == STREAM_EVENTS));
}

static int64_t next_sweep(const struct http *http)
{
    int64_t soon = http->swept_ms + SWEEP_MS, until = INT64_MAX;
    if (http->web && (http->web->streams || http->web->sessions || http->connections))
        return soon;
    for (const struct connection *at = http->connections; at; at = at->next)
        if (at->deadline_ms != 0 && at->deadline_ms < until)
            until = at->deadline_ms;
    for (const struct exchange *at = http->exchanges; at; at = at->next)
        if (is_quiet(at) && at->alive_ms + ALIVE_MS < until)
            until = at->alive_ms + ALIVE_MS;
    return until < soon ? soon : until;
}

size_t http_poll(struct http *http, struct pollfd *fds, int64_t *until_ms)
{
    MHD_UNSIGNED_LONG_LONG ms;
    int64_t now = clock_ms(), until = http->woken ? now : INT64_MAX;
    size_t n = 1;
    fds[0] = (struct pollfd){http->gone, POLLIN, 0};
    if (http->site && has_live(http) && now >= http->quiet_ms) {
        const struct site_options *options = http->site->options;
        int news = options->news(options->context, false);
        if (news >= 0)
            fds[n++] = (struct pollfd){news, POLLIN, 0};
    }
    http->own = n;
    ask_library(http);
    for (int fd = 0; fd <= http->highest; fd++) {
        short events = (short)((FD_ISSET(fd, &http->readable) ? POLLIN : 0) |
                               (FD_ISSET(fd, &http->writable) ? POLLOUT : 0));
        if (events)
            fds[n++] = (struct pollfd){fd, events, 0};
    }
    if (mhd->get_timeout(http->daemon, &ms) == MHD_YES && now + (int64_t)ms < until)
        until = now + (int64_t)ms;
    if (next_sweep(http) < until)
        until = next_sweep(http);
    if (http->site && next_tick(http) < until)
        until = next_tick(http);
    if (until < *until_ms)
        *until_ms = until;
    return n;
}

static bool run_library(struct http *http, const struct pollfd *fds, size_t n)
{
    FD_ZERO(&http->readable);
    FD_ZERO(&http->writable);
    FD_ZERO(&http->special);
    for (size_t i = http->own; i < n; i++) {
        if (fds[i].revents & (POLLIN | POLLHUP | POLLERR))
            FD_SET(fds[i].fd, &http->readable);
        if (fds[i].revents & (POLLOUT | POLLERR))
            FD_SET(fds[i].fd, &http->writable);
    }
    return mhd->run_from_select(http->daemon, &http->readable, &http->writable,
                                &http->special) == MHD_YES;
}

static bool is_silent(const struct exchange *exchange, int64_t now, int64_t ms)
{
    return is_quiet(exchange) && now - exchange->alive_ms >= ms;
}

/* Many streams in one turn, so that those opened one after another do not wake the
 * server one by one for ever. */
static void keep_alive(struct http *http, int64_t now)
{
    struct exchange *exchange = http->exchanges, *next;
    while (exchange && !is_silent(exchange, now, ALIVE_MS))
        exchange = exchange->next;
    if (!exchange)
        return;
    for (exchange = http->exchanges; exchange; exchange = next) {
        next = exchange->next;
        if (is_silent(exchange, now, QUIET_MS))
            wake_exchange(exchange);
    }
}

bool http_turn(struct http *http, const struct pollfd *fds, size_t n)
{
    int64_t now;
    http->woken = false;
    if (!run_library(http, fds, n))
        return false;
    take_gone(http);
    if (http->site) {
        take_news(http, fds);
        tick_all(http);
    }
    now = clock_ms();
    if (now - http->swept_ms < SWEEP_MS)
        return true;
    http->swept_ms = now;
    connections_cut_off(http->connections, now);
    keep_alive(http, now);
    if (http->web)
        web_sweep(http->web, now);
    return true;
}

static void wake_all(struct http *http)
{
    http->ending = true;
    for (struct exchange *exchange = http->exchanges; exchange;
         exchange = exchange->next)
        wake_exchange(exchange);
}

void http_stop(struct http *http)
{
    int64_t until = clock_ms() + 500;
    if (http->daemon) {
        wake_all(http);
        while (http->exchanges && clock_ms() < until) {
            struct pollfd fds[HTTP_FDS];
            int64_t due = clock_ms() + 10;
            size_t n = http_poll(http, fds, &due);
            int64_t ms = due - clock_ms();
            (void)poll(fds, (nfds_t)n, ms > 0 ? (int)ms : 0);
            http->woken = false;
            if (!run_library(http, fds, n))
                break;
        }
        wake_all(http);
        mhd->stop_daemon(http->daemon);
    }
    if (http->gone >= 0)
        close(http->gone);
    free(http);
}
