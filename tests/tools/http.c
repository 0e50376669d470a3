/* SPDX-License-Identifier: MIT */
/* A client of HTTP that sends what it is given, right or wrong.
 *
 *     http [-t SECONDS] [-u TEXT] [-s MS] [-r BYTES] [-n COUNT] PORT <REQUEST
 *
 * Sends stdin to 127.0.0.1:PORT and prints what comes back until the other side closes,
 * TEXT is in it (-u), or the time is over (default 20 s; status 3). -s: a byte each MS
 * milliseconds, status 4 if the other side closes before all is sent. -r: reads BYTES,
 * with little room for more, and then no more until the time is over. -n: COUNT
 * connections at once, each of which sends all of it; prints the first line of each
 * answer. With -n COUNT and -u, all stay open until every one has TEXT. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct client {
    int fd;
    size_t sent, n;
    char *got;
    bool done;
};

static char request[8 << 20];
static size_t request_bytes;
static long seconds = 20, slow_ms;
static size_t most; /* 0: all is read */
static const char *until;
static bool alone; /* what comes is printed at once */

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void open_client(struct client *client, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((unsigned short)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->fd >= 0 && most > 0)
        setsockopt(client->fd, SOL_SOCKET, SO_RCVBUF, &(int){2048}, sizeof(int));
    if (client->fd < 0 ||
        connect(client->fd, (struct sockaddr *)&address, sizeof address) != 0) {
        perror("http: connect");
        exit(2);
    }
}

static void send_some(struct client *client)
{
    size_t left = request_bytes - client->sent;
    ssize_t n = send(client->fd, request + client->sent, slow_ms && left > 1 ? 1 : left,
                     MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0)
        client->sent += (size_t)n;
    else if (n < 0 && errno != EAGAIN && slow_ms)
        exit(4);
    else if (n < 0 && errno != EAGAIN)
        client->sent = request_bytes;
}

static void receive(struct client *client)
{
    char bytes[65536];
    size_t room = most > 0 && most < sizeof bytes ? most : sizeof bytes;
    ssize_t n = recv(client->fd, bytes, room, MSG_DONTWAIT);
    char *got;
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        if (slow_ms && client->sent < request_bytes)
            exit(4);
        client->done = true;
        return;
    }
    got = realloc(client->got, client->n + (size_t)n + 1);
    if (!got)
        exit(2);
    memcpy(got + client->n, bytes, (size_t)n);
    client->n += (size_t)n;
    got[client->n] = '\0';
    client->got = got;
    if (alone) {
        fwrite(bytes, 1, (size_t)n, stdout);
        fflush(stdout);
    }
    if (until && strstr(got, until))
        client->done = true;
}

static bool all_done(const struct client *clients, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!clients[i].done)
            return false;
    return true;
}

static bool talk(struct client *clients, struct pollfd *fds, size_t n)
{
    long end = now_ms() + seconds * 1000;
    while (!all_done(clients, n) && now_ms() < end) {
        for (size_t i = 0; i < n; i++) {
            bool sends = clients[i].sent < request_bytes;
            fds[i] = (struct pollfd){
                .fd = clients[i].done ? -1 : clients[i].fd,
                .events = (short)((most == 0 || clients[i].n < most ? POLLIN : 0) |
                                  (sends && !slow_ms ? POLLOUT : 0))};
        }
        poll(fds, n, slow_ms ? (int)slow_ms : 100);
        for (size_t i = 0; i < n; i++) {
            if (clients[i].sent < request_bytes &&
                (slow_ms || fds[i].revents & POLLOUT))
                send_some(&clients[i]);
            if (fds[i].revents & (POLLIN | POLLHUP | POLLERR) &&
                (most == 0 || clients[i].n < most))
                receive(&clients[i]);
        }
    }
    return all_done(clients, n);
}

int main(int argc, char **argv)
{
    size_t n = 1, count;
    struct client *clients;
    struct pollfd *fds;
    bool done;
    int option;
    while ((option = getopt(argc, argv, "t:u:s:r:n:")) != -1) {
        if (option == 't')
            seconds = strtol(optarg, NULL, 10);
        else if (option == 'u')
            until = optarg;
        else if (option == 's')
            slow_ms = strtol(optarg, NULL, 10);
        else if (option == 'r')
            most = strtoul(optarg, NULL, 10);
        else if (option == 'n')
            n = strtoul(optarg, NULL, 10);
        else
            return 2;
    }
    if (optind + 1 != argc || n == 0)
        return 2;
    while ((count = fread(request + request_bytes, 1, sizeof request - request_bytes,
                          stdin)) > 0)
        request_bytes += count;
    alone = n == 1;
    clients = calloc(n, sizeof *clients);
    fds = calloc(n, sizeof *fds);
    if (!clients || !fds)
        return 2;
    for (size_t i = 0; i < n; i++)
        open_client(&clients[i], (int)strtol(argv[optind], NULL, 10));
    done = talk(clients, fds, n);
    for (size_t i = 0; i < n; i++) {
        const char *got = clients[i].got ? clients[i].got : "";
        if (!alone)
            printf("%.*s\n", (int)strcspn(got, "\r\n"), got);
        close(clients[i].fd);
        free(clients[i].got);
    }
    free(clients);
    free(fds);
    return done ? 0 : 3;
}
