/* SPDX-License-Identifier: MIT */
/* The state of a checkpoint as a session of its own, in the same store or another. */
#include "cairn/restore.h"
#include "session/session_int.h"

#include "base/utf8.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

struct copying {
    struct state_at state;
    bool read;
    bool same_store;                   /* where its runs are, too */
    char name[CAIRN_SESSION_NAME_MAX]; /* of the session that it is from, or "" */
    int64_t started_ns;
    struct cairn_error *error;
};

/* ---- Reading ---- */

static int note_session(void *context, const struct session_row *row)
{
    struct copying *c = context;
    snprintf(c->name, sizeof c->name, "%.*s",
             (int)utf8_fit(clean_str(row->name), sizeof c->name - 1), row->name.ptr);
    c->started_ns = row->started_ns;
    return 0;
}

/* The state counts, not what the row of its session says. */
static int read_session(struct copying *c, struct live *live)
{
    struct cairn_error why = {0};
    c->started_ns = c->state.at.time_ns;
    int rc = store_get_session(live->store, c->state.at.session, note_session, c, &why);
    if (!rc || rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        return 0;
    return error_set(c->error, rc, "%s", why.text);
}

static int read_source(struct copying *c, struct cairn_store *store, const char *id)
{
    struct live live;
    uint64_t seq = 0;
    int rc = live_begin(&live, store, false, c->error);
    if (!rc)
        rc = debug_seq(store, id, &seq, c->error);
    c->read = rc == 0;
    if (!rc)
        rc = state_read(store, live.sha, seq, &c->state, c->error);
    if (!rc)
        rc = read_session(c, &live);
    return live_close(&live, rc, c->error);
}

/* ---- Writing ---- */

int session_free_name(struct cairn_store *store, char name[CAIRN_SESSION_NAME_MAX],
                      struct cairn_error *error)
{
    char base[104];
    int rc = 0;
    snprintf(base, sizeof base, "%.*s", (int)utf8_fit(str_of(name), sizeof base - 1),
             name);
    for (unsigned n = 2; !rc; n++) {
        uint64_t taken;
        rc = store_find_session(store, str_of(name), &taken, error);
        if (!rc)
            snprintf(name, CAIRN_SESSION_NAME_MAX, "%s-%u", base, n);
    }
    return rc == CAIRN_ENOTFOUND ? 0 : rc;
}

int live_take_state(struct live *live, const struct state_at *state,
                    struct cairn_error *error)
{
    struct board_changes changes = {0};
    struct board none;
    int rc = 0;
    board_init(&none);
    for (uint8_t kind = 1; kind < ITEM_KINDS_END && !rc; kind++) {
        struct section section = board_section(&state->board, kind);
        if (live->numbers[kind] < state->board.lists[kind].last)
            live->numbers[kind] = state->board.lists[kind].last;
        rc = board_load(&live->board, kind, &section, live->numbers[kind], error);
    }
    if (live->last_message) /* they were put there before */
        live->message = state->messages.n <= live->last_message ? state->messages.n : 0;
    if (!rc)
        rc = boards_compare(&none, &live->board, &changes, error);
    if (!rc)
        rc = live_put_changes(live, &changes, false, error);
    free(changes.at);
    board_release(&none);
    return rc ? rc : live_put_row(live, error);
}

/* What it said of itself, and when: only the settings of the session are new. */
static int put_checkpoint(struct copying *c, struct live *live)
{
    const struct sections *said = &c->state.sections;
    struct session_settings settings = live->settings;
    struct captured captured;
    struct capture capture = {
        .trigger = (enum trigger)said->trigger,
        .message = said->message,
        .tags = said->tags,
        .n_tags = said->n_tags,
        .link = c->same_store && said->linked ? &said->link : NULL,
        .always = true,
        .context = context_has_any(&c->state.context) ? &c->state.context : NULL,
        .copied = true};
    live->now = (struct moment){c->state.at.time_ns, said->boot_ns, said->boot};
    live->settings.triggers.interval_ns = 0;
    int rc = capture_state(live, &capture, &captured, c->error);
    live->settings = settings;
    return rc ? rc : live_put_row(live, c->error);
}

static int write_copy(struct copying *c, struct live *live, const char *name)
{
    struct moment started = {.utc_ns = c->started_ns, .boot_id = STR("")};
    int rc =
        name || !c->name[0] ? 0 : session_free_name(live->store, c->name, c->error);
    if (!name && c->name[0])
        name = c->name;
    if (!rc)
        rc = session_begin(live, name, &started, true, c->error);
    if (!rc)
        rc = live_take_state(live, &c->state, c->error);
    return rc ? rc : put_checkpoint(c, live);
}

static int put_copy(struct copying *c, struct cairn_store *to, const char *name,
                    struct cairn_session_info *told)
{
    struct live live;
    int rc = live_begin(&live, to, true, c->error);
    if (!rc)
        rc = write_copy(c, &live, name);
    if (!rc)
        rc = session_tell(&live, told, c->error);
    return live_close(&live, rc, c->error);
}

int cairn_session_copy(struct cairn_store *from, const char *checkpoint,
                       struct cairn_store *to, const char *name,
                       struct cairn_session_info *info, struct cairn_error *error)
{
    struct copying c = {.same_store = from == to, .error = error};
    struct cairn_session_info told = {0};
    int rc =
        name ? session_check_new_name("the name of a session", str_of(name), error) : 0;
    if (!rc)
        rc = read_source(&c, from, checkpoint);
    if (!rc)
        rc = put_copy(&c, to, name, &told);
    if (c.read)
        state_release(&c.state);
    if (!rc && info)
        *info = told;
    return rc;
}
