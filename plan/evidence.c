/* SPDX-License-Identifier: MIT */
#include "plan/evidence.h"

#include "base/os.h"
#include "runs/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct evidence_search {
    struct evidence_source *source;
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

/* Names that depend on other tasks' values are those that were recorded: what they
 * stand for cannot have changed unless those tasks run again. */
static bool outputs_recorded(const struct evidence_search *k)
{
    return k->result->n_outputs == k->scope.def->n_outputs;
}

static int look_at_recorded_outputs(struct evidence_search *k,
                                    struct cairn_error *error)
{
    const struct file_view view = {.directory = buf_view(&k->directory),
                                   .content = k->source->content,
                                   .digests = &k->source->lookup->digests};
    enum file_state state;
    int rc = 0;
    for (uint32_t i = 0; i < k->result->n_outputs && !rc; i++) {
        const struct result_file *file = &k->result->outputs[i];
        rc = file_compare(&view, file, &state, error);
        if (rc || state == FILE_SAME)
            continue;
        note_difference(k, state == FILE_MISSING ? OUTPUT_MISSING : OUTPUT_DIFFERS,
                        file->name);
        break;
    }
    return rc;
}

/* From the root, so that not every look walks down to it. 0: it is there. */
static int look_for(const struct evidence_search *k, const char *path)
{
    struct str root = k->scope.definition->root;
    bool below = k->source->root_fd >= 0 && strncmp(path, root.ptr, root.len) == 0 &&
                 path[root.len] == '/' && path[root.len + 1] != '/' &&
                 path[root.len + 1];
    return below ? faccessat(k->source->root_fd, path + root.len + 1, F_OK, AT_EACCESS)
                 : faccessat(AT_FDCWD, path, F_OK, AT_EACCESS);
}

/* That they are there is enough, and their names are fixed. */
static int look_for_outputs(struct evidence_search *k, struct cairn_error *error)
{
    struct files f;
    int rc = files_begin(&f, &k->scope, false, error), more = 0;
    while (!rc && *k->found == EVIDENCE_GOOD && (more = files_step(&f, error)) > 0)
        if (look_for(k, f.path.data) < 0) {
            if (os_is_missing(errno))
                note_difference(k, OUTPUT_MISSING, buf_view(&f.name));
            else
                rc = error_sys(error, errno, "cannot look at %s", f.path.data);
        }
    files_release(&f);
    return rc ? rc : more < 0 ? more : 0;
}

static int look_at_inputs(struct evidence_search *k, struct cairn_error *error)
{
    const struct file_view view = {.directory = buf_view(&k->directory),
                                   .content = true,
                                   .trust_times = true,
                                   .digests = &k->source->lookup->digests};
    enum file_state state;
    int rc = 0;
    for (uint32_t i = 0; i < k->result->n_inputs && !rc; i++) {
        const struct result_file *file = &k->result->inputs[i];
        rc = file_compare(&view, file, &state, error);
        if (rc || state == FILE_SAME)
            continue;
        note_difference(k, INPUT_DIFFERS, file->name);
        break;
    }
    return rc;
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

static bool wants_result(const struct evidence_search *k)
{
    const struct task_def *def = k->scope.def;
    bool fixed = true;
    for (uint32_t i = 0; i < def->n_outputs && fixed; i++)
        fixed = text_is_fixed(k->scope.definition, def->outputs[i]);
    return def->n_inputs || def->n_secrets ||
           (k->source->outputs && def->n_outputs && (k->source->content || !fixed));
}

static int look_at_all(struct evidence_search *k, struct cairn_error *error)
{
    const struct task_def *def = k->scope.def;
    bool recorded = k->result->n_inputs || k->result->n_outputs;
    int rc = recorded ? task_directory(&k->scope, &k->directory, error) : 0;
    if (!rc && k->source->outputs && def->n_outputs)
        rc = outputs_recorded(k) ? look_at_recorded_outputs(k, error)
                                 : look_for_outputs(k, error);
    if (!rc && *k->found == EVIDENCE_GOOD)
        rc = look_at_inputs(k, error);
    if (!rc && *k->found == EVIDENCE_GOOD)
        rc = look_at_secrets(k, error);
    return rc;
}

int evidence_look(struct evidence_source *source, uint32_t task, uint8_t *found,
                  struct buf *which, struct cairn_error *error)
{
    static const struct result nothing;
    struct asker asker = {.lookup = source->lookup, .task = task};
    struct evidence_search k = {.source = source,
                                .scope = lookup_scope(&asker),
                                .result = &nothing,
                                .found = found,
                                .which = which};
    *found = EVIDENCE_GOOD;
    int rc =
        wants_result(&k) ? lookup_result(source->lookup, task, &k.result, error) : 0;
    if (!rc)
        rc = look_at_all(&k, error);
    buf_release(&k.directory);
    return rc;
}
