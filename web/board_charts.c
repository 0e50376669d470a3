/* SPDX-License-Identifier: MIT */
/* Pictures of a board: how likely its hypotheses were over time, and what its beliefs
 * rest on. */
#include "web/charts.h"
#include "web/place.h"

#include "base/error.h"
#include "base/memory.h"
#include "cli/format.h"
#include "cli/items.h"
#include "web/html.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Confidence over time ---- */

enum {
    COURSES_SHOWN = 6,
    STEPS_SHOWN = 200, /* in the table */
    WIDTH = 760,
    LEFT = 40,
    RIGHT = 90, /* for names */
    HEIGHT = 200,
    TOP = 12,
    NAME_HEIGHT = 15,
};

struct course_step {
    size_t course;
    int64_t time_ns;
    double confidence;
    char evidence[CAIRN_ITEM_ID_MAX]; /* "": the prior */
    uint32_t column;                  /* by time: steps stand as far from each other */
};

struct courses {
    struct {
        char id[CAIRN_ITEM_ID_MAX];
        double last;
        int name_y;
    } at[COURSES_SHOWN];
    size_t n;
    struct course_step *steps; /* by course, then by time */
    size_t n_steps, capacity;
    uint32_t columns;
    bool evidence, failed;
};

static int add_course(void *context, const struct cairn_item *item)
{
    struct courses *courses = context;
    memcpy(courses->at[courses->n++].id, item->id, sizeof item->id);
    return courses->n == COURSES_SHOWN;
}

static int add_step(void *context, const struct cairn_confidence_step *step)
{
    struct courses *courses = context;
    struct course_step *at =
        array_room(courses->steps, courses->n_steps, &courses->capacity, sizeof *at);
    courses->failed |= !at;
    if (!at)
        return 1;
    courses->steps = at;
    at += courses->n_steps++;
    *at = (struct course_step){
        .course = courses->n, .time_ns = step->time_ns, .confidence = step->confidence};
    snprintf(at->evidence, sizeof at->evidence, "%s",
             step->evidence ? step->evidence : "");
    courses->evidence |= step->evidence != NULL;
    courses->at[courses->n].last = step->confidence;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct course_step *one = *(struct course_step *const *)a,
                             *two = *(struct course_step *const *)b;
    if (one->time_ns != two->time_ns)
        return one->time_ns < two->time_ns ? -1 : 1;
    return one < two ? -1 : one > two;
}

static int x_of(const struct courses *courses, uint32_t column)
{
    int room = WIDTH - LEFT - RIGHT;
    return LEFT + (int)((double)room * column / courses->columns);
}

static int y_of(double confidence)
{
    return TOP + (int)((1 - confidence) * HEIGHT + 0.5);
}

/* Names at the ends of lines that end near each other are moved apart. */
static void place_names(struct courses *courses)
{
    for (size_t i = 0; i < courses->n; i++)
        courses->at[i].name_y = y_of(courses->at[i].last) + 4;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < courses->n; i++)
            for (size_t k = 0; k < i; k++) {
                int apart = courses->at[i].name_y - courses->at[k].name_y;
                if (apart >= NAME_HEIGHT || apart <= -NAME_HEIGHT)
                    continue;
                courses->at[i].name_y = courses->at[k].name_y + NAME_HEIGHT;
                moved = true;
            }
    }
}

static void put_course_chart(struct buf *out, struct courses *courses)
{
    buf_format(out,
               "<div class=\"wide\" tabindex=\"0\" role=\"region\" "
               "aria-label=\"confidence over time\"><svg class=\"chart courses\" "
               "width=\"%d\" height=\"%d\" aria-hidden=\"true\">",
               WIDTH, TOP + HEIGHT + NAME_HEIGHT * (int)courses->n);
    for (int tenths = 0; tenths <= 10; tenths += 5)
        buf_format(out,
                   "<line class=\"tick\" x1=\"%d\" x2=\"%d\" y1=\"%d\" "
                   "y2=\"%d\"/><text class=\"small\" x=\"4\" y=\"%d\">%.1f</text>",
                   LEFT, WIDTH - RIGHT, y_of(tenths / 10.0), y_of(tenths / 10.0),
                   y_of(tenths / 10.0) + 4, tenths / 10.0);
    for (size_t i = 0, k = 0; k < courses->n; k++) {
        buf_format(out, "<path class=\"course%zu\" d=\"M%d %d", k,
                   x_of(courses, courses->steps[i].column),
                   y_of(courses->steps[i].confidence));
        for (i++; i < courses->n_steps && courses->steps[i].course == k; i++)
            buf_format(out, "H%dV%d", x_of(courses, courses->steps[i].column),
                       y_of(courses->steps[i].confidence));
        buf_format(out,
                   "H%d\"/><text class=\"name%zu\" x=\"%d\" y=\"%d\">%s %.2f</text>",
                   WIDTH - RIGHT, k, WIDTH - RIGHT + 6, courses->at[k].name_y,
                   courses->at[k].id, courses->at[k].last);
    }
    buf_text(out, "</svg></div>");
}

