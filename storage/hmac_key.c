/* SPDX-License-Identifier: MIT */
/* The file with the key of HMACs (of records, and of rows: row_hmac.c). All of its
 * bytes are the key, even a newline at the end. As ssh does, it refuses a file that the
 * user owns and others can read; a file of another owner (such as root) is that owner's
 * responsibility. Only the two blocks that HMAC derives from the key stay in memory,
 * until the store is closed. */
#include "storage/store_int.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_LEAST = 32, KEY_MOST = 4096 };

/* O_NONBLOCK: a fifo in its place must not make us wait for a writer. */
static int open_key(const char *path, struct cairn_error *error)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return error_set(error, CAIRN_ENOTFOUND, "there is no key file %s", path);
    if (fd < 0)
        return error_sys(error, errno, "cannot open the key file %s", path);
    int rc = 0;
    if (fstat(fd, &st) < 0)
        rc = error_sys(error, errno, "cannot look at the key file %s", path);
    else if (!S_ISREG(st.st_mode))
        rc = error_set(error, CAIRN_EUSAGE, "the key file %s is not a file", path);
    else if (st.st_uid == geteuid() && (st.st_mode & 077))
        rc = error_set(error, CAIRN_EUSAGE,
                       "the key file %s can be read by others (mode %04o), so it is "
                       "not secret: chmod 0600 it",
                       path, (unsigned)st.st_mode & 07777);
    if (rc) {
        close(fd);
        return rc;
    }
    return fd;
}

/* How many bytes, up to one more than a key may have. */
static ssize_t read_key(int fd, uint8_t bytes[KEY_MOST + 1])
{
    assert(fd >= 0);
    size_t n = 0;
    while (n < KEY_MOST + 1) {
        ssize_t got = read(fd, bytes + n, KEY_MOST + 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        n += (size_t)got;
    }
    return (ssize_t)n;
}

static int check_size(const char *path, ssize_t n, struct cairn_error *error)
{
    if (n < 0)
        return error_sys(error, errno, "cannot read the key file %s", path);
    if (n < KEY_LEAST)
        return error_set(error, CAIRN_EUSAGE,
                         "the key file %s has only %zd bytes; a key has at least %d, "
                         "such as from `head -c 32 /dev/urandom`",
                         path, n, KEY_LEAST);
    if (n > KEY_MOST)
        return error_set(error, CAIRN_EUSAGE,
                         "the key file %s has more than %d bytes: is it the right one?",
                         path, KEY_MOST);
    return 0;
}

int store_key_read(const char *path, struct sha256 *sha, struct hmac_key **key,
                   struct cairn_error *error)
{
    uint8_t bytes[KEY_MOST + 1];
    assert(path && sha);
    int fd = open_key(path, error);
    if (fd < 0)
        return fd;
    ssize_t n = read_key(fd, bytes);
    int rc = check_size(path, n, error);
    close(fd);
    if (!rc && !(*key = calloc(1, sizeof **key)))
        rc = error_nomem(error);
    assert(rc || (n >= KEY_LEAST && n <= KEY_MOST));
    if (!rc)
        hmac_key_init(*key, bytes, (size_t)n, sha);
    explicit_bzero(bytes, sizeof bytes);
    return rc;
}

void store_key_free(struct hmac_key *key)
{
    if (key)
        hmac_key_wipe(key);
    free(key);
}
