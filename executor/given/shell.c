/* SPDX-License-Identifier: MIT */
#include "executor/given/shell.h"

#include "executor/given/invocation.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "base/struct_take.h"
#include "base/words.h"
#include "cairn/runs.h"
#include "graph/match.h"
#include "runs/lookup.h"
#include "runs/marks.h"
#include "runs/outputs.h"
#include "runs/run_tasks.h"
#include "runs/stored.h"
#include "storage/rows_attempt.h"
#include "storage/rows_event.h"
#include "storage/store.h"

#include <stdlib.h>

struct attempt_view {
    struct cairn_store *store;
    struct stored_run run;        /* without its graph */
    uint32_t gen, task, attempt;  /* attempt 0: it has not started yet */
    uint64_t start_turn;          /* 0: not known */
    uint32_t round;               /* of a task with `repeat` */
    bool fallback;                /* it ran the fallback of the task */
    struct definition definition; /* of that generation; its root is where it is now */
    struct graph graph;
    struct states states; /* in the numbers of that graph */
    bool exact;
    char run_status[16]; /* in `finally`; "": not there */
    struct lookup lookup;
    struct asker asker;
};

static void attempt_view_release(struct attempt_view *v);

/* A comment ends with its line. */
static void add_comment(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_byte(out, (uint8_t)*text < ' ' || *text == 0x7f ? '?' : (uint8_t)*text);
}

static void write_head(const struct cairn_shell *shell, struct buf *out)
{
    buf_text(out, "#!/bin/sh\n# Task ");
    add_comment(out, shell->task);
    buf_format(out, " of run %llu, attempt %u, workflow ",
               (unsigned long long)shell->run, shell->attempt);
    add_comment(out, shell->workflow);
    buf_text(out,
             ":\n# its command with its environment and directory, without secrets."
             "\n# Written by `cairn shell --print`.\n");
}

static void write_secrets(const struct cairn_shell *shell, struct buf *out)
{
    for (const char *const *name = shell->secrets; *name; name++) {
        if (!str_is_env_name(str_of(*name)))
            continue; /* a definition that was built by hand */
        buf_format(out,
                   "if [ -z \"${%s+set}\" ]; then\n"
                   "    echo '%s is a secret of this task: set it in the environment' "
                   ">&2\n"
                   "    exit 2\n"
                   "fi\n"
                   "export %s\n",
                   *name, *name, *name);
    }
}

/* What a task does not inherit. */
static void write_withheld(const struct cairn_shell *shell, struct buf *out)
{
    for (const char *const *name = shell->withheld; *name; name++)
        if (str_is_env_name(str_of(*name)))
            buf_format(out, "unset %s\n", *name);
    buf_text(out, "for CAIRN_NAME in $(env | sed -n 's/^\\(CAIRN_[A-Za-z0-9_]*\\)="
                  ".*/\\1/p'); do unset \"$CAIRN_NAME\"; done\n"
                  "unset CAIRN_NAME\n");
}

/* A shell does not take these as they are, or uses them itself. */
static bool is_special(struct str name)
{
    static const char *const list[] = {
        "BASHOPTS", "BASH_ENV", "ENV",       "EUID",  "IFS", "LINENO", "OLDPWD",
        "OPTARG",   "OPTIND",   "PPID",      "PS4",   "PWD", "UID",    "_",
        "RANDOM",   "SECONDS",  "SHELLOPTS", "SHLVL", NULL};
    return !str_is_env_name(name) || str_among(name, list);
}

static struct str name_of(const char *entry)
{
    return (struct str){entry, strcspn(entry, "=")};
}

static void write_environment(const struct cairn_shell *shell, struct buf *out)
{
    for (size_t i = 0; i < shell->n_own; i++) {
        struct str name = name_of(shell->env[i]);
        if (is_special(name))
            continue;
        buf_text(out, "export ");
        buf_str(out, name);
        buf_byte(out, '=');
        buf_shell_word(out, str_of(shell->env[i] + name.len + 1));
        buf_byte(out, '\n');
    }
}

static void write_directory(const struct cairn_shell *shell, struct buf *out)
{
    if (!shell->directory[0])
        return;
    buf_text(out, "cd -- ");
    buf_shell_word(out, str_of(shell->directory));
    buf_text(out, " || exit\n");
}

