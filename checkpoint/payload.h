/* SPDX-License-Identifier: MIT */
/* Payloads of records as tpl images; the only door to tpl.
 *
 *   full      "uBB"  number of tasks, graph digest (32 bytes), runs of equal state
 *   delta     "UUB"  seq of its full record, first 8 bytes of the graph digest, changes
 *   sections  "uBB"  number of a trigger, head, sections (sections.h); of debug records
 *
 * The packed B fields are described in docs/format.md. tpl is not safe
 * on hostile bytes: payload_parse_... check the image's structure and every length with
 * our own code first, and hand tpl exactly the bytes that passed. Own hooks are
 * installed (the default ones print and exit); sizes are capped by LIMIT_PAYLOAD_BYTES.
 */
#ifndef CHECKPOINT_PAYLOAD_H
#define CHECKPOINT_PAYLOAD_H

#include "checkpoint/states.h"

int payload_full(const struct states *states, const struct digest *graph,
                 struct buf *out, struct cairn_error *error);
int payload_delta(uint64_t base, uint64_t graph_tag, const struct change *changes,
                  size_t n, struct buf *out, struct cairn_error *error);
/* Neither `head` nor `sections` is empty. */
int payload_sections(uint32_t trigger, struct str head, const struct buf *sections,
                     struct buf *out, struct cairn_error *error);
uint64_t graph_tag(const struct digest *graph);

/* `states` is initialised here. CAIRN_EDAMAGED for anything out of shape or range. */
int payload_parse_full(struct str payload, struct states *states, struct digest *graph,
                       struct cairn_error *error);
struct delta {
    uint64_t base, graph_tag;
    uint32_t n, last;   /* changes, at least 1; the highest task among them */
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
int delta_fit_graph(const struct delta *delta, const struct digest *graph,
                    struct cairn_error *error);
/* Each change in task order; `tasks` bounds the indexes. */
int delta_each(const struct delta *delta, uint32_t tasks,
               int (*each)(void *, const struct change *), void *context,
               struct cairn_error *error);

#endif
