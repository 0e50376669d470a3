/* SPDX-License-Identifier: MIT */
/* One checkpoint, of a run or of a session: what it says of itself, and the ways to its
 * neighbours, its board and its files. */
#include "web/place.h"

#include "base/error.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "web/html.h"

#include <inttypes.h>
#include <stdio.h>

static void put_text_fact(struct buf *out, const char *name, const char *text)
{
    if (!text || text[0] == '\0')
        return;
    fact_begin(out, name);
    buf_text(out, "<pre>");
    html_lines(out, text, strlen(text));
    buf_text(out, "</pre>");
    fact_end(out);
}

/* ---- Of any ---- */

static void put_line(struct place *place, const struct cairn_checkpoint_info *info)
{
    struct buf *out = place->out;
    if (info->namespace_id != CAIRN_NAMESPACE_DEBUG) {
        fact_begin(out, "run");
        put_run_link(out, place->options, info->run);
        buf_text(out, " of ");
        html_start(out, info->workflow, TEXT_SHOWN);
        buf_format(out, ", <a href=\"/timeline?run=%" PRIu64 "\">timeline</a>",
                   info->run);
    } else {
        fact_begin(out, "session");
        put_session_link(out, info->session, info->session_name);
        buf_text(out, ", branch ");
        html_text(out, info->branch_name);
        buf_format(out, ", <a href=\"/timeline?session=%" PRIu64 "\">timeline</a>",
                   info->session);
    }
    fact_end(out);
}

static void put_parent(struct buf *out, const struct cairn_checkpoint_info *info)
{
    char id[32];
    if (info->parent == 0)
        return;
    snprintf(id, sizeof id, "%s:%" PRIu64,
             info->namespace_id == CAIRN_NAMESPACE_DEBUG ? "debug" : "workflow",
             info->parent);
    fact_begin(out, "before it");
    put_checkpoint_link(out, id);
    buf_format(out,
               ", <a href=\"/compare?from=%" PRIu64 "&amp;to=%" PRIu64
               "\">what has changed since</a>",
               info->parent, info->seq);
    fact_end(out);
}

static void put_record(struct place *place, const struct cairn_checkpoint_info *info)
{
    struct buf *out = place->out;
    char size[FORMAT_MAX];
    put_line(place, info);
    fact_begin(out, "made");
    html_time(out, info->time_ns);
    fact_end(out);
    put_parent(out, info);
    fact_begin(out, "record");
    buf_format(out, "%s, number %" PRIu64 " of its line, %s%s",
               info->full ? "full" : "delta", info->position,
               format_bytes(size, info->bytes), info->head ? ", the newest" : "");
    html_text(out, checkpoint_flaw(info));
    buf_format(out, "<br>SHA-256 <code>%s</code>", info->digest);
    fact_end(out);
    if (!info->counted)
        return;
    fact_begin(out, "tasks");
    buf_format(out, "%u: %u completed, %u failed, %u skipped, %u cancelled",
               info->total, info->completed, info->failed, info->skipped,
               info->cancelled);
    fact_end(out);
}

static int put_note_of(void *context, const struct cairn_annotation *annotation)
{
    struct buf *out = context;
    if (annotation->label)
        return 0;
    buf_format(out, "<li>%s, ", annotation->severity);
    html_time(out, annotation->time_ns);
    buf_text(out, "<pre>");
    html_lines(out, annotation->text, strlen(annotation->text));
    buf_text(out, "</pre></li>");
    return 0;
}

static int put_notes(struct place *place, const char *id)
{
    struct buf *out = place->out;
    size_t before = out->size;
    buf_text(out, "<section><h2>Notes</h2><ul>");
    size_t empty = out->size;
    int rc =
        cairn_checkpoint_annotations(place->store, id, put_note_of, out, place->error);
    if (out->size == empty)
        out->size = before;
    else
        buf_text(out, "</ul></section>");
    return rc;
}

/* ---- Of a session ---- */

