/* SPDX-License-Identifier: MIT */
/* The page of a run: HTML that is read without script. What was stored is text in it.
 * As a report it is one file that refers to nothing outside. */
#ifndef WEB_RUN_PAGE_H
#define WEB_RUN_PAGE_H

#include "web/frame.h"

struct graph_wanted; /* web/page_view.h */

/* Appends the whole page. `wanted` NULL: nothing special. A code of the library. */
int run_page(struct buf *out, struct cairn_store *store, uint64_t run,
             const struct page_options *options, const struct graph_wanted *wanted,
             struct cairn_error *error);

#endif
