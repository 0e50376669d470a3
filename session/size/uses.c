/* SPDX-License-Identifier: MIT */
#include "session/size/size_int.h"

#include "base/array.h"
#include "base/limits.h"
#include "storage/object.h"

#include <stdlib.h>

enum { NO_BASE = UINT32_MAX };

void uses_release(struct uses *uses)
{
    map_release(&uses->map);
    arena_release(&uses->keys);
    free(uses->at);
    uses->at = NULL;
    uses->n = uses->room = 0;
}

/* *there is false where it was there already. */
static int find_or_make(struct uses *uses, const struct digest *digest, uint32_t *at,
                        bool *made)
{
    *at = map_get(&uses->map, digest_view(digest));
    *made = *at == MAP_NONE;
    if (!*made)
        return 0;
    struct use *all = array_room(uses->at, uses->n, &uses->room, sizeof *all);
    if (!all)
        return error_nomem(uses->error);
    uses->at = all;
    *at = (uint32_t)uses->n;
    all[uses->n] =
        (struct use){.user = USER_OTHER, .follower = USER_OTHER, .base = NO_BASE};
    struct str key = arena_str(&uses->keys, digest_view(digest));
    if (!key.ptr || map_add(&uses->map, key, *at, NULL) < 0)
        return error_nomem(uses->error);
    uses->n++;
    return 0;
}

/* An entry for it and for its bases, which are few. */
static int look_up(struct uses *uses, const struct digest *digest, uint32_t *first)
{
    struct digest next = *digest;
    uint32_t above = NO_BASE, at;
    bool made = true, based = true;
    for (unsigned i = 0; i <= LIMIT_OBJECT_BASES && made && based; i++) {
        struct object_room room;
        int rc = find_or_make(uses, &next, &at, &made);
        if (!rc && made)
            rc = store_object_room(uses->store, &next, &room, uses->error);
        if (rc)
            return rc;
        if (i == 0)
            *first = at;
        if (above != NO_BASE)
            uses->at[above].base = at;
        if (!made)
            break;
        uses->damaged += !room.there;
        uses->at[at].size = room.size;
        uses->at[at].stored = room.stored;
        based = room.based;
        next = room.base;
        above = at;
    }
    return 0;
}

/* False: it was known of this one already, and so was that of its bases. */
static bool note_user(struct use *use, uint32_t user, enum use_part part, bool *fresh)
{
    *fresh = false;
    if (user == USER_OTHER) {
        bool known = use->other;
        use->other = true;
        return !known;
    }
    if (use->user == user || use->user == USER_MANY)
        return false;
    *fresh = use->user == USER_OTHER;
    use->user = *fresh ? user : USER_MANY;
    if (*fresh)
        use->part = (uint8_t)part;
    return true;
}

/* Where two users have followed it, all that it refers to has many users. */
static bool note_follower(struct use *use, uint32_t user)
{
    if (user == USER_OTHER) {
        bool known = use->other_follows;
        use->other_follows = true;
        return !known;
    }
    if (use->follower == user || use->follower == USER_MANY)
        return false;
    use->follower = use->follower == USER_OTHER ? user : USER_MANY;
    return true;
}

int uses_add(struct uses *uses, const struct digest *digest, bool is_node,
             uint32_t user, enum use_part part, struct use_found *found)
{
    uint32_t first = NO_BASE;
    bool fresh;
    int rc = look_up(uses, digest, &first);
    if (rc)
        return rc;
    struct use *use = &uses->at[first];
    *found = (struct use_found){.size = use->size};
    for (uint32_t at = first; at != NO_BASE; at = uses->at[at].base) {
        if (!note_user(&uses->at[at], user, part, &fresh))
            break;
        found->stored += fresh ? uses->at[at].stored : 0;
        found->fresh = found->fresh || (fresh && at == first);
    }
    uses->stored += found->stored;
    found->follow = is_node && note_follower(use, user);
    return 0;
}
