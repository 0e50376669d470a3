/* SPDX-License-Identifier: MIT */
/* A thread is a session: how the one is found by the bytes that name the other. */
#include "session/thread/thread_int.h"

#include <stdio.h>

static bool is_plain(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_' || c == '.' || c == ':' || c == '@';
}

void thread_text(struct str thread, struct buf *out)
{
    buf_text(out, THREAD_START);
    for (size_t i = 0; i < thread.len; i++) {
        uint8_t c = (uint8_t)thread.ptr[i];
        if (is_plain(c))
            buf_byte(out, c);
        else
            buf_format(out, "%%%02x", c);
    }
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool thread_of_text(struct str text, struct buf *out)
{
    if (!str_begins(text, STR(THREAD_START)))
        return false;
    for (size_t i = sizeof THREAD_START - 1; i < text.len; i++) {
        int high = i + 2 < text.len ? hex_value(text.ptr[i + 1]) : -1,
            low = i + 2 < text.len ? hex_value(text.ptr[i + 2]) : -1;
        if (is_plain((uint8_t)text.ptr[i])) {
            buf_byte(out, (uint8_t)text.ptr[i]);
        } else if (text.ptr[i] == '%' && high >= 0 && low >= 0) {
            buf_byte(out, (uint8_t)(high << 4 | low));
            i += 2;
        } else {
            return false;
        }
    }
    return true;
}

/* '+' is in no text. */
void thread_session_name(struct sha256 *sha, struct str thread,
                         char out[CAIRN_SESSION_NAME_MAX])
{
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];
    size_t n = sizeof THREAD_START - 1;
    memcpy(out, THREAD_START, n);
    for (size_t i = 0; i < thread.len && n < CAIRN_SESSION_NAME_MAX - 4; i++) {
        uint8_t c = (uint8_t)thread.ptr[i];
        n += (size_t)snprintf(out + n, 4, is_plain(c) ? "%c" : "%%%02x", c);
        out[n] = 0;
        if (n >= CAIRN_SESSION_NAME_MAX - 4 && i + 1 < thread.len)
            n = CAIRN_SESSION_NAME_MAX;
    }
    out[n < CAIRN_SESSION_NAME_MAX ? n : 0] = 0;
    if (n < CAIRN_SESSION_NAME_MAX)
        return;
    sha256_begin(sha);
    sha256_add(sha, thread.ptr, thread.len);
    sha256_end(sha, &digest);
    digest_hex(&digest, hex);
    snprintf(out, CAIRN_SESSION_NAME_MAX, THREAD_START "+%s", hex);
}

struct looking {
    struct str text;
    struct thread_place *place;
    struct cairn_error *error;
};

static int take_row(void *context, const struct session_row *row)
{
    struct looking *l = context;
    struct session_settings settings = {0};
    int rc =
        row->settings.len ? settings_decode(row->settings, &settings, l->error) : 0;
    if (rc)
        return rc;
    if (!str_equal(settings.later[SETTING_THREAD], l->text))
        return error_set(
            l->error, CAIRN_EUSAGE,
            "session %.*s has the name of a thread, and is none: rename or "
            "delete it",
            (int)row->name.len, row->name.ptr);
    *l->place = (struct thread_place){row->session, row->branch, row->started_ns};
    return 0;
}

int thread_find(struct cairn_store *store, struct sha256 *sha, struct str thread,
                struct thread_place *place, struct cairn_error *error)
{
    char name[CAIRN_SESSION_NAME_MAX];
    struct buf text = BUF_INIT;
    uint64_t session = 0;
    thread_session_name(sha, thread, name);
    thread_text(thread, &text);
    struct looking l = {buf_view(&text), place, error};
    int rc = buf_check(&text, error)
             ?: store_find_session(store, str_of(name), &session, error)
             ?: store_get_session(store, session, take_row, &l, error);
    buf_release(&text);
    return rc == CAIRN_ENOTFOUND
               ? error_set(error, rc, "there is no thread of that name (session %s)",
                           name)
               : rc;
}

static int make(struct live *live, struct str thread, struct thread_place *place,
                struct cairn_error *error)
{
    char name[CAIRN_SESSION_NAME_MAX];
    struct buf text = BUF_INIT;
    thread_session_name(live->sha, thread, name);
    thread_text(thread, &text);
    live->turn = live->logged = 0;
    int rc =
        buf_check(&text, error) ?: session_begin(live, name, &live->now, false, error);
    if (!rc) {
        live->settings.later[SETTING_THREAD] = buf_view(&text);
        rc = live_put_row(live, error);
        live->settings.later[SETTING_THREAD] = STR("");
    }
    if (!rc)
        *place = (struct thread_place){live->row.session, live->row.branch,
                                       live->row.started_ns};
    buf_release(&text);
    return rc;
}

int thread_find_or_make(struct live *live, struct str thread,
                        struct thread_place *place, struct cairn_error *error)
{
    int rc = thread_find(live->store, live->sha, thread, place, error);
    return rc == CAIRN_ENOTFOUND ? make(live, thread, place, error) : rc;
}
