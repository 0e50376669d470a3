/* SPDX-License-Identifier: MIT */
#include "session/agents/strategy.h"

#include "session/outside/name_list.h"

#include <ctype.h>

static const char *const names[] = {[STRATEGY_MANUAL] = "manual",
                                    [STRATEGY_PER_PROMPT] = "per_prompt",
                                    [STRATEGY_PER_TOOL_USE] = "per_tool_use",
                                    [STRATEGY_SMART] = "smart"};
enum { STRATEGIES = sizeof names / sizeof names[0] };

enum strategy strategy_of(struct str name)
{
    for (unsigned i = 0; i < STRATEGIES; i++)
        if (str_equal(name, str_of(names[i])))
            return (enum strategy)i;
    return STRATEGY_MANUAL;
}

bool strategy_is_name(struct str name)
{
    return strategy_of(name) != STRATEGY_MANUAL;
}

const char *strategy_name(enum strategy strategy)
{
    return names[strategy];
}

/* ---- Tools ---- */

static bool same_word(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (tolower((unsigned char)a.ptr[i]) != tolower((unsigned char)b.ptr[i]))
            return false;
    return true;
}

static bool part_ends(struct str name, size_t at)
{
    unsigned char before = (unsigned char)name.ptr[at - 1],
                  here = (unsigned char)name.ptr[at];
    return !isalnum(here) || (islower(before) && isupper(here));
}

static bool has_part(struct str name, struct str word)
{
    for (size_t at = 0, end; at < name.len; at = end) {
        while (at < name.len && !isalnum((unsigned char)name.ptr[at]))
            at++;
        end = at + (at < name.len);
        while (end < name.len && !part_ends(name, end))
            end++;
        if (same_word((struct str){name.ptr + at, end - at}, word))
            return true;
    }
    return false;
}

bool tool_is_destructive(struct str tool, struct str words)
{
    struct str rest = words.len ? words : STR(TOOLS_USUAL);
    if (!tool.len)
        return false;
    while (rest.len) {
        struct str word = next_name(&rest);
        if (str_equal(word, STR("*")) || same_word(tool, word) || has_part(tool, word))
            return true;
    }
    return false;
}

/* ---- When ---- */

bool strategy_asks(enum strategy strategy, enum agent_moment moment, bool destructive)
{
    switch (moment) {
    case AGENT_COMPACTION:
        return true;
    case AGENT_PROMPT:
        return strategy == STRATEGY_PER_PROMPT;
    case AGENT_BEFORE_TOOL:
    case AGENT_AFTER_TOOL:
        return strategy == STRATEGY_PER_TOOL_USE ||
               (strategy == STRATEGY_SMART && destructive);
    case AGENT_TURN_ENDED:
    case AGENT_SESSION_ENDED:
        return strategy != STRATEGY_MANUAL;
    case AGENT_SESSION_BEGAN:
    case AGENT_OTHER:
        return false;
    }
    return false;
}
