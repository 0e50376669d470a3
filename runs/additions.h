/* SPDX-License-Identifier: MIT */
/* Tasks that were added to a run (`cairn add`). Each addition is a command of its run
 * (storage/rows_command.h) whose data is the name of who added it and the text, both
 * with their lengths. Another command withdraws tasks: its data is the name of who did
 * so and, for each task, the number of the addition and the task's name. Either counts
 * as soon as it is stored: whoever continues the run, or plans that, parses the
 * workflow's file with all additions behind it. A run that begins anew, or forks from
 * this one, has none of them. */
#ifndef RUNS_ADDITIONS_H
#define RUNS_ADDITIONS_H

#include "base/memory.h"
#include "storage/rows_command.h"
#include "workflow/workflow.h"

void addition_encode(struct str by, struct str text, struct buf *out);
/* Views. False: damaged. */
bool addition_decode(struct str data, struct str *by, struct str *text);
/* The next task of a withdrawal, of which `reader` has read by whom. False: that was
 * the last one, or it is damaged (reader_done tells). */
bool withdrawal_next(struct reader *reader, uint64_t *addition, struct str *name);
/* Those of a run, with room for one more; the caller frees them (additions_free).
 * CAIRN_EDAMAGED. */
int additions_load(struct cairn_store *store, uint64_t run, struct addition **out,
                   size_t *n, struct cairn_error *error);
/* The newest command that added tasks or withdrew some; 0: none. */
int additions_last(struct cairn_store *store, uint64_t run, uint64_t *last,
                   struct cairn_error *error);
/* The names in the text of one, in order, views of `text` or of the arena: a group's is
 * that of all its members. CAIRN_EWORKFLOW. */
struct name_list {
    struct str *at;
    size_t n;
};
int addition_names(struct str text, struct arena *arena, struct name_list *names,
                   struct cairn_error *error);
/* The same of an addition, without those that were withdrawn. */
int addition_tasks(const struct addition *addition, struct arena *arena,
                   struct name_list *names, struct cairn_error *error);

/* Those of which the text names a task, as far as they are in the index (below), in their
 * order, without what was withdrawn, and with room for one more; of a text that is stored
 * already those `before` its number, else 0. The caller frees them. */
int additions_named(struct cairn_store *store, uint64_t run, struct str text,
                    uint64_t before, struct addition **out, size_t *n,
                    struct cairn_error *error);

/* ---- What an addition is checked by, without all those before it ----
 *
 * Settings of the store: `added.RUN.NAME` has the number of the addition that has the
 * task, and `added.RUN.` the sums. They are written with each addition, and no reader of
 * a run needs them: where they are missing, or are not of all additions, the next one
 * makes them anew. */
struct added_sum {
    uint64_t n,
        last;       /* how many additions, the newest command that added or withdrew */
    uint64_t bytes; /* of their texts */
    /* Of the graph and the definition with all of them, or more: what is limited. */
    uint64_t tasks, services, edges, extended, value_bytes;
    struct digest source; /* of the file that they were checked with */
};
/* 1, 0: there is none, or an error. */
int added_sum_get(struct cairn_store *store, uint64_t run, struct added_sum *sum,
                  struct cairn_error *error);
/* These need a write transaction. */
int added_sum_put(struct cairn_store *store, uint64_t run, const struct added_sum *sum,
                  struct cairn_error *error);
int added_name_put(struct cairn_store *store, uint64_t run, struct str name,
                   uint64_t addition, struct cairn_error *error);
int added_name_drop(struct cairn_store *store, uint64_t run, struct str name,
                    struct cairn_error *error);
/* What a stored command withdraws is out of it; `data` as above. CAIRN_EDAMAGED. */
int added_withdraw(struct cairn_store *store, uint64_t run, uint64_t command,
                   struct str data, struct cairn_error *error);
/* An addition whose text had the value of a secret becomes a COMMAND_REFUSED without it,
 * and the index has none of its tasks. */
int addition_refuse(struct cairn_store *store, uint64_t run, uint64_t id,
                    struct cairn_error *error);
/* The addition that has a task of this name; 0: none has. */
int added_name_find(struct cairn_store *store, uint64_t run, struct str name,
                    uint64_t *addition, struct cairn_error *error);
/* How many added tasks wait for the run to go on: no owner had them yet. A group counts
 * as one. Where nothing was added this is one look-up. CAIRN_ENOTFOUND, CAIRN_EDAMAGED. */
int additions_waiting(struct cairn_store *store, uint64_t run, uint32_t *n,
                      struct cairn_error *error);
/* Appends the text of an addition. CAIRN_ENOTFOUND, CAIRN_EDAMAGED. */
int addition_text(struct cairn_store *store, uint64_t run, uint64_t id,
                  struct buf *text, struct cairn_error *error);
/* The names of all tasks that were added to stored runs of a workflow (its row id), as
 * they stand in the texts: a group's is that of all its members. CAIRN_EDAMAGED. */
struct added_names {
    struct map map;
    struct arena arena; /* of the keys */
};
int added_names_load(struct added_names *names, struct cairn_store *store,
                     uint64_t workflow, struct cairn_error *error);
/* One more. */
int added_names_note(struct added_names *names, struct str name,
                     struct cairn_error *error);
/* Whether a task of this id is one of them, or a member of one. */
bool added_names_have(const struct added_names *names, struct str id);
/* Also after an error. */
void added_names_release(struct added_names *names);
/* The newest one that the workflow was given: a command of a greater number brings
 * tasks that it has not. */
static inline uint64_t additions_up_to(const struct cairn_workflow *w, uint64_t run)
{
    return w->added_run == run ? w->newest_addition : 0;
}

#endif
