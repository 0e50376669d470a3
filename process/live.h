/* SPDX-License-Identifier: MIT */
/* The directory of what lives: .cairn/live. */
#ifndef PROCESS_LIVE_H
#define PROCESS_LIVE_H

#include <stdint.h>

/* Makes a live owner look at its commands now, not within a second. */
void live_wake(const char *live_dir, uint64_t run);

#endif
