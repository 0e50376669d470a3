/* SPDX-License-Identifier: MIT */
/* cairn diff: what differs between two runs. Each run becomes a list of facts about its
 * tasks, in one order; where the lists differ, the runs do. */
#include "base/memory.h"
#include "base/words.h"
#include "cli/commands/commands.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <stdlib.h>
#include <string.h>

/* In the order in which they are shown for a task. */
enum fact_kind {
    FACT_STATE, /* every task has one: without it, it is not there */
    FACT_EXIT,
    FACT_SIGNAL,
    FACT_ATTEMPTS,
    FACT_TOOK,
    FACT_VALUE,
    FACT_OUTPUT,
    FACT_PARAM, /* of the run: `task` is empty */
    FACT_FIELD  /* of the definition: comes as a difference */
};
static const char *const fact_words[] = {"state",    "exit",  "signal",
                                         "attempts", "took",  "value",
                                         "output",   "param", "definition"};

struct fact {
    const char *task, *name; /* of the value, output, param or field; else "" */
    const char *text;
    int64_t number; /* FACT_TOOK: milliseconds */
    enum fact_kind kind;
};

struct facts {
    struct arena arena;
    struct fact *at;
    size_t n, capacity;
    bool failed; /* out of memory */
    int64_t now_ns;
};

static void add_fact(struct facts *facts, enum fact_kind kind, const char *task,
                     const char *name, const char *text)
{
    struct fact *at = array_room(facts->at, facts->n, &facts->capacity, sizeof *at);
    facts->failed |= !at;
    if (!at)
        return;
    facts->at = at;
    at[facts->n++] = (struct fact){.task = arena_text(&facts->arena, str_of(task)),
                                   .name = arena_text(&facts->arena, str_of(name)),
                                   .text = arena_text(&facts->arena, str_of(text)),
                                   .kind = kind};
}

static void add_number(struct facts *facts, enum fact_kind kind, const char *task,
                       int64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    add_fact(facts, kind, task, "", digits);
}

static int add_task(void *context, const struct cairn_task_info *task)
{
    struct facts *facts = context;
    char took[FORMAT_MAX];
    int64_t ms = task_spent_ms(task, facts->now_ns);
    bool ended = task_has_own_times(task) && !task->running;
    add_fact(facts, FACT_STATE, task->id, "", task_state_word(task));
    if (ended && task->exit_code > 0)
        add_number(facts, FACT_EXIT, task->id, task->exit_code);
    if (ended && task->signal > 0)
        add_number(facts, FACT_SIGNAL, task->id, task->signal);
    if (task->attempts > 0)
        add_number(facts, FACT_ATTEMPTS, task->id, task->attempts);
    if (ended && ms >= 0) {
        add_fact(facts, FACT_TOOK, task->id, "", format_duration(took, ms));
        if (!facts->failed)
            facts->at[facts->n - 1].number = ms;
    }
    return facts->failed;
}

static int add_value(void *context, const struct cairn_value_info *value)
{
    struct facts *facts = context;
    add_fact(facts, FACT_VALUE, value->task, value->name, value->value);
    return facts->failed;
}

static int add_output(void *context, const struct cairn_task_file *file)
{
    struct facts *facts = context;
    char size[FORMAT_MAX], text[FORMAT_MAX + 32];
    if (file->input)
        return 0;
    snprintf(text, sizeof text, "%s%s%.12s",
             file->directory ? "directory" : format_bytes(size, file->size),
             file->sha256 ? ", sha256 " : "", file->sha256 ? file->sha256 : "");
    add_fact(facts, FACT_OUTPUT, file->task, file->name, text);
    return facts->failed;
}

static int add_param(void *context, const char *name, const char *value)
{
    struct facts *facts = context;
    add_fact(facts, FACT_PARAM, "", name, value);
    return facts->failed;
}

/* By task, kind and name: those of the run come first. */
static int fact_order(const void *a, const void *b)
{
    const struct fact *x = a, *y = b;
    int order = strcmp(x->task, y->task);
    if (order == 0)
        order = (x->kind > y->kind) - (x->kind < y->kind);
    return order != 0 ? order : strcmp(x->name, y->name);
}

