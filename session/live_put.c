/* SPDX-License-Identifier: MIT */
/* What a call changes of a session, to the store: its row, items and the log. */
#include "session/session_int.h"

#include "session/board/status.h"
#include "storage/rows_event.h"
#include "storage/sessions/merges.h"

int live_put_row(struct live *live, struct cairn_error *error)
{
    struct buf numbers = BUF_INIT, settings = BUF_INIT;
    numbers_encode(live, &numbers);
    settings_encode(&live->settings, &settings);
    live->row.numbers = buf_view(&numbers);
    live->row.settings = buf_view(&settings);
    int rc = buf_check(&numbers, error);
    if (!rc)
        rc = buf_check(&settings, error);
    if (!rc)
        rc = store_put_session(live->store, &live->row, error);
    live->row.numbers = live->row.settings = (struct str){NULL, 0};
    buf_release(&numbers);
    buf_release(&settings);
    return rc;
}

int live_log(struct live *live, const struct log_entry *entry,
             struct cairn_error *error)
{
    if (!live->turn) {
        uint64_t last = 0;
        int rc = store_last_session_turn(live->store, live->row.session, &last, error);
        if (rc)
            return rc;
        live->turn = last + 1;
        rc = store_note_activity(live->store, EVENT_SESSION_TURN, live->row.session,
                                 live->turn, error);
        if (rc)
            return rc;
    }
    struct session_log_row row = {.session = live->row.session,
                                  .turn = live->turn,
                                  .n = ++live->logged,
                                  .time_ns = live->now.utc_ns,
                                  .verb = (uint8_t)entry->verb,
                                  .kind = entry->kind,
                                  .number = entry->number,
                                  .before = entry->before,
                                  .after = entry->after};
    return store_put_session_log(live->store, &row, error);
}

int live_log_merge(struct live *live, const struct session_merge *merge,
                   struct cairn_error *error)
{
    struct buf after = BUF_INIT;
    session_merge_encode(merge, &after);
    struct log_entry entry = {
        .verb = VERB_MERGED, .number = merge->branch, .after = buf_view(&after)};
    int rc = buf_check(&after, error);
    if (!rc)
        rc = live_log(live, &entry, error);
    buf_release(&after);
    return rc;
}

static uint64_t word_of(const struct board_change *change, bool after, uint32_t field)
{
    if (after ? !change->has : !change->had)
        return 0;
    return (after ? &change->after : &change->before)->values[field].count;
}

/* What is counted of a session, when it happens. */
static void count_change(struct live *live, const struct board_change *change)
{
    if (change->id.kind == ITEM_HYPOTHESIS) {
        uint64_t was = word_of(change, false, HYPOTHESIS_STATUS),
                 is = word_of(change, true, HYPOTHESIS_STATUS);
        live->counters.hypotheses_tested +=
            was != is && (is == HYPOTHESIS_CONFIRMED || is == HYPOTHESIS_REJECTED);
    }
    if (change->id.kind == ITEM_GAP)
        live->counters.gaps_filled += word_of(change, false, GAP_STATUS) == GAP_OPEN &&
                                      word_of(change, true, GAP_STATUS) > GAP_OPEN;
    live->counters.commands += change->id.kind == ITEM_COMMAND && !change->had;
    live->counters.verifications += board_change_is_verification(change);
}

static int put_change(struct live *live, const struct board_change *change, bool logged,
                      struct cairn_error *error)
{
    struct buf before = BUF_INIT, after = BUF_INIT;
    int rc = change->had ? item_encode(&change->before, &before, error) : 0;
    if (!rc && change->has)
        rc = item_encode(&change->after, &after, error);
    struct item_row row = {live->row.session, change->id.kind, change->id.n,
                           buf_view(&after)};
    if (!rc)
        rc = change->has
                 ? store_put_item(live->store, &row, error)
                 : store_drop_item(live->store, row.session, row.kind, row.n, error);
    if (!rc && logged) {
        struct log_entry entry = {change->has ? VERB_PUT : VERB_REMOVED,
                                  change->id.kind, change->id.n, buf_view(&before),
                                  buf_view(&after)};
        rc = live_log(live, &entry, error);
        count_change(live, change);
    }
    buf_release(&before);
    buf_release(&after);
    return rc;
}

int live_put_changes(struct live *live, const struct board_changes *changes,
                     bool logged, struct cairn_error *error)
{
    struct session_counters counted = live->counters;
    bool numbered = false;
    int rc = 0;
    for (uint32_t i = 0; i < changes->n && !rc; i++)
        rc = put_change(live, &changes->at[i], logged, error);
    for (unsigned kind = 1; kind < ITEM_KINDS_END; kind++) {
        numbered |= live->board.lists[kind].last > live->numbers[kind];
        if (live->board.lists[kind].last > live->numbers[kind])
            live->numbers[kind] = live->board.lists[kind].last;
    }
    if (!rc && (numbered || memcmp(&counted, &live->counters, sizeof counted) != 0))
        rc = live_put_row(live, error);
    return rc;
}
