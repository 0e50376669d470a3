/* SPDX-License-Identifier: MIT */
/* The repainted block and its progress line. Only sequences of the plainest terminals
 * are used: cursor up, erase to the end of the screen. A line never reaches the last
 * column, so the terminal never wraps it and the count of lines stays true. */
#include "cli/display.h"

#include "base/utf8.h"
#include "cli/format.h"
#include "cli/ui.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void block_reset(struct block *block, int width)
{
    block->lines = 0;
    block->width = width;
}

void block_line(struct block *block, const char *format, ...)
{
    char text[BLOCK_LINE], safe[BLOCK_LINE * ESCAPE_FACTOR];
    va_list arguments;
    size_t n;
    if (block->lines == BLOCK_LINES)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *c = text; *c != '\0'; c++) {
        if (*c == '\n' || *c == '\t')
            *c = ' ';
    }
    n = escape_text(safe, text, strlen(text));
    n = text_fitting(safe, n < BLOCK_LINE ? n : BLOCK_LINE - 1, block->width - 1);
    while (n > 0 && safe[n - 1] == ' ')
        n--;
    memcpy(block->text[block->lines], safe, n);
    block->text[block->lines++][n] = '\0';
}

int block_rows(const struct block *block, int width, bool reflows)
{
    int rows = block->painted;
    if (!reflows || width < 1 || width >= block->painted_width)
        return rows;
    for (int i = 0; i < block->painted; i++)
        rows += block->columns[i] > width ? (block->columns[i] - 1) / width : 0;
    return rows;
}

static size_t rewind_cursor(const struct block *block, char *out, size_t size)
{
    if (block->painted == 0)
        return 0;
    return (size_t)snprintf(out, size, "\033[%dA\r\033[J",
                            block_rows(block, ui_width(), ui_reflows()));
}

void block_paint(struct block *block)
{
    char screen[BLOCK_LINES * (BLOCK_LINE + 1) + 32];
    size_t used = rewind_cursor(block, screen, 32);
    for (int i = 0; i < block->lines; i++) {
        size_t n = strlen(block->text[i]);
        block->columns[i] = text_columns(block->text[i], n);
        memcpy(screen + used, block->text[i], n);
        used += n;
        screen[used++] = '\n';
    }
    block->painted = block->lines;
    block->painted_width = block->width;
    ui_paint(screen, used);
}

void block_clear(struct block *block)
{
    char screen[32];
    size_t used = rewind_cursor(block, screen, sizeof screen);
    block->painted = 0;
    if (used > 0)
        ui_paint(screen, used);
}

void rate_add(struct rate *rate, int64_t ms, uint32_t done)
{
    rate->samples[rate->next].ms = ms;
    rate->samples[rate->next].done = done;
    rate->next = (rate->next + 1) % RATE_SAMPLES;
    if (rate->n < RATE_SAMPLES)
        rate->n++;
}

double rate_get(const struct rate *rate)
{
    size_t newest = (rate->next + RATE_SAMPLES - 1) % RATE_SAMPLES;
    size_t oldest = (rate->next + RATE_SAMPLES - rate->n) % RATE_SAMPLES;
    int64_t ms;
    if (rate->n < 2)
        return 0;
    ms = rate->samples[newest].ms - rate->samples[oldest].ms;
    if (ms <= 0 || rate->samples[newest].done < rate->samples[oldest].done)
        return 0;
    return 1000.0 * (rate->samples[newest].done - rate->samples[oldest].done) /
           (double)ms;
}

static int count_digits(uint32_t number)
{
    char text[16];
    return snprintf(text, sizeof text, "%u", number);
}

const char *progress_text(char text[PROGRESS_MAX], uint32_t done, uint32_t total,
                          uint32_t running, double rate)
{
    char eta[FORMAT_MAX];
    int n = snprintf(text, PROGRESS_MAX, "[%*u/%u] %u running", count_digits(total),
                     done, total, running);
    if (rate > 0 && done < total) {
        /* Whole seconds: it is only an estimate. */
        int64_t left_ms = (int64_t)((total - done) / rate) * 1000;
        if (left_ms < 60000)
            snprintf(eta, sizeof eta, "%ds", (int)(left_ms / 1000));
        else
            format_duration(eta, left_ms);
        snprintf(text + n, PROGRESS_MAX - (size_t)n, "  %.1f/s  eta %s", rate, eta);
    }
    return text;
}

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
static void live_remove(struct live *live, uint32_t node)
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

