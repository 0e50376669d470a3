/* SPDX-License-Identifier: MIT */
/* Fingerprints: SHA-256 over a canonical encoding of what changes a task's meaning.
 *
 *   task_def:  "cairn-fingerprint 2" and fingerprint_fields (task_fields.c) in their
 *              order; of params those that the task takes, of foreach the keys; texts
 *              that came with version 5 of the binary form, or later, only if they are
 *              not empty, behind their names
 *   task:      digest of its task_def, its foreach values, the columns that it names
 *              of their sheets with what they have, and its needs in the order of their
 *              text: the id of one task, or the digest of the values of a
 *              whole group, or of the ids of a part of one; then the ids of the
 *              members whose files or values it is given, in their order
 *
 * The shell is that of `run`, or of the check. Timeouts, retries, pools, slots, nice,
 * priority, once, undo, finally, needs_all, may_fail, needs that are only for the order,
 * whether a need is soft, what a check warns of, and the order of needs do not count; nor
 * does that of foreach values, but for whom they put files in order.
 *
 * Fingerprints are never stored: they are computed of the definition that a run has
 * stored and of the one that is there now, and compared. So this encoding may change
 * with a release without making anybody's tasks run again. But two definitions that
 * mean the same must get the same fingerprint, also if one of them was decoded from an
 * older version of the binary form: what that version does not have reads as empty. */
#include "graph/fingerprint.h"

#include "graph/graph.h"
#include "graph/members.h"
#include "graph/task_fields.h"
#include "graph/text_expand.h"

#include "base/limits.h"
#include "base/words.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Needs in the order of their text, whatever order the file has. */
struct named_need {
    struct str text;
    uint32_t index;
};

/* The shell that counts: of `run`, else of the check or the fallback; n is 0 if there is
 * none. */
static struct words fingerprint_shell(const struct task_def *def)
{
    if (def->n_shell || (!def->check.len && !def->fallback.len))
        return (struct words){def->shell, def->n_shell};
    return (struct words){def->side_shell, def->n_side_shell};
}

static void add_params(struct buf *out, const struct definition *d,
                       const struct task_def *def)
{
    uint32_t n = def->n_params;
    for (uint32_t i = 0; !def->own_params && i < d->n_params; i++)
        n += task_def_takes_param(def, d->params[i].key);
    buf_varint(out, n);
    for (uint32_t i = 0; !def->own_params && i < d->n_params; i++)
        if (task_def_takes_param(def, d->params[i].key)) {
            buf_lstr(out, d->params[i].key);
            buf_lstr(out, d->params[i].value);
        }
    for (uint32_t i = 0; def->own_params && i < def->n_params; i++) {
        uint32_t index = definition_param(d, STR(""), def->params[i]);
        buf_lstr(out, def->params[i]);
        buf_lstr(out, index == UINT32_MAX ? STR("") : d->params[index].value);
    }
}

static void add_key_names(struct buf *out, const struct task_def *def)
{
    buf_varint(out, def->n_foreach);
    for (uint32_t k = 0; k < def->n_foreach; k++)
        buf_lstr(out, def->foreach[k].name);
}

static void encode_field(const struct definition *d, const struct task_def *def,
                         const struct task_field *field, struct buf *out)
{
    struct words shell;
    switch ((enum field_shape)field->shape) {
    case FIELD_TEXT:
        buf_lstr(out, field_text(field, def));
        break;
    case FIELD_TEXTS:
    case FIELD_SECRETS:
        put_texts(out, field_texts(field, def), field_n(field, def));
        break;
    case FIELD_SHELL:
        shell = fingerprint_shell(def);
        put_texts(out, shell.words, shell.n);
        break;
    case FIELD_PARAMS:
        add_params(out, d, def);
        break;
    case FIELD_PAIRS:
        put_pairs(out, field_pairs(field, def), field_n(field, def));
        break;
    case FIELD_BYTE:
        buf_byte(out, field_byte(field, def));
        break;
    case FIELD_PERMILLE:
        buf_varint(out, field_confidence(field, def));
        break;
    case FIELD_FOREACH:
        add_key_names(out, def);
        break;
    case FIELD_NEEDS: /* as nodes: hash_def */
    case FIELD_PICKED:
    case FIELD_OPEN_KEYS:
    case FIELD_ORDER:
    case FIELD_COLUMNS: /* of each member: hash_def */
    case FIELD_BOOL:
    case FIELD_FLAGS:
    case FIELD_NUMBER:
    case FIELD_TIME:
    case FIELD_CODES:
    case FIELD_POOL:
    case FIELD_POOLS:
    case FIELD_SIGNED:
    case FIELD_END:
        assert(false && "a field of this shape does not count");
    }
}

