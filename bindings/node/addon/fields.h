/* SPDX-License-Identifier: MIT */
/* What index.js and the addon pass to each other: one buffer of fields, so that a call
 * costs the same few calls of Node-API whatever it carries. A field is a number (8
 * bytes), or bytes (4 bytes of length, the bytes, a NUL); all in the order of the
 * machine. ABSENT as the length: there are none, and nothing follows. */
#ifndef CAIRN_NODE_FIELDS_H
#define CAIRN_NODE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads fields; after the first one that does not fit, all are absent or 0, and `bad`
 * stays. What it returns is in the buffer. */
struct field_reader {
    const uint8_t *at, *end;
    bool bad;
};

int64_t field_number(struct field_reader *reader);
/* NULL: absent. */
const void *field_bytes(struct field_reader *reader, size_t *length);
/* NULL: absent. A NUL inside is bad: the library would read less than was meant. */
const char *field_text(struct field_reader *reader);

/* Fields that grow. Zero is empty; after a failed allocation nothing more is written, and
 * `failed` stays. */
struct field_writer {
    uint8_t *bytes;
    size_t length, capacity;
    bool failed;
};

void field_put_number(struct field_writer *writer, int64_t number);
void field_put_bytes(struct field_writer *writer, const void *bytes, size_t length);
/* NULL: absent. */
void field_put_text(struct field_writer *writer, const char *text);
void field_writer_release(struct field_writer *writer);

#endif
