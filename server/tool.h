/* SPDX-License-Identifier: MIT */
/* A tool is one row: its description for clients, and the command line that a call
 * becomes. A template is words with one space between them:
 *
 *     note             as it is
 *     {x}              the value of the property x; nothing if x is not given; a list
 *                      becomes several arguments
 *     {x}:{y}          values with text around; nothing unless all are given
 *     --tag={x}        an option; a list is joined by commas (so none may be in a
 *                      member), pairs repeat the option
 *     --yes?{x}        the word --yes if x is true, or given where it is no boolean
 *     --dry-run!{x}    the word --dry-run unless x is true
 *     --state=-<{x}    the word --state=-, and x goes to stdin; so does -<{x}, an operand
 *
 * `{x*}` says that x is required; an operand that is not needs those before it.
 * Operands stand behind `--`, and values of options behind `=`, so no value can become
 * an option.
 *
 * The JSON Schemas of what a tool takes and gives are made from its row. */
#ifndef SERVER_TOOL_H
#define SERVER_TOOL_H

#include "server/text.h"

#include <stdbool.h>
#include <stddef.h>

enum property_kind {
    PROPERTY_TEXT,
    PROPERTY_PROSE,   /* the command reads it from stdin where it is `-` */
    PROPERTY_INTEGER, /* from low to high */
    PROPERTY_NUMBER,
    PROPERTY_USAGE, /* 0 to 1, or above 1 a percentage */
    PROPERTY_BOOLEAN,
    PROPERTY_CHOICE,   /* one of words, separated by | */
    PROPERTY_LIST,     /* of strings */
    PROPERTY_PAIRS,    /* an object: NAME=VALUE */
    PROPERTY_NOTES,    /* the same, or a string, which is context=VALUE */
    PROPERTY_DIRECTORY /* where the command is carried out */
};

struct property {
    const char *name;
    const char *also; /* older names for it, separated by |, or NULL */
    enum property_kind kind;
    const char *words;
    double low, high;
    bool empty;   /* "" (of a list: []) is the same as not given */
    bool ignored; /* checked, and then of no effect */
    bool stores;  /* with it even a tool that reads stores something: not there with
                     --read-only */
    const char *about;
};

struct variant {
    const char
        *value; /* of the property `by`; NULL: it is not given, or there is none */
    const char *template;
};

enum toolset {
    TOOLSET_CHECKPOINT = 1,
    TOOLSET_SESSION = 2,
    TOOLSET_BOARD = 4,
    TOOLSET_RUN = 8,
    TOOLSET_TASK = 16,
    TOOLSET_USUAL =
        31, /* a model has to choose among these, if nobody says otherwise */
    TOOLSET_FILES = 32,
    TOOLSET_BRANCH = 64,
    TOOLSET_MESSAGE = 128,
    TOOLSET_EXEC = 256,
    TOOLSET_STORE = 512,
    TOOLSET_ALL = 1023
};

enum tool_hint {
    HINT_READ_ONLY = 1,
    HINT_DESTRUCTIVE = 2,
    HINT_IDEMPOTENT = 4,
    HINT_SLOW = 8,    /* others need not wait for it */
    HINT_STATUS = 16, /* its exit status is part of the answer, and no failure */
    HINT_RUNS = 32    /* commands, which can do anything anywhere */
};

struct tool {
    const char *name, *title, *about;
    enum toolset set;
    unsigned hints;
    const char *by; /* the property that chooses the variant, or NULL */
    const struct variant *variants;
    size_t n_variants;
    const struct property *properties;
    size_t n_properties;
    /* Members of the answer, "run:i state:s?": s string, i integer, n number, b
     * boolean, a array, o object; ? may be null. */
    const char *shape;
    const char *says; /* the member that is text for people, or NULL: all of it is */
    bool raw;         /* it prints a text, which is the member `text` of the answer */
    bool starts; /* a run that goes on: the answer is its first line with a number */
};

/* The i-th tool, NULL past the end. */
const struct tool *tool_at(size_t i);
/* The bit of a toolset (or those of "all"), 0 if there is none with this name of n
 * bytes. */
unsigned toolset_find(const char *name, size_t n);
const char *toolset_name(enum toolset set);

/* Without the properties that store something, if `read_only`. */
void schema_input(struct buf *text, const struct tool *tool, bool read_only);
void schema_output(struct buf *text, const struct tool *tool);

#endif
