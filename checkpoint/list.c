/* SPDX-License-Identifier: MIT */
/* Reading checkpoints for people and programs: list, get, latest. Rows are taken in
 * pages inside one short read transaction; the caller's callback runs after it has
 * ended, so it may use the store.
 *
 * Of a damaged record only the columns are told. Its position stays 0, and counts and
 * changes with it: only the record itself holds them. */
#include "base/limits.h"
#include "checkpoint/row_int.h"
#include "checkpoint/verify.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 100, PAGE_DEFAULT = 10 };

struct page {
    struct sha256 *sha;
    struct cairn_checkpoint_info *infos;
    size_t n;
    struct cairn_error forged; /* why a run's row is not to be believed; or code 0 */
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

static void info_count(const struct states *states, struct cairn_checkpoint_info *info)
{
    struct tally tally = states_tally(states);
    info->total = tally.total;
    info->completed = tally.completed;
    info->failed = tally.failed;
    info->skipped = tally.skipped;
    info->cancelled = tally.cancelled;
    info->counted = true;
}

static int info_payload(const struct checked *checked,
                        struct cairn_checkpoint_info *info, struct cairn_error *error)
{
    if (checked->header.kind == RECORD_FULL) {
        struct states states;
        struct digest graph;
        int rc = payload_parse_full(checked->payload, &states, &graph, error);
        if (rc)
            return rc;
        info_count(&states, info);
        states_release(&states);
        return 0;
    }
    struct delta delta;
    int rc = payload_parse_delta(checked->payload, &delta, error);
    if (rc)
        return rc;
    info->changes = delta.n;
    delta_release(&delta);
    return 0;
}

static int info_of_row(void *context, const struct checkpoint_row *row)
{
    struct page *page = context;
    struct cairn_checkpoint_info *info = &page->infos[page->n];
    struct checked checked;
    info_columns(row, info);
    int rc = row_check(row, page->sha, &checked, page->error);
    if (rc == 0) {
        info->position = checked.header.position;
        rc = info_payload(&checked, info, page->error);
    }
    if (rc && rc != CAIRN_EDAMAGED)
        return rc;
    info->damaged = rc != 0;
    page->n++;
    return 0;
}

/* ---- What other rows tell about it ---- */

struct run_look {
    struct cairn_store *store;
    struct cairn_checkpoint_info *info;
    int trust;
    struct cairn_error why;
};

static int copy_workflow(void *context, const struct run_row *row)
{
    struct run_look *look = context;
    snprintf(look->info->workflow, sizeof look->info->workflow, "%.*s",
             (int)row->workflow_name.len, row->workflow_name.ptr);
    look->trust = run_check_forged(look->store, row, &look->why);
    return 0;
}

/* With a key a record of a run whose row is forged is none to be believed. */
static int look_at_run(struct cairn_store *store, struct cairn_checkpoint_info *info,
                       struct cairn_error *error)
{
    struct run_look look = {.store = store, .info = info};
    int rc = store_get_run(store, info->run, copy_workflow, &look, error);
    if (rc)
        return rc == CAIRN_ENOTFOUND ? 0 : rc;
    return look.trust ? error_set(error, look.trust, "%s", look.why.text) : 0;
}

static int info_finish(struct cairn_store *store, struct cairn_checkpoint_info *info,
                       struct cairn_error *error)
{
    uint64_t last = 0;
    int rc = look_at_run(store, info, error);
    if (rc)
        return rc;
    rc = store_last_seq(store, NAMESPACE_WORKFLOW, info->run, &last, error);
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

static int range_of_filter(struct cairn_store *store,
                           const struct cairn_checkpoint_filter *filter,
                           struct checkpoint_range *range, struct cairn_error *error)
{
    *range = (struct checkpoint_range){.namespace_id = NAMESPACE_WORKFLOW,
                                       .stream = filter->run,
                                       .descending = !filter->page.oldest_first,
                                       .offset = filter->page.offset};
    if (filter->workflow) {
        int rc = store_workflow_id(store, str_of(filter->workflow), false,
                                   &range->workflow, error);
        if (rc == CAIRN_ENOTFOUND)
            return error_set(error, rc, "no workflow named %.200s has run here",
                             filter->workflow);
        if (rc)
            return rc;
    }
    return 0;
}

/* Fills one page; needs a read transaction. */
static int fill_page(struct cairn_store *store, const struct checkpoint_range *range,
                     struct page *page)
{
    page->n = 0;
    int rc = store_each_checkpoint(store, range, info_of_row, page, page->error);
    for (size_t i = 0; i < page->n && rc >= 0; i++) {
        struct cairn_error why = {0};
        rc = info_finish(store, &page->infos[i], &why);
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

/* Moves the range behind the page. False: nothing can follow. */
static bool next_page(struct checkpoint_range *range, const struct page *page)
{
    if (page->n < range->limit)
        return false;
    uint64_t seq = page->infos[page->n - 1].seq;
    range->offset = 0;
    if (!range->descending)
        range->first = seq + 1;
    else
        range->last = seq - 1; /* 0 would mean no end */
    return !range->descending || range->last > 0;
}

struct listing {
    struct cairn_store *store;
    struct checkpoint_range range;
    uint64_t left; /* rows still wanted */
    int (*each)(void *, const struct cairn_checkpoint_info *);
    void *context;
};

static int list_pages(struct listing *list, struct page *page)
{
    bool more = true;
    while (more && list->left > 0) {
        list->range.limit = list->left < PAGE ? list->left : PAGE;
        int rc = store_begin_read(list->store, page->error);
        if (rc)
            return rc;
        rc = fill_page(list->store, &list->range, page);
        store_end_read(list->store);
        if (rc)
            return rc;
        for (size_t i = 0; i < page->n; i++)
            if (list->each(list->context, &page->infos[i]) != 0)
                return 0;
        list->left -= page->n;
        more = next_page(&list->range, page);
    }
    return 0;
}

static int page_open(struct page *page, size_t room, struct cairn_error *error)
{
    *page = (struct page){.sha = sha256_new(), .error = error};
    page->infos = calloc(room, sizeof *page->infos);
    if (page->sha && page->infos)
        return 0;
    sha256_free(page->sha);
    free(page->infos);
    error_nomem(error);
    return CAIRN_ENOMEM;
}

static void page_close(struct page *page)
{
    sha256_free(page->sha);
    free(page->infos);
}

int cairn_checkpoint_list(struct cairn_store *store,
                          const struct cairn_checkpoint_filter *filter,
                          int (*each)(void *, const struct cairn_checkpoint_info *),
                          void *context, uint64_t *total, struct cairn_error *error)
{
    static const struct cairn_checkpoint_filter any;
    struct listing list = {.store = store, .each = each, .context = context};
    uint64_t count = 0;
    if (!filter)
        filter = &any;
    int rc = range_of_filter(store, filter, &list.range, error);
    if (rc == 0 && total) {
        struct checkpoint_range all = list.range;
        all.offset = 0;
        rc = store_count_checkpoints(store, &all, &count, error);
    }
    if (rc)
        return rc;
    uint32_t limit = filter->page.limit ? filter->page.limit : PAGE_DEFAULT;
    list.left = filter->page.all ? UINT64_MAX : limit < PAGE ? limit : PAGE;
    struct page page;
    rc = page_open(&page, PAGE, error);
    if (rc)
        return rc;
    rc = list_pages(&list, &page);
    if (!rc && page.forged.code)
        rc = error_set(error, page.forged.code, "%s", page.forged.text);
    page_close(&page);
    if (rc == 0 && total)
        *total = count;
    return rc;
}

/* ---- Get ---- */

static int info_rebuilt(struct cairn_store *store, struct sha256 *sha, uint64_t seq,
                        struct cairn_checkpoint_info *out, uint64_t *bad,
                        struct cairn_error *error)
{
    struct rebuilt built;
    struct cairn_checkpoint_info info = {0};
    int rc = rebuild_at(store, sha, seq, &built, error);
    *bad = built.bad;
    if (rc)
        return rc;
    info.seq = seq;
    info.run = built.header.stream;
    info.parent = built.parent;
    info.time_ns = built.header.time_ns;
    info.full = built.header.kind == RECORD_FULL;
    info.position = built.header.position;
    info.bytes = built.bytes;
    info.changes = built.changes;
    checkpoint_id(NAMESPACE_WORKFLOW, seq, &built.ref.digest, info.id);
    digest_hex(&built.ref.digest, info.digest);
    info_count(&built.states, &info);
    states_release(&built.states);
    rc = info_finish(store, &info, error);
    if (rc == 0)
        *out = info;
    return rc;
}

int cairn_checkpoint_get(struct cairn_store *store, const char *id,
                         struct cairn_checkpoint_info *out, struct cairn_error *error)
{
    uint64_t seq = 0, bad;
    struct sha256 *sha = sha256_new();
    if (!sha)
        return error_nomem(error);
    int rc = store_begin_read(store, error);
    if (rc == 0) {
        rc = checkpoint_find(store, id, &seq, error);
        if (rc == 0)
            rc = info_rebuilt(store, sha, seq, out, &bad, error);
        store_end_read(store);
    }
    sha256_free(sha);
    return rc;
}

/* ---- Latest ---- */

struct candidate {
    uint64_t seq, stream;
    bool found;
};

static int note_candidate(void *context, const struct checkpoint_row *row)
{
    struct candidate *candidate = context;
    *candidate = (struct candidate){row->seq, row->stream, true};
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
 * was deleted before it, all of its stream from there up to the failed one are passed
 * over without another try, so that damage at the start of a long segment does not cost
 * a walk per record. */
static int find_latest(struct cairn_store *store, struct sha256 *sha,
                       struct checkpoint_range range, struct cairn_checkpoint_info *out,
                       uint32_t *skipped, struct cairn_error *error)
{
    uint64_t bad = 0, bad_stream = 0;
    uint32_t passed = 0;
    bool damaged = false;
    for (;;) {
        struct candidate next = {0};
        int rc = store_each_checkpoint(store, &range, note_candidate, &next, error);
        if (rc < 0)
            return rc;
        if (!next.found)
            break;
        if (next.stream != bad_stream || next.seq < bad) {
            bad_stream = next.stream;
            rc = info_rebuilt(store, sha, next.seq, out, &bad, error);
            if (rc == 0 && skipped)
                *skipped = passed;
            if (rc != CAIRN_EDAMAGED && rc != CAIRN_ENOTFOUND)
                return rc;
            damaged |= rc == CAIRN_EDAMAGED;
        }
        passed++;
        range.last = next.seq - 1;
        if (range.last == 0)
            break;
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
    struct sha256 *sha = sha256_new();
    if (!sha)
        return error_nomem(error);
    int rc = store_begin_read(store, error);
    if (rc == 0) {
        rc = range_of_filter(store, &filter, &range, error);
        range.limit = 1;
        if (rc == 0) {
            rc = find_latest(store, sha, range, out, skipped, error);
            if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
                error_context(error, "workflow %.200s", workflow);
        }
        store_end_read(store);
    }
    sha256_free(sha);
    return rc;
}
