/* SPDX-License-Identifier: MIT */
/* What the hook of an agent brings about. */
#include "session/transcripts/agent_int.h"

#include "base/error.h"
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
    int rc =
        bytes > CAIRN_AGENT_EVENT_MAX
            ? error_set(error, CAIRN_EUSAGE,
                        "it has more than %u MiB, so nothing of it is read: the next "
                        "event makes the checkpoint",
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

/* ---- Messages ---- */

static bool is_tool(const struct hook_event *event)
{
    return event->moment == AGENT_BEFORE_TOOL || event->moment == AGENT_AFTER_TOOL;
}

static void take_messages(struct cairn_store *store, const char *session,
                          const struct hook_event *event, struct cairn_agent_told *told)
{
    struct cairn_error error = {0};
    const char *path = event->at[HOOK_TRANSCRIPT];
    if (path && transcript_file_import(store, session, path, &told->import, &error))
        told->import_error = error;
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

static int begin(struct live *live, struct cairn_store *store, const char *session,
                 bool writing, struct files_taken *files, struct cairn_error *error)
{
    int rc = writing ? live_write(live, store, session, error)
                     : live_read(live, store, session, error);
    live->files = files;
    if (!rc)
        rc = live_check_open(live, error);
    return rc ? rc : live_load_board(live, error);
}

/* Where nothing has changed nothing is written: that is most of the time. Messages come
 * with every use of a tool, and are only taken then where they belong to a checkpoint.
 */
static int make_checkpoint(struct cairn_store *store, const char *session,
                           const struct hook_event *event,
                           struct cairn_agent_told *told, struct cairn_error *error)
{
    struct live live = {.store = store};
    struct captured made = {0};
    struct files_taken files = {0};
    struct buf why = BUF_INIT;
    struct capture capture = {.trigger = trigger_at(event->moment)};
    int rc = files_take(&files, store, session, error);
    live.files = &files;
    if (!rc)
        rc = begin(&live, store, session, false, &files, error);
    if (!rc)
        rc = capture_look(&live, &capture, &made, error);
    if (rc || made.answer != TRIGGER_MAKES)
        return capture_end(&live, rc, &made, &told->captured, error);
    live_close(&live, 0, error);
    if (is_tool(event))
        take_messages(store, session, event, told);
    rc = begin(&live, store, session, true, &files, error);
    if (!rc)
        rc = say_why(&live, capture.trigger, event, &why, error);
    capture.message = buf_view(&why);
    if (!rc)
        rc = capture_state(&live, &capture, &made, error);
    rc = capture_end(&live, rc, &made, &told->captured, error);
    buf_release(&why);
    return rc;
}

/* ---- The event ---- */

static void tell_session(const struct agent_session *session,
                         const struct hook_event *event, struct cairn_agent_told *told)
{
    *told = (struct cairn_agent_told){
        .started = session->started,
        .makes = session->strategy != STRATEGY_MANUAL,
        .keeps_files = session->keeps_files,
        .asked = strategy_asks(session->strategy, event->moment, session->destructive)};
    memcpy(told->session, session->name, sizeof told->session);
}

int cairn_agent_look(struct cairn_store *store, const struct cairn_agent_event *event,
                     const struct cairn_agent_options *options,
                     struct cairn_agent_told *told, bool *more,
                     struct cairn_error *error)
{
    SIZE_CHECK("cairn_agent_options", options, error);
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
    *more = rc > 0 || told->asked || (!is_tool(read) && read->at[HOOK_TRANSCRIPT]);
    return 0;
}

int cairn_agent_tell(struct cairn_store *store, const struct cairn_agent_event *event,
                     const struct cairn_agent_options *options,
                     struct cairn_agent_told *told, struct cairn_error *error)
{
    SIZE_CHECK("cairn_agent_options", options, error);
    const struct hook_event *read = &event->read;
    struct agent_session session = {.number = ""};
    struct cairn_agent_told made = {.session = ""};
    int rc = 0;
    if (read->moment != AGENT_OTHER)
        rc = agent_session_find(store, read, options, &session, error);
    if (!rc && session.number[0]) {
        tell_session(&session, read, &made);
        if (!is_tool(read))
            take_messages(store, session.number, read, &made);
        if (made.asked)
            rc = make_checkpoint(store, session.number, read, &made, error);
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
