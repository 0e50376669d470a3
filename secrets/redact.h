/* SPDX-License-Identifier: MIT */
/* Secrets: their values, and taking them out of everything that is stored or shown.
 *
 * Found are the value itself, its base64 at each of the three alignments (the part of
 * it that does not depend on what stands around it; both alphabets), and its percent
 * encoding (upper and lower case hex, everything but unreserved characters encoded),
 * and how JSON has it in a string. Of a value with blanks or line breaks at its ends
 * the same without them, if LIMIT_SECRET_LEAST bytes are left: that is what `$(cat
 * FILE)` makes of it. Of a value of several lines each line that has so many bytes
 * without the blanks at its ends. What is found becomes REDACTED. Values that overlap
 * or contain each other: all of their bytes go. One pass, linear in the input
 * (Aho-Corasick), whatever the number of secrets; a stream keeps back at most as many
 * bytes as the longest form.
 */
#ifndef SECRETS_REDACT_H
#define SECRETS_REDACT_H

#include "base/memory.h"
#include "base/sha256.h"

#define REDACTED "[REDACTED]"

struct redactor; /* immutable once made: shared by all streams */

struct secret {
    struct str name, value;
};

/* Secrets shorter than LIMIT_SECRET_LEAST (6) bytes are refused (CAIRN_EUSAGE, naming
 * the secret, never its value), as is one with a NUL. n may be 0: nothing is found. */
int redactor_new(struct redactor **out, const struct secret *secrets, size_t n,
                 struct cairn_error *error);
void redactor_free(struct redactor *redactor);
/* Is any form of a secret in the text? */
bool redactor_finds(const struct redactor *redactor, struct str text);

/* Where the first one stands, and its name, which lives as long as the redactor. */
struct secret_place {
    struct str name;
    size_t from, to; /* bytes */
};

bool redactor_where(const struct redactor *redactor, struct str text,
                    struct secret_place *place);
/* Appends the text without secrets. NULL redactor: the text as it is. */
void redact_text(const struct redactor *redactor, struct str text, struct buf *out);
void redact_quoted(const struct redactor *redactor, struct str text, struct buf *out);

/* Text that arrives in parts: the same comes out as from redact_text, however it was
 * cut. If memory runs out, nothing more is put out and `out` has failed. */
struct redact_stream {
    const struct redactor *redactor;
    struct buf held;   /* not put out yet: bytes that may begin a secret, behind ... */
    size_t held_start; /* ... those that were put out already */
    struct buf ranges; /* held bytes known to belong to secrets: sorted, with gaps */
    size_t first_range;
    uint64_t place; /* of the first byte not put out, in the whole text */
    uint32_t state; /* of the automaton */
    bool in_secret; /* what was put out last is REDACTED */
    bool cut;       /* how a secret begins is one, too: redact_quoted */
    bool failed;
};

/* Before the first use, and after redact_end. */
void redact_begin(struct redact_stream *stream, const struct redactor *redactor);
void redact_add(struct redact_stream *stream, struct str bytes, struct buf *out);
/* What was held back. Frees what the stream has; it can be begun again. */
void redact_end(struct redact_stream *stream, struct buf *out);
/* Without the end of the text. Also good after redact_end. */
void redact_release(struct redact_stream *stream);

struct secret_form {
    struct str text;
    uint32_t secret; /* the how manyth value */
};

/* Zeroed, it is empty. Out of memory: arena.failed. */
struct form_list {
    struct secret_form *at; /* some texts may be equal */
    size_t n, capacity;
    uint32_t secret;    /* the next one */
    struct arena arena; /* of the texts */
};

/* The value and, without the blanks at its ends, the same once more: as it is; base64
 * at three alignments in two alphabets; percent-encoded in two cases; as in a string of
 * JSON. Its lines without the blanks at their ends, as they are. What is shorter than
 * LIMIT_SECRET_LEAST is left out. */
void form_list_add(struct form_list *list, struct str value);
void form_list_release(struct form_list *list);

#endif
