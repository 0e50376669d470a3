/* SPDX-License-Identifier: MIT */
/* A transcript that is read again and again. Beside the database a line says what it
 * was when it was read to its end: then there is nothing to read. It is only believed
 * where it is, byte for byte, what would be written now, and where the session has as
 * many messages as then (a store may have been put back). */
#include "base/clock.h"
#include "base/os.h"
#include "session/session_int.h"
#include "session/transcripts/agent_int.h"
#include "storage/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct reading {
    int fd;
    int sys;
};

static int64_t read_some(void *context, char *bytes, size_t n)
{
    struct reading *reading = context;
    for (;;) {
        ssize_t got = read(reading->fd, bytes, n);
        if (got >= 0)
            return got;
        if (errno == EINTR)
            continue;
        reading->sys = errno;
        return -1;
    }
}

/* ---- What it was ---- */

static int last_message(struct cairn_store *store, const char *session, uint64_t *out,
                        struct cairn_error *error)
{
    struct live live;
    int rc = live_read(&live, store, session, error);
    *out = live.last_message;
    return live_close(&live, rc, error);
}

static int make_mark(struct cairn_store *store, const char *session, const char *path,
                     const struct stat *st, struct buf *out, struct cairn_error *error)
{
    uint64_t last = 0;
    int rc = last_message(store, session, &last, error);
    buf_clear(out);
    buf_format(out, "1 %llu %llu %lld %lld %lld %llu ", (unsigned long long)st->st_dev,
               (unsigned long long)st->st_ino, (long long)st->st_size,
               (long long)timespec_ns(&st->st_mtim),
               (long long)timespec_ns(&st->st_ctim), (unsigned long long)last);
    buf_text(out, path);
    return rc ? rc : buf_check(out, error);
}

static bool is_marked(const char *file, const struct buf *mark)
{
    enum { MARK_MOST = HOOK_PATH_BYTES + 256 };
    struct buf there = BUF_INIT;
    bool same = os_read_plain(file, MARK_MOST, &there, NULL) == 0 &&
                str_equal(buf_view(&there), buf_view(mark));
    buf_release(&there);
    return same;
}

/* ---- Reading it ---- */

static int open_transcript(const char *path, struct stat *st, struct cairn_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && os_is_missing(errno))
        return -2;
    if (fd < 0 || fstat(fd, st) < 0) {
        error_sys(error, errno, "the transcript %s", path);
    } else if (S_ISREG(st->st_mode)) {
        return fd;
    } else {
        error_set(error, CAIRN_EUSAGE, "the transcript %s is no regular file", path);
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static int import_all(struct cairn_store *store, const char *session, const char *path,
                      int fd, struct cairn_message_import *result,
                      struct cairn_error *error)
{
    struct reading reading = {.fd = fd};
    char *real = realpath(path, NULL); /* as `cairn session message import` has it */
    int rc = cairn_message_import(store, session, real ? real : path, read_some, NULL,
                                  &reading, result, error);
    free(real);
    if (rc && reading.sys)
        rc = error_sys(error, reading.sys, "the transcript %s", path);
    return rc;
}

static int import_open(struct cairn_store *store, const char *session, const char *path,
                       int fd, const struct stat *st, const char *file,
                       struct cairn_message_import *result, struct cairn_error *error)
{
    struct buf mark = BUF_INIT;
    int rc = make_mark(store, session, path, st, &mark, error);
    bool known = !rc && is_marked(file, &mark);
    if (!rc && !known)
        rc = import_all(store, session, path, fd, result, error);
    if (!rc && !known && !result->torn &&
        make_mark(store, session, path, st, &mark, NULL) == 0)
        (void)os_replace_file(file, 0600, buf_view(&mark), NULL);
    buf_release(&mark);
    return rc;
}

int transcript_file_import(struct cairn_store *store, const char *session,
                           const char *path, struct cairn_message_import *result,
                           struct cairn_error *error)
{
    struct stat st;
    struct buf file = BUF_INIT;
    int fd = open_transcript(path, &st, error);
    if (fd == -2)
        return 0;
    if (fd < 0)
        return error && error->code ? error->code : CAIRN_EIO;
    buf_format(&file, "%s/transcript-%s.mark", cairn_store_path(store), session);
    int rc = buf_check(&file, error);
    if (!rc)
        rc = import_open(store, session, path, fd, &st, file.data, result, error);
    buf_release(&file);
    close(fd);
    return rc;
}
