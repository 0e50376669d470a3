/* SPDX-License-Identifier: MIT */
/* cairn shell: a shell, or a command, with what a task's attempt was given. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"
#include "cli/unknown_task.h"

#include "cairn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

struct scratch {
    char directory[4096], file[4200], inputs[4200];
};

static volatile sig_atomic_t caught;

static void scratch_remove(const struct scratch *scratch);

static void note_signal(int signal_number)
{
    caught = signal_number;
}

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};

enum { ENDING = COUNT_OF(ending) };

/* Without SA_RESTART: the read returns. */
static void set_handlers(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ENDING; i++)
        sigaction(ending[i], &action, NULL);
}

/* A line of a terminal comes in one piece. */
static bool read_line(char *out, size_t size)
{
    ssize_t n = read(STDIN_FILENO, out, size);
    if (n < 1 || out[n - 1] != '\n')
        return false;
    out[n - 1] = '\0';
    return strlen(out) == (size_t)n - 1;
}

/* Asks on stderr and reads a line from stdin, both terminals, without its line break.
 * False: there is none, or it is longer than `size` - 1. A signal ends this process
 * after the terminal was set right again. */
static bool hidden_read(const char *prompt, char *out, size_t size)
{
    struct termios before, hidden;
    bool read;
    if (tcgetattr(STDIN_FILENO, &before) != 0)
        return false;
    hidden = before;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    hidden.c_lflag |= ICANON | ISIG;
    caught = 0;
    set_handlers(note_signal);
    ui_paint(prompt, strlen(prompt));
    read = tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0 && read_line(out, size);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    ui_paint("\n", 1);
    set_handlers(SIG_DFL);
    if (caught != 0) {
        explicit_bzero(out, size);
        raise(caught);
        return false; /* it was stopped, and goes on */
    }
    return read;
}

enum { SIGNALLED = 128 };

static int refused(int status, const char *what, const char *name, int sys)
{
    return report_failure(
        status, cairn_code_name(status == EXIT_NOT_FOUND ? CAIRN_ENOTFOUND : CAIRN_EIO),
        "%s %s: %s", what, name, strerror(sys));
}

/* ---- The terminal ---- */

/* A shell makes a process group of its own the one in the foreground. Where it is
 * killed it does not give that back. */
struct foreground {
    int fd; /* -1: we are not in the foreground of a terminal */
};

static struct foreground foreground_note(void)
{
    struct foreground f = {open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)};
    if (f.fd >= 0 && tcgetpgrp(f.fd) != getpgrp()) {
        close(f.fd);
        f.fd = -1;
    }
    return f;
}

static void foreground_restore(struct foreground *f)
{
    if (f->fd < 0)
        return;
    signal(SIGTTOU, SIG_IGN);
    tcsetpgrp(f->fd, getpgrp());
    signal(SIGTTOU, SIG_DFL);
    close(f->fd);
}

/* ---- Starting it, and waiting ---- */

/* Signals that we wait for; the terminal's are the child's alone. */
static void take_signals(sigset_t *waited)
{
    sigemptyset(waited);
    sigaddset(waited, SIGCHLD);
    sigaddset(waited, SIGTERM);
    sigaddset(waited, SIGHUP);
    sigprocmask(SIG_BLOCK, waited, NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
}

static int start(pid_t *child, const char *const *argv)
{
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int sys = posix_spawnattr_init(&attributes);
    if (sys != 0)
        return sys;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    sys = posix_spawnp(child, argv[0], NULL, &attributes,
                       (char *const *)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&attributes);
    return sys;
}

static int wait_for(pid_t child, const sigset_t *waited)
{
    int status;
    for (;;) {
        int signal_number = sigwaitinfo(waited, NULL);
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            return WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status)
                                       : WEXITSTATUS(status);
        if (ended < 0 && errno != EINTR)
            return refused(EXIT_SYSTEM, "waiting for", "the command", errno);
        if (signal_number == SIGTERM || signal_number == SIGHUP)
            kill(child, signal_number);
    }
}

/* Starts the program in the directory ("": here) with exactly this environment, whose
 * PATH it is looked for in, and waits. It has our terminal and descriptors and is in
 * our process group, so a shell's job control and Ctrl-C work as without us; SIGTERM
 * and SIGHUP are handed on to it. Returns its exit status, 128 + n for signal n, 127
 * (no such program) or 126 (it cannot be executed); or another one after a message that
 * it was not started. This process changes to the directory. */
