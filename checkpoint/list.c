/* SPDX-License-Identifier: MIT */
/* Reading checkpoints for people and programs: list, get, latest. Rows are read in
 * pages, each in a short read transaction; the caller's callback runs after that has
 * ended, so it may use the store.
 *
 * Of a damaged record only the columns are shown. Its position, counts and changes,
 * which only the record holds, are 0. */
#include "checkpoint/find.h"
#include "checkpoint/outcomes.h"
#include "checkpoint/row_int.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 100, PAGE_DEFAULT = 10 };

struct page {
    const struct chains *in;
    struct cairn_checkpoint_info *infos;
    size_t n;
    struct cairn_error forged; /* why a run's row failed verification; or code 0 */
    struct cairn_error *error;
};

/* ---- One row ---- */

static void info_columns(const struct checkpoint_row *row,
                         struct cairn_checkpoint_info *info)
{
    memset(info, 0, sizeof *info);
    info->seq = row->seq;
    info->run = row->stream;
    info->parent = row->parent;
    info->time_ns = row->time_ns;
    info->full = row->kind == RECORD_FULL;
    info->bytes = (uint32_t)row->record.len;
    row_id(row, info->id);
    if (row->digest.len == DIGEST_SIZE) {
        struct digest digest;
        memcpy(digest.bytes, row->digest.ptr, DIGEST_SIZE);
        digest_hex(&digest, info->digest);
    }
}

static int info_of_row(void *context, const struct checkpoint_row *row)
{
    struct page *page = context;
    struct cairn_checkpoint_info *info = &page->infos[page->n];
    struct sound_record checked;
    assert(page->n < PAGE);
    info_columns(row, info);
    int rc = row_check(row, page->in->sha, &checked, page->error);
    if (rc == 0) {
        info->position = checked.header.position;
        rc = page->in->kind->describe(&checked, info, page->error);
    }
    if (rc && rc != CAIRN_EDAMAGED)
        return rc;
    info->damaged = rc != 0;
    page->n++;
    return 0;
}

/* ---- What other rows say about it ---- */

static int info_finish(const struct chains *in, struct cairn_checkpoint_info *info,
                       struct cairn_error *error)
{
    struct cairn_store *store = in->store;
    uint64_t last = 0;
    int rc = in->kind->identify ? in->kind->identify(store, info, error) : 0;
    if (rc)
        return rc;
    rc = store_last_seq(store, in->kind->namespace_id, info->run, &last, error);
    if (rc && rc != CAIRN_ENOTFOUND)
        return rc;
    info->head = last == info->seq;
    if (info->parent) {
        rc = store_get_checkpoint(store, info->parent, NULL, NULL, error);
        if (rc == CAIRN_ENOTFOUND)
            info->parent = 0;
        else if (rc)
            return rc;
    }
    return 0;
}

/* ---- List ---- */

struct run_of_workflow {
    uint64_t wanted;
    bool other;
};

static int compare_workflow(void *context, const struct run_row *row)
{
    struct run_of_workflow *r = context;
    r->other = row->workflow != r->wanted;
    return 0;
}

/* A run that was removed has no checkpoints of any workflow. */
static int check_run_of_workflow(const struct chains *in, uint64_t workflow,
                                 const struct cairn_checkpoint_filter *filter,
                                 struct cairn_error *error)
{
    struct run_of_workflow r = {.wanted = workflow};
    int rc = store_get_run(in->store, filter->run, compare_workflow, &r, error);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        return 0; /* a forged row: its checkpoints are listed as damaged */
    if (rc || !r.other)
        return rc;
    return error_set(error, CAIRN_ENOTFOUND, "run %llu is not one of workflow %.200s",
                     (unsigned long long)filter->run, filter->workflow);
}

static int range_of_filter(const struct chains *in,
                           const struct cairn_checkpoint_filter *filter,
                           struct checkpoint_range *range, struct cairn_error *error)
{
    *range = (struct checkpoint_range){.namespace_id = in->kind->namespace_id,
                                       .stream = filter->run,
                                       .descending = !filter->page.oldest_first,
                                       .offset = filter->page.offset};
    if (filter->workflow) {
        int rc = store_workflow_id(in->store, str_of(filter->workflow), false,
                                   &range->workflow, error);
        if (rc == CAIRN_ENOTFOUND)
            return error_set(error, rc, "no workflow named %.200s has run here",
                             filter->workflow);
        if (!rc && filter->run)
            rc = check_run_of_workflow(in, range->workflow, filter, error);
        return rc;
    }
    return 0;
}

