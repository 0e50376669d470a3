/* SPDX-License-Identifier: MIT */
/* Rows of tasks that the graph does not have, or that are skipped; what is there of
 * their files; and what of it the definition has a use for. Nothing of this is done
 * where no row is left over, so a run whose definition stays as it is pays for one look
 * at the rows. What a skipped task has left is stale only if this run has made it, or
 * one that it forks from: other runs may have met its condition. */
#include "plan/stale.h"

#include "graph/lists.h"
#include "plan/situation_int.h"

#include "base/memory.h"
#include "base/os.h"
#include "base/words.h"
#include "runs/additions.h"
#include "storage/rows_attempt.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Files are compared by where they really are: one may be named in several ways, by its
 * absolute path, through `..`, or by a link. */
struct search {
    struct stale_list *list;
    const struct stale_scene *scene;
    const struct cairn_workflow *w;
    struct stale_limits limits;
    struct map by_path; /* index into the list */
    uint64_t workflow;
    uint32_t rows; /* looked at, of tasks that are there */
    struct added_names added;
    bool knows_added; /* they were loaded: not before a task is missing */
    int rc;           /* of that */
    struct cairn_error *error;
};

void stale_release(struct stale_list *list)
{
    free(list->at);
    free(list->missing);
    arena_release(&list->arena);
    *list = (struct stale_list){0};
}

/* ---- Files of tasks that are gone, or skipped ---- */

static bool is_skipped(const struct search *search, struct str task)
{
    uint32_t at = graph_find(&search->w->graph, task);
    return at != NODE_NONE && search->scene->skipped[at];
}

/* What was added to a run is not gone in another one that does not have it. */
static bool is_added(struct search *search, struct str task)
{
    if (!search->knows_added)
        search->rc = added_names_load(&search->added, search->scene->store,
                                      search->workflow, search->error);
    search->knows_added = true;
    return search->rc || added_names_have(&search->added, task);
}

static bool is_left_out(void *context, struct str task)
{
    struct search *search = context;
    if (graph_find(&search->w->graph, task) != NODE_NONE)
        return is_skipped(search, task);
    return !search->scene->only_skipped && !is_added(search, task);
}

static const char *full_path(struct search *search, struct str place)
{
    struct str root = search->w->definition.root;
    struct buf path = BUF_INIT;
    if (root.len && place.ptr[0] != '/') {
        buf_str(&path, root);
        buf_byte(&path, '/');
    }
    buf_str(&path, place);
    const char *text = arena_text(&search->list->arena, buf_view(&path));
    search->list->arena.failed |= path.failed;
    buf_release(&path);
    return text;
}

/* In the arena, with its NUL; what is not there stays as it is written. */
static struct str real_path(struct arena *arena, const char *path)
{
    char *real = realpath(path, NULL);
    struct str copy = arena_str(arena, str_of(real ? real : path));
    free(real);
    return copy;
}

/* No link on the way to it leads elsewhere than it did: it lies where its name says. */
static bool is_in_place(struct search *search, const struct stale_file *file)
{
    struct arena arena = ARENA_INIT;
    struct str root = search->w->definition.root;
    struct buf written = BUF_INIT;
    if (root.len && file->row.path.ptr[0] != '/') {
        struct str real = real_path(&arena, root.ptr);
        if (real.ptr)
            buf_str(&written, real);
        buf_byte(&written, '/');
    }
    buf_str(&written, file->row.path);
    struct str real = real_path(&arena, file->path);
    bool same = real.ptr && !written.failed && str_equal(real, buf_view(&written));
    buf_release(&written);
    arena_release(&arena);
    return same;
}

static struct made_row copy_row(struct arena *arena, const struct made_row *row)
{
    struct made_row copy = *row;
    copy.task = arena_str(arena, row->task);
    copy.path = arena_str(arena, row->path);
    return copy;
}

static int add_missing(struct search *search, const struct made_row *row)
{
    struct stale_list *list = search->list;
    struct made_row *at =
        array_room(list->missing, list->n_missing, &list->missing_capacity, sizeof *at);
    if (!at)
        return error_nomem(search->error);
    list->missing = at;
    at[list->n_missing++] = copy_row(&list->arena, row);
    return list->arena.failed ? error_nomem(search->error) : 0;
}

/* Of several that are gone, the one whose sign the file still has made it last. */
static bool has_sign(const char *path, const struct made_row *row)
{
    uint64_t nothing = 0;
    struct file_sign now;
    return row->kind != MADE_DIRECTORY && stale_is_same(path, row, &nothing, &now);
}

