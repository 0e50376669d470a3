/* SPDX-License-Identifier: MIT */
/* Parsing texts in tests: each test has its own directory, which is the root that glob,
 * lines and cwd are relative to. */
#ifndef TESTS_SUPPORT_PARSE_H
#define TESTS_SUPPORT_PARSE_H

#include "base/limits.h"
#include "workflow/parse.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

extern char help_root[256];
extern struct definition help_definition;
extern struct cairn_error help_error;
extern struct parse_options help_options;

void help_setup(void);
/* Tests make plain files and one level of directories only. */
void help_teardown(void);
void help_file(const char *name, const char *content);
void help_remove(const char *name);
void help_dir(const char *name);
int help_try(struct str text);
struct definition *help_parse(const char *text);
/* Refused with this code, at "LINE:COLUMN" (NULL: no place), with these words. */
void help_refused(struct str text, int code, const char *at, const char *words);
bool help_is(struct str text, const char *expected);
#define ck_text(text, expected)                                        \
    do {                                                               \
        struct str ck_text_ = (text);                                  \
        ck_assert_msg(help_is(ck_text_, expected), "`%.*s`, not `%s`", \
                      (int)ck_text_.len, ck_text_.ptr, expected);      \
    } while (0)

#endif
