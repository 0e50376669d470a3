/* SPDX-License-Identifier: MIT */
/* The commands about the store, its checkpoints and cairn itself, in the order of their
 * help pages. */
#include "cli/commands/store_commands.h"
#include "cli/sessions/commands.h"

static const struct command store_table[] = {
    {"doctor",
     "",
     "look for problems in the store and around it",
     "Checks the store and its surroundings, changes nothing, and gives a remedy "
     "for each finding. Exit status 5 if something is bad. With --repair, "
     "everything valid in a damaged store is saved into a new one, which replaces "
     "it; the damaged files are kept inside it under damaged-TIME. The exit status "
     "is then 5 if something was lost, 6 if a run is live.",
     "  cairn doctor\n  cairn doctor --repair",
     "0 2 5 6 10 75",
     0,
     0,
     {OPT_REPAIR, OPT_NONE},
     command_doctor},
    {"gc",
     "",
     "delete old runs, and content that nothing refers to",
     "Deletes stored content (output, results, definitions) that no run refers to "
     "any more. With --keep-runs or --older-than, first deletes whole runs that "
     "have ended (with both: those that both allow), but never the newest of a "
     "workflow and its params, nor one that a remaining run forks from; with "
     "--any-params, of the newest with their params only those that have not "
     "completed stay, since the next run goes on with them. After a repair that lost "
     "lists of files, what they may have named stays until --forget-lost. Works "
     "beside live runs; if it is killed, the next call finishes the work. Freed "
     "space is used again; the file does not shrink. Exit status 5: the store has "
     "damaged checkpoints, so no content was deleted.",
     "  cairn gc --keep-runs 100 --older-than 30d --dry-run",
     "0 2 5 10 75",
     0,
     0,
     {OPT_KEEP_RUNS, OPT_OLDER_THAN, OPT_ANY_PARAMS, OPT_FORGET_LOST, OPT_DRY_RUN,
      OPT_NONE},
     command_gc},
    {"stats",
     "",
     "count what the store holds",
     "Prints counts, sizes and durations: of runs and attempts by workflow and how "
     "they "
     "ended, of checkpoints, sessions, boards, messages, and of the store itself. They "
     "are counted from the store, so they are the same right after a restart, and fall "
     "when something is deleted. With --prometheus as a text file for the collector of "
     "node_exporter.",
     "  cairn stats --prometheus >/var/lib/node_exporter/cairn.prom.new\n"
     "  mv /var/lib/node_exporter/cairn.prom.new /var/lib/node_exporter/cairn.prom",
     "0 2 5 10 75",
     0,
     0,
     {OPT_PROMETHEUS, OPT_NONE},
     command_stats},
    {"search",
     "QUERY",
     "find what fits a text best, of all that the store keeps",
     "Ranks texts of checkpoints, boards, messages, runs, logs and files by text "
     "similarity (words, parts of words, and a vector of hashed words) and prints the "
     "nearest with a score from 0 to 1: always as many as -k says, however far they "
     "are. No character of QUERY is an operator. Only what belongs to the project is "
     "found: by default to the directory that the store lies in, or with --store to "
     "the current one. The index (search.db) is first brought up to date; --rebuild "
     "makes it anew.",
     "  cairn search 'stale cache after deploy'\n"
     "  cairn search 'connection refused' --in logs --since '2 days ago' -k 10",
     "0 2 5 10 75",
     0,
     1,
     {OPT_IN, OPT_ALL_TAGS, OPT_SINCE, OPT_UNTIL, OPT_PROJECT, OPT_HITS, OPT_REBUILD,
      OPT_CONTEXTD, OPT_NONE},
     command_search},
    {"checkpoint list",
     "",
     "list checkpoints",
     "Lists the checkpoints of runs and of sessions, newest first, and the total. "
     "With --run or --workflow only those of runs. Labels are behind each; --tag and "
     "--label list only those with one. By time is not by number where a clock was set "
     "back, or sessions were imported.",
     "  cairn checkpoint list --run 3 --limit 50",
     "0 2 5 10 75",
     0,
     0,
     {OPT_ONLY_RUN, OPT_WORKFLOW, OPT_ONLY_SESSION, OPT_TAGGED, OPT_ONLY_LABEL,
      OPT_ONLY_AUTO, OPT_LIMIT, OPT_OFFSET, OPT_SORT_CHECKPOINTS, OPT_CONTEXTD,
      OPT_NONE},
     command_checkpoint_list},
    {"checkpoint show",
     "CHECKPOINT",
     "show one checkpoint",
     "Verifies one checkpoint and shows it. A checkpoint is named by its id "
     "(workflow:42-9f3ac1d20b7e; debug:43-... of a session), by its number (42), or "
     "by 4 or more hex digits of its digest. With --tasks groups of more than 20 are "
     "one row, and with --all every task has one.",
     "  cairn checkpoint show 42 --tasks",
     "0 2 5 10 75",
     1,
     1,
     {OPT_TASKS, OPT_ALL_TASKS, OPT_SESSION, OPT_NONE},
     command_checkpoint_show},
    {"checkpoint timeline",
     "",
     "show runs, sessions and their checkpoints as a tree",
     "Shows every run with its newest checkpoints; a run that forks from a "
     "checkpoint is shown below the run it forked from. Then every session with its "
     "branches in the same way (not with --workflow). `head` marks the newest "
     "checkpoint of a run or branch.",
     "  cairn checkpoint timeline --workflow nightly-report",
     "0 2 5 10 75",
     0,
     0,
     {OPT_WORKFLOW, OPT_LIMIT_PER_RUN, OPT_NONE},
     command_checkpoint_timeline},
    {"checkpoint verify",
     "[CHECKPOINT]",
     "check checkpoints for damage",
     "Checks one checkpoint, or every record, every link of the chains and all "
     "stored content. Names everything that is damaged, with exit status 5. With "
     "--head, also what is missing, replaced or older than when the head was "
     "exported.",
     "  cairn checkpoint verify\n  cairn checkpoint verify --head /mnt/other/heads",
     "0 2 5 10 75",
     0,
     1,
     {OPT_HEAD, OPT_SESSION, OPT_NONE},
     command_checkpoint_verify},
    {"checkpoint head",
     "[RUN]",
     "print the newest checkpoints, for later comparison",
     "Prints number, position and SHA-256 of the newest checkpoint of every run and "
     "of every branch of a session, or of one run. Keep them outside the store: `cairn "
     "checkpoint verify --head "
     "FILE` then shows whether the newest checkpoints were removed or the store "
     "was replaced by an older copy.",
     "  cairn checkpoint head >/mnt/other/heads",
     "0 2 5 10 75",
     0,
     1,
     {OPT_RUN, OPT_NONE},
     command_checkpoint_head},
    {"checkpoint delete",
     "CHECKPOINT",
     "delete one checkpoint",
     "Deletes one checkpoint permanently. Asks on a terminal; elsewhere --yes is "
     "required. Refused if others would be lost with it: see `cairn checkpoint "
     "prune`.",
     "  cairn checkpoint delete workflow:42-9f3ac1d20b7e --yes",
     "0 2 5 10 75",
     1,
     1,
     {OPT_YES, OPT_SESSION, OPT_NONE},
     command_checkpoint_delete},
    {"checkpoint prune",
     "",
     "delete old checkpoints of runs, or of a session",
     "With --keep, deletes all but the newest checkpoints of every run, or of --run; "
     "none that a run forked from, so more than --keep may stay. With --session or one "
     "of --keep-last, --keep-days, --keep-hourly and --keep-tag, deletes checkpoints "
     "of a debugging session: what one of these rules keeps stays (without any of "
     "them: by the settings keep-... of the session, else 100, 7 days and hourly), and "
     "so do those that were made by hand (unless --manual-too) or for a "
     "significant trigger, the newest valid one of each branch, and those where a "
     "branch begins.",
     "  cairn checkpoint prune --keep 20 --dry-run\n"
     "  cairn checkpoint prune --keep-last 100 --keep-days 7",
     "0 2 5 10 75",
     0,
     0,
     {OPT_ONLY_RUN, OPT_PRUNE_KEEP, OPT_KEEP_LAST, OPT_KEEP_DAYS, OPT_KEEP_HOURLY,
      OPT_KEEP_TAG, OPT_MANUAL_TOO, OPT_SESSION, OPT_DRY_RUN, OPT_NONE},
     command_checkpoint_prune},
    {"checkpoint at",
     "[TIME|CHECKPOINT]",
     "show what was known in a session at some time",
     "Shows the newest checkpoint at a time or before it, of the branch that was "
     "current then (`now`: the board as it is), or the one "
     "with an id or a number (--seq), with every item. TIME is local unless it has a "
     "zone: '2 hours ago', 'yesterday 14:30', '2025-01-20 14:30'.",
     "  cairn checkpoint at '2 hours ago' --section beliefs",
     "0 2 5 10 75",
     0,
     1,
     {OPT_SEQ, OPT_TAGGED, OPT_SECTION, OPT_SESSION, OPT_NONE},
     command_checkpoint_at},
    {"checkpoint restore",
     "[CHECKPOINT [FILE]...]",
     "put a session back to a checkpoint",
     "Verifies a checkpoint of the session, makes one of the present state, and puts "
     "the board and the files back to what they were (the files where the checkpoint "
     "holds some): all of it, or nothing. What is ignored or was never in a checkpoint "
     "stays. Where other sessions have made checkpoints of the same directory since, "
     "what "
     "they have changed stays, and is named: a change belongs to the session whose "
     "checkpoint showed it first, and a change that an agent's session has not shown "
     "is "
     "not that agent's. What both have changed goes back, and what was there is kept "
     "beside it; --all takes everything back. If it is interrupted, commands that read "
     "say so, and --finish finishes it; so does the next command that writes to a "
     "session. Each file that was changed meanwhile is named, and kept beside. Work "
     "goes on on a new branch; the one before stays. Asks on a terminal; elsewhere "
     "--yes is required. "
     "`cairn checkpoint undo-restore` takes it back. With FILE, or --paths, only these "
     "files are restored. " CHECKPOINT_NAMES,
     "  cairn checkpoint restore 42 --dry-run\n  cairn checkpoint restore 42 --yes\n"
     "  cairn checkpoint restore 42 --paths 'src,*.conf' --yes",
     "0 2 5 10 75",
     0,
     OPERANDS_MAX,
     {OPT_YES, OPT_DRY_RUN, OPT_RESTORED_PATHS, OPT_BOARD_ONLY, OPT_FILES_ONLY,
      OPT_MESSAGES_ONLY, OPT_RESTORE_ALL, OPT_FORCE, OPT_FINISH, OPT_SESSION, OPT_NONE},
     command_checkpoint_restore},
    {"checkpoint label",
     "CHECKPOINT LABEL",
     "label a checkpoint, of a run or a session",
     "Puts a label on a checkpoint, or takes it off (--remove). Two have an effect: "
     "one "
     "labelled `keep` stays when others are pruned; one labelled `broken` is not "
     "resumed from or restored, unless with --force.",
     "  cairn checkpoint label 42 broken",
     "0 2 5 10 75",
     2,
     2,
     {OPT_REMOVE, OPT_SESSION, OPT_NONE},
     command_checkpoint_label},
    {"checkpoint note",
     "CHECKPOINT TEXT",
     "add a note to a checkpoint, of a run or a session",
     "Adds a note, which `cairn checkpoint show` shows. TEXT is read from stdin if it "
     "is "
     "-. A note is not part of the record, and is deleted with it.",
     "  cairn checkpoint note 42 'the last one before the disk was changed'",
     "0 2 5 10 75",
     2,
     2,
     {OPT_SEVERITY, OPT_SESSION, OPT_NONE},
     command_checkpoint_note},
    {"checkpoint undo-restore",
     "",
     "take back the last restore",
     "Goes back to the branch and the state before the last restore: board, messages "
     "and files. What was done since stays, in a checkpoint of the branch that the "
     "restore began. Called again, it takes back the restore before that; `cairn "
     "checkpoint redo-restore` goes forward again. Refused if branches were started, "
     "switched, merged or abandoned since.",
     "  cairn checkpoint undo-restore",
     "0 2 5 10 75",
     0,
     0,
     {OPT_DRY_RUN, OPT_BOARD_ONLY, OPT_FILES_ONLY, OPT_RESTORE_ALL, OPT_YES,
      OPT_SESSION, OPT_NONE},
     command_checkpoint_undo_restore},
    {"checkpoint redo-restore",
     "",
     "do again what undo-restore took back",
     "Goes to the branch and the state that the last `cairn checkpoint undo-restore` "
     "has left: board, messages and files as they were then, with what had been done "
     "after the restore. Called again, to what the undo before that has left; each can "
     "be undone again. Refused if the board, the messages or the files were changed "
     "since, or after another restore.",
     "  cairn checkpoint redo-restore",
     "0 2 5 10 75",
     0,
     0,
     {OPT_DRY_RUN, OPT_RESTORE_ALL, OPT_YES, OPT_SESSION, OPT_NONE},
     command_checkpoint_redo_restore},
    {"checkpoint fork",
     "CHECKPOINT [DIR]",
     "go on from a checkpoint on a branch or in a directory of its own",
     "Begins a branch whose state is that of the checkpoint, files too, as `cairn "
     "branch "
     "start --from` does. With DIR (or --to DIR) the files are put into a new "
     "directory, and "
     "nothing else changes: a new session begins at the checkpoint, with the settings "
     "of this one, and its files are those in DIR. Commands in DIR work on that "
     "session "
     "of the same store, by the file DIR/.cairn, so both lines go on side by side. DIR "
     "is there whole or not at all. Prints the name of the branch, or of the session.",
     "  cairn checkpoint fork 42 --name other-way\n"
     "  cairn checkpoint fork 42 --to ../try && cd ../try",
     "0 2 5 10 75",
     1,
     2,
     {OPT_FORK_NAME, OPT_FORK_TO, OPT_DRY_RUN, OPT_RESTORE_ALL, OPT_SESSION, OPT_NONE},
     command_checkpoint_fork},
    {"checkpoint bisect",
     "-- COMMAND [ARG]...",
     "find the first checkpoint whose state makes a command fail",
     "Tries states between a good checkpoint and a bad one that it led to, over "
     "branches, and prints the first bad one. For each there is a new directory with "
     "its files and a store, in which COMMAND runs, with CAIRN_STORE, CAIRN_SESSION "
     "and CAIRN_CHECKPOINT set: exit 0 means good, 125 that it cannot be tried, up to "
     "127 bad; a signal, or more than 127, stops. This store is only read, and the "
     "working directory stays as it is.",
     "  cairn checkpoint bisect --good 12 --bad 57 -- make test\n"
     "  cairn checkpoint bisect --good 12 --bad 57 -- sh -c '! cairn belief show b3'",
     "0 1 2 5 7 10 75",
     0,
     0,
     {OPT_GOOD, OPT_BAD, OPT_CHECK, OPT_NONE},
     command_checkpoint_bisect},
    {"checkpoint recover",
     "",
     "show what to do to go on from the newest valid checkpoint",
     "Prints the newest checkpoint of the session whose state is whole, and what it "
     "takes "
     "to go on from it, in order: variables to set, commands to run, what was open. "
     "Newer ones that are damaged are named. Nothing is executed.",
     "  cairn checkpoint recover --session slow-login",
     "0 2 5 10 75",
     0,
     0,
     {OPT_SESSION, OPT_NONE},
     command_checkpoint_recover},
    {"report",
     "[CHECKPOINT [CHECKPOINT]]",
     "write what happened in a session as Markdown",
     "Writes a page of Markdown about what happened in a session: from its start until "
     "now, from a checkpoint until now, or between two checkpoints. It has what was "
     "confirmed or rejected and why, evidence, beliefs, gaps, notes, the checkpoints "
     "in "
     "between, and the tasks that failed, with what has become of each since. Texts "
     "are "
     "escaped: they make no headings, tables or links. (Sites that look for names such "
     "as "
     "@kim and numbers such as #12 in pages find them all the same.)",
     "  cairn report >report.md\n  cairn report debug:3-9f3ac1d20b7e 57",
     "0 2 5 10 75",
     0,
     2,
     {OPT_SESSION, OPT_NONE},
     command_report},
    {"mcp",
     "",
     "serve agents over the Model Context Protocol",
     "Answers an agent's client on stdin and stdout until it closes stdin: tools for "
     "checkpoints, sessions, the board, runs and external tasks, resources and "
     "prompts. "
     "The client starts it; docs/guide-mcp.md has what to enter there. Each call is "
     "done by a command of cairn in a process of its own, so what a tool answers is "
     "what the command prints with --json. Runs that were started go on when the "
     "client has gone. With --listen it serves several clients over Streamable HTTP, "
     "until SIGTERM or Ctrl-C: it prints the address and the file with the token that "
     "they must show.",
     "  cairn mcp\n  cairn mcp --read-only --tools checkpoint,session\n"
     "  cairn mcp --listen 127.0.0.1:8765",
     "0 2 75",
     0,
     0,
     {OPT_TOOLS, OPT_READ_ONLY, OPT_CALL_LIMIT, OPT_LISTEN, OPT_TOKEN_FILE,
      OPT_ALLOW_REMOTE, OPT_ALLOW_HOST, OPT_NONE},
     command_mcp},
    {"help",
     "[COMMAND]",
     "show help",
     "Shows the help of a command, or of all.",
     "  cairn help checkpoint list",
     "0 2 75",
     0,
     2,
     {OPT_NONE},
     command_help},
    {"version",
     "",
     "show the version",
     "Shows the version of cairn.",
     "  cairn version",
     "0 2 75",
     0,
     0,
     {OPT_NONE},
     command_version},
};

const struct command_part store_commands = {store_table,
                                            sizeof store_table / sizeof store_table[0]};
