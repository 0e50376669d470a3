/* SPDX-License-Identifier: MIT */
#include "base/shell_word.h"

#include <stdio.h>

static bool is_plain(struct str text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_@%+=:,./-";
    size_t n = 0;
    while (n < text.len && memchr(plain, text.ptr[n], sizeof plain - 1))
        n++;
    return text.len && n == text.len;
}

void buf_shell_word(struct buf *buf, struct str text)
{
    if (is_plain(text)) {
        buf_str(buf, text);
        return;
    }
    buf_byte(buf, '\'');
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\'')
            buf_text(buf, "'\\''");
        else
            buf_byte(buf, (uint8_t)text.ptr[i]);
    buf_byte(buf, '\'');
}

const char *shell_word_in(char *out, size_t size, struct str text)
{
    size_t used = 0;
    if (SHELL_WORD_ROOM(text.len) > size)
        return "NAME";
    const char *quote = is_plain(text) ? "" : "'";
    used += (size_t)snprintf(out, size, "%s", quote);
    for (size_t i = 0; i < text.len; i++)
        used += text.ptr[i] == '\''
                    ? (size_t)snprintf(out + used, size - used, "'\\''")
                    : (size_t)snprintf(out + used, size - used, "%c", text.ptr[i]);
    snprintf(out + used, size - used, "%s", quote);
    return out;
}
