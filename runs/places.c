/* SPDX-License-Identifier: MIT */
#include "runs/places.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/memory.h"
#include "process/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* FREE: it was given back. What is neither is an entry that nobody has written yet. */
enum { FREE, HELD, WAITS };
enum { ENTRIES_MOST = 1 << 16, GATE_BYTE = 1 << 20, GATE_MS = 20 };

struct entry {
    uint32_t kind, places, limit;
    uint32_t lender; /* number of the entry out of which it is, from 1; 0: of none */
    uint64_t ticket, run;
    int64_t called_ns; /* boot clock: since when it could have what it waits for */
    char pool[PLACES_TEXT], task[PLACES_TEXT];
};

/* With room for what one call adds. */
enum { ADDED_MOST = 2 * LIMIT_TASK_POOLS };
struct table {
    struct entry *at;
    uint32_t n;
};

static off_t offset_of(uint32_t index)
{
    return (off_t)index * (off_t)sizeof(struct entry);
}

/* ---- Reading and writing ---- */

/* Who outlives the task that it was inside of has places as everybody. */
static bool has_lender(const struct table *table, const struct entry *entry)
{
    const struct entry *lender = entry->lender && entry->lender <= table->n
                                     ? &table->at[entry->lender - 1]
                                     : NULL;
    return lender && lender->kind == HELD && strcmp(lender->pool, entry->pool) == 0;
}

