/* SPDX-License-Identifier: MIT */
/* What differs between two states. */
#include "session/session_int.h"

#include "base/clock.h"
#include "base/memory.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* ==== Boards ==== */

/* What differs between two boards. */

static int see_difference(void *context, const struct item_field *field,
                          const struct item_value *before,
                          const struct item_value *after)
{
    (void)field;
    (void)before;
    (void)after;
    *(bool *)context = true;
    return 1;
}

static bool differ(const struct item *before, const struct item *after)
{
    bool found = false;
    item_changes(before, after, see_difference, &found);
    return found;
}

static int add_change(struct board_changes *changes, const struct item *before,
                      const struct item *after, struct cairn_error *error)
{
    struct board_change *at =
        array_room(changes->at, changes->n, &changes->capacity, sizeof *at);
    assert(before || after);
    if (!at)
        return error_nomem(error);
    changes->at = at;
    at += changes->n++;
    *at = (struct board_change){.had = before, .has = after};
    if (before) {
        at->id = before->id;
        at->before = *before;
    }
    if (after) {
        at->id = after->id;
        at->after = *after;
    }
    return 0;
}

static int compare_kind(const struct section *before, const struct section *after,
                        struct board_changes *changes, struct cairn_error *error)
{
    uint32_t b = 0, a = 0;
    int rc = 0;
    while ((b < before->n || a < after->n) && !rc) {
        const struct item *was = b < before->n ? &before->items[b] : NULL;
        const struct item *is = a < after->n ? &after->items[a] : NULL;
        if (was && is && was->id.n != is->id.n) {
            if (was->id.n < is->id.n)
                is = NULL;
            else
                was = NULL;
        }
        b += was != NULL;
        a += is != NULL;
        if (!was || !is || differ(was, is))
            rc = add_change(changes, was, is, error);
    }
    return rc;
}

int boards_compare(const struct board *before, const struct board *after,
                   struct board_changes *changes, struct cairn_error *error)
{
    int rc = 0;
    for (uint8_t kind = 1; kind < ITEM_KINDS_END && !rc; kind++) {
        struct section was = board_section(before, kind),
                       is = board_section(after, kind);
        rc = compare_kind(&was, &is, changes, error);
    }
    return rc;
}

/* ==== States ==== */

/* What is different between two states of a session, item by item. */

/* One of the two: a checkpoint, the present, or the empty board at the beginning. */
struct side {
    struct state_at state;
    bool read;
    uint64_t seq; /* if it was read */
    const struct board *board;
    struct message_seen end; /* of its line of messages; n 0: it is empty */
    int64_t time_ns;
    char id[CAIRN_ID_MAX];
};

struct comparison {
    struct live live;
    struct side from, to;
    struct board empty;
    struct board_changes changes;
    uint64_t messages_added, messages_removed;
    struct cairn_error *error;
};

static int open_side(struct comparison *c, const char *id, struct side *side)
{
    struct live *live = &c->live;
    if (!id) {
        side->board = &live->board;
        side->time_ns = live->now.utc_ns;
        return message_end(live, &side->end, c->error);
    }
    if (!*id) {
        side->board = &c->empty;
        side->time_ns = live->row.started_ns;
        return 0;
    }
    side->board = &side->state.board;
    int rc = debug_seq(live->store, id, &side->seq, c->error);
    side->read = !rc;
    return rc;
}

/* Of two checkpoints what may differ, else all. */
static int read_sides(struct comparison *c)
{
    struct side *const sides[] = {&c->from, &c->to};
    struct state_at *const states[] = {&c->from.state, &c->to.state};
    const uint64_t seqs[] = {c->from.seq, c->to.seq};
    bool both = c->from.read && c->to.read;
    int rc =
        both ? state_read_apart(c->live.store, c->live.sha, seqs, states, c->error) : 0;
    for (int i = 0; i < 2 && !rc; i++) {
        struct side *side = sides[i];
        if (!side->read)
            continue;
        if (!both)
            rc = state_read(c->live.store, c->live.sha, side->seq, &side->state,
                            c->error);
        const struct message_line *line = &side->state.messages;
        side->time_ns = side->state.at.time_ns;
        side->end = (struct message_seen){.n = line->n,
                                          .position = line->position,
                                          .total_in = line->tokens_in,
                                          .total_out = line->tokens_out};
        checkpoint_id(NAMESPACE_DEBUG, side->seq, &side->state.at.ref.digest, side->id);
    }
    return rc;
}

