/* SPDX-License-Identifier: MIT */
/* The files of a checkpoint: a directory, the content of a file as text, as a picture or
 * as what is saved, since when each line is there, its versions, and lines that match a
 * pattern. */
#include "web/place.h"

#include "base/error.h"
#include "base/utf8.h"
#include "cli/format.h"
#include "web/html.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ENTRIES_SHOWN = 500,
    PART_BYTES = 128 << 10, /* of a content on its page */
    BINARY_BYTES = 8000,    /* a NUL in so many means that it is binary */
    SAVED_MOST = 32 << 20,
    VERSIONS_SHOWN = 100,
    MATCHES_SHOWN = 200,
    BLAMED_SHOWN = 2000, /* lines */
    LOOK_MS = 100,       /* for one page of what looks through all checkpoints */
};

struct file_place {
    struct place *place;
    struct cairn_checkpoint_info info;
    char *path; /* heap; "": the directory of all files */
};

/* The checkpoint and the path of an address. */
static int find_file(struct file_place *file)
{
    char id[32];
    snprintf(id, sizeof id, "debug:%" PRIu64, file->place->number);
    file->path = ask_text(file->place->ask, "path");
    if (!file->path)
        file->path = strdup("");
    return file->path ? cairn_checkpoint_get(file->place->store, id, &file->info,
                                             file->place->error)
                      : error_nomem(file->place->error);
}

/* The address of a page of a checkpoint about a path, which can go on. */
static void open_address(struct buf *out, uint64_t seq, const char *page,
                         const char *path)
{
    buf_format(out, "<a href=\"/checkpoints/%" PRIu64 "/%s?path=", seq, page);
    html_address(out, path);
}

static void open_link(struct file_place *file, const char *page, const char *path)
{
    open_address(file->place->out, file->info.seq, page, path);
    buf_text(file->place->out, "\">");
}

/* The path, of which each directory is a link. */
static void put_path(struct file_place *file)
{
    struct buf *out = file->place->out;
    char *path = file->path, *slash;
    open_link(file, "files", "");
    buf_text(out, "files</a>");
    for (char *name = path; *name != '\0'; name = slash + 1) {
        slash = strchr(name, '/');
        buf_text(out, " / ");
        if (!slash) {
            html_text(out, name);
            return;
        }
        *slash = '\0';
        open_link(file, "files", path);
        html_text(out, name);
        buf_text(out, "</a>");
        *slash = '/';
    }
}

static void put_grep_form(struct place *place, uint64_t session, uint64_t seq)
{
    struct buf *out = place->out;
    char *pattern = ask_text(place->ask, "pattern");
    buf_format(
        out,
        "<form action=\"/sessions/%" PRIu64
        "/grep\"><label>Lines with <input type=\"search\" name=\"pattern\" value=\"",
        session);
    html_text(out, pattern ? pattern : "");
    buf_format(
        out,
        "\"></label> <label><input type=\"checkbox\" name=\"regex\" value=\"1\"%s> "
        "as a pattern</label> <label><input type=\"checkbox\" name=\"case\" "
        "value=\"1\"%s> upper and lower case alike</label> ",
        ask_given(place->ask, "regex") ? " checked" : "",
        ask_given(place->ask, "case") ? " checked" : "");
    if (seq != 0)
        buf_format(out,
                   "<label><input type=\"checkbox\" name=\"at\" value=\"%" PRIu64
                   "\" checked> in debug:%" PRIu64 " alone</label> ",
                   seq, seq);
    buf_text(out, "<button>Search</button></form>");
    free(pattern);
}

static void begin_page(struct file_place *file)
{
    struct buf *out = file->place->out;
    place_begin(file->place, file->path[0] ? file->path : "files", false);
    buf_text(out, "<header><h1>");
    put_path(file);
    buf_text(out, " <small>");
    put_checkpoint_link(out, file->info.id);
    buf_text(out, "</small></h1>");
}

/* ---- A directory ---- */

