/* EVP is used rather than the deprecated SHA256_* calls: it picks the CPU's SHA
 * instructions. Fetching the algorithm is slow, so a state keeps it. */
#include "base/sha256.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>

struct sha256 {
    EVP_MD_CTX *context;
    EVP_MD *algorithm;
};

void digest_hex(const struct digest *digest, char out[DIGEST_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        out[2 * i] = digits[digest->bytes[i] >> 4];
        out[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    out[2 * DIGEST_SIZE] = 0;
}

struct sha256 *sha256_new(void)
{
    struct sha256 *sha = calloc(1, sizeof *sha);
    if (!sha)
        return NULL;
    sha->algorithm = EVP_MD_fetch(NULL, "SHA256", NULL);
    sha->context = EVP_MD_CTX_new();
    /* The first initialisation allocates the state; later ones only reset it. */
    if (!sha->algorithm || !sha->context ||
        !EVP_DigestInit_ex2(sha->context, sha->algorithm, NULL)) {
        sha256_free(sha);
        return NULL;
    }
    return sha;
}

void sha256_free(struct sha256 *sha)
{
    if (!sha)
        return;
    EVP_MD_CTX_free(sha->context);
    EVP_MD_free(sha->algorithm);
    free(sha);
}

void sha256_begin(struct sha256 *sha)
{
    int good = EVP_DigestInit_ex2(sha->context, NULL, NULL);
    assert(good);
    (void)good;
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t n)
{
    int good = n == 0 || EVP_DigestUpdate(sha->context, bytes, n);
    assert(good);
    (void)good;
}

void sha256_end(struct sha256 *sha, struct digest *out)
{
    int good = EVP_DigestFinal_ex(sha->context, out->bytes, NULL);
    assert(good);
    (void)good;
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
    struct digest mac;
    size_t size = 0;
    /* libcrypto takes a NULL key for "none was set", and that is an error. */
    if (!EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, key_size ? key : "", key_size,
                   n ? bytes : (const void *)"", n, mac.bytes, sizeof mac.bytes,
                   &size) ||
        size != sizeof mac.bytes)
        return error_nomem(error);
    *out = mac;
    return 0;
}
