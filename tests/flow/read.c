/* SPDX-License-Identifier: MIT */
/* What the command printed with --json, and the log of the tasks. */
#include "flow.h"

#include <jansson.h>

static json_t *document(const char *dir, const char *tag)
{
    char path[DIR_SIZE + 64];
    snprintf(path, sizeof path, "%s/out.%s", dir, tag);
    return json_load_file(path, JSON_DISABLE_EOF_CHECK, NULL);
}

static void copy_text(char *to, size_t size, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    snprintf(to, size, "%s", text ? text : "");
}

/* ---- Plans ---- */

static void take_verdict(struct verdict *v, const json_t *object)
{
    const char *will = json_string_value(json_object_get(object, "will"));
    copy_text(v->task, sizeof v->task, object, "task");
    copy_text(v->reason, sizeof v->reason, object, "reason");
    copy_text(v->cause, sizeof v->cause, object, "cause");
    copy_text(v->detail, sizeof v->detail, object, "detail");
    v->will = !will                       ? WILL_NOT
              : strcmp(will, "will") == 0 ? WILL
              : strcmp(will, "may") == 0  ? WILL_MAY
                                          : WILL_NOT;
    /* Before they had one field. */
    if (!will && json_is_true(json_object_get(object, "will_run")))
        v->will = WILL;
    if (!will && json_is_true(json_object_get(object, "may_run")))
        v->will = WILL_MAY;
}

bool plan_read(const char *dir, const char *tag, struct plan *plan)
{
    json_t *root = document(dir, tag), *list = json_object_get(root, "decisions");
    size_t i;
    json_t *decision;
    memset(plan, 0, sizeof *plan);
    plan->run_known = json_is_integer(json_object_get(root, "run"));
    json_array_foreach(list, i, decision)
    {
        if (plan->n == TASKS_MAX)
            break;
        struct verdict *v = &plan->verdict[plan->n++];
        take_verdict(v, decision);
        plan->will += v->will == WILL;
        plan->may += v->will == WILL_MAY;
    }
    json_decref(root);
    return list != NULL;
}

bool explain_read(const char *dir, const char *tag, struct verdict *verdict)
{
    json_t *root = document(dir, tag);
    memset(verdict, 0, sizeof *verdict);
    take_verdict(verdict, root);
    json_decref(root);
    return verdict->task[0] != '\0';
}

const struct verdict *plan_find(const struct plan *plan, const char *id)
{
    for (uint32_t i = 0; i < plan->n; i++)
        if (strcmp(plan->verdict[i].task, id) == 0)
            return &plan->verdict[i];
    return NULL;
}

/* ---- States ---- */

bool status_read(const char *dir, const char *tag, struct status *status)
{
    json_t *root = document(dir, tag), *list = json_object_get(root, "tasks");
    size_t i;
    json_t *task;
    memset(status, 0, sizeof *status);
    status->run = (uint32_t)json_integer_value(json_object_get(root, "run"));
    copy_text(status->run_state, sizeof status->run_state, root, "state");
    json_array_foreach(list, i, task)
    {
        if (status->n == TASKS_MAX)
            break;
        struct state *s = &status->state[status->n++];
        const json_t *code = json_object_get(task, "exit_code");
        copy_text(s->task, sizeof s->task, task, "task");
        copy_text(s->state, sizeof s->state, task, "state");
        copy_text(s->text, sizeof s->text, task, "text");
        s->attempts = (uint32_t)json_integer_value(json_object_get(task, "attempts"));
        s->exit_code = json_is_integer(code) ? (int)json_integer_value(code) : -1;
    }
    json_decref(root);
    return list != NULL;
}

const struct state *status_find(const struct status *status, const char *id)
{
    for (uint32_t i = 0; i < status->n; i++)
        if (strcmp(status->state[i].task, id) == 0)
            return &status->state[i];
    return NULL;
}

/* ---- What ran ---- */

/* What an event says of the task: services say that they are ready in a notice. */
static bool take_event(const json_t *event, const struct tasks *tasks, enum seen *seen)
{
    const char *type = json_string_value(json_object_get(event, "type"));
    const char *task = json_string_value(json_object_get(event, "task"));
    const char *text = json_string_value(json_object_get(event, "text"));
    const char *ready = text ? strstr(text, " is ready after ") : NULL;
    char id[ID_SIZE] = "";
    if (type && !task && ready && strcmp(type, "notice") == 0)
        snprintf(id, sizeof id, "%.*s", (int)(ready - text), text);
    uint32_t at = tasks_find(tasks, task ? task : id);
    if (!type || at == NONE)
        return event && !task;
    bool ended = json_is_integer(json_object_get(event, "signal"));
    if (strcmp(type, "task_started") == 0)
        seen[at] = seen[at] ? SEEN_STARTED_AGAIN : SEEN_STARTED;
    else if (!task)
        seen[at] = SEEN_READY;
    else if (strcmp(type, "task_finished") == 0 && ended && seen[at] == SEEN_STARTED)
        seen[at] = SEEN_ENDED_EARLY;
    return true;
}

bool started_read(const char *dir, const char *tag, const struct tasks *tasks,
                  enum seen *seen)
{
    char name[64], *line, *rest;
    snprintf(name, sizeof name, "out.%s", tag);
    char *text = file_read(dir, name);
    bool good = text != NULL;
    memset(seen, 0, TASKS_MAX * sizeof *seen);
    for (line = text; good && line && *line; line = rest) {
        rest = strchr(line, '\n');
        json_t *event =
            json_loadb(line, rest ? (size_t)(rest - line) : strlen(line), 0, NULL);
        good = take_event(event, tasks, seen);
        json_decref(event);
        rest = rest ? rest + 1 : NULL;
    }
    free(text);
    return good;
}

bool log_read(const char *dir, const struct tasks *tasks, long *offset, bool *ran)
{
    char path[DIR_SIZE + 16], line[ID_SIZE + 2];
    bool good = true;
    memset(ran, 0, TASKS_MAX * sizeof *ran);
    snprintf(path, sizeof path, "%s/log", dir);
    FILE *file = fopen(path, "re");
    if (!file)
        return *offset == 0; /* nothing has run at all */
    good = fseek(file, *offset, SEEK_SET) == 0;
    while (good && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        uint32_t at = tasks_find(tasks, line);
        good = at != NONE;
        if (good)
            ran[at] = true;
    }
    *offset = ftell(file);
    fclose(file);
    return good;
}
