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

#include "base/arena.h"

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

#endif
