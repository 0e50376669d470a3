/* SPDX-License-Identifier: MIT */
/* What was done in a session: telling it, and taking it back. */
#include "base/memory.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/words.h"
#include "session/names.h"
#include "session/session_int.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

const char *session_verb_name(uint8_t verb, bool was)
{
    switch ((enum session_verb)verb) {
    case VERB_STARTED:
        return "started";
    case VERB_PUT:
        return was ? "changed" : "added";
    case VERB_REMOVED:
        return "removed";
    case VERB_CHECKPOINT:
        return "checkpoint";
    case VERB_RESTORED:
        return "restored";
    case VERB_BRANCHED:
        return "branched";
    case VERB_SWITCHED:
        return "switched";
    case VERB_ABANDONED:
        return "abandoned";
    case VERB_MERGED:
        return "merged";
    case VERB_ENDED:
        return "ended";
    case VERB_CONTINUED:
        return "continued";
    case VERB_CONFIGURED:
        return "configured";
    case VERB_UNDONE:
        return "undone";
    case VERB_BACK:
        return "undid-restore";
    case VERB_FORWARD:
        return "redid-restore";
    case VERB_PRUNED:
        return "pruned";
    case VERB_CONTRADICTION:
        return "contradiction";
    case VERB_MESSAGES:
        return "added";
    }
    return "unknown";
}

/* What it is about, for those who wait for one kind. */
static const char *kind_name(const struct session_log_row *row)
{
    const struct item_kind_info *info = item_kind_info(row->kind);
    switch ((enum session_verb)row->verb) {
    case VERB_PUT:
    case VERB_REMOVED:
        return info ? info->name : "unknown";
    case VERB_CHECKPOINT:
        return str_equal(row->after, str_of(trigger_name(TRIGGER_TASK_FAILED)))
                   ? "task-failed"
                   : "checkpoint";
    case VERB_RESTORED:
    case VERB_BACK:
    case VERB_FORWARD:
        return "restore";
    case VERB_BRANCHED:
    case VERB_SWITCHED:
    case VERB_ABANDONED:
    case VERB_MERGED:
        return "branch";
    case VERB_STARTED:
    case VERB_ENDED:
    case VERB_CONTINUED:
    case VERB_CONFIGURED:
        return "session";
    case VERB_UNDONE:
        return "undo";
    case VERB_PRUNED:
        return "prune";
    case VERB_CONTRADICTION:
        return "contradiction";
    case VERB_MESSAGES:
        return "message";
    }
    return "unknown";
}

/* The trigger of a checkpoint. */
static const char *reason_of(const struct session_log_row *row)
{
    enum trigger trigger;
    bool known = row->verb == VERB_CHECKPOINT && row->after.len &&
                 trigger_parse(row->after, &trigger, NULL) == 0;
    return known ? trigger_name(trigger) : NULL;
}

/* ---- Telling it ---- */

struct telling {
    struct live *live;
    struct arena arena;
    struct buf text;
    int (*each)(void *, const struct cairn_session_event *);
    void *context;
    struct cairn_error *error;
};

static void add_line(struct buf *out, struct str text)
{
    struct str fit = {text.ptr, utf8_fit(text, 160)};
    size_t start = out->size;
    buf_str(out, fit);
    for (size_t i = start; i < out->size; i++)
        if (out->data[i] == '\n' || out->data[i] == '\r' || out->data[i] == '\t')
            out->data[i] = ' ';
}

static void add_value(struct buf *out, const struct item_field *field,
                      const struct item_value *value)
{
    char id[ITEM_ID_MAX];
    if (!value->present)
        buf_text(out, "none");
    else if (field->type == FIELD_WORD)
        buf_text(out, field->word((unsigned)value->count));
    else if (field->type == FIELD_NUMBER)
        buf_format(out, "%.4g", value->number);
    else if (field->type == FIELD_REF) {
        item_id(value->ref, id);
        buf_text(out, id);
    } else if (field->type == FIELD_TEXT)
        add_line(out, value->text);
    else
        buf_text(out, "changed");
}

static int add_change(void *context, const struct item_field *field,
                      const struct item_value *before, const struct item_value *after)
{
    struct buf *out = context;
    buf_format(out, "%s%s ", out->size ? "; " : "", field->name);
    if (field->type == FIELD_WORD || field->type == FIELD_NUMBER) {
        add_value(out, field, before);
        buf_text(out, " to ");
    }
    add_value(out, field, after);
    return 0;
}

/* The first text says what an item is. */
static void add_title(struct buf *out, const struct item *item)
{
    const struct item_kind_info *info = item_kind_info(item->id.kind);
    for (uint32_t i = 1; i <= info->n_fields; i++)
        if (item->values[i].present && info->fields[i - 1].type == FIELD_TEXT) {
            add_line(out, item->values[i].text);
            return;
        }
    for (uint32_t i = 1; i <= info->n_fields; i++)
        if (item->values[i].present && info->fields[i - 1].type == FIELD_REF) {
            buf_text(out, out->size ? " " : "");
            add_value(out, &info->fields[i - 1], &item->values[i]);
        }
}

