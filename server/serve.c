/* SPDX-License-Identifier: MIT */
#include "server/serve.h"

#include "server/call.h"
#include "server/http.h"
#include "server/listen.h"
#include "server/server.h"
#include "server/site.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* How often the end was asked for: 2 is at once. A terminal that closes says so more than
 * once. */
static volatile sig_atomic_t wanted;
static sigset_t while_waiting;

static void on_signal(int number)
{
    if (number != SIGHUP || wanted == 0)
        wanted = wanted == 0 ? 1 : 2;
}

static void stop_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t blocked;
    sigemptyset(&blocked);
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        sigaddset(&blocked, numbers[i]);
        sigaction(numbers[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &blocked, &while_waiting);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        sigdelset(&while_waiting, numbers[i]);
}

static bool stop_wanted(void)
{
    return wanted != 0;
}

/* poll until that time of clock_ms (INT64_MAX: for ever) or a signal. False: it failed.
 */
static bool stop_poll(struct pollfd *fds, size_t n, int64_t until_ms)
{
    int64_t now = clock_ms();
    int64_t ms = until_ms > now ? until_ms - now : 0;
    struct timespec wait = {ms / 1000, (long)(ms % 1000) * 1000000};
    return ppoll(fds, (nfds_t)n, until_ms == INT64_MAX ? NULL : &wait,
                 &while_waiting) >= 0 ||
           errno == EINTR;
}

/* The loop over HTTP: one thread, as over stdio, for all clients. */

/* What is served at one address: one of the two may be NULL. */
struct served {
    struct server *server;
    struct site *site;
};

/* Whether to go on: until it is asked for the end, and then until what pages have begun
 * to change is done, unless it is asked once more. */
static bool goes_on(struct site *site)
{
    if (site && site->failed)
        return false;
    if (wanted == 0)
        return true;
    if (site && !site->ending)
        site_tell_owed(site, false);
    if (site)
        site->ending = true;
    return wanted == 1 && site && site_owes(site);
}

static enum serve_end run(const struct served *served, struct http *http)
{
    struct server *server = served->server;
    struct site *site = served->site;
    int64_t idle_ms = site && !server ? site->options->idle_ms : 0;
    if (site)
        site->used_ms = clock_ms();
    while (goes_on(site)) {
        struct pollfd fds[HTTP_FDS + SERVER_FDS + CALLS_FDS];
        int64_t until = site && idle_ms > 0 ? site->used_ms + idle_ms : INT64_MAX;
        size_t mine = http_poll(http, fds, &until), n = mine;
        if (server)
            n += server_poll(server, fds + n, &until);
        if (site)
            n += calls_poll(&site->calls, fds + n, &until);
        if (!stop_poll(fds, n, until) || !http_turn(http, fds, mine))
            return SERVE_SYSTEM;
        if (server)
            server_turn(server);
        if (site && !calls_idle(&site->calls)) /* an answer is owed */
            site->used_ms = clock_ms();
        if (site)
            calls_serve(&site->calls);
        if (server && server->failed)
            return SERVE_SYSTEM;
        if (site && idle_ms > 0 && clock_ms() - site->used_ms >= idle_ms)
            return SERVE_DONE;
    }
    return site && site->failed ? SERVE_SYSTEM : SERVE_DONE;
}

static void begin_site(struct site *site, const struct site_options *options,
                       const struct place *place)
{
    *site = (struct site){.options = options, .url = place->url};
    snprintf(site->cookie, sizeof site->cookie, "cairn-%u", place->port);
    calls_init(&site->calls, NULL);
}

/* `options` NULL: pages alone; `pages` NULL: MCP alone. */
static enum serve_end serve_at(const struct serve_options *options,
                               const struct site_options *pages,
                               const struct place *place, const char *token,
                               char why[512])
{
    const char *const *hosts = options ? options->hosts : pages ? pages->hosts : NULL;
    struct gate gate = {token, hosts, place->port, place->loopback};
    struct server server;
    struct site site;
    struct web web;
    struct served served = {options ? &server : NULL, pages ? &site : NULL};
    enum serve_end end = SERVE_SYSTEM;
    if (options) {
        server_init(&server, options);
        server.calls.shared = true;
        web_init(&web, &server);
    }
    if (pages)
        begin_site(&site, pages, place);
    struct http *http =
        http_start(options ? &web : NULL, served.site, &gate, place->fd, why);
    if (http && options)
        options->listening(options, place->url);
    if (http && pages)
        site_next_address(&site);
    if (http) {
        end = run(&served, http);
        snprintf(why, 512,
                 "the server has ended: no random numbers, no memory, or the network "
                 "failed");
    }
    if (pages)
        site_tell_owed(&site, true);
    if (pages)
        calls_end(&site.calls);
    if (options)
        server_end(&server);
    if (http)
        http_stop(http);
    if (options)
        web_release(&web);
    return end;
}

bool serve_may_listen(const struct serve_options *options, char why[512])
{
    return listen_allowed(options->listen, options->remote, why);
}

enum serve_end serve_http(const struct serve_options *options, char why[512])
{
    struct place place;
    char *token;
    enum serve_end end;
    stop_catch();
    if (!listen_at(&place, options->listen, options->remote, why))
        return SERVE_SYSTEM;
    token = gate_token(options->token_file, why);
    end = token ? serve_at(options, options->pages, &place, token, why) : SERVE_SYSTEM;
    if (!token)
        close(place.fd);
    free(token);
    return end;
}

/* ---- Pages ---- */

bool site_may_listen(const struct site_options *options, char why[512])
{
    return listen_allowed(options->listen, options->remote, why);
}

