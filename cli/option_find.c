/* SPDX-License-Identifier: MIT */
/* Finding options by name, and messages about one that does not exist. */
#include "cli/command.h"
#include "cli/nearest.h"
#include "cli/report.h"

#include <string.h>

bool option_taken(const struct command *command, enum option_id id)
{
    return command ? command_takes(command, id) : id < OPT_GLOBALS || id == OPT_VERSION;
}

enum option_id option_find(const struct command *command, const char *name, size_t n)
{
    if (n == 4 && memcmp(name, "tags", n) == 0)
        n--; /* --tag, which takes several */
    for (int id = 0; id < OPT_NONE; id++) {
        if (option_taken(command, (enum option_id)id) &&
            strlen(option_get((enum option_id)id)->name) == n &&
            memcmp(option_get((enum option_id)id)->name, name, n) == 0)
            return (enum option_id)id;
    }
    return OPT_NONE;
}

/* Names from other programs. */
static const struct {
    const char *name, *option;
} synonyms[] = {{"parallel", "jobs"}, {"workers", "jobs"},  {"restart", "fresh"},
                {"force", "fresh"},   {"output", "stdout"}, {"directory", "store"}};

/* The first command that has the option; NULL if none has. */
static const struct command *first_with_option(const char *name)
{
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (option_find(command, name, strlen(name)) != OPT_NONE)
            return command;
    }
    return NULL;
}

/* The nearest option; a synonym counts as its option. */
static const char *nearest_option(const struct command *command, const char *word)
{
    const char *name;
    struct nearest nearest;
    nearest_init(&nearest, word);
    for (int id = 0; id < OPT_NONE; id++) {
        if (option_taken(command, (enum option_id)id))
            nearest_try(&nearest, option_get((enum option_id)id)->name);
    }
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
        name = synonyms[i].option;
        if (option_find(command, name, strlen(name)) != OPT_NONE)
            nearest_try(&nearest, synonyms[i].name);
    }
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
        if (nearest.best == synonyms[i].name)
            return synonyms[i].option;
    }
    return nearest.best;
}

int option_unknown(const struct command *command, const char *name, size_t n,
                   bool has_value)
{
    const struct command *owner;
    const char *best, *meant;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(n < 60 ? n : 60), name);
    meant = option_meant(command ? command->name : NULL, word);
    owner = first_with_option(word);
    if (command && command->most > 0 && memchr(name, ' ', n))
        report_usage(command->name,
                     "there is no option '--%s': a text that begins with a dash comes "
                     "behind --",
                     word);
    else if (command && meant)
        report_usage(command->name, "`cairn %s` has no option --%s: %s", command->name,
                     word, meant);
    else if (command && strcmp(word, "fresh") == 0)
        report_usage(
            command->name,
            "`cairn %s` has no option --fresh; to start over: cairn run --fresh "
            "FILE",
            command->name);
    else if (!command && owner)
        report_usage(NULL, "give the command before its options: cairn COMMAND --%s",
                     word);
    else if ((best = nearest_option(command, word)))
        report_usage(command ? command->name : NULL,
                     "there is no option --%s: did you mean --%s?", word, best);
    else if (has_value && command && !owner && command_takes(command, OPT_PARAM) &&
             command_takes(command, OPT_CHECK_OUTPUTS))
        report_usage(command->name,
                     "there is no option --%s; a parameter of the workflow is set with "
                     "--param %s=VALUE",
                     word, word);
    else
        report_usage(command ? command->name : NULL, "there is no option --%s", word);
    return ARGUMENT_REFUSED;
}