/* What is new each time; the file goes when the script ends. */
static void write_scratch(const struct cairn_shell *shell, struct buf *out)
{
    buf_text(out, "CAIRN_TOKEN=shell.$(od -An -N8 -tx1 /dev/urandom | tr -cd 0-9a-f)\n"
                  "export CAIRN_TOKEN\n");
    buf_text(out, "CAIRN_OUTPUT=$(mktemp) || exit\n"
                  "export CAIRN_OUTPUT\n"
                  "trap 'rm -f -- \"$CAIRN_OUTPUT\"");
    buf_text(out, shell->inputs ? " \"$CAIRN_INPUTS\"' EXIT\n" : "' EXIT\n");
    if (shell->inputs) {
        buf_text(out, "CAIRN_INPUTS=$(mktemp) || exit\n"
                      "export CAIRN_INPUTS\n"
                      "printf %s ");
        buf_shell_word(out, str_of(shell->inputs));
        buf_text(out, " >\"$CAIRN_INPUTS\" || exit\n");
    }
    buf_text(out, "trap 'exit 129' HUP\n"
                  "trap 'exit 130' INT\n"
                  "trap 'exit 143' TERM\n");
}

static void write_command(const struct cairn_shell *shell, const char *const *command,
                          struct buf *out)
{
    const char *before = "env";
    for (size_t i = 0; i < shell->n_own; i++) {
        struct str name = name_of(shell->env[i]);
        if (!is_special(name) || str_equal(name, STR("PWD")))
            continue;
        buf_text(out, before);
        buf_byte(out, ' ');
        buf_shell_word(out, str_of(shell->env[i]));
        buf_byte(out, ' ');
        before = "";
    }
    for (const char *const *word = command ? command : shell->argv; *word; word++) {
        buf_shell_word(out, str_of(*word));
        buf_byte(out, word[1] ? ' ' : '\n');
    }
}

void shell_script_write(const struct cairn_shell *shell, const char *const *command,
                        struct buf *out)
{
    write_head(shell, out);
    write_secrets(shell, out);
    write_withheld(shell, out);
    write_directory(shell, out);
    write_scratch(shell, out);
    write_environment(shell, out);
    write_command(shell, command, out);
}

/* ---- Which attempt ---- */

struct attempt_finder {
    struct attempt_view *view;
    struct task_place place;
    uint32_t wanted;            /* 0: the newest */
    uint32_t round, next_round; /* of a task with `repeat` */
    bool found, undo;
    uint64_t checkpoint;
    struct cairn_error *error;
};

/* The round of an attempt stands in its result. One that was cut off has none: it was
 * the round that came next. */
static int note_round(struct attempt_finder *f, const struct attempt_row *row)
{
    struct arena arena = ARENA_INIT;
    struct digest digest;
    struct result result = {0};
    int rc = 0;
    if (row->outputs.len == DIGEST_SIZE) {
        memcpy(digest.bytes, row->outputs.ptr, DIGEST_SIZE);
        rc = result_load(f->view->store, &digest, &arena, &result, NULL);
    }
    arena_release(&arena);
    f->round = !rc && result.round ? result.round : f->next_round;
    bool done = row->outcome == CAIRN_COMPLETED || row->outcome == CAIRN_FAILED;
    if (row->flags & ATTEMPT_RETRY)
        f->next_round = f->round + (row->outcome == CAIRN_COMPLETED);
    else
        f->next_round = done ? 1 : f->round;
    return rc == CAIRN_ENOMEM ? error_nomem(f->error) : 0;
}

static int note_attempt(void *context, const struct attempt_row *row)
{
    struct attempt_finder *f = context;
    bool undo = row->flags & ATTEMPT_UNDO;
    int rc = undo || attempt_never_started(row) ? 0 : note_round(f, row);
    if (rc || attempt_never_started(row) ||
        (f->wanted ? row->number != f->wanted : undo))
        return rc;
    f->found = true;
    f->undo = undo;
    f->view->gen = f->place.gen;
    f->view->task = f->place.task;
    f->view->attempt = row->number;
    f->view->start_turn = row->start_turn;
    f->checkpoint = row->checkpoint;
    f->view->round = f->round;
    f->view->fallback = row->flags & ATTEMPT_FALLBACK;
    return 0;
}

static int note_generation(void *context, const struct task_place *place)
{
    struct attempt_finder *f = context;
    f->place = *place;
    return store_each_attempt(f->view->store, f->view->run.row.run, place->gen,
                              place->task, note_attempt, f, f->error);
}

