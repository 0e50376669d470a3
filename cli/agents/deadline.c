/* SPDX-License-Identifier: MIT */
#include "cli/agents/deadline.h"

#include "cairn.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_mutex_t mutex;
    uint64_t limit_ms;
    char event[128], store[4096];
} deadline = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Whoever should read stderr may be what is waited for. */
static void write_if_possible(const char *text)
{
    struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&fd, 1, 0) == 1 && (fd.revents & POLLOUT) &&
        write(STDERR_FILENO, text, strlen(text)) < 0)
        return;
}

static void *wait_for_it(void *unused)
{
    char text[512], line[600];
    struct timespec wait = {(time_t)(deadline.limit_ms / 1000),
                            (long)(deadline.limit_ms % 1000) * 1000000};
    (void)unused;
    while (nanosleep(&wait, &wait) != 0)
        continue;
    pthread_mutex_lock(&deadline.mutex);
    snprintf(
        text, sizeof text,
        "%s: gave up after %llu ms: if the store was not locked meanwhile, the "
        "first checkpoint takes longer: make it with `cairn checkpoint create MESSAGE`",
        deadline.event[0] != '\0' ? deadline.event : "the event on stdin",
        (unsigned long long)deadline.limit_ms);
    if (deadline.store[0] != '\0')
        (void)cairn_agent_note_failure(deadline.store, text, NULL);
    snprintf(line, sizeof line, "cairn: session hook: %s\n", text);
    write_if_possible(line);
    _exit(0);
}

bool deadline_start(uint64_t limit_ms)
{
    pthread_t thread;
    deadline.limit_ms = limit_ms;
    return pthread_create(&thread, NULL, wait_for_it, NULL) == 0 &&
           pthread_detach(thread) == 0;
}

void deadline_tell(const char *event, const char *store)
{
    pthread_mutex_lock(&deadline.mutex);
    snprintf(deadline.event, sizeof deadline.event, "%s", event);
    snprintf(deadline.store, sizeof deadline.store, "%s", store ? store : "");
    pthread_mutex_unlock(&deadline.mutex);
}
