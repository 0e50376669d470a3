/* SPDX-License-Identifier: MIT */
/* Lists of checkpoints for people and programs. Rows are read in pages, each in a short
 * read transaction; the caller's callback runs after that has ended, so it may use the
 * store.
 *
 * Of a damaged record only the columns are shown. Its position, counts and changes,
 * which only the record holds, are 0. */
#include "checkpoint/chain.h"
#include "checkpoint/find.h"
#include "checkpoint/recover.h"

#include "base/error.h"
#include "base/struct_take.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_run.h"
#include "storage/sessions/rows_session.h"
#include "storage/store.h"

#include <assert.h>
#include <stdlib.h>

enum { PAGE = 100, PAGE_DEFAULT = 10 };

struct page {
    const struct catalog *catalog;
    struct cairn_checkpoint_info *infos;
    size_t n;
    struct losses losses;
    struct cairn_error forged; /* why a run's row failed verification; or code 0 */
    struct cairn_error *error;
};

/* ---- One row ---- */

/* Puts the namespace there, and the stream as that of a run or of a branch. */
static void info_stream(struct cairn_checkpoint_info *info, uint8_t namespace_id,
                        uint64_t stream)
{
    bool debug = namespace_id == NAMESPACE_DEBUG;
    info->namespace_id = debug ? CAIRN_NAMESPACE_DEBUG : CAIRN_NAMESPACE_WORKFLOW;
    info->run = debug ? 0 : stream;
    info->branch = debug ? stream : 0;
}

static void info_columns(const struct checkpoint_row *row,
                         struct cairn_checkpoint_info *info)
{
    memset(info, 0, sizeof *info);
    info->seq = row->seq;
    info_stream(info, row->namespace_id, row->stream);
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
    int rc = row_check(row, page->catalog->sha, &checked, page->error);
    if (rc == 0) {
        const struct payload_kind *kind =
            catalog_kind(page->catalog, row->namespace_id);
        info->position = checked.header.position;
        rc = kind->describe(&checked, info, page->error)
                 ?: record_lacks(&checked, kind, &page->losses, &info->part_lost,
                                 page->error);
    }
    if (rc && rc != CAIRN_EDAMAGED)
        return rc;
    info->damaged = rc != 0;
    page->n++;
    return 0;
}

/* ---- What other rows say about it ---- */

