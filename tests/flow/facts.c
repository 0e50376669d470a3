/* SPDX-License-Identifier: MIT */
/* How a run ended, as a set of lines. What is left out, and why that is no difference:
 *
 * - numbers of attempts, and times: a task that was running when cairn died is started
 *   again, and one that failed last time is tried again when the run continues;
 * - for the same reason, all events of a task but the newest of each kind; and of
 * kinds, those that tell of starts, retries, interruptions and resets;
 * - that what stood for the members of a list was skipped before the list was known;
 * - which of several needs that did not complete a task was skipped because of: the
 * first to end. That it did not complete is looked at;
 * - that an end was seen by a helper, "while no cairn watched": the end is the same;
 * - the directory that a variant runs in, in a path;
 * - how often a side effect happened: only which tasks were undone is a fact. */
#include "flow.h"

#include <ctype.h>
#include <dirent.h>
#include <jansson.h>
#include <stdarg.h>

enum { LINES_MAX = 2000, LINE_SIZE = 1200 };

static bool add(struct facts *facts, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool add(struct facts *facts, const char *format, ...)
{
    va_list arguments;
    if (facts->n == LINES_MAX || !facts->line)
        return false;
    va_start(arguments, format);
    char *line = malloc(LINE_SIZE);
    if (line) {
        vsnprintf(line, LINE_SIZE, format, arguments);
        facts->line[facts->n++] = line;
    }
    va_end(arguments);
    return line != NULL;
}

/* After a failure that ends the run no list is taken up, but a session that begins after
 * the list was made has its members: whether a group that is skipped, or not run at all,
 * is so as a whole. */
static void hide_members(char id[ID_SIZE], const struct workflow *w, const char *state)
{
    char *part = strstr(id, "[part=");
    for (uint32_t i = 0; i < w->n_defs && part; i++) {
        const struct def *def = &w->defs[i];
        bool it = def->made && strncmp(id, def->id, strlen(def->id)) == 0 &&
                  id + strlen(def->id) == part;
        if (it && w->policy != ON_CONTINUE &&
            w->defs[def->list_of].when == WHEN_ALWAYS &&
            (strcmp(state, "skipped") == 0 || strcmp(state, "pending") == 0))
            snprintf(part, 8, "[...]");
    }
}

/* A task with a condition that needs a service: is that skipped, the task is, too; or
 * left out by its condition, whichever is known first. */
static bool is_left_out(const struct workflow *w, const char *id)
{
    bool is = false;
    for (uint32_t i = 0; i < w->n_defs; i++) {
        const struct def *def = &w->defs[i];
        size_t n = strlen(def->id);
        is |= def->condition != COND_NONE && def_needs_service(w, def) &&
              strncmp(id, def->id, n) == 0 && (!id[n] || id[n] == '[');
    }
    return is;
}

/* Services are left out: one may have been started for a task that then was skipped
 * because of something else, or was not in time for that. What needs them tells. */
static bool is_service(const struct workflow *w, const char *id)
{
    bool is = false;
    for (uint32_t i = 0; i < w->n_defs; i++) {
        size_t n = strlen(w->defs[i].id);
        is |= w->defs[i].service && strncmp(id, w->defs[i].id, n) == 0 &&
              (!id[n] || id[n] == '[');
    }
    return is;
}

/* ---- States ---- */

static bool add_states(const struct workflow *w, const struct status *status,
                       struct facts *facts)
{
    bool good = add(facts, "run: %s", status->run_state);
    for (uint32_t i = 0; i < status->n && good; i++) {
        const struct state *s = &status->state[i];
        char id[ID_SIZE];
        snprintf(id, sizeof id, "%s", s->task);
        hide_members(id, w, s->state);
        bool out =
            strcmp(s->state, "excluded") == 0 || strcmp(s->state, "skipped") == 0;
        if (is_service(w, id))
            continue;
        if (out && is_left_out(w, id))
            good = add(facts, "state of %s: skipped", id);
        else
            good = add(facts, "state of %s: %s, exit code %d, %s", id, s->state,
                       s->exit_code, s->text);
    }
    return good;
}

/* ---- Events ---- */

static void cut_out(char *text, const char *part)
{
    char *at;
    while ((at = strstr(text, part)) != NULL)
        memmove(at, at + strlen(part), strlen(at + strlen(part)) + 1);
}

/* "attempt 3" becomes "attempt N". */
static void hide_attempts(char *text)
{
    static const char word[] = "attempt ";
    for (char *at = text; (at = strstr(at, word)) != NULL;) {
        char *end = at += sizeof word - 1;
        while (isdigit((unsigned char)*end))
            end++;
        if (end == at)
            continue;
        *at = 'N';
        memmove(at + 1, end, strlen(end) + 1);
    }
}

/* "(/tmp/x/serial/out/2)" becomes "(out/2)". */
static void hide_directory(char *text, const char *dir)
{
    size_t n = strlen(dir);
    for (char *at = text; (at = strstr(at, dir)) != NULL;)
        memmove(at, at + n + (at[n] == '/'), strlen(at + n + (at[n] == '/')) + 1);
}

/* Did the task, or a member of the group, not complete? */
static bool is_bad(const struct status *status, const char *id)
{
    size_t n = strlen(id);
    for (uint32_t i = 0; i < status->n; i++) {
        const struct state *s = &status->state[i];
        if (strncmp(s->task, id, n) == 0 && (!s->task[n] || s->task[n] == '[') &&
            strcmp(s->state, "completed") != 0)
            return true;
    }
    return false;
}

/* "because of t3" becomes "because of a need", if t3 really did not complete. */
static void hide_cause(char *text, const struct status *status)
{
    static const char word[] = "because of ";
    char *at = strstr(text, word);
    if (at && is_bad(status, at + sizeof word - 1))
        snprintf(at + sizeof word - 1, sizeof "a need", "a need");
}

static const char *text_of(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));
    return text ? text : "";
}

