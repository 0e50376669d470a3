/* SPDX-License-Identifier: MIT */
/* What happened between a subscription and the first word of the command is not known:
 * so what was subscribed to by then is told once. */
#include "server/watch.h"

#include "server/call.h"
#include "server/server.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define SUBSCRIPTIONS_MAX 1024 /* of all clients */
#define SUBSCRIPTIONS_EACH 256
#define LISTENERS_MAX 64

#define RETRY_MS 500
#define RETRY_MOST_MS 10000
#define LINE_BYTES ((size_t)1 << 20)

static void watch_mark_kind(struct watch *watch, const char *beginning);
static void watch_mark(struct watch *watch, char *place);
static void watch_mark_lists(struct watch *watch);
static void watch_tell(struct watch *watch);
static void watch_mark_all(struct watch *watch);
static void watch_end_all(struct watch *watch);

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
    for (size_t i = 0; verb && i < COUNT_OF(verbs); i++)
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
        if (watch->position.size == 0)
            watch_mark_all(watch);
        text_cut(&watch->position, watch->position.size);
        buf_text(&watch->position, position);
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
    struct buf word = BUF_INIT;
    struct child_start how = {.has_input = false};
    arguments_add(&words, "cairn");
    if (options->store)
        buf_format(&word, "--store=%s", options->store);
    if (word.size > 0)
        arguments_add(&words, word.data);
    text_cut(&word, word.size);
    buf_format(&word, "--position=%s",
               watch->position.size > 0 ? watch->position.data : "now");
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
    buf_release(&word);
}

static void stop(struct watch *watch)
{
    if (!runs(watch))
        return;
    child_signal(&watch->child, SIGKILL); /* it only reads */
    child_reap(&watch->child);
    buf_release(&watch->out);
    buf_release(&watch->position);
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
        done = (size_t)(end - watch->out.data) + 1;
    }
    text_cut(&watch->out, done);
}

static void drain(int *fd, struct buf *text)
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
            buf_add(text, bytes, (size_t)n);
    }
}

/* A line so long is no event. What it would have told is not known. */
static void drop_endless_line(struct watch *watch)
{
    if (watch->out.size <= LINE_BYTES)
        return;
    text_cut(&watch->out, watch->out.size);
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
        buf_release(&watch->position); /* it may be of a store that is gone */
    buf_release(&watch->out);
}

void watch_end(struct watch *watch)
{
    watch->ending = true;
    stop(watch);
    watch_end_all(watch);
    buf_release(&watch->position);
}

/* Who subscribed to changes of resources, and what each one gets. */

/* A request that listens. */
struct listener {
    struct listener *next;
    struct reply reply;
    bool wants_list, list_dirty;
};

struct subscription {
    struct subscription *next;
    struct client *client;
    struct listener *listener; /* NULL: it was asked for by itself */
    char *uri, *place;         /* as it was given, and in our way of writing */
    bool dirty;
};

/* ---- Subscriptions ---- */

static void drop_subscription(struct watch *watch, struct subscription **at)
{
    struct subscription *subscription = *at;
    *at = subscription->next;
    watch->n_subscriptions--;
    free(subscription->uri);
    free(subscription->place);
    free(subscription);
}

/* NULL: it was subscribed to. */
static const char *subscribe(struct watch *watch, struct client *client,
                             struct listener *listener, const char *uri)
{
    struct subscription *subscription;
    size_t n = 0;
    char *place = resource_canonical(uri);
    if (!place)
        return "there is no such resource to subscribe to: cairn://run/7, "
               "cairn://log/7/TASK (with the number of a run), cairn://checkpoint/ID "
               "or cairn://session/NAME";
    for (subscription = watch->subscriptions; subscription;
         subscription = subscription->next) {
        n += subscription->client == client;
        if (subscription->client == client && subscription->listener == listener &&
            strcmp(subscription->uri, uri) == 0) {
            free(place);
            return NULL;
        }
    }
    subscription = n < SUBSCRIPTIONS_EACH && watch->n_subscriptions < SUBSCRIPTIONS_MAX
                       ? calloc(1, sizeof *subscription)
                       : NULL;
    if (!subscription) {
        free(place);
        return "too many resources are subscribed to";
    }
    *subscription = (struct subscription){.next = watch->subscriptions,
                                          .client = client,
                                          .listener = listener,
                                          .uri = strdup(uri),
                                          .place = place};
    watch->subscriptions = subscription;
    watch->n_subscriptions++;
    if (subscription->uri)
        return NULL;
    drop_subscription(watch, &watch->subscriptions);
    return "out of memory";
}

