/* SPDX-License-Identifier: MIT */
/* Opening stores, runs and workflows for the commands. */
#include "cli/open.h"

#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_FILE "cairn.yaml"

const char *store_path(const struct settings *settings)
{
    const char *path = getenv("CAIRN_STORE");
    if (settings->given[OPT_STORE])
        return settings->text[OPT_STORE];
    return path && path[0] != '\0' ? path : NULL;
}

const char *key_path(const struct settings *settings)
{
    const char *path = getenv("CAIRN_KEY");
    if (settings->given[OPT_KEY])
        return settings->text[OPT_KEY];
    return path && path[0] != '\0' ? path : NULL;
}

const char *run_hint(const struct settings *settings, const struct cairn_run_info *run)
{
    static char hint[2 * 4 * PATH_MAX + 12];
    snprintf(hint, sizeof hint, "%s%s", store_hint(settings),
             run->keyed && !key_path(settings) ? " --key FILE" : "");
    return hint;
}

/* ---- Where things are ---- */

/* DIR/.cairn of the directory of a workflow file, on the heap; NULL: there is none, or
 * no memory. */
static char *store_beside(const char *file)
{
    char *path = realpath(file, NULL), *beside = NULL;
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash) {
        slash[slash == path] = '\0';
        if (asprintf(&beside, "%s/.cairn", path[1] != '\0' ? path : "") < 0)
            beside = NULL;
    }
    free(path);
    return beside;
}

static bool is_own_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* What is no number is a workflow file, if there is one. */
static void expect_file(struct settings *settings, int n)
{
    const char *text = settings->n_operands > n ? settings->operands[n] : "";
    if (strspn(text, "0123456789") < strlen(text))
        settings->workflow_file = text;
}

static void print_notice(void *context, const char *text)
{
    (void)context;
    ui_warn("%s", text);
}

void store_listen(struct cairn_store *store)
{
    cairn_store_on_notice(store, print_notice, NULL);
}

static int open_store_at(struct settings *settings, struct cairn_store **store,
                         const char *path, bool found, bool read_only,
                         struct cairn_error *error)
{
    struct cairn_store_options options = {
        .path = path,
        .found = found,
        .read_only = read_only,
        .sync = (enum cairn_sync)settings->number[OPT_SYNC],
        .key_file = key_path(settings),
    };
    int rc = cairn_store_open(store, &options, error);
    if (rc == 0)
        store_listen(*store);
    return rc;
}

/* The store that is named, or that of this directory or one above; else, if a workflow
 * file is named, the one beside it. */
static int open_store(struct settings *settings, struct cairn_store **store,
                      bool read_only, struct cairn_error *error)
{
    const char *named = store_path(settings), *file = settings->workflow_file;
    int rc = open_store_at(settings, store, named, false, read_only, error);
    if (rc != CAIRN_ENOTFOUND || named || !file)
        return rc;
    char *beside = store_beside(file);
    if (beside && is_own_directory(beside))
        rc = open_store_at(settings, store, beside, true, read_only, error);
    if (rc == 0)
        suggest_store(cairn_store_path(*store), file);
    free(beside);
    return rc;
}

/* Where somebody else would not look for it. */
static void say_store_above(const struct settings *settings,
                            const struct cairn_store *store)
{
    char *here = realpath(".cairn", NULL);
    char *beside =
        settings->workflow_file ? store_beside(settings->workflow_file) : NULL;
    const char *path = cairn_store_path(store);
    if (!store_path(settings) && !(here && strcmp(here, path) == 0) &&
        !(beside && strcmp(beside, path) == 0))
        say("cairn: using the store %s", path);
    free(here);
    free(beside);
}

void say_store_made(const struct cairn_store *store)
{
    const char *path = cairn_store_path(store);
    struct stat st;
    say("cairn: created a store in %s", path);
    if (stat(path, &st) == 0 && st.st_uid != geteuid())
        ui_warn("%s belongs to another user (uid %ld), who can read and change all of "
                "it",
                path, (long)st.st_uid);
}

