/* SPDX-License-Identifier: MIT */
/* What the sources share, and the one thing that a key names. Keys:
 *
 *     session/S        item/S/ID        message/S/N      checkpoint/SEQ
 *     note/SEQ/N       run/R            task/R/TASK      log/R/GEN/TASK/ATTEMPT/STREAM
 *     file/SEQ/PATH */
#include "search/search_int.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/str.h"
#include "base/words.h"
#include "cairn/board.h"
#include "cairn/checkpoint.h"
#include "cairn/message.h"
#include "cairn/session.h"
#include "checkpoint/sections.h"
#include "runs/output.h"
#include "runs/stored.h"
#include "session/files.h"
#include "snapshot/snapshot.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"
#include "storage/rows_checkpoint.h"
#include "storage/sessions/rows_annotation.h"
#include "storage/sessions/rows_message.h"
#include "storage/sessions/rows_session.h"

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

/* Gives an entry, unless one was refused before. */
static int source_give(struct text_source *s, const struct text_entry *entry)
{
    if (!s->stopped)
        s->stopped = s->each(s->context, entry);
    return s->stopped;
}

static bool source_knows(const struct text_source *s, struct str key)
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
    uint64_t number = 0;
    return str_to_u64(next_part(rest), &number) ? number : 0;
}

static int source_log(struct text_source *s, const struct log_place *place);

static int get_log(struct text_source *s, uint64_t run, struct str rest)
{
    struct log_place place = {.run = run};
    place.gen = (uint32_t)next_number(&rest);
    place.task = (uint32_t)next_number(&rest);
    place.attempt = (uint32_t)next_number(&rest);
    place.stream = (int)next_number(&rest);
    return source_log(s, &place);
}

static int source_item(struct text_source *s, uint64_t session, const char *id);

static int get_item(struct text_source *s, uint64_t session, struct str rest)
{
    char id[CAIRN_ID_MAX];
    snprintf(id, sizeof id, "%.*s", (int)rest.len, rest.ptr);
    return source_item(s, session, id);
}

static int source_task(struct text_source *s, uint64_t run, uint32_t task);

static int source_run_itself(struct text_source *s, uint64_t run);

static int source_note(struct text_source *s, uint64_t seq, uint32_t number);

static int source_message(struct text_source *s, uint64_t session, uint64_t n);

static int source_file(struct text_source *s, uint64_t seq, struct str path);

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

/* Runs, their tasks and what these wrote. */

struct run_source {
    struct text_source *source;
    struct arena arena; /* of the row */
    struct run_row row;
    struct definition definition; /* of a generation */
    struct graph graph;
    bool loaded;
    uint32_t gen;
    struct buf project, title, body;
};

/* ---- The run ---- */

static void directory_of(struct text_source *s, struct str file, struct buf *out)
{
    size_t n = file.len;
    while (n > 0 && file.ptr[n - 1] != '/')
        n--;
    buf_clear(out);
    if (n == 0)
        buf_str(out, buf_view(&s->home));
    else
        buf_add(out, file.ptr, n > 1 ? n - 1 : 1);
}

static int begin_run(struct run_source *t, struct text_source *s, uint64_t run)
{
    *t = (struct run_source){.source = s};
    int rc = run_row_get(&t->row, s->store, run, &t->arena, s->error);
    if (rc)
        return rc;
    struct buf recorded = BUF_INIT;
    directory_of(s, t->row.file, &recorded);
    rc = buf_check(&recorded, s->error);
    if (!rc) /* where that is now, if the store was moved */
        rc = moved_store_directory(s->store, &t->row, buf_view(&recorded), &t->project,
                                   s->error);
    buf_release(&recorded);
    return rc ?: buf_check(&t->project, s->error);
}

static void unload(struct run_source *t)
{
    if (!t->loaded)
        return;
    graph_release(&t->graph);
    definition_release(&t->definition);
    t->loaded = false;
}

static void end_run(struct run_source *t)
{
    unload(t);
    buf_release(&t->project);
    buf_release(&t->title);
    buf_release(&t->body);
    arena_release(&t->arena);
}

static int load(struct run_source *t, uint32_t gen)
{
    if (t->loaded && t->gen == gen)
        return 0;
    unload(t);
    int rc = generation_load(t->source->store, &t->row, gen, &t->definition, &t->graph,
                             t->source->error);
    t->loaded = !rc;
    t->gen = gen;
    return rc;
}

