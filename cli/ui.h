/* SPDX-License-Identifier: MIT */
/* Output for people and programs. Data goes to stdout, messages to stderr. Control
 * characters are made visible in everything that is printed here except by out_raw; so
 * are line breaks in the values of a format of one line, except by ui_warn, since
 * errors may have several lines.
 *
 * While a run works, one thread writes what is printed, in order, so that a slow reader
 * does not stop the run. Everything here is called by the thread of the run. */
#ifndef CLI_UI_H
#define CLI_UI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many lines were dropped since the last call. 0 as long as there is too little
 * room to go on. */
uint64_t output_queue_dropped(void);

#define PRINTS(f, a) __attribute__((format(printf, f, a)))

/* Opens descriptors 0 to 2 where they are closed, and sets signals to their defaults.
 * Call it before anything else. */
void ui_start(void);
/* Before the next command line of the same process. */
void ui_again(void);
void ui_configure(bool json, bool quiet);
bool ui_json(void);
bool ui_quiet(void);
/* Whether stderr can be repainted: a terminal that is not dumb. */
bool ui_live(void);
bool ui_terminal(int fd);
int ui_width(void);  /* columns of stderr's terminal, 80 if unknown */
int ui_height(void); /* its rows, 24 if unknown */
/* Whether it wraps lines anew when its width changes, as most do. */
bool ui_reflows(void);

enum color { PLAIN, RED, GREEN, YELLOW, DIM, BOLD, CYAN };

/* Messages on stderr, whole lines. `say` prints nothing with --quiet, the others do. */
void say(const char *format, ...) PRINTS(1, 2);
/* Says how many checkpoints went by the settings of the session, if any did. */
void say_pruned(uint64_t pruned);
void say_always(const char *format, ...) PRINTS(1, 2);
/* The same with its first word (the label) in a color, where colors are wanted. */
void say_label(enum color color, const char *label, const char *format, ...)
    PRINTS(3, 4);
void say_bytes(const char *prefix, const char *bytes, size_t n); /* one line, always */
/* The same of a line that a task wrote: its last state, in its colors where colors are
 * wanted. */
void say_output(const char *prefix, const char *bytes, size_t n);
void ui_warn(const char *format, ...) PRINTS(1, 2); /* "cairn: ..." */
/* The text of an error, which may quote what was typed: without secrets. */
void ui_error(const char *text);

/* From now on what `mask` makes of a text (heap; NULL: out of memory) is printed. */
typedef char *mask_fn(void *context, const char *text);

void ui_mask_by(mask_fn *mask, void *context);
/* The same of a text that is printed otherwise; heap, or NULL. */
char *ui_masked(const char *text);
/* Bytes for stderr as they are, flushed. */
void ui_paint(const char *bytes, size_t n);
/* Asks on the terminal, on stderr; anything that does not begin with y means no. */
bool ui_ask(const char *question);
/* Whether there is somebody to ask: stdin and stderr are a terminal, without --json. */
bool ui_can_ask(void);
/* Whether the terminal has not taken yet what was printed: painting must wait, too. */
bool ui_paint_waits(void);
/* Between these two, printing does not wait for a reader (ui.h); the second
 * does. What is too much is dropped, in whole lines: output_queue_dropped. */
void ui_queue_start(void);
void ui_queue_end(void);
/* Data on stdout. */
void out(const char *format, ...) PRINTS(1, 2);
void out_raw(const void *bytes, size_t n);
void out_flush(void);
/* Lines of any bytes, harmless on a terminal. */
void out_lines(const char *bytes, size_t n);
/* Whether stdout was a terminal that is not dumb when the process began. */
bool ui_out_for_people(void);

/* In the order of the words of --color. */
enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Says whether out_color does something; `auto`: on a terminal, unless $NO_COLOR is
 * set. At first it does nothing. Returns what it says. */
bool ui_color_stdout(enum color_when when);
/* What is printed from now on has this color. */
void out_color(enum color color);
/* Between these two what is printed is kept instead. The second gives it away (NULL:
 * out of memory), to be freed. */
void out_keep(void);
char *out_kept(size_t *n);
/* Whether what is printed is kept: for what does not belong there. Returns how it was.
 */
bool out_set_keeping(bool keeping);
/* Part of the data is missing, which was reported: status 0 becomes EXIT_SYSTEM. */
void out_incomplete(void);
/* Call it last: flushes stdout. If data could not be written, status 0 becomes
 * EXIT_SYSTEM. */
int ui_end(int status);
/* From now on a lost stdout does not change the exit status: that of the run counts. */
void ui_output_optional(void);
/* Whether writing to stdout has failed, so that printing more is useless. */
bool ui_output_lost(void);

/* Where stdout is a terminal that is not dumb, what is printed from now on goes through
 * $CAIRN_PAGER, or $PAGER, or `less -FRX` if there is one, which ends by itself where
 * all fits the screen. Empty, or `cat`: none. Ctrl-C is the pager's meanwhile. */
void pager_start(void);
/* Waits until the pager has ended. Returns `status`, or EXIT_SYSTEM instead of 0 where
 * the pager could not be executed, which it says. */
int pager_end(int status);

#endif
