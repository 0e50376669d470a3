/* SPDX-License-Identifier: MIT */
/* cairn: external tasks, which a person or another program carries out. */
#ifndef CAIRN_EXTERNAL_H
#define CAIRN_EXTERNAL_H

#include "error.h"
#include "store.h"
#include "workflow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_next_info {
    uint64_t run;
    const char *task;
    uint32_t node;
    const char *text;      /* what to do */
    bool claimed;          /* someone holds it; else it can be claimed */
    const char *holder;    /* who, or NULL */
    int64_t lease_left_ms; /* 0: not claimed */
    int64_t claimed_ns;    /* UTC; 0: not claimed */
    uint32_t
        leases_lost; /* that ran out before anybody reported, since it is offered */
};

/* External tasks of an unfinished run (0: as for cairn_run_get) that can be done now;
 * with `claimed`, also those that are claimed. */
CAIRN_API int cairn_next(struct cairn_store *store, uint64_t run, bool claimed,
                         int (*each)(void *, const struct cairn_next_info *),
                         void *context, struct cairn_error *error);

#define CAIRN_CLAIM_MAX 40 /* bytes of a claim's token, with the final NUL */

/* Claims an external task for `lease_ms` (more than 0). One of which 10 leases were
 * lost has failed instead (EUSAGE): it may be what ends those that do it. `holder` is a
 * name for people (NULL: user@host). Only one caller wins: EOWNED, naming the holder,
 * while a lease runs; EUSAGE if the task is not external or cannot be done now. */
CAIRN_API int cairn_claim(struct cairn_store *store, uint64_t run, const char *task,
                          int64_t lease_ms, const char *holder,
                          char token[CAIRN_CLAIM_MAX], struct cairn_error *error);
/* What cairn_claim_any has claimed. */
struct cairn_claimed {
    uint64_t run;
    uint32_t node;
    const char *task, *text; /* text: what to do */
    char token[CAIRN_CLAIM_MAX];
};

/* Claims one of the external tasks of a run (0: as for cairn_run_get) that can be done
 * now and that nobody has: the first in file order. Chosen and claimed in one
 * transaction, so of many who call it each gets a task of its own. *out NULL: there is
 * none now. */
CAIRN_API int cairn_claim_any(struct cairn_claimed **out, struct cairn_store *store,
                              uint64_t run, int64_t lease_ms, const char *holder,
                              struct cairn_error *error);
CAIRN_API void cairn_claimed_free(struct cairn_claimed *claimed);
/* From now on the lease of a claim takes `lease_ms`; 0 gives the task back, for others
 * to claim, and does not count as a lease that ran out. EOWNED: the lease is
 * over, or the claim is void because something before the task ran again; EUSAGE: the
 * task was ended with this token. */
CAIRN_API int cairn_renew(struct cairn_store *store, uint64_t run, const char *task,
                          const char *token, int64_t lease_ms,
                          struct cairn_error *error);
/* Completes an external task with values for later tasks, or fails it. `token` is that
 * of the claim, or NULL for a task that was never claimed. EOWNED: the lease has
 * expired or someone else holds the task. Durable when it returns 0, as cairn_resolve.
 * A task that was claimed before its run failed or was cancelled can be completed with
 * its token: that counts when the run goes on, unless the task was edited, or what it
 * needs ends anew. */
CAIRN_API int cairn_complete(struct cairn_store *store, uint64_t run, const char *task,
                             const char *token, const struct cairn_param *values,
                             size_t n_values, struct cairn_error *error);
CAIRN_API int cairn_fail(struct cairn_store *store, uint64_t run, const char *task,
                         const char *token, const char *message,
                         struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