int source_run_project(struct text_source *s, uint64_t run, struct buf *out)
{
    struct run_source t;
    int rc = begin_run(&t, s, run);
    buf_clear(out);
    if (!rc)
        buf_str(out, buf_view(&t.project));
    end_run(&t);
    return rc ?: buf_check(out, s->error);
}

static int give(struct run_source *t, struct text_entry *entry)
{
    struct text_source *s = t->source;
    entry->project = buf_view(&t->project);
    entry->title = t->title.size ? buf_view(&t->title) : STR("");
    entry->body = t->body.size ? buf_view(&t->body) : STR("");
    entry->run = t->row.run;
    if (t->title.failed || t->body.failed)
        return error_nomem(s->error);
    return source_give(s, entry);
}

static int give_run(struct run_source *t)
{
    char key[32], id[24];
    struct reader in = reader_of(t->row.params_text.ptr, t->row.params_text.len);
    struct text_entry entry = {.section = CAIRN_SEARCH_RUNS,
                               .time_ns = t->row.started_ns,
                               .kind = "run",
                               .id = id};
    snprintf(key, sizeof key, "run/%llu", (unsigned long long)t->row.run);
    u64_text(t->row.run, id);
    buf_clear(&t->title);
    buf_clear(&t->body);
    entry_text(&t->title, t->row.workflow_name, TEXT_MOST, false);
    entry_text(&t->body, t->row.file, TEXT_MOST, false);
    while (!in.failed && reader_left(&in)) {
        struct str name = read_lstr(&in), value = read_lstr(&in);
        buf_byte(&t->body, '\n');
        entry_text(&t->body, name, TEXT_MOST, false);
        buf_byte(&t->body, '=');
        entry_text(&t->body, value, TEXT_MOST, false);
    }
    entry.key = str_of(key);
    return give(t, &entry);
}

static int source_run_itself(struct text_source *s, uint64_t run)
{
    struct run_source t;
    int rc = begin_run(&t, s, run) ?: give_run(&t);
    end_run(&t);
    return rc;
}

/* ---- Tasks ---- */

/* What the task does, as the workflow file has it. */
static int give_task(struct run_source *t, uint32_t task)
{
    const struct task_def *def = graph_def(&t->graph, task);
    char key[64];
    struct text_entry entry = {.section = CAIRN_SEARCH_RUNS,
                               .time_ns = t->row.started_ns,
                               .kind = "task",
                               .id = t->graph.id[task],
                               .task = t->graph.id[task]};
    snprintf(key, sizeof key, "task/%llu/%u", (unsigned long long)t->row.run, task);
    buf_clear(&t->title);
    buf_clear(&t->body);
    entry_text(&t->title, str_of(t->graph.id[task]), TEXT_MOST, false);
    entry_text(&t->body, t->row.workflow_name, TEXT_MOST, false);
    buf_byte(&t->body, '\n');
    entry_text(&t->body, def->run, TEXT_MOST, false);
    entry_text(&t->body, def->external, TEXT_MOST, false);
    for (uint32_t i = 0; i < def->n_argv; i++) {
        buf_byte(&t->body, i ? ' ' : '\n');
        entry_text(&t->body, def->argv[i], TEXT_MOST, false);
    }
    entry.key = str_of(key);
    return give(t, &entry);
}

static int source_task(struct text_source *s, uint64_t run, uint32_t task)
{
    struct run_source t;
    int rc = begin_run(&t, s, run) ?: load(&t, t.row.gen);
    if (!rc && task >= t.graph.n_tasks)
        rc = error_set(s->error, CAIRN_ENOTFOUND, "the run has no such task");
    if (!rc)
        rc = give_task(&t, task);
    end_run(&t);
    return rc;
}

/* ---- Logs ---- */

static int add_log(void *context, const char *bytes, size_t n, uint64_t at)
{
    (void)at;
    buf_add(context, bytes, n);
    return 0;
}

/* Its end. */
static int read_output(struct run_source *t, struct str digest, bool listed)
{
    struct digest name;
    struct buf text = BUF_INIT;
    struct stored_output output;
    memcpy(name.bytes, digest.ptr, DIGEST_SIZE);
    int rc = output_open(&output, t->source->store, &name, listed, t->source->error);
    uint64_t from = output.size > TEXT_MOST ? output.size - TEXT_MOST : 0;
    if (!rc)
        rc = output_read(&output, from, output.size, add_log, &text, t->source->error);
    if (!rc)
        rc = buf_check(&text, t->source->error);
    buf_clear(&t->body);
    if (!rc)
        entry_text(&t->body, buf_view(&text), TEXT_MOST, true);
    output_close(&output);
    buf_release(&text);
    return rc;
}

