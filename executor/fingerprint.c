/* Fingerprints: SHA-256 over a canonical encoding of what changes a task's meaning.
 *
 *   task_def:  "cairn-fingerprint 1", kind, command, env, cwd, outputs, params, foreach
 * keys task:      digest of its task_def, its foreach values, and its needs in the
 * order of their text: the id of one task, or the digest of a whole group's values
 *
 * Timeouts, retries, pools, priority and the order of needs or foreach values do not
 * count. Changing this encoding would make every task of every user run again: a new
 * version must be able to compute version 1 for stored definitions. */
#include "executor/graph.h"

#include "base/limits.h"

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

static void encode_command(const struct task_def *def, struct buf *out)
{
    buf_byte(out, def->kind);
    buf_lstr(out, def->run);
    add_texts(out, def->shell, def->n_shell);
    add_texts(out, def->argv, def->n_argv);
    buf_lstr(out, def->version);
}

static void encode_def(const struct definition *d, const struct task_def *def,
                       struct buf *out)
{
    buf_lstr(out, STR("cairn-fingerprint 1"));
    encode_command(def, out);
    add_pairs(out, def->env, def->n_env);
    buf_lstr(out, def->cwd);
    add_texts(out, def->outputs, def->n_outputs);
    add_pairs(out, d->params, d->n_params);
    buf_varint(out, def->n_foreach);
    for (uint32_t k = 0; k < def->n_foreach; k++)
        buf_lstr(out, def->foreach[k].name);
}

