/* SPDX-License-Identifier: MIT */
/* Notes of ends: `live/run-N.SALT.ends`, where a spawner writes how each of its
 * children ended, before anything else starts in that child's place. The outcome of an
 * attempt is durable only with the next commit; between the two, kill -9 of the owner
 * would make the next run start the attempt again although it had ended.
 *
 * A note is one small write without a sync: it matters only while the machine stays up,
 * and the boot id tells. The file has a header, then places of equal size:
 *
 *   0                        struct end_header: whose file it is
 *   256 + (place - 1) * size  struct end_note, or zeros
 *
 * The owner hands a place out with each attempt and takes it back when the outcome is
 * stored, so the file stays as small as what is unsaved. A note whose attempt is stored
 * means nothing any more, and nobody has to remove it.
 *
 * Header and notes each have a CRC-32; that of a note starts from the header's, so a
 * note out of another file is as wrong as a torn one. It is no protection against
 * somebody who may write to the store. */
#ifndef PROCESS_END_NOTES_H
#define PROCESS_END_NOTES_H

#include "base/error.h"
#include "process/live.h"
#include "process/slots.h"

#include <stdint.h>

/* Places are numbered from 1. */
enum { NOTE_NONE = 0 };

/* What its exit status does not say: we had asked it to end; what it wrote went through
 * a pipe of ours, so some of it may be lost; it ran in place of a shell, which would
 * have ended with 128 and the signal. */
enum { NOTE_TIMED_OUT = 1, NOTE_STOPPED = 2, NOTE_PIPED = 4, NOTE_AS_SHELL = 8 };

struct end_note {
    uint32_t magic;
    uint32_t gen, task, attempt;
    uint32_t slot; /* in whose files its output is, until they are moved */
    uint32_t flags;
    int32_t exit_code;            /* -1 if it was ended by a signal */
    int32_t signal;               /* 0 if it exited */
    int64_t started_ns, ended_ns; /* UTC */
    int64_t cpu_us;
    uint64_t values_bytes; /* size of the file for $CAIRN_OUTPUT */
    uint64_t basis;        /* the owner's: a hash of what the attempt was given, */
    uint64_t inputs;       /* and one of how its inputs looked before; 0: it has none */
    uint32_t reserved, crc;
};

/* The owner's file. Writing is safe from several threads, for different places. */
struct end_notes {
    int fd; /* -1: none */
    uint32_t header_crc;
};

/* A new file with room for n notes at once. `token` is that of the owner's slots. */
int end_notes_create(struct end_notes *notes, const char *live_dir,
                     const struct slots *slots, uint32_t n, struct cairn_error *error);
/* Fills in magic and crc. 0 or an errno; the run goes on without the note. */
int end_notes_write(const struct end_notes *notes, uint32_t place,
                    struct end_note *note);
void end_notes_close(struct end_notes *notes);

/* What was found wrong on the way, for people: files and notes that count for nothing.
 */
struct end_notes_damage {
    uint32_t files, notes;
};

/* Calls visit for each valid note of the run, of whichever owner, in no order. A note
 * counts if its machine has not been started anew since, and its store is the one of
 * `store_id`. What visit returns other than 0 ends it and is returned. */
int end_notes_each(const char *live_dir, const char *store_id, uint64_t run,
                   int (*visit)(void *context, const struct end_note *note),
                   void *context, struct end_notes_damage *damage,
                   struct cairn_error *error);

/* Removes the files of earlier owners: once what they say is stored. */
void end_notes_remove_others(const char *live_dir, const struct slots *slots);

#endif
