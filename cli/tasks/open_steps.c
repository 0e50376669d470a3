/* SPDX-License-Identifier: MIT */
#include "cli/tasks/open_steps.h"

#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/report.h"

#include <stdlib.h>
#include <string.h>

static int add_step(void *context, const struct cairn_next_info *info)
{
    struct open_steps *steps = context;
    if (steps->n == steps->capacity) {
        uint32_t capacity = steps->capacity ? 2 * steps->capacity : 16;
        struct open_step *at = realloc(steps->at, capacity * sizeof *at);
        if (!at) {
            steps->failed = true;
            return 1;
        }
        steps->at = at;
        steps->capacity = capacity;
    }
    struct open_step *step = &steps->at[steps->n++];
    *step = (struct open_step){.node = info->node,
                               .claimed = info->claimed,
                               .holder = info->holder ? strdup(info->holder) : NULL,
                               .left_ms = info->lease_left_ms,
                               .claimed_ns = info->claimed_ns,
                               .lost = info->leases_lost};
    steps->claimed += info->claimed;
    steps->failed = info->holder && !step->holder;
    return steps->failed;
}

const char *lease_words(char out[LEASE_WORDS_MAX], const char *holder, int64_t left_ms,
                        int64_t since_ns, uint32_t lost)
{
    char left[FORMAT_MAX], since[FORMAT_MAX];
    int n = 0;
    out[0] = '\0';
    if (holder)
        n = snprintf(out, LEASE_WORDS_MAX, "by %.200s for another %s, since %s", holder,
                     format_duration(left, left_ms), format_local(since, since_ns));
    if (lost > 0)
        snprintf(out + n, LEASE_WORDS_MAX - (size_t)n, "%s%u lease%s ran out%s",
                 n > 0 ? "; " : "", lost, lost == 1 ? "" : "s", n > 0 ? " before" : "");
    return out;
}

static int by_node(const void *x, const void *y)
{
    const struct open_step *a = x, *b = y;
    return (a->node > b->node) - (a->node < b->node);
}

int open_steps_read(struct open_steps *steps, struct cairn_store *store, uint64_t run)
{
    struct cairn_error error = {0};
    *steps = (struct open_steps){.at = NULL};
    if (cairn_next(store, run, true, add_step, steps, &error) != 0)
        return report_error(&error);
    if (steps->failed)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_ENOMEM),
                              "out of memory");
    if (steps->n > 0)
        qsort(steps->at, steps->n, sizeof *steps->at, by_node);
    return 0;
}

const struct open_step *open_steps_find(const struct open_steps *steps, uint32_t node)
{
    struct open_step key = {.node = node};
    return steps->n > 0 ? bsearch(&key, steps->at, steps->n, sizeof *steps->at, by_node)
                        : NULL;
}

void open_steps_release(struct open_steps *steps)
{
    for (uint32_t i = 0; i < steps->n; i++)
        free(steps->at[i].holder);
    free(steps->at);
    *steps = (struct open_steps){.at = NULL};
}
