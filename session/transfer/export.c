/* SPDX-License-Identifier: MIT */
/* Messages as lines of a file. Each carries its whole body, and two digests: of what it
 * says, and of its whole line of messages up to it. */
#include "session/board/confidence.h"
#include "session/session_int.h"
#include "session/transfer/transfer_int.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/struct_take.h"
#include "base/words.h"
#include "cairn/session.h"
#include "checkpoint/nodes/nodes.h"
#include "storage/object.h"
#include "storage/sessions/merges.h"
#include "storage/sessions/rows_message.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

/* ==== Messages ==== */

static int add_body(const struct message_export *out, const struct message_row *row,
                    struct cairn_error *error)
{
    struct digest digest;
    struct buf content = BUF_INIT;
    int rc = 0;
    if (row->object.len && row->form != MESSAGE_LEFT_OUT) {
        memcpy(digest.bytes, row->object.ptr, DIGEST_SIZE);
        rc = store_get_object(out->store, &digest, &content, error);
    }
    line_bytes(out->line, "body", content.size ? buf_view(&content) : row->body);
    buf_release(&content);
    return rc;
}

static int write_row(void *context, const struct message_row *row)
{
    const struct message_export *out = context;
    struct cairn_error why = {0};
    struct digest columns;
    store_message_columns(out->store, row, &columns);
    line_begin(out->line, "message");
    line_number(out->line, "n", row->n);
    line_number(out->line, "parent", row->parent);
    line_number(out->line, "position", row->position);
    line_time(out->line, "time", row->time_ns);
    line_number(out->line, "role", row->role);
    line_number(out->line, "form", row->form);
    line_number(out->line, "tokens_in", row->tokens_in);
    line_number(out->line, "tokens_out", row->tokens_out);
    line_number(out->line, "total_in", row->total_in);
    line_number(out->line, "total_out", row->total_out);
    line_number(out->line, "prompt", row->prompt);
    line_number(out->line, "reply", row->reply);
    line_number(out->line, "size", row->size);
    line_text(out->line, "model", clean_str(row->model));
    line_text(out->line, "file", clean_str(row->file));
    line_bytes(out->line, "origin", row->origin);
    line_bytes(out->line, "object", row->object);
    line_digest(out->line, "digest", &columns);
    line_digest(out->line, "chain", &row->chain);
    int rc = add_body(out, row, &why);
    if (!rc)
        return out->write(out->context);
    error_context(&why, "message %llu", (unsigned long long)row->n);
    return out->left_out(out->context, rc, &why);
}

/* Writes a line for each message of a session. */
static int export_messages(const struct message_export *out, uint64_t session,
                           struct cairn_error *error)
{
    struct message_export own = *out;
    int rc = store_each_message(out->store, session, 0, 0, write_row, &own, error);
    if (rc)
        buf_clear(out->line);
    return rc;
}

/* ==== A session ==== */

/* Sessions as the lines of a file. */

struct told_branch {
    struct branch_row row; /* texts in the arena of `live` */
    bool written;
};

struct exporting {
    struct cairn_store *store;
    struct live live; /* of the session that is being written */
    struct told_branch *branches;
    size_t n_branches, branches_capacity;
    struct checkpoint_place {
        uint64_t seq, branch;
    } * places;
    size_t n_places, places_capacity;
    struct session_turn turn;          /* the last one */
    struct digest last[SECTION_NODES]; /* of each kind: written last; zeros: none */
    struct node_set nodes;   /* of files: all that they refer to is written, too */
    struct node_set written; /* with files, as contents */
    struct buf line;
    struct sha256 *sha; /* over all lines */
    uint64_t lines;
    int (*write)(void *, const char *, size_t);
    void *context;
    const struct cairn_transfer_calls *calls;
    struct cairn_transfer result;
    struct cairn_error *error;
};

static int write_line(struct exporting *e)
{
    line_end(&e->line);
    int rc = buf_check(&e->line, e->error);
    if (!rc && e->write(e->context, e->line.data, e->line.size) != 0)
        rc = error_set(e->error, CAIRN_EIO, "the export could not be written");
    if (!rc)
        sha256_add(e->sha, e->line.data, e->line.size);
    e->lines++;
    buf_clear(&e->line);
    return rc;
}

