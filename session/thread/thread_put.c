/* SPDX-License-Identifier: MIT */
/* Putting states and writes: all that one call gives in one transaction, of each thread
 * in records of a few entries.
 *
 * A state has all of its channels: those that are unchanged are taken from the state of
 * the parent, as that has them, so that no state needs another one. Small values are in
 * the record itself, which is stored as what makes it differ from the branch's newest
 * full one; where an unchanged value is not in that, either, it moves to the pool. */
#include "session/thread/thread_int.h"

#include "base/struct_take.h"
#include "secrets/declared.h"
#include "secrets/outside.h"
#include "secrets/redact.h"
#include "storage/object.h"
#include "storage/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    NAME_MOST = 4096,
    VALUE_MOST = 64 << 20,
    PARTS_MOST = 100000, /* channels or writes of a state */
    WITHIN = 512,        /* bytes of a value in a record */
    WITHIN_STATE = 4096, /* of a state and its metadata */
    UNCHANGED_LEAST = 64 /* shorter ones are not worth an object */
};

/* One state, or one set of writes, of the caller. */
struct given {
    struct str thread;
    size_t n; /* its place */
    const struct cairn_thread_state *state;
    const struct cairn_thread_writes *writes;
};

struct putting {
    struct live live;
    struct cairn_thread_state *states; /* of the caller, whole */
    struct cairn_thread_writes *writes;
    struct redactor *redactor;
    struct given *given;
    size_t n;
    struct thread_writer to;
    struct thread_base read; /* what records of parents are written after */
    struct cairn_error *error;
};

/* ---- What may be put ---- */

static int check_length(struct cairn_bytes bytes, size_t most, const char *what,
                        struct cairn_error *error)
{
    if (bytes.length && !bytes.bytes)
        return error_set(error, CAIRN_EUSAGE, "%s has a length and no bytes", what);
    if (bytes.length > most)
        return error_set(error, CAIRN_ELIMIT,
                         "%s has %zu bytes, at most %zu can be stored", what,
                         bytes.length, most);
    return 0;
}

static int check_count(size_t n, const void *at, const char *what,
                       struct cairn_error *error)
{
    if (n && !at)
        return error_set(error, CAIRN_EUSAGE, "%s are counted and not given", what);
    if (n > PARTS_MOST)
        return error_set(error, CAIRN_ELIMIT, "there are %zu %s, at most %d can be", n,
                         what, PARTS_MOST);
    return 0;
}

struct part {
    struct cairn_bytes bytes;
    const char *what;
    bool is_value;
};

/* Refuses a secret that a workflow declares, wherever it is. */
static int check_part(const struct putting *p, const struct part *part,
                      bool keep_secrets)
{
    struct secret_place place;
    struct str text = str_of_bytes(part->bytes);
    int rc = check_length(part->bytes, part->is_value ? VALUE_MOST : NAME_MOST,
                          part->what, p->error);
    if (rc || keep_secrets || !p->redactor ||
        !redactor_where(p->redactor, text, &place))
        return rc;
    return error_set(p->error, CAIRN_EUSAGE,
                     "%s has the secret %.*s in it (bytes %zu to %zu), and is stored "
                     "as it is or not at all: take it out, or set keep_secrets",
                     part->what, (int)place.name.len, place.name.ptr, place.from,
                     place.to);
}

static int check_parts(const struct putting *p, const struct part *parts, size_t n,
                       bool keep_secrets)
{
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        rc = check_part(p, &parts[i], keep_secrets);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    const struct str *x = a, *y = b;
    return str_compare(*x, *y);
}

static int check_once(struct putting *p, const struct cairn_thread_state *state)
{
    struct str *names = malloc((state->n_channels + 1) * sizeof *names);
    int rc = names ? 0 : error_nomem(p->error);
    for (size_t i = 0; i < state->n_channels && !rc; i++)
        names[i] = str_of_bytes(state->channels[i].name);
    if (!rc)
        qsort(names, state->n_channels, sizeof *names, by_name);
    for (size_t i = 1; i < state->n_channels && !rc; i++)
        if (str_equal(names[i - 1], names[i]))
            rc = error_set(p->error, CAIRN_EUSAGE,
                           "the state has the channel %.*s twice",
                           (int)(names[i].len < 80 ? names[i].len : 80), names[i].ptr);
    free(names);
    return rc;
}