int cause_line(struct buf *out, const char *start, const struct item *item,
               const char *what, struct cairn_error *error)
{
    char id[ITEM_ID_MAX];
    struct buf title = BUF_INIT;
    item_id(item->id, id);
    buf_format(out, "%s%s %s: ", start, id, what);
    add_title(&title, item);
    buf_str(out, buf_view(&title));
    int rc = buf_check(&title, error);
    buf_release(&title);
    if (!rc)
        rc = buf_check(out, error);
    const char *at = rc ? NULL : out->data, *end = rc ? NULL : at + out->size;
    size_t columns = 0, room = 0;
    uint32_t code;
    for (size_t n; at < end && columns < LINE_COLUMNS; at += n, columns++) {
        if (columns == LINE_COLUMNS - 3)
            room = (size_t)(at - out->data);
        n = utf8_next(at, end, &code);
        n = n ? n : 1;
    }
    if (at < end) {
        out->size = room;
        buf_text(out, "...");
    }
    return rc ?: buf_check(out, error);
}

static int describe_item(struct telling *t, const struct session_log_row *row)
{
    struct item_ref id = {row->kind, (uint32_t)row->number};
    struct item before = {0}, after = {0};
    int rc = row->before.ptr
                 ? item_decode(&t->arena, id, row->before, &before, t->error)
                 : 0;
    if (!rc && row->after.ptr)
        rc = item_decode(&t->arena, id, row->after, &after, t->error);
    if (rc)
        return rc;
    if (row->before.ptr && row->after.ptr)
        return item_changes(&before, &after, add_change, &t->text);
    add_title(&t->text, row->after.ptr ? &after : &before);
    return 0;
}

/* Its message, as long as it can be read. */
static int describe_checkpoint(struct telling *t, uint64_t seq)
{
    struct sections sections;
    struct cairn_error why = {0};
    int rc = sections_read(t->live->store, t->live->sha, seq, &t->arena, &sections,
                           NULL, &why);
    if (!rc)
        add_line(&t->text, sections.message);
    return !rc || rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED
               ? 0
               : error_set(t->error, rc, "%s", why.text);
}

static void describe_messages(struct telling *t, const struct session_log_row *row)
{
    struct reader in = reader_of(row->after.ptr, row->after.len);
    unsigned long long n = read_varint(&in), last = row->number;
    if (n == 1)
        buf_format(&t->text, "message %llu", last);
    else
        buf_format(&t->text, "%llu messages, the last is %llu", n, last);
}

static int describe(struct telling *t, const struct session_log_row *row,
                    char id[CAIRN_ID_MAX])
{
    struct branch_row branch;
    int rc = 0;
    switch ((enum session_verb)row->verb) {
    case VERB_PUT:
    case VERB_REMOVED:
        item_id((struct item_ref){row->kind, (uint32_t)row->number}, id);
        return describe_item(t, row);
    case VERB_CHECKPOINT:
    case VERB_RESTORED:
        checkpoint_number(NAMESPACE_DEBUG, row->number, id);
        return describe_checkpoint(t, row->number);
    case VERB_CONTRADICTION:
        item_id((struct item_ref){row->kind, (uint32_t)row->number}, id);
        buf_text(&t->text, "contradicts ");
        add_line(&t->text, row->after);
        return 0;
    case VERB_BRANCHED:
    case VERB_SWITCHED:
    case VERB_ABANDONED:
    case VERB_MERGED:
    case VERB_BACK:
    case VERB_FORWARD:
        rc = live_branch(t->live, row->number, &branch, t->error);
        if (!rc)
            buf_str(&t->text, clean_str(branch.name));
        return rc == CAIRN_ENOTFOUND ? 0 : rc;
    case VERB_CONFIGURED:
    case VERB_PRUNED:
        add_line(&t->text, row->after);
        return 0;
    case VERB_MESSAGES:
        describe_messages(t, row);
        return 0;
    case VERB_UNDONE:
        buf_format(&t->text, "turn %llu", (unsigned long long)row->number);
        return 0;
    case VERB_STARTED:
    case VERB_ENDED:
    case VERB_CONTINUED:
        break;
    }
    return rc;
}

