/* SPDX-License-Identifier: MIT */
/* The stop handle. */
#ifndef PLAN_STOP_H
#define PLAN_STOP_H

#include "cairn/run.h"

#include <stdint.h>

struct cairn_stop {
    int fd; /* eventfd: readable after a request */
    _Atomic uint32_t count;
};

#endif
