/* SPDX-License-Identifier: MIT */
/* Items of a board as lines and as JSON, by their kinds, and the board at a glance. */
#include "cli/sessions/item.h"

#include "cli/format.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/suggest.h"
#include "cli/ui.h"

#include <inttypes.h>
#include <string.h>

void item_headings(const struct item_kind *kind)
{
    const struct item_column *column = kind->columns;
    out("%-5s", "ID");
    for (; column->width > 0; column++)
        out("  %-*s", column->width, column->heading);
    out("  %s\n", column->heading);
}

void item_line(const struct item_kind *kind, const struct cairn_item *item)
{
    const struct item_column *column = kind->columns;
    out("%-5s", item->id);
    for (; column->heading; column++) {
        char *text = item_cell(item, column->field);
        if (column->width == 0)
            text = title_of(text);
        out("  %-*s", column->width, text ? text : "?");
        if (!text)
            out_incomplete();
        free(text);
        if (column->width == 0)
            break;
    }
    out("\n");
}

/* A text of several lines is indented. */
static void print_value(const char *name, const char *text)
{
    char label[16];
    int shown = (int)strlen(name) - (field_is_duration(name) ? 3 : 0);
    snprintf(label, sizeof label, "%.*s", shown, name);
    for (;;) {
        int n = (int)strcspn(text, "\n");
        out("%-11s %.*s\n", label, n, text);
        text += n;
        if (*text == '\0')
            return;
        text++;
        label[0] = '\0';
    }
}

static void print_computed(const struct cairn_item *item)
{
    if (item->has_confidence)
        out("confidence  %.2f, with %u supporting and %u refuting\n", item->confidence,
            item->supporting, item->refuting);
    if (item->has_score)
        out("score       %.2f\n", item->score);
    if (item->suggestion)
        out("suggestion  %s%s%s\n", item->suggestion, item->rationale ? ": " : "",
            item->rationale ? item->rationale : "");
}

void item_page(const struct cairn_item *item)
{
    out("%s  %s\n", item->id, item->kind);
    for (size_t i = 0; i < item->n_fields; i++) {
        char *text = field_text(&item->fields[i]);
        print_value(item->fields[i].name, text ? text : "?");
        if (!text)
            out_incomplete();
        free(text);
    }
    print_computed(item);
}

/* ---- JSON ---- */

void field_document(struct doc *doc, const char *key, const struct cairn_field *field)
{
    if (!field) {
        doc_null(doc, key);
        return;
    }
    switch (field->type) {
    case CAIRN_FIELD_TEXT:
        doc_text(doc, key, field->text);
        break;
    case CAIRN_FIELD_COUNT:
        doc_count(doc, key, field->count);
        break;
    case CAIRN_FIELD_NUMBER:
        doc_exact(doc, key, field->number);
        break;
    case CAIRN_FIELD_TIME:
        doc_time(doc, key, field->time_ns);
        break;
    case CAIRN_FIELD_FLAG:
        doc_bool(doc, key, true);
        break;
    case CAIRN_FIELD_LIST:
        doc_array(doc, key);
        for (size_t i = 0; i < field->n; i++)
            doc_text(doc, NULL, field->texts[i]);
        doc_end(doc);
        break;
    }
}

static void absent_document(struct doc *doc, const char *key,
                            enum cairn_field_type type)
{
    if (type == CAIRN_FIELD_FLAG) {
        doc_bool(doc, key, false);
    } else if (type == CAIRN_FIELD_LIST) {
        doc_array(doc, key);
        doc_end(doc);
    } else {
        doc_null(doc, key);
    }
}

static void computed_document(struct doc *doc, const struct cairn_item *item)
{
    if (strcmp(item->kind, "hypothesis") == 0) {
        doc_exact(doc, "confidence", item->confidence);
        doc_count(doc, "supporting", item->supporting);
        doc_count(doc, "refuting", item->refuting);
    } else if (strcmp(item->kind, "gap") == 0) {
        if (item->has_score)
            doc_exact(doc, "score", item->score);
        else
            doc_null(doc, "score");
        doc_text(doc, "suggestion", item->suggestion);
        doc_text(doc, "rationale", item->rationale);
    }
}

void item_document(struct doc *doc, const struct cairn_item *item)
{
    const struct item_kind *kind = item_kind_named(item->kind);
    doc_text(doc, "id", item->id);
    doc_text(doc, "item", item->kind);
    for (size_t i = 0; kind && i < ITEM_FIELDS && kind->fields[i].name; i++) {
        const char *name = kind->fields[i].name;
        const struct cairn_field *field = item_field(item, name);
        if (field)
            field_document(doc, name, field);
        else
            absent_document(doc, name, kind->fields[i].type);
    }
    computed_document(doc, item);
}

