/* SPDX-License-Identifier: MIT */
/* What a hook of an agent is told on stdin: one JSON object. Of those that Claude Code
 * documents these are read, and all others passed over:
 *
 *   session_id, transcript_path, cwd, hook_event_name, prompt, tool_name, source,
 *   trigger, reason
 *
 * Pure. */
#ifndef SESSION_AGENTS_HOOK_EVENT_H
#define SESSION_AGENTS_HOOK_EVENT_H

#include "base/str.h"

/* What the event means here. */
enum agent_moment {
    AGENT_OTHER,         /* nothing is done */
    AGENT_SESSION_BEGAN, /* SessionStart: also where it goes on */
    AGENT_PROMPT,        /* UserPromptSubmit */
    AGENT_BEFORE_TOOL,   /* PreToolUse */
    AGENT_AFTER_TOOL,    /* PostToolUse */
    AGENT_COMPACTION,    /* PreCompact */
    AGENT_TURN_ENDED,    /* Stop */
    AGENT_SESSION_ENDED  /* SessionEnd */
};
enum agent_moment agent_moment_of(const char *name);

enum { HOOK_NAME_BYTES = 1024, HOOK_PATH_BYTES = 4096 };
enum hook_field {
    HOOK_SESSION_ID,
    HOOK_TRANSCRIPT,
    HOOK_CWD,
    HOOK_NAME,
    HOOK_PROMPT,
    HOOK_TOOL,
    HOOK_FIELDS
};
struct hook_event {
    /* NUL-terminated, without NULs in them; NULL: there is none, or it is no text. Of
     * the prompt only so much is kept as a name has. */
    const char *at[HOOK_FIELDS];
    enum agent_moment moment;
    struct buf room; /* the bytes of them */
};
/* CAIRN_EUSAGE says what is wrong: it is no JSON object, there is no name, or a field
 * is too long, or has a NUL in it. hook_event_release in any case. */
int hook_event_read(struct str json, struct hook_event *out, struct cairn_error *error);
void hook_event_release(struct hook_event *event);

/* The name of the session that belongs to an agent's own session: "agent-" and the
 * first 8 digits of a UUID, with the last 12 where it is not of version 4, since others
 * begin with the time, which agents that start together share; of any other text as
 * much as may stand in a name, and what tells it from others that begin alike. False:
 * the text is empty. */
enum { AGENT_NAME_BYTES = 64 };
bool agent_session_name(const char *session_id, char out[AGENT_NAME_BYTES]);
/* Tells apart what begins alike. */
uint32_t agent_hash(const char *text);

#endif
