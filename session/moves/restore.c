/* SPDX-License-Identifier: MIT */
/* Restoring a checkpoint, taking that back and making it again, and finishing it after
 * a crash. */
#include "session/board/confidence.h"
#include "session/files_pending.h"
#include "session/moves/moves_int.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/str.h"
#include "base/struct_take.h"
#include "base/utf8.h"
#include "base/words.h"
#include "checkpoint/annotations.h"
#include "snapshot/restore.h"
#include "storage/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ==== Restoring ==== */

/* Going back to a checkpoint. */

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

static int restore_with(struct cairn_store *store, const char *session,
                        restore_fn *make, bool back, const char *id,
                        const struct cairn_restore_options *given,
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
    int rc =
        check_options(options, error) ?: take_paths(options, &files, &texts, error);
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
    STRUCT_TAKE(cairn_restore_options, options, error);
    return restore_with(store, session, restore, false, id, options, report, error);
}

/* ==== Back and forward ==== */

/* Taking restores back, one after the other, and forward again.
 *
 * The log says what there is to take back: a restore and a way forward put something on
 * a stack, a way back takes it off. Read from its end, each way back makes one more of
 * them to be passed over. The same holds the other way round for what can be redone,
 * which ends where anything else was done. */

/* ---- What the log says ---- */

struct moved {            /* a row of it */
    uint64_t branch, seq; /* where it was before */
    uint64_t taken;       /* seq of the state that was taken up; 0: not known */
    bool changed;         /* since the move before */
    uint64_t turn;        /* of the row */
};

struct move_search {
    bool forward;    /* what was undone is looked for; else what was done */
    uint64_t passed; /* so many are to be passed over */
    bool any;        /* a move was met */
    bool found, blocked;
    bool changed; /* items or messages were, since the move that is looked for */
    struct moved newest, at; /* the newest move, and the one that is looked for */
    uint64_t to, from; /* it went on to that branch, from that one; 0: not known */
};

static bool read_moved(const struct session_log_row *row, struct moved *out)
{
    struct reader in = reader_of(row->after.ptr, row->after.len);
    *out = (struct moved){.turn = row->turn};
    out->branch = read_varint(&in);
    out->seq = read_varint(&in);
    if (row->verb != VERB_RESTORED) {
        out->taken = read_varint(&in);
        out->changed = read_varint(&in) != 0;
    }
    return reader_done(&in);
}

/* 1: it is the one. */
static int see_move(struct move_search *search, const struct session_log_row *row)
{
    struct moved moved;
    bool known = read_moved(row, &moved), is_back = row->verb == VERB_BACK;
    bool opposite = search->forward ? row->verb == VERB_FORWARD : is_back;
    if (!search->any)
        search->newest = known ? moved : (struct moved){.changed = true};
    search->any = true;
    search->blocked = search->forward && row->verb == VERB_RESTORED;
    if (search->blocked)
        return 1;
    if (opposite) {
        search->passed++;
        return 0;
    }
    if (!search->passed) {
        search->at = moved;
        search->found = known;
        search->blocked = !known;
        return 1;
    }
    search->passed--;
    search->changed |= search->forward && (!known || moved.changed);
    return 0;
}

static int see_log(void *context, const struct session_log_row *row)
{
    struct move_search *search = context;
    switch ((enum session_verb)row->verb) {
    case VERB_CHECKPOINT:
    case VERB_CONTRADICTION:
    case VERB_CONFIGURED:
    case VERB_ENDED:
    case VERB_CONTINUED:
    case VERB_PRUNED:
        return 0;
    case VERB_PUT:
    case VERB_REMOVED:
    case VERB_UNDONE:
    case VERB_MESSAGES:
        search->changed |= search->forward || !search->any;
        return 0;
    case VERB_RESTORED:
    case VERB_BACK:
    case VERB_FORWARD:
        return see_move(search, row);
    case VERB_STARTED:
    case VERB_BRANCHED:
    case VERB_SWITCHED:
    case VERB_ABANDONED:
    case VERB_MERGED:
        break;
    }
    struct reader in = reader_of(row->after.ptr, row->after.len);
    search->blocked = row->verb != VERB_STARTED;
    if (row->verb == VERB_SWITCHED || row->verb == VERB_BRANCHED) {
        search->to = row->number;
        search->from = read_varint(&in);
    }
    return 1;
}

