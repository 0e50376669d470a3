/* SPDX-License-Identifier: MIT */
/* Messages of sessions. */
#include "search/search_int.h"

#include "base/error.h"
#include "cairn/message.h"
#include "cairn/session.h"
#include "storage/sessions/rows_message.h"

#include <stdio.h>

struct telling {
    struct text_source *source;
    uint64_t session;
    struct cairn_session_info info;
    char number[24];
    struct buf project, body;
};

static int give_message(void *context, const struct cairn_message *message)
{
    struct telling *t = context;
    char key[64], id[24];
    struct text_entry entry = {.section = CAIRN_SEARCH_MESSAGES,
                               .time_ns = message->time_ns,
                               .project = buf_view(&t->project),
                               .title = str_of(message->role),
                               .kind = "message",
                               .id = id,
                               .session = t->info.name};
    snprintf(key, sizeof key, "message/%llu/%llu", (unsigned long long)t->session,
             (unsigned long long)message->n);
    snprintf(id, sizeof id, "%llu", (unsigned long long)message->n);
    buf_clear(&t->body);
    entry_text(&t->body, str_of(message->text), TEXT_MOST, false);
    entry.key = str_of(key);
    entry.body = t->body.size ? buf_view(&t->body) : STR("");
    if (buf_check(&t->body, t->source->error))
        return t->source->stopped = CAIRN_ENOMEM;
    return source_give(t->source, &entry);
}

static int begin(struct telling *t, struct text_source *s, uint64_t session)
{
    *t = (struct telling){.source = s, .session = session};
    snprintf(t->number, sizeof t->number, "%llu", (unsigned long long)session);
    int rc = cairn_session_get(s->store, t->number, &t->info, s->error);
    return rc ? rc : source_session_project(s, session, &t->project);
}

static void release(struct telling *t)
{
    buf_release(&t->project);
    buf_release(&t->body);
}

int source_messages(struct text_source *s, uint64_t session, uint64_t after,
                    uint64_t *last)
{
    struct telling t;
    uint64_t newest = after;
    int rc = begin(&t, s, session);
    if (!rc)
        rc = store_last_message(s->store, session, &newest, s->error);
    for (uint64_t n = after + 1; !rc && !s->stopped && n <= newest; n++) {
        rc = cairn_message_get(s->store, t.number, n, give_message, &t, s->error);
        if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND)
            rc = 0;
    }
    release(&t);
    *last = newest;
    return s->stopped ? s->stopped : rc;
}

int source_message(struct text_source *s, uint64_t session, uint64_t n)
{
    struct telling t;
    int rc = begin(&t, s, session);
    if (!rc)
        rc = cairn_message_get(s->store, t.number, n, give_message, &t, s->error);
    release(&t);
    return s->stopped ? s->stopped : rc;
}
