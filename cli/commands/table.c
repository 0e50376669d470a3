/* SPDX-License-Identifier: MIT */
/* The table of commands, in the order of the help pages; those of sessions are in
 * cli/sessions/tables.c. */
#include "cli/commands/commands.h"

#include "base/str.h"

/* The commands about the store, its checkpoints and cairn itself, in the order of their
 * help pages. */

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
     "completed stay, since the next run continues them. After a repair that lost "
     "lists of files, what they may have named stays until --forget-lost. Works "
     "beside live runs; if it is killed, the next call finishes the work. Freed "
     "space is used again; the file does not shrink. Exit status 5: the store has "
     "damaged checkpoints, so no content was deleted.",
     "  cairn gc --keep-runs 100 --older-than 30d --dry-run",
     "0 2 5 10 75",
     0,
     0,
     {OPT_KEEP_RUNS, OPT_OLDER_THAN, OPT_ANY_PARAMS, OPT_KEEP_OUTPUTS, OPT_FORGET_LOST,
      OPT_DRY_RUN, OPT_NONE},
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
     {OPT_ONLY_RUN, OPT_WORKFLOW, OPT_ONLY_SESSION, OPT_TAGGED, OPT_ANY_TAG,
      OPT_ONLY_LABEL, OPT_ONLY_AUTO, OPT_FROM_SEQ, OPT_TO_SEQ, OPT_LIMIT, OPT_OFFSET,
      OPT_SORT_CHECKPOINTS, OPT_CONTEXTD, OPT_NONE},
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
     "Shows runs with their newest checkpoints, 100 at a time; a run that forks from a "
     "checkpoint is shown below the run it forked from. Then every session with its "
     "branches in the same way (not with --workflow or --offset). `head` marks the "
     "newest checkpoint of a run or branch.",
     "  cairn checkpoint timeline --workflow nightly-report",
     "0 2 5 10 75",
     0,
     0,
     {OPT_WORKFLOW, OPT_LIMIT_PER_RUN, OPT_OFFSET, OPT_NONE},
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
     "continues on a new branch; the one before stays. Asks on a terminal; elsewhere "
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
     "continue from a checkpoint on a branch or in a directory of its own",
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
     "show what to do to continue from the newest valid checkpoint",
     "Prints the newest checkpoint of the session whose state is whole, and what it "
     "takes "
     "to continue from it, in order: variables to set, commands to run, what was open. "
     "Newer ones that are damaged are named. Nothing is executed.",
     "  cairn checkpoint recover --session slow-login",
     "0 2 5 10 75",
     0,
     0,
     {OPT_SESSION, OPT_NONE},
     command_checkpoint_recover},
    {"report",
     "[CHECKPOINT [CHECKPOINT] | RUN]",
     "write what happened in a session as Markdown, or a run or session as a page",
     "Writes a page of Markdown about what happened in a session: from its start until "
     "now, from a checkpoint until now, or between two checkpoints. It has what was "
     "confirmed or rejected and why, evidence, beliefs, gaps, notes, the checkpoints "
     "in "
     "between, and the tasks that failed, with what has become of each since. Texts "
     "are "
     "escaped: they make no headings, tables or links. (Sites that look for names such "
     "as "
     "@kim and numbers such as #12 in pages find them all the same.) With --html one "
     "file for a browser about a run (the newest, or RUN), which needs no server and "
     "no "
     "network: its graph, its attempts over time, a table of its tasks, and the ends "
     "of "
     "their logs. With --html and --session one about a session: its timeline, board, "
     "messages, and what each checkpoint changed.",
     "  cairn report >report.md\n  cairn report debug:3-9f3ac1d20b7e 57\n"
     "  cairn report --html -o run.html\n"
     "  cairn report --html --session slow-login -o session.html",
     "0 2 5 10 75",
     0,
     2,
     {OPT_SESSION, OPT_HTML, OPT_PAGE_FILE, OPT_NONE},
     command_report},
    {"mcp",
     "",
     "serve agents over the Model Context Protocol",
     "Answers an agent's client on stdin and stdout until it closes stdin: tools for "
     "checkpoints, sessions, the board, runs and external tasks, resources and "
     "prompts. "
     "The client starts it; docs/guide-mcp.md has what to enter there. Each call is "
     "done by a command of cairn in a process of its own, so what a tool answers is "
     "what the command prints with --json. Runs that were started continue when the "
     "client has gone. With --listen it serves several clients over Streamable HTTP, "
     "until SIGTERM or Ctrl-C: it prints the address and the file with the token that "
     "they must show. With --web the pages of `cairn web` are served there, too.",
     "  cairn mcp\n  cairn mcp --read-only --tools checkpoint,session\n"
     "  cairn mcp --listen 127.0.0.1:8765 --web",
     "0 2 10 75",
     0,
     0,
     {OPT_TOOLS, OPT_READ_ONLY, OPT_CALL_LIMIT, OPT_LISTEN, OPT_TOKEN_FILE,
      OPT_ALLOW_REMOTE, OPT_ALLOW_HOST, OPT_WEB, OPT_ALLOW_CHANGES, OPT_NONE},
     command_mcp},
    {"web",
     "",
     "show runs, sessions and logs in a browser",
     "Serves pages to a browser on this machine: what needs somebody, each run with "
     "its graph, its attempts over time, its tasks and their logs; the timeline of "
     "checkpoints, of which any two can be compared, each session with its board, "
     "messages and files; a search over everything. They show what happens while they "
     "are open, "
     "and change nothing, unless --allow-changes says so. It prints an address that "
     "opens one browser, once, and ends "
     "with Ctrl-C. Over ssh forward a port of the same number, or name the host that "
     "the browser uses by --allow-host.",
     "  cairn web --open\n  cairn web --listen 127.0.0.1:8080 --idle 1h",
     "0 2 10 75",
     0,
     0,
     {OPT_WEB_LISTEN, OPT_OPEN, OPT_IDLE, OPT_ALLOW_CHANGES, OPT_ALLOW_REMOTE,
      OPT_ALLOW_HOST, OPT_NONE},
     command_web},
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

