/* SPDX-License-Identifier: MIT */
/* Tools about branches and messages of sessions, and those that run a command. */
#include "server/properties.h"

#define S " --session={session}"
#define BRANCH_SHAPE                                                       \
    "name:s branch:i current:b status:s from:s? head:s? files_changed:i? " \
    "files_kept:i? warnings:a?"
#define NAME TEXT("name", "The branch")

/* ---- Branches ---- */

static const struct variant start[] = {
    {NULL, "branch start --from={checkpoint}" S " -- {name*}"},
};
static const struct property start_properties[] = {
    TEXT("name", "Name of the new branch"),
    CHECKPOINT("Begin with its state (default: the present one)"),
    SESSION,
    DIRECTORY,
};
static const struct variant list[] = {{NULL, "branch list" S}};
static const struct property list_properties[] = {SESSION, DIRECTORY};
static const struct variant change[] = {
    {NULL, "branch switch --all?{all} --dry-run?{dry_run}" S " -- {name*}"}};
#define MOVE_FLAGS                                                                    \
    FLAG("all", "Also files that other sessions have changed since: otherwise these " \
                "stay, and files.others names them"),                                 \
        FLAG("dry_run", "Only say what it would do")
static const struct property one_properties[] = {NAME, MOVE_FLAGS, SESSION, DIRECTORY};
static const struct variant merge[] = {
    {NULL, "branch merge --take={take}" S " -- {name*}"},
};
static const struct property merge_properties[] = {
    TEXT("name", "The branch whose changes are taken over"),
    CHOICE("take", "union|ours|theirs", "Of items that both changed"),
    SESSION,
    DIRECTORY,
};
static const struct variant abandon[] = {
    {NULL, "branch abandon --reason={reason*}" S " -- {name*}"},
};
static const struct property abandon_properties[] = {
    NAME,
    TEXT("reason", "Why, for those who read it later"),
    SESSION,
    DIRECTORY,
};

/* ---- Messages ---- */

static const struct variant say[] = {
    {NULL, "session message add --role={role*} --model={model} --tokens-in={tokens_in} "
           "--tokens-out={tokens_out}" S " -- {text*}"},
};
static const struct property say_properties[] = {
    CHOICE("role", "user|assistant|system|tool", "Who says it"),
    PROSE("text", "The message"),
    TEXT("model", "The model that has written it"),
    WHOLE("tokens_in", 0, 1e9, "Tokens that went into it"),
    WHOLE("tokens_out", 0, 1e9, "Tokens that came out"),
    SESSION,
    DIRECTORY,
};
static const struct variant messages[] = {
    {NULL, "session message list --at={at} --last={limit}" S},
};
static const struct property messages_properties[] = {
    TEXT("at", "As it was at this checkpoint or time"),
    WHOLE("limit", 1, 1000, "Only the last so many (default: 20)"),
    SESSION,
    DIRECTORY,
};
static const struct variant message[] = {
    {NULL, "session message show" S " -- {message*}"},
};
static const struct property message_properties[] = {
    WHOLE("message", 1, NUMBER_MAX, "Its number"),
    SESSION,
    DIRECTORY,
};

/* ---- Commands ---- */

static const struct variant carry_out[] = {{NULL, "exec" S " -- {command*}"}};
static const struct property exec_properties[] = {
    LIST("command", "The program and its arguments, such as [\"make\", \"test\"]; no "
                    "shell sees them: for one, [\"sh\", \"-c\", \"...\"]"),
    SESSION,
    DIRECTORY,
};
static const struct variant bisect[] = {
    {NULL, "checkpoint bisect --good={good*} --bad={bad*} --check?{check}" S
           " -- {command*}"},
};
static const struct property bisect_properties[] = {
    TEXT("good", "A checkpoint whose state is known to be good"),
    TEXT("bad", "A later one whose state is known to be bad"),
    FLAG("check", "First try whether these two are so"),
    LIST("command", "The program and its arguments that fail where it is bad"),
    SESSION,
    DIRECTORY,
};

static const struct tool rows[] = {
    {.name = "branch_start",
     .title = "Begin a branch",
     .about = "Begins a branch of a session and switches to it, to try something else.",
     .set = TOOLSET_BRANCH,
     VARIANTS(start),
     PROPERTIES(start_properties),
     .shape = BRANCH_SHAPE},
    {.name = "branch_list",
     .title = "List branches",
     .about = "Lists the branches of a session.",
     .set = TOOLSET_BRANCH,
     .hints = HINT_READ_ONLY,
     VARIANTS(list),
     PROPERTIES(list_properties),
     .shape = "branches:a"},
    {.name = "branch_switch",
     .title = "Go on with another branch",
     .about = "Switches a session, its board and its files to another branch.",
     .set = TOOLSET_BRANCH,
     .hints = HINT_DESTRUCTIVE | HINT_IDEMPOTENT,
     VARIANTS(change),
     PROPERTIES(one_properties),
     .shape = BRANCH_SHAPE},
    {.name = "branch_merge",
     .title = "Take over a branch",
     .about =
         "Takes the changes of a branch's board over into the current branch. Files "
         "are "
         "not merged: files_not_merged names those that differ, and "
         "checkpoint_restore with paths, of the checkpoint in theirs, takes them over.",
     .set = TOOLSET_BRANCH,
     VARIANTS(merge),
     PROPERTIES(merge_properties),
     .shape = "base:s? checkpoint:s? added:i changed:i removed:i conflicts:a"},
    {.name = "branch_abandon",
     .title = "Give a branch up",
     .about = "Gives a branch up; it stays there to be looked at.",
     .set = TOOLSET_BRANCH,
     VARIANTS(abandon),
     PROPERTIES(abandon_properties),
     .shape = BRANCH_SHAPE},
    {.name = "message_add",
     .title = "Add a message",
     .about = "Adds a message to the session, for those who read it later.",
     .set = TOOLSET_MESSAGE,
     VARIANTS(say),
     PROPERTIES(say_properties),
     .shape = "message:i"},
    {.name = "message_list",
     .title = "List messages",
     .about = "Lists the last messages of a session.",
     .set = TOOLSET_MESSAGE,
     .hints = HINT_READ_ONLY,
     VARIANTS(messages),
     PROPERTIES(messages_properties),
     .shape = "messages:a total:i"},
    {.name = "message_show",
     .title = "Show a message",
     .about = "Gives one message of a session with all of its text.",
     .set = TOOLSET_MESSAGE,
     .hints = HINT_READ_ONLY,
     VARIANTS(message),
     PROPERTIES(message_properties),
     .shape = "message:i role:s body:s?"},
    {.name = "exec",
     .title = "Run a command and record it",
     .about = "Runs a command and records it in the session with its output, time and "
              "exit status. The time limit of calls holds for it; for what takes "
              "longer: run_start.",
     .set = TOOLSET_EXEC,
     .hints = HINT_RUNS | HINT_SLOW | HINT_STATUS,
     VARIANTS(carry_out),
     PROPERTIES(exec_properties),
     .shape = "id:s exit_code:i?"},
    {.name = "checkpoint_bisect",
     .title = "Find the first bad checkpoint",
     .about = "Finds the first checkpoint at whose files a command fails, in "
              "directories of its own.",
     .set = TOOLSET_EXEC,
     .hints = HINT_RUNS | HINT_SLOW,
     VARIANTS(bisect),
     PROPERTIES(bisect_properties),
     .shape = "steps:a first_bad:s? last_good:s?"},
};
const struct tool_rows work_tools = {rows, COUNT(rows)};
