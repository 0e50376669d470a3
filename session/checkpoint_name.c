/* SPDX-License-Identifier: MIT */
/* Which checkpoint is meant: by a time, by its place on a line, by what people call it;
 * and its labels. */
#include "session/line_int.h"

#include "session/session_int.h"
#include "session/when.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/struct_take.h"
#include "base/utf8.h"
#include "base/words.h"
#include "cairn/message.h"
#include "checkpoint/annotations.h"
#include "checkpoint/find.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/sessions/rows_annotation.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ==== Times ==== */

/* Which checkpoint of a session is meant, and what it says of itself. */

/* NULL: any has it. */
static bool sections_have_tag(const struct sections *sections, const char *tag)
{
    for (uint32_t i = 0; tag && i < sections->n_tags; i++)
        if (str_equal(sections->tags[i], str_of(tag)))
            return true;
    return !tag;
}

/* ---- By time ---- */

struct searching {
    struct live *live;
    int64_t until_ns;
    const char *tag;
    uint64_t found; /* seq, 0: none yet */
    struct cairn_error *error;
};

/* Of a damaged record the row's own time is all that there is: it is chosen, and then
 * named as damaged, not passed over for an older one. */
static int see_row(void *context, const struct checkpoint_row *row)
{
    struct searching *s = context;
    struct arena arena = ARENA_INIT;
    struct sections sections;
    if (row->time_ns > s->until_ns)
        return 0;
    bool fits = true;
    if (s->tag) {
        int rc = sections_read(s->live->store, s->live->sha, row->seq, &arena,
                               &sections, NULL, s->error);
        fits = !rc && sections_have_tag(&sections, s->tag);
        arena_release(&arena);
        if (rc && rc != CAIRN_EDAMAGED)
            return rc;
    }
    if (fits)
        s->found = row->seq;
    return fits;
}

static int note_stream(void *context, const struct checkpoint_row *row)
{
    *(uint64_t *)context = row->stream;
    return 0;
}

/* The newest one of the branch, else of what it began with, and so on. */
static int search_line(struct searching *s, uint64_t branch)
{
    struct checkpoint_range range = {
        .namespace_id = NAMESPACE_DEBUG, .stream = branch, .descending = true};
    uint64_t below = UINT64_MAX; /* no damage leads round in circles */
    while (range.stream) {
        struct branch_row row;
        int rc = store_each_checkpoint(s->live->store, &range, see_row, s, s->error);
        if (rc < 0 || s->found)
            return rc < 0 ? rc : 0;
        rc = live_branch(s->live, range.stream, &row, s->error);
        if (rc)
            return rc;
        if (!row.from_seq || row.from_seq >= below)
            return 0;
        range.last = below = row.from_seq;
        range.stream = 0;
        rc = store_get_checkpoint(s->live->store, row.from_seq, note_stream,
                                  &range.stream, s->error);
        if (rc && rc != CAIRN_ENOTFOUND)
            return rc;
    }
    return 0;
}

/* The newest one of all branches. */
static int search_branch(void *context, const struct branch_row *row)
{
    struct searching *s = context;
    struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                     .stream = row->branch,
                                     .first = s->found + 1,
                                     .descending = true};
    int rc = store_each_checkpoint(s->live->store, &range, see_row, s, s->error);
    return rc < 0 ? rc : 0;
}

/* ---- The branch that was current at a time ---- */

struct branch_search {
    struct live *live;
    int64_t until_ns;
    uint64_t first, n; /* the lowest number of a branch of the session; how many */
    uint64_t from_seq; /* of a restore, and when that was: */
    int64_t started_ns;
    uint64_t found; /* 0: not known */
    struct cairn_error *error;
};

static int see_branch(void *context, const struct branch_row *row)
{
    struct branch_search *b = context;
    b->n++;
    if (!b->first || row->branch < b->first)
        b->first = row->branch;
    if (b->from_seq && row->from_seq == b->from_seq && row->started_ns == b->started_ns)
        b->found = row->branch;
    return 0;
}

