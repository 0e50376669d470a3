/* SPDX-License-Identifier: MIT */
/* What is printed while a run works, on its way to readers that may be slow or not read
 * at all: one thread writes it, in order. So the thread that runs the workflow does not
 * wait for a reader, but for a moment. Everything here is called by that one thread. */
#ifndef CLI_OUTPUT_QUEUE_H
#define CLI_OUTPUT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether somebody reads what is written to the descriptor: a pipe, a terminal. */
bool output_queue_needed(int fd);
/* Starts the thread; false if there can be none. */
bool output_queue_start(void);
/* Adds whole lines, however long where none waits. If there is no room for them, they
 * are dropped and counted. */
void output_queue_put(int fd, const char *lines, size_t n);
/* The same for a few bytes that may not be missing, such as a cursor movement. */
void output_queue_must(int fd, const char *bytes, size_t n);
/* Whether something was not written yet. */
bool output_queue_waits(void);
/* How many lines were dropped since the last call. 0 as long as there is too little
 * room to go on. */
uint64_t output_queue_dropped(void);
/* Waits until all is written, and ends the thread. */
void output_queue_end(void);
/* The first error of writing to stdout, 0: none. What comes after it is not written. */
int output_queue_error(void);

#endif
