/* SPDX-License-Identifier: MIT */
/* Days of the calendar: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms",
 * days_from_civil. Clocks that change are found by the offsets that are in use around a
 * time, so any zone will do of which one can ask for the offset of a moment. */
#include "session/when.h"

#include "base/utf8.h"

#include <time.h>

/* ==== The calendar ==== */

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

static bool local_offsets(const struct zone *zone, int64_t local_s,
                          struct local_offsets *out)
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

/* ==== Times as people write them ==== */

/* One pass over the text, from left to right. An error names the position;
 * the clock of the zone is asked last. */

#define SECOND_NS 1000000000ll
#define DAY_S 86400ll

#define FORMS                                                                       \
    "write 'now', '2 hours ago', 'yesterday 14:30', '2025-01-20 14:30' or, with a " \
    "zone, '2025-01-20T14:30:05Z'"

struct time_words {
    const char *start, *at, *end;
    int64_t now_ns;
    const struct zone *zone;
    struct cairn_error *error;
};

static int refuse_at(const struct time_words *r, const char *at, const char *what,
                     const char *remedy)
{
    size_t len = (size_t)(r->end - r->start);
    return error_set(r->error, CAIRN_EUSAGE, "time '%.*s%s', position %zu: %s; %s",
                     (int)utf8_fit((struct str){r->start, len}, 60), r->start,
                     len <= 60 ? "" : "...", (size_t)(at - r->start) + 1, what, remedy);
}

/* ---- Reading ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool at_end(const struct time_words *r)
{
    return r->at == r->end;
}

/* Takes the character, if it is the next one. */
static bool take(struct time_words *r, char c)
{
    if (at_end(r) || *r->at != c)
        return false;
    r->at++;
    return true;
}

static void skip_blanks(struct time_words *r)
{
    while (!at_end(r) && is_blank(*r->at))
        r->at++;
}

static struct str take_word(struct time_words *r)
{
    const char *start = r->at;
    while (!at_end(r) && is_letter(*r->at))
        r->at++;
    return (struct str){start, (size_t)(r->at - start)};
}

static bool equal_ignoring_case(struct str word, const char *lower)
{
    for (size_t i = 0; i < word.len; i++)
        if ((word.ptr[i] | 0x20) != lower[i])
            return false;
    return lower[word.len] == '\0';
}

/* Exactly `width` digits, from `least` to `most`. */
static int take_number(struct time_words *r, unsigned width, int least, int most,
                       const char *what, int *out)
{
    const char *start = r->at;
    int value = 0;
    for (unsigned i = 0; i < width; i++, r->at++) {
        if (at_end(r) || !is_digit(*r->at))
            return refuse_at(r, r->at, "a digit is missing", what);
        value = value * 10 + (*r->at - '0');
    }
    if (value < least || value > most || (!at_end(r) && is_digit(*r->at)))
        return refuse_at(r, start, "this number is out of range", what);
    *out = value;
    return 0;
}

static int expect_end(struct time_words *r, const char *remedy)
{
    skip_blanks(r);
    return at_end(r) ? 0 : refuse_at(r, r->at, "there is more than a time", remedy);
}

static int within_range(const struct time_words *r, int64_t utc_ns, int64_t *out)
{
    if (utc_ns < 0)
        return refuse_at(r, r->start, "that is before 1970", FORMS);
    *out = utc_ns;
    return 0;
}

/* ---- A time ago ---- */

static const struct {
    const char *name, *many, *brief;
    int64_t s;
} units[] = {{"second", "seconds", "sec", 1},
             {"minute", "minutes", "min", 60},
             {"hour", "hours", "hr", 3600},
             {"day", "days", "", DAY_S},
             {"week", "weeks", "", 7 * DAY_S}};

static int64_t unit_s(struct str word)
{
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        bool letter = word.len == 1 && (*word.ptr | 0x20) == *units[i].name;
        if (letter || equal_ignoring_case(word, units[i].name) ||
            equal_ignoring_case(word, units[i].many) ||
            (word.len && equal_ignoring_case(word, units[i].brief)))
            return units[i].s;
    }
    return 0;
}

