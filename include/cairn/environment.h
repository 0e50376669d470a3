/* SPDX-License-Identifier: MIT */
/* cairn: the environment that checkpoints of a session keep: the working directory, and
 * the variables that the setting "environment" names (cairn/session.h). It is no state:
 * it makes no checkpoint by itself, and restoring sets nothing of it. */
#ifndef CAIRN_ENVIRONMENT_H
#define CAIRN_ENVIRONMENT_H

#include "error.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The environment at a checkpoint. Variables that a workflow of the store declares as
 * secrets are not among them, and values have no secrets: of these, of the variables
 * that the setting "redact" names, and those that can be told by how they look. */
struct cairn_environment {
    const char *directory; /* the working directory; "" if it was gone */
    struct cairn_variable {
        const char *name, *value;
        bool partial;   /* something was left out: secrets, or what is beyond 4 KiB */
    } const *variables; /* [n], by name */
    size_t n;
};
/* That of a checkpoint (`id`), or what one of the session would store now (`id` NULL).
 * CAIRN_ENOTFOUND: none is stored there, or would be; CAIRN_EDAMAGED. The callback may
 * use the store. */
CAIRN_API int cairn_session_environment(struct cairn_store *store, const char *session,
                                        const char *id,
                                        int (*got)(void *,
                                                   const struct cairn_environment *),
                                        void *context, struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
