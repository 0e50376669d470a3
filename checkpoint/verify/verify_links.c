/* SPDX-License-Identifier: MIT */
/* What a verification compares rows and records with: HMACs, links, objects; and how it
 * reports what it finds. */
#include "checkpoint/nodes/nodes.h"
#include "checkpoint/outcomes.h"
#include "checkpoint/verify/verify_int.h"

#include "base/memory.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_files.h"
#include "storage/rows_lost.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* How a verification reports what it has found: each problem is counted, and then the
 * reader is called until it wants no more. */

static int report_problem(struct verifier *v, enum cairn_problem_kind kind,
                          uint64_t seq, const char *id, const char *format,
                          va_list args)
{
    char text[1024];
    struct cairn_problem problem = {
        .seq = seq, .text = text, .kind = kind, .object = v->object};
    assert((kind != CAIRN_PROBLEM_UNREAD && kind != CAIRN_PROBLEM_KEY) || seq == 0);
    vsnprintf(text, sizeof text, format, args);
    if (id)
        snprintf(problem.id, sizeof problem.id, "%s", id);
    if (kind == CAIRN_PROBLEM_LOST)
        v->result.part_lost++;
    else if (seq || id) /* a row under the number 0 has an id, too */
        v->result.damaged++;
    v->n_damage += kind == CAIRN_PROBLEM_DAMAGE;
    v->result.bad_hmacs += kind == CAIRN_PROBLEM_HMAC;
    if (v->reader->each && !v->stop &&
        v->reader->each(v->reader->context, &problem) != 0)
        v->stop = true;
    return v->stop ? 1 : 0;
}

int verify_report(struct verifier *v, uint64_t seq, const char *id, const char *format,
                  ...)
{
    va_list args;
    va_start(args, format);
    int rc = report_problem(v, CAIRN_PROBLEM_DAMAGE, seq, id, format, args);
    va_end(args);
    return rc;
}

int verify_report_as(struct verifier *v, enum cairn_problem_kind kind, uint64_t seq,
                     const char *id, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int rc = report_problem(v, kind, seq, id, format, args);
    va_end(args);
    return rc;
}

int verify_damaged(struct verifier *v, enum cairn_problem_kind kind,
                   const struct checkpoint_row *row, const char *reason)
{
    char id[CAIRN_ID_MAX];
    const struct payload_kind *payload = kind_of(v->kinds, row->namespace_id);
    const char *loss = payload ? payload->loss_text : "";
    assert(kind == CAIRN_PROBLEM_DAMAGE || kind == CAIRN_PROBLEM_HMAC);
    if (verify_is_refused(v, row->namespace_id, row->stream))
        loss = ""; /* resume refuses the whole run */
    row_id(row, id);
    if (seqs_add(&v->damaged, row->seq))
        return error_nomem(v->error);
    return verify_report_as(v, kind, row->seq, id, "damaged: %s%s%s", reason,
                            *loss ? ". " : "", loss);
}

int verify_report_unread(struct verifier *v)
{
    int rc = 0;
    assert(v->unread[0] == 0);
    for (uint8_t id = 0; id <= NAMESPACE_DEBUG && rc == 0; id++)
        if (v->unread[id])
            rc = verify_report_as(
                v, CAIRN_PROBLEM_UNREAD, 0, NULL,
                "%llu checkpoint%s of the namespace %s %s of a kind that this release "
                "does not know: bytes, digests and links were checked, what they mean "
                "was not understood",
                (unsigned long long)v->unread[id], v->unread[id] == 1 ? "" : "s",
                namespace_name(id), v->unread[id] == 1 ? "is" : "are");
    return rc;
}

/* HMACs in a verification: which runs have them, and which records lack that of the key
 * although they are sound. If no HMAC in the store is of the key, it is the wrong key,
 * and says nothing about the records. */

/* ---- Whether it is the right key ---- */

struct key_search {
    struct verifier *v;
    bool any, found; /* HMACs; one of the key */
};

static int see_run(void *context, const struct run_row *row)
{
    struct key_search *search = context;
    search->any = search->any || row->keyed;
    search->found = row->keyed && row->sum_ok;
    return search->found;
}

static int see_record(void *context, const struct checkpoint_row *row)
{
    struct key_search *search = context;
    struct sound_record checked;
    assert(row->key); /* every row has that of its store */
    if (!(record_peek(row->record).flags & RECORD_KEYED))
        return 0;
    search->any = true;
    search->found = row_check(row, search->v->sha, &checked, NULL) == 0;
    return search->found;
}

int verify_other_key(struct verifier *v, bool *other)
{
    struct key_search search = {.v = v};
    struct run_filter every = {.ascending = true};
    struct checkpoint_range all = {0};
    assert(store_key(v->store));
    int rc = store_each_run(v->store, &every, see_run, &search, v->error);
    if (rc >= 0 && !search.found)
        rc = store_each_checkpoint(v->store, &all, see_record, &search, v->error);
    *other = search.any && !search.found;
    return rc < 0 ? rc : 0;
}

