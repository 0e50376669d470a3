/* SPDX-License-Identifier: MIT */
/* The pages of a store by their addresses:
 *
 *     /               what needs somebody, runs, sessions   ?workflow= &offset=
 *     /runs/3         a run, and of its graph             ?open= &find= &zoom=
 *     /runs/3/log     of a task, a part of it               ?task= &attempt= &stream= &from=
 *     /runs/3/task    a task: why, attempts, values, events   ?task=
 *     /runs/3/tasks   all of them         ?state= &group= &exit= &took= &sort= &offset=
 *     /runs/3/plan    what a resume would do
 *     /runs/3/audit   what was done, and /audit to the store as a whole   ?after=
 *     /timeline       sessions and runs as trees            ?session= &branch= &run= &offset=
 *     /compare        what differs between two checkpoints  ?from= &to= &view=sides
 *     /search         everything                            ?q= &in= &tag= &since= &until=
 *     /checkpoints/42 one of them; /files ?path= &offset=, /file ?path= &from=, /raw ?path=,
 *                     /picture ?path=, /blame ?path=
 *     /sessions/3     its board and messages; /messages ?at= &skip=, /message ?n=, /items ?kind= &offset=,
 *                     /item ?id=, /settings, /size, /history ?path= &most=, /grep ?pattern=
 *
 * and the style. Everything is read anew for each, and nothing is changed. */
#ifndef WEB_PAGES_H
#define WEB_PAGES_H

#include "web/frame.h"

struct page_ask {
    const char *path; /* without a % */
    void *request;
    /* A value of the query as it was sent, or NULL. */
    const char *(*query)(void *request, const char *name);
};

struct page_answer {
    unsigned status; /* of HTTP */
    const char *type;
    bool fixed;     /* what stands at this address never changes */
    char file[128]; /* the name by which it is saved, and not shown; "": it is shown */
    struct buf body;
};

/* `options->style` is style_address. */
void pages_answer(struct cairn_store *store, const struct page_options *options,
                  const struct page_ask *ask, struct page_answer *answer);
/* Whether there can be a page of this address that web/live.h renews. */
bool pages_are_live(const char *path);
/* Appends a session as one file: what its page, the timeline and comparisons of
 * neighbours show, in less than 2 MB, which says what is left out. A code of the
 * library. `options->style` is NULL. */
int session_report(struct buf *out, struct cairn_store *store, uint64_t session,
                   const struct page_options *options, struct cairn_error *error);
/* A page that says what is wrong. */
void pages_problem(const struct page_options *options, unsigned status,
                   const char *text, struct page_answer *answer);

#endif