/* The key is not needed for what is read here. */
static struct cairn_store *store_of_secrets(const struct settings *settings)
{
    enum { BRIEFLY_MS = 1000 };
    struct cairn_store *store = NULL;
    struct cairn_error none = {0};
    struct cairn_store_options options = {
        .path = settings->store ? settings->store : store_path(settings),
        .read_only = true,
        .lock_wait_ms = BRIEFLY_MS};
    int rc = cairn_store_open(&store, &options, &none);
    char *beside = rc == CAIRN_ENOTFOUND && !options.path && settings->workflow_file
                       ? store_beside(settings->workflow_file)
                       : NULL;
    if (beside) {
        options.path = beside;
        options.found = true;
        rc = cairn_store_open(&store, &options, &none);
    }
    free(beside);
    return rc == 0 ? store : NULL;
}

char *mask_secrets(void *context, const char *text)
{
    struct cairn_store *store = store_of_secrets(context);
    struct cairn_error none = {0};
    char *masked = NULL;
    int rc = cairn_masked(store, text, &masked, &none);
    cairn_store_close(store);
    if (rc != 0 && rc != CAIRN_ENOMEM) /* of a store that is damaged nothing is known */
        (void)cairn_masked(NULL, text, &masked, &none);
    return masked;
}

int store_for_reading(struct settings *settings, struct cairn_store **store)
{
    struct cairn_error error = {0};
    if (open_store(settings, store, true, &error) != 0)
        return report_error(&error);
    return 0;
}

int store_if_any(struct settings *settings, int n, struct cairn_store **store)
{
    struct cairn_error error = {0};
    expect_file(settings, n);
    *store = NULL;
    if (open_store(settings, store, true, &error) == 0 || error.code == CAIRN_ENOTFOUND)
        return 0;
    return report_error(&error);
}

int store_for_writing(struct settings *settings, struct cairn_store **store,
                      bool create)
{
    struct cairn_error error = {0};
    struct cairn_store_options options = {
        .path = store_path(settings),
        .create = true,
        .sync = (enum cairn_sync)settings->number[OPT_SYNC],
        .key_file = key_path(settings),
    };
    if (!settings->workflow_file)
        expect_file(settings, 0);
    int rc = open_store(settings, store, false, &error);
    if (rc == 0 && create)
        say_store_above(settings, *store);
    if (rc == CAIRN_ENOTFOUND && create) {
        /* An empty directory .cairn here says that the store is to be here. */
        bool here = options.path || is_own_directory(".cairn");
        char *beside = here || !settings->workflow_file
                           ? NULL
                           : store_beside(settings->workflow_file);
        if (beside) {
            options.path = beside;
            options.found = true;
        }
        rc = cairn_store_open(store, &options, &error);
        if (rc == 0 && beside)
            suggest_store(cairn_store_path(*store), settings->workflow_file);
        if (rc == 0)
            store_listen(*store);
        if (rc == 0)
            say_store_made(*store);
        free(beside);
    }
    return rc == 0 ? 0 : report_error(&error);
}

void store_forget(struct cairn_store *store)
{
    struct cairn_error error = {0};
    if (cairn_search_forget(store, &error) != 0)
        ui_warn("what was deleted may still be in %s/search.db, the index of `cairn "
                "search`, which can be removed: %s",
                cairn_store_path(store), error.text);
}

static int get_run(struct cairn_store *store, uint64_t run, struct cairn_run_info *info)
{
    struct cairn_error error = {0};
    if (cairn_run_get(store, run, info, &error) != 0)
        return report_error(&error);
    return 0;
}

/* The newest run of one file. */
struct of_file {
    const char *file;
    uint64_t run;
};

static int match_file(void *context, const struct cairn_run_info *info)
{
    struct of_file *of = context;
    if (strcmp(info->file, of->file) != 0)
        return 0;
    of->run = info->run;
    return 1;
}

