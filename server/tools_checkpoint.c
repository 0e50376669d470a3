/* SPDX-License-Identifier: MIT */
/* Tools about checkpoints: saving what an agent knows, finding it, going back to it. */
#include "server/properties.h"

/* ---- Saving ---- */

#define SAVED                                                              \
    "--summary={summary} --description={description} --context={context} " \
    "--context={metadata} --state=-<{full_state} --tokens={tokens} "       \
    "--threshold={threshold} --tag={tags} --session={session} --contextd"
/* Older clients say whether it was made by itself; then the usage decides. */
static const struct variant save[] = {
    {NULL, "checkpoint create --trigger={trigger} " SAVED " -- {message}"},
    {"false", "checkpoint create --trigger=manual " SAVED " -- {message}"},
    {"true", "checkpoint create --trigger=context-threshold " SAVED " -- {message}"},
};
static const struct property save_properties[] = {
    {.name = "summary",
     .kind = PROPERTY_TEXT,
     .empty = true,
     .about = "What somebody who goes on has to know first, at most 500 characters. "
              "Required, unless there is a message"},
    {.name = "message",
     .also = "name",
     .kind = PROPERTY_TEXT,
     .empty = true,
     .about = "A few words that say what the checkpoint is for, for lists"},
    {.name = "description",
     .kind = PROPERTY_TEXT,
     .empty = true,
     .about = "More of it, at most 10,000 characters"},
    {.name = "context",
     .kind = PROPERTY_NOTES,
     .empty = true,
     .about = "Parts of the context by name, such as {\"next\": \"run the tests\"}, up "
              "to 50; or one text"},
    {.name = "full_state",
     .kind = PROPERTY_TEXT,
     .empty = true,
     .about = "A text of at most 1 MiB with all that is to be found again"},
    WORDS("tags", "Words to find it by"),
    {.name = "tokens",
     .also = "token_count",
     .kind = PROPERTY_INTEGER,
     .low = 0,
     .high = 1e12,
     .about = "How many tokens the context has, as you count them"},
    {.name = "threshold",
     .kind = PROPERTY_USAGE,
     .low = 0,
     .high = 100,
     .about = "How full your context is, 0 to 1, or above 1 in percent. Without a "
              "trigger, and with auto_created, a checkpoint is made only where 0.25, "
              "0.5, 0.75 or 0.9 is reached for the first time"},
    CHOICE("trigger",
           "manual|compaction-warning|code-modified|tool-call|significant-time|"
           "files-settled|context-threshold",
           "What it is made for (default: manual)"),
    FLAG("auto_created", "For older clients: nobody asked for it"),
    {.name = "metadata",
     .kind = PROPERTY_PAIRS,
     .about = "For older clients: more parts of the context"},
    SESSION,
    DIRECTORY,
    TENANT,
};

/* ---- Finding ---- */

#define LISTED                                                                 \
    "--auto-only?{auto_only} --limit={limit} --offset={offset} --sort={sort} " \
    "--label={label} --tag={tag} --contextd"
static const struct variant list[] = {
    {NULL, "checkpoint list --session={session} --run={run} --workflow={workflow} "
           "--sort=-created?{sort_by} " LISTED},
};
static const struct property list_properties[] = {
    {.name = "session",
     .also = "session_id",
     .kind = PROPERTY_TEXT,
     .empty = true,
     .about = "Only those of this debugging session, by its name or number"},
    RUN("Only those of this run"),
    TEXT("workflow", "Only those of runs of this workflow"),
    TEXT("tag", "Only those of sessions with this tag"),
    TEXT("label", "Only those with this label"),
    FLAG("auto_only", "Only those that nobody asked for"),
    LIMIT,
    OFFSET,
    CHOICE("sort", "-seq|seq|-created|created", "Newest first (default), or oldest"),
    {.name = "sort_by",
     .kind = PROPERTY_CHOICE,
     .words = "created_at|updated_at",
     .empty = true,
     .about = "For older clients: both are the newest first, for a checkpoint never "
              "changes"},
    DIRECTORY,
    TENANT,
};

static const struct variant search_checkpoints[] = {
    {NULL, "search --in=sessions --contextd --tag={tags} --since={since} "
           "--until={until} --hits={top_k} -- {query*}"},
};
static const struct variant search_all[] = {
    {NULL, "search --in={in} --tag={tags} --since={since} --until={until} "
           "--hits={top_k} -- {query*}"},
};
#define QUERY \
    TEXT("query", "What is looked for: any words; no character is an operator")
