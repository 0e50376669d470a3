/* SPDX-License-Identifier: MIT */
/* Taking secrets out of text. After every byte the automaton is in the state of the
 * longest suffix of the text that begins some form: only that suffix can still be part
 * of a secret that is not finished, so whatever stands before it is decided and put
 * out. Of the held bytes those that belong to a finished secret are remembered as
 * ranges, joined where they touch. */
#include "secrets/redact.h"

#include "base/limits.h"
#include "secrets/redact_int.h"

#include <stdlib.h>

struct redactor {
    struct automaton automaton;
    struct arena arena;
    struct str *names; /* of the secrets */
};

static int check_secret(const struct secret *secret, struct cairn_error *error)
{
    if (secret->value.len < LIMIT_SECRET_LEAST)
        return error_set(error, CAIRN_EUSAGE,
                         "the secret %.*s has fewer than %d bytes: it could not be "
                         "told from other text",
                         (int)secret->name.len, secret->name.ptr, LIMIT_SECRET_LEAST);
    if (memchr(secret->value.ptr, 0, secret->value.len))
        return error_set(error, CAIRN_EUSAGE, "the secret %.*s has a NUL byte in it",
                         (int)secret->name.len, secret->name.ptr);
    return 0;
}

int redactor_new(struct redactor **out, const struct secret *secrets, size_t n,
                 struct cairn_error *error)
{
    int rc = 0;
    if (n > LIMIT_SECRETS)
        return error_set(error, CAIRN_ELIMIT, "%zu secrets; at most %d can be given", n,
                         LIMIT_SECRETS);
    for (size_t i = 0; !rc && i < n; i++)
        rc = check_secret(&secrets[i], error);
    if (rc)
        return rc;
    struct redactor *redactor = calloc(1, sizeof *redactor);
    if (!redactor)
        return error_nomem(error);
    struct form_list forms = {.n = 0};
    redactor->names = arena_take(&redactor->arena, n + 1, sizeof *redactor->names);
    for (size_t i = 0; redactor->names && i < n; i++) {
        redactor->names[i] = arena_str(&redactor->arena, secrets[i].name);
        form_list_add(&forms, secrets[i].value);
    }
    rc = redactor->arena.failed || forms.arena.failed
             ? error_nomem(error)
             : automaton_init(&redactor->automaton, forms.at, forms.n, error);
    form_list_release(&forms);
    if (rc)
        redactor_free(redactor);
    else
        *out = redactor;
    return rc;
}

void redactor_free(struct redactor *redactor)
{
    if (!redactor)
        return;
    automaton_release(&redactor->automaton);
    arena_release(&redactor->arena);
    free(redactor);
}

bool redactor_where(const struct redactor *redactor, struct str text,
                    struct secret_place *place)
{
    uint32_t state = 0;
    for (size_t i = 0; redactor && i < text.len; i++) {
        state = automaton_step(&redactor->automaton, state, (uint8_t)text.ptr[i]);
        uint32_t n = redactor->automaton.nodes[state].longest;
        if (!n)
            continue;
        uint32_t secret = automaton_secret(&redactor->automaton, state);
        *place = (struct secret_place){redactor->names[secret], i + 1 - n, i + 1};
        return true;
    }
    return false;
}

bool redactor_finds(const struct redactor *redactor, struct str text)
{
    struct secret_place place;
    return redactor_where(redactor, text, &place);
}

struct secret_range { /* places in the whole text */
    uint64_t begin, end;
};

static struct secret_range *ranges_of(struct redact_stream *stream)
{
    return (void *)stream->ranges.data;
}

static size_t range_count(const struct redact_stream *stream)
{
    return stream->ranges.size / sizeof(struct secret_range);
}

/* A form ends at `range.end`, which is behind all ranges so far or where the last one
 * ends. Every range is added and removed once, so this is linear in the end. */
static void add_range(struct redact_stream *stream, struct secret_range range)
{
    size_t n = range_count(stream);
    const struct secret_range *ranges = ranges_of(stream);
    if (range.begin < stream->place) /* known to be secret, too, and put out already */
        range.begin = stream->place;
    while (n > stream->first_range && ranges[n - 1].end >= range.begin) {
        n--;
        if (ranges[n].begin < range.begin)
            range.begin = ranges[n].begin;
    }
    stream->ranges.size = n * sizeof range;
    buf_add(&stream->ranges, &range, sizeof range);
}

