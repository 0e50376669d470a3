/* SPDX-License-Identifier: MIT */
/* cairn help: the same text as --help, or as JSON. */
#include "cli/help.h"

#include "cli/commands/store_commands.h"
#include "cli/json.h"
#include "cli/ui.h"

#include <string.h>

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

/* One command, those of a group ("checkpoint"), or, if that is "", all. */
static int help_document(const struct command *only, const char *group)
{
    size_t n = strlen(group);
    const struct command *command;
    struct doc doc;
    doc_begin(&doc);
    doc_array(&doc, "commands");
    for (size_t i = 0; (command = command_at(i)); i++) {
        bool within = n == 0 || (strncmp(command->name, group, n) == 0 &&
                                 command->name[n] == ' ');
        if (only ? only == command : within)
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
    bool all = strcmp(words, "all") == 0;
    if (all)
        words[0] = '\0';
    if (words[0] != '\0') {
        command = command_find(words);
        if (!command && !command_is_group(words))
            return help_unknown(words);
    }
    if (ui_json())
        return help_document(command, words);
    if (command)
        help_command(stdout, command);
    else if (words[0] != '\0')
        help_group(stdout, words);
    else
        help_overview(stdout, all);
    return 0;
}
