/* SPDX-License-Identifier: MIT */
/* Lines that somebody should see later: failures of agents' hooks. They are in a file
 * beside the database, since that may be what failed, or locked. */
#ifndef BASE_NOTES_H
#define BASE_NOTES_H

#include "base/str.h"

#include <stdint.h>

#define NOTES_FILE "hook-failures"
enum { NOTES_BYTES = 64 << 10, NOTE_BYTES = 1024 };

/* "2026-11-23T19:02:47Z TEXT", with what is not printable ASCII in the text as '?', and
 * cut off at NOTE_BYTES. Where the file has NOTES_BYTES it is begun anew. */
int notes_add(const char *store, struct str text, struct cairn_error *error);
/* *n: how many lines there are; the last one into `last`, "" if there is none. A file
 * that cannot be read is CAIRN_EIO. */
int notes_read(const char *store, uint64_t *n, char last[NOTE_BYTES + 64],
               struct cairn_error *error);

#endif
