/* SPDX-License-Identifier: MIT */
#include "cli/tasks/log_many.h"

#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/report.h"
#include "cli/tasks/choose.h"
#include "cli/ui.h"
#include "cli/unknown_task.h"

#include <stdlib.h>
#include <string.h>

#define POLL_MS 500

struct picked { /* a task that was started */
    char *id;
    uint32_t attempt;     /* the newest, or that at its undo */
    uint32_t failed_undo; /* with --failed: the newest attempt at its undo; 0: none */
    bool only_undo;       /* ... of which alone the output is meant */
    uint64_t position[2]; /* while following: up to here it is printed */
    bool over;            /* ... and the task had ended before that */
    bool asked;           /* while only one stream is followed: ... */
    bool lacks;           /* ... it has one log of both */
    bool open;            /* more may come in a line without its end */
    bool ended;           /* the task: before an attempt runs it is neither of both */
};

struct picking {
    const struct log *log;
    struct picked *at; /* [n] in file order */
    size_t n, capacity;
    uint32_t *by_node; /* [n_nodes] its number in `at` + 1; 0: it is not there */
    uint32_t n_nodes;
    bool *matched; /* [n_operands] */
    bool failed;   /* out of memory */
};

static void picking_release(struct picking *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->at[i].id);
    free(p->at);
    free(p->by_node);
    free(p->matched);
}

/* ---- Which ---- */

static bool is_meant(struct picking *p, const struct cairn_task_info *task)
{
    const struct settings *settings = p->log->settings;
    bool named = settings->n_operands == 0;
    for (int i = 0; i < settings->n_operands; i++)
        if (cairn_name_matches(settings->operands[i], task->id))
            named = p->matched[i] = true;
    if (settings->given[OPT_FAILED])
        return named && (task->outcome == CAIRN_FAILED || task->failed_undo > 0);
    return named;
}

static uint32_t *place_of(struct picking *p, uint32_t node)
{
    if (node >= p->n_nodes) {
        uint32_t n = 2 * node + 64;
        uint32_t *by_node = realloc(p->by_node, n * sizeof *by_node);
        if (!by_node)
            return NULL;
        memset(by_node + p->n_nodes, 0, (n - p->n_nodes) * sizeof *by_node);
        p->by_node = by_node;
        p->n_nodes = n;
    }
    return &p->by_node[node];
}

static struct picked *add_picked(struct picking *p, const char *id)
{
    if (p->n == p->capacity) {
        size_t capacity = p->capacity ? 2 * p->capacity : 16;
        struct picked *at = realloc(p->at, capacity * sizeof *at);
        if (!at)
            return NULL;
        p->at = at;
        p->capacity = capacity;
    }
    p->at[p->n] = (struct picked){.id = strdup(id)};
    return p->at[p->n].id ? &p->at[p->n++] : NULL;
}

static int pick(void *context, const struct cairn_task_info *task)
{
    struct picking *p = context;
    if (!is_meant(p, task) || task->attempt == 0)
        return 0;
    uint32_t *place = place_of(p, task->node);
    struct picked *picked = place && *place ? &p->at[*place - 1] : NULL;
    if (place && !picked && (picked = add_picked(p, task->id)))
        *place = (uint32_t)p->n;
    if (!picked) {
        p->failed = true;
        return 1;
    }
    bool failed = p->log->settings->given[OPT_FAILED];
    bool only_undo = failed && task->outcome != CAIRN_FAILED;
    uint32_t undo = failed ? task->failed_undo : 0;
    uint32_t attempt = only_undo ? undo : task->attempt;
    if (picked->attempt != attempt)
        *picked = (struct picked){.id = picked->id, .attempt = attempt};
    picked->failed_undo = undo;
    picked->only_undo = only_undo;
    picked->open = task->running || task->interrupted;
    picked->ended = task->outcome != CAIRN_PENDING;
    return 0;
}

static int pick_all(struct picking *p)
{
    struct cairn_error error = {0};
    if (cairn_run_tasks(p->log->store, p->log->run.run, pick, p, &error) != 0)
        return report_error(&error);
    if (p->failed)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    return 0;
}

