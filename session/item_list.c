/* SPDX-License-Identifier: MIT */
/* Items for people: their fields as texts, contradictions, and lists. */
#include "session/board/beliefs.h"
#include "session/board/confidence.h"
#include "session/session_int.h"
#include "session/when.h"

#include "base/error.h"
#include "base/struct_take.h"
#include "base/utf8.h"
#include "base/words.h"
#include "storage/store.h"

#include <assert.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* ==== Fields ==== */

/* Fields of items from the texts that people write, and for the public header. */

uint8_t item_kind_parse(const char *name)
{
    for (uint8_t kind = 1; kind < (uint8_t)ITEM_KINDS_END; kind++)
        if (strcmp(item_kind_info(kind)->name, name) == 0)
            return kind;
    return 0;
}

/* ---- From text ---- */

struct setting {
    struct arena *arena;
    const struct item_field *field;
    struct str text;
    int64_t now_ns;
    struct cairn_error *error;
};

static int refuse(const struct setting *s, const char *what)
{
    return error_set(s->error, CAIRN_EUSAGE, "'%.*s' is not a valid %s: %s",
                     (int)utf8_fit(s->text, 80), s->text.ptr, s->field->name, what);
}

/* Digits, a point and an exponent, in every locale. */
static bool number_parse(struct str text, double *out)
{
    char plain[64], *end;
    if (text.len == 0 || text.len >= sizeof plain)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!strchr("0123456789.eE+-", text.ptr[i]) || !text.ptr[i])
            return false;
    memcpy(plain, text.ptr, text.len);
    plain[text.len] = '\0';
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c)
        return false;
    double value = strtod_l(plain, &end, c);
    freelocale(c);
    *out = value == 0 ? 0 : value; /* not -0 */
    return *end == '\0';
}

enum { WORDS_MOST = 32 };

static int set_word(const struct setting *s, struct item_value *value)
{
    struct buf names = BUF_INIT;
    for (unsigned n = 0; n < WORDS_MOST; n++) {
        const char *name = s->field->word(n);
        if (name && str_equal(s->text, str_of(name))) {
            value->count = n;
            buf_release(&names);
            return 0;
        }
        if (name)
            buf_format(&names, "%s%s", names.size ? ", " : "", name);
    }
    int rc = names.failed ? error_nomem(s->error) : 0;
    if (!rc) {
        char what[256];
        snprintf(what, sizeof what, "give one of %s", names.data);
        rc = refuse(s, what);
    }
    buf_release(&names);
    return rc;
}

/* Calls for each part between commas, without the white space around it. */
static int each_part(struct str list, int (*each)(void *, struct str), void *context)
{
    size_t from = 0;
    int rc = 0;
    for (size_t at = 0; at <= list.len && !rc; at++) {
        if (at < list.len && list.ptr[at] != ',')
            continue;
        size_t first = from, end = at;
        while (first < end && list.ptr[first] == ' ')
            first++;
        while (end > first && list.ptr[end - 1] == ' ')
            end--;
        rc = each(context, (struct str){list.ptr + first, end - first});
        from = at + 1;
    }
    return rc;
}

struct listing {
    const struct setting *s;
    struct item_value *value;
};

/* They are shown in one line, and separated by commas. */
static bool is_plain(struct str part)
{
    for (size_t i = 0; i < part.len; i++)
        if ((unsigned char)part.ptr[i] < 0x20 || part.ptr[i] == 0x7f)
            return false;
    return true;
}

static int add_text(void *context, struct str part)
{
    struct listing *l = context;
    for (uint32_t i = 0; i < l->value->n; i++)
        if (str_equal(l->value->texts[i], part))
            return 0;
    l->value->texts[l->value->n++] = part;
    if (!is_plain(part))
        return refuse(l->s, "it has a line break or another control character");
    return part.len ? 0 : refuse(l->s, "a part between two commas is empty");
}

static int add_ref(void *context, struct str part)
{
    struct listing *l = context;
    struct item_ref ref;
    int rc = item_id_parse(part, &ref, l->s->error);
    for (uint32_t i = 0; i < l->value->n && !rc; i++)
        if (l->value->refs[i].kind == ref.kind && l->value->refs[i].n == ref.n)
            return 0;
    if (!rc)
        l->value->refs[l->value->n++] = ref;
    return rc;
}

