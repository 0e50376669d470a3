/* SPDX-License-Identifier: MIT */
/* Exit statuses (docs/exit-codes.md). cairn_exit_status has those of the library's
 * errors. */
#ifndef CLI_EXIT_STATUS_H
#define CLI_EXIT_STATUS_H

#define EXIT_TASK_FAILED 1
#define EXIT_USAGE 2
#define EXIT_WORKFLOW 3
#define EXIT_CHANGED 4
#define EXIT_DAMAGED 5
#define EXIT_OWNED 6
#define EXIT_STOPPED 7
#define EXIT_UNKNOWN 8
#define EXIT_UNSAVED 9
#define EXIT_NOT_FOUND 10
#define EXIT_SYSTEM 75
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NO_PROGRAM 127

#endif