static bool is_of(const struct subscription *subscription, const struct client *client,
                  const struct listener *listener, const char *uri)
{
    return subscription->client == client && subscription->listener == listener &&
           (!uri || strcmp(subscription->uri, uri) == 0);
}

static void unsubscribe(struct watch *watch, const struct client *client,
                        const struct listener *listener, const char *uri)
{
    for (struct subscription **at = &watch->subscriptions; *at;) {
        if (is_of(*at, client, listener, uri))
            drop_subscription(watch, at);
        else
            at = &(*at)->next;
    }
}

static void put_empty(struct server *server, struct request *request)
{
    struct buf result = BUF_INIT;
    reply_begin(server, &result, request->reply->modern);
    server_result(server, request->reply, &result);
}

static void change_subscription(struct server *server, struct request *request, bool on)
{
    const char *uri = value_text(value_member(request->params, "uri"));
    struct client *client = request->reply->client;
    const char *why = uri ? NULL : "\"uri\" is a string";
    if (uri && on)
        why = subscribe(&server->watch, client, NULL, uri);
    else if (uri)
        unsubscribe(&server->watch, client, NULL, uri);
    if (why)
        server_error(server, request->reply, ERROR_PARAMS, why, NULL);
    else
        put_empty(server, request);
}

void resources_subscribe(struct server *server, struct request *request)
{
    change_subscription(server, request, true);
}

void resources_unsubscribe(struct server *server, struct request *request)
{
    change_subscription(server, request, false);
}

/* ---- Listening (2026-07-28) ---- */

static void put_subscription_id(struct buf *text, const struct listener *listener)
{
    text_key(text, "_meta");
    text_open(text, '{');
    text_key(text, META "subscriptionId");
    text_raw(text, listener->reply.id, strlen(listener->reply.id));
    text_close(text, '}');
}

static void acknowledge(struct watch *watch, const struct listener *listener)
{
    struct buf notice = BUF_INIT;
    notice_begin(&notice, "notifications/subscriptions/acknowledged");
    put_subscription_id(&notice, listener);
    text_key(&notice, "notifications");
    text_open(&notice, '{');
    if (listener->wants_list) {
        text_key(&notice, "resourcesListChanged");
        text_bool(&notice, true);
    }
    text_key(&notice, "resourceSubscriptions");
    text_open(&notice, '[');
    for (const struct subscription *at = watch->subscriptions; at; at = at->next)
        if (at->listener == listener)
            text_string(&notice, at->uri);
    text_close(&notice, ']');
    text_close(&notice, '}');
    notice_send(watch->server, listener->reply.outlet, &notice);
}

static const char *take_wishes(struct watch *watch, struct listener *listener,
                               const struct value *wishes)
{
    const struct value *uris = value_member(wishes, "resourceSubscriptions");
    if (value_kind(wishes) != VALUE_OBJECT || (uris && value_kind(uris) != VALUE_ARRAY))
        return "\"notifications\" is an object, \"resourceSubscriptions\" in it a list";
    listener->wants_list = value_true(value_member(wishes, "resourcesListChanged"));
    for (size_t i = 0; i < value_count(uris); i++) {
        const char *uri = value_text(value_at(uris, i));
        const char *why = uri ? subscribe(watch, listener->reply.client, listener, uri)
                              : "\"resourceSubscriptions\" is a list of addresses";
        if (why)
            return why;
    }
    return NULL;
}

void subscriptions_listen(struct server *server, struct request *request)
{
    struct watch *watch = &server->watch;
    struct listener *listener =
        watch->n_listeners < LISTENERS_MAX ? calloc(1, sizeof *listener) : NULL;
    const char *why;
    if (!listener) {
        server_error(server, request->reply, ERROR_BUSY, "too many listen", NULL);
        return;
    }
    listener->reply = *request->reply;
    *request->reply = (struct reply){.modern = true};
    why = take_wishes(watch, listener, value_member(request->params, "notifications"));
    if (why) {
        unsubscribe(watch, listener->reply.client, listener, NULL);
        server_error(server, &listener->reply, ERROR_PARAMS, why, NULL);
        free(listener);
        return;
    }
    listener->next = watch->listeners;
    watch->listeners = listener;
    watch->n_listeners++;
    acknowledge(watch, listener);
}

