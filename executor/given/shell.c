/* SPDX-License-Identifier: MIT */
/* What an attempt was given, for people who look for the cause of a failure. It is made
 * by invocation.c, as for the engine; nothing is started or recorded here. */
#include "cairn/shell.h"

#include "base/clock.h"
#include "base/shell_word.h"
#include "executor/given/attempt_view.h"
#include "executor/given/invocation.h"
#include "executor/given/shell_script.h"
#include "runs/outputs.h"

#include <stdlib.h>

/* What the public part points into. */
struct shell {
    struct cairn_shell shown; /* first: the handle */
    struct arena arena;
    struct invocation given;
    struct secrets secrets;
    struct buf directory, script;
    char token[32];
};

struct maker {
    struct shell *shell;
    const struct cairn_shell_options *options;
    struct attempt_view *view;
    struct scope scope;
    struct cairn_error *error;
};

/* ---- Texts ---- */

/* For the caller: what is to be shown has no secrets in it. */
static const char *show(struct maker *m, struct str text)
{
    struct shell *s = m->shell;
    struct buf out = BUF_INIT;
    if (!m->options->shown)
        return arena_text(&s->arena, text);
    redact_text(s->secrets.redactor, text, &out);
    const char *shown = arena_text(&s->arena, buf_view(&out));
    s->arena.failed |= out.failed;
    buf_release(&out);
    return shown;
}

static bool is_secret(const struct task_def *def, const char *entry)
{
    struct str name = {entry, strcspn(entry, "=")};
    return names_have(def->secrets, def->n_secrets, name);
}

static const char *const *show_list(struct maker *m, char *const *list, size_t n,
                                    bool leave_out_secrets, size_t *shown)
{
    const char **out = arena_take(&m->shell->arena, n + 1, sizeof *out);
    size_t at = 0;
    for (size_t i = 0; i < n && out; i++)
        if (!leave_out_secrets || !is_secret(m->scope.def, list[i]))
            out[at++] = show(m, str_of(list[i]));
    if (shown)
        *shown = at;
    return out;
}

static size_t count(char *const *list)
{
    size_t n = 0;
    while (list[n])
        n++;
    return n;
}

/* ---- Secrets ---- */

/* Those of the workflow that are the task's or not, given or not. */
static const char *const *list_secrets(struct maker *m, bool of_task, bool only_missing)
{
    const struct definition *d = &m->view->definition;
    const struct task_def *def = m->scope.def;
    const char **out = arena_take(&m->shell->arena, d->n_secrets + 1, sizeof *out);
    size_t n = 0;
    for (uint32_t i = 0; i < d->n_secrets && out; i++) {
        struct str name = d->secrets[i];
        bool given = secrets_value(&m->shell->secrets, name).ptr;
        if (names_have(def->secrets, def->n_secrets, name) == of_task &&
            !(only_missing && given))
            out[n++] = arena_text(&m->shell->arena, name);
    }
    return out;
}

static int load_secrets(struct maker *m)
{
    const struct cairn_run_options values = {.secrets = m->options->secrets,
                                             .n_secrets = m->options->n_secrets};
    struct shell *s = m->shell;
    int rc = secrets_load(&s->secrets, &m->view->definition, &values, m->error);
    s->shown.secrets = list_secrets(m, true, false);
    s->shown.missing = list_secrets(m, true, true);
    s->shown.withheld = list_secrets(m, false, false);
    return rc;
}

/* ---- Command line and environment ---- */

static int refuse_kind(const struct maker *m)
{
    unsigned long long run = m->view->run.row.run;
    const char *id = m->view->graph.id[m->view->task];
    char word[SHELL_WORD_ROOM(256)];
    if (m->scope.def->kind == TASK_EXTERNAL)
        return error_set(
            m->error, CAIRN_EUSAGE,
            "task `%s` is external: cairn starts no process for it. "
            "`cairn next %llu` shows what is to be done, `cairn claim %llu %s`, "
            "`complete` and `fail` do it",
            id, run, run, shell_word_in(word, sizeof word, str_of(id)));
    if (m->scope.def->kind == TASK_CALL)
        return error_set(m->error, CAIRN_EUSAGE,
                         "task `%s` is a function of the program that ran the "
                         "workflow: there is no command. Debug that program",
                         id);
    if (!m->view->attempt)
        return error_set(m->error, CAIRN_ENOTFOUND,
                         "task `%s` has not started in run %llu: what it will be given "
                         "is known when it does",
                         id, run);
    return 0;
}

/* Not that of the attempt: what has the token of a store in its environment is a
 * process of a run, and is ended as left over. This one is of no store. */
