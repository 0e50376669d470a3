/* SPDX-License-Identifier: MIT */
/* A directory of our own with an empty file in it, for the time of one command. */
#ifndef CLI_SHELL_SCRATCH_H
#define CLI_SHELL_SCRATCH_H

struct scratch {
    char directory[4096], file[4200];
};
/* In $TMPDIR, or /tmp. Returns an exit status. */
int scratch_make(struct scratch *scratch);
/* With the files that stand in it by then. */
void scratch_remove(const struct scratch *scratch);

#endif