struct entries {
    struct file_place *file;
    size_t prefix; /* bytes of the directory with its slash */
    uint64_t offset, n;
};

static int put_entry(void *context, const struct cairn_file *entry)
{
    struct entries *entries = context;
    struct file_place *file = entries->file;
    struct buf *out = file->place->out;
    char size[FORMAT_MAX];
    bool directory = strcmp(entry->kind, "directory") == 0;
    if (strncmp(entry->path, file->path, strlen(file->path)) != 0 ||
        strlen(entry->path) <= entries->prefix ||
        (entries->prefix > 0 && entry->path[entries->prefix - 1] != '/') ||
        strchr(entry->path + entries->prefix, '/'))
        return 0;
    uint64_t n = entries->n++;
    if (n < entries->offset || n - entries->offset >= ENTRIES_SHOWN)
        return 0;
    buf_text(out, "<tr><th scope=\"row\">");
    if (directory || strcmp(entry->kind, "file") == 0)
        open_link(file, directory ? "files" : "file", entry->path);
    html_text(out, entry->path + entries->prefix);
    buf_text(out, directory                          ? "/</a></th><td>"
                  : strcmp(entry->kind, "file") == 0 ? "</a></th><td>"
                                                     : "</th><td>");
    if (strcmp(entry->kind, "file") == 0)
        buf_text(out, format_bytes(size, entry->size));
    buf_text(out, "</td><td>");
    if (entry->why || entry->target) {
        buf_text(out, entry->target ? "link to " : "left out: ");
        html_start(out, entry->target ? entry->target : entry->why, TEXT_SHOWN);
    } else {
        buf_format(out, "%04o", entry->mode);
    }
    buf_text(out, "</td><td>");
    html_time(out, entry->time_ns);
    buf_text(out, "</td></tr>");
    return 0;
}

static int put_directory(struct file_place *file)
{
    static const char *const headings[] = {"Name", "Size", "Mode", "Changed", NULL};
    struct place *place = file->place;
    struct entries entries = {.file = file,
                              .prefix = strlen(file->path) + (file->path[0] != '\0'),
                              .offset = ask_number(place->ask, "offset")};
    struct cairn_files_summary summary;
    struct buf *out = place->out, address = BUF_INIT;
    char size[FORMAT_MAX];
    begin_page(file);
    buf_text(out, "<p>");
    put_command(out, place->options, "cairn checkpoint files %s", file->info.id);
    buf_text(out, "</p></header>");
    put_grep_form(place, file->info.session, file->info.seq);
    table_begin(out, "plain", "files", headings);
    int rc = cairn_files_list(place->store, file->info.id, put_entry, &entries,
                              &summary, place->error);
    table_end(out);
    if (rc != 0)
        return rc;
    if (entries.n == 0 && file->path[0] != '\0')
        return error_set(place->error, CAIRN_ENOTFOUND,
                         "the checkpoint has no such directory, or it is empty");
    buf_format(out, "<p class=\"note\">In all %" PRIu64 " file%s, %s</p>",
               summary.files, plural(summary.files), format_bytes(size, summary.bytes));
    buf_format(&address, "/checkpoints/%" PRIu64 "/files?path=", file->info.seq);
    html_address(&address, file->path);
    buf_text(&address, "&amp;offset=");
    buf_byte(&address, '\0');
    if (!address.failed)
        put_part_links(out, &(struct part_shown){address.data, "before", "behind",
                                                 entries.offset, entries.n, 0,
                                                 ENTRIES_SHOWN});
    buf_release(&address);
    frame_end(out, place->options, wall_ns());
    return 0;
}

int files_page(struct place *place)
{
    struct file_place file = {.place = place};
    int rc = find_file(&file);
    if (rc == 0)
        rc = put_directory(&file);
    free(file.path);
    return rc;
}

/* ---- A content ---- */

struct content {
    struct buf bytes;
    uint64_t from, at; /* of the whole: where the part begins, and how much was read */
    uint64_t line;     /* of the first byte of the part */
    size_t most;
    bool binary, more;
};