static int give_log(struct run_source *t, const struct attempt_row *row, int stream)
{
    struct text_source *s = t->source;
    struct str digest = stream == 1 ? row->out : row->err;
    char key[112];
    if (digest.len != DIGEST_SIZE || row->ended_ns == 0 ||
        (stream == 2 && row->flags & ATTEMPT_MERGED)) /* times, not text */
        return 0;
    snprintf(key, sizeof key, "log/%llu/%u/%u/%u/%d", (unsigned long long)t->row.run,
             row->gen, row->task, row->number, stream);
    if (source_knows(s, str_of(key)))
        return 0;
    int rc = load(t, row->gen);
    if (!rc && row->task >= t->graph.n_tasks)
        return 0;
    if (!rc)
        rc = read_output(t, digest,
                         row->flags &
                             (stream == 1 ? ATTEMPT_OUT_LIST : ATTEMPT_ERR_LIST));
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        return 0;
    if (rc)
        return rc;
    struct text_entry entry = {.key = str_of(key),
                               .section = CAIRN_SEARCH_LOGS,
                               .time_ns = row->ended_ns,
                               .kind = "log",
                               .id = t->graph.id[row->task],
                               .task = t->graph.id[row->task]};
    buf_clear(&t->title);
    entry_text(&t->title, str_of(t->graph.id[row->task]), TEXT_MOST, false);
    return give(t, &entry);
}

static int give_logs(void *context, const struct attempt_row *row)
{
    return give_log(context, row, 1) ?: give_log(context, row, 2);
}

struct one_log {
    struct run_source *t;
    int stream;
};

static int give_one_log(void *context, const struct attempt_row *row)
{
    struct one_log *one = context;
    return give_log(one->t, row, one->stream);
}

static int source_log(struct text_source *s, const struct log_place *place)
{
    struct run_source t;
    struct one_log one = {.t = &t, .stream = place->stream};
    struct attempt_row key = {.run = place->run,
                              .gen = place->gen,
                              .task = place->task,
                              .number = place->attempt};
    int rc = begin_run(&t, s, place->run)
                 ?: store_get_attempt(s->store, &key, give_one_log, &one, s->error);
    end_run(&t);
    return s->stopped ? s->stopped : rc;
}

/* ---- All of it ---- */

int source_run(struct text_source *s, uint64_t run)
{
    struct run_source t;
    int rc = begin_run(&t, s, run) ?: give_run(&t);
    int loaded = rc ? rc : load(&t, t.row.gen);
    for (uint32_t i = 0; !loaded && !rc && i < t.graph.n_tasks; i++)
        rc = give_task(&t, i);
    for (uint32_t gen = 1; !rc && gen <= t.row.gen; gen++) {
        rc = store_each_run_attempt(s->store, run, gen, false, give_logs, &t, s->error);
        if (rc == CAIRN_EDAMAGED && !s->stopped)
            rc = 0;
    }
    if (loaded < 0 && loaded != CAIRN_EDAMAGED && loaded != CAIRN_ENOTFOUND && !rc)
        rc = loaded;
    end_run(&t);
    return s->stopped ? s->stopped : rc;
}

/* Sessions and the items of their boards. */

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
    u64_text(session, number);
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

enum { ITEM_TAGS_MOST = 64 };

struct session_source {
    struct text_source *source;
    uint64_t session;
    const char *name;
    struct buf project, key, title, body;
};

/* The field that says what the item is about comes first, and is the title. */
static void add_field(struct session_source *t, const struct cairn_field *field)
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
    struct session_source *t = context;
    struct str tags[ITEM_TAGS_MOST];
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
            if (entry.n_tags < ITEM_TAGS_MOST)
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

static void end_session(struct session_source *t)
{
    buf_release(&t->project);
    buf_release(&t->key);
    buf_release(&t->title);
    buf_release(&t->body);
}

/* ---- The session ---- */

static int give_session(struct session_source *t, const struct cairn_session_info *info)
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
    return buf_check(&t->key, t->source->error) ?: source_give(t->source, &entry);
}

