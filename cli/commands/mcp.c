/* SPDX-License-Identifier: MIT */
/* cairn mcp: what it is asked for on the command line, for the server (server/), and its
 * workers. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"
#include "server/serve.h"
#include "server/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A call may be carried out in another directory, so a path is made absolute; NULL
 * stays NULL. Freed by the caller. */
static int take_path(const char *path, char **out)
{
    char *here = NULL;
    size_t n;
    *out = NULL;
    if (!path || path[0] == '\0')
        return 0;
    if (path[0] != '/') {
        here = getcwd(NULL, 0);
        if (!here)
            return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO),
                                  "cannot tell the current directory: %s",
                                  strerror(errno));
    }
    n = strlen(path) + (here ? strlen(here) + 1 : 0) + 1;
    *out = malloc(n);
    if (*out)
        snprintf(*out, n, "%s%s%s", here ? here : "", here ? "/" : "", path);
    free(here);
    return *out ? 0 : report_nomem();
}

/* "checkpoint,run"; NULL: the usual ones. */
static int take_toolsets(const struct settings *settings, unsigned *out)
{
    struct str names[12];
    const char *at = settings->text[OPT_TOOLS];
    size_t n_names = 0;
    *out = at ? 0 : TOOLSET_USUAL;
    for (unsigned bit = 1; bit <= TOOLSET_ALL; bit <<= 1)
        names[n_names++] = str_of(toolset_name((enum toolset)bit));
    names[n_names++] = str_of(toolset_name(TOOLSET_ALL));
    while (at) {
        size_t n = strcspn(at, ",");
        unsigned found = toolset_find(at, n);
        if (found == 0) {
            char word[64];
            snprintf(word, sizeof word, "%.*s", (int)(n < 60 ? n : 60), at);
            const char *near = str_nearest(str_of(word), names, n_names).ptr;
            return report_usage(settings->command,
                                "there is no set of tools '%s'%s%s%s: checkpoint, "
                                "session, board, run, task, files, branch, message, "
                                "exec, store and all are there, separated by commas",
                                word, near ? " (did you mean " : "", near ? near : "",
                                near ? "?)" : "");
        }
        *out |= found;
        at = at[n] == ',' ? at + n + 1 : NULL;
    }
    return 0;
}

static int serve_client(const struct serve_options *options)
{
    switch (serve(options)) {
    case SERVE_DONE:
        return 0;
    case SERVE_NO_READER:
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO),
                              "the client does not read its answers: more than 64 MiB "
                              "wait for it");
    case SERVE_SYSTEM:
        break;
    }
    return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO),
                          "the server has ended: no memory, or stdin or stdout failed");
}

/* ---- Over HTTP ---- */

/* "mcp.token" in the store; without one there is no place for it. */
static int token_in_store(struct settings *settings, char **out)
{
    struct cairn_store *store;
    const char *path;
    size_t n;
    int status = store_for_reading(settings, &store);
    if (status != 0)
        return status;
    path = cairn_store_path(store);
    n = strlen(path) + sizeof "/mcp.token";
    *out = malloc(n);
    if (*out)
        snprintf(*out, n, "%s/mcp.token", path);
    store_close(store);
    return *out ? 0 : report_nomem();
}

static void say_listening(const struct serve_options *options, const char *url)
{
    printf("%s/mcp\n", url);
    fflush(stdout);
    say("cairn: clients show the token that is in %s", options->token_file);
    if (options->remote)
        say("cairn: warning: other machines can connect, and nothing is encrypted");
}

