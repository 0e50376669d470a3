/* SPDX-License-Identifier: MIT */
/* The table of commands, in the order of the help page; those of debugging sessions are
 * in cli/sessions/ and cli/files/. */
#include "cli/commands/table.h"

#include "cli/commands/run_commands.h"
#include "cli/commands/store_commands.h"
#include "cli/files/commands.h"
#include "cli/sessions/commands.h"
#include "cli/sessions/tables.h"
#include "cli/tasks/external_table.h"

/* How a run is carried out. */
#define TUNING                                                                 \
    OPT_JOBS, OPT_ON_CHANGE, OPT_CHECK_OUTPUTS, OPT_CHECKPOINT, OPT_SYNC,      \
        OPT_OUTPUT_LIMIT, OPT_KEEP, OPT_KEEP_GOING, OPT_STOP, OPT_SHOW_OUTPUT, \
        OPT_VERBOSE, OPT_HEARTBEAT

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
      OPT_FROM, OPT_ON_CHANGE, OPT_CHECK_OUTPUTS, OPT_ALL, OPT_COMMANDS, OPT_SECRETS_FD,
      OPT_NONE},
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
     {OPT_PARAM, OPT_RUN, OPT_ON_CHANGE, OPT_CHECK_OUTPUTS, OPT_SECRETS_FD, OPT_NONE},
     command_explain},
    {"clean",
     "--stale [FILE]",
     "remove outputs of tasks that are gone or skipped now",
     "Lists the files that tasks made which the workflow does not have any more (a "
     "member of a group, a task that was renamed), in any run, asks, and removes "
     "them. Only declared outputs that still have the recorded content are removed, "
     "and none that a task of the workflow makes, reads by name or is made of "
     "(foreach), nor that another workflow of the store has made; the others are "
     "named. Without FILE: cairn.yaml, else the workflow of the newest run. "
     "Exit status 6: a run of the workflow is at work.",
     "  cairn clean --stale --dry-run\n  cairn clean --stale nightly.yaml --yes",
     "0 2 3 5 6 10 75",
     0,
     1,
     {OPT_STALE, OPT_DRY_RUN, OPT_YES, OPT_PARAM, OPT_NONE},
     command_clean},
    {"status",
     "[RUN]",
     "show the state of a run",
     "Shows the state of a run (default: the newest), its counts, its failed "
     "tasks, and those whose outcome is unknown. Works beside a live run. --state, "
     "--sort and --all list tasks, as --tasks does.",
     "  cairn status 3 --tasks\n  cairn status --can-resume && cairn resume",
     "0 2 5 6 10 75",
     0,
     1,
     {OPT_RUN, OPT_TASKS, OPT_ONLY_STATES, OPT_SORT_TASKS, OPT_ALL_TASKS, OPT_TIMING,
      OPT_WAITING, OPT_CAN_RESUME, OPT_NONE},
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
     {OPT_RUN, OPT_ATTEMPT, OPT_STDOUT, OPT_STDERR, OPT_FOLLOW, OPT_TIMESTAMPS,
      OPT_ALL_LOGS, OPT_FAILED, OPT_NONE},
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
     "same number became durable together. With --json, one object per line; without "
     "RUN a line with a position follows what was printed, and --position goes on "
     "behind it.",
     "  cairn events 3 --json\n  cairn events --follow --position now --json",
     "0 2 5 10 75",
     0,
     1,
     {OPT_RUN, OPT_FOLLOW_RUN, OPT_MAINTENANCE, OPT_SESSION, OPT_POSITION, OPT_NONE},
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

static const struct command_part own_commands = {
    command_table, sizeof command_table / sizeof command_table[0]};
const struct command_tables command_tables = {
    .parts = {&own_commands, &external_commands, &store_commands, &context_commands,
              &file_commands, &session_commands, &board_commands, &run_commands},
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
};
