/* SPDX-License-Identifier: MIT */
/* Days of the calendar: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms",
 * days_from_civil. Clocks that change are found by the offsets that are in use around a
 * time, so any zone will do of which one can ask for the offset of a moment. */
#include "session/local_time.h"

#include <time.h>

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int civil_days_in(int year, int month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

int64_t civil_day(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = y / 400, of_era = y % 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

bool local_offsets(const struct zone *zone, int64_t local_s, struct local_offsets *out)
{
    const int64_t probes[3] = {local_s - 86400, local_s, local_s + 86400};
    struct local_offsets found = {0};
    for (int i = 0; i < 3; i++) {
        int64_t offset, there;
        bool known = false;
        if (!zone->offset_s(zone->context, probes[i], &offset) ||
            !zone->offset_s(zone->context, local_s - offset, &there))
            return false;
        if (i == 0)
            found.before = offset;
        found.after = offset;
        for (int j = 0; j < found.n; j++)
            known = known || found.fit[j] == offset;
        if (there == offset && !known)
            found.fit[found.n++] = offset;
    }
    *out = found;
    return true;
}

static bool offset_of_process(const void *context, int64_t utc_s, int64_t *offset_s)
{
    time_t s = (time_t)utc_s;
    struct tm tm;
    (void)context;
    if (!localtime_r(&s, &tm))
        return false;
    *offset_s = tm.tm_gmtoff;
    return true;
}

const struct zone zone_local = {offset_of_process, NULL};
