/* SPDX-License-Identifier: MIT */
/* Namespaces as containers have them, held open by a process. */
#include "tests/prove/outside/outside.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool has_pids(enum box_kind kind)
{
    return kind == CONTAINER || kind == FOREIGN || kind == HALF;
}

static bool mounts(enum box_kind kind)
{
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return false;
    if (kind == CONTAINER)
        return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) ==
               0;
    return kind == FOREIGN || mount("none", "/proc", "tmpfs", MS_NOSUID, NULL) == 0;
}

/* The first process of the box: it collects what is left to it. */
static void hold(enum box_kind kind, int told)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!mounts(kind) || write(told, "x", 1) != 1)
        _exit(1);
    close(told);
    for (;;)
        if (waitpid(-1, NULL, 0) < 0)
            usleep(2000);
}

bool box_make(struct box *box, enum box_kind kind)
{
    int told[2], number[2];
    char byte;
    *box = (struct box){.kind = kind};
    if (kind == OUTSIDE)
        return true;
    if (pipe2(told, O_CLOEXEC) || pipe2(number, O_CLOEXEC))
        return false;
    box->relay = _Fork();
    if (box->relay == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (unshare(CLONE_NEWNS | (has_pids(kind) ? CLONE_NEWPID : 0)))
            _exit(1);
        pid_t first = _Fork();
        if (first == 0)
            hold(kind, told[1]);
        if (first < 0 || write(number[1], &first, sizeof first) != sizeof first)
            _exit(1);
        close(told[1]);
        while (waitpid(first, NULL, 0) < 0 && errno == EINTR)
            ;
        _exit(0);
    }
    close(told[1]);
    close(number[1]);
    bool good = box->relay > 0 &&
                read(number[0], &box->first, sizeof box->first) == sizeof box->first &&
                read(told[0], &byte, 1) == 1;
    close(told[0]);
    close(number[0]);
    if (!good)
        box_end(box);
    return good;
}

static bool join(const struct box *box, const char *which)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)box->first, which);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && setns(fd, 0) == 0;
    if (fd >= 0)
        close(fd);
    return good;
}

bool box_enter(const struct box *box)
{
    return box->kind == OUTSIDE ||
           ((!has_pids(box->kind) || join(box, "pid")) && join(box, "mnt"));
}

void box_end(struct box *box)
{
    if (box->first > 0)
        kill(box->first, SIGKILL);
    if (box->relay > 0)
        waitpid(box->relay, NULL, 0);
    box->first = box->relay = 0;
}

const char *box_name(const struct box *box)
{
    static const char *const names[] = {"outside", "container", "foreign /proc",
                                        "empty /proc", "container, empty /proc"};
    return names[box ? box->kind : OUTSIDE];
}
