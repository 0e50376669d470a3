/* SPDX-License-Identifier: MIT */
/* Secrets from a descriptor. Nothing that is read is ever printed, not even a line that
 * is wrong. */
#include "cli/secrets.h"
#include "cli/exit_status.h"
#include "cli/report.h"

#include <errno.h>
#include <string.h>

#define SECRETS_BYTES ((size_t)1 << 20)
#define SECRETS_MOST 1000

/* 0, or -1 with errno; E2BIG: too much. */
static int read_all(int fd, struct secrets_given *secrets)
{
    secrets->text = malloc(SECRETS_BYTES + 1);
    if (!secrets->text)
        return -1;
    for (;;) {
        ssize_t n = read(fd, secrets->text + secrets->length,
                         SECRETS_BYTES + 1 - secrets->length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            return 0;
        secrets->length += (size_t)n;
        if (secrets->length > SECRETS_BYTES) {
            errno = E2BIG;
            return -1;
        }
    }
}

static int report_bad_line(const struct settings *settings, size_t line,
                           const char *why)
{
    return report_usage(settings->command, "line %zu read from --secrets-fd %s", line,
                        why);
}

/* Cuts the text into lines, and lines into names and values, in place. */
static int split_lines(const struct settings *settings, struct secrets_given *secrets,
                       struct cairn_run_options *options)
{
    char *at = secrets->text, *end = at + secrets->length;
    size_t line = 0, n = 0;
    secrets->values = calloc(SECRETS_MOST, sizeof *secrets->values);
    if (!secrets->values)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    while (at < end) {
        char *stop = memchr(at, '\n', (size_t)(end - at)), *equals;
        line++;
        stop = stop ? stop : end;
        *stop = '\0';
        equals = strchr(at, '=');
        if (strlen(at) != (size_t)(stop - at))
            return report_bad_line(settings, line, "contains a NUL byte");
        if (at != stop && (!equals || equals == at))
            return report_bad_line(settings, line, "is not NAME=value");
        if (n == SECRETS_MOST)
            return report_bad_line(settings, line, "exceeds the limit of 1000 secrets");
        if (at != stop) {
            *equals = '\0';
            secrets->values[n++] = (struct cairn_param){at, equals + 1};
        }
        at = stop + 1;
    }
    options->secrets = secrets->values;
    options->n_secrets = n;
    return 0;
}

int secrets_given_read(const struct settings *settings, struct secrets_given *secrets,
                       struct cairn_run_options *options)
{
    int fd = (int)settings->number[OPT_SECRETS_FD], result;
    *secrets = (struct secrets_given){.text = NULL};
    if (!settings->given[OPT_SECRETS_FD])
        return 0;
    result = read_all(fd, secrets);
    if (result < 0 && errno == E2BIG)
        return report_usage(settings->command,
                            "--secrets-fd gives more than 1 MiB, which is the limit");
    if (result < 0)
        return report_usage(settings->command, "cannot read descriptor %d: %s", fd,
                            strerror(errno));
    if (fd > 2)
        close(fd);
    return split_lines(settings, secrets, options);
}

static bool is_given(const struct cairn_run_options *options, const char *name)
{
    for (size_t i = 0; i < options->n_secrets; i++)
        if (strcmp(options->secrets[i].name, name) == 0)
            return true;
    return getenv(name) != NULL;
}

const char *secrets_not_given(const struct cairn_workflow *workflow,
                              const struct cairn_run_options *options, size_t i)
{
    const char *name;
    for (size_t k = 0; (name = cairn_workflow_secret(workflow, k)); k++)
        if (!is_given(options, name) && i-- == 0)
            return name;
    return NULL;
}

void secrets_given_release(struct secrets_given *secrets)
{
    if (secrets->text)
        explicit_bzero(secrets->text, secrets->length);
    free(secrets->text);
    free(secrets->values);
    *secrets = (struct secrets_given){.text = NULL};
}
