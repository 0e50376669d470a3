/* Attempts of a task and what they wrote, cancelling a run, and loading its workflow.
 */
#include "base/clock.h"
#include "base/limits.h"
#include "checkpoint/verify.h"
#include "executor/capture.h"
#include "executor/home.h"
#include "executor/keeper.h"
#include "executor/outside.h"
#include "executor/owner.h"
#include "executor/spawn.h"
#include "storage/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Finding a task in every definition that its run has had ---- */

struct task_place {
    uint32_t gen, task;
};

/* Calls `each` for every generation of the run that has the task, oldest first. */
static int each_generation(struct cairn_store *store, const struct view *v,
                           const char *task,
                           int (*each)(void *, const struct task_place *),
                           void *context, struct cairn_error *error)
{
    int result = 0;
    uint32_t found = 0;
    for (uint32_t gen = 1; gen <= v->row.gen && !result; gen++) {
        struct digest digest;
        struct definition definition;
        struct graph graph;
        result = run_graph(store, &v->row, gen, &digest, error);
        if (!result)
            result = graph_load(store, &digest, &definition, &graph, error);
        if (result == CAIRN_ENOTFOUND && gen < v->row.gen) {
            result = 0; /* an earlier definition that is lost tells nothing */
            continue;
        }
        if (result)
            break;
        struct task_place place = {gen, graph_find(&graph, str_of(task))};
        if (place.task != NODE_NONE) {
            found++;
            result = each(context, &place);
        }
        graph_release(&graph);
        definition_release(&definition);
    }
    if (!result && !found)
        return error_set(error, CAIRN_ENOTFOUND,
                         "run %llu has no task `%s`; `cairn status %llu --tasks` lists "
                         "them",
                         (unsigned long long)v->row.run, task,
                         (unsigned long long)v->row.run);
    return result;
}

/* ---- Attempts ---- */

struct attempt_lister {
    struct cairn_store *store;
    uint64_t run;
    int (*each)(void *, const struct cairn_attempt_info *);
    void *context;
    bool stopped;
    struct cairn_error *error;
};

static int show_attempt(void *context, const struct attempt_row *row)
{
    struct attempt_lister *l = context;
    struct buf text = BUF_INIT;
    if (row->ended_ns && !row->started_ns && !(row->flags & ATTEMPT_INTERRUPTED))
        return 0; /* an intent that was never acted on */
    buf_str(&text, row->text);
    struct cairn_attempt_info info = {
        .attempt = row->number,
        .open = !row->ended_ns || row->flags & ATTEMPT_INTERRUPTED,
        .outcome = row->outcome,
        .exit_code = row->exit_code,
        .signal = row->signal,
        .timed_out = row->flags & ATTEMPT_TIMED_OUT,
        .started_ns = row->started_ns ? row->started_ns : row->intent_ns,
        .ended_ns = row->ended_ns,
        .cpu_ms = row->cpu_us / 1000,
        .peak_kib = row->peak_kib,
        .stdout_bytes = row->out_bytes,
        .stderr_bytes = row->err_bytes,
        .text = text.size ? text.data : NULL,
        .undo = row->flags & ATTEMPT_UNDO,
        .check = row->flags & ATTEMPT_CHECK,
        .external = row->flags & ATTEMPT_EXTERNAL};
    l->stopped = l->each(l->context, &info) != 0;
    buf_release(&text);
    return l->stopped;
}

static int show_generation(void *context, const struct task_place *place)
{
    struct attempt_lister *l = context;
    if (l->stopped)
        return 0;
    return store_each_attempt(l->store, l->run, place->gen, place->task, show_attempt,
                              l, l->error);
}

int cairn_attempts(struct cairn_store *store, uint64_t run, const char *task,
                   int (*each)(void *, const struct cairn_attempt_info *),
                   void *context, struct cairn_error *error)
{
    struct view v;
    int result = view_open(&v, store, run, false, error);
    if (result)
        return result;
    struct attempt_lister l = {store, v.row.run, each, context, false, error};
    result = each_generation(store, &v, task, show_generation, &l, error);
    view_release(&v);
    return result < 0 ? result : 0;
}

