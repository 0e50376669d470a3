/* SPDX-License-Identifier: MIT */
/* The command, what it printed, and what its tasks logged. */
#include "tests/prove/user/user.h"
#include "tests/support/program.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARGS_MAX = 16, PATIENCE_MS = 60000, GONE_MS = 10000 };

pid_t cairn_start(struct world *w, const char *tag, const char *const *arguments)
{
    char *argv[ARGS_MAX] = {w->cairn};
    pid_t pid = -1;
    int n = 1;
    for (; arguments[n - 1] && n < ARGS_MAX - 1; n++)
        argv[n] = strdup(arguments[n - 1]);
    int sys = program_start(&pid, w->dir, tag, argv, w->env);
    if (sys)
        wrong(w, &w->other, "cannot start %s: %s", argv[1], strerror(sys));
    while (--n > 0)
        free(argv[n]);
    return sys ? -1 : pid;
}

int cairn_wait(struct world *w, pid_t pid, const char *what)
{
    bool hung = false;
    int status = pid > 0 ? program_wait(pid, PATIENCE_MS, &hung) : -1;
    if (hung)
        wrong(w, &w->other, "%s hung", what);
    return status;
}

static char *read_text(const struct world *w, const char *kind, const char *tag)
{
    char name[64], path[PATH_SIZE + 96];
    snprintf(name, sizeof name, "%s%s", kind, tag);
    file_path(w, name, path, sizeof path);
    return file_text(path);
}

void show_errors(struct world *w, const char *tag)
{
    char *text = read_text(w, "err.", tag);
    if (text && *text)
        printf("#   it said: %.600s\n", text);
    free(text);
}

static void look_for_assert(struct world *w, const char *tag)
{
    static const char *const words[] = {"ssertion", "Sanitizer", "runtime error",
                                        "internal error"};
    char *text = read_text(w, "err.", tag);
    for (size_t i = 0; text && i < sizeof words / sizeof words[0]; i++)
        if (strstr(text, words[i]))
            wrong(w, &w->other, "it said: %.300s", text);
    free(text);
}

int cairn_do(struct world *w, const char *tag, const char *const *arguments)
{
    int status = cairn_wait(w, cairn_start(w, tag, arguments), arguments[0]);
    look_for_assert(w, tag);
    return status;
}

uint32_t task_number(const struct flow *flow, const char *name)
{
    unsigned n = 0;
    return name && sscanf(name, "t%u", &n) == 1 && n < flow->n ? n : TASKS;
}

/* ---- Plans ---- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

bool plan_read(struct world *w, uint32_t flow, const char *tag, struct planned *plan)
{
    char name[64], path[PATH_SIZE + 96];
    size_t i;
    json_t *decision;
    snprintf(name, sizeof name, "out.%s", tag);
    file_path(w, name, path, sizeof path);
    json_t *root = json_load_file(path, JSON_DISABLE_EOF_CHECK, NULL);
    json_t *list = json_object_get(root, "decisions");
    *plan = (struct planned){
        .run = (uint32_t)json_integer_value(json_object_get(root, "run"))};
    json_array_foreach(list, i, decision)
    {
        uint32_t t = task_number(&w->flow[flow], text_of(decision, "task"));
        if (t == TASKS) /* the service of world.c */
            continue;
        const char *will = text_of(decision, "will");
        bool adopted = strcmp(text_of(decision, "reason"), "adopted") == 0;
        if (adopted)
            plan->adopted |= 1u << t;
        else if (strcmp(will, "will") == 0)
            plan->fates.will |= 1u << t;
        if (strcmp(will, "may") == 0)
            plan->fates.may |= 1u << t;
        say(w, "plan: %s %s (%s)", text_of(decision, "task"), will,
            text_of(decision, "reason"));
    }
    bool good = list != NULL;
    json_decref(root);
    return good;
}

uint32_t number_read(struct world *w, const char *tag, const char *key)
{
    char name[64], path[PATH_SIZE + 96];
    snprintf(name, sizeof name, "out.%s", tag);
    file_path(w, name, path, sizeof path);
    json_t *root = json_load_file(path, JSON_DISABLE_EOF_CHECK, NULL);
    uint32_t number = (uint32_t)json_integer_value(json_object_get(root, key));
    json_decref(root);
    return number;
}

