/* SPDX-License-Identifier: MIT */
/* The rows that a verification reads: items and messages of sessions, runs, and every
 * record by seq. */
#include "checkpoint/verify/lost_items.h"

#include "checkpoint/messages/line.h"
#include "checkpoint/sections.h"
#include "checkpoint/thread_index.h"
#include "checkpoint/tombstones_int.h"
#include "checkpoint/verify/verify_int.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/str.h"
#include "storage/health.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_lost.h"
#include "storage/rows_run.h"
#include "storage/sessions/rows_message.h"
#include "storage/sessions/rows_session.h"
#include "storage/store.h"

#include <assert.h>
#include <stdlib.h>

/* Which items are missing: lost_items.h.
 *
 * The log is read from its end. The first row about an item that is not there says what
 * became of it: it was put, and so may be missing, or it was removed. Where a
 * checkpoint was made or restored, the items that no later row is about were as that
 * one has them. If the sums of all that were put add up to what is missing, it is
 * these. */

/* Of this many checkpoints the items are tried. */
enum { CHECKPOINTS_TRIED = 4 };

/* An item that is not there, by the last row about it. */
struct met {
    struct item_row row;
    uint64_t turn;
    bool put; /* else removed */
};

enum { IS_THERE = MAP_NONE - 1 };

struct search {
    struct cairn_store *store;
    struct sha256 *sha;
    uint64_t session;
    struct arena *arena;
    struct row_tally missing; /* what is not there */
    struct map known;         /* items to their indexes in `met`, or IS_THERE */
    struct met *met;
    size_t n, room;
    int checkpoints;
    bool found; /* all that were put are missing */
    struct cairn_error *error;
};

/* ---- Items that were met ---- */

struct item_key {
    char bytes[5];
};

static struct str key_of(const struct item_row *row, struct item_key *key)
{
    key->bytes[0] = (char)row->kind;
    for (int i = 0; i < 4; i++)
        key->bytes[i + 1] = (char)(row->n >> 8 * i);
    return (struct str){key->bytes, sizeof key->bytes};
}

static uint32_t find_item(const struct search *s, const struct item_row *row)
{
    struct item_key key;
    return map_get(&s->known, key_of(row, &key));
}

static int note_item(struct search *s, const struct item_row *row, uint32_t index)
{
    struct item_key key;
    struct str kept = arena_str(s->arena, key_of(row, &key));
    int rc = s->arena->failed ? CAIRN_ENOMEM : map_add(&s->known, kept, index, NULL);
    return rc < 0 ? error_nomem(s->error) : 0;
}

static int note_present(void *context, const struct item_row *row)
{
    return note_item(context, row, IS_THERE);
}

static int add_met(struct search *s, const struct item_row *row, uint64_t turn,
                   bool put)
{
    struct met *at = array_room(s->met, s->n, &s->room, sizeof *at);
    if (!at)
        return error_nomem(s->error);
    s->met = at;
    s->met[s->n] = (struct met){*row, turn, put};
    s->met[s->n++].row.body = arena_str(s->arena, row->body);
    return s->arena->failed ? error_nomem(s->error) : 0;
}

static bool is_complete(const struct search *s)
{
    struct row_tally sum = {0};
    for (size_t i = 0; i < s->n; i++)
        if (s->met[i].put)
            store_item_tally(s->store, &s->met[i].row, &sum);
    return tally_same(&sum, &s->missing);
}

/* One that is missing alone is known by its sum, whatever became of the others. 1: it
 * is that one. */
static int try_alone(struct search *s, const struct item_row *row)
{
    struct row_tally one = {0};
    if (s->missing.n == 1)
        store_item_tally(s->store, row, &one);
    if (!one.n || !tally_same(&one, &s->missing))
        return 0;
    s->n = 0;
    int rc = add_met(s, row, 0, true);
    s->found = rc == 0;
    return rc ? rc : 1;
}

/* ---- Checkpoints ---- */

