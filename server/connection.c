/* SPDX-License-Identifier: MIT */
#include "server/connection.h"

#include "server/call.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct connection {
    struct connection *next, **link;
    int fd;
    int64_t deadline_ms;    /* 0: none */
    unsigned char peer[16]; /* its address; of IPv6 what a network has in common */
    bool trusted, cut;
};

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

struct connection *connection_begin(struct connection **list, int fd, int64_t ms)
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

void connection_end(struct connection *connection)
{
    if (!connection)
        return;
    *connection->link = connection->next;
    if (connection->next)
        connection->next->link = connection->link;
    free(connection);
}

void connection_arm(struct connection *connection, int64_t ms)
{
    connection->deadline_ms = ms > 0 ? clock_ms() + ms : 0;
}

void connection_trust(struct connection *connection)
{
    connection->trusted = true;
}

static void cut(struct connection *connection)
{
    connection->cut = true;
    connection->deadline_ms = 0;
    (void)shutdown(connection->fd, SHUT_RDWR);
}

void connections_make_room(struct connection *list, size_t each, size_t all)
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

void connections_cut_off(struct connection *list, int64_t now)
{
    for (struct connection *at = list; at; at = at->next) {
        if (at->deadline_ms == 0 || now < at->deadline_ms)
            continue;
        cut(at);
    }
}
