/* SPDX-License-Identifier: MIT */
/* Who wants to be told when a resource changes, and what each is told. */
#include "server/server.h"
#include "server/watch_int.h"

#include <string.h>

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
    struct text result = {NULL, 0, 0, false};
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

static void put_subscription_id(struct text *text, const struct listener *listener)
{
    text_key(text, "_meta");
    text_open(text, '{');
    text_key(text, META "subscriptionId");
    text_raw(text, listener->reply.id, strlen(listener->reply.id));
    text_close(text, '}');
}

static void acknowledge(struct watch *watch, const struct listener *listener)
{
    struct text notice = {NULL, 0, 0, false};
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

void watch_mark(struct watch *watch, char *place)
{
    for (struct subscription *at = watch->subscriptions; place && at; at = at->next)
        at->dirty = at->dirty || strcmp(at->place, place) == 0;
    free(place);
}

void watch_mark_kind(struct watch *watch, const char *beginning)
{
    for (struct subscription *at = watch->subscriptions; at; at = at->next)
        at->dirty = at->dirty || strncmp(at->place, beginning, strlen(beginning)) == 0;
}

void watch_mark_lists(struct watch *watch)
{
    for (struct listener *at = watch->listeners; at; at = at->next)
        at->list_dirty = true;
}

void watch_mark_all(struct watch *watch)
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
    struct text notice = {NULL, 0, 0, false};
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
    struct text notice = {NULL, 0, 0, false};
    listener->list_dirty = false;
    if (!listener->wants_list)
        return;
    notice_begin(&notice, "notifications/resources/list_changed");
    put_subscription_id(&notice, listener);
    notice_send(watch->server, listener->reply.outlet, &notice);
}

void watch_tell(struct watch *watch)
{
    for (struct subscription *at = watch->subscriptions; at; at = at->next)
        if (at->dirty)
            tell_subscription(watch, at);
    for (struct listener *at = watch->listeners; at; at = at->next)
        if (at->list_dirty)
            tell_list(watch, at);
}

void watch_end_all(struct watch *watch)
{
    while (watch->listeners) {
        struct listener *listener = take_listener(watch, &watch->listeners);
        struct text result = {NULL, 0, 0, false};
        text_open(&result, '{');
        text_pair(&result, "resultType", "complete");
        put_subscription_id(&result, listener);
        server_result(watch->server, &listener->reply, &result);
        free(listener);
    }
    while (watch->subscriptions)
        drop_subscription(watch, &watch->subscriptions);
}