/* ---- Events ---- */

static void take_event(struct world *w, uint32_t flow, const json_t *event,
                       struct said *said)
{
    const char *type = text_of(event, "type"), *outcome = text_of(event, "outcome");
    uint32_t t = task_number(&w->flow[flow], text_of(event, "task"));
    unsigned bit = t < TASKS ? 1u << t : 0;
    uint32_t run = (uint32_t)json_integer_value(json_object_get(event, "run"));
    if (run)
        said->run = run;
    if (strcmp(type, "task_started") == 0)
        said->started |= bit, said->begun = true;
    if (strcmp(type, "run_finished") == 0) {
        said->finished = true;
        said->exit_status =
            (int)json_integer_value(json_object_get(event, "exit_status"));
    }
    if (strcmp(type, "task_finished") != 0)
        return;
    said->begun = true;
    if (strcmp(outcome, "completed") == 0)
        said->done |= bit;
    if (strcmp(outcome, "failed") == 0)
        said->failed |= bit;
    if (strcmp(outcome, "skipped") == 0)
        said->skipped |= bit;
    if (strcmp(outcome, "cancelled") == 0)
        said->cancelled |= bit;
}

void said_read(struct world *w, uint32_t flow, const char *name, struct said *said)
{
    char *text = read_text(w, "", name), *rest;
    *said = (struct said){0};
    for (char *line = text; line && *line; line = rest) {
        rest = strchr(line, '\n');
        if (!rest)
            break;
        json_t *event = json_loadb(line, (size_t)(rest - line), 0, NULL);
        take_event(w, flow, event, said);
        json_decref(event);
        rest++;
    }
    free(text);
}

/* ---- The log of the tasks ---- */

long log_size(const struct world *w)
{
    char path[PATH_SIZE + 96];
    struct stat st;
    file_path(w, "log", path, sizeof path);
    return stat(path, &st) ? 0 : (long)st.st_size;
}

void log_read(struct world *w, uint32_t flow, long at, struct logged *logged)
{
    char path[PATH_SIZE + 96], name[20], task[20], what[20];
    unsigned run;
    long pid;
    *logged = (struct logged){0};
    file_path(w, "log", path, sizeof path);
    FILE *file = fopen(path, "re");
    if (!file || fseek(file, at, SEEK_SET)) {
        if (file)
            fclose(file);
        return;
    }
    while (fscanf(file, "%19s %19s %u %ld %19s", name, task, &run, &pid, what) == 5) {
        uint32_t t = task_number(&w->flow[flow], task);
        if (strcmp(name, w->flow[flow].name) != 0 || t == TASKS)
            continue;
        unsigned bit = 1u << t;
        logged->run = run;
        if (strcmp(what, "end") == 0)
            logged->ended |= bit;
        else {
            logged->twice |= logged->started & bit;
            logged->started |= bit;
            logged->ended &= ~bit;
            logged->pid[t] = (pid_t)pid;
        }
    }
    fclose(file);
}

/* ---- Processes ---- */

bool has_ended(pid_t pid)
{
    return kill(pid, 0) != 0;
}

/* Has it the variable of this scenario? */
static bool is_ours(const struct world *w, const char *pid)
{
    char path[64], mark[PATH_SIZE + 32], text[32768];
    snprintf(mark, sizeof mark, "PROVER_USER=%s", w->base);
    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (fd >= 0)
        close(fd);
    return n > 0 && memmem(text, (size_t)n, mark, strlen(mark) + 1);
}

static bool find_ours(const struct world *w, char *which, size_t size)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    bool found = false;
    while (proc && !found && (entry = readdir(proc)))
        if (isdigit((unsigned char)entry->d_name[0]) && is_ours(w, entry->d_name)) {
            snprintf(which, size, "%s", entry->d_name);
            found = true;
        }
    if (proc)
        closedir(proc);
    return found;
}

void await_nobody(struct world *w)
{
    char which[256];
    int64_t until = now_ms() + GONE_MS;
    while (find_ours(w, which, sizeof which)) {
        if (now_ms() > until) {
            wrong(w, &w->other, "process %s is left over", which);
            return;
        }
        pause_us(1000);
    }
}
