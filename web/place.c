/* SPDX-License-Identifier: MIT */
#include "web/place.h"

#include "base/words.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "web/html.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Queries ---- */

char *ask_text(const struct page_ask *ask, const char *name)
{
    const char *at = ask->query(ask->request, name);
    char *text = at ? malloc(strlen(at) + 1) : NULL, *to = text;
    while (text && *at) {
        int high = *at == '%' ? hex_digit(at[1]) : 0;
        int low = *at == '%' && high >= 0 ? hex_digit(at[2]) : 0;
        if (high < 0 || low < 0 || (*at == '%' && high == 0 && low == 0)) {
            free(text);
            return NULL;
        }
        *to++ = *at == '%' ? (char)(high * 16 + low) : *at == '+' ? ' ' : *at;
        at += *at == '%' ? 3 : 1;
    }
    if (text)
        *to = '\0';
    return text;
}

uint64_t ask_number(const struct page_ask *ask, const char *name)
{
    uint64_t number;
    return str_to_u64(str_of(ask->query(ask->request, name)), &number) ? number : 0;
}

bool ask_given(const struct page_ask *ask, const char *name)
{
    return ask->query(ask->request, name) != NULL;
}

/* ---- What several pages show ---- */

int find_session(struct place *place, struct cairn_session_info *info, char number[24])
{
    *info = (struct cairn_session_info){0};
    int rc = cairn_session_get(place->store, u64_text(place->number, number), info,
                               place->error);
    place->damaged = rc == CAIRN_EDAMAGED && info->session != 0;
    return place->damaged ? 0 : rc;
}

void place_begin(struct place *place, const char *title, bool live)
{
    frame_begin(place->out, place->options);
    html_text(place->out, title);
    frame_body(place->out, place->options, live);
    if (place->damaged)
        (void)put_damage(place, CAIRN_EDAMAGED);
}

void table_begin(struct buf *out, const char *kind, const char *label,
                 const char *const *headings)
{
    buf_format(out,
               "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">"
               "<table class=\"%s\"><thead><tr>",
               label, kind);
    for (; *headings; headings++)
        buf_format(out, "<th>%s</th>", *headings);
    buf_text(out, "</tr></thead><tbody>");
}

void table_end(struct buf *out)
{
    buf_text(out, "</tbody></table></div>");
}

int put_damage(struct place *place, int rc)
{
    if (rc != CAIRN_EDAMAGED)
        return rc;
    buf_text(place->out, "<p class=\"damage\"><b>Damaged:</b> ");
    html_text(place->out, place->error->text);
    buf_text(place->out, " ");
    put_command(place->out, place->options, "cairn checkpoint verify");
    buf_text(place->out, "</p>");
    return 0;
}

void put_part_links(struct buf *out, const struct part_shown *part)
{
    uint64_t before = part->offset > part->most ? part->offset - part->most : 0;
    uint64_t left = part->total > part->offset ? part->total - part->offset : 0;
    uint64_t shown = part->shown ?: left < part->most ? left : part->most;
    bool more = shown < left;
    if (part->offset == 0 && !more)
        return;
    buf_text(out, "<p class=\"parts\">");
    if (part->offset > 0)
        buf_format(out, "<a href=\"%s%" PRIu64 "\">%s</a> ", part->address, before,
                   part->before);
    if (shown > 0)
        buf_format(out, "%" PRIu64 " to %" PRIu64 " of %" PRIu64 " ", part->offset + 1,
                   part->offset + shown, part->total);
    if (more && part->address)
        buf_format(out, "<a href=\"%s%" PRIu64 "\">%s</a>", part->address,
                   part->offset + shown, part->behind);
    buf_text(out, "</p>");
}

void put_checkpoint_link(struct buf *out, const char *id)
{
    const char *number = strchr(id, ':');
    if (number)
        buf_format(out, "<a href=\"/checkpoints/%.*s\">",
                   (int)strspn(number + 1, "0123456789"), number + 1);
    html_text(out, id);
    buf_text(out, number ? "</a>" : "");
}

void put_session_link(struct buf *out, uint64_t session, const char *name)
{
    buf_format(out, "<a href=\"/sessions/%" PRIu64 "\">", session);
    html_start(out, name, TEXT_SHOWN);
    buf_text(out, "</a>");
}

static void put_tag(struct buf *out, const char *kind, const char *text, size_t n)
{
    buf_format(out, " <span class=\"%s\">", kind);
    html_lines(out, text, n);
    buf_text(out, "</span>");
}

void put_tags(struct buf *out, const char *tags)
{
    size_t n;
    for (; *tags != '\0'; tags += n + (tags[n] == ',')) {
        n = strcspn(tags, ",");
        if (n > 0)
            put_tag(out, "tag", tags, n);
    }
}

static int put_label(void *context, const struct cairn_annotation *annotation)
{
    if (annotation->label)
        put_tag(context, "tag label", annotation->text, strlen(annotation->text));
    return 0;
}

void put_labels(struct place *place, const char *id)
{
    struct cairn_error error = {0};
    (void)cairn_checkpoint_annotations(place->store, id, put_label, place->out, &error);
}