int newest_run_of(struct cairn_store *store, const char *file, uint64_t *run)
{
    struct cairn_error error = {0};
    struct cairn_page every = {.all = true};
    char *resolved = realpath(file, NULL);
    struct of_file of = {.file = resolved ? resolved : file};
    int rc = cairn_runs(store, NULL, &every, match_file, &of, NULL, &error);
    free(resolved);
    *run = of.run;
    return rc == 0 ? 0 : report_error(&error);
}

int run_number(const struct settings *settings, int n, struct cairn_store *store,
               uint64_t *run)
{
    *run = 0;
    if (settings->n_operands <= n)
        return 0;
    if (!operand_is_file(settings, n))
        return number_operand(settings, n, run) ? 0 : EXIT_USAGE;
    const char *file = settings->operands[n];
    int status = newest_run_of(store, file, run);
    if (status != 0 || *run != 0)
        return status;
    char *word = shell_word(file);
    status = report_failure(EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
                            "%s has no run yet; to start one: `cairn run %s`", file,
                            word ? word : "FILE");
    free(word);
    return status;
}

int run_operand(struct settings *settings, int n, struct cairn_store *store,
                struct cairn_run_info *info)
{
    uint64_t run = 0;
    int status = run_number(settings, n, store, &run);
    return status == 0 ? get_run(store, run, info) : status;
}

int open_run_number(struct settings *settings, struct cairn_store **store,
                    uint64_t *run)
{
    expect_file(settings, 0);
    int status = store_for_reading(settings, store);
    return status == 0 ? run_number(settings, 0, *store, run) : status;
}

int open_run(struct settings *settings, struct cairn_store **store,
             struct cairn_run_info *info)
{
    uint64_t run = 0;
    int status = open_run_number(settings, store, &run);
    return status == 0 ? get_run(*store, run, info) : status;
}

int run_option(struct settings *settings, struct cairn_store *store,
               struct cairn_run_info *info)
{
    return get_run(store, settings->given[OPT_RUN] ? settings->number[OPT_RUN] : 0,
                   info);
}

static int find_task(void *context, const struct cairn_task_info *task)
{
    const char *name = *(const char *const *)context;
    if (strcmp(task->id, name) != 0)
        return 0;
    *(const char **)context = NULL;
    return 1;
}

/* The n-th operand is the number of a run, and no task of the newest one. */
static bool is_run(const struct settings *settings, int n, struct cairn_store *store)
{
    const char *name = settings->operands[n];
    return operand_may_be_run(settings, n) &&
           cairn_run_tasks(store, 0, find_task, &name, NULL) == 0 && name;
}

void run_among_tasks(struct settings *settings, struct cairn_store *store)
{
    int last = settings->n_operands - 1;
    if (is_run(settings, 0, store))
        operand_as_run(settings);
    else if (last > 0 && is_run(settings, last, store)) {
        operand_to_front(settings, last);
        operand_as_run(settings);
    }
}

void print_warnings(const struct cairn_workflow *workflow)
{
    const char *text;
    for (size_t i = 0; (text = cairn_workflow_warning(workflow, i)); i++)
        ui_warn("warning: %s", text);
}

static int load_file(struct settings *settings, const char *file,
                     struct cairn_workflow **workflow)
{
    struct cairn_error error = {0};
    if (cairn_workflow_load(workflow, file, settings->params, settings->n_params,
                            &error) != 0)
        return report_mistakes(file, settings->params, settings->n_params, &error);
    return 0;
}

/* DEFAULT_FILE in this directory or one above, as the store is found; one above only
 * if the user owns it, as it will be run. *file points to `found`. */
