/* SPDX-License-Identifier: MIT */
#include "web/frame.h"

#include "base/memory.h"
#include "base/sha256.h"
#include "cli/format.h"
#include "web/html.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

extern const char page_css[] __attribute__((visibility("hidden")));

extern const char page_js[] __attribute__((visibility("hidden")));

const char *style_text(void)
{
    return page_css;
}

const char *script_text(void)
{
    return page_js;
}

const char *icon_text(void)
{
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\" "
           "fill=\"#6e7781\"><ellipse cx=\"8\" cy=\"13\" rx=\"7\" ry=\"2.5\"/>"
           "<ellipse cx=\"8\" cy=\"8\" rx=\"5\" ry=\"2.2\"/>"
           "<ellipse cx=\"8\" cy=\"3.5\" rx=\"3\" ry=\"1.9\"/></svg>";
}

static void address_of(char out[40], const char *text, const char *ending)
{
    struct digest digest = {{0}};
    char hex[DIGEST_HEX_SIZE];
    (void)sha256_of(text, strlen(text), &digest, NULL);
    digest_hex(&digest, hex);
    snprintf(out, 40, "/page-%.16s%s", hex, ending);
}

void style_address(char out[40])
{
    address_of(out, page_css, ".css");
}

void script_address(char out[40])
{
    address_of(out, page_js, ".js");
}

void part_begin(const struct page_options *options, const struct buf *out,
                const char *name, uint32_t number)
{
    struct page_parts *parts = options->parts;
    struct part_mark *at =
        parts ? array_room(parts->at, parts->n, &parts->capacity, sizeof *at) : NULL;
    if (!parts || parts->failed)
        return;
    parts->failed = !at;
    if (!at)
        return;
    parts->at = at;
    at += parts->n++;
    *at = (struct part_mark){.start = out->size};
    if (number == NO_NUMBER)
        snprintf(at->id, sizeof at->id, "%s", name);
    else
        snprintf(at->id, sizeof at->id, "%s%u", name, number);
}

void part_end(const struct page_options *options, const struct buf *out)
{
    if (options->parts && options->parts->n > 0)
        options->parts->at[options->parts->n - 1].end = out->size;
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
                  "initial-scale=1\">");
    if (!options->style) /* of a served page a header says more */
        buf_text(out, "<meta name=\"referrer\" content=\"no-referrer\">");
    buf_text(out, "<title>");
}

void frame_body(struct buf *out, const struct page_options *options, bool live)
{
    buf_text(out, "</title>");
    if (!options->style) {
        buf_format(out, "<style>%s</style></head><body><main>", page_css);
        return;
    }
    buf_format(out, "<link rel=\"stylesheet\" href=\"%s\">", options->style);
    buf_format(out,
               "<script src=\"%s\" defer></script></head><body><nav><a class=\"skip\" "
               "href=\"#main\">to the content</a><a href=\"/\">cairn"
               "</a> <a href=\"/timeline\">timeline</a> <form action=\"/search\">"
               "<input type=\"search\" name=\"q\" id=\"find\" aria-label=\"search "
               "everything\"> <button>Search</button></form></nav><main id=\"main\" "
               "tabindex=\"-1\"",
               options->script);
    if (live)
        buf_format(out, " data-turn=\"%" PRIu64 "\"", options->turn);
    buf_text(out, ">");
}

void frame_end(struct buf *out, const struct page_options *options, int64_t now_ns)
{
    buf_text(out, "</main>");
    part_begin(options, out, "foot", NO_NUMBER);
    buf_text(out, "<footer id=\"foot\">cairn ");
    html_text(out, options->version);
    buf_text(out, ", as of ");
    html_time(out, now_ns);
    buf_text(out, "</footer>");
    part_end(options, out);
    if (options->style) /* opened by the script alone */
        buf_text(out, "<dialog id=\"keys\" aria-labelledby=\"keys-title\"><h2 "
                      "id=\"keys-title\">Keys</h2><dl class=\"facts\">"
                      "<dt><kbd>/</kbd></dt><dd>to the search</dd>"
                      "<dt><kbd>j</kbd></dt><dd>to the next row or message</dd>"
                      "<dt><kbd>k</kbd></dt><dd>to the one before</dd>"
                      "<dt><kbd>Enter</kbd></dt><dd>opens it</dd>"
                      "<dt><kbd>?</kbd></dt><dd>shows and closes this</dd></dl>"
                      "<form method=\"dialog\"><button>Close</button></form></dialog>");
    buf_text(out, "</body></html>\n");
}

void put_note(struct buf *out, const char *text)
{
    buf_text(out, "<p class=\"note\">");
    html_text(out, text);
    buf_text(out, "</p>");
}

void put_run_link(struct buf *out, const struct page_options *options, uint64_t run)
{
    if (options->style)
        buf_format(out, "<a href=\"/runs/%" PRIu64 "\">run %" PRIu64 "</a>", run, run);
    else
        buf_format(out, "run %" PRIu64, run);
}

void put_run_heading(struct buf *out, const struct page_options *options, uint64_t run,
                     const char *text)
{
    buf_text(out, "<header><h1>");
    html_text(out, text);
    buf_text(out, " <small>");
    put_run_link(out, options, run);
    buf_text(out, "</small></h1></header>");
}

void put_waiting(struct buf *out, const struct cairn_waiting_info *waiting)
{
    if (waiting->waits_for == CAIRN_WAITS_DECISION) {
        buf_text(out, waiting->check ? " is unknown: its check decides"
                                     : " is unknown, and must not run twice: decide");
        return;
    }
    buf_text(out, waiting->holder ? " is claimed by " : " waits for somebody");
    if (waiting->holder)
        html_start(out, waiting->holder, TEXT_SHOWN);
    if (waiting->text) {
        buf_text(out, ": ");
        html_start(out, waiting->text, TEXT_SHOWN);
    }
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
    size_t end = shell_options_end(text, (size_t)n);
    char *rest = strdup(text + end);
    out->failed |= !rest;
    text[end] = '\0';
    buf_text(out, "<code>");
    html_text(out, text);
    html_text(out, options->hint);
    html_text(out, rest ? rest : "");
    buf_text(out, "</code>");
    free(rest);
    free(text);
}
