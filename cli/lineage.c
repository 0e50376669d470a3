/* SPDX-License-Identifier: MIT */
/* Both trees are walked with a stack of indexes, since forks of forks may go as deep as
 * there are runs. */
#include "cli/lineage.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The tree ---- */

static int tree_begin(struct lineage *tree, size_t n, struct cairn_error *error)
{
    tree->links = calloc(n + 1, sizeof *tree->links);
    tree->order = calloc(n + 1, sizeof *tree->order);
    tree->n = n;
    for (size_t i = 0; i <= n && tree->links; i++)
        tree->links[i] = (struct lineage_link){
            .parent = LINEAGE_NONE, .child = LINEAGE_NONE, .sibling = LINEAGE_NONE};
    return tree->links && tree->order ? 0 : error_nomem(error);
}

/* Each is put before those that were, so they are put from the oldest on. Behind all
 * links is one whose children have no parent. */
static void tree_put(struct lineage *tree, size_t i, size_t parent)
{
    struct lineage_link *link = &tree->links[i];
    size_t *first = &tree->links[parent == LINEAGE_NONE ? tree->n : parent].child;
    link->parent = parent;
    link->depth = parent == LINEAGE_NONE ? 0 : tree->links[parent].depth + 1;
    link->sibling = *first;
    *first = i;
}

/* Every entry is pushed once. */
static int tree_end(struct lineage *tree, struct cairn_error *error)
{
    size_t *stack = malloc((tree->n + 1) * sizeof *stack), used = 0, n = 0;
    if (!stack)
        return error_nomem(error);
    if (tree->links[tree->n].child != LINEAGE_NONE)
        stack[used++] = tree->links[tree->n].child;
    while (used > 0) {
        size_t i = tree->order[n++] = stack[--used];
        if (tree->links[i].sibling != LINEAGE_NONE)
            stack[used++] = tree->links[i].sibling;
        if (tree->links[i].child != LINEAGE_NONE)
            stack[used++] = tree->links[i].child;
    }
    free(stack);
    return 0;
}

static void tree_release(struct lineage *tree)
{
    free(tree->links);
    free(tree->order);
}

/* ---- Runs ---- */

static int add_run(void *context, const struct cairn_run_info *run)
{
    struct run_lineage *lineage = context;
    struct run_start *runs =
        array_room(lineage->runs, lineage->tree.n, &lineage->capacity, sizeof *runs);
    lineage->failed = !runs;
    if (!runs)
        return 1;
    lineage->runs = runs;
    runs[lineage->tree.n++] =
        (struct run_start){run->run, run->from_run, run->from_seq};
    return 0;
}

/* By descending number. */
static size_t find_run(const struct run_lineage *lineage, uint64_t run)
{
    size_t low = 0, high = lineage->tree.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lineage->runs[middle].run == run)
            return middle;
        if (lineage->runs[middle].run > run)
            low = middle + 1;
        else
            high = middle;
    }
    return LINEAGE_NONE;
}

int run_lineage_read(struct run_lineage *lineage, struct cairn_store *store,
                     const char *workflow, struct cairn_error *error)
{
    struct cairn_page page = {.all = true};
    *lineage = (struct run_lineage){0};
    int rc = cairn_runs(store, workflow, &page, add_run, lineage, NULL, error);
    if (lineage->failed)
        rc = error_nomem(error);
    if (rc == 0)
        rc = tree_begin(&lineage->tree, lineage->tree.n, error);
    for (size_t i = rc == 0 ? lineage->tree.n : 0; i-- > 0;) {
        const struct run_start *start = &lineage->runs[i];
        tree_put(&lineage->tree, i,
                 start->from_run != 0 && start->from_run < start->run
                     ? find_run(lineage, start->from_run)
                     : LINEAGE_NONE);
    }
    return rc == 0 ? tree_end(&lineage->tree, error) : rc;
}

void run_lineage_release(struct run_lineage *lineage)
{
    free(lineage->runs);
    tree_release(&lineage->tree);
}

/* ---- Branches ---- */

static int add_branch(void *context, const struct cairn_branch_info *info)
{
    struct branch_lineage *lineage = context;
    struct branch_start *branches = array_room(lineage->branches, lineage->tree.n,
                                               &lineage->capacity, sizeof *branches);
    lineage->failed = !branches;
    if (!branches)
        return 1;
    lineage->branches = branches;
    branches[lineage->tree.n++] = (struct branch_start){.info = *info};
    return 0;
}

