/* SPDX-License-Identifier: MIT */
/* Pages for browsers, over the same HTTP as `cairn mcp --listen`: GET only, and without
 * `remote` from this machine only. What the pages are is not known here.
 *
 * The address that is printed has a token, which opens one browser, once: that gets a
 * cookie for all further requests, and a new address is printed for the next one. */
#ifndef SERVER_SITE_H
#define SERVER_SITE_H

#include "server/serve.h"

struct site_ask {
    const char *path; /* without a % */
    void *request;
    /* A value of the query as it was sent, with its percent signs; NULL: not there. */
    const char *(*query)(void *request, const char *name);
};

struct site_answer {
    unsigned status;
    const char *type;
    bool fixed;      /* what stands at this address never changes */
    struct buf body; /* freed by the reader */
};

struct site_options {
    const char *listen;
    const char *const *hosts; /* as in serve_options */
    bool remote;
    int64_t idle_ms; /* ends when nothing was asked for so long; 0: never */
    void *context;
    /* `answer` begins with nothing but the status 200. */
    void (*answer)(void *context, const struct site_ask *ask,
                   struct site_answer *answer);
    /* A stream of events, if the address is one of those: what it needs, for `tick` and
     * then `live_end`; else NULL. */
    void *(*live)(void *context, const struct site_ask *ask, const char *last_event);
    /* Appends what is to be sent. In how many milliseconds it is called again. */
    int64_t (*tick)(void *context, void *live, struct buf *out);
    void (*live_end)(void *live);
    /* When clients can come, and after each address that was used. */
    void (*address)(void *context, const char *url, bool first);
};

/* Whether it may listen there, before anything is done; else `why` says why not. */
bool site_may_listen(const struct site_options *options, char why[512]);
/* Serves until a signal asks for the end, or nobody comes. What is not SERVE_DONE has
 * its reason in `why`. */
enum serve_end serve_site(const struct site_options *options, char why[512]);

#endif
