/* SPDX-License-Identifier: MIT */
/* cairn: labels and notes, which are put on checkpoints of runs and of sessions after
 * they were made. They are not part of the record, and are deleted with it. */
#ifndef CAIRN_ANNOTATION_H
#define CAIRN_ANNOTATION_H

#include "error.h"
#include "store.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAIRN_LABEL_MAX 128 /* bytes of a label, with the final NUL */

struct cairn_annotation {
    uint32_t n;           /* number on its checkpoint, from 1 */
    bool label;           /* else a note */
    const char *text;     /* views, during the callback */
    const char *severity; /* of a note: "info", "warning" or "critical" */
    int64_t time_ns;      /* UTC: when it was put there */
};

/* Labels a checkpoint (id as for cairn_checkpoint_get), or takes a label off it. Two of
 * them have an effect: one labelled `keep` stays when others are pruned, and one
 * labelled `broken` is not resumed from or restored unless that is forced.
 * CAIRN_EUSAGE: the label is empty, too long, has white space in it, or is there
 * already (or not there). */
CAIRN_API int cairn_checkpoint_label(struct cairn_store *store, const char *id,
                                     const char *label, bool on,
                                     struct cairn_error *error);
/* Adds a note of at most 64 KiB; `severity` NULL: info. */
CAIRN_API int cairn_checkpoint_note(struct cairn_store *store, const char *id,
                                    const char *text, const char *severity,
                                    struct cairn_error *error);
/* By number. The callback must not use the store. */
CAIRN_API int cairn_checkpoint_annotations(struct cairn_store *store, const char *id,
                                           int (*each)(void *,
                                                       const struct cairn_annotation *),
                                           void *context, struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
