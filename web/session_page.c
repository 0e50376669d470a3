/* SPDX-License-Identifier: MIT */
/* A session: its board, its conversation with the checkpoint at each point, one item
 * with what belongs to it, its settings, and what takes room; and all of it as one file. */
#include "web/place.h"

#include "base/error.h"
#include "base/words.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "cli/items.h"
#include "web/html.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ITEMS_SHOWN = 10, /* of each kind on the page of the session */
    ALL_ITEMS = 100,  /* of one kind on a page of its own */
    PAIRS_SHOWN = 20,
    MESSAGES_SHOWN = 30,
    MARKS_MOST = 100, /* checkpoints between them */
    COLUMNS_MOST = ITEM_COLUMNS + 1,
};

/* ---- Items ---- */

struct item_rows {
    struct place *place;
    const struct item_kind *kind;
    uint64_t session; /* whose items have pages, or 0 */
};

static void put_heap(struct buf *out, char *text)
{
    if (text)
        html_start(out, text, TEXT_SHOWN);
    out->failed |= !text;
    free(text);
}

static void put_item_link(struct buf *out, uint64_t session, const char *id)
{
    if (session != 0)
        buf_format(out, "<a href=\"/sessions/%" PRIu64 "/item?id=%s\">%s</a>", session,
                   id, id);
    else
        buf_text(out, id);
}

static void put_check_act(struct place *place, uint64_t session,
                          const struct cairn_item *item)
{
    char label[CAIRN_ITEM_ID_MAX + 8];
    if (strcmp(item->kind, "check") != 0)
        return;
    snprintf(label, sizeof label, "Run %s", item->id);
    put_act(place->out, place->options, label,
            &(struct act_asked){.act = "check", .session = session, .item = item->id});
}

/* The row of an item, whose text is not cut to one line. */
static int put_item(void *context, const struct cairn_item *item)
{
    struct item_rows *rows = context;
    struct buf *out = rows->place->out;
    buf_text(out, "<tr><th scope=\"row\">");
    put_item_link(out, rows->session, item->id);
    buf_text(out, "</th>");
    for (const struct item_column *column = rows->kind->columns; column->heading;
         column++) {
        const struct cairn_field *field = item_field(item, column->field);
        buf_text(out, "<td>");
        if (field && field->type == CAIRN_FIELD_TIME)
            html_time(out, field->time_ns);
        else
            put_heap(out, item_cell(item, column->field));
        if (column->width == 0 && item->suggestion) {
            buf_text(out, "<div class=\"note\">");
            html_text(out, item->suggestion);
            buf_text(out, item->rationale ? ": " : "");
            html_text(out, item->rationale ? item->rationale : "");
            buf_text(out, "</div>");
        }
        if (column->width == 0 && rows->session != 0)
            put_check_act(rows->place, rows->session, item);
        buf_text(out, "</td>");
    }
    buf_text(out, "</tr>");
    return 0;
}

static void headings_of(const struct item_kind *kind, char *text, size_t size,
                        const char *headings[COLUMNS_MOST + 1])
{
    size_t n = 0, used = 0;
    headings[n++] = "Id";
    for (const struct item_column *column = kind->columns; column->heading; column++) {
        headings[n++] = text + used;
        used += (size_t)snprintf(text + used, size - used, "%s", column->heading) + 1;
        for (char *at = text + used - strlen(column->heading); *at != '\0'; at++)
            *at = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
    }
    headings[n] = NULL;
}

/* The table of those that the filter selects, if there are any. */
static int put_kind(struct item_rows *rows, const char *session,
                    const struct cairn_item_filter *filter, uint64_t *total)
{
    struct place *place = rows->place;
    struct buf *out = place->out;
    const char *headings[COLUMNS_MOST + 1];
    char text[160];
    size_t before = out->size;
    headings_of(rows->kind, text, sizeof text, headings);
    table_begin(out, "plain items", rows->kind->plural, headings);
    size_t empty = out->size;
    int rc = cairn_item_list(place->store, session, filter, put_item, rows, total,
                             place->error);
    if (out->size == empty)
        out->size = before;
    else
        table_end(out);
    return rc;
}

