/* SPDX-License-Identifier: MIT */
/* cairn session install-hooks: the entries of Claude Code's settings that call `cairn
 * session hook`. The file is written beside the old one and renamed. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/target_file.h"
#include "cli/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define FOLDER ".claude"
#define NAME "settings.json"

struct settings_file {
    char path[PATH_MAX]; /* what a link leads to */
    char directory[PATH_MAX];
    struct stat st; /* of the one that was read */
    bool there, changed;
    char *old, *new;
    size_t old_bytes, new_bytes;
};

static int system_failure(const char *what, const char *path, int sys)
{
    return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO), "cannot %s %s: %s",
                          what, path, strerror(sys));
}

/* ---- Reading ---- */

static int read_all(struct settings_file *file, int fd)
{
    size_t room = CAIRN_AGENT_SETTINGS_MAX + 1;
    file->old = malloc(room);
    if (!file->old)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    while (file->old_bytes < room) {
        ssize_t got = read(fd, file->old + file->old_bytes, room - file->old_bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return system_failure("read", file->path, errno);
        if (got == 0)
            return 0;
        file->old_bytes += (size_t)got;
    }
    return 0; /* too long: refused by the library */
}

static int read_file(struct settings_file *file)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &file->st) != 0) {
        int sys = errno;
        if (fd >= 0)
            close(fd);
        return system_failure("read", file->path, sys);
    }
    int status = S_ISREG(file->st.st_mode)
                     ? read_all(file, fd)
                     : report_usage("session install-hooks", "%s is no regular file",
                                    file->path);
    file->there = true;
    close(fd);
    return status;
}

/* In the directory in which the store was found, or lies. */
static int find_file(struct settings_file *file, struct cairn_store *store)
{
    const char *project = cairn_store_project(store);
    char *own = project ? strdup(project) : realpath(cairn_store_path(store), NULL);
    char link[PATH_MAX];
    if (!own)
        return system_failure("find", cairn_store_path(store), errno);
    if (!project)
        *strrchr(own, '/') = '\0';
    int n = snprintf(file->directory, sizeof file->directory, "%s/" FOLDER, own);
    free(own);
    int m = snprintf(link, sizeof link, "%.*s/" NAME, (int)sizeof link - 32,
                     file->directory);
    if (n >= (int)sizeof file->directory - 64 || m >= (int)sizeof link)
        return system_failure("find", FOLDER "/" NAME, ENAMETOOLONG);
    char *real = realpath(link, NULL);
    int sys = errno;
    struct stat st;
    if (!real && lstat(link, &st) == 0)
        return system_failure("read", link, sys); /* a link to nothing */
    snprintf(file->path, sizeof file->path, "%s", real ? real : link);
    free(real);
    return read_file(file);
}

/* ---- Writing ---- */

static bool is_unchanged(const struct settings_file *file)
{
    struct stat now;
    if (lstat(file->path, &now) != 0)
        return !file->there && errno == ENOENT;
    return file->there && now.st_ino == file->st.st_ino &&
           now.st_dev == file->st.st_dev && now.st_size == file->st.st_size &&
           now.st_mtim.tv_sec == file->st.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == file->st.st_mtim.tv_nsec;
}

static int write_file(struct settings_file *file)
{
    struct target_file target;
    if (!file->there && mkdir(file->directory, 0777) != 0 && errno != EEXIST)
        return system_failure("make", file->directory, errno);
    int status = target_open(&target, file->path, "session install-hooks");
    if (status == 0) {
        target.new_mode = 0644;
        bool written = target_write(&target, file->new, file->new_bytes) == 0 &&
                       target_sync(&target) == 0;
        bool changed = written && !is_unchanged(file);
        status = target_close(&target, written && !changed);
        if (changed)
            status = report_failure(EXIT_CHANGED, cairn_code_name(CAIRN_ECHANGED),
                                    "%s was changed meanwhile, and was left as it is: "
                                    "try again",
                                    file->path);
    }
    target_release(&target);
    return status;
}

/* ---- The command ---- */

static void make_command(const struct settings *settings, char out[80])
{
    const char *strategy = settings->text[OPT_STRATEGY];
    snprintf(out, 80, "cairn session hook%s%s", strategy ? " --strategy " : "",
             strategy ? strategy : "");
}

static int change(const char *path, const char *old, size_t bytes, const char *command,
                  struct settings_file *file)
{
    struct cairn_error error = {0};
    char *made = NULL;
    size_t made_bytes = 0;
    bool changed = false;
    int rc =
        cairn_agent_settings(old, bytes, command, &made, &made_bytes, &changed, &error);
    file->new = made;
    file->new_bytes = made_bytes;
    file->changed = changed;
    if (rc == CAIRN_EUSAGE)
        return report_usage("session install-hooks",
                            "%s was not changed: %s; `cairn session install-hooks "
                            "--print` prints what belongs in it",
                            path, error.text);
    return rc == 0 ? 0 : report_error(&error);
}

static int report_file(const struct settings_file *file, bool remove)
{
    struct doc doc;
    if (!ui_json()) {
        out("%s\n", file->path);
        out_flush();
        say(!file->changed ? "nothing had to be changed"
            : remove       ? "the entries of cairn were taken out"
                           : "the agent's hooks call cairn from its next start on");
        return 0;
    }
    doc_begin(&doc);
    doc_text(&doc, "file", file->path);
    doc_bool(&doc, "changed", file->changed);
    return doc_print(&doc);
}

static void release(struct settings_file *file)
{
    free(file->old);
    free(file->new);
}

static int print_entries(const char *command)
{
    struct settings_file file = {.there = false};
    int status = change(NAME, "", 0, command, &file);
    if (status == 0)
        out_raw(file.new, file.new_bytes);
    release(&file);
    return status;
}

static int edit_file(struct settings_file *file, struct cairn_store *store,
                     const char *command)
{
    int status = find_file(file, store);
    if (status != 0)
        return status;
    if (!command && !file->there)
        return report_file(file, true);
    status = change(file->path, file->old, file->old_bytes, command, file);
    if (status == 0 && file->changed)
        status = write_file(file);
    return status == 0 ? report_file(file, !command) : status;
}

int command_install_hooks(struct settings *settings)
{
    struct settings_file file = {.there = false};
    struct cairn_store *store = NULL;
    char command[80];
    bool remove = settings->given[OPT_REMOVE_HOOKS];
    if (remove && (settings->given[OPT_PRINT_HOOKS] || settings->given[OPT_STRATEGY]))
        return report_usage(settings->command,
                            "--remove takes neither --print nor --strategy");
    make_command(settings, command);
    if (settings->given[OPT_PRINT_HOOKS])
        return print_entries(command);
    int status = session_store(settings, remove ? STORE_READ : STORE_CREATE, &store);
    if (status == 0)
        status = edit_file(&file, store, remove ? NULL : command);
    cairn_store_close(store);
    release(&file);
    return status;
}