static int gather(struct facts *facts, struct cairn_store *store, uint64_t run)
{
    struct cairn_error error = {0};
    facts->now_ns = wall_ns();
    int rc = cairn_run_params(store, run, add_param, facts, &error)
                 ?: cairn_run_tasks(store, run, add_task, facts, &error)
                 ?: cairn_values(store, run, NULL, add_value, facts, &error)
                 ?: cairn_task_files(store, run, NULL, add_output, facts, &error);
    if (facts->failed || facts->arena.failed)
        return report_nomem();
    if (rc != 0)
        return report_error(&error);
    qsort(facts->at, facts->n, sizeof *facts->at, fact_order);
    return 0;
}

/* ---- What differs ---- */

struct difference {
    struct fact about;     /* without its text */
    const char *from, *to; /* NULL: it is not there */
};

struct differences {
    struct facts from, to;
    struct arena arena; /* of the definitions */
    struct difference *at;
    size_t n, capacity;
    uint64_t tasks, added, removed, changed; /* tasks: of `to` */
    bool failed;
};

static void add_difference(struct differences *d, const struct fact *about,
                           const char *from, const char *to)
{
    struct difference *at = array_room(d->at, d->n, &d->capacity, sizeof *at);
    d->failed |= !at;
    if (!at)
        return;
    d->at = at;
    at[d->n++] = (struct difference){*about, from, to};
}

/* Times of two runs always differ: by a second and by half is worth a line. */
static bool is_equal(const struct fact *a, const struct fact *b)
{
    enum { WORTH_MS = 1000 };
    int64_t less = a->number < b->number ? a->number : b->number;
    int64_t more = a->number < b->number ? b->number : a->number;
    if (a->kind == FACT_TOOK)
        return more - less < WORTH_MS || more < less + less / 2;
    return strcmp(a->text, b->text) == 0;
}

/* The facts of one task, or of the run, in both. */
static void compare_task(struct differences *d, const struct fact *a, size_t n_a,
                         const struct fact *b, size_t n_b)
{
    while (n_a > 0 || n_b > 0) {
        int order = n_a == 0 ? 1 : n_b == 0 ? -1 : fact_order(a, b);
        const struct fact *fact = order <= 0 ? a : b;
        /* Of one that did not run, this is not known. */
        bool counts = fact->kind != FACT_ATTEMPTS && fact->kind != FACT_TOOK;
        if (order == 0 ? !is_equal(a, b) : counts)
            add_difference(d, fact, order <= 0 ? a->text : NULL,
                           order >= 0 ? b->text : NULL);
        a += order <= 0;
        n_a -= order <= 0;
        b += order >= 0;
        n_b -= order >= 0;
    }
}

static size_t length_of_task(const struct fact *at, size_t n)
{
    size_t length = n > 0;
    while (length > 0 && length < n && strcmp(at[length].task, at[0].task) == 0)
        length++;
    return length;
}

static void compare_facts(struct differences *d)
{
    const struct fact *a = d->from.at, *b = d->to.at;
    size_t n_a = d->from.n, n_b = d->to.n;
    while (n_a > 0 || n_b > 0) {
        int order = n_a == 0 ? 1 : n_b == 0 ? -1 : strcmp(a->task, b->task);
        size_t of_a = order <= 0 ? length_of_task(a, n_a) : 0;
        size_t of_b = order >= 0 ? length_of_task(b, n_b) : 0;
        const char *task = order <= 0 ? a->task : b->task;
        d->tasks += *task != '\0' && order >= 0;
        if (order == 0 || *task == '\0')
            compare_task(d, a, of_a, b, of_b);
        else if (order < 0) /* that it is not there is all there is to say */
            add_difference(d, a, a->text, NULL);
        else
            add_difference(d, b, NULL, b->text);
        a += of_a;
        n_a -= of_a;
        b += of_b;
        n_b -= of_b;
    }
}

