/* SPDX-License-Identifier: MIT */
/* The helper program is two: which one, its name says. Only libc. */
#ifndef PROCESS_HELPER_ROLES_H
#define PROCESS_HELPER_ROLES_H

int guard_main(void);  /* ends what a dead engine started */
int keeper_main(void); /* runs one task, and outlives the engine with it */

#endif