/* An item of one, if no row of the log that came later is about it. */
static int see_item(struct search *s, const struct item_row *row)
{
    if (find_item(s, row) != MAP_NONE)
        return 0;
    return try_alone(s, row) ?: add_met(s, row, 0, true);
}

/* The others are a line of messages and trees of files. */
static bool has_items(const struct section_ref *ref)
{
    return ref->kind != SECTION_MESSAGES && ref->kind != SECTION_NODES;
}

/* As session/board/item.h has them: a varint number of items, then for each a varint
 * number and an lstr body. */
static int see_section(struct search *s, const struct section_ref *ref)
{
    struct buf content = BUF_INIT;
    int rc = section_read(s->store, ref, &content, s->error);
    struct reader in = reader_of(content.data, content.size);
    uint64_t left = rc ? 0 : read_varint(&in);
    for (; left > 0 && !rc; left--) {
        uint64_t n = read_varint(&in);
        struct str body = read_lstr(&in);
        if (in.failed || n > UINT32_MAX)
            break;
        const struct item_row row = {.session = s->session,
                                     .kind = section_holds(ref),
                                     .n = (uint32_t)n,
                                     .body = body};
        rc = see_item(s, &row);
    }
    buf_release(&content);
    return rc;
}

static bool is_damage(int rc)
{
    return rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND || rc == CAIRN_ENEWER;
}

/* With the items of a checkpoint; without them again if that does not fit. 1: found. */
static int try_checkpoint(struct search *s, uint64_t seq)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    size_t before = s->n;
    int rc = sections_read(s->store, s->sha, seq, &arena, &sections, NULL, s->error);
    for (uint32_t i = 0; !rc && i < sections.n; i++)
        if (has_items(&sections.list[i]))
            rc = see_section(s, &sections.list[i]);
    arena_release(&arena);
    if (s->found || (rc && !is_damage(rc)))
        return rc;
    s->found = !rc && is_complete(s);
    if (s->found)
        return 1;
    s->n = before;
    return ++s->checkpoints >= CHECKPOINTS_TRIED;
}

/* ---- The log ---- */

/* Turns come from the last one back, the rows of one from the first one on. */
static int see_change(struct search *s, const struct item_row *row, uint64_t turn,
                      bool put)
{
    uint32_t known = find_item(s, row);
    if (known == IS_THERE)
        return 0;
    int rc = put ? try_alone(s, row) : 0;
    if (rc || (known != MAP_NONE && s->met[known].turn != turn))
        return rc;
    if (known == MAP_NONE) {
        return note_item(s, row, (uint32_t)s->n) ?: add_met(s, row, turn, put);
    }
    s->met[known].put = put;
    s->met[known].row.body = arena_str(s->arena, row->body);
    return s->arena->failed ? error_nomem(s->error) : 0;
}

/* 1: no more is to be read. */
static int see_row(void *context, const struct session_log_row *row)
{
    struct search *s = context;
    const struct item_row item = {.session = s->session,
                                  .kind = row->kind,
                                  .n = (uint32_t)row->number,
                                  .body = row->after};
    if (row->verb == SESSION_LOG_CHECKPOINT || row->verb == SESSION_LOG_RESTORED)
        return try_checkpoint(s, row->number);
    if ((row->verb != SESSION_LOG_PUT && row->verb != SESSION_LOG_REMOVED) ||
        row->number > UINT32_MAX)
        return 0;
    return see_change(s, &item, row->turn, row->verb == SESSION_LOG_PUT);
}

static int search_log(struct search *s)
{
    int rc = store_each_item(s->store, s->session, note_present, s, s->error);
    if (rc && rc != CAIRN_EDAMAGED)
        return rc;
    rc = store_each_session_log(s->store, s->session, INT64_MAX, true, see_row, s,
                                s->error);
    if (rc && rc != CAIRN_EDAMAGED)
        return rc;
    s->found = s->found || is_complete(s);
    return 0;
}