static int check_session(struct comparison *c)
{
    uint64_t present = c->from.read && c->to.read ? 0 : c->live.row.session;
    uint64_t from = c->from.read ? c->from.state.at.session : present,
             to = c->to.read ? c->to.state.at.session : present;
    if (!from || !to || from == to)
        return 0;
    return error_set(c->error, CAIRN_EUSAGE,
                     "they are of two sessions: numbers %llu and %llu%s",
                     (unsigned long long)from, (unsigned long long)to,
                     present ? "; give --session with the one of the checkpoint" : "");
}

/* Back from both ends to the message that both lines have. */
static int compare_messages(struct comparison *c)
{
    struct message_seen from = c->from.end, to = c->to.end;
    uint64_t session = c->to.read ? c->to.state.at.session
                       : c->from.read && c->from.state.at.session
                           ? c->from.state.at.session
                           : c->live.row.session;
    int rc = 0;
    while (!rc && from.n != to.n && session) {
        bool of_to = to.position >= from.position;
        struct message_seen *deeper = of_to ? &to : &from;
        uint64_t n = deeper->n;
        c->messages_added += of_to;
        c->messages_removed += !of_to;
        rc = message_see(c->live.store, session, n, deeper, c->error);
        n = rc ? 0 : deeper->parent;
        if (!rc && n)
            rc = message_see(c->live.store, session, n, deeper, c->error);
        else if (!rc)
            *deeper = (struct message_seen){.n = 0};
    }
    return rc;
}

static int open_both(struct comparison *c, struct cairn_store *store,
                     const char *session, const char *from, const char *to)
{
    bool present = !from || !to;
    bool of_session = present || !*from || !*to;
    int rc = of_session ? live_read(&c->live, store, session, c->error)
                        : live_begin(&c->live, store, false, c->error);
    if (!rc && present)
        rc = live_load_board(&c->live, c->error);
    if (!rc)
        rc = open_side(c, from, &c->from)
             ?: open_side(c, to, &c->to)
             ?: read_sides(c)
             ?: check_session(c)
             ?: compare_messages(c);
    if (c->live.open)
        store_end_read(store); /* the callbacks may use it */
    c->live.open = false;
    return rc;
}

static void close_both(struct comparison *c)
{
    if (c->from.read)
        state_release(&c->from.state);
    if (c->to.read)
        state_release(&c->to.state);
    free(c->changes.at);
    live_close(&c->live, 0, NULL);
}

/* ---- Confidence, which follows from evidence ---- */

static bool is_listed(const struct board_changes *changes, uint32_t n, uint32_t known)
{
    for (uint32_t i = 0; i < known; i++)
        if (changes->at[i].id.kind == ITEM_HYPOTHESIS && changes->at[i].id.n == n)
            return true;
    return false;
}

static int confidence_differs(struct comparison *c, struct item_ref id, bool *differs)
{
    double before = 0, after = 0;
    int rc = board_confidence(c->from.board, id, &before, c->error)
                 ?: board_confidence(c->to.board, id, &after, c->error);
    *differs = !rc && (before < after || before > after);
    return rc;
}

static int by_id(const void *a, const void *b)
{
    const struct item_ref *x = &((const struct board_change *)a)->id,
                          *y = &((const struct board_change *)b)->id;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->n > y->n) - (x->n < y->n);
}