static int check_matched(const struct picking *p)
{
    const struct settings *settings = p->log->settings;
    struct cairn_error error = {.code = CAIRN_ENOTFOUND};
    for (int i = 0; i < settings->n_operands; i++) {
        const char *word = settings->operands[i];
        if (p->matched[i])
            continue;
        if (!choose_is_pattern(word))
            return missing_task(p->log->store, p->log->run.run, word, &error);
        return report_failure(EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
                              "no task of run %llu matches %s",
                              (unsigned long long)p->log->run.run, word);
    }
    return 0;
}

bool log_is_many(const struct log *log)
{
    const struct settings *settings = log->settings;
    const char *word = settings->operands[0];
    struct cairn_workflow *workflow = NULL;
    bool from_file, one;
    if (settings->given[OPT_ALL_LOGS] || settings->given[OPT_FAILED] ||
        settings->n_operands > 1)
        return true;
    if (settings->n_operands == 0)
        return false;
    if (choose_is_pattern(word))
        return true;
    /* A task that is only known to an earlier definition of the run is one, too. */
    if (cairn_workflow_of_run(&workflow, log->store, log->run.run, &from_file, NULL) !=
            0 ||
        cairn_workflow_compile(workflow, NULL) != 0) {
        cairn_workflow_free(workflow);
        return false;
    }
    one = cairn_workflow_find(workflow, word) != UINT32_MAX ||
          !choose_has_tasks(workflow, word);
    cairn_workflow_free(workflow);
    return !one;
}

/* ---- One after the other ---- */

/* Its own output, and that of its undo if it has failed. */
static int print_picked(struct log *log, const struct picked *picked, struct doc *doc)
{
    int status = 0;
    log->task = picked->id;
    for (int undo = picked->only_undo; undo < 1 + (picked->failed_undo > 0); undo++) {
        if (status != 0 || ui_output_lost())
            break;
        log->attempt = undo ? picked->failed_undo : 0;
        if (doc) {
            doc_object(doc, NULL);
            status = log_document(log, doc);
            doc_end(doc);
            continue;
        }
        if (log->any)
            out("\n");
        out("==> %s%s <==\n", undo ? "undo of " : "", log->task);
        out_flush();
        log->any = true;
        status = log_print(log, false);
    }
    return status;
}

static int print_each(struct log *log, const struct picking *p)
{
    int status = 0;
    for (size_t i = 0; i < p->n && status == 0 && !ui_output_lost(); i++)
        status = print_picked(log, &p->at[i], NULL);
    return status;
}

static int print_documents(struct log *log, const struct picking *p)
{
    struct doc doc = {0};
    int status = 0;
    doc_begin(&doc);
    doc_count(&doc, "run", log->run.run);
    doc_array(&doc, "logs");
    for (size_t i = 0; i < p->n && status == 0; i++)
        status = print_picked(log, &p->at[i], &doc);
    if (status != 0) {
        doc_discard(&doc);
        return status;
    }
    return doc_print(&doc);
}

/* ---- Following ---- */

static void print_one(const struct log *log, const char *line, size_t n)
{
    char *safe = malloc(TERMINAL_TEXT_ROOM(n));
    if (safe)
        out_raw(safe, terminal_line(safe, line, n, log->color, NULL));
    else
        out_incomplete();
    free(safe);
}

struct new_text {
    struct picked *picked;
    int stream;        /* 0 or 1 */
    uint64_t position; /* of the bytes being read */
    FILE *file;        /* what comes behind the position of `picked` */
};

static int add_new(void *context, const char *bytes, size_t n, uint64_t gap)
{
    struct new_text *t = context;
    uint64_t seen = t->picked->position[t->stream];
    t->position += gap;
    if (gap > 0 && t->position > seen) {
        fprintf(t->file, "... %llu bytes are missing here\n",
                (unsigned long long)(t->position - seen));
        seen = t->position;
    }
    uint64_t end = t->position + n;
    size_t skip = seen > t->position ? (size_t)(seen - t->position) : 0;
    t->position = end;
    return skip < n && fwrite(bytes + skip, 1, n - skip, t->file) != n - skip;
}

