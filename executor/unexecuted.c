/* Why a process could not be started, in words. */
#include "executor/engine.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* What exec did not find although the file itself is there. Interpreters may be scripts
 * themselves: the kernel follows five. */
enum { HEAD_BYTES = 4096, MOST_SCRIPTS = 5 };
enum program { PROGRAM_OTHER, PROGRAM_SCRIPT, PROGRAM_LOADED };

struct absent {
    enum program by;     /* a script's interpreter, or a program's loader */
    char file[PATH_MAX]; /* what names it */
    char path[PATH_MAX]; /* the file that is missing */
};

static bool script_names(const char *head, size_t n, char out[PATH_MAX])
{
    size_t at = 2, end;
    if (n < 2 || memcmp(head, "#!", 2) != 0)
        return false;
    while (at < n && (head[at] == ' ' || head[at] == '\t'))
        at++;
    for (end = at; end < n && !strchr(" \t\n", head[end]);)
        end++; /* strchr finds a NUL, too */
    if (end == at || end - at >= PATH_MAX)
        return false;
    memcpy(out, head + at, end - at);
    out[end - at] = 0;
    return true;
}

/* Where the i-th program header says that the loader's name stands; false: it is
 * another one, or beyond the head. */
static bool loader_place(const char *head, size_t n, size_t i, Elf64_Phdr *out)
{
    Elf64_Ehdr wide;
    Elf32_Ehdr narrow;
    Elf32_Phdr entry;
    if (head[EI_CLASS] == ELFCLASS64) {
        memcpy(&wide, head, sizeof wide);
        uint64_t at = wide.e_phoff + i * sizeof *out;
        if (i >= wide.e_phnum || wide.e_phoff > n || at + sizeof *out > n)
            return false;
        memcpy(out, head + at, sizeof *out);
    } else {
        memcpy(&narrow, head, sizeof narrow);
        uint64_t at = narrow.e_phoff + (uint64_t)i * sizeof entry;
        if (i >= narrow.e_phnum || at + sizeof entry > n)
            return false;
        memcpy(&entry, head + at, sizeof entry);
        *out = (Elf64_Phdr){.p_type = entry.p_type,
                            .p_offset = entry.p_offset,
                            .p_filesz = entry.p_filesz};
    }
    return out->p_type == PT_INTERP;
}

static bool loader_names(int fd, const char *head, size_t n, char out[PATH_MAX])
{
    Elf64_Phdr place;
    if (n < sizeof(Elf64_Ehdr) || memcmp(head, ELFMAG, SELFMAG) != 0)
        return false;
    for (size_t i = 0; i < HEAD_BYTES / sizeof(Elf32_Phdr); i++) {
        if (!loader_place(head, n, i, &place))
            continue;
        if (place.p_filesz < 2 || place.p_filesz > PATH_MAX ||
            place.p_offset > INT32_MAX)
            return false;
        ssize_t got = pread(fd, out, place.p_filesz, (off_t)place.p_offset);
        return got == (ssize_t)place.p_filesz && !out[got - 1];
    }
    return false;
}

/* What the file asks for. */
static enum program look_into(int dir, const char *path, char out[PATH_MAX])
{
    char head[HEAD_BYTES];
    struct stat st;
    enum program by = PROGRAM_OTHER;
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return by;
    ssize_t n =
        fstat(fd, &st) || !S_ISREG(st.st_mode) ? -1 : pread(fd, head, sizeof head, 0);
    if (n > 0 && script_names(head, (size_t)n, out))
        by = PROGRAM_SCRIPT;
    else if (n > 0 && loader_names(fd, head, (size_t)n, out))
        by = PROGRAM_LOADED;
    close(fd);
    return by;
}

static bool is_there(int dir, const char *path)
{
    return faccessat(dir, path, F_OK, 0) == 0 || !os_is_missing(errno);
}

static bool find_absent(int dir, const char *path, struct absent *absent)
{
    snprintf(absent->file, sizeof absent->file, "%s", path);
    for (int i = 0; i < MOST_SCRIPTS; i++) {
        absent->by = look_into(dir, absent->file, absent->path);
        if (absent->by == PROGRAM_OTHER)
            return false;
        if (!is_there(dir, absent->path))
            return true;
        memcpy(absent->file, absent->path, sizeof absent->file);
    }
    return false;
}

/* The same for a command that is looked for in PATH. */
static bool search_absent(int dir, const char *path, const char *name,
                          struct absent *absent)
{
    char candidate[PATH_MAX];
    for (const char *at = path; at && *name; at = *at ? at + 1 : NULL) {
        size_t len = strcspn(at, ":");
        int n = snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)len, at,
                         len ? "/" : "", name);
        if (n < PATH_MAX && find_absent(dir, candidate, absent))
            return true;
        at += len;
    }
    return false;
}

static void describe_absent(const char *name, const struct absent *absent,
                            struct buf *text)
{
    size_t len = strlen(absent->path);
    if (absent->by == PROGRAM_LOADED)
        buf_format(text,
                   "cannot execute %s: the loader %s that %s asks for is missing; was "
                   "it built for this system and processor?",
                   name, absent->path, absent->file);
    else
        buf_format(text,
                   "cannot execute %s: the interpreter %s that the first line of %s "
                   "names is missing; %s",
                   name, absent->path, absent->file,
                   len && absent->path[len - 1] == '\r'
                       ? "that line ends with a carriage return, which must go"
                       : "install it, or correct that line");
}

/* Exec tells of a missing interpreter in the same words as of a missing command. */
static void describe_not_found(const struct spawn_request *request, const char *name,
                               struct buf *text)
{
    struct absent absent;
    bool direct = strchr(name, '/');
    int dir =
        request->cwd ? open(request->cwd, O_PATH | O_DIRECTORY | O_CLOEXEC) : AT_FDCWD;
    if (direct ? find_absent(dir, name, &absent)
               : search_absent(dir, request->path, name, &absent))
        describe_absent(name, &absent, text);
    else if (direct && faccessat(dir, name, F_OK, 0) == 0)
        buf_format(text,
                   "cannot execute %s: it is there, but the interpreter or loader that "
                   "it asks for is missing",
                   name);
    else
        buf_format(text,
                   "command not found: %s; install it, or correct the name or PATH",
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
