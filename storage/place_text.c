/* SPDX-License-Identifier: MIT */
/* The text of the setting `place`: IDENTITY DEVICE INODE PATH (store_place.c says what
 * for). */
#include "base/clock.h"
#include "storage/store_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool place_parse(const char *text, struct place *out)
{
    int at = 0;
    memset(out, 0, sizeof *out);
    if (sscanf(text, "%32[0-9a-f] %" SCNu64 " %" SCNu64 " %n", out->identity,
               &out->device, &out->inode, &at) != 3 ||
        strlen(out->identity) != sizeof out->identity - 1 || text[at] != '/' ||
        strlen(text + at) >= sizeof out->path)
        return false;
    snprintf(out->path, sizeof out->path, "%s", text + at);
    return true;
}

int place_make_identity(char identity[STORE_IDENTITY], struct cairn_error *error)
{
    return random_hex(identity, (STORE_IDENTITY - 1) / 2, error);
}

int place_format(char text[STORE_PLACE_TEXT], const char *identity, const char *dir,
                 const struct stat *here, struct cairn_error *error)
{
    int n = snprintf(text, STORE_PLACE_TEXT, "%s %" PRIu64 " %" PRIu64 " %s", identity,
                     (uint64_t)here->st_dev, (uint64_t)here->st_ino, dir);
    return n > 0 && n < STORE_PLACE_TEXT
               ? 0
               : error_set(error, CAIRN_ELIMIT, "the path %s is too long", dir);
}

int place_first(const char *dir, char text[STORE_PLACE_TEXT], struct cairn_error *error)
{
    struct place place;
    struct stat here;
    if (stat(dir, &here) < 0)
        return error_sys(error, errno, "cannot look at %s", dir);
    return place_make_identity(place.identity, error)
               ?: place_format(text, place.identity, dir, &here, error);
}
