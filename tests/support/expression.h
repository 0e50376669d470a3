/* SPDX-License-Identifier: MIT */
/* What the tests of expressions share: parsing, and names with known values. */
#ifndef TESTS_SUPPORT_EXPRESSION_H
#define TESTS_SUPPORT_EXPRESSION_H

#include "graph/expression/expression_int.h"
#include "tests/support/suite.h"

extern struct arena arena;
extern struct cairn_error error;
extern char looked_up[256]; /* names, in the order in which they were asked for */

void setup(void);
void teardown(void);
/* The value of a name for expression_evaluate, with looked_up as context. Keys: `gone`
 * is missing, `broken` an error, others have their own name as value. params.N is N,
 * env.E "E", outputs the key, and so on. */
int lookup(void *context, const struct name *name, struct value *out,
           struct cairn_error *wrong);
int parse(struct str text, const struct expression **out,
          struct expression_error *wrong);
const struct expression *parsed(const char *text);
/* `expected` begins with t, n, b or m for the type. */
void expect(const char *text, const char *expected);
/* The same, and evaluating looked up just these names. */
void expect_lazy(const char *text, const char *expected, const char *names);
void expect_error(const char *text, const char *words);
/* Refused at byte `at`, for `length` bytes, with these words. */
void expect_refused(struct str text, size_t at, size_t length, const char *words);
void refused(const char *text, size_t at, size_t length, const char *words);

#endif