static int search_log(struct move *m, struct move_search *search)
{
    return store_each_session_log(m->live.store, m->live.row.session, UINT64_MAX, true,
                                  see_log, search, m->error);
}

/* ---- Whether the state is another one ---- */

/* That a file is not in a state whose rules ignore it says nothing: it may have been
 * there. */
struct file_search {
    struct tree_rules rules[2]; /* of the two states */
    bool same;
};

static int stop_at_change(void *context, struct str path,
                          const struct tree_entry *before,
                          const struct tree_entry *after)
{
    struct file_search *search = context;
    const struct tree_entry *there = before ? before : after;
    bool is_dir = there->kind == TREE_DIRECTORY;
    bool both = before && after;
    if (both && is_dir && before->kind == after->kind && before->mode == after->mode)
        return 0; /* what differs in it comes next */
    int ignored =
        both ? 0 : tree_rules_ignore(&search->rules[before ? 1 : 0], path, is_dir);
    if (ignored)
        return ignored < 0 ? ignored : 0;
    search->same = false;
    return 1;
}

static int compare_files(struct cairn_store *store, const struct digest *before,
                         const struct digest *after, bool *same,
                         struct cairn_error *error)
{
    struct file_search search = {.same = true};
    const struct digest *trees[] = {before, after};
    int rc = 0, opened = 0;
    for (; opened < 2 && !rc; opened++)
        rc = tree_rules_open(&search.rules[opened], store, trees[opened], error);
    if (!rc)
        rc = snapshot_compare(store, before, after, false, stop_at_change, &search,
                              error);
    while (opened)
        tree_rules_close(&search.rules[--opened]);
    *same = search.same;
    return rc < 0 ? rc : 0;
}

static int same_files(struct cairn_store *store, const struct digest *before,
                      const struct digest *after, bool *same, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct snapshot_head heads[2];
    int rc = snapshot_read(store, before, &arena, &heads[0], error)
             ?: snapshot_read(store, after, &arena, &heads[1], error)
             ?: compare_files(store, &heads[0].root, &heads[1].root, same, error);
    arena_release(&arena);
    return rc;
}

static const struct section_ref *find_section(const struct sections *sections,
                                              uint8_t kind)
{
    for (uint32_t i = 0; i < sections->n; i++)
        if (sections->list[i].kind == kind)
            return &sections->list[i];
    return NULL;
}

/* Each section of the one is that of the other; none and an empty one are the same. */
static int same_sections(struct cairn_store *store, const struct sections *one,
                         const struct sections *other, bool *same,
                         struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < one->n && *same && !rc; i++) {
        const struct section_ref *a = &one->list[i], *b = find_section(other, a->kind);
        if (a->kind == SECTION_ENVIRONMENT)
            continue;
        if (a->kind == SECTION_FILES && b)
            rc = same_files(store, &a->digest, &b->digest, same, error);
        else
            *same = b ? digest_equal(&a->digest, &b->digest) : a->n == 0;
    }
    return rc;
}

/* The states of two checkpoints, but for times of files. What cannot be read any more
 * is not the same. */
static int same_states(struct move *m, uint64_t a, uint64_t b, bool *same)
{
    struct arena arena = ARENA_INIT;
    struct sections one, other;
    struct cairn_error why = {0};
    *same = a == b;
    if (*same || !a || !b)
        return 0;
    *same = true;
    int rc = sections_read(m->live.store, m->live.sha, a, &arena, &one, NULL, &why)
             ?: sections_read(m->live.store, m->live.sha, b, &arena, &other, NULL, &why)
             ?: same_sections(m->live.store, &one, &other, same, &why)
             ?: same_sections(m->live.store, &other, &one, same, &why);
    arena_release(&arena);
    *same = *same && !rc;
    return !rc || rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED
               ? 0
               : error_set(m->error, rc, "%s", why.text);
}

