/* SPDX-License-Identifier: MIT */
#include "cli/files/patterns.h"

#include "cli/exit_status.h"
#include "cli/report.h"

#include <stdlib.h>
#include <string.h>

int patterns_take(struct patterns *patterns, const char *given)
{
    size_t most = 1;
    *patterns = (struct patterns){.n = 0};
    if (!given)
        return 0;
    for (const char *comma = given; (comma = strchr(comma, ',')); comma++)
        most++;
    patterns->text = strdup(given);
    patterns->list = calloc(most, sizeof *patterns->list);
    if (!patterns->text || !patterns->list)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    patterns->list[patterns->n++] = patterns->text;
    for (char *at = patterns->text; *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0') {
            at++;
        } else if (*at == ',') {
            *at = '\0';
            patterns->list[patterns->n++] = at + 1;
        }
    }
    return 0;
}

void patterns_release(struct patterns *patterns)
{
    free(patterns->list);
    free(patterns->text);
    *patterns = (struct patterns){.n = 0};
}
