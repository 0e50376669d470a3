/* SPDX-License-Identifier: MIT */
/* Days of the calendar, and which moments a local clock shows a time at. */
#ifndef SESSION_LOCAL_TIME_H
#define SESSION_LOCAL_TIME_H

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
bool local_offsets(const struct zone *zone, int64_t local_s, struct local_offsets *out);

#endif
