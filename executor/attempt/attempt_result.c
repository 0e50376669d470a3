/* SPDX-License-Identifier: MIT */
/* What a process or a call that has ended leaves. */
#include "executor/attempt/attempt_result.h"

#include "executor/attempt/launch.h"
#include "executor/attempt/made.h"
#include "executor/state/command_line.h"
#include "executor/state/job_disk.h"
#include "executor/state/report.h"

#include "base/json_scan.h"
#include "base/limits.h"
#include "base/os.h"
#include "base/utf8.h"
#include "graph/lists.h"
#include "runs/outputs.h"
#include "runs/stored.h"
#include "runs/values.h"
#include "secrets/outside.h"
#include "storage/rows_attempt.h"
#include "workflow/glob.h"

#include <errno.h>
#include <stdio.h>

void job_describe_signal(int signal, struct buf *text)
{
    const char *name = sigabbrev_np(signal);
    buf_format(text, "killed by signal %d (SIG%s)", signal, name ? name : "?");
}

void job_describe_end(const struct engine *e, const struct job *job,
                      struct ending *ending)
{
    const struct task_def *def = graph_def(e->request.graph, job->intent.task);
    if (job->timed_out)
        buf_format(&ending->text, "timed out after %g s",
                   (double)def->timeout_ms / 1000);
    else if (job->cancelled)
        buf_text(&ending->text, "cancelled");
    else if (job->bereft)
        buf_format(&ending->text, "the service %s ended while it ran",
                   e->request.graph->id[job->bereft - 1]);
    else if (ending->row.signal)
        job_describe_signal(ending->row.signal, &ending->text);
    else if (ending->row.exit_code == 127 && job->request.argv)
        spawn_describe_not_found(&job->request, &ending->text);
}

/* Where its end is noted, its output is there until the outcome is committed. The check
 * of a task writes to the same slot, and must not be taken for the task. */
static int reset_slot(struct engine *e, struct job *job, struct ending *ending,
                      struct cairn_error *error)
{
    bool checked = graph_def(e->request.graph, job->intent.task)->check.len > 0;
    uint32_t slot = job_index(&e->jobs, job);
    if (job->noted && job->role == ROLE_TASK) {
        ending->has_files |=
            capture_set_aside(&job->capture, e->run.live_dir, e->run.row.run, slot,
                              &job->order.id, checked);
    }
    return capture_reset(&job->capture, e->run.live_dir, e->run.row.run, slot, error);
}

void job_capture(struct engine *e, struct job *job, struct ending *ending)
{
    struct cairn_error error = {0};
    int rc = 0;
    job_pipes_finish(e, job);
    if (!job->capture_open)
        return;
    for (int i = 0; i < job_streams(job) && !rc; i++)
        if (job->capture.fd[i] >= 0)
            rc = capture_read(job->capture.fd[i], output_limit(e), &ending->captured[i],
                              &error);
    bool lost = rc != 0;
    for (int i = 0; job->kept && i < 2; i++)
        redact_captured(e, &ending->captured[i]);
    if (job->merged)
        log_times_encode(&job->log_times, job->started_ns, &ending->times);
    memcpy(ending->told, job->told, sizeof ending->told);
    ending->row.out_bytes = ending->captured[0].bytes;
    ending->row.err_bytes = ending->captured[1].bytes;
    ending->row.out_head = ending->captured[0].head;
    ending->row.err_head = ending->captured[1].head;
    if (!rc && !job->kept)
        rc = reset_slot(e, job, ending, &error);
    if (!rc)
        return;
    /* Output that cannot be read, or files that cannot be reset, must not lose the
     * outcome. The slot's files are made again for the next attempt. */
    if (lost)
        job_lose_output(e, job->intent.task, error.text);
    capture_close(&job->capture);
    job->capture_open = false;
}

struct ending *ending_of_job(struct engine *e, struct job *job,
                             const struct process_end *end, struct cairn_error *error)
{
    struct ending *ending = turn_draft_ending(e, &job->intent, error);
    if (!ending)
        return NULL;
    ending->row.started_ns = job->started_ns;
    if (job->ended_ns)
        ending->row.ended_ns = job->ended_ns;
    ending->note = job->note;
    job->note = NOTE_NONE;
    ending->duration_ms = (ending->row.ended_ns - job->started_ns) / 1000000;
    ending->reading_ms = job->reading_ns / 1000000;
    if (end) {
        ending->row.exit_code = end->exit_code;
        ending->row.signal = end->signal;
        ending->unseen = end->unknown;
    }
    return ending;
}

