/* SPDX-License-Identifier: MIT */
/* The lines of a file into sessions. Nothing is believed: each digest is computed, each
 * record decoded, before it is stored. */
#include "session/board/confidence.h"
#include "session/transfer/transfer_int.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/struct_take.h"
#include "base/utf8.h"
#include "checkpoint/chain.h"
#include "checkpoint/messages/line.h"
#include "storage/object.h"
#include "storage/sessions/rows_message.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

/* ==== Merges ==== */

/* What was merged into what in a session of a file. */

static int import_merge(struct importing *im, const struct line *line)
{
    struct session_import *s = &im->session;
    struct session_merge merge;
    if (!line_get_number(line, "branch", &merge.branch) ||
        !line_get_number(line, "head", &merge.head) ||
        !line_get_number(line, "into", &merge.into) ||
        !line_get_number(line, "made", &merge.made) || merge.branch == merge.into)
        return import_incomplete(im, "merge");
    struct session_merge *at =
        array_room(s->merges, s->n_merges, &s->merges_capacity, sizeof *at);
    if (!at)
        return error_nomem(im->error);
    s->merges = at;
    at[s->n_merges++] = merge;
    return 0;
}

/* The state that was merged, or where the file does not have it, the newest one of that
 * branch before it, or where it begins; 0: none of them is there. */
static uint64_t head_here(const struct session_import *s,
                          const struct session_merge *merge, uint64_t from)
{
    uint64_t before = 0, start = 0;
    for (size_t i = 0; i < s->n_seqs; i++) {
        const struct seq_pair *pair = &s->seqs[i];
        if (pair->file == merge->head)
            return pair->here;
        if (pair->file < merge->head && pair->branch == merge->branch)
            before = pair->here;
        if (pair->file == from)
            start = pair->here;
    }
    return before ? before : start;
}

/* What came of it, or where the file does not have that, the next state that is there:
 * who begins from it, or from a later one, has what was merged. */
static uint64_t made_here(const struct session_import *s, uint64_t made)
{
    for (size_t i = 0; i < s->n_seqs; i++)
        if (s->seqs[i].file >= made)
            return s->seqs[i].here;
    return s->newest + 1;
}

static int put_merge(struct importing *im, const struct session_merge *merge,
                     const struct session_merges *known)
{
    struct session_import *s = &im->session;
    const struct file_branch *branch = import_branch_of(s, merge->branch),
                             *into = import_branch_of(s, merge->into);
    if (!branch || !into || !branch->here || !into->here) {
        import_refuse(
            im, "a merge: branch %llu is not in the file",
            (unsigned long long)(branch && branch->here ? merge->into : merge->branch));
        return 0;
    }
    struct session_merge here = {.branch = branch->here,
                                 .head = head_here(s, merge, branch->from),
                                 .into = into->here,
                                 .made = made_here(s, merge->made)};
    for (size_t i = 0; i < known->n; i++)
        if (known->at[i].branch == here.branch && known->at[i].head == here.head &&
            known->at[i].into == here.into && known->at[i].made == here.made)
            return 0;
    return here.head ? live_log_merge(&s->live, &here, im->error) : 0;
}

/* Once the branches are made. */
static int import_put_merges(struct importing *im)
{
    struct session_import *s = &im->session;
    struct session_merges known = {0};
    struct cairn_error why = {0};
    int rc = !s->continued || !s->n_merges
                 ? 0
                 : store_load_merges(im->store, s->live.row.session, &known, &why);
    if (rc == CAIRN_EDAMAGED)
        rc = 0; /* of what is lost, those of the file are noted again */
    else if (rc)
        rc = error_set(im->error, rc, "%s", why.text);
    for (size_t i = 0; i < s->n_merges && !rc; i++)
        rc = put_merge(im, &s->merges[i], &known);
    session_merges_release(&known);
    if (rc || !s->n_merges || !s->live.turn)
        return rc;
    return store_note_merges(im->store, s->live.row.session, s->live.turn, im->error);
}

/* ==== Messages ==== */

/* Messages from the lines of a file, each verified. They keep their numbers, which
 * checkpoints name: the session is a new one. */

struct file_message {
    struct message_row row;
    struct digest columns, object;
    struct buf body, origin, reference;
};

static int damaged(struct cairn_error *why, const char *what)
{
    return error_set(why, CAIRN_EDAMAGED, "%s", what);
}

static bool read_numbers(const struct line *line, struct message_row *row)
{
    uint64_t role = 0, form = 0;
    bool good = line_get_number(line, "n", &row->n) &&
                line_get_number(line, "parent", &row->parent) &&
                line_get_number(line, "position", &row->position) &&
                line_get_time(line, "time", &row->time_ns) &&
                line_get_number(line, "role", &role) &&
                line_get_number(line, "form", &form) &&
                line_get_number(line, "tokens_in", &row->tokens_in) &&
                line_get_number(line, "tokens_out", &row->tokens_out) &&
                line_get_number(line, "total_in", &row->total_in) &&
                line_get_number(line, "total_out", &row->total_out) &&
                line_get_number(line, "prompt", &row->prompt) &&
                line_get_number(line, "reply", &row->reply) &&
                line_get_number(line, "size", &row->size);
    row->role = (uint8_t)role;
    row->form = (uint8_t)form;
    return good && role >= MESSAGE_USER && role <= MESSAGE_OTHER &&
           form >= MESSAGE_TEXT && form <= MESSAGE_LOST;
}