/* A heading and the first of them, the most important ones if those are known. */
static int put_section(struct item_rows *rows, const char *session, const char *id)
{
    const struct item_kind *kind = rows->kind;
    struct buf *out = rows->place->out;
    size_t before = out->size;
    bool links = rows->session != 0 && rows->place->options->style;
    uint32_t most = rows->place->most ?: ITEMS_SHOWN;
    bool by_score = strcmp(kind->name, "hypothesis") == 0 ||
                    (strcmp(kind->name, "gap") == 0 && !id);
    struct cairn_item_filter filter = {
        .kind = kind->name, .checkpoint = id, .by_score = by_score, .page.limit = most};
    uint64_t total = 0;
    buf_format(out, "<h3>%s%s</h3>", by_score && kind->prefix[0] == 'g' ? "open " : "",
               kind->plural);
    size_t empty = out->size;
    int rc = put_kind(rows, session, &filter, &total);
    if (rc != 0 || out->size == empty) {
        out->size = before;
        return rc;
    }
    if (links)
        buf_format(out, "<p><a href=\"/sessions/%" PRIu64 "/items?kind=%s\">all %s</a>",
                   rows->session, kind->name, kind->plural);
    if (total > most)
        buf_format(out, "%s%u of %" PRIu64, links ? ": " : "<p>", most, total);
    buf_text(out, links || total > most ? "</p>" : "");
    if (rows->session != 0 && strcmp(kind->name, "check") == 0) {
        put_lasting(rows->place, rows->session, NULL);
        put_act(out, rows->place->options, "Run all checks",
                &(struct act_asked){.act = "check-all", .session = rows->session});
    }
    return 0;
}

int put_board(struct place *place, const char *session, const char *id)
{
    uint64_t number = id ? 0 : place->number;
    int rc = 0;
    for (size_t i = 0; rc == 0 && item_kind_at(i); i++) {
        rc = put_damage(place,
                        put_section(&(struct item_rows){place, item_kind_at(i), number},
                                    session, id));
        if (rc == 0 && strcmp(item_kind_at(i)->name, "hypothesis") == 0)
            rc = put_damage(place, put_courses(place, session, NULL, id));
    }
    return rc;
}

static int put_pair(void *context, const char *a, const char *b)
{
    struct place *place = context;
    buf_text(place->out, "<li>");
    put_item_link(place->out, place->number, a);
    buf_text(place->out, " contradicts ");
    put_item_link(place->out, place->number, b);
    buf_text(place->out, "</li>");
    return 0;
}

static int put_contradictions(struct place *place, const char *session,
                              const char *belief)
{
    struct buf *out = place->out;
    size_t before = out->size;
    buf_text(out, "<h3>contradictions</h3><ul>");
    size_t empty = out->size;
    int rc = cairn_belief_contradictions(place->store, session, belief, NULL, put_pair,
                                         place, NULL, place->error);
    if (out->size == empty)
        out->size = before;
    else
        buf_text(out, "</ul>");
    return rc;
}

/* ---- The conversation ---- */

/* Where checkpoints were made: behind which message. */
struct mark {
    struct cairn_checkpoint_info info;
    uint64_t last, messages;
    char message[200];
};

struct talk {
    struct place *place;
    const char *session;
    char at[CAIRN_ID_MAX]; /* the line is that of this checkpoint; "": the present */
    uint64_t skip;         /* messages at its end */
    uint32_t most;         /* are shown */
    uint64_t first, first_position, shown;
    struct mark *marks; /* [n], newest first */
    size_t n;
};

static int note_line(void *context, const struct cairn_session_checkpoint_info *info)
{
    struct mark *mark = context;
    mark->info = info->checkpoint;
    if (info->messages) {
        mark->last = info->messages->last;
        mark->messages = info->messages->messages;
    }
    return 0;
}

struct branch_search {
    uint64_t branch; /* 0: the current one */
    char head[CAIRN_ID_MAX], from[CAIRN_ID_MAX];
};

static int note_branch(void *context, const struct cairn_branch_info *info)
{
    struct branch_search *search = context;
    if (search->branch == 0 ? !info->current : info->branch != search->branch)
        return 0;
    memcpy(search->head, info->head, sizeof search->head);
    memcpy(search->from, info->from, sizeof search->from);
    return 1;
}

/* The newest checkpoint of the present line. */
static int find_head(struct talk *talk, char id[CAIRN_ID_MAX])
{
    struct branch_search search = {0};
    int rc = cairn_branch_list(talk->place->store, talk->session, note_branch, &search,
                               talk->place->error);
    snprintf(id, CAIRN_ID_MAX, "%s", search.head[0] ? search.head : search.from);
    return rc;
}

static void find_before(struct talk *talk, const struct cairn_checkpoint_info *info,
                        char id[CAIRN_ID_MAX])
{
    struct branch_search search = {.branch = info->branch};
    struct cairn_error error = {0};
    if (info->parent != 0) {
        snprintf(id, CAIRN_ID_MAX, "debug:%" PRIu64, info->parent);
        return;
    }
    (void)cairn_branch_list(talk->place->store, talk->session, note_branch, &search,
                            &error);
    memcpy(id, search.from, CAIRN_ID_MAX);
}