enum { SHOWN = 10 };

struct part {
    struct cairn_store *store;
    const char *session, *checkpoint;
    struct doc *doc;
    const char *heading; /* before the first line */
    const char *about;   /* a belief, of which the other one is told */
    uint64_t shown;
};

static void begin_line(struct part *part)
{
    if (part->shown++ == 0 && part->heading)
        out("\n%s\n", part->heading);
}

/* `more` is the command that lists all of them, and an id or "". */
static void end_lines(const struct part *part, uint64_t total, const char *more,
                      const char *id)
{
    if (!part->doc && total > part->shown)
        out("and %" PRIu64 " more: %s%s%s\n", total - part->shown, more, id,
            session_hint());
}

/* ---- Items ---- */

static int put_item(void *context, const struct cairn_item *item)
{
    struct part *part = context;
    const struct cairn_field *status = item_field(item, "status"),
                             *strength = item_field(item, "strength"),
                             *kind = item_field(item, "kind");
    char *title;
    if (part->doc) {
        doc_object(part->doc, NULL);
        item_document(part->doc, item);
        doc_end(part->doc);
        return 0;
    }
    begin_line(part);
    title = item_title(item);
    out("%-5s  ", item->id);
    if (item->has_confidence)
        out("%.2f  %-9s  ", item->confidence, status ? status->text : "");
    else if (strength)
        out("%+.2f  %-11s  ", strength->number, kind ? kind->text : "");
    else if (item->has_score)
        out("%.2f  ", item->score);
    else if (status)
        out("%-6s  ", status->text);
    out("%s\n", title ? title : "?");
    free(title);
    return ui_output_lost();
}

static int put_id(void *context, const struct cairn_item *item)
{
    doc_text(((struct part *)context)->doc, NULL, item->id);
    return 0;
}

static int put_items(struct part *part, const struct cairn_item_filter *filter,
                     bool ids, const char *key, const char *more, const char *id)
{
    struct cairn_error error = {0};
    uint64_t total = 0;
    int rc;
    part->shown = 0;
    if (part->doc)
        doc_array(part->doc, key);
    rc = cairn_item_list(part->store, part->session, filter, ids ? put_id : put_item,
                         part, &total, &error);
    if (part->doc)
        doc_end(part->doc);
    end_lines(part, total, more, id);
    if (rc != 0)
        return report_error(&error);
    if (part->doc && !ids) {
        char name[40];
        snprintf(name, sizeof name, "%s_total", key);
        doc_count(part->doc, name, total);
    }
    return 0;
}

/* ---- Contradictions ---- */

static int put_title(void *context, const struct cairn_item *item)
{
    char *title = item_title(item);
    (void)context;
    out("%-5s  %s\n", item->id, title ? title : "?");
    free(title);
    return 0;
}

static int put_pair(void *context, const char *a, const char *b)
{
    struct part *part = context;
    struct cairn_error error = {0};
    const char *other = part->about && strcmp(part->about, a) == 0 ? b : a;
    if (part->doc && part->about) {
        doc_text(part->doc, NULL, other);
        return 0;
    }
    if (part->doc && part->shown < SHOWN) {
        part->shown++;
        doc_array(part->doc, NULL);
        doc_text(part->doc, NULL, a);
        doc_text(part->doc, NULL, b);
        doc_end(part->doc);
        return 0;
    }
    if (part->doc || part->shown == SHOWN)
        return 1;
    begin_line(part);
    if (!part->about)
        out("%s contradicts %s\n", a, b);
    else
        (void)cairn_item_get(part->store, part->session, other, part->checkpoint,
                             put_title, NULL, &error);
    return ui_output_lost();
}

static int put_contradictions(struct part *part)
{
    struct cairn_error error = {0};
    uint64_t total = 0;
    int rc;
    part->shown = 0;
    if (part->doc)
        doc_array(part->doc, part->about ? "contradicts" : "contradictions");
    rc = cairn_belief_contradictions(part->store, part->session, part->about,
                                     part->checkpoint, put_pair, part, &total, &error);
    if (part->doc)
        doc_end(part->doc);
    end_lines(part, total, "cairn belief list", "");
    if (rc != 0)
        return report_error(&error);
    if (part->doc && !part->about)
        doc_count(part->doc, "contradictions_total", total);
    return 0;
}

/* ---- The last checkpoint ---- */

static int put_checkpoint(void *context,
                          const struct cairn_session_checkpoint_info *info)
{
    struct part *part = context;
    char when[FORMAT_MAX];
    if (part->doc) {
        doc_object(part->doc, "last_checkpoint");
        doc_text(part->doc, "id", info->checkpoint.id);
        doc_time(part->doc, "time", info->checkpoint.time_ns);
        doc_text(part->doc, "message", info->message);
        doc_end(part->doc);
    } else {
        out("\nLast checkpoint\n%s  %s  %s\n", info->checkpoint.id,
            format_local(when, info->checkpoint.time_ns), info->checkpoint.message);
    }
    return 0;
}

