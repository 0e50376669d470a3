/* SPDX-License-Identifier: MIT */
#include "base/identifier.h"

/* All bytes are lower-case letters, digits, '_', or one of `extra`, and upper-case
 * letters if `upper`. */
static bool made_of(struct str text, bool upper, const char *extra)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
                    (upper && c >= 'A' && c <= 'Z') || (c && strchr(extra, c));
        if (!fine)
            return false;
    }
    return text.len > 0;
}

bool str_is_id(struct str text)
{
    return made_of(text, true, ".-") && text.ptr[0] != '.' && text.ptr[0] != '-';
}

bool str_is_key(struct str text)
{
    return made_of(text, false, "") && !(text.ptr[0] >= '0' && text.ptr[0] <= '9');
}

bool str_is_env_name(struct str text)
{
    return made_of(text, true, "") && !(text.ptr[0] >= '0' && text.ptr[0] <= '9');
}
