/* SPDX-License-Identifier: MIT */
/* Other programs, for tests that drive the real command: starting one, waiting for it
 * with an end to patience, and what it printed. */
#ifndef TESTS_SUPPORT_PROGRAM_H
#define TESTS_SUPPORT_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

int64_t now_ms(void); /* of the monotonic clock */
void pause_us(uint32_t us);
/* Starts argv[0] in `dir`, reading nothing, its output in the files out.TAG and err.TAG
 * there. 0, or a value of errno. */
int program_start(pid_t *pid, const char *dir, const char *tag, char *const *argv,
                  char *const *env);
/* Its exit status, or 128 + signal. One that takes longer than the patience is killed;
 * *hung says so. */
int program_wait(pid_t pid, int patience_ms, bool *hung);
/* A whole file, with a NUL behind it; NULL if there is none. The caller frees it. */
char *file_text(const char *path);

#endif
