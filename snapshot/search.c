/* SPDX-License-Identifier: MIT */
/* Lines that match a pattern. */
#include "snapshot/search.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/str.h"

#include <assert.h>
#include <stdlib.h>

enum { MATCHER_PARTS = 5000 };

/* ==== Regular expressions ==== */

/* ---- Programs ---- */

enum part_kind {
    PART_BYTE = 1, /* takes the byte x */
    PART_SET,      /* takes one byte of the set x */
    PART_JUMP,     /* to x from here */
    PART_SPLIT,    /* to x and to y from here */
    PART_PLACE,    /* takes nothing: is this a place of the kind x? */
    PART_MATCH
};

struct part {
    uint8_t kind;
    int32_t x, y;
};

enum place { LINE_BEGIN, LINE_END, WORD_BEGIN, WORD_END, WORD_EDGE, NO_WORD_EDGE };

struct byte_set {
    uint64_t bits[4];
};

enum { SETS_MOST = 1000, NO_ATOM = -1, ENDLESS = -1, REPEAT_MOST = 32767 };

static void set_add(struct byte_set *set, int byte)
{
    set->bits[byte >> 6] |= UINT64_C(1) << (byte & 63);
}

static bool set_has(const struct byte_set *set, int byte)
{
    return set->bits[byte >> 6] >> (byte & 63) & 1;
}