/* Drops the first `used` bytes, but not every time: only once they are half of it. */
static bool drop_front(struct buf *buf, size_t used)
{
    if (used == 0 || used * 2 < buf->size)
        return false;
    buf->size -= used;
    memmove(buf->data, buf->data + used, buf->size);
    return true;
}

/* Puts out what is held before the place `end`, of one kind: secret or not. */
static void put_until(struct redact_stream *stream, uint64_t end, bool secret,
                      struct buf *out)
{
    size_t n = (size_t)(end - stream->place);
    if (n == 0)
        return;
    if (!secret)
        buf_add(out, stream->held.data + stream->held_start, n);
    else if (!stream->in_secret)
        buf_text(out, REDACTED);
    stream->in_secret = secret;
    stream->held_start += n;
    stream->place = end;
}

/* Puts out everything before the place `decided`, and what follows as far as it is
 * known to be secret. */
static void put_decided(struct redact_stream *stream, uint64_t decided, struct buf *out)
{
    while (stream->first_range < range_count(stream)) {
        struct secret_range range = ranges_of(stream)[stream->first_range];
        if (range.begin > decided)
            break;
        put_until(stream, range.begin, false, out);
        put_until(stream, range.end, true, out);
        stream->first_range++;
    }
    if (stream->place < decided)
        put_until(stream, decided, false, out);
    if (drop_front(&stream->held, stream->held_start))
        stream->held_start = 0;
    if (drop_front(&stream->ranges, stream->first_range * sizeof(struct secret_range)))
        stream->first_range = 0;
}

static void add_part(struct redact_stream *stream, struct str bytes, struct buf *out)
{
    const struct automaton *automaton = &stream->redactor->automaton;
    uint64_t place = stream->place + stream->held.size - stream->held_start;
    uint32_t state = stream->state;
    buf_str(&stream->held, bytes);
    for (size_t i = 0; i < bytes.len; i++) {
        state = automaton_step(automaton, state, (uint8_t)bytes.ptr[i]);
        place++;
        uint32_t longest = automaton->nodes[state].longest;
        if (stream->cut && automaton->nodes[state].depth >= REDACT_CUT_LEAST)
            longest = automaton->nodes[state].depth;
        if (longest)
            add_range(stream, (struct secret_range){place - longest, place});
    }
    stream->state = state;
    stream->failed = stream->held.failed || stream->ranges.failed;
    if (!stream->failed)
        put_decided(stream, place - automaton->nodes[state].depth, out);
}

void redact_begin(struct redact_stream *stream, const struct redactor *redactor)
{
    *stream = (struct redact_stream){.redactor = redactor};
}

void redact_add(struct redact_stream *stream, struct str bytes, struct buf *out)
{
    enum { PART = 64 * 1024 }; /* what is held does not grow with the input */
    if (!stream->redactor) {
        buf_str(out, bytes);
        return;
    }
    while (bytes.len && !stream->failed) {
        struct str part = {bytes.ptr, bytes.len < PART ? bytes.len : PART};
        add_part(stream, part, out);
        bytes.ptr += part.len;
        bytes.len -= part.len;
    }
    out->failed |= stream->failed;
}

void redact_end(struct redact_stream *stream, struct buf *out)
{
    if (!stream->failed)
        put_decided(stream, stream->place + stream->held.size - stream->held_start,
                    out);
    out->failed |= stream->failed;
    redact_release(stream);
}

void redact_release(struct redact_stream *stream)
{
    buf_release(&stream->held);
    buf_release(&stream->ranges);
}

static void redact_whole(const struct redactor *redactor, bool cut, struct str text,
                         struct buf *out)
{
    struct redact_stream stream;
    redact_begin(&stream, redactor);
    stream.cut = cut;
    redact_add(&stream, text, out);
    redact_end(&stream, out);
}

void redact_text(const struct redactor *redactor, struct str text, struct buf *out)
{
    redact_whole(redactor, false, text, out);
}

void redact_quoted(const struct redactor *redactor, struct str text, struct buf *out)
{
    redact_whole(redactor, true, text, out);
}
