/* SPDX-License-Identifier: MIT */
/* The valid word that is nearest to a mistyped one, and what words of other programs
 * mean here. */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

/* `best` is the nearest candidate so far, or NULL. `word` may be a long id. */
struct nearest {
    const char *word, *best;
    unsigned distance;
};
void nearest_init(struct nearest *nearest, const char *word);
void nearest_try(struct nearest *nearest, const char *candidate);

/* For a word that is no command: what does it, as a phrase with commands in
 * backquotes; NULL if nobody else has such a command. */
const char *command_meant(const char *word);
/* For a word behind that of a group ("session stop"): the command of the group that is
 * meant ("session end"), or NULL. */
const char *verb_meant(const char *words);
/* The same as command_meant for an option that the command (NULL: none yet) does not
 * take. */
const char *option_meant(const char *command, const char *option);

#endif
