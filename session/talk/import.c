/* SPDX-License-Identifier: MIT */
/* The lines of an agent's transcript that a session does not have yet. */
#include "session/messages.h"
#include "session/outside.h"
#include "session/session_int.h"
#include "session/talk/agent_int.h"

#include "base/clock.h"
#include "base/json_scan.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/words.h"
#include "cairn/message.h"
#include "secrets/known_secrets.h"
#include "storage/sessions/rows_message.h"
#include "storage/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The lines of a file that is read part by part, however long they are. */

struct message_file {
    int64_t (*read)(void *, char *, size_t);
    void *context;
    size_t most;     /* bytes of a line that is given whole */
    uint64_t number; /* of the line that was given last, from 1 */
    char *room;      /* heap; [begin, end) is not used yet */
    size_t begin, end, size;
    bool at_end;
    struct sha256 *sha;
};

struct file_line {
    struct str
        bytes; /* without its end; a view until the next one; empty if too large */
    bool too_large;
    bool ended; /* by a line break, not by the end of the file */
    uint64_t size;
    struct digest digest;
};

/* ==== A file as lines ==== */

enum { READ_BYTES = 1 << 16 };

static int make_room(struct message_file *file, struct cairn_error *error)
{
    if (file->begin > 0)
        memmove(file->room, file->room + file->begin, file->end - file->begin);
    file->end -= file->begin;
    file->begin = 0;
    if (file->size - file->end >= READ_BYTES)
        return 0;
    size_t size = file->size ? 2 * file->size : (size_t)2 * READ_BYTES;
    char *room = realloc(file->room, size);
    if (!room)
        return error_nomem(error);
    file->room = room;
    file->size = size;
    return 0;
}

static int read_more(struct message_file *file, struct cairn_error *error)
{
    int rc = make_room(file, error);
    if (rc)
        return rc;
    int64_t got = file->read(file->context, file->room + file->end, READ_BYTES);
    if (got < 0 || got > READ_BYTES)
        return error_set(error, CAIRN_EIO, "the file could not be read");
    file->end += (size_t)got;
    file->at_end = got == 0;
    return 0;
}

/* The rest of a line of which `searched` bytes have no end. */
static int pass_large(struct message_file *file, struct file_line *line,
                      struct cairn_error *error)
{
    int rc = 0;
    sha256_begin(file->sha);
    *line = (struct file_line){.too_large = true};
    while (!rc && !line->ended) {
        size_t n = file->end - file->begin;
        const char *start = file->room + file->begin;
        const char *found = n ? memchr(start, '\n', n) : NULL;
        n = found ? (size_t)(found - start) : n;
        if (n)
            sha256_add(file->sha, start, n);
        line->size += n;
        line->ended = found;
        file->begin += n + line->ended;
        if (line->ended || file->at_end)
            break;
        rc = read_more(file, error);
    }
    sha256_end(file->sha, &line->digest);
    return rc ? rc : 1;
}

/* 1: the next line, 0: there is none, or <0. */
static int message_file_next(struct message_file *file, struct file_line *line,
                             struct cairn_error *error)
{
    size_t searched = 0;
    if (!file->sha && !(file->sha = sha256_new()))
        return error_nomem(error);
    file->number++;
    for (;;) {
        size_t n = file->end - file->begin;
        char *start = NULL, *found = NULL;
        if (n) {
            start = file->room + file->begin;
            found = memchr(start + searched, '\n', n - searched);
        }
        size_t length = found ? (size_t)(found - start) : n;
        if (length > file->most)
            return pass_large(file, line, error);
        if (found || (file->at_end && n > 0)) {
            *line = (struct file_line){
                .bytes = {start, length}, .ended = found, .size = length};
            file->begin += length + (found != NULL);
            return 1;
        }
        if (file->at_end)
            return 0;
        searched = n;
        int rc = read_more(file, error);
        if (rc)
            return rc;
    }
}

static void message_file_release(struct message_file *file)
{
    free(file->room);
    sha256_free(file->sha);
    file->room = NULL;
    file->sha = NULL;
}

/* ==== Lines into messages ==== */

/* Transcripts into messages. Lines are read, understood and cleaned of secrets outside
 * of any transaction, and a bounded number of them is put in one: so neither a slow
 * file nor a long one keeps others from writing. What is new is decided in that
 * transaction.
 *
 * Some agents write the parts of one answer as lines of their own, each with the tokens
 * of the whole. So what an answer has cost is counted once, by the id of the answer. */

