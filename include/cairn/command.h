/* SPDX-License-Identifier: MIT */
/* cairn: commands that a session runs and records, and checks, which are commands that
 * verify something. Both are items of the board (cairn/board.h).
 *
 * What is stored has no secrets: values of the environment variables that the setting
 * "redact" of the session names or that a workflow of the store declares as secrets,
 * and what looks like a key, a token or a password, are replaced by [REDACTED] in
 * commands and outputs. Of each output the last 4 KiB are stored; bytes that are no
 * UTF-8 become \xNN. */
#ifndef CAIRN_COMMAND_H
#define CAIRN_COMMAND_H

#include "board.h"
#include "checkpoint.h"
#include "error.h"
#include "store.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the process that runs a command does for it; all may be NULL. */
struct cairn_command_host {
    /* A handler puts the number of a signal here. It is passed on to the command, and
     * the place becomes 0 again. SIGTERM and SIGHUP end the call, too: what has not
     * ended 10 s later is killed. */
    volatile sig_atomic_t *signal;
    /* The command was stopped (Ctrl-Z): stop this process, too, and return when it goes
     * on. NULL: the command stays stopped until somebody else lets it go on. */
    void (*suspend)(void *context);
    void *context;
};

struct cairn_exec {
    const char *const *argv; /* ends with NULL; argv[0] is looked for in PATH */
    int out, err;            /* where its output goes, such as 1 and 2; -1: nowhere */
    struct cairn_command_host host;
};
struct cairn_exec_result {
    bool ran;      /* it could be executed */
    int exit_code; /* as a shell has it: 128 + n for signal n, 127: it was not found,
                      126: it could not be executed */
    int64_t duration_ms;
    char id[CAIRN_ITEM_ID_MAX];    /* of its item, or "" */
    char checkpoint[CAIRN_ID_MAX]; /* made by itself because of it, or "" */
    uint64_t pruned;  /* checkpoints that went then, by the settings of the session */
    char reason[512]; /* why it could not be executed, or "" */
    int output_error; /* errno of writing its output to `out` or `err`: some of it is
                         missing there. 0: none; that nobody reads there is none */
};
/* Runs a command as a part of the caller's job: with its stdin, terminal, directory,
 * environment and process group, and with a terminal for each output that is one. What
 * it writes is passed on at once and unchanged. When it has ended it is recorded as an
 * item of the session. If the caller dies meanwhile, the command is killed, with all
 * that it has started, and nothing is recorded.
 * CAIRN_ENOTFOUND, CAIRN_EUSAGE (the session has ended; a value that is to be redacted
 * has less than 6 bytes): nothing was run. If it cannot be recorded the code says why,
 * and the result says how it ended (`ran`, exit_code). */
CAIRN_API int cairn_session_exec(struct cairn_store *store, const char *session,
                                 const struct cairn_exec *exec,
                                 struct cairn_exec_result *result,
                                 struct cairn_error *error);

struct cairn_check_result {
    char id[CAIRN_ITEM_ID_MAX];
    const char *status; /* "passed", "failed", "timeout" or "error" */
    int exit_code;      /* -1: it was ended by its limit, or could not be run */
    uint32_t attempts;
    int64_t duration_ms;              /* of all attempts, and the pauses between them */
    char evidence[CAIRN_ITEM_ID_MAX]; /* that was added to its hypothesis, or "" */
    char checkpoint[CAIRN_ID_MAX];
    uint64_t pruned; /* as above */
};
/* Runs the command of a check with sh, in the caller's directory, without a terminal
 * and with an empty stdin, and records how it ended. An attempt that takes longer than
 * the check's timeout is ended with its whole process group. One that fails, or takes
 * too long, is made again after 100 ms, 200 ms and so on, up to 30 s, times 0.5 to 1.5,
 * as often as the check has retries. Where the check has a hypothesis that gets a piece
 * of evidence of the kind experiment: 1 if it passed, -1 if it failed; a check that
 * took too long or could not be run says nothing. CAIRN_ENOTFOUND: there is no such
 * check. */
CAIRN_API int cairn_check_run(struct cairn_store *store, const char *session,
                              const char *id, const struct cairn_command_host *host,
                              struct cairn_check_result *result,
                              struct cairn_error *error);

#ifdef __cplusplus
}
#endif
#endif