static void refuse(struct exporting *e, const char *text)
{
    e->result.refused++;
    if (e->calls && e->calls->refused)
        e->calls->refused(e->calls->context, text);
}

static bool is_damage(int rc)
{
    return rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND;
}

/* Damage is named and left out, anything else ends the export. Without a text in `why`
 * the error has it already. */
static int left_out(struct exporting *e, int rc, const struct cairn_error *why)
{
    if (!is_damage(rc))
        return rc && why->text[0] ? error_set(e->error, rc, "%s", why->text) : rc;
    refuse(e, why->text);
    buf_clear(&e->line);
    return 0;
}

/* ---- What a session has ---- */

static int add_branch(void *context, const struct branch_row *row)
{
    struct exporting *e = context;
    struct told_branch *at =
        array_room(e->branches, e->n_branches, &e->branches_capacity, sizeof *at);
    if (!at)
        return error_nomem(e->error);
    e->branches = at;
    at[e->n_branches] = (struct told_branch){.row = *row};
    at[e->n_branches].row.name = clean_copy(&e->live.arena, row->name);
    at[e->n_branches++].row.reason = clean_copy(&e->live.arena, row->reason);
    return e->live.arena.failed ? error_nomem(e->error) : 0;
}

static int add_place(void *context, const struct checkpoint_row *row)
{
    struct exporting *e = context;
    struct checkpoint_place *at =
        array_room(e->places, e->n_places, &e->places_capacity, sizeof *at);
    if (!at)
        return error_nomem(e->error);
    e->places = at;
    at[e->n_places++] = (struct checkpoint_place){row->seq, row->stream};
    return 0;
}

static int by_seq(const void *a, const void *b)
{
    uint64_t x = ((const struct checkpoint_place *)a)->seq,
             y = ((const struct checkpoint_place *)b)->seq;
    return (x > y) - (x < y);
}

static int list_session(struct exporting *e)
{
    struct cairn_error why = {0};
    int rc = store_each_branch(e->store, e->live.row.session, add_branch, e, &why);
    rc = left_out(e, rc < 0 ? rc : 0, &why);
    for (size_t i = 0; i < e->n_branches && !rc; i++) {
        struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                         .stream = e->branches[i].row.branch};
        rc = store_each_checkpoint(e->store, &range, add_place, e, e->error);
        rc = rc < 0 ? rc : 0;
    }
    if (!rc && e->n_places)
        qsort(e->places, e->n_places, sizeof *e->places, by_seq);
    return rc;
}

/* ---- Its lines ---- */

static int write_session(struct exporting *e)
{
    const struct session_row *row = &e->live.row;
    line_begin(&e->line, "session");
    line_number(&e->line, "session", row->session);
    line_text(&e->line, "name", clean_str(row->name));
    line_time(&e->line, "started", row->started_ns);
    line_time(&e->line, "ended", row->ended_ns);
    line_number(&e->line, "branch", row->branch);
    if (e->turn.turn) {
        line_number(&e->line, "turn", e->turn.turn);
        line_time(&e->line, "turn_time", e->turn.time_ns);
    }
    return write_line(e);
}

static int write_branch(struct exporting *e, struct told_branch *branch)
{
    const struct branch_row *row = &branch->row;
    const char *status = branch_status_name((enum branch_status)row->status);
    if (branch->written)
        return 0;
    branch->written = true;
    line_begin(&e->line, "branch");
    line_number(&e->line, "branch", row->branch);
    line_text(&e->line, "name", clean_str(row->name));
    line_text(&e->line, "status", str_of(status ? status : "active"));
    line_number(&e->line, "from", row->from_seq);
    line_time(&e->line, "started", row->started_ns);
    line_text(&e->line, "reason", clean_str(row->reason));
    return write_line(e);
}

