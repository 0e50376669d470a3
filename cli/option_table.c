/* SPDX-License-Identifier: MIT */
/* The table of options. A name that two commands use for different things has two
 * entries. The words of a choice are in the order of the enumeration of include/ that
 * they become. */
#include "cli/options.h"

/* Those without a letter and without a range. */
#define FLAG(name_, help_)                                    \
    {                                                         \
        .name = (name_), .kind = OPTION_FLAG, .help = (help_) \
    }
#define TEXT(name_, value_, help_)                                               \
    {                                                                            \
        .name = (name_), .kind = OPTION_TEXT, .value = (value_), .help = (help_) \
    }
#define CHOICE(name_, words_, help_)                                               \
    {                                                                              \
        .name = (name_), .kind = OPTION_CHOICE, .value = (words_), .help = (help_) \
    }

static const struct option option_table[OPT_NONE] = {
    [OPT_STORE] = TEXT("store", "DIR",
                       "the store to use (default: $CAIRN_STORE, or the .cairn "
                       "directory found here or above)"),
    [OPT_KEY] =
        TEXT("key", "FILE",
             "key file (at least 32 bytes, mode 0600): signs what is stored, so that "
             "tampering is detected (default: $CAIRN_KEY)"),
    [OPT_JSON] = FLAG("json", "print JSON on stdout"),
    [OPT_QUIET] = {"quiet", 'q', OPTION_FLAG, NULL,
                   "print only data, warnings and errors", 0, 0, 0},
    [OPT_HELP] = {"help", 'h', OPTION_FLAG, NULL, "show this help", 0, 0, 0},
    [OPT_VERSION] = {"version", 'V', OPTION_FLAG, NULL, "show the version", 0, 0, 0},
    [OPT_PARAM] = {"param", 0, OPTION_PAIR, "NAME=VALUE",
                   "set a parameter of the workflow; may be repeated", 0, 0, 0},
    [OPT_JOBS] = {"jobs", 'j', OPTION_NUMBER, "N",
                  "run at most N tasks at once (default: the workflow's, or the number "
                  "of processors)",
                  1, 4096, 0},
    [OPT_MEMORY] =
        {"memory", 0, OPTION_SIZE, "SIZE",
         "so much memory have the tasks that run together, as their `memory` "
         "says (default: the workflow's, or what the machine has)",
         1 << 20, INT64_MAX, 0},
    [OPT_FRESH] = FLAG("fresh", "start a new run even if the newest one is unfinished"),
    [OPT_FROM] = TEXT("from", "CHECKPOINT", "start a new run from this checkpoint"),
    [OPT_ON_CHANGE] = CHOICE(
        "on-change", "rerun|keep|refuse",
        "finished tasks whose definition changed: run again, stay finished (and count "
        "as made by the new definition), or stop with exit 4 (default: rerun)"),
    [OPT_CHECK_OUTPUTS] =
        CHOICE("check-outputs", "changed|content|exist",
               "declared outputs of finished tasks: read the content of "
               "those whose size, times or inode changed, of all, or let "
               "it be enough that they exist (default: changed)"),
    [OPT_CHECKPOINT] =
        CHOICE("checkpoint", "best-effort|required",
               "when checkpoints cannot be saved: continue (exit 9), or start "
               "nothing new (default: best-effort)"),
    [OPT_NO_CHECKPOINT] =
        FLAG("no-checkpoint", "record nothing; the run cannot be resumed"),
    [OPT_SYNC] =
        CHOICE("sync", "full|normal|off",
               "full (default) survives a power cut; normal may lose the last tasks in "
               "one; off may lose the store"),
    [OPT_OUTPUT_LIMIT] = {"output-limit", 0, OPTION_SIZE, "SIZE",
                          "keep this much of what each attempt writes, and with "
                          "`stderr: apart` of either stream (default: 1M, at most 1G)",
                          1, 1 << 30, 0},
    [OPT_KEEP] = {"keep", 0, OPTION_NUMBER, "N",
                  "keep the newest N checkpoints when the run ends, and those that "
                  "runs forked from; 0 keeps all (default: 50)",
                  0, UINT32_MAX, 0},
    [OPT_RUN] = {"run", 0, OPTION_NUMBER, "N", "this run instead of the newest", 1,
                 INT64_MAX, 0},
    [OPT_ONLY_RUN] = {"run", 0, OPTION_NUMBER, "N", "only this run", 1, INT64_MAX, 0},
    [OPT_ALL] = FLAG("all", "also list the tasks that will not run"),
    [OPT_COMMANDS] = {"verbose", 'v', OPTION_FLAG, NULL,
                      "also show the command, condition and description of each task",
                      0, 0, 0},
    [OPT_KEEP_GOING] =
        {"keep-going", 'k', OPTION_FLAG, NULL,
         "after a failure, still run what does not need the failed task, "
         "whatever the file says",
         0, 0, 0},
    [OPT_SHOW_OUTPUT] = CHOICE(
        "output", "failed|group|stream|none",
        "show the end of what failed tasks write (default), all that each task has "
        "written when it ends, lines as they come with the task's name in front, or "
        "nothing"),
    [OPT_VERBOSE] = {"verbose", 'v', OPTION_FLAG, NULL,
                     "also print when a task starts, and --output=group; -vv: "
                     "--output=stream",
                     0, 0, 0},
    [OPT_HEARTBEAT] =
        {"heartbeat", 0, OPTION_TIME, "DURATION",
         "off a terminal, print this often what runs, since when, and its "
         "last line (default: 1m; 0s: never)",
         0, OPTION_TIME_LIMIT, 60000},
    [OPT_STOP] =
        FLAG("stop", "after a failure, start nothing more, whatever the file says"),
    [OPT_ONLY] =
        FLAG("only", "not what comes after these tasks: that waits for `cairn resume`"),
    [OPT_RERUN] = FLAG("rerun", "plan `cairn rerun` of these tasks, also with --only"),
    [OPT_TASKS] = FLAG("tasks", "list every task"),
    [OPT_TIMING] = FLAG("timing", "show the slowest tasks and the critical path"),
    [OPT_FOLD] = FLAG("fold", "one node for each group"),
    [OPT_STATES] = FLAG(
        "states", "colour the tasks of the run by their states; in JSON name these"),
    [OPT_ONLY_STATES] =
        TEXT("state", "STATE,...",
             "list only what is in these states, such as failed,running"),
    [OPT_SORT_TASKS] =
        CHOICE("sort", "file|duration|started|name",
               "list tasks in the order of the file (default), the slowest "
               "first, by their start, or by name"),
    [OPT_ALL_TASKS] = FLAG("all", "list every member of groups with more than 20, too"),
    [OPT_CAN_RESUME] =
        FLAG("can-resume",
             "only report whether the run can be resumed (exit 0, 2, 5, 6 or 10)"),
    [OPT_LINE] =
        FLAG("line", "one line, for a prompt: the run, and the current session; "
                     "nothing where there is no store"),
    [OPT_INTERVAL] = {"interval", 0, OPTION_NUMBER, "MS",
                      "milliseconds between two updates (default: 500)", 50, 3600000,
                      500},
    [OPT_WORKFLOW] = TEXT("workflow", "NAME", "only this workflow"),
    [OPT_LIMIT] = {"limit", 0, OPTION_NUMBER, "N",
                   "list at most N (default: 10, at most 100)", 1, 100, 10},
    [OPT_LIMIT_TASKS] = {"limit", 0, OPTION_NUMBER, "N",
                         "list at most N tasks (default: all)", 1, UINT32_MAX,
                         UINT32_MAX},
    [OPT_OFFSET] = {"offset", 0, OPTION_NUMBER, "N", "skip the first N", 0, INT64_MAX,
                    0},
    [OPT_SORT_RUNS] =
        CHOICE("sort", "-started|started", "newest first (default), or oldest first"),
    [OPT_SORT_CHECKPOINTS] =
        CHOICE("sort", "-seq|seq|-created|created",
               "by number or by time, newest first (default: -seq) or "
               "oldest first"),
    [OPT_LIMIT_PER_RUN] =
        {"limit", 0, OPTION_NUMBER, "N",
         "show at most N checkpoints of each run and branch (default: 10)", 1, 100, 10},
    [OPT_ATTEMPT] = {"attempt", 0, OPTION_NUMBER, "N",
                     "this attempt instead of the newest", 1, UINT32_MAX, 0},
    [OPT_STDOUT] = FLAG("stdout", "only its stdout, of a task with `stderr: apart`"),
    [OPT_STDERR] = FLAG("stderr", "only its stderr, of a task with `stderr: apart`"),
    [OPT_FOLLOW] = FLAG("follow", "keep printing until the attempt ends"),
    [OPT_BYTES] =
        TEXT("bytes", "FROM:TO",
             "only these bytes of what was written, TO not among them: 0:1000, 1000: "
             "(to the end) or -1000: (the last 1,000)"),
    [OPT_TIMESTAMPS] = FLAG(
        "timestamps", "each line with the time at which it was there, to about 0.2 s"),
    [OPT_ALL_LOGS] = FLAG("all", "of every task that has started"),
    [OPT_ALL_MAKERS] = FLAG("all", "every attempt that made it, newest runs first"),
    [OPT_FAILED] = FLAG("failed", "only of tasks that have failed"),
    [OPT_FOLLOW_RUN] =
        FLAG("follow",
             "keep printing what happens (of one run: as long as a process owns it)"),
    [OPT_POSITION] =
        TEXT("position", "POSITION", "only what came after this position, or `now`"),
    [OPT_MAINTENANCE] =
        FLAG("maintenance", "what was done to the store instead: gc, repairs"),
    [OPT_EVENT_TYPE] = {"type", 0, OPTION_WORDS, "TYPE",
                        "only events of this type, such as task_finished; may be "
                        "repeated: any of them",
                        0, 0, 0},
    [OPT_FORMAT] =
        CHOICE("format", "dot|mermaid|json", "language of the graph (default: dot)"),
    [OPT_YES] = FLAG("yes", "do not ask"),
    [OPT_PRUNE_KEEP] = {"keep", 0, OPTION_NUMBER, "N",
                        "keep at least the newest N checkpoints of each run (required)",
                        1, UINT32_MAX, 0},
    [OPT_DRY_RUN] = FLAG("dry-run", "only show what would be done"),
    [OPT_STALE] = FLAG(
        "stale",
        "outputs of tasks that are gone from the workflow or skipped now (required)"),
    [OPT_NO_WAIT] =
        FLAG("no-wait", "end with exit status 7 once only external tasks are left"),
    [OPT_NO_REUSE] =
        FLAG("no-reuse", "run tasks with `reuse`, whatever earlier runs did"),
    [OPT_SECRETS_FD] = {"secrets-fd", 0, OPTION_NUMBER, "FD",
                        "read secrets, lines of NAME=value, from this descriptor; "
                        "those not given there come from the environment",
                        0, 65535, 0},
    [OPT_WAITING] = FLAG(
        "waiting", "list what each task waits for, and how many tasks are behind it"),
    [OPT_UNDO] = FLAG("undo", "list which tasks have an undo, and which do not"),
    [OPT_CLAIMED] = FLAG("claimed", "also list those that are claimed"),
    [OPT_LEASE] = {"lease", 0, OPTION_TIME, "TIME",
                   "how long, such as 30s, 10m or 1h30m (default: 10m)", 1,
                   OPTION_TIME_LIMIT, 600000},
    [OPT_ANY] = FLAG("any", "claim whichever task can be done now, instead of TASK"),
    [OPT_WAIT] = {"wait", 0, OPTION_TIME, "TIME",
                  "with --any: wait so long for one that can be claimed (default: not)",
                  0, OPTION_TIME_LIMIT, 0},
    [OPT_CLAIM_EXEC] = TEXT(
        "exec", "CMD",
        "with --any: run this shell command, which reads what to do from stdin, renew "
        "the lease while it runs, and complete the task with the JSON object that it "
        "prints, or fail it by its exit status"),
    [OPT_HOLDER] = TEXT("holder", "NAME", "a name for people (default: user@host)"),
    [OPT_BY] = TEXT("by", "NAME", "who adds or withdraws them (default: user@host)"),
    [OPT_WITHDRAW] = FLAG("withdraw", "take added tasks back: RUN TASK..."),
    [OPT_TOKEN] = TEXT(
        "token", "TOKEN",
        "what `cairn claim` printed; not needed for a task that was never claimed"),
    [OPT_VALUE] = {"output", 0, OPTION_PAIR, "NAME=VALUE",
                   "a value for later tasks; may be repeated", 0, 0, 0},
    [OPT_MESSAGE] = TEXT("message", "TEXT", "the reason, for people"),
    [OPT_REPAIR] = FLAG(
        "repair",
        "save everything valid in a damaged store into a new one that replaces it"),
    [OPT_HEAD] =
        TEXT("head", "FILE", "also compare with what `cairn checkpoint head` printed"),
    [OPT_KEEP_RUNS] = {"keep-runs", 0, OPTION_NUMBER, "N",
                       "delete ended runs except the newest N of each workflow", 1,
                       UINT32_MAX, 0},
    [OPT_ANY_PARAMS] =
        FLAG("any-params", "also delete completed runs that are the newest with their "
                           "params"),
    [OPT_FORGET_LOST] = FLAG(
        "forget-lost", "also delete content that stays because of what a repair lost"),
    [OPT_KEEP_OUTPUTS] = {"keep-outputs", 0, OPTION_SIZE, "SIZE",
                          "delete copies of outputs (`reuse: {keep}`), those last used "
                          "the longest ago first, until the others take no more, such "
                          "as 10G",
                          1, INT64_MAX, 0},
    [OPT_OLDER_THAN] = {"older-than", 0, OPTION_TIME, "TIME",
                        "delete only runs that ended longer ago, such as 12h or 30d", 1,
                        OPTION_TIME_LIMIT, 0},
    [OPT_SESSION] =
        TEXT("session", "SESSION",
             "the session, by name or number (default: $CAIRN_SESSION, or the "
             "current one of the store)"),
    [OPT_NO_SWITCH] =
        FLAG("no-switch", "do not make it the current session of the store"),
    [OPT_AFTER] = {"after", 0, OPTION_NUMBER, "TURN",
                   "only what was done after this turn", 0, INT64_MAX, 0},
    [OPT_PRIOR] =
        TEXT("prior", "P",
             "how likely it is without any evidence, 0 to 1 (0.5 unless given)"),
    [OPT_TAG] = TEXT("tag", "A,B", "tags, separated by commas"),
    [OPT_ONLY_TAG] = TEXT("tag", "TAG", "only those with this tag"),
    [OPT_ONLY_STATUS] = CHOICE("status", "proposed|testing|confirmed|rejected",
                               "only those with this status"),
    [OPT_REASON] = TEXT("reason", "TEXT", "why; - reads it from stdin"),
    [OPT_STATEMENT] =
        TEXT("statement", "TEXT", "the new statement; - reads it from stdin"),
    [OPT_TEXT] = TEXT("text", "TEXT", "the new text; - reads it from stdin"),
    [OPT_STRENGTH] = TEXT(
        "strength", "S",
        "how much it supports (above 0) or refutes (below 0) the hypothesis: -1 to 1 "
        "for an experiment; for a deduction up to 0.7, an observation 0.5, a "
        "reference 0.3, either way, and more is cut to that; the full strength of a "
        "kind multiplies the odds by 9, whatever the kind (required when evidence is "
        "added)"),
    [OPT_EVIDENCE_KIND] =
        CHOICE("kind", "observation|experiment|reference|deduction",
               "where the evidence comes from (observation unless given)"),
    [OPT_SOURCE] =
        TEXT("source", "TEXT",
             "where it was found: a file, a command, a person; - reads it from "
             "stdin"),
    [OPT_HYPOTHESIS] =
        TEXT("hypothesis", "ID", "the hypothesis that it belongs to, such as h1"),
    [OPT_ONLY_HYPOTHESIS] =
        TEXT("hypothesis", "ID", "only those that belong to this hypothesis"),
    [OPT_CONFIDENCE] =
        TEXT("confidence", "C", "how certain it is, 0 to 1 (0.5 unless given)"),
    [OPT_SUBJECT] = TEXT("subject", "TEXT",
                         "what it is about, such as 'cache': to find contradictions"),
    [OPT_CLAIM] = TEXT("claim", "TEXT", "what it says of the subject, such as 'warm'"),
    [OPT_DENIED] = FLAG("denied", "the claim is not true of the subject"),
    [OPT_SET_DENIED] =
        CHOICE("denied", "yes|no",
               "whether it says that the claim is not true of the subject"),
    [OPT_DEPENDENCY_KIND] = CHOICE(
        "kind",
        "implication|cause|evidence|derivation|assumption|measurement|contradicts",
        "what connects the two (implication unless given)"),
    [OPT_GAP_KIND] =
        CHOICE("kind", "assumption|information|contradiction|dependency|other",
               "what is missing (other unless given)"),
    [OPT_CRITICALITY] = CHOICE("criticality", "high|medium|low",
                               "how much depends on it (medium unless given)"),
    [OPT_ALL_GAPS] = FLAG("all", "also those that are filled or closed, newest first"),
    [OPT_SEVERITY] = CHOICE("severity", "info|warning|critical", "how serious it is"),
    [OPT_ABOUT] =
        TEXT("about", "IDS", "the items that it is about, separated by commas: h1,e2"),
    [OPT_ONLY_ABOUT] = TEXT("about", "ID", "only those about this item"),
    [OPT_AT] =
        TEXT("at", "CHECKPOINT|TIME",
             "as it was at this checkpoint, or at the newest one that is not after "
             "this time (default: as it is now)"),
    [OPT_SORT_ITEMS] =
        CHOICE("sort", "-number|number", "newest first (default), or oldest first"),
    [OPT_BRANCH_FROM] =
        TEXT("from", "CHECKPOINT",
             "begin with the state of this checkpoint (default: with the "
             "present one)"),
    [OPT_TRIGGER] = CHOICE("trigger",
                           "manual|compaction-warning|code-modified|tool-call|"
                           "significant-time|files-settled|context-threshold",
                           "what it is made for (default: manual, with --threshold "
                           "context-threshold)"),
    [OPT_SUMMARY] =
        TEXT("summary", "TEXT",
             "what an agent must know first, at most 500 characters; - reads stdin"),
    [OPT_DESCRIPTION] = TEXT("description", "TEXT",
                             "more details, at most 10,000 characters; - reads stdin"),
    [OPT_CONTEXT] = {"context", 0, OPTION_PAIR, "KEY=VALUE",
                     "a part of the context, such as next='run the tests'; may be "
                     "repeated, up to 50 times",
                     0, 0, 0},
    [OPT_STATE] = TEXT("state", "FILE",
                       "a text of at most 1 MiB with all that the agent wants to find "
                       "again; - reads it from stdin"),
    [OPT_TOKENS] = {"tokens", 0, OPTION_NUMBER, "N",
                    "how many tokens that is, as you count them", 0,
                    ((uint64_t)1 << 40) - 1, 0},
    [OPT_THRESHOLD] =
        TEXT("threshold", "USAGE",
             "how full the context of the agent is, 0 to 1 or a percentage: a "
             "checkpoint is made where it has reached 0.25, 0.5, 0.75 or 0.9 "
             "for the first time in the session"),
    [OPT_LEVEL] = CHOICE("level", "summary|context|full",
                         "how much is printed (default: context)"),
    [OPT_ONLY_AUTO] = FLAG(
        "auto-only", "only those of sessions that no person made by hand: automatic "
                     "and scheduled ones"),
    [OPT_SEQ] = {"seq", 0, OPTION_NUMBER, "N", "the checkpoint with this number", 1,
                 INT64_MAX, 0},
    [OPT_TAGGED] = TEXT("tag", "TAG", "only among checkpoints with this tag"),
    [OPT_ANY_TAG] =
        {"any-tag", 0, OPTION_WORDS, "TAG",
         "only among checkpoints with this tag; may be repeated: with any of "
         "them",
         0, 0, 0},
    [OPT_FROM_SEQ] = {"from-seq", 0, OPTION_NUMBER, "N",
                      "only those with this number or a higher one", 1, INT64_MAX, 1},
    [OPT_TO_SEQ] = {"to-seq", 0, OPTION_NUMBER, "N",
                    "only those with this number or a lower one", 1, INT64_MAX, 1},
    [OPT_ONLY_SESSION] =
        TEXT("session", "SESSION", "only those of this session, by its name or number"),
    [OPT_SECTION] =
        CHOICE("section",
               "hypotheses|evidence|beliefs|dependencies|gaps|notes|commands|checks",
               "print only this section"),
    [OPT_PRINT] = FLAG("print", "print a script for sh that does it, without secrets"),
    [OPT_MERGE] =
        CHOICE("take", "union|ours|theirs",
               "of items that both branches changed: field by field, where the "
               "current branch counts for what both changed (default), as the "
               "current one has them, or as the other one has them"),
    [OPT_PATCH] = FLAG(
        "patch", "print the differences of the files as a patch, and nothing else"),
    [OPT_STAT] =
        FLAG("stat", "print lines added and removed of each file, and nothing else"),
    [OPT_RUN_STAT] = FLAG("stat", "print the counts, and nothing else"),
    [OPT_UNIFIED] = {"unified", 'U', OPTION_NUMBER, "N",
                     "lines around each change in a patch (default 3)", 0, 1000000, 0},
    [OPT_BOARD_ONLY] =
        FLAG("board-only", "restore the board, and leave the files as they are"),
    [OPT_HTML] = FLAG("html", "write a page of a run, or of --session, for a browser"),
    [OPT_PAGE_FILE] = {"output", 'o', OPTION_TEXT, "FILE",
                       "write the page to FILE (default: stdout)", 0, 0, 0},
    [OPT_ONLY_TASK] = TEXT("task", "TASK",
                           "only those of this task, or of the members of this group"),
    [OPT_ARTIFACT_DIR] = {"output", 'o', OPTION_TEXT, "DIR",
                          "put them below DIR, which is made (default: here)", 0, 0, 0},
    [OPT_REPLACE] = FLAG("force", "replace files that are there"),
    [OPT_FILES_ONLY] = FLAG("files-only", "restore the files, not the board"),
    [OPT_MESSAGES_ONLY] = FLAG(
        "messages-only", "restore the end of the line of messages, and nothing else"),
    [OPT_RESTORED_PATHS] = TEXT(
        "paths", "GLOB,...",
        "restore only these files, and leave the board and the messages as they are: "
        "patterns as in .gitignore, from the directory of the files, separated by "
        "commas (\\, is a comma); a directory means what is below it"),
    [OPT_RESTORE_ALL] = FLAG(
        "all",
        "also take back what other sessions, or unknown programs, have changed since"),
    [OPT_FINISH] =
        FLAG("finish", "finish a restore that was interrupted, and nothing else"),
    [OPT_FORK_NAME] = TEXT(
        "name", "NAME", "the name of the new branch, or with --to of the new session"),
    [OPT_FORK_TO] =
        TEXT("to", "DIR",
             "put the files into this directory, which is new or empty, and "
             "begin a session whose files these are"),
    [OPT_FORCE] = FLAG("force", "also from a checkpoint that is labelled broken"),
    [OPT_REMOVE] = FLAG("remove", "take the label off"),
    [OPT_PREVIEW] = FLAG("preview", "only show what would change, and a token for it"),
    [OPT_PAGE] = {"page", 0, OPTION_NUMBER, "N",
                  "show this page, of 50 beliefs each (default: 1)", 1, UINT32_MAX, 1},
    [OPT_PREVIEWED] = TEXT("token", "TOKEN",
                           "only if it would still do what the preview with this token "
                           "showed"),
    [OPT_KEEP_LAST] = {"keep-last", 0, OPTION_NUMBER, "N",
                       "of a session: keep the newest N of each branch", 1, UINT32_MAX,
                       0},
    [OPT_KEEP_DAYS] = {"keep-days", 0, OPTION_NUMBER, "D",
                       "of a session: keep those of the last D days", 1, 36500, 0},
    [OPT_MANUAL_TOO] =
        FLAG("manual-too", "of a session: delete manual ones that no rule keeps, too"),
    [OPT_KEEP_HOURLY] =
        FLAG("keep-hourly", "of a session: keep the newest one of each hour (UTC)"),
    [OPT_KEEP_TAG] =
        TEXT("keep-tag", "A,B", "of a session: keep those with one of these tags"),
    [OPT_GOOD] =
        TEXT("good", "CHECKPOINT", "one whose state is known to be good (required)"),
    [OPT_BAD] = TEXT("bad", "CHECKPOINT",
                     "a later one whose state is known to be bad (required)"),
    [OPT_CHECK] = FLAG("check", "first try whether these two are good and bad"),
    [OPT_ALL_SESSIONS] = FLAG("all", "every session of the store"),
    [OPT_CHECK_COMMAND] = TEXT("run", "COMMAND", "the shell command that verifies it"),
    [OPT_CHECK_TIMEOUT] =
        {"timeout", 0, OPTION_TIME, "TIME",
         "end an attempt that takes longer, at most 7d (60s unless given)", 1,
         7ull * 86400000, 60000},
    [OPT_RETRIES] =
        {"retries", 0, OPTION_NUMBER, "N",
         "try again so often where it fails or takes too long (3 unless given)", 0, 100,
         3},
    [OPT_CHECK_STATUS] = CHOICE("status", "pending|passed|failed|timeout|error",
                                "only those with this status"),
    [OPT_ONLY_LABEL] = TEXT("label", "LABEL", "only among checkpoints with this label"),
    [OPT_ROLE] =
        CHOICE("role", "user|assistant|system|tool", "who says it (default: user)"),
    [OPT_MODEL] = TEXT("model", "MODEL", "the model that has written it"),
    [OPT_TOKENS_IN] = {"tokens-in", 0, OPTION_NUMBER, "N",
                       "tokens that went into it (default: 0)", 0,
                       ((uint64_t)1 << 40) - 1, 0},
    [OPT_TOKENS_OUT] = {"tokens-out", 0, OPTION_NUMBER, "N",
                        "tokens that came out (default: 0)", 0, ((uint64_t)1 << 40) - 1,
                        0},
    [OPT_JSON_LINES] =
        FLAG("jsonl", "read messages from stdin, each a JSON object in a line"),
    [OPT_LAST] = {"last", 0, OPTION_NUMBER, "N",
                  "only the last N messages; 0: all (default: 20)", 0, INT64_MAX, 20},
    [OPT_RAW] = FLAG("raw", "print the stored body, byte for byte, instead"),
    [OPT_NEWEST] = {"newest", 'n', OPTION_NUMBER, "N", "only the newest N versions", 1,
                    INT64_MAX, 0},
    [OPT_ALL_BRANCHES] = FLAG("all", "the checkpoints of all branches of the session"),
    [OPT_TAR] = FLAG("tar", "as an archive that `tar -x` takes (POSIX pax)"),
    [OPT_PATHS] =
        TEXT("paths", "GLOB,...",
             "only these files: patterns as in .gitignore, from the directory of "
             "the files, separated by commas (\\, is a comma); a directory means "
             "what is below it"),
    [OPT_IGNORE_CASE] = {"ignore-case", 'i', OPTION_FLAG, NULL,
                         "ignore the case of ASCII letters", 0, 0, 0},
    [OPT_FIXED] = {"fixed", 'F', OPTION_FLAG, NULL,
                   "the pattern is plain text, not a regular expression", 0, 0, 0},
    [OPT_WORKTREE] = FLAG("worktree", "with the files as they are on disk now"),
    [OPT_COLOR] =
        CHOICE("color", "auto|always|never",
               "colors on stdout (default: on a terminal, unless $NO_COLOR is set)"),
    [OPT_ALL_CHECKS] = FLAG("all", "every check of the session"),
    [OPT_STRATEGY] =
        CHOICE("strategy", "smart|per_tool_use|per_prompt|manual",
               "of a session that is started for an agent: when its work is "
               "checkpointed (default: smart)"),
    [OPT_TIME_LIMIT] = {"time-limit", 0, OPTION_TIME, "TIME",
                        "give up after this time; a wait for a lock may take a fifth "
                        "of this time (default: 50s)",
                        100, 3600000, 50000},
    [OPT_PRINT_HOOKS] = FLAG("print", "only print the settings, to be pasted"),
    [OPT_REMOVE_HOOKS] = FLAG("remove", "take the entries of cairn out again"),
    [OPT_PROMETHEUS] = FLAG("prometheus", "print the text format of Prometheus"),
    [OPT_IN] =
        CHOICE("in", "sessions|runs|logs|files|messages|board",
               "only there: sessions with their checkpoints and notes; runs with "
               "their tasks; output of tasks; files of checkpoints; messages; boards "
               "with commands that were run"),
    [OPT_ALL_TAGS] = {"tag", 0, OPTION_WORDS, "TAG",
                      "only what has exactly this tag; may be repeated: all of them", 0,
                      0, 0},
    [OPT_SINCE] = TEXT("since", "TIME",
                       "only what is not older: '2 hours ago', '2025-01-20 14:30'"),
    [OPT_UNTIL] = TEXT("until", "TIME", "only what is not newer"),
    [OPT_PROJECT] =
        TEXT("project", "DIR", "only what belongs to this directory or one below it"),
    [OPT_HITS] = {"hits", 'k', OPTION_NUMBER, "N", "print the N nearest (default: 5)",
                  1, 100, 5},
    [OPT_REBUILD] = FLAG("rebuild", "make the index anew instead of searching"),
    [OPT_CONTEXTD] = FLAG(
        "contextd", "with --json: also the fields that contextd's tools answer with"),
    [OPT_TOOLS] =
        TEXT("tools", "SET,...",
             "offer these sets of tools: checkpoint, session, board, run, task (the "
             "default), files, branch, message, exec, store, all"),
    [OPT_READ_ONLY] = FLAG("read-only", "offer only tools that change nothing"),
    [OPT_CALL_LIMIT] = {"time-limit", 0, OPTION_TIME, "TIME",
                        "end a call that takes longer (default: 2m)", 1000, 86400000,
                        120000},
    [OPT_LISTEN] =
        TEXT("listen", "HOST:PORT",
             "serve clients over HTTP there instead, such as 127.0.0.1:0 (any "
             "free port)"),
    [OPT_WEB_LISTEN] = TEXT("listen", "HOST:PORT",
                            "serve there (default: 127.0.0.1:0, any free port)"),
    [OPT_OPEN] = FLAG("open", "open it in $BROWSER, or by xdg-open"),
    [OPT_IDLE] = {"idle", 0, OPTION_TIME, "TIME",
                  "end when no page was asked for so long (default: never)", 1000,
                  OPTION_TIME_LIMIT, 0},
    [OPT_TOKEN_FILE] = TEXT("token-file", "FILE",
                            "the token of clients over HTTP; made if it is missing "
                            "(default: mcp.token in the store)"),
    [OPT_ALLOW_REMOTE] = FLAG(
        "allow-remote", "let --listen be reached from other machines, unencrypted"),
    [OPT_WEB] =
        FLAG("web", "with --listen: show pages to a browser, too, as `cairn web` "
                    "does"),
    [OPT_ALLOW_CHANGES] =
        FLAG("allow-changes", "let pages resume, cancel and undo runs, complete tasks, "
                              "restore checkpoints, and more"),
    [OPT_ALLOW_HOST] =
        TEXT("allow-host", "NAME,...",
             "names of this machine by which clients over HTTP may call it"),
};

const struct option *option_get(enum option_id id)
{
    return &option_table[id];
}
