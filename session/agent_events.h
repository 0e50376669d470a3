/* SPDX-License-Identifier: MIT */
/* What a hook of an agent gets on stdin: one JSON object. Of those that Claude Code
 * documents these are read, and all others passed over:
 *
 *   session_id, transcript_path, cwd, hook_event_name, prompt, tool_name, source,
 *   trigger, reason
 *
 * Pure. */
#ifndef SESSION_AGENT_EVENTS_H
#define SESSION_AGENT_EVENTS_H

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
    /* NUL-terminated, without NULs in them; NULL: there is none, or it is not a text.
     * Of the prompt only so much is kept as a name has. */
    const char *at[HOOK_FIELDS];
    enum agent_moment moment;
    struct buf room; /* the bytes of them */
};

/* CAIRN_EUSAGE says what is wrong: it is not a JSON object, there is no name, or a
 * field is too long, or has a NUL in it. hook_event_release in any case. */
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

/* The setting `strategy`: when the work of an agent is checkpointed, as far as its hook
 * tells of it; and the setting `tools`: which tools are destructive. Pure. */

enum strategy {
    STRATEGY_MANUAL,       /* only before the agent's context is compacted */
    STRATEGY_PER_PROMPT,   /* at each prompt, and when its turn has ended */
    STRATEGY_PER_TOOL_USE, /* before and after each use of a tool, and at the end */
    STRATEGY_SMART         /* likewise of destructive tools alone */
};

/* Empty: manual. */
enum strategy strategy_of(struct str name);
/* May it be stored? */
bool strategy_is_name(struct str name);
const char *strategy_name(enum strategy strategy);

#define TOOLS_USUAL                                                                    \
    "Write,Edit,MultiEdit,NotebookEdit,Bash,delete,remove,move,rename,create,replace," \
    "patch,shell,exec,command,cmd,terminal"

/* Does one of the words (commas between them; empty: TOOLS_USUAL) mean the tool? A word
 * means the tool of that name, and every tool of whose name it is a part, in capitals
 * or not: names have parts where there is something else than a letter or digit in
 * them, and where a capital follows a small letter. So `write` means Write, write_file
 * and TodoWrite, but not rewrite. `*` means all. */
bool tool_is_destructive(struct str tool, struct str words);
/* Is a checkpoint asked for at that moment? (It is made where something has changed.)
 * `destructive` is about the tool that is used. */
bool strategy_asks(enum strategy strategy, enum agent_moment moment, bool destructive);

#endif