int lost_items_find(struct cairn_store *store, struct sha256 *sha, uint64_t session,
                    struct lost_items *out, struct cairn_error *error)
{
    struct cairn_error why = {0};
    struct row_tally due, found;
    *out = (struct lost_items){.arena = ARENA_INIT};
    struct search s = {.store = store,
                       .sha = sha,
                       .session = session,
                       .arena = &out->arena,
                       .error = &why};
    int rc = store_tally(store, TALLY_ITEMS, session, &due, &why)
                 ?: store_tally_rows(store, TALLY_ITEMS, session, &found, &why);
    if (!rc && found.n < due.n) {
        s.missing = (struct row_tally){due.n - found.n, due.sum ^ found.sum};
        rc = search_log(&s);
    }
    if (!rc && s.found) {
        out->at = arena_take(&out->arena, s.n, sizeof *out->at);
        rc = out->at ? 0 : error_nomem(&why);
    }
    for (size_t i = 0; !rc && s.found && i < s.n; i++)
        if (s.met[i].put)
            out->at[out->n++] = s.met[i].row;
    free(s.met);
    map_release(&s.known);
    if (is_damage(rc))
        return 0;
    return rc ? error_set(error, rc, "%s", why.text) : 0;
}

void lost_items_release(struct lost_items *items)
{
    arena_release(&items->arena);
    *items = (struct lost_items){.arena = ARENA_INIT};
}

/* Messages of sessions: that each row follows the one that it names, and that the lines
 * of checkpoints end where they say. */

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
        rc = message_line_decode(buf_view(&content), &line, why)
                 ?: message_line_check(v->store, session, &line, whole, why);
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

/* Lines of messages, and that those of checkpoints fit them. Damaged rows were reported
 * before. */
static int verify_messages(struct verifier *v)
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

static int report_index(void *context, const struct thread_index_difference *found)
{
    struct verifier *v = context;
    int space = (int)(found->space.len < 80 ? found->space.len : 80),
        id = (int)(found->id.len < 80 ? found->id.len : 80);
    v->result.damaged++;
    return verify_report(
        v, 0, NULL,
        "the index of the thread on branch %llu differs from its records in %llu "
        "state%s, the first of which (space \"%.*s\", id \"%.*s\") %s: `cairn doctor "
        "--repair` makes the index again",
        (unsigned long long)found->branch, (unsigned long long)found->keys,
        found->keys == 1 ? "" : "s", space, found->space.ptr, id, found->id.ptr,
        !found->in_records ? "no record has"
        : found->in_index  ? "other records have"
                           : "the index lacks");
}

int verify_threads(struct verifier *v)
{
    return knows_sessions(v)
               ? thread_index_compare(v->store, v->sha, report_index, v, v->error)
               : 0;
}

int verify_messages_at(struct verifier *v, uint64_t seq)
{
    return knows_sessions(v) ? check_checkpoint(v, seq, true) : 0;
}

/* Verifying the rows of runs, and other rows that refer to records and objects. */

/* ---- The rows of runs ---- */

/* With a key its records are reported instead. */
static int check_hmac(struct verifier *v, const struct run_row *row)
{
    assert(row->sum_ok);
    if (store_key(v->store) || !verify_is_refused(v, NAMESPACE_WORKFLOW, row->run))
        return 0;
    v->result.damaged++;
    return verify_report(
        v, 0, NULL,
        "the row of run %llu has no HMAC, but its checkpoints have: it "
        "was changed or forged, and resume refuses the run",
        (unsigned long long)row->run);
}

static int check_run(void *context, const struct run_row *row)
{
    struct verifier *v = context;
    unsigned long long run = row->run;
    if (row->sum_ok)
        return check_hmac(v, row);
    v->result.damaged++;
    if (!row->bytes_ok)
        return verify_report(v, 0, NULL,
                             "the row of run %llu is damaged: its checksum does not "
                             "match",
                             run);
    return verify_report_as(v, CAIRN_PROBLEM_HMAC, 0, NULL,
                            "the row of run %llu is not to be believed, and resume "
                            "refuses the run: its HMAC is not of this key: it was "
                            "changed or forged, or made again by a repair, or the key "
                            "is another one",
                            run);
}

