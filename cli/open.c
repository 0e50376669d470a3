/* SPDX-License-Identifier: MIT */
/* Opening stores, runs and workflows for the commands, with secrets from a descriptor;
 * hooks and unfinished restores when a store is closed. */
#include "cli/open.h"

#include "base/words.h"

#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Secrets from a descriptor. Nothing that is read is ever printed, not even a line that
 * is wrong. */

#define SECRETS_BYTES ((size_t)1 << 20)
#define SECRETS_MOST 1000

/* 0, or -1 with errno; E2BIG: too much. */
static int read_all(int fd, struct secrets_given *secrets)
{
    secrets->text = malloc(SECRETS_BYTES + 1);
    if (!secrets->text)
        return -1;
    for (;;) {
        ssize_t n = read(fd, secrets->text + secrets->length,
                         SECRETS_BYTES + 1 - secrets->length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            return 0;
        secrets->length += (size_t)n;
        if (secrets->length > SECRETS_BYTES) {
            errno = E2BIG;
            return -1;
        }
    }
}

static int report_bad_line(const struct settings *settings, size_t line,
                           const char *why)
{
    return report_usage(settings->command, "line %zu read from --secrets-fd %s", line,
                        why);
}

/* Cuts the text into lines, and lines into names and values, in place. */
static int split_lines(const struct settings *settings, struct secrets_given *secrets,
                       struct cairn_run_options *options)
{
    char *at = secrets->text, *end = at + secrets->length;
    size_t line = 0, n = 0;
    secrets->values = calloc(SECRETS_MOST, sizeof *secrets->values);
    if (!secrets->values)
        return report_nomem();
    while (at < end) {
        char *stop = memchr(at, '\n', (size_t)(end - at)), *equals;
        line++;
        stop = stop ? stop : end;
        *stop = '\0';
        equals = strchr(at, '=');
        if (strlen(at) != (size_t)(stop - at))
            return report_bad_line(settings, line, "contains a NUL byte");
        if (at != stop && (!equals || equals == at))
            return report_bad_line(settings, line, "is not NAME=value");
        if (n == SECRETS_MOST)
            return report_bad_line(settings, line, "exceeds the limit of 1000 secrets");
        if (at != stop) {
            *equals = '\0';
            secrets->values[n++] = (struct cairn_param){at, equals + 1};
        }
        at = stop + 1;
    }
    options->secrets = secrets->values;
    options->n_secrets = n;
    return 0;
}

int secrets_given_read(const struct settings *settings, struct secrets_given *secrets,
                       struct cairn_run_options *options)
{
    int fd = (int)settings->number[OPT_SECRETS_FD], result;
    *secrets = (struct secrets_given){.text = NULL};
    if (!settings->given[OPT_SECRETS_FD])
        return 0;
    result = read_all(fd, secrets);
    if (result < 0 && errno == E2BIG)
        return report_usage(settings->command,
                            "--secrets-fd gives more than 1 MiB, which is the limit");
    if (result < 0)
        return report_usage(settings->command, "cannot read descriptor %d: %s", fd,
                            strerror(errno));
    if (fd > 2)
        close(fd);
    return split_lines(settings, secrets, options);
}

static bool is_given(const struct cairn_run_options *options, const char *name)
{
    for (size_t i = 0; i < options->n_secrets; i++)
        if (strcmp(options->secrets[i].name, name) == 0)
            return true;
    return getenv(name) != NULL;
}

const char *secrets_not_given(const struct cairn_workflow *workflow,
                              const struct cairn_run_options *options, size_t i)
{
    const char *name;
    for (size_t k = 0; (name = cairn_workflow_secret(workflow, k)); k++)
        if (!is_given(options, name) && i-- == 0)
            return name;
    return NULL;
}

void secrets_given_release(struct secrets_given *secrets)
{
    if (secrets->text)
        explicit_bzero(secrets->text, secrets->length);
    free(secrets->text);
    free(secrets->values);
    *secrets = (struct secrets_given){.text = NULL};
}

/* Opening stores, runs and workflows for the commands. */

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

/* What is not a number is a workflow file, if there is one. */
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

/* ---- A store that stays open for the next command line of a worker ---- */

static struct {
    bool on;
    bool lent;
    struct cairn_store *store; /* for reading; or NULL */
} kept;

void store_keep_open(void)
{
    kept.on = true;
}

/* What went wrong may lie in what is kept, or have left it as it was never meant to be.
 */
void store_end_line(bool good)
{
    if (!good || kept.lent) {
        cairn_store_close(kept.store);
        kept.store = NULL;
    }
    kept.lent = false;
}

int store_open(struct cairn_store **store, const struct cairn_store_options *options,
               struct cairn_error *error)
{
    bool keeps = kept.on && !kept.lent && options->read_only && !options->key_file;
    if (!keeps)
        return cairn_store_open(store, options, error);
    if (!kept.store || !cairn_store_is_unchanged(kept.store, options)) {
        struct cairn_store *fresh = NULL;
        int rc = cairn_store_open(&fresh, options, error);
        if (rc != 0)
            return rc;
        cairn_store_close(kept.store);
        kept.store = fresh;
    }
    kept.lent = true;
    *store = kept.store;
    return 0;
}

void store_close(struct cairn_store *store)
{
    if (store && store == kept.store)
        kept.lent = false;
    else
        cairn_store_close(store);
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
    int rc = store_open(store, &options, error);
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
        .path = settings->store_named ? settings->store_named : store_path(settings),
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
    store_close(store);
    if (rc != 0 && rc != CAIRN_ENOMEM) /* of a store that is damaged nothing is known */
        (void)cairn_masked(NULL, text, &masked, &none);
    return masked;
}

int search_project(const struct settings *settings, struct cairn_store *store,
                   char out[PATH_MAX])
{
    const char *dir = cairn_store_path(store);
    const char *slash = strrchr(dir, '/');
    size_t n = slash && slash > dir ? (size_t)(slash - dir) : 1;
    if (!getcwd(out, PATH_MAX))
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO),
                              "cannot tell which directory this is: give --project");
    if (store_path(settings) || n >= PATH_MAX)
        return 0;
    if (n > 1 && (strncmp(out, dir, n) != 0 || (out[n] != '\0' && out[n] != '/')))
        return 0;
    memcpy(out, dir, n);
    out[n] = '\0';
    return 0;
}

