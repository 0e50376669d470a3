/* SPDX-License-Identifier: MIT */
/* Branches of a session: lines of checkpoints that begin where another one was. */
#include "session/moves/moves_int.h"

#include "base/error.h"
#include "base/shell_word.h"
#include "base/utf8.h"
#include "checkpoint/annotations.h"
#include "session/board/status.h"
#include "storage/rows_checkpoint.h"

#include <stdio.h>

static int go_on(struct move *m, enum session_verb verb)
{
    struct buf after = BUF_INIT;
    move_put_origin(m, &after);
    struct log_entry entry = {.verb = verb, .after = buf_view(&after)};
    int rc = buf_check(&after, m->error);
    if (!rc)
        rc = move_finish(m, &entry);
    buf_release(&after);
    return rc;
}

static int start_branch(struct move *m, const char *name, const char *from)
{
    struct branch_row taken;
    struct clean taken_name = CLEAN("");
    char own[CAIRN_SESSION_NAME_MAX], word[SHELL_WORD_ROOM(CAIRN_SESSION_NAME_MAX)];
    int rc =
        name ? session_check_new_name("the name of a branch", str_of(name), m->error)
             : branch_free_name(m, own);
    if (!name)
        name = own;
    if (!rc)
        rc = session_check_name("branch", str_of(name), m->error);
    if (!rc)
        rc = branch_find(&m->live, str_of(name), &taken, m->error);
    if (!rc && taken.branch)
        rc = error_set(m->error, CAIRN_EUSAGE,
                       taken.branch == m->from.branch
                           ? "there is a branch '%.128s' already: it is the current one"
                           : "there is a branch '%.128s' already: `cairn branch switch "
                             "%s` goes on with it",
                       name, shell_word_in(word, sizeof word, str_of(name)));
    struct outside_text text = {OUTSIDE_NAME, "the name of the branch", str_of(name),
                                NULL};
    if (!rc)
        rc = live_take(&m->live, &text, &taken_name, m->error);
    if (!rc && from)
        rc = debug_seq(m->live.store, from, &m->seq, m->error);
    if (!rc && from)
        rc = checkpoint_check_broken(m->live.store, m->seq, from, m->error);
    if (!rc)
        rc =
            capture_before(&m->live, TRIGGER_BRANCH_SWITCH, name, &m->before, m->error);
    if (rc)
        return rc;
    if (!from)
        m->seq = m->before.ref.seq;
    m->to = (struct branch_row){
        .name = taken_name, .from_seq = m->seq, .reason = CLEAN("")};
    rc = m->live.arena.failed ? error_nomem(m->error) : move_read_target(m);
    return rc ? rc : go_on(m, VERB_BRANCHED);
}

static int switch_branch(struct move *m, const char *name, const char *from)
{
    (void)from;
    int rc = branch_must_find(&m->live, name, &m->to, m->error);
    if (rc)
        return rc;
    if (m->to.branch == m->from.branch)
        return error_set(m->error, CAIRN_EUSAGE, "branch %.128s is the current one",
                         name);
    if (m->to.status == BRANCH_ABANDONED)
        return error_set(m->error, CAIRN_EUSAGE,
                         "branch %.128s was abandoned: `cairn branch start NAME --from "
                         "CHECKPOINT`, one of its own, goes on from there",
                         name);
    rc = capture_before(&m->live, TRIGGER_BRANCH_SWITCH, name, &m->before, m->error);
    if (!rc)
        rc = branch_state(&m->live, &m->to, &m->seq, m->error);
    if (rc)
        return rc;
    rc = move_read_target(m);
    return rc ? rc : go_on(m, VERB_SWITCHED);
}

static int tell_branch(struct live *live, const struct branch_row *row,
                       struct cairn_branch_info *info, struct cairn_error *error);

struct branch_list {
    struct live *live;
    int (*each)(void *, const struct cairn_branch_info *);
    void *context;
    struct cairn_error *error;
};

static int tell_each(void *context, const struct branch_row *row)
{
    struct branch_list *list = context;
    struct cairn_branch_info info;
    int rc = tell_branch(list->live, row, &info, list->error);
    return rc ? rc : list->each(list->context, &info) ? 1 : 0;
}

/* The id of a record, or its number where it is damaged or gone. */
static int name_checkpoint(struct live *live, uint64_t seq, char out[CAIRN_ID_MAX],
                           struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct sections_at at;
    if (!seq)
        return 0;
    int rc = sections_read(live->store, live->sha, seq, &arena, &sections, &at, error);
    arena_release(&arena);
    if (!rc)
        checkpoint_id(NAMESPACE_DEBUG, seq, &at.ref.digest, out);
    else
        checkpoint_number(NAMESPACE_DEBUG, seq, out);
    return rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED ? 0 : rc;
}

