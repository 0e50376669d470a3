/* SPDX-License-Identifier: MIT */
/* Two buffers: the run fills one while the thread writes the other. The thread
 * allocates and frees nothing, and blocks all signals, so that handlers run where they
 * did. */
#include "cli/output_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROOM ((size_t)2 << 20) /* of each buffer */
#define STACK_BYTES ((size_t)64 << 10)

/* What is written to one descriptor at a time; its bytes follow. */
struct part {
    int fd;
    size_t n;
};
struct buffer {
    char *bytes;
    size_t used, capacity;
    size_t last; /* where the last part begins */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled, written;
    pthread_t thread;
    struct buffer filling, writing; /* the second is of the thread, but for its size */
    uint64_t dropped;               /* lines */
    int64_t hurry_until_ns; /* until then the run does not look after the reader */
    bool dropping, ending;
    int error; /* of stdout */
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

bool output_queue_needed(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 &&
           (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(fd));
}

/* Of a descriptor that somebody made non-blocking. */
static void wait_for_room(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && flags & O_NONBLOCK)
        (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
}

static int write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, bytes, n);
        if (done < 0 && errno == EAGAIN)
            wait_for_room(fd);
        else if (done < 0 && errno != EINTR)
            return errno;
        if (done < 0)
            continue;
        bytes += done;
        n -= (size_t)done;
    }
    return 0;
}

/* Only this thread sets the error. A later message on stderr may be written again. */
static void write_parts(const struct buffer *buffer)
{
    struct part part;
    for (size_t at = 0; at < buffer->used; at += sizeof part + part.n) {
        memcpy(&part, buffer->bytes + at, sizeof part);
        if (part.fd == STDOUT_FILENO && queue.error != 0)
            continue;
        int failed = write_all(part.fd, buffer->bytes + at + sizeof part, part.n);
        if (failed != 0 && part.fd == STDOUT_FILENO) {
            pthread_mutex_lock(&queue.lock);
            queue.error = failed;
            pthread_mutex_unlock(&queue.lock);
        }
    }
}

static void *write_queue(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&queue.lock);
    for (;;) {
        while (queue.filling.used == 0 && !queue.ending)
            pthread_cond_wait(&queue.filled, &queue.lock);
        if (queue.filling.used == 0)
            break;
        struct buffer empty = queue.writing;
        queue.writing = queue.filling;
        queue.filling = empty;
        pthread_mutex_unlock(&queue.lock);
        write_parts(&queue.writing);
        pthread_mutex_lock(&queue.lock);
        queue.writing.used = 0;
        pthread_cond_signal(&queue.written);
    }
    pthread_mutex_unlock(&queue.lock);
    return NULL;
}

/* All signals are for the thread that runs the workflow, except the one that stops a
 * background job that prints on a terminal which forbids it: there it must take effect.
 */
static int create_thread(void)
{
    pthread_attr_t attributes;
    sigset_t most, old;
    int failed = pthread_attr_init(&attributes);
    if (failed != 0)
        return failed;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&most);
    sigdelset(&most, SIGTTOU);
    pthread_sigmask(SIG_SETMASK, &most, &old);
    failed = pthread_create(&queue.thread, &attributes, write_queue, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return failed;
}

bool output_queue_start(void)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int failed = pthread_cond_init(&queue.written, &attributes);
    pthread_condattr_destroy(&attributes);
    queue.ending = false;
    return failed == 0 && create_thread() == 0;
}

/* Room for so many more bytes in the buffer that is filled. */
static bool make_room(struct buffer *buffer, size_t n)
{
    size_t capacity = buffer->capacity ? buffer->capacity : 4096;
    while (capacity < buffer->used + n)
        capacity *= 2;
    if (capacity == buffer->capacity)
        return true;
    char *bytes = realloc(buffer->bytes, capacity);
    if (!bytes)
        return false;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

static bool append(struct buffer *buffer, int fd, const char *bytes, size_t n)
{
    struct part part = {.fd = fd};
    if (!make_room(buffer, sizeof part + n))
        return false;
    if (buffer->used > 0)
        memcpy(&part, buffer->bytes + buffer->last, sizeof part);
    if (buffer->used == 0 || part.fd != fd) {
        part = (struct part){.fd = fd};
        buffer->last = buffer->used;
        buffer->used += sizeof part;
    }
    part.n += n;
    memcpy(buffer->bytes + buffer->last, &part, sizeof part);
    memcpy(buffer->bytes + buffer->used, bytes, n);
    buffer->used += n;
    return true;
}

static uint64_t count_lines(const char *bytes, size_t n)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += bytes[i] == '\n';
    return lines;
}

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool all_written(void)
{
    return queue.filling.used == 0 && queue.writing.used == 0;
}

/* A reader that reads has a line, usually within microseconds, before the run goes on:
 * so a kill of cairn loses none. One that does not is given a moment, and then none for
 * twenty times as long as it took. */
static void wait_briefly(void)
{
    const int64_t moment_ns = 50000000, noticed_ns = 1000000;
    int64_t start = monotonic_ns(), end = start + moment_ns;
    struct timespec until = {.tv_sec = (time_t)(end / 1000000000),
                             .tv_nsec = (long)(end % 1000000000)};
    if (start < queue.hurry_until_ns)
        return;
    while (!all_written() &&
           pthread_cond_timedwait(&queue.written, &queue.lock, &until) == 0)
        continue;
    end = monotonic_ns();
    if (end - start > noticed_ns)
        queue.hurry_until_ns = end + 20 * (end - start);
}

static void put(int fd, const char *bytes, size_t n, bool must)
{
    pthread_mutex_lock(&queue.lock);
    /* One that is longer than the room waits alone: it is in memory anyway. */
    bool room = queue.filling.used == 0 || queue.filling.used + n <= ROOM;
    room = room && !queue.dropping;
    bool kept = (must || room) && append(&queue.filling, fd, bytes, n);
    if (!kept && !must) {
        queue.dropping = true;
        queue.dropped += count_lines(bytes, n);
    }
    pthread_cond_signal(&queue.filled);
    if (kept)
        wait_briefly();
    pthread_mutex_unlock(&queue.lock);
}

void output_queue_put(int fd, const char *lines, size_t n)
{
    put(fd, lines, n, false);
}

void output_queue_must(int fd, const char *bytes, size_t n)
{
    put(fd, bytes, n, true);
}

bool output_queue_waits(void)
{
    pthread_mutex_lock(&queue.lock);
    bool waits = !all_written();
    pthread_mutex_unlock(&queue.lock);
    return waits;
}

uint64_t output_queue_dropped(void)
{
    uint64_t dropped = 0;
    pthread_mutex_lock(&queue.lock);
    if (queue.dropping && queue.filling.used <= ROOM / 2) {
        dropped = queue.dropped;
        queue.dropped = 0;
        queue.dropping = false;
    }
    pthread_mutex_unlock(&queue.lock);
    return dropped;
}

void output_queue_end(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.ending = true;
    pthread_cond_signal(&queue.filled);
    pthread_mutex_unlock(&queue.lock);
    pthread_join(queue.thread, NULL);
    wait_for_room(STDOUT_FILENO); /* for the result, which comes without the queue */
    wait_for_room(STDERR_FILENO);
    pthread_cond_destroy(&queue.written);
    free(queue.filling.bytes);
    free(queue.writing.bytes);
    queue.filling = queue.writing = (struct buffer){0};
}

int output_queue_error(void)
{
    pthread_mutex_lock(&queue.lock);
    int error = queue.error;
    pthread_mutex_unlock(&queue.lock);
    return error;
}
