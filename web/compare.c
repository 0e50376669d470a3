/* SPDX-License-Identifier: MIT */
/* What differs between two checkpoints: of sessions the board field by field, messages,
 * and files as patches (one below the other, or side by side) and pictures; of runs the outcomes of their tasks. */
#include "web/place.h"

#include "base/error.h"
#include "base/memory.h"
#include "cli/describe.h"
#include "cli/format.h"
#include "cli/items.h"
#include "web/html.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CHANGES_SHOWN = 500,
    MESSAGES_SHOWN = 20,
    FILES_SHOWN = 1000,
    PATCHES_BYTES = 512 << 10,
    FILE_PATCHES_BYTES = 64 << 10, /* of each comparison in a file */
    PATCH_BYTES = 128 << 10,
    PICTURES_SHOWN = 20,
    TASKS_SHOWN = 1000,
};

struct comparison {
    struct place *place;
    struct cairn_checkpoint_info from, to;
    uint64_t n;
    size_t bytes, most; /* of patches */
    bool sides;         /* they are shown beside each other */
    /* Contents that are no text, to be looked at when the list of files is done: where
     * in it a picture would stand. */
    struct binary {
        size_t at;
        char *before, *after; /* paths, or NULL: it was added, or removed; heap */
    } binaries[PICTURES_SHOWN];
    size_t n_binaries;
};

static const char *sign_of(const void *before, const void *after)
{
    return !before ? "+ added" : !after ? "- removed" : "~ changed";
}

/* ---- The board ---- */

static void put_heap(struct buf *out, char *text)
{
    if (text)
        html_lines(out, text,
                   strlen(text) < 4000 ? strlen(text) : text_fit(text, 4000));
    out->failed |= !text;
    free(text);
}

static void put_field(struct buf *out, const char *kind, const char *words,
                      const struct cairn_field *field)
{
    buf_format(out, "<div class=\"%s\"><b>%s</b> ", kind, words);
    if (field)
        put_heap(out, field_text(field));
    buf_text(out, "</div>");
}

struct board_rows {
    struct buf *out;
    uint64_t n;
};

static int put_change(void *context, const struct cairn_board_change *change)
{
    struct board_rows *rows = context;
    struct buf *out = rows->out;
    static const char *const headings[] = {"Change", "Item", "Kind", "What", NULL};
    if (rows->n == 0)
        table_begin(out, "plain", "changes of the board", headings);
    if (rows->n++ >= CHANGES_SHOWN)
        return 0;
    buf_format(out, "<tr><td>%s</td><th scope=\"row\">",
               sign_of(change->before, change->after));
    html_text(out, change->id);
    buf_text(out, "</th><td>");
    html_text(out, change->kind);
    buf_text(out, "</td><td>");
    put_heap(out, item_title(change->after ? change->after : change->before));
    for (size_t i = 0; i < change->n; i++) {
        const struct cairn_field *before = change->fields_before[i],
                                 *after = change->fields_after[i];
        buf_text(out, "<div class=\"field\">");
        html_text(out, before ? before->name : after->name);
        put_field(out, "old", "-", before);
        put_field(out, "new", "+", after);
        buf_text(out, "</div>");
    }
    buf_text(out, "</td></tr>");
    return 0;
}

int put_board_changes(struct place *place, const char *session, const char *from,
                      const char *to, struct cairn_board_summary *summary)
{
    struct board_rows rows = {.out = place->out};
    int rc = cairn_session_diff(place->store, session, from, to, put_change, &rows,
                                summary, place->error);
    if (rows.n > 0)
        table_end(place->out);
    if (rows.n > CHANGES_SHOWN)
        buf_format(place->out, "<p class=\"note\">and %" PRIu64 " more</p>",
                   rows.n - CHANGES_SHOWN);
    return rc;
}

static void begin_part(struct comparison *c, const char *heading)
{
    if (c->place->options->style)
        buf_format(c->place->out, "<section><h2>%s</h2>", heading);
}

