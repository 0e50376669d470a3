/* SPDX-License-Identifier: MIT */
/* What a new confidence of a belief does to those that depend on it: shown first, and
 * done only as it was shown. */
#include "session/session_int.h"

#include "session/board/cascade.h"
#include "session/board/confidence.h"

#include <stdio.h>
#include <stdlib.h>

/* The beliefs of a board as the arithmetic wants them. */
struct impact {
    struct live live;
    struct section beliefs;
    double *confidence;
    struct dependency *edges;
    struct belief_graph graph;
    struct cascade cascade;
    char token[CAIRN_CASCADE_TOKEN_MAX];
    struct cairn_error *error;
};

static int make_graph(struct impact *i)
{
    struct section edges = board_section(&i->live.board, ITEM_DEPENDENCY);
    i->beliefs = board_section(&i->live.board, ITEM_BELIEF);
    i->confidence =
        arena_take(&i->live.arena, (size_t)i->beliefs.n + 1, sizeof *i->confidence);
    i->edges = arena_take(&i->live.arena, (size_t)edges.n + 1, sizeof *i->edges);
    if (!i->confidence || !i->edges)
        return error_nomem(i->error);
    for (uint32_t b = 0; b < i->beliefs.n; b++)
        i->confidence[b] = i->beliefs.items[b].values[BELIEF_CONFIDENCE].number;
    for (uint32_t e = 0; e < edges.n; e++) {
        const struct item_value *values = edges.items[e].values;
        i->edges[e] = (struct dependency){
            section_place(&i->beliefs, values[DEPENDENCY_FROM].ref.n),
            section_place(&i->beliefs, values[DEPENDENCY_TO].ref.n),
            (enum dependency_kind)values[DEPENDENCY_KIND].count};
    }
    return belief_graph_init(&i->graph, i->beliefs.n, i->edges, edges.n, i->error);
}

/* All that a cascade says, in 32 hex digits. */
static int make_token(struct impact *i)
{
    struct buf bytes = BUF_INIT;
    struct digest digest;
    for (uint32_t s = 0; s < i->cascade.n; s++) {
        const struct cascade_step *step = &i->cascade.steps[s];
        uint64_t bits[2];
        memcpy(&bits[0], &step->before, sizeof bits[0]);
        memcpy(&bits[1], &step->after, sizeof bits[1]);
        buf_varint(&bytes, i->beliefs.items[step->node].id.n);
        buf_varint(&bytes, step->depth);
        buf_u64(&bytes, bits[0]);
        buf_u64(&bytes, bits[1]);
    }
    int rc = buf_check(&bytes, i->error);
    if (!rc)
        rc = sha256_of(bytes.data, bytes.size, &digest, i->error);
    for (size_t d = 0; d < sizeof i->token / 2 && !rc; d++)
        snprintf(i->token + 2 * d, 3, "%02x", digest.bytes[d]);
    buf_release(&bytes);
    return rc;
}

static int find_belief(struct impact *i, const char *id, uint32_t *place)
{
    struct item_ref ref;
    int rc = item_id_parse(str_of(id), &ref, i->error);
    if (rc)
        return rc;
    if (ref.kind != ITEM_BELIEF)
        return error_set(i->error, CAIRN_EUSAGE, "%s is no belief", id);
    *place = section_place(&i->beliefs, ref.n);
    return board_find(&i->live.board, ref)
               ? 0
               : error_set(i->error, CAIRN_ENOTFOUND, "there is no %s", id);
}

static int compute(struct impact *i, const char *id, double confidence)
{
    uint32_t place = 0;
    int rc = live_load_board(&i->live, i->error);
    if (!rc)
        rc = board_check(&i->live.board, i->error);
    if (!rc)
        rc = confidence_check("confidence", confidence, i->error);
    if (!rc)
        rc = make_graph(i);
    if (!rc)
        rc = find_belief(i, id, &place);
    if (!rc)
        rc = belief_cascade(&i->graph, i->confidence, place, confidence, &i->cascade,
                            i->error);
    return rc ? rc : make_token(i);
}

