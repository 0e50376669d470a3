/* From a durable intent to a running process or a call: command line, environment,
 * working directory, output files. */
#include "executor/engine.h"

#include "base/clock.h"
#include "base/limits.h"
#include "executor/outputs.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- The inherited environment ---- */

int launch_environment(struct engine *e, struct cairn_error *error)
{
    uint32_t n = 0;
    while (environ && environ[n])
        n++;
    e->environment = arena_take(&e->arena, (size_t)n + 1, sizeof(char *));
    e->environments =
        arena_take(&e->arena, e->graph->definition->n_defs, sizeof *e->environments);
    for (uint32_t i = 0; i < n && !e->arena.failed; i++)
        if (strncmp(environ[i], "CAIRN_", 6) != 0)
            e->environment[e->n_environment++] =
                arena_text(&e->arena, str_of(environ[i]));
    return e->arena.failed ? error_nomem(error) : 0;
}

static bool replaces(const struct engine *e, const struct task_def *def,
                     struct str name)
{
    const struct definition *d = e->graph->definition;
    bool found = false;
    for (uint32_t i = 0; i < d->n_params && !found; i++)
        found = str_equal(d->params[i].key, name);
    for (uint32_t i = 0; i < def->n_foreach && !found; i++)
        found = str_equal(def->foreach[i].name, name);
    for (uint32_t i = 0; i < def->n_env && !found; i++)
        found = str_equal(def->env[i].key, name);
    return found;
}

/* Made once per task_def: pointers to the inherited entries that stay. */
static struct environment *inherited(struct engine *e, const struct task_def *def)
{
    struct environment *env = &e->environments[def - e->graph->definition->defs];
    if (env->made)
        return env;
    env->entries = arena_take(&e->arena, (size_t)e->n_environment + 1, sizeof(char *));
    if (!env->entries)
        return NULL;
    for (uint32_t i = 0; i < e->n_environment; i++) {
        const char *entry = e->environment[i];
        const char *equals = strchr(entry, '=');
        struct str name = {entry, equals ? (size_t)(equals - entry) : strlen(entry)};
        if (!replaces(e, def, name))
            env->entries[env->n++] = e->environment[i];
    }
    env->made = true;
    return env;
}

/* ---- One attempt's strings ----
 * All strings of an attempt stand in job->text, NUL-terminated; their offsets are noted
 * first, because the buffer moves while it grows. */

struct strings {
    struct job *job;
    size_t *offset;
    size_t n, capacity;
};

static int begin_string(struct strings *s)
{
    if (s->n == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 32;
        size_t *offset = realloc(s->offset, capacity * sizeof *offset);
        if (!offset)
            return CAIRN_ENOMEM;
        s->offset = offset;
        s->capacity = capacity;
    }
    s->offset[s->n++] = s->job->text.size;
    return 0;
}

static int add_variable(struct strings *s, struct str name, struct str value)
{
    if (begin_string(s))
        return CAIRN_ENOMEM;
    buf_str(&s->job->text, name);
    buf_byte(&s->job->text, '=');
    buf_str(&s->job->text, value);
    buf_byte(&s->job->text, 0);
    return 0;
}

static int add_expanded(struct engine *e, struct strings *s, const struct task_def *def,
                        uint32_t member, struct str name, struct str text)
{
    if (begin_string(s))
        return CAIRN_ENOMEM;
    if (name.len) {
        buf_str(&s->job->text, name);
        buf_byte(&s->job->text, '=');
    }
    text_expand(e->graph->definition, def, member, text, &s->job->text);
    buf_byte(&s->job->text, 0);
    return 0;
}

static int add_arguments(struct engine *e, struct strings *s,
                         const struct task_def *def, uint32_t member)
{
    static const struct str none = {"", 0};
    int result = 0;
    for (uint32_t i = 0; i < def->n_argv && !result; i++)
        result = add_expanded(e, s, def, member, none, def->argv[i]);
    for (uint32_t i = 0; i < def->n_shell && !result; i++) {
        result = begin_string(s);
        buf_add(&s->job->text, def->shell[i].ptr, def->shell[i].len);
        buf_byte(&s->job->text, 0);
    }
    if (!result && def->kind == TASK_RUN) {
        result = begin_string(s);
        buf_str(&s->job->text, def->run);
        buf_byte(&s->job->text, 0);
    }
    return result;
}

static int add_own_variables(struct engine *e, struct strings *s, const struct job *job)
{
    char text[SLOTS_TOKEN + 64];
    int result = add_variable(s, STR("CAIRN_TASK"), str_of(e->graph->id[job->task]));
    snprintf(text, sizeof text, "%llu", (unsigned long long)e->row.run);
    if (!result)
        result = add_variable(s, STR("CAIRN_RUN"), str_of(text));
    snprintf(text, sizeof text, "%u", job->attempt);
    if (!result)
        result = add_variable(s, STR("CAIRN_ATTEMPT"), str_of(text));
    snprintf(text, sizeof text, "%s.%u.%u", e->slots.slots->token, job->task,
             job->attempt);
    if (!result)
        result = add_variable(s, STR("CAIRN_TOKEN"), str_of(text));
    return result;
}