static int see_move(void *context, const struct session_log_row *row)
{
    struct branch_search *b = context;
    if (row->time_ns > b->until_ns)
        return 0;
    switch (row->verb) {
    case VERB_BRANCHED:
    case VERB_SWITCHED:
    case VERB_BACK:
    case VERB_FORWARD:
        b->found = row->number;
        return 1;
    case VERB_RESTORED: /* on a branch that began then; or the branch stayed */
        b->from_seq = row->number;
        b->started_ns = row->time_ns;
        int rc = store_each_branch(b->live->store, b->live->row.session, see_branch, b,
                                   b->error);
        return rc < 0 ? rc : b->found != 0;
    case VERB_STARTED:
        b->found = b->first;
        return 1;
    default:
        return 0;
    }
}

/* Back from the end of the log; *branch 0: it does not say, since the session came from
 * another store later. One of one branch needs no look at it. */
static int branch_at(struct live *live, int64_t until_ns, uint64_t *branch,
                     struct cairn_error *error)
{
    struct branch_search b = {.live = live, .until_ns = until_ns, .error = error};
    *branch = live->row.branch;
    if (until_ns >= live->now.utc_ns)
        return 0;
    int rc = store_each_branch(live->store, live->row.session, see_branch, &b, error);
    if (!rc && b.n > 1)
        rc = store_each_session_log(live->store, live->row.session, INT64_MAX, true,
                                    see_move, &b, error);
    if (rc >= 0)
        *branch = b.n > 1 ? b.found : b.first;
    return rc < 0 ? rc : 0;
}

/* The newest checkpoint until moment->time, with its tag. */
static int moment_find_time(struct live *live, const struct cairn_moment *moment,
                            uint64_t *seq, struct cairn_error *error)
{
    struct searching s = {.live = live, .tag = moment->tag, .error = error};
    uint64_t branch = 0;
    int rc = when_parse(str_of(moment->time), live->now.utc_ns, &zone_local,
                        &s.until_ns, error)
                 ?: branch_at(live, s.until_ns, &branch, error);
    if (!rc)
        rc = branch ? search_line(&s, branch)
                    : store_each_branch(live->store, live->row.session, search_branch,
                                        &s, error);
    if (!rc && !s.found)
        rc = error_set(error, CAIRN_ENOTFOUND,
                       "session %.*s had no checkpoint%s%.80s%s at that time or before",
                       (int)live->row.name.len, live->row.name.ptr,
                       moment->tag ? " with the tag '" : "",
                       moment->tag ? moment->tag : "", moment->tag ? "'" : "");
    *seq = s.found;
    return rc;
}

/* ---- What it says of itself ---- */

/* What a record says of the task for which it was made; views into it. */
static struct cairn_task_failure failure_of(const struct sections *sections)
{
    const struct task_link *link = &sections->link;
    return (struct cairn_task_failure){.run = link->run,
                                       .checkpoint = link->seq,
                                       .task = link->task.ptr,
                                       .attempt = link->attempt,
                                       .exit_code =
                                           link->end == 0 ? (int)link->code : -1,
                                       .signal = link->end == 1 ? (int)link->code : 0,
                                       .tail = link->tail.ptr,
                                       .tail_bytes = link->tail.len};
}

/* The end of its line of messages. *has: it has one; the texts are in the arena. */
static int read_line(struct cairn_store *store, struct arena *arena,
                     const struct section_ref *ref, struct cairn_message_line *out,
                     struct cairn_error *error)
{
    struct buf content = BUF_INIT;
    struct message_line line;
    int rc = store_get_object(store, &ref->digest, &content, error);
    if (rc == CAIRN_ENOTFOUND)
        rc = error_set(error, CAIRN_EDAMAGED,
                       "the content of its part messages is missing");
    if (!rc)
        rc = message_line_decode(buf_view(&content), &line, error);
    if (!rc) {
        *out = (struct cairn_message_line){.last = line.n,
                                           .messages = line.position,
                                           .tokens_in = line.tokens_in,
                                           .tokens_out = line.tokens_out};
        if (line.model.len)
            out->model = arena_str(arena, line.model).ptr;
        if (line.prompt.len)
            out->prompt = arena_str(arena, line.prompt).ptr;
    }
    buf_release(&content);
    return !rc && arena->failed ? error_nomem(error) : rc;
}

static int add_line(struct cairn_store *store, struct arena *arena,
                    const struct sections *sections, struct cairn_message_line *line,
                    struct cairn_session_checkpoint_info *info,
                    struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < sections->n && !rc; i++)
        if (sections->list[i].kind == SECTION_MESSAGES) {
            rc = read_line(store, arena, &sections->list[i], line, error);
            info->messages = line;
        }
    return rc;
}

