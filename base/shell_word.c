/* SPDX-License-Identifier: MIT */
#include "base/shell_word.h"

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
