/* SPDX-License-Identifier: MIT */
/* How a verification reports what it has found: each problem is counted, and then the
 * reader is called until it wants no more. */
#include "checkpoint/verify/verify_int.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

static int report_problem(struct verifier *v, enum cairn_problem_kind kind,
                          uint64_t seq, const char *id, const char *format,
                          va_list args)
{
    char text[1024];
    struct cairn_problem problem = {.seq = seq, .text = text, .kind = kind};
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