int verify_runs(struct verifier *v)
{
    struct run_filter every = {.ascending = true};
    assert(!v->stop);
    return store_each_run(v->store, &every, check_run, v, v->error);
}

/* ---- Other rows, and what they refer to ---- */

static int bad_row(void *context, const struct bad_row *row)
{
    struct verifier *v = context;
    if (row->hmac && verify_is_unkeyed(v, NAMESPACE_WORKFLOW, row->run))
        return 0;
    v->result.damaged++;
    if (row->hmac)
        return verify_report_as(v, CAIRN_PROBLEM_HMAC, 0, NULL,
                                "%s is not carried out and does not count: it has no "
                                "HMAC of this key",
                                row->what);
    return verify_report(v, 0, NULL, "%s is damaged: its checksum does not match",
                         row->what);
}

static int missing_checkpoint(void *context, uint64_t run, uint64_t seq)
{
    struct verifier *v = context;
    if (seqs_has(&v->damaged, seq))
        return 0; /* already reported */
    char number[CAIRN_ID_MAX];
    checkpoint_number(NAMESPACE_WORKFLOW, seq, number);
    return verify_report(v, seq, number,
                         "the record is missing: an attempt of run %llu names it as "
                         "that of its end, and it was not deleted by cairn",
                         (unsigned long long)run);
}

static int missing_object(void *context, const char *hex)
{
    struct verifier *v = context;
    char root[DIGEST_HEX_SIZE];
    for (size_t i = 0; i < v->n_roots; i++) {
        digest_hex(&v->roots[i].digest, root);
        if (strcmp(root, hex) == 0)
            return 0; /* verify_roots reports it */
    }
    v->result.bad_objects++;
    return verify_report(v, 0, NULL,
                         "object %s is missing: a run or an attempt refers to it", hex);
}

static int missing_run(void *context, uint64_t run)
{
    struct verifier *v = context;
    uint64_t last = 0;
    int rc = store_last_seq(v->store, NAMESPACE_WORKFLOW, run, &last, v->error);
    if (rc || seqs_has(&v->damaged, last))
        return rc; /* a damaged column may name the wrong run */
    v->result.damaged++;
    return verify_report(
        v, 0, NULL,
        "the row of run %llu is missing: there are checkpoints or other "
        "rows of the run, and it was not removed by cairn",
        (unsigned long long)run);
}

static int bare_run(void *context, uint64_t run)
{
    struct verifier *v = context;
    v->result.damaged++;
    return verify_report(v, 0, NULL,
                         "run %llu has no checkpoint, and none of it was deleted by "
                         "cairn: its checkpoints are missing",
                         (unsigned long long)run);
}

static int missing_graph(void *context, uint64_t run, uint64_t gen)
{
    struct verifier *v = context;
    v->result.damaged++;
    return verify_report(
        v, 0, NULL,
        "the graph of run %llu, generation %llu, is missing: it was not "
        "removed by cairn",
        (unsigned long long)run, (unsigned long long)gen);
}

static int missing_session(void *context, uint64_t session)
{
    struct verifier *v = context;
    v->result.damaged++;
    return verify_report(v, 0, NULL,
                         "the row of session %llu is missing: other rows name it",
                         (unsigned long long)session);
}

static int missing_branch(void *context, uint64_t branch, uint64_t session)
{
    struct verifier *v = context;
    v->result.damaged++;
    return verify_report(v, 0, NULL,
                         "the row of branch %llu is missing: session %llu names it",
                         (unsigned long long)branch, (unsigned long long)session);
}