enum { LINES_AT_ONCE = 1000, BYTES_AT_ONCE = 8 << 20 };

struct ready_line {
    struct new_message message; /* its texts are in the arena of the batch */
    struct digest digest;
    uint8_t origin[MESSAGE_ORIGIN_BYTES];
    uint64_t number; /* in the file */
    struct str raw;  /* as it stands there, in the arena of the batch */
    bool known, added;
};

struct answer {
    uint64_t tokens_in, tokens_out; /* that were counted */
};

struct importing {
    struct cairn_store *store;
    char session[24];  /* its number */
    struct clean name; /* of the transcript */
    struct message_file file;
    void (*problem)(void *, enum cairn_line_problem, uint64_t line);
    void *context;
    struct redactor *redactor;
    struct sha256 *sha;
    struct arena keys;   /* of the maps */
    struct map contents; /* lines without an id, to how often they came */
    uint32_t *times;     /* [n_times] */
    size_t n_times, times_room;
    struct map answers; /* ids of answers */
    struct answer *counted;
    size_t n_counted, counted_room;
    struct arena arena; /* of the batch */
    struct ready_line lines[LINES_AT_ONCE];
    size_t n, bytes;
    struct cairn_message_import result;
    struct cairn_error *error;
};

/* ---- Who a line is ---- */

static int count_same(struct importing *im, const struct digest *digest,
                      uint32_t *times)
{
    struct str key =
        arena_str(&im->keys, (struct str){(const char *)digest->bytes, DIGEST_SIZE});
    uint32_t *at = array_room(im->times, im->n_times, &im->times_room, sizeof *at),
             index = 0;
    if (at)
        im->times = at; /* also when the key has no room */
    if (im->keys.failed || !at)
        return error_nomem(im->error);
    int rc = map_add(&im->contents, key, (uint32_t)im->n_times, &index);
    if (rc < 0)
        return error_nomem(im->error);
    if (rc > 0) {
        index = (uint32_t)im->n_times++;
        im->times[index] = 0;
    }
    *times = ++im->times[index];
    return 0;
}

/* By its own id, or by what it holds, how often that came before, and the file. */
static int find_origin(struct importing *im, struct str uuid,
                       const struct digest *digest, struct ready_line *ready)
{
    struct digest origin;
    uint32_t times = 0;
    uint8_t count[4];
    if (!im->name.ptr)
        return 0;
    int rc = uuid.len ? 0 : count_same(im, digest, &times);
    if (rc)
        return rc;
    sha256_begin(im->sha);
    sha256_add(im->sha, uuid.len ? "u" : "c", 1);
    if (uuid.len) {
        sha256_add(im->sha, uuid.ptr, uuid.len);
    } else {
        for (unsigned i = 0; i < sizeof count; i++)
            count[i] = (uint8_t)(times >> 8 * i);
        sha256_add(im->sha, digest->bytes, DIGEST_SIZE);
        sha256_add(im->sha, count, sizeof count);
        sha256_add(im->sha, im->name.ptr, im->name.len);
    }
    sha256_end(im->sha, &origin);
    memcpy(ready->origin, origin.bytes, MESSAGE_ORIGIN_BYTES);
    ready->message.origin =
        (struct str){(const char *)ready->origin, MESSAGE_ORIGIN_BYTES};
    return 0;
}

/* ---- What it costs ---- */

/* What of it was not counted with an earlier part of the same answer. */
static int count_tokens(struct importing *im, const struct transcript_line *read,
                        struct new_message *message)
{
    uint32_t index = 0;
    message->tokens_in = read->tokens_in;
    message->tokens_out = read->tokens_out;
    if (!read->reply_id.len || (!read->tokens_in && !read->tokens_out))
        return 0;
    struct str key = arena_str(&im->keys, read->reply_id);
    struct answer *at =
        array_room(im->counted, im->n_counted, &im->counted_room, sizeof *at);
    if (at)
        im->counted = at; /* also when the key has no room */
    if (im->keys.failed || !at)
        return error_nomem(im->error);
    int rc = map_add(&im->answers, key, (uint32_t)im->n_counted, &index);
    if (rc < 0)
        return error_nomem(im->error);
    if (rc > 0) {
        index = (uint32_t)im->n_counted++;
        at[index] = (struct answer){0};
    }
    at += index;
    message->tokens_in -=
        at->tokens_in < message->tokens_in ? at->tokens_in : message->tokens_in;
    message->tokens_out -=
        at->tokens_out < message->tokens_out ? at->tokens_out : message->tokens_out;
    at->tokens_in += message->tokens_in;
    at->tokens_out += message->tokens_out;
    return 0;
}

