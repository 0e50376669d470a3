/* SPDX-License-Identifier: MIT */
/* The forms of a secret. base64 (RFC 4648) of a longer text that has the secret in it:
 * which characters come out depends on how many bytes stand before it, modulo 3. The
 * characters at both ends also hold bits of what stands beside it, so they are left
 * out. Percent encoding: RFC 3986, section 2. */
#include "secrets/redact_int.h"

#include "base/limits.h"

static void add_form(struct arena *arena, const struct buf *form, struct str *out,
                     size_t *n)
{
    if (form->failed)
        arena->failed = true;
    else if (form->size >= LIMIT_SECRET_LEAST)
        out[(*n)++] = arena_str(arena, buf_view(form));
}

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

static void add_percent_encoded(struct str value, const char *hex, struct buf *out)
{
    for (size_t i = 0; i < value.len; i++) {
        uint8_t byte = (uint8_t)value.ptr[i];
        if (is_unreserved(value.ptr[i]))
            buf_byte(out, byte);
        else {
            char code[3] = {'%', hex[byte >> 4], hex[byte & 15]};
            buf_add(out, code, sizeof code);
        }
    }
}

static size_t forms_of(struct arena *arena, struct str value, struct str *out)
{
    struct buf form = BUF_INIT;
    size_t n = 0;
    out[n++] = arena_str(arena, value);
    for (unsigned i = 0; i < 6; i++) {
        buf_clear(&form);
        add_base64(value, i / 2, i % 2, &form);
        add_form(arena, &form, out, &n);
    }
    for (unsigned i = 0; i < 2; i++) {
        buf_clear(&form);
        add_percent_encoded(value, i ? "0123456789ABCDEF" : "0123456789abcdef", &form);
        add_form(arena, &form, out, &n);
    }
    buf_release(&form);
    return n;
}

size_t secret_forms(struct arena *arena, struct str value, struct str out[FORMS_MOST])
{
    size_t n = forms_of(arena, value, out);
    struct str bare = value;
    while (bare.len && bare.ptr[bare.len - 1] == '\n')
        bare.len--;
    if (bare.len < value.len && bare.len >= LIMIT_SECRET_LEAST)
        n += forms_of(arena, bare, out + n);
    return n;
}
