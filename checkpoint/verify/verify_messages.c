/* SPDX-License-Identifier: MIT */
/* Messages of sessions: that each row follows the one that it names, and that the lines
 * of checkpoints end where they say. */
#include "checkpoint/verify/verify_int.h"

#include "checkpoint/messages/line.h"
#include "checkpoint/sections.h"
#include "storage/object.h"
#include "storage/sessions/rows_message.h"
#include "storage/sessions/rows_session.h"

struct line_pass {
    struct verifier *v;
    uint64_t session;
    struct message_seen before; /* the row that was seen last */
};

/* ---- Rows ---- */

static int report_line(struct verifier *v, const char *text)
{
    v->result.damaged++;
    return verify_report(v, 0, NULL, "%s", text);
}

static int see_message(void *context, const struct message_row *row)
{
    struct line_pass *pass = context;
    struct verifier *v = pass->v;
    struct cairn_error why = {0};
    struct message_seen now, parent = pass->before;
    int rc = message_see(v->store, row->session, row->n, &now, &why);
    if (!rc && now.parent && now.parent != parent.n)
        rc = message_see(v->store, row->session, now.parent, &parent, &why);
    if (!rc && !message_follows(v->store, &now, now.parent ? &parent : NULL))
        rc = error_set(&why, CAIRN_EDAMAGED,
                       "message %llu of session %llu does not fit the one before it",
                       (unsigned long long)row->n, (unsigned long long)row->session);
    if (rc && rc != CAIRN_EDAMAGED)
        return error_set(v->error, rc, "%s", why.text);
    pass->before = now;
    return rc ? report_line(v, why.text) : 0;
}

static int see_session(void *context, const struct session_row *row)
{
    struct line_pass pass = {.v = context, .session = row->session};
    struct verifier *v = pass.v;
    uint64_t last, head, found = 0;
    message_numbers(row->numbers, &last, &head);
    int rc =
        store_each_message(v->store, row->session, 0, 0, see_message, &pass, v->error);
    if (!rc && !v->stop)
        rc = store_last_message(v->store, row->session, &found, v->error);
    if (rc || v->stop || found == last || !row->numbers.len)
        return rc == CAIRN_EDAMAGED ? 0 : rc; /* that was reported before */
    v->result.damaged++;
    return verify_report(
        v, 0, NULL,
        "the last message of session %llu is number %llu, and not %llu as "
        "its row says",
        (unsigned long long)row->session, (unsigned long long)found,
        (unsigned long long)last);
}

/* ---- Checkpoints ---- */

static const struct section_ref *line_of(const struct sections *sections)
{
    for (uint32_t i = 0; i < sections->n; i++)
        if (sections->list[i].kind == SECTION_MESSAGES)
            return &sections->list[i];
    return NULL;
}

/* A section that cannot be read is reported with the objects. */
static int check_line(struct verifier *v, uint64_t session,
                      const struct section_ref *ref, bool whole,
                      struct cairn_error *why)
{
    struct buf content = BUF_INIT;
    struct message_line line;
    int rc = store_get_object(v->store, &ref->digest, &content, why);
    bool read = rc == 0;
    if (!rc)
        rc = message_line_decode(buf_view(&content), &line, why);
    if (!rc)
        rc = message_line_check(v->store, session, &line, whole, why);
    buf_release(&content);
    return read || (rc != CAIRN_EDAMAGED && rc != CAIRN_ENOTFOUND) ? rc : 0;
}

/* Where the row of its branch is lost its session is not known. */
static int check_checkpoint(struct verifier *v, uint64_t seq, bool whole)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct sections_at at;
    struct cairn_error why = {0};
    char id[CAIRN_ID_MAX] = "";
    int rc = sections_read(v->store, v->sha, seq, &arena, &sections, &at, &why);
    const struct section_ref *ref = rc ? NULL : line_of(&sections);
    if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND)
        rc = 0;
    if (ref && at.session) {
        checkpoint_id(NAMESPACE_DEBUG, seq, &at.ref.digest, id);
        rc = check_line(v, at.session, ref, whole, &why);
    }
    arena_release(&arena);
    if (rc == CAIRN_EDAMAGED)
        return verify_report(v, seq, id, "its messages are not those that it had: %s",
                             why.text);
    return rc ? error_set(v->error, rc, "%s", why.text) : 0;
}

static int see_checkpoint(void *context, const struct checkpoint_row *row)
{
    return check_checkpoint(context, row->seq, false);
}

static bool knows_sessions(const struct verifier *v)
{
    return kind_of(v->kinds, NAMESPACE_DEBUG) == &sections_kind;
}

int verify_messages(struct verifier *v)
{
    const struct cairn_page all = {.all = true};
    struct checkpoint_range debug = {.namespace_id = NAMESPACE_DEBUG};
    if (!knows_sessions(v))
        return 0;
    int rc = store_each_session(v->store, &all, see_session, v, NULL, v->error);
    if (rc >= 0 && !v->stop)
        rc = store_each_checkpoint(v->store, &debug, see_checkpoint, v, v->error);
    return rc;
}

int verify_messages_at(struct verifier *v, uint64_t seq)
{
    return knows_sessions(v) ? check_checkpoint(v, seq, true) : 0;
}
