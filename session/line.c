/* SPDX-License-Identifier: MIT */
/* The checkpoints that led to one. All records of a branch up to one of its records led
 * to that, and so did the record where the branch begins: links between records are not
 * needed, so damaged and deleted ones in between do not end a line. */
#include "session/line_int.h"

#include "base/array.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

#include <stdlib.h>
#include <string.h>

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
    while (!rc && !walk.reached && walk.until && walk.until >= from) {
        rc = find_branch(&walk);
        if (!rc)
            rc = walk_branch(&walk);
    }
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
