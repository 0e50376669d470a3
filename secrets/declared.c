/* SPDX-License-Identifier: MIT */
#include "secrets/declared.h"

#include "base/memory.h"
#include "graph/definition_codec.h"
#include "storage/object.h"
#include "storage/rows_gc.h"
#include "storage/rows_meta.h"
#include "storage/store.h"

#include <stdlib.h>

static const char setting[] = "secrets";

struct name_set {
    struct str *at; /* ascending; the texts are in the arena */
    size_t n, capacity;
    struct arena arena;
};

static void name_set_release(struct name_set *set)
{
    free(set->at);
    arena_release(&set->arena);
}

/* 1: it was not there yet. */
static int add_name(struct name_set *set, struct str name, struct cairn_error *error)
{
    size_t low = 0, high = set->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_compare(set->at[middle], name);
        if (!order)
            return 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    struct str *at = array_room(set->at, set->n, &set->capacity, sizeof *at);
    struct str copy = arena_str(&set->arena, name);
    if (at)
        set->at = at;
    if (!at || set->arena.failed)
        return error_nomem(error);
    memmove(at + low + 1, at + low, (set->n++ - low) * sizeof *at);
    at[low] = copy;
    return 1;
}

static int add_names(struct name_set *set, const struct definition *definition,
                     bool *added, struct cairn_error *error)
{
    for (uint32_t i = 0; i < definition->n_secrets; i++) {
        int rc = add_name(set, definition->secrets[i], error);
        if (rc < 0)
            return rc;
        *added = *added || rc > 0;
    }
    return 0;
}

/* ---- The setting ---- */

/* 1: there is one. */
static int read_setting(struct cairn_store *store, struct name_set *set,
                        struct cairn_error *error)
{
    struct cairn_error why = {0};
    char *text = NULL;
    int rc = store_whole_setting(store, setting, &text, &why);
    if (rc == CAIRN_EDAMAGED)
        return 0;
    if (rc <= 0)
        return rc ? error_set(error, rc, "%s", why.text) : 0;
    for (char *at = text; *at && rc >= 0;) {
        size_t n = strcspn(at, ",");
        rc = n ? add_name(set, (struct str){at, n}, error) : 0;
        at += n + (at[n] == ',');
    }
    free(text);
    return rc < 0 ? rc : 1;
}

static void join(const struct name_set *set, struct buf *out)
{
    for (size_t i = 0; i < set->n; i++) {
        if (i)
            buf_byte(out, ',');
        buf_str(out, set->at[i]);
    }
}

static int write_setting(struct cairn_store *store, const struct name_set *set,
                         struct cairn_error *error)
{
    struct buf text = BUF_INIT;
    join(set, &text);
    buf_byte(&text, 0);
    int rc =
        buf_check(&text, error) ?: store_set_setting(store, setting, text.data, error);
    buf_release(&text);
    return rc;
}

/* ---- All definitions ---- */

struct graphs {
    struct digest *at;
    size_t n, capacity;
};

static int note_graph(void *context, uint64_t run, const struct digest *digest,
                      bool is_node)
{
    struct graphs *graphs = context;
    struct digest *at =
        array_room(graphs->at, graphs->n, &graphs->capacity, sizeof *at);
    (void)run;
    (void)is_node;
    if (!at)
        return CAIRN_ENOMEM;
    graphs->at = at;
    at[graphs->n++] = *digest;
    return 0;
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct digest));
}

/* What is damaged or lost cannot be run either. */
static int read_definition(struct cairn_store *store, const struct digest *digest,
                           struct name_set *set, struct cairn_error *error)
{
    struct definition definition;
    struct buf bytes = BUF_INIT;
    struct cairn_error why = {0};
    bool added = false;
    int rc = store_get_object(store, digest, &bytes, &why)
                 ?: definition_decode(buf_view(&bytes), &definition, &why);
    buf_release(&bytes);
    if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND)
        return 0;
    if (rc)
        return error_set(error, rc, "%s", why.text);
    rc = add_names(set, &definition, &added, error);
    definition_release(&definition);
    return rc;
}

static int read_all(struct cairn_store *store, struct name_set *set,
                    struct cairn_error *error)
{
    struct graphs graphs = {0};
    struct cairn_error why = {0};
    int rc = store_each_used_graph(store, note_graph, &graphs, &why);
    if (rc == CAIRN_EDAMAGED)
        rc = 0;
    else if (rc)
        rc = rc == CAIRN_ENOMEM ? error_nomem(error)
                                : error_set(error, rc, "%s", why.text);
    if (graphs.n)
        qsort(graphs.at, graphs.n, sizeof *graphs.at, by_bytes);
    for (size_t i = 0; i < graphs.n && !rc; i++)
        if (i == 0 || !digest_equal(&graphs.at[i - 1], &graphs.at[i]))
            rc = read_definition(store, &graphs.at[i], set, error);
    free(graphs.at);
    return rc;
}

/* 1: from the setting. */
static int load(struct cairn_store *store, struct name_set *set,
                struct cairn_error *error)
{
    *set = (struct name_set){.arena = ARENA_INIT};
    return read_setting(store, set, error) ?: read_all(store, set, error);
}

/* ---- The calls ---- */

int secrets_declared(struct cairn_store *store, bool note, struct buf *names,
                     struct cairn_error *error)
{
    struct name_set set;
    int rc = load(store, &set, error);
    if (!rc && note)
        rc = write_setting(store, &set, error);
    if (rc >= 0) {
        join(&set, names);
        rc = buf_check(names, error);
    }
    name_set_release(&set);
    return rc;
}

int secrets_declare(struct cairn_store *store, const struct definition *definition,
                    struct cairn_error *error)
{
    struct name_set set;
    bool added = false;
    if (!definition->n_secrets)
        return 0;
    int rc = load(store, &set, error);
    bool noted = rc > 0;
    if (rc >= 0)
        rc = add_names(&set, definition, &added, error);
    if (!rc && (added || !noted))
        rc = write_setting(store, &set, error);
    name_set_release(&set);
    return rc;
}
