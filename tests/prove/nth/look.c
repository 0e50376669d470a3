/* SPDX-License-Identifier: MIT */
/* What can be seen from outside: the store through the library, what the command
 * printed, and what the tasks themselves wrote. */
#include "sweep.h"

#include <jansson.h>

#include <fcntl.h>
#include <unistd.h>

enum { OUTPUT_MAX = 256 * 1024 };
static char output[OUTPUT_MAX];

/* ---- The store ---- */

static int note_task(void *context, const struct cairn_task_info *info)
{
    struct snapshot *snapshot = context;
    size_t task = task_find(info->id);
    if (strcmp(info->id, PART_UNLISTED) == 0)
        return 0;
    if (task == TASKS)
        return 1;
    snapshot->outcome[task] = info->outcome;
    snapshot->attempts[task] = info->attempt;
    snapshot->interrupted[task] = info->interrupted;
    return 0;
}

static int note_artifact(void *context, const struct cairn_artifact_info *info)
{
    struct snapshot *snapshot = context;
    snapshot->artifact =
        strcmp(info->path, "prepared") == 0 && info->size == sizeof "made";
    return 0;
}

void snapshot_take(const struct world *world, struct snapshot *snapshot)
{
    static struct cairn_run_info info;
    char path[PATH_SIZE + 16];
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    struct cairn_store_options options = {.path = path, .read_only = true};
    snprintf(path, sizeof path, "%s/.cairn", world->dir);
    memset(snapshot, 0, sizeof *snapshot);
    int code = cairn_store_open(&store, &options, &error);
    if (code == 0)
        code = cairn_run_get(store, 0, &info, &error);
    if (code == 0) {
        snapshot->run = true;
        snapshot->state = info.state;
        code = cairn_run_tasks(store, info.run, note_task, snapshot, &error);
        if (code == 0)
            code =
                cairn_artifacts(store, info.run, NULL, note_artifact, snapshot, &error);
    }
    cairn_store_close(store);
    snapshot->code = code == CAIRN_ENOTFOUND ? 0 : code;
    snprintf(snapshot->text, sizeof snapshot->text, "%.190s", code ? error.text : "");
}

uint64_t store_digest(const struct world *world)
{
    static const char *const names[] = {"cairn.db", "cairn.db-wal"};
    uint64_t digest = 14695981039346656037u; /* FNV-1a */
    char path[PATH_SIZE + 32];
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/.cairn/%s", world->dir, names[i]);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n;
        while (fd >= 0 && (n = read(fd, output, sizeof output)) > 0)
            for (ssize_t k = 0; k < n; k++)
                digest = (digest ^ (unsigned char)output[k]) * 1099511628211u;
        if (fd >= 0)
            close(fd);
    }
    return digest;
}

/* ---- What was printed ---- */

bool plan_read(const struct world *world, struct session *session)
{
    printed(world, "out", "plan", output, sizeof output);
    json_t *root = json_loads(output, 0, NULL);
    json_t *decisions = json_object_get(root, "decisions");
    session->planned = json_is_array(decisions);
    for (size_t i = 0; i < json_array_size(decisions); i++) {
        json_t *one = json_array_get(decisions, i);
        const char *will = json_string_value(json_object_get(one, "will"));
        const char *reason = json_string_value(json_object_get(one, "reason"));
        const char *name = json_string_value(json_object_get(one, "task"));
        size_t task = task_find(name);
        if (name && strcmp(name, PART_UNLISTED) == 0) {
            session->may[PART_A] = session->may[PART_B] = true;
            continue;
        }
        if (name && strcmp(name, "extra") == 0) /* which may be added (cases.c) */
            continue;
        if (task == TASKS || !will || !reason) {
            session->planned = false;
            break;
        }
        session->will[task] = strcmp(will, "will") == 0;
        session->may[task] = strcmp(will, "may") == 0;
        session->adopted[task] = strcmp(reason, "adopted") == 0;
    }
    json_decref(root);
    return session->planned;
}

/* Without a checkpoint it is no promise, if it was said before that none can be saved.
 */
static void note_event(const char *line, bool reported[TASKS], struct session *session)
{
    json_t *event = json_loads(line, 0, NULL);
    const char *type = json_string_value(json_object_get(event, "type"));
    const char *outcome = json_string_value(json_object_get(event, "outcome"));
    size_t task = task_find(json_string_value(json_object_get(event, "task")));
    if (type && strcmp(type, "degraded") == 0)
        session->degraded = true;
    if (type && strcmp(type, "run_finished") == 0)
        session->told = true;
    if (type && strcmp(type, "task_finished") == 0 && task < TASKS && outcome &&
        strcmp(outcome, "completed") == 0 &&
        (!session->degraded || json_is_integer(json_object_get(event, "checkpoint"))))
        reported[task] = true;
    json_decref(event);
}

/* The last line may be cut by a kill: it is no report then. */
void events_read(const struct world *world, const char *tag, bool reported[TASKS],
                 struct session *session)
{
    char *line = output;
    printed(world, "out", tag, output, sizeof output);
    memset(reported, 0, TASKS * sizeof *reported);
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        note_event(line, reported, session);
    }
}

/* ---- The log of the tasks ---- */

size_t log_read(const struct world *world, struct line *lines)
{
    char path[PATH_SIZE + 16], text[128], kind[16], task[32];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/log", world->dir);
    FILE *file = fopen(path, "re");
    while (file && n < LINES_MAX && fgets(text, sizeof text, file)) {
        struct line *line = &lines[n];
        if (sscanf(text, "%15s %31s %u %u", kind, task, &line->attempt,
                   &line->session) != 4 ||
            task_find(task) == TASKS || line->session >= SESSIONS_MAX)
            continue;
        line->kind = kind[0];
        line->task = task_find(task);
        n++;
    }
    if (file)
        fclose(file);
    return n;
}
