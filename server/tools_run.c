/* SPDX-License-Identifier: MIT */
/* Tools about runs of workflows, and about tasks that are done outside of cairn. */
#include "server/properties.h"

#define RUN_SHAPE                                                            \
    "run:i workflow:s? file:s? params:o state:s live:b started:s? ended:s? " \
    "total:i? completed:i? failed:i? running:i"

/* ---- Runs ---- */

static const struct variant start[] = {
    {NULL, "run --param={params} --fresh?{fresh} --jobs={jobs} --on-change={on_change} "
           "--no-wait?{no_wait} -- {file}"},
};
#define ON_CHANGE \
    CHOICE("on_change", "rerun|keep|refuse", "Where the workflow was edited since")
#define JOBS WHOLE("jobs", 1, 4096, "At most so many tasks at once")
#define NO_WAIT FLAG("no_wait", "End where only external tasks are left")
#define PARAMS PAIRS("params", "Parameters of the workflow by name")
#define FILE_ TEXT("file", "The workflow file (default: cairn.yaml in the directory)")
static const struct property start_properties[] = {
    FILE_,     PARAMS,    FLAG("fresh", "A new run, also where one is unfinished"),
    JOBS,      ON_CHANGE, NO_WAIT,
    DIRECTORY,
};

static const struct variant resume[] = {
    {NULL, "resume --from={checkpoint} --jobs={jobs} --on-change={on_change} "
           "--no-wait?{no_wait} -- {run}"},
};
static const struct property resume_properties[] = {
    RUN("The run (default: the newest)"),
    CHECKPOINT("Start a new run from this checkpoint of a run"),
    JOBS,
    ON_CHANGE,
    NO_WAIT,
    DIRECTORY,
};

static const struct variant list[] = {
    {NULL, "runs --workflow={workflow} --state={state} --limit={limit} "
           "--offset={offset} --sort={sort}"},
};
static const struct property list_properties[] = {
    TEXT("workflow", "Only runs of this workflow"),
    TEXT("state", "Only runs in these states, separated by commas: running, waiting, "
                  "interrupted, completed, failed, cancelled, undone"),
    LIMIT,
    OFFSET,
    CHOICE("sort", "-started|started", "Newest first (default), or oldest"),
    DIRECTORY,
};

static const struct variant status[] = {
    {NULL, "status --tasks?{tasks} -- {run}"},
};
static const struct property status_properties[] = {
    RUN("The run (default: the newest)"),
    FLAG("tasks", "Every task, not only those that failed"),
    DIRECTORY,
};

static const struct variant plan[] = {
    {NULL, "plan --param={params} --fresh?{fresh} --run={run} --from={checkpoint} "
           "--on-change={on_change} --all?{all} -- {file}"},
};
static const struct property plan_properties[] = {
    TEXT("file", "The workflow file; without it and a run: the newest run"),
    PARAMS,
    FLAG("fresh", "As if no run was unfinished"),
    RUN("What resuming this run would do"),
    CHECKPOINT("What starting from this checkpoint of a run would do"),
    ON_CHANGE,
    FLAG("all", "Also the tasks that would not run"),
    DIRECTORY,
};

static const struct variant explain[] = {
    {NULL, "explain --param={params} --run={run} --on-change={on_change} -- {task*} "
           "{file}"},
};
static const struct property explain_properties[] = {
    TEXT("task", "The task"),
    TEXT("file", "The workflow file; without it and a run: the newest run"),
    PARAMS,
    RUN("The run"),
    ON_CHANGE,
    DIRECTORY,
};

static const struct variant output[] = {
    {NULL, "log --run={run} --attempt={attempt} --stdout?{stdout} --stderr?{stderr} -- "
           "{task}"},
};
static const struct property log_properties[] = {
    TEXT("task", "The task; without it, all that failed, with their attempts"),
    RUN("The run (default: the newest)"),
    WHOLE("attempt", 1, 1e9, "This attempt (default: the last one)"),
    FLAG("stdout", "Only its stdout, of a task with `stderr: apart`"),
    FLAG("stderr", "Only its stderr, of a task with `stderr: apart`"),
    DIRECTORY,
};

