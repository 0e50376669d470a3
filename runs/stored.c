/* SPDX-License-Identifier: MIT */
/* What the store keeps of a run: its row, and the definitions that it has had. */
#include "runs/stored.h"

#include "runs/additions.h"

#include "base/str.h"
#include "base/words.h"
#include "cairn/runs.h"
#include "checkpoint/outcomes.h"
#include "graph/definition_codec.h"
#include "graph/match.h"
#include "storage/object.h"
#include "storage/rows_meta.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Its row ---- */

int run_row_copy(struct run_row *to, const struct run_row *from, struct arena *arena,
                 struct cairn_error *error)
{
    *to = *from;
    to->workflow_name = arena_str(arena, from->workflow_name);
    to->params_text = arena_str(arena, from->params_text);
    to->file = arena_str(arena, from->file);
    to->owner_host = arena_str(arena, from->owner_host);
    to->owner_boot = arena_str(arena, from->owner_boot);
    return arena->failed ? error_nomem(error) : 0;
}

struct row_reader {
    struct run_row *row;
    struct arena *arena;
    struct cairn_error *error;
};

static int keep_row(void *context, const struct run_row *row)
{
    struct row_reader *r = context;
    return run_row_copy(r->row, row, r->arena, r->error);
}

int run_row_get(struct run_row *row, struct cairn_store *store, uint64_t run,
                struct arena *arena, struct cairn_error *error)
{
    struct row_reader reader = {row, arena, error};
    uint64_t chosen = run;
    int rc = run ? 0 : run_choose(store, &chosen, error);
    if (!rc)
        rc = store_get_run(store, chosen, keep_row, &reader, error);
    if (rc != CAIRN_ENOTFOUND)
        return rc;
    return run ? error_set(error, CAIRN_ENOTFOUND,
                           "there is no run %llu; `cairn runs` lists them",
                           (unsigned long long)run)
               : error_set(
                     error, CAIRN_ENOTFOUND,
                     "the store has no runs yet; start one with `cairn run FILE`");
}

int run_no_checkpoint(uint64_t run, struct cairn_error *error)
{
    return error_set(error, CAIRN_EDAMAGED,
                     "run %llu has no checkpoint left, so there is nothing to continue "
                     "from; start again with `cairn run FILE --fresh`",
                     (unsigned long long)run);
}

int run_no_task(uint64_t run, const char *id, struct cairn_error *error)
{
    return error_set(
        error, CAIRN_ENOTFOUND,
        "run %llu has no task `%s`; `cairn status %llu --tasks` lists them",
        (unsigned long long)run, id, (unsigned long long)run);
}

/* ---- Its definitions ---- */

int run_graph(struct cairn_store *store, const struct run_row *row, uint32_t gen,
              struct digest *digest, struct cairn_error *error)
{
    *digest = row->graph;
    return gen == row->gen ? 0
                           : store_get_run_graph(store, row->run, gen, digest, error);
}

static int definition_load(struct cairn_store *store, const struct digest *digest,
                           struct definition *definition, struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    int rc = store_get_object(store, digest, &bytes, error)
                 ?: definition_decode(buf_view(&bytes), definition, error);
    buf_release(&bytes);
    if (rc)
        error_context(error, "the stored definition of the run");
    return rc;
}

int graph_load(struct cairn_store *store, const struct digest *digest,
               struct definition *definition, struct graph *graph,
               struct cairn_error *error)
{
    int rc = definition_load(store, digest, definition, error);
    if (rc)
        return rc;
    rc = graph_build(graph, definition, error);
    if (rc)
        definition_release(definition);
    return rc;
}

int states_graph_load(struct cairn_store *store, uint64_t run,
                      const struct digest *digest, struct definition *definition,
                      struct graph *graph, struct cairn_error *error)
{
    struct cairn_error why = {0};
    int rc = graph_load(store, digest, definition, graph, &why);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        return error_set(error, CAIRN_EDAMAGED,
                         "%s; run %llu continues only with the workflow's file as it "
                         "was, and `cairn run FILE --fresh` begins another run",
                         why.text, (unsigned long long)run);
    return rc ? error_set(error, rc, "%s", why.text) : 0;
}

int generation_load(struct cairn_store *store, const struct run_row *row, uint32_t gen,
                    struct definition *definition, struct graph *graph,
                    struct cairn_error *error)
{
    struct digest digest;
    int rc = run_graph(store, row, gen, &digest, error);
    return rc ? rc : graph_load(store, &digest, definition, graph, error);
}

