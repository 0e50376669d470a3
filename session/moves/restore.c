/* SPDX-License-Identifier: MIT */
/* Going back to a checkpoint. */
#include "session/moves/moves_int.h"

#include "base/error.h"
#include "base/utf8.h"
#include "checkpoint/annotations.h"
#include "session/board/status.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Restoring ---- */

static void report_restore(const struct move *m, struct cairn_restored *report)
{
    const struct sections *sections = &m->state.sections;
    *report = (struct cairn_restored){.time_ns = m->state.at.time_ns,
                                      .added = m->added,
                                      .changed = m->changed,
                                      .removed = m->removed,
                                      .messages_before = m->messages_before,
                                      .messages = m->files_only || m->board_only
                                                      ? m->messages_before
                                                      : m->state.messages.position};
    checkpoint_id(NAMESPACE_DEBUG, m->seq, &m->state.at.ref.digest, report->id);
    if (m->before.ref.seq)
        checkpoint_id(NAMESPACE_DEBUG, m->before.ref.seq, &m->before.ref.digest,
                      report->before);
    snprintf(report->message, sizeof report->message, "%.*s",
             (int)utf8_fit(sections->message, sizeof report->message - 1),
             sections->message.ptr);
    snprintf(report->old_branch, sizeof report->old_branch, "%.*s",
             (int)m->from.name.len, m->from.name.ptr);
    snprintf(report->branch, sizeof report->branch, "%.*s", (int)m->to.name.len,
             m->to.name.ptr);
}

/* *there: what is to be taken up of the other state is what there is. */
static int look_there(struct move *m, const struct cairn_restore_options *options,
                      bool *there)
{
    int rc = 0;
    *there = m->before.ref.seq == m->seq;
    if (*there)
        return 0;
    if (options->messages_only)
        *there = m->live.message == m->state.messages.n;
    if (options->n_paths && m->state.has_files &&
        m->live.settings.later[SETTING_FILES].len) {
        rc = take_files(m);
        *there = !rc && !m->live.files->decided;
    }
    return rc;
}

static int begin_branch(struct move *m, const struct cairn_restore_options *options)
{
    char name[CAIRN_SESSION_NAME_MAX];
    struct buf origin = BUF_INIT;
    bool little = options->messages_only || options->n_paths;
    int rc = branch_free_name(m, name);
    m->to = (struct branch_row){
        .name = clean_copy(&m->live.arena, clean_stored(str_of(name))),
        .from_seq = little ? m->before.ref.seq : m->seq,
        .reason = CLEAN("")};
    buf_varint(&origin, m->from.branch);
    buf_varint(&origin, m->before.ref.seq);
    if (!rc)
        rc =
            m->live.arena.failed ? error_nomem(m->error) : buf_check(&origin, m->error);
    struct log_entry entry = {
        .verb = VERB_RESTORED, .number = m->seq, .after = buf_view(&origin)};
    if (!rc)
        rc = move_finish(m, &entry);
    buf_release(&origin);
    return rc;
}

static int restore(struct move *m, const char *id,
                   const struct cairn_restore_options *options)
{
    char number[CAIRN_ID_MAX];
    int rc = debug_seq(m->live.store, id, &m->seq, m->error);
    if (!rc && !options->force)
        rc = checkpoint_check_broken(m->live.store, m->seq, id, m->error);
    if (!rc)
        rc = move_read_target(m);
    checkpoint_number(NAMESPACE_DEBUG, m->seq, number);
    if (!rc)
        rc = capture_before(&m->live, TRIGGER_BEFORE_RESTORE, number, &m->before,
                            m->error);
    if (rc)
        return rc;
    m->to = m->from;
    bool there;
    rc = look_there(m, options, &there);
    return rc || there ? rc : begin_branch(m, options);
}

struct restoring {
    struct cairn_store *store;
    const char *session;
    restore_fn *make;
    const char *id;
    const struct cairn_restore_options *options;
    struct cairn_restored told;
    struct cairn_error *error;
};

static int restore_once(void *context, struct files_taken *files)
{
    struct restoring *r = context;
    const struct cairn_restore_options *options = r->options;
    struct move m;
    int rc = move_begin(&m, files, r->store, r->session, r->error);
    m.board_only = options->board_only;
    m.files_only = options->files_only || options->n_paths;
    m.messages_only = options->messages_only;
    if (!rc)
        rc = r->make(&m, r->id, options);
    bool skipped = !rc && m.state.has_files &&
                   !m.live.settings.later[SETTING_FILES].len && !m.board_only &&
                   !m.messages_only;
    if (!rc && m.files_only && (skipped || !m.state.has_files))
        rc = error_set(r->error, CAIRN_EUSAGE, "nothing was restored: %s",
                       skipped ? "the setting `files` of the session is off (`cairn "
                                 "session config files DIR`)"
                               : "the checkpoint holds no files");
    if (!rc)
        report_restore(&m, &r->told);
    r->told.files_skipped = skipped;
    if (!rc && options->dry_run)
        rc = MOVE_LOOKED;
    return move_end(&m, rc);
}

static int check_options(const struct cairn_restore_options *options,
                         struct cairn_error *error)
{
    bool files = options->files_only || options->n_paths;
    return options->board_only + files + options->messages_only > 1
               ? error_set(error, CAIRN_EUSAGE,
                           "give only one of the board alone, the files (or some of "
                           "them) alone and the messages alone")
               : 0;
}

static int take_paths(const struct cairn_restore_options *options,
                      struct files_taken *files, struct str **texts,
                      struct cairn_error *error)
{
    *texts = NULL;
    if (!options->n_paths)
        return 0;
    *texts = calloc(options->n_paths, sizeof **texts);
    if (!*texts)
        return error_nomem(error);
    for (size_t i = 0; i < options->n_paths; i++)
        (*texts)[i] = str_of(options->paths[i]);
    files->only.texts = *texts;
    files->only.n = options->n_paths;
    return 0;
}

static void count_files(const struct files_taken *files, struct cairn_restored *told)
{
    told->files_added = files->counts.added;
    told->files_changed = files->counts.changed;
    told->files_removed = files->counts.removed;
    told->files_kept = files->counts.kept;
    told->files_left = files->counts.left;
    told->files_others = files->others;
    told->files_beside = files->beside;
}

int restore_with(struct cairn_store *store, const char *session, restore_fn *make,
                 bool back, const char *id, const struct cairn_restore_options *given,
                 struct cairn_restored *report, struct cairn_error *error)
{
    static const struct cairn_restore_options none;
    const struct cairn_restore_options *options = given ? given : &none;
    struct files_taken files = {.back = back};
    struct restoring r = {.store = store,
                          .session = session,
                          .make = make,
                          .id = id,
                          .options = options,
                          .error = error};
    struct str *texts;
    int rc = check_options(options, error);
    if (!rc)
        rc = take_paths(options, &files, &texts, error);
    if (rc)
        return rc;
    rc = move_with_files(store, session, options, &files, restore_once, &r, error);
    free(texts);
    count_files(&files, &r.told);
    if (options->dry_run)
        r.told.before[0] = '\0';
    if (!rc && report)
        *report = r.told;
    return rc;
}

int cairn_session_restore(struct cairn_store *store, const char *session,
                          const char *id, const struct cairn_restore_options *options,
                          struct cairn_restored *report, struct cairn_error *error)
{
    SIZE_CHECK("cairn_restore_options", options, error);
    return restore_with(store, session, restore, false, id, options, report, error);
}
