/* SPDX-License-Identifier: MIT */
/* Stale files: declared outputs of tasks that are gone from the definition, or that the
 * run has made and skips now, which still lie where they were made. A pattern that
 * joins the outputs of a group takes them for outputs of its members. Reads only. */
#ifndef PLAN_STALE_H
#define PLAN_STALE_H

#include "base/memory.h"
#include "runs/outputs.h"
#include "storage/rows_made.h"

struct situation;

enum stale_state {
    STALE_SAME,      /* with the recorded content */
    STALE_DIRECTORY, /* the same, of a directory: it may hold what was there before */
    STALE_IN_PLACE,  /* the same, of a file that was there before its task wrote it */
    STALE_CHANGED,   /* with another one: it is somebody else's now */
    STALE_USED       /* a task of the definition makes it, or reads it, by its name or
                        with its directory */
};
struct stale_file {
    struct made_row row; /* who made it, and where it lies */
    const char *path;    /* that place, as a path that can be opened */
    struct str real;     /* without links, `.` and `..` */
    uint8_t state;       /* enum stale_state */
    bool skipped;        /* the task is there, but skipped; else it is gone */
    bool remove;         /* ... and `stale: remove` says what becomes of it */
    const char *user;    /* of USED: the task */
    bool made;           /* ... and it makes it */
    bool read;           /* ... and it reads the directory in which it lies, or what a
                            skipped task was to make anew, with the content that was
                            recorded */
    bool inside;         /* ... that directory */
};
struct stale_list {
    struct arena arena; /* of the texts */
    struct stale_file *at;
    uint32_t n;
    size_t capacity;
    struct made_row
        *missing; /* [n_missing] rows of files that are not there any more */
    uint32_t n_missing;
    size_t missing_capacity;
    bool more; /* there are more than the search was to look at */
};
/* How much a search looks at; 0: all. */
struct stale_limits {
    uint32_t files;
    uint32_t rows;  /* of tasks that are there, which may have made a file since */
    uint64_t bytes; /* read, where the times do not tell whether a file is the same:
                       past that it counts as the same */
};
/* Where to look. */
struct stale_scene {
    const struct cairn_workflow *workflow;
    struct cairn_store *store;
    const struct situation *situation;
    struct lookup *lookup; /* of what names of files stand for */
    const bool *skipped;   /* [n_tasks] */
    /* For the command that removes them. run 0: one that begins anew. */
    uint64_t run;
    const struct cairn_run_options *options; /* with which it begins */
    bool only_skipped; /* what tasks that are gone have made is not asked for */
};
/* As it was decided: to be released with free. NULL: no memory. */
bool *stale_decided_skips(const struct situation *situation);
/* To be released also after an error. */
int stale_find(struct stale_list *list, const struct stale_scene *scene,
               struct stale_limits limits, struct cairn_error *error);
void stale_release(struct stale_list *list);
/* Calls `say` with a line for each group of them. */
int stale_tell(const struct stale_scene *scene,
               void (*say)(void *context, const char *text), void *context,
               struct cairn_error *error);
/* Whether a run removes it before anything starts. */
static inline bool stale_goes(const struct stale_file *file)
{
    return file->remove && !file->skipped && file->state == STALE_SAME;
}
/* What a run removes before anything starts; `gone` is to be released also after an
 * error. Its lookup need not know yet what is skipped. */
struct stale_gone {
    struct stale_list list;
    struct map paths; /* real ones, of those for which stale_goes holds */
};
int stale_find_gone(struct stale_gone *gone, const struct stale_scene *scene,
                    struct cairn_error *error);
void stale_gone_release(struct stale_gone *gone);
/* Whether the file still has the content that the row tells. `bytes` (may be NULL) is
 * what may be read; where that is too little it counts as the same. *now: its sign. */
bool stale_is_same(const char *path, const struct made_row *row, uint64_t *bytes,
                   struct file_sign *now);

#endif