static int take_unit(struct time_words *r, int64_t count, int64_t *total_ns)
{
    int64_t ns;
    skip_blanks(r);
    const char *at = r->at;
    int64_t s = unit_s(take_word(r));
    if (!s)
        return refuse_at(r, at, "a unit of time is missing",
                         "write seconds, minutes, hours, days or weeks, or a date");
    if (__builtin_mul_overflow(count, s * SECOND_NS, &ns) ||
        __builtin_add_overflow(*total_ns, ns, total_ns))
        return refuse_at(r, at, "that is too long ago", FORMS);
    return 0;
}

static int take_count(struct time_words *r, int64_t *count)
{
    const char *start = r->at;
    int64_t value = 0;
    for (; !at_end(r) && is_digit(*r->at); r->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *r->at - '0', &value))
            return refuse_at(r, start, "this number is out of range", FORMS);
    *count = value;
    return 0;
}

/* The reader stands on a digit, or behind "a" or "an" if there is a count already. */
static int read_ago(struct time_words *r, int64_t count, int64_t *out)
{
    int64_t total_ns = 0;
    int rc = count ? take_unit(r, count, &total_ns) : 0;
    while (!rc) {
        skip_blanks(r);
        if (at_end(r) || !is_digit(*r->at))
            break;
        rc = take_count(r, &count) ?: take_unit(r, count, &total_ns);
    }
    if (rc)
        return rc;
    const char *at = r->at;
    if (!equal_ignoring_case(take_word(r), "ago"))
        return refuse_at(r, at, "'ago' is missing", "as in '2 hours ago'");
    return expect_end(r, "end with 'ago'")
               ?: within_range(r, total_ns > r->now_ns ? -1 : r->now_ns - total_ns,
                               out);
}

/* ---- A time of a day ---- */

struct civil {
    int64_t day; /* since 1970-01-01 */
    int hour, minute, second, ns;
    const char *clock; /* in the text */
};

static int take_fraction(struct time_words *r, int *ns)
{
    const char *start = r->at;
    *ns = 0;
    for (int place = 100000000; !at_end(r) && is_digit(*r->at); r->at++, place /= 10) {
        if (place == 0)
            return refuse_at(r, r->at, "this is finer than a nanosecond",
                             "write at most nine digits");
        *ns += (*r->at - '0') * place;
    }
    return r->at > start ? 0
                         : refuse_at(r, r->at, "a digit is missing",
                                     "leave the point out, or write digits behind it");
}

static int take_clock(struct time_words *r, struct civil *c)
{
    c->clock = r->at;
    if (at_end(r))
        return refuse_at(r, r->at, "the time of day is missing",
                         "add hours and minutes, as in 14:30");
    int rc =
        take_number(r, 2, 0, 23, "write hours with two digits, 00 to 23", &c->hour);
    if (!rc && !take(r, ':'))
        rc = refuse_at(r, r->at, "':' is missing",
                       "write hours and minutes, as in 14:30");
    if (!rc)
        rc = take_number(r, 2, 0, 59, "write minutes with two digits, 00 to 59",
                         &c->minute);
    if (!rc && take(r, ':')) {
        rc = take_number(r, 2, 0, 59, "write seconds with two digits, 00 to 59",
                         &c->second);
        if (!rc && take(r, '.'))
            rc = take_fraction(r, &c->ns);
    }
    return rc;
}

static int take_date(struct time_words *r, struct civil *c)
{
    static const char form[] = "write a date as year-month-day, 2025-01-20";
    int year, month, day;
    int rc = take_number(r, 4, 1970, 2261, "write a year from 1970 to 2261", &year);
    if (!rc)
        r->at++; /* a '-', which is_date has seen */
    if (!rc)
        rc = take_number(r, 2, 1, 12, "write months with two digits, 01 to 12", &month);
    if (!rc && !take(r, '-'))
        rc = refuse_at(r, r->at, "'-' is missing", form);
    if (rc)
        return rc;
    const char *at = r->at;
    rc = take_number(r, 2, 1, 31, "write days with two digits, 01 to 31", &day);
    if (rc)
        return rc;
    if (day > civil_days_in(year, month))
        return refuse_at(r, at, "the month has no such day", "write another day");
    c->day = civil_day(year, month, day);
    if (!take(r, 'T') && !take(r, 't') && !at_end(r) && !is_blank(*r->at))
        return refuse_at(r, r->at, "a blank or 'T' is missing",
                         "write date and time, as in 2025-01-20 14:30");
    return 0;
}

