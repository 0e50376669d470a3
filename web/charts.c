/* SPDX-License-Identifier: MIT */
#include "web/charts.h"

#include "cli/format.h"
#include "web/html.h"

#include <inttypes.h>
#include <stdlib.h>

const char *const state_signs[PICTURE_STATES] = {
    [PICTURE_EXCLUDED] = "&#x2298;", [PICTURE_COMPLETED] = "&#x2713;",
    [PICTURE_PENDING] = "&#x25cb;",  [PICTURE_SKIPPED] = "&#x2212;",
    [PICTURE_UNDONE] = "&#x21b6;",   [PICTURE_CANCELLED] = "&#x25a0;",
    [PICTURE_RUNNING] = "&#x25b6;",  [PICTURE_INTERRUPTED] = "&#x26a1;",
    [PICTURE_UNKNOWN] = "?",         [PICTURE_FAILED] = "&#x2717;",
};

void put_state(struct buf *out, uint8_t state)
{
    buf_format(out, "<span class=\"state %s\"><i aria-hidden=\"true\">%s</i> %s</span>",
               picture_states[state], state_signs[state], picture_states[state]);
}

void put_counts(struct buf *out, const uint32_t counts[PICTURE_STATES])
{
    uint64_t all = 0;
    double at = 0;
    for (uint32_t i = 0; i < PICTURE_STATES; i++)
        all += counts[i];
    buf_text(out,
             "<svg class=\"bar\" width=\"100%\" height=\"12\" aria-hidden=\"true\">");
    for (uint32_t i = PICTURE_STATES; i-- > 0;) {
        double part = all ? 100.0 * counts[i] / (double)all : 0;
        if (counts[i])
            buf_format(
                out, "<rect class=\"%s\" x=\"%.2f%%\" width=\"%.2f%%\" height=\"12\"/>",
                picture_states[i], at, part);
        at += part;
    }
    buf_text(out, "</svg><ul class=\"counts\">");
    for (uint32_t i = PICTURE_STATES; i-- > 0;)
        if (counts[i]) {
            buf_format(out, "<li><b>%u</b> ", counts[i]);
            put_state(out, (uint8_t)i);
            buf_text(out, "</li>");
        }
    buf_text(out, "</ul>");
}

void put_count_words(struct buf *out, const uint32_t counts[PICTURE_STATES],
                     uint32_t most)
{
    uint32_t shown = 0;
    for (uint32_t i = PICTURE_STATES; i-- > 0 && shown < most;)
        if (counts[i])
            buf_format(out, "%s%u %s", shown++ ? ", " : "", counts[i],
                       picture_states[i]);
}

/* ---- The graph ---- */

enum {
    BOX_WIDTH = 190,
    BOX_HEIGHT = 42,
    LAYER = 250,
    ROW = 56,
    MARGIN = 12,
    LABEL = 23
};

static int x_of(uint32_t layer)
{
    return MARGIN + (int)layer * LAYER;
}

/* The middle of what stands there. */
static int y_of(float row)
{
    return MARGIN + BOX_HEIGHT / 2 + (int)(row * ROW);
}

static void put_curve(struct buf *out, int x, int y, int to_x, int to_y)
{
    int half = (to_x - x) / 2;
    if (y == to_y)
        buf_format(out, "H%d", to_x);
    else
        buf_format(out, "C%d %d %d %d %d %d", x + half, y, to_x - half, to_y, to_x,
                   to_y);
}

/* From one step to the next, or over the barrier between them. */
static bool is_critical(const uint32_t *step, const struct layout_edge *edge)
{
    uint32_t from = step ? step[edge->from] : 0, to = from ? step[edge->to] : 0;
    return to == from + 1 || (to == from + 2 && from % 2 == 0 && from > 0);
}

static void put_edge(struct buf *out, const struct layout *layout,
                     const struct layout_edge *edge, bool critical)
{
    const struct layout_place *from =
        &layout->nodes[edge->back ? edge->to : edge->from];
    const struct layout_place *to = &layout->nodes[edge->back ? edge->from : edge->to];
    int x = x_of(from->layer) + BOX_WIDTH, y = y_of(from->row);
    buf_format(out, "<path%s d=\"M%d %d",
               edge->back ? " class=\"back\""
               : critical ? " class=\"critical\""
                          : "",
               x, y);
    for (uint32_t k = 0; k < edge->n_bends; k++) {
        const struct layout_place *bend = &layout->bends[edge->bend + k];
        put_curve(out, x, y, x_of(bend->layer), y_of(bend->row));
        x = x_of(bend->layer) + BOX_WIDTH;
        y = y_of(bend->row);
        buf_format(out, "H%d", x);
    }
    put_curve(out, x, y, x_of(to->layer), y_of(to->row));
    buf_text(out, "\"/>");
}

