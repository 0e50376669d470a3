/* SPDX-License-Identifier: MIT */
/* Lists of names of environment variables, or of other texts, with commas between them,
 * as settings have them. Pure. */
#ifndef SESSION_OUTSIDE_H
#define SESSION_OUTSIDE_H

#include "base/memory.h"
#include "base/str.h"
#include "secrets/outside.h"

/* The first name of a list, taken off the list; len 0: there is none. */
struct str next_name(struct str *list);
/* No name or several, each once, of at most 4096 bytes together. */
bool is_name_list(struct str list);
/* The same where NAME* is one, too: all that begin with NAME. */
bool is_pattern_list(struct str list);
/* No text or several, each once, of `most` bytes at most and without control
 * characters. */
bool is_text_list(struct str list, size_t most);

/* The secrets that a session knows: values of variables. */

/* Values that are not stored. Names have commas between them, and mean what the
 * variables have in our environment. */
struct hidden_values {
    struct str names;           /* that the settings of the session list */
    struct str declared;        /* that workflows of the store declare as secrets */
    const struct secret *given; /* secrets that a run got in another way */
    size_t n_given;
};

/* CAIRN_EUSAGE: one that the settings list is too short to be found again. A declared
 * secret that is, which a run refuses, is passed over. */
int redactor_of_values(const struct hidden_values *hidden, struct redactor **out,
                       struct cairn_error *error);

/* The kinds of events for which a session can have a hook. Pure. */

/* Stored in settings: never renumbered. */
enum { HOOK_KINDS = 16, HOOK_BYTES = 4096 };

/* "checkpoint"; of a number below HOOK_KINDS. */
const char *hook_kind_name(unsigned kind);
/* HOOK_KINDS: there is none of that name. */
unsigned hook_kind_parse(struct str name);
/* May it be a command: text of at most HOOK_BYTES without NUL, and not empty? */
bool hook_is_command(struct str command);

/* The environment at a checkpoint: the working directory and the variables that the
 * setting "environment" of the session lists, without secrets. It is a section of its
 * own, which is not a state: it makes no checkpoint, and nothing is restored from it.
 *
 *   byte    version: 1
 *   lstr    working directory; empty: it was gone
 *   varint  number of variables, for each in ascending order of names:
 *           lstr name (not empty), lstr value
 *
 * All are UTF-8 without NUL. */

enum { SECTION_ENVIRONMENT = 32 }; /* its kind, behind those of items */

#define ENVIRONMENT_CUT "[...]"

struct environment_variable {
    struct str name, value; /* texts that end with a NUL */
};

struct environment {
    struct str directory;
    struct environment_variable *at;
    uint32_t n;
};

/* That of this process, of the variables that a list of the settings names, as bytes.
 * Those that a workflow declares as secrets are left out. Hidden values are taken out
 * wherever they stand; where one that the settings list is too short for that, no value
 * is kept. *n: the variables. */
int environment_encode(struct str names, const struct hidden_values *hidden,
                       struct buf *out, uint32_t *n, struct cairn_error *error);
/* Untrusted bytes: CAIRN_EDAMAGED. Everything is copied into the arena. */
int environment_decode(struct arena *arena, struct str bytes, struct environment *out,
                       struct cairn_error *error);

/* The context of an agent that a checkpoint keeps, as bytes: what somebody says of it,
 * and where git was. It is a section of its own, which is not a state: two checkpoints
 * that differ in it alone have the same state. Nothing is restored from it.
 *
 *   byte    version: 1
 *   lstr    summary, at most 500 characters
 *   lstr    description, at most 10,000 characters
 *   varint  number of pairs, at most 50, for each in ascending order of keys:
 *           lstr key, 1 to 50 characters, none a control character;
 *           lstr value, at most 500 characters
 *   lstr    full state, at most 1 MiB
 *   varint  0: no number of tokens; else one more than that number, which is below 2^40
 *   varint  0: no usage; else one more than the usage in millionths, at most 1,000,000
 *   byte    the threshold that the usage has crossed, in percent: 25, 50, 75, 90; 0:
 *           none
 *   lstr    branch of git, at most 1,024 bytes
 *   lstr    commit of git: nothing, or 40 or 64 hex digits in lower case
 *
 * All are UTF-8 without NUL; empty ones were not given, and not all are. Pure. */

enum { SECTION_CONTEXT = 35 }; /* its kind */

enum { CONTEXT_PAIRS = 50 }; /* at most, of each ... */

enum { CONTEXT_STATE = 1 << 20, CONTEXT_BRANCH = 1024 }; /* bytes */

enum { CONTEXT_TOKENS_BITS = 40, CONTEXT_USAGE_ALL = 1000000 }; /* millionths */

struct context_pair {
    struct str key, value;
};

struct context {
    struct str summary, description, state; /* texts of an arena end with a NUL */
    struct context_pair *pairs;
    uint32_t n_pairs;
    bool has_tokens, has_usage;
    uint64_t tokens;   /* as the caller counts them */
    uint32_t usage;    /* of the window of the context, in millionths */
    uint8_t threshold; /* percent */
    struct str branch, commit;
};

/* Of the usage: in percent, ascending. */
enum { CONTEXT_THRESHOLDS = 4 };

extern const struct context_threshold {
    uint8_t percent;
    const char *text; /* "25" */
} context_thresholds[CONTEXT_THRESHOLDS];

/* How many texts somebody gave: each pair counts as one. */
uint32_t context_given(const struct context *context);
bool context_has_any(const struct context *context);
/* Of all texts that were given: their bytes / 4, rounded up. */
uint64_t context_estimate(const struct context *context);
/* The highest threshold that a usage reaches, in percent, 0: none. */
uint8_t context_threshold(uint32_t usage);
uint64_t context_characters(struct str text); /* of UTF-8 */
/* CAIRN_EUSAGE: what does not fit the limits, which is named. */
int context_check(const struct context *context, struct cairn_error *error);
/* Appends. The pairs may stand in any order; they are sorted. CAIRN_EUSAGE as
 * context_check, and where nothing at all is there. */
int context_encode(struct context *context, struct buf *out, struct cairn_error *error);
/* Untrusted bytes: CAIRN_EDAMAGED. Everything is copied into the arena. */
int context_decode(struct arena *arena, struct str bytes, struct context *out,
                   struct cairn_error *error);

/* Where git is: the branch and the commit of the repository that a directory lies in,
 * by reading its files (gitrepository-layout(5)). No process is started, nothing is
 * written, and how much is read is bounded. What cannot be read is not told: that git
 * is damaged, or is of a kind that is not known (reftable), is not an error. */

enum { GIT_NAME_BYTES = 1024, GIT_COMMIT_BYTES = 64 };

struct git_head {
    char branch[GIT_NAME_BYTES + 1]; /* "main"; empty: HEAD is on none, no repository */
    char commit[GIT_COMMIT_BYTES + 1]; /* hex; empty: the branch has none yet */
};

/* Of the repository in `directory` or the nearest one above. CAIRN_ENOMEM alone. */
int git_head_read(const char *directory, struct git_head *out,
                  struct cairn_error *error);
/* The work tree that `directory` lies in: its root, and the directory of git that all
 * work trees of the repository share (perhaps with `..` in it). 1: there is one, 0:
 * none, CAIRN_ENOMEM. */
int git_work_tree(const char *directory, struct buf *root, struct buf *common,
                  struct cairn_error *error);

#endif
