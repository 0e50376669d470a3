/* SPDX-License-Identifier: MIT */
/* cairn shell: a shell, or a command, with what a task's attempt was given. */
#include "cli/commands/run_commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/shell/child.h"
#include "cli/shell/hidden.h"
#include "cli/shell/scratch.h"
#include "cli/ui.h"
#include "cli/unknown_task.h"

#include <string.h>

enum { SECRET_BYTES = 4096 }; /* a line of a terminal is no longer */

struct shell {
    struct settings *settings;
    struct cairn_store *store;
    uint64_t run;
    const char *task;
    struct secrets_given secrets;
    struct cairn_param *asked; /* values that were asked for, behind those given */
    size_t n_asked;
    struct cairn_shell_options options;
    struct cairn_shell *made;
};

static int read_operands(struct shell *shell)
{
    struct settings *settings = shell->settings;
    int n = settings->n_operands;
    shell->task = settings->operands[n - 1];
    if (settings->rest && !settings->rest[0])
        return report_usage("shell", "there is no command behind --");
    if (n == 2 && !operand_is_file(settings, 0) && !settings->rest &&
        settings->operands[0][strspn(settings->operands[0], "0123456789")] != '\0')
        return report_usage("shell",
                            "'%s' is not the number of a run; put -- before a command: "
                            "cairn shell '%s' -- %s",
                            settings->operands[0], settings->operands[0],
                            settings->operands[1]);
    if (n == 2 && !operand_is_file(settings, 0) &&
        !number_operand(settings, 0, &shell->run))
        return EXIT_USAGE;
    if (ui_json() && !settings->given[OPT_PRINT])
        return report_usage("shell",
                            "--json is for --print: what a command writes is its "
                            "own");
    return 0;
}

static int make(struct shell *shell)
{
    struct cairn_error error = {0};
    struct cairn_shell *made = NULL;
    if (cairn_shell(&made, shell->store, shell->run, shell->task, &shell->options,
                    &error) != 0 ||
        !made)
        return missing_task(shell->store, shell->run, shell->task, &error);
    cairn_shell_free(shell->made);
    shell->made = made;
    return 0;
}

/* ---- Secrets ---- */

static int report_missing(const struct shell *shell)
{
    char names[900] = "";
    size_t used = 0, n = 0;
    for (const char *const *name = shell->made->missing; *name; name++, n++)
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                     n > 0 ? ", " : "", *name);
    return report_failure(
        EXIT_USAGE, cairn_code_name(CAIRN_EUSAGE),
        "task %s needs the secret%s %s: set %s in the environment, or "
        "give %s with --secrets-fd",
        shell->task, plural(n), names, n == 1 ? "it" : "them", n == 1 ? "it" : "them");
}

/* A copy of the values that were given, with room for those that are missing. */
static int make_room(struct shell *shell)
{
    size_t n = shell->options.n_secrets;
    for (const char *const *name = shell->made->missing; *name; name++)
        n++;
    shell->asked = calloc(n + 1, sizeof *shell->asked);
    if (!shell->asked)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    for (size_t i = 0; i < shell->options.n_secrets; i++)
        shell->asked[i] = shell->options.secrets[i];
    return 0;
}

static bool ask(struct shell *shell, const char *name)
{
    char prompt[512], value[SECRET_BYTES];
    char *own_name = NULL, *own_value = NULL;
    snprintf(prompt, sizeof prompt, "secret %s of task %s: ", name, shell->task);
    if (hidden_read(prompt, value, sizeof value) && value[0] != '\0') {
        own_name = strdup(name);
        own_value = strdup(value);
    }
    explicit_bzero(value, sizeof value);
    if (!own_name || !own_value) {
        free(own_name);
        free(own_value);
        return false;
    }
    shell->asked[shell->options.n_secrets + shell->n_asked++] =
        (struct cairn_param){own_name, own_value};
    return true;
}

/* Those that were not given are asked for by name, on a terminal. */
static int complete_secrets(struct shell *shell)
{
    const char *const *name = shell->made->missing;
    int status;
    if (!*name)
        return 0;
    if (!ui_terminal(STDIN_FILENO) || !ui_terminal(STDERR_FILENO))
        return report_missing(shell);
    status = make_room(shell);
    for (; status == 0 && *name; name++)
        if (!ask(shell, *name))
            return report_missing(shell);
    if (status != 0)
        return status;
    shell->options.secrets = shell->asked;
    shell->options.n_secrets += shell->n_asked;
    return 0;
}

static void release_asked(struct shell *shell)
{
    size_t first = shell->options.n_secrets - shell->n_asked;
    if (shell->options.secrets != shell->asked)
        first = shell->options.n_secrets; /* it was given up while asking */
    for (size_t i = 0; shell->asked && i < shell->n_asked; i++) {
        char *value = (char *)(uintptr_t)shell->asked[first + i].value;
        explicit_bzero(value, strlen(value));
        free(value);
        free((char *)(uintptr_t)shell->asked[first + i].name);
    }
    free(shell->asked);
}

/* ---- What it is, for people ---- */

