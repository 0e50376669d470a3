/* What the files of the parser share. Nodes, and everything that is only needed while
 * parsing, live in parser.scratch; the definition's text is copied into its own arena.
 * Every function that returns int returns 0 or a negative code with the error filled.
 *
 * Order matters: params, env, defaults and pools are read before tasks, the foreach
 * keys of all tasks before any of their needs. */
#ifndef EXECUTOR_PARSE_INT_H
#define EXECUTOR_PARSE_INT_H

#include "executor/definition_int.h"
#include "executor/parse.h"
#include "executor/yaml.h"

struct command_shell {
    struct str *words;
    uint32_t n;
};

struct parser {
    const struct parse_options *options;
    struct source source;
    struct diagnostic diagnostic;
    struct definition *out;
    struct arena scratch;
    struct buf warnings;   /* of struct str */
    struct key_value *env; /* of the workflow, sorted */
    uint32_t n_env;
    struct command_shell shell; /* what a task gets that says nothing */
    int64_t timeout_ms, grace_ms;
    struct retry_policy retry;
    bool *pool_used;
    const struct node **needs; /* [n_defs] value of `needs`, or NULL */
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
int expect_bool(const struct parser *p, const struct node *node, const char *what,
                bool *out);
/* In milliseconds, at least `least`. */
int expect_duration(const struct parser *p, const struct node *node, const char *what,
                    int64_t least, int64_t *out);
/* found[i]: the key node of names[i] in the map (its value is found[i]->next), or NULL.
 * A key that is not among the names is an error. */
int expect_keys(const struct parser *p, const struct node *map, struct where where,
                const struct str names[], const struct node *found[], size_t n);

/* ---- parse_refs.c: ${{ }} ---- */

/* Checks the references of a text of task `def` (NULL: of the workflow, where only
 * params can stand). *size (may be NULL): length with params put in, foreach values
 * not. */
int check_references(const struct parser *p, const struct node *node, struct str text,
                     const struct task_def *def, size_t *size);
/* The same, and checks that "KEY=text" is no longer than the kernel takes (key may be
 * empty, then there is no "="). */
int check_string(const struct parser *p, const struct node *node, struct str key,
                 struct str text, const struct task_def *def);
int too_long(const struct parser *p, struct position at, const char *what);

/* ---- parse_common.c: what defaults and tasks share ---- */

int read_params(struct parser *p, const struct node *map);
/* Env of the workflow (def NULL) or a task. */
int read_env(const struct parser *p, const struct node *map, const struct task_def *def,
             struct key_value **out, uint32_t *n);
int read_shell(const struct parser *p, const struct node *node,
               struct command_shell *out);
int read_timeout(const struct parser *p, const struct node *node, int64_t *timeout_ms,
                 int64_t *grace_ms);
int read_retries(const struct parser *p, const struct node *node,
                 struct retry_policy *out);

/* ---- parse_task.c, parse_needs.c, foreach.c ---- */

int read_tasks(struct parser *p, const struct node *map);
int read_needs(struct parser *p, uint32_t index, const struct node *node);
int read_foreach(struct parser *p, struct task_def *def, const struct node *node);

/* Adds a warning. */
void parse_warn(struct parser *p, struct position at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
