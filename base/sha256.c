/* SPDX-License-Identifier: MIT */
/* The plain functions of libcrypto rather than EVP: they need no memory, so that
 * hashing cannot fail, and nothing that must be set up before (EVP makes 5,000
 * allocations when it is first used, which takes a millisecond, and OpenSSL 3.0 crashes
 * if some of them are refused). Both pick the CPU's SHA instructions. */
#define OPENSSL_API_COMPAT 0x10100000L /* where these functions are not deprecated */
#include "base/sha256.h"

#include "base/words.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdlib.h>

struct sha256 {
    SHA256_CTX context;
};

void digest_hex(const struct digest *digest, char out[DIGEST_HEX_SIZE])
{
    hex_of_bytes(digest->bytes, DIGEST_SIZE, out);
}

bool bytes_of_hex(struct str hex, uint8_t *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < hex.len; i++) {
        const char *digit = hex.ptr[i] ? strchr(digits, hex.ptr[i]) : NULL;
        if (!digit)
            return false;
        unsigned high = i % 2 ? (unsigned)out[i / 2] << 4 : 0;
        out[i / 2] = (uint8_t)(high | (unsigned)(digit - digits));
    }
    return hex.len % 2 == 0;
}

struct sha256 *sha256_new(void)
{
    return calloc(1, sizeof(struct sha256));
}

void sha256_free(struct sha256 *sha)
{
    if (sha) /* what was hashed may have been a secret */
        OPENSSL_cleanse(sha, sizeof *sha);
    free(sha);
}

/* These return 1, whatever happens. */
void sha256_begin(struct sha256 *sha)
{
    SHA256_Init(&sha->context);
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t n)
{
    if (n)
        SHA256_Update(&sha->context, bytes, n);
}

void sha256_end(struct sha256 *sha, struct digest *out)
{
    SHA256_Final(out->bytes, &sha->context);
}

void sha256_so_far(const struct sha256 *sha, struct digest *out)
{
    struct sha256 copy = *sha;
    sha256_end(&copy, out);
}

int sha256_of(const void *bytes, size_t n, struct digest *out,
              struct cairn_error *error)
{
    struct sha256 *sha = sha256_new();
    if (!sha)
        return error_nomem(error);
    sha256_begin(sha);
    sha256_add(sha, bytes, n);
    sha256_end(sha, out);
    sha256_free(sha);
    return 0;
}

int hmac_sha256(const void *key, size_t key_size, const void *bytes, size_t n,
                struct digest *out, struct cairn_error *error)
{
    struct hmac_key ready;
    struct str text = {bytes, n};
    struct sha256 *sha = sha256_new();
    if (!sha)
        return error_nomem(error);
    hmac_key_init(&ready, key, key_size, sha);
    hmac_of(&ready, sha, &text, 1, out);
    hmac_key_wipe(&ready);
    sha256_free(sha);
    return 0;
}

/* RFC 2104: H(key ^ opad, H(key ^ ipad, text)); a key longer than a block of the hash
 * is hashed first, and zeros fill it up to one. */
void hmac_key_init(struct hmac_key *key, const void *bytes, size_t n,
                   struct sha256 *sha)
{
    uint8_t block[sizeof key->inner] = {0};
    struct digest hashed;
    if (n > sizeof block) {
        sha256_begin(sha);
        sha256_add(sha, bytes, n);
        sha256_end(sha, &hashed);
        memcpy(block, hashed.bytes, sizeof hashed.bytes);
        OPENSSL_cleanse(&hashed, sizeof hashed);
    } else if (n) {
        memcpy(block, bytes, n);
    }
    for (size_t i = 0; i < sizeof block; i++) {
        key->inner[i] = block[i] ^ 0x36;
        key->outer[i] = block[i] ^ 0x5c;
    }
    OPENSSL_cleanse(block, sizeof block);
}

void hmac_key_wipe(struct hmac_key *key)
{
    OPENSSL_cleanse(key, sizeof *key);
}

void hmac_of(const struct hmac_key *key, struct sha256 *sha, const struct str *parts,
             size_t n, struct digest *out)
{
    struct digest inner;
    sha256_begin(sha);
    sha256_add(sha, key->inner, sizeof key->inner);
    for (size_t i = 0; i < n; i++)
        sha256_add(sha, parts[i].ptr, parts[i].len);
    sha256_end(sha, &inner);
    sha256_begin(sha);
    sha256_add(sha, key->outer, sizeof key->outer);
    sha256_add(sha, inner.bytes, sizeof inner.bytes);
    sha256_end(sha, out);
}

bool hmac_matches(const struct digest *hmac, struct str bytes)
{
    return bytes.len == sizeof hmac->bytes &&
           CRYPTO_memcmp(hmac->bytes, bytes.ptr, sizeof hmac->bytes) == 0;
}