static void end_part(struct comparison *c)
{
    buf_text(c->place->out, c->place->options->style ? "</section>" : "");
}

static int put_changes(struct comparison *c, struct cairn_board_summary *summary)
{
    struct buf *out = c->place->out, rows = BUF_INIT;
    c->place->out = &rows;
    int rc = put_board_changes(c->place, NULL, c->from.id, c->to.id, summary);
    c->place->out = out;
    begin_part(c, "Board");
    buf_text(out, "<p>");
    html_text(out, rc == 0 ? summary->text : "");
    buf_text(out, "</p>");
    buf_str(out, buf_view(&rows));
    end_part(c);
    out->failed |= rows.failed;
    buf_release(&rows);
    return rc;
}

/* ---- Messages ---- */

static int put_messages(struct comparison *c, const struct cairn_checkpoint_info *at,
                        uint64_t n, const char *words)
{
    char session[24];
    uint64_t most = n < MESSAGES_SHOWN ? n : MESSAGES_SHOWN;
    if (n == 0)
        return 0;
    snprintf(session, sizeof session, "%" PRIu64, at->session);
    buf_format(c->place->out, "<section><h2>%s</h2>", words);
    if (n > most)
        buf_format(c->place->out,
                   "<p class=\"note\">the last %" PRIu64 " of %" PRIu64 "</p>", most,
                   n);
    int rc = cairn_message_list(c->place->store, session, at->id, most, put_message,
                                c->place->out, NULL, c->place->error);
    buf_text(c->place->out, "</section>");
    return rc;
}

/* ---- Files ---- */

/* A patch line by line, whose first byte says what it is. */
static void put_patch(struct buf *out, const char *patch, size_t n)
{
    bool in_hunk = false;
    buf_text(out, "<pre class=\"diff\">");
    for (size_t at = 0, length; at < n; at += length + 1) {
        const char *line = patch + at, *end = memchr(line, '\n', n - at);
        length = end ? (size_t)(end - line) : n - at;
        in_hunk |= length > 1 && memcmp(line, "@@", 2) == 0;
        const char *kind = !in_hunk         ? "about"
                           : line[0] == '+' ? "new"
                           : line[0] == '-' ? "old"
                           : line[0] == '@' ? "about"
                                            : NULL;
        if (kind)
            buf_format(out, "<span class=\"%s\">", kind);
        html_lines(out, line, length);
        buf_text(out, kind ? "</span>\n" : "\n");
    }
    buf_text(out, "</pre>");
}

/* One side of what stands in both columns. */
struct side {
    const char *at, *end;
    uint64_t line; /* of the next one */
};

/* The next line of a side, without its sign. False: there is none. A line that begins
 * with a backslash says that the one before it ends without a line break. */
static bool take_line(struct side *side, struct str *line, bool *bare)
{
    if (side->at == side->end)
        return false;
    const char *end = memchr(side->at, '\n', (size_t)(side->end - side->at));
    end = end ? end : side->end;
    *line = (struct str){side->at + 1, (size_t)(end - side->at) - 1};
    side->at = end + (end < side->end);
    *bare = side->at < side->end && side->at[0] == '\\';
    if (*bare) {
        end = memchr(side->at, '\n', (size_t)(side->end - side->at));
        side->at = end ? end + 1 : side->end;
    }
    side->line++;
    return true;
}

static void put_cell(struct buf *out, struct side *side, const char *kind,
                     const char *sign)
{
    struct str line = {0};
    bool bare = false;
    if (!take_line(side, &line, &bare)) {
        buf_text(out, "<td class=\"none\"></td>");
        return;
    }
    buf_format(out, "<td class=\"%s\"><i>%" PRIu64 " %s</i> ", kind, side->line - 1,
               sign);
    html_lines(out, line.ptr, line.len);
    buf_text(out, bare ? " <small>(no line break)</small></td>" : "</td>");
}

