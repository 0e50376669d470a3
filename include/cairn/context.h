/* SPDX-License-Identifier: MIT */
/* cairn: the context of an agent that a checkpoint of a session keeps, so that the
 * agent can go on later with an empty one. It is no state: nothing is restored from it,
 * and two checkpoints that differ in it alone have the same state.
 *
 * Texts are UTF-8. Secrets (those that the setting "redact" names, those that
 * workflows of the store declare, and those that can be told by how they look) are
 * taken out of them before anything is stored (cairn_store_on_notice). In the state, in
 * keys, and in a text that is JSON or base64 as a whole they are refused: CAIRN_EUSAGE.
 * The limits hold before that and after it. */
#ifndef CAIRN_CONTEXT_H
#define CAIRN_CONTEXT_H

#include "checkpoint.h"
#include "error.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAIRN_CONTEXT_STATE_MAX (1u << 20) /* bytes of the full state */

struct cairn_context {
    const char *summary;     /* 1 to 500 characters, or NULL */
    const char *description; /* 1 to 10,000 characters, or NULL */
    const struct cairn_context_pair {
        const char *key;   /* 1 to 50 characters, none a control character; each once */
        const char *value; /* at most 500 characters */
    } * pairs;             /* [n_pairs], at most 50; of a stored one by key */
    size_t n_pairs;
    const char
        *state; /* the full one: at most CAIRN_CONTEXT_STATE_MAX bytes, or NULL */
    bool has_tokens, has_usage;
    uint64_t tokens; /* that it has, as the caller counts them; below 2^40 */
    double usage;    /* of the window of the agent, 0 to 1; millionths are kept */

    /* Of a stored one alone. */
    bool given;         /* there is a summary, a description, a pair or a state */
    unsigned threshold; /* that the usage crossed, in percent, for which the checkpoint
                           was made: 25, 50, 75 or 90; 0: none */
    const char *git_branch; /* of the repository that the store lies in, or NULL */
    const char *git_commit; /* hex digits, or NULL */
    uint64_t estimate; /* of tokens: the bytes of all texts above but those of git / 4,
                          rounded up */
};
/* That of a checkpoint; views during the callback, which may use the store.
 * CAIRN_ENOTFOUND: it has none, or there is no such checkpoint; CAIRN_EDAMAGED. */
CAIRN_API int cairn_checkpoint_context(struct cairn_store *store, const char *id,
                                       int (*got)(void *, const struct cairn_context *),
                                       void *context, struct cairn_error *error);
/* The newest checkpoint of a session, on whatever branch, to which a context was given,
 * (a summary, a description, a pair or a state), among the newest `among` of them (0:
 * all). Damaged ones are passed over.
 * CAIRN_ENOTFOUND: there is none. */
CAIRN_API int cairn_session_newest_context(struct cairn_store *store,
                                           const char *session, uint64_t among,
                                           struct cairn_checkpoint_info *info,
                                           struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