static int tell(const struct sections *sections,
                const struct cairn_session_checkpoint_info *known,
                int (*got)(void *, const struct cairn_session_checkpoint_info *),
                void *context, struct cairn_error *error)
{
    struct cairn_session_checkpoint_info info = *known;
    const char **tags = calloc((size_t)sections->n_tags + 1, sizeof *tags);
    if (!tags)
        return error_nomem(error);
    for (uint32_t i = 0; i < sections->n_tags; i++)
        tags[i] = sections->tags[i].ptr; /* texts of an arena end with a NUL */
    for (uint32_t i = 0; i < sections->n; i++)
        if (section_holds(&sections->list[i]) < ITEM_KINDS_END)
            info.items += sections->list[i].n;
    const char *trigger = trigger_name((enum trigger)sections->trigger);
    info.trigger = trigger ? trigger : "unknown";
    info.significant = trigger_is_significant((enum trigger)sections->trigger);
    info.message = sections->message.ptr;
    info.tags = tags;
    info.n_tags = sections->n_tags;
    struct cairn_task_failure failure = failure_of(sections);
    if (sections->linked)
        info.failure = &failure;
    got(context, &info);
    free(tags);
    return 0;
}

int cairn_session_checkpoint_get(
    struct cairn_store *store, const char *id,
    int (*got)(void *, const struct cairn_session_checkpoint_info *), void *context,
    struct cairn_error *error)
{
    struct cairn_session_checkpoint_info info = {0};
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct cairn_message_line line;
    uint64_t seq = 0;
    struct sha256 *sha = sha256_new();
    int rc = sha ? debug_seq(store, id, &seq, error) : error_nomem(error);
    if (!rc)
        rc = cairn_checkpoint_get(store, id, &info.checkpoint, error)
             ?: sections_read(store, sha, seq, &arena, &sections, NULL, error)
             ?: add_line(store, &arena, &sections, &line, &info, error)
             ?: tell(&sections, &info, got, context, error);
    arena_release(&arena);
    sha256_free(sha);
    return rc;
}

/* ==== What led to a checkpoint ==== */

/* The checkpoints that led to one. All records of a branch up to one of its records led
 * to that, and so did the record where the branch begins: links between records are not
 * needed, so damaged and deleted ones in between do not end a line. */

struct walk {
    struct cairn_store *store;
    struct line *line; /* newest first, until it is complete */
    uint64_t from, branch, until;
    bool reached;
    struct cairn_error *error;
};

static int add_row(void *context, const struct checkpoint_row *row)
{
    struct walk *walk = context;
    struct line *line = walk->line;
    struct line_entry *at = array_room(line->at, line->n, &line->capacity, sizeof *at);
    if (!at)
        return error_nomem(walk->error);
    line->at = at;
    at[line->n++] = (struct line_entry){row->seq, row->stream, row->time_ns};
    walk->reached = row->seq == walk->from;
    return walk->reached;
}

static int note_branch(void *context, const struct checkpoint_row *row)
{
    struct walk *walk = context;
    walk->branch = row->namespace_id == NAMESPACE_DEBUG ? row->stream : 0;
    return 0;
}

static int note_start(void *context, const struct branch_row *row)
{
    struct walk *walk = context;
    walk->until = row->from_seq;
    return 0;
}

/* The branch of the record walk->until. */
static int find_branch(struct walk *walk)
{
    int rc =
        store_get_checkpoint(walk->store, walk->until, note_branch, walk, walk->error);
    if (rc != CAIRN_ENOTFOUND && (rc || walk->branch))
        return rc;
    return error_set(walk->error, CAIRN_ENOTFOUND,
                     "there is no checkpoint debug:%llu, where a branch begins: it was "
                     "deleted",
                     (unsigned long long)walk->until);
}

/* One branch, and then where it begins; until 0: nowhere. */
static int walk_branch(struct walk *walk)
{
    struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                     .stream = walk->branch,
                                     .first = walk->from ? walk->from : 1,
                                     .last = walk->until,
                                     .descending = true};
    uint64_t last = walk->until;
    int rc = store_each_checkpoint(walk->store, &range, add_row, walk, walk->error);
    if (rc < 0 || walk->reached)
        return rc < 0 ? rc : 0;
    rc = store_get_branch(walk->store, walk->branch, note_start, walk, walk->error);
    if (!rc && walk->until >= last)
        rc = error_set(walk->error, CAIRN_EDAMAGED,
                       "branch %llu of a session begins at a checkpoint that is newer "
                       "than its own: run `cairn doctor`",
                       (unsigned long long)walk->branch);
    return rc;
}

