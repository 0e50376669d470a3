/* SPDX-License-Identifier: MIT */
/* The files of all checkpoints: versions of one file, lines in all versions, and where
 * a line came to be. */
#include "session/files/files_int.h"

#include "session/line_int.h"
#include "session/session_int.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/struct_take.h"
#include "cairn/files.h"
#include "snapshot/diff.h"
#include "snapshot/ignore.h"
#include "snapshot/search.h"
#include "snapshot/snapshot.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

#include <stdlib.h>

#define STEP_NONE UINT32_MAX

enum step_state { STEP_UNREAD, STEP_FILES, STEP_EMPTY, STEP_DAMAGED };

/* What is reported for a step. The texts are in the arena. */
struct step_told {
    char id[CAIRN_ID_MAX];
    const char *message; /* may be empty */
    const char *branch;  /* its name, or "" where its row is lost */
    const char *prompt;  /* the last one of the user then, or NULL */
};

/* ==== The checkpoints, in order ==== */

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
    int rc = debug_seq(h->live.store, at, &step.seq, h->error) ?: add_step(h, &step);
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
                               &branches, h->error)
                 ?: store_each_checkpoint(h->live.store, &range, add_row, &branches,
                                          h->error);
    free(branches.at);
    if (!rc)
        rc = line_present_seq(&h->live, &seq, h->error);
    h->newest = rc ? STEP_NONE : find_step(h, seq);
    return rc;
}

/* Begins a read transaction. The steps are those that led to the present state of the
 * session, or to a checkpoint (`at` not NULL); `all`: those of all its branches, or
 * `at` alone. A branch whose beginning was deleted begins with what is left of it.
 * CAIRN_ENOTFOUND: there are none. history_close in any case. */
static int history_open(struct history *h, struct cairn_store *store,
                        const char *session, const char *at, bool all,
                        struct cairn_error *error)
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

static int history_close(struct history *h, int rc)
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

/* What a step holds is read once: 0, and its state says the rest. Damage is a state,
 * too. */
static int history_read(struct history *h, uint32_t at)
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

/* The nearest step before that holds files, passing over others; or STEP_NONE. */
static int history_before(struct history *h, uint32_t at, uint32_t *before)
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
    int rc = store_get_object(h->live.store, digest, &content, h->error)
                 ?: message_line_decode(buf_view(&content), &line, h->error);
    if (!rc && line.prompt.len)
        *prompt = arena_str(arena, line.prompt).ptr;
    buf_release(&content);
    return rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND ? 0 : rc; /* it describes */
}