static const struct variant again[] = {
    {NULL, "rerun --only?{only} --run={run} --jobs={jobs} --on-change={on_change} "
           "--no-wait?{no_wait} -- {tasks*}"},
};
static const struct property again_properties[] = {
    LIST("tasks", "The tasks that run again, with what comes after them"),
    FLAG("only", "Not what comes after them: that waits for run_resume"),
    RUN("The run (default: the newest)"),
    JOBS,
    ON_CHANGE,
    NO_WAIT,
    DIRECTORY,
};
static const struct variant values[] = {{NULL, "values --run={run} -- {task} {name}"}};
static const struct property values_properties[] = {
    TEXT("task", "Only the values of this task"),
    TEXT("name", "Only this value"),
    RUN("The run (default: the newest)"),
    DIRECTORY,
};
static const struct variant resolve[] = {
    {NULL, "resolve -- {run*} {task*} {outcome*}"},
};
static const struct property resolve_properties[] = {
    RUN("The run"),
    TEXT("task", "A task that must not run twice, and whose outcome is unknown"),
    CHOICE("outcome", "done|failed|rerun", "What became of it, as you have found out"),
    DIRECTORY,
};
static const struct variant undo[] = {{NULL, "undo -- {run*} {tasks}"}};
static const struct property undo_properties[] = {
    RUN("The run"),
    LIST("tasks", "Only these (default: all that have completed)"),
    DIRECTORY,
};
static const struct variant validate[] = {
    {NULL, "validate --param={params} --undo?{undo} -- {file}"},
};
static const struct property validate_properties[] = {
    FILE_,
    PARAMS,
    FLAG("undo", "List which tasks have an undo, and which do not"),
    DIRECTORY,
};
static const struct variant graph[] = {
    {NULL, "graph --param={params} --run={run} -- {file}"},
};
static const struct property graph_properties[] = {
    FILE_,
    PARAMS,
    RUN("Of this run instead"),
    DIRECTORY,
};

static const struct variant cancel[] = {{NULL, "cancel -- {run*}"}};
static const struct property cancel_properties[] = {RUN("The run"), DIRECTORY};
static const struct variant clean[] = {
    {NULL, "clean --stale --yes --param={params} --dry-run!{confirm} -- {file}"},
};
static const struct property clean_properties[] = {
    TEXT("file", "The workflow file (default: that of the newest run)"),
    PARAMS,
    CONFIRM,
    DIRECTORY,
};

/* ---- External tasks ---- */

#define TASK TEXT("task", "The task")
#define TOKEN TEXT("token", "What task_claim gave, if the task is claimed")
static const struct variant next[] = {
    {NULL, "next --claimed?{claimed} -- {run}"},
};
static const struct property next_properties[] = {
    RUN("The run (default: the newest)"),
    FLAG("claimed", "Also those that somebody has claimed"),
    DIRECTORY,
};
#define CLAIM_ONE "claim --lease={lease} --holder={holder} -- {run*} {task*}"
static const struct variant claim[] = {
    {NULL, CLAIM_ONE},
    {"false", CLAIM_ONE},
    {"true", "claim --any --wait={wait}s --lease={lease} --holder={holder} -- {run}"},
};
static const struct property claim_properties[] = {
    RUN("The run; required, unless any is true"),
    TEXT("task", "The task; required, unless any is true"),
    FLAG("any", "Whichever task can be done now; the answer says what is to be done"),
    WHOLE("wait", 1, 100, "With any: wait so many seconds for one (default: not)"),
    TEXT("lease", "How long it is yours, such as 10m (default: the command's)"),
    TEXT("holder", "Your name, for people"),
    DIRECTORY,
};
static const struct variant renew[] = {
    {NULL, "renew --token={token} --lease={lease} -- {run*} {task*}"},
};
static const struct property renew_properties[] = {
    RUN("The run"), TASK,
    TOKEN,          TEXT("lease", "How long it is yours from now on, such as 10m"),
    DIRECTORY,
};
static const struct variant complete[] = {
    {NULL, "complete --token={token} --output={outputs} -- {run*} {task*}"},
};
static const struct property complete_properties[] = {
    RUN("The run"), TASK, TOKEN, PAIRS("outputs", "Values of the task by name"),
    DIRECTORY,
};
static const struct variant fail[] = {
    {NULL, "fail --token={token} --message={message} -- {run*} {task*}"},
};
static const struct property fail_properties[] = {
    RUN("The run"), TASK, TOKEN, TEXT("message", "Why, in a line"), DIRECTORY,
};

