/* SPDX-License-Identifier: MIT */
/* Patterns as .gitignore has them, files of such rules, and paths that people choose by
 * them. */
#include "snapshot/ignore.h"

#include "snapshot/tree.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATHS_MOST = 1000, PATHS_BYTES_MOST = 64 << 10 };

/* ==== One pattern ==== */

/* A pattern becomes a row of tokens; those in front and at the end that stand for one
 * byte each are cut off it as head and tail, which decide about most texts. */

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
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
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
 * first byte that is not a literal counts as if it came behind one (as git has it). */
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

/* ==== Rules ==== */

/* Lines to rules, and which rule decides. What looks odd here is what git does. */

struct ignore_rule {
    struct pattern pattern;
    size_t line;
    bool is_negated, is_for_dirs;
    bool is_path; /* held against the path below the level, not the last name of it */
};

/* Cuts the next line off the text: without its end, which is \n or \r\n (at the end of
 * the text, too). */
static struct str next_line(struct str *text)
{
    const char *end = memchr(text->ptr, '\n', text->len);
    size_t len = end ? (size_t)(end - text->ptr) : text->len;
    struct str line = {text->ptr, len};
    size_t used = end ? len + 1 : len;
    text->ptr += used;
    text->len -= used;
    if (line.len && line.ptr[line.len - 1] == '\r')
        line.len--;
    return line;
}

/* Spaces at the end do not count, unless there is a backslash before them. */
static struct str without_spaces(struct str line)
{
    size_t len = 0; /* up to the last byte that is not a space */
    for (size_t i = 0; i < line.len; i++) {
        if (line.ptr[i] == ' ')
            continue;
        if (line.ptr[i] == '\\' && ++i == line.len)
            return line;
        len = i + 1;
    }
    return (struct str){line.ptr, len};
}

static struct str without_first(struct str text)
{
    return (struct str){text.ptr + 1, text.len - 1};
}

/* 1, 0 if the line is not a rule, or CAIRN_ENOMEM. */
static int parse_line(struct arena *arena, struct str line, struct ignore_rule *rule,
                      struct cairn_error *error)
{
    const char *nul = line.len ? memchr(line.ptr, 0, line.len) : NULL;
    if (line.len && line.ptr[0] == '#')
        return 0;
    if (nul) /* git has the line as a text of C */
        line.len = (size_t)(nul - line.ptr);
    line = without_spaces(line);
    rule->is_negated = line.len && line.ptr[0] == '!';
    if (rule->is_negated)
        line = without_first(line);
    rule->is_for_dirs = line.len && line.ptr[line.len - 1] == '/';
    line.len -= rule->is_for_dirs;
    rule->is_path = line.len && memchr(line.ptr, '/', line.len);
    if (rule->is_path && line.ptr[0] == '/')
        line = without_first(line);
    return line.len ? pattern_compile(arena, line, &rule->pattern, error) : 0;
}

/* At least as many as there are rules. */
static size_t count_lines(struct str text)
{
    size_t n = 0;
    while (text.len) {
        struct str line = next_line(&text);
        n += line.len && line.ptr[0] != '#';
    }
    return n;
}

int ignore_parse(struct arena *arena, struct str text, struct ignore_rules *rules,
                 struct cairn_error *error)
{
    text = str_without_mark(text);
    struct ignore_rule *made = arena_take(arena, count_lines(text), sizeof *made);
    if (!made)
        return error_nomem(error);
    size_t n = 0;
    for (size_t line = 1; text.len; line++) {
        struct ignore_rule rule = {.line = line};
        int rc = parse_line(arena, next_line(&text), &rule, error);
        if (rc < 0)
            return rc;
        if (rc)
            made[n++] = rule;
    }
    *rules = (struct ignore_rules){made, n};
    return 0;
}

/* The path below the directory of the level; false: it lies elsewhere. */
static bool path_below(struct str dir, struct str path, struct str *below)
{
    *below = path;
    if (dir.len == 0)
        return true;
    if (path.len <= dir.len || path.ptr[dir.len] != '/' ||
        memcmp(path.ptr, dir.ptr, dir.len) != 0)
        return false;
    *below = (struct str){path.ptr + dir.len + 1, path.len - dir.len - 1};
    return true;
}

