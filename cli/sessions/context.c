/* SPDX-License-Identifier: MIT */
/* The context of an agent, as checkpoints and sessions show it. */
#include "cli/sessions/context.h"

#include "base/words.h"

#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <string.h>

void lines_print(const char *label, const char *text)
{
    for (;;) {
        int n = (int)strcspn(text, "\n");
        out("%-9s %.*s\n", label, n, text);
        text += n;
        if (*text == '\0')
            return;
        text++;
        label = "";
    }
}

/* ---- One of them ---- */

static void print_numbers(const struct cairn_context *context)
{
    if (!context->given && context->has_tokens)
        out("tokens    %" PRIu64 ", as given\n", context->tokens);
    else if (context->has_tokens)
        out("tokens    %" PRIu64 ", as given; its texts are about %" PRIu64
            " (length / 4)\n",
            context->tokens, context->estimate);
    else if (context->given)
        out("tokens    about %" PRIu64 " (length / 4)\n", context->estimate);
    if (context->has_usage)
        out("usage     %.4g%%\n", context->usage * 100);
    if (context->threshold != 0)
        out("threshold %u%%\n", context->threshold);
}

static int print_context(void *unused, const struct cairn_context *context)
{
    char size[FORMAT_MAX];
    (void)unused;
    if (context->summary)
        lines_print("summary", context->summary);
    if (context->description)
        lines_print("about", context->description);
    for (size_t i = 0; i < context->n_pairs; i++)
        out("%-9s %s=%s\n", i == 0 ? "context" : "", context->pairs[i].key,
            context->pairs[i].value);
    if (context->state)
        out("state     %s: `cairn checkpoint resume --level full%s` prints it\n",
            format_bytes(size, strlen(context->state)), session_hint());
    print_numbers(context);
    if (context->git_branch || context->git_commit)
        out("git       %s%s%s\n",
            context->git_branch ? context->git_branch : "on no branch",
            context->git_commit ? ", commit " : ", without a commit",
            context->git_commit ? context->git_commit : "");
    return 0;
}

void context_members(struct doc *doc, const struct cairn_context *context,
                     enum context_level level)
{
    bool full = level == LEVEL_FULL;
    doc_text(doc, "summary", context->summary);
    doc_text(doc, "description", full ? context->description : NULL);
    doc_array(doc, "pairs");
    for (size_t i = 0; i < context->n_pairs && level != LEVEL_SUMMARY; i++) {
        doc_object(doc, NULL);
        doc_text(doc, "key", context->pairs[i].key);
        doc_text(doc, "value", context->pairs[i].value);
        doc_end(doc);
    }
    doc_end(doc);
    doc_text(doc, "state", full ? context->state : NULL);
    if (context->has_tokens)
        doc_count(doc, "tokens", context->tokens);
    else
        doc_null(doc, "tokens");
    if (context->has_usage)
        doc_exact(doc, "usage", context->usage);
    else
        doc_null(doc, "usage");
    doc_some(doc, "threshold", context->threshold);
    doc_text(doc, "git_branch", context->git_branch);
    doc_text(doc, "git_commit", context->git_commit);
}

static int add_context(void *context, const struct cairn_context *found)
{
    struct doc *doc = context;
    doc_object(doc, "context");
    context_members(doc, found, LEVEL_FULL);
    doc_count(doc, "tokens_estimate", found->estimate);
    doc_end(doc);
    return 0;
}

/* ---- In the words of contextd ---- */

struct contextd {
    struct doc *doc;
    bool pairs;
};

static int add_contextd(void *context, const struct cairn_context *found)
{
    const struct contextd *wanted = context;
    struct doc *doc = wanted->doc;
    doc_text(doc, "summary", found->summary ? found->summary : "");
    doc_text(doc, "description", found->description ? found->description : "");
    if (wanted->pairs) {
        doc_object(doc, "context");
        for (size_t i = 0; i < found->n_pairs; i++)
            doc_text(doc, found->pairs[i].key, found->pairs[i].value);
        doc_end(doc);
    }
    doc_count(doc, "token_count", found->has_tokens ? found->tokens : found->estimate);
    doc_exact(doc, "threshold", found->has_usage ? found->usage : 0);
    return 0;
}