static int set_list(const struct setting *s, struct item_value *value)
{
    size_t parts = 1;
    struct listing listing = {s, value};
    bool refs = s->field->type == FIELD_REFS;
    for (size_t i = 0; i < s->text.len; i++)
        parts += s->text.ptr[i] == ',';
    if (refs)
        value->refs = arena_take(s->arena, parts, sizeof *value->refs);
    else
        value->texts = arena_take(s->arena, parts, sizeof *value->texts);
    if (s->arena->failed)
        return error_nomem(s->error);
    return each_part(s->text, refs ? add_ref : add_text, &listing);
}

static int set_flag(const struct setting *s, struct item_value *value)
{
    value->present = str_equal(s->text, STR("yes"));
    return value->present || str_equal(s->text, STR("no"))
               ? 0
               : refuse(s, "give yes or no");
}

static int set_value(const struct setting *s, struct item_value *value)
{
    value->present = true;
    switch (s->field->type) {
    case FIELD_TEXT:
        value->text = s->text;
        return 0;
    case FIELD_WORD:
        return set_word(s, value);
    case FIELD_NUMBER:
        return number_parse(s->text, &value->number)
                   ? 0
                   : refuse(s, "give a number such as 0.75");
    case FIELD_TIME:
        return when_parse(s->text, s->now_ns, &zone_local, &value->time_ns, s->error);
    case FIELD_FLAG:
        return set_flag(s, value);
    case FIELD_REF:
        return item_id_parse(s->text, &value->ref, s->error);
    case FIELD_TEXTS:
    case FIELD_REFS:
        return set_list(s, value);
    case FIELD_COUNT:
        return str_to_u64(s->text, &value->count)
                   ? 0
                   : refuse(s, "give a whole number in digits");
    }
    return 0;
}

static uint32_t field_of(const struct item_kind_info *info, const char *name)
{
    for (uint32_t i = 1; i <= info->n_fields; i++)
        if (strcmp(info->fields[i - 1].name, name) == 0)
            return i;
    return 0;
}

int fields_set(struct arena *arena, struct item *item, const struct cairn_set *sets,
               size_t n, int64_t now_ns, struct cairn_error *error)
{
    const struct item_kind_info *info = item_kind_info(item->id.kind);
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        uint32_t field = field_of(info, sets[i].field);
        if (!field)
            return error_set(error, CAIRN_EUSAGE, "a %s has no field '%.80s'",
                             info->name, sets[i].field);
        struct setting s = {.arena = arena,
                            .field = &info->fields[field - 1],
                            .text = str_of(sets[i].text),
                            .now_ns = now_ns,
                            .error = error};
        item->values[field] = (struct item_value){0};
        if (sets[i].text)
            rc = set_value(&s, &item->values[field]);
    }
    return rc;
}

/* ---- For the public header ---- */

static const char *text_of(struct arena *arena, struct str text)
{
    return arena_str(arena, text).ptr;
}

static const char *id_of(struct arena *arena, struct item_ref ref)
{
    char id[ITEM_ID_MAX];
    item_id(ref, id);
    return text_of(arena, str_of(id));
}

static void show_list(struct arena *arena, const struct item_value *value,
                      struct cairn_field *out)
{
    const char **texts = arena_take(arena, value->n, sizeof *texts);
    out->type = CAIRN_FIELD_LIST;
    out->n = texts ? value->n : 0;
    for (uint32_t i = 0; i < value->n && texts; i++)
        texts[i] = value->refs ? id_of(arena, value->refs[i])
                               : text_of(arena, value->texts[i]);
    out->texts = texts;
}

static void show_field(struct arena *arena, const struct item_field *field,
                       const struct item_value *value, struct cairn_field *out)
{
    *out = (struct cairn_field){.name = field->name, .type = CAIRN_FIELD_TEXT};
    switch (field->type) {
    case FIELD_TEXT:
        out->text = text_of(arena, value->text);
        break;
    case FIELD_WORD:
        out->text = field->word((unsigned)value->count);
        break;
    case FIELD_REF:
        out->text = id_of(arena, value->ref);
        break;
    case FIELD_NUMBER:
        out->type = CAIRN_FIELD_NUMBER;
        out->number = value->number;
        break;
    case FIELD_COUNT:
        out->type = CAIRN_FIELD_COUNT;
        out->count = value->count;
        break;
    case FIELD_TIME:
        out->type = CAIRN_FIELD_TIME;
        out->time_ns = value->time_ns;
        break;
    case FIELD_FLAG:
        out->type = CAIRN_FIELD_FLAG;
        break;
    case FIELD_TEXTS:
    case FIELD_REFS:
        show_list(arena, value, out);
        break;
    }
}

