/* SPDX-License-Identifier: MIT */
/* The payload kind of sessions: how the chain reads and describes debug records, and
 * what the rows of sessions say about streams. */
#include "checkpoint/sections_int.h"

#include "base/shell_word.h"
#include "base/utf8.h"
#include "storage/sessions/merges.h"

#include <assert.h>
#include <stdio.h>

/* ---- Reading ---- */

int sections_of_record(struct arena *arena, const struct sound_record *record,
                       struct sections *out, struct cairn_error *error)
{
    assert_sound(record);
    assert(record->header.namespace_id == NAMESPACE_DEBUG);
    if (record->header.kind != RECORD_FULL)
        return error_set(error, CAIRN_EDAMAGED,
                         "it is not a full record, as all of sessions are");
    return sections_decode(arena, record->payload, out, error);
}

static void note_frame(const struct sound_record *record, const struct sections *found,
                       struct payload_check *check)
{
    check->base = record->header.seq;
    if (check->frame)
        *check->frame =
            (struct payload_frame){.base = record->header.seq, .size = found->n};
}

static int check_payload(const struct sound_record *record, struct payload_check *check,
                         struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct sections found;
    assert(check->roots == ROOTS_NONE || check->root);
    check->base = 0;
    int rc = sections_of_record(&arena, record, &found, error);
    arena_release(&arena);
    if (rc)
        return rc;
    note_frame(record, &found, check);
    if (check->roots == ROOTS_NONE)
        return 0;
    for (uint32_t i = 0; i < found.n && !rc; i++)
        rc = check->root(check->context, &found.list[i].digest,
                         found.list[i].kind >= SECTION_NODES);
    return rc;
}

/* ---- The state: the newest record ---- */

struct sections_state {
    struct arena arena; /* of `now` */
    struct sections now;
};

static int apply_payload(void *state, const struct sound_record *record,
                         struct payload_check *check, struct cairn_error *error)
{
    struct sections_state *before = state, made = {.arena = ARENA_INIT};
    check->base = 0;
    int rc = sections_of_record(&made.arena, record, &made.now, error);
    if (rc) {
        arena_release(&made.arena);
        return rc;
    }
    note_frame(record, &made.now, check);
    arena_release(&before->arena);
    *before = made;
    return 0;
}

static void release_state(void *state)
{
    struct sections_state *held = state;
    arena_release(&held->arena);
    *held = (struct sections_state){.arena = ARENA_INIT};
}

/* ---- Describing ---- */

enum { TEXT_ROOM = 256 };

/* Cut at a character; the ellipsis says that it was. */
static void put_text(char out[TEXT_ROOM], struct str text)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    bool whole = text.len < TEXT_ROOM;
    size_t n = whole ? text.len : utf8_fit(text, TEXT_ROOM - sizeof ellipsis);
    if (n)
        memcpy(out, text.ptr, n);
    out[n] = 0;
    if (!whole)
        memcpy(out + n, ellipsis, sizeof ellipsis);
}

/* Joined as far as they fit, and what is cut off then shows. */
static void put_tags(char out[TEXT_ROOM], const struct sections *found)
{
    char joined[TEXT_ROOM + 1 + CHECKPOINT_TAG_BYTES];
    size_t n = 0;
    for (uint32_t i = 0; i < found->n_tags && n < TEXT_ROOM; i++) {
        struct str tag = found->tags[i];
        assert(tag.len > 0 && tag.len <= CHECKPOINT_TAG_BYTES);
        if (i)
            joined[n++] = ',';
        memcpy(joined + n, tag.ptr, tag.len);
        n += tag.len;
    }
    put_text(out, (struct str){joined, n});
}

static void describe_sections(const struct sections *found,
                              struct cairn_checkpoint_info *info)
{
    info->trigger = found->trigger;
    put_text(info->message, found->message);
    put_tags(info->tags, found);
}

static int describe_payload(const struct sound_record *record,
                            struct cairn_checkpoint_info *info,
                            struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct sections found;
    int rc = sections_of_record(&arena, record, &found, error);
    if (rc == 0)
        describe_sections(&found, info);
    arena_release(&arena);
    return rc;
}

static void summarize_state(const void *state, struct cairn_checkpoint_info *info)
{
    const struct sections_state *held = state;
    describe_sections(&held->now, info);
}

/* ---- What the rows of sessions say ---- */

struct fork_search {
    payload_fork_fn *each;
    void *context;
    bool stopped;
};

static int note_fork(void *context, const struct branch_row *row)
{
    struct fork_search *search = context;
    struct payload_fork start = {row->from_seq, row->branch, false};
    int rc = row->from_seq ? search->each(search->context, &start) : 0;
    search->stopped = rc != 0;
    return rc;
}

static int take_session(void *context, const struct branch_row *row)
{
    *(uint64_t *)context = row->session;
    return 0;
}

/* What was merged is where the next merge of the two begins. */
static int find_merged(struct cairn_store *store, uint64_t branch,
                       payload_fork_fn *each, void *context, struct cairn_error *error)
{
    struct session_merges merges = {0};
    uint64_t session = 0;
    int rc = store_get_branch(store, branch, take_session, &session, error);
    if (rc == CAIRN_ENOTFOUND)
        return 0;
    if (!rc)
        rc = store_load_merges(store, session, &merges, error);
    for (size_t i = 0; i < merges.n && !rc; i++) {
        struct payload_fork merged = {merges.at[i].head, merges.at[i].into, true};
        rc = each(context, &merged);
    }
    session_merges_release(&merges);
    return rc;
}

