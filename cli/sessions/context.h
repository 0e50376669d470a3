/* SPDX-License-Identifier: MIT */
/* The context of an agent that a checkpoint keeps, shown with the checkpoint. */
#ifndef CLI_SESSIONS_CONTEXT_H
#define CLI_SESSIONS_CONTEXT_H

#include "cairn.h"
#include "cli/json.h"
#include "cli/options.h"

/* A text of several lines behind a label of nine columns; the label stands on the first
 * line alone. */
void lines_print(const char *label, const char *text);

/* How much of it: what an agent reads to go on. */
enum context_level { LEVEL_SUMMARY, LEVEL_CONTEXT, LEVEL_FULL };

/* The members, in an object that is already open. */
void context_members(struct doc *doc, const struct cairn_context *context,
                     enum context_level level);
/* That of a checkpoint; nothing where it has none. Return an exit status, after
 * printing what is wrong. */
int context_print(struct cairn_store *store, const char *id);
/* The member `context`: null where it has none. */
int context_document(struct doc *doc, struct cairn_store *store, const char *id);
/* The newest checkpoint of a session to which a context was given, among the newest
 * 1,000: a line that offers it, or nothing; with `doc` the member `context`, null if
 * there is none. Returns an exit status, after printing what is wrong. */
int context_offer(struct doc *doc, struct cairn_store *store, const char *session);
/* What differs between those of two checkpoints (NULL and "", which are no
 * checkpoints: nothing); doc NULL: text,
 * else the member `context`. */
int context_compare(struct doc *doc, struct cairn_store *store, const char *from,
                    const char *to);
/* What clients of contextd read in its answers: the members of a checkpoint, but `id`
 * and `tags`, in an object that is already open. `pairs`: with the member `context`, an
 * object. Returns an exit status, after printing what is wrong. */
int contextd_members(struct doc *doc, struct cairn_store *store,
                     const struct cairn_checkpoint_info *info, bool pairs);
/* The option --contextd; false: it is there without --json, and that was reported. */
bool contextd_option(const struct settings *settings, bool *wanted);

#endif
