/* SPDX-License-Identifier: MIT */
/* The state of a workflow as checkpoints see it, one outcome per task; and the payloads
 * of records, which are tpl images. Pure; the only door to tpl.
 *
 *   full      "uBB"  number of tasks, graph digest (32 bytes), runs of equal state
 *   delta     "UUB"  seq of its full record, first 8 bytes of the graph digest, changes
 *   grown     "uBB"  a delta after which there are more tasks than in its full record:
 *                    their number, digest of their graph, base, tag and changes
 *   sections  "uBB"  number of a trigger, head, sections (sections.h); of debug records
 *
 * The packed B fields are described in docs/format.md. tpl is not safe on hostile
 * bytes: payload_parse_... check the image's structure and every length with our own
 * code first, and hand tpl exactly the bytes that passed. Own hooks are installed (the
 * default ones print and exit); sizes are capped by LIMIT_PAYLOAD_BYTES. */
#ifndef CHECKPOINT_PAYLOAD_H
#define CHECKPOINT_PAYLOAD_H

#include "base/sha256.h"
#include "base/str.h"

struct states {
    uint32_t n;
    uint8_t *outcome;       /* [n] enum cairn_outcome */
    uint32_t *attempts;     /* [n] attempts started when the outcome was recorded */
    struct digest *outputs; /* [n] digest of the result (runs/result.h), zeros:
                               none; NULL until the first one is set */
};

struct change {
    uint32_t task;
    uint8_t outcome;
    uint32_t attempts;
    struct digest outputs; /* zeros: none */
};

struct tally {
    uint32_t total, completed, failed, skipped, cancelled;
    uint32_t undone, unknown; /* no final outcomes */
    uint32_t excluded;        /* among the skipped */
};

/* Both arrays are there, and no more tasks than a graph can have. */
void assert_states(const struct states *states);
int states_init(struct states *states, uint32_t n, struct cairn_error *error);
void states_release(struct states *states);
int states_copy(struct states *to, const struct states *from,
                struct cairn_error *error);
/* More tasks, which are pending. */
int states_extend(struct states *states, uint32_t n, struct cairn_error *error);
int states_apply(struct states *states, const struct change *change,
                 struct cairn_error *error);
struct tally states_tally(const struct states *states);

static inline uint32_t tally_done(const struct tally *t)
{
    return t->completed + t->failed + t->skipped + t->cancelled;
}

/* The counts by outcome, into a public struct that has them under the same names. */
#define TALLY_COPY(to, tally)                \
    do {                                     \
        (to)->completed = (tally).completed; \
        (to)->failed = (tally).failed;       \
        (to)->skipped = (tally).skipped;     \
        (to)->excluded = (tally).excluded;   \
        (to)->cancelled = (tally).cancelled; \
        (to)->undone = (tally).undone;       \
        (to)->unknown = (tally).unknown;     \
    } while (0)

/* ---- Packed B fields: runs of equal state, and changes ---- */

/* Fills `states`, which is initialised to its number of tasks and otherwise zero. */
int unpack_runs(struct str packed, struct states *states, struct cairn_error *error);

struct change_reader {
    struct reader in;
    uint32_t tasks; /* bound of the indexes */
    uint64_t last;  /* task before, valid when `any` */
    bool any;
};

struct change_reader change_reader_of(struct str packed, uint32_t tasks);
/* 1: *change is the next one; 0: the end; CAIRN_EDAMAGED. */
int change_next(struct change_reader *reader, struct change *change,
                struct cairn_error *error);
/* ---- tpl images ---- */

/* A tpl image of a flat `format` of three of u, U and B: every byte must be accounted
 * for, and numbers be in this machine's byte order. CAIRN_EDAMAGED. */
int image_check(struct str image, const char *format, struct cairn_error *error);

int payload_full(const struct states *states, const struct digest *graph,
                 struct buf *out, struct cairn_error *error);
int payload_delta(uint64_t base, uint64_t graph_tag, const struct change *changes,
                  size_t n, struct buf *out, struct cairn_error *error);
/* Neither `head` nor `sections` is empty. */
int payload_sections(uint32_t trigger, struct str head, const struct buf *sections,
                     struct buf *out, struct cairn_error *error);
uint64_t graph_tag(const struct digest *graph);

/* The tasks of a full record's graph, and more behind them. */
struct grown {
    uint32_t tasks;      /* all of them; 0: there are no more */
    struct digest graph; /* with all of them */
};
/* As payload_delta, but `changes` may be none. */
int payload_grown(uint64_t base, uint64_t graph_tag, const struct grown *grown,
                  const struct change *changes, size_t n, struct buf *out,
                  struct cairn_error *error);
/* A full record that stands for one of the graph that has `tag`, and for what came after
 * it: deltas that name that graph fit it. */
int payload_full_for(const struct states *states, const struct digest *graph,
                     uint64_t tag, struct buf *out, struct cairn_error *error);
/* `states` is initialised here. CAIRN_EDAMAGED for anything out of shape or range. */
int payload_parse_full(struct str payload, struct states *states, struct digest *graph,
                       struct cairn_error *error);
/* *tag: of the graph that its deltas name. */
int payload_parse_full_for(struct str payload, struct states *states,
                           struct digest *graph, uint64_t *tag,
                           struct cairn_error *error);

struct delta {
    uint64_t base, graph_tag;
    struct grown grown;
    uint32_t n, last;   /* changes, at least 1 but where it has grown; the highest task
                           among them */
    struct str changes; /* packed; owned by `image` */
    char *image;
};

int payload_parse_delta(struct str payload, struct delta *delta,
                        struct cairn_error *error);
void delta_release(struct delta *delta);

/* What is in the two B fields is for sections_decode to check. */
struct sections_image {
    uint32_t trigger;
    struct str head, sections; /* owned by `blocks` */
    void *blocks[2];
};

int payload_parse_sections(struct str payload, struct sections_image *image,
                           struct cairn_error *error);
void sections_image_release(struct sections_image *image);
/* Deltas are bound to the tasks and the graph of their full record: CAIRN_EDAMAGED. */
int delta_fit_tasks(const struct delta *delta, uint32_t tasks,
                    struct cairn_error *error);
int delta_fit_graph(const struct delta *delta, uint64_t tag, struct cairn_error *error);
/* Each change in task order; `tasks` bounds the indexes. */
int delta_each(const struct delta *delta, uint32_t tasks,
               int (*each)(void *, const struct change *), void *context,
               struct cairn_error *error);

#endif
