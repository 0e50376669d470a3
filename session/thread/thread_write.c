/* SPDX-License-Identifier: MIT */
/* Entries become records of a few each, and rows of the index. */
#include "session/thread/thread_int.h"

#include "storage/object.h"
#include "storage/store.h"

#include <assert.h>

/* ---- Rows ---- */

static int take_row(void *context, const struct thread_state_row *row)
{
    struct thread_row *found = context;
    found->seq = row->seq;
    buf_str(&found->writes, row->writes);
    return 0;
}

int thread_row_get(struct thread_writer *writer, struct str space, struct str id,
                   struct thread_row *row)
{
    *row = (struct thread_row){0};
    int rc = store_get_thread_state(writer->live->store, writer->branch, space, &id,
                                    take_row, row, writer->error);
    return rc == CAIRN_ENOTFOUND ? 0 : rc ?: buf_check(&row->writes, writer->error);
}

void thread_row_release(struct thread_row *row)
{
    buf_release(&row->writes);
}

static void add_seq(struct buf *writes, uint64_t seq)
{
    struct reader in = reader_of(writes->data, writes->size);
    uint64_t last = 0;
    for (uint64_t next = next_writes(&in, 0); next; next = next_writes(&in, next))
        last = next;
    if (last != seq)
        buf_varint(writes, seq - last);
}

/* What the record `seq` says of a key. */
static int note_entry(struct thread_writer *w, const struct thread_entry *entry,
                      uint64_t seq)
{
    struct thread_row row;
    if (entry->kind == THREAD_GONE)
        return store_drop_thread_state(w->live->store, w->branch, entry->space,
                                       entry->id, w->error);
    int rc = thread_row_get(w, entry->space, entry->id, &row);
    if (entry->kind == THREAD_STATE)
        row.seq = seq;
    else
        add_seq(&row.writes, seq);
    const struct thread_state_row now = {.branch = w->branch,
                                         .space = entry->space,
                                         .id = entry->id,
                                         .seq = row.seq,
                                         .writes = buf_view(&row.writes)};
    rc = rc ?: buf_check(&row.writes, w->error)
             ?: store_put_thread_state(w->live->store, &now, w->error);
    thread_row_release(&row);
    return rc;
}

/* ---- Records ---- */

int thread_writer_open(struct thread_writer *writer, struct live *live,
                       struct str thread, uint64_t branch, struct cairn_error *error)
{
    const struct chains in = {live->store, live->sha, &sections_kind};
    writer->live = live;
    writer->branch = branch;
    writer->record =
        (struct thread_record){.thread = thread, .entries = writer->entries};
    writer->error = error;
    return thread_open(&in, branch, &writer->end, error);
}

static int append(struct thread_writer *w)
{
    struct checkpoint_ref ref;
    if (!w->record.n)
        return 0;
    w->record.time_ns = w->live->now.utc_ns;
    int rc = thread_append(&w->end, &w->record, &ref, w->error);
    for (uint32_t i = 0; i < w->record.n && !rc; i++)
        rc = note_entry(w, &w->record.entries[i], ref.seq);
    w->record.n = 0;
    return rc;
}

int thread_writer_room(struct thread_writer *writer)
{
    return writer->record.n < THREAD_ENTRIES_MOST ? 0 : append(writer);
}

void thread_writer_add(struct thread_writer *writer, const struct thread_entry *entry)
{
    assert(writer->record.n < THREAD_ENTRIES_MOST);
    writer->entries[writer->record.n++] = *entry;
}

int thread_writer_close(struct thread_writer *writer, int rc)
{
    rc = rc ?: append(writer);
    thread_end_release(&writer->end);
    return rc;
}
