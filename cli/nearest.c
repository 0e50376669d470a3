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

/* Only a word within a third of its letters is worth suggesting. */
void nearest_init(struct nearest *nearest, const char *word)
{
    size_t n = strlen(word);
    nearest->word = word;
    nearest->best = NULL;
    nearest->distance = (n < 6 ? 2 : (unsigned)(n / 3)) + 1;
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

/* ---- Words of make, just, Snakemake, docker and git ---- */

/* The nearest word by letters would be a wrong answer to them. */
const char *command_meant(const char *word)
{
    static const struct {
        const char *word, *meant;
    } words[] = {
        {"list", "`cairn runs` lists runs, `cairn status --tasks` the tasks of one, "
                 "`cairn plan` those of the workflow file"},
        {"ls", "`cairn runs` lists runs, `cairn status --tasks` the tasks of one, "
               "`cairn plan` those of the workflow file"},
        {"tasks", "`cairn status --tasks` lists those of a run, `cairn plan` those of "
                  "the workflow file"},
        {"ps", "`cairn status` shows what is running, `cairn runs` all runs"},
        {"top", "`cairn watch` follows a run"},
        {"start", "`cairn run` starts a workflow, or goes on with its unfinished run"},
        {"up", "`cairn run` starts a workflow, or goes on with its unfinished run"},
        {"build", "`cairn run` runs the workflow file"},
        {"make", "`cairn run` runs the workflow file"},
        {"retry", "`cairn resume` runs what failed or was not finished again"},
        {"restart", "`cairn resume` goes on with a run, `cairn run --fresh` starts the "
                    "workflow over"},
        {"continue", "`cairn resume` goes on with a run"},
        {"logs", "`cairn log TASK` prints what a task wrote"},
        {"output", "`cairn log TASK` prints what a task wrote"},
        {"stop", "`cairn cancel` stops a run that is running; `cairn resume` goes on "
                 "with it"},
        {"kill", "`cairn cancel` stops a run that is running"},
        {"abort", "`cairn cancel` stops a run that is running"},
        {"down", "`cairn cancel` stops a run, `cairn undo` takes back what it did"},
        {"pause", "`cairn cancel` stops a run, `cairn resume` goes on with it"},
        {"rollback", "`cairn undo` takes back what a run did"},
        {"dry-run", "`cairn plan` says what would run, and why"},
        {"why", "`cairn explain TASK` says why a task runs or does not"},
        {"lint", "`cairn validate` checks a workflow file"},
        {"verify", "`cairn validate` checks a workflow file, `cairn checkpoint verify` "
                   "what is stored"},
        {"clean", "`cairn undo RUN` takes back what a run did, `cairn gc` removes what "
                  "the store no longer needs; files of tasks are theirs"},
        {"all", "`cairn run` runs the whole workflow file"},
        {"test", "`cairn run test` runs the task or group of that name"},
        {"tail", "`cairn log TASK --follow` prints what a task writes"},
        {"history", "`cairn runs` lists runs, `cairn checkpoint list` checkpoints"},
        {"dag", "`cairn graph` draws the tasks"},
        {"dot", "`cairn graph` draws the tasks"},
        {"approve", "`cairn complete RUN TASK` says that an external task is done"},
        {"done", "`cairn complete RUN TASK` says that an external task is done"},
        {"new", "`cairn init` writes a workflow file to begin with"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i].meant;
    return NULL;
}

const char *option_meant(const char *command, const char *option)
{
    static const struct {
        const char *command, *option, *meant;
    } options[] = {
        {"run", "dry-run", "`cairn plan` says what would run, and why"},
        {"run", "just-print", "`cairn plan` says what would run, and why"},
        {"run", "dryrun", "`cairn plan` says what would run, and why"},
        {"run", "n", "`cairn plan` says what would run, and why"},
        {"run", "f", "the workflow file comes without it: cairn run FILE"},
        {"run", "file", "the workflow file comes without it: cairn run FILE"},
        {"plan", "f", "the workflow file comes without it: cairn plan FILE"},
        {"plan", "file", "the workflow file comes without it: cairn plan FILE"},
        {"run", "B", "`cairn run --fresh` runs everything again"},
        {"run", "list", "`cairn plan` lists the tasks of a workflow file"},
        {"run", "tasks", "`cairn status --tasks` lists the tasks of a run"},
        {"run", "follow",
         "the run is followed anyway; `cairn watch` follows one that "
         "another process runs"},
        {"run", "resume",
         "`cairn run` goes on with the unfinished run of its workflow "
         "by itself; `cairn resume RUN` with a certain one"},
        {"run", "run", "`cairn resume RUN` goes on with a certain run"},
        {"run", "from",
         "`cairn resume --from CHECKPOINT` starts a run from a "
         "checkpoint"},
        {"run", "undo", "`cairn undo RUN` takes back what a run did"},
        {"run", "reason", "`cairn explain TASK` says why a task runs or does not"},
        {"resume", "dry-run",
         "`cairn plan --run RUN`, or `--from CHECKPOINT`, says what would run, and "
         "why"},
        {"resume", "run", "the number of the run comes without it: cairn resume RUN"},
        {"events", "run", "the number of the run comes without it: cairn events RUN"},
        {"status", "run", "the number of the run comes without it: cairn status RUN"},
        {"watch", "run", "the number of the run comes without it: cairn watch RUN"},
        {"status", "follow", "`cairn watch` follows a run"},
        {"status", "watch", "`cairn watch` follows a run"},
    };
    for (size_t i = 0; command && i < sizeof options / sizeof options[0]; i++)
        if (strcmp(options[i].command, command) == 0 &&
            strcmp(options[i].option, option) == 0)
            return options[i].meant;
    return NULL;
}
