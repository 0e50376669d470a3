/* SPDX-License-Identifier: MIT */
/* What the files of situation.c share. */
#ifndef PLAN_SITUATION_INT_H
#define PLAN_SITUATION_INT_H

#include "base/memory.h"
#include "plan/nearest.h"
#include "plan/situation.h"

/* Outputs that are to be put back (plan/reuse.h), found so far: absolute paths. */
struct put_back_paths {
    struct map paths, above; /* themselves, and the directories that they lie in */
    struct arena arena;      /* of the paths */
};

struct loader {
    struct situation *s;
    struct cairn_workflow *w;
    struct cairn_store *store;
    const struct cairn_run_options *options;
    bool as_is;
    bool explains;  /* why a task that can be reused is not: nobody asks in a run */
    bool no_memory; /* for a condition, while deciding */
    struct reuse *reuse; /* while deciding; NULL: nothing can be reused */
    int reuse_rc;
    struct nearest *nearest;        /* with it */
    uint8_t *groups_stay;           /* the same: [groups][2], of group_may_stay */
    struct put_back_paths put_back; /* the same */
    struct past_definition past;
    struct past_attempts *attempts; /* NULL: nothing is kept */
    struct cairn_error *error;
};

/* Adds a notice. */
void situation_add_notice(struct situation *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Inside a task: recorded.row is the run that this task has begun and goes on with now,
 * if there is one. */
int situation_find_begun_before(struct loader *l, const struct digest *params);
/* Once run, states, definition and old_task are loaded. */
int situation_load_marks(struct loader *l);
int situation_allocate_marks(struct loader *l);
/* Behind them: present.rounds (rounds.c). */
int situation_load_rounds(struct loader *l);
/* For a run that begins inside a task which had begun another: the marks of `once`
 * tasks, which are allocated. */
int situation_load_earlier(struct loader *l);
/* An attempt as its keeper, or the note of its end, has it: in the numbers of the
 * generation that began it. */
struct attempt_numbers {
    uint32_t gen, task, attempt;
};
/* After the marks: ends that were noted. They need the values of secrets. */
int situation_find_end_notes(struct loader *l);
/* Once it is decided: can the results be read that what runs needs of what stays? 1: of
 * some not (their evidence is RESULT_LOST now), so decide again; 0; <0 error. */
int situation_check_results(struct loader *l);
/* The members of each group are those of the list as it was passed on: by a pure
 * function of what is recorded, so that a plan, a run and one that goes on agree. The
 * members of a group that makes lists come first. */
int situation_give_lists(struct loader *l);
/* Those of an earlier run with this definition in memory. */
int situation_forget_lists(struct loader *l);
/* Of lists whose makers are done already, by other runs, too: 1: notes in a key what is
 * wrong with one, which was not known before. */
int situation_find_bad_lists(struct loader *l);
/* The result of a completed task cannot be read; `why` is shown to people. */
void situation_lose_result(struct loader *l, uint32_t task, const char *why);
/* Outputs that are not as they were recorded, and what is there now. */
struct changed_outputs {
    struct changed_output *at;
    uint32_t n;
    size_t capacity;
};
/* Past some thousands, and without memory, nothing is added: then nobody is named. */
void changed_outputs_add(struct changed_outputs *changed, uint32_t task,
                         const struct result_file *now);
void changed_outputs_release(struct changed_outputs *changed);
/* Fills present.writer for those that another attempt recorded as they are now. */
int situation_find_writers(struct loader *l, struct changed_outputs *changed);
/* Names files whose makers are gone from the definition (stale.c). */
int situation_notice_stale(struct loader *l);
/* Fills present.first_maker and makers, where a task needs another one only for the
 * order. */
int situation_find_makers(struct loader *loader);
/* Once run, states and definition are loaded: marks, evidence, the decision. */
int situation_decide(struct loader *l);

#endif
