/* SPDX-License-Identifier: MIT */
/* The setting `strategy`: when the work of an agent is checkpointed, as far as its hook
 * tells of it; and the setting `tools`: which tools are destructive. Pure. */
#ifndef SESSION_AGENTS_STRATEGY_H
#define SESSION_AGENTS_STRATEGY_H

#include "base/str.h"
#include "session/agents/hook_event.h"

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