static int child_run(const char *directory, const char *const *argv,
                     const char *const *env)
{
    struct foreground foreground;
    sigset_t waited;
    char **own = environ;
    pid_t child;
    int sys, status;
    if (directory[0] != '\0' && chdir(directory) != 0)
        return refused(errno == ENOENT || errno == ENOTDIR ? EXIT_NOT_FOUND
                                                           : EXIT_SYSTEM,
                       "cannot change to the directory", directory, errno);
    foreground = foreground_note();
    take_signals(&waited);
    environ = (char **)(uintptr_t)env;
    sys = start(&child, argv);
    environ = own;
    if (sys == ENOENT || sys == ENOTDIR)
        status = refused(EXIT_NO_PROGRAM, "cannot execute", argv[0], sys);
    else if (sys == EAGAIN || sys == ENOMEM)
        status = refused(EXIT_SYSTEM, "cannot start", argv[0], sys);
    else if (sys != 0)
        status = refused(EXIT_NOT_EXECUTABLE, "cannot execute", argv[0], sys);
    else
        status = wait_for(child, &waited);
    foreground_restore(&foreground);
    return status;
}

/* In $TMPDIR, or /tmp. Returns an exit status. */
static int scratch_make(struct scratch *scratch)
{
    const char *parent = getenv("TMPDIR");
    int n, fd;
    if (!parent || parent[0] != '/')
        parent = "/tmp";
    n = snprintf(scratch->directory, sizeof scratch->directory, "%s/cairn-shell-XXXXXX",
                 parent);
    if (n >= (int)sizeof scratch->directory)
        return report_usage("shell", "TMPDIR is too long");
    if (!mkdtemp(scratch->directory))
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO),
                              "cannot make a directory in %s: %s", parent,
                              strerror(errno));
    snprintf(scratch->file, sizeof scratch->file, "%s/output", scratch->directory);
    snprintf(scratch->inputs, sizeof scratch->inputs, "%s/inputs", scratch->directory);
    fd = open(scratch->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        return close(fd);
    n = report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO), "cannot make %s: %s",
                       scratch->file, strerror(errno));
    scratch_remove(scratch);
    return n;
}

/* With the files that stand in it by then. */
static void scratch_remove(const struct scratch *scratch)
{
    struct dirent *entry;
    DIR *directory = opendir(scratch->directory);
    while (directory && (entry = readdir(directory)))
        unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    rmdir(scratch->directory);
}

/* cairn shell: a shell, or a command, with what a task's attempt was given. */

enum { SECRET_BYTES = 4096 }; /* a line of a terminal is no longer */

struct shell {
    struct settings *settings;
    struct cairn_store *store;
    uint64_t run;
    const char *task;
    struct secrets_given secrets;
    struct cairn_param *asked; /* values that were asked for, behind those given */
    size_t n_asked;
    struct cairn_shell_options options;
    struct cairn_shell *made;
};

static int read_operands(struct shell *shell)
{
    struct settings *settings = shell->settings;
    int n = settings->n_operands;
    shell->task = settings->operands[n - 1];
    if (settings->rest && !settings->rest[0])
        return report_usage("shell", "missing command after --");
    if (n == 2 && !operand_is_file(settings, 0) && !settings->rest &&
        settings->operands[0][strspn(settings->operands[0], "0123456789")] != '\0')
        return report_usage("shell",
                            "'%s' is not the number of a run; put -- before a command: "
                            "cairn shell '%s' -- %s",
                            settings->operands[0], settings->operands[0],
                            settings->operands[1]);
    if (n == 2 && !operand_is_file(settings, 0) &&
        !number_operand(settings, 0, &shell->run))
        return EXIT_USAGE;
    if (ui_json() && !settings->given[OPT_PRINT])
        return report_usage("shell",
                            "--json is for --print: what a command writes is its "
                            "own");
    return 0;
}

static int make(struct shell *shell)
{
    struct cairn_error error = {0};
    struct cairn_shell *made = NULL;
    if (cairn_shell(&made, shell->store, shell->run, shell->task, &shell->options,
                    &error) != 0 ||
        !made)
        return missing_task(shell->store, shell->run, shell->task, &error);
    cairn_shell_free(shell->made);
    shell->made = made;
    return 0;
}

/* ---- Secrets ---- */

