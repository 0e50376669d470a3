/* SPDX-License-Identifier: MIT */
#include "session/files/history_int.h"

#include "base/array.h"
#include "session/line_int.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

#include <stdlib.h>

/* ---- Which there are ---- */

static int add_step(struct history *h, const struct step *step)
{
    struct step *steps =
        h->n < STEP_NONE ? array_room(h->steps, h->n, &h->room, sizeof *steps) : NULL;
    if (!steps)
        return error_nomem(h->error);
    h->steps = steps;
    steps[h->n++] = *step;
    return 0;
}

static int load_line(struct history *h, const char *at)
{
    struct line line = {0};
    uint64_t seq = 0;
    int rc = at ? debug_seq(h->live.store, at, &seq, h->error)
                : line_present_seq(&h->live, &seq, h->error);
    if (!rc)
        rc = line_load(h->live.store, 0, seq, &line, h->error);
    for (size_t i = 0; i < line.n && !rc; i++) {
        struct step step = {.seq = line.at[i].seq,
                            .branch = line.at[i].branch,
                            .time_ns = line.at[i].time_ns,
                            .before = i ? (uint32_t)i - 1 : STEP_NONE};
        rc = add_step(h, &step);
    }
    free(line.at);
    h->newest = h->n ? (uint32_t)h->n - 1 : STEP_NONE;
    return rc;
}

static int load_one(struct history *h, const char *at)
{
    struct step step = {.before = STEP_NONE};
    int rc = debug_seq(h->live.store, at, &step.seq, h->error);
    if (!rc)
        rc = add_step(h, &step);
    h->newest = 0;
    return rc;
}

/* Where a branch begins and where it has come to. */
struct branch_end {
    uint64_t branch, from_seq;
    uint32_t last; /* its last step, STEP_NONE: none yet */
};
struct branches {
    struct history *h;
    struct branch_end *at;
    size_t n, room;
};

static int add_branch(void *context, const struct branch_row *row)
{
    struct branches *b = context;
    struct branch_end *at = array_room(b->at, b->n, &b->room, sizeof *at);
    if (!at)
        return error_nomem(b->h->error);
    b->at = at;
    at[b->n++] = (struct branch_end){row->branch, row->from_seq, STEP_NONE};
    return 0;
}

static struct branch_end *find_branch(struct branches *b, uint64_t branch)
{
    size_t low = 0, high = b->n; /* they come by number */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->at[middle].branch == branch)
            return &b->at[middle];
        if (b->at[middle].branch < branch)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static uint32_t find_step(const struct history *h, uint64_t seq)
{
    size_t low = 0, high = h->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (h->steps[middle].seq == seq)
            return (uint32_t)middle;
        if (h->steps[middle].seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return STEP_NONE;
}

static int add_row(void *context, const struct checkpoint_row *row)
{
    struct branches *b = context;
    struct branch_end *branch = find_branch(b, row->stream);
    if (!branch)
        return 0; /* its row is damaged: nobody knows whose it is */
    struct step step = {.seq = row->seq,
                        .branch = row->stream,
                        .time_ns = row->time_ns,
                        .before = branch->last};
    if (step.before == STEP_NONE && branch->from_seq)
        step.before = find_step(b->h, branch->from_seq);
    branch->last = (uint32_t)b->h->n;
    return add_step(b->h, &step);
}

static int load_all(struct history *h)
{
    struct branches branches = {.h = h};
    struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                     .session = h->live.row.session};
    uint64_t seq = 0;
    int rc = store_each_branch(h->live.store, h->live.row.session, add_branch,
                               &branches, h->error);
    if (!rc)
        rc = store_each_checkpoint(h->live.store, &range, add_row, &branches, h->error);
    free(branches.at);
    if (!rc)
        rc = line_present_seq(&h->live, &seq, h->error);
    h->newest = rc ? STEP_NONE : find_step(h, seq);
    return rc;
}