/* One running task as text: "test  3m05s  its last line". */
static const char *live_line(char out[BLOCK_LINE], const struct live_task *task,
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

/* The display of a run, made from its events alone: it keeps its own table of running
 * tasks. On a terminal the block is repainted only at TICK events; a permanent line
 * removes it until the next one. */

#define FEW_TASKS 200 /* up to here every finished task gets a line */
#define PAINT_MS 190
#define PROGRESS_MS 5000
#define TAIL_LINES 20
#define TAIL_BYTES 4096 /* of them, at most */
#define LINE_BYTES 500  /* of each, at most: half from its begin, half from its end */
#define LIFE_LINES 10
#define LIFE_COLUMNS 120

void display_init(struct display *display, const char *hint, bool stored)
{
    memset(display, 0, sizeof *display);
    display->json = ui_json();
    display->quiet = ui_quiet();
    display->live = ui_live() && !display->json && !display->quiet;
    display->stored = stored;
    display->hint = hint;
    display->started_ms = display->progress_ms = display->life_ms = now_ms();
}

void display_release(struct display *display)
{
    live_release(&display->tasks);
}

/* The last `most` bytes, without the rest of a character. */
static const char *last_bytes(const char *end, size_t most)
{
    return utf8_skip_rest((struct str){end - most, most}).ptr;
}

/* The start of the last `lines` lines, or within them where these are long; *lines: how
 * many there are. */
static const char *last_lines(const char *text, size_t n, int *lines)
{
    const char *at = text + n;
    int left = *lines;
    if (left == 0 || n == 0) {
        *lines = 0;
        return at;
    }
    if (at[-1] == '\n')
        at--;
    while (at > text && (at[-1] != '\n' || --left > 0))
        at--;
    *lines -= at > text ? 0 : left - 1;
    return text + n - at > TAIL_BYTES ? last_bytes(text + n, TAIL_BYTES) : at;
}

static void print_lines_of(const char *prefix, const char *at, const char *end)
{
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        say_output(prefix, at, (size_t)(stop - at));
        at = stop + 1;
    }
}

/* Of a line that is too long the middle is left out; where it begins `inside` the whole
 * one, all but its end. */
static void print_last_line(const char *at, size_t n, bool inside)
{
    static const char gap[] = " ... ";
    char line[LINE_BYTES + sizeof gap];
    const char *end = at + n;
    if (n > LINE_BYTES && inside) {
        at = last_bytes(end, LINE_BYTES);
    } else if (n > LINE_BYTES) {
        const char *tail = last_bytes(end, LINE_BYTES / 2);
        size_t head = utf8_fit((struct str){at, n}, LINE_BYTES / 2);
        size_t rest = (size_t)(end - tail);
        memcpy(line, at, head);
        memcpy(line + head, gap, sizeof gap - 1);
        memcpy(line + head + sizeof gap - 1, tail, rest);
        at = line;
        end = line + head + sizeof gap - 1 + rest;
    }
    say_output(inside ? "    ..." : "    ", at, (size_t)(end - at));
}

/* "..." where it begins within a line. */
static void print_last_lines(const char *text, const char *at, const char *end)
{
    bool inside = at > text && at[-1] != '\n';
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        print_last_line(at, (size_t)(stop - at), inside);
        inside = false;
        at = stop + 1;
    }
}

/* Of the log; or, where they are apart, of stderr, and of stdout as far as there is
 * room: many tools say there what failed. */
