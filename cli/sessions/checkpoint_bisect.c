/* SPDX-License-Identifier: MIT */
/* cairn checkpoint bisect: the first checkpoint whose state makes a command fail, each
 * probed in a directory of its own. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { SCRATCH_PATH = 4096 };

struct bisect_scratch {
    int fd; /* holds the lock; -1: there is none */
    char path[SCRATCH_PATH];
    char probe[SCRATCH_PATH + 32]; /* of one probe, in it; "": none */
};

struct bisect_command {
    char *const *argv;
    char *program; /* argv[0], from where we are if it is a relative path; heap */
    bool relative;
    sigset_t expected; /* signals that stop us, and SIGCHLD: blocked meanwhile */
    sigset_t before;
};

struct command_end {
    int code;   /* exit status, or -1 */
    int signal; /* or 0 */
    int asked;  /* a signal that asked us to stop while it ran, or 0 */
};

static const char prefix[] = "cairn-bisect-";

/* ---- Removing ---- */

/* A tree is removed from the top: what a directory has in it is removed or, if it is a
 * directory, moved up first. So neither depth nor lengths of paths matter. */
struct clearing {
    int root;
    uint64_t moved; /* numbers the names of those that were moved up */
    bool progress, left;
};

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Of a directory, not of what a link names. */
static bool take_rights(int in, const char *name)
{
    struct stat st;
    return fstatat(in, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
           fchmodat(in, name, 0700, 0) == 0;
}

static void move_up(struct clearing *clearing, int from, const char *name)
{
    char to[40];
    if (!take_rights(from, name))
        return;
    do
        snprintf(to, sizeof to, "moved-%ju", (uintmax_t)clearing->moved++);
    while (faccessat(clearing->root, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    renameat(from, name, clearing->root, to);
}

static void clear_one(struct clearing *clearing, const char *name)
{
    struct dirent *entry;
    DIR *opened;
    int fd = -1;
    if (take_rights(clearing->root, name))
        fd = openat(clearing->root, name,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    opened = fd >= 0 ? fdopendir(fd) : NULL;
    if (!opened && fd >= 0)
        close(fd);
    while (opened && (entry = readdir(opened))) {
        if (!is_dots(entry->d_name) && unlinkat(fd, entry->d_name, 0) != 0)
            move_up(clearing, fd, entry->d_name);
    }
    if (opened)
        closedir(opened);
}

static void clear_entry(struct clearing *clearing, const char *name)
{
    if (is_dots(name))
        return;
    clearing->left = true;
    if (unlinkat(clearing->root, name, 0) != 0) {
        clear_one(clearing, name);
        if (unlinkat(clearing->root, name, AT_REMOVEDIR) != 0)
            return;
    }
    clearing->progress = true;
}

static bool clear_directory(int root)
{
    struct clearing clearing = {.root = root, .left = true, .progress = true};
    if (fchmod(root, 0700) != 0)
        return false;
    while (clearing.left && clearing.progress) {
        int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *opened = fd >= 0 ? fdopendir(fd) : NULL;
        struct dirent *entry;
        if (!opened)
            return false;
        clearing.left = clearing.progress = false;
        while ((entry = readdir(opened)))
            clear_entry(&clearing, entry->d_name);
        closedir(opened);
    }
    return !clearing.left;
}

/* ---- Making, and what others left ---- */

/* The directory, if nobody else has it; -1 if somebody has, or it is gone. */
static int lock_directory(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0)
        return fd;
    close(fd);
    return -1;
}

static void remove_left(const char *parent)
{
    struct dirent *entry;
    DIR *opened = opendir(parent);
    while (opened && (entry = readdir(opened))) {
        char path[SCRATCH_PATH];
        int fd = -1;
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0 &&
            strlen(entry->d_name) == sizeof prefix + 5 &&
            snprintf(path, sizeof path, "%s/%s", parent, entry->d_name) <
                (int)sizeof path)
            fd = lock_directory(path);
        if (fd < 0)
            continue;
        if (clear_directory(fd))
            rmdir(path);
        close(fd);
    }
    if (opened)
        closedir(opened);
}

static int cannot_make(const char *what)
{
    return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO),
                          "cannot make a directory in %s: %s", what, strerror(errno));
}

