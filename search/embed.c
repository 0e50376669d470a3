/* SPDX-License-Identifier: MIT */
/* The list of a service: entries by how near their vectors are to that of the query.
 * Vectors are asked for once: of what was found without the service first, then of the
 * newest entries, a limited number in one search, and the next search goes on. */
#include "search/service_int.h"

#include "base/error.h"

#include <stdlib.h>

/* An entry whose text is asked for. */
struct asked {
    int64_t doc;
    struct digest digest;
    struct buf text;
};
struct asking {
    struct embedding *e;
    struct sha256 *sha;
    bool *known; /* [scope->n]: has a vector, or is not asked for */
    struct asked at[SERVICE_BATCH];
    size_t n;
    uint32_t looked_at;
    struct service_vector *vectors; /* [SERVICE_BATCH] */
};

static size_t place_of(const struct scope *scope, int64_t doc)
{
    size_t low = 0, high = scope->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scope->at[middle].doc < doc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- What is known ---- */

static int note_known(void *context, int64_t doc, struct str data)
{
    struct asking *a = context;
    size_t at = place_of(a->e->scope, doc);
    (void)data;
    if (at < a->e->scope->n && a->e->scope->at[at].doc == doc)
        a->known[at] = true;
    return 0;
}

/* ---- Asking ---- */

static int keep_answers(struct asking *a)
{
    struct embedding *e = a->e;
    struct buf data = BUF_INIT;
    int rc = searchdb_begin(e->index, e->error);
    if (rc)
        return rc;
    for (size_t i = 0; i < a->n && !rc; i++) {
        struct str kept = service_kept(&a->vectors[i], &data);
        rc = buf_check(&data, e->error);
        if (!rc)
            rc = searchdb_put_embedding(e->index, &a->at[i].digest, kept, e->error);
        if (!rc)
            rc = searchdb_set_embedded(e->index, a->at[i].doc, &a->at[i].digest,
                                       e->error);
    }
    buf_release(&data);
    if (!rc)
        return searchdb_commit(e->index, e->error);
    searchdb_abort(e->index);
    return rc;
}

static int ask_batch(struct asking *a)
{
    struct str texts[SERVICE_BATCH];
    if (!a->n)
        return 0;
    for (size_t i = 0; i < a->n; i++)
        texts[i] = buf_view(&a->at[i].text);
    int rc = service_ask(&a->e->service, texts, a->n, a->vectors);
    if (!rc)
        a->e->sent += (uint32_t)a->n;
    if (!rc)
        rc = keep_answers(a);
    for (size_t i = 0; i < a->n; i++)
        buf_clear(&a->at[i].text);
    a->n = 0;
    return rc;
}

static int take_text(void *context, const struct searchdb_doc *doc)
{
    struct asking *a = context;
    struct asked *asked = &a->at[a->n];
    buf_clear(&asked->text);
    if (doc->section == CAIRN_SEARCH_FILES)
        return 0;
    return service_text(&a->e->service, doc->title, doc->body, &asked->text);
}

/* The same text as another entry, or as one of this batch: it is not asked again. */
static int is_asked(struct asking *a, struct asked *asked, bool *is)
{
    struct embedding *e = a->e;
    sha256_begin(a->sha);
    sha256_add(a->sha, asked->text.data, asked->text.size);
    sha256_end(a->sha, &asked->digest);
    int rc = searchdb_has_embedding(e->index, &asked->digest, is, e->error);
    if (rc || !*is)
        return rc;
    rc = searchdb_begin(e->index, e->error);
    if (!rc)
        rc = searchdb_set_embedded(e->index, asked->doc, &asked->digest, e->error);
    if (!rc)
        return searchdb_commit(e->index, e->error);
    searchdb_abort(e->index);
    return rc;
}

static bool in_batch(const struct asking *a, const struct asked *asked)
{
    for (size_t i = 0; i < a->n; i++)
        if (digest_equal(&a->at[i].digest, &asked->digest))
            return true;
    return false;
}

static int ask_for(struct asking *a, size_t place)
{
    struct embedding *e = a->e;
    struct asked *asked = &a->at[a->n];
    bool is = false;
    if (a->known[place])
        return 0;
    a->known[place] = true;
    asked->doc = e->scope->at[place].doc;
    int rc = searchdb_get(e->index, asked->doc, take_text, a, e->error);
    if (rc == CAIRN_ENOTFOUND || (!rc && !asked->text.size))
        return 0;
    a->looked_at++;
    if (!rc)
        rc = is_asked(a, asked, &is);
    if (rc || is)
        return rc;
    if (in_batch(a, asked)) {
        rc = ask_batch(a);
        return rc ? rc : is_asked(a, asked, &is);
    }
    a->n++;
    return a->n == SERVICE_BATCH ? ask_batch(a) : 0;
}

/* First what was found without it, then the newest ones. */
static int ask_for_all(struct asking *a)
{
    struct embedding *e = a->e;
    int rc = 0;
    for (size_t i = 0; i < e->n_first && !rc; i++)
        if (a->looked_at < SERVICE_TEXTS_AT_ONCE)
            rc = ask_for(a, place_of(e->scope, e->first[i].doc));
    for (size_t i = e->scope->n; i-- > 0 && !rc;)
        if (a->looked_at < SERVICE_TEXTS_AT_ONCE && e->scope->at[i].wanted)
            rc = ask_for(a, i);
    return rc ? rc : ask_batch(a);
}

static int name_model(const struct embedding *e, struct buf *out)
{
    const struct cairn_search_service *wanted = e->service.wanted;
    buf_format(out, "%s\n%s\n%u", wanted->url, wanted->model, wanted->dimensions);
    return buf_check(out, e->error);
}

static int use_model(struct embedding *e)
{
    struct buf name = BUF_INIT;
    int rc = name_model(e, &name);
    if (!rc)
        rc = searchdb_begin(e->index, e->error);
    if (!rc) {
        rc = searchdb_use_model(e->index, buf_view(&name), e->error);
        if (!rc)
            rc = searchdb_commit(e->index, e->error);
        else
            searchdb_abort(e->index);
    }
    buf_release(&name);
    return rc;
}

/* ---- The list ---- */

struct listing {
    const struct embedding *e;
    const struct service_vector *query;
    struct rank_list *list;
    uint64_t known;
};

static int offer(void *context, int64_t doc, struct str data)
{
    struct listing *l = context;
    const struct scope *scope = l->e->scope;
    size_t at = place_of(scope, doc);
    if (at >= scope->n || scope->at[at].doc != doc)
        return 0;
    l->known++;
    int64_t near = service_near(l->query, data);
    if (near != INT64_MIN && scope->at[at].wanted)
        rank_offer(l->list, doc, -near);
    return 0;
}

/* The query is asked first: if that fails nothing else is sent. */
static int ask_query(struct embedding *e, struct service_vector *query)
{
    struct buf text = BUF_INIT;
    int rc = service_text(&e->service, STR(""), e->text, &text);
    struct str view = text.size ? buf_view(&text) : STR("");
    if (!rc)
        rc = service_ask(&e->service, &view, 1, query);
    buf_release(&text);
    return rc;
}

static int fill(struct asking *a, struct service_vector *query, struct rank_list *list)
{
    struct embedding *e = a->e;
    struct listing listing = {.e = e, .query = query, .list = list};
    int rc = use_model(e);
    if (!rc)
        rc = ask_query(e, query);
    if (!rc)
        rc = searchdb_each_embedded(e->index, note_known, a, e->error);
    if (!rc) {
        rc = ask_for_all(a);
        rc = rc > 0 ? 0 : rc; /* it has failed now: what it said before is good */
    }
    if (!rc)
        rc = searchdb_each_embedded(e->index, offer, &listing, e->error);
    e->known = listing.known;
    rank_sort(list);
    return rc;
}

int embed_rank(struct embedding *e, struct rank_list *list)
{
    struct service_vector *vectors = calloc(1 + SERVICE_BATCH, sizeof *vectors);
    struct asking a = {
        .e = e, .sha = sha256_new(), .known = calloc(e->scope->n + 1, sizeof *a.known)};
    int rc = 0;
    if (!vectors || !a.sha || !a.known)
        rc = error_nomem(e->error);
    if (!rc) {
        a.vectors = vectors + 1;
        rc = fill(&a, vectors, list);
    }
    for (size_t i = 0; i < SERVICE_BATCH; i++)
        buf_release(&a.at[i].text);
    if (a.sha)
        sha256_free(a.sha);
    free(a.known);
    free(vectors);
    return rc < 0 ? rc : 0;
}
