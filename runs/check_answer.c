/* SPDX-License-Identifier: MIT */
/* What a check said. Its answer is JSON (RFC 8259) on one line, read by a small strict
 * reader: only `confidence` of the outermost object matters, everything else is
 * skipped, with one bit per level instead of recursion. Bytes of strings from 0x80 on
 * are not looked at. Nothing of the answer gets into messages. */
#include "runs/values.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

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

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
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
        int digit = hex_value(*j->at++);
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
                 ? "the last line of its check begins with { and is no JSON object"
                 : "the answer of its check has no `confidence` from 0 to 1");
}