static int add_variables(struct engine *e, struct strings *s,
                         const struct task_def *def, uint32_t member)
{
    const struct definition *d = e->graph->definition;
    int result = 0;
    for (uint32_t i = 0; i < d->n_params && !result; i++)
        result = add_variable(s, d->params[i].key, d->params[i].value);
    for (uint32_t k = 0; k < def->n_foreach && !result; k++)
        result = add_variable(s, def->foreach[k].name,
                              def->foreach[k].values[member_value(def, member, k)]);
    for (uint32_t i = 0; i < def->n_env && !result; i++)
        result = add_expanded(e, s, def, member, def->env[i].key, def->env[i].value);
    return result ? result : add_own_variables(e, s, s->job);
}

/* Turns offsets into the pointer arrays that exec wants. */
static int make_vectors(struct strings *s, size_t n_argv, const struct environment *env)
{
    struct job *job = s->job;
    size_t need = s->n + env->n + 2;
    if (need > job->vector_size) {
        char **vector = realloc(job->vector, need * sizeof *vector);
        if (!vector)
            return CAIRN_ENOMEM;
        job->vector = vector;
        job->vector_size = need;
    }
    char **at = job->vector;
    for (size_t i = 0; i < n_argv; i++)
        *at++ = job->text.data + s->offset[i];
    *at++ = NULL;
    char **envp = at;
    if (env->n)
        memcpy(at, env->entries, env->n * sizeof *at);
    at += env->n;
    for (size_t i = n_argv; i < s->n; i++)
        *at++ = job->text.data + s->offset[i];
    *at = NULL;
    job->request.argv = job->vector;
    job->request.envp = envp;
    job->request.path = NULL;
    for (char **v = envp; *v; v++)
        if (strncmp(*v, "PATH=", 5) == 0)
            job->request.path = *v + 5;
    return 0;
}

/* The kernel takes no single string over 128 KiB; better to say which one it was. */
static int check_lengths(const struct strings *s, size_t n_argv, struct buf *why)
{
    for (size_t i = 0; i < s->n; i++) {
        const char *text = s->job->text.data + s->offset[i];
        size_t length = strlen(text);
        if (length <= LIMIT_ENV_STRING)
            continue;
        if (i < n_argv)
            buf_format(why, "argument %zu is %zu bytes long, the kernel takes %d", i,
                       length, LIMIT_ENV_STRING);
        else
            buf_format(why, "variable %.*s is %zu bytes long, the kernel takes %d",
                       (int)strcspn(text, "="), text, length, LIMIT_ENV_STRING);
        return CAIRN_ELIMIT;
    }
    return 0;
}

static int prepare_strings(struct engine *e, struct job *job, struct buf *why)
{
    const struct task_def *def = graph_def(e->graph, job->task);
    uint32_t member = graph_member(e->graph, job->task);
    struct strings s = {.job = job};
    struct environment *env = inherited(e, def);
    buf_clear(&job->text);
    int result = env ? add_arguments(e, &s, def, member) : CAIRN_ENOMEM;
    size_t n_argv = s.n;
    if (!result)
        result = add_variables(e, &s, def, member);
    if (!result && job->text.failed)
        result = CAIRN_ENOMEM;
    if (!result)
        result = check_lengths(&s, n_argv, why);
    if (!result)
        result = make_vectors(&s, n_argv, env);
    free(s.offset);
    if (result == CAIRN_ENOMEM)
        buf_text(why, "out of memory");
    return result;
}

/* ---- Starting ---- */

static void fill_slot(struct engine *e, uint32_t index, const struct job *job)
{
    struct slot *slot = &e->slots.slots->slot[index];
    slot->gen = e->row.gen;
    slot->task = job->task;
    slot->attempt = job->attempt;
    slot->started_ns = clock_utc_ns();
    slot->used = 1;
}

/* Trouble with our own files is no failure of the task: it runs, and its output is
 * lost, which is said. A task may have removed the live directory. */
static void open_capture(struct engine *e, uint32_t index)
{
    struct job *job = &e->jobs[index];
    struct cairn_error error = {0};
    int result = capture_open(&job->capture, e->live_dir, e->row.run, index, &error);
    if (result && os_make_dir(e->live_dir, 0700, NULL) == 1)
        result = capture_open(&job->capture, e->live_dir, e->row.run, index, &error);
    job->capture_open = !result;
    if (!result)
        return;
    job->capture = (struct capture){.fd = {-1, -1}};
    char text[1200];
    snprintf(text, sizeof text, "the output of %s cannot be kept: %s",
             e->graph->id[job->task], error.text);
    report(e, CAIRN_EVENT_NOTICE, text);
}