/* Those from the line's end back to the first message that is shown. */
static int find_marks(struct talk *talk)
{
    struct cairn_error error = {0};
    char id[CAIRN_ID_MAX] = "";
    int rc = 0;
    if (talk->at[0] != '\0')
        memcpy(id, talk->at, sizeof id);
    else
        rc = find_head(talk, id);
    talk->marks = calloc(MARKS_MOST, sizeof *talk->marks);
    if (!talk->marks)
        return error_nomem(talk->place->error);
    while (rc == 0 && id[0] != '\0' && talk->n < MARKS_MOST) {
        struct mark *mark = &talk->marks[talk->n];
        if (cairn_session_checkpoint_get(talk->place->store, id, note_line, mark,
                                         &error) != 0)
            break; /* it was pruned, or is damaged */
        talk->n++;
        if (mark->last < talk->first)
            break;
        find_before(talk, &mark->info, id);
    }
    return rc;
}

static void put_marks(struct talk *talk, uint64_t message)
{
    struct buf *out = talk->place->out;
    for (size_t i = talk->n; i-- > 0;) {
        const struct mark *mark = &talk->marks[i];
        if (mark->last != message)
            continue;
        buf_text(out, "<p class=\"mark\">");
        put_checkpoint_link(out, mark->info.id);
        buf_text(out, " ");
        html_time(out, mark->info.time_ns);
        buf_text(out, " ");
        html_start(out, mark->info.message, TEXT_SHOWN);
        buf_text(out, "</p>");
    }
}

static int note_first(void *context, const struct cairn_message *message)
{
    struct talk *talk = context;
    talk->first = message->n;
    talk->first_position = message->position;
    return 1;
}

static int put_one(void *context, const struct cairn_message *message)
{
    struct talk *talk = context;
    if (talk->shown++ == talk->most)
        return 1;
    (void)put_message(talk->place->out, message);
    put_marks(talk, message->n);
    return 0;
}

/* Counted from the end of the line of the oldest checkpoint that is known to have it.
 */
static void put_older(struct talk *talk)
{
    const struct mark *from = NULL;
    uint64_t left = talk->first_position - 1;
    for (size_t i = 0; i < talk->n; i++)
        if (talk->marks[i].messages >= left)
            from = &talk->marks[i];
    if (!talk->place->options->style) {
        buf_format(talk->place->out,
                   "<p class=\"note\">%" PRIu64 " message%s before these left out</p>",
                   left, plural(left));
        return;
    }
    buf_format(talk->place->out, "<p><a href=\"/sessions/%" PRIu64 "/messages?",
               talk->place->number);
    if (from)
        buf_format(talk->place->out, "at=%" PRIu64 "&amp;skip=%" PRIu64, from->info.seq,
                   from->messages - left);
    else
        buf_format(talk->place->out, "%s%s%sskip=%" PRIu64, talk->at[0] ? "at=" : "",
                   talk->at[0] ? strchr(talk->at, ':') + 1 : "",
                   talk->at[0] ? "&amp;" : "", talk->skip + talk->most);
    buf_format(talk->place->out, "\">older messages</a>, %" PRIu64 " before these</p>",
               left);
}

static int put_talk(struct talk *talk)
{
    struct place *place = talk->place;
    struct cairn_message_line line = {0};
    const char *at = talk->at[0] ? talk->at : NULL;
    talk->most = place->most ?: MESSAGES_SHOWN;
    int rc =
        cairn_message_list(place->store, talk->session, at, talk->skip + talk->most,
                           note_first, talk, &line, place->error);
    if (rc == 0)
        rc = find_marks(talk);
    buf_text(place->out, "<h2>Messages</h2>");
    if (rc == 0)
        buf_format(place->out,
                   "<p class=\"note\">%" PRIu64 " on this line; tokens in %" PRIu64
                   ", out %" PRIu64 "</p>",
                   line.messages, line.tokens_in, line.tokens_out);
    if (rc == 0 && talk->first_position > 1)
        put_older(talk);
    if (rc == 0 && talk->first_position <= 1)
        put_marks(talk, 0);
    if (rc == 0)
        rc =
            cairn_message_list(place->store, talk->session, at, talk->skip + talk->most,
                               put_one, talk, NULL, place->error);
    free(talk->marks);
    return rc;
}

/* ---- Pages ---- */

static void put_title(struct place *place, const struct cairn_session_info *info,
                      const char *what)
{
    struct buf *out = place->out;
    buf_text(out, "<header id=\"head\"><h1>");
    if (what)
        put_session_link(out, info->session, info->name);
    else
        html_text(out, info->name);
    buf_format(out, " <small>session %" PRIu64 "%s%s</small></h1>", info->session,
               what ? ", " : "", what ? what : "");
}