static bool is_about(const struct item *evidence, struct item_ref hypothesis)
{
    return evidence->values[EVIDENCE_HYPOTHESIS].ref.n == hypothesis.n;
}

static int show_hypothesis(const struct board *board, const struct item *item,
                           struct cairn_item *out, struct cairn_error *error)
{
    struct section evidence = board_section(board, ITEM_EVIDENCE);
    for (uint32_t i = 0; i < evidence.n; i++) {
        double strength = evidence.items[i].values[EVIDENCE_STRENGTH].number;
        if (!is_about(&evidence.items[i], item->id))
            continue;
        out->supporting += strength > 0;
        out->refuting += strength < 0;
    }
    out->has_confidence = true;
    return board_confidence(board, item->id, &out->confidence, error);
}

/* The strength of what is known of its hypothesis: the mean of the evidence. */
static double mean_strength(const struct board *board, struct item_ref hypothesis)
{
    struct section evidence = board_section(board, ITEM_EVIDENCE);
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < evidence.n; i++)
        if (is_about(&evidence.items[i], hypothesis)) {
            sum += evidence.items[i].values[EVIDENCE_STRENGTH].number;
            n++;
        }
    return n ? sum / n : 0;
}

static int gap_of(const struct board *board, const struct item *item, struct gap *gap,
                  struct cairn_error *error)
{
    const struct item_value *values = item->values;
    *gap =
        (struct gap){.kind = (enum gap_kind)values[GAP_KIND].count,
                     .criticality = (enum gap_criticality)values[GAP_CRITICALITY].count,
                     .status = (enum gap_status)values[GAP_STATUS].count,
                     .has_hypothesis = values[GAP_HYPOTHESIS].present,
                     .created_ns = values[GAP_CREATED].time_ns};
    if (!gap->has_hypothesis)
        return 0;
    gap->strength = mean_strength(board, values[GAP_HYPOTHESIS].ref);
    return board_confidence(board, values[GAP_HYPOTHESIS].ref, &gap->confidence, error);
}

static int show_gap(const struct board *board, const struct item *item, int64_t now_ns,
                    struct cairn_item *out, struct cairn_error *error)
{
    struct gap gap;
    int rc = gap_of(board, item, &gap, error);
    if (rc || gap.status != GAP_OPEN)
        return rc;
    struct gap_suggestion suggestion = gap_suggest(&gap);
    out->suggestion = suggestion.name;
    out->rationale = suggestion.rationale;
    out->has_score = true;
    return gap_score(&gap, now_ns, &out->score, error);
}

int item_show(struct arena *arena, const struct board *board, const struct item *item,
              int64_t now_ns, struct cairn_item *out, struct cairn_error *error)
{
    const struct item_kind_info *info = item_kind_info(item->id.kind);
    struct cairn_field *fields = arena_take(arena, info->n_fields, sizeof *fields);
    _Static_assert(CAIRN_ITEM_ID_MAX == ITEM_ID_MAX, "the public size of an id");
    *out = (struct cairn_item){.kind = info->name, .fields = fields};
    item_id(item->id, out->id);
    for (uint32_t i = 1; i <= info->n_fields && fields; i++)
        if (item->values[i].present)
            show_field(arena, &info->fields[i - 1], &item->values[i],
                       &fields[out->n_fields++]);
    if (arena->failed)
        return error_nomem(error);
    if (item->id.kind == ITEM_HYPOTHESIS)
        return show_hypothesis(board, item, out, error);
    return item->id.kind == ITEM_GAP ? show_gap(board, item, now_ns, out, error) : 0;
}

/* ==== Contradictions ==== */

/* The contradictions of a board, by the numbers of its beliefs, and in the log. */

struct copy {
    struct belief *beliefs;
    struct dependency *edges;
};

static struct belief belief_of(const struct item *item)
{
    const struct item_value *values = item->values;
    return (struct belief){values[BELIEF_SUBJECT].text, values[BELIEF_CLAIM].text,
                           values[BELIEF_DENIED].present,
                           values[BELIEF_CONFIDENCE].number};
}