void past_definition_release(struct past_definition *past)
{
    if (past->gen) {
        graph_release(&past->graph);
        definition_release(&past->definition);
    }
    past->gen = 0;
}

int past_definition_load(struct past_definition *past, struct cairn_store *store,
                         const struct run_row *row, uint32_t gen,
                         struct cairn_error *error)
{
    if (past->gen == gen)
        return 0;
    past_definition_release(past);
    int rc = generation_load(store, row, gen, &past->definition, &past->graph, error);
    past->gen = rc ? 0 : gen;
    return rc;
}

int past_task(struct past_definition *past, struct cairn_store *store,
              const struct run_row *row, uint32_t gen, uint32_t task,
              const struct graph *graph, uint32_t *found, struct cairn_error *error)
{
    struct cairn_error local = {0};
    bool now = gen == row->gen;
    *found = now && task < graph->n_tasks ? task : NODE_NONE;
    if (now || !gen || gen > row->gen)
        return 0;
    int rc = past_definition_load(past, store, row, gen, &local);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        return 0;
    if (rc)
        return error_set(error, rc, "%s", local.text);
    if (task < past->graph.n_tasks)
        *found = map_task(&past->graph, task, graph);
    return 0;
}

int result_load(struct cairn_store *store, const struct digest *digest,
                struct arena *arena, struct result *result, struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    int rc = store_get_object(store, digest, &bytes, error)
                 ?: result_decode(arena, buf_view(&bytes), result, error);
    buf_release(&bytes);
    return rc;
}

int generation_find_task(struct cairn_store *store, const struct run_row *row,
                         uint32_t gen, const char *id, uint32_t *task,
                         struct cairn_error *error)
{
    struct digest digest;
    struct definition definition;
    int rc = run_graph(store, row, gen, &digest, error);
    if (rc || store_known_task(store, &digest, id, task))
        return rc;
    rc = definition_load(store, &digest, &definition, error);
    if (rc)
        return rc;
    *task = definition_find_task(&definition, str_of(id));
    store_note_task(store, &digest, id, *task);
    definition_release(&definition);
    return 0;
}

/* ---- A run with its states ---- */

int stored_run_load_graph(struct stored_run *stored, struct cairn_store *store,
                          struct cairn_error *error)
{
    int rc = states_graph_load(store, stored->row.run, &stored->recovery.graph,
                               &stored->definition, &stored->graph, error);
    stored->loaded = !rc;
    return rc;
}

int stored_run_open(struct stored_run *stored, struct cairn_store *store, uint64_t run,
                    bool graph, struct cairn_error *error)
{
    struct stored_run s = {.arena = ARENA_INIT};
    struct sha256 *sha = sha256_new();
    int rc = sha ? store_begin_read(store, error) : error_nomem(error);
    if (rc) {
        sha256_free(sha);
        return rc;
    }
    rc = run_row_get(&s.row, store, run, &s.arena, error)
             ?: run_trust(store, &s.row, error);
    if (!rc) {
        rc = outcomes_recover(store, sha, s.row.run, &s.recovery, error);
        s.recovered = !rc;
    }
    if (rc == CAIRN_ENOTFOUND && s.row.run)
        rc = run_no_checkpoint(s.row.run, error);
    if (!rc && graph)
        rc = stored_run_load_graph(&s, store, error);
    s.graph.definition = &stored->definition; /* where it moves to below */
    store_end_read(store);
    sha256_free(sha);
    if (rc)
        stored_run_release(&s);
    else
        *stored = s;
    return rc;
}

void stored_run_release(struct stored_run *stored)
{
    if (stored->recovered)
        recovery_release(&stored->recovery);
    if (stored->loaded) {
        graph_release(&stored->graph);
        definition_release(&stored->definition);
    }
    arena_release(&stored->arena);
}

/* The setting: directories, newest first, each with a newline. */
enum { HOMES_BYTES = 8192 };

static const char setting[] = "homes";

/* The directory that the store lies in, with a slash at its end; "" if it cannot be
 * found out, or could not be noted. */
static int current_home(const struct cairn_store *store, struct buf *out,
                        struct cairn_error *error)
{
    char *path = realpath(cairn_store_path(store), NULL);
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash && !strchr(path, '\n') && slash - path < HOMES_BYTES / 2)
        buf_add(out, path, (size_t)(slash - path) + 1);
    free(path);
    return buf_check(out, error);
}