static void print_tail(const struct cairn_event *event)
{
    const struct cairn_event_output *o = &event->output[0], *e = &event->output[1];
    int n = TAIL_LINES, err_lines = TAIL_LINES;
    if (o->n == 0 && e->n == 0) {
        if (event->tail)
            print_last_lines(event->tail,
                             last_lines(event->tail, event->tail_bytes, &n),
                             event->tail + event->tail_bytes);
        return;
    }
    const char *err = e->n ? last_lines(e->bytes, e->n, &err_lines) : NULL;
    n -= e->n ? err_lines : 0;
    if (o->n)
        print_last_lines(o->bytes, last_lines(o->bytes, o->n, &n), o->bytes + o->n);
    if (e->n)
        print_last_lines(e->bytes, err, e->bytes + e->n);
}

static void print_gap(const char *prefix, uint64_t gap)
{
    char text[80], size[FORMAT_MAX];
    snprintf(text, sizeof text, "... %s are missing here", format_bytes(size, gap));
    if (gap > 0)
        say_output(prefix, text, strlen(text));
}

static void print_output(const char *prefix, const struct cairn_event *event)
{
    for (int i = 0; i < 2; i++) {
        const struct cairn_event_output *o = &event->output[i];
        if (o->gap_at > 0)
            print_lines_of(prefix, o->bytes, o->bytes + o->gap_at);
        print_gap(prefix, o->gap);
        if (o->n > o->gap_at)
            print_lines_of(prefix, o->bytes + o->gap_at, o->bytes + o->n);
    }
}

/* With the name of the task in front. */
static void print_streamed(const struct cairn_event *event)
{
    size_t size = strlen(event->task) + 4;
    char *prefix = malloc(size);
    if (!prefix)
        return;
    snprintf(prefix, size, "%s | ", event->task);
    print_output(prefix, event);
    free(prefix);
}

/* What an attempt has written, once it has ended. */
static void print_written(const struct display *display,
                          const struct cairn_event *event)
{
    if (display->output == SHOW_GROUP)
        print_output("    ", event);
    else if (display->output == SHOW_STREAM)
        print_streamed(event);
    else if (display->output == SHOW_FAILED && event->outcome == CAIRN_FAILED)
        print_tail(event);
}

static void describe_end(char how[FORMAT_MAX], const struct cairn_event *event)
{
    format_end(how, event->exit_code, event->signal, event->timed_out, event->text);
}

/* An external task that was reported as failed, or a condition that could not be
 * evaluated, has no output. */
static bool has_log(const struct cairn_event *event)
{
    return event->exit_code >= 0 || event->signal != 0 || event->timed_out ||
           event->tail_bytes > 0;
}

static void print_failure(const struct display *display,
                          const struct cairn_event *event)
{
    char how[FORMAT_MAX], took[FORMAT_MAX], attempt[32] = "";
    char *word = shell_word(event->task);
    describe_end(how, event);
    if (event->attempt > 1)
        snprintf(attempt, sizeof attempt, "attempt %u, ", event->attempt);
    bool undo = event->kind == CAIRN_EVENT_TASK_UNDO;
    say_label(RED, "FAILED", "%s%s (%s%s%s%s)%s%s", undo ? "undo of " : "", event->task,
              how, how[0] ? ", " : "", undo ? "" : attempt,
              format_duration(took, event->duration_ms), event->text ? ": " : "",
              event->text ? event->text : "");
    if (display->output != SHOW_STREAM)
        print_written(display, event);
    if (display->stored && word && event->attempt > 0 && has_log(event)) {
        char which[32] = "";
        if (undo)
            snprintf(which, sizeof which, " --attempt %u", event->attempt);
        say_always("    see: cairn log %s%s --run %llu%s", word, which,
                   (unsigned long long)event->run, display->hint);
    }
    free(word);
}

/* ", and 1m48s to read its files", where that is worth a word. */
static void describe_reading(char out[FORMAT_MAX + 32], const struct cairn_event *event)
{
    char took[FORMAT_MAX];
    out[0] = '\0';
    if (event->reading_ms >= 1000)
        snprintf(out, FORMAT_MAX + 32, ", and %s to read its files",
                 format_duration(took, event->reading_ms));
}

