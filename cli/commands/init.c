/* SPDX-License-Identifier: MIT */
/* cairn init, help, version. */
#include "cli/commands/commands.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/help.h"
#include "cli/json.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* cairn init: a starter workflow that runs as it is. It creates the file or fails, and
 * never overwrites one. Lines of the starter that begin with # and a key are valid
 * without the # (tests/cli/t-init.sh removes it). */

#define DEFAULT_FILE "cairn.yaml"
#define NAME_MAX_BYTES 64

static const char head[] =
    "# A workflow for cairn: a graph of tasks that can be stopped or killed, and then\n"
    "# continues where it was.\n"
    "#\n"
    "#   cairn validate          is this file valid?\n"
    "#   cairn plan              what would run, and why?\n"
    "#   cairn run               run it; after a failure or a crash, continue it\n"
    "#   cairn status --tasks    what is done; cairn log TASK prints a task's output\n"
    "#\n"
    "# (Each of the first three takes a file name; the default is cairn.yaml here.)\n"
    "# Lines that begin with # and a key are optional: remove the # to use them.\n"
    "# All keys are described in docs/workflow-file.md, and for editors in\n"
    "# docs/workflow.schema.json; both are installed in PREFIX/share/doc/cairn.\n"
    "\n"
    "# The runs of this workflow are found by its name.\n";

static const char body[] =
    "\n"
    "# Set with `cairn run --param greeting=Hi`. Other values start another run.\n"
    "params: {greeting: Hello}\n"
    "\n"
    "#env: {LC_ALL: C}             # for every task\n"
    "#secrets: [API_TOKEN]         # from the environment, for tasks that list them\n"
    "# Texts are for sh -eu. bash also sees failures inside of a pipe, which sh "
    "cannot:\n"
    "# `bash` is [bash, -euo, pipefail, -c]. It must be installed.\n"
    "#defaults: {timeout: 10m, shell: bash}   # for tasks without their own\n"
    "#jobs: 4                      # tasks at a time; default: the processors\n"
    "#pools: {net: 2}              # at most 2 tasks of the pool `net` at a time\n"
    "#deadline: 6h                 # for the whole run\n"
    "#on_failure: continue         # stop (the default), cancel, continue or undo\n"
    "#on_crash: adopt              # running tasks outlive cairn; default: kill\n"
    "\n"
    "tasks:\n"
    "  # `run` is text for the shell. It is never rewritten: values come as\n"
    "  # environment variables.\n"
    "  prepare:\n"
    "    run: |\n"
    "      mkdir -p work\n"
    "      echo \"$greeting\" >work/greeting.txt\n"
    "    # Must exist afterwards. If it is missing later, the task runs again.\n"
    "    outputs: [work/greeting.txt]\n"
    "#    inputs: [settings.ini]    # if its content changes, the task runs again\n"
    "#    retries: {max: 3, delay: 1s, factor: 2}\n"
    "#    timeout: {after: 2m, grace: 5s}\n"
    "#    secrets: [API_TOKEN]\n"
    "#    check: test -s work/greeting.txt    # a gate: must succeed\n"
    "#    undo: rm -f work/greeting.txt       # for on_failure: undo and cairn undo\n"
    "#    once: true                # interrupted: not run again without a decision\n"
    "\n"
    "  # A group: one task for each value, greet[who=Ada] and so on.\n"
    "  greet:\n"
    "    foreach: {who: [Ada, Edsger, Grace]}\n"
    "    needs: [prepare]\n"
    "    run: echo \"$(cat work/greeting.txt), $who!\" >\"work/$who.txt\"\n"
    "    outputs: [\"work/${{ who }}.txt\"]\n"
    "#    pool: net\n"
    "#    priority: 1               # of ready tasks, higher ones start first\n"
    "\n"
    "  # `exec` is a command with its arguments, without a shell. ${{ }} is replaced.\n"
    "  # Needing a group means waiting for all of its tasks.\n"
    "  collect:\n"
    "    needs: [greet]\n"
    "    exec: [sort, -o, work/all.txt, work/Ada.txt, work/Edsger.txt, "
    "work/Grace.txt]\n"
    "    outputs: [work/all.txt]\n"
    "#    if: params.greeting != ''  # false: the task is skipped\n"
    "#    when: always               # success (the default), failed or always\n"
    "\n"
    "# Done by a person or another program: cairn next, claim, complete, fail.\n"
    "#  approve:\n"
    "#    needs: [collect]\n"
    "#    external: Read work/all.txt and approve it\n"
    "\n"
    "# At the end, after success and after failure.\n"
    "#finally:\n"
    "#  report:\n"
    "#    run: echo \"the run has $CAIRN_RUN_STATUS\"\n";

