/* SPDX-License-Identifier: MIT */
/* Reading $CAIRN_OUTPUT. Every line is looked at once; all views point into the text
 * until the end, when what counts is copied. Messages quote nothing of the file: it may
 * hold anything, a terminal's escape sequences too. */
#include "runs/values.h"

#include "runs/owner.h"
#include "runs/stored.h"

#include "base/limits.h"
#include "base/os.h"
#include "base/str.h"
#include "base/words.h"
#include "process/live.h"
#include "storage/store.h"

#include <dirent.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct entry {
    struct str key, value;
    bool crlf;      /* the value is several lines that end with CR LF */
    uint32_t order; /* among equal keys the highest one counts */
};

struct lines {
    struct str text;
    size_t at;       /* where the next line begins */
    uint32_t number; /* of the last line */
    bool crlf;       /* the last line ended with CR LF */
};

static bool next_line(struct lines *lines, struct str *line)
{
    if (lines->at == lines->text.len)
        return false;
    const char *start = lines->text.ptr + lines->at;
    size_t left = lines->text.len - lines->at;
    const char *end = memchr(start, '\n', left);
    *line = (struct str){start, end ? (size_t)(end - start) : left};
    lines->at += line->len + (end != NULL);
    lines->number++;
    lines->crlf = end && line->len && end[-1] == '\r';
    line->len -= lines->crlf;
    return true;
}

static size_t key_length(struct str line)
{
    size_t n = 0;
    while (n < line.len) {
        char c = line.ptr[n];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (n == 0 || c < '0' || c > '9'))
            break;
        n++;
    }
    return n;
}

/* The lines up to the one that is `end`, without the last line break. */
static int read_block(struct lines *lines, struct str end, struct str *value,
                      struct cairn_error *error)
{
    uint32_t begun = lines->number;
    size_t start = lines->at, stop = start;
    struct str line;
    if (end.len == 0)
        return error_set(error, CAIRN_EWORKFLOW,
                         "line %u: << must be followed by the line that ends the value",
                         begun);
    while (next_line(lines, &line)) {
        if (str_equal(line, end)) {
            *value = (struct str){lines->text.ptr + start,
                                  stop > start ? stop - start - 1 : 0};
            return 0;
        }
        stop = lines->at;
    }
    return error_set(error, CAIRN_EWORKFLOW,
                     "line %u: the line that ends this value is missing", begun);
}

static int read_entry(struct lines *lines, struct str line, struct entry *entry,
                      struct cairn_error *error)
{
    size_t n = key_length(line);
    struct str rest = {line.ptr + n, line.len - n};
    entry->key = (struct str){line.ptr, n};
    if (n > LIMIT_NAME_BYTES)
        return error_set(error, CAIRN_ELIMIT,
                         "line %u: a name of more than %d characters", lines->number,
                         LIMIT_NAME_BYTES);
    if (n && rest.len >= 1 && rest.ptr[0] == '=') {
        entry->value = (struct str){rest.ptr + 1, rest.len - 1};
        entry->crlf = false;
        return 0;
    }
    entry->crlf = lines->crlf;
    if (n && rest.len >= 2 && memcmp(rest.ptr, "<<", 2) == 0)
        return read_block(lines, (struct str){rest.ptr + 2, rest.len - 2},
                          &entry->value, error);
    return error_set(error, CAIRN_EWORKFLOW,
                     "line %u: expected name=value or name<<END; a name has letters, "
                     "digits and _, and does not begin with a digit",
                     lines->number);
}

static int by_key(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = str_compare(x->key, y->key);
    if (order)
        return order;
    return (x->order > y->order) - (x->order < y->order);
}

static int read_entries(struct str text, struct buf *found, struct cairn_error *error)
{
    struct lines lines = {.text = str_without_mark(text)};
    struct entry entry = {.order = 0};
    struct str line;
    int rc = 0;
    while (!rc && next_line(&lines, &line)) {
        if (line.len == 0)
            continue;
        rc = read_entry(&lines, line, &entry, error);
        if (!rc)
            buf_add(found, &entry, sizeof entry);
        entry.order++;
    }
    return rc ? rc : buf_check(found, error);
}

