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

/* Bytes are counted as the task wrote them, the middle that was not kept, too. */
struct log_part {
    struct cairn_output_part asked;
    uint64_t from; /* of the first byte that is here */
    struct buf bytes;
    char damage[400]; /* what cannot be read, or "" */
};

static uint64_t gap_end(const struct log_part *part)
{
    return part->asked.gap_at + part->asked.gap_bytes;
}

/* What is on both sides of a gap is not shown as if it belonged together: of the end it
 * is what comes behind, else what is before. */
static int add_bytes(void *context, const char *bytes, size_t n, uint64_t at)
{
    struct log_part *part = context;
    if (part->bytes.size > 0 && at != part->from + part->bytes.size) {
        if (part->asked.last == 0)
            return 1;
        buf_clear(&part->bytes);
    }
    if (part->bytes.size == 0)
        part->from = at;
    buf_add(&part->bytes, bytes, n);
    return part->bytes.failed;
}

/* From `from` on, or `most` at the end. */
static int read_part(struct cairn_store *store, const struct log_wanted *place,
                     size_t most, struct log_part *part, struct cairn_error *error)
{
    struct cairn_error why = {0};
    uint64_t from = place->from;
    int rc;
    for (;;) {
        *part = (struct log_part){.from = from};
        if (place->last)
            part->asked.last = most;
        else
            part->asked = (struct cairn_output_part){
                .from = from, .to = from <= UINT64_MAX - most ? from + most : from};
        rc = cairn_output_part(store, place->run, place->task, place->attempt,
                               place->stream, &part->asked, add_bytes, part, &why);
        if (rc != 0 || place->last || part->bytes.size > 0 ||
            from < part->asked.gap_at || from >= gap_end(part))
            break;
        from = gap_end(part);
    }
    if (part->bytes.failed)
        return error_nomem(error);
    if (rc == CAIRN_EDAMAGED)
        snprintf(part->damage, sizeof part->damage, "%.399s", why.text);
    else if (rc != 0)
        return error_set(error, rc, "%s", why.text);
    if (place->last && part->bytes.size == 0)
        part->from = part->asked.from;
    return 0;
}

/* Exactly what is shown: of the end whole lines, else all. */
static struct str cut_part(struct log_part *part, bool last)
{
    struct str text = buf_view(&part->bytes);
    const char *line = text.len > 0 ? memchr(text.ptr, '\n', text.len) : NULL;
    size_t skip = line ? (size_t)(line + 1 - text.ptr) : 0;
    if (!last || part->from == 0 || part->from == gap_end(part) || skip >= text.len)
        return text;
    part->from += skip;
    return (struct str){text.ptr + skip, text.len - skip};
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

static void put_part_link(struct buf *out, const struct log_wanted *place,
                          uint64_t from, const char *word)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, from);
    put_address(out, place, place->attempt, place->stream, number);
    buf_format(out, "%s</a> ", word);
}

/* Any byte can be gone to. */
static void put_byte_form(struct buf *out, const struct log_wanted *place,
                          const struct log_part *part)
{
    buf_format(out, "<form class=\"filter\" action=\"/runs/%" PRIu64 "/log\">",
               place->run);
    buf_text(out, "<input type=\"hidden\" name=\"task\" value=\"");
    html_text(out, place->task);
    buf_format(out, "\"><input type=\"hidden\" name=\"attempt\" value=\"%u\">",
               place->attempt);
    buf_format(out, "<input type=\"hidden\" name=\"stream\" value=\"%d\">",
               place->stream);
    buf_format(out,
               "<label>from byte <input name=\"from\" inputmode=\"numeric\" "
               "pattern=\"[0-9]+\" required value=\"%" PRIu64 "\"></label> of %" PRIu64
               " <button>Go</button></form>",
               part->from, part->asked.bytes);
}

static void put_part_links(struct buf *out, const struct log_wanted *place,
                           const struct log_part *part, size_t shown)
{
    const struct cairn_output_part *asked = &part->asked;
    uint64_t end = part->from + shown, before = part->from;
    if (before == gap_end(part))
        before = asked->gap_at;
    before = before > PART_BYTES ? before - PART_BYTES : 0;
    if (part->from > gap_end(part) && before < gap_end(part))
        before = gap_end(part);
    buf_text(out, "<p class=\"parts\">");
    if (part->from > 0) {
        put_part_link(out, place, 0, "beginning");
        put_part_link(out, place, before, "before");
    }
    buf_format(out, "bytes %" PRIu64 " to %" PRIu64 " ", part->from, end);
    if (end < asked->bytes) {
        put_part_link(out, place, end == asked->gap_at ? gap_end(part) : end, "after");
        put_address(out, place, place->attempt, place->stream, NULL);
        buf_text(out, "end</a>");
    }
    buf_text(out, "</p>");
    if (asked->bytes > 2 * PART_BYTES)
        put_byte_form(out, place, part);
}

static int put_part(struct buf *out, struct cairn_store *store,
                    const struct log_wanted *place, struct cairn_error *error)
{
    struct log_part part;
    char size[FORMAT_MAX];
    int rc = read_part(store, place, PART_BYTES, &part, error);
    const struct cairn_output_part *asked = &part.asked;
    struct str text = cut_part(&part, place->last);
    bool any = text.len > 0 || part.damage[0] != '\0';
    if (rc == 0 && any) {
        put_part_links(out, place, &part,
                       text.len > 0 ? text.len : (size_t)(asked->to - part.from));
        if (asked->gap_bytes > 0)
            buf_format(
                out,
                "<p class=\"note\">%s of the middle were not kept: they are missing "
                "at byte %" PRIu64 ".</p>",
                format_bytes(size, asked->gap_bytes), asked->gap_at);
        if (part.damage[0] != '\0')
            put_note(out, part.damage);
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
    struct str text = buf_view(&part->bytes);
    size_t begin, lines = 0;
    for (begin = text.len; begin > 0; begin--)
        if (text.ptr[begin - 1] == '\n' && begin < text.len && ++lines == END_LINES)
            break;
    text = (struct str){text.ptr + begin, text.len - begin};
    return part->from > 0 && begin == 0 ? utf8_skip_rest(text) : text;
}

size_t put_log_end(struct buf *out, struct cairn_store *store,
                   const struct log_wanted *given, const struct page_options *options)
{
    struct log_wanted place = *given;
    struct log_part part;
    struct cairn_error error = {0};
    struct str text = {0};
    char size[FORMAT_MAX];
    place.last = true;
    int rc = read_part(store, &place, END_BYTES, &part, &error);
    out->failed |= rc == CAIRN_ENOMEM;
    if (part.damage[0] != '\0')
        put_note(out, part.damage);
    if (part.bytes.size > 0) {
        uint64_t bytes = part.asked.bytes;
        text = last_lines(&part);
        if (part.asked.gap_bytes > 0 && part.from == gap_end(&part) &&
            text.len == part.bytes.size)
            put_note(out, "Before these lines the middle of the log is missing, which "
                          "was not kept.");
        if (bytes > text.len) {
            buf_format(out,
                       "<p class=\"note\">The end of %s%s: ", format_bytes(size, bytes),
                       place.stream == 2 ? " of stderr" : "");
            put_log_command(out, &place, options);
            buf_text(out, "</p>");
        } else if (place.stream == 2) {
            put_note(out, "stderr:");
        }
        buf_text(out, "<pre>");
        html_log(out, text.ptr, text.len);
        buf_text(out, "</pre>");
    }
    buf_release(&part.bytes);
    return text.len;
}
