/* SPDX-License-Identifier: MIT */
/* What HTTP's headers say of a request, held against the request itself (2026-07-28):
 * who looks only at headers, such as a proxy, must not see another request. */
#ifndef SERVER_HEADERS_H
#define SERVER_HEADERS_H

#include "server/server.h"

/* False: `why` says what does not agree. `params` may be NULL. */
bool headers_agree(const struct headers *headers, const char *method,
                   const struct value *params, char why[160]);

#endif
