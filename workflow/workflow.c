/* SPDX-License-Identifier: MIT */
/* Loading workflows, and looking at them: the public calls. */
#include "workflow/workflow.h"

#include "graph/definition_codec.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/sha256.h"
#include "base/struct_take.h"
#include "base/words.h"
#include "graph/definition.h"
#include "graph/members.h"
#include "graph/text_expand.h"
#include "workflow/parse.h"
#include "workflow/registry.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Life ---- */

struct cairn_workflow *workflow_make(void)
{
    struct cairn_workflow *w = calloc(1, sizeof *w);
    struct command_cache *commands = calloc(1, sizeof *commands);
    struct included *included = calloc(1, sizeof *included);
    if (w && commands && included) {
        w->commands = commands;
        w->included = included;
        return w;
    }
    free(w);
    free(commands);
    free(included);
    return NULL;
}

static void forget_commands(struct command_cache *commands)
{
    arena_release(&commands->arena);
    commands->of_def = NULL;
}

void cairn_workflow_free(struct cairn_workflow *w)
{
    if (!w)
        return;
    forget_commands(w->commands);
    free(w->commands);
    graph_release(&w->graph);
    definition_release(&w->definition);
    keys_set_free(w->set);
    buf_release(&w->source);
    included_release(w->included);
    free(w->included);
    free(w->name);
    free(w->file);
    free(w->root);
    for (size_t i = 0; i < w->n_params; i++) {
        free((char *)(uintptr_t)w->params[i].name);
        free((char *)(uintptr_t)w->params[i].value);
    }
    free(w->params);
    free(w->were_given);
    additions_free(w->additions, w->n_additions);
    free(w);
}

static int keep_params(struct cairn_workflow *w, const struct cairn_param *params,
                       size_t n)
{
    w->params = calloc(n ? n : 1, sizeof *w->params);
    if (!w->params)
        return CAIRN_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        w->params[i].name = strdup(params[i].name);
        w->params[i].value = strdup(params[i].value);
        w->n_params = i + 1;
        if (!w->params[i].name || !w->params[i].value)
            return CAIRN_ENOMEM;
    }
    return 0;
}

/* What was added to a run may not fit the file any more: then the error says how it is
 * taken back. */
static void add_remedy(const struct cairn_workflow *w, struct cairn_error *error)
{
    static const char named[] = ": task `";
    size_t i = 0, n = 0;
    for (; i < w->n_additions; i++) {
        n = strlen(w->additions[i].name);
        if (w->additions[i].id && strncmp(error->text, w->additions[i].name, n) == 0 &&
            error->text[n] == ':')
            break;
    }
    const char *task = strstr(error->text, named);
    size_t length = task ? strcspn(task + sizeof named - 1, "`\n") : 0;
    struct cairn_error inner = *error;
    task = task ? inner.text + (task - error->text) + sizeof named - 1 : NULL;
    if (i < w->n_additions && w->added_run)
        error_set(
            error, CAIRN_EWORKFLOW,
            "%.800s\ntake the added task back with `cairn add --withdraw %llu %.*s`, "
            "or undo the edit of the file that it does not fit",
            inner.text, (unsigned long long)w->added_run, length ? (int)length : 4,
            length ? task : "TASK");
}

static int parse_source(const struct cairn_workflow *w,
                        const struct definition *recorded, struct mistakes *mistakes,
                        struct definition *out, struct cairn_error *error)
{
    struct parse_options options = {.name = w->name,
                                    .file = w->file,
                                    .root = w->root,
                                    .params = w->params,
                                    .n_params = w->n_params,
                                    .recorded = recorded,
                                    .included = w->included,
                                    .edited_run = w->edited_run,
                                    .were_given = w->were_given,
                                    .additions = w->additions,
                                    .n_additions = w->n_additions,
                                    .n_checked = w->n_checked,
                                    .mistakes = mistakes};
    bool changed = false;
    int rc = definition_parse(buf_view(&w->source), &options, out, error);
    if (!rc) {
        rc = registry_bind(w->registry, out, 0, &changed, error);
        if (rc)
            definition_release(out);
    }
    if (rc == CAIRN_EWORKFLOW && error && w->n_additions)
        add_remedy(w, error);
    return rc;
}

/* Of w->source, file and root. */
static int begin_load(struct cairn_workflow *w, const char *name,
                      const struct cairn_param *params, size_t n_params,
                      struct cairn_error *error)
{
    w->name = strdup(name);
    return w->name && w->file && w->root && !keep_params(w, params, n_params)
               ? 0
               : error_nomem(error);
}

