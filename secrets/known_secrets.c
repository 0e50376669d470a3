/* SPDX-License-Identifier: MIT */
#include "secrets/known_secrets.h"

#include <strings.h>

/* A text that is looked at from the byte `at` on, where a form may begin. */
struct look {
    struct str text;
    size_t at;
};
/* What is to be hidden; from == to: nothing. */
struct range {
    size_t from, to;
};

/* ---- Characters ---- */

enum {
    UPPER = 1,
    LOWER = 2,
    DIGIT = 4,
    LETTERS = UPPER | LOWER,
    ALNUM = LETTERS | DIGIT,
};

struct charset {
    unsigned classes;
    const char *others;
};
static const struct charset key_id = {UPPER | DIGIT, ""}, alnum = {ALNUM, ""},
                            word = {ALNUM, "_"}, dashed = {ALNUM, "_-"},
                            dotted = {ALNUM, "_-."}, base64 = {ALNUM, "+/="},
                            path = {ALNUM, "_-/"}, token68 = {ALNUM, "-._~+/="};

static bool is_in(const struct charset *set, char c)
{
    unsigned class = c >= 'A' && c <= 'Z'   ? UPPER
                     : c >= 'a' && c <= 'z' ? LOWER
                     : c >= '0' && c <= '9' ? DIGIT
                                            : 0;
    return class ? (set->classes & class) != 0 : c && strchr(set->others, c);
}

static size_t count_in(const struct charset *set, struct str text, size_t at)
{
    size_t n = 0;
    while (at + n < text.len && is_in(set, text.ptr[at + n]))
        n++;
    return n;
}

static bool begins(struct str text, size_t at, const char *with)
{
    size_t n = strlen(with);
    return text.len >= at && text.len - at >= n && memcmp(text.ptr + at, with, n) == 0;
}

static bool begins_in_any_case(struct str text, size_t at, const char *with)
{
    size_t n = strlen(with);
    return text.len >= at && text.len - at >= n &&
           strncasecmp(text.ptr + at, with, n) == 0;
}

static size_t skip_any(struct str text, size_t at, const char *set)
{
    while (at < text.len && text.ptr[at] && strchr(set, text.ptr[at]))
        at++;
    return at;
}

static bool inside_word(const struct look *l)
{
    return l->at > 0 && is_in(&word, l->text.ptr[l->at - 1]);
}

/* ---- Forms ---- */

static const struct form {
    const char *prefix;
    const struct charset *set;
    size_t least, most; /* characters behind the prefix; most 0: any number */
} forms[] = {
    {"AKIA", &key_id, 16, 16},
    {"ASIA", &key_id, 16, 16},
    {"ABIA", &key_id, 16, 16},
    {"ACCA", &key_id, 16, 16},
    {"ghp_", &alnum, 36, 0},
    {"gho_", &alnum, 36, 0},
    {"ghu_", &alnum, 36, 0},
    {"ghs_", &dotted, 36, 0},
    {"ghr_", &alnum, 36, 0},
    {"github_pat_", &word, 22, 0},
    {"xoxa-", &dashed, 10, 0},
    {"xoxb-", &dashed, 10, 0},
    {"xoxp-", &dashed, 10, 0},
    {"xoxr-", &dashed, 10, 0},
    {"xoxs-", &dashed, 10, 0},
    {"xoxo-", &dashed, 10, 0},
    {"xoxe-", &dashed, 10, 0},
    {"xoxe.", &dotted, 10, 0},
    {"xapp-", &dashed, 10, 0},
    {"hooks.slack.com/services/", &path, 20, 0},
    {"hooks.slack.com/workflows/", &path, 20, 0},
    {"sk-", &dashed, 20, 0},
};

static struct range find_form(const struct look *l)
{
    if (inside_word(l))
        return (struct range){0, 0};
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        const struct form *form = &forms[i];
        if (!begins(l->text, l->at, form->prefix))
            continue;
        size_t behind = l->at + strlen(form->prefix);
        size_t n = count_in(form->set, l->text, behind);
        if (n >= form->least && (!form->most || n <= form->most))
            return (struct range){l->at, behind + n};
    }
    return (struct range){0, 0};
}