static void turn_round(struct line *line)
{
    for (size_t i = 0; i < line->n / 2; i++) {
        struct line_entry entry = line->at[i];
        line->at[i] = line->at[line->n - 1 - i];
        line->at[line->n - 1 - i] = entry;
    }
}

int line_load(struct cairn_store *store, uint64_t from, uint64_t to, struct line *line,
              struct cairn_error *error)
{
    struct walk walk = {
        .store = store, .line = line, .from = from, .until = to, .error = error};
    int rc = 0;
    while (!rc && !walk.reached && walk.until && walk.until >= from)
        rc = find_branch(&walk) ?: walk_branch(&walk);
    if (!rc && from && !walk.reached)
        rc = error_set(error, CAIRN_EUSAGE,
                       "checkpoint debug:%llu did not lead to debug:%llu: `cairn "
                       "checkpoint timeline` shows which one did",
                       (unsigned long long)from, (unsigned long long)to);
    if (!rc)
        turn_round(line);
    return rc;
}

static int describe(struct cairn_store *store, struct sha256 *sha,
                    const struct line_entry *entry, struct arena *arena,
                    struct sections *sections, struct cairn_line_entry *out,
                    struct cairn_error *error)
{
    struct sections_at at;
    struct cairn_error why = {0};
    int rc = sections_read(store, sha, entry->seq, arena, sections, &at, &why);
    if (rc && rc != CAIRN_EDAMAGED && rc != CAIRN_ENOTFOUND)
        return error_set(error, rc, "%s", why.text);
    *out = (struct cairn_line_entry){.seq = entry->seq,
                                     .branch = entry->branch,
                                     .time_ns = rc ? entry->time_ns : at.time_ns,
                                     .damaged = rc != 0};
    if (rc)
        checkpoint_number(NAMESPACE_DEBUG, entry->seq, out->id);
    else
        checkpoint_id(NAMESPACE_DEBUG, entry->seq, &at.ref.digest, out->id);
    return 0;
}

int line_describe(struct cairn_store *store, struct sha256 *sha,
                  const struct line_entry *entry, struct cairn_line_entry *out,
                  struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    int rc = describe(store, sha, entry, &arena, &sections, out, error);
    arena_release(&arena);
    return rc;
}

/* ---- Public ---- */

int line_present_seq(struct live *live, uint64_t *seq, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct chain head;
    int rc = store_last_seq(live->store, NAMESPACE_DEBUG, live->row.branch, seq, error);
    if (rc || *seq)
        return rc;
    rc = sections_open(live->store, live->sha, live->row.branch, &head, &arena, NULL,
                       error);
    arena_release(&arena);
    *seq = rc ? 0 : head.parent;
    if (rc || *seq)
        return rc;
    return error_set(
        error, CAIRN_ENOTFOUND,
        "session %.*s has no checkpoint: `cairn checkpoint create MESSAGE` "
        "makes one",
        (int)live->row.name.len, live->row.name.ptr);
}

/* A damaged record is as good as a sound one for its place in a line. */
static int place_of(struct cairn_store *store, const char *id, uint64_t *seq,
                    struct cairn_error *error)
{
    int rc = debug_seq(store, id, seq, error);
    return rc == CAIRN_EDAMAGED && *seq ? 0 : rc;
}

static int load_public(struct cairn_store *store, const char *session, const char *from,
                       const char *to, struct line *line, struct cairn_error *error)
{
    struct live live;
    uint64_t first = 0, last = 0;
    int rc = to ? live_begin(&live, store, false, error)
                : live_read(&live, store, session, error);
    if (!rc)
        rc = to ? place_of(store, to, &last, error)
                : line_present_seq(&live, &last, error);
    if (!rc && from)
        rc = place_of(store, from, &first, error);
    if (!rc)
        rc = line_load(store, first, last, line, error);
    return live_close(&live, rc, error);
}

/* What the one before it holds. */
struct held {
    struct section_ref list[SECTIONS_MOST];
    uint32_t n;
    bool known;
};

