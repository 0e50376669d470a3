/* SPDX-License-Identifier: MIT */
/* Help, made from the table of commands and the catalogue of options. */
#include "cli/command.h"
#include "cli/json.h"
#include "cli/ui.h"

#include <string.h>

#define COLUMN 30
#define WIDTH 80

static const struct {
    int status;
    const char *meaning;
} statuses[] = {
    {0, "done, or nothing to do"},
    {1, "a task failed"},
    {2, "wrong usage"},
    {3, "the workflow is invalid"},
    {4, "the definition changed and --on-change=refuse was given"},
    {5, "the store, or a record in it, is damaged"},
    {6, "another run owns the workflow"},
    {7, "stopped with work left"},
    {8, "the outcome of a task is unknown and needs a decision"},
    {9, "done, but some checkpoints could not be saved"},
    {10, "not found: a file, store, run, task or checkpoint"},
    {75, "the system refused (a lock wait ran out, disk full, no permission)"},
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
                fprintf(to, "  %2ld  %s\n", status, statuses[i].meaning);
        }
    }
}

void help_command(FILE *to, const struct command *command)
{
    fprintf(to, "usage: cairn %s%s%s [OPTION]...\n\n", command->name,
            command->operands[0] ? " " : "", command->operands);
    print_wrapped(to, command->details, 0);
    fputs("\noptions:\n", to);
    for (size_t i = 0; command->options[i] != OPT_NONE; i++)
        print_option(to, command->options[i]);
    for (int id = 0; id < OPT_GLOBALS; id++)
        print_option(to, (enum option_id)id);
    fprintf(to, "\nEXAMPLE\n%s\n\nexit status:\n", command->example);
    print_statuses(to, command->exits);
}

static void print_summaries(FILE *to, const char *group)
{
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (!group || strncmp(command->name, group, strlen(group)) == 0)
            fprintf(to, "  %-21s %s\n", command->name, command->summary);
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
    fputs("\noptions of every command:\n", to);
    for (int id = 0; id < OPT_GLOBALS; id++)
        print_option(to, (enum option_id)id);
    fputs(
        "\nEXAMPLE\n  cairn run build.yaml     stop it with Ctrl-C, or kill it, then\n"
        "  cairn resume             continue with what is left\n\nexit status:\n",
        to);
    print_statuses(to, "0 1 2 3 4 5 6 7 8 9 10 75");
    fputs("\n`cairn COMMAND --help` tells more, `man cairn` everything.\n", to);
}

void help_group(FILE *to, const char *group)
{
    fprintf(to, "usage: cairn %s COMMAND [OPERAND]... [OPTION]...\n\ncommands:\n",
            group);
    print_summaries(to, group);
    fprintf(to, "\n`cairn %s COMMAND --help` tells more.\n", group);
}

int help_unknown(const char *words)
{
    const struct command *command;
    struct nearest nearest;
    const char *space = strchr(words, ' ');
    char group[64] = "";
    nearest_init(&nearest, words);
    nearest_try(&nearest, "checkpoint");
    for (size_t i = 0; (command = command_at(i)); i++)
        nearest_try(&nearest, command->name);
    if (space)
        snprintf(group, sizeof group, "%.*s", (int)(space - words), words);
    return ui_usage(group[0] ? group : NULL, "there is no command '%s'%s%s%s", words,
                    nearest.best ? ": did you mean `cairn " : "",
                    nearest.best ? nearest.best : "", nearest.best ? "`?" : "");
}

static void describe_option(struct doc *doc, enum option_id id)
{
    const struct option *option = option_get(id);
    char letter[2] = {option->letter, '\0'};
    doc_object(doc, NULL);
    doc_text(doc, "name", option->name);
    doc_text(doc, "letter", letter[0] ? letter : NULL);
    doc_text(doc, "value", option->value);
    doc_text(doc, "help", option->help);
    doc_end(doc);
}

static void describe_command(struct doc *doc, const struct command *command)
{
    doc_object(doc, NULL);
    doc_text(doc, "name", command->name);
    doc_text(doc, "operands", command->operands);
    doc_text(doc, "summary", command->summary);
    doc_array(doc, "options");
    for (size_t i = 0; command->options[i] != OPT_NONE; i++)
        describe_option(doc, command->options[i]);
    for (int id = 0; id < OPT_GLOBALS; id++)
        describe_option(doc, (enum option_id)id);
    doc_end(doc);
    doc_end(doc);
}

static int help_document(const struct command *only)
{
    const struct command *command;
    struct doc doc;
    doc_begin(&doc);
    doc_array(&doc, "commands");
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (!only || only == command)
            describe_command(&doc, command);
    }
    return doc_print(&doc);
}

int command_help(struct settings *settings)
{
    const struct command *command = NULL;
    char words[128] = "";
    for (int i = 0; i < settings->n_operands; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s%.60s",
                 i > 0 ? " " : "", settings->operands[i]);
    if (words[0] != '\0') {
        command = command_find(words);
        if (!command && !command_is_group(words))
            return help_unknown(words);
    }
    if (ui_json())
        return help_document(command);
    if (command)
        help_command(stdout, command);
    else if (words[0] != '\0')
        help_group(stdout, words);
    else
        help_all(stdout);
    return 0;
}

int command_version(struct settings *settings)
{
    struct doc doc;
    (void)settings;
    if (!ui_json()) {
        out("cairn %s\n", cairn_version());
        return 0;
    }
    doc_begin(&doc);
    doc_text(&doc, "version", cairn_version());
    return doc_print(&doc);
}
