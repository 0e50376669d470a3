/* SPDX-License-Identifier: MIT */
/* cairn log: what tasks wrote, of one or of several. */
#include "base/words.h"
#include "cli/commands/commands.h"
#include "cli/commands/run.h"
#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/ui.h"
#include "cli/unknown_task.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line_time {
    uint64_t bytes;
    int64_t time_ns;
};

struct log_text {
    bool people;             /* a terminal: lines as terminal_line has them */
    bool color;              /* ... in their colors */
    bool painted;            /* ... of which one is set */
    bool stamped;            /* with times: */
    struct line_time *times; /* [n_times] heap; behind the last: now */
    size_t n_times, capacity;
    char *line; /* what has no end yet; heap */
    size_t n, room;
    uint64_t line_at; /* where it begins in what was written */
    bool shown;       /* it stands on the terminal as it was before */
};

struct log {
    struct settings *settings;
    struct cairn_store *store;
    struct cairn_run_info run;
    const char *task;
    uint32_t attempt; /* 0: the newest */
    bool wanted[3];   /* by stream number: 1 stdout, 2 stderr; both of one log */
    bool timestamps;
    bool terminal, color; /* stdout is a terminal; it has colors */
    bool one_place;       /* people look at it: all that is told goes to stdout, too */
    bool part;            /* not all that was written: */
    uint64_t from, to,
        last;     /* these bytes; or so many at the end, if `last` is not 0 */
    bool several; /* it is one of several tasks: what it has not got is not an error */
    bool any;     /* ... and one has been printed */
};

#define LONGEST (256 << 10) /* a longer line is shown in parts */

static void log_text_flush(struct log_text *text);

static void log_text_release(struct log_text *text)
{
    free(text->times);
    free(text->line);
    text->times = NULL;
    text->line = NULL;
    text->n_times = text->capacity = text->n = text->room = 0;
}

/* For cairn_output_times; context is the text. Non-zero: out of memory. */
static int log_text_add_time(void *context, uint64_t bytes, int64_t time_ns)
{
    struct log_text *text = context;
    if (text->n_times == text->capacity) {
        size_t capacity = text->capacity ? 2 * text->capacity : 64;
        struct line_time *times = realloc(text->times, capacity * sizeof *times);
        if (!times)
            return 1;
        text->times = times;
        text->capacity = capacity;
    }
    text->times[text->n_times++] = (struct line_time){bytes, time_ns};
    return 0;
}