static bool copy_beliefs(const struct section *beliefs, const struct section *edges,
                         struct copy *copy)
{
    copy->beliefs = calloc((size_t)beliefs->n + 1, sizeof *copy->beliefs);
    copy->edges = calloc((size_t)edges->n + 1, sizeof *copy->edges);
    for (uint32_t i = 0; i < beliefs->n && copy->beliefs; i++)
        copy->beliefs[i] = belief_of(&beliefs->items[i]);
    for (uint32_t i = 0; i < edges->n && copy->edges; i++) {
        const struct item_value *values = edges->items[i].values;
        copy->edges[i] =
            (struct dependency){section_place(beliefs, values[DEPENDENCY_FROM].ref.n),
                                section_place(beliefs, values[DEPENDENCY_TO].ref.n),
                                (enum dependency_kind)values[DEPENDENCY_KIND].count};
    }
    return copy->beliefs && copy->edges;
}

int board_contradictions(const struct board *board, uint32_t belief,
                         struct contradictions *out, struct cairn_error *error)
{
    struct section beliefs = board_section(board, ITEM_BELIEF),
                   edges = board_section(board, ITEM_DEPENDENCY);
    struct copy copy = {0};
    struct contradictions found = {0};
    uint32_t at = belief ? section_place(&beliefs, belief) : BELIEF_ANY;
    if (belief && (at == beliefs.n || beliefs.items[at].id.n != belief))
        return 0;
    int rc = copy_beliefs(&beliefs, &edges, &copy) ? 0 : error_nomem(error);
    struct belief_board all = {copy.beliefs, beliefs.n, copy.edges, edges.n};
    if (!rc)
        rc = belief_contradictions(&all, at, &found, error);
    for (uint32_t i = 0; i < found.n && !rc; i++) {
        found.at[i].a = beliefs.items[found.at[i].a].id.n;
        found.at[i].b = beliefs.items[found.at[i].b].id.n;
    }
    if (!rc)
        *out = found;
    free(copy.beliefs);
    free(copy.edges);
    return rc;
}

static bool is_before(const struct contradiction *x, const struct contradiction *y)
{
    return x->a < y->a || (x->a == y->a && x->b < y->b);
}

/* Both are in order. */
const struct contradiction *new_contradiction(const struct contradictions *before,
                                              const struct contradictions *after)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < after->n; i++) {
        while (at < before->n && is_before(&before->at[at], &after->at[i]))
            at++;
        if (at == before->n || is_before(&after->at[i], &before->at[at]))
            return &after->at[i];
    }
    return NULL;
}

int live_log_contradiction(struct live *live, uint32_t belief, uint32_t other,
                           struct cairn_error *error)
{
    char id[ITEM_ID_MAX];
    item_id((struct item_ref){ITEM_BELIEF, other}, id);
    struct log_entry entry = {.verb = VERB_CONTRADICTION,
                              .kind = ITEM_BELIEF,
                              .number = belief,
                              .after = str_of(id)};
    return live_log(live, &entry, error);
}

/* ==== Lists ==== */

/* Items for people and programs: one, or a list, as they are now or were at a
 * checkpoint. */

/* A board to be looked at: the present one, or that of a checkpoint. */
struct view {
    struct live live;
    struct state_at state;
    const struct board *board;
    bool past;
    struct item_ref shown; /* set before it is opened: as for live_load_shown */
};

/* Of another session than the one that is named it would be a wrong answer. */
static int check_session(struct view *view, const char *session,
                         struct cairn_error *error)
{
    uint64_t of = view->state.at.session;
    int rc = session ? live_find(&view->live, session, error) : 0;
    if (rc || !session || !of || of == view->live.row.session)
        return rc;
    return error_set(error, CAIRN_EUSAGE,
                     "that checkpoint is of session %llu, not of %.*s: give --session "
                     "%llu",
                     (unsigned long long)of, (int)view->live.row.name.len,
                     view->live.row.name.ptr, (unsigned long long)of);
}

