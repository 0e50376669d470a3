/* SPDX-License-Identifier: MIT */
#include "session/transcripts/lines.h"

#include <stdlib.h>

enum { READ_BYTES = 1 << 16 };

static int make_room(struct message_file *file, struct cairn_error *error)
{
    if (file->begin > 0)
        memmove(file->room, file->room + file->begin, file->end - file->begin);
    file->end -= file->begin;
    file->begin = 0;
    if (file->size - file->end >= READ_BYTES)
        return 0;
    size_t size = file->size ? 2 * file->size : (size_t)2 * READ_BYTES;
    char *room = realloc(file->room, size);
    if (!room)
        return error_nomem(error);
    file->room = room;
    file->size = size;
    return 0;
}

static int read_more(struct message_file *file, struct cairn_error *error)
{
    int rc = make_room(file, error);
    if (rc)
        return rc;
    int64_t got = file->read(file->context, file->room + file->end, READ_BYTES);
    if (got < 0 || got > READ_BYTES)
        return error_set(error, CAIRN_EIO, "the file could not be read");
    file->end += (size_t)got;
    file->at_end = got == 0;
    return 0;
}

/* The rest of a line of which `searched` bytes have no end. */
static int pass_large(struct message_file *file, struct file_line *line,
                      struct cairn_error *error)
{
    int rc = 0;
    sha256_begin(file->sha);
    *line = (struct file_line){.too_large = true};
    while (!rc && !line->ended) {
        size_t n = file->end - file->begin;
        const char *start = file->room + file->begin;
        const char *found = n ? memchr(start, '\n', n) : NULL;
        n = found ? (size_t)(found - start) : n;
        if (n)
            sha256_add(file->sha, start, n);
        line->size += n;
        line->ended = found;
        file->begin += n + line->ended;
        if (line->ended || file->at_end)
            break;
        rc = read_more(file, error);
    }
    sha256_end(file->sha, &line->digest);
    return rc ? rc : 1;
}

int message_file_next(struct message_file *file, struct file_line *line,
                      struct cairn_error *error)
{
    size_t searched = 0;
    if (!file->sha && !(file->sha = sha256_new()))
        return error_nomem(error);
    file->number++;
    for (;;) {
        size_t n = file->end - file->begin;
        char *start = NULL, *found = NULL;
        if (n) {
            start = file->room + file->begin;
            found = memchr(start + searched, '\n', n - searched);
        }
        size_t length = found ? (size_t)(found - start) : n;
        if (length > file->most)
            return pass_large(file, line, error);
        if (found || (file->at_end && n > 0)) {
            *line = (struct file_line){
                .bytes = {start, length}, .ended = found, .size = length};
            file->begin += length + (found != NULL);
            return 1;
        }
        if (file->at_end)
            return 0;
        searched = n;
        int rc = read_more(file, error);
        if (rc)
            return rc;
    }
}

void message_file_release(struct message_file *file)
{
    free(file->room);
    sha256_free(file->sha);
    file->room = NULL;
    file->sha = NULL;
}
