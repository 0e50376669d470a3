/* SPDX-License-Identifier: MIT */
/* Filling and naming errors. Nothing here allocates: it must work when memory is out.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int code;
    const char *name;
    int exit_status;
} codes[] = {
    {CAIRN_OK, "ok", 0},
    {CAIRN_EUSAGE, "usage", 2},
    {CAIRN_EWORKFLOW, "invalid workflow", 3},
    {CAIRN_ECHANGED, "definition changed", 4},
    {CAIRN_EDAMAGED, "damaged", 5},
    {CAIRN_EOWNED, "owned by another run", 6},
    {CAIRN_ENOTFOUND, "not found", 10},
    {CAIRN_EBUSY, "busy", 75},
    {CAIRN_EIO, "system error", 75},
    {CAIRN_ENOMEM, "out of memory", 75},
    {CAIRN_ENEWER, "store from a newer release", 75},
    {CAIRN_ELIMIT, "limit exceeded", 3},
    {CAIRN_EAMBIGUOUS, "ambiguous id", 2},
    {CAIRN_ESTOPPED, "stopped", 7},
    {CAIRN_EEXISTS, "exists", 2},
};

static int fill_error(struct cairn_error *error, int code, int sys, const char *format,
                      va_list args)
{
    if (error) {
        error->code = code;
        error->sys = sys;
        vsnprintf(error->text, sizeof error->text, format, args);
    }
    return code;
}

int error_set(struct cairn_error *error, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill_error(error, code, 0, format, args);
    va_end(args);
    return code;
}

int error_sys(struct cairn_error *error, int sys, const char *format, ...)
{
    int code = sys == ENOMEM ? CAIRN_ENOMEM : CAIRN_EIO;
    va_list args;
    va_start(args, format);
    fill_error(error, code, sys, format, args);
    va_end(args);
    if (error) {
        char reason[128];
        size_t used = strlen(error->text);
        /* GNU strerror_r may return a constant instead of filling the buffer. */
        snprintf(error->text + used, sizeof error->text - used, ": %s",
                 strerror_r(sys, reason, sizeof reason));
    }
    return code;
}

void error_context(struct cairn_error *error, const char *format, ...)
{
    if (!error)
        return;
    char old[sizeof error->text];
    memcpy(old, error->text, sizeof old);
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    size_t used = strlen(error->text);
    snprintf(error->text + used, sizeof error->text - used, ": %s", old);
}

int error_nomem(struct cairn_error *error)
{
    return error_set(error, CAIRN_ENOMEM, "out of memory");
}

const char *cairn_code_name(int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].code == code)
            return codes[i].name;
    return "unknown error";
}

int cairn_exit_status(int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].code == code)
            return codes[i].exit_status;
    return 75;
}

const char *cairn_version(void)
{
    return CAIRN_VERSION_TEXT;
}
