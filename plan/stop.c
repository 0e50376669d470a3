/* SPDX-License-Identifier: MIT */
/* The stop handle: asks a run to stop, from a signal handler or another thread. */
#include "plan/stop.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

int cairn_stop_new(struct cairn_stop **out, struct cairn_error *error)
{
    struct cairn_stop *stop = calloc(1, sizeof *stop);
    if (!stop)
        return error_nomem(error);
    stop->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop->fd < 0) {
        free(stop);
        return error_sys(error, errno, "cannot make a stop handle");
    }
    *out = stop;
    return 0;
}

void cairn_stop_request(struct cairn_stop *stop)
{
    int saved = errno; /* this may run in a signal handler */
    uint64_t one = 1;
    stop->count++;
    ssize_t written = write(stop->fd, &one, sizeof one);
    (void)written; /* fails only when the counter is full, and then it is readable */
    errno = saved;
}

void cairn_stop_free(struct cairn_stop *stop)
{
    if (!stop)
        return;
    close(stop->fd);
    free(stop);
}