/* The directory that contains the file, on the heap; NULL with errno. */
static char *directory_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    char *directory = !slash          ? strdup(".")
                      : slash == file ? strdup("/")
                                      : strndup(file, (size_t)(slash - file));
    char *full = directory ? realpath(directory, NULL) : NULL;
    int saved = errno;
    free(directory);
    errno = saved;
    return full;
}

/* A name for the workflow that needs no escapes in double quotes, made from the name of
 * the directory. */
static void name_after(const char *directory, char name[NAME_MAX_BYTES])
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_.-";
    const char *slash = strrchr(directory, '/');
    const char *from = slash ? slash + 1 : directory;
    snprintf(name, NAME_MAX_BYTES, "%s", from[0] != '\0' ? from : "workflow");
    for (char *at = name; *at != '\0'; at++) {
        if (!strchr(allowed, *at))
            *at = '-';
    }
}

static bool write_starter_text(int fd, const char *name)
{
    FILE *file = fdopen(fd, "w");
    bool written;
    if (!file) {
        close(fd);
        return false;
    }
    written = fputs(head, file) >= 0 && fprintf(file, "name: \"%s\"\n", name) > 0 &&
              fputs(body, file) >= 0 && fflush(file) == 0 && fsync(fd) == 0;
    return fclose(file) == 0 && written;
}

/* Reports why the file could not be made, by errno. */
static int report_write_failure(const char *file)
{
    int reason = errno;
    if (reason == EEXIST)
        return report_usage("init",
                            "%s already exists and was not changed; name another file: "
                            "`cairn init FILE`",
                            file);
    if (reason == ENOENT || reason == ENOTDIR)
        return report_failure(
            EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
            "cannot write %s: there is no such directory; create it first", file);
    return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO),
                          "cannot write %s: %s", file, strerror(reason));
}

static int write_starter(const char *file, char name[NAME_MAX_BYTES])
{
    char *directory = directory_of(file);
    int fd, reason;
    if (!directory)
        return report_write_failure(file);
    name_after(directory, name);
    free(directory);
    fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return report_write_failure(file);
    if (write_starter_text(fd, name))
        return 0;
    reason = errno;
    unlink(file);
    errno = reason;
    return report_write_failure(file);
}

static int print_document(const char *file, const char *name)
{
    struct doc doc;
    doc_begin(&doc);
    doc_text(&doc, "file", file);
    doc_text(&doc, "workflow", name);
    doc_count(&doc, "bytes",
              sizeof head + sizeof body - 2 + strlen("name: \"\"\n") + strlen(name));
    return doc_print(&doc);
}

static int print_text(const char *file, const char *name)
{
    char *operand = file_operand(file);
    out("%s: wrote the workflow %s\n", file, name);
    if (operand)
        say("cairn: next: cairn plan%s, then cairn run%s", operand, operand);
    free(operand);
    return 0;
}

int command_init(struct settings *settings)
{
    const char *file = settings->n_operands > 0 ? settings->operands[0] : DEFAULT_FILE;
    char name[NAME_MAX_BYTES] = "";
    int status;
    if (file[0] == '\0' || file[strlen(file) - 1] == '/')
        return report_usage("init", "'%s' is not the name of a file", file);
    status = write_starter(file, name);
    if (status == 0)
        status = ui_json() ? print_document(file, name) : print_text(file, name);
    return status;
}

/* cairn help: the same text as --help, or as JSON. */

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

/* cairn version. */

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
