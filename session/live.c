/* SPDX-License-Identifier: MIT */
/* A session from the store and back. */
#include "base/array.h"
#include "base/clock.h"
#include "base/decimal.h"
#include "base/os.h"
#include "base/reader.h"
#include "session/session_int.h"
#include "storage/rows_meta.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static const char current_key[] = "session"; /* of the setting */

/* ---- Numbers and counters of a row ----
 *
 *   byte version 1, varint number of kinds, for each from 1 on: varint highest number;
 *   varint checkpoints, hypotheses tested, gaps filled */

enum { NUMBERS_VERSION = 1 };

static void numbers_encode(const struct live *live, struct buf *out)
{
    buf_byte(out, NUMBERS_VERSION);
    buf_varint(out, ITEM_KINDS_END - 1);
    for (unsigned kind = 1; kind < ITEM_KINDS_END; kind++)
        buf_varint(out, live->numbers[kind]);
    buf_varint(out, live->counters.checkpoints);
    buf_varint(out, live->counters.hypotheses_tested);
    buf_varint(out, live->counters.gaps_filled);
}

static int numbers_decode(struct live *live, struct cairn_error *error)
{
    struct reader in = reader_of(live->row.numbers.ptr, live->row.numbers.len);
    bool good = read_byte(&in) == NUMBERS_VERSION;
    uint64_t n = read_varint(&in);
    for (uint64_t kind = 1; kind <= n && n < ITEM_KINDS_END; kind++) {
        uint64_t last = read_varint(&in);
        good = good && last <= UINT32_MAX;
        live->numbers[kind] = (uint32_t)last;
    }
    live->counters.checkpoints = read_varint(&in);
    live->counters.hypotheses_tested = read_varint(&in);
    live->counters.gaps_filled = read_varint(&in);
    if (good && n < ITEM_KINDS_END && reader_done(&in))
        return 0;
    return error_set(error, CAIRN_EDAMAGED,
                     "the numbers of session %llu are damaged: run `cairn doctor`",
                     (unsigned long long)live->row.session);
}

/* ---- Transactions ---- */

int live_begin(struct live *live, struct cairn_store *store, bool writing,
               struct cairn_error *error)
{
    *live = (struct live){.store = store, .arena = ARENA_INIT};
    board_init(&live->board);
    if (writing && store_key(store))
        return error_set(error, CAIRN_EUSAGE,
                         "sessions are not recorded with a key: leave out --key");
    live->sha = sha256_new();
    if (!live->sha)
        return error_nomem(error);
    int rc = writing ? store_begin(store, -1, error) : store_begin_read(store, error);
    if (rc)
        return rc;
    live->open = true;
    live->writing = writing;
    os_boot_id(live->boot);
    live->now = (struct moment){clock_utc_ns(), clock_boot_ns(), str_of(live->boot)};
    return 0;
}

int live_close(struct live *live, int rc, struct cairn_error *error)
{
    if (live->open && live->writing)
        rc = store_end(live->store, rc, error);
    else if (live->open)
        store_end_read(live->store);
    board_release(&live->board);
    arena_release(&live->arena);
    sha256_free(live->sha);
    *live = (struct live){0};
    return rc;
}

/* ---- Which session ---- */

int current_session(struct cairn_store *store, uint64_t *session,
                    struct cairn_error *error)
{
    char text[24] = "";
    int rc = store_setting(store, current_key, text, sizeof text, error);
    if (rc <= 0)
        return rc;
    return str_to_u64(str_of(text), session) && *session > 0
               ? 1
               : error_set(error, CAIRN_EDAMAGED,
                           "the setting that names the current session is damaged: "
                           "choose one with `cairn session switch`");
}

static int resolve(struct cairn_store *store, const char *name, uint64_t *session,
                   struct cairn_error *error)
{
    if (!name) {
        int rc = current_session(store, session, error);
        if (rc)
            return rc < 0 ? rc : 0;
        return error_set(error, CAIRN_ENOTFOUND,
                         "there is no current session: start one with `cairn session "
                         "start`, or choose one with `cairn session switch`");
    }
    if (str_to_u64(str_of(name), session))
        return 0;
    int rc = store_find_session(store, str_of(name), session, error);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(error, CAIRN_ENOTFOUND,
                         "there is no session '%.128s': `cairn session list` shows "
                         "those that there are",
                         name);
    return rc;
}

/* ---- The row ---- */