/* "; they are kind 6, number 3": as far as it can be told. */
static int add_lost_items(struct verifier *v, const struct tally_gap *gap,
                          struct buf *text)
{
    enum { NAMED = 8 };
    struct lost_items lost;
    int rc = gap->of == TALLY_ITEMS
                 ? lost_items_find(v->store, v->sha, gap->scope, &lost, v->error)
                 : 0;
    if (rc || gap->of != TALLY_ITEMS)
        return rc;
    for (size_t i = 0; i < lost.n && i < NAMED; i++)
        buf_format(text, "%s kind %u, number %u", i ? ";" : ":", lost.at[i].kind,
                   lost.at[i].n);
    if (lost.n > NAMED)
        buf_text(text, "; ...");
    lost_items_release(&lost);
    return 0;
}

static int missing_rows(void *context, const struct tally_gap *gap)
{
    struct verifier *v = context;
    struct buf text = BUF_INIT;
    buf_text(&text, gap->text);
    int rc = add_lost_items(v, gap, &text);
    buf_add(&text, "", 1);
    if (!rc)
        rc = buf_check(&text, v->error);
    if (!rc) {
        v->result.damaged++;
        rc = verify_report(v, 0, NULL, "%s", text.data);
    }
    buf_release(&text);
    return rc;
}

static int misnamed(void *context, const char *text)
{
    struct verifier *v = context;
    v->result.damaged++;
    return verify_report(v, 0, NULL, "%s", text);
}

/* A damaged row may name any session. */
static int verify_other_rows(struct verifier *v)
{
    uint64_t before = v->result.damaged;
    int rc = store_verify_rows(v->store, bad_row, v, v->error);
    if (rc >= 0 && !v->stop && v->result.damaged == before)
        rc = store_each_lost_session(v->store, missing_session, v, v->error);
    if (rc >= 0 && !v->stop && v->result.damaged == before)
        rc = store_each_lost_branch(v->store, missing_branch, v, v->error);
    if (rc >= 0 && !v->stop && v->result.damaged == before)
        rc = store_each_tally_gap(v->store, missing_rows, v, v->error);
    if (rc >= 0 && !v->stop && v->result.damaged == before)
        rc = store_verify_naming(v->store, misnamed, v, v->error);
    if (rc >= 0 && !v->stop && v->result.damaged == before)
        rc = verify_messages(v);
    return rc;
}

int verify_run_rows(struct verifier *v)
{
    int rc = verify_other_rows(v);
    seqs_sort(&v->damaged);
    if (rc >= 0 && !v->stop)
        rc = store_each_orphan(v->store, missing_run, v, v->error);
    if (rc >= 0 && !v->stop)
        rc = store_each_bare_run(v->store, bare_run, v, v->error);
    if (rc >= 0 && !v->stop)
        rc = store_each_lost_gen(v->store, missing_graph, v, v->error);
    if (rc >= 0 && !v->stop)
        rc = store_each_lost_checkpoint(v->store, missing_checkpoint, v, v->error);
    if (rc >= 0 && !v->stop)
        rc = store_each_lost_object(v->store, missing_object, v, v->error);
    return rc;
}

/* The pass over all rows by seq. It keeps one small state per stream, so memory grows
 * with the number of runs, not of checkpoints.
 *
 * * A record that follows a damaged one is not damaged itself: links are compared only
 * between sound records, and a link to any other record becomes a question for later.
 */

struct stream_state {
    uint8_t namespace_id;
    uint64_t stream;
    uint64_t seq; /* of the newest sound record, 0: none yet */
    struct digest digest;
    uint64_t position;
    uint64_t skipped;           /* damaged and deleted ones since */
    uint64_t damaged;           /* of these the damaged ones */
    struct payload_frame frame; /* of the newest sound full record */
    uint64_t asked;             /* base already asked about */
    size_t tombstone;           /* the next one, index into verifier.tombstones */
    const struct tombstone_row *passed; /* newest one since the sound record */
};

/* ---- States of streams ---- */