static void put_course_table(struct place *place, const struct courses *courses,
                             struct course_step *const *by_time)
{
    static const char *const headings[] = {"Time", "Hypothesis", "Confidence",
                                           "Because of", NULL};
    struct buf *out = place->out;
    size_t from = courses->n_steps > STEPS_SHOWN ? courses->n_steps - STEPS_SHOWN : 0;
    buf_text(out, "<details id=\"courses\"><summary>the same as a table</summary>");
    table_begin(out, "plain", "confidence by time", headings);
    for (size_t i = from; i < courses->n_steps; i++) {
        const struct course_step *step = by_time[i];
        buf_text(out, "<tr><td>");
        html_time(out, step->time_ns);
        buf_format(out, "</td><td>%s</td><td>%.2f</td><td>%s</td></tr>",
                   courses->at[step->course].id, step->confidence,
                   step->evidence[0] ? step->evidence : "prior");
    }
    table_end(out);
    buf_text(out, "</details>");
}

static int put_all_courses(struct place *place, struct courses *courses)
{
    struct course_step **order = calloc(courses->n_steps + 1, sizeof(void *));
    if (!order || courses->failed) {
        free(order);
        return error_nomem(place->error);
    }
    for (size_t i = 0; i < courses->n_steps; i++)
        order[i] = &courses->steps[i];
    qsort(order, courses->n_steps, sizeof(void *), by_time);
    for (size_t i = 0; i < courses->n_steps; i++) {
        courses->columns += i > 0 && order[i]->time_ns != order[i - 1]->time_ns;
        order[i]->column = courses->columns;
    }
    courses->columns++;
    place_names(courses);
    buf_text(place->out, "<h3>confidence over time</h3>");
    put_course_chart(place->out, courses);
    put_course_table(place, courses, order);
    free(order);
    return 0;
}

int put_courses(struct place *place, const char *session, const char *hypothesis,
                const char *checkpoint)
{
    struct courses courses = {0};
    struct cairn_item_filter filter = {.kind = "hypothesis",
                                       .checkpoint = checkpoint,
                                       .by_score = true,
                                       .page.limit = COURSES_SHOWN};
    int rc = 0;
    if (hypothesis) {
        snprintf(courses.at[0].id, sizeof courses.at[0].id, "%s", hypothesis);
        courses.n = 1;
    } else {
        rc = cairn_item_list(place->store, session, &filter, add_course, &courses, NULL,
                             place->error);
    }
    size_t n = courses.n;
    for (courses.n = 0; rc == 0 && courses.n < n; courses.n++)
        rc = cairn_hypothesis_steps(place->store, session, courses.at[courses.n].id,
                                    checkpoint, add_step, &courses, place->error);
    if (rc == 0 && courses.evidence)
        rc = put_all_courses(place, &courses);
    free(courses.steps);
    return rc;
}

/* ---- What beliefs rest on ---- */

enum { BELIEFS_SHOWN = 150 };

struct belief {
    char id[CAIRN_ITEM_ID_MAX], against[CAIRN_ITEM_ID_MAX];
    char *title; /* heap */
    double confidence;
};

struct beliefs {
    struct arena arena;
    struct map by_id;
    struct belief at[BELIEFS_SHOWN]; /* that depend on others, or others on them */
    uint32_t n;
    struct layout_edge *edges; /* heap */
    uint32_t n_edges;
    size_t capacity;
    uint64_t left_out; /* dependencies */
    bool failed;
};

static uint32_t find_belief(struct beliefs *beliefs, const char *id)
{
    uint32_t i = map_get(&beliefs->by_id, str_of(id));
    if (i != MAP_NONE || beliefs->n == BELIEFS_SHOWN)
        return i;
    const char *name = arena_text(&beliefs->arena, str_of(id));
    if (!name || map_add(&beliefs->by_id, str_of(name), beliefs->n, NULL) < 0) {
        beliefs->failed = true;
        return MAP_NONE;
    }
    snprintf(beliefs->at[beliefs->n].id, CAIRN_ITEM_ID_MAX, "%s", id);
    return beliefs->n++;
}

