/* SPDX-License-Identifier: MIT */
/* Finding options by name, and messages about one that does not exist. */
#include "cli/options.h"

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/report.h"
#include "cli/ui.h"

#include "base/words.h"
#include "cairn.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPTION_SIZE_LIMIT ((uint64_t)1 << 50)
/* What the functions that take arguments return after they printed what is wrong. */
#define ARGUMENT_REFUSED (-1)

/* Whether the command takes the option; NULL: whether it may stand before one. */
static bool option_taken(const struct command *command, enum option_id id)
{
    return command ? command_takes(command, id) : id < OPT_GLOBALS || id == OPT_VERSION;
}

/* The command's option with this long name (n bytes), or OPT_NONE. */
static enum option_id option_find(const struct command *command, const char *name,
                                  size_t n)
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
    for (size_t i = 0; i < COUNT_OF(synonyms); i++) {
        name = synonyms[i].option;
        if (option_find(command, name, strlen(name)) != OPT_NONE)
            nearest_try(&nearest, synonyms[i].name);
    }
    for (size_t i = 0; i < COUNT_OF(synonyms); i++) {
        if (nearest.best == synonyms[i].name)
            return synonyms[i].option;
    }
    return nearest.best;
}

/* Reports that there is no such option, with the nearest; ARGUMENT_REFUSED.
 * `has_value`: the argument that follows may be its value, so that it may be meant for
 * a parameter. */
