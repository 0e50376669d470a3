/* SPDX-License-Identifier: MIT */
/* Tasks of a run, selected and sorted, with their claims and values; cairn values. */
#include "cli/commands/tasks.h"

#include "cli/commands/commands.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"
#include "cli/unknown_task.h"

#include <stdlib.h>
#include <string.h>

bool state_list_has(const char *list, const char *word)
{
    size_t n = strlen(word);
    while (*list) {
        size_t m = strcspn(list, ",");
        if (m == n && strncmp(list, word, n) == 0)
            return true;
        list += m + (list[m] == ',');
    }
    return false;
}

int state_list_check(const char *list, const char *words)
{
    for (bool more = true; more;) {
        char word[32] = "";
        size_t n = strcspn(list, ",");
        if (n < sizeof word)
            memcpy(word, list, n);
        if (n == 0 || n >= sizeof word || !state_list_has(words, word))
            return report_failure(EXIT_USAGE, cairn_code_name(CAIRN_EUSAGE),
                                  "--state cannot be '%.*s': give some of %s", (int)n,
                                  list, words);
        more = list[n] == ',';
        list += n + more;
    }
    return 0;
}

static int add_step(void *context, const struct cairn_next_info *info)
{
    struct open_steps *steps = context;
    if (steps->n == steps->capacity) {
        uint32_t capacity = steps->capacity ? 2 * steps->capacity : 16;
        struct open_step *at = realloc(steps->at, capacity * sizeof *at);
        if (!at) {
            steps->failed = true;
            return 1;
        }
        steps->at = at;
        steps->capacity = capacity;
    }
    struct open_step *step = &steps->at[steps->n++];
    *step = (struct open_step){.node = info->node,
                               .claimed = info->claimed,
                               .holder = info->holder ? strdup(info->holder) : NULL,
                               .left_ms = info->lease_left_ms,
                               .claimed_ns = info->claimed_ns,
                               .lost = info->leases_lost};
    steps->claimed += info->claimed;
    steps->failed = info->holder && !step->holder;
    return steps->failed;
}

const char *lease_words(char out[LEASE_WORDS_MAX], const char *holder, int64_t left_ms,
                        int64_t since_ns, uint32_t lost)
{
    char left[FORMAT_MAX], since[FORMAT_MAX];
    int n = 0;
    out[0] = '\0';
    if (holder)
        n = snprintf(out, LEASE_WORDS_MAX, "by %.200s for another %s, since %s", holder,
                     format_duration(left, left_ms), format_local(since, since_ns));
    if (lost > 0)
        snprintf(out + n, LEASE_WORDS_MAX - (size_t)n, "%s%u lease%s ran out%s",
                 n > 0 ? "; " : "", lost, lost == 1 ? "" : "s", n > 0 ? " before" : "");
    return out;
}

static int by_node_of_step(const void *x, const void *y)
{
    const struct open_step *a = x, *b = y;
    return (a->node > b->node) - (a->node < b->node);
}

int open_steps_read(struct open_steps *steps, struct cairn_store *store, uint64_t run)
{
    struct cairn_error error = {0};
    *steps = (struct open_steps){.at = NULL};
    if (cairn_next(store, run, true, add_step, steps, &error) != 0)
        return report_error(&error);
    if (steps->failed)
        return report_nomem();
    if (steps->n > 0)
        qsort(steps->at, steps->n, sizeof *steps->at, by_node_of_step);
    return 0;
}

const struct open_step *open_steps_find(const struct open_steps *steps, uint32_t node)
{
    struct open_step key = {.node = node};
    return steps->n > 0
               ? bsearch(&key, steps->at, steps->n, sizeof *steps->at, by_node_of_step)
               : NULL;
}

void open_steps_release(struct open_steps *steps)
{
    for (uint32_t i = 0; i < steps->n; i++)
        free(steps->at[i].holder);
    free(steps->at);
    *steps = (struct open_steps){.at = NULL};
}

int told_values_add(void *context, const char *task, const char *name,
                    const char *value)
{
    struct told_values *values = context;
    struct told_value *at = values->at;
    if ((values->n & (values->n - 1)) == 0) /* full at each power of two */
        at = realloc(at, (values->n ? values->n * 2 : 1) * sizeof *at);
    if (!at) {
        values->failed = true;
        return 1;
    }
    values->at = at;
    at += values->n++;
    *at = (struct told_value){strdup(task), strdup(name), strdup(value)};
    values->failed |= !at->task || !at->name || !at->value;
    return values->failed;
}

static int add_of_run(void *context, const struct cairn_value_info *info)
{
    return told_values_add(context, info->task, info->name, info->value);
}

