/* SPDX-License-Identifier: MIT */
/* One change of the board, with all that follows, and what it would change. */
#include "session/board/beliefs.h"
#include "session/board/confidence.h"
#include "session/outside.h"
#include "session/session_int.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "base/words.h"
#include "secrets/known_secrets.h"

#include <stdio.h>
#include <stdlib.h>

/* ==== Without secrets ==== */

/* Texts of items before they are stored: without secrets. */

/* What is not a text is refused later. A command is run. */
static int take(struct live *live, const struct outside *outside, const char *field,
                struct str *text, struct cairn_error *error)
{
    struct clean clean;
    char what[64];
    bool command = strcmp(field, "command") == 0;
    if (!text->len || !utf8_is_text(*text))
        return 0;
    snprintf(what, sizeof what, "the field %s", field);
    struct outside_text given = {command ? OUTSIDE_DATA : OUTSIDE_PROSE, what, *text,
                                 command ? "take it from a variable of the environment"
                                         : NULL};
    int rc = outside_take(outside, &given, &live->arena, &clean, error);
    if (!rc)
        *text = clean_str(clean);
    return rc;
}

/* The list is copied before it is changed: what was there before may share it. */
static int take_list(struct live *live, const struct outside *outside,
                     const char *field, struct item_value *value,
                     struct cairn_error *error)
{
    if (!value->n)
        return 0;
    struct str *texts = arena_take(&live->arena, value->n, sizeof *texts);
    if (!texts)
        return error_nomem(error);
    memcpy(texts, value->texts, value->n * sizeof *texts);
    value->texts = texts;
    int rc = 0;
    for (uint32_t i = 0; i < value->n && !rc; i++)
        rc = take(live, outside, field, &texts[i], error);
    return rc;
}

/* Takes secrets out of what differs from `before`; in the command of a check they are
 * refused. */
static int live_clean_item(struct live *live, const struct item *before,
                           struct item *item, struct cairn_error *error)
{
    const struct item_kind_info *info = item_kind_info(item->id.kind);
    struct redactor *redactor = NULL;
    int rc = live_redactor(live, &redactor, error);
    struct outside outside = {redactor, true, live->store};
    for (int i = 1; i <= info->n_fields && !rc; i++) {
        struct item_value *value = &item->values[i];
        const char *field = info->fields[i - 1].name;
        if (info->fields[i - 1].type == FIELD_TEXT &&
            !str_equal(before->values[i].text, value->text))
            rc = take(live, &outside, field, &value->text, error);
        else if (info->fields[i - 1].type == FIELD_TEXTS)
            rc = take_list(live, &outside, field, value, error);
    }
    redactor_free(redactor);
    return rc;
}

/* ==== Changes ==== */

/* Adding, changing and removing items: one transaction each, with what follows from it.
 */

struct editing {
    struct live live;
    struct item item;
    struct board_changes changes;
    struct contradiction opposed; /* caused by this change; a 0: none */
    struct item_ref hypothesis;   /* whose confidence follows from it, n 0: none */
    double confidence[2];         /* of it, before and after */
    double strength_given;
    struct cairn_error *error;
};

/* ---- Contradictions ---- */

/* Of a belief itself; of a dependency, that from which it goes. 0: of none. */
static uint32_t belief_concerned(const struct item *item)
{
    if (item->id.kind == ITEM_BELIEF)
        return item->id.n;
    return item->id.kind == ITEM_DEPENDENCY ? item->values[DEPENDENCY_FROM].ref.n : 0;
}

/* The belief of a contradiction that the item is not, or that it is not about. */
static struct item_ref other_belief(const struct editing *e)
{
    bool first = e->opposed.a == belief_concerned(&e->item);
    return (struct item_ref){ITEM_BELIEF, first ? e->opposed.b : e->opposed.a};
}

/* ---- Confidence ---- */

