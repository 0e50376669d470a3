/* SPDX-License-Identifier: MIT */
/* The definition of a workflow: what its file says, checked, with foreach values
 * resolved but members not yet expanded. Produced by parse.c (files) or
 * cairn_workflow_add (in memory), compiled by graph.c. Everything lives in the
 * definition's arena.
 *
 * Text fields marked "reference text" may contain ${{ EXPRESSION }} (expression.h);
 * parse_refs.c has checked them, text_expand.c puts the values in. In foreach, needs
 * and the workflow's own env only foreach keys and params can be referred to. tasks.X:
 * X must be needed by the task, directly or not; if it is needed as one member
 * (`X[part=${{ part }}]`), that member is meant, else the whole group. */
#ifndef GRAPH_DEFINITION_H
#define GRAPH_DEFINITION_H

#include "base/memory.h"
#include "base/sha256.h"
#include "cairn/outcome.h"
#include "cairn/workflow.h"
#include "graph/expression/expression.h"

struct position {
    uint32_t line, column; /* from 1; 0: built in memory */
};

struct key_value {
    struct str key, value;
};

/* For qsort: by key. */
int key_value_order(const void *a, const void *b);

enum task_kind { TASK_RUN = 1, TASK_EXEC = 2, TASK_CALL = 3, TASK_EXTERNAL = 4 };

enum task_when { WHEN_SUCCESS = 0, WHEN_FAILED = 1, WHEN_ALWAYS = 2 };

/* FROM, GIVEN: graph/lists.h. */
enum foreach_source {
    FOREACH_LIST = 1,
    FOREACH_RANGE,
    FOREACH_GLOB,
    FOREACH_LINES,
    FOREACH_SHEET,
    FOREACH_FROM,
    FOREACH_GIVEN
};

struct foreach_key {
    struct str name;
    uint8_t source;
    struct str spec; /* the pattern or file of GLOB, LINES and SHEET, "a..b" of
                           RANGE, of FROM and GIVEN as in graph/lists.h */
    struct str why;  /* FROM: what is wrong with the list that there is; not stored */
    struct str *values; /* [n] raw */
    struct str *shown;  /* [n] as they stand in ids: escaped, hashed past 64 bytes */
    uint32_t n;
    struct map by_value; /* raw value -> index; and by shown text, where it differs */
    /* Of a SHEET: the other columns that the task names in its texts; no others. */
    struct str *columns; /* [n_columns] their names */
    uint32_t n_columns;
    struct str *cells; /* [n * n_columns] by value, then by column */
    struct str column; /* what its own column is called; only while the file is read */
};

/* Kinds of failures, or-ed. */
enum retry_kind {
    RETRY_TIMEOUT = 1, /* its time limit ended it */
    RETRY_SIGNAL = 2,  /* a signal did, or it says so as a shell does: 129 to 192 */
    RETRY_SPAWN = 4, /* it could not be started, or says so as a shell does: 126, 127 */
    RETRY_CHECK = 8, /* its check did not pass */
    RETRY_KINDS = 15
};

/* A task that runs in rounds: each is an attempt that ended well, and another one follows
 * as long as the expression does not hold. */
struct repeat_policy {
    struct str until; /* without ${{ }}; "": it does not repeat */
    uint32_t max;     /* rounds; without the expression by then it has failed */
    int64_t delay_ms; /* before each further one */
};

struct retry_policy {
    uint32_t max;             /* further attempts after the first */
    int64_t delay_ms;         /* before the first of them */
    uint32_t factor_permille; /* growth: 2000 doubles */
    bool jitter;              /* 0.5 to 1.5 times the delay */
    int64_t cap_ms;           /* no pause is longer, but for jitter; 0: a day */
    uint16_t *on_exit;        /* [n_on_exit] only after these exit codes, */
    uint32_t n_on_exit;
    uint8_t on; /* and these kinds of failures; neither: after any */
};

