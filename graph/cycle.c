/* SPDX-License-Identifier: MIT */
/* Every node that still waits has a need that still waits, so walking such needs must
 * come back to a node seen before: that closes a cycle. */
#include "graph/cycle.h"

#include <stdlib.h>

static uint32_t unmet_need(const struct graph *graph, const uint32_t *waiting,
                           uint32_t node)
{
    for (uint32_t e = graph->need_start[node]; e < graph->need_start[node + 1]; e++)
        if (waiting[graph->needs[e]])
            return graph->needs[e];
    return node; /* not reached: see the top of the file */
}

static void describe_cycle(const struct graph *graph, const uint32_t *path, uint32_t n,
                           struct buf *out)
{
    /* With the longest id once more at the end, the rest of the message and a usual
     * path this fits into an error. */
    enum { ROOM = 560 };
    for (uint32_t i = 0; i < n; i++) {
        if (out->size + strlen(graph->id[path[i]]) > ROOM) {
            buf_format(out, "... (%u more) -> ", n - i);
            break;
        }
        buf_format(out, "%s -> ", graph->id[path[i]]);
    }
    buf_text(out, graph->id[path[0]]);
}

int cycle_report(const struct graph *graph, const uint32_t *waiting,
                 struct cairn_error *error)
{
    const struct definition *d = graph->definition;
    uint32_t *seen = calloc(graph->n_nodes, sizeof *seen); /* step + 1 */
    uint32_t *path = malloc(((size_t)graph->n_nodes + 1) * sizeof *path);
    struct buf text = BUF_INIT;
    uint32_t node = 0, steps = 0;
    if (!seen || !path) {
        free(seen);
        free(path);
        return error_nomem(error);
    }
    while (!waiting[node])
        node++;
    while (!seen[node]) {
        path[steps] = node;
        seen[node] = ++steps;
        node = unmet_need(graph, waiting, node);
    }
    uint32_t start = seen[node] - 1;
    describe_cycle(graph, path + start, steps - start, &text);
    struct position at = graph_def(graph, node)->at;
    error_set(
        error, CAIRN_EWORKFLOW,
        "%.*s:%u:%u: these tasks need each other in a circle (a -> b: a needs b):\n"
        "  %s\nremove one of these needs",
        (int)d->file.len, d->file.ptr, at.line, at.column,
        text.failed ? "" : text.data);
    free(seen);
    free(path);
    buf_release(&text);
    return CAIRN_EWORKFLOW;
}