int contextd_members(struct doc *doc, struct cairn_store *store,
                     const struct cairn_checkpoint_info *info, bool pairs)
{
    static const struct cairn_context none = {.summary = NULL};
    struct contextd wanted = {doc, pairs};
    struct cairn_error error = {0};
    const char *trigger = cairn_trigger_name(info->trigger);
    int rc = info->damaged ? CAIRN_ENOTFOUND
                           : cairn_checkpoint_context(store, info->id, add_contextd,
                                                      &wanted, &error);
    if (rc == CAIRN_ENOTFOUND)
        rc = add_contextd(&wanted, &none);
    doc_text(doc, "session_id", info->session_name);
    doc_text(doc, "name", info->message);
    doc_text(doc, "project_path", cairn_store_project(store));
    doc_bool(doc, "auto_created", !trigger || strcmp(trigger, "manual") != 0);
    doc_time(doc, "created_at", info->time_ns);
    doc_time(doc, "updated_at", info->time_ns); /* a checkpoint never changes */
    return report_code(rc, &error);
}

bool contextd_option(const struct settings *settings, bool *wanted)
{
    *wanted = settings->given[OPT_CONTEXTD];
    if (!*wanted || ui_json())
        return true;
    report_usage(settings->command, "--contextd is for --json");
    return false;
}

int context_print(struct cairn_store *store, const char *id)
{
    struct cairn_error error = {0};
    int rc = cairn_checkpoint_context(store, id, print_context, NULL, &error);
    return rc == 0 || rc == CAIRN_ENOTFOUND ? 0 : report_error(&error);
}

int context_document(struct doc *doc, struct cairn_store *store, const char *id)
{
    struct cairn_error error = {0};
    int rc = cairn_checkpoint_context(store, id, add_context, doc, &error);
    if (rc == CAIRN_ENOTFOUND)
        doc_null(doc, "context");
    return rc == 0 || rc == CAIRN_ENOTFOUND ? 0 : report_error(&error);
}

/* ---- The newest ---- */

enum { OFFER_AMONG = 1000 }; /* so that a look at a long session stays short */

struct offer {
    struct doc *doc; /* NULL: text */
    const struct cairn_checkpoint_info *info;
};

/* How much of a text is its first line, if that is short. */
static int cut(const char *text)
{
    size_t n = strcspn(text, "\n"), at = 0;
    while (at < n && at < 80) {
        size_t length = utf8_length(text + at, n - at);
        at += length > 0 ? length : 1;
    }
    return (int)at;
}

static int tell_offer(void *context, const struct cairn_context *found)
{
    const struct offer *offer = context;
    const char *text = found->summary ? found->summary : offer->info->message;
    int n = cut(text);
    if (!offer->doc) {
        out("continue from   %s: %.*s%s (`cairn checkpoint resume%s`)\n",
            offer->info->id, n, text, text[n] != '\0' ? "..." : "", session_hint());
        return 0;
    }
    doc_object(offer->doc, "context");
    doc_text(offer->doc, "id", offer->info->id);
    doc_count(offer->doc, "seq", offer->info->seq);
    doc_time(offer->doc, "time", offer->info->time_ns);
    doc_text(offer->doc, "message", offer->info->message);
    doc_text(offer->doc, "summary", found->summary);
    doc_end(offer->doc);
    return 0;
}

int context_offer(struct doc *doc, struct cairn_store *store, const char *session)
{
    struct cairn_checkpoint_info info = {0};
    struct offer offer = {doc, &info};
    struct cairn_error error = {0};
    int rc =
        cairn_session_newest_context(store, session, OFFER_AMONG, &info, &error)
            ?: cairn_checkpoint_context(store, info.id, tell_offer, &offer, &error);
    if (rc == CAIRN_ENOTFOUND && doc)
        doc_null(doc, "context");
    return rc == 0 || rc == CAIRN_ENOTFOUND ? 0 : report_error(&error);
}

