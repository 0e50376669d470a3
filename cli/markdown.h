/* SPDX-License-Identifier: MIT */
/* Text of users for Markdown (CommonMark, and what GitHub adds), where it stays what it
 * is: it makes no headings, lists, links, tables, formulas or HTML, also of addresses
 * without brackets (http://x, www.x). What a site does with words of the finished page
 * is beyond that: @name, #12, a mail address. Control characters and bytes that are not
 * UTF-8 are made visible.
 *
 * Also the failed tasks as a part of a report, with what became of each since. */
#ifndef CLI_MARKDOWN_H
#define CLI_MARKDOWN_H

#include "cairn.h"

#include <stddef.h>
#include <stdio.h>

/* All in one line: line breaks and other blanks become one space each. */
void markdown_words(FILE *file, const char *text);
/* In lines as they are, without empty ones; `indent` goes before all but the first. No
 * line break at the end. Of more than `most` lines the rest is counted. */
void markdown_lines(FILE *file, const char *text, const char *indent, unsigned most);
/* The last `most` lines as a block of code, each with the indent (which needs 4 columns
 * more than the text around it) before it. */
void markdown_block(FILE *file, const char *bytes, size_t n, const char *indent,
                    unsigned most);

struct failure;

struct failures {
    struct failure *at; /* in the order in which they were noted */
    size_t n, capacity;
};

/* Notes one; `id` is the checkpoint that names it. False: out of memory. */
bool failures_add(struct failures *failures, const char *id,
                  const struct cairn_task_failure *failure);
/* Nothing where there is none. Returns a code of the library. */
int failures_put(struct failures *failures, struct cairn_store *store, FILE *file,
                 struct cairn_error *error);
void failures_release(struct failures *failures);
/* "2026-11-23 20:06 UTC" */
void put_time(FILE *file, int64_t time_ns);

#endif
