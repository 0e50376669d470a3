/* SPDX-License-Identifier: MIT */
/* cairn: threads, the states of an agent's framework.
 *
 * A thread is a row of states that a program (such as a checkpointer of LangGraph) puts
 * and gets by its own keys. All names, ids and values are bytes of the caller: they may
 * hold anything, NUL too, and come back as they were put, or the put is refused: nothing
 * is ever rewritten. A thread is a session of the store, so `cairn session list`,
 * `checkpoint verify`, `gc` and `session delete` know it, and its states are verified
 * records as all checkpoints are; but only the calls below write to it.
 *
 * The key of a state is (thread, space, id). A space is a part of a thread, such as a
 * graph within a graph; "" is one, too. The newest state of a space is the one with the
 * greatest id, byte by byte, whenever it was put.
 *
 * A handle is used by one thread of a program at a time. Several processes, and several
 * handles, may put and get in the same thread at once: each call is one transaction,
 * which is durable (as `sync` of the store says) when the call returns.
 *
 * Limits: thread, space, id, parent, task, path, kinds and names of channels 4,096 bytes
 * each; a value (also `state` and `metadata`) 64 MiB; 100,000 channels or writes of one
 * state. */
#ifndef CAIRN_THREAD_H
#define CAIRN_THREAD_H

#include "error.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of whoever gives them. NULL with length 0: none. */
struct cairn_bytes {
    const void *bytes;
    size_t length;
};

/* One channel of a state: a value by name. */
struct cairn_thread_channel {
    struct cairn_bytes name; /* each once in a state */
    struct cairn_bytes kind; /* what the caller's serializer calls it, such as "json" */
    struct cairn_bytes value;
    bool
        unchanged; /* as the parent has it: kind and value are ignored. Where the parent
                       is not there or does not have it, CAIRN_ENOTFOUND. */
};

/* A state. */
struct cairn_thread_state {
    size_t size; /* of this struct, or 0 */
    struct cairn_bytes thread, space, id;
    struct cairn_bytes parent; /* an id of the same thread and space, which need not be
                                  there; none: it has no parent */
    struct cairn_bytes kind, state; /* the state without the values of its channels */
    struct cairn_bytes metadata_kind, metadata; /* for a filter a JSON object */
    const struct cairn_thread_channel *channels;
    size_t n_channels;
    bool keep_secrets; /* else CAIRN_EUSAGE, by name, where a secret that a workflow of
                          the store declares is in any of it */
    bool only_new;     /* CAIRN_EEXISTS if the key is there; else it is replaced */
};

/* One pending write of a step. Of one task and index the first that was put counts; of
 * a negative index the last. */
struct cairn_thread_write {
    struct cairn_bytes task, path, channel, kind, value;
    int32_t index;
};

/* Writes that belong to the state of a key, which need not be there (yet). They stay
 * when it is replaced. */
struct cairn_thread_writes {
    size_t size; /* of this struct, or 0 */
    struct cairn_bytes thread, space, id;
    const struct cairn_thread_write *writes;
    size_t n_writes;
    bool keep_secrets; /* as of a state */
};

/* Puts states, and then writes: all of them in one transaction, or none. A state may
 * name one before it in the array as its parent. CAIRN_EUSAGE: a secret, a name twice,
 * a handle that only reads or has a key; CAIRN_ELIMIT: see above; CAIRN_EEXISTS. What
 * is given is not kept: it may go when the call returns. CAIRN_ENOTFOUND: a channel is
 * `unchanged`, and the parent does not have it (another program may have deleted it). */
CAIRN_API int cairn_thread_put(struct cairn_store *store,
                               const struct cairn_thread_state *states, size_t n_states,
                               const struct cairn_thread_writes *writes,
                               size_t n_writes, struct cairn_error *error);

/* A state that was found: all channels with their values (`unchanged` is never set),
 * sorted as they were put, and the writes that belong to it, sorted by path, task and
 * index. */
struct cairn_thread_found {
    const struct cairn_thread_state *state;
    const struct cairn_thread_write *writes;
    size_t n_writes;
    int64_t made_ns;
    const char *checkpoint; /* printed id of the record that has it, "debug:42-..." */
};

/* Everything that it is given lives until it returns; it may use the store. Non-zero
 * ends a list. */
typedef int cairn_thread_fn(void *context, const struct cairn_thread_found *found);

/* One state; id NULL: the newest of the space. CAIRN_ENOTFOUND. CAIRN_EDAMAGED: its
 * record, or content that it needs, is damaged; the text names it. */
CAIRN_API int cairn_thread_get(struct cairn_store *store, struct cairn_bytes thread,
                               struct cairn_bytes space, const struct cairn_bytes *id,
                               cairn_thread_fn *each, void *context,
                               struct cairn_error *error);

struct cairn_thread_filter {
    size_t size;                              /* of this struct, or 0 */
    const struct cairn_bytes *thread, *space; /* NULL: any */
    const struct cairn_bytes *before;         /* only ids less than this; NULL: all */
    uint64_t limit;                           /* 0: all */
    const char
        *metadata; /* a JSON object: only states whose metadata are an object that
                             has each key of it with an equal value; NULL: all */
};

/* States by id, the greatest first; of equal ids the thread that was made last. States
 * that come or go meanwhile may be missed. CAIRN_EUSAGE: `metadata` is no JSON object. A
 * thread that is not there has no states. */
CAIRN_API int cairn_thread_list(struct cairn_store *store,
                                const struct cairn_thread_filter *filter,
                                cairn_thread_fn *each, void *context,
                                struct cairn_error *error);

struct cairn_thread_info {
    struct cairn_bytes thread;
    uint64_t states;  /* of all spaces */
    uint64_t session; /* its number as a session */
    int64_t started_ns;
};

/* Threads, the one that was made last first. The callback may use the store. */
CAIRN_API int cairn_thread_threads(struct cairn_store *store,
                                   int (*each)(void *context,
                                               const struct cairn_thread_info *info),
                                   void *context, struct cairn_error *error);

/* Deletes a thread in one transaction. *states (may be NULL): how many it had. Of one
 * that is not there nothing is deleted, which is no error. Content that nothing else
 * refers to goes with the next `cairn gc`. */
CAIRN_API int cairn_thread_delete(struct cairn_store *store, struct cairn_bytes thread,
                                  uint64_t *states, struct cairn_error *error);

/* Copies a thread, in one transaction: its states and the writes that count, which have
 * the time of the copy. Content is not stored again. *states (may be NULL): how many.
 * CAIRN_ENOTFOUND; CAIRN_EEXISTS: `to` is there. */
CAIRN_API int cairn_thread_copy(struct cairn_store *store, struct cairn_bytes from,
                                struct cairn_bytes to, uint64_t *states,
                                struct cairn_error *error);

/* Retention: in each space the `keep` newest states stay (1 or more), the others and their
 * writes go, in one transaction. Those that stay need none of them. Records go where all
 * that is written after them goes, too, so a few of them may take room until a later
 * call. *states (may be NULL): how many went. CAIRN_ENOTFOUND. */
CAIRN_API int cairn_thread_prune(struct cairn_store *store, struct cairn_bytes thread,
                                 uint64_t keep, uint64_t *states,
                                 struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
