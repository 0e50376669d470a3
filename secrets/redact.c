/* SPDX-License-Identifier: MIT */
/* The forms of a secret. base64 (RFC 4648) of a longer text that has the secret in it:
 * which characters come out depends on how many bytes stand before it, modulo 3. The
 * characters at both ends also hold bits of what stands beside it, so they are left
 * out. Percent encoding: RFC 3986, section 2; of forms (`+` for a blank): WHATWG URL,
 * section 5. JSON: as we write it. */
#include "secrets/redact.h"

#include "base/json_scan.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/sha256.h"

#include <stdlib.h>

/* The same of a text that quotes others and may cut them off: what a form begins with
 * goes, too, if it has REDACT_CUT_LEAST bytes. */
#define REDACT_CUT_LEAST 12

/* Nodes are numbered breadth first and children by their bytes, so the children of a
 * node lie side by side. Node 0 is the root; nothing falls back to a later node. */
struct automaton_node {
    uint32_t first;   /* of the children */
    uint32_t back;    /* the longest proper suffix of this node that is a node */
    uint32_t depth;   /* bytes from the root */
    uint32_t longest; /* form that ends here, in bytes; 0: none does */
    uint16_t children;
    uint8_t byte; /* that leads here */
};

struct automaton_end { /* of a form */
    uint32_t node, secret;
};

struct automaton {
    struct automaton_node *nodes;
    size_t n;
    struct automaton_end *ends; /* by node */
    size_t n_ends;
    uint32_t root[256]; /* children of the root, 0: none */
};

static void automaton_release(struct automaton *automaton);

/* Six bits of the value, from `bit` on. All of them are there. */
static unsigned six_bits(struct str value, size_t bit)
{
    size_t at = bit / 8, shift = bit % 8;
    unsigned pair = (unsigned)(uint8_t)value.ptr[at] << 8;
    if (at + 1 < value.len)
        pair |= (uint8_t)value.ptr[at + 1];
    return pair >> (10 - shift) & 63;
}

static void add_base64(struct str value, size_t bytes_before, bool for_urls,
                       struct buf *out)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    /* The first character wholly of the value begins 0, 4 or 2 bits into it. */
    size_t bit = (6 - bytes_before * 8 % 6) % 6;
    for (; bit + 6 <= value.len * 8; bit += 6) {
        unsigned digit = six_bits(value, bit);
        char c = digit == 62   ? (for_urls ? '-' : '+')
                 : digit == 63 ? (for_urls ? '_' : '/')
                               : letters[digit];
        buf_byte(out, (uint8_t)c);
    }
}

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '.' || c == '_' || c == '~';
}

/* `blank`: what stands for one; 0: its code. */
static void add_percent_encoded(struct str value, const char *hex, char blank,
                                struct buf *out)
{
    for (size_t i = 0; i < value.len; i++) {
        uint8_t byte = (uint8_t)value.ptr[i];
        if (is_unreserved(value.ptr[i]))
            buf_byte(out, byte);
        else if (byte == ' ' && blank)
            buf_byte(out, (uint8_t)blank);
        else {
            char code[3] = {'%', hex[byte >> 4], hex[byte & 15]};
            buf_add(out, code, sizeof code);
        }
    }
}

static void list_form(struct form_list *list, struct str text)
{
    struct secret_form *at =
        array_room(list->at, list->n, &list->capacity, sizeof *list->at);
    struct str copy = arena_str(&list->arena, text);
    if (at)
        list->at = at;
    if (!at || list->arena.failed)
        list->arena.failed = true;
    else
        at[list->n++] = (struct secret_form){copy, list->secret};
}

static void list_encoded(struct form_list *list, struct buf *form)
{
    if (form->failed)
        list->arena.failed = true;
    else if (form->size >= LIMIT_SECRET_LEAST)
        list_form(list, buf_view(form));
    buf_clear(form);
}