/* Which members its group has is not known yet. */
static bool is_of_unlisted(const struct search *search, struct str id)
{
    const struct definition *d = &search->w->definition;
    struct str name = name_of_id(id);
    uint32_t def = name.len < id.len ? map_get(&d->by_id, name) : MAP_NONE;
    return def != MAP_NONE && task_def_is_unlisted(&d->defs[def]);
}

/* What becomes of it if its task is gone: as the group says that it was a member of. */
static enum on_stale fate_of(const struct search *search, struct str id)
{
    const struct definition *d = &search->w->definition;
    uint32_t def = map_get(&d->by_id, name_of_id(id));
    return def == MAP_NONE ? d->stale : d->defs[def].stale;
}

static int add_file(void *context, const struct made_row *row)
{
    struct search *search = context;
    struct stale_list *list = search->list;
    uint32_t most = search->limits.files;
    bool skipped = is_skipped(search, row->task);
    enum on_stale fate = fate_of(search, row->task);
    if (!row->path.len || is_of_unlisted(search, row->task) ||
        (!skipped && fate == ON_STALE_KEEP))
        return 0;
    uint32_t known = map_get(&search->by_path, row->path);
    if (known != MAP_NONE) {
        if (has_sign(list->at[known].path, row)) {
            list->at[known].row = copy_row(&list->arena, row);
            list->at[known].skipped = skipped;
            list->at[known].remove = fate == ON_STALE_REMOVE;
        }
        return list->arena.failed ? error_nomem(search->error) : 0;
    }
    if (most && list->n + list->n_missing >= most) {
        list->more = true;
        return 1;
    }
    const char *path = full_path(search, row->path);
    if (!path)
        return error_nomem(search->error);
    if (!os_is_there(AT_FDCWD, path))
        return skipped ? 0 : add_missing(search, row);
    struct stale_file *at = array_room(list->at, list->n, &list->capacity, sizeof *at);
    if (!at)
        return error_nomem(search->error);
    list->at = at;
    at[list->n] = (struct stale_file){.row = copy_row(&list->arena, row),
                                      .path = path,
                                      .skipped = skipped,
                                      .remove = fate == ON_STALE_REMOVE,
                                      .real = real_path(&list->arena, path)};
    if (list->arena.failed ||
        map_add(&search->by_path, at[list->n].row.path, list->n, NULL) < 0)
        return error_nomem(search->error);
    list->n++;
    return 0;
}

/* ---- Is it still what they made ---- */