static void say_text(const char *text)
{
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        say_bytes("    ", text, n);
        text += n + (text[n] == '\n');
    }
}

/* The words as they can be typed; heap or NULL. */
static char *join_words(const char *const *words)
{
    char *line = strdup(""), *more, *word;
    for (; line && *words; words++) {
        word = shell_word(*words);
        if (!word || asprintf(&more, "%s%s%s", line, line[0] ? " " : "", word) < 0)
            more = NULL;
        free(word);
        free(line);
        line = more;
    }
    return line;
}

static void announce(const struct shell *shell)
{
    const struct cairn_shell *made = shell->made;
    char *words;
    if (ui_quiet() || shell->settings->rest)
        return;
    say("cairn: task %s of run %llu, attempt %u%s%s", made->task,
        (unsigned long long)made->run, made->attempt, made->directory[0] ? ", in " : "",
        made->directory);
    say("cairn: nothing that is done here is recorded; its command is:");
    words = made->text ? NULL : join_words(made->argv);
    say_text(made->text ? made->text : words ? words : "");
    free(words);
}

/* ---- Printing ---- */

static void add_list(struct doc *doc, const char *name, const char *const *list)
{
    doc_array(doc, name);
    for (; *list; list++)
        doc_text(doc, NULL, *list);
    doc_end(doc);
}

static void add_environment(struct doc *doc, const struct cairn_shell *made)
{
    doc_array(doc, "env");
    for (size_t i = 0; i < made->n_own; i++) {
        size_t n = strcspn(made->env[i], "=");
        doc_object(doc, NULL);
        doc_bytes(doc, "name", made->env[i], n);
        doc_text(doc, "value", made->env[i] + n + 1);
        doc_end(doc);
    }
    doc_end(doc);
}

static int print_document(const struct cairn_shell *made)
{
    struct doc doc;
    doc_begin(&doc);
    doc_count(&doc, "run", made->run);
    doc_text(&doc, "workflow", made->workflow);
    doc_text(&doc, "task", made->task);
    doc_count(&doc, "attempt", made->attempt);
    doc_count(&doc, "generation", made->generation);
    doc_text(&doc, "directory", made->directory[0] ? made->directory : NULL);
    doc_text(&doc, "text", made->text);
    add_list(&doc, "argv", made->argv);
    add_environment(&doc, made);
    add_list(&doc, "secrets", made->secrets);
    add_list(&doc, "missing", made->missing);
    add_list(&doc, "withheld", made->withheld);
    doc_text(&doc, "script", made->script);
    return doc_print(&doc);
}

static int print(struct shell *shell)
{
    const char *script;
    char *safe;
    size_t n;
    shell->options.shown = true;
    shell->options.command = (const char *const *)(uintptr_t)shell->settings->rest;
    int status = make(shell);
    if (status != 0)
        return status;
    if (ui_json())
        return print_document(shell->made);
    script = shell->made->script;
    n = strlen(script);
    if (!ui_terminal(STDOUT_FILENO)) {
        out_raw(script, n);
        return 0;
    }
    safe = malloc(n * ESCAPE_FACTOR + 1);
    if (safe)
        out_raw(safe, escape_text(safe, script, n));
    free(safe);
    return 0;
}

/* ---- Running ---- */

/* From here on the store is not needed: what is run may take hours. */
static int run(struct shell *shell)
{
    const char *own = getenv("SHELL");
    const char *argv[] = {own && own[0] != '\0' ? own : "/bin/sh", NULL};
    const char *const *rest = (const char *const *)(uintptr_t)shell->settings->rest;
    cairn_store_close(shell->store);
    shell->store = NULL;
    announce(shell);
    return child_run(shell->made->directory, rest ? rest : argv, shell->made->env);
}

/* It is made twice, so that there is nothing to be removed while somebody is asked. */
static int open_shell(struct shell *shell)
{
    struct scratch scratch = {.directory = ""};
    int status = make(shell);
    if (status == 0)
        status = complete_secrets(shell);
    if (status == 0)
        status = scratch_make(&scratch);
    if (status != 0)
        return status;
    shell->options.output = scratch.file;
    status = make(shell);
    shell->options.output = NULL;
    if (status == 0)
        status = run(shell);
    scratch_remove(&scratch);
    return status;
}

int command_shell(struct settings *settings)
{
    struct shell shell = {.settings = settings};
    struct cairn_run_options options = {0};
    int status = secrets_given_read(settings, &shell.secrets, &options);
    shell.options.attempt = (uint32_t)settings->number[OPT_ATTEMPT];
    shell.options.secrets = options.secrets;
    shell.options.n_secrets = options.n_secrets;
    if (status == 0)
        status = read_operands(&shell);
    if (status == 0)
        status = settings->n_operands == 2
                     ? open_run_number(settings, &shell.store, &shell.run)
                     : store_for_reading(settings, &shell.store);
    if (status == 0)
        status = settings->given[OPT_PRINT] ? print(&shell) : open_shell(&shell);
    cairn_shell_free(shell.made);
    cairn_store_close(shell.store);
    release_asked(&shell);
    secrets_given_release(&shell.secrets);
    return status;
}
