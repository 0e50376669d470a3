/* SPDX-License-Identifier: MIT */
/* Finding commands in the table that main hands over. So only main knows the commands,
 * and the commands may use everything here. */
#include "cli/command.h"

#include <string.h>

static struct {
    const struct command *table;
    size_t n;
} used;

void command_use(const struct command *table, size_t n)
{
    used.table = table;
    used.n = n;
}

const struct command *command_at(size_t i)
{
    return i < used.n ? &used.table[i] : NULL;
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
