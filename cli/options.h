/* SPDX-License-Identifier: MIT */
/* Options of the command line: one table, one parser. A command names the options
 * it takes by id; values are found in `struct settings` under the same id. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cairn.h"

enum option_id {
    OPT_STORE, /* the first five are taken by every command */
    OPT_KEY,
    OPT_JSON,
    OPT_QUIET,
    OPT_HELP,
    OPT_VERSION,
    OPT_PARAM,
    OPT_JOBS,
    OPT_MEMORY,
    OPT_FRESH,
    OPT_FROM,
    OPT_ON_CHANGE,
    OPT_CHECK_OUTPUTS,
    OPT_CHECKPOINT,
    OPT_NO_CHECKPOINT,
    OPT_SYNC,
    OPT_OUTPUT_LIMIT,
    OPT_KEEP,
    OPT_RUN,
    OPT_ONLY_RUN,
    OPT_ALL,
    OPT_COMMANDS,
    OPT_KEEP_GOING,
    OPT_SHOW_OUTPUT,
    OPT_VERBOSE,
    OPT_HEARTBEAT,
    OPT_STOP,
    OPT_ONLY,
    OPT_RERUN,
    OPT_TASKS,
    OPT_TIMING,
    OPT_FOLD,
    OPT_STATES,
    OPT_ONLY_STATES,
    OPT_SORT_TASKS,
    OPT_ALL_TASKS,
    OPT_CAN_RESUME,
    OPT_LINE,
    OPT_INTERVAL,
    OPT_WORKFLOW,
    OPT_LIMIT,
    OPT_LIMIT_TASKS,
    OPT_OFFSET,
    OPT_SORT_RUNS,
    OPT_SORT_CHECKPOINTS,
    OPT_LIMIT_PER_RUN,
    OPT_ATTEMPT,
    OPT_STDOUT,
    OPT_STDERR,
    OPT_FOLLOW,
    OPT_BYTES,
    OPT_TIMESTAMPS,
    OPT_ALL_LOGS,
    OPT_ALL_MAKERS,
    OPT_FAILED,
    OPT_FOLLOW_RUN,
    OPT_POSITION,
    OPT_MAINTENANCE,
    OPT_EVENT_TYPE,
    OPT_FORMAT,
    OPT_YES,
    OPT_PRUNE_KEEP,
    OPT_DRY_RUN,
    OPT_STALE,
    OPT_NO_WAIT,
    OPT_NO_REUSE,
    OPT_SECRETS_FD,
    OPT_WAITING,
    OPT_UNDO,
    OPT_CLAIMED,
    OPT_LEASE,
    OPT_ANY,
    OPT_WAIT,
    OPT_CLAIM_EXEC,
    OPT_HOLDER,
    OPT_BY,
    OPT_WITHDRAW,
    OPT_TOKEN,
    OPT_VALUE,
    OPT_MESSAGE,
    OPT_REPAIR,
    OPT_HEAD,
    OPT_KEEP_RUNS,
    OPT_ANY_PARAMS,
    OPT_FORGET_LOST,
    OPT_KEEP_OUTPUTS,
    OPT_OLDER_THAN,
    OPT_SESSION, /* from here on: debugging sessions */
    OPT_NO_SWITCH,
    OPT_AFTER,
    OPT_PRIOR,
    OPT_TAG,
    OPT_ONLY_TAG,
    OPT_ONLY_STATUS,
    OPT_REASON,
    OPT_STATEMENT,
    OPT_TEXT,
    OPT_STRENGTH,
    OPT_EVIDENCE_KIND,
    OPT_SOURCE,
    OPT_HYPOTHESIS,
    OPT_ONLY_HYPOTHESIS,
    OPT_CONFIDENCE,
    OPT_SUBJECT,
    OPT_CLAIM,
    OPT_DENIED,
    OPT_SET_DENIED,
    OPT_DEPENDENCY_KIND,
    OPT_GAP_KIND,
    OPT_CRITICALITY,
    OPT_ALL_GAPS,
    OPT_SEVERITY,
    OPT_ABOUT,
    OPT_ONLY_ABOUT,
    OPT_AT,
    OPT_SORT_ITEMS,
    OPT_BRANCH_FROM,
    OPT_TRIGGER,
    OPT_SUMMARY,
    OPT_DESCRIPTION,
    OPT_CONTEXT,
    OPT_STATE,
    OPT_TOKENS,
    OPT_THRESHOLD,
    OPT_LEVEL,
    OPT_ONLY_AUTO,
    OPT_SEQ,
    OPT_TAGGED,
    OPT_ANY_TAG,
    OPT_FROM_SEQ,
    OPT_TO_SEQ,
    OPT_ONLY_SESSION,
    OPT_SECTION,
    OPT_PRINT,
    OPT_MERGE,
    OPT_PATCH,
    OPT_STAT,
    OPT_RUN_STAT,
    OPT_UNIFIED,
    OPT_BOARD_ONLY,
    OPT_HTML,
    OPT_PAGE_FILE,
    OPT_ONLY_TASK,
    OPT_ARTIFACT_DIR,
    OPT_REPLACE,
    OPT_FILES_ONLY,
    OPT_MESSAGES_ONLY,
    OPT_RESTORED_PATHS,
    OPT_RESTORE_ALL,
    OPT_FINISH,
    OPT_FORK_NAME,
    OPT_FORK_TO,
    OPT_FORCE,
    OPT_REMOVE,
    OPT_PREVIEW,
    OPT_PAGE,
    OPT_PREVIEWED,
    OPT_KEEP_LAST,
    OPT_KEEP_DAYS,
    OPT_KEEP_HOURLY,
    OPT_MANUAL_TOO,
    OPT_KEEP_TAG,
    OPT_GOOD,
    OPT_BAD,
    OPT_CHECK,
    OPT_ALL_SESSIONS,
    OPT_CHECK_COMMAND,
    OPT_CHECK_TIMEOUT,
    OPT_RETRIES,
    OPT_CHECK_STATUS,
    OPT_ALL_CHECKS,
    OPT_ONLY_LABEL,
    OPT_ROLE,
    OPT_MODEL,
    OPT_TOKENS_IN,
    OPT_TOKENS_OUT,
    OPT_JSON_LINES,
    OPT_LAST,
    OPT_RAW,
    OPT_NEWEST, /* from here on: files of checkpoints */
    OPT_ALL_BRANCHES,
    OPT_TAR,
    OPT_PATHS,
    OPT_IGNORE_CASE,
    OPT_FIXED,
    OPT_WORKTREE,
    OPT_COLOR,
    OPT_STRATEGY,
    OPT_TIME_LIMIT,
    OPT_PRINT_HOOKS,
    OPT_REMOVE_HOOKS,
    OPT_PROMETHEUS,
    OPT_IN, /* from here on: search */
    OPT_ALL_TAGS,
    OPT_SINCE,
    OPT_UNTIL,
    OPT_PROJECT,
    OPT_HITS,
    OPT_REBUILD,
    OPT_CONTEXTD,
    OPT_TOOLS,
    OPT_READ_ONLY,
    OPT_CALL_LIMIT,
    OPT_LISTEN,
    OPT_WEB_LISTEN,
    OPT_OPEN,
    OPT_IDLE,
    OPT_TOKEN_FILE,
    OPT_ALLOW_REMOTE,
    OPT_WEB,
    OPT_ALLOW_CHANGES,
    OPT_ALLOW_HOST,
    OPT_NONE /* ends a list, and counts */
};