static bool counts(const char *kind)
{
    static const char *const kinds[] = {"task_finished", "task_skipped",
                                        "task_condition", "task_undo"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    return false;
}

/* Replaces an older event of that kind of that task. */
static bool add_event(struct facts *facts, const json_t *event,
                      const struct workflow *w, const struct status *status)
{
    const char *kind = text_of(event, "type");
    char task[ID_SIZE];
    snprintf(task, sizeof task, "%s", text_of(event, "task"));
    if (strcmp(kind, "task_skipped") == 0)
        hide_members(task, w, "skipped");
    const char *reason = text_of(event, "reason");
    char head[ID_SIZE + 64], text[TEXT_SIZE];
    bool open = is_left_out(w, task) && strcmp(kind, "task_finished") != 0;
    if (!counts(kind) || is_service(w, task) || open || strstr(task, "=…"))
        return true;
    snprintf(head, sizeof head, "event %s %s: ", task, kind);
    snprintf(text, sizeof text, "%s", text_of(event, "text"));
    hide_attempts(text);
    hide_cause(text, status);
    cut_out(text, " while no cairn watched");
    for (uint32_t i = 0; i < facts->n; i++)
        if (strncmp(facts->line[i], head, strlen(head)) == 0) {
            free(facts->line[i]);
            facts->line[i] = facts->line[--facts->n];
            break;
        }
    return add(facts, "%s%s, %lld, %s, %s", head, text_of(event, "outcome"),
               json_integer_value(json_object_get(event, "exit_code")),
               strcmp(reason, "adopted") == 0 ? "" : reason, text);
}

static bool add_events(const struct workflow *w, const char *dir,
                       const struct status *status, struct facts *facts)
{
    char *text = file_read(dir, "out.events"), *rest;
    bool good = text != NULL;
    for (char *line = text; good && line && *line; line = rest) {
        rest = strchr(line, '\n');
        size_t n = rest ? (size_t)(rest - line) : strlen(line);
        json_t *event = json_loadb(line, n, 0, NULL);
        good = event && add_event(facts, event, w, status);
        json_decref(event);
        rest = rest ? rest + 1 : NULL;
    }
    free(text);
    return good;
}

/* ---- Files ---- */

static bool add_file(const char *dir, const char *name, struct facts *facts)
{
    char *text = file_read(dir, name), *rest;
    bool good = true;
    for (char *line = text; line && *line && good; line = rest) {
        rest = strchr(line, '\n');
        if (rest)
            *rest++ = '\0';
        good = add(facts, "file %s: %s", name, line);
    }
    free(text);
    return good;
}

static bool add_outputs(const char *dir, struct facts *facts)
{
    char path[DIR_SIZE + 16], name[300];
    bool good = true;
    snprintf(path, sizeof path, "%s/out", dir);
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && good && (entry = readdir(folder))) {
        snprintf(name, sizeof name, "out/%s", entry->d_name);
        if (entry->d_name[0] != '.')
            good = add_file(dir, name, facts);
    }
    if (folder)
        closedir(folder);
    return folder && good;
}