/* Whoever cleans up may take a new one for one that was left behind, as long as it is
 * not locked. */
static int scratch_open(struct bisect_scratch *scratch)
{
    const char *parent = getenv("TMPDIR");
    if (!parent || parent[0] != '/' || strlen(parent) > SCRATCH_PATH / 2)
        parent = "/tmp";
    *scratch = (struct bisect_scratch){.fd = -1};
    remove_left(parent);
    while (scratch->fd < 0) {
        snprintf(scratch->path, sizeof scratch->path, "%s/%sXXXXXX", parent, prefix);
        if (!mkdtemp(scratch->path))
            return cannot_make(parent);
        scratch->fd = lock_directory(scratch->path);
    }
    return 0;
}

/* An empty directory for a probe. Returns an exit status. */
static int scratch_next(struct bisect_scratch *scratch, uint32_t number)
{
    snprintf(scratch->probe, sizeof scratch->probe, "%s/probe-%u", scratch->path,
             (unsigned)number);
    return mkdir(scratch->probe, 0700) == 0 ? 0 : cannot_make(scratch->path);
}

/* Removes everything in it; what cannot be removed is named. */
static void scratch_empty(struct bisect_scratch *scratch)
{
    scratch->probe[0] = '\0';
    if (scratch->fd >= 0 && !clear_directory(scratch->fd))
        ui_warn("cannot remove everything in %s", scratch->path);
}

static void scratch_close(struct bisect_scratch *scratch)
{
    if (scratch->fd < 0)
        return;
    scratch_empty(scratch);
    rmdir(scratch->path);
    close(scratch->fd);
    scratch->fd = -1;
}

enum { GRACE_SECONDS = 5 }; /* from SIGTERM to SIGKILL */

static int refuse(int status, int code, const char *what, const char *name, int sys)
{
    return report_failure(status, cairn_code_name(code), "%s %s: %s", what, name,
                          strerror(sys));
}

/* ---- Getting ready ---- */

/* Those that were ignored when we were started (nohup) stay ignored. */
static void expect_signals(struct bisect_command *command)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction old;
    sigemptyset(&command->expected);
    sigaddset(&command->expected, SIGCHLD);
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaddset(&command->expected, signals[i]);
    sigprocmask(SIG_BLOCK, &command->expected, &command->before);
}

/* Returns an exit status, after printing what is wrong; bisect_command_release in any
 * case. */
static int bisect_command_prepare(struct bisect_command *command, char *const *argv)
{
    char *here = NULL;
    bool relative = argv[0][0] != '/' && strchr(argv[0], '/');
    *command = (struct bisect_command){.argv = argv, .relative = relative};
    if (relative && !(here = getcwd(NULL, 0)))
        return refuse(EXIT_SYSTEM, CAIRN_EIO, "cannot look for", argv[0], errno);
    if (!relative)
        command->program = strdup(argv[0]);
    else if (asprintf(&command->program, "%s/%s", here, argv[0]) < 0)
        command->program = NULL;
    free(here);
    if (!command->program)
        return refuse(EXIT_SYSTEM, CAIRN_ENOMEM, "cannot execute", argv[0], ENOMEM);
    expect_signals(command);
    return 0;
}

static void bisect_command_release(struct bisect_command *command)
{
    if (command->program)
        sigprocmask(SIG_SETMASK, &command->before, NULL);
    free(command->program);
    command->program = NULL;
}

/* ---- Starting ---- */

static int set_files(posix_spawn_file_actions_t *files, const char *directory, int held)
{
    int sys = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0)
                  ?: posix_spawn_file_actions_adddup2(files, 2, 1);
    if (sys == 0) /* onto itself: it stays open */
        sys = posix_spawn_file_actions_adddup2(files, held, held);
    return sys ?: posix_spawn_file_actions_addchdir_np(files, directory);
}