/* A task with a message (a check that warns) is printed even where others are not. */
static void print_completed(const struct display *display,
                            const struct cairn_event *event, bool lines)
{
    char took[FORMAT_MAX], reading[FORMAT_MAX + 32];
    if (!lines && (!event->text || display->quiet))
        return;
    describe_reading(reading, event);
    say_label(GREEN, "ok  ", "%s  %s%s%s%s", event->task,
              format_duration(took, event->duration_ms), reading,
              event->text ? "  " : "", event->text ? event->text : "");
    if (display->output == SHOW_GROUP)
        print_written(display, event);
}

/* So each that ends gets a line. */
static bool shows_all(const struct display *display)
{
    return !display->quiet &&
           (display->output == SHOW_GROUP || display->output == SHOW_STREAM);
}

static void print_finished(struct display *display, const struct cairn_event *event)
{
    bool lines = !display->quiet && event->total <= FEW_TASKS;
    lines |= shows_all(display) && event->attempt > 0;
    if (display->output == SHOW_STREAM)
        print_streamed(event);
    if (event->outcome == CAIRN_FAILED)
        print_failure(display, event);
    else if (event->outcome == CAIRN_COMPLETED)
        print_completed(display, event, lines);
    else if (!lines)
        return;
    else if (event->outcome == CAIRN_EXCLUDED)
        say_label(DIM, "skipped", "%s: %s", event->task,
                  event->text ? event->text : "its condition is not met");
    else
        say_label(DIM, cairn_outcome_name(event->outcome), "%s%s%s%s", event->task,
                  event->text ? " (" : "", event->text ? event->text : "",
                  event->text ? ")" : "");
}

static void print_undo(struct display *display, const struct cairn_event *event)
{
    char took[FORMAT_MAX];
    if (event->outcome == CAIRN_FAILED)
        print_failure(display, event);
    else if (!display->quiet)
        say_label(YELLOW, "undone", "%s  %s", event->task,
                  format_duration(took, event->duration_ms));
}

/* An attempt that another one follows. */
static void print_retry(const struct display *display, const struct cairn_event *event)
{
    bool round = event->kind == CAIRN_EVENT_TASK_ROUND;
    char how[FORMAT_MAX], delay[FORMAT_MAX];
    if (display->quiet)
        return;
    if (display->output == SHOW_STREAM)
        print_streamed(event);
    how[0] = '\0';
    if (!round)
        describe_end(how, event);
    format_duration(delay, event->next_ms);
    say_label(YELLOW, round ? "again" : "retry", "%s %s%s (attempt %u: %s%s%s)",
              event->task, event->next_ms > 0 ? "in " : "at once",
              event->next_ms > 0 ? delay : "", event->attempt, how,
              how[0] && event->text ? "; " : "", event->text ? event->text : "");
    if (display->output == SHOW_GROUP)
        print_written(display, event);
}

static void paint_progress(struct display *display, const struct cairn_event *event)
{
    int64_t now = now_ms();
    if (now - display->painted_ms < PAINT_MS || ui_paint_waits())
        return;
    display->painted_ms = now;
    display->stopping |= event->stopping;
    rate_add(&display->rate, now, event->done);
    struct live_view view = {.live = &display->tasks,
                             .width = ui_width(),
                             .height = ui_height(),
                             .now_ms = now,
                             .run = event->run,
                             .hint = display->hint,
                             .done = event->done,
                             .total = event->total,
                             .running = event->running,
                             .rate = rate_get(&display->rate),
                             .stopping = event->stopping,
                             .left = event->left,
                             .failed = display->asked ? "" : display->cause};
    block_reset(&display->block, view.width);
    live_draw(&view, &display->block);
    block_paint(&display->block);
}

/* Rarer and rarer, down to one a minute. */
static void print_progress(struct display *display, const struct cairn_event *event)
{
    char text[PROGRESS_MAX];
    int64_t now = now_ms(), apart_ms = (now - display->started_ms) / 10;
    apart_ms = apart_ms < PROGRESS_MS ? PROGRESS_MS
               : apart_ms > 60 * 1000 ? 60 * 1000
                                      : apart_ms;
    if (display->quiet || now - display->progress_ms < apart_ms)
        return;
    display->progress_ms = now;
    rate_add(&display->rate, now, event->done);
    say("%s", progress_text(text, event->done, event->total, event->running,
                            rate_get(&display->rate)));
}