static int put_last(struct part *part)
{
    struct cairn_error error = {0};
    char id[CAIRN_ID_MAX] = "";
    int rc = session_newest(part->store, part->session, id, &error);
    if (rc == 0 && id[0] != '\0')
        rc =
            cairn_session_checkpoint_get(part->store, id, put_checkpoint, part, &error);
    else if (rc == 0 && part->doc)
        doc_null(part->doc, "last_checkpoint");
    return report_code(rc, &error);
}

/* ---- Pages ---- */

int board_page(struct cairn_store *store, const char *session, struct doc *doc)
{
    struct part part = {.store = store, .session = session, .doc = doc};
    struct cairn_item_filter hypotheses = {
        .kind = "hypothesis", .by_score = true, .page = {.limit = SHOWN}};
    struct cairn_item_filter gaps = {
        .kind = "gap", .by_score = true, .page = {.limit = SHOWN}};
    int status;
    part.heading = "Hypotheses, the most likely first";
    status =
        put_items(&part, &hypotheses, false, "hypotheses", "cairn hypothesis list", "");
    part.heading = "Open gaps, the most important first";
    if (status == 0)
        status = put_items(&part, &gaps, false, "gaps", "cairn gap list", "");
    part.heading = "Contradictions: at most one of each two beliefs is true";
    if (status == 0)
        status = put_contradictions(&part);
    return status == 0 ? put_last(&part) : status;
}

struct course {
    struct part *part;
    struct cairn_confidence_step prior; /* printed before the first evidence */
    uint64_t n;
};

static void print_step(const struct cairn_confidence_step *step)
{
    char when[FORMAT_MAX];
    out("%s  %.2f", format_local(when, step->time_ns), step->confidence);
    if (step->evidence)
        out("  %s (%+.2f)\n", step->evidence, step->strength);
    else
        out("  prior\n");
}

static int put_confidence(void *context, const struct cairn_confidence_step *step)
{
    struct course *course = context;
    struct doc *doc = course->part->doc;
    if (doc) {
        doc_object(doc, NULL);
        doc_time(doc, "time", step->time_ns);
        doc_text(doc, "evidence", step->evidence);
        doc_exact(doc, "confidence", step->confidence);
        doc_end(doc);
        return 0;
    }
    if (!step->evidence)
        course->prior = *step;
    else if (course->n++ < SHOWN) {
        if (course->part->shown == 0) {
            out("\n%s\n", course->part->heading);
            print_step(&course->prior);
        }
        course->part->shown++;
        print_step(step);
    }
    return ui_output_lost();
}

/* How its confidence came about; of one without evidence there is nothing to say. */
static int put_course(struct part *part, const char *id)
{
    struct course course = {.part = part};
    struct cairn_error error = {0};
    part->shown = 0;
    part->heading = "Confidence over time";
    if (part->doc)
        doc_array(part->doc, "over_time");
    int rc = cairn_hypothesis_steps(part->store, part->session, id, part->checkpoint,
                                    put_confidence, &course, &error);
    if (part->doc)
        doc_end(part->doc);
    end_lines(part, course.n, "--json has all", "");
    return rc != 0 ? report_error(&error) : 0;
}

static int put_belongings(struct part *part, const char *kind, const char *id)
{
    struct cairn_item_filter filter = {.kind = kind,
                                       .field = "hypothesis",
                                       .value = id,
                                       .checkpoint = part->checkpoint,
                                       .page = {.limit = SHOWN, .oldest_first = true}};
    bool gaps = strcmp(kind, "gap") == 0;
    filter.page.all = part->doc != NULL;
    part->heading = gaps ? "Gaps" : "Evidence";
    return put_items(part, &filter, part->doc != NULL, gaps ? "gaps" : "evidence",
                     gaps ? "cairn gap list --all"
                          : "cairn evidence list --hypothesis ",
                     gaps ? "" : id);
}

int item_belongings(struct cairn_store *store, const char *session, const char *kind,
                    const char *id, const char *checkpoint, struct doc *doc)
{
    struct part part = {
        .store = store, .session = session, .checkpoint = checkpoint, .doc = doc};
    if (strcmp(kind, "belief") == 0) {
        part.about = id;
        part.heading = "Contradicts";
        return put_contradictions(&part);
    }
    if (strcmp(kind, "hypothesis") != 0)
        return 0;
    return put_belongings(&part, "evidence", id)
               ?: put_course(&part, id)
               ?: put_belongings(&part, "gap", id);
}
