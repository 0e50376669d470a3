/* SPDX-License-Identifier: MIT */
/* Checkpoints by their printed ids, and what their payloads are. */
#include "checkpoint/find.h"

#include "checkpoint/chain.h"
#include "checkpoint/outcomes.h"
#include "checkpoint/sections.h"

#include "base/words.h"
#include "storage/rows_checkpoint.h"

#include <assert.h>

/* The payload kinds of this release. */

const struct payload_kinds payload_kinds = {
    .at = {[NAMESPACE_WORKFLOW] = &outcomes_kind, [NAMESPACE_DEBUG] = &sections_kind},
};

/* Stands in for the kind of a namespace that this release does not know, so that its
 * records can be found and listed by their bytes. */

static int refuse_unknown(struct cairn_error *error)
{
    return error_set(error, CAIRN_ENEWER,
                     "it is of a kind that this release does not know: use the release "
                     "that wrote it");
}

static int check_unknown(const struct sound_record *record, struct payload_check *check,
                         struct cairn_error *error)
{
    assert_sound(record);
    check->base = 0;
    return refuse_unknown(error);
}

static int describe_unknown(const struct sound_record *record,
                            struct cairn_checkpoint_info *info,
                            struct cairn_error *error)
{
    (void)error;
    assert_sound(record);
    assert(!info->counted);
    return 0;
}

static int apply_unknown(void *state, const struct sound_record *record,
                         struct payload_check *check, struct cairn_error *error)
{
    (void)state;
    return check_unknown(record, check, error);
}

static void release_nothing(void *state)
{
    (void)state;
}

static void summarize_nothing(const void *state, struct cairn_checkpoint_info *info)
{
    (void)state;
    (void)info;
}

static const struct payload_kind unknown_debug = {
    .namespace_id = NAMESPACE_DEBUG,
    .stream_noun = "stream",
    .loss_text = "",
    .restart = "the release that wrote it may begin another one",
    .root_noun = "object",
    .root_loss = "what needs it is not known",
    .check = check_unknown,
    .describe = describe_unknown,
    .state_bytes = 1,
    .apply = apply_unknown,
    .state_release = release_nothing,
    .summarize = summarize_nothing,
};

const struct payload_kind *debug_kind_of(const struct payload_kinds *kinds)
{
    const struct payload_kind *kind = kind_of(kinds, NAMESPACE_DEBUG);
    return kind ? kind : &unknown_debug;
}

/* Printed ids:
 *
 *   workflow:42-9f3ac1d20b7e   seq and the start of the record's SHA-256
 *   workflow:42   debug:42     seq
 *   42
 *   9f3a                       4 or more hex digits, not all of them decimal
 *   344598996616               12 or more: as they are printed, whatever they are
 *
 * Invariant: an id never silently means another checkpoint: a digest part that does not
 * match is refused. */

enum { HEX_MIN = 4, HEX_PRINTED = 12, HEX_MAX = 64 };

struct parsed_id {
    uint64_t seq;          /* 0: hex only */
    size_t hex_digits;     /* 0: none */
    char hex[HEX_MAX + 1]; /* lower case */
};

static bool take_hex(struct str text, struct parsed_id *out)
{
    if (text.len == 0 || text.len > HEX_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c >= 'A' && c <= 'F')
            c = (char)(c - 'A' + 'a');
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        out->hex[i] = c;
    }
    out->hex[text.len] = 0;
    out->hex_digits = text.len;
    return true;
}

static bool take_id(struct str text, bool prefixed, struct parsed_id *out)
{
    const char *dash = text.len ? memchr(text.ptr, '-', text.len) : NULL;
    struct str number = text;
    if (dash)
        number.len = (size_t)(dash - text.ptr);
    bool digest = !dash && !prefixed && text.len >= HEX_PRINTED;
    if (!digest && str_to_u64(number, &out->seq)) {
        if (out->seq == 0 || out->seq > INT64_MAX)
            return false;
        if (!dash)
            return true;
        return take_hex((struct str){dash + 1, text.len - number.len - 1}, out);
    }
    out->seq = 0;
    return !dash && !prefixed && text.len >= HEX_MIN && take_hex(text, out);
}

/* What follows "NAMESPACE:" of an id that begins with it, or NULL. */
static const char *skip_prefix(const char *id, uint8_t namespace_id)
{
    const char *name = namespace_name(namespace_id);
    size_t n = strlen(name);
    assert(id);
    return strncmp(id, name, n) == 0 && id[n] == ':' ? id + n + 1 : NULL;
}

