/* SPDX-License-Identifier: MIT */
/* What each command about items does: one row per command. A row says of which kind the
 * item is, what is done with it, and which operands and options become which fields. */
#ifndef CLI_SESSIONS_ITEM_VERBS_H
#define CLI_SESSIONS_ITEM_VERBS_H

#include "cairn.h"
#include "cli/options.h"

enum item_action {
    ITEM_ADD,
    ITEM_SET,    /* the first operand is the id */
    ITEM_REMOVE, /* likewise */
    ITEM_SHOW,   /* likewise */
    ITEM_LIST
};
enum { VERB_OPTIONS = 6 };
/* The option of a command that becomes a field; of a list, the field it must have. */
struct verb_option {
    enum option_id option;
    const char *field;
};
struct item_verb {
    const char *command; /* "hypothesis confirm" */
    const char *kind;
    enum item_action action;
    const char *operands[2];                  /* the fields that the operands set */
    struct verb_option options[VERB_OPTIONS]; /* ended by a NULL field */
    struct cairn_set fixed;                   /* a field that is set as well, or NULL */
    const char *done;                         /* "confirmed", for people */
    bool by_score;                            /* a list of open gaps, unless --all */
};
/* NULL: it is no command about items. */
const struct item_verb *item_verb(const char *command);

#endif