static struct str last_name(struct str path)
{
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    size_t at = slash ? (size_t)(slash - path.ptr) + 1 : 0;
    return (struct str){path.ptr + at, path.len - at};
}

static const struct ignore_rule *deciding_rule(const struct ignore_level **level,
                                               struct str path, bool is_dir)
{
    struct str name = last_name(path), below;
    for (; *level; *level = (*level)->above) {
        if (!path_below((*level)->dir, path, &below))
            continue;
        for (size_t i = (*level)->rules.n; i-- > 0;) {
            const struct ignore_rule *rule = &(*level)->rules.at[i];
            if (rule->is_for_dirs && !is_dir)
                continue;
            if (pattern_matches(&rule->pattern, rule->is_path ? below : name))
                return rule;
        }
    }
    return NULL;
}

bool ignore_matches(const struct ignore_level *level, struct str path, bool is_dir)
{
    const struct ignore_rule *rule = deciding_rule(&level, path, is_dir);
    return rule && !rule->is_negated;
}

size_t ignore_reason(const struct ignore_level **level, struct str path, bool is_dir,
                     bool *wanted)
{
    const struct ignore_rule *rule = deciding_rule(level, path, is_dir);
    *wanted = rule && rule->is_negated;
    return rule ? rule->line : 0;
}

/* ==== Paths by patterns ==== */

/* Of what people write: "./src" is "src", and "." is everything. */
static struct str plain(struct str text)
{
    while (text.len > 1 && text.ptr[0] == '.' && text.ptr[1] == '/')
        text = (struct str){text.ptr + 2, text.len - 2};
    return str_equal(text, STR(".")) || !text.len ? STR("*") : text;
}

static int add_pattern(struct paths *paths, struct str given, struct cairn_error *error)
{
    struct ignore_level *level = &paths->levels[paths->n];
    struct str text = plain(given);
    struct buf line = BUF_INIT;
    if (!given.len || memchr(given.ptr, '\n', given.len))
        return error_set(error, CAIRN_EUSAGE,
                         "a pattern of paths is empty or has a line break in it: ? "
                         "stands for any byte");
    if (text.ptr[0] == '!' || text.ptr[0] == '#')
        buf_byte(&line, '\\');
    buf_str(&line, text);
    *level = (struct ignore_level){.dir = STR("")};
    int rc = buf_check(&line, error)
                 ?: ignore_parse(&paths->arena, buf_view(&line), &level->rules, error);
    buf_release(&line);
    if (!rc && !level->rules.n)
        rc = error_set(error, CAIRN_EUSAGE, "the pattern '%.*s' can match no path",
                       (int)utf8_fit(given, 200), given.ptr);
    paths->n += rc == 0;
    return rc;
}

int paths_open(struct paths *paths, const struct str *texts, size_t n,
               struct cairn_error *error)
{
    size_t bytes = 0;
    *paths = (struct paths){.arena = ARENA_INIT, .texts = texts};
    for (size_t i = 0; i < n; i++)
        bytes += texts[i].len;
    if (n > PATHS_MOST || bytes > PATHS_BYTES_MOST)
        return error_set(error, CAIRN_ELIMIT,
                         "there are more than %d patterns of paths, or more than %d "
                         "bytes of them",
                         PATHS_MOST, PATHS_BYTES_MOST);
    paths->levels = arena_take(&paths->arena, n, sizeof *paths->levels);
    paths->found = arena_take(&paths->arena, n, sizeof *paths->found);
    if (!paths->levels || !paths->found)
        return error_nomem(error);
    int rc = 0;
    memset(paths->found, 0, n * sizeof *paths->found);
    for (size_t i = 0; i < n && !rc; i++)
        rc = add_pattern(paths, texts[i], error);
    return rc;
}

void paths_close(struct paths *paths)
{
    arena_release(&paths->arena);
}

