/* SPDX-License-Identifier: MIT */
/* What an import leaves out, and says so. */
#include "session/transfer/transfer_int.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "base/words.h"
#include "storage/rows_checkpoint.h"
#include "storage/rows_meta.h"
#include "storage/sessions/rows_message.h"
#include "storage/store.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ==== What is left out ==== */

void import_refuse(struct importing *im, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    im->result.refused++;
    if (im->calls && im->calls->refused)
        im->calls->refused(im->calls->context, text);
}

int import_incomplete(struct importing *im, const char *type)
{
    import_refuse(im, "line %llu: this %s is not complete",
                  (unsigned long long)im->line, type);
    return 0;
}

int import_left_out(struct importing *im, int rc, const char *what,
                    const struct cairn_error *why)
{
    if (rc != CAIRN_EDAMAGED && rc != CAIRN_ENOTFOUND && rc != CAIRN_ENEWER &&
        rc != CAIRN_ELIMIT)
        return why->text[0] ? error_set(im->error, rc, "%s", why->text) : rc;
    import_refuse(im, "line %llu: %s: %s", (unsigned long long)im->line, what,
                  why->text);
    return 0;
}

/* ==== A new session ==== */

/* The session of this store that one of a file becomes. */

int import_make_session(struct importing *im)
{
    struct session_import *s = &im->session;
    struct moment started = {.utc_ns = s->started_ns, .boot_id = STR("")};
    int rc = s->name[0] ? session_free_name(im->store, s->name, im->error) : 0;
    if (!rc)
        rc = session_begin(&s->live, s->name[0] ? s->name : NULL, &started, false,
                           im->error);
    s->made = rc == 0;
    return rc;
}

/* ==== What is known of one that was imported before ==== */

/* Sessions that were imported before. The setting `from.S` says which session of which
 * store session S was imported from, and how far both had come: so what is new in a
 * file is added to a session that was not changed here since, in the same transaction
 * as everything else of it. One that was changed stays as it is, and what is new gets a
 * session of its own. */

/* ---- Turns ---- */

static int note_turn(void *context, const struct session_log_row *row)
{
    *(struct session_turn *)context = (struct session_turn){row->turn, row->time_ns};
    return 1;
}

int session_turn_find(struct cairn_store *store, uint64_t session, uint64_t turn,
                      struct session_turn *out, struct cairn_error *error)
{
    struct session_turn found = {0};
    int rc = turn ? 0 : store_last_session_turn(store, session, &turn, error);
    if (!rc && turn)
        rc = store_each_session_log(store, session, turn - 1, false, note_turn, &found,
                                    error);
    if (rc < 0)
        return rc;
    *out = found.turn == turn ? found : (struct session_turn){0};
    return 0;
}

/* ---- Origins ---- */

enum { KEY_BYTES = 32, TEXT_BYTES = 192 };

static void key_of(uint64_t session, char key[KEY_BYTES])
{
    snprintf(key, KEY_BYTES, "from.%" PRIu64, session);
}

/* 1 it has one, 0 it has none, or one that is damaged. */
static int read_origin(struct cairn_store *store, uint64_t session, struct origin *out,
                       struct cairn_error *error)
{
    char key[KEY_BYTES], text[TEXT_BYTES];
    struct origin at = {.session = session};
    struct cairn_error why = {0};
    key_of(session, key);
    int rc = store_sound_setting(store, key, text, sizeof text, &why);
    if (rc <= 0)
        return rc && rc != CAIRN_EDAMAGED ? error_set(error, rc, "%s", why.text) : 0;
    if (sscanf(text, "%63s %" SCNu64 " %" SCNu64 " %" SCNd64 " %" SCNu64 " %" SCNu64,
               at.store, &at.number, &at.turn, &at.turn_ns, &at.here, &at.seq) != 6)
        return 0;
    *out = at;
    return 1;
}

struct origin_list {
    struct importing *im;
    size_t capacity;
};

