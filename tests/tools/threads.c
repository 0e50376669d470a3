/* SPDX-License-Identifier: MIT */
/* Puts threads into a store, with all that their records can have: the same each time.
 * With `show`, prints what it finds there.
 *
 *   threads STORE [show] */
#include "cairn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATES = 12, LARGE = 1500000 };

static struct cairn_error error;
static char large[LARGE];

static void good(int rc, const char *what)
{
    if (!rc)
        return;
    fprintf(stderr, "threads: %s: %s\n", what, error.text);
    exit(1);
}

static struct cairn_bytes text(const char *t)
{
    return (struct cairn_bytes){t, strlen(t)};
}

/* Each with a log that is new, one that is not, and a small number. */
static void put_states(struct cairn_store *store)
{
    char id[16], before[16] = "", log[3000];
    for (int i = 0; i < STATES; i++) {
        snprintf(id, sizeof id, "id-%02d", i);
        memset(log, 'a' + i, sizeof log);
        const struct cairn_thread_channel channels[] = {
            {.name = text("n"), .kind = text("json"), .value = text(id)},
            {.name = text("log"), .kind = text("raw"), .value = {log, sizeof log}},
            {.name = text("large"), .value = {large, LARGE}, .unchanged = i > 0}};
        const struct cairn_thread_state state = {.thread = text("golden"),
                                                 .space = text(i % 3 ? "" : "a|b:1"),
                                                 .id = text(id),
                                                 .parent = text(before),
                                                 .kind = text("json"),
                                                 .state = text("{\"v\":4}"),
                                                 .metadata_kind = text("json"),
                                                 .metadata = text("{\"step\":1}"),
                                                 .channels = channels,
                                                 .n_channels = 3};
        const struct cairn_thread_write write = {.task = text("task"),
                                                 .path = text("~p"),
                                                 .channel = text("n"),
                                                 .kind = text("json"),
                                                 .value = {log, 700},
                                                 .index = i % 2 ? -1 : 0};
        const struct cairn_thread_writes writes = {.thread = state.thread,
                                                   .space = state.space,
                                                   .id = state.id,
                                                   .writes = &write,
                                                   .n_writes = 1};
        good(cairn_thread_put(store, &state, 1, i % 4 ? &writes : NULL, i % 4 != 0,
                              &error),
             "put");
        memcpy(before, id, sizeof before);
    }
}

static void put_all(struct cairn_store *store)
{
    const struct cairn_thread_state bytes = {.thread = {"\0any\xff", 5},
                                             .space = {"\0", 1},
                                             .id = {"\xfe", 1},
                                             .state = {"\0\1\2", 3}};
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (char)(i / 1000);
    put_states(store);
    good(cairn_thread_put(store, &bytes, 1, NULL, 0, &error), "put");
    good(cairn_thread_copy(store, text("golden"), text("copy"), NULL, &error), "copy");
    good(cairn_thread_prune(store, text("golden"), 2, NULL, &error), "prune");
}

static void show_bytes(const char *what, struct cairn_bytes bytes)
{
    const unsigned char *at = bytes.bytes;
    unsigned long sum = 5381;
    for (size_t i = 0; i < bytes.length; i++)
        sum = (sum * 33 + at[i]) & 0xffffffff;
    printf(" %s=%zu:%08lx", what, bytes.length, sum);
}

static int show(void *context, const struct cairn_thread_found *found)
{
    const struct cairn_thread_state *s = found->state;
    (void)context;
    show_bytes("thread", s->thread);
    show_bytes("space", s->space);
    show_bytes("id", s->id);
    show_bytes("parent", s->parent);
    show_bytes("state", s->state);
    show_bytes("metadata", s->metadata);
    for (size_t i = 0; i < s->n_channels; i++) {
        show_bytes("channel", s->channels[i].name);
        show_bytes("kind", s->channels[i].kind);
        show_bytes("value", s->channels[i].value);
    }
    for (size_t i = 0; i < found->n_writes; i++) {
        show_bytes("task", found->writes[i].task);
        show_bytes("path", found->writes[i].path);
        show_bytes("written", found->writes[i].value);
        printf(" %d", (int)found->writes[i].index);
    }
    printf(" %s\n", found->checkpoint);
    return 0;
}

int main(int argc, char **argv)
{
    struct cairn_store *store;
    bool shows = argc == 3 && strcmp(argv[2], "show") == 0;
    if (argc < 2)
        return 2;
    struct cairn_store_options options = {
        .path = argv[1], .create = !shows, .read_only = shows};
    good(cairn_store_open(&store, &options, &error), "open");
    if (shows)
        good(cairn_thread_list(store, &(struct cairn_thread_filter){0}, show, NULL,
                               &error),
             "list");
    else
        put_all(store);
    cairn_store_close(store);
    return 0;
}