#define REPORTED_SHAPE "run:i task:s state:s resume:b"

static const struct tool rows[] = {
    {.name = "run_start",
     .title = "Run a workflow",
     .about = "Starts a workflow, or resumes its unfinished run, and returns at once "
              "with the number of the run, which goes on by itself, also after this "
              "server has ended. Then: run_status, run_log, run_cancel.",
     .set = TOOLSET_RUN,
     .hints = HINT_RUNS,
     VARIANTS(start),
     PROPERTIES(start_properties),
     .shape = "run:i text:s?",
     .starts = true},
    {.name = "run_resume",
     .title = "Resume a run",
     .about =
         "Goes on with a run that was interrupted, failed or was edited; what is "
         "finished and unchanged does not run again. Returns at once, as run_start "
         "does. run_plan says before what would run.",
     .set = TOOLSET_RUN,
     .hints = HINT_RUNS,
     VARIANTS(resume),
     PROPERTIES(resume_properties),
     .shape = "run:i text:s?",
     .starts = true},
    {.name = "run_list",
     .title = "List runs",
     .about = "Lists the runs of the store with their states, newest first.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     VARIANTS(list),
     PROPERTIES(list_properties),
     .shape = "runs:a total:i limit:i offset:i"},
    {.name = "run_status",
     .title = "State of a run",
     .about = "Says how a run stands: its state, counts, and the tasks that failed (or "
              "every task).",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     VARIANTS(status),
     PROPERTIES(status_properties),
     .shape = RUN_SHAPE},
    {.name = "run_plan",
     .title = "What would run",
     .about = "Says which tasks run_start or run_resume would run, and why. Runs "
              "nothing.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     VARIANTS(plan),
     PROPERTIES(plan_properties),
     .shape = "workflow:s run:i? tasks:i will:i may:i notices:a decisions:a"},
    {.name = "run_explain",
     .title = "Why a task would run or not",
     .about = "Says for one task whether it would run, the reason in a sentence, what "
              "changed in it, and how its last attempts ended.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     VARIANTS(explain),
     PROPERTIES(explain_properties),
     .shape = "task:s run:i? will_run:b may_run:b reason:s detail:s? attempts:a"},
    {.name = "run_log",
     .title = "Output of a task",
     .about = "Gives the output of a task of a run; without a task, the tasks that "
              "failed with their attempts.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     VARIANTS(output),
     PROPERTIES(log_properties),
     .shape = "run:i"},
    {.name = "run_rerun",
     .title = "Run finished tasks again",
     .about = "Runs tasks of a run again that are finished, with what comes after "
              "them. Returns at once, as run_start does.",
     .set = TOOLSET_RUN,
     .hints = HINT_RUNS,
     VARIANTS(again),
     PROPERTIES(again_properties),
     .shape = "run:i text:s?",
     .starts = true},
    {.name = "run_values",
     .title = "Values that tasks reported",
     .about = "Gives the values that the tasks of a run reported, by name.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     VARIANTS(values),
     PROPERTIES(values_properties),
     .shape = "run:i values:a"},
    {.name = "run_resolve",
     .title = "Decide an unknown outcome",
     .about = "Decides what became of a task that must not run twice and was "
              "interrupted, or had completed before what it needs ran again. Look "
              "first: nothing of it can be found out by cairn.",
     .set = TOOLSET_RUN,
     .hints = HINT_DESTRUCTIVE,
     VARIANTS(resolve),
     PROPERTIES(resolve_properties),
     .shape = "run:i task:s"},
    {.name = "run_undo",
     .title = "Undo tasks of a run",
     .about = "Runs the undo commands of completed tasks, in the reverse order.",
     .set = TOOLSET_RUN,
     .hints = HINT_RUNS | HINT_SLOW,
     VARIANTS(undo),
     PROPERTIES(undo_properties),
     .shape = "run:i state:s"},
    {.name = "run_validate",
     .title = "Check a workflow file",
     .about = "Checks a workflow file; mistakes are listed with their lines. Runs "
              "nothing.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     VARIANTS(validate),
     PROPERTIES(validate_properties),
     .shape = "file:s workflow:s valid:b tasks:i"},
    {.name = "run_graph",
     .title = "The graph of a workflow",
     .about = "Gives the tasks of a workflow with what each needs.",
     .set = TOOLSET_RUN,
     .hints = HINT_READ_ONLY,
     VARIANTS(graph),
     PROPERTIES(graph_properties),
     .shape = "workflow:s tasks:i edges:i nodes:a"},
    {.name = "run_cancel",
     .title = "Stop a run",
     .about = "Stops a run: its tasks are ended, and what is finished stays finished.",
     .set = TOOLSET_RUN,
     .hints = HINT_DESTRUCTIVE | HINT_IDEMPOTENT | HINT_SLOW,
     VARIANTS(cancel),
     PROPERTIES(cancel_properties),
     .shape = "run:i action:s"},
    {.name = "run_clean",
     .title = "Remove outputs of tasks that are gone or skipped",
     .about = "Removes declared outputs whose task is gone from the workflow or "
              "skipped now, where they "
              "are as that task made them. Without confirm: true only says what would "
              "go.",
     .set = TOOLSET_RUN,
     .hints = HINT_DESTRUCTIVE | HINT_IDEMPOTENT,
     VARIANTS(clean),
     PROPERTIES(clean_properties),
     .shape = "dry_run:b files:a"},
    {.name = "task_next",
     .title = "External tasks that can be done now",
     .about = "Lists the tasks of a run that somebody outside has to do, and that can "
              "be done now.",
     .set = TOOLSET_TASK,
     .hints = HINT_READ_ONLY,
     VARIANTS(next),
     PROPERTIES(next_properties),
     .shape = "run:i? resume:b next:a"},
    {.name = "task_claim",
     .title = "Claim an external task",
     .about = "Claims an external task for some time, so that nobody else does it. The "
              "token is needed to complete it. With any: true, the next one that can "
              "be done.",
     .set = TOOLSET_TASK,
     .by = "any",
     VARIANTS(claim),
     PROPERTIES(claim_properties),
     .shape = "run:i task:s token:s lease_ms:i"},
    {.name = "task_renew",
     .title = "Keep an external task longer",
     .about = "Makes the claim of an external task last longer, from now on.",
     .set = TOOLSET_TASK,
     VARIANTS(renew),
     PROPERTIES(renew_properties),
     .shape = "run:i task:s lease_ms:i"},
    {.name = "task_complete",
     .title = "Report that an external task is done",
     .about = "Reports that an external task is done, with its values.",
     .set = TOOLSET_TASK,
     VARIANTS(complete),
     PROPERTIES(complete_properties),
     .shape = REPORTED_SHAPE},
    {.name = "task_fail",
     .title = "Report that an external task has failed",
     .about = "Reports that an external task has failed.",
     .set = TOOLSET_TASK,
     VARIANTS(fail),
     PROPERTIES(fail_properties),
     .shape = REPORTED_SHAPE},
};
const struct tool_rows run_tools = {rows, COUNT(rows)};
