/* SPDX-License-Identifier: MIT */
#include "server/listen.h"

#include "base/words.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

static bool take_port(const char *text, unsigned *port)
{
    uint64_t number = 0;
    bool good = str_to_u64(str_of(text), &number);
    *port = (unsigned)number;
    return good && number <= 65535 && strlen(text) <= 5;
}

/* No names but localhost: what they point to would be decided elsewhere. */
static bool take_address(union address *address, const char *text)
{
    const char *colon = strrchr(text, ':');
    char host[64];
    size_t n = colon ? (size_t)(colon - text) : sizeof host;
    unsigned port;
    memset(address, 0, sizeof *address);
    if (n >= sizeof host || !take_port(colon + 1, &port))
        return false;
    memcpy(host, text, n);
    host[n] = '\0';
    if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
        host[n - 1] = '\0';
        address->six.sin6_family = AF_INET6;
        address->six.sin6_port = htons((uint16_t)port);
        return inet_pton(AF_INET6, host + 1, &address->six.sin6_addr) == 1;
    }
    address->four.sin_family = AF_INET;
    address->four.sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
                     &address->four.sin_addr) == 1;
}

static bool is_loopback(const union address *address)
{
    return address->any.sa_family == AF_INET6
               ? IN6_IS_ADDR_LOOPBACK(&address->six.sin6_addr)
               : (ntohl(address->four.sin_addr.s_addr) >> 24) == 127;
}

static bool is_any(const union address *address)
{
    return address->any.sa_family == AF_INET6
               ? IN6_IS_ADDR_UNSPECIFIED(&address->six.sin6_addr)
               : address->four.sin_addr.s_addr == htonl(INADDR_ANY);
}

static void put_address(const union address *address, char out[64])
{
    char text[INET6_ADDRSTRLEN] = "";
    if (address->any.sa_family == AF_INET6 &&
        IN6_IS_ADDR_V4MAPPED(&address->six.sin6_addr))
        inet_ntop(AF_INET, address->six.sin6_addr.s6_addr + 12, text, sizeof text);
    else if (address->any.sa_family == AF_INET6)
        inet_ntop(AF_INET6, &address->six.sin6_addr, text, sizeof text);
    else if (address->any.sa_family == AF_INET)
        inet_ntop(AF_INET, &address->four.sin_addr, text, sizeof text);
    snprintf(out, 64, strchr(text, ':') ? "[%s]" : "%s", text);
}

static bool open_socket(struct place *place, union address *address)
{
    int yes = 1;
    socklen_t n =
        address->any.sa_family == AF_INET6 ? sizeof address->six : sizeof address->four;
    place->fd =
        socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return place->fd >= 0 &&
           setsockopt(place->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
           bind(place->fd, &address->any, n) == 0 && listen(place->fd, 128) == 0 &&
           getsockname(place->fd, &address->any, &n) == 0;
}

static bool take_allowed(union address *address, const char *text, bool remote,
                         char why[512])
{
    if (!take_address(address, text)) {
        snprintf(why, 512,
                 "--listen takes an address and a port, such as 127.0.0.1:0 (any free "
                 "port), localhost:8080 or [::1]:8080, not '%.100s'",
                 text);
        return false;
    }
    if (!is_loopback(address) && !remote) {
        snprintf(
            why, 512,
            "--listen %.100s would let other machines in: with --allow-remote they "
            "may come, and the token and all that is said go over the network as "
            "they are",
            text);
        return false;
    }
    return true;
}

bool listen_allowed(const char *text, bool remote, char why[512])
{
    union address address;
    return take_allowed(&address, text, remote, why);
}

bool listen_at(struct place *place, const char *text, bool remote, char why[512])
{
    union address address;
    char name[64];
    if (!take_allowed(&address, text, remote, why))
        return false;
    place->loopback = is_loopback(&address);
    if (!open_socket(place, &address)) {
        snprintf(why, 512, "cannot listen at %.100s: %s", text, strerror(errno));
        if (place->fd >= 0)
            close(place->fd);
        return false;
    }
    place->port = ntohs(address.any.sa_family == AF_INET6 ? address.six.sin6_port
                                                          : address.four.sin_port);
    if (is_any(&address))
        snprintf(name, sizeof name,
                 address.any.sa_family == AF_INET6 ? "[::1]" : "127.0.0.1");
    else
        put_address(&address, name);
    snprintf(place->url, sizeof place->url, "http://%s:%u", name, place->port);
    return true;
}

void listen_local_address(int fd, char address[64])
{
    union address local;
    socklen_t n = sizeof local;
    memset(&local, 0, sizeof local);
    address[0] = '\0';
    if (getsockname(fd, &local.any, &n) == 0)
        put_address(&local, address);
}
