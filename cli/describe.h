/* SPDX-License-Identifier: MIT */
/* Runs, checkpoints, attempts and events in words and as JSON (docs/json.md), the same
 * in every command. */
#ifndef CLI_DESCRIBE_H
#define CLI_DESCRIBE_H

#include "cairn.h"
#include "cli/json.h"

/* running, interrupted, waiting (cairn ended normally with work left), completed,
 * failed, cancelled or undone. */
const char *run_state_text(const struct cairn_run_info *run);
/* ended, current (that of commands without --session) or open. */
const char *session_state_text(const struct cairn_session_info *info);
/* Of a task: running, interrupted, or the outcome: the word of --state and of JSON. */
const char *task_state_word(const struct cairn_task_info *task);
/* Whether its times are those of the state that is shown: a task that is pending or
 * skipped now may have run before it was reset. */
bool task_has_own_times(const struct cairn_task_info *task);
/* Milliseconds of all attempts, of one that runs up to now; -1: it has none. */
int64_t task_spent_ms(const struct cairn_task_info *task, int64_t now_ns);
/* The exit status that stands for the state of a run. */
int run_exit_status(const struct cairn_run_info *run);
/* How its failed tasks are counted: in a run that has completed all were handled. */
const char *failed_text(bool completed);
uint32_t run_done(const struct cairn_run_info *run);
/* Members of a run, in an object that is already open. */
void run_document(struct doc *doc, struct cairn_store *store,
                  const struct cairn_run_info *run);
/* `day=2026-01-31 who="you and me"`, cut if it is long; heap, or NULL for none. */
char *params_text(struct cairn_store *store, uint64_t run);
/* What goes on with the run: "cairn resume 3" with the hint behind it, or words where
 * it has functions of a program. Valid until the next call. */
const char *resume_words(struct cairn_store *store, const struct cairn_run_info *run,
                         const char *hint);
/* " FILE" as one types it here, "" if cairn finds it without; heap or NULL. */
char *file_operand(const char *file);
/* What begins a new run of the same file and parameters; heap, NULL: that is not known.
 */
char *fresh_words(struct cairn_store *store, uint64_t run, const char *hint);
/* Whether it has. */
bool run_needs_program(struct cairn_store *store, const struct cairn_run_info *run);

/* Hands a line on each run that is left unfinished and is not live, but for `but` (0:
 * none), to `line`: the first few, then how many more there are. Returns an exit
 * status. */
typedef void unfinished_fn(void *context, const char *text);

int each_unfinished(struct cairn_store *store, const char *hint, uint64_t but,
                    unfinished_fn *line, void *context);
/* One line for the runs of the same workflow as the run `but`, with other params, that
 * were left behind: they wait for an answer, or to be resumed. */
void say_left_behind(struct cairn_store *store, const char *hint, uint64_t but,
                     unfinished_fn *line, void *context);
/* A sentence about a restore that was interrupted, and the command that helps. */
enum { RESTORE_WORDS = 512 };
void unfinished_restore_words(const struct cairn_unfinished_restore *restore,
                              char text[RESTORE_WORDS], char remedy[RESTORE_WORDS]);
/* The label and text that may have many lines: all but the first are indented. */
void print_lines(const char *label, const char *text);
/* The members exit_code (null for -1: none) and signal (null for 0). */
void process_end_document(struct doc *doc, int exit_code, int signal);
void checkpoint_document(struct doc *doc, const struct cairn_checkpoint_info *info);
/* The same in lists, which show what a checkpoint of a session says of itself as far as
 * it fits: the members message and tags. */
void checkpoint_list_document(struct doc *doc,
                              const struct cairn_checkpoint_info *info);

/* For people, in one line: the workflow; or the session, its branch and
 * checkpoint_message. */
enum { CHECKPOINT_LINE_MAX = 1200 };

const char *checkpoint_line(char out[CHECKPOINT_LINE_MAX],
                            const struct cairn_checkpoint_info *info);
/* Behind what people see of it, with two blanks in front: that it is damaged, or lacks
 * something that a repair could not save; or "". */
const char *checkpoint_flaw(const struct cairn_checkpoint_info *info);
/* Of a session: the first line of the message and the tags, each with two blanks in
 * front, or nothing. */
const char *checkpoint_message(char out[CHECKPOINT_LINE_MAX],
                               const struct cairn_checkpoint_info *info);
/* The fields at the end of the document of such a page. */
void doc_page(struct doc *doc, const struct cairn_page *page, uint64_t total);
/* The end of a page of a list: closes and prints the document, or without one (NULL)
 * prints how many were shown of how many; `thing` is "run". Returns an exit status. */
int page_end(struct doc *doc, const struct cairn_page *page, const char *thing,
             uint64_t shown, uint64_t total);

/* One attempt's line on stdout: "  attempt 2  failed  exit 1  0.3s  2026-...". */
void attempt_print(const struct cairn_attempt_info *attempt);
/* Its members, in an object that is already open. */
void attempt_document(struct doc *doc, const struct cairn_attempt_info *attempt);

/* What a setting of a session is for, in one sentence. */
const char *setting_about(const char *name);
/* The parts of what a session takes, by their names, and all of it as the last one; NULL
 * behind that. */
const struct cairn_size *size_part(const struct cairn_session_size *size, size_t i,
                                   const char **name);

/* Adds the members of an event of a run, or of the store. */
void log_event_document(struct doc *doc, const struct cairn_log_event *event);
/* Begins a document and adds those of any event. */
void feed_event_document(struct doc *doc, const struct cairn_feed_event *event);

#endif