/* What runs, since when, and its last line: the longest first, so of many tasks the one
 * that holds them up. */
static void print_life(struct display *display, const struct cairn_event *event)
{
    char line[BLOCK_LINE];
    size_t most = event->total > FEW_TASKS ? 1 : LIFE_LINES, told = 0;
    int64_t now = now_ms();
    if (display->quiet || display->heartbeat_ms == 0 ||
        now - display->life_ms < display->heartbeat_ms)
        return;
    display->life_ms = now;
    for (size_t i = 0; i < display->tasks.n && told < most; i++) {
        const struct live_task *task = &display->tasks.at[i];
        if (task->state != LIVE_RUNS || now - task->ms < display->heartbeat_ms)
            continue;
        say_label(DIM, "running", "%s", live_line(line, task, now, LIFE_COLUMNS));
        told++;
    }
    if (told == LIFE_LINES && display->tasks.count[LIVE_RUNS] > told)
        say("    and %zu more", display->tasks.count[LIVE_RUNS] - told);
}

static void handle_tick(struct display *display, const struct cairn_event *event)
{
    if (display->live) {
        paint_progress(display, event);
        return;
    }
    if (event->total > FEW_TASKS)
        print_progress(display, event);
    print_life(display, event);
}

/* Of an undo nothing is shown while it runs. */
static void put_task(struct display *display, const struct cairn_event *event,
                     enum live_state state)
{
    struct live_task task = {.node = event->node,
                             .attempt = event->attempt,
                             .state = state,
                             .ms = now_ms() +
                                   (state == LIVE_RETRIES ? event->next_ms : 0)};
    snprintf(task.id, sizeof task.id, "%s", event->task);
    if (state == LIVE_WAITS && event->text)
        snprintf(task.text, sizeof task.text, "%.*s", length_trimmed(event->text),
                 event->text);
    live_put(&display->tasks, &task);
}

static void put_reading(struct display *display, const struct cairn_event *event)
{
    char text[LIVE_TEXT];
    int n = snprintf(text, sizeof text, "reading %s", event->text);
    put_task(display, event, LIVE_RUNS);
    live_text(&display->tasks, event->node, text,
              n < LIVE_TEXT ? (size_t)n : LIVE_TEXT - 1);
}

static void note_failure(struct display *display, const char *task)
{
    if (display->n_failed < FAILED_NAMES)
        snprintf(display->failed[display->n_failed], LIVE_TEXT, "%s", task);
    if (!display->stopping)
        snprintf(display->cause, LIVE_TEXT, "%s", task);
    display->n_failed++;
}

/* Events that change the display's own table. */
static void track_tasks(struct display *display, const struct cairn_event *event)
{
    if (!event->task)
        return;
    switch (event->kind) {
    case CAIRN_EVENT_TASK_STARTED:
        put_task(display, event, LIVE_RUNS);
        break;
    case CAIRN_EVENT_TASK_READING:
        put_reading(display, event);
        break;
    case CAIRN_EVENT_TASK_RETRY:
    case CAIRN_EVENT_TASK_ROUND:
        put_task(display, event, LIVE_RETRIES);
        break;
    case CAIRN_EVENT_TASK_WAITING:
        put_task(display, event, LIVE_WAITS);
        break;
    case CAIRN_EVENT_TASK_LINE:
        for (int i = 0; i < 2; i++)
            live_text(&display->tasks, event->node, event->output[i].bytes,
                      event->output[i].n);
        break;
    case CAIRN_EVENT_TASK_FINISHED:
        live_remove(&display->tasks, event->node);
        if (event->outcome == CAIRN_FAILED)
            note_failure(display, event->task);
        break;
    default:
        break;
    }
}

