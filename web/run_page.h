/* SPDX-License-Identifier: MIT */
/* The page of a run: HTML that is read without script. What was stored is text in it.
 * As a report it is one file that refers to nothing outside. */
#ifndef WEB_RUN_PAGE_H
#define WEB_RUN_PAGE_H

#include "web/page_view.h"

struct page_options {
    const char *version; /* of cairn */
    /* " --store DIR" or "", behind commands */
    const char *hint;
    /* A text that was never stored, such as a command of the file, without secrets;
     * heap, or NULL: it is left out. */
    char *(*masked)(void *context, const char *text);
    void *masked_context;
};

/* Appends the whole page. A code of the library. */
int run_report(struct buf *out, struct cairn_store *store, uint64_t run,
               const struct page_options *options, struct cairn_error *error);

#endif
