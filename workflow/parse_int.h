/* SPDX-License-Identifier: MIT */
/* What the files of the parser share. Nodes, and everything that is only needed while
 * parsing, live in parser.scratch; the definition's text is copied into its own arena.
 * Every function that returns int returns 0 or a negative code with the error filled.
 *
 * Order matters: params, secrets, env, defaults and pools are read before tasks, the
 * foreach keys of all tasks before any of their needs, and all needs before the names
 * of other tasks in expressions are looked at. */
#ifndef WORKFLOW_PARSE_INT_H
#define WORKFLOW_PARSE_INT_H

#include "graph/build.h"
#include "workflow/parse.h"
#include "workflow/yaml.h"

struct command_shell {
    struct str *words;
    uint32_t n;
};

struct thresholds {
    uint32_t min, warn; /* of a check's confidence, in permille */
};

/* The name of a task in ${{ }} or `if`, to be looked at when all needs are known. */
struct pending {
    const struct node *node;
    struct str text;
    size_t at; /* of the name in the text */
    const struct name *name;
    uint32_t def;
};

/* What is still asked of a task's nodes after it was read. */
struct task_nodes {
    const struct node *needs, *when; /* values, or NULL */
};

struct parser {
    const struct parse_options *options;
    struct source source;
    struct diagnostic diagnostic;
    struct definition *out;
    struct arena scratch;
    struct buf warnings, notes; /* of struct str */
    struct buf pending;         /* of struct pending */
    struct key_value *env;      /* of the workflow, sorted */
    uint32_t n_env;
    struct command_shell shell; /* what a task gets that says nothing */
    int64_t timeout_ms, grace_ms;
    struct retry_policy retry;
    struct thresholds check;
    bool *pool_used;
    struct task_nodes *nodes; /* [n_defs] */
};

/* Where a mapping stands, for messages: {"task", link} gives "in task `link`", without
 * a name the text is all ("at the top level"). */
struct where {
    const char *text;
    struct str name;
};

#define NAME(literal)                   \
    {                                   \
        "" literal, sizeof(literal) - 1 \
    }

/* ---- expect.c: nodes of the right kind; `what` names the place in messages ---- */

int out_of_memory(const struct parser *p);
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
/* found[i]: the key node of names[i] in the map (its value is found[i]->next), or NULL.
 * A key that is not among the names is an error. */
int expect_keys(const struct parser *p, const struct node *map, struct where where,
                const struct str names[], const struct node *found[], size_t n);

/* ---- parse_refs.c: ${{ }} and conditions ---- */

/* Where a text stands decides what can be referred to in it. */
enum place {
    IN_WORKFLOW, /* env of the workflow: params */
    IN_FOREACH,  /* the same */
    IN_NEED,     /* brackets: params, foreach keys */
    IN_ENV,      /* of a task: everything but env */
    IN_TASK,     /* everything */
    IN_CONDITION /* everything but the number of the attempt */
};
/* Checks the ${{ }} of a text of task `def` (NULL: of the workflow). *size (may be
 * NULL): its length with what is known already put in. */
int check_text(struct parser *p, const struct node *node, struct str text,
               const struct task_def *def, enum place place, size_t *size);
/* The same, and checks that "KEY=text" is no longer than the kernel takes (key may be
 * empty, then there is no "="). */
int check_string(struct parser *p, const struct node *node, struct str key,
                 struct str text, const struct task_def *def, enum place place);
int too_long(const struct parser *p, struct position at, const char *what);
/* Text of a foreach key with params put in. */
int read_expanded(struct parser *p, const struct node *node, const char *what,
                  const struct task_def *def, struct str *out);
/* Does a text of the workflow's env only need params that the task takes? `node` is
 * the task's list. */
int check_inherited(struct parser *p, const struct node *node,
                    const struct task_def *def, struct str text);
int read_condition(struct parser *p, struct task_def *def, const struct node *node);
/* The first ${{ of a text. */
struct position place_of_reference(const struct parser *p, const struct node *node,
                                   struct str text);

/* ---- parse_reach.c ---- */

/* Checks everything that was put aside: such a task must exist and be over before. */
int check_pending(struct parser *p);

/* ---- parse_params.c, parse_names.c ---- */

int read_params(struct parser *p, const struct node *map);
int read_secrets(struct parser *p, const struct node *node);
bool is_secret(const struct parser *p, struct str name);
int read_task_secrets(const struct parser *p, struct task_def *def,
                      const struct node *node);
int read_task_params(const struct parser *p, struct task_def *def,
                     const struct node *node);
bool task_takes_param(const struct task_def *def, struct str name);

/* ---- parse_policy.c: what holds for the whole run ---- */

int use_default_shell(struct parser *p);
int read_defaults(struct parser *p, const struct node *map);
int read_jobs(const struct parser *p, const struct node *node);
int read_pools(struct parser *p, const struct node *map);
void warn_of_unused_pools(struct parser *p, const struct node *map);
int read_on_failure(const struct parser *p, const struct node *node);
int read_on_crash(const struct parser *p, const struct node *node);

/* ---- parse_common.c: what defaults and tasks share ---- */

/* Env of the workflow (def NULL) or a task. */
int read_env(struct parser *p, const struct node *map, const struct task_def *def,
             struct key_value **out, uint32_t *n);
int read_shell(const struct parser *p, const struct node *node,
               struct command_shell *out);
int read_timeout(const struct parser *p, const struct node *node, int64_t *timeout_ms,
                 int64_t *grace_ms);
int read_retries(const struct parser *p, const struct node *node,
                 struct retry_policy *out);

/* ---- parse_flow.c: when and whether a task runs, and what follows it ---- */

/* Keys, values or NULL. A threshold that is not given keeps its value, but `warn` is
 * never below a given `min`. */
int read_thresholds(const struct parser *p, const struct node *min,
                    const struct node *warn, struct thresholds *out);
int read_check(const struct parser *p, struct task_def *def, const struct node *node);
int read_undo(const struct parser *p, struct task_def *def, const struct node *node);
int read_when(const struct parser *p, struct task_def *def, const struct node *node);
int read_external(struct parser *p, struct task_def *def, const struct node *node);
/* Texts for a shell are never rewritten. */
int refuse_references(const struct parser *p, const struct node *node, const char *key,
                      struct str text);

/* ---- parse_tasks.c, parse_task.c, parse_needs.c, foreach.c ---- */

/* `finally` may be NULL. */
int read_tasks(struct parser *p, const struct node *map, const struct node *finally);
int read_task(struct parser *p, uint32_t index, const struct node *node);
int read_needs(struct parser *p, uint32_t index, const struct node *node);
int read_foreach(struct parser *p, struct task_def *def, const struct node *node);

/* Adds a warning. */
void parse_warn(struct parser *p, struct position at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a note. */
void parse_note(struct parser *p, const struct buf *line);

#endif