static int copy_row(void *context, const struct session_row *row)
{
    struct live *live = context;
    live->row = *row;
    live->row.name = arena_str(&live->arena, row->name);
    live->row.boot = arena_str(&live->arena, row->boot);
    live->row.numbers = arena_str(&live->arena, row->numbers);
    live->row.settings = arena_str(&live->arena, row->settings);
    return 0;
}

int live_find(struct live *live, const char *session, struct cairn_error *error)
{
    uint64_t number = 0;
    int rc = resolve(live->store, session, &number, error);
    if (rc)
        return rc;
    rc = store_get_session(live->store, number, copy_row, live, error);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(error, CAIRN_ENOTFOUND, "there is no session %llu",
                         (unsigned long long)number);
    if (!rc && live->arena.failed)
        rc = error_nomem(error);
    if (!rc)
        rc = numbers_decode(live, error);
    return rc ? rc : settings_decode(live->row.settings, &live->settings, error);
}

int live_read(struct live *live, struct cairn_store *store, const char *session,
              struct cairn_error *error)
{
    int rc = live_begin(live, store, false, error);
    return rc ? rc : live_find(live, session, error);
}

int live_write(struct live *live, struct cairn_store *store, const char *session,
               struct cairn_error *error)
{
    int rc = live_begin(live, store, true, error);
    return rc ? rc : live_find(live, session, error);
}

int live_check_open(const struct live *live, struct cairn_error *error)
{
    if (!live->row.ended_ns)
        return 0;
    return error_set(error, CAIRN_EUSAGE,
                     "session %.*s has ended: `cairn session switch %.*s` goes on with "
                     "it",
                     (int)live->row.name.len, live->row.name.ptr,
                     (int)live->row.name.len, live->row.name.ptr);
}

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

/* ---- Branches ---- */

struct branch_copy {
    struct arena *arena;
    struct branch_row *out;
};

static int copy_branch(void *context, const struct branch_row *row)
{
    struct branch_copy *copy = context;
    *copy->out = *row;
    copy->out->name = arena_str(copy->arena, row->name);
    copy->out->reason = arena_str(copy->arena, row->reason);
    return 0;
}

int live_branch(struct live *live, uint64_t branch, struct branch_row *out,
                struct cairn_error *error)
{
    struct branch_copy copy = {&live->arena, out};
    int rc = store_get_branch(live->store, branch, copy_branch, &copy, error);
    return !rc && live->arena.failed ? error_nomem(error) : rc;
}

/* ---- The board ---- */

struct loading {
    struct live *live;
    struct item *items[ITEM_KINDS_END];
    uint32_t n[ITEM_KINDS_END];
    size_t capacity[ITEM_KINDS_END];
    struct cairn_error *error;
};

static int load_item(void *context, const struct item_row *row)
{
    struct loading *loading = context;
    struct arena *arena = &loading->live->arena;
    if (!item_kind_info(row->kind))
        return error_set(loading->error, CAIRN_ENEWER,
                         "the board has items of a kind that this release does not "
                         "know: use the cairn that wrote them");
    struct item *items = array_room(loading->items[row->kind], loading->n[row->kind],
                                    &loading->capacity[row->kind], sizeof *items);
    if (!items)
        return error_nomem(loading->error);
    loading->items[row->kind] = items;
    struct str body = arena_str(arena, row->body);
    if (arena->failed)
        return error_nomem(loading->error);
    return item_decode(arena, (struct item_ref){row->kind, row->n}, body,
                       &items[loading->n[row->kind]++], loading->error);
}

int live_load_board(struct live *live, struct cairn_error *error)
{
    struct loading loading = {.live = live, .error = error};
    int rc =
        store_each_item(live->store, live->row.session, load_item, &loading, error);
    for (uint8_t kind = 1; kind < ITEM_KINDS_END; kind++) {
        struct section section = {loading.items[kind], loading.n[kind]};
        if (!rc)
            rc = board_load(&live->board, kind, &section, live->numbers[kind], error);
        free(loading.items[kind]);
    }
    return rc;
}

/* ---- Writing ---- */

int live_log(struct live *live, const struct log_entry *entry,
             struct cairn_error *error)
{
    if (!live->turn) {
        uint64_t last = 0;
        int rc = store_last_session_turn(live->store, live->row.session, &last, error);
        if (rc)
            return rc;
        live->turn = last + 1;
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
