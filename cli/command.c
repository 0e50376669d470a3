/* SPDX-License-Identifier: MIT */
/* Finding commands in the tables that main hands over, and the nearest valid word,
 * also from words of other programs. */
#include "cli/command.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* One slip for each four letters: other words are not slips. */
void nearest_init(struct nearest *nearest, const char *word)
{
    size_t n = strlen(word);
    nearest->word = word;
    nearest->best = NULL;
    nearest->distance = (n < 8 ? 1 : (unsigned)(n / 4)) + 1;
}

void nearest_try(struct nearest *nearest, const char *candidate)
{
    unsigned d = str_distance(str_of(nearest->word), str_of(candidate));
    if (d < nearest->distance && d < strlen(candidate)) {
        nearest->distance = d;
        nearest->best = candidate;
    }
}

/* Finding commands in the tables that main hands over. So only main knows the commands,
 * and the commands may use everything here. */

static const struct command_tables *used;

void command_use(const struct command_tables *tables)
{
    used = tables;
}

const struct command *command_at(size_t i)
{
    size_t parts = sizeof used->parts / sizeof used->parts[0];
    for (size_t at = 0; at < parts && used->parts[at]; at++) {
        const struct command_part *part = used->parts[at];
        if (i < part->n)
            return &part->table[i];
        i -= part->n;
    }
    return NULL;
}

const struct command_group *command_group_at(size_t i)
{
    return i < used->n_groups ? &used->groups[i] : NULL;
}