static void print_named(const struct log *log, const char *task, const char *text,
                        size_t n)
{
    char now[FORMAT_MAX], local[FORMAT_MAX] = "";
    int64_t ns = wall_ns();
    if (log->timestamps)
        snprintf(local, sizeof local, "%.70s.%d  ", format_local(now, ns),
                 (int)(ns / 100000000 % 10));
    while (n > 0) {
        const char *newline = memchr(text, '\n', n);
        size_t line = newline ? (size_t)(newline - text) : n;
        out("%s%s | ", local, task);
        print_one(log, text, line);
        out("\n");
        text += line + (newline != NULL);
        n -= line + (newline != NULL);
    }
}

static int note_merged(void *context, const struct cairn_attempt_info *attempt)
{
    struct picked *picked = context;
    if (attempt->attempt == picked->attempt)
        picked->lacks = attempt->merged;
    return 0;
}

/* Of each attempt once. */
static int ask_merged(struct log *log, struct picked *picked)
{
    struct cairn_error error = {0};
    if (picked->asked || (log->wanted[1] && log->wanted[2]))
        return 0;
    picked->asked = true;
    if (cairn_attempts(log->store, log->run.run, picked->id, note_merged, picked,
                       &error) != 0)
        return report_error(&error);
    log->task = picked->id;
    (void)log_lacks_stream(log, picked->lacks);
    return 0;
}

/* Whole lines, and at the end the rest. */
static int follow_stream(const struct log *log, struct picked *picked, int stream)
{
    struct new_text t = {.picked = picked, .stream = stream};
    struct cairn_error error = {0};
    char *text = NULL;
    size_t n = 0, whole;
    t.file = open_memstream(&text, &n);
    if (!t.file)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    int rc = cairn_output(log->store, log->run.run, picked->id, picked->attempt,
                          stream + 1, add_new, &t, &error);
    fclose(t.file);
    for (whole = n; picked->open && whole > 0 && text[whole - 1] != '\n'; whole--)
        ;
    if (rc == 0) {
        print_named(log, picked->id, text, whole);
        picked->position[stream] = t.position - (n - whole);
    }
    free(text);
    return rc == 0 || rc == CAIRN_ENOTFOUND ? 0 : report_error(&error);
}

static int follow_once(struct log *log, struct picking *p)
{
    int status = pick_all(p);
    for (size_t i = 0; i < p->n && status == 0; i++) {
        struct picked *picked = &p->at[i];
        status = picked->over ? 0 : ask_merged(log, picked);
        for (int s = 0; s < 2 && status == 0 && !picked->over && !picked->lacks; s++)
            if (log->wanted[s + 1])
                status = follow_stream(log, picked, s);
        picked->over = picked->ended;
    }
    out_flush();
    return status;
}

static int follow_all(struct log *log, struct picking *p)
{
    struct cairn_error error = {0};
    for (;;) {
        bool live = log->run.live;
        int status = follow_once(log, p);
        if (status != 0 || ui_output_lost() || !live)
            return status;
        sleep_ms(POLL_MS);
        if (cairn_run_get(log->store, log->run.run, &log->run, &error) != 0)
            return report_error(&error);
    }
}

static void say_none(const struct log *log)
{
    say(log->settings->given[OPT_FAILED] ? "no such task of run %llu has failed"
                                         : "no such task of run %llu has started",
        (unsigned long long)log->run.run);
}

int log_many(struct log *log)
{
    struct picking p = {.log = log};
    bool follow = log->settings->given[OPT_FOLLOW];
    log->several = true;
    p.matched = calloc((size_t)log->settings->n_operands + 1, sizeof *p.matched);
    if (!p.matched)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    int status = pick_all(&p);
    if (status == 0)
        status = check_matched(&p);
    if (status == 0)
        status = follow      ? follow_all(log, &p)
                 : ui_json() ? print_documents(log, &p)
                             : print_each(log, &p);
    if (status == 0 && p.n == 0 && !ui_json())
        say_none(log);
    picking_release(&p);
    return status;
}
