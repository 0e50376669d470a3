/* SPDX-License-Identifier: MIT */
#include "cli/sessions/signals.h"

#include <signal.h>

static const int caught[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP};
#define CAUGHT (sizeof caught / sizeof caught[0])

/* A signal handler gets no context. */
static volatile sig_atomic_t received, keys_are_shared;

/* The kernel itself sends what a key means, and the end of a terminal, to the whole
 * group. */
static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (signal != SIGTSTP && (!keys_are_shared || info->si_code <= 0))
        received = signal;
}

static void suspend(void *context)
{
    (void)context;
    (void)raise(SIGSTOP);
}

void signals_catch(struct cairn_command_host *host, bool shared)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO}, old;
    sigemptyset(&action.sa_mask);
    keys_are_shared = shared;
    for (size_t i = 0; i < CAUGHT; i++) {
        if (caught[i] == SIGTSTP && !shared)
            continue;
        if (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(caught[i], &action, NULL);
    }
    *host = (struct cairn_command_host){.signal = &received,
                                        .suspend = shared ? suspend : NULL};
}

void signals_release(void)
{
    struct sigaction old;
    for (size_t i = 0; i < CAUGHT; i++) {
        if (sigaction(caught[i], NULL, &old) == 0 && old.sa_sigaction == on_signal)
            signal(caught[i], SIG_DFL);
    }
}
