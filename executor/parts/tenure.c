/* SPDX-License-Identifier: MIT */
/* Whose run this is, and where it lives. */
#include "executor/parts/engine.h"

#include "base/clock.h"
#include "graph/definition_codec.h"
#include "runs/moved_store.h"
#include "runs/owner.h"
#include "runs/parse_cache.h"
#include "storage/object.h"
#include "storage/rows_run.h"
#include "storage/store.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Where it lives ---- */

int tenure_make_temporary(struct engine *e, struct cairn_error *error)
{
    const char *base = getenv("TMPDIR");
    struct buf path = BUF_INIT;
    buf_format(&path, "%s/cairn.XXXXXX", base && *base ? base : "/tmp");
    if (path.failed)
        return error_nomem(error);
    if (!mkdtemp(path.data)) {
        int saved = errno;
        buf_release(&path);
        return error_sys(error, saved, "cannot make a temporary directory");
    }
    e->tenure.temporary = path.data;
    e->tenure.live_dir = e->tenure.temporary;
    snprintf(e->tenure.identity, sizeof e->tenure.identity, "%016llx",
             (unsigned long long)random_u64());
    return 0;
}

int tenure_own(struct engine *e, struct cairn_error *error)
{
    if (!e->request.store)
        return 0;
    e->tenure.live_dir = store_live_dir(e->request.store);
    snprintf(e->tenure.identity, sizeof e->tenure.identity, "%s",
             store_id(e->request.store));
    if (store_read_only(e->request.store))
        return error_set(error, CAIRN_EUSAGE, "the store was opened read-only");
    return owner_acquire(e->request.store, e->request.graph->definition->name,
                         &e->tenure.row.workflow, &e->tenure.lock_offset, error);
}

int tenure_load(struct engine *e, struct cairn_error *error)
{
    const struct request *r = &e->request;
    struct situation *s = &e->tenure.situation;
    int rc =
        r->mode == MODE_RUN
            ? situation_load(s, r->workflow, r->store, r->options, error)
            : situation_load_as_is(s, r->workflow, r->store, r->run, r->options, error);
    if (!rc && s->present.root_gone)
        rc = error_set(error, CAIRN_ENOTFOUND,
                       "the directory of the workflow is gone: %s\nPut it back, or "
                       "name the file where it is now: `cairn run FILE`",
                       r->workflow->definition.root.ptr);
    return rc;
}

void tenure_note_outlived(struct engine *e, uint32_t old_task)
{
    struct recorded *r = &e->tenure.situation.recorded;
    r->marks[old_task] = MARK_OUTLIVED;
    r->n_outlived++;
}

void tenure_note_orderly(struct engine *e, bool orderly)
{
    e->tenure.orderly = orderly;
}

void tenure_release(struct engine *e)
{
    if (e->tenure.temporary)
        rmdir(e->tenure.temporary);
    free(e->tenure.temporary);
    situation_release(&e->tenure.situation);
    if (e->tenure.lock_offset)
        owner_release(e->request.store, e->tenure.lock_offset);
    arena_release(&e->tenure.arena);
}

/* ---- Its row ---- */

void tenure_keep_recorded_row(struct engine *e)
{
    e->tenure.row = e->tenure.situation.recorded.row;
}

int tenure_take_row(struct engine *e, struct cairn_error *error)
{
    struct run_row *row = &e->tenure.row;
    struct owner_text *owner = arena_take(&e->tenure.arena, 1, sizeof *owner);
    uint64_t workflow = row->workflow;
    if (!owner)
        return error_nomem(error);
    if (e->tenure.situation.recorded.recovered)
        *row = e->tenure.situation.recorded.row;
    row->workflow = workflow;
    row->workflow_name = e->request.graph->definition->name;
    row->file = e->request.graph->definition->file;
    owner_describe(row, owner);
    return 0;
}

static int put_graph(struct engine *e, struct cairn_error *error)
{
    struct buf *encoded = &e->tenure.situation.present.encoded;
    int rc = 0;
    if (!encoded->size)
        rc = definition_encode(&e->request.workflow->definition, encoded, error);
    if (!rc)
        rc = store_put_object(e->request.store, buf_view(encoded), &e->tenure.row.graph,
                              error);
    buf_release(encoded);
    e->tenure.row.tasks = e->request.graph->n_tasks;
    if (!rc)
        rc = store_put_run_graph(e->request.store, e->tenure.row.run, e->tenure.row.gen,
                                 &e->tenure.row.graph, error);
    return rc ? rc
              : parse_cache_note(e->request.workflow, e->request.store, &e->tenure.row,
                                 error);
}

/* Attempts are numbered by task index, so another graph needs another generation; also
 * when damage made the run fall back to an older graph than its newest one. */
static bool new_generation(const struct situation *s)
{
    const struct recorded *r = &s->recorded;
    return !digest_equal(&r->row.graph, &s->present.digest) ||
           !digest_equal(&r->row.graph, &r->recovery.graph);
}

int tenure_put_row(struct engine *e, struct cairn_error *error)
{
    struct situation *s = &e->tenure.situation;
    bool fresh = !s->recorded.recovered;
    struct buf params = BUF_INIT;
    e->tenure.row.state = CAIRN_RUN_UNFINISHED;
    e->tenure.row.ended_ns = 0;
    int rc = definition_params(&e->request.workflow->definition, &params,
                               &e->tenure.row.params, error);
    if (!rc && !fresh) /* it may have been removed since it was read */
        rc = store_get_run(e->request.store, e->tenure.row.run, NULL, NULL, error);
    e->tenure.row.params_text = arena_str(&e->tenure.arena, buf_view(&params));
    buf_release(&params);
    if (!rc && e->tenure.arena.failed)
        rc = error_nomem(error);
    if (!rc && fresh) {
        e->tenure.row.gen = 1;
        e->tenure.row.graph = s->present.digest;
        e->tenure.row.tasks = e->request.graph->n_tasks;
        e->tenure.row.started_ns = clock_utc_ns();
        e->tenure.row.from_run = s->recorded.from_run;
        e->tenure.row.from_seq = s->recorded.from_seq;
        rc = store_add_run(e->request.store, &e->tenure.row, error);
    } else if (!rc && new_generation(s))
        e->tenure.row.gen++;
    if (!rc)
        rc = put_graph(e, error);
    if (!rc && !fresh)
        rc = store_set_run(e->request.store, &e->tenure.row, error);
    if (!rc && e->tenure.row.file.len)
        rc = moved_store_note(e->request.store, error);
    return rc;
}

void tenure_end(struct engine *e, enum cairn_run_state state)
{
    e->tenure.row.state = (uint8_t)state;
}

int tenure_put_end(struct engine *e, struct cairn_error *error)
{
    e->tenure.row.ended_ns = clock_utc_ns();
    return store_set_run(e->request.store, &e->tenure.row, error);
}