static int set_attributes(posix_spawnattr_t *attributes, const sigset_t *mask)
{
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    int sys = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID |
                                                       POSIX_SPAWN_SETSIGMASK |
                                                       POSIX_SPAWN_SETSIGDEF);
    return sys
           ?: posix_spawnattr_setsigmask(attributes, mask)
           ?: posix_spawnattr_setsigdefault(attributes, &defaults);
}

/* One with a slash in its name is that of the directory in which it is to run, where
 * there is one, else that from where we are. */
static const char *find_program(const struct bisect_command *command,
                                const char *directory)
{
    bool own = false;
    int fd = command->relative
                 ? open(directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                 : -1;
    if (fd >= 0) {
        own = faccessat(fd, command->argv[0], X_OK, AT_EACCESS) == 0;
        close(fd);
    }
    return own ? command->argv[0] : command->program;
}

static int start(const struct bisect_command *command, const char *directory, int held,
                 pid_t *child)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int sys = posix_spawn_file_actions_init(&files);
    if (sys != 0)
        return sys;
    sys = posix_spawnattr_init(&attributes);
    if (sys != 0) {
        posix_spawn_file_actions_destroy(&files);
        return sys;
    }
    sys = set_files(&files, directory, held)
          ?: set_attributes(&attributes, &command->before)
          ?: posix_spawnp(child, find_program(command, directory), &files, &attributes,
                          command->argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return sys;
}

/* ---- Waiting ---- */

static bool has_ended(pid_t child)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == child;
}

/* Its process group is ended at the first signal that asks us to stop, and without
 * mercy at the second one or after the grace. */
static void wait_for(const struct bisect_command *command, pid_t child,
                     struct command_end *end)
{
    const struct timespec grace = {.tv_sec = GRACE_SECONDS};
    while (!has_ended(child)) {
        int got = end->asked ? sigtimedwait(&command->expected, NULL, &grace)
                             : sigwaitinfo(&command->expected, NULL);
        if (got == SIGCHLD || (got < 0 && errno == EINTR))
            continue;
        kill(-child, end->asked ? SIGKILL : SIGTERM);
        end->asked = got > 0 ? got : end->asked;
    }
    kill(-child, SIGKILL); /* what it has left behind; not reaped, so it is its group */
}

/* Runs it in a directory, in a session (of processes) of its own without a terminal:
 * stdin is empty, and its stdout goes to our stderr. `held` is a descriptor that it
 * gets, too. When it ends, or we are asked to stop, what is left of its process group
 * is ended. Returns an exit status. */
static int bisect_command_run(const struct bisect_command *command,
                              const char *directory, int held, struct command_end *end)
{
    pid_t child;
    int status;
    int sys = start(command, directory, held, &child);
    *end = (struct command_end){.code = -1};
    if (sys != 0)
        return refuse(sys == ENOENT || sys == ENOTDIR ? EXIT_NOT_FOUND : EXIT_SYSTEM,
                      sys == ENOENT || sys == ENOTDIR ? CAIRN_ENOTFOUND : CAIRN_EIO,
                      "cannot execute", command->argv[0], sys);
    wait_for(command, child, end);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return refuse(EXIT_SYSTEM, CAIRN_EIO, "waiting for", command->argv[0],
                          errno);
    if (WIFEXITED(status))
        end->code = WEXITSTATUS(status);
    else
        end->signal = WTERMSIG(status);
    return 0;
}

/* cairn checkpoint bisect: the first checkpoint whose state makes a command fail. */

enum { EXIT_NOT_ONE = 1, SKIPS = 125, STOPS_FROM = 128 };

struct ids {
    char (*at)[CAIRN_ID_MAX]; /* heap */
    size_t n;
};

struct bisect {
    struct cairn_store *store;
    struct bisect_command command;
    struct bisect_scratch scratch;
    struct doc *doc; /* `document` with --json; its array of steps is open */
    struct doc document;
    struct ids skipped, candidates;
    bool files;      /* one of the two given ones holds files */
    bool told_names; /* that of some files there are the names alone */
    int status;      /* what went wrong was reported; 0: nothing */
};