#define FILTERS                                                                    \
    WORDS("tags", "Only what has exactly these tags, all of them"),                \
        TEXT("since", "Only what is not older, such as 2 hours ago"),              \
        TEXT("until", "Only what is not newer"),                                   \
        WHOLE("top_k", 1, 100, "How many of the nearest (default: 5)"), DIRECTORY, \
        TENANT
static const struct property search_checkpoints_properties[] = {QUERY, FILTERS};
static const struct property search_all_properties[] = {
    QUERY,
    CHOICE(
        "in", "sessions|runs|logs|files|messages|board",
        "Only there: sessions have checkpoints and notes, runs their tasks, logs what "
        "tasks wrote, files those of checkpoints (default: everywhere)"),
    FILTERS};

static const struct variant resume[] = {
    {NULL, "checkpoint resume --contextd --level={level} --session={session} -- "
           "{checkpoint}"},
};
static const struct property resume_properties[] = {
    CHECKPOINT("The checkpoint to go on from; default: the newest one with a context"),
    {.name = "level",
     .also = "resume_level",
     .kind = PROPERTY_CHOICE,
     .words = "summary|context|full",
     .about = "How much is given (default: context)"},
    SESSION,
    DIRECTORY,
    TENANT,
};

static const struct variant get[] = {
    {NULL, "checkpoint show --tasks?{tasks} -- {checkpoint*}"},
};
static const struct property get_properties[] = {
    CHECKPOINT("The checkpoint"),
    FLAG("tasks", "Of a run: every task with its state"),
    DIRECTORY,
};

static const struct variant delete[] = {
    {NULL, "checkpoint delete --yes -- {checkpoint*}"},
};
static const struct property delete_properties[] = {
    CHECKPOINT("The checkpoint, which cannot be had back"),
    DIRECTORY,
    TENANT,
};

/* ---- Comparing and going back ---- */

static const struct variant diff[] = {
    {NULL, "checkpoint diff --worktree?{worktree} --patch?{patch} --paths={paths} "
           "--session={session} -- {from} {to}"},
};
static const struct property diff_properties[] = {
    TEXT("from", "The earlier checkpoint: its id, a prefix, or debug:NUMBER (default: "
                 "the newest of the branch)"),
    TEXT("to", "The later one (default: the present state)"),
    {.name = "patch",
     .kind = PROPERTY_BOOLEAN,
     .stores = true,
     .about = "Also what differs in the files, as `git apply` takes it"},
    {.name = "worktree",
     .kind = PROPERTY_BOOLEAN,
     .stores = true,
     .about = "With the files as they are on disk now"},
    {.name = "paths",
     .kind = PROPERTY_LIST,
     .empty = true,
     .stores = true,
     .about = "Only these files: patterns as in .gitignore"},
    SESSION,
    DIRECTORY,
};

static const struct variant restore[] = {
    {NULL, "checkpoint restore --dry-run!{confirm} --yes?{confirm} --paths={paths} "
           "--board-only?{board_only} --files-only?{files_only} "
           "--messages-only?{messages_only} --all?{all} --force?{force} "
           "--session={session} -- {checkpoint*}"},
};
static const struct property restore_properties[] = {
    CHECKPOINT("The checkpoint to go back to"),
    FLAG("confirm",
         "Do it. Unless this is true, the answer only says what it would do"),
    WORDS("paths", "Only these files: patterns as in .gitignore (default: all files)"),
    FLAG("board_only", "Only the board; files stay as they are"),
    FLAG("files_only", "Only the files; the board stays as it is"),
    FLAG("messages_only", "Only the end of the line of messages"),
    FLAG("all",
         "Also what other sessions have changed since: otherwise that stays, and "
         "files.others names it"),
    FLAG("force", "Also from a checkpoint that is labelled broken"),
    SESSION,
    DIRECTORY,
};

static const struct variant branch_off[] = {
    {NULL, "checkpoint fork --name={name} --to={to} --session={session} -- "
           "{checkpoint*}"},
};
static const struct property fork_properties[] = {
    CHECKPOINT("The checkpoint to go on from"),
    TEXT("name", "Name of the new branch, or with \"to\" of the new session"),
    TEXT("to", "A new or empty directory for the files, and a session for it"),
    SESSION,
    DIRECTORY,
};

static const struct variant files[] = {
    {NULL, "checkpoint files --session={session} -- {checkpoint*}"},
};
static const struct property files_properties[] = {
    CHECKPOINT("The checkpoint"),
    SESSION,
    DIRECTORY,
};

#define FOUND_SHAPE "query:s k:i project:s hits:a entries:i up_to_date:b"

