/* SPDX-License-Identifier: MIT */
/* cairn: what takes room in the store, of one session (cairn/session.h). */
#ifndef CAIRN_SIZE_H
#define CAIRN_SIZE_H

#include "checkpoint.h"
#include "error.h"
#include "session.h"
#include "store.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes. What the database itself needs around rows and contents is not in them. */
struct cairn_size {
    uint64_t logical; /* uncompressed, if each checkpoint had a copy of its own */
    uint64_t stored;  /* as stored: compressed, each content once */
    uint64_t shared;  /* of `stored`: what other sessions refer to as well */
    uint64_t parts;   /* contents and rows */
};
struct cairn_session_size {
    uint64_t session; /* its number */
    struct cairn_size files, board, messages;
    struct cairn_size log;     /* of what was done: `cairn session log` */
    struct cairn_size records; /* of checkpoints; what they hold is above */
    struct cairn_size all;
    uint64_t checkpoints;
    uint64_t damaged;     /* checkpoints and contents that cannot be read: what they
                             refer to is not counted */
    uint64_t paths;       /* of files that ever had content */
    uint64_t store_bytes; /* of the database, with everything else that is in it */
    uint64_t free_bytes;  /* of these: free, and used again */
    uint64_t budget;      /* the setting "size-budget"; 0: off */
};
/* One checkpoint; views during the callback. */
struct cairn_checkpoint_size {
    char id[CAIRN_ID_MAX];
    uint64_t seq;
    int64_t time_ns;
    const char *message;
    uint64_t logical; /* of what it holds */
    uint64_t added;   /* stored for it that no older one of the session refers to */
    uint64_t alone;   /* stored for it that nothing else refers to: what `cairn gc` can
                         free once it was deleted */
};
/* All contents that one path has had. What several paths have had counts for the one in
 * the oldest checkpoint. */
struct cairn_file_size {
    const char *path;
    uint64_t contents, logical, stored;
};
struct cairn_size_request {
    /* What all of it takes; called first. */
    int (*total)(void *context, const struct cairn_session_size *size);
    uint32_t checkpoints, files; /* at most so many of each are told; 0: none */
    /* The newest first. Non-zero stops. */
    int (*checkpoint)(void *context, const struct cairn_checkpoint_size *size);
    /* Those first for which most is stored. Non-zero stops. */
    int (*file)(void *context, const struct cairn_file_size *size);
    void *context;
};
/* Reads what is referred to of all sessions, and changes nothing. Callbacks may be
 * NULL, and may use the store. */
CAIRN_API int cairn_session_size(struct cairn_store *store, const char *session,
                                 const struct cairn_size_request *request,
                                 struct cairn_error *error);

/* A session for which more is stored than its setting "size-budget" says (2G where it
 * was never set; cairn/session.h). Nothing is deleted because of that. */
struct cairn_budget {
    uint64_t session; /* its number */
    char name[CAIRN_SESSION_NAME_MAX];
    uint64_t stored, budget; /* bytes; `stored` is that of all */
};
/* Of the sessions that were changed through this handle and that cairn_hooks_run has
 * not asked for yet: tells each that has grown beyond its budget, once until it was
 * below it again. As long as the database has less than the budget, that is all that is
 * looked at; else what is stored is counted whenever the database has grown or shrunk
 * by a twentieth of the budget, and when the session has made more than twice as many
 * checkpoints. Does nothing through a handle that only reads. The callback must not use
 * the store. */
CAIRN_API int cairn_session_budgets(struct cairn_store *store,
                                    void (*over)(void *context,
                                                 const struct cairn_budget *budget),
                                    void *context, struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