/* Lines that were taken away beside those that came instead. */
static void put_block(struct buf *out, struct side *old, struct side *new)
{
    while (old->at < old->end || new->at < new->end) {
        buf_text(out, "<tr>");
        put_cell(out, old, "old", "-");
        put_cell(out, new, "new", "+");
        buf_text(out, "</tr>");
    }
    old->at = old->end = new->at = new->end = NULL;
}

/* "@@ -12,3 +14,4 @@": where the lines of both sides go on. */
static void begin_hunk(struct buf *out, struct str line, struct side *old,
                       struct side *new)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)(line.len < 60 ? line.len : 60), line.ptr);
    (void)sscanf(text, "@@ -%" SCNu64, &old->line);
    const char *plus = strchr(text, '+');
    if (plus)
        (void)sscanf(plus, "+%" SCNu64, &new->line);
    buf_text(out, "<tr><td colspan=\"2\" class=\"about\">");
    html_text(out, text);
    buf_text(out, "</td></tr>");
}

/* A patch with the old lines on the left and the new ones on the right. */
static void put_sides(struct buf *out, const char *patch, size_t n)
{
    struct side old = {0}, new = {0};
    struct side *last = NULL;
    bool in_hunk = false;
    buf_text(out, "<table class=\"sides\"><tbody>");
    for (size_t at = 0, length; at < n; at += length + 1) {
        const char *line = patch + at, *end = memchr(line, '\n', n - at);
        length = end ? (size_t)(end - line) : n - at;
        const char *behind = end ? end + 1 : patch + n;
        bool begins = length > 1 && memcmp(line, "@@", 2) == 0;
        in_hunk |= begins;
        if (!in_hunk)
            continue;
        if (line[0] == '\\' && length > 0) {
            if (last)
                last->end = behind;
            continue;
        }
        /* New lines come behind old ones: what is not so is another block. */
        last = length > 0 && line[0] == '-'   ? &old
               : length > 0 && line[0] == '+' ? &new
                                              : NULL;
        if (last != &new && (!last || new.at))
            put_block(out, &old, &new);
        if (last) {
            last->at = last->at ? last->at : line;
            last->end = behind;
        } else if (begins) {
            begin_hunk(out, (struct str){line, length}, &old, &new);
        } else {
            old.at = new.at = line;
            old.end = new.end = behind;
            buf_text(out, "<tr>");
            put_cell(out, &old, "same", " ");
            put_cell(out, &new, "same", " ");
            buf_text(out, "</tr>");
            old.at = old.end = new.at = new.end = NULL;
        }
    }
    put_block(out, &old, &new);
    buf_text(out, "</tbody></table>");
}

static bool is_file(const struct cairn_file *file)
{
    return file && strcmp(file->kind, "file") == 0;
}

static void put_sizes(struct buf *out, const struct cairn_file_change *change)
{
    char size[FORMAT_MAX];
    if (is_file(change->before))
        buf_format(out, ", %s", format_bytes(size, change->before->size));
    if (is_file(change->after))
        buf_format(out, "%s%s", is_file(change->before) ? " -&gt; " : ", ",
                   format_bytes(size, change->after->size));
}

static void put_file_line(struct buf *out, const struct cairn_file_change *change)
{
    const struct cairn_file *before = change->before, *after = change->after;
    buf_format(out, "%s ", change->old_path ? change->change : sign_of(before, after));
    if (change->old_path) {
        html_text(out, change->old_path);
        buf_text(out, " -&gt; ");
    }
    html_text(out, change->path);
    if (strcmp((after ? after : before)->kind, "directory") == 0)
        buf_text(out, "/");
    if (before && after && strcmp(before->kind, after->kind) != 0)
        buf_format(out, ", %s -&gt; %s", before->kind, after->kind);
    else if (before && after && before->mode != after->mode)
        buf_format(out, ", %04o -&gt; %04o", before->mode, after->mode);
    if (change->binary) {
        buf_text(out, change->large ? ", more than 4 MiB" : ", binary");
        put_sizes(out, change);
    } else if (change->lines_added + change->lines_removed > 0) {
        buf_format(out, ", +%" PRIu64 " -%" PRIu64, change->lines_added,
                   change->lines_removed);
    }
}

