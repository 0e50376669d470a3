/* SPDX-License-Identifier: MIT */
/* The table of options. A name that two commands use for different things has two
 * entries. The words of a choice are in the order of the enumeration of include/ that
 * they become. */
#include "cli/options.h"

static const struct option option_table[OPT_NONE] = {
    [OPT_STORE] = {"store", 0, OPTION_TEXT, "DIR",
                   "the store to use (default: $CAIRN_STORE, or the .cairn directory "
                   "found here or above)",
                   0, 0, 0},
    [OPT_KEY] =
        {"key", 0, OPTION_TEXT, "FILE",
         "the file with the HMAC key; changes to the store that were made without the "
         "key are noticed: at least 32 bytes, readable only by you (default: "
         "$CAIRN_KEY)",
         0, 0, 0},
    [OPT_JSON] = {"json", 0, OPTION_FLAG, NULL, "print JSON on stdout", 0, 0, 0},
    [OPT_QUIET] = {"quiet", 'q', OPTION_FLAG, NULL,
                   "print only data, warnings and errors", 0, 0, 0},
    [OPT_HELP] = {"help", 'h', OPTION_FLAG, NULL, "show this help", 0, 0, 0},
    [OPT_VERSION] = {"version", 0, OPTION_FLAG, NULL, "show the version", 0, 0, 0},
    [OPT_PARAM] = {"param", 0, OPTION_PAIR, "NAME=VALUE",
                   "set a parameter of the workflow; may be repeated", 0, 0, 0},
    [OPT_JOBS] = {"jobs", 'j', OPTION_NUMBER, "N",
                  "run at most N tasks at once (default: the workflow's, or the number "
                  "of processors)",
                  1, 4096, 0},
    [OPT_FRESH] = {"fresh", 0, OPTION_FLAG, NULL,
                   "start a new run even if the newest one is unfinished", 0, 0, 0},
    [OPT_FROM] = {"from", 0, OPTION_TEXT, "CHECKPOINT",
                  "start a new run from this checkpoint", 0, 0, 0},
    [OPT_ON_CHANGE] =
        {"on-change", 0, OPTION_CHOICE, "rerun|keep|refuse",
         "finished tasks whose definition changed: run again, stay finished (and count "
         "as made by the new definition), or stop with exit 4 (default: rerun)",
         0, 0, 0},
    [OPT_CHECK_OUTPUTS] = {"check-outputs", 0, OPTION_CHOICE, "changed|content|exist",
                           "declared outputs of finished tasks: read the content of "
                           "those whose size, times or inode changed, of all, or let "
                           "it be enough that they exist (default: changed)",
                           0, 0, 0},
    [OPT_CHECKPOINT] = {"checkpoint", 0, OPTION_CHOICE, "best-effort|required",
                        "when checkpoints cannot be saved: continue (exit 9), or start "
                        "nothing new (default: best-effort)",
                        0, 0, 0},
    [OPT_NO_CHECKPOINT] = {"no-checkpoint", 0, OPTION_FLAG, NULL,
                           "record nothing; the run cannot be resumed", 0, 0, 0},
    [OPT_SYNC] =
        {"sync", 0, OPTION_CHOICE, "full|normal|off",
         "full (default) survives a power cut; normal may lose the last tasks in "
         "one; off may lose the store",
         0, 0, 0},
    [OPT_OUTPUT_LIMIT] = {"output-limit", 0, OPTION_SIZE, "SIZE",
                          "keep this much of stdout and of stderr of each attempt "
                          "(default: 1M, at most 900M)",
                          1, 900 << 20, 0},
    [OPT_KEEP] = {"keep", 0, OPTION_NUMBER, "N",
                  "keep the newest N checkpoints when the run ends, and those that "
                  "runs forked from; 0 keeps all (default: 50)",
                  0, UINT32_MAX, 0},
    [OPT_RUN] = {"run", 0, OPTION_NUMBER, "N", "this run instead of the newest", 1,
                 INT64_MAX, 0},
    [OPT_ONLY_RUN] = {"run", 0, OPTION_NUMBER, "N", "only this run", 1, INT64_MAX, 0},
    [OPT_ALL] = {"all", 0, OPTION_FLAG, NULL, "also list the tasks that will not run",
                 0, 0, 0},
    [OPT_TASKS] = {"tasks", 0, OPTION_FLAG, NULL, "list every task", 0, 0, 0},
    [OPT_CAN_RESUME] =
        {"can-resume", 0, OPTION_FLAG, NULL,
         "only report whether the run can be resumed (exit 0, 5, 6 or 10)", 0, 0, 0},
    [OPT_INTERVAL] = {"interval", 0, OPTION_NUMBER, "MS",
                      "milliseconds between two updates (default: 500)", 50, 3600000,
                      500},
    [OPT_WORKFLOW] = {"workflow", 0, OPTION_TEXT, "NAME", "only this workflow", 0, 0,
                      0},
    [OPT_LIMIT] = {"limit", 0, OPTION_NUMBER, "N",
                   "list at most N (default: 10, at most 100)", 1, 100, 10},
    [OPT_OFFSET] = {"offset", 0, OPTION_NUMBER, "N", "skip the first N", 0, INT64_MAX,
                    0},
    [OPT_SORT_RUNS] = {"sort", 0, OPTION_CHOICE, "-started|started",
                       "newest first (default), or oldest first", 0, 0, 0},
    [OPT_SORT_CHECKPOINTS] = {"sort", 0, OPTION_CHOICE, "-seq|seq",
                              "newest first (default), or oldest first", 0, 0, 0},
    [OPT_LIMIT_PER_RUN] = {"limit", 0, OPTION_NUMBER, "N",
                           "show at most N checkpoints of each run (default: 10)", 1,
                           100, 10},
    [OPT_ATTEMPT] = {"attempt", 0, OPTION_NUMBER, "N",
                     "this attempt instead of the newest", 1, UINT32_MAX, 0},
    [OPT_STDOUT] = {"stdout", 0, OPTION_FLAG, NULL, "only what it wrote to stdout", 0,
                    0, 0},
    [OPT_STDERR] = {"stderr", 0, OPTION_FLAG, NULL, "only what it wrote to stderr", 0,
                    0, 0},
    [OPT_FOLLOW] = {"follow", 0, OPTION_FLAG, NULL,
                    "keep printing until the attempt ends", 0, 0, 0},
    [OPT_FOLLOW_RUN] = {"follow", 0, OPTION_FLAG, NULL,
                        "keep printing as long as a process owns the run", 0, 0, 0},
    [OPT_MAINTENANCE] = {"maintenance", 0, OPTION_FLAG, NULL,
                         "what was done to the store instead: gc, repairs", 0, 0, 0},
    [OPT_FORMAT] = {"format", 0, OPTION_CHOICE, "dot|mermaid|json",
                    "language of the graph (default: dot)", 0, 0, 0},
    [OPT_YES] = {"yes", 0, OPTION_FLAG, NULL, "do not ask", 0, 0, 0},
    [OPT_PRUNE_KEEP] = {"keep", 0, OPTION_NUMBER, "N",
                        "keep at least the newest N checkpoints of each run (required)",
                        1, UINT32_MAX, 0},
    [OPT_DRY_RUN] = {"dry-run", 0, OPTION_FLAG, NULL, "only show what would be deleted",
                     0, 0, 0},
    [OPT_NO_WAIT] = {"no-wait", 0, OPTION_FLAG, NULL,
                     "end with exit status 7 once only external tasks are left", 0, 0,
                     0},
    [OPT_SECRETS_FD] = {"secrets-fd", 0, OPTION_NUMBER, "FD",
                        "read secrets, lines of NAME=value, from this descriptor; "
                        "those not given there come from the environment",
                        0, 65535, 0},
    [OPT_WAITING] = {"waiting", 0, OPTION_FLAG, NULL,
                     "list what each task waits for, and how many tasks are behind it",
                     0, 0, 0},
    [OPT_UNDO] = {"undo", 0, OPTION_FLAG, NULL,
                  "list which tasks have an undo, and which do not", 0, 0, 0},
    [OPT_CLAIMED] = {"claimed", 0, OPTION_FLAG, NULL,
                     "also list those that are claimed", 0, 0, 0},
    [OPT_LEASE] = {"lease", 0, OPTION_TIME, "TIME",
                   "how long, such as 30s, 10m or 1h30m (default: 10m)", 1, 0, 600000},
    [OPT_HOLDER] = {"holder", 0, OPTION_TEXT, "NAME",
                    "a name for people (default: user@host)", 0, 0, 0},
    [OPT_TOKEN] =
        {"token", 0, OPTION_TEXT, "TOKEN",
         "what `cairn claim` printed; not needed for a task that was never claimed", 0,
         0, 0},
    [OPT_VALUE] = {"output", 0, OPTION_PAIR, "NAME=VALUE",
                   "a value for later tasks; may be repeated", 0, 0, 0},
    [OPT_MESSAGE] = {"message", 0, OPTION_TEXT, "TEXT", "the reason, for people", 0, 0,
                     0},
    [OPT_REPAIR] =
        {"repair", 0, OPTION_FLAG, NULL,
         "save everything valid in a damaged store into a new one that replaces it", 0,
         0, 0},
    [OPT_HEAD] = {"head", 0, OPTION_TEXT, "FILE",
                  "also compare with what `cairn checkpoint head` printed", 0, 0, 0},
    [OPT_KEEP_RUNS] = {"keep-runs", 0, OPTION_NUMBER, "N",
                       "delete ended runs except the newest N of each workflow", 1,
                       UINT32_MAX, 0},
    [OPT_OLDER_THAN] = {"older-than", 0, OPTION_TIME, "TIME",
                        "delete only runs that ended longer ago, such as 12h or 30d", 1,
                        0, 0},
};

const struct option *option_get(enum option_id id)
{
    return &option_table[id];
}
