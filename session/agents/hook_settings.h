/* SPDX-License-Identifier: MIT */
/* The settings of Claude Code, in which hooks are entered:
 *
 *   {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [
 *       {"type": "command", "command": "...", "timeout": 60}]}], ...}, ...}
 *
 * Changed in place: what else is there keeps its bytes and its order. Pure. */
#ifndef SESSION_AGENTS_HOOK_SETTINGS_H
#define SESSION_AGENTS_HOOK_SETTINGS_H

#include "base/str.h"

/* The settings with entries that run `command` for each event that counts (those of
 * ours that run it with other options are changed), or without any of ours (`command`
 * NULL). CAIRN_EUSAGE says what is wrong with them. */
int hook_settings_edit(struct str json, const char *command, struct buf *out,
                       struct cairn_error *error);
/* "cairn session hook", alone or with options behind it. */
bool hook_command_is_ours(struct str command);

#endif