bool verify_only_hmac_fails(struct verifier *v, const struct checkpoint_row *row)
{
    struct sound_record checked;
    return row->key && row_check_bytes(row, v->sha, &checked, NULL) == 0;
}

/* ---- Which runs have HMACs ---- */

static int note_run(void *context, const struct run_row *row)
{
    struct verifier *v = context;
    bool unkeyed = store_key(v->store) && !row->keyed, stripped = false;
    int rc = run_stripped(v->store, row, &stripped, v->error);
    if (rc)
        return rc;
    v->result.unkeyed_runs += unkeyed;
    if ((unkeyed && seqs_add(&v->unkeyed, row->run)) ||
        ((stripped || !row->sum_ok) && seqs_add(&v->refused, row->run)))
        return error_nomem(v->error);
    return 0;
}

int verify_note_runs(struct verifier *v)
{
    struct run_filter every = {.ascending = true};
    assert(v->unkeyed.n == 0 && v->refused.n == 0);
    int rc = store_each_run(v->store, &every, note_run, v, v->error);
    seqs_sort(&v->unkeyed); /* a damaged index may have another order */
    seqs_sort(&v->refused);
    return rc;
}

bool verify_is_unkeyed(const struct verifier *v, uint8_t namespace_id, uint64_t stream)
{
    return namespace_id == NAMESPACE_WORKFLOW && seqs_has(&v->unkeyed, stream);
}

bool verify_is_refused(const struct verifier *v, uint8_t namespace_id, uint64_t stream)
{
    return namespace_id == NAMESPACE_WORKFLOW && seqs_has(&v->refused, stream);
}

/* Questions left by the pass over the rows, answered when every damaged row is known:
 * whether the parent, or the full record, that a record needs is there. */

int verify_add_question(struct verifier *v, const struct question *question)
{
    struct question *questions =
        array_room(v->questions, v->n_questions, &v->question_room, sizeof *questions);
    assert(question->seq > 0 && (!question->base || question->target > 0));
    if (!questions)
        return error_nomem(v->error);
    v->questions = questions;
    v->questions[v->n_questions++] = *question;
    return 0;
}

struct link_target {
    const struct question *question;
    bool same; /* digest of the row is that of the question */
    bool full;
};

static int see_target(void *context, const struct checkpoint_row *row)
{
    struct link_target *target = context;
    struct str wanted = {(const char *)target->question->digest.bytes, DIGEST_SIZE};
    target->same = str_equal(row->digest, wanted);
    target->full = row->kind == RECORD_FULL;
    return 0;
}

static int report_missing(struct verifier *v, const struct question *q)
{
    char id[CAIRN_ID_MAX];
    struct digest known = q->digest;
    assert(q->target > 0);
    checkpoint_id(q->namespace_id, q->target, &known, id);
    if (q->base)
        id[strcspn(id, "-")] = 0;
    if (seqs_add(&v->damaged, q->target))
        return error_nomem(v->error);
    seqs_sort(&v->damaged);
    return verify_report(v, q->target, id,
                         "the record is missing: %s names it as its %s, and it was "
                         "not deleted by cairn",
                         q->id, q->base ? "full record" : "parent");
}

/* The target was deleted on purpose. */
static int check_tombstone(struct verifier *v, const struct question *q,
                           const struct tombstone_row *t)
{
    assert(t->first <= q->target && q->target <= t->last);
    if (q->base || (t->last == q->target && digest_equal(&t->after, &q->digest)))
        return 0;
    return verify_report(v, q->seq, q->id,
                         "its parent, checkpoint %llu, was deleted, and the note "
                         "about that does not fit it",
                         (unsigned long long)q->target);
}

static int check_positions(struct verifier *v, const struct question *q)
{
    assert(!q->base || q->gap == 0);
    if (q->gap == 0)
        return 0;
    return verify_report(v, q->seq, q->id,
                         "%llu checkpoints before it are missing and were not deleted "
                         "by cairn",
                         (unsigned long long)q->gap);
}

static int answer_question(struct verifier *v, const struct question *q)
{
    struct link_target target = {.question = q};
    if (q->target && seqs_has(&v->damaged, q->target))
        return 0; /* already reported */
    if (q->target == 0)
        return check_positions(v, q);
    int rc = store_get_checkpoint(v->store, q->target, see_target, &target, v->error);
    if (rc == CAIRN_ENOTFOUND) {
        const struct tombstone_row *t =
            tombstones_cover(&v->tombstones, q->namespace_id, q->stream, q->target);
        if (!t)
            return report_missing(v, q);
        return check_tombstone(v, q, t) ?: check_positions(v, q);
    }
    if (rc)
        return rc;
    if (q->base ? !target.full : !target.same)
        return verify_report(v, q->seq, q->id,
                             q->base ? "checkpoint %llu is not its full record"
                                     : "its parent digest is not that of checkpoint "
                                       "%llu, its parent",
                             (unsigned long long)q->target);
    return check_positions(v, q);
}

