/* SPDX-License-Identifier: MIT */
/* The pages of a store (web/): cairn report --html writes one, about a run or a session; cairn web
 * serves them to a browser (server/site.h). */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/target_file.h"
#include "cli/ui.h"
#include "server/site.h"
#include "web/act.h"
#include "web/live.h"
#include "web/pages.h"
#include "web/run_page.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- A page in a file ---- */

static int check_options(const struct settings *settings)
{
    if (ui_json())
        return report_usage(settings->command,
                            "--html writes a page: remove --json or --html");
    if (settings->n_operands > (settings->given[OPT_SESSION] ? 0 : 1))
        return report_usage(settings->command,
                            "--html takes one run, or --session NAME");
    return 0;
}

static int write_page(const struct settings *settings, const struct buf *page)
{
    struct target_file target = TARGET_NONE;
    char size[FORMAT_MAX];
    if (!settings->given[OPT_PAGE_FILE]) {
        out_raw(page->data, page->size);
        return 0;
    }
    const char *name = settings->text[OPT_PAGE_FILE];
    int status = target_open(&target, name, settings->command);
    if (status == 0)
        (void)target_write(&target, page->data, page->size);
    int end = target_close(&target, status == 0);
    target_release(&target);
    if (status == 0 && end == 0)
        say("cairn: wrote %s (%s)", name, format_bytes(size, page->size));
    return status != 0 ? status : end;
}

int report_page(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_run_info run;
    struct cairn_session_info session;
    struct cairn_error error = {0};
    struct buf page = BUF_INIT;
    int status = check_options(settings);
    bool of_session = settings->given[OPT_SESSION];
    struct page_options options = {.version = cairn_version()};
    if (status == 0)
        status = of_session ? store_for_reading(settings, &store)
                            : open_run(settings, &store, &run);
    if (status == 0 && of_session) {
        options.hint = store_hint(settings);
        if ((cairn_session_get(store, settings->text[OPT_SESSION], &session, &error)
                 ?: session_report(&page, store, session.session, &options, &error)) !=
            0)
            status = report_error(&error);
    } else if (status == 0) {
        options.hint = run_hint(settings, &run);
        if (run_page(&page, store, run.run, &options, NULL, &error) != 0)
            status = report_error(&error);
    }
    if (status == 0)
        status = write_page(settings, &page);
    buf_release(&page);
    store_close(store);
    return status;
}

int host_names_read(const struct settings *settings, struct host_names *hosts)
{
    size_t n = 0;
    char *at;
    if (!settings->given[OPT_ALLOW_HOST])
        return 0;
    hosts->text = strdup(settings->text[OPT_ALLOW_HOST]);
    if (!hosts->text)
        return report_nomem();
    for (at = hosts->text; at; n++) {
        char *comma = strchr(at, ',');
        size_t length = comma ? (size_t)(comma - at) : strlen(at);
        if (n == HOSTS_MAX || length == 0 || strcspn(at, ":/ ") < length)
            return report_usage(settings->command,
                                "--allow-host takes up to %d names without ports, "
                                "separated by commas",
                                HOSTS_MAX);
        hosts->names[n] = at;
        at = comma ? comma + 1 : NULL;
        if (comma)
            *comma = '\0';
    }
    return 0;
}

void host_names_release(struct host_names *hosts)
{
    free(hosts->text);
    *hosts = (struct host_names){0};
}

struct serving {
    struct settings *settings;
    struct cairn_store *store;
    uint32_t opened; /* how often it was opened again */
    int news;        /* of cairn_store_watch */
    struct page_options pages;
    struct site_options options;
    char style[40], script[40], project[PATH_MAX];
    bool left;               /* a command was ended before it was done */
    pid_t browser;           /* 0: none was opened */
    struct acts *acts;       /* with --allow-changes */
    char key[SITE_SECRET];   /* of its forms */
    char *words[2];          /* with which its commands begin; heap */
    const char *argv[1 + 2]; /* the same, behind "cairn" */
};

/* ---- The browser ---- */

