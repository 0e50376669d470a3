/* SPDX-License-Identifier: MIT */
/* The state of parsing one workflow file. Nodes, and everything that is only needed
 * while parsing, live in parser.scratch; the definition's text is copied into its own
 * arena. Every function of the parser that returns int returns 0 or a negative code
 * with the error filled.
 *
 * Order matters: params, secrets, env, defaults and pools are read before tasks, the
 * foreach keys of all tasks before any of their needs, and all needs before the names
 * of other tasks in expressions are checked.
 *
 * Reading nodes of an expected kind and type: `what` names the value in messages. Each
 * function returns 0, or a negative code with the error filled and *out unchanged. */
#ifndef WORKFLOW_EXPECT_INT_H
#define WORKFLOW_EXPECT_INT_H

#include "graph/definition.h"
#include "workflow/parse.h"
#include "workflow/yaml.h"

struct command_shell {
    struct str *words;
    uint32_t n;
};

struct thresholds {
    uint32_t min, warn; /* of a check's confidence, in permille */
};

/* The name of a task in ${{ }} or `if`, which is checked when all needs are known. */
struct pending {
    const struct node *node;
    struct str text;
    size_t at; /* of the name in the text */
    const struct name *name;
    uint32_t def;
};

/* A task's own node, and those in it that are needed again after it was read. */
struct task_nodes {
    const struct node *task;
    const struct node *needs, *needs_all, *when; /* values, or NULL; of needs_all the
                                                    key */
};

/* The mappings that have a key: bits. */
enum { KEY_OF_TOP = 1, KEY_OF_TASK = 2, KEY_OF_DEFAULTS = 4 };

struct pool_uses {
    struct pool_use *at; /* as in task_def */
    uint32_t n;
};

/* A template, with the keys of those that it extends. */
struct template
{
    const struct node *key;
    const struct node *map;
    bool used;
};

/* What an included file is given for one of its params. */
struct given_param {
    const struct node *key;
    struct str value;
};

/* A file that the workflow is read from: its own one, the first, or an included one.
 * Names and paths in it are its own. */
struct workflow_file {
    struct source source;
    struct str scope;    /* of its tasks and params (name_scope) */
    const char *root;    /* its directory, absolute */
    struct str cwd_root; /* the same as a `cwd`: "" for the workflow's own */
    const char *real;    /* resolved path; "" if there is none */
    uint32_t index, depth;
    struct workflow_file *parent; /* NULL: the workflow's own; */
    const struct node *include;   /* else where it is included, */
    struct given_param *given;    /* [n_given] and with what */
    uint32_t n_given;
    const struct node *needs; /* of all its tasks, but `finally`; or NULL */
    const struct node *tasks, *finally, *secrets_list, *pools_map; /* or NULL */
    struct str *secrets; /* [n_secrets] sorted: those that it declares */
    uint32_t n_secrets;
    struct template *templates; /* [n_templates] */
    uint32_t n_templates;
    uint32_t *targets; /* [n_targets] its tasks and those that it includes; made when
                          first asked for */
    uint32_t n_targets;
    struct key_value *env; /* of its top level, sorted */
    uint32_t n_env;
    struct command_shell shell; /* of a task that gives none; so are the next ones */
    struct str cwd;
    struct pool_uses pools;    /* of a task that gives none */
    const struct node *params; /* the key in `defaults`, or NULL */
    int64_t timeout_ms, grace_ms;
    struct retry_policy retry;
    struct thresholds check;
    bool reuse;
    uint32_t memory; /* MiB */
    int64_t reuse_ms;
    uint8_t stale; /* enum on_stale */
};

struct parser {
    const struct parse_options *options;
    unsigned (*places_of)(struct str key); /* KEY_OF_... */
    struct workflow_file *in;              /* the file that is read; `source` is its */
    struct workflow_file **files;
    uint32_t n_files;
    struct source source;
    struct diagnostic diagnostic;
    struct position place; /* of the last error */
    struct definition *out;
    struct arena scratch;
    struct buf warnings, notes; /* of struct str */
    struct buf pending;         /* of struct pending */
    struct buf sheets;          /* of struct str: those whose columns were told of */
    uint32_t other_forms;       /* warnings of {{ }} */
    uint64_t n_extended;        /* keys that templates have added */
    uint64_t n_values, value_bytes, n_members; /* of all foreach so far */
    bool *pool_used;
    const struct node *concurrency;       /* of `concurrency: params`, else NULL */
    const struct node *exclude, *include; /* of the task that is read, or NULL */
    struct task_nodes *nodes;             /* [n_defs] */
    uint64_t by_fields; /* of the task that is read: keys_of_task; 0 of one in a file */
    const struct node *added; /* the first key of those that were added to a run, among
                                 the tasks of the file; NULL: none were */
    uint32_t checked_after,
        checked_to; /* lines of what was checked before with others */
};