int workflow_parse_source(struct cairn_workflow *w, const struct definition *recorded,
                          struct cairn_error *error)
{
    int rc = parse_source(w, recorded, NULL, &w->definition, error);
    return rc ? rc : cairn_workflow_compile(w, error);
}

/* Gives the workflow to the caller, or frees it. */
static int hand_over(struct cairn_workflow **out, struct cairn_workflow *w, int rc)
{
    if (rc)
        cairn_workflow_free(w);
    else
        *out = w;
    return rc;
}

static char *working_directory(void)
{
    return getcwd(NULL, 0); /* GNU: allocates */
}

static bool has_workflow(const char *directory)
{
    struct buf path = BUF_INIT;
    buf_format(&path, "%s/cairn.yaml", directory);
    bool has = !path.failed && access(path.data, F_OK) == 0;
    buf_release(&path);
    return has;
}

static int read_source(struct cairn_workflow *w, const char *path,
                       struct cairn_error *error)
{
    static const char why[] =
        "a workflow must be a regular file, because resume reads it again";
    struct cairn_error inner = {0};
    char word[SHELL_WORD_ROOM(400)];
    int rc = os_read_regular(path, LIMIT_FILE_BYTES, &w->source, &inner);
    if (rc == CAIRN_ENOTFOUND && strcmp(path, "-") == 0)
        return error_set(error, CAIRN_EUSAGE,
                         "a workflow is not read from stdin: give the path of its "
                         "file, because resume reads it again");
    if (rc == CAIRN_ENOTFOUND && !strpbrk(path, "./"))
        return error_set(error, CAIRN_ENOTFOUND,
                         "there is no file %.400s: give the path of a workflow file, "
                         "such as cairn.yaml",
                         path);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(error, CAIRN_ENOTFOUND,
                         "there is no workflow file %.400s; give the path of one, or "
                         "have one written: `cairn init %s%s`",
                         path, path[0] == '-' ? "./" : "",
                         shell_word_in(word, sizeof word, str_of(path)));
    if (rc == CAIRN_EUSAGE && has_workflow(path))
        return error_set(error, CAIRN_EUSAGE,
                         "%.400s is a directory: give the workflow file in it, "
                         "%.400s/cairn.yaml",
                         path, path);
    if (rc == CAIRN_EUSAGE)
        return error_set(error, CAIRN_EUSAGE, "%.800s: %s", inner.text, why);
    if (rc && error)
        *error = inner;
    if (rc)
        return rc;
    w->file = realpath(path, NULL);
    /* What could be read and is at no path: the shell's own file on stdin. */
    if (!w->file && errno == ENOENT)
        return error_set(error, CAIRN_EUSAGE, "%.800s has no name of its own: %s", path,
                         why);
    if (!w->file)
        return error_sys(error, errno, "cannot resolve %s", path);
    const char *slash = strrchr(w->file, '/');
    w->root = strndup(w->file, slash == w->file ? 1 : (size_t)(slash - w->file));
    return 0;
}

int workflow_read(struct cairn_workflow **out, const char *path,
                  const struct cairn_param *params, size_t n_params,
                  struct cairn_error *error)
{
    struct cairn_workflow *w = workflow_make();
    if (!w)
        return error_nomem(error);
    int rc =
        read_source(w, path, error) ?: begin_load(w, path, params, n_params, error);
    return hand_over(out, w, rc);
}

static int read_text(struct cairn_workflow **out, const struct cairn_source *source,
                     struct cairn_error *error)
{
    struct cairn_workflow *w = workflow_make();
    if (!w)
        return error_nomem(error);
    buf_add(&w->source, source->text, source->length);
    w->file = strdup("");
    w->root = working_directory();
    int rc = buf_check(&w->source, error)
                 ?: begin_load(w, source->name ? source->name : "workflow",
                               source->params, source->n_params, error);
    return hand_over(out, w, rc);
}

int cairn_workflow_open(struct cairn_workflow **out, const struct cairn_source *source,
                        struct cairn_error *error)
{
    STRUCT_TAKE(cairn_source, source, error);
    struct cairn_workflow *w;
    if (!source->path == !source->text)
        return error_set(error, CAIRN_EUSAGE,
                         "a workflow is read from either a path or a text");
    int rc = source->text ? read_text(&w, source, error)
                          : workflow_read(&w, source->path, source->params,
                                          source->n_params, error);
    if (rc)
        return rc;
    w->registry = source->registry;
    return hand_over(out, w, workflow_parse_source(w, NULL, error));
}

