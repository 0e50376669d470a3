/* SPDX-License-Identifier: MIT */
/* One point of the sweep: a command with a failing call, what it said and left, and the
 * commands after it. */
#include "faults.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct names {
    char name[TASKS_MAX][NAME_SIZE];
    unsigned starts[TASKS_MAX], n;
};

struct point {
    struct world *world;
    const struct sweep_case *c;
    const struct clean *clean;
    const char *fault;
    struct counts *counts;
    struct output first; /* of the command with the fault */
    bool bad;
};

__attribute__((format(printf, 3, 4))) static void blame(struct point *p,
                                                        unsigned *counter,
                                                        const char *format, ...)
{
    va_list rest;
    printf("# %s, CAIRN_FAULT=%s (%s), `cairn %s` on state %s: ", p->c->name, p->fault,
           p->world->page->call, p->c->line, p->c->state);
    va_start(rest, format);
    vprintf(format, rest);
    va_end(rest);
    putchar('\n');
    ++*counter;
    p->bad = true;
}

/* ---- Reading what cairn printed ---- */

/* The value of `key` in a line of JSON, without its quotes; "" if it has none. */
static void value_of(const char *line, const char *key, char *out, size_t size)
{
    char pattern[48];
    snprintf(pattern, sizeof pattern, "\"%s\":", key);
    const char *end = line + strcspn(line, "\n"), *at = strstr(line, pattern);
    out[0] = 0;
    if (!at || at >= end)
        return;
    at += strlen(pattern);
    at += *at == '"';
    snprintf(out, size, "%.*s", (int)strcspn(at, "\",}\n"), at);
}

static unsigned find(const struct names *names, const char *name)
{
    unsigned i = 0;
    while (i < names->n && strcmp(names->name[i], name) != 0)
        i++;
    return i;
}

static unsigned add(struct names *names, const char *name)
{
    unsigned i = find(names, name);
    if (i == names->n && i < TASKS_MAX) {
        snprintf(names->name[i], NAME_SIZE, "%s", name);
        names->n++;
    }
    return i;
}

/* Tasks that a run reported as completed and saved. Those that were not saved when they
 * were reported are, if the run does not end with 9 or an error. */
static void acknowledged(const char *text, bool all, struct names *names)
{
    for (const char *line = text; line && *line;) {
        char type[NAME_SIZE], task[NAME_SIZE], outcome[NAME_SIZE], seq[NAME_SIZE];
        value_of(line, "type", type, sizeof type);
        value_of(line, "task", task, sizeof task);
        value_of(line, "outcome", outcome, sizeof outcome);
        value_of(line, "checkpoint", seq, sizeof seq);
        if (!strcmp(type, "task_finished") && !strcmp(outcome, "completed") && seq[0] &&
            (all || strcmp(seq, "null") != 0))
            add(names, task);
        line = strchr(line, '\n');
        line += line != NULL;
    }
}

/* Tasks that `status --tasks --json` lists as completed. */
static void recorded(const char *text, struct names *names)
{
    for (const char *at = text; (at = strstr(at, "{\"task\":")); at++) {
        char task[NAME_SIZE], state[NAME_SIZE];
        value_of(at, "task", task, sizeof task);
        value_of(at, "state", state, sizeof state);
        if (!strcmp(state, "completed"))
            add(names, task);
    }
}

/* How often the tasks in `names` have started. */
static void count_starts(struct names *names)
{
    char *text = file_read("work/log", NULL);
    memset(names->starts, 0, sizeof names->starts);
    for (char *line = text; line && *line;) {
        char *next = line + strcspn(line, "\n");
        next += *next != 0;
        if (!strncmp(line, "start ", 6)) {
            line[strcspn(line, "\n")] = 0;
            unsigned i = find(names, line + 6);
            if (i < names->n)
                names->starts[i]++;
        }
        line = next;
    }
    free(text);
}

/* The text with every number as one '#': times and sizes differ. */
static char *without_numbers(const char *text)
{
    char *out = malloc(strlen(text) + 1), *to = out;
    if (!out)
        abort();
    for (; *text; text++)
        if (!isdigit((unsigned char)*text))
            *to++ = *text;
        else if (to == out || to[-1] != '#')
            *to++ = '#';
    *to = 0;
    return out;
}

static void summarize(const char *status, char *out, size_t size)
{
    static const char *const keys[] = {"state",   "total",     "completed", "failed",
                                       "skipped", "cancelled", "excluded",  "undone",
                                       "unknown", "unsaved"};
    out[0] = 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char value[NAME_SIZE];
        size_t used = strlen(out);
        value_of(status, keys[i], value, sizeof value);
        snprintf(out + used, size - used, "%s %s ", keys[i], value);
    }
}

/* ---- Commands after the fault ---- */

