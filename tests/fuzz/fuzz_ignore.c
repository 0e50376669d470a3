/* SPDX-License-Identifier: MIT */
/* Rules of .gitignore files. The input: a path, a NUL, and a file of rules, whose first
 * line is a pattern, too.
 *
 * The pattern matches the path where a table of all pairs of places in both says so,
 * which is filled by the words of the header and from the end to the front. */
#include "snapshot/ignore.h"
#include "tests/fuzz/fuzz.h"

enum { MOST = 100 };

static bool table[MOST + 2][MOST + 2]; /* [place in the pattern][place in the text] */

struct set {
    size_t end; /* behind it; 0: it is none */
    bool has;
};

static bool in_class(const char *name, size_t len, int byte, bool *known)
{
    static const char *const names[] = {"alnum", "alpha", "blank", "cntrl",
                                        "digit", "graph", "lower", "print",
                                        "punct", "space", "upper", "xdigit"};
    bool lower = byte >= 'a' && byte <= 'z', upper = byte >= 'A' && byte <= 'Z';
    bool digit = byte >= '0' && byte <= '9', graph = byte > ' ' && byte < 127;
    bool hex = digit || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
    const bool has[] = {lower || upper || digit,
                        lower || upper,
                        byte == ' ' || byte == '\t',
                        byte < ' ' || byte == 127,
                        digit,
                        graph,
                        lower,
                        graph || byte == ' ',
                        graph && !lower && !upper && !digit,
                        byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r',
                        upper,
                        hex};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
            return has[i];
    *known = false;
    return false;
}

/* The set at `at`, which is its "[". `p` ends with a NUL. */
static struct set look_at_set(const char *p, size_t at, uint8_t byte)
{
    bool negated = p[at + 1] == '!' || p[at + 1] == '^', has = false, known = true;
    uint8_t before = 0;
    size_t first = at + 1 + negated;
    for (at = first; p[at] && (at == first || p[at] != ']'); at++) {
        const char *closed = strchr(p + at + 1 + (p[at + 1] == ':'), ']');
        if (p[at] == '-' && before && p[at + 1] && p[at + 1] != ']') {
            at += p[at + 1] == '\\' ? 2 : 1;
            has = has || (byte >= before && byte <= (uint8_t)p[at]);
            before = 0;
        } else if (p[at] == '[' && p[at + 1] == ':' && !closed) {
            return (struct set){0};
        } else if (p[at] == '[' && p[at + 1] == ':' && closed > p + at + 2 &&
                   closed[-1] == ':') {
            const char *name = p + at + 2;
            has |= in_class(name, (size_t)(closed - name) - 1, byte, &known);
            at = (size_t)(closed - p);
            before = 0;
        } else {
            at += p[at] == '\\';
            before = (uint8_t)p[at];
            has = has || byte == before;
        }
        if (!p[at] || !known)
            return (struct set){0};
    }
    return (struct set){p[at] ? at + 1 : 0, has != negated && byte != '/'};
}

/* Stars from `p` up to `q`, in the column of the text from `t`. */
static bool stars_match(struct str pattern, size_t p, size_t q, size_t wild,
                        struct str text, size_t t)
{
    const char *at = pattern.ptr;
    bool all =
        q - p > 1 && (p == wild || at[p - 1] == '/') &&
        (q == pattern.len || at[q] == '/' || (at[q] == '\\' && at[q + 1] == '/'));
    if (all && at[q] == '/' && table[q + 1][t])
        return true;
    for (; t <= text.len; t++) {
        if (table[q][t])
            return true;
        if (t < text.len && text.ptr[t] == '/' && !all)
            return false;
    }
    return false;
}

static bool one_matches(struct str pattern, size_t p, size_t wild, struct str text,
                        size_t t)
{
    size_t q = p;
    uint8_t byte = t < text.len ? (uint8_t)text.ptr[t] : 0;
    while (pattern.ptr[q] == '*')
        q++;
    if (q > p)
        return stars_match(pattern, p, q, wild, text, t);
    if (t == text.len)
        return false;
    if (pattern.ptr[p] == '?')
        return byte != '/' && table[p + 1][t + 1];
    if (pattern.ptr[p] == '[') {
        struct set set = look_at_set(pattern.ptr, p, byte);
        return set.end && set.has && table[set.end][t + 1];
    }
    p += pattern.ptr[p] == '\\';
    return p < pattern.len && (uint8_t)pattern.ptr[p] == byte && table[p + 1][t + 1];
}

static bool matches_slowly(struct str pattern, struct str text)
{
    size_t wild = strcspn(pattern.ptr, "*?[\\");
    for (size_t p = pattern.len + 1; p-- > 0;)
        for (size_t t = text.len + 1; t-- > 0;)
            table[p][t] = p == pattern.len ? t == text.len
                                           : one_matches(pattern, p, wild, text, t);
    return table[0][0];
}

static void check_pattern(struct arena *arena, struct str pattern, struct str text)
{
    struct pattern compiled;
    int rc = pattern_compile(arena, pattern, &compiled, NULL);
    HOLDS(rc == 0 || rc == 1);
    if (pattern.len <= MOST && text.len <= MOST)
        HOLDS((rc && pattern_matches(&compiled, text)) ==
              matches_slowly(pattern, text));
    else if (rc)
        pattern_matches(&compiled, text);
}

static void check_rules(struct arena *arena, struct str text, struct str path)
{
    struct ignore_level root = {.dir = STR("")}, below = {.above = &root};
    const char *slash = memchr(path.ptr, '/', path.len);
    size_t lines = 1;
    HOLDS(ignore_parse(arena, text, &root.rules, NULL) == 0);
    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    HOLDS(root.rules.n <= lines);
    if (slash)
        below.dir = (struct str){path.ptr, (size_t)(slash - path.ptr)};
    below.rules = root.rules;
    for (int is_dir = 0; is_dir < 2; is_dir++) {
        const struct ignore_level *by = &below;
        bool wanted, ignored = ignore_matches(&below, path, is_dir);
        size_t line = ignore_reason(&by, path, is_dir, &wanted);
        HOLDS(line <= lines && !by == !line);
        HOLDS(ignored == (line && !wanted));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT;
    struct fenced copy = fence((struct str){(const char *)data, size});
    const char *nul = size ? memchr(copy.ptr, 0, size) : NULL;
    if (nul && size <= 4096) {
        struct str path = {copy.ptr, (size_t)(nul - copy.ptr)};
        struct str rules = {nul + 1, size - path.len - 1};
        size_t first = rules.len ? strnlen(rules.ptr, rules.len) : 0;
        const char *end = first ? memchr(rules.ptr, '\n', first) : NULL;
        struct str pattern = {rules.ptr, end ? (size_t)(end - rules.ptr) : first};
        check_rules(&arena, rules, path);
        check_pattern(&arena, arena_str(&arena, pattern), path);
    }
    arena_release(&arena);
    unfence(&copy);
    return 0;
}
