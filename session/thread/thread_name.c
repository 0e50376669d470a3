/* SPDX-License-Identifier: MIT */
/* A thread is a session: how the one is found by the bytes that name the other. */
#include "session/thread/thread_int.h"

#include "base/words.h"

#include <stdio.h>

static bool is_plain(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_' || c == '.' || c == ':' || c == '@';
}

/* What the settings of the session say of it: every name has a text of its own. */
static void thread_text(struct str thread, struct buf *out)
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

bool thread_of_text(struct str text, struct buf *out)
{
    if (!str_begins(text, STR(THREAD_START)))
        return false;
    for (size_t i = sizeof THREAD_START - 1; i < text.len; i++) {
        int high = i + 2 < text.len ? hex_digit(text.ptr[i + 1]) : -1,
            low = i + 2 < text.len ? hex_digit(text.ptr[i + 2]) : -1;
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

/* The text, and the name of the session: the text, or where it is long a digest behind a
 * '+', which is in no text. */
static int name_thread(struct sha256 *sha, struct str thread, struct buf *text,
                       char name[CAIRN_SESSION_NAME_MAX], struct cairn_error *error)
{
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];
    thread_text(thread, text);
    if (buf_check(text, error) != 0)
        return CAIRN_ENOMEM;
    size_t last = thread.len == 0                                 ? 0
                  : is_plain((uint8_t)thread.ptr[thread.len - 1]) ? 1
                                                                  : 3;
    if (text->size - last < CAIRN_SESSION_NAME_MAX - 4) {
        snprintf(name, CAIRN_SESSION_NAME_MAX, "%.*s", (int)text->size, text->data);
        return 0;
    }
    sha256_begin(sha);
    sha256_add(sha, thread.ptr, thread.len);
    sha256_end(sha, &digest);
    digest_hex(&digest, hex);
    snprintf(name, CAIRN_SESSION_NAME_MAX, THREAD_START "+%s", hex);
    return 0;
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
    struct looking l = {.place = place, .error = error};
    int rc = name_thread(sha, thread, &text, name, error);
    l.text = buf_view(&text);
    rc = rc ?: store_find_session(store, str_of(name), &session, error)
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
    live->turn = live->logged = 0;
    int rc = name_thread(live->sha, thread, &text, name, error)
                 ?: session_begin(live, name, &live->now, false, error);
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
