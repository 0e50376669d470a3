/* SPDX-License-Identifier: MIT */
#include "search/search_int.h"

#include "base/utf8.h"

static const char *const section_names[] = {"all",   "sessions", "runs", "logs",
                                            "files", "messages", "board"};

const char *cairn_search_section_name(enum cairn_search_section section)
{
    return (unsigned)section < sizeof section_names / sizeof section_names[0]
               ? section_names[section]
               : NULL;
}

static bool is_plain(uint32_t code)
{
    return code == '\n' || code == '\t' || (code >= 0x20 && code != 0x7f);
}

void entry_text(struct buf *out, struct str bytes, size_t most, bool last)
{
    if (last && bytes.len > most) {
        bytes.ptr += bytes.len - most;
        bytes.len = most;
    }
    const char *at = bytes.ptr, *end = at + (bytes.len < most ? bytes.len : most);
    const char *from = at; /* what is as it should be, and not yet taken */
    while (at < end) {
        uint32_t code = 0;
        size_t n = utf8_next(at, end, &code);
        if (n && is_plain(code)) {
            at += n;
            continue;
        }
        buf_add(out, from, (size_t)(at - from));
        buf_byte(out, ' ');
        at += n ? n : 1;
        from = at;
    }
    buf_add(out, from, (size_t)(at - from));
}

static void add_part(struct sha256 *sha, struct str part)
{
    uint64_t n = part.len;
    uint8_t size[8];
    for (size_t i = 0; i < sizeof size; i++)
        size[i] = (uint8_t)(n >> (8 * i));
    sha256_add(sha, size, sizeof size);
    sha256_add(sha, part.ptr, part.len);
}

void entry_hash(struct sha256 *sha, const struct text_entry *entry,
                uint8_t hash[SEARCHDB_HASH])
{
    struct digest digest;
    sha256_begin(sha);
    add_part(sha, entry->project);
    add_part(sha, entry->title);
    add_part(sha, entry->body);
    for (size_t i = 0; i < entry->n_tags; i++)
        add_part(sha, entry->tags[i]);
    sha256_end(sha, &digest);
    memcpy(hash, digest.bytes, SEARCHDB_HASH);
}