/* Evidence may name one that is not there, which board_put refuses. */
static int look_before(struct editing *e)
{
    struct item_ref id = e->item.id;
    if (id.kind == ITEM_EVIDENCE)
        id = e->item.values[EVIDENCE_HYPOTHESIS].ref;
    if (id.kind != ITEM_HYPOTHESIS || !board_find(&e->live.board, id))
        return 0;
    e->hypothesis = id;
    return board_confidence(&e->live.board, id, &e->confidence[0], e->error);
}

static int look_after(struct editing *e)
{
    if (!e->hypothesis.n || !board_find(&e->live.board, e->hypothesis))
        return 0;
    return board_confidence(&e->live.board, e->hypothesis, &e->confidence[1], e->error);
}

static void tell_confidence(const struct editing *e, struct cairn_board_result *out)
{
    const struct item *item = board_find(&e->live.board, e->hypothesis);
    if (!e->hypothesis.n || !item)
        return;
    item_id(e->hypothesis, out->hypothesis);
    out->confidence_before = e->confidence[0];
    out->confidence = e->confidence[1];
    out->doubtful = item->values[HYPOTHESIS_STATUS].count == HYPOTHESIS_CONFIRMED &&
                    confidence_above(0.5, out->confidence) &&
                    !confidence_above(0.5, out->confidence_before);
    if (e->item.id.kind != ITEM_EVIDENCE)
        return;
    out->strength = e->item.values[EVIDENCE_STRENGTH].number;
    out->strength_given = e->strength_given;
}

/* ---- One change ---- */

static int put_item(struct editing *e)
{
    struct contradictions before = {0}, after = {0};
    struct live *live = &e->live;
    uint32_t belief = belief_concerned(&e->item);
    int rc = belief ? board_contradictions(&live->board, belief, &before, e->error) : 0;
    if (!rc)
        rc = look_before(e)
                 ?: board_put(&live->board, &e->item, live->now.utc_ns, &e->changes,
                              e->error);
    belief = belief_concerned(&e->item); /* a new one has its number now */
    if (!rc && belief)
        rc = board_contradictions(&live->board, belief, &after, e->error);
    if (!rc)
        rc = look_after(e);
    const struct contradiction *found = rc ? NULL : new_contradiction(&before, &after);
    if (found)
        e->opposed = *found;
    free(before.at);
    free(after.at);
    return rc;
}

/* The times that follow from a status. */
static void set_times(struct item *item, int64_t now_ns)
{
    struct item_value now = {.present = true, .time_ns = now_ns};
    if (item->id.kind == ITEM_HYPOTHESIS) {
        bool closed = item->values[HYPOTHESIS_STATUS].count >= HYPOTHESIS_CONFIRMED;
        if (closed && !item->values[HYPOTHESIS_CLOSED].present)
            item->values[HYPOTHESIS_CLOSED] = now;
    }
    if (item->id.kind == ITEM_GAP) {
        bool open = item->values[GAP_STATUS].count == GAP_OPEN;
        if (open)
            item->values[GAP_ENDED] = (struct item_value){0};
        else if (!item->values[GAP_ENDED].present)
            item->values[GAP_ENDED] = now;
    }
}

static int clamp_strength(struct editing *e)
{
    struct item_value *values = e->item.values;
    double given = values[EVIDENCE_STRENGTH].number;
    struct evidence fitted;
    if (e->item.id.kind != ITEM_EVIDENCE)
        return 0;
    if (!values[EVIDENCE_STRENGTH].present)
        return error_set(e->error, CAIRN_EUSAGE,
                         "the strength of the evidence is missing: --strength S, from "
                         "-1 (refutes) to 1 (supports)");
    int rc = evidence_init(&fitted, (enum evidence_kind)values[EVIDENCE_KIND].count,
                           given, e->error);
    if (rc)
        return rc;
    if (given < -1 || given > 1)
        return error_set(e->error, CAIRN_EUSAGE,
                         "strength is %g; give a number from -1 (refutes) to 1 "
                         "(supports)",
                         given);
    e->strength_given = given;
    values[EVIDENCE_STRENGTH].number = fitted.strength;
    return 0;
}

