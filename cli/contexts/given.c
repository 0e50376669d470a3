/* SPDX-License-Identifier: MIT */
#include "cli/contexts/given.h"

#include "cli/exit_status.h"
#include "cli/report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int out_of_memory(void)
{
    return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM), "out of memory");
}

/* ---- The full state ---- */

/* Up to one byte more than there may be. A pipe is read to its end. */
static int read_all(int fd, const char *name, char *out, size_t *n)
{
    size_t room = (size_t)CAIRN_CONTEXT_STATE_MAX + 1;
    *n = 0;
    while (*n < room) {
        ssize_t got = read(fd, out + *n, room - *n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO),
                                  "cannot read %s: %s", name, strerror(errno));
        if (got == 0)
            break;
        *n += (size_t)got;
    }
    return 0;
}

static int check_state(const char *command, const char *name, const char *text,
                       size_t n)
{
    if (n > CAIRN_CONTEXT_STATE_MAX)
        return report_usage(
            command, "%s has more than 1 MiB: a full state has at most that", name);
    if (n == 0)
        return report_usage(command, "%s is empty: leave --state out", name);
    if (memchr(text, 0, n))
        return report_usage(command, "%s has a NUL byte in it: a full state is text",
                            name);
    return 0;
}

static int take_state(const struct settings *settings, const struct texts *texts,
                      struct given_context *given)
{
    const char *path = settings->text[OPT_STATE];
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "what is on stdin" : path;
    size_t n = 0;
    if (is_stdin && texts->from_stdin)
        return report_usage(settings->command, "only one text can be read from stdin");
    given->state = malloc((size_t)CAIRN_CONTEXT_STATE_MAX + 2);
    if (!given->state)
        return out_of_memory();
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return report_failure(
            errno == ENOENT ? EXIT_NOT_FOUND : EXIT_SYSTEM,
            cairn_code_name(errno == ENOENT ? CAIRN_ENOTFOUND : CAIRN_EIO),
            "cannot read %s: %s", path, strerror(errno));
    int status = read_all(fd, name, given->state, &n);
    if (!is_stdin)
        close(fd);
    if (status != 0)
        return status;
    given->state[n] = '\0';
    given->context.state = given->state;
    return check_state(settings->command, name, given->state, n);
}

/* ---- The usage ---- */

static bool is_number(const char *text, size_t n)
{
    size_t digits = strspn(text, "0123456789");
    size_t at = digits;
    if (at < n && text[at] == '.') {
        size_t behind = strspn(text + at + 1, "0123456789");
        digits += behind;
        at += 1 + behind;
    }
    return digits > 0 && at == n;
}

/* 0.75, or 75%. */
static int take_usage(const struct settings *settings, struct cairn_context *context)
{
    const char *text = settings->text[OPT_THRESHOLD];
    size_t n = strlen(text);
    bool percent = n > 0 && text[n - 1] == '%';
    double number = 0;
    bool good = is_number(text, n - percent);
    if (good)
        number = strtod(text, NULL) / (percent ? 100 : 1);
    if (!good || number > 1)
        return report_usage(settings->command,
                            "--threshold cannot be '%s': give how full the context "
                            "is, from 0 to 1, such as 0.75, or a percentage, such as "
                            "75%%",
                            text);
    context->has_usage = true;
    context->usage = number;
    return 0;
}

/* ---- All of it ---- */

static int take_pairs(const struct settings *settings, struct given_context *given)
{
    size_t n = settings->n_params;
    given->pairs = calloc(n + 1, sizeof *given->pairs);
    if (!given->pairs)
        return out_of_memory();
    for (size_t i = 0; i < n; i++)
        given->pairs[i] = (struct cairn_context_pair){settings->params[i].name,
                                                      settings->params[i].value};
    given->context.pairs = given->pairs;
    given->context.n_pairs = n;
    return 0;
}

int given_take(const struct settings *settings, struct texts *texts,
               struct given_context *given)
{
    struct cairn_context *context = &given->context;
    const bool *is = settings->given;
    int status = take_pairs(settings, given);
    given->any = is[OPT_SUMMARY] || is[OPT_DESCRIPTION] || is[OPT_CONTEXT] ||
                 is[OPT_STATE] || is[OPT_TOKENS] || is[OPT_THRESHOLD];
    context->has_tokens = is[OPT_TOKENS];
    context->tokens = settings->number[OPT_TOKENS];
    if (status == 0 && is[OPT_SUMMARY])
        status = texts_take(texts, settings->text[OPT_SUMMARY], &context->summary);
    if (status == 0 && is[OPT_DESCRIPTION])
        status =
            texts_take(texts, settings->text[OPT_DESCRIPTION], &context->description);
    if (status == 0 && is[OPT_THRESHOLD])
        status = take_usage(settings, context);
    return status == 0 && is[OPT_STATE] ? take_state(settings, texts, given) : status;
}

void given_release(struct given_context *given)
{
    free(given->pairs);
    free(given->state);
}
