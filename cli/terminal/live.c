/* SPDX-License-Identifier: MIT */
#include "cli/terminal/live.h"

#include "cli/format.h"
#include "cli/terminal/terminal_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The tasks ---- */

void live_release(struct live *live)
{
    free(live->at);
    *live = (struct live){0};
}

static struct live_task *find(const struct live *live, uint32_t node)
{
    for (size_t i = 0; i < live->n; i++)
        if (live->at[i].node == node)
            return &live->at[i];
    return NULL;
}

/* The order is kept: the oldest come first. */
void live_remove(struct live *live, uint32_t node)
{
    struct live_task *task = find(live, node);
    if (!task)
        return;
    live->count[task->state]--;
    live->n--;
    memmove(task, task + 1, (size_t)(live->at + live->n - task) * sizeof *task);
}

void live_put(struct live *live, const struct live_task *task)
{
    live_remove(live, task->node);
    if (live->n == live->capacity) {
        size_t capacity = live->capacity ? 2 * live->capacity : 16;
        struct live_task *at = realloc(live->at, capacity * sizeof *at);
        if (!at)
            return;
        live->at = at;
        live->capacity = capacity;
    }
    live->at[live->n++] = *task;
    live->count[task->state]++;
}

void live_text(struct live *live, uint32_t node, const char *bytes, size_t n)
{
    char line[TERMINAL_TEXT_ROOM(LIVE_TEXT)];
    struct live_task *task = find(live, node);
    while (n > 0 && strchr("\n\r \t", bytes[n - 1]) && bytes[n - 1] != '\0')
        n--;
    size_t start = n;
    while (start > 0 && bytes[start - 1] != '\n' && bytes[start - 1] != '\r')
        start--;
    while (start < n && (bytes[start] == ' ' || bytes[start] == '\t'))
        start++;
    if (!task || start == n)
        return;
    size_t length = n - start < LIVE_TEXT ? n - start : LIVE_TEXT - 1;
    size_t used = terminal_line(line, bytes + start, length, false, NULL);
    used = used < LIVE_TEXT ? used : LIVE_TEXT - 1;
    used = text_fitting(line, used, (int)used);
    memcpy(task->text, line, used);
    task->text[used] = '\0';
}

/* ---- Drawing ---- */

enum { TIME_COLUMNS = 6, LEAST_NAME = 8 };

static int name_columns(const struct live *live, enum live_state state, size_t most,
                        int width)
{
    int columns = 0, limit = width < 60 ? width - TIME_COLUMNS - 6 : width / 2;
    for (size_t i = 0; i < live->n && most > 0; i++) {
        if (live->at[i].state != state)
            continue;
        int own = text_columns(live->at[i].id, strlen(live->at[i].id));
        columns = own > columns ? own : columns;
        most--;
    }
    limit = limit < LEAST_NAME ? LEAST_NAME : limit;
    return columns < limit ? columns : limit;
}

/* The name, cut or filled up to so many columns, and the time. */
static int put_name(char out[BLOCK_LINE], const struct live_task *task, int columns,
                    const char *time)
{
    char name[LIVE_TEXT + 4];
    columns_cut(name, task->id, columns);
    int blank = columns - text_columns(name, strlen(name));
    return snprintf(out, BLOCK_LINE, "  %s%*s  %*s", name, blank > 0 ? blank : 0, "",
                    TIME_COLUMNS, time);
}

static void put_running(char out[BLOCK_LINE], const struct live_task *task, int columns,
                        int64_t now_ms)
{
    char took[FORMAT_MAX];
    int n = put_name(out, task, columns, format_duration(took, now_ms - task->ms));
    if (n > 0 && n < BLOCK_LINE && task->text[0] != '\0')
        snprintf(out + n, BLOCK_LINE - (size_t)n, "  %s", task->text);
}

const char *live_line(char out[BLOCK_LINE], const struct live_task *task,
                      int64_t now_ms, int width)
{
    char id[LIVE_TEXT + 4], took[FORMAT_MAX];
    snprintf(out, BLOCK_LINE, "%s  %s%s%s", columns_cut(id, task->id, width / 2),
             format_duration(took, now_ms - task->ms), task->text[0] ? "  " : "",
             task->text);
    return out;
}