/* Sorts; of equal keys only the last one stays. Returns how many are left. */
static size_t drop_duplicates(struct entry *entries, size_t n)
{
    size_t kept = 0;
    if (n)
        qsort(entries, n, sizeof *entries, by_key);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || !str_equal(entries[i].key, entries[i + 1].key))
            entries[kept++] = entries[i];
    return kept;
}

/* Takes the CR from each CR LF, and from the end, where the LF is gone already. */
static void drop_returns(struct str *value)
{
    char *to = (char *)(uintptr_t)value->ptr;
    const char *from = value->ptr, *end = from + value->len;
    for (; from < end; from++)
        if (*from != '\r' || (from + 1 < end && from[1] != '\n'))
            *to++ = *from;
    *to = 0;
    value->len = (size_t)(to - value->ptr);
}

static int copy_entries(struct arena *arena, const struct entry *entries, size_t n,
                        struct key_value **out, struct cairn_error *error)
{
    if (n > LIMIT_VALUES)
        return error_set(error, CAIRN_ELIMIT, "%zu values; at most %d can be set", n,
                         LIMIT_VALUES);
    struct key_value *values = arena_take(arena, n, sizeof *values);
    for (size_t i = 0; values && i < n; i++) {
        values[i].key = arena_str(arena, entries[i].key);
        values[i].value = arena_str(arena, entries[i].value);
        if (entries[i].crlf && values[i].value.len) /* else it is not writable */
            drop_returns(&values[i].value);
    }
    if (arena->failed)
        return error_nomem(error);
    *out = values;
    return 0;
}

static int refuse_nul(struct str text, struct cairn_error *error)
{
    const char *nul = text.len ? memchr(text.ptr, 0, text.len) : NULL;
    uint32_t line = 1;
    if (!nul)
        return 0;
    for (const char *p = text.ptr; p < nul; p++)
        line += *p == '\n';
    return error_set(error, CAIRN_EWORKFLOW, "line %u: a NUL byte", line);
}

int values_parse(struct arena *arena, struct str text, struct key_value **out,
                 uint32_t *n, struct cairn_error *error)
{
    struct buf found = BUF_INIT;
    if (text.len > LIMIT_VALUES_BYTES)
        return error_set(error, CAIRN_ELIMIT, "%zu bytes; at most %d can be set",
                         text.len, LIMIT_VALUES_BYTES);
    int rc = refuse_nul(text, error) ?: read_entries(text, &found, error);
    if (!rc) {
        struct entry *entries = (void *)found.data;
        size_t kept = drop_duplicates(entries, found.size / sizeof *entries);
        rc = copy_entries(arena, entries, kept, out, error);
        if (!rc)
            *n = (uint32_t)kept;
    }
    buf_release(&found);
    return rc;
}

/* ---- Stored pairs ---- */

bool value_name_is_good(struct str name)
{
    return name.len > 0 && name.len <= LIMIT_NAME_BYTES && key_length(name) == name.len;
}

static bool good_pair(struct str key, struct str value)
{
    return value_name_is_good(key) && !(value.len && memchr(value.ptr, 0, value.len));
}

/* How many there are, or LIMIT_VALUES + 1. */
static uint32_t count_pairs(struct str packed)
{
    struct reader in = reader_of(packed.ptr, packed.len);
    struct str last = STR("");
    uint32_t n = 0;
    while (reader_left(&in) && n <= LIMIT_VALUES) {
        struct str key = read_lstr(&in), value = read_lstr(&in);
        if (in.failed || !good_pair(key, value) || str_compare(last, key) >= 0)
            return LIMIT_VALUES + 1;
        last = key;
        n++;
    }
    return n;
}

int values_unpack(struct arena *arena, struct str packed, struct key_value **out,
                  uint32_t *n, struct cairn_error *error)
{
    struct reader in = reader_of(packed.ptr, packed.len);
    uint32_t count = count_pairs(packed);
    if (count > LIMIT_VALUES)
        return error_set(error, CAIRN_EDAMAGED, "stored values are damaged");
    struct key_value *values = arena_take(arena, count, sizeof *values);
    if (!values)
        return error_nomem(error);
    for (uint32_t i = 0; i < count; i++) {
        values[i].key = read_lstr(&in);
        values[i].value = read_lstr(&in);
    }
    *out = values;
    *n = count;
    return 0;
}

