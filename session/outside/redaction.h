/* SPDX-License-Identifier: MIT */
/* The secrets that a session knows: values of variables. */
#ifndef SESSION_REDACTION_H
#define SESSION_REDACTION_H

#include "secrets/outside.h"

/* Values that are not stored. Names have commas between them, and mean what the
 * variables have in our environment. */
struct hidden_values {
    struct str names;           /* that the settings of the session list */
    struct str declared;        /* that workflows of the store declare as secrets */
    const struct secret *given; /* secrets that a run got in another way */
    size_t n_given;
};
/* CAIRN_EUSAGE: one that the settings list is too short to be found again. A declared
 * secret that is, which a run refuses, is passed over. */
int redactor_of_values(const struct hidden_values *hidden, struct redactor **out,
                       struct cairn_error *error);

#endif