static bool numbers_fit(const struct message_row *row)
{
    return row->n && row->n <= INT64_MAX && row->parent < row->n && row->position &&
           row->position <= row->n && row->prompt <= row->n && row->reply <= row->n &&
           row->tokens_in <= INT64_MAX && row->tokens_out <= INT64_MAX &&
           row->total_in <= INT64_MAX && row->total_out <= INT64_MAX &&
           row->size <= INT64_MAX;
}

static bool read_rest(const struct line *line, struct file_message *m)
{
    struct message_row *row = &m->row;
    struct str model = STR(""), file = STR("");
    bool good = line_get_text(line, "model", &model) &&
                line_get_text(line, "file", &file) &&
                line_get_bytes(line, "origin", &m->origin) &&
                line_get_bytes(line, "object", &m->reference) &&
                line_get_digest(line, "digest", &m->columns) &&
                line_get_digest(line, "chain", &row->chain) &&
                line_get_bytes(line, "body", &m->body);
    row->model = clean_stored(model);
    row->file = clean_stored(file);
    row->origin = buf_view(&m->origin);
    row->object = buf_view(&m->reference);
    return good && utf8_is_text(model) && model.len < MESSAGE_MODEL_BYTES &&
           utf8_is_text(file) &&
           (row->origin.len == 0 || row->origin.len == MESSAGE_ORIGIN_BYTES) &&
           (row->object.len == 0 || row->object.len == DIGEST_SIZE);
}

/* The body of the row: what it names in the content pool is put there. */
static int put_body(struct importing *im, struct file_message *m,
                    struct cairn_error *why)
{
    struct message_row *row = &m->row;
    struct digest digest;
    bool pooled = row->object.len && row->form != MESSAGE_LEFT_OUT;
    row->body = pooled ? STR("") : buf_view(&m->body);
    if (!pooled)
        return 0;
    int rc = sha256_of(m->body.data, m->body.size, &digest, im->error);
    if (!rc && !str_equal(row->object, (struct str){(char *)digest.bytes, DIGEST_SIZE}))
        return damaged(why, "its body is not the one that it names");
    return rc ?: store_put_object(im->store, buf_view(&m->body), &digest, im->error);
}

/* Where the one before it was refused, its own digest is all that there is. */
static int check_place(struct importing *im, struct file_message *m,
                       struct cairn_error *why)
{
    struct message_row *row = &m->row;
    struct digest columns;
    struct message_seen before, now = {.n = row->n,
                                       .parent = row->parent,
                                       .position = row->position,
                                       .tokens_in = row->tokens_in,
                                       .tokens_out = row->tokens_out,
                                       .total_in = row->total_in,
                                       .total_out = row->total_out,
                                       .form = row->form,
                                       .chain = row->chain};
    store_message_columns(im->store, row, &columns);
    if (!digest_equal(&columns, &m->columns))
        return damaged(why, "its SHA-256 does not match");
    now.columns = columns;
    int rc = row->parent
                 ? message_see(im->store, row->session, row->parent, &before, why)
                 : 0;
    if (rc == CAIRN_EDAMAGED)
        *why = (struct cairn_error){0}; /* it was refused, or is missing */
    if (rc)
        return rc == CAIRN_EDAMAGED ? 0 : rc;
    return message_follows(im->store, &now, row->parent ? &before : NULL)
               ? 0
               : damaged(why, "it does not fit the message before it");
}

/* A row is put for each that is missing: more than this cannot be. */
static bool too_far(const struct session_import *s, uint64_t n)
{
    enum { MISSING_MOST = 100000 };
    return n > s->n_messages && n - s->n_messages > MISSING_MOST;
}

static int take_message(struct importing *im, const struct line *line,
                        struct file_message *m, struct cairn_error *why)
{
    struct session_import *s = &im->session;
    struct message_row *row = &m->row;
    if (!read_numbers(line, row) || !numbers_fit(row) || row->n <= s->message)
        return damaged(why, "it is not complete, or not in order");
    if (too_far(s, row->n))
        return damaged(why, "its number is far beyond those before it");
    if (s->last_message < row->n)
        s->last_message = row->n;
    if (!read_rest(line, m)) {
        bool nomem = m->body.failed || m->origin.failed || m->reference.failed;
        return nomem ? error_nomem(im->error) : damaged(why, "it is not complete");
    }
    row->session = s->live.row.session;
    if (s->continued && row->n <= s->live.last_message)
        return 0; /* no message is ever changed */
    s->n_added += s->continued;
    int rc = put_body(im, m, why)
             ?: check_place(im, m, why)
             ?: store_put_message(im->store, row, im->error);
    if (!rc)
        s->message = row->n;
    return rc;
}

