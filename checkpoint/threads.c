/* SPDX-License-Identifier: MIT */
/* Records of threads: their bytes, writing and reading them. What one function says is
 * wrong is never written: a reader takes what a writer could have made. */
#include "checkpoint/threads.h"

#include "checkpoint/sections.h"

#include "base/limits.h"
#include "storage/object.h"
#include "storage/rows_checkpoint.h"
#include "storage/store.h"

#include <assert.h>
#include <stdlib.h>

static const char magic[4] = {'t', 'h', 'r', 1};

enum { BODY_RAW = 0, BODY_ZSTD = 1, BODY_AFTER = 2 };

/* ---- Payloads ---- */

bool thread_is_payload(struct str payload)
{
    return payload.len >= sizeof magic && memcmp(payload.ptr, magic, sizeof magic) == 0;
}

static struct str read_digests(struct reader *in)
{
    uint64_t n = read_varint(in);
    in->failed = in->failed || n > reader_left(in) / DIGEST_SIZE;
    return in->failed ? STR("") : read_bytes(in, (size_t)n * DIGEST_SIZE);
}

int thread_payload_parse(struct str payload, struct thread_payload *out,
                         struct cairn_error *error)
{
    struct thread_payload made = {0};
    if (!thread_is_payload(payload))
        return error_set(error, CAIRN_EDAMAGED, "it is no record of a thread");
    struct reader in =
        reader_of(payload.ptr + sizeof magic, payload.len - sizeof magic);
    made.base = read_varint(&in);
    made.between = read_varint(&in);
    made.states = read_varint(&in);
    made.writes = read_varint(&in);
    made.objects = read_digests(&in);
    made.nodes = read_digests(&in);
    made.codec = read_byte(&in);
    made.size = read_varint(&in);
    made.packed = read_bytes(&in, in.failed ? 0 : reader_left(&in));
    bool good = reader_done(&in) && made.base <= INT64_MAX &&
                made.size <= LIMIT_PAYLOAD_BYTES && made.codec <= BODY_AFTER &&
                (made.codec == BODY_AFTER) == (made.base != 0) &&
                (made.base || !made.between) &&
                (made.codec != BODY_RAW || made.packed.len == made.size);
    if (!good)
        return error_set(error, CAIRN_EDAMAGED,
                         "its payload, of a thread, is not whole");
    *out = made;
    return 0;
}

/* ---- Bodies as bytes ---- */

/* Digests that the body of a record names, by number: first those of its base. */
struct names {
    struct str before; /* of the base */
    struct buf own;
};

static uint64_t count_of(size_t bytes)
{
    return bytes / DIGEST_SIZE;
}

static bool find_digest(const char *at, size_t bytes, const struct digest *digest,
                        uint64_t *number)
{
    for (size_t i = 0; i < bytes; i += DIGEST_SIZE)
        if (memcmp(at + i, digest->bytes, DIGEST_SIZE) == 0) {
            *number = count_of(i);
            return true;
        }
    return false;
}

static uint64_t number_of(struct names *names, const struct digest *digest)
{
    uint64_t number, before = count_of(names->before.len);
    if (find_digest(names->before.ptr, names->before.len, digest, &number))
        return number;
    if (find_digest(names->own.data, names->own.size, digest, &number))
        return before + number;
    buf_add(&names->own, digest->bytes, DIGEST_SIZE);
    return before + count_of(names->own.size) - 1;
}

struct writing {
    struct buf body;
    struct names objects, nodes;
};

static void put_value(struct writing *w, const struct thread_value *value)
{
    buf_lstr(&w->body, value->kind);
    if (value->pooled) {
        buf_varint(&w->body, value->is_node);
        buf_varint(&w->body,
                   number_of(value->is_node ? &w->nodes : &w->objects, &value->object));
    } else {
        buf_varint(&w->body, value->bytes.len + 2);
        buf_str(&w->body, value->bytes);
    }
}

static void put_state(struct writing *w, const struct thread_entry *entry)
{
    buf_byte(&w->body, entry->parent.ptr != NULL);
    if (entry->parent.ptr)
        buf_lstr(&w->body, entry->parent);
    put_value(w, &entry->state);
    put_value(w, &entry->metadata);
    buf_varint(&w->body, entry->n_channels);
    for (uint32_t i = 0; i < entry->n_channels; i++) {
        buf_lstr(&w->body, entry->channels[i].name);
        put_value(w, &entry->channels[i].value);
    }
}

