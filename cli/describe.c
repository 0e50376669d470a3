/* SPDX-License-Identifier: MIT */
/* Runs and checkpoints in words and as JSON. */
#include "cli/describe.h"

#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

const char *run_state_text(const struct cairn_run_info *run)
{
    if (run->live)
        return "running";
    if (run->state == CAIRN_RUN_UNFINISHED)
        return run->ended_ns != 0 ? "waiting" : "interrupted";
    return cairn_run_state_name(run->state);
}

int run_exit_status(const struct cairn_run_info *run)
{
    if (run->state == CAIRN_RUN_COMPLETED)
        return 0;
    if (run->unknown > 0)
        return EXIT_UNKNOWN;
    return run->state == CAIRN_RUN_FAILED ? EXIT_TASK_FAILED : EXIT_STOPPED;
}

const char *failed_text(bool completed)
{
    return completed ? "failed and handled" : "failed";
}

uint32_t run_done(const struct cairn_run_info *run)
{
    return run->completed + run->failed + run->skipped;
}

static int add_param(void *context, const char *name, const char *value)
{
    doc_text(context, name, value);
    return 0;
}

/* Null without a checkpoint: the counts are from it. */
static void add_count(struct doc *doc, const struct cairn_run_info *run,
                      const char *name, uint32_t count)
{
    if (run->checkpoint != 0)
        doc_count(doc, name, count);
    else
        doc_null(doc, name);
}

void run_document(struct doc *doc, struct cairn_store *store,
                  const struct cairn_run_info *run)
{
    struct cairn_error error = {0};
    doc_count(doc, "run", run->run);
    doc_text(doc, "workflow", run->workflow);
    doc_text(doc, "file", run->file[0] ? run->file : NULL);
    doc_object(doc, "params");
    if (cairn_run_params(store, run->run, add_param, doc, &error) != 0) {
        ui_warn("the parameters of run %llu: %s", (unsigned long long)run->run,
                error.text);
        out_incomplete();
    }
    doc_end(doc);
    doc_text(doc, "state", run_state_text(run));
    doc_bool(doc, "live", run->live);
    doc_some(doc, "owner_pid", run->live ? (uint64_t)run->owner_pid : 0);
    doc_text(doc, "owner_host", run->live ? run->owner_host : NULL);
    doc_time(doc, "started", run->started_ns);
    doc_time(doc, "ended", run->ended_ns);
    doc_some(doc, "from_run", run->from_run);
    doc_some(doc, "from_checkpoint", run->from_seq);
    doc_some(doc, "checkpoint", run->checkpoint);
    doc_count(doc, "total", run->total);
    add_count(doc, run, "completed", run->completed);
    add_count(doc, run, "failed", run->failed);
    add_count(doc, run, "skipped", run->skipped);
    add_count(doc, run, "cancelled", run->cancelled);
    add_count(doc, run, "excluded", run->excluded);
    add_count(doc, run, "undone", run->undone);
    add_count(doc, run, "unknown", run->unknown);
    doc_count(doc, "running", run->running);
    doc_count(doc, "unsaved", run->unsaved);
    doc_count(doc, "damaged_checkpoints", run->damaged);
    doc_bool(doc, "keyed", run->keyed);
    doc_some(doc, "parent_run", run->parent_run);
    doc_text(doc, "parent_task", run->parent_run ? run->parent_task : NULL);
}

#define PARAMS_SHOWN 1000

struct params {
    FILE *file;
    bool any, failed;
};

static int print_param(void *context, const char *name, const char *value)
{
    struct params *params = context;
    char *quoted = quoted_value(value);
    int n = fprintf(params->file, "%s%s=%s", params->any ? " " : "", name,
                    quoted ? quoted : "?");
    params->failed = params->failed || !quoted;
    free(quoted);
    params->any = true;
    return n < 0 || ftell(params->file) > PARAMS_SHOWN;
}

