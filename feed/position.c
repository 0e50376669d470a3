/* SPDX-License-Identifier: MIT */
/* Positions as text, and what they are made of. */
#include "feed/feed_int.h"

#include "base/memory.h"
#include "base/words.h"

enum { STORE_DIGITS = 8 }; /* of the store's id */

struct told *told_get(struct told_list *list, uint64_t number, uint64_t turn)
{
    size_t low = 0, high = list->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->at[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < list->n && list->at[low].number == number)
        return &list->at[low];
    struct told *at = array_room(list->at, list->n, &list->capacity, sizeof *at);
    if (!at)
        return NULL;
    list->at = at;
    memmove(at + low + 1, at + low, (list->n++ - low) * sizeof *at);
    at[low] = (struct told){.number = number, .turn = turn};
    return &at[low];
}

void position_write(struct buf *out, const char *store, const struct feed_place *place,
                    const struct told_list *runs)
{
    buf_format(out, "%.*s-%llu", STORE_DIGITS, store, (unsigned long long)place->turn);
    if (place->session)
        buf_format(out, "-s%llu", (unsigned long long)place->session);
    for (size_t i = 0; i < runs->n; i++)
        if (runs->at[i].due)
            buf_format(out, "-%llu.%llu", (unsigned long long)runs->at[i].number,
                       (unsigned long long)runs->at[i].turn);
}

/* Up to the next `-`, which goes with it. */
static struct str next_part(struct str *rest)
{
    const char *end = rest->len ? memchr(rest->ptr, '-', rest->len) : NULL;
    struct str part = {rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len};
    size_t used = end ? part.len + 1 : part.len;
    *rest = (struct str){rest->ptr + used, rest->len - used};
    return part;
}

static bool read_run(struct str part, struct told_list *runs, int *rc)
{
    const char *dot = part.len ? memchr(part.ptr, '.', part.len) : NULL;
    size_t n = dot ? (size_t)(dot - part.ptr) : 0;
    uint64_t run, turn;
    if (!dot || !str_to_u64((struct str){part.ptr, n}, &run) || !run ||
        !str_to_u64((struct str){dot + 1, part.len - n - 1}, &turn))
        return false;
    struct told *told = told_get(runs, run, turn);
    if (!told)
        *rc = CAIRN_ENOMEM;
    else
        told->due = true;
    return told != NULL;
}

static bool read_session(struct str part, uint64_t *session)
{
    return str_to_u64((struct str){part.ptr + 1, part.len - 1}, session) && *session;
}

bool position_read(const char *text, const char *store, struct feed_place *place,
                   struct told_list *runs, int *rc)
{
    struct str rest = str_of(text);
    bool cut = rest.len && rest.ptr[rest.len - 1] == '-';
    struct str id = next_part(&rest);
    bool good = !cut && id.len == STORE_DIGITS &&
                memcmp(id.ptr, store, STORE_DIGITS) == 0 &&
                str_to_u64(next_part(&rest), &place->turn);
    place->session = 0;
    if (good && rest.len && rest.ptr[0] == 's')
        good = read_session(next_part(&rest), &place->session);
    while (good && rest.len)
        good = read_run(next_part(&rest), runs, rc);
    return good;
}
