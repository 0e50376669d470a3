/* SPDX-License-Identifier: MIT */
/* The forms of a secret. base64 (RFC 4648) of a longer text that has the secret in it:
 * which characters come out depends on how many bytes stand before it, modulo 3. The
 * characters at both ends also hold bits of what stands beside it, so they are left
 * out. Percent encoding: RFC 3986, section 2; of forms (`+` for a blank): WHATWG URL,
 * section 5. JSON: as we write it. */
#include "secrets/redact_int.h"

#include "base/array.h"
#include "base/json_scan.h"
#include "base/limits.h"

#include <stdlib.h>

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
