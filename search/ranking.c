/* SPDX-License-Identifier: MIT */
/* Which entries a search may tell, and in which order. */
#include "search/finding_int.h"

#include "base/array.h"
#include "base/error.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

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

static void fuse(struct finding *f, const double *weights)
{
    rank_fuse(f->lists, weights, f->fused, &f->n_fused);
    for (size_t i = 0; i < f->n_fused; i++)
        f->fused[i].time_ns = find_seen(f, f->fused[i].doc)->time_ns;
    rank_order(f->fused, f->n_fused);
}

int finding_rank(struct finding *f)
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
    fuse(f, NULL);
    return rc;
}

/* ---- The service ---- */

static void say_service(struct finding *f, const char *why)
{
    snprintf(f->result->service, sizeof f->result->service, "%.*s",
             (int)sizeof f->result->service - 1, why);
}

/* Its vectors take the place of the hashed ones, which only guess. No transaction is
 * open while it is waited for. */
int finding_ask_service(struct finding *f)
{
    if (!f->service)
        return 0;
    static const double weights[RANK_LISTS] = {1.0, 0.3, 0, 1.0};
    struct embedding e = {.index = f->c.index,
                          .scope = &f->scope,
                          .text = buf_view(&f->text),
                          .first = f->fused,
                          .n_first = f->n_fused,
                          .error = f->error};
    if (f->result->in_memory || store_read_only(f->c.source.store)) {
        say_service(f,
                    "what it answers could not be kept, since the store is only read");
        return 0;
    }
    int rc = service_begin(&e.service, f->c.source.store, f->service, f->error);
    if (!rc)
        rc = embed_rank(&e, &f->lists[3]);
    if (rc && rc != CAIRN_ENOMEM) { /* of the index: what was found stays so */
        say_service(f, f->error->text);
        rc = 0;
    } else {
        say_service(f, e.service.why);
    }
    service_end(&e.service);
    f->result->sent = e.sent;
    f->result->embedded = e.known;
    f->result->service_used = !rc && f->lists[3].n > 0;
    if (f->result->service_used)
        fuse(f, weights);
    return rc;
}
