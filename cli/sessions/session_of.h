/* SPDX-License-Identifier: MIT */
/* The session and the store that a command works on, the texts that it is given, and
 * what other sessions have changed since a checkpoint. */
#ifndef CLI_SESSIONS_SESSION_OF_H
#define CLI_SESSIONS_SESSION_OF_H

#include "base/str.h"
#include "cairn.h"
#include "cli/json.h"
#include "cli/options.h"

#include <limits.h>

struct others_changed {
    struct other_changed *at; /* heap */
    size_t n;
    char **warnings; /* heap, as are the texts */
    size_t n_warnings;
    bool failed; /* out of memory */
};

/* For struct cairn_restore_options: the context is a struct others_changed. */
void others_note(void *context, const struct cairn_restore_other *other);
/* Warns, and notes the warning. */
void others_kept(void *context, const char *path, const char *what);
/* The array "warnings". */
void warnings_document(struct doc *doc, const struct others_changed *others);
/* The array "others". */
void others_document(struct doc *doc, const struct others_changed *others);
/* On stderr, not with --json. */
void others_say(const struct others_changed *others);
void others_release(struct others_changed *others);

/* What a command needs of the store. */
enum store_use { STORE_READ, STORE_WRITE_IF_POSSIBLE, STORE_WRITE, STORE_CREATE };

/* From --session, or from $CAIRN_SESSION if that is not empty; or NULL: the current one
 * of the store. */
const char *session_option(const struct settings *settings);
/* The same from the operand, where there is one. Returns an exit status, after printing
 * what is wrong. */
int session_operand(const struct settings *settings, const char **session);
/* Behind a command line: the next one may not be in the directory of a fork. */
void session_forget_fork(void);
/* Says on stderr that $CAIRN_SESSION names the session of the commands that follow. */
void session_say_variable(void);
/* Opens settings->store; main runs the hooks and closes it. Sessions have no key:
 * $CAIRN_KEY does not apply, and the library refuses --key where something is written.
 * Returns an exit status, after printing what is wrong. */
int session_store(struct settings *settings, enum store_use use);
/* The directory of the store, where that is a project: the store is its .cairn, we are
 * in it, and it is not / or the home directory, unless git or a workflow is at home
 * there. False: it is none. */
bool project_of(const struct cairn_store *store, char out[PATH_MAX]);
/* The checkpoint that a text names: an id or number as it is, else any name that
 * cairn_moment takes, whose id is put into `id`. *out is one of the two. Returns an
 * exit status, after printing what is wrong. */
bool looks_like_checkpoint(const char *text);
int session_checkpoint_of(struct cairn_store *store, const char *session,
                          const char *text, char id[CAIRN_ID_MAX], const char **out);
/* The same in the session of the command. */
int checkpoint_named(const struct settings *settings, const char *text,
                     char id[CAIRN_ID_MAX], const char **out);
/* The same of the n-th operand, or of the value of an option, where there is one: that
 * becomes the id. Of at most two in a command. */
int checkpoint_operand(struct settings *settings, int n);
int checkpoint_option(struct settings *settings, enum option_id option);
/* The newest checkpoint of the current branch, or the one that the branch began with;
 * "" if there is none. A code of the library. */
int session_newest(struct cairn_store *store, const char *session,
                   char id[CAIRN_ID_MAX], struct cairn_error *error);

/* Texts from the command line, of which one may be `-`: all of stdin. */
struct texts {
    const char *command; /* for messages */
    struct buf from_stdin;
};

/* `given`, or what stdin has, without a line break at its end. Returns an exit status,
 * after printing what is wrong: more than TEXT_STDIN_MAX bytes, a NUL, nothing at all.
 */
int texts_take(struct texts *texts, const char *given, const char **out);
/* All of stdin, without a byte order mark before it and a line break at its end; if that
 * is more than `most` bytes, so many that it is seen. Ended by a NUL, in `in`. */
int stdin_text(size_t most, struct buf *in, struct str *text);
/* How many bytes of a text are a byte order mark at its begin: 3 or 0. */
size_t text_mark(const char *text, size_t n);
void texts_release(struct texts *texts);

/* The parts of "a,b" without the blanks around them; empty ones are left out. Of the
 * array and the text both are heap. */
struct word_list {
    const char **words;
    size_t n;
    char *text;
};

/* False: out of memory, which was printed. `given` may be NULL. */
bool word_list_init(struct word_list *list, const char *given);
void word_list_release(struct word_list *list);

#endif