static int report_missing(const struct shell *shell)
{
    char names[900] = "";
    size_t used = 0, n = 0;
    for (const char *const *name = shell->made->missing; *name; name++, n++)
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     n > 0 ? ", " : "", *name);
    return report_failure(
        EXIT_USAGE, cairn_code_name(CAIRN_EUSAGE),
        "task %s needs the secret%s %s: set %s in the environment, or "
        "give %s with --secrets-fd",
        shell->task, plural(n), names, n == 1 ? "it" : "them", n == 1 ? "it" : "them");
}

/* A copy of the values that were given, with room for those that are missing. */
static int make_room(struct shell *shell)
{
    size_t n = shell->options.n_secrets;
    for (const char *const *name = shell->made->missing; *name; name++)
        n++;
    shell->asked = calloc(n + 1, sizeof *shell->asked);
    if (!shell->asked)
        return report_nomem();
    for (size_t i = 0; i < shell->options.n_secrets; i++)
        shell->asked[i] = shell->options.secrets[i];
    return 0;
}

static bool ask(struct shell *shell, const char *name)
{
    char prompt[512], value[SECRET_BYTES];
    char *own_name = NULL, *own_value = NULL;
    snprintf(prompt, sizeof prompt, "secret %s of task %s: ", name, shell->task);
    if (hidden_read(prompt, value, sizeof value) && value[0] != '\0') {
        own_name = strdup(name);
        own_value = strdup(value);
    }
    explicit_bzero(value, sizeof value);
    if (!own_name || !own_value) {
        free(own_name);
        free(own_value);
        return false;
    }
    shell->asked[shell->options.n_secrets + shell->n_asked++] =
        (struct cairn_param){own_name, own_value};
    return true;
}

/* Those that were not given are asked for by name, on a terminal. */
static int complete_secrets(struct shell *shell)
{
    const char *const *name = shell->made->missing;
    int status;
    if (!*name)
        return 0;
    if (!ui_terminal(STDIN_FILENO) || !ui_terminal(STDERR_FILENO))
        return report_missing(shell);
    status = make_room(shell);
    for (; status == 0 && *name; name++)
        if (!ask(shell, *name))
            return report_missing(shell);
    if (status != 0)
        return status;
    shell->options.secrets = shell->asked;
    shell->options.n_secrets += shell->n_asked;
    return 0;
}

static void release_asked(struct shell *shell)
{
    size_t first = shell->options.n_secrets - shell->n_asked;
    if (shell->options.secrets != shell->asked)
        first = shell->options.n_secrets; /* it was given up while asking */
    for (size_t i = 0; shell->asked && i < shell->n_asked; i++) {
        char *value = (char *)(uintptr_t)shell->asked[first + i].value;
        explicit_bzero(value, strlen(value));
        free(value);
        free((char *)(uintptr_t)shell->asked[first + i].name);
    }
    free(shell->asked);
}

/* ---- What it is, for people ---- */

static void say_text(const char *text)
{
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        say_bytes("    ", text, n);
        text += n + (text[n] == '\n');
    }
}

/* The words as they can be typed; heap or NULL. */
static char *join_words(const char *const *words)
{
    char *line = strdup(""), *more, *word;
    for (; line && *words; words++) {
        word = shell_word(*words);
        if (!word || asprintf(&more, "%s%s%s", line, line[0] ? " " : "", word) < 0)
            more = NULL;
        free(word);
        free(line);
        line = more;
    }
    return line;
}

static void announce(const struct shell *shell)
{
    const struct cairn_shell *made = shell->made;
    char *words;
    if (ui_quiet() || shell->settings->rest)
        return;
    say("cairn: task %s of run %llu, attempt %u%s%s", made->task,
        (unsigned long long)made->run, made->attempt, made->directory[0] ? ", in " : "",
        made->directory);
    say("cairn: nothing that is done here is recorded; its command is:");
    size_t n = 0;
    while (made->argv[n])
        n++;
    /* A text that is given arguments is shown with them, as its shell is called. */
    bool alone = made->text && n && strcmp(made->argv[n - 1], made->text) == 0;
    words = alone ? NULL : join_words(made->argv);
    say_text(alone ? made->text : words ? words : "");
    free(words);
}

/* ---- Printing ---- */

static void add_list(struct doc *doc, const char *name, const char *const *list)
{
    doc_array(doc, name);
    for (; *list; list++)
        doc_text(doc, NULL, *list);
    doc_end(doc);
}