static int add_stream(struct verifier *v, uint8_t namespace_id, uint64_t stream)
{
    struct stream_state *streams =
        array_room(v->streams, v->n_streams, &v->stream_room, sizeof *streams);
    if (!streams)
        return CAIRN_ENOMEM;
    v->streams = streams;
    /* Sessions have no key. */
    if (store_key(v->store) && namespace_id == NAMESPACE_DEBUG) {
        v->result.unkeyed_runs++;
        v->result.unkeyed_branches++;
    }
    v->streams[v->n_streams++] = (struct stream_state){
        .namespace_id = namespace_id,
        .stream = stream,
        .tombstone = tombstones_of(&v->tombstones, namespace_id, stream)};
    return 0;
}

static int find_stream(struct verifier *v, uint8_t namespace_id, uint64_t stream,
                       struct stream_state **out)
{
    char bytes[sizeof stream + 1];
    memcpy(bytes, &stream, sizeof stream);
    bytes[sizeof stream] = (char)namespace_id;
    struct str key = {bytes, sizeof bytes};
    uint32_t index = map_get(&v->stream_index, key);
    if (index == MAP_NONE) {
        index = (uint32_t)v->n_streams;
        key = arena_str(&v->keys, key);
        if (!key.ptr || map_add(&v->stream_index, key, index, NULL) < 0 ||
            add_stream(v, namespace_id, stream) < 0) {
            error_nomem(v->error);
            return CAIRN_ENOMEM;
        }
    }
    assert(index < v->n_streams);
    *out = &v->streams[index];
    assert((*out)->stream == stream && (*out)->namespace_id == namespace_id);
    return 0;
}

void verify_rows_release(struct verifier *v)
{
    free(v->streams);
    map_release(&v->stream_index);
    arena_release(&v->keys);
}

/* ---- Damaged rows ---- */

static int note_damaged(struct verifier *v, uint8_t namespace_id, uint64_t stream)
{
    struct stream_state *seen;
    int rc = find_stream(v, namespace_id, stream, &seen);
    if (rc)
        return rc;
    seen->skipped++;
    seen->damaged++;
    assert(seen->damaged <= seen->skipped);
    return 0;
}

static int report_row(struct verifier *v, const struct checkpoint_row *row,
                      const char *reason)
{
    struct record_header header;
    struct str payload;
    int rc = note_damaged(v, row->namespace_id, row->stream);
    /* A wrong column: the header says which stream the record belongs to. */
    if (rc == 0 &&
        record_decode(row->record, row->digest, v->sha, &header, &payload, NULL) == 0) {
        if (header.stream != row->stream || header.namespace_id != row->namespace_id)
            rc = note_damaged(v, header.namespace_id, header.stream);
        if (rc == 0 && header.seq != row->seq && seqs_add(&v->damaged, header.seq))
            rc = error_nomem(v->error);
    }
    if (rc)
        return rc;
    bool unkeyed = verify_is_unkeyed(v, row->namespace_id, row->stream);
    bool forged = !unkeyed && verify_only_hmac_fails(v, row);
    return verify_damaged(v, forged ? CAIRN_PROBLEM_HMAC : CAIRN_PROBLEM_DAMAGE, row,
                          reason);
}

/* ---- Payloads ---- */

struct root_context {
    struct verifier *v;
    uint8_t namespace_id;
    uint64_t seq;
};

static int note_root(void *context, const struct digest *digest, bool is_node)
{
    const struct root_context *note = context;
    return verify_note_root(note->v, note->namespace_id, note->seq, digest, is_node);
}

/* Its full record is not the newest one of the stream. */
static int question_base(struct verifier *v, struct stream_state *seen,
                         const struct sound_record *record, uint64_t base)
{
    struct question question = {.namespace_id = record->header.namespace_id,
                                .stream = record->header.stream,
                                .seq = record->header.seq,
                                .target = base,
                                .base = true};
    assert(base > seen->frame.base);
    checkpoint_id(question.namespace_id, question.seq, &record->digest, question.id);
    seen->asked = base;
    return verify_add_question(v, &question);
}

