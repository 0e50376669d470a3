/* SPDX-License-Identifier: MIT */
/* What expressions ask of other tasks and of the run: tasks.X.status,
 * tasks.X.outputs.K, run.*. Values come from the results of completed attempts: from
 * memory while they are not stored, else from the content pool, verified, when first
 * asked for. */
#ifndef RUNS_LOOKUP_H
#define RUNS_LOOKUP_H

#include "cairn/store.h"
#include "checkpoint/payload.h"
#include "graph/graph.h"
#include "graph/text_expand.h"
#include "runs/file_digests.h"
#include "runs/result.h"

#include <stdatomic.h>

/* What a group was found to have passed on, for the next of many tasks that ask. */
struct group_answer {
    uint32_t def;         /* of the group */
    uint32_t asker;       /* whose directory counts: its def; outputs: NODE_NONE */
    struct str key;       /* of outputs */
    struct node_range of; /* its members that were asked for */
    uint8_t *outcomes;    /* [of.n] theirs then */
    struct value value;
};

struct lookup {
    const struct graph *graph;
    const struct states *states; /* of that graph: outcomes and result digests */
    struct cairn_store *store;   /* NULL: everything is in memory */
    struct arena arena;
    const struct result **results; /* [n_tasks] known ones; made when first needed */
    struct group_answer *answers;  /* the last few; made when first needed */
    uint32_t n_answers;            /* that were ever made */
    uint64_t run;
    const char *run_status;       /* in `finally`, else NULL */
    struct file_digests digests;  /* of files that were read */
    const struct map *removed;    /* real paths of files that count as gone; or NULL */
    const _Atomic uint32_t *stop; /* not 0: no more is to be read; NULL: never */
};

void lookup_release(struct lookup *lookup);
/* The graph has more tasks than the `before` that it had. CAIRN_ENOMEM. */
int lookup_extend(struct lookup *lookup, uint32_t before);
/* Remembers the result of an attempt that has just completed. */
int lookup_put(struct lookup *lookup, uint32_t task, struct str encoded,
               struct cairn_error *error);
/* The result of a task; one that says nothing if there is none. CAIRN_EDAMAGED: it is
 * damaged, or gone. */
int lookup_result(struct lookup *lookup, uint32_t task, const struct result **out,
                  struct cairn_error *error);
/* The same, where it has been read; NULL: it has not. */
const struct result *lookup_known(const struct lookup *lookup, uint32_t task);
/* It is this one, which lives as long as the lookup. */
int lookup_keep(struct lookup *lookup, uint32_t task, const struct result *result,
                struct cairn_error *error);

/* The task's state names another result by now. */
void lookup_forget(struct lookup *lookup, uint32_t task);

/* Whether the file, named from the directory on, is to be removed before anything runs:
 * 1 or 0; CAIRN_ENOMEM. */
int lookup_removes(const struct lookup *lookup, struct str directory, struct str name);

/* Whose expression it is; the context of lookup_name. */
struct asker {
    struct lookup *lookup;
    uint32_t task, attempt;   /* attempt 0: none yet */
    const struct result *own; /* of that attempt, once it has ended well; else NULL */
    const uint16_t *ports;    /* [n_tasks * ports_each] of services; NULL: not known */
    uint32_t ports_each;
};
int lookup_name(void *asker, const struct name *name, struct value *out,
                struct cairn_error *error);
/* The scope of a task's texts. `asker` must live as long as the scope. */
struct scope lookup_scope(const struct asker *asker);

#endif
