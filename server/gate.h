/* SPDX-License-Identifier: MIT */
/* Who may come in over HTTP, decided by the headers before a body is read; and the
 * headers of a request held against the request itself (2026-07-28), since a proxy that
 * looks only at headers must not see another request. */
#ifndef SERVER_GATE_H
#define SERVER_GATE_H

#include "server/server.h"
#include "server/site.h"

#include <stdbool.h>
#include <stddef.h>

/* False: `why` says what does not agree. `params` may be NULL. */
bool headers_agree(const struct headers *headers, const char *method,
                   const struct value *params, char why[160]);

#define GATE_PATH "/mcp"
#define GATE_TOO_LONG "a message has more than 4 MiB"

struct gate {
    const char *token;        /* what comes behind "Bearer " */
    const char *const *hosts; /* names by which others call it, with any port, for there
                                 may be a proxy before it; ends with NULL */
    unsigned port;
    bool loopback; /* it listens there only */
};

/* Headers that are not there are NULL. The path is as it was sent, not decoded. */
struct knock {
    const char *method, *path, *host, *origin, *authorization;
    const char *content_type, *content_length, *accept, *cookie, *fetch_site;
    const char *twice;   /* one that is there more than once, and may not be */
    const char *address; /* at which the connection arrived, as in a URL */
};

/* 0, or the status of HTTP with which it is refused and why. */
unsigned gate_check(const struct gate *gate, const struct knock *knock,
                    const char **why);
/* The token in a file of this user that nobody else can read; makes the file where
 * there is none. The caller frees it. NULL: `why` says what is wrong. */
char *gate_token(const char *path, char why[512]);

/* ---- The way into pages (server/site.h) ---- */

#define SITE_OPEN "/open/" /* begins the address that opens one browser */
#define SITE_FORM_BYTES ((size_t)64 << 10)

struct site {
    const struct site_options *options;
    const char *url;
    char token[SITE_SECRET];              /* of the newest address */
    char secret[SITE_SECRET], cookie[32]; /* the cookie's value, and its name, which has
                                             the port in it: cookies ignore ports */
    int64_t used_ms;
    bool failed;          /* no random numbers */
    bool ending;          /* forms are not carried out any more */
    struct calls calls;   /* commands that forms have asked for, ... */
    struct client client; /* ... all of them by the same one */
};

/* The same as gate_check. */
unsigned gate_page(const struct gate *gate, const struct site *site,
                   const struct knock *knock, const char **why);
/* Makes a token and calls `address`; the first time it makes the cookie, too. */
void site_next_address(struct site *site);
/* Whether the path is the newest address, which is then replaced by the next one. */
bool site_open(struct site *site, const char *path);

/* ---- Secrets ---- */

/* Takes as long for every wrong one of that length. */
bool secret_is(const char *secret, const char *given, size_t n);

#endif
