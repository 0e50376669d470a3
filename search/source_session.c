/* SPDX-License-Identifier: MIT */
/* Sessions and the items of their boards. */
#include "search/search_int.h"

#include "base/error.h"
#include "cairn/board.h"
#include "cairn/session.h"

#include <stdio.h>

/* ---- What a session is about ---- */

static int note_files(void *context, const char *name, const char *value,
                      bool is_default)
{
    struct buf *out = context;
    if (strcmp(name, "files") != 0)
        return 0;
    if (!is_default && strcmp(value, "off") != 0)
        buf_text(out, value);
    return 1;
}

int source_session_project(struct text_source *s, uint64_t session, struct buf *out)
{
    struct buf name = BUF_INIT;
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)session);
    buf_clear(out);
    int rc = cairn_session_config(s->store, number, note_files, &name, s->error);
    if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND)
        rc = 0;
    if (!rc)
        rc = buf_check(&name, s->error);
    if (!rc && name.size && name.data[0] == '/') {
        buf_str(out, buf_view(&name));
    } else if (!rc) {
        buf_str(out, buf_view(&s->home));
        if (name.size && strcmp(name.data, ".") != 0)
            buf_format(out, "%s%s", s->home.size > 1 ? "/" : "", name.data);
    }
    rc = rc ? rc : buf_check(out, s->error);
    buf_release(&name);
    return rc;
}

/* ---- Items ---- */

enum { TAGS_MOST = 64 };
struct telling {
    struct text_source *source;
    uint64_t session;
    const char *name;
    struct buf project, key, title, body;
};

/* The field that says what the item is about comes first, and is the title. */
static void add_field(struct telling *t, const struct cairn_field *field)
{
    struct buf *out = t->title.size ? &t->body : &t->title;
    if (field->type == CAIRN_FIELD_TEXT && field->text) {
        if (out->size)
            buf_byte(out, '\n');
        entry_text(out, str_of(field->text), TEXT_MOST, false);
    }
    for (size_t i = 0; field->type == CAIRN_FIELD_LIST && i < field->n; i++) {
        if (t->body.size)
            buf_byte(&t->body, '\n');
        entry_text(&t->body, str_of(field->texts[i]), TEXT_MOST, false);
    }
}

static int give_item(void *context, const struct cairn_item *item)
{
    struct telling *t = context;
    struct str tags[TAGS_MOST];
    struct text_entry entry = {.section = CAIRN_SEARCH_BOARD,
                               .project = buf_view(&t->project),
                               .tags = tags,
                               .kind = item->kind,
                               .id = item->id,
                               .session = t->name};
    buf_clear(&t->key);
    buf_clear(&t->title);
    buf_clear(&t->body);
    buf_format(&t->key, "item/%llu/%s", (unsigned long long)t->session, item->id);
    for (size_t i = 0; i < item->n_fields; i++) {
        const struct cairn_field *field = &item->fields[i];
        add_field(t, field);
        if (strcmp(field->name, "created") == 0)
            entry.time_ns = field->time_ns;
        for (size_t j = 0; strcmp(field->name, "tags") == 0 && j < field->n; j++)
            if (entry.n_tags < TAGS_MOST)
                tags[entry.n_tags++] = str_of(field->texts[j]);
    }
    entry.key = buf_view(&t->key);
    entry.title = buf_view(&t->title);
    entry.body = t->body.size ? buf_view(&t->body) : STR("");
    if (buf_check(&t->key, t->source->error) ||
        buf_check(&t->title, t->source->error) || buf_check(&t->body, t->source->error))
        return t->source->stopped = CAIRN_ENOMEM;
    return source_give(t->source, &entry);
}

static void release(struct telling *t)
{
    buf_release(&t->project);
    buf_release(&t->key);
    buf_release(&t->title);
    buf_release(&t->body);
}

/* ---- The session ---- */

static int give_session(struct telling *t, const struct cairn_session_info *info)
{
    struct text_entry entry = {.section = CAIRN_SEARCH_SESSIONS,
                               .time_ns = info->started_ns,
                               .project = buf_view(&t->project),
                               .title = str_of(info->name),
                               .body = STR(""),
                               .kind = "session",
                               .id = info->name,
                               .session = info->name};
    buf_clear(&t->key);
    buf_format(&t->key, "session/%llu", (unsigned long long)info->session);
    entry.key = buf_view(&t->key);
    int rc = buf_check(&t->key, t->source->error);
    return rc ? rc : source_give(t->source, &entry);
}

static int begin(struct telling *t, struct text_source *s, uint64_t session,
                 char number[24], struct cairn_session_info *info)
{
    *t = (struct telling){.source = s, .session = session};
    snprintf(number, 24, "%llu", (unsigned long long)session);
    int rc = cairn_session_get(s->store, number, info, s->error);
    t->name = info->name;
    return rc ? rc : source_session_project(s, session, &t->project);
}

int source_session(struct text_source *s, uint64_t session)
{
    struct telling t;
    struct cairn_session_info info;
    struct cairn_item_filter filter = {.page = {.all = true, .oldest_first = true}};
    char number[24];
    int rc = begin(&t, s, session, number, &info);
    if (!rc)
        rc = give_session(&t, &info);
    if (!rc)
        rc = cairn_item_list(s->store, number, &filter, give_item, &t, NULL, s->error);
    release(&t);
    if (s->stopped)
        return s->stopped;
    return rc == CAIRN_EDAMAGED ? 0 : rc;
}

int source_item(struct text_source *s, uint64_t session, const char *id)
{
    struct telling t;
    struct cairn_session_info info;
    char number[24];
    int rc = begin(&t, s, session, number, &info);
    if (!rc)
        rc = cairn_item_get(s->store, number, id, NULL, give_item, &t, s->error);
    release(&t);
    return s->stopped ? s->stopped : rc;
}
