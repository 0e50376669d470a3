/* SPDX-License-Identifier: MIT */
/* The door to files, directories and machine identity (locks: base/lock.h). Nothing
 * here knows of SQLite. Paths are NUL-terminated bytes. */
#ifndef BASE_OS_H
#define BASE_OS_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes one directory. 1: made, 0: was there (a directory), <0 error. Its name is not
 * durable: whoever relies on it calls os_sync_parent, also where another process made
 * the directory, since that one may not have got so far. */
int os_make_dir(const char *path, mode_t mode, struct cairn_error *error);
int os_sync_dir(const char *path, struct cairn_error *error);

/* Syncs the directory that holds `path`. */
int os_sync_parent(const char *path, struct cairn_error *error);
/* All of the bytes to a descriptor that blocks, whatever a signal interrupts: 0 or an
 * errno, after which some of them may have been written. */
int os_write_all(int fd, struct str content);
/* The same from that place of the file on, wherever the descriptor is. */
int os_write_at(int fd, struct str content, uint64_t at);
/* Replaces `path` atomically and durably: temporary file beside it, write, fsync,
 * rename, fsync of the directory; every step is checked. */
int os_write_file(const char *path, mode_t mode, struct str content,
                  struct cairn_error *error);
/* The same without the syncs: after a power cut it may be the old one, or cut off. */
int os_replace_file(const char *path, mode_t mode, struct str content,
                    struct cairn_error *error);
/* Whether a name is that of such a temporary file, which a process that was killed may
 * have left. */
bool os_is_temporary(const char *name);
/* open(2) for a file of the store's own: neither a symbolic link nor anything but a
 * regular file is opened, and a fifo in its place is not waited for. -1 and errno,
 * EINVAL for what is not a file. `flags` without O_CREAT. */
int os_open_plain(const char *path, int flags);
/* Whole file, appended to `out`. More than `limit` bytes is CAIRN_ELIMIT; no such file
 * is CAIRN_ENOTFOUND. */
int os_read_file(const char *path, size_t limit, struct buf *out,
                 struct cairn_error *error);
/* The same of a file that must be one: a directory, pipe or device ("PATH is a pipe")
 * is CAIRN_EUSAGE, and not waited for. */
int os_read_regular(const char *path, size_t limit, struct buf *out,
                    struct cairn_error *error);
/* The same for a file of the store's own: what os_open_plain does not open is
 * CAIRN_EIO. */
int os_read_plain(const char *path, size_t limit, struct buf *out,
                  struct cairn_error *error);
/* Whether an errno says that a path leads to nothing: a link to itself does not. */
bool os_is_missing(int sys);
/* Whether something is at `path`, from the directory `dir`; or that is not known. */
bool os_is_there(int dir, const char *path);
/* 1 if `path` lies on a network file system (statfs magic), 0 if not, <0 error. `name`
 * (may be NULL) gets a static name such as "NFS". */
int os_network_fs(const char *path, const char **name, struct cairn_error *error);
/* Whether its file system has next to no room left for us: less than eight blocks. */
bool os_is_full(const char *path);
/* How many more descriptors this process may open: about, since others open some, too.
 */
uint64_t os_free_descriptors(void);
/* Bytes of memory that this process and its children can have: those of the machine, or
 * less where its control group is limited. */
uint64_t os_memory_bytes(void);
/* The kernel's boot id (36 characters and a NUL); "" if unknown. */
void os_boot_id(char out[37]);
void os_host_name(char out[64]);
/* The name of the effective user as the system has it; "" if there is none. */
int os_user_name(char out[64], struct cairn_error *error);
/* user@host. Users that only a directory service knows have their name in LOGNAME. */
int os_caller_name(char *out, size_t size, struct cairn_error *error);
/* Whether nobody but root, the caller and `owner` is known to be in the group: nobody
 * else has it in /etc/group or /etc/passwd. Of a group that is not there, only that
 * which has the number of one of them is private to them. */
bool os_is_private_group(gid_t gid, uid_t owner);
/* Start time of a process in clock ticks since boot (field 22 of /proc/PID/stat), 0 if
 * there is no such process or it is a zombie. */
uint64_t os_process_start(pid_t pid);
/* Which PID namespace we are in, and its numbers mean something in: what /proc shows is
 * of it. 0: /proc is of another one, or not there, so no process can be looked at by
 * its number. */
uint64_t os_pid_namespace(void);
/* Of all processes of the machine: each can be seen from it. */
bool os_is_first_pid_namespace(uint64_t pid_namespace);

/* A TCP port of 127.0.0.1 that nothing uses now: an errno, or 0. */
int os_free_port(uint16_t *port);

#endif
