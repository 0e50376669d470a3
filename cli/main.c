/* SPDX-License-Identifier: MIT */
/* The command `cairn`: as the first process of a container it collects what is left to
 * it; then it finds the command in the table, parses its options, calls it. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/help.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Names the first process to the second one; tasks never see it, as all CAIRN_*. */
static const char first_variable[] = "CAIRN_FIRST_PROCESS";

static bool inherits_orphans(void)
{
    int subreaper = 0;
    return getpid() == 1 ||
           (prctl(PR_GET_CHILD_SUBREAPER, &subreaper) == 0 && subreaper);
}

/* The second process ends with the first one, as the run would if there was one only.
 */
static void follow_first(void)
{
    const char *first = getenv(first_variable);
    char parent[24];
    if (!first)
        return;
    snprintf(parent, sizeof parent, "%ld", (long)getppid());
    if (strcmp(first, parent) == 0)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    unsetenv(first_variable);
}

static bool start_second(char **argv, const sigset_t *mask, pid_t *second)
{
    posix_spawnattr_t attributes;
    char first[24];
    snprintf(first, sizeof first, "%ld", (long)getpid());
    if (setenv(first_variable, first, 1) < 0 || posix_spawnattr_init(&attributes) != 0)
        return false;
    (void)posix_spawnattr_setsigmask(&attributes, mask);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int sys = posix_spawn(second, "/proc/self/exe", NULL, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    return sys == 0;
}

/* True: the second process is among those that have ended. */
static bool collect_ended(pid_t second, int *status)
{
    bool ended = false;
    int how;
    pid_t pid;
    while ((pid = waitpid(-1, &how, WNOHANG | WUNTRACED)) > 0) {
        if (WIFSTOPPED(how)) {
            if (pid == second) /* the shell must see its job stop */
                (void)raise(SIGSTOP);
        } else if (pid == second) {
            *status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
            ended = true;
        }
    }
    return ended;
}

/* What a terminal sends it sends to both: a second SIGINT would mean something else. */
static void pass_on(pid_t second, const siginfo_t *info)
{
    if (info->si_code != SI_KERNEL && info->si_signo != SIGCONT)
        (void)kill(second, info->si_signo);
}

/* To be called first, with the arguments of main. False: this process carries the
 * command out. True: another one did, and *status is its exit status. */
static bool first_process(char **argv, int *status)
{
    sigset_t all, before;
    siginfo_t info;
    pid_t second;
    follow_first();
    if (!inherits_orphans())
        return false;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    if (!start_second(argv, &before,
                      &second)) { /* no /proc: alone, as well as it goes */
        unsetenv(first_variable);
        sigprocmask(SIG_SETMASK, &before, NULL);
        return false;
    }
    for (;;) {
        if (sigwaitinfo(&all, &info) < 0)
            continue;
        if (info.si_signo != SIGCHLD)
            pass_on(second, &info);
        else if (collect_ended(second, status))
            return true;
    }
}

/* The command `cairn`: finds the command in the table, parses its options, calls it. */

static int show_help(const struct command *command, const char *group)
{
    if (command)
        help_command(stdout, command);
    else if (group)
        help_group(stdout, group);
    else
        help_overview(stdout, false);
    return 0;
}

static int run_found(struct settings *settings, const struct command *command, int argc,
                     char **argv)
{
    settings->command = command->name;
    if (settings_parse(settings, command, argc, argv) < 0)
        return EXIT_USAGE;
    ui_configure(settings->given[OPT_JSON], settings->given[OPT_QUIET]);
    if (settings->given[OPT_HELP])
        return show_help(command, NULL);
    if (settings->n_operands < command->least)
        return report_usage(command->name, "an operand is missing: cairn %s %s",
                            command->name, command->operands);
    int status = command->function(settings);
    if (settings->hooks)
        hooks_run_and_close(settings->store);
    else
        store_close(settings->store);
    return status;
}

/* An agent takes status 2 of its hook for a refusal: even wrong options give it none.
 */
static int run_command(struct settings *settings, const struct command *command,
                       int argc, char **argv)
{
    int status = run_found(settings, command, argc, argv);
    return command->function == command_session_hook ? 0 : status;
}

/* Before the options are parsed: if --json is given anywhere, errors of parsing are
 * documents, too, and --store has the secrets that are not printed. */
static void expect_options(struct settings *settings, int argc, char **argv)
{
    bool json = false;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        json = json || strcmp(argv[i], "--json") == 0;
        if (strncmp(argv[i], "--store=", 8) == 0)
            settings->store_named = argv[i] + 8;
        else if (strcmp(argv[i], "--store") == 0 && i + 1 < argc)
            settings->store_named = argv[i + 1];
    }
    ui_configure(json, false);
}

/* The words of the command come before its options; global options may come between. */
static int run_command_line(struct settings *settings, int argc, char **argv)
{
    char words[128] = "";
    expect_options(settings, argc, argv);
    for (int i = 0;;) {
        int used = settings_parse(settings, NULL, argc - i, argv + i);
        const struct command *command;
        if (used < 0)
            return EXIT_USAGE;
        i += used;
        if (settings->given[OPT_HELP])
            return show_help(NULL, words[0] != '\0' ? words : NULL);
        if (settings->given[OPT_VERSION])
            return command_version(settings);
        if (i == argc && ui_json())
            return report_usage(words[0] != '\0' ? words : NULL, "no command is given");
        if (i == argc) {
            if (words[0] == '\0')
                help_overview(stderr, false);
            else
                help_group(stderr, words);
            fflush(stderr);
            return EXIT_USAGE;
        }
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s%.60s",
                 words[0] != '\0' ? " " : "", argv[i++]);
        command = command_find(words);
        if (command)
            return run_command(settings, command, argc - i, argv + i);
        if (!command_is_group(words))
            return help_unknown(words);
    }
}

static int carry_out(int argc, char **argv)
{
    struct settings settings;
    settings_init(&settings);
    suggest_from(&settings);
    ui_mask_by(mask_secrets, &settings);
    int status = ui_end(run_command_line(&settings, argc > 0 ? argc - 1 : 0, argv + 1));
    suggest_from(NULL);
    ui_mask_by(NULL, NULL);
    unfinished_restores_of(NULL);
    session_forget_fork();
    settings_release(&settings);
    return status;
}

int main(int argc, char **argv)
{
    int status = 0, control;
    if (first_process(argv, &status))
        return status;
    /* What is made here must be open to its owner: a umask of 0777 would lock them out
     * of their own store. */
    mode_t mask = umask(077);
    umask(mask & ~(mode_t)0700);
    control = worker_control(argc, argv);
    ui_start();
    command_use(&command_tables);
    return control >= 0 ? worker_run(control, carry_out) : carry_out(argc, argv);
}