int cairn_workflow_load(struct cairn_workflow **out, const char *path,
                        const struct cairn_param *params, size_t n_params,
                        struct cairn_error *error)
{
    const struct cairn_source source = {
        .path = path, .params = params, .n_params = n_params};
    return cairn_workflow_open(out, &source, error);
}

int cairn_workflow_parse(struct cairn_workflow **out, const char *text, size_t length,
                         const char *name, const struct cairn_param *params,
                         size_t n_params, struct cairn_error *error)
{
    const struct cairn_source source = {.text = text ? text : "",
                                        .length = length,
                                        .name = name,
                                        .params = params,
                                        .n_params = n_params};
    return cairn_workflow_open(out, &source, error);
}

int workflow_bind(struct cairn_workflow *w, const struct cairn_registry *registry,
                  struct cairn_error *error)
{
    bool changed = false;
    w->registry = registry;
    int rc = registry_bind(registry, &w->definition, 0, &changed, error);
    w->digested = w->digested && !changed;
    return rc;
}

/* ---- All mistakes ---- */

static int by_place(const void *a, const void *b)
{
    const struct mistake *left = a, *right = b;
    const struct position *x = &left->at, *y = &right->at;
    if (left->file != right->file)
        return left->file < right->file ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

/* The whole of it: parsed, then what only holds of all tasks together. */
static int find_mistakes(struct cairn_workflow *w, struct mistakes *mistakes,
                         struct cairn_error *error)
{
    int rc = parse_source(w, NULL, mistakes, &w->definition, error);
    return rc ? rc : cairn_workflow_compile(w, error);
}

int cairn_workflow_mistakes(const char *path, const struct cairn_param *params,
                            size_t n_params,
                            int (*each)(void *context,
                                        const struct cairn_error *mistake),
                            void *context, struct cairn_error *error)
{
    struct cairn_workflow *w = NULL;
    struct cairn_error local = {0};
    struct mistakes *mistakes = calloc(1, sizeof *mistakes);
    if (!mistakes)
        return error_nomem(error);
    int rc = workflow_read(&w, path, params, n_params, &local)
                 ?: find_mistakes(w, mistakes, &local);
    if (rc && mistakes->n == 0)
        mistakes->list[mistakes->n++].error = local;
    if (rc)
        qsort(mistakes->list, mistakes->n, sizeof mistakes->list[0], by_place);
    for (uint32_t i = 0; rc && i < mistakes->n; i++)
        if (each(context, &mistakes->list[i].error))
            break;
    if (rc && error)
        *error = local;
    free(mistakes);
    cairn_workflow_free(w);
    return rc;
}

int workflow_reparse(struct cairn_workflow *w, const struct definition *recorded,
                     struct cairn_error *error)
{
    struct definition definition;
    struct graph graph;
    if (!w->name)
        return 0;
    int rc = parse_source(w, recorded, NULL, &definition, error);
    if (rc)
        return rc;
    if (recorded)
        registry_keep_versions(&definition, recorded);
    rc = definition.arena.failed ? error_nomem(error) : 0;
    rc = rc ? rc : graph_build(&graph, &definition, error);
    if (rc) {
        definition_release(&definition);
        return rc;
    }
    graph_release(&w->graph);
    definition_release(&w->definition);
    w->definition = definition;
    w->digested = false;
    w->graph = graph;
    w->graph.definition = &w->definition;
    forget_commands(w->commands);
    return 0;
}

int addition_init(struct addition *addition, const char *name, struct str text,
                  uint64_t id)
{
    *addition = (struct addition){.name = strdup(name),
                                  .text = malloc(text.len + 1),
                                  .length = text.len,
                                  .id = id};
    if (!addition->name || !addition->text)
        return CAIRN_ENOMEM;
    if (text.len)
        memcpy(addition->text, text.ptr, text.len);
    return 0;
}

void additions_free(struct addition *additions, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(additions[i].name);
        free(additions[i].text);
        for (size_t k = 0; k < additions[i].n_gone; k++)
            free(additions[i].gone[k]);
        free(additions[i].gone);
    }
    free(additions);
}

int addition_withdraw(struct addition *addition, struct str name, uint64_t command)
{
    char **gone =
        realloc(addition->gone, (addition->n_gone + 1) * sizeof *addition->gone);
    if (!gone)
        return CAIRN_ENOMEM;
    addition->gone = gone;
    gone[addition->n_gone] = strndup(name.len ? name.ptr : "", name.len);
    if (!gone[addition->n_gone])
        return CAIRN_ENOMEM;
    addition->n_gone++;
    addition->changed = command;
    return 0;
}