static int add_bytes(void *context, const char *bytes, size_t n)
{
    struct content *content = context;
    uint64_t skip = content->from > content->at ? content->from - content->at : 0;
    size_t left = content->most - content->bytes.size;
    if (content->at < BINARY_BYTES && content->most == PART_BYTES) {
        size_t looked = BINARY_BYTES - (size_t)content->at;
        content->binary |= memchr(bytes, '\0', n < looked ? n : looked) != NULL;
    }
    size_t skipped = skip < n ? (size_t)skip : n;
    for (size_t i = 0; i < skipped; i++)
        content->line += bytes[i] == '\n';
    content->at += n;
    n -= skipped;
    content->more = n > left;
    buf_add(&content->bytes, bytes + skipped, n < left ? n : left);
    return content->more || content->binary || content->bytes.failed;
}

static void put_lines(struct buf *out, const struct content *content, size_t n)
{
    uint64_t line = content->line;
    buf_text(out, "<pre class=\"content\">");
    for (size_t at = 0, length; at < n; at += length + 1) {
        const char *end = memchr(content->bytes.data + at, '\n', n - at);
        length = end ? (size_t)(end - (content->bytes.data + at)) : n - at;
        line++;
        buf_format(out, "<span id=\"L%" PRIu64 "\"><i>%" PRIu64 "</i> ", line, line);
        html_lines(out, content->bytes.data + at, length);
        buf_text(out, "</span>\n");
    }
    buf_text(out, "</pre>");
}

/* Whole lines, if there is one; else whole characters. */
static size_t whole_lines(const struct content *content)
{
    size_t n = content->bytes.size;
    if (!content->more)
        return n;
    while (n > 0 && content->bytes.data[n - 1] != '\n')
        n--;
    return n > 0 ? n : utf8_fit(buf_view(&content->bytes), content->bytes.size - 3);
}

static void put_content(struct file_place *file, struct content *content)
{
    struct buf *out = file->place->out;
    size_t n = whole_lines(content);
    if (content->binary &&
        picture_type(file->place->store, file->info.id, file->path)) {
        put_picture_of(out, file->info.seq, file->path);
        return;
    }
    if (content->binary) {
        put_note(out, "The content is binary: it can be saved.");
        return;
    }
    if (content->bytes.size == 0) {
        put_note(out, "There is nothing here.");
        return;
    }
    put_lines(out, content, n);
    if (content->from > 0 || content->more)
        buf_format(out, "<p>bytes %" PRIu64 " to %" PRIu64 " ", content->from,
                   content->from + n);
    if (content->more) {
        open_address(out, file->info.seq, "file", file->path);
        buf_format(out, "&amp;from=%" PRIu64 "\">what follows</a>", content->from + n);
    }
    buf_text(out, content->from > 0 || content->more ? "</p>" : "");
}

static int put_file(struct file_place *file)
{
    struct place *place = file->place;
    struct buf *out = place->out;
    struct content content = {.most = PART_BYTES,
                              .from = ask_number(place->ask, "from")};
    int rc = cairn_files_read(place->store, file->info.id, file->path, add_bytes,
                              &content, place->error);
    if (content.bytes.failed)
        rc = error_nomem(place->error);
    if (rc == 0) {
        char *word = shell_word(file->path);
        begin_page(file);
        buf_text(out, "<p>");
        put_command(out, place->options, "cairn checkpoint cat %s%s %s", file->info.id,
                    operand_dashes(file->path), word ? word : "PATH");
        buf_text(out, "</p><p class=\"links\">");
        open_link(file, "raw", file->path);
        buf_format(out, "save</a> <a href=\"/sessions/%" PRIu64 "/history?path=",
                   file->info.session);
        html_address(out, file->path);
        buf_text(out, "\">versions</a> ");
        if (!content.binary) {
            open_link(file, "blame", file->path);
            buf_text(out, "since when each line is there</a>");
        }
        buf_text(out, "</p></header>");
        put_content(file, &content);
        frame_end(out, place->options, wall_ns());
        free(word);
    }
    buf_release(&content.bytes);
    return rc;
}