const struct command_group *command_group_of(const char *words)
{
    const struct command_group *group;
    for (size_t i = 0; (group = command_group_at(i)); i++) {
        size_t n = strlen(group->name);
        if (strncmp(words, group->name, n) == 0 &&
            (words[n] == '\0' || words[n] == ' '))
            return group;
    }
    return NULL;
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

bool command_takes_rest(const struct command *command)
{
    return strstr(command->operands, "-- ") != NULL;
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

/* Words of make, just, Snakemake, GitHub Actions, docker, tmux and git, and what is
 * said for them here. */

/* Whether the row, words with blanks between them, has this one. */
static bool row_has(const char *row, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = row; *at; at += strspn(at, " ")) {
        size_t m = strcspn(at, " ");
        if (m == n && memcmp(at, word, n) == 0)
            return true;
        at += m;
    }
    return false;
}

struct meaning {
    const char *words; /* with blanks between them */
    const char *meant;
};

/* ---- Commands ---- */

/* The nearest word by letters would be a wrong answer to them. */
static const struct meaning commands[] = {
    {"list ls",
     "`cairn runs` lists runs, `cairn status --tasks` the tasks of one, `cairn plan` "
     "those of the workflow file"},
    {"tasks", "`cairn status --tasks` lists those of a run, `cairn plan` those of the "
              "workflow file"},
    {"ps", "`cairn status` shows what is running, `cairn runs` all runs"},
    {"top monitor", "`cairn watch` follows a run"},
    {"start up", "`cairn run` starts a workflow, or continues its unfinished run"},
    {"build make", "`cairn run` runs the workflow file"},
    {"retry", "`cairn resume` runs what failed or was not finished again"},
    {"restart",
     "`cairn resume` continues a run, `cairn run --fresh` starts the workflow over"},
    {"continue", "`cairn resume` continues a run"},
    {"logs output", "`cairn log TASK` prints what a task wrote"},
    {"stop", "`cairn cancel` stops a run that is running; `cairn resume` continues it"},
    {"kill abort", "`cairn cancel` stops a run that is running"},
    {"down", "`cairn cancel` stops a run, `cairn undo` takes back what it did"},
    {"pause", "`cairn cancel` stops a run, `cairn resume` continues it"},
    {"rollback", "`cairn undo` takes back what a run did"},
    {"dry-run", "`cairn plan` says what would run, and why"},
    {"why", "`cairn explain TASK` says why a task runs or does not"},
    {"lint", "`cairn validate` checks a workflow file"},
    {"verify",
     "`cairn validate` checks a workflow file, `cairn checkpoint verify` what is "
     "stored"},
    {"all", "`cairn run` runs the whole workflow file"},
    {"test", "`cairn run test` runs the task or group of that name"},
    {"tail", "`cairn log TASK --follow` prints what a task writes"},
    {"get", "`cairn runs` lists runs, `cairn status` shows the newest one"},
    {"apply", "`cairn run FILE` runs a workflow file"},
    {"prune", "did you mean `cairn checkpoint prune`? `cairn gc` removes old runs"},
    {"session prune", "`cairn checkpoint prune --session NAME --keep-last N` deletes "
                      "old checkpoints of a session"},
    {"journal trace", "`cairn events` lists what happened in a run"},
    {"schedule cron", "start `cairn run FILE` from cron or a timer"},
    {"history", "`cairn runs` lists runs, `cairn checkpoint list` checkpoints"},
    {"dag dot", "`cairn graph` draws the tasks"},
    {"approve done", "`cairn complete RUN TASK` says that an external task is done"},
    {"new", "`cairn init` writes a workflow file to begin with"},
    {"commit save snapshot",
     "`cairn checkpoint create MESSAGE` keeps the state of a session; a run makes "
     "its checkpoints by itself"},
    {"stash", "`cairn checkpoint create MESSAGE` keeps the state of a session, `cairn "
              "checkpoint restore ID` brings it back"},
    {"checkout",
     "`cairn checkpoint restore ID` puts a session back, `cairn branch switch NAME` "
     "goes to another branch"},
    {"reset revert",
     "`cairn checkpoint restore ID` puts a session back, `cairn undo RUN` takes back "
     "what a run did"},
    {"blame", "`cairn checkpoint blame-file PATH` says where each line comes from"},
    {"tag", "`cairn checkpoint label ID NAME` labels a checkpoint"},
    {"show",
     "`cairn status RUN` shows a run, `cairn log TASK` the output of a task, `cairn "
     "checkpoint show ID` a checkpoint"},
    {"view", "`cairn status RUN` shows a run, `cairn log TASK` the output of a task"},
    {"info inspect describe",
     "`cairn status RUN` shows a run, `cairn explain TASK` a task"},
    {"jobs", "`cairn status --tasks` lists the tasks of a run"},
    {"summary", "`cairn status` shows a run, `cairn stats` the whole store"},
    {"attach", "`cairn watch` follows a run that another process runs"},
    {"detach",
     "a run ends with its terminal, unless it is begun with `setsid cairn run`; "
     "`cairn watch` follows it"},
    {"wait", "`cairn watch` ends when the run ends, with the status of the run"},
    {"submit trigger dispatch", "`cairn run` runs a workflow file"},
    {"unlock",
     "a lock ends with the process that holds it: `cairn resume` continues the run"},
    {"outputs results", "`cairn values` shows the values that tasks wrote"},
    {"rm delete remove",
     "`cairn gc` removes old runs, `cairn checkpoint delete ID` a checkpoint"},
    {"edit", "the workflow file is yours to edit; `cairn validate` checks it"},
    {"completion completions", "the completion of bash, zsh and fish is installed with "
                               "cairn: a new shell has it"},
    {"force", "`cairn run FILE --fresh` runs everything again, `cairn rerun TASK` what "
              "has finished"},
};

/* A row is also found by the whole of its words: those of a command of a group. */
const char *command_meant(const char *word)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (row_has(commands[i].words, word) || strcmp(commands[i].words, word) == 0)
            return commands[i].meant;
    return NULL;
}

/* ---- What stands behind the word of a group ---- */

/* Of a row the first that is a command of the group is meant by all others. A row that
 * fits better comes before one that fits, too. */
static const char *const verbs[] = {
    "reject refute deny disprove falsify rule-out dismiss drop",
    "confirm accept prove approve support",
    "fill answer close resolve solve",
    "end stop close finish quit exit kill kill-session done",
    "abandon delete remove rm del drop discard close",
    "switch checkout use select activate attach resume continue open goto",
    "start create new begin add new-session make init open",
    "create save add commit new take store snapshot stash record make push write",
    "add create new propose make record note write store save start support observe",
    "restore rollback revert reset load checkout goto back apply pop switch",
    "delete remove rm del drop discard",
    "remove delete rm del drop discard",
    "list ls all index",
    "show view get info inspect describe print status read",
    "update edit set change modify amend rename revise",
    "test try check probe begin",
    "run exec execute test verify start",
    "depend link needs connect",
    "undepend unlink disconnect",
    "dependencies deps links graph tree",
    "cascade propagate",
    "diff compare changes delta",
    "log history versions events",
    "verify fsck validate check",
    "prune clean cleanup gc expire",
    "label tag mark name",
    "note comment annotate",
    "export archive tar dump backup",
    "import load",
    "grep search find",
    "blame-file blame annotate praise",
    "files ls-files ls-tree ls tree",
    "cat print show-file",
    "timeline tree graph history",
    "undo revert back",
    "fork branch copy clone",
    "merge join rebase",
    "config settings set options",
    "size du usage",
    "watch follow tail attach",
};

