/* SPDX-License-Identifier: MIT */
/* Which bytes of a database file belong to which record. */
#include "damage.h"
#include "storage/rows_checkpoint.h"

#include <stdio.h>
#include <stdlib.h>

struct finding {
    struct records *records;
    struct buf file;
    bool failed;
};

static void add_place(struct finding *f, uint64_t seq, struct str bytes)
{
    const char *at = f->file.data, *end = at + f->file.size;
    struct records *r = f->records;
    while (at < end && (at = memmem(at, (size_t)(end - at), bytes.ptr, bytes.len))) {
        struct record_place *places =
            realloc(r->places, (r->n_places + 1) * sizeof *places);
        if (!places) {
            f->failed = true;
            return;
        }
        r->places = places;
        size_t from = (size_t)(at - f->file.data);
        r->places[r->n_places++] =
            (struct record_place){seq, from, from + bytes.len, false};
        at++;
    }
}

static int note(void *context, const struct checkpoint_row *row)
{
    struct finding *f = context;
    struct records *r = f->records;
    uint64_t *seqs = realloc(r->seqs, (r->n + 1) * sizeof *seqs);
    if (seqs)
        r->seqs = seqs;
    struct digest *digests = realloc(r->digests, (r->n + 1) * sizeof *digests);
    if (digests)
        r->digests = digests;
    if (!seqs || !digests || row->digest.len != DIGEST_SIZE) {
        f->failed = true;
        return 1;
    }
    seqs[r->n] = row->seq;
    memcpy(digests[r->n++].bytes, row->digest.ptr, DIGEST_SIZE);
    if (f->file.size) {
        add_place(f, row->seq, row->record);
        add_place(f, row->seq, row->digest);
    }
    return 0;
}

bool records_find(struct records *records, const char *store, const char *file)
{
    struct cairn_store_options options = {.path = store, .read_only = true};
    struct checkpoint_range all = {0};
    struct finding f = {.records = records};
    struct cairn_store *open = NULL;
    *records = (struct records){0};
    bool good = !file || os_read_file(file, (size_t)1 << 30, &f.file, NULL) == 0;
    good = good && cairn_store_open(&open, &options, NULL) == 0 &&
           store_each_checkpoint(open, &all, note, &f, NULL) == 0;
    cairn_store_close(open);
    buf_release(&f.file);
    return good && !f.failed;
}

uint64_t records_at(const struct records *records, size_t offset, size_t *i)
{
    for (; *i < records->n_places; ++*i)
        if (offset >= records->places[*i].from && offset < records->places[*i].to &&
            !records->places[*i].stale)
            return records->places[(*i)++].seq;
    return 0;
}

size_t records_missing(const struct records *before, const char *store, size_t offset)
{
    struct records now;
    size_t missing = 0;
    if (!records_find(&now, store, NULL))
        return before->n;
    for (size_t i = 0; i < before->n; i++) {
        bool found = false;
        size_t place = 0;
        for (uint64_t seq; !found && (seq = records_at(before, offset, &place)) != 0;)
            found = seq == before->seqs[i];
        for (size_t k = 0; k < now.n && !found; k++)
            found = now.seqs[k] == before->seqs[i] &&
                    digest_equal(&now.digests[k], &before->digests[i]);
        missing += !found;
    }
    free(now.places);
    free(now.seqs);
    free(now.digests);
    return missing;
}
