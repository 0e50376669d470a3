/* SPDX-License-Identifier: MIT */
/* Signals that ask the server to end. They come while it waits, and at no other time.
 */
#ifndef SERVER_STOP_H
#define SERVER_STOP_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void stop_catch(void);
bool stop_wanted(void);
/* poll until that time of clock_ms (INT64_MAX: for ever) or a signal. False: it failed.
 */
bool stop_poll(struct pollfd *fds, size_t n, int64_t until_ms);

#endif