/* A callback must not use the store: whether it is a picture is looked at later. */
static void note_binary(struct comparison *c, const struct cairn_file_change *change)
{
    struct binary *binary = &c->binaries[c->n_binaries];
    bool before = is_file(change->before) && change->before->size <= PICTURE_MOST,
         after = is_file(change->after) && change->after->size <= PICTURE_MOST;
    if (c->n_binaries == PICTURES_SHOWN || (!before && !after))
        return;
    *binary = (struct binary){
        c->place->out->size,
        before ? strdup(change->old_path ? change->old_path : change->path) : NULL,
        after ? strdup(change->path) : NULL};
    c->n_binaries++;
    c->place->out->failed |= (before && !binary->before) || (after && !binary->after);
}

static int put_file(void *context, const struct cairn_file_change *change)
{
    struct comparison *c = context;
    struct buf *out = c->place->out;
    if (c->n++ >= FILES_SHOWN)
        return 0;
    size_t size = change->patch_bytes;
    bool shown = size > 0 && size <= PATCH_BYTES && c->bytes + size <= c->most &&
                 !change->binary;
    buf_text(out, !shown                     ? "<p class=\"file\">"
                  : c->place->options->style ? "<details open><summary>"
                                             : "<details><summary>");
    put_file_line(out, change);
    if (shown) {
        c->bytes += size;
        buf_text(out, "</summary>");
        (c->sides ? put_sides : put_patch)(out, change->patch, size);
        buf_text(out, "</details>");
        return 0;
    }
    if (size > 0 && !change->binary)
        buf_text(out, ": too long to be shown here");
    buf_text(out, "</p>");
    if (change->binary && !change->old_path && c->place->options->style)
        note_binary(c, change);
    return 0;
}

static void put_picture(struct comparison *c, const char *path,
                        const struct cairn_checkpoint_info *info, const char *words)
{
    if (!path || !picture_type(c->place->store, info->id, path))
        return;
    buf_format(c->place->out, "<figure><figcaption>%s</figcaption>", words);
    put_picture_of(c->place->out, info->seq, path);
    buf_text(c->place->out, "</figure>");
}

/* The list with each picture in its place. */
static void put_with_pictures(struct comparison *c, const struct buf *files)
{
    struct buf *out = c->place->out;
    size_t at = 0;
    for (size_t i = 0; i < c->n_binaries; i++) {
        const struct binary *binary = &c->binaries[i];
        buf_add(out, files->data + at, binary->at - at);
        at = binary->at;
        buf_text(out, "<div class=\"pictures\">");
        put_picture(c, binary->before, &c->from, "-");
        put_picture(c, binary->after, &c->to, "+");
        buf_text(out, "</div>");
    }
    if (files->size > at)
        buf_add(out, files->data + at, files->size - at);
}

static void put_view_links(struct comparison *c)
{
    struct buf *out = c->place->out;
    buf_format(out,
               "<p class=\"links\"><a href=\"/compare?from=%" PRIu64 "&amp;to=%" PRIu64
               "%s\">%s</a></p>",
               c->from.seq, c->to.seq, c->sides ? "" : "&amp;view=sides",
               c->sides ? "one below the other" : "side by side");
}