static int note_session(void *context, const struct session_row *row)
{
    struct origin_list *list = context;
    struct importing *im = list->im;
    struct origin *at =
        array_room(im->origins, im->n_origins, &list->capacity, sizeof *at);
    if (!at)
        return error_nomem(im->error);
    im->origins = at;
    at[im->n_origins++] = (struct origin){.session = row->session};
    return 0;
}

static int load_origins(struct importing *im)
{
    struct origin_list list = {.im = im};
    struct cairn_error why = {0};
    struct cairn_page page = {.all = true};
    free(im->origins);
    im->origins = NULL;
    im->n_origins = 0;
    int rc = store_each_session(im->store, &page, note_session, &list, NULL, &why);
    size_t n = 0;
    for (size_t i = 0; i < im->n_origins && rc >= 0; i++) {
        rc = read_origin(im->store, im->origins[i].session, &im->origins[n], &why);
        n += rc > 0;
    }
    im->n_origins = n;
    if (rc == CAIRN_EDAMAGED)
        return 0; /* these are not recognized */
    return rc < 0 ? error_set(im->error, rc, "%s", why.text) : 0;
}

/* ---- Checkpoints that are here ---- */

struct known_list {
    struct known_record *at;
    size_t n, capacity;
    struct sha256 *sha;
    struct cairn_store *store;
    struct cairn_error *error;
};

static int add_known(struct known_list *list, struct str id,
                     const struct sections_at *here)
{
    struct known_record *at =
        array_room(list->at, list->n, &list->capacity, sizeof *at);
    if (!at)
        return error_nomem(list->error);
    list->at = at;
    at[list->n].seq = here->ref.seq;
    at[list->n].session = here->session;
    snprintf(at[list->n++].id, sizeof at->id, "%.*s",
             (int)(id.len < CAIRN_ID_MAX ? id.len : CAIRN_ID_MAX - 1), id.ptr);
    return 0;
}

static int note_record(void *context, const struct checkpoint_row *row)
{
    struct known_list *list = context;
    struct arena arena = ARENA_INIT;
    struct sections said;
    struct sections_at at;
    struct cairn_error why = {0};
    char id[CAIRN_ID_MAX];
    int rc = sections_read(list->store, list->sha, row->seq, &arena, &said, &at, &why);
    if (!rc) {
        checkpoint_id(NAMESPACE_DEBUG, row->seq, &at.ref.digest, id);
        rc = add_known(list, str_of(id), &at);
    } else if (rc == CAIRN_EDAMAGED) {
        arena_release(&arena);
        return 0;
    }
    for (uint32_t i = 0; i < said.n_tags && !rc; i++) {
        struct str tag = said.tags[i];
        if (tag.len > 5 && memcmp(tag.ptr, "from:", 5) == 0)
            rc = add_known(list, (struct str){tag.ptr + 5, tag.len - 5}, &at);
    }
    arena_release(&arena);
    return rc && rc != CAIRN_ENOMEM ? error_set(list->error, rc, "%s", why.text) : rc;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct known_record *)a)->id,
                  ((const struct known_record *)b)->id);
}

int import_load_known(struct importing *im)
{
    struct known_list list = {.sha = im->sha, .store = im->store, .error = im->error};
    struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG};
    free(im->known);
    int rc = store_each_checkpoint(im->store, &range, note_record, &list, im->error);
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_id);
    im->known = list.at;
    im->n_known = list.n;
    im->version = store_data_version(im->store);
    return rc < 0 ? rc : load_origins(im);
}

/* ---- Where a session is from ---- */

struct row_here {
    char name[CAIRN_SESSION_NAME_MAX];
    int64_t started_ns;
};

static int note_row(void *context, const struct session_row *row)
{
    struct row_here *here = context;
    struct str name = clean_str(row->name);
    snprintf(here->name, sizeof here->name, "%.*s",
             (int)utf8_fit(name, sizeof here->name - 1), name.ptr);
    here->started_ns = row->started_ns;
    return 0;
}

