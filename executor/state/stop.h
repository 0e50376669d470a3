/* SPDX-License-Identifier: MIT */
/* The stop handle. */
#ifndef EXECUTOR_STATE_STOP_H
#define EXECUTOR_STATE_STOP_H

#include "cairn.h"

#include <stdint.h>

struct cairn_stop {
    int fd; /* eventfd: readable after a request */
    _Atomic uint32_t count;
};

#endif
