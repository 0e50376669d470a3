/* SPDX-License-Identifier: MIT */
/* Output for people and programs. Data goes to stdout, messages to stderr. Everything
 * printed through here (but out_raw) has its control characters made visible: also line
 * breaks in what a format of one line puts in (but ui_warn: errors may have several).
 */
#ifndef CLI_UI_H
#define CLI_UI_H

#include "cairn.h"

#define EXIT_USAGE 2
#define EXIT_STOPPED 7
#define EXIT_UNKNOWN 8
#define EXIT_NOT_FOUND 10
#define EXIT_SYSTEM 75

#define PRINTS(f, a) __attribute__((format(printf, f, a)))

/* Makes descriptors 0 to 2 and signals sane; before anything else. */
void ui_start(void);
void ui_configure(bool json, bool quiet);
bool ui_json(void);
bool ui_quiet(void);
/* Whether stderr can be repainted: a terminal that is not dumb. */
bool ui_live(void);
bool ui_terminal(int fd);
int ui_width(void); /* columns of stderr's terminal, 80 if unknown */

enum color { PLAIN, RED, GREEN, YELLOW, DIM };
/* Messages on stderr, whole lines. `say` is silent with --quiet, the others never. */
void say(const char *format, ...) PRINTS(1, 2);
void say_always(const char *format, ...) PRINTS(1, 2);
/* The same with its first word (the label) in a color, where colors are wanted. */
void say_label(enum color color, const char *label, const char *format, ...)
    PRINTS(3, 4);
void say_bytes(const char *prefix, const char *bytes, size_t n); /* one line, always */
void ui_warn(const char *format, ...) PRINTS(1, 2);              /* "cairn: ..." */
/* Bytes for stderr as they are, flushed. */
void ui_paint(const char *bytes, size_t n);

/* Data on stdout. */
void out(const char *format, ...) PRINTS(1, 2);
void out_raw(const void *bytes, size_t n);
void out_flush(void);
/* Something had to be left out, which was reported: status 0 becomes 75. */
void out_incomplete(void);

/* Prints the error (with --json also as a document); returns the exit status. */
int ui_fail(const struct cairn_error *error);
/* A usage error of a command ("run"); NULL: of no command in particular. */
int ui_usage(const char *command, const char *format, ...) PRINTS(2, 3);
/* An error of the command line's own with an exit status. */
int ui_error(int status, const char *name, const char *format, ...) PRINTS(3, 4);
/* Last act: flushes stdout. A lost write of data turns status 0 into 75. */
int ui_end(int status);
/* The run's own status stands even if stdout was lost. */
void ui_output_optional(void);
/* Whether writing to stdout has failed, so that printing more is useless. */
bool ui_output_lost(void);

#endif
