/* SPDX-License-Identifier: MIT */
/* Search over everything in the store: each hit leads to its place. */
#include "web/place.h"

#include "base/error.h"
#include "base/memory.h"
#include "cli/format.h"
#include "cli/items.h"
#include "web/html.h"
#include "web/logs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    HITS_SHOWN = 20,
    INDEX_MS = 5000, /* to bring the index up to date; nobody else is served then */
};

struct found {
    enum cairn_search_section section;
    double score;
    const char *kind, *id, *session, *task, *title, *snippet; /* of the arena */
    uint64_t run, checkpoint;
    int64_t time_ns;
};

/* Hits are shown when the search has ended, since only then the store can be asked. */
struct searching {
    struct arena arena;
    struct found hits[HITS_SHOWN];
    size_t n;
    int64_t end_ms;
    bool failed; /* out of memory */
};

static const char *kept(struct searching *s, const char *text)
{
    const char *copy = text ? arena_text(&s->arena, str_of(text)) : NULL;
    s->failed |= text && !copy;
    return copy;
}

static int keep_hit(void *context, const struct cairn_search_hit *hit)
{
    struct searching *s = context;
    if (s->n == HITS_SHOWN)
        return 1;
    s->hits[s->n++] = (struct found){.section = hit->section,
                                     .score = hit->score,
                                     .kind = kept(s, hit->kind),
                                     .id = kept(s, hit->id),
                                     .session = kept(s, hit->session),
                                     .task = kept(s, hit->task),
                                     .title = kept(s, hit->title),
                                     .snippet = kept(s, hit->snippet),
                                     .run = hit->run,
                                     .checkpoint = hit->checkpoint,
                                     .time_ns = hit->time_ns};
    return s->failed;
}

static int watch_time(void *context, const struct cairn_search_progress *progress)
{
    const struct searching *s = context;
    (void)progress;
    return now_ms() > s->end_ms;
}

/* ---- A hit ---- */

/* Opens a link to its place. False: it has none. */
static bool open_place(struct place *place, const struct found *hit)
{
    struct buf *out = place->out;
    struct cairn_session_info session = {0};
    struct cairn_error none = {0};
    if (hit->section == CAIRN_SEARCH_RUNS || hit->section == CAIRN_SEARCH_LOGS) {
        bool task = hit->task != NULL;
        buf_format(out, "<a href=\"/runs/%" PRIu64 "%s", hit->run,
                   task ? "/log?task=" : "");
        html_address(out, task ? hit->task : "");
    } else if (hit->section == CAIRN_SEARCH_FILES) {
        buf_format(out,
                   "<a href=\"/checkpoints/%" PRIu64 "/file?path=", hit->checkpoint);
        html_address(out, hit->id);
    } else if (hit->section == CAIRN_SEARCH_SESSIONS && hit->checkpoint != 0) {
        buf_format(out, "<a href=\"/checkpoints/%" PRIu64, hit->checkpoint);
    } else if (!hit->session ||
               cairn_session_get(place->store, hit->session, &session, &none) != 0) {
        return false;
    } else if (hit->section == CAIRN_SEARCH_MESSAGES) {
        buf_format(out, "<a href=\"/sessions/%" PRIu64 "/message?n=", session.session);
        html_address(out, hit->id);
    } else if (hit->section == CAIRN_SEARCH_BOARD) {
        buf_format(out, "<a href=\"/sessions/%" PRIu64 "/item?id=", session.session);
        html_address(out, hit->id);
    } else {
        buf_format(out, "<a href=\"/sessions/%" PRIu64, session.session);
    }
    buf_text(out, "\">");
    return true;
}

static void put_hit(struct place *place, const struct found *hit)
{
    struct buf *out = place->out;
    buf_text(out, "<li>");
    bool link = open_place(place, hit);
    html_text(out, hit->kind);
    buf_text(out, " ");
    html_start(out, hit->id, TEXT_SHOWN);
    buf_text(out, link ? "</a> <small>" : " <small>");
    if (hit->run != 0)
        buf_format(out, "run %" PRIu64 ", ", hit->run);
    if (hit->checkpoint != 0 && hit->section == CAIRN_SEARCH_FILES)
        buf_format(out, "debug:%" PRIu64 ", ", hit->checkpoint);
    if (hit->session && strcmp(hit->kind, "session") != 0) {
        buf_text(out, "session ");
        html_start(out, hit->session, TEXT_SHOWN);
        buf_text(out, ", ");
    }
    html_time(out, hit->time_ns);
    buf_format(out, ", %.3f</small><br>", hit->score);
    html_text(out, hit->snippet[0] != '\0' ? hit->snippet : hit->title);
    buf_text(out, "</li>");
}