int store_for_reading(struct settings *settings, struct cairn_store **store)
{
    struct cairn_error error = {0};
    return report_code(open_store(settings, store, true, &error), &error);
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

static void add_asked(struct buf *text, const char *option, const char *value)
{
    char *word = shell_word(value);
    buf_format(text, "%s %.300s", option, word ? word : "");
    text->failed |= !word;
    free(word);
}

int note_asked(const struct settings *settings, struct cairn_store *store,
               struct cairn_error *error)
{
    const char *by = getenv("CAIRN_ASKED_BY");
    char run[24];
    struct buf text = BUF_INIT;
    if (!by)
        return 0;
    buf_format(&text, "%.40s: cairn %s", by, settings->command);
    if (settings->given[OPT_RUN])
        add_asked(&text, " --run", u64_text(settings->number[OPT_RUN], run));
    if (settings->given[OPT_SESSION])
        add_asked(&text, " --session", settings->text[OPT_SESSION]);
    for (int i = 0; i < settings->n_operands; i++)
        add_asked(&text, "", settings->operands[i]);
    unsetenv("CAIRN_ASKED_BY"); /* what this command starts has asked for nothing */
    int rc =
        text.failed ? error_nomem(error) : cairn_store_note(store, text.data, error);
    buf_release(&text);
    return rc;
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
    if (rc == 0)
        rc = note_asked(settings, *store, &error);
    return report_code(rc, &error);
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
    return report_code(cairn_run_get(store, run, info, &error), &error);
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
    return report_code(rc, &error);
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
                            "%s has no run yet; to start one: `cairn run %s%s`", file,
                            path_dot(file), word ? word : "FILE");
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

int read_given(const char *path, size_t most, struct buf *out)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    char piece[65536];
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 && out->size <= most && !out->failed) {
        size_t left = most + 1 - out->size;
        do
            n = read(fd, piece, left < sizeof piece ? left : sizeof piece);
        while (n < 0 && errno == EINTR);
        if (n > 0)
            buf_add(out, piece, (size_t)n);
    }
    int sys = errno;
    if (fd >= 0 && !is_stdin)
        close(fd);
    if (out->failed)
        return report_nomem();
    return n >= 0 ? 0
                  : report_failure(
                        sys == ENOENT ? EXIT_NOT_FOUND : EXIT_SYSTEM,
                        cairn_code_name(sys == ENOENT ? CAIRN_ENOTFOUND : CAIRN_EIO),
                        "cannot read %s: %s", is_stdin ? "stdin" : path, strerror(sys));
}