static int tell_row(void *context, const struct session_log_row *row)
{
    struct telling *t = context;
    char id[CAIRN_ID_MAX] = "";
    buf_clear(&t->text);
    int rc = describe(t, row, id);
    buf_add(&t->text, "", 1);
    if (!rc)
        rc = buf_check(&t->text, t->error);
    if (rc)
        return rc;
    struct cairn_session_event event = {
        .turn = row->turn,
        .n = row->n,
        .time_ns = row->time_ns,
        .kind = kind_name(row),
        .reason = reason_of(row),
        .verb = session_verb_name(row->verb, row->before.len > 0),
        .id = id,
        .text = t->text.data};
    rc = t->each(t->context, &event) ? 1 : 0;
    arena_release(&t->arena);
    return rc;
}

int cairn_session_events(struct cairn_store *store, const char *session, uint64_t after,
                         int (*each)(void *, const struct cairn_session_event *),
                         void *context, struct cairn_error *error)
{
    struct live live;
    struct telling t = {.live = &live,
                        .arena = ARENA_INIT,
                        .text = BUF_INIT,
                        .each = each,
                        .context = context,
                        .error = error};
    int rc = live_read(&live, store, session, error)
                 ?: store_each_session_log(store, live.row.session, after, false,
                                           tell_row, &t, error);
    buf_release(&t.text);
    arena_release(&t.arena);
    return live_close(&live, rc, error);
}

/* ---- Taking it back ---- */

struct undoing {
    struct live *live;
    uint64_t turn;   /* the one that is undone; 0: not found yet */
    uint64_t below;  /* later turns are undone already */
    unsigned passed; /* restores before this that were taken back: what was done
                        since each of them is not on the board any more */
    struct board_changes changes; /* as they were made */
    bool blocked;
    char text[1600]; /* what is in the way */
    struct cairn_error *error;
};

static int keep_change(struct undoing *u, const struct session_log_row *row)
{
    struct arena *arena = &u->live->arena;
    struct board_change *at =
        array_room(u->changes.at, u->changes.n, &u->changes.capacity, sizeof *at);
    if (!at)
        return error_nomem(u->error);
    u->changes.at = at;
    at += u->changes.n++;
    *at = (struct board_change){.id = {row->kind, (uint32_t)row->number},
                                .had = row->before.ptr,
                                .has = row->after.ptr};
    struct str before = arena_str(arena, row->before),
               after = arena_str(arena, row->after);
    int rc = arena->failed ? error_nomem(u->error) : 0;
    if (!rc && at->had)
        rc = item_decode(arena, at->id, before, &at->before, u->error);
    if (!rc && at->has)
        rc = item_decode(arena, at->id, after, &at->after, u->error);
    return rc;
}

/* What takes that back, which no undo does. */
static int say_blocked(struct undoing *u, const struct session_log_row *row)
{
    struct branch_row from = {.branch = 0};
    char word[SHELL_WORD_ROOM(CAIRN_SESSION_NAME_MAX)], way[sizeof u->text / 2] = "";
    struct reader in = reader_of(row->after.ptr, row->after.len);
    uint64_t branch = read_varint(&in);
    bool moved = row->verb == VERB_SWITCHED || row->verb == VERB_BRANCHED;
    if (row->verb == VERB_RESTORED || row->verb == VERB_FORWARD)
        snprintf(way, sizeof way, ", which `cairn checkpoint undo-restore` takes back");
    else if (moved && !in.failed && live_branch(u->live, branch, &from, NULL) == 0)
        snprintf(way, sizeof way, "; `cairn branch switch %s` goes back",
                 shell_word_in(word, sizeof word, clean_str(from.name)));
    else if (row->verb != VERB_STARTED)
        snprintf(way, sizeof way,
                 "; `cairn checkpoint restore CHECKPOINT` goes back to a state of "
                 "before");
    snprintf(u->text, sizeof u->text,
             "there is nothing to undo: the last thing that was done is '%s'%s",
             session_verb_name(row->verb, row->before.len > 0), way);
    return 1;
}

/* From the newest row back. 1: found, or blocked. */
static int look_for_turn(void *context, const struct session_log_row *row)
{
    struct undoing *u = context;
    if (row->turn >= u->below)
        return 0;
    if (u->turn && row->turn != u->turn)
        return 1;
    if (row->verb == VERB_BACK) {
        u->passed++;
        return 0;
    }
    if (u->passed) {
        u->passed -= row->verb == VERB_RESTORED || row->verb == VERB_FORWARD;
        return 0;
    }
    switch ((enum session_verb)row->verb) {
    case VERB_PUT:
    case VERB_REMOVED:
        u->turn = row->turn;
        return keep_change(u, row);
    case VERB_UNDONE:
        u->below = row->number;
        return 0;
    case VERB_CHECKPOINT:
    case VERB_CONTRADICTION:
    case VERB_CONFIGURED:
    case VERB_ENDED:
    case VERB_CONTINUED:
    case VERB_PRUNED:
    case VERB_MESSAGES:
        return 0;
    case VERB_STARTED:
    case VERB_RESTORED:
    case VERB_BRANCHED:
    case VERB_SWITCHED:
    case VERB_ABANDONED:
    case VERB_MERGED:
    case VERB_BACK:
    case VERB_FORWARD:
        break;
    }
    u->blocked = true;
    return say_blocked(u, row);
}

