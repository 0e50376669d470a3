/* SPDX-License-Identifier: MIT */
/* Runs, their tasks and what these wrote. */
#include "search/search_int.h"

#include "base/error.h"
#include "base/reader.h"
#include "runs/moved_store.h"
#include "runs/stored.h"
#include "storage/object.h"
#include "storage/rows_attempt.h"

#include <stdio.h>

struct telling {
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

static int begin(struct telling *t, struct text_source *s, uint64_t run)
{
    *t = (struct telling){.source = s};
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
    return rc ? rc : buf_check(&t->project, s->error);
}

static void unload(struct telling *t)
{
    if (!t->loaded)
        return;
    graph_release(&t->graph);
    definition_release(&t->definition);
    t->loaded = false;
}

static void end(struct telling *t)
{
    unload(t);
    buf_release(&t->project);
    buf_release(&t->title);
    buf_release(&t->body);
    arena_release(&t->arena);
}

static int load(struct telling *t, uint32_t gen)
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
    struct telling t;
    int rc = begin(&t, s, run);
    buf_clear(out);
    if (!rc)
        buf_str(out, buf_view(&t.project));
    end(&t);
    return rc ? rc : buf_check(out, s->error);
}

static int give(struct telling *t, struct text_entry *entry)
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

static int give_run(struct telling *t)
{
    char key[32], id[24];
    struct reader in = reader_of(t->row.params_text.ptr, t->row.params_text.len);
    struct text_entry entry = {.section = CAIRN_SEARCH_RUNS,
                               .time_ns = t->row.started_ns,
                               .kind = "run",
                               .id = id};
    snprintf(key, sizeof key, "run/%llu", (unsigned long long)t->row.run);
    snprintf(id, sizeof id, "%llu", (unsigned long long)t->row.run);
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

int source_run_itself(struct text_source *s, uint64_t run)
{
    struct telling t;
    int rc = begin(&t, s, run);
    if (!rc)
        rc = give_run(&t);
    end(&t);
    return rc;
}

/* ---- Tasks ---- */

/* What the task does, as the workflow file has it. */
static int give_task(struct telling *t, uint32_t task)
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

int source_task(struct text_source *s, uint64_t run, uint32_t task)
{
    struct telling t;
    int rc = begin(&t, s, run);
    if (!rc)
        rc = load(&t, t.row.gen);
    if (!rc && task >= t.graph.n_tasks)
        rc = error_set(s->error, CAIRN_ENOTFOUND, "the run has no such task");
    if (!rc)
        rc = give_task(&t, task);
    end(&t);
    return rc;
}

/* ---- Logs ---- */

static int read_output(struct telling *t, struct str digest)
{
    struct digest name;
    struct buf content = BUF_INIT;
    memcpy(name.bytes, digest.ptr, DIGEST_SIZE);
    int rc = store_get_object(t->source->store, &name, &content, t->source->error);
    buf_clear(&t->body);
    if (!rc)
        entry_text(&t->body, buf_view(&content), TEXT_MOST, true);
    buf_release(&content);
    return rc;
}

static int give_log(struct telling *t, const struct attempt_row *row, int stream)
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
        rc = read_output(t, digest);
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
    int rc = give_log(context, row, 1);
    return rc ? rc : give_log(context, row, 2);
}

struct one_log {
    struct telling *t;
    int stream;
};

static int give_one_log(void *context, const struct attempt_row *row)
{
    struct one_log *one = context;
    return give_log(one->t, row, one->stream);
}

int source_log(struct text_source *s, const struct log_place *place)
{
    struct telling t;
    struct one_log one = {.t = &t, .stream = place->stream};
    struct attempt_row key = {.run = place->run,
                              .gen = place->gen,
                              .task = place->task,
                              .number = place->attempt};
    int rc = begin(&t, s, place->run);
    if (!rc)
        rc = store_get_attempt(s->store, &key, give_one_log, &one, s->error);
    end(&t);
    return s->stopped ? s->stopped : rc;
}

/* ---- All of it ---- */

int source_run(struct text_source *s, uint64_t run)
{
    struct telling t;
    int rc = begin(&t, s, run);
    if (!rc)
        rc = give_run(&t);
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
    end(&t);
    return s->stopped ? s->stopped : rc;
}
