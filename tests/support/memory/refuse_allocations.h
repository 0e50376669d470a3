/* SPDX-License-Identifier: MIT */
/* Allocations that are refused, in programs that are linked with --wrap for malloc,
 * calloc and realloc (Makefile). */
#ifndef TESTS_SUPPORT_MEMORY_REFUSE_ALLOCATIONS_H
#define TESTS_SUPPORT_MEMORY_REFUSE_ALLOCATIONS_H

extern long allocations_left; /* until one is refused; 0: none is */

#endif
