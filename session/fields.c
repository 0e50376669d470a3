/* SPDX-License-Identifier: MIT */
/* Fields of items from the texts that people write, and for the public header. */
#include "session/session_int.h"

#include "base/decimal.h"
#include "base/utf8.h"
#include "session/board/beliefs.h"
#include "session/board/confidence.h"
#include "session/board/gaps.h"
#include "session/when.h"

#include <assert.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

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
    return error_set(s->error, CAIRN_EUSAGE, "'%.*s' is no valid %s: %s",
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

int gap_of(const struct board *board, const struct item *item, struct gap *gap,
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
