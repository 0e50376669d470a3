/* SPDX-License-Identifier: MIT */
#include "process/end_notes.h"

#include "process/crc32.h"
#include "process/file_io.h"

#include "base/os.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER_MAGIC = 0x73646e65, NOTE_MAGIC = 0x65746f6e, VERSION = 2, HEADER = 256 };

struct end_header {
    uint32_t magic, version, note_bytes, reserved;
    uint64_t run;
    char boot_id[40];
    char token[SLOTS_TOKEN];
    uint32_t reserved2, crc;
};
_Static_assert(sizeof(struct end_header) <= HEADER, "the notes have a fixed place");

static uint32_t crc_of_header(const struct end_header *header)
{
    return crc32_of(0, header, offsetof(struct end_header, crc));
}

static uint32_t crc_of_note(uint32_t header_crc, const struct end_note *note)
{
    return crc32_of(header_crc, note, offsetof(struct end_note, crc));
}

/* ---- Writing ---- */

/* The random part of the owner's token names its file. */
static struct live_name name_of(const struct slots *slots)
{
    const char *dot = strrchr(slots->token, '.');
    return live_of_epoch(LIVE_ENDS, slots->run, dot ? strtoull(dot + 1, NULL, 16) : 0);
}

int end_notes_create(struct end_notes *notes, const char *live_dir,
                     const struct slots *slots, uint32_t n, struct cairn_error *error)
{
    char path[LIVE_PATH];
    struct end_header header;
    memset(&header, 0, sizeof header);
    header.magic = HEADER_MAGIC;
    header.version = VERSION;
    header.note_bytes = sizeof(struct end_note);
    header.run = slots->run;
    memcpy(header.boot_id, slots->boot_id, sizeof header.boot_id);
    memcpy(header.token, slots->token, sizeof header.token);
    header.crc = crc_of_header(&header);
    notes->fd = -1;
    if (!live_path(path, sizeof path, live_dir, name_of(slots)))
        return error_set(error, CAIRN_ELIMIT, "%s: the path is too long", live_dir);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_sys(error, errno, "%s", path);
    int sys = file_write_at(fd, &header, sizeof header,
                            0); /* nobody sees zeros in its place */
    if (!sys)
        sys = file_reserve(fd, HEADER + (size_t)n * sizeof(struct end_note));
    if (sys) {
        close(fd);
        (void)unlink(path);
        return error_sys(error, sys, "%s", path);
    }
    notes->fd = fd;
    notes->header_crc = header.crc;
    return 0;
}

int end_notes_write(const struct end_notes *notes, uint32_t place,
                    struct end_note *note)
{
    assert(place != NOTE_NONE);
    note->magic = NOTE_MAGIC;
    note->reserved = 0;
    note->crc = crc_of_note(notes->header_crc, note);
    return notes->fd < 0 ? EBADF
                         : file_write_at(notes->fd, note, sizeof *note,
                                         HEADER + (off_t)((place - 1) * sizeof *note));
}

void end_notes_close(struct end_notes *notes)
{
    if (notes->fd >= 0)
        close(notes->fd);
    notes->fd = -1;
}

/* ---- Reading ---- */

struct reading {
    const char *store_id;
    uint64_t run;
    int (*visit)(void *context, const struct end_note *note);
    void *context;
    struct end_notes_damage *damage;
};

/* Is it ours, of this boot? A header that is damaged is counted, a foreign one is not.
 */
static bool accept_header(const struct reading *r, struct end_header *header)
{
    char boot_id[37];
    if (header->magic != HEADER_MAGIC || header->version != VERSION ||
        header->note_bytes != sizeof(struct end_note) ||
        header->crc != crc_of_header(header)) {
        r->damage->files++;
        return false;
    }
    header->boot_id[sizeof header->boot_id - 1] = 0;
    header->token[sizeof header->token - 1] = 0;
    os_boot_id(boot_id);
    return boot_id[0] && strcmp(boot_id, header->boot_id) == 0 &&
           header->run == r->run && slots_token_is_of(header->token, r->store_id);
}

static bool is_empty(const struct end_note *note)
{
    static const struct end_note zeros;
    return memcmp(note, &zeros, sizeof zeros) == 0;
}

static int read_notes(const struct reading *r, struct str content)
{
    struct end_header header;
    struct end_note note;
    int rc = 0;
    if (content.len < HEADER) {
        /* Empty, or with its header alone: its owner died as it made it. */
        r->damage->files += content.len > 0 && content.len != sizeof header;
        return 0;
    }
    memcpy(&header, content.ptr, sizeof header);
    if (!accept_header(r, &header))
        return 0;
    for (size_t at = HEADER; at + sizeof note <= content.len && !rc;
         at += sizeof note) {
        memcpy(&note, content.ptr + at, sizeof note);
        if (note.magic == NOTE_MAGIC && note.crc == crc_of_note(header.crc, &note))
            rc = r->visit(r->context, &note);
        else if (!is_empty(&note))
            r->damage->notes++;
    }
    return rc;
}

static int read_file(const struct reading *r, const char *live_dir,
                     struct live_name name, struct cairn_error *error)
{
    enum { MOST_BYTES = 64 << 20 };
    char path[LIVE_PATH];
    struct cairn_error why = {0};
    struct buf content = BUF_INIT;
    if (!live_path(path, sizeof path, live_dir, name))
        return 0; /* it could not have been made */
    int rc = os_read_plain(path, MOST_BYTES, &content, &why);
    if (!rc)
        rc = read_notes(r, buf_view(&content));
    else if (rc == CAIRN_ENOMEM)
        error_nomem(error);
    else {
        r->damage->files += rc != CAIRN_ENOTFOUND;
        rc = 0;
    }
    buf_release(&content);
    return rc;
}

int end_notes_each(const char *live_dir, const char *store_id, uint64_t run,
                   int (*visit)(void *context, const struct end_note *note),
                   void *context, struct end_notes_damage *damage,
                   struct cairn_error *error)
{
    struct reading r = {store_id, run, visit, context, damage};
    const struct dirent *entry;
    int rc = 0;
    DIR *dir = opendir(live_dir);
    if (!dir)
        return errno == ENOENT ? 0 : error_sys(error, errno, "%s", live_dir);
    while (!rc && (entry = readdir(dir))) {
        struct live_name name;
        if (live_parse(&name, entry->d_name) && name.kind == LIVE_ENDS &&
            name.run == run)
            rc = read_file(&r, live_dir, name, error);
    }
    closedir(dir);
    return rc;
}

void end_notes_remove_others(const char *live_dir, const struct slots *slots)
{
    struct live_name own = name_of(slots);
    const struct dirent *entry;
    DIR *dir = opendir(live_dir);
    while (dir && (entry = readdir(dir))) {
        struct live_name name;
        if (live_parse(&name, entry->d_name) && name.kind == LIVE_ENDS &&
            name.run == own.run && name.salt != own.salt)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir)
        closedir(dir);
}
