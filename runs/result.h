/* SPDX-License-Identifier: MIT */
/* The result of an attempt that completed: everything that later decisions need to know
 * of it, in one object of the content pool whose digest stands in the checkpoint. So it
 * is as trustworthy as the record.
 *
 *   0x00, version 1, then sections, each: kind (1 byte), varint length, bytes
 *     1  outputs  files   3  values  pairs    5  undo
 *     2  inputs   files   4  secrets keyed    6  check: 8 bytes of a double, flags
 *     7  round: a number from 1
 *
 * Sections that say nothing are left out; a result with none is no object at all
 * (digest zero). docs/format.md has the tables. Older stores hold a bare list of
 * outputs (it begins with the length of a name, which is not 0): decoded, too. */
#ifndef RUNS_RESULT_H
#define RUNS_RESULT_H

#include "graph/definition.h"

struct result_file {
    struct str name; /* as declared, values put in */
    uint8_t kind;    /* 'f' file, 'd' directory */
    uint64_t size;
    int64_t mtime_ns, ctime_ns; /* 0 in old lists */
    uint64_t inode;
    struct digest digest; /* of the content */
    /* Not stored: */
    struct digest seen; /* of a directory: of paths, kinds, sizes, times and inodes */
    int64_t changed_ns; /* the last change of it, or of what is in it */
};
/* Whether its times are of a clock of seconds (ext3, ext4 with small inodes): they do
 * not tell whether somebody wrote the file again within that second. */
static inline bool file_time_is_coarse(const struct result_file *file)
{
    int64_t at = file->changed_ns ? file->changed_ns : file->ctime_ns;
    return at % 1000000000 == 0;
}
/* An input because of which the attempt failed: it was missing, or could not be read.
 * Of it only the name is recorded. (One that has no digest, but an inode, may have
 * changed while the attempt ran: it is equal to nothing.) */
static inline bool file_was_unreadable(const struct result_file *file)
{
    return digest_is_none(&file->digest) && !file->inode;
}
struct secret_mark {
    struct str name;
    struct digest mac; /* HMAC-SHA-256 with the store's key */
};
struct undo_action { /* text.len 0: none */
    struct str text; /* for the shell */
    struct str *shell;
    uint32_t n_shell;
    struct str cwd;        /* absolute */
    struct key_value *env; /* [n_env] values put in */
    uint32_t n_env;
    struct str *secrets; /* names */
    uint32_t n_secrets;
};
struct result {
    struct result_file *outputs, *inputs;
    uint32_t n_outputs, n_inputs;
    struct key_value *values; /* sorted by key */
    uint32_t n_values;
    struct secret_mark *secrets; /* sorted by name */
    uint32_t n_secrets;
    struct undo_action undo;
    bool checked, warned;
    double confidence;
    uint32_t round; /* of a task with `repeat`: which one this was; 0: none */
};
/* How many of the first values are no values of $CAIRN_OUTPUT, but lists that the task
 * left in files (graph/lists.h): '@' comes before every letter. */
static inline uint32_t result_lists(const struct result *result)
{
    uint32_t n = 0;
    while (n < result->n_values && result->values[n].key.ptr[0] == '@')
        n++;
    return n;
}

/* Appends the object's bytes; nothing if the result says nothing. */
int result_encode(const struct result *result, struct buf *out,
                  struct cairn_error *error);
/* Everything is copied into the arena. Untrusted bytes: CAIRN_EDAMAGED. */
int result_decode(struct arena *arena, struct str bytes, struct result *out,
                  struct cairn_error *error);

#endif