static bool find_default_file(char *found, size_t size, const char **file)
{
    struct stat st;
    char *here = getcwd(NULL, 0);
    size_t used = 0;
    *file = DEFAULT_FILE;
    if (access(DEFAULT_FILE, F_OK) == 0 || errno != ENOENT) { /* loading reports why */
        free(here);
        return true;
    }
    for (char *slash = here ? strrchr(here, '/') : NULL; slash && slash[1] != '\0';
         slash = strrchr(here, '/')) {
        *slash = '\0';
        used += (size_t)snprintf(found + used, size - used, "../");
        if (used + sizeof DEFAULT_FILE > size)
            break;
        memcpy(found + used, DEFAULT_FILE, sizeof DEFAULT_FILE);
        if (stat(found, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid()) {
            *file = found;
            break;
        }
        if (here[0] == '\0')
            break;
    }
    free(here);
    return *file == found;
}

bool default_workflow_exists(void)
{
    char found[PATH_MAX];
    const char *file;
    return find_default_file(found, sizeof found, &file);
}

int workflow_operand(struct settings *settings, const char *command, int n,
                     struct cairn_workflow **workflow, const char **file)
{
    static char found[PATH_MAX];
    if (settings->n_operands > n)
        *file = settings->operands[n];
    else if (!find_default_file(found, sizeof found, file))
        return report_usage(
            command,
            "no workflow file: name one (`cairn %s FILE`), or create " DEFAULT_FILE
            " in this directory (`cairn init`)",
            command);
    if (*file == found)
        say("cairn: the workflow file is %s", found);
    settings->workflow_file = *file;
    return load_file(settings, *file, workflow);
}

static int load_of_run(struct settings *settings, const char *command,
                       struct cairn_store *store, uint64_t run,
                       struct cairn_workflow **workflow)
{
    struct cairn_error error = {0};
    bool from_file = true;
    if (settings->n_params > 0)
        return report_usage(command,
                            "--param needs a FILE: a run has its own parameters");
    if (cairn_workflow_of_run(workflow, store, run, &from_file, &error) != 0)
        return report_error(&error);
    struct cairn_run_info info = {0};
    if (!from_file && (cairn_run_look(store, run, &info, NULL) || info.file[0]))
        say("cairn: the workflow's file is gone; using the definition stored with run "
            "%llu",
            (unsigned long long)run);
    return 0;
}

static int require_store(struct cairn_store *store)
{
    if (store)
        return 0;
    return report_failure(
        EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
        "there is no store here or above; `cairn run FILE` creates one, "
        "--store names one");
}

static int target_checkpoint(struct settings *settings, const char *command,
                             struct cairn_store *store,
                             struct cairn_workflow **workflow,
                             struct cairn_run_options *options)
{
    struct cairn_checkpoint_info info = {0};
    struct cairn_error error = {0};
    int status = require_store(store);
    if (status != 0)
        return status;
    if (cairn_checkpoint_get(store, settings->text[OPT_FROM], &info, &error) != 0)
        return report_error(&error);
    options->start = CAIRN_START_FROM;
    options->from = settings->text[OPT_FROM];
    return load_of_run(settings, command, store, info.run, workflow);
}

static int target_run(struct settings *settings, const char *command,
                      struct cairn_store *store, struct cairn_workflow **workflow,
                      struct cairn_run_options *options)
{
    struct cairn_run_info info;
    int status = require_store(store);
    if (status == 0)
        status = run_option(settings, store, &info);
    if (status != 0)
        return status;
    options->start = CAIRN_START_RESUME;
    options->run = info.run;
    return load_of_run(settings, command, store, info.run, workflow);
}

int workflow_target(struct settings *settings, const char *command, int n,
                    struct cairn_store *store, struct cairn_workflow **workflow,
                    struct cairn_run_options *options)
{
    bool file = settings->n_operands > n;
    bool run = settings->given[OPT_RUN], from = settings->given[OPT_FROM];
    struct cairn_run_info newest = {0};
    const char *name;
    if (file + run + from > 1)
        return report_usage(command, "give only one of FILE, --run and --from");
    if (settings->given[OPT_FRESH] && (run || from))
        return report_usage(command, "--fresh needs a FILE");
    if (from)
        return target_checkpoint(settings, command, store, workflow, options);
    if (run)
        return target_run(settings, command, store, workflow, options);
    if (settings->given[OPT_FRESH])
        options->start = CAIRN_START_FRESH;
    else if (!file && settings->n_params == 0 && store &&
             cairn_run_get(store, 0, &newest, NULL) != CAIRN_ENOTFOUND)
        return target_run(settings, command, store, workflow, options);
    return workflow_operand(settings, command, n, workflow, &name);
}