char *params_text(struct cairn_store *store, uint64_t run)
{
    struct params params = {0};
    struct cairn_error error = {0};
    char *text = NULL;
    size_t length = 0;
    bool failed;
    params.file = open_memstream(&text, &length);
    failed =
        !params.file || cairn_run_params(store, run, print_param, &params, &error) != 0;
    if (params.file) /* text NULL: no memory, though fclose does not say so */
        failed = fclose(params.file) != 0 || !text || params.failed || failed;
    if (failed) {
        ui_warn("the parameters of run %llu: %s", (unsigned long long)run,
                error.text[0] != '\0' ? error.text : "out of memory");
        out_incomplete();
    }
    if (failed || length == 0) {
        free(text);
        return NULL;
    }
    if (length > PARAMS_SHOWN) /* a character cut in two is shown as its bytes */
        snprintf(text + PARAMS_SHOWN - 3, 4, "...");
    return text;
}

bool run_needs_program(struct cairn_store *store, const struct cairn_run_info *run)
{
    struct cairn_workflow *workflow = NULL;
    bool needs = !run->file[0] &&
                 cairn_workflow_of_run(&workflow, store, run->run, NULL, NULL) == 0 &&
                 cairn_workflow_lacks_functions(workflow);
    cairn_workflow_free(workflow);
    return needs;
}

const char *resume_words(struct cairn_store *store, const struct cairn_run_info *run,
                         const char *hint)
{
    static char words[PATH_MAX];
    if (run_needs_program(store, run))
        return "the program that began it, which has functions of it";
    snprintf(words, sizeof words, "cairn resume %llu%s", (unsigned long long)run->run,
             hint);
    return words;
}

char *file_operand(const char *file)
{
    char here[PATH_MAX], *word, *text = NULL;
    size_t n = getcwd(here, sizeof here) ? strlen(here) : 0;
    if (n > 0 && strncmp(file, here, n) == 0 && file[n] == '/')
        file += n + 1;
    if (strcmp(file, "cairn.yaml") == 0)
        return strdup("");
    word = shell_word(file);
    if (!word || asprintf(&text, " %s", word) < 0)
        text = NULL;
    free(word);
    return text;
}

static int add_given_param(void *context, const char *name, const char *value)
{
    char *text = NULL, *word = NULL;
    if (asprintf(&text, "%s=%s", name, value) < 0)
        return 1;
    word = shell_word(text);
    bool failed = !word || fprintf(context, " --param %s", word) < 0;
    free(word);
    free(text);
    return failed;
}

char *fresh_words(struct cairn_store *store, uint64_t run, const char *hint)
{
    struct cairn_run_info info;
    char *text = NULL, *file = NULL;
    size_t length = 0;
    FILE *out = cairn_run_get(store, run, &info, NULL) == 0 && info.file[0]
                    ? open_memstream(&text, &length)
                    : NULL;
    if (!out)
        return NULL;
    file = file_operand(info.file);
    fprintf(out, "cairn run%s", file ? file : " FILE");
    int rc = cairn_run_params(store, run, add_given_param, out, NULL);
    fprintf(out, " --fresh%s", hint);
    free(file);
    if (fclose(out) != 0 || rc != 0 || !text) {
        free(text);
        return NULL;
    }
    return text;
}

struct unfinished {
    struct cairn_store *store;
    const char *hint;
    uint64_t but;
    unfinished_fn *line;
    void *context;
    uint64_t passed, shown;
};

static int print_unfinished(void *context, const struct cairn_run_info *run)
{
    enum { SHOWN = 5 };
    struct unfinished *u = context;
    char text[PATH_MAX + 1024];
    unsigned long long number = run->run;
    if (u->shown == SHOWN)
        return 1;
    u->passed++;
    if (run->live || run->run == u->but)
        return 0;
    u->shown++;
    if (run->parent_open)
        snprintf(text, sizeof text,
                 "run %llu of %s (%s) goes on inside task %s of run %llu", number,
                 run->workflow, run_state_text(run), run->parent_task,
                 (unsigned long long)run->parent_run);
    else
        snprintf(text, sizeof text, "run %llu of %s (%s) is not finished: %s", number,
                 run->workflow, run_state_text(run),
                 resume_words(u->store, run, u->hint));
    u->line(u->context, text);
    return 0;
}

