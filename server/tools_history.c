/* SPDX-License-Identifier: MIT */
/* Tools that look back: files and states at checkpoints; and what is said of
 * checkpoints afterwards. */
#include "server/properties.h"

#define S " --session={session}"
#define RESTORED_SHAPE                                                          \
    "restored:s? message:s? before:s? branch:s old_branch:s added:i changed:i " \
    "removed:i files:o? warnings:a dry_run:b files_skipped:b"

#define UNDO                                                                 \
    "checkpoint undo-restore --dry-run!{confirm} --board-only?{board_only} " \
    "--files-only?{files_only} --all?{all}" S
static const struct variant turn_restore[] = {
    {NULL, UNDO},
    {"undo", UNDO},
    {"redo", "checkpoint redo-restore --dry-run!{confirm} --all?{all}" S},
};
static const struct property turn_properties[] = {
    CHOICE("direction", "undo|redo",
           "Take the last restore back (default), or do it again"),
    FLAG("confirm", "Do it; otherwise only what would be done is said"),
    FLAG("board_only", "Of undo: leave the files as they are"),
    FLAG("files_only", "Of undo: leave the board as it is"),
    FLAG("all", "Also what other sessions have changed since"),
    SESSION,
    DIRECTORY,
};
static const struct variant label[] = {
    {NULL, "checkpoint label --remove?{remove} -- {checkpoint*} {label*}"},
};
static const struct property label_properties[] = {
    CHECKPOINT("The checkpoint"),
    TEXT("label", "A word, such as good or broken"),
    FLAG("remove", "Take the label off"),
    DIRECTORY,
};
static const struct variant note[] = {
    {NULL, "checkpoint note --severity={severity} -- {checkpoint*} {text*}"},
};
static const struct property note_properties[] = {
    CHECKPOINT("The checkpoint"),
    PROSE("text", "The note"),
    CHOICE("severity", "info|warning|critical", "How serious it is (default: info)"),
    DIRECTORY,
};
static const struct variant at[] = {
    {NULL, "checkpoint at --tag={tag} --section={section}" S " -- {at*}"},
};
static const struct property at_properties[] = {
    TEXT("at", "A time, such as 10 minutes ago, or a checkpoint"),
    TEXT("tag", "Only among checkpoints with this tag"),
    CHOICE("section",
           "hypotheses|evidence|beliefs|dependencies|gaps|notes|commands|checks",
           "Only these items"),
    SESSION,
    DIRECTORY,
};
static const struct variant timeline[] = {
    {NULL, "checkpoint timeline --workflow={workflow} --limit={limit}"},
};
static const struct property timeline_properties[] = {
    TEXT("workflow", "Only runs of this workflow"),
    WHOLE("limit", 1, 100, "At most so many checkpoints of each run and branch"),
    DIRECTORY,
};
static const struct variant cat[] = {
    {NULL, "checkpoint cat" S " -- {checkpoint*}:{path*}"},
};
static const struct property cat_properties[] = {
    CHECKPOINT("The checkpoint"),
    TEXT("path", "The file, from the directory whose files are kept"),
    SESSION,
    DIRECTORY,
};
static const struct variant file_log[] = {
    {NULL, "checkpoint log --newest={limit} --all?{all}" S " -- {path*}"},
};
static const struct property file_log_properties[] = {
    TEXT("path", "The file, from the directory whose files are kept"),
    WHOLE("limit", 1, 1000, "Only the newest so many (default: all)"),
    FLAG("all", "The checkpoints of all branches of the session"),
    SESSION,
    DIRECTORY,
};
static const struct variant grep[] = {
    {NULL, "checkpoint grep --ignore-case?{ignore_case} --fixed?{fixed} "
           "--paths={paths}" S " -- {pattern*} {checkpoint}"},
};
static const struct property grep_properties[] = {
    TEXT("pattern", "What is looked for in all versions of all files"),
    CHECKPOINT("Only as it was there"),
    FLAG("ignore_case", "Letters of both cases are the same"),
    FLAG("fixed", "The pattern is looked for as it is"),
    WORDS("paths", "Only these files: patterns as in .gitignore"),
    SESSION,
    DIRECTORY,
};
static const struct variant blame[] = {
    {NULL, "checkpoint blame-file --at={at}" S " -- {path*}"},
};
static const struct property blame_properties[] = {
    TEXT("path", "The file, from the directory whose files are kept; FILE:LINE is one "
                 "line of it"),
    TEXT("at", "As it was at this checkpoint or time (default: the newest)"),
    SESSION,
    DIRECTORY,
};