void ending_add_usage(struct ending *ending, const struct job *job,
                      const struct process_end *end)
{
    ending->row.cpu_us = end->cpu_us;
    ending->row.peak_kib = end->peak_kib;
    ending->row.flags |= job->timed_out ? ATTEMPT_TIMED_OUT : 0;
}

/* What a completed attempt leaves for later decisions: values, outputs, and what was
 * known of it before it started, as one object. */

/* What other tasks refer to; and an undo that cannot be read back from the store. */
static bool is_needed_in_memory(const struct engine *e, const struct ending *ending)
{
    uint32_t task = ending->row.task;
    bool unstored = !e->request.store || e->saving.degraded;
    return (e->progress.referred && (ending->result.size || ending->same) &&
            e->progress.referred[e->request.graph->def_of[task]]) ||
           (unstored && graph_def(e->request.graph, task)->undo.len);
}

void ending_drop_result(struct ending *ending)
{
    buf_clear(&ending->result);
    ending->change.outputs = (struct digest){{0}};
}

static int encode_result(struct ending *ending, const struct result *result,
                         struct cairn_error *error)
{
    ending_drop_result(ending);
    int rc = result_encode(result, &ending->result, error);
    if (!rc && ending->result.size)
        rc = sha256_of(ending->result.data, ending->result.size,
                       &ending->change.outputs, error);
    return rc;
}

int ending_keep_result(struct engine *e, struct ending *ending,
                       const struct result *result, struct cairn_error *error)
{
    int rc = encode_result(ending, result, error);
    if (!rc) {
        progress_saw_outputs(e, &ending->change.outputs, result);
        made_note(e, ending, result);
    }
    if (!rc && is_needed_in_memory(e, ending))
        rc = lookup_put(&e->progress.lookup, ending->row.task,
                        buf_view(&ending->result), error);
    return rc;
}

int ending_keep_spared(struct engine *e, struct ending *ending,
                       const struct result *result, const struct digest *stored,
                       struct cairn_error *error)
{
    struct lookup *l = &e->progress.lookup;
    uint32_t task = ending->row.task;
    int rc = stored ? 0 : encode_result(ending, result, error);
    if (stored) {
        ending->same = result;
        ending->change.outputs = *stored;
    }
    if (!rc)
        made_note(e, ending, result);
    if (!rc && is_needed_in_memory(e, ending))
        rc = stored ? lookup_keep(l, task, result, error)
                    : lookup_put(l, task, buf_view(&ending->result), error);
    return rc;
}

void ending_keep_inputs(struct engine *e, const struct result *known,
                        struct ending *ending)
{
    const struct result inputs = {.inputs = known->inputs,
                                  .n_inputs = known->n_inputs,
                                  .secrets = known->secrets,
                                  .n_secrets = known->n_secrets,
                                  .round = known->round};
    if (encode_result(ending, &inputs, NULL))
        engine_break(e);
}

/* What is there when it is decided. An input that is missing is recorded so. */
static int look_at_inputs(const struct asker *asker, struct arena *arena,
                          struct result *result, struct cairn_error *error)
{
    struct file_look look;
    struct file_reader reader = {.digests = &asker->lookup->digests,
                                 .stop = asker->lookup->stop};
    int rc = file_look_begin(&look, asker, true, error)
                 ?: file_look_go_on(&look, &reader, error);
    if (!rc)
        rc = file_look_take(&look, arena, result, error);
    else if (look.failed)
        rc = file_look_take_failed(&look, arena, &result->inputs, &result->n_inputs,
                                   error);
    file_look_release(&look);
    return rc;
}

static int add_earlier_values(struct engine *e, uint32_t task, struct arena *arena,
                              struct result *result, struct cairn_error *error)
{
    const struct states *states = &e->progress.states;
    struct result earlier = {0};
    if (!states->outputs || result->n_values || digest_is_none(&states->outputs[task]))
        return 0;
    int rc =
        result_load(e->request.store, &states->outputs[task], arena, &earlier, error);
    if (rc)
        return rc;
    result->values = earlier.values;
    result->n_values = earlier.n_values;
    return 0;
}