static bool is_held(const struct held *held, const struct sections *now)
{
    bool same = held->known && held->n == now->n;
    for (uint32_t i = 0; i < now->n && same; i++)
        same = held->list[i].kind == now->list[i].kind &&
               digest_equal(&held->list[i].digest, &now->list[i].digest);
    return same;
}

static int tell_entry(struct cairn_store *store, struct sha256 *sha,
                      const struct line_entry *at, struct held *held,
                      int (*each)(void *, const struct cairn_line_entry *),
                      void *context, int *stopped, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct sections sections = {0};
    struct cairn_task_failure failure;
    struct cairn_line_entry entry;
    int rc = describe(store, sha, at, &arena, &sections, &entry, error);
    bool sound = !rc && !entry.damaged;
    if (sound) {
        failure = failure_of(&sections);
        entry.trigger = trigger_name((enum trigger)sections.trigger);
        entry.trigger = entry.trigger ? entry.trigger : "unknown";
        entry.message = sections.message.ptr;
        entry.failure = sections.linked ? &failure : NULL;
        entry.same_state = is_held(held, &sections);
        memcpy(held->list, sections.list, sizeof held->list);
        held->n = sections.n;
    }
    held->known = sound;
    if (!rc)
        *stopped = each(context, &entry);
    arena_release(&arena);
    return rc;
}

int cairn_session_line(struct cairn_store *store, const char *session, const char *from,
                       const char *to,
                       int (*each)(void *, const struct cairn_line_entry *),
                       void *context, struct cairn_error *error)
{
    struct line line = {0};
    struct held held = {.known = false};
    struct sha256 *sha = sha256_new();
    int stopped = 0;
    int rc =
        sha ? load_public(store, session, from, to, &line, error) : error_nomem(error);
    for (size_t i = 0; i < line.n && !rc && !stopped; i++)
        rc = tell_entry(store, sha, &line.at[i], &held, each, context, &stopped, error);
    free(line.at);
    sha256_free(sha);
    return rc;
}

/* ==== Names ==== */

/* What people call a checkpoint, in the order in which it is tried:
 *
 *     debug:42-9f3ac1d20b7e  42  9f3a    an id, its number, digits of its digest
 *     head  @  latest                    the newest one of the current branch
 *     now  2 hours ago  2025-01-20 14:30 the newest one until that time
 *     before-the-fix                     a label, then a tag: the newest one with it
 *     spike                              a branch: its newest one
 *     try a smaller buffer               a message, or how only one message begins
 *
 * Behind each may stand ~N, ~ or ^ (behind @ also -): so many steps back on the line
 * that led to it. */

/* ---- Steps back ---- */

/* Takes a suffix off; false: there is none, or its number is too large. */
static bool take_step(struct str *text, uint64_t *steps)
{
    size_t n = text->len, digits = 0;
    uint64_t number = 0, unit = 1;
    while (digits < n && digits < 9 && text->ptr[n - 1 - digits] >= '0' &&
           text->ptr[n - 1 - digits] <= '9') {
        number += unit * (uint64_t)(text->ptr[n - 1 - digits++] - '0');
        unit *= 10;
    }
    n -= digits;
    if (n < 2)
        return false;
    char sign = text->ptr[n - 1];
    bool bare = sign == '^' || (sign == '-' && text->ptr[0] == '@');
    if ((sign != '~' && !bare) || (bare && digits))
        return false;
    *steps += digits ? number : 1;
    text->len = n - 1;
    return true;
}

static int step_back(struct live *live, uint64_t steps, uint64_t *seq,
                     struct cairn_error *error)
{
    struct line line = {0};
    int rc = line_load(live->store, 0, *seq, &line, error);
    if (!rc && steps >= line.n)
        rc = error_set(error, CAIRN_ENOTFOUND,
                       "there %s only %zu checkpoint%s before debug:%llu on its line",
                       line.n == 2 ? "is" : "are", line.n - 1, line.n == 2 ? "" : "s",
                       (unsigned long long)*seq);
    if (!rc)
        *seq = line.at[line.n - 1 - steps].seq;
    free(line.at);
    return rc;
}

/* ---- Labels, tags, branches, messages ---- */

struct naming {
    struct live *live;
    struct str name;
    uint64_t labelled, tagged, branch, said; /* seq, 0: none */
    uint32_t begin;                          /* how many messages begin with the name */
    struct cairn_error *error;
};

