/* SPDX-License-Identifier: MIT */
#include "server/connection.h"

#include "server/call.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

struct connection {
    struct connection *next, **link;
    int fd;
    int64_t deadline_ms; /* 0: none */
};

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

void connections_cut_off(struct connection *list, int64_t now)
{
    for (struct connection *at = list; at; at = at->next) {
        if (at->deadline_ms == 0 || now < at->deadline_ms)
            continue;
        at->deadline_ms = 0;
        (void)shutdown(at->fd, SHUT_RDWR);
    }
}
