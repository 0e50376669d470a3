/* SPDX-License-Identifier: MIT */
/* Order is that of seq, never of time, which may run back. Every rule chooses from what
 * it would choose from again after the prune (the newest of an hour, of all), so a
 * second one finds nothing. */
#include "session/retention.h"

#include <assert.h>
#include <stdlib.h>

#define HOUR_NS 3600000000000ll
#define DAY_NS (24 * HOUR_NS)

int keep_days(uint32_t days, int64_t *within_ns, struct cairn_error *error)
{
    if (days < 1 || days > KEEP_DAYS_MOST)
        return error_set(error, CAIRN_EUSAGE,
                         "cannot keep %u days; give a number from 1 to %d", days,
                         KEEP_DAYS_MOST);
    *within_ns = days * DAY_NS;
    return 0;
}

struct keep_rules keep_rules_default(void)
{
    return (struct keep_rules){.last = 100, .within_ns = 7 * DAY_NS, .hourly = true};
}

static int64_t hour_of(int64_t utc_ns)
{
    return utc_ns / HOUR_NS - (utc_ns % HOUR_NS < 0);
}

/* Of the future, if the clock was set back, it is young. */
static bool is_young(int64_t utc_ns, int64_t now_ns, int64_t within_ns)
{
    return utc_ns >= now_ns ||
           (uint64_t)now_ns - (uint64_t)utc_ns <= (uint64_t)within_ns;
}

struct dated {
    int64_t hour;
    size_t at; /* in the list */
};

static int by_hour(const void *left, const void *right)
{
    const struct dated *x = left, *y = right;
    if (x->hour != y->hour)
        return x->hour < y->hour ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static int mark_hourly(const struct kept *list, size_t n, uint32_t *why,
                       struct cairn_error *error)
{
    struct dated *dated = malloc((n + 1) * sizeof *dated);
    if (!dated)
        return error_nomem(error);
    for (size_t i = 0; i < n; i++)
        dated[i] = (struct dated){hour_of(list[i].utc_ns), i};
    qsort(dated, n, sizeof *dated, by_hour);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || dated[i].hour != dated[i + 1].hour)
            why[dated[i].at] |= KEEP_HOURLY;
    free(dated);
    return 0;
}

enum retention_answer retention_of_one(const struct kept *one, int64_t next_utc_ns,
                                       const struct keep_rules *rules, int64_t now_ns)
{
    uint32_t flags = KEEP_ALWAYS | (rules->tagged ? KEEP_TAGGED : 0);
    if (one->flags & flags)
        return RETENTION_FOR_GOOD;
    if (rules->hourly && hour_of(one->utc_ns) != hour_of(next_utc_ns))
        return RETENTION_FOR_GOOD;
    if (rules->within_ns <= 0 || !is_young(one->utc_ns, now_ns, rules->within_ns))
        return RETENTION_LETS_GO;
    return one->utc_ns > now_ns ? RETENTION_FOR_GOOD : RETENTION_FOR_NOW;
}

/* The place of `seq` among the first `n`, or `n`. */
static size_t find_seq(const struct kept *list, size_t n, uint64_t seq)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && list[low].seq == seq ? low : n;
}

/* From the newest down, so that the base of a base is reached as well. */
static void mark_bases(const struct kept *list, size_t n, uint32_t *why)
{
    for (size_t i = n; i-- > 0;) {
        if (!why[i] || !list[i].base)
            continue;
        size_t at = find_seq(list, i, list[i].base);
        if (at < i)
            why[at] |= KEEP_BASE;
    }
}

int retention_decide(const struct kept *list, size_t n, const struct keep_rules *rules,
                     int64_t now_ns, uint32_t *why, struct retention_report *report,
                     struct cairn_error *error)
{
    uint32_t flags = KEEP_ALWAYS | (rules->tagged ? KEEP_TAGGED : 0);
    int rc = 0;
    if (!rules->last && rules->within_ns <= 0 && !rules->hourly && !rules->tagged)
        return error_set(error, CAIRN_EUSAGE,
                         "no rule says what to keep; give --keep-last, --keep-days, "
                         "--keep-hourly or --keep-tag");
    for (size_t i = 0; i < n; i++) {
        assert(i == 0 || list[i - 1].seq < list[i].seq);
        why[i] = list[i].flags & flags;
        if (n - i <= rules->last)
            why[i] |= KEEP_LAST;
        if (rules->within_ns > 0 && is_young(list[i].utc_ns, now_ns, rules->within_ns))
            why[i] |= KEEP_YOUNG;
    }
    if (rules->hourly)
        rc = mark_hourly(list, n, why, error);
    if (rc)
        return rc;
    mark_bases(list, n, why);
    *report = (struct retention_report){.total = n};
    for (size_t i = 0; i < n; i++)
        report->kept += why[i] != 0;
    report->deleted = n - report->kept;
    return 0;
}
