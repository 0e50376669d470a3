/* SPDX-License-Identifier: MIT */
#include "plan/evidence.h"

#include "base/clock.h"
#include "base/os.h"
#include "runs/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct evidence_search {
    struct evidence_source *source;
    uint32_t task;
    struct scope scope;
    const struct result *result;
    struct buf directory;
    uint8_t *found;
    struct buf *which;
};

static void note_difference(struct evidence_search *k, uint8_t found, struct str name)
{
    *k->found = found;
    buf_clear(k->which);
    buf_str(k->which, name);
}

/* What was only touched is the same as long as nobody touches it again. */
static bool is_settled(const struct result_file *now)
{
    return clock_settled(now->changed_ns, clock_utc_ns());
}

/* The outputs are as they were recorded. */
static void note_outputs(struct evidence_search *k, const struct result_file *now)
{
    const struct states *states = k->source->lookup->states;
    if (k->source->index && states->outputs)
        output_index_add(k->source->index, &states->outputs[k->task], now,
                         k->result->n_outputs);
}

static bool same_sign(const struct result_file *a, const struct result_file *b)
{
    struct file_sign x = output_sign(a), y = output_sign(b);
    return a->kind == 'f' && memcmp(&x, &y, sizeof x) == 0;
}

/* 0: it is the same; 1: it is not, which is noted; or an error. */
static int compare_output(struct evidence_search *k, const struct result_file *file,
                          struct result_file *now, struct cairn_error *error)
{
    const struct file_view view = {.directory = buf_view(&k->directory),
                                   .content = k->source->check != CAIRN_OUTPUTS_EXIST,
                                   .trust_times =
                                       k->source->check == CAIRN_OUTPUTS_CHANGED,
                                   .digests = &k->source->lookup->digests,
                                   .stop = k->source->lookup->stop};
    enum file_state state;
    int rc = file_compare(&view, file, &state, now, error);
    if (rc || state == FILE_SAME)
        return rc;
    note_difference(k, state == FILE_MISSING ? OUTPUT_MISSING : OUTPUT_DIFFERS,
                    file->name);
    k->source->differs = *now;
    return 1;
}

static int compare_outputs(struct evidence_search *k, struct result_file *now,
                           struct cairn_error *error)
{
    bool settled = true;
    for (uint32_t i = 0; i < k->result->n_outputs; i++) {
        const struct result_file *file = &k->result->outputs[i];
        int rc = compare_output(k, file, &now[i], error);
        if (rc)
            return rc < 0 ? rc : 0;
        settled = settled && (same_sign(file, &now[i]) || is_settled(&now[i]));
    }
    if (settled)
        note_outputs(k, now);
    return 0;
}

static int look_at_recorded_outputs(struct evidence_search *k,
                                    struct cairn_error *error)
{
    size_t room = k->result->n_outputs ? k->result->n_outputs : 1;
    struct result_file *now = calloc(room, sizeof *now);
    int rc = now ? compare_outputs(k, now, error) : error_nomem(error);
    free(now);
    return rc;
}

/* Relative to the open root, so that its path is not resolved for every file: the rest
 * of the path, and in *from the directory that it starts in. */
static const char *shorten(const struct evidence_search *k, const char *path, int *from)
{
    struct str root = k->scope.definition->root;
    bool below = k->source->root_fd >= 0 && strncmp(path, root.ptr, root.len) == 0 &&
                 path[root.len] == '/' && path[root.len + 1] != '/' &&
                 path[root.len + 1];
    *from = below ? k->source->root_fd : AT_FDCWD;
    return below ? path + root.len + 1 : path;
}

/* 0: it is there. */
static int look_for(const struct evidence_search *k, const char *path)
{
    int from;
    const char *rest = shorten(k, path, &from);
    return faccessat(from, rest, F_OK, AT_EACCESS);
}

static bool has_sign(const struct evidence_search *k, const char *path,
                     const struct file_sign *sign)
{
    int from;
    const char *rest = shorten(k, path, &from);
    struct file_sign now;
    return file_sign_at(from, rest, path, &now) && now.kind == sign->kind &&
           memcmp(now.bytes, sign->bytes, sizeof now.bytes) == 0;
}