int file_page(struct place *place)
{
    struct file_place file = {.place = place};
    int rc = find_file(&file);
    if (rc == 0)
        rc = put_file(&file);
    free(file.path);
    return rc;
}

/* Never shown by the browser: it is saved, by a name that means nothing else. */
static void name_saved(const char *path, char *name, size_t size)
{
    const char *slash = strrchr(path, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : path);
    for (char *at = name; *at != '\0'; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
              (*at >= '0' && *at <= '9') || *at == '-' || (*at == '.' && at > name)))
            *at = '_';
}

int raw_page(struct place *place)
{
    struct file_place file = {.place = place};
    struct content content = {.most = SAVED_MOST};
    int rc = find_file(&file);
    if (rc == 0)
        rc = cairn_files_read(place->store, file.info.id, file.path, add_bytes,
                              &content, place->error);
    if (rc == 0 && content.bytes.failed)
        rc = error_nomem(place->error);
    if (rc == 0 && content.more)
        rc = error_set(place->error, CAIRN_EUSAGE,
                       "It is larger than 32 MiB: `cairn checkpoint cat` writes it.");
    if (rc == 0) {
        place->answer->type = "application/octet-stream";
        name_saved(file.path, place->answer->file, sizeof place->answer->file);
        buf_str(place->out, buf_view(&content.bytes));
    }
    buf_release(&content.bytes);
    free(file.path);
    return rc;
}

/* ---- As a picture ---- */

/* By how the formats begin; a browser is told the type, and looks for no other. */
static const char *type_of(struct str bytes)
{
    static const struct {
        const char *type;
        size_t at, n;
        const char *bytes;
    } kinds[] = {{"image/png", 0, 8, "\x89PNG\r\n\x1a\n"},
                 {"image/jpeg", 0, 3, "\xff\xd8\xff"},
                 {"image/gif", 0, 6, "GIF87a"},
                 {"image/gif", 0, 6, "GIF89a"},
                 {"image/webp", 8, 4, "WEBP"}};
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (bytes.len >= 12 &&
            memcmp(bytes.ptr + kinds[i].at, kinds[i].bytes, kinds[i].n) == 0 &&
            (kinds[i].at == 0 || memcmp(bytes.ptr, "RIFF", 4) == 0))
            return kinds[i].type;
    return NULL;
}

const char *picture_type(struct cairn_store *store, const char *id, const char *path)
{
    struct content content = {.most = 12};
    struct cairn_error error = {0};
    const char *type = NULL;
    if (cairn_files_read(store, id, path, add_bytes, &content, &error) == 0 &&
        !content.bytes.failed)
        type = type_of(buf_view(&content.bytes));
    buf_release(&content.bytes);
    return type;
}

void put_picture_of(struct buf *out, uint64_t seq, const char *path)
{
    buf_format(out, "<img src=\"/checkpoints/%" PRIu64 "/picture?path=", seq);
    html_address(out, path);
    buf_text(out, "\" alt=\"");
    html_text(out, path);
    buf_text(out, "\">");
}

int picture_page(struct place *place)
{
    struct file_place file = {.place = place};
    struct content content = {.most = PICTURE_MOST};
    int rc = find_file(&file);
    if (rc == 0)
        rc = cairn_files_read(place->store, file.info.id, file.path, add_bytes,
                              &content, place->error);
    if (rc == 0 && content.bytes.failed)
        rc = error_nomem(place->error);
    const char *type = rc == 0 ? type_of(buf_view(&content.bytes)) : NULL;
    if (rc == 0 && (!type || content.more))
        rc = error_set(place->error, CAIRN_EUSAGE,
                       "It is no picture that is shown (PNG, JPEG, GIF or WebP of at "
                       "most 4 MiB).");
    if (rc == 0) {
        place->answer->type = type;
        buf_str(place->out, buf_view(&content.bytes));
    }
    buf_release(&content.bytes);
    free(file.path);
    return rc;
}