static void put_writes(struct writing *w, const struct thread_entry *entry)
{
    buf_varint(&w->body, entry->n_writes);
    for (uint32_t i = 0; i < entry->n_writes; i++) {
        const struct thread_write *write = &entry->writes[i];
        buf_lstr(&w->body, write->task);
        buf_lstr(&w->body, write->path);
        buf_lstr(&w->body, write->channel);
        buf_u32(&w->body, (uint32_t)write->index);
        put_value(w, &write->value);
    }
}

static void put_body(struct writing *w, const struct thread_record *record)
{
    buf_lstr(&w->body, record->thread);
    for (uint32_t i = 0; i < record->n; i++) {
        const struct thread_entry *entry = &record->entries[i];
        buf_byte(&w->body, (uint8_t)entry->kind);
        buf_lstr(&w->body, entry->space);
        buf_lstr(&w->body, entry->id);
        if (entry->kind == THREAD_STATE)
            put_state(w, entry);
        if (entry->kind == THREAD_WRITES)
            put_writes(w, entry);
    }
}

struct reading {
    struct reader in;
    struct arena *arena;
    struct str objects[2], nodes[2]; /* of the base, and its own */
};

static bool get_digest(const struct str digests[2], uint64_t number, struct digest *out)
{
    uint64_t before = count_of(digests[0].len);
    struct str in = digests[number >= before];
    number -= number >= before ? before : 0;
    if (number >= count_of(in.len))
        return false;
    memcpy(out->bytes, in.ptr + number * DIGEST_SIZE, DIGEST_SIZE);
    return true;
}

static void get_value(struct reading *r, struct thread_value *value)
{
    struct reader *in = &r->in;
    value->kind = read_lstr(in);
    uint64_t form = read_varint(in);
    if (form >= 2) {
        in->failed = in->failed || form - 2 > reader_left(in);
        value->bytes = in->failed ? STR("") : read_bytes(in, (size_t)form - 2);
        return;
    }
    value->pooled = true;
    value->is_node = form == 1;
    in->failed = !get_digest(value->is_node ? r->nodes : r->objects, read_varint(in),
                             &value->object) ||
                 in->failed;
}

/* So many elements, each of at least `least` bytes. */
static uint32_t get_count(struct reading *r, size_t least)
{
    uint64_t n = read_varint(&r->in);
    r->in.failed = r->in.failed || n > UINT32_MAX || n > reader_left(&r->in) / least;
    return r->in.failed ? 0 : (uint32_t)n;
}

static void get_state(struct reading *r, struct thread_entry *entry)
{
    uint8_t has_parent = read_byte(&r->in);
    r->in.failed = r->in.failed || has_parent > 1;
    if (has_parent)
        entry->parent = read_lstr(&r->in);
    if (has_parent && !entry->parent.ptr)
        entry->parent.ptr = "";
    get_value(r, &entry->state);
    get_value(r, &entry->metadata);
    entry->n_channels = get_count(r, 3);
    if (entry->n_channels)
        entry->channels =
            arena_take(r->arena, entry->n_channels, sizeof *entry->channels);
    for (uint32_t i = 0; i < entry->n_channels && entry->channels; i++) {
        entry->channels[i].name = read_lstr(&r->in);
        get_value(r, &entry->channels[i].value);
    }
}

static void get_writes(struct reading *r, struct thread_entry *entry)
{
    entry->n_writes = get_count(r, 9);
    if (entry->n_writes)
        entry->writes = arena_take(r->arena, entry->n_writes, sizeof *entry->writes);
    for (uint32_t i = 0; i < entry->n_writes && entry->writes; i++) {
        struct thread_write *write = &entry->writes[i];
        write->task = read_lstr(&r->in);
        write->path = read_lstr(&r->in);
        write->channel = read_lstr(&r->in);
        write->index = (int32_t)read_u32(&r->in);
        get_value(r, &write->value);
    }
}