/* The first look that had seen this byte. */
static int64_t time_of(const struct log_text *text, uint64_t at)
{
    size_t low = 0, high = text->n_times;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (text->times[middle].bytes > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low < text->n_times ? text->times[low].time_ns : wall_ns();
}

static void put_stamp(const struct log_text *text)
{
    char local[FORMAT_MAX];
    int64_t ns = time_of(text, text->line_at);
    int tenths = (int)(ns / 100000000 % 10);
    if (text->stamped)
        out("%s.%d  ", format_local(local, ns), tenths < 0 ? 0 : tenths);
}

static void put_line(struct log_text *text, const char *line, size_t n, bool ended)
{
    if (text->shown)
        out_raw("\r\033[K", 4);
    text->shown = false;
    put_stamp(text);
    if (text->people) {
        char *safe = malloc(TERMINAL_TEXT_ROOM(n));
        if (safe)
            out_raw(safe, terminal_line(safe, line, n, text->color, &text->painted));
        else
            out_incomplete();
        free(safe);
    } else {
        out_raw(line, n);
    }
    if (ended)
        out_raw("\n", 1);
}

static void keep(struct log_text *text, const char *bytes, size_t n)
{
    if (text->n + n > text->room) {
        size_t room = 2 * (text->n + n);
        char *line = realloc(text->line, room);
        if (!line) {
            out_incomplete();
            return;
        }
        text->line = line;
        text->room = room;
    }
    memcpy(text->line + text->n, bytes, n);
    text->n += n;
}

/* The next bytes of what was written, from `at` on. */
static void log_text_add(struct log_text *text, const char *bytes, size_t n,
                         uint64_t at)
{
    if (!text->people && !text->stamped) {
        out_raw(bytes, n);
        return;
    }
    while (n > 0) {
        const char *newline = memchr(bytes, '\n', n);
        size_t length = newline ? (size_t)(newline - bytes) : n;
        if (text->n == 0)
            text->line_at = at;
        if (text->n > 0 || !newline)
            keep(text, bytes, length);
        if (newline && text->n > 0)
            put_line(text, text->line, text->n, true);
        else if (newline)
            put_line(text, bytes, length, true);
        else if (text->n > LONGEST)
            log_text_flush(text);
        if (newline)
            text->n = 0;
        length += newline != NULL;
        bytes += length;
        at += length;
        n -= length;
    }
}

/* More may come: a line without its end is shown on a terminal, as it is now. */
static void log_text_show(struct log_text *text)
{
    if (!text->people || text->n == 0)
        return;
    put_line(text, text->line, text->n, false);
    text->shown = true;
}

/* There is no more: what has no end is printed, too. */
static void log_text_flush(struct log_text *text)
{
    if (text->n > 0)
        put_line(text, text->line, text->n, false);
    text->n = 0;
    if (text->painted)
        out_raw("\033[0m", 4);
    text->painted = false;
}

/* Positions are counted in the stream as it was written, gaps included, so that
 * following continues exactly where it was. */

#define POLL_MS 200

/* What is wanted of a stream, and up to where it was read. */
struct part {
    struct cairn_output_part asked;
    uint64_t from;
    bool begun;
};

/* What is wanted of it next. */
static int part_read(const struct log *log, int stream, struct part *part,
                     cairn_output_fn *each, void *context, struct cairn_error *error)
{
    part->asked = (struct cairn_output_part){.from = part->from, .to = log->to};
    if (!part->begun)
        part->asked.from = log->from;
    if (!part->begun && log->last > 0)
        part->asked = (struct cairn_output_part){.last = log->last};
    int rc = cairn_output_part(log->store, log->run.run, log->task, log->attempt,
                               stream, &part->asked, each, context, error);
    if (!part->begun && part->from < part->asked.from)
        part->from = part->asked.from;
    part->begun = true;
    if ((rc == 0 || rc == CAIRN_EDAMAGED) && part->from < part->asked.to)
        (void)each(context, "", 0, part->asked.to); /* its end is missing */
    return rc;
}

/* Goes behind the next bytes. Returns how many before them were not kept; *damaged: how
 * many cannot be read. */
static uint64_t part_next(struct part *part, size_t n, uint64_t at, uint64_t *damaged)
{
    const struct cairn_output_part *asked = &part->asked;
    uint64_t from = part->from < asked->from ? asked->from : part->from;
    uint64_t begin = asked->gap_at > from ? asked->gap_at : from;
    uint64_t end = asked->gap_at + asked->gap_bytes;
    end = end < at ? end : at;
    uint64_t dropped = end > begin ? end - begin : 0;
    *damaged = at - from - dropped;
    part->from = at + n;
    return dropped;
}

struct output_stream {
    int number;     /* 1 the log, or stdout; 2 stderr */
    bool merged;    /* it is the log */
    bool to_stderr; /* it goes to stderr, where it is escaped on a terminal */
    bool one_place; /* what is told of it goes where it goes */
    struct part part;
    struct log_text text;
};

static void print_bytes(struct output_stream *stream, const char *bytes, size_t n,
                        uint64_t position)
{
    char *safe = NULL;
    if (!stream->to_stderr) {
        log_text_add(&stream->text, bytes, n, position);
        return;
    }
    if (ui_terminal(2)) {
        safe = malloc(n * ESCAPE_FACTOR + 1);
        if (!safe)
            return;
        n = escape_text(safe, bytes, n);
        bytes = safe;
    }
    ui_paint(bytes, n);
    free(safe);
}

static void print_gap(struct output_stream *stream, uint64_t gap, bool damaged)
{
    char size[FORMAT_MAX], text[200];
    const char *what = stream->merged        ? "the log"
                       : stream->number == 1 ? "stdout"
                                             : "stderr";
    format_bytes(size, gap);
    snprintf(text, sizeof text,
             damaged ? "%s of %s cannot be read here: damaged in the store"
                     : "%s of %s are missing here: see --output-limit of `cairn run`",
             size, what);
    if (!stream->to_stderr)
        log_text_flush(&stream->text);
    if (stream->one_place)
        out("\n");
    if (stream->one_place || !stream->to_stderr) /* else two halves would be a line */
        out("... %s\n", text);
    if (!stream->one_place)
        ui_warn("%s", text);
}

static int each_piece(void *context, const char *bytes, size_t n, uint64_t at)
{
    struct output_stream *stream = context;
    uint64_t damaged, dropped = part_next(&stream->part, n, at, &damaged);
    if (damaged + dropped > 0)
        out_flush();
    if (damaged > 0)
        print_gap(stream, damaged, true);
    if (dropped > 0)
        print_gap(stream, dropped, false);
    print_bytes(stream, bytes, n, at);
    return ui_output_lost();
}

static int print_stream(const struct log *log, struct output_stream *stream)
{
    struct cairn_error error = {0};
    if (!log->wanted[stream->number])
        return 0;
    int rc = part_read(log, stream->number, &stream->part, each_piece, stream, &error);
    if (rc == CAIRN_EDAMAGED && !stream->to_stderr)
        log_text_flush(&stream->text);
    else if (rc == 0)
        log_text_show(&stream->text);
    out_flush();
    return rc < 0 ? report_error(&error) : 0;
}

/* The attempt that was asked for, or the newest one. */
struct wanted_attempt {
    uint32_t number; /* 0: the newest */
    bool found, open, undo, merged;
    uint32_t attempt;
    char text[1024]; /* its message, or "" */
};

static int pick_attempt(void *context, const struct cairn_attempt_info *attempt)
{
    struct wanted_attempt *wanted = context;
    /* An undo is not an attempt at the task: it is shown only by its number. */
    if (wanted->number != 0 ? attempt->attempt != wanted->number : attempt->undo)
        return 0;
    wanted->found = true;
    wanted->open = attempt->open;
    wanted->undo = attempt->undo;
    wanted->merged = attempt->merged;
    wanted->attempt = attempt->attempt;
    snprintf(wanted->text, sizeof wanted->text, "%s",
             attempt->text ? attempt->text : "");
    return 0;
}

static int find_attempt(struct log *log, struct wanted_attempt *wanted)
{
    struct cairn_error error = {0};
    wanted->number = log->attempt;
    wanted->found = false;
    if (cairn_attempts(log->store, log->run.run, log->task, pick_attempt, wanted,
                       &error) != 0)
        return missing_task(log->store, log->run.run, log->task, &error);
    if (wanted->found)
        log->attempt = wanted->attempt;
    return 0;
}

static int report_no_attempt(const struct log *log)
{
    const char *name = cairn_code_name(CAIRN_ENOTFOUND);
    if (log->attempt != 0)
        return report_failure(EXIT_NOT_FOUND, name, "%s has no attempt %u in run %llu",
                              log->task, log->attempt,
                              (unsigned long long)log->run.run);
    return report_failure(EXIT_NOT_FOUND, name, "%s was not started in run %llu",
                          log->task, (unsigned long long)log->run.run);
}

/* Only one stream is wanted, of an attempt that has one log of both: says so. */
static bool log_lacks_stream(const struct log *log, bool merged)
{
    const char *name = log->wanted[1] ? "stdout" : "stderr";
    if (!merged || (log->wanted[1] && log->wanted[2]))
        return false;
    if (log->several)
        say("cairn: %s has one log of stdout and stderr: it is shown without --%s",
            log->task, name);
    else
        (void)report_failure(
            EXIT_USAGE, cairn_code_name(CAIRN_EUSAGE),
            "%s has one log of stdout and stderr, in the order in which they were "
            "written: leave --%s away; `stderr: apart` in the workflow file keeps them "
            "apart",
            log->task, name);
    return true;
}

/* A running attempt has none yet: each line gets the time at which it is seen here. */
static int load_times(const struct log *log, const struct wanted_attempt *wanted,
                      struct log_text *text)
{
    struct cairn_error error = {0};
    text->stamped = log->timestamps && (wanted->merged || wanted->open);
    if (!log->timestamps || (wanted->open && !wanted->merged))
        return 0;
    if (!wanted->merged && !log->several)
        return report_failure(EXIT_USAGE, cairn_code_name(CAIRN_EUSAGE),
                              "%s has no times: they are of one log of both streams, "
                              "and its are apart",
                              log->task);
    if (!wanted->merged) {
        say("cairn: %s has no times: its streams are apart", log->task);
        return 0;
    }
    int rc = cairn_output_times(log->store, log->run.run, log->task, log->attempt,
                                log_text_add_time, text, &error);
    return rc == 0 || (rc == CAIRN_ENOTFOUND && wanted->open) ? 0
                                                              : report_error(&error);
}

static void print_note(const struct log *log, const char *what, const char *text)
{
    if (log->one_place)
        out("cairn: %s%s\n", what, text);
    else
        say("cairn: %s%s", what, text);
}

/* What the attempt says beside its output. */
static void print_end(const struct log *log, const struct wanted_attempt *wanted,
                      bool wrote)
{
    char what[400];
    snprintf(what, sizeof what, "%s%.300s, attempt %u", wanted->undo ? "undo of " : "",
             log->task, wanted->attempt);
    if (wanted->text[0] != '\0') {
        char *text = NULL;
        if (asprintf(&text, ": %s", wanted->text) >= 0)
            print_note(log, what, text);
        free(text);
        return;
    }
    if (wanted->found && !wrote)
        print_note(log, what,
                   log->wanted[1] && log->wanted[2] ? ", wrote nothing"
                   : log->wanted[1]                 ? ", wrote nothing to stdout"
                                                    : ", wrote nothing to stderr");
}

static int print_attempt(struct log *log, const struct wanted_attempt *wanted,
                         struct output_stream streams[2])
{
    int status = 0;
    if (log_lacks_stream(log, wanted->merged))
        return log->several ? 0 : EXIT_USAGE;
    for (int i = 0; i < (wanted->merged ? 1 : 2) && status == 0; i++) {
        streams[i].merged = wanted->merged;
        if (!streams[i].part.begun)
            status = load_times(log, wanted, &streams[i].text);
        if (status == 0)
            status = print_stream(log, &streams[i]);
    }
    return status;
}

/* The attempt is read before its output: once it has ended, everything is printed. */
static int print_until_over(struct log *log, bool follow,
                            struct output_stream streams[2])
{
    struct cairn_error error = {0};
    for (;;) {
        struct wanted_attempt wanted = {0};
        bool live = log->run.live;
        int status = find_attempt(log, &wanted);
        if (status == 0 && wanted.found)
            status = print_attempt(log, &wanted, streams);
        if (status != 0 || ui_output_lost())
            return status;
        if (!follow || !live || (wanted.found && !wanted.open)) {
            for (int i = 0; i < 2; i++)
                log_text_flush(&streams[i].text);
            out_flush();
            print_end(log, &wanted,
                      log->part || streams[0].part.from + streams[1].part.from > 0);
            return wanted.found ? 0 : report_no_attempt(log);
        }
        sleep_ms(POLL_MS);
        if (cairn_run_get(log->store, log->run.run, &log->run, &error) != 0)
            return report_error(&error);
    }
}

/* Prints it; with `follow` until the attempt has ended. Returns an exit status. */
static int log_print(struct log *log, bool follow)
{
    struct output_stream streams[2] = {{.number = 1}, {.number = 2}};
    for (int i = 0; i < 2; i++) {
        streams[i].to_stderr = i == 1 && !log->one_place;
        streams[i].one_place = log->one_place;
        streams[i].text.people = log->terminal;
        streams[i].text.color = log->color;
    }
    int status = print_until_over(log, follow, streams);
    for (int i = 0; i < 2; i++)
        log_text_release(&streams[i].text);
    return status;
}

struct collected {
    FILE *file;
    char *bytes;
    size_t length;
    uint64_t gap_bytes, gap_at; /* in what was taken */
    uint64_t taken;
    struct part part;
};

static int collect_piece(void *context, const char *bytes, size_t n, uint64_t at)
{
    struct collected *collected = context;
    uint64_t damaged, dropped = part_next(&collected->part, n, at, &damaged);
    if (dropped > 0) {
        collected->gap_bytes += dropped;
        collected->gap_at = collected->taken;
    }
    collected->taken += n;
    return fwrite(bytes, 1, n, collected->file) != n;
}

static int add_stream(struct doc *doc, const struct log *log, int stream,
                      const char *name)
{
    struct collected collected = {0};
    struct cairn_error error = {0};
    int rc, status = 0;
    if (!log->wanted[stream])
        return 0;
    collected.file = open_memstream(&collected.bytes, &collected.length);
    if (!collected.file) {
        ui_warn("out of memory");
        return EXIT_SYSTEM;
    }
    rc = part_read(log, stream, &collected.part, collect_piece, &collected, &error);
    bool whole = fclose(collected.file) == 0 && collected.length == collected.taken;
    if (!whole || rc < 0) {
        status = rc < 0 ? report_error(&error) : EXIT_SYSTEM;
    } else {
        doc_object(doc, name);
        if (log->part) {
            uint64_t from = collected.part.asked.from;
            doc_count(doc, "from", from);
            doc_count(doc, "to", from + collected.taken + collected.gap_bytes);
        }
        doc_bytes(doc, "text", collected.bytes, collected.length);
        doc_count(doc, "gap_bytes", collected.gap_bytes);
        doc_count(doc, "gap_at", collected.gap_at);
        doc_end(doc);
    }
    free(collected.bytes);
    return status;
}

static int add_time(void *context, uint64_t bytes, int64_t time_ns)
{
    struct doc *doc = context;
    doc_object(doc, NULL);
    doc_count(doc, "bytes", bytes);
    doc_time(doc, "time", time_ns);
    doc_end(doc);
    return 0;
}

static int add_times(struct doc *doc, const struct log *log)
{
    struct cairn_error error = {0};
    doc_array(doc, "times");
    int rc = cairn_output_times(log->store, log->run.run, log->task, log->attempt,
                                add_time, doc, &error);
    doc_end(doc);
    return rc == 0 || rc == CAIRN_ENOTFOUND ? 0 : report_error(&error);
}

/* Its members, in an object that is open. */
static int log_document(struct log *log, struct doc *doc)
{
    struct wanted_attempt wanted = {0};
    int status = find_attempt(log, &wanted);
    if (status == 0 && !wanted.found)
        status = report_no_attempt(log);
    if (status != 0)
        return status;
    doc_text(doc, "task", log->task);
    doc_count(doc, "attempt", log->attempt);
    doc_bool(doc, "open", wanted.open);
    doc_bool(doc, "undo", wanted.undo);
    doc_text(doc, "text", wanted.text[0] != '\0' ? wanted.text : NULL);
    doc_bool(doc, "merged", wanted.merged);
    if (log_lacks_stream(log, wanted.merged))
        return log->several ? 0 : EXIT_USAGE;
    if (wanted.merged) {
        status = add_stream(doc, log, 1, "log");
        return status != 0 || !log->timestamps ? status : add_times(doc, log);
    }
    status = add_stream(doc, log, 1, "stdout");
    return status != 0 ? status : add_stream(doc, log, 2, "stderr");
}

#define POLL_MANY_MS 500

struct picked { /* a task that was started */
    char *id;
    uint32_t attempt;     /* the newest, or that at its undo */
    uint32_t failed_undo; /* with --failed: the newest attempt at its undo; 0: none */
    bool only_undo;       /* ... of which alone the output is meant */
    struct part part[2];  /* while following: up to where it is printed */
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
        return report_nomem();
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

/* Whether more than one task may be meant: it is not the name of one. */
static bool log_is_many(const struct log *log)
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
    if (cairn_run_has_task(log->store, log->run.run, word, NULL) > 0)
        return false;
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
    return doc_close(&doc, status);
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
    struct part *part;
    FILE *file;
};

static int add_new(void *context, const char *bytes, size_t n, uint64_t at)
{
    struct new_text *t = context;
    uint64_t damaged, dropped = part_next(t->part, n, at, &damaged);
    if (dropped > 0)
        fprintf(t->file, "... %llu bytes are missing here\n",
                (unsigned long long)dropped);
    if (damaged > 0)
        fprintf(t->file, "... %llu bytes are damaged here\n",
                (unsigned long long)damaged);
    return fwrite(bytes, 1, n, t->file) != n;
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
static int follow_stream(struct log *log, struct picked *picked, int stream)
{
    struct new_text t = {.part = &picked->part[stream]};
    struct cairn_error error = {0};
    char *text = NULL;
    size_t n = 0, whole;
    t.file = open_memstream(&text, &n);
    if (!t.file)
        return report_nomem();
    log->task = picked->id;
    log->attempt = picked->attempt;
    int rc = part_read(log, stream + 1, t.part, add_new, &t, &error);
    fclose(t.file);
    for (whole = n; picked->open && whole > 0 && text[whole - 1] != '\n'; whole--)
        ;
    print_named(log, picked->id, text, whole);
    t.part->from -= n - whole;
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
        sleep_ms(POLL_MANY_MS);
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

/* Prints each, below a line with its name; with --follow whole lines of all of them as
 * they come, with the name in front, until no process owns the run. Returns an exit
 * status. */
static int log_many(struct log *log)
{
    struct picking p = {.log = log};
    bool follow = log->settings->given[OPT_FOLLOW];
    log->several = true;
    p.matched = calloc((size_t)log->settings->n_operands + 1, sizeof *p.matched);
    if (!p.matched)
        return report_nomem();
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

/* cairn log: what tasks wrote, or the attempts of those that failed. */

static int print_log_document(struct log *log)
{
    struct doc doc = {0};
    doc_begin(&doc);
    doc_count(&doc, "run", log->run.run);
    return doc_close(&doc, log_document(log, &doc));
}

struct failures {
    struct log *log;
    struct doc *doc; /* with --json */
    struct cairn_error error;
    uint32_t tasks;
};

static int print_failed_attempt(void *context, const struct cairn_attempt_info *attempt)
{
    struct failures *failures = context;
    if (!failures->doc) {
        attempt_print(attempt);
        return 0;
    }
    doc_object(failures->doc, NULL);
    attempt_document(failures->doc, attempt);
    doc_end(failures->doc);
    return 0;
}

static int each_task(void *context, const struct cairn_task_info *task)
{
    struct failures *failures = context;
    if (task->outcome != CAIRN_FAILED && task->failed_undo == 0)
        return 0;
    failures->tasks++;
    if (failures->doc) {
        doc_object(failures->doc, NULL);
        doc_text(failures->doc, "task", task->id);
        doc_array(failures->doc, "attempts");
    } else {
        out("%s\n", task->id);
    }
    if (cairn_attempts(failures->log->store, failures->log->run.run, task->id,
                       print_failed_attempt, failures, &failures->error) != 0)
        return 1;
    if (failures->doc) {
        doc_end(failures->doc);
        doc_end(failures->doc);
    }
    return 0;
}

static int list_failures(struct log *log)
{
    struct doc doc;
    struct failures failures = {.log = log, .doc = doc_open(&doc, NULL)};
    struct cairn_error error = {0};
    if (failures.doc) {
        doc_count(&doc, "run", log->run.run);
        doc_array(&doc, "failed_tasks");
    }
    if (!log->run.settled &&
        (cairn_run_tasks(log->store, log->run.run, each_task, &failures, &error) != 0 ||
         failures.error.code != 0))
        return doc_close(failures.doc,
                         report_error(error.code != 0 ? &error : &failures.error));
    if (failures.doc)
        return doc_print(&doc);
    if (failures.tasks == 0)
        say("no task of run %llu has failed; `cairn log TASK` prints the output of any",
            (unsigned long long)log->run.run);
    return 0;
}

/* "0:100", "100:", ":100", "-100:" */
static bool read_part(struct log *log, const char *text)
{
    const char *colon = strchr(text, ':');
    bool last = text[0] == '-', end = colon && colon[1] == '\0';
    struct str from = {text + last, colon ? (size_t)(colon - text) - last : 0};
    log->part = true;
    if (!colon || (from.len == 0 && (last || end)) || (last && !end))
        return false;
    if (last)
        return str_to_u64(from, &log->last) && log->last > 0;
    return (from.len == 0 || str_to_u64(from, &log->from)) &&
           (end || (str_to_u64(str_of(colon + 1), &log->to) && log->to >= log->from));
}

static int check_part(struct log *log)
{
    const char *text = log->settings->text[OPT_BYTES];
    if (!text || read_part(log, text))
        return 0;
    return report_usage("log",
                        "--bytes takes a part of what was written, such as 0:1000, "
                        "1000: (to the end) or -1000: (the last 1,000 bytes), not "
                        "'%.60s'",
                        text);
}

static int check_options(const struct settings *settings)
{
    static const enum option_id with_task[] = {OPT_ATTEMPT, OPT_STDOUT, OPT_STDERR,
                                               OPT_BYTES,   OPT_FOLLOW, OPT_TIMESTAMPS};
    bool some = settings->n_operands > 0 || settings->given[OPT_ALL_LOGS] ||
                settings->given[OPT_FAILED];
    for (size_t i = 0; !some && i < COUNT_OF(with_task); i++) {
        if (settings->given[with_task[i]])
            return report_usage("log", "--%s needs a TASK",
                                option_get(with_task[i])->name);
    }
    if (settings->given[OPT_FOLLOW] && ui_json())
        return report_usage("log", "give only one of --follow and --json");
    if (settings->given[OPT_ALL_LOGS] &&
        (settings->n_operands > 0 || settings->given[OPT_FAILED]))
        return report_usage("log", "--all is every task: give no TASK and no --failed");
    return 0;
}

static int print_some(struct log *log)
{
    const struct settings *settings = log->settings;
    bool follow = settings->given[OPT_FOLLOW];
    if (!log_is_many(log))
        return !log->task  ? list_failures(log)
               : ui_json() ? print_log_document(log)
                           : log_print(log, follow);
    if (settings->given[OPT_ATTEMPT] || log->part)
        return report_usage("log", "--%s is about one TASK",
                            log->part ? "bytes" : "attempt");
    return log_many(log);
}

/* Trouble before it is told on the terminal itself. */
static int print_paged(struct log *log)
{
    if (!log->one_place)
        return print_some(log);
    pager_start();
    return pager_end(print_some(log));
}

int command_log(struct settings *settings)
{
    bool *given = settings->given;
    struct log log = {
        .settings = settings, .task = settings->operands[0], .to = UINT64_MAX};
    int status = check_options(settings);
    if (status == 0)
        status = check_part(&log);
    log.attempt = (uint32_t)settings->number[OPT_ATTEMPT];
    log.wanted[1] = given[OPT_STDOUT] || !given[OPT_STDERR];
    log.wanted[2] = given[OPT_STDERR] || !given[OPT_STDOUT];
    log.timestamps = given[OPT_TIMESTAMPS];
    log.terminal = ui_terminal(1);
    log.color = ui_color_stdout(COLOR_AUTO);
    log.one_place =
        ui_out_for_people() && ui_terminal(2) && !given[OPT_FOLLOW] && !ui_json();
    if (status == 0)
        status = store_for_reading(settings, &log.store);
    if (status == 0) {
        run_among_tasks(settings, log.store);
        log.task = settings->operands[0];
    }
    if (status == 0)
        status = run_option(settings, log.store, &log.run);
    if (status == 0)
        status = print_paged(&log);
    store_close(log.store);
    return status;
}