static void list_forms(struct form_list *list, struct str value)
{
    struct buf form = BUF_INIT;
    list_form(list, value);
    for (unsigned i = 0; i < 6; i++) {
        add_base64(value, i / 2, i % 2, &form);
        list_encoded(list, &form);
    }
    json_escape(value, &form);
    if (!str_equal(buf_view(&form), value))
        list_encoded(list, &form);
    buf_clear(&form);
    bool blanks = memchr(value.ptr, ' ', value.len);
    for (unsigned i = 0; i < (blanks ? 4 : 2); i++) {
        add_percent_encoded(value, i % 2 ? "0123456789ABCDEF" : "0123456789abcdef",
                            i / 2 ? '+' : 0, &form);
        list_encoded(list, &form);
    }
    buf_release(&form);
}

static struct str trim(struct str text)
{
    static const char blanks[] = " \t\n\v\f\r";
    while (text.len && strchr(blanks, text.ptr[0]))
        text = (struct str){text.ptr + 1, text.len - 1};
    while (text.len && strchr(blanks, text.ptr[text.len - 1]))
        text.len--;
    return text;
}

static void list_lines(struct form_list *list, struct str value)
{
    for (size_t i = 0, n; i < value.len; i += n + 1) {
        n = 0;
        while (i + n < value.len && value.ptr[i + n] != '\n' &&
               value.ptr[i + n] != '\r')
            n++;
        struct str line = trim((struct str){value.ptr + i, n});
        if (line.len >= LIMIT_SECRET_LEAST)
            list_form(list, line);
    }
}

void form_list_add(struct form_list *list, struct str value)
{
    struct str bare = trim(value);
    list_forms(list, value);
    if (bare.len < value.len && bare.len >= LIMIT_SECRET_LEAST)
        list_forms(list, bare);
    if (memchr(bare.ptr, '\n', bare.len) || memchr(bare.ptr, '\r', bare.len))
        list_lines(list, bare);
    list->secret++;
}

void form_list_release(struct form_list *list)
{
    free(list->at);
    arena_release(&list->arena);
}

/* A. V. Aho, M. J. Corasick: Efficient string matching (CACM 18, 1975).
 *
 * The tree of all forms is made from their sorted list, level by level: a node is the
 * range of forms that begin with its text, so its children are the parts of that range
 * with one next byte each. Compact, because long secrets make millions of nodes: 20
 * bytes for each, found by binary search among their parent's children. */

static int by_text(const void *a, const void *b)
{
    const struct secret_form *x = a, *y = b;
    return str_compare(x->text, y->text);
}

static size_t common_prefix(struct str a, struct str b)
{
    size_t n = 0;
    while (n < a.len && n < b.len && a.ptr[n] == b.ptr[n])
        n++;
    return n;
}

static size_t count_nodes(const struct secret_form *forms, size_t n)
{
    size_t nodes = 1;
    for (size_t i = 0; i < n; i++)
        nodes += forms[i].text.len -
                 (i ? common_prefix(forms[i - 1].text, forms[i].text) : 0);
    return nodes;
}

