/* SPDX-License-Identifier: MIT */
/* Objects that records cannot be used without: each must be in the pool, or be known as
 * lost at a repair. */
#include "checkpoint/verify/verify_int.h"

#include "base/array.h"
#include "checkpoint/nodes/nodes.h"
#include "storage/object.h"
#include "storage/rows_lost.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* A record needs much of what the ones right before it need: so memory does not grow
 * with the number of records that have the same. */
static struct needed_root *find_recent(const struct verifier *v,
                                       const struct digest *digest, bool is_node)
{
    enum { RECENT = 64 };
    size_t first = v->n_roots > RECENT ? v->n_roots - RECENT : 0;
    for (size_t i = v->n_roots; i > first; i--)
        if (v->roots[i - 1].is_node == is_node &&
            digest_equal(&v->roots[i - 1].digest, digest))
            return &v->roots[i - 1];
    return NULL;
}

int verify_note_root(struct verifier *v, uint8_t namespace_id, uint64_t seq,
                     const struct digest *digest, bool is_node)
{
    struct needed_root *recent = find_recent(v, digest, is_node);
    if (recent) {
        recent->records++;
        return 0;
    }
    struct needed_root *roots =
        array_room(v->roots, v->n_roots, &v->root_room, sizeof *roots);
    if (!roots)
        return CAIRN_ENOMEM;
    v->roots = roots;
    v->roots[v->n_roots++] =
        (struct needed_root){*digest, is_node, namespace_id, seq, 1};
    return 0;
}

static int by_digest(const void *a, const void *b)
{
    const struct needed_root *x = a, *y = b;
    int order = memcmp(&x->digest, &y->digest, DIGEST_SIZE);
    if (!order)
        order = (x->is_node > y->is_node) - (x->is_node < y->is_node);
    return order ? order : (x->seq > y->seq) - (x->seq < y->seq);
}

/* Sorts them, and makes one of those with the same digest. */
static void join_roots(struct verifier *v)
{
    size_t kept = 0;
    if (v->n_roots)
        qsort(v->roots, v->n_roots, sizeof *v->roots, by_digest);
    for (size_t i = 1; i < v->n_roots; i++) {
        if (v->roots[kept].is_node == v->roots[i].is_node &&
            digest_equal(&v->roots[kept].digest, &v->roots[i].digest))
            v->roots[kept].records += v->roots[i].records;
        else
            v->roots[++kept] = v->roots[i];
    }
    v->n_roots = v->n_roots ? kept + 1 : 0;
}

enum { RECORDS_MAX = 100 };

/* "checkpoint debug:42 and 3 others" */
static const char *name_records(const struct needed_root *root, char out[RECORDS_MAX])
{
    char number[CAIRN_ID_MAX];
    unsigned long long others = root->records - 1;
    assert(root->records > 0);
    checkpoint_number(root->namespace_id, root->seq, number);
    if (others)
        snprintf(out, RECORDS_MAX, "checkpoint %s and %llu other%s", number, others,
                 others == 1 ? "" : "s");
    else
        snprintf(out, RECORDS_MAX, "checkpoint %s", number);
    return out;
}

enum { ROOT_USE_MAX = 250 };

/* "the section of checkpoint debug:42; ..." for the object, or "" if no record needs
 * it. */
static const char *describe_use(const struct verifier *v, const char *digest_hex_text,
                                char out[ROOT_USE_MAX])
{
    char hex[DIGEST_HEX_SIZE], records[RECORDS_MAX];
    *out = 0;
    for (size_t i = 0; i < v->n_roots; i++) {
        const struct needed_root *root = &v->roots[i];
        const struct payload_kind *kind = kind_of(v->kinds, root->namespace_id);
        digest_hex(&root->digest, hex);
        if (strcmp(hex, digest_hex_text) == 0)
            snprintf(out, ROOT_USE_MAX, "the %s of %s; %s", kind->root_noun,
                     name_records(root, records), kind->root_loss);
    }
    return out;
}

static int report_root(struct verifier *v, const struct needed_root *root,
                       const char *hex, const char *state)
{
    const struct payload_kind *kind = kind_of(v->kinds, root->namespace_id);
    char records[RECORDS_MAX];
    assert(kind); /* a payload was read by it */
    v->result.bad_objects++;
    return verify_report(v, 0, NULL, "the %s %.12s of %s is %s; %s", kind->root_noun,
                         hex, name_records(root, records), state, kind->root_loss);
}