static void get_entry(struct reading *r, struct thread_entry *entry)
{
    entry->kind = read_byte(&r->in);
    entry->space = read_lstr(&r->in);
    entry->id = read_lstr(&r->in);
    if (entry->kind == THREAD_STATE)
        get_state(r, entry);
    else if (entry->kind == THREAD_WRITES)
        get_writes(r, entry);
    else
        r->in.failed = r->in.failed || entry->kind != THREAD_GONE;
}

/* Of a body that lies in the arena: everything are views into it. */
static int get_body(struct reading *r, struct thread_record *out,
                    struct cairn_error *error)
{
    size_t room = 0;
    out->thread = read_lstr(&r->in);
    while (!r->in.failed && !r->arena->failed && reader_left(&r->in)) {
        if (out->n == room) {
            size_t more = room ? 2 * room : 1;
            struct thread_entry *at = arena_take(r->arena, more, sizeof *at);
            if (!at)
                break;
            if (room)
                memcpy(at, out->entries, room * sizeof *at);
            out->entries = at;
            room = more;
        }
        get_entry(r, &out->entries[out->n++]);
    }
    if (r->arena->failed)
        return error_nomem(error);
    return reader_done(&r->in) ? 0
                               : error_set(error, CAIRN_EDAMAGED,
                                           "its body, of a thread, is not whole");
}

/* ---- Reading ---- */

void thread_base_release(struct thread_base *base)
{
    buf_release(&base->body);
    buf_release(&base->objects);
    buf_release(&base->nodes);
    *base = (struct thread_base){0};
}

static int refuse_body(struct cairn_error *error)
{
    return error_set(error, CAIRN_EDAMAGED,
                     "its body, of a thread, cannot be unpacked");
}

/* Appends. */
static int unpack_body(struct cairn_store *store, const struct thread_payload *payload,
                       struct str prefix, struct buf *out, struct cairn_error *error)
{
    if (payload->codec != BODY_RAW) {
        int rc = store_unpack(store, payload->packed, prefix, (size_t)payload->size,
                              out, error);
        return rc == CAIRN_EDAMAGED ? refuse_body(error) : rc;
    }
    buf_str(out, payload->packed);
    return buf_check(out, error);
}

struct fetching {
    struct cairn_store *store;
    struct sha256 *sha;
    struct buf *record; /* a copy of its bytes */
    struct sound_record sound;
    bool ours;
    struct cairn_error *error;
};

static int fetch_row(void *context, const struct checkpoint_row *row)
{
    struct fetching *f = context;
    if (row->namespace_id != NAMESPACE_DEBUG)
        return 0;
    int rc = row_verify(row, f->sha, &f->sound, f->error);
    if (rc)
        return rc;
    f->ours = thread_is_payload(f->sound.payload);
    buf_clear(f->record);
    buf_str(f->record, f->sound.payload);
    f->sound.payload = buf_view(f->record);
    return buf_check(f->record, f->error);
}

static int fetch(struct fetching *f, uint64_t seq, struct thread_payload *payload)
{
    int rc = store_get_checkpoint(f->store, seq, fetch_row, f, f->error);
    if (rc == CAIRN_ENOTFOUND || (!rc && !f->ours))
        return error_set(f->error, CAIRN_ENOTFOUND,
                         "there is no record debug:%llu of a thread",
                         (unsigned long long)seq);
    if (!rc)
        rc = thread_payload_parse(f->sound.payload, payload, f->error);
    if (rc == CAIRN_EDAMAGED && f->ours)
        error_context(f->error, "checkpoint debug:%llu is damaged",
                      (unsigned long long)seq);
    return rc;
}

/* The full record `seq` of the branch, as what others are written after. */
static int load_base(struct cairn_store *store, struct sha256 *sha, uint64_t branch,
                     uint64_t seq, struct thread_base *base, struct cairn_error *error)
{
    struct buf record = BUF_INIT;
    struct thread_payload payload;
    struct fetching f = {.store = store, .sha = sha, .record = &record, .error = error};
    if (base->seq == seq)
        return 0;
    thread_base_release(base);
    int rc = fetch(&f, seq, &payload);
    if (!rc && (payload.base || f.sound.header.stream != branch))
        rc = error_set(error, CAIRN_EDAMAGED, "debug:%llu is no full record of it",
                       (unsigned long long)seq);
    if (!rc)
        rc = unpack_body(store, &payload, STR(""), &base->body, error);
    if (!rc) {
        buf_str(&base->objects, payload.objects);
        buf_str(&base->nodes, payload.nodes);
        rc = buf_check(&base->objects, error) ?: buf_check(&base->nodes, error);
    }
    base->seq = rc ? 0 : seq;
    base->bytes = f.sound.bytes;
    buf_release(&record);
    return rc;
}