/* ---- Output ---- */

struct output_finder {
    struct cairn_store *store;
    uint64_t run;
    uint32_t wanted; /* attempt, 0: the newest */
    int stream;
    struct cairn_error *error;
    bool found;
    struct task_place place;
    uint32_t number;
    bool stored;
    struct digest digest;
    bool has_digest;
    uint64_t bytes, head;
};

static int note_output(void *context, const struct attempt_row *row)
{
    struct output_finder *f = context;
    bool never_started =
        row->ended_ns && !row->started_ns && !(row->flags & ATTEMPT_INTERRUPTED);
    /* Unless it is asked for by its number, an undo is no attempt at the task. */
    bool undo = row->flags & ATTEMPT_UNDO && !f->wanted;
    if (never_started || undo || (f->wanted && row->number != f->wanted))
        return 0;
    struct str digest = f->stream == 1 ? row->out : row->err;
    f->found = true;
    f->number = row->number;
    f->stored = row->ended_ns != 0;
    f->has_digest = digest.len == DIGEST_SIZE;
    if (f->has_digest)
        memcpy(f->digest.bytes, digest.ptr, DIGEST_SIZE);
    f->bytes = f->stream == 1 ? row->out_bytes : row->err_bytes;
    f->head = f->stream == 1 ? row->out_head : row->err_head;
    return 0;
}

static int find_output(void *context, const struct task_place *place)
{
    struct output_finder *f = context;
    f->place = *place;
    return store_each_attempt(f->store, f->run, place->gen, place->task, note_output, f,
                              f->error);
}

static int show_captured(const struct captured *c,
                         int (*each)(void *, const char *, size_t, uint64_t),
                         void *context)
{
    size_t size = c->content.size, head = c->head ? (size_t)c->head : size;
    if (head > size)
        head = size;
    if (head && each(context, c->content.data, head, 0))
        return 0;
    if (size > head)
        each(context, c->content.data + head, size - head, c->bytes - size);
    return 0;
}

/* The attempt runs now, or was interrupted: its output is in the files of its slot. */
static int show_live(const struct output_finder *f,
                     int (*each)(void *, const char *, size_t, uint64_t), void *context)
{
    struct slot_map map;
    char path[4096];
    int result = 0;
    if (slots_open(&map, store_live_dir(f->store), f->run, NULL))
        return 0;
    for (uint32_t i = 0; i < map.slots->n; i++) {
        const struct slot *slot = &map.slots->slot[i];
        if (!slot->used || slot->gen != f->place.gen || slot->task != f->place.task ||
            slot->attempt != f->number)
            continue;
        struct captured c = {.content = BUF_INIT};
        capture_slot_path(path, sizeof path, map.slots, i, store_live_dir(f->store),
                          f->stream - 1);
        int fd = os_open_plain(path, O_RDONLY);
        if (fd < 0)
            break;
        result = capture_read(fd, LIMIT_OUTPUT_BYTES, &c, f->error);
        close(fd);
        if (!result)
            show_captured(&c, each, context);
        buf_release(&c.content);
        break;
    }
    slots_close(&map, false);
    return result;
}

static int show_stored(const struct output_finder *f,
                       int (*each)(void *, const char *, size_t, uint64_t),
                       void *context)
{
    struct captured c = {.bytes = f->bytes, .head = f->head};
    if (!f->has_digest)
        return 0;
    int result = store_get_object(f->store, &f->digest, &c.content, f->error);
    if (!result)
        show_captured(&c, each, context);
    buf_release(&c.content);
    return result;
}