static const struct tool rows[] = {
    {.name = "checkpoint_save",
     .title = "Save a checkpoint",
     .about = "Stores the whole state of the debugging session (board, files as its "
              "settings say, messages) as a checkpoint, with what you need to go on "
              "with an empty context: summary, context, full state. Secrets are taken "
              "out of every text first. Call it before something risky, and before "
              "your context is full. \"made\" says whether one was made.",
     .set = TOOLSET_CHECKPOINT,
     .by = "auto_created",
     VARIANTS(save),
     PROPERTIES(save_properties),
     .shape = "made:b why:s? id:s? seq:i? pruned:i left_out:i"},
    {.name = "checkpoint_list",
     .title = "List checkpoints",
     .about =
         "Lists checkpoints of runs and of debugging sessions, newest first. Use it "
         "to find the one to resume from, to compare with or to restore.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_READ_ONLY,
     VARIANTS(list),
     PROPERTIES(list_properties),
     .shape = "checkpoints:a total:i limit:i offset:i"},
    {.name = "checkpoint_search",
     .title = "Find a checkpoint",
     .about = "Finds what was kept in sessions, their checkpoints and notes by text "
              "similarity, the nearest first, with a score from 0 to 1 and the words "
              "that fit. Then: checkpoint_resume, checkpoint_get.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_READ_ONLY,
     VARIANTS(search_checkpoints),
     PROPERTIES(search_checkpoints_properties),
     .shape = FOUND_SHAPE " results:a top_k:i"},
    {.name = "search",
     .title = "Search everything that is kept",
     .about = "Finds texts by text similarity in all that this project has kept: "
              "checkpoints, boards, messages, runs and what their tasks wrote, files.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_READ_ONLY,
     VARIANTS(search_all),
     PROPERTIES(search_all_properties),
     .shape = FOUND_SHAPE},
    {.name = "checkpoint_resume",
     .title = "Go on from a checkpoint",
     .about = "Gives back what checkpoint_save was given to go on with: the summary; "
              "with level context (default) also the context; with level full also the "
              "full state, the board and the last messages. Changes nothing.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_READ_ONLY,
     VARIANTS(resume),
     PROPERTIES(resume_properties),
     .shape = "id:s seq:i time:s session:s? branch:s? level:s summary:s? "
              "description:s? pairs:a state:s? tokens:i? text:s tokens_estimate:i",
     .says = "text"},
    {.name = "checkpoint_get",
     .title = "Show a checkpoint",
     .about = "Shows one checkpoint: what it holds, its message, tags, labels, notes "
              "and context.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_READ_ONLY,
     VARIANTS(get),
     PROPERTIES(get_properties),
     .shape = "seq:i id:s namespace:s damaged:b time:s? labels:a notes:a"},
    {.name = "checkpoint_delete",
     .title = "Delete a checkpoint",
     .about = "Deletes one checkpoint for ever. The others stay as they are.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_DESTRUCTIVE,
     VARIANTS(delete),
     PROPERTIES(delete_properties),
     .shape = "deleted:s"},
    {.name = "checkpoint_diff",
     .title = "Compare two states of a session",
     .about = "Says what changed between two checkpoints of a debugging session, or "
              "between one and the present state: items of the board, context, files, "
              "environment, messages.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_READ_ONLY,
     VARIANTS(diff),
     PROPERTIES(diff_properties),
     .shape = "changes:a context:a files:a from:s to:s? added:i changed:i removed:i "
              "text:s"},
    {.name = "checkpoint_restore",
     .title = "Go back to a checkpoint",
     .about = "Puts the board, the files and the messages of a session back to a "
              "checkpoint. Without confirm: true it changes nothing and says what it "
              "would do (dry_run is true). What was there before is kept as a "
              "checkpoint (\"before\").",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_DESTRUCTIVE | HINT_IDEMPOTENT,
     VARIANTS(restore),
     PROPERTIES(restore_properties),
     .shape = "restored:s time:s? before:s? added:i changed:i removed:i files:o "
              "warnings:a dry_run:b"},
    {.name = "checkpoint_fork",
     .title = "Try something else from a checkpoint",
     .about = "Begins a new branch with the state of a checkpoint; with \"to\", a new "
              "session whose files are in a directory of their own, beside what is "
              "here.",
     .set = TOOLSET_CHECKPOINT,
     VARIANTS(branch_off),
     PROPERTIES(fork_properties),
     .shape = "from:s?"},
    {.name = "checkpoint_files",
     .title = "List the files of a checkpoint",
     .about = "Lists the files that a checkpoint of a session holds.",
     .set = TOOLSET_CHECKPOINT,
     .hints = HINT_READ_ONLY,
     VARIANTS(files),
     PROPERTIES(files_properties),
     .shape = "entries:a files:o"},
};
const struct tool_rows checkpoint_tools = {rows, COUNT(rows)};