/* Z, +05:30, +0530 or nothing. */
static int take_zone(struct time_words *r, bool *has, int64_t *offset_s)
{
    static const char remedy[] = "write a zone as +05:30 or Z";
    int hours = 0, minutes = 0, rc;
    *has = true;
    *offset_s = 0;
    if (take(r, 'Z') || take(r, 'z'))
        return 0;
    bool ahead = take(r, '+');
    if (!ahead && !take(r, '-')) {
        *has = false;
        return 0;
    }
    const char *at = r->at;
    size_t digits = 0;
    while (at + digits < r->end && is_digit(at[digits]))
        digits++;
    if (digits == 4) { /* -0500, as git and mail have it */
        rc = take_number(r, 4, 0, 2359, remedy, &hours);
        minutes = hours % 100;
        hours /= 100;
        if (!rc && minutes > 59)
            rc = refuse_at(r, at, "this number is out of range", remedy);
    } else {
        rc = take_number(r, 2, 0, 23, remedy, &hours);
        if (!rc && !take(r, ':'))
            rc = refuse_at(r, r->at, "':' is missing", remedy);
        if (!rc)
            rc = take_number(r, 2, 0, 59, remedy, &minutes);
    }
    *offset_s = (ahead ? 1 : -1) * (hours * 3600ll + minutes * 60);
    return rc;
}

/* ---- Local time to UTC ---- */

static int refuse_unknown(const struct time_words *r)
{
    return refuse_at(r, r->start, "the local time of that moment is not known",
                     "add a zone, as in 2025-01-20T14:30:05Z");
}

static void write_offset(int64_t offset_s, char out[16])
{
    unsigned minutes = (unsigned)((offset_s < 0 ? -offset_s : offset_s) / 60);
    snprintf(out, 16, "%c%02u:%02u", offset_s < 0 ? '-' : '+', minutes / 60 % 100,
             minutes % 60);
}

static int refuse_local(const struct time_words *r, const struct civil *c,
                        const struct local_offsets *found)
{
    char one[16], other[16], remedy[120];
    write_offset(found->n ? found->fit[0] : found->before, one);
    write_offset(found->n ? found->fit[1] : found->after, other);
    snprintf(remedy, sizeof remedy,
             "write the date and a zone: the clocks changed from %s to %s", one, other);
    return refuse_at(r, c->clock,
                     found->n ? "the clocks showed this time twice"
                              : "the clocks skipped this time",
                     remedy);
}

static int local_to_utc(const struct time_words *r, const struct civil *c,
                        int64_t local_s, int64_t *utc_s)
{
    struct local_offsets found;
    if (!local_offsets(r->zone, local_s, &found))
        return refuse_unknown(r);
    if (found.n != 1)
        return refuse_local(r, c, &found);
    *utc_s = local_s - found.fit[0];
    return 0;
}

static int civil_to_utc(const struct time_words *r, const struct civil *c,
                        const int64_t *offset_s, int64_t *out)
{
    int64_t local_s = c->day * DAY_S + c->hour * 3600ll + c->minute * 60 + c->second;
    int64_t utc_s = 0;
    int rc = 0;
    if (offset_s)
        utc_s = local_s - *offset_s;
    else
        rc = local_to_utc(r, c, local_s, &utc_s);
    return rc ?: within_range(r, utc_s * SECOND_NS + c->ns, out);
}

/* ---- All of it ---- */