static int see_label(void *context, const struct annotation_row *row)
{
    struct naming *n = context;
    if (row->kind == ANNOTATION_LABEL && str_equal(clean_str(row->text), n->name) &&
        row->seq > n->labelled)
        n->labelled = row->seq;
    return 0;
}

static bool is_of_session(struct naming *n, uint64_t seq)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct sections_at at;
    int rc =
        sections_read(n->live->store, n->live->sha, seq, &arena, &sections, &at, NULL);
    arena_release(&arena);
    return !rc && at.session == n->live->row.session;
}

static void see_message(struct naming *n, struct str message, uint64_t seq)
{
    enum { LEAST = 3 }; /* less would fit by chance */
    if (message.len < n->name.len || n->name.len < LEAST ||
        memcmp(message.ptr, n->name.ptr, n->name.len) != 0)
        return;
    n->begin++;
    if (seq > n->said)
        n->said = seq;
}

/* A damaged record has no words to go by, and is named by its number. */
static int see_words(void *context, const struct checkpoint_row *row)
{
    struct naming *n = context;
    struct arena arena = ARENA_INIT;
    struct sections sections;
    int rc = sections_read(n->live->store, n->live->sha, row->seq, &arena, &sections,
                           NULL, n->error);
    for (uint32_t i = 0; !rc && i < sections.n_tags; i++)
        if (str_equal(sections.tags[i], n->name) && row->seq > n->tagged)
            n->tagged = row->seq;
    if (!rc)
        see_message(n, sections.message, row->seq);
    arena_release(&arena);
    return rc == CAIRN_EDAMAGED ? 0 : rc;
}

static int see_named_branch(void *context, const struct branch_row *row)
{
    struct naming *n = context;
    struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                     .stream = row->branch};
    int rc = 0;
    if (str_equal(clean_str(row->name), n->name)) {
        rc = store_last_seq(n->live->store, NAMESPACE_DEBUG, row->branch, &n->branch,
                            n->error);
        if (!rc && !n->branch)
            n->branch = row->from_seq;
    }
    return rc ?: store_each_checkpoint(n->live->store, &range, see_words, n, n->error);
}

static int find_by_words(struct live *live, struct str name, uint64_t *seq,
                         struct cairn_error *error)
{
    struct naming n = {.live = live, .name = name, .error = error};
    int rc = store_each_annotation(live->store, 0, see_label, &n, error);
    if (!rc && n.labelled && is_of_session(&n, n.labelled)) {
        *seq = n.labelled;
        return 0;
    }
    if (!rc)
        rc = store_each_branch(live->store, live->row.session, see_named_branch, &n,
                               error);
    if (rc)
        return rc;
    *seq = n.tagged ? n.tagged : n.branch ? n.branch : n.begin == 1 ? n.said : 0;
    if (*seq)
        return 0;
    return n.begin
               ? error_set(error, CAIRN_EAMBIGUOUS,
                           "%u messages of checkpoints begin with '%.*s': give an id "
                           "(`cairn checkpoint list` has them)",
                           n.begin, (int)name.len, name.ptr)
               : error_set(
                     error, CAIRN_ENOTFOUND,
                     "session %.*s has no checkpoint '%.*s': give an id, a label, "
                     "a tag, how a message begins (3 bytes or more), a branch, head, "
                     "head~2, or a "
                     "time such as '2 hours ago' (`cairn checkpoint list` shows "
                     "them)",
                     (int)live->row.name.len, live->row.name.ptr, (int)name.len,
                     name.ptr);
}

/* ---- All of it ---- */

static bool is_head(struct str name)
{
    static const char *const words[] = {"head", "@", "latest", "newest"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strlen(words[i]) == name.len &&
            strncasecmp(words[i], name.ptr, name.len) == 0)
            return true;
    return false;
}

/* May begin a digest, and may be a word: "added". As long as digests are printed it is
 * one. */
static bool is_hex_word(struct str name)
{
    enum { LEAST = 4, PRINTED = 12 };
    for (size_t i = 0; i < name.len; i++)
        if ((name.ptr[i] | 0x20) < 'a' || (name.ptr[i] | 0x20) > 'f')
            return false;
    return name.len >= LEAST && name.len < PRINTED;
}

