/* SPDX-License-Identifier: MIT */
/* Finding commands in the tables that main hands over. So only main knows the commands,
 * and the commands may use everything here. */
#include "cli/command.h"

#include <string.h>

static const struct command_tables *used;

void command_use(const struct command_tables *tables)
{
    used = tables;
}

const struct command *command_at(size_t i)
{
    size_t parts = sizeof used->parts / sizeof used->parts[0];
    for (size_t at = 0; at < parts && used->parts[at]; at++) {
        const struct command_part *part = used->parts[at];
        if (i < part->n)
            return &part->table[i];
        i -= part->n;
    }
    return NULL;
}

const struct command_group *command_group_at(size_t i)
{
    return i < used->n_groups ? &used->groups[i] : NULL;
}

const struct command_group *command_group_of(const char *words)
{
    const struct command_group *group;
    for (size_t i = 0; (group = command_group_at(i)); i++) {
        size_t n = strlen(group->name);
        if (strncmp(words, group->name, n) == 0 &&
            (words[n] == '\0' || words[n] == ' '))
            return group;
    }
    return NULL;
}

const struct command *command_find(const char *words)
{
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (strcmp(command->name, words) == 0)
            return command;
    }
    return NULL;
}

bool command_is_group(const char *word)
{
    const struct command *command;
    size_t n = strlen(word);
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (strncmp(command->name, word, n) == 0 && command->name[n] == ' ')
            return true;
    }
    return false;
}

bool command_takes_rest(const struct command *command)
{
    return strstr(command->operands, "-- ") != NULL;
}

bool command_takes(const struct command *command, enum option_id id)
{
    if (id < OPT_GLOBALS)
        return true;
    for (size_t i = 0; command->options[i] != OPT_NONE; i++) {
        if (command->options[i] == id)
            return true;
    }
    return false;
}