/* ---- Two of them ---- */

/* Names and texts of one, in a fixed order: a pair's key behind "context.". */
struct part {
    char *name, *text;
};

struct parts {
    struct part *at;
    size_t n;
    bool failed;
};

static void add_part(struct parts *parts, const char *start, const char *name,
                     const char *text)
{
    size_t room = strlen(start) + strlen(name) + 1;
    if (!text || parts->failed)
        return;
    struct part *part = &parts->at[parts->n];
    part->name = malloc(room);
    part->text = strdup(text);
    parts->failed = !part->name || !part->text;
    if (part->name)
        snprintf(part->name, room, "%s%s", start, name);
    parts->n++;
}

static int copy_parts(void *context, const struct cairn_context *found)
{
    struct parts *parts = context;
    char number[32];
    parts->at = calloc(found->n_pairs + 8, sizeof *parts->at);
    parts->failed = !parts->at;
    add_part(parts, "", "summary", found->summary);
    add_part(parts, "", "description", found->description);
    for (size_t i = 0; i < found->n_pairs; i++)
        add_part(parts, "context.", found->pairs[i].key, found->pairs[i].value);
    add_part(parts, "", "state", found->state);
    u64_text(found->tokens, number);
    add_part(parts, "", "tokens", found->has_tokens ? number : NULL);
    snprintf(number, sizeof number, "%.6g", found->usage);
    add_part(parts, "", "usage", found->has_usage ? number : NULL);
    add_part(parts, "", "git_branch", found->git_branch);
    add_part(parts, "", "git_commit", found->git_commit);
    return 0;
}

static void release_parts(struct parts *parts)
{
    for (size_t i = 0; i < parts->n; i++) {
        free(parts->at[i].name);
        free(parts->at[i].text);
    }
    free(parts->at);
}

static int take_parts(struct cairn_store *store, const char *id, struct parts *parts)
{
    struct cairn_error error = {0};
    int rc = cairn_checkpoint_context(store, id, copy_parts, parts, &error);
    if (parts->failed)
        return report_nomem();
    return rc == 0 || rc == CAIRN_ENOTFOUND ? 0 : report_error(&error);
}

static const char *part_of(const struct parts *parts, const char *name)
{
    for (size_t i = 0; i < parts->n; i++)
        if (strcmp(parts->at[i].name, name) == 0)
            return parts->at[i].text;
    return NULL;
}

static void print_difference(const char *name, const char *before, const char *after)
{
    int old = before ? cut(before) : 1, new = after ? cut(after) : 1;
    out("~ context    %s: %.*s%s -> %.*s%s\n", name, old, before ? before : "-",
        before && before[old] != '\0' ? "..." : "", new, after ? after : "-",
        after && after[new] != '\0' ? "..." : "");
}

static void tell_difference(struct doc *doc, const char *name, const char *before,
                            const char *after)
{
    if (before && after && strcmp(before, after) == 0)
        return;
    if (!doc) {
        print_difference(name, before, after);
        return;
    }
    doc_object(doc, NULL);
    doc_text(doc, "name", name);
    doc_text(doc, "before", before);
    doc_text(doc, "after", after);
    doc_end(doc);
}

int context_compare(struct doc *doc, struct cairn_store *store, const char *from,
                    const char *to)
{
    struct parts was = {0}, is = {0};
    bool two = from && from[0] != '\0' && to && to[0] != '\0';
    int status = two ? take_parts(store, from, &was) : 0;
    if (status == 0 && two)
        status = take_parts(store, to, &is);
    if (doc)
        doc_array(doc, "context");
    for (size_t i = 0; i < was.n && status == 0; i++)
        tell_difference(doc, was.at[i].name, was.at[i].text,
                        part_of(&is, was.at[i].name));
    for (size_t i = 0; i < is.n && status == 0; i++)
        if (!part_of(&was, is.at[i].name))
            tell_difference(doc, is.at[i].name, NULL, is.at[i].text);
    if (doc)
        doc_end(doc);
    release_parts(&was);
    release_parts(&is);
    return status;
}
