/* SPDX-License-Identifier: MIT */
/* Texts escaped for Markdown, and the failed tasks of a report. */
#include "cli/markdown.h"

#include "cli/format.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* Whether the character begins something that is not text, wherever it stands. An
 * underscore within a word does not. */
static bool is_special(const char *line, size_t at, size_t n)
{
    char c = line[at];
    if (c == '_')
        return at == 0 || at + 1 == n || !is_word(line[at - 1]) ||
               !is_word(line[at + 1]);
    if (c == ':') /* of http://x, which is a link without any brackets */
        return at + 2 < n && line[at + 1] == '/' && line[at + 2] == '/';
    if (c == '.') /* of www.x */
        return at >= 3 && strncasecmp(&line[at - 3], "www", 3) == 0;
    if (c == '&')
        return at + 1 < n && (is_word(line[at + 1]) || line[at + 1] == '#');
    return c != '\0' && strchr("\\`*[]<|~$", c) != NULL;
}

/* The character of a line that would make a heading, a list or a quotation of it; n:
 * none. */
static size_t special_start(const char *line, size_t n)
{
    size_t digits = 0;
    while (digits < n && isdigit((unsigned char)line[digits]))
        digits++;
    if (digits > 0)
        return digits < n && (line[digits] == '.' || line[digits] == ')') ? digits : n;
    return n > 0 && strchr("#-+=>:", line[0]) ? 0 : n;
}

/* One line, in which no control characters are. */
static void put_line(FILE *file, const char *line, size_t n)
{
    size_t start = special_start(line, n);
    for (size_t at = 0; at < n; at++) {
        if (at == start || is_special(line, at, n))
            fputc('\\', file);
        fputc(line[at], file);
    }
}

/* Without blanks around it, which would make code of it or a line break. */
static void put_escaped(FILE *file, const char *text, size_t n)
{
    static const char blanks[] = " \t\r";
    char *line;
    size_t length;
    while (n > 0 && text[0] != '\0' && strchr(blanks, text[0])) {
        text++;
        n--;
    }
    while (n > 0 && text[n - 1] != '\0' && strchr(blanks, text[n - 1]))
        n--;
    line = malloc(n * ESCAPE_FACTOR + 1);
    length = line ? escape_line(line, text, n) : 0;
    put_line(file, line, length);
    if (!line && n > 0)
        fputs("(out of memory)", file);
    free(line);
}

void markdown_words(FILE *file, const char *text)
{
    char *words = strdup(text);
    if (!words)
        return put_escaped(file, text, 0);
    for (char *at = words; *at != '\0'; at++)
        if (*at == '\n' || *at == '\t' || *at == '\r')
            *at = ' ';
    put_escaped(file, words, strlen(words));
    free(words);
}

static bool is_blank(const char *text, size_t n)
{
    return strspn(text, " \t\r") >= n;
}

void markdown_lines(FILE *file, const char *text, const char *indent, unsigned most)
{
    unsigned shown = 0, more = 0;
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        bool blank = is_blank(text, n);
        if (!blank && shown < most) {
            fprintf(file, "%s%s", shown > 0 ? "\n" : "", shown > 0 ? indent : "");
            put_escaped(file, text, n);
        }
        more += !blank && shown == most;
        shown += !blank && shown < most;
        text += n + (text[n] == '\n');
    }
    if (more > 0)
        fprintf(file, "\n%s(and %u more line%s)", indent, more, plural(more));
}

/* Where its last lines begin. */
static size_t last_lines(const char *bytes, size_t n, unsigned most)
{
    size_t at = n;
    if (at > 0 && bytes[at - 1] == '\n')
        at--;
    while (at > 0) {
        if (bytes[at - 1] == '\n' && --most == 0)
            break;
        at--;
    }
    return at;
}

void markdown_block(FILE *file, const char *bytes, size_t n, const char *indent,
                    unsigned most)
{
    size_t at = last_lines(bytes, n, most);
    while (at < n) {
        const char *end = memchr(bytes + at, '\n', n - at);
        size_t length = end ? (size_t)(end - bytes) - at : n - at;
        char *line = malloc(length * ESCAPE_FACTOR + 1);
        size_t shown = line ? escape_line(line, bytes + at, length) : 0;
        fprintf(file, "%s%.*s\n", shown > 0 ? indent : "", (int)shown, line);
        free(line);
        at += length + 1;
    }
}

enum { TAIL_LINES = 15 };

struct failure {
    char id[CAIRN_ID_MAX]; /* of the checkpoint that names it */
    uint64_t run, checkpoint;
    uint32_t attempt;
    int exit_code, signal;
    char *task;
    char *tail; /* the block of Markdown; heap */
    size_t order;
    /* What the store has of it now. */
    bool known; /* that attempt, with that end */
    enum cairn_outcome outcome;
    bool running;
    uint32_t newest;
    int64_t ended_ns;
};

void put_time(FILE *file, int64_t time_ns)
{
    time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm tm;
    char text[40];
    if (gmtime_r(&seconds, &tm) &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &tm) > 0)
        fputs(text, file);
}

/* ---- Noting them ---- */

static char *tail_block(const struct cairn_task_failure *failure)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    bool lost;
    if (!file)
        return NULL;
    if (failure->tail_bytes > 0)
        markdown_block(file, failure->tail, failure->tail_bytes, "      ", TAIL_LINES);
    lost = ferror(file);
    if (fclose(file) == 0 && !lost)
        return text;
    free(text);
    return NULL;
}