static const struct tool rows[] = {
    {.name = "checkpoint_undo_restore",
     .title = "Take a restore back, or do it again",
     .about = "Takes the last restore of a session back, or does again what was taken "
              "back. Without confirm: true only says what would be done.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_DESTRUCTIVE,
     .by = "direction",
     VARIANTS(turn_restore),
     PROPERTIES(turn_properties),
     .shape = RESTORED_SHAPE},
    {.name = "checkpoint_label",
     .title = "Label a checkpoint",
     .about = "Puts a label on a checkpoint, such as good or broken, or takes it off.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_IDEMPOTENT,
     VARIANTS(label),
     PROPERTIES(label_properties),
     .shape = "checkpoint:s label:s on:b"},
    {.name = "checkpoint_note",
     .title = "Note something about a checkpoint",
     .about = "Adds a note to a checkpoint; the checkpoint itself stays as it is.",
     .set = TOOLSET_CHECKPOINT,
     VARIANTS(note),
     PROPERTIES(note_properties),
     .shape = "checkpoint:s text:s severity:s"},
    {.name = "checkpoint_at",
     .title = "What was known at some time",
     .about = "Shows the board of a session as it was at a time or checkpoint.",
     .set = TOOLSET_FILES,
     .hints = HINT_READ_ONLY,
     VARIANTS(at),
     PROPERTIES(at_properties),
     .shape = "checkpoint:o present:b items:a"},
    {.name = "checkpoint_timeline",
     .title = "Runs, sessions and checkpoints as a tree",
     .about = "Shows runs and sessions with their branches and checkpoints.",
     .set = TOOLSET_FILES,
     .hints = HINT_READ_ONLY,
     VARIANTS(timeline),
     PROPERTIES(timeline_properties),
     .shape = "runs:a"},
    {.name = "checkpoint_cat",
     .title = "A file as it was",
     .about = "Gives a file as it was at a checkpoint of a session.",
     .set = TOOLSET_FILES,
     .hints = HINT_READ_ONLY,
     VARIANTS(cat),
     PROPERTIES(cat_properties),
     .shape = "text:s",
     .raw = true},
    {.name = "checkpoint_file_log",
     .title = "Versions of a file",
     .about = "Lists the versions of a file over the checkpoints of a session.",
     .set = TOOLSET_FILES,
     .hints = HINT_READ_ONLY,
     VARIANTS(file_log),
     PROPERTIES(file_log_properties),
     .shape = "path:s versions:a"},
    {.name = "checkpoint_grep",
     .title = "Search all versions of files",
     .about = "Searches all versions of all files of a session for a pattern (a POSIX "
              "extended regular expression without back-references).",
     .set = TOOLSET_FILES,
     .hints = HINT_READ_ONLY,
     VARIANTS(grep),
     PROPERTIES(grep_properties),
     .shape = "matches:a checkpoints:i"},
    {.name = "checkpoint_blame",
     .title = "Where each line came from",
     .about = "Says of each line of a file in which checkpoint it came to be.",
     .set = TOOLSET_FILES,
     .hints = HINT_READ_ONLY,
     VARIANTS(blame),
     PROPERTIES(blame_properties),
     .shape = "path:s lines:a"},
};
const struct tool_rows history_tools = {rows, COUNT(rows)};
