/* SPDX-License-Identifier: MIT */
/* cairn checkpoint resume: what an agent reads to go on from a checkpoint. */
#include "cli/commands/commands.h"
#include "cli/contexts/context.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/checkpoint_state.h"
#include "cli/sessions/session_of.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <string.h>

enum { MESSAGES = 10, MESSAGE_BYTES = 2048 }; /* the last so many, of each so much */

struct resuming {
    struct cairn_store *store;
    const struct cairn_checkpoint_info *info;
    enum context_level level;
    bool contextd;
    int status;
};

static const char *const level_names[] = {"summary", "context", "full"};

/* ---- The text ---- */

/* As they are, but that control characters are made visible. */
static void print_lines(const char *text, const char *indent)
{
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        out("%.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
        if (*text != '\0' && indent[0] != '\0')
            out("%s", indent);
    }
}

static void print_pairs(const struct cairn_context *context)
{
    for (size_t i = 0; i < context->n_pairs; i++) {
        out("%s: ", context->pairs[i].key);
        if (context->pairs[i].value[0] == '\0')
            out("\n");
        print_lines(context->pairs[i].value, "  ");
    }
    if (context->git_branch || context->git_commit)
        out("git: %s%s%s\n", context->git_branch ? context->git_branch : "no branch",
            context->git_commit ? " " : "",
            context->git_commit ? context->git_commit : "");
}

static int print_message(void *context, const struct cairn_message *message)
{
    size_t n = text_fit(message->text, MESSAGE_BYTES);
    char *text = strndup(message->text, n);
    (void)context;
    out("\n[%s %" PRIu64 "]\n", message->role, message->n);
    if (text)
        print_lines(text, "");
    else
        out_incomplete();
    if (message->text[n] != '\0')
        out("[...]: `cairn session message show %" PRIu64 "%s` prints all of it\n",
            message->n, session_hint());
    free(text);
    return 0;
}

static int print_messages(struct resuming *r)
{
    char session[24];
    struct cairn_error error = {0};
    if (r->info->session == 0) /* the row of its branch is damaged or lost */
        return 0;
    snprintf(session, sizeof session, "%" PRIu64, r->info->session);
    out("\n## Last messages\n");
    return cairn_message_list(r->store, session, r->info->id, MESSAGES, print_message,
                              NULL, NULL, &error) == 0
               ? 0
               : report_error(&error);
}

static int print_full(struct resuming *r, const struct cairn_context *context)
{
    if (context->description) {
        out("\n## Description\n\n");
        print_lines(context->description, "");
    }
    if (context->n_pairs > 0 || context->git_branch || context->git_commit) {
        out("\n## Context\n\n");
        print_pairs(context);
    }
    out("\n## State\n\n");
    print_lines(context->state, "");
    out("\n## Board\n");
    int status = checkpoint_items(r->store, NULL, r->info->id, -1, NULL);
    return status == 0 ? print_messages(r) : status;
}

static int print_level(struct resuming *r, const struct cairn_context *context)
{
    if (context->summary)
        print_lines(context->summary, "");
    if (r->level == LEVEL_FULL)
        return print_full(r, context);
    if (r->level == LEVEL_CONTEXT) {
        if (context->summary)
            out("\n");
        out("---\n");
        print_pairs(context);
    }
    return 0;
}

/* ---- Around it ---- */

static int print_document(const struct resuming *r, const struct cairn_context *context,
                          const char *text, size_t n)
{
    struct doc doc;
    doc_begin(&doc);
    doc_text(&doc, "id", r->info->id);
    doc_count(&doc, "seq", r->info->seq);
    doc_time(&doc, "time", r->info->time_ns);
    doc_text(&doc, "session", r->info->session_name);
    doc_text(&doc, "branch", r->info->branch_name);
    doc_text(&doc, "level", level_names[r->level]);
    context_members(&doc, context, r->level);
    doc_bytes(&doc, "text", text, n);
    doc_count(&doc, "tokens_estimate", (n + 3) / 4);
    if (r->contextd) {
        doc_text(&doc, "checkpoint_id", r->info->id);
        doc_text(&doc, "session_id", r->info->session_name);
        doc_bytes(&doc, "content", text, n);
        doc_count(&doc, "token_count", (n + 3) / 4);
    }
    return doc_print(&doc);
}