enum serve_end serve_site(const struct site_options *options, char why[512])
{
    struct place place;
    stop_catch();
    if (!listen_at(&place, options->listen, options->remote, why))
        return SERVE_SYSTEM;
    return serve_at(NULL, options, &place, "", why);
}

/* The loop: one thread that waits for the client, for its calls and for signals. It
 * never waits for the client to read: what cannot be written is kept, up to a limit. */

/* A pipe that can be written to takes this much at once without waiting. */
#define WRITE_BYTES 4096

/* The one client, and what is to be written to it. */
struct stdio {
    struct outlet outlet;
    struct client client;
    struct route route;
    struct buf out;
    size_t written; /* of it */
    bool failed;    /* out of memory */
};

static void write_later(struct outlet *outlet, const char *json, size_t n)
{
    struct stdio *stdio = (struct stdio *)outlet;
    buf_add(&stdio->out, json, n);
    buf_add(&stdio->out, "\n", 1);
    stdio->failed = stdio->failed || stdio->out.failed;
}

static void stdio_init(struct stdio *stdio)
{
    *stdio =
        (struct stdio){.outlet.send = write_later, .client.log_level = LOG_NOTHING};
    stdio->client.notices = &stdio->outlet;
    stdio->route = (struct route){&stdio->client, &stdio->outlet, NULL};
}

/* What came from the client and is no whole line yet. */
struct input {
    struct buf text;
    size_t seen; /* of it, without a line feed */
    bool skipping, closed;
};

static void take_lines(struct server *server, const struct route *route,
                       struct input *input)
{
    size_t done = 0;
    for (;;) {
        char *from = input->text.data + input->seen;
        char *end = input->text.size > input->seen
                        ? memchr(from, '\n', input->text.size - input->seen)
                        : NULL;
        size_t at;
        if (!end)
            break;
        at = (size_t)(end - input->text.data);
        if (!input->skipping)
            server_message(server, route, input->text.data + done, at - done);
        input->skipping = false;
        done = input->seen = at + 1;
    }
    text_cut(&input->text, done);
    input->seen = input->text.size;
    if (input->text.size > MESSAGE_BYTES) {
        if (!input->skipping)
            server_message_too_long(server, route);
        input->skipping = true;
    }
    if (input->skipping) {
        text_cut(&input->text, input->text.size);
        input->seen = 0;
    }
}

static bool read_input(struct server *server, const struct route *route,
                       struct input *input)
{
    char bytes[16384];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    if (n == 0) {
        /* The last line may lack its line feed. */
        if (input->text.size > 0 && !input->skipping)
            server_message(server, route, input->text.data, input->text.size);
        input->closed = true;
        return true;
    }
    buf_add(&input->text, bytes, (size_t)n);
    if (input->text.failed)
        return false;
    take_lines(server, route, input);
    return true;
}

static size_t left_to_write(const struct stdio *stdio)
{
    return stdio->out.size - stdio->written;
}

/* Never waits: a socket has a flag for that, and a pipe has room for this much. */
static bool write_output(struct stdio *stdio)
{
    const char *from = stdio->out.data + stdio->written;
    size_t left = left_to_write(stdio);
    ssize_t done = send(STDOUT_FILENO, from, left, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done < 0 && errno == ENOTSOCK)
        done = write(STDOUT_FILENO, from, left < WRITE_BYTES ? left : WRITE_BYTES);
    if (done < 0)
        return errno == EINTR || errno == EAGAIN;
    stdio->written += (size_t)done;
    /* Moved seldom, so that it costs little for each byte. */
    if (stdio->written > stdio->out.size / 2) {
        text_cut(&stdio->out, stdio->written);
        stdio->written = 0;
    }
    return true;
}

/* One turn. False: it is over, *end says why. */
static bool turn(struct server *server, struct stdio *stdio, struct input *input,
                 enum serve_end *end)
{
    struct pollfd fds[2 + SERVER_FDS];
    int64_t until = INT64_MAX;
    size_t n = 2 + server_poll(server, fds + 2, &until);
    if (input->closed) /* what was asked for last has been started */
        calls_hang_up(&server->calls, &until);
    fds[0] = (struct pollfd){input->closed ? -1 : STDIN_FILENO, POLLIN, 0};
    fds[1] = (struct pollfd){STDOUT_FILENO, left_to_write(stdio) > 0 ? POLLOUT : 0, 0};
    if (input->closed && calls_idle(&server->calls) && left_to_write(stdio) == 0)
        return false;
    if (!stop_poll(fds, n, until)) {
        *end = SERVE_SYSTEM;
        return false;
    }
    if (stop_wanted())
        return false;
    if (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))
        return false; /* nobody is there to answer */
    if ((fds[0].revents && !read_input(server, &stdio->route, input)) ||
        (fds[1].revents & POLLOUT && !write_output(stdio)))
        *end = SERVE_SYSTEM;
    server_turn(server);
    if (server->failed || stdio->failed)
        *end = SERVE_SYSTEM;
    else if (left_to_write(stdio) > QUEUE_BYTES)
        *end = SERVE_NO_READER;
    return *end == SERVE_DONE;
}

enum serve_end serve(const struct serve_options *options)
{
    struct server server;
    struct stdio stdio;
    struct input input = {.seen = 0};
    enum serve_end end = SERVE_DONE;
    stop_catch();
    server_init(&server, options);
    stdio_init(&stdio);
    while (turn(&server, &stdio, &input, &end))
        continue;
    server_end(&server);
    buf_release(&stdio.out);
    buf_release(&input.text);
    return end;
}