/* ---- Since when each line is there ---- */

struct blaming {
    struct buf *out;
    uint64_t from, n, seq; /* n: lines until now; those up to `from` are not shown */
    char *open;            /* the path of those that may be older; heap */
};

static int put_blamed(void *context, const struct cairn_file_line *line)
{
    struct blaming *blaming = context;
    struct buf *out = blaming->out;
    if (line->open && !blaming->open) {
        blaming->open = strdup(line->path);
        out->failed |= !blaming->open;
    }
    if (blaming->n++ < blaming->from || blaming->n > blaming->from + BLAMED_SHOWN)
        return 0;
    bool same = blaming->seq == line->seq;
    buf_text(out,
             same ? "<tr><td></td><td></td><td></td><td>" : "<tr class=\"first\"><td>");
    if (!same) {
        put_checkpoint_link(out, line->id);
        buf_text(out, line->open ? " or older</td><td>" : "</td><td>");
        html_time(out, line->time_ns);
        buf_text(out, "</td><td>");
        html_start(
            out, line->message[0] || !line->prompt ? line->message : line->prompt, 80);
        buf_text(out, "</td><td>");
    }
    blaming->seq = line->seq;
    open_address(out, line->seq, "file", line->path);
    buf_format(out, "#L%" PRIu64 "\">%" PRIu64 "</a></td><td><code>", line->line_then,
               line->line);
    html_lines(out, line->text, line->bytes < 4000 ? line->bytes : 4000);
    buf_text(out, "</code></td></tr>");
    return 0;
}

/* The rest of its lines; and where those that were not found go on. */
static void put_blame_links(const struct file_place *file,
                            const struct blaming *blaming, uint64_t next)
{
    struct buf *out = file->place->out, address = BUF_INIT;
    buf_format(&address, "/checkpoints/%" PRIu64 "/blame?path=", file->info.seq);
    html_address(&address, file->path);
    buf_text(&address, "&amp;from=");
    buf_byte(&address, '\0');
    out->failed |= address.failed;
    if (!address.failed)
        put_part_links(out, &(struct part_shown){.address = address.data,
                                                 .before = "lines before",
                                                 .behind = "lines behind",
                                                 .offset = blaming->from,
                                                 .total = blaming->n,
                                                 .most = BLAMED_SHOWN});
    buf_release(&address);
    if (next == 0 || !blaming->open)
        return;
    buf_format(out,
               "<p>Looked at as far as debug:%" PRIu64 ": lines of it may be older. ",
               next);
    open_address(out, next, "blame", blaming->open);
    buf_text(out, "\">Go on</a></p>");
}

int blame_page(struct place *place)
{
    static const char *const headings[] = {"Checkpoint", "Made", "Message",
                                           "Line",       "Text", NULL};
    struct file_place file = {.place = place};
    struct buf *out = place->out;
    char session[24], *word = NULL;
    int rc = find_file(&file);
    struct cairn_files_part part = {.limit_ms = LOOK_MS};
    struct blaming blaming = {.out = out, .from = ask_number(place->ask, "from")};
    if (rc == 0) {
        snprintf(session, sizeof session, "%" PRIu64, file.info.session);
        begin_page(&file);
        word = shell_word(file.path);
        buf_text(out, "<p>");
        put_command(out, place->options, "cairn checkpoint blame-file --at %s%s %s",
                    file.info.id, operand_dashes(file.path), word ? word : "PATH");
        buf_text(out, "</p></header>");
        table_begin(out, "plain blame", "lines", headings);
        rc = cairn_files_blame(place->store, session, file.info.id, file.path, 0, &part,
                               put_blamed, &blaming, place->error);
        table_end(out);
    }
    if (rc == CAIRN_EDAMAGED && blaming.n > 0)
        rc = put_damage(place, rc);
    if (rc == 0)
        put_blame_links(&file, &blaming, part.next);
    frame_end(out, place->options, wall_ns());
    free(blaming.open);
    free(word);
    free(file.path);
    return rc;
}

