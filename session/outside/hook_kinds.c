/* SPDX-License-Identifier: MIT */
#include "session/outside/hook_kinds.h"

#include "base/utf8.h"

static const char *const names[HOOK_KINDS] = {
    "checkpoint", "task-failed", "contradiction", "hypothesis", "evidence", "belief",
    "dependency", "gap",         "note",          "command",    "check",    "restore",
    "branch",     "prune",       "undo",          "session"};

const char *hook_kind_name(unsigned kind)
{
    return names[kind];
}

unsigned hook_kind_parse(struct str name)
{
    unsigned kind = 0;
    while (kind < HOOK_KINDS && !str_equal(name, str_of(names[kind])))
        kind++;
    return kind;
}

bool hook_is_command(struct str command)
{
    size_t at = 0, n = 1;
    uint32_t code = 1;
    for (; at < command.len && n && code; at += n)
        n = utf8_next(command.ptr + at, command.ptr + command.len, &code);
    return n && code && command.len > 0 && command.len <= HOOK_BYTES;
}
