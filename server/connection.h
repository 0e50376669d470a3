/* SPDX-License-Identifier: MIT */
/* Connections: each has a deadline by which its next request must be there as a whole;
 * who is late, however lively, is cut off. */
#ifndef SERVER_CONNECTION_H
#define SERVER_CONNECTION_H

#include <stddef.h>
#include <stdint.h>

#define STALL_S 30 /* a reader that takes nothing */

struct connection;
/* Puts one with such a deadline into the list. NULL: out of memory. */
struct connection *connection_begin(struct connection **list, int fd, int64_t ms);
/* NULL is none. Does not close its descriptor. */
void connection_end(struct connection *connection);
/* It has shown the token: it is not cut off to make room. */
void connection_trust(struct connection *connection);
/* For one that was put into the list last: where there are more than `each` of its peer
 * that have not shown the token, or more than `all` connections, the oldest such one is
 * cut off. */
void connections_make_room(struct connection *list, size_t each, size_t all);
/* From now on; 0: none, its request is being answered. */
void connection_arm(struct connection *connection, int64_t ms);
void connections_cut_off(struct connection *list, int64_t now);

#endif
