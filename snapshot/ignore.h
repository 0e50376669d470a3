/* SPDX-License-Identifier: MIT */
/* Which files are ignored, by rules as git has them in .gitignore files (gitignore(5)
 * tells them, and where that and git differ this does what git does: tests compare).
 *
 * Pure: the caller reads the files and walks the tree, from its root down. Each file of
 * rules is a level, and refers to the levels above it; that of a .cairnignore lies on
 * that of the .gitignore beside it. In one level the last rule that matches decides,
 * and a level is asked before those above it. Nothing below an ignored directory can be
 * wanted again, so a walk must not go into one: ignore_matches looks at one path alone,
 * and not at the directories that lead to it. */
#ifndef SNAPSHOT_IGNORE_H
#define SNAPSHOT_IGNORE_H

#include "base/memory.h"

struct ignore_rule;

struct ignore_rules {
    const struct ignore_rule *at;
    size_t n;
};

struct ignore_level {
    const struct ignore_level *above; /* NULL: none */
    struct str dir; /* where the rules lie: relative to the root, "" the root itself */
    struct ignore_rules rules;
};

/* The rules of one file, in the arena, which takes at most some 50 times the bytes of
 * the file; the text itself is not kept. Every text is fine: a line that git would not
 * match with anything is passed over. CAIRN_ENOMEM. */
int ignore_parse(struct arena *arena, struct str text, struct ignore_rules *rules,
                 struct cairn_error *error);
/* Is this file, or directory, ignored? `path` is relative to the root, without a slash
 * at its end; `level` is NULL or the deepest level that lies in the directory of the
 * path or above. */
bool ignore_matches(const struct ignore_level *level, struct str path, bool is_dir);
/* What ignore_matches goes by, to tell people why: the number of the line in the file
 * of *level (from 1) with the rule that decides; 0: there is none, and the path is not
 * ignored. *wanted: the rule is one with a "!", which keeps the path. */
size_t ignore_reason(const struct ignore_level **level, struct str path, bool is_dir,
                     bool *wanted);

/* One pattern with wildcards, as git has them in .gitignore, compiled once and held
 * against many texts:
 *
 *     ?        one byte, but no slash
 *     *        bytes without a slash, or none
 *     [...]    one byte of a set, but no slash; [!...] and [^...] one that is not in it
 *     \x       the byte x itself
 *
 * Two stars or more are one star, except in front or behind a slash: there they stand
 * for all bytes, slashes too, if they are last; and if a slash follows, together with
 * it for nothing, or for bytes up to and with a slash. Bytes are bytes: nothing is
 * taken for UTF-8, and letters of both cases differ.
 *
 * Matching does not recur and keeps two places to go back to. Its time is at most
 * (bytes of the text) * (bytes of the pattern) for each directory in the text. */

struct pattern_middle;

struct pattern {
    struct str head, tail;               /* what each text begins and ends with */
    const struct pattern_middle *middle; /* of what is between; NULL: nothing is */
};

/* Compiles `text` (without a NUL) into the arena: 1, or 0 if it can match nothing
 * because a set is not closed or names an unknown class, or because a backslash is its
 * last byte. CAIRN_ENOMEM. */
int pattern_compile(struct arena *arena, struct str text, struct pattern *pattern,
                    struct cairn_error *error);
bool pattern_matches(const struct pattern *pattern, struct str text);

/* Some of the paths of a tree, by patterns that people give: each is one as a line of a
 * .gitignore at the root has it, but that `!` and `#` in front are those bytes. It
 * means what it matches, and all that is below a directory that it matches. */

struct paths {
    struct arena arena;
    struct ignore_level *levels; /* [n], one for each pattern */
    const struct str *texts;     /* as they were given */
    bool *found;                 /* matched something */
    size_t n;
};

/* Of at least one; `texts` must outlive it. paths_close in any case. CAIRN_EUSAGE: one
 * is empty, or can match nothing. */
int paths_open(struct paths *paths, const struct str *texts, size_t n,
               struct cairn_error *error);
void paths_close(struct paths *paths);
/* Is it one of them? Each pattern that matches it is noted as found. */
bool paths_match(struct paths *paths, struct str path, bool is_dir);
/* The first that has matched nothing; NULL: none. */
const struct str *paths_missing(const struct paths *paths);

/* The files of rules in one directory. */

enum { RULES_BYTES_MOST = 1 << 20 };

/* Reads .gitignore and .cairnignore of the directory `fd`, whose path is `dir`, if they
 * are files; a link is none, as for git. *rules: those that hold in it, `above` where
 * it has none of its own; in the arena. CAIRN_ELIMIT: one is larger than
 * RULES_BYTES_MOST. */
int rules_read(int fd, struct str dir, const struct ignore_level *above,
               struct arena *arena, const struct ignore_level **rules,
               struct cairn_error *error);
/* Whether the directory `path` (below the open directory `root`; it need not be there)
 * is one that a snapshot of that leaves out, or lies in one: 1 or 0. */
int rules_leave_out(int root, struct str path, struct cairn_error *error);

#endif
