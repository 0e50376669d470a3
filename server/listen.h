/* SPDX-License-Identifier: MIT */
/* Where the server listens. */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include <stdbool.h>

struct place {
    int fd; /* of the socket that listens */
    unsigned port;
    bool loopback;
    char url[100]; /* where it listens at all addresses, that of this machine for itself
                    */
};

/* "127.0.0.1:8080", "[::1]:0", "localhost:0": a number or localhost, and a port; 0 is
 * any that is free. Beyond the loopback interface only if `remote`. False: `why` says
 * why not. */
bool listen_allowed(const char *text, bool remote, char why[512]);
/* Listens there; false: `why` says why not. */
bool listen_at(struct place *place, const char *text, bool remote, char why[512]);
/* The address at which a connection has arrived, as in a URL; "" if that is not known.
 */
void listen_local_address(int fd, char address[64]);

#endif
