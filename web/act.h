/* SPDX-License-Identifier: MIT */
/* What pages can do (cairn web --allow-changes), in two steps: a form of a page asks
 * for an action and is answered by a preview, which says what would happen; the
 * preview's form has the action done by a command of cairn. It has a nonce, which
 * counts once, for that action, and only as long as the preview would be the same. */
#ifndef WEB_ACT_H
#define WEB_ACT_H

#include "web/pages.h"

/* The previews that were given out. */
struct acts;
/* The words with which each command begins, of which there are n; they must outlive it.
 * NULL: out of memory. */
struct acts *acts_new(const char *const *words, size_t n);
void acts_free(struct acts *acts);

enum { ACT_WORDS = 24 };
struct act_command {
    const char *argv[ACT_WORDS + 1]; /* ended by NULL; those from `own` on are heap */
    size_t n, own;
    bool starts; /* it goes on when it has said which run it is */
    uint64_t run;
    char *shown; /* as somebody types it; heap */
};
/* A form that was posted. NULL: `answer` is a preview, or says what is wrong. */
struct act_command *act_take(struct acts *acts, struct cairn_store *store,
                             const struct page_options *options,
                             const struct page_ask *ask, struct page_answer *answer);
/* The page that says what came of it: `problem` NULL or the reason why nothing did.
 * Frees the command. */
void act_done(const struct page_options *options, struct act_command *command,
              const char *problem, struct page_answer *answer);
void act_free(struct act_command *command);

#endif
