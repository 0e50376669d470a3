/* SPDX-License-Identifier: MIT */
/* What an agent's hook brings about, between the files that do it. */
#ifndef SESSION_TALK_AGENT_INT_H
#define SESSION_TALK_AGENT_INT_H

#include "base/str.h"
#include "cairn/message.h"
#include "session/agent_events.h"

/* Imports the transcript unless it is as it was when that was done last. One that is
 * not there yet is none. CAIRN_EUSAGE: it is not a regular file. */
int transcript_file_import(struct cairn_store *store, const char *session,
                           const char *path, struct cairn_message_import *result,
                           struct cairn_error *error);

#endif