/* Entries that nobody has a lock on are FREE afterwards. `file` has none itself. */
static int read_table(struct lock_file *file, struct table *table,
                      struct cairn_error *error)
{
    struct stat st = {0};
    *table = (struct table){0};
    if (file->fd < 0)
        return 0;
    if (fstat(file->fd, &st) < 0)
        return error_sys(error, errno, "cannot look at the file of shared pools");
    uint64_t n = (uint64_t)st.st_size / sizeof(struct entry);
    table->n = n < ENTRIES_MOST ? (uint32_t)n : ENTRIES_MOST;
    table->at = calloc((size_t)table->n + ADDED_MOST, sizeof *table->at);
    if (!table->at)
        return error_nomem(error);
    size_t size = table->n * sizeof *table->at, done = 0;
    while (done < size) {
        ssize_t got =
            pread(file->fd, (char *)table->at + done, size - done, (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_sys(error, errno, "cannot read the file of shared pools");
        if (got == 0)
            break;
        done += (size_t)got;
    }
    int rc = 0;
    for (uint32_t i = 0; i < table->n && rc >= 0; i++) {
        struct entry *entry = &table->at[i];
        entry->pool[PLACES_TEXT - 1] = entry->task[PLACES_TEXT - 1] = '\0';
        rc = entry->kind == FREE ? 0 : lock_held(file, i, error);
        entry->kind = rc > 0 ? entry->kind : FREE;
    }
    for (uint32_t i = 0; i < table->n; i++)
        if (!has_lender(table, &table->at[i]))
            table->at[i].lender = 0;
    return rc < 0 ? rc : 0;
}

static int write_entry(struct lock_file *file, uint32_t index,
                       const struct entry *entry, struct cairn_error *error)
{
    ssize_t put;
    do
        put = pwrite(file->fd, entry, sizeof *entry, offset_of(index));
    while (put < 0 && errno == EINTR);
    return put == (ssize_t)sizeof *entry
               ? 0
               : error_sys(error, put < 0 ? errno : ENOSPC,
                           "cannot write to the file of shared pools");
}

/* Locks the first free entry for `owner`, and writes it. */
static int add_entry(struct places *p, struct table *table, struct lock_file *owner,
                     const struct entry *entry, struct cairn_error *error)
{
    uint32_t i = 0;
    int got = 0;
    for (; i <= table->n && i < ENTRIES_MOST; i++)
        if ((i == table->n || table->at[i].kind == FREE) &&
            (got = lock_try(owner, i, LOCK_EXCLUSIVE, error)))
            break;
    if (!got)
        return error_set(error, CAIRN_ELIMIT, "more than %d entries in shared pools",
                         ENTRIES_MOST);
    if (got < 0)
        return got;
    table->n += i == table->n;
    table->at[i] = *entry;
    return write_entry(&p->table, i, entry, error);
}

/* Ends the locks of its entries, which lose their meaning before. */
static void drop_entries(struct places *p, struct lock_file *owner)
{
    static const struct entry none;
    struct table table = {0};
    if (owner->fd < 0)
        return;
    /* Seen from its own open file its locks are no others'. */
    (void)read_table(&p->table, &table, NULL);
    for (uint32_t i = 0; i < table.n; i++)
        if (table.at[i].kind != FREE && lock_held(owner, i, NULL) == 0)
            (void)write_entry(&p->table, i, &none, NULL);
    free(table.at);
    lock_drop_all(owner);
    lock_close(owner);
}

/* Runs that wait for something look again. */
static void wake_others(struct places *p)
{
    struct table table;
    if (read_table(&p->table, &table, NULL) == 0)
        for (uint32_t i = 0; i < table.n; i++)
            if (table.at[i].kind == WAITS && table.at[i].run != p->run)
                live_wake(p->live_dir, table.at[i].run);
    free(table.at);
}

/* ---- Life ---- */

static int open_table(const char *live_dir, struct lock_file *file,
                      struct cairn_error *error)
{
    char path[LIVE_PATH];
    if (!live_pools(path, sizeof path, live_dir))
        return error_set(error, CAIRN_EIO, "the path of %s is too long", live_dir);
    return lock_open(file, path, error);
}

int places_open(struct places *p, const char *live_dir, uint64_t run,
                struct cairn_error *error)
{
    p->live_dir = live_dir;
    p->run = run;
    p->table.fd = p->waiting.fd = -1;
    return open_table(live_dir, &p->table, error);
}

void places_close(struct places *p)
{
    places_withdraw(p);
    wake_others(p);
    lock_close(&p->table);
}

/* ---- Taking and waiting ---- */

/* Of the same pool, or out of the same part of it that is lent. */
static bool is_of(const struct entry *entry, const struct entry *wanted)
{
    return entry->kind != FREE && entry->lender == wanted->lender &&
           strcmp(entry->pool, wanted->pool) == 0;
}

static uint64_t count_held(const struct table *table, const struct entry *wanted)
{
    uint64_t held = 0;
    for (uint32_t i = 0; i < table->n; i++)
        if (is_of(&table->at[i], wanted) && table->at[i].kind == HELD)
            held += table->at[i].places;
    return held;
}

/* The ticket of what we wait for; UINT64_MAX: for nothing. */
static uint64_t own_ticket(const struct places *p, const struct table *table)
{
    uint64_t ticket = UINT64_MAX;
    for (uint32_t i = 0; i < table->n; i++)
        if (table->at[i].kind == WAITS && table->at[i].run == p->run)
            ticket = table->at[i].ticket;
    return ticket;
}

/* Somebody waits for the same who came before. Where it could have what it wants, it is
 * noted since when: it is not waited for too long. */
static int stands_behind(struct places *p, struct table *table,
                         const struct entry *wanted, uint64_t ticket,
                         struct cairn_error *error)
{
    int64_t now_ns = clock_boot_ns();
    int behind = 0;
    for (uint32_t i = 0; i < table->n && behind >= 0; i++) {
        struct entry *entry = &table->at[i];
        if (!is_of(entry, wanted) || entry->kind != WAITS || entry->ticket >= ticket ||
            entry->run == p->run)
            continue;
        if (count_held(table, wanted) + entry->places > entry->limit) {
            behind = 1;
        } else if (!entry->called_ns) {
            entry->called_ns = now_ns;
            behind = write_entry(&p->table, i, entry, error) ?: 1;
        } else if (now_ns - entry->called_ns < PLACES_PATIENCE_NS) {
            behind = 1;
        }
    }
    return behind;
}

/* Out of what the innermost task around the run has, if one has places of the pool. */
static int borrow(const struct places *p, const struct table *table,
                  struct entry *wanted, struct cairn_error *error)
{
    const struct entry *lender = NULL;
    for (uint32_t k = 0; k < p->n_around && !lender; k++)
        for (uint32_t i = 0; i < table->n && !lender; i++) {
            const struct entry *at = &table->at[i];
            if (at->kind == HELD && at->run == p->around[k].run &&
                strcmp(at->task, p->around[k].id) == 0 &&
                strcmp(at->pool, wanted->pool) == 0)
                lender = at;
        }
    if (!lender)
        return 0;
    if (wanted->places > lender->places)
        return error_set(error, CAIRN_EUSAGE,
                         "task %s takes %u places of pool %s, but it runs inside task "
                         "%s of run %llu, which has %u of them and gives none back "
                         "before it ends: give that task %u, or none",
                         wanted->task, wanted->places, wanted->pool, lender->task,
                         (unsigned long long)lender->run, lender->places,
                         wanted->places);
    wanted->lender = (uint32_t)(lender - table->at) + 1;
    wanted->limit = lender->places;
    return 0;
}

static int make_entries(const struct places *p, const struct table *table,
                        const struct places_wish *wishes, uint32_t n, struct str task,
                        struct entry *entries, struct cairn_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < n && !rc; i++) {
        const struct places_wish *wish = &wishes[i];
        entries[i] =
            (struct entry){.places = wish->places, .limit = wish->limit, .run = p->run};
        memcpy(entries[i].pool, wish->pool.ptr,
               wish->pool.len < PLACES_TEXT ? wish->pool.len : PLACES_TEXT - 1);
        memcpy(entries[i].task, task.ptr,
               task.len < PLACES_TEXT ? task.len : PLACES_TEXT - 1);
        rc = borrow(p, table, &entries[i], error);
    }
    return rc;
}

static int hold(struct places *p, struct table *table, struct entry *entries,
                uint32_t n, struct lock_file *held, struct cairn_error *error)
{
    int rc = open_table(p->live_dir, held, error);
    for (uint32_t i = 0; i < n && !rc; i++) {
        entries[i].kind = HELD;
        rc = add_entry(p, table, held, &entries[i], error);
    }
    if (rc)
        lock_close(held);
    return rc;
}

/* In each pool once, however many of our tasks want it. */
static int wait_for(struct places *p, struct table *table, struct entry *entries,
                    uint32_t n, struct cairn_error *error)
{
    uint64_t ticket = own_ticket(p, table), newest = 0;
    int rc = p->waiting.fd < 0 ? open_table(p->live_dir, &p->waiting, error) : 0;
    for (uint32_t i = 0; i < table->n; i++)
        if (table->at[i].kind == WAITS && table->at[i].ticket > newest)
            newest = table->at[i].ticket;
    if (ticket == UINT64_MAX)
        ticket = newest + 1;
    for (uint32_t i = 0; i < n && !rc; i++) {
        struct entry *entry = &entries[i];
        entry->kind = WAITS;
        entry->ticket = ticket;
        uint32_t at = 0;
        while (at < table->n &&
               !(is_of(&table->at[at], entry) && table->at[at].kind == WAITS &&
                 table->at[at].run == p->run))
            at++;
        if (at == table->n)
            rc = add_entry(p, table, &p->waiting, entry, error);
        else if (memcmp(&table->at[at], entry, sizeof *entry) != 0)
            rc = write_entry(&p->table, at, entry, error);
    }
    return rc;
}

static void note_other(const struct table *table, const struct entry *wanted,
                       struct places_entry *other)
{
    for (uint32_t i = 0; i < table->n && !other->places; i++) {
        const struct entry *entry = &table->at[i];
        if (!is_of(entry, wanted) || entry->limit == wanted->limit)
            continue;
        other->run = entry->run;
        other->places = entry->places;
        other->limit = entry->limit;
        memcpy(other->pool, entry->pool, sizeof other->pool);
    }
}

static int take_or_wait(struct places *p, struct table *table, struct entry *wanted,
                        uint32_t n, struct lock_file *held, struct places_entry *other,
                        struct cairn_error *error)
{
    uint64_t ticket = own_ticket(p, table);
    int may = 1;
    for (uint32_t i = 0; i < n && may >= 0; i++) {
        note_other(table, &wanted[i], other);
        int behind = stands_behind(p, table, &wanted[i], ticket, error);
        bool room = count_held(table, &wanted[i]) + wanted[i].places <= wanted[i].limit;
        may = behind < 0 ? behind : may && room && !behind;
    }
    int rc = may < 0 ? may
             : may   ? hold(p, table, wanted, n, held, error)
                     : wait_for(p, table, wanted, n, error);
    return rc ?: may;
}

int places_take(struct places *p, const struct places_wish *wishes, uint32_t n,
                struct str task, struct lock_file *held, struct places_entry *other,
                struct cairn_error *error)
{
    struct table table = {0};
    struct entry wanted[LIMIT_TASK_POOLS];
    held->fd = -1;
    *other = (struct places_entry){0};
    int rc = lock_wait(&p->table, GATE_BYTE, LOCK_EXCLUSIVE, GATE_MS, error);
    if (rc == CAIRN_EBUSY)
        return 0; /* who has it was stopped just there */
    if (rc)
        return rc;
    rc = read_table(&p->table, &table, error)
             ?: make_entries(p, &table, wishes, n, task, wanted, error)
             ?: take_or_wait(p, &table, wanted, n, held, other, error);
    free(table.at);
    if (rc > 0 && p->waiting.fd >= 0)
        places_withdraw(p); /* who came behind us may be next */
    lock_drop(&p->table, GATE_BYTE);
    return rc;
}

void places_give_back(struct places *p, struct lock_file *held)
{
    drop_entries(p, held);
    wake_others(p);
}

void places_withdraw(struct places *p)
{
    if (p->waiting.fd < 0)
        return;
    drop_entries(p, &p->waiting);
    wake_others(p);
}

/* ---- Looking ---- */

/* The caller frees table->at. */
static int look_at_table(const char *live_dir, struct table *table,
                         struct cairn_error *error)
{
    char path[LIVE_PATH];
    struct lock_file file = {-1};
    *table = (struct table){0};
    if (!live_pools(path, sizeof path, live_dir))
        return 0;
    int rc = lock_open_read(&file, path, error) ?: read_table(&file, table, error);
    lock_close(&file);
    return rc;
}

int places_check(const struct places *p, const struct places_wish *wishes, uint32_t n,
                 struct str task, struct cairn_error *error)
{
    struct table table;
    struct entry wanted[LIMIT_TASK_POOLS];
    int rc = look_at_table(p->live_dir, &table, error)
                 ?: make_entries(p, &table, wishes, n, task, wanted, error);
    free(table.at);
    return rc;
}

int places_each(const char *live_dir, int (*each)(void *, const struct places_entry *),
                void *context, struct cairn_error *error)
{
    struct table table;
    int rc = look_at_table(live_dir, &table, error);
    for (uint32_t i = 0; i < table.n && !rc; i++) {
        const struct entry *at = &table.at[i];
        struct places_entry entry = {.waits = at->kind == WAITS,
                                     .ticket = at->ticket,
                                     .run = at->run,
                                     .places = at->places,
                                     .limit = at->limit,
                                     .lender = at->lender};
        memcpy(entry.pool, at->pool, sizeof entry.pool);
        memcpy(entry.task, at->task, sizeof entry.task);
        if (at->kind != FREE && each(context, &entry))
            break;
    }
    free(table.at);
    return rc;
}