/* ---- Without secrets ---- */

static bool has_secret(const struct importing *im, struct str text)
{
    return known_secrets_found(text) || redactor_finds(im->redactor, text);
}

static void redact(const struct importing *im, struct str text, struct buf *out)
{
    struct buf values = BUF_INIT;
    redact_text(im->redactor, text, &values);
    known_secrets_redact(buf_view(&values), 0, out);
    out->failed |= values.failed;
    buf_release(&values);
}

/* A secret may be written with escapes: then its string is written anew. */
static void redact_string(const struct importing *im, struct str raw, struct buf *out)
{
    struct buf plain = BUF_INIT, clean = BUF_INIT;
    if (raw.len && memchr(raw.ptr, '\\', raw.len))
        json_unescape(raw, &plain);
    if (plain.size && has_secret(im, buf_view(&plain))) {
        redact(im, buf_view(&plain), &clean);
        json_escape(buf_view(&clean), out);
    } else {
        buf_str(out, raw);
    }
    out->failed |= plain.failed || clean.failed;
    buf_release(&plain);
    buf_release(&clean);
}

static void redact_strings(const struct importing *im, struct str line, struct buf *out)
{
    struct json_scan in = json_scan_of(line);
    const char *done = line.ptr;
    enum json_token token;
    while ((token = json_next(&in)) != JSON_END && token != JSON_BAD) {
        if (token != JSON_STRING && token != JSON_KEY)
            continue;
        buf_add(out, done, (size_t)(in.raw.ptr - done));
        redact_string(im, in.raw, out);
        done = in.raw.ptr + in.raw.len;
    }
    buf_add(out, done, (size_t)(line.ptr + line.len - done));
}

/* The line as it is stored; its secrets may leave something that cannot be read. */
static int clean_line(struct importing *im, struct str line, bool readable,
                      struct new_message *message)
{
    struct buf strings = BUF_INIT, whole = BUF_INIT;
    struct transcript_line read;
    bool escapes = readable && line.len && memchr(line.ptr, '\\', line.len);
    if (escapes)
        redact_strings(im, line, &strings);
    struct str body = escapes ? buf_view(&strings) : line;
    if (has_secret(im, body)) {
        redact(im, body, &whole);
        body = buf_view(&whole);
    }
    int rc = buf_check(&strings, im->error) ?: buf_check(&whole, im->error);
    if (!rc && readable && whole.size && !transcript_read(body, &read))
        message->form = MESSAGE_UNREADABLE;
    message->body = arena_str(&im->arena, body);
    buf_release(&strings);
    buf_release(&whole);
    return !rc && im->arena.failed ? error_nomem(im->error) : rc;
}

static int take_model(struct importing *im, struct str raw, struct new_message *message)
{
    struct buf model = BUF_INIT;
    json_unescape(raw, &model);
    struct outside outside = {im->redactor, true, NULL};
    struct outside_text text = {OUTSIDE_NAME, "the model", buf_view(&model), NULL};
    bool fits = utf8_is_text(text.text) && outside_check(&outside, &text, NULL) == 0;
    text.text.len = fits ? utf8_fit(text.text, MESSAGE_MODEL_BYTES - 1) : 0;
    int rc =
        buf_check(&model, im->error)
            ?: outside_take(&outside, &text, &im->arena, &message->model, im->error);
    buf_release(&model);
    return !rc && im->arena.failed ? error_nomem(im->error) : rc;
}

/* ---- A line ---- */

static int understand(struct importing *im, const struct file_line *line,
                      const struct transcript_line *read, struct ready_line *ready)
{
    struct new_message *message = &ready->message;
    bool readable = message->form == MESSAGE_LINE;
    message->role = (uint8_t)read->role;
    message->time_ns = read->time_ns;
    message->prompt = read->prompt;
    int rc = find_origin(im, readable ? read->uuid : STR(""), &ready->digest, ready);
    if (!rc && readable)
        rc = count_tokens(im, read, message);
    if (!rc && readable)
        rc = take_model(im, read->model, message);
    message->reply = read->reply && message->model.len;
    ready->raw = arena_str(&im->arena, line->bytes);
    return !rc && im->arena.failed ? error_nomem(im->error) : rc;
}

