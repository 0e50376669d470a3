/* SPDX-License-Identifier: MIT */
/* A moment in the past, as people write it:
 *
 *     now
 *     2 hours ago      1 day 6 hours ago      90 min ago      an hour ago
 *     yesterday 14:30                         today 09:00:30
 *     2025-01-20 14:30                        2025-01-20 14:30:05.25
 *     2025-01-20T14:30:05Z                    2025-01-20 14:30+05:30    (RFC 3339)
 *     2025-01-20 09:30:05 -0500               (as git prints it)
 *
 * Without a zone it is local time. A day that is "ago" has 24 hours; "yesterday" is the
 * day before in the calendar. A local time that the clocks skipped, or showed twice, is
 * refused, since it names no moment or two. */
#ifndef SESSION_WHEN_H
#define SESSION_WHEN_H

#include "base/str.h"
#include "session/local_time.h"

/* UTC, nanoseconds since 1970. CAIRN_EUSAGE names the position in the text, from 1,
 * what is wrong there and what to write. */
int when_parse(struct str text, int64_t now_ns, const struct zone *zone,
               int64_t *utc_ns, struct cairn_error *error);

/* Whether a text is meant as a time, also as one that when_parse refuses: all of its
 * words are words and numbers of times, as in "yesterday", "last week", "2025-01-20".
 */
bool when_is_like_time(struct str text);

#endif