/* ---- Its versions ---- */

struct versions {
    struct place *place;
    const char *path;
};

static int put_version(void *context, const struct cairn_file_version *version)
{
    struct versions *versions = context;
    struct buf *out = versions->place->out;
    char size[FORMAT_MAX];
    buf_text(out, "<tr><td>");
    put_checkpoint_link(out, version->id);
    buf_text(out, "</td><td>");
    html_time(out, version->time_ns);
    buf_format(out, "</td><td>%s</td><td>", version->change);
    if (version->file && strcmp(version->file->kind, "file") == 0) {
        open_address(out, version->seq, "file", versions->path);
        buf_format(out, "\">%s</a>, %04o", format_bytes(size, version->file->size),
                   version->file->mode);
    } else if (version->file) {
        html_text(out, version->file->kind);
    }
    buf_text(out, "</td><td>");
    html_text(out, version->branch);
    buf_text(out, "</td><td>");
    html_start(out, version->message, TEXT_SHOWN);
    buf_text(out, "</td></tr>");
    return 0;
}

static int begin_session(struct place *place, struct cairn_session_info *info,
                         char number[24], const char *what)
{
    int rc = find_session(place, info, number);
    if (rc != 0)
        return rc;
    place_begin(place, what, false);
    buf_text(place->out, "<header><h1>");
    html_text(place->out, what);
    buf_text(place->out, " <small>session ");
    put_session_link(place->out, info->session, info->name);
    buf_text(place->out, "</small></h1></header>");
    return 0;
}

/* Which part of a long look is asked for. */
static struct cairn_files_part ask_part(const struct place *place)
{
    return (struct cairn_files_part){.limit_ms = LOOK_MS,
                                     .from = ask_number(place->ask, "from"),
                                     .from_nth = ask_number(place->ask, "nth")};
}

/* Behind the rows of a part: where the next one is, which the script gets by itself.
 * `address` is that of the page below its session's. */
static void put_next_part(struct place *place, const struct cairn_files_part *part,
                          const char *address)
{
    struct buf *out = place->out;
    if (part->next == 0) {
        buf_text(out, part->from == 0
                          ? "<p class=\"note next\">All checkpoints were looked at."
                          : "<p class=\"note next\">All others were looked at.");
    } else {
        buf_format(out,
                   "<p class=\"next\">Looked at as far as debug:%" PRIu64
                   ". <a href=\"/sessions/%" PRIu64 "/%s",
                   part->next, place->number, address);
        buf_format(out, "&amp;from=%" PRIu64, part->next);
        if (part->next_nth != 0)
            buf_format(out, "&amp;nth=%" PRIu64, part->next_nth);
        buf_text(out, "\">Go on</a>");
    }
    buf_text(out, "</p>");
}

int history_page(struct place *place)
{
    static const char *const headings[] = {"Checkpoint", "Made",    "Change", "Content",
                                           "Branch",     "Message", NULL};
    struct cairn_session_info info;
    struct buf address = BUF_INIT;
    char number[24], *path = ask_text(place->ask, "path");
    struct versions versions = {place, path ? path : ""};
    struct cairn_files_part part = ask_part(place);
    int rc = begin_session(place, &info, number, versions.path);
    if (rc == 0) {
        table_begin(place->out, "plain", "versions", headings);
        rc = cairn_files_log(place->store, number, versions.path, true, VERSIONS_SHOWN,
                             &part, put_version, &versions, place->error);
        table_end(place->out);
    }
    if (rc == CAIRN_EDAMAGED) {
        put_note(place->out, place->error->text);
        rc = 0;
    }
    buf_text(&address, "history?path=");
    html_address(&address, versions.path);
    buf_byte(&address, '\0');
    if (rc == 0 && !buf_check(&address, place->error))
        put_next_part(place, &part, address.data);
    buf_release(&address);
    frame_end(place->out, place->options, wall_ns());
    free(path);
    return rc;
}

