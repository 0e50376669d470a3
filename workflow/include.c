/* SPDX-License-Identifier: MIT */
/* `include`: other workflow files as parts of this one. All are read into one
 * definition, so nothing behind the parser knows of files: tasks and params of an
 * included one have its scope in their names (name_scope).
 *
 * Files are read in the order in which they are named, each behind those that are known
 * already (read_files in parse.c), so nothing here is recursive. A file is opened once,
 * and what it held is kept for when the workflow is parsed again. */
#include "workflow/parse_int.h"

#include "base/limits.h"
#include "base/os.h"
#include "base/words.h"
#include "graph/text_expand.h"

#include <stdio.h>
#include <stdlib.h>

void included_release(struct included *included)
{
    for (size_t i = 0; i < included->n; i++) {
        free(included->files[i].path);
        free(included->files[i].real);
        buf_release(&included->files[i].text);
    }
    free(included->files);
    *included = (struct included){0};
}

/* ---- Files ---- */

/* "" where the path is a name alone. */
static struct str directory_of(struct str path)
{
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    size_t n = !slash ? 0 : slash == path.ptr ? 1 : (size_t)(slash - path.ptr);
    return (struct str){path.ptr, n};
}

static int refuse_file(struct parser *p, const struct node *node, int rc,
                       const struct cairn_error *why)
{
    if (rc == CAIRN_ENOMEM)
        return out_of_memory(p);
    if (rc == CAIRN_ENOTFOUND)
        return diagnose(
            &p->diagnostic, node->at,
            "there is no file `%.*s`: the path is relative to the directory "
            "of this file",
            SHOWN(node->text));
    if (rc == CAIRN_ELIMIT)
        return diagnose_as(&p->diagnostic, rc, node->at,
                           "the included files are larger than %d bytes together",
                           LIMIT_INCLUDED_BYTES);
    return diagnose(&p->diagnostic, node->at, "`%.*s` cannot be included: %.300s",
                    SHOWN(node->text), why->text);
}

/* What is at the path, as it was when it was first asked for: its index, or an error. */
static int open_file(struct parser *p, const struct node *node, const char *path,
                     size_t *index)
{
    struct included *all = p->options->included;
    struct cairn_error why = {0};
    struct included_file file = {0};
    for (*index = 0; *index < all->n; ++*index)
        if (strcmp(all->files[*index].path, path) == 0)
            return 0;
    struct included_file *files =
        array_room(all->files, all->n, &all->capacity, sizeof *files);
    if (!files)
        return out_of_memory(p);
    all->files = files;
    int rc = os_read_regular(path, LIMIT_INCLUDED_BYTES - all->bytes, &file.text, &why);
    file.path = rc ? NULL : strdup(path);
    file.real = rc ? NULL : realpath(path, NULL);
    if (!rc && !file.real)
        file.real = strdup(path);
    if (!rc && (!file.path || !file.real))
        rc = CAIRN_ENOMEM;
    if (rc) {
        free(file.path);
        free(file.real);
        buf_release(&file.text);
        return refuse_file(p, node, rc, &why);
    }
    all->bytes += file.text.size;
    files[all->n++] = file;
    return 0;
}

/* "a.yaml, b.yaml": the files from `first` down to `last`, which it includes. */
static void name_chain(const struct workflow_file *first,
                       const struct workflow_file *last, struct buf *out)
{
    const struct workflow_file *chain[LIMIT_INCLUDED_DEPTH + 1];
    uint32_t n = 0;
    for (; last != first; last = last->parent)
        chain[n++] = last;
    buf_text(out, first->source.name);
    while (n--)
        buf_format(out, " includes %s%s", chain[n]->source.name, n ? ", which" : "");
}

static int check_circle(struct parser *p, const struct node *node, const char *real)
{
    const struct workflow_file *in = p->in;
    while (in && strcmp(in->real, real) != 0)
        in = in->parent;
    if (!in)
        return 0;
    struct buf chain = BUF_INIT;
    name_chain(in, p->in, &chain);
    int rc = chain.failed ? out_of_memory(p)
             : in == p->in
                 ? diagnose(&p->diagnostic, node->at, "the file includes itself")
                 : diagnose(&p->diagnostic, node->at,
                            "a circle of included files: %s, which includes %s",
                            chain.data, in->source.name);
    buf_release(&chain);
    return rc;
}

/* ---- The list ---- */

static int read_as(struct parser *p, const struct node *node, struct str *scope)
{
    struct str name;
    int rc = expect_key(p, node, "`as`", &name);
    if (rc)
        return rc;
    if (!str_is_id(name))
        return diagnose(&p->diagnostic, node->at,
                        "`as` is what the ids of its tasks begin with, so it must be "
                        "made of A-Z, a-z, 0-9, _, - and . and not begin with - or .");
    *scope = arena_join(&p->out->arena, p->in->scope,
                        arena_join(&p->scratch, name, STR("/")));
    if (p->scratch.failed || !scope->ptr)
        return out_of_memory(p);
    if (scope->len >= LIMIT_ID_BYTES)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, node->at,
                           "`%.*s` is too long: an id of a task has at most %d bytes",
                           SHOWN(*scope), LIMIT_ID_BYTES);
    if (included_as(p, name))
        return diagnose(&p->diagnostic, node->at,
                        "another file is included as `%.*s` already", SHOWN(name));
    return 0;
}