static void find_start(struct cairn_store *store, uint64_t session,
                       struct branch_start *start)
{
    struct cairn_checkpoint_info from = {0};
    if (start->info.from[0] == '\0')
        return;
    int rc = cairn_checkpoint_get(store, start->info.from, &from, NULL);
    start->from_branch = rc == 0 ? from.branch : 0;
    start->lost = rc == CAIRN_ENOTFOUND;
    if (rc == 0 && from.session != 0 && from.session != session) {
        start->of_session = from.session;
        snprintf(start->of, sizeof start->of, "%.*s", (int)sizeof start->of - 1,
                 from.session_name);
    }
}

/* A branch begins after the one that it starts from. */
static size_t find_parent(const struct branch_lineage *lineage, size_t i)
{
    uint64_t wanted = lineage->branches[i].from_branch;
    for (size_t at = 0; at < i && wanted != 0; at++)
        if (lineage->branches[at].info.branch == wanted)
            return at;
    return LINEAGE_NONE;
}

int branch_lineage_read(struct branch_lineage *lineage, struct cairn_store *store,
                        uint64_t session, struct cairn_error *error)
{
    char number[24];
    *lineage = (struct branch_lineage){0};
    u64_text(session, number);
    int rc = cairn_branch_list(store, number, add_branch, lineage, error);
    int damaged = rc == CAIRN_EDAMAGED ? rc : 0;
    if (lineage->failed)
        rc = error_nomem(error);
    if (rc == 0 || damaged)
        rc = tree_begin(&lineage->tree, lineage->tree.n, error);
    for (size_t i = 0; i < lineage->tree.n && rc == 0; i++) {
        find_start(store, session, &lineage->branches[i]);
        tree_put(&lineage->tree, i, find_parent(lineage, i));
    }
    return rc == 0 ? tree_end(&lineage->tree, error) ?: damaged : rc;
}

void branch_lineage_release(struct branch_lineage *lineage)
{
    free(lineage->branches);
    tree_release(&lineage->tree);
}

/* ---- Sessions that begin in others ---- */

static int add_session(void *context, const struct cairn_session_info *info)
{
    struct session_starts *starts = context;
    struct cairn_session_info *sessions =
        array_room(starts->sessions, starts->n_sessions, &starts->sessions_capacity,
                   sizeof *sessions);
    starts->failed = !sessions;
    if (!sessions)
        return 1;
    starts->sessions = sessions;
    sessions[starts->n_sessions++] = *info;
    return 0;
}

struct start_search {
    struct session_starts *starts;
    const struct cairn_session_info *info;
};

static int add_start(void *context, const struct cairn_branch_info *branch)
{
    const struct start_search *search = context;
    struct session_starts *starts = search->starts;
    if (branch->from[0] == '\0')
        return 0;
    struct session_start *at =
        array_room(starts->at, starts->n, &starts->capacity, sizeof *at);
    starts->failed = !at;
    if (!at)
        return 1;
    starts->at = at;
    at += starts->n++;
    memcpy(at->from, branch->from, sizeof at->from);
    memcpy(at->name, search->info->name, sizeof at->name);
    at->session = search->info->session;
    return 0;
}

int session_starts_read(struct session_starts *starts, struct cairn_store *store,
                        const struct cairn_page *page, uint64_t *total,
                        struct cairn_error *error)
{
    char number[24];
    *starts = (struct session_starts){0};
    int rc = cairn_session_list(store, page, add_session, starts, total, error);
    int damaged = rc == CAIRN_EDAMAGED ? rc : 0;
    rc = damaged ? 0 : rc;
    for (size_t i = 0; i < starts->n_sessions && rc == 0; i++) {
        struct start_search search = {starts, &starts->sessions[i]};
        struct cairn_error why = {0};
        rc = cairn_branch_list(store, u64_text(search.info->session, number), add_start,
                               &search, damaged ? &why : error);
        damaged = damaged ?: rc == CAIRN_EDAMAGED ? rc : 0;
        if (rc == CAIRN_EDAMAGED)
            rc = 0;
    }
    return starts->failed ? error_nomem(error) : rc ?: damaged;
}

void session_starts_release(struct session_starts *starts)
{
    free(starts->at);
    free(starts->sessions);
}
