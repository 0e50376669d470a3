/* SPDX-License-Identifier: MIT */
#include "cli/files/patterns.h"

#include "cli/exit_status.h"
#include "cli/report.h"

#include <stdlib.h>
#include <string.h>

int patterns_take(struct patterns *patterns, const char *given,
                  const char *const *operands, int n)
{
    size_t most = 1 + (n > 0 ? (size_t)n : 0);
    *patterns = (struct patterns){.n = 0};
    if (!given && n <= 0)
        return 0;
    for (const char *comma = given; comma && (comma = strchr(comma, ',')); comma++)
        most++;
    patterns->text = strdup(given ? given : "");
    patterns->list = calloc(most, sizeof *patterns->list);
    if (!patterns->text || !patterns->list)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    if (given)
        patterns->list[patterns->n++] = patterns->text;
    for (char *at = patterns->text; *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0') {
            at++;
        } else if (*at == ',') {
            *at = '\0';
            patterns->list[patterns->n++] = at + 1;
        }
    }
    for (int i = 0; i < n; i++)
        patterns->list[patterns->n++] = operands[i];
    return 0;
}

void patterns_release(struct patterns *patterns)
{
    free(patterns->list);
    free(patterns->text);
    *patterns = (struct patterns){.n = 0};
}