/* The next of the noted ones, without its newline. False: that was the last one. A last
 * one that was cut off has no newline, and is left out. */
static bool next_home(const char **at, struct str *home)
{
    const char *end = strchr(*at, '\n');
    if (!end)
        return false;
    *home = (struct str){*at, (size_t)(end - *at)};
    *at = end + 1;
    return true;
}

/* The others, as far as there is room, behind this one. */
static int put_homes(struct cairn_store *store, struct str here, const char *noted,
                     struct cairn_error *error)
{
    struct buf text = BUF_INIT;
    struct str home;
    buf_str(&text, here);
    buf_byte(&text, '\n');
    while (next_home(&noted, &home))
        if (!str_equal(home, here) && text.size + home.len + 2 < HOMES_BYTES) {
            buf_str(&text, home);
            buf_byte(&text, '\n');
        }
    int rc =
        buf_check(&text, error) ?: store_set_setting(store, setting, text.data, error);
    buf_release(&text);
    return rc;
}

int moved_store_note(struct cairn_store *store, struct cairn_error *error)
{
    char noted[HOMES_BYTES] = "";
    const char *at = noted;
    struct buf here = BUF_INIT;
    struct str newest;
    int rc = store_key(store) ? 0 : current_home(store, &here, error);
    if (!rc && here.size)
        rc = store_setting(store, setting, noted, sizeof noted, error);
    if (rc >= 0 && here.size &&
        !(next_home(&at, &newest) && str_equal(newest, buf_view(&here))))
        rc = put_homes(store, buf_view(&here), noted, error);
    buf_release(&here);
    return rc < 0 ? rc : 0;
}

static bool lies_below(struct str file, struct str directory)
{
    return directory.len && directory.len < file.len &&
           memcmp(directory.ptr, file.ptr, directory.len) == 0;
}

/* Below `here` what lay below the first of the noted ones that it lay below. */
static bool try_below(struct str here, const char *noted, struct str file,
                      struct buf *path)
{
    struct str home;
    while (next_home(&noted, &home)) {
        if (!lies_below(file, home))
            continue;
        buf_clear(path);
        buf_str(path, here);
        buf_add(path, file.ptr + home.len, file.len - home.len);
        if (buf_view(path).len && !path->failed && access(path->data, F_OK) == 0)
            return true;
    }
    return false;
}

/* Did the file lie below a directory in which there is another store now, as there is
 * where a store was copied from? */
static bool is_of_other_store(const struct cairn_store *store, struct str here,
                              const char *noted, struct str file)
{
    struct str home;
    struct buf path = BUF_INIT;
    const char *name = strrchr(cairn_store_path(store), '/');
    bool there = false;
    assert(here.ptr);
    while (!there && name && next_home(&noted, &home)) {
        if (!lies_below(file, home) || str_equal(home, here))
            continue;
        buf_clear(&path);
        buf_str(&path, home);
        buf_text(&path, name + 1);
        buf_text(&path, "/cairn.db");
        there = !path.failed && access(path.data, F_OK) == 0;
    }
    buf_release(&path);
    return there;
}

int moved_store_find(struct cairn_store *store, const struct run_row *row,
                     struct buf *path, struct cairn_error *error)
{
    char noted[HOMES_BYTES] = "";
    struct buf here = BUF_INIT;
    bool looks = row->file.len && !row->keyed && !store_key(store);
    int rc = looks ? current_home(store, &here, error) : 0;
    if (!rc && here.size)
        rc = store_setting(store, setting, noted, sizeof noted, error);
    bool known = rc >= 0 && here.size;
    bool there = known && try_below(buf_view(&here), noted, row->file, path);
    bool foreign = known && !there && !lies_below(row->file, buf_view(&here)) &&
                   is_of_other_store(store, buf_view(&here), noted, row->file);
    buf_release(&here);
    if (foreign)
        return error_set(
            error, CAIRN_ENOTFOUND,
            "run %llu was copied with its store from where %.*s is, and no "
            "such file is here: name the one that is to be run here, "
            "`cairn run FILE`",
            (unsigned long long)row->run, (int)row->file.len, row->file.ptr);
    if (rc < 0 || there)
        return rc < 0 ? rc : 1;
    buf_clear(path);
    buf_str(path, row->file);
    rc = buf_check(path, error);
    return rc ? rc : path->size && access(path->data, F_OK) == 0;
}

