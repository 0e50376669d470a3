/* SPDX-License-Identifier: MIT */
/* Checkpoints of sessions: their bytes, their payload kind, writing and reading them.
 */
#include "checkpoint/sections.h"

#include "checkpoint/chain.h"
#include "checkpoint/nodes/numbered.h"
#include "checkpoint/payload.h"
#include "checkpoint/threads.h"

#include "base/limits.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/words.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/sessions/merges.h"
#include "storage/sessions/rows_session.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>

/* The payload of debug records (sections.h) as bytes. Pure. One function says what is
 * wrong with a value, for writers and readers alike, so that whatever is read could
 * have been written. */

enum { HEAD_VERSION = 1, LINK_ENDS = 3 };

/* ---- What may be stored ---- */

static bool is_text(struct str text, size_t most)
{
    size_t at = 0, size = 1;
    uint32_t code = 1;
    if (text.len > most)
        return false;
    for (; at < text.len && size && code; at += size)
        size = utf8_next(text.ptr + at, text.ptr + text.len, &code);
    return size && code;
}

static const char *fault_of_tag(struct str tag)
{
    if (tag.len == 0)
        return "a tag is empty";
    if (!is_text(tag, CHECKPOINT_TAG_BYTES))
        return "a tag is longer than 256 bytes, or no UTF-8";
    return memchr(tag.ptr, ',', tag.len) ? "a tag has a comma in it" : NULL;
}

static const char *fault_of_link(const struct task_link *link)
{
    if (link->run == 0 || link->run > INT64_MAX || link->seq > INT64_MAX)
        return "its task has a run or a checkpoint that there cannot be";
    if (link->task.len == 0 || !is_text(link->task, LIMIT_ID_BYTES))
        return "the id of its task is empty, longer than 200 bytes, or no UTF-8";
    if (link->end >= LINK_ENDS)
        return "its task has ended in an unknown way";
    if (link->tail.len > CHECKPOINT_TAIL_BYTES)
        return "the end of its task's output is longer than 65536 bytes";
    return NULL;
}

static const char *fault_of_list(const struct sections *s)
{
    if (s->n > SECTIONS_MOST)
        return "it has more than 32 sections";
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->list[i].kind <= (i ? s->list[i - 1].kind : 0))
            return "its sections are not in order";
        if (digest_is_none(&s->list[i].digest))
            return "a section has no digest";
    }
    return NULL;
}

/* NULL: nothing. */
static const char *fault_of(const struct sections *s)
{
    const char *fault = NULL;
    if (!is_text(s->message, CHECKPOINT_MESSAGE_BYTES))
        return "its message is longer than 65536 bytes, or no UTF-8";
    if (s->n_tags > CHECKPOINT_TAGS_MOST)
        return "it has more than 64 tags";
    for (uint32_t i = 0; i < s->n_tags && !fault; i++)
        fault = fault_of_tag(s->tags[i]);
    if (!fault && (s->boot_ns < 0 || !is_text(s->boot, CHECKPOINT_BOOT_BYTES)))
        fault = "its time since the boot, or the boot's id, is out of range";
    if (!fault && s->linked)
        fault = fault_of_link(&s->link);
    return fault ?: fault_of_list(s);
}

/* ---- Writing ---- */

static void put_link(const struct task_link *link, struct buf *out)
{
    buf_varint(out, link->run);
    buf_varint(out, link->seq);
    buf_lstr(out, link->task);
    buf_varint(out, link->attempt);
    buf_byte(out, link->end);
    buf_varint(out, link->code);
    buf_lstr(out, link->tail);
}

static void put_head(const struct sections *s, struct buf *out)
{
    buf_byte(out, HEAD_VERSION);
    buf_lstr(out, s->message);
    buf_varint(out, s->n_tags);
    for (uint32_t i = 0; i < s->n_tags; i++)
        buf_lstr(out, s->tags[i]);
    buf_u64(out, (uint64_t)s->boot_ns);
    buf_lstr(out, s->boot);
    buf_byte(out, s->linked);
    if (s->linked)
        put_link(&s->link, out);
}