/* The item must be as the change left it. */
static int check_present(struct undoing *u, const struct board_change *change)
{
    const struct item *now = board_find(&u->live->board, change->id);
    struct buf is = BUF_INIT, was = BUF_INIT;
    bool same = !now == !change->has;
    int rc = now && change->has ? item_encode(now, &is, u->error) : 0;
    if (!rc && now && change->has)
        rc = item_encode(&change->after, &was, u->error);
    same = same && str_equal(buf_view(&is), buf_view(&was));
    buf_release(&is);
    buf_release(&was);
    char id[ITEM_ID_MAX];
    item_id(change->id, id);
    return rc || same ? rc
                      : error_set(u->error, CAIRN_EUSAGE,
                                  "%s is not as that change left it: nothing was "
                                  "undone",
                                  id);
}

/* Turns the changes round: the last one first, what was after becomes before. */
static void reverse(struct board_changes *changes)
{
    for (uint32_t i = 0; i < changes->n; i++) {
        struct board_change *at = &changes->at[i];
        struct item before = at->before;
        bool had = at->had;
        at->before = at->after;
        at->had = at->has;
        at->after = before;
        at->has = had;
    }
    for (uint32_t i = 0; i < changes->n / 2; i++) {
        struct board_change first = changes->at[i];
        changes->at[i] = changes->at[changes->n - 1 - i];
        changes->at[changes->n - 1 - i] = first;
    }
}

/* An item that was changed twice in the turn is as the last change left it. */
static bool is_last_of_item(const struct board_changes *changes, uint32_t at)
{
    for (uint32_t i = at + 1; i < changes->n; i++)
        if (changes->at[i].id.kind == changes->at[at].id.kind &&
            changes->at[i].id.n == changes->at[at].id.n)
            return false;
    return true;
}

static int undo_turn(struct undoing *u)
{
    struct log_entry entry = {.verb = VERB_UNDONE, .number = u->turn};
    int rc = live_load_part(u->live, 0, u->error);
    for (uint32_t i = 0; i < u->changes.n && !rc; i++) {
        const struct board_change *at = &u->changes.at[i];
        if (is_last_of_item(&u->changes, i)) /* one that was removed is not there */
            rc = (at->has ? live_load_item : live_get_item)(u->live, at->id, u->error)
                     ?: check_present(u, at);
    }
    if (rc)
        return rc;
    reverse(&u->changes);
    return live_put_changes(u->live, &u->changes, false, u->error)
               ?: live_log(u->live, &entry, u->error);
}

struct taken_back {
    struct telling telling;
    uint64_t turn;
};

static int tell_taken(void *context, const struct session_log_row *row)
{
    struct taken_back *t = context;
    return row->turn > t->turn ? 1 : tell_row(&t->telling, row);
}

static int tell_turn(struct undoing *u,
                     int (*each)(void *, const struct cairn_session_event *),
                     void *context)
{
    struct taken_back t = {.telling = {.live = u->live,
                                       .arena = ARENA_INIT,
                                       .text = BUF_INIT,
                                       .each = each,
                                       .context = context,
                                       .error = u->error},
                           .turn = u->turn};
    int rc = store_each_session_log(u->live->store, u->live->row.session, u->turn - 1,
                                    false, tell_taken, &t, u->error);
    buf_release(&t.telling.text);
    arena_release(&t.telling.arena);
    return rc;
}

int cairn_session_take_back(struct cairn_store *store, const char *session,
                            int (*each)(void *, const struct cairn_session_event *),
                            void *context, uint32_t *changed, struct cairn_error *error)
{
    struct live live;
    struct undoing u = {.live = &live, .below = UINT64_MAX, .error = error};
    int rc = live_write(&live, store, session, error)
             ?: live_check_open(&live, error)
             ?: store_each_session_log(store, live.row.session, UINT64_MAX, true,
                                       look_for_turn, &u, error);
    if (!rc && !u.turn)
        rc = error_set(error, CAIRN_EUSAGE, "%s",
                       u.blocked ? u.text : "there is nothing to undo");
    if (!rc)
        rc = undo_turn(&u);
    if (!rc && each)
        rc = tell_turn(&u, each, context);
    uint32_t n = u.changes.n;
    free(u.changes.at);
    rc = live_close(&live, rc, error);
    if (!rc && changed)
        *changed = n;
    return rc;
}

int cairn_session_undo(struct cairn_store *store, const char *session,
                       uint32_t *changed, struct cairn_error *error)
{
    return cairn_session_take_back(store, session, NULL, NULL, changed, error);
}
