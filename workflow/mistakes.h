/* SPDX-License-Identifier: MIT */
/* Mistakes of one workflow file, when more than the first is looked for. */
#ifndef WORKFLOW_MISTAKES_H
#define WORKFLOW_MISTAKES_H

#include "workflow/source.h"

enum { MISTAKES = 20 };

struct mistakes {
    struct mistake {
        struct position at; /* line 0: the file as a whole */
        struct cairn_error error;
    } list[MISTAKES];
    uint32_t n;
    /* What others refer to could not be read: what follows from that is no mistake. */
    bool names_unknown;
};

#endif
