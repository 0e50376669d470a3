/* SPDX-License-Identifier: MIT */
/* Starting the command, and files. Only processes that this program started are ever
 * signalled. */
#include "flow.h"

#include <sys/stat.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 12, VARIABLES_MAX = 512, PATIENCE_MS = 60000, OWN_MAX = 5 };

/* ---- Processes ---- */

struct environment {
    char *entries[VARIABLES_MAX];
    char own[OWN_MAX][DIR_SIZE + 32];
};

static void fill_environment(struct environment *e, const struct setup *setup,
                             const struct workflow *w, const char *dir)
{
    size_t n = 0, own = 0;
    for (char **at = environ; *at && n + OWN_MAX + 1 < VARIABLES_MAX; at++)
        if (strncmp(*at, "CAIRN_", 6) != 0 && strncmp(*at, "FLOW_", 5) != 0)
            e->entries[n++] = *at;
    snprintf(e->own[own++], sizeof e->own[0], "FLOW_DIR=%s", dir);
    snprintf(e->own[own++], sizeof e->own[0], "FLOW_CAIRN=%s", setup->cairn);
    for (uint32_t i = 0; i < SECRETS_MAX; i++)
        snprintf(e->own[own++], sizeof e->own[0], "SECRET_%u=kept-secret-%u-%u", i, i,
                 w->secret[i]);
    for (size_t i = 0; i < own; i++)
        e->entries[n++] = e->own[i];
    e->entries[n] = NULL;
}

pid_t cairn_start(const struct setup *setup, const struct workflow *w, const char *dir,
                  const char *tag, const char *const *arguments)
{
    static struct environment environment;
    char *argv[ARGUMENTS_MAX + 2];
    size_t n = 0;
    pid_t pid;
    argv[n++] = (char *)(uintptr_t)setup->cairn;
    for (; *arguments && n <= ARGUMENTS_MAX; arguments++)
        argv[n++] = (char *)(uintptr_t)*arguments;
    argv[n] = NULL;
    fill_environment(&environment, setup, w, dir);
    return program_start(&pid, dir, tag, argv, environment.entries) ? -1 : pid;
}

int cairn_wait(pid_t pid)
{
    bool hung = false;
    int status = pid > 0 ? program_wait(pid, PATIENCE_MS, &hung) : -1;
    return hung ? -2 : status;
}

int cairn_do(const struct setup *setup, const struct workflow *w, const char *dir,
             const char *tag, const char *const *arguments)
{
    return cairn_wait(cairn_start(setup, w, dir, tag, arguments));
}

/* ---- Files ---- */

bool make_dir(const char *dir)
{
    static const char *const inside[] = {"", "/in", "/out", "/flaky"};
    char path[DIR_SIZE + 32];
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        snprintf(path, sizeof path, "%s%s", dir, inside[i]);
        if (mkdir(path, 0700) < 0)
            return false;
    }
    for (uint32_t i = 0; i < DEFS_MAX; i++) {
        snprintf(path, sizeof path, "in/%u", i);
        if (!file_write(dir, path, "read by a task\n"))
            return false;
    }
    return true;
}

bool file_write(const char *dir, const char *name, const char *text)
{
    char path[DIR_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "we");
    bool good = file && fputs(text, file) >= 0;
    return file && fclose(file) == 0 && good;
}

char *file_read(const char *dir, const char *name)
{
    char path[DIR_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return file_text(path);
}