static void open_browser(struct serving *serving, const char *url)
{
    const char *program = getenv("BROWSER");
    const char *const argv[] = {program && program[0] ? program : "xdg-open", url,
                                NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int failed;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0); /* Ctrl-C ends us, and no browser */
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    failed = posix_spawnp(&serving->browser, argv[0], &actions, &attributes,
                          (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0) {
        serving->browser = 0;
        ui_warn("no browser was opened: %s: %s", argv[0], strerror(failed));
    }
}

/* ---- Serving ---- */

static void say_address(void *context, const char *url, bool first)
{
    struct serving *serving = context;
    const struct settings *settings = serving->settings;
    if (!first) {
        say("cairn: a browser has opened it; for another one: %s", url);
        return;
    }
    printf("%s\n", url);
    fflush(stdout);
    say("cairn: the address opens one browser, once; Ctrl-C ends this");
    if (settings->given[OPT_ALLOW_REMOTE] && !settings->given[OPT_WEB])
        say("cairn: warning: other machines can connect, and nothing is encrypted");
    if (settings->given[OPT_OPEN])
        open_browser(serving, url);
}

/* A store that was replaced (by a repair) or removed is opened again by its path. */
static int current_store(struct serving *serving, struct cairn_error *error)
{
    struct cairn_store_options options = {.read_only = true,
                                          .key_file = key_path(serving->settings)};
    struct cairn_store *again = NULL;
    if (!cairn_store_is_current(serving->store)) {
        options.path = cairn_store_path(serving->store);
        int rc = cairn_store_open(&again, &options, error);
        if (rc != 0)
            return rc;
        store_close(serving->store);
        serving->store = again;
        serving->news = cairn_store_watch(again);
        serving->opened++;
    }
    serving->pages.turn =
        (uint64_t)serving->opened << 32 | cairn_store_changes(serving->store);
    return 0;
}

static void hand_over(const struct page_answer *page, struct site_answer *answer)
{
    *answer = (struct site_answer){.status = page->status,
                                   .type = page->type,
                                   .fixed = page->fixed,
                                   .body = page->body};
    memcpy(answer->file, page->file, sizeof answer->file);
}

static void answer_page(void *context, const struct site_ask *ask,
                        struct site_answer *answer)
{
    struct serving *serving = context;
    struct page_ask page_ask = {ask->path, ask->request, ask->query};
    struct page_answer page = {.status = 200};
    struct cairn_error error = {0};
    if (serving->browser > 0 && waitpid(serving->browser, NULL, WNOHANG) != 0)
        serving->browser = 0;
    if (current_store(serving, &error) != 0)
        pages_problem(&serving->pages, 500, error.text, &page);
    else
        pages_answer(serving->store, &serving->pages, &page_ask, &page);
    hand_over(&page, answer);
}

/* ---- Acting ---- */

struct deed {
    struct site_command command; /* the first member */
    struct act *act;
};

static struct site_command *next_command(struct deed *deed)
{
    struct act_line line = act_line(deed->act);
    deed->command = (struct site_command){line.argv, line.starts,  line.looks,
                                          line.text, line.verdict, line.lasts};
    return &deed->command;
}

static struct site_command *begin_act(void *context, const struct site_ask *ask,
                                      struct site_answer *answer)
{
    struct serving *serving = context;
    struct page_ask page_ask = {ask->path, ask->request, ask->query};
    struct page_answer page = {.status = 200};
    struct cairn_error error = {0};
    struct deed *deed = calloc(1, sizeof *deed);
    if (!deed || current_store(serving, &error) != 0)
        pages_problem(&serving->pages, 500, deed ? error.text : "out of memory", &page);
    else
        deed->act =
            act_take(serving->acts, serving->store, &serving->pages, &page_ask, &page);
    if (deed && deed->act) {
        buf_release(&page.body);
        return next_command(deed);
    }
    free(deed);
    hand_over(&page, answer);
    return NULL;
}

static struct site_command *end_act(void *context, struct site_command *command,
                                    const struct site_came *came,
                                    struct site_answer *answer)
{
    struct serving *serving = context;
    struct deed *deed = (struct deed *)command;
    struct page_answer page = {.status = 200};
    struct cairn_error error = {0};
    if (came && current_store(serving, &error) != 0) {
        pages_problem(&serving->pages, 500, error.text, &page);
    } else if (came) {
        struct act_came of_act = {came->problem, came->printed, came->err};
        if (act_goes_on(deed->act, serving->store, &serving->pages, &of_act, &page)) {
            buf_release(&page.body);
            return next_command(deed);
        }
    }
    if (came)
        hand_over(&page, answer);
    act_free(deed->act);
    free(deed);
    return NULL;
}

static void answer_lasting(void *context, const struct site_command *command,
                           struct site_answer *answer)
{
    struct serving *serving = context;
    const struct deed *deed = (const struct deed *)command;
    struct page_answer page = {.status = 200};
    act_lasts(deed->act, serving->store, &serving->pages, &page);
    hand_over(&page, answer);
}

/* Said when the end was asked for. What it leaves of a restore is said at the end. */
static void say_owed(void *context, const struct site_command *command, bool left)
{
    struct serving *serving = context;
    const struct deed *deed = (const struct deed *)command;
    serving->left |= left;
    if (left)
        ui_warn("this was ended before it was done: %s", act_line(deed->act).shown);
    else
        say("cairn: this is waited for, and Ctrl-C again ends it at once: %s",
            act_line(deed->act).shown);
}

/* What a page asks for is done with the same store and key, and the log of the store
 * says who has asked (note_asked in cli/open.c). */
static bool allow_changes(struct serving *serving)
{
    struct site_options *options = &serving->options;
    const char *key = key_path(serving->settings);
    size_t n = 0;
    serving->argv[n++] = "cairn";
    if (asprintf(&serving->words[0], "--store=%s", cairn_store_path(serving->store)) <
        0)
        return false;
    serving->argv[n++] = serving->words[0];
    if (key && asprintf(&serving->words[1], "--key=%s", key) < 0)
        return false;
    if (key)
        serving->argv[n++] = serving->words[1];
    serving->acts = acts_new(serving->argv, n);
    serving->pages.key = serving->key;
    serving->pages.lastings = serving->acts ? acts_lastings(serving->acts) : NULL;
    options->key = serving->key;
    options->act = begin_act;
    options->acted = end_act;
    options->lasting = answer_lasting;
    options->owed = say_owed;
    return serving->acts != NULL;
}

/* "/events" of the first page, "/runs/3/events" of a run. */
static void *begin_live(void *context, const struct site_ask *ask,
                        const char *last_event)
{
    static const char ending[] = "/events";
    size_t n = strlen(ask->path), end = sizeof ending - 1;
    char path[64] = "/";
    (void)context;
    if (n < end || n - end >= sizeof path || strcmp(ask->path + n - end, ending) != 0)
        return NULL;
    if (n > end)
        snprintf(path, sizeof path, "%.*s", (int)(n - end), ask->path);
    if (!pages_are_live(path))
        return NULL;
    struct page_ask page_ask = {path, ask->request, ask->query};
    return live_new(&page_ask,
                    last_event ? last_event : ask->query(ask->request, "turn"));
}

static struct site_rest tick(void *context, void *live, struct buf *out)
{
    struct serving *serving = context;
    struct cairn_error error = {0};
    if (current_store(serving, &error) != 0)
        return (struct site_rest){1000, 1000};
    struct live_rest rest = live_tick(live, serving->store, &serving->pages, out);
    int64_t moves_ms = rest.least_ms > LIVE_CLOCK_MS ? rest.least_ms : LIVE_CLOCK_MS;
    return (struct site_rest){rest.least_ms, rest.moves ? moves_ms : SITE_NEVER};
}

static int news(void *context, bool take)
{
    struct serving *serving = context;
    if (take)
        serving->news = cairn_store_watch(serving->store);
    return serving->news;
}

static void end_live(void *live)
{
    live_free(live);
}

int pages_begin(struct settings *settings, struct serving **out)
{
    struct serving *serving = calloc(1, sizeof *serving);
    int status = serving ? 0 : report_nomem();
    *out = serving;
    if (status == 0) {
        serving->settings = settings;
        status = store_for_reading(settings, &serving->store);
    }
    if (status == 0)
        status = search_project(settings, serving->store, serving->project);
    if (status != 0)
        return status;
    serving->news = cairn_store_watch(serving->store);
    style_address(serving->style);
    script_address(serving->script);
    serving->pages = (struct page_options){.version = cairn_version(),
                                           .hint = store_hint(settings),
                                           .style = serving->style,
                                           .script = serving->script,
                                           .project = serving->project};
    serving->options = (struct site_options){.context = serving,
                                             .answer = answer_page,
                                             .live = begin_live,
                                             .tick = tick,
                                             .news = news,
                                             .live_end = end_live,
                                             .address = say_address};
    return settings->given[OPT_ALLOW_CHANGES] && !allow_changes(serving)
               ? report_nomem()
               : 0;
}

struct site_options *pages_options(struct serving *serving)
{
    return &serving->options;
}

void pages_end(struct serving *serving)
{
    struct cairn_error error = {0};
    if (!serving)
        return;
    if (serving->left && current_store(serving, &error) == 0)
        say_unfinished_restores(serving->store, NULL, true);
    store_close(serving->store);
    acts_free(serving->acts);
    free(serving->words[0]);
    free(serving->words[1]);
    free(serving);
}

int command_web(struct settings *settings)
{
    struct serving *serving = NULL;
    struct host_names hosts = {0};
    struct site_options where = {.listen = settings->given[OPT_WEB_LISTEN]
                                               ? settings->text[OPT_WEB_LISTEN]
                                               : "127.0.0.1:0",
                                 .remote = settings->given[OPT_ALLOW_REMOTE]};
    char why[512];
    int status = ui_json() ? report_usage(settings->command, "there is no --json: "
                                                             "pages are for people")
                           : host_names_read(settings, &hosts);
    if (status == 0 && !site_may_listen(&where, why))
        status = report_usage(settings->command, "%s", why);
    if (status == 0)
        status = pages_begin(settings, &serving);
    if (status == 0) {
        struct site_options *options = pages_options(serving);
        options->listen = where.listen;
        options->remote = where.remote;
        options->hosts = hosts.names;
        options->idle_ms = (int64_t)settings->number[OPT_IDLE];
        if (serve_site(options, why) != SERVE_DONE)
            status = report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO), "%s", why);
    }
    pages_end(serving);
    host_names_release(&hosts);
    return status;
}
