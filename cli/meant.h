/* SPDX-License-Identifier: MIT */
/* Words of other programs, and what cairn has for them. */
#ifndef CLI_MEANT_H
#define CLI_MEANT_H

/* For a word that is no command: what does it, as a phrase with commands in
 * backquotes; NULL if nobody else has such a command. */
const char *command_meant(const char *word);
/* The same for an option that the command (NULL: none yet) does not take. */
const char *option_meant(const char *command, const char *option);

#endif
