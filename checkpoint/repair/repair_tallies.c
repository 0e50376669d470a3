/* SPDX-License-Identifier: MIT */
/* Rows of sessions and annotations that are missed: what their tallies
 * (storage/rows_lost.h) count and what was saved. Items are made again where the log or
 * a checkpoint has them; what remains is reported, and the tallies are set to what is
 * there, so that work goes on. */
#include "checkpoint/repair/repair_int.h"

#include "base/array.h"
#include "checkpoint/verify/lost_items.h"
#include "storage/rows_lost.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct repair_gap {
    enum tally_of of;
    uint64_t scope;
    uint64_t missing; /* rows; 0: others than were counted */
    char text[200];
};
struct gap_list {
    struct repair *r;
    bool items; /* these, or all others */
    struct repair_gap *at;
    size_t n, room;
};

/* ---- Damaged rows ---- */

/* An item is reported once it is known whether it can be made again. */
static void note_bad_item(struct repair *r, const struct salvage_row *row)
{
    struct item_row *at =
        array_room(r->bad_items, r->n_bad_items, &r->bad_item_room, sizeof *at);
    r->nomem = r->nomem || !at;
    if (!at)
        return;
    r->bad_items = at;
    r->bad_items[r->n_bad_items++] =
        (struct item_row){.session = (uint64_t)row->values[0].integer,
                          .kind = (uint8_t)row->values[1].integer,
                          .n = (uint32_t)row->values[2].integer};
}

bool repair_note_tallied(struct repair *r, const struct salvage_row *row)
{
    static const uint8_t of[SALVAGE_TABLES] = {[SALVAGE_ITEM] = TALLY_ITEMS + 1,
                                               [SALVAGE_SESSION_LOG] = TALLY_LOG + 1,
                                               [SALVAGE_MESSAGE] = TALLY_MESSAGES + 1,
                                               [SALVAGE_BRANCH] = TALLY_BRANCHES + 1,
                                               [SALVAGE_ANNOTATION] =
                                                   TALLY_ANNOTATIONS + 1};
    if (of[row->table])
        r->noted[of[row->table] - 1]++;
    if (row->table != SALVAGE_ITEM || row->n == 0)
        return false;
    note_bad_item(r, row);
    return true;
}

/* ---- What is missed ---- */

static int add_gap(void *context, const struct tally_gap *gap)
{
    struct gap_list *list = context;
    if (list->items != (gap->of == TALLY_ITEMS))
        return 0;
    struct repair_gap *at = array_room(list->at, list->n, &list->room, sizeof *at);
    if (!at)
        return error_nomem(list->r->error);
    list->at = at;
    at += list->n++;
    *at = (struct repair_gap){.of = gap->of, .scope = gap->scope};
    if (gap->found.n < gap->due.n)
        at->missing = gap->due.n - gap->found.n;
    snprintf(at->text, sizeof at->text, "%s", gap->text);
    return 0;
}

/* Damaged rows were reported one by one. */
static void report_gap(struct repair *r, const struct repair_gap *gap)
{
    const struct cairn_loss loss = {.kind = CAIRN_LOSS_ROW};
    uint64_t *noted = &r->noted[gap->of];
    uint64_t known = gap->missing < *noted ? gap->missing : *noted;
    bool all = gap->missing ? known == gap->missing : *noted > 0;
    *noted -= known;
    if (gap->of == TALLY_MESSAGES)
        r->lost_messages += gap->missing;
    if (!all)
        repair_report_loss(r, &loss, "%s", gap->text);
}

static int settle(struct repair *r, const struct gap_list *list)
{
    int rc = 0;
    for (size_t i = 0; i < list->n && !rc; i++)
        rc = store_tally_settle(r->store, list->at[i].of, list->at[i].scope, r->error);
    return rc;
}

int repair_tallies(struct repair *r)
{
    struct gap_list list = {.r = r};
    int rc = store_each_tally_gap(r->store, add_gap, &list, r->error);
    for (size_t i = 0; i < list.n && !rc; i++)
        report_gap(r, &list.at[i]);
    if (!rc)
        rc = settle(r, &list);
    free(list.at);
    return rc;
}

/* ---- Items ---- */

/* It is not lost. */
static void forget_bad(struct repair *r, const struct item_row *item)
{
    for (size_t i = 0; i < r->n_bad_items; i++) {
        struct item_row *bad = &r->bad_items[i];
        if (bad->session != item->session || bad->kind != item->kind ||
            bad->n != item->n)
            continue;
        bad->session = 0;
        r->noted[TALLY_ITEMS]--;
    }
}

/* 1: all that are missing are there again. */
static int make_again(struct repair *r, const struct repair_gap *gap)
{
    struct lost_items lost;
    int rc = lost_items_find(r->store, r->sha, gap->scope, &lost, r->error);
    for (size_t i = 0; i < lost.n && !rc; i++) {
        rc = store_put_item(r->store, &lost.at[i], r->error);
        r->result.others += rc == 0;
        forget_bad(r, &lost.at[i]);
    }
    bool all = lost.n > 0;
    lost_items_release(&lost);
    return rc ? rc : all;
}

/* With a damaged key another item may have been named. */
static void report_bad_items(struct repair *r, bool all_made)
{
    const struct cairn_loss loss = {.kind = CAIRN_LOSS_ROW};
    for (size_t i = 0; i < r->n_bad_items && !all_made; i++)
        if (r->bad_items[i].session)
            repair_report_loss(r, &loss, "the item of session %llu, kind %u, number %u",
                               (unsigned long long)r->bad_items[i].session,
                               r->bad_items[i].kind, r->bad_items[i].n);
}

int repair_items(struct repair *r)
{
    struct gap_list list = {.r = r, .items = true};
    size_t made = 0;
    int rc = store_each_tally_gap(r->store, add_gap, &list, r->error);
    for (size_t i = 0; i < list.n && !rc; i++) {
        int again = make_again(r, &list.at[i]);
        rc = again < 0 ? again : 0;
        if (again > 0)
            made++;
        else if (!rc)
            report_gap(r, &list.at[i]);
    }
    if (!rc)
        rc = settle(r, &list);
    if (!rc)
        report_bad_items(r, list.n > 0 && made == list.n);
    free(list.at);
    return rc;
}