/* Hypotheses that are the same but for what their evidence makes of them. */
static int add_moved(struct comparison *c)
{
    struct section section = board_section(c->to.board, ITEM_HYPOTHESIS);
    uint32_t known = c->changes.n;
    int rc = 0;
    for (uint32_t i = 0; i < section.n && !rc; i++) {
        const struct item *after = &section.items[i],
                          *before = board_find(c->from.board, after->id);
        bool differs = false;
        if (!before || is_listed(&c->changes, after->id.n, known))
            continue;
        rc = confidence_differs(c, after->id, &differs);
        struct board_change *at = !rc && differs
                                      ? array_room(c->changes.at, c->changes.n,
                                                   &c->changes.capacity, sizeof *at)
                                      : NULL;
        if (!rc && differs && !at)
            rc = error_nomem(c->error);
        if (rc || !differs)
            continue;
        c->changes.at = at;
        at[c->changes.n++] = (struct board_change){.id = after->id,
                                                   .had = true,
                                                   .has = true,
                                                   .before = *before,
                                                   .after = *after};
    }
    if (c->changes.n)
        qsort(c->changes.at, c->changes.n, sizeof *c->changes.at, by_id);
    return rc;
}

/* ---- Telling it ---- */

struct telling {
    struct arena arena;
    struct cairn_item before, after;
    const struct cairn_field *was[ITEM_FIELDS_MOST + 1], *is[ITEM_FIELDS_MOST + 1];
    struct cairn_field confidence[2];
    size_t n;
};

static const struct cairn_field *field_named(const struct cairn_item *item,
                                             const char *name)
{
    for (size_t i = 0; i < item->n_fields; i++)
        if (strcmp(item->fields[i].name, name) == 0)
            return &item->fields[i];
    return NULL;
}

static int add_field(void *context, const struct item_field *field,
                     const struct item_value *before, const struct item_value *after)
{
    struct telling *t = context;
    (void)before;
    (void)after;
    t->was[t->n] = field_named(&t->before, field->name);
    t->is[t->n] = field_named(&t->after, field->name);
    t->n++;
    return 0;
}

static void add_confidence(struct telling *t)
{
    bool same = !(t->before.confidence < t->after.confidence) &&
                !(t->before.confidence > t->after.confidence);
    if (!t->before.has_confidence || same)
        return;
    t->confidence[0] = (struct cairn_field){.name = "confidence",
                                            .type = CAIRN_FIELD_NUMBER,
                                            .number = t->before.confidence};
    t->confidence[1] = t->confidence[0];
    t->confidence[1].number = t->after.confidence;
    t->was[t->n] = &t->confidence[0];
    t->is[t->n] = &t->confidence[1];
    t->n++;
}

static int tell_change(struct comparison *c, const struct board_change *change,
                       int (*each)(void *, const struct cairn_board_change *),
                       void *context, int *stopped)
{
    struct telling t = {.arena = ARENA_INIT};
    char id[ITEM_ID_MAX];
    int64_t now_ns = c->live.now.utc_ns;
    int rc = change->had ? item_show(&t.arena, c->from.board, &change->before, now_ns,
                                     &t.before, c->error)
                         : 0;
    if (!rc && change->has)
        rc = item_show(&t.arena, c->to.board, &change->after, now_ns, &t.after,
                       c->error);
    if (!rc && change->had && change->has) {
        rc = item_changes(&change->before, &change->after, add_field, &t);
        add_confidence(&t);
    }
    item_id(change->id, id);
    struct cairn_board_change told = {.id = id,
                                      .kind = item_kind_info(change->id.kind)->name,
                                      .before = change->had ? &t.before : NULL,
                                      .after = change->has ? &t.after : NULL,
                                      .fields_before = t.was,
                                      .fields_after = t.is,
                                      .n = t.n};
    if (!rc)
        *stopped = each(context, &told);
    arena_release(&t.arena);
    return rc;
}

/* ---- One line ---- */

static const char *const plurals[ITEM_KINDS_END] = {[ITEM_HYPOTHESIS] = "hypotheses",
                                                    [ITEM_EVIDENCE] =
                                                        "pieces of evidence",
                                                    [ITEM_BELIEF] = "beliefs",
                                                    [ITEM_DEPENDENCY] = "dependencies",
                                                    [ITEM_GAP] = "gaps",
                                                    [ITEM_NOTE] = "notes",
                                                    [ITEM_COMMAND] = "commands",
                                                    [ITEM_CHECK] = "checks"};

