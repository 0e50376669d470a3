/* SPDX-License-Identifier: MIT */
/* Times as people write them, in fixed zones and in the C library's. */
#include "session/when.h"

#include "tests/support/random.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <time.h>

#define S 1000000000ll

static struct cairn_error failure;

/* ---- Zones ---- */

static bool fixed_offset(const void *context, int64_t utc_s, int64_t *offset_s)
{
    (void)utc_s;
    *offset_s = *(const int64_t *)context;
    return true;
}

/* Central Europe in 2025. */
enum { SUMMER_2025 = 1743296400, WINTER_2025 = 1761440400 };
static bool berlin_offset(const void *context, int64_t utc_s, int64_t *offset_s)
{
    (void)context;
    *offset_s = utc_s >= SUMMER_2025 && utc_s < WINTER_2025 ? 7200 : 3600;
    return true;
}

static bool no_offset(const void *context, int64_t utc_s, int64_t *offset_s)
{
    (void)context;
    (void)utc_s;
    (void)offset_s;
    return false;
}

static const int64_t zero_s = 0, kolkata_s = 19800, newfoundland_s = -12600;
static const struct zone utc = {fixed_offset, &zero_s};
static const struct zone kolkata = {fixed_offset, &kolkata_s};
static const struct zone newfoundland = {fixed_offset, &newfoundland_s};
static const struct zone berlin = {berlin_offset, NULL};
static const struct zone nowhere = {no_offset, NULL};

/* 2025-01-20T14:30:05Z, and some nanoseconds. */
#define MOMENT 1737383405ll
#define NOW_NS (MOMENT * S + 123456789)

static int64_t parse(const char *text, const struct zone *zone)
{
    int64_t out = -1;
    int rc = when_parse(str_of(text), NOW_NS, zone, &out, &failure);
    ck_assert_msg(rc == 0, "%s: %s", text, failure.text);
    return out;
}

static void refuse_in(const char *text, const struct zone *zone, const char *part)
{
    int64_t out = -77;
    failure = (struct cairn_error){0};
    ck_assert_msg(when_parse(str_of(text), NOW_NS, zone, &out, &failure) ==
                      CAIRN_EUSAGE,
                  "taken: %s", text);
    ck_assert_msg(strstr(failure.text, part) != NULL, "no `%s` in: %s", part,
                  failure.text);
    ck_assert_int_eq(out, -77);
}

static void refuse(const char *text, const char *part)
{
    refuse_in(text, &utc, part);
}

/* ---- Forms ---- */

START_TEST(test_ago)
{
    static const struct {
        const char *text;
        int64_t s;
    } cases[] = {
        {"2 hours ago", 7200},
        {"1 hour ago", 3600},
        {"an hour ago", 3600},
        {"a minute ago", 60},
        {"90 min ago", 5400},
        {"90m ago", 5400},
        {"2h ago", 7200},
        {"30s ago", 30},
        {"45 sec ago", 45},
        {"3 days ago", 3 * 86400},
        {"3d ago", 3 * 86400},
        {"2 weeks ago", 14 * 86400},
        {"1w ago", 7 * 86400},
        {"0 seconds ago", 0},
        {"007 seconds ago", 7},
        {"1 day 6 hours ago", 30 * 3600},
        {"1h30m ago", 5400},
        {"a day 6 hours ago", 30 * 3600},
        {"  2   Hours\tAGO  ", 7200},
        {"now", 0},
        {" Now ", 0},
        {"20000 days ago", 20000ll * 86400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(parse(cases[i].text, &utc), NOW_NS - cases[i].s * S);
        ck_assert_int_eq(parse(cases[i].text, &nowhere), NOW_NS - cases[i].s * S);
    }
}
END_TEST

START_TEST(test_dates)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"2025-01-20 14:30", (MOMENT - 5) * S},
        {"2025-01-20 14:30:05", MOMENT * S},
        {"2025-01-20T14:30:05", MOMENT * S},
        {"2025-01-20 14:30:05.25", MOMENT * S + 250000000},
        {"2025-01-20 14:30:05.123456789", MOMENT * S + 123456789},
        {"2025-01-20T14:30:05Z", MOMENT * S},
        {"2025-01-20t14:30:05z", MOMENT * S},
        {"2025-01-20T14:30:05.000000001Z", MOMENT * S + 1},
        {"2025-01-20 14:30Z", (MOMENT - 5) * S},
        {"2025-01-20 14:30 Z", (MOMENT - 5) * S},
        {"2025-01-20T20:00:05+05:30", MOMENT * S},
        {"2025-01-20T06:30:05-08:00", MOMENT * S},
        {"2025-01-20 09:30:05 -0500", MOMENT * S},
        {"2025-01-20 20:00:05+0530", MOMENT * S},
        {"2025-01-20T14:30:05-00:00", MOMENT * S},
        {"2025-01-21T00:00:05+09:30", MOMENT * S},
        {"1970-01-01 00:00", 0},
        {"1970-01-01T00:00:00Z", 0},
        {"1972-02-29 00:00", 68169600 * S},
        {"2000-02-29 23:59:59", 951868799 * S},
        {"2100-03-01 00:00", 4107542400 * S},
        {"2261-12-31 23:59:59.999999999", 9214646399 * S + 999999999},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_int_eq(parse(cases[i].text, &utc), cases[i].ns);
    ck_assert_int_eq(parse("2025-01-20T14:30:05Z", &nowhere), MOMENT * S);
    ck_assert_int_eq(parse("2025-01-20 20:00:05", &kolkata), MOMENT * S);
    ck_assert_int_eq(parse("2025-01-20 11:00:05", &newfoundland), MOMENT * S);
    ck_assert_int_eq(parse("2025-01-20T14:30:05Z", &kolkata), MOMENT * S);
}
END_TEST

