/* SPDX-License-Identifier: MIT */
/* The loop: one thread that waits for the client, for its calls and for signals. It
 * never waits for the client to read: what cannot be written is kept, up to a limit. */
#include "server/serve.h"

#include "server/server.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A pipe that can be written to takes this much at once without waiting. */
#define WRITE_BYTES 4096

static volatile sig_atomic_t stop_wanted;

static void on_signal(int number)
{
    (void)number;
    stop_wanted = 1;
}

/* What came from the client and is no whole line yet. */
struct input {
    struct text text;
    size_t seen; /* of it, without a line feed */
    bool skipping, closed;
};

static void take_lines(struct server *server, struct input *input)
{
    size_t done = 0;
    for (;;) {
        char *from = input->text.bytes + input->seen;
        char *end = input->text.n > input->seen
                        ? memchr(from, '\n', input->text.n - input->seen)
                        : NULL;
        size_t at;
        if (!end)
            break;
        at = (size_t)(end - input->text.bytes);
        if (!input->skipping)
            server_message(server, input->text.bytes + done, at - done);
        input->skipping = false;
        done = input->seen = at + 1;
    }
    text_cut(&input->text, done);
    input->seen = input->text.n;
    if (input->text.n > MESSAGE_BYTES) {
        if (!input->skipping)
            server_message_too_long(server);
        input->skipping = true;
    }
    if (input->skipping) {
        text_cut(&input->text, input->text.n);
        input->seen = 0;
    }
}

static bool read_input(struct server *server, struct input *input)
{
    char bytes[65536];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    if (n == 0) {
        /* The last line may lack its line feed. */
        if (input->text.n > 0 && !input->skipping)
            server_message(server, input->text.bytes, input->text.n);
        input->closed = true;
        return true;
    }
    text_add(&input->text, bytes, (size_t)n);
    if (input->text.failed)
        return false;
    take_lines(server, input);
    return true;
}

static size_t left_to_write(const struct server *server)
{
    return server->out.n - server->written;
}

/* Never waits: a socket can be told so, and a pipe has room for this much. */
static bool write_output(struct server *server)
{
    const char *from = server->out.bytes + server->written;
    size_t left = left_to_write(server);
    ssize_t done = send(STDOUT_FILENO, from, left, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done < 0 && errno == ENOTSOCK)
        done = write(STDOUT_FILENO, from, left < WRITE_BYTES ? left : WRITE_BYTES);
    if (done < 0)
        return errno == EINTR || errno == EAGAIN;
    server->written += (size_t)done;
    /* Moved seldom, so that it costs little for each byte. */
    if (server->written > server->out.n / 2) {
        text_cut(&server->out, server->written);
        server->written = 0;
    }
    return true;
}

static int wait_ms(int64_t until)
{
    int64_t now = clock_ms();
    return until == INT64_MAX ? -1 : until > now ? (int)(until - now) : 0;
}

/* One turn. False: it is over, *end says why. */
static bool turn(struct server *server, struct input *input, const sigset_t *mask,
                 enum serve_end *end)
{
    struct pollfd fds[2 + CALLS_FDS];
    int64_t until = INT64_MAX;
    size_t n = 2 + calls_poll(&server->calls, fds + 2, &until);
    struct timespec wait;
    int ms = wait_ms(until);
    fds[0] = (struct pollfd){input->closed ? -1 : STDIN_FILENO, POLLIN, 0};
    fds[1] = (struct pollfd){STDOUT_FILENO, left_to_write(server) > 0 ? POLLOUT : 0, 0};
    if (input->closed && calls_idle(&server->calls) && left_to_write(server) == 0)
        return false;
    wait = (struct timespec){ms / 1000, (long)(ms % 1000) * 1000000};
    if (ppoll(fds, (nfds_t)n, ms < 0 ? NULL : &wait, mask) < 0 && errno != EINTR) {
        *end = SERVE_SYSTEM;
        return false;
    }
    if (stop_wanted)
        return false;
    if (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))
        return false; /* nobody is there to answer */
    if ((fds[0].revents && !read_input(server, input)) ||
        (fds[1].revents & POLLOUT && !write_output(server)))
        *end = SERVE_SYSTEM;
    calls_serve(&server->calls);
    if (server->failed)
        *end = SERVE_SYSTEM;
    else if (left_to_write(server) > QUEUE_BYTES)
        *end = SERVE_NO_READER;
    return *end == SERVE_DONE;
}

/* Signals come while the loop waits, and at no other time. */
static void catch_signals(sigset_t *mask)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t blocked;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaddset(&blocked, numbers[i]);
        sigaction(numbers[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &blocked, mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigdelset(mask, numbers[i]);
}

enum serve_end serve(const struct serve_options *options)
{
    struct server server = {.options = options, .log_level = 1};
    struct input input = {.seen = 0};
    enum serve_end end = SERVE_DONE;
    sigset_t mask;
    catch_signals(&mask);
    calls_init(&server.calls, &server);
    while (turn(&server, &input, &mask, &end))
        continue;
    calls_end(&server.calls);
    text_release(&server.out);
    text_release(&input.text);
    return end;
}