/* Whether the event will print a permanent line, for which the block must go. */
static bool is_permanent(const struct display *display, const struct cairn_event *event)
{
    switch (event->kind) {
    case CAIRN_EVENT_TICK:
    case CAIRN_EVENT_TASK_LINE:
    case CAIRN_EVENT_TASK_READING:
    case CAIRN_EVENT_RUN_FINISHED:
        return false;
    case CAIRN_EVENT_TASK_STARTED:
        return display->starts;
    case CAIRN_EVENT_TASK_FINISHED:
        return shows_all(display) || event->outcome == CAIRN_FAILED || event->text ||
               event->total <= FEW_TASKS;
    default:
        return true;
    }
}

/* What to type, once; the live block says it of each. */
static void print_how(struct display *display, const struct cairn_event *event)
{
    if (!display->quiet && !display->live && display->stored && !display->told_how) {
        char *word = shell_word(event->task);
        say("      when it is done: cairn complete %llu %s%s; what waits: cairn next "
            "%llu%s",
            (unsigned long long)event->run, word ? word : "TASK", display->hint,
            (unsigned long long)event->run, display->hint);
        free(word);
    }
    display->told_how = true;
}

static void print_line(struct display *display, const struct cairn_event *event)
{
    const char *text = event->text ? event->text : "";
    switch (event->kind) {
    case CAIRN_EVENT_RUN_STARTED:
    case CAIRN_EVENT_NOTICE:
        if (text[0] != '\0')
            say("%s", text);
        break;
    case CAIRN_EVENT_TASK_RETRY:
    case CAIRN_EVENT_TASK_ROUND:
        print_retry(display, event);
        break;
    case CAIRN_EVENT_TASK_FINISHED:
        print_finished(display, event);
        break;
    case CAIRN_EVENT_DEGRADED:
        say_label(RED, "DEGRADED", "checkpoints cannot be saved: %s", text);
        break;
    case CAIRN_EVENT_DISK_FULL:
        say_label(RED, "DISK FULL", "%s", text);
        break;
    case CAIRN_EVENT_RECOVERED:
        say_label(GREEN, "recovered", "checkpoints are saved again");
        break;
    case CAIRN_EVENT_STOPPING:
        display->asked = true;
        say("stopping: %s", text);
        break;
    case CAIRN_EVENT_TASK_WAITING:
        if (!display->quiet && event->total <= FEW_TASKS)
            say_label(YELLOW, "waits", "%s: %.*s", event->task, length_trimmed(text),
                      text);
        print_how(display, event);
        break;
    case CAIRN_EVENT_TASK_UNDO:
        print_undo(display, event);
        break;
    case CAIRN_EVENT_TASK_STARTED:
        if (display->starts)
            say_label(DIM, "start", "%s", event->task);
        break;
    case CAIRN_EVENT_TASK_OUTPUT:
        print_streamed(event);
        break;
    case CAIRN_EVENT_TASK_LINE:
    case CAIRN_EVENT_TASK_READING:
    case CAIRN_EVENT_TICK:
    case CAIRN_EVENT_RUN_FINISHED:
        break;
    }
}

void display_dropped(struct display *display)
{
    uint64_t lines = output_queue_dropped();
    if (lines == 0)
        return;
    if (display->live)
        block_clear(&display->block);
    if (display->json)
        dropped_print(++display->sequence, lines);
    else
        say_always("%llu line%s not shown: the reader of the output was too slow",
                   (unsigned long long)lines, lines == 1 ? " was" : "s were");
}

void display_event(void *context, const struct cairn_event *event)
{
    struct display *display = context;
    display_dropped(display);
    if (display->json) {
        /* Lost checkpoints and output are reported on the terminal, too. */
        if (event->kind == CAIRN_EVENT_DEGRADED || event->kind == CAIRN_EVENT_DISK_FULL)
            print_line(display, event);
        if (event->kind != CAIRN_EVENT_TASK_OUTPUT &&
            event->kind != CAIRN_EVENT_TASK_LINE && event->kind != CAIRN_EVENT_TICK &&
            event->kind != CAIRN_EVENT_RUN_FINISHED)
            event_print(++display->sequence, event);
        return;
    }
    track_tasks(display, event);
    if (event->kind == CAIRN_EVENT_TICK) {
        handle_tick(display, event);
        return;
    }
    if (display->live && is_permanent(display, event))
        block_clear(&display->block);
    print_line(display, event);
}
