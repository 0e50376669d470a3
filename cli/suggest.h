/* SPDX-License-Identifier: MIT */
/* The commands that messages suggest, made so that they work where they are printed: on
 * the store, with the key and for the session that this command was given. */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include "cli/options.h"

/* For all messages that follow; the settings must outlive them. Without it, or with
 * NULL, suggestions stay as they are. */
void suggest_from(const struct settings *settings);
/* Notes a store that a command without --store would not find here, to be named.
 * `file`: the workflow file that it lies beside, or NULL. */
void suggest_store(const char *path, const char *file);

/* A text with all commands that stand in it in backquotes completed; heap. NULL: there
 * is nothing to complete, or no memory. */
char *suggest_completed(const char *text);

/* What a suggested command needs behind it, "" or " --store DIR --key FILE", for those
 * that stand without backquotes. */
const char *store_hint(const struct settings *settings);
/* The same for commands of sessions: with " --session NAME", and without the key, which
 * they do not take. */
const char *session_hint(void);

#endif
