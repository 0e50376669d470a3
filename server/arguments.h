/* SPDX-License-Identifier: MIT */
/* What a tool is given, as the command line that does it: checked against the tool's
 * properties, never put together as a text for a shell. */
#ifndef SERVER_ARGUMENTS_H
#define SERVER_ARGUMENTS_H

#include "server/json_value.h"
#include "server/tool.h"

#define ARGUMENTS_MAX 256
/* The kernel takes 128 KiB for one argument. */
#define ARGUMENT_BYTES 100000

struct arguments {
    char *argv[ARGUMENTS_MAX + 1]; /* [n], then NULL */
    size_t n;
    char *input; /* for stdin, or NULL */
    size_t input_bytes;
    char *directory; /* where it is carried out, or NULL: here */
    bool read_only;  /* properties that store something are not there */
    bool stores;     /* one of these was given */
    struct buf problem;
    bool failed;   /* out of memory */
    bool too_many; /* more than ARGUMENTS_MAX */
};

/* `arguments` begins as zeros; words that are there already stay in front, and --json
 * comes behind the words of the command. `given` is an object, or NULL. False:
 * `problem` says what is wrong, or `failed`. */
bool arguments_make(struct arguments *arguments, const struct tool *tool,
                    const struct value *given);
void arguments_add(struct arguments *arguments, const char *word);
void arguments_release(struct arguments *arguments);

#endif