bool checkpoint_is_like_id(struct str text)
{
    struct parsed_id id;
    for (int i = NAMESPACE_WORKFLOW; i <= NAMESPACE_DEBUG; i++) {
        struct str name = str_of(namespace_name((uint8_t)i));
        if (text.len > name.len && text.ptr[name.len] == ':' &&
            strncasecmp(text.ptr, name.ptr, name.len) == 0)
            return true;
    }
    return take_id(text, false, &id);
}

/* As in "a workflow checkpoint". */
static const char *adjective_of(uint8_t namespace_id)
{
    return namespace_id == NAMESPACE_DEBUG ? "debugging" : "workflow";
}

static uint8_t other_namespace(uint8_t namespace_id)
{
    assert(namespace_id == NAMESPACE_WORKFLOW || namespace_id == NAMESPACE_DEBUG);
    return namespace_id == NAMESPACE_DEBUG ? NAMESPACE_WORKFLOW : NAMESPACE_DEBUG;
}

/* Of the namespace `wanted`, or if that is 0 of the one that its prefix names, which is
 * put there. */
static int parse_id(uint8_t *wanted, const char *id, struct parsed_id *out,
                    struct cairn_error *error)
{
    const char *rest = NULL, *name = namespace_name(*wanted);
    *out = (struct parsed_id){0};
    for (uint8_t i = NAMESPACE_WORKFLOW; id && !rest && i <= NAMESPACE_DEBUG; i++) {
        rest = skip_prefix(id, i);
        if (rest && *wanted && *wanted != i)
            return error_set(error, CAIRN_ENOTFOUND,
                             "%.40s is a %s checkpoint; this command looks only at %s "
                             "checkpoints (%s:42)",
                             id, adjective_of(i), adjective_of(*wanted), name);
        *wanted = rest ? i : *wanted;
    }
    if (id && take_id(str_of(rest ? rest : id), rest != NULL, out)) {
        assert(out->seq > 0 || out->hex_digits >= HEX_MIN);
        return 0;
    }
    return error_set(error, CAIRN_EUSAGE,
                     "%.80s is not a checkpoint id; ids look like "
                     "%s:42-9f3ac1d20b7e, %s:42, 42, or 4 or more hex "
                     "digits; `cairn checkpoint list` shows them",
                     id ? id : "(nothing)", name, name);
}

/* Hex digits only: which record is meant? */
static int seq_of_hex(struct cairn_store *store, struct parsed_id *id,
                      struct cairn_error *error)
{
    uint64_t seqs[2];
    size_t found = 0;
    struct str hex = {id->hex, id->hex_digits};
    assert(id->seq == 0 && id->hex_digits >= HEX_MIN);
    int rc = store_find_digest(store, hex, seqs, 2, &found, error);
    if (rc && rc != CAIRN_ENOTFOUND)
        return rc;
    if (rc || found == 0)
        return error_set(error, CAIRN_ENOTFOUND,
                         "no checkpoint has a digest that begins with %s", id->hex);
    if (found > 1)
        return error_set(error, CAIRN_EAMBIGUOUS,
                         "%s is ambiguous: it could be checkpoint %llu, %llu or "
                         "more; give more digits or the number",
                         id->hex, (unsigned long long)seqs[0],
                         (unsigned long long)seqs[1]);
    if (seqs[0] == 0)
        return error_set(error, CAIRN_EDAMAGED,
                         "the checkpoint with these digits is stored under the number "
                         "0; run `cairn doctor`");
    id->seq = seqs[0];
    return 0;
}

struct match {
    const struct parsed_id *id;
    struct sha256 *sha;
    uint8_t wanted;       /* 0: any */
    uint8_t namespace_id; /* of the row, damaged or not */
    bool ours, matches;   /* of the namespace; of the digits */
    char printed[CAIRN_ID_MAX];
    int sound; /* 0 or the code of what is wrong */
    struct cairn_error *error;
};

static bool hex_matches(const struct parsed_id *id, struct str digest)
{
    struct digest whole = {{0}};
    char hex[DIGEST_HEX_SIZE];
    assert(id->hex_digits <= HEX_MAX);
    if (digest.len != DIGEST_SIZE)
        return false;
    memcpy(whole.bytes, digest.ptr, DIGEST_SIZE);
    digest_hex(&whole, hex);
    return memcmp(hex, id->hex, id->hex_digits) == 0;
}

