/* SPDX-License-Identifier: MIT */
/* The tasks that `cairn status` lists. */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H

#include "cairn.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/tasks/open_steps.h"
#include "cli/tasks/task_rows.h"
#include "cli/tasks/told_values.h"

#define FAILED_SHOWN 20

struct task_listing {
    const struct settings *settings;
    struct cairn_store *store;
    struct doc *doc; /* with --json */
    uint64_t run;
    const char *hint; /* of commands that write to it */
    bool live;
    bool handled; /* what failed in it: it completed all the same */
    int width;    /* columns of the names of tasks */
    const struct open_steps *steps;
    uint32_t failed, unknown, failed_undos;
    struct told_values values; /* with --json and `every` */
    struct cairn_error error;  /* of a listing inside the listing */
    enum cairn_outcome only;   /* with --json, unless `every` */
    bool every;
    bool undos; /* those whose undo failed, whatever `only` is */
};
/* Callbacks of cairn_run_tasks; the context is the listing. */
int list_task_text(void *listing, const struct cairn_task_info *task);
int list_failed_undo(void *listing, const struct cairn_task_info *task);
int list_task_document(void *listing, const struct cairn_task_info *task);
/* The same of one that is to be listed. */
int list_row_text(struct task_listing *listing, const struct task_row *row);
int list_row_document(struct task_listing *listing, const struct task_row *row);
/* status --waiting */
int show_waiting(struct settings *settings, struct cairn_store *store,
                 const struct cairn_run_info *run);

#endif