static bool add_id(struct ids *ids, const char *id)
{
    char(*at)[CAIRN_ID_MAX] = realloc(ids->at, (ids->n + 1) * sizeof *at);
    if (!at)
        return false;
    ids->at = at;
    snprintf(at[ids->n++], sizeof at[0], "%s", id);
    return true;
}

/* ---- The scratch store ---- */

static bool set_variables(const struct bisect *b, const char *path, const char *session,
                          const char *id)
{
    char *here = getcwd(NULL, 0);
    bool set = setenv("CAIRN_STORE", path, 1) == 0 &&
               setenv("CAIRN_SESSION", session, 1) == 0 &&
               setenv("CAIRN_CHECKPOINT", id, 1) == 0 &&
               setenv("PWD", b->scratch.probe, 1) == 0 &&
               (!here || setenv("OLDPWD", here, 1) == 0);
    free(here);
    return set;
}

/* Of what returned rc, which it returns, too. What cannot be tried is skipped, with a
 * warning. */
static int report_state(struct bisect *b, int rc, struct cairn_error *error, bool *fits)
{
    size_t used = strlen(error->text);
    *fits = rc == 0;
    if (*fits)
        return 0;
    if (rc == CAIRN_EDAMAGED || rc == CAIRN_ENOTFOUND) {
        ui_error(error->text);
        return 0;
    }
    if (rc == CAIRN_EIO)
        snprintf(error->text + used, sizeof error->text - used,
                 "; set TMPDIR to a directory with room for the files of a checkpoint");
    b->status = report_error(error);
    return rc;
}

/* A code of the library; *fits is false if the state cannot be tried. */
static int make_store(struct bisect *b, const char *id, bool *fits)
{
    char path[sizeof b->scratch.probe + 8];
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    struct cairn_session_info info = {0};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    int rc;
    snprintf(path, sizeof path, "%s/.cairn", b->scratch.probe);
    rc = cairn_store_open(&store, &options, &error)
             ?: cairn_session_copy(b->store, id, store, NULL, &info, &error);
    hooks_run_and_close(store);
    if (rc == 0 && !set_variables(b, path, info.name, id)) {
        error = (struct cairn_error){.code = CAIRN_ENOMEM, .text = "out of memory"};
        rc = CAIRN_ENOMEM;
    }
    return report_state(b, rc, &error, fits);
}

/* ---- The files ---- */

/* Whether the checkpoint holds files, also where they cannot be read. */
static bool holds_files(struct cairn_store *store, const char *id)
{
    return cairn_files_list(store, id, NULL, NULL, NULL, NULL) != CAIRN_ENOTFOUND;
}

/* As make_store; *laid_out: the checkpoint holds files, and they are in the directory.
 */
static int lay_out_files(struct bisect *b, const char *id, bool *laid_out, bool *fits)
{
    struct cairn_files_summary summary = {0};
    struct cairn_error error = {0};
    int rc = cairn_files_unpack(b->store, id, b->scratch.probe, &summary, &error);
    *laid_out = rc == 0;
    if (rc == CAIRN_ENOTFOUND) {
        *fits = true;
        if (b->files)
            ui_warn("%s holds no files: the command runs in an empty directory", id);
        return 0;
    }
    if (summary.left_out > 0 && !b->told_names) {
        ui_warn("%s has only the names of %" PRIu64
                " files, which the command does not "
                "find: `cairn checkpoint files %s` shows why",
                id, summary.left_out, id);
        b->told_names = true;
    }
    return report_state(b, rc, &error, fits);
}

/* ---- One probe ---- */

struct tried {
    struct command_end end;
    bool files; /* were in the directory */
};

static const char *verdict_word(enum cairn_verdict verdict)
{
    return verdict == CAIRN_VERDICT_GOOD   ? "good"
           : verdict == CAIRN_VERDICT_BAD  ? "bad"
           : verdict == CAIRN_VERDICT_SKIP ? "skipped"
                                           : "stopped";
}