/* ---- What would run now ---- */

/* If every input and secret were another: so what is stored of them counts, too. */
static bool add_plan(const struct setup *setup, const struct workflow *w,
                     const char *dir, struct facts *facts)
{
    static const char *const wills[] = {"stays", "may run", "runs"};
    static struct plan plan;
    const char *arguments[] = {"plan", "--all", "--json", NULL};
    struct workflow other = *w;
    char name[32];
    bool good = true;
    for (uint32_t i = 0; i < SECRETS_MAX; i++)
        other.secret[i]++;
    for (uint32_t i = 0; i < w->n_defs && good; i++) {
        snprintf(name, sizeof name, "in/%u", i);
        good = file_write(dir, name, "something else\n");
    }
    good = good && cairn_do(setup, &other, dir, "plan", arguments) == 0 &&
           plan_read(dir, "plan", &plan);
    for (uint32_t i = 0; i < plan.n && good; i++) {
        struct verdict *v = &plan.verdict[i];
        if (strcmp(v->reason, "never-ran") == 0 || strcmp(v->reason, "skipped") == 0 ||
            strcmp(v->reason, "excluded") == 0)
            hide_members(v->task, w, "skipped");
        bool hidden = strstr(v->task, "[...]");
        bool service = is_service(w, v->task) || is_left_out(w, v->task);
        good = add(facts, "plan: %s %s: %s", v->task, wills[v->will],
                   hidden || service ? "" : v->reason);
    }
    return good;
}

/* ---- All of it ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_lines(struct facts *facts)
{
    uint32_t n = 0;
    qsort(facts->line, facts->n, sizeof *facts->line, by_text);
    for (uint32_t i = 0; i < facts->n; i++) {
        if (n && strcmp(facts->line[n - 1], facts->line[i]) == 0)
            free(facts->line[i]);
        else
            facts->line[n++] = facts->line[i];
    }
    facts->n = n;
}

bool facts_read(const struct setup *setup, const struct workflow *w, const char *dir,
                int exit_status, struct facts *facts)
{
    const char *tasks[] = {"status", "--tasks", "--json", NULL};
    char run[16];
    const char *events[] = {"events", run, "--json", NULL};
    *facts = (struct facts){.line = calloc(LINES_MAX, sizeof *facts->line)};
    static struct status status;
    bool good = cairn_do(setup, w, dir, "status", tasks) == 0 &&
                status_read(dir, "status", &status);
    snprintf(run, sizeof run, "%u", status.run);
    good = good && cairn_do(setup, w, dir, "events", events) == 0 &&
           add(facts, "exit status: %d", exit_status) &&
           add_states(w, &status, facts) && add_events(w, dir, &status, facts) &&
           add_outputs(dir, facts) && add_file(dir, "report", facts) &&
           add_file(dir, "undone", facts) && add_plan(setup, w, dir, facts);
    for (uint32_t i = 0; i < facts->n; i++)
        hide_directory(facts->line[i], dir);
    if (facts->line)
        sort_lines(facts);
    return good;
}

void facts_release(struct facts *facts)
{
    for (uint32_t i = 0; i < facts->n; i++)
        free(facts->line[i]);
    free(facts->line);
    *facts = (struct facts){0};
}