int each_unfinished(struct cairn_store *store, const char *hint, uint64_t but,
                    unfinished_fn *line, void *context)
{
    struct unfinished u = {
        .store = store, .hint = hint, .but = but, .line = line, .context = context};
    struct cairn_error error = {0};
    char *text;
    uint64_t total = 0;
    if (cairn_unfinished(store, print_unfinished, &u, &total, &error) != 0)
        return report_error(&error);
    if (total > u.passed) {
        if (asprintf(&text, "and %llu more: cairn runs%s",
                     (unsigned long long)(total - u.passed), hint) < 0)
            return EXIT_SYSTEM;
        line(context, text);
        free(text);
    }
    return 0;
}

static int count_unknown(void *context, const struct cairn_task_info *task)
{
    uint32_t *unknown = context;
    *unknown += task->outcome == CAIRN_UNKNOWN;
    return 0;
}

struct left_behind {
    struct cairn_store *store;
    const char *workflow;
    uint64_t but;
    struct cairn_run_info newest;
    uint32_t unknown; /* of the newest */
    uint64_t n, looked;
};

/* One that failed has said so. */
static int note_left_behind(void *context, const struct cairn_run_info *run)
{
    enum { LOOKED_AT = 50 };
    struct left_behind *left = context;
    uint32_t unknown = 0;
    if (run->live || run->parent_open || run->run == left->but ||
        strcmp(run->workflow, left->workflow) != 0)
        return 0;
    if (left->looked++ == LOOKED_AT)
        return 1;
    (void)cairn_run_tasks(left->store, run->run, count_unknown, &unknown, NULL);
    if (run->state == CAIRN_RUN_FAILED && unknown == 0)
        return 0;
    if (left->n++ == 0) {
        left->newest = *run;
        left->unknown = unknown;
    }
    return 0;
}

void say_left_behind(struct cairn_store *store, const char *hint, uint64_t but,
                     unfinished_fn *line, void *context)
{
    struct left_behind left = {.store = store, .but = but};
    const struct cairn_run_info *run = &left.newest;
    struct cairn_run_info own;
    char text[2 * PATH_MAX], more[PATH_MAX] = "";
    if (cairn_run_look(store, but, &own, NULL) != 0)
        return;
    left.workflow = own.workflow;
    if (cairn_unfinished(store, note_left_behind, &left, NULL, NULL) != 0 ||
        left.n == 0)
        return;
    unsigned long long number = run->run;
    char *params = params_text(store, run->run);
    const char *comma = params ? ", " : "";
    if (left.n > 1)
        snprintf(more, sizeof more, "; and %llu more: cairn runs%s",
                 (unsigned long long)(left.n - 1), hint);
    if (left.unknown > 0)
        snprintf(text, sizeof text,
                 "run %llu of %s%s%s waits for an answer (%u task%s unknown): cairn "
                 "status %llu%s%s",
                 number, run->workflow, comma, params ? params : "", left.unknown,
                 left.unknown == 1 ? " is" : "s are", number, hint, more);
    else
        snprintf(text, sizeof text, "run %llu of %s%s%s (%s) is not finished: %s%s",
                 number, run->workflow, comma, params ? params : "",
                 run_state_text(run), resume_words(store, run, hint), more);
    free(params);
    line(context, text);
}

void process_end_document(struct doc *doc, int exit_code, int signal)
{
    if (exit_code >= 0)
        doc_number(doc, "exit_code", exit_code);
    else
        doc_null(doc, "exit_code");
    doc_some(doc, "signal", (uint64_t)signal);
}

static const char *namespace_text(const struct cairn_checkpoint_info *info)
{
    return info->namespace_id == CAIRN_NAMESPACE_DEBUG ? "debug" : "workflow";
}

static void run_members(struct doc *doc, const struct cairn_checkpoint_info *info)
{
    doc_text(doc, "namespace", namespace_text(info));
    doc_text(doc, "workflow", info->workflow);
    doc_count(doc, "run", info->run);
}

static void session_members(struct doc *doc, const struct cairn_checkpoint_info *info)
{
    doc_text(doc, "namespace", namespace_text(info));
    doc_some(doc, "session", info->session);
    doc_text(doc, "session_name", info->session ? info->session_name : NULL);
    doc_count(doc, "branch", info->branch);
    doc_text(doc, "branch_name", info->session ? info->branch_name : NULL);
}

