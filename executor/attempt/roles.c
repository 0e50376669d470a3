/* SPDX-License-Identifier: MIT */
/* The table of roles. */
#include "executor/attempt/roles.h"

#include "executor/attempt/launch.h"
#include "executor/attempt/service.h"
#include "executor/attempt/task.h"
#include "executor/attempt/undo.h"

const struct role_ops role_ops[ROLE_READY + 1] = {
    [ROLE_TASK] = {launch_task, task_not_started, task_started, task_ended,
                   task_answered, task_looked},
    [ROLE_CHECK] = {NULL, NULL, NULL, check_ended, NULL, check_looked},
    [ROLE_DECIDE] = {decide_launch, decide_not_started, NULL, decide_ended, NULL,
                     decide_looked},
    [ROLE_UNDO] = {undo_launch, undo_not_started, NULL, undo_ended, NULL, NULL},
    [ROLE_READY] = {NULL, NULL, NULL, ready_ended, NULL, NULL},
};
