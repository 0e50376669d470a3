/* SPDX-License-Identifier: MIT */
#include "runs/parse_cache.h"

#include "runs/stored.h"
#include "storage/rows_meta.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <stdio.h>

enum { KEY_BYTES = 32, PAIR_BYTES = 2 * DIGEST_HEX_SIZE };

static void key_of(const struct run_row *row, char key[KEY_BYTES])
{
    snprintf(key, KEY_BYTES, "compiled.%llu", (unsigned long long)row->workflow);
}

static int hash_source(const struct cairn_workflow *w, struct str params,
                       char hex[DIGEST_HEX_SIZE], struct cairn_error *error)
{
    struct buf start = BUF_INIT;
    struct digest digest;
    struct sha256 *sha = sha256_new();
    buf_lstr(&start, str_of(cairn_version()));
    buf_lstr(&start, str_of(w->file));
    buf_lstr(&start, params);
    int rc = sha && !start.failed ? 0 : error_nomem(error);
    if (!rc) {
        sha256_begin(sha);
        sha256_add(sha, start.data, start.size);
        sha256_add(sha, w->source.data, w->source.size);
        sha256_end(sha, &digest);
        digest_hex(&digest, hex);
    }
    sha256_free(sha);
    buf_release(&start);
    return rc;
}

/* The hash of everything that the parser reads, and the digest of the definition: "HASH
 * DIGEST". */
static int make_pair(const struct cairn_workflow *w, const struct run_row *row,
                     char pair[PAIR_BYTES], struct cairn_error *error)
{
    int rc = hash_source(w, row->params_text, pair, error);
    pair[DIGEST_HEX_SIZE - 1] = ' ';
    digest_hex(&row->graph, pair + DIGEST_HEX_SIZE);
    return rc;
}

/* The run's own definition is the one that is looked for: if the file makes another
 * now, that is a change, and only parsing can find where. */
int parse_cache_find(struct cairn_workflow *w, struct cairn_store *store,
                     const struct run_row *row, struct cairn_error *error)
{
    char key[KEY_BYTES], pair[PAIR_BYTES], noted[PAIR_BYTES + 1];
    struct cairn_error missing;
    if (row->keyed || store_key(store))
        return 0;
    key_of(row, key);
    int rc = store_setting(store, key, noted, sizeof noted, error);
    if (rc <= 0)
        return rc;
    rc = make_pair(w, row, pair, error);
    if (rc || strcmp(noted, pair) != 0)
        return rc;
    rc = graph_load(store, &row->graph, &w->definition, &w->graph, &missing);
    if (rc == CAIRN_ENOMEM)
        return error_nomem(error);
    if (!rc && w->definition.all_need_all) { /* an old run's: a new one has not */
        graph_release(&w->graph);
        definition_release(&w->definition);
        return 0;
    }
    w->compiled = w->digested = !rc;
    w->digest = row->graph;
    return w->compiled; /* if it cannot be read, the file is parsed */
}

static bool is_cacheable(const struct definition *d)
{
    bool all = d->n_warnings == 0;
    for (uint32_t i = 0; i < d->n_defs && all; i++)
        for (uint32_t k = 0; k < d->defs[i].n_foreach && all; k++) {
            uint8_t source = d->defs[i].foreach[k].source;
            all = source != FOREACH_GLOB && source != FOREACH_LINES;
        }
    return all;
}

int parse_cache_note(const struct cairn_workflow *w, struct cairn_store *store,
                     const struct run_row *row, struct cairn_error *error)
{
    char key[KEY_BYTES], pair[PAIR_BYTES];
    if (!w->name || !*w->file || store_key(store) || !is_cacheable(&w->definition))
        return 0;
    key_of(row, key);
    int rc = make_pair(w, row, pair, error);
    return rc ? rc : store_set_setting(store, key, pair, error);
}