static void add_environment(struct doc *doc, const struct cairn_shell *made)
{
    doc_array(doc, "env");
    for (size_t i = 0; i < made->n_own; i++) {
        size_t n = strcspn(made->env[i], "=");
        doc_object(doc, NULL);
        doc_bytes(doc, "name", made->env[i], n);
        doc_text(doc, "value", made->env[i] + n + 1);
        doc_end(doc);
    }
    doc_end(doc);
}

static int print_document(const struct cairn_shell *made)
{
    struct doc doc;
    doc_begin(&doc);
    doc_count(&doc, "run", made->run);
    doc_text(&doc, "workflow", made->workflow);
    doc_text(&doc, "task", made->task);
    doc_count(&doc, "attempt", made->attempt);
    doc_count(&doc, "generation", made->generation);
    doc_text(&doc, "directory", made->directory[0] ? made->directory : NULL);
    doc_text(&doc, "text", made->text);
    add_list(&doc, "argv", made->argv);
    add_environment(&doc, made);
    add_list(&doc, "secrets", made->secrets);
    add_list(&doc, "missing", made->missing);
    add_list(&doc, "withheld", made->withheld);
    doc_text(&doc, "script", made->script);
    return doc_print(&doc);
}

static int print(struct shell *shell)
{
    const char *script;
    char *safe;
    size_t n;
    shell->options.shown = true;
    shell->options.command = (const char *const *)(uintptr_t)shell->settings->rest;
    int status = make(shell);
    if (status != 0)
        return status;
    if (ui_json())
        return print_document(shell->made);
    script = shell->made->script;
    n = strlen(script);
    if (!ui_terminal(STDOUT_FILENO)) {
        out_raw(script, n);
        return 0;
    }
    safe = malloc(n * ESCAPE_FACTOR + 1);
    if (safe)
        out_raw(safe, escape_text(safe, script, n));
    free(safe);
    return 0;
}

/* ---- Running ---- */

/* From here on the store is not needed: what is run may take hours. */
static int run(struct shell *shell)
{
    const char *own = getenv("SHELL");
    const char *argv[] = {own && own[0] != '\0' ? own : "/bin/sh", NULL};
    const char *const *rest = (const char *const *)(uintptr_t)shell->settings->rest;
    store_close(shell->store);
    shell->store = NULL;
    announce(shell);
    return child_run(shell->made->directory, rest ? rest : argv, shell->made->env);
}

/* Without names the variable names no file, as in an attempt. */
static int write_inputs(const char *path, const char *names)
{
    FILE *file = names ? fopen(path, "wxe") : NULL;
    bool written = file && fputs(names, file) != EOF;
    if (file && fclose(file) != 0)
        written = false;
    return !names || written
               ? 0
               : report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO),
                                "cannot make %s: %s", path, strerror(errno));
}

/* It is made twice, so that there is nothing to be removed while somebody is asked. */
static int open_shell(struct shell *shell)
{
    struct scratch scratch = {.directory = ""};
    int status = make(shell);
    if (status == 0)
        status = complete_secrets(shell);
    if (status == 0)
        status = scratch_make(&scratch);
    if (status != 0)
        return status;
    shell->options.output = scratch.file;
    shell->options.inputs = scratch.inputs;
    status = make(shell);
    shell->options.output = shell->options.inputs = NULL;
    if (status == 0)
        status = write_inputs(scratch.inputs, shell->made->inputs);
    if (status == 0)
        status = run(shell);
    scratch_remove(&scratch);
    return status;
}

int command_shell(struct settings *settings)
{
    struct shell shell = {.settings = settings};
    struct cairn_run_options options = {0};
    int status = secrets_given_read(settings, &shell.secrets, &options);
    shell.options.attempt = (uint32_t)settings->number[OPT_ATTEMPT];
    shell.options.secrets = options.secrets;
    shell.options.n_secrets = options.n_secrets;
    if (status == 0)
        status = read_operands(&shell);
    if (status == 0)
        status = settings->n_operands == 2
                     ? open_run_number(settings, &shell.store, &shell.run)
                     : store_for_reading(settings, &shell.store);
    if (status == 0)
        status = settings->given[OPT_PRINT] ? print(&shell) : open_shell(&shell);
    cairn_shell_free(shell.made);
    store_close(shell.store);
    release_asked(&shell);
    secrets_given_release(&shell.secrets);
    return status;
}
