/* SPDX-License-Identifier: MIT */
/* What an import leaves out, and says so. */
#include "session/transfer/transfer_int.h"

#include <stdarg.h>
#include <stdio.h>

void import_refuse(struct importing *im, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    im->result.refused++;
    if (im->calls && im->calls->refused)
        im->calls->refused(im->calls->context, text);
}

int import_incomplete(struct importing *im, const char *type)
{
    import_refuse(im, "line %llu: this %s is not complete",
                  (unsigned long long)im->line, type);
    return 0;
}

int import_left_out(struct importing *im, int rc, const char *what,
                    const struct cairn_error *why)
{
    if (rc != CAIRN_EDAMAGED && rc != CAIRN_ENOTFOUND && rc != CAIRN_ENEWER &&
        rc != CAIRN_ELIMIT)
        return why->text[0] ? error_set(im->error, rc, "%s", why->text) : rc;
    import_refuse(im, "line %llu: %s: %s", (unsigned long long)im->line, what,
                  why->text);
    return 0;
}