static void draw_running(const struct live_view *view, struct block *block, int lines)
{
    /* What has ended, but was not told yet, is in the list, and not in `running`. */
    size_t all = view->live->count[LIVE_RUNS];
    all = all > view->running && view->running > 0 ? view->running : all;
    size_t shown = all <= (size_t)lines ? all : (size_t)lines - 1, left = shown;
    int columns = name_columns(view->live, LIVE_RUNS, shown, view->width);
    char line[BLOCK_LINE];
    for (size_t i = 0; i < view->live->n && left > 0; i++) {
        const struct live_task *task = &view->live->at[i];
        if (task->state != LIVE_RUNS)
            continue;
        put_running(line, task, columns, view->now_ms);
        block_line(block, "%s", line);
        left--;
    }
    if (all > shown)
        block_line(block, "  and %zu more", all - shown);
}

static void draw_retries(const struct live_view *view, struct block *block, int lines)
{
    size_t all = view->live->count[LIVE_RETRIES], left = all;
    int columns = name_columns(view->live, LIVE_RETRIES, (size_t)lines, view->width);
    char line[BLOCK_LINE], wait[FORMAT_MAX];
    for (size_t i = 0; i < view->live->n && lines > 0 && left > 0; i++) {
        const struct live_task *task = &view->live->at[i];
        if (task->state != LIVE_RETRIES)
            continue;
        if (lines-- == 1 && left > 1) {
            block_line(block, "  and %zu more are tried again", left);
            return;
        }
        /* Whole seconds, rounded up: 0 is when it starts. */
        int64_t ms = task->ms > view->now_ms ? task->ms - view->now_ms : 0;
        int64_t whole = (ms + 999) / 1000 * 1000;
        if (whole < 60000)
            snprintf(wait, sizeof wait, "%ds", (int)(whole / 1000));
        else
            format_duration(wait, whole);
        int n = put_name(line, task, columns, wait);
        snprintf(line + n, BLOCK_LINE - (size_t)n, "  until attempt %u",
                 task->attempt + 1);
        block_line(block, "%s", line);
        left--;
    }
}

static void draw_waiting(const struct live_view *view, struct block *block, int lines)
{
    size_t left = view->live->count[LIVE_WAITS];
    for (size_t i = 0; i < view->live->n && left > 0 && lines >= 2; i++) {
        const struct live_task *task = &view->live->at[i];
        if (task->state != LIVE_WAITS)
            continue;
        char *word = shell_word(task->id);
        block_line(block, "  %s waits: %s", task->id, task->text);
        if (word)
            block_line(block, "    cairn complete %llu %s%s",
                       (unsigned long long)view->run, word, view->hint);
        free(word);
        left--;
        lines -= 2;
    }
    if (left > 0)
        block_line(block, "  %zu more wait%s: cairn next %llu%s", left,
                   left == 1 ? "s" : "", (unsigned long long)view->run, view->hint);
}

static void draw_progress(const struct live_view *view, struct block *block)
{
    char text[PROGRESS_MAX];
    size_t waits = view->live->count[LIVE_WAITS];
    if (view->stopping)
        block_line(block, "[%u done, %u left] nothing new starts%s%s%s", view->done,
                   view->left, view->failed[0] ? ": " : "", view->failed,
                   view->failed[0] ? " failed" : "");
    else if (waits > 0 && view->running == 0)
        block_line(block, "[%u/%u] waits for somebody to do %zu task%s", view->done,
                   view->total, waits, plural(waits));
    else /* how long somebody takes cannot be told */
        block_line(block, "%s",
                   progress_text(text, view->done, view->total, view->running,
                                 waits > 0 ? 0 : view->rate));
}

/* Each kind has a line at least, and what is left goes to what runs. */
void live_draw(const struct live_view *view, struct block *block)
{
    enum { FEW = 4 };
    const size_t *count = view->live->count;
    int lines = view->height - 2;
    lines = lines < BLOCK_LINES ? lines : BLOCK_LINES;
    draw_progress(view, block);
    lines--;
    int waiting = count[LIVE_WAITS] == 0 ? 0 : (int)count[LIVE_WAITS] * 2;
    waiting = waiting > FEW ? FEW + 1 : waiting;
    int retrying = count[LIVE_RETRIES] < FEW ? (int)count[LIVE_RETRIES] : FEW;
    int running = lines - waiting - retrying;
    if (count[LIVE_RUNS] > 0)
        draw_running(view, block, running < 1 ? 1 : running);
    draw_retries(view, block, retrying);
    draw_waiting(view, block, waiting);
}