static const struct command_part store_commands = {store_table, COUNT_OF(store_table)};

/* The commands with which people and other programs do external tasks. */

static const struct command external_table[] = {
    {"next",
     "[RUN]",
     "list the external tasks that can be done now",
     "Lists the external tasks of a run (default: the newest) that people or other "
     "programs can do now: those whose needs have ended and that nobody has "
     "claimed.",
     "  cairn next 3 --json",
     "0 2 5 10 75",
     0,
     1,
     {OPT_RUN, OPT_CLAIMED, OPT_NONE},
     command_next},
    {"claim",
     "RUN TASK | --any [RUN]",
     "claim an external task",
     "Claims an external task for a limited time and prints a token, which `cairn "
     "complete` and `cairn fail` require. Of several who claim a task, only one "
     "gets it. When the lease expires, the task can be claimed again and the token "
     "is no longer valid. With --any the first one that can be done now, and its "
     "text; exit 7 if there is none, 10 if the run is completed. With --exec it is "
     "done by a command: exit 1 if it fails.",
     "  cairn claim 3 review --lease 30m\n  while cairn claim --any --wait 1h --exec "
     "./worker.sh; do :; done",
     "0 1 2 5 6 7 10 75",
     0,
     2,
     {OPT_RUN, OPT_ANY, OPT_WAIT, OPT_CLAIM_EXEC, OPT_LEASE, OPT_HOLDER, OPT_NONE},
     command_claim},
    {"renew",
     "RUN TASK",
     "renew the lease of a claim",
     "From now on the claim of an external task lasts for another --lease. Exit 6 if "
     "the lease is over, or something before the task has run again.",
     "  cairn renew 3 review --token \"$token\" --lease 30m",
     "0 2 5 6 10 75",
     2,
     2,
     {OPT_RUN, OPT_TOKEN, OPT_LEASE, OPT_NONE},
     command_renew},
    {"complete",
     "RUN TASK",
     "report that an external task is done",
     "Completes an external task, with values that later tasks can refer to. Needs "
     "no other process: the tasks that follow run when the run continues.",
     "  cairn complete 3 review --token \"$token\" --output verdict=approve",
     "0 2 3 5 6 10 75",
     2,
     2,
     {OPT_RUN, OPT_TOKEN, OPT_VALUE, OPT_NONE},
     command_complete},
    {"fail",
     "RUN TASK",
     "report that an external task has failed",
     "Ends an external task as failed.",
     "  cairn fail 3 review --token \"$token\" --message 'rejected'",
     "0 2 3 5 6 10 75",
     2,
     2,
     {OPT_RUN, OPT_TOKEN, OPT_MESSAGE, OPT_NONE},
     command_fail},
    {"add",
     "RUN FILE|TASK...",
     "add tasks to a run",
     "Adds tasks to a run that is live or has ended: those under `tasks` in FILE, YAML "
     "or JSON (- for stdin), which may need the tasks that the run has. All of them "
     "are added, or none. The workflow's file stays as it is; the run remembers them "
     "for `resume`, `plan` and `explain`. A live run starts them beside what runs; "
     "services, `reuse` and lists that tasks make once that has ended. A task adds to "
     "its own run with \"$CAIRN_RUN\". All secrets of "
     "the workflow must be given, for the text is refused if a value is in it. With "
     "--withdraw, tasks that were added are taken back, all or none, a group as a "
     "whole. Refused if another task needs one of them (exit 3), or if one of them has "
     "started and the run is live (exit 6).",
     "  cairn add 3 more.yaml\n  cairn add \"$CAIRN_RUN\" - <more.json\n  cairn add "
     "--withdraw 3 fix",
     "0 2 3 5 6 10 75",
     2,
     OPERANDS_MAX,
     {OPT_RUN, OPT_BY, OPT_WITHDRAW, OPT_SECRETS_FD, OPT_NONE},
     command_add},
};

