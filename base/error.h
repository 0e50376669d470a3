/* SPDX-License-Identifier: MIT */
/* The one error type (struct cairn_error of cairn/error.h, caller-owned) and how it is
 * filled.
 * Every function takes the error last, accepts NULL for it, and returns its code, so
 * a failure reads `return error_set(error, CAIRN_EIO, "...")`. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "cairn/error.h"

#include <stddef.h>

/* Replaces the text. Returns `code`. */
int error_set(struct cairn_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a failed system call: appends ": " and the text of `sys` (an errno).
 * The code is CAIRN_EIO, CAIRN_ENOMEM for ENOMEM. */
int error_sys(struct cairn_error *error, int sys, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Puts context in front: "context: old text". The code stays. */
void error_context(struct cairn_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "out of memory". Returns CAIRN_ENOMEM. */
int error_nomem(struct cairn_error *error);

#endif