int verify_bad_object(struct verifier *v, const char *digest_hex_text, const char *why)
{
    char use[ROOT_USE_MAX];
    v->result.bad_objects++;
    describe_use(v, digest_hex_text, use);
    return verify_report(v, 0, NULL, "object %.64s is damaged: %s%s%s", digest_hex_text,
                         why, *use ? "; it is " : "", use);
}

static int verify_root(struct verifier *v, const struct needed_root *root,
                       struct buf *content)
{
    char hex[DIGEST_HEX_SIZE];
    struct cairn_error why = {0};
    bool known = false;
    buf_clear(content);
    int rc = store_get_object(v->store, &root->digest, content, &why);
    digest_hex(&root->digest, hex);
    if (rc == CAIRN_EDAMAGED) /* the check of all objects reports it */
        return v->one ? report_root(v, root, hex, "damaged") : 0;
    if (rc != CAIRN_ENOTFOUND)
        return rc ? error_set(v->error, rc, "%s", why.text) : 0;
    rc = store_is_known_loss(v->store, hex, &known, v->error);
    if (rc == CAIRN_EDAMAGED)
        return 0; /* the check of the pages reports it */
    return rc || known ? rc : report_root(v, root, hex, "missing");
}

/* ---- What nodes refer to ---- */

struct node_check {
    struct verifier *v;
    const struct needed_root *root; /* by which we have come here */
    struct node_set seen;
    struct buf content;
};

static int see_needed(void *context, const struct digest *digest, bool is_node)
{
    struct node_check *check = context;
    struct verifier *v = check->v;
    struct needed_root needed = *check->root;
    bool there = true;
    int rc = node_set_add(&check->seen, digest, is_node, v->error);
    if (rc <= 0)
        return rc ? rc : 1;
    if (digest_equal(digest, &needed.digest) && is_node)
        return 0; /* the root itself was looked at */
    needed.digest = *digest;
    rc = v->one ? 0 : store_has_object(v->store, digest, &there, v->error);
    if (!rc && (v->one || !there))
        rc = verify_root(v, &needed, &check->content);
    return rc;
}

/* What cannot be read was reported where it was seen. */
static int pass_node(void *context, const struct digest *digest, int rc,
                     const char *why)
{
    (void)context;
    (void)digest;
    (void)rc;
    (void)why;
    return 0;
}

static int verify_nodes(struct verifier *v)
{
    struct node_check check = {.v = v};
    struct node_visitor visitor = {see_needed, pass_node, &check};
    int rc = 0;
    for (size_t i = 0; i < v->n_roots && rc == 0; i++) {
        check.root = &v->roots[i];
        if (check.root->is_node)
            rc = nodes_each(v->store, &check.root->digest, &visitor, v->error);
    }
    node_set_release(&check.seen);
    buf_release(&check.content);
    return rc;
}

int verify_roots(struct verifier *v)
{
    struct buf content = BUF_INIT;
    int rc = 0;
    assert(v->n_roots <= v->root_room);
    join_roots(v);
    for (size_t i = 0; i < v->n_roots && rc == 0; i++)
        rc = verify_root(v, &v->roots[i], &content);
    buf_release(&content);
    return rc ? rc : verify_nodes(v);
}

/* ---- What a repair could not save ---- */

struct lack_check {
    struct verifier *v;
    struct losses losses;
};

static int report_lack(void *context, const struct checkpoint_row *row)
{
    struct lack_check *check = context;
    struct verifier *v = check->v;
    const struct payload_kind *kind = kind_of(v->kinds, row->namespace_id);
    struct sound_record record;
    struct cairn_error why = {0};
    char id[CAIRN_ID_MAX];
    bool lost = false;
    if (!kind || row_check_bytes(row, v->sha, &record, NULL))
        return 0;
    int rc = record_lacks(&record, kind, &check->losses, &lost, &why);
    if (rc && rc != CAIRN_EDAMAGED)
        return error_set(v->error, rc, "%s", why.text);
    if (!lost)
        return 0;
    row_id(row, id);
    return verify_report_as(v, CAIRN_PROBLEM_LOST, row->seq, id, "%s", kind->part_lost);
}

int verify_losses(struct verifier *v, uint64_t seq)
{
    struct lack_check check = {.v = v};
    struct checkpoint_range all = {.first = seq, .last = seq};
    int rc = losses_load(&check.losses, v->store, v->error);
    if (!rc && losses_any(&check.losses))
        rc = store_each_checkpoint(v->store, &all, report_lack, &check, v->error);
    losses_release(&check.losses);
    return rc;
}