START_TEST(test_days_of_the_calendar)
{
    ck_assert_int_eq(parse("yesterday 14:30", &utc), (MOMENT - 5 - 86400) * S);
    ck_assert_int_eq(parse("Yesterday 14:30:05.5", &utc),
                     (MOMENT - 86400) * S + 500000000);
    ck_assert_int_eq(parse("today 14:30", &utc), (MOMENT - 5) * S);
    ck_assert_int_eq(parse("today 23:59", &utc), 1737417540 * S);
    /* It is the 20th, 20:00, in Kolkata; with six hours more it is the 21st. */
    ck_assert_int_eq(parse("yesterday 20:00", &kolkata), (MOMENT - 5 - 86400) * S);
    int64_t out;
    ck_assert_int_eq(
        when_parse(STR("yesterday 20:00"), NOW_NS + 6 * 3600 * S, &kolkata, &out, NULL),
        0);
    ck_assert_int_eq(out, (MOMENT - 5) * S);
    /* The day before in the calendar, though it was 23 hours long. */
    ck_assert_int_eq(when_parse(STR("yesterday 12:00"), (SUMMER_2025 + 86400) * S,
                                &berlin, &out, NULL),
                     0);
    ck_assert_int_eq(out, (SUMMER_2025 + 9 * 3600) * S);
}
END_TEST

START_TEST(test_clocks_that_change)
{
    ck_assert_int_eq(parse("2025-03-30 01:59:59", &berlin), (SUMMER_2025 - 1) * S);
    ck_assert_int_eq(parse("2025-03-30 03:00", &berlin), SUMMER_2025 * S);
    ck_assert_int_eq(parse("2025-10-26 01:59:59", &berlin), (WINTER_2025 - 3601) * S);
    ck_assert_int_eq(parse("2025-10-26 03:00", &berlin), (WINTER_2025 + 3600) * S);
    refuse_in("2025-03-30 02:00", &berlin,
              "time '2025-03-30 02:00', position 12: the clocks skipped this time; "
              "write the date and a zone: the clocks changed from +01:00 to +02:00");
    refuse_in("2025-03-30 02:59:59", &berlin, "skipped");
    refuse_in(
        "2025-10-26 02:00", &berlin,
        "the clocks showed this time twice; write the date and a zone: the clocks "
        "changed from +02:00 to +01:00");
    refuse_in("2025-10-26 02:59:59.9", &berlin, "twice");
    ck_assert_int_eq(parse("2025-10-26T02:30+02:00", &berlin),
                     (WINTER_2025 - 1800) * S);
    ck_assert_int_eq(parse("2025-10-26T02:30+01:00", &berlin),
                     (WINTER_2025 + 1800) * S);
    refuse_in("2025-01-20 14:30", &nowhere, "is not known; add a zone");
    refuse_in("yesterday 14:30", &nowhere, "is not known; add a zone");
}
END_TEST

/* Every day of the calendar follows the one before. */
START_TEST(test_calendar)
{
    int64_t expected = 0;
    bool same = true; /* libcheck is slow */
    for (int year = 1970; year <= 2261; year++)
        for (int month = 1; month <= 12; month++)
            for (int day = 1; day <= civil_days_in(year, month); day++)
                same = same && civil_day(year, month, day) == expected++;
    ck_assert(same);
    ck_assert_int_eq(expected, civil_day(2262, 1, 1));
    ck_assert_int_eq(civil_day(2025, 1, 20), MOMENT / 86400);
}
END_TEST

/* Samoa left out 30 December 2011. */
static bool apia_offset(const void *context, int64_t utc_s, int64_t *offset_s)
{
    (void)context;
    *offset_s = utc_s < 1325239200 ? -36000 : 50400;
    return true;
}