static bool is_upper(int c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(int c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(int c)
{
    return is_upper(c) || is_lower(c) || is_digit(c) || c == '_';
}

static bool is_space(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* ---- Reading an expression ---- */

struct group {
    int32_t start;   /* of all of it */
    int32_t branch;  /* of the alternative that is read */
    int32_t pending; /* the last jump to its end, whose x is the one before, or -1 */
};

struct compiling {
    struct matcher *m;
    struct str text;
    size_t at;
    struct group *groups; /* that are open; the first one is the expression */
    size_t n_groups, groups_room;
    int32_t atom; /* where what a repetition is of begins, or NO_ATOM */
    struct cairn_error *error;
};

static int bad(const struct compiling *c, const char *why)
{
    return error_set(
        c->error, CAIRN_EUSAGE,
        "the pattern is not an extended regular expression: %s (at byte %zu); -F "
        "searches for it as plain text",
        why, c->at + 1);
}

static int too_large(const struct compiling *c)
{
    return error_set(
        c->error, CAIRN_EUSAGE,
        "the pattern is too large: more than %d parts once its repetitions "
        "are written out (at byte %zu)",
        MATCHER_PARTS, c->at + 1);
}

/* Makes room for one at `where`; what is behind it moves. Jumps are relative, and none
 * leads from before that place to behind it but those that are pending. */
static int insert(struct compiling *c, int32_t where, struct part part)
{
    struct matcher *m = c->m;
    if (m->n >= MATCHER_PARTS)
        return too_large(c);
    size_t room = m->room;
    struct part *parts = array_room(m->parts, m->n, &room, sizeof *parts);
    if (!parts)
        return error_nomem(c->error);
    m->room = (uint32_t)room;
    m->parts = parts;
    memmove(parts + where + 1, parts + where,
            (size_t)((int32_t)m->n - where) * sizeof *parts);
    parts[where] = part;
    m->n++;
    return 0;
}

static int emit(struct compiling *c, enum part_kind kind, int32_t x, int32_t y)
{
    return insert(c, (int32_t)c->m->n, (struct part){(uint8_t)kind, x, y});
}

static int emit_atom(struct compiling *c, enum part_kind kind, int32_t x)
{
    c->atom = (int32_t)c->m->n;
    return emit(c, kind, x, 0);
}

static int emit_set(struct compiling *c, struct byte_set set, bool negated)
{
    struct matcher *m = c->m;
    for (int i = 'a'; i <= 'z' && m->ignore_case; i++)
        if (set_has(&set, i) || set_has(&set, i - 32)) {
            set_add(&set, i);
            set_add(&set, i - 32);
        }
    for (int i = 0; i < 4 && negated; i++)
        set.bits[i] = ~set.bits[i];
    size_t room = m->sets_room;
    struct byte_set *sets = array_room(m->sets, m->n_sets, &room, sizeof *sets);
    if (!sets)
        return error_nomem(c->error);
    m->sets_room = (uint32_t)room;
    m->sets = sets;
    sets[m->n_sets] = set;
    return emit_atom(c, PART_SET, (int32_t)m->n_sets++);
}

static int emit_byte(struct compiling *c, int byte)
{
    struct byte_set set = {{0}};
    if (!c->m->ignore_case || !(is_upper(byte) || is_lower(byte)))
        return emit_atom(c, PART_BYTE, byte);
    set_add(&set, byte);
    return emit_set(c, set, false);
}

/* Nothing can be repeated of it. */
static int emit_place(struct compiling *c, enum place place)
{
    c->atom = NO_ATOM;
    return emit(c, PART_PLACE, (int32_t)place, 0);
}

static int next_byte(struct compiling *c)
{
    return c->at < c->text.len ? (unsigned char)c->text.ptr[c->at] : -1;
}

/* ---- [...] ---- */

static bool in_class(struct str name, int c, bool *known)
{
    bool alpha = is_upper(c) || is_lower(c), print = c >= ' ' && c < 127;
    const struct {
        const char *name;
        bool has;
    } classes[] = {
        {"alpha", alpha},
        {"digit", is_digit(c)},
        {"alnum", alpha || is_digit(c)},
        {"upper", is_upper(c)},
        {"lower", is_lower(c)},
        {"space", is_space(c)},
        {"blank", c == ' ' || c == '\t'},
        {"print", print},
        {"graph", print && c != ' '},
        {"punct", print && c != ' ' && !alpha && !is_digit(c)},
        {"cntrl", c < ' ' || c == 127},
        {"xdigit", is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (str_equal(name, str_of(classes[i].name))) {
            *known = true;
            return classes[i].has;
        }
    return *known = false;
}

/* What stands between [: and :], [. and .] or [= and =]; the place is behind it. */
static int read_named(struct compiling *c, char kind, struct str *name)
{
    size_t start = c->at + 2;
    for (size_t i = start; i + 1 < c->text.len; i++)
        if (c->text.ptr[i] == kind && c->text.ptr[i + 1] == ']') {
            *name = (struct str){c->text.ptr + start, i - start};
            c->at = i + 2;
            return 0;
        }
    return bad(c, "a [ is not closed");
}

static int add_class(struct compiling *c, struct byte_set *set)
{
    struct str name;
    bool known = true;
    size_t at = c->at;
    int rc = read_named(c, ':', &name);
    for (int i = 0; i < 256 && !rc; i++)
        if (in_class(name, i, &known))
            set_add(set, i);
    c->at = known ? c->at : at;
    return rc || known ? rc : bad(c, "there is no such class");
}

/* One end of a range. */
static int read_element(struct compiling *c, int *byte)
{
    int kind = c->at + 1 < c->text.len ? c->text.ptr[c->at + 1] : 0;
    struct str name;
    *byte = next_byte(c);
    if (*byte != '[' || (kind != '.' && kind != '=')) {
        c->at++;
        return 0;
    }
    int rc = read_named(c, (char)kind, &name);
    if (!rc && name.len != 1)
        rc = bad(c, "a name of a character has one byte here");
    *byte = rc ? 0 : (unsigned char)*name.ptr;
    return rc;
}

static int read_range(struct compiling *c, struct byte_set *set)
{
    int first, last;
    bool equal = c->at + 1 < c->text.len && memcmp(c->text.ptr + c->at, "[=", 2) == 0;
    int rc = read_element(c, &first);
    last = first;
    if (!rc && !equal && next_byte(c) == '-' && c->at + 1 < c->text.len &&
        c->text.ptr[c->at + 1] != ']') {
        c->at++;
        rc = read_element(c, &last);
    }
    if (!rc && first > last)
        return bad(c, "a range ends before it begins");
    for (int i = first; i <= last && !rc; i++)
        set_add(set, i);
    return rc;
}

/* Behind the [. */
static int read_set(struct compiling *c)
{
    struct byte_set set = {{0}};
    bool negated = next_byte(c) == '^', first = true;
    int rc = 0;
    c->at += negated;
    while (!rc && (first || next_byte(c) != ']')) {
        first = false;
        if (next_byte(c) < 0)
            return bad(c, "a [ is not closed");
        if (c->at + 1 < c->text.len && memcmp(c->text.ptr + c->at, "[:", 2) == 0)
            rc = add_class(c, &set);
        else
            rc = read_range(c, &set);
    }
    c->at++;
    return rc ?: emit_set(c, set, negated);
}

/* ---- Groups ---- */

static int open_group(struct compiling *c)
{
    struct group *groups =
        array_room(c->groups, c->n_groups, &c->groups_room, sizeof *groups);
    if (!groups)
        return error_nomem(c->error);
    c->groups = groups;
    int32_t n = (int32_t)c->m->n;
    groups[c->n_groups++] = (struct group){n, n, -1};
    c->atom = NO_ATOM;
    return 0;
}

/* What was read of it is one way, and what comes another one. */
static int next_branch(struct compiling *c)
{
    struct group *group = &c->groups[c->n_groups - 1];
    int32_t length = (int32_t)c->m->n - group->branch;
    int rc = insert(c, group->branch, (struct part){PART_SPLIT, 1, length + 2})
                 ?: emit(c, PART_JUMP, group->pending, 0);
    group->pending = (int32_t)c->m->n - 1;
    group->branch = (int32_t)c->m->n;
    c->atom = NO_ATOM;
    return rc;
}

static void close_group(struct compiling *c)
{
    const struct group *group = &c->groups[--c->n_groups];
    struct part *parts = c->m->parts;
    int32_t end = (int32_t)c->m->n;
    for (int32_t at = group->pending, before; at >= 0; at = before) {
        before = parts[at].x;
        parts[at].x = end - at;
    }
    c->atom = group->start;
}

/* ---- Repetitions ---- */

/* `least` times what begins at the atom, and up to `most` times. */
static int repeat(struct compiling *c, int least, int most)
{
    struct matcher *m = c->m;
    int32_t start = c->atom, length = (int32_t)m->n - start;
    struct part *copy = malloc(((size_t)length + 1) * sizeof *copy);
    int rc = copy ? 0 : error_nomem(c->error);
    if (copy && length)
        memcpy(copy, m->parts + start, (size_t)length * sizeof *copy);
    m->n = (uint32_t)start;
    int optional = most == ENDLESS ? least == 0 : most - least;
    for (int i = 0; i < least + optional && !rc; i++) {
        int32_t rest = (least + optional - i) * (length + 1);
        if (i >= least)
            rc = emit(c, PART_SPLIT, 1, most == ENDLESS ? length + 2 : rest);
        for (int32_t j = 0; j < length && !rc; j++)
            rc = insert(c, (int32_t)m->n, copy[j]);
    }
    if (!rc && most == ENDLESS)
        rc = least ? emit(c, PART_SPLIT, -length, 1)
                   : emit(c, PART_JUMP, -(length + 1), 0);
    free(copy);
    return rc;
}

/* -1: none. */
static int read_number(struct compiling *c)
{
    int number = -1;
    for (; is_digit(next_byte(c)); c->at++)
        if (number <= REPEAT_MOST)
            number = (number < 0 ? 0 : number * 10) + next_byte(c) - '0';
    return number;
}

/* Behind the {. */
static int read_interval(struct compiling *c)
{
    int least = read_number(c), most = least;
    if (next_byte(c) == ',') {
        c->at++;
        most = read_number(c); /* none: ENDLESS */
        least = least < 0 ? 0 : least;
    }
    if (least < 0 || next_byte(c) != '}' || (most != ENDLESS && most < least))
        return bad(c,
                   "{ begins a number of times, as {3}, {3,} or {3,5}: write \\{ for "
                   "the character");
    if (least > REPEAT_MOST || most > REPEAT_MOST)
        return too_large(c);
    c->at++;
    return repeat(c, least, most);
}

static int read_repetition(struct compiling *c, int byte)
{
    if (c->atom == NO_ATOM)
        return bad(c, "there is nothing before it that can be repeated");
    c->at++;
    switch (byte) {
    case '*':
        return repeat(c, 0, ENDLESS);
    case '+':
        return repeat(c, 1, ENDLESS);
    case '?':
        return repeat(c, 0, 1);
    default:
        return read_interval(c);
    }
}

/* ---- All of it ---- */

static int read_escape(struct compiling *c)
{
    struct byte_set set = {{0}};
    c->at++;
    int byte = next_byte(c);
    if (byte < 0)
        return bad(c, "a \\ is last");
    if (byte >= '1' && byte <= '9')
        return error_set(c->error, CAIRN_EUSAGE,
                         "the pattern has a back-reference (\\%c, at byte %zu), which "
                         "this search does not have: what it finds could take time "
                         "without end",
                         byte, c->at);
    c->at++;
    switch (byte) {
    case '<':
        return emit_place(c, WORD_BEGIN);
    case '>':
        return emit_place(c, WORD_END);
    case 'b':
        return emit_place(c, WORD_EDGE);
    case 'B':
        return emit_place(c, NO_WORD_EDGE);
    case '`':
        return emit_place(c, LINE_BEGIN);
    case '\'':
        return emit_place(c, LINE_END);
    case 'w':
    case 'W':
    case 's':
    case 'S':
        for (int i = 0; i < 256; i++)
            if (byte == 'w' || byte == 'W' ? is_word(i) : is_space(i))
                set_add(&set, i);
        return emit_set(c, set, is_upper(byte));
    default:
        return emit_byte(c, byte);
    }
}

static int read_part(struct compiling *c)
{
    struct byte_set dot = {{1, 0, 0, 0}}; /* not NUL, as the C library has it */
    int byte = next_byte(c);
    switch (byte) {
    case '*':
    case '+':
    case '?':
    case '{':
        return read_repetition(c, byte);
    case '\\':
        return read_escape(c);
    default:
        break;
    }
    c->at++;
    switch (byte) {
    case '(':
        return open_group(c);
    case ')':
        if (c->n_groups == 1)
            return emit_byte(c, byte);
        close_group(c);
        return 0;
    case '|':
        return next_branch(c);
    case '^':
        return emit_place(c, LINE_BEGIN);
    case '$':
        return emit_place(c, LINE_END);
    case '.':
        return emit_set(c, dot, true);
    case '[':
        return read_set(c);
    default:
        return emit_byte(c, byte);
    }
}

int matcher_init(struct matcher *matcher, struct str expression, bool ignore_case,
                 struct cairn_error *error)
{
    *matcher = (struct matcher){.ignore_case = ignore_case};
    struct compiling c = {.m = matcher, .text = expression, .error = error};
    int rc = open_group(&c);
    while (!rc && c.at < expression.len)
        rc = read_part(&c);
    if (!rc && c.n_groups > 1)
        rc = bad(&c, "a ( is not closed");
    if (!rc)
        close_group(&c);
    if (!rc)
        rc = emit(&c, PART_MATCH, 0, 0);
    free(c.groups);
    return rc;
}

/* ---- States ---- */

/* A state is the parts that come next, before it is looked whether places among them
 * are there, and what stands before. A byte that is not a byte ends the text. */
enum { END_OF_LINE = 256, END_OF_PIECE = 257, BYTES = 258 };

enum { UNKNOWN = 0, MATCHED = 1, FIRST_STATE = 2 };

enum { STATES_MOST = 2000, SLOTS = 4096 };

enum before { BEFORE_OTHER, BEFORE_WORD, BEFORE_LINE };

struct matcher_states {
    uint32_t n;
    uint32_t words; /* of the bits of one */
    uint32_t (*next)[BYTES];
    uint64_t *bits;        /* [STATES_MOST][words] */
    uint8_t *before;       /* [STATES_MOST]: enum before */
    uint32_t slots[SLOTS]; /* by hash: index, or UNKNOWN */
    uint64_t *made;        /* [words]: the one that is made */
    uint32_t *reached;     /* [parts]: from one, without a byte */
    uint8_t *seen;         /* [parts] */
};

static void free_states(struct matcher_states *s)
{
    if (!s)
        return;
    free(s->next);
    free(s->bits);
    free(s->before);
    free(s->made);
    free(s->reached);
    free(s->seen);
    free(s);
}

void matcher_release(struct matcher *m)
{
    free(m->parts);
    free(m->sets);
    free_states(m->states);
    *m = (struct matcher){.n = 0};
}

static void forget_states(struct matcher_states *s)
{
    memset(s->next, 0, (size_t)s->n * sizeof *s->next);
    memset(s->slots, 0, sizeof s->slots);
    s->n = FIRST_STATE;
}

static int make_states(struct matcher *m, struct cairn_error *error)
{
    struct matcher_states *s = calloc(1, sizeof *s);
    if (!s)
        return error_nomem(error);
    s->words = (m->n + 63) / 64;
    s->n = FIRST_STATE;
    s->next = calloc(STATES_MOST, sizeof *s->next);
    s->bits = calloc((size_t)STATES_MOST * s->words, sizeof *s->bits);
    s->before = calloc(STATES_MOST, 1);
    s->made = calloc(s->words, sizeof *s->made);
    s->reached = calloc(m->n, sizeof *s->reached);
    s->seen = calloc(m->n, 1);
    if (!s->next || !s->bits || !s->before || !s->made || !s->reached || !s->seen) {
        free_states(s);
        return error_nomem(error);
    }
    m->states = s;
    return 0;
}

/* The one whose parts are s->made, which is empty then. */
static uint32_t state_of(struct matcher_states *s, uint8_t before)
{
    size_t size = s->words * sizeof *s->made;
    uint64_t hash = before + UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < s->words; i++)
        hash = (hash ^ s->made[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 29;
    uint32_t slot = (uint32_t)(hash >> 40) % SLOTS, at;
    for (; (at = s->slots[slot]) != UNKNOWN; slot = (slot + 1) % SLOTS)
        if (s->before[at] == before &&
            memcmp(s->bits + (size_t)at * s->words, s->made, size) == 0)
            break;
    if (at == UNKNOWN) {
        assert(s->n < STATES_MOST);
        at = s->slots[slot] = s->n++;
        memcpy(s->bits + (size_t)at * s->words, s->made, size);
        s->before[at] = before;
    }
    memset(s->made, 0, size);
    return at;
}

static bool is_there(enum place place, uint8_t before, int byte)
{
    bool word = byte < 256 && is_word(byte), was = before == BEFORE_WORD;
    switch (place) {
    case LINE_BEGIN:
        return before == BEFORE_LINE;
    case LINE_END:
        return byte == '\n' || byte == END_OF_LINE;
    case WORD_BEGIN:
        return word && !was;
    case WORD_END:
        return was && !word;
    case WORD_EDGE:
        return word != was;
    default:
        return word == was;
    }
}

/* All parts that take a byte, or match, and can be come to from those of the state
 * where `byte` is next. Returns whether it matches. */
static bool reach(struct matcher *m, uint32_t from, int byte, uint32_t *n_reached)
{
    struct matcher_states *s = m->states;
    const uint64_t *bits = s->bits + (size_t)from * s->words;
    uint32_t n = 0, used = 0;
    bool match = false;
    memset(s->seen, 0, m->n);
    for (uint32_t i = 0; i < m->n; i++)
        if (bits[i / 64] >> (i % 64) & 1) {
            s->seen[i] = 1;
            s->reached[n++] = i;
        }
    for (uint32_t i = 0; i < n; i++) { /* a queue, each once */
        uint32_t at = s->reached[i];
        const struct part *part = &m->parts[at];
        uint32_t to[2] = {at + (uint32_t)part->x, at + (uint32_t)part->y};
        int ways = part->kind == PART_SPLIT ? 2 : part->kind == PART_JUMP ? 1 : 0;
        if (part->kind == PART_PLACE &&
            is_there((enum place)part->x, s->before[from], byte)) {
            ways = 1;
            to[0] = at + 1;
        }
        for (int w = 0; w < ways; w++)
            if (!s->seen[to[w]]) {
                s->seen[to[w]] = 1;
                s->reached[n++] = to[w];
            }
        match |= part->kind == PART_MATCH;
        if (part->kind == PART_BYTE || part->kind == PART_SET)
            s->reached[used++] = at; /* behind `i`, or there */
    }
    m->steps += n + m->n / 16 + 1;
    *n_reached = used;
    return match;
}

/* A line may begin anywhere in it, so the first part is in every state. */
static uint32_t first_state(struct matcher *m, uint8_t before)
{
    m->states->made[0] |= 1;
    return state_of(m->states, before);
}

static uint32_t follow(struct matcher *m, uint32_t from, int byte)
{
    struct matcher_states *s = m->states;
    uint32_t n;
    if (reach(m, from, byte, &n))
        return s->next[from][byte] = MATCHED;
    if (byte >= 256)
        return from; /* nothing follows it */
    if (s->n == STATES_MOST)
        return UNKNOWN;
    for (uint32_t i = 0; i < n && byte != '\n'; i++) {
        const struct part *part = &m->parts[s->reached[i]];
        uint32_t to = s->reached[i] + 1;
        if (part->kind == PART_BYTE ? part->x == byte
                                    : set_has(&m->sets[part->x], byte))
            s->made[to / 64] |= UINT64_C(1) << (to % 64);
    }
    uint8_t before = byte == '\n'    ? BEFORE_LINE
                     : is_word(byte) ? BEFORE_WORD
                                     : BEFORE_OTHER;
    return s->next[from][byte] = first_state(m, before);
}

/* What follows, where that is not known yet. Where there is no room for another state
 * all are forgotten but this one: *state is what that is now. */
static int find_next(struct matcher *m, uint32_t *state, int byte, uint32_t *next,
                     struct cairn_error *error)
{
    struct matcher_states *s = m->states;
    if (m->steps > MATCHER_STEPS)
        return error_set(error, CAIRN_ELIMIT,
                         "the pattern needs more steps than a search may take: make it "
                         "simpler, or search less at a time");
    *next = follow(m, *state, byte);
    if (*next != UNKNOWN)
        return 0;
    uint8_t before = s->before[*state];
    memcpy(s->made, s->bits + (size_t)*state * s->words, s->words * sizeof *s->made);
    forget_states(s);
    *state = state_of(s, before);
    *next = follow(m, *state, byte);
    return 0;
}

int matcher_find(struct matcher *m, struct str text, bool begins, bool ends, size_t *at,
                 struct cairn_error *error)
{
    int rc = m->states ? 0 : make_states(m, error);
    if (rc)
        return rc;
    struct matcher_states *s = m->states;
    if (s->n + 2 > STATES_MOST)
        forget_states(s);
    uint32_t state = first_state(m, begins ? BEFORE_LINE : BEFORE_OTHER);
    uint32_t next = FIRST_STATE;
    for (*at = 0; *at < text.len; ++*at) {
        int byte = (unsigned char)text.ptr[*at];
        next = s->next[state][byte];
        if (next == UNKNOWN && (rc = find_next(m, &state, byte, &next, error)) != 0)
            return rc;
        if (next == MATCHED)
            return 1;
        state = next;
    }
    if (text.len && text.ptr[text.len - 1] == '\n')
        return 0;
    rc = find_next(m, &state, ends ? END_OF_LINE : END_OF_PIECE, &next, error);
    return rc ? rc : next == MATCHED;
}

/* ==== Searching a content that comes in parts ==== */

enum { BLOCK = 64 << 10 };

/* ---- The pattern ---- */

static void add_quoted(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (strchr(".[]()*+?{}|^$\\", text.ptr[i]))
            buf_byte(out, '\\');
        buf_byte(out, (uint8_t)text.ptr[i]);
    }
}

int search_pattern_init(struct search_pattern *pattern, struct str text, bool fixed,
                        bool ignore_case, struct cairn_error *error)
{
    struct buf made = BUF_INIT;
    *pattern = (struct search_pattern){.compiled = false};
    if (text.len > SEARCH_PATTERN_MOST)
        return error_set(error, CAIRN_EUSAGE, "a pattern has at most %d bytes",
                         SEARCH_PATTERN_MOST);
    if (text.len && memchr(text.ptr, '\n', text.len))
        return error_set(error, CAIRN_EUSAGE,
                         "a pattern is looked for within a line: it has no line break");
    if (fixed && !ignore_case) {
        pattern->text = text;
        return 0;
    }
    if (fixed)
        add_quoted(&made, text);
    else
        buf_str(&made, text);
    int rc =
        buf_check(&made, error)
            ?: matcher_init(&pattern->matcher, buf_view(&made), ignore_case, error);
    pattern->compiled = rc == 0;
    if (rc)
        matcher_release(&pattern->matcher);
    buf_release(&made);
    return rc;
}

void search_pattern_release(struct search_pattern *pattern)
{
    if (pattern->compiled)
        matcher_release(&pattern->matcher);
    pattern->compiled = false;
}

/* Is something of the first line with a match at `at`? 1, 0: there is none. */
static int find_match(const struct search *s, struct str text, bool begins, bool ends,
                      size_t *at, struct cairn_error *error)
{
    struct search_pattern *pattern = s->pattern;
    if (pattern->compiled)
        return matcher_find(&pattern->matcher, text, begins, ends, at, error);
    const char *found =
        memmem(text.ptr, text.len, pattern->text.ptr, pattern->text.len);
    *at = found ? (size_t)(found - text.ptr) : 0;
    return found != NULL;
}

/* ---- Lines ---- */

static uint64_t count_breaks(struct str text)
{
    uint64_t n = 0;
    const char *at = text.ptr, *end = at + text.len;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
        at++;
        n++;
    }
    return n;
}

static struct str line_around(struct str text, size_t at)
{
    const char *before = at ? memrchr(text.ptr, '\n', at) : NULL;
    size_t from = before ? (size_t)(before - text.ptr) + 1 : 0;
    const char *end = memchr(text.ptr + at, '\n', text.len - at);
    size_t to = end ? (size_t)(end - text.ptr) : text.len;
    return (struct str){text.ptr + from, to - from};
}

static int give_hit(struct search *s, struct str line, bool cut)
{
    struct search_hit hit = {.line = s->lines + 1, .text = line, .cut = cut};
    return s->hit(s->context, &hit);
}

/* Whole lines, of which only the last of the content has no break. s->lines are those
 * before, and then those with it. */
static int look_at_lines(struct search *s, struct str text, struct cairn_error *error)
{
    int rc = 0;
    while (!rc && text.len) {
        size_t at = 0;
        int found = find_match(s, text, true, true, &at, error);
        if (found <= 0 || (at == text.len && text.ptr[at - 1] == '\n')) {
            rc = found < 0 ? found : 0;
            break;
        }
        struct str line = line_around(text, at);
        size_t before = (size_t)(line.ptr - text.ptr);
        s->lines += count_breaks((struct str){text.ptr, before});
        rc = give_hit(s, line, false);
        size_t used = before + line.len;
        if (used < text.len) {
            used++;
            s->lines++;
        }
        text = (struct str){text.ptr + used, text.len - used};
    }
    s->lines += count_breaks(text);
    return rc;
}

/* A piece of a line that is too long, or the rest of one. */
static int look_at_piece(struct search *s, struct str piece, bool last,
                         struct cairn_error *error)
{
    size_t at;
    int found = s->line_hit ? 0 : find_match(s, piece, !s->in_line, last, &at, error);
    s->line_hit |= found > 0;
    return found > 0 ? give_hit(s, piece, true) : found;
}

/* ---- Parts ---- */

static void drop_front(struct buf *held, size_t n)
{
    memmove(held->data, held->data + n, held->size - n);
    held->size -= n;
}

static int end_long_line(struct search *s, struct cairn_error *error)
{
    const char *end = memchr(s->held.data, '\n', s->held.size);
    if (!end)
        return 0;
    size_t n = (size_t)(end - s->held.data);
    int rc = look_at_piece(s, (struct str){s->held.data, n}, true, error);
    s->in_line = s->line_hit = false;
    s->lines++;
    drop_front(&s->held, n + 1);
    return rc;
}

static int look_at_held(struct search *s, struct cairn_error *error)
{
    int rc = s->in_line ? end_long_line(s, error) : 0;
    if (rc || !s->held.size)
        return rc;
    const char *end = s->in_line ? NULL : memrchr(s->held.data, '\n', s->held.size);
    if (end) {
        size_t n = (size_t)(end - s->held.data) + 1;
        rc = look_at_lines(s, (struct str){s->held.data, n}, error);
        drop_front(&s->held, n);
    }
    if (rc || s->held.size < SEARCH_LINE_MOST)
        return rc;
    rc = look_at_piece(s, buf_view(&s->held), false, error);
    s->in_line = true;
    drop_front(&s->held, s->held.size - SEARCH_OVERLAP);
    return rc;
}

int search_part(struct search *s, struct str part, struct cairn_error *error)
{
    int rc = 0;
    while (!rc && part.len) {
        size_t n = part.len < BLOCK ? part.len : BLOCK;
        buf_add(&s->held, part.ptr, n);
        part = (struct str){part.ptr + n, part.len - n};
        rc = buf_check(&s->held, error) ?: look_at_held(s, error);
    }
    return rc;
}

int search_end(struct search *s, struct cairn_error *error)
{
    if (s->in_line)
        return look_at_piece(s, buf_view(&s->held), true, error);
    return s->held.size ? look_at_lines(s, buf_view(&s->held), error) : 0;
}

void search_release(struct search *s)
{
    buf_release(&s->held);
}
