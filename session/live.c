/* SPDX-License-Identifier: MIT */
/* A session as one call sees it: read from the store, and written back. */
#include "session/board/confidence.h"
#include "session/files_pending.h"
#include "session/session_int.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/str.h"
#include "base/words.h"
#include "checkpoint/verify/lost_items.h"
#include "secrets/declared.h"
#include "secrets/known_secrets.h"
#include "storage/rows_event.h"
#include "storage/sessions/merges.h"
#include "storage/sessions/rows_message.h"
#include "storage/store.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* ==== Numbers and counters ==== */

/* The numbers and counters in the row of a session.
 *
 *   byte version: 1, or where the session has messages 2 with two varints behind it
 *   (storage/sessions/rows_message.h), varint number of kinds, for each from 1 on:
 * varint highest number; varint checkpoints, hypotheses tested, gaps filled, commands,
 * verifications */

enum { NUMBERS_PLAIN = 1, NUMBERS_WITH_MESSAGES = 2 };

static void numbers_encode(const struct live *live, struct buf *out)
{
    buf_byte(out, live->last_message ? NUMBERS_WITH_MESSAGES : NUMBERS_PLAIN);
    if (live->last_message) {
        buf_varint(out, live->last_message);
        buf_varint(out, live->message);
    }
    buf_varint(out, ITEM_KINDS_END - 1);
    for (unsigned kind = 1; kind < ITEM_KINDS_END; kind++)
        buf_varint(out, live->numbers[kind]);
    buf_varint(out, live->counters.checkpoints);
    buf_varint(out, live->counters.hypotheses_tested);
    buf_varint(out, live->counters.gaps_filled);
    buf_varint(out, live->counters.commands);
    buf_varint(out, live->counters.verifications);
}

/* From live->row: CAIRN_EDAMAGED. */
static int numbers_decode(struct live *live, struct cairn_error *error)
{
    struct reader in = reader_of(live->row.numbers.ptr, live->row.numbers.len);
    uint8_t version = read_byte(&in);
    bool good = version == NUMBERS_PLAIN;
    if (version == NUMBERS_WITH_MESSAGES) {
        good = message_numbers(live->row.numbers, &live->last_message, &live->message);
        (void)read_varint(&in);
        (void)read_varint(&in);
    }
    uint64_t n = read_varint(&in);
    for (uint64_t kind = 1; kind <= n && n < ITEM_KINDS_END; kind++) {
        uint64_t last = read_varint(&in);
        good = good && last <= UINT32_MAX;
        live->numbers[kind] = (uint32_t)last;
    }
    live->counters.checkpoints = read_varint(&in);
    live->counters.hypotheses_tested = read_varint(&in);
    live->counters.gaps_filled = read_varint(&in);
    live->counters.commands = read_varint(&in);
    live->counters.verifications = read_varint(&in);
    if (good && n < ITEM_KINDS_END && reader_done(&in))
        return 0;
    return error_set(error, CAIRN_EDAMAGED,
                     "the numbers of session %llu are damaged: run `cairn doctor`",
                     (unsigned long long)live->row.session);
}

/* ==== Writing ==== */

/* What a call changes of a session, to the store: its row, items and the log. */

