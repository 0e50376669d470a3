/* SPDX-License-Identifier: MIT */
/* The commands about sessions and their branches, in the order of their help pages. */
#include "cli/commands/commands.h"

#define EXITS "0 2 5 10 75"

static const struct command session_table[] = {
    {"session start",
     "[NAME]",
     "start a session and make it the current one",
     "Starts a debugging session (default name: session-N) with an empty board and the "
     "branch main, and prints its name. It becomes the current one of the store, which "
     "commands use that name no other; with --no-switch it does not. $CAIRN_SESSION "
     "names the session of one terminal or agent, so that several can work side by "
     "side. A store is created here if there is none. In a project the checkpoints of "
     "the session hold the project's files: `cairn session config files off` ends "
     "that.",
     "  cairn session start slow-login\n"
     "  CAIRN_SESSION=$(cairn session start agent-2 --no-switch)",
     EXITS,
     0,
     1,
     {OPT_NO_SWITCH, OPT_NONE},
     command_session_start},
    {"session list",
     "",
     "list sessions",
     "Lists the sessions in the store, newest first, and the total.",
     "  cairn session list --limit 20",
     EXITS,
     0,
     0,
     {OPT_LIMIT, OPT_OFFSET, OPT_NONE},
     command_session_list},
    {"session show",
     "[SESSION]",
     "show a session, its counts and its board",
     "Shows a session (default: the current one): its branch, when it started, the "
     "time spent, and how many items, checkpoints, hypotheses that were confirmed or "
     "rejected, gaps that were filled, and commands and checks that were run there "
     "are. Then the board at a glance: hypotheses, the most likely first, open gaps, "
     "contradictions that remain (ten of each, and how many more there are) and the "
     "last checkpoint.",
     "  cairn session show slow-login",
     EXITS,
     0,
     1,
     {OPT_SESSION, OPT_NONE},
     command_session_show},
    {"session switch",
     "SESSION",
     "make a session the current one",
     "Makes a session, by its name or number, the current one of the store. One that "
     "had ended goes on.",
     "  cairn session switch slow-login",
     EXITS,
     1,
     1,
     {OPT_NONE},
     command_session_switch},
    {"session end",
     "[SESSION]",
     "end a session",
     "Ends a session (default: the current one). Nothing of it changes after that, and "
     "everything can still be looked at; `cairn session switch` goes on with it.",
     "  cairn session end slow-login",
     EXITS,
     0,
     1,
     {OPT_SESSION, OPT_NONE},
     command_session_end},
    {"session delete",
     "SESSION",
     "delete a session with all that it holds",
     "Deletes a session for good: its board, log, messages, branches, checkpoints and "
     "settings. Asks on a terminal; elsewhere --yes is required. Content that no other "
     "session refers to, such as its files, goes with the next `cairn gc`. Refused "
     "while "
     "the session is watched, a command of `cairn exec` runs in it, or a restore of "
     "its "
     "files is not finished.",
     "  cairn session delete slow-login\n"
     "  cairn session delete agent-7 --yes && cairn gc",
     EXITS,
     1,
     1,
     {OPT_YES, OPT_NONE},
     command_session_delete},
    {"session size",
     "[SESSION]",
     "show what takes room in the store",
     "Shows what the files, board, messages, log and records of a session (default: "
     "the "
     "current one) take: what they would if each checkpoint had a copy of its own "
     "(HOLDS), what is stored, compressed and each content once (STORED), and what of "
     "that other sessions refer to as well (SHARED). Then the newest checkpoints: what "
     "was stored with each that no older one refers to (ADDED), and what nothing else "
     "refers to (ALONE), which `cairn gc` can free once it is deleted. Then the files "
     "for "
     "which most is stored, with all contents that they have had. What is damaged is "
     "not counted: exit status 5.",
     "  cairn session size\n  cairn session size slow-login --limit 50 --json",
     EXITS,
     0,
     1,
     {OPT_LIMIT, OPT_SESSION, OPT_NONE},
     command_session_size},
    {"session config",
     "[NAME [VALUE]]",
     "show or change the settings of a session",
     "Without NAME, lists all settings; with NAME, prints its value; with VALUE, sets "
     "it. `interval` is how long after the last checkpoint the trigger "
     "significant-time "
     "makes one, `schedule` how often one is made anyway (a time such as 10m, or off), "
     "`redact` the names of environment variables, with commas between them, whose "
     "values are not stored with commands, checks and the environment (or off; "
     "those that workflows of the store declare as secrets never are), `environment` "
     "those that are stored with each checkpoint (NAME* for all that begin so; or "
     "off), `files` the directory whose "
     "files each checkpoint holds, but .git, .cairn and what .gitignore and "
     ".cairnignore files ignore (or off). `settle` is how long these are to rest "
     "before `cairn session watch` makes a checkpoint (or off). `hook.KIND` is a "
     "shell command "
     "that is run for each event of that kind with the event as JSON on stdin (or "
     "off), `hook-timeout` how long it may take. `size-budget` (a size such as 500M; "
     "2G "
     "at first; or off) warns once when "
     "the session's data grows past this size, and again after it was below it; "
     "nothing "
     "is deleted because of it. "
     "`keep-last` (1 to 10000), `keep-days`, `keep-hourly` (on) and `keep-tag` (tags "
     "with commas between them) are rules as those of `cairn checkpoint prune`, all "
     "off at first: what none of them keeps is deleted whenever a checkpoint is made, "
     "a "
     "few at a time. `keep-sessions` (days such as 30d, or off; of the whole store) is "
     "after how long without a change a session that the hook of an agent has made is "
     "deleted, when another one is made, or by `cairn gc`. "
     "`strategy` says when the work that an agent's hook reports is checkpointed "
     "(manual, per_prompt, per_tool_use, smart), `tools` which tools are destructive "
     "for smart. "
     "The others are the automatic triggers, on or off.",
     "  cairn session config schedule 10m\n  cairn session config contradiction off\n"
     "  cairn session config hook.checkpoint ./notify.sh\n"
     "  cairn session config keep-last 200",
     EXITS,
     0,
     2,
     {OPT_SESSION, OPT_NONE},
     command_session_config},
    {"session undo",
     "",
     "take back the last change of the board",
     "Takes back what the last command changed on the board of the session, with all "
     "that followed from it. Called again, it takes back the change before that one. "
     "Refused where a restore or work on another branch came later, which is named: "
     "`cairn checkpoint undo-restore` takes back a restore, which is then passed over. "
     "Checkpoints stay.",
     "  cairn session undo",
     EXITS,
     0,
     0,
     {OPT_SESSION, OPT_NONE},
     command_session_undo},
    {"session log",
     "",
     "list what was done in a session",
     "Lists what was done in the session, in order. What has the same turn was done by "
     "one command.",
     "  cairn session log --after 12 --json",
     EXITS,
     0,
     0,
     {OPT_SESSION, OPT_AFTER, OPT_NONE},
     command_session_log},
    {"session message add",
     "[TEXT|-]",
     "add a message to the session",
     "Adds what was said, by whom, to the end of the session's line of messages, and "
     "prints its number; - reads the text from stdin, up to 16 MiB. With --jsonl each "
     "line of stdin is a message: an object with `role` and `content`, or as a "
     "transcript has it. Secrets are taken out first. A message makes no checkpoint; "
     "every checkpoint says where the line ended then.",
     "  cairn session message add --role assistant --model m-1 --tokens-out 40 'It is "
     "the cache'",
     EXITS,
     0,
     1,
     {OPT_ROLE, OPT_MODEL, OPT_TOKENS_IN, OPT_TOKENS_OUT, OPT_JSON_LINES, OPT_SESSION,
      OPT_NONE},
     command_message_add},
    {"session message import",
     "FILE",
     "take over what is new in an agent's transcript",
     "Reads a transcript of an agent (JSON Lines; - for stdin) and adds the lines that "
     "the session does not have yet, so it can be called again and again while the "
     "file grows. A last line that is not complete is waited for; one that cannot be "
     "read is named, and kept as it is. Lines of more than 16 MiB are named and left "
     "out. Of an answer that is written in several lines the tokens count once.",
     "  cairn session message import ~/.claude/projects/p/session.jsonl",
     EXITS,
     1,
     1,
     {OPT_SESSION, OPT_NONE},
     command_message_import},
    {"session message list",
     "",
     "list the last messages of a session",
     "Lists the last messages of the session's present line, or with --at of the line "
     "as it was at a checkpoint, oldest first, with the tokens of the whole line.",
     "  cairn session message list --last 5 --at debug:42",
     EXITS,
     0,
     0,
     {OPT_AT, OPT_LAST, OPT_SESSION, OPT_NONE},
     command_message_list},
    {"session message show",
     "NUMBER",
     "print one message",
     "Prints a message of the session by its number, whole; with --raw its body as it "
     "is stored, which for a transcript is the line.",
     "  cairn session message show 12",
     EXITS,
     1,
     1,
     {OPT_RAW, OPT_SESSION, OPT_NONE},
     command_message_show},
    {"session watch",
     "[SESSION]",
     "print what is done in a session, and make checkpoints on time",
     "Prints what is done in the session from now on (--after: from that turn on), by "
     "whatever process, a line each; with --json one document a line. Meanwhile it "
     "makes "
     "the checkpoints that are due: scheduled ones (`cairn session config schedule`), "
     "and "
     "those after a significant time. Where the session has files (`cairn session "
     "config files DIR`), it watches them, too, and makes a checkpoint once nothing "
     "has changed in them for a while (`cairn session config settle 5s`; 2 s unless "
     "set), at the latest after ten times that. While nothing happens it sleeps. "
     "Ends when the session ends, or with Ctrl-C.",
     "  cairn session watch --json",
     EXITS,
     0,
     1,
     {OPT_SESSION, OPT_AFTER, OPT_NONE},
     command_session_watch},
    {"session hook",
     "",
     "record what an agent's hook reports, and checkpoint its work",
     "The call that the hook of an agent makes, with its JSON on stdin, as Claude Code "
     "documents it (SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, "
     "PreCompact, Stop, SessionEnd; others are passed over). The store is found from "
     "the agent's directory; its session is $CAIRN_SESSION, or agent- and the first 8 "
     "digits of its session_id, which is started with the files of the project. Takes "
     "what is new in the transcript, and makes a checkpoint where the setting "
     "`strategy` asks for one and something has changed. The exit status is always 0, "
     "and nothing is blocked: errors go to stderr, to the user of the "
     "agent, and by `cairn doctor`.",
     "  cairn session hook <event.json",
     "0",
     0,
     0,
     {OPT_STRATEGY, OPT_TIME_LIMIT, OPT_SESSION, OPT_NONE},
     command_session_hook},
    {"session install-hooks",
     "",
     "have Claude Code call `cairn session hook`",
     "Enters `cairn session hook` in .claude/settings.json of the project (the "
     "directory in which the store lies; one is made here if there is none). What else "
     "is in the file keeps its bytes; one that cannot be read is left as it is, and "
     "named. Called again it changes nothing, or the strategy.",
     "  cairn session install-hooks\n"
     "  cairn session install-hooks --strategy per_prompt --print",
     "0 2 4 10 75",
     0,
     0,
     {OPT_STRATEGY, OPT_PRINT_HOOKS, OPT_REMOVE_HOOKS, OPT_NONE},
     command_install_hooks},
    {"session export",
     "FILE",
     "write a session with its checkpoints into a file",
     "Writes the session, or all of the store, with the present state and every "
     "checkpoint into a file that `cairn session import` reads (- for stdout). What is "
     "damaged is left out and named, with exit status 5.",
     "  cairn session export slow-login.cairn\n"
     "  cairn session export --all - | ssh build cairn session import -",
     EXITS,
     1,
     1,
     {OPT_ALL_SESSIONS, OPT_SESSION, OPT_NONE},
     command_session_export},
    {"session import",
     "FILE",
     "take sessions from a file into this store",
     "Makes the sessions of a file that `cairn session export` wrote (- for stdin). "
     "Prints their names. Everything is verified first: what is damaged or not known "
     "is refused and named, the rest is imported, and the exit status is 5. What is "
     "here already is skipped; of a session that was imported before, what is new is "
     "added to it, or to a new session if it was changed here since. Checkpoints that "
     "have another number here are named.",
     "  cairn session import slow-login.cairn",
     EXITS,
     1,
     1,
     {OPT_NONE},
     command_session_import},
    {"branch start",
     "NAME",
     "begin a branch and switch to it",
     "Begins a branch of the session with its present state, or with that of a "
     "checkpoint, and goes on with it. The branch before keeps its state. What other "
     "sessions of the directory have changed since that checkpoint stays, as with "
     "`cairn checkpoint restore`.",
     "  cairn branch start without-cache --from debug:42",
     EXITS,
     1,
     1,
     {OPT_BRANCH_FROM, OPT_DRY_RUN, OPT_RESTORE_ALL, OPT_SESSION, OPT_NONE},
     command_branch_start},
    {"branch list",
     "",
     "list the branches of a session",
     "Lists the branches of the session: the checkpoint where each begins, its newest "
     "one, and why it was abandoned.",
     "  cairn branch list",
     EXITS,
     0,
     0,
     {OPT_SESSION, OPT_NONE},
     command_branch_list},
    {"branch switch",
     "NAME",
     "go on with another branch",
     "Makes a checkpoint of the present state, if it has changed, and takes up the "
     "state of the other branch, with its files. What other sessions of the directory "
     "have changed since its newest checkpoint stays, and is named, by the rule of "
     "`cairn checkpoint restore`; --all takes all files of the branch up. To go back, "
     "switch to the branch before.",
     "  cairn branch switch main --dry-run\n  cairn branch switch main",
     EXITS,
     1,
     1,
     {OPT_DRY_RUN, OPT_RESTORE_ALL, OPT_SESSION, OPT_NONE},
     command_branch_switch},
    {"branch merge",
     "NAME",
     "take the changes of a branch over into the current one",
     "Takes over what was changed on the branch since it and the current one parted, "
     "item by item, and marks it as merged. What only one of the two has changed is as "
     "that one has it; --take says what becomes of items that both have changed, whose "
     "ids are printed. The state before is in a checkpoint. Files are not merged: "
     "those "
     "that the branch had changed and that differ are named, with a command that takes "
     "them over.",
     "  cairn branch merge without-cache --take theirs",
     EXITS,
     1,
     1,
     {OPT_MERGE, OPT_SESSION, OPT_NONE},
     command_branch_merge},
    {"branch abandon",
     "NAME",
     "give a branch up",
     "Marks a branch, but not the current one, as abandoned, with the reason "
     "(required). Its checkpoints stay.",
     "  cairn branch abandon without-cache --reason 'the cache is not involved'",
     EXITS,
     1,
     1,
     {OPT_REASON, OPT_SESSION, OPT_NONE},
     command_branch_abandon},
};

const struct command_part session_commands = {
    session_table, sizeof session_table / sizeof session_table[0]};