static bool signs_equal(const struct file_sign *a, const struct file_sign *b)
{
    return a->kind == b->kind && memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

/* An empty file that was made anew may be anybody's, and a link was put there. */
bool stale_is_same(const char *path, const struct made_row *row, uint64_t *bytes,
                   struct file_sign *now)
{
    bool directory = row->kind == MADE_DIRECTORY;
    const struct result_file recorded = {.kind = directory ? 'd' : 'f',
                                         .size = row->size,
                                         .mtime_ns = row->mtime_ns,
                                         .ctime_ns = row->ctime_ns,
                                         .inode = row->inode};
    struct file_reader reader = {.limited = bytes != NULL, .left = bytes ? *bytes : 0};
    struct result_file file = {0};
    struct file_sign then = output_sign(&recorded);
    struct stat st;
    if (lstat(path, &st) || directory != S_ISDIR(st.st_mode) ||
        !file_sign_at(AT_FDCWD, path, path, now))
        return false;
    bool regular = S_ISREG(st.st_mode);
    if (!directory && signs_equal(now, &then) && !file_time_is_coarse(&recorded))
        return true;
    if (digest_is_none(&row->digest)) /* of a failed attempt, never read */
        return directory;
    if (!directory && (!regular || !row->size || (uint64_t)st.st_size != row->size))
        return false;
    int rc = file_take(path, &reader, &file, NULL);
    if (bytes)
        *bytes = reader.left;
    if (rc == FILE_LONG)
        return *bytes > 0;
    return !rc && digest_equal(&file.digest, &row->digest);
}

/* ---- What the definition has a use for ---- */

struct uses {
    struct search *search;
    struct map by_path[2]; /* (task << 1 | it is made) of names that are known; [1]: of
                              skipped tasks, which need nothing of each other now */
    struct arena arena;    /* of the keys */
    struct buf place, text;
    bool directories; /* some stale file is one */
    bool skipped;     /* the task that is looked at is */
};

static void use_file(const struct uses *uses, struct stale_file *file, uint32_t task,
                     bool made)
{
    if (uses->skipped && file->skipped)
        return;
    file->state = STALE_USED;
    file->user = uses->search->w->graph.id[task];
    file->made = made;
}

static int use_place(struct uses *uses, uint32_t task, bool made)
{
    struct stale_list *list = uses->search->list;
    uint32_t value = task << 1 | made, known;
    struct str place = arena_str(&uses->arena, buf_view(&uses->place));
    const char *full = place.ptr ? full_path(uses->search, place) : NULL;
    if (full)
        place = real_path(&uses->arena, full);
    if (!full || !place.ptr)
        return error_nomem(uses->search->error);
    int rc = map_add(&uses->by_path[uses->skipped], place, value, &known);
    if (rc < 0)
        return error_nomem(uses->search->error);
    /* What lies in a directory is a part of it. */
    for (uint32_t i = 0; uses->directories && i < list->n; i++) {
        struct str dir = list->at[i].real;
        if (list->at[i].row.kind == MADE_DIRECTORY && place.len > dir.len &&
            place.ptr[dir.len] == '/' && memcmp(place.ptr, dir.ptr, dir.len) == 0)
            use_file(uses, &list->at[i], task, made);
    }
    return 0;
}

/* A name with a value that is not known now may be that of any file which begins and
 * ends as it does. */
static void use_unknown(struct uses *uses, uint32_t task, struct str name, bool made)
{
    struct stale_list *list = uses->search->list;
    const char *open = name.len ? memmem(name.ptr, name.len, "${{", 3) : NULL;
    const char *end = name.ptr + name.len, *close = end;
    if (!open)
        return;
    while (close > open + 2 && memcmp(close - 2, "}}", 2) != 0)
        close--;
    size_t head = (size_t)(open - name.ptr), tail = (size_t)(end - close);
    for (uint32_t i = 0; i < list->n; i++) {
        struct str path = list->at[i].row.path;
        if (path.len >= head + tail && memcmp(path.ptr, name.ptr, head) == 0 &&
            memcmp(path.ptr + path.len - tail, close, tail) == 0)
            use_file(uses, &list->at[i], task, made);
    }
}

static int use_names(struct uses *uses, const struct scope *scope, uint32_t task,
                     bool made)
{
    const struct task_def *def = scope->def;
    uint32_t n = made ? def->n_outputs : def->n_inputs;
    int rc = 0;
    for (uint32_t i = 0; i < n && !rc; i++) {
        struct str name = made ? def->outputs[i] : def->inputs[i];
        struct cairn_error why = {0};
        size_t glob = sizeof INPUT_GLOB - 1;
        if (!made && name.len > glob && memcmp(name.ptr, INPUT_GLOB, glob) == 0)
            continue; /* to join what matches is what goes wrong */
        if (!made && text_is_files(name))
            continue; /* they are outputs of what is there */
        buf_clear(&uses->text);
        rc = text_expand(scope, name, &uses->text, &why)
                 ?: task_file_place(scope, buf_view(&uses->text), &uses->place, &why);
        if (!rc)
            rc = use_place(uses, task, made);
        else if (rc == CAIRN_ENOMEM)
            rc = error_nomem(uses->search->error);
        else {
            use_unknown(uses, task, name, made);
            rc = 0;
        }
    }
    return rc;
}

/* Files that members are made of. */
static int use_sources(struct uses *uses, uint32_t task)
{
    const struct task_def *def = graph_def(&uses->search->w->graph, task);
    int rc = 0;
    for (uint32_t i = 0; i < def->n_foreach; i++) {
        const struct foreach_key *key = &def->foreach[i];
        bool listed = key->source == FOREACH_GLOB;
        for (uint32_t k = 0; !rc && listed && k < key->n; k++) {
            buf_clear(&uses->place);
            buf_str(&uses->place, key->values[k]);
            rc = use_place(uses, task, false);
        }
        buf_clear(&uses->place);
        buf_str(&uses->place, key->spec);
        if (!rc && (key->source == FOREACH_LINES || key->source == FOREACH_SHEET))
            rc = use_place(uses, task, false);
    }
    return rc;
}

/* Its own name, or an output or input in whose directory it lies. */
static uint32_t find_use(const struct map *by_path, struct str path, bool *inside)
{
    uint32_t use = map_get(by_path, path);
    *inside = false;
    while (use == MAP_NONE && path.len) {
        while (path.len && path.ptr[path.len - 1] != '/')
            path.len--;
        path.len -= path.len > 0;
        if (path.len)
            use = map_get(by_path, path);
        *inside = use != MAP_NONE;
    }
    return use;
}

/* What is left of a skipped task, and read by one that is not, is named: that reads
 * what no task has made for it. */
static void use_by_name(const struct uses *uses, struct stale_file *file)
{
    bool inside;
    uint32_t use = find_use(&uses->by_path[0], file->real, &inside);
    if (use == MAP_NONE && !file->skipped)
        use = find_use(&uses->by_path[1], file->real, &inside);
    if (use == MAP_NONE)
        return;
    file->made = use & 1;
    file->inside = inside;
    file->read = (inside || file->skipped) && !file->made && file->state == STALE_SAME;
    file->state = file->read ? file->state : STALE_USED;
    file->user = uses->search->w->graph.id[use >> 1];
}

static int find_uses(struct search *search)
{
    struct stale_list *list = search->list;
    const struct graph *g = &search->w->graph;
    struct uses uses = {.search = search};
    int rc = 0;
    for (uint32_t i = 0; i < list->n; i++)
        uses.directories |= list->at[i].row.kind == MADE_DIRECTORY;
    for (uint32_t task = 0; task < g->n_tasks && !rc; task++) {
        struct asker asker = {.lookup = search->scene->lookup, .task = task};
        struct scope scope = lookup_scope(&asker);
        uses.skipped = search->scene->skipped[task];
        rc = use_names(&uses, &scope, task, true)
                 ?: use_names(&uses, &scope, task, false);
        uses.skipped = false;
        if (!rc && graph_member(g, task) == 0)
            rc = use_sources(&uses, task);
    }
    for (uint32_t i = 0; i < list->n; i++)
        if (str_equal(list->at[i].real,
                      real_path(&list->arena, search->w->definition.file.ptr))) {
            list->at[i].state = STALE_USED;
            list->at[i].user = "the workflow";
        }
    for (uint32_t i = 0; i < list->n && !rc; i++)
        use_by_name(&uses, &list->at[i]);
    map_release(&uses.by_path[0]);
    map_release(&uses.by_path[1]);
    arena_release(&uses.arena);
    buf_release(&uses.place);
    buf_release(&uses.text);
    return rc;
}

/* ---- What a task that is there has made with other params ---- */

static bool is_there(void *context, struct str task)
{
    struct search *search = context;
    return graph_find(&search->w->graph, task) != NODE_NONE || is_added(search, task);
}

static int use_made(void *context, const struct made_row *row)
{
    struct search *search = context;
    uint32_t at = map_get(&search->by_path, row->path);
    uint32_t task = graph_find(&search->w->graph, row->task);
    bool here = task != NODE_NONE;
    if (at != MAP_NONE &&
        !(here && search->scene->skipped[task] && search->list->at[at].skipped)) {
        search->list->at[at].state = STALE_USED;
        search->list->at[at].user = here ? search->w->graph.id[task]
                                         : arena_text(&search->list->arena, row->task);
        search->list->at[at].made = true;
    }
    return search->limits.rows && ++search->rows == search->limits.rows;
}

/* What another workflow of the store has made under that name may be needed there. */
static int use_elsewhere(void *context, const struct made_row *row)
{
    struct search *search = context;
    uint32_t at = row->workflow == search->workflow
                      ? MAP_NONE
                      : map_get(&search->by_path, row->path);
    if (at != MAP_NONE) {
        search->list->at[at].state = STALE_USED;
        search->list->at[at].user = "another workflow";
        search->list->at[at].made = true;
    }
    return search->limits.rows && ++search->rows == search->limits.rows;
}

/* ---- What this run has made of skipped tasks, and newer runs of those that it has not */

struct own_search {
    struct search *search;
    bool newer; /* what tasks that are gone from this run have made, in another one */
    uint32_t first, end; /* the task's files in the list */
    bool *own;           /* [list.n] */
    uint32_t left;       /* that are not known to be */
};

static bool is_result(const struct made_row *row, const struct result_file *file)
{
    return (row->kind == MADE_DIRECTORY) == (file->kind == 'd') &&
           row->size == file->size && row->inode == file->inode &&
           row->mtime_ns == file->mtime_ns && digest_equal(&row->digest, &file->digest);
}

/* A result that cannot be read tells nothing; of a newer run it may be of any of them. */
static int look_at_own_attempt(void *context, const struct attempt_row *row)
{
    struct own_search *own = context;
    const struct stale_file *at = own->search->list->at;
    struct arena arena = ARENA_INIT;
    struct result result = {0};
    struct digest digest;
    struct cairn_error why = {0};
    if (row->outputs.len != DIGEST_SIZE || row->flags & ATTEMPT_UNDO)
        return 0;
    memcpy(digest.bytes, row->outputs.ptr, DIGEST_SIZE);
    int rc = result_load(own->search->scene->store, &digest, &arena, &result, &why);
    for (uint32_t i = own->first; i < own->end && rc && own->newer; i++)
        own->own[i] = true;
    for (uint32_t i = own->first; i < own->end && !rc; i++)
        for (uint32_t k = 0; k < result.n_outputs && !own->own[i]; k++)
            if (is_result(&at[i].row, &result.outputs[k])) {
                own->own[i] = true;
                own->left--;
            }
    arena_release(&arena);
    return rc == CAIRN_ENOMEM ? error_nomem(own->search->error) : 0;
}

static int find_own_in(struct own_search *own, const struct run_row *row, uint32_t gen)
{
    struct search *search = own->search;
    const struct stale_list *list = search->list;
    struct definition definition;
    struct graph graph;
    struct cairn_error why = {0};
    int rc = generation_load(search->scene->store, row, gen, &definition, &graph, &why);
    if (rc && own->newer)
        memset(own->own, 1, list->n * sizeof *own->own);
    if (rc)
        return rc == CAIRN_ENOMEM ? error_nomem(search->error) : 0;
    for (own->first = 0; own->first < list->n && !rc; own->first = own->end) {
        struct str name = list->at[own->first].row.task;
        own->end = own->first + 1;
        while (own->end < list->n && str_equal(list->at[own->end].row.task, name))
            own->end++;
        bool wanted = list->at[own->first].skipped != own->newer;
        uint32_t task = wanted ? graph_find(&graph, name) : NODE_NONE;
        bool forked = own->newer && row->from_run && task != NODE_NONE;
        for (uint32_t i = own->first; forked && i < own->end; i++)
            own->own[i] = true; /* as the run that it forks from has left it */
        if (task != NODE_NONE && !forked)
            rc = store_each_attempt(search->scene->store, row->run, gen, task,
                                    look_at_own_attempt, own, search->error);
    }
    graph_release(&graph);
    definition_release(&definition);
    return rc;
}

/* In this run, and those that it forks from. What cannot be read of them is nobody's.
 */
static int find_own(struct own_search *own)
{
    enum { FORKS_MOST = 100 };
    struct search *search = own->search;
    const struct recorded *r = &search->scene->situation->recorded;
    uint64_t run = r->row.run ? r->row.run : r->from_run;
    int rc = 0;
    for (int depth = 0; depth < FORKS_MOST && run && own->left && !rc; depth++) {
        struct arena arena = ARENA_INIT;
        struct run_row row;
        struct cairn_error why = {0};
        rc = run_row_get(&row, search->scene->store, run, &arena, &why);
        if (rc)
            run = 0;
        rc = rc == CAIRN_ENOMEM ? error_nomem(search->error) : 0;
        for (uint32_t gen = run ? row.gen : 0; gen > 0 && own->left && !rc; gen--)
            rc = find_own_in(own, &row, gen);
        run = run ? row.from_run : 0;
        arena_release(&arena);
    }
    return rc;
}

/* The maps do not hold afterwards. */
static int drop_what_others_made(struct search *search)
{
    struct stale_list *list = search->list;
    struct own_search own = {.search = search};
    for (uint32_t i = 0; i < list->n; i++)
        own.left += list->at[i].skipped;
    if (!own.left)
        return 0;
    own.own = calloc(list->n, sizeof *own.own);
    int rc = own.own ? find_own(&own) : error_nomem(search->error);
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n && !rc; i++)
        if (!list->at[i].skipped || own.own[i])
            list->at[n++] = list->at[i];
    list->n = rc ? list->n : n;
    free(own.own);
    return rc;
}