/* A status that is given is a move, also to what it is already. */
static int check_move(struct editing *e, const struct item *before,
                      const struct cairn_set *sets, size_t n)
{
    const struct item_value *was = &before->values[HYPOTHESIS_STATUS],
                            *is = &e->item.values[HYPOTHESIS_STATUS];
    bool moved = false;
    for (size_t i = 0; i < n; i++)
        moved |= strcmp(sets[i].field, "status") == 0;
    if (!moved || e->item.id.kind != ITEM_HYPOTHESIS || !e->item.id.n ||
        was->count != is->count)
        return 0;
    return hypothesis_move((enum hypothesis_status)was->count,
                           (enum hypothesis_status)is->count, e->error);
}

/* What a run has found is not set by hand. */
static int check_sets(uint8_t kind, const struct cairn_set *sets, size_t n,
                      struct cairn_error *error)
{
    static const char *const results[] = {
        "status", "output", "exit_code", "duration_ms", "attempts", "ran", NULL};
    if (kind == ITEM_COMMAND)
        return error_set(error, CAIRN_EUSAGE,
                         "commands are recorded as they are run, and not changed");
    for (size_t i = 0; i < n && kind == ITEM_CHECK; i++)
        if (str_among(str_of(sets[i].field), results))
            return error_set(error, CAIRN_EUSAGE,
                             "the %s of a check comes from running it", sets[i].field);
    return 0;
}

/* Another command, or other limits, have no result yet. */
static void forget_result(const struct item *before, struct item *item)
{
    const struct item_value *was = before->values;
    struct item_value *is = item->values;
    if (str_equal(was[CHECK_COMMAND].text, is[CHECK_COMMAND].text) &&
        was[CHECK_LIMIT].count == is[CHECK_LIMIT].count)
        return;
    is[CHECK_STATUS].count = CHECK_PENDING;
    for (int field = CHECK_OUTPUT; field <= CHECK_RAN; field++)
        is[field] = (struct item_value){0};
}

static int note_difference(void *context, const struct item_field *field,
                           const struct item_value *before,
                           const struct item_value *after)
{
    (void)field;
    (void)before;
    (void)after;
    *(bool *)context = false;
    return 0;
}

static bool is_same(const struct item *before, const struct item *after)
{
    bool same = true;
    item_changes(before, after, note_difference, &same);
    return same;
}

static int finish_item(struct editing *e, const struct cairn_set *sets, size_t n)
{
    struct live *live = &e->live;
    struct item before = e->item;
    int rc = check_sets(e->item.id.kind, sets, n, e->error)
             ?: fields_set(&live->arena, &e->item, sets, n, live->now.utc_ns, e->error)
             ?: clamp_strength(e)
             ?: check_move(e, &before, sets, n)
             ?: live_clean_item(live, &before, &e->item, e->error);
    if (rc)
        return rc;
    rc = live_load_concerned(live, &e->item, e->error) /* what it names now */
             ?: board_check(&live->board, e->error);
    if (rc)
        return rc;
    if (e->item.id.kind == ITEM_CHECK)
        forget_result(&before, &e->item);
    set_times(&e->item, live->now.utc_ns);
    if (!e->item.id.n || !is_same(&before, &e->item))
        return put_item(e);
    rc = look_before(e); /* nothing is changed, and nothing logged */
    return rc ?: look_after(e);
}

/* ---- Transactions ---- */

/* `kind`: of an item that is to be added, or 0. */
static int begin_editing(struct editing *e, struct cairn_store *store,
                         const char *session, uint8_t kind, struct cairn_error *error)
{
    *e = (struct editing){.error = error};
    return live_write(&e->live, store, session, error)
           ?: live_check_open(&e->live, error)
           ?: live_load_part(&e->live, kind, error);
}

