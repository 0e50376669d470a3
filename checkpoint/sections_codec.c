/* SPDX-License-Identifier: MIT */
/* The payload of debug records (sections.h) as bytes. Pure. One function says what is
 * wrong with a value, for writers and readers alike, so that whatever is read could
 * have been written. */
#include "checkpoint/sections.h"

#include "base/limits.h"
#include "base/reader.h"
#include "base/utf8.h"
#include "checkpoint/payload.h"

#include <assert.h>

enum { HEAD_VERSION = 1, LINK_ENDS = 3 };

/* ---- What may be stored ---- */

static bool is_text(struct str text, size_t most)
{
    size_t at = 0, size = 1;
    uint32_t code = 1;
    if (text.len > most)
        return false;
    for (; at < text.len && size && code; at += size)
        size = utf8_next(text.ptr + at, text.ptr + text.len, &code);
    return size && code;
}

static const char *fault_of_tag(struct str tag)
{
    if (tag.len == 0)
        return "a tag is empty";
    if (!is_text(tag, CHECKPOINT_TAG_BYTES))
        return "a tag is longer than 256 bytes, or no UTF-8";
    return memchr(tag.ptr, ',', tag.len) ? "a tag has a comma in it" : NULL;
}

static const char *fault_of_link(const struct task_link *link)
{
    if (link->run == 0 || link->run > INT64_MAX || link->seq > INT64_MAX)
        return "its task has a run or a checkpoint that there cannot be";
    if (link->task.len == 0 || !is_text(link->task, LIMIT_ID_BYTES))
        return "the id of its task is empty, longer than 200 bytes, or no UTF-8";
    if (link->end >= LINK_ENDS)
        return "its task has ended in an unknown way";
    if (link->tail.len > CHECKPOINT_TAIL_BYTES)
        return "the end of its task's output is longer than 65536 bytes";
    return NULL;
}

static const char *fault_of_list(const struct sections *s)
{
    if (s->n > SECTIONS_MOST)
        return "it has more than 32 sections";
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->list[i].kind <= (i ? s->list[i - 1].kind : 0))
            return "its sections are not in order";
        if (digest_is_none(&s->list[i].digest))
            return "a section has no digest";
    }
    return NULL;
}

/* NULL: nothing. */
static const char *fault_of(const struct sections *s)
{
    const char *fault = NULL;
    if (!is_text(s->message, CHECKPOINT_MESSAGE_BYTES))
        return "its message is longer than 65536 bytes, or no UTF-8";
    if (s->n_tags > CHECKPOINT_TAGS_MOST)
        return "it has more than 64 tags";
    for (uint32_t i = 0; i < s->n_tags && !fault; i++)
        fault = fault_of_tag(s->tags[i]);
    if (!fault && (s->boot_ns < 0 || !is_text(s->boot, CHECKPOINT_BOOT_BYTES)))
        fault = "its time since the boot, or the boot's id, is out of range";
    if (!fault && s->linked)
        fault = fault_of_link(&s->link);
    return fault ? fault : fault_of_list(s);
}

/* ---- Writing ---- */

static void put_link(const struct task_link *link, struct buf *out)
{
    buf_varint(out, link->run);
    buf_varint(out, link->seq);
    buf_lstr(out, link->task);
    buf_varint(out, link->attempt);
    buf_byte(out, link->end);
    buf_varint(out, link->code);
    buf_lstr(out, link->tail);
}

static void put_head(const struct sections *s, struct buf *out)
{
    buf_byte(out, HEAD_VERSION);
    buf_lstr(out, s->message);
    buf_varint(out, s->n_tags);
    for (uint32_t i = 0; i < s->n_tags; i++)
        buf_lstr(out, s->tags[i]);
    buf_u64(out, (uint64_t)s->boot_ns);
    buf_lstr(out, s->boot);
    buf_byte(out, s->linked);
    if (s->linked)
        put_link(&s->link, out);
}

static void put_list(const struct sections *s, struct buf *out)
{
    buf_varint(out, s->n);
    for (uint32_t i = 0; i < s->n; i++) {
        buf_byte(out, s->list[i].kind);
        buf_varint(out, s->list[i].n);
        buf_varint(out, s->list[i].last);
        buf_add(out, s->list[i].digest.bytes, DIGEST_SIZE);
    }
}

