/* SPDX-License-Identifier: MIT */
/* Deleting checkpoints by the settings of their session, whenever it makes a new one.
 *
 * What is older than the newest N of a branch is gone through once, by seq: each record
 * is let go, or it stays for good, or (it is still young) those behind it wait with it.
 * The setting `kept.BRANCH` of the store has the seq of the last one that this was
 * settled of, and what the rules were: with other rules it begins again. A wrong seq
 * there has no worse effect than that some stay which should go. */
#include "session/session_int.h"

#include "base/array.h"
#include "base/decimal.h"
#include "checkpoint/retain/retain.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_meta.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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
    int rc = buf_check(&bytes, s->error);
    if (!rc)
        rc = sha256_of(bytes.data, bytes.size, &digest, s->error);
    for (size_t i = 0; i < RULES_DIGITS / 2; i++)
        snprintf(s->rules + 2 * i, 3, "%02x", digest.bytes[i]);
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
        rc = list_old(s);
    if (!rc)
        rc = settle(s);
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
    int rc = keeping_of_settings(live, &s->keeping, &why);
    if (!rc)
        rc = name_rules(s);
    if (!rc)
        rc = sweep_branch(s, live->row.branch);
    if (!rc)
        rc = sweep_another(s);
    free(s);
    if (rc && rc != CAIRN_EDAMAGED)
        return error_set(error, rc, "%s", why.text);
    if (!live->pruned)
        return 0;
    rc = log_pruned(live, error);
    return rc ? rc : live_tend_merges(live, error);
}