static int find_attempt(struct attempt_finder *f, const char *task)
{
    unsigned long long run = f->view->run.row.run;
    int rc = attempts_each_generation(f->view->store, &f->view->run, task,
                                      note_generation, f, f->error);
    if (rc)
        return rc;
    if (!f->found && f->wanted)
        return error_set(f->error, CAIRN_ENOTFOUND,
                         "task `%s` has no attempt %u in run %llu", task, f->wanted,
                         run);
    if (!f->found) {
        f->view->gen = f->place.gen;
        f->view->task = f->place.task;
    }
    return f->undo ? error_set(f->error, CAIRN_EUSAGE,
                               "attempt %u of task `%s` ran its undo, not the task",
                               f->wanted, task)
                   : 0;
}

/* ---- How the run stood then ---- */

/* The states at the attempt's own checkpoint, which has what it needed as it was. 1:
 * there are none. */
static int take_checkpoint(struct attempt_view *v, uint64_t checkpoint,
                           const struct digest *graph, struct cairn_error *error)
{
    struct cairn_error why = {0};
    struct outcomes at;
    struct rebuilt rebuilt;
    int rc = checkpoint ? outcomes_rebuild(v->store, checkpoint, &at, &rebuilt, &why)
                        : CAIRN_ENOTFOUND;
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED)
        return 1;
    if (rc)
        return error_set(error, rc, "%s", why.text);
    if (rebuilt.header.stream != v->run.row.run || !digest_equal(&at.graph, graph)) {
        outcomes_release(&at);
        return 1;
    }
    v->states = at.states;
    at.states = (struct states){0};
    outcomes_release(&at);
    v->exact = true;
    return 0;
}

/* The newest states, which may be of another generation. */
static int map_newest(struct attempt_view *v, struct cairn_error *error)
{
    const struct states *newest = &v->run.recovery.states;
    struct definition definition;
    struct graph graph;
    int rc = graph_load(v->store, &v->run.recovery.graph, &definition, &graph, error);
    if (rc)
        return rc;
    rc = states_init(&v->states, v->graph.n_tasks, error);
    for (uint32_t task = 0; task < v->graph.n_tasks && !rc; task++) {
        uint32_t now = map_task(&v->graph, task, &graph);
        if (now == NODE_NONE || now >= newest->n)
            continue;
        struct change change = {.task = task,
                                .outcome = newest->outcome[now],
                                .attempts = newest->attempts[now]};
        if (newest->outputs)
            change.outputs = newest->outputs[now];
        rc = states_apply(&v->states, &change, error);
    }
    graph_release(&graph);
    definition_release(&definition);
    return rc;
}

/* With a key only what has its HMAC counts: the rows of attempts and of earlier
 * generations have none. */
static int refuse_unkeyed(const struct attempt_view *v, const char *what,
                          struct cairn_error *error)
{
    return error_set(error, CAIRN_ENOTFOUND,
                     "%s is known only by rows without an HMAC of the key, since the "
                     "checkpoint of attempt %u is gone",
                     what, v->attempt);
}

static int take_newest(struct attempt_view *v, const struct digest *graph,
                       struct cairn_error *error)
{
    const struct recovery *recovery = &v->run.recovery;
    if (digest_equal(&recovery->graph, graph))
        return states_copy(&v->states, &recovery->states, error);
    if (v->run.row.keyed)
        return refuse_unkeyed(v, "its definition", error);
    return map_newest(v, error);
}

static int load_states(struct attempt_view *v, uint64_t checkpoint,
                       const struct digest *graph, struct cairn_error *error)
{
    int rc = take_checkpoint(v, checkpoint, graph, error);
    if (rc == 1)
        rc = take_newest(v, graph, error);
    if (!rc && v->states.n != v->graph.n_tasks)
        rc = error_set(error, CAIRN_EDAMAGED,
                       "the checkpoint is of %u tasks, its definition of %u",
                       v->states.n, v->graph.n_tasks);
    return rc;
}

/* The status with which `finally` began, before or in the turn of the attempt. */
static int note_status(void *context, const struct event_row *row)
{
    struct attempt_view *v = context;
    if (v->start_turn && row->turn > v->start_turn)
        return 1;
    if (row->kind == EVENT_PHASE && row->data.len && row->data.ptr &&
        row->data.len < sizeof v->run_status) {
        memcpy(v->run_status, row->data.ptr, row->data.len);
        v->run_status[row->data.len] = 0;
    }
    return 0;
}