/* A need as written: the whole of a task or group (`convert`), one member
 * (`convert[part=${{ part }}]`), or all members with some values (of a group with more
 * keys than that). */
struct need {
    struct str text;            /* as written, for messages and the fingerprint */
    uint32_t target;            /* index of the needed task_def */
    struct key_value *bindings; /* [n_bindings] value is reference text; in the order of
                                   the target's keys; NULL: the whole group */
    uint32_t n_bindings;
    uint8_t open; /* bit k: any value of the target's key k will do, and its binding is
                     empty; 0: none is open */
    bool order; /* it has to end first, and that is all: its values cannot be used, and
                     when it runs again the task does not */
    bool soft;  /* however it ends will do; only with WHEN_SUCCESS */
    struct position at;
};

/* Before a pattern among `inputs`, in the words of git: all files that match it when
 * they are looked at. No plain name of a workflow file begins so. */
#define INPUT_GLOB ":(glob)"

/* What a task takes of a pool while it runs. */
struct pool_use {
    uint32_t pool;   /* index into definition.pools */
    uint32_t places; /* at least 1, at most its limit */
};

/* Of a task that does not say it. */
enum { DEFAULT_GRACE_MS = 10000, READY_WITHIN_MS = 30000, READY_EVERY_MS = 200 };

/* How a task has to end for its artifacts to be stored. */
enum artifacts_when { ARTIFACTS_SUCCESS, ARTIFACTS_FAILURE, ARTIFACTS_ALWAYS };

/* A function of the program; call NULL: it has none. */
struct program_call {
    enum cairn_outcome (*call)(void *, struct cairn_attempt *);
    void *context;
};

struct side_calls {
    struct program_call check, undo;
};