int sections_encode(const struct sections *sections, struct buf *payload,
                    struct cairn_error *error)
{
    struct buf head = BUF_INIT, list = BUF_INIT;
    const char *fault = fault_of(sections);
    if (fault)
        return error_set(error, CAIRN_EUSAGE, "the checkpoint cannot be stored: %s",
                         fault);
    put_head(sections, &head);
    put_list(sections, &list);
    int rc = buf_check(&head, error);
    if (rc == 0)
        rc = buf_check(&list, error);
    if (rc == 0)
        rc =
            payload_sections(sections->trigger, buf_view(&head), &list, payload, error);
    buf_release(&head);
    buf_release(&list);
    return rc;
}

/* ---- Reading ---- */

static uint32_t read_u32_varint(struct reader *in)
{
    uint64_t value = read_varint(in);
    in->failed = in->failed || value > UINT32_MAX;
    return (uint32_t)value;
}

/* A byte that says whether something follows. */
static bool read_flag(struct reader *in)
{
    uint8_t flag = read_byte(in);
    in->failed = in->failed || flag > 1;
    return flag;
}

static struct str copy_text(struct arena *arena, struct reader *in)
{
    return arena_str(arena, read_lstr(in));
}

static void get_tags(struct arena *arena, struct reader *in, struct sections *s)
{
    uint64_t n = read_varint(in);
    in->failed = in->failed || n > CHECKPOINT_TAGS_MOST;
    s->n_tags = in->failed ? 0 : (uint32_t)n;
    if (s->n_tags)
        s->tags = arena_take(arena, s->n_tags, sizeof *s->tags);
    for (uint32_t i = 0; i < s->n_tags && s->tags; i++)
        s->tags[i] = copy_text(arena, in);
}

static void get_link(struct arena *arena, struct reader *in, struct task_link *link)
{
    link->run = read_varint(in);
    link->seq = read_varint(in);
    link->task = copy_text(arena, in);
    link->attempt = read_u32_varint(in);
    link->end = read_byte(in);
    link->code = read_u32_varint(in);
    link->tail = copy_text(arena, in);
}

static bool get_head(struct arena *arena, struct str head, struct sections *s)
{
    struct reader in = reader_of(head.ptr, head.len);
    in.failed = read_byte(&in) != HEAD_VERSION;
    s->message = copy_text(arena, &in);
    get_tags(arena, &in, s);
    s->boot_ns = (int64_t)read_u64(&in);
    s->boot = copy_text(arena, &in);
    s->linked = read_flag(&in);
    if (s->linked)
        get_link(arena, &in, &s->link);
    return reader_done(&in);
}

static bool get_list(struct str list, struct sections *s)
{
    struct reader in = reader_of(list.ptr, list.len);
    uint64_t n = read_varint(&in);
    if (n > SECTIONS_MOST)
        return false;
    s->n = (uint32_t)n;
    for (uint32_t i = 0; i < s->n; i++) {
        struct section_ref *ref = &s->list[i];
        ref->kind = read_byte(&in);
        ref->n = read_u32_varint(&in);
        ref->last = read_u32_varint(&in);
        struct str digest = read_bytes(&in, DIGEST_SIZE);
        if (digest.len)
            memcpy(ref->digest.bytes, digest.ptr, DIGEST_SIZE);
    }
    return reader_done(&in);
}

int sections_decode(struct arena *arena, struct str payload, struct sections *out,
                    struct cairn_error *error)
{
    struct sections_image image;
    struct sections made = {0};
    int rc = payload_parse_sections(payload, &image, error);
    if (rc)
        return rc;
    made.trigger = image.trigger;
    const char *fault = NULL;
    if (!get_head(arena, image.head, &made))
        fault = "the head of its payload is not whole, or of an unknown version";
    else if (!get_list(image.sections, &made))
        fault = "the list of its sections is not whole";
    sections_image_release(&image);
    if (arena->failed)
        return error_nomem(error);
    if (!fault)
        fault = fault_of(&made);
    if (fault)
        return error_set(error, CAIRN_EDAMAGED, "%s", fault);
    assert(made.n <= SECTIONS_MOST && made.n_tags <= CHECKPOINT_TAGS_MOST);
    *out = made;
    return 0;
}