static int begin_session(struct session_source *t, struct text_source *s,
                         uint64_t session, char number[24],
                         struct cairn_session_info *info)
{
    *t = (struct session_source){.source = s, .session = session};
    u64_text(session, number);
    int rc = cairn_session_get(s->store, number, info, s->error);
    t->name = info->name;
    return rc ?: source_session_project(s, session, &t->project);
}

int source_session(struct text_source *s, uint64_t session)
{
    struct session_source t;
    struct cairn_session_info info;
    struct cairn_item_filter filter = {.page = {.all = true, .oldest_first = true}};
    char number[24];
    int rc = begin_session(&t, s, session, number, &info)
             ?: give_session(&t, &info)
             ?: cairn_item_list(s->store, number, &filter, give_item, &t, NULL,
                                s->error);
    end_session(&t);
    if (s->stopped)
        return s->stopped;
    return rc == CAIRN_EDAMAGED ? 0 : rc;
}

static int source_item(struct text_source *s, uint64_t session, const char *id)
{
    struct session_source t;
    struct cairn_session_info info;
    char number[24];
    int rc = begin_session(&t, s, session, number, &info)
                 ?: cairn_item_get(s->store, number, id, NULL, give_item, &t, s->error);
    end_session(&t);
    return s->stopped ? s->stopped : rc;
}

/* What checkpoints of sessions say, and what was put on checkpoints later. */

enum { TAGS_MOST = 128 };

/* ---- Checkpoints ---- */

struct checkpoint_source {
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
    struct checkpoint_source *t = context;
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
    struct checkpoint_source *t = context;
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

static int give_checkpoint(struct checkpoint_source *t)
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
    struct checkpoint_source t = {.source = s};
    char id[CAIRN_ID_MAX];
    snprintf(id, sizeof id, "debug:%llu", (unsigned long long)seq);
    int rc = cairn_session_checkpoint_get(s->store, id, note_info, &t, s->error);
    if (!rc) {
        rc = cairn_checkpoint_context(s->store, id, note_context, &t, s->error);
        if (rc == CAIRN_ENOTFOUND)
            rc = 0; /* it has none */
    }
    if (!rc)
        rc = source_session_project(s, t.info.session, &t.project)
                 ?: give_checkpoint(&t);
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
    return rc
           ?: store_get_branch(s->store, owner->stream, note_session, owner, s->error)
           ?: source_session_project(s, owner->session, project);
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
        rc = buf_check(&text, s->error) ?: source_give(s, &entry);
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

static int source_note(struct text_source *s, uint64_t seq, uint32_t number)
{
    struct note_wanted n = {.source = s, .wanted = number};
    int rc = store_each_annotation(s->store, seq, give_note, &n, s->error);
    if (!rc && !n.found)
        rc = error_set(s->error, CAIRN_ENOTFOUND, "the note was deleted");
    return s->stopped ? s->stopped : rc;
}

/* Messages of sessions. */

struct message_source {
    struct text_source *source;
    uint64_t session;
    struct cairn_session_info info;
    char number[24];
    struct buf project, body;
};

static int give_message(void *context, const struct cairn_message *message)
{
    struct message_source *t = context;
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
    u64_text(message->n, id);
    buf_clear(&t->body);
    entry_text(&t->body, str_of(message->text), TEXT_MOST, false);
    entry.key = str_of(key);
    entry.body = t->body.size ? buf_view(&t->body) : STR("");
    if (buf_check(&t->body, t->source->error))
        return t->source->stopped = CAIRN_ENOMEM;
    return source_give(t->source, &entry);
}

static int begin_message(struct message_source *t, struct text_source *s,
                         uint64_t session)
{
    *t = (struct message_source){.source = s, .session = session};
    u64_text(session, t->number);
    return cairn_session_get(s->store, t->number, &t->info, s->error)
               ?: source_session_project(s, session, &t->project);
}

static void end_message(struct message_source *t)
{
    buf_release(&t->project);
    buf_release(&t->body);
}

int source_messages(struct text_source *s, uint64_t session, uint64_t after,
                    uint64_t *last)
{
    struct message_source t;
    uint64_t newest = after;
    int rc = begin_message(&t, s, session)
                 ?: store_last_message(s->store, session, &newest, s->error);
    for (uint64_t n = after + 1; !rc && !s->stopped && n <= newest; n++) {
        rc = cairn_message_get(s->store, t.number, n, give_message, &t, s->error);
        if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND)
            rc = 0;
    }
    end_message(&t);
    *last = newest;
    return s->stopped ? s->stopped : rc;
}