void checkpoint_document(struct doc *doc, const struct cairn_checkpoint_info *info)
{
    doc_count(doc, "seq", info->seq);
    doc_text(doc, "id", info->id);
    if (info->namespace_id == CAIRN_NAMESPACE_DEBUG)
        session_members(doc, info);
    else
        run_members(doc, info);
    doc_bool(doc, "damaged", info->damaged);
    doc_bool(doc, "part_lost", info->part_lost);
    doc_some(doc, "parent", info->parent);
    doc_time(doc, "time", info->time_ns);
    doc_text(doc, "kind", info->full ? "full" : "delta");
    doc_bool(doc, "head", info->head);
    doc_count(doc, "position", info->position);
    doc_count(doc, "bytes", info->bytes);
    doc_count(doc, "changes", info->changes);
    doc_text(doc, "digest", info->digest);
    if (!info->counted)
        return;
    doc_count(doc, "total", info->total);
    doc_count(doc, "completed", info->completed);
    doc_count(doc, "failed", info->failed);
    doc_count(doc, "skipped", info->skipped);
    doc_count(doc, "cancelled", info->cancelled);
}

static void tags_document(struct doc *doc, const char *tags)
{
    char tag[sizeof((struct cairn_checkpoint_info *)0)->tags];
    doc_array(doc, "tags");
    for (size_t n; *tags; tags += n + (tags[n] == ',')) {
        n = strcspn(tags, ",");
        snprintf(tag, sizeof tag, "%.*s", (int)n, tags);
        doc_text(doc, NULL, tag);
    }
    doc_end(doc);
}

void checkpoint_list_document(struct doc *doc, const struct cairn_checkpoint_info *info)
{
    checkpoint_document(doc, info);
    if (info->namespace_id != CAIRN_NAMESPACE_DEBUG)
        return;
    doc_text(doc, "message", info->damaged ? NULL : info->message);
    tags_document(doc, info->tags);
}

const char *checkpoint_flaw(const struct cairn_checkpoint_info *info)
{
    return info->damaged ? "  DAMAGED" : info->part_lost ? "  PART LOST" : "";
}

const char *checkpoint_message(char out[CHECKPOINT_LINE_MAX],
                               const struct cairn_checkpoint_info *info)
{
    const char *message = info->message + strspn(info->message, "\r\n");
    int n = (int)strcspn(message, "\r\n");
    snprintf(out, CHECKPOINT_LINE_MAX, "%s%.*s%s%s%s", n ? "  " : "", n, message,
             info->tags[0] ? "  [" : "", info->tags, info->tags[0] ? "]" : "");
    return out;
}

const char *checkpoint_line(char out[CHECKPOINT_LINE_MAX],
                            const struct cairn_checkpoint_info *info)
{
    char message[CHECKPOINT_LINE_MAX];
    if (info->namespace_id != CAIRN_NAMESPACE_DEBUG)
        snprintf(out, CHECKPOINT_LINE_MAX, "%s", info->workflow);
    else if (info->session != 0)
        snprintf(out, CHECKPOINT_LINE_MAX, "%s/%s%s", info->session_name,
                 info->branch_name, checkpoint_message(message, info));
    else
        snprintf(out, CHECKPOINT_LINE_MAX, "branch %llu%s",
                 (unsigned long long)info->branch, checkpoint_message(message, info));
    return out;
}

int page_end(struct doc *doc, const struct cairn_page *page, const char *thing,
             uint64_t shown, uint64_t total)
{
    if (!doc) {
        out_flush();
        say("%llu of %llu %s%s", (unsigned long long)shown, (unsigned long long)total,
            thing, plural(total));
        return 0;
    }
    doc_end(doc);
    doc_count(doc, "total", total);
    doc_count(doc, "limit", page->limit);
    doc_count(doc, "offset", page->offset);
    return doc_print(doc);
}

void print_lines(const char *label, const char *text)
{
    int n = (int)strcspn(text, "\n");
    out("%s%.*s\n", label, n, text);
    for (text += n; *text == '\n'; text += n) {
        text++;
        n = (int)strcspn(text, "\n");
        if (n > 0)
            out("%*s%.*s\n", (int)strlen(label), "", n, text);
    }
}
