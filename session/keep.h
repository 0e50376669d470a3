/* SPDX-License-Identifier: MIT */
/* Which checkpoints of a stream stay when it is pruned: the union of what the rules
 * keep and of what always stays. Each rule looks at all checkpoints, whatever the
 * others keep. The answer is the plan of a prune and of its dry run alike; after it,
 * the same rules at the same time remove nothing more. */
#ifndef SESSION_KEEP_H
#define SESSION_KEEP_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of a checkpoint, and of the reasons why it stays. */
enum {
    KEEP_MANUAL = 1 << 0,
    KEEP_SIGNIFICANT = 1 << 1,  /* its trigger is (trigger_is_significant) */
    KEEP_LABELLED = 1 << 2,     /* somebody labelled it `keep` */
    KEEP_NEWEST_VALID = 1 << 3, /* what a restore or resume would take */
    KEEP_FORK_POINT = 1 << 4,   /* another stream starts here */
    KEEP_TAGGED = 1 << 5,       /* has a tag that --keep-tag names */
    /* Reasons only. */
    KEEP_LAST = 1 << 6,
    KEEP_YOUNG = 1 << 7,
    KEEP_HOURLY = 1 << 8,
    KEEP_BASE = 1 << 9, /* one that stays is stored as a change of it */
};

struct kept {
    uint64_t seq;
    uint64_t base; /* the lower seq of what it is stored as a change of; 0: none */
    int64_t utc_ns;
    uint32_t flags; /* those of the first group that apply */
};

/* At least one must be given. */
struct keep_rules {
    uint32_t last;     /* the newest N, by seq; 0: no such rule */
    int64_t within_ns; /* not older than this; 0: no such rule */
    bool hourly;       /* the newest, by seq, of each hour of UTC */
    bool tagged;       /* those with KEEP_TAGGED */
};

/* --keep-days. CAIRN_EUSAGE for 0 and for more than a century. */
enum { KEEP_DAYS_MOST = 36500 };

int keep_days(uint32_t days, int64_t *within_ns, struct cairn_error *error);
/* 100, 7 days, hourly. */
struct keep_rules keep_rules_default(void);

/* Of one record that has newer ones behind it and is not among the newest N. In the
 * order of seq, each is asked about until it is let go or stays for good; those behind
 * one that stays for now wait. Keeps all that retention_decide keeps. (It also keeps
 * what is of another hour than the next one, or of the future, where the clock was set
 * back.) */
enum retention_answer { RETENTION_LETS_GO, RETENTION_FOR_NOW, RETENTION_FOR_GOOD };

enum retention_answer retention_of_one(const struct kept *one, int64_t next_utc_ns,
                                       const struct keep_rules *rules, int64_t now_ns);

struct retention_report {
    size_t total, kept, deleted;
};

/* `list` is ascending by seq. why[i] gets the reasons for list[i], 0: it goes. A base
 * that is not in the list is somebody else's. CAIRN_EUSAGE without a rule: nothing
 * would be kept but what always stays; CAIRN_ENOMEM. */
int retention_decide(const struct kept *list, size_t n, const struct keep_rules *rules,
                     int64_t now_ns, uint32_t *why, struct retention_report *report,
                     struct cairn_error *error);

#endif