static int import_message(struct importing *im, const struct line *line)
{
    struct session_import *s = &im->session;
    struct file_message m = {.row = {.n = 0}};
    struct cairn_error why = {0};
    char what[40];
    if (s->known && !s->made)
        return s->recognized ? 0 : import_look_at_message(im, line);
    s->n_messages++;
    int rc = s->made ? 0 : import_make_session(im);
    if (!rc)
        rc = take_message(im, line, &m, &why);
    snprintf(what, sizeof what, "message %llu", (unsigned long long)m.row.n);
    buf_release(&m.body);
    buf_release(&m.origin);
    buf_release(&m.reference);
    return rc && why.text[0] ? import_left_out(im, rc, what, &why) : rc;
}

static void note_lost(void *context, uint64_t session, uint64_t n)
{
    (void)context;
    (void)session;
    (void)n;
}

/* Puts what stands for messages that were refused. */
static int import_mend_messages(struct importing *im)
{
    struct session_import *s = &im->session;
    if (!s->last_message)
        return 0;
    if (too_far(s, s->last_message))
        return error_set(im->error, CAIRN_EDAMAGED,
                         "the session %s is not imported: a state of it ends with "
                         "message %llu, and the file has %llu",
                         s->file_name, (unsigned long long)s->last_message,
                         (unsigned long long)s->n_messages);
    if (s->live.last_message < s->last_message)
        s->live.last_message = s->last_message;
    s->live.message = 0;
    return live_put_row(&s->live, im->error)
               ?: message_lines_mend(im->store, im->sha, s->live.row.session, note_lost,
                                     NULL, im->error);
}

/* ==== One session ==== */

/* One session of a file. It is made in the store with its first checkpoint that is not
 * there yet, so nothing is made of one that was imported before. */

static const char from_tag[] = "from:";

static void copy_name(char out[CAIRN_SESSION_NAME_MAX], struct str name)
{
    snprintf(out, CAIRN_SESSION_NAME_MAX, "%.*s",
             (int)utf8_fit(name, CAIRN_SESSION_NAME_MAX - 1), name.ptr);
}

/* ---- Beginning ---- */

static int import_session_begin(struct importing *im, const struct line *line)
{
    struct session_import *s = &im->session;
    struct cairn_error why = {0};
    struct str name;
    *s = (struct session_import){.open = false};
    if (!line_get_number(line, "session", &s->number) ||
        !line_get_number(line, "branch", &s->branch) ||
        !line_get_text(line, "name", &name) ||
        !line_get_time(line, "started", &s->started_ns) ||
        !line_get_time(line, "ended", &s->ended_ns))
        return import_incomplete(im, "session");
    if (session_check_name("session", name, &why) != 0)
        import_refuse(im, "line %llu: %s", (unsigned long long)im->line, why.text);
    else
        copy_name(s->file_name, name);
    memcpy(s->name, s->file_name, sizeof s->name);
    if (!line_get_number(line, "turn", &s->turn) ||
        !line_get_time(line, "turn_time", &s->turn_ns))
        s->turn = 0; /* of an older cairn */
    s->refused = im->result.refused;
    int rc = live_begin(&s->live, im->store, true, im->error);
    s->open = true;
    if (!rc && store_data_version(im->store) != im->version) /* others were at work */
        rc = import_load_known(im);
    return rc ?: import_recognize(im);
}

static const struct seq_pair *seq_here(const struct session_import *s, uint64_t file)
{
    size_t low = 0, high = s->n_seqs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->seqs[middle].file < file)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n_seqs && s->seqs[low].file == file ? &s->seqs[low] : NULL;
}

struct file_record {
    uint64_t seq, branch;
    struct digest digest;
    char id[CAIRN_ID_MAX];
    struct buf bytes;
    struct record_header header;
    struct state_at state;
};

static int note_seq(struct importing *im, const struct file_record *record,
                    uint64_t here)
{
    struct session_import *s = &im->session;
    struct seq_pair *at = array_room(s->seqs, s->n_seqs, &s->seqs_capacity, sizeof *at);
    if (!at)
        return error_nomem(im->error);
    s->seqs = at;
    at[s->n_seqs++] = (struct seq_pair){record->seq, here, record->branch};
    return 0;
}

/* ---- Branches ---- */

static uint8_t status_number(struct str name)
{
    for (uint8_t status = BRANCH_ACTIVE; status <= (uint8_t)BRANCH_ARCHIVED; status++)
        if (str_equal(name, str_of(branch_status_name((enum branch_status)status))))
            return status;
    return 0;
}

static bool is_text(struct str text)
{
    const char *at = text.ptr, *end = text.ptr + text.len;
    uint32_t code;
    for (size_t n; at < end; at += n) {
        n = utf8_next(at, end, &code);
        if (!n || !code)
            return false;
    }
    return true;
}

