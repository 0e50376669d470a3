/* SPDX-License-Identifier: MIT */
/* cairn: sessions in a file, to be taken to another store. docs/format-export.md has
 * the format. */
#ifndef CAIRN_TRANSFER_H
#define CAIRN_TRANSFER_H

#include "error.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_transfer {
    uint64_t sessions;    /* that were written, or made */
    uint64_t checkpoints; /* likewise */
    uint64_t
        skipped; /* of an import: checkpoints that are there already, or were deleted */
    uint64_t refused; /* what was damaged or not known, each named */
};
/* What an import or export says meanwhile. Each may be NULL. */
struct cairn_transfer_calls {
    /* Something damaged or not known was left out. */
    void (*refused)(void *context, const char *text);
    /* A session is complete: its number, its name in the file, its name in the store.
     */
    void (*session)(void *context, uint64_t number, const char *from, const char *name);
    void *context;
    /* Of an import, before that. A checkpoint of the session was made: its id in the
     * file, its id in the store. */
    void (*checkpoint)(void *context, const char *was, const char *id);
    /* Likewise. A session of this name was changed here since it was imported, or is
     * damaged, so what is new is in the one that `name` names. */
    void (*changed)(void *context, const char *here, const char *name);
};

/* Writes a session, or all (`all`), with the present state and every checkpoint:
 * `write` gets the bytes in order, and stops with a value that is not 0 (CAIRN_EIO).
 * What is damaged is left out and named; CAIRN_EDAMAGED after all the rest. */
CAIRN_API int cairn_session_export(
    struct cairn_store *store, const char *session, bool all,
    int (*write)(void *context, const char *bytes, size_t n), void *context,
    const struct cairn_transfer_calls *calls, struct cairn_transfer *result,
    struct cairn_error *error);

/* Reads such a file: `read` puts up to n bytes there and returns how many, 0 at the
 * end, or a negative value (CAIRN_EIO). Everything is verified before it is stored: a
 * checkpoint whose record or content is damaged, missing or not known is refused and
 * named, and the rest is imported; then CAIRN_EDAMAGED is returned, also for a file
 * that ends early. A session that is imported is a new one with the name that it had (a
 * number is put behind a name that is taken), its branches, messages, tags, times and
 * states; each checkpoint is a new record with one more tag, "from:" and its id in the
 * file, and without a link to a task, whose run stays behind. What is there already, as
 * itself or from an earlier import, is skipped. Of a session that was imported before,
 * what is new is added to it; if it was changed since, to a new session, which
 * `changed` says. Each session is one transaction. CAIRN_EUSAGE: it is no such
 * file; CAIRN_ENEWER. */
CAIRN_API int cairn_session_import(
    struct cairn_store *store, int64_t (*read)(void *context, char *bytes, size_t n),
    void *context, const struct cairn_transfer_calls *calls,
    struct cairn_transfer *result, struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