const char *verb_meant(const char *words)
{
    const char *space = strrchr(words, ' ');
    for (size_t i = 0; space && i < COUNT_OF(verbs); i++) {
        char name[128];
        snprintf(name, sizeof name, "%.*s %.*s", (int)(space - words), words,
                 (int)strcspn(verbs[i], " "), verbs[i]);
        const struct command *command = command_find(name);
        if (command && row_has(verbs[i], space + 1))
            return command->name;
    }
    return NULL;
}

/* ---- Options ---- */

static const struct {
    const char *command;
    struct meaning of;
} options[] = {
    {"run",
     {"dry-run just-print dryrun n check diff",
      "`cairn plan` says what would run, and why"}},
    {"run",
     {"f file c config snakefile makefile workflow",
      "the workflow file comes without it: cairn run FILE"}},
    {"plan", {"f file", "the workflow file comes without it: cairn plan FILE"}},
    {"plan",
     {"target targets t until",
      "`cairn plan FILE TASK` shows what would run for that task"}},
    {"plan",
     {"out output o",
      "a plan is only shown, `cairn run` decides again: to keep its text: cairn plan "
      ">FILE"}},
    {"resume", {"f file", "the workflow file comes without it: cairn resume FILE"}},
    {"rerun",
     {"dry-run dryrun n just-print check",
      "`cairn plan --rerun FILE TASK` shows what would run"}},
    {"run",
     {"always-make forceall F no-cache B",
      "`cairn run FILE --fresh` runs everything again"}},
    {"run",
     {"force",
      "`cairn run FILE --fresh` runs everything again, `cairn rerun TASK` what has "
      "finished; `cairn resume --force` continues from a checkpoint that is labelled "
      "broken"}},
    {"run", {"forcerun R", "`cairn rerun TASK...` runs finished tasks again"}},
    {"run", {"rerun-incomplete", "`cairn run` runs again what was interrupted anyway"}},
    {"run", {"rerun-failed failed", "`cairn resume` runs again what failed"}},
    {"run",
     {"cores parallel max-parallel workers max-workers threads",
      "how many tasks run at once is -j N"}},
    {"run", {"until target", "`cairn run FILE TASK` runs that task and what it needs"}},
    {"run",
     {"only",
      "`cairn run FILE TASK` runs that task and what it needs; `cairn rerun TASK "
      "--only` runs a finished one again"}},
    {"run",
     {"ignore-errors i", "-k continues with what does not need the task that failed"}},
    {"run", {"s silent", "-q prints less"}},
    {"run",
     {"C directory chdir workdir work-dir",
      "a workflow runs in the directory of its file: cairn run DIR/cairn.yaml"}},
    {"run",
     {"unlock",
      "a lock ends with the process that holds it: `cairn resume` continues with the "
      "run"}},
    {"run",
     {"touch t",
      "what is done is what the store says, whatever the time of a file: there is "
      "nothing to touch"}},
    {"run",
     {"retry",
      "`retries` of a task says how often it is tried again; `cairn resume` runs "
      "again what failed"}},
    {"run",
     {"watch follow",
      "the run is followed anyway; `cairn watch` follows one that another process "
      "runs"}},
    {"run",
     {"detach d background bg",
      "put it into the background with `setsid cairn run FILE &`; `cairn watch` "
      "follows it"}},
    {"run", {"summary tasks", "`cairn status --tasks` lists the tasks of a run"}},
    {"run",
     {"secret secrets env",
      "the values of secrets come from the environment: list their names under "
      "`secrets` of the workflow; `env` of a task sets a variable"}},
    {"run", {"list list-tasks", "`cairn plan` lists the tasks of a workflow file"}},
    {"run",
     {"resume r",
      "`cairn run` continues the unfinished run of its workflow by itself; `cairn "
      "resume RUN` with a certain one"}},
    {"run", {"run", "`cairn resume RUN` continues a certain run"}},
    {"run",
     {"from", "`cairn resume --from CHECKPOINT` starts a run from a checkpoint"}},
    {"run",
     {"fail-fast halt-on-error x",
      "a failure stops the run unless -k is given: leave this out"}},
    {"run",
     {"skip exclude omit-from",
      "name the tasks that are to run: cairn run FILE TASK...; a task with `if: false` "
      "is left out"}},
    {"run", {"name", "a run has a number; the name of a workflow is its key `name`"}},
    {"run", {"undo", "`cairn undo RUN` takes back what a run did"}},
    {"run", {"reason", "`cairn explain TASK` says why a task runs or does not"}},
    {"resume", {"failed", "`cairn resume` runs what failed and what is left"}},
    {"rerun", {"failed", "`cairn resume` runs what failed and what is left"}},
    {"fail", {"reason", "did you mean --message?"}},
    {"checkpoint create",
     {"label", "--tag TAG, or afterwards `cairn checkpoint label head LABEL`"}},
    {"resume",
     {"dry-run",
      "`cairn plan --run RUN`, or `--from CHECKPOINT`, says what would run, and why"}},
    {"status", {"follow watch f w", "`cairn watch` follows a run"}},
    {"runs", {"follow watch f w", "`cairn watch` follows a run"}},
    {"status", {"failed", "did you mean --state failed?"}},
    {"runs", {"failed", "did you mean --state failed?"}},
    {"runs", {"all a", "--limit N lists more"}},
    {"status", {"short s porcelain", "`cairn runs` prints a line for each run"}},
    {"status",
     {"last latest", "the newest run is the default; --run N shows another one"}},
    {"log",
     {"last latest", "the newest run is the default; --run N shows another one"}},
    {"log", {"tail lines n", "for the last lines: cairn log TASK | tail -n 20"}},
    {"events", {"tail lines n", "for the last lines: cairn events | tail -n 20"}},
    {"events",
     {"after",
      "--since TIME; `cairn events --follow --position now` prints what happens from "
      "now on"}},
    {"log", {"since after until", "--timestamps prints the time of each line"}},
    {"log", {"previous p", "--attempt N prints an earlier attempt"}},
    {"cancel",
     {"force f 9 signal s",
      "a task that does not end in time after SIGTERM is killed anyway: leave this "
      "out"}},
    {"undo", {"dry-run n", "`cairn status --tasks` shows the tasks that completed"}},
    {"clean",
     {"all a",
      "--stale removes outputs of tasks that are gone or skipped; `cairn gc` removes "
      "old runs"}},
    {"watch", {"n", "did you mean --interval?"}},
    {"plan", {"dry-run n", "`cairn plan` runs nothing: leave this out"}},
    {"plan", {"why reason", "reasons are printed anyway; more: cairn explain TASK"}},
    {"validate", {"f file", "give the file alone: cairn validate FILE"}},
    {"validate",
     {"lint strict dry-run n schema", "`cairn validate FILE` makes all checks: leave "
                                      "this out"}},
    {"graph", {"f file", "give the file alone: cairn graph FILE"}},
    {"graph", {"dot", "did you mean --format dot?"}},
    {"graph", {"mermaid", "did you mean --format mermaid?"}},
    {"graph", {"o output out", "it is printed: to keep it: cairn graph >FILE"}},
    {"graph", {"svg png T", "to make a picture: cairn graph --format dot | dot -Tsvg"}},
    {"init",
     {"force f overwrite", "an existing file is never replaced: name another "
                           "one with `cairn init FILE`"}},
    {"shell", {"c command", "write the command after --: cairn shell TASK -- COMMAND"}},
    {"shell",
     {"i t it tty interactive", "a shell is interactive anyway: leave this "
                                "out"}},
    {"claim", {"worker owner", "did you mean --holder?"}},
    {"claim", {"timeout ttl", "did you mean --lease?"}},
    {"claim", {"next", "did you mean --any?"}},
    {"gc",
     {"force f all a prune", "without options it deletes all that no run refers "
                             "to, and does not ask: leave this out"}},
    {"gc", {"keep keep-last", "did you mean --keep-runs?"}},
    {"gc",
     {"keep-storage max-size max-cache-size size keep-size size-budget",
      "did you mean --keep-outputs?"}},
    {"checkpoint prune", {"older-than", "did you mean --keep-days?"}},
    {"checkpoint create",
     {"m message", "write it without the option: cairn checkpoint create MESSAGE"}},
    {"checkpoint diff", {"name-only name-status", "did you mean --stat?"}},
    {"session start",
     {"name n", "write it without the option: cairn session start NAME"}},
    {"session switch", {"c create", "`cairn session start NAME` starts a new session"}},
    {"branch switch", {"c create b", "`cairn branch start NAME` starts a new branch"}},
    {"branch start",
     {"b c", "write the name without the option: cairn branch start NAME"}},
    {"evidence add",
     {"hypothesis for supports", "write the hypothesis first: cairn evidence add "
                                 "HYPOTHESIS TEXT"}},
    {"note add", {"m message", "write it without the option: cairn note add TEXT"}},
    {"mcp", {"port p host", "did you mean --listen HOST:PORT?"}},
    {"mcp", {"stdio", "`cairn mcp` uses stdin and stdout anyway: leave this out"}},
};

