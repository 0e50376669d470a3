/* SPDX-License-Identifier: MIT */
/* The commands about sessions, branches, boards and contexts, in the order of their
 * help pages. */
#include "cli/commands/commands.h"

#include "base/str.h"

/* The commands about sessions and their branches, in the order of their help pages. */

#define EXITS "0 2 5 10 75"

static const struct command session_table[] = {
    {"session start",
     "[NAME]",
     "start a session and make it the current one",
     "Starts a debugging session (default name: session-N) with an empty board and "
     "the branch main, and prints its name. Commands without --session use the new "
     "session; --no-switch keeps the current one. $CAIRN_SESSION names the session of "
     "one terminal or agent, so that several can work side by side. If there is no "
     "store, one is created here. In a project the checkpoints of the session hold "
     "the project's files: `cairn session config files off` ends that.",
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
     "had ended continues.",
     "  cairn session switch slow-login",
     EXITS,
     1,
     1,
     {OPT_NONE},
     command_session_switch},
    {"session end",
     "[SESSION]",
     "end a session",
     "Ends a session (default: the current one). It can still be read, but not "
     "changed; `cairn session switch` continues it.",
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
     "show what takes space in the store",
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
     "is deleted by this. "
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
     "Refused after a restore or work on another branch, which the message names: "
     "`cairn checkpoint undo-restore` takes back a restore, and then undo continues "
     "before it. Checkpoints stay.",
     "  cairn session undo",
     EXITS,
     0,
     0,
     {OPT_SESSION, OPT_NONE},
     command_session_undo},
    {"session log",
     "",
     "list what was done in a session",
     "Lists what was done in the session, in order. Lines with the same turn come "
     "from one command.",
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
     "transcript has it. Secrets are removed first. A message makes no checkpoint; "
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
     "Reads a transcript of an agent (JSON Lines; - for stdin) and adds the lines "
     "that the session does not have yet, so it can be called again and again while "
     "the file grows. An incomplete last line is read by a later call. A line that "
     "cannot be read is reported, and stored as it is; a line over 16 MiB is reported "
     "and left out. If an answer has several lines, its tokens count once.",
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
     "Prints what any process does in the session from now on (--after: from that "
     "turn on), one line each; with --json one document a line. Meanwhile it makes "
     "the checkpoints that are due: scheduled ones (`cairn session config schedule`), "
     "and those after a significant time. If the session has files (`cairn session "
     "config files DIR`), it watches them, too, and makes a checkpoint once they have "
     "not changed for a while (`cairn session config settle 5s`; 2 s unless set), at "
     "the latest after ten times that. It sleeps while nothing happens. Ends when the "
     "session ends, or with Ctrl-C.",
     "  cairn session watch --json",
     EXITS,
     0,
     1,
     {OPT_SESSION, OPT_AFTER, OPT_NONE},
     command_session_watch},
    {"session hook",
     "",
     "record what an agent's hook reports, and checkpoint its work",
     "The call that the hook of an agent makes, with its JSON on stdin, as Claude "
     "Code documents it (SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, "
     "PreCompact, Stop, SessionEnd; others are passed over). The store is found from "
     "the agent's directory; its session is $CAIRN_SESSION, or agent- and the first 8 "
     "digits of its session_id, which is started with the files of the project. It "
     "imports what is new in the transcript, and makes a checkpoint if the setting "
     "`strategy` asks for one and something has changed. The exit status is always 0, "
     "so the agent is never blocked: errors go to stderr, to the user of the agent, "
     "and to `cairn doctor`.",
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
     "directory in which the store lies; one is made here if there is none). The rest "
     "of the file keeps its bytes. A file that cannot be read is reported and not "
     "changed. Called again, it changes nothing but the strategy.",
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
     "Prints their names. Everything is verified first: damaged or unknown parts are "
     "refused and reported, the rest is imported, and the exit status is 5. What is "
     "here already is skipped. If a session was imported before, what is new is added "
     "to it, or to a new session if it was changed here since. Checkpoints that get "
     "another number here are listed.",
     "  cairn session import slow-login.cairn",
     EXITS,
     1,
     1,
     {OPT_NONE},
     command_session_import},
    {"branch start",
     "NAME",
     "begin a branch and switch to it",
     "Begins a branch of the session from its present state, or from a checkpoint, "
     "and continues on it. The previous branch keeps its state. Changes that other "
     "sessions of the directory have made since that checkpoint stay, as with `cairn "
     "checkpoint restore`.",
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
     "continue another branch",
     "Makes a checkpoint of the present state, if it has changed, and takes up the "
     "state of the other branch, with its files. Changes that other sessions of the "
     "directory have made since its newest checkpoint stay, and are listed, as with "
     "`cairn checkpoint restore`; --all restores all files of the branch. To go back, "
     "switch to the previous branch.",
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
     "item by item, and marks the branch as merged. An item that only one of the two "
     "has changed keeps that change; --take decides about items that both have "
     "changed, whose ids are printed. A checkpoint keeps the state before. Files are "
     "not merged: files that the branch had changed and that differ are listed, with "
     "a command that takes them over.",
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

const struct command_part session_commands = {session_table, COUNT_OF(session_table)};

/* The commands about the items of a board, in the order of their help pages. What they
 * do is in item_command.c, under the same names. */

#define FROM_STDIN " A text of - is read from stdin, up to 64 KiB."
#define LISTED OPT_AT, OPT_LIMIT, OPT_OFFSET

/* Those that are the same for every kind. `the` is "a hypothesis", `id` "h1". */
#define SHOW_ROW(group, the, id)                                                  \
    {                                                                             \
        group " show", "ID", "show " the,                                         \
            "Shows every field of " the ", as it is now or was at a checkpoint.", \
            "  cairn " group " show " id " --at debug:42", EXITS, 1, 1,           \
            {OPT_AT, OPT_SESSION, OPT_NONE}, command_item                         \
    }

#define REMOVE_ROW(name, the, id)                                                      \
    {                                                                                  \
        name, "ID", "remove " the,                                                     \
            "Removes " the                                                             \
            ". Refused while others refer to it; they are named. Its number is never " \
            "used again.",                                                             \
            "  cairn " name " " id, EXITS, 1, 1, {OPT_SESSION, OPT_NONE}, command_item \
    }

static const struct command board_table[] = {
    {"hypothesis add",
     "TEXT",
     "propose a hypothesis",
     "Adds a hypothesis to the board, with the status proposed, and prints its id. Its "
     "confidence is the prior until there is evidence." FROM_STDIN,
     "  cairn hypothesis add 'The cache is stale' --prior 0.3 --tag cache\n"
     "  id=$(cairn hypothesis add - <statement)",
     EXITS,
     1,
     1,
     {OPT_PRIOR, OPT_TAG, OPT_SESSION, OPT_NONE},
     command_item},
    {"hypothesis list",
     "",
     "list hypotheses",
     "Lists hypotheses with status, confidence and the number of pieces of evidence "
     "for (+) and against (-) each, newest first, and the total.",
     "  cairn hypothesis list --status testing",
     EXITS,
     0,
     0,
     {OPT_ONLY_STATUS, OPT_ONLY_TAG, LISTED, OPT_SORT_ITEMS, OPT_SESSION, OPT_NONE},
     command_item},
    SHOW_ROW("hypothesis", "a hypothesis", "h1"),
    {"hypothesis test",
     "ID",
     "begin to test a hypothesis",
     "Marks a proposed hypothesis as being tested.",
     "  cairn hypothesis test h1",
     EXITS,
     1,
     1,
     {OPT_SESSION, OPT_NONE},
     command_item},
    {"hypothesis confirm",
     "ID",
     "confirm a hypothesis",
     "Marks a hypothesis that is being tested as confirmed, and makes a checkpoint, "
     "unless `cairn session config` says otherwise.",
     "  cairn hypothesis confirm h1 --reason 'gone once the cache was emptied'",
     EXITS,
     1,
     1,
     {OPT_REASON, OPT_SESSION, OPT_NONE},
     command_item},
    {"hypothesis reject",
     "ID",
     "reject a hypothesis",
     "Marks a hypothesis as rejected, unless it was confirmed or rejected before, and "
     "makes a checkpoint, unless `cairn session config` says otherwise.",
     "  cairn hypothesis reject h2 --reason 'the clock is right'",
     EXITS,
     1,
     1,
     {OPT_REASON, OPT_SESSION, OPT_NONE},
     command_item},
    {"hypothesis update",
     "ID",
     "change a hypothesis",
     "Changes fields of a hypothesis. An empty list of tags takes the tags away.",
     "  cairn hypothesis update h1 --prior 0.7 --tag cache,login",
     EXITS,
     1,
     1,
     {OPT_STATEMENT, OPT_PRIOR, OPT_TAG, OPT_SESSION, OPT_NONE},
     command_item},
    REMOVE_ROW("hypothesis remove", "a hypothesis", "h1"),

    {"evidence add",
     "HYPOTHESIS TEXT",
     "add evidence for or against a hypothesis",
     "Adds evidence to a hypothesis and prints its id. --strength is required. The "
     "confidence of the hypothesis follows by the rule of Bayes; its gaps close "
     "when it rises over 0.9." FROM_STDIN,
     "  cairn evidence add h1 'wrong only on hosts with a warm cache' --strength 0.8 "
     "--kind experiment",
     EXITS,
     2,
     2,
     {OPT_STRENGTH, OPT_EVIDENCE_KIND, OPT_SOURCE, OPT_SESSION, OPT_NONE},
     command_item},
    {"evidence list",
     "",
     "list evidence",
     "Lists evidence, newest first, and the total.",
     "  cairn evidence list --hypothesis h1",
     EXITS,
     0,
     0,
     {OPT_ONLY_HYPOTHESIS, LISTED, OPT_SORT_ITEMS, OPT_SESSION, OPT_NONE},
     command_item},
    SHOW_ROW("evidence", "a piece of evidence", "e1"),
    {"evidence update",
     "ID",
     "change a piece of evidence",
     "Changes fields of a piece of evidence; the confidence of its hypothesis is "
     "computed anew. An empty --source takes the source away.",
     "  cairn evidence update e1 --strength 0.2",
     EXITS,
     1,
     1,
     {OPT_TEXT, OPT_STRENGTH, OPT_EVIDENCE_KIND, OPT_SOURCE, OPT_SESSION, OPT_NONE},
     command_item},
    REMOVE_ROW("evidence remove", "a piece of evidence", "e1"),

    {"belief add",
     "TEXT",
     "note what is taken to be true",
     "Adds a belief and prints its id. Two beliefs that say the opposite of one "
     "subject (the same --claim, once with --denied), both with a confidence over 0.7, "
     "contradict each other; that is reported." FROM_STDIN,
     "  cairn belief add 'The cache was cold' --confidence 0.9 --subject cache --claim "
     "warm --denied",
     EXITS,
     1,
     1,
     {OPT_CONFIDENCE, OPT_SUBJECT, OPT_CLAIM, OPT_DENIED, OPT_TAG, OPT_SESSION,
      OPT_NONE},
     command_item},
    {"belief list",
     "",
     "list beliefs",
     "Lists beliefs with their confidence, newest first, and the total.",
     "  cairn belief list --at debug:42",
     EXITS,
     0,
     0,
     {OPT_ONLY_TAG, LISTED, OPT_SORT_ITEMS, OPT_SESSION, OPT_NONE},
     command_item},
    SHOW_ROW("belief", "a belief", "b1"),
    {"belief update",
     "ID",
     "change a belief",
     "Changes fields of a belief. An empty --subject, --claim or --tag takes that "
     "away.",
     "  cairn belief update b1 --confidence 0.4",
     EXITS,
     1,
     1,
     {OPT_STATEMENT, OPT_CONFIDENCE, OPT_SUBJECT, OPT_CLAIM, OPT_SET_DENIED, OPT_TAG,
      OPT_SESSION, OPT_NONE},
     command_item},
    REMOVE_ROW("belief remove", "a belief", "b1"),
    {"belief depend",
     "FROM TO",
     "record that one belief rests on another",
     "Records that the belief FROM depends on the belief TO, and prints the id of the "
     "dependency. A dependency that would close a circle is refused; the message "
     "shows the whole circle. --kind=contradicts says that the two cannot both be "
     "true.",
     "  cairn belief depend b2 b1 --kind=measurement",
     EXITS,
     2,
     2,
     {OPT_DEPENDENCY_KIND, OPT_SESSION, OPT_NONE},
     command_item},
    {"belief dependencies",
     "",
     "list the dependencies between beliefs",
     "Lists which belief depends on which, newest first, and the total.",
     "  cairn belief dependencies",
     EXITS,
     0,
     0,
     {LISTED, OPT_SORT_ITEMS, OPT_SESSION, OPT_NONE},
     command_item},
    REMOVE_ROW("belief undepend", "a dependency between beliefs", "d1"),
    {"belief cascade",
     "ID CONFIDENCE",
     "change a confidence, and with it what depends on the belief",
     "Gives a belief another confidence (0 to 1), and those that depend on it, however "
     "far away, that confidence times 0.95 for every step, but not less than 0.1. With "
     "--preview nothing is changed: it shows what would become of each, and a token. "
     "With --token it is done only if it is still what was shown. `cairn session undo` "
     "undoes the whole cascade.",
     "  cairn belief cascade b1 0.3 --preview\n"
     "  cairn belief cascade b1 0.3 --token 1b0e...",
     EXITS,
     2,
     2,
     {OPT_PREVIEW, OPT_PAGE, OPT_PREVIEWED, OPT_SESSION, OPT_NONE},
     command_belief_cascade},

    {"gap add",
     "TEXT",
     "note what is not known yet",
     "Adds a knowledge gap and prints its id. One that belongs to a hypothesis closes "
     "by itself when the confidence of that rises over 0.9; one that is added later "
     "stays open." FROM_STDIN,
     "  cairn gap add 'Which hosts have a warm cache?' --criticality high "
     "--hypothesis h1",
     EXITS,
     1,
     1,
     {OPT_GAP_KIND, OPT_CRITICALITY, OPT_HYPOTHESIS, OPT_SESSION, OPT_NONE},
     command_item},
    {"gap list",
     "",
     "list open gaps, the most important first",
     "Lists the open gaps by their score, the one that matters most now first, and the "
     "total. With --all also those that are filled or closed, newest first.",
     "  cairn gap list --limit 3",
     EXITS,
     0,
     0,
     {OPT_ALL_GAPS, LISTED, OPT_SESSION, OPT_NONE},
     command_item},
    SHOW_ROW("gap", "a gap", "g1"),
    {"gap fill",
     "ID TEXT",
     "record the answer to a gap",
     "Fills an open gap with what was found out. A checkpoint is made, unless `cairn "
     "session config` says otherwise." FROM_STDIN,
     "  cairn gap fill g1 'web-3 and web-4: both were restarted on Monday'",
     EXITS,
     2,
     2,
     {OPT_SESSION, OPT_NONE},
     command_item},
    {"gap update",
     "ID",
     "change a gap",
     "Changes fields of a gap. An empty --hypothesis takes it away from its "
     "hypothesis.",
     "  cairn gap update g1 --criticality low",
     EXITS,
     1,
     1,
     {OPT_TEXT, OPT_GAP_KIND, OPT_CRITICALITY, OPT_HYPOTHESIS, OPT_SESSION, OPT_NONE},
     command_item},
    REMOVE_ROW("gap remove", "a gap", "g1"),

    {"note add",
     "TEXT",
     "write a note",
     "Adds a note and prints its id." FROM_STDIN,
     "  cairn note add 'both hosts run 2.4.1' --about h1 --tag hosts\n"
     "  dmesg | tail | cairn note add -",
     EXITS,
     1,
     1,
     {OPT_SEVERITY, OPT_TAG, OPT_ABOUT, OPT_SESSION, OPT_NONE},
     command_item},
    {"note list",
     "",
     "list notes",
     "Lists notes, newest first, and the total.",
     "  cairn note list --about h1",
     EXITS,
     0,
     0,
     {OPT_ONLY_TAG, OPT_ONLY_ABOUT, LISTED, OPT_SORT_ITEMS, OPT_SESSION, OPT_NONE},
     command_item},
    SHOW_ROW("note", "a note", "n1"),
    {"note update",
     "ID",
     "change a note",
     "Changes fields of a note. An empty --tag or --about takes that away.",
     "  cairn note update n1 --severity warning",
     EXITS,
     1,
     1,
     {OPT_TEXT, OPT_SEVERITY, OPT_TAG, OPT_ABOUT, OPT_SESSION, OPT_NONE},
     command_item},
    REMOVE_ROW("note remove", "a note", "n1"),
};

const struct command_part board_commands = {board_table, COUNT_OF(board_table)};

/* The commands that run others, and those about what was run. */

static const struct command run_table[] = {
    {"exec",
     "-- CMD [ARG...]",
     "run a command and record it in the session",
     "Runs a command with the terminal, stdin and outputs of cairn, and records it as "
     "an "
     "item of the session: the command, its directory, its exit code, how long it "
     "took, "
     "and the last 4 KiB of both outputs, without secrets. The exit status is that of "
     "the command: 128+n if signal n ended it, 127 if it was not found, 126 if it "
     "cannot be executed. With --json its output goes to stderr, and stdout has a "
     "document. `cairn command list` lists what was run.",
     "  cairn exec -- make test\n  cairn exec -- sh -c 'dmesg | tail'",
     EXITS " 126 127",
     0,
     0,
     {OPT_SESSION, OPT_NONE},
     command_exec},
    {"command list",
     "",
     "list commands that were run",
     "Lists the commands that `cairn exec` has run in the session, newest first, and "
     "the total.",
     "  cairn command list --limit 3",
     EXITS,
     0,
     0,
     {LISTED, OPT_SORT_ITEMS, OPT_SESSION, OPT_NONE},
     command_item},
    {"command show",
     "ID",
     "show a command that was run",
     "Shows every field of a command that was run, with the end of its outputs.",
     "  cairn command show c1",
     EXITS,
     1,
     1,
     {OPT_AT, OPT_SESSION, OPT_NONE},
     command_item},
    {"command remove",
     "ID",
     "remove a command that was run",
     "Removes a command from the board. Its number is never used again; checkpoints "
     "that have it keep it.",
     "  cairn command remove c1",
     EXITS,
     1,
     1,
     {OPT_SESSION, OPT_NONE},
     command_item},

    {"check add",
     "TEXT",
     "add a command that verifies something",
     "Adds a check and prints its id. TEXT says what it verifies, --run (required) is "
     "the shell command that does it: exit 0 means that it holds. With --hypothesis "
     "each run adds a piece of evidence to that. The command is stored as it is: take "
     "secrets from variables of the environment." FROM_STDIN,
     "  cairn check add 'the login takes less than a second' --run 'sh measure.sh "
     "1000' "
     "--hypothesis h1 --timeout 20s",
     EXITS,
     1,
     1,
     {OPT_CHECK_COMMAND, OPT_HYPOTHESIS, OPT_CHECK_TIMEOUT, OPT_RETRIES, OPT_SESSION,
      OPT_NONE},
     command_item},
    {"check list",
     "",
     "list checks and their last results",
     "Lists checks with the status of their last run, newest first, and the total.",
     "  cairn check list --status failed",
     EXITS,
     0,
     0,
     {OPT_CHECK_STATUS, OPT_ONLY_HYPOTHESIS, LISTED, OPT_SORT_ITEMS, OPT_SESSION,
      OPT_NONE},
     command_item},
    {"check show",
     "ID",
     "show a check",
     "Shows every field of a check, with the end of what its last run wrote.",
     "  cairn check show v1",
     EXITS,
     1,
     1,
     {OPT_AT, OPT_SESSION, OPT_NONE},
     command_item},
    {"check run",
     "ID...|--all",
     "run checks and record what they say",
     "Runs checks, one after the other, in the current directory, and prints how each "
     "ended. An attempt that takes longer than the check's --timeout is ended with all "
     "of its process group; one that fails or takes too long is made again, after a "
     "pause, as often as the check has --retries. A check that passed or failed adds a "
     "piece of evidence (1 or -1) to its hypothesis. A checkpoint is made, unless "
     "`cairn session config` says otherwise.",
     "  cairn check run v1 v2\n  cairn check run --all",
     "0 1 2 5 7 10 75",
     0,
     OPERANDS_MAX,
     {OPT_ALL_CHECKS, OPT_SESSION, OPT_NONE},
     command_check_run},
    {"check update",
     "ID",
     "change a check",
     "Changes fields of a check. With another command or time limit it has no result "
     "until it runs again. An empty --hypothesis takes it away from its hypothesis.",
     "  cairn check update v1 --timeout 2m",
     EXITS,
     1,
     1,
     {OPT_TEXT, OPT_CHECK_COMMAND, OPT_HYPOTHESIS, OPT_CHECK_TIMEOUT, OPT_RETRIES,
      OPT_SESSION, OPT_NONE},
     command_item},
    {"check remove",
     "ID",
     "remove a check",
     "Removes a check. The evidence that its runs have added stays. Its number is "
     "never "
     "used again.",
     "  cairn check remove v1",
     EXITS,
     1,
     1,
     {OPT_SESSION, OPT_NONE},
     command_item},
};

const struct command_part run_commands = {run_table, COUNT_OF(run_table)};

/* The commands that keep what an agent knows, and give it back. */

static const struct command context_table[] = {
    {"checkpoint create",
     "[MESSAGE]",
     "make a checkpoint of a debugging session",
     "Stores the whole state of the session, and prints the id of the checkpoint. "
     "MESSAGE says what it is for (required, unless there is a --summary, or it is "
     "made "
     "for another --trigger); - is read from stdin. One that is made for another "
     "trigger is not stored where nothing has changed since the last checkpoint, or "
     "where `cairn session config` says so; the exit status is 0 then, too.\n"
     "--summary, --description, --context, --state, --tokens and --threshold keep what "
     "an agent needs to continue with an empty context, for `cairn checkpoint resume`. "
     "Secrets are removed from texts first, with a warning; in a state, in keys, tags "
     "and JSON they are refused. With --threshold one is made only "
     "where "
     "the usage reaches 25, 50, 75 or 90 percent for the first time in the session. "
     "Where git is, its branch and commit are kept, too. Where there is no store, one "
     "is made, and where there is no session to write in, one is started.",
     "  cairn checkpoint create 'before the upgrade' --tag risky\n"
     "  cairn checkpoint create --summary 'the cache is stale' --context next='run the "
     "tests'",
     EXITS,
     0,
     1,
     {OPT_SUMMARY, OPT_DESCRIPTION, OPT_CONTEXT, OPT_STATE, OPT_TOKENS, OPT_THRESHOLD,
      OPT_TAG, OPT_TRIGGER, OPT_SESSION, OPT_CONTEXTD, OPT_NONE},
     command_checkpoint_create},
    {"checkpoint resume",
     "[CHECKPOINT]",
     "print what an agent needs to continue",
     "Prints what `cairn checkpoint create` was given to continue with: the summary; "
     "by "
     "default also the context, with branch and commit of git; with --level full also "
     "the description, the full state, the board and the last 10 messages. Behind it, "
     "about how many tokens that is (its length / 4). Without CHECKPOINT, the newest "
     "one of the session that has a context. A level that a checkpoint does not have "
     "is "
     "exit status 10.",
     "  cairn checkpoint resume\n"
     "  cairn checkpoint resume debug:42 --level full",
     EXITS,
     0,
     1,
     {OPT_LEVEL, OPT_SESSION, OPT_CONTEXTD, OPT_NONE},
     command_checkpoint_resume},
};

const struct command_part context_commands = {context_table, COUNT_OF(context_table)};
