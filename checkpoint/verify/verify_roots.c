/* SPDX-License-Identifier: MIT */
/* Objects that records cannot be used without: each must be in the pool, or be known as
 * lost at a repair. */
#include "checkpoint/verify/verify_int.h"

#include "base/array.h"
#include "storage/object.h"
#include "storage/rows_lost.h"

#include <assert.h>
#include <stdlib.h>

int verify_note_root(struct verifier *v, uint8_t namespace_id,
                     const struct digest *digest)
{
    if (v->n_roots && digest_equal(&v->roots[v->n_roots - 1].digest, digest))
        return 0;
    struct needed_root *roots =
        array_room(v->roots, v->n_roots, &v->root_room, sizeof *roots);
    if (!roots)
        return CAIRN_ENOMEM;
    v->roots = roots;
    v->roots[v->n_roots++] = (struct needed_root){*digest, namespace_id};
    return 0;
}

static int by_digest(const void *a, const void *b)
{
    return memcmp(a, b, DIGEST_SIZE);
}

static int report_missing(struct verifier *v, const struct needed_root *root,
                          const char *hex)
{
    const struct payload_kind *kind = kind_of(v->kinds, root->namespace_id);
    assert(kind); /* a payload was read by it */
    v->result.bad_objects++;
    return verify_report(v, 0, NULL,
                         "the %s %.12s that checkpoints refer to is missing; %s",
                         kind->root_noun, hex, kind->root_loss);
}

static int verify_root(struct verifier *v, const struct needed_root *root,
                       struct buf *content)
{
    char hex[DIGEST_HEX_SIZE];
    bool known = false;
    buf_clear(content);
    int rc = store_get_object(v->store, &root->digest, content, v->error);
    if (rc == CAIRN_EDAMAGED)
        return 0; /* the check of all objects reports it */
    if (rc != CAIRN_ENOTFOUND)
        return rc;
    digest_hex(&root->digest, hex);
    rc = store_is_known_loss(v->store, hex, &known, v->error);
    if (rc == CAIRN_EDAMAGED)
        return 0; /* the check of the pages reports it */
    return rc || known ? rc : report_missing(v, root, hex);
}

int verify_roots(struct verifier *v)
{
    struct buf content = BUF_INIT;
    int rc = 0;
    assert(v->n_roots <= v->root_room);
    if (v->n_roots)
        qsort(v->roots, v->n_roots, sizeof *v->roots, by_digest);
    for (size_t i = 0; i < v->n_roots && rc == 0; i++)
        if (i == 0 || !digest_equal(&v->roots[i - 1].digest, &v->roots[i].digest))
            rc = verify_root(v, &v->roots[i], &content);
    buf_release(&content);
    return rc;
}
