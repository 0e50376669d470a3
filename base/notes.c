/* SPDX-License-Identifier: MIT */
#include "base/notes.h"

#include "base/clock.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void add_time(struct buf *out)
{
    time_t now = (time_t)(clock_utc_ns() / 1000000000);
    struct tm tm;
    char text[32] = "";
    if (gmtime_r(&now, &tm))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ ", &tm);
    buf_text(out, text);
}

/* A note may be about a store that was refused since it is another user's. */
static int open_notes(const char *store, const char *path)
{
    struct stat st;
    if (stat(store, &st) == 0 && st.st_uid != geteuid()) {
        errno = EPERM;
        return -1;
    }
    int fd = open(path,
                  O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
                      O_NOCTTY,
                  0600);
    if (fd < 0)
        return -1;
    bool plain = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink < 2;
    if (plain && (st.st_size < NOTES_BYTES || ftruncate(fd, 0) == 0))
        return fd;
    int sys = plain ? errno : EINVAL;
    close(fd);
    errno = sys;
    return -1;
}

int notes_add(const char *store, struct str text, struct cairn_error *error)
{
    struct buf path = BUF_INIT, line = BUF_INIT;
    buf_format(&path, "%s/" NOTES_FILE, store);
    add_time(&line);
    for (size_t i = 0; i < text.len && i < NOTE_BYTES; i++) {
        char c = text.ptr[i];
        buf_byte(&line, (uint8_t)(c >= ' ' && c <= '~' ? c : '?'));
    }
    buf_byte(&line, '\n');
    int rc = buf_check(&path, error) ?: buf_check(&line, error);
    int fd = rc ? -1 : open_notes(store, path.data);
    int sys = fd >= 0 ? os_write_all(fd, buf_view(&line)) : errno;
    if (!rc && sys)
        rc = error_sys(error, sys, "the file %s", path.data);
    if (fd >= 0)
        close(fd);
    buf_release(&path);
    buf_release(&line);
    return rc;
}

int notes_read(const char *store, uint64_t *n, char last[NOTE_BYTES + 64],
               struct cairn_error *error)
{
    struct buf path = BUF_INIT, all = BUF_INIT;
    struct cairn_error why = {0};
    size_t start = 0;
    *n = 0;
    last[0] = '\0';
    buf_format(&path, "%s/" NOTES_FILE, store);
    int rc = buf_check(&path, error)
                 ?: os_read_plain(path.data, 2 * NOTES_BYTES, &all, &why);
    for (size_t i = 0; i < all.size && !rc; i++)
        if (all.data[i] == '\n') {
            ++*n;
            snprintf(last, NOTE_BYTES + 64, "%.*s", (int)(i - start), all.data + start);
            start = i + 1;
        }
    if (rc == CAIRN_ENOTFOUND)
        rc = 0;
    else if (rc && why.code)
        rc = error_set(error, CAIRN_EIO, "%s", why.text);
    buf_release(&path);
    buf_release(&all);
    return rc;
}
