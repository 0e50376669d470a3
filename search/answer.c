/* SPDX-License-Identifier: MIT */
/* What a service answers:
 *
 *   {"data": [{"index": 0, "embedding": [0.1, ...]}, ...], ...}
 *
 * in any order. Whatever else stands there is passed over. */
#include "search/service_int.h"

#include "base/error.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>

static int refuse(char why[SERVICE_WHY], const char *text)
{
    snprintf(why, SERVICE_WHY, "%s", text);
    return 1;
}

static int read_vector(struct answer *answer, const json_t *numbers, float *out,
                       char why[SERVICE_WHY])
{
    for (size_t i = 0; i < answer->numbers; i++) {
        const json_t *number = json_array_get(numbers, i);
        double value = json_number_value(number);
        if (!json_is_number(number) || !(value > -1e6 && value < 1e6))
            return refuse(why,
                          "its answer has something in a vector that is no number");
        out[i] = (float)value;
    }
    return 0;
}

/* The first vector says how many numbers all have. */
static int make_room(struct answer *answer, const json_t *numbers,
                     char why[SERVICE_WHY], struct cairn_error *error)
{
    size_t n = json_array_size(numbers);
    if (n == 0 || n > SERVICE_NUMBERS_MOST) {
        snprintf(why, SERVICE_WHY, "its vectors have %zu numbers: 1 to %d can be used",
                 n, SERVICE_NUMBERS_MOST);
        return 1;
    }
    if (!answer->numbers)
        answer->numbers = n;
    if (n != answer->numbers) {
        snprintf(why, SERVICE_WHY, "its vectors have %zu numbers, and not %zu", n,
                 answer->numbers);
        return 1;
    }
    if (!answer->at)
        answer->at = calloc(answer->n * n, sizeof *answer->at);
    return answer->at ? 0 : error_nomem(error);
}

static int read_entry(struct answer *answer, const json_t *entry, bool *seen,
                      char why[SERVICE_WHY], struct cairn_error *error)
{
    const json_t *index = json_object_get(entry, "index");
    const json_t *numbers = json_object_get(entry, "embedding");
    json_int_t at = json_integer_value(index);
    if (!json_is_integer(index) || at < 0 || (size_t)at >= answer->n || seen[at] ||
        !json_is_array(numbers))
        return refuse(why, "its answer has other vectors than were asked for");
    seen[at] = true;
    int rc = make_room(answer, numbers, why, error);
    if (rc)
        return rc;
    return read_vector(answer, numbers, answer->at + (size_t)at * answer->numbers, why);
}

int answer_read(struct answer *answer, struct str json, char why[SERVICE_WHY],
                struct cairn_error *error)
{
    bool seen[SERVICE_BATCH] = {false};
    json_t *root = json_loadb(json.ptr, json.len, 0, NULL);
    const json_t *data = json_object_get(root, "data");
    int rc = 0;
    if (!root)
        rc = refuse(why, "its answer is no JSON");
    else if (!json_is_array(data) || json_array_size(data) != answer->n)
        rc = refuse(why, "its answer has other vectors than were asked for");
    for (size_t i = 0; i < answer->n && !rc; i++)
        rc = read_entry(answer, json_array_get(data, i), seen, why, error);
    json_decref(root);
    return rc;
}