int live_put_row(struct live *live, struct cairn_error *error)
{
    struct buf numbers = BUF_INIT, settings = BUF_INIT;
    numbers_encode(live, &numbers);
    settings_encode(&live->settings, &settings);
    live->row.numbers = buf_view(&numbers);
    live->row.settings = buf_view(&settings);
    int rc = buf_check(&numbers, error)
             ?: buf_check(&settings, error)
             ?: store_put_session(live->store, &live->row, error);
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
    int rc = buf_check(&after, error) ?: live_log(live, &entry, error);
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
    struct item_links links =
        change->has ? item_links(&change->after) : (struct item_links){0};
    struct item_row row = {.session = live->row.session,
                           .kind = change->id.kind,
                           .n = change->id.n,
                           .body = buf_view(&after),
                           .linked = true,
                           .about = links.about,
                           .also = links.also};
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

/* ==== One whose row was lost ==== */

/* Sessions whose row was lost with a damaged page, and made again by a repair. */

static void note_number(struct live *live, uint8_t kind, uint64_t n)
{
    if (item_kind_info(kind) && n <= UINT32_MAX && n > live->numbers[kind])
        live->numbers[kind] = (uint32_t)n;
}

static int note_item(void *context, const struct item_row *row)
{
    note_number(context, row->kind, row->n);
    return 0;
}

static int note_log(void *context, const struct session_log_row *row)
{
    struct live *live = context;
    if (row->verb == VERB_PUT || row->verb == VERB_REMOVED)
        note_number(live, row->kind, row->number);
    live->counters.checkpoints += row->verb == VERB_CHECKPOINT;
    return 0;
}

static int begin_branch(struct live *live, struct cairn_error *error)
{
    struct branch_row row = {.session = live->row.session,
                             .name = CLEAN("recovered"),
                             .status = BRANCH_ACTIVE,
                             .started_ns = live->now.utc_ns,
                             .reason = CLEAN("")};
    int rc = store_put_branch(live->store, &row, error);
    live->row.branch = row.branch;
    return rc;
}

/* Of a session whose row was lost: a repair left a row without numbers and settings.
 * The numbers come from what is left, the settings are the usual ones; a write
 * transaction also stores that, and begins a branch if none is left. */
static int live_recover(struct live *live, struct cairn_error *error)
{
    live->settings = session_settings_default();
    live->settings.scheduled = live->now;
    int rc = store_each_item(live->store, live->row.session, note_item, live, error)
             ?: store_each_session_log(live->store, live->row.session, 0, false,
                                       note_log, live, error)
             ?: store_last_message(live->store, live->row.session, &live->last_message,
                                   error);
    live->message = live->last_message;
    if (rc || !live->writing)
        return rc;
    if (!live->row.branch)
        rc = begin_branch(live, error);
    return rc ?: live_put_row(live, error);
}

/* ==== Reading ==== */

/* A session from the store and back. */

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
    if (writing) /* where it cannot be, files_take says why to those that need them */
        (void)pending_finish(store, false, 0, STR(""), NULL);
    int rc = writing ? store_begin(store, -1, error) : store_begin_read(store, error);
    if (rc)
        return rc;
    live->open = true;
    live->writing = writing;
    os_boot_id(live->boot);
    live->now = (struct moment){clock_utc_ns(), clock_boot_ns(), str_of(live->boot)};
    return 0;
}

int live_tend_merges(struct live *live, struct cairn_error *error)
{
    struct cairn_error why = {0};
    int rc = store_tend_merges(live->store, live->row.session, live->turn, &why);
    return rc && rc != CAIRN_EDAMAGED ? error_set(error, rc, "%s", why.text) : 0;
}

int live_close(struct live *live, int rc, struct cairn_error *error)
{
    enum { TURNS = 16 };
    if (!rc && live->writing && live->turn && live->turn % TURNS == 0)
        rc = live_tend_merges(live, error);
    if (live->open && live->writing)
        rc = store_end(live->store, rc, error);
    else if (live->open)
        store_end_read(live->store);
    if (!rc && live->writing && live->turn)
        store_note_done(live->store, live->row.session, live->turn);
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
    *session = store_fork(store, NULL);
    int rc = *session ? 0 : store_current_session(store, session, error);
    return rc ? rc : *session > 0;
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
                         "start`, or choose one with `cairn session switch NAME`");
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
    live->row.name = clean_copy(&live->arena, row->name);
    live->row.boot = arena_str(&live->arena, row->boot);
    live->row.numbers = arena_str(&live->arena, row->numbers);
    live->row.settings = arena_str(&live->arena, row->settings);
    return 0;
}

/* A file that anybody has put into a directory makes it no place of a session: the
 * session says where its files are. */
static int check_fork(struct live *live, struct cairn_error *error)
{
    const char *dir;
    struct buf root = BUF_INIT;
    uint64_t session = store_fork(live->store, &dir);
    bool fits = live->settings.later[SETTING_FILES].len &&
                files_root_path(live->store, live->settings.later[SETTING_FILES], &root,
                                NULL) == 0 &&
                strcmp(root.data, dir) == 0;
    buf_release(&root);
    if (fits)
        return 0;
    return error_set(error, CAIRN_EUSAGE,
                     "the file .cairn in %s names session %llu of the store %s, whose "
                     "files are not there: `cairn session config files DIR --session "
                     "%llu` says that they are, if they are; else name another session "
                     "with --session",
                     dir, (unsigned long long)session, cairn_store_path(live->store),
                     (unsigned long long)session);
}

