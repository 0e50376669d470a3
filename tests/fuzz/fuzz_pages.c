/* SPDX-License-Identifier: MIT */
/* Addresses and forms of `cairn web`: behind HTTP's framing and the gate. Whatever is
 * asked for is answered by a page, which no stored or sent text has broken out of: where
 * such a text begins a tag, that is called zz.
 *
 * The input is requests with a line feed between them: an address, or `!` and the fields
 * of a form. A field `nonce=%` stands for the nonce of the preview before it. */
#include "cli/report.h"
#include "cli/suggest.h"
#include "tests/fuzz/fuzz.h"
#include "web/act.h"
#include "web/live.h"
#include "web/pages.h"

#define TAG "<zz onload=zz>\"'><zz>&\xe2\x80\xae\x1b[31m"

/* What the command has beside what pages use. */
int report_error(const struct cairn_error *why)
{
    return why->code;
}

char *suggest_completed(const char *text)
{
    (void)text;
    return NULL;
}

static struct cairn_store *store;
static struct cairn_error error;
static char style[40], script[40];

static void close_store(void)
{
    cairn_store_close(store);
}

/* ---- What there is ---- */

static void good(int rc)
{
    if (rc != 0)
        fprintf(stderr, "%s\n", error.text);
    HOLDS(rc == 0);
}

static enum cairn_outcome do_task(void *context, struct cairn_attempt *attempt)
{
    (void)attempt;
    return *(const char *)context == 'b' ? CAIRN_FAILED : CAIRN_COMPLETED;
}

static void make_run(struct cairn_store *writer)
{
    static char names[][2] = {"a", "b"};
    struct cairn_workflow *w;
    good(cairn_workflow_new(&w, "pages", &error));
    for (size_t i = 0; i < 2; i++) {
        struct cairn_task task = {.id = names[i], .call = do_task, .context = names[i]};
        good(cairn_workflow_add(w, &task, &error));
    }
    (void)cairn_run(w, writer, NULL, NULL, &error);
    cairn_workflow_free(w);
}