uint64_t additions_newest(const struct addition *additions, size_t n)
{
    uint64_t newest = 0;
    for (size_t i = 0; i < n; i++) {
        newest = additions[i].id > newest ? additions[i].id : newest;
        newest = additions[i].changed > newest ? additions[i].changed : newest;
    }
    return newest;
}

void workflow_take_additions(struct cairn_workflow *w, uint64_t run,
                             struct addition *additions, size_t n)
{
    additions_free(w->additions, w->n_additions);
    w->additions = additions;
    w->n_additions = n;
    w->newest_addition = additions_newest(additions, n);
    w->added_run = run;
}

int workflow_take_addition(struct cairn_workflow *w, uint64_t run,
                           struct addition *addition)
{
    struct addition *all = realloc(w->additions, (w->n_additions + 1) * sizeof *all);
    if (!all)
        return CAIRN_ENOMEM;
    uint64_t newest = additions_newest(addition, 1);
    if (newest > w->newest_addition)
        w->newest_addition = newest;
    w->additions = all;
    all[w->n_additions++] = *addition;
    *addition = (struct addition){0};
    w->added_run = run;
    return 0;
}

int workflow_parse_with(const struct cairn_workflow *w, struct addition *additions,
                        size_t n, size_t fresh, struct definition *out,
                        struct cairn_error *error)
{
    struct cairn_workflow part = *w;
    part.additions = additions;
    part.n_additions = n;
    part.n_checked = n - fresh;
    return parse_source(&part, &w->definition, NULL, out, error);
}

int workflow_append(struct cairn_workflow *w, const struct definition *from,
                    uint32_t first, struct cairn_error *error)
{
    uint32_t before = w->definition.n_defs;
    int rc = definition_append(&w->definition, from, first, error)
                 ?: graph_extend(&w->graph, before, error);
    if (!rc) {
        w->digested = false;
        forget_commands(w->commands);
    }
    return rc;
}

int workflow_rebuild(struct cairn_workflow *w, struct cairn_error *error)
{
    struct graph graph;
    int rc = graph_build(&graph, &w->definition, error);
    if (rc)
        return rc;
    graph_release(&w->graph);
    w->graph = graph;
    w->digested = false;
    forget_commands(w->commands);
    return 0;
}

int cairn_workflow_digest(const struct cairn_workflow *w, char digest[65],
                          struct cairn_error *error)
{
    struct buf bytes = BUF_INIT;
    struct digest sum = w->digest;
    int rc = w->digested ? 0
                         : definition_encode(&w->definition, &bytes, error)
                               ?: sha256_of(bytes.data, bytes.size, &sum, error);
    if (!rc)
        digest_hex(&sum, digest);
    buf_release(&bytes);
    return rc;
}

/* What a loaded one has from the parser. */
static int complete(struct cairn_workflow *w, struct cairn_error *error)
{
    bool changed = false;
    int rc = 0;
    if (w->set && w->set->any) {
        char *here = working_directory();
        struct parse_options options = {.name = w->definition.name.ptr,
                                        .file = "",
                                        .root = here,
                                        .included = w->included,
                                        .set = w->set};
        rc = here ? definition_parse(STR(""), &options, &w->definition, error)
                  : error_sys(error, errno, "cannot find the working directory");
        free(here);
    } else
        rc = definition_prepare(&w->definition, 0, error);
    if (!rc)
        rc = registry_bind(w->registry, &w->definition, 0, &changed, error);
    return rc;
}

int cairn_workflow_compile(struct cairn_workflow *w, struct cairn_error *error)
{
    if (w->compiled)
        return 0;
    if (w->broken)
        return error_set(error, CAIRN_EUSAGE,
                         "the workflow could not be compiled before: build it anew");
    int rc = w->name ? 0 : complete(w, error);
    if (!rc)
        rc = graph_build(&w->graph, &w->definition, error);
    w->compiled = !rc;
    w->broken = rc && w->set && w->set->any; /* half of it was read */
    if (!rc) {
        keys_set_free(w->set);
        w->set = NULL;
    }
    return rc;
}

/* ---- Looking ---- */

bool cairn_workflow_lacks_functions(const struct cairn_workflow *w)
{
    struct str name;
    for (uint32_t i = 0; i < w->definition.n_defs; i++)
        if (task_def_lacks_function(&w->definition.defs[i], &name))
            return true;
    return false;
}

const char *cairn_workflow_name(const struct cairn_workflow *w)
{
    return w->definition.name.ptr;
}

