/* SPDX-License-Identifier: MIT */
/* The lines of a file, in order. */
#include "session/transfer/transfer_int.h"

#include "base/error.h"
#include "base/limits.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

enum { READ_BYTES = 1 << 16, ROOM_LEAST = 1 << 17 };
/* An object of the most bytes in base64, with the rest of its line. */
static const size_t line_most = (size_t)LIMIT_OBJECT_BYTES / 3 * 4 + 4096;

struct reading {
    int64_t (*read)(void *, char *, size_t);
    void *context;
    char *room; /* heap; [begin, end) is not used yet */
    size_t begin, end, size;
    bool at_end;
};

/* ---- Lines ---- */

static bool make_room(struct reading *in)
{
    if (in->begin > 0)
        memmove(in->room, in->room + in->begin, in->end - in->begin);
    in->end -= in->begin;
    in->begin = 0;
    if (in->size - in->end >= READ_BYTES)
        return true;
    size_t most = line_most + 2 * READ_BYTES;
    size_t size = in->size ? in->size * 2 : ROOM_LEAST;
    char *room = realloc(in->room, size < most ? size : most);
    if (!room)
        return false;
    in->room = room;
    in->size = size < most ? size : most;
    return true;
}

/* More than a line can have, before it is all read. The first one is short. */
static int check_length(const struct importing *im, size_t n)
{
    if (im->line == 0 && n > READ_BYTES)
        return error_set(im->error, CAIRN_EUSAGE,
                         "this is no file of `cairn session export FILE`");
    return n <= line_most
               ? 0
               : error_set(im->error, CAIRN_EDAMAGED,
                           "line %llu is longer than any that cairn writes: what comes "
                           "from there on is not imported",
                           (unsigned long long)im->line + 1);
}

/* 1: a line, without its end; 0: the file has ended. The last one may have no end. */
static int next_line(struct importing *im, struct reading *in, struct str *line)
{
    size_t searched = 0;
    for (;;) {
        size_t n = in->end - in->begin;
        char *start = n ? in->room + in->begin : NULL;
        char *found =
            start && n > searched ? memchr(start + searched, '\n', n - searched) : NULL;
        if (found || (in->at_end && n > 0)) {
            *line = (struct str){start, found ? (size_t)(found - start) : n};
            in->begin += line->len + (found != NULL);
            return 1;
        }
        if (in->at_end)
            return 0;
        searched = n;
        int rc = check_length(im, n);
        if (rc)
            return rc;
        if (!make_room(in))
            return error_nomem(im->error);
        int64_t got = in->read(in->context, in->room + in->end, READ_BYTES);
        if (got < 0 || got > READ_BYTES)
            return error_set(im->error, CAIRN_EIO, "the file could not be read");
        in->end += (size_t)got;
        in->at_end = got == 0;
    }
}

/* ---- The parts ---- */

static int check_header(struct importing *im, const struct line *line)
{
    struct str type, store;
    uint64_t version;
    if (!line_get_text(line, "type", &type) || !str_equal(type, STR("cairn-export")) ||
        !line_get_number(line, "version", &version))
        return error_set(im->error, CAIRN_EUSAGE,
                         "this is no file of `cairn session export FILE`");
    if (version > TRANSFER_VERSION)
        return error_set(im->error, CAIRN_ENEWER,
                         "the file has version %llu, which this release does not know: "
                         "use the cairn that wrote it",
                         (unsigned long long)version);
    if (line_get_text(line, "store", &store) && store.len < sizeof im->origin)
        snprintf(im->origin, sizeof im->origin, "%.*s", (int)store.len, store.ptr);
    return 0;
}