/* A param is said once, for the run. */
static int add_change(void *context, const char *task, const char *field,
                      const char *old, const char *now)
{
    struct differences *d = context;
    if (strncmp(field, "param ", 6) == 0)
        return 0;
    const struct fact about = {.task = arena_text(&d->arena, str_of(task)),
                               .name = arena_text(&d->arena, str_of(field)),
                               .kind = FACT_FIELD};
    add_difference(d, &about, old ? arena_text(&d->arena, str_of(old)) : NULL,
                   now ? arena_text(&d->arena, str_of(now)) : NULL);
    return d->failed;
}

static int difference_order(const void *a, const void *b)
{
    return fact_order(&((const struct difference *)a)->about,
                      &((const struct difference *)b)->about);
}

static bool begins_task(const struct differences *d, size_t i)
{
    return i == 0 || strcmp(d->at[i - 1].about.task, d->at[i].about.task) != 0;
}

/* '+' and '-': only one of the runs has the task; else '~'. */
static char sign_of(const struct difference *at)
{
    return at->about.kind != FACT_STATE ? '~' : !at->from ? '+' : !at->to ? '-' : '~';
}

static int compare(struct differences *d, struct cairn_store *store, uint64_t from,
                   uint64_t to)
{
    struct cairn_error error = {0};
    int status = gather(&d->from, store, from) ?: gather(&d->to, store, to);
    if (status != 0)
        return status;
    compare_facts(d);
    int rc = cairn_run_changes(store, from, to, add_change, d, &error);
    if (d->failed || d->arena.failed)
        return report_nomem();
    if (rc != 0)
        return report_error(&error);
    if (d->n > 0)
        qsort(d->at, d->n, sizeof *d->at, difference_order);
    for (size_t i = 0; i < d->n; i++) {
        if (!begins_task(d, i) || *d->at[i].about.task == '\0')
            continue;
        d->added += sign_of(&d->at[i]) == '+';
        d->removed += sign_of(&d->at[i]) == '-';
        d->changed += sign_of(&d->at[i]) == '~';
    }
    return 0;
}

static void release(struct differences *d)
{
    arena_release(&d->from.arena);
    arena_release(&d->to.arena);
    arena_release(&d->arena);
    free(d->from.at);
    free(d->to.at);
    free(d->at);
}

/* ---- Shown ---- */