#define OPT_GLOBALS OPT_VERSION

enum option_kind {
    OPTION_FLAG,
    OPTION_TEXT,
    OPTION_NUMBER, /* decimal, within low and high */
    OPTION_SIZE,   /* bytes: 4096, 64K, 10M, 1G */
    OPTION_CHOICE, /* one of value's words; number is its index */
    OPTION_TIME, /* milliseconds: 500ms, 10s, 5m, 2h, 1d, 1m30s; within low and high */
    OPTION_PAIR, /* NAME=VALUE, may be given several times */
    OPTION_WORDS /* text, may be given several times: names in `params` */
};

struct option {
    const char *name; /* long, without dashes */
    char letter;      /* short, or 0 */
    enum option_kind kind;
    const char *value; /* as shown in help; the words of a choice */
    const char *help;
    uint64_t low, high, initial;
};

#define OPTION_TIME_LIMIT (366ull * 86400 * 1000)
#define OPERANDS_MAX 1024

/* For the help of commands that take a checkpoint: what session_of.h finds. */
#define CHECKPOINT_NAMES                                                           \
    "A checkpoint is given by its id, its number, `head` (`head~2` is two before " \
    "it), "                                                                        \
    "a label, a tag, a branch, the beginning of its message, or a time such as "   \
    "'2 hours ago'."

struct settings {
    const char *command; /* its name, for messages; NULL before it is known */
    bool given[OPT_NONE];
    uint64_t number[OPT_NONE]; /* of a flag: how often it was given */
    const char *text[OPT_NONE];
    struct cairn_param *params; /* OPTION_PAIR, OPTION_WORDS; settings_release frees */
    size_t n_params;
    const char *operands[OPERANDS_MAX]; /* point into argv, or into `meant` */
    int n_operands;
    char meant[2][48]; /* ids of checkpoints that were named in words: session_of.c */
    int n_meant;
    const char *store_named;   /* --store, even before it was parsed; NULL: not given */
    struct cairn_store *store; /* if the command has opened it here, main closes it */
    bool hooks;                /* and runs the hooks of the session before */
    const char *workflow_file; /* a new store comes beside it; NULL: none is known */
    char *const *rest; /* the arguments behind `--` of a command that takes a command
                          there, ended by NULL; NULL: there is no `--` */
};

struct command;

const struct option *option_get(enum option_id id);
void settings_init(struct settings *settings);
void settings_release(struct settings *settings);
/* Takes the arguments of one command. With `command` NULL only global options are
 * known and parsing stops at the first operand. Returns how many arguments were used,
 * or ARGUMENT_REFUSED. */
int settings_parse(struct settings *settings, const struct command *command, int argc,
                   char **argv);
/* Whether the n-th operand may be the number of a run, in the place of --run. */
bool operand_may_be_run(const struct settings *settings, int n);
/* Moves the n-th operand to the front; takes the first one for --run. */
void operand_to_front(struct settings *settings, int n);
void operand_as_run(struct settings *settings);
/* Whether the n-th operand, which names a run, is a workflow file: it stands for its
 * newest run. A task may well have a directory of its name. */
bool operand_is_file(const struct settings *settings, int n);
/* The n-th operand as the number of a run; prints what is wrong otherwise. */
bool number_operand(const struct settings *settings, int n, uint64_t *out);

#endif