static const char *const singulars[ITEM_KINDS_END] = {[ITEM_HYPOTHESIS] = "hypothesis",
                                                      [ITEM_EVIDENCE] =
                                                          "piece of evidence",
                                                      [ITEM_BELIEF] = "belief",
                                                      [ITEM_DEPENDENCY] = "dependency",
                                                      [ITEM_GAP] = "gap",
                                                      [ITEM_NOTE] = "note",
                                                      [ITEM_COMMAND] = "command",
                                                      [ITEM_CHECK] = "check"};

struct counts {
    uint32_t added, removed, changed;
};

static void add_part(struct buf *line, uint32_t n, uint8_t kind, const char *what)
{
    if (n)
        buf_format(line, "%s%u %s %s", line->size ? ", " : "", n,
                   n == 1 ? singulars[kind] : plurals[kind], what);
}

static void add_time(struct buf *line, int64_t ns)
{
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
    uint64_t seconds = (ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns) / 1000000000;
    size_t unit = 0;
    while (unit < 3 && seconds < (uint64_t)units[unit].seconds)
        unit++;
    unsigned long long n = seconds / (uint64_t)units[unit].seconds;
    buf_format(line, "; %llu %s%s %s", n, units[unit].name, n == 1 ? "" : "s",
               ns < 0 ? "earlier" : "later");
}

static void add_messages(struct buf *line, uint64_t n, const char *what)
{
    if (n)
        buf_format(line, "%s%llu message%s %s", line->size ? ", " : "",
                   (unsigned long long)n, n == 1 ? "" : "s", what);
}

static int make_line(struct comparison *c, struct cairn_board_summary *summary)
{
    struct counts counts[ITEM_KINDS_END] = {{0}};
    struct buf line = BUF_INIT;
    for (uint32_t i = 0; i < c->changes.n; i++) {
        const struct board_change *change = &c->changes.at[i];
        struct counts *of = &counts[change->id.kind];
        of->added += !change->had;
        of->removed += !change->has;
        of->changed += change->had && change->has;
    }
    for (uint8_t kind = 1; kind < (uint8_t)ITEM_KINDS_END; kind++) {
        add_part(&line, counts[kind].added, kind, "added");
        add_part(&line, counts[kind].changed, kind, "changed");
        add_part(&line, counts[kind].removed, kind, "removed");
        summary->added += counts[kind].added;
        summary->changed += counts[kind].changed;
        summary->removed += counts[kind].removed;
    }
    add_messages(&line, c->messages_added, "added");
    add_messages(&line, c->messages_removed, "removed");
    if (!line.size)
        buf_text(&line, "no difference");
    add_time(&line, ns_between(c->from.time_ns, c->to.time_ns));
    int rc = buf_check(&line, c->error);
    if (!rc)
        snprintf(summary->text, sizeof summary->text, "%s", line.data);
    buf_release(&line);
    return rc;
}

static int summarize(struct comparison *c, struct cairn_board_summary *out)
{
    struct cairn_board_summary summary = {.from_ns = c->from.time_ns,
                                          .to_ns = c->to.time_ns,
                                          .messages_added = c->messages_added,
                                          .messages_removed = c->messages_removed};
    const struct message_seen *from = &c->from.end, *to = &c->to.end;
    summary.tokens_in = (int64_t)to->total_in - (int64_t)from->total_in;
    summary.tokens_out = (int64_t)to->total_out - (int64_t)from->total_out;
    int rc = make_line(c, &summary);
    memcpy(summary.from, c->from.id, sizeof summary.from);
    memcpy(summary.to, c->to.id, sizeof summary.to);
    if (!rc && out)
        *out = summary;
    return rc;
}

int cairn_session_diff(struct cairn_store *store, const char *session, const char *from,
                       const char *to,
                       int (*each)(void *, const struct cairn_board_change *),
                       void *context, struct cairn_board_summary *summary,
                       struct cairn_error *error)
{
    struct comparison c = {.error = error};
    int stopped = 0;
    board_init(&c.empty);
    int rc = open_both(&c, store, session, from, to)
             ?: boards_compare(c.from.board, c.to.board, &c.changes, error)
             ?: add_moved(&c)
             ?: summarize(&c, summary);
    for (uint32_t i = 0; i < c.changes.n && !rc && !stopped; i++)
        rc = tell_change(&c, &c.changes.at[i], each, context, &stopped);
    close_both(&c);
    return rc;
}