/* Where it is complete a line without an end is a line: no object begins another. */
static int take_line(struct importing *im, const struct file_line *line)
{
    struct ready_line *ready = &im->lines[im->n];
    struct transcript_line read = {.role = TRANSCRIPT_OTHER};
    bool readable = !line->too_large && transcript_read(line->bytes, &read);
    if (!readable && !line->ended) {
        im->result.torn = true;
        if (im->problem)
            im->problem(im->context, CAIRN_LINE_TORN, im->file.number);
        return 0;
    }
    *ready = (struct ready_line){.digest = line->digest, .number = im->file.number};
    ready->message.form = line->too_large ? MESSAGE_LEFT_OUT
                          : readable      ? MESSAGE_LINE
                                          : MESSAGE_UNREADABLE;
    int rc = line->too_large ? 0
                             : sha256_of(line->bytes.ptr, line->bytes.len,
                                         &ready->digest, im->error);
    if (!readable)
        read = (struct transcript_line){.role = TRANSCRIPT_OTHER};
    ready->message.size = line->size;
    if (!rc)
        rc = understand(im, line, &read, ready);
    if (rc)
        return rc;
    ready->message.digest = line->too_large ? &ready->digest : NULL;
    im->result.lines++;
    im->bytes += line->bytes.len;
    im->n++;
    return 0;
}

/* ---- Into the store ---- */

static int is_known(struct importing *im, struct live *live,
                    const struct ready_line *ready, bool *known)
{
    uint64_t n = 0;
    int rc = ready->message.origin.len
                 ? store_find_message(live->store, live->row.session,
                                      ready->message.origin, &n, im->error)
                 : 0;
    *known = n > 0;
    return rc;
}

static int put_line(struct importing *im, struct live *live, struct ready_line *ready,
                    struct message_seen *end, struct cairn_message_import *did)
{
    struct new_message *message = &ready->message;
    int rc = ready->known ? 0 : is_known(im, live, ready, &ready->known);
    did->skipped += ready->known;
    ready->added = !rc && !ready->known;
    if (!ready->added)
        return rc;
    did->unreadable += message->form == MESSAGE_UNREADABLE;
    did->too_large += message->form == MESSAGE_LEFT_OUT;
    message->file = im->name.ptr ? im->name : CLEAN("");
    if (!message->time_ns)
        message->time_ns = live->now.utc_ns;
    rc = message_append(live, message, end, im->error);
    did->added++;
    did->last = end->n;
    did->tokens_in += message->tokens_in;
    did->tokens_out += message->tokens_out;
    return rc;
}

/* One event for all of them, with the last. */
static int put_lines(struct importing *im, struct live *live, bool last,
                     struct cairn_message_import *did)
{
    struct message_seen end;
    int rc = message_end(live, &end, im->error);
    for (size_t i = 0; i < im->n && !rc; i++)
        rc = put_line(im, live, &im->lines[i], &end, did);
    if (!rc && last && did->added)
        rc = message_log(live, did->added, im->error);
    return rc ?: live_put_row(live, im->error);
}

/* *all: there is nothing to write, and nobody is kept waiting. */
static int find_known(struct importing *im, bool *all)
{
    struct live live;
    int rc = live_read(&live, im->store, im->session, im->error)
                 ?: live_check_open(&live, im->error);
    *all = true;
    for (size_t i = 0; i < im->n && !rc; i++) {
        rc = is_known(im, &live, &im->lines[i], &im->lines[i].known);
        *all = *all && im->lines[i].known;
    }
    return live_close(&live, rc, im->error);
}

/* What is known stays so: no message is ever deleted. */
static int clean_lines(struct importing *im)
{
    int rc = 0;
    for (size_t i = 0; i < im->n && !rc; i++) {
        struct ready_line *ready = &im->lines[i];
        if (!ready->known && ready->message.form != MESSAGE_LEFT_OUT)
            rc = clean_line(im, ready->raw, ready->message.form == MESSAGE_LINE,
                            &ready->message);
    }
    return rc;
}

