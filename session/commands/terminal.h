/* SPDX-License-Identifier: MIT */
/* A pseudoterminal between a command and one of our outputs that is a terminal: the
 * command sees a terminal, and what it writes passes through us. Only its output does;
 * the command reads the real terminal, which stays its controlling one, so keys such as
 * Ctrl-C and Ctrl-Z reach it without us.
 *
 * The pseudoterminal changes nothing of what is written (no OPOST), so the real one
 * does that, once. Programs that draw on the whole screen set the modes of the terminal
 * that they write to: what they change there is changed of the real one, too. */
#ifndef SESSION_COMMANDS_TERMINAL_H
#define SESSION_COMMANDS_TERMINAL_H

#include <stdbool.h>
#include <sys/ioctl.h>
#include <termios.h>

struct terminal {
    int real;   /* ours */
    int master; /* where we read what is written */
    struct termios seen;
    struct winsize size;
};

/* Like the one that `real` is; *slave is the command's end. Both are close-on-exec, and
 * the caller's. False if there is none to be had. */
bool terminal_open(struct terminal *terminal, int real, int *slave);
/* What the command has changed of the modes is done to the real one. To be called
 * between reading and passing on what was read. */
void terminal_follow_modes(struct terminal *terminal);
/* True: the real one has another size now, and so has the other. */
bool terminal_follow_size(struct terminal *terminal);

#endif