static int tell_branch(struct live *live, const struct branch_row *row,
                       struct cairn_branch_info *info, struct cairn_error *error)
{
    uint64_t last = 0;
    const char *status = branch_status_name((enum branch_status)row->status);
    *info = (struct cairn_branch_info){.branch = row->branch,
                                       .current = row->branch == live->row.branch,
                                       .status = status ? status : "unknown",
                                       .started_ns = row->started_ns};
    snprintf(info->name, sizeof info->name, "%.*s", (int)row->name.len, row->name.ptr);
    snprintf(info->reason, sizeof info->reason, "%.*s",
             (int)utf8_fit(clean_str(row->reason), sizeof info->reason - 1),
             row->reason.ptr);
    int rc = store_last_seq(live->store, NAMESPACE_DEBUG, row->branch, &last, error);
    if (rc == CAIRN_ENOTFOUND)
        rc = 0;
    if (!rc)
        rc = name_checkpoint(live, row->from_seq, info->from, error);
    return rc ? rc : name_checkpoint(live, last, info->head, error);
}

int cairn_branch_list(struct cairn_store *store, const char *session,
                      int (*each)(void *, const struct cairn_branch_info *),
                      void *context, struct cairn_error *error)
{
    struct live live;
    struct branch_list list = {&live, each, context, error};
    int rc = live_read(&live, store, session, error);
    if (!rc)
        rc = store_each_branch(store, live.row.session, tell_each, &list, error);
    return live_close(&live, rc, error);
}

/* One transaction. */
typedef int move_fn(struct move *m, const char *name, const char *from);

struct going {
    struct cairn_store *store;
    const char *session;
    move_fn *move;
    const char *name, *from;
    bool dry_run;
    struct cairn_branch_info told;
    struct cairn_error *error;
};

static int go_once(void *context, struct files_taken *files)
{
    struct going *g = context;
    struct move m;
    struct cairn_branch_info told = {0};
    int rc = move_begin(&m, files, g->store, g->session, g->error);
    if (!rc)
        rc = g->move(&m, g->name, g->from);
    if (!rc)
        rc = tell_branch(&m.live, &m.to, &told, g->error);
    if (!rc)
        snprintf(told.before, sizeof told.before, "%.*s", (int)m.from.name.len,
                 m.from.name.ptr);
    rc = move_end(&m, !rc && g->dry_run ? MOVE_LOOKED : rc);
    if (!rc || rc == MOVE_LOOKED)
        g->told = told;
    return rc;
}

static int move_to_branch(struct going *g, const struct cairn_restore_options *given,
                          struct cairn_branch_info *info)
{
    static const struct cairn_restore_options none;
    const struct cairn_restore_options *options = given ? given : &none;
    struct files_taken files = {0};
    g->dry_run = options->dry_run;
    int rc =
        move_with_files(g->store, g->session, options, &files, go_once, g, g->error);
    g->told.files_changed =
        files.counts.added + files.counts.changed + files.counts.removed;
    g->told.files_kept = files.counts.kept;
    if (!rc && info)
        *info = g->told;
    return rc;
}

int cairn_branch_start(struct cairn_store *store, const char *session, const char *name,
                       const char *from, const struct cairn_restore_options *options,
                       struct cairn_branch_info *info, struct cairn_error *error)
{
    SIZE_CHECK("cairn_restore_options", options, error);
    struct going g = {.store = store,
                      .session = session,
                      .move = start_branch,
                      .name = name,
                      .from = from,
                      .error = error};
    return move_to_branch(&g, options, info);
}

int cairn_branch_switch(struct cairn_store *store, const char *session,
                        const char *name, const struct cairn_restore_options *options,
                        struct cairn_branch_info *info, struct cairn_error *error)
{
    SIZE_CHECK("cairn_restore_options", options, error);
    struct going g = {.store = store,
                      .session = session,
                      .move = switch_branch,
                      .name = name,
                      .error = error};
    return move_to_branch(&g, options, info);
}

static int abandon_branch(struct live *live, const char *name, const char *reason,
                          struct cairn_error *error)
{
    struct branch_row row;
    int rc = branch_must_find(live, name, &row, error);
    if (rc)
        return rc;
    if (row.branch == live->row.branch)
        return error_set(
            error, CAIRN_EUSAGE,
            "branch %.128s is the current one: switch to another one first", name);
    struct log_entry entry = {.verb = VERB_ABANDONED, .number = row.branch};
    row.status = BRANCH_ABANDONED;
    struct outside_text text = {OUTSIDE_PROSE, "the reason",
                                str_of(reason ? reason : ""), NULL};
    rc = live_take(live, &text, &row.reason, error);
    if (!rc)
        rc = store_put_branch(live->store, &row, error);
    return rc ? rc : live_log(live, &entry, error);
}

int cairn_branch_abandon(struct cairn_store *store, const char *session,
                         const char *name, const char *reason,
                         struct cairn_error *error)
{
    struct live live;
    int rc = live_write(&live, store, session, error);
    if (!rc)
        rc = live_check_open(&live, error);
    if (!rc)
        rc = abandon_branch(&live, name, reason, error);
    return live_close(&live, rc, error);
}
