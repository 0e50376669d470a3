/* SPDX-License-Identifier: MIT */
/* Reading what the tasks themselves wrote. */
#include "crash.h"

static bool add_line(struct journal *journal, uint32_t *capacity, struct line line)
{
    if (journal->n == *capacity) {
        uint32_t more = *capacity ? 2 * *capacity : 512;
        struct line *lines = realloc(journal->lines, more * sizeof *lines);
        if (!lines)
            return false;
        journal->lines = lines;
        *capacity = more;
    }
    journal->lines[journal->n++] = line;
    return true;
}

static bool parse(const struct workflow *w, const char *text, struct line *line)
{
    static const char *const kinds[] = {"start", "end",     "fail", "overlap",
                                        "check", "checked", "undo", "undone"};
    char kind[16], id[ID_MAX];
    long long time_ns;
    int pid;
    if (sscanf(text, "%15s %47s %u %u %lld %d %63s", kind, id, &line->attempt,
               &line->session, &time_ns, &pid, line->got) != 7)
        return false;
    line->time_ns = time_ns;
    line->pid = pid;
    line->task = workflow_find(w, id);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i], kind) == 0) {
            line->kind = (enum line_kind)i;
            return line->task != UINT32_MAX && line->session < SESSIONS_MAX;
        }
    return false;
}

bool journal_read(struct journal *journal, const struct workflow *w, const char *dir)
{
    char path[DIR_SIZE + 16], text[256];
    uint32_t capacity = 0;
    bool good = true;
    *journal = (struct journal){NULL, 0};
    snprintf(path, sizeof path, "%s/log", dir);
    FILE *file = fopen(path, "re");
    if (!file)
        return true; /* nothing has started yet */
    /* A task may just be writing the last one. */
    while (good && fgets(text, sizeof text, file) && strchr(text, '\n')) {
        struct line line;
        good = parse(w, text, &line) && add_line(journal, &capacity, line);
    }
    fclose(file);
    return good;
}

void journal_release(struct journal *journal)
{
    free(journal->lines);
    *journal = (struct journal){NULL, 0};
}
