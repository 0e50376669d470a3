/* SPDX-License-Identifier: MIT */
/* What agents' hooks call: cairn session hook, within its time, and install-hooks. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/target_file.h"
#include "cli/ui.h"

#include "cairn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_mutex_t mutex;
    uint64_t limit_ms;
    char event[128], store[4096];
} deadline = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Whoever should read stderr may be what is waited for. */
static void write_if_possible(const char *text)
{
    struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&fd, 1, 0) == 1 && (fd.revents & POLLOUT) &&
        write(STDERR_FILENO, text, strlen(text)) < 0)
        return;
}

static void *wait_for_it(void *unused)
{
    char text[512], line[600];
    struct timespec wait = {(time_t)(deadline.limit_ms / 1000),
                            (long)(deadline.limit_ms % 1000) * 1000000};
    (void)unused;
    while (nanosleep(&wait, &wait) != 0)
        continue;
    pthread_mutex_lock(&deadline.mutex);
    snprintf(
        text, sizeof text,
        "%s: gave up after %llu ms: if the store was not locked meanwhile, the "
        "first checkpoint takes longer: make it with `cairn checkpoint create MESSAGE`",
        deadline.event[0] != '\0' ? deadline.event : "the event on stdin",
        (unsigned long long)deadline.limit_ms);
    if (deadline.store[0] != '\0')
        (void)cairn_agent_note_failure(deadline.store, text, NULL);
    snprintf(line, sizeof line, "cairn: session hook: %s\n", text);
    write_if_possible(line);
    _exit(0);
}

/* False: there is no thread for it. Call it once. */
static bool deadline_start(uint64_t limit_ms)
{
    pthread_t thread;
    deadline.limit_ms = limit_ms;
    return pthread_create(&thread, NULL, wait_for_it, NULL) == 0 &&
           pthread_detach(thread) == 0;
}

/* What is being done, for the line that says that it took too long: the name of the
 * event, and the store (may be NULL) in which that is noted. */
static void deadline_tell(const char *event, const char *store)
{
    pthread_mutex_lock(&deadline.mutex);
    snprintf(deadline.event, sizeof deadline.event, "%s", event);
    snprintf(deadline.store, sizeof deadline.store, "%s", store ? store : "");
    pthread_mutex_unlock(&deadline.mutex);
}

/* cairn session hook: the call that an agent's hook makes. Whatever happens, its exit
 * status is 0 and its answer blocks nothing; errors go to stderr, to the
 * agent's user (`systemMessage`), and to `cairn doctor` later. */

struct hooking {
    const struct settings *settings;
    struct cairn_agent_event *event;
    struct cairn_store *store;
    struct cairn_agent_told told;
    char given_store[4096]; /* as --store or $CAIRN_STORE name it, from the root */
    char project[4096];     /* whose files a session of an agent has */
    char problem[700];      /* for the user; "": none */
};

static const char *event_name(const struct hooking *hooking)
{
    return hooking->event ? cairn_agent_event_name(hooking->event)
                          : "the event on stdin";
}

/* Where: the directory of a store, or NULL. */
static void fail(struct hooking *hooking, const char *where, const char *text)
{
    snprintf(hooking->problem, sizeof hooking->problem, "%.80s: %.500s",
             event_name(hooking), text);
    ui_warn("session hook: %s", hooking->problem);
    if (where && cairn_agent_note_failure(where, hooking->problem, NULL) != 0)
        ui_warn("session hook: that could not be noted in %s", where);
}

/* ---- What is on stdin ---- */

/* How much of one JSON value has come. */
struct value_end {
    uint64_t depth;
    bool quoted, escaped, ended;
};

static void look_for_end(struct value_end *value, const char *text, size_t n)
{
    for (size_t i = 0; i < n && !value->ended; i++) {
        char c = text[i];
        if (value->escaped)
            value->escaped = false;
        else if (value->quoted && c == '\\')
            value->escaped = true;
        else if (c == '"')
            value->quoted = !value->quoted;
        else if (!value->quoted && (c == '{' || c == '['))
            value->depth++;
        else if (!value->quoted && (c == '}' || c == ']') && value->depth > 0)
            value->ended = --value->depth == 0;
    }
}

static bool more_is_there(void)
{
    struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&fd, 1, 0) == 1;
}

/* Up to the end of the object: an agent may leave stdin open. Up to one byte too many
 * is kept; the rest is read, so that its writer is not stopped. */
