/* SPDX-License-Identifier: MIT */
/* Why a process could not be started, in words. */
#include "process/spawner.h"

#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Missing interpreters ---- */

struct script {
    char file[PATH_MAX];
    char interpreter[PATH_MAX]; /* that its first line names */
};

/* False: it has no such line. */
static bool read_first_line(int dir, struct script *script)
{
    char head[PATH_MAX];
    struct stat st;
    int fd = openat(dir, script->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    ssize_t n = regular ? pread(fd, head, sizeof head - 1, 0) : -1;
    close(fd);
    if (n < 3 || memcmp(head, "#!", 2) != 0)
        return false;
    head[n] = 0;
    char *name = head + 2 + strspn(head + 2, " \t");
    name[strcspn(name, " \t\n")] = 0;
    snprintf(script->interpreter, sizeof script->interpreter, "%s", name);
    return *name != 0;
}

/* Interpreters may be scripts themselves: the kernel follows five. */
static bool lacks_interpreter(int dir, struct script *script)
{
    for (int i = 0; i < 5 && read_first_line(dir, script); i++) {
        if (!os_is_there(dir, script->interpreter))
            return true;
        memcpy(script->file, script->interpreter, sizeof script->file);
    }
    return false;
}

/* The file that a command without a slash is, as exec looks for it. */
static bool find_in_path(int dir, const char *path, const char *name, char *out)
{
    for (const char *at = path; at && *name; at = *at ? at + 1 : NULL) {
        size_t len = strcspn(at, ":");
        int n = snprintf(out, PATH_MAX, "%.*s%s%s", (int)len, at, len ? "/" : "", name);
        if (n < PATH_MAX && faccessat(dir, out, X_OK, AT_EACCESS) == 0)
            return true;
        at += len;
    }
    return false;
}

static void describe_interpreter(const char *name, const struct script *script,
                                 struct buf *text)
{
    size_t len = strlen(script->interpreter);
    bool ends_in_return = len && script->interpreter[len - 1] == '\r';
    buf_format(text,
               "cannot execute %s: the interpreter %s that the first line of %s names "
               "is missing; %s",
               name, script->interpreter, script->file,
               ends_in_return ? "that line ends with a carriage return, which must go"
                              : "install it, or correct that line");
}

/* Exec tells of a missing interpreter in the same words as of a missing command. */
static void describe_not_found(const struct spawn_request *request, const char *name,
                               struct buf *text)
{
    struct script script;
    int dir =
        request->cwd ? open(request->cwd, O_PATH | O_DIRECTORY | O_CLOEXEC) : AT_FDCWD;
    snprintf(script.file, sizeof script.file, "%s", name);
    bool found = strchr(name, '/')
                     ? os_is_there(dir, name)
                     : find_in_path(dir, request->path, name, script.file);
    if (!found)
        buf_format(text,
                   "command not found: %s; install it, or correct the name or PATH",
                   name);
    else if (lacks_interpreter(dir, &script))
        describe_interpreter(name, &script, text);
    else
        buf_format(text,
                   "cannot execute %s: it is there, but the interpreter or loader that "
                   "it asks for is missing",
                   name);
    if (dir >= 0)
        close(dir);
}

void spawn_describe_failure(const struct spawn_request *request, struct buf *text)
{
    const char *name = (request->other ? request->otherwise : request->argv)[0];
    if (request->exit_code == 127)
        describe_not_found(request, name, text);
    else if (request->error == E2BIG)
        buf_format(
            text,
            "cannot execute %s: its arguments and environment together are longer "
            "than the kernel takes (getconf ARG_MAX)",
            name);
    else if (request->exit_code == 126)
        buf_format(text, "cannot execute %s: %s; is it executable (chmod +x)?", name,
                   strerrordesc_np(request->error));
    else if (request->stage && strcmp(request->stage, "chdir") == 0)
        buf_format(text, "cannot change to its directory %s: %s",
                   request->cwd ? request->cwd : ".", strerrordesc_np(request->error));
    else
        buf_format(text, "cannot start a process (%s): %s",
                   request->stage ? request->stage : "spawn",
                   strerrordesc_np(request->error));
}
