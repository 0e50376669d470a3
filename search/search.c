/* SPDX-License-Identifier: MIT */
/* A search: the index finds, the store decides. */
#include "search/search_int.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "session/when.h"
#include "storage/store.h"

#include <limits.h>
#include <stdlib.h>

enum { K_USUAL = 5, K_MOST = 100, QUERY_MOST = 64 << 10, TAGS_MOST = 64 };

/* ---- What is wanted ---- */

struct docs { /* by number */
    int64_t *at;
    size_t n, room;
};
struct finding {
    const struct cairn_search *search;
    struct catching c;
    struct buf text, project;
    int64_t since_ns, until_ns;
    uint32_t k;
    /* By what is asked besides the text: */
    bool *projects; /* [n_projects], by id: belongs to what is searched */
    size_t n_projects;
    struct docs tagged;
    struct scope scope;
    struct searchdb_vector query;
    struct rank_list lists[RANK_LISTS];
    struct fused fused[RANK_LISTS * RANK_DEPTH];
    size_t n_fused;
    int (*each)(void *, const struct cairn_search_hit *);
    void *context;
    struct cairn_search_result *result;
    struct cairn_error *error;
};

static int take_time(const char *text, int64_t *out, struct cairn_error *error)
{
    return text ? when_parse(str_of(text), clock_utc_ns(), &zone_local, out, error) : 0;
}

static int take_project(struct finding *f)
{
    const char *project = f->search->project;
    char *path;
    if (!project || !*project)
        return error_set(f->error, CAIRN_EUSAGE,
                         "a search needs a project: the directory to which what is "
                         "looked for belongs");
    path = realpath(project, NULL);
    if (!path && *project != '/')
        return error_set(f->error, CAIRN_EUSAGE, "there is no directory %s", project);
    buf_text(&f->project, path ? path : project);
    free(path);
    while (f->project.size > 1 && f->project.data[f->project.size - 1] == '/')
        f->project.data[--f->project.size] = 0;
    return buf_check(&f->project, f->error);
}

static int take_text(struct finding *f)
{
    struct str text = str_of(f->search->text);
    size_t blank = 0;
    if (text.len > QUERY_MOST)
        return error_set(f->error, CAIRN_EUSAGE,
                         "what is looked for has %zu bytes, and may have %d", text.len,
                         QUERY_MOST);
    entry_text(&f->text, text, QUERY_MOST, false);
    if (buf_check(&f->text, f->error))
        return CAIRN_ENOMEM;
    while (blank < f->text.size && (unsigned char)f->text.data[blank] <= ' ')
        blank++;
    if (blank == f->text.size)
        return error_set(f->error, CAIRN_EUSAGE,
                         "there is nothing to look for: the text is empty");
    return 0;
}

static int take_search(struct finding *f)
{
    const struct cairn_search *search = f->search;
    f->k = search->k ? search->k : K_USUAL;
    f->since_ns = INT64_MIN;
    f->until_ns = INT64_MAX;
    if (f->k > K_MOST)
        return error_set(f->error, CAIRN_EUSAGE,
                         "%u hits are too many: a search tells 1 to %d", f->k, K_MOST);
    if (!cairn_search_section_name(search->section))
        return error_set(f->error, CAIRN_EUSAGE, "there is no such section to search");
    if (search->n_tags > TAGS_MOST)
        return error_set(f->error, CAIRN_EUSAGE, "a search takes at most %d tags",
                         TAGS_MOST);
    int rc = take_text(f);
    if (!rc)
        rc = take_project(f);
    if (!rc)
        rc = take_time(search->since, &f->since_ns, f->error);
    return rc ? rc : take_time(search->until, &f->until_ns, f->error);
}

/* ---- Filters ---- */

/* Itself, or below. */
static bool is_within(struct str path, struct str above)
{
    if (above.len == 1 && above.ptr[0] == '/')
        return true;
    return path.len >= above.len && memcmp(path.ptr, above.ptr, above.len) == 0 &&
           (path.len == above.len || path.ptr[above.len] == '/');
}

static int note_project(void *context, uint32_t id, struct str path)
{
    struct finding *f = context;
    size_t room = f->n_projects;
    if (id >= 1u << 24)
        return error_set(f->error, CAIRN_EDAMAGED, "the index is damaged");
    if (id >= room) {
        bool *all = realloc(f->projects, (id + 64) * sizeof *all);
        if (!all)
            return error_nomem(f->error);
        memset(all + room, 0, (id + 64 - room) * sizeof *all);
        f->projects = all;
        f->n_projects = id + 64;
    }
    f->projects[id] = is_within(path, buf_view(&f->project));
    return 0;
}