/* It was deleted, or a fork leads to another store. */
static int refuse_number(struct live *live, uint64_t number, struct cairn_error *error)
{
    const char *dir;
    if (store_fork(live->store, &dir) != number)
        return error_set(error, CAIRN_ENOTFOUND,
                         "there is no session %llu: `cairn session list` shows those "
                         "that there are",
                         (unsigned long long)number);
    return error_set(error, CAIRN_ENOTFOUND,
                     "the file .cairn in %s names session %llu of the store %s, which "
                     "has none of that number: write the right store into it, or "
                     "remove that file if the session was deleted",
                     dir, (unsigned long long)number, cairn_store_path(live->store));
}

static int read_row(struct live *live, uint64_t number, struct cairn_error *error)
{
    int rc = store_get_session(live->store, number, copy_row, live, error);
    if (rc == CAIRN_ENOTFOUND)
        return refuse_number(live, number, error);
    if (!rc && live->arena.failed)
        rc = error_nomem(error);
    if (!rc && !live->row.numbers.len)
        return live_recover(live, error);
    return rc
           ?: numbers_decode(live, error)
           ?: settings_decode(live->row.settings, &live->settings, error);
}

int live_find(struct live *live, const char *session, struct cairn_error *error)
{
    uint64_t number = 0;
    int rc =
        resolve(live->store, session, &number, error) ?: read_row(live, number, error);
    return rc || session || !store_fork(live->store, NULL) ? rc
                                                           : check_fork(live, error);
}

int live_read(struct live *live, struct cairn_store *store, const char *session,
              struct cairn_error *error)
{
    return live_begin(live, store, false, error) ?: live_find(live, session, error);
}

int live_write(struct live *live, struct cairn_store *store, const char *session,
               struct cairn_error *error)
{
    return live_begin(live, store, true, error) ?: live_find(live, session, error);
}

int live_check_board(const struct live *live, const char *what,
                     struct cairn_error *error)
{
    struct str name = clean_str(live->row.name);
    if (!live->settings.later[SETTING_THREAD].len)
        return 0;
    return error_set(error, CAIRN_EUSAGE,
                     "session %.*s is a thread of a program (cairn/thread.h): %s",
                     (int)name.len, name.ptr, what);
}

int live_check_open(const struct live *live, struct cairn_error *error)
{
    struct str name = clean_str(live->row.name);
    int rc = live_check_board(live, "only that changes it", error);
    if (rc || !live->row.ended_ns)
        return rc;
    char word[SHELL_WORD_ROOM(CAIRN_SESSION_NAME_MAX)];
    return error_set(error, CAIRN_EUSAGE,
                     "session %.*s has ended: `cairn session switch %s` continues it",
                     (int)name.len, name.ptr, shell_word_in(word, sizeof word, name));
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
    copy->out->name = clean_copy(copy->arena, row->name);
    copy->out->reason = clean_copy(copy->arena, row->reason);
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
    unsigned kinds;      /* that are decoded: 1 << enum item_kind */
    struct item_ref one; /* and this one */
    struct item *items[ITEM_KINDS_END];
    uint32_t n[ITEM_KINDS_END];
    size_t capacity[ITEM_KINDS_END];
    struct cairn_error *error;
};

int live_refuse_kind(struct cairn_error *error)
{
    return error_set(error, CAIRN_ENEWER,
                     "the board has items of a kind that this release does not know: "
                     "use the cairn that wrote them");
}

int live_decode_item(struct live *live, const struct item_row *row, struct item *out)
{
    struct arena *arena = &live->arena;
    if (!item_kind_info(row->kind))
        return live_refuse_kind(live->item_error);
    struct str body = arena_str(arena, row->body);
    if (arena->failed)
        return error_nomem(live->item_error);
    int rc = item_decode(arena, (struct item_ref){row->kind, row->n}, body, out,
                         live->item_error);
    if (rc || !row->linked)
        return rc;
    struct item_links links = item_links(out);
    char id[ITEM_ID_MAX];
    item_id(out->id, id);
    return links.about == row->about && links.also == row->also
               ? 0
               : error_set(live->item_error, CAIRN_EDAMAGED,
                           "what %s names is not what its row is found by: the store "
                           "is damaged; `cairn doctor --repair` mends it",
                           id);
}

/* One of a kind that is not known is refused when it is decoded. */
static bool is_wanted(const struct loading *loading, const struct item_row *row)
{
    return !item_kind_info(row->kind) || (loading->kinds >> row->kind & 1) != 0 ||
           (row->kind == loading->one.kind && row->n == loading->one.n);
}

