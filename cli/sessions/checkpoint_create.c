/* SPDX-License-Identifier: MIT */
/* cairn checkpoint create and resume: what an agent has to know to go on. */
#include "base/words.h"
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/sessions/checkpoint_state.h"
#include "cli/sessions/context.h"
#include "cli/sessions/session_of.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct given_context {
    struct cairn_context context;
    bool any; /* an option of those that make one was given */
    struct cairn_context_pair *pairs;
    struct buf state;
};

/* ---- The full state ---- */

static int check_state(const char *command, const char *name, const char *text,
                       size_t n)
{
    if (n > CAIRN_CONTEXT_STATE_MAX)
        return report_usage(
            command, "%s has more than 1 MiB: a full state has at most that", name);
    if (n == 0)
        return report_usage(command, "%s is empty: leave --state out", name);
    if (memchr(text, 0, n))
        return report_usage(command, "%s has a NUL byte in it: a full state is text",
                            name);
    return 0;
}

static int take_state(const struct settings *settings, const struct texts *texts,
                      struct given_context *given)
{
    const char *path = settings->text[OPT_STATE];
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "what is on stdin" : path;
    if (is_stdin && texts->from_stdin.data)
        return report_usage(settings->command, "only one text can be read from stdin");
    int status = read_given(path, CAIRN_CONTEXT_STATE_MAX, &given->state);
    if (status != 0)
        return status;
    given->context.state = given->state.data;
    return check_state(settings->command, name, given->state.data, given->state.size);
}

/* ---- The usage ---- */

static bool is_number(const char *text, size_t n)
{
    size_t digits = strspn(text, "0123456789");
    size_t at = digits;
    if (at < n && text[at] == '.') {
        size_t behind = strspn(text + at + 1, "0123456789");
        digits += behind;
        at += 1 + behind;
    }
    return digits > 0 && at == n;
}

/* 0.75, or 75%. */
static int take_usage(const struct settings *settings, struct cairn_context *context)
{
    const char *text = settings->text[OPT_THRESHOLD];
    size_t n = strlen(text);
    bool percent = n > 0 && text[n - 1] == '%';
    double number = 0;
    bool good = is_number(text, n - percent);
    if (good)
        number = strtod(text, NULL) / (percent ? 100 : 1);
    if (!good || number > 1)
        return report_usage(settings->command,
                            "--threshold cannot be '%s': give how full the context "
                            "is, from 0 to 1, such as 0.75, or a percentage, such as "
                            "75%%",
                            text);
    context->has_usage = true;
    context->usage = number;
    return 0;
}

/* ---- All of it ---- */

static int take_pairs(const struct settings *settings, struct given_context *given)
{
    size_t n = settings->n_params;
    given->pairs = calloc(n + 1, sizeof *given->pairs);
    if (!given->pairs)
        return report_nomem();
    for (size_t i = 0; i < n; i++)
        given->pairs[i] = (struct cairn_context_pair){settings->params[i].name,
                                                      settings->params[i].value};
    given->context.pairs = given->pairs;
    given->context.n_pairs = n;
    return 0;
}

/* Returns an exit status, after printing what is wrong. given_release in any case. */
static int given_take(const struct settings *settings, struct texts *texts,
                      struct given_context *given)
{
    struct cairn_context *context = &given->context;
    const bool *is = settings->given;
    int status = take_pairs(settings, given);
    given->any = is[OPT_SUMMARY] || is[OPT_DESCRIPTION] || is[OPT_CONTEXT] ||
                 is[OPT_STATE] || is[OPT_TOKENS] || is[OPT_THRESHOLD];
    context->has_tokens = is[OPT_TOKENS];
    context->tokens = settings->number[OPT_TOKENS];
    if (status == 0 && is[OPT_SUMMARY])
        status = texts_take(texts, settings->text[OPT_SUMMARY], &context->summary);
    if (status == 0 && is[OPT_DESCRIPTION])
        status =
            texts_take(texts, settings->text[OPT_DESCRIPTION], &context->description);
    if (status == 0 && is[OPT_THRESHOLD])
        status = take_usage(settings, context);
    return status == 0 && is[OPT_STATE] ? take_state(settings, texts, given) : status;
}

