/* SPDX-License-Identifier: MIT */
/* JSON documents for stdout, written member by member. A document is printed only when
 * it is complete, so that an error half-way leaves no half document.
 *
 *     struct doc doc;
 *     doc_begin(&doc);
 *     doc_text(&doc, "name", name);
 *     doc_array(&doc, "parts");
 *     doc_number(&doc, NULL, 1);      (members of arrays have no key)
 *     doc_end(&doc);
 *     status = doc_print(&doc);       (or doc_discard)
 *
 * And reading of JSON that cairn printed. Getters accept NULL, and return NULL, 0 or
 * false for it and for a value of another type, so that a path can be followed and
 * checked at its end. What they return lives until json_in_free of the whole. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define DOC_DEPTH 8

struct doc {
    FILE *file;
    char *text;
    size_t length;
    char closers[DOC_DEPTH];
    bool more[DOC_DEPTH]; /* a member was written at this depth */
    int depth;
    bool failed; /* out of memory, here or where the content is from */
};

void doc_begin(struct doc *doc); /* the outermost object */
/* The document of a command that prints lines without --json: begun, with an array of
 * this name (or NULL: none) open; NULL without --json. */
struct doc *doc_open(struct doc *doc, const char *array);
/* Prints it if the exit status is 0, else discards it. Returns the status. */
int doc_close(struct doc *doc, int status);
void doc_object(struct doc *doc, const char *key);
void doc_array(struct doc *doc, const char *key);
void doc_end(struct doc *doc);
/* A string; {"base64": ...} if it is not UTF-8; null for NULL. */
void doc_text(struct doc *doc, const char *key, const char *text);
void doc_bytes(struct doc *doc, const char *key, const char *bytes, size_t n);
void doc_number(struct doc *doc, const char *key, int64_t number);
void doc_count(struct doc *doc, const char *key, uint64_t number);
/* A number that means "none" when 0: then null. */
void doc_some(struct doc *doc, const char *key, uint64_t number);
/* Three decimals. */
void doc_real(struct doc *doc, const char *key, double number);
/* As many digits as it takes to read back the same number, which is finite. */
void doc_exact(struct doc *doc, const char *key, double number);
void doc_bool(struct doc *doc, const char *key, bool value);
void doc_null(struct doc *doc, const char *key);
void doc_time(struct doc *doc, const char *key, int64_t time_ns); /* null for 0 */
/* Closes what is open, prints one line on stdout and frees. Returns an exit status. */
int doc_print(struct doc *doc);
/* Closes what is open and gives the line away, to be freed; NULL: out of memory. */
char *doc_take(struct doc *doc);
void doc_discard(struct doc *doc);

struct json_in;

/* NULL if the text is not JSON. */
struct json_in *json_in_parse(const char *text);
void json_in_free(struct json_in *in);
const struct json_in *json_in_member(const struct json_in *in, const char *key);
bool json_in_is_array(const struct json_in *in);
size_t json_in_count(const struct json_in *in);
const struct json_in *json_in_at(const struct json_in *in, size_t i);
const char *json_in_text(const struct json_in *in);
/* A whole number, not negative. */
bool json_in_number(const struct json_in *in, uint64_t *out);
bool json_in_is_object(const struct json_in *in);
/* Goes through the members of an object, first with *cursor NULL; NULL past the end. */
const struct json_in *json_in_next(const struct json_in *in, void **cursor,
                                   const char **key);
/* A text as it is, anything else as compact JSON; heap, NULL: null, or out of memory.
 */
char *json_in_plain(const struct json_in *in);
bool json_in_is_null(const struct json_in *in);

#endif