/* The middle of a long name is cut out: members of a group differ at its end. */
static void put_label(struct buf *out, const char *name)
{
    char *cut = malloc(strlen(name) + 4);
    if (cut)
        html_text(out, columns_cut(cut, name, LABEL));
    out->failed |= !cut;
    free(cut);
}

void graph_box(struct buf *out, const struct layout_place *place, bool folded,
               const char *name)
{
    int x = x_of(place->layer), y = y_of(place->row) - BOX_HEIGHT / 2;
    if (folded)
        buf_format(out,
                   "<rect class=\"under\" x=\"%d\" y=\"%d\" width=\"%d\" "
                   "height=\"%d\" rx=\"4\"/>",
                   x + 4, y + 4, BOX_WIDTH, BOX_HEIGHT);
    buf_format(out,
               "<rect class=\"box\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
               "rx=\"4\"/><rect class=\"side\" x=\"%d\" y=\"%d\" width=\"6\" "
               "height=\"%d\"/><text x=\"%d\" y=\"%d\">",
               x, y, BOX_WIDTH, BOX_HEIGHT, x, y, BOX_HEIGHT, x + 14, y + 17);
    put_label(out, name);
    buf_format(out, "</text><text class=\"small\" x=\"%d\" y=\"%d\">", x + 14, y + 33);
}

static void put_node_state(struct buf *out, const struct page_view *view,
                           const struct picture_node *node)
{
    char took[FORMAT_MAX];
    if (!node->folded) {
        uint32_t task = map_get(&view->by_id, str_of(node->name));
        int64_t ms = task == MAP_NONE ? -1 : view_task_ms(view, &view->tasks[task]);
        buf_text(out, picture_states[node->state]);
        if (ms >= 0)
            buf_format(out, ", %s", format_duration(took, ms));
        return;
    }
    put_count_words(out, node->counts, 2);
}

void put_graph_address(struct buf *out, uint64_t run, const struct graph_wanted *wanted,
                       const char *name)
{
    buf_format(out, "/runs/%" PRIu64 "?", run);
    if (wanted->open || name) {
        buf_text(out, "open=");
        html_address(out, wanted->open ? wanted->open : "");
        html_address(out, wanted->open && name ? " " : "");
        html_address(out, name ? name : "");
        buf_text(out, "&amp;");
    }
    if (wanted->find) {
        buf_text(out, "find=");
        html_address(out, wanted->find);
        buf_text(out, "&amp;");
    }
    buf_format(out, "zoom=%u#graph", wanted->zoom ?: 100);
}

static void put_node(struct buf *out, const struct page_view *view, uint32_t i,
                     const struct graph_wanted *opens)
{
    const struct picture_node *node = &view->picture.at[i];
    const struct layout_place *place = &view->layout.nodes[i];
    int x = x_of(place->layer), y = y_of(place->row) - BOX_HEIGHT / 2;
    if (node->barrier) {
        buf_format(out, "<g class=\"barrier\"><title>all of ");
        html_text(out, node->name);
        buf_format(out,
                   "</title><path d=\"M%d %dH%d\"/><circle cx=\"%d\" cy=\"%d\" "
                   "r=\"5\"/></g>",
                   x, y + BOX_HEIGHT / 2, x + BOX_WIDTH, x + BOX_WIDTH / 2,
                   y + BOX_HEIGHT / 2);
        return;
    }
    struct cairn_node_info info = {0};
    uint32_t first = MAP_NONE;
    if (cairn_workflow_node(view->workflow, node->node, &info) == 0)
        first = map_get(&view->by_id, str_of(info.id));
    bool critical = view->step[i] != 0;
    buf_format(out, "<a id=\"n%u\" class=\"node %s%s%s\"", i,
               picture_states[node->state], critical ? " critical" : "",
               view->found[i] ? " found" : "");
    if (opens && node->folded) {
        buf_text(out, " href=\"");
        put_graph_address(out, view->run.run, opens, node->name);
        buf_byte(out, '"');
    } else if (first != MAP_NONE)
        buf_format(out, " href=\"#%c%u\"", node->folded ? 'g' : 't', first);
    buf_text(out, "><title>");
    html_text(out, node->name);
    if (node->folded)
        buf_format(out, ", %u task%s", node->tasks, plural(node->tasks));
    buf_text(out, ": ");
    put_node_state(out, view, node);
    buf_text(out, critical ? ", on the critical path" : "");
    buf_text(out, opens && node->folded ? "; opens the group</title>" : "</title>");
    graph_box(out, place, node->folded, node->name);
    buf_format(out, "%s ", state_signs[node->state]);
    put_node_state(out, view, node);
    buf_text(out, "</text></a>");
}

