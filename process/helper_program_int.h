/* SPDX-License-Identifier: MIT */
/* The helper program as a file that can be executed. */
#ifndef PROCESS_HELPER_PROGRAM_INT_H
#define PROCESS_HELPER_PROGRAM_INT_H

#include "base/error.h"

/* The helper program, see helper_image.S: its bytes. */
extern const char helper_image[] __attribute__((visibility("hidden")));
extern const char helper_image_end[] __attribute__((visibility("hidden")));

/* A descriptor to execute, close-on-exec; -1: no memory files here. */
int image_in_memory(void);
/* A descriptor or a code. The file was made at `path` and has no name any more. */
int image_in_file(const char *path, struct cairn_error *error);
enum { IMAGE_TRIES = 100 };
void image_pause(void);

#endif