static int open_view(struct view *view, struct cairn_store *store, const char *session,
                     const char *checkpoint, struct cairn_error *error)
{
    uint64_t seq;
    if (!checkpoint) {
        int rc = live_read(&view->live, store, session, error);
        view->board = &view->live.board;
        return rc
               ?: live_load_shown(&view->live, view->shown, error)
               ?: board_check(view->board, error);
    }
    int rc = live_begin(&view->live, store, false, error)
                 ?: debug_seq(store, checkpoint, &seq, error);
    if (rc)
        return rc;
    view->past = true;
    view->board = &view->state.board;
    return state_read_any(store, view->live.sha, seq, &view->state, error)
               ?: check_session(view, session, error);
}

/* The transaction ends before the callbacks, which may use the store. */
static void close_transaction(struct view *view)
{
    if (view->live.open)
        store_end_read(view->live.store);
    view->live.open = false;
}

static void close_view(struct view *view)
{
    if (view->past)
        state_release(&view->state);
    live_close(&view->live, 0, NULL);
}

/* ---- One ---- */

int cairn_item_get(struct cairn_store *store, const char *session, const char *id,
                   const char *checkpoint,
                   int (*got)(void *, const struct cairn_item *), void *context,
                   struct cairn_error *error)
{
    struct view view = {0};
    struct cairn_item shown;
    int rc = item_id_parse(str_of(id), &view.shown, error)
                 ?: open_view(&view, store, session, checkpoint, error);
    const struct item *item = rc ? NULL : board_find(view.board, view.shown);
    if (!rc && !item)
        rc = error_set(error, CAIRN_ENOTFOUND, "there is no %.80s %s", id,
                       checkpoint ? "at that checkpoint" : "on the board");
    if (!rc)
        rc = item_show(&view.live.arena, view.board, item, view.live.now.utc_ns, &shown,
                       error);
    close_transaction(&view);
    if (!rc)
        got(context, &shown);
    close_view(&view);
    return rc;
}

/* ---- Many ---- */

struct chosen {
    const struct item **items;
    size_t n;
};

static bool matches_field(const struct cairn_field *field, const char *value)
{
    if (field->type == CAIRN_FIELD_TEXT)
        return strcmp(field->text, value) == 0;
    for (size_t i = 0; i < field->n; i++)
        if (strcmp(field->texts[i], value) == 0)
            return true;
    return field->type == CAIRN_FIELD_FLAG && strcmp(value, "yes") == 0;
}

static int matches(struct view *view, const struct cairn_item_filter *filter,
                   const struct item *item, struct cairn_error *error)
{
    struct cairn_item shown;
    if (!filter->field)
        return 1;
    int rc = item_show(&view->live.arena, view->board, item, view->live.now.utc_ns,
                       &shown, error);
    if (rc)
        return rc;
    for (size_t i = 0; i < shown.n_fields; i++)
        if (strcmp(shown.fields[i].name, filter->field) == 0)
            return matches_field(&shown.fields[i], filter->value);
    return 0;
}

static int choose_kind(struct view *view, const struct cairn_item_filter *filter,
                       uint8_t kind, struct chosen *chosen, struct cairn_error *error)
{
    struct section section = board_section(view->board, kind);
    const struct item **items = realloc(chosen->items, (chosen->n + section.n + 1) *
                                                           sizeof(const struct item *));
    if (!items)
        return error_nomem(error);
    chosen->items = items;
    int rc = 0;
    for (uint32_t i = 0; i < section.n && rc >= 0; i++) {
        rc = matches(view, filter, &section.items[i], error);
        if (rc > 0)
            items[chosen->n++] = &section.items[i];
    }
    return rc < 0 ? rc : 0;
}

/* Puts the open ones in the order of their score. */
static int rank_gaps(struct view *view, struct chosen *chosen,
                     struct cairn_error *error)
{
    struct gap *gaps = calloc(chosen->n + 1, sizeof *gaps);
    struct gap_rank *ranked = calloc(chosen->n + 1, sizeof *ranked);
    const struct item **items = calloc(chosen->n + 1, sizeof(const struct item *));
    uint32_t n = 0;
    int rc = gaps && ranked && items ? 0 : error_nomem(error);
    for (size_t i = 0; i < chosen->n && !rc; i++)
        rc = gap_of(view->board, chosen->items[i], &gaps[i], error);
    if (!rc)
        rc = gap_order(gaps, (uint32_t)chosen->n, view->live.now.utc_ns, ranked, &n,
                       error);
    for (uint32_t i = 0; i < n && !rc; i++)
        items[i] = chosen->items[ranked[i].gap];
    for (uint32_t i = 0; i < n && !rc; i++)
        chosen->items[i] = items[i];
    chosen->n = rc ? chosen->n : n;
    free(gaps);
    free(ranked);
    free(items);
    return rc;
}