void graph_begin(struct buf *out, const struct layout *layout, const char *label,
                 unsigned zoom, const uint32_t *step)
{
    int width = x_of(layout->layers ? layout->layers - 1 : 0) + BOX_WIDTH + MARGIN;
    int height = y_of(layout->rows) + BOX_HEIGHT / 2 + MARGIN;
    buf_format(out,
               "<div class=\"wide graph\" tabindex=\"0\" role=\"region\" "
               "aria-label=\"%s\"><svg width=\"%d\" height=\"%d\" "
               "viewBox=\"0 0 %d %d\"><g class=\"edges\">",
               label, (int)((long)width * zoom / 100), (int)((long)height * zoom / 100),
               width, height);
    for (uint32_t i = 0; i < layout->n_edges; i++)
        put_edge(out, layout, &layout->edges[i], is_critical(step, &layout->edges[i]));
    buf_text(out, "</g>");
}

void graph_end(struct buf *out)
{
    buf_text(out, "</svg></div>");
}

void put_graph(struct buf *out, const struct page_view *view,
               const struct graph_wanted *wanted, const struct page_options *options)
{
    const struct graph_wanted no_groups = {.find = wanted->find, .zoom = wanted->zoom};
    const struct graph_wanted *opens =
        wanted->open && strcmp(wanted->open, GRAPH_NONE) == 0 ? &no_groups : wanted;
    const struct layout *layout = &view->layout;
    /* Edges of a live run stay as they are. */
    graph_begin(out, layout, "graph of the tasks", wanted->zoom ?: 100,
                view->run.live ? NULL : view->step);
    for (uint32_t i = 0; i < layout->n; i++) {
        bool part = !view->picture.at[i].barrier;
        if (part)
            part_begin(options, out, "n", i);
        put_node(out, view, i, options->style ? opens : NULL);
        if (part)
            part_end(options, out);
    }
    graph_end(out);
}

/* ---- Attempts over time ---- */

/* A time in which nothing ran, as between an interruption and the resume, takes little
 * room: `spans` are the times in which something did. */
struct span {
    int64_t start_ns, end_ns;
    double at, width; /* in percent */
};

struct scale {
    struct span *at;
    size_t n, capacity;
};

static bool find_spans(struct scale *scale, const struct page_view *view)
{
    for (size_t i = 0; i < view->n_bars; i++) {
        const struct view_bar *bar = &view->bars[i];
        struct span *last = scale->n ? &scale->at[scale->n - 1] : NULL;
        if (last && bar->start_ns <= last->end_ns) {
            if (bar->end_ns > last->end_ns)
                last->end_ns = bar->end_ns;
            continue;
        }
        struct span *at = array_room(scale->at, scale->n, &scale->capacity, sizeof *at);
        if (!at)
            return false;
        scale->at = at;
        at[scale->n++] =
            (struct span){.start_ns = bar->start_ns, .end_ns = bar->end_ns};
    }
    return true;
}

static double work_of(const struct scale *scale)
{
    double work = 1;
    for (size_t i = 0; i < scale->n; i++)
        work += (double)(scale->at[i].end_ns - scale->at[i].start_ns);
    return work;
}

/* The pause before a span takes at most a twentieth of the room of the work. */
static bool is_cut(const struct scale *scale, size_t i, double work)
{
    return (double)(scale->at[i].start_ns - scale->at[i - 1].end_ns) > work / 20;
}

static double pause_of(const struct scale *scale, size_t i, double work)
{
    return is_cut(scale, i, work)
               ? work / 20
               : (double)(scale->at[i].start_ns - scale->at[i - 1].end_ns);
}

static void place_spans(struct scale *scale)
{
    double work = work_of(scale), all = work, at = 0;
    for (size_t i = 1; i < scale->n; i++)
        all += pause_of(scale, i, work);
    for (size_t i = 0; i < scale->n; i++) {
        struct span *span = &scale->at[i];
        at += i > 0 ? pause_of(scale, i, work) : 0;
        span->at = 100 * at / all;
        span->width = 100 * (double)(span->end_ns - span->start_ns) / all;
        at += (double)(span->end_ns - span->start_ns);
    }
}