static int check_payload(struct verifier *v, struct stream_state *seen,
                         const struct sound_record *record, struct cairn_error *reason)
{
    uint8_t namespace_id = record->header.namespace_id;
    const struct payload_kind *kind = kind_of(v->kinds, namespace_id);
    struct root_context note = {v, namespace_id, record->header.seq};
    assert(namespace_id <= NAMESPACE_DEBUG);
    struct payload_check check = {.frame = &seen->frame,
                                  .roots = ROOTS_NEEDED,
                                  .root = note_root,
                                  .context = &note};
    if (!kind) {
        v->unread[namespace_id]++;
        return 0;
    }
    int rc = kind->check(record, &check, reason);
    if (rc)
        return rc == CAIRN_ENOMEM ? error_nomem(reason) : rc;
    assert(record->header.kind != RECORD_FULL || check.base == record->header.seq);
    if (check.base < seen->frame.base)
        return error_set(reason, CAIRN_EDAMAGED,
                         "it belongs to full record %llu, but %llu is a newer one",
                         (unsigned long long)check.base,
                         (unsigned long long)seen->frame.base);
    if (check.base == seen->frame.base || check.base == seen->asked)
        return 0;
    return question_base(v, seen, record, check.base) ? error_nomem(reason) : 0;
}

/* ---- Deleted ranges ---- */

/* The record before the range, if it is still there, must be the one it names. */
static bool before_matches(const struct stream_state *seen,
                           const struct tombstone_row *t)
{
    if (seen->passed)
        return digest_equal(&t->before, &seen->passed->after);
    return seen->seq == 0 || digest_equal(&t->before, &seen->digest);
}

struct change_check {
    struct verifier *v;
    struct stream_state *seen;
    struct cairn_error reason;
};

/* Its checksum held: what is wrong with the rest is damage that only shows here. */
static int check_change_record(void *context, const struct tombstone_row *t,
                               const struct sound_record *record)
{
    struct change_check *check = context;
    char number[CAIRN_ID_MAX];
    int rc = check_payload(check->v, check->seen, record, &check->reason);
    if (rc != CAIRN_EDAMAGED)
        return rc;
    checkpoint_number(t->namespace_id, t->last, number);
    return verify_report(check->v, t->last, number,
                         "the note about the deleted checkpoints %llu to %llu is "
                         "damaged: %s",
                         (unsigned long long)t->first, (unsigned long long)t->last,
                         check->reason.text);
}

static int check_change(struct verifier *v, struct stream_state *seen,
                        const struct tombstone_row *t)
{
    struct change_check check = {v, seen, {0}};
    if (!t->change_bytes)
        return 0;
    int rc = change_read(v->store, t, check_change_record, &check, &check.reason);
    if (rc == CAIRN_EDAMAGED) /* verify_run_rows reports it */
        return 0;
    return rc < 0 ? error_set(v->error, rc, "%s", check.reason.text) : rc;
}

