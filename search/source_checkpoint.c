/* SPDX-License-Identifier: MIT */
/* What checkpoints of sessions say, and what was put on checkpoints later. */
#include "search/search_int.h"

#include "base/error.h"
#include "cairn/annotation.h"
#include "cairn/context.h"
#include "cairn/session.h"
#include "storage/rows_checkpoint.h"
#include "storage/sessions/rows_annotation.h"
#include "storage/sessions/rows_session.h"

#include <stdio.h>

enum { TAGS_MOST = 128 };

/* ---- Checkpoints ---- */

struct telling {
    struct text_source *source;
    struct arena arena;
    struct cairn_checkpoint_info info;
    struct str tags[TAGS_MOST];
    size_t n_tags;
    struct buf title, body, project;
};

static void add_line(struct buf *out, const char *text)
{
    if (!text || !*text)
        return;
    if (out->size)
        buf_byte(out, '\n');
    entry_text(out, str_of(text), TEXT_MOST, false);
}

static int note_info(void *context, const struct cairn_session_checkpoint_info *info)
{
    struct telling *t = context;
    t->info = info->checkpoint;
    add_line(&t->title, info->message);
    for (size_t i = 0; i < info->n_tags; i++) {
        add_line(&t->body, info->tags[i]);
        if (t->n_tags < TAGS_MOST)
            t->tags[t->n_tags++] = arena_str(&t->arena, str_of(info->tags[i]));
    }
    if (info->failure) {
        add_line(&t->body, info->failure->task);
        if (t->body.size)
            buf_byte(&t->body, '\n');
        entry_text(&t->body,
                   (struct str){info->failure->tail, info->failure->tail_bytes},
                   TEXT_MOST, true);
    }
    return 0;
}

static int note_context(void *context, const struct cairn_context *given)
{
    struct telling *t = context;
    add_line(&t->body, given->summary);
    add_line(&t->body, given->description);
    for (size_t i = 0; i < given->n_pairs; i++) {
        add_line(&t->body, given->pairs[i].key);
        buf_text(&t->body, ": ");
        entry_text(&t->body, str_of(given->pairs[i].value), TEXT_MOST, false);
    }
    add_line(&t->body, given->state);
    return 0;
}

static int give_checkpoint(struct telling *t)
{
    struct text_source *s = t->source;
    char key[48];
    snprintf(key, sizeof key, "checkpoint/%llu", (unsigned long long)t->info.seq);
    struct text_entry entry = {.key = str_of(key),
                               .section = CAIRN_SEARCH_SESSIONS,
                               .time_ns = t->info.time_ns,
                               .project = buf_view(&t->project),
                               .title = t->title.size ? buf_view(&t->title) : STR(""),
                               .body = t->body.size ? buf_view(&t->body) : STR(""),
                               .tags = t->tags,
                               .n_tags = t->n_tags,
                               .kind = "checkpoint",
                               .id = t->info.id,
                               .session = t->info.session_name,
                               .seq = t->info.seq};
    if (t->arena.failed || t->title.failed || t->body.failed)
        return error_nomem(s->error);
    return source_give(s, &entry);
}

int source_checkpoint(struct text_source *s, uint64_t seq)
{
    struct telling t = {.source = s};
    char id[CAIRN_ID_MAX];
    snprintf(id, sizeof id, "debug:%llu", (unsigned long long)seq);
    int rc = cairn_session_checkpoint_get(s->store, id, note_info, &t, s->error);
    if (!rc) {
        rc = cairn_checkpoint_context(s->store, id, note_context, &t, s->error);
        if (rc == CAIRN_ENOTFOUND)
            rc = 0; /* it has none */
    }
    if (!rc)
        rc = source_session_project(s, t.info.session, &t.project);
    if (!rc)
        rc = give_checkpoint(&t);
    buf_release(&t.title);
    buf_release(&t.body);
    buf_release(&t.project);
    arena_release(&t.arena);
    return rc;
}

/* ---- Labels and notes ---- */

struct owner { /* of a checkpoint */
    uint8_t namespace_id;
    uint64_t stream, session;
};

static int note_owner(void *context, const struct checkpoint_row *row)
{
    struct owner *owner = context;
    owner->namespace_id = row->namespace_id;
    owner->stream = row->stream;
    return 0;
}

static int note_session(void *context, const struct branch_row *row)
{
    struct owner *owner = context;
    owner->session = row->session;
    return 0;
}

static int find_owner(struct text_source *s, uint64_t seq, struct owner *owner,
                      struct buf *project)
{
    *owner = (struct owner){0};
    int rc = store_get_checkpoint(s->store, seq, note_owner, owner, s->error);
    if (!rc && owner->namespace_id == NAMESPACE_WORKFLOW)
        return source_run_project(s, owner->stream, project);
    if (!rc)
        rc = store_get_branch(s->store, owner->stream, note_session, owner, s->error);
    return rc ? rc : source_session_project(s, owner->session, project);
}

struct note_wanted {
    struct text_source *source;
    uint32_t wanted; /* 0: all */
    bool found;
};

static int give_note(void *context, const struct annotation_row *row)
{
    struct note_wanted *n = context;
    struct text_source *s = n->source;
    struct owner owner;
    struct buf project = BUF_INIT, text = BUF_INIT;
    char key[64], id[CAIRN_ID_MAX];
    bool label = row->kind == ANNOTATION_LABEL;
    if (n->wanted && row->n != n->wanted)
        return 0;
    n->found = true;
    int rc = find_owner(s, row->seq, &owner, &project);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        goto done;
    const struct str tag = clean_str(row->text);
    entry_text(&text, tag, TEXT_MOST, false);
    bool of_run = owner.namespace_id == NAMESPACE_WORKFLOW;
    snprintf(key, sizeof key, "note/%llu/%u", (unsigned long long)row->seq, row->n);
    snprintf(id, sizeof id, "%s:%llu", of_run ? "workflow" : "debug",
             (unsigned long long)row->seq);
    struct text_entry entry = {.key = str_of(key),
                               .section = CAIRN_SEARCH_SESSIONS,
                               .time_ns = row->time_ns,
                               .project = buf_view(&project),
                               .title = buf_view(&text),
                               .body = STR(""),
                               .tags = &tag,
                               .n_tags = label,
                               .kind = label ? "label" : "note",
                               .id = id,
                               .run = of_run ? owner.stream : 0,
                               .seq = row->seq};
    if (!rc)
        rc = buf_check(&text, s->error);
    if (!rc)
        rc = source_give(s, &entry);
done:
    buf_release(&project);
    buf_release(&text);
    return rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED ? 0 : rc;
}

int source_notes(struct text_source *s)
{
    struct note_wanted n = {.source = s};
    int rc = store_each_annotation(s->store, 0, give_note, &n, s->error);
    if (s->stopped)
        return s->stopped;
    return rc == CAIRN_EDAMAGED ? 0 : rc;
}

int source_note(struct text_source *s, uint64_t seq, uint32_t number)
{
    struct note_wanted n = {.source = s, .wanted = number};
    int rc = store_each_annotation(s->store, seq, give_note, &n, s->error);
    if (!rc && !n.found)
        rc = error_set(s->error, CAIRN_ENOTFOUND, "the note was deleted");
    return s->stopped ? s->stopped : rc;
}