/* The beginning of a text, in one line. */
static void print_cut(const char *text)
{
    enum { SHOWN = 80 };
    char line[SHOWN + 1];
    size_t n = text_fit(text, SHOWN);
    memcpy(line, text, n);
    line[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (line[i] == '\n')
            line[i] = ' ';
    out("%s%s", line, text[n] != '\0' ? "…" : "");
}

static void print_fact(const struct difference *at, const char *indent)
{
    out("%s%s%s%s: ", indent, fact_words[at->about.kind], *at->about.name ? " " : "",
        at->about.name);
    print_cut(at->from ? at->from : "none");
    out(" -> ");
    print_cut(at->to ? at->to : "none");
    out("\n");
}

static void print_differences(const struct differences *d)
{
    for (size_t i = 0; i < d->n && !ui_output_lost(); i++) {
        const struct difference *at = &d->at[i];
        char sign = sign_of(at);
        if (*at->about.task == '\0') {
            print_fact(at, "");
            continue;
        }
        if (begins_task(d, i))
            out("%c %s%s%s\n", sign, at->about.task, sign == '~' ? "" : "  ",
                sign == '+'   ? at->to
                : sign == '-' ? at->from
                              : "");
        if (sign == '~')
            print_fact(at, "    ");
    }
}

static void add_fields(struct doc *doc, const struct differences *d, size_t *i)
{
    const char *task = d->at[*i].about.task;
    for (; *i < d->n && strcmp(d->at[*i].about.task, task) == 0; ++*i) {
        const struct difference *at = &d->at[*i];
        doc_object(doc, NULL);
        doc_text(doc, "field", fact_words[at->about.kind]);
        doc_text(doc, "name", *at->about.name ? at->about.name : NULL);
        doc_text(doc, "from", at->from);
        doc_text(doc, "to", at->to);
        doc_end(doc);
    }
}

static void add_side(struct doc *doc, const char *key, const struct cairn_run_info *run)
{
    doc_object(doc, key);
    doc_count(doc, "run", run->run);
    doc_text(doc, "workflow", run->workflow);
    doc_text(doc, "state", run_state_text(run));
    doc_end(doc);
}

static int print_document(const struct differences *d,
                          const struct cairn_run_info *from,
                          const struct cairn_run_info *to, bool counts_only)
{
    struct doc doc;
    size_t i = 0;
    doc_begin(&doc);
    add_side(&doc, "from", from);
    add_side(&doc, "to", to);
    if (!counts_only) {
        doc_array(&doc, "params");
        if (d->n > 0 && *d->at[0].about.task == '\0')
            add_fields(&doc, d, &i);
        doc_end(&doc);
        doc_array(&doc, "tasks");
        while (i < d->n) {
            char sign = sign_of(&d->at[i]);
            doc_object(&doc, NULL);
            doc_text(&doc, "task", d->at[i].about.task);
            doc_text(&doc, "change",
                     sign == '+'   ? "added"
                     : sign == '-' ? "removed"
                                   : "changed");
            doc_array(&doc, "fields");
            add_fields(&doc, d, &i);
            doc_end(&doc);
            doc_end(&doc);
        }
        doc_end(&doc);
    }
    doc_count(&doc, "changed", d->changed);
    doc_count(&doc, "added", d->added);
    doc_count(&doc, "removed", d->removed);
    doc_count(&doc, "same", d->tasks - d->added - d->changed);
    return doc_print(&doc);
}

static void print_sum(const struct differences *d, const struct cairn_run_info *from,
                      const struct cairn_run_info *to)
{
    if (strcmp(from->workflow, to->workflow) == 0)
        out("runs %llu (%s) and %llu (%s) of %s", (unsigned long long)from->run,
            run_state_text(from), (unsigned long long)to->run, run_state_text(to),
            to->workflow);
    else
        out("run %llu of %s (%s) and run %llu of %s (%s)",
            (unsigned long long)from->run, from->workflow, run_state_text(from),
            (unsigned long long)to->run, to->workflow, run_state_text(to));
    out(": %llu task%s changed, %llu added, %llu removed, %llu the same\n",
        (unsigned long long)d->changed, plural(d->changed),
        (unsigned long long)d->added, (unsigned long long)d->removed,
        (unsigned long long)(d->tasks - d->added - d->changed));
}

/* Without FROM, the run of the same workflow before TO. */
struct earlier {
    uint64_t than, run;
};

static int take_earlier(void *context, const struct cairn_run_info *run)
{
    struct earlier *earlier = context;
    if (run->run >= earlier->than)
        return 0;
    earlier->run = run->run;
    return 1;
}

static int find_earlier(struct cairn_store *store, const struct cairn_run_info *to,
                        struct cairn_run_info *from)
{
    struct earlier earlier = {.than = to->run};
    struct cairn_error error = {0};
    const struct cairn_page every = {.all = true};
    int rc =
        cairn_runs(store, to->workflow, &every, take_earlier, &earlier, NULL, &error);
    if (rc == 0 && earlier.run == 0)
        return report_failure(EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
                              "there is no run of %s before run %llu: give both runs",
                              to->workflow, (unsigned long long)to->run);
    return report_code(rc ?: cairn_run_get(store, earlier.run, from, &error), &error);
}

int command_diff(struct settings *settings)
{
    struct cairn_run_info from = {0}, to = {0};
    struct differences d = {.at = NULL};
    bool both = settings->n_operands == 2;
    int status = store_for_reading(settings, &settings->store)
                     ?: run_operand(settings, both, settings->store, &to);
    if (status == 0)
        status = both ? run_operand(settings, 0, settings->store, &from)
                      : find_earlier(settings->store, &to, &from);
    if (status == 0)
        status = compare(&d, settings->store, from.run, to.run);
    if (status == 0 && ui_json()) {
        status = print_document(&d, &from, &to, settings->given[OPT_RUN_STAT]);
    } else if (status == 0) {
        if (!settings->given[OPT_RUN_STAT])
            print_differences(&d);
        print_sum(&d, &from, &to);
    }
    release(&d);
    return status;
}