int cairn_output(struct cairn_store *store, uint64_t run, const char *task,
                 uint32_t attempt, int stream,
                 int (*each)(void *, const char *bytes, size_t n, uint64_t gap_bytes),
                 void *context, struct cairn_error *error)
{
    struct view v;
    if (stream != 1 && stream != 2)
        return error_set(error, CAIRN_EUSAGE, "stream is 1 or 2");
    int result = view_open(&v, store, run, false, error);
    if (result)
        return result;
    struct output_finder f = {.store = store,
                              .run = v.row.run,
                              .wanted = attempt,
                              .stream = stream,
                              .error = error};
    result = each_generation(store, &v, task, find_output, &f, error);
    view_release(&v);
    if (result)
        return result;
    if (!f.found)
        return attempt ? error_set(error, CAIRN_ENOTFOUND,
                                   "task `%s` has no attempt %u in run %llu", task,
                                   attempt, (unsigned long long)f.run)
                       : error_set(error, CAIRN_ENOTFOUND,
                                   "task `%s` has not started in run %llu", task,
                                   (unsigned long long)f.run);
    return f.stored ? show_stored(&f, each, context) : show_live(&f, each, context);
}

/* ---- Cancelling ---- */

static int ask_owner(struct cairn_store *store, uint64_t run, struct cairn_error *error)
{
    int result = store_begin(store, -1, error);
    if (result)
        return result;
    struct command_row command = {.run = run,
                                  .verb = COMMAND_CANCEL,
                                  .task = UINT32_MAX,
                                  .time_ns = clock_utc_ns()};
    result = store_put_command(store, &command, error);
    if (result)
        store_abort(store);
    else
        result = store_commit(store, error);
    if (!result)
        outside_wake(store, run);
    return result;
}

static int mark_cancelled(struct cairn_store *store, struct run_row *row,
                          struct cairn_error *error)
{
    int result = store_begin(store, -1, error);
    if (result)
        return result;
    row->state = CAIRN_RUN_CANCELLED;
    row->ended_ns = clock_utc_ns();
    result = store_set_run(store, row, error);
    if (result) {
        store_abort(store);
        return result;
    }
    return store_commit(store, error);
}

static int refuse_ended(const struct run_row *row, struct cairn_error *error)
{
    return error_set(error, CAIRN_EUSAGE, "run %llu has %s already",
                     (unsigned long long)row->run, cairn_run_state_name(row->state));
}

/* The row is read again now that nobody else can change it: the run may have ended, or
 * gone on with another definition, in the meantime. */
static int cancel_owned(struct cairn_store *store, uint64_t run,
                        struct cairn_error *error)
{
    struct view v;
    int result = view_open(&v, store, run, false, error);
    if (result)
        return result;
    result = v.row.state == CAIRN_RUN_UNFINISHED ? mark_cancelled(store, &v.row, error)
                                                 : refuse_ended(&v.row, error);
    view_release(&v);
    return result;
}

/* Tasks under keepers outlived their cairn; cancelling the run ends them, too. */
static int end_what_lives(struct cairn_store *store, uint64_t run,
                          struct cairn_error *error)
{
    enum { GRACE_MS = 10000 };
    struct leftovers left = {0};
    int result = keepers_stop(store_live_dir(store), store_id(store), run, error);
    if (!result)
        result = leftovers_end(store_live_dir(store), store_id(store), run, GRACE_MS,
                               &left, error);
    if (!result && left.survived)
        return error_set(error, CAIRN_EBUSY,
                         "%u processes of run %llu do not end; end them and cancel "
                         "again",
                         left.survived, (unsigned long long)run);
    return result;
}

int cairn_cancel(struct cairn_store *store, uint64_t run, struct cairn_error *error)
{
    struct view v;
    uint64_t workflow;
    int64_t offset;
    int result = view_open(&v, store, run, false, error);
    if (result)
        return result;
    if (v.row.state != CAIRN_RUN_UNFINISHED)
        result = refuse_ended(&v.row, error);
    if (!result)
        result = store_check_keyed(store, v.row.run, v.row.keyed, error);
    if (!result) {
        result = owner_acquire(store, v.row.workflow_name, &workflow, &offset, error);
        if (!result) {
            result = end_what_lives(store, v.row.run, error);
            if (!result)
                result = cancel_owned(store, v.row.run, error);
            owner_release(store, offset);
        } else if (result == CAIRN_EOWNED)
            result = ask_owner(store, v.row.run, error);
    }
    view_release(&v);
    return result;
}

