/* SPDX-License-Identifier: MIT */
/* Taking up another state, and the branches of a session. */
#include "session/moves/moves_int.h"

#include "session/board/confidence.h"
#include "session/files_pending.h"

#include "base/error.h"
#include "base/struct_take.h"
#include "base/utf8.h"
#include "base/words.h"
#include "checkpoint/annotations.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

/* ==== What all moves have in common ==== */

/* Going back to a checkpoint, and from branch to branch. In each case the present state
 * is checkpointed first, everything of the other state is verified and read, and then
 * the items that differ are written, in the same transaction. */

_Static_assert((int)BRANCH_ACTIVE == (int)BRANCH_GOES_ON, "a status that is stored");

int move_begin(struct move *m, struct files_taken *files, struct cairn_store *store,
               const char *session, struct cairn_error *error)
{
    struct message_seen end;
    *m = (struct move){.error = error};
    int rc = live_write(&m->live, store, session, error);
    m->live.files = files;
    if (!rc)
        rc = live_check_open(&m->live, error)
             ?: live_load_board(&m->live, error)
             ?: message_end(&m->live, &end, error);
    m->messages_before = rc ? 0 : end.position;
    return rc ?: live_branch(&m->live, m->live.row.branch, &m->from, error);
}

int move_end(struct move *m, int rc)
{
    if (m->read)
        state_release(&m->state);
    return live_close(&m->live, rc, m->error);
}

int move_read_target(struct move *m)
{
    char number[CAIRN_ID_MAX];
    const struct session_row *row = &m->live.row;
    m->read = true;
    int rc = state_read(m->live.store, m->live.sha, m->seq, &m->state, m->error);
    if (rc || !m->state.at.session || m->state.at.session == row->session)
        return rc;
    checkpoint_number(NAMESPACE_DEBUG, m->seq, number);
    return error_set(
        m->error, CAIRN_EUSAGE,
        "checkpoint %s is of another session: give --session with its name", number);
}

static void count(struct move *m, const struct board_changes *changes)
{
    for (uint32_t i = 0; i < changes->n; i++) {
        m->added += !changes->at[i].had;
        m->removed += !changes->at[i].has;
        m->changed += changes->at[i].had && changes->at[i].has;
    }
}

/* From the present board to the one that was read. */
static int put_target(struct move *m)
{
    struct board_changes changes = {0};
    int rc = boards_compare(&m->live.board, &m->state.board, &changes, m->error)
                 ?: live_put_changes(&m->live, &changes, false, m->error);
    if (!rc)
        count(m, &changes);
    free(changes.at);
    return rc;
}

static int put_branch(struct move *m)
{
    if (!m->to.branch) {
        m->to.session = m->live.row.session;
        m->to.status = BRANCH_ACTIVE;
        m->to.started_ns = m->live.now.utc_ns;
        int rc = store_put_branch(m->live.store, &m->to, m->error);
        if (rc)
            return rc;
    }
    m->live.row.branch = m->to.branch;
    return live_put_row(&m->live, m->error);
}

int take_files(struct move *m)
{
    if (m->live.files)
        m->live.files->since_turn = m->since_turn;
    return files_replace(&m->live, &m->state.files, m->since ? m->since : m->seq,
                         m->error);
}

int move_finish(struct move *m, const struct log_entry *entry)
{
    int rc = m->files_only || m->messages_only ? 0 : put_target(m);
    if (!rc && m->state.has_files && !m->board_only && !m->messages_only)
        rc = take_files(m);
    if (!m->files_only && !m->board_only)
        m->live.message = m->state.messages.n;
    if (!rc)
        rc = put_branch(m);
    if (rc)
        return rc;
    struct log_entry logged = *entry;
    if (entry->verb != VERB_RESTORED)
        logged.number = m->to.branch;
    return live_log(&m->live, &logged, m->error);
}

void move_put_origin(const struct move *m, struct buf *out)
{
    buf_varint(out, m->from.branch);
    buf_varint(out, m->before.ref.seq);
    buf_varint(out, m->seq);
}

/* ---- Files, after it ---- */

static int refuse_unfinished(void *context, const struct pending_told *told)
{
    char id[CAIRN_ID_MAX] = "files", word[SHELL_WORD_ROOM(CAIRN_SESSION_NAME_MAX)];
    if (told->aside)
        return 0;
    if (told->seq)
        checkpoint_number(NAMESPACE_DEBUG, told->seq, id);
    return error_set(context, CAIRN_EUSAGE,
                     "a restore of %s was interrupted, and would be finished first: "
                     "`cairn checkpoint restore --finish --session %s` does that",
                     id, shell_word_in(word, sizeof word, str_of(told->name)));
}

/* Nothing is done: what is not finished stays so, and its contents where they wait. */
static int begin_look(struct cairn_store *store, struct files_taken *files,
                      struct cairn_error *error)
{
    files->looking = true;
    if (store_read_only(store) || store_key(store))
        return 0; /* the transaction is refused */
    int rc = pending_lock(store, error);
    files->locked = rc == 0;
    return rc ?: pending_each(store, true, 0, STR(""), refuse_unfinished, error, error);
}

int move_with_files(struct cairn_store *store, const char *session,
                    const struct cairn_restore_options *options,
                    struct files_taken *files, move_once_fn *once, void *context,
                    struct cairn_error *error)
{
    files->told = options->kept;
    files->told_others = options->others;
    files->told_context = options->context;
    files->spare_others = !options->all;
    int rc = options->dry_run ? begin_look(store, files, error) : 0;
    if (!rc)
        do
            rc = once(context, files);
        while (files_wanted(files, &rc, store, session, error));
    files->looked = rc == MOVE_LOOKED;
    if (files->looked && files->prepared)
        restore_count(&files->restore);
    rc = files_end(files, rc, store, error);
    return rc == MOVE_LOOKED ? 0 : rc;
}

