/* SPDX-License-Identifier: MIT */
/* From the text of a workflow file to a definition. */
#ifndef WORKFLOW_PARSE_H
#define WORKFLOW_PARSE_H

#include "graph/definition.h"
#include "workflow/diagnostic.h"

/* Mistakes of one workflow file, when more than the first is looked for. */
enum { MISTAKES = 20 };

struct mistakes {
    struct mistake {
        uint32_t file;      /* 0: the workflow's own, else an included one */
        struct position at; /* line 0: the file as a whole */
        struct cairn_error error;
    } list[MISTAKES];
    uint32_t n;
    /* What others refer to could not be read: what follows from that is no mistake. */
    bool names_unknown;
};

/* The files that a workflow includes, each read once: parsed again, it takes the same
 * bytes. */
struct included {
    struct included_file {
        char *path, *real; /* as it was opened; resolved */
        struct buf text;
    } * files;
    size_t n, capacity, bytes;
};

void included_release(struct included *included);

/* Tasks that were added to a run: a text as that of a file, with nothing but `tasks`. */
struct addition {
    char *name; /* for messages */
    char *text;
    size_t length;
    uint64_t id;   /* of the command that stored it; 0: none has */
    char **gone;   /* [n_gone] names of its tasks that were withdrawn, */
    size_t n_gone; /* the last of them by this command */
    uint64_t changed;
};

/* Whether that task of it was withdrawn. */
bool addition_lacks(const struct addition *addition, struct str name);

struct keys_set;

struct parse_options {
    const char *name; /* of the file, for messages */
    const char *file; /* absolute path or "" */
    const char *root; /* absolute directory for glob, lines, cwd */
    const struct cairn_param *params;
    size_t n_params;
    /* The definition of the run that is being resumed, or NULL: glob and lines with the
     * same spec keep the values recorded there. */
    const struct definition *recorded;
    /* The run that the params are of, where the file was written since it began; else
     * 0. A default that is another one now is noted, unless the value was given when
     * the run began: were_given [n_params]. */
    uint64_t edited_run;
    const bool *were_given;
    struct included *included;        /* NULL: no file can be included */
    const struct addition *additions; /* [n_additions] to the file's own tasks, in this
                                         order */
    size_t n_additions;
    /* So many of the first of them were checked with others that are not here: names of
     * these in their texts are passed over. */
    size_t n_checked;
    /* Not NULL: there is no text. The definition has the tasks that a program added, and
     * these keys are read into it, where it is. */
    const struct keys_set *set;
    /* Not NULL: gets what is wrong in the file, as far as one mistake does not follow
     * from another. */
    struct mistakes *mistakes;
};

/* Strict (docs/workflow-file.md). `out` is initialised here and released on failure.
 * With `set` it must be there, and on failure it is only good for being released.
 * CAIRN_EWORKFLOW with error->text:
 *
 *   build.yaml:7:5: unknown key `neds` in task `link`; did you mean `needs`?
 *      7 |     neds: [compile]
 *        |     ^
 */
int definition_parse(struct str text, const struct parse_options *options,
                     struct definition *out, struct cairn_error *error);

#endif