static void put_failure(struct place *place, const struct cairn_task_failure *failure)
{
    struct buf *out = place->out;
    char end[FORMAT_MAX];
    fact_begin(out, "failure");
    html_text(out, failure->task);
    buf_text(out, " of ");
    put_run_link(out, place->options, failure->run);
    buf_format(out, ", attempt %u: %s<pre>", failure->attempt,
               format_end(end, failure->exit_code, failure->signal, false, NULL));
    html_log(out, failure->tail, failure->tail_bytes);
    buf_text(out, "</pre>");
    fact_end(out);
}

static int put_said(void *context, const struct cairn_session_checkpoint_info *info)
{
    struct place *place = context;
    struct buf *out = place->out;
    fact_begin(out, "trigger");
    html_text(out, info->trigger);
    buf_text(out, info->significant ? ", significant" : "");
    fact_end(out);
    put_text_fact(out, "message", info->message);
    if (info->n_tags > 0) {
        fact_begin(out, "tags");
        for (size_t i = 0; i < info->n_tags; i++)
            put_tags(out, info->tags[i]);
        fact_end(out);
    }
    if (info->failure)
        put_failure(place, info->failure);
    if (info->messages) {
        fact_begin(out, "messages");
        buf_format(out,
                   "<a href=\"/sessions/%" PRIu64 "/messages?at=%" PRIu64 "\">%" PRIu64
                   "</a>, tokens in %" PRIu64 ", out %" PRIu64,
                   info->checkpoint.session, info->checkpoint.seq,
                   info->messages->messages, info->messages->tokens_in,
                   info->messages->tokens_out);
        fact_end(out);
        put_text_fact(out, "prompt", info->messages->prompt);
    }
    return 0;
}

static int put_context(void *context, const struct cairn_context *given)
{
    struct buf *out = context;
    char size[FORMAT_MAX];
    put_text_fact(out, "summary", given->summary);
    put_text_fact(out, "about", given->description);
    if (given->n_pairs > 0)
        fact_begin(out, "context");
    for (size_t i = 0; i < given->n_pairs; i++) {
        html_text(out, given->pairs[i].key);
        buf_text(out, "=");
        html_text(out, given->pairs[i].value);
        buf_text(out, "<br>");
    }
    if (given->n_pairs > 0)
        fact_end(out);
    if (given->state) {
        fact_begin(out, "state");
        buf_text(out, format_bytes(size, strlen(given->state)));
        fact_end(out);
    }
    return 0;
}

static int put_environment(void *context, const struct cairn_environment *environment)
{
    struct buf *out = context;
    fact_begin(out, "directory");
    html_text(out, environment->directory);
    fact_end(out);
    for (size_t i = 0; i < environment->n; i++) {
        buf_text(out, i == 0 ? "<dt>variables</dt><dd>" : "<br>");
        html_text(out, environment->variables[i].name);
        buf_text(out, "=");
        html_text(out, environment->variables[i].value);
    }
    if (environment->n > 0)
        fact_end(out);
    return 0;
}

/* What the checkpoint holds; nothing where it holds none. */
static int put_files(struct place *place, const struct cairn_checkpoint_info *info)
{
    struct cairn_files_summary summary;
    struct cairn_error error = {0};
    char size[FORMAT_MAX];
    int rc = cairn_files_list(place->store, info->id, NULL, NULL, &summary, &error);
    if (rc != 0 && rc != CAIRN_EDAMAGED)
        return rc == CAIRN_ENOTFOUND ? 0
                                     : error_set(place->error, rc, "%s", error.text);
    fact_begin(place->out, "files");
    buf_format(place->out, "<a href=\"/checkpoints/%" PRIu64 "/files\">", info->seq);
    if (rc == 0)
        buf_format(place->out, "%" PRIu64 ", %s", summary.files,
                   format_bytes(size, summary.bytes));
    else
        html_text(place->out, error.text);
    buf_text(place->out, "</a>");
    if (rc == 0 && summary.left_out > 0)
        buf_format(place->out, ", %" PRIu64 " left out", summary.left_out);
    fact_end(place->out);
    return 0;
}