static int check_state(struct putting *p, const struct cairn_thread_state *state)
{
    const struct part parts[] = {{state->thread, "the thread", false},
                                 {state->space, "the space", false},
                                 {state->id, "the id", false},
                                 {state->parent, "the parent", false},
                                 {state->kind, "the kind of the state", false},
                                 {state->state, "the state", true},
                                 {state->metadata_kind, "the kind of metadata", false},
                                 {state->metadata, "the metadata", true}};
    int rc = check_count(state->n_channels, state->channels, "channels", p->error)
                 ?: check_parts(p, parts, COUNT_OF(parts), state->keep_secrets);
    for (size_t i = 0; i < state->n_channels && !rc; i++) {
        const struct cairn_thread_channel *channel = &state->channels[i];
        char what[120];
        snprintf(what, sizeof what, "the channel %.*s",
                 (int)(channel->name.length < 80 ? channel->name.length : 80),
                 channel->name.length ? (const char *)channel->name.bytes : "");
        const struct part named = {channel->name, "the name of a channel", false};
        const struct part valued[] = {{channel->kind, "the kind of a channel", false},
                                      {channel->value, what, true}};
        rc = check_part(p, &named, state->keep_secrets);
        if (!rc && !channel->unchanged)
            rc = check_parts(p, valued, COUNT_OF(valued), state->keep_secrets);
    }
    return rc ?: check_once(p, state);
}

static int check_writes(struct putting *p, const struct cairn_thread_writes *writes)
{
    const struct part parts[] = {{writes->thread, "the thread", false},
                                 {writes->space, "the space", false},
                                 {writes->id, "the id", false}};
    int rc = check_count(writes->n_writes, writes->writes, "writes", p->error)
                 ?: check_parts(p, parts, COUNT_OF(parts), writes->keep_secrets);
    for (size_t i = 0; i < writes->n_writes && !rc; i++) {
        const struct cairn_thread_write *write = &writes->writes[i];
        const struct part of[] = {{write->task, "the task of a write", false},
                                  {write->path, "the path of a write", false},
                                  {write->channel, "the channel of a write", false},
                                  {write->kind, "the kind of a write", false},
                                  {write->value, "the value of a write", true}};
        rc = check_parts(p, of, COUNT_OF(of), writes->keep_secrets);
    }
    return rc;
}

static int check_given(struct putting *p)
{
    int rc = 0;
    for (size_t i = 0; i < p->n && !rc; i++)
        rc = p->given[i].state ? check_state(p, p->given[i].state)
                               : check_writes(p, p->given[i].writes);
    return rc;
}

/* No session's setting counts here: what a thread has is of no person's. */
static int know_secrets(struct putting *p)
{
    struct buf names = BUF_INIT;
    int rc = secrets_declared(p->live.store, true, &names, p->error);
    if (!rc && names.size) {
        struct hidden_values hidden = {.names = STR(""), .declared = buf_view(&names)};
        rc = redactor_of_values(&hidden, &p->redactor, p->error);
    }
    buf_release(&names);
    return rc;
}

/* ---- The state that a state comes after ---- */

/* *parent NULL: it is not there. */
static int find_parent(struct putting *p, struct str space, struct str id,
                       struct thread_entry **parent)
{
    struct thread_row row;
    struct thread_record record;
    *parent = thread_entry_of(&p->to.record, THREAD_STATE, space, id);
    if (*parent)
        return 0;
    int rc = thread_row_get(&p->to, space, id, &row);
    thread_row_release(&row);
    if (rc || !row.seq)
        return rc;
    rc = thread_read(p->live.store, p->live.sha, row.seq, &p->read, &p->live.arena,
                     &record, p->error);
    if (!rc)
        *parent = thread_entry_of(&record, THREAD_STATE, space, id);
    if (!rc && !*parent)
        rc = error_set(p->error, CAIRN_EDAMAGED,
                       "the index of threads leads to a wrong record: run `cairn "
                       "doctor`");
    return rc;
}