static bool matches(const struct ignore_level *level, struct str path, bool is_dir)
{
    for (size_t i = 0; i < path.len; i++)
        if (path.ptr[i] == '/' &&
            ignore_matches(level, (struct str){path.ptr, i}, true))
            return true;
    return ignore_matches(level, path, is_dir);
}

bool paths_match(struct paths *paths, struct str path, bool is_dir)
{
    bool any = false;
    for (size_t i = 0; i < paths->n; i++)
        if (matches(&paths->levels[i], path, is_dir))
            any = paths->found[i] = true;
    return any;
}

const struct str *paths_missing(const struct paths *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        if (!paths->found[i])
            return &paths->texts[i];
    return NULL;
}

/* ==== The files of rules in a directory ==== */

static int read_text(int file, struct buf *out)
{
    enum { PART = 64 << 10 };
    for (;;) {
        size_t had = out->size;
        char *room = buf_grow(out, PART);
        if (!room)
            return ENOMEM;
        ssize_t n = read(file, room, PART);
        out->size = had + (n > 0 ? (size_t)n : 0);
        if (n < 0 && errno != EINTR)
            return errno;
        if (n == 0 || out->size > RULES_BYTES_MOST)
            return 0;
    }
}

/* What cannot be read has no rules, as for git. */
static int read_rules(int fd, const char *name, struct buf *out,
                      struct cairn_error *error)
{
    struct stat st;
    int file = openat(fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return 0;
    int sys = fstat(file, &st) == 0 && S_ISREG(st.st_mode) ? read_text(file, out) : 0;
    close(file);
    if (sys == ENOMEM)
        return error_nomem(error);
    if (out->size > RULES_BYTES_MOST)
        return error_set(error, CAIRN_ELIMIT, "%s has more than %d bytes", name,
                         RULES_BYTES_MOST);
    return 0;
}

int rules_read(int fd, struct str dir, const struct ignore_level *above,
               struct arena *arena, const struct ignore_level **rules,
               struct cairn_error *error)
{
    static const char *const names[] = {".gitignore", ".cairnignore"};
    struct buf text = BUF_INIT;
    int rc = 0;
    *rules = above;
    for (size_t i = 0; i < 2 && !rc; i++) {
        buf_clear(&text);
        rc = read_rules(fd, names[i], &text, error);
        if (rc || !text.size)
            continue;
        struct ignore_level *level = arena_take(arena, 1, sizeof *level);
        if (!level) {
            rc = error_nomem(error);
            continue;
        }
        level->above = *rules;
        level->dir = arena_str(arena, dir);
        rc = ignore_parse(arena, buf_view(&text), &level->rules, error);
        *rules = level;
    }
    buf_release(&text);
    return rc ? rc : arena->failed ? error_nomem(error) : 0;
}

/* The next directory on the way, or -1 where there is none. */
static int go_into(int fd, struct str name)
{
    char text[TREE_NAME_BYTES + 1];
    if (fd < 0 || name.len > TREE_NAME_BYTES)
        return -1;
    memcpy(text, name.ptr, name.len);
    text[name.len] = '\0';
    return openat(fd, text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int rules_leave_out(int root, struct str path, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    const struct ignore_level *rules = NULL;
    int fd = dup(root), rc = fd < 0 ? error_sys(error, errno, "reading rules") : 0;
    size_t at = 0;
    bool out = false;
    while (!rc && !out && at < path.len) {
        const char *slash = memchr(path.ptr + at, '/', path.len - at);
        size_t end = slash ? (size_t)(slash - path.ptr) : path.len;
        struct str name = {path.ptr + at, end - at}, dir = {path.ptr, at ? at - 1 : 0};
        if (fd >= 0)
            rc = rules_read(fd, dir, rules, &arena, &rules, error);
        out = tree_is_never_taken(name) ||
              (!rc && ignore_matches(rules, (struct str){path.ptr, end}, true));
        int next = go_into(fd, name);
        if (fd >= 0)
            close(fd);
        fd = next;
        at = end + 1;
    }
    if (fd >= 0)
        close(fd);
    arena_release(&arena);
    return rc ? rc : out;
}