static int write_object(struct exporting *e, uint8_t kind, const struct digest *digest,
                        struct str content)
{
    struct digest *last = &e->last[kind];
    if (digest_equal(last, digest))
        return 0;
    line_begin(&e->line, "object");
    line_digest(&e->line, "digest", digest);
    if (!digest_is_none(last))
        line_digest(&e->line, "after", last);
    line_number(&e->line, "size", content.len);
    line_bytes(&e->line, "content", content);
    *last = *digest;
    return write_line(e);
}

static int write_reached(void *context, const struct digest *digest, bool is_node)
{
    struct exporting *e = context;
    struct buf content = BUF_INIT;
    int rc = node_set_add(&e->nodes, digest, is_node, e->error);
    if (rc <= 0)
        return rc ? rc : 1;
    if (node_set_has(&e->written, digest, false))
        return 0;
    rc = store_get_object(e->store, digest, &content, e->error);
    if (!rc) {
        line_begin(&e->line, "object");
        line_digest(&e->line, "digest", digest);
        line_number(&e->line, "size", content.size);
        line_bytes(&e->line, "content", buf_view(&content));
        rc = write_line(e);
    }
    if (!rc)
        rc = node_set_add(&e->written, digest, false, e->error);
    buf_release(&content);
    return rc < 0 ? rc : 0;
}

/* A snapshot of files, and all that it refers to, each once in the file. */
static int write_nodes(struct exporting *e, const struct digest *root)
{
    struct node_visitor visitor = {write_reached, NULL, e};
    return nodes_each(e->store, root, &visitor, e->error);
}

static int write_objects(struct exporting *e, const struct sections *sections)
{
    int rc = 0;
    for (uint32_t i = 0; i < sections->n && !rc; i++) {
        const struct section_ref *ref = &sections->list[i];
        struct buf content = BUF_INIT;
        if (ref->kind >= SECTION_NODES) {
            rc = write_nodes(e, &ref->digest);
            continue;
        }
        if (digest_equal(&e->last[ref->kind], &ref->digest))
            continue;
        rc = store_get_object(e->store, &ref->digest, &content, e->error)
                 ?: write_object(e, ref->kind, &ref->digest, buf_view(&content));
        buf_release(&content);
    }
    return rc;
}

static int put_record(void *context, const struct checkpoint_row *row)
{
    struct exporting *e = context;
    line_bytes(&e->line, "record", row->record);
    return 0;
}

static int write_record(struct exporting *e, const struct checkpoint_place *place,
                        const struct sections_at *at)
{
    char id[CAIRN_ID_MAX];
    checkpoint_id(NAMESPACE_DEBUG, place->seq, &at->ref.digest, id);
    line_begin(&e->line, "checkpoint");
    line_text(&e->line, "id", str_of(id));
    line_number(&e->line, "seq", place->seq);
    line_number(&e->line, "branch", place->branch);
    line_digest(&e->line, "digest", &at->ref.digest);
    int rc = store_get_checkpoint(e->store, place->seq, put_record, e, e->error)
                 ?: write_line(e);
    e->result.checkpoints += rc == 0;
    return rc;
}

/* Contents that its files need are damaged. What was seen of them is seen again, as
 * others may need the same. */
static int leave_out(struct exporting *e, const struct checkpoint_place *place)
{
    char number[CAIRN_ID_MAX];
    checkpoint_number(NAMESPACE_DEBUG, place->seq, number);
    error_context(e->error, "checkpoint %s: its files", number);
    refuse(e, e->error->text);
    buf_clear(&e->line);
    node_set_release(&e->nodes);
    e->nodes = (struct node_set){.keys = ARENA_INIT};
    return 0;
}

/* A checkpoint whose state is not whole is named, and left out. */
static int write_checkpoint(struct exporting *e, const struct checkpoint_place *place)
{
    struct state_at state;
    struct cairn_error why = {0};
    int rc = state_read(e->store, e->live.sha, place->seq, &state, &why);
    bool whole = rc == 0;
    rc = left_out(e, rc, &why);
    for (size_t i = 0; i < e->n_branches && !rc && whole; i++)
        if (e->branches[i].row.branch == place->branch)
            rc = write_branch(e, &e->branches[i]);
    if (!rc && whole)
        rc = write_objects(e, &state.sections);
    if (!rc && whole)
        rc = write_record(e, place, &state.at);
    state_release(&state);
    return whole && is_damage(rc) ? leave_out(e, place) : rc;
}

