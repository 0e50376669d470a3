/* SPDX-License-Identifier: MIT */
/* The keys of a workflow file, in the files that read them. Names of other tasks in
 * texts and conditions are collected, and checked when all needs are known
 * (check_pending). */
#ifndef WORKFLOW_PARSE_INT_H
#define WORKFLOW_PARSE_INT_H

#include "base/table.h"
#include "workflow/expect_int.h"

/* The key that a text belongs to decides what it may refer to. */
enum place {
    IN_WORKFLOW,  /* env of the workflow: params */
    IN_INCLUDE,   /* the same */
    IN_FOREACH,   /* the same */
    IN_LIST,      /* params, keys of the task that makes the list */
    IN_NEED,      /* brackets: params, foreach keys */
    IN_WHERE,     /* the same */
    IN_ENV,       /* of a task: everything but env; ports, too */
    IN_TASK,      /* everything but ports */
    IN_EXEC,      /* and `args`: everything */
    IN_CONDITION, /* everything but the number of the attempt */
    IN_UNTIL      /* everything, and outputs.NAME */
};

/* ---- parse_common.c ---- */

/* One entry of a mapping, whose key that is. */
typedef int read_pair_fn(struct parser *p, const struct node *key,
                         const struct task_def *def, struct key_value *out);
/* All of them, sorted by key. `what`: the mapping's name. */
int read_pairs(struct parser *p, const struct node *map, const char *what,
               const struct task_def *def, read_pair_fn *read, struct key_value **out,
               uint32_t *n);
/* Env of the workflow (def NULL) or a task. */
int read_env(struct parser *p, const struct node *map, const struct task_def *def,
             struct key_value **out, uint32_t *n);
int read_shell(const struct parser *p, const struct node *node,
               struct command_shell *out);
int read_timeout(const struct parser *p, const struct node *node, int64_t *timeout_ms,
                 int64_t *grace_ms);
/* {grace: 5s}, which is all that a service can say. */
int read_grace(const struct parser *p, const struct node *node, int64_t *grace_ms);
/* `key`: its name, for messages. */
int read_retries(const struct parser *p, const struct node *node, const char *key,
                 struct retry_policy *out);
/* `true`, or `{keep: 7d}`. */
int read_reuse(const struct parser *p, const struct node *node, bool *reuse,
               int64_t *kept_ms);
/* `stale`: remove, warn or keep. */
int read_stale(const struct parser *p, const struct node *node, uint8_t *out);
int read_description(const struct parser *p, const struct node *node, struct str *out);
int read_directory(struct parser *p, const struct node *node,
                   const struct task_def *def, enum place place, struct str *out);
/* A path of an included file that lies in another directory: from the workflow's own. */
int put_below(struct parser *p, const struct node *node, struct str *path);
/* NAME, [NAME, ...] or {NAME: PLACES, ...} */
int read_pool_uses(struct parser *p, const struct node *node, struct pool_uses *out);
/* Keys, values or NULL. A threshold that is not given keeps its value, but `warn` is
 * never below a given `min`. */
int read_thresholds(const struct parser *p, const struct node *min,
                    const struct node *warn, struct thresholds *out);

/* ---- parse_refs.c ---- */

/* Checks the ${{ }} of a text of task `def` (NULL: of the workflow), after its escapes
 * have been replaced. *size (may be NULL): its length with what is known already put
 * in. */
int check_text(struct parser *p, const struct node *node, struct str *text,
               const struct task_def *def, enum place place, size_t *size);
/* The same, and checks that "KEY=text" is no longer than the kernel takes (key may be
 * empty, then there is no "="). */
int check_string(struct parser *p, const struct node *node, struct str key,
                 struct str *text, const struct task_def *def, enum place place);
/* Warns where a text has an expression in the form of another tool, which is kept as it
 * is; `instead` is what to write. */
void warn_of_other_form(struct parser *p, const struct node *node, struct str text,
                        const char *instead);
/* Text of a foreach key, or of what an included file is given, with params put in. */
int read_expanded(struct parser *p, const struct node *node, const char *what,
                  const struct task_def *def, struct str *out);
/* The name of a file that the maker of a list leaves: params are put in, unless it has
 * foreach keys of the maker. *out is its text as it is written. */
int read_list_name(struct parser *p, const struct node *node,
                   const struct task_def *def, struct str *out);
/* Does a text of the workflow's env only need params that the task takes? `node` is
 * the task's list. */
int check_inherited(struct parser *p, const struct node *node,
                    const struct task_def *def, struct str text);
int read_condition(struct parser *p, struct task_def *def, const struct node *node);
/* Of `repeat`. */
int read_until(struct parser *p, struct task_def *def, const struct node *node);
/* `where` of foreach: an expression over its keys, their columns, and params. */
int read_where(struct parser *p, const struct task_def *def, const struct node *node,
               const struct expression **out);
/* Its text, without ${{ }} around it. */
int read_where_text(const struct parser *p, const struct node *node, struct str *text);
/* Checks every collected name: such a task must exist and have ended before. */
int check_pending(struct parser *p);