static int note_tagged(void *context, int64_t doc)
{
    struct docs *docs = context;
    int64_t *at = array_room(docs->at, docs->n, &docs->room, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    docs->at = at;
    at[docs->n++] = doc;
    return 0;
}

static bool has_doc(const struct docs *docs, int64_t doc)
{
    size_t low = 0, high = docs->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (docs->at[middle] == doc)
            return true;
        if (docs->at[middle] < doc)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* Those with all tags: of each tag they come by number. */
static int find_tagged(struct finding *f)
{
    int rc = 0;
    for (size_t i = 0; i < f->search->n_tags && !rc; i++) {
        struct docs docs = {.n = 0};
        rc = searchdb_each_tagged(f->c.index, str_of(f->search->tags[i]), note_tagged,
                                  &docs, f->error);
        size_t n = 0;
        for (size_t j = 0; j < docs.n; j++)
            if (i == 0 || has_doc(&f->tagged, docs.at[j]))
                docs.at[n++] = docs.at[j];
        free(f->tagged.at);
        f->tagged = docs;
        f->tagged.n = n;
    }
    return rc == CAIRN_ENOMEM ? error_nomem(f->error) : rc;
}

/* ---- Ranking ---- */

static bool is_wanted(const struct finding *f, const struct searchdb_seen *doc)
{
    const struct cairn_search *search = f->search;
    return (!search->section || doc->section == search->section) &&
           doc->time_ns >= f->since_ns && doc->time_ns <= f->until_ns &&
           (!search->n_tags || has_doc(&f->tagged, doc->doc));
}

static int see(void *context, const struct searchdb_seen *doc)
{
    struct finding *f = context;
    struct scope *scope = &f->scope;
    if (doc->project >= f->n_projects || !f->projects[doc->project])
        return 0;
    struct scope_doc *at = array_room(scope->at, scope->n, &scope->room, sizeof *at);
    if (!at)
        return error_nomem(f->error);
    scope->at = at;
    at += scope->n++;
    *at = (struct scope_doc){.doc = doc->doc,
                             .time_ns = doc->time_ns,
                             .n_words = doc->n_words,
                             .n_grams = doc->n_grams,
                             .wanted = is_wanted(f, doc)};
    scope->words += doc->n_words;
    scope->grams += doc->n_grams;
    if (at->wanted)
        rank_offer(&f->lists[2], doc->doc,
                   -vector_near(&f->query, doc->vector, doc->square));
    return 0;
}

static const struct scope_doc *find_seen(const struct finding *f, int64_t doc)
{
    const struct scope *scope = &f->scope;
    size_t low = 0, high = scope->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scope->at[middle].doc == doc)
            return &scope->at[middle];
        if (scope->at[middle].doc < doc)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int rank(struct finding *f)
{
    int rc = searchdb_each_project(f->c.index, note_project, f, f->error);
    if (!rc)
        rc = find_tagged(f);
    if (!rc)
        rc = vector_of(STR(""), buf_view(&f->text), &f->query, f->error);
    if (!rc)
        rc = searchdb_each_vector(f->c.index, see, f, f->error);
    if (!rc)
        rc = rank_texts(f->c.index, &f->scope, buf_view(&f->text), f->lists, f->error);
    if (!rc)
        rc = searchdb_count(f->c.index, &f->result->entries, f->error);
    rank_sort(&f->lists[2]);
    rank_fuse(f->lists, NULL, f->fused, &f->n_fused);
    for (size_t i = 0; i < f->n_fused && !rc; i++)
        f->fused[i].time_ns = find_seen(f, f->fused[i].doc)->time_ns;
    rank_order(f->fused, f->n_fused);
    return rc;
}

/* ---- Telling ---- */

struct hit {
    struct finding *f;
    double score;
    struct buf key;
    uint8_t hash[SEARCHDB_HASH];
    bool good;
    bool stopped;
};

static int note_doc(void *context, const struct searchdb_doc *doc)
{
    struct hit *hit = context;
    buf_str(&hit->key, doc->key);
    if (doc->hash.len == SEARCHDB_HASH)
        memcpy(hit->hash, doc->hash.ptr, SEARCHDB_HASH);
    return buf_check(&hit->key, hit->f->error);
}

/* The title is shown by itself where it is a name. */
static int make_snippet(const struct finding *f, const struct text_entry *entry,
                        struct buf *out)
{
    struct buf text = BUF_INIT;
    if (entry->section == CAIRN_SEARCH_SESSIONS ||
        entry->section == CAIRN_SEARCH_BOARD || !entry->body.len) {
        buf_str(&text, entry->title);
        buf_text(&text, entry->title.len && entry->body.len ? "\n" : "");
    }
    buf_str(&text, entry->body);
    int rc = buf_check(&text, f->error);
    if (!rc && text.size)
        rc = snippet_make(buf_view(&text), buf_view(&f->text), out, f->error);
    buf_release(&text);
    return rc;
}

static int tell(struct hit *hit, const struct text_entry *entry, struct buf texts[3])
{
    struct finding *f = hit->f;
    buf_str(&texts[0], entry->title);
    buf_str(&texts[1], entry->project);
    int rc = make_snippet(f, entry, &texts[2]);
    for (int i = 0; i < 3 && !rc; i++)
        rc = buf_check(&texts[i], f->error);
    if (rc)
        return rc;
    struct cairn_search_hit told = {.rank = ++f->result->hits,
                                    .score = hit->score,
                                    .distance = 1 - hit->score,
                                    .section = entry->section,
                                    .kind = entry->kind,
                                    .id = entry->id,
                                    .session = entry->session,
                                    .task = entry->task,
                                    .run = entry->run,
                                    .checkpoint = entry->seq,
                                    .time_ns = entry->time_ns,
                                    .project = texts[1].data ? texts[1].data : "",
                                    .title = texts[0].data ? texts[0].data : "",
                                    .snippet = texts[2].data ? texts[2].data : ""};
    hit->stopped = f->each(f->context, &told) != 0;
    return hit->stopped;
}

static int check_entry(void *context, const struct text_entry *entry)
{
    struct hit *hit = context;
    struct buf texts[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
    uint8_t hash[SEARCHDB_HASH];
    entry_hash(hit->f->c.source.sha, entry, hash);
    if (!str_equal(entry->key, buf_view(&hit->key)))
        return 0; /* of several that come together */
    hit->good = memcmp(hash, hit->hash, SEARCHDB_HASH) == 0;
    int rc = hit->good ? tell(hit, entry, texts) : 0;
    for (int i = 0; i < 3; i++)
        buf_release(&texts[i]);
    return rc ? rc : 1;
}

/* *stopped: no more is wanted. */
static int tell_one(struct finding *f, const struct fused *fused, bool *stopped)
{
    struct hit hit = {.f = f, .score = fused->score, .key = BUF_INIT};
    struct text_source *source = &f->c.source;
    int rc = searchdb_get(f->c.index, fused->doc, note_doc, &hit, f->error);
    source->each = check_entry;
    source->is_known = NULL;
    source->context = &hit;
    if (!rc)
        rc = source_get(source, buf_view(&hit.key));
    buf_release(&hit.key);
    f->result->dropped += !hit.good;
    *stopped = hit.stopped;
    return rc == CAIRN_ENOMEM ? rc : 0; /* what cannot be read is not there */
}

static int tell_all(struct finding *f)
{
    bool stopped = false;
    int rc = 0;
    for (size_t i = 0; i < f->n_fused && f->result->hits < f->k && !rc && !stopped; i++)
        rc = tell_one(f, &f->fused[i], &stopped);
    return rc;
}

/* ---- The index ---- */

/* As far as it can be brought; 0 also if somebody else is doing that. */
static int bring_up(struct finding *f)
{
    struct catching *c = &f->c;
    int rc = catch_up(c);
    if (rc == CAIRN_EDAMAGED) {
        rc = searchdb_renew(c->index, f->error);
        if (!rc)
            rc = catch_up(c);
    }
    f->result->up_to_date = rc == 0;
    return rc > 0 || rc == CAIRN_EBUSY ? 0 : rc;
}

static int open_memory(struct finding *f)
{
    searchdb_close(f->c.index);
    f->c.index = NULL;
    f->result->in_memory = true;
    int rc = searchdb_open(&f->c.index, NULL, true, f->error);
    return rc ? rc : bring_up(f);
}

static int open_reader(struct finding *f)
{
    struct catching *c = &f->c;
    bool current = false;
    int rc =
        searchdb_open(&c->index, cairn_store_path(c->source.store), false, f->error);
    if (!rc)
        rc = catch_up_is_current(c, &current);
    if (!rc && current) {
        f->result->up_to_date = true;
        return 0;
    }
    return rc == CAIRN_ENOMEM ? rc : open_memory(f);
}

static int open_index(struct finding *f)
{
    struct cairn_store *store = f->c.source.store;
    if (store_read_only(store))
        return open_reader(f);
    int rc = searchdb_open(&f->c.index, cairn_store_path(store), true, f->error);
    return rc ? rc : bring_up(f);
}

static int rank_once(struct finding *f)
{
    memset(f->lists, 0, sizeof f->lists);
    f->scope.n = f->n_fused = 0;
    f->scope.words = f->scope.grams = 0;
    int rc = searchdb_begin_read(f->c.index, f->error);
    if (rc)
        return rc;
    rc = rank(f);
    searchdb_end_read(f->c.index);
    return rc;
}

/* The index was damaged where nothing but a search reads it. */
static int make_anew(struct finding *f)
{
    if (!f->result->in_memory && store_read_only(f->c.source.store))
        return open_memory(f);
    int rc = searchdb_renew(f->c.index, f->error);
    return rc ? rc : bring_up(f);
}

static int find(struct finding *f)
{
    int rc = open_index(f);
    if (!rc)
        rc = rank_once(f);
    if (rc == CAIRN_EDAMAGED) {
        rc = make_anew(f);
        if (!rc)
            rc = rank_once(f);
    }
    return rc ? rc : tell_all(f);
}

static void end(struct finding *f)
{
    searchdb_close(f->c.index);
    source_close(&f->c.source);
    buf_release(&f->text);
    buf_release(&f->project);
    free(f->projects);
    free(f->tagged.at);
    free(f->scope.at);
    free(f);
}

static int begin(struct finding **out, struct cairn_store *store,
                 struct cairn_search_result *result, struct cairn_error *error)
{
    struct finding *f = calloc(1, sizeof *f);
    if (!f)
        return error_nomem(error);
    *result = (struct cairn_search_result){.entries = 0};
    f->result = result;
    f->error = f->c.error = error;
    int rc = source_open(&f->c.source, store, error);
    if (rc)
        free(f);
    else
        *out = f;
    return rc;
}

int cairn_search(struct cairn_store *store, const struct cairn_search *search,
                 int (*progress)(void *, const struct cairn_search_progress *),
                 int (*each)(void *, const struct cairn_search_hit *), void *context,
                 struct cairn_search_result *result, struct cairn_error *error)
{
    struct finding *f;
    struct cairn_search_result own;
    int rc = begin(&f, store, result ? result : &own, error);
    if (rc)
        return rc;
    f->search = search;
    f->each = each;
    f->context = f->c.context = context;
    f->c.progress = progress;
    rc = take_search(f);
    if (!rc)
        rc = find(f);
    end(f);
    return rc;
}

static int refuse_read_only(struct cairn_error *error)
{
    return error_set(error, CAIRN_EUSAGE,
                     "the store is only read: the index is written to it");
}

int cairn_search_rebuild(struct cairn_store *store,
                         int (*progress)(void *, const struct cairn_search_progress *),
                         void *context, struct cairn_search_result *result,
                         struct cairn_error *error)
{
    struct finding *f;
    struct cairn_search_result own;
    if (store_read_only(store))
        return refuse_read_only(error);
    int rc = begin(&f, store, result ? result : &own, error);
    if (rc)
        return rc;
    f->c.context = context;
    f->c.progress = progress;
    rc = searchdb_open(&f->c.index, cairn_store_path(store), true, error);
    if (!rc)
        rc = searchdb_renew(f->c.index, error);
    if (!rc)
        rc = catch_up(&f->c);
    f->result->up_to_date = rc == 0;
    if (rc >= 0)
        rc = searchdb_count(f->c.index, &f->result->entries, error);
    end(f);
    return rc;
}

int cairn_search_forget(struct cairn_store *store, struct cairn_error *error)
{
    struct finding *f;
    struct cairn_search_result result;
    struct searchdb *index;
    const char *dir = cairn_store_path(store);
    if (store_read_only(store))
        return refuse_read_only(error);
    int rc = searchdb_open(&index, dir, false, error);
    if (rc == CAIRN_ENOTFOUND)
        return 0;
    if (!rc)
        searchdb_close(index);
    rc = begin(&f, store, &result, error);
    if (rc)
        return rc;
    f->c.only_gone = true;
    rc = searchdb_open(&f->c.index, dir, true, error);
    if (!rc)
        rc = catch_up(&f->c);
    end(f);
    return rc ? searchdb_remove(dir, error) : 0;
}