static void tell_problems(struct importing *im)
{
    for (size_t i = 0; i < im->n && im->problem; i++) {
        const struct ready_line *line = &im->lines[i];
        bool large = line->message.form == MESSAGE_LEFT_OUT;
        if (line->added && (large || line->message.form == MESSAGE_UNREADABLE))
            im->problem(im->context,
                        large ? CAIRN_LINE_TOO_LARGE : CAIRN_LINE_UNREADABLE,
                        line->number);
    }
}

static int write_lines(struct importing *im, bool last,
                       struct cairn_message_import *did)
{
    struct live live;
    int rc = live_write(&live, im->store, im->session, im->error)
             ?: live_check_open(&live, im->error)
             ?: put_lines(im, &live, last, did);
    return live_close(&live, rc, im->error);
}

static int flush(struct importing *im, bool last)
{
    struct cairn_message_import did = im->result;
    bool all = false;
    int rc = find_known(im, &all) ?: clean_lines(im);
    if (!rc && (!all || (last && did.added)))
        rc = write_lines(im, last, &did);
    else if (!rc)
        did.skipped += im->n;
    if (!rc) {
        im->result = did;
        tell_problems(im);
    }
    im->n = im->bytes = 0;
    arena_release(&im->arena);
    im->arena = (struct arena)ARENA_INIT;
    return rc;
}

/* ---- The file ---- */

static bool is_blank(const struct file_line *line)
{
    for (size_t i = 0; i < line->bytes.len; i++)
        if (!strchr(" \t\r", line->bytes.ptr[i]) || !line->bytes.ptr[i])
            return false;
    return !line->too_large;
}

/* The last lines are held back, so that the totals come with them. */
static int take_lines(struct importing *im)
{
    struct file_line line;
    int rc;
    while ((rc = message_file_next(&im->file, &line, im->error)) > 0) {
        if (is_blank(&line))
            continue;
        rc = im->n == LINES_AT_ONCE || (im->n && im->bytes + line.size > BYTES_AT_ONCE)
                 ? flush(im, false)
                 : 0;
        if (!rc)
            rc = take_line(im, &line);
        if (rc)
            return rc;
    }
    return rc ?: flush(im, true);
}

static int find_session(struct importing *im, const char *session)
{
    struct live live;
    int rc = live_read(&live, im->store, session, im->error)
             ?: live_check_open(&live, im->error)
             ?: live_redactor(&live, &im->redactor, im->error);
    u64_text(live.row.session, im->session);
    return live_close(&live, rc, im->error);
}

static int take_name(struct importing *im, const char *file)
{
    struct buf name = BUF_INIT;
    struct outside outside = {im->redactor, true, im->store};
    add_visible(&name, str_of(file));
    struct outside_text text = {OUTSIDE_NAME, "the name of the transcript",
                                buf_view(&name), NULL};
    int rc = buf_check(&name, im->error)
                 ?: outside_take(&outside, &text, &im->keys, &im->name, im->error);
    buf_release(&name);
    return rc;
}

static void release(struct importing *im)
{
    message_file_release(&im->file);
    redactor_free(im->redactor);
    sha256_free(im->sha);
    map_release(&im->contents);
    map_release(&im->answers);
    free(im->times);
    free(im->counted);
    arena_release(&im->keys);
    arena_release(&im->arena);
    free(im);
}

int cairn_message_import(struct cairn_store *store, const char *session,
                         const char *file, int64_t (*read)(void *, char *, size_t),
                         void (*problem)(void *, enum cairn_line_problem,
                                         uint64_t line),
                         void *context, struct cairn_message_import *result,
                         struct cairn_error *error)
{
    struct importing *im = calloc(1, sizeof *im);
    if (!im)
        return error_nomem(error);
    im->store = store;
    im->file = (struct message_file){
        .read = read, .context = context, .most = CAIRN_MESSAGE_LINE_MAX};
    im->problem = problem;
    im->context = context;
    im->sha = sha256_new();
    im->error = error;
    im->keys = im->arena = (struct arena)ARENA_INIT;
    int rc = im->sha ? 0 : error_nomem(error);
    if (!rc)
        rc = find_session(im, session);
    if (!rc && file)
        rc = take_name(im, file);
    if (!rc)
        rc = take_lines(im);
    if (!rc && result)
        *result = im->result;
    release(im);
    return rc;
}

