/* SPDX-License-Identifier: MIT */
#include "cli/suggest.h"

#include "base/str.h"
#include "cli/command.h"
#include "cli/format.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of the command line. */
static struct {
    const struct settings *settings;
    char store[PATH_MAX]; /* "" if --store or the search finds it */
} from;

void suggest_from(const struct settings *settings)
{
    from.settings = settings;
    from.store[0] = '\0';
}

/* ---- A store that has to be named ---- */

/* A search from here goes up through all directories above. */
static bool is_above(const char *store)
{
    char here[PATH_MAX];
    const char *slash = strrchr(store, '/');
    size_t n = slash ? (size_t)(slash - store) : 0;
    return getcwd(here, sizeof here) && n > 0 && strncmp(here, store, n) == 0 &&
           (here[n] == '/' || here[n] == '\0');
}

/* As short as the file was named, if that leads there. */
void suggest_store(const char *path, const char *file)
{
    char beside[PATH_MAX], *real;
    const char *slash = file ? strrchr(file, '/') : NULL;
    if (is_above(path))
        return;
    snprintf(from.store, sizeof from.store, "%s", path);
    if (!slash || snprintf(beside, sizeof beside, "%.*s/.cairn", (int)(slash - file),
                           file) >= (int)sizeof beside)
        return;
    real = realpath(beside, NULL);
    if (real && strcmp(real, path) == 0)
        snprintf(from.store, sizeof from.store, "%s", beside);
    free(real);
}

/* ---- Options behind a command ---- */

static bool has_word(const char *words, size_t n, const char *word)
{
    size_t m = strlen(word);
    for (size_t i = 0; i + m <= n; i = shell_behind(words, n, i))
        if (memcmp(words + i, word, m) == 0 && i > 0 && words[i - 1] == ' ' &&
            (i + m == n || words[i + m] == ' ' || words[i + m] == '='))
            return true;
    return false;
}

static void add_word(FILE *to, const char *before, const char *text)
{
    char *word = shell_word(text);
    if (word)
        fprintf(to, "%s%s", before, word);
    free(word);
}

static void add_store(FILE *to, const struct settings *settings)
{
    if (settings->given[OPT_STORE])
        add_word(to, " --store ", settings->text[OPT_STORE]);
    else if (from.store[0] != '\0')
        add_word(to, " --store ", from.store);
}

static void add_key(FILE *to, const struct settings *settings)
{
    if (settings->given[OPT_KEY])
        add_word(to, " --key ", settings->text[OPT_KEY]);
}

static void add_session(FILE *to, const struct settings *settings)
{
    if (settings->given[OPT_SESSION])
        add_word(to, " --session ", settings->text[OPT_SESSION]);
}

typedef void add_fn(FILE *to, const struct settings *settings);

static const char *make_hint(const struct settings *settings, char *hint, size_t size,
                             add_fn *first, add_fn *second)
{
    FILE *to = fmemopen(hint, size, "w");
    hint[0] = '\0';
    if (to && settings) {
        first(to, settings);
        second(to, settings);
    }
    if (to)
        fclose(to);
    return hint;
}

const char *store_hint(const struct settings *settings)
{
    static char hint[2 * 4 * PATH_MAX];
    return make_hint(settings, hint, sizeof hint, add_store, add_key);
}

const char *session_hint(void)
{
    static char hint[2 * 4 * PATH_MAX];
    return make_hint(from.settings, hint, sizeof hint, add_store, add_session);
}

/* ---- Commands in a text ---- */

/* The command that the words behind "cairn " begin with; the longest name counts. */
static const struct command *command_of(const char *words, size_t n)
{
    const struct command *found = NULL;
    char name[64];
    for (size_t at = 0; at < n && at < sizeof name; at++) {
        at += strcspn(words + at, " `");
        at = at < n ? at : n;
        if (at >= sizeof name)
            break;
        memcpy(name, words, at);
        name[at] = '\0';
        const struct command *command = command_find(name);
        found = command ? command : found;
    }
    return found;
}

static bool uses_store(const struct command *command)
{
    static const char *const without[] = {"init", "validate", "help", "version"};
    for (size_t i = 0; command && i < COUNT_OF(without); i++)
        if (strcmp(command->name, without[i]) == 0)
            return false;
    return command != NULL;
}

/* The words as they are, with the file in the place of FILE where it is known. */
static void put_words(FILE *to, const char *words, size_t n, const char *file)
{
    static const char place[] = " FILE";
    for (size_t i = 0, next; i < n; i = next) {
        size_t end = i + sizeof place - 1;
        bool found = file && end <= n &&
                     memcmp(words + i, place, sizeof place - 1) == 0 &&
                     (end == n || words[end] == ' ');
        next = found ? end : shell_behind(words, n, i);
        if (found)
            add_word(to, " ", file);
        else
            fwrite(words + i, 1, next - i, to);
    }
}

static void put_command(FILE *to, const char *words, size_t n)
{
    const struct settings *settings = from.settings;
    const struct command *command = command_of(words, n);
    size_t end = shell_options_end(words, n);
    if (!uses_store(command) || has_word(words, end, "--help")) {
        fwrite(words, 1, n, to);
        return;
    }
    put_words(to, words, end, settings->workflow_file);
    if (!has_word(words, end, "--store"))
        add_store(to, settings);
    if (command_takes(command, OPT_SESSION)) {
        if (!has_word(words, end, "--session"))
            add_session(to, settings);
    } else if (!has_word(words, end, "--key")) {
        add_key(to, settings);
    }
    fwrite(words + end, 1, n - end, to);
}

/* The backquote behind a command, or NULL. */
static const char *end_of_command(const char *words)
{
    size_t n = strlen(words), i = 0;
    while (i < n && words[i] != '`')
        i = shell_behind(words, n, i);
    return i < n ? words + i : NULL;
}

char *suggest_completed(const char *text)
{
    static const char begin[] = "`cairn ";
    const struct settings *settings = from.settings;
    const char *at, *end;
    char *made = NULL;
    size_t size = 0;
    if (!settings || !strstr(text, begin))
        return NULL;
    FILE *to = open_memstream(&made, &size);
    if (!to)
        return NULL;
    while ((at = strstr(text, begin)) &&
           (end = end_of_command(at + sizeof begin - 1))) {
        at += sizeof begin - 1;
        fwrite(text, 1, (size_t)(at - text), to);
        put_command(to, at, (size_t)(end - at));
        fputc('`', to);
        text = end + 1;
    }
    fputs(text, to);
    if (fclose(to) == 0)
        return made;
    free(made);
    return NULL;
}
