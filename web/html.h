/* SPDX-License-Identifier: MIT */
/* HTML, written into a buffer. What was stored is text and goes through html_text or
 * html_lines, in elements and in attributes (between double quotes): no byte of it
 * begins a tag, an entity or a value. What a reader could not see, or what would change
 * the direction of the text around it, is made visible. */
#ifndef WEB_HTML_H
#define WEB_HTML_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

/* In one line: line breaks and tabs are made visible, too. */
void html_text(struct buf *out, const char *text);
/* At most so many bytes of it (not of what is written), with "..." behind where it is
 * cut. */
void html_start(struct buf *out, const char *text, size_t most);
/* Lines as they are, for <pre>. */
void html_lines(struct buf *out, const char *text, size_t n);
/* The same of what a task wrote: of a line that was overwritten the last state, and its
 * colours as classes; each line ends with a line feed. */
void html_log(struct buf *out, const char *text, size_t n);
/* One part of the path or of the query of an address, in percent signs where it must
 * be. */
void html_address(struct buf *out, const char *text);
/* <time datetime="...">2026-11-23 20:06:07 UTC</time>; nothing for 0. */
void html_time(struct buf *out, int64_t time_ns);

#endif