static void given_release(struct given_context *given)
{
    free(given->pairs);
    buf_release(&given->state);
}

/* cairn checkpoint create: the whole state of a session, under a message, with what an
 * agent has to know to go on. */

/* ---- What was made ---- */

static int add_made(void *context, const struct cairn_session_checkpoint_info *info)
{
    struct doc *doc = context;
    doc_time(doc, "time", info->checkpoint.time_ns);
    doc_text(doc, "session", info->checkpoint.session_name);
    doc_text(doc, "branch", info->checkpoint.branch_name);
    doc_text(doc, "trigger", info->trigger);
    doc_text(doc, "message", info->message);
    doc_array(doc, "tags");
    for (size_t i = 0; i < info->n_tags; i++)
        doc_text(doc, NULL, info->tags[i]);
    doc_end(doc);
    return 0;
}

/* As it is stored: without secrets. */
static int made_document(struct doc *doc, struct cairn_store *store, const char *id,
                         bool contextd)
{
    struct cairn_checkpoint_info info = {0};
    struct cairn_error error = {0};
    if (cairn_session_checkpoint_get(store, id, add_made, doc, &error) != 0 ||
        (contextd && cairn_checkpoint_get(store, id, &info, &error) != 0))
        return report_error(&error);
    int status = context_document(doc, store, id);
    return status == 0 && contextd ? contextd_members(doc, store, &info, false)
                                   : status;
}

static int report_document(struct cairn_store *store,
                           const struct cairn_captured *captured, bool contextd)
{
    struct doc doc;
    int status = 0;
    doc_begin(&doc);
    doc_bool(&doc, "made", captured->made);
    doc_text(&doc, "why", captured->made ? NULL : captured->why);
    doc_text(&doc, "id", captured->id[0] != '\0' ? captured->id : NULL);
    doc_some(&doc, "seq", captured->seq);
    doc_count(&doc, "pruned", captured->pruned);
    doc_count(&doc, "left_out", captured->left_out);
    if (captured->made)
        status = made_document(&doc, store, captured->id, contextd);
    return doc_close(&doc, status);
}

static int report_captured(struct cairn_store *store,
                           const struct cairn_captured *captured, bool contextd)
{
    if (ui_json())
        return report_document(store, captured, contextd);
    if (captured->made)
        out("%s\n", captured->id);
    out_flush();
    if (!captured->made)
        say("no checkpoint was made: %s%s%s", captured->why,
            captured->id[0] != '\0' ? "; the last one is " : "", captured->id);
    say_pruned(captured->pruned);
    if (captured->made && captured->left_out > 0)
        ui_warn("%llu file%s left out: `cairn checkpoint files %s` names %s",
                (unsigned long long)captured->left_out,
                captured->left_out == 1 ? " was" : "s were", captured->id,
                captured->left_out == 1 ? "it" : "them");
    return 0;
}

/* ---- What is given ---- */

/* With --threshold the usage decides, unless another trigger is named. */
static const char *trigger_of(const struct settings *settings)
{
    return settings->given[OPT_THRESHOLD] && !settings->given[OPT_TRIGGER]
               ? "context-threshold"
               : settings->text[OPT_TRIGGER];
}

static int take_message(const struct settings *settings, struct texts *texts,
                        const char *trigger, const char **message)
{
    bool manual = !trigger || strcmp(trigger, "manual") == 0;
    if (settings->n_operands > 0)
        return texts_take(texts, settings->operands[0], message);
    if (manual && !settings->given[OPT_SUMMARY])
        return report_usage(settings->command,
                            "say what it is for: cairn checkpoint create MESSAGE, or "
                            "--summary TEXT");
    return 0;
}

