/* SPDX-License-Identifier: MIT */
/* Files in checkpoints of sessions, against a model; see main.c for what is done. */
#ifndef TESTS_PROVE_FILES_FILES_H
#define TESTS_PROVE_FILES_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PATH_SIZE = 4096, ID_SIZE = 64, NAME_SIZE = 64, KEPT = 48 };

/* ---- Trees (tree.c) ---- */

struct entry {
    char *path; /* below the root */
    char kind;  /* 'f', 'd', 'l', or 'o' for anything else */
    unsigned mode;
    int64_t mtime;
    uint64_t content; /* digest of the bytes, or of the target */
    char *rules;      /* the text of a file of rules, or NULL */
    bool ignored;
    bool never; /* below .git and the like, and what was kept beside */
    bool marked;
};
struct tree {
    struct entry *at; /* by ascending bytes of the paths */
    size_t n, room;
};
/* Everything below `root`. False: out of memory, or something cannot be read. */
bool tree_scan(struct tree *tree, const char *root);
void tree_free(struct tree *tree);
struct entry *tree_get(const struct tree *tree, const char *path);
/* What a checkpoint holds: what is not ignored, and what is in `also` (NULL: nothing).
 */
bool tree_tracked(const struct tree *disk, const struct tree *also, struct tree *out);
/* What is in `now`, but what is at the path or below it, which is as in `state`, with
 * the directories that lead there. Where `state` has only the name of something above
 * the path, what it had there is not known, and nothing changes. */
bool tree_mix(const struct tree *now, const struct tree *state, const char *path,
              struct tree *out);
/* Is it at the path, or below it? */
bool entry_is_of(const struct entry *entry, const char *path);
/* The rules in one tree ignore what is in another one. */
bool tree_ignores(const struct tree *rules, const struct entry *entry);
/* Where the two differ, NULL: nowhere. Links have neither mode nor time. */
const char *tree_differs(const struct tree *a, const struct tree *b, bool times);
bool entry_same(const struct entry *a, const struct entry *b, bool times);
uint64_t file_hash(const char *path);
uint64_t bytes_hash(const void *bytes, size_t n);

/* ---- What the model knows ---- */

struct kept {
    char id[ID_SIZE];
    struct tree tree;
    int64_t notes; /* -1: not known */
};
/* A time that something had. */
struct seen {
    uint64_t what;
    int64_t time;
};
struct life {
    uint64_t seed;
    char dir[PATH_SIZE / 8];
    char root[PATH_SIZE / 8 + 8], outside[PATH_SIZE / 8 + 8];
    const char *cairn, *nth; /* nth "": there is none */
    bool kills, trace, hurt;
    struct tree disk, out;
    struct kept kept[KEPT];
    size_t n_kept;
    struct seen *seen;
    size_t n_seen, room_seen;
    char branch[NAME_SIZE], undo[ID_SIZE]; /* "": nothing to undo */
    char undone[ID_SIZE], redo[ID_SIZE]; /* what an undo took up, and has left; or "" */
    bool new_times; /* directories in which names come and go keep no time */
    int64_t notes;  /* -1: not known */
    unsigned long trees, moves, barred, killed, lost, repeated, undetected, other;
};
/* Says what went wrong, and counts it. */
void wrong(struct life *life, unsigned long *count, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- Changes by plain system calls (mutate.c) ---- */

void mutate(struct life *life, unsigned n);
void make_writable(const char *root);

/* ---- After a command (judge.c) ---- */

bool look(struct life *life); /* at the disk, before a command */
bool judge_untouched(struct life *life, const char *what);
/* What no checkpoint has and that would be lost if the target came there: the command
 * is to be refused. NULL: nothing. */
const char *judge_barred(const struct tree *disk, const struct tree *target);
/* The disk was `life->disk` before, and the state of `target` was put there. */
bool judge_moved(struct life *life, const struct tree *target, const char *what);
/* The tree, and nothing else, is in a directory of its own. */
bool judge_copy(struct life *life, const struct tree *target, const char *root);
bool judge_outside(struct life *life, const char *what);

/* ---- Commands (life.c) ---- */

enum { KILLED = 128 + 9 };
/* What a command is to take up. */
struct aim {
    struct kept state;        /* id "": the present one */
    const struct tree *given; /* the files, where they are those of no checkpoint */
    bool files, board, new_undo, new_redo;
    bool may_refuse;
};
uint32_t below(struct life *life, uint32_t n);
/* As the life wants it: killed, in some of them. */
int run_risky(struct life *life, const char *const *args, uint32_t one_in);
bool must(struct life *life, int status, const char *what);
struct kept *find(struct life *life, const char *id);
const char *some_id(struct life *life);
/* The next command that writes, which may be killed, too, and the one after it. */
bool settle(struct life *life);
/* `id` "": the present state. */
void move_with(struct life *life, const char *const *args, const char *id,
               struct aim aim);
void live(struct life *life);

/* ---- More of them (parts.c) ---- */

void do_redo(struct life *life);
void do_paths(struct life *life);
void do_fork(struct life *life);

#endif
