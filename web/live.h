/* SPDX-License-Identifier: MIT */
/* What has changed in a page since somebody got it, as server-sent events. A page has
 * parts, elements with an id: of each that looks otherwise now there is one event
 * "part", its id on the first line and its HTML behind that; "reload" says that the
 * page has other parts than before.
 *
 *     parts_begin ... parts_end   while a page is written
 */
#ifndef WEB_LIVE_H
#define WEB_LIVE_H

#include "web/pages.h"

/* How often a page that moves is written. */
#define LIVE_CLOCK_MS 1000

/* The state of one who watches a page. */
struct live;

/* `ask` is that of the page itself. `turn`: of the store when it was written, as its
 * <main> and the id of each event say; NULL: not known, all parts are sent. NULL: out
 * of memory. */
struct live *live_new(const struct page_ask *ask, const char *turn);
struct live_rest {
    int64_t least_ms; /* so that the page takes a twentieth of the time at most */
    bool moves;       /* it looks otherwise each second, whether something is committed
                         to the store or not */
};
/* Appends what has changed, and says when to call it again: when something was
 * committed. Until then that costs next to nothing. */
struct live_rest live_tick(struct live *live, struct cairn_store *store,
                           const struct page_options *options, struct buf *out);
void live_free(struct live *live);

#endif