static void put_list(const struct sections *s, struct buf *out)
{
    buf_varint(out, s->n);
    for (uint32_t i = 0; i < s->n; i++) {
        buf_byte(out, s->list[i].kind);
        buf_varint(out, s->list[i].n);
        buf_varint(out, s->list[i].last);
        buf_add(out, s->list[i].digest.bytes, DIGEST_SIZE);
    }
}

int sections_encode(const struct sections *sections, struct buf *payload,
                    struct cairn_error *error)
{
    struct buf head = BUF_INIT, list = BUF_INIT;
    const char *fault = fault_of(sections);
    if (fault)
        return error_set(error, CAIRN_EUSAGE, "the checkpoint cannot be stored: %s",
                         fault);
    put_head(sections, &head);
    put_list(sections, &list);
    int rc = buf_check(&head, error)
             ?: buf_check(&list, error)
             ?: payload_sections(sections->trigger, buf_view(&head), &list, payload,
                                 error);
    buf_release(&head);
    buf_release(&list);
    return rc;
}

/* ---- Reading ---- */

static uint32_t read_u32_varint(struct reader *in)
{
    uint64_t value = read_varint(in);
    in->failed = in->failed || value > UINT32_MAX;
    return (uint32_t)value;
}

/* A byte that says whether something follows. */
static bool read_flag(struct reader *in)
{
    uint8_t flag = read_byte(in);
    in->failed = in->failed || flag > 1;
    return flag;
}

static struct str copy_text(struct arena *arena, struct reader *in)
{
    return arena_str(arena, read_lstr(in));
}

static void get_tags(struct arena *arena, struct reader *in, struct sections *s)
{
    uint64_t n = read_varint(in);
    in->failed = in->failed || n > CHECKPOINT_TAGS_MOST;
    s->n_tags = in->failed ? 0 : (uint32_t)n;
    if (s->n_tags)
        s->tags = arena_take(arena, s->n_tags, sizeof *s->tags);
    for (uint32_t i = 0; i < s->n_tags && s->tags; i++)
        s->tags[i] = copy_text(arena, in);
}

static void get_link(struct arena *arena, struct reader *in, struct task_link *link)
{
    link->run = read_varint(in);
    link->seq = read_varint(in);
    link->task = copy_text(arena, in);
    link->attempt = read_u32_varint(in);
    link->end = read_byte(in);
    link->code = read_u32_varint(in);
    link->tail = copy_text(arena, in);
}

static bool get_head(struct arena *arena, struct str head, struct sections *s)
{
    struct reader in = reader_of(head.ptr, head.len);
    in.failed = read_byte(&in) != HEAD_VERSION;
    s->message = copy_text(arena, &in);
    get_tags(arena, &in, s);
    s->boot_ns = (int64_t)read_u64(&in);
    s->boot = copy_text(arena, &in);
    s->linked = read_flag(&in);
    if (s->linked)
        get_link(arena, &in, &s->link);
    return reader_done(&in);
}

static bool get_list(struct str list, struct sections *s)
{
    struct reader in = reader_of(list.ptr, list.len);
    uint64_t n = read_varint(&in);
    if (n > SECTIONS_MOST)
        return false;
    s->n = (uint32_t)n;
    for (uint32_t i = 0; i < s->n; i++) {
        struct section_ref *ref = &s->list[i];
        ref->kind = read_byte(&in);
        ref->n = read_u32_varint(&in);
        ref->last = read_u32_varint(&in);
        struct str digest = read_bytes(&in, DIGEST_SIZE);
        if (digest.len)
            memcpy(ref->digest.bytes, digest.ptr, DIGEST_SIZE);
    }
    return reader_done(&in);
}

int sections_decode(struct arena *arena, struct str payload, struct sections *out,
                    struct cairn_error *error)
{
    struct sections_image image;
    struct sections made = {0};
    int rc = payload_parse_sections(payload, &image, error);
    if (rc)
        return rc;
    made.trigger = image.trigger;
    const char *fault = NULL;
    if (!get_head(arena, image.head, &made))
        fault = "the head of its payload is not whole, or of an unknown version";
    else if (!get_list(image.sections, &made))
        fault = "the list of its sections is not whole";
    sections_image_release(&image);
    if (arena->failed)
        return error_nomem(error);
    if (!fault)
        fault = fault_of(&made);
    if (fault)
        return error_set(error, CAIRN_EDAMAGED, "%s", fault);
    assert(made.n <= SECTIONS_MOST && made.n_tags <= CHECKPOINT_TAGS_MOST);
    *out = made;
    return 0;
}

