/* SPDX-License-Identifier: MIT */
/* The valid word that is nearest to a mistyped one. */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

/* `best` is the nearest candidate so far, or NULL. `word` may be a long id. */
struct nearest {
    const char *word, *best;
    unsigned distance;
};
void nearest_init(struct nearest *nearest, const char *word);
void nearest_try(struct nearest *nearest, const char *candidate);

#endif