static int option_unknown(const struct command *command, const char *name, size_t n,
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
                     "there is no option '--%s': a text that begins with a dash goes "
                     "after --",
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

/* The parser of options. Options may stand after operands, `--` ends
 * them, a value follows `=` or is the next argument whatever it looks like. Long names
 * are not abbreviated: a script must not change its meaning when an option is added. */

void settings_init(struct settings *settings)
{
    memset(settings, 0, sizeof *settings);
    for (int id = 0; id < OPT_NONE; id++)
        settings->number[id] = option_get((enum option_id)id)->initial;
}

void settings_release(struct settings *settings)
{
    for (size_t i = 0; i < settings->n_params; i++)
        free((void *)(uintptr_t)settings->params[i].name);
    free(settings->params);
    settings->params = NULL;
    settings->n_params = 0;
}

static bool is_digits(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

bool number_operand(const struct settings *settings, int n, uint64_t *out)
{
    const char *text = settings->operands[n];
    const struct command *command = command_find(settings->command);
    if (str_to_u64(str_of(text), out) && *out >= 1 && *out <= INT64_MAX)
        return true;
    bool path = strpbrk(text, "/.");
    char *word = shell_word(text);
    if (is_digits(text))
        report_usage(settings->command,
                     "'%s' is not the number of a run: numbers start at 1", text);
    else if (strstr(command->operands, "TASK"))
        report_usage(settings->command,
                     "'%s' is neither the number of a run nor a workflow file: cairn "
                     "%s %s",
                     text, command->name, command->operands);
    else
        report_usage(settings->command,
                     "'%s' is neither the number of a run nor a workflow file%s%s",
                     text, word && !path ? "; for a task: cairn explain " : "",
                     word && !path ? word : "");
    free(word);
    return false;
}

static bool parse_time(const char *text, uint64_t *out)
{
    int64_t ms;
    if (!str_to_duration_ms(str_of(text), &ms))
        return false;
    *out = (uint64_t)ms;
    return true;
}

/* Finds `text` among the words of "a|b|c". */
static bool parse_choice(const char *words, const char *text, uint64_t *out)
{
    uint64_t index = 0;
    for (const char *word = words; word; index++) {
        const char *bar = strchr(word, '|');
        size_t n = bar ? (size_t)(bar - word) : strlen(word);
        if (strlen(text) == n && memcmp(word, text, n) == 0) {
            *out = index;
            return true;
        }
        word = bar ? bar + 1 : NULL;
    }
    return false;
}

/* Adds a parameter; one that was given before is replaced. */
static bool add_pair(struct settings *settings, const char *text)
{
    const char *equals = strchr(text, '=');
    struct cairn_param *params;
    size_t i, n = settings->n_params;
    char *copy;
    if (!equals || equals == text)
        return false;
    copy = strdup(text);
    params = copy ? realloc(settings->params, (n + 1) * sizeof *params) : NULL;
    if (!params) {
        free(copy);
        ui_warn("out of memory");
        exit(EXIT_SYSTEM);
    }
    settings->params = params;
    copy[equals - text] = '\0';
    for (i = 0; i < n && strcmp(params[i].name, copy) != 0; i++)
        ;
    if (i < n)
        free((void *)(uintptr_t)params[i].name);
    else
        settings->n_params = n + 1;
    params[i].name = copy;
    params[i].value = copy + (equals - text) + 1;
    return true;
}

/* Adds the words between commas. */
static bool add_words(struct settings *settings, const char *text)
{
    for (const char *end = text;; text = end + 1) {
        size_t n = settings->n_params;
        struct cairn_param *params =
            realloc(settings->params, (n + 1) * sizeof *params);
        end = text + strcspn(text, ",");
        char *copy = params && end > text ? strndup(text, (size_t)(end - text)) : NULL;
        if (params)
            settings->params = params;
        if (params && end == text)
            return false;
        if (!copy) {
            ui_warn("out of memory");
            exit(EXIT_SYSTEM);
        }
        params[n] = (struct cairn_param){.name = copy, .value = ""};
        settings->n_params = n + 1;
        if (*end == '\0')
            return true;
    }
}

/* A limit in the largest unit that has it whole. */
static const char *format_limit(char out[32], uint64_t ms)
{
    static const struct {
        uint64_t ms;
        const char *name;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
    size_t i = 0;
    while (ms % units[i].ms != 0)
        i++;
    snprintf(out, 32, "%llu%s", (unsigned long long)(ms / units[i].ms),
             ms == 0 ? "s" : units[i].name);
    return out;
}

static int report_bad_time(const char *name, const struct option *option,
                           const char *text)
{
    char low[32], high[32];
    return report_usage(name,
                        "--%s cannot be '%s': give a time like 30s, 10m or 1h30m, from "
                        "%s to %s",
                        option->name, text, format_limit(low, option->low),
                        format_limit(high, option->high));
}

static int report_bad_value(const struct command *command, const struct option *option,
                            const char *text)
{
    const char *name = command ? command->name : NULL;
    if (option->kind == OPTION_CHOICE)
        return report_usage(name, "--%s cannot be '%s': give one of %s", option->name,
                            text, option->value);
    if (option->kind == OPTION_SIZE)
        return report_usage(
            name,
            "--%s cannot be '%s': give bytes, or a size like 64K or 10M, at most %lluM",
            option->name, text, (unsigned long long)option->high >> 20);
    if (option->kind == OPTION_TIME)
        return report_bad_time(name, option, text);
    if (option->kind == OPTION_PAIR)
        return report_usage(name, "--%s needs NAME=VALUE, not '%s'", option->name,
                            text);
    if (option->kind == OPTION_WORDS)
        return report_usage(name, "--%s needs words with commas between them, not '%s'",
                            option->name, text);
    return report_usage(name, "--%s cannot be '%s': give a number from %llu to %llu",
                        option->name, text, (unsigned long long)option->low,
                        (unsigned long long)option->high);
}

static bool take_value(struct settings *settings, enum option_id id, const char *text)
{
    const struct option *option = option_get(id);
    uint64_t *number = &settings->number[id];
    settings->given[id] = true;
    settings->text[id] = text;
    switch (option->kind) {
    case OPTION_TEXT:
        return true;
    case OPTION_NUMBER:
        return str_to_u64(str_of(text), number) && *number >= option->low &&
               *number <= option->high;
    case OPTION_SIZE:
        return str_to_bytes(str_of(text), OPTION_SIZE_LIMIT, number) &&
               *number >= option->low && *number <= option->high;
    case OPTION_TIME:
        return parse_time(text, number) && *number >= option->low &&
               *number <= option->high;
    case OPTION_CHOICE:
        return parse_choice(option->value, text, number);
    case OPTION_PAIR:
        return add_pair(settings, text);
    case OPTION_WORDS:
        return add_words(settings, text);
    case OPTION_FLAG: /* has no value */
        break;
    }
    return false;
}

static enum option_id find_short(const struct command *command, char letter)
{
    for (int id = 0; id < OPT_NONE; id++) {
        if (option_taken(command, (enum option_id)id) && letter != '\0' &&
            option_get((enum option_id)id)->letter == letter)
            return (enum option_id)id;
    }
    return OPT_NONE;
}

/* One option with its value; returns how many arguments it used, or
 * ARGUMENT_REFUSED. `attached` is
 * a value in the same argument, or NULL. */
static int take_option(struct settings *settings, const struct command *command,
                       enum option_id id, const char *attached, const char *next)
{
    const struct option *option = option_get(id);
    const char *name = command ? command->name : NULL;
    const char *text = attached ? attached : next;
    if (option->kind == OPTION_FLAG) {
        if (attached) {
            report_usage(name, "--%s takes no value", option->name);
            return ARGUMENT_REFUSED;
        }
        settings->given[id] = true;
        settings->number[id]++;
        return 1;
    }
    if (!text) {
        report_usage(name, "--%s needs a value: %s", option->name, option->value);
        return ARGUMENT_REFUSED;
    }
    if (!take_value(settings, id, text)) {
        report_bad_value(command, option, text);
        return ARGUMENT_REFUSED;
    }
    return attached ? 1 : 2;
}

static int take_long(struct settings *settings, const struct command *command,
                     const char *argument, const char *next)
{
    const char *name = argument + 2;
    const char *equals = strchr(name, '=');
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    enum option_id id = option_find(command, name, n);
    if (id == OPT_NONE)
        return option_unknown(command, name, n, equals || (next && *next != '-'));
    return take_option(settings, command, id, equals ? equals + 1 : NULL, next);
}

static int take_short(struct settings *settings, const struct command *command,
                      const char *argument, const char *next)
{
    for (const char *letter = argument + 1; *letter != '\0'; letter++) {
        enum option_id id = find_short(command, *letter);
        if (id == OPT_NONE) {
            const char *name = command ? command->name : NULL;
            const char *meant = option_meant(name, (char[]){*letter, '\0'});
            bool text = command && command->most > 0 && strchr(argument, ' ');
            bool file = command && command->most > 0 && access(argument, F_OK) == 0;
            report_usage(name, "there is no option -%c%s%s", *letter,
                         text || file || meant ? ": " : "",
                         text    ? "a text that begins with a dash goes after --"
                         : file  ? "a file whose name begins with a dash goes after --"
                         : meant ? meant
                                 : "");
            return ARGUMENT_REFUSED;
        }
        if (option_get((enum option_id)id)->kind != OPTION_FLAG)
            return take_option(settings, command, id, letter[1] ? letter + 1 : NULL,
                               next);
        settings->given[id] = true;
        settings->number[id]++;
    }
    return 1;
}

/* NAME=VALUE as make takes it; a member of a group has its keys in brackets. */
static bool is_param(const struct command *command, const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_";
    size_t n = strspn(text, letters);
    return command_takes(command, OPT_PARAM) && n > 0 && text[n] == '=' &&
           access(text, F_OK) != 0;
}

static int take_operand(struct settings *settings, const struct command *command,
                        const char *text)
{
    if (is_param(command, text)) {
        char *word = shell_word(text);
        report_usage(command->name,
                     "'%s' is not an operand; a parameter of the workflow is set with "
                     "--param %s",
                     text, word ? word : "NAME=VALUE");
        free(word);
        return ARGUMENT_REFUSED;
    }
    if (settings->n_operands == OPERANDS_MAX) {
        report_usage(command->name, "takes at most %d operands", OPERANDS_MAX);
        return ARGUMENT_REFUSED;
    }
    if (settings->n_operands == command->most) {
        report_usage(command->name, "unexpected operand '%s'%s", text,
                     command_takes_rest(command) ? ": put -- before the command" : "");
        return ARGUMENT_REFUSED;
    }
    settings->operands[settings->n_operands++] = text;
    return 1;
}

/* ---- The number of a run, as an operand or as --run ---- */

static bool is_number(const char *text)
{
    return text[0] >= '1' && text[0] <= '9' && text[strspn(text, "0123456789")] == '\0';
}

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* --run N in the place of the operand RUN. */
static int run_as_operand(struct settings *settings, const struct command *command)
{
    int n = settings->n_operands++;
    if (n == command->most) {
        report_usage(command->name, "give the number of the run only once");
        return ARGUMENT_REFUSED;
    }
    memmove(settings->operands + 1, settings->operands,
            (size_t)n * sizeof *settings->operands);
    settings->operands[0] = settings->text[OPT_RUN];
    settings->given[OPT_RUN] = false;
    return 0;
}

void operand_to_front(struct settings *settings, int n)
{
    const char *text = settings->operands[n];
    memmove(settings->operands + 1, settings->operands,
            (size_t)n * sizeof *settings->operands);
    settings->operands[0] = text;
}

void operand_as_run(struct settings *settings)
{
    take_value(settings, OPT_RUN, settings->operands[0]);
    settings->n_operands--;
    memmove(settings->operands, settings->operands + 1,
            (size_t)settings->n_operands * sizeof *settings->operands);
    settings->operands[settings->n_operands] = NULL;
}

bool operand_may_be_run(const struct settings *settings, int n)
{
    return settings->n_operands > n && !settings->given[OPT_RUN] &&
           is_number(settings->operands[n]) && strlen(settings->operands[n]) < 19 &&
           access(settings->operands[n], F_OK) != 0;
}

bool operand_is_file(const struct settings *settings, int n)
{
    struct stat st;
    return settings->n_operands > n && !is_digits(settings->operands[n]) &&
           stat(settings->operands[n], &st) == 0 && !S_ISDIR(st.st_mode);
}

/* The only number behind a task, as in `claim review 3`; 0: there is none. */
static int run_behind(const struct settings *settings)
{
    int found = 0;
    for (int i = 1; i < settings->n_operands; i++)
        if (operand_may_be_run(settings, i)) {
            if (found != 0)
                return 0;
            found = i;
        }
    return found != 0 && !is_digits(settings->operands[0]) ? found : 0;
}

/* Commands take both; what may be a task's name is left to the command. */
static int settle_run(struct settings *settings, const struct command *command)
{
    const char *operands = command->operands;
    bool first = begins_with(operands, "RUN") || begins_with(operands, "[RUN]");
    bool one = begins_with(operands, "RUN") || begins_with(operands, "[RUN] TASK") ||
               begins_with(operands, "TASK [FILE]") ||
               begins_with(operands, "[TASK [NAME]]");
    int behind = 0;
    if (first && settings->given[OPT_RUN])
        return run_as_operand(settings, command);
    if (one && !(first && operand_is_file(settings, 0)))
        behind = run_behind(settings);
    operand_to_front(settings, behind);
    if (behind != 0 && !first)
        operand_as_run(settings);
    if (!command_takes(command, OPT_RUN) || first || !operand_may_be_run(settings, 0))
        return 0;
    if (begins_with(operands, "[FILE]") ||
        (begins_with(operands, "TASK [FILE]") && settings->n_operands > 1 &&
         access(settings->operands[1], F_OK) != 0))
        operand_as_run(settings);
    return 0;
}

int settings_parse(struct settings *settings, const struct command *command, int argc,
                   char **argv)
{
    bool only_operands = false;
    int i = 0;
    while (i < argc) {
        const char *argument = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
        bool operand = only_operands || argument[0] != '-' || argument[1] == '\0';
        int used = 1;
        if (operand && !command)
            break;
        if (operand)
            used = take_operand(settings, command, argument);
        else if (command && strcmp(argument, "--") == 0 &&
                 command_takes_rest(command)) {
            settings->rest = argv + i + 1;
            i = argc;
            break;
        } else if (strcmp(argument, "--") == 0)
            only_operands = true;
        else if (argument[1] == '-')
            used = take_long(settings, command, argument, next);
        else
            used = take_short(settings, command, argument, next);
        if (used < 0)
            return ARGUMENT_REFUSED;
        i += used;
    }
    if (command && settle_run(settings, command) < 0)
        return ARGUMENT_REFUSED;
    return i;
}