/* A damaged column must not hide the record. */
static uint8_t namespace_of(const struct checkpoint_row *row)
{
    uint8_t header = record_peek(row->record).namespace_id;
    if (row->namespace_id == NAMESPACE_WORKFLOW || row->namespace_id == NAMESPACE_DEBUG)
        return row->namespace_id;
    return header == NAMESPACE_DEBUG ? NAMESPACE_DEBUG : NAMESPACE_WORKFLOW;
}

static int match_row(void *context, const struct checkpoint_row *row)
{
    struct match *match = context;
    uint8_t wanted = match->wanted;
    struct sound_record record;
    match->sound = row_verify(row, match->sha, &record, match->error);
    match->namespace_id = wanted ? wanted : namespace_of(row);
    match->ours = !wanted || row->namespace_id == wanted ||
                  (match->sound && row->namespace_id != other_namespace(wanted));
    match->matches = match->id->hex_digits == 0 || hex_matches(match->id, row->digest);
    if (!match->matches && match->sound) {
        struct digest before = row_digest(row, match->sha);
        struct str view = {(const char *)before.bytes, DIGEST_SIZE};
        match->matches = hex_matches(match->id, view);
    }
    row_id(row, match->printed);
    return match->sound == CAIRN_EDAMAGED ? 0 : match->sound;
}

static int refuse_match(const struct match *match, const char *id, uint64_t seq,
                        struct cairn_error *error)
{
    unsigned long long number = seq;
    assert(!match->ours || !match->matches);
    if (!match->ours)
        return error_set(error, CAIRN_ENOTFOUND,
                         "checkpoint %llu is a %s checkpoint, not one of a %s", number,
                         adjective_of(other_namespace(match->wanted)),
                         match->wanted == NAMESPACE_WORKFLOW ? "workflow" : "session");
    return error_set(error, CAIRN_ENOTFOUND,
                     "the id %.80s names another checkpoint than the one stored as "
                     "%llu, which is %s",
                     id, number, match->printed);
}

const struct payload_kind *catalog_kind(const struct catalog *catalog,
                                        uint8_t namespace_id)
{
    return namespace_id == NAMESPACE_DEBUG ? debug_kind_of(catalog->kinds)
                                           : kind_of(catalog->kinds, namespace_id);
}

int catalog_find(const struct catalog *catalog, const char *id,
                 struct found_checkpoint *found, struct cairn_error *error)
{
    struct parsed_id parsed;
    struct match match = {.id = &parsed,
                          .sha = catalog->sha,
                          .wanted = catalog->namespace_id,
                          .error = error};
    assert(catalog->store && catalog->sha && catalog->kinds);
    int rc = parse_id(&match.wanted, id, &parsed, error);
    if (rc == 0 && parsed.seq == 0)
        rc = seq_of_hex(catalog->store, &parsed, error);
    if (rc)
        return rc;
    assert(parsed.seq > 0);
    rc = store_get_checkpoint(catalog->store, parsed.seq, match_row, &match, error);
    if (rc == CAIRN_ENOTFOUND)
        return error_set(error, rc,
                         "there is no checkpoint %llu (pruned ones are gone); `cairn "
                         "checkpoint list` shows what there is",
                         (unsigned long long)parsed.seq);
    if (rc)
        return rc;
    if (!match.ours || !match.matches)
        return refuse_match(&match, id, parsed.seq, error);
    const struct payload_kind *kind = catalog_kind(catalog, match.namespace_id);
    assert(kind);
    *found = (struct found_checkpoint){.in = {catalog->store, catalog->sha, kind},
                                       .seq = parsed.seq,
                                       .sound = match.sound == 0};
    return 0;
}

int checkpoint_find(struct cairn_store *store, const char *id, uint64_t *seq,
                    struct cairn_error *error)
{
    struct catalog runs = {store, sha256_new(), &payload_kinds, NAMESPACE_WORKFLOW};
    struct found_checkpoint found = {0};
    if (!runs.sha)
        return error_nomem(error);
    int rc = catalog_find(&runs, id, &found, error);
    sha256_free(runs.sha);
    if (rc)
        return rc;
    if (!found.sound)
        return CAIRN_EDAMAGED; /* catalog_find filled the error */
    assert(found.seq > 0);
    *seq = found.seq;
    return 0;
}