struct task_def {
    struct str id;          /* the task's name in the file */
    struct str description; /* for people; "": none */
    uint8_t kind;
    struct str run;    /* TASK_RUN: shell text, never rewritten */
    struct str *shell; /* [n_shell] TASK_RUN: command the text is appended to */
    uint32_t n_shell;
    struct str *argv; /* [n_argv] TASK_EXEC: the command; TASK_RUN: what the text has
                         as "$@"; reference text */
    uint32_t n_argv;
    struct key_value *env; /* [n_env] merged: workflow env, then the task's;
                              reference text; sorted by key. TASK_CALL: its arguments */
    uint32_t n_env;
    struct str cwd;      /* reference text, relative to the project root */
    struct str *outputs; /* [n_outputs] reference text, relative to cwd's root */
    uint32_t n_outputs;
    struct str *inputs; /* [n_inputs] the same, of files that it reads */
    uint32_t n_inputs;
    struct str depfile; /* reference text, a path like those: the command writes it,
                             and its names are inputs of the attempt; "": none */
    /* Reference text: patterns of files and directories below its directory, which are
     * stored when it has ended as artifacts_when says. */
    struct str *artifacts; /* [n_artifacts] */
    uint32_t n_artifacts;
    int64_t artifacts_ms;   /* so long they are kept; 0: as long as the run */
    bool artifacts_wanted;  /* one that matches nothing is a failure */
    uint8_t artifacts_when; /* enum artifacts_when */
    struct str external;    /* TASK_EXTERNAL: what somebody is to do */
    uint8_t skip_exit; /* this exit code says that there was nothing to do; 0: none */
    uint32_t lost_claims; /* TASK_EXTERNAL: after so many in a row it fails; 0:
                             LIMIT_LEASES_LOST */
    struct str condition; /* `if`: an expression, without ${{ }}; "": none */
    uint8_t when;         /* enum task_when */
    bool once, finally;
    bool needs_all;   /* members of groups that their condition excluded keep it
                         from running, as if they were needed one by one */
    bool may_fail;    /* its failure stops nothing, nor does the run fail for it */
    bool parallel;    /* TASK_CALL: may run beside other callbacks */
    bool apart;       /* its stderr is kept apart from its stdout */
    bool reuse;       /* done if an earlier run has done it with all of the same */
    int64_t reuse_ms; /* ... and so long copies of its outputs are kept, to be put back;
                         0: none are */
    bool cutoff;      /* what comes after it depends only on what it made */
    uint8_t stale;    /* enum on_stale: of its members that are gone */
    struct str check; /* text for `side_shell`, of TASK_CALL the name of a callback; "":
                         none */
    uint32_t check_min_permille, check_warn_permille;
    struct str undo;     /* as `check` */
    struct str fallback; /* text for `side_shell`, run once when its tries are used up;
                            "": none */
    struct str ready;    /* text for `side_shell`: it is a service, and this command
                               asks whether it is ready; "": it is none */
    int64_t ready_within_ms, ready_every_ms; /* of a service */
    /* Of a service: each start gets a free port (service_port_name), or one for each of
     * these names. */
    bool port;
    struct str *ports; /* [n_ports] as str_is_key; only without `port` */
    uint32_t n_ports;
    struct str *side_shell; /* [n_side_shell] for check, undo, ready, fallback */
    uint32_t n_side_shell;
    struct str *secrets; /* [n_secrets] sorted names */
    uint32_t n_secrets;
    bool own_params;    /* only `params` reach the task and its fingerprint; else all */
    struct str *params; /* [n_params] sorted names */
    uint32_t n_params;
    struct foreach_key
        *foreach; /* [n_foreach]; members are the product, last key fastest */
    uint32_t n_foreach;
    /* [n_picked] of that product these members only, in order: what `exclude`,
     * `include` and tuples of values leave. n_picked 0: all of it. */
    uint64_t *picked;
    uint32_t n_picked;
    uint32_t members; /* 1 without foreach; may be 0 with allow_empty */
    struct need *needs;
    uint32_t n_needs;
    int64_t timeout_ms, grace_ms; /* timeout 0: none */
    struct retry_policy retry;
    struct repeat_policy repeat;
    struct pool_use *pools; /* [n_pools] by index, none twice */
    uint32_t n_pools;
    uint32_t slots;  /* of `jobs`, all if there are fewer; 0: one */
    uint32_t memory; /* MiB of the run's memory that it takes; 0: it does not say */
    uint8_t nice;    /* its processes are so much nicer than we are; 0 to 19 */
    int32_t priority;
    /* TASK_CALL */
    enum cairn_outcome (*call)(void *, struct cairn_attempt *);
    void *context;
    struct str version;
    struct str callback;     /* its name in a registry; "": it has none */
    struct side_calls *side; /* of `check` and `undo`; NULL: none is known */
    struct position at;
    uint32_t file; /* index into definition.files */
};

/* CANCEL: as STOP, and tasks that run are ended. */
enum on_failure {
    ON_FAILURE_STOP = 0,
    ON_FAILURE_CONTINUE = 1,
    ON_FAILURE_UNDO = 2,
    ON_FAILURE_CANCEL = 3
};

/* What becomes of outputs of members, and tasks, that are gone from the definition. */
enum on_stale { ON_STALE_WARN = 0, ON_STALE_REMOVE = 1, ON_STALE_KEEP = 2 };

enum undo_scope { UNDO_FAILED = 0, UNDO_ANCESTORS = 1, UNDO_ALL = 2 };

enum on_crash { ON_CRASH_KILL = 0, ON_CRASH_ADOPT = 1 };

enum after_completed { AGAIN_ALWAYS = 0, AGAIN_NEVER = 1 };

struct pool {
    struct str name;
    uint32_t limit;
    bool shared; /* by all runs of the store */
};

