/* SPDX-License-Identifier: MIT */
/* The states that --state names, with commas between them. */
#ifndef CLI_TASKS_STATE_LIST_H
#define CLI_TASKS_STATE_LIST_H

#include <stdbool.h>

#define TASK_STATES                                                                   \
    "running,interrupted,pending,completed,failed,skipped,excluded,cancelled,undone," \
    "unknown"
#define RUN_STATES "running,waiting,interrupted,completed,failed,cancelled,undone"

/* Whether the list has the word. */
bool state_list_has(const char *list, const char *word);
/* 0 if each state of the list is one of `words`; else says which there are. */
int state_list_check(const char *list, const char *words);

#endif