static void put_facts(struct place *place, const struct cairn_session_info *info)
{
    struct buf *out = place->out;
    char spent[FORMAT_MAX];
    put_unfinished_restores(place, info->session);
    if (place->options->style)
        buf_format(out,
                   "<p class=\"links\"><a href=\"/timeline?session=%" PRIu64
                   "\">timeline"
                   "</a> <a href=\"/sessions/%" PRIu64
                   "/grep\">search in files</a> <a href=\"/sessions/%" PRIu64
                   "/settings\">settings</a> <a href=\"/sessions/%" PRIu64
                   "/size\">what takes room</a></p>",
                   info->session, info->session, info->session, info->session);
    buf_text(out, "<dl class=\"facts\">");
    fact_begin(out, "state");
    buf_text(out, session_state_text(info));
    buf_text(out, ", on branch ");
    html_text(out, info->branch);
    fact_end(out);
    fact_begin(out, "started");
    html_time(out, info->started_ns);
    buf_format(out, ", %s", format_duration(spent, info->spent_ms));
    fact_end(out);
    fact_begin(out, "made");
    buf_format(out,
               "%" PRIu64 " checkpoint%s, branches: %" PRIu64 ", items: %" PRIu64
               ", commands: %" PRIu64,
               info->checkpoints, plural(info->checkpoints), info->branches,
               info->items, info->commands);
    fact_end(out);
    fact_begin(out, "tested");
    buf_format(out,
               "hypotheses: %" PRIu64 ", gaps filled: %" PRIu64 ", checks: %" PRIu64,
               info->hypotheses_tested, info->gaps_filled, info->verifications);
    fact_end(out);
    buf_text(out, "</dl>");
    if (info->ended_ns == 0)
        put_act(out, place->options, "Create a checkpoint",
                &(struct act_asked){.act = "create", .session = info->session});
    buf_text(out, "</header>");
}

static int put_board_part(struct place *place, const char *session)
{
    struct buf *out = place->out;
    part_begin(place->options, out, "board", NO_NUMBER);
    buf_text(out, "<section id=\"board\"><h2>Board</h2>");
    size_t before = out->size;
    int rc = put_board(place, session, NULL);
    if (rc == 0)
        rc = put_damage(place, put_contradictions(place, session, NULL));
    if (rc == 0)
        rc = put_damage(place, put_beliefs(place, session));
    if (rc == 0 && out->size == before)
        put_note(out, "There is nothing on it.");
    buf_text(out, "</section>");
    part_end(place->options, out);
    return rc;
}

static int put_talk_part(struct place *place, const char *session)
{
    struct buf *out = place->out;
    part_begin(place->options, out, "talk", NO_NUMBER);
    buf_text(out, "<section id=\"talk\">");
    int rc =
        put_damage(place, put_talk(&(struct talk){.place = place, .session = session}));
    buf_text(out, "</section>");
    part_end(place->options, out);
    return rc;
}

int session_page(struct place *place)
{
    struct cairn_session_info info;
    struct buf *out = place->out;
    char number[24];
    int rc = find_session(place, &info, number);
    if (rc != 0)
        return rc;
    place_begin(place, info.name, true);
    part_begin(place->options, out, "head", NO_NUMBER);
    put_title(place, &info, NULL);
    put_facts(place, &info);
    part_end(place->options, out);
    rc = put_board_part(place, number);
    if (rc == 0)
        rc = put_talk_part(place, number);
    frame_end(out, place->options, wall_ns());
    return rc;
}

static int begin_page(struct place *place, struct cairn_session_info *info,
                      char number[24], const char *what, bool live)
{
    int rc = find_session(place, info, number);
    if (rc != 0)
        return rc;
    place_begin(place, info->name, live);
    put_title(place, info, what);
    buf_text(place->out, "</header>");
    return 0;
}

int messages_page(struct place *place)
{
    struct cairn_session_info info;
    char number[24], id[32];
    struct cairn_checkpoint_info at = {0};
    struct talk talk = {
        .place = place, .session = number, .skip = ask_number(place->ask, "skip")};
    int rc = begin_page(place, &info, number, "messages", false);
    if (talk.skip > UINT32_MAX)
        talk.skip = UINT32_MAX;
    if (rc == 0 && ask_number(place->ask, "at") != 0) {
        snprintf(id, sizeof id, "debug:%" PRIu64, ask_number(place->ask, "at"));
        rc = cairn_checkpoint_get(place->store, id, &at, place->error);
        memcpy(talk.at, at.id, sizeof talk.at);
    }
    if (rc == 0)
        rc = put_talk(&talk);
    frame_end(place->out, place->options, wall_ns());
    return rc;
}

static int put_whole(void *context, const struct cairn_message *message)
{
    return put_message_up_to(context, message, 1 << 20);
}

int message_page(struct place *place)
{
    struct cairn_session_info info;
    char number[24];
    int rc = begin_page(place, &info, number, "message", false);
    if (rc == 0)
        rc = cairn_message_get(place->store, number, ask_number(place->ask, "n"),
                               put_whole, place->out, place->error);
    frame_end(place->out, place->options, wall_ns());
    return rc;
}

