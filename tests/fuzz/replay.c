/* SPDX-License-Identifier: MIT */
/* In place of libFuzzer in a build with sanitizers: gives a target every file that it is
 * called with, or that is in such a folder, as `-runs=0` does, and the empty input first.
 * Options are ignored. An input may take 5 seconds of a processor and 1 GiB. What was
 * given last stands at the end of the output. */
#include "tests/fuzz/fuzz.h"

#include <fts.h>
#include <sys/time.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
const char *__asan_default_options(void);

enum { SECONDS = 5, MOST_BYTES = 65536 };

static unsigned long given;

/* Both for the memory of an input and of all that went before. */
const char *__asan_default_options(void)
{
    return "hard_rss_limit_mb=1024";
}

static void give(const char *name, const uint8_t *bytes, size_t size)
{
    struct itimerval limit = {.it_value.tv_sec = SECONDS};
    printf("input: %s\n", name);
    fflush(stdout);
    /* Of its exact size, so that reading past its end is seen. */
    uint8_t *copy = malloc(size ? size : 1);
    HOLDS(copy);
    if (size)
        memcpy(copy, bytes, size);
    HOLDS(setitimer(ITIMER_PROF, &limit, NULL) == 0); /* its signal ends the program */
    LLVMFuzzerTestOneInput(size ? copy : copy + 1, size);
    HOLDS(setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL) == 0);
    free(copy);
    given++;
}

static void give_file(const char *path)
{
    static uint8_t bytes[MOST_BYTES];
    FILE *file = fopen(path, "r");
    HOLDS(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    HOLDS(!ferror(file) && fclose(file) == 0);
    give(path, bytes, size);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void give_below(char *path)
{
    FTS *files = fts_open((char *[]){path, NULL}, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    HOLDS(files);
    for (FTSENT *file; (file = fts_read(files));) {
        HOLDS(file->fts_info != FTS_DNR && file->fts_info != FTS_ERR &&
              file->fts_info != FTS_NS);
        if (file->fts_info == FTS_F)
            give_file(file->fts_accpath);
    }
    HOLDS(fts_close(files) == 0);
}

int main(int argc, char **argv)
{
    if (LLVMFuzzerInitialize)
        HOLDS(LLVMFuzzerInitialize(&argc, &argv) == 0);
    give("the empty one", NULL, 0);
    for (int i = 1; i < argc; i++)
        if (argv[i][0] != '-')
            give_below(argv[i]);
    printf("stat::number_of_executed_units: %lu\n", given);
    return 0;
}