static int close_impact(struct impact *i, int rc)
{
    cascade_release(&i->cascade);
    belief_graph_release(&i->graph);
    return live_close(&i->live, rc, i->error);
}

static void tell_page(const struct impact *i, const struct cascade_page *page,
                      int (*each)(void *, const struct cairn_cascade_step *),
                      void *context)
{
    int stopped = 0;
    for (uint32_t s = 0; s < page->n && !stopped; s++) {
        const struct cascade_step *step = &page->steps[s];
        char id[ITEM_ID_MAX];
        item_id(i->beliefs.items[step->node].id, id);
        struct cairn_cascade_step told = {id, step->depth, step->before, step->after};
        stopped = each(context, &told);
    }
}

int cairn_belief_preview(struct cairn_store *store, const char *session, const char *id,
                         double confidence, uint32_t page,
                         int (*each)(void *, const struct cairn_cascade_step *),
                         void *context, struct cairn_cascade *cascade,
                         struct cairn_error *error)
{
    struct impact i = {.error = error};
    struct cascade_page shown;
    int rc = live_read(&i.live, store, session, error);
    if (!rc)
        rc = compute(&i, id, confidence);
    if (!rc)
        rc = cascade_page(&i.cascade, page, &shown, error);
    if (!rc) {
        *cascade = (struct cairn_cascade){
            .steps = i.cascade.n, .page = shown.page, .pages = shown.pages};
        memcpy(cascade->token, i.token, sizeof cascade->token);
        tell_page(&i, &shown, each, context);
    }
    return close_impact(&i, rc);
}

/* Each step is a change of a belief. */
static int put_steps(struct impact *i, struct cairn_board_result *result)
{
    struct board_changes changes = {0};
    struct checkpoint_ref made = {0};
    int rc = 0;
    for (uint32_t s = 0; s < i->cascade.n && !rc; s++) {
        const struct cascade_step *step = &i->cascade.steps[s];
        struct item item = i->beliefs.items[step->node];
        item.values[BELIEF_CONFIDENCE].number = step->after;
        rc = board_put(&i->live.board, &item, i->live.now.utc_ns, &changes, i->error);
    }
    if (!rc)
        rc = live_put_changes(&i->live, &changes, true, i->error);
    if (!rc)
        rc = capture_automatic(&i->live, &changes, NULL, &made, i->error);
    result->changed = changes.n;
    result->pruned = i->live.pruned;
    if (made.seq)
        checkpoint_id(NAMESPACE_DEBUG, made.seq, &made.digest, result->checkpoint);
    free(changes.at);
    return rc;
}

static int cascade_with(struct files_taken *files, struct cairn_store *store,
                        const char *session, const char *id, double confidence,
                        const char *token, struct cairn_board_result *result,
                        struct cairn_error *error)
{
    struct impact i = {.error = error};
    struct cairn_board_result made = {.changed = 0};
    int rc = live_write(&i.live, store, session, error);
    i.live.files = files;
    if (!rc)
        rc = live_check_open(&i.live, error);
    if (!rc)
        rc = compute(&i, id, confidence);
    if (!rc && token && strcmp(token, i.token) != 0)
        rc = error_set(error, CAIRN_EUSAGE,
                       "the board has changed since that preview: look at it again; "
                       "nothing was changed");
    if (!rc)
        rc = put_steps(&i, &made);
    snprintf(made.id, sizeof made.id, "%s", id);
    rc = close_impact(&i, rc);
    if (!rc && result)
        *result = made;
    return rc;
}

int cairn_belief_cascade(struct cairn_store *store, const char *session, const char *id,
                         double confidence, const char *token,
                         struct cairn_board_result *result, struct cairn_error *error)
{
    struct files_taken files = {0};
    int rc;
    do
        rc = cascade_with(&files, store, session, id, confidence, token, result, error);
    while (files_wanted(&files, &rc, store, session, error));
    return files_end(&files, rc, store, error);
}