/* ---- Lines that match ---- */

struct matches {
    struct buf *out;
    uint64_t n;
};

static int put_match(void *context, const struct cairn_file_match *match)
{
    struct matches *matches = context;
    struct buf *out = matches->out;
    if (matches->n++ == MATCHES_SHOWN)
        return 1;
    buf_text(out, "<tr><th scope=\"row\">");
    open_address(out, match->seq, "file", match->path);
    if (!match->binary)
        buf_format(out, "#L%" PRIu64, match->line);
    buf_text(out, "\">");
    html_text(out, match->path);
    if (!match->binary)
        buf_format(out, ":%" PRIu64, match->line);
    buf_text(out, "</a></th><td>");
    put_checkpoint_link(out, match->id);
    if (match->present)
        buf_text(out, " until now");
    else if (match->last_seq != match->seq)
        buf_format(out, " to debug:%" PRIu64, match->last_seq);
    buf_text(out, "</td><td><code>");
    html_lines(out, match->binary ? "binary" : match->text,
               match->binary
                   ? strlen("binary")
                   : utf8_fit((struct str){match->text, match->bytes}, TEXT_SHOWN));
    buf_text(out, "</code></td></tr>");
    return 0;
}

static void put_grep_address(struct buf *address, const struct place *place,
                             const char *pattern)
{
    uint64_t at = ask_number(place->ask, "at");
    buf_text(address, "grep?pattern=");
    html_address(address, pattern);
    if (at != 0)
        buf_format(address, "&amp;at=%" PRIu64, at);
    buf_text(address, ask_given(place->ask, "regex") ? "&amp;regex=1" : "");
    buf_text(address, ask_given(place->ask, "case") ? "&amp;case=1" : "");
    buf_byte(address, '\0');
}

static int put_matches(struct place *place, const char *number, const char *pattern)
{
    static const char *const headings[] = {"File", "Checkpoints", "Line", NULL};
    uint64_t at = ask_number(place->ask, "at");
    struct buf address = BUF_INIT;
    char id[32];
    snprintf(id, sizeof id, "debug:%" PRIu64, at);
    struct cairn_files_part part = ask_part(place);
    struct cairn_files_search search = {.pattern = pattern,
                                        .fixed = !ask_given(place->ask, "regex"),
                                        .ignore_case = ask_given(place->ask, "case"),
                                        .checkpoint = at != 0 ? id : NULL,
                                        .part = &part};
    struct cairn_files_searched result = {0};
    struct matches matches = {place->out, 0};
    table_begin(place->out, "plain", "matches", headings);
    int rc = cairn_files_search(place->store, number, &search, put_match, &matches,
                                &result, place->error);
    table_end(place->out);
    if (rc == CAIRN_ENOTFOUND || rc == CAIRN_EDAMAGED || rc == CAIRN_ELIMIT ||
        rc == CAIRN_EUSAGE) {
        put_note(place->out, place->error->text);
        rc = 0;
    }
    if (matches.n > MATCHES_SHOWN)
        put_note(place->out, "The last file has more lines, which are not shown.");
    put_grep_address(&address, place, pattern);
    if (rc == 0 && !buf_check(&address, place->error))
        put_next_part(place, &part, address.data);
    buf_release(&address);
    return rc;
}

int grep_page(struct place *place)
{
    struct cairn_session_info info;
    char number[24], *pattern = ask_text(place->ask, "pattern");
    int rc = begin_session(place, &info, number, "Search in files");
    if (rc == 0) {
        put_grep_form(place, info.session, ask_number(place->ask, "at"));
        if (pattern && pattern[0] != '\0')
            rc = put_matches(place, number, pattern);
    }
    frame_end(place->out, place->options, wall_ns());
    free(pattern);
    return rc;
}