static char *read_stdin(size_t *n)
{
    struct value_end value = {.depth = 0};
    static char rest[1 << 16];
    size_t room = 1 << 16, most = CAIRN_AGENT_EVENT_MAX + 1;
    char *text = malloc(room);
    *n = 0;
    while (text) {
        size_t want = *n < most ? room - *n : sizeof rest;
        // cppcheck-suppress pointerOutOfBoundsCond; at most `room` bytes are kept
        char *to = *n < most ? text + *n : rest;
        if (value.ended && !more_is_there())
            return text;
        ssize_t got = read(STDIN_FILENO, to, want);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return text;
        look_for_end(&value, to, (size_t)got);
        if (*n < most)
            *n += (size_t)got;
        if (*n < room || *n >= most)
            continue;
        room = 2 * room < most ? 2 * room : most;
        char *more = realloc(text, room);
        if (!more)
            free(text);
        text = more;
    }
    return NULL;
}

static bool read_event(struct hooking *hooking)
{
    struct cairn_error error = {0};
    size_t n = 0;
    if (ui_terminal(STDIN_FILENO)) {
        ui_warn("session hook: an agent's hook calls this, with its JSON on stdin: "
                "`cairn session install-hooks` enters it");
        return false;
    }
    char *text = read_stdin(&n);
    int rc =
        text ? cairn_agent_event_read(&hooking->event, text, n, &error) : CAIRN_ENOMEM;
    free(text);
    if (rc != 0)
        snprintf(hooking->problem, sizeof hooking->problem, "%.400s",
                 text ? error.text : "out of memory");
    return rc == 0;
}

/* ---- The store ---- */

/* Its path must not depend on where the agent is. */
static void take_given_store(struct hooking *hooking)
{
    const char *given = store_path(hooking->settings);
    char *real = given ? realpath(given, NULL) : NULL;
    if (given)
        snprintf(hooking->given_store, sizeof hooking->given_store, "%s",
                 real ? real : given);
    free(real);
}

static int open_here(struct hooking *hooking, bool read_only, struct cairn_error *error)
{
    uint64_t limit_ms = hooking->settings->number[OPT_TIME_LIMIT];
    struct cairn_store_options options = {
        .path = hooking->given_store[0] != '\0' ? hooking->given_store : NULL,
        .read_only = read_only,
        .lock_wait_ms = (int)(limit_ms / 5 + 1),
    };
    return cairn_store_open(&hooking->store, &options, error);
}

/* That of the project in which the agent was started. An agent changes its directory,
 * and one below may have a store of its own; but where it is in a fork of the project,
 * or in another directory that leads to the same store, that is its place. */
static int find_of_project(struct hooking *hooking, const char *project, int rc,
                           struct cairn_error *error)
{
    struct cairn_store *here = hooking->store;
    struct cairn_error why = {0};
    hooking->store = NULL;
    bool found = chdir(project) == 0 && open_here(hooking, true, &why) == 0;
    bool same = found && rc == 0 &&
                strcmp(cairn_store_path(hooking->store), cairn_store_path(here)) == 0;
    if (found && !same) {
        cairn_store_close(here);
        *error = (struct cairn_error){0};
        return 0;
    }
    cairn_store_close(hooking->store);
    hooking->store = here;
    return rc;
}

static int find_store(struct hooking *hooking, struct cairn_error *error)
{
    const char *directory =
        hooking->event ? cairn_agent_event_directory(hooking->event) : NULL;
    const char *project = getenv("CLAUDE_PROJECT_DIR");
    if (directory && chdir(directory) != 0)
        directory = NULL;
    int rc = open_here(hooking, true, error);
    bool other =
        project && project[0] == '/' && (!directory || strcmp(project, directory) != 0);
    if (hooking->given_store[0] == '\0' && other)
        rc = find_of_project(hooking, project, rc, error);
    const char *found = rc == 0 ? cairn_store_project(hooking->store) : NULL;
    snprintf(hooking->project, sizeof hooking->project, "%s", found ? found : ".");
    return rc;
}

/* Where a failure is noted, though the store could not be opened. */
static const char *store_nearby(const struct hooking *hooking, char out[256])
{
    enum { LEVELS_MOST = 64 };
    if (hooking->given_store[0] != '\0')
        return hooking->given_store;
    snprintf(out, 256, ".cairn");
    for (int i = 0; i < LEVELS_MOST && access(out, F_OK) != 0; i++)
        snprintf(out, 256, "%.*s.cairn", 3 * (i + 1),
                 "../../../../../../../../../../../../../../../../../../../../../../../"
                 "../../../../../../../../../../../../../../../../../../../../../../../"
                 "../../../../../../../../../../../../../../../../../../");
    return out;
}

