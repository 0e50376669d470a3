/* SPDX-License-Identifier: MIT */
/* Text of users for Markdown (CommonMark, and what GitHub adds), where it stays what it
 * is: it makes no headings, lists, links, tables, formulas or HTML, also of addresses
 * without brackets (http://x, www.x). What a site does with words of the finished page
 * is beyond that: @name, #12, a mail address. Control characters and bytes that are not
 * UTF-8 are made visible. */
#ifndef CLI_MARKDOWN_MARKDOWN_H
#define CLI_MARKDOWN_MARKDOWN_H

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

#endif