/* A row names the record that a branch starts from, not its stream: all are reported.
 */
static int find_forks(struct cairn_store *store, uint64_t branch, payload_fork_fn *each,
                      void *context, struct cairn_error *error)
{
    struct fork_search search = {each, context, false};
    int rc = store_each_branch(store, 0, note_fork, &search, error);
    if (!rc && !search.stopped)
        rc = find_merged(store, branch, each, context, error);
    return rc < 0 ? rc : 0;
}

struct head_of {
    uint64_t branch;
    uint64_t session; /* 0: its work is over */
    char name[256];
    bool current;
};

static int see_branch(void *context, const struct branch_row *row)
{
    struct head_of *head = context;
    if (row->status != BRANCH_GOES_ON)
        return 0;
    head->session = row->session;
    put_text(head->name, clean_str(row->name));
    return 0;
}

static int see_session(void *context, const struct session_row *row)
{
    struct head_of *head = context;
    head->current = row->branch == head->branch;
    return 0;
}

/* The newest record of a branch that is not the current one is all that there is of its
 * state. (Of the current one there are the items.) */
static int keep_newest(struct cairn_store *store, uint64_t branch, uint64_t seq,
                       struct cairn_error *error)
{
    struct head_of head = {.branch = branch};
    char word[SHELL_WORD_ROOM(sizeof head.name)];
    int rc = store_get_branch(store, branch, see_branch, &head, error);
    if (!rc && head.session)
        rc = store_get_session(store, head.session, see_session, &head, error);
    if (rc == CAIRN_ENOTFOUND || (!rc && (!head.session || head.current)))
        return 0;
    if (rc)
        return rc;
    return error_set(
        error, CAIRN_EUSAGE,
        "checkpoint debug:%llu is kept: it is the newest of branch %s, and its only "
        "copy of the state; to give the branch up first: `cairn branch "
        "abandon %s --reason TEXT`",
        (unsigned long long)seq, head.name,
        shell_word_in(word, sizeof word, str_of(head.name)));
}

static int name_branch(void *context, const struct branch_row *row)
{
    struct cairn_checkpoint_info *info = context;
    info->session = row->session;
    put_text(info->branch_name, clean_str(row->name));
    return 0;
}

static int name_session(void *context, const struct session_row *row)
{
    struct cairn_checkpoint_info *info = context;
    put_text(info->session_name, clean_str(row->name));
    return 0;
}

/* A record stands by itself: where the row of its branch or session is damaged or lost,
 * which a verification names, what that says is left out. */
static int identify_branch(struct cairn_store *store,
                           struct cairn_checkpoint_info *info,
                           struct cairn_error *error)
{
    struct cairn_error why = {0};
    int rc = store_get_branch(store, info->branch, name_branch, info, &why);
    if (rc == 0)
        rc = store_get_session(store, info->session, name_session, info, &why);
    if (rc == 0 || rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        return 0;
    return error_set(error, rc, "%s", why.text);
}

/* Nothing takes a branch away but its whole session. */
static int keep_needed(struct cairn_store *store, uint64_t branch,
                       const struct payload_fork *by, struct cairn_error *error)
{
    struct cairn_checkpoint_info own = {.branch = branch},
                                 other = {.branch = by->stream};
    char word[SHELL_WORD_ROOM(TEXT_ROOM)];
    int rc = identify_branch(store, &own, error);
    if (!rc)
        rc = identify_branch(store, &other, error);
    if (rc)
        return rc;
    bool forked = !by->merged && own.session != other.session;
    const char *session = forked ? other.session_name : own.session_name;
    return error_set(
        error, CAIRN_EUSAGE,
        by->merged ? "checkpoint debug:%llu is kept: it was merged into branch %s, and "
                     "later merges begin from it; it can only be deleted with its "
                     "session: `cairn session delete %s`"
        : forked ? "checkpoint debug:%llu is kept: session %s was forked from it, and "
                   "needs it; to delete that session: `cairn session delete %s`"
                 : "checkpoint debug:%llu is kept: branch %s begins at it; it can only "
                   "be deleted with its session: `cairn session delete %s`",
        (unsigned long long)by->seq, forked ? other.session_name : other.branch_name,
        shell_word_in(word, sizeof word, str_of(session)));
}

const struct payload_kind sections_kind = {
    .namespace_id = NAMESPACE_DEBUG,
    .stream_noun = "branch",
    .loss_text = "What it held of its session is lost; the others stand by themselves",
    .restart = "`cairn branch start` begins another one",
    .root_noun = "section",
    .root_loss = "they cannot be restored",
    .part_lost =
        "a repair could not save a part of what it holds: as a whole it cannot "
        "be restored; `cairn checkpoint cat ID FILE` prints a file that is "
        "left",
    .check = check_payload,
    .describe = describe_payload,
    .state_bytes = sizeof(struct sections_state),
    .apply = apply_payload,
    .state_release = release_state,
    .summarize = summarize_state,
    .find_forks = find_forks,
    .keep_needed = keep_needed,
    .keep_newest = keep_newest,
    .identify = identify_branch,
};
