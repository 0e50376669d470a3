/* SPDX-License-Identifier: MIT */
/* The top level of a workflow file, in the order that the parts depend on each other.
 */
#include "workflow/parse_int.h"

#include "base/limits.h"

#include <stdarg.h>
#include <stdio.h>

enum { GRACE_MS = 10000, CHECK_MIN = 700, CHECK_WARN = 850 };

/* Copies the line into the definition's arena and its view behind `list`. */
static void add_line(struct parser *p, struct buf *list, const struct buf *line)
{
    struct str copy = arena_str(&p->out->arena, buf_view(line));
    list->failed |= line->failed;
    buf_add(list, &copy, sizeof copy);
}

void parse_warn(struct parser *p, struct position at, const char *format, ...)
{
    char message[256];
    struct buf line = BUF_INIT;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    buf_format(&line, "%s:%u:%u: %s", p->source.name, at.line, at.column, message);
    add_line(p, &p->warnings, &line);
    buf_release(&line);
}

void parse_note(struct parser *p, const struct buf *line)
{
    add_line(p, &p->notes, line);
}

static struct str *keep_lines(struct parser *p, const struct buf *lines, uint32_t *n)
{
    *n = (uint32_t)(lines->size / sizeof(struct str));
    struct str *copy = arena_take(&p->out->arena, *n, sizeof *copy);
    p->out->arena.failed |= lines->failed;
    if (copy && *n)
        memcpy(copy, lines->data, lines->size);
    return copy;
}

static int keep_words(struct parser *p)
{
    struct definition *out = p->out;
    out->warnings = keep_lines(p, &p->warnings, &out->n_warnings);
    out->notes = keep_lines(p, &p->notes, &out->n_notes);
    return out->arena.failed ? out_of_memory(p) : 0;
}

/* ---- Parts of the top level ---- */

static int read_name(const struct parser *p, const struct node *node)
{
    struct str name;
    int rc = expect_key(p, node, "`name`", &name);
    if (!rc)
        rc = expect_fixed(p, node, "`name`", &name);
    if (rc)
        return rc;
    for (size_t i = 0; i < name.len; i++)
        if ((uint8_t)name.ptr[i] < 0x20 || name.ptr[i] == 0x7f)
            return diagnose(&p->diagnostic, node->at,
                            "`name` has a line break or another control character in "
                            "it");
    p->out->name = name;
    return 0;
}

/* ---- The whole ---- */

enum {
    TOP_NAME,
    PARAMS,
    SECRETS,
    ENV,
    DEFAULTS,
    JOBS,
    POOLS,
    DEADLINE,
    ON_FAILURE,
    ON_CRASH,
    TASKS,
    FINALLY,
    TOP_KEYS
};

/* What tasks refer to. */
static int read_names_of_all(struct parser *p, const struct node *const found[])
{
    int rc = read_name(p, found[TOP_NAME]->next);
    if (!rc)
        rc = read_params(p, found[PARAMS] ? found[PARAMS]->next : NULL);
    if (!rc && found[SECRETS])
        rc = read_secrets(p, found[SECRETS]->next);
    if (!rc && found[ENV])
        rc = read_env(p, found[ENV]->next, NULL, &p->env, &p->n_env);
    if (!rc && found[POOLS])
        rc = read_pools(p, found[POOLS]->next);
    return rc;
}

static int read_policy(struct parser *p, const struct node *const found[])
{
    int rc = use_default_shell(p);
    if (!rc && found[DEFAULTS])
        rc = read_defaults(p, found[DEFAULTS]->next);
    if (!rc && found[JOBS])
        rc = read_jobs(p, found[JOBS]->next);
    if (!rc && found[DEADLINE])
        rc = expect_duration(p, found[DEADLINE]->next, "`deadline`", 1,
                             &p->out->deadline_ms);
    if (!rc && found[ON_FAILURE])
        rc = read_on_failure(p, found[ON_FAILURE]->next);
    if (!rc && found[ON_CRASH])
        rc = read_on_crash(p, found[ON_CRASH]->next);
    return rc;
}

static int read_parts(struct parser *p, const struct node *const found[])
{
    int rc = read_names_of_all(p, found);
    if (!rc)
        rc = read_policy(p, found);
    if (!rc)
        rc = read_tasks(p, found[TASKS]->next,
                        found[FINALLY] ? found[FINALLY]->next : NULL);
    if (!rc && found[POOLS])
        warn_of_unused_pools(p, found[POOLS]->next);
    return rc;
}

static int read_top(struct parser *p, const struct node *root)
{
    static const struct str names[TOP_KEYS] = {
        NAME("name"),       NAME("params"),   NAME("secrets"), NAME("env"),
        NAME("defaults"),   NAME("jobs"),     NAME("pools"),   NAME("deadline"),
        NAME("on_failure"), NAME("on_crash"), NAME("tasks"),   NAME("finally")};
    const struct node *found[TOP_KEYS] = {NULL};
    struct where where = {"at the top level", {NULL, 0}};
    int rc = expect_map(p, root, "a workflow file");
    if (!rc)
        rc = expect_keys(p, root, where, names, found, TOP_KEYS);
    if (rc)
        return rc;
    if (!found[TOP_NAME])
        return diagnose(&p->diagnostic, root->at,
                        "the workflow has no `name`; it is what its runs are found by");
    if (!found[TASKS])
        return diagnose(&p->diagnostic, root->at,
                        "the workflow has no tasks; write them under `tasks`");
    return read_parts(p, found);
}

static int begin(struct parser *p, struct str text)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (text.len > LIMIT_FILE_BYTES)
        return diagnose_as(&p->diagnostic, CAIRN_ELIMIT, (struct position){0, 0},
                           "the file is larger than %d bytes", LIMIT_FILE_BYTES);
    if (text.len >= 3 && memcmp(text.ptr, mark, 3) == 0)
        text = (struct str){text.ptr + 3, text.len - 3};
    p->source.text = text;
    p->out->file = arena_str(&p->out->arena, str_of(p->options->file));
    p->out->root = arena_str(&p->out->arena, str_of(p->options->root));
    return p->out->arena.failed ? out_of_memory(p) : 0;
}

int definition_parse(struct str text, const struct parse_options *options,
                     struct definition *out, struct cairn_error *error)
{
    struct parser p = {.options = options,
                       .source = {options->name, {"", 0}},
                       .out = out,
                       .grace_ms = GRACE_MS,
                       .retry = {.factor_permille = 1000},
                       .check = {CHECK_MIN, CHECK_WARN}};
    const struct node *root = NULL;
    p.diagnostic = (struct diagnostic){&p.source, error};
    definition_init(out);
    int rc = begin(&p, text);
    if (!rc)
        rc = yaml_read(&p.diagnostic, &p.scratch, &root);
    if (!rc)
        rc = read_top(&p, root);
    if (!rc)
        rc = keep_words(&p);
    if (!rc)
        rc = definition_prepare(out, error);
    buf_release(&p.warnings);
    buf_release(&p.notes);
    buf_release(&p.pending);
    arena_release(&p.scratch);
    if (rc)
        definition_release(out);
    return rc;
}