int told_values_read(struct told_values *values, struct cairn_store *store,
                     uint64_t run, const char *task)
{
    struct cairn_error error = {0};
    *values = (struct told_values){.at = NULL};
    int rc = cairn_values(store, run, task, add_of_run, values, &error);
    if (values->failed) {
        ui_warn("out of memory");
        return EXIT_SYSTEM;
    }
    if (rc == CAIRN_EDAMAGED) { /* what is told beside them stands */
        ui_error(error.text);
        return 0;
    }
    /* One that is new in the workflow has told nothing. */
    return rc == 0 || (task && rc == CAIRN_ENOTFOUND) ? 0 : report_error(&error);
}

void told_values_release(struct told_values *values)
{
    for (size_t i = 0; i < values->n; i++) {
        free(values->at[i].task);
        free(values->at[i].name);
        free(values->at[i].value);
    }
    free(values->at);
    *values = (struct told_values){.at = NULL};
}

static int by_task(const void *x, const void *y)
{
    const struct told_value *a = x, *b = y;
    int order = strcmp(a->task, b->task);
    return order != 0 ? order : strcmp(a->name, b->name);
}

/* The first of this task, or where it would be. */
static size_t first_of(struct told_values *values, const char *task)
{
    size_t low = 0, high = values->n;
    if (!values->sorted && values->n > 0)
        qsort(values->at, values->n, sizeof *values->at, by_task);
    values->sorted = true;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(values->at[middle].task, task) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void told_values_document(struct told_values *values, struct doc *doc, const char *task)
{
    doc_object(doc, "values");
    for (size_t i = first_of(values, task);
         i < values->n && strcmp(values->at[i].task, task) == 0; i++)
        doc_text(doc, values->at[i].name, values->at[i].value);
    doc_end(doc);
}

void told_values_print(struct told_values *values, const char *task)
{
    for (size_t i = first_of(values, task);
         i < values->n && strcmp(values->at[i].task, task) == 0; i++)
        out("      %s = %s\n", values->at[i].name, values->at[i].value);
}

int64_t task_row_duration(const struct cairn_task_info *task)
{
    int64_t end = task->running ? wall_ns() : task->ended_ns;
    return task->started_ns != 0 && end != 0 ? (end - task->started_ns) / 1000000 : -1;
}

struct task_row task_row_of(const struct cairn_task_info *task)
{
    struct task_row row = {.task = *task,
                           .all_ms = task_spent_ms(task, wall_ns()),
                           .latest = task->latest,
                           .latest_ms = task->latest_ms,
                           .first_started_ns = task->latest_started_ns};
    if (!task->running || task->started_ns == 0)
        return row;
    int64_t took = task_row_duration(task);
    if (row.latest++ == 0)
        row.first_started_ns = task->started_ns;
    row.latest_ms += took;
    return row;
}

/* ---- Which ---- */

static bool is_wanted(const struct settings *settings,
                      const struct cairn_task_info *task)
{
    const char *list = settings->text[OPT_ONLY_STATES];
    if (!settings->given[OPT_ONLY_STATES])
        return true;
    return state_list_has(list, task_state_word(task)) ||
           (task->outcome == CAIRN_EXCLUDED && state_list_has(list, "skipped"));
}

/* In one piece of memory. NULL: there are none, or no memory. */
static struct cairn_param *copy_values(const struct cairn_param *from, size_t n)
{
    size_t size = n * sizeof *from;
    for (size_t i = 0; i < n; i++)
        size += strlen(from[i].name) + strlen(from[i].value) + 2;
    struct cairn_param *to = n ? malloc(size) : NULL;
    char *end = (char *)(to ? to + n : NULL);
    for (size_t i = 0; to && i < n; i++) {
        to[i].name = end;
        end = stpcpy(end, from[i].name) + 1;
        to[i].value = end;
        end = stpcpy(end, from[i].value) + 1;
    }
    return to;
}

bool task_rows_add(struct task_rows *rows, const struct cairn_task_info *task)
{
    if (rows->n == rows->capacity) {
        size_t capacity = rows->capacity ? 2 * rows->capacity : 64;
        struct task_row *at = realloc(rows->at, capacity * sizeof *at);
        if (!at) {
            rows->failed = true;
            return false;
        }
        rows->at = at;
        rows->capacity = capacity;
    }
    rows->at[rows->n] = task_row_of(task);
    struct cairn_task_info *row = &rows->at[rows->n++].task;
    row->id = strdup(task->id);
    row->text = task->text ? strdup(task->text) : NULL;
    row->cause = task->cause ? strdup(task->cause) : NULL;
    row->foreach = copy_values(task->foreach, task->n_foreach);
    row->n_foreach = row->foreach ? task->n_foreach : 0;
    rows->failed |= !row->id || row->n_foreach != task->n_foreach ||
                    (task->text && !row->text) || (task->cause && !row->cause);
    return !rows->failed;
}

struct row_reader {
    struct task_rows *rows;
    const struct settings *settings;
};

static int add_row(void *context, const struct cairn_task_info *task)
{
    const struct row_reader *reader = context;
    return is_wanted(reader->settings, task) && !task_rows_add(reader->rows, task);
}

/* ---- In which order ---- */

static int by_node(const struct cairn_task_info *a, const struct cairn_task_info *b)
{
    return (a->node > b->node) - (a->node < b->node);
}

static int by_duration(const void *x, const void *y)
{
    const struct task_row *a = x, *b = y;
    return a->all_ms != b->all_ms ? (a->all_ms < b->all_ms) - (a->all_ms > b->all_ms)
                                  : by_node(&a->task, &b->task);
}

/* What has not started comes last. */
static int by_start(const void *x, const void *y)
{
    const struct cairn_task_info *a = &((const struct task_row *)x)->task;
    const struct cairn_task_info *b = &((const struct task_row *)y)->task;
    if ((a->started_ns == 0) != (b->started_ns == 0))
        return a->started_ns == 0 ? 1 : -1;
    return a->started_ns != b->started_ns
               ? (a->started_ns > b->started_ns) - (a->started_ns < b->started_ns)
               : by_node(a, b);
}

static int by_name(const void *x, const void *y)
{
    const struct task_row *a = x, *b = y;
    return strcmp(a->task.id, b->task.id);
}

static void sort_rows(struct task_rows *rows, uint64_t order)
{
    static int (*const orders[])(const void *, const void *) = {NULL, by_duration,
                                                                by_start, by_name};
    if (orders[order] && rows->n > 0)
        qsort(rows->at, rows->n, sizeof *rows->at, orders[order]);
}

int task_rows_read(struct task_rows *rows, const struct settings *settings,
                   struct cairn_store *store, uint64_t run)
{
    struct row_reader reader = {rows, settings};
    struct cairn_error error = {0};
    *rows = (struct task_rows){.at = NULL};
    if (cairn_run_tasks(store, run, add_row, &reader, &error) != 0)
        return report_error(&error);
    if (rows->failed)
        return report_nomem();
    sort_rows(rows, settings->number[OPT_SORT_TASKS]);
    return 0;
}

void task_rows_release(struct task_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        free((void *)(uintptr_t)rows->at[i].task.id);
        free((void *)(uintptr_t)rows->at[i].task.text);
        free((void *)(uintptr_t)rows->at[i].task.cause);
        free((void *)(uintptr_t)rows->at[i].task.foreach);
    }
    free(rows->at);
    *rows = (struct task_rows){.at = NULL};
}

