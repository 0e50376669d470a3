/* SPDX-License-Identifier: MIT */
/* What takes room, from the rows of a session and from those of the others. */
#include "session/size/size_int.h"

#include "base/array.h"
#include "base/error.h"
#include "session/files.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/sessions/rows_message.h"
#include "storage/sessions/rows_session.h"
#include "storage/store.h"

#include <stdlib.h>

struct checkpoint_use {
    uint64_t seq;
    int64_t time_ns;
    struct digest digest;
    struct str message; /* ends with a NUL */
    uint64_t logical, added, alone;
};
struct sizing {
    struct live live;
    struct uses uses;
    struct path_uses paths;
    struct checkpoint_use *checkpoints; /* oldest first */
    size_t n, room;
    struct arena texts;
    uint64_t *seqs; /* of one session */
    size_t n_seqs, seqs_room;
    bool other; /* what is read now is of another session */
    struct cairn_session_size *out;
    struct cairn_error *error;
};

static void add_row(struct cairn_size *size, uint64_t logical, uint64_t stored)
{
    size->logical += logical;
    size->stored += stored;
    size->parts++;
}

/* ---- Checkpoints ---- */

static int list_record(void *context, const struct checkpoint_row *row)
{
    struct sizing *s = context;
    uint64_t *seqs = array_room(s->seqs, s->n_seqs, &s->seqs_room, sizeof *seqs);
    if (!seqs)
        return error_nomem(s->error);
    s->seqs = seqs;
    seqs[s->n_seqs++] = row->seq;
    if (!s->other)
        add_row(&s->out->records, row->record.len, row->record.len);
    return 0;
}

static enum use_part part_of(const struct section_ref *ref)
{
    return ref->kind == SECTION_FILES      ? USE_FILES
           : ref->kind == SECTION_MESSAGES ? USE_MESSAGES
                                           : USE_BOARD;
}

static struct cairn_size *size_of_part(struct cairn_session_size *out, unsigned part)
{
    return part == USE_FILES   ? &out->files
           : part == USE_BOARD ? &out->board
                               : &out->messages;
}

/* *logical: of one section. */
static int add_section(struct sizing *s, const struct section_ref *ref, uint32_t user,
                       uint64_t *logical)
{
    struct use_found found = {.size = 0};
    int rc = ref->kind == SECTION_FILES
                 ? uses_add_files(&s->uses, &ref->digest, user,
                                  s->other ? NULL : &s->paths, logical)
                 : uses_add(&s->uses, &ref->digest, false, user, part_of(ref), &found);
    if (ref->kind != SECTION_FILES)
        *logical = found.size;
    if (!rc && !s->other)
        size_of_part(s->out, part_of(ref))->logical += *logical;
    return rc;
}

static int note_checkpoint(struct sizing *s, const struct sections *sections,
                           const struct sections_at *at, struct checkpoint_use **out)
{
    struct checkpoint_use *all =
        array_room(s->checkpoints, s->n, &s->room, sizeof *all);
    if (!all)
        return error_nomem(s->error);
    s->checkpoints = all;
    all[s->n] =
        (struct checkpoint_use){.seq = at->ref.seq,
                                .time_ns = at->time_ns,
                                .digest = at->ref.digest,
                                .message = arena_str(&s->texts, sections->message)};
    *out = &all[s->n++];
    return s->texts.failed ? error_nomem(s->error) : 0;
}

static int add_sections(struct sizing *s, const struct sections *sections,
                        uint32_t user, struct checkpoint_use *use)
{
    uint64_t before = s->uses.stored;
    int rc = 0;
    for (uint32_t i = 0; i < sections->n && !rc; i++) {
        uint64_t logical = 0;
        rc = add_section(s, &sections->list[i], user, &logical);
        use->logical += logical;
    }
    use->added = s->uses.stored - before;
    return rc;
}

