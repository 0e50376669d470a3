/* SPDX-License-Identifier: MIT */
/* What stands around every page: its head with the style, the way back, its foot; and
 * what all pages are given. */
#ifndef WEB_FRAME_H
#define WEB_FRAME_H

#include "base/str.h"
#include "cairn.h"

#include <stdbool.h>

struct page_options {
    const char *version; /* of cairn */
    const char *hint;    /* " --store DIR" or "", behind commands */
    /* A text that was never stored, such as a command of the file, without secrets;
     * heap, or NULL: it is left out. */
    char *(*masked)(void *context, const char *text);
    void *masked_context;
    /* NULL: a file that refers to nothing outside. Else the address of the style, and
     * pages lead to each other. */
    const char *style;
};

/* "/page-0123456789abcdef.css": another one whenever the style is another one. */
void style_address(char out[40]);
const char *style_text(void);
/* Up to the title's text; then up to the page's. */
void frame_begin(struct buf *out, const struct page_options *options);
void frame_body(struct buf *out, const struct page_options *options);
void frame_end(struct buf *out, const struct page_options *options, int64_t now_ns);
/* <code> of a command with the hint behind it. */
void put_command(struct buf *out, const struct page_options *options,
                 const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