static struct range find_aws_secret(const struct look *l)
{
    enum { LENGTH = 40 };
    static const char *const names[] = {"aws_secret_access_key", "SecretAccessKey",
                                        "aws_secret_key"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!begins_in_any_case(l->text, l->at, names[i]))
            continue;
        size_t from = skip_any(l->text, l->at + strlen(names[i]), " \t\"'=:>");
        if (count_in(&base64, l->text, from) >= LENGTH)
            return (struct range){from, from + count_in(&base64, l->text, from)};
    }
    return (struct range){0, 0};
}

/* Without its end all that follows belongs to it. */
static struct range find_private_key(const struct look *l)
{
    static const char begin[] = "-----BEGIN ", last[] = "-----END ";
    static const char name[] = "PRIVATE KEY";
    static const struct charset label = {UPPER | DIGIT, " "};
    if (!begins(l->text, l->at, begin))
        return (struct range){0, 0};
    size_t from = l->at + sizeof begin - 1;
    size_t n = count_in(&label, l->text, from);
    if (!memmem(l->text.ptr + from, n, name, sizeof name - 1))
        return (struct range){0, 0};
    const char *behind = l->text.ptr + from + n;
    const char *end = memmem(behind, l->text.len - (from + n), last, sizeof last - 1);
    if (!end)
        return (struct range){l->at, l->text.len};
    size_t to = (size_t)(end - l->text.ptr) + sizeof last - 1;
    to += count_in(&label, l->text, to);
    return (struct range){l->at, skip_any(l->text, to, "-")};
}

static struct range find_credentials(const struct look *l)
{
    enum { LEAST = 8 };
    size_t at = l->at;
    bool header = begins_in_any_case(l->text, at, "authorization:");
    if (header)
        at = skip_any(l->text, at + strlen("authorization:"), " \t");
    bool basic = header && begins_in_any_case(l->text, at, "basic");
    if (inside_word(l) || (!basic && !begins_in_any_case(l->text, at, "bearer")))
        return (struct range){0, 0};
    size_t behind = at + strlen(basic ? "basic" : "bearer");
    size_t from = skip_any(l->text, behind, " \t");
    size_t n = from > behind ? count_in(&token68, l->text, from) : 0;
    return n >= LEAST ? (struct range){from, from + n} : (struct range){0, 0};
}

/* `at`: the colon of "://". A variable of the shell is not a password yet. */
static struct range find_password(const struct look *l)
{
    size_t user = l->at + 3, colon = 0, to = 0;
    if (!begins(l->text, l->at, "://"))
        return (struct range){0, 0};
    for (size_t at = user; at < l->text.len; at++) {
        char c = l->text.ptr[at];
        if ((unsigned char)c <= ' ' || strchr("/?#\"'<>", c))
            break;
        if (c == ':' && !colon)
            colon = at;
        if (c == '@')
            to = at;
    }
    if (!colon || to <= colon || begins(l->text, colon + 1, "$") ||
        begins(l->text, colon + 1, KNOWN_SECRET_MARK))
        return (struct range){0, 0};
    return (struct range){colon + 1, to};
}

/* A form that begins at l->at. */
static struct range find_at(const struct look *l)
{
    struct range found;
    switch (l->text.ptr[l->at]) {
    case '-':
        return find_private_key(l);
    case ':':
        return find_password(l);
    case 'a':
    case 'A':
    case 's':
    case 'S':
        found = find_aws_secret(l);
        if (found.to)
            return found;
        break;
    default:
        break;
    }
    found = find_credentials(l);
    return found.to ? found : find_form(l);
}

static struct range find_next(struct str text, size_t at)
{
    struct look l = {text, at};
    for (; l.at < text.len; l.at++) {
        struct range found = find_at(&l);
        if (found.to > found.from)
            return found;
    }
    return (struct range){text.len, text.len};
}

bool known_secrets_find(struct str text, size_t *from, size_t *to)
{
    struct range found = find_next(text, 0);
    *from = found.from;
    *to = found.to;
    return found.from < text.len;
}

bool known_secrets_found(struct str text)
{
    return find_next(text, 0).from < text.len;
}

void known_secrets_redact(struct str text, size_t from, struct buf *out)
{
    size_t at = 0;
    while (at < text.len) {
        struct range hidden = find_next(text, at);
        size_t start = at > from ? at : from;
        if (hidden.from > start)
            buf_str(out, (struct str){text.ptr + start, hidden.from - start});
        if (hidden.to > hidden.from && hidden.to > from)
            buf_text(out, KNOWN_SECRET_MARK);
        at = hidden.to > at ? hidden.to : text.len;
    }
}
