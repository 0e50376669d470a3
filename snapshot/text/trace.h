/* SPDX-License-Identifier: MIT */
/* Lines of a text in the text that it was made of. Pure. */
#ifndef SNAPSHOT_TEXT_TRACE_H
#define SNAPSHOT_TEXT_TRACE_H

#include "snapshot/text/diff.h"

/* `lines`: numbers of lines (from 0, ascending) of the text `b` of the diff. Each
 * becomes its number in `a`, or TEXT_LINE_NEW where the diff adds it. */
#define TEXT_LINE_NEW SIZE_MAX
void text_trace(const struct text_diff *diff, size_t *lines, size_t n);

#endif
