/* SPDX-License-Identifier: MIT */
/* What the hook of an agent brings about. */
#include "session/transcripts/agent_int.h"

#include "base/notes.h"
#include "base/utf8.h"
#include "secrets/redact.h"
#include "session/outside/redaction.h"
#include "session/session_int.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

struct cairn_agent_event {
    struct hook_event read;
};

int cairn_agent_event_read(struct cairn_agent_event **event, const char *json,
                           size_t bytes, struct cairn_error *error)
{
    struct cairn_agent_event *made = calloc(1, sizeof *made);
    if (!made)
        return error_nomem(error);
    int rc = bytes > CAIRN_AGENT_EVENT_MAX
                 ? error_set(error, CAIRN_EUSAGE, "it has more than %u MiB",
                             CAIRN_AGENT_EVENT_MAX >> 20)
                 : hook_event_read((struct str){json, bytes}, &made->read, error);
    if (rc)
        cairn_agent_event_free(made);
    else
        *event = made;
    return rc;
}

void cairn_agent_event_free(struct cairn_agent_event *event)
{
    if (event)
        hook_event_release(&event->read);
    free(event);
}

const char *cairn_agent_event_name(const struct cairn_agent_event *event)
{
    return event->read.at[HOOK_NAME] ? event->read.at[HOOK_NAME] : "";
}

const char *cairn_agent_event_directory(const struct cairn_agent_event *event)
{
    return event->read.at[HOOK_CWD];
}

bool cairn_agent_event_counts(const struct cairn_agent_event *event)
{
    return event->read.moment != AGENT_OTHER;
}

/* ---- The checkpoint ---- */

static enum trigger trigger_at(enum agent_moment moment)
{
    switch (moment) {
    case AGENT_COMPACTION:
        return TRIGGER_COMPACTION_WARNING;
    case AGENT_PROMPT:
        return TRIGGER_PROMPT;
    case AGENT_BEFORE_TOOL:
        return TRIGGER_BEFORE_TOOL;
    case AGENT_AFTER_TOOL:
        return TRIGGER_AFTER_TOOL;
    case AGENT_TURN_ENDED:
    case AGENT_SESSION_ENDED:
    case AGENT_SESSION_BEGAN:
    case AGENT_OTHER:
        break;
    }
    return TRIGGER_TURN_ENDED;
}

/* One line, of a bounded length. */
static void cut_line(struct buf *text)
{
    size_t n = 0;
    while (n < text->size && (unsigned char)text->data[n] >= 0x20 &&
           text->data[n] != 0x7f)
        n++;
    size_t fits = utf8_fit((struct str){text->data, n}, LINE_COLUMNS);
    bool cut = fits < n;
    text->size = fits;
    if (cut)
        buf_text(text, "...");
}

/* "Auto: before tool: Bash": without secrets, since what it names is from outside. */
static int say_why(struct live *live, enum trigger trigger,
                   const struct hook_event *event, struct buf *out,
                   struct cairn_error *error)
{
    const char *what = trigger == TRIGGER_PROMPT ? event->at[HOOK_PROMPT]
                       : trigger == TRIGGER_BEFORE_TOOL || trigger == TRIGGER_AFTER_TOOL
                           ? event->at[HOOK_TOOL]
                           : NULL;
    struct redactor *redactor = NULL;
    struct buf clean = BUF_INIT;
    buf_text(out, trigger_message(trigger));
    if (!what)
        return buf_check(out, error);
    int rc = live_redactor(live, &redactor, error);
    if (!rc)
        add_clean(redactor, str_of(what), &clean);
    redactor_free(redactor);
    if (!rc)
        rc = buf_check(&clean, error);
    if (!rc)
        cut_line(&clean);
    if (!rc && clean.size)
        buf_format(out, ": %.*s", (int)clean.size, clean.data);
    out->failed |= clean.failed;
    buf_release(&clean);
    return rc ? rc : buf_check(out, error);
}

static int make_checkpoint(struct cairn_store *store, const char *session,
                           const struct hook_event *event,
                           struct cairn_captured *captured, struct cairn_error *error)
{
    struct live live = {.store = store};
    struct captured made = {0};
    struct files_taken files = {0};
    struct buf why = BUF_INIT;
    struct capture capture = {.trigger = trigger_at(event->moment)};
    int rc = capture_begin(&live, store, session, &files, error);
    if (!rc)
        rc = say_why(&live, capture.trigger, event, &why, error);
    capture.message = buf_view(&why);
    if (!rc)
        rc = live_load_board(&live, error);
    if (!rc)
        rc = capture_state(&live, &capture, &made, error);
    rc = capture_end(&live, rc, &made, captured, error);
    buf_release(&why);
    return rc;
}

/* ---- The event ---- */

/* Where a tool that is not watched is used, nothing is read. */
static bool takes_messages(const struct hook_event *event, bool asked)
{
    bool tool = event->moment == AGENT_BEFORE_TOOL || event->moment == AGENT_AFTER_TOOL;
    return event->at[HOOK_TRANSCRIPT] && (asked || !tool);
}

static void take_messages(struct cairn_store *store, const char *session,
                          const char *path, struct cairn_agent_told *told)
{
    struct cairn_error error = {0};
    if (transcript_file_import(store, session, path, &told->import, &error))
        told->import_error = error;
}

static void tell_session(const struct agent_session *session,
                         const struct hook_event *event, struct cairn_agent_told *told)
{
    *told = (struct cairn_agent_told){
        .started = session->started,
        .makes = session->strategy != STRATEGY_MANUAL,
        .asked = strategy_asks(session->strategy, event->moment, session->destructive)};
    memcpy(told->session, session->name, sizeof told->session);
}

int cairn_agent_look(struct cairn_store *store, const struct cairn_agent_event *event,
                     const struct cairn_agent_options *options,
                     struct cairn_agent_told *told, bool *more,
                     struct cairn_error *error)
{
    const struct hook_event *read = &event->read;
    struct agent_session session;
    *more = false;
    *told = (struct cairn_agent_told){.session = ""};
    if (read->moment == AGENT_OTHER)
        return 0;
    int rc = agent_session_look(store, read, options, &session, error);
    if (rc < 0)
        return rc;
    tell_session(&session, read, told);
    *more = rc > 0 || told->asked || takes_messages(read, told->asked);
    return 0;
}

int cairn_agent_tell(struct cairn_store *store, const struct cairn_agent_event *event,
                     const struct cairn_agent_options *options,
                     struct cairn_agent_told *told, struct cairn_error *error)
{
    const struct hook_event *read = &event->read;
    struct agent_session session = {.number = ""};
    struct cairn_agent_told made = {.session = ""};
    int rc = 0;
    if (read->moment != AGENT_OTHER)
        rc = agent_session_find(store, read, options, &session, error);
    if (!rc && session.number[0]) {
        tell_session(&session, read, &made);
        if (takes_messages(read, made.asked))
            take_messages(store, session.number, read->at[HOOK_TRANSCRIPT], &made);
        if (made.asked)
            rc = make_checkpoint(store, session.number, read, &made.captured, error);
    }
    if (!rc)
        *told = made;
    return rc;
}

int cairn_agent_note_failure(const char *store, const char *text,
                             struct cairn_error *error)
{
    return notes_add(store, str_of(text), error);
}