static int load_status(struct attempt_view *v, struct cairn_error *error)
{
    if (!graph_def(&v->graph, v->task)->finally)
        return 0;
    int rc = store_each_event(v->store, v->run.row.run, 0, note_status, v, error);
    return rc < 0 ? rc : 0;
}

/* ---- Where it is now ---- */

/* A project that was moved with its store is where its file is now. */
static int follow_root(struct attempt_view *v, struct cairn_error *error)
{
    struct definition *d = &v->definition;
    struct buf path = BUF_INIT;
    if (!d->file.len || !str_equal(d->file, v->run.row.file))
        return 0;
    int found = moved_store_find(v->store, &v->run.row, &path, error);
    size_t len = path.size;
    while (len > 1 && path.data[len - 1] != '/')
        len--;
    if (found > 0 && !str_equal(buf_view(&path), d->file)) {
        d->root =
            arena_str(&d->arena, (struct str){path.data, len > 1 ? len - 1 : len});
        found = d->arena.failed ? error_nomem(error) : found;
    }
    buf_release(&path);
    return found < 0 ? found : 0;
}

static int load_view(struct attempt_view *v, const char *task, uint32_t attempt,
                     struct cairn_error *error)
{
    struct attempt_finder finder = {
        .view = v, .wanted = attempt, .round = 1, .next_round = 1, .error = error};
    struct digest graph;
    /* What it says is going to be executed. */
    int rc = store_check_keyed(v->store, v->run.row.run, v->run.row.keyed, error)
             ?: find_attempt(&finder, task)
             ?: run_graph(v->store, &v->run.row, v->gen, &graph, error)
             ?: graph_load(v->store, &graph, &v->definition, &v->graph, error);
    if (rc)
        return rc;
    v->lookup = (struct lookup){.graph = &v->graph,
                                .states = &v->states,
                                .store = v->store,
                                .run = v->run.row.run,
                                .digests = FILE_DIGESTS_INIT};
    if (v->task >= v->graph.n_tasks)
        return error_set(error, CAIRN_EDAMAGED,
                         "the definition of the attempt has no such task");
    rc = load_states(v, finder.checkpoint, &graph, error) ?: load_status(v, error);
    v->lookup.run_status = v->run_status[0] ? v->run_status : NULL;
    v->asker =
        (struct asker){.lookup = &v->lookup, .task = v->task, .attempt = v->attempt};
    return rc ? rc : follow_root(v, error);
}

/* run 0: that of run_choose; attempt 0: the newest that ran the task and not its undo.
 * A task that has none is seen as it is in the newest definition that has it.
 * On failure there is nothing to release. CAIRN_ENOTFOUND: no such run, task or
 * attempt; CAIRN_EDAMAGED, CAIRN_EUSAGE (the attempt ran the undo). */
static int attempt_view_open(struct attempt_view *v, struct cairn_store *store,
                             uint64_t run, const char *task, uint32_t attempt,
                             struct cairn_error *error)
{
    *v = (struct attempt_view){.store = store};
    int rc = store_begin_read(store, error);
    if (rc)
        return rc;
    rc = stored_run_open(&v->run, store, run, false, error);
    if (!rc) {
        rc = load_view(v, task, attempt, error);
        if (rc)
            attempt_view_release(v);
    }
    store_end_read(store);
    return rc;
}

static void attempt_view_release(struct attempt_view *v)
{
    if (v->lookup.graph) {
        lookup_release(&v->lookup);
        graph_release(&v->graph);
        definition_release(&v->definition);
    }
    states_release(&v->states);
    stored_run_release(&v->run);
    *v = (struct attempt_view){0};
}

/* ---- What its texts ask for ---- */

struct earlier { /* a task's last attempt that had ended when ours started */
    struct attempt_view *view;
    struct task_place place;
    bool again; /* it has ended again since */
    bool known;
    struct change change;
    struct cairn_error *error;
};

static int note_earlier(void *context, const struct attempt_row *row)
{
    struct earlier *e = context;
    if (!row->end_turn || attempt_never_started(row))
        return 0;
    if (row->end_turn > e->view->start_turn) {
        e->again = true;
        return 0;
    }
    e->known = true;
    e->change.outcome = row->outcome;
    e->change.attempts = row->number;
    e->change.outputs = (struct digest){{0}};
    if (row->outputs.len == DIGEST_SIZE)
        memcpy(e->change.outputs.bytes, row->outputs.ptr, DIGEST_SIZE);
    return 0;
}

