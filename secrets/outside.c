/* SPDX-License-Identifier: MIT */
#include "secrets/outside.h"

#include "base/json_scan.h"
#include "base/utf8.h"
#include "secrets/known_secrets.h"
#include "storage/store.h"

/* ---- Texts for people ---- */

void add_visible(struct buf *out, struct str bytes)
{
    if (!bytes.len) /* it may be NULL */
        return;
    const char *at = bytes.ptr, *end = bytes.ptr + bytes.len;
    while (at < end) {
        uint32_t code = 0;
        size_t n = utf8_next(at, end, &code);
        if (n && code)
            buf_str(out, (struct str){at, n});
        else
            buf_format(out, "\\x%02x", (unsigned char)*at);
        at += n ? n : 1;
    }
}

void add_clean(const struct redactor *redactor, struct str bytes, struct buf *out)
{
    struct buf values = BUF_INIT, known = BUF_INIT;
    redact_text(redactor, bytes, &values);
    known_secrets_redact(buf_view(&values), 0, &known);
    add_visible(out, buf_view(&known));
    out->failed |= values.failed || known.failed;
    buf_release(&values);
    buf_release(&known);
}

/* ---- Texts for programs ---- */

static struct str without_blanks(struct str text)
{
    static const char blanks[] = " \t\n\r";
    while (text.len && memchr(blanks, text.ptr[0], sizeof blanks - 1))
        text = (struct str){text.ptr + 1, text.len - 1};
    while (text.len && memchr(blanks, text.ptr[text.len - 1], sizeof blanks - 1))
        text.len--;
    return text;
}

static bool is_json(struct str text)
{
    struct json_scan in = json_scan_of(text);
    enum json_token token;
    if (!text.len || (text.ptr[0] != '{' && text.ptr[0] != '['))
        return false;
    do
        token = json_next(&in);
    while (token != JSON_END && token != JSON_BAD);
    return token == JSON_END;
}

/* Of letters of both cases and digits, in whole groups of four; in its alphabet for
 * URLs, with dots between its parts, what begins as JSON objects do (JSON web tokens).
 * Other words and paths look like it, too, and are none. */
static bool is_base64(struct str text)
{
    enum { LEAST = 24 };
    size_t n = 0, lower = 0, upper = 0, digits = 0, padding = 0;
    bool of_json = text.len > 3 && memcmp(text.ptr, "eyJ", 3) == 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '\n' || c == '\r')
            continue;
        if (padding && c != '=')
            return false;
        n++;
        lower += c >= 'a' && c <= 'z';
        upper += c >= 'A' && c <= 'Z';
        digits += c >= '0' && c <= '9';
        padding += c == '=';
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
            !(c >= '0' && c <= '9') &&
            (c == 0 || !strchr(of_json ? "+/=-_." : "+/=", c)))
            return false;
    }
    return n >= LEAST && lower && upper && digits && padding < 3 &&
           (of_json || n % 4 == 0);
}

/* ---- Refusing ---- */

static bool find(const struct outside *outside, struct str text,
                 struct secret_place *place)
{
    if (redactor_where(outside->redactor, text, place))
        return true;
    *place = (struct secret_place){.name = STR("")};
    return outside->by_looks && known_secrets_find(text, &place->from, &place->to);
}

static bool stays(const struct outside_text *text, const struct secret_place *place)
{
    struct str bare = without_blanks(text->text);
    if (text->kind != OUTSIDE_PROSE)
        return true;
    return place->to - place->from < bare.len && (is_json(bare) || is_base64(bare));
}

int outside_check(const struct outside *outside, const struct outside_text *text,
                  struct cairn_error *error)
{
    struct secret_place place;
    if (!find(outside, text->text, &place) || !stays(text, &place))
        return 0;
    const char *why = text->kind == OUTSIDE_NAME ? "a name is stored as it is"
                      : text->kind == OUTSIDE_DATA
                          ? "it is stored as it is"
                          : "it is data, which is stored as it "
                            "is";
    const char *remedy = text->remedy ? text->remedy : "leave it out";
    if (!place.name.len)
        return error_set(error, CAIRN_EUSAGE,
                         "the text at byte %zu of %s looks like a secret, and %s: "
                         "%s",
                         place.from, text->what, why, remedy);
    return error_set(error, CAIRN_EUSAGE,
                     "the value of the secret %.*s is in %s, at byte %zu, and %s: %s",
                     (int)place.name.len, place.name.ptr, text->what, place.from, why,
                     remedy);
}

int outside_take(const struct outside *outside, const struct outside_text *text,
                 struct arena *arena, struct clean *out, struct cairn_error *error)
{
    struct secret_place place;
    struct buf clean = BUF_INIT;
    int rc = outside_check(outside, text, error);
    if (rc)
        return rc;
    bool found = find(outside, text->text, &place);
    if (found && outside->by_looks)
        add_clean(outside->redactor, text->text, &clean);
    else if (found)
        redact_text(outside->redactor, text->text, &clean);
    else if (text->kind == OUTSIDE_PROSE)
        add_visible(&clean, text->text);
    else
        buf_str(&clean, text->text);
    rc = buf_check(&clean, error);
    if (!rc)
        *out = clean_stored(arena_str(arena, buf_view(&clean)));
    buf_release(&clean);
    if (!rc && arena->failed)
        rc = error_nomem(error);
    if (!rc && found && outside->store)
        store_add_notice(outside->store,
                         "%s%.*s was taken out of %s before it was "
                         "stored: " REDACTED " stands there",
                         place.name.len ? "the value of the secret "
                                        : "what looks like a secret",
                         (int)place.name.len, place.name.ptr, text->what);
    return rc;
}