/* ---- What was merged ---- */

static int write_merge(struct exporting *e, const struct session_merge *merge)
{
    line_begin(&e->line, "merge");
    line_number(&e->line, "branch", merge->branch);
    line_number(&e->line, "head", merge->head);
    line_number(&e->line, "into", merge->into);
    line_number(&e->line, "made", merge->made);
    return write_line(e);
}

static int write_merges(struct exporting *e)
{
    struct session_merges merges;
    struct cairn_error why = {0};
    int rc = store_load_merges(e->store, e->live.row.session, &merges, &why);
    rc = left_out(e, rc, &why);
    for (size_t i = 0; i < merges.n && !rc; i++)
        rc = write_merge(e, &merges.at[i]);
    session_merges_release(&merges);
    return rc;
}

/* ---- The present state, as the payload of a record ---- */

static int add_present(struct exporting *e, uint8_t kind, struct sections *now)
{
    struct section section = board_section(&e->live.board, kind);
    struct section_ref *ref = &now->list[now->n];
    struct buf content = BUF_INIT;
    if (!e->live.numbers[kind])
        return 0;
    int rc = section_encode(&section, &content, e->error)
             ?: sha256_of(content.data, content.size, &ref->digest, e->error)
             ?: write_object(e, kind, &ref->digest, buf_view(&content));
    buf_release(&content);
    ref->kind = kind;
    ref->n = section.n;
    ref->last = e->live.numbers[kind];
    now->n++;
    return rc;
}

static int add_present_messages(struct exporting *e, struct sections *now)
{
    struct section_ref *ref = &now->list[now->n];
    struct buf content = BUF_INIT;
    if (!e->live.last_message)
        return 0;
    int rc = messages_encode(&e->live, &content, &ref->n, e->error)
             ?: sha256_of(content.data, content.size, &ref->digest, e->error)
             ?: write_object(e, SECTION_MESSAGES, &ref->digest, buf_view(&content));
    buf_release(&content);
    ref->kind = SECTION_MESSAGES;
    ref->last = ref->n;
    now->n++;
    return rc;
}

static int write_present(struct exporting *e)
{
    struct sections now = {
        .trigger = TRIGGER_MANUAL, .message = STR(""), .boot = STR("")};
    struct buf payload = BUF_INIT;
    struct digest digest;
    int rc = 0;
    for (uint8_t kind = 1; kind < ITEM_KINDS_END && !rc; kind++)
        rc = add_present(e, kind, &now);
    if (!rc)
        rc = add_present_messages(e, &now)
             ?: sections_encode(&now, &payload, e->error)
             ?: sha256_of(payload.data, payload.size, &digest, e->error);
    if (!rc) {
        line_begin(&e->line, "present");
        line_digest(&e->line, "digest", &digest);
        line_bytes(&e->line, "payload", buf_view(&payload));
        rc = write_line(e);
    }
    buf_release(&payload);
    return rc;
}

/* ---- Sessions, one after the other ---- */

static int write_message_line(void *context)
{
    return write_line(context);
}

static int leave_message_out(void *context, int rc, const struct cairn_error *why)
{
    return left_out(context, rc, why);
}

static int write_messages(struct exporting *e)
{
    struct cairn_error why = {0};
    const struct message_export out = {.store = e->store,
                                       .line = &e->line,
                                       .write = write_message_line,
                                       .left_out = leave_message_out,
                                       .context = e};
    return left_out(e, export_messages(&out, e->live.row.session, &why), &why);
}

static int write_parts(struct exporting *e)
{
    struct cairn_error why = {0};
    int rc = list_session(e)
             ?: left_out(e,
                         session_turn_find(e->store, e->live.row.session, 0, &e->turn,
                                           &why), &why)
             ?: write_session(e);
    for (size_t i = 0; i < e->n_places && !rc; i++)
        rc = write_checkpoint(e, &e->places[i]);
    for (size_t i = 0; i < e->n_branches && !rc; i++)
        rc = write_branch(e, &e->branches[i]);
    if (!rc)
        rc = write_merges(e) ?: write_messages(e);
    if (rc)
        return rc;
    rc = live_load_board(&e->live, &why);
    return rc ? left_out(e, rc, &why) : write_present(e);
}