int thread_read(struct cairn_store *store, struct sha256 *sha, uint64_t seq,
                struct thread_base *base, struct arena *arena,
                struct thread_record *out, struct cairn_error *error)
{
    struct buf bytes = BUF_INIT, body = BUF_INIT;
    struct thread_payload payload;
    struct thread_record made = {.seq = seq};
    struct fetching f = {.store = store, .sha = sha, .record = &bytes, .error = error};
    int rc = fetch(&f, seq, &payload);
    if (!rc) {
        made.branch = f.sound.header.stream;
        made.time_ns = f.sound.header.time_ns;
        made.digest = f.sound.digest;
    }
    if (!rc && payload.base) {
        rc = load_base(store, sha, made.branch, payload.base, base, error);
        if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED) {
            error_context(error, "checkpoint debug:%llu needs its full record",
                          (unsigned long long)seq);
            rc = error_set(error, CAIRN_EDAMAGED, "%s", error ? error->text : "");
        }
    }
    struct str before = payload.base ? buf_view(&base->body) : STR("");
    if (!rc)
        rc = unpack_body(store, &payload, before, &body, error);
    if (!rc) {
        struct str copy = arena_str(arena, buf_view(&body));
        struct reading r = {.in = reader_of(copy.ptr, copy.len), .arena = arena};
        r.objects[1] = payload.objects;
        r.nodes[1] = payload.nodes;
        if (payload.base) {
            r.objects[0] = buf_view(&base->objects);
            r.nodes[0] = buf_view(&base->nodes);
        }
        rc = arena->failed ? error_nomem(error) : get_body(&r, &made, error);
        if (rc == CAIRN_EDAMAGED)
            error_context(error, "checkpoint debug:%llu is damaged",
                          (unsigned long long)seq);
    }
    buf_release(&bytes);
    buf_release(&body);
    if (!rc)
        *out = made;
    return rc;
}

/* ---- The end of a branch ---- */

struct opening {
    struct thread_end *end;
    uint64_t base;
    struct cairn_error *error;
};

/* Damage is passed over: a verification reports it. */
static int take_newest(void *context, const struct checkpoint_row *row)
{
    struct opening *o = context;
    struct chain *chain = &o->end->chain;
    struct sound_record record;
    struct thread_payload payload;
    struct cairn_error why = {0};
    if (row->stream != chain->id || row->namespace_id != NAMESPACE_DEBUG)
        return error_set(o->error, CAIRN_EDAMAGED,
                         "the index of checkpoints leads to a wrong row: run `cairn "
                         "doctor`");
    int rc = row_check(row, chain->in.sha, &record, &why)
                 ?: thread_payload_parse(record.payload, &payload, &why);
    if (rc)
        return rc == CAIRN_EDAMAGED ? 0 : error_set(o->error, rc, "%s", why.text);
    chain->parent = row->seq;
    chain->parent_digest = record.digest;
    chain->position = record.header.position;
    chain->tail_bytes = payload.base ? payload.between + record.bytes : 0;
    o->base = payload.base ? payload.base : row->seq;
    return 1;
}

int thread_open(const struct chains *in, uint64_t branch, struct thread_end *end,
                struct cairn_error *error)
{
    struct opening o = {.end = end, .error = error};
    struct checkpoint_range newest = {
        .namespace_id = NAMESPACE_DEBUG, .stream = branch, .descending = true};
    struct cairn_error why = {0};
    *end = (struct thread_end){.chain = {.in = *in, .id = branch}};
    assert(branch);
    int rc = store_each_checkpoint(in->store, &newest, take_newest, &o, error);
    if (rc < 0)
        return rc;
    rc = o.base ? load_base(in->store, in->sha, branch, o.base, &end->base, &why) : 0;
    if (rc && rc != CAIRN_EDAMAGED && rc != CAIRN_ENOTFOUND)
        return error_set(error, rc, "%s", why.text);
    if (end->base.seq) {
        end->chain.base = end->base.seq;
        end->chain.base_bytes = chain_base_bytes(end->base.bytes, 0);
    }
    assert_chain(&end->chain);
    return 0;
}

