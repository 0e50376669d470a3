/* SPDX-License-Identifier: MIT */
/* What tasks write, as people see it: the last state of a line that was overwritten,
 * plain colors or none, everything else harmless. */
#ifndef CLI_TERMINAL_TERMINAL_TEXT_H
#define CLI_TERMINAL_TERMINAL_TEXT_H

#include "cli/format.h"

/* Room for what one line of n bytes becomes. */
#define TERMINAL_TEXT_ROOM(n) ((n)*ESCAPE_FACTOR + 8)

/* A line without its line break. Of what stands between carriage returns the last that
 * is not empty is shown. Colors and the like (SGR) pass with `color`, and are left out
 * without; so is what erases to the end of a line. Anything else is made visible, as
 * escape_line does it. A color that is still set at the end is reset, unless `painted`
 * is there: then it says so, and goes on in the next line. No NUL; returns how many
 * bytes. */
size_t terminal_line(char *out, const char *line, size_t n, bool color, bool *painted);

/* Columns that the text takes on a terminal. */
int text_columns(const char *text, size_t n);
/* Names in rows have a column of their own up to this width; longer ones push what
 * follows them, but not that of other rows. */
#define MOST_NAME_COLUMNS 40
/* The width of the column, which begins as 0, with one more name in it. */
int name_column(int width, const char *name, size_t n);
/* Blanks between a name and what follows it, without those between columns. */
int name_gap(int width, const char *name, size_t n);
/* How many of its bytes fit into so many columns. */
size_t text_fitting(const char *text, size_t n, int columns);
/* The text in at most so many columns (at least 3): its middle is cut out where it is
 * too long, "begin..end". Harmless text; `out` has room for n + 3 and a NUL. */
const char *columns_cut(char *out, const char *text, int columns);

#endif
