/* SPDX-License-Identifier: MIT */
/* Between the files of the benchmark of snapshots. */
#ifndef BENCH_SNAPSHOT_H
#define BENCH_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

/* ---- tools.c ---- */

/* A command for each step, words with blanks between them; several of them with "; ".
 * They start in the tree. {n}: number of the snapshot, {f}: a file, {tree}: the tree.
 */
struct tool {
    const char *name;
    const char *version; /* prints it; fails where it is not installed */
    const char *init, *take;
    const char *one;  /* writes the file {f} of snapshot {n} to stdout */
    const char *all;  /* puts all of snapshot {n} into the tree, which is empty */
    const char *pack; /* makes the repository smaller, or NULL */
};
extern const struct tool tools[];
extern const unsigned n_tools;
/* The environment of the commands; repositories are in DIR/repository-NAME. */
void tools_use(const char *cairn, const char *dir, const char *tree);

struct measured {
    double ms;       /* of all commands, from start to exit */
    double cpu_ms;   /* of the processor, in the program and the kernel */
    double peak_mib; /* the most memory of one of them */
};
/* In `tree`, with stdout into the file `out` (NULL: nowhere). A command that fails ends
 * the benchmark. */
struct measured tool_run(const char *commands, const char *tree, uint64_t n,
                         const char *file, const char *out);
/* The process that starts a command and tells what that took; argv behind "run". */
int tool_run_apart(char **argv);

/* ---- tree.c ---- */

struct tree {
    char dir[4200];
    char **files; /* regular ones, by path from there */
    uint64_t n;
    uint64_t entries, bytes;
    uint64_t random;
};
/* A copy of a directory, without .git, .cairn and files with rules of what is ignored.
 */
void tree_copy(const char *from, const char *to);
/* `n` files of 200 to 4,000 bytes of words, 100 to a directory, 50 of these to one. */
void tree_make(const char *to, uint64_t n);
void tree_list(struct tree *tree, const char *dir);
void tree_release(struct tree *tree);
/* Puts a line into each of `n` files, somewhere. */
void tree_edit(struct tree *tree, uint64_t n);
/* Moves what is in it away, for file systems such as ext4 do not give out inodes again
 * that have just become free, and look for others for long. */
void tree_empty(const char *dir, const char *away);
/* Names every entry and looks at it, as a process of its own does for the floor. */
void tree_walk(const char *dir, uint64_t *entries);
bool tree_same_file(const char *a, const char *b);
/* Kinds, modes of files, and contents. */
bool tree_equal(const char *a, const char *b);
uint64_t tree_disk_bytes(const char *dir);

#endif