/* ==== Where the transcript is ==== */

/* A transcript that is read again and again. Beside the database a line says what it
 * was when it was read to its end: then there is nothing to read. It is only believed
 * where it is, byte for byte, what would be written now, and where the session has as
 * many messages as then (a store may have been put back). */

struct reading {
    int fd;
    int sys;
};

static int64_t read_some(void *context, char *bytes, size_t n)
{
    struct reading *reading = context;
    for (;;) {
        ssize_t got = read(reading->fd, bytes, n);
        if (got >= 0)
            return got;
        if (errno == EINTR)
            continue;
        reading->sys = errno;
        return -1;
    }
}

/* ---- What it was ---- */

static int last_message(struct cairn_store *store, const char *session, uint64_t *out,
                        struct cairn_error *error)
{
    struct live live;
    int rc = live_read(&live, store, session, error);
    *out = live.last_message;
    return live_close(&live, rc, error);
}

static int make_mark(struct cairn_store *store, const char *session, const char *path,
                     const struct stat *st, struct buf *out, struct cairn_error *error)
{
    uint64_t last = 0;
    int rc = last_message(store, session, &last, error);
    buf_clear(out);
    buf_format(out, "1 %llu %llu %lld %lld %lld %llu ", (unsigned long long)st->st_dev,
               (unsigned long long)st->st_ino, (long long)st->st_size,
               (long long)timespec_ns(&st->st_mtim),
               (long long)timespec_ns(&st->st_ctim), (unsigned long long)last);
    buf_text(out, path);
    return rc ?: buf_check(out, error);
}

static bool is_marked(const char *file, const struct buf *mark)
{
    enum { MARK_MOST = HOOK_PATH_BYTES + 256 };
    struct buf there = BUF_INIT;
    bool same = os_read_plain(file, MARK_MOST, &there, NULL) == 0 &&
                str_equal(buf_view(&there), buf_view(mark));
    buf_release(&there);
    return same;
}

/* ---- Reading it ---- */

static int open_transcript(const char *path, struct stat *st, struct cairn_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && os_is_missing(errno))
        return -2;
    if (fd < 0 || fstat(fd, st) < 0) {
        error_sys(error, errno, "the transcript %s", path);
    } else if (S_ISREG(st->st_mode)) {
        return fd;
    } else {
        error_set(error, CAIRN_EUSAGE, "the transcript %s is not a regular file", path);
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static int import_all(struct cairn_store *store, const char *session, const char *path,
                      int fd, struct cairn_message_import *result,
                      struct cairn_error *error)
{
    struct reading reading = {.fd = fd};
    char *real = realpath(path, NULL); /* as `cairn session message import` has it */
    int rc = cairn_message_import(store, session, real ? real : path, read_some, NULL,
                                  &reading, result, error);
    free(real);
    if (rc && reading.sys)
        rc = error_sys(error, reading.sys, "the transcript %s", path);
    return rc;
}

static int import_open(struct cairn_store *store, const char *session, const char *path,
                       int fd, const struct stat *st, const char *file,
                       struct cairn_message_import *result, struct cairn_error *error)
{
    struct buf mark = BUF_INIT;
    int rc = make_mark(store, session, path, st, &mark, error);
    bool known = !rc && is_marked(file, &mark);
    if (!rc && !known)
        rc = import_all(store, session, path, fd, result, error);
    if (!rc && !known && !result->torn &&
        make_mark(store, session, path, st, &mark, NULL) == 0)
        (void)os_replace_file(file, 0600, buf_view(&mark), NULL);
    buf_release(&mark);
    return rc;
}

int transcript_file_import(struct cairn_store *store, const char *session,
                           const char *path, struct cairn_message_import *result,
                           struct cairn_error *error)
{
    struct stat st;
    struct buf file = BUF_INIT;
    int fd = open_transcript(path, &st, error);
    if (fd == -2)
        return 0;
    if (fd < 0)
        return error && error->code ? error->code : CAIRN_EIO;
    buf_format(&file, "%s/transcript-%s.mark", cairn_store_path(store), session);
    int rc =
        buf_check(&file, error)
            ?: import_open(store, session, path, fd, &st, file.data, result, error);
    buf_release(&file);
    close(fd);
    return rc;
}