int session_check_new_name(const char *what, struct str name, struct cairn_error *error)
{
    struct str base = name;
    uint64_t steps;
    const char *reads =
        checkpoint_is_like_id(name) && !is_hex_word(name)
            ? "the id of a checkpoint: give another one, such as 'fix-7'"
        : is_head(name) ? "the newest checkpoint: give another one, such as 'good'"
        : when_is_like_time(name)
            ? "a time: give another one, such as 'build-2026-11-01'"
        : take_step(&base, &steps)
            ? "a checkpoint so many steps back: give a name that does "
              "not end in ~, ^ or ~N"
            : NULL;
    return reads ? error_set(error, CAIRN_EUSAGE, "'%.*s' cannot be %s: it reads as %s",
                             (int)utf8_fit(name, 80), name.ptr, what, reads)
                 : 0;
}

/* A text that begins with a digit or is like a time is meant as one: what is wrong in
 * it is reported where nothing is called so. */
static int find_by_time_or_words(struct live *live, struct str name, const char *text,
                                 uint64_t *seq, struct cairn_error *error)
{
    struct cairn_moment moment = {.time = text};
    struct cairn_error why = {0};
    int64_t utc_ns;
    int as_time = when_parse(name, live->now.utc_ns, &zone_local, &utc_ns, &why);
    if (!as_time)
        return moment_find_time(live, &moment, seq, error);
    int rc = find_by_words(live, name, seq, error);
    if (rc == CAIRN_ENOTFOUND && name.len &&
        ((name.ptr[0] >= '0' && name.ptr[0] <= '9') || when_is_like_time(name)))
        rc = error_set(error, as_time, "%s", why.text);
    return rc;
}

/* A digest that begins with a word names no checkpoint where another is called so. */
static int check_not_named(struct live *live, struct str name, uint64_t seq,
                           struct cairn_error *error)
{
    char named[CAIRN_ID_MAX], digest[CAIRN_ID_MAX];
    uint64_t other;
    int rc = find_by_words(live, name, &other, error);
    if (rc == CAIRN_ENOTFOUND || (!rc && other == seq))
        return 0;
    if (rc)
        return rc;
    checkpoint_number(NAMESPACE_DEBUG, other, named);
    checkpoint_number(NAMESPACE_DEBUG, seq, digest);
    return error_set(error, CAIRN_EAMBIGUOUS,
                     "'%.*s' is the name of %s, and the digest of %s begins with it: "
                     "give an id",
                     (int)name.len, name.ptr, named, digest);
}

static int find_base(struct live *live, const char *text, uint64_t *seq,
                     struct cairn_error *error)
{
    struct str name = str_of(text);
    struct cairn_error why = {0};
    if (is_head(name))
        return line_present_seq(live, seq, error);
    int rc = debug_seq(live->store, text, seq, &why);
    if (!rc && is_hex_word(name))
        rc = check_not_named(live, name, *seq, &why);
    if (rc == CAIRN_EUSAGE || (rc == CAIRN_ENOTFOUND && !strchr(text, ':')))
        rc = find_by_time_or_words(live, name, text, seq, &why);
    return rc ? error_set(error, rc, "%s", why.text) : 0;
}

static int checkpoint_named(struct live *live, const char *text, uint64_t *seq,
                            struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct cairn_error why = {0};
    struct str base = str_of(text);
    uint64_t steps = 0;
    while (take_step(&base, &steps))
        ;
    struct str copy = arena_str(&arena, base);
    int rc = copy.ptr ? find_base(live, copy.ptr, seq, &why) : error_nomem(&why);
    if (rc && steps && copy.ptr) { /* `v1~2` may be a label */
        steps = 0;
        rc = find_base(live, text, seq, &why);
    }
    if (!rc && steps)
        rc = step_back(live, steps, seq, &why);
    arena_release(&arena);
    return rc ? error_set(error, rc, "%s", why.text) : 0;
}

/* ---- By number or id ---- */

static int check_meant(struct live *live, uint64_t seq, const char *tag,
                       struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct sections_at at;
    char number[CAIRN_ID_MAX];
    int rc = sections_read(live->store, live->sha, seq, &arena, &sections, &at, error);
    bool of_session = !rc && (!at.session || at.session == live->row.session);
    bool tagged = !rc && sections_have_tag(&sections, tag);
    arena_release(&arena);
    if (rc || (of_session && tagged))
        return rc;
    checkpoint_number(NAMESPACE_DEBUG, seq, number);
    return of_session ? error_set(error, CAIRN_ENOTFOUND,
                                  "checkpoint %s has no tag '%.80s'", number, tag)
                      : error_set(error, CAIRN_ENOTFOUND,
                                  "checkpoint %s is not one of session %.*s", number,
                                  (int)live->row.name.len, live->row.name.ptr);
}

