/* SPDX-License-Identifier: MIT */
/* JSON (RFC 8259) read token by token, from bytes of which nothing is known. Pure, and
 * without recursion: how deep values are nested is bounded. Strings may hold any bytes
 * but control characters; what is not UTF-8 in them is left as it is.
 *
 *   struct json_scan in = json_scan_of(line);
 *   while ((token = json_next(&in)) != JSON_END && token != JSON_BAD)
 *       use(token, in.raw);
 *
 * Whether the whole is one value is known at JSON_END alone. */
#ifndef BASE_JSON_SCAN_H
#define BASE_JSON_SCAN_H

#include "base/str.h"

enum { JSON_DEPTH_MOST = 512 };

enum json_token {
    JSON_BAD,
    JSON_END,
    JSON_OBJECT, /* { */
    JSON_OBJECT_END,
    JSON_ARRAY, /* [ */
    JSON_ARRAY_END,
    JSON_KEY,
    JSON_STRING,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL
};

struct json_scan {
    const char *at, *end;
    struct str
        raw; /* of the last token; of a key or string what is between the quotes */
    uint32_t depth;
    uint8_t
        objects[JSON_DEPTH_MOST / 8]; /* bits: an object is open there, else an array */
    uint8_t expects;
    bool ended; /* the value was whole before something bad */
};
struct json_scan json_scan_of(struct str text);
enum json_token json_next(struct json_scan *in);

/* At JSON_BAD: what is wrong and where, as "it is not valid JSON (byte 17, line 2)".
 * `text` is what was given to json_scan_of. */
enum { JSON_WHY_BYTES = 160 };
void json_why(const struct json_scan *in, struct str text, char out[JSON_WHY_BYTES]);

/* Appends what a raw string means. A lone half of a surrogate pair becomes U+FFFD. */
void json_unescape(struct str raw, struct buf *out);
/* Appends bytes as the inside of a string. */
void json_escape(struct str bytes, struct buf *out);
/* A raw number that is whole, not negative and fits, else 0. */
uint64_t json_count(struct str raw);

#endif