static const struct thread_value *value_of(const struct thread_entry *state,
                                           struct str channel)
{
    for (uint32_t i = 0; state && i < state->n_channels; i++)
        if (str_equal(state->channels[i].name, channel))
            return &state->channels[i].value;
    return NULL;
}

static int put_unchanged(struct putting *p, const struct thread_value *before,
                         struct thread_channel *out)
{
    struct str base = buf_view(&p->to.end.base.body);
    out->value = *before;
    if (before->pooled)
        return thread_value_use(p->live.store, before, out->name, p->error);
    if (before->bytes.len < UNCHANGED_LEAST ||
        (base.len && memmem(base.ptr, base.len, before->bytes.ptr, before->bytes.len)))
        return 0;
    int rc =
        thread_value_put(p->live.store, before->bytes, 0, NULL, &out->value, p->error);
    out->value.kind = before->kind;
    return rc;
}

static int put_channels(struct putting *p, const struct cairn_thread_state *state,
                        const struct thread_entry *parent, struct thread_entry *entry)
{
    struct cairn_store *store = p->live.store;
    int rc = 0;
    if (state->n_channels)
        entry->channels =
            arena_take(&p->live.arena, state->n_channels, sizeof *entry->channels);
    if (p->live.arena.failed)
        return error_nomem(p->error);
    for (size_t i = 0; i < state->n_channels && !rc; i++) {
        const struct cairn_thread_channel *channel = &state->channels[i];
        struct thread_channel *out = &entry->channels[entry->n_channels];
        out->name = str_of_bytes(channel->name);
        const struct thread_value *before = value_of(parent, out->name);
        if (channel->unchanged && !before)
            return error_set(p->error, CAIRN_ENOTFOUND,
                             "channel %.*s is unchanged, and the parent is not there "
                             "or does not have it: put its value",
                             (int)(out->name.len < 80 ? out->name.len : 80),
                             out->name.ptr);
        entry->n_channels++;
        rc = channel->unchanged
                 ? put_unchanged(p, before, out)
                 : thread_value_put(store, str_of_bytes(channel->value), WITHIN, before,
                                    &out->value, p->error);
        if (!channel->unchanged)
            out->value.kind = str_of_bytes(channel->kind);
    }
    return rc;
}

/* ---- One thread ---- */

static int check_new(struct putting *p, struct str space, struct str id)
{
    struct thread_row row;
    int rc = thread_row_get(&p->to, space, id, &row);
    thread_row_release(&row);
    if (!rc && (row.seq || thread_entry_of(&p->to.record, THREAD_STATE, space, id)))
        rc = error_set(p->error, CAIRN_EEXISTS,
                       "the thread has a state of that id already");
    return rc;
}

static int add_state(struct putting *p, const struct cairn_thread_state *state,
                     struct thread_entry *entry)
{
    struct thread_entry *parent = NULL;
    *entry = (struct thread_entry){.kind = THREAD_STATE,
                                   .space = str_of_bytes(state->space),
                                   .id = str_of_bytes(state->id)};
    int rc = state->only_new ? check_new(p, entry->space, entry->id) : 0;
    if (state->parent.length) {
        entry->parent = str_of_bytes(state->parent);
        rc = rc ?: find_parent(p, entry->space, entry->parent, &parent);
    }
    rc = rc
             ?: thread_value_put(p->live.store, str_of_bytes(state->state), WITHIN_STATE,
                                 parent ? &parent->state : NULL, &entry->state, p->error)
             ?: thread_value_put(p->live.store, str_of_bytes(state->metadata),
                                 WITHIN_STATE, parent ? &parent->metadata : NULL,
                                 &entry->metadata, p->error)
             ?: put_channels(p, state, parent, entry);
    entry->state.kind = str_of_bytes(state->kind);
    entry->metadata.kind = str_of_bytes(state->metadata_kind);
    return rc;
}