int moved_store_directory(struct cairn_store *store, const struct run_row *row,
                          struct str recorded, struct buf *path,
                          struct cairn_error *error)
{
    static const char itself[] = "/."; /* so that a home lies below itself */
    char noted[HOMES_BYTES] = "";
    struct buf here = BUF_INIT, below = BUF_INIT, found = BUF_INIT;
    bool looks = recorded.len && !row->keyed && !store_key(store);
    int rc = looks ? current_home(store, &here, error) : 0;
    if (!rc && here.size)
        rc = store_setting(store, setting, noted, sizeof noted, error);
    buf_str(&below, recorded);
    buf_text(&below, itself);
    if (rc >= 0)
        rc = buf_check(&below, error);
    bool there =
        !rc && here.size && try_below(buf_view(&here), noted, buf_view(&below), &found);
    buf_clear(path);
    if (there)
        buf_add(path, found.data, found.size - strlen(itself));
    else
        buf_str(path, recorded);
    buf_release(&here);
    buf_release(&below);
    buf_release(&found);
    return rc ? rc : buf_check(path, error);
}

enum { KEY_BYTES = 32, PAIR_BYTES = 2 * DIGEST_HEX_SIZE };

static void key_of(const struct run_row *row, char key[KEY_BYTES])
{
    snprintf(key, KEY_BYTES, "compiled.%llu", (unsigned long long)row->workflow);
}

static int hash_source(const struct cairn_workflow *w, struct str params,
                       char hex[DIGEST_HEX_SIZE], struct cairn_error *error)
{
    struct buf start = BUF_INIT;
    struct digest digest;
    struct sha256 *sha = sha256_new();
    buf_lstr(&start, str_of(cairn_version()));
    buf_lstr(&start, str_of(w->file));
    buf_lstr(&start, params);
    int rc = sha && !start.failed ? 0 : error_nomem(error);
    if (!rc) {
        sha256_begin(sha);
        sha256_add(sha, start.data, start.size);
        sha256_add(sha, w->source.data, w->source.size);
        sha256_end(sha, &digest);
        digest_hex(&digest, hex);
    }
    sha256_free(sha);
    buf_release(&start);
    return rc;
}

/* The hash of everything that the parser reads, and the digest of the definition: "HASH
 * DIGEST". */
static int make_pair(const struct cairn_workflow *w, const struct run_row *row,
                     char pair[PAIR_BYTES], struct cairn_error *error)
{
    int rc = hash_source(w, row->params_text, pair, error);
    pair[DIGEST_HEX_SIZE - 1] = ' ';
    digest_hex(&row->graph, pair + DIGEST_HEX_SIZE);
    return rc;
}

/* The run's own definition is the one that is looked for: if the file makes another
 * now, that is a change, and only parsing can find where. */
static int parse_cache_find(struct cairn_workflow *w, struct cairn_store *store,
                            const struct run_row *row, struct cairn_error *error)
{
    char key[KEY_BYTES], pair[PAIR_BYTES], noted[PAIR_BYTES + 1];
    struct cairn_error missing;
    if (row->keyed || store_key(store))
        return 0;
    key_of(row, key);
    int rc = store_setting(store, key, noted, sizeof noted, error);
    if (rc <= 0)
        return rc;
    rc = make_pair(w, row, pair, error);
    if (rc || strcmp(noted, pair) != 0)
        return rc;
    rc = graph_load(store, &row->graph, &w->definition, &w->graph, &missing);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    if (!rc && w->definition.all_need_all) { /* an old run's: a new one has not */
        graph_release(&w->graph);
        definition_release(&w->definition);
        return 0;
    }
    w->compiled = w->digested = !rc;
    w->digest = row->graph;
    return w->compiled; /* if it cannot be read, the file is parsed */
}

static bool is_cacheable(const struct definition *d)
{
    bool all = d->n_warnings == 0 && d->n_files <= 1;
    for (uint32_t i = 0; i < d->n_defs && all; i++)
        for (uint32_t k = 0; k < d->defs[i].n_foreach && all; k++) {
            uint8_t source = d->defs[i].foreach[k].source;
            all = source == FOREACH_LIST || source == FOREACH_RANGE;
        }
    return all;
}