static int prepare(struct engine *e, uint32_t index, struct buf *why)
{
    struct job *job = &e->jobs[index];
    struct cairn_error error = {0};
    int result = 0;
    if (!job->capture_open)
        open_capture(e, index);
    task_directory(e->graph, job->task, &job->cwd);
    if (!result && job->cwd.failed)
        result = error_nomem(&error);
    uint32_t old = e->situation.old_task[job->task];
    bool interrupted = old != NODE_NONE && e->situation.marks &&
                       e->situation.marks[old] & (MARK_INTERRUPTED | MARK_DAMAGED);
    if (!result && interrupted)
        result = outputs_remove(e->graph, job->task, &error);
    if (result)
        buf_text(why, error.text);
    return result ? result : prepare_strings(e, job, why);
}

static int start_process(struct engine *e, const struct intent *intent,
                         struct cairn_error *error)
{
    struct buf why = BUF_INIT;
    uint32_t index = e->free_jobs[e->n_free - 1];
    struct job *job = &e->jobs[index];
    job->task = intent->task;
    job->attempt = intent->attempt;
    job->intent_ns = intent->intent_ns;
    int result = prepare(e, index, &why);
    if (result) {
        result = engine_not_started(e, intent, -1, why.data ? why.data : "", error);
        buf_release(&why);
        return result;
    }
    e->n_free--;
    e->running++;
    e->result->attempts++;
    job->state = JOB_SPAWNING;
    job->stamp = ++e->next_stamp;
    job->timed_out = job->cancelled = job->killed = false;
    job->pid = 0;
    job->pidfd = -1;
    fill_slot(e, index, job);
    job->request.cwd = job->cwd.size ? job->cwd.data : NULL;
    job->request.stdout_fd = job->capture.fd[0];
    job->request.stderr_fd = job->capture.fd[1];
    job->request.slot = &e->slots.slots->slot[index];
    job->request.context = job;
    spawner_submit(e->spawner, &job->request);
    return 0;
}

static int start_call(struct engine *e, const struct intent *intent,
                      struct cairn_error *error)
{
    const struct task_def *def = graph_def(e->graph, intent->task);
    uint32_t slot = e->free_jobs[e->n_free - 1];
    struct job *job = &e->jobs[slot];
    struct cairn_attempt *attempt = calloc(1, sizeof *attempt);
    if (!attempt || !def->call) {
        free(attempt);
        return engine_not_started(
            e, intent, -1,
            def->call ? "out of memory" : "its callback is not in this program", error);
    }
    *attempt = (struct cairn_attempt){
        .engine = e, .task = intent->task, .number = intent->attempt, .slot = slot};
    e->n_free--;
    e->running++;
    e->result->attempts++;
    job->state = JOB_CALLED;
    job->task = intent->task;
    job->attempt = intent->attempt;
    job->intent_ns = intent->intent_ns;
    job->started_ns = clock_utc_ns();
    report_start(e, job);
    enum cairn_outcome outcome = def->call(def->context, attempt);
    if (outcome == CAIRN_LATER)
        return 0; /* the handle comes back through cairn_attempt_finish */
    free(attempt);
    return engine_called(e, job, outcome, NULL, error);
}

/* Starts what has a durable intent while slots are free. Calls run right here, so after
 * some milliseconds of them the turn must go on to commit what they did. */
int engine_start_ready(struct engine *e, struct cairn_error *error)
{
    enum { CALL_BUDGET_NS = 5000000 };
    int64_t start_ns = 0;
    int result = 0;
    while (!result && e->starts_head < e->n_starts && e->n_free && !e->halt) {
        struct intent intent = e->starts[e->starts_head];
        bool call = graph_def(e->graph, intent.task)->kind == TASK_CALL;
        if (call && !start_ns)
            start_ns = clock_mono_ns();
        e->starts_head++;
        result =
            call ? start_call(e, &intent, error) : start_process(e, &intent, error);
        if (call && clock_mono_ns() - start_ns > CALL_BUDGET_NS)
            break;
    }
    if (e->starts_head && (e->starts_head > (e->n_starts - e->starts_head) + 64 ||
                           e->starts_head == e->n_starts)) {
        e->n_starts -= e->starts_head;
        memmove(e->starts, e->starts + e->starts_head, e->n_starts * sizeof *e->starts);
        e->starts_head = 0;
    }
    return result;
}

/* ---- For callbacks ---- */

const char *cairn_attempt_task(const struct cairn_attempt *attempt)
{
    return attempt->engine->graph->id[attempt->task];
}

uint32_t cairn_attempt_number(const struct cairn_attempt *attempt)
{
    return attempt->number;
}

void cairn_attempt_finish(struct cairn_attempt *attempt, enum cairn_outcome outcome,
                          const char *text)
{
    struct engine *e = attempt->engine;
    uint64_t one = 1;
    attempt->outcome = outcome;
    attempt->text = text ? strdup(text) : NULL; /* without memory: no message */
    pthread_mutex_lock(&e->later_lock);
    attempt->next = e->later;
    e->later = attempt;
    /* Written under the lock: the engine may free itself as soon as it has the list. */
    ssize_t written = write(e->later_fd, &one, sizeof one);
    pthread_mutex_unlock(&e->later_lock);
    (void)written; /* fails only when the counter is full, and then it is readable */
}
