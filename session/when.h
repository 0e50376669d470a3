/* SPDX-License-Identifier: MIT */
/* Days of the calendar, and which moments a local clock shows a time at. */
#ifndef SESSION_WHEN_H
#define SESSION_WHEN_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* How far local time is ahead of UTC at a moment, in seconds. False if it is not known.
 * No zone is further than 15 hours from UTC. */
struct zone {
    bool (*offset_s)(const void *context, int64_t utc_s, int64_t *offset_s);
    const void *context;
};

/* The zone of this process ($TZ, else the system's), by the C library. */
extern const struct zone zone_local;

/* Of the calendar, from 1970 on: how many days a month has, and which day since
 * 1970-01-01 it is. */
int civil_days_in(int year, int month);
int64_t civil_day(int year, int month, int day);

/* The offsets under which a clock shows `local_s` (seconds since 1970-01-01 00:00 of
 * that clock): none if the clocks skipped it, two if they showed it twice. `before` and
 * `after` are in use a day earlier and later. False if the zone does not know. */
struct local_offsets {
    int64_t fit[3];
    int n;
    int64_t before, after;
};

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

/* UTC, nanoseconds since 1970. CAIRN_EUSAGE names the position in the text, from 1,
 * what is wrong there and what to write. */
int when_parse(struct str text, int64_t now_ns, const struct zone *zone,
               int64_t *utc_ns, struct cairn_error *error);
/* Whether a text is meant as a time, also as one that when_parse refuses: all of its
 * words are words and numbers of times, as in "yesterday", "last week", "2025-01-20".
 */
bool when_is_like_time(struct str text);

#endif
