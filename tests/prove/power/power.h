/* SPDX-License-Identifier: MIT */
/* Power cuts in a model. A workload runs the library for real; every call that changes
 * or syncs a file of its store, SQLite's own included, is put into a log. From the log
 * any moment's disk can be made again, as a power cut may have left it: what was synced
 * stays, of the rest anything. Each such disk is opened and judged.
 *
 *   power record BASE LOG WORK SYNC SESSION SEED [KILL]  one process of a workload;
 *                                            KILL: it dies at its so-manieth event
 *   power sweep BASE LOG WORK SYNC SEED CUTS DIR   judges CUTS images, made in DIR
 *   power list                       names of the workloads, their sessions, processes
 *   power one BASE LOG WORK SYNC SEED DIR CUT N    one of them; DIR is left standing
 *
 * record.c (the log), work.c (what runs), history.c (what was promised when), disk.c
 * (images), judge.c, main.c. */
#ifndef PROVE_POWER_H
#define PROVE_POWER_H

#include "base/str.h"
#include "cairn/run.h"
#include "storage/store_int.h"

#include <stdio.h>

/* ---- The log: records one after the other, written by a single write each ---- */

enum event_type {
    EV_OPEN = 1, /* handle; payload: path in the base directory */
    EV_WRITE,    /* handle, a: offset; payload: the bytes */
    EV_TRUNCATE, /* handle, a: size */
    EV_SYNC,     /* handle (of a file or a directory) */
    EV_UNLINK,   /* payload: path */
    EV_RENAME,   /* payload: path, NUL, path */
    EV_MKDIR,    /* payload: path */
    EV_FOUND,    /* a durable file that was there before: payload: path, NUL, content */
    /* Not of the disk: */
    EV_SESSION, /* a process begins */
    EV_RUN,     /* a: run, b: workflow */
    EV_START,   /* a: run, b: task, c: attempt: its intent was durable */
    EV_ACK,     /* a: run, b: task, c: outcome, d: checkpoint: reported to the caller */
    EV_PRUNE,   /* records may be deleted from here on */
    EV_DIGEST   /* a: checkpoint; payload: its digest */
};
struct event {
    uint64_t handle;
    uint64_t a;
    uint32_t b, c;
    uint64_t d;
    uint32_t type, size; /* of the payload that follows */
};
struct log {
    const uint8_t *bytes;
    size_t size;
    uint32_t count;
    size_t *at; /* of each event */
};
struct event log_event(const struct log *log, uint32_t i, const char **payload);
int log_load(struct log *log, const char *path);
void log_release(struct log *log);

/* ---- record.c ---- */

/* From now on: what happens below `base` goes into the log. `kill_at`: the process ends
 * itself when it has logged so many events, 0: never. */
int record_start(const char *base, const char *log_path, long kill_at);
void record_stop(void);
void record_event(const struct event *event, const void *payload);
/* Makes syncs cost nothing, for judging images. */
void record_skip_syncs(void);

/* ---- work.c ---- */

enum { TASKS_MAX = 700, WORKFLOWS_MAX = 4 };

struct work {
    const char *name;
    uint32_t tasks, chain; /* chain: each so-manieth task needs the one before it */
    uint32_t sessions;
    uint32_t racers; /* processes at a time in every session, 0: one */
    bool network, old, processes, prunes, recorder;
    uint32_t transfer; /* pages of WAL; 0: as the store has it */
};
/* The i-th workload, NULL past the end. */
const struct work *work_number(size_t i);
const struct work *work_find(const char *name);
int work_sync(const char *name, enum cairn_sync *sync);
/* One session of it. */
int work_session(const struct work *work, const char *base, enum cairn_sync sync,
                 uint32_t session, uint64_t seed);
/* Goes on with workflow `which` until it is done, nothing failing any more; what starts
 * is told to `observe`. */
int work_resume(const struct work *work, struct cairn_store *store, uint32_t which,
                cairn_observe_fn *observe, void *context,
                struct cairn_run_result *result, struct cairn_error *error);

/* ---- history.c: what had been promised at a moment ---- */

struct fate {          /* of one task of one run */
    uint8_t outcome;   /* the last acknowledged one, 0: none */
    uint32_t attempts; /* started */
    uint64_t checkpoint;
};
struct history {
    struct {
        uint32_t run, workflow;
        struct fate fates[TASKS_MAX];
    } runs[64];
    uint32_t n_runs;
    bool pruned;
    uint32_t acks;       /* completed tasks */
    char (*digests)[65]; /* by seq, from the whole log */
    uint32_t n_digests;
};
int history_init(struct history *history, const struct log *log);
void history_apply(struct history *history, const struct event *event);
void history_release(struct history *history);
struct fate *history_fates(struct history *history, uint64_t run, uint32_t *workflow);

/* ---- disk.c ---- */

struct disk;
struct disk *disk_new(const struct log *log);
void disk_free(struct disk *disk);
/* Event `i` happens. */
void disk_apply(struct disk *disk, uint32_t i);
/* What a power cut now may leave, into the empty directory `dir`. `how` becomes a
 * sentence. */
int disk_image(const struct disk *disk, uint64_t seed, uint32_t variant,
               const char *dir, char how[200]);
bool disk_has_store(const struct disk *disk);

/* ---- judge.c ---- */

struct tally {
    uint32_t images, lost, repeated, undetected, other;
    uint32_t named;   /* images that were refused or complained of by name */
    uint32_t losing;  /* images that lost acknowledged outcomes unpunished */
    uint32_t resumed; /* images that a real resume was made of */
    uint32_t worst;   /* acknowledged outcomes lost in one image */
};
struct judge {
    const struct work *work;
    enum cairn_sync sync;
    struct history *history;
    struct tally *tally;
    const char *name; /* of this image, for failures */
    bool resume, network;
};
/* Judges the store in DIR/.cairn; says what is wrong with it. */
void judge_image(struct judge *judge, const char *dir);

/* ---- Random numbers ---- */

static inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
static inline uint32_t below(uint64_t *state, uint32_t n)
{
    *state = mix(*state);
    return n ? (uint32_t)((*state >> 16) % n) : 0;
}

#endif