/* Anything since the newest move took up its state. */
static int find_change(struct move *m, const struct move_search *search, bool *changed)
{
    bool same;
    int rc = same_states(m, search->newest.taken, m->before.ref.seq, &same);
    *changed = search->changed || !same;
    return rc;
}

/* ---- Back ---- */

static int finish(struct move *m, enum session_verb verb, bool changed)
{
    struct buf after = BUF_INIT;
    move_put_origin(m, &after);
    buf_varint(&after, changed);
    struct log_entry entry = {.verb = verb, .after = buf_view(&after)};
    int rc = buf_check(&after, m->error) ?: move_finish(m, &entry);
    buf_release(&after);
    return rc;
}

/* Nothing was ever recorded on the branch that the restore had made. */
static int abandon_empty(struct move *m)
{
    struct branch_row row = m->from;
    struct chain head;
    struct arena arena = ARENA_INIT;
    int rc = sections_open(m->live.store, m->live.sha, row.branch, &head, &arena, NULL,
                           m->error);
    arena_release(&arena);
    if (rc || head.position)
        return rc;
    row.status = BRANCH_ABANDONED;
    row.reason = CLEAN("the restore was undone");
    return store_put_branch(m->live.store, &row, m->error);
}

/* The state that the found move was made from, and its branch. */
static int read_target(struct move *m, const struct move_search *search)
{
    m->seq = search->at.seq;
    m->since_turn = search->at.turn;
    m->since = m->seq > search->at.taken ? m->seq : search->at.taken;
    return move_read_target(m)
               ?: live_branch(&m->live, search->at.branch, &m->to, m->error);
}

static int refuse_undo(struct move *m, const struct move_search *search)
{
    struct branch_row from, to;
    char word[SHELL_WORD_ROOM(CAIRN_SESSION_NAME_MAX)];
    if (search->from && live_branch(&m->live, search->from, &from, NULL) == 0 &&
        live_branch(&m->live, search->to, &to, NULL) == 0)
        return error_set(m->error, CAIRN_EUSAGE,
                         "there is no restore to undo: the last move was to branch "
                         "%.*s; `cairn branch switch %s` goes back",
                         (int)to.name.len, to.name.ptr,
                         shell_word_in(word, sizeof word, clean_str(from.name)));
    return error_set(m->error, CAIRN_EUSAGE, "there is no restore to undo%s",
                     search->blocked
                         ? ": branches were started, switched, merged or abandoned "
                           "since the last one; `cairn checkpoint restore CHECKPOINT` "
                           "goes to a state of before"
                     : search->any ? ": all were undone already"
                                   : "");
}

/* The state to go to; what there is now is kept as a checkpoint. *changed: something
 * was changed since the last move. */
static int find_target(struct move *m, const struct move_search *search, bool *changed)
{
    return read_target(m, search)
           ?: capture_before(&m->live, TRIGGER_BEFORE_RESTORE, NULL, &m->before,
                             m->error)
           ?: find_change(m, search, changed);
}

static int undo_restore(struct move *m, const char *id,
                        const struct cairn_restore_options *options)
{
    (void)id;
    (void)options;
    struct move_search search = {.forward = false};
    bool changed = false;
    int rc = search_log(m, &search);
    if (!rc && !search.found)
        return refuse_undo(m, &search);
    return rc
           ?: find_target(m, &search, &changed)
           ?: finish(m, VERB_BACK, changed)
           ?: abandon_empty(m);
}

int cairn_session_undo_restore(struct cairn_store *store, const char *session,
                               const struct cairn_restore_options *options,
                               struct cairn_restored *report, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_restore_options, options, error);
    return restore_with(store, session, undo_restore, true, NULL, options, report,
                        error);
}

/* ---- Forward ---- */

/* If nothing was recorded on it, the undo has abandoned it. */
static int take_up_branch(struct move *m)
{
    if (m->to.status != BRANCH_ABANDONED)
        return 0;
    m->to.status = BRANCH_ACTIVE;
    m->to.reason = CLEAN("");
    return store_put_branch(m->live.store, &m->to, m->error);
}

static int refuse_change(struct move *m, const struct move_search *search)
{
    return error_set(m->error, CAIRN_EUSAGE,
                     "there is nothing to redo: the board, the messages or the files "
                     "were changed since the restore was undone; `cairn checkpoint "
                     "restore %" PRIu64 "` goes to the state that was there before",
                     search->at.seq);
}

