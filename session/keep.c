/* SPDX-License-Identifier: MIT */
/* Which checkpoints stay. */
#include "session/keep.h"

#include "session/outside.h"
#include "session/session_int.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/struct_take.h"
#include "base/words.h"
#include "checkpoint/annotations.h"
#include "checkpoint/retain/retain.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_meta.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    KEEP_ALWAYS = KEEP_MANUAL | KEEP_SIGNIFICANT | KEEP_LABELLED | KEEP_NEWEST_VALID |
                  KEEP_FORK_POINT
};

/* ==== The rules ==== */

/* Order is that of seq, never of time, which may run back. Every rule chooses from what
 * it would choose from again after the prune (the newest of an hour, of all), so a
 * second one finds nothing. */

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

/* ==== When somebody asks ==== */

/* Deleting old checkpoints of a session. */

struct pruning {
    struct live live;
    const struct cairn_keep_rules *given;
    struct keeping keeping;
    bool dry_run;
    struct kept *list; /* sound records of one branch, ascending */
    size_t n, capacity;
    struct cairn_prune_result sum;
    struct cairn_error *error;
};

/* ---- Rules ---- */

static bool has_rule(const struct cairn_keep_rules *rules)
{
    return rules->last || rules->days || rules->hourly || rules->n_tags;
}

static int make_rules(struct pruning *p)
{
    const struct cairn_keep_rules *given = p->given;
    struct keep_rules *rules = &p->keeping.rules;
    *rules = (struct keep_rules){
        .last = given->last, .hourly = given->hourly, .tagged = given->n_tags > 0};
    return given->days ? keep_days(given->days, &rules->within_ns, p->error) : 0;
}

static int take_tags(struct pruning *p)
{
    size_t n = p->given->n_tags;
    struct str *tags = arena_take(&p->live.arena, n, sizeof *tags);
    if (n && !tags)
        return error_nomem(p->error);
    for (size_t i = 0; i < n; i++)
        tags[i] = str_of(p->given->tags[i]);
    p->keeping.tags = tags;
    p->keeping.n_tags = n;
    return 0;
}

static int keeping_of_settings(struct live *live, struct keeping *out,
                               struct cairn_error *error);

/* Without any: those of the session, or the usual ones. */
static int choose_rules(struct pruning *p)
{
    if (has_rule(p->given))
        return take_tags(p);
    if (settings_keep_some(&p->live.settings))
        return keeping_of_settings(&p->live, &p->keeping, p->error);
    p->keeping.rules = keep_rules_default();
    return 0;
}

/* Those of the settings. The tags are in the arena. */
static int keeping_of_settings(struct live *live, struct keeping *out,
                               struct cairn_error *error)
{
    const struct session_keeping *keep = &live->settings.keep;
    struct str rest = keep->tags;
    *out = (struct keeping){.rules = {.last = keep->last,
                                      .hourly = keep->hourly,
                                      .tagged = keep->tags.len > 0}};
    struct str *tags = arena_take(&live->arena, keep->tags.len / 2 + 1, sizeof *tags);
    if (!tags)
        return error_nomem(error);
    while (rest.len)
        tags[out->n_tags++] = next_name(&rest);
    out->tags = tags;
    return keep->days ? keep_days(keep->days, &out->rules.within_ns, error) : 0;
}

/* ---- The records of a branch ---- */

static bool has_wanted_tag(const struct keeping *keeping,
                           const struct sections *sections)
{
    for (uint32_t t = 0; t < sections->n_tags; t++)
        for (size_t w = 0; w < keeping->n_tags; w++)
            if (str_equal(sections->tags[t], keeping->tags[w]))
                return true;
    return false;
}

/* What keeps a checkpoint but for its place in its branch: bits of `enum` in
 * keep.h. */
static int keeping_look(struct live *live, const struct keeping *keeping, uint64_t seq,
                        struct kept *out, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct sections_at at;
    int rc = sections_read(live->store, live->sha, seq, &arena, &sections, &at, error);
    if (!rc) {
        enum trigger trigger = (enum trigger)sections.trigger;
        *out = (struct kept){.seq = seq, .utc_ns = at.time_ns};
        if (trigger == TRIGGER_MANUAL && !keeping->manual_too)
            out->flags |= KEEP_MANUAL;
        if (trigger_is_significant(trigger))
            out->flags |= KEEP_SIGNIFICANT;
        if (has_wanted_tag(keeping, &sections))
            out->flags |= KEEP_TAGGED;
    }
    arena_release(&arena);
    int labelled = rc ? 0 : checkpoint_has_label(live->store, seq, "keep", error);
    if (labelled > 0)
        out->flags |= KEEP_LABELLED;
    return labelled < 0 ? labelled : rc;
}

static int list_record(void *context, const struct checkpoint_row *row)
{
    struct pruning *p = context;
    struct kept *list = array_room(p->list, p->n, &p->capacity, sizeof *list);
    if (!list)
        return error_nomem(p->error);
    p->list = list;
    int rc = keeping_look(&p->live, &p->keeping, row->seq, &list[p->n], p->error);
    p->n += rc == 0;
    return rc == CAIRN_EDAMAGED ? 0 : rc;
}