/* What a run that was begun later has made is its own, whatever an older one has. */
static int keep_of_newer_run(void *context, const struct run_row *row)
{
    struct own_search *own = context;
    struct stale_list *list = own->search->list;
    int rc = 0;
    if (row->run <= own->search->scene->situation->recorded.row.run)
        return 1;
    memset(own->own, 0, list->n * sizeof *own->own);
    own->left = list->n;
    for (uint32_t gen = row->gen; gen > 0 && own->left && !rc; gen--)
        rc = find_own_in(own, row, gen);
    char user[32];
    snprintf(user, sizeof user, "run %llu", (unsigned long long)row->run);
    for (uint32_t i = 0; i < list->n && !rc; i++) {
        struct stale_file *file = &list->at[i];
        if (!own->own[i] || file->skipped || file->state != STALE_SAME)
            continue;
        file->state = STALE_USED;
        file->user = arena_text(&list->arena, str_of(user));
        file->made = true;
        rc = file->user ? 0 : error_nomem(own->search->error);
    }
    return rc;
}

static int keep_of_newer_runs(struct search *search)
{
    struct own_search own = {.search = search, .newer = true};
    const struct run_filter filter = {.workflow = search->workflow};
    if (!search->scene->situation->recorded.row.run || !search->list->n)
        return 0; /* it is the newest itself */
    own.own = calloc(search->list->n, sizeof *own.own);
    int rc = own.own ? store_each_run(search->scene->store, &filter, keep_of_newer_run,
                                      &own, search->error)
                     : error_nomem(search->error);
    free(own.own);
    return rc < 0 ? rc : 0;
}