static int end_editing(struct editing *e, int rc, struct cairn_board_result *out)
{
    struct checkpoint_ref made = {0};
    struct cairn_board_result result = {.changed = e->changes.n};
    if (!rc)
        rc = live_put_changes(&e->live, &e->changes, true, e->error);
    if (!rc && e->opposed.a)
        rc = live_log_contradiction(&e->live, belief_concerned(&e->item),
                                    other_belief(e).n, e->error);
    if (!rc)
        rc = capture_automatic(&e->live, &e->changes, e->opposed.a ? &e->opposed : NULL,
                               &made, e->error);
    item_id(e->item.id, result.id);
    if (e->opposed.a)
        item_id(other_belief(e), result.contradicts);
    if (!rc)
        tell_confidence(e, &result);
    if (made.seq)
        checkpoint_id(NAMESPACE_DEBUG, made.seq, &made.digest, result.checkpoint);
    result.pruned = e->live.pruned;
    rc = live_close(&e->live, rc, e->error);
    free(e->changes.at);
    if (!rc && out)
        *out = result;
    return rc;
}

static int find_item(struct editing *e, const char *id)
{
    int rc = item_id_parse(str_of(id), &e->item.id, e->error)
                 ?: live_load_item(&e->live, e->item.id, e->error);
    const struct item *found = rc ? NULL : board_find(&e->live.board, e->item.id);
    if (rc)
        return rc;
    if (!found)
        return error_set(e->error, CAIRN_ENOTFOUND, "there is no %.80s in session %.*s",
                         id, (int)e->live.row.name.len, e->live.row.name.ptr);
    e->item = *found;
    return live_load_concerned(&e->live, &e->item, e->error);
}

/* ---- Public ---- */

static const struct usual {
    uint8_t kind;
    struct cairn_set set;
} usual[] = {
    {ITEM_HYPOTHESIS, {"prior", "0.5"}},
    {ITEM_HYPOTHESIS, {"status", "proposed"}},
    {ITEM_EVIDENCE, {"kind", "observation"}},
    {ITEM_BELIEF, {"confidence", "0.5"}},
    {ITEM_DEPENDENCY, {"kind", "implication"}},
    {ITEM_GAP, {"kind", "other"}},
    {ITEM_GAP, {"criticality", "medium"}},
    {ITEM_GAP, {"status", "open"}},
    {ITEM_CHECK, {"timeout_ms", "60000"}},
    {ITEM_CHECK, {"retries", "3"}},
    {ITEM_CHECK, {"status", "pending"}},
};

static int set_usual(struct editing *e)
{
    struct cairn_set created = {"created", "now"};
    int64_t now_ns = e->live.now.utc_ns;
    int rc = fields_set(&e->live.arena, &e->item, &created, 1, now_ns, e->error);
    for (size_t i = 0; i < COUNT_OF(usual) && !rc; i++)
        if (usual[i].kind == e->item.id.kind)
            rc = fields_set(&e->live.arena, &e->item, &usual[i].set, 1, now_ns,
                            e->error);
    return rc;
}

static int refuse_kind(const char *kind, struct cairn_error *error)
{
    return error_set(
        error, CAIRN_EUSAGE,
        "'%.80s' is not a kind of item: give hypothesis, evidence, belief, "
        "dependency, gap, note or check",
        kind);
}

/* What is to be done with an item. */
struct edit {
    int (*make)(struct editing *e, const struct edit *edit);
    uint8_t kind;   /* to be added */
    const char *id; /* to be changed or removed */
    const struct cairn_set *sets;
    size_t n;
};

static int add_item(struct editing *e, const struct edit *edit)
{
    e->item.id.kind = edit->kind;
    return set_usual(e) ?: finish_item(e, edit->sets, edit->n);
}

static int set_item(struct editing *e, const struct edit *edit)
{
    return find_item(e, edit->id) ?: finish_item(e, edit->sets, edit->n);
}

static int remove_item(struct editing *e, const struct edit *edit)
{
    return find_item(e, edit->id)
           ?: live_load_referrers(&e->live, e->item.id, e->error)
           ?: look_before(e)
           ?: board_remove(&e->live.board, e->item.id, &e->changes, e->error)
           ?: look_after(e);
}

