/* SPDX-License-Identifier: MIT */
/* The lines of a file that is read part by part, however long they are. */
#ifndef SESSION_TRANSCRIPTS_LINES_H
#define SESSION_TRANSCRIPTS_LINES_H

#include "base/sha256.h"
#include "base/str.h"

struct message_file {
    int64_t (*read)(void *, char *, size_t);
    void *context;
    size_t most;     /* bytes of a line that is given whole */
    uint64_t number; /* of the line that was given last, from 1 */
    char *room;      /* heap; [begin, end) is not used yet */
    size_t begin, end, size;
    bool at_end;
    struct sha256 *sha;
};
struct file_line {
    struct str
        bytes; /* without its end; a view until the next one; empty if too large */
    bool too_large;
    bool ended; /* by a line break, not by the end of the file */
    uint64_t size;
    struct digest digest;
};
/* 1: the next line, 0: there is none, or <0. */
int message_file_next(struct message_file *file, struct file_line *line,
                      struct cairn_error *error);
void message_file_release(struct message_file *file);

#endif
