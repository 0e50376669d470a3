/* SPDX-License-Identifier: MIT */
#include "base/notify.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Writing to a file that stays open is a change, too, and so is truncate(2). */
#define ENTRIES                                                                       \
    (IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVED_FROM | \
     IN_MOVED_TO)
#define PLACE (IN_DELETE_SELF | IN_MOVE_SELF)

int notify_open(void)
{
    return inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
}

/* By the descriptor, for a path may lead elsewhere by now. */
int notify_add(int notify, int dir, enum notify_kind kind)
{
    uint32_t mask = PLACE | (kind == NOTIFY_ENTRIES ? ENTRIES : 0);
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", dir);
    return inotify_add_watch(notify, path,
                             mask | IN_ONLYDIR | IN_EXCL_UNLINK | IN_MASK_ADD);
}

void notify_remove(int notify, int watch)
{
    (void)inotify_rm_watch(notify, watch); /* the kernel may have done so already */
}

static unsigned what_of(uint32_t mask)
{
    static const struct {
        uint32_t mask;
        unsigned what;
    } table[] = {
        {IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB, NOTIFY_CHANGED},
        {IN_CREATE | IN_MOVED_TO, NOTIFY_APPEARED},
        {IN_DELETE, NOTIFY_VANISHED},
        {IN_MOVED_FROM, NOTIFY_LEFT},
        {IN_ISDIR, NOTIFY_DIRECTORY},
        {PLACE | IN_UNMOUNT, NOTIFY_SELF},
        {IN_IGNORED, NOTIFY_ENDED},
        {IN_Q_OVERFLOW, NOTIFY_LOST},
    };
    unsigned what = 0;
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (mask & table[i].mask)
            what |= table[i].what;
    return what;
}

int notify_read(int notify, int (*each)(void *, const struct notify_event *),
                void *context)
{
    enum { BYTES = 16 << 10, READS_MOST = 256 }; /* the rest is there the next time */
    _Alignas(struct inotify_event) char room[BYTES];
    int rc = 0;
    for (int i = 0; i < READS_MOST && !rc; i++) {
        ssize_t n = read(notify, room, sizeof room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 || errno == EAGAIN ? 0 : errno;
        const char *at = room;
        while (at < room + n && !rc) {
            struct inotify_event head;
            memcpy(&head, at, sizeof head);
            const char *name = at + sizeof head;
            struct notify_event event = {
                head.wd, what_of(head.mask), {name, head.len ? strlen(name) : 0}};
            at = name + head.len;
            rc = each(context, &event);
        }
    }
    return rc;
}

unsigned long notify_watches_most(void)
{
    unsigned long most = 0;
    FILE *file = fopen("/proc/sys/fs/inotify/max_user_watches", "re");
    if (!file)
        return 0;
    if (fscanf(file, "%lu", &most) != 1)
        most = 0;
    fclose(file);
    return most;
}