static int edit_with(struct files_taken *files, struct cairn_store *store,
                     const char *session, const struct edit *edit,
                     struct cairn_board_result *result, struct cairn_error *error)
{
    struct editing e;
    int rc = begin_editing(&e, store, session, edit->kind, error);
    e.live.files = files;
    if (!rc)
        rc = edit->make(&e, edit);
    return end_editing(&e, rc, result);
}

static int edit_item(struct cairn_store *store, const char *session,
                     const struct edit *edit, struct cairn_board_result *result,
                     struct cairn_error *error)
{
    struct files_taken files = {0};
    int rc;
    do
        rc = edit_with(&files, store, session, edit, result, error);
    while (files_wanted(&files, &rc, store, session, error));
    return files_end(&files, rc, store, error);
}

int cairn_item_add(struct cairn_store *store, const char *session, const char *kind,
                   const struct cairn_set *sets, size_t n,
                   struct cairn_board_result *result, struct cairn_error *error)
{
    struct edit edit = {
        .make = add_item, .kind = item_kind_parse(kind), .sets = sets, .n = n};
    return edit.kind ? edit_item(store, session, &edit, result, error)
                     : refuse_kind(kind, error);
}

int cairn_item_set(struct cairn_store *store, const char *session, const char *id,
                   const struct cairn_set *sets, size_t n,
                   struct cairn_board_result *result, struct cairn_error *error)
{
    struct edit edit = {.make = set_item, .id = id, .sets = sets, .n = n};
    return edit_item(store, session, &edit, result, error);
}

int cairn_item_remove(struct cairn_store *store, const char *session, const char *id,
                      struct cairn_board_result *result, struct cairn_error *error)
{
    struct edit edit = {.make = remove_item, .id = id};
    return edit_item(store, session, &edit, result, error);
}

/* ==== What a change does to others ==== */

/* What a new confidence of a belief does to those that depend on it: shown first, and
 * done only as it was shown. */

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
    int rc = buf_check(&bytes, i->error)
                 ?: sha256_of(bytes.data, bytes.size, &digest, i->error);
    if (!rc)
        hex_of_bytes(digest.bytes, sizeof i->token / 2, i->token);
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
        return error_set(i->error, CAIRN_EUSAGE, "%s is not a belief", id);
    *place = section_place(&i->beliefs, ref.n);
    return board_find(&i->live.board, ref)
               ? 0
               : error_set(i->error, CAIRN_ENOTFOUND, "there is no %s", id);
}

/* The belief and all that rests on it. */
static int load_impact(struct impact *i, const char *id)
{
    struct item_ref ref;
    int rc = live_load_part(&i->live, 0, i->error);
    if (rc || item_id_parse(str_of(id), &ref, NULL) || ref.kind != ITEM_BELIEF)
        return rc; /* find_belief says what is wrong */
    return live_load_item(&i->live, ref, i->error)
               ?: live_load_reach(&i->live, ref.n, BELIEF_DEPENDENTS, i->error);
}

static int compute(struct impact *i, const char *id, double confidence)
{
    uint32_t place = 0;
    return load_impact(i, id)
           ?: board_check(&i->live.board, i->error)
           ?: confidence_check("confidence", confidence, i->error)
           ?: make_graph(i)
           ?: find_belief(i, id, &place)
           ?: belief_cascade(&i->graph, i->confidence, place, confidence, &i->cascade,
                             i->error)
           ?: make_token(i);
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
    int rc = live_read(&i.live, store, session, error)
             ?: compute(&i, id, confidence)
             ?: cascade_page(&i.cascade, page, &shown, error);
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
        rc = live_put_changes(&i->live, &changes, true, i->error)
                 ?: capture_automatic(&i->live, &changes, NULL, &made, i->error);
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
        rc = live_check_open(&i.live, error) ?: compute(&i, id, confidence);
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