static int history_tell(struct history *h, uint32_t at, struct arena *arena,
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

/* ---- Parts ---- */

/* When a part has taken long enough, of which it may use `share` percent. */
static int64_t part_until(const struct cairn_files_part *part, unsigned share)
{
    return part && part->limit_ms
               ? clock_mono_ns() + (int64_t)part->limit_ms * 10000 * share
               : INT64_MAX;
}

static bool is_late(int64_t until_ns)
{
    return until_ns != INT64_MAX && clock_mono_ns() >= until_ns;
}

/* How many steps are up to that checkpoint. */
static size_t steps_up_to(const struct history *h, uint64_t seq)
{
    size_t low = 0, high = h->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (h->steps[middle].seq <= seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ==== The versions of one file ==== */

/* The versions of one path. */

struct logging {
    struct history h;
    struct trail trail;
    int (*each)(void *, const struct cairn_file_version *);
    void *context;
    uint64_t left; /* how many more may be reported */
    struct cairn_files_part *part;
    uint64_t told, damaged;
    bool stopped;
};

/* What a path was in one state. */
struct look {
    bool damaged;
    const struct tree_entry *entry; /* NULL: it was not there */
};

static int look_at(struct logging *l, uint32_t step, struct look *look)
{
    *look = (struct look){.damaged = false};
    if (step == STEP_NONE)
        return 0;
    int rc = history_read(&l->h, step);
    const struct step *at = &l->h.steps[step];
    look->damaged = at->state == STEP_DAMAGED;
    if (rc || at->state != STEP_FILES)
        return rc;
    rc = trail_look(&l->trail, l->h.live.store, &at->root, &look->entry, l->h.error);
    look->damaged = rc == CAIRN_EDAMAGED;
    return look->damaged ? 0 : rc;
}

static const char *change_name(const struct look *before, const struct look *after)
{
    const struct tree_entry *a = before->entry, *b = after->entry;
    if (after->damaged)
        return "damaged";
    if (!a || !b)
        return b ? "added" : a ? "removed" : NULL;
    if (tree_same(a, b))
        return NULL;
    struct tree_entry with_mode = *b;
    with_mode.mode = a->mode;
    return tree_same(a, &with_mode) ? "mode" : "changed";
}

static int give_version(struct logging *l, uint32_t step, const char *change,
                        const struct look *look)
{
    struct arena arena = ARENA_INIT;
    struct step_told told;
    struct cairn_file file;
    const char *path = arena_text(&arena, l->trail.path);
    struct cairn_file_version version = {.change = change,
                                         .seq = l->h.steps[step].seq,
                                         .time_ns = l->h.steps[step].time_ns};
    int rc = path ? history_tell(&l->h, step, &arena, &told) : error_nomem(l->h.error);
    if (!rc && look->entry && !files_tell(&arena, path, look->entry, &file))
        rc = error_nomem(l->h.error);
    if (!rc) {
        memcpy(version.id, told.id, sizeof version.id);
        version.message = told.message;
        version.branch = told.branch;
        version.file = look->entry ? &file : NULL;
        l->told += !look->damaged;
        l->stopped = l->each(l->context, &version) || --l->left == 0;
    }
    arena_release(&arena);
    return rc;
}

/* A state that is damaged is passed over by what is compared with it. */
static int look_before(struct logging *l, uint32_t step, struct look *look)
{
    uint32_t before = step;
    int rc;
    do {
        rc = history_before(&l->h, before, &before) ?: look_at(l, before, look);
    } while (!rc && look->damaged);
    return rc;
}

static int log_step(struct logging *l, uint32_t step)
{
    struct look after, before = {.damaged = false};
    int rc = look_at(l, step, &after);
    if (rc || (l->h.steps[step].state == STEP_EMPTY))
        return rc;
    l->damaged += after.damaged;
    if (!after.damaged)
        rc = look_before(l, step, &before);
    const char *change = rc ? NULL : change_name(&before, &after);
    return change ? give_version(l, step, change, &after) : rc;
}

static int log_all(struct logging *l)
{
    struct cairn_files_part *part = l->part;
    int64_t until_ns = part_until(part, 100);
    size_t left = part && part->from ? steps_up_to(&l->h, part->from) : l->h.n;
    int rc = 0;
    do {
        if (left > 0)
            rc = log_step(l, (uint32_t)--left);
    } while (left > 0 && !rc && !l->stopped && !is_late(until_ns));
    if (part)
        part->next = left > 0 ? l->h.steps[left - 1].seq : 0;
    if (rc || l->stopped)
        return rc;
    if (l->damaged)
        return error_set(l->h.error, CAIRN_EDAMAGED,
                         "%llu of the checkpoints cannot be read: `cairn checkpoint "
                         "verify` says why",
                         (unsigned long long)l->damaged);
    if (!l->told && (!part || (!part->from && !part->next)))
        return error_set(l->h.error, CAIRN_ENOTFOUND,
                         "none of %llu checkpoints holds %.200s: `cairn checkpoint "
                         "files` shows what there is",
                         (unsigned long long)l->h.n, l->trail.path.ptr);
    return 0;
}

int cairn_files_log(struct cairn_store *store, const char *session, const char *path,
                    bool all, uint64_t most, struct cairn_files_part *part,
                    int (*each)(void *, const struct cairn_file_version *),
                    void *context, struct cairn_error *error)
{
    struct cairn_files_part *given = part;
    STRUCT_TAKE_IF(cairn_files_part, part, error);
    struct logging l = {.trail = trail_begin(str_of(path)),
                        .each = each,
                        .context = context,
                        .left = most ? most : UINT64_MAX,
                        .part = part};
    int rc = history_open(&l.h, store, session, NULL, all, error) ?: log_all(&l);
    STRUCT_GIVE(cairn_files_part, given, part);
    trail_end(&l.trail);
    return history_close(&l.h, rc);
}

/* ==== Lines in all versions ==== */

/* Searching in all versions of all files. First the trees are compared, which says
 * where each version came and went; then each content is read once. */

enum { GREP_STOP = 1, GREP_BINARY = 2 };

enum content_state { CONTENT_UNREAD, CONTENT_WITHOUT, CONTENT_WITH, CONTENT_DAMAGED };

/* A content under a path. */
struct version {
    struct str key; /* the digest, and then the path, which ends with a NUL */
    struct tree_entry entry;
    uint32_t first, last; /* steps; last: the newest known one that has it */
    uint32_t nth;         /* of what differs in the first */
    uint8_t state;        /* enum content_state, of the first one with the content */
};

struct grep {
    const struct cairn_files_search *options;
    struct history h;
    struct search_pattern pattern;
    struct paths paths;
    bool has_paths;
    struct arena arena;
    struct version *versions;
    size_t n, room;
    struct map known, contents; /* by key, and by the digest alone */
    bool *has_next;             /* of each step: it is not the end of a line */
    uint32_t begin, end;        /* the steps that are looked at */
    uint64_t limited;           /* checkpoints with more files than are looked at */
    int (*each)(void *, const struct cairn_file_match *);
    void *context;
    struct cairn_files_searched *result;
    struct cairn_error *error;
};

/* ---- Where each version is ---- */

static struct str digest_of(const struct version *version)
{
    return (struct str){version->key.ptr, DIGEST_SIZE};
}

static const char *path_of(const struct version *version)
{
    return version->key.ptr + DIGEST_SIZE;
}

static int make_key(struct buf *key, const struct tree_entry *entry, struct str path,
                    struct cairn_error *error)
{
    buf_clear(key);
    buf_str(key, digest_view(&entry->digest));
    buf_str(key, path);
    return buf_check(key, error);
}

/* What differs between a step and the one before it. */
struct differing {
    struct grep *g;
    uint32_t step, before;
    uint32_t n; /* of files that are in the step */
    struct buf key;
};

static int add_version(struct differing *d, const struct tree_entry *entry)
{
    struct grep *g = d->g;
    struct str key = buf_view(&d->key);
    struct str kept = arena_str(&g->arena, key);
    struct version *versions =
        g->arena.failed || g->n >= MAP_NONE
            ? NULL
            : array_room(g->versions, g->n, &g->room, sizeof *versions);
    if (!versions)
        return error_nomem(g->error);
    g->versions = versions;
    versions[g->n] = (struct version){
        .key = kept, .entry = *entry, .first = d->step, .last = d->step, .nth = d->n};
    versions[g->n].entry.name = versions[g->n].entry.target = STR("");
    uint32_t n = (uint32_t)g->n;
    if (map_add(&g->known, kept, n, NULL) < 0 ||
        map_add(&g->contents, digest_of(&versions[n]), n, NULL) < 0)
        return error_nomem(g->error);
    g->n++;
    return 0;
}

static int note_change(void *context, struct str path, const struct tree_entry *before,
                       const struct tree_entry *after)
{
    struct differing *d = context;
    struct grep *g = d->g;
    bool had = before && tree_is_file(before), has = after && tree_is_file(after);
    int rc = 0;
    if ((had && has && digest_equal(&before->digest, &after->digest)) ||
        (g->has_paths && !paths_match(&g->paths, path, false)))
        return 0;
    if (had) {
        rc = make_key(&d->key, before, path, g->error);
        uint32_t gone = rc ? MAP_NONE : map_get(&g->known, buf_view(&d->key));
        if (gone != MAP_NONE && g->versions[gone].last < d->before)
            g->versions[gone].last = d->before;
    }
    if (rc || !has)
        return rc;
    d->n++;
    rc = make_key(&d->key, after, path, g->error);
    uint32_t there = rc ? 0 : map_get(&g->known, buf_view(&d->key));
    if (!rc && there == MAP_NONE)
        return add_version(d, after);
    if (!rc && g->versions[there].last < d->step)
        g->versions[there].last = d->step;
    return rc;
}

static int note_entry(void *context, struct str path, const struct tree_entry *entry)
{
    return note_change(context, path, NULL, entry);
}

static void tell_damaged(struct grep *g, uint32_t step, const char *path)
{
    char id[CAIRN_ID_MAX];
    checkpoint_number(NAMESPACE_DEBUG, g->h.steps[step].seq, id);
    g->result->damaged++;
    if (g->options->damaged)
        g->options->damaged(g->context, id, path, g->error ? g->error->text : "");
}

/* What came and went with one step. */
static int collect_step(struct grep *g, uint32_t at)
{
    struct differing d = {.g = g, .step = at, .before = STEP_NONE};
    struct cairn_store *store = g->h.live.store;
    struct step *step = &g->h.steps[at];
    int rc = history_read(&g->h, at);
    if (!rc && step->state == STEP_FILES && !g->options->checkpoint)
        rc = history_before(&g->h, at, &d.before);
    if (!rc && step->state == STEP_FILES) {
        g->result->checkpoints++;
        rc = d.before == STEP_NONE
                 ? snapshot_each(store, &step->root, note_entry, &d, g->error)
                 : snapshot_compare(store, &g->h.steps[d.before].root, &step->root,
                                    false, note_change, &d, g->error);
    }
    buf_release(&d.key);
    if (rc == CAIRN_EDAMAGED || rc == CAIRN_ELIMIT) {
        step->state = STEP_DAMAGED;
        g->limited += rc == CAIRN_ELIMIT;
        rc = 0;
    }
    if (!rc && step->state == STEP_DAMAGED)
        tell_damaged(g, at, NULL);
    return rc;
}

static int collect(struct grep *g)
{
    const struct cairn_files_part *part = g->options->part;
    int64_t until_ns = part_until(part, 50);
    int rc = 0;
    if (g->options->checkpoint) {
        g->end = (uint32_t)g->h.n;
        return collect_step(g, g->h.newest);
    }
    g->has_next = calloc(g->h.n + 1, sizeof *g->has_next);
    if (!g->has_next)
        return error_nomem(g->error);
    if (part && part->from)
        g->begin = (uint32_t)steps_up_to(&g->h, part->from - 1);
    for (g->end = g->begin; g->end < g->h.n && !rc; g->end++) {
        if (g->end > g->begin && is_late(until_ns))
            break;
        if (g->h.steps[g->end].before != STEP_NONE)
            g->has_next[g->h.steps[g->end].before] = true;
        rc = collect_step(g, g->end);
    }
    return rc;
}

/* ---- Until when it is there ---- */

/* Does the end of a line have it? *at: where that is. */
static int look_at_end(struct grep *g, const struct version *version,
                       struct trail *trail, uint32_t end, uint32_t *at, bool *has)
{
    const struct tree_entry *entry;
    int rc = 0;
    *at = end;
    *has = false;
    if (g->h.steps[end].state != STEP_FILES)
        rc = history_before(&g->h, end, at);
    if (rc || *at == STEP_NONE)
        return rc;
    rc = trail_look(trail, g->h.live.store, &g->h.steps[*at].root, &entry, g->error);
    if (rc == CAIRN_EDAMAGED)
        return 0; /* not known, and reported before */
    *has = !rc && entry && tree_is_file(entry) &&
           digest_equal(&entry->digest, &version->entry.digest);
    return rc;
}

static int find_last(struct grep *g, struct version *version, bool *present)
{
    struct trail trail = trail_begin(str_of(path_of(version)));
    int rc = 0;
    *present = false;
    for (uint32_t i = g->begin; g->has_next && i < g->h.n && !rc; i++) {
        uint32_t at;
        bool has;
        if ((g->has_next[i] || i >= g->end) && i != g->h.newest)
            continue;
        rc = look_at_end(g, version, &trail, i, &at, &has);
        if (!rc && has && at > version->last)
            version->last = at;
        *present |= !rc && has && i == g->h.newest;
    }
    trail_end(&trail);
    return rc;
}

/* ---- What is in it ---- */

struct reading {
    struct grep *g;
    struct search search;
    struct arena arena;
    struct version *version;
    struct cairn_file_match match;
    bool told; /* `match` says where it is */
    bool begun, binary, found;
};

static int describe(struct reading *r)
{
    struct grep *g = r->g;
    struct step_told first, last;
    int rc = find_last(g, r->version, &r->match.present)
             ?: history_tell(&g->h, r->version->first, &r->arena, &first)
             ?: history_tell(&g->h, r->version->last, &r->arena, &last);
    if (rc)
        return rc;
    r->told = true;
    memcpy(r->match.id, first.id, sizeof first.id);
    memcpy(r->match.last, last.id, sizeof last.id);
    r->match.seq = g->h.steps[r->version->first].seq;
    r->match.last_seq = g->h.steps[r->version->last].seq;
    r->match.time_ns = g->h.steps[r->version->first].time_ns;
    r->match.path = path_of(r->version);
    return 0;
}

static int note_hit(void *context, const struct search_hit *hit)
{
    struct reading *r = context;
    struct grep *g = r->g;
    int rc = r->told ? 0 : describe(r);
    if (rc)
        return rc;
    r->found = true;
    r->match.binary = r->binary;
    r->match.line = r->binary ? 0 : hit->line;
    r->match.text = r->binary ? "" : hit->text.ptr;
    r->match.bytes = r->binary ? 0 : hit->text.len;
    r->match.cut = hit->cut;
    g->result->matches++;
    if (g->each(g->context, &r->match))
        return GREP_STOP;
    return r->binary ? GREP_BINARY : 0;
}

static int look_at_part(void *context, struct str part)
{
    struct reading *r = context;
    if (!r->begun)
        r->binary = text_is_binary(part);
    r->begun = true;
    r->g->result->bytes += part.len;
    return search_part(&r->search, part, r->g->error);
}

/* GREP_STOP: no more is wanted. */
static int search_version(struct grep *g, struct version *version)
{
    struct reading r = {.g = g, .version = version};
    struct version *content = &g->versions[map_get(&g->contents, digest_of(version))];
    if (content->state == CONTENT_WITHOUT || content->state == CONTENT_DAMAGED)
        return 0;
    r.search = (struct search){.pattern = &g->pattern, .hit = note_hit, .context = &r};
    int rc =
        snapshot_content(g->h.live.store, &version->entry, look_at_part, &r, g->error)
            ?: search_end(&r.search, g->error);
    search_release(&r.search);
    arena_release(&r.arena);
    g->result->contents += content->state == CONTENT_UNREAD;
    content->state = rc == CAIRN_EDAMAGED ? CONTENT_DAMAGED
                     : r.found            ? CONTENT_WITH
                                          : CONTENT_WITHOUT;
    if (rc == CAIRN_EDAMAGED)
        tell_damaged(g, version->first, path_of(version));
    return rc == CAIRN_EDAMAGED || rc == GREP_BINARY ? 0 : rc;
}

/* ---- All of it ---- */

static int take_paths(struct grep *g)
{
    const struct cairn_files_search *options = g->options;
    if (!options->n_paths)
        return 0;
    struct str *texts = arena_take(&g->arena, options->n_paths, sizeof *texts);
    if (!texts)
        return error_nomem(g->error);
    for (size_t i = 0; i < options->n_paths; i++)
        texts[i] = str_of(options->paths[i]);
    g->has_paths = true;
    return paths_open(&g->paths, texts, options->n_paths, g->error);
}

/* Those of the first step come first, and some of them were in the part before. */
static int search_versions(struct grep *g)
{
    struct cairn_files_part *part = g->options->part;
    int64_t until_ns = part_until(part, 50);
    size_t begin = 0, i;
    int rc = 0;
    while (part && part->from && begin < g->n && g->versions[begin].first == g->begin &&
           g->versions[begin].nth <= part->from_nth)
        begin++;
    for (i = begin; i < g->n && !rc && (i == begin || !is_late(until_ns)); i++)
        rc = search_version(g, &g->versions[i]);
    if (part && rc >= 0 && i < g->n) {
        part->next = g->h.steps[g->versions[i].first].seq;
        part->next_nth = g->versions[i].nth - 1;
    } else if (part && rc >= 0 && g->end < g->h.n) {
        part->next = g->h.steps[g->end].seq;
    }
    return rc;
}

static int grep(struct grep *g)
{
    const struct cairn_files_part *part = g->options->part;
    int rc = collect(g);
    bool whole = !part || (!part->from && g->end == g->h.n);
    if (!rc && whole && !g->result->checkpoints && !g->result->damaged)
        return error_set(g->error, CAIRN_ENOTFOUND,
                         "no checkpoint that is searched holds files: `cairn session "
                         "config files DIR` has later ones hold those below DIR");
    rc = rc ?: search_versions(g);
    if (rc == GREP_STOP || rc < 0)
        return rc < 0 ? rc : 0;
    if (g->limited && g->limited == g->result->damaged)
        return error_set(g->error, CAIRN_ELIMIT,
                         "some checkpoints have more files than can be searched, and "
                         "all else was searched");
    return g->result->damaged
               ? error_set(g->error, CAIRN_EDAMAGED,
                           "something of the files is damaged, and all else was "
                           "searched: `cairn checkpoint verify` says what")
               : 0;
}

int cairn_files_search(struct cairn_store *store, const char *session,
                       const struct cairn_files_search *options,
                       int (*each)(void *, const struct cairn_file_match *),
                       void *context, struct cairn_files_searched *result,
                       struct cairn_error *error)
{
    STRUCT_TAKE(cairn_files_search, options, error);
    struct cairn_files_part *given = options->part, *part = given;
    STRUCT_TAKE_IF(cairn_files_part, part, error);
    part_whole.next = part_whole.next_nth = 0;
    options_whole.part = part;
    struct cairn_error own = {0};
    struct grep g = {.options = options,
                     .each = each,
                     .context = context,
                     .result = result,
                     .error = error ? error : &own};
    *result = (struct cairn_files_searched){.checkpoints = 0};
    int rc = search_pattern_init(&g.pattern, str_of(options->pattern), options->fixed,
                                 options->ignore_case, g.error)
                 ?: take_paths(&g);
    if (!rc) {
        rc = history_open(&g.h, store, session, options->checkpoint, true, g.error)
                 ?: grep(&g);
        rc = history_close(&g.h, rc);
    }
    if (g.has_paths)
        paths_close(&g.paths);
    search_pattern_release(&g.pattern);
    free(g.versions);
    free(g.has_next);
    map_release(&g.known);
    map_release(&g.contents);
    arena_release(&g.arena);
    STRUCT_GIVE(cairn_files_part, given, part);
    return rc;
}

/* ==== Where a line came to be ==== */

/* In which checkpoint each line of a file came to be: back over the checkpoints that
 * led to one, each version is compared with the one before it. */

/* A line of the file as it is at the end, and where it is in the version at hand. */
struct origin {
    uint32_t step;
    const char *path; /* what the file was called then */
    size_t line;      /* there, from 0 */
};

struct blame {
    struct history h;
    struct trail trail;
    struct arena arena;
    struct buf text;      /* as it is at the end */
    struct buf now, then; /* a version, and the one before it */
    uint32_t at;          /* the step of `now` */
    struct tree_entry entry;
    const char *path;
    bool open;              /* the part ended before all was known */
    size_t first, n;        /* the lines that are asked for */
    struct origin *origins; /* [n] */
    size_t *lines;          /* [left] in `now` */
    size_t *which;          /* [left] their indexes in `origins`, ascending */
    size_t left;            /* that are not known yet */
    uint64_t damaged;       /* checkpoints that were passed over */
    struct step_told *told; /* [steps]; an empty id: not told yet */
    struct cairn_error *error;
};

/* ---- Contents ---- */

static int add_part(void *context, struct str part)
{
    buf_str(context, part);
    return 0;
}

/* 1: a text, 0: not. */
static int read_text(struct blame *b, const struct tree_entry *entry, struct buf *out)
{
    buf_clear(out);
    if (entry->kind != TREE_FILE)
        return 0;
    int rc = snapshot_content(b->h.live.store, entry, add_part, out, b->error)
                 ?: buf_check(out, b->error);
    return rc ? rc : !text_is_binary(buf_view(out));
}

static size_t count_lines(struct str text)
{
    size_t n = 0;
    while (text.len) {
        size_t length = text_line_length(text);
        text = (struct str){text.ptr + length, text.len - length};
        n++;
    }
    return n;
}

/* ---- Where it begins ---- */

static int find_end(struct blame *b, const char *path)
{
    const struct tree_entry *entry = NULL;
    int rc = 0;
    b->at = b->h.newest;
    rc = history_read(&b->h, b->at);
    if (!rc && b->h.steps[b->at].state != STEP_FILES)
        rc = history_before(&b->h, b->at, &b->at);
    if (!rc && b->at == STEP_NONE)
        return error_set(b->error, CAIRN_ENOTFOUND,
                         "no checkpoint holds files: `cairn session config files DIR` "
                         "has later ones hold those below DIR");
    if (!rc)
        rc = trail_look(&b->trail, b->h.live.store, &b->h.steps[b->at].root, &entry,
                        b->error);
    if (rc)
        return rc;
    if (!entry)
        return error_set(
            b->error, CAIRN_ENOTFOUND,
            "checkpoint debug:%llu has no %.200s: `cairn checkpoint log PATH` "
            "shows which have it",
            (unsigned long long)b->h.steps[b->at].seq, path);
    b->entry = *entry;
    rc = read_text(b, entry, &b->now);
    if (rc < 0)
        return rc;
    return rc ? 0
              : error_set(
                    b->error, CAIRN_EUSAGE,
                    "%.200s has no lines: it is not a file, is binary, or has more "
                    "than 4 MiB",
                    path);
}

static int take_lines(struct blame *b, const char *path, uint64_t line)
{
    size_t all = count_lines(buf_view(&b->now));
    if (line > all)
        return error_set(b->error, CAIRN_ENOTFOUND,
                         "%.200s has %zu lines at checkpoint debug:%llu", path, all,
                         (unsigned long long)b->h.steps[b->at].seq);
    b->path = path;
    b->first = line ? (size_t)line - 1 : 0;
    b->n = b->left = line ? 1 : all;
    b->origins = arena_take(&b->arena, b->n, sizeof *b->origins);
    b->lines = arena_take(&b->arena, b->n, sizeof *b->lines);
    b->which = arena_take(&b->arena, b->n, sizeof *b->which);
    b->told = arena_take(&b->arena, b->h.n, sizeof *b->told);
    buf_str(&b->text, buf_view(&b->now));
    if (b->arena.failed || b->text.failed)
        return error_nomem(b->error);
    for (size_t i = 0; i < b->n; i++) {
        b->lines[i] = b->first + i;
        b->which[i] = i;
    }
    return 0;
}

/* ---- Back ---- */

/* Those lines of the version at hand came with it: those that are TEXT_LINE_NEW in
 * `before` (NULL: all). The others are looked for there. */
static void settle(struct blame *b, const size_t *before)
{
    size_t kept = 0;
    for (size_t i = 0; i < b->left; i++) {
        if (!before || before[i] == TEXT_LINE_NEW) {
            b->origins[b->which[i]] = (struct origin){b->at, b->path, b->lines[i]};
        } else {
            b->which[kept] = b->which[i];
            b->lines[kept++] = before[i];
        }
    }
    b->left = kept;
}

/* The version before is a text, too. */
static int step_back(struct blame *b)
{
    struct text_diff diff;
    size_t *before = calloc(b->left, sizeof *before);
    if (!before)
        return error_nomem(b->error);
    int rc = text_diff(buf_view(&b->then), buf_view(&b->now), &diff, b->error);
    if (!rc) {
        memcpy(before, b->lines, b->left * sizeof *before);
        text_trace(&diff, before, b->left);
        text_diff_release(&diff);
        settle(b, before);
        struct buf now = b->now;
        b->now = b->then;
        b->then = now;
    }
    free(before);
    return rc;
}

/* A file that is gone since, with the same content. */
struct renaming {
    const struct digest *content;
    struct arena *arena;
    const char *path; /* or NULL */
};

static int note_gone(void *context, struct str path, const struct tree_entry *before,
                     const struct tree_entry *after)
{
    struct renaming *r = context;
    if (!after && tree_is_file(before) && digest_equal(&before->digest, r->content))
        r->path = arena_text(r->arena, path);
    return r->path || r->arena->failed;
}

/* 1: it had another name at that step, 0: it was not there. */
static int follow_rename(struct blame *b, uint32_t before)
{
    struct renaming r = {&b->entry.digest, &b->arena, NULL};
    if (!b->entry.size)
        return 0;
    int rc = snapshot_compare(b->h.live.store, &b->h.steps[before].root,
                              &b->h.steps[b->at].root, false, note_gone, &r, b->error);
    if (rc < 0 || b->arena.failed)
        return rc < 0 ? rc : error_nomem(b->error);
    if (!r.path)
        return 0;
    trail_end(&b->trail);
    b->trail = trail_begin(str_of(r.path));
    b->path = r.path;
    return 1;
}

/* The version before, as far as it can be read. */
struct version_before {
    uint32_t step;   /* or STEP_NONE */
    bool is_there;   /* the path is, then `entry` is set */
    bool same, text; /* the same content; another one, which is in b->then */
    struct tree_entry entry;
};

static int read_version(struct blame *b, struct version_before *version)
{
    const struct tree_entry *entry = NULL;
    struct step *step = &b->h.steps[version->step];
    int rc = trail_look(&b->trail, b->h.live.store, &step->root, &entry, b->error);
    version->is_there = !rc && entry;
    if (rc || !entry)
        return rc;
    version->entry = *entry;
    version->same =
        entry->kind == TREE_FILE && digest_equal(&entry->digest, &b->entry.digest);
    rc = version->same ? 0 : read_text(b, entry, &b->then);
    version->text = rc == 1;
    return rc < 0 ? rc : 0;
}

/* Damaged ones are passed over, and counted. */
static int find_before(struct blame *b, struct version_before *version)
{
    int rc = 0;
    *version = (struct version_before){.step = b->h.steps[b->at].before};
    for (; version->step != STEP_NONE && !rc;
         version->step = b->h.steps[version->step].before) {
        rc = history_read(&b->h, version->step);
        if (!rc && b->h.steps[version->step].state == STEP_EMPTY)
            continue;
        bool damaged = b->h.steps[version->step].state == STEP_DAMAGED;
        if (!rc && !damaged)
            rc = read_version(b, version);
        damaged |= rc == CAIRN_EDAMAGED;
        if (!damaged)
            break;
        b->damaged++;
        rc = 0;
    }
    return rc;
}

static int go_back(struct blame *b)
{
    struct version_before version;
    int rc = find_before(b, &version);
    if (!rc && version.step != STEP_NONE && !version.is_there) {
        rc = follow_rename(b, version.step);
        if (rc == 1) {
            b->at = version.step;
            return 0;
        }
    }
    if (rc)
        return rc;
    if (!version.same && !version.text) {
        settle(b, NULL);
        return 0;
    }
    if (version.text)
        rc = step_back(b);
    b->entry = version.entry;
    b->at = version.step;
    return rc;
}

/* ---- Telling ---- */

static int tell_step(struct blame *b, uint32_t step)
{
    struct step_told *told = &b->told[step];
    return told->id[0] ? 0 : history_tell(&b->h, step, &b->arena, told);
}

static int give_lines(struct blame *b,
                      int (*each)(void *, const struct cairn_file_line *),
                      void *context)
{
    struct str rest = buf_view(&b->text);
    int rc = 0, stopped = 0;
    for (size_t i = 0; i < b->first + b->n && !rc && !stopped; i++) {
        size_t length = text_line_length(rest);
        struct str text = {rest.ptr, length};
        rest = (struct str){rest.ptr + length, rest.len - length};
        if (i < b->first)
            continue;
        const struct origin *origin = &b->origins[i - b->first];
        const struct step_told *told = &b->told[origin->step];
        rc = tell_step(b, origin->step);
        if (rc)
            break;
        text.len -= text.ptr[text.len - 1] == '\n';
        struct cairn_file_line line = {.line = i + 1,
                                       .text = text.ptr,
                                       .bytes = text.len,
                                       .seq = b->h.steps[origin->step].seq,
                                       .time_ns = b->h.steps[origin->step].time_ns,
                                       .message = told->message,
                                       .prompt = told->prompt,
                                       .path = origin->path,
                                       .line_then = origin->line + 1,
                                       .open = b->open && origin->step == b->at};
        memcpy(line.id, told->id, sizeof line.id);
        stopped = each(context, &line);
    }
    return rc;
}

int cairn_files_blame(struct cairn_store *store, const char *session, const char *at,
                      const char *path, uint64_t line, struct cairn_files_part *part,
                      int (*each)(void *, const struct cairn_file_line *),
                      void *context, struct cairn_error *error)
{
    struct cairn_files_part *given = part;
    STRUCT_TAKE_IF(cairn_files_part, part, error);
    struct blame b = {.trail = trail_begin(str_of(path)), .error = error};
    int64_t until_ns = part_until(part, 100);
    if (part && part->from)
        return error_set(error, CAIRN_EUSAGE,
                         "a part of blame begins by its checkpoint");
    int rc = history_open(&b.h, store, session, at, false, error)
             ?: find_end(&b, path)
             ?: take_lines(&b, path, line);
    while (!rc && b.left && !b.open) {
        rc = go_back(&b);
        b.open = b.left && is_late(until_ns);
    }
    if (part)
        part->next = !rc && b.open ? b.h.steps[b.at].seq : 0;
    STRUCT_GIVE(cairn_files_part, given, part);
    if (b.open)
        settle(&b, NULL);
    if (!rc)
        rc = give_lines(&b, each, context);
    if (!rc && b.damaged)
        rc = error_set(error, CAIRN_EDAMAGED,
                       "%llu of the checkpoints cannot be read, so a line may be older "
                       "than it seems: `cairn checkpoint verify` says why",
                       (unsigned long long)b.damaged);
    buf_release(&b.text);
    buf_release(&b.now);
    buf_release(&b.then);
    trail_end(&b.trail);
    rc = history_close(&b.h, rc);
    arena_release(&b.arena);
    return rc;
}