static enum cairn_verdict verdict_of(const struct command_end *end)
{
    if (end->asked || end->signal || end->code >= STOPS_FROM)
        return CAIRN_VERDICT_STOP;
    return end->code == 0       ? CAIRN_VERDICT_GOOD
           : end->code == SKIPS ? CAIRN_VERDICT_SKIP
                                : CAIRN_VERDICT_BAD;
}

static void tell_before(const struct cairn_probe *probe)
{
    char when[FORMAT_MAX];
    if (probe->candidates > 0)
        say("probe %u: %s of %s, one of %" PRIu64 " that may be the first bad one",
            probe->number, probe->id, format_local(when, probe->time_ns),
            probe->candidates);
    else
        say("probe %u: %s of %s, to check what was given", probe->number, probe->id,
            format_local(when, probe->time_ns));
}

static void tell_after(struct bisect *b, const struct cairn_probe *probe,
                       const struct tried *tried, enum cairn_verdict verdict)
{
    const struct command_end *end = &tried->end;
    char how[FORMAT_MAX];
    bool ran = end->code >= 0 || end->signal > 0;
    if (ran)
        say("probe %u: %s (%s)", probe->number, verdict_word(verdict),
            end->code == 0 ? "exit 0"
                           : format_end(how, end->code, end->signal, false, NULL));
    else
        say("%s is damaged: skipped", probe->id);
    if (!b->doc)
        return;
    doc_object(b->doc, NULL);
    doc_text(b->doc, "checkpoint", probe->id);
    doc_text(b->doc, "verdict", verdict_word(verdict));
    if (end->code >= 0)
        doc_number(b->doc, "exit_code", end->code);
    else
        doc_null(b->doc, "exit_code");
    doc_some(b->doc, "signal", (uint64_t)end->signal);
    doc_bool(b->doc, "files", tried->files);
    doc_end(b->doc);
}

/* Leaves b->status and returns a code of the library if it cannot be done. */
static int run_probe(struct bisect *b, const struct cairn_probe *probe,
                     struct tried *tried, enum cairn_verdict *verdict)
{
    bool fits;
    int rc;
    b->status = scratch_next(&b->scratch, probe->number);
    if (b->status != 0)
        return CAIRN_EIO;
    rc = lay_out_files(b, probe->id, &tried->files, &fits);
    if (rc == 0 && fits)
        rc = make_store(b, probe->id, &fits);
    if (rc != 0 || !fits)
        return rc;
    b->status =
        bisect_command_run(&b->command, b->scratch.probe, b->scratch.fd, &tried->end);
    if (b->status != 0)
        return CAIRN_EIO;
    *verdict = verdict_of(&tried->end);
    return 0;
}

static int probe_state(void *context, const struct cairn_probe *probe,
                       enum cairn_verdict *verdict)
{
    struct bisect *b = context;
    struct tried tried = {.end.code = -1};
    int rc = 0;
    if (!probe->damaged) {
        tell_before(probe);
        rc = run_probe(b, probe, &tried, verdict);
        scratch_empty(&b->scratch);
    }
    if (rc != 0)
        return rc;
    tell_after(b, probe, &tried, *verdict);
    if (*verdict != CAIRN_VERDICT_SKIP || add_id(&b->skipped, probe->id))
        return 0;
    b->status = cairn_exit_status(CAIRN_ENOMEM);
    return CAIRN_ENOMEM;
}

/* ---- What was found ---- */

static int list_candidate(void *context, const struct cairn_line_entry *entry)
{
    struct bisect *b = context;
    if (add_id(&b->candidates, entry->id))
        return 0;
    b->status = cairn_exit_status(CAIRN_ENOMEM);
    return 1;
}

static void list_ids(struct doc *doc, const char *key, const struct ids *ids)
{
    doc_array(doc, key);
    for (size_t i = 0; i < ids->n; i++)
        doc_text(doc, NULL, ids->at[i]);
    doc_end(doc);
}

