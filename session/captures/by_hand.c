/* SPDX-License-Identifier: MIT */
/* Checkpoints that somebody asks for, and those of tasks that failed. */
#include "base/error.h"
#include "base/utf8.h"
#include "cairn/session.h"
#include "session/session_int.h"
#include "storage/store.h"

#include <string.h>

/* What somebody gives for one. */
struct given {
    struct live *live;
    struct outside outside;
    struct str message;
    struct str *tags; /* with room for one more */
    uint32_t n_tags;
    bool has_context;
    struct context context;
    int rc; /* of the first text that cannot be stored */
    struct cairn_error *error;
};

static int begin_capture(struct live *live, struct cairn_store *store,
                         const char *session, struct files_taken *files,
                         struct cairn_error *error)
{
    files->in_transaction = true;
    int rc = files_take(files, store, session, error);
    if (!rc)
        rc = live_write(live, store, session, error);
    live->files = files;
    return rc ? rc : live_check_open(live, error);
}

const char *cairn_trigger_name(uint32_t trigger)
{
    return trigger_name((enum trigger)trigger);
}

/* Those that somebody may raise by hand. */
static int hand_trigger(const char *name, enum trigger *trigger,
                        struct cairn_error *error)
{
    *trigger = TRIGGER_MANUAL;
    int rc = name ? trigger_parse(str_of(name), trigger, error) : 0;
    if (rc)
        return rc;
    switch (*trigger) {
    case TRIGGER_MANUAL:
    case TRIGGER_SCHEDULED:
    case TRIGGER_CODE_MODIFIED:
    case TRIGGER_SIGNIFICANT_TIME:
    case TRIGGER_COMPACTION_WARNING:
    case TRIGGER_TOOL_CALL:
    case TRIGGER_FILES_SETTLED:
    case TRIGGER_CONTEXT_THRESHOLD:
        return 0;
    default:
        return error_set(error, CAIRN_EUSAGE,
                         "the trigger %s belongs to what it is named after: it is not "
                         "raised by hand",
                         name);
    }
}

/* ---- Texts, without secrets ---- */

enum { TAGS_MOST = 20, TAG_CHARACTERS = 50 }; /* with a context */
enum { MESSAGE_CHARACTERS = 80 };             /* of a summary that is the message */

/* What is no UTF-8 stays as it is, and is refused later. */
static void take(struct given *g, enum outside_kind kind, const char *what,
                 struct str *text)
{
    struct clean clean;
    struct outside_text given = {kind, what, *text, NULL};
    if (g->rc || !text->len || !utf8_is_text(*text))
        return;
    g->rc = outside_take(&g->outside, &given, &g->live->arena, &clean, g->error);
    if (!g->rc)
        *text = clean_str(clean);
}

static struct str message_of_summary(struct given *g, struct str summary)
{
    struct buf line = BUF_INIT;
    while (summary.len && summary.ptr[0] == '\n')
        summary = (struct str){summary.ptr + 1, summary.len - 1};
    const char *stop = summary.len ? memchr(summary.ptr, '\n', summary.len) : NULL;
    struct str first = {summary.ptr, stop ? (size_t)(stop - summary.ptr) : summary.len};
    size_t n = 0;
    for (unsigned i = 0; i < MESSAGE_CHARACTERS && n < first.len; i++) {
        uint32_t code;
        size_t size = utf8_next(first.ptr + n, first.ptr + first.len, &code);
        n += size ? size : 1;
    }
    buf_str(&line, (struct str){first.ptr, n});
    if (n < summary.len)
        buf_text(&line, "...");
    struct str kept = arena_str(&g->live->arena, buf_view(&line));
    if (line.failed || g->live->arena.failed)
        g->rc = error_nomem(g->error);
    buf_release(&line);
    return kept;
}

/* A program reads the state, and finds values by their keys and checkpoints by their
 * tags. */
static void take_all(struct given *g)
{
    struct context *context = &g->context;
    take(g, OUTSIDE_PROSE, "the summary", &context->summary);
    take(g, OUTSIDE_PROSE, "the description", &context->description);
    take(g, OUTSIDE_DATA, "the state", &context->state);
    for (uint32_t i = 0; i < context->n_pairs; i++) {
        take(g, OUTSIDE_NAME, "a key of the context", &context->pairs[i].key);
        take(g, OUTSIDE_PROSE, "a value of the context", &context->pairs[i].value);
    }
    take(g, OUTSIDE_PROSE, "the message", &g->message);
    for (uint32_t i = 0; i < g->n_tags; i++)
        take(g, OUTSIDE_NAME, "a tag", &g->tags[i]);
    if (!g->rc && !g->message.len && context->summary.len)
        g->message = message_of_summary(g, context->summary);
}

/* A value that the settings list and that is too short to be found is refused with a
 * context, as with messages. A message and tags alone were always taken: there it is
 * passed over. */