static int source_message(struct text_source *s, uint64_t session, uint64_t n)
{
    struct message_source t;
    int rc =
        begin_message(&t, s, session)
            ?: cairn_message_get(s->store, t.number, n, give_message, &t, s->error);
    end_message(&t);
    return s->stopped ? s->stopped : rc;
}

/* Files that checkpoints of sessions hold. A file is told once for each content that it
 * has under a path, with the first checkpoint that has it so. */

/* As git tells binary contents. */
enum { BINARY_BYTES = 8000 };

/* That came with one checkpoint (docs/limits.md): further ones are not found. */
enum { FILES_MOST = 500000 };

/* Paths with the same content of which that is told, and not the path alone. */
enum { SAME_MOST = 100 };

struct file_source {
    struct text_source *source;
    struct arena arena;
    struct cairn_session_info info;
    struct map seen;     /* digests with paths */
    struct map contents; /* digests, to indexes of `same` */
    struct buf same;     /* of uint32_t: paths that have it */
    uint64_t given;      /* of the checkpoint */
    uint64_t seq;
    int64_t time_ns;
    struct buf project, key, title, body;
};

static int begin_files(struct file_source *t, struct text_source *s, uint64_t session)
{
    char number[24];
    *t = (struct file_source){.source = s};
    u64_text(session, number);
    return cairn_session_get(s->store, number, &t->info, s->error)
               ?: source_session_project(s, session, &t->project);
}

static void end_files(struct file_source *t)
{
    map_release(&t->seen);
    map_release(&t->contents);
    buf_release(&t->same);
    buf_release(&t->project);
    buf_release(&t->key);
    buf_release(&t->title);
    buf_release(&t->body);
    arena_release(&t->arena);
}

/* ---- One file ---- */

static int take_part(void *context, struct str part)
{
    struct file_source *t = context;
    size_t look = part.len < BINARY_BYTES ? part.len : BINARY_BYTES;
    if (!t->body.size && memchr(part.ptr, 0, look))
        return 1; /* binary: its name alone */
    entry_text(&t->body, part, part.len, false);
    return buf_check(&t->body, t->source->error);
}

/* 1: the text of the content is to be told. */
static int take_content(struct file_source *t, const struct digest *digest)
{
    uint32_t n = (uint32_t)(t->same.size / sizeof n), one = 1;
    uint32_t at = map_get(&t->contents, digest_view(digest));
    if (at != MAP_NONE)
        return ++((uint32_t *)(void *)t->same.data)[at] <= SAME_MOST;
    struct str key = arena_str(&t->arena, digest_view(digest));
    buf_add(&t->same, &one, sizeof one);
    if (t->same.failed || !key.ptr || map_add(&t->contents, key, n, NULL) < 0)
        return error_nomem(t->source->error);
    return 1;
}

static int give_file(struct file_source *t, struct str path,
                     const struct tree_entry *file)
{
    struct text_source *s = t->source;
    buf_clear(&t->key);
    buf_clear(&t->title);
    buf_clear(&t->body);
    buf_format(&t->key, "file/%llu/", (unsigned long long)t->seq);
    buf_str(&t->key, path);
    if (buf_check(&t->key, s->error))
        return CAIRN_ENOMEM;
    if (source_knows(s, buf_view(&t->key)))
        return 0;
    entry_text(&t->title, path, TEXT_MOST, false);
    int rc = file->size <= FILE_MOST ? take_content(t, &file->digest) : 0;
    if (rc > 0)
        rc = snapshot_content(s->store, file, take_part, t, s->error);
    if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND)
        return 0;
    if (rc > 0) {
        buf_clear(&t->body);
        rc = 0;
    }
    if (!rc)
        rc = buf_check(&t->title, s->error);
    struct text_entry entry = {.key = buf_view(&t->key),
                               .section = CAIRN_SEARCH_FILES,
                               .time_ns = t->time_ns,
                               .project = buf_view(&t->project),
                               .title = buf_view(&t->title),
                               .body = t->body.size ? buf_view(&t->body) : STR(""),
                               .kind = "file",
                               .id = t->title.data,
                               .session = t->info.name,
                               .seq = t->seq};
    return rc ?: source_give(s, &entry);
}

/* ---- What a checkpoint holds ---- */

