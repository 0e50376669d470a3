/* SPDX-License-Identifier: MIT */
/* The repair of a store, for cairn doctor. */
#ifndef CLI_DOCTOR_REPAIR_H
#define CLI_DOCTOR_REPAIR_H

#include "cli/command.h"

/* Repairs the store and prints what was saved and lost. Returns an exit status. */
int repair_store(struct settings *settings);

#endif