const struct command_part external_commands = {external_table,
                                               COUNT_OF(external_table)};

/* The commands about the files of checkpoints, in the order of their help pages. */

#define EXITS "0 2 3 5 10 75"

static const struct command file_table[] = {
    {"checkpoint files",
     "CHECKPOINT",
     "list the files that a checkpoint of a session holds",
     "Lists what the checkpoint holds of the files below the directory that the "
     "setting "
     "`files` of the session named then (`cairn session config files DIR`): mode, "
     "size, "
     "time of change and path, links with what they point to, and what was left out, "
     "with the reason. " CHECKPOINT_NAMES,
     "  cairn session config files .\n  cairn checkpoint files 42",
     EXITS,
     1,
     1,
     {OPT_SESSION, OPT_NONE},
     command_checkpoint_files},
    {"checkpoint cat",
     "CHECKPOINT:PATH | CHECKPOINT PATH",
     "print a file as it was at a checkpoint",
     "Prints the content of one file that the checkpoint holds, after verifying it. "
     "PATH is seen from the working directory, or what `cairn checkpoint files` "
     "prints. " CHECKPOINT_NAMES,
     "  cairn checkpoint cat 42:src/main.c > main.c.before",
     EXITS,
     1,
     2,
     {OPT_SESSION, OPT_NONE},
     command_checkpoint_cat},
    {"checkpoint log",
     "PATH",
     "list the versions of one file over the checkpoints of a session",
     "Lists in which checkpoints a file, directory or link was added, changed or "
     "removed, or its mode alone was changed, newest first. These are the checkpoints "
     "that led to the present state; with --all those of every branch. PATH is seen "
     "from "
     "the working directory, or what `cairn checkpoint files` prints. `cairn "
     "checkpoint cat ID:PATH` prints a "
     "version. "
     "Damaged checkpoints are named, with exit status 5.",
     "  cairn checkpoint log src/main.c -n 5",
     EXITS,
     1,
     1,
     {OPT_NEWEST, OPT_ALL_BRANCHES, OPT_SESSION, OPT_NONE},
     command_checkpoint_log},
    {"checkpoint export",
     "--tar CHECKPOINT [FILE]",
     "write the files of a checkpoint into an archive",
     "Writes what the checkpoint holds of files into a tar archive (POSIX pax), with "
     "modes, links and times, or without FILE (or with -) to stdout, unless that is a "
     "terminal. FILE takes its place when it is whole; where content is damaged "
     "nothing "
     "is left, and what stdout got has no end mark, with exit status 5.",
     "  cairn checkpoint export --tar 42 before.tar\n"
     "  cairn checkpoint export --tar 42 | tar -xpf - -C /tmp/before",
     EXITS,
     1,
     2,
     {OPT_TAR, OPT_SESSION, OPT_NONE},
     command_checkpoint_export},
    {"checkpoint grep",
     "PATTERN [CHECKPOINT]",
     "search all versions of all files of a session",
     "Prints the lines that match PATTERN, a POSIX extended regular expression without "
     "back-references, in every version of every file that a checkpoint of the session "
     "holds, or in one checkpoint. In front of each: the checkpoints that have this "
     "version, then the path and the number of the line. 3..7 means that it came with "
     "checkpoint 3 and "
     "was last in 7; 3.. that the newest one has it still; 3 that only that one had "
     "it. "
     "Binary files are named. Exit status 1: nothing was found.",
     "  cairn checkpoint grep 'retry *=' --paths '*.py'\n"
     "  cairn checkpoint grep -F 'x[0]' 42",
     "0 1 2 3 5 10 75",
     1,
     2,
     {OPT_IGNORE_CASE, OPT_FIXED, OPT_PATHS, OPT_SESSION, OPT_NONE},
     command_checkpoint_grep},
    {"checkpoint blame-file",
     "PATH[:LINE]",
     "show in which checkpoint each line of a file came to be",
     "Shows for each line of a file, or for one, the checkpoint in which it came to "
     "be: "
     "of those that led to the present state (or to --at), the oldest from which on it "
     "was there. For one line also the message and the user's last prompt before the "
     "checkpoint. Lines are those of the newest checkpoint, not of the file on disk. A "
     "file that was renamed without a change of its content is followed.",
     "  cairn checkpoint blame-file src/main.c:12",
     EXITS,
     1,
     1,
     {OPT_AT, OPT_SESSION, OPT_NONE},
     command_checkpoint_blame},
    {"checkpoint diff",
     "[FROM [TO [FILE]...]]",
     "compare two states of a session",
     "Lists the items that were added (+), changed (~, with each field) or removed (-) "
     "and the files that differ (R renamed, C copied), and sums them up in the last "
     "line. Without TO: compares with the present board and the files on the disk. "
     "Without FROM: from the newest checkpoint of the branch. --paths, or FILE behind "
     "two checkpoints: only these files. --patch prints what differs in the files as "
     "`git apply` and `patch -p1` take it. On a terminal the output goes through "
     "$CAIRN_PAGER, $PAGER or less. " CHECKPOINT_NAMES,
     "  cairn checkpoint diff head~2\n"
     "  cairn checkpoint diff '2 hours ago' 57 --patch --paths 'src,*.md'",
     EXITS,
     0,
     OPERANDS_MAX,
     {OPT_PATCH, OPT_STAT, OPT_UNIFIED, OPT_WORKTREE, OPT_PATHS, OPT_COLOR, OPT_SESSION,
      OPT_NONE},
     command_checkpoint_diff},
};

