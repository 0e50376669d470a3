/* SPDX-License-Identifier: MIT */
/* What people call a checkpoint, in the order in which it is tried:
 *
 *     debug:42-9f3ac1d20b7e  42  9f3a    an id, its number, digits of its digest
 *     head  @  latest                    the newest one of the current branch
 *     now  2 hours ago  2025-01-20 14:30 the newest one until that time
 *     before-the-fix                     a label, then a tag: the newest one with it
 *     spike                              a branch: its newest one
 *     try a smaller buffer               a message, or how only one message begins
 *
 * Behind each may stand ~N, ~ or ^ (behind @ also -): so many steps back on the line
 * that led to it. */
#include "base/error.h"
#include "base/utf8.h"
#include "checkpoint/find.h"
#include "session/line_int.h"
#include "session/when.h"
#include "storage/rows_checkpoint.h"
#include "storage/sessions/rows_annotation.h"

#include <stdlib.h>
#include <strings.h>

/* ---- Steps back ---- */

/* Takes a suffix off; false: there is none, or its number is too large. */
static bool take_step(struct str *text, uint64_t *steps)
{
    size_t n = text->len, digits = 0;
    uint64_t number = 0, unit = 1;
    while (digits < n && digits < 9 && text->ptr[n - 1 - digits] >= '0' &&
           text->ptr[n - 1 - digits] <= '9') {
        number += unit * (uint64_t)(text->ptr[n - 1 - digits++] - '0');
        unit *= 10;
    }
    n -= digits;
    if (n < 2)
        return false;
    char sign = text->ptr[n - 1];
    bool bare = sign == '^' || (sign == '-' && text->ptr[0] == '@');
    if ((sign != '~' && !bare) || (bare && digits))
        return false;
    *steps += digits ? number : 1;
    text->len = n - 1;
    return true;
}

static int step_back(struct live *live, uint64_t steps, uint64_t *seq,
                     struct cairn_error *error)
{
    struct line line = {0};
    int rc = line_load(live->store, 0, *seq, &line, error);
    if (!rc && steps >= line.n)
        rc = error_set(error, CAIRN_ENOTFOUND,
                       "there are only %zu checkpoints before debug:%llu on its line",
                       line.n - 1, (unsigned long long)*seq);
    if (!rc)
        *seq = line.at[line.n - 1 - steps].seq;
    free(line.at);
    return rc;
}

/* ---- Labels, tags, branches, messages ---- */

struct naming {
    struct live *live;
    struct str name;
    uint64_t labelled, tagged, branch, said; /* seq, 0: none */
    uint32_t begin;                          /* how many messages begin with the name */
    struct cairn_error *error;
};

static int see_label(void *context, const struct annotation_row *row)
{
    struct naming *n = context;
    if (row->kind == ANNOTATION_LABEL && str_equal(clean_str(row->text), n->name) &&
        row->seq > n->labelled)
        n->labelled = row->seq;
    return 0;
}

static bool is_of_session(struct naming *n, uint64_t seq)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct sections_at at;
    int rc =
        sections_read(n->live->store, n->live->sha, seq, &arena, &sections, &at, NULL);
    arena_release(&arena);
    return !rc && at.session == n->live->row.session;
}

static void see_message(struct naming *n, struct str message, uint64_t seq)
{
    enum { LEAST = 3 }; /* less would fit by chance */
    if (message.len < n->name.len || n->name.len < LEAST ||
        memcmp(message.ptr, n->name.ptr, n->name.len) != 0)
        return;
    n->begin++;
    if (seq > n->said)
        n->said = seq;
}

/* A damaged record has no words to go by, and is named by its number. */
static int see_words(void *context, const struct checkpoint_row *row)
{
    struct naming *n = context;
    struct arena arena = ARENA_INIT;
    struct sections sections;
    int rc = sections_read(n->live->store, n->live->sha, row->seq, &arena, &sections,
                           NULL, n->error);
    for (uint32_t i = 0; !rc && i < sections.n_tags; i++)
        if (str_equal(sections.tags[i], n->name) && row->seq > n->tagged)
            n->tagged = row->seq;
    if (!rc)
        see_message(n, sections.message, row->seq);
    arena_release(&arena);
    return rc == CAIRN_EDAMAGED ? 0 : rc;
}

