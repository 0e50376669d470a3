/* SPDX-License-Identifier: MIT */
/* Getting and listing states, listing and deleting threads. */
#include "session/thread/thread_int.h"

#include "base/json_scan.h"
#include "base/struct_take.h"
#include "base/words.h"
#include "cairn/maintenance.h"
#include "storage/store.h"

#include <assert.h>
#include <stdlib.h>

struct thread_entry *thread_entry_of(const struct thread_record *record,
                                     enum thread_entry_kind kind, struct str space,
                                     struct str id)
{
    for (uint32_t i = record->n; i-- > 0;) {
        struct thread_entry *entry = &record->entries[i];
        if (entry->kind == kind && str_equal(entry->id, id) &&
            str_equal(entry->space, space))
            return entry;
    }
    return NULL;
}

uint64_t next_writes(struct reader *in, uint64_t before)
{
    uint64_t more = reader_left(in) ? read_varint(in) : 0;
    return in->failed || !more || more > INT64_MAX - before ? 0 : before + more;
}

/* ---- One state ---- */

struct key {
    uint64_t branch, seq;
    struct str space, id, writes;
};

struct getting {
    struct cairn_store *store;
    struct sha256 *sha;
    struct arena arena; /* of one state, or of a page of them */
    struct thread_base base;
    struct thread_record last; /* read last, in the arena */
    struct cairn_error *error;
};

static int get_record(struct getting *g, uint64_t seq, struct thread_record *out)
{
    int rc = 0;
    if (g->last.seq != seq)
        rc =
            thread_read(g->store, g->sha, seq, &g->base, &g->arena, &g->last, g->error);
    if (rc)
        g->last.seq = 0;
    *out = g->last;
    return rc == CAIRN_ENOTFOUND
               ? error_set(g->error, CAIRN_EDAMAGED,
                           "the record debug:%llu of a thread is lost: run `cairn "
                           "doctor`",
                           (unsigned long long)seq)
               : rc;
}

static int refuse_index(struct getting *g, uint64_t seq)
{
    return error_set(g->error, CAIRN_EDAMAGED,
                     "the index of threads leads to the wrong record debug:%llu: run "
                     "`cairn doctor`",
                     (unsigned long long)seq);
}

/* What the caller gets, and what it points to. */
struct found {
    struct cairn_thread_found told;
    struct cairn_thread_state state;
    char id[CAIRN_ID_MAX];
    struct str metadata;
};

static struct cairn_bytes bytes_of(struct str text)
{
    return (struct cairn_bytes){text.ptr, text.len};
}

static int get_value(struct getting *g, const struct thread_value *value,
                     struct cairn_bytes *kind, struct cairn_bytes *out)
{
    struct str bytes;
    int rc = thread_value_get(g->store, value, &g->arena, &bytes, g->error);
    *kind = bytes_of(value->kind);
    *out = rc ? (struct cairn_bytes){NULL, 0} : bytes_of(bytes);
    return rc;
}

static int get_channels(struct getting *g, const struct thread_entry *entry,
                        struct cairn_thread_state *out)
{
    struct cairn_thread_channel *channels = NULL;
    int rc = 0;
    if (entry->n_channels)
        channels = arena_take(&g->arena, entry->n_channels, sizeof *channels);
    for (uint32_t i = 0; i < entry->n_channels && channels && !rc; i++) {
        channels[i].name = bytes_of(entry->channels[i].name);
        rc = get_value(g, &entry->channels[i].value, &channels[i].kind,
                       &channels[i].value);
    }
    out->channels = channels;
    out->n_channels = entry->n_channels;
    return g->arena.failed ? error_nomem(g->error) : rc;
}

/* ---- Pending writes ---- */

struct pending {
    struct cairn_thread_write *at;
    size_t n, capacity;
    struct map places; /* by task and index */
};

static int add_write(struct getting *g, struct pending *pending,
                     const struct thread_write *write)
{
    uint32_t place = (uint32_t)pending->n;
    struct str index = {(const char *)&write->index, sizeof write->index};
    struct str key = arena_join(&g->arena, write->task, index);
    int added =
        g->arena.failed ? CAIRN_ENOMEM : map_add(&pending->places, key, place, &place);
    if (added < 0)
        return error_nomem(g->error);
    if (!added && write->index >= 0)
        return 0;
    if (added) {
        struct cairn_thread_write *at =
            array_room(pending->at, pending->n, &pending->capacity, sizeof *at);
        if (!at)
            return error_nomem(g->error);
        pending->at = at;
        place = (uint32_t)pending->n++;
    }
    struct cairn_thread_write *out = &pending->at[place];
    *out = (struct cairn_thread_write){.task = bytes_of(write->task),
                                       .path = bytes_of(write->path),
                                       .channel = bytes_of(write->channel),
                                       .index = write->index};
    return get_value(g, &write->value, &out->kind, &out->value);
}