bool failures_add(struct failures *failures, const char *id,
                  const struct cairn_task_failure *failure)
{
    struct failure *at = failures->at;
    if (failures->n == failures->capacity) {
        size_t capacity = failures->capacity > 0 ? 2 * failures->capacity : 16;
        at = reallocarray(at, capacity, sizeof *at);
        if (!at)
            return false;
        failures->at = at;
        failures->capacity = capacity;
    }
    at += failures->n;
    *at = (struct failure){.run = failure->run,
                           .checkpoint = failure->checkpoint,
                           .attempt = failure->attempt,
                           .exit_code = failure->exit_code,
                           .signal = failure->signal,
                           .task = strdup(failure->task),
                           .tail = tail_block(failure),
                           .order = failures->n};
    snprintf(at->id, sizeof at->id, "%s", id);
    failures->n++;
    return at->task && at->tail;
}

void failures_release(struct failures *failures)
{
    for (size_t i = 0; i < failures->n; i++) {
        free(failures->at[i].task);
        free(failures->at[i].tail);
    }
    free(failures->at);
    *failures = (struct failures){0};
}

/* ---- What became of them ---- */

struct of_run {
    struct failure *at; /* those of one run */
    size_t n;
};

static int see_task(void *context, const struct cairn_task_info *task)
{
    struct of_run *run = context;
    for (size_t i = 0; i < run->n; i++) {
        struct failure *failure = &run->at[i];
        if (strcmp(failure->task, task->id) != 0)
            continue;
        failure->outcome = task->outcome;
        failure->running = task->running;
        failure->newest = task->attempt;
        failure->ended_ns = task->ended_ns;
    }
    return 0;
}

/* A session that came from another store names a run of that store, and this one may
 * have another run of that number. */
static int see_attempt(void *context, const struct cairn_attempt_info *attempt)
{
    struct failure *failure = context;
    if (attempt->attempt == failure->attempt && !attempt->undo)
        failure->known = !attempt->open && attempt->outcome == CAIRN_FAILED &&
                         attempt->exit_code == failure->exit_code &&
                         attempt->signal == failure->signal;
    return 0;
}

/* Parts of a run that cannot be read are left out; its failures are listed. */
static bool is_absent(int rc)
{
    return rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED || rc == CAIRN_EUSAGE;
}

static int look_at_run(struct of_run *run, struct cairn_store *store,
                       struct cairn_error *error)
{
    int rc = cairn_run_tasks(store, run->at[0].run, see_task, run, error);
    for (size_t i = 0; i < run->n && rc == 0; i++) {
        rc = cairn_attempts(store, run->at[i].run, run->at[i].task, see_attempt,
                            &run->at[i], error);
        if (is_absent(rc))
            rc = 0;
    }
    return is_absent(rc) ? 0 : rc;
}

static void put_now(FILE *file, const struct failure *failure)
{
    if (!failure->known) {
        fputs("; its outcome is not in this store", file);
    } else if (failure->running) {
        fprintf(file, "; attempt %u is running", failure->newest);
    } else if (failure->outcome == CAIRN_FAILED) {
        fputs("; still failed", file);
        if (failure->newest > failure->attempt)
            fprintf(file, " in attempt %u", failure->newest);
    } else if (failure->outcome == CAIRN_COMPLETED) {
        fprintf(file, "; *completed in attempt %u*, ", failure->newest);
        put_time(file, failure->ended_ns);
    } else {
        fprintf(file, "; now %s", cairn_outcome_name(failure->outcome));
    }
}

/* ---- The page ---- */

static void put_failure(FILE *file, const struct failure *failure)
{
    char how[FORMAT_MAX];
    format_end(how, failure->exit_code, failure->signal, false, NULL);
    fputs("- **", file);
    markdown_words(file, failure->task);
    fprintf(file, "**, attempt %u: %s; noted in %s", failure->attempt,
            how[0] != '\0' ? how : "no exit status", failure->id);
    if (failure->checkpoint > 0)
        fprintf(file, ", the run's own checkpoint is workflow:%" PRIu64,
                failure->checkpoint);
    put_now(file, failure);
    fputc('\n', file);
    if (failure->tail[0] != '\0')
        fprintf(file, "\n%s", failure->tail);
}

static int by_run(const void *a, const void *b)
{
    const struct failure *x = a, *y = b;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

int failures_put(struct failures *failures, struct cairn_store *store, FILE *file,
                 struct cairn_error *error)
{
    size_t i = 0;
    int rc = 0;
    if (failures->n == 0)
        return 0;
    qsort(failures->at, failures->n, sizeof *failures->at, by_run);
    fputs("\n## Tasks that failed\n", file);
    while (i < failures->n && rc == 0) {
        struct of_run run = {&failures->at[i], 0};
        while (i < failures->n && failures->at[i].run == run.at[0].run) {
            run.n++;
            i++;
        }
        fprintf(file, "\n### Run %" PRIu64 "\n\n", run.at[0].run);
        rc = look_at_run(&run, store, error);
        for (size_t k = 0; k < run.n; k++)
            put_failure(file, &run.at[k]);
    }
    return rc;
}