/* ---- All of it ---- */

bool *stale_decided_skips(const struct situation *s)
{
    const struct decisions *d = &s->decisions;
    bool *skipped = calloc((size_t)d->n + 1, sizeof *skipped);
    for (uint32_t task = 0; skipped && task < d->n; task++)
        skipped[task] = d->fate[task] & FATE_BAD;
    return skipped;
}

int stale_find(struct stale_list *list, const struct stale_scene *scene,
               struct stale_limits limits, struct cairn_error *error)
{
    const struct cairn_workflow *w = scene->workflow;
    struct cairn_store *store = scene->store;
    struct search search = {
        .list = list, .scene = scene, .w = w, .limits = limits, .error = error};
    struct cairn_error why = {0};
    struct file_sign ignored;
    uint64_t id = 0, bytes = limits.bytes;
    *list = (struct stale_list){0};
    int rc = store_workflow_id(store, w->definition.name, false, &id, &why);
    if (rc)
        return rc == CAIRN_ENOTFOUND ? 0 : error_set(error, rc, "%s", why.text);
    search.workflow = id;
    struct made_search rows = {id, is_left_out, add_file, &search};
    rc = store_each_made(store, &rows, error);
    rc = rc ? rc : search.rc;
    if (!rc && list->n)
        rc = find_uses(&search);
    struct made_search others = {id, is_there, use_made, &search};
    if (!rc && list->n)
        rc = store_each_made(store, &others, error);
    rc = rc ? rc : search.rc;
    if (!rc && list->arena.failed)
        rc = error_nomem(error);
    struct made_search elsewhere = {0, NULL, use_elsewhere, &search};
    search.rows = 0;
    if (!rc && list->n)
        rc = store_each_made(store, &elsewhere, error);
    map_release(&search.by_path);
    added_names_release(&search.added);
    if (!rc && list->n)
        rc = drop_what_others_made(&search);
    if (!rc)
        rc = keep_of_newer_runs(&search);
    for (uint32_t i = 0; i < list->n && !rc; i++) {
        struct stale_file *file = &list->at[i];
        if (file->state == STALE_SAME && !is_in_place(&search, file))
            file->state = STALE_CHANGED;
        if (file->state == STALE_SAME &&
            !stale_is_same(file->path, &file->row, limits.bytes ? &bytes : NULL,
                           &ignored))
            file->state = STALE_CHANGED;
        if (file->state == STALE_SAME && file->row.kind != MADE_FILE)
            file->state =
                file->row.kind == MADE_DIRECTORY ? STALE_DIRECTORY : STALE_IN_PLACE;
        file->read &= file->state == STALE_SAME;
        if (file->read)
            file->state = STALE_USED;
    }
    return rc;
}