static int add_checkpoint(struct sizing *s, uint64_t seq)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct sections_at at;
    struct checkpoint_use unused = {.seq = 0}, *use = &unused;
    struct cairn_error why = {0};
    uint32_t user = s->other ? USER_OTHER : (uint32_t)s->n;
    int rc =
        sections_read(s->live.store, s->live.sha, seq, &arena, &sections, &at, &why);
    bool damaged = rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND;
    s->out->damaged += damaged;
    if (rc && !damaged)
        error_set(s->error, rc, "%s", why.text);
    if (!rc && !s->other)
        rc = note_checkpoint(s, &sections, &at, &use);
    if (!rc)
        rc = add_sections(s, &sections, user, use);
    arena_release(&arena);
    return damaged ? 0 : rc;
}

static int add_checkpoints(struct sizing *s, uint64_t session)
{
    struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                     .session = session};
    s->n_seqs = 0;
    int rc = store_each_checkpoint(s->live.store, &range, list_record, s, s->error);
    for (size_t i = 0; i < s->n_seqs && rc >= 0; i++)
        rc = add_checkpoint(s, s->seqs[i]);
    return rc < 0 ? rc : 0;
}

/* ---- Rows ---- */

static int add_message(void *context, const struct message_row *row)
{
    struct sizing *s = context;
    struct use_found found = {.stored = 0};
    size_t beside = row->model.len + row->file.len + row->origin.len;
    struct digest digest;
    if (!s->other)
        add_row(&s->out->messages, row->size, row->body.len + beside);
    if (row->object.len != DIGEST_SIZE || row->form == MESSAGE_LEFT_OUT)
        return 0;
    memcpy(digest.bytes, row->object.ptr, DIGEST_SIZE);
    return uses_add(&s->uses, &digest, false, s->other ? USER_OTHER : USER_BESIDE,
                    USE_MESSAGES, &found);
}

static int add_item(void *context, const struct item_row *row)
{
    struct sizing *s = context;
    add_row(&s->out->board, row->body.len, row->body.len);
    return 0;
}

static int add_log_row(void *context, const struct session_log_row *row)
{
    struct sizing *s = context;
    size_t n = row->before.len + row->after.len;
    add_row(&s->out->log, n, n);
    return 0;
}

/* Damaged rows are counted, once for each kind of them. */
static int pass_damage(struct sizing *s, int rc, const struct cairn_error *why)
{
    if (rc >= 0)
        return 0;
    if (rc != CAIRN_EDAMAGED)
        return error_set(s->error, rc, "%s", why->text);
    s->out->damaged++;
    return 0;
}

static int add_rows(struct sizing *s, uint64_t session)
{
    struct cairn_store *store = s->live.store;
    struct cairn_error why = {0};
    int rc = pass_damage(
        s, store_each_message(store, session, 0, 0, add_message, s, &why), &why);
    if (!rc && !s->other)
        rc = pass_damage(s, store_each_item(store, session, add_item, s, &why), &why);
    if (!rc && !s->other)
        rc = pass_damage(
            s, store_each_session_log(store, session, 0, false, add_log_row, s, &why),
            &why);
    return rc;
}

/* ---- All of it ---- */

struct others {
    uint64_t own, *at;
    size_t n, room;
};