static int import_branch(struct importing *im, const struct line *line)
{
    struct session_import *s = &im->session;
    struct file_branch branch = {0};
    struct cairn_error why = {0};
    struct str name, status, reason;
    if (!line_get_number(line, "branch", &branch.number) ||
        !line_get_number(line, "from", &branch.from) ||
        !line_get_text(line, "name", &name) ||
        !line_get_text(line, "status", &status) ||
        !line_get_time(line, "started", &branch.started_ns) ||
        !line_get_text(line, "reason", &reason) || !is_text(reason) ||
        !(branch.status = status_number(status)) || import_branch_of(s, branch.number))
        return import_incomplete(im, "branch");
    if (session_check_name("branch", name, &why) != 0)
        return import_left_out(im, CAIRN_EDAMAGED, "branch", &why);
    copy_name(branch.name, name);
    struct file_branch *at =
        array_room(s->branches, s->n_branches, &s->branches_capacity, sizeof *at);
    if (!at)
        return error_nomem(im->error);
    s->branches = at;
    branch.reason = malloc(reason.len + 1);
    if (!branch.reason)
        return error_nomem(im->error);
    memcpy(branch.reason, reason.ptr, reason.len);
    branch.reason[reason.len] = 0;
    at[s->n_branches++] = branch;
    return 0;
}

/* Where it goes on from: its newest checkpoint that is here already, or where it
 * begins. */
static uint64_t start_here(const struct session_import *s,
                           const struct file_branch *branch)
{
    const struct seq_pair *from = seq_here(s, branch->from);
    for (size_t i = s->n_seqs; i-- > 0;)
        if (s->seqs[i].branch == branch->number)
            return s->seqs[i].here;
    return from ? from->here : 0;
}

struct named_branch {
    const char *name;
    struct branch_row *row;
};

static int match_branch(void *context, const struct branch_row *row)
{
    const struct named_branch *named = context;
    if (!str_equal(clean_str(row->name), str_of(named->name)))
        return 0;
    *named->row = *row;
    return 1;
}

/* Of a session that goes on: 1 the branch of this name is there, and becomes what it
 * is in the file; 0 it is new. */
static int mend_branch(struct importing *im, struct file_branch *branch)
{
    struct session_import *s = &im->session;
    struct branch_row row = {0};
    struct named_branch named = {branch->name, &row};
    int rc = !s->continued ? 0
                           : store_each_branch(im->store, s->live.row.session,
                                               match_branch, &named, im->error);
    if (rc < 0 || !row.branch)
        return rc < 0 ? rc : 0;
    row.name = clean_stored(str_of(branch->name));
    row.status = branch->status;
    row.reason = clean_stored(str_of(branch->reason));
    rc = store_put_branch(im->store, &row, im->error);
    branch->here = row.branch;
    return rc ? rc : 1;
}

/* The session's first branch is there since it was made, under another name. */
static int make_branch(struct importing *im, struct file_branch *branch)
{
    struct session_import *s = &im->session;
    int there = mend_branch(im, branch);
    if (there)
        return there < 0 ? there : 0;
    bool first = !s->continued;
    for (size_t i = 0; i < s->n_branches; i++)
        first = first && !s->branches[i].here;
    struct branch_row row = {.branch = first ? s->live.row.branch : 0,
                             .session = s->live.row.session,
                             .name = clean_stored(str_of(branch->name)),
                             .status = branch->status,
                             .from_seq = start_here(s, branch),
                             .started_ns = branch->started_ns,
                             .reason = clean_stored(str_of(branch->reason))};
    struct cairn_error why = {0};
    int rc = store_put_branch(im->store, &row, &why);
    if (!rc)
        branch->here = row.branch;
    return rc == CAIRN_EUSAGE ? import_left_out(im, CAIRN_EDAMAGED, "branch", &why)
           : rc               ? error_set(im->error, rc, "%s", why.text)
                              : 0;
}

/* ---- Content ---- */

static int import_object(struct importing *im, const struct line *line)
{
    struct digest digest, after, stored;
    struct buf content = BUF_INIT;
    char hex[DIGEST_HEX_SIZE];
    int rc = 0;
    if (!line_get_digest(line, "digest", &digest))
        return import_incomplete(im, "object");
    digest_hex(&digest, hex);
    bool read = line_get_bytes(line, "content", &content);
    if (content.failed)
        rc = error_nomem(im->error);
    else
        rc = sha256_of(content.data, content.size, &stored, im->error);
    if (!rc && (!read || !digest_equal(&stored, &digest)))
        import_refuse(im, "line %llu: the content %.12s is damaged",
                      (unsigned long long)im->line, hex);
    else if (!rc && line_get_digest(line, "after", &after))
        rc = store_put_object_after(im->store, buf_view(&content), &after, &stored,
                                    im->error);
    else if (!rc)
        rc = store_put_object(im->store, buf_view(&content), &stored, im->error);
    buf_release(&content);
    return rc;
}

/* ---- Checkpoints ---- */

static int compare_known(const void *a, const void *b)
{
    return strcmp(a, ((const struct known_record *)b)->id);
}

static int check_files(struct importing *im, const struct digest *files,
                       struct cairn_error *why)
{
    int rc = snapshot_check(im->store, files, &im->session.checked, why);
    if (rc)
        error_context(why, "its files");
    return rc;
}