static void encode_def(const struct definition *d, const struct task_def *def,
                       struct buf *out)
{
    buf_lstr(out, STR("cairn-fingerprint 2"));
    for (const struct task_field *const *field = fingerprint_fields; *field; field++) {
        bool later = (*field)->since > 4;
        if (later && field_is_empty(*field, def))
            continue;
        if (later)
            buf_lstr(out, str_of((*field)->name));
        encode_field(d, def, *field, out);
    }
}

/* Which members a barrier has, by their ids, sorted. */
static int encode_members(const struct graph *g, uint32_t barrier, struct buf *out)
{
    uint32_t first = g->need_start[barrier], n = g->need_start[barrier + 1] - first;
    struct str *ids = malloc(((size_t)n + 1) * sizeof *ids);
    if (!ids)
        return CAIRN_ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        ids[i] = str_of(g->id[g->needs[first + i]]);
    qsort(ids, n, sizeof *ids, str_order);
    put_texts(out, ids, n);
    free(ids);
    return 0;
}

/* The values of a group, as sets: their order does not matter. */
static int encode_group(const struct task_def *def, struct buf *out)
{
    buf_lstr(out, def->id);
    for (uint32_t k = 0; k < def->n_foreach; k++) {
        const struct foreach_key *key = &def->foreach[k];
        struct str *sorted = malloc((key->n ? key->n : 1) * sizeof *sorted);
        if (!sorted)
            return CAIRN_ENOMEM;
        if (key->n)
            memcpy(sorted, key->values, key->n * sizeof *sorted);
        qsort(sorted, key->n, sizeof *sorted, str_order);
        buf_lstr(out, key->name);
        put_texts(out, sorted, key->n);
        free(sorted);
    }
    return 0;
}

static int encode_barrier(const struct graph *g, uint32_t barrier, struct buf *out)
{
    const struct task_def *def = graph_def(g, barrier);
    if (graph_is_part(g, barrier))
        return encode_members(g, barrier, out);
    int rc = encode_group(def, out);
    return !rc && def->n_picked ? encode_members(g, barrier, out) : rc;
}

/* Groups that a task_def names in texts: only the files of one can be asked for. */
struct joined {
    struct arena arena;
    uint32_t *defs;
    int n;
    struct node_range last; /* of them, and the digest of its ids */
    struct digest digest;
};

struct hasher {
    const struct graph *graph;
    struct sha256 *sha;
    struct buf scratch;
    struct digest *barriers; /* [n_nodes - n_tasks] */
    struct digest *out;
};

static void hash_scratch(struct hasher *h, struct digest *out)
{
    sha256_begin(h->sha);
    sha256_add(h->sha, h->scratch.data, h->scratch.size);
    sha256_end(h->sha, out);
}

static int hash_barriers(struct hasher *h)
{
    const struct graph *g = h->graph;
    for (uint32_t node = g->n_tasks; node < g->n_nodes; node++) {
        buf_clear(&h->scratch);
        if (encode_barrier(g, node, &h->scratch) || h->scratch.failed)
            return CAIRN_ENOMEM;
        hash_scratch(h, &h->barriers[node - g->n_tasks]);
    }
    return 0;
}

static void add_need(struct hasher *h, uint32_t need)
{
    const struct graph *g = h->graph;
    bool barrier = graph_is_barrier(g, need);
    buf_byte(&h->scratch, !barrier ? 't' : graph_is_part(g, need) ? 'p' : 'g');
    if (barrier)
        buf_add(&h->scratch, h->barriers[need - g->n_tasks].bytes, DIGEST_SIZE);
    else
        buf_lstr(&h->scratch, str_of(g->id[need]));
}

