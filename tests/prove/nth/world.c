/* SPDX-License-Identifier: MIT */
/* The project's directory, its fixture, and running cairn in it. */
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Trees ---- */

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    (void)st;
    if (ftw->level == 0)
        return 0;
    return type == FTW_DP ? rmdir(path) : unlink(path);
}

/* Empties it. */
static bool clear(const char *dir)
{
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return false;
    return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0;
}

static bool copy_bytes(const char *from, const char *to, const struct stat *st)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st->st_mode & 0777);
    off_t left = st->st_size;
    while (in >= 0 && out >= 0 && left > 0) {
        ssize_t n = sendfile(out, in, NULL, (size_t)left);
        if (n <= 0)
            break;
        left -= n;
    }
    if (in >= 0)
        close(in);
    bool good = out >= 0 && close(out) == 0 && left == 0 && in >= 0;
    return good;
}

static struct {
    size_t skip; /* length of the source's path */
    const char *to;
} copying;

static int copy_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    char to[2 * PATH_SIZE];
    (void)type;
    if (ftw->level == 0)
        return 0;
    snprintf(to, sizeof to, "%s%s", copying.to, path + copying.skip);
    if (S_ISDIR(st->st_mode))
        return mkdir(to, st->st_mode & 0777);
    if (S_ISREG(st->st_mode))
        return copy_bytes(path, to, st) ? 0 : -1;
    return mknod(to, st->st_mode & (S_IFMT | 0777), 0);
}

static bool copy_tree(const char *from, const char *to)
{
    copying.skip = strlen(from);
    copying.to = to;
    return clear(to) && nftw(from, copy_one, 16, FTW_PHYS) == 0;
}

bool world_reset(const struct world *world)
{
    return copy_tree(world->fixture, world->dir);
}

bool world_keep(const struct world *world)
{
    return copy_tree(world->dir, world->fixture);
}

bool world_empty(const struct world *world)
{
    return clear(world->dir) && clear(world->fixture);
}

/* ---- Commands ---- */

static void set(struct command *command, size_t *n, const char *name, const char *value)
{
    snprintf(command->variables[*n], sizeof command->variables[0], "%s=%s", name,
             value);
    command->environment[*n] = command->variables[*n];
    ++*n;
}

void command_make(struct command *command, const struct world *world, const char *tag,
                  const char *const *arguments)
{
    size_t n = 0, given = 0;
    char session[16];
    const char *options[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS"};
    memset(command, 0, sizeof *command);
    command->argv[n++] = world->cairn;
    for (; *arguments && n <= ARGUMENTS_MAX; arguments++)
        command->argv[n++] = *arguments;
    snprintf(session, sizeof session, "%u", world->session);
    set(command, &given, "PATH", "/usr/local/bin:/usr/bin:/bin");
    set(command, &given, "LC_ALL", "C");
    set(command, &given, "SWEEP", session);
    for (size_t i = 0; i < 2; i++)
        if (getenv(options[i]))
            set(command, &given, options[i], getenv(options[i]));
    snprintf(command->out, sizeof command->out, "%s/out.%s", world->base, tag);
    snprintf(command->err, sizeof command->err, "%s/err.%s", world->base, tag);
    command->start = (struct start){.argv = command->argv,
                                    .environment = command->environment,
                                    .dir = world->dir,
                                    .out = command->out,
                                    .err = command->err};
}

int cairn(const struct world *world, const char *tag, const char *const *arguments)
{
    static struct command command;
    bool hung;
    command_make(&command, world, tag, arguments);
    pid_t pid = start(&command.start);
    if (pid < 0)
        return -1;
    int status = await(pid, PATIENCE_MS, &hung);
    if (hung)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

size_t printed(const struct world *world, const char *name, const char *tag, char *text,
               size_t size)
{
    char path[PATH_SIZE + 32];
    snprintf(path, sizeof path, "%s/%s.%s", world->base, name, tag);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    ssize_t got;
    while (fd >= 0 && n + 1 < size && (got = read(fd, text + n, size - 1 - n)) > 0)
        n += (size_t)got;
    if (fd >= 0)
        close(fd);
    text[n] = '\0';
    return n;
}

size_t said(const struct world *world, const char *tag, char *text, size_t size)
{
    size_t n = printed(world, "err", tag, text, size);
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\n')
            text[i] = i + 1 == n ? '\0' : '/';
    return n;
}

void plant(const struct world *world)
{
    char variable[160];
    const char *argv[] = {"sleep", "600", NULL};
    /* Not the first one: a token is looked for behind another variable's end. */
    char path[] = "PATH=/usr/bin:/bin";
    char *environment[] = {path, variable, NULL};
    struct start how = {.argv = argv, .environment = environment, .session = true};
    snprintf(variable, sizeof variable, "CAIRN_TOKEN=%s", world->token);
    start(&how);
}
