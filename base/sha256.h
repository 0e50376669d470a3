/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104); the one door to libcrypto. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_SIZE = 32, DIGEST_HEX_SIZE = 65 };

struct digest {
    uint8_t bytes[DIGEST_SIZE];
};

static inline bool digest_equal(const struct digest *a, const struct digest *b)
{
    return memcmp(a->bytes, b->bytes, DIGEST_SIZE) == 0;
}

/* Zeros stand for no digest. */
static inline bool digest_is_none(const struct digest *digest)
{
    static const struct digest none;
    return digest_equal(digest, &none);
}

static inline struct str digest_view(const struct digest *digest)
{
    return (struct str){(const char *)digest->bytes, DIGEST_SIZE};
}

/* Lower-case hex and a NUL. */
void digest_hex(const struct digest *digest, char out[DIGEST_HEX_SIZE]);
/* The bytes that pairs of lower-case hex digits stand for, half as many as there are
 * digits. */
bool bytes_of_hex(struct str hex, uint8_t *out);

/* A reusable hash state. One sha256_new serves any number of begin/add/end rounds. */
struct sha256;
struct sha256 *sha256_new(void); /* NULL: out of memory */
void sha256_free(struct sha256 *sha);
void sha256_begin(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, size_t n);
void sha256_end(struct sha256 *sha, struct digest *out);
/* The digest of what was added so far, after which more can be added. */
void sha256_so_far(const struct sha256 *sha, struct digest *out);
/* All at once. Returns CAIRN_ENOMEM if there is no memory for a state. */
int sha256_of(const void *bytes, size_t n, struct digest *out,
              struct cairn_error *error);
/* HMAC-SHA-256 of the bytes. CAIRN_ENOMEM if there is no memory for a state. */
int hmac_sha256(const void *key, size_t key_size, const void *bytes, size_t n,
                struct digest *out, struct cairn_error *error);

/* The same for a key that is used often: made ready once, then nothing is allocated and
 * nothing can fail. It is as secret as the key: wipe it with hmac_key_wipe. */
struct hmac_key {
    uint8_t inner[64], outer[64]; /* what the two hashes begin with */
};
void hmac_key_init(struct hmac_key *key, const void *bytes, size_t n,
                   struct sha256 *sha);
void hmac_key_wipe(struct hmac_key *key);
/* Over the parts, one after the other. */
void hmac_of(const struct hmac_key *key, struct sha256 *sha, const struct str *parts,
             size_t n, struct digest *out);
/* Whether the bytes are this HMAC; takes the same time wherever they differ. */
bool hmac_matches(const struct digest *hmac, struct str bytes);

#endif
