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
    char argument[256];         /* the first word behind that */
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
    size_t len = strcspn(name, " \t\n");
    const char *rest = name + len + strspn(name + len, " \t");
    snprintf(script->argument, sizeof script->argument, "%.*s",
             (int)strcspn(rest, " \t\n"), rest);
    name[len] = 0;
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
    if (ends_in_return)
        buf_format(text,
                   "cannot execute %s: the first line of %s ends with a carriage "
                   "return; save the file with the line ends of Unix (LF)",
                   name, script->file);
    else
        buf_format(text,
                   "cannot execute %s: the interpreter %s that the first line of %s "
                   "names is missing; install it, or correct that line",
                   name, script->interpreter, script->file);
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

/* ---- Scripts that a shell, or env, could not start ---- */

static bool ends_with_env(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash && strcmp(slash, "/env") == 0;
}

/* `#!/usr/bin/env NAME`: env looks for it in PATH, and the kernel knows nothing of it.
 */
static bool env_lacks_program(int dir, const char *path, struct script *script)
{
    char file[PATH_MAX];
    if (!path || !ends_with_env(script->interpreter) || script->argument[0] == 0 ||
        script->argument[0] == '-' || strchr(script->argument, '=') ||
        find_in_path(dir, path, script->argument, file))
        return false;
    snprintf(script->interpreter, sizeof script->interpreter, "%s", script->argument);
    return true;
}

/* False: it is not a script, or nothing is wrong with its first line. */
static bool describe_script(int dir, const char *path, struct str word,
                            struct buf *text)
{
    char name[PATH_MAX];
    struct script script, first;
    if (word.len == 0 || word.len >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)word.len, word.ptr);
    memcpy(script.file, name, word.len + 1);
    if (!strchr(name, '/') && !find_in_path(dir, path, name, script.file))
        return false;
    first = script;
    if (lacks_interpreter(dir, &script)) {
        describe_interpreter(name, &script, text);
        return true;
    }
    if (!read_first_line(dir, &first) || !env_lacks_program(dir, path, &first))
        return false;
    describe_interpreter(name, &first, text);
    return true;
}

/* Words that may be commands: the first, and all with a slash. */
static bool describe_words(int dir, const char *path, const char *line,
                           struct buf *text)
{
    static const char ends[] = " \t\n;&|()<>`'\"";
    enum { WORDS = 64 };
    const char *at = line + strspn(line, ends);
    bool found = false;
    for (int i = 0; i < WORDS && *at && !found; i++) {
        struct str word = {at, strcspn(at, ends)};
        if (i == 0 || memchr(word.ptr, '/', word.len))
            found = describe_script(dir, path, word, text);
        at += word.len;
        at += strspn(at, ends);
    }
    return found;
}

void spawn_describe_not_found(const struct spawn_request *request, struct buf *text)
{
    int dir =
        request->cwd ? open(request->cwd, O_PATH | O_DIRECTORY | O_CLOEXEC) : AT_FDCWD;
    bool found = false;
    char *const *argv = request->otherwise ? request->otherwise : request->argv;
    for (char *const *argument = argv; argument && *argument && !found; argument++)
        found = describe_words(dir, request->path, *argument, text);
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