/* What follows is read, or said, of that file, or of the file of a task. */
static inline void parse_enter(struct parser *p, struct workflow_file *file)
{
    p->in = file;
    p->source = file->source;
}

static inline void parse_enter_task(struct parser *p, uint32_t index)
{
    parse_enter(p, p->files[p->out->defs[index].file]);
}

/* The task was checked with others that are not here (parse_options). */
static inline bool parse_was_checked(const struct parser *p, uint32_t index)
{
    const struct task_def *def = &p->out->defs[index];
    return def->file == 0 && def->at.line > p->checked_after &&
           def->at.line <= p->checked_to;
}

/* Reports it and returns CAIRN_ENOMEM. */
static inline int out_of_memory(const struct parser *p)
{
    return error_nomem(p->diagnostic.error);
}

/* After a mistake, where others can be looked for: keeps it and returns 0. Else, or if
 * only the first is wanted, returns rc. */
int parse_go_on(const struct parser *p, int rc);
/* Nothing that was read before this point was wrong. */
bool parse_is_good(const struct parser *p);
/* Adds a warning: "FILE:LINE:COLUMN: text". Memory trouble shows when the warnings are
 * handed over. */
void parse_warn(struct parser *p, struct position at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a note: a line about members of foreach that are new or gone on disk. */
void parse_note(struct parser *p, const struct buf *line);
/* Hands the warnings and notes over to the definition. */
int keep_messages(struct parser *p);

bool node_is_null(const struct node *node);
int expect_map(const struct parser *p, const struct node *node, const char *what);
int expect_list(const struct parser *p, const struct node *node, const char *what);
/* Text as written, copied into the definition's arena. Typing traps, null and NUL bytes
 * are refused; empty text is not. */
int expect_text(const struct parser *p, const struct node *node, const char *what,
                struct str *out);
/* The same, but not empty. */
int expect_filled(const struct parser *p, const struct node *node, const char *what,
                  struct str *out);
/* The same, but at most LIMIT_NAME_BYTES. */
int expect_key(const struct parser *p, const struct node *node, const char *what,
               struct str *out);
/* Text without ${{ }}. */
int expect_fixed(const struct parser *p, const struct node *node, const char *what,
                 struct str *out);

struct bounds {
    int64_t least, most;
};

int expect_integer(const struct parser *p, const struct node *node, const char *what,
                   struct bounds bounds, int64_t *out);
/* "stop, continue or undo"; the first of them and how many more, if the rest has no
 * room. `size` is at least 40. */
void join_words(char *out, size_t size, const struct str words[], size_t n);
/* The index of the word that the text is. */
int expect_choice(const struct parser *p, const struct node *node, const char *what,
                  const struct str words[], size_t n, uint8_t *out);
/* A plain number with at most three decimals, times 1000; bounds are whole. */
int expect_permille(const struct parser *p, const struct node *node, const char *what,
                    struct bounds bounds, uint32_t *out);
int expect_bool(const struct parser *p, const struct node *node, const char *what,
                bool *out);
/* In milliseconds, at least `least`. */
int expect_duration(const struct parser *p, const struct node *node, const char *what,
                    int64_t least, int64_t *out);
/* CAIRN_ELIMIT: no string of a process can be as long as that. */
int too_long(const struct parser *p, struct position at, const char *what);
/* The first ${{ of a text. */
struct position place_of_reference(const struct parser *p, const struct node *node,
                                   struct str text);

/* Which mapping it is, for messages: {"task", link} gives "in task `link`", without
 * a name the text is all ("at the top level"). */
struct where {
    const char *text;
    struct str name;
};

#define NAME(literal)                   \
    {                                   \
        "" literal, sizeof(literal) - 1 \
    }

/* A size as 512M or 2G, in MiB, rounded up. */
int expect_memory(const struct parser *p, const struct node *node, const char *what,
                  uint32_t *out);
/* found[i]: the key node of names[i] in the map (its value is found[i]->next), or NULL.
 * A key that is not among the names is an error. */
int expect_keys(const struct parser *p, const struct node *map, struct where where,
                const struct str names[], const struct node *found[], size_t n);

/* The value of a key that expect_keys has found; NULL if it has not. */
static inline const struct node *value_of(const struct node *key)
{
    return key ? key->next : NULL;
}

#endif
