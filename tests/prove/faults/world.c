/* SPDX-License-Identifier: MIT */
/* Directories that are copied and removed, and cairn started with a patience. */
#include "faults.h"
#include "tests/support/remove_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000, GONE_MS = 3000 };

static bool complain(const char *what, const char *path)
{
    printf("# cannot %s %s: %s\n", what, path, strerror(errno));
    return false;
}

/* ---- Files ---- */

char *file_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t length = 0, room = 0, got = 1;
    while (file && got) {
        if (length + 4096 >= room)
            text = realloc(text, room = 2 * room + 8192);
        if (!text)
            abort();
        got = fread(text + length, 1, room - length - 1, file);
        length += got;
    }
    if (!file)
        return NULL;
    fclose(file);
    text[length] = 0;
    if (size)
        *size = length;
    return text;
}

bool tree_remove(const char *path)
{
    return remove_tree(path) || complain("remove", path);
}

static const char *copy_from, *copy_to; /* nftw has no context */

static int copy_file(const char *from, const char *to, mode_t mode)
{
    size_t size = 0;
    char *bytes = file_read(from, &size);
    int fd = bytes ? open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode) : -1;
    bool good = fd >= 0 && write(fd, bytes, size) == (ssize_t)size;
    free(bytes);
    return fd >= 0 && close(fd) == 0 && good ? 0 : -1;
}

static int copy_one(const char *path, const struct stat *about, int type,
                    struct FTW *where)
{
    char to[LINE_SIZE];
    (void)where;
    snprintf(to, sizeof to, "%s%s", copy_to, path + strlen(copy_from));
    if (type == FTW_D)
        return mkdir(to, 0700);
    return S_ISREG(about->st_mode) ? copy_file(path, to, about->st_mode & 0777) : 0;
}

bool tree_copy(const char *from, const char *to)
{
    copy_from = from;
    copy_to = to;
    return nftw(from, copy_one, 16, FTW_PHYS) == 0 || complain("copy", from);
}

/* ---- Processes ---- */

bool world_open(struct world *world, const char *cairn, const char *preload)
{
    int fd = open("page", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *world->page))
        return complain("make", "page");
    *world = (struct world){.cairn = cairn, .preload = preload};
    world->page =
        mmap(NULL, sizeof *world->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    /* What cairn leaves behind becomes ours, so that it is seen. */
    return world->page != MAP_FAILED && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

void world_close(struct world *world)
{
    munmap(world->page, sizeof *world->page);
}

static size_t split(char *line, char **words)
{
    size_t n = 0;
    for (char *at = line; n + 1 < ARGUMENTS_MAX; at = NULL) {
        char *word = strtok_r(at, " ", &line);
        if (!word)
            break;
        words[n++] = word;
    }
    words[n] = NULL;
    return n;
}

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* The variables are in our own environment for a moment: the library reads them. */
static void set_fault(const struct world *world, const char *fault, bool stacks)
{
    set("CAIRN_FAULT", fault);
    set("CAIRN_FAULT_FILE", fault ? "../page" : NULL);
    set("CAIRN_FAULT_STACKS", fault && stacks ? "1" : NULL);
    set("LD_PRELOAD", fault ? world->preload : NULL);
}

extern char **environ;

static pid_t start(const struct world *world, char **argv)
{
    enum { FLAGS = O_WRONLY | O_CREAT | O_TRUNC };
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    if (posix_spawn_file_actions_init(&actions))
        return -1;
    if (posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) ||
        posix_spawn_file_actions_addopen(&actions, 1, "out", FLAGS, 0600) ||
        posix_spawn_file_actions_addopen(&actions, 2, "err", FLAGS, 0600) ||
        posix_spawn_file_actions_addchdir_np(&actions, "work") ||
        posix_spawn(&pid, world->cairn, &actions, NULL, argv, environ))
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

static int finish_process(pid_t pid)
{
    struct pollfd wait = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    int status = 0, came;
    do
        came = poll(&wait, 1, PATIENCE_MS);
    while (came < 0 && errno == EINTR);
    if (wait.fd >= 0)
        close(wait.fd);
    if (came <= 0)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (came <= 0)
        return HUNG;
    return WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Names our first child, for a message, and kills it. */
static void end_child(char *name, size_t size)
{
    char *text = file_read("/proc/thread-self/children", NULL), path[64];
    pid_t pid = text ? (pid_t)strtol(text, NULL, 10) : 0;
    free(text);
    if (pid <= 0)
        return;
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    text = file_read(path, NULL);
    snprintf(name, size, "%.20s (%d)", text ? text : "?", (int)pid);
    name[strcspn(name, "\n")] = ' ';
    free(text);
    kill(pid, SIGKILL);
}

/* Collects what became ours; what is not gone in time is named and ended. */
static void collect(char *name, size_t size)
{
    struct timespec pause = {.tv_nsec = 200000};
    int waited_us = 0;
    name[0] = 0;
    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0 && errno == ECHILD)
            return;
        if (pid != 0)
            continue;
        nanosleep(&pause, NULL);
        waited_us += 200;
        if (waited_us > GONE_MS * 1000)
            end_child(name, size);
    }
}

bool world_run(struct world *world, const char *line, const char *fault, bool stacks,
               struct output *output)
{
    char words[LINE_SIZE], name[] = "cairn", *argv[ARGUMENTS_MAX + 1] = {name};
    snprintf(words, sizeof words, "%s", line);
    split(words, argv + 1);
    memset(output, 0, sizeof *output);
    world->page->seen = world->page->fired = 0;
    memset(world->page->call, 0, sizeof world->page->call);
    set_fault(world, fault, stacks);
    pid_t pid = start(world, argv);
    set_fault(world, NULL, false);
    if (pid < 0)
        return complain("start", world->cairn);
    output->status = finish_process(pid);
    collect(output->left, sizeof output->left);
    output->out = file_read("out", NULL);
    output->err = file_read("err", NULL);
    return output->out && output->err;
}

void output_release(struct output *output)
{
    free(output->out);
    free(output->err);
    output->out = output->err = NULL;
}