static int choose(struct pruning *p, uint64_t *chosen, size_t *n)
{
    struct retention_report report;
    uint32_t *why = calloc(p->n + 1, sizeof *why);
    if (!why)
        return error_nomem(p->error);
    if (p->n)
        p->list[p->n - 1].flags |= KEEP_NEWEST_VALID;
    int rc = retention_decide(p->list, p->n, &p->keeping.rules, p->live.now.utc_ns, why,
                              &report, p->error);
    for (size_t i = 0; i < p->n && !rc; i++)
        if (why[i])
            chosen[(*n)++] = p->list[i].seq;
    free(why);
    return rc;
}

/* Where another branch starts is kept below, by the rows of branches. */
static int prune_branch(void *context, const struct branch_row *row)
{
    struct pruning *p = context;
    struct chains in = {p->live.store, p->live.sha, &sections_kind};
    struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                     .stream = row->branch};
    struct cairn_prune_result one = {0};
    size_t n = 0;
    p->n = 0;
    int rc = store_each_checkpoint(p->live.store, &range, list_record, p, p->error);
    uint64_t *chosen = rc < 0 ? NULL : calloc(p->n + 1, sizeof *chosen);
    if (rc >= 0 && !chosen)
        rc = error_nomem(p->error);
    if (!rc)
        rc = choose(p, chosen, &n);
    struct kept_seqs kept = {chosen, n};
    if (!rc)
        rc = chain_prune_except(&in, row->branch, &kept, p->dry_run, &one, p->error);
    free(chosen);
    one.surplus = 0;
    prune_result_add(&p->sum, &one);
    return rc;
}

static int log_pruning(struct pruning *p)
{
    char text[80];
    snprintf(text, sizeof text, "%llu checkpoint%s, %llu kept",
             (unsigned long long)p->sum.deleted, p->sum.deleted == 1 ? "" : "s",
             (unsigned long long)p->sum.kept);
    struct log_entry entry = {
        .verb = VERB_PRUNED, .number = p->sum.deleted, .after = str_of(text)};
    return live_log(&p->live, &entry, p->error);
}

int cairn_session_prune(struct cairn_store *store, const char *session,
                        const struct cairn_keep_rules *rules, bool dry_run,
                        struct cairn_prune_result *result, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_keep_rules, rules, error);
    struct pruning p = {.given = rules, .dry_run = dry_run, .error = error};
    int rc = make_rules(&p);
    if (rc)
        return rc;
    rc = dry_run ? live_read(&p.live, store, session, error)
                 : live_write(&p.live, store, session, error);
    if (!rc)
        rc = live_check_board(&p.live, "its states go by cairn_thread_prune", error)
                 ?: choose_rules(&p);
    p.keeping.manual_too = rules->manual_too;
    if (!rc)
        rc = store_each_branch(store, p.live.row.session, prune_branch, &p, error);
    if (!rc && !dry_run && p.sum.deleted)
        rc = log_pruning(&p);
    free(p.list);
    rc = live_close(&p.live, rc, error);
    if (!rc && result)
        *result = p.sum;
    return rc;
}

/* ==== By settings ==== */

/* Deleting checkpoints by the settings of their session, whenever it makes a new one.
 *
 * What is older than the newest N of a branch is gone through once, by seq: each record
 * is let go, or it stays for good, or (it is still young) those behind it wait with it.
 * The setting `kept.BRANCH` of the store has the seq of the last one that this was
 * settled of, and what the rules were: with other rules it begins again. A wrong seq
 * there has no worse effect than that some stay which should go. */

/* At most so many are looked at, and deleted, in a transaction. */
enum { LOOKED_AT = 200, GOING = 50 };

enum { RULES_DIGITS = 16, PLACE_BYTES = 64 };

struct sweep {
    struct live *live;
    struct keeping keeping;
    char rules[RULES_DIGITS + 1];
    uint64_t branch;
    uint64_t settled; /* seq up to which it is known what becomes of them */
    uint64_t window;  /* seq of the oldest one that its place keeps */
    uint64_t seqs[LOOKED_AT];
    size_t n;
    uint64_t going[GOING];
    size_t n_going;
    struct cairn_error *error;
};

/* ---- How far a branch is settled ---- */

static int name_rules(struct sweep *s)
{
    struct buf bytes = BUF_INIT;
    struct digest digest = {{0}};
    settings_encode_keeping(&s->live->settings.keep, &bytes);
    int rc = buf_check(&bytes, s->error)
                 ?: sha256_of(bytes.data, bytes.size, &digest, s->error);
    hex_of_bytes(digest.bytes, RULES_DIGITS / 2, s->rules);
    buf_release(&bytes);
    return rc;
}

static void name_place(const struct sweep *s, char key[PLACE_BYTES])
{
    snprintf(key, PLACE_BYTES, "kept.%" PRIu64, s->branch);
}

