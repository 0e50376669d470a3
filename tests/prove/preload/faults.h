/* SPDX-License-Identifier: MIT */
/* What faults.c, loaded into cairn, and the driver of tests/prove/faults share: a file
 * that both map, so that what was counted outlives the process however it ends. */
#ifndef TESTS_PROVE_FAULTS_H
#define TESTS_PROVE_FAULTS_H

#include <stdatomic.h>
#include <stdint.h>

enum { FAULT_STACKS = 1 << 16, FAULT_CALL = 48 };

struct fault_page {
    _Atomic uint64_t seen;  /* calls of the kind */
    _Atomic uint64_t fired; /* of these, how many were made to fail */
    char call[FAULT_CALL];  /* the function that failed first */
    /* With CAIRN_FAULT_STACKS: a hash of the stack of the N-th call, N from 0. */
    uint32_t stack[FAULT_STACKS];
};

#endif
