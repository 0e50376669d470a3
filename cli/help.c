/* SPDX-License-Identifier: MIT */
/* Help, made from the tables of commands and of options. */
#include "cli/help.h"

#include "base/str.h"
#include "cli/command.h"
#include "cli/exit_status.h"
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
        for (size_t i = 0; i < COUNT_OF(statuses); i++) {
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

static void print_summary(FILE *to, const char *name, const char *summary)
{
    fprintf(to, "  %-23s %s\n", name, summary);
}

static void print_members(FILE *to, const char *group)
{
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++)
        if (is_of_group(command, group))
            print_summary(to, command->name, command->summary);
}

static void print_groups(FILE *to, bool all)
{
    const struct command_group *group;
    char name[64], names[512] = "checkpoint";
    for (size_t i = 0; (group = command_group_at(i)) && !all; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, ", %s", group->name);
    }
    if (!all) {
        fputs("\nDebugging sessions (`cairn GROUP --help`):\n  ", to);
        print_wrapped(to, names, 2);
        return;
    }
    fputs("\ndebugging sessions (`cairn GROUP --help` lists the commands of each):\n",
          to);
    for (size_t i = 0; (group = command_group_at(i)); i++) {
        snprintf(name, sizeof name, "%s COMMAND", group->name);
        print_summary(to, name, group->summary);
    }
}

/* ---- The overview ---- */

/* Names with commas behind them. What stands in no row belongs to the last one. */
static const struct topic {
    const char *heading, *daily, *others;
} topics[] = {
    {"Run a workflow", "init,run,resume,plan,rerun,undo,",
     "add,cancel,validate,resolve,clean,"},
    {"See what happens, and why", "status,log,explain,",
     "watch,web,runs,events,values,diff,artifact list,artifact "
     "get,whence,graph,shell,stats,"
     "search,"},
    {"Steps that people or agents do", "next,complete,", "claim,renew,fail,"},
    {"Checkpoints, and the store", "checkpoint create,checkpoint restore,", ""},
};
#define TOPICS COUNT_OF(topics)

static bool is_listed(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = names; *at; at += strcspn(at, ",") + 1)
        if (strncmp(at, name, n) == 0 && at[n] == ',')
            return true;
    return false;
}

static bool is_of_topic(size_t topic, const struct command *command)
{
    bool listed = false;
    for (size_t i = 0; i < TOPICS; i++) {
        bool here = is_listed(topics[i].daily, command->name) ||
                    is_listed(topics[i].others, command->name);
        if (here && i == topic)
            return true;
        listed = listed || here;
    }
    return topic == TOPICS - 1 && !listed && !command_group_of(command->name);
}

/* The daily commands first; of the others the names, unless all are wanted. */
static void print_topic(FILE *to, size_t topic, bool all)
{
    const struct command *command;
    const char *names = topics[topic].daily;
    char name[64], others[1024] = "also: ";
    fprintf(to, "\n%s:\n", topics[topic].heading);
    for (size_t n; *names; names += n + 1) {
        n = strcspn(names, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, names);
        if ((command = command_find(name)))
            print_summary(to, command->name, command->summary);
    }
    for (size_t i = 0; (command = command_at(i)); i++) {
        size_t used = strlen(others);
        if (!is_of_topic(topic, command) ||
            is_listed(topics[topic].daily, command->name))
            continue;
        if (all)
            print_summary(to, command->name, command->summary);
        else if (!strchr(command->name, ' '))
            snprintf(others + used, sizeof others - used, "%s%s",
                     others[used - 1] == ' ' ? "" : ", ", command->name);
    }
    if (!all) {
        fputs("  ", to);
        print_wrapped(to, others, 2);
    }
}

void help_overview(FILE *to, bool all)
{
    fputs("usage: cairn COMMAND [OPERAND]... [OPTION]...\n\n"
          "Runs a graph of tasks and records a durable checkpoint after every task, "
          "so\n"
          "that a run that was killed continues where it stopped.\n\n",
          to);
    fputs(all ? "commands:\n" : "`cairn help all` lists all commands.\n", to);
    for (size_t i = 0; i < TOPICS; i++)
        print_topic(to, i, all);
    print_groups(to, all);
    fputs("\noptions of every command:\n", to);
    for (int id = 0; id < OPT_GLOBALS; id++)
        print_option(to, (enum option_id)id);
    fputs(
        "\nEXAMPLE\n  cairn run build.yaml     stop it with Ctrl-C, or kill it, then\n"
        "  cairn resume             continue with what is left\n",
        to);
    if (all) {
        fputs("\nexit status:\n", to);
        print_statuses(to, "0 1 2 3 4 5 6 7 8 9 10 75");
    }
    fputs("\nFor details: `cairn COMMAND --help` or `man cairn`.\n", to);
}

void help_group(FILE *to, const char *group)
{
    const struct command_group *info = command_group_of(group);
    fprintf(to, "usage: cairn %s COMMAND [OPERAND]... [OPTION]...\n\n", group);
    if (info)
        fprintf(to, "%s: %s\n\n", info->name, info->summary);
    fputs("commands:\n", to);
    print_members(to, group);
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

/* The commands of groups that have this word behind the group's, with quotes and "or"
 * between them; NULL: there is none, or more than a few. */
static const char *within_groups(const char *word)
{
    enum { FEW = 3 };
    static char found[FEW * 48];
    const struct command *command;
    size_t n = 0, used = 0;
    for (size_t i = 0; (command = command_at(i)); i++) {
        const char *space = strchr(command->name, ' ');
        if (!space || strcmp(space + 1, word) != 0)
            continue;
        if (n++ == FEW)
            return NULL;
        used += (size_t)snprintf(found + used, sizeof found - used, "%s%s",
                                 n > 1 ? "` or `cairn " : "", command->name);
    }
    return n > 0 ? found : NULL;
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
    const char *meant = within_groups(words);
    char group[64] = "";
    if (theirs)
        return report_usage(NULL, "there is no command '%s': %s", words, theirs);
    if (is_workflow_file(words))
        return report_usage(NULL,
                            "there is no command '%s': to run that file: cairn run %s",
                            words, words);
    if (!meant)
        meant = verb_meant(words) ?: begins_with(words) ?: nearest_command(words);
    if (space)
        snprintf(group, sizeof group, "%.*s", (int)(space - words), words);
    return report_usage(group[0] ? group : NULL, "there is no command '%s'%s%s%s",
                        words, meant ? ": did you mean `cairn " : "",
                        meant ? meant : "", meant ? "`?" : "");
}