int workflow_operand(struct settings *settings, const char *command, int n,
                     struct cairn_workflow **workflow, const char **file)
{
    static char found[PATH_MAX];
    if (settings->n_operands > n)
        *file = settings->operands[n];
    else if (!find_default_file(found, sizeof found, file)) {
        settings->workflow_file = NULL; /* the operand is none */
        return report_usage(
            command,
            "no workflow file: name one (`cairn %s FILE`), or create " DEFAULT_FILE
            " in this directory (`cairn init`)",
            command);
    }
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
    int status = require_store(store) ?: run_option(settings, store, &info);
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

struct telling {
    unfinished_restore_fn *line;
    void *context;
};

static int tell_one(void *context, const struct cairn_unfinished_restore *restore)
{
    struct telling *telling = context;
    char text[RESTORE_WORDS], remedy[RESTORE_WORDS];
    unfinished_restore_words(restore, text, remedy);
    telling->line(telling->context, text, remedy);
    return 0;
}

int each_unfinished_restore(struct cairn_store *store, unfinished_restore_fn *line,
                            void *context)
{
    struct telling telling = {.line = line, .context = context};
    struct cairn_error error = {0};
    int rc = cairn_restore_unfinished(store, NULL, true, tell_one, &telling, &error);
    return report_code(rc, &error);
}

static void say_one(void *context, const char *text, const char *remedy)
{
    (void)context;
    ui_warn("%s; `%s` %s", text, remedy,
            strstr(remedy, "--finish") ? "finishes it" : "does that");
}

void say_unfinished_restores(struct cairn_store *store, const char *session, bool all)
{
    struct telling telling = {.line = say_one};
    (void)cairn_restore_unfinished(store, session, all, tell_one, &telling, NULL);
}

static const char *own; /* of the command line */

void unfinished_restores_of(const char *session)
{
    own = session;
}

static void say_own_unfinished_restores(struct cairn_store *store)
{
    say_unfinished_restores(store, own, false);
}

static int add_document(void *context, const struct cairn_unfinished_restore *restore)
{
    struct doc *doc = context;
    doc_object(doc, NULL);
    doc_text(doc, "session", restore->name);
    doc_text(doc, "checkpoint", restore->id[0] != '\0' ? restore->id : NULL);
    doc_count(doc, "files", restore->files);
    doc_count(doc, "placed", restore->placed);
    doc_bool(doc, "lost", restore->lost);
    doc_end(doc);
    return 0;
}

int unfinished_restores_document(struct doc *doc, struct cairn_store *store,
                                 const char *session)
{
    struct cairn_error error = {0};
    doc_array(doc, "unfinished_restores");
    int rc = cairn_restore_unfinished(store, session, false, add_document, doc, &error);
    doc_end(doc);
    return report_code(rc, &error);
}

static int note_any(void *context, const struct cairn_unfinished_restore *restore)
{
    (void)restore;
    *(bool *)context = true;
    return 0;
}

int finish_restores(struct cairn_store *store, const char *session)
{
    struct doc doc = {0};
    struct cairn_error error = {0};
    bool any = false;
    if (cairn_restore_unfinished(store, session, false, note_any, &any, &error) != 0)
        return report_error(&error);
    if (ui_json()) {
        doc_begin(&doc);
        int status = unfinished_restores_document(&doc, store, session);
        if (status != 0)
            doc_discard(&doc);
        if (status != 0)
            return status;
    }
    if (cairn_restore_finish(store, session, &error) == 0) {
        if (!any)
            say("nothing to finish: no restore was interrupted");
        return ui_json() ? doc_print(&doc) : 0;
    }
    if (ui_json())
        doc_discard(&doc);
    return report_error(&error);
}

static char *make_document(void *context, const struct cairn_feed_event *event)
{
    struct doc doc;
    (void)context;
    feed_event_document(&doc, event);
    return doc_take(&doc);
}

static void tell_failed(void *context, const char *text)
{
    (void)context;
    ui_warn("%s", text);
}

static void tell_budget(void *context, const struct cairn_budget *budget)
{
    char stored[FORMAT_MAX], most[FORMAT_MAX];
    char *word = shell_word(budget->name);
    (void)context;
    ui_warn("session %s takes %s in the store, more than its size-budget of %s: `cairn "
            "session size` shows what takes room, and `cairn checkpoint prune "
            "--session %s` "
            "and `cairn gc` free what only old checkpoints hold. `cairn session config "
            "size-budget SIZE --session %s` sets another limit, or off",
            budget->name, format_bytes(stored, budget->stored),
            format_bytes(most, budget->budget), word ? word : "NAME",
            word ? word : "NAME");
    free(word);
}

/* It comes after the data of the command, and before what hooks write. */
static void budgets_check(struct cairn_store *store)
{
    struct cairn_error error = {0};
    if (cairn_session_budgets(store, tell_budget, NULL, &error) != 0)
        ui_warn("the size-budget of the session was not checked: %s", error.text);
}

void hooks_run(struct cairn_store *store)
{
    const struct cairn_hooks hooks = {
        .document = make_document, .failed = tell_failed, .out = STDERR_FILENO};
    struct cairn_error error = {0};
    if (!store)
        return;
    out_flush(); /* what the command has printed comes first */
    budgets_check(store);
    if (cairn_hooks_run(store, &hooks, &error) != 0)
        ui_warn("the hooks of the session were not run: %s", error.text);
}

void hooks_run_and_close(struct cairn_store *store)
{
    hooks_run(store);
    if (store)
        say_own_unfinished_restores(store);
    store_close(store);
}