static int see_branch(void *context, const struct branch_row *row)
{
    struct naming *n = context;
    struct checkpoint_range range = {.namespace_id = NAMESPACE_DEBUG,
                                     .stream = row->branch};
    int rc = 0;
    if (str_equal(clean_str(row->name), n->name)) {
        rc = store_last_seq(n->live->store, NAMESPACE_DEBUG, row->branch, &n->branch,
                            n->error);
        if (!rc && !n->branch)
            n->branch = row->from_seq;
    }
    return rc ? rc
              : store_each_checkpoint(n->live->store, &range, see_words, n, n->error);
}

static int find_by_words(struct live *live, struct str name, uint64_t *seq,
                         struct cairn_error *error)
{
    struct naming n = {.live = live, .name = name, .error = error};
    int rc = store_each_annotation(live->store, 0, see_label, &n, error);
    if (!rc && n.labelled && is_of_session(&n, n.labelled)) {
        *seq = n.labelled;
        return 0;
    }
    if (!rc)
        rc = store_each_branch(live->store, live->row.session, see_branch, &n, error);
    if (rc)
        return rc;
    *seq = n.tagged ? n.tagged : n.branch ? n.branch : n.begin == 1 ? n.said : 0;
    if (*seq)
        return 0;
    return n.begin
               ? error_set(error, CAIRN_EAMBIGUOUS,
                           "%u messages of checkpoints begin with '%.*s': give an id "
                           "(`cairn checkpoint list` has them)",
                           n.begin, (int)name.len, name.ptr)
               : error_set(
                     error, CAIRN_ENOTFOUND,
                     "session %.*s has no checkpoint '%.*s': give an id, a label, "
                     "a tag, how a message begins (3 bytes or more), a branch, head, "
                     "head~2, or a "
                     "time such as '2 hours ago' (`cairn checkpoint list` shows "
                     "them)",
                     (int)live->row.name.len, live->row.name.ptr, (int)name.len,
                     name.ptr);
}

/* ---- All of it ---- */

static bool is_head(struct str name)
{
    static const char *const words[] = {"head", "@", "latest", "newest"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == name.len &&
            strncasecmp(words[i], name.ptr, name.len) == 0)
            return true;
    return false;
}

int session_check_new_name(const char *what, struct str name, struct cairn_error *error)
{
    struct str base = name;
    uint64_t steps;
    const char *reads =
        checkpoint_is_like_id(name)
            ? "the id of a checkpoint: give another one, such as 'fix-7'"
        : is_head(name) ? "the newest checkpoint: give another one, such as 'good'"
        : when_is_like_time(name)
            ? "a time: give another one, such as 'build-2026-11-01'"
        : take_step(&base, &steps)
            ? "a checkpoint so many steps back: give a name that does "
              "not end in ~, ^ or ~N"
            : NULL;
    return reads ? error_set(error, CAIRN_EUSAGE, "'%.*s' cannot be %s: it reads as %s",
                             (int)utf8_fit(name, 80), name.ptr, what, reads)
                 : 0;
}

/* A text that begins with a digit or is like a time is meant as one: what is wrong in
 * it is reported where nothing is called so. */
static int find_by_time_or_words(struct live *live, struct str name, const char *text,
                                 uint64_t *seq, struct cairn_error *error)
{
    struct cairn_moment moment = {.time = text};
    struct cairn_error why = {0};
    int64_t utc_ns;
    int as_time = when_parse(name, live->now.utc_ns, &zone_local, &utc_ns, &why);
    if (!as_time)
        return moment_find_time(live, &moment, seq, error);
    int rc = find_by_words(live, name, seq, error);
    if (rc == CAIRN_ENOTFOUND && name.len &&
        ((name.ptr[0] >= '0' && name.ptr[0] <= '9') || when_is_like_time(name)))
        rc = error_set(error, as_time, "%s", why.text);
    return rc;
}

