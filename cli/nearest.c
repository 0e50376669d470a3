/* SPDX-License-Identifier: MIT */
/* The nearest valid word, by the number of letters to insert, delete, replace or swap
 * (Damerau-Levenshtein, restricted form, three rows). */
#include "cli/nearest.h"

#include <string.h>

#define WORD_MAX 64

static unsigned smaller_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned edit_distance(const char *a, size_t n, const char *b, size_t m)
{
    unsigned rows[3][WORD_MAX + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *spare = before;
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = last[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = smaller_of(row[j], smaller_of(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller_of(row[j], before[j - 2] + 1);
        }
        before = last;
        last = row;
        row = spare;
    }
    return last[m];
}

/* One slip for each four letters: other words are no slips. */
void nearest_init(struct nearest *nearest, const char *word)
{
    size_t n = strlen(word);
    nearest->word = word;
    nearest->best = NULL;
    nearest->distance = (n < 8 ? 1 : (unsigned)(n / 4)) + 1;
}

void nearest_try(struct nearest *nearest, const char *candidate)
{
    size_t n = strlen(nearest->word), m = strlen(candidate);
    size_t gap = n > m ? n - m : m - n;
    unsigned d;
    if (n > WORD_MAX || m > WORD_MAX || gap >= nearest->distance)
        return;
    d = edit_distance(nearest->word, n, candidate, m);
    if (d < nearest->distance && d < m) {
        nearest->distance = d;
        nearest->best = candidate;
    }
}