/* The payload kind of sessions: how the chain reads and describes debug records, and
 * what the rows of sessions say about streams. */

/* ---- Reading ---- */

/* What a record of a thread says of itself, for lists: it has no sections. */
static int sections_of_thread(struct arena *arena, const struct thread_payload *payload,
                              struct sections *out, struct cairn_error *error)
{
    char text[80];
    snprintf(text, sizeof text, "%llu state%s, %llu write%s",
             (unsigned long long)payload->states, payload->states == 1 ? "" : "s",
             (unsigned long long)payload->writes, payload->writes == 1 ? "" : "s");
    *out = (struct sections){.trigger = SECTIONS_OF_THREAD,
                             .message = arena_str(arena, str_of(text)),
                             .boot = STR("")};
    return arena->failed ? error_nomem(error) : 0;
}

/* CAIRN_EDAMAGED also where a record without a base is not a full one, or the other way
 * round. */
static int thread_of_record(const struct sound_record *record,
                            struct thread_payload *payload, struct cairn_error *error)
{
    int rc = thread_payload_parse(record->payload, payload, error);
    if (!rc && ((record->header.kind == RECORD_FULL) != (payload->base == 0) ||
                payload->base >= record->header.seq))
        rc = error_set(error, CAIRN_EDAMAGED,
                       "its full record, of a thread, is not what its header says");
    return rc;
}

/* sections_decode of a record of the namespace: CAIRN_EDAMAGED also if it is not a full
 * one. */
static int sections_of_record(struct arena *arena, const struct sound_record *record,
                              struct sections *out, struct cairn_error *error)
{
    struct thread_payload payload;
    assert_sound(record);
    assert(record->header.namespace_id == NAMESPACE_DEBUG);
    if (thread_is_payload(record->payload))
        return thread_of_record(record, &payload, error)
                   ?: sections_of_thread(arena, &payload, out, error);
    if (record->header.kind != RECORD_FULL)
        return error_set(error, CAIRN_EDAMAGED,
                         "it is not a full record, as all of sessions are");
    return sections_decode(arena, record->payload, out, error);
}

static void note_frame(const struct sound_record *record, const struct sections *found,
                       struct payload_check *check)
{
    struct thread_payload payload;
    check->base = record->header.seq;
    if (record->header.kind != RECORD_FULL) { /* of a thread, and was parsed before */
        int rc = thread_payload_parse(record->payload, &payload, NULL);
        assert(!rc);
        check->base = rc ? 0 : payload.base;
        return;
    }
    if (check->frame)
        *check->frame =
            (struct payload_frame){.base = record->header.seq, .size = found->n};
}

static int each_root(const struct payload_check *check, struct str digests,
                     bool are_nodes)
{
    int rc = 0;
    for (size_t i = 0; i < digests.len && !rc; i += DIGEST_SIZE) {
        struct digest digest;
        memcpy(digest.bytes, digests.ptr + i, DIGEST_SIZE);
        rc = check->root(check->context, &digest, are_nodes);
    }
    return rc;
}

/* What its full record names it needs, too; that one reports it. */
static int check_thread(const struct sound_record *record, struct payload_check *check,
                        struct cairn_error *error)
{
    struct thread_payload payload;
    int rc = thread_of_record(record, &payload, error);
    if (rc)
        return rc;
    check->base = payload.base ? payload.base : record->header.seq;
    if (check->frame && !payload.base)
        *check->frame = (struct payload_frame){.base = check->base};
    if (check->roots == ROOTS_NONE)
        return 0;
    return each_root(check, payload.objects, false)
               ?: each_root(check, payload.nodes, true);
}

