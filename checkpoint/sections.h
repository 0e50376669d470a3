/* SPDX-License-Identifier: MIT */
/* The records of the namespace debug: what a checkpoint of a session says of itself,
 * and the digests of what it holds. Every record is a full one, so each stands by
 * itself. What numbers of triggers and kinds of sections mean is the business of
 * session/.
 *
 * A stream is a branch of a session, and has the branch's number (rows_session.h).
 * Sessions have no HMAC key: with a key their records are read as they are without one.
 *
 *   write  store_begin, sections_open, store_put_object for each section,
 *          sections_append, store_commit: in one transaction, so that of two processes
 *          the second one goes on from the record of the first
 *   read   sections_open for the newest record, sections_read for a given one
 *
 * The payload is a tpl image (payload.h), format "uBB": the trigger's number, the head
 * and the sections.
 *
 *   head      byte    version: 1
 *             lstr    message
 *             varint  number of tags, an lstr for each
 *             u64     CLOCK_BOOTTIME in ns, lstr boot id (may be empty)
 *             byte    1: made because of a task, which follows; 0: not
 *             [varint run, varint seq of its checkpoint (0: none), lstr task,
 *              varint attempt, byte kind of end, varint exit code or signal,
 *              lstr end of its output]
 *   sections  varint  number of sections
 *             each    byte kind (ascending, not 0), varint number of items,
 *                     varint last number given, 32 bytes digest of its object, or of
 *                     the root of their tree
 *
 * Each has one encoding: what a reader accepts it would write as the very same bytes.
 */
#ifndef CHECKPOINT_SECTIONS_H
#define CHECKPOINT_SECTIONS_H

#include "base/memory.h"
#include "checkpoint/chain.h"

/* The trigger that lists show of records of threads (threads.h), which have none of these
 * payloads. */
enum { SECTIONS_OF_THREAD = 23 };

enum { SECTIONS_MOST = 32, CHECKPOINT_TAGS_MOST = 64 };

/* The objects of kinds from here on are nodes (nodes/nodes.h): this kind has files, and
 * this kind and K more items of kind K as a tree (nodes/numbered.h). */
enum { SECTION_NODES = 128 };

/* Bytes; all texts are UTF-8 without NUL. A tag is not empty and has no comma. */
enum { CHECKPOINT_TAG_BYTES = 256, CHECKPOINT_MESSAGE_BYTES = 65536 };

enum { CHECKPOINT_BOOT_BYTES = 64, CHECKPOINT_TAIL_BYTES = 65536 };

struct section_ref {
    uint8_t kind;     /* not 0 */
    uint32_t n, last; /* items; the last number given */
    struct digest digest;
};

static inline bool section_is_tree(const struct section_ref *ref)
{
    return ref->kind > SECTION_NODES;
}

/* Of what kind its items are, in both forms. */
static inline uint8_t section_holds(const struct section_ref *ref)
{
    return (uint8_t)(ref->kind - (section_is_tree(ref) ? SECTION_NODES : 0));
}

/* The end of an attempt because of which a checkpoint was made. */
struct task_link {
    uint64_t run, seq; /* seq of its checkpoint, 0: none */
    struct str task;   /* id, 1 to LIMIT_ID_BYTES */
    uint32_t attempt;
    uint8_t end;     /* 0: by exit code, 1: by signal, 2: neither */
    uint32_t code;   /* exit code or signal */
    struct str tail; /* any bytes */
};

struct sections {
    uint32_t trigger;
    struct str message; /* may be empty */
    struct str *tags;   /* [n_tags] */
    uint32_t n_tags;
    int64_t boot_ns; /* not negative */
    struct str boot; /* boot id, may be empty */
    bool linked;
    struct task_link link; /* if linked */
    struct section_ref list[SECTIONS_MOST];
    uint32_t n;
};

/* Appends to `payload`. CAIRN_EUSAGE: what does not fit the limits above, is not UTF-8
 * or not in order. */
int sections_encode(const struct sections *sections, struct buf *payload,
                    struct cairn_error *error);
/* Untrusted bytes: CAIRN_EDAMAGED. Everything is copied into the arena. */
int sections_decode(struct arena *arena, struct str payload, struct sections *out,
                    struct cairn_error *error);

extern const struct payload_kind sections_kind;

/* The end of a stream at which writing goes on: its newest sound record, where damaged
 * ones are passed over, and what it says. `last` may be NULL. Without a sound record
 * head->position is 0, nothing is put into `last`, and the chain's parent is the
 * checkpoint that the branch starts from, if that one is sound. CAIRN_ENOTFOUND: there
 * is neither a sound record nor such a branch. */
int sections_open(struct cairn_store *store, struct sha256 *sha, uint64_t branch,
                  struct chain *head, struct arena *arena, struct sections *last,
                  struct cairn_error *error);
/* Appends a record. Needs a write transaction, in which `head` was opened or last
 * appended to. `ref` may be NULL. CAIRN_EUSAGE: as sections_encode, and through a
 * handle with a key. */
int sections_append(struct chain *head, const struct sections *sections,
                    int64_t time_ns, struct checkpoint_ref *ref,
                    struct cairn_error *error);

/* Appends the items of a section, of either form, as one that is no tree has them.
 * CAIRN_EDAMAGED, CAIRN_ENOTFOUND. */
int section_read(struct cairn_store *store, const struct section_ref *ref,
                 struct buf *out, struct cairn_error *error);

struct sections_at {
    struct checkpoint_ref ref;
    uint64_t branch, session; /* session 0: the row of its branch is damaged or lost */
    uint64_t parent;          /* seq, 0: none */
    int64_t time_ns;
};

/* One record, verified. CAIRN_ENOTFOUND (also of another namespace), CAIRN_EDAMAGED.
 * `at` may be NULL. */
int sections_read(struct cairn_store *store, struct sha256 *sha, uint64_t seq,
                  struct arena *arena, struct sections *out, struct sections_at *at,
                  struct cairn_error *error);

#endif