int parse_cache_note(const struct cairn_workflow *w, struct cairn_store *store,
                     const struct run_row *row, struct cairn_error *error)
{
    char key[KEY_BYTES], pair[PAIR_BYTES];
    if (!w->name || !*w->file || store_key(store) || !is_cacheable(&w->definition))
        return 0;
    key_of(row, key);
    int rc = make_pair(w, row, pair, error);
    return rc ? rc : store_set_setting(store, key, pair, error);
}

/* The workflow of a run: from its file as it is now, or as it is stored. */

static void free_params(struct cairn_param *params, size_t n)
{
    for (size_t i = 0; params && i < n; i++) {
        free((char *)(uintptr_t)params[i].name);
        free((char *)(uintptr_t)params[i].value);
    }
    free(params);
}

static int read_params(struct str canonical, struct cairn_param **out, size_t *n,
                       struct cairn_error *error)
{
    struct reader r = reader_of(canonical.ptr, canonical.len);
    struct cairn_param *params = NULL;
    bool failed = false;
    *n = 0;
    while (reader_left(&r) && !r.failed && !failed) {
        struct str name = read_lstr(&r), value = read_lstr(&r);
        struct cairn_param *more = realloc(params, (*n + 1) * sizeof *params);
        failed = !more;
        if (failed)
            break;
        params = more;
        struct cairn_param *param = &params[(*n)++];
        param->name = strndup(name.ptr ? name.ptr : "", name.len);
        param->value = strndup(value.ptr ? value.ptr : "", value.len);
        failed = !param->name || !param->value;
    }
    if (!failed && !reader_left(&r) && !r.failed) {
        *out = params;
        return 0;
    }
    free_params(params, *n);
    return r.failed
               ? error_set(error, CAIRN_EDAMAGED,
                           "the recorded params cannot be read; run `cairn doctor`")
               : error_nomem(error);
}

int cairn_run_params(struct cairn_store *store, uint64_t run,
                     int (*each)(void *, const char *name, const char *value),
                     void *context, struct cairn_error *error)
{
    struct run_row row;
    struct arena arena = ARENA_INIT;
    struct cairn_param *params = NULL;
    size_t n = 0;
    int rc = run_row_get(&row, store, run, &arena, error)
                 ?: read_params(row.params_text, &params, &n, error);
    for (size_t i = 0; i < n && !rc; i++)
        if (each(context, params[i].name, params[i].value))
            break;
    if (!rc)
        free_params(params, n);
    arena_release(&arena);
    return rc;
}

/* A list of members that is gone, or cannot be used any more, is no mistake for a run
 * that has recorded them: notes say what differs. */
int workflow_of_run_parse(struct cairn_workflow *w, struct cairn_store *store,
                          const struct run_row *row, struct cairn_error *error)
{
    struct definition recorded;
    struct graph graph;
    int rc = workflow_parse_source(w, NULL, error);
    if (!rc || rc == CAIRN_ENOMEM ||
        graph_load(store, &row->graph, &recorded, &graph, NULL))
        return rc;
    rc = workflow_parse_source(w, &recorded, error);
    graph_release(&graph);
    definition_release(&recorded);
    return rc;
}

/* Whether the file was written since a process began with the run, and read it. */
static bool is_newer(const char *path, const struct run_row *row)
{
    struct stat st;
    return stat(path, &st) == 0 &&
           st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec > row->owner_since_ns;
}

/* What the parser needs to note edited defaults. */
static int look_for_edits(struct cairn_workflow *w, struct cairn_store *store,
                          const struct run_row *row, struct cairn_error *error)
{
    int rc = 0;
    w->were_given = calloc(w->n_params + 1, sizeof *w->were_given);
    if (!w->were_given)
        return error_nomem(error);
    w->edited_run = row->run;
    for (size_t i = 0; i < w->n_params && rc >= 0; i++) {
        rc = store_was_given(store, row->run, str_of(w->params[i].name), error);
        w->were_given[i] = rc > 0;
    }
    return rc < 0 ? rc : 0;
}

int run_put_given(struct cairn_store *store, const struct run_row *row,
                  const struct cairn_workflow *w, struct cairn_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < w->n_params && rc >= 0; i++) {
        struct str name = str_of(w->params[i].name);
        rc = row->from_run ? store_was_given(store, row->from_run, name, error) : 1;
        if (rc > 0)
            rc = store_set_given(store, row->run, name, error);
    }
    return rc < 0 ? rc : 0;
}