/* ---- The workflow of a run ---- */

static void free_params(struct cairn_param *params, size_t n)
{
    for (size_t i = 0; params && i < n; i++) {
        free((char *)(uintptr_t)params[i].name);
        free((char *)(uintptr_t)params[i].value);
    }
    free(params);
}

static int read_params(struct str canonical, struct cairn_param **out, size_t *n,
                       struct cairn_error *error)
{
    struct reader r = reader_of(canonical.ptr, canonical.len);
    struct cairn_param *params = NULL;
    bool failed = false;
    *n = 0;
    while (reader_left(&r) && !r.failed && !failed) {
        struct str name = read_lstr(&r), value = read_lstr(&r);
        struct cairn_param *more = realloc(params, (*n + 1) * sizeof *params);
        failed = !more;
        if (failed)
            break;
        params = more;
        struct cairn_param *param = &params[(*n)++];
        param->name = strndup(name.ptr ? name.ptr : "", name.len);
        param->value = strndup(value.ptr ? value.ptr : "", value.len);
        failed = !param->name || !param->value;
    }
    if (!failed && !reader_left(&r) && !r.failed) {
        *out = params;
        return 0;
    }
    free_params(params, *n);
    return r.failed
               ? error_set(error, CAIRN_EDAMAGED,
                           "the recorded params cannot be read; run `cairn doctor`")
               : error_nomem(error);
}

int cairn_run_params(struct cairn_store *store, uint64_t run,
                     int (*each)(void *, const char *name, const char *value),
                     void *context, struct cairn_error *error)
{
    struct run_row row;
    struct arena arena = ARENA_INIT;
    struct cairn_param *params = NULL;
    size_t n = 0;
    int result = run_row_get(&row, store, run, &arena, error);
    if (!result)
        result = read_params(row.params_text, &params, &n, error);
    for (size_t i = 0; i < n && !result; i++)
        if (each(context, params[i].name, params[i].value))
            break;
    if (!result)
        free_params(params, n);
    arena_release(&arena);
    return result;
}

static int load_file(struct cairn_workflow **out, const char *path,
                     struct cairn_store *store, const struct run_row *row,
                     struct cairn_error *error)
{
    size_t n;
    struct cairn_param *params;
    int result = run_trust(store, row, error);
    if (!result)
        result = read_params(row->params_text, &params, &n, error);
    if (result)
        return result;
    result = workflow_load_of_run(out, path, store, row, params, n, error);
    free_params(params, n);
    return result;
}

int workflow_stored(struct cairn_workflow **out, struct cairn_store *store,
                    const struct run_row *row, struct cairn_error *error)
{
    struct cairn_workflow *w = calloc(1, sizeof *w);
    if (!w)
        return error_nomem(error);
    int result = run_trust(store, row, error);
    if (!result)
        result = graph_load(store, &row->graph, &w->definition, &w->graph, error);
    if (result) {
        free(w);
        return result;
    }
    w->compiled = true;
    *out = w;
    return 0;
}

int cairn_workflow_of_run(struct cairn_workflow **out, struct cairn_store *store,
                          uint64_t run, bool *from_file, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct buf path = BUF_INIT;
    struct run_row row;
    int result = run_row_get(&row, store, run, &arena, error);
    int file = result ? result : home_find(store, &row, &path, error);
    result = file < 0    ? file
             : file == 0 ? workflow_stored(out, store, &row, error)
                         : load_file(out, path.data, store, &row, error);
    if (!result && from_file)
        *from_file = file;
    buf_release(&path);
    arena_release(&arena);
    return result;
}