/* ---- Branches by name ---- */

struct branch_search {
    struct live *live;
    struct str name;
    struct branch_row found; /* branch 0: there is none; copied */
};

static int see_branch(void *context, const struct branch_row *row)
{
    struct branch_search *search = context;
    struct arena *arena = &search->live->arena;
    if (!str_equal(clean_str(row->name), search->name))
        return 0;
    search->found = *row;
    search->found.name = clean_copy(arena, row->name);
    search->found.reason = clean_copy(arena, row->reason);
    return 1;
}

/* found->branch 0: there is none. */
static int branch_find(struct live *live, struct str name, struct branch_row *found,
                       struct cairn_error *error)
{
    struct branch_search search = {.live = live, .name = name};
    int rc =
        store_each_branch(live->store, live->row.session, see_branch, &search, error);
    if (!rc && live->arena.failed)
        rc = error_nomem(error);
    *found = search.found;
    return rc;
}

int branch_must_find(struct live *live, const char *name, struct branch_row *found,
                     struct cairn_error *error)
{
    int rc = branch_find(live, str_of(name), found, error);
    if (rc || found->branch)
        return rc;
    return error_set(error, CAIRN_ENOTFOUND,
                     "session %.*s has no branch '%.128s': `cairn branch list` shows "
                     "those that there are",
                     (int)live->row.name.len, live->row.name.ptr, name);
}

int branch_state(struct live *live, const struct branch_row *row, uint64_t *seq,
                 struct cairn_error *error)
{
    uint64_t last = 0;
    int rc = store_last_seq(live->store, NAMESPACE_DEBUG, row->branch, &last, error);
    if (rc && rc != CAIRN_ENOTFOUND)
        return rc;
    *seq = last ? last : row->from_seq;
    return *seq ? 0
                : error_set(
                      error, CAIRN_ENOTFOUND,
                      "branch %.*s has no checkpoint: there is no state to take up",
                      (int)row->name.len, row->name.ptr);
}

int branch_free_name(struct move *m, char out[CAIRN_SESSION_NAME_MAX])
{
    struct str base = clean_str(m->from.name);
    struct branch_row taken = {.branch = 1};
    uint64_t number;
    size_t dash = base.len;
    int rc = 0;
    while (dash > 0 && base.ptr[dash - 1] != '-')
        dash--;
    if (dash > 1 && str_to_u64((struct str){base.ptr + dash, base.len - dash}, &number))
        base.len = dash - 1;
    base.len = utf8_fit(base, CAIRN_SESSION_NAME_MAX - 24);
    for (unsigned long long n = 2; !rc && taken.branch; n++) {
        snprintf(out, CAIRN_SESSION_NAME_MAX, "%.*s-%llu", (int)base.len, base.ptr, n);
        rc = branch_find(&m->live, str_of(out), &taken, m->error);
    }
    return rc;
}

/* ==== Branches ==== */

/* Branches of a session: lines of checkpoints that begin where another one was. */

static int go_on(struct move *m, enum session_verb verb)
{
    struct buf after = BUF_INIT;
    move_put_origin(m, &after);
    struct log_entry entry = {.verb = verb, .after = buf_view(&after)};
    int rc = buf_check(&after, m->error) ?: move_finish(m, &entry);
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
        rc = session_check_name("branch", str_of(name), m->error)
                 ?: branch_find(&m->live, str_of(name), &taken, m->error);
    if (!rc && taken.branch)
        rc = error_set(m->error, CAIRN_EUSAGE,
                       taken.branch == m->from.branch
                           ? "there is a branch '%.128s' already: it is the current one"
                           : "there is a branch '%.128s' already: `cairn branch switch "
                             "%s` continues it",
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
    return rc ?: go_on(m, VERB_BRANCHED);
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
                         "CHECKPOINT`, one of its own, continues from there",
                         name);
    return capture_before(&m->live, TRIGGER_BRANCH_SWITCH, name, &m->before, m->error)
           ?: branch_state(&m->live, &m->to, &m->seq, m->error)
           ?: move_read_target(m)
           ?: go_on(m, VERB_SWITCHED);
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
    return rc
           ?: name_checkpoint(live, row->from_seq, info->from, error)
           ?: name_checkpoint(live, last, info->head, error);
}

int cairn_branch_list(struct cairn_store *store, const char *session,
                      int (*each)(void *, const struct cairn_branch_info *),
                      void *context, struct cairn_error *error)
{
    struct live live;
    struct branch_list list = {&live, each, context, error};
    int rc = live_read(&live, store, session, error)
                 ?: store_each_branch(store, live.row.session, tell_each, &list, error);
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
    int rc = move_begin(&m, files, g->store, g->session, g->error)
             ?: g->move(&m, g->name, g->from)
             ?: tell_branch(&m.live, &m.to, &told, g->error);
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
    STRUCT_TAKE(cairn_restore_options, options, error);
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
    STRUCT_TAKE(cairn_restore_options, options, error);
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
    return live_take(live, &text, &row.reason, error)
           ?: store_put_branch(live->store, &row, error)
           ?: live_log(live, &entry, error);
}

int cairn_branch_abandon(struct cairn_store *store, const char *session,
                         const char *name, const char *reason,
                         struct cairn_error *error)
{
    struct live live;
    int rc = live_write(&live, store, session, error)
             ?: live_check_open(&live, error)
             ?: abandon_branch(&live, name, reason, error);
    return live_close(&live, rc, error);
}
