/* SPDX-License-Identifier: MIT */
/* Pictures of a run as SVG: its graph, and its attempts over time. */
#ifndef WEB_CHARTS_H
#define WEB_CHARTS_H

#include "web/frame.h"
#include "web/page_view.h"

/* A sign for each state, so that none is told by its colour alone. */
extern const char *const state_signs[PICTURE_STATES];

/* A word with its sign. */
void put_state(struct buf *out, uint8_t state);
/* As parts of one bar, and in words below it. */
void put_counts(struct buf *out, const uint32_t counts[PICTURE_STATES]);
/* "3 failed, 12 completed", at most so many states. */
void put_count_words(struct buf *out, const uint32_t counts[PICTURE_STATES],
                     uint32_t most);
/* A graph: what stands around its nodes, with its edges; between them a box for each
 * node, from its frame up to the text of its second line, which ends with </text>.
 * `zoom` is percent; `step` [n] are the steps of the critical path (web/page_view.h), or
 * NULL. */
void graph_begin(struct buf *out, const struct layout *layout, const char *label,
                 unsigned zoom, const uint32_t *step);
void graph_box(struct buf *out, const struct layout_place *place, bool folded,
               const char *name);
void graph_end(struct buf *out);
/* The address of the page of a run with another graph, up to its closing quote: `name`
 * is opened, too (NULL: none). */
void put_graph_address(struct buf *out, uint64_t run, const struct graph_wanted *wanted,
                       const char *name);
/* Nodes lead to #t and the task's number; groups open, or in a file lead to #g and the
 * number of the first member. */
void put_graph(struct buf *out, const struct page_view *view,
               const struct graph_wanted *wanted, const struct page_options *options);
void put_attempts(struct buf *out, const struct page_view *view,
                  struct cairn_error *error);

#endif
