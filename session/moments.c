/* SPDX-License-Identifier: MIT */
/* Which checkpoint of a session is meant, and what it says of itself. */
#include "cairn/message.h"
#include "session/session_int.h"
#include "session/when.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"

#include <stdio.h>
#include <stdlib.h>

bool sections_have_tag(const struct sections *sections, const char *tag)
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

int moment_find_time(struct live *live, const struct cairn_moment *moment,
                     uint64_t *seq, struct cairn_error *error)
{
    struct searching s = {.live = live, .tag = moment->tag, .error = error};
    uint64_t branch = 0;
    int rc = when_parse(str_of(moment->time), live->now.utc_ns, &zone_local,
                        &s.until_ns, error);
    if (!rc)
        rc = branch_at(live, s.until_ns, &branch, error);
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

struct cairn_task_failure failure_of(const struct sections *sections)
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
        if (sections->list[i].kind < ITEM_KINDS_END)
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
        rc = cairn_checkpoint_get(store, id, &info.checkpoint, error);
    if (!rc)
        rc = sections_read(store, sha, seq, &arena, &sections, NULL, error);
    if (!rc)
        rc = add_line(store, &arena, &sections, &line, &info, error);
    if (!rc)
        rc = tell(&sections, &info, got, context, error);
    arena_release(&arena);
    sha256_free(sha);
    return rc;
}
