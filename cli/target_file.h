/* SPDX-License-Identifier: MIT */
/* A file that is written beside the one whose place it takes when it is whole. Where a
 * link is named, what it leads to is replaced; devices and the like never are.
 *
 *   target_open -> target_write, ... -> target_close -> target_release
 */
#ifndef CLI_TARGET_FILE_H
#define CLI_TARGET_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct target_file {
    const char *name;  /* as it was given */
    char *path, *part; /* heap: what is replaced, and what is written */
    struct stat old;   /* of what is replaced; st_mode 0: nothing is there */
    mode_t new_mode;   /* of a new file; 0: for its owner only */
    int fd;            /* -1: none */
    int sys;           /* errno of what failed, or 0 */
};
#define TARGET_NONE ((struct target_file){.fd = -1})

/* An exit status, after printing what is wrong. `command`: for messages. A file that is
 * replaced passes on its mode. */
int target_open(struct target_file *target, const char *name, const char *command);
/* 0, or 1: target_close will tell why. */
int target_write(struct target_file *target, const char *bytes, size_t n);
/* The same. All is on the disk, for who looks at what is there before it is replaced;
 * target_close does it, too. */
int target_sync(struct target_file *target);
/* It takes its place if it is whole and was written, and is removed otherwise. An exit
 * status, after printing what the system refused, now or before. 0 if none is open. */
int target_close(struct target_file *target, bool whole);
void target_release(struct target_file *target);

#endif