int items_page(struct place *place)
{
    struct cairn_session_info info;
    char number[24], address[80], *name = ask_text(place->ask, "kind");
    const struct item_kind *kind = item_kind_named(name ? name : "");
    struct part_shown part = {.address = address,
                              .before = "newer",
                              .behind = "older",
                              .offset = ask_number(place->ask, "offset"),
                              .most = ALL_ITEMS};
    free(name);
    if (!kind)
        return error_set(place->error, CAIRN_ENOTFOUND,
                         "there is no such kind of item");
    struct cairn_item_filter filter = {
        .kind = kind->name, .page = {.limit = ALL_ITEMS, .offset = part.offset}};
    struct item_rows rows = {place, kind, place->number};
    int rc = begin_page(place, &info, number, kind->plural, false);
    if (rc == 0)
        rc = put_kind(&rows, number, &filter, &part.total);
    snprintf(address, sizeof address,
             "/sessions/%" PRIu64 "/items?kind=%s&amp;offset=", place->number,
             kind->name);
    put_part_links(place->out, &part);
    frame_end(place->out, place->options, wall_ns());
    return rc;
}

static int put_fields(void *context, const struct cairn_item *item)
{
    struct place *place = context;
    struct buf *out = place->out;
    char *cell;
    buf_format(out, "<h2>%s %s</h2><dl class=\"facts\">", item->kind, item->id);
    if (item->has_confidence) {
        fact_begin(out, "confidence");
        buf_format(out, "%.2f, with %u supporting and %u refuting", item->confidence,
                   item->supporting, item->refuting);
        fact_end(out);
    }
    if (item->has_score) {
        fact_begin(out, "score");
        put_heap(out, item_cell(item, "score"));
        fact_end(out);
    }
    for (size_t i = 0; i < item->n_fields; i++) {
        const struct cairn_field *field = &item->fields[i];
        fact_begin(out, field->name);
        cell = field->type == CAIRN_FIELD_TIME ? NULL : field_text(field);
        if (field->type == CAIRN_FIELD_TIME)
            html_time(out, field->time_ns);
        else if (cell && strchr(cell, '\n'))
            buf_text(out, "<pre>");
        if (cell)
            html_lines(out, cell, strlen(cell));
        buf_text(out, cell && strchr(cell, '\n') ? "</pre>" : "");
        free(cell);
        fact_end(out);
    }
    buf_text(out, "</dl>");
    put_check_act(place, place->number, item);
    return 0;
}

/* What refers to it by the field `hypothesis`. */
static int put_belongings(struct place *place, const char *session, const char *id)
{
    static const char *const kinds[] = {"evidence", "gap", "check"};
    int rc = 0;
    for (size_t i = 0; i < COUNT_OF(kinds) && rc == 0; i++) {
        struct cairn_item_filter filter = {.kind = kinds[i],
                                           .field = "hypothesis",
                                           .value = id,
                                           .page.limit = ALL_ITEMS};
        struct item_rows rows = {place, item_kind_named(kinds[i]), place->number};
        uint64_t total = 0;
        rc = put_kind(&rows, session, &filter, &total);
        if (total > ALL_ITEMS)
            buf_format(place->out, "<p class=\"note\">%u of %" PRIu64 "</p>",
                       (unsigned)ALL_ITEMS, total);
    }
    return rc;
}

int one_item_page(struct place *place)
{
    struct cairn_session_info info;
    char number[24], *id = ask_text(place->ask, "id");
    int rc = begin_page(place, &info, number, "item", true);
    part_begin(place->options, place->out, "item", NO_NUMBER);
    buf_text(place->out, "<section id=\"item\">");
    if (rc == 0)
        rc = cairn_item_get(place->store, number, id ? id : "", NULL, put_fields, place,
                            place->error);
    if (rc == 0 && id[0] == 'h')
        rc = put_courses(place, number, id, NULL);
    if (rc == 0 && id[0] == 'h')
        rc = put_belongings(place, number, id);
    if (rc == 0 && id[0] == 'b')
        rc = put_contradictions(place, number, id);
    if (rc == 0 && id[0] == 'v')
        put_lasting(place, place->number, id);
    buf_text(place->out, "</section>");
    part_end(place->options, place->out);
    free(id);
    frame_end(place->out, place->options, wall_ns());
    return rc;
}

/* ---- Settings ---- */

static int put_setting(void *context, const char *name, const char *value,
                       bool is_default)
{
    struct place *place = context;
    struct buf *out = place->out;
    char label[64];
    buf_text(out, "<tr><th scope=\"row\">");
    html_text(out, name);
    buf_text(out, "</th><td>");
    html_start(out, value, TEXT_SHOWN);
    buf_format(out, "</td><td>%s</td><td>%s", is_default ? "default" : "set",
               setting_about(name));
    if (page_sets(name)) {
        snprintf(label, sizeof label, "Set %s", name);
        put_act(out, place->options, label,
                &(struct act_asked){
                    .act = "set", .session = place->number, .setting = name});
    }
    buf_text(out, "</td></tr>");
    return 0;
}