/* Fills one page; needs a read transaction. */
static int fill_page(const struct checkpoint_range *range, struct page *page)
{
    assert(range->limit > 0 && range->limit <= PAGE);
    page->n = 0;
    int rc =
        store_each_checkpoint(page->in->store, range, info_of_row, page, page->error);
    for (size_t i = 0; i < page->n && rc >= 0; i++) {
        struct cairn_error why = {0};
        rc = info_finish(page->in, &page->infos[i], &why);
        if (rc == CAIRN_EDAMAGED && !page->forged.code)
            page->forged = why;
        if (rc == CAIRN_EDAMAGED) {
            page->infos[i].damaged = true;
            rc = 0;
        } else if (rc)
            error_set(page->error, rc, "%s", why.text);
    }
    return rc < 0 ? rc : 0;
}

/* Moves the range behind the page. False: nothing can follow, as behind the numbers 0
 * and INT64_MAX, which only damaged rows have. */
static bool next_page(struct checkpoint_range *range, const struct page *page)
{
    assert(page->n <= range->limit);
    if (page->n < range->limit)
        return false;
    assert(page->n > 0);
    uint64_t seq = page->infos[page->n - 1].seq;
    range->offset = 0;
    if (range->descending ? seq <= 1 : seq >= INT64_MAX)
        return false;
    if (range->descending)
        range->last = seq - 1; /* 0 would mean no end */
    else
        range->first = seq + 1;
    return true;
}

struct listing {
    struct checkpoint_range range;
    uint64_t left; /* rows still wanted */
    const struct checkpoint_reader *reader;
};

static int list_pages(struct listing *list, struct page *page)
{
    bool more = true;
    while (more && list->left > 0) {
        list->range.limit = list->left < PAGE ? list->left : PAGE;
        int rc = store_begin_read(page->in->store, page->error);
        if (rc)
            return rc;
        rc = fill_page(&list->range, page);
        store_end_read(page->in->store);
        if (rc)
            return rc;
        for (size_t i = 0; i < page->n; i++)
            if (list->reader->each(list->reader->context, &page->infos[i]) != 0)
                return 0;
        assert(page->n <= list->left);
        list->left -= page->n;
        more = next_page(&list->range, page);
    }
    return 0;
}

static int list_range(const struct chains *in, struct listing *list,
                      struct cairn_error *error)
{
    struct page page = {.in = in, .error = error};
    page.infos = calloc(PAGE, sizeof *page.infos);
    if (!page.infos)
        return error_nomem(error);
    int rc = list_pages(list, &page);
    if (!rc && page.forged.code)
        rc = error_set(error, page.forged.code, "%s", page.forged.text);
    free(page.infos);
    return rc;
}

int chain_list(const struct chains *in, const struct cairn_checkpoint_filter *filter,
               const struct checkpoint_reader *reader, uint64_t *total,
               struct cairn_error *error)
{
    static const struct cairn_checkpoint_filter any;
    struct listing list = {.reader = reader};
    uint64_t count = 0;
    assert_chains(in);
    assert(reader && reader->each);
    if (!filter)
        filter = &any;
    int rc = range_of_filter(in, filter, &list.range, error);
    if (rc == 0 && total) {
        struct checkpoint_range all = list.range;
        all.offset = 0;
        rc = store_count_checkpoints(in->store, &all, &count, error);
    }
    if (rc)
        return rc;
    uint32_t limit = filter->page.limit ? filter->page.limit : PAGE_DEFAULT;
    list.left = filter->page.all ? UINT64_MAX : limit < PAGE ? limit : PAGE;
    rc = list_range(in, &list, error);
    if (rc == 0 && total)
        *total = count;
    return rc;
}

int cairn_checkpoint_list(struct cairn_store *store,
                          const struct cairn_checkpoint_filter *filter,
                          int (*each)(void *, const struct cairn_checkpoint_info *),
                          void *context, uint64_t *total, struct cairn_error *error)
{
    struct chains in = {.store = store, .sha = sha256_new(), .kind = &outcomes_kind};
    struct checkpoint_reader reader = {each, context};
    if (!in.sha)
        return error_nomem(error);
    int rc = chain_list(&in, filter, &reader, total, error);
    sha256_free(in.sha);
    return rc;
}

/* ---- Get ---- */

static void info_of_rebuilt(const struct chains *in, const struct rebuilt *built,
                            struct cairn_checkpoint_info *info)
{
    *info = (struct cairn_checkpoint_info){.seq = built->ref.seq,
                                           .run = built->header.stream,
                                           .parent = built->parent,
                                           .time_ns = built->header.time_ns,
                                           .full = built->header.kind == RECORD_FULL,
                                           .position = built->header.position,
                                           .bytes = built->bytes};
    checkpoint_id(in->kind->namespace_id, info->seq, &built->ref.digest, info->id);
    digest_hex(&built->ref.digest, info->digest);
}