struct likely {
    double confidence;
    const struct item *item;
};

/* The most likely first, then by number. */
static int by_confidence(const void *a, const void *b)
{
    const struct likely *x = a, *y = b;
    if (x->confidence < y->confidence || x->confidence > y->confidence)
        return x->confidence < y->confidence ? 1 : -1;
    return (x->item->id.n > y->item->id.n) - (x->item->id.n < y->item->id.n);
}

static int rank_hypotheses(struct view *view, struct chosen *chosen,
                           struct cairn_error *error)
{
    struct likely *ranked = calloc(chosen->n + 1, sizeof *ranked);
    int rc = ranked ? 0 : error_nomem(error);
    for (size_t i = 0; i < chosen->n && !rc; i++) {
        ranked[i].item = chosen->items[i];
        rc = board_confidence(view->board, ranked[i].item->id, &ranked[i].confidence,
                              error);
    }
    if (!rc && chosen->n)
        qsort(ranked, chosen->n, sizeof *ranked, by_confidence);
    for (size_t i = 0; i < chosen->n && !rc; i++)
        chosen->items[i] = ranked[i].item;
    free(ranked);
    return rc;
}

static int rank(struct view *view, uint8_t kind, struct chosen *chosen,
                struct cairn_error *error)
{
    return kind == ITEM_GAP ? rank_gaps(view, chosen, error)
                            : rank_hypotheses(view, chosen, error);
}

static int choose(struct view *view, const struct cairn_item_filter *filter,
                  struct chosen *chosen, struct cairn_error *error)
{
    uint8_t only = filter->kind ? item_kind_parse(filter->kind) : 0;
    int rc = 0;
    if (filter->kind && !only)
        return error_set(error, CAIRN_EUSAGE, "'%.80s' is not a kind of item",
                         filter->kind);
    if (filter->by_score && only != ITEM_GAP && only != ITEM_HYPOTHESIS)
        return error_set(error, CAIRN_EUSAGE, "only gaps and hypotheses have a score");
    for (uint8_t kind = 1; kind < ITEM_KINDS_END && !rc; kind++)
        if (!only || only == kind)
            rc = choose_kind(view, filter, kind, chosen, error);
    if (!rc && filter->by_score)
        rc = rank(view, only, chosen, error);
    return rc;
}

static int tell_page(struct view *view, const struct cairn_item_filter *filter,
                     const struct chosen *chosen,
                     int (*each)(void *, const struct cairn_item *), void *context,
                     struct cairn_error *error)
{
    const struct cairn_page *page = &filter->page;
    bool forward = page->oldest_first || filter->by_score;
    uint64_t limit = page->all ? UINT64_MAX : page->limit ? page->limit : 10;
    int rc = 0, stopped = 0;
    for (uint64_t i = page->offset; i < chosen->n && i - page->offset < limit; i++) {
        struct cairn_item shown;
        size_t at = forward ? (size_t)i : chosen->n - 1 - (size_t)i;
        rc = item_show(&view->live.arena, view->board, chosen->items[at],
                       view->live.now.utc_ns, &shown, error);
        if (!rc)
            stopped = each(context, &shown);
        if (rc || stopped)
            break;
    }
    return rc;
}

int cairn_item_list(struct cairn_store *store, const char *session,
                    const struct cairn_item_filter *filter,
                    int (*each)(void *, const struct cairn_item *), void *context,
                    uint64_t *total, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_item_filter, filter, error);
    struct view view = {.shown.kind = filter->kind ? item_kind_parse(filter->kind) : 0};
    struct chosen chosen = {0};
    int rc = open_view(&view, store, session, filter->checkpoint, error);
    close_transaction(&view);
    if (!rc)
        rc = choose(&view, filter, &chosen, error)
                 ?: tell_page(&view, filter, &chosen, each, context, error);
    if (!rc && total)
        *total = chosen.n;
    free(chosen.items);
    close_view(&view);
    return rc;
}

/* ---- Beliefs of which at most one is true ---- */

struct step_of {
    int64_t time_ns;
    uint32_t evidence; /* its number */
    struct evidence weight;
};

