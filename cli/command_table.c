/* SPDX-License-Identifier: MIT */
/* The table of commands, in the order of the help page. */
#include "cli/command.h"

#include <string.h>

/* How a run is carried out. */
#define TUNING                                                            \
    OPT_JOBS, OPT_ON_CHANGE, OPT_CHECK_OUTPUTS, OPT_CHECKPOINT, OPT_SYNC, \
        OPT_OUTPUT_LIMIT, OPT_KEEP

static const struct command commands[] = {
    {"run",
     "[FILE]",
     "run a workflow, or go on with its unfinished run",
     "Runs the tasks of a workflow file (default: cairn.yaml here) and puts down a "
     "checkpoint after each. If the newest run of the same workflow and parameters is "
     "unfinished, goes on with it; otherwise starts the next run. Ctrl-C stops "
     "politely, a second one at once. With --json, prints one event a line.",
     "  cairn run nightly.yaml --param day=2026-01-31 -j 4",
     "0 1 2 3 4 5 6 7 8 9 10 75",
     0,
     1,
     {OPT_PARAM, OPT_FRESH, TUNING, OPT_NO_WAIT, OPT_SECRETS_FD, OPT_NO_CHECKPOINT,
      OPT_NONE},
     command_run},
    {"resume",
     "[RUN]",
     "go on with a run, or from one of its checkpoints",
     "Goes on with a run (default: the newest). Finished, unchanged tasks do not run "
     "again. The workflow's file is read as it is now; if it was edited, what will run "
     "is printed first. With --from, a new run goes on from the checkpoint.",
     "  cairn resume 3\n  cairn resume --from workflow:42-9f3ac1d20b7e",
     "0 1 2 3 4 5 6 7 8 9 10 75",
     0,
     1,
     {OPT_FROM, TUNING, OPT_NO_WAIT, OPT_SECRETS_FD, OPT_NONE},
     command_resume},
    {"plan",
     "[FILE]",
     "tell what would run, and why",
     "Lists the tasks that `cairn run FILE`, or `cairn resume` of a run, would run, "
     "with "
     "the reason, and does nothing. Without FILE, --run or --from: the newest run.",
     "  cairn plan nightly.yaml\n  cairn plan --run 3 --all",
     "0 2 3 4 5 10 75",
     0,
     1,
     {OPT_PARAM, OPT_FRESH, OPT_RUN, OPT_FROM, OPT_ON_CHANGE, OPT_CHECK_OUTPUTS,
      OPT_ALL, OPT_SECRETS_FD, OPT_NONE},
     command_plan},
    {"explain",
     "TASK [FILE]",
     "tell why one task would run or not",
     "Gives the decision for one task, the reason in a sentence, what changed in it "
     "(old and new), and its last attempts. "
     "Without FILE or --run: the newest run.",
     "  cairn explain 'convert[part=3]' --run 3",
     "0 2 3 4 5 10 75",
     1,
     2,
     {OPT_PARAM, OPT_RUN, OPT_ON_CHANGE, OPT_CHECK_OUTPUTS, OPT_SECRETS_FD, OPT_NONE},
     command_explain},
    {"status",
     "[RUN]",
     "show how a run stands",
     "Shows the state of a run (default: the newest), its counts, its failed tasks, "
     "and "
     "those whose outcome is unknown. Works beside a live run.",
     "  cairn status 3 --tasks\n  cairn status --can-resume && cairn resume",
     "0 2 5 6 10 75",
     0,
     1,
     {OPT_TASKS, OPT_WAITING, OPT_CAN_RESUME, OPT_NONE},
     command_status},
    {"watch",
     "[RUN]",
     "follow a live run until it ends",
     "Shows a run (default: the newest) as it goes on: repainted on a terminal, a line "
     "for each change elsewhere. The exit status tells how the run ended. Ctrl-C ends "
     "the watching, not the run.",
     "  cairn watch 3",
     "0 1 2 5 7 8 10 75",
     0,
     1,
     {OPT_INTERVAL, OPT_NONE},
     command_watch},
    {"runs",
     "",
     "list runs",
     "Lists the runs in the store, newest first, and how many there are.",
     "  cairn runs --workflow nightly-report --limit 20",
     "0 2 5 10 75",
     0,
     0,
     {OPT_WORKFLOW, OPT_LIMIT, OPT_OFFSET, OPT_SORT_RUNS, OPT_NONE},
     command_runs},
    {"log",
     "[TASK]",
     "print the output of a task",
     "Prints what an attempt (default: the newest) of a task wrote: its stdout to "
     "stdout, its stderr to stderr, byte for byte (on a terminal, control characters "
     "are made visible). Without TASK, lists the attempts of the run's failed tasks.",
     "  cairn log compile --run 3 --stderr",
     "0 2 5 10 75",
     0,
     1,
     {OPT_RUN, OPT_ATTEMPT, OPT_STDOUT, OPT_STDERR, OPT_FOLLOW, OPT_NONE},
     command_log},
    {"events",
     "[RUN]",
     "list everything that was decided in a run",
     "Lists what happened in a run (default: the newest), in the order in which it was "
     "decided: starts and ends of attempts, conditions, skips, commands from outside, "
     "and why. Events with the same number became durable together. With --json, one "
     "object a line.",
     "  cairn events 3 --follow --json",
     "0 2 5 10 75",
     0,
     1,
     {OPT_FOLLOW_RUN, OPT_NONE},
     command_events},
    {"graph",
     "[FILE]",
     "print the graph of a workflow",
     "Prints tasks and what they need for Graphviz, for Mermaid or as JSON. The "
     "barrier "
     "of a group, which everything that needs the whole group waits for, is a node of "
     "its own. Without FILE or --run: the newest run's workflow.",
     "  cairn graph nightly.yaml | dot -Tsvg > nightly.svg",
     "0 2 3 5 10 75",
     0,
     1,
     {OPT_FORMAT, OPT_PARAM, OPT_RUN, OPT_NONE},
     command_graph},
    {"init",
     "[FILE]",
     "write a commented starter workflow",
     "Writes a small workflow (default: cairn.yaml here) that runs as it is, with the "
     "other keys beside it as comments. Never overwrites a file.",
     "  cairn init && cairn run",
     "0 2 10 75",
     0,
     1,
     {OPT_NONE},
     command_init},
    {"validate",
     "[FILE]",
     "check a workflow file",
     "Reads a workflow file (default: cairn.yaml here) and checks everything that can "
     "be "
     "checked without running it. Prints how many tasks it has, or what is wrong, "
     "where, "
     "and what to do.",
     "  cairn validate nightly.yaml",
     "0 2 3 10 75",
     0,
     1,
     {OPT_PARAM, OPT_UNDO, OPT_NONE},
     command_validate},
    {"cancel",
     "[RUN]",
     "stop a run",
     "Asks the owner of a live run (default: the newest run) to stop, as Ctrl-C would. "
     "A "
     "run that nobody owns is marked cancelled; it can still be resumed.",
     "  cairn cancel 3",
     "0 2 5 10 75",
     0,
     1,
     {OPT_NONE},
     command_cancel},
    {"resolve",
     "RUN TASK done|failed|rerun",
     "decide what became of a task that must not run twice",
     "A task with `once: true` that was interrupted is unknown: nobody can tell "
     "whether "
     "it did its work. Look, and say: it is done (its declared outputs must be there), "
     "it has failed, or it has done nothing and is to be run again. Then go on with "
     "`cairn resume`.",
     "  cairn resolve 3 publish done",
     "0 2 5 10 75",
     3,
     3,
     {OPT_NONE},
     command_resolve},
    {"undo",
     "RUN [TASK]...",
     "take back what completed tasks of a run did",
     "Runs the `undo` of completed tasks, or of all that have one, one at a time and "
     "in "
     "reverse order, with a checkpoint after each. Undone tasks run again when the run "
     "is resumed. If one fails, the others go on, and the exit status is 1.",
     "  cairn undo 3\n  cairn undo 3 charge",
     "0 1 2 5 6 9 10 75",
     1,
     OPERANDS_MAX,
     {OPT_SECRETS_FD, OPT_NONE},
     command_undo},
    {"next",
     "[RUN]",
     "list the external tasks that can be done now",
     "Lists what people or other programs can do in a run (default: the newest) now: "
     "its "
     "external tasks whose needs have ended and that nobody has claimed.",
     "  cairn next 3 --json",
     "0 2 5 10 75",
     0,
     1,
     {OPT_CLAIMED, OPT_NONE},
     command_next},
    {"claim",
     "RUN TASK",
     "take an external task",
     "Takes an external task for a time and prints a token, which `cairn complete` and "
     "`cairn fail` want. Of several who claim a task one gets it. When the lease is "
     "over the task is free again, and the token is good for nothing.",
     "  cairn claim 3 review --lease 30m",
     "0 2 5 6 10 75",
     2,
     2,
     {OPT_LEASE, OPT_HOLDER, OPT_NONE},
     command_claim},
    {"complete",
     "RUN TASK",
     "tell that an external task is done",
     "Ends an external task well, with values that later tasks can refer to. Needs no "
     "other process: what follows runs when the run goes on.",
     "  cairn complete 3 review --token \"$token\" --output verdict=approve",
     "0 2 3 5 6 10 75",
     2,
     2,
     {OPT_TOKEN, OPT_VALUE, OPT_NONE},
     command_complete},
    {"fail",
     "RUN TASK",
     "tell that an external task has failed",
     "Ends an external task as failed.",
     "  cairn fail 3 review --token \"$token\" --message 'rejected'",
     "0 2 3 5 6 10 75",
     2,
     2,
     {OPT_TOKEN, OPT_MESSAGE, OPT_NONE},
     command_fail},
    {"doctor",
     "",
     "look for trouble in the store and around it",
     "Checks the store and its surroundings, changes nothing, and says for each "
     "finding what to do. Exit status 5 if something is bad. With --repair, what is "
     "valid in a damaged store is saved into a new one, which takes its place; the "
     "damaged files are kept in it under damaged-TIME. Exit status 5 then if something "
     "was lost, 6 if a run is live.",
     "  cairn doctor\n  cairn doctor --repair",
     "0 2 5 6 10 75",
     0,
     0,
     {OPT_REPAIR, OPT_NONE},
     command_doctor},
    {"gc",
     "",
     "remove old runs, and content that nothing refers to",
     "Deletes stored content (output, results, definitions) that no run refers to any "
     "more. With --keep-runs or --older-than (with both: where both agree) whole runs "
     "that have ended go first, but never the newest of a workflow and its params, and "
     "none that a remaining run forks from. Works beside live runs; killed, the next "
     "call finishes it. The room is used again; the file does not shrink. Exit status "
     "5: with damaged checkpoints in the store no content is deleted.",
     "  cairn gc --keep-runs 100 --older-than 30d --dry-run",
     "0 2 5 10 75",
     0,
     0,
     {OPT_KEEP_RUNS, OPT_OLDER_THAN, OPT_DRY_RUN, OPT_NONE},
     command_gc},
    {"checkpoint list",
     "",
     "list checkpoints",
     "Lists checkpoints, newest first, and how many there are.",
     "  cairn checkpoint list --run 3 --limit 50",
     "0 2 5 10 75",
     0,
     0,
     {OPT_ONLY_RUN, OPT_WORKFLOW, OPT_LIMIT, OPT_OFFSET, OPT_SORT_CHECKPOINTS,
      OPT_NONE},
     command_checkpoint_list},
    {"checkpoint show",
     "CHECKPOINT",
     "show one checkpoint",
     "Verifies one checkpoint and shows it. A checkpoint is named by its id "
     "(workflow:42-9f3ac1d20b7e), by its number (42), or by 4 or more hex digits of "
     "its "
     "digest.",
     "  cairn checkpoint show 42 --tasks",
     "0 2 5 10 75",
     1,
     1,
     {OPT_TASKS, OPT_NONE},
     command_checkpoint_show},
    {"checkpoint timeline",
     "",
     "show runs, forks and their checkpoints as a tree",
     "Shows every run with its newest checkpoints; runs that fork from a checkpoint "
     "stand under the run they left. `head` marks the newest checkpoint of a run.",
     "  cairn checkpoint timeline --workflow nightly-report",
     "0 2 5 10 75",
     0,
     0,
     {OPT_WORKFLOW, OPT_LIMIT_PER_RUN, OPT_NONE},
     command_checkpoint_timeline},
    {"checkpoint verify",
     "[CHECKPOINT]",
     "check checkpoints for damage",
     "Checks one checkpoint, or every record, every link of the chains and all stored "
     "content. Names what is damaged; exit status 5 then. With --head, also what is "
     "missing, replaced or older than when the head was exported.",
     "  cairn checkpoint verify\n  cairn checkpoint verify --head /mnt/other/heads",
     "0 2 5 10 75",
     0,
     1,
     {OPT_HEAD, OPT_NONE},
     command_checkpoint_verify},
    {"checkpoint head",
     "[RUN]",
     "print the newest checkpoints, to compare with later",
     "Prints number, position and SHA-256 of the newest checkpoint of every run, or of "
     "one. Kept elsewhere, it shows (`cairn checkpoint verify --head FILE`) whether "
     "the newest checkpoints were removed or the store replaced by an older copy.",
     "  cairn checkpoint head >/mnt/other/heads",
     "0 2 5 10 75",
     0,
     1,
     {OPT_NONE},
     command_checkpoint_head},
    {"checkpoint delete",
     "CHECKPOINT",
     "delete one checkpoint",
     "Deletes one checkpoint for good. Asks on a terminal; elsewhere --yes is needed. "
     "Refused where others would be lost with it: see `cairn checkpoint prune`.",
     "  cairn checkpoint delete workflow:42-9f3ac1d20b7e --yes",
     "0 2 5 10 75",
     1,
     1,
     {OPT_YES, OPT_NONE},
     command_checkpoint_delete},
    {"checkpoint prune",
     "",
     "delete old checkpoints",
     "Deletes the checkpoints of every run, or of --run, but the newest ones. Only "
     "whole "
     "segments (a full checkpoint with the deltas that follow it) go, and none that a "
     "run forked from, so that more than --keep may stay.",
     "  cairn checkpoint prune --keep 20 --dry-run",
     "0 2 5 10 75",
     0,
     0,
     {OPT_ONLY_RUN, OPT_PRUNE_KEEP, OPT_DRY_RUN, OPT_NONE},
     command_checkpoint_prune},
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

const struct command *command_at(size_t i)
{
    return i < sizeof commands / sizeof commands[0] ? &commands[i] : NULL;
}

const struct command *command_find(const char *words)
{
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (strcmp(command->name, words) == 0)
            return command;
    }
    return NULL;
}

bool command_is_group(const char *word)
{
    const struct command *command;
    size_t n = strlen(word);
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (strncmp(command->name, word, n) == 0 && command->name[n] == ' ')
            return true;
    }
    return false;
}

bool command_takes(const struct command *command, enum option_id id)
{
    if (id < OPT_GLOBALS)
        return true;
    for (size_t i = 0; command->options[i] != OPT_NONE; i++) {
        if (command->options[i] == id)
            return true;
    }
    return false;
}