static int export_one(struct exporting *e, const char *session)
{
    memset(e->last, 0, sizeof e->last);
    e->n_branches = e->n_places = 0;
    int rc = live_read(&e->live, e->store, session, e->error)
             ?: live_check_board(&e->live, "files of export do not carry its states",
                                 e->error)
             ?: write_parts(e);
    if (!rc && e->calls && e->calls->session)
        e->calls->session(e->calls->context, e->live.row.session, e->live.row.name.ptr,
                          e->live.row.name.ptr);
    e->result.sessions += rc == 0;
    return live_close(&e->live, rc, e->error);
}

struct session_numbers {
    uint64_t *at;
    size_t n, capacity;
    struct cairn_error *error;
};

static int add_number(void *context, const struct session_row *row)
{
    struct session_numbers *numbers = context;
    uint64_t *at = array_room(numbers->at, numbers->n, &numbers->capacity, sizeof *at);
    if (!at)
        return error_nomem(numbers->error);
    numbers->at = at;
    at[numbers->n++] = row->session;
    return 0;
}

static int export_all(struct exporting *e)
{
    struct cairn_error why = {0};
    struct session_numbers numbers = {.error = &why};
    struct cairn_page page = {.all = true, .oldest_first = true};
    int rc = store_begin_read(e->store, e->error);
    if (rc)
        return rc;
    rc = store_each_session(e->store, &page, add_number, &numbers, NULL, &why);
    store_end_read(e->store);
    rc = left_out(e, rc < 0 ? rc : 0, &why);
    for (size_t i = 0; i < numbers.n && !rc; i++) {
        char text[24];
        u64_text(numbers.at[i], text);
        rc = export_one(e, text);
        if (rc == CAIRN_EDAMAGED || rc == CAIRN_EUSAGE) { /* a thread */
            refuse(e, e->error->text[0] ? e->error->text : text);
            buf_clear(&e->line);
            rc = 0;
        }
    }
    free(numbers.at);
    return rc;
}

static int write_header(struct exporting *e)
{
    line_begin(&e->line, "cairn-export");
    line_number(&e->line, "version", TRANSFER_VERSION);
    line_text(&e->line, "cairn", str_of(cairn_version()));
    line_text(&e->line, "store", str_of(store_id(e->store)));
    line_time(&e->line, "time", clock_utc_ns());
    return write_line(e);
}

static int write_end(struct exporting *e)
{
    struct digest digest;
    sha256_end(e->sha, &digest);
    line_begin(&e->line, "end");
    line_number(&e->line, "lines", e->lines);
    line_digest(&e->line, "sha256", &digest);
    sha256_begin(e->sha);
    return write_line(e);
}

int cairn_session_export(struct cairn_store *store, const char *session, bool all,
                         int (*write)(void *, const char *, size_t), void *context,
                         const struct cairn_transfer_calls *calls,
                         struct cairn_transfer *result, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_transfer_calls, calls, error);
    struct cairn_error own = {0};
    struct exporting e = {.store = store,
                          .sha = sha256_new(),
                          .write = write,
                          .context = context,
                          .calls = calls,
                          .error = error ? error : &own};
    int rc = e.sha ? 0 : error_nomem(error);
    if (!rc) {
        sha256_begin(e.sha);
        rc = write_header(&e);
    }
    if (!rc)
        rc = all ? export_all(&e) : export_one(&e, session);
    if (!rc)
        rc = write_end(&e);
    buf_release(&e.line);
    node_set_release(&e.nodes);
    node_set_release(&e.written);
    free(e.branches);
    free(e.places);
    sha256_free(e.sha);
    if (!rc && result)
        *result = e.result;
    if (!rc && e.result.refused)
        rc = error_set(error, CAIRN_EDAMAGED,
                       "%llu parts that are damaged, or threads, were left out of the "
                       "export",
                       (unsigned long long)e.result.refused);
    return rc;
}