static int read_date(struct time_words *r, int64_t *out)
{
    struct civil c = {0};
    bool has_zone;
    int64_t offset_s;
    int rc = take_date(r, &c);
    if (rc)
        return rc;
    skip_blanks(r);
    rc = take_clock(r, &c);
    if (rc)
        return rc;
    skip_blanks(r);
    return take_zone(r, &has_zone, &offset_s)
           ?: expect_end(r, "end with the time, or a zone such as Z or +05:30")
           ?: civil_to_utc(r, &c, has_zone ? &offset_s : NULL, out);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int read_day(struct time_words *r, int days_ago, int64_t *out)
{
    struct civil c = {0};
    int64_t now_s = floor_div(r->now_ns, SECOND_NS), offset_s;
    if (!r->zone->offset_s(r->zone->context, now_s, &offset_s))
        return refuse_unknown(r);
    c.day = floor_div(now_s + offset_s, DAY_S) - days_ago;
    skip_blanks(r);
    int rc = take_clock(r, &c);
    if (!rc)
        rc = expect_end(r, "end with the time; for another zone write the date, as in "
                           "2025-01-20T14:30:05Z");
    return rc ?: civil_to_utc(r, &c, NULL, out);
}

static int read_word(struct time_words *r, int64_t *out)
{
    const char *at = r->at;
    struct str word = take_word(r);
    if (equal_ignoring_case(word, "now"))
        return expect_end(r, "write 'now' alone") ?: within_range(r, r->now_ns, out);
    if (equal_ignoring_case(word, "today"))
        return read_day(r, 0, out);
    if (equal_ignoring_case(word, "yesterday"))
        return read_day(r, 1, out);
    if (equal_ignoring_case(word, "a") || equal_ignoring_case(word, "an"))
        return read_ago(r, 1, out);
    return refuse_at(r, at, "this is not a time", FORMS);
}

static bool is_date(const struct time_words *r)
{
    const char *at = r->at;
    while (at < r->end && is_digit(*at))
        at++;
    return at < r->end && *at == '-';
}

int when_parse(struct str text, int64_t now_ns, const struct zone *zone,
               int64_t *utc_ns, struct cairn_error *error)
{
    struct time_words r = {text.ptr, text.ptr, text.ptr + text.len,
                           now_ns,   zone,     error};
    if (text.len == 0)
        return error_set(error, CAIRN_EUSAGE, "the time is empty; " FORMS);
    skip_blanks(&r);
    if (at_end(&r))
        return refuse_at(&r, r.at, "there are only blanks", FORMS);
    if (!is_digit(*r.at))
        return read_word(&r, utc_ns);
    return is_date(&r) ? read_date(&r, utc_ns) : read_ago(&r, 0, utc_ns);
}

/* ---- What is like a time ---- */

/* One word is a time by itself. Two of the others are. */
static const char *const days[] = {"now",      "today",     "yesterday", "tomorrow",
                                   "tonight",  "noon",      "midnight",  "monday",
                                   "tuesday",  "wednesday", "thursday",  "friday",
                                   "saturday", "sunday",    "ago",       NULL};

static const char *const parts[] = {
    "a",       "an",        "at",      "on",       "last",     "this",    "next",
    "month",   "months",    "year",    "years",    "morning",  "evening", "night",
    "january", "february",  "march",   "april",    "may",      "june",    "july",
    "august",  "september", "october", "november", "december", NULL};

static bool is_one_of(struct str word, const char *const *list)
{
    while (*list && !equal_ignoring_case(word, *list))
        list++;
    return *list != NULL;
}

/* Joined digits, as in 2025-01 and 14:30, and more of a time behind them. */
static bool is_joined(struct str word, char joint)
{
    size_t n = 0, joints = 0;
    for (; n < word.len && (is_digit(word.ptr[n]) || word.ptr[n] == joint); n++)
        joints += word.ptr[n] == joint;
    return joints > 0 && is_digit(word.ptr[n - 1]) &&
           (n == word.len || strchr("TtZz.+", word.ptr[n]));
}

/* How much of a time a word is: 2 of itself, 1 with another one, 0 not at all. */
static int weight_of(struct str word)
{
    size_t digits = 0;
    if (word.len > 1 && (*word.ptr == '+' || *word.ptr == '-')) /* of a zone */
        word = (struct str){word.ptr + 1, word.len - 1};
    while (digits < word.len && is_digit(word.ptr[digits]))
        digits++;
    struct str rest = {word.ptr + digits, word.len - digits};
    if (is_one_of(word, days) || (digits == 4 && is_joined(word, '-')) ||
        (digits > 0 && digits < 3 && is_joined(word, ':')))
        return 2;
    return !rest.len || unit_s(rest) || is_one_of(word, parts);
}

bool when_is_like_time(struct str text)
{
    int weight = 0;
    struct time_words r = {.at = text.ptr, .end = text.ptr + text.len};
    for (skip_blanks(&r); !at_end(&r); skip_blanks(&r)) {
        const char *start = r.at;
        while (!at_end(&r) && !is_blank(*r.at))
            r.at++;
        int of_word = weight_of((struct str){start, (size_t)(r.at - start)});
        if (!of_word)
            return false;
        weight += weight < 2 ? of_word : 0;
    }
    return weight >= 2;
}