static int print_document(struct bisect *b, const struct cairn_bisected *found)
{
    bool one = found->candidates == 1 && !found->stopped;
    doc_end(b->doc);
    doc_text(b->doc, "first_bad", one ? found->first_bad : NULL);
    doc_text(b->doc, "last_good", found->good_fails ? NULL : found->last_good);
    list_ids(b->doc, "candidates", &b->candidates);
    list_ids(b->doc, "skipped", &b->skipped);
    doc_count(b->doc, "probes", found->probes);
    doc_bool(b->doc, "stopped", found->stopped);
    doc_bool(b->doc, "bad_untested", found->bad_untested);
    doc_bool(b->doc, "good_untested", found->good_untested);
    return doc_print(b->doc);
}

static void explain(const struct bisect *b, const struct cairn_bisected *found)
{
    struct cairn_checkpoint_info info;
    if (found->good_fails)
        say_always("the checkpoint that was given as good, %s, is bad",
                   found->last_good);
    else if (found->bad_passes)
        say_always("the checkpoint that was given as bad, %s, is good",
                   found->first_bad);
    else if (found->candidates > 1)
        say_always("%s: the first bad one is one of the %" PRIu64 " after %s, up to %s",
                   found->stopped ? "stopped" : "those between were skipped",
                   found->candidates, found->last_good, found->first_bad);
    else if (cairn_checkpoint_get(b->store, found->first_bad, &info, NULL) == 0)
        say("%s is the first bad checkpoint: %s", info.id, info.message);
    if (found->bad_untested)
        ui_warn("no probe was bad, and %s, which was given as bad, was not tried: "
                "--check tries it first",
                found->first_bad);
    if (found->good_untested)
        ui_warn("no probe was good, and %s, which was given as good, was not tried: "
                "--check tries it first",
                found->last_good);
}

static int report_found(struct bisect *b, const struct cairn_bisected *found)
{
    bool stopped = found->stopped && found->candidates != 1;
    int status = stopped ? EXIT_STOPPED : found->candidates == 1 ? 0 : EXIT_NOT_ONE;
    int printed = 0;
    if (b->doc)
        printed = print_document(b, found);
    for (size_t i = 0; !b->doc && !stopped && i < b->candidates.n; i++)
        out("%s\n", b->candidates.at[i]);
    out_flush();
    explain(b, found);
    return status == 0 ? printed : status;
}

/* ---- The command ---- */

static int search(struct bisect *b, const struct settings *settings)
{
    struct cairn_bisected found = {0};
    struct cairn_error error = {0};
    int rc;
    b->doc = doc_open(&b->document, "steps");
    rc = cairn_session_bisect(b->store, settings->text[OPT_GOOD],
                              settings->text[OPT_BAD], settings->given[OPT_CHECK],
                              probe_state, list_candidate, b, &found, &error);
    scratch_close(&b->scratch);
    if (rc == 0 && b->status == 0)
        return report_found(b, &found);
    return doc_close(b->doc, b->status ?: report_error(&error));
}

static int bisect_with(struct bisect *b, const struct settings *settings)
{
    int status = bisect_command_prepare(&b->command, settings->rest)
                 ?: scratch_open(&b->scratch)
                 ?: search(b, settings);
    bisect_command_release(&b->command);
    return status;
}

int command_checkpoint_bisect(struct settings *settings)
{
    struct bisect b = {.scratch.fd = -1};
    int status;
    if (!settings->given[OPT_GOOD] || !settings->given[OPT_BAD])
        return report_usage(settings->command,
                            "give --good and --bad, with a checkpoint each");
    if (!settings->rest || !settings->rest[0])
        return report_usage(
            settings->command,
            "give a command after --: it exits with 0 for a good state, "
            "1 for a bad one");
    status = session_store(settings, STORE_READ);
    b.store = settings->store;
    if (status == 0)
        status = checkpoint_option(settings, OPT_GOOD)
                     ?: checkpoint_option(settings, OPT_BAD);
    if (status == 0)
        b.files = holds_files(b.store, settings->text[OPT_GOOD]) ||
                  holds_files(b.store, settings->text[OPT_BAD]);
    if (status == 0)
        status = bisect_with(&b, settings);
    free(b.skipped.at);
    free(b.candidates.at);
    return status;
}
