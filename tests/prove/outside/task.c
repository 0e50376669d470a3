/* SPDX-License-Identifier: MIT */
/* What the tasks execute, and what they logged.
 *
 *   outside task LOG LABEL MS [-t TEXT] [-v VALUE [-w|-e]] [-s BYTES FILE] [-p TEXT]
 * [-l]
 *
 * Holds a lock of the name of the task while it lives, which the kernel releases
 * however it ends and in whatever namespace: an attempt that does not get it runs
 * beside another one. */
#include "tests/prove/outside/outside.h"
#include "tests/support/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOG = 1, LABEL, MS, REST };

static const char *word(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : "0";
}

/* One write, so that lines do not mix. */
static void note(char **argv, const char *what, const char *text)
{
    char line[300];
    int fd = open(argv[LOG], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int n = snprintf(line, sizeof line, "%s %s %s %s %s %lld %s\n", what, argv[LABEL],
                     word("CAIRN_TASK"), word("CAIRN_RUN"), word("CAIRN_ATTEMPT"),
                     (long long)now_ms(), text);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        _exit(99);
    close(fd);
}

static volatile sig_atomic_t told;

static void on_term(int number)
{
    told = number;
}

/* MS may be a file with the number. */
static int64_t how_long(const char *text)
{
    char *from = NULL;
    if (*text == '/')
        text = from = file_text(text);
    int64_t ms = text ? strtoll(text, NULL, 10) : 0;
    free(from);
    return ms;
}

static int make_value(const char *value)
{
    FILE *file = fopen(word("CAIRN_OUTPUT"), "ae");
    if (!file)
        return -1;
    fprintf(file, "v=%s\n", value);
    return fclose(file);
}

/* Sparse, with something here and there. */
static int make_file(const char *bytes, const char *path)
{
    int64_t size = strtoll(bytes, NULL, 10), now = now_ms();
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    for (int i = 0; i < 8; i++)
        if (pwrite(fd, &now, sizeof now, size / 9 * i) < 0)
            return -1;
    return ftruncate(fd, size) || close(fd) ? -1 : 0;
}

/* A process in a session of its own, which has our lock, too. */
static pid_t linger(int64_t until)
{
    pid_t pid = _Fork();
    if (pid)
        return pid > 0 ? pid : 0;
    setsid();
    signal(SIGTERM, SIG_DFL);
    while (now_ms() < until)
        pause_us(5000);
    _exit(0);
}

int task_main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_term};
    char lock[PATH_SIZE + 200];
    const char *text = "-";
    if (argc < REST)
        return 2;
    sigaction(SIGTERM, &action, NULL);
    for (int i = REST; i + 1 < argc; i++)
        if (strcmp(argv[i], "-t") == 0)
            text = argv[i + 1];
    snprintf(lock, sizeof lock, "%s.%s.%s", argv[LOG], argv[LABEL], word("CAIRN_TASK"));
    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return 98;
    if (flock(fd, LOCK_EX | LOCK_NB))
        note(argv, errno == EWOULDBLOCK ? "beside" : "nolock", text);
    note(argv, "begin", text);
    for (int i = REST; i + 2 < argc; i++)
        if (strcmp(argv[i], "-v") == 0 && strcmp(argv[i + 2], "-e") == 0 &&
            make_value(argv[i + 1]))
            return 97;
    int64_t until = now_ms() + how_long(argv[MS]);
    pid_t other = 0;
    for (int i = REST; i < argc; i++)
        if (strcmp(argv[i], "-l") == 0)
            other = linger(until);
    while (!told && now_ms() < until) {
        int64_t left = until - now_ms();
        pause_us(left > 10 ? 10000 : (uint32_t)(left > 0 ? left : 0) * 1000);
    }
    if (other && told)
        kill(other, SIGKILL);
    if (other)
        waitpid(other, NULL, 0);
    if (told) {
        /* With -w it writes all the same, somewhat later; with -e it has before. */
        for (int i = REST; i < argc; i++)
            if (strcmp(argv[i], "-w") == 0)
                pause_us(300000);
        for (int i = REST; i + 2 < argc; i++)
            if (strcmp(argv[i], "-v") == 0 && strcmp(argv[i + 2], "-w") == 0)
                (void)make_value(argv[i + 1]);
        note(argv, "term", text);
        return 143;
    }
    for (int i = REST; i + 1 < argc; i++) {
        if (strcmp(argv[i], "-v") == 0 &&
            (i + 2 == argc || strcmp(argv[i + 2], "-e")) && make_value(argv[i + 1]))
            return 97;
        if (strcmp(argv[i], "-p") == 0)
            printf("%s\n", argv[i + 1]);
        if (strcmp(argv[i], "-s") == 0 && i + 2 < argc &&
            make_file(argv[i + 1], argv[i + 2]))
            return 96;
    }
    fflush(stdout);
    note(argv, "end", text);
    return 0;
}

/* ---- The log ---- */

void notes_read(const struct world *w, struct notes *notes)
{
    char *text = file_text(w->log), *rest;
    size_t room = 0;
    *notes = (struct notes){0};
    for (char *line = text; line && *line; line = rest) {
        struct entry e;
        long long ms;
        rest = strchr(line, '\n');
        if (!rest)
            break;
        *rest++ = '\0';
        if (sscanf(line, "%11s %39s %39s %u %u %lld %39s", e.what, e.label, e.task,
                   &e.run, &e.attempt, &ms, e.text) != 7)
            continue;
        e.ms = ms;
        if (notes->n == room) {
            room = room ? 2 * room : 64;
            struct entry *list = realloc(notes->list, room * sizeof *list);
            if (!list)
                break;
            notes->list = list;
        }
        notes->list[notes->n++] = e;
    }
    free(text);
}

void notes_free(struct notes *notes)
{
    free(notes->list);
    *notes = (struct notes){0};
}

unsigned noted(const struct world *w, const char *what, const char *label,
               const char *task, unsigned run)
{
    struct notes notes;
    unsigned n = 0;
    notes_read(w, &notes);
    for (size_t i = 0; i < notes.n; i++) {
        const struct entry *e = &notes.list[i];
        n += strcmp(e->what, what) == 0 && strcmp(e->label, label) == 0 &&
             (!run || e->run == run) && (!task || strcmp(e->task, task) == 0);
    }
    notes_free(&notes);
    return n;
}

void check_beside(struct world *w)
{
    struct notes notes;
    notes_read(w, &notes);
    for (size_t i = 0; i < notes.n; i++)
        if (strcmp(notes.list[i].what, "beside") == 0)
            wrong(w, &w->repeated, "attempt %u of %s (%s, run %u) beside a living one",
                  notes.list[i].attempt, notes.list[i].task, notes.list[i].label,
                  notes.list[i].run);
    notes_free(&notes);
}
