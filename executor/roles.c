/* SPDX-License-Identifier: MIT */
/* The table of roles. */
#include "executor/roles.h"

#include "executor/check.h"
#include "executor/launch.h"
#include "executor/task.h"

const struct role_ops role_ops[ROLE_UNDO + 1] = {
    [ROLE_TASK] = {launch_task, task_not_started, task_started, task_ended},
    [ROLE_CHECK] = {NULL, NULL, NULL, check_ended},
    [ROLE_DECIDE] = {decide_launch, decide_not_started, NULL, decide_ended},
    [ROLE_UNDO] = {undo_launch, undo_not_started, NULL, undo_ended},
};