static int load_item(void *context, const struct item_row *row)
{
    struct loading *loading = context;
    struct item item;
    if (!is_wanted(loading, row))
        return 0;
    int rc = live_decode_item(loading->live, row, &item);
    if (rc)
        return rc;
    struct item *items = array_room(loading->items[row->kind], loading->n[row->kind],
                                    &loading->capacity[row->kind], sizeof *items);
    if (!items)
        return error_nomem(loading->error);
    loading->items[row->kind] = items;
    items[loading->n[row->kind]++] = item;
    return 0;
}

/* Puts which items are missing, as far as that is known, before the other text. */
static int name_lost(struct live *live, struct cairn_error *error)
{
    enum { NAMED = 5 };
    struct lost_items lost;
    struct cairn_error why = {0};
    char names[NAMED * (ITEM_ID_MAX + 2) + 8] = "", id[ITEM_ID_MAX];
    int rc = lost_items_find(live->store, live->sha, live->row.session, &lost, &why);
    size_t n = rc ? 0 : lost.n;
    for (size_t i = 0, at = 0; i < n && i <= NAMED; i++) {
        item_id((struct item_ref){lost.at[i].kind, lost.at[i].n}, id);
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "",
                               i < NAMED ? id : "...");
    }
    lost_items_release(&lost);
    why = *error;
    return n ? error_set(error, CAIRN_EDAMAGED, "%s %s missing: %s", names,
                         n == 1 ? "is" : "are", why.text)
             : CAIRN_EDAMAGED;
}

static int pass_item(void *context, const struct item_row *row)
{
    (void)context;
    (void)row;
    return 0;
}

int live_each_item(struct live *live, item_row_fn *each, void *context,
                   struct cairn_error *error)
{
    int rc = store_each_item(live->store, live->row.session, each, context, error);
    return rc == CAIRN_EDAMAGED ? name_lost(live, error) : rc;
}

int live_check_items(struct live *live, struct cairn_error *error)
{
    int rc = live->checked ? 0 : live_each_item(live, pass_item, NULL, error);
    live->checked = rc == 0;
    return rc;
}

/* Items that nobody has made findable, before one of them is written. */
static int link_items(struct live *live, struct cairn_error *error)
{
    bool linked = false;
    int rc = store_items_linked(live->store, live->row.session, &linked, error);
    if (rc || linked)
        return rc;
    rc = store_unlink_items(live->store, live->row.session, error);
    for (uint8_t kind = 1; kind < (uint8_t)ITEM_KINDS_END && !rc; kind++) {
        struct section section = board_section(&live->board, kind);
        for (uint32_t i = 0; i < section.n && !rc; i++) {
            struct item_links links = item_links(&section.items[i]);
            struct item_row row = {.session = live->row.session,
                                   .kind = kind,
                                   .n = section.items[i].id.n,
                                   .linked = true,
                                   .about = links.about,
                                   .also = links.also};
            rc = store_link_item(live->store, &row, error);
        }
    }
    return rc;
}

/* Whatever is decoded, all rows are read and checked, unless this handle has done so
 * and nobody has changed the store since. */
static int read_items(struct loading *loading)
{
    struct live *live = loading->live;
    uint64_t session = live->row.session;
    struct item_ref one = loading->one;
    if (!store_items_fit(live->store, session))
        return live_each_item(live, load_item, loading, loading->error);
    int rc = 0;
    for (uint8_t kind = 1; kind < (uint8_t)ITEM_KINDS_END && !rc; kind++) {
        if (loading->kinds >> kind & 1)
            rc = store_each_item_of_kind(live->store, session, kind, load_item, loading,
                                         loading->error);
        else if (kind == one.kind)
            rc = store_get_item(live->store, session, kind, one.n, load_item, loading,
                                loading->error);
    }
    return rc;
}

static int load_items(struct live *live, unsigned kinds, struct item_ref one,
                      struct cairn_error *error)
{
    struct loading loading = {.live = live, .kinds = kinds, .one = one, .error = error};
    live->item_error = error;
    int rc = read_items(&loading);
    for (uint8_t kind = 1; kind < (uint8_t)ITEM_KINDS_END; kind++) {
        struct section section = {loading.items[kind], loading.n[kind]};
        if (!rc)
            rc = board_load(&live->board, kind, &section, live->numbers[kind], error);
        free(loading.items[kind]);
    }
    live->checked = rc == 0;
    return rc;
}

int live_load_board(struct live *live, struct cairn_error *error)
{
    int rc = load_items(live, UINT_MAX, (struct item_ref){0}, error);
    live->board.whole = rc == 0;
    return rc || !live->writing ? rc : link_items(live, error);
}