/* ---- foreach.c, sheet.c ---- */

/* One key being read. */
struct foreach_reading {
    struct parser *p;
    const struct task_def *def;
    struct foreach_key *key;
    const struct node *node; /* the value of the key in the file */
    bool allow_empty;
    uint32_t *lines; /* [n] of LINES and SHEET: line number of each value */
};

/* Adds the size of "KEY=value", which must be no longer than the kernel takes. */
int foreach_check_size(const struct foreach_reading *r, struct str value,
                       struct position at);
/* That there are n more; CAIRN_ELIMIT if there are too many in the whole file. */
int foreach_count_values(const struct foreach_reading *r, uint64_t n);
/* The same, and room for them. */
int foreach_take_values(struct foreach_reading *r, uint64_t n);
/* The file of r->key->spec. CAIRN_ENOTFOUND, ... with *error. */
int foreach_load_file(const struct foreach_reading *r, struct buf *content,
                      struct cairn_error *error);
/* An error if there are no values, unless that is allowed. */
int foreach_check_found(const struct foreach_reading *r, const struct node *node,
                        const char *what);
bool foreach_in_env(const struct parser *p, struct str name);
/* Does the condition hold for the values with these indices, one of each key? */
int where_holds(struct parser *p, const struct task_def *def,
                const struct expression *where, const struct node *node,
                const uint32_t *at, bool *holds);

/* `{csv: FILE, key: COLUMN, columns: [...]}` and its like: values, or NULL. */
struct sheet_nodes {
    enum table_form form;
    const struct node *file, *key, *columns, *where;
};
int foreach_read_sheet(struct foreach_reading *r, const struct sheet_nodes *nodes);
/* `columns` (may be NULL) into a source of that form. */
int foreach_read_columns(struct parser *p, const struct node *list,
                         struct table_source *source);
/* When all texts have been read: columns that a task does not name are forgotten; of a
 * sheet that a task makes it has those that it names. */
int drop_unused_columns(struct parser *p);

/* ---- parse_task.c, foreach.c ---- */

/* The i-th key of a task, in the order in which they are read; ptr NULL past the last. */
struct str task_key(size_t i);
bool is_task_key(struct str name);
/* That it is a mapping with no other keys than those of a task. `key` is its name. */
int check_template_keys(const struct parser *p, const struct node *key);
/* All but the needs of task `index`, which are read when all tasks have been. */
int read_task(struct parser *p, uint32_t index, const struct node *node);
int read_foreach(struct parser *p, struct task_def *def, const struct node *node);

/* ---- parse_habits.c ---- */

/* Warn of what only a shell would do: in a path of `key`, a value of
 * env or params, the items of exec, and `[[` in a text for a shell without it. */
void warn_of_path(struct parser *p, const struct node *node, const char *key,
                  struct str text);
void warn_of_env(struct parser *p, const struct node *node, struct str name,
                 struct str text);
void warn_of_param(struct parser *p, const struct node *node, struct str name,
                   struct str text);
void warn_of_value(struct parser *p, const struct node *node);
void warn_of_exec(struct parser *p, const struct node *list, struct str program);
void warn_of_bash(struct parser *p, const struct node *node, struct str text,
                  struct str shell);

/* ---- parse.c ---- */

/* The i-th key of the top level, as task_key. */
struct str top_key(size_t i);

/* ---- parse_names.c ---- */

bool is_secret(const struct parser *p, struct str name);
/* Index of a param that the file has which is read, or UINT32_MAX. */
uint32_t find_param(const struct parser *p, struct str name);
/* The included file whose tasks `name` stands for in `needs`, or NULL. */
struct workflow_file *included_as(const struct parser *p, struct str name);
/* Names by which tasks can be named in the file that is read: [*n], NULL: no memory. */
struct str *names_of_tasks(struct parser *p, uint32_t *n);
/* The names that a task takes. */
int read_task_secrets(struct parser *p, struct task_def *def, const struct node *node);
int read_task_params(struct parser *p, struct task_def *def, const struct node *node);
/* `map` NULL: there are none, but values may be given for them. */
int read_params(struct parser *p, const struct node *map);
int read_secrets(struct parser *p, const struct node *node);

/* ---- templates.c ---- */

/* `templates` of the top level, one by one: check_template_keys, then template_add. */
int template_add(struct parser *p, const struct node *key);
/* A task with the keys of the templates that it extends; as it is, if it extends none.
 */
int extend_task(struct parser *p, const struct node *task, const struct node **out);
void warn_of_unused_templates(struct parser *p);

/* ---- include.c ---- */

/* `include` of the top level: the files come behind the others in p->files. */
int read_include(struct parser *p, const struct node *list);
/* Its tasks, and those of the files that it includes, without `finally` and services
 * (unless there is nothing else). */
int included_tasks(struct parser *p, struct workflow_file *file);

/* ---- parse_tasks.c ---- */

/* Of all files. */
int read_tasks(struct parser *p);
/* Those of the list of `secrets`, when all tasks are there. */
void warn_of_unlisted_secrets(struct parser *p, const struct node *list);

#endif