/* ---- Groups ---- */

size_t task_rows_group(const struct task_rows *rows, size_t i)
{
    const char *id = rows->at[i].task.id;
    size_t n = strcspn(id, "["), end = i + 1;
    while (id[n] == '[' && end < rows->n &&
           strncmp(rows->at[end].task.id, id, n + 1) == 0)
        end++;
    return end - i;
}

int task_rows_width(const struct task_rows *rows, bool folded)
{
    int width = 0;
    for (size_t i = 0, n; i < rows->n; i += n) {
        n = folded ? task_rows_group(rows, i) : 1;
        if (n > FOLDED_MEMBERS)
            continue;
        n = 1;
        width = name_column(width, rows->at[i].task.id, strlen(rows->at[i].task.id));
    }
    return width;
}

static void print_counts(const struct task_rows *rows, size_t i, size_t n)
{
    enum { MOST = 16 };
    const char *words[MOST], *between = "";
    uint32_t counts[MOST] = {0};
    size_t used = 0;
    for (size_t k = i; k < i + n; k++) {
        const char *word = task_state_word(&rows->at[k].task);
        size_t at = 0;
        while (at < used && strcmp(words[at], word) != 0)
            at++;
        if (at == used && used < MOST)
            words[used++] = word;
        counts[at < MOST ? at : MOST - 1]++;
    }
    for (size_t at = 0; at < used; at++) {
        bool pending = strcmp(words[at], "pending") == 0;
        out("%s%u %s", between, counts[at], pending ? "not run" : words[at]);
        between = ", ";
    }
}

