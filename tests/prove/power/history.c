/* SPDX-License-Identifier: MIT */
/* The log's reader, and what it says had been promised at any moment. */
#include "base/os.h"
#include "power.h"

#include <stdlib.h>

struct event log_event(const struct log *log, uint32_t i, const char **payload)
{
    struct event event;
    memcpy(&event, log->bytes + log->at[i], sizeof event);
    if (payload)
        *payload = (const char *)log->bytes + log->at[i] + sizeof event;
    return event;
}

static int log_index(struct log *log)
{
    size_t at = 0;
    struct event event;
    while (at + sizeof event <= log->size) {
        memcpy(&event, log->bytes + at, sizeof event);
        if (log->count % 4096 == 0) {
            size_t *grown = realloc(log->at, (log->count + 4096) * sizeof *grown);
            if (!grown)
                return -1;
            log->at = grown;
        }
        log->at[log->count++] = at;
        at += sizeof event + event.size;
    }
    return at == log->size ? 0 : -1;
}

int log_load(struct log *log, const char *path)
{
    struct buf bytes = BUF_INIT;
    struct cairn_error error;
    *log = (struct log){0};
    if (os_read_file(path, 1u << 29, &bytes, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return -1;
    }
    log->bytes = (const uint8_t *)bytes.data;
    log->size = bytes.size;
    return log_index(log);
}

void log_release(struct log *log)
{
    free((void *)(uintptr_t)log->bytes);
    free(log->at);
}

int history_init(struct history *history, const struct log *log)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < log->count; i++) {
        struct event event = log_event(log, i, NULL);
        if (event.type == EV_DIGEST && event.a > last)
            last = event.a;
    }
    memset(history, 0, sizeof *history);
    history->n_digests = (uint32_t)last + 1;
    history->digests = calloc(history->n_digests, sizeof history->digests[0]);
    for (uint32_t i = 0; history->digests && i < log->count; i++) {
        const char *payload;
        struct event event = log_event(log, i, &payload);
        if (event.type == EV_DIGEST && event.size == 64)
            memcpy(history->digests[event.a], payload, 64);
    }
    return history->digests ? 0 : -1;
}

void history_release(struct history *history)
{
    free(history->digests);
}

struct fate *history_fates(struct history *history, uint64_t run, uint32_t *workflow)
{
    for (uint32_t i = 0; i < history->n_runs; i++)
        if (history->runs[i].run == run) {
            if (workflow)
                *workflow = history->runs[i].workflow;
            return history->runs[i].fates;
        }
    return NULL;
}

static void note_run(struct history *history, const struct event *event)
{
    if (history_fates(history, event->a, NULL) ||
        history->n_runs == sizeof history->runs / sizeof history->runs[0])
        return;
    history->runs[history->n_runs].run = (uint32_t)event->a;
    history->runs[history->n_runs++].workflow = event->b;
}

void history_apply(struct history *history, const struct event *event)
{
    struct fate *fates = history_fates(history, event->a, NULL);
    if (event->type == EV_RUN)
        note_run(history, event);
    else if (event->type == EV_PRUNE)
        history->pruned = true;
    else if (fates && event->type == EV_START && event->b < TASKS_MAX)
        fates[event->b].attempts = event->c;
    else if (fates && event->type == EV_ACK && event->b < TASKS_MAX) {
        struct fate *fate = &fates[event->b];
        history->acks += event->c == CAIRN_COMPLETED && fate->outcome != event->c;
        fate->outcome = (uint8_t)event->c;
        fate->checkpoint = event->d;
    }
}
