/* SPDX-License-Identifier: MIT */
/* Help, made from the tables of commands and of options. */
#include "cli/help.h"

#include "cli/exit_status.h"
#include "cli/nearest.h"
#include "cli/report.h"

#include <string.h>

#define COLUMN 30
#define WIDTH 80

static const struct {
    int status;
    const char *meaning;
} statuses[] = {
    {0, "done, or nothing to do"},
    {EXIT_TASK_FAILED, "a task failed"},
    {EXIT_USAGE, "wrong usage"},
    {EXIT_WORKFLOW, "the workflow is invalid"},
    {EXIT_CHANGED, "the definition changed and --on-change=refuse was given"},
    {EXIT_DAMAGED, "the store, or a record in it, is damaged"},
    {EXIT_OWNED, "another run owns the workflow"},
    {EXIT_STOPPED, "stopped with work left"},
    {EXIT_UNKNOWN, "the outcome of a task is unknown and needs a decision"},
    {EXIT_UNSAVED, "done, but some checkpoints could not be saved"},
    {EXIT_NOT_FOUND,
     "not found: a file, store, run, task, checkpoint, session or item"},
    {EXIT_SYSTEM, "the system refused (a lock wait ran out, disk full, no permission)"},
    {EXIT_NOT_EXECUTABLE, "the command cannot be executed"},
    {EXIT_NO_PROGRAM, "there is no such command"},
};

/* Prints text wrapped, from `column` on, where the cursor already is. */
static void print_wrapped(FILE *to, const char *text, int column)
{
    int at = column;
    while (*text != '\0') {
        int n = (int)strcspn(text, " ");
        if (at > column && at + 1 + n > WIDTH) {
            fprintf(to, "\n%*s", column, "");
            at = column;
        } else if (at > column) {
            fputc(' ', to);
            at++;
        }
        fprintf(to, "%.*s", n, text);
        at += n;
        text += n;
        while (*text == ' ')
            text++;
    }
    fputc('\n', to);
}

static void print_option(FILE *to, enum option_id id)
{
    const struct option *option = option_get(id);
    char left[128], letter[8] = "";
    bool choice = option->kind == OPTION_CHOICE;
    if (option->letter != 0)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name,
             !option->value ? ""
             : choice       ? "="
                            : " ",
             !option->value ? "" : option->value);
    if (strlen(left) < COLUMN - 1)
        fprintf(to, "%-*s", COLUMN, left);
    else
        fprintf(to, "%s\n%*s", left, COLUMN, "");
    print_wrapped(to, option->help, COLUMN);
}

static void print_statuses(FILE *to, const char *exits)
{
    char *rest;
    for (const char *at = exits; *at != '\0'; at = *rest ? rest + 1 : rest) {
        long status = strtol(at, &rest, 10);
        for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
            if (statuses[i].status == status)
                fprintf(to, " %3ld  %s\n", status, statuses[i].meaning);
        }
    }
}

void help_command(FILE *to, const struct command *command)
{
    const char *options = " [OPTION]...", *none = "";
    bool first = command_takes_rest(command); /* behind `--` they would be CMD's */
    fprintf(to, "usage: cairn %s%s%s%s%s\n\n", command->name, first ? options : none,
            command->operands[0] ? " " : "", command->operands, first ? none : options);
    print_wrapped(to, command->details, 0);
    fputs("\noptions:\n", to);
    for (size_t i = 0; command->options[i] != OPT_NONE; i++)
        print_option(to, command->options[i]);
    for (int id = 0; id < OPT_GLOBALS; id++)
        print_option(to, (enum option_id)id);
    fprintf(to, "\nEXAMPLE\n%s\n\nexit status:\n", command->example);
    print_statuses(to, command->exits);
}

static bool is_of_group(const struct command *command, const char *group)
{
    size_t n = strlen(group);
    return strncmp(command->name, group, n) == 0 && command->name[n] == ' ';
}

/* With `group` its commands, else those that belong to no group of the tables. */
static void print_summaries(FILE *to, const char *group)
{
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (group ? is_of_group(command, group) : !command_group_of(command->name))
            fprintf(to, "  %-23s %s\n", command->name, command->summary);
    }
}