static int put_unfinished_restore(void *context,
                                  const struct cairn_unfinished_restore *restore)
{
    struct place *place = context;
    char text[RESTORE_WORDS], remedy[RESTORE_WORDS];
    unfinished_restore_words(restore, text, remedy);
    buf_text(place->out, "<p class=\"warning\">");
    html_text(place->out, text);
    buf_text(place->out, ". ");
    put_command(place->out, place->options, "%s", remedy);
    buf_text(place->out, restore->lost ? " does that.</p>" : " finishes it.</p>");
    return 0;
}

bool put_unfinished_restores(struct place *place, uint64_t session)
{
    struct cairn_error none = {0};
    size_t before = place->out->size;
    char number[24];
    (void)cairn_restore_unfinished(place->store, u64_text(session, number),
                                   session == 0, put_unfinished_restore, place, &none);
    return place->out->size > before;
}

enum { MESSAGE_SHOWN = 8 << 10 };

int put_message(void *out, const struct cairn_message *message)
{
    return put_message_up_to(out, message, MESSAGE_SHOWN);
}

int put_message_up_to(struct buf *out, const struct cairn_message *message, size_t most)
{
    size_t n = text_fit(message->text, most);
    buf_format(out,
               "<div class=\"message %s\" id=\"m%" PRIu64
               "\"><p><b>%s</b> <small>%" PRIu64 ", ",
               message->role, message->n, message->role, message->n);
    html_time(out, message->time_ns);
    if (message->model) {
        buf_text(out, ", ");
        html_start(out, message->model, TEXT_SHOWN);
    }
    if (message->tokens_in + message->tokens_out > 0)
        buf_format(out, ", tokens in %" PRIu64 ", out %" PRIu64, message->tokens_in,
                   message->tokens_out);
    if (strcmp(message->form, "text") != 0 && strcmp(message->form, "json") != 0)
        buf_format(out, ", %s", message->form);
    buf_text(out, "</small></p><pre>");
    html_lines(out, message->text, n);
    buf_text(out, "</pre>");
    if (message->text[n] != '\0')
        buf_format(out,
                   "<p class=\"note\">More: <code>cairn session message show %" PRIu64
                   "</code></p>",
                   message->n);
    buf_text(out, "</div>");
    return 0;
}

/* ---- Forms of what changes something ---- */

void put_lasting(struct place *place, uint64_t session, const char *item)
{
    const struct lastings *lastings = place->options->lastings;
    struct buf *out = place->out;
    for (size_t i = 0; lastings && i < LASTING; i++) {
        const struct lasting *at = &lastings->at[i];
        if (at->session != session ||
            (item && at->item[0] && strcmp(item, at->item) != 0))
            continue;
        if (place->options->parts)
            place->options->parts->moves |= !at->ended;
        buf_format(out, "<p class=\"warning\">%s: %s ",
                   at->ended ? "This was not done to its end" : "This runs",
                   at->item[0] ? "check" : "all checks");
        html_text(out, at->item);
        buf_text(out, ", begun ");
        html_time(out, at->since_ns);
        buf_text(out, "</p>");
        if (at->ended) {
            buf_text(out, "<pre>");
            html_lines(out, at->problem, strlen(at->problem));
            buf_text(out, "</pre>");
        }
    }
}

void put_hidden(struct buf *out, const char *name, const char *value)
{
    if (!value)
        return;
    buf_format(out, "<input type=\"hidden\" name=\"%s\" value=\"", name);
    html_text(out, value);
    buf_text(out, "\">");
}

void act_form_begin(struct buf *out, const struct page_options *options,
                    const struct act_asked *asked)
{
    const struct {
        const char *name;
        uint64_t number;
    } numbers[] = {{"run", asked->run},
                   {"session", asked->session},
                   {"checkpoint", asked->checkpoint}};
    char text[24];
    buf_text(out, "<form class=\"act\" method=\"post\" action=\"/act\">");
    put_hidden(out, "key", options->key);
    put_hidden(out, "act", asked->act);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (numbers[i].number != 0)
            put_hidden(out, numbers[i].name, u64_text(numbers[i].number, text));
    put_hidden(out, "task", asked->task);
    put_hidden(out, "outcome", asked->outcome);
    put_hidden(out, "label", asked->label);
    put_hidden(out, "setting", asked->setting);
    put_hidden(out, "item", asked->item);
}

bool page_sets(const char *setting)
{
    static const char *const others[] = {"files", "redact", "environment"};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (strcmp(setting, others[i]) == 0)
            return false;
    return strncmp(setting, "hook.", strlen("hook.")) != 0;
}

void put_act(struct buf *out, const struct page_options *options, const char *label,
             const struct act_asked *asked)
{
    if (!options->key || !options->style)
        return;
    act_form_begin(out, options, asked);
    buf_format(out, "<button>%s...</button></form>", label);
}

void fact_begin(struct buf *out, const char *name)
{
    buf_format(out, "<dt>%s</dt><dd>", name);
}

void fact_end(struct buf *out)
{
    buf_text(out, "</dd>");
}