/* The newest import of the session that is still here: 1 found. What was listed may
 * have changed since. */
static int find_origin(struct importing *im, struct origin *found,
                       struct row_here *here)
{
    const struct session_import *s = &im->session;
    int rc = 0;
    *found = (struct origin){.turn = 0};
    for (size_t i = 0; i < im->n_origins && rc >= 0; i++) {
        struct origin at;
        struct cairn_error why = {0};
        const struct origin *listed = &im->origins[i];
        if (listed->number != s->number || strcmp(listed->store, im->origin) != 0)
            continue;
        rc = read_origin(im->store, listed->session, &at, im->error);
        if (rc <= 0 || (found->session && at.turn < found->turn))
            continue;
        rc = store_get_session(im->store, at.session, note_row, here, &why);
        if (!rc)
            *found = at;
        else if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
            rc = 0;
        else
            rc = error_set(im->error, rc, "%s", why.text);
    }
    return rc < 0 ? rc : found->session > 0;
}

/* ---- A session of the file ---- */

static int make_apart(struct importing *im, const struct row_here *here)
{
    memcpy(im->session.changed, here->name, sizeof here->name);
    return import_make_session(im);
}

/* One that is damaged is left alone, like one that was changed. */
static int go_on(struct importing *im, uint64_t session, const struct row_here *here)
{
    struct session_import *s = &im->session;
    struct cairn_error why = {0};
    char number[24];
    u64_text(session, number);
    int rc = live_find(&s->live, number, &why) ?: live_load_board(&s->live, &why);
    s->made = s->continued = rc == 0;
    if (rc != CAIRN_EDAMAGED)
        return rc ? error_set(im->error, rc, "%s", why.text) : 0;
    (void)live_close(&s->live, rc, &why);
    return live_begin(&s->live, im->store, true, im->error) ?: make_apart(im, here);
}

static int recognize_origin(struct importing *im, const struct origin *o,
                            const struct row_here *here)
{
    struct session_import *s = &im->session;
    uint64_t last = 0;
    s->recognized = true;
    s->known = s->turn < o->turn || (s->turn == o->turn && s->turn_ns == o->turn_ns);
    if (s->known)
        return 0;
    int rc = store_last_session_turn(im->store, o->session, &last, im->error);
    if (rc)
        return rc;
    s->seen = o->seq;
    return last == o->here ? go_on(im, o->session, here) : make_apart(im, here);
}

/* A file of this store says what one of its sessions was at a turn. One that was never
 * so here is of a copy of the store, where it went on in another way. */
static int recognize_own(struct importing *im)
{
    struct session_import *s = &im->session;
    struct session_turn at = {0};
    struct row_here here = {.started_ns = 0};
    struct cairn_error why = {0};
    int rc = store_get_session(im->store, s->number, note_row, &here, &why);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED ||
        (!rc && here.started_ns != s->started_ns))
        return 0;
    if (!rc)
        rc = session_turn_find(im->store, s->number, s->turn, &at, &why);
    if (rc && rc != CAIRN_EDAMAGED)
        return error_set(im->error, rc, "%s", why.text);
    s->recognized = true;
    s->known = at.turn && at.time_ns == s->turn_ns;
    return s->known ? 0 : make_apart(im, &here);
}

int import_recognize(struct importing *im)
{
    struct session_import *s = &im->session;
    struct origin found;
    struct row_here here;
    if (!s->turn || !im->origin[0])
        return 0;
    int rc = find_origin(im, &found, &here);
    if (rc)
        return rc < 0 ? rc : recognize_origin(im, &found, &here);
    return strcmp(im->origin, store_id(im->store)) == 0 ? recognize_own(im) : 0;
}

/* ---- One of which only checkpoints are known ---- */

