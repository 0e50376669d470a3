/* SPDX-License-Identifier: MIT */
/* Notices: lines about a situation for people. They stand NUL-terminated, one after the
 * other, in situation.notices. */
#include "plan/situation_int.h"

#include <stdarg.h>
#include <stdio.h>

void situation_add_notice(struct situation *s, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_add(&s->notices, text, strlen(text) + 1);
}

const char *situation_notice(const struct situation *s, size_t i)
{
    const char *at = s->notices.data, *end = at;
    if (at)
        end += s->notices.size;
    while (at < end && i-- > 0)
        at += strlen(at) + 1;
    return at < end ? at : NULL;
}