/* ---- What a run removes ---- */

void stale_gone_release(struct stale_gone *gone)
{
    stale_release(&gone->list);
    map_release(&gone->paths);
}

static bool definition_removes(const struct definition *d)
{
    bool any = d->stale == ON_STALE_REMOVE;
    for (uint32_t i = 0; i < d->n_defs && !any; i++)
        any = d->defs[i].stale == ON_STALE_REMOVE;
    return any;
}

int stale_find_gone(struct stale_gone *gone, const struct stale_scene *scene,
                    struct cairn_error *error)
{
    const struct cairn_workflow *w = scene->workflow;
    struct stale_scene of_gone = *scene;
    *gone = (struct stale_gone){0};
    if (!definition_removes(&w->definition))
        return 0;
    bool *none = calloc((size_t)w->graph.n_tasks + 1, sizeof *none);
    of_gone.skipped = none;
    int rc = none ? stale_find(&gone->list, &of_gone, (struct stale_limits){0}, error)
                  : error_nomem(error);
    for (uint32_t i = 0; i < gone->list.n && !rc; i++)
        if (stale_goes(&gone->list.at[i]) &&
            map_add(&gone->paths, gone->list.at[i].real, i, NULL) < 0)
            rc = error_nomem(error);
    free(none);
    return rc;
}