/* Runs a command in which nothing fails; `allowed` lists how it may end. */
static bool after(struct point *p, const char *line, const char *allowed,
                  struct output *output)
{
    char status[16];
    if (!world_run(p->world, line, NULL, false, output))
        return false;
    snprintf(status, sizeof status, " %d ", output->status);
    if (!strstr(allowed, status))
        blame(p, &p->counts->other, "afterwards `cairn %s` ended with %d: %s%s", line,
              output->status, output->err, output->out);
    if (output->left[0])
        blame(p, &p->counts->other, "afterwards `cairn %s` left %s", line,
              output->left);
    return true;
}

static bool after_quiet(struct point *p, const char *line, const char *allowed)
{
    struct output output;
    bool good = after(p, line, allowed, &output);
    if (good)
        output_release(&output);
    return good;
}

static bool carry_on(struct point *p)
{
    struct output output;
    switch (p->c->finish) {
    case NO_FINISH:
        return true;
    case RUN: /* if nothing was stored, it begins anew */
        if (!after(p, "resume", " 0 10 ", &output))
            return false;
        output_release(&output);
        return output.status != 10 || after_quiet(p, "run flow.yaml", " 0 ");
    case RESUME:
        return after_quiet(p, "resume", " 0 ");
    case EXTERNAL:
        return after_quiet(p, "resume --no-wait", " 0 7 ") &&
               after_quiet(p, "complete 1 x", " 0 2 ") &&
               after_quiet(p, "resume", " 0 ");
    case RESOLVE:
        return after_quiet(p, "resolve 1 d done", " 0 2 ") &&
               after_quiet(p, "resume", " 0 ");
    case UNDO:
        return after_quiet(p, "undo 2", " 0 2 ");
    }
    return false;
}

/* ---- Judging ---- */

static bool same_bytes(const char *a, const char *b)
{
    size_t size_a = 0, size_b = 0;
    char *text_a = file_read(a, &size_a), *text_b = file_read(b, &size_b);
    bool same = size_a == size_b && !text_a == !text_b &&
                (!text_a || memcmp(text_a, text_b, size_a) == 0);
    free(text_a);
    free(text_b);
    return same;
}

static bool store_untouched(const struct sweep_case *c)
{
    static const char *const files[] = {"cairn.db", "cairn.db-wal"};
    for (size_t i = 0; i < 2; i++) {
        char one[128], two[128];
        snprintf(one, sizeof one, "work/.cairn/%s", files[i]);
        snprintf(two, sizeof two, "states/%s/.cairn/%s", c->state, files[i]);
        if (!same_bytes(one, two))
            return false;
    }
    return true;
}

static bool may_end(const struct point *p, int status)
{
    if (status == p->clean->status || status == 75)
        return true;
    if (status == 9 && p->c->run)
        return true;
    /* A task that cairn had no memory for has failed, and so has an undo whose text is
     * lost; both say so. */
    if (status == 1 && p->c->run &&
        (strstr(p->first.out, "memory") || strstr(p->first.err, "memory")))
        return true;
    /* So has a task whose condition needs what cannot be read. */
    if (status == 1 && p->c->run && strstr(p->fault, "sqlite") &&
        strstr(p->first.out, "cannot be evaluated"))
        return true;
    /* The doctor calls a store bad that cannot be read. */
    if (status == 5 && !strncmp(p->c->name, "doctor", 6) && strstr(p->fault, "sqlite"))
        return true;
    /* An undo whose action cannot be read, for whatever reason, has failed. */
    if (status == 1 && !strncmp(p->c->name, "undo", 4) && strstr(p->fault, "sqlite"))
        return true;
    return status == 5 && strstr(p->fault, "CORRUPT");
}

/* A task's failure and the doctor's findings are what was asked for; that a run could not
 * save something is told by a notice. */
static bool told_as_data(const struct point *p)
{
    const struct output *o = &p->first;
    if (o->status == 9)
        return strstr(o->out, "\"type\":\"notice\"") != NULL;
    return o->out[0] &&
           (o->status == 1 || o->status == 5 || !strncmp(p->c->name, "doctor", 6));
}

static void judge_end(struct point *p)
{
    const struct output *o = &p->first;
    unsigned *other = &p->counts->other;
    if (o->status == HUNG)
        blame(p, other, "it hung");
    else if (o->status > SIGNALLED)
        blame(p, other, "signal %d ended it: %s", o->status - SIGNALLED, o->err);
    else if (o->status == LEAKED)
        blame(p, other, "%s", o->err);
    else if (!may_end(p, o->status))
        blame(p, other, "exit status %d: %s%s", o->status, o->err, o->out);
    else if (o->status != 0 && !o->err[0] && !told_as_data(p))
        blame(p, other, "exit status %d without a word: %s", o->status, o->out);
    if (o->left[0])
        blame(p, other, "%s was left", o->left);
}

static bool is_decision(const struct sweep_case *c)
{
    return !strncmp(c->line, "plan", 4) || !strncmp(c->line, "explain", 7);
}

/* Where memory is short, reasons are told in general words: what would run counts. */
static void drop_details(char *text)
{
    char *to = text;
    bool json = *text == '{';
    for (unsigned words = 0; *text; text++) {
        if (json && !strncmp(text, "\"detail\":\"", 10)) {
            text += 10;
            text += strcspn(text, "\"");
        }
        words = *text == '\n' ? 0 : words + (*text == ' ' && text[1] != ' ');
        if (json || words < 2)
            *to++ = *text;
    }
    *to = 0;
}