static int put_files(struct comparison *c)
{
    const struct cairn_files_diff options = {.patch = true, .around = 3};
    struct buf *out = c->place->out, files = BUF_INIT;
    struct cairn_error error = {0};
    c->n = 0;
    c->place->out = &files;
    int rc = cairn_files_compare(c->place->store, NULL, c->from.id, c->to.id, &options,
                                 put_file, c, &error);
    c->place->out = out;
    begin_part(c, "Files");
    if (rc == CAIRN_ENOTFOUND)
        put_note(out, "At least one of the two holds no files.");
    else if (rc != 0)
        put_note(out, error.text);
    else
        buf_format(out, "<p>%" PRIu64 " file%s</p>", c->n,
                   c->n == 1 ? " differs" : "s differ");
    if (rc == 0 && c->bytes > 0 && c->place->options->style)
        put_view_links(c);
    put_with_pictures(c, &files);
    if (c->n > FILES_SHOWN)
        buf_format(out, "<p class=\"note\">and %" PRIu64 " more</p>",
                   c->n - FILES_SHOWN);
    if (rc == 0 && c->n > 0) {
        buf_text(out, "<p>");
        put_command(out, c->place->options, "cairn checkpoint diff %s %s --patch",
                    c->from.id, c->to.id);
        buf_text(out, "</p>");
    }
    end_part(c);
    out->failed |= files.failed;
    buf_release(&files);
    for (size_t i = 0; i < c->n_binaries; i++) {
        free(c->binaries[i].before);
        free(c->binaries[i].after);
    }
    return rc == CAIRN_ENOMEM ? error_nomem(c->place->error) : 0;
}

/* ---- Tasks of runs ---- */

struct outcome_at {
    enum cairn_outcome outcome;
    uint32_t attempts;
    bool seen;
};

struct outcomes {
    struct arena arena;
    struct map by_task;
    struct outcome_at *at; /* [n], of the first checkpoint */
    const char **names;    /* [n] */
    size_t n, capacity, names_capacity;
    bool failed; /* out of memory */
    struct comparison *c;
};

static int keep_outcome(void *context, const char *task, enum cairn_outcome outcome,
                        uint32_t attempts)
{
    struct outcomes *first = context;
    struct outcome_at *at =
        array_room(first->at, first->n, &first->capacity, sizeof *at);
    const char **names =
        array_room(first->names, first->n, &first->names_capacity, sizeof *names);
    const char *name = arena_text(&first->arena, str_of(task));
    first->at = at ? at : first->at;
    first->names = names ? names : first->names;
    first->failed =
        !at || !names || !name ||
        map_add(&first->by_task, str_of(name), (uint32_t)first->n, NULL) < 0;
    if (first->failed)
        return 1;
    names[first->n] = name;
    at[first->n++] = (struct outcome_at){outcome, attempts, false};
    return 0;
}

static void put_outcomes(struct comparison *c, const char *task, const char *before,
                         const char *after)
{
    struct buf *out = c->place->out;
    if (c->n++ >= TASKS_SHOWN)
        return;
    buf_text(out, "<tr><th scope=\"row\">");
    html_text(out, task);
    buf_format(out, "</th><td>%s</td><td>%s</td></tr>", before, after);
}

static int compare_outcome(void *context, const char *task, enum cairn_outcome outcome,
                           uint32_t attempts)
{
    struct outcomes *first = context;
    uint32_t i = map_get(&first->by_task, str_of(task));
    if (i != MAP_NONE)
        first->at[i].seen = true;
    if (i == MAP_NONE || first->at[i].outcome != outcome ||
        first->at[i].attempts != attempts)
        put_outcomes(first->c, task,
                     i == MAP_NONE ? "" : cairn_outcome_name(first->at[i].outcome),
                     cairn_outcome_name(outcome));
    return 0;
}

