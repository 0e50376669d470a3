/* SPDX-License-Identifier: MIT */
/* What pages can do (cairn web --allow-changes), in two steps: a form of a page asks
 * for an action and is answered by a preview, which says what would happen; the
 * preview's form has the action done by a command of cairn. It has a nonce, which
 * counts once, for that action, and only as long as the preview would be the same.
 *
 * A preview that the command itself makes (by --dry-run) takes processes, too: so what
 * a form asks for is a row of commands, of which the last one does it.
 *
 *     struct act *act = act_take(...);         NULL: that is the answer
 *     do carry out act_line(act);
 *     while (act_goes_on(act, ...));           false: that is the answer
 *     act_free(act); */
#ifndef WEB_ACT_H
#define WEB_ACT_H

#include "web/pages.h"

/* The previews that were given out, and the commands that go on. */
struct acts;
/* The words with which each command begins, of which there are n; they must outlive it.
 * NULL: out of memory. */
struct acts *acts_new(const char *const *words, size_t n);
void acts_free(struct acts *acts);
/* Those that go on, for the options of pages. */
const struct lastings *acts_lastings(const struct acts *acts);

/* One command. */
struct act_line {
    const char *const *argv; /* ended by NULL; as long as the act */
    const char *shown;       /* as somebody types it, without the store */
    bool starts;             /* it goes on when it has said which run it is */
    bool looks;              /* it shows what another one would do */
    bool text;               /* it prints text; else JSON */
    int verdict;             /* an exit status that is a result, too; or 0 */
    bool lasts;              /* it may take for long */
};
/* What came of it; texts are never NULL, but `problem`, if it was done. */
struct act_came {
    const char *problem, *printed, *err;
};

/* For a form that was posted. NULL: `answer` is a preview, or says what is wrong. */
struct act *act_take(struct acts *acts, struct cairn_store *store,
                     const struct page_options *options, const struct page_ask *ask,
                     struct page_answer *answer);
struct act_line act_line(const struct act *act);
/* After that command. False: `answer` is a preview, or says what came of it. */
bool act_goes_on(struct act *act, struct cairn_store *store,
                 const struct page_options *options, const struct act_came *came,
                 struct page_answer *answer);
/* Its command goes on: the page that says so. */
void act_lasts(const struct act *act, struct cairn_store *store,
               const struct page_options *options, struct page_answer *answer);
void act_free(struct act *act);

#endif