static int add_dependency(void *context, const struct cairn_item *item)
{
    struct beliefs *beliefs = context;
    const struct cairn_field *from = item_field(item, "from"),
                             *to = item_field(item, "to");
    struct layout_edge *edges =
        array_room(beliefs->edges, beliefs->n_edges, &beliefs->capacity, sizeof *edges);
    beliefs->failed |= !edges;
    if (!edges || !from || !to)
        return beliefs->failed;
    beliefs->edges = edges;
    /* What a belief rests on stands left of it, as what a task needs. */
    uint32_t rests = find_belief(beliefs, from->text),
             on = find_belief(beliefs, to->text);
    if (rests != MAP_NONE && on != MAP_NONE)
        edges[beliefs->n_edges++] = (struct layout_edge){.from = on, .to = rests};
    else
        beliefs->left_out++;
    return beliefs->failed;
}

static int note_belief(void *context, const struct cairn_item *item)
{
    struct beliefs *beliefs = context;
    const struct cairn_field *confidence = item_field(item, "confidence");
    uint32_t i = map_get(&beliefs->by_id, str_of(item->id));
    if (i == MAP_NONE)
        return 0;
    beliefs->at[i].confidence = confidence ? confidence->number : 0;
    beliefs->at[i].title = item_title(item);
    beliefs->failed |= !beliefs->at[i].title;
    return beliefs->failed;
}

static int note_pair(void *context, const char *a, const char *b)
{
    struct beliefs *beliefs = context;
    uint32_t i = map_get(&beliefs->by_id, str_of(a)),
             k = map_get(&beliefs->by_id, str_of(b));
    if (i != MAP_NONE)
        snprintf(beliefs->at[i].against, CAIRN_ITEM_ID_MAX, "%s", b);
    if (k != MAP_NONE)
        snprintf(beliefs->at[k].against, CAIRN_ITEM_ID_MAX, "%s", a);
    return 0;
}

static void put_belief(struct place *place, const struct belief *belief,
                       const struct layout_place *at)
{
    struct buf *out = place->out;
    const char *title = belief->title ? belief->title : belief->id;
    buf_format(out,
               "<a class=\"node belief%s\" href=\"/sessions/%" PRIu64
               "/item?id=%s\"><title>",
               belief->against[0] ? " against" : "", place->number, belief->id);
    html_text(out, title);
    buf_text(out, "</title>");
    graph_box(out, at, false, title);
    buf_format(out, "%s, %.2f", belief->id, belief->confidence);
    if (belief->against[0])
        buf_format(out, ", contradicts %s", belief->against);
    buf_text(out, "</text></a>");
}

static int put_belief_graph(struct place *place, struct beliefs *beliefs)
{
    struct layout layout;
    struct buf *out = place->out;
    int rc = layout_make(&layout, beliefs->n, beliefs->edges, beliefs->n_edges,
                         place->error);
    beliefs->edges = NULL;
    if (rc == 0) {
        buf_text(out, "<h3>what beliefs rest on</h3><p class=\"note\">from left to "
                      "right: a belief stands right of those that it depends on</p>");
        graph_begin(out, &layout, "graph of the beliefs", 100, NULL);
        for (uint32_t i = 0; i < beliefs->n; i++)
            put_belief(place, &beliefs->at[i], &layout.nodes[i]);
        graph_end(out);
        if (beliefs->left_out > 0)
            buf_format(out,
                       "<p class=\"note\">%" PRIu64
                       " more dependencies are not shown.</p>",
                       beliefs->left_out);
    }
    layout_release(&layout);
    return rc;
}

int put_beliefs(struct place *place, const char *session)
{
    struct beliefs *beliefs = calloc(1, sizeof *beliefs);
    struct cairn_item_filter filter = {.kind = "dependency", .page.all = true};
    if (!beliefs)
        return error_nomem(place->error);
    int rc = cairn_item_list(place->store, session, &filter, add_dependency, beliefs,
                             NULL, place->error);
    filter.kind = "belief";
    if (rc == 0 && beliefs->n > 0)
        rc = cairn_item_list(place->store, session, &filter, note_belief, beliefs, NULL,
                             place->error)
                 ?: cairn_belief_contradictions(place->store, session, NULL, NULL,
                                                note_pair, beliefs, NULL, place->error);
    if (rc == 0 && beliefs->failed)
        rc = error_nomem(place->error);
    if (rc == 0 && beliefs->n_edges > 0)
        rc = put_belief_graph(place, beliefs);
    for (uint32_t i = 0; i < beliefs->n; i++)
        free(beliefs->at[i].title);
    free(beliefs->edges);
    map_release(&beliefs->by_id);
    arena_release(&beliefs->arena);
    free(beliefs);
    return rc;
}
