/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the program `racers`; see racers.c for what it does. */
#ifndef TESTS_PROVE_RACERS_RACERS_H
#define TESTS_PROVE_RACERS_RACERS_H

#include <stdbool.h>
#include <sys/types.h>

/* Starts this program again with these arguments (the last one NULL), its output and
 * errors where ours go. -1 on failure. */
pid_t start_self(const char *const *args);
/* Starts a command from PATH with stdout and stderr in a new file. -1 on failure. */
pid_t start_command(const char *const *argv, const char *out);
/* The wait status; a child that has not ended in time is killed, and -1 returned. */
int wait_within(pid_t pid, int seconds);
/* Removes a directory and all below; 0 if it is not there afterwards. */

int race_main(char **args);
int storm_main(char **args);
int worker_main(char **args);

#endif
