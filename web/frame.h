/* SPDX-License-Identifier: MIT */
/* What stands around every page: its head with the style, the way back, its foot; what
 * all pages are given, and what several of them show. */
#ifndef WEB_FRAME_H
#define WEB_FRAME_H

#include "base/str.h"
#include "cairn.h"

#include <stdbool.h>
#include <stdint.h>

/* Elements with an id, and where they stand in the page that was written. */
struct part_mark {
    char id[16];
    size_t start, end;
};

struct page_parts {
    struct part_mark *at; /* heap */
    size_t n, capacity;
    bool failed; /* out of memory */
    bool moves;  /* the page shows something that runs, and for how long */
};

enum { TEXT_SHOWN = 400 }; /* bytes of a message or a value */

struct lastings;

struct page_options {
    const char *version; /* of cairn */
    const char *hint;    /* " --store DIR" or "", behind commands */
    /* NULL: a file that refers to nothing outside. Else the addresses of the style and
     * of the script, and pages lead to each other. */
    const char *style, *script;
    const char *key; /* of forms that change something; NULL: pages only show */
    const struct lastings *lastings; /* web/place.h; NULL: pages only show */
    const char *project;      /* a directory: only what belongs to it is searched */
    struct page_parts *parts; /* NULL: nobody wants to know */
    /* Of a served page: another one whenever something was committed to the store, or
     * the store was opened again. Taken before anything is read. */
    uint64_t turn;
};

/* "/page-0123456789abcdef.css": another one whenever the style is another one. */
void style_address(char out[40]);
const char *style_text(void);
/* Likewise; it renews the parts of a page (web/live.h). */
void script_address(char out[40]);
const char *script_text(void);
/* What a browser shows of a page in a tab: three stones, as SVG. */
#define ICON_ADDRESS "/favicon.ico"
const char *icon_text(void);
/* Between these two one part is written, whose id is "n12" or, without a number, "n". */
enum { NO_NUMBER = UINT32_MAX };
void part_begin(const struct page_options *options, const struct buf *out,
                const char *name, uint32_t number);
void part_end(const struct page_options *options, const struct buf *out);
/* Up to the title's text; then up to the page's. */
void frame_begin(struct buf *out, const struct page_options *options);
/* `live`: it is renewed. */
void frame_body(struct buf *out, const struct page_options *options, bool live);
void frame_end(struct buf *out, const struct page_options *options, int64_t now_ns);
/* A <p> of a text. */
void put_note(struct buf *out, const char *text);
/* "run 3", as a link if the page is served. */
void put_run_link(struct buf *out, const struct page_options *options, uint64_t run);
/* The header of a page about something in a run. */
void put_run_heading(struct buf *out, const struct page_options *options, uint64_t run,
                     const char *text);
/* Behind the name of a task: for whom or what it waits, of those that wait for a person
 * or for a decision. */
void put_waiting(struct buf *out, const struct cairn_waiting_info *waiting);
/* <code> of a command with the hint behind it. */
void put_command(struct buf *out, const struct page_options *options,
                 const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