/* `from` is a span at or before that of the time. */
static double percent(const struct scale *scale, int64_t time_ns, size_t *from)
{
    while (*from + 1 < scale->n && scale->at[*from + 1].start_ns <= time_ns)
        ++*from;
    const struct span *span = &scale->at[*from];
    double length = (double)(span->end_ns - span->start_ns);
    double part = length > 0 ? (double)(time_ns - span->start_ns) / length : 0;
    return span->at + span->width * (part < 0 ? 0 : part > 1 ? 1 : part);
}

enum { LANE = 22, AXIS = 20 };
/* Pixels that the chart has at least (page.css), and that a letter takes. */
#define CHART_PIXELS 720.0
#define LETTER_PIXELS 7.0

static void put_axis(struct buf *out, const struct scale *scale, int height)
{
    int64_t begin = scale->at[0].start_ns;
    char text[FORMAT_MAX];
    double last = -20, work = work_of(scale);
    for (size_t i = 0; i < scale->n; i++) {
        const struct span *span = &scale->at[i];
        if (i > 0 && is_cut(scale, i, work))
            buf_format(
                out,
                "<g class=\"pause\"><title>nothing ran for %s</title><line "
                "x1=\"%.2f%%\" x2=\"%.2f%%\" y2=\"%d\"/></g>",
                format_duration(text, (span->start_ns - span[-1].end_ns) / 1000000),
                span->at, span->at, height);
        for (int k = 0; k < 4; k++) {
            double at = span->at + span->width * k / 4;
            int64_t time = span->start_ns + (span->end_ns - span->start_ns) / 4 * k;
            if (at - last < 15 || at > 90)
                continue;
            last = at;
            buf_format(out,
                       "<line class=\"tick\" x1=\"%.2f%%\" x2=\"%.2f%%\" y2=\"%d\"/>"
                       "<text class=\"small\" x=\"%.2f%%\" dx=\"3\" y=\"%d\">%s</text>",
                       at, at, height, at, height - 5,
                       format_duration(text, (time - begin) / 1000000));
        }
    }
}

/* How long it waited for its start: what was before a pause does not count, but of one
 * that is tried again. Drawn is that while nothing else was in its lane. */
static int64_t put_wait(struct buf *out, const struct scale *scale,
                        const struct view_bar *bar, size_t span)
{
    int64_t begin = scale->at[span].start_ns, from;
    int64_t ready = bar->ready_ns < begin && bar->attempt < 2 ? begin : bar->ready_ns;
    if (bar->ready_ns == 0 || ready >= bar->start_ns)
        return 0;
    from = bar->free_ns > ready ? bar->free_ns : ready;
    while (span > 0 && scale->at[span].start_ns > from)
        span--;
    double at = percent(scale, from, &span), end = percent(scale, bar->start_ns, &span);
    if (end - at > 0.2)
        buf_format(out,
                   "<line class=\"wait\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%u\" "
                   "y2=\"%u\"/>",
                   at, end, bar->lane * LANE + LANE / 2, bar->lane * LANE + LANE / 2);
    return (bar->start_ns - ready) / 1000000;
}

static void put_bar(struct buf *out, const struct page_view *view,
                    const struct scale *scale, const struct view_bar *bar, size_t *from)
{
    const struct view_task *task = &view->tasks[bar->task];
    const char *name = task->info.id;
    char took[FORMAT_MAX], waited[FORMAT_MAX];
    size_t to;
    double at = percent(scale, bar->start_ns, from), end;
    int64_t wait_ms = put_wait(out, scale, bar, *from);
    to = *from;
    end = percent(scale, bar->end_ns, &to);
    buf_format(out, "<a href=\"#t%u\" class=\"attempt %s%s\"><title>", bar->task,
               picture_states[bar->state], bar->undo ? " undo" : "");
    if (bar->undo)
        buf_text(out, "undo of ");
    html_text(out, name);
    if (bar->attempt > 1)
        buf_format(out, ", attempt %u", bar->attempt);
    buf_format(out,
               ": %s, %s%s%s</title><rect x=\"%.2f%%\" y=\"%u\" width=\"%.2f%%\" "
               "height=\"%d\" rx=\"2\"/>",
               picture_states[bar->state],
               format_duration(took, (bar->end_ns - bar->start_ns) / 1000000),
               wait_ms > 0 ? " behind a wait of " : "",
               wait_ms > 0 ? format_duration(waited, wait_ms) : "", at,
               bar->lane * LANE + 2, end - at < 0.15 ? 0.15 : end - at, LANE - 4);
    if ((end - at) / 100 * CHART_PIXELS > LETTER_PIXELS * (double)(strlen(name) + 3)) {
        buf_format(out, "<text x=\"%.2f%%\" dx=\"4\" y=\"%u\">%s ", at,
                   bar->lane * LANE + 15, state_signs[bar->state]);
        html_text(out, name);
        buf_text(out, "</text>");
    }
    buf_text(out, "</a>");
}

