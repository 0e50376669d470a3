/* SPDX-License-Identifier: MIT */
/* Taking restores back, one after the other, and forward again.
 *
 * The log says what there is to take back: a restore and a way forward put something on
 * a stack, a way back takes it off. Read from its end, each way back makes one more of
 * them to be passed over. The same holds the other way round for what can be redone,
 * which ends where anything else was done. */
#include "session/moves/moves_int.h"

#include "base/error.h"
#include "base/reader.h"
#include "base/shell_word.h"
#include "session/board/status.h"
#include "snapshot/restore.h"

#include <inttypes.h>

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
    int rc = snapshot_read(store, before, &arena, &heads[0], error);
    if (!rc)
        rc = snapshot_read(store, after, &arena, &heads[1], error);
    if (!rc)
        rc = compare_files(store, &heads[0].root, &heads[1].root, same, error);
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
    int rc = sections_read(m->live.store, m->live.sha, a, &arena, &one, NULL, &why);
    if (!rc)
        rc = sections_read(m->live.store, m->live.sha, b, &arena, &other, NULL, &why);
    if (!rc)
        rc = same_sections(m->live.store, &one, &other, same, &why);
    if (!rc)
        rc = same_sections(m->live.store, &other, &one, same, &why);
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
    int rc = buf_check(&after, m->error);
    if (!rc)
        rc = move_finish(m, &entry);
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
    int rc = move_read_target(m);
    return rc ? rc : live_branch(&m->live, search->at.branch, &m->to, m->error);
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
    if (!rc)
        rc = read_target(m, &search);
    if (!rc)
        rc = capture_before(&m->live, TRIGGER_BEFORE_RESTORE, NULL, &m->before,
                            m->error);
    if (!rc)
        rc = find_change(m, &search, &changed);
    if (!rc)
        rc = finish(m, VERB_BACK, changed);
    return rc ? rc : abandon_empty(m);
}

int cairn_session_undo_restore(struct cairn_store *store, const char *session,
                               const struct cairn_restore_options *options,
                               struct cairn_restored *report, struct cairn_error *error)
{
    SIZE_CHECK("cairn_restore_options", options, error);
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
        rc = read_target(m, &search);
    if (!rc)
        rc = capture_before(&m->live, TRIGGER_BEFORE_RESTORE, NULL, &m->before,
                            m->error);
    if (!rc)
        rc = find_change(m, &search, &changed);
    if (!rc && changed)
        return refuse_change(m, &search);
    if (!rc)
        rc = take_up_branch(m);
    return rc ? rc : finish(m, VERB_FORWARD, false);
}

int cairn_session_redo_restore(struct cairn_store *store, const char *session,
                               const struct cairn_restore_options *options,
                               struct cairn_restored *report, struct cairn_error *error)
{
    SIZE_CHECK("cairn_restore_options", options, error);
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