static int put_state(struct place *place, const char *id)
{
    int rc =
        cairn_session_checkpoint_get(place->store, id, put_said, place, place->error);
    if (rc == 0)
        rc = cairn_checkpoint_context(place->store, id, put_context, place->out,
                                      place->error);
    if (rc == 0 || rc == CAIRN_ENOTFOUND)
        rc = cairn_session_environment(place->store, NULL, id, put_environment,
                                       place->out, place->error);
    return rc == CAIRN_ENOTFOUND ? 0 : rc;
}

/* ---- The page ---- */

struct label_acts {
    struct place *place;
    uint64_t checkpoint;
};

static int put_unlabel(void *context, const struct cairn_annotation *annotation)
{
    struct label_acts *acts = context;
    struct buf label = BUF_INIT;
    if (!annotation->label)
        return 0;
    buf_text(&label, "Remove the label ");
    html_start(&label, annotation->text, TEXT_SHOWN);
    buf_byte(&label, 0);
    if (!label.failed)
        put_act(acts->place->out, acts->place->options, label.data,
                &(struct act_asked){.act = "unlabel",
                                    .checkpoint = acts->checkpoint,
                                    .label = annotation->text});
    buf_release(&label);
    return 0;
}

static void put_acts(struct place *place, const struct cairn_checkpoint_info *info)
{
    static const char *const of_any[][2] = {{"Label", "label"}, {"Note", "note"}};
    static const char *const of_session[][2] = {{"Restore", "restore"},
                                                {"Fork", "fork"}};
    struct label_acts acts = {place, info->seq};
    struct cairn_error error = {0};
    if (!place->options->key)
        return;
    buf_text(place->out, "<div>");
    if (info->namespace_id == CAIRN_NAMESPACE_DEBUG)
        for (size_t i = 0; i < COUNT_OF(of_session); i++)
            put_act(place->out, place->options, of_session[i][0],
                    &(struct act_asked){.act = of_session[i][1],
                                        .session = info->session,
                                        .checkpoint = info->seq});
    else
        put_act(place->out, place->options, "Start a run from here",
                &(struct act_asked){.act = "from", .checkpoint = info->seq});
    for (size_t i = 0; i < COUNT_OF(of_any); i++)
        put_act(place->out, place->options, of_any[i][0],
                &(struct act_asked){.act = of_any[i][1], .checkpoint = info->seq});
    (void)cairn_checkpoint_annotations(place->store, info->id, put_unlabel, &acts,
                                       &error);
    buf_text(place->out, "</div>");
}

int checkpoint_page(struct place *place)
{
    struct cairn_checkpoint_info info;
    struct buf *out = place->out;
    char id[32];
    snprintf(id, sizeof id, "%" PRIu64, place->number);
    int rc = cairn_checkpoint_get(place->store, id, &info, place->error);
    bool debug = rc == 0 && info.namespace_id == CAIRN_NAMESPACE_DEBUG;
    if (rc != 0)
        return rc;
    place_begin(place, info.id, false);
    buf_format(out, "<header><h1>%s</h1>", info.id);
    put_labels(place, info.id);
    buf_text(out, "<p>");
    put_command(out, place->options, "cairn checkpoint show %s", info.id);
    if (debug) {
        buf_text(out, " ");
        put_command(out, place->options, "cairn checkpoint restore %s --dry-run",
                    info.id);
    }
    buf_text(out, "</p>");
    if (debug)
        put_unfinished_restores(place, info.session);
    put_acts(place, &info);
    buf_text(out, "</header><dl class=\"facts\">");
    put_record(place, &info);
    if (debug)
        rc = put_state(place, info.id);
    if (rc == 0 && debug)
        rc = put_files(place, &info);
    buf_text(out, "</dl>");
    rc = put_damage(place, rc);
    if (rc == 0)
        rc = put_damage(place, put_notes(place, info.id));
    if (rc == 0 && debug) {
        buf_text(out, "<section><h2>Board at that time</h2>");
        rc = put_board(place, NULL, info.id);
        buf_text(out, "</section>");
    }
    frame_end(out, place->options, wall_ns());
    return rc;
}