static int put_tasks(struct comparison *c)
{
    static const char *const headings[] = {"Task", "From", "To", NULL};
    struct outcomes first = {.c = c};
    struct buf *out = c->place->out;
    buf_text(out, "<section><h2>Tasks</h2>");
    table_begin(out, "plain", "tasks that differ", headings);
    int rc = cairn_checkpoint_tasks(c->place->store, c->from.id, keep_outcome, &first,
                                    c->place->error);
    if (rc == 0 && first.failed)
        rc = error_nomem(c->place->error);
    if (rc == 0)
        rc = cairn_checkpoint_tasks(c->place->store, c->to.id, compare_outcome, &first,
                                    c->place->error);
    for (size_t i = 0; i < first.n && rc == 0; i++)
        if (!first.at[i].seen)
            put_outcomes(c, first.names[i], cairn_outcome_name(first.at[i].outcome),
                         "");
    table_end(out);
    buf_format(out, "<p class=\"note\">%" PRIu64 " task%s%s</p></section>", c->n,
               c->n == 1 ? " differs" : "s differ",
               c->n > TASKS_SHOWN ? ", of which the first are shown" : "");
    free(first.at);
    free(first.names);
    map_release(&first.by_task);
    arena_release(&first.arena);
    return rc;
}

/* ---- The page ---- */

static int find_side(struct place *place, const char *name,
                     struct cairn_checkpoint_info *info)
{
    char *id = ask_text(place->ask, name);
    int rc =
        id && id[0] != '\0'
            ? cairn_checkpoint_get(place->store, id, info, place->error)
            : error_set(place->error, CAIRN_EUSAGE,
                        "Choose two checkpoints: one in the column \"From\", one in "
                        "the column \"To\".");
    free(id);
    return rc;
}

static void put_side(struct place *place, const char *name,
                     const struct cairn_checkpoint_info *info)
{
    struct buf *out = place->out;
    char line[CHECKPOINT_LINE_MAX];
    fact_begin(out, name);
    put_checkpoint_link(out, info->id);
    buf_text(out, " ");
    html_time(out, info->time_ns);
    buf_text(out, " ");
    html_text(out, checkpoint_line(line, info));
    fact_end(out);
}

static int put_sessions(struct comparison *c)
{
    struct cairn_board_summary summary = {0};
    int rc = put_damage(c->place, put_changes(c, &summary));
    if (rc == 0)
        rc = put_files(c);
    if (rc == 0)
        rc = put_damage(c->place, put_messages(c, &c->to, summary.messages_added,
                                               "Messages that are new"));
    if (rc == 0)
        rc = put_damage(
            c->place,
            put_messages(c, &c->from, summary.messages_removed,
                         "Messages that are on the line of the first one alone"));
    return rc;
}

int put_differences(struct place *place, const struct cairn_checkpoint_info *from,
                    const struct cairn_checkpoint_info *to)
{
    struct comparison c = {
        .place = place, .from = *from, .to = *to, .most = FILE_PATCHES_BYTES};
    struct cairn_board_summary summary = {0};
    int rc = put_damage(place, put_changes(&c, &summary));
    return rc == 0 ? put_files(&c) : rc;
}

int compare_page(struct place *place)
{
    struct comparison c = {.place = place, .most = PATCHES_BYTES};
    struct buf *out = place->out;
    char *view = ask_text(place->ask, "view");
    c.sides = view && strcmp(view, "sides") == 0;
    free(view);
    int rc = find_side(place, "from", &c.from);
    if (rc == 0)
        rc = find_side(place, "to", &c.to);
    if (rc == 0 && c.from.namespace_id != c.to.namespace_id)
        rc =
            error_set(place->error, CAIRN_EUSAGE,
                      "A checkpoint of a run and one of a session cannot be compared.");
    if (rc != 0)
        return rc;
    place_begin(place, "compare", false);
    buf_text(out, "<header><h1>Two checkpoints</h1><dl class=\"facts\">");
    put_side(place, "from", &c.from);
    put_side(place, "to", &c.to);
    buf_format(out,
               "</dl><p><a href=\"/compare?from=%" PRIu64 "&amp;to=%" PRIu64
               "\">the other way round</a></p></header>",
               c.to.seq, c.from.seq);
    rc =
        c.from.namespace_id == CAIRN_NAMESPACE_DEBUG ? put_sessions(&c) : put_tasks(&c);
    frame_end(out, place->options, wall_ns());
    return rc;
}