/* As if it had read what is there now. */
static int read_inputs_now(struct engine *e, const struct asker *asker,
                           struct arena *arena, struct result *result,
                           struct cairn_error *error)
{
    int rc = lookup_scope(asker).def->n_inputs
                 ? look_at_inputs(asker, arena, result, error)
                 : 0;
    /* Who only decides need not have them. */
    if (!rc && !secrets_missing(&e->run.situation.secrets).len)
        rc = launch_mark_secrets(e, asker->task, arena, result, error);
    return rc;
}

int result_add_earlier(struct engine *e, const struct asker *asker, struct arena *arena,
                       struct result *result, struct cairn_error *error)
{
    if (e->progress.states.outcome[asker->task] != CAIRN_UNKNOWN)
        return 0;
    int rc = add_earlier_values(e, asker->task, arena, result, error);
    return rc ? rc : read_inputs_now(e, asker, arena, result, error);
}

int ending_keep_inputs_now(struct engine *e, const struct asker *asker,
                           struct ending *ending, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct cairn_error why = {0};
    struct result read = {0};
    int rc = read_inputs_now(e, asker, &arena, &read, &why);
    if (!rc)
        ending_keep_inputs(e, &read, ending);
    arena_release(&arena);
    return rc == CAIRN_ENOMEM || rc == CAIRN_ESTOPPED
               ? error_set(error, rc, "%s", why.text)
               : 0;
}

int read_outputs(const struct asker *asker, struct arena *arena, struct result *result,
                 struct cairn_error *error)
{
    return task_def_makes_files(lookup_scope(asker).def)
               ? files_look(asker, false, arena, result, error)
               : 0;
}

static void redact_values(struct engine *e, struct job *job)
{
    struct result *r = &job->result;
    for (uint32_t i = 0; e->run.situation.secrets.redactor && i < r->n_values; i++) {
        struct buf clean = BUF_INIT;
        buf_str(&clean, r->values[i].value);
        redact_buf(e, &clean);
        job->arena.failed |= clean.failed;
        r->values[i].value = arena_str(&job->arena, buf_view(&clean));
        buf_release(&clean);
    }
}

/* A name cannot be redacted, nor a document that another task reads. */
static int check_values(const struct engine *e, const struct result *result,
                        struct cairn_error *error)
{
    struct outside outside = {.redactor = e->run.situation.secrets.redactor};
    struct cairn_error why = {0};
    int rc = 0;
    for (uint32_t i = 0; outside.redactor && i < result->n_values && !rc; i++) {
        char what[240];
        struct str key = result->values[i].key;
        struct outside_text name = {OUTSIDE_NAME, "the name of a value", key, NULL};
        struct outside_text value = {OUTSIDE_PROSE, what, result->values[i].value,
                                     NULL};
        rc = outside_check(&outside, &name, &why);
        snprintf(what, sizeof what, "the value %.*s", (int)utf8_fit(key, 200), key.ptr);
        if (!rc)
            rc = outside_check(&outside, &value, &why);
    }
    return rc ? error_set(error, CAIRN_EWORKFLOW, "%s", why.text) : 0;
}

static int read_values(struct engine *e, struct job *job, struct ending *ending,
                       struct cairn_error *error)
{
    struct buf text = BUF_INIT;
    struct cairn_error why = {0};
    int rc = values_take(e, job, ending, &text, &why);
    if (!rc && text.size)
        rc = values_parse(&job->arena, buf_view(&text), &job->result.values,
                          &job->result.n_values, &why);
    buf_release(&text);
    if (!rc)
        rc = check_values(e, &job->result, &why);
    if (rc) {
        error_set(error, rc, "what it wrote to $CAIRN_OUTPUT is not valid: %s",
                  why.text);
        error->sys = why.sys;
    }
    return rc;
}

/* ---- Lists in files ---- */