static int by_time(const void *a, const void *b)
{
    const struct step_of *one = a, *two = b;
    if (one->time_ns != two->time_ns)
        return one->time_ns < two->time_ns ? -1 : 1;
    return one->evidence < two->evidence ? -1 : one->evidence > two->evidence;
}

static int show_steps(const struct item *hypothesis, struct step_of *steps, uint32_t n,
                      int (*each)(void *, const struct cairn_confidence_step *),
                      void *context, struct cairn_error *error)
{
    char id[ITEM_ID_MAX];
    struct cairn_confidence_step step = {
        .time_ns = hypothesis->values[HYPOTHESIS_CREATED].time_ns,
        .confidence = hypothesis->values[HYPOTHESIS_PRIOR].number};
    int rc = 0;
    qsort(steps, n, sizeof *steps, by_time);
    if (each(context, &step) != 0)
        return 0;
    for (uint32_t i = 0; i < n && !rc; i++) {
        item_id((struct item_ref){ITEM_EVIDENCE, steps[i].evidence}, id);
        step.time_ns = steps[i].time_ns;
        step.evidence = id;
        step.strength = steps[i].weight.strength;
        rc = confidence_of(step.confidence, &steps[i].weight, 1, &step.confidence,
                           error);
        if (!rc && each(context, &step) != 0)
            return 0;
    }
    return rc;
}

int cairn_hypothesis_steps(struct cairn_store *store, const char *session,
                           const char *hypothesis, const char *checkpoint,
                           int (*each)(void *, const struct cairn_confidence_step *),
                           void *context, struct cairn_error *error)
{
    struct view view = {.shown.kind = ITEM_HYPOTHESIS};
    struct item_ref id = {0};
    struct step_of *steps = NULL;
    uint32_t n = 0;
    int rc = open_view(&view, store, session, checkpoint, error);
    close_transaction(&view);
    rc = rc ?: item_id_parse(str_of(hypothesis), &id, error);
    const struct item *item =
        !rc && id.kind == ITEM_HYPOTHESIS ? board_find(view.board, id) : NULL;
    if (!rc && !item)
        rc = error_set(error, CAIRN_ENOTFOUND, "there is no hypothesis %.80s",
                       hypothesis);
    if (!rc) {
        const struct board_list *all = &view.board->lists[ITEM_EVIDENCE];
        steps = calloc((size_t)all->n + 1, sizeof *steps);
        for (uint32_t i = 0; steps && i < all->n; i++) {
            const struct item_value *values = all->items[i].values;
            if (values[EVIDENCE_HYPOTHESIS].ref.n == id.n)
                steps[n++] =
                    (struct step_of){values[EVIDENCE_CREATED].time_ns,
                                     all->items[i].id.n,
                                     {(enum evidence_kind)values[EVIDENCE_KIND].count,
                                      values[EVIDENCE_STRENGTH].number}};
        }
        rc = steps ? show_steps(item, steps, n, each, context, error)
                   : error_nomem(error);
    }
    free(steps);
    close_view(&view);
    return rc;
}

int cairn_belief_contradictions(struct cairn_store *store, const char *session,
                                const char *belief, const char *checkpoint,
                                int (*each)(void *, const char *a, const char *b),
                                void *context, uint64_t *total,
                                struct cairn_error *error)
{
    struct view view = {.shown.kind = ITEM_DEPENDENCY};
    struct item_ref id = {0};
    struct contradictions found = {0};
    int rc = open_view(&view, store, session, checkpoint, error);
    close_transaction(&view);
    if (!rc && belief)
        rc = item_id_parse(str_of(belief), &id, error);
    if (!rc && belief && (id.kind != ITEM_BELIEF || !board_find(view.board, id)))
        rc = error_set(error, CAIRN_ENOTFOUND, "there is no belief %.80s", belief);
    if (!rc)
        rc = board_contradictions(view.board, id.n, &found, error);
    for (uint32_t i = 0, stopped = 0; i < found.n && !rc && !stopped; i++) {
        char a[ITEM_ID_MAX], b[ITEM_ID_MAX];
        item_id((struct item_ref){ITEM_BELIEF, found.at[i].a}, a);
        item_id((struct item_ref){ITEM_BELIEF, found.at[i].b}, b);
        stopped = each(context, a, b) != 0;
    }
    if (!rc && total)
        *total = found.total;
    free(found.at);
    close_view(&view);
    return rc;
}
