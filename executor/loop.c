/* SPDX-License-Identifier: MIT */
/* What the loop waits for: its descriptors and its timers. */
#include "executor/engine.h"

#include <errno.h>
#include <sys/epoll.h>

int loop_watch(struct engine *e, int fd, uint64_t what, struct cairn_error *error)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = what};
    if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return error_sys(error, errno, "cannot watch a descriptor");
    return 0;
}

int loop_watch_job(struct engine *e, struct job *job, struct cairn_error *error)
{
    int rc = loop_watch(e, job->pidfd, job_watch(e, job), error);
    job->watching = !rc;
    return rc;
}