uint32_t cairn_workflow_tasks(const struct cairn_workflow *w)
{
    return w->graph.n_tasks;
}

uint32_t cairn_workflow_nodes(const struct cairn_workflow *w)
{
    return w->graph.n_nodes;
}

uint64_t cairn_workflow_edges(const struct cairn_workflow *w)
{
    return w->graph.n_edges;
}

uint32_t cairn_workflow_need(const struct cairn_workflow *w, uint32_t node, uint32_t i)
{
    const struct graph *g = &w->graph;
    if (!w->compiled || node >= g->n_nodes ||
        i >= g->need_start[node + 1] - g->need_start[node])
        return NODE_NONE;
    return g->needs[g->need_start[node] + i];
}

const char *cairn_workflow_description(const struct cairn_workflow *w, uint32_t node)
{
    const struct graph *g = &w->graph;
    if (node == UINT32_MAX)
        return w->definition.description.len ? w->definition.description.ptr : NULL;
    if (!w->compiled || node >= g->n_nodes)
        return NULL;
    const struct task_def *def = graph_def(g, node);
    return def->description.len ? def->description.ptr : NULL;
}

int cairn_workflow_value(const struct cairn_workflow *w, uint32_t node, uint32_t i,
                         const char **key, const char **value)
{
    const struct graph *g = &w->graph;
    if (!w->compiled || node >= g->n_tasks || i >= task_def_names(graph_def(g, node)))
        return CAIRN_ENOTFOUND;
    const struct task_def *def = graph_def(g, node);
    struct key_value named = member_named(def, graph_member(g, node), i);
    *key = named.key.ptr; /* texts of a definition end with 0 */
    *value = named.value.ptr;
    return 0;
}

const char *cairn_workflow_secret(const struct cairn_workflow *w, size_t i)
{
    const struct definition *d = &w->definition;
    for (uint32_t k = 0; k < d->n_secrets; k++)
        if (definition_gives_secret(d, d->secrets[k]) && i-- == 0)
            return d->secrets[k].ptr;
    return NULL;
}

uint32_t cairn_workflow_find(const struct cairn_workflow *w, const char *id)
{
    return w->compiled ? graph_find(&w->graph, str_of(id)) : NODE_NONE;
}

const char *cairn_workflow_warning(const struct cairn_workflow *w, size_t i)
{
    return i < w->definition.n_warnings ? w->definition.warnings[i].ptr : NULL;
}

static const char *join_words(struct arena *arena, const struct task_def *def)
{
    struct buf text = BUF_INIT;
    for (uint32_t i = 0; i < def->n_argv; i++) {
        if (i)
            buf_byte(&text, ' ');
        buf_str(&text, def->argv[i]);
    }
    const char *copy = text.failed ? NULL : arena_text(arena, buf_view(&text));
    buf_release(&text);
    return copy;
}

/* What a person would call the command of a task, NULL: out of memory. */
static const char *command_text(const struct cairn_workflow *w, uint32_t index)
{
    const struct task_def *def = &w->definition.defs[index];
    struct command_cache *cache = w->commands;
    if (def->kind == TASK_RUN)
        return def->run.ptr;
    if (def->kind == TASK_CALL)
        return def->callback.len ? def->callback.ptr : "(callback)";
    if (def->kind == TASK_EXTERNAL)
        return def->external.ptr;
    if (!cache->of_def)
        cache->of_def =
            arena_take(&cache->arena, w->definition.n_defs, sizeof *cache->of_def);
    if (cache->of_def && !cache->of_def[index])
        cache->of_def[index] = join_words(&cache->arena, def);
    return cache->of_def ? cache->of_def[index] : NULL;
}

int cairn_workflow_node(const struct cairn_workflow *w, uint32_t node,
                        struct cairn_node_info *info)
{
    const struct graph *g = &w->graph;
    if (!w->compiled || node >= g->n_nodes)
        return CAIRN_ENOTFOUND;
    const struct task_def *def = graph_def(g, node);
    bool barrier = graph_is_barrier(g, node);
    *info = (struct cairn_node_info){
        .id = g->id[node],
        .group = def->id.ptr,
        .command = barrier ? "" : command_text(w, g->def_of[node]),
        .barrier = barrier,
        .needs = g->need_start[node + 1] - g->need_start[node],
        .finally = def->finally,
        .undo = !barrier && def->undo.len > 0,
        .external = !barrier && def->kind == TASK_EXTERNAL ? def->external.ptr : NULL};
    return 0;
}