static struct listener *take_listener(struct watch *watch, struct listener **at)
{
    struct listener *listener = *at;
    *at = listener->next;
    watch->n_listeners--;
    unsubscribe(watch, listener->reply.client, listener, NULL);
    return listener;
}

static bool listens(const struct listener *listener, const struct whose *whose)
{
    const struct reply *reply = &listener->reply;
    return (!whose->client || whose->client == reply->client) &&
           (!whose->outlet || whose->outlet == reply->outlet) &&
           (!whose->id || strcmp(whose->id, reply->id) == 0);
}

void watch_forget(struct watch *watch, const struct whose *whose)
{
    for (struct listener **at = &watch->listeners; *at;) {
        struct listener *listener = *at;
        if (!listens(listener, whose)) {
            at = &listener->next;
            continue;
        }
        take_listener(watch, at);
        server_drop(watch->server, &listener->reply);
        free(listener);
    }
    if (whose->client && !whose->id)
        unsubscribe(watch, whose->client, NULL, NULL);
}

/* ---- Marked, and told ---- */

/* This resource has changed: whoever subscribed to it is told by the next watch_tell.
 * Takes `place`, which may be NULL. */
static void watch_mark(struct watch *watch, char *place)
{
    for (struct subscription *at = watch->subscriptions; place && at; at = at->next)
        at->dirty = at->dirty || strcmp(at->place, place) == 0;
    free(place);
}

/* So have all whose address begins so. */
static void watch_mark_kind(struct watch *watch, const char *beginning)
{
    for (struct subscription *at = watch->subscriptions; at; at = at->next)
        at->dirty = at->dirty || strncmp(at->place, beginning, strlen(beginning)) == 0;
}

/* So has the list of resources; and everything. */
static void watch_mark_lists(struct watch *watch)
{
    for (struct listener *at = watch->listeners; at; at = at->next)
        at->list_dirty = true;
}

static void watch_mark_all(struct watch *watch)
{
    for (struct subscription *at = watch->subscriptions; at; at = at->next)
        at->dirty = true;
    watch_mark_lists(watch);
}

static void tell_subscription(struct watch *watch, struct subscription *subscription)
{
    struct listener *listener = subscription->listener;
    struct outlet *outlet =
        listener ? listener->reply.outlet : subscription->client->notices;
    struct buf notice = BUF_INIT;
    subscription->dirty = false;
    if (!outlet)
        return;
    notice_begin(&notice, "notifications/resources/updated");
    text_pair(&notice, "uri", subscription->uri);
    if (listener)
        put_subscription_id(&notice, listener);
    notice_send(watch->server, outlet, &notice);
}

static void tell_list(struct watch *watch, struct listener *listener)
{
    struct buf notice = BUF_INIT;
    listener->list_dirty = false;
    if (!listener->wants_list)
        return;
    notice_begin(&notice, "notifications/resources/list_changed");
    put_subscription_id(&notice, listener);
    notice_send(watch->server, listener->reply.outlet, &notice);
}

static void watch_tell(struct watch *watch)
{
    for (struct subscription *at = watch->subscriptions; at; at = at->next)
        if (at->dirty)
            tell_subscription(watch, at);
    for (struct listener *at = watch->listeners; at; at = at->next)
        if (at->list_dirty)
            tell_list(watch, at);
}

/* Drops all; who listens is answered that it is over. */
static void watch_end_all(struct watch *watch)
{
    while (watch->listeners) {
        struct listener *listener = take_listener(watch, &watch->listeners);
        struct buf result = BUF_INIT;
        text_open(&result, '{');
        text_pair(&result, "resultType", "complete");
        put_subscription_id(&result, listener);
        server_result(watch->server, &listener->reply, &result);
        free(listener);
    }
    while (watch->subscriptions)
        drop_subscription(watch, &watch->subscriptions);
}