struct definition {
    struct arena arena;
    struct str name, description;
    struct str file;   /* absolute path, "" if built in memory */
    struct str root;   /* absolute directory that cwd and outputs are relative to:
                        the file's directory */
    struct str *files; /* [n_files] for messages: `file` and those that it includes;
                          not stored, then n_files is 0 */
    uint32_t n_files;
    struct key_value *params; /* sorted by key; overrides applied; values as text; of
                                 included files, too, with their scope in the key */
    uint32_t n_params;
    uint32_t jobs;   /* 0: number of processors */
    uint32_t memory; /* MiB that tasks have together; 0: what the machine has */
    struct pool *pools;
    uint32_t n_pools;
    uint8_t on_failure, undo_scope, on_crash;
    uint8_t again;       /* what is begun behind a completed run; not stored */
    uint8_t stale;       /* enum on_stale: of tasks that are gone as a whole */
    int64_t deadline_ms; /* 0: none */
    struct str *secrets; /* [n_secrets] sorted names */
    uint32_t n_secrets;
    bool all_need_all;     /* needs_all holds for every task: it did before version 4 */
    struct task_def *defs; /* in file order, those of `finally` behind the others,
                              those that were added to a run behind all */
    uint32_t n_defs, n_added; /* how many were added to a run: the last ones */
    size_t defs_capacity;
    bool defs_growing;    /* `defs` is not in the arena: cairn_workflow_add */
    struct map by_id;     /* task name -> index */
    uint64_t n_extended;  /* keys that its templates add, and bytes of the values of */
    uint64_t value_bytes; /* foreach: what the parser counted; not stored */
    struct str *warnings; /* file:line:column: text */
    uint32_t n_warnings;
    struct str *notes; /* [n_notes] members of glob and lines that are new or gone on
                          disk, which does not change a run that is resumed */
    uint32_t n_notes;
    /* Every distinct text with ${{ }} and every condition, parsed (text_expand.c).
     */
    struct map by_text;
    struct text_template *templates;
    uint32_t n_templates, templates_capacity;
};

void definition_init(struct definition *definition);
/* Frees all that the definition holds, and leaves it as after definition_init. */
void definition_release(struct definition *definition);
/* The scope of a task or param: its name up to the last `/`, with it ("lint/" of
 * "lint/test"); empty in the workflow's own file. It is the included file that the task
 * stands in, and names in its texts are names of that file: those of the same scope. */
struct str name_scope(struct str name);
/* The name without it: as it is written in its file, and a param in the environment. */
struct str name_in_scope(struct str name);
/* The name of a task in its id, or in a need: without the values of a member ("a" of
 * "a[os=linux]"). */
struct str name_of_id(struct str id);
/* Index of the param of that scope, UINT32_MAX if there is none. A name with its scope in
 * it is found in the empty one. */
uint32_t definition_param(const struct definition *definition, struct str scope,
                          struct str name);
/* Index of the task_def that `name` means in that scope, or MAP_NONE. */
uint32_t definition_task(const struct definition *definition, struct str scope,
                         struct str name);
/* Index of the pool, UINT32_MAX if there is none. */
uint32_t definition_pool(const struct definition *definition, struct str name);
/* Puts one more among what a task takes of pools, for which there is room. False: it is
 * in that pool already. */
bool pool_use_add(struct pool_use *uses, uint32_t *n, struct pool_use use);
/* Index into def->foreach, UINT32_MAX if there is none. */
uint32_t task_def_key(const struct task_def *def, struct str name);
/* True if it can be the id of a task: 1 to LIMIT_ID_BYTES of A-Z a-z 0-9 _ . and -, and
 * / between two of them. That of a workflow file is more narrow: str_is_id. */
bool task_id_is_good(struct str id);
/* True if members that their condition excluded may make a difference to the task: it
 * wants success of a group, or of a part of one. */
bool task_def_wants_group(const struct definition *definition,
                          const struct task_def *def);
/* Does any task? */
bool definition_wants_groups(const struct definition *definition);
/* Whether a task is a callback. */
bool definition_has_calls(const struct definition *definition);
/* What continues the run, for a message: the command with that option ("" or " --x"), or
 * the program where the run has callbacks, which the command cannot call. */
enum { RESUME_WORDS = 80 };
const char *definition_resume_words(char out[RESUME_WORDS],
                                    const struct definition *definition, uint64_t run,
                                    const char *option);

