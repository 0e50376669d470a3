/* SPDX-License-Identifier: MIT */
/* The items of a board: what kinds there are, which fields each has, and an item as
 * bytes. Everything that is done with items of any kind (storing, comparing, restoring,
 * exporting, searching) goes by the tables here; only the arithmetic knows kinds.
 *
 *   body     byte    version: 1
 *            field   those that are present, ascending
 *   field    varint  its number, from 1
 *            varint  length of the content in bytes
 *            content by type:
 *              TEXT    bytes of UTF-8, no NUL, not empty
 *              WORD    varint, a number that has a name
 *              NUMBER  8 bytes, an IEEE 754 double, finite, never -0; little endian
 *              COUNT   varint
 *              TIME    8 bytes, nanoseconds since 1970-01-01 UTC, signed; likewise
 *              FLAG    nothing: present is yes
 *              REF     byte kind, varint number (not 0)
 *              TEXTS   varint count (not 0), texts with their lengths
 *              REFS    varint count (not 0), refs
 *   section  varint  number of items
 *            item    varint number (not 0; ascending), varint length, body
 *
 * Each has one encoding: what a reader accepts it would write as the very same bytes.
 */
#ifndef SESSION_BOARD_ITEM_H
#define SESSION_BOARD_ITEM_H

#include "base/memory.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stored: never renumbered. */
enum item_kind {
    ITEM_HYPOTHESIS = 1,
    ITEM_EVIDENCE = 2,
    ITEM_BELIEF = 3,
    ITEM_DEPENDENCY = 4, /* of beliefs */
    ITEM_GAP = 5,
    ITEM_NOTE = 6,
    ITEM_COMMAND = 7, /* that was run, as it was */
    ITEM_CHECK = 8,   /* a command that verifies something, with its last result */
};
enum { ITEM_KINDS_END = 9, ITEM_FIELDS_MOST = 12, ITEM_ID_MAX = 24 };

enum field_type {
    FIELD_TEXT,
    FIELD_WORD,
    FIELD_NUMBER,
    FIELD_COUNT,
    FIELD_TIME,
    FIELD_FLAG,
    FIELD_REF,
    FIELD_TEXTS,
    FIELD_REFS
};

/* Numbers of fields, by kind. Stored: never renumbered. */
enum hypothesis_field {
    HYPOTHESIS_STATEMENT = 1,
    HYPOTHESIS_PRIOR,
    HYPOTHESIS_STATUS,
    HYPOTHESIS_CREATED,
    HYPOTHESIS_CLOSED,
    HYPOTHESIS_REASON, /* why it was confirmed or rejected */
    HYPOTHESIS_TAGS
};
enum evidence_field {
    EVIDENCE_TEXT = 1,
    EVIDENCE_HYPOTHESIS,
    EVIDENCE_KIND,
    EVIDENCE_STRENGTH,
    EVIDENCE_SOURCE,
    EVIDENCE_CREATED
};
enum belief_field {
    BELIEF_STATEMENT = 1,
    BELIEF_CONFIDENCE,
    BELIEF_SUBJECT,
    BELIEF_CLAIM,
    BELIEF_DENIED,
    BELIEF_CREATED,
    BELIEF_TAGS
};
enum dependency_field {
    DEPENDENCY_FROM = 1,
    DEPENDENCY_TO,
    DEPENDENCY_KIND,
    DEPENDENCY_CREATED
};
enum gap_field {
    GAP_TEXT = 1,
    GAP_KIND,
    GAP_CRITICALITY,
    GAP_STATUS,
    GAP_HYPOTHESIS,
    GAP_CREATED,
    GAP_ENDED,
    GAP_RESOLUTION
};
enum note_field { NOTE_TEXT = 1, NOTE_SEVERITY, NOTE_TAGS, NOTE_ABOUT, NOTE_CREATED };
enum command_field {
    COMMAND_TEXT = 1, /* as it can be typed into a shell */
    COMMAND_DIRECTORY,
    COMMAND_EXIT, /* 128 + n: signal n ended it */
    COMMAND_DURATION,
    COMMAND_STDOUT, /* the ends of its outputs */
    COMMAND_STDERR,
    COMMAND_CREATED /* when it began */
};
enum check_field {
    CHECK_TEXT = 1, /* what it verifies */
    CHECK_COMMAND,
    CHECK_HYPOTHESIS,
    CHECK_LIMIT,
    CHECK_RETRIES,
    CHECK_CREATED,
    CHECK_STATUS, /* from here on: of its last run */
    CHECK_OUTPUT,
    CHECK_EXIT,
    CHECK_DURATION, /* of all attempts, with the pauses between them */
    CHECK_ATTEMPTS,
    CHECK_RAN /* when it began */
};

