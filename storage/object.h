/* SPDX-License-Identifier: MIT */
/* The content pool: bytes under the SHA-256 of them, stored once, each by itself or as
 * what makes it differ from another object, its base. Who refers to an object need not
 * know of bases. */
#ifndef STORAGE_OBJECT_H
#define STORAGE_OBJECT_H

#include "base/sha256.h"
#include "base/str.h"
#include "cairn/store.h"

/* Stores content under its SHA-256, compressed where that is smaller. Content that is
 * there already is not stored again, but mended where it is damaged. Needs a write
 * transaction. CAIRN_ELIMIT: too large, which does not spoil the transaction. */
int store_put_object(struct cairn_store *store, struct str content,
                     struct digest *digest, struct cairn_error *error);
/* A row is about to refer to an object that another row refers to: it stays while
 * garbage is collected. *has: it is there. Needs a write transaction. */
int store_use_object(struct cairn_store *store, const struct digest *digest, bool *has,
                     struct cairn_error *error);
/* As store_put_object, of content that is much like that of `before`: where that object
 * is there, is sound and has a chain of fewer than 16 bases, and where it takes fewer
 * bytes, it becomes the base of the new one, which then refers to the content of it.
 * Whoever puts the same content the other way finds it. */
int store_put_object_after(struct cairn_store *store, struct str content,
                           const struct digest *before, struct digest *digest,
                           struct cairn_error *error);
/* An object that content is put behind, with what is known of it. */
struct shorter_object {
    struct digest digest;
    size_t size;
    unsigned bases; /* so many are below it, */
    uint64_t known; /* which was so after so many collections (store_collections); 0: it
                       has to be looked up */
};
/* Puts content, whose digest the caller knows, as what stands behind that of `before`.
 * That is not read, so this costs what is longer. Where that object is not there, or has
 * 16 bases, or the content is there already, as store_put_object. `put` becomes what is
 * known of the new object; that holds once it is committed. */
int store_put_object_longer(struct cairn_store *store, struct str content,
                            const struct digest *digest,
                            const struct shorter_object *before,
                            struct shorter_object *put, struct cairn_error *error);
/* Stores an object whose base is to go as what makes it differ from another object: the
 * nearest of its other bases that `stays`, else the oldest of the first few that are
 * made from the same base, else from none. Its content is the same, so whatever is made
 * from it is as good as before. *done false: it or its base is damaged, and nothing was
 * changed. Needs a write transaction. */
int store_rebase_object(struct cairn_store *store, const struct digest *digest,
                        bool (*stays)(void *context, const struct digest *),
                        void *context, bool *done, struct cairn_error *error);
/* The frame of some content that is stored elsewhere than in the pool, after `prefix` if
 * that is not empty; empty where it would not be smaller. A view, until the next call
 * that puts or packs. */
int store_pack(struct cairn_store *store, struct str content, struct str prefix,
               struct str *packed, struct cairn_error *error);
/* Appends what was packed, `size` bytes. CAIRN_EDAMAGED, with no text. */
int store_unpack(struct cairn_store *store, struct str packed, struct str prefix,
                 size_t size, struct buf *out, struct cairn_error *error);
/* Appends the content to `out` after its digest was checked. CAIRN_ENOTFOUND,
 * CAIRN_EDAMAGED. */
int store_get_object(struct cairn_store *store, const struct digest *digest,
                     struct buf *out, struct cairn_error *error);
/* Whether there is a row of that name, which may be damaged. */
int store_has_object(struct cairn_store *store, const struct digest *digest, bool *has,
                     struct cairn_error *error);
/* What an object takes in the store; all 0 where there is none. */
struct object_room {
    bool there, based;     /* based: it is stored as what makes it differ from `base` */
    uint64_t size, stored; /* bytes of the content, and of the row's data */
    struct digest base;
};
int store_object_room(struct cairn_store *store, const struct digest *digest,
                      struct object_room *room, struct cairn_error *error);
/* Bytes of the database, with all that is in it, and those of them that are free. */
int store_room(struct cairn_store *store, uint64_t *bytes, uint64_t *free_bytes,
               struct cairn_error *error);
/* Checks every object and calls `bad` (may be NULL) for each damaged one; a non-zero
 * return of it stops, and a negative one is returned. */
int store_verify_objects(struct cairn_store *store, uint64_t *checked,
                         int (*bad)(void *, const char *digest_hex, const char *why),
                         void *context, struct cairn_error *error);

#endif
