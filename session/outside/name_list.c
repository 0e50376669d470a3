/* SPDX-License-Identifier: MIT */
#include "session/outside/name_list.h"

#include "base/utf8.h"

enum { LIST_BYTES = 4096 };

struct str next_name(struct str *list)
{
    size_t n = 0;
    while (n < list->len && list->ptr[n] != ',')
        n++;
    struct str name = {list->ptr, n};
    size_t used = n < list->len ? n + 1 : n;
    *list = (struct str){list->ptr + used, list->len - used};
    return name;
}

static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return name.len > 0;
}

static bool is_in_list(struct str list, struct str name)
{
    while (list.len)
        if (str_equal(next_name(&list), name))
            return true;
    return false;
}

bool is_name_list(struct str list)
{
    struct str rest = list;
    if (list.len > LIST_BYTES || (list.len && list.ptr[list.len - 1] == ','))
        return false;
    while (rest.len) {
        struct str name = next_name(&rest);
        if (!is_name(name) || is_in_list(rest, name))
            return false;
    }
    return true;
}

bool is_pattern(struct str name)
{
    return name.len > 1 && name.ptr[name.len - 1] == '*';
}

bool is_pattern_list(struct str names)
{
    struct buf plain = BUF_INIT;
    for (struct str rest = names; rest.len && !plain.failed;) {
        struct str name = next_name(&rest);
        name.len -= is_pattern(name);
        buf_str(&plain, name);
        if (rest.len)
            buf_byte(&plain, ',');
    }
    bool good = names.len <= LIST_BYTES && !plain.failed &&
                (!names.len || names.ptr[names.len - 1] != ',') &&
                is_name_list(buf_view(&plain));
    buf_release(&plain);
    return good;
}

/* May it be stored, and be printed? */
static bool is_text(struct str text, size_t most)
{
    const char *at = text.ptr, *end = at + text.len;
    uint32_t code = 0;
    if (!text.len || text.len > most)
        return false;
    while (at < end) {
        size_t n = utf8_next(at, end, &code);
        if (!n || code < 0x20 || code == 0x7f)
            return false;
        at += n;
    }
    return true;
}

bool is_text_list(struct str list, size_t most)
{
    struct str rest = list;
    if (list.len > LIST_BYTES || (list.len && list.ptr[list.len - 1] == ','))
        return false;
    while (rest.len) {
        struct str text = next_name(&rest);
        if (!is_text(text, most) || is_in_list(rest, text))
            return false;
    }
    return true;
}