int history_open(struct history *h, struct cairn_store *store, const char *session,
                 const char *at, bool all, struct cairn_error *error)
{
    *h = (struct history){.newest = STEP_NONE, .error = error};
    int rc = at ? live_begin(&h->live, store, false, error)
                : live_read(&h->live, store, session, error);
    if (rc)
        return rc;
    if (at && all)
        return load_one(h, at);
    return all ? load_all(h) : load_line(h, at);
}

int history_close(struct history *h, int rc)
{
    free(h->steps);
    return live_close(&h->live, rc, h->error);
}

/* ---- What they hold ---- */

static int read_root(struct history *h, const struct digest *snapshot)
{
    struct arena arena = ARENA_INIT;
    struct snapshot_head head;
    if (h->has_last && digest_equal(&h->snapshot, snapshot))
        return 0;
    int rc = snapshot_read(h->live.store, snapshot, &arena, &head, h->error);
    h->has_last = !rc;
    if (!rc) {
        h->snapshot = *snapshot;
        h->root = head.root;
    }
    arena_release(&arena);
    return rc;
}

int history_read(struct history *h, uint32_t at)
{
    struct step *step = &h->steps[at];
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct sections_at read;
    if (step->state != STEP_UNREAD)
        return 0;
    int rc = sections_read(h->live.store, h->live.sha, step->seq, &arena, &sections,
                           &read, h->error);
    const struct section_ref *files = rc ? NULL : files_section(&sections);
    step->state = files ? STEP_FILES : STEP_EMPTY;
    if (!rc) {
        step->branch = read.branch;
        step->time_ns = read.time_ns;
    }
    if (files)
        rc = read_root(h, &files->digest);
    if (!rc && files)
        step->root = h->root;
    if (rc == CAIRN_EDAMAGED) {
        step->state = STEP_DAMAGED;
        rc = 0;
    }
    arena_release(&arena);
    return rc;
}

int history_before(struct history *h, uint32_t at, uint32_t *before)
{
    int rc = 0;
    for (*before = h->steps[at].before; *before != STEP_NONE && !rc;
         *before = h->steps[*before].before) {
        rc = history_read(h, *before);
        if (rc || h->steps[*before].state == STEP_FILES)
            break;
    }
    return rc;
}

/* ---- What they say ---- */

static int read_prompt(struct history *h, const struct digest *digest,
                       struct arena *arena, const char **prompt)
{
    struct buf content = BUF_INIT;
    struct message_line line;
    int rc = store_get_object(h->live.store, digest, &content, h->error);
    if (!rc)
        rc = message_line_decode(buf_view(&content), &line, h->error);
    if (!rc && line.prompt.len)
        *prompt = arena_str(arena, line.prompt).ptr;
    buf_release(&content);
    return rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND ? 0 : rc; /* it describes */
}

int history_tell(struct history *h, uint32_t at, struct arena *arena,
                 struct step_told *out)
{
    const struct step *step = &h->steps[at];
    struct sections sections = {0};
    struct sections_at read;
    struct branch_row branch;
    *out = (struct step_told){.message = "", .branch = ""};
    checkpoint_number(NAMESPACE_DEBUG, step->seq, out->id);
    int rc = sections_read(h->live.store, h->live.sha, step->seq, arena, &sections,
                           &read, h->error);
    if (!rc) {
        checkpoint_id(NAMESPACE_DEBUG, step->seq, &read.ref.digest, out->id);
        out->message = sections.message.len ? sections.message.ptr : "";
    }
    for (uint32_t i = 0; !rc && i < sections.n; i++)
        if (sections.list[i].kind == SECTION_MESSAGES)
            rc = read_prompt(h, &sections.list[i].digest, arena, &out->prompt);
    if (rc == CAIRN_EDAMAGED)
        rc = 0;
    if (!rc)
        rc = live_branch(&h->live, step->branch, &branch, h->error);
    if (!rc)
        out->branch = branch.name.ptr;
    if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND)
        rc = 0;
    return !rc && arena->failed ? error_nomem(h->error) : rc;
}