/* An excluded member of a group counts for it as a skipped one does. */
static inline bool task_def_needs_all(const struct definition *definition,
                                      const struct task_def *def)
{
    return def->needs_all || definition->all_need_all;
}

/* True if the sorted names have this one. */
bool names_have(const struct str *sorted, uint32_t n, struct str name);
/* Whether a task lists the secret. */
bool definition_gives_secret(const struct definition *definition, struct str name);
/* It takes places that other runs could have. */
static inline bool task_def_shares_pools(const struct definition *definition,
                                         const struct task_def *def)
{
    bool shares = false;
    for (uint32_t i = 0; i < def->n_pools && !shares; i++)
        shares = definition->pools[def->pools[i].pool].shared;
    return shares;
}
static inline uint32_t task_def_slots(const struct task_def *def)
{
    return def->slots ? def->slots : 1;
}
/* What it has read is recorded, and looked at when it is decided. */
static inline bool task_def_has_inputs(const struct task_def *def)
{
    return def->n_inputs || def->depfile.len;
}
/* It stays alive beside the tasks that need it, and is never done. */
static inline bool task_def_is_service(const struct task_def *def)
{
    return def->ready.len > 0;
}
/* It runs only while services are ready. */
bool task_def_uses_services(const struct definition *definition,
                            const struct task_def *def);
/* How many it has. */
static inline uint32_t task_def_ports(const struct task_def *def)
{
    return def->port ? 1 : def->n_ports;
}
/* CAIRN_PORT_DB of `db`, CAIRN_PORT_DB_HTTP of its port `http`: how tasks that need it
 * are given port `i`. In an included file it is called as there. */
void service_port_name(const struct task_def *user, const struct task_def *service,
                       uint32_t i, struct buf *out);
/* Which port of the service has the name ("": its only one, of `port`), or
 * task_def_ports. */
uint32_t service_port(const struct task_def *service, struct str name);
/* Good names, and none twice. */
bool service_ports_are_good(const struct str *names, uint32_t n);
/* The first need of a task whose port would have a name that another one has, or that
 * is of several members of a group, which have one name; or n_needs. CAIRN_ENOMEM. */
int task_def_port_clash(const struct definition *definition, const struct task_def *def,
                        uint32_t *need);
/* How many there are, each member of a group counted. */
uint32_t definition_services(const struct definition *definition);
/* There is something to be looked at when an attempt has ended well. */
static inline bool task_def_makes_files(const struct task_def *def)
{
    return def->n_outputs || def->depfile.len;
}
/* Whether it can be done because an earlier attempt has done the same: not what belongs
 * to the end or the failure of this run. */
static inline bool task_def_may_stay(const struct task_def *def)
{
    return def->kind != TASK_EXTERNAL && !def->finally && def->when == WHEN_SUCCESS &&
           !task_def_is_service(def);
}
/* The task calls a function that this program does not have: its name, which may be empty
 * (of its own function). */
bool task_def_lacks_function(const struct task_def *def, struct str *name);

/* The same of an attempt of another run: nor what must not run twice, or can be undone. */
static inline bool task_def_may_reuse(const struct task_def *def)
{
    return task_def_may_stay(def) && !def->once && !def->undo.len;
}
/* True if a param of the definition reaches the task: its texts, its environment and
 * its fingerprint. `name` is whole, with its scope. */
bool task_def_takes_param(const struct task_def *def, struct str name);
/* Appends " --param 'day=1 2'", as it can be typed. */
void put_param_option(struct buf *out, struct str name, struct str value);
/* Appends the command that begins a new run of it with the same params, as it can be
 * typed anywhere: "cairn run '/a b/c.yaml' --param day=1 --fresh". */
void definition_put_fresh(const struct definition *definition, struct buf *out);
/* Canonical params (lstr name, lstr value, ...) and their digest: with the name, the
 * identity of a run. */
int definition_params(const struct definition *definition, struct buf *text,
                      struct digest *digest, struct cairn_error *error);

#endif