/* 1: it holds files. */
static int read_root(struct text_source *s, uint64_t seq, struct digest *root,
                     struct sections_at *at)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct snapshot_head head;
    int rc = sections_read(s->store, s->sha, seq, &arena, &sections, at, s->error);
    const struct section_ref *files = rc ? NULL : files_section(&sections);
    if (files)
        rc = snapshot_read(s->store, &files->digest, &arena, &head, s->error);
    if (!rc && files)
        *root = head.root;
    arena_release(&arena);
    return rc ? rc : files != NULL;
}

static int source_file(struct text_source *s, uint64_t seq, struct str path)
{
    struct file_source t = {.source = s};
    struct sections_at at = {.time_ns = 0};
    struct digest root;
    struct tree_entry file;
    int rc = read_root(s, seq, &root, &at);
    if (rc == 0)
        return error_set(s->error, CAIRN_ENOTFOUND, "the checkpoint holds no files");
    if (rc > 0)
        rc = begin_files(&t, s, at.session);
    t.seq = seq;
    t.time_ns = at.time_ns;
    struct str name = arena_str(&t.arena, path);
    if (!rc)
        rc = name.ptr ? snapshot_find(s->store, &root, name, &t.arena, &file, s->error)
                      : error_nomem(s->error);
    if (rc == 0)
        rc = error_set(s->error, CAIRN_ENOTFOUND, "the checkpoint has no such file");
    else if (rc > 0)
        rc = tree_is_file(&file) ? give_file(&t, name, &file) : CAIRN_ENOTFOUND;
    end_files(&t);
    return rc;
}

/* ---- What came with each ---- */

static int note_change(void *context, struct str path, const struct tree_entry *before,
                       const struct tree_entry *after)
{
    struct file_source *t = context;
    struct text_source *s = t->source;
    if (!after || !tree_is_file(after) ||
        (before && tree_is_file(before) &&
         digest_equal(&before->digest, &after->digest)))
        return 0;
    buf_clear(&t->key);
    buf_str(&t->key, digest_view(&after->digest));
    buf_str(&t->key, path);
    struct str key = t->key.failed ? STR("") : arena_str(&t->arena, buf_view(&t->key));
    int added = key.len ? map_add(&t->seen, key, 0, NULL) : CAIRN_ENOMEM;
    if (added < 0)
        return error_nomem(s->error);
    if (added && ++t->given > FILES_MOST)
        return error_set(s->error, CAIRN_ELIMIT,
                         "more than %d files came with one checkpoint", FILES_MOST);
    return added ? give_file(t, path, after) : 0;
}

struct listing {
    struct file_source *t;
    struct file_place *place;
};

static int add_checkpoint(void *context, const struct checkpoint_row *row)
{
    struct listing *l = context;
    struct text_source *s = l->t->source;
    struct sections_at at;
    struct digest root;
    const struct digest *before =
        digest_is_none(&l->place->root) ? NULL : &l->place->root;
    int rc = read_root(s, row->seq, &root, &at);
    if (rc <= 0)
        return rc == CAIRN_EDAMAGED ? 0 : rc;
    l->t->seq = row->seq;
    l->t->given = 0;
    l->t->time_ns = at.time_ns;
    if (before && digest_equal(before, &root))
        rc = 0;
    else
        rc = snapshot_compare(s->store, before, &root, false, note_change, l->t,
                              s->error);
    if (rc == CAIRN_EDAMAGED && before && !s->stopped) /* the one before is gone */
        rc =
            snapshot_compare(s->store, NULL, &root, false, note_change, l->t, s->error);
    if (rc == CAIRN_EDAMAGED && !s->stopped)
        return 0;
    if (rc == CAIRN_ELIMIT && !s->stopped) { /* what was given of it stays */
        l->place->seq = row->seq;
        return 0;
    }
    if (!rc)
        *l->place = (struct file_place){.seq = row->seq, .root = root};
    return rc;
}

int source_files(struct text_source *s, uint64_t session, struct file_place *place)
{
    struct file_source t;
    struct checkpoint_range range = {
        .namespace_id = NAMESPACE_DEBUG, .session = session, .first = place->seq + 1};
    struct listing l = {&t, place};
    int rc =
        begin_files(&t, s, session)
            ?: store_each_checkpoint(s->store, &range, add_checkpoint, &l, s->error);
    end_files(&t);
    return s->stopped ? s->stopped : rc;
}
