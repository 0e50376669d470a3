/* SPDX-License-Identifier: MIT */
/* Attempts as lines and as JSON. */
#include "cli/attempts.h"

#include "cli/describe.h"
#include "cli/format.h"
#include "cli/ui.h"

/* The same words as in `cairn events`. */
static const char *end_words(const struct cairn_attempt_info *attempt)
{
    bool done = attempt->outcome == CAIRN_COMPLETED;
    if (attempt->open)
        return attempt->undo ? "undo, no end recorded" : "no end recorded";
    if (attempt->undo)
        return done ? "undone" : "its undo failed";
    return cairn_outcome_name(attempt->outcome);
}

void attempt_print(const struct cairn_attempt_info *attempt)
{
    char how[FORMAT_MAX], took[FORMAT_MAX] = "", when[FORMAT_MAX];
    bool text = attempt->text && attempt->text[0] != '\0';
    format_end(how, attempt->exit_code, attempt->signal, attempt->timed_out,
               attempt->text);
    if (attempt->ended_ns != 0)
        format_duration(took, (attempt->ended_ns - attempt->started_ns) / 1000000);
    out("  attempt %u  %s%s%s%s%s%s  started %s%s%s\n", attempt->attempt,
        end_words(attempt),
        attempt->check      ? " by its check"
        : attempt->external ? " from outside"
                            : "",
        how[0] ? "  " : "", how, took[0] ? "  " : "", took,
        format_local(when, attempt->started_ns), text ? "  " : "",
        text ? attempt->text : "");
}

void attempt_document(struct doc *doc, const struct cairn_attempt_info *attempt)
{
    doc_count(doc, "attempt", attempt->attempt);
    doc_bool(doc, "open", attempt->open);
    doc_text(doc, "outcome",
             attempt->open ? NULL : cairn_outcome_name(attempt->outcome));
    process_end_document(doc, attempt->exit_code, attempt->signal);
    doc_bool(doc, "timed_out", attempt->timed_out);
    doc_time(doc, "started", attempt->started_ns);
    doc_time(doc, "ended", attempt->ended_ns);
    doc_number(doc, "cpu_ms", attempt->cpu_ms);
    doc_some(doc, "peak_kib", (uint64_t)attempt->peak_kib);
    doc_bool(doc, "merged", attempt->merged);
    if (attempt->merged) {
        doc_count(doc, "log_bytes", attempt->stdout_bytes);
    } else {
        doc_count(doc, "stdout_bytes", attempt->stdout_bytes);
        doc_count(doc, "stderr_bytes", attempt->stderr_bytes);
    }
    doc_text(doc, "text", attempt->text);
    doc_bool(doc, "undo", attempt->undo);
    doc_bool(doc, "check", attempt->check);
    doc_bool(doc, "external", attempt->external);
}
