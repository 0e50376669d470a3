/* SPDX-License-Identifier: MIT */
/* Tools about debugging sessions. */
#include "server/properties.h"

#define SESSION_SHAPE \
    "session:i name:s branch:s current:b started:s? ended:s? items:i checkpoints:i"

static const struct variant start[] = {
    {NULL, "session start --no-switch?{no_switch} -- {name}"},
};
static const struct property start_properties[] = {
    TEXT("name", "Its name (default: one made of the time)"),
    FLAG("no_switch", "Leave the current session the current one"),
    DIRECTORY,
};
static const struct variant list[] = {
    {NULL, "session list --limit={limit} --offset={offset}"},
};
static const struct property list_properties[] = {LIMIT, OFFSET, DIRECTORY};
static const struct variant show[] = {{NULL, "session show -- {session}"}};
static const struct variant turn[] = {{NULL, "session switch -- {session*}"}};
static const struct variant end[] = {{NULL, "session end -- {session}"}};
static const struct property one_properties[] = {SESSION, DIRECTORY};
static const struct variant delete[] = {
    {NULL, "session delete --yes -- {session*}"},
};
static const struct property delete_properties[] = {
    {.name = "session",
     .kind = PROPERTY_TEXT,
     .about = "The session, which cannot be had back"},
    DIRECTORY,
};
static const struct variant events[] = {
    {NULL, "session log --after={after} --session={session}"},
};
static const struct property log_properties[] = {
    WHOLE("after", 0, NUMBER_MAX, "Only what was done after this turn"),
    SESSION,
    DIRECTORY,
};
static const struct variant undo[] = {{NULL, "session undo --session={session}"}};
static const struct variant report[] = {
    {NULL, "report --session={session} -- {from} {to}"},
};
static const struct property report_properties[] = {
    TEXT("from", "From this checkpoint on (default: the start of the session)"),
    TEXT("to", "Up to this checkpoint (default: now; needs \"from\")"),
    SESSION,
    DIRECTORY,
};

static const struct tool rows[] = {
    {.name = "session_start",
     .title = "Start a debugging session",
     .about =
         "Starts a debugging session with an empty board, and makes it the current "
         "one. Makes a store in the directory where there is none.",
     .set = TOOLSET_SESSION,
     VARIANTS(start),
     PROPERTIES(start_properties),
     .shape = SESSION_SHAPE},
    {.name = "session_list",
     .title = "List debugging sessions",
     .about = "Lists the debugging sessions of the store, newest first.",
     .set = TOOLSET_SESSION,
     .hints = HINT_READ_ONLY,
     VARIANTS(list),
     PROPERTIES(list_properties),
     .shape = "sessions:a total:i limit:i offset:i"},
    {.name = "session_show",
     .title = "Show a debugging session",
     .about =
         "Shows a session with its board at a glance: the likeliest hypotheses, the "
         "gaps that matter most, contradictions, the last checkpoint. A good first "
         "call.",
     .set = TOOLSET_SESSION,
     .hints = HINT_READ_ONLY,
     VARIANTS(show),
     PROPERTIES(one_properties),
     .shape = SESSION_SHAPE " board:o context:o?"},
    {.name = "session_switch",
     .title = "Make another session the current one",
     .about =
         "Makes a session the current one of the store, and continues it if it was "
         "ended.",
     .set = TOOLSET_SESSION,
     .hints = HINT_IDEMPOTENT,
     VARIANTS(turn),
     PROPERTIES(one_properties),
     .shape = SESSION_SHAPE},
    {.name = "session_end",
     .title = "End a debugging session",
     .about = "Ends a session; everything in it stays. session_switch continues it.",
     .set = TOOLSET_SESSION,
     VARIANTS(end),
     PROPERTIES(one_properties),
     .shape = SESSION_SHAPE},
    {.name = "session_delete",
     .title = "Delete a debugging session",
     .about = "Deletes a session for good, with its board, log, messages and "
              "checkpoints. Content that no other session has goes with the next gc.",
     .set = TOOLSET_SESSION,
     .hints = HINT_DESTRUCTIVE,
     VARIANTS(delete),
     PROPERTIES(delete_properties),
     .shape = "deleted:i name:s checkpoints:i"},
    {.name = "session_log",
     .title = "What happened in a session",
     .about = "Lists what was done in a session, in order: items added and changed, "
              "checkpoints, restores, branches.",
     .set = TOOLSET_SESSION,
     .hints = HINT_READ_ONLY,
     VARIANTS(events),
     PROPERTIES(log_properties),
     .shape = "events:a"},
    {.name = "session_undo",
     .title = "Take back the last change of the board",
     .about = "Takes back what the last command changed on the board.",
     .set = TOOLSET_SESSION,
     VARIANTS(undo),
     PROPERTIES(one_properties),
     .shape = "taken_back:a changed:i"},
    {.name = "session_report",
     .title = "Report of a session",
     .about = "Writes what happened in a session, or between two checkpoints, as "
              "Markdown.",
     .set = TOOLSET_SESSION,
     .hints = HINT_READ_ONLY,
     VARIANTS(report),
     PROPERTIES(report_properties),
     .shape = "from:s? to:s? markdown:s",
     .says = "markdown"},
};
const struct tool_rows session_tools = {rows, COUNT(rows)};