int verify_questions(struct verifier *v)
{
    int rc = 0;
    seqs_sort(&v->damaged);
    for (size_t i = 0; i < v->n_questions && rc == 0; i++)
        rc = answer_question(v, &v->questions[i]);
    return rc < 0 ? rc : 0;
}

/* Objects that records cannot be used without: each must be in the pool, or be known as
 * lost at a repair. */

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
    v->object = hex;
    int rc = verify_report(v, 0, NULL, "the %s %.12s of %s is %s; %s", kind->root_noun,
                           hex, name_records(root, records), state, kind->root_loss);
    v->object = NULL;
    return rc;
}

int verify_bad_object(struct verifier *v, const char *digest_hex_text, const char *why)
{
    char use[ROOT_USE_MAX];
    v->result.bad_objects++;
    describe_use(v, digest_hex_text, use);
    v->object = digest_hex_text;
    int rc = verify_report(v, 0, NULL, "object %.64s is damaged: %s%s%s",
                           digest_hex_text, why, *use ? "; it is " : "", use);
    v->object = NULL;
    return rc;
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
    return rc ?: verify_nodes(v);
}

/* ---- Artifacts, and copies of outputs ---- */

/* Of one task. */
struct artifact_check {
    struct verifier *v;
    const struct files_row *row;
    struct node_set seen;
    bool reported; /* one is enough */
};

static int see_artifact(void *context, const struct digest *digest, bool is_node)
{
    struct artifact_check *check = context;
    struct verifier *v = check->v;
    bool there = true, known = false;
    char hex[DIGEST_HEX_SIZE];
    int rc = node_set_add(&check->seen, digest, is_node, v->error);
    if (rc <= 0)
        return rc ? rc : 1;
    rc = store_has_object(v->store, digest, &there, v->error);
    if (rc || there || check->reported)
        return rc;
    digest_hex(digest, hex);
    rc = store_is_known_loss(v->store, hex, &known, v->error);
    if (rc || known)
        return rc == CAIRN_EDAMAGED ? 0 : rc;
    check->reported = true;
    v->result.bad_objects++;
    v->object = hex;
    rc = verify_report(v, 0, NULL,
                       check->row->kind == FILES_KEPT
                           ? "the object %.12s of the kept outputs of %.*s of run %llu "
                             "is missing: they cannot be put back, so the task will run"
                           : "the object %.12s of the artifacts of %.*s of run %llu is "
                             "missing: `cairn artifact get` cannot give them",
                       hex, (int)check->row->id.len, check->row->id.ptr,
                       (unsigned long long)check->row->run);
    v->object = NULL;
    return rc;
}

static int check_files(void *context, const struct files_row *row)
{
    struct artifact_check *check = context;
    struct node_visitor visitor = {see_artifact, pass_node, check};
    check->row = row;
    check->reported = false;
    return digest_is_none(&row->files)
               ? 0
               : nodes_each(check->v->store, &row->files, &visitor, check->v->error);
}

/* Damaged content is reported by the check of all objects, damaged rows by that of
 * settings. */
int verify_files(struct verifier *v)
{
    struct artifact_check check = {.v = v};
    struct files_search all = {.each = check_files, .context = &check};
    int rc = 0;
    for (; all.kind < FILES_KINDS && !rc; all.kind++)
        rc = store_each_files(v->store, &all, v->error);
    node_set_release(&check.seen);
    return rc;
}

/* ---- Logs in chunks ---- */

struct log_check {
    struct verifier *v;
    struct node_set seen;
    uint64_t run;
};

/* The list itself is looked for with what rows name. */
static int see_chunk(void *context, const struct digest *digest, bool is_node)
{
    struct log_check *check = context;
    struct verifier *v = check->v;
    bool there = true, known = false;
    char hex[DIGEST_HEX_SIZE];
    int rc = node_set_add(&check->seen, digest, is_node, v->error);
    if (rc <= 0 || is_node)
        return rc < 0 ? rc : rc == 0;
    rc = store_has_object(v->store, digest, &there, v->error);
    if (rc || there)
        return rc;
    digest_hex(digest, hex);
    rc = store_is_known_loss(v->store, hex, &known, v->error);
    if (rc || known)
        return rc == CAIRN_EDAMAGED ? 0 : rc;
    v->result.bad_objects++;
    v->object = hex;
    rc = verify_report(v, 0, NULL,
                       "the object %.12s of the log of an attempt of run %llu is "
                       "missing: `cairn log` can give the rest of it",
                       hex, (unsigned long long)check->run);
    v->object = NULL;
    return rc;
}

static int check_log(void *context, uint64_t run, const struct digest *list)
{
    struct log_check *check = context;
    struct node_visitor visitor = {see_chunk, pass_node, check};
    check->run = run;
    return nodes_each(check->v->store, list, &visitor, check->v->error);
}

/* Damaged chunks are reported by the check of all objects. */
int verify_logs(struct verifier *v)
{
    struct log_check check = {.v = v};
    int rc = store_each_log_list(v->store, check_log, &check, v->error);
    node_set_release(&check.seen);
    return rc;
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