static int add_writes(struct putting *p, const struct cairn_thread_writes *writes,
                      struct thread_entry *entry)
{
    int rc = 0;
    *entry = (struct thread_entry){.kind = THREAD_WRITES,
                                   .space = str_of_bytes(writes->space),
                                   .id = str_of_bytes(writes->id),
                                   .n_writes = (uint32_t)writes->n_writes};
    if (writes->n_writes)
        entry->writes =
            arena_take(&p->live.arena, writes->n_writes, sizeof *entry->writes);
    if (p->live.arena.failed)
        return error_nomem(p->error);
    for (size_t i = 0; i < writes->n_writes && !rc; i++) {
        const struct cairn_thread_write *from = &writes->writes[i];
        struct thread_write *to = &entry->writes[i];
        *to = (struct thread_write){.task = str_of_bytes(from->task),
                                    .path = str_of_bytes(from->path),
                                    .channel = str_of_bytes(from->channel),
                                    .index = from->index};
        rc = thread_value_put(p->live.store, str_of_bytes(from->value), WITHIN, NULL,
                              &to->value, p->error);
        to->value.kind = str_of_bytes(from->kind);
    }
    return rc;
}

static int put_one(struct putting *p, const struct given *given)
{
    struct thread_entry entry;
    if (given->writes && !given->writes->n_writes)
        return 0;
    int rc = thread_writer_room(&p->to)
                 ?: given->state ? add_state(p, given->state, &entry)
                                 : add_writes(p, given->writes, &entry);
    if (!rc)
        thread_writer_add(&p->to, &entry);
    return rc;
}

static int put_thread(struct putting *p, const struct given *given, size_t n)
{
    struct thread_place place;
    int rc = thread_find_or_make(&p->live, given->thread, &place, p->error)
                 ?: thread_writer_open(&p->to, &p->live, given->thread, place.branch,
                                       p->error);
    for (size_t i = 0; i < n && !rc; i++)
        rc = put_one(p, &given[i]);
    rc = thread_writer_close(&p->to, rc);
    thread_base_release(&p->read);
    return rc;
}

/* ---- All of them ---- */

static int by_thread(const void *a, const void *b)
{
    const struct given *x = a, *y = b;
    int order = str_compare(x->thread, y->thread);
    return order ? order : x->n < y->n ? -1 : x->n > y->n;
}

static int take_given(struct putting *p, const struct cairn_thread_state *states,
                      size_t n_states, const struct cairn_thread_writes *writes,
                      size_t n_writes)
{
    p->given = calloc(n_states + n_writes + 1, sizeof *p->given);
    p->states = calloc(n_states + 1, sizeof *p->states);
    p->writes = calloc(n_writes + 1, sizeof *p->writes);
    if (!p->given || !p->states || !p->writes)
        return error_nomem(p->error);
    int rc = STRUCT_TAKE_ALL(cairn_thread_state, p->states, states, n_states, p->error)
                 ?: STRUCT_TAKE_ALL(cairn_thread_writes, p->writes, writes, n_writes,
                                    p->error);
    if (rc)
        return rc;
    for (size_t i = 0; i < n_states + n_writes; i++) {
        struct given *given = &p->given[p->n];
        given->n = p->n++;
        if (i < n_states)
            given->state = &p->states[i];
        else
            given->writes = &p->writes[i - n_states];
        given->thread =
            str_of_bytes(given->state ? given->state->thread : given->writes->thread);
    }
    return 0;
}

static int put_all(struct putting *p)
{
    int rc = 0;
    qsort(p->given, p->n, sizeof *p->given, by_thread);
    for (size_t i = 0, n; i < p->n && !rc; i += n) {
        for (n = 1;
             i + n < p->n && str_equal(p->given[i].thread, p->given[i + n].thread);)
            n++;
        rc = put_thread(p, &p->given[i], n);
    }
    return rc;
}

int cairn_thread_put(struct cairn_store *store, const struct cairn_thread_state *states,
                     size_t n_states, const struct cairn_thread_writes *writes,
                     size_t n_writes, struct cairn_error *error)
{
    struct putting *p = calloc(1, sizeof *p);
    if (!p)
        return error_nomem(error);
    p->error = error;
    int rc = check_count(n_states, states, "states", error)
             ?: check_count(n_writes, writes, "sets of writes", error)
             ?: take_given(p, states, n_states, writes, n_writes)
             ?: live_begin(&p->live, store, true, error)
             ?: know_secrets(p)
             ?: check_given(p)
             ?: put_all(p);
    rc = live_close(&p->live, rc, error);
    redactor_free(p->redactor);
    free(p->given);
    free(p->states);
    free(p->writes);
    free(p);
    return rc;
}