/* ---- The page ---- */

struct asked {
    char *text, *tag, *since, *until; /* heap, or NULL */
    enum cairn_search_section section;
};

static void ask(struct place *place, struct asked *asked)
{
    char *section = ask_text(place->ask, "in");
    const char *name;
    *asked = (struct asked){.text = ask_text(place->ask, "q"),
                            .tag = ask_text(place->ask, "tag"),
                            .since = ask_text(place->ask, "since"),
                            .until = ask_text(place->ask, "until")};
    for (int i = 0; (name = cairn_search_section_name((enum cairn_search_section)i));
         i++)
        if (section && strcmp(section, name) == 0)
            asked->section = (enum cairn_search_section)i;
    free(section);
}

static void asked_release(struct asked *asked)
{
    free(asked->text);
    free(asked->tag);
    free(asked->since);
    free(asked->until);
}

static void put_input(struct buf *out, const char *label, const char *name,
                      const char *type, const char *value)
{
    buf_format(out, "<label>%s <input type=\"%s\" name=\"%s\" value=\"", label, type,
               name);
    html_text(out, value ? value : "");
    buf_text(out, "\"></label> ");
}

static void put_form(struct buf *out, const struct asked *asked)
{
    const char *name;
    buf_text(out, "<form action=\"/search\">");
    put_input(out, "Search", "q", "search", asked->text);
    buf_text(out, "<label>in <select name=\"in\">");
    for (int i = 0; (name = cairn_search_section_name((enum cairn_search_section)i));
         i++)
        buf_format(out, "<option%s>%s</option>",
                   i == (int)asked->section ? " selected" : "", name);
    buf_text(out, "</select></label> ");
    put_input(out, "with the tag", "tag", "text", asked->tag);
    put_input(out, "since", "since", "text", asked->since);
    put_input(out, "until", "until", "text", asked->until);
    buf_text(out, "<button>Search</button></form>");
}

static bool is_given(const char *text)
{
    return text && text[0] != '\0';
}

/* The index is a file beside the store, which only a handle that could write brings up
 * to date; without one it is made in memory. */
static int search(struct place *place, const struct asked *asked, struct searching *s,
                  struct cairn_search_result *result)
{
    const struct cairn_store_options options = {.path = cairn_store_path(place->store)};
    const char *const tags[] = {asked->tag};
    struct cairn_error none = {0};
    struct cairn_store *writer = NULL;
    struct cairn_search wanted = {.text = asked->text,
                                  .section = asked->section,
                                  .tags = tags,
                                  .n_tags = is_given(asked->tag),
                                  .since = is_given(asked->since) ? asked->since : NULL,
                                  .until = is_given(asked->until) ? asked->until : NULL,
                                  .project = place->options->project,
                                  .k = HITS_SHOWN};
    (void)cairn_store_open(&writer, &options, &none);
    s->end_ms = now_ms() + INDEX_MS;
    int rc = cairn_search(writer ? writer : place->store, &wanted, watch_time, keep_hit,
                          s, result, place->error);
    cairn_store_close(writer);
    return s->failed ? error_nomem(place->error) : rc;
}

static int put_hits(struct place *place, const struct asked *asked)
{
    struct searching *s = calloc(1, sizeof *s);
    struct cairn_search_result result = {0};
    struct buf *out = place->out;
    if (!s)
        return error_nomem(place->error);
    int rc = search(place, asked, s, &result);
    if (rc == CAIRN_EUSAGE)
        put_note(out, place->error->text);
    if (rc == 0) {
        buf_text(out, "<ol class=\"hits\">");
        for (size_t i = 0; i < s->n; i++)
            put_hit(place, &s->hits[i]);
        buf_text(out, "</ol>");
        if (s->n == 0)
            put_note(out, "Nothing was found.");
        if (!result.up_to_date)
            put_note(out, "The index does not have everything yet: `cairn search` in a "
                          "terminal completes it.");
    }
    arena_release(&s->arena);
    free(s);
    return rc == CAIRN_EUSAGE ? 0 : rc;
}

int search_page(struct place *place)
{
    struct asked asked;
    int rc = 0;
    ask(place, &asked);
    place_begin(place, "search", false);
    buf_text(place->out, "<header><h1>Search</h1></header>");
    put_form(place->out, &asked);
    if (is_given(asked.text))
        rc = put_hits(place, &asked);
    frame_end(place->out, place->options, wall_ns());
    asked_release(&asked);
    return rc;
}