static void make_session(struct cairn_store *writer)
{
    static const struct cairn_set note = {"text", TAG}, guess = {"statement", TAG};
    struct cairn_capture capture = {.message = TAG};
    struct cairn_new_message message = {.text = TAG, .bytes = sizeof TAG - 1};
    struct cairn_captured made;
    char path[300];
    snprintf(path, sizeof path, "%s/files", fuzz_dir);
    HOLDS(mkdir(path, 0700) == 0);
    good(cairn_session_start(writer, "<zz>", true, NULL, &error));
    good(cairn_session_configure(writer, NULL, "files", path, &error));
    for (int n = 0; n < 3; n++) {
        fuzz_file("files/<zz onload=zz>",
                  (struct str){TAG "\n1\n2\n", sizeof TAG + (size_t)n});
        good(cairn_item_add(writer, NULL, "note", &note, 1, NULL, &error));
        good(cairn_item_add(writer, NULL, "hypothesis", &guess, 1, NULL, &error));
        good(cairn_message_add(writer, NULL, &message, NULL, &error));
        good(cairn_session_checkpoint(writer, NULL, &capture, &made, &error));
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char path[300];
    struct cairn_store *writer;
    (void)argc;
    (void)argv;
    fuzz_dir_make();
    HOLDS(atexit(close_store) == 0);
    snprintf(path, sizeof path, "%s/.cairn", fuzz_dir);
    struct cairn_store_options options = {
        .path = path, .create = true, .sync = CAIRN_SYNC_OFF};
    good(cairn_store_open(&writer, &options, &error));
    make_run(writer);
    make_session(writer);
    cairn_store_close(writer);
    options = (struct cairn_store_options){.path = path, .read_only = true};
    good(cairn_store_open(&store, &options, &error));
    style_address(style);
    script_address(script);
    return 0;
}

/* ---- A request ---- */

/* The values stand behind their names, each ended by a NUL, as those of a form do. */
struct fields {
    char *at, *end;
};

static const char *value_of(void *request, const char *name)
{
    const struct fields *fields = request;
    size_t n = strlen(name);
    for (const char *at = fields->at; at < fields->end; at += strlen(at) + 1)
        if (strncmp(at, name, n) == 0 && at[n] == '=')
            return at + n + 1;
    return NULL;
}

static void check_answer(struct page_answer *answer)
{
    HOLDS(!answer->body.failed && answer->type);
    HOLDS(answer->status == 200 || answer->status == 400 || answer->status == 404 ||
          answer->status == 409 || answer->status == 500);
    HOLDS(memchr(answer->file, 0, sizeof answer->file));
    if (strncmp(answer->type, "text/html", 9) == 0) {
        buf_byte(&answer->body, 0);
        HOLDS(strncmp(answer->body.data, "<!doctype html>", 15) == 0);
        HOLDS(!strstr(answer->body.data, "<zz"));
        HOLDS(!strstr(answer->body.data, "\xe2\x80\xae"));
    }
}

static void ask_page(const struct page_options *options, char *line, char *end)
{
    struct fields fields = {end, end};
    struct page_answer answer = {.status = 200};
    struct buf sent = BUF_INIT;
    char *query = memchr(line, '?', (size_t)(end - line));
    if (query) {
        *query = '\0';
        fields = (struct fields){query + 1, end};
    }
    struct page_ask ask = {line, &fields, value_of};
    pages_answer(store, options, &ask, &answer);
    check_answer(&answer);
    buf_release(&answer.body);
    struct live *live = pages_are_live(line) ? live_new(&ask, "0") : NULL;
    if (!live)
        return;
    (void)live_tick(live, store, options, &sent);
    HOLDS(!sent.failed);
    buf_byte(&sent, 0);
    HOLDS(!strstr(sent.data, "<zz"));
    buf_release(&sent);
    live_free(live);
}

static void keep_nonce(const struct page_answer *answer, char nonce[80])
{
    static const char field[] = "name=\"nonce\" value=\"";
    const char *at = answer->body.data ? strstr(answer->body.data, field) : NULL;
    nonce[0] = '\0';
    if (at)
        snprintf(nonce, 80, "%.*s", (int)strcspn(at + sizeof field - 1, "\""),
                 at + sizeof field - 1);
}

static void post_form(struct acts *acts, const struct page_options *options,
                      struct fields *fields, char nonce[80])
{
    static const struct act_came done = {NULL, "{}", ""}, failed = {"zz", "", "zz"};
    struct page_answer answer = {.status = 200};
    struct page_ask ask = {"/act", fields, value_of};
    struct act *act = act_take(acts, store, options, &ask, &answer);
    bool fail = value_of(fields, "fail") != NULL;
    while (act) {
        struct act_line line = act_line(act);
        size_t n = 0;
        while (line.argv[n])
            n++;
        HOLDS(n > 1 && strcmp(line.argv[0], "cairn") == 0);
        buf_clear(&answer.body);
        if (act_goes_on(act, store, options, fail ? &failed : &done, &answer))
            continue;
        act_free(act);
        act = NULL;
    }
    check_answer(&answer);
    keep_nonce(&answer, nonce);
    buf_release(&answer.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const words[] = {"cairn"};
    struct page_options options = {.version = "0",
                                   .hint = "",
                                   .style = style,
                                   .script = script,
                                   .key = "0123456789abcdef",
                                   .project = "",
                                   .turn = 1};
    struct acts *acts = acts_new(words, 1);
    char *text = malloc(size + 1), nonce[80] = "", *next;
    HOLDS(acts && text);
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *line = text, *end = text + size; line < end; line = next) {
        char *over = memchr(line, '\n', (size_t)(end - line));
        next = over ? over + 1 : end;
        char *stop = over ? over : end;
        *stop = '\0';
        for (char *at = line; at < stop; at++)
            if (*at == '&')
                *at = '\0';
        if (line[0] != '!') {
            ask_page(&options, line, stop);
            continue;
        }
        struct buf form = BUF_INIT;
        buf_format(&form, "nonce=%s", nonce);
        buf_byte(&form, 0);
        buf_add(&form, line + 1, (size_t)(stop - line));
        struct fields fields = {form.data, form.data + form.size};
        post_form(acts, &options, &fields, nonce);
        buf_release(&form);
    }
    acts_free(acts);
    free(text);
    return 0;
}