static bool has_fixed_outputs(const struct evidence_search *k)
{
    const struct task_def *def = k->scope.def;
    struct evidence_source *source = k->source;
    if (source->fixed_of == def)
        return source->fixed;
    source->fixed_of = def;
    source->fixed = true;
    for (uint32_t i = 0; i < def->n_outputs && source->fixed; i++)
        source->fixed = text_is_fixed(k->scope.definition, def->outputs[i]);
    return source->fixed;
}

/* Whether all outputs are as the index has them: then their result need not be read. */
static int look_at_index(struct evidence_search *k, bool *same,
                         struct cairn_error *error)
{
    const struct states *states = k->source->lookup->states;
    struct file_sign sign;
    struct files f;
    *same = false;
    if (!k->source->index || !states->outputs || !has_fixed_outputs(k))
        return 0;
    const struct digest *result = &states->outputs[k->task];
    int rc = files_begin(&f, &k->scope, false, error), more = 0;
    for (uint32_t i = 0; !rc && (more = files_step(&f, error)) > 0; i++)
        if (!output_index_find(k->source->index, result, f.n, i, &sign) ||
            !has_sign(k, f.path.data, &sign))
            break;
    *same = !rc && more == 0;
    files_release(&f);
    return rc ? rc : more < 0 ? more : 0;
}

/* The file of that name as it was recorded, or NULL. */
static const struct result_file *recorded_output(const struct evidence_search *k,
                                                 struct str name)
{
    for (uint32_t i = 0; i < k->result->n_outputs; i++)
        if (str_equal(k->result->outputs[i].name, name))
            return &k->result->outputs[i];
    return NULL;
}

/* *same: the declared names are those that were recorded, which they are unless an edit
 * was kept. Names that depend on other tasks' values are taken for them: what they
 * stand for cannot have changed unless those tasks run again. */
static int match_names(struct evidence_search *k, bool *same, struct cairn_error *error)
{
    struct files f;
    int more = 0;
    *same = k->result->n_outputs == k->scope.def->n_outputs;
    if (!*same || !has_fixed_outputs(k))
        return 0;
    int rc = files_begin(&f, &k->scope, false, error);
    for (uint32_t i = 0; !rc && *same && (more = files_step(&f, error)) > 0; i++)
        *same = str_equal(k->result->outputs[i].name, buf_view(&f.name));
    files_release(&f);
    return rc ? rc : more < 0 ? more : 0;
}

/* That it is there is enough. */
static int look_for_output(struct evidence_search *k, const struct files *f,
                           struct cairn_error *error)
{
    if (look_for(k, f->path.data) == 0)
        return 0;
    if (!os_is_missing(errno))
        return error_sys(error, errno, "cannot look at %s", f->path.data);
    note_difference(k, OUTPUT_MISSING, buf_view(&f->name));
    return 0;
}

/* Of what was not recorded, no more is known than that it must be there. */
static int look_for_outputs(struct evidence_search *k, struct cairn_error *error)
{
    struct files f;
    struct result_file now;
    int rc = files_begin(&f, &k->scope, false, error), more = 0;
    while (!rc && *k->found == EVIDENCE_GOOD && (more = files_step(&f, error)) > 0) {
        const struct result_file *file = recorded_output(k, buf_view(&f.name));
        rc =
            file ? compare_output(k, file, &now, error) : look_for_output(k, &f, error);
        rc = rc < 0 ? rc : 0;
    }
    files_release(&f);
    return rc ? rc : more < 0 ? more : 0;
}

static int look_at_inputs(struct evidence_search *k, struct cairn_error *error)
{
    const struct file_view view = {.directory = buf_view(&k->directory),
                                   .content = true,
                                   .trust_times = true,
                                   .digests = &k->source->lookup->digests,
                                   .stop = k->source->lookup->stop};
    struct result_file now;
    enum file_state state;
    int rc = 0;
    for (uint32_t i = 0; i < k->result->n_inputs && !rc; i++) {
        const struct result_file *file = &k->result->inputs[i];
        rc = file_compare(&view, file, &state, &now, error);
        if (rc || state == FILE_SAME)
            continue;
        note_difference(k, state == FILE_MISSING ? INPUT_MISSING : INPUT_DIFFERS,
                        file->name);
        break;
    }
    return rc;
}

