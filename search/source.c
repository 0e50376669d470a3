/* SPDX-License-Identifier: MIT */
/* What the sources share, and the one thing that a key names. Keys:
 *
 *     session/S        item/S/ID        message/S/N      checkpoint/SEQ
 *     note/SEQ/N       run/R            task/R/TASK      log/R/GEN/TASK/ATTEMPT/STREAM
 *     file/SEQ/PATH */
#include "search/search_int.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

int source_open(struct text_source *s, struct cairn_store *store,
                struct cairn_error *error)
{
    struct str dir = str_of(cairn_store_path(store));
    s->store = store;
    s->error = error;
    s->sha = sha256_new();
    while (dir.len > 1 && dir.ptr[dir.len - 1] != '/')
        dir.len--;
    buf_add(&s->home, dir.ptr, dir.len > 1 ? dir.len - 1 : 1);
    if (s->sha && !s->home.failed)
        return 0;
    source_close(s);
    return error_nomem(error);
}

void source_close(struct text_source *s)
{
    if (s->sha)
        sha256_free(s->sha);
    s->sha = NULL;
    buf_release(&s->home);
}

int source_give(struct text_source *s, const struct text_entry *entry)
{
    if (!s->stopped)
        s->stopped = s->each(s->context, entry);
    return s->stopped;
}

bool source_knows(const struct text_source *s, struct str key)
{
    return s->is_known && s->is_known(s->context, key);
}

static struct str next_part(struct str *rest)
{
    const char *slash = memchr(rest->ptr, '/', rest->len);
    size_t n = slash ? (size_t)(slash - rest->ptr) : rest->len;
    struct str part = {rest->ptr, n};
    n += slash != NULL;
    rest->ptr += n;
    rest->len -= n;
    return part;
}

static uint64_t next_number(struct str *rest)
{
    char text[24];
    struct str part = next_part(rest);
    if (part.len == 0 || part.len >= sizeof text)
        return 0;
    memcpy(text, part.ptr, part.len);
    text[part.len] = 0;
    return strtoull(text, NULL, 10);
}

static int get_log(struct text_source *s, uint64_t run, struct str rest)
{
    struct log_place place = {.run = run};
    place.gen = (uint32_t)next_number(&rest);
    place.task = (uint32_t)next_number(&rest);
    place.attempt = (uint32_t)next_number(&rest);
    place.stream = (int)next_number(&rest);
    return source_log(s, &place);
}

static int get_item(struct text_source *s, uint64_t session, struct str rest)
{
    char id[CAIRN_ID_MAX];
    snprintf(id, sizeof id, "%.*s", (int)rest.len, rest.ptr);
    return source_item(s, session, id);
}

int source_get(struct text_source *s, struct str key)
{
    struct str kind = next_part(&key);
    uint64_t number = next_number(&key);
    s->stopped = 0;
    if (str_equal(kind, STR("session")))
        return source_session(s, number);
    if (str_equal(kind, STR("item")))
        return get_item(s, number, key);
    if (str_equal(kind, STR("message")))
        return source_message(s, number, next_number(&key));
    if (str_equal(kind, STR("checkpoint")))
        return source_checkpoint(s, number);
    if (str_equal(kind, STR("note")))
        return source_note(s, number, (uint32_t)next_number(&key));
    if (str_equal(kind, STR("run")))
        return source_run_itself(s, number);
    if (str_equal(kind, STR("task")))
        return source_task(s, number, (uint32_t)next_number(&key));
    if (str_equal(kind, STR("log")))
        return get_log(s, number, key);
    if (str_equal(kind, STR("file")))
        return source_file(s, number, key);
    return error_set(s->error, CAIRN_EDAMAGED, "the index has an unknown key");
}