/* Adds what other rows say. CAIRN_EDAMAGED: such a row failed verification. */
static int info_finish(const struct catalog *catalog,
                       struct cairn_checkpoint_info *info, struct cairn_error *error)
{
    struct cairn_store *store = catalog->store;
    uint8_t namespace_id = (uint8_t)info->namespace_id;
    const struct payload_kind *kind = catalog_kind(catalog, namespace_id);
    uint64_t last = 0;
    int rc = kind->identify ? kind->identify(store, info, error) : 0;
    if (rc)
        return rc;
    rc = store_last_seq(store, namespace_id, info->run ? info->run : info->branch,
                        &last, error);
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

/* ---- What is asked for ---- */

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
static int check_run_of_workflow(struct cairn_store *store, uint64_t workflow,
                                 const struct cairn_checkpoint_filter *filter,
                                 struct cairn_error *error)
{
    struct run_of_workflow r = {.wanted = workflow};
    int rc = store_get_run(store, filter->run, compare_workflow, &r, error);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        return 0; /* a forged row: its checkpoints are listed as damaged */
    if (rc || !r.other)
        return rc;
    return error_set(error, CAIRN_ENOTFOUND, "run %llu is not one of workflow %.200s",
                     (unsigned long long)filter->run, filter->workflow);
}

static int find_workflow(struct cairn_store *store,
                         const struct cairn_checkpoint_filter *filter,
                         struct checkpoint_range *range, struct cairn_error *error)
{
    int rc = store_workflow_id(store, str_of(filter->workflow), false, &range->workflow,
                               error);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(error, rc, "no workflow named %.200s has run here",
                         filter->workflow);
    return !rc && filter->run
               ? check_run_of_workflow(store, range->workflow, filter, error)
               : rc;
}

struct branch_of_session {
    uint64_t branch;
    bool found;
};

static int match_branch(void *context, const struct branch_row *row)
{
    struct branch_of_session *b = context;
    b->found = b->found || row->branch == b->branch;
    return 0;
}

/* All rows of branches are read, since a damaged one may be of the session, too. */
static int check_session(struct cairn_store *store,
                         const struct cairn_checkpoint_filter *filter,
                         struct cairn_error *error)
{
    struct branch_of_session b = {.branch = filter->branch};
    int rc = store_each_branch(store, filter->session, match_branch, &b, error);
    if (rc || !filter->branch || b.found)
        return rc;
    return error_set(error, CAIRN_ENOTFOUND, "branch %llu is not one of session %llu",
                     (unsigned long long)filter->branch,
                     (unsigned long long)filter->session);
}

/* What belongs to one namespace only asks for that. */
static int choose_namespace(const struct catalog *catalog,
                            const struct cairn_checkpoint_filter *filter,
                            uint8_t *namespace_id, struct cairn_error *error)
{
    bool wanted[NAMESPACE_DEBUG + 1] = {false};
    wanted[NAMESPACE_WORKFLOW] = filter->workflow || filter->run ||
                                 filter->namespace_id == CAIRN_NAMESPACE_WORKFLOW;
    wanted[NAMESPACE_DEBUG] = filter->session || filter->branch ||
                              filter->namespace_id == CAIRN_NAMESPACE_DEBUG;
    if (wanted[NAMESPACE_WORKFLOW] && wanted[NAMESPACE_DEBUG])
        return error_set(error, CAIRN_EUSAGE,
                         "no checkpoint is of a run or workflow and of a session");
    *namespace_id = wanted[NAMESPACE_WORKFLOW] ? NAMESPACE_WORKFLOW
                    : wanted[NAMESPACE_DEBUG]  ? NAMESPACE_DEBUG
                                               : catalog->namespace_id;
    return 0;
}

/* The range of what a filter asks for, without a limit. CAIRN_EUSAGE, CAIRN_ENOTFOUND:
 * it can select nothing. */
static int range_of_filter(const struct catalog *catalog,
                           const struct cairn_checkpoint_filter *filter,
                           struct checkpoint_range *range, struct cairn_error *error)
{
    *range =
        (struct checkpoint_range){.stream = filter->run ? filter->run : filter->branch,
                                  .session = filter->session,
                                  .descending = !filter->page.oldest_first,
                                  .offset = filter->page.offset};
    int rc = choose_namespace(catalog, filter, &range->namespace_id, error);
    if (!rc && filter->workflow)
        rc = find_workflow(catalog->store, filter, range, error);
    if (!rc && filter->session)
        rc = check_session(catalog->store, filter, error);
    return rc;
}

/* ---- A page behind very many ---- */

/* From so many on, rows that are passed over are counted in an index and not read. */
enum { FAR_OFFSET = 1000 };

/* How many numbers to pass next, when so many numbers had so many rows. Rather too few:
 * rows that are not to be passed would be counted for nothing. */
static uint64_t next_width(uint64_t left, uint64_t passed, uint64_t rows)
{
    double width =
        rows ? (double)passed / (double)rows * (double)left * 0.9 : (double)passed * 2;
    if (width > (double)(INT64_MAX / 2))
        return INT64_MAX / 2;
    return width > (double)left ? (uint64_t)width : left;
}

/* The first `width` numbers of a range; it must have more. */
static struct checkpoint_range begin_of(const struct checkpoint_range *range,
                                        uint64_t width)
{
    struct checkpoint_range part = *range;
    if (range->descending)
        part.first = range->last - width + 1;
    else
        part.last = range->first + width - 1;
    return part;
}

/* Takes rows from the beginning of the range until its offset is 0, or nothing is left:
 * first > last. So many numbers as there are rows to pass never have more rows than
 * that; where rows are sparse, more are tried. */
static int pass_over(struct cairn_store *store, struct checkpoint_range *range,
                     struct cairn_error *error)
{
    uint64_t passed = 0, rows = 0, width = range->offset, n;
    while (range->offset > 0 && range->first <= range->last) {
        bool rest = width > range->last - range->first;
        struct checkpoint_range part = rest ? *range : begin_of(range, width);
        int rc = store_count_checkpoints(store, &part, &n, error);
        if (rc)
            return rc;
        if (n > range->offset) {
            width = (part.last - part.first) / 4;
            width = width > range->offset ? width : range->offset;
            continue;
        }
        if (rest)
            break;
        if (range->descending)
            range->last = part.first - 1;
        else
            range->first = part.last + 1;
        range->offset -= n;
        passed += width;
        rows += n;
        width = next_width(range->offset, passed, rows);
    }
    if (range->offset > 0)
        range->first = range->last + 1;
    return 0;
}

static int range_begin_far(struct cairn_store *store, struct checkpoint_range *range,
                           bool *any, struct cairn_error *error)
{
    uint64_t first, last;
    *any = true;
    /* Those of a workflow are sorted anyway. */
    if (range->offset < FAR_OFFSET || range->workflow)
        return 0;
    int rc = store_checkpoint_numbers(store, &first, &last, error);
    if (rc)
        return rc;
    if (range->first < first)
        range->first = first;
    if (!range->last || range->last > last)
        range->last = last;
    rc = pass_over(store, range, error);
    *any = range->first <= range->last;
    return rc;
}

/* ---- Pages ---- */

/* Fills one page; needs a read transaction. */
static int fill_page(const struct checkpoint_range *range, struct page *page)
{
    struct checkpoint_range left = *range;
    bool any;
    assert(range->limit > 0 && range->limit <= PAGE);
    page->n = 0;
    int rc = range_begin_far(page->catalog->store, &left, &any, page->error);
    if (!rc && any)
        rc = store_each_checkpoint(page->catalog->store, &left, info_of_row, page,
                                   page->error);
    for (size_t i = 0; i < page->n && rc >= 0; i++) {
        struct cairn_error why = {0};
        rc = info_finish(page->catalog, &page->infos[i], &why);
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
    uint64_t left;   /* rows still wanted */
    uint64_t *total; /* of all pages; NULL: not wanted, or told already */
    const struct checkpoint_reader *reader;
};

static bool is_of_all(const struct checkpoint_range *range)
{
    return !range->namespace_id && !range->stream && !range->workflow;
}

/* What lies behind the first page is counted, which has begun behind an offset: so rows
 * that were passed over are not gone through once more. All rows of the store are
 * counted without that. */
static int count_all(struct listing *list, const struct page *page)
{
    struct checkpoint_range rest = list->range;
    uint64_t before = rest.offset + page->n, behind = 0;
    bool any = true;
    if (page->n > 0 && !is_of_all(&rest))
        any = next_page(&rest, page);
    else
        before = rest.offset = 0;
    int rc =
        any ? store_count_checkpoints(page->catalog->store, &rest, &behind, page->error)
            : 0;
    *list->total = before + behind;
    list->total = NULL;
    return rc;
}

/* One page, and the total with the first. */
static int read_page(struct listing *list, struct page *page)
{
    int rc = store_begin_read(page->catalog->store, page->error);
    if (rc)
        return rc;
    rc = fill_page(&list->range, page);
    if (!rc && list->total)
        rc = count_all(list, page);
    store_end_read(page->catalog->store);
    return rc;
}

static int list_pages(struct listing *list, struct page *page)
{
    bool more = true;
    while (more && list->left > 0) {
        list->range.limit = list->left < PAGE ? list->left : PAGE;
        int rc = read_page(list, page);
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

static int list_range(const struct catalog *catalog, struct listing *list,
                      struct cairn_error *error)
{
    struct page page = {.catalog = catalog, .error = error};
    page.infos = calloc(PAGE, sizeof *page.infos);
    if (!page.infos)
        return error_nomem(error);
    int rc =
        losses_load(&page.losses, catalog->store, error) ?: list_pages(list, &page);
    losses_release(&page.losses);
    if (!rc && page.forged.code)
        rc = error_set(error, page.forged.code, "%s", page.forged.text);
    free(page.infos);
    return rc;
}

int catalog_list(const struct catalog *catalog,
                 const struct cairn_checkpoint_filter *filter,
                 const struct checkpoint_reader *reader, uint64_t *total,
                 struct cairn_error *error)
{
    static const struct cairn_checkpoint_filter any;
    uint64_t count = 0;
    struct listing list = {.reader = reader, .total = total ? &count : NULL};
    assert(reader && reader->each);
    if (!filter)
        filter = &any;
    int rc = range_of_filter(catalog, filter, &list.range, error);
    if (rc)
        return rc;
    uint32_t limit = filter->page.limit ? filter->page.limit : PAGE_DEFAULT;
    list.left = filter->page.all ? UINT64_MAX : limit < PAGE ? limit : PAGE;
    rc = list_range(catalog, &list, error);
    if (rc == 0 && total)
        *total = count;
    return rc;
}

int cairn_checkpoint_list(struct cairn_store *store,
                          const struct cairn_checkpoint_filter *filter,
                          int (*each)(void *, const struct cairn_checkpoint_info *),
                          void *context, uint64_t *total, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_checkpoint_filter, filter, error);
    struct catalog all = {store, sha256_new(), &payload_kinds, 0};
    struct checkpoint_reader reader = {each, context};
    if (!all.sha)
        return error_nomem(error);
    int rc = catalog_list(&all, filter, &reader, total, error);
    sha256_free(all.sha);
    return rc;
}

/* One checkpoint, rebuilt: by its id, or the newest that can be. */

/* ---- Get ---- */

static void info_of_rebuilt(const struct chains *in, const struct rebuilt *built,
                            struct cairn_checkpoint_info *info)
{
    *info = (struct cairn_checkpoint_info){.seq = built->ref.seq,
                                           .parent = built->parent,
                                           .time_ns = built->header.time_ns,
                                           .full = built->header.kind == RECORD_FULL,
                                           .position = built->header.position,
                                           .bytes = built->bytes};
    info_stream(info, in->kind->namespace_id, built->header.stream);
    checkpoint_id(in->kind->namespace_id, info->seq, &built->ref.digest, info->id);
    digest_hex(&built->ref.digest, info->digest);
}

struct lack_of_row {
    const struct chains *in;
    struct losses losses;
    bool *lost;
    struct cairn_error *error;
};

static int look_at_row(void *context, const struct checkpoint_row *row)
{
    struct lack_of_row *lack = context;
    struct sound_record record;
    return row_check(row, lack->in->sha, &record, lack->error)
               ?: record_lacks(&record, lack->in->kind, &lack->losses, lack->lost,
                               lack->error);
}

static int info_lacks(const struct chains *in, struct cairn_checkpoint_info *info,
                      struct cairn_error *error)
{
    struct lack_of_row lack = {.in = in, .lost = &info->part_lost, .error = error};
    int rc = losses_load(&lack.losses, in->store, error);
    if (!rc && losses_any(&lack.losses))
        rc = store_get_checkpoint(in->store, info->seq, look_at_row, &lack, error);
    losses_release(&lack.losses);
    return rc;
}

static int info_rebuilt(const struct catalog *catalog, const struct chains *in,
                        uint64_t seq, struct cairn_checkpoint_info *out, uint64_t *bad,
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
        rc = info_finish(catalog, &info, error) ?: info_lacks(in, &info, error);
    }
    free(state);
    if (rc == 0)
        *out = info;
    return rc;
}

static int get_found(const struct catalog *catalog, const char *id,
                     struct cairn_checkpoint_info *out, struct cairn_error *error)
{
    struct found_checkpoint found;
    uint64_t bad;
    int rc = catalog_find(catalog, id, &found, error);
    if (rc || !found.sound)
        return rc ? rc : CAIRN_EDAMAGED; /* catalog_find filled the error */
    assert(found.seq > 0);
    return info_rebuilt(catalog, &found.in, found.seq, out, &bad, error);
}

int catalog_get(const struct catalog *catalog, const char *id,
                struct cairn_checkpoint_info *out, struct cairn_error *error)
{
    int rc = store_begin_read(catalog->store, error);
    if (rc)
        return rc;
    rc = get_found(catalog, id, out, error);
    store_end_read(catalog->store);
    return rc;
}

int cairn_checkpoint_get(struct cairn_store *store, const char *id,
                         struct cairn_checkpoint_info *out, struct cairn_error *error)
{
    struct catalog all = {store, sha256_new(), &payload_kinds, 0};
    if (!all.sha)
        return error_nomem(error);
    int rc = catalog_get(&all, id, out, error);
    sha256_free(all.sha);
    return rc;
}

/* ---- Latest ---- */

struct latest_search {
    uint64_t seq, stream;
    uint8_t namespace_id;
    bool found;
};

static int note_newest(void *context, const struct checkpoint_row *row)
{
    struct latest_search *search = context;
    *search = (struct latest_search){row->seq, row->stream, row->namespace_id, true};
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

static int try_latest(const struct catalog *catalog, const struct latest_search *next,
                      struct cairn_checkpoint_info *out, uint64_t *bad,
                      struct cairn_error *error)
{
    const struct payload_kind *kind = catalog_kind(catalog, next->namespace_id);
    struct chains in = {catalog->store, catalog->sha, kind};
    if (kind)
        return info_rebuilt(catalog, &in, next->seq, out, bad, error);
    *bad = next->seq;
    return error_set(error, CAIRN_EDAMAGED, "it is of no known namespace");
}

/* Newest first until one can be rebuilt. When record `bad` stands in the way, or one
 * was deleted before it, all records of its stream from there up to the failed one are
 * skipped without another try: damage at the start of a long segment must not cost a
 * walk per record. */
static int find_latest(const struct catalog *catalog, struct checkpoint_range range,
                       struct cairn_checkpoint_info *out, uint32_t *skipped,
                       struct cairn_error *error)
{
    struct latest_search next, stuck = {0};
    uint64_t bad = 0;
    uint32_t passed = 0;
    bool damaged = false;
    assert(range.limit == 1 && range.descending);
    for (;;) {
        next = (struct latest_search){0};
        int rc =
            store_each_checkpoint(catalog->store, &range, note_newest, &next, error);
        if (rc < 0)
            return rc;
        if (!next.found)
            break;
        if (next.namespace_id != stuck.namespace_id || next.stream != stuck.stream ||
            next.seq < bad) {
            stuck = next;
            rc = try_latest(catalog, &next, out, &bad, error);
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

/* Puts in front what has no such checkpoint. */
static int name_wanted(const struct cairn_checkpoint_filter *filter, int rc,
                       struct cairn_error *error)
{
    if (rc != CAIRN_ENOTFOUND && rc != CAIRN_EDAMAGED)
        return rc;
    if (filter->run)
        error_context(error, "run %llu", (unsigned long long)filter->run);
    else if (filter->workflow)
        error_context(error, "workflow %.200s", filter->workflow);
    else if (filter->branch)
        error_context(error, "branch %llu", (unsigned long long)filter->branch);
    else if (filter->session)
        error_context(error, "session %llu", (unsigned long long)filter->session);
    else
        error_context(error, "the store");
    return rc;
}

static int find_wanted(const struct catalog *catalog,
                       const struct cairn_checkpoint_filter *filter,
                       struct cairn_checkpoint_info *out, uint32_t *skipped,
                       struct cairn_error *error)
{
    struct cairn_checkpoint_filter newest = *filter;
    struct checkpoint_range range;
    newest.page = (struct cairn_page){0};
    int rc = range_of_filter(catalog, &newest, &range, error);
    range.limit = 1;
    return rc
               ?: name_wanted(filter, find_latest(catalog, range, out, skipped, error),
                              error);
}

int cairn_checkpoint_newest(struct cairn_store *store,
                            const struct cairn_checkpoint_filter *filter,
                            struct cairn_checkpoint_info *out, uint32_t *skipped,
                            struct cairn_error *error)
{
    STRUCT_TAKE(cairn_checkpoint_filter, filter, error);
    struct catalog all = {store, sha256_new(), &payload_kinds, 0};
    if (!all.sha)
        return error_nomem(error);
    int rc = store_begin_read(store, error);
    if (rc == 0) {
        rc = find_wanted(&all, filter, out, skipped, error);
        store_end_read(store);
    }
    sha256_free(all.sha);
    return rc;
}