static int by_text(const void *a, const void *b)
{
    return str_compare(*(const struct str *)a, *(const struct str *)b);
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

struct hasher {
    const struct graph *graph;
    struct sha256 *sha;
    struct buf scratch;
    struct digest *groups; /* [n_defs], of defs with a barrier */
    struct digest *out;
};

static void hash_scratch(struct hasher *h, struct digest *out)
{
    sha256_begin(h->sha);
    sha256_add(h->sha, h->scratch.data, h->scratch.size);
    sha256_end(h->sha, out);
}

static int hash_groups(struct hasher *h)
{
    const struct definition *d = h->graph->definition;
    for (uint32_t i = 0; i < d->n_defs; i++) {
        if (h->graph->barrier[i] == NODE_NONE)
            continue;
        buf_clear(&h->scratch);
        if (encode_group(&d->defs[i], &h->scratch) || h->scratch.failed)
            return CAIRN_ENOMEM;
        hash_scratch(h, &h->groups[i]);
    }
    return 0;
}

/* Needs in the order of their text, whatever order the file has. */
struct named_need {
    struct str text;
    uint32_t index;
};

static int by_name(const void *a, const void *b)
{
    const struct named_need *x = a, *y = b;
    int order = str_compare(x->text, y->text);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static int sort_needs(const struct task_def *def, struct named_need **out)
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

static int hash_def(struct hasher *h, uint32_t index)
{
    const struct graph *g = h->graph;
    const struct task_def *def = &g->definition->defs[index];
    struct digest base;
    struct named_need *sorted;
    if (sort_needs(def, &sorted))
        return CAIRN_ENOMEM;
    buf_clear(&h->scratch);
    encode_def(g->definition, def, &h->scratch);
    hash_scratch(h, &base);
    for (uint32_t m = 0; m < def->members && !h->scratch.failed; m++) {
        uint32_t task = g->first[index] + m;
        buf_clear(&h->scratch);
        buf_add(&h->scratch, base.bytes, sizeof base.bytes);
        for (uint32_t k = 0; k < def->n_foreach; k++)
            buf_lstr(&h->scratch, def->foreach[k].values[member_value(def, m, k)]);
        for (uint32_t j = 0; j < def->n_needs; j++) {
            uint32_t need = g->needs[g->need_start[task] + sorted[j].index];
            buf_byte(&h->scratch, graph_is_barrier(g, need) ? 'g' : 't');
            if (graph_is_barrier(g, need))
                buf_add(&h->scratch, h->groups[g->def_of[need]].bytes, DIGEST_SIZE);
            else
                buf_lstr(&h->scratch, str_of(g->id[need]));
        }
        if (!h->scratch.failed)
            hash_scratch(h, &h->out[task]);
    }
    free(sorted);
    return h->scratch.failed ? CAIRN_ENOMEM : 0;
}

int graph_fingerprints(const struct graph *graph, struct digest *out,
                       struct cairn_error *error)
{
    struct hasher h = {.graph = graph, .sha = sha256_new(), .out = out};
    h.groups = calloc(graph->definition->n_defs, sizeof *h.groups);
    int result = h.sha && h.groups ? hash_groups(&h) : CAIRN_ENOMEM;
    for (uint32_t i = 0; i < graph->definition->n_defs && !result; i++)
        result = hash_def(&h, i);
    sha256_free(h.sha);
    free(h.groups);
    buf_release(&h.scratch);
    return result ? error_nomem(error) : 0;
}

static void name_field(struct buf *out, const char *name)
{
    if (out->size)
        buf_text(out, ", ");
    buf_text(out, name);
}

static bool same_texts(const struct str *a, uint32_t n, const struct str *b, uint32_t m)
{
    bool same = n == m;
    for (uint32_t i = 0; same && i < n; i++)
        same = str_equal(a[i], b[i]);
    return same;
}

static const struct key_value *find_pair(const struct key_value *pairs, uint32_t n,
                                         struct str key)
{
    for (uint32_t i = 0; i < n; i++)
        if (str_equal(pairs[i].key, key))
            return &pairs[i];
    return NULL;
}

/* "env X" for each variable that is in one only or differs. */
static void differ_pairs(struct buf *out, const char *what, const struct key_value *a,
                         uint32_t n, const struct key_value *b, uint32_t m)
{
    char text[LIMIT_NAME_BYTES + 32];
    for (uint32_t i = 0; i < n; i++) {
        const struct key_value *other = find_pair(b, m, a[i].key);
        if (other && str_equal(other->value, a[i].value))
            continue;
        snprintf(text, sizeof text, "%s %.*s", what, (int)a[i].key.len, a[i].key.ptr);
        name_field(out, text);
    }
    for (uint32_t i = 0; i < m; i++) {
        if (find_pair(a, n, b[i].key))
            continue;
        snprintf(text, sizeof text, "%s %.*s", what, (int)b[i].key.len, b[i].key.ptr);
        name_field(out, text);
    }
}

static bool same_needs(const struct task_def *a, const struct task_def *b,
                       struct buf *out)
{
    struct named_need *x = NULL, *y = NULL;
    if (sort_needs(a, &x) || sort_needs(b, &y))
        out->failed = true;
    bool same = x && y && a->n_needs == b->n_needs;
    for (uint32_t i = 0; same && i < a->n_needs; i++)
        same = str_equal(x[i].text, y[i].text);
    free(x);
    free(y);
    return same;
}

void fingerprint_difference(const struct definition *a_in, const struct task_def *a,
                            const struct definition *b_in, const struct task_def *b,
                            struct buf *out)
{
    if (a->kind != b->kind || !str_equal(a->run, b->run) ||
        !same_texts(a->argv, a->n_argv, b->argv, b->n_argv) ||
        !str_equal(a->version, b->version))
        name_field(out, "command");
    if (!same_texts(a->shell, a->n_shell, b->shell, b->n_shell))
        name_field(out, "shell");
    differ_pairs(out, "env", a->env, a->n_env, b->env, b->n_env);
    if (!str_equal(a->cwd, b->cwd))
        name_field(out, "cwd");
    if (!same_texts(a->outputs, a->n_outputs, b->outputs, b->n_outputs))
        name_field(out, "outputs");
    differ_pairs(out, "param", a_in->params, a_in->n_params, b_in->params,
                 b_in->n_params);
    bool same_keys = a->n_foreach == b->n_foreach;
    for (uint32_t k = 0; same_keys && k < a->n_foreach; k++)
        same_keys = str_equal(a->foreach[k].name, b->foreach[k].name);
    if (!same_keys)
        name_field(out, "foreach");
    if (!same_needs(a, b, out))
        name_field(out, "needs");
}