static const char *make_token(struct maker *m)
{
    struct shell *s = m->shell;
    if (m->options->shown)
        return NULL;
    snprintf(s->token, sizeof s->token, "shell.%016llx",
             (unsigned long long)random_u64());
    return s->token;
}

static int make_invocation(struct maker *m, struct environments *environments)
{
    struct attempt_view *v = m->view;
    struct buf why = BUF_INIT;
    const struct invocation_of of = {
        .scope = &m->scope,
        .inherited = environment_of(environments, m->scope.def),
        .secrets = &m->shell->secrets,
        .told = {.task = v->graph.id[v->task],
                 .run = v->run.row.run,
                 .attempt = v->attempt,
                 .token = make_token(m),
                 .output = m->options->output,
                 .run_status = v->lookup.run_status},
        .cwd = m->shell->directory.size ? m->shell->directory.data : ".",
        .own_directory = m->scope.def->kind == TASK_RUN};
    int rc = invocation_make(&m->shell->given, &of, &why);
    if (rc)
        error_set(m->error, rc, "task %s, attempt %u: %s", of.told.task, v->attempt,
                  why.data ? why.data : "out of memory");
    buf_release(&why);
    return rc;
}

static int fill_lists(struct maker *m)
{
    struct shell *s = m->shell;
    const struct invocation *given = &s->given;
    bool shown = m->options->shown;
    size_t n = shown ? given->n_own : count(given->envp);
    s->shown.argv = show_list(m, given->vector, count(given->vector), false, NULL);
    s->shown.env = show_list(m, given->envp, n, shown, &s->shown.n_own);
    if (!shown)
        s->shown.n_own = given->n_own;
    return s->arena.failed ? error_nomem(m->error) : 0;
}

static void fill_texts(struct maker *m)
{
    const struct attempt_view *v = m->view;
    struct cairn_shell *to = &m->shell->shown;
    to->run = v->run.row.run;
    to->attempt = v->attempt;
    to->generation = v->gen;
    to->workflow = show(m, v->definition.name);
    to->task = show(m, str_of(v->graph.id[v->task]));
    to->directory = show(m, buf_view(&m->shell->directory));
    to->text = m->scope.def->kind == TASK_RUN ? show(m, m->scope.def->run) : NULL;
}

static int write_script(struct maker *m)
{
    struct shell *s = m->shell;
    if (!m->options->shown)
        return 0;
    shell_script_write(&s->shown, m->options->command, &s->script);
    s->shown.script = s->script.data;
    return buf_check(&s->script, m->error);
}

static int make_shell(struct maker *m)
{
    struct environments environments;
    int rc = refuse_kind(m);
    if (!rc)
        rc = load_secrets(m);
    if (!rc)
        rc = task_directory(&m->scope, &m->shell->directory, m->error);
    if (!rc)
        rc = environments_read(&environments, &m->view->definition, &m->shell->arena,
                               m->error);
    if (!rc)
        rc = make_invocation(m, &environments);
    if (rc)
        return rc;
    fill_texts(m);
    rc = fill_lists(m);
    return rc ? rc : write_script(m);
}

int cairn_shell(struct cairn_shell **out, struct cairn_store *store, uint64_t run,
                const char *task, const struct cairn_shell_options *options,
                struct cairn_error *error)
{
    static const struct cairn_shell_options defaults;
    struct attempt_view view;
    struct shell *shell = calloc(1, sizeof *shell);
    if (!shell)
        return error_nomem(error);
    const struct cairn_shell_options *chosen = options ? options : &defaults;
    int rc = attempt_view_open(&view, store, run, task, chosen->attempt, error);
    if (!rc) {
        struct maker m = {.shell = shell,
                          .options = chosen,
                          .view = &view,
                          .scope = attempt_view_scope(&view),
                          .error = error};
        rc = make_shell(&m);
        secrets_release(&shell->secrets); /* its names are of the view */
        attempt_view_release(&view);
    }
    if (rc)
        cairn_shell_free(&shell->shown);
    else
        *out = &shell->shown;
    return rc;
}

void cairn_shell_free(struct cairn_shell *handle)
{
    struct shell *shell = (struct shell *)handle;
    if (!shell)
        return;
    for (size_t i = 0; shell->shown.env && i < shell->shown.n_own; i++) {
        char *entry = (char *)(uintptr_t)shell->shown.env[i];
        explicit_bzero(entry, strlen(entry));
    }
    if (shell->given.text.data)
        explicit_bzero(shell->given.text.data, shell->given.text.size);
    invocation_release(&shell->given);
    buf_release(&shell->directory);
    buf_release(&shell->script);
    arena_release(&shell->arena);
    free(shell);
}