static int check_payload(const struct sound_record *record, struct payload_check *check,
                         struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct sections found;
    assert(check->roots == ROOTS_NONE || check->root);
    check->base = 0;
    if (thread_is_payload(record->payload))
        return check_thread(record, check, error);
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

static int see_payload(void *context, const struct checkpoint_row *row)
{
    bool *of_thread = context;
    *of_thread = row->record.len > RECORD_HEADER_BYTES &&
                 thread_is_payload((struct str){row->record.ptr + RECORD_HEADER_BYTES,
                                                row->record.len - RECORD_HEADER_BYTES});
    return 0;
}

/* The newest record of a branch that is not the current one is all that there is of its
 * state. (Of the current one there are the items.) Those of a thread are what its program
 * finds by their keys. */
static int keep_one(struct cairn_store *store, uint64_t branch, uint64_t seq,
                    bool newest, struct cairn_error *error)
{
    struct head_of head = {.branch = branch};
    char word[SHELL_WORD_ROOM(sizeof head.name)];
    bool of_thread = false;
    int rc = store_get_checkpoint(store, seq, see_payload, &of_thread, error);
    if (!rc && of_thread)
        return error_set(error, CAIRN_EUSAGE,
                         "checkpoint debug:%llu is kept: it has states of a thread, "
                         "which only its program deletes, or `cairn session delete`",
                         (unsigned long long)seq);
    if (rc || !newest)
        return rc;
    rc = store_get_branch(store, branch, see_branch, &head, error);
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
    int rc = store_get_branch(store, info->branch, name_branch, info, &why)
                 ?: store_get_session(store, info->session, name_session, info, &why);
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
    int rc =
        identify_branch(store, &own, error) ?: identify_branch(store, &other, error);
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
    .keep_one = keep_one,
    .identify = identify_branch,
};

/* Writing the checkpoints of sessions, and reading them back. Every record is a full
 * one, so that none is needed to read another. */

/* ---- The end of a stream ---- */

struct opening {
    struct chain *head;
    struct arena *arena;
    struct sections *last; /* may be NULL */
    struct cairn_error *error;
};

/* Damage is passed over; `last` is changed only by a record that is taken. */
static int read_newest(const struct opening *o, const struct checkpoint_row *row,
                       struct sound_record *record)
{
    struct sections unused;
    struct cairn_error why = {0};
    int rc =
        row_check(row, o->head->in.sha, record, &why)
            ?: sections_of_record(o->arena, record, o->last ? o->last : &unused, &why);
    if (rc && rc != CAIRN_EDAMAGED)
        return error_set(o->error, rc, "%s", why.text);
    return rc;
}

static int take_newest(void *context, const struct checkpoint_row *row)
{
    const struct opening *o = context;
    struct chain *head = o->head;
    struct sound_record record;
    if (row->stream != head->id || row->namespace_id != NAMESPACE_DEBUG)
        return error_set(o->error, CAIRN_EDAMAGED,
                         "the index of checkpoints leads to a wrong row: run `cairn "
                         "doctor`");
    int rc = read_newest(o, row, &record);
    if (rc)
        return rc == CAIRN_EDAMAGED ? 0 : rc;
    head->parent = head->base = row->seq;
    head->parent_digest = record.digest;
    head->position = record.header.position;
    head->base_bytes = chain_base_bytes(record.bytes, 0);
    return 1;
}

static int note_start(void *context, const struct branch_row *row)
{
    *(uint64_t *)context = row->from_seq;
    return 0;
}

static int take_start(void *context, const struct checkpoint_row *row)
{
    const struct opening *o = context;
    struct chain *head = o->head;
    struct sound_record record;
    struct cairn_error why = {0};
    if (row->namespace_id != NAMESPACE_DEBUG)
        return 0;
    int rc = row_check(row, head->in.sha, &record, &why);
    if (rc)
        return rc == CAIRN_EDAMAGED ? 0 : error_set(o->error, rc, "%s", why.text);
    head->parent = row->seq;
    head->parent_digest = record.digest;
    return 0;
}

/* A branch without a sound record begins at the checkpoint that it starts from. Where
 * that one is damaged or lost, it begins a tree of its own. */
static int begin_branch(struct opening *o)
{
    struct cairn_store *store = o->head->in.store;
    uint64_t from = 0;
    assert(o->head->position == 0);
    int rc = store_get_branch(store, o->head->id, note_start, &from, o->error);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(o->error, rc, "there is no branch %llu",
                         (unsigned long long)o->head->id);
    if (rc == 0 && from)
        rc = store_get_checkpoint(store, from, take_start, o, o->error);
    return rc == CAIRN_ENOTFOUND ? 0 : rc;
}

int sections_open(struct cairn_store *store, struct sha256 *sha, uint64_t branch,
                  struct chain *head, struct arena *arena, struct sections *last,
                  struct cairn_error *error)
{
    struct chain made = {.in = {store, sha, &sections_kind}, .id = branch};
    struct opening o = {&made, arena, last, error};
    struct checkpoint_range newest = {
        .namespace_id = NAMESPACE_DEBUG, .stream = branch, .descending = true};
    if (branch == 0) /* it would mean the streams of all branches */
        return error_set(error, CAIRN_ENOTFOUND, "there is no branch 0");
    int rc = store_each_checkpoint(store, &newest, take_newest, &o, error);
    if (rc == 0 && made.position == 0)
        rc = begin_branch(&o);
    if (rc < 0)
        return rc;
    assert_chain(&made);
    *head = made;
    return 0;
}

/* ---- Appending ---- */

int sections_append(struct chain *head, const struct sections *sections,
                    int64_t time_ns, struct checkpoint_ref *ref,
                    struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    assert(head->in.kind == &sections_kind);
    if (store_key(head->in.store))
        return error_set(error, CAIRN_EUSAGE,
                         "sessions are not keyed: their checkpoints are made without "
                         "--key and CAIRN_KEY");
    int rc = sections_encode(sections, &bytes, error);
    if (rc == 0) {
        struct chain_payload payload = {
            .bytes = buf_view(&bytes), .full = true, .time_ns = time_ns};
        rc = chain_append(head, &payload, ref, error);
    }
    buf_release(&bytes);
    return rc;
}

/* ---- Reading ---- */

struct reading {
    struct sha256 *sha;
    struct arena *arena;
    struct sections *out;
    struct sections_at at;
    bool ours;
    struct cairn_error *error;
};

static int read_row(void *context, const struct checkpoint_row *row)
{
    struct reading *reading = context;
    struct sound_record record;
    if (row->namespace_id != NAMESPACE_DEBUG)
        return 0;
    reading->ours = true;
    int rc = row_verify(row, reading->sha, &record, reading->error);
    if (rc)
        return rc;
    rc = sections_of_record(reading->arena, &record, reading->out, reading->error);
    if (rc)
        return rc == CAIRN_EDAMAGED ? row_blame(row, reading->error) : rc;
    reading->at = (struct sections_at){.ref = {row->seq, record.digest},
                                       .branch = row->stream,
                                       .parent = row->parent,
                                       .time_ns = row->time_ns};
    return 0;
}

static int note_session(void *context, const struct branch_row *row)
{
    *(uint64_t *)context = row->session;
    return 0;
}

static int find_session(struct cairn_store *store, struct sections_at *at,
                        struct cairn_error *error)
{
    struct cairn_error why = {0};
    int rc = store_get_branch(store, at->branch, note_session, &at->session, &why);
    if (rc == 0 || rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        return 0;
    return error_set(error, rc, "%s", why.text);
}

int sections_read(struct cairn_store *store, struct sha256 *sha, uint64_t seq,
                  struct arena *arena, struct sections *out, struct sections_at *at,
                  struct cairn_error *error)
{
    struct sections made;
    struct reading reading = {.sha = sha, .arena = arena, .out = &made, .error = error};
    int rc = store_get_checkpoint(store, seq, read_row, &reading, error);
    if (rc == CAIRN_ENOTFOUND || (rc == 0 && !reading.ours))
        return error_set(error, CAIRN_ENOTFOUND, "there is no checkpoint debug:%llu",
                         (unsigned long long)seq);
    if (rc == 0 && at)
        rc = find_session(store, &reading.at, error);
    if (rc)
        return rc;
    *out = made;
    if (at)
        *at = reading.at;
    return 0;
}

int section_read(struct cairn_store *store, const struct section_ref *ref,
                 struct buf *out, struct cairn_error *error)
{
    const struct numbered tree = {ref->digest, ref->n};
    if (section_is_tree(ref))
        return numbered_read(store, &tree, out, error);
    return store_get_object(store, &ref->digest, out, error);
}