static int read_file(struct cairn_workflow **out, const char *path,
                     const struct run_row *row, struct cairn_error *error)
{
    size_t n;
    struct cairn_param *params;
    int rc = read_params(row->params_text, &params, &n, error);
    if (rc)
        return rc;
    rc = workflow_read(out, path, params, n, error);
    free_params(params, n);
    return rc;
}

/* The file is not parsed if it has not changed since the run recorded its definition.
 */
static int load_unless_unchanged(struct cairn_workflow **out, const char *path,
                                 struct cairn_store *store, const struct run_row *row,
                                 struct cairn_error *error)
{
    struct cairn_workflow *w;
    int rc = read_file(&w, path, row, error);
    if (rc)
        return rc;
    if (is_newer(path, row))
        rc = look_for_edits(w, store, row, error);
    struct addition *added = NULL;
    size_t n_added = 0;
    if (!rc)
        rc = additions_load(store, row->run, &added, &n_added, error);
    if (!rc)
        workflow_take_additions(w, row->run, added, n_added);
    if (!rc && !n_added)
        rc = parse_cache_find(w, store, row, error);
    if (!rc)
        rc = workflow_of_run_parse(w, store, row, error);
    if (rc < 0)
        cairn_workflow_free(w);
    else
        *out = w;
    return rc < 0 ? rc : 0;
}

/* A run is known by its params, so it cannot go on with others. */
static int refuse_other_params(const struct run_row *row, const char *path,
                               struct cairn_error *error)
{
    struct buf file = BUF_INIT;
    struct cairn_error why = *error;
    buf_shell_word(&file, str_of(path));
    int rc = error_set(error, CAIRN_EUSAGE,
                       "%s\nrun %llu continues with the params that it has: take back "
                       "that edit, or begin a new run with `cairn run %s --fresh`",
                       why.text, (unsigned long long)row->run,
                       file.failed ? "FILE" : file.data);
    buf_release(&file);
    return rc;
}

static int load_file(struct cairn_workflow **out, const char *path,
                     struct cairn_store *store, const struct run_row *row,
                     struct cairn_error *error)
{
    int rc = run_trust(store, row, error);
    if (rc)
        return rc;
    rc = load_unless_unchanged(out, path, store, row, error);
    return rc == CAIRN_EUSAGE && error ? refuse_other_params(row, path, error) : rc;
}

int workflow_stored(struct cairn_workflow **out, struct cairn_store *store,
                    const struct run_row *row, struct cairn_error *error)
{
    struct cairn_workflow *w = workflow_make();
    if (!w)
        return error_nomem(error);
    int rc = run_trust(store, row, error)
                 ?: states_graph_load(store, row->run, &row->graph, &w->definition,
                                      &w->graph, error);
    if (rc) {
        cairn_workflow_free(w);
        return rc;
    }
    w->compiled = true;
    *out = w;
    return 0;
}

int workflow_of_run_read(struct cairn_workflow **out, struct cairn_store *store,
                         const struct run_row *row, struct cairn_error *error)
{
    struct buf path = BUF_INIT;
    int file = moved_store_find(store, row, &path, error);
    int rc = file > 0 ? run_trust(store, row, error) : file;
    if (file > 0 && !rc)
        rc = read_file(out, path.data, row, error);
    buf_release(&path);
    return rc ? rc : file;
}

int cairn_workflow_of_run(struct cairn_workflow **out, struct cairn_store *store,
                          uint64_t run, bool *from_file, struct cairn_error *error)
{
    return cairn_workflow_of_run_with(out, store, run, NULL, from_file, error);
}

int cairn_workflow_of_run_with(struct cairn_workflow **out, struct cairn_store *store,
                               uint64_t run, const struct cairn_registry *registry,
                               bool *from_file, struct cairn_error *error)
{
    struct cairn_workflow *w = NULL;
    struct arena arena = ARENA_INIT;
    struct buf path = BUF_INIT;
    struct run_row row;
    int rc = run_row_get(&row, store, run, &arena, error);
    int file = rc ? rc : moved_store_find(store, &row, &path, error);
    rc = file < 0    ? file
         : file == 0 ? workflow_stored(&w, store, &row, error)
                     : load_file(&w, path.data, store, &row, error);
    if (!rc)
        rc = workflow_bind(w, registry, error);
    if (!rc && from_file)
        *from_file = file;
    if (rc)
        cairn_workflow_free(w);
    else
        *out = w;
    buf_release(&path);
    arena_release(&arena);
    return rc;
}