static int serve_clients(struct settings *settings, struct serve_options *options)
{
    struct host_names hosts = {0};
    struct serving *pages = NULL;
    char *token = NULL, why[512];
    int status = host_names_read(settings, &hosts);
    options->listen = settings->text[OPT_LISTEN];
    options->remote = settings->given[OPT_ALLOW_REMOTE];
    options->hosts = hosts.names;
    options->listening = say_listening;
    if (status == 0 && !serve_may_listen(options, why))
        status = report_usage(settings->command, "%s", why);
    if (status == 0)
        status = settings->given[OPT_TOKEN_FILE]
                     ? take_path(settings->text[OPT_TOKEN_FILE], &token)
                     : token_in_store(settings, &token);
    options->token_file = token;
    if (status == 0 && settings->given[OPT_WEB])
        status = pages_begin(settings, &pages);
    if (status == 0 && pages)
        options->pages = pages_options(pages);
    if (status == 0 && serve_http(options, why) != SERVE_DONE)
        status = report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO), "%s", why);
    pages_end(pages);
    options->pages = NULL;
    options->hosts = NULL;
    options->token_file = NULL;
    host_names_release(&hosts);
    free(token);
    return status;
}

static int check_options(const struct settings *settings)
{
    static const enum option_id http[] = {OPT_TOKEN_FILE, OPT_ALLOW_REMOTE,
                                          OPT_ALLOW_HOST, OPT_WEB};
    if (settings->given[OPT_ALLOW_CHANGES] && !settings->given[OPT_WEB])
        return report_usage(settings->command, "--allow-changes needs --web");
    if (settings->given[OPT_LISTEN])
        return 0;
    for (size_t i = 0; i < COUNT_OF(http); i++)
        if (settings->given[http[i]])
            return report_usage(settings->command, "--%s needs --listen",
                                option_get(http[i])->name);
    return 0;
}

/* Calls inherit it, also those that write sessions, which have no key and would refuse
 * the option. */
static int give_key(const struct settings *settings)
{
    char *path;
    int status = take_path(settings->given[OPT_KEY] ? settings->text[OPT_KEY]
                                                    : getenv("CAIRN_KEY"),
                           &path);
    if (status == 0 && path && setenv("CAIRN_KEY", path, 1) != 0)
        status = report_nomem();
    free(path);
    return status;
}

/* With --json an error would be printed among the messages of the protocol. */
int command_mcp(struct settings *settings)
{
    const char *given =
        settings->given[OPT_STORE] ? settings->text[OPT_STORE] : getenv("CAIRN_STORE");
    struct serve_options options = {
        .read_only = settings->given[OPT_READ_ONLY],
        .time_limit_ms = (int64_t)settings->number[OPT_CALL_LIMIT],
        .version = cairn_version(),
        .masked = mask_secrets,
        .masked_context = settings,
    };
    char *store = NULL;
    int status = check_options(settings)
                 ?: take_toolsets(settings, &options.toolsets)
                 ?: take_path(given, &store)
                 ?: give_key(settings);
    options.store = store;
    if (status == 0)
        status = settings->given[OPT_LISTEN] ? serve_clients(settings, &options)
                                             : serve_client(&options);
    free(store);
    return status;
}

/* ---- The worker (server/worker.h) ---- */

/* No command may take the socket for its stdin. */
int worker_control(int argc, char **argv)
{
    int type = 0, control, nothing;
    socklen_t n = sizeof type;
    if (argc != 1 || strcmp(argv[0], WORKER_NAME) != 0 ||
        getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &n) != 0 ||
        type != SOCK_SEQPACKET)
        return -1;
    control = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (control < 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
        _exit(EXIT_SYSTEM);
    close(nothing);
    return control;
}

/* The words of a packet, each of which ends in it. */
static int split_packet(char *packet, size_t n, char **argv)
{
    int argc = 0;
    for (char *at = packet; at < packet + n && argc < WORKER_WORDS;
         at += strlen(at) + 1)
        argv[argc++] = at;
    argv[argc] = NULL;
    return argc;
}

int worker_run(int control, int (*carry_out)(int argc, char **argv))
{
    static char packet[WORKER_BYTES + 1];
    char *argv[WORKER_WORDS + 1];
    store_keep_open();
    for (;;) {
        ssize_t n = recv(control, packet, WORKER_BYTES, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        packet[n] = '\0';
        int status = carry_out(split_packet(packet, (size_t)n, argv), argv);
        store_end_line(status == 0);
        ui_again();
        if (send(control, &status, sizeof status, MSG_NOSIGNAL) < 0)
            break;
    }
    store_end_line(false);
    return 0;
}