const struct key_value *values_find(const struct key_value *values, uint32_t n,
                                    struct str key)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = str_compare(values[middle].key, key);
        if (order == 0)
            return &values[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool has_values(const char *name, struct live_name *parsed)
{
    return live_parse(parsed, name) &&
           (parsed->kind == LIVE_SLOT_VALUES || parsed->kind == LIVE_VALUES);
}

/* Does an attempt under a keeper have them, or has it had them? As long as its claim is
 * there, its task may live, and its end is to be taken over, with these. */
static bool is_claimed(DIR *live, const struct live_name *values)
{
    char name[LIVE_NAME];
    struct live_name claim = *values;
    claim.kind = LIVE_CLAIM;
    claim.salt = 0;
    live_format(name, &claim);
    return values->kind == LIVE_VALUES && os_is_there(dirfd(live), name);
}

/* If that cannot be told, they may. */
static bool may_hold_secrets(struct cairn_store *store, const struct run_row *row)
{
    struct definition definition;
    struct graph graph;
    struct cairn_error ignored;
    if (generation_load(store, row, row->gen, &definition, &graph, &ignored))
        return true;
    bool has = definition.n_secrets > 0;
    graph_release(&graph);
    definition_release(&definition);
    return has;
}

/* `all`: nobody will ever take anything of the run over. */
static void remove_of_run(struct cairn_store *store, uint64_t wanted, bool all)
{
    DIR *live = opendir(store_live_dir(store));
    const struct dirent *entry;
    struct live_name name;
    while (live && (entry = readdir(live)))
        if (has_values(entry->d_name, &name) && name.run == wanted &&
            (all || !is_claimed(live, &name)))
            (void)unlinkat(dirfd(live), entry->d_name, 0);
    if (live)
        closedir(live);
}

void live_values_remove(struct cairn_store *store, const struct run_row *row)
{
    if (may_hold_secrets(store, row))
        remove_of_run(store, row->run, false);
}

/* Only who owns the workflow knows that no attempt of it writes there now. */
static void remove_if_dead(struct cairn_store *store, uint64_t run)
{
    struct arena arena = ARENA_INIT;
    struct run_row row;
    struct cairn_error ignored;
    uint64_t workflow;
    int64_t offset;
    int rc = run_row_get(&row, store, run, &arena, &ignored);
    if (rc == CAIRN_ENOTFOUND)
        remove_of_run(store, run, true);
    else if (!rc && owner_acquire(store, row.workflow_name, &workflow, &offset,
                                  &ignored) == 0) {
        live_values_remove(store, &row);
        owner_release(store, offset);
    }
    arena_release(&arena);
}

/* Those of one run stand together often, but need not. */
void live_values_sweep(struct cairn_store *store)
{
    DIR *live = opendir(store_live_dir(store));
    const struct dirent *entry;
    struct live_name name;
    uint64_t last = 0;
    while (live && (entry = readdir(live))) {
        if (!has_values(entry->d_name, &name) || name.run == last)
            continue;
        remove_if_dead(store, name.run);
        last = name.run;
    }
    if (live)
        closedir(live);
}

/* What a check said. Its answer is JSON (RFC 8259) on one line, read by a small strict
 * reader: only `confidence` of the outermost object matters, everything else is
 * skipped, with one bit per level instead of recursion. Bytes of strings from 0x80 on
 * are not looked at. Nothing of the answer gets into messages. */

enum { DEPTH_MOST = 64, NUMBER_MOST = 400 };

struct json {
    const char *at, *end;
};

static void skip_blanks(struct json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\r'))
        j->at++;
}

/* Takes the character if it comes next, after blanks. */
static bool take_char(struct json *j, char c)
{
    skip_blanks(j);
    if (j->at == j->end || *j->at != c)
        return false;
    j->at++;
    return true;
}

/* What stands behind a backslash. -1: nothing that may. */
static int read_escape(struct json *j)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (j->at == j->end)
        return -1;
    char c = *j->at++;
    const char *name = c ? strchr(names, c) : NULL;
    if (name)
        return meanings[name - names];
    if (c != 'u' || j->end - j->at < 4)
        return -1;
    int code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(*j->at++);
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

/* A string. *same: it says `word`. */
static bool read_string(struct json *j, struct str word, bool *same)
{
    size_t n = 0;
    bool equal = true;
    if (!take_char(j, '"'))
        return false;
    while (j->at < j->end && *j->at != '"') {
        int unit = (unsigned char)*j->at++;
        if (unit < 0x20)
            return false;
        if (unit == '\\')
            unit = read_escape(j);
        if (unit < 0)
            return false;
        equal = equal && n < word.len && unit == (unsigned char)word.ptr[n];
        n++;
    }
    *same = equal && n == word.len;
    return j->at < j->end && *j->at++ == '"';
}

static size_t skip_digits(struct json *j)
{
    const char *start = j->at;
    while (j->at < j->end && *j->at >= '0' && *j->at <= '9')
        j->at++;
    return (size_t)(j->at - start);
}

/* Empty: no number. */
static struct str read_number(struct json *j)
{
    static const struct str none = {NULL, 0};
    skip_blanks(j);
    const char *start = j->at;
    if (j->at < j->end && *j->at == '-')
        j->at++;
    bool zero = j->at < j->end && *j->at == '0';
    size_t digits = skip_digits(j);
    if (digits == 0 || (zero && digits > 1))
        return none;
    if (j->at < j->end && *j->at == '.') {
        j->at++;
        if (skip_digits(j) == 0)
            return none;
    }
    if (j->at < j->end && (*j->at == 'e' || *j->at == 'E')) {
        j->at++;
        if (j->at < j->end && (*j->at == '+' || *j->at == '-'))
            j->at++;
        if (skip_digits(j) == 0)
            return none;
    }
    return (struct str){start, (size_t)(j->at - start)};
}

static bool take_word(struct json *j, struct str word)
{
    if ((size_t)(j->end - j->at) < word.len || memcmp(j->at, word.ptr, word.len) != 0)
        return false;
    j->at += word.len;
    return true;
}

static bool skip_scalar(struct json *j)
{
    bool same;
    skip_blanks(j);
    if (j->at == j->end)
        return false;
    switch (*j->at) {
    case '"':
        return read_string(j, STR(""), &same);
    case 't':
        return take_word(j, STR("true"));
    case 'f':
        return take_word(j, STR("false"));
    case 'n':
        return take_word(j, STR("null"));
    default:
        return read_number(j).len > 0;
    }
}

static bool skip_key(struct json *j)
{
    bool same;
    return read_string(j, STR(""), &same) && take_char(j, ':');
}

/* One value, whatever it is. Bit 0 of `objects` is set while inside an object, bit 1
 * is the same for the level around it, and so on. */
static bool skip_value(struct json *j)
{
    uint64_t objects = 0;
    unsigned depth = 0;
    for (;;) {
        bool object = take_char(j, '{');
        bool ended = true;
        if (object || take_char(j, '[')) {
            if (depth++ == DEPTH_MOST)
                return false;
            objects = objects << 1 | object;
            struct json inside = *j;
            ended = take_char(&inside, object ? '}' : ']');
            if (!ended && object && !skip_key(j))
                return false;
        } else if (!skip_scalar(j))
            return false;
        /* A value has ended: up, as long as levels end with it. */
        while (ended && depth) {
            if (take_char(j, ',')) {
                if ((objects & 1) && !skip_key(j))
                    return false;
                break;
            }
            if (!take_char(j, objects & 1 ? '}' : ']'))
                return false;
            objects >>= 1;
            depth--;
        }
        if (depth == 0)
            return true;
    }
}

enum answer { ANSWER_GOOD, ANSWER_NO_OBJECT, ANSWER_NO_CONFIDENCE };

static enum answer read_confidence(struct json *j, double *confidence)
{
    char text[NUMBER_MOST + 1];
    struct str number = read_number(j);
    if (number.len == 0 || number.len > NUMBER_MOST)
        return ANSWER_NO_CONFIDENCE;
    memcpy(text, number.ptr, number.len);
    text[number.len] = 0;
    /* The program that uses the library may have set a locale with a decimal comma. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return ANSWER_NO_CONFIDENCE;
    double value = strtod_l(text, NULL, plain);
    freelocale(plain);
    if (!(value >= 0 && value <= 1))
        return ANSWER_NO_CONFIDENCE;
    *confidence = value == 0 ? 0 : value; /* not -0 */
    return ANSWER_GOOD;
}

static enum answer read_answer(struct str line, double *confidence)
{
    struct json j = {line.ptr, line.ptr + line.len};
    bool found = false, named;
    if (!take_char(&j, '{'))
        return ANSWER_NO_OBJECT;
    struct json inside = j;
    bool more = !take_char(&inside, '}');
    while (more) {
        if (!read_string(&j, STR("confidence"), &named) || !take_char(&j, ':'))
            return ANSWER_NO_OBJECT;
        if (named && (found || read_confidence(&j, confidence)))
            return ANSWER_NO_CONFIDENCE;
        if (!named && !skip_value(&j))
            return ANSWER_NO_OBJECT;
        found = found || named;
        more = take_char(&j, ',');
    }
    if (!take_char(&j, '}'))
        return ANSWER_NO_OBJECT;
    skip_blanks(&j);
    if (j.at < j.end)
        return ANSWER_NO_OBJECT;
    return found ? ANSWER_GOOD : ANSWER_NO_CONFIDENCE;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Without the blanks around it; empty if all lines are. */
static struct str last_line(struct str out)
{
    while (out.len && is_blank(out.ptr[out.len - 1]))
        out.len--;
    const char *before = out.len ? memrchr(out.ptr, '\n', out.len) : NULL;
    if (before) {
        out.len -= (size_t)(before + 1 - out.ptr);
        out.ptr = before + 1;
    }
    while (out.len && is_blank(out.ptr[0])) {
        out.ptr++;
        out.len--;
    }
    return out;
}

/* Cut, and exact: 0.29 is 29 %, though 0.29 * 100 is less than 29. */
static unsigned whole_percent(double confidence)
{
    unsigned percent = (unsigned)(confidence * 100);
    if (percent / 100.0 > confidence)
        percent--;
    else if ((percent + 1) / 100.0 <= confidence)
        percent++;
    return percent;
}

static void apply_thresholds(struct verdict *verdict, uint32_t min_permille,
                             uint32_t warn_permille)
{
    double c = verdict->confidence;
    verdict->passed = c >= min_permille / 1000.0;
    verdict->warned = verdict->passed && !(c >= warn_permille / 1000.0);
    if (verdict->passed && !verdict->warned)
        return;
    uint32_t limit = verdict->passed ? warn_permille : min_permille;
    char decimal[8] = "";
    if (limit % 10)
        snprintf(decimal, sizeof decimal, ".%u", (unsigned)(limit % 10));
    snprintf(verdict->text, sizeof verdict->text,
             "the confidence of its check is %u %%, %s %u%s %%", whole_percent(c),
             verdict->passed ? "which passes, but is below" : "below the minimum of",
             (unsigned)(limit / 10), decimal);
}

void verdict_of(int exit_code, struct str out, uint32_t min_permille,
                uint32_t warn_permille, struct verdict *verdict)
{
    *verdict = (struct verdict){.confidence = 0};
    if (exit_code != 0) {
        snprintf(verdict->text, sizeof verdict->text,
                 "its check ended with exit code %d", exit_code);
        return;
    }
    struct str line = last_line(out);
    double confidence = 1;
    enum answer answer =
        line.len && line.ptr[0] == '{' ? read_answer(line, &confidence) : ANSWER_GOOD;
    if (answer == ANSWER_GOOD) {
        verdict->confidence = confidence;
        apply_thresholds(verdict, min_permille, warn_permille);
        return;
    }
    snprintf(verdict->text, sizeof verdict->text, "%s",
             answer == ANSWER_NO_OBJECT
                 ? "the last line of its check begins with { and is not a JSON object"
                 : "the answer of its check has no `confidence` from 0 to 1");
}
