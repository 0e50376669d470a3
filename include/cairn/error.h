/* SPDX-License-Identifier: MIT */
/* cairn: errors, their codes, and what every other header needs. */
#ifndef CAIRN_ERROR_H
#define CAIRN_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CAIRN_API __attribute__((visibility("default")))
#else
#define CAIRN_API
#endif

enum cairn_code {
    CAIRN_OK = 0,
    CAIRN_EUSAGE = -1,      /* a wrong argument or option                  exit 2 */
    CAIRN_EWORKFLOW = -2,   /* the workflow is invalid                     exit 3 */
    CAIRN_ECHANGED = -3,    /* definition changed and that was refused     exit 4 */
    CAIRN_EDAMAGED = -4,    /* the store, or a record in it, is damaged    exit 5 */
    CAIRN_EOWNED = -5,      /* another run owns the workflow               exit 6 */
    CAIRN_ENOTFOUND = -6,   /* no such run, task or checkpoint             exit 10 */
    CAIRN_EBUSY = -7,       /* a lock wait ran out                         exit 75 */
    CAIRN_EIO = -8,         /* a system call failed: I/O, space, rights    exit 75 */
    CAIRN_ENOMEM = -9,      /* out of memory                               exit 75 */
    CAIRN_ENEWER = -10,     /* the store is from a newer cairn             exit 75 */
    CAIRN_ELIMIT = -11,     /* a documented limit is exceeded              exit 3 */
    CAIRN_EAMBIGUOUS = -12, /* a short id matches several checkpoints     exit 2 */
    CAIRN_ESTOPPED = -13,   /* cairn_stop_request, before the run began   exit 7 */
    CAIRN_EEXISTS = -14     /* there is one of that key already           exit 2 */
};

struct cairn_error {
    int code;        /* enum cairn_code */
    int sys;         /* errno, or 0 */
    char text[1024]; /* what happened and what to do; may hold several lines */
};

/* The version of the library, "1.2.3". */
CAIRN_API const char *cairn_version(void);
/* A code in words, "not found"; "unknown error" for a number that is no code. */
CAIRN_API const char *cairn_code_name(int code);
/* The exit status that the command uses for a code (docs/exit-codes.md). */
CAIRN_API int cairn_exit_status(int code);

#ifdef __cplusplus
}
#endif
#endif