/* What board_check and item_show need beside an item of a kind. */
static unsigned kinds_beside(uint8_t kind)
{
    switch ((enum item_kind)kind) {
    case ITEM_HYPOTHESIS:
    case ITEM_EVIDENCE:
    case ITEM_GAP:
    case ITEM_CHECK:
        return 1U << ITEM_HYPOTHESIS | 1U << ITEM_EVIDENCE;
    case ITEM_DEPENDENCY:
        return 1U << ITEM_BELIEF;
    case ITEM_BELIEF:
    case ITEM_NOTE:
    case ITEM_COMMAND:
        break;
    }
    return 0;
}

int live_load_shown(struct live *live, struct item_ref shown, struct cairn_error *error)
{
    if (!shown.kind)
        return live_load_board(live, error);
    unsigned kinds = kinds_beside(shown.kind);
    return load_items(live, shown.n ? kinds : kinds | 1U << shown.kind, shown, error);
}

/* ---- Values that are taken out of what is stored of the outside world ---- */

int live_hidden(struct live *live, struct hidden_values *out, struct cairn_error *error)
{
    struct buf names = BUF_INIT;
    int rc = secrets_declared(live->store, live->writing, &names, error);
    *out = (struct hidden_values){.names = live->settings.redact,
                                  .declared = arena_str(&live->arena, buf_view(&names)),
                                  .given = live->given,
                                  .n_given = live->n_given};
    buf_release(&names);
    return !rc && live->arena.failed ? error_nomem(error) : rc;
}

int live_redactor(struct live *live, struct redactor **out, struct cairn_error *error)
{
    struct hidden_values hidden;
    return live_hidden(live, &hidden, error) ?: redactor_of_values(&hidden, out, error);
}

int redactor_of_workflows(struct cairn_store *store, struct redactor **out,
                          struct cairn_error *error)
{
    struct buf names = BUF_INIT;
    int rc = secrets_declared(store, false, &names, error);
    struct hidden_values hidden = {.names = STR(""),
                                   .declared = names.size ? buf_view(&names) : STR("")};
    if (!rc)
        rc = redactor_of_values(&hidden, out, error);
    buf_release(&names);
    return rc;
}

int live_redactor_lenient(struct live *live, struct redactor **out,
                          struct cairn_error *error)
{
    struct hidden_values hidden;
    struct buf names = BUF_INIT;
    int rc = live_hidden(live, &hidden, error);
    if (rc)
        return rc;
    buf_str(&names, hidden.names);
    if (hidden.names.len && hidden.declared.len)
        buf_byte(&names, ',');
    buf_str(&names, hidden.declared);
    hidden.names = STR("");
    hidden.declared = buf_view(&names);
    rc = buf_check(&names, error) ?: redactor_of_values(&hidden, out, error);
    buf_release(&names);
    return rc;
}

int live_take(struct live *live, const struct outside_text *text, struct clean *out,
              struct cairn_error *error)
{
    struct redactor *redactor = NULL;
    int rc = live_redactor_lenient(live, &redactor, error);
    struct outside outside = {redactor, true, live->store};
    if (!rc)
        rc = outside_take(&outside, text, &live->arena, out, error);
    redactor_free(redactor);
    return rc;
}

int redactor_of_session(struct cairn_store *store, const char *session,
                        live_redactor_fn *make, struct redactor **out,
                        struct cairn_error *error)
{
    struct live live;
    struct cairn_error none = {0};
    int rc = live_read(&live, store, session, &none);
    bool found = rc == 0;
    if (found)
        rc = make(&live, out, error);
    rc = live_close(&live, rc, found ? error : &none);
    if (found)
        return rc;
    return rc == CAIRN_ENOMEM ? error_nomem(error)
                              : redactor_of_workflows(store, out, error);
}

int cairn_masked(struct cairn_store *store, const char *text, char **out,
                 struct cairn_error *error)
{
    struct redactor *redactor = NULL;
    struct buf values = BUF_INIT, masked = BUF_INIT;
    int rc = store ? redactor_of_session(store, NULL, live_redactor_lenient, &redactor,
                                         error)
                   : 0;
    if (!rc) {
        redact_quoted(redactor, str_of(text), &values);
        known_secrets_redact(buf_view(&values), 0, &masked);
        buf_byte(&masked, 0);
        masked.failed |= values.failed;
        rc = buf_check(&masked, error);
    }
    if (!rc && !(*out = strdup(masked.data)))
        rc = error_nomem(error);
    redactor_free(redactor);
    buf_release(&values);
    buf_release(&masked);
    return rc;
}
