/* SPDX-License-Identifier: MIT */
/* The output of one attempt, as `cairn log` prints it. */
#ifndef CLI_TASKS_LOG_ONE_H
#define CLI_TASKS_LOG_ONE_H

#include "cli/json.h"
#include "cli/options.h"

struct log {
    struct settings *settings;
    struct cairn_store *store;
    struct cairn_run_info run;
    const char *task;
    uint32_t attempt; /* 0: the newest */
    bool wanted[3];   /* by stream number: 1 stdout, 2 stderr; both of one log */
    bool timestamps;
    bool terminal, color; /* stdout is a terminal; it has colors */
    bool one_place;       /* people look at it: all that is told goes to stdout, too */
    bool several; /* it is one of several tasks: what it has not got is no error */
    bool any;     /* ... and one has been printed */
};

/* Prints it; with `follow` until the attempt has ended. Returns an exit status. */
int log_print(struct log *log, bool follow);
/* Only one stream is wanted, of an attempt that has one log of both: says so. */
bool log_lacks_stream(const struct log *log, bool merged);
/* Its members, in an object that is open. */
int log_document(struct log *log, struct doc *doc);

#endif