static const struct command_part file_commands = {file_table, sizeof file_table /
                                                                  sizeof file_table[0]};

/* The table of commands, in the order of the help page; those of debugging sessions are
 * in cli/sessions/ and cli/files/. */

/* How a run is carried out. */
#define TUNING                                                                \
    OPT_JOBS, OPT_MEMORY, OPT_ON_CHANGE, OPT_CHECK_OUTPUTS, OPT_NO_REUSE,     \
        OPT_CHECKPOINT, OPT_SYNC, OPT_OUTPUT_LIMIT, OPT_KEEP, OPT_KEEP_GOING, \
        OPT_STOP, OPT_SHOW_OUTPUT, OPT_VERBOSE, OPT_HEARTBEAT

static const struct command command_table[] = {
    {"run",
     "[FILE] [TASK...]",
     "run a workflow, or resume its unfinished run",
     "Runs the tasks of a workflow file (default: cairn.yaml here) and records a "
     "checkpoint after each. If the newest run of the same workflow and parameters "
     "is unfinished, resumes it; otherwise starts a new run. Ctrl-C stops "
     "gracefully, a second one at once. With --json, prints one event per line. With "
     "TASKs (ids, groups, patterns with * and ?) only these and what they need; the "
     "rest stays for `cairn resume`.",
     "  cairn run nightly.yaml --param day=2026-01-31 -j 4\n  cairn run nightly.yaml "
     "report 'convert*'",
     "0 1 2 3 4 5 6 7 8 9 10 75",
     0,
     OPERANDS_MAX,
     {OPT_PARAM, OPT_FRESH, TUNING, OPT_NO_WAIT, OPT_SECRETS_FD, OPT_NO_CHECKPOINT,
      OPT_NONE},
     command_run},
    {"resume",
     "[RUN] [TASK...]",
     "resume a run, or start from one of its checkpoints",
     "Resumes a run (default: the newest). Finished, unchanged tasks do not run "
     "again. The workflow file is read as it is now; if it was edited, what will "
     "run is printed first. With --from, a new run starts from the checkpoint. With "
     "TASKs only these and what they need, as `cairn run` has it.",
     "  cairn resume 3\n  cairn resume --from workflow:42-9f3ac1d20b7e",
     "0 1 2 3 4 5 6 7 8 9 10 75",
     0,
     OPERANDS_MAX,
     {OPT_RUN, OPT_FROM, TUNING, OPT_NO_WAIT, OPT_FORCE, OPT_SECRETS_FD, OPT_NONE},
     command_resume},
    {"rerun",
     "TASK...",
     "run finished tasks again, with what comes after them",
     "Runs these tasks (ids, groups, patterns with * and ?) of a run (default: the "
     "newest) again, whatever became of them, and what comes after them; what they "
     "need runs if it has to. Says first what will run.",
     "  cairn rerun fetch\n  cairn rerun 'convert*' --only --run 3",
     "0 1 2 3 4 5 6 7 8 9 10 75",
     1,
     OPERANDS_MAX,
     {OPT_ONLY, OPT_RUN, TUNING, OPT_NO_WAIT, OPT_FORCE, OPT_SECRETS_FD, OPT_NONE},
     command_rerun},
    {"plan",
     "[FILE] [TASK...]",
     "show what would run, and why",
     "Lists the tasks that `cairn run FILE` or `cairn resume` would run, with the "
     "reason, and runs nothing. Without FILE, --run or --from: the newest run. With "
     "TASKs what `cairn run`, and with --rerun what `cairn rerun` would do with them.",
     "  cairn plan nightly.yaml\n  cairn plan --run 3 --all",
     "0 2 3 4 5 10 75",
     0,
     OPERANDS_MAX,
     {OPT_RERUN, OPT_ONLY, OPT_KEEP_GOING, OPT_STOP, OPT_PARAM, OPT_FRESH, OPT_RUN,
      OPT_FROM, OPT_ON_CHANGE, OPT_CHECK_OUTPUTS, OPT_NO_REUSE, OPT_ALL, OPT_COMMANDS,
      OPT_SECRETS_FD, OPT_NONE},
     command_plan},
    {"explain",
     "TASK [FILE]",
     "show why one task would run or not",
     "Shows the decision for one task, the reason in a sentence, what changed in "
     "it (old and new), and its last attempts. Without FILE or --run: the newest "
     "run.",
     "  cairn explain 'convert[part=3]' --run 3",
     "0 2 3 4 5 10 75",
     1,
     2,
     {OPT_PARAM, OPT_RUN, OPT_ON_CHANGE, OPT_CHECK_OUTPUTS, OPT_NO_REUSE,
      OPT_SECRETS_FD, OPT_NONE},
     command_explain},
    {"clean",
     "--stale [FILE]",
     "remove outputs of tasks that are gone or skipped now",
     "Lists the files that tasks made which the workflow does not have any more (a "
     "member of a group, a task that was renamed), in any run, asks, and removes them. "
     "Only declared outputs that still have the recorded content are removed, and none "
     "that a task of the workflow makes, reads by name or is made of (foreach), nor "
     "that another workflow of the store or a newer run has made; the others are "
     "named. What is gone or skipped is what `cairn plan` of the same FILE, --param, "
     "--run, --from or --fresh says. Without them it is the newest run; with a "
     "cairn.yaml here, a run of that file. Exit status 6: a run of the workflow is at "
     "work.",
     "  cairn clean --stale --dry-run\n  cairn clean --stale nightly.yaml --yes",
     "0 2 3 5 6 10 75",
     0,
     1,
     {OPT_STALE, OPT_DRY_RUN, OPT_YES, OPT_PARAM, OPT_RUN, OPT_FROM, OPT_FRESH,
      OPT_NONE},
     command_clean},
    {"status",
     "[RUN]",
     "show the state of a run",
     "Shows the state of a run (default: the newest), its counts, its failed "
     "tasks, and those whose outcome is unknown. Works beside a live run. --state, "
     "--sort, --all, --limit and --offset list tasks, as --tasks does.",
     "  cairn status 3 --tasks\n  cairn status --can-resume && cairn resume",
     "0 2 5 6 10 75",
     0,
     1,
     {OPT_RUN, OPT_TASKS, OPT_ONLY_STATES, OPT_SORT_TASKS, OPT_ALL_TASKS,
      OPT_LIMIT_TASKS, OPT_OFFSET, OPT_TIMING, OPT_WAITING, OPT_CAN_RESUME, OPT_LINE,
      OPT_NONE},
     command_status},
    {"watch",
     "[RUN]",
     "follow a live run until it ends",
     "Shows the progress of a run (default: the newest): repainted on a terminal, "
     "one line per change elsewhere. The exit status shows how the run ended. "
     "Ctrl-C ends watching, not the run.",
     "  cairn watch 3",
     "0 1 2 5 7 8 10 75",
     0,
     1,
     {OPT_RUN, OPT_INTERVAL, OPT_NONE},
     command_watch},
    {"runs",
     "",
     "list runs",
     "Lists the runs in the store, newest first, and the total. States are running, "
     "waiting, interrupted, completed, failed, cancelled and undone.",
     "  cairn runs --workflow nightly-report --limit 20\n  cairn runs --state "
     "failed,interrupted",
     "0 2 5 10 75",
     0,
     0,
     {OPT_WORKFLOW, OPT_ONLY_STATES, OPT_LIMIT, OPT_OFFSET, OPT_SORT_RUNS, OPT_NONE},
     command_runs},
    {"log",
     "[TASK...]",
     "print the output of tasks",
     "Prints what an attempt (default: the newest) of a task wrote, stdout and stderr "
     "in "
     "one log in the order in which they were written, byte for byte (on a terminal "
     "through a pager, in its colors and with the last state of each line; other "
     "control characters are made visible). Of a task with `stderr: apart` its stdout "
     "goes to stdout, its stderr to stderr. Without TASK, lists the attempts of the "
     "run's failed tasks. "
     "Of "
     "several tasks (also groups, patterns with * and ?, --all, --failed) one after "
     "the "
     "other, each below its name; with --follow lines of all of them as they come.",
     "  cairn log compile --run 3 --attempt 2\n  cairn log 'test*' --failed",
     "0 2 5 10 75",
     0,
     OPERANDS_MAX,
     {OPT_RUN, OPT_ATTEMPT, OPT_STDOUT, OPT_STDERR, OPT_BYTES, OPT_FOLLOW,
      OPT_TIMESTAMPS, OPT_ALL_LOGS, OPT_FAILED, OPT_NONE},
     command_log},
    {"values",
     "[TASK [NAME]]",
     "show the values that tasks wrote to $CAIRN_OUTPUT",
     "Shows the values that completed tasks of a run (default: the newest) wrote to "
     "$CAIRN_OUTPUT, or got by `cairn complete --output`: of all tasks, or of one, a "
     "group, a part of it "
     "('train[lr=0.1]') or a pattern. With NAME that value alone, of a single task "
     "as it is.",
     "  cairn values review --run 3\n  verdict=$(cairn values review verdict)",
     "0 2 5 10 75",
     0,
     2,
     {OPT_RUN, OPT_NONE},
     command_values},
    {"artifact list",
     "[RUN]",
     "list the files that tasks left as artifacts",
     "Lists the artifacts of a run (default: the newest): the files that matched "
     "`artifacts` of a task when it completed, which are stored with the run; of each "
     "task those of its newest attempt that left some. Names are relative to the "
     "task's directory.",
     "  cairn artifact list\n  cairn artifact list 3 --task pack --json",
     "0 2 5 10 75",
     0,
     1,
     {OPT_RUN, OPT_ONLY_TASK, OPT_NONE},
     command_artifact_list},
    {"artifact get",
     "RUN [NAME]...",
     "put artifacts of a run into a directory",
     "Puts artifacts of a run below a directory, under their names, with mode and "
     "time. NAME is a path as `cairn artifact list` prints it, a directory, or a "
     "pattern as in .gitignore; without one, all. Each file is verified by its length "
     "and SHA-256 before it is put into place. Nothing is put if a file is there "
     "already, unless with --force, or if two tasks have the same name: give --task "
     "then. Links are put as links, and none is followed.",
     "  cairn artifact get 3 'dist/*.tar.gz' -o downloads\n"
     "  cairn artifact get 3 --task pack --force",
     "0 2 5 10 75",
     1,
     OPERANDS_MAX,
     {OPT_ONLY_TASK, OPT_ARTIFACT_DIR, OPT_REPLACE, OPT_NONE},
     command_artifact_get},
    {"diff",
     "[[FROM] TO]",
     "compare two runs",
     "Lists the tasks that only run TO (+) or only run FROM (-) has, and those (~) of "
     "which something differs: state, exit code, attempts, values, outputs, the "
     "definition, and the time where that differs by a second and by half. The last "
     "line sums it up. Without FROM: the run of the same workflow before TO; without "
     "TO: the newest run.",
     "  cairn diff\n  cairn diff 3 5 --json",
     "0 2 5 10 75",
     0,
     2,
     {OPT_RUN_STAT, OPT_NONE},
     command_diff},
    {"whence",
     "FILE",
     "show which task made a file, and from what",
     "Shows the run, task and attempt that made a file as a declared output, with the "
     "command and what it read, and whether that is still the same. The file is known "
     "by its place and by its content: one that was moved or copied is found, too; one "
     "that was changed since, or is gone, is named as such. Every result in the store "
     "is looked at.",
     "  cairn whence report.pdf\n  cairn whence --all part.3 --json",
     "0 2 5 10 75",
     1,
     1,
     {OPT_ALL_MAKERS, OPT_NONE},
     command_whence},
    {"shell",
     "[RUN] TASK [-- CMD...]",
     "open a shell, or run a command, as a task of a run",
     "Opens $SHELL, or runs CMD, with the environment, directory, params and values "
     "that the newest attempt of the task had, of a run (default: the newest). It is "
     "outside the run: nothing is recorded, nothing of the run changes. Secrets come "
     "from the environment or --secrets-fd; on a terminal those that are missing are "
     "asked for. The exit status is that of the shell or of CMD: 128 + n if signal n "
     "ended it, 127 if there is no such program, 126 if it cannot be executed.",
     "  cairn shell convert\n  cairn shell 3 'convert[part=3]' -- ./convert --debug\n"
     "  cairn shell convert --print >again.sh",
     "0 2 3 5 10 75 126 127",
     1,
     2,
     {OPT_RUN, OPT_ATTEMPT, OPT_PRINT, OPT_SECRETS_FD, OPT_NONE},
     command_shell},
    {"events",
     "[RUN]",
     "list what happened: every decision of runs, and what was done in sessions",
     "Lists the events of a run in the order in which they were decided: starts and "
     "ends of attempts, conditions, skips, commands of other processes, and the "
     "reasons. Without RUN: the events of all runs, of the store and of all debugging "
     "sessions, or with --session of one session. Events of a run or session with the "
     "same number became durable together. With --json, one object per line, each with "
     "its position; without RUN a line with one follows what was printed. --position "
     "continues behind it.",
     "  cairn events 3 --json\n  cairn events --follow --position now --json\n"
     "  cairn events --type task_finished --since '2 hours ago'",
     "0 2 5 10 75",
     0,
     1,
     {OPT_RUN, OPT_FOLLOW_RUN, OPT_MAINTENANCE, OPT_SESSION, OPT_POSITION,
      OPT_ONLY_TASK, OPT_EVENT_TYPE, OPT_SINCE, OPT_NONE},
     command_events},
    {"graph",
     "[FILE]",
     "print the graph of a workflow",
     "Prints tasks and what they need for Graphviz, for Mermaid or as JSON. The "
     "barrier of a group, which everything that needs the whole group waits for, "
     "is a node of its own. Without FILE or --run: the newest run's workflow.",
     "  cairn graph nightly.yaml | dot -Tsvg > nightly.svg\n"
     "  cairn graph --run 3 --fold --states --format mermaid",
     "0 2 3 5 10 75",
     0,
     1,
     {OPT_FORMAT, OPT_FOLD, OPT_STATES, OPT_PARAM, OPT_RUN, OPT_NONE},
     command_graph},
    {"init",
     "[FILE]",
     "write a commented starter workflow",
     "Writes a small workflow (default: cairn.yaml here) that runs as it is, with "
     "the other keys as comments. Never overwrites a file.",
     "  cairn init && cairn run",
     "0 2 10 75",
     0,
     1,
     {OPT_NONE},
     command_init},
    {"validate",
     "[FILE]",
     "check a workflow file",
     "Reads a workflow file (default: cairn.yaml here) and checks everything that "
     "can be checked without running it. Prints the number of tasks, or what is "
     "wrong, where, and how to fix it.",
     "  cairn validate nightly.yaml",
     "0 2 3 10 75",
     0,
     1,
     {OPT_PARAM, OPT_UNDO, OPT_NONE},
     command_validate},
    {"cancel",
     "[RUN]",
     "stop a run",
     "Asks the owner of a live run (default: the newest run) to stop, as Ctrl-C "
     "would. A run without an owner is marked cancelled; it can still be resumed.",
     "  cairn cancel 3",
     "0 2 5 10 75",
     0,
     1,
     {OPT_RUN, OPT_NONE},
     command_cancel},
    {"resolve",
     "RUN TASK done|failed|rerun",
     "decide the outcome of a task that must not run twice",
     "A task with `once: true` that was interrupted has an unknown outcome: cairn "
     "cannot know whether it did its work. Find out, then decide: done (its "
     "declared outputs must exist), failed, or rerun (it has done nothing). "
     "Continue with `cairn resume`.",
     "  cairn resolve 3 publish done",
     "0 2 5 10 75",
     3,
     3,
     {OPT_RUN, OPT_NONE},
     command_resolve},
    {"undo",
     "RUN [TASK]...",
     "undo completed tasks of a run",
     "Runs the `undo` of the named completed tasks, or of all that have one, one "
     "at a time in reverse order, with a checkpoint after each. Undone tasks run "
     "again when the run is resumed. If one fails, the others still run, and the "
     "exit status is 1. A first signal or `cairn cancel` lets all of them finish; a "
     "second signal ends them.",
     "  cairn undo 3\n  cairn undo 3 charge",
     "0 1 2 5 6 9 10 75",
     1,
     OPERANDS_MAX,
     {OPT_RUN, OPT_SECRETS_FD, OPT_NONE},
     command_undo},
};

static const struct command_group groups[] = {
    {"session", "start a debugging session, switch between them, undo"},
    {"hypothesis", "what may be the cause, and how likely each is"},
    {"evidence", "what supports or refutes a hypothesis"},
    {"belief", "what is taken to be true, and what rests on what"},
    {"gap", "what is not known yet, and how much it matters"},
    {"note", "anything else to remember"},
    {"command", "commands that `cairn exec` has run"},
    {"check", "commands that verify something, and what they said"},
    {"branch", "several lines of work in one session"},
};

static const struct command_part own_commands = {command_table,
                                                 COUNT_OF(command_table)};

const struct command_tables command_tables = {
    .parts = {&own_commands, &external_commands, &store_commands, &context_commands,
              &file_commands, &session_commands, &board_commands, &run_commands},
    .groups = groups,
    .n_groups = COUNT_OF(groups),
};