static int find_meant(struct live *live, const struct cairn_moment *moment,
                      uint64_t *seq, struct cairn_error *error)
{
    int given = (moment->time != NULL) + (moment->seq != 0) + (moment->id != NULL) +
                (moment->name != NULL);
    if (given != 1)
        return error_set(error, CAIRN_EUSAGE,
                         "give one of a time, a sequence number, an id and a name, not "
                         "%s",
                         given ? "several" : "none");
    if (moment->name && !moment->tag)
        return checkpoint_named(live, moment->name, seq, error);
    if (moment->time)
        return moment_find_time(live, moment, seq, error);
    *seq = moment->seq;
    int rc = moment->id     ? debug_seq(live->store, moment->id, seq, error)
             : moment->name ? checkpoint_named(live, moment->name, seq, error)
                            : 0;
    return rc ?: check_meant(live, *seq, moment->tag, error);
}

int cairn_session_at(struct cairn_store *store, const char *session,
                     const struct cairn_moment *moment,
                     struct cairn_checkpoint_info *info, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_moment, moment, error);
    struct live live;
    uint64_t seq = 0;
    char id[CAIRN_ID_MAX];
    int rc = live_read(&live, store, session, error)
                 ?: find_meant(&live, moment, &seq, error);
    rc = live_close(&live, rc, error);
    if (rc)
        return rc;
    checkpoint_number(NAMESPACE_DEBUG, seq, id);
    return cairn_checkpoint_get(store, id, info, error);
}

/* ==== Labels and notes ==== */

/* Labels and notes of checkpoints, of runs, too: without secrets, as the session of the
 * checkpoint, the current session and the workflows of the store name them, and by
 * their looks. */

/* The session that a checkpoint belongs to, as a number; "": none, or there is no such
 * checkpoint, which is said by who looks for it next. */
static void session_of(struct cairn_store *store, const char *id, char out[24])
{
    struct cairn_checkpoint_info info = {0};
    struct cairn_error none = {0};
    out[0] = '\0';
    if (cairn_checkpoint_get(store, id, &info, &none) == 0 && info.session)
        u64_text(info.session, out);
}

/* By the current session, and by that of the checkpoint. What is not a text is refused
 * later. */
static int take(struct cairn_store *store, const char *id, struct outside_text *text,
                struct arena *arena, struct clean *out, struct cairn_error *error)
{
    char own[24];
    session_of(store, id, own);
    const char *sessions[] = {NULL, own};
    int rc = 0;
    for (size_t i = 0; i < 2 && !rc && (!i || own[0]); i++) {
        struct redactor *redactor = NULL;
        rc = redactor_of_session(store, sessions[i], live_redactor, &redactor, error);
        struct outside outside = {redactor, true, store};
        if (!rc)
            rc = outside_take(&outside, text, arena, out, error);
        redactor_free(redactor);
        text->text = rc ? STR("") : clean_str(*out);
    }
    return rc;
}

int cairn_checkpoint_note(struct cairn_store *store, const char *id, const char *text,
                          const char *severity, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct clean clean = CLEAN("");
    struct outside_text given = {OUTSIDE_PROSE, "the note", str_of(text), NULL};
    int rc =
        utf8_is_text(given.text) ? take(store, id, &given, &arena, &clean, error) : 0;
    if (!rc)
        rc = checkpoint_note(store, id, clean, severity, error);
    arena_release(&arena);
    return rc;
}

int cairn_checkpoint_label(struct cairn_store *store, const char *id, const char *label,
                           bool on, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct clean clean;
    struct outside_text given = {OUTSIDE_NAME, "the label", str_of(label), NULL};
    int rc = on ? session_check_new_name("a label", given.text, error) : 0;
    if (!rc && on)
        rc = take(store, id, &given, &arena, &clean, error);
    if (!rc)
        rc = checkpoint_label(store, id, on ? clean : clean_stored(given.text), on,
                              error);
    arena_release(&arena);
    return rc;
}