/* Where the list is, from the root or (`absolute`) as a path. */
static int place_of_list(const struct engine *e, uint32_t task,
                         const struct list_spec *spec, bool absolute, struct buf *out,
                         struct cairn_error *error)
{
    const struct graph *g = e->request.graph;
    const struct scope scope = {.definition = g->definition,
                                .def = graph_def(g, task),
                                .member = graph_member(g, task)};
    struct str root = g->definition->root;
    struct buf name = BUF_INIT;
    int rc = 0;
    if (list_is_of_members(spec))
        rc = text_expand(&scope, spec->value, &name, error);
    else
        buf_str(&name, spec->value);
    if (!rc && name.size && absolute && name.data[0] != '/' && root.len) {
        buf_str(out, root); /* none: built in memory */
        buf_byte(out, '/');
    }
    buf_str(out, buf_view(&name));
    out->failed |= name.failed;
    buf_release(&name);
    return rc ? rc : buf_check(out, error);
}

static int read_names(const struct engine *e, struct str pattern, struct buf *text,
                      struct cairn_error *error)
{
    struct arena names = ARENA_INIT;
    struct glob_names found = {NULL, 0};
    struct str root = e->request.graph->definition->root;
    int rc = glob_expand(root.len ? root.ptr : ".", pattern, &names, &found, error);
    buf_byte(text, '[');
    for (uint32_t i = 0; !rc && i < found.n; i++) {
        buf_text(text, i ? ",\"" : "\"");
        json_escape(found.names[i], text);
        buf_byte(text, '"');
    }
    buf_byte(text, ']');
    arena_release(&names);
    return rc;
}

/* What a list is made of, as its text in the result. CAIRN_EWORKFLOW, CAIRN_EIO or
 * another reason why there is none. */
static int read_list(const struct engine *e, uint32_t task,
                     const struct list_spec *spec, struct buf *text,
                     struct cairn_error *error)
{
    struct buf place = BUF_INIT;
    bool glob = spec->form == LIST_GLOB;
    int rc = place_of_list(e, task, spec, !glob, &place, error);
    if (!rc && glob)
        rc = read_names(e, buf_view(&place), text, error);
    else if (!rc)
        rc = os_read_regular(place.data, LIMIT_FILE_BYTES, text, error);
    if (!rc && !glob && text->size && memchr(text->data, 0, text->size))
        rc = error_set(error, CAIRN_EWORKFLOW, "%s has a NUL byte", place.data);
    buf_release(&place);
    return rc ? rc : buf_check(text, error);
}

/* In the order of their keys. */
static void insert_value(struct job *job, struct key_value value)
{
    struct result *r = &job->result;
    struct key_value *values =
        arena_take(&job->arena, (size_t)r->n_values + 1, sizeof *values);
    uint32_t at = 0;
    if (!values)
        return;
    while (at < r->n_values && str_compare(r->values[at].key, value.key) < 0)
        at++;
    for (uint32_t i = 0; i < r->n_values; i++)
        values[i + (i >= at)] = r->values[i];
    values[at] = value;
    r->values = values;
    r->n_values++;
}

/* What cannot be read now may be read when the task has run again; without a list the
 * group fails that wanted it, and the task has done its work. */
static bool is_trouble(int rc)
{
    return rc && rc != CAIRN_ENOTFOUND && rc != CAIRN_EUSAGE && rc != CAIRN_EWORKFLOW &&
           rc != CAIRN_ELIMIT;
}

static int add_list(struct engine *e, struct job *job, const struct list_spec *spec,
                    struct cairn_error *error)
{
    struct buf name = BUF_INIT, text = BUF_INIT;
    struct cairn_error why = {0};
    list_spec_key(spec, &name);
    struct str key = arena_str(&job->arena, buf_view(&name));
    bool known = values_find(job->result.values, job->result.n_values, key);
    int rc = known ? 0 : read_list(e, job->intent.task, spec, &text, &why);
    if (is_trouble(rc)) {
        error_set(error, rc, "the list that it leaves could not be read: %s", why.text);
        error->sys = why.sys;
    } else if (rc) {
        char notice[1400];
        snprintf(notice, sizeof notice, "%s leaves no list: %.1000s",
                 e->request.graph->id[job->intent.task], why.text);
        report(e, CAIRN_EVENT_NOTICE, notice);
    } else if (!known)
        insert_value(job,
                     (struct key_value){key, arena_str(&job->arena, buf_view(&text))});
    buf_release(&name);
    buf_release(&text);
    return job->arena.failed ? error_nomem(error) : is_trouble(rc) ? rc : 0;
}