void thread_end_release(struct thread_end *end)
{
    thread_base_release(&end->base);
}

/* ---- Appending ---- */

static void count_entries(const struct thread_record *record, uint64_t *states,
                          uint64_t *writes)
{
    *states = *writes = 0;
    for (uint32_t i = 0; i < record->n; i++) {
        *states += record->entries[i].kind == THREAD_STATE;
        *writes += record->entries[i].n_writes;
    }
}

static void put_payload(const struct thread_end *end,
                        const struct thread_record *record, const struct writing *w,
                        struct str packed, bool after, struct buf *out)
{
    uint64_t states, writes;
    count_entries(record, &states, &writes);
    buf_add(out, magic, sizeof magic);
    buf_varint(out, after ? end->base.seq : 0);
    buf_varint(out, after ? end->chain.tail_bytes : 0);
    buf_varint(out, states);
    buf_varint(out, writes);
    buf_varint(out, count_of(w->objects.own.size));
    buf_str(out, buf_view(&w->objects.own));
    buf_varint(out, count_of(w->nodes.own.size));
    buf_str(out, buf_view(&w->nodes.own));
    buf_byte(out, after ? BODY_AFTER : packed.len ? BODY_ZSTD : BODY_RAW);
    buf_varint(out, w->body.size);
    buf_str(out, packed.len ? packed : buf_view(&w->body));
}

static void release_writing(struct writing *w)
{
    buf_release(&w->body);
    buf_release(&w->objects.own);
    buf_release(&w->nodes.own);
    *w = (struct writing){0};
}

/* *fits false: as a delta it would save nothing. */
static int encode(struct thread_end *end, const struct thread_record *record,
                  bool after, struct writing *w, struct buf *payload, bool *fits,
                  struct cairn_error *error)
{
    struct str packed;
    if (after) {
        w->objects.before = buf_view(&end->base.objects);
        w->nodes.before = buf_view(&end->base.nodes);
    }
    put_body(w, record);
    int rc = buf_check(&w->body, error)
             ?: buf_check(&w->objects.own, error)
             ?: buf_check(&w->nodes.own, error)
             ?: store_pack(end->chain.in.store, buf_view(&w->body),
                           after ? buf_view(&end->base.body) : STR(""), &packed, error);
    *fits = !rc && (!after || packed.len);
    if (*fits)
        put_payload(end, record, w, packed, after, payload);
    return rc ?: buf_check(payload, error);
}

/* What was written as a full record is what the next ones are written after. */
static void become_base(struct thread_end *end, struct writing *w, uint64_t seq)
{
    thread_base_release(&end->base);
    end->base = (struct thread_base){
        .seq = seq, .body = w->body, .objects = w->objects.own, .nodes = w->nodes.own};
    *w = (struct writing){0};
}

/* A delta needs nothing but its full record, however many there are. So it is the size
 * alone that asks for another one: what has changed since then is in each of them. */
static bool wants_full(const struct chain *chain)
{
    enum { DELTAS_BYTES = 16 << 10 };
    uint64_t most = chain->base_bytes > DELTAS_BYTES ? chain->base_bytes : DELTAS_BYTES;
    return chain->tail_bytes >= most;
}

int thread_append(struct thread_end *end, const struct thread_record *record,
                  struct checkpoint_ref *ref, struct cairn_error *error)
{
    struct writing w = {0};
    struct buf payload = BUF_INIT;
    struct checkpoint_ref made;
    bool fits = false, after = end->base.seq && !wants_full(&end->chain);
    int rc = after ? encode(end, record, true, &w, &payload, &fits, error) : 0;
    if (!rc && !fits) {
        release_writing(&w);
        buf_clear(&payload);
        after = false;
        rc = encode(end, record, false, &w, &payload, &fits, error);
    }
    if (!rc) {
        struct chain_payload bytes = {
            .bytes = buf_view(&payload), .full = !after, .time_ns = record->time_ns};
        rc = chain_append(&end->chain, &bytes, &made, error);
    }
    if (!rc && !after)
        become_base(end, &w, made.seq);
    if (!rc && ref)
        *ref = made;
    release_writing(&w);
    buf_release(&payload);
    return rc;
}