static int clean_given(struct given *g)
{
    struct redactor *redactor = NULL;
    if (!g->message.len && !g->n_tags && !g->has_context)
        return 0;
    g->rc = g->has_context ? live_redactor(g->live, &redactor, g->error)
                           : live_redactor_lenient(g->live, &redactor, g->error);
    g->outside = (struct outside){redactor, true, g->live->store};
    if (!g->rc)
        take_all(g);
    redactor_free(redactor);
    if (g->rc)
        return g->rc;
    return g->has_context ? context_check(&g->context, g->error) : 0;
}

/* ---- What is given ---- */

static int take_text(const char *name, const char *text, struct str *out,
                     struct cairn_error *error)
{
    *out = str_of(text ? text : "");
    return !text || out->len
               ? 0
               : error_set(error, CAIRN_EUSAGE, "the %s is empty: leave it out", name);
}

static int take_pairs(struct given *g, const struct cairn_context *given)
{
    struct context *context = &g->context;
    if (given->n_pairs > CONTEXT_PAIRS)
        return error_set(g->error, CAIRN_EUSAGE,
                         "the context has %zu pairs: it may have at most %d",
                         given->n_pairs, CONTEXT_PAIRS);
    if (!given->n_pairs)
        return 0;
    context->pairs =
        arena_take(&g->live->arena, given->n_pairs, sizeof *context->pairs);
    if (!context->pairs)
        return error_nomem(g->error);
    for (size_t i = 0; i < given->n_pairs; i++)
        context->pairs[i] = (struct context_pair){str_of(given->pairs[i].key),
                                                  str_of(given->pairs[i].value)};
    context->n_pairs = (uint32_t)given->n_pairs;
    return 0;
}

static int take_numbers(struct given *g, const struct cairn_context *given)
{
    struct context *context = &g->context;
    context->has_tokens = given->has_tokens;
    context->tokens = given->has_tokens ? given->tokens : 0;
    context->has_usage = given->has_usage;
    if (!given->has_usage)
        return 0;
    if (!(given->usage >= 0 && given->usage <= 1))
        return error_set(g->error, CAIRN_EUSAGE,
                         "the usage of a context is from 0 to 1 (100%%)");
    /* Cut, so that what is below a threshold does not cross it. */
    context->usage = (uint32_t)(given->usage * CONTEXT_USAGE_ALL + 0.001);
    return 0;
}

static int take_context(struct given *g, const struct cairn_context *given)
{
    struct context *context = &g->context;
    int rc = take_text("summary", given->summary, &context->summary, g->error);
    if (!rc)
        rc = take_text("description", given->description, &context->description,
                       g->error);
    if (!rc)
        rc = take_text("state", given->state, &context->state, g->error);
    if (!rc)
        rc = take_pairs(g, given);
    if (!rc)
        rc = take_numbers(g, given);
    if (!rc)
        rc = context_check(context, g->error);
    g->has_context = !rc && context_has_any(context);
    return rc;
}

/* With a context they are short and few, as are all other parts of it. */
static int check_tags(const struct given *g)
{
    if (g->has_context && g->n_tags > TAGS_MOST)
        return error_set(g->error, CAIRN_EUSAGE,
                         "a checkpoint with a context has at most %d tags", TAGS_MOST);
    for (uint32_t i = 0; i < g->n_tags && g->has_context; i++)
        if (context_characters(g->tags[i]) > TAG_CHARACTERS)
            return error_set(g->error, CAIRN_EUSAGE,
                             "a tag of a checkpoint with a context has at most %d "
                             "characters: '%.*s'",
                             TAG_CHARACTERS, (int)utf8_fit(g->tags[i], 80),
                             g->tags[i].ptr);
    return 0;
}

static int take_tags(struct given *g, const struct cairn_capture *given)
{
    if (given->n_tags > CHECKPOINT_TAGS_MOST)
        return error_set(g->error, CAIRN_EUSAGE, "a checkpoint has at most %d tags",
                         CHECKPOINT_TAGS_MOST);
    g->tags = arena_take(&g->live->arena, given->n_tags + 1, sizeof *g->tags);
    if (!g->tags)
        return error_nomem(g->error);
    int rc = 0;
    for (size_t i = 0; i < given->n_tags && !rc; i++) {
        g->tags[i] = str_of(given->tags[i]);
        rc = session_check_new_name("a tag", g->tags[i], g->error);
    }
    g->n_tags = (uint32_t)given->n_tags;
    return rc ? rc : check_tags(g);
}

/* The threshold that it is made for, with the tag and the message of that. */
static int cross_threshold(struct given *g)
{
    struct context *context = &g->context;
    struct buf tag = BUF_INIT, message = BUF_INIT;
    if (!context->has_usage)
        return error_set(
            g->error, CAIRN_EUSAGE,
            "the trigger context-threshold needs the usage of the context: "
            "--threshold 0.75");
    uint8_t reached = context_threshold(context->usage);
    if (reached <= settings_crossed(&g->live->settings))
        return 0;
    context->threshold = reached;
    buf_format(&tag, "auto-context-threshold-%u", reached);
    buf_format(&message, "%s %u%%", trigger_message(TRIGGER_CONTEXT_THRESHOLD),
               reached);
    g->tags[g->n_tags++] = arena_str(&g->live->arena, buf_view(&tag));
    if (!g->message.len)
        g->message = arena_str(&g->live->arena, buf_view(&message));
    bool failed = tag.failed || message.failed || g->live->arena.failed;
    buf_release(&tag);
    buf_release(&message);
    return failed ? error_nomem(g->error) : 0;
}

