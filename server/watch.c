/* SPDX-License-Identifier: MIT */
/* What happened between a subscription and the first word of the command is not known:
 * so what was subscribed to by then is told once. */
#include "server/server.h"
#include "server/watch_int.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define RETRY_MS 500
#define RETRY_MOST_MS 10000
#define LINE_BYTES ((size_t)1 << 20)

void watch_init(struct watch *watch, struct server *server)
{
    *watch = (struct watch){.server = server, .child = CHILD_NONE};
}

/* ---- What has changed ---- */

/* Of checkpoints, by their ids or as many as were too many. */
static bool is_deletion(const struct value *event)
{
    const char *type = value_text(value_member(event, "type"));
    const char *verb = value_text(value_member(event, "verb"));
    return (type && (strcmp(type, "checkpoint_deleted") == 0 ||
                     strcmp(type, "checkpoints_pruned") == 0)) ||
           (verb && strcmp(verb, "pruned") == 0);
}

static bool changes_list(const struct value *event)
{
    static const char *const verbs[] = {"checkpoint", "deleted", "started",
                                        "forked",     "pruned",  "imported"};
    const char *type = value_text(value_member(event, "type"));
    const char *verb = value_text(value_member(event, "verb"));
    if (is_deletion(event) || (type && strcmp(type, "run_started") == 0))
        return true;
    for (size_t i = 0; verb && i < sizeof verbs / sizeof verbs[0]; i++)
        if (strcmp(verbs[i], verb) == 0)
            return true;
    return false;
}

static void take_event(struct watch *watch, const struct value *event)
{
    const char *task = value_text(value_member(event, "task"));
    const char *session = value_text(value_member(event, "session_name"));
    int64_t number;
    char text[24];
    if (value_integer(value_member(event, "run"), &number)) {
        snprintf(text, sizeof text, "%lld", (long long)number);
        watch_mark(watch, resource_place("run", text, NULL));
        if (task)
            watch_mark(watch, resource_place("log", text, task));
    }
    if (value_integer(value_member(event, "session"), &number)) {
        snprintf(text, sizeof text, "%lld", (long long)number);
        watch_mark(watch, resource_place("session", text, NULL));
    }
    if (session)
        watch_mark(watch, resource_place("session", session, NULL));
    /* It is there unchanged, or gone; which ones went is not always told. */
    if (is_deletion(event))
        watch_mark_kind(watch, "cairn://checkpoint/");
    if (changes_list(event))
        watch_mark_lists(watch);
}

/* A position ends what was printed together. */
static void take_line(struct watch *watch, const char *line, size_t n)
{
    char why[160];
    struct value *event = value_parse(line, n, why);
    const char *position = value_text(value_member(event, "position"));
    if (position) {
        if (watch->position.n == 0)
            watch_mark_all(watch);
        text_cut(&watch->position, watch->position.n);
        text_put(&watch->position, position);
        watch->wait_ms = 0;
        watch_tell(watch);
    } else
        take_event(watch, event);
    value_free(event);
}

/* ---- The command ---- */

static bool is_wanted(const struct watch *watch)
{
    return !watch->ending && (watch->subscriptions || watch->listeners);
}

static bool runs(const struct watch *watch)
{
    return watch->child.pidfd >= 0;
}

static void start(struct watch *watch)
{
    const struct serve_options *options = watch->server->options;
    struct arguments words = {.n = 0};
    struct text word = {NULL, 0, 0, false};
    struct child_start how = {.has_input = false};
    arguments_add(&words, "cairn");
    if (options->store)
        text_format(&word, "--store=%s", options->store);
    if (word.n > 0)
        arguments_add(&words, word.bytes);
    text_cut(&word, word.n);
    text_format(&word, "--position=%s",
                watch->position.n > 0 ? watch->position.bytes : "now");
    arguments_add(&words, "events");
    arguments_add(&words, "--follow");
    arguments_add(&words, "--json");
    arguments_add(&words, text_get(&word));
    how.argv = words.argv;
    watch->wait_ms = watch->wait_ms == 0              ? RETRY_MS
                     : watch->wait_ms < RETRY_MOST_MS ? 2 * watch->wait_ms
                                                      : RETRY_MOST_MS;
    watch->retry_ms = clock_ms() + watch->wait_ms;
    if (word.failed || words.failed || child_start(&watch->child, &how) != 0)
        watch->child = CHILD_NONE; /* it is tried again */
    arguments_release(&words);
    text_release(&word);
}

static void stop(struct watch *watch)
{
    if (!runs(watch))
        return;
    child_signal(&watch->child, SIGKILL); /* it only reads */
    child_reap(&watch->child);
    text_release(&watch->out);
    text_release(&watch->position);
}

static size_t add_fd(struct pollfd *fds, size_t n, int fd)
{
    if (fd < 0)
        return n;
    fds[n] = (struct pollfd){fd, POLLIN, 0};
    return n + 1;
}

size_t watch_poll(struct watch *watch, struct pollfd *fds, int64_t *until_ms)
{
    size_t n;
    if (!is_wanted(watch)) {
        stop(watch);
        return 0;
    }
    if (!runs(watch) && clock_ms() >= watch->retry_ms)
        start(watch);
    if (!runs(watch) && watch->retry_ms < *until_ms)
        *until_ms = watch->retry_ms;
    n = add_fd(fds, 0, watch->child.out);
    n = add_fd(fds, n, watch->child.err);
    return add_fd(fds, n, watch->child.pidfd);
}

static void take_lines(struct watch *watch)
{
    size_t done = 0;
    for (const char *at = text_get(&watch->out), *end; (end = strchr(at, '\n'));
         at = end + 1) {
        take_line(watch, at, (size_t)(end - at));
        done = (size_t)(end - watch->out.bytes) + 1;
    }
    text_cut(&watch->out, done);
}

static void drain(int *fd, struct text *text)
{
    char bytes[16384];
    ssize_t n;
    for (int round = 0; round < 16 && *fd >= 0; round++) {
        n = read(*fd, bytes, sizeof bytes);
        if (n < 0)
            return;
        if (n == 0) {
            close(*fd);
            *fd = -1;
            return;
        }
        if (text)
            text_add(text, bytes, (size_t)n);
    }
}

/* A line so long is no event. What it would have told is not known. */
static void drop_endless_line(struct watch *watch)
{
    if (watch->out.n <= LINE_BYTES)
        return;
    text_cut(&watch->out, watch->out.n);
    watch_mark_all(watch);
}

void watch_serve(struct watch *watch)
{
    struct pollfd fd = {watch->child.pidfd, POLLIN, 0};
    bool ended = runs(watch) && poll(&fd, 1, 0) == 1;
    if (!runs(watch))
        return;
    drain(&watch->child.out, &watch->out);
    drain(&watch->child.err, NULL);
    take_lines(watch);
    drop_endless_line(watch);
    watch->server->failed =
        watch->server->failed || watch->out.failed || watch->position.failed;
    if (!ended)
        return;
    if (child_reap(&watch->child) != 0)
        text_release(&watch->position); /* it may be of a store that is gone */
    text_release(&watch->out);
}

void watch_end(struct watch *watch)
{
    watch->ending = true;
    stop(watch);
    watch_end_all(watch);
    text_release(&watch->position);
}
