/* SPDX-License-Identifier: MIT */
#include "server/stop.h"

#include "server/call.h"

#include <errno.h>
#include <signal.h>

static volatile sig_atomic_t wanted;
static sigset_t while_waiting;

static void on_signal(int number)
{
    (void)number;
    wanted = 1;
}

void stop_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t blocked;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaddset(&blocked, numbers[i]);
        sigaction(numbers[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &blocked, &while_waiting);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigdelset(&while_waiting, numbers[i]);
}

bool stop_wanted(void)
{
    return wanted != 0;
}

bool stop_poll(struct pollfd *fds, size_t n, int64_t until_ms)
{
    int64_t now = clock_ms();
    int64_t ms = until_ms > now ? until_ms - now : 0;
    struct timespec wait = {ms / 1000, (long)(ms % 1000) * 1000000};
    return ppoll(fds, (nfds_t)n, until_ms == INT64_MAX ? NULL : &wait,
                 &while_waiting) >= 0 ||
           errno == EINTR;
}
