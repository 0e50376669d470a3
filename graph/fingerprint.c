/* SPDX-License-Identifier: MIT */
/* Fingerprints: SHA-256 over a canonical encoding of what changes a task's meaning.
 *
 *   task_def:  "cairn-fingerprint 2" and fingerprint_fields (task_fields.c) in their
 *              order; of params those that the task takes, of foreach the keys
 *   task:      digest of its task_def, its foreach values, and its needs in the order
 *              of their text: the id of one task, or the digest of the values of a
 *              whole group, or of the ids of a part of one; then the ids of the
 *              members whose files it is given, in their order
 *
 * The shell is that of `run`, or of the check. Timeouts, retries, pools, priority,
 * once, undo, finally, needs_all, what a check warns of, and the order of needs do not
 * count; nor does that of foreach values, but for whom they put files in order.
 *
 * Fingerprints are never stored: they are computed of the definition that a run has
 * stored and of the one that is there now, and compared. So this encoding may change
 * with a release without making anybody's tasks run again. But two definitions that
 * mean the same must get the same fingerprint, also if one of them was decoded from an
 * older version of the binary form: what that version does not have reads as empty. */
#include "graph/fingerprint_int.h"

#include "graph/definition_text.h"
#include "graph/members.h"
#include "graph/task_fields.h"

#include <assert.h>
#include <stdlib.h>

static void add_texts(struct buf *out, const struct str *texts, uint32_t n)
{
    buf_varint(out, n);
    for (uint32_t i = 0; i < n; i++)
        buf_lstr(out, texts[i]);
}

static void add_pairs(struct buf *out, const struct key_value *pairs, uint32_t n)
{
    buf_varint(out, n);
    for (uint32_t i = 0; i < n; i++) {
        buf_lstr(out, pairs[i].key);
        buf_lstr(out, pairs[i].value);
    }
}

struct words fingerprint_shell(const struct task_def *def)
{
    if (def->n_shell || !def->check.len)
        return (struct words){def->shell, def->n_shell};
    return (struct words){def->side_shell, def->n_side_shell};
}

static void add_params(struct buf *out, const struct definition *d,
                       const struct task_def *def)
{
    if (!def->own_params)
        add_pairs(out, d->params, d->n_params);
    else
        buf_varint(out, def->n_params);
    for (uint32_t i = 0; def->own_params && i < def->n_params; i++) {
        uint32_t index = definition_param(d, def->params[i]);
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
        add_texts(out, field_texts(field, def), field_n(field, def));
        break;
    case FIELD_SHELL:
        shell = fingerprint_shell(def);
        add_texts(out, shell.words, shell.n);
        break;
    case FIELD_PARAMS:
        add_params(out, d, def);
        break;
    case FIELD_PAIRS:
        add_pairs(out, field_pairs(field, def), field_n(field, def));
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
    case FIELD_BOOL:
    case FIELD_FLAGS:
    case FIELD_NUMBER:
    case FIELD_TIME:
    case FIELD_CODES:
    case FIELD_INDEX:
    case FIELD_SIGNED:
    case FIELD_END:
        assert(false && "a field of this shape does not count");
    }
}

static void encode_def(const struct definition *d, const struct task_def *def,
                       struct buf *out)
{
    buf_lstr(out, STR("cairn-fingerprint 2"));
    for (const struct task_field *const *field = fingerprint_fields; *field; field++)
        encode_field(d, def, *field, out);
}

static int by_text(const void *a, const void *b)
{
    return str_compare(*(const struct str *)a, *(const struct str *)b);
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
    qsort(ids, n, sizeof *ids, by_text);
    add_texts(out, ids, n);
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
        qsort(sorted, key->n, sizeof *sorted, by_text);
        buf_lstr(out, key->name);
        add_texts(out, sorted, key->n);
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

int sort_needs(const struct task_def *def, struct named_need **out)
{
    struct named_need *sorted = malloc(((size_t)def->n_needs + 1) * sizeof *sorted);
    if (!sorted)
        return CAIRN_ENOMEM;
    for (uint32_t i = 0; i < def->n_needs; i++)
        sorted[i] = (struct named_need){def->needs[i].text, i};
    qsort(sorted, def->n_needs, sizeof *sorted, by_name);
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

static int hash_def(struct hasher *h, uint32_t index)
{
    const struct graph *g = h->graph;
    const struct task_def *def = &g->definition->defs[index];
    struct digest base;
    struct named_need *sorted;
    struct joined joined;
    if (sort_needs(def, &sorted))
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
        for (uint32_t j = 0; j < def->n_needs; j++)
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
