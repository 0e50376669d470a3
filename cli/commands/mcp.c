/* SPDX-License-Identifier: MIT */
/* cairn mcp: what it is asked for on the command line, for the server (server/). */
#include "cli/commands/store_commands.h"
#include "cli/exit_status.h"
#include "cli/nearest.h"
#include "cli/report.h"
#include "server/serve.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char *nearest_word(const char *word, const char *const *words)
{
    struct nearest nearest;
    nearest_init(&nearest, word);
    for (; *words; words++)
        nearest_try(&nearest, *words);
    return nearest.best;
}

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
    return *out ? 0
                : report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                                 "out of memory");
}

/* "checkpoint,run"; NULL: all. */
static int take_toolsets(const struct settings *settings, unsigned *out)
{
    const char *names[6] = {NULL};
    const char *at = settings->text[OPT_TOOLS];
    size_t n_names = 0;
    *out = at ? 0 : TOOLSET_ALL;
    for (unsigned bit = 1; bit <= TOOLSET_ALL; bit <<= 1)
        names[n_names++] = toolset_name((enum toolset)bit);
    while (at) {
        size_t n = strcspn(at, ",");
        unsigned found = toolset_find(at, n);
        if (found == 0) {
            char word[64];
            const char *near;
            snprintf(word, sizeof word, "%.*s", (int)(n < 60 ? n : 60), at);
            near = nearest_word(word, names);
            return report_usage(settings->command,
                                "there is no set of tools '%s'%s%s%s: checkpoint, "
                                "session, board, run and task are there, separated by "
                                "commas",
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

/* With --json an error would be printed among the messages of the protocol. */
int command_mcp(struct settings *settings)
{
    const char *given =
        settings->given[OPT_STORE] ? settings->text[OPT_STORE] : getenv("CAIRN_STORE");
    struct serve_options options = {
        .read_only = settings->given[OPT_READ_ONLY],
        .time_limit_ms = (int64_t)settings->number[OPT_CALL_LIMIT],
        .nearest = nearest_word,
        .version = cairn_version(),
    };
    char *store = NULL, *key = NULL;
    int status = take_toolsets(settings, &options.toolsets);
    if (status == 0)
        status = take_path(given, &store);
    if (status == 0 && settings->given[OPT_KEY])
        status = take_path(settings->text[OPT_KEY], &key);
    options.store = store;
    options.key = key;
    if (status == 0)
        status = serve_client(&options);
    free(store);
    free(key);
    return status;
}
