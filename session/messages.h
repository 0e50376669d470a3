/* SPDX-License-Identifier: MIT */
/* Lines of transcripts, as agents write them: what is known of one, and its text for
 * people. Two shapes are known, with whatever else there is in them:
 *
 *   {"type": "user" | "assistant" | "system" | "summary" | ..., "message": {"role",
 *    "content", "model", "id", "usage": {...}}, "uuid", "timestamp", "isSidechain",
 * ...}
 *   {"role": "user" | "assistant" | "system" | "tool" | ..., "content", "model",
 *    "usage", "tool_calls", ...}
 *
 * The content is a text, or a list of blocks: text, thinking, tool_use, tool_result,
 * image and others. Pure. */
#ifndef SESSION_MESSAGES_H
#define SESSION_MESSAGES_H

#include "base/str.h"

enum transcript_role {
    TRANSCRIPT_USER = 1,
    TRANSCRIPT_ASSISTANT,
    TRANSCRIPT_SYSTEM,
    TRANSCRIPT_TOOL,
    TRANSCRIPT_SUMMARY,
    TRANSCRIPT_OTHER
};

struct transcript_line {
    enum transcript_role role;
    bool prompt;        /* the user has written it */
    bool reply;         /* a model has, in the line itself and not beside it */
    int64_t time_ns;    /* 0: it does not say */
    uint64_t tokens_in; /* those that did not come from a cache */
    uint64_t tokens_out;
    struct str uuid;     /* raw; empty: none */
    struct str reply_id; /* raw: of the answer of which this is a part, or empty */
    struct str model;    /* raw, or empty */
};

/* False: it is not a JSON object. The texts are views of it. */
bool transcript_read(struct str line, struct transcript_line *out);
/* Appends its text: any bytes, for a line that transcript_read accepts. */
void transcript_text(struct str line, struct buf *out);
/* "2025-01-20T14:30:00.123Z" in ns; 0: it is not such a time. */
int64_t transcript_time(struct str text);

#endif
