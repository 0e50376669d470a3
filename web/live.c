/* SPDX-License-Identifier: MIT */
#include "web/live.h"

#include "base/sha256.h"
#include "base/words.h"
#include "cli/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A page takes at most a 33rd of the time of a processor. */
enum { TICK_MS = 100, SHARE = 33 };

/* What the addresses of pages that are renewed can have. */
static const char *const names[] = {"workflow", "offset", "task", "attempt", "stream",
                                    "from",     "id",     "open", "find",    "zoom"};
enum { NAMES = COUNT_OF(names) };

struct live {
    char *path, *values[NAMES]; /* of what is watched; heap */
    uint64_t turn;              /* of the store, that the reader has */
    bool begun;
    bool moves;             /* something runs: the page looks otherwise with the time */
    struct digest *digests; /* [n] of the parts that the reader has */
    size_t n;
    int64_t shown_ms; /* when the page was written last */
};

struct live *live_new(const struct page_ask *ask, const char *turn)
{
    struct live *live = calloc(1, sizeof *live);
    bool whole = live && (live->path = strdup(ask->path));
    for (size_t i = 0; whole && i < NAMES; i++) {
        const char *value = ask->query(ask->request, names[i]);
        whole = !value || (live->values[i] = strdup(value));
    }
    if (!whole) {
        live_free(live);
        return NULL;
    }
    if (!str_to_u64(str_of(turn), &live->turn))
        live->turn = UINT64_MAX;
    return live;
}

void live_free(struct live *live)
{
    if (!live)
        return;
    free(live->path);
    for (size_t i = 0; i < NAMES; i++)
        free(live->values[i]);
    free(live->digests);
    free(live);
}

static const char *query_of(void *request, const char *name)
{
    const struct live *live = request;
    for (size_t i = 0; i < NAMES; i++)
        if (strcmp(name, names[i]) == 0)
            return live->values[i];
    return NULL;
}

/* "data: " before each line, since a line feed ends one. */
static void put_event(struct buf *out, const struct part_mark *mark, const char *html,
                      uint64_t turn)
{
    size_t n = mark->end - mark->start;
    buf_format(out, "event: part\nid: %" PRIu64 "\ndata: %s\ndata: ", turn, mark->id);
    for (size_t at = 0; at < n;) {
        const char *end = memchr(html + at, '\n', n - at);
        size_t length = end ? (size_t)(end - (html + at)) : n - at;
        buf_add(out, html + at, length);
        buf_text(out, end ? "\ndata: " : "");
        at += length + (end ? 1 : 0);
    }
    buf_text(out, "\n\n");
}

/* What differs from what the reader has; the first time only if that is older. */
static bool compare(struct live *live, const struct page_parts *parts, uint64_t turn,
                    const char *html, struct buf *out)
{
    bool same = !live->begun && live->turn == turn;
    struct digest *digests = calloc(parts->n + 1, sizeof *digests);
    if (!digests)
        return false;
    if (live->begun && parts->n != live->n)
        buf_text(out, "event: reload\ndata: \n\n");
    for (size_t i = 0; i < parts->n; i++) {
        const struct part_mark *mark = &parts->at[i];
        if (sha256_of(html + mark->start, mark->end - mark->start, &digests[i], NULL)) {
            free(digests);
            return false;
        }
        if (!same && (!live->begun || (parts->n == live->n &&
                                       !digest_equal(&digests[i], &live->digests[i]))))
            put_event(out, mark, html + mark->start, turn);
    }
    free(live->digests);
    live->digests = digests;
    live->n = parts->n;
    live->begun = true;
    return true;
}

struct live_rest live_tick(struct live *live, struct cairn_store *store,
                           const struct page_options *given, struct buf *out)
{
    struct page_options options = *given;
    struct page_parts parts = {0};
    struct page_ask ask = {live->path, live, query_of};
    struct page_answer answer = {.status = 200};
    int64_t begin = now_ms(), took;
    if (live->begun && given->turn == live->turn &&
        (!live->moves || begin - live->shown_ms < LIVE_CLOCK_MS))
        return (struct live_rest){TICK_MS, live->moves};
    options.parts = &parts;
    pages_answer(store, &options, &ask, &answer);
    bool ok = answer.status == 200 && !answer.body.failed && !parts.failed &&
              compare(live, &parts, given->turn, answer.body.data, out);
    live->turn = given->turn;
    live->moves = parts.moves;
    if (answer.status != 200 && live->begun)
        buf_text(out, "event: reload\ndata: \n\n");
    out->failed |= !ok && answer.status == 200;
    buf_release(&answer.body);
    free(parts.at);
    live->shown_ms = now_ms();
    took = live->shown_ms - begin;
    return (struct live_rest){took * SHARE > TICK_MS ? took * SHARE : TICK_MS,
                              live->moves};
}
