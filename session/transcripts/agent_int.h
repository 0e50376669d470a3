/* SPDX-License-Identifier: MIT */
/* What an agent's hook brings about, between the files that do it. */
#ifndef SESSION_TRANSCRIPTS_AGENT_INT_H
#define SESSION_TRANSCRIPTS_AGENT_INT_H

#include "cairn/message.h"
#include "session/agents/hook_event.h"
#include "session/agents/strategy.h"

/* The session of an agent, as it was found. */
struct agent_session {
    char number[24]; /* as text */
    char name[CAIRN_SESSION_NAME_MAX];
    bool started, keeps_files;
    enum strategy strategy;
    bool destructive; /* the tool that the event is about */
};
/* The first only looks: 1: it is none yet, or has to be changed to be used. The second
 * starts it where there is none, but for the end of one: then the number is "". Where
 * the agent's session begins again, one that had ended goes on. CAIRN_EUSAGE: it has
 * ended, or nothing says which one. */
int agent_session_look(struct cairn_store *store, const struct hook_event *event,
                       const struct cairn_agent_options *options,
                       struct agent_session *out, struct cairn_error *error);
int agent_session_find(struct cairn_store *store, const struct hook_event *event,
                       const struct cairn_agent_options *options,
                       struct agent_session *out, struct cairn_error *error);

/* Imports the transcript unless it is as it was when that was done last. One that is
 * not there yet is none. CAIRN_EUSAGE: it is no regular file. */
int transcript_file_import(struct cairn_store *store, const char *session,
                           const char *path, struct cairn_message_import *result,
                           struct cairn_error *error);

#endif
