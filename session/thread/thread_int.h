/* SPDX-License-Identifier: MIT */
/* What the files of the alcove share: threads by name, and values from the pool. */
#ifndef SESSION_THREAD_THREAD_INT_H
#define SESSION_THREAD_THREAD_INT_H

#include "cairn/thread.h"
#include "checkpoint/threads.h"
#include "session/session_int.h"
#include "storage/sessions/rows_thread.h"

enum { THREAD_ENTRIES_MOST = 64 }; /* of one record */

/* ---- thread_name.c ---- */

#define THREAD_START "thread-" /* of the names of sessions that are threads */

struct thread_place {
    uint64_t session, branch;
    int64_t started_ns;
};

/* Appends the name that has this text; false: none has. */
bool thread_of_text(struct str text, struct buf *out);
/* CAIRN_ENOTFOUND. CAIRN_EUSAGE: a session that is no thread has its name. */
int thread_find(struct cairn_store *store, struct sha256 *sha, struct str thread,
                struct thread_place *place, struct cairn_error *error);
/* The same in the write transaction of `live`; one that is not there is made. */
int thread_find_or_make(struct live *live, struct str thread,
                        struct thread_place *place, struct cairn_error *error);

/* ---- thread_value.c ---- */

/* Stores bytes: at most `within` in the record itself. `before` (may be NULL): where
 * similar ones are. */
int thread_value_put(struct cairn_store *store, struct str bytes, size_t within,
                     const struct thread_value *before, struct thread_value *out,
                     struct cairn_error *error);
/* The bytes, in the arena. */
int thread_value_get(struct cairn_store *store, const struct thread_value *value,
                     struct arena *arena, struct str *out, struct cairn_error *error);
/* The content of a value of one record must not be collected while another record comes
 * to refer to it. CAIRN_EDAMAGED: it is lost. */
int thread_value_use(struct cairn_store *store, const struct thread_value *value,
                     struct str channel, struct cairn_error *error);

/* ---- thread_write.c ---- */

/* Entries on their way into records of one thread, in a write transaction. */
struct thread_writer {
    struct live *live;
    uint64_t branch;
    struct thread_end end;
    struct thread_entry entries[THREAD_ENTRIES_MOST];
    struct thread_record record; /* those that wait */
    struct cairn_error *error;
};

/* thread_writer_close in any case. */
int thread_writer_open(struct thread_writer *writer, struct live *live,
                       struct str thread, uint64_t branch, struct cairn_error *error);
/* Makes room for one more, by a record with those that wait if need be: what they
 * point to may go then, and record.n is 0. */
int thread_writer_room(struct thread_writer *writer);
void thread_writer_add(struct thread_writer *writer, const struct thread_entry *entry);
/* What waits becomes a record; unless rc, which is returned, is not 0. */
int thread_writer_close(struct thread_writer *writer, int rc);

/* A row of the index; seq 0 and no writes: there is none. */
struct thread_row {
    uint64_t seq;
    struct buf writes;
};

int thread_row_get(struct thread_writer *writer, struct str space, struct str id,
                   struct thread_row *row);
void thread_row_release(struct thread_row *row);

/* ---- thread_get.c ---- */

static inline struct str str_of_bytes(struct cairn_bytes bytes)
{
    return (struct str){bytes.length ? bytes.bytes : "", bytes.length};
}
/* The entry of that key, the last one; NULL: there is none. */
struct thread_entry *thread_entry_of(const struct thread_record *record,
                                     enum thread_entry_kind kind, struct str space,
                                     struct str id);
/* Records with writes, as a row of the index has them: the next one, 0: no more. */
uint64_t next_writes(struct reader *in, uint64_t before);

#endif
