/* SPDX-License-Identifier: MIT */
/* The commands that run others, and those about what was run. */
#include "cli/commands/commands.h"

#define EXITS "0 2 5 10 75"
#define FROM_STDIN " A text of - is read from stdin, up to 64 KiB."
#define LISTED OPT_AT, OPT_LIMIT, OPT_OFFSET

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

const struct command_part run_commands = {run_table,
                                          sizeof run_table / sizeof run_table[0]};
