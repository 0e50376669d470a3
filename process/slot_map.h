/* SPDX-License-Identifier: MIT */
/* The slots in memory and in their file (slots.h has the shape of both). Whoever has a
 * map made by slots_create is the owner of the run; slots_open gives others a copy. */
#ifndef PROCESS_SLOT_MAP_H
#define PROCESS_SLOT_MAP_H

#include "base/error.h"
#include "process/slots.h"

#include <stdbool.h>
#include <stddef.h>

struct slot_map {
    struct slots *slots; /* shared with children and the guard; for others a copy */
    size_t bytes;
    int fd;   /* of that memory, for the guard */
    int file; /* the slot file, written by slots_tell; -1: not ours */
    char path[4096];
};
/* Creates `DIR/run-N.slots` anew for n slots, filled with the owner's identity and a
 * token "<store id>.<run>.<16 random hex digits>". */
int slots_create(struct slot_map *map, const char *live_dir, const char *store_id,
                 uint64_t run, uint32_t n, struct cairn_error *error);
/* The same for what belongs to no run: nobody but the guard looks, there is no file,
 * and the token has the run 0. */
int slots_create_unnamed(struct slot_map *map, const char *live_dir,
                         const char *store_id, uint32_t n, struct cairn_error *error);
/* Writes a slot, or what stands before the slots, into the file, for those who come
 * later. */
void slots_tell(const struct slot_map *map, const struct slot *slot);
void slots_tell_head(const struct slot_map *map);
/* Reads an existing file; checks magic, version and size. ENOTFOUND, EDAMAGED. */
int slots_open(struct slot_map *map, const char *live_dir, uint64_t run,
               struct cairn_error *error);
/* Unmaps; `remove` also deletes the file. */
void slots_close(struct slot_map *map, bool remove);

#endif
