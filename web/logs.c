/* SPDX-License-Identifier: MIT */
#include "web/logs.h"

#include "base/utf8.h"
#include "cli/format.h"
#include "web/html.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    PART_BYTES = 64 << 10, /* of a log on its page */
    END_BYTES = 4 << 10,   /* of a log in another page */
    END_LINES = 20,
};

/* ---- Reading ---- */

struct log_part {
    size_t most;
    bool last;                  /* the end is wanted, whose place is not known before */
    bool more;                  /* something follows */
    uint64_t from, at;          /* of the log as it is kept */
    uint64_t gap_at, gap_bytes; /* the middle that was not kept, 0: none */
    struct buf bytes;
};

/* Of the end twice the room is kept, so that each byte is moved once. */
static int add_bytes(void *context, const char *bytes, size_t n, uint64_t gap_bytes)
{
    struct log_part *part = context;
    uint64_t skip = part->from > part->at ? part->from - part->at : 0;
    if (gap_bytes > 0) {
        part->gap_at = part->at;
        part->gap_bytes = gap_bytes;
    }
    if (part->last)
        skip = n > part->most ? n - part->most : 0;
    part->at += n;
    if (skip >= n)
        return 0;
    buf_add(&part->bytes, bytes + skip, n - (size_t)skip);
    if (part->bytes.failed)
        return CAIRN_ENOMEM;
    if (part->last && part->bytes.size > 2 * part->most) {
        memmove(part->bytes.data, part->bytes.data + part->bytes.size - part->most,
                part->most);
        part->bytes.size = part->most;
    }
    part->more = !part->last && part->bytes.size > part->most;
    return part->more;
}

static int read_part(struct cairn_store *store, const struct log_wanted *place,
                     struct log_part *part, struct cairn_error *error)
{
    int rc = cairn_output(store, place->run, place->task, place->attempt, place->stream,
                          add_bytes, part, error);
    if (part->bytes.failed)
        return error_nomem(error);
    return part->more ? 0 : rc; /* add_bytes has ended it */
}

static struct str end_of(const struct log_part *part)
{
    size_t n = part->bytes.size < part->most ? part->bytes.size : part->most;
    return (struct str){part->bytes.data + part->bytes.size - n, n};
}

/* Exactly what is shown: of the end whole lines, else all up to the part's size. */
static struct str cut_part(struct log_part *part)
{
    struct str text = end_of(part);
    if (!part->last)
        return (struct str){part->bytes.data, text.len};
    if (part->at > text.len) {
        const char *line = memchr(text.ptr, '\n', text.len);
        size_t skip = line ? (size_t)(line + 1 - text.ptr) : 0;
        if (skip < text.len)
            text = (struct str){text.ptr + skip, text.len - skip};
    }
    part->from = part->at - text.len;
    return text;
}

/* ---- The page ---- */

static void put_address(struct buf *out, const struct log_wanted *place,
                        uint32_t attempt, int stream, const char *from)
{
    buf_format(out, "<a href=\"/runs/%" PRIu64 "/log?task=", place->run);
    html_address(out, place->task);
    if (attempt > 0)
        buf_format(out, "&amp;attempt=%u", attempt);
    if (stream == 2)
        buf_text(out, "&amp;stream=2");
    if (from)
        buf_format(out, "&amp;from=%s", from);
    buf_text(out, "\">");
}

void put_log_link(struct buf *out, uint64_t run, const char *task, const char *words)
{
    put_address(out, &(struct log_wanted){.run = run, .task = task}, 0, 1, NULL);
    buf_format(out, "%s</a>", words);
}

struct log_attempts {
    struct buf *out;
    const struct log_wanted *place;
    bool open; /* the one that is shown has not ended */
};

static int put_attempt(void *context, const struct cairn_attempt_info *attempt)
{
    struct log_attempts *attempts = context;
    const struct log_wanted *place = attempts->place;
    struct buf *out = attempts->out;
    char took[FORMAT_MAX], size[FORMAT_MAX];
    bool here = attempt->attempt == place->attempt;
    attempts->open |= here && attempt->open;
    buf_text(out, here ? "<li aria-current=\"true\"><b>" : "<li>");
    put_address(out, place, attempt->attempt, 1, NULL);
    buf_format(out, "attempt %u</a>%s: %s", attempt->attempt, here ? "</b>" : "",
               attempt->undo ? "undo, " : "");
    if (attempt->open)
        buf_text(out, "not ended");
    else
        buf_format(
            out, "%s, %s", cairn_outcome_name(attempt->outcome),
            format_duration(took, (attempt->ended_ns - attempt->started_ns) / 1000000));
    buf_format(out, ", %s",
               format_bytes(size, attempt->stdout_bytes + attempt->stderr_bytes));
    if (!attempt->merged && attempt->stderr_bytes > 0) {
        buf_text(out, ", ");
        put_address(out, place, attempt->attempt, 2, NULL);
        buf_text(out, "stderr</a>");
    }
    if (attempt->text) {
        buf_text(out, ": ");
        html_start(out, attempt->text, TEXT_SHOWN);
    }
    buf_text(out, "</li>");
    return 0;
}

static int find_newest(void *newest, const struct cairn_attempt_info *attempt)
{
    *(uint32_t *)newest = attempt->attempt;
    return 0;
}

