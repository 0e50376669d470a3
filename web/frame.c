/* SPDX-License-Identifier: MIT */
#include "web/frame.h"

#include "base/sha256.h"
#include "web/html.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

extern const char page_css[] __attribute__((visibility("hidden")));

const char *style_text(void)
{
    return page_css;
}

void style_address(char out[40])
{
    struct digest digest = {{0}};
    char hex[DIGEST_HEX_SIZE];
    (void)sha256_of(page_css, strlen(page_css), &digest, NULL);
    digest_hex(&digest, hex);
    snprintf(out, 40, "/page-%.16s.css", hex);
}

/* Nothing is loaded in a file: even if a text got through as a tag, nothing would
 * happen. A served page has this, and more, in its headers. */
void frame_begin(struct buf *out, const struct page_options *options)
{
    buf_text(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    if (!options->style)
        buf_text(out, "<meta http-equiv=\"Content-Security-Policy\" "
                      "content=\"default-src 'none'; style-src 'unsafe-inline'; "
                      "base-uri 'none'; form-action 'none'\">");
    buf_text(out, "<meta name=\"viewport\" content=\"width=device-width, "
                  "initial-scale=1\"><meta name=\"referrer\" content=\"no-referrer\">"
                  "<title>");
}

void frame_body(struct buf *out, const struct page_options *options)
{
    buf_text(out, "</title>");
    if (options->style)
        buf_format(out,
                   "<link rel=\"stylesheet\" href=\"%s\"></head><body><nav>"
                   "<a href=\"/\">cairn</a></nav><main>",
                   options->style);
    else
        buf_format(out, "<style>%s</style></head><body><main>", page_css);
}

void frame_end(struct buf *out, const struct page_options *options, int64_t now_ns)
{
    buf_text(out, "</main><footer>cairn ");
    html_text(out, options->version);
    buf_text(out, ", as of ");
    html_time(out, now_ns);
    buf_text(out, "</footer></body></html>\n");
}

void put_command(struct buf *out, const struct page_options *options,
                 const char *format, ...)
{
    char *text = NULL;
    va_list list;
    va_start(list, format);
    int n = vasprintf(&text, format, list);
    va_end(list);
    if (n < 0) {
        out->failed = true;
        return;
    }
    buf_text(out, "<code>");
    html_text(out, text);
    html_text(out, options->hint);
    buf_text(out, "</code>");
    free(text);
}
