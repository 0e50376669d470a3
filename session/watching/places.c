/* SPDX-License-Identifier: MIT */
#include "session/watching/places.h"

#include "snapshot/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int add_directory(struct places *places, const char *path, enum notify_kind kind)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int sys = notify_add(places->notify, fd, kind) < 0 ? errno : 0;
    close(fd);
    return sys;
}

/* It and those that lead to it. One that may not be read cannot be watched: that it was
 * moved is noticed once something else happens. */
static void add_way(struct places *places, const char *path)
{
    char *way = strdup(path);
    for (size_t n = way ? strlen(way) : 0; n > 1; n--) {
        if (n < strlen(path) && path[n] != '/')
            continue;
        way[n] = '\0';
        (void)add_directory(places, way, NOTIFY_PLACE);
    }
    free(way);
}

void places_open(struct places *places, const char *store, const char *root)
{
    *places = (struct places){.notify = notify_open(), .stored = true, .moved = true};
    places->sys =
        places->notify < 0 ? errno : add_directory(places, store, NOTIFY_ENTRIES);
    places->blind = places->sys != 0;
    if (places->notify >= 0 && places->blind) {
        close(places->notify);
        places->notify = -1;
    }
    if (places->blind)
        return;
    add_way(places, store);
    if (root)
        add_way(places, root);
}

static int see(void *context, const struct notify_event *event)
{
    static const char database[] = "cairn.db";
    struct places *places = context;
    if (event->name.len >= sizeof database - 1 &&
        memcmp(event->name.ptr, database, sizeof database - 1) == 0)
        places->stored = true;
    if (event->what & (NOTIFY_SELF | NOTIFY_ENDED | NOTIFY_LOST))
        places->stored = places->moved = true;
    return 0;
}

void places_read(struct places *places)
{
    if (places->blind || notify_read(places->notify, see, places) != 0)
        places->stored = places->moved = true;
}

void places_close(struct places *places)
{
    if (places->notify >= 0)
        close(places->notify);
    places->notify = -1;
}