static int find_base(struct live *live, const char *text, uint64_t *seq,
                     struct cairn_error *error)
{
    struct str name = str_of(text);
    struct cairn_error why = {0};
    if (is_head(name))
        return line_present_seq(live, seq, error);
    int rc = debug_seq(live->store, text, seq, &why);
    if (rc == CAIRN_EUSAGE || (rc == CAIRN_ENOTFOUND && !strchr(text, ':')))
        rc = find_by_time_or_words(live, name, text, seq, &why);
    return rc ? error_set(error, rc, "%s", why.text) : 0;
}

static int checkpoint_named(struct live *live, const char *text, uint64_t *seq,
                            struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct cairn_error why = {0};
    struct str base = str_of(text);
    uint64_t steps = 0;
    while (take_step(&base, &steps))
        ;
    struct str copy = arena_str(&arena, base);
    int rc = copy.ptr ? find_base(live, copy.ptr, seq, &why) : error_nomem(&why);
    if (rc && steps && copy.ptr) { /* `v1~2` may be a label */
        steps = 0;
        rc = find_base(live, text, seq, &why);
    }
    if (!rc && steps)
        rc = step_back(live, steps, seq, &why);
    arena_release(&arena);
    return rc ? error_set(error, rc, "%s", why.text) : 0;
}

/* ---- By number or id ---- */

static int check_meant(struct live *live, uint64_t seq, const char *tag,
                       struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct sections sections;
    struct sections_at at;
    char number[CAIRN_ID_MAX];
    int rc = sections_read(live->store, live->sha, seq, &arena, &sections, &at, error);
    bool of_session = !rc && (!at.session || at.session == live->row.session);
    bool tagged = !rc && sections_have_tag(&sections, tag);
    arena_release(&arena);
    if (rc || (of_session && tagged))
        return rc;
    checkpoint_number(NAMESPACE_DEBUG, seq, number);
    return of_session ? error_set(error, CAIRN_ENOTFOUND,
                                  "checkpoint %s has no tag '%.80s'", number, tag)
                      : error_set(error, CAIRN_ENOTFOUND,
                                  "checkpoint %s is not one of session %.*s", number,
                                  (int)live->row.name.len, live->row.name.ptr);
}

static int find_meant(struct live *live, const struct cairn_moment *moment,
                      uint64_t *seq, struct cairn_error *error)
{
    int given = (moment->time != NULL) + (moment->seq != 0) + (moment->id != NULL) +
                (moment->name != NULL);
    if (given != 1)
        return error_set(error, CAIRN_EUSAGE,
                         "give one of a time, a sequence number, an id and a name, not "
                         "%s",
                         given ? "several" : "none");
    if (moment->name && !moment->tag)
        return checkpoint_named(live, moment->name, seq, error);
    if (moment->time)
        return moment_find_time(live, moment, seq, error);
    *seq = moment->seq;
    int rc = moment->id     ? debug_seq(live->store, moment->id, seq, error)
             : moment->name ? checkpoint_named(live, moment->name, seq, error)
                            : 0;
    return rc ? rc : check_meant(live, *seq, moment->tag, error);
}

int cairn_session_at(struct cairn_store *store, const char *session,
                     const struct cairn_moment *moment,
                     struct cairn_checkpoint_info *info, struct cairn_error *error)
{
    SIZE_CHECK("cairn_moment", moment, error);
    struct live live;
    uint64_t seq = 0;
    char id[CAIRN_ID_MAX];
    int rc = live_read(&live, store, session, error);
    if (!rc)
        rc = find_meant(&live, moment, &seq, error);
    rc = live_close(&live, rc, error);
    if (rc)
        return rc;
    checkpoint_number(NAMESPACE_DEBUG, seq, id);
    return cairn_checkpoint_get(store, id, info, error);
}