static int list_other(void *context, const struct session_row *row)
{
    struct others *others = context;
    uint64_t *at = array_room(others->at, others->n, &others->room, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    others->at = at;
    if (row->session != others->own)
        at[others->n++] = row->session;
    return 0;
}

static int add_others(struct sizing *s)
{
    struct others others = {.own = s->live.row.session};
    const struct cairn_page all = {.limit = 0};
    struct cairn_error why = {0};
    int rc = store_each_session(s->live.store, &all, list_other, &others, NULL, &why);
    if (rc == CAIRN_ENOMEM)
        rc = error_nomem(s->error);
    else
        rc = pass_damage(s, rc, &why);
    s->other = true;
    for (size_t i = 0; i < others.n && !rc; i++) {
        rc = add_checkpoints(s, others.at[i]);
        if (!rc)
            rc = add_rows(s, others.at[i]);
    }
    free(others.at);
    return rc;
}

static void sum_up(struct sizing *s)
{
    struct cairn_session_size *out = s->out;
    for (size_t i = 0; i < s->uses.n; i++) {
        const struct use *use = &s->uses.at[i];
        if (use->user == USER_OTHER)
            continue;
        struct cairn_size *size = size_of_part(out, use->part);
        size->stored += use->stored;
        size->shared += use->other ? use->stored : 0;
        size->parts++;
        if (use->user < s->n && !use->other)
            s->checkpoints[use->user].alone += use->stored;
    }
    const struct cairn_size *parts[] = {&out->files, &out->board, &out->messages,
                                        &out->log, &out->records};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        out->all.logical += parts[i]->logical;
        out->all.stored += parts[i]->stored;
        out->all.shared += parts[i]->shared;
        out->all.parts += parts[i]->parts;
    }
    out->session = s->live.row.session;
    out->budget = settings_budget(&s->live.settings);
    out->checkpoints = s->n;
    out->damaged += s->uses.damaged;
    out->paths = s->paths.n;
}

static int by_stored(const void *a, const void *b)
{
    const struct path_use *x = a, *y = b;
    if (x->stored != y->stored)
        return x->stored < y->stored ? 1 : -1;
    return str_compare(x->path, y->path);
}

static int tell_checkpoint(const struct cairn_size_request *request,
                           const struct checkpoint_use *use)
{
    struct cairn_checkpoint_size told = {.seq = use->seq,
                                         .time_ns = use->time_ns,
                                         .message = use->message.ptr,
                                         .logical = use->logical,
                                         .added = use->added,
                                         .alone = use->alone};
    checkpoint_id(NAMESPACE_DEBUG, use->seq, &use->digest, told.id);
    return request->checkpoint(request->context, &told);
}

static void tell(struct sizing *s, const struct cairn_size_request *request)
{
    int stop = request->total ? request->total(request->context, s->out) : 0;
    for (size_t i = 0;
         request->checkpoint && i < s->n && i < request->checkpoints && !stop; i++)
        stop = tell_checkpoint(request, &s->checkpoints[s->n - 1 - i]);
    if (s->paths.n)
        qsort(s->paths.at, s->paths.n, sizeof *s->paths.at, by_stored);
    for (size_t i = 0; request->file && i < s->paths.n && i < request->files && !stop;
         i++) {
        const struct path_use *path = &s->paths.at[i];
        const struct cairn_file_size told = {path->path.ptr, path->contents,
                                             path->logical, path->stored};
        stop = request->file(request->context, &told);
    }
}

static int measure(struct sizing *s)
{
    uint64_t session = s->live.row.session;
    int rc = add_checkpoints(s, session);
    if (!rc)
        rc = add_rows(s, session);
    if (!rc)
        rc = add_others(s);
    if (!rc)
        rc = store_room(s->live.store, &s->out->store_bytes, &s->out->free_bytes,
                        s->error);
    if (!rc)
        sum_up(s);
    return rc;
}

int cairn_session_size(struct cairn_store *store, const char *session,
                       const struct cairn_size_request *request,
                       struct cairn_error *error)
{
    SIZE_CHECK("cairn_size_request", request, error);
    struct cairn_session_size out = {.session = 0};
    struct sizing s = {
        .uses = {.store = store, .error = error}, .out = &out, .error = error};
    int rc = live_read(&s.live, store, session, error);
    if (!rc)
        rc = measure(&s);
    rc = live_close(&s.live, rc, error);
    if (!rc)
        tell(&s, request);
    free(s.checkpoints);
    free(s.seqs);
    arena_release(&s.texts);
    path_uses_release(&s.paths);
    uses_release(&s.uses);
    return rc;
}
