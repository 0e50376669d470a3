/* SPDX-License-Identifier: MIT */
/* As the first process of a container, or as a subreaper, cairn inherits every process
 * whose parent has ended. Somebody must collect them, or a long run fills the process
 * table. The commands wait for their own children only, so a second process carries the
 * command out, and the first one collects. */
#ifndef CLI_FIRST_PROCESS_H
#define CLI_FIRST_PROCESS_H

#include <stdbool.h>

/* To be called first, with the arguments of main. False: this process carries the
 * command out. True: another one did, and *status is its exit status. */
bool first_process(char **argv, int *status);

#endif