void task_rows_print_group(const struct task_rows *rows, size_t i, size_t n)
{
    char least_text[FORMAT_MAX], most_text[FORMAT_MAX];
    int64_t least = -1, most = -1;
    for (size_t k = i; k < i + n; k++) {
        int64_t took = rows->at[k].all_ms;
        if (took < 0)
            continue;
        least = least < 0 || took < least ? took : least;
        most = took > most ? took : most;
    }
    out("  %5zu tasks  %.*s  ", n, (int)strcspn(rows->at[i].task.id, "["),
        rows->at[i].task.id);
    print_counts(rows, i, n);
    if (most >= 0)
        out("  %s to %s", format_duration(least_text, least),
            format_duration(most_text, most));
    out("\n");
}

/* cairn values: what tasks have told for later ones. */

struct value_listing {
    struct doc *doc; /* with --json */
    const char
        *task;      /* only of it, or of the group, the part or the pattern; or NULL */
    uint32_t tasks; /* how many these are; 0: it is the id of a task, or unknown */
    const char *name; /* only this one; NULL: all */
    uint32_t shown;
};

static int count_task(void *context, const struct cairn_task_info *task)
{
    struct value_listing *listing = context;
    bool exact = strcmp(listing->task, task->id) == 0;
    listing->tasks += cairn_name_matches(listing->task, task->id);
    if (exact)
        listing->tasks = 0;
    return exact;
}

static int add_value(struct doc *doc, const struct cairn_value_info *info)
{
    doc_object(doc, NULL);
    doc_text(doc, "task", info->task);
    doc_text(doc, "name", info->name);
    doc_text(doc, "value", info->value);
    doc_end(doc);
    return 0;
}

/* A value that was asked for by its name is printed as it is: for $( ). */
static void print_alone(const char *value)
{
    if (ui_terminal(1))
        out_lines(value, strlen(value));
    else
        out_raw(value, strlen(value));
    out("\n");
}

static int show_value(void *context, const struct cairn_value_info *info)
{
    struct value_listing *listing = context;
    if (listing->name && strcmp(listing->name, info->name) != 0)
        return 0;
    if (listing->tasks > 0 && !cairn_name_matches(listing->task, info->task))
        return 0;
    listing->shown++;
    if (listing->doc)
        return add_value(listing->doc, info);
    if (listing->name && listing->tasks <= 1)
        print_alone(info->value);
    else
        out("%s  %s = %s\n", info->task, info->name, info->value);
    return ui_output_lost();
}

/* No value of this name, or none at all. */
static int report_none(const struct value_listing *listing, uint64_t run)
{
    const char *task = listing->task;
    unsigned long long number = run;
    if (listing->name) {
        char *word = shell_word(task), who[64] = "task ";
        bool some = listing->tasks > 1;
        if (some)
            snprintf(who, sizeof who, "none of the %u tasks of ", listing->tasks);
        int status = report_failure(
            EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
            "%s%s has reported %s value %s in run %llu: `cairn values %s --run %llu` "
            "shows what %s reported",
            who, task, some ? "a" : "no", listing->name, number, word ? word : "TASK",
            number, some ? "they have" : "it has");
        free(word);
        return status;
    }
    if (!task)
        say("no task of run %llu has reported a value", number);
    else if (listing->tasks > 1)
        say("none of the %u tasks of %s has reported a value in run %llu",
            listing->tasks, task, number);
    else
        say("task %s has reported no value in run %llu", task, (unsigned long long)run);
    return 0;
}

static int list_values(struct settings *settings, struct cairn_store *store,
                       uint64_t run)
{
    struct doc doc = {0};
    struct value_listing listing = {
        .doc = ui_json() ? &doc : NULL,
        .task = settings->n_operands > 0 ? settings->operands[0] : NULL,
        .name = settings->n_operands > 1 ? settings->operands[1] : NULL};
    const char *task = listing.task;
    struct cairn_error error = {0};
    if (task && cairn_run_tasks(store, run, count_task, &listing, &error) != 0)
        return report_error(&error);
    if (listing.doc) {
        doc_begin(&doc);
        doc_count(&doc, "run", run);
        doc_array(&doc, "values");
    }
    if (cairn_values(store, run, listing.tasks > 0 ? NULL : task, show_value, &listing,
                     &error) != 0) {
        if (listing.doc)
            doc_discard(&doc);
        out_flush();
        return task ? missing_task(store, run, task, &error) : report_error(&error);
    }
    if (listing.shown == 0 && (listing.name || !listing.doc)) {
        if (listing.doc)
            doc_discard(&doc);
        return report_none(&listing, run);
    }
    return listing.doc ? doc_print(&doc) : 0;
}

int command_values(struct settings *settings)
{
    struct cairn_run_info run = {0};
    int status = store_for_reading(settings, &settings->store);
    if (status == 0)
        run_among_tasks(settings, settings->store);
    return status
           ?: run_option(settings, settings->store, &run)
           ?: list_values(settings, settings->store, run.run);
}