static int read_place(struct sweep *s)
{
    char key[PLACE_BYTES], text[PLACE_BYTES] = "";
    name_place(s, key);
    int rc = store_setting(s->live->store, key, text, sizeof text, s->error);
    char *space = strchr(text, ' ');
    s->settled = 0;
    if (rc <= 0 || !space || strcmp(space + 1, s->rules) != 0)
        return rc < 0 ? rc : 0;
    *space = '\0';
    if (!str_to_u64(str_of(text), &s->settled))
        s->settled = 0;
    return 0;
}

static int write_place(struct sweep *s)
{
    char key[PLACE_BYTES], text[PLACE_BYTES];
    name_place(s, key);
    snprintf(text, sizeof text, "%" PRIu64 " %s", s->settled, s->rules);
    return store_set_setting(s->live->store, key, text, s->error);
}

/* ---- One branch ---- */

static int list_seq(void *context, const struct checkpoint_row *row)
{
    struct sweep *s = context;
    s->seqs[s->n++] = row->seq;
    return 0;
}

/* What may go, and the one behind it, which is in the window. */
static int list_old(struct sweep *s)
{
    struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                     .stream = s->branch,
                                     .first = s->settled + 1,
                                     .last = s->window,
                                     .limit = LOOKED_AT};
    s->n = 0;
    if (s->settled >= s->window)
        return 0;
    int rc = store_each_checkpoint(s->live->store, &range, list_seq, s, s->error);
    return rc < 0 ? rc : 0;
}

/* What is damaged stays, and is passed over. */
static int settle(struct sweep *s)
{
    struct kept one = {0}, next;
    int rc = 0;
    for (size_t i = 0; i < s->n && s->n_going < GOING && !rc; i++) {
        rc = keeping_look(s->live, &s->keeping, s->seqs[i], &next, s->error);
        if (rc == CAIRN_EDAMAGED) {
            rc = 0;
            continue;
        }
        enum retention_answer answer =
            rc || !one.seq ? RETENTION_FOR_GOOD
                           : retention_of_one(&one, next.utc_ns, &s->keeping.rules,
                                              s->live->now.utc_ns);
        if (rc || answer == RETENTION_FOR_NOW)
            break;
        if (answer == RETENTION_LETS_GO)
            s->going[s->n_going++] = one.seq;
        if (one.seq)
            s->settled = one.seq;
        one = next;
    }
    return rc;
}

static int sweep_branch(struct sweep *s, uint64_t branch)
{
    struct chains in = {s->live->store, s->live->sha, &sections_kind};
    uint32_t last = s->keeping.rules.last;
    uint64_t deleted = 0, before;
    s->branch = branch;
    s->n_going = 0;
    int rc = chain_nth_newest(&in, branch, last ? last : 1, &s->window, s->error);
    if (rc || !s->window)
        return rc;
    rc = read_place(s);
    before = s->settled;
    if (!rc)
        rc = list_old(s) ?: settle(s);
    struct kept_seqs going = {s->going, s->n_going};
    if (!rc)
        rc = chain_delete_listed(&in, branch, &going, &deleted, s->error);
    s->live->pruned += deleted;
    if (rc || s->settled == before)
        return rc;
    return write_place(s);
}

/* ---- All ---- */

struct branches {
    uint64_t current, *at;
    size_t n, capacity;
};

static int list_branch(void *context, const struct branch_row *row)
{
    struct branches *others = context;
    uint64_t *at = array_room(others->at, others->n, &others->capacity, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    others->at = at;
    if (row->branch != others->current)
        at[others->n++] = row->branch;
    return 0;
}

/* On others nothing is made, but what was made on them grows old: one after the other
 * has its turn. */
static int sweep_another(struct sweep *s)
{
    struct live *live = s->live;
    struct branches others = {.current = live->row.branch};
    int rc = store_each_branch(live->store, live->row.session, list_branch, &others,
                               s->error);
    if (rc == CAIRN_ENOMEM)
        rc = error_nomem(s->error);
    if (rc >= 0 && others.n)
        rc = sweep_branch(s, others.at[live->counters.checkpoints % others.n]);
    free(others.at);
    return rc < 0 ? rc : 0;
}

static int log_pruned(struct live *live, struct cairn_error *error)
{
    char text[96];
    snprintf(text, sizeof text,
             "%" PRIu64 " checkpoint%s, by the settings of the session", live->pruned,
             live->pruned == 1 ? "" : "s");
    struct log_entry entry = {
        .verb = VERB_PRUNED, .number = live->pruned, .after = str_of(text)};
    return live_log(live, &entry, error);
}

int keep_by_settings(struct live *live, struct cairn_error *error)
{
    struct cairn_error why = {0};
    struct sweep *s;
    if (!settings_keep_some(&live->settings))
        return 0;
    s = calloc(1, sizeof *s);
    if (!s)
        return error_nomem(error);
    s->live = live;
    s->error = &why;
    int rc = keeping_of_settings(live, &s->keeping, &why)
             ?: name_rules(s)
             ?: sweep_branch(s, live->row.branch)
             ?: sweep_another(s);
    free(s);
    if (rc && rc != CAIRN_EDAMAGED)
        return error_set(error, rc, "%s", why.text);
    if (!live->pruned)
        return 0;
    return log_pruned(live, error) ?: live_tend_merges(live, error);
}