static void judge_text(struct point *p)
{
    if (p->c->changes || p->first.status != p->clean->status)
        return;
    if (strstr(p->fault, "CORRUPT") &&
        (strstr(p->first.out, "damaged") || strstr(p->first.err, "damaged")))
        return; /* it went on without what it found damaged, and said so */
    char *text = without_numbers(p->first.out);
    if (is_decision(p->c))
        drop_details(text);
    if (strcmp(text, p->clean->text) != 0)
        blame(p, &p->counts->other, "exit status %d and other words: %s%s",
              p->first.status, p->first.out, p->first.err);
    free(text);
}

/* What was told is stored, what is stored does not happen again, and all ends well. */
static bool judge_store(struct point *p)
{
    struct names told = {.n = 0}, stored = {.n = 0};
    struct output output;
    unsigned before[TASKS_MAX];
    acknowledged(p->first.out, p->first.status != 9 && p->first.status != 75, &told);
    if (!after(p, "status --tasks --json", " 0 10 ", &output))
        return false;
    bool unmade = output.status == 10;
    recorded(output.out, &stored);
    output_release(&output);
    for (unsigned i = 0; i < told.n; i++)
        if (find(&stored, told.name[i]) == stored.n)
            blame(p, &p->counts->lost, "%s was reported as completed and is not stored",
                  told.name[i]);
    if (!after_quiet(p, "checkpoint verify", unmade ? " 0 10 " : " 0 "))
        return false;
    count_starts(&stored);
    memcpy(before, stored.starts, sizeof before);
    if (!carry_on(p))
        return false;
    count_starts(&stored);
    for (unsigned i = 0; i < stored.n; i++)
        if (stored.starts[i] != before[i] && strcmp(stored.name[i], "r") != 0)
            blame(p, &p->counts->repeated, "%s was stored as completed and ran again",
                  stored.name[i]);
    return true;
}

static bool final_state(struct point *p, char *summary, size_t size)
{
    struct output output;
    if (!after(p, "status --json", " 0 10 ", &output))
        return false;
    summarize(output.out, summary, size);
    output_release(&output);
    return after_quiet(p, "checkpoint verify", output.status == 10 ? " 10 " : " 0 ");
}

/* Read-only commands need no fresh directory as long as they keep to that. */
static bool fresh(struct world *world, const struct sweep_case *c)
{
    char path[64];
    if (!c->changes && world->state && strcmp(world->state, c->state) == 0)
        return true;
    snprintf(path, sizeof path, "states/%s", c->state);
    world->state = c->changes ? NULL : c->state;
    return tree_remove("work") && tree_copy(path, "work");
}

static bool judge_rest(struct point *p)
{
    char summary[LINE_SIZE];
    if (!p->c->changes) {
        if (!store_untouched(p->c))
            blame(p, &p->counts->other, "it changed the store");
        return true;
    }
    if (!judge_store(p))
        return false;
    if (p->c->finish == NO_FINISH)
        return true;
    if (!final_state(p, summary, sizeof summary))
        return false;
    if (strcmp(summary, p->clean->summary) != 0)
        blame(p, &p->counts->other, "it ended as %s, not as %s", summary,
              p->clean->summary);
    return true;
}

bool judge_point(struct world *world, const struct sweep_case *c,
                 const struct clean *clean, const char *fault, struct counts *counts)
{
    struct point p = {
        .world = world, .c = c, .clean = clean, .fault = fault, .counts = counts};
    char call[FAULT_CALL];
    if (!fresh(world, c) || !world_run(world, c->line, fault, false, &p.first))
        return false;
    counts->points++;
    counts->fired += world->page->fired > 0;
    memcpy(call, world->page->call, sizeof call);
    judge_end(&p);
    judge_text(&p);
    memcpy(world->page->call, call, sizeof call);
    bool good = judge_rest(&p);
    output_release(&p.first);
    if (p.bad)
        world->state = NULL;
    return good;
}

bool judge_clean(struct world *world, const struct sweep_case *c, const char *fault,
                 struct clean *clean)
{
    struct counts counts = {0};
    struct point p = {
        .world = world, .c = c, .clean = clean, .fault = fault, .counts = &counts};
    memset(clean, 0, sizeof *clean);
    if (!fresh(world, c) || !world_run(world, c->line, fault, true, &p.first))
        return false;
    clean->status = p.first.status;
    clean->text = without_numbers(p.first.out);
    if (is_decision(c))
        drop_details(clean->text);
    judge_end(&p);
    uint64_t seen = world->page->seen;
    if (p.c->changes &&
        !(judge_store(&p) && final_state(&p, clean->summary, sizeof clean->summary)))
        return false;
    world->page->seen = seen;
    output_release(&p.first);
    return !p.bad;
}

void clean_release(struct clean *clean)
{
    free(clean->text);
    clean->text = NULL;
}