static int by_name(const void *a, const void *b)
{
    const struct named_need *x = a, *y = b;
    int order = str_compare(x->text, y->text);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Without those that are only for the order. In memory that the caller frees. 0 or
 * CAIRN_ENOMEM. */
static int sort_needs(const struct task_def *def, struct named_need **out, uint32_t *n)
{
    struct named_need *sorted = malloc(((size_t)def->n_needs + 1) * sizeof *sorted);
    if (!sorted)
        return CAIRN_ENOMEM;
    *n = 0;
    for (uint32_t i = 0; i < def->n_needs; i++)
        if (!def->needs[i].order)
            sorted[(*n)++] = (struct named_need){def->needs[i].text, i};
    qsort(sorted, *n, sizeof *sorted, by_name);
    *out = sorted;
    return 0;
}

static void find_joined(const struct hasher *h, const struct task_def *def,
                        struct joined *joined)
{
    const struct definition *d = h->graph->definition;
    *joined = (struct joined){.arena = ARENA_INIT};
    if (may_ask_for_values(d, def) && def->kind != TASK_CALL)
        joined->n = definition_values_of(d, def, &joined->arena, &joined->defs);
}

static void digest_range(struct hasher *h, struct node_range range, struct digest *out)
{
    sha256_begin(h->sha);
    for (uint32_t i = 0; i < range.n; i++) {
        const char *id = h->graph->id[node_at(range, i)];
        sha256_add(h->sha, id, strlen(id) + 1);
    }
    sha256_end(h->sha, out);
}

/* Members of a whole group have one digest, made once. */
static void add_joined(struct hasher *h, uint32_t task, struct joined *joined)
{
    for (int i = 0; i < joined->n; i++) {
        struct node_range range = graph_referred(h->graph, task, joined->defs[i]);
        bool same = range.at == joined->last.at && range.first == joined->last.first &&
                    range.n == joined->last.n;
        if (range.n < 2)
            continue;
        if (!same)
            digest_range(h, range, &joined->digest);
        joined->last = range;
        buf_byte(&h->scratch, 'f');
        buf_add(&h->scratch, joined->digest.bytes, DIGEST_SIZE);
    }
}

static void add_columns(struct buf *out, const struct task_def *def, uint32_t member)
{
    for (uint32_t i = def->n_foreach; i < task_def_names(def); i++) {
        struct key_value named = member_named(def, member, i);
        buf_byte(out, 'c');
        buf_lstr(out, named.key);
        buf_lstr(out, named.value);
    }
}

static int hash_def(struct hasher *h, uint32_t index)
{
    const struct graph *g = h->graph;
    const struct task_def *def = &g->definition->defs[index];
    struct digest base;
    struct named_need *sorted;
    uint32_t n_sorted;
    struct joined joined;
    if (sort_needs(def, &sorted, &n_sorted))
        return CAIRN_ENOMEM;
    find_joined(h, def, &joined);
    buf_clear(&h->scratch);
    encode_def(g->definition, def, &h->scratch);
    hash_scratch(h, &base);
    for (uint32_t m = 0; m < def->members && !h->scratch.failed; m++) {
        uint32_t task = g->first[index] + m;
        buf_clear(&h->scratch);
        buf_add(&h->scratch, base.bytes, sizeof base.bytes);
        for (uint32_t k = 0; k < def->n_foreach; k++)
            buf_lstr(&h->scratch, def->foreach[k].values[member_value(def, m, k)]);
        add_columns(&h->scratch, def, m);
        for (uint32_t j = 0; j < n_sorted; j++)
            add_need(h, g->needs[g->need_start[task] + sorted[j].index]);
        add_joined(h, task, &joined);
        if (!h->scratch.failed)
            hash_scratch(h, &h->out[task]);
    }
    bool no_memory = h->scratch.failed || joined.n < 0;
    free(sorted);
    arena_release(&joined.arena);
    return no_memory ? CAIRN_ENOMEM : 0;
}

int graph_fingerprints(const struct graph *graph, struct digest *out,
                       struct cairn_error *error)
{
    struct hasher h = {.graph = graph, .sha = sha256_new(), .out = out};
    h.barriers = calloc((size_t)graph->n_nodes - graph->n_tasks + 1, DIGEST_SIZE);
    int rc = h.sha && h.barriers ? hash_barriers(&h) : CAIRN_ENOMEM;
    for (uint32_t i = 0; i < graph->definition->n_defs && !rc; i++)
        rc = hash_def(&h, i);
    sha256_free(h.sha);
    free(h.barriers);
    buf_release(&h.scratch);
    return rc ? error_nomem(error) : 0;
}

/* Which fields of two definitions of a task differ, with what they were and are: only
 * what counts in a fingerprint, and everything that does. */

struct changes {
    const struct definition *old_in, *now_in;
    const struct task_def *old, *now;
    int (*each)(void *, const char *field, const char *old, const char *now);
    void *context;
    struct cairn_error *error;
    struct buf old_text, now_text; /* of the field being compared */
    int result;                    /* not 0: stop */
};

/* ---- Reporting ---- */

/* Passes on both texts; NULL for one that there was not, or is not. */
static void report_change(struct changes *c, const char *field, bool was, bool is)
{
    if (c->result)
        return;
    if (c->old_text.failed || c->now_text.failed)
        c->result = error_nomem(c->error);
    else
        c->result = c->each(c->context, field, was ? c->old_text.data : NULL,
                            is ? c->now_text.data : NULL);
}

static void clear_texts(struct changes *c)
{
    buf_clear(&c->old_text);
    buf_clear(&c->now_text);
    buf_text(&c->old_text, "");
    buf_text(&c->now_text, "");
}

static void compare_texts(struct changes *c, const char *field, struct str old,
                          struct str now)
{
    if (str_equal(old, now))
        return;
    clear_texts(c);
    buf_str(&c->old_text, old);
    buf_str(&c->now_text, now);
    report_change(c, field, old.len > 0, now.len > 0);
}

/* ---- Lists ---- */

static bool same_words(struct words a, struct words b)
{
    bool same = a.n == b.n;
    for (uint32_t i = 0; same && i < a.n; i++)
        same = str_equal(a.words[i], b.words[i]);
    return same;
}

static void add_words(struct buf *out, struct words words, const char *between)
{
    for (uint32_t i = 0; i < words.n; i++) {
        if (i)
            buf_text(out, between);
        buf_shell_word(out, words.words[i]);
    }
}

static void compare_words(struct changes *c, const char *field, struct words old,
                          struct words now, const char *between)
{
    if (same_words(old, now))
        return;
    clear_texts(c);
    add_words(&c->old_text, old, between);
    add_words(&c->now_text, now, between);
    report_change(c, field, old.n > 0, now.n > 0);
}

/* ---- Pairs ---- */

/* "env X", where X has the first value, or none, before and the second now. */
static void compare_pair(struct changes *c, const char *what, struct str key,
                         const struct str *old, const struct str *now)
{
    char field[LIMIT_NAME_BYTES + 32];
    if (old && now && str_equal(*old, *now))
        return;
    snprintf(field, sizeof field, "%s %.*s", what, (int)key.len, key.ptr);
    clear_texts(c);
    if (old)
        buf_str(&c->old_text, *old);
    if (now)
        buf_str(&c->now_text, *now);
    report_change(c, field, old != NULL, now != NULL);
}

/* Both are sorted. */
static void compare_pairs(struct changes *c, const struct task_field *field)
{
    const struct key_value *old = field_pairs(field, c->old);
    const struct key_value *now = field_pairs(field, c->now);
    uint32_t n_old = field_n(field, c->old), n_now = field_n(field, c->now);
    uint32_t i = 0, j = 0;
    while (i < n_old || j < n_now) {
        int order = i == n_old   ? 1
                    : j == n_now ? -1
                                 : str_compare(old[i].key, now[j].key);
        compare_pair(c, field->name, order > 0 ? now[j].key : old[i].key,
                     order > 0 ? NULL : &old[i].value,
                     order < 0 ? NULL : &now[j].value);
        i += order <= 0;
        j += order >= 0;
    }
}

/* The value of a param that reaches the task, or NULL. */
static const struct str *param_of(const struct definition *in,
                                  const struct task_def *def, struct str name)
{
    uint32_t index = definition_param(in, STR(""), name);
    return task_def_takes_param(def, name) && index != UINT32_MAX
               ? &in->params[index].value
               : NULL;
}

static void compare_params(struct changes *c, const struct task_field *field)
{
    for (uint32_t i = 0; i < c->old_in->n_params; i++) {
        struct str name = c->old_in->params[i].key;
        const struct str *old = param_of(c->old_in, c->old, name);
        const struct str *now = param_of(c->now_in, c->now, name);
        if (old || now)
            compare_pair(c, field->name, name_in_scope(name), old, now);
    }
    for (uint32_t i = 0; c->now_in->params && i < c->now_in->n_params; i++) {
        struct str name = c->now_in->params[i].key;
        const struct str *now = param_of(c->now_in, c->now, name);
        if (now && definition_param(c->old_in, STR(""), name) == UINT32_MAX)
            compare_pair(c, field->name, name_in_scope(name), NULL, now);
    }
}

/* ---- Groups of fields ---- */

static void add_command(struct buf *out, const struct task_def *def)
{
    struct words argv = {def->argv, def->n_argv};
    if (def->kind == TASK_EXEC)
        add_words(out, argv, " ");
    else if (def->kind == TASK_CALL && def->callback.len)
        buf_format(out, "callback %s", def->callback.ptr);
    else if (def->kind == TASK_CALL)
        buf_text(out, "(callback)");
    else
        buf_str(out, def->run);
    if (def->kind == TASK_RUN && argv.n) {
        buf_text(out, " (args: ");
        add_words(out, argv, " ");
        buf_byte(out, ')');
    }
}

static void add_check(struct buf *out, const struct task_def *def)
{
    buf_str(out, def->check);
    if (def->check.len)
        buf_format(out, " (at least %u.%u %%)", def->check_min_permille / 10,
                   def->check_min_permille % 10);
}

/* ---- What it depends on ---- */

static int texts_of_needs(const struct task_def *def, struct str **out, uint32_t *n)
{
    struct named_need *sorted;
    struct str *texts = malloc(((size_t)def->n_needs + 1) * sizeof *texts);
    if (!texts || sort_needs(def, &sorted, n)) {
        free(texts);
        return CAIRN_ENOMEM;
    }
    for (uint32_t i = 0; i < *n; i++)
        texts[i] = sorted[i].text;
    free(sorted);
    *out = texts;
    return 0;
}

static void compare_needs(struct changes *c, const struct task_field *field)
{
    struct str *old = NULL, *now = NULL;
    uint32_t n_old = 0, n_now = 0;
    if (texts_of_needs(c->old, &old, &n_old) || texts_of_needs(c->now, &now, &n_now))
        c->result = error_nomem(c->error);
    else
        compare_words(c, field->name, (struct words){old, n_old},
                      (struct words){now, n_now}, ", ");
    free(old);
    free(now);
}

static void compare_keys(struct changes *c, const struct task_field *field)
{
    struct str old[LIMIT_FOREACH_KEYS], now[LIMIT_FOREACH_KEYS];
    for (uint32_t k = 0; k < c->old->n_foreach; k++)
        old[k] = c->old->foreach[k].name;
    for (uint32_t k = 0; k < c->now->n_foreach; k++)
        now[k] = c->now->foreach[k].name;
    compare_words(c, field->name, (struct words){old, c->old->n_foreach},
                  (struct words){now, c->now->n_foreach}, ", ");
}

/* ---- All fields ---- */

static struct words words_of(const struct task_field *field, const struct task_def *def)
{
    if (field->shape == FIELD_SHELL)
        return fingerprint_shell(def);
    return (struct words){field_texts(field, def), field_n(field, def)};
}

/* Of the shapes that are in groups. */
static bool same_field(const struct changes *c, const struct task_field *field)
{
    switch ((enum field_shape)field->shape) {
    case FIELD_TEXT:
        return str_equal(field_text(field, c->old), field_text(field, c->now));
    case FIELD_TEXTS:
        return same_words(words_of(field, c->old), words_of(field, c->now));
    case FIELD_BYTE:
        return field_byte(field, c->old) == field_byte(field, c->now);
    case FIELD_PERMILLE:
        return field_confidence(field, c->old) == field_confidence(field, c->now);
    default:
        assert(false && "a field of this shape is in no group");
        return false;
    }
}

static bool same_group(const struct changes *c, enum field_group group)
{
    for (const struct task_field *const *field = fingerprint_fields; *field; field++)
        if ((*field)->group == group && !same_field(c, *field))
            return false;
    return true;
}

static void compare_group(struct changes *c, const struct task_field *field)
{
    const struct task_def *old = c->old, *now = c->now;
    if (same_group(c, (enum field_group)field->group))
        return;
    clear_texts(c);
    if (field->group == GROUP_COMMAND) {
        add_command(&c->old_text, old);
        add_command(&c->now_text, now);
        report_change(c, field->name, old->kind != TASK_EXTERNAL,
                      now->kind != TASK_EXTERNAL);
    } else {
        add_check(&c->old_text, old);
        add_check(&c->now_text, now);
        report_change(c, field->name, old->check.len > 0, now->check.len > 0);
    }
}

/* A word, or a number of which 0 is none. */
static void compare_bytes(struct changes *c, const struct task_field *field)
{
    uint8_t old = field_byte(field, c->old), now = field_byte(field, c->now);
    char text[2][4] = {"", ""};
    if (field->words) {
        compare_texts(c, field->name, field->words[old], field->words[now]);
        return;
    }
    if (old)
        snprintf(text[0], sizeof text[0], "%u", old);
    if (now)
        snprintf(text[1], sizeof text[1], "%u", now);
    compare_texts(c, field->name, str_of(text[0]), str_of(text[1]));
}

static void compare_field(struct changes *c, const struct task_field *field)
{
    switch ((enum field_shape)field->shape) {
    case FIELD_TEXT:
        compare_texts(c, field->name, field_text(field, c->old),
                      field_text(field, c->now));
        break;
    case FIELD_TEXTS:
    case FIELD_SECRETS:
    case FIELD_SHELL:
        compare_words(c, field->name, words_of(field, c->old), words_of(field, c->now),
                      field->shape == FIELD_SHELL ? " " : ", ");
        break;
    case FIELD_BYTE:
        compare_bytes(c, field);
        break;
    case FIELD_PAIRS:
        compare_pairs(c, field);
        break;
    case FIELD_PARAMS:
        compare_params(c, field);
        break;
    case FIELD_FOREACH:
        compare_keys(c, field);
        break;
    case FIELD_NEEDS:
        compare_needs(c, field);
        break;
    default:
        assert(false && "a field of this shape does not count");
    }
}

static void compare_fields(struct changes *c)
{
    for (const struct task_field *const *field = difference_fields; *field; field++)
        if ((*field)->group)
            compare_group(c, *field);
        else
            compare_field(c, *field);
}

int fingerprint_changes(const struct definition *a_in, const struct task_def *a,
                        const struct definition *b_in, const struct task_def *b,
                        int (*each)(void *, const char *field, const char *old,
                                    const char *now),
                        void *context, struct cairn_error *error)
{
    struct changes c = {.old_in = a_in,
                        .now_in = b_in,
                        .old = a,
                        .now = b,
                        .each = each,
                        .context = context,
                        .error = error};
    compare_fields(&c);
    buf_release(&c.old_text);
    buf_release(&c.now_text);
    return c.result < 0 ? c.result : 0;
}

/* Columns of sample sheets: first those that were, then those that are new. */
static void compare_columns(struct changes *c, uint32_t old_member, uint32_t now_member)
{
    const struct task_def *old = c->old, *now = c->now;
    for (uint32_t i = old->n_foreach; i < task_def_names(old); i++) {
        struct key_value was = member_named(old, old_member, i), is = was;
        uint32_t at = task_def_name(now, was.key);
        if (at != UINT32_MAX)
            is = member_named(now, now_member, at);
        compare_pair(c, "column", was.key, &was.value,
                     at != UINT32_MAX ? &is.value : NULL);
    }
    for (uint32_t i = now->n_foreach; i < task_def_names(now); i++) {
        struct key_value is = member_named(now, now_member, i);
        if (task_def_name(old, is.key) == UINT32_MAX)
            compare_pair(c, "column", is.key, NULL, &is.value);
    }
}

int task_changes(const struct graph *a, uint32_t a_task, const struct graph *b,
                 uint32_t b_task,
                 int (*each)(void *, const char *field, const char *old,
                             const char *now),
                 void *context, struct cairn_error *error)
{
    struct changes c = {.old_in = a->definition,
                        .now_in = b->definition,
                        .old = graph_def(a, a_task),
                        .now = graph_def(b, b_task),
                        .each = each,
                        .context = context,
                        .error = error};
    compare_fields(&c);
    compare_columns(&c, graph_member(a, a_task), graph_member(b, b_task));
    buf_release(&c.old_text);
    buf_release(&c.now_text);
    return c.result < 0 ? c.result : 0;
}

static int note_change(void *context, const char *field, const char *old,
                       const char *now)
{
    (void)field;
    (void)old;
    (void)now;
    *(bool *)context = true;
    return 1;
}

int task_is_changed(const struct graph *a, uint32_t a_task, const struct graph *b,
                    uint32_t b_task, bool *changed, struct cairn_error *error)
{
    *changed = false;
    return task_changes(a, a_task, b, b_task, note_change, changed, error);
}
