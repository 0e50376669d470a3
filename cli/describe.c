/* SPDX-License-Identifier: MIT */
/* Runs and checkpoints in words and as JSON. */
#include "cli/describe.h"

#include "base/str.h"
#include "cli/display.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
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

const char *task_state_word(const struct cairn_task_info *task)
{
    return task->running       ? "running"
           : task->interrupted ? "interrupted"
                               : cairn_outcome_name(task->outcome);
}

bool task_has_own_times(const struct cairn_task_info *task)
{
    return task->running || task->interrupted || task->skipped_itself ||
           (task->outcome != CAIRN_PENDING && task->outcome != CAIRN_SKIPPED &&
            task->outcome != CAIRN_EXCLUDED);
}

int64_t task_spent_ms(const struct cairn_task_info *task, int64_t now_ns)
{
    int64_t ms = task->attempts_ms;
    if (task->running && task->started_ns != 0)
        ms = (ms > 0 ? ms : 0) + (now_ns - task->started_ns) / 1000000;
    return ms;
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

const char *session_state_text(const struct cairn_session_info *info)
{
    return info->ended_ns != 0 ? "ended" : info->current ? "current" : "open";
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
    bool needs = cairn_workflow_of_run(&workflow, store, run->run, NULL, NULL) == 0 &&
                 cairn_workflow_lacks_functions(workflow);
    cairn_workflow_free(workflow);
    return needs;
}

const char *resume_words(struct cairn_store *store, const struct cairn_run_info *run,
                         const char *hint)
{
    static char words[PATH_MAX];
    if (run_needs_program(store, run))
        return "the program that has its functions";
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
    if (!word || asprintf(&text, " %s%s", path_dot(file), word) < 0)
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
                 "run %llu of %s (%s) continues inside task %s of run %llu", number,
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
    doc_text(doc, "trigger", info->damaged ? NULL : cairn_trigger_name(info->trigger));
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

void doc_page(struct doc *doc, const struct cairn_page *page, uint64_t total)
{
    doc_count(doc, "total", total);
    doc_count(doc, "limit", page->limit);
    doc_count(doc, "offset", page->offset);
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
    doc_page(doc, page, total);
    return doc_print(doc);
}

void unfinished_restore_words(const struct cairn_unfinished_restore *restore,
                              char text[RESTORE_WORDS], char remedy[RESTORE_WORDS])
{
    char *word = shell_word(restore->name);
    const char *id = restore->id[0] != '\0' ? restore->id : "files";
    if (restore->lost)
        snprintf(text, RESTORE_WORDS,
                 "the restore of %s (session %s) was interrupted, and the directory of "
                 "its files is not there: bring it back, or give the restore up",
                 id, restore->name);
    else
        snprintf(text, RESTORE_WORDS,
                 "the restore of %s (session %s) was interrupted: %llu of %llu files, "
                 "links and directories are in place",
                 id, restore->name, (unsigned long long)restore->placed,
                 (unsigned long long)restore->files);
    snprintf(remedy, RESTORE_WORDS, "%s --session %s",
             restore->lost ? "cairn session config files off"
                           : "cairn checkpoint restore --finish",
             word ? word : "NAME");
    free(word);
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

/* Attempts as lines and as JSON. */

/* The same words as in `cairn events`. */
static const char *end_words(const struct cairn_attempt_info *attempt)
{
    bool done = attempt->outcome == CAIRN_COMPLETED;
    if (attempt->open)
        return attempt->undo ? "undo, no end recorded" : "no end recorded";
    if (attempt->undo)
        return done ? "undone" : "its undo failed";
    return cairn_outcome_name(attempt->outcome);
}

/* ---- Sessions ---- */

const char *setting_about(const char *name)
{
    static const struct {
        const char *name, *about;
    } settings[] = {
        {"interval", "How long after the last checkpoint the trigger significant-time "
                     "makes one: a time such as 10m."},
        {"schedule", "How often a checkpoint is made anyway: a time, or off."},
        {"redact", "Names of environment variables, with commas between them, whose "
                   "values are never stored; or off."},
        {"environment", "Names of environment variables that are stored with each "
                        "checkpoint (NAME* for all that begin so); or off."},
        {"files", "The directory whose files each checkpoint holds; or off."},
        {"strategy", "When the work that an agent's hook reports is checkpointed: "
                     "manual, per_prompt, per_tool_use or smart."},
        {"tools", "Tools of agents that the strategy smart takes for destructive."},
        {"size-budget", "A warning comes when the session's data grows past this size, "
                        "such as 500M; or off. Nothing is deleted."},
        {"settle", "How long files are to rest before `cairn session watch` makes a "
                   "checkpoint; or off."},
        {"keep-last",
         "So many newest checkpoints are kept when old ones are deleted: 1 "
         "to 10000; or off."},
        {"keep-days", "Checkpoints of so many days are kept when old ones are deleted; "
                      "or off."},
        {"keep-hourly", "on: the newest checkpoint of each hour is kept when old ones "
                        "are deleted."},
        {"keep-tag", "Checkpoints with one of these tags are kept when old ones are "
                     "deleted; or off."},
        {"keep-sessions", "Of the whole store: sessions of agents without a change for "
                          "so many days (30d) are deleted; or off."},
        {"hook-timeout", "How long a hook may take."},
    };
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        if (strcmp(settings[i].name, name) == 0)
            return settings[i].about;
    return strncmp(name, "hook.", 5) == 0
               ? "A shell command that is run for each such event, with the event as "
                 "JSON on stdin; or off."
               : "on: this trigger makes checkpoints by itself.";
}

const struct cairn_size *size_part(const struct cairn_session_size *size, size_t i,
                                   const char **name)
{
    const struct {
        const char *name;
        const struct cairn_size *size;
    } parts[] = {{"files", &size->files},       {"board", &size->board},
                 {"messages", &size->messages}, {"log", &size->log},
                 {"records", &size->records},   {"all", &size->all}};
    if (i >= COUNT_OF(parts))
        return NULL;
    *name = parts[i].name;
    return parts[i].size;
}

void attempt_print(const struct cairn_attempt_info *attempt)
{
    char how[FORMAT_MAX], took[FORMAT_MAX] = "", when[FORMAT_MAX];
    bool text = attempt->text && attempt->text[0] != '\0';
    format_end(how, attempt->exit_code, attempt->signal, attempt->timed_out,
               attempt->text);
    if (attempt->ended_ns != 0)
        format_duration(took, (attempt->ended_ns - attempt->started_ns) / 1000000);
    out("  attempt %u  %s%s%s%s%s%s  started %s%s%s\n", attempt->attempt,
        end_words(attempt),
        attempt->check      ? " by its check"
        : attempt->external ? " from outside"
                            : "",
        how[0] ? "  " : "", how, took[0] ? "  " : "", took,
        format_local(when, attempt->started_ns), text ? "  " : "",
        text ? attempt->text : "");
}

void attempt_document(struct doc *doc, const struct cairn_attempt_info *attempt)
{
    doc_count(doc, "attempt", attempt->attempt);
    doc_bool(doc, "open", attempt->open);
    doc_text(doc, "outcome",
             attempt->open ? NULL : cairn_outcome_name(attempt->outcome));
    process_end_document(doc, attempt->exit_code, attempt->signal);
    doc_bool(doc, "timed_out", attempt->timed_out);
    doc_time(doc, "started", attempt->started_ns);
    doc_time(doc, "ended", attempt->ended_ns);
    doc_number(doc, "cpu_ms", attempt->cpu_ms);
    doc_some(doc, "peak_kib", (uint64_t)attempt->peak_kib);
    doc_bool(doc, "merged", attempt->merged);
    if (attempt->merged) {
        doc_count(doc, "log_bytes", attempt->stdout_bytes);
    } else {
        doc_count(doc, "stdout_bytes", attempt->stdout_bytes);
        doc_count(doc, "stderr_bytes", attempt->stderr_bytes);
    }
    doc_text(doc, "text", attempt->text);
    doc_bool(doc, "undo", attempt->undo);
    doc_bool(doc, "check", attempt->check);
    doc_bool(doc, "external", attempt->external);
    doc_bool(doc, "fallback", attempt->fallback);
}

void log_event_document(struct doc *doc, const struct cairn_log_event *event)
{
    doc_text(doc, "type", event->kind);
    doc_count(doc, "turn", event->turn);
    doc_time(doc, "time", event->time_ns);
    doc_some(doc, "run", event->run);
    doc_text(doc, "task", event->task);
    doc_some(doc, "attempt", event->attempt);
    doc_text(doc, "outcome",
             event->outcome != CAIRN_PENDING ? cairn_outcome_name(event->outcome)
                                             : NULL);
    process_end_document(doc, event->exit_code, event->signal);
    doc_some(doc, "checkpoint", event->checkpoint);
    doc_text(doc, "reason", event->reason);
    doc_text(doc, "text", event->text);
}

void feed_event_document(struct doc *doc, const struct cairn_feed_event *event)
{
    const struct cairn_session_event *done = event->done;
    struct cairn_log_event log = {.exit_code = -1};
    if (done)
        log =
            (struct cairn_log_event){.turn = done->turn,
                                     .time_ns = done->time_ns,
                                     .kind = done->kind,
                                     .exit_code = -1,
                                     .reason = done->reason,
                                     .text = done->text[0] != '\0' ? done->text : NULL};
    doc_begin(doc);
    log_event_document(doc, done ? &log : event->log);
    doc_some(doc, "session", event->session);
    doc_text(doc, "session_name", event->session_name);
    doc_text(doc, "verb", done ? done->verb : NULL);
    doc_text(doc, "id", done && done->id[0] != '\0' ? done->id : NULL);
}

/* Events as NDJSON: one object a line, flushed line by line, so that a reader sees each
 * event when it happens. Field names are stable: docs/json.md. */

static const char *type_name(enum cairn_event_kind kind)
{
    switch (kind) {
    case CAIRN_EVENT_RUN_STARTED:
        return "run_started";
    case CAIRN_EVENT_NOTICE:
        return "notice";
    case CAIRN_EVENT_TASK_STARTED:
        return "task_started";
    case CAIRN_EVENT_TASK_READING:
        return "task_reading";
    case CAIRN_EVENT_TASK_RETRY:
        return "task_retry";
    case CAIRN_EVENT_TASK_ROUND:
        return "task_round";
    case CAIRN_EVENT_TASK_FINISHED:
        return "task_finished";
    case CAIRN_EVENT_DEGRADED:
        return "degraded";
    case CAIRN_EVENT_RECOVERED:
        return "recovered";
    case CAIRN_EVENT_STOPPING:
        return "stopping";
    case CAIRN_EVENT_TASK_WAITING:
        return "task_waiting";
    case CAIRN_EVENT_TASK_UNDO:
        return "task_undo";
    case CAIRN_EVENT_DISK_FULL:
        return "disk_full";
    case CAIRN_EVENT_TASK_LINE:
    case CAIRN_EVENT_TASK_OUTPUT: /* text for people: `cairn log` has it */
    case CAIRN_EVENT_TICK:
    case CAIRN_EVENT_RUN_FINISHED: /* the result says more */
        break;
    }
    return NULL;
}

static void begin_event(struct doc *doc, const char *type, uint64_t sequence,
                        int64_t time_ns)
{
    doc_begin(doc);
    doc_text(doc, "type", type);
    doc_count(doc, "sequence", sequence);
    doc_time(doc, "time", time_ns);
}

static void put_end(struct doc *doc, const struct cairn_event *event)
{
    process_end_document(doc, event->exit_code, event->signal);
    doc_bool(doc, "timed_out", event->timed_out);
    doc_number(doc, "duration_ms", event->duration_ms);
    doc_number(doc, "reading_ms", event->reading_ms);
}

static void put_task(struct doc *doc, const struct cairn_event *event)
{
    doc_text(doc, "task", event->task);
    doc_count(doc, "attempt", event->attempt);
    if (event->kind == CAIRN_EVENT_TASK_STARTED ||
        event->kind == CAIRN_EVENT_TASK_READING ||
        event->kind == CAIRN_EVENT_TASK_WAITING)
        return;
    put_end(doc, event);
    if (event->kind == CAIRN_EVENT_TASK_RETRY ||
        event->kind == CAIRN_EVENT_TASK_ROUND) {
        doc_number(doc, "next_ms", event->next_ms);
    } else {
        doc_text(doc, "outcome", cairn_outcome_name(event->outcome));
        doc_some(doc, "checkpoint", event->checkpoint);
    }
    if (event->tail)
        doc_bytes(doc, "tail", event->tail, event->tail_bytes);
}

void event_print(uint64_t sequence, const struct cairn_event *event)
{
    const char *type = type_name(event->kind);
    struct doc doc;
    if (!type || ui_output_lost())
        return;
    begin_event(&doc, type, sequence, event->time_ns);
    doc_some(&doc, "run", event->run);
    if (event->task)
        put_task(&doc, event);
    doc_text(&doc, "text", event->text);
    doc_count(&doc, "done", event->done);
    doc_count(&doc, "total", event->total);
    doc_count(&doc, "running", event->running);
    doc_print(&doc);
}

void dropped_print(uint64_t sequence, uint64_t lines)
{
    struct doc doc;
    begin_event(&doc, "lines_dropped", sequence, wall_ns());
    doc_count(&doc, "lines", lines);
    doc_print(&doc);
}

void result_print(uint64_t sequence, const struct cairn_run_result *result)
{
    struct doc doc;
    begin_event(&doc, "run_finished", sequence, wall_ns());
    doc_some(&doc, "run", result->run);
    doc_text(&doc, "state", cairn_run_state_name(result->state));
    doc_bool(&doc, "nothing_to_do", result->nothing_to_do);
    doc_count(&doc, "total", result->total);
    doc_count(&doc, "completed", result->completed);
    doc_count(&doc, "failed", result->failed);
    doc_count(&doc, "skipped", result->skipped);
    doc_count(&doc, "cancelled", result->cancelled);
    doc_count(&doc, "pending", result->pending);
    doc_count(&doc, "excluded", result->excluded);
    doc_count(&doc, "undone", result->undone);
    doc_count(&doc, "unknown", result->unknown);
    doc_count(&doc, "waiting", result->waiting);
    doc_count(&doc, "failed_undos", result->failed_undos);
    doc_count(&doc, "attempts", result->attempts);
    doc_count(&doc, "unsaved", result->unsaved);
    doc_count(&doc, "lost_outputs", result->lost_outputs);
    doc_count(&doc, "not_chosen", result->not_chosen);
    doc_count(&doc, "gone", result->gone);
    doc_bool(&doc, "damaged", result->damaged);
    doc_number(&doc, "exit_status", result->exit_status);
    doc_print(&doc);
}
