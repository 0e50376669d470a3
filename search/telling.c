/* SPDX-License-Identifier: MIT */
/* Hits: read from the store again, and told with the part that fits best. */
#include "search/finding_int.h"

struct hit {
    struct finding *f;
    double score;
    struct buf key;
    uint8_t hash[SEARCHDB_HASH];
    bool good;
    bool stopped;
};

static int note_doc(void *context, const struct searchdb_doc *doc)
{
    struct hit *hit = context;
    buf_str(&hit->key, doc->key);
    if (doc->hash.len == SEARCHDB_HASH)
        memcpy(hit->hash, doc->hash.ptr, SEARCHDB_HASH);
    return buf_check(&hit->key, hit->f->error);
}

/* The title is shown by itself where it is a name. */
static int make_snippet(const struct finding *f, const struct text_entry *entry,
                        struct buf *out)
{
    struct buf text = BUF_INIT;
    if (entry->section == CAIRN_SEARCH_SESSIONS ||
        entry->section == CAIRN_SEARCH_BOARD || !entry->body.len) {
        buf_str(&text, entry->title);
        buf_text(&text, entry->title.len && entry->body.len ? "\n" : "");
    }
    buf_str(&text, entry->body);
    int rc = buf_check(&text, f->error);
    if (!rc && text.size)
        rc = snippet_make(buf_view(&text), buf_view(&f->text), out, f->error);
    buf_release(&text);
    return rc;
}

static int tell(struct hit *hit, const struct text_entry *entry, struct buf texts[3])
{
    struct finding *f = hit->f;
    buf_str(&texts[0], entry->title);
    buf_str(&texts[1], entry->project);
    int rc = make_snippet(f, entry, &texts[2]);
    for (int i = 0; i < 3 && !rc; i++)
        rc = buf_check(&texts[i], f->error);
    if (rc)
        return rc;
    struct cairn_search_hit told = {.rank = ++f->result->hits,
                                    .score = hit->score,
                                    .distance = 1 - hit->score,
                                    .section = entry->section,
                                    .kind = entry->kind,
                                    .id = entry->id,
                                    .session = entry->session,
                                    .task = entry->task,
                                    .run = entry->run,
                                    .checkpoint = entry->seq,
                                    .time_ns = entry->time_ns,
                                    .project = texts[1].data ? texts[1].data : "",
                                    .title = texts[0].data ? texts[0].data : "",
                                    .snippet = texts[2].data ? texts[2].data : ""};
    hit->stopped = f->each(f->context, &told) != 0;
    return hit->stopped;
}

static int check_entry(void *context, const struct text_entry *entry)
{
    struct hit *hit = context;
    struct buf texts[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
    uint8_t hash[SEARCHDB_HASH];
    entry_hash(hit->f->c.source.sha, entry, hash);
    if (!str_equal(entry->key, buf_view(&hit->key)))
        return 0; /* of several that come together */
    hit->good = memcmp(hash, hit->hash, SEARCHDB_HASH) == 0;
    int rc = hit->good ? tell(hit, entry, texts) : 0;
    for (int i = 0; i < 3; i++)
        buf_release(&texts[i]);
    return rc ? rc : 1;
}

/* *stopped: no more is wanted. */
static int tell_one(struct finding *f, const struct fused *fused, bool *stopped)
{
    struct hit hit = {.f = f, .score = fused->score, .key = BUF_INIT};
    struct text_source *source = &f->c.source;
    int rc = searchdb_get(f->c.index, fused->doc, note_doc, &hit, f->error);
    source->each = check_entry;
    source->is_known = NULL;
    source->context = &hit;
    if (!rc)
        rc = source_get(source, buf_view(&hit.key));
    buf_release(&hit.key);
    f->result->dropped += !hit.good;
    *stopped = hit.stopped;
    return rc == CAIRN_ENOMEM ? rc : 0; /* what cannot be read is not there */
}

int finding_tell(struct finding *f)
{
    bool stopped = false;
    int rc = 0;
    for (size_t i = 0; i < f->n_fused && f->result->hits < f->k && !rc && !stopped; i++)
        rc = tell_one(f, &f->fused[i], &stopped);
    return rc;
}