static void print_groups(FILE *to)
{
    const struct command_group *group;
    char name[64];
    fputs("\ndebugging sessions (`cairn GROUP --help` lists the commands of each):\n",
          to);
    for (size_t i = 0; (group = command_group_at(i)); i++) {
        snprintf(name, sizeof name, "%s COMMAND", group->name);
        fprintf(to, "  %-23s %s\n", name, group->summary);
    }
}

void help_all(FILE *to)
{
    fputs("usage: cairn COMMAND [OPERAND]... [OPTION]...\n\n"
          "Runs a graph of tasks and records a durable checkpoint after every task, "
          "so\n"
          "that a run that was killed continues where it stopped.\n\ncommands:\n",
          to);
    print_summaries(to, NULL);
    print_groups(to);
    fputs("\noptions of every command:\n", to);
    for (int id = 0; id < OPT_GLOBALS; id++)
        print_option(to, (enum option_id)id);
    fputs(
        "\nEXAMPLE\n  cairn run build.yaml     stop it with Ctrl-C, or kill it, then\n"
        "  cairn resume             continue with what is left\n\nexit status:\n",
        to);
    print_statuses(to, "0 1 2 3 4 5 6 7 8 9 10 75");
    fputs("\nFor details: `cairn COMMAND --help` or `man cairn`.\n", to);
}

void help_group(FILE *to, const char *group)
{
    const struct command_group *info = command_group_of(group);
    fprintf(to, "usage: cairn %s COMMAND [OPERAND]... [OPTION]...\n\n", group);
    if (info)
        fprintf(to, "%s: %s\n\n", info->name, info->summary);
    fputs("commands:\n", to);
    print_summaries(to, group);
    fprintf(to, "\nFor details: `cairn %s COMMAND --help`.\n", group);
}

/* The first command or group that begins with the words. */
static const char *begins_with(const char *words)
{
    const struct command *command;
    const struct command_group *group;
    size_t n = strlen(words);
    if (n < 2)
        return NULL;
    for (size_t i = 0; (group = command_group_at(i)); i++)
        if (strncmp(group->name, words, n) == 0)
            return group->name;
    for (size_t i = 0; (command = command_at(i)); i++)
        if (strncmp(command->name, words, n) == 0)
            return strchr(words, ' ') || !strchr(command->name, ' ') ? command->name
                                                                     : "checkpoint";
    return NULL;
}

/* The one command of a group that has this word behind the group's; NULL: there is
 * none, or several. */
static const char *within_group(const char *word)
{
    const struct command *command;
    const char *found = NULL;
    for (size_t i = 0; (command = command_at(i)); i++) {
        const char *space = strchr(command->name, ' ');
        if (!space || strcmp(space + 1, word) != 0)
            continue;
        if (found)
            return NULL;
        found = command->name;
    }
    return found;
}

static const char *nearest_command(const char *words)
{
    const struct command *command;
    const struct command_group *group;
    struct nearest nearest;
    nearest_init(&nearest, words);
    nearest_try(&nearest, "checkpoint");
    for (size_t i = 0; (group = command_group_at(i)); i++)
        nearest_try(&nearest, group->name);
    for (size_t i = 0; (command = command_at(i)); i++)
        nearest_try(&nearest, command->name);
    return nearest.best;
}

static bool is_workflow_file(const char *word)
{
    const char *end = strrchr(word, '.');
    return end && (strcmp(end, ".yaml") == 0 || strcmp(end, ".yml") == 0);
}

int help_unknown(const char *words)
{
    const char *space = strchr(words, ' ');
    const char *theirs = command_meant(words);
    const char *meant = within_group(words);
    char group[64] = "";
    if (theirs)
        return report_usage(NULL, "there is no command '%s': %s", words, theirs);
    if (is_workflow_file(words))
        return report_usage(NULL,
                            "there is no command '%s': to run that file: cairn run %s",
                            words, words);
    if (!meant)
        meant = verb_meant(words);
    if (!meant)
        meant = begins_with(words);
    if (!meant)
        meant = nearest_command(words);
    if (space)
        snprintf(group, sizeof group, "%.*s", (int)(space - words), words);
    return report_usage(group[0] ? group : NULL, "there is no command '%s'%s%s%s",
                        words, meant ? ": did you mean `cairn " : "",
                        meant ? meant : "", meant ? "`?" : "");
}