/* Of an attempt that failed because of an input only that one is recorded, and nothing
 * where it failed before. */
static bool knows_all_inputs(const struct evidence_search *k)
{
    const struct result *r = k->result;
    return k->source->lookup->states->outcome[k->task] == CAIRN_COMPLETED ||
           (r->n_inputs && !file_was_unreadable(&r->inputs[0]));
}

/* A file that matches a pattern now and was not there then. The names come in the same
 * order. */
static int look_for_more_inputs(struct evidence_search *k, struct cairn_error *error)
{
    struct files f;
    int more = 0;
    uint32_t i = 0;
    if (!inputs_have_glob(k->scope.def) || !knows_all_inputs(k))
        return 0;
    int rc = files_begin(&f, &k->scope, true, error);
    while (!rc && (more = files_step(&f, error)) > 0 && i < k->result->n_inputs &&
           str_equal(k->result->inputs[i].name, buf_view(&f.name)))
        i++;
    if (!rc && more > 0)
        note_difference(k, INPUT_NEW, buf_view(&f.name));
    files_release(&f);
    return rc ? rc : more < 0 ? more : 0;
}

static int look_at_secrets(struct evidence_search *k, struct cairn_error *error)
{
    const struct secrets *secrets = k->source->secrets;
    for (uint32_t i = 0; i < k->result->n_secrets; i++) {
        const struct secret_mark *mark = &k->result->secrets[i];
        struct digest now;
        if (!secrets->has_key || !secrets_value(secrets, mark->name).ptr) {
            k->source->unknown_secret = true;
            continue;
        }
        int rc = secrets_mark(secrets, mark->name, &now, error);
        if (rc)
            return rc;
        if (digest_equal(&now, &mark->mac))
            continue;
        note_difference(k, SECRET_DIFFERS, mark->name);
        break;
    }
    return 0;
}

/* `outputs`: they are to be looked at. */
static bool wants_result(const struct evidence_search *k, bool outputs)
{
    const struct task_def *def = k->scope.def;
    return def->n_inputs || def->n_secrets ||
           (outputs &&
            (k->source->check != CAIRN_OUTPUTS_EXIST || !has_fixed_outputs(k)));
}

static int look_at_all(struct evidence_search *k, bool outputs,
                       struct cairn_error *error)
{
    bool recorded = k->result->n_inputs || k->result->n_outputs;
    int rc = recorded ? task_directory(&k->scope, &k->directory, error) : 0;
    bool recorded_so = false;
    if (!rc && outputs)
        rc = match_names(k, &recorded_so, error);
    if (!rc && outputs)
        rc = recorded_so ? look_at_recorded_outputs(k, error)
                         : look_for_outputs(k, error);
    if (!rc && *k->found == EVIDENCE_GOOD)
        rc = look_at_inputs(k, error);
    if (!rc && *k->found == EVIDENCE_GOOD)
        rc = look_for_more_inputs(k, error);
    if (!rc && *k->found == EVIDENCE_GOOD)
        rc = look_at_secrets(k, error);
    return rc;
}

static int search(struct evidence_search *k, struct cairn_error *error)
{
    bool completed = k->source->lookup->states->outcome[k->task] == CAIRN_COMPLETED;
    bool outputs = completed && k->source->outputs && k->scope.def->n_outputs;
    bool same = false;
    int rc = outputs && k->source->check == CAIRN_OUTPUTS_CHANGED
                 ? look_at_index(k, &same, error)
                 : 0;
    outputs = outputs && !same;
    if (!rc && wants_result(k, outputs))
        rc = lookup_result(k->source->lookup, k->task, &k->result, error);
    return rc ? rc : look_at_all(k, outputs, error);
}

int evidence_look(struct evidence_source *source, uint32_t task, uint8_t *found,
                  struct buf *which, struct cairn_error *error)
{
    static const struct result nothing;
    struct asker asker = {.lookup = source->lookup, .task = task};
    struct evidence_search k = {.source = source,
                                .task = task,
                                .scope = lookup_scope(&asker),
                                .result = &nothing,
                                .found = found,
                                .which = which};
    *found = EVIDENCE_GOOD;
    int rc = search(&k, error);
    buf_release(&k.directory);
    return rc;
}