static int redo_restore(struct move *m, const char *id,
                        const struct cairn_restore_options *options)
{
    (void)id;
    (void)options;
    struct move_search search = {.forward = true};
    bool changed = false;
    int rc = search_log(m, &search);
    if (!rc && !search.found)
        return error_set(m->error, CAIRN_EUSAGE,
                         "there is nothing to redo: no restore was undone since the "
                         "last one, or the last change of branches");
    if (!rc)
        rc = find_target(m, &search, &changed);
    if (!rc && changed)
        return refuse_change(m, &search);
    return rc ?: take_up_branch(m) ?: finish(m, VERB_FORWARD, false);
}

int cairn_session_redo_restore(struct cairn_store *store, const char *session,
                               const struct cairn_restore_options *options,
                               struct cairn_restored *report, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_restore_options, options, error);
    struct cairn_restore_options taken = {0};
    if (options) {
        taken.dry_run = options->dry_run;
        taken.kept = options->kept;
        taken.all = options->all;
        taken.others = options->others;
        taken.context = options->context;
    }
    return restore_with(store, session, redo_restore, false, NULL, &taken, report,
                        error);
}

/* ==== Those whose process ended ==== */

/* Restores whose process ended before their files were in place: which there are, and
 * finishing them when somebody asks for it. */

/* The number of a session, and its setting `files`. */
static int find_session(struct cairn_store *store, const char *session,
                        uint64_t *number, struct buf *files, struct cairn_error *error)
{
    struct live live;
    int rc = live_read(&live, store, session, error);
    *number = rc ? 0 : live.row.session;
    if (!rc)
        buf_str(files, live.settings.later[SETTING_FILES]);
    rc = live_close(&live, rc, error);
    return rc ?: buf_check(files, error);
}

struct unfinished_list {
    struct cairn_unfinished_restore *at; /* heap */
    size_t n, room;
    uint64_t current;
    struct cairn_error *error;
};

static int add_unfinished(void *context, const struct pending_told *told)
{
    struct unfinished_list *list = context;
    struct cairn_unfinished_restore *at =
        array_room(list->at, list->n, &list->room, sizeof *at);
    if (!at)
        return error_nomem(list->error);
    list->at = at;
    at += list->n++;
    *at = (struct cairn_unfinished_restore){.session = told->session,
                                            .current = told->session == list->current,
                                            .files = told->files,
                                            .placed = told->placed,
                                            .lost = told->lost};
    snprintf(at->name, sizeof at->name, "%s", told->name);
    if (told->seq)
        checkpoint_number(NAMESPACE_DEBUG, told->seq, at->id);
    return 0;
}

int cairn_restore_unfinished(struct cairn_store *store, const char *session, bool all,
                             int (*each)(void *,
                                         const struct cairn_unfinished_restore *),
                             void *context, struct cairn_error *error)
{
    struct unfinished_list list = {.error = error};
    struct buf files = BUF_INIT;
    uint64_t number = 0;
    int rc = all ? 0 : find_session(store, session, &number, &files, error);
    if (!rc)
        rc = current_session(store, &list.current, error);
    if (rc >= 0)
        rc = pending_each(store, false, number, buf_view(&files), add_unfinished, &list,
                          error);
    for (size_t i = 0; i < list.n && !rc; i++)
        rc = each(context, &list.at[i]);
    free(list.at);
    buf_release(&files);
    return rc;
}

int cairn_restore_finish(struct cairn_store *store, const char *session,
                         struct cairn_error *error)
{
    struct buf files = BUF_INIT;
    uint64_t number;
    if (store_read_only(store) || store_key(store))
        return error_set(error, CAIRN_EUSAGE,
                         "a restore is finished in a store that is open for writing, "
                         "and without a key");
    int rc = find_session(store, session, &number, &files, error)
                 ?: pending_lock(store, error);
    if (!rc) {
        rc = pending_finish(store, true, number, buf_view(&files), error);
        pending_unlock(store);
    }
    buf_release(&files);
    return rc;
}