static int note_earlier_generation(void *context, const struct task_place *place)
{
    struct earlier *e = context;
    e->place = *place;
    return store_each_attempt(e->view->store, e->view->run.row.run, place->gen,
                              place->task, note_earlier, e, e->error);
}

/* A task that our attempt's texts ask for stands as it did then. */
static int put_back(struct attempt_view *v, uint32_t task, struct cairn_error *error)
{
    struct earlier earlier = {.view = v, .change = {.task = task}, .error = error};
    const char *id = v->graph.id[task];
    int rc = attempts_each_generation(v->store, &v->run, id, note_earlier_generation,
                                      &earlier, error);
    if (rc || !earlier.again)
        return rc;
    if (v->run.row.keyed)
        return refuse_unkeyed(v, id, error);
    if (!earlier.known)
        return error_set(error, CAIRN_ENOTFOUND,
                         "task `%s` has run again since attempt %u started, and how it "
                         "stood then is not stored any more",
                         id, v->attempt);
    return states_apply(&v->states, &earlier.change, error);
}

static int ask(void *context, const struct name *name, struct value *out,
               struct cairn_error *error)
{
    struct attempt_view *v = context;
    bool of_task = name->kind == NAME_TASK_OUTPUT || name->kind == NAME_TASK_STATUS ||
                   name->kind == NAME_TASK_FILES;
    uint32_t def = of_task && !v->exact && v->start_turn
                       ? definition_task(&v->definition,
                                         name_scope(graph_def(&v->graph, v->task)->id),
                                         name->first)
                       : MAP_NONE;
    int rc = 0;
    if (def != MAP_NONE) {
        struct node_range range = graph_referred(&v->graph, v->task, def);
        for (uint32_t i = 0; i < range.n && !rc; i++)
            rc = put_back(v, node_at(range, i), error);
    }
    return rc ? rc : lookup_name(&v->asker, name, out, error);
}

/* The scope of the task's texts. The view must live as long. */
static struct scope attempt_view_scope(struct attempt_view *v)
{
    struct scope scope = lookup_scope(&v->asker);
    scope.lookup = ask;
    scope.context = v;
    return scope;
}

/* What an attempt was given, for people who look for the cause of a failure. It is made
 * by invocation.c, as for the engine; nothing is started or recorded here. */

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

static int list_inputs(struct maker *m)
{
    struct buf names = BUF_INIT;
    int rc = inputs_list(&m->scope, &names, m->error);
    if (!rc)
        m->shell->shown.inputs = show(m, buf_view(&names));
    buf_release(&names);
    return rc == NAME_BROKEN ? 0 : rc;
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
    const struct environment *inherited = environment_of(environments, m->scope.def);
    bool lists = inherited && inherited->lists;
    const struct invocation_of of = {
        .scope = &m->scope,
        .inherited = inherited,
        .secrets = &m->shell->secrets,
        .told = {.task = v->graph.id[v->task],
                 .run = v->run.row.run,
                 .attempt = v->attempt,
                 .round = m->scope.def->repeat.max && !v->fallback ? v->round : 0,
                 .token = make_token(m),
                 .output = m->options->output,
                 .inputs = lists ? m->options->inputs : NULL,
                 .run_status = v->lookup.run_status},
        .cwd = m->shell->directory.size ? m->shell->directory.data : ".",
        .fallback = v->fallback,
        .own_directory = m->scope.def->kind == TASK_RUN || v->fallback};
    int rc = invocation_make(&m->shell->given, &of, &why);
    if (!rc && lists)
        return list_inputs(m);
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
    to->text = v->fallback                      ? show(m, m->scope.def->fallback)
               : m->scope.def->kind == TASK_RUN ? show(m, m->scope.def->run)
                                                : NULL;
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
    int rc = refuse_kind(m)
             ?: load_secrets(m)
             ?: task_directory(&m->scope, &m->shell->directory, m->error)
             ?: environments_read(&environments, &m->view->definition, &m->shell->arena,
                                  m->error)
             ?: make_invocation(m, &environments);
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
    STRUCT_TAKE(cairn_shell_options, options, error);
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
        if (entry) /* else there was no memory for it */
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