static void fail_to_open(struct hooking *hooking, int rc,
                         const struct cairn_error *error)
{
    char near[256];
    if (rc == CAIRN_ENOTFOUND)
        ui_warn("session hook: %s: nothing is done, since there is no store: `cairn "
                "session install-hooks` in the directory of the project makes one",
                event_name(hooking));
    else
        fail(hooking, store_nearby(hooking, near), error->text);
}

/* ---- The answer ---- */

/* Commands of the agent itself work on its own session then. */
static void set_variable(const struct hooking *hooking)
{
    const char *file = getenv("CLAUDE_ENV_FILE");
    char line[4 * CAIRN_SESSION_NAME_MAX + 32];
    if (!file || file[0] == '\0' || session_option(hooking->settings))
        return;
    int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
    char *word = shell_word(hooking->told.session);
    int n = snprintf(line, sizeof line, "export CAIRN_SESSION=%s\n", word ? word : "");
    free(word);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        ui_warn("session hook: cannot write to $CLAUDE_ENV_FILE: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
}

static void put_context(struct doc *doc, const struct hooking *hooking)
{
    char text[1024 + 4 * 4 * CAIRN_SESSION_NAME_MAX];
    const char *name = hooking->told.session;
    char *word = shell_word(name);
    snprintf(text, sizeof text,
             "cairn makes checkpoints of the files of this project while you work "
             "(session %s). `cairn checkpoint list --session %s` lists them. To go "
             "back: `cairn checkpoint restore ID --session %s --yes`; that is taken "
             "back by `cairn checkpoint undo-restore --session %s`.",
             name, word ? word : "NAME", word ? word : "NAME", word ? word : "NAME");
    free(word);
    doc_object(doc, "hookSpecificOutput");
    doc_text(doc, "hookEventName", "SessionStart");
    doc_text(doc, "additionalContext", text);
    doc_end(doc);
}

static void answer(const struct hooking *hooking)
{
    struct doc doc;
    bool began = hooking->event && hooking->told.session[0] != '\0' &&
                 hooking->told.makes &&
                 strcmp(event_name(hooking), "SessionStart") == 0;
    char text[720];
    if (began)
        set_variable(hooking);
    if (!began && hooking->problem[0] == '\0')
        return;
    doc_begin(&doc);
    if (began)
        put_context(&doc, hooking);
    snprintf(text, sizeof text, "cairn: %s", hooking->problem);
    if (hooking->problem[0] != '\0')
        doc_text(&doc, "systemMessage", text);
    doc_print(&doc);
}

/* For scripts: what was done. */
static void print_document(const struct hooking *hooking)
{
    const struct cairn_agent_told *told = &hooking->told;
    const struct cairn_captured *captured = &told->captured;
    struct doc doc;
    doc_begin(&doc);
    doc_text(&doc, "event", hooking->event ? event_name(hooking) : NULL);
    doc_text(&doc, "session", told->session[0] != '\0' ? told->session : NULL);
    doc_bool(&doc, "started", told->started);
    doc_bool(&doc, "made", captured->made);
    doc_text(&doc, "why",
             captured->made  ? NULL
             : captured->why ? captured->why
                             : "not asked for");
    doc_text(&doc, "id", captured->id[0] != '\0' ? captured->id : NULL);
    doc_count(&doc, "messages", told->import.added);
    doc_text(&doc, "problem", hooking->problem[0] != '\0' ? hooking->problem : NULL);
    doc_print(&doc);
}

/* ---- All of it ---- */

/* Most of what tools do needs nothing written: that waits for nobody. */
static bool needs_more(struct hooking *hooking,
                       const struct cairn_agent_options *options)
{
    struct cairn_error error = {0};
    bool more = true;
    int rc = cairn_agent_look(hooking->store, hooking->event, options, &hooking->told,
                              &more, &error);
    if (rc != 0)
        fail(hooking, cairn_store_path(hooking->store), error.text);
    return rc == 0 && more;
}

static int open_for_writing(struct hooking *hooking, struct cairn_error *error)
{
    snprintf(hooking->given_store, sizeof hooking->given_store, "%s",
             cairn_store_path(hooking->store));
    cairn_store_close(hooking->store);
    hooking->store = NULL;
    int rc = open_here(hooking, false, error);
    if (rc == 0)
        store_listen(hooking->store);
    return rc;
}

/* One that somebody has named may have been made for other work. */
static void tell_what_is_kept(struct hooking *hooking)
{
    const struct cairn_agent_told *told = &hooking->told;
    if (hooking->problem[0] != '\0' || told->session[0] == '\0' ||
        strcmp(event_name(hooking), "SessionStart") != 0 ||
        (told->makes && told->keeps_files))
        return;
    char *word = shell_word(told->session);
    snprintf(hooking->problem, sizeof hooking->problem,
             "session %.100s %s: `cairn session config %s --session %s` changes that",
             told->session,
             told->makes ? "keeps no files" : "makes no checkpoints while you work",
             told->makes ? "files ." : "strategy smart",
             word && strlen(word) < 200 ? word : "NAME");
    free(word);
}

static void tell_store(struct hooking *hooking)
{
    struct cairn_agent_options options = {
        .session = session_option(hooking->settings),
        .strategy = hooking->settings->text[OPT_STRATEGY],
        .files = hooking->project,
    };
    struct cairn_error error = {0};
    deadline_tell(event_name(hooking), cairn_store_path(hooking->store));
    if (!needs_more(hooking, &options)) {
        tell_what_is_kept(hooking);
        return;
    }
    if (open_for_writing(hooking, &error) != 0) {
        fail(hooking, hooking->given_store, error.text);
        return;
    }
    const char *where = cairn_store_path(hooking->store);
    if (cairn_agent_tell(hooking->store, hooking->event, &options, &hooking->told,
                         &error) != 0)
        fail(hooking, where, error.text);
    else if (hooking->told.import_error.code != 0)
        fail(hooking, where, hooking->told.import_error.text);
    tell_what_is_kept(hooking);
    if (hooking->told.started || hooking->told.captured.made ||
        hooking->told.import.added > 0)
        hooks_run(hooking->store);
}

static void take_event(struct hooking *hooking)
{
    struct cairn_error error = {0};
    bool readable = read_event(hooking);
    char problem[512];
    if (readable ? !cairn_agent_event_counts(hooking->event)
                 : hooking->problem[0] == '\0')
        return;
    snprintf(problem, sizeof problem, "%.500s", hooking->problem);
    deadline_tell(event_name(hooking), NULL);
    take_given_store(hooking);
    int rc = find_store(hooking, &error);
    if (readable && rc != 0)
        fail_to_open(hooking, rc, &error);
    else if (readable)
        tell_store(hooking);
    else
        fail(hooking, rc == 0 ? cairn_store_path(hooking->store) : NULL, problem);
}

int command_session_hook(struct settings *settings)
{
    struct hooking hooking = {.settings = settings};
    ui_output_optional();
    if (!deadline_start(settings->number[OPT_TIME_LIMIT]))
        ui_warn(
            "session hook: a thread could not be started, so there is no time limit");
    take_event(&hooking);
    if (ui_json())
        print_document(&hooking);
    else
        answer(&hooking);
    cairn_store_close(hooking.store);
    cairn_agent_event_free(hooking.event);
    return 0;
}

/* cairn session install-hooks: the entries of Claude Code's settings that call `cairn
 * session hook`. The file is written beside the old one and renamed. */

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
        return report_nomem();
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
                     : report_usage("session install-hooks", "%s is not a regular file",
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
    return report_code(rc, &error);
}

static int report_file(const struct settings_file *file, bool remove)
{
    struct doc doc;
    if (!ui_json()) {
        out("%s\n", file->path);
        out_flush();
        say(!file->changed ? "nothing had to be changed"
            : remove       ? "the entries of cairn were removed"
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
    char command[80];
    bool remove = settings->given[OPT_REMOVE_HOOKS];
    if (remove && (settings->given[OPT_PRINT_HOOKS] || settings->given[OPT_STRATEGY]))
        return report_usage(settings->command,
                            "--remove takes neither --print nor --strategy");
    make_command(settings, command);
    if (settings->given[OPT_PRINT_HOOKS])
        return print_entries(command);
    int status = session_store(settings, remove ? STORE_READ : STORE_CREATE)
                     ?: edit_file(&file, settings->store, remove ? NULL : command);
    settings->hooks = false;
    release(&file);
    return status;
}
