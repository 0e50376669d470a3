/* SPDX-License-Identifier: MIT */
/* More is kept than is stored, so that a secret of which the tail has only the end is
 * recognised by its beginning: no private key is longer than that. */
#include "session/commands/tail.h"

#include "base/utf8.h"
#include "secrets/known_secrets.h"
#include "session/outside/redaction.h"

enum { WINDOW = 64 << 10 };

void tail_begin(struct tail *tail, const struct redactor *redactor)
{
    *tail = (struct tail){.window = BUF_INIT};
    redact_begin(&tail->values, redactor);
}

static void drop_front(struct buf *window)
{
    if (window->failed || window->size <= 2 * WINDOW)
        return;
    memmove(window->data, window->data + window->size - WINDOW, WINDOW);
    window->size = WINDOW;
}

void tail_add(struct tail *tail, struct str bytes)
{
    redact_add(&tail->values, bytes, &tail->window);
    drop_front(&tail->window);
}

/* Behind a character of which only the end is there. */
static struct str without_part(struct str text)
{
    size_t n = 0;
    while (n < 3 && n < text.len && ((unsigned char)text.ptr[n] & 0xc0) == 0x80)
        n++;
    return (struct str){text.ptr + n, text.len - n};
}

static struct str last_part(struct str text)
{
    if (text.len <= TAIL_BYTES)
        return text;
    return without_part((struct str){text.ptr + text.len - TAIL_BYTES, TAIL_BYTES});
}

int tail_end(struct tail *tail, struct buf *text, struct cairn_error *error)
{
    struct buf plain = BUF_INIT, visible = BUF_INIT;
    redact_end(&tail->values, &tail->window);
    struct str window = buf_view(&tail->window);
    size_t from = window.len > TAIL_BYTES ? window.len - TAIL_BYTES : 0;
    known_secrets_redact(window, from, &plain);
    add_visible(&visible, from ? without_part(buf_view(&plain)) : buf_view(&plain));
    buf_str(text, last_part(buf_view(&visible)));
    int rc = tail->window.failed || plain.failed || visible.failed || text->failed
                 ? error_nomem(error)
                 : 0;
    buf_release(&plain);
    buf_release(&visible);
    return rc;
}

void tail_release(struct tail *tail)
{
    redact_release(&tail->values);
    buf_release(&tail->window);
}
