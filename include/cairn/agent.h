/* SPDX-License-Identifier: MIT */
/* cairn: agents whose hooks tell a session what they do. The setting "strategy" of the
 * session (cairn/session.h) says when that makes a checkpoint: "manual", "per_prompt",
 * "per_tool_use" or "smart" (before and after tools that the setting "tools" calls
 * destructive). */
#ifndef CAIRN_AGENT_H
#define CAIRN_AGENT_H

#include "error.h"
#include "message.h"
#include "session.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAIRN_AGENT_EVENT_MAX (16u << 20) /* bytes of what a hook is told */

/* ---- What a hook is told ---- */

struct cairn_agent_event;
/* Reads the JSON object that a hook gets on stdin, as Claude Code documents it: fields
 * and events that are not known are passed over. CAIRN_EUSAGE says what is wrong. */
CAIRN_API int cairn_agent_event_read(struct cairn_agent_event **event, const char *json,
                                     size_t bytes, struct cairn_error *error);
CAIRN_API void cairn_agent_event_free(struct cairn_agent_event *event);
/* "PreToolUse", ...: any text. */
CAIRN_API const char *cairn_agent_event_name(const struct cairn_agent_event *event);
/* The directory in which the agent works, or NULL. */
CAIRN_API const char *cairn_agent_event_directory(
    const struct cairn_agent_event *event);
/* Does it concern a session? Of others cairn_agent_tell does nothing. */
CAIRN_API bool cairn_agent_event_counts(const struct cairn_agent_event *event);

/* ---- What becomes of it ---- */

struct cairn_agent_options {
    const char *session;  /* NULL: the one that belongs to the agent's session_id */
    const char *strategy; /* of a session that is started for it; NULL: "smart" */
    const char *files;    /* likewise: the directory of its files; NULL: that in which
                             the store lies */
};
struct cairn_agent_told {
    char session[CAIRN_SESSION_NAME_MAX]; /* its name; "": nothing was done */
    bool started;                         /* by this call */
    bool makes;                           /* its strategy is another one than manual */
    bool keeps_files;                     /* it has the setting "files" */
    bool asked;                           /* the strategy asks for a checkpoint */
    struct cairn_captured captured;       /* if so */
    struct cairn_message_import import;   /* from its transcript */
    struct cairn_error import_error;      /* code 0: nothing went wrong with that */
};
/* Whether cairn_agent_tell may write anything for this event: *more. If not, `told` has
 * what it would say. The store may be open for reading, which waits for no lock. */
CAIRN_API int cairn_agent_look(struct cairn_store *store,
                               const struct cairn_agent_event *event,
                               const struct cairn_agent_options *options,
                               struct cairn_agent_told *told, bool *more,
                               struct cairn_error *error);
/* Finds the session of the agent; starts one, with files and strategy, if there is none
 * (and it becomes the current one of the store, unless a session is current that did
 * not belong to an agent and has not ended); takes what is new in the transcript, where
 * the event can be of use for that; and makes a checkpoint, if the strategy asks for
 * one and something has changed. What goes wrong with the transcript keeps nothing else
 * from being done. */
CAIRN_API int cairn_agent_tell(struct cairn_store *store,
                               const struct cairn_agent_event *event,
                               const struct cairn_agent_options *options,
                               struct cairn_agent_told *told,
                               struct cairn_error *error);

/* Notes in the directory of a store that a hook has failed, for `cairn doctor`: one
 * line of any text. It waits for no lock. */
CAIRN_API int cairn_agent_note_failure(const char *store, const char *text,
                                       struct cairn_error *error);

/* ---- The settings of the agent ---- */

#define CAIRN_AGENT_SETTINGS_MAX (4u << 20) /* bytes of such a file */

/* Makes of the settings of Claude Code (`.claude/settings.json`; "": there are none)
 * those that also run `command` for each event that counts, or that run no command of
 * cairn's own any more (`command` NULL). What else is in the file keeps its bytes. An
 * entry of cairn's own is one whose command is "cairn session hook", alone or with
 * options. *out is to be freed by free(). *changed: it differs. CAIRN_EUSAGE: it is not
 * such a file, with what is wrong. */
CAIRN_API int cairn_agent_settings(const char *json, size_t bytes, const char *command,
                                   char **out, size_t *out_bytes, bool *changed,
                                   struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