static int by_path(const void *a, const void *b)
{
    const struct cairn_thread_write *x = a, *y = b;
    int order = str_compare(str_of_bytes(x->path), str_of_bytes(y->path));
    if (!order)
        order = str_compare(str_of_bytes(x->task), str_of_bytes(y->task));
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static int get_writes_of(struct getting *g, const struct key *key, uint64_t seq,
                         struct pending *pending)
{
    struct thread_record record;
    bool any = false;
    int rc = get_record(g, seq, &record);
    for (uint32_t i = 0; i < record.n && !rc; i++) {
        const struct thread_entry *entry = &record.entries[i];
        if (entry->kind != THREAD_WRITES || !str_equal(entry->id, key->id) ||
            !str_equal(entry->space, key->space))
            continue;
        any = true;
        for (uint32_t w = 0; w < entry->n_writes && !rc; w++)
            rc = add_write(g, pending, &entry->writes[w]);
    }
    return rc || any ? rc : refuse_index(g, seq);
}

static int get_pending(struct getting *g, const struct key *key,
                       struct cairn_thread_found *out)
{
    struct pending pending = {0};
    struct reader in = reader_of(key->writes.ptr, key->writes.len);
    int rc = 0;
    for (uint64_t seq = next_writes(&in, 0); seq && !rc; seq = next_writes(&in, seq))
        rc = get_writes_of(g, key, seq, &pending);
    struct cairn_thread_write *copy = NULL;
    if (!rc && pending.n) {
        qsort(pending.at, pending.n, sizeof *pending.at, by_path);
        copy = arena_take(&g->arena, pending.n, sizeof *copy);
        if (copy)
            memcpy(copy, pending.at, pending.n * sizeof *copy);
        else
            rc = error_nomem(g->error);
    }
    out->writes = copy;
    out->n_writes = pending.n;
    free(pending.at);
    map_release(&pending.places);
    return rc;
}

/* The state alone; get_rest then reads its values and writes. */
static int get_state(struct getting *g, const struct key *key, struct found *out,
                     const struct thread_entry **entry)
{
    struct thread_record record;
    int rc = get_record(g, key->seq, &record);
    if (rc)
        return rc;
    *entry = thread_entry_of(&record, THREAD_STATE, key->space, key->id);
    if (!*entry || record.branch != key->branch)
        return refuse_index(g, key->seq);
    struct cairn_thread_state *state = &out->state;
    *state = (struct cairn_thread_state){.size = sizeof *state,
                                         .thread = bytes_of(record.thread),
                                         .space = bytes_of((*entry)->space),
                                         .id = bytes_of((*entry)->id)};
    if ((*entry)->parent.ptr)
        state->parent = bytes_of((*entry)->parent);
    checkpoint_id(NAMESPACE_DEBUG, key->seq, &record.digest, out->id);
    out->told.made_ns = record.time_ns;
    rc = get_value(g, &(*entry)->metadata, &state->metadata_kind, &state->metadata);
    out->metadata = str_of_bytes(state->metadata);
    return rc;
}

static int get_rest(struct getting *g, const struct key *key,
                    const struct thread_entry *entry, struct found *out)
{
    out->told.state = &out->state;
    out->told.checkpoint = out->id;
    return get_value(g, &entry->state, &out->state.kind, &out->state.state)
           ?: get_channels(g, entry, &out->state)
           ?: get_pending(g, key, &out->told);
}

static void get_end(struct getting *g)
{
    arena_release(&g->arena);
    thread_base_release(&g->base);
    sha256_free(g->sha);
}

static int get_begin(struct getting *g, struct cairn_store *store,
                     struct cairn_error *error)
{
    *g = (struct getting){.store = store, .sha = sha256_new(), .error = error};
    return g->sha ? 0 : error_nomem(error);
}

struct keys {
    struct arena *arena;
    struct key *at;
    size_t n, capacity;
};

static int keep_key(void *context, const struct thread_state_row *row)
{
    struct keys *k = context;
    struct key *at = array_room(k->at, k->n, &k->capacity, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    k->at = at;
    at[k->n++] = (struct key){.branch = row->branch,
                              .seq = row->seq,
                              .space = arena_str(k->arena, row->space),
                              .id = arena_str(k->arena, row->id),
                              .writes = arena_str(k->arena, row->writes)};
    return k->arena->failed ? CAIRN_ENOMEM : 0;
}

static int get_in(struct getting *g, struct str thread, struct str space,
                  const struct str *id, struct found *found)
{
    struct thread_place place = {0};
    struct keys k = {.arena = &g->arena};
    const struct thread_entry *entry;
    int rc = thread_find(g->store, g->sha, thread, &place, g->error);
    if (!rc)
        rc = store_get_thread_state(g->store, place.branch, space, id, keep_key, &k,
                                    g->error);
    if (rc == CAIRN_ENOMEM)
        rc = error_nomem(g->error);
    if (rc == CAIRN_ENOTFOUND || (!rc && !k.at->seq))
        rc = error_set(g->error, CAIRN_ENOTFOUND, "the thread has no such state");
    if (!rc)
        rc = get_state(g, k.at, found, &entry) ?: get_rest(g, k.at, entry, found);
    free(k.at);
    return rc;
}

int cairn_thread_get(struct cairn_store *store, struct cairn_bytes thread,
                     struct cairn_bytes space, const struct cairn_bytes *id,
                     cairn_thread_fn *each, void *context, struct cairn_error *error)
{
    struct getting g;
    struct found found = {0};
    struct str wanted = id ? str_of_bytes(*id) : STR("");
    int rc = get_begin(&g, store, error) ?: store_begin_read(store, error);
    if (!rc) {
        rc = get_in(&g, str_of_bytes(thread), str_of_bytes(space), id ? &wanted : NULL,
                    &found);
        store_end_read(store);
    }
    if (!rc)
        (void)each(context, &found.told);
    get_end(&g);
    return rc;
}

/* ---- A filter of metadata ---- */

struct wanted {
    struct str key, value; /* what it means; JSON */
};

struct metadata_filter {
    struct wanted *at;
    size_t n;
};

/* The rest of the value of which `token` is the first. False: it is bad. */
static bool skip_value(struct json_scan *in, enum json_token token)
{
    uint32_t depth = 0;
    for (;; token = json_next(in)) {
        if (token == JSON_BAD || token == JSON_END)
            return false;
        depth += token == JSON_OBJECT || token == JSON_ARRAY;
        depth -= token == JSON_OBJECT_END || token == JSON_ARRAY_END;
        if (!depth && token != JSON_KEY)
            return true;
    }
}

/* Calls `each` for all pairs of the object. 1: it is no object of JSON. */
static int each_pair(struct str json,
                     int (*each)(void *, struct str key, struct str value),
                     void *context)
{
    struct json_scan in = json_scan_of(json);
    enum json_token token = json_next(&in);
    struct buf key = BUF_INIT;
    int rc = token == JSON_OBJECT ? 0 : 1;
    while (!rc && (token = json_next(&in)) == JSON_KEY) {
        buf_clear(&key);
        json_unescape(in.raw, &key);
        token = json_next(&in);
        const char *from = token == JSON_STRING ? in.raw.ptr - 1 : in.raw.ptr;
        rc = !skip_value(&in, token);
        if (!rc && key.failed)
            rc = CAIRN_ENOMEM;
        if (!rc)
            rc = each(context, buf_view(&key),
                      (struct str){from, (size_t)(in.at - from)});
    }
    if (!rc && (token != JSON_OBJECT_END || json_next(&in) != JSON_END))
        rc = 1;
    buf_release(&key);
    return rc;
}

static bool raw_equal(enum json_token token, struct str a, struct str b)
{
    if (str_equal(a, b))
        return true;
    if (token == JSON_NUMBER) {
        char x[64], y[64];
        if (a.len >= sizeof x || b.len >= sizeof y)
            return false;
        memcpy(x, a.ptr, a.len);
        memcpy(y, b.ptr, b.len);
        x[a.len] = y[b.len] = 0;
        return strtod(x, NULL) == strtod(y, NULL);
    }
    if (token != JSON_STRING && token != JSON_KEY)
        return true;
    struct buf p = BUF_INIT, q = BUF_INIT;
    json_unescape(a, &p);
    json_unescape(b, &q);
    bool equal = !p.failed && !q.failed && str_equal(buf_view(&p), buf_view(&q));
    buf_release(&p);
    buf_release(&q);
    return equal;
}

/* Token by token. */
static bool json_equal(struct str a, struct str b)
{
    struct json_scan x = json_scan_of(a), y = json_scan_of(b);
    for (;;) {
        enum json_token p = json_next(&x), q = json_next(&y);
        if (p != q || p == JSON_BAD)
            return false;
        if (p == JSON_END)
            return true;
        if (!raw_equal(p, x.raw, y.raw))
            return false;
    }
}

struct filling {
    struct metadata_filter *filter;
    size_t capacity;
    struct arena *arena;
};

static int add_wanted(void *context, struct str key, struct str value)
{
    struct filling *f = context;
    struct wanted *at =
        array_room(f->filter->at, f->filter->n, &f->capacity, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    f->filter->at = at;
    at[f->filter->n++] = (struct wanted){arena_str(f->arena, key), value};
    return f->arena->failed ? CAIRN_ENOMEM : 0;
}

static int filter_of(const char *json, struct arena *arena, struct metadata_filter *out,
                     struct cairn_error *error)
{
    struct filling f = {.filter = out, .arena = arena};
    int rc = json ? each_pair(str_of(json), add_wanted, &f) : 0;
    if (rc < 0)
        return error_nomem(error);
    return rc ? error_set(error, CAIRN_EUSAGE,
                          "the filter of metadata is no object of JSON")
              : 0;
}

struct matching {
    const struct metadata_filter *filter;
    bool *has;
};

static int match_pair(void *context, struct str key, struct str value)
{
    struct matching *m = context;
    for (size_t i = 0; i < m->filter->n; i++)
        if (str_equal(m->filter->at[i].key, key))
            m->has[i] = json_equal(m->filter->at[i].value, value);
    return 0;
}

/* 1: they fit, 0: they do not. */
static int filter_fits(const struct metadata_filter *filter, struct str metadata,
                       struct cairn_error *error)
{
    if (!filter->n)
        return 1;
    struct matching m = {filter, calloc(filter->n, sizeof *m.has)};
    if (!m.has)
        return error_nomem(error);
    int rc = each_pair(metadata, match_pair, &m);
    bool all = rc == 0;
    for (size_t i = 0; i < filter->n; i++)
        all = all && m.has[i];
    free(m.has);
    return rc < 0 ? error_nomem(error) : all;
}

/* ---- Lists ---- */

struct listing {
    struct getting g;
    struct thread_state_range range;
    struct str space, before;
    struct metadata_filter filter;
    struct arena kept; /* of the filter, and where the next page begins */
    struct buf below, below_space;
    uint64_t left; /* 0: no limit */
    bool done;
    cairn_thread_fn *each;
    void *context;
};

enum { PAGE = 50 };

static int set_below(struct listing *l, const struct key *last)
{
    buf_clear(&l->below);
    buf_str(&l->below, last->id);
    buf_clear(&l->below_space);
    buf_str(&l->below_space, last->space);
    l->before = buf_view(&l->below);
    l->range.below = &l->before;
    l->range.below_branch = last->branch;
    l->range.below_space = buf_view(&l->below_space);
    return buf_check(&l->below, l->g.error) ?: buf_check(&l->below_space, l->g.error);
}

/* In one read transaction: the states of a page that fit. */
static int read_page(struct listing *l, struct keys *k, struct found *found, size_t *n)
{
    uint64_t want = PAGE;
    *n = 0;
    if (l->left && l->left < want && !l->filter.n)
        want = l->left;
    l->range.limit = want;
    int rc = store_each_thread_state(l->g.store, &l->range, keep_key, k, l->g.error);
    if (rc == CAIRN_ENOMEM)
        rc = error_nomem(l->g.error);
    l->done = k->n < want;
    for (size_t i = 0; i < k->n && !rc && (!l->left || *n < l->left); i++) {
        const struct thread_entry *entry;
        struct found *at = &found[*n];
        *at = (struct found){0};
        rc = get_state(&l->g, &k->at[i], at, &entry);
        if (!rc)
            rc = filter_fits(&l->filter, at->metadata, l->g.error);
        if (rc > 0)
            rc = get_rest(&l->g, &k->at[i], entry, at) ?: ((*n)++, 0);
    }
    return rc ?: k->n ? set_below(l, &k->at[k->n - 1]) : 0;
}

static int list_page(struct listing *l, struct found found[PAGE])
{
    struct keys k = {.arena = &l->g.arena};
    size_t n = 0;
    int rc = store_begin_read(l->g.store, l->g.error);
    if (rc)
        return rc;
    rc = read_page(l, &k, found, &n);
    store_end_read(l->g.store);
    free(k.at);
    bool stopped = false;
    for (size_t i = 0; i < n && !rc && !stopped; i++)
        stopped = l->each(l->context, &found[i].told) != 0;
    if (l->left) {
        l->left -= n;
        l->done = l->done || !l->left;
    }
    l->done = l->done || stopped;
    arena_release(&l->g.arena);
    l->g.last = (struct thread_record){0};
    return rc;
}

static int list_all(struct listing *l)
{
    struct found *found = calloc(PAGE, sizeof *found);
    int rc = found ? 0 : error_nomem(l->g.error);
    while (!rc && !l->done)
        rc = list_page(l, found);
    free(found);
    return rc;
}

int cairn_thread_list(struct cairn_store *store,
                      const struct cairn_thread_filter *filter, cairn_thread_fn *each,
                      void *context, struct cairn_error *error)
{
    STRUCT_TAKE(cairn_thread_filter, filter, error);
    struct listing l = {.each = each, .context = context};
    struct thread_place place = {0};
    int rc = get_begin(&l.g, store, error)
                 ?: filter_of(filter->metadata, &l.kept, &l.filter, error);
    l.left = filter->limit;
    if (filter->space) {
        l.space = str_of_bytes(*filter->space);
        l.range.space = &l.space;
    }
    if (filter->before) {
        l.before = str_of_bytes(*filter->before);
        l.range.below = &l.before;
    }
    if (!rc && filter->thread) {
        rc = thread_find(store, l.g.sha, str_of_bytes(*filter->thread), &place, error);
        l.range.branch = place.branch;
        l.done = rc == CAIRN_ENOTFOUND;
        rc = l.done ? 0 : rc;
    }
    rc = rc ?: list_all(&l);
    get_end(&l.g);
    free(l.filter.at);
    arena_release(&l.kept);
    buf_release(&l.below);
    buf_release(&l.below_space);
    return rc;
}

/* ---- Threads ---- */

struct told_thread {
    struct cairn_thread_info info;
    uint64_t branch;
};

struct threads {
    struct told_thread *at;
    size_t n, capacity;
    struct arena arena;
    struct cairn_error *error;
};

static int note_thread(void *context, const struct session_row *row)
{
    struct threads *t = context;
    struct session_settings settings;
    struct buf name = BUF_INIT;
    if (!row->settings.len || settings_decode(row->settings, &settings, NULL) ||
        !settings.later[SETTING_THREAD].len)
        return 0;
    struct told_thread *at = array_room(t->at, t->n, &t->capacity, sizeof *at);
    if (!at)
        return CAIRN_ENOMEM;
    t->at = at;
    (void)thread_of_text(settings.later[SETTING_THREAD], &name);
    struct str copy = arena_str(&t->arena, buf_view(&name));
    at[t->n++] = (struct told_thread){
        {bytes_of(copy), 0, row->session, row->started_ns}, row->branch};
    bool failed = name.failed || t->arena.failed;
    buf_release(&name);
    return failed ? CAIRN_ENOMEM : 0;
}

static int read_threads(struct cairn_store *store, struct threads *t)
{
    const struct cairn_page all = {.all = true};
    int rc = store_each_session(store, &all, note_thread, t, NULL, t->error);
    if (rc == CAIRN_ENOMEM)
        rc = error_nomem(t->error);
    for (size_t i = 0; i < t->n && !rc; i++)
        rc = store_count_thread_states(store, t->at[i].branch, &t->at[i].info.states,
                                       t->error);
    return rc;
}

int cairn_thread_threads(struct cairn_store *store,
                         int (*each)(void *context,
                                     const struct cairn_thread_info *info),
                         void *context, struct cairn_error *error)
{
    struct threads t = {.error = error};
    int rc = store_begin_read(store, error);
    if (rc)
        return rc;
    rc = read_threads(store, &t);
    store_end_read(store);
    for (size_t i = 0; i < t.n && !rc; i++)
        if (each(context, &t.at[i].info))
            break;
    free(t.at);
    arena_release(&t.arena);
    return rc;
}

int cairn_thread_delete(struct cairn_store *store, struct cairn_bytes thread,
                        uint64_t *states, struct cairn_error *error)
{
    struct thread_place place = {0};
    char number[24];
    uint64_t had = 0;
    struct sha256 *sha = sha256_new();
    if (!sha)
        return error_nomem(error);
    int rc = thread_find(store, sha, str_of_bytes(thread), &place, error)
             ?: store_count_thread_states(store, place.branch, &had, error)
             ?: cairn_session_delete(store, u64_text(place.session, number), NULL,
                                     error);
    sha256_free(sha);
    if (rc && rc != CAIRN_ENOTFOUND)
        return rc;
    if (states)
        *states = rc ? 0 : had;
    return 0;
}
