/* SPDX-License-Identifier: MIT */
/* A program through which people page what is printed on a terminal. */
#ifndef CLI_SHELL_PAGER_H
#define CLI_SHELL_PAGER_H

/* Where stdout is a terminal that is not dumb, what is printed from now on goes through
 * $CAIRN_PAGER, or $PAGER, or `less -FRX` if there is one, which ends by itself where
 * all fits the screen. Empty, or `cat`: none. Ctrl-C is the pager's meanwhile. */
void pager_start(void);
/* Waits until the pager has ended. Returns `status`, or EXIT_SYSTEM instead of 0 where
 * the pager could not be executed, which it says. */
int pager_end(int status);

#endif