static int put_settings(struct place *place, const char *session)
{
    static const char *const headings[] = {"Setting", "Value", "Source",
                                           "What it is for", NULL};
    table_begin(place->out, "plain settings", "settings", headings);
    int rc =
        cairn_session_config(place->store, session, put_setting, place, place->error);
    table_end(place->out);
    return rc;
}

int settings_page(struct place *place)
{
    struct cairn_session_info info;
    struct buf *out = place->out;
    char number[24], *word;
    int rc = begin_page(place, &info, number, "settings", false);
    if (rc == 0) {
        word = shell_word(info.name);
        buf_text(out, "<p>");
        put_command(out, place->options, "cairn session config NAME VALUE --session %s",
                    word ? word : number);
        buf_format(out, "</p>");
        free(word);
        rc = put_settings(place, number);
    }
    frame_end(out, place->options, wall_ns());
    return rc;
}

/* ---- What takes room ---- */

enum { SIZES_SHOWN = 20 };

struct sizes {
    struct buf *out;
    uint64_t session, checkpoints, files;
};

static void put_bytes(struct buf *out, uint64_t bytes)
{
    char size[FORMAT_MAX];
    buf_format(out, "<td>%s</td>", format_bytes(size, bytes));
}

static int put_sizes(void *context, const struct cairn_session_size *size)
{
    static const char *const headings[] = {"Part", "Holds", "Stored", "Shared", NULL};
    struct sizes *sizes = context;
    struct buf *out = sizes->out;
    const struct cairn_size *part;
    const char *name;
    char bytes[FORMAT_MAX];
    table_begin(out, "sizes parts", "parts", headings);
    for (size_t i = 0; (part = size_part(size, i, &name)); i++) {
        buf_format(out, "<tr><th scope=\"row\">%s</th>", name);
        put_bytes(out, part->logical);
        put_bytes(out, part->stored);
        put_bytes(out, part->shared);
        buf_text(out, "</tr>");
    }
    table_end(out);
    buf_format(out, "<p class=\"note\">The database has %s, of which ",
               format_bytes(bytes, size->store_bytes));
    buf_format(out, "%s are free.", format_bytes(bytes, size->free_bytes));
    if (size->budget > 0)
        buf_format(out, " A warning comes at %s.", format_bytes(bytes, size->budget));
    if (size->damaged > 0)
        buf_format(out,
                   " <b>%" PRIu64 " damaged part%s cannot be read, and what they refer "
                   "to is not counted.</b>",
                   size->damaged, plural(size->damaged));
    buf_text(out, "</p>");
    return 0;
}

static int put_checkpoint_size(void *context, const struct cairn_checkpoint_size *size)
{
    static const char *const headings[] = {"Checkpoint", "Made",    "Holds", "Added",
                                           "Alone",      "Message", NULL};
    struct sizes *sizes = context;
    struct buf *out = sizes->out;
    if (sizes->checkpoints++ == 0) {
        buf_text(out,
                 "<h2>Newest checkpoints</h2><p class=\"note\">Alone: what nothing "
                 "else refers to, which is free once the checkpoint is deleted</p>");
        table_begin(out, "sizes made", "checkpoints", headings);
    }
    buf_text(out, "<tr><td>");
    put_checkpoint_link(out, size->id);
    buf_text(out, "</td><td>");
    html_time(out, size->time_ns);
    buf_text(out, "</td>");
    put_bytes(out, size->logical);
    put_bytes(out, size->added);
    put_bytes(out, size->alone);
    buf_text(out, "<td>");
    html_start(out, size->message, TEXT_SHOWN);
    buf_text(out, "</td></tr>");
    return 0;
}

static int put_file_size(void *context, const struct cairn_file_size *size)
{
    static const char *const headings[] = {"File", "Stored", "Holds", "Contents", NULL};
    struct sizes *sizes = context;
    struct buf *out = sizes->out;
    if (sizes->files++ == 0) {
        if (sizes->checkpoints > 0)
            table_end(out);
        buf_text(out, "<h2>Largest files</h2>");
        table_begin(out, "sizes largest", "files", headings);
    }
    buf_format(out,
               "<tr><th scope=\"row\"><a href=\"/sessions/%" PRIu64 "/history?path=",
               sizes->session);
    html_address(out, size->path);
    buf_text(out, "\">");
    html_text(out, size->path);
    buf_text(out, "</a></th>");
    put_bytes(out, size->stored);
    put_bytes(out, size->logical);
    buf_format(out, "<td>%" PRIu64 "</td></tr>", size->contents);
    return 0;
}

