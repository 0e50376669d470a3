/* SPDX-License-Identifier: MIT */
/* A JSON text as a list of its values down to some depth, each with where it stands, so
 * that a part of the text can be replaced and all else keeps its bytes. Pure. */
#ifndef SESSION_TALK_AGENT_SETTINGS_H
#define SESSION_TALK_AGENT_SETTINGS_H

#include "base/json_scan.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* The settings of Claude Code, in which hooks are entered:
 *
 *   {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [
 *       {"type": "command", "command": "...", "timeout": 60}]}], ...}, ...}
 *
 * Changed in place: what else is there keeps its bytes and its order. Pure. */

/* The settings with entries that run `command` for each event that counts (those of
 * ours that run it with other options are changed), or without any of ours (`command`
 * NULL). CAIRN_EUSAGE says what is wrong with them. */
int hook_settings_edit(struct str json, const char *command, struct buf *out,
                       struct cairn_error *error);

#endif