int import_look_at_message(struct importing *im, const struct line *line)
{
    struct session_import *s = &im->session;
    struct message_seen seen;
    struct cairn_error why = {0};
    struct digest columns;
    uint64_t n = 0;
    if (!s->known_session || !line_get_number(line, "n", &n) ||
        !line_get_digest(line, "digest", &columns))
        return 0;
    int rc = message_see(im->store, s->known_session, n, &seen, &why);
    if (rc && rc != CAIRN_ENOTFOUND && rc != CAIRN_EDAMAGED)
        return error_set(im->error, rc, "%s", why.text);
    s->lacks_messages |= rc || !digest_equal(&seen.columns, &columns);
    return 0;
}

/* *lacks: the file has items that the other board does not have, or has otherwise;
 * *same: they are the same. */
static int compare_board(struct session_import *s, const struct board *other,
                         bool *lacks, bool *same, struct cairn_error *error)
{
    struct board_changes changes = {0};
    int rc = boards_compare(&s->present.board, other, &changes, error);
    *lacks = false;
    for (uint32_t i = 0; i < changes.n; i++)
        *lacks |= changes.at[i].had;
    *same = changes.n == 0;
    free(changes.at);
    return rc;
}

int import_compare(struct importing *im)
{
    struct session_import *s = &im->session;
    struct state_at state;
    char number[24];
    bool lacks = false, same = false, as_it_was;
    struct cairn_error why = {0};
    if (!s->has_present || !s->known_session)
        return 0;
    u64_text(s->known_session, number);
    int rc = live_find(&s->live, number, &why)
             ?: live_load_board(&s->live, &why)
             ?: compare_board(s, &s->live.board, &lacks, &same, &why);
    s->same = !rc && same && !s->lacks_messages;
    if (!rc && lacks) {
        rc = state_read(im->store, im->sha, s->known_seq, &state, &why)
                 ?: compare_board(s, &state.board, &lacks, &as_it_was, &why);
        state_release(&state);
    }
    if (rc)
        return import_left_out(im, rc, s->file_name, &why);
    if (lacks || s->lacks_messages)
        import_refuse(im,
                      "session %s: not all that it has is here, and nothing of it was "
                      "imported, since its checkpoints are: make a new checkpoint of "
                      "it where the file is from, and export it again",
                      s->file_name);
    return 0;
}

/* ---- The end ---- */

/* What was refused may come with another file, so then nothing is noted. */
int import_note_origin(struct importing *im)
{
    struct session_import *s = &im->session;
    char key[KEY_BYTES], text[TEXT_BYTES];
    uint64_t here = s->live.turn;
    if (!s->turn || !im->origin[0] || im->origin[strcspn(im->origin, " \n")] ||
        !(s->made || s->same) || im->result.refused != s->refused)
        return 0;
    int rc = here ? 0
                  : store_last_session_turn(im->store, s->live.row.session, &here,
                                            im->error);
    key_of(s->live.row.session, key);
    uint64_t seq = s->n_seqs ? s->seqs[s->n_seqs - 1].file : 0;
    snprintf(text, sizeof text,
             "%s %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRIu64 " %" PRIu64, im->origin,
             s->number, s->turn, s->turn_ns, here, seq > s->seen ? seq : s->seen);
    uint64_t *noted =
        rc ? NULL
           : array_room(im->noted, im->n_noted, &im->noted_capacity, sizeof *noted);
    if (!noted)
        return rc ? rc : error_nomem(im->error);
    im->noted = noted;
    noted[im->n_noted++] = s->live.row.session;
    return store_set_setting(im->store, key, text, im->error);
}

/* A turn that was changed would have the next file taken for an older one. */
int import_forget_origins(struct importing *im)
{
    char key[KEY_BYTES];
    int rc = im->n_noted ? store_begin(im->store, -1, im->error) : 0;
    if (rc || !im->n_noted)
        return rc;
    for (size_t i = 0; i < im->n_noted && !rc; i++) {
        key_of(im->noted[i], key);
        rc = store_drop_setting(im->store, key, im->error);
    }
    return store_end(im->store, rc, im->error);
}
