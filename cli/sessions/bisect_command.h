/* SPDX-License-Identifier: MIT */
/* Running the command that tells good states from bad ones. */
#ifndef CLI_SESSIONS_BISECT_COMMAND_H
#define CLI_SESSIONS_BISECT_COMMAND_H

#include <signal.h>
#include <stdbool.h>

struct bisect_command {
    char *const *argv;
    char *program; /* argv[0], from where we are if it is a relative path; heap */
    bool relative;
    sigset_t expected; /* signals that stop us, and SIGCHLD: blocked meanwhile */
    sigset_t before;
};
struct command_end {
    int code;   /* exit status, or -1 */
    int signal; /* or 0 */
    int asked;  /* a signal that asked us to stop while it ran, or 0 */
};
/* Returns an exit status, after printing what is wrong; bisect_command_release in any
 * case. */
int bisect_command_prepare(struct bisect_command *command, char *const *argv);
void bisect_command_release(struct bisect_command *command);
/* Runs it in a directory, in a session (of processes) of its own without a terminal:
 * stdin is empty, and its stdout goes to our stderr. `held` is a descriptor that it
 * gets, too. When it ends, or we are asked to stop, what is left of its process group
 * is ended. Returns an exit status. */
int bisect_command_run(const struct bisect_command *command, const char *directory,
                       int held, struct command_end *end);

#endif
