/* SPDX-License-Identifier: MIT */
/* A search: the index finds, the store decides. */
#include "search/finding_int.h"

#include "base/error.h"
#include "storage/store.h"

#include <stdlib.h>

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

/* `why`: NULL: what the error says. */
static int open_memory(struct finding *f, const char *why)
{
    struct cairn_search_result *result = f->result;
    searchdb_close(f->c.index);
    f->c.index = NULL;
    result->in_memory = true;
    snprintf(result->in_memory_reason, sizeof result->in_memory_reason, "%s",
             why ? why : f->error->text);
    int rc = searchdb_open(&f->c.index, NULL, true, f->error);
    return rc ? rc : bring_up(f);
}

static int open_reader(struct finding *f)
{
    struct catching *c = &f->c;
    bool current = false;
    const char *why = "the store can only be read, and its index is not up to date";
    int rc =
        searchdb_open(&c->index, cairn_store_path(c->source.store), false, f->error);
    if (!rc)
        rc = catch_up_is_current(c, &current);
    if (!rc && current) {
        f->result->up_to_date = true;
        return 0;
    }
    if (rc == CAIRN_ENOTFOUND)
        why = "the store can only be read, and has no index";
    return rc == CAIRN_ENOMEM ? rc : open_memory(f, rc == CAIRN_EIO ? NULL : why);
}

static int open_index(struct finding *f)
{
    struct cairn_store *store = f->c.source.store;
    if (store_read_only(store))
        return open_reader(f);
    int rc = searchdb_open(&f->c.index, cairn_store_path(store), true, f->error);
    if (!rc)
        rc = bring_up(f);
    return rc == CAIRN_EIO ? open_memory(f, NULL) : rc; /* a full disk, for example */
}

static int rank_once(struct finding *f)
{
    memset(f->lists, 0, sizeof f->lists);
    f->scope.n = f->n_fused = 0;
    f->scope.words = f->scope.grams = 0;
    int rc = searchdb_begin_read(f->c.index, f->error);
    if (rc)
        return rc;
    rc = finding_rank(f);
    searchdb_end_read(f->c.index);
    return rc;
}

/* The index was damaged where nothing but a search reads it. */
static int make_anew(struct finding *f)
{
    if (!f->result->in_memory && store_read_only(f->c.source.store))
        return open_memory(f, "the store can only be read, and its index is damaged");
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
    if (rc == CAIRN_EBUSY && f->c.index)
        return searchdb_busy(f->c.index, f->error);
    if (!rc)
        rc = finding_ask_service(f);
    return rc ? rc : finding_tell(f);
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
    rc = finding_take(f);
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
    if (rc == CAIRN_EBUSY && f->c.index)
        rc = searchdb_busy(f->c.index, error);
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
