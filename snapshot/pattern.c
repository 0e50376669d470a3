/* SPDX-License-Identifier: MIT */
/* A pattern becomes a row of tokens; those in front and at the end that stand for one
 * byte each are cut off it as head and tail, which decide about most texts. */
#include "snapshot/pattern_int.h"

enum {
    TOKEN_ONE = 256, /* below: that byte */
    TOKEN_STAR,      /* no slash */
    TOKEN_ALL,       /* slashes, too */
    TOKEN_DIRS,      /* nothing, or anything that ends with a slash */
    TOKEN_END,       /* behind the last of the middle */
    TOKEN_SET        /* this and above: the sets, from the first */
};

struct byte_set {
    uint64_t bits[4];
};

struct pattern_middle {
    const uint32_t *tokens;
    const struct byte_set *sets;
};

/* The first pass counts, with `tokens` and `sets` still NULL; the second fills them. */
struct compiler {
    struct str text;
    size_t at, wild; /* the first byte that is not meant literally is at `wild` */
    uint32_t *tokens;
    struct byte_set *sets;
    size_t n_tokens, n_sets;
};

static uint8_t byte_at(const struct compiler *c, size_t at)
{
    return at < c->text.len ? (uint8_t)c->text.ptr[at] : 0;
}

static void set_add(struct byte_set *set, unsigned from, unsigned to)
{
    for (unsigned byte = from; byte <= to; byte++)
        set->bits[byte / 64] |= (uint64_t)1 << byte % 64;
}

static bool set_has(const struct byte_set *set, uint8_t byte)
{
    return set->bits[byte / 64] >> byte % 64 & 1;
}