static int info_rebuilt(const struct chains *in, uint64_t seq,
                        struct cairn_checkpoint_info *out, uint64_t *bad,
                        struct cairn_error *error)
{
    struct rebuilt built;
    struct cairn_checkpoint_info info;
    void *state = calloc(1, in->kind->state_bytes);
    *bad = 0;
    if (!state)
        return error_nomem(error);
    int rc = chain_rebuild(in, seq, state, &built, error);
    *bad = built.bad;
    if (rc == 0) {
        assert(built.ref.seq == seq);
        info_of_rebuilt(in, &built, &info);
        in->kind->summarize(state, &info);
        in->kind->state_release(state);
        rc = info_finish(in, &info, error);
    }
    free(state);
    if (rc == 0)
        *out = info;
    return rc;
}

static int get_found(const struct chains *in, const char *id,
                     struct cairn_checkpoint_info *out, struct cairn_error *error)
{
    uint64_t seq = 0, bad;
    bool sound = false;
    int rc = chain_find(in, id, &seq, &sound, error);
    if (rc || !sound)
        return rc ? rc : CAIRN_EDAMAGED; /* chain_find filled the error */
    assert(seq > 0);
    return info_rebuilt(in, seq, out, &bad, error);
}

int chain_get(const struct chains *in, const char *id,
              struct cairn_checkpoint_info *out, struct cairn_error *error)
{
    assert_chains(in);
    int rc = store_begin_read(in->store, error);
    if (rc)
        return rc;
    rc = get_found(in, id, out, error);
    store_end_read(in->store);
    return rc;
}

int cairn_checkpoint_get(struct cairn_store *store, const char *id,
                         struct cairn_checkpoint_info *out, struct cairn_error *error)
{
    struct chains in = {.store = store, .sha = sha256_new(), .kind = &outcomes_kind};
    if (!in.sha)
        return error_nomem(error);
    int rc = chain_get(&in, id, out, error);
    sha256_free(in.sha);
    return rc;
}

/* ---- Latest ---- */

struct latest_search {
    uint64_t seq, stream;
    bool found;
};

static int note_newest(void *context, const struct checkpoint_row *row)
{
    struct latest_search *search = context;
    *search = (struct latest_search){row->seq, row->stream, true};
    return 1;
}

static int no_latest(uint32_t passed, bool damaged, struct cairn_error *error)
{
    if (passed == 0)
        return error_set(error, CAIRN_ENOTFOUND, "it has no checkpoint");
    if (!damaged)
        return error_set(error, CAIRN_ENOTFOUND,
                         "none of its %u checkpoints can be rebuilt: ones before them "
                         "were deleted",
                         passed);
    return error_set(error, CAIRN_EDAMAGED,
                     "all %u checkpoints are damaged; `cairn checkpoint verify` names "
                     "them",
                     passed);
}

/* Newest first until one can be rebuilt. When record `bad` stands in the way, or one
 * was deleted before it, all records of its stream from there up to the failed one are
 * skipped without another try: damage at the start of a long segment must not cost a
 * walk per record. */
static int find_latest(const struct chains *in, struct checkpoint_range range,
                       struct cairn_checkpoint_info *out, uint32_t *skipped,
                       struct cairn_error *error)
{
    uint64_t bad = 0, bad_stream = 0;
    uint32_t passed = 0;
    bool damaged = false;
    assert(range.limit == 1 && range.descending);
    for (;;) {
        struct latest_search next = {0};
        int rc = store_each_checkpoint(in->store, &range, note_newest, &next, error);
        if (rc < 0)
            return rc;
        if (!next.found)
            break;
        if (next.stream != bad_stream || next.seq < bad) {
            bad_stream = next.stream;
            rc = info_rebuilt(in, next.seq, out, &bad, error);
            if (rc == 0 && skipped)
                *skipped = passed;
            if (rc != CAIRN_EDAMAGED && rc != CAIRN_ENOTFOUND)
                return rc;
            damaged |= rc == CAIRN_EDAMAGED;
        }
        passed++;
        if (next.seq <= 1) /* 0: damaged */
            break;
        range.last = next.seq - 1;
    }
    return no_latest(passed, damaged, error);
}

int cairn_checkpoint_latest(struct cairn_store *store, const char *workflow,
                            struct cairn_checkpoint_info *out, uint32_t *skipped,
                            struct cairn_error *error)
{
    struct cairn_checkpoint_filter filter = {.workflow = workflow};
    struct checkpoint_range range;
    if (!workflow)
        return error_set(error, CAIRN_EUSAGE, "no workflow given");
    struct chains in = {.store = store, .sha = sha256_new(), .kind = &outcomes_kind};
    if (!in.sha)
        return error_nomem(error);
    int rc = store_begin_read(store, error);
    if (rc == 0) {
        rc = range_of_filter(&in, &filter, &range, error);
        range.limit = 1;
        if (rc == 0) {
            rc = find_latest(&in, range, out, skipped, error);
            if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
                error_context(error, "workflow %.200s", workflow);
        }
        store_end_read(store);
    }
    sha256_free(in.sha);
    return rc;
}