struct item_field {
    const char *name; /* in JSON and in comparisons: "statement" */
    enum field_type type;
    bool required;
    const char *(*word)(unsigned); /* of a FIELD_WORD: its name, NULL: it has none */
    uint8_t refers;                /* of refs: the kind; 0: any */
};
struct item_kind_info {
    const char *name;   /* "hypothesis" */
    const char *prefix; /* of ids: "h" */
    const struct item_field *fields;
    uint8_t n_fields; /* at most ITEM_FIELDS_MOST */
};
/* NULL for a number that is not a kind. */
const struct item_kind_info *item_kind_info(uint8_t kind);

struct item_ref {
    uint8_t kind;
    uint32_t n; /* from 1 */
};
/* "h12". */
void item_id(struct item_ref ref, char out[ITEM_ID_MAX]);
/* CAIRN_EUSAGE: it is the id of no item; the text says what ids look like. */
int item_id_parse(struct str id, struct item_ref *ref, struct cairn_error *error);

struct item_value {
    bool present;
    struct str text;
    uint64_t count; /* also of a WORD */
    double number;
    int64_t time_ns;
    struct item_ref ref;
    struct str *texts; /* [n] */
    struct item_ref *refs;
    uint32_t n;
};
struct item {
    struct item_ref id;
    struct item_value values[ITEM_FIELDS_MOST + 1]; /* by field; [0] is not used */
};

/* Appends its body. CAIRN_EUSAGE: a field that must be there is missing, or holds what
 * its type cannot; CAIRN_ELIMIT: more than LIMIT_ITEM_BYTES. */
int item_encode(const struct item *item, struct buf *out, struct cairn_error *error);
/* Untrusted bytes: CAIRN_EDAMAGED. Texts are views of them, lists are in the arena. */
int item_decode(struct arena *arena, struct item_ref id, struct str body,
                struct item *out, struct cairn_error *error);

/* By what an item is found besides its own number, 0: by nothing. What names another
 * item in a field of the type REF is found by that one, a belief by its subject. Stored
 * in the columns `about` and `also` of an item's row: never changed. */
struct item_links {
    int64_t about, also; /* also: of the second such field */
};
struct item_links item_links(const struct item *item);
int64_t item_link(struct item_ref ref);
/* Several subjects may have one number. */
int64_t item_link_of_subject(struct str subject);

/* The fields in which two items of one kind differ, in order. A non-zero return stops,
 * and is returned if negative. */
typedef int item_change_fn(void *context, const struct item_field *field,
                           const struct item_value *before,
                           const struct item_value *after);
int item_changes(const struct item *before, const struct item *after,
                 item_change_fn *each, void *context);

/* All items of one kind, ascending by number. */
struct section {
    const struct item *items;
    uint32_t n;
};
/* Where the item of this number is, or would be. */
uint32_t section_place(const struct section *section, uint32_t n);
int section_encode(const struct section *section, struct buf *out,
                   struct cairn_error *error);
/* The same of bodies: an item each, ascending by number, behind the number of items. */
void section_add(struct buf *items, uint32_t n, struct str body);
/* The bytes of a section, and what is said of them elsewhere. */
struct section_bytes {
    struct str bytes;
    uint32_t n, last; /* items; the highest number that one may have */
};
/* Of two sections of one kind: calls `each` for every item that is in one alone or has
 * another body in the other, for both of them, `of` 0 or 1; those that are the same are
 * not decoded. CAIRN_EDAMAGED: *bad is the one of the two that is. */
int sections_apart(const struct section_bytes both[2],
                   int (*each)(void *context, int of, uint32_t n, struct str body),
                   void *context, int *bad, struct cairn_error *error);
/* As item_decode; the items are in the arena. */
int section_decode(struct arena *arena, uint8_t kind, struct str bytes,
                   struct section *out, struct cairn_error *error);

#endif