static int take_part(struct importing *im, const struct line *line, struct str type)
{
    static const struct {
        const char *type;
        int (*take)(struct importing *, const struct line *);
    } parts[] = {{"branch", import_branch},         {"object", import_object},
                 {"checkpoint", import_checkpoint}, {"merge", import_merge},
                 {"message", import_message},       {"present", import_present}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (str_equal(type, str_of(parts[i].type))) {
            if (im->session.open)
                return parts[i].take(im, line);
            import_refuse(im, "line %llu: this %s belongs to no session",
                          (unsigned long long)im->line, parts[i].type);
            return 0;
        }
    import_refuse(im, "line %llu: '%.*s' is not known", (unsigned long long)im->line,
                  (int)(type.len < 40 ? type.len : 40), type.ptr);
    return 0;
}

/* ---- The file ---- */

struct file {
    struct reading in;
    struct sha256 *sha; /* over the lines so far */
    bool ended;
    bool changed; /* since it was written, as its end says */
};

static void check_end(struct importing *im, struct file *file, const struct line *line)
{
    struct digest found, wanted;
    uint64_t lines;
    sha256_end(file->sha, &found);
    sha256_begin(file->sha);
    file->ended = true;
    if (!line_get_number(line, "lines", &lines) ||
        !line_get_digest(line, "sha256", &wanted) || lines != im->line - 1 ||
        !digest_equal(&found, &wanted))
        file->changed = true;
    if (file->changed)
        import_refuse(im, "the file is not as it was written: what was changed is "
                          "named above, or is a name or a time");
}

static int take_session_or_part(struct importing *im, const struct line *line,
                                struct str type)
{
    if (!str_equal(type, STR("session")))
        return take_part(im, line, type);
    int rc = import_session_end(im, 0);
    return rc ? rc : import_session_begin(im, line);
}

/* What a file has is under digests, so nothing can be taken out of it. Its bytes are
 * base64, in which the redactor finds secrets, too. */
static int check_secrets(struct importing *im, struct str text)
{
    char what[40];
    struct outside outside = {.redactor = im->redactor};
    snprintf(what, sizeof what, "line %llu", (unsigned long long)im->line);
    struct outside_text line = {OUTSIDE_DATA, what, text,
                                "import it where that variable is not set"};
    return outside_check(&outside, &line, im->error);
}

/* Hashed before it is parsed, which changes it. */
static int take_line(struct importing *im, struct file *file, struct str text)
{
    static const char end[] = "{\"type\":\"end\"";
    struct line line;
    struct str type;
    if (text.len < sizeof end - 1 || memcmp(text.ptr, end, sizeof end - 1) != 0) {
        sha256_add(file->sha, text.ptr, text.len);
        sha256_add(file->sha, "\n", 1);
    }
    bool parsed = line_parse((char *)(uintptr_t)text.ptr, text.len, &line) &&
                  line_get_text(&line, "type", &type);
    if (im->line == 1) {
        line.n = parsed ? line.n : 0;
        return check_header(im, &line);
    }
    if (file->ended || !parsed)
        import_refuse(im, "line %llu %s", (unsigned long long)im->line,
                      file->ended ? "is behind the end" : "cannot be read");
    else if (str_equal(type, STR("end")))
        check_end(im, file, &line);
    else
        return take_session_or_part(im, &line, type);
    return 0;
}

static int take_lines(struct importing *im, struct file *file)
{
    struct str text = {NULL, 0};
    int rc = 0;
    while (!rc && (rc = next_line(im, &file->in, &text)) > 0) {
        im->line++;
        rc = check_secrets(im, text);
        if (!rc)
            rc = take_line(im, file, text);
    }
    if (!rc && !im->line)
        rc = check_header(im, &(struct line){.n = 0});
    if (!rc && !file->ended)
        import_refuse(im, "the file ends early, behind line %llu",
                      (unsigned long long)im->line);
    rc = import_session_end(im, rc);
    return !rc && file->changed ? import_forget_origins(im) : rc;
}

int cairn_session_import(struct cairn_store *store,
                         int64_t (*read)(void *, char *, size_t), void *context,
                         const struct cairn_transfer_calls *calls,
                         struct cairn_transfer *result, struct cairn_error *error)
{
    SIZE_CHECK("cairn_transfer_calls", calls, error);
    struct cairn_error own = {0};
    struct importing im = {.store = store,
                           .sha = sha256_new(),
                           .calls = calls,
                           .error = error ? error : &own};
    struct file file = {.in = {.read = read, .context = context}, .sha = sha256_new()};
    int rc =
        im.sha && file.sha ? store_begin_read(store, im.error) : error_nomem(im.error);
    if (!rc) {
        rc = import_load_known(&im);
        store_end_read(store);
    }
    if (!rc)
        rc = redactor_of_workflows(store, &im.redactor, im.error);
    if (!rc) {
        sha256_begin(file.sha);
        rc = take_lines(&im, &file);
    }
    free(file.in.room);
    free(im.known);
    free(im.origins);
    free(im.noted);
    redactor_free(im.redactor);
    sha256_free(im.sha);
    sha256_free(file.sha);
    if (!rc && result)
        *result = im.result;
    if (!rc && im.result.refused)
        rc = error_set(error, CAIRN_EDAMAGED,
                       "%llu parts of the file were refused, and the rest was imported",
                       (unsigned long long)im.result.refused);
    return rc;
}
