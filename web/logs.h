/* SPDX-License-Identifier: MIT */
/* Logs of tasks: the page of one, a part at a time, and the end of one in another page.
 */
#ifndef WEB_LOGS_H
#define WEB_LOGS_H

#include "web/frame.h"

struct log_wanted {
    uint64_t run;
    const char *task;
    uint32_t attempt; /* 0: the newest */
    int stream;       /* as in cairn_output */
    bool last;        /* its end is shown, else what begins at byte `from` */
    uint64_t from;
};

/* Appends the whole page. A code of the library. */
int log_page(struct buf *out, struct cairn_store *store, const struct log_wanted *place,
             const struct page_options *options, struct cairn_error *error);
/* A link to the page of the newest attempt's end. */
void put_log_link(struct buf *out, uint64_t run, const char *task, const char *words);
/* The last lines of a log, whatever part is asked for, and where to see the rest; nothing
 * if it is empty. Returns how many bytes of it are shown. */
size_t put_log_end(struct buf *out, struct cairn_store *store,
                   const struct log_wanted *place, const struct page_options *options);

#endif
