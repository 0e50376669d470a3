/* SPDX-License-Identifier: MIT */
/* Positions are counted in the stream as it was written, gaps included, so that
 * following continues exactly where it was. */
#include "cli/tasks/log_one.h"

#include "cli/describe.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/report.h"
#include "cli/tasks/log_text.h"
#include "cli/ui.h"
#include "cli/unknown_task.h"

#include <stdlib.h>
#include <string.h>

#define POLL_MS 200

struct output_stream {
    int number;        /* 1 the log, or stdout; 2 stderr */
    bool merged;       /* it is the log */
    bool to_stderr;    /* it goes to stderr, where it is escaped on a terminal */
    bool one_place;    /* what is told of it goes where it goes */
    uint64_t position; /* of the bytes being read */
    uint64_t printed;  /* up to here */
    struct log_text text;
};

static void print_bytes(struct output_stream *stream, const char *bytes, size_t n)
{
    char *safe = NULL;
    if (!stream->to_stderr) {
        log_text_add(&stream->text, bytes, n, stream->position);
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

static void print_gap(struct output_stream *stream, uint64_t gap)
{
    char size[FORMAT_MAX];
    const char *what = stream->merged        ? "the log"
                       : stream->number == 1 ? "stdout"
                                             : "stderr";
    format_bytes(size, gap);
    if (!stream->to_stderr)
        log_text_flush(&stream->text);
    if (stream->one_place)
        out("\n");
    if (stream->one_place || !stream->to_stderr) /* else two halves would be a line */
        out("... %s of %s are missing here: see --output-limit of `cairn run`\n", size,
            what);
    if (!stream->one_place)
        ui_warn("%s of %s are missing here: see --output-limit of `cairn run`", size,
                what);
}

static int each_chunk(void *context, const char *bytes, size_t n, uint64_t gap)
{
    struct output_stream *stream = context;
    size_t skip = 0;
    stream->position += gap;
    if (gap > 0 && stream->position > stream->printed) {
        out_flush();
        print_gap(stream, stream->position - stream->printed);
        stream->printed = stream->position;
    }
    if (stream->position < stream->printed) {
        uint64_t seen = stream->printed - stream->position;
        skip = seen < n ? (size_t)seen : n;
    }
    stream->position += skip;
    n -= skip;
    if (n > 0) {
        print_bytes(stream, bytes + skip, n);
        stream->position += n;
        stream->printed = stream->position;
    }
    return ui_output_lost();
}

static int print_stream(const struct log *log, struct output_stream *stream)
{
    struct cairn_error error = {0};
    if (!log->wanted[stream->number])
        return 0;
    stream->position = 0;
    if (cairn_output(log->store, log->run.run, log->task, log->attempt, stream->number,
                     each_chunk, stream, &error) != 0)
        return report_error(&error);
    log_text_show(&stream->text);
    out_flush();
    return 0;
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

bool log_lacks_stream(const struct log *log, bool merged)
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
        if (streams[i].position == 0)
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
            print_end(log, &wanted, streams[0].printed + streams[1].printed > 0);
            return wanted.found ? 0 : report_no_attempt(log);
        }
        sleep_ms(POLL_MS);
        if (cairn_run_get(log->store, log->run.run, &log->run, &error) != 0)
            return report_error(&error);
    }
}

int log_print(struct log *log, bool follow)
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
    uint64_t gap_bytes, gap_at, position;
};

static int collect_chunk(void *context, const char *bytes, size_t n, uint64_t gap)
{
    struct collected *collected = context;
    if (gap > 0) {
        collected->gap_bytes += gap;
        collected->gap_at = collected->position;
    }
    collected->position += n;
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
    rc = cairn_output(log->store, log->run.run, log->task, log->attempt, stream,
                      collect_chunk, &collected, &error);
    if (fclose(collected.file) != 0 || rc != 0) {
        status = rc != 0 ? report_error(&error) : EXIT_SYSTEM;
    } else {
        doc_object(doc, name);
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

int log_document(struct log *log, struct doc *doc)
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
