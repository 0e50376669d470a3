/* SPDX-License-Identifier: MIT */
/* Reading nodes of an expected kind and type: `what` names the value in messages. Each
 * function returns 0, or a negative code with the error filled and *out unchanged. */
#ifndef WORKFLOW_EXPECT_INT_H
#define WORKFLOW_EXPECT_INT_H

#include "workflow/parser_int.h"

/* ---- expect.c ---- */

bool node_is_null(const struct node *node);
int expect_map(const struct parser *p, const struct node *node, const char *what);
int expect_list(const struct parser *p, const struct node *node, const char *what);
/* Text as written, copied into the definition's arena. Typing traps, null and NUL bytes
 * are refused; empty text is not. */
int expect_text(const struct parser *p, const struct node *node, const char *what,
                struct str *out);
/* The same, but not empty. */
int expect_filled(const struct parser *p, const struct node *node, const char *what,
                  struct str *out);
/* The same, but at most LIMIT_NAME_BYTES. */
int expect_key(const struct parser *p, const struct node *node, const char *what,
               struct str *out);
/* Text without ${{ }}. */
int expect_fixed(const struct parser *p, const struct node *node, const char *what,
                 struct str *out);
struct bounds {
    int64_t least, most;
};
int expect_integer(const struct parser *p, const struct node *node, const char *what,
                   struct bounds bounds, int64_t *out);
/* "stop, continue or undo"; the first of them and how many more, if the rest has no
 * room. `size` is at least 40. */
void join_words(char *out, size_t size, const struct str words[], size_t n);
/* The index of the word that the text is. */
int expect_choice(const struct parser *p, const struct node *node, const char *what,
                  const struct str words[], size_t n, uint8_t *out);
/* A plain number with at most three decimals, times 1000; bounds are whole. */
int expect_permille(const struct parser *p, const struct node *node, const char *what,
                    struct bounds bounds, uint32_t *out);
int expect_bool(const struct parser *p, const struct node *node, const char *what,
                bool *out);
/* In milliseconds, at least `least`. */
int expect_duration(const struct parser *p, const struct node *node, const char *what,
                    int64_t least, int64_t *out);
/* CAIRN_ELIMIT: no string of a process can be as long as that. */
int too_long(const struct parser *p, struct position at, const char *what);
/* The first ${{ of a text. */
struct position place_of_reference(const struct parser *p, const struct node *node,
                                   struct str text);

/* ---- expect_keys.c ---- */

/* Which mapping it is, for messages: {"task", link} gives "in task `link`", without
 * a name the text is all ("at the top level"). */
struct where {
    const char *text;
    struct str name;
};

#define NAME(literal)                   \
    {                                   \
        "" literal, sizeof(literal) - 1 \
    }

/* found[i]: the key node of names[i] in the map (its value is found[i]->next), or NULL.
 * A key that is not among the names is an error. */
int expect_keys(const struct parser *p, const struct node *map, struct where where,
                const struct str names[], const struct node *found[], size_t n);

#endif
