/* SPDX-License-Identifier: MIT */
/* cairn: examine a store, and repair a damaged one. */
#ifndef CAIRN_REPAIR_H
#define CAIRN_REPAIR_H

#include "checkpoint.h"
#include "error.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cairn_health { CAIRN_HEALTH_OK, CAIRN_HEALTH_WARN, CAIRN_HEALTH_BAD };

struct cairn_finding {
    enum cairn_health health;
    const char *what;   /* a short name: file-system, schema, records, ... */
    const char *text;   /* what was found */
    const char *remedy; /* what to do, or NULL */
};

/* Examines the store and its surroundings; changes nothing. Returns CAIRN_EDAMAGED if
 * something is bad; CAIRN_ENOMEM, CAIRN_EBUSY or CAIRN_EIO if not everything could be
 * examined. Works on a store that cairn_store_open refuses. */
CAIRN_API int cairn_doctor(const char *path,
                           int (*each)(void *, const struct cairn_finding *),
                           void *context, struct cairn_error *error);
/* The same with a key (struct cairn_store_options). */
CAIRN_API int cairn_doctor_keyed(const char *path, const char *key_file,
                                 int (*each)(void *, const struct cairn_finding *),
                                 void *context, struct cairn_error *error);

/* What could not be saved out of a damaged store. */
enum cairn_loss_kind {
    CAIRN_LOSS_CHECKPOINT, /* seq, id, run if it is known */
    CAIRN_LOSS_TASK,    /* its end was recorded only in lost records: it runs again */
    CAIRN_LOSS_RUN,     /* its row; text: whether it was rebuilt */
    CAIRN_LOSS_ATTEMPT, /* the details of one attempt */
    CAIRN_LOSS_OBJECT,  /* stored content: output, a result, or a graph */
    CAIRN_LOSS_ROW,     /* another row: of a session, or only for display */
    CAIRN_LOSS_FILE     /* part of a file: its content is unknown */
};

struct cairn_loss {
    enum cairn_loss_kind kind;
    uint64_t seq; /* checkpoint, or 0 */
    char id[CAIRN_ID_MAX];
    uint64_t run;  /* or 0 */
    uint32_t task; /* index in the run's graph, as cairn_run_tasks counts */
    const char *text;
};

struct cairn_repair_result {
    bool repaired; /* false: nothing was damaged, nothing was changed */
    char kept[64]; /* name of the directory with the damaged files */
    uint64_t checkpoints, objects, runs, attempts, events, others; /* saved */
    uint64_t lost;
    /* New names, in the store's directory, of what was found in place of the lock file
     * or of `live/` and was moved aside: at most two, separated by a space. Set even if
     * the repair failed after that; not counted as damage. */
    char aside[128];
};

/* Saves every valid record, and all other rows whose checksums match, out of a damaged
 * store into a new one with the same id, which replaces it; the damaged files are kept
 * in `damaged-TIME/` inside it. Nothing is changed if nothing is damaged. If the repair
 * is interrupted, either the old or the new store is there, or none can be opened until
 * the next repair has finished the replacement. CAIRN_EOWNED while a run is live
 * (named), CAIRN_EBUSY while someone writes, CAIRN_ENEWER for a store of a newer
 * release. The calling process must have no handle of the store open. `each` gets every
 * loss once: after the repair the store verifies. */
CAIRN_API int cairn_store_repair(const char *path,
                                 int (*each)(void *, const struct cairn_loss *),
                                 void *context, struct cairn_repair_result *result,
                                 struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
