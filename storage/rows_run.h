/* SPDX-License-Identifier: MIT */
/* Rows of runs, of the workflows that they are of, and of the graphs of their earlier
 * generations. */
#ifndef STORAGE_ROWS_RUN_H
#define STORAGE_ROWS_RUN_H

#include "base/sha256.h"
#include "base/str.h"
#include "cairn/store.h"

struct run_row {
    uint64_t run;
    uint64_t workflow;            /* row id */
    struct str workflow_name;     /* views; joined */
    struct digest params;         /* digest of the canonical params */
    struct str params_text;       /* canonical: lstr name, lstr value, ... (buf_lstr) */
    struct str file;              /* absolute path of the workflow file or "" */
    uint32_t gen;                 /* newest generation of the graph, from 1 */
    struct digest graph;          /* its digest (an object) */
    uint32_t tasks;               /* number of tasks in it */
    uint8_t state;                /* enum cairn_run_state */
    int64_t started_ns, ended_ns; /* ended 0: not ended */
    uint64_t from_run, from_seq;
    int64_t owner_pid; /* of the newest owner */
    uint64_t owner_start;
    struct str owner_host, owner_boot;
    int64_t owner_since_ns;
    uint32_t unsaved;
    bool keyed;    /* set on read: the row has an HMAC */
    bool sum_ok;   /* set on read: its checksum holds, and with a key its HMAC */
    bool bytes_ok; /* set on read: its checksum holds, whatever its HMAC is */
};
/* Row id of a workflow's name; made when missing if `create` (needs a transaction). */
int store_workflow_id(struct cairn_store *store, struct str name, bool create,
                      uint64_t *id, struct cairn_error *error);
bool store_has_workflow(struct cairn_store *store, uint64_t id);
/* Inserts with the next run number, which is put into row->run. */
int store_add_run(struct cairn_store *store, struct run_row *row,
                  struct cairn_error *error);
int store_set_run(struct cairn_store *store, const struct run_row *row,
                  struct cairn_error *error);
typedef int run_row_fn(void *context, const struct run_row *row);
/* run 0: the newest. `got` may be NULL, to ask only whether there is one. */
int store_get_run(struct cairn_store *store, uint64_t run, run_row_fn *got,
                  void *context, struct cairn_error *error);
struct run_filter {
    uint64_t workflow;           /* row id, 0: any */
    const struct digest *params; /* NULL: any */
    bool ascending;
    uint64_t offset, limit; /* limit 0: all */
};
int store_each_run(struct cairn_store *store, const struct run_filter *filter,
                   run_row_fn *each, void *context, struct cairn_error *error);
int store_count_runs(struct cairn_store *store, const struct run_filter *filter,
                     uint64_t *count, struct cairn_error *error);
/* Inserts or replaces the row of a run. keyed: the run's records carry HMACs, and the
 * row gets a blank one, which matches no key. */
int store_restore_run(struct cairn_store *store, const struct run_row *row, bool keyed,
                      struct cairn_error *error);
/* The highest generation among the graphs and attempts of a run, at least 1. */
int store_last_gen(struct cairn_store *store, uint64_t run, uint32_t *gen,
                   struct cairn_error *error);
/* Runs without a row that have checkpoints, or other rows and no deleted checkpoints.
 */
int store_each_orphan(struct cairn_store *store, int (*each)(void *, uint64_t run),
                      void *context, struct cairn_error *error);
/* Runs that have begun and have no checkpoints, not even deleted ones. */
int store_each_bare_run(struct cairn_store *store, int (*each)(void *, uint64_t run),
                        void *context, struct cairn_error *error);
/* The first generation of each run whose graph is missing, but for the newest. */
int store_each_lost_gen(struct cairn_store *store,
                        int (*each)(void *, uint64_t run, uint64_t gen), void *context,
                        struct cairn_error *error);
/* Deletes graphs of runs that have no row. */
int store_drop_stray_graphs(struct cairn_store *store, struct cairn_error *error);
/* The graph of an earlier generation of a run. */
int store_put_run_graph(struct cairn_store *store, uint64_t run, uint32_t gen,
                        const struct digest *graph, struct cairn_error *error);
int store_get_run_graph(struct cairn_store *store, uint64_t run, uint32_t gen,
                        struct digest *graph, struct cairn_error *error);

/* The number that a task has in a definition, as this handle has found out before: what
 * a digest names never changes, and reading all of a large definition takes long. False:
 * it has not, or that was long ago. */
bool store_known_task(const struct cairn_store *store, const struct digest *definition,
                      const char *id, uint32_t *task);
/* Out of memory: it is not noted. */
void store_note_task(struct cairn_store *store, const struct digest *definition,
                     const char *id, uint32_t task);

#endif