/* As git has them: ASCII in any locale, and a space is none of \v and \f. */
static const struct {
    struct str name;
    struct {
        uint8_t from, to;
    } ranges[4];
} classes[] = {
    {STR("alnum"), {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
    {STR("alpha"), {{'A', 'Z'}, {'a', 'z'}}},
    {STR("blank"), {{' ', ' '}, {'\t', '\t'}}},
    {STR("cntrl"), {{1, 31}, {127, 127}}},
    {STR("digit"), {{'0', '9'}}},
    {STR("graph"), {{33, 126}}},
    {STR("lower"), {{'a', 'z'}}},
    {STR("print"), {{32, 126}}},
    {STR("punct"), {{33, 47}, {58, 64}, {91, 96}, {123, 126}}},
    {STR("space"), {{' ', ' '}, {'\t', '\n'}, {'\r', '\r'}}},
    {STR("upper"), {{'A', 'Z'}}},
    {STR("xdigit"), {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
};

static bool add_class(struct byte_set *set, struct str name)
{
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (!str_equal(name, classes[i].name))
            continue;
        for (size_t r = 0; r < 4 && classes[i].ranges[r].to; r++)
            set_add(set, classes[i].ranges[r].from, classes[i].ranges[r].to);
        return true;
    }
    return false;
}

/* "[:name:]" inside a set; c->at is on the "[". 1: taken, c->at on its last byte; 0:
 * there is no ":]" before the next "]", so it is two bytes of the set; -1: no set. */
static int read_class(struct compiler *c, struct byte_set *set)
{
    size_t from = c->at + 2, to = from;
    while (byte_at(c, to) && byte_at(c, to) != ']')
        to++;
    if (!byte_at(c, to))
        return -1;
    if (to == from || byte_at(c, to - 1) != ':')
        return 0;
    c->at = to;
    return add_class(set, (struct str){c->text.ptr + from, to - 1 - from}) ? 1 : -1;
}

/* The byte at c->at, or the one behind a backslash there; 0 if the pattern ends. */
static uint8_t read_escaped(struct compiler *c)
{
    if (byte_at(c, c->at) == '\\')
        c->at++;
    return byte_at(c, c->at);
}

/* One member of a set, c->at on its first byte and then on its last. `before` is the
 * byte that a "-" goes on from, 0: none. */
static bool read_member(struct compiler *c, struct byte_set *set, uint8_t *before)
{
    uint8_t byte = byte_at(c, c->at), next = byte_at(c, c->at + 1);
    if (byte == '-' && *before && next && next != ']') {
        c->at++;
        uint8_t last = read_escaped(c);
        set_add(set, *before, last);
        *before = 0;
        return last != 0;
    }
    if (byte == '[' && next == ':') {
        int taken = read_class(c, set);
        if (taken) {
            *before = 0;
            return taken > 0;
        }
    }
    byte = read_escaped(c);
    set_add(set, byte, byte);
    *before = byte;
    return byte != 0;
}

/* c->at is behind the "[", and then behind the "]" that closes it. */
static bool read_set(struct compiler *c)
{
    struct byte_set set = {{0}};
    uint8_t before = 0;
    bool negated = byte_at(c, c->at) == '!' || byte_at(c, c->at) == '^';
    c->at += negated;
    do {
        if (!read_member(c, &set, &before))
            return false;
        c->at++;
    } while (byte_at(c, c->at) != ']');
    c->at++;
    for (size_t i = 0; negated && i < 4; i++)
        set.bits[i] = ~set.bits[i];
    set.bits['/' / 64] &= ~((uint64_t)1 << '/' % 64);
    if (c->tokens) {
        c->sets[c->n_sets] = set;
        c->tokens[c->n_tokens] = TOKEN_SET + (uint32_t)c->n_sets;
    }
    c->n_sets++;
    c->n_tokens++;
    return true;
}

/* Stars; c->at is on the first. Two are more than one only between slashes, where the
 * first byte that is no literal counts as if it came behind one (as git has it). */
static uint32_t read_stars(struct compiler *c)
{
    size_t from = c->at;
    while (byte_at(c, c->at) == '*')
        c->at++;
    bool opens = from == c->wild || byte_at(c, from - 1) == '/';
    if (c->at - from == 1 || !opens)
        return TOKEN_STAR;
    if (byte_at(c, c->at) == '/') {
        c->at++;
        return TOKEN_DIRS;
    }
    bool closes = c->at == c->text.len ||
                  (byte_at(c, c->at) == '\\' && byte_at(c, c->at + 1) == '/');
    return closes ? TOKEN_ALL : TOKEN_STAR;
}

/* One pass; false: the pattern can match nothing. */
static bool read_tokens(struct compiler *c)
{
    c->at = c->n_tokens = c->n_sets = 0;
    while (c->at < c->text.len) {
        uint32_t token = byte_at(c, c->at);
        if (token == '[') {
            c->at++;
            if (!read_set(c))
                return false;
            continue;
        }
        if (token == '*') {
            token = read_stars(c);
        } else {
            token = token == '?' ? TOKEN_ONE : read_escaped(c);
            if (!token)
                return false;
            c->at++;
        }
        if (c->tokens)
            c->tokens[c->n_tokens] = token;
        c->n_tokens++;
    }
    return true;
}

/* The first `n` tokens stand for one byte each. */
static struct str bytes_of(struct arena *arena, const uint32_t *tokens, size_t n)
{
    char *bytes = arena_take(arena, n, 1);
    for (size_t i = 0; bytes && i < n; i++)
        bytes[i] = (char)tokens[i];
    return (struct str){bytes, n};
}

static void divide(struct arena *arena, struct compiler *c, struct pattern *pattern)
{
    size_t head = 0, tail = 0;
    while (head < c->n_tokens && c->tokens[head] < TOKEN_ONE)
        head++;
    while (head + tail < c->n_tokens && c->tokens[c->n_tokens - tail - 1] < TOKEN_ONE)
        tail++;
    pattern->head = bytes_of(arena, c->tokens, head);
    pattern->tail = bytes_of(arena, c->tokens + c->n_tokens - tail, tail);
    pattern->middle = NULL;
    if (head + tail == c->n_tokens)
        return;
    struct pattern_middle *middle = arena_take(arena, 1, sizeof *middle);
    if (middle)
        *middle = (struct pattern_middle){c->tokens + head, c->sets};
    c->tokens[c->n_tokens - tail] = TOKEN_END;
    pattern->middle = middle;
}

int pattern_compile(struct arena *arena, struct str text, struct pattern *pattern,
                    struct cairn_error *error)
{
    struct compiler c = {.text = text};
    while (c.wild < text.len && !strchr("*?[\\", text.ptr[c.wild]))
        c.wild++;
    if (c.wild == text.len) {
        *pattern = (struct pattern){.head = arena_str(arena, text)};
        return arena->failed ? error_nomem(error) : 1;
    }
    if (!read_tokens(&c))
        return 0;
    c.tokens = arena_take(arena, c.n_tokens + 1, sizeof *c.tokens);
    c.sets = arena_take(arena, c.n_sets, sizeof *c.sets);
    if (arena->failed)
        return error_nomem(error);
    read_tokens(&c);
    divide(arena, &c, pattern);
    return arena->failed ? error_nomem(error) : 1;
}

static bool takes(const struct pattern_middle *middle, uint32_t token, uint8_t byte)
{
    if (token < TOKEN_ONE)
        return byte == token;
    return token == TOKEN_ONE ? byte != '/'
                              : set_has(&middle->sets[token - TOKEN_SET], byte);
}

/* Where matching goes on when it has come to nothing: behind a star, with one byte more
 * left to it, or else behind the last token that takes slashes. Those before can be
 * forgotten: each took as little as it could, and the one behind it can take the rest,
 * or ends at the same slash whatever the one before takes. */
struct again {
    size_t token; /* 0: nowhere */
    const char *at;
};

/* The next place to try; false: there is none. */
static bool go_back(const struct pattern_middle *middle, struct again *star,
                    struct again *all, const char *end, struct again *to)
{
    if (star->token && star->at < end && *star->at != '/') {
        star->at++;
        *to = *star;
        return true;
    }
    star->token = 0;
    if (!all->token || all->at == end)
        return false;
    if (middle->tokens[all->token - 1] == TOKEN_DIRS) {
        const char *slash = memchr(all->at, '/', (size_t)(end - all->at));
        if (!slash)
            return false;
        all->at = slash;
    }
    all->at++;
    *to = *all;
    return true;
}

static bool middle_matches(const struct pattern_middle *middle, struct str text)
{
    const char *end = text.ptr + text.len;
    struct again star = {0}, all = {0}, now = {0, text.ptr};
    for (;;) {
        uint32_t token = middle->tokens[now.token];
        if (token == TOKEN_END && now.at == end)
            return true;
        if (token == TOKEN_STAR) {
            now.token++;
            star = now;
        } else if (token == TOKEN_DIRS || token == TOKEN_ALL) {
            now.token++;
            all = now;
            star.token = 0;
            if (token == TOKEN_ALL && middle->tokens[now.token] == TOKEN_END)
                return true;
        } else if (token != TOKEN_END && now.at < end &&
                   takes(middle, token, (uint8_t)*now.at)) {
            now.token++;
            now.at++;
        } else if (!go_back(middle, &star, &all, end, &now)) {
            return false;
        }
    }
}

bool pattern_matches(const struct pattern *pattern, struct str text)
{
    struct str head = pattern->head, tail = pattern->tail;
    if (!pattern->middle)
        return str_equal(text, head);
    if (text.len < head.len + tail.len)
        return false;
    if (head.len && memcmp(text.ptr, head.ptr, head.len) != 0)
        return false;
    if (tail.len && memcmp(text.ptr + text.len - tail.len, tail.ptr, tail.len) != 0)
        return false;
    text.ptr += head.len;
    text.len -= head.len + tail.len;
    return middle_matches(pattern->middle, text);
}