static int print_kept(const struct resuming *r, const struct cairn_context *context,
                      const char *text, size_t n)
{
    if (!text)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    if (ui_json())
        return print_document(r, context, text, n);
    out_raw(text, n);
    out("\n%s: about %zu tokens (an estimate: length / 4)", r->info->id, (n + 3) / 4);
    if (context->has_tokens)
        out("; %" PRIu64 " were given", context->tokens);
    out("\n");
    return 0;
}

static bool has_level(const struct cairn_context *context, enum context_level level)
{
    switch (level) {
    case LEVEL_SUMMARY:
        return context->summary != NULL;
    case LEVEL_CONTEXT:
        return context->summary || context->n_pairs > 0;
    case LEVEL_FULL:
        break;
    }
    return context->state != NULL;
}

static int refuse_level(const struct resuming *r, const struct cairn_context *context)
{
    static const char *const what[] = {"no summary", "neither a summary nor pairs",
                                       "no full state"};
    char there[64] = "it has none of the levels";
    size_t n = 0;
    for (enum context_level level = LEVEL_SUMMARY; level <= LEVEL_FULL; level++)
        if (has_level(context, level))
            n += (size_t)snprintf(there + n, sizeof there - n, "%s--level %s",
                                  n > 0 ? ", " : "there is ", level_names[level]);
    return report_failure(EXIT_NOT_FOUND, cairn_code_name(CAIRN_ENOTFOUND),
                          "checkpoint %s has %s: %s", r->info->id, what[r->level],
                          there);
}

static int resume(void *context, const struct cairn_context *found)
{
    struct resuming *r = context;
    size_t n = 0;
    if (!has_level(found, r->level)) {
        r->status = refuse_level(r, found);
        return 0;
    }
    out_keep();
    r->status = print_level(r, found);
    char *text = out_kept(&n);
    if (r->status == 0)
        r->status = print_kept(r, found, text, n);
    free(text);
    return 0;
}

/* ---- Which one ---- */

static int find_checkpoint(const struct settings *settings, struct cairn_store *store,
                           struct cairn_checkpoint_info *info)
{
    char room[CAIRN_ID_MAX];
    const char *id = NULL, *session = session_option(settings);
    struct cairn_error error = {0};
    int rc, status = 0;
    if (settings->n_operands > 0)
        status =
            session_checkpoint_of(store, session, settings->operands[0], room, &id);
    if (status != 0)
        return status;
    rc = id ? cairn_checkpoint_get(store, id, info, &error)
            : cairn_session_newest_context(store, session, 0, info, &error);
    return rc == 0 ? 0 : report_error(&error);
}

int command_checkpoint_resume(struct settings *settings)
{
    struct cairn_checkpoint_info info = {0};
    struct cairn_store *store = NULL;
    struct cairn_error error = {0};
    struct resuming r = {.info = &info,
                         .level = settings->given[OPT_LEVEL]
                                      ? (enum context_level)settings->number[OPT_LEVEL]
                                      : LEVEL_CONTEXT};
    if (!contextd_option(settings, &r.contextd))
        return EXIT_USAGE;
    int status = session_store(settings, STORE_READ, &store);
    r.store = store;
    if (status == 0)
        status = find_checkpoint(settings, store, &info);
    if (status == 0 &&
        cairn_checkpoint_context(store, info.id, resume, &r, &error) != 0)
        status = report_error(&error);
    hooks_run_and_close(store);
    return status != 0 ? status : r.status;
}
