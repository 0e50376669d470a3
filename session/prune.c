/* SPDX-License-Identifier: MIT */
/* Deleting old checkpoints of a session. */
#include "session/session_int.h"

#include "base/array.h"
#include "base/error.h"
#include "checkpoint/annotations.h"
#include "checkpoint/retain/retain.h"
#include "session/outside/name_list.h"

#include <stdio.h>
#include <stdlib.h>

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

int keeping_of_settings(struct live *live, struct keeping *out,
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

int keeping_look(struct live *live, const struct keeping *keeping, uint64_t seq,
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
    SIZE_CHECK("cairn_keep_rules", rules, error);
    struct pruning p = {.given = rules, .dry_run = dry_run, .error = error};
    int rc = make_rules(&p);
    if (rc)
        return rc;
    rc = dry_run ? live_read(&p.live, store, session, error)
                 : live_write(&p.live, store, session, error);
    if (!rc)
        rc = choose_rules(&p);
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