/* ---- The notice ---- */

enum {
    LOOKED_AT = 10000, /* files */
    ROWS = 20000,
    READ_BYTES = 1 << 24,
    GROUPS_SHOWN = 5,
    FILES_SHOWN = 3
};

struct telling {
    const struct stale_list *list;
    const char *command; /* what removes them, as it can be typed anywhere: a store may
                            have several workflows */
    void (*say)(void *context, const char *text);
    void *context;
};

static void tell(const struct telling *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void tell(const struct telling *t, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    t->say(t->context, text);
}

static struct str group_of(const struct stale_file *file)
{
    return name_of_id(file->row.task);
}

static const char *gone_or_skipped(const struct stale_file *file)
{
    return file->skipped ? "skipped now" : "gone";
}

/* Those that are told together. */
static bool same_group(const struct stale_file *a, const struct stale_file *b)
{
    return b->state == STALE_SAME && a->skipped == b->skipped &&
           stale_goes(a) == stale_goes(b);
}

/* How many files of one group stand there from the first one on, which is the same. */
static uint32_t count_group(const struct stale_list *list, uint32_t first,
                            struct buf *names, uint32_t *next)
{
    struct str group = group_of(&list->at[first]);
    uint32_t n = 0, i = first;
    for (; i < list->n && str_equal(group_of(&list->at[i]), group); i++) {
        if (!same_group(&list->at[first], &list->at[i]))
            continue;
        if (n < FILES_SHOWN)
            buf_format(names, "%s%.*s", n ? ", " : "", (int)list->at[i].row.path.len,
                       list->at[i].row.path.ptr);
        n++;
    }
    *next = i;
    return n;
}

static void tell_group(const struct telling *t, const struct stale_file *first,
                       uint32_t n, struct buf *names)
{
    struct str group = group_of(first);
    bool members = group.len < first->row.task.len;
    if (n > FILES_SHOWN)
        buf_format(names, " and %u more", n - FILES_SHOWN);
    if (stale_goes(first))
        tell(t,
             "%s %s made by %s%.*s%s %s: `stale: remove` removes %s before anything "
             "runs",
             names->data, n == 1 ? "was" : "were",
             n > 1 && members ? "members of " : "",
             n == 1 ? (int)first->row.task.len : (int)group.len, first->row.task.ptr,
             n > 1 && members ? " that are" : ", which is", gone_or_skipped(first),
             n == 1 ? "it" : "them");
    else if (n == 1)
        tell(t, "%s was made by %.*s, which is %s; %s removes it", names->data,
             (int)first->row.task.len, first->row.task.ptr, gone_or_skipped(first),
             t->command);
    else
        tell(t, "%s were made by %s%.*s%s %s; %s removes them", names->data,
             members ? "members of " : "", (int)group.len, group.ptr,
             members ? " that are" : ", which is", gone_or_skipped(first), t->command);
}

/* Of each group those that a run removes, those that are gone, and those that are
 * skipped. */
static int tell_groups(const struct telling *t, bool goes, bool skipped,
                       uint32_t *others)
{
    const struct stale_list *list = t->list;
    uint32_t groups = 0;
    for (uint32_t i = 0, next; i < list->n; i = next) {
        struct buf names = BUF_INIT;
        next = i + 1;
        if (list->at[i].state != STALE_SAME || list->at[i].skipped != skipped ||
            stale_goes(&list->at[i]) != goes)
            continue;
        uint32_t n = count_group(list, i, &names, &next);
        bool failed = names.failed;
        if (groups++ < GROUPS_SHOWN && !failed)
            tell_group(t, &list->at[i], n, &names);
        else
            *others += n;
        buf_release(&names);
        if (failed)
            return CAIRN_ENOMEM;
    }
    return 0;
}

static void tell_one_kept(const struct telling *t, const struct stale_file *file)
{
    const struct made_row *row = &file->row;
    bool directory = file->state == STALE_DIRECTORY;
    tell(t,
         "%s%.*s was %s by %.*s, which is %s%s: remove it if nothing in it is needed; "
         "after %s it is not named again",
         directory ? "the directory " : "", (int)row->path.len, row->path.ptr,
         directory ? "made" : "written", (int)row->task.len, row->task.ptr,
         gone_or_skipped(file), directory ? "" : ", and may have been there before",
         t->command);
}

static void tell_kept(const struct telling *t, enum stale_state state)
{
    const struct stale_list *list = t->list;
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n; i++)
        if (list->at[i].state == state && n++ < FILES_SHOWN)
            tell_one_kept(t, &list->at[i]);
    if (n > FILES_SHOWN)
        tell(t, "and %u more such %s", n - FILES_SHOWN,
             state == STALE_DIRECTORY ? "directories" : "files");
}