static int found_one(void *context, const struct cairn_session_info *info)
{
    (void)info;
    *(bool *)context = true;
    return 1;
}

/* The session that is meant. Where none is named, or there are none that the name could
 * have missed, it is started: an agent that saves need not know of sessions. */
static int find_session(struct cairn_store *store, const char *named,
                        struct cairn_session_info *info)
{
    struct cairn_page one = {.limit = 1};
    struct cairn_error error = {0};
    bool any = false;
    int rc = cairn_session_get(store, named, info, &error);
    if (rc == CAIRN_ENOTFOUND && named)
        (void)cairn_session_list(store, &one, found_one, &any, NULL, NULL);
    if (rc == CAIRN_ENOTFOUND && !any) {
        rc = cairn_session_start(store, named, true, info, &error);
        if (rc == 0)
            say("cairn: started session %s", info->name);
    }
    return report_code(rc, &error);
}

static int create_checkpoint(struct settings *settings, struct cairn_capture *capture)
{
    struct cairn_session_info info = {0};
    struct cairn_captured captured = {0};
    struct cairn_error error = {0};
    bool contextd;
    if (!contextd_option(settings, &contextd))
        return EXIT_USAGE;
    int status = session_store(settings, STORE_CREATE)
                     ?: find_session(settings->store, session_option(settings), &info);
    if (status == 0 && cairn_session_checkpoint(settings->store, info.name, capture,
                                                &captured, &error) != 0)
        status = report_error(&error);
    else if (status == 0)
        status = report_captured(settings->store, &captured, contextd);
    return status;
}

int command_checkpoint_create(struct settings *settings)
{
    struct texts texts = {.command = settings->command};
    struct given_context given = {.any = false};
    struct word_list tags;
    struct cairn_capture capture = {.trigger = trigger_of(settings)};
    if (!word_list_init(&tags, settings->text[OPT_TAG]))
        return cairn_exit_status(CAIRN_ENOMEM);
    capture.tags = tags.words;
    capture.n_tags = tags.n;
    int status = take_message(settings, &texts, capture.trigger, &capture.message)
                     ?: given_take(settings, &texts, &given);
    capture.context = given.any ? &given.context : NULL;
    if (status == 0)
        status = create_checkpoint(settings, &capture);
    word_list_release(&tags);
    given_release(&given);
    texts_release(&texts);
    return status;
}

/* cairn checkpoint resume: what an agent reads to go on from a checkpoint. */

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
        out("[...]: `cairn session message show %" PRIu64
            "%s` prints the whole message\n",
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
    u64_text(r->info->session, session);
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
        return report_nomem();
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

static int find_checkpoint(const struct settings *settings,
                           struct cairn_checkpoint_info *info)
{
    char room[CAIRN_ID_MAX];
    const char *id = NULL, *session = session_option(settings);
    struct cairn_error error = {0};
    int rc, status = 0;
    if (settings->n_operands > 0)
        status = checkpoint_named(settings, settings->operands[0], room, &id);
    if (status != 0)
        return status;
    rc = id ? cairn_checkpoint_get(settings->store, id, info, &error)
            : cairn_session_newest_context(settings->store, session, 0, info, &error);
    return report_code(rc, &error);
}

int command_checkpoint_resume(struct settings *settings)
{
    struct cairn_checkpoint_info info = {0};
    struct cairn_error error = {0};
    struct resuming r = {.info = &info,
                         .level = settings->given[OPT_LEVEL]
                                      ? (enum context_level)settings->number[OPT_LEVEL]
                                      : LEVEL_CONTEXT};
    if (!contextd_option(settings, &r.contextd))
        return EXIT_USAGE;
    int status = session_store(settings, STORE_READ);
    r.store = settings->store;
    if (status == 0)
        status = find_checkpoint(settings, &info);
    if (status == 0 &&
        cairn_checkpoint_context(settings->store, info.id, resume, &r, &error) != 0)
        status = report_error(&error);
    return status != 0 ? status : r.status;
}