static uint32_t find_child(const struct automaton *automaton, uint32_t state,
                           uint8_t byte)
{
    if (state == 0)
        return automaton->root[byte];
    const struct automaton_node *node = &automaton->nodes[state];
    uint32_t low = node->first, high = low + node->children;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint8_t there = automaton->nodes[middle].byte;
        if (there == byte)
            return middle;
        if (there < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* The state after one more byte. */
static uint32_t automaton_step(const struct automaton *automaton, uint32_t state,
                               uint8_t byte)
{
    for (;;) {
        uint32_t child = find_child(automaton, state, byte);
        if (child || state == 0)
            return child;
        state = automaton->nodes[state].back;
    }
}

/* Of which secret the longest form is that ends in a state where one does. */
static uint32_t automaton_secret(const struct automaton *automaton, uint32_t state)
{
    const struct automaton_node *nodes = automaton->nodes;
    while (nodes[state].depth != nodes[state].longest)
        state = nodes[state].back;
    size_t low = 0, high = automaton->n_ends;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (automaton->ends[middle].node < state)
            low = middle + 1;
        else
            high = middle;
    }
    return automaton->ends[low].secret;
}

struct form_range { /* of the sorted forms that begin with a node's text */
    uint32_t begin, end;
};

/* The node that `byte` leads to from `parent`. Its suffix is shorter, so it lies on an
 * earlier level, which is finished. */
static void link_back(struct automaton *automaton, uint32_t parent, uint32_t child)
{
    struct automaton_node *nodes = automaton->nodes, *node = &nodes[child];
    if (parent)
        node->back = automaton_step(automaton, nodes[parent].back, node->byte);
    else
        automaton->root[node->byte] = child;
    if (!node->longest)
        node->longest = nodes[node->back].longest;
}

/* The forms of the range are cut into the children's. */
static void add_children(struct automaton *automaton, const struct secret_form *forms,
                         struct form_range *ranges, uint32_t parent)
{
    struct automaton_node *nodes = automaton->nodes;
    struct form_range all = ranges[parent];
    uint32_t depth = nodes[parent].depth;
    nodes[parent].first = (uint32_t)automaton->n;
    while (all.begin < all.end && forms[all.begin].text.len == depth)
        all.begin++;
    for (uint32_t i = all.begin; i < all.end; i = all.begin) {
        uint32_t child = (uint32_t)automaton->n++;
        char byte = forms[i].text.ptr[depth];
        while (all.begin < all.end && forms[all.begin].text.ptr[depth] == byte)
            all.begin++;
        ranges[child] = (struct form_range){i, all.begin};
        nodes[child].byte = (uint8_t)byte;
        nodes[child].depth = depth + 1;
        if (forms[i].text.len == depth + 1) {
            nodes[child].longest = depth + 1;
            automaton->ends[automaton->n_ends++] =
                (struct automaton_end){child, forms[i].secret};
        }
        nodes[parent].children++;
        link_back(automaton, parent, child);
    }
}

/* Sorts the forms; they are not needed afterwards. CAIRN_ELIMIT, CAIRN_ENOMEM. */
static int automaton_init(struct automaton *automaton, struct secret_form *forms,
                          size_t n, struct cairn_error *error)
{
    *automaton = (struct automaton){.n = 1};
    if (n)
        qsort(forms, n, sizeof *forms, by_text);
    size_t most = count_nodes(forms, n);
    if (most > UINT32_MAX)
        return error_set(error, CAIRN_ELIMIT, "the secrets are too long");
    struct form_range *ranges = calloc(most, sizeof *ranges);
    automaton->nodes = calloc(most, sizeof *automaton->nodes);
    automaton->ends = calloc(n + 1, sizeof *automaton->ends);
    if (!ranges || !automaton->nodes || !automaton->ends) {
        free(ranges);
        automaton_release(automaton);
        return error_nomem(error);
    }
    ranges[0].end = (uint32_t)n;
    for (uint32_t i = 0; i < automaton->n; i++)
        add_children(automaton, forms, ranges, i);
    free(ranges);
    return 0;
}

static void automaton_release(struct automaton *automaton)
{
    free(automaton->nodes);
    free(automaton->ends);
    *automaton = (struct automaton){.n = 0};
}

/* Taking secrets out of text. After every byte the automaton is in the state of the
 * longest suffix of the text that begins some form: only that suffix can still be part
 * of a secret that is not finished, so whatever stands before it is decided and put
 * out. Of the held bytes those that belong to a finished secret are remembered as
 * ranges, joined where they touch. */

struct redactor {
    struct automaton automaton;
    struct arena arena;
    struct str *names; /* of the secrets */
};

static int check_secret(const struct secret *secret, struct cairn_error *error)
{
    if (secret->value.len < LIMIT_SECRET_LEAST)
        return error_set(error, CAIRN_EUSAGE,
                         "the secret %.*s has fewer than %d bytes: it looks like "
                         "other text",
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
