/* SPDX-License-Identifier: MIT */
/* Commands, here and in namespaces, and what they say. */
#include "tests/prove/outside/outside.h"
#include "tests/support/program.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool redirect(const struct world *w, const char *kind, const char *tag, int to)
{
    char path[PATH_SIZE + 160];
    in_base(w, path, "%s.%s", kind, tag);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
    return fd >= 0 && dup2(fd, to) == to && close(fd) == 0;
}

static void become(const struct world *w, const struct job *job,
                   const char *const *argv)
{
    /* A shell may have started us in the background. */
    (void)signal(SIGINT, SIG_DFL);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0 && dup2(null, 0) == 0 && redirect(w, "out", job->tag, 1) &&
        redirect(w, "err", job->tag, 2) && chdir(job->dir) == 0)
        execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

/* Between us and a command in a box: hands over its number and its end. */
static void relay(const struct world *w, const struct job *job, const struct box *box,
                  int number, const char *const *argv)
{
    int status = 0;
    pid_t pid = -1;
    if (box_enter(box) && (pid = _Fork()) == 0)
        become(w, job, argv);
    if (pid < 0 || write(number, &pid, sizeof pid) != sizeof pid)
        _exit(126);
    close(number);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

bool job_start(struct world *w, struct job *job, struct box *box, const char *name,
               const char *const *argv)
{
    int number[2];
    *job = (struct job){.status = -1};
    snprintf(job->tag, sizeof job->tag, "%u", ++w->commands);
    snprintf(job->dir, sizeof job->dir, "%s/%s", w->base, name);
    if (pipe2(number, O_CLOEXEC))
        return false;
    fflush(stdout);
    job->wait_for = _Fork();
    if (job->wait_for == 0) {
        if (!box)
            become(w, job, argv);
        close(number[0]);
        relay(w, job, box, number[1], argv);
    }
    close(number[1]);
    job->pid = job->wait_for;
    bool good = job->wait_for > 0 && (!box || read(number[0], &job->pid,
                                                   sizeof job->pid) == sizeof job->pid);
    close(number[0]);
    if (!good)
        wrong(w, &w->other, "cannot start %s %s, %s", argv[0], argv[1], box_name(box));
    return good;
}

static void ended_with(struct job *job, int status)
{
    job->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool job_ended(struct job *job)
{
    int status;
    if (job->status < 0 && waitpid(job->wait_for, &status, WNOHANG) == job->wait_for)
        ended_with(job, status);
    return job->status >= 0;
}

int job_wait(struct world *w, struct job *job, int seconds)
{
    int64_t until = now_ms() + (int64_t)seconds * 1000;
    bool hung = false;
    while (!job_ended(job)) {
        if (!hung && now_ms() > until) {
            hung = true;
            wrong(w, &w->other, "command %s hangs", job->tag);
            job_show(w, job);
            kill(job->pid, SIGKILL);
        }
        pause_us(1000);
    }
    char *text = job_text(w, job, "err");
    static const char *const words[] = {"ssertion", "Sanitizer", "runtime error",
                                        "internal error"};
    for (size_t i = 0; text && i < sizeof words / sizeof words[0]; i++)
        if (strstr(text, words[i]))
            wrong(w, &w->other, "it said: %.300s", text);
    free(text);
    if (!hung && (job->status == 128 + SIGABRT || job->status == 128 + SIGSEGV ||
                  job->status == 128 + SIGBUS))
        wrong(w, &w->other, "command %s crashed: %d", job->tag, job->status);
    return job->status;
}

void job_kill(struct job *job, int signal)
{
    if (!job_ended(job))
        kill(job->pid, signal);
}

char *job_text(const struct world *w, const struct job *job, const char *kind)
{
    char path[PATH_SIZE + 160];
    in_base(w, path, "%s.%s", kind, job->tag);
    return file_text(path);
}

bool job_said(const struct world *w, const struct job *job, const char *text)
{
    bool found = false;
    static const char *const kinds[] = {"out", "err"};
    for (int i = 0; i < 2; i++) {
        char *said = job_text(w, job, kinds[i]);
        found = found || (said && strstr(said, text));
        free(said);
    }
    return found;
}

void job_show(const struct world *w, const struct job *job)
{
    char *text = job_text(w, job, "err");
    if (text && *text)
        printf("#   it said: %.900s\n", text);
    free(text);
}

bool cairn_start(struct world *w, struct job *job, struct box *box, const char *name,
                 const char *words)
{
    char text[PATH_SIZE], *rest = NULL;
    const char *argv[ARGS_MAX] = {w->cairn};
    snprintf(text, sizeof text, "%s", words);
    int n = 1;
    for (char *word = strtok_r(text, " ", &rest); word && n < ARGS_MAX - 1;
         word = strtok_r(NULL, " ", &rest))
        argv[n++] = word;
    bool good = job_start(w, job, box, name, argv);
    say(w, "%s: %s (%s)", job->tag, words, box_name(box));
    return good;
}

int cairn_do(struct world *w, struct box *box, const char *name, struct job *job,
             const char *words)
{
    enum { PATIENCE_S = 90 };
    int status =
        cairn_start(w, job, box, name, words) ? job_wait(w, job, PATIENCE_S) : -1;
    say(w, "%s: exit %d", job->tag, status);
    return status;
}

/* ---- States ---- */

static void copy_text(char *to, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    snprintf(to, NAME_SIZE, "%s", text ? text : "");
}

void state_ask(struct world *w, struct box *box, const char *name, unsigned run,
               const char *store, struct state *state)
{
    struct job job;
    char words[PATH_SIZE], number[16] = "";
    json_t *task;
    size_t i;
    *state = (struct state){0};
    if (run)
        snprintf(number, sizeof number, " %u", run);
    snprintf(words, sizeof words, "status%s --json --tasks%s%s", number,
             store ? " --store " : "", store ? store : "");
    state->exit_status = cairn_do(w, box, name, &job, words);
    char *text = job_text(w, &job, "out");
    json_t *root = text ? json_loads(text, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    free(text);
    state->run = (unsigned)json_integer_value(json_object_get(root, "run"));
    state->live = json_is_true(json_object_get(root, "live"));
    copy_text(state->state, root, "state");
    json_array_foreach(json_object_get(root, "tasks"), i, task)
    {
        if (state->n == TASKS_MAX)
            break;
        copy_text(state->task[state->n].name, task, "task");
        copy_text(state->task[state->n++].state, task, "state");
    }
    json_decref(root);
}

const char *state_of(const struct state *state, const char *task)
{
    for (unsigned i = 0; i < state->n; i++)
        if (strcmp(state->task[i].name, task) == 0)
            return state->task[i].state;
    return "";
}