static int put_all_sizes(struct place *place, const char *session)
{
    struct sizes sizes = {.out = place->out, .session = place->number};
    const struct cairn_size_request request = {.total = put_sizes,
                                               .checkpoints = SIZES_SHOWN,
                                               .files = SIZES_SHOWN,
                                               .checkpoint = put_checkpoint_size,
                                               .file = put_file_size,
                                               .context = &sizes};
    int rc = cairn_session_size(place->store, session, &request, place->error);
    if (sizes.checkpoints + sizes.files > 0)
        table_end(place->out);
    return rc;
}

int size_page(struct place *place)
{
    struct cairn_session_info info;
    char number[24];
    int rc = begin_page(place, &info, number, "what takes room", false);
    if (rc == 0) {
        buf_text(place->out, "<p>");
        put_command(place->out, place->options, "cairn session size %s", number);
        buf_text(place->out, "</p>");
        put_act(place->out, place->options, "Delete old checkpoints",
                &(struct act_asked){.act = "prune", .session = place->number});
        rc = put_all_sizes(place, number);
    }
    frame_end(place->out, place->options, wall_ns());
    return rc;
}

/* ---- A session as one file ---- */

enum {
    LIST_MOST = 128,            /* entries of each list, or a half of it, ... */
    TIMELINE_BYTES = 400 << 10, /* so that a part takes no more than this */
    BOARD_BYTES = 500 << 10,
    TALK_BYTES = 500 << 10,
    SETTINGS_BYTES = 60 << 10,
    REPORT_BYTES = 1840 << 10, /* up to these, with the style; with the foot: 2 MB */
    CHANGES_BYTES = 256 << 10, /* of one checkpoint */
    CHECKPOINTS_MOST = 200,
};

struct report {
    struct place *place;
    char session[24];
    struct cairn_checkpoint_info *at; /* heap; [n], newest first */
    size_t n;
    size_t shown; /* have a part of their own */
};

static const char *no_query(void *request, const char *name)
{
    (void)request;
    (void)name;
    return NULL;
}

static int put_timeline_part(struct place *place, const char *session)
{
    (void)session;
    buf_text(place->out, "<section id=\"timeline\"><h2>Timeline</h2>");
    int rc = put_damage(place, put_session_timeline(place, place->number));
    buf_text(place->out, "</section>");
    return rc;
}

static int put_settings_part(struct place *place, const char *session)
{
    buf_text(place->out, "<section id=\"settings\"><h2>Settings</h2>");
    int rc = put_damage(place, put_settings(place, session));
    buf_text(place->out, "</section><section id=\"size\"><h2>What takes room</h2>");
    rc = rc ?: put_damage(place, put_all_sizes(place, session));
    buf_text(place->out, "</section>");
    return rc;
}

/* A part with as many entries as there is room for. */
static int put_fitting(struct place *place, const char *session,
                       int (*put)(struct place *place, const char *session),
                       size_t room, const char *name)
{
    size_t before = place->out->size;
    int rc = 0;
    for (place->most = LIST_MOST; place->most > 0; place->most /= 2) {
        rc = put(place, session);
        if (rc != 0 || place->out->failed || place->out->size - before <= room)
            return rc;
        place->out->size = before;
    }
    buf_format(place->out,
               "<section><h2>%s</h2><p class=\"note\">Left out, so that the file stays "
               "small.</p></section>",
               name);
    return rc;
}

static int note_checkpoint(void *context, const struct cairn_checkpoint_info *info)
{
    struct report *report = context;
    report->at[report->n++] = *info;
    return report->n == CHECKPOINTS_MOST;
}

/* What has changed since the one before it on its line. */
static int put_since(struct report *report, const struct cairn_checkpoint_info *info,
                     size_t room)
{
    struct place *place = report->place;
    struct talk talk = {.place = place, .session = report->session};
    struct cairn_checkpoint_info from;
    struct cairn_error error = {0};
    char before[CAIRN_ID_MAX] = "";
    size_t start = place->out->size;
    find_before(&talk, info, before);
    if (info->damaged || before[0] == '\0')
        return 0;
    int rc = cairn_checkpoint_get(place->store, before, &from, &error);
    if (rc != 0) {
        put_note(place->out, error.text);
        return rc == CAIRN_ENOMEM ? error_nomem(place->error) : 0;
    }
    buf_text(place->out, "<p>since ");
    put_checkpoint_link(place->out, from.id);
    buf_text(place->out, "</p>");
    rc = put_damage(place, put_differences(place, &from, info));
    if (rc == 0 &&
        place->out->size - start > (room < CHANGES_BYTES ? room : CHANGES_BYTES)) {
        place->out->size = start;
        buf_text(place->out, "<p class=\"note\">What has changed is left out, so that "
                             "the file stays small: ");
        put_command(place->out, place->options, "cairn checkpoint diff %s %s --patch",
                    from.id, info->id);
        buf_text(place->out, "</p>");
    }
    return rc;
}