/* `params`: the texts, with the params of this file put in. Whether the other file has
 * them is known when it is read. */
static int read_given(struct parser *p, const struct node *map,
                      struct workflow_file *file)
{
    int rc = expect_map(p, map, "`params`");
    if (rc)
        return rc;
    file->given = arena_take(&p->scratch, map->n, sizeof *file->given);
    if (!file->given)
        return out_of_memory(p);
    for (const struct node *key = map->first; key && !rc; key = key->next->next) {
        struct given_param *given = &file->given[file->n_given++];
        struct node value = *key->next;
        value.plain &=
            !str_equal(value.text, STR("true")) && !str_equal(value.text, STR("false"));
        given->key = key;
        rc = read_expanded(p, &value, "the value of a param", NULL, &given->value);
    }
    return rc;
}

/* A workflow that was named by a link lies elsewhere than its name says. */
static bool leads_to(const char *name, const char *real)
{
    char *resolved = realpath(name, NULL);
    bool same = resolved && strcmp(resolved, real) == 0;
    free(resolved);
    return same;
}

static int add_file(struct parser *p, const struct node *item, const struct node *name,
                    struct workflow_file *file)
{
    struct workflow_file *in = p->in;
    struct arena *arena = &p->scratch;
    size_t index = 0;
    struct str path = arena_path(arena, str_of(in->root), name->text);
    struct str shown =
        arena_path(arena, directory_of(str_of(in->source.name)), name->text);
    file->cwd_root = directory_of(arena_path(&p->out->arena, in->cwd_root, name->text));
    file->root = arena_text(arena, directory_of(path));
    if (arena->failed || p->out->arena.failed)
        return out_of_memory(p);
    int rc = open_file(p, name, path.ptr, &index)
                 ?: check_circle(p, name, p->options->included->files[index].real);
    if (rc)
        return rc;
    const struct included_file *found = &p->options->included->files[index];
    file->source.text = str_without_mark(buf_view(&found->text));
    file->real = arena_text(arena, str_of(found->real));
    file->source.name = leads_to(shown.ptr, found->real) ? shown.ptr : path.ptr;
    file->parent = in;
    file->include = item;
    file->depth = in->depth + 1;
    file->index = p->n_files;
    if (!file->real)
        return out_of_memory(p);
    p->files[p->n_files++] = file;
    return 0;
}

static int read_one(struct parser *p, const struct node *item)
{
    enum { FILE_NAME, AS, NEEDS, PARAMS, COUNT };
    static const struct str names[COUNT] = {NAME("file"), NAME("as"), NAME("needs"),
                                            NAME("params")};
    const struct node *found[COUNT] = {NULL};
    struct where where = {"in `include`", {NULL, 0}};
    struct workflow_file *file = arena_take(&p->scratch, 1, sizeof *file);
    struct str name;
    if (!file)
        return out_of_memory(p);
    int rc = expect_map(p, item, "a file of `include`")
                 ?: expect_keys(p, item, where, names, found, COUNT);
    if (!rc && (!found[FILE_NAME] || !found[AS]))
        rc = diagnose(&p->diagnostic, item->at,
                      "a file of `include` needs `file` and `as`, as in {file: "
                      "lint.yaml, as: lint}");
    if (!rc)
        rc = expect_filled(p, found[FILE_NAME]->next, "`file`", &name)
             ?: expect_fixed(p, found[FILE_NAME]->next, "`file`", &name)
             ?: read_as(p, found[AS]->next, &file->scope);
    if (found[NEEDS]) /* read when all tasks are there */
        file->needs = found[NEEDS]->next;
    if (!rc && found[PARAMS])
        rc = read_given(p, found[PARAMS]->next, file);
    if (!rc && p->n_files > LIMIT_INCLUDED)
        rc = diagnose_as(&p->diagnostic, CAIRN_ELIMIT, item->at,
                         "more than %d files are included", LIMIT_INCLUDED);
    if (!rc && p->in->depth == LIMIT_INCLUDED_DEPTH)
        rc = diagnose_as(&p->diagnostic, CAIRN_ELIMIT, item->at,
                         "files are included more than %d deep", LIMIT_INCLUDED_DEPTH);
    return rc ? rc : add_file(p, item, found[FILE_NAME]->next, file);
}

int read_include(struct parser *p, const struct node *list)
{
    int rc = expect_list(p, list, "`include`");
    if (!rc && !p->options->included)
        rc = diagnose(&p->diagnostic, list->at, "no file can be included here");
    for (const struct node *item = list->first; item && !rc; item = item->next)
        rc = read_one(p, item);
    return rc;
}

/* ---- Needs ---- */

int included_tasks(struct parser *p, struct workflow_file *file)
{
    const struct definition *out = p->out;
    if (file->targets)
        return 0;
    file->targets = arena_take(&p->scratch, out->n_defs, sizeof *file->targets);
    if (!file->targets)
        return out_of_memory(p);
    /* A service would live on; a file of nothing else is needed for them. */
    for (int services = 0; services < 2 && !file->n_targets; services++)
        for (uint32_t i = 0; i < out->n_defs; i++) {
            const struct task_def *def = &out->defs[i];
            if (!def->finally && task_def_is_service(def) == services &&
                str_begins(def->id, file->scope))
                file->targets[file->n_targets++] = i;
        }
    return 0;
}
