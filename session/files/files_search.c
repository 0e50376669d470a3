/* SPDX-License-Identifier: MIT */
/* Searching in all versions of all files. First the trees are compared, which says
 * where each version came and went; then each content is read once. */
#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "session/files/history_int.h"
#include "snapshot/diff.h"
#include "snapshot/ignore.h"
#include "snapshot/search.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>

enum { GREP_STOP = 1, GREP_BINARY = 2 };
enum content_state { CONTENT_UNREAD, CONTENT_WITHOUT, CONTENT_WITH, CONTENT_DAMAGED };

/* A content under a path. */
struct version {
    struct str key; /* the digest, and then the path, which ends with a NUL */
    struct tree_entry entry;
    uint32_t first, last; /* steps; last: the newest known one that has it */
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

static int add_version(struct grep *g, uint32_t step, struct str key,
                       const struct tree_entry *entry)
{
    struct str kept = arena_str(&g->arena, key);
    struct version *versions =
        g->arena.failed || g->n >= MAP_NONE
            ? NULL
            : array_room(g->versions, g->n, &g->room, sizeof *versions);
    if (!versions)
        return error_nomem(g->error);
    g->versions = versions;
    versions[g->n] =
        (struct version){.key = kept, .entry = *entry, .first = step, .last = step};
    versions[g->n].entry.name = versions[g->n].entry.target = STR("");
    uint32_t n = (uint32_t)g->n;
    if (map_add(&g->known, kept, n, NULL) < 0 ||
        map_add(&g->contents, digest_of(&versions[n]), n, NULL) < 0)
        return error_nomem(g->error);
    g->n++;
    return 0;
}

/* What differs between a step and the one before it. */
struct differing {
    struct grep *g;
    uint32_t step, before;
    struct buf key;
};

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
    rc = make_key(&d->key, after, path, g->error);
    uint32_t there = rc ? 0 : map_get(&g->known, buf_view(&d->key));
    if (!rc && there == MAP_NONE)
        return add_version(g, d->step, buf_view(&d->key), after);
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
    int rc = 0;
    if (g->options->checkpoint)
        return collect_step(g, g->h.newest);
    g->has_next = calloc(g->h.n, sizeof *g->has_next);
    if (!g->has_next)
        return error_nomem(g->error);
    for (uint32_t i = 0; i < g->h.n && !rc; i++) {
        if (g->h.steps[i].before != STEP_NONE)
            g->has_next[g->h.steps[i].before] = true;
        rc = collect_step(g, i);
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
        return 0; /* nobody knows: it was told of */
    *has = !rc && entry && tree_is_file(entry) &&
           digest_equal(&entry->digest, &version->entry.digest);
    return rc;
}

static int find_last(struct grep *g, struct version *version, bool *present)
{
    struct trail trail = trail_begin(str_of(path_of(version)));
    int rc = 0;
    *present = false;
    for (uint32_t i = 0; g->has_next && i < g->h.n && !rc; i++) {
        uint32_t at;
        bool has;
        if (g->has_next[i] && i != g->h.newest)
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
    int rc = find_last(g, r->version, &r->match.present);
    if (!rc)
        rc = history_tell(&g->h, r->version->first, &r->arena, &first);
    if (!rc)
        rc = history_tell(&g->h, r->version->last, &r->arena, &last);
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
        snapshot_content(g->h.live.store, &version->entry, look_at_part, &r, g->error);
    if (!rc)
        rc = search_end(&r.search, g->error);
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

static int grep(struct grep *g)
{
    int rc = collect(g);
    if (!rc && !g->result->checkpoints && !g->result->damaged)
        return error_set(g->error, CAIRN_ENOTFOUND,
                         "no checkpoint that is searched holds files: `cairn session "
                         "config files DIR` has later ones hold those below DIR");
    for (size_t i = 0; i < g->n && !rc; i++)
        rc = search_version(g, &g->versions[i]);
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
    SIZE_CHECK("cairn_files_search", options, error);
    struct cairn_error own = {0};
    struct grep g = {.options = options,
                     .each = each,
                     .context = context,
                     .result = result,
                     .error = error ? error : &own};
    *result = (struct cairn_files_searched){.checkpoints = 0};
    int rc = search_pattern_init(&g.pattern, str_of(options->pattern), options->fixed,
                                 options->ignore_case, g.error);
    if (!rc)
        rc = take_paths(&g);
    if (!rc) {
        rc = history_open(&g.h, store, session, options->checkpoint, true, g.error);
        if (!rc)
            rc = grep(&g);
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
    return rc;
}