static void put_part_links(struct buf *out, const struct log_wanted *place,
                           const struct log_part *part, size_t shown)
{
    char number[24];
    uint64_t before = part->from > PART_BYTES ? part->from - PART_BYTES : 0;
    buf_text(out, "<p class=\"parts\">");
    if (part->from > 0) {
        put_address(out, place, place->attempt, place->stream, "0");
        buf_text(out, "beginning</a> ");
        snprintf(number, sizeof number, "%" PRIu64, before);
        put_address(out, place, place->attempt, place->stream, number);
        buf_text(out, "before</a> ");
    }
    buf_format(out, "bytes %" PRIu64 " to %" PRIu64 " ", part->from,
               part->from + shown);
    if (part->more) {
        snprintf(number, sizeof number, "%" PRIu64, part->from + shown);
        put_address(out, place, place->attempt, place->stream, number);
        buf_text(out, "after</a> ");
        put_address(out, place, place->attempt, place->stream, NULL);
        buf_text(out, "end</a>");
    }
    buf_text(out, "</p>");
}

static int put_part(struct buf *out, struct cairn_store *store,
                    const struct log_wanted *place, struct cairn_error *error)
{
    struct log_part part = {
        .most = PART_BYTES, .from = place->from, .last = place->last};
    char size[FORMAT_MAX];
    int rc = read_part(store, place, &part, error);
    if (rc == 0 && part.bytes.size > 0) {
        struct str text = cut_part(&part);
        put_part_links(out, place, &part, text.len);
        if (part.gap_bytes > 0)
            buf_format(
                out,
                "<p class=\"note\">%s of the middle were not kept: they are missing "
                "at byte %" PRIu64 ".</p>",
                format_bytes(size, part.gap_bytes), part.gap_at);
        buf_text(out, "<pre class=\"log\">");
        html_log(out, text.ptr, text.len);
        buf_text(out, "</pre>");
    } else if (rc == 0) {
        put_note(out, "There is nothing here.");
    }
    buf_release(&part.bytes);
    return rc;
}

static void put_log_command(struct buf *out, const struct log_wanted *place,
                            const struct page_options *options)
{
    char *word = shell_word(place->task);
    put_command(out, options, "cairn log %s --run %" PRIu64, word ? word : "TASK",
                place->run);
    free(word);
}

int log_page(struct buf *out, struct cairn_store *store, const struct log_wanted *given,
             const struct page_options *options, struct cairn_error *error)
{
    struct log_wanted place = *given;
    struct log_attempts attempts = {.out = out, .place = &place};
    struct cairn_run_info run;
    struct cairn_error none = {0};
    uint32_t newest = 0;
    int rc = cairn_attempts(store, place.run, place.task, find_newest, &newest, error);
    if (place.attempt == 0)
        place.attempt = newest;
    if (rc == 0) {
        frame_begin(out, options);
        buf_text(out, "log of ");
        html_text(out, place.task);
        frame_body(out, options, true);
        put_run_heading(out, options, place.run, place.task);
        part_begin(options, out, "attempts", NO_NUMBER);
        buf_text(out, "<ul id=\"attempts\">");
        rc =
            cairn_attempts(store, place.run, place.task, put_attempt, &attempts, error);
        buf_text(out, "</ul>");
        part_end(options, out);
        buf_text(out, "<p>");
        put_log_command(out, &place, options);
        buf_text(out, "</p>");
    }
    part_begin(options, out, "log", NO_NUMBER);
    buf_text(out, "<section id=\"log\">");
    if (rc == 0 && newest > 0)
        rc = put_part(out, store, &place, error);
    buf_text(out, "</section>");
    part_end(options, out);
    if (rc == 0 && options->parts && attempts.open)
        options->parts->moves =
            cairn_run_look(store, place.run, &run, &none) == 0 && run.live;
    if (rc == 0)
        frame_end(out, options, wall_ns());
    return rc;
}

/* ---- The end of a log in another page ---- */

static struct str last_lines(const struct log_part *part)
{
    struct str text = end_of(part);
    size_t begin, lines = 0;
    for (begin = text.len; begin > 0; begin--)
        if (text.ptr[begin - 1] == '\n' && begin < text.len && ++lines == END_LINES)
            break;
    text = (struct str){text.ptr + begin, text.len - begin};
    return part->at > text.len && begin == 0 ? utf8_skip_rest(text) : text;
}

size_t put_log_end(struct buf *out, struct cairn_store *store,
                   const struct log_wanted *place, const struct page_options *options)
{
    struct log_part part = {.most = END_BYTES, .last = true};
    struct cairn_error error = {0};
    struct str text = {0};
    char size[FORMAT_MAX];
    int rc = read_part(store, place, &part, &error);
    out->failed |= rc == CAIRN_ENOMEM;
    if (rc == CAIRN_EDAMAGED)
        put_note(out, error.text);
    if (part.bytes.size > 0) {
        text = last_lines(&part);
        if (part.gap_bytes > 0 && part.gap_at >= part.at - text.len)
            put_note(out, "Within these lines the middle of the log is missing, which "
                          "was not kept.");
        if (part.at > text.len) {
            buf_format(
                out, "<p class=\"note\">The end of %s%s: ", format_bytes(size, part.at),
                place->stream == 2 ? " of stderr" : "");
            put_log_command(out, place, options);
            buf_text(out, "</p>");
        } else if (place->stream == 2) {
            put_note(out, "stderr:");
        }
        buf_text(out, "<pre>");
        html_log(out, text.ptr, text.len);
        buf_text(out, "</pre>");
    }
    buf_release(&part.bytes);
    return text.len;
}