/* A damaged record or content: CAIRN_EDAMAGED. */
static int verify_record(struct importing *im, struct file_record *record,
                         struct cairn_error *why)
{
    struct str payload,
        digest = {(const char *)record->digest.bytes, sizeof record->digest.bytes};
    int rc = record_decode(buf_view(&record->bytes), digest, im->sha, &record->header,
                           &payload, why);
    if (!rc && (record->header.namespace_id != NAMESPACE_DEBUG ||
                record->header.kind != RECORD_FULL || record->header.flags ||
                record->header.seq != record->seq))
        rc = error_set(why, CAIRN_EDAMAGED,
                       "it is another record than the line says, or none of a session");
    if (!rc)
        rc =
            sections_decode(&record->state.arena, payload, &record->state.sections, why)
                ?: state_load(im->store, &record->state, why);
    if (!rc && record->state.has_files)
        rc = check_files(im, &record->state.files, why);
    return rc;
}

/* Its own tags, and where it is from, as long as there is room for one more. A task
 * that it was made for is named by its message alone. */
static int add_origin(struct importing *im, struct file_record *record)
{
    struct sections *said = &record->state.sections;
    said->linked = false; /* that run is in another store */
    struct arena *arena = &record->state.arena;
    char text[sizeof from_tag + CAIRN_ID_MAX];
    if (said->n_tags == CHECKPOINT_TAGS_MOST)
        return 0;
    struct str *tags = arena_take(arena, said->n_tags + 1, sizeof *tags);
    snprintf(text, sizeof text, "%s%s", from_tag, record->id);
    if (!tags)
        return error_nomem(im->error);
    if (said->n_tags)
        memcpy(tags, said->tags, said->n_tags * sizeof *tags);
    tags[said->n_tags++] = arena_str(arena, str_of(text));
    said->tags = tags;
    return arena->failed ? error_nomem(im->error) : 0;
}

static int append_record(struct importing *im, struct file_record *record,
                         uint64_t branch)
{
    struct session_import *s = &im->session;
    struct arena arena = ARENA_INIT;
    struct checkpoint_ref ref;
    struct chain head;
    int rc = add_origin(im, record)
             ?: sections_open(im->store, im->sha, branch, &head, &arena, NULL,
                              im->error)
             ?: sections_append(&head, &record->state.sections, record->header.time_ns,
                                &ref, im->error);
    arena_release(&arena);
    if (rc)
        return rc;
    char id[CAIRN_ID_MAX];
    checkpoint_id(NAMESPACE_DEBUG, ref.seq, &ref.digest, id);
    if (im->calls && im->calls->checkpoint)
        im->calls->checkpoint(im->calls->context, record->id, id);
    struct log_entry entry = {.verb = VERB_CHECKPOINT, .number = ref.seq};
    s->newest = ref.seq;
    if (record->branch == s->branch)
        s->newest_there = ref.seq;
    s->n_made++;
    s->live.counters.checkpoints++;
    return live_log(&s->live, &entry, im->error) ?: note_seq(im, record, ref.seq);
}

static int put_record(struct importing *im, struct file_record *record)
{
    struct session_import *s = &im->session;
    struct file_branch *branch = import_branch_of(s, record->branch);
    int rc = s->made ? 0 : import_make_session(im);
    if (!rc && branch && !branch->here)
        rc = make_branch(im, branch);
    if (rc)
        return rc;
    if (!branch || !branch->here) {
        import_refuse(im, "checkpoint %s: its branch is not in the file", record->id);
        return 0;
    }
    for (uint32_t i = 0; i < record->state.sections.n; i++) {
        const struct section_ref *ref = &record->state.sections.list[i];
        uint8_t kind = section_holds(ref);
        if (kind < ITEM_KINDS_END && s->numbers[kind] < ref->last)
            s->numbers[kind] = ref->last;
    }
    if (s->last_message < record->state.messages.n)
        s->last_message = record->state.messages.n;
    return append_record(im, record, branch->here);
}

static const struct known_record *known_as(const struct importing *im, const char *id)
{
    return im->n_known
               ? bsearch(id, im->known, im->n_known, sizeof *im->known, compare_known)
               : NULL;
}

/* Where the store of the file has imported it from this store, or from where this one
 * has, too. */
static const struct known_record *known_origin(const struct importing *im,
                                               const struct file_record *record)
{
    const struct sections *said = &record->state.sections;
    const struct known_record *known = NULL;
    size_t n = sizeof from_tag - 1;
    for (uint32_t i = 0; i < said->n_tags && !known; i++)
        if (said->tags[i].len > n && memcmp(said->tags[i].ptr, from_tag, n) == 0)
            known = known_as(im, said->tags[i].ptr + n); /* it ends with a NUL */
    return known;
}

static int skip(struct importing *im, const struct file_record *record,
                const struct known_record *known)
{
    im->session.known = true;
    im->session.known_session = known->session;
    im->session.known_seq = known->seq;
    im->result.skipped++;
    return note_seq(im, record, known->seq);
}