static int take_given(struct given *g, const struct cairn_capture *given,
                      enum trigger trigger)
{
    int rc = given->context ? take_context(g, given->context) : 0;
    if (!rc && trigger == TRIGGER_MANUAL && !g->message.len && !g->context.summary.len)
        rc = error_set(g->error, CAIRN_EUSAGE, "a checkpoint needs a message");
    if (!rc)
        rc = take_tags(g, given);
    if (!rc)
        rc = clean_given(g);
    return !rc && trigger == TRIGGER_CONTEXT_THRESHOLD ? cross_threshold(g) : rc;
}

static int capture_by_hand(struct live *live, const struct cairn_capture *given,
                           struct captured *captured, struct cairn_error *error)
{
    struct given g = {.live = live, .error = error};
    enum trigger trigger;
    g.message = str_of(given->message ? given->message : "");
    int rc = hand_trigger(given->trigger, &trigger, error);
    if (!rc)
        rc = take_given(&g, given, trigger);
    if (!rc)
        rc = live_load_board(live, error);
    struct capture capture = {.trigger = trigger,
                              .message = g.message,
                              .tags = g.tags,
                              .n_tags = g.n_tags,
                              .context = g.has_context ? &g.context : NULL};
    return rc ? rc : capture_state(live, &capture, captured, error);
}

int cairn_session_checkpoint(struct cairn_store *store, const char *session,
                             const struct cairn_capture *capture,
                             struct cairn_captured *captured, struct cairn_error *error)
{
    SIZE_CHECK("cairn_capture", capture, error);
    struct live live = {.store = store};
    struct captured made = {0};
    struct files_taken files = {0};
    int rc = begin_capture(&live, store, session, &files, error);
    if (!rc)
        rc = capture_by_hand(&live, capture, &made, error);
    return capture_end(&live, rc, &made, captured, error);
}

/* So that they are not stored with the environment. */
static int take_secrets(struct live *live, const struct cairn_task_failure *failure,
                        struct cairn_error *error)
{
    struct secret *given = arena_take(&live->arena, failure->n_secrets, sizeof *given);
    if (!given && failure->n_secrets)
        return error_nomem(error);
    for (size_t i = 0; i < failure->n_secrets; i++)
        given[i] = (struct secret){str_of(failure->secrets[i].name),
                                   str_of(failure->secrets[i].value)};
    live->given = given;
    live->n_given = failure->n_secrets;
    return 0;
}

static int capture_failure(struct live *live, const struct cairn_task_failure *failure,
                           struct captured *captured, struct cairn_error *error)
{
    size_t skip = failure->tail_bytes > CHECKPOINT_TAIL_BYTES
                      ? failure->tail_bytes - CHECKPOINT_TAIL_BYTES
                      : 0;
    struct task_link link = {.run = failure->run,
                             .seq = failure->checkpoint,
                             .task = str_of(failure->task),
                             .attempt = failure->attempt,
                             .end = failure->signal > 0      ? 1
                                    : failure->exit_code < 0 ? 2
                                                             : 0};
    link.code = (uint32_t)(link.end == 1   ? failure->signal
                           : link.end == 0 ? failure->exit_code
                                           : 0);
    if (failure->tail_bytes)
        link.tail = (struct str){failure->tail + skip, failure->tail_bytes - skip};
    struct buf message = BUF_INIT;
    buf_format(&message, "%s: %s (run %llu, attempt %u)",
               trigger_message(TRIGGER_TASK_FAILED), failure->task,
               (unsigned long long)failure->run, failure->attempt);
    int rc = buf_check(&message, error);
    struct capture capture = {
        .trigger = TRIGGER_TASK_FAILED, .message = buf_view(&message), .link = &link};
    if (!rc)
        rc = live_load_board(live, error);
    if (!rc)
        rc = capture_state(live, &capture, captured, error);
    buf_release(&message);
    return rc;
}

int cairn_session_task_failed(struct cairn_store *store, const char *session,
                              const struct cairn_task_failure *failure,
                              struct cairn_captured *captured,
                              struct cairn_error *error)
{
    SIZE_CHECK("cairn_task_failure", failure, error);
    struct live live = {.store = store};
    struct captured made = {0};
    struct files_taken files = {0};
    int rc = begin_capture(&live, store, session, &files, error);
    if (!rc)
        rc = take_secrets(&live, failure, error);
    if (!rc)
        rc = capture_failure(&live, failure, &made, error);
    return capture_end(&live, rc, &made, captured, error);
}