static int put_checkpoint(struct report *report,
                          const struct cairn_checkpoint_info *info)
{
    struct buf *out = report->place->out;
    size_t start = out->size;
    buf_format(out, "<section id=\"c%" PRIu64 "\"><h3>", info->seq);
    html_text(out, info->id);
    buf_text(out, "</h3><p>");
    html_time(out, info->time_ns);
    buf_text(out, ", branch ");
    html_text(out, info->branch_name);
    buf_text(out, ": ");
    html_text(out, info->message);
    html_text(out, checkpoint_flaw(info));
    put_tags(out, info->tags);
    put_labels(report->place, info->id);
    buf_text(out, "</p>");
    int rc = out->size >= REPORT_BYTES
                 ? 0
                 : put_since(report, info, REPORT_BYTES - out->size);
    buf_text(out, "</section>");
    if (out->size > REPORT_BYTES)
        out->size = start;
    else
        report->shown++;
    return rc;
}

static int put_checkpoints(struct report *report)
{
    struct buf *out = report->place->out;
    const struct cairn_checkpoint_filter filter = {
        .session = report->place->number,
        .namespace_id = CAIRN_NAMESPACE_DEBUG,
        .page.limit = CHECKPOINTS_MOST,
    };
    uint64_t total = 0;
    report->at = calloc(CHECKPOINTS_MOST, sizeof *report->at);
    if (!report->at)
        return error_nomem(report->place->error);
    buf_text(out, "<section id=\"checkpoints\"><h2>Checkpoints</h2>");
    int rc =
        put_damage(report->place,
                   cairn_checkpoint_list(report->place->store, &filter, note_checkpoint,
                                         report, &total, report->place->error));
    while (rc == 0 && !out->failed && report->shown < report->n) {
        size_t before = report->shown;
        rc = put_checkpoint(report, &report->at[report->shown]);
        if (report->shown == before)
            break;
    }
    if (total > report->shown)
        buf_format(out,
                   "<p class=\"note\">The newest %zu of %" PRIu64
                   "; the others are left out, so that the file stays small.</p>",
                   report->shown, total);
    buf_text(out, "</section>");
    return rc;
}

/* Of the addresses of other pages those of checkpoints lead to their parts, if they
 * have one; the others are no links. No stored text has a quote in it (html.h). */
static void put_without_addresses(struct buf *out, const struct report *report,
                                  struct str page)
{
    static const char link[] = " href=\"/", checkpoints[] = "checkpoints/";
    const char *at = page.ptr, *end = page.ptr + page.len, *found;
    while ((found = memmem(at, (size_t)(end - at), link, sizeof link - 1))) {
        const char *address = found + sizeof link - 1;
        const char *quote = memchr(address, '"', (size_t)(end - address));
        struct str number = {address + sizeof checkpoints - 1, 0};
        uint64_t seq;
        buf_add(out, at, (size_t)(found - at));
        at = quote + 1;
        if (strncmp(address, checkpoints, sizeof checkpoints - 1) != 0)
            continue;
        number.len = (size_t)(quote - number.ptr);
        for (size_t i = 0; str_to_u64(number, &seq) && i < report->shown; i++)
            if (report->at[i].seq == seq)
                buf_format(out, " href=\"#c%" PRIu64 "\"", seq);
    }
    buf_add(out, at, (size_t)(end - at));
}

int session_report(struct buf *out, struct cairn_store *store, uint64_t session,
                   const struct page_options *options, struct cairn_error *error)
{
    const struct page_ask ask = {.query = no_query};
    struct buf page = BUF_INIT;
    struct place place = {&page, store,   options, &ask, NULL,
                          error, session, 0,       NULL, false};
    struct report report = {.place = &place};
    struct cairn_session_info info;
    int rc = find_session(&place, &info, report.session);
    if (rc == 0) {
        place_begin(&place, info.name, false);
        put_title(&place, &info, NULL);
        put_facts(&place, &info);
        rc = put_fitting(&place, report.session, put_timeline_part, TIMELINE_BYTES,
                         "Timeline");
    }
    if (rc == 0)
        rc = put_fitting(&place, report.session, put_board_part, BOARD_BYTES, "Board");
    if (rc == 0)
        rc = put_fitting(&place, report.session, put_talk_part, TALK_BYTES, "Messages");
    if (rc == 0)
        rc = put_checkpoints(&report);
    if (rc == 0)
        rc = put_fitting(&place, report.session, put_settings_part, SETTINGS_BYTES,
                         "Settings");
    if (rc == 0) {
        frame_end(&page, options, wall_ns());
        rc = buf_check(&page, error);
    }
    if (rc == 0) {
        put_without_addresses(out, &report, buf_view(&page));
        rc = buf_check(out, error);
    }
    free(report.at);
    buf_release(&page);
    return rc;
}