static int take_record(struct importing *im, struct file_record *record)
{
    struct session_import *s = &im->session;
    struct cairn_error why = {0};
    const struct known_record *known = known_as(im, record->id);
    if (s->n_seqs && s->seqs[s->n_seqs - 1].file >= record->seq) {
        import_refuse(im, "checkpoint %s: it is not in order", record->id);
        return 0;
    }
    if (known)
        return skip(im, record, known);
    if (s->continued && record->seq <= s->seen) { /* it was deleted here */
        im->result.skipped++;
        return 0;
    }
    int rc = verify_record(im, record, &why);
    if (rc)
        return import_left_out(im, rc, record->id, &why);
    known = known_origin(im, record);
    return known ? skip(im, record, known) : put_record(im, record);
}

static int import_checkpoint(struct importing *im, const struct line *line)
{
    struct file_record record = {.state = {.arena = ARENA_INIT}};
    int rc = 0;
    if (!line_get_number(line, "seq", &record.seq) || !record.seq ||
        record.seq > INT64_MAX || !line_get_number(line, "branch", &record.branch) ||
        !line_get_digest(line, "digest", &record.digest))
        return import_incomplete(im, "checkpoint");
    board_init(&record.state.board);
    checkpoint_id(NAMESPACE_DEBUG, record.seq, &record.digest, record.id);
    bool read = line_get_bytes(line, "record", &record.bytes);
    if (record.bytes.failed)
        rc = error_nomem(im->error);
    else if (!read)
        import_refuse(im, "checkpoint %s: its record is not valid base64", record.id);
    else
        rc = take_record(im, &record);
    buf_release(&record.bytes);
    state_release(&record.state);
    return rc;
}

/* ---- The present state ---- */

static int verify_present(struct importing *im, struct str payload,
                          const struct digest *digest, struct cairn_error *why)
{
    struct session_import *s = &im->session;
    struct digest found;
    int rc = sha256_of(payload.ptr, payload.len, &found, why);
    if (!rc && !digest_equal(&found, digest))
        rc = error_set(why, CAIRN_EDAMAGED, "its SHA-256 does not match");
    return rc
           ?: sections_decode(&s->present.arena, payload, &s->present.sections, why)
           ?: state_load(im->store, &s->present, why);
}

static int import_present(struct importing *im, const struct line *line)
{
    struct session_import *s = &im->session;
    struct buf payload = BUF_INIT;
    struct cairn_error why = {0};
    struct digest digest;
    if (s->has_present || !line_get_digest(line, "digest", &digest))
        return import_incomplete(im, "present state");
    s->present = (struct state_at){.arena = ARENA_INIT};
    board_init(&s->present.board);
    bool read = line_get_bytes(line, "payload", &payload);
    int rc = payload.failed ? error_nomem(im->error)
             : !read        ? error_set(&why, CAIRN_EDAMAGED, "it is not valid base64")
                            : verify_present(im, buf_view(&payload), &digest, &why);
    buf_release(&payload);
    s->has_present = rc == 0;
    if (!s->has_present)
        state_release(&s->present);
    return rc ? import_left_out(im, rc, "the present state", &why) : 0;
}

/* ---- The end ---- */

/* Of a session that goes on: from the items that it has to those of the file. */
static int replace_board(struct session_import *s, struct cairn_error *error)
{
    struct board_changes changes = {0};
    int rc = boards_compare(&s->live.board, &s->present.board, &changes, error)
                 ?: live_put_changes(&s->live, &changes, true, error);
    free(changes.at);
    for (int kind = 1; kind < ITEM_KINDS_END; kind++)
        if (s->live.numbers[kind] < s->present.board.lists[kind].last)
            s->live.numbers[kind] = s->present.board.lists[kind].last;
    s->live.message =
        s->present.messages.n <= s->live.last_message ? s->present.messages.n : 0;
    if (!rc && s->n_added)
        rc = message_log(&s->live, s->n_added, error);
    return rc ?: live_put_row(&s->live, error);
}

/* The present state, or where that is damaged the newest one. */
static int fill_board(struct importing *im)
{
    struct session_import *s = &im->session;
    uint64_t seq = s->newest_there ? s->newest_there : s->newest;
    for (unsigned kind = 1; kind < ITEM_KINDS_END; kind++)
        if (s->live.numbers[kind] < s->numbers[kind])
            s->live.numbers[kind] = s->numbers[kind];
    if (s->has_present && s->last_message < s->present.messages.n)
        s->last_message = s->present.messages.n;
    int rc = import_mend_messages(im);
    if (rc)
        return rc;
    if (!s->has_present && seq) {
        rc = state_read(im->store, im->sha, seq, &s->present, im->error);
        s->has_present = true; /* to be released */
        if (rc)
            return rc;
    }
    if (!s->has_present)
        return live_put_row(&s->live, im->error);
    return s->continued ? replace_board(s, im->error)
                        : live_take_state(&s->live, &s->present, im->error);
}

static int finish(struct importing *im)
{
    struct session_import *s = &im->session;
    int rc = s->made || s->known ? 0 : import_make_session(im);
    if (rc || !s->made)
        return rc || s->recognized ? rc : import_compare(im);
    for (size_t i = 0; i < s->n_branches && !rc; i++)
        rc = s->branches[i].here ? 0 : make_branch(im, &s->branches[i]);
    if (!rc)
        rc = import_put_merges(im);
    struct file_branch *current = import_branch_of(s, s->branch);
    if (!rc && current && current->here)
        s->live.row.branch = current->here;
    s->live.row.ended_ns = s->ended_ns;
    return rc ?: fill_board(im);
}

