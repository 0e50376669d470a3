/* SPDX-License-Identifier: MIT */
#include "server/tool.h"

#include <string.h>

static const struct {
    const char *name;
    enum toolset set;
} sets[] = {
    {"checkpoint", TOOLSET_CHECKPOINT},
    {"session", TOOLSET_SESSION},
    {"board", TOOLSET_BOARD},
    {"run", TOOLSET_RUN},
    {"task", TOOLSET_TASK},
    {"files", TOOLSET_FILES},
    {"branch", TOOLSET_BRANCH},
    {"message", TOOLSET_MESSAGE},
    {"exec", TOOLSET_EXEC},
    {"store", TOOLSET_STORE},
    {"all", TOOLSET_ALL},
};

const struct tool *tool_at(size_t i)
{
    static const struct tool_rows *const parts[] = {
        &checkpoint_tools, &session_tools, &board_tools, &run_tools,
        &history_tools,    &work_tools,    &store_tools};
    for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++) {
        if (i < parts[part]->n)
            return &parts[part]->rows[i];
        i -= parts[part]->n;
    }
    return NULL;
}

unsigned toolset_find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if (strlen(sets[i].name) == n && memcmp(sets[i].name, name, n) == 0)
            return sets[i].set;
    return 0;
}

const char *toolset_name(enum toolset set)
{
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if (sets[i].set == set)
            return sets[i].name;
    return NULL;
}
