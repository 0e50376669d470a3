/* SPDX-License-Identifier: MIT */
#include "cli/tasks/state_list.h"

#include "cli/exit_status.h"
#include "cli/report.h"

#include <string.h>

bool state_list_has(const char *list, const char *word)
{
    size_t n = strlen(word);
    while (*list) {
        size_t m = strcspn(list, ",");
        if (m == n && strncmp(list, word, n) == 0)
            return true;
        list += m + (list[m] == ',');
    }
    return false;
}

int state_list_check(const char *list, const char *words)
{
    for (bool more = true; more;) {
        char word[32] = "";
        size_t n = strcspn(list, ",");
        if (n < sizeof word)
            memcpy(word, list, n);
        if (n == 0 || n >= sizeof word || !state_list_has(words, word))
            return report_failure(EXIT_USAGE, cairn_code_name(CAIRN_EUSAGE),
                                  "--state cannot be '%.*s': give some of %s", (int)n,
                                  list, words);
        more = list[n] == ',';
        list += n + more;
    }
    return 0;
}