static void release(struct session_import *s)
{
    snapshot_checked_release(&s->checked);
    for (size_t i = 0; i < s->n_branches; i++)
        free(s->branches[i].reason);
    free(s->branches);
    free(s->seqs);
    free(s->merges);
    if (s->has_present)
        state_release(&s->present);
}

/* Commits what was made; rc: of what came before, then nothing is. */
static int import_session_end(struct importing *im, int rc)
{
    struct session_import *s = &im->session;
    char name[CAIRN_SESSION_NAME_MAX] = "";
    uint64_t number = 0;
    if (!rc && s->open)
        rc = finish(im);
    if (!rc && s->open)
        rc = import_note_origin(im);
    if (!rc && s->made) {
        number = s->live.row.session;
        copy_name(name, clean_str(s->live.row.name));
    }
    if (s->open)
        rc = live_close(&s->live, rc, im->error);
    if (!rc && number) {
        im->result.sessions++;
        im->result.checkpoints += s->n_made;
        if (s->changed[0] && im->calls && im->calls->changed)
            im->calls->changed(im->calls->context, s->changed, name);
        if (im->calls && im->calls->session)
            im->calls->session(im->calls->context, number, s->file_name, name);
    }
    release(s);
    *s = (struct session_import){.open = false};
    return rc;
}

/* ==== The file ==== */

/* The lines of a file, in order. */

enum { READ_BYTES = 1 << 16, ROOM_LEAST = 1 << 17 };

/* An object of the most bytes in base64, with the rest of its line. */
static const size_t line_most = (size_t)LIMIT_OBJECT_BYTES / 3 * 4 + 4096;

struct reading {
    int64_t (*read)(void *, char *, size_t);
    void *context;
    char *room; /* heap; [begin, end) is not used yet */
    size_t begin, end, size;
    bool at_end;
};

/* ---- Lines ---- */

static bool make_room(struct reading *in)
{
    if (in->begin > 0)
        memmove(in->room, in->room + in->begin, in->end - in->begin);
    in->end -= in->begin;
    in->begin = 0;
    if (in->size - in->end >= READ_BYTES)
        return true;
    size_t most = line_most + 2 * READ_BYTES;
    size_t size = in->size ? in->size * 2 : ROOM_LEAST;
    char *room = realloc(in->room, size < most ? size : most);
    if (!room)
        return false;
    in->room = room;
    in->size = size < most ? size : most;
    return true;
}

/* More than a line can have, before it is all read. The first one is short. */
static int check_length(const struct importing *im, size_t n)
{
    if (im->line == 0 && n > READ_BYTES)
        return error_set(im->error, CAIRN_EUSAGE,
                         "this is not a file of `cairn session export FILE`");
    return n <= line_most
               ? 0
               : error_set(im->error, CAIRN_EDAMAGED,
                           "line %llu is longer than any that cairn writes: what comes "
                           "from there on is not imported",
                           (unsigned long long)im->line + 1);
}

/* 1: a line, without its end; 0: the file has ended. The last one may have no end. */
static int next_line(struct importing *im, struct reading *in, struct str *line)
{
    size_t searched = 0;
    for (;;) {
        size_t n = in->end - in->begin;
        char *start = n ? in->room + in->begin : NULL;
        char *found =
            start && n > searched ? memchr(start + searched, '\n', n - searched) : NULL;
        if (found || (in->at_end && n > 0)) {
            *line = (struct str){start, found ? (size_t)(found - start) : n};
            in->begin += line->len + (found != NULL);
            return 1;
        }
        if (in->at_end)
            return 0;
        searched = n;
        int rc = check_length(im, n);
        if (rc)
            return rc;
        if (!make_room(in))
            return error_nomem(im->error);
        int64_t got = in->read(in->context, in->room + in->end, READ_BYTES);
        if (got < 0 || got > READ_BYTES)
            return error_set(im->error, CAIRN_EIO, "the file could not be read");
        in->end += (size_t)got;
        in->at_end = got == 0;
    }
}

/* ---- The parts ---- */

static int check_header(struct importing *im, const struct line *line)
{
    struct str type, store;
    uint64_t version;
    if (!line_get_text(line, "type", &type) || !str_equal(type, STR("cairn-export")) ||
        !line_get_number(line, "version", &version))
        return error_set(im->error, CAIRN_EUSAGE,
                         "this is not a file of `cairn session export FILE`");
    if (version > TRANSFER_VERSION)
        return error_set(im->error, CAIRN_ENEWER,
                         "the file has version %llu, which this release does not know: "
                         "use the cairn that wrote it",
                         (unsigned long long)version);
    if (line_get_text(line, "store", &store) && store.len < sizeof im->origin)
        snprintf(im->origin, sizeof im->origin, "%.*s", (int)store.len, store.ptr);
    return 0;
}