/* They stay, since a task reads them; but it may read too much. */
static void tell_read(const struct telling *t)
{
    const struct stale_list *list = t->list;
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        const struct made_row *row = &list->at[i].row;
        if (list->at[i].read && n++ < FILES_SHOWN)
            tell(t,
                 "%.*s was made by %.*s, which is %s, and %s reads %s: remove it if it "
                 "does not belong there",
                 (int)row->path.len, row->path.ptr, (int)row->task.len, row->task.ptr,
                 gone_or_skipped(&list->at[i]), list->at[i].user,
                 list->at[i].inside ? "the directory in which it lies" : "it");
    }
    if (n > FILES_SHOWN)
        tell(t, "and %u more such files", n - FILES_SHOWN);
}

/* The command that finds the same files as this call. Of a run that is there its number
 * says the rest. */
static void put_command(const struct stale_scene *scene, struct buf *command)
{
    enum { LONGEST = 250 }; /* bytes: a notice has room for it */
    const struct cairn_workflow *w = scene->workflow;
    const struct cairn_run_options *options = scene->options;
    buf_text(command, "`cairn clean --stale ");
    if (scene->run)
        buf_format(command, "--run %llu", (unsigned long long)scene->run);
    else if (options && options->start == CAIRN_START_FROM) {
        buf_text(command, "--from ");
        buf_shell_word(command, str_of(options->from));
    } else {
        size_t file = command->size;
        buf_shell_word(command, w->definition.file);
        size_t end = command->size;
        for (size_t i = 0; i < w->n_params; i++)
            put_param_option(command, str_of(w->params[i].name),
                             str_of(w->params[i].value));
        if (!command->failed && command->size > file + LONGEST && w->n_params) {
            command->size = end;
            buf_text(command, " --param NAME=VALUE");
        }
        if (options && options->start == CAIRN_START_FRESH)
            buf_text(command, " --fresh");
    }
    buf_byte(command, '`');
}

int stale_tell(const struct stale_scene *scene,
               void (*say)(void *context, const char *text), void *context,
               struct cairn_error *error)
{
    struct stale_list list;
    struct stale_limits limits = {LOOKED_AT, ROWS, READ_BYTES};
    struct buf command = BUF_INIT;
    uint32_t others = 0;
    int rc = stale_find(&list, scene, limits, error);
    put_command(scene, &command);
    const struct telling t = {
        &list, command.failed ? "`cairn clean --stale FILE`" : command.data, say,
        context};
    if (!rc && (tell_groups(&t, true, false, &others) ||
                tell_groups(&t, false, false, &others) ||
                tell_groups(&t, false, true, &others)))
        rc = error_nomem(error);
    if (!rc && (others || (list.more && list.n)))
        tell(&t,
             "and %s%u more files of tasks that are gone or skipped now: with "
             "--dry-run %s lists them",
             list.more ? "at least " : "", others ? others : 1, t.command);
    if (!rc) {
        tell_kept(&t, STALE_IN_PLACE);
        tell_kept(&t, STALE_DIRECTORY);
    }
    if (!rc)
        tell_read(&t);
    buf_release(&command);
    stale_release(&list);
    return rc;
}

static void add_notice(void *context, const char *text)
{
    situation_add_notice(context, "%s", text);
}

int situation_notice_stale(struct loader *l)
{
    bool *skipped = stale_decided_skips(l->s);
    const struct stale_scene scene = {.workflow = l->w,
                                      .store = l->store,
                                      .situation = l->s,
                                      .lookup = &l->s->present.lookup,
                                      .skipped = skipped,
                                      .run = l->s->recorded.row.run,
                                      .options = l->options};
    struct cairn_error why = {0};
    int rc = skipped ? stale_tell(&scene, add_notice, l->s, &why) : CAIRN_ENOMEM;
    free(skipped);
    if (rc == CAIRN_EDAMAGED) /* `cairn clean` reports the damage */
        return 0;
    return rc == CAIRN_ENOMEM ? error_nomem(l->error)
           : rc               ? error_set(l->error, rc, "%s", why.text)
                              : 0;
}