static void put_lanes(struct buf *out, const struct page_view *view,
                      const struct scale *scale)
{
    int height = (int)view->lanes * LANE + AXIS;
    size_t from = 0;
    buf_format(out,
               "<div class=\"wide\" tabindex=\"0\" role=\"region\" "
               "aria-label=\"attempts over time\"><svg class=\"chart\" width=\"100%%\" "
               "height=\"%d\">",
               height);
    put_axis(out, scale, height);
    for (size_t i = 0; i < view->n_bars; i++)
        put_bar(out, view, scale, &view->bars[i], &from);
    buf_text(out, "</svg></div>");
}

static int by_time(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* 0: out of memory. The bars are sorted by their start. */
static size_t most_at_once(const struct page_view *view)
{
    int64_t *ends = calloc(view->n_bars, sizeof *ends);
    size_t ended = 0, most = 1;
    if (!ends)
        return 0;
    for (size_t i = 0; i < view->n_bars; i++)
        ends[i] = view->bars[i].end_ns;
    qsort(ends, view->n_bars, sizeof *ends, by_time);
    for (size_t i = 0; i < view->n_bars; i++) {
        while (ended < view->n_bars && ends[ended] <= view->bars[i].start_ns)
            ended++;
        if (i + 1 > ended + most)
            most = i + 1 - ended;
    }
    free(ends);
    return most;
}

/* How many ran at once, on the average of each column. */
static void put_load(struct buf *out, const struct page_view *view,
                     const struct scale *scale)
{
    enum { COLUMNS = 600, HEIGHT = 120 };
    double part[COLUMNS + 1] = {0}, whole[COLUMNS + 2] = {0}, running = 0;
    size_t from = 0, most = most_at_once(view);
    int at[COLUMNS];
    out->failed |= most == 0;
    for (size_t i = 0; i < view->n_bars; i++) {
        double x = percent(scale, view->bars[i].start_ns, &from) / 100 * COLUMNS, end;
        size_t to = from, first = (size_t)x, last;
        end = percent(scale, view->bars[i].end_ns, &to) / 100 * COLUMNS;
        last = (size_t)end;
        part[first] += (double)first + 1 - x;
        part[last] -= (double)last + 1 - end;
        whole[first + 1]++;
        whole[last + 1]--;
    }
    for (size_t i = 0; i < COLUMNS && most > 0; i++) {
        running += whole[i];
        at[i] = HEIGHT - (int)((running + part[i]) * (HEIGHT - 4) / (double)most + 0.5);
    }
    buf_format(
        out,
        "<p class=\"note\">%zu attempts: the chart shows how many ran at once, at "
        "most %zu.</p><svg class=\"load\" width=\"100%%\" height=\"%d\" "
        "viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
        "<path d=\"M0 %d",
        view->n_bars, most, HEIGHT, COLUMNS, HEIGHT, HEIGHT);
    for (int i = 0; i < COLUMNS && most > 0; i++)
        if (i == 0 || at[i] != at[i - 1])
            buf_format(out, "H%dV%d", i, at[i]);
    buf_format(out, "H%dV%dZ\"/></svg>", COLUMNS, HEIGHT);
}

void put_attempts(struct buf *out, const struct page_view *view,
                  struct cairn_error *error)
{
    struct scale scale = {0};
    if (view->n_bars == 0) {
        buf_text(out, "<p class=\"note\">Nothing has run yet.</p>");
        return;
    }
    if (!find_spans(&scale, view)) {
        out->failed = true;
        (void)error_nomem(error);
    } else {
        place_spans(&scale);
        if (view->lanes > 0)
            put_lanes(out, view, &scale);
        else
            put_load(out, view, &scale);
    }
    free(scale.at);
}