static int take_part(struct importing *im, const struct line *line, struct str type)
{
    static const struct {
        const char *type;
        int (*take)(struct importing *, const struct line *);
    } parts[] = {{"branch", import_branch},         {"object", import_object},
                 {"checkpoint", import_checkpoint}, {"merge", import_merge},
                 {"message", import_message},       {"present", import_present}};
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (str_equal(type, str_of(parts[i].type))) {
            if (im->session.open)
                return parts[i].take(im, line);
            import_refuse(im, "line %llu: this %s belongs to no session",
                          (unsigned long long)im->line, parts[i].type);
            return 0;
        }
    import_refuse(im, "line %llu: '%.*s' is not known", (unsigned long long)im->line,
                  (int)(type.len < 40 ? type.len : 40), type.ptr);
    return 0;
}

/* ---- The file ---- */

struct file {
    struct reading in;
    struct sha256 *sha; /* over the lines so far */
    bool ended;
    bool changed; /* since it was written, as its end says */
};

static void check_end(struct importing *im, struct file *file, const struct line *line)
{
    struct digest found, wanted;
    uint64_t lines;
    sha256_end(file->sha, &found);
    sha256_begin(file->sha);
    file->ended = true;
    if (!line_get_number(line, "lines", &lines) ||
        !line_get_digest(line, "sha256", &wanted) || lines != im->line - 1 ||
        !digest_equal(&found, &wanted))
        file->changed = true;
    if (file->changed)
        import_refuse(im, "the file is not as it was written: what was changed is "
                          "named above, or is a name or a time");
}

static int take_session_or_part(struct importing *im, const struct line *line,
                                struct str type)
{
    if (!str_equal(type, STR("session")))
        return take_part(im, line, type);
    return import_session_end(im, 0) ?: import_session_begin(im, line);
}

/* What a file has is under digests, so nothing can be taken out of it. Its bytes are
 * base64, in which the redactor finds secrets, too. */
static int check_secrets(struct importing *im, struct str text)
{
    char what[40];
    struct outside outside = {.redactor = im->redactor};
    snprintf(what, sizeof what, "line %llu", (unsigned long long)im->line);
    struct outside_text line = {OUTSIDE_DATA, what, text,
                                "import it where that variable is not set"};
    return outside_check(&outside, &line, im->error);
}

/* Hashed before it is parsed, which changes it. */
static int take_line(struct importing *im, struct file *file, struct str text)
{
    static const char end[] = "{\"type\":\"end\"";
    struct line line;
    struct str type;
    if (text.len < sizeof end - 1 || memcmp(text.ptr, end, sizeof end - 1) != 0) {
        sha256_add(file->sha, text.ptr, text.len);
        sha256_add(file->sha, "\n", 1);
    }
    bool parsed = line_parse((char *)(uintptr_t)text.ptr, text.len, &line) &&
                  line_get_text(&line, "type", &type);
    if (im->line == 1) {
        line.n = parsed ? line.n : 0;
        return check_header(im, &line);
    }
    if (file->ended || !parsed)
        import_refuse(im, "line %llu %s", (unsigned long long)im->line,
                      file->ended ? "is behind the end" : "cannot be read");
    else if (str_equal(type, STR("end")))
        check_end(im, file, &line);
    else
        return take_session_or_part(im, &line, type);
    return 0;
}

static int take_lines(struct importing *im, struct file *file)
{
    struct str text = {NULL, 0};
    int rc = 0;
    while (!rc && (rc = next_line(im, &file->in, &text)) > 0) {
        im->line++;
        rc = check_secrets(im, text) ?: take_line(im, file, text);
    }
    if (!rc && !im->line)
        rc = check_header(im, &(struct line){.n = 0});
    if (!rc && !file->ended)
        import_refuse(im, "the file ends early, behind line %llu",
                      (unsigned long long)im->line);
    rc = import_session_end(im, rc);
    return !rc && file->changed ? import_forget_origins(im) : rc;
}

int cairn_session_import(struct cairn_store *store,
                         int64_t (*read)(void *, char *, size_t), void *context,
                         const struct cairn_transfer_calls *calls,
                         struct cairn_transfer *result, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_transfer_calls, calls, error);
    struct cairn_error own = {0};
    struct importing im = {.store = store,
                           .sha = sha256_new(),
                           .calls = calls,
                           .error = error ? error : &own};
    struct file file = {.in = {.read = read, .context = context}, .sha = sha256_new()};
    int rc =
        im.sha && file.sha ? store_begin_read(store, im.error) : error_nomem(im.error);
    if (!rc) {
        rc = import_load_known(&im);
        store_end_read(store);
    }
    if (!rc)
        rc = redactor_of_workflows(store, &im.redactor, im.error);
    if (!rc) {
        sha256_begin(file.sha);
        rc = take_lines(&im, &file);
    }
    free(file.in.room);
    free(im.known);
    free(im.origins);
    free(im.noted);
    redactor_free(im.redactor);
    sha256_free(im.sha);
    sha256_free(file.sha);
    if (!rc && result)
        *result = im.result;
    if (!rc && im.result.refused)
        rc = error_set(error, CAIRN_EDAMAGED,
                       "refused parts of the file: %llu; the rest was imported",
                       (unsigned long long)im.result.refused);
    return rc;
}