/* The lists that other tasks take from files which it has left: as they are now. */
static int read_lists(struct engine *e, struct job *job, struct cairn_error *error)
{
    const struct definition *d = e->request.graph->definition;
    uint32_t index = e->request.graph->def_of[job->intent.task];
    struct list_spec spec;
    int rc = 0;
    if (!e->progress.makes_list || !e->progress.makes_list[index])
        return 0;
    for (uint32_t i = 0; i < d->n_defs && !rc; i++)
        for (uint32_t k = 0; k < d->defs[i].n_foreach && !rc; k++)
            if (list_spec_of(&d->defs[i].foreach[k], &spec) &&
                spec.form != LIST_VALUE && str_equal(spec.task, d->defs[index].id))
                rc = add_list(e, job, &spec, error);
    return rc;
}

/* What a failed attempt wanted to pass on. */
static void drop_values(struct engine *e, struct job *job, struct ending *ending)
{
    struct buf ignored = BUF_INIT;
    if (graph_def(e->request.graph, job->intent.task)->kind != TASK_CALL)
        values_take(e, job, ending, &ignored, NULL);
    buf_release(&ignored);
}

/* It has ended well, but nobody knows what it made: what must not run twice does not
 * run again for that. */
void ending_stop_look(struct engine *e, struct ending *ending, const char *why)
{
    bool once = graph_def(e->request.graph, ending->row.task)->once;
    ending->row.outcome = once ? CAIRN_UNKNOWN : CAIRN_CANCELLED;
    buf_format(&ending->text, "it ended well, but the run was %s", why);
}

int result_look(struct engine *e, struct job *job, struct ending *ending,
                struct cairn_error *why)
{
    /* A check that decides says so of whatever there was before. */
    job->look_since_ns = job->role == ROLE_DECIDE ? 0 : ending->row.started_ns;
    int rc = looks_begin(e, job, false, why);
    if (rc != LOOK_WAITS)
        return rc;
    ending_hold(e, job, ending);
    return rc;
}

void ending_hold(struct engine *e, struct job *job, const struct ending *ending)
{
    job->held = *ending;
    job->has_held = true;
    if (e->halting.level == HALT_KILL ||
        (e->halting.level == HALT_STOP && e->phase == PHASE_MAIN))
        halt_look(e, job);
}

/* What we lack is no fault of the task: the run is given up, and the next one takes the
 * end over, which is noted. */
bool is_our_want(const struct cairn_error *why)
{
    return why->code == CAIRN_ENOMEM || why->sys == EMFILE || why->sys == ENFILE;
}

int result_finish(struct engine *e, struct job *job, struct ending *ending, int rc,
                  struct cairn_error *why)
{
    if (rc == CAIRN_ESTOPPED) {
        ending_stop_look(e, ending, why->text);
        drop_values(e, job, ending);
        return 0;
    }
    if (!rc) /* those that a callback has set are there */
        rc = graph_def(e->request.graph, job->intent.task)->kind == TASK_CALL
                 ? check_values(e, &job->result, why)
                 : read_values(e, job, ending, why);
    if (!rc)
        rc = read_lists(e, job, why);
    if (!rc)
        redact_values(e, job);
    if (!rc && job->arena.failed)
        rc = error_nomem(why);
    if (!rc)
        rc = ending_keep_result(e, ending, &job->result, why);
    if (!rc)
        return 0;
    if (is_our_want(why)) {
        ending_release(ending);
        return rc;
    }
    ending_drop_result(ending);
    ending->row.outcome = CAIRN_FAILED;
    buf_format(&ending->text, "it ended well, but %s", why->text);
    return 0;
}

int result_begin(struct engine *e, struct job *job, struct ending *ending,
                 struct cairn_error *error)
{
    struct cairn_error why = {0};
    job->result.round = job_round(e, job);
    if (ending->row.outcome != CAIRN_COMPLETED) {
        drop_values(e, job, ending);
        return 0;
    }
    int rc = result_look(e, job, ending, &why);
    if (rc == LOOK_WAITS)
        return rc;
    rc = result_finish(e, job, ending, rc, &why);
    return rc ? error_set(error, rc, "%s", why.text) : 0;
}
