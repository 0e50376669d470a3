/* SPDX-License-Identifier: MIT */
/* One session of a file. It is made in the store with its first checkpoint that is not
 * there yet, so nothing is made of one that was imported before. */
#include "session/transfer/transfer_int.h"

#include "base/array.h"
#include "base/utf8.h"
#include "checkpoint/record.h"
#include "session/board/status.h"
#include "storage/object.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

static const char from_tag[] = "from:";

static void copy_name(char out[CAIRN_SESSION_NAME_MAX], struct str name)
{
    snprintf(out, CAIRN_SESSION_NAME_MAX, "%.*s",
             (int)utf8_fit(name, CAIRN_SESSION_NAME_MAX - 1), name.ptr);
}

/* ---- Beginning ---- */

int import_session_begin(struct importing *im, const struct line *line)
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
    return rc ? rc : import_recognize(im);
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

int import_branch(struct importing *im, const struct line *line)
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

int import_object(struct importing *im, const struct line *line)
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
        rc = sections_decode(&record->state.arena, payload, &record->state.sections,
                             why);
    if (!rc)
        rc = state_load(im->store, &record->state, why);
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
    int rc = add_origin(im, record);
    if (!rc)
        rc = sections_open(im->store, im->sha, branch, &head, &arena, NULL, im->error);
    if (!rc)
        rc = sections_append(&head, &record->state.sections, record->header.time_ns,
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
    rc = live_log(&s->live, &entry, im->error);
    return rc ? rc : note_seq(im, record, ref.seq);
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
        if (ref->kind < ITEM_KINDS_END && s->numbers[ref->kind] < ref->last)
            s->numbers[ref->kind] = ref->last;
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

int import_checkpoint(struct importing *im, const struct line *line)
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
        import_refuse(im, "checkpoint %s: its record is no base64", record.id);
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
    if (!rc)
        rc = sections_decode(&s->present.arena, payload, &s->present.sections, why);
    return rc ? rc : state_load(im->store, &s->present, why);
}

int import_present(struct importing *im, const struct line *line)
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
             : !read        ? error_set(&why, CAIRN_EDAMAGED, "it is no base64")
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
    int rc = boards_compare(&s->live.board, &s->present.board, &changes, error);
    if (!rc)
        rc = live_put_changes(&s->live, &changes, true, error);
    free(changes.at);
    for (int kind = 1; kind < ITEM_KINDS_END; kind++)
        if (s->live.numbers[kind] < s->present.board.lists[kind].last)
            s->live.numbers[kind] = s->present.board.lists[kind].last;
    s->live.message =
        s->present.messages.n <= s->live.last_message ? s->present.messages.n : 0;
    if (!rc && s->n_added)
        rc = message_log(&s->live, s->n_added, error);
    return rc ? rc : live_put_row(&s->live, error);
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
    return rc ? rc : fill_board(im);
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

int import_session_end(struct importing *im, int rc)
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