/* Those that all commands with an option have, which is meant. */
static const struct {
    enum option_id taken;
    struct meaning of;
} everywhere[] = {
    {OPT_PARAM,
     {"p e P var set params extra-vars",
      "a parameter of the workflow is set with --param NAME=VALUE"}},
    {OPT_JOBS, {"timeout retries", "`timeout` and `retries` are keys of a task"}},
    {OPT_JOBS,
     {"deadline max-time max-duration time-limit",
      "the time that a run may take is `deadline: 10m` in the workflow file"}},
    {OPT_JOBS, {"on-failure", "`on_failure` is a key of the workflow file"}},
    {OPT_TAG, {"tags", "--tag takes several, with commas between them: --tag A,B"}},
    {OPT_FOLLOW, {"f w watch", "did you mean --follow?"}},
    {OPT_FOLLOW_RUN, {"f w watch", "did you mean --follow?"}},
    {OPT_DRY_RUN, {"n dry dryrun just-print", "did you mean --dry-run?"}},
    {OPT_PREVIEW, {"n dry dryrun just-print", "did you mean --dry-run?"}},
    {OPT_LIMIT, {"n l last tail lines max-count", "did you mean --limit?"}},
    {OPT_HITS, {"n limit max-count top-k", "did you mean --hits?"}},
    {OPT_LAST, {"n limit tail", "did you mean --last?"}},
    {OPT_REPAIR, {"fix", "did you mean --repair?"}},
    {OPT_MESSAGE, {"m", "did you mean --message?"}},
    {OPT_REASON, {"m message", "did you mean --reason?"}},
    {OPT_PATCH, {"p", "did you mean --patch?"}},
    {OPT_IGNORE_CASE, {"i", "did you mean --ignore-case?"}},
    {OPT_ONLY_STATES, {"status", "did you mean --state?"}},
    {OPT_YES, {"y f force assume-yes", "did you mean --yes?"}},
    {OPT_JSON, {"o output format", "did you mean --json?"}},
    {OPT_HELP,
     {"y yes assume-yes", "it does not ask for confirmation: leave this out"}},
};

const char *option_meant(const char *command, const char *option)
{
    if (strcmp(option, "V") == 0 || (!command && strcmp(option, "v") == 0))
        return "`cairn --version` prints the version";
    for (size_t i = 0; command && i < COUNT_OF(options); i++)
        if (strcmp(options[i].command, command) == 0 &&
            row_has(options[i].of.words, option))
            return options[i].of.meant;
    const struct command *of = command ? command_find(command) : NULL;
    for (size_t i = 0; of && i < COUNT_OF(everywhere); i++)
        if (command_takes(of, everywhere[i].taken) &&
            row_has(everywhere[i].of.words, option))
            return everywhere[i].of.meant;
    return NULL;
}