static int pass_tombstones(struct verifier *v, struct stream_state *seen, uint64_t seq)
{
    const struct tombstones *all = &v->tombstones;
    char number[CAIRN_ID_MAX];
    assert(seen->tombstone <= all->n && seen->damaged <= seen->skipped);
    for (; seen->tombstone < all->n; seen->tombstone++) {
        const struct tombstone_row *t = &all->at[seen->tombstone];
        unsigned long long first = t->first, last = t->last;
        if (t->namespace_id != seen->namespace_id || t->stream != seen->stream ||
            t->first > seq)
            return 0;
        if (t->last >= seq) {
            checkpoint_number(seen->namespace_id, seq, number);
            return verify_report(v, seq, number,
                                 "it lies in the range %llu to %llu, which is recorded "
                                 "as deleted",
                                 first, last);
        }
        int rc = 0;
        checkpoint_number(seen->namespace_id, last, number);
        if (seen->damaged == 0 && !before_matches(seen, t))
            rc = verify_report(v, last, number,
                               "the note about the deleted checkpoints %llu to %llu "
                               "does not fit the record before them",
                               first, last);
        if (rc)
            return rc;
        seen->skipped += t->count;
        seen->passed = t;
        rc = check_change(v, seen, t);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- Links ---- */

static int check_link(struct verifier *v, struct stream_state *seen,
                      const struct checkpoint_row *row,
                      const struct sound_record *checked)
{
    const struct record_header *h = &checked->header;
    struct question question = {.namespace_id = row->namespace_id,
                                .stream = row->stream,
                                .seq = row->seq,
                                .target = row->parent,
                                .digest = h->parent};
    assert(h->seq == row->seq && h->stream == row->stream);
    row_id(row, question.id);
    if (h->position <= seen->position)
        return verify_report(v, row->seq, question.id,
                             "its position in the stream, %llu, does not follow %llu",
                             (unsigned long long)h->position,
                             (unsigned long long)seen->position);
    uint64_t missing = h->position - seen->position - 1;
    question.gap = missing > seen->skipped ? missing - seen->skipped : 0;
    if (row->parent == 0 && question.gap == 0)
        return 0;
    if (row->parent != seen->seq || row->parent == 0)
        return verify_add_question(v, &question);
    if (!digest_equal(&h->parent, &seen->digest))
        return verify_report(v, row->seq, question.id,
                             "its parent digest is not that of checkpoint %llu",
                             (unsigned long long)row->parent);
    return question.gap ? verify_add_question(v, &question) : 0;
}

/* ---- The pass ---- */

/* A run that was recorded without a key is not damaged because of that; but then none
 * of its records has an HMAC. */
static int check_record(struct verifier *v, const struct checkpoint_row *row,
                        struct sound_record *checked, struct cairn_error *reason)
{
    bool unkeyed = row->key && verify_is_unkeyed(v, row->namespace_id, row->stream);
    int rc = unkeyed ? row_check_bytes(row, v->sha, checked, reason)
                     : row_check(row, v->sha, checked, reason);
    if (rc)
        return rc;
    bool keyed = checked->header.flags & RECORD_KEYED;
    assert(!row->key || unkeyed || keyed || row->namespace_id == NAMESPACE_DEBUG);
    if (unkeyed && keyed)
        return error_set(reason, CAIRN_EDAMAGED,
                         "it has an HMAC, but the row of its run has none any more");
    v->result.hmacs += keyed;
    v->result.unchecked_hmacs += keyed && !row->key;
    return 0;
}

static int check_row(void *context, const struct checkpoint_row *row)
{
    struct verifier *v = context;
    struct stream_state *seen;
    struct sound_record checked;
    struct cairn_error reason = {0};
    v->result.checked++;
    int rc = check_record(v, row, &checked, &reason);
    if (rc)
        return rc == CAIRN_EDAMAGED ? report_row(v, row, reason.text) : rc;
    rc = find_stream(v, row->namespace_id, row->stream, &seen)
             ?: pass_tombstones(v, seen, row->seq);
    if (rc)
        return rc;
    rc = check_payload(v, seen, &checked, &reason);
    if (rc == CAIRN_EDAMAGED)
        return report_row(v, row, reason.text);
    if (rc)
        return error_set(v->error, rc, "%s", reason.text);
    rc = check_link(v, seen, row, &checked);
    seen->seq = row->seq;
    seen->digest = checked.digest;
    seen->position = checked.header.position;
    seen->skipped = seen->damaged = 0;
    seen->passed = NULL;
    return rc;
}

int verify_rows(struct verifier *v)
{
    /* Below 0, too: such a row is not ours, and nobody else reads it. */
    struct checkpoint_range all = {.first = (uint64_t)INT64_MIN};
    assert(v->n_streams == 0);
    int rc = store_each_checkpoint(v->store, &all, check_row, v, v->error);
    return rc < 0 ? rc : 0;
}