START_TEST(test_a_day_that_was_skipped)
{
    static const struct zone apia = {apia_offset, NULL};
    refuse_in("2011-12-30 00:00", &apia, "skipped");
    refuse_in("2011-12-30 23:59:59", &apia, "from -10:00 to +14:00");
    ck_assert_int_eq(parse("2011-12-29 23:59:59", &apia), 1325239199 * S);
    ck_assert_int_eq(parse("2011-12-31 00:00", &apia), 1325239200 * S);
    ck_assert_int_eq(parse("2011-12-28 12:00", &apia), 1325109600 * S);
    ck_assert_int_eq(parse("2012-01-01 12:00", &apia), 1325368800 * S);
}
END_TEST

/* ---- Errors ---- */

START_TEST(test_what_is_like_a_time)
{
    static const char *const times[] = {"now",
                                        "Today",
                                        "yesterday 14:30",
                                        "2025-01-20",
                                        "2025-01",
                                        "14:30",
                                        "2025-01-20T14:30:05.5Z",
                                        "2 hours ago",
                                        "90min ago",
                                        "3 days",
                                        "an hour",
                                        "last week",
                                        "march 3",
                                        "next  monday",
                                        "2025-01-20 09:30:05 -0500"};
    static const char *const others[] = {"",
                                         " ",
                                         "2",
                                         "second",
                                         "may",
                                         "last",
                                         "a",
                                         "1.2",
                                         "3rd try",
                                         "today's fix",
                                         "2025-01-20-release",
                                         "v2025-01-20",
                                         "1:",
                                         "-",
                                         "2 tries ago",
                                         "today a start was made"};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        ck_assert_msg(when_is_like_time(str_of(times[i])), "%s", times[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_msg(!when_is_like_time(str_of(others[i])), "%s", others[i]);
}
END_TEST

START_TEST(test_errors_name_the_position)
{
    refuse("", "the time is empty; write 'now', '2 hours ago'");
    refuse("  ", "position 3: there are only blanks");
    refuse("2 hors ago", "time '2 hors ago', position 3: a unit of time is missing; "
                         "write seconds, minutes, hours, days or weeks, or a date");
    refuse("2 months ago", "position 3: a unit");
    refuse("2 ago", "position 3: a unit");
    refuse("2", "position 2: a unit");
    refuse("2 hours", "position 8: 'ago' is missing; as in '2 hours ago'");
    refuse("2 hours agone", "position 9: 'ago' is missing");
    refuse("2 hours ago x", "position 13: there is more than a time; end with 'ago'");
    refuse("1.5 hours ago", "position 2: a unit");
    refuse("-2 hours ago", "position 1: this is not a time; write 'now'");
    refuse("soon", "position 1: this is not a time");
    refuse("nowadays", "position 1: this is not a time");
    refuse("now 14:30", "position 5: there is more than a time; write 'now' alone");
    refuse("99999999999999999999 s ago", "position 1: this number is out of range");
    refuse("9999999999999999999 s ago", "position 1: this number is out of range");
    refuse("999999999999999999 weeks ago", "that is too long ago");
    refuse("9223372036 s 9223372036 s ago", "that is too long ago");
    refuse("30000 days ago", "that is before 1970");
    refuse("yesterday",
           "position 10: the time of day is missing; add hours and minutes");
    refuse("today 9:30", "position 8: a digit is missing; write hours with two digits");
    refuse("today 24:00", "position 7: this number is out of range; write hours");
    refuse("today 14.30", "position 9: ':' is missing");
    refuse("today 14:60", "position 10: this number is out of range; write minutes");
    refuse("today 14:30:60", "position 13: this number is out of range; write seconds");
    refuse("today 14:30:05.", "position 16: a digit is missing; leave the point out");
    refuse("today 14:30:05.1234567890", "position 25: this is finer than a nanosecond");
    refuse("today 14:30Z", "position 12: there is more than a time; end with the time; "
                           "for another zone write the date");
    refuse("todayish 14:30", "position 1: this is not a time");
    refuse("2025-01-20", "position 11: the time of day is missing");
    refuse("2025-01-20T", "position 12: the time of day is missing");
    refuse("2025-01-20x14:30", "position 11: a blank or 'T' is missing");
    refuse("2025-1-20 14:30", "position 7: a digit is missing; write months");
    refuse("2025-13-20 14:30", "position 6: this number is out of range; write months");
    refuse("2025-00-20 14:30", "position 6: this number is out of range");
    refuse("2025-01-00 14:30", "position 9: this number is out of range; write days");
    refuse("2025-04-31 14:30", "position 9: the month has no such day");
    refuse("2025-02-29 14:30", "position 9: the month has no such day");
    refuse("2100-02-29 14:30", "position 9: the month has no such day");
    refuse("2025-01/20 14:30", "position 8: '-' is missing; write a date as");
    refuse("2025-01-201 14:30", "position 9: this number is out of range");
    refuse("1969-12-31 23:59", "position 1: this number is out of range; write a year");
    refuse("2262-01-01 00:00", "position 1: this number is out of range; write a year");
    refuse("25-01-20 14:30", "position 3: a digit is missing; write a year");
    refuse("1970-01-01 00:00+00:01", "before 1970");
    refuse("2025-01-20 14:30+5:30", "position 19: a digit is missing; write a zone");
    refuse("2025-01-20 14:30+05", "position 20: ':' is missing; write a zone");
    refuse("2025-01-20 14:30+0560", "position 18: this number is out of range");
    refuse("2025-01-20 14:30+24:00", "position 18: this number is out of range");
    refuse("2025-01-20 14:30 CET", "position 18: there is more than a time; end with "
                                   "the time, or a zone such as Z or +05:30");
    refuse("a very long text, which goes on and on and on, and does not end so soon",
           "on, and does not ...', position 3: ");
}
END_TEST

/* No text makes it read beyond its end (valgrind and ASan look), or write on refusal.
 */
START_TEST(test_any_text)
{
    static const char letters[] = "0123456789 -:.TZ+aghournwdys\t\xc3";
    static const char *const seeds[] = {"2025-01-20T14:30:05.25+05:30",
                                        "1 day 6 hours ago", "yesterday 14:30:05"};
    uint64_t seed = 63;
    for (int round = 0; round < 10000; round++) {
        const char *base = seeds[help_below(&seed, 3)];
        size_t len = strlen(base);
        char text[40];
        size_t used = help_below(&seed, (uint32_t)len + 1);
        char *exact = malloc(used + !used); /* one byte too many is noticed */
        ck_assert(len < sizeof text && exact);
        memcpy(text, base, len);
        for (uint32_t i = help_below(&seed, 4); i; i--)
            text[help_below(&seed, (uint32_t)len)] =
                letters[help_below(&seed, sizeof letters - 1)];
        memcpy(exact, text, used);
        int64_t out = -77;
        int rc = when_parse((struct str){exact, used}, NOW_NS, &berlin, &out, &failure);
        ck_assert(rc == 0 ? out >= 0 : rc == CAIRN_EUSAGE && out == -77);
        free(exact);
    }
}
END_TEST

/* ---- The C library ---- */

/* Every moment comes back from its local time, unless that is shown twice. */
START_TEST(test_zone_of_the_system)
{
    static const char *const zones[] = {"CET-1CEST,M3.5.0,M10.5.0/3",
                                        "UTC0",
                                        "NST3:30NDT,M3.2.0,M11.1.0",
                                        "LINT-14",
                                        "AoE12",
                                        "LHST-10:30LHDT-11,M10.1.0,M4.1.0"};
    uint64_t seed = 2025;
    int twice = 0;
    for (int z = 0; z < 6; z++) {
        setenv("TZ", zones[z], 1);
        tzset();
        for (int round = 0; round < 2000; round++) {
            time_t s = 1000000000 + (time_t)help_below(&seed, 1000000000);
            if (round % 2) /* near the end of October, March or April 2025 */
                s = (round % 4 == 1 ? WINTER_2025 : SUMMER_2025) +
                    (time_t)help_below(&seed, 40000) - 20000;
            struct tm tm;
            char text[40];
            int64_t out = 0;
            ck_assert_ptr_nonnull(localtime_r(&s, &tm));
            ck_assert(strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm) > 0);
            int rc = when_parse(str_of(text), NOW_NS, &zone_local, &out, &failure);
            struct tm other = tm;
            other.tm_isdst = !tm.tm_isdst;
            time_t also = mktime(&other);
            bool shown_twice = also != s && other.tm_hour == tm.tm_hour &&
                               other.tm_min == tm.tm_min && other.tm_sec == tm.tm_sec;
            if (shown_twice)
                ck_assert_int_eq(rc, CAIRN_EUSAGE);
            else
                ck_assert_msg(rc == 0 && out == s * S, "%s in %s: %s", text, zones[z],
                              failure.text);
            twice += shown_twice;
        }
    }
    ck_assert(twice > 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("when");
    TCase *c = tcase_create("all");
    tcase_add_test(c, test_ago);
    tcase_add_test(c, test_dates);
    tcase_add_test(c, test_days_of_the_calendar);
    tcase_add_test(c, test_clocks_that_change);
    tcase_add_test(c, test_calendar);
    tcase_add_test(c, test_a_day_that_was_skipped);
    tcase_add_test(c, test_errors_name_the_position);
    tcase_add_test(c, test_what_is_like_a_time);
    tcase_add_test(c, test_any_text);
    tcase_add_test(c, test_zone_of_the_system);
    suite_add_tcase(suite, c);
    return help_run(suite);
}
