/* SPDX-License-Identifier: MIT */
/* What the fuzz targets share. A target is one file fuzz_NAME.c with
 * LLVMFuzzerTestOneInput; its seeds lie in corpus/NAME, its words in dict/NAME. A
 * target must do the same for the same bytes, whatever came before. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that does not hold is a crash with a name. */
#define HOLDS(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, \
                    #condition);                                              \
            abort();                                                          \
        }                                                                     \
    } while (0)

/* An error that says nothing, or of another code than was returned, is a bug. */
#define EXPLAINED(code, error)                              \
    do {                                                    \
        HOLDS((code) < 0 && (error).code == (code));        \
        HOLDS((error).text[0]);                             \
        HOLDS(memchr((error).text, 0, sizeof(error).text)); \
    } while (0)

/* A copy of the bytes that ends where a page that cannot be read begins: so reading
 * past its end is seen even in a library that was built without sanitizers. */
struct fenced {
    const char *ptr;
    char *pages;
    size_t mapped;
};

static inline struct fenced fence(struct str bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = (bytes.len + page) / page * page;
    struct fenced made = {.mapped = room + page};
    made.pages = mmap(NULL, made.mapped, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(made.pages != MAP_FAILED);
    HOLDS(mprotect(made.pages + room, page, PROT_NONE) == 0);
    char *at = made.pages + room - bytes.len;
    if (bytes.len)
        memcpy(at, bytes.ptr, bytes.len);
    HOLDS(mprotect(made.pages, room, PROT_READ) == 0);
    made.ptr = at;
    return made;
}

static inline void unfence(struct fenced *fenced)
{
    HOLDS(munmap(fenced->pages, fenced->mapped) == 0);
}

/* A directory that is empty at first and goes away at the end. */
static char fuzz_dir[256];

static inline void fuzz_dir_remove(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", fuzz_dir);
    if (system(command) != 0)
        fprintf(stderr, "%s stays\n", fuzz_dir);
}

static inline void fuzz_dir_make(void)
{
    const char *base = getenv("TMPDIR");
    if (fuzz_dir[0])
        return;
    snprintf(fuzz_dir, sizeof fuzz_dir, "%s/cairn-fuzz.XXXXXX",
             base && *base ? base : "/tmp");
    HOLDS(mkdtemp(fuzz_dir));
    HOLDS(atexit(fuzz_dir_remove) == 0);
}

static inline void fuzz_file(const char *name, struct str content)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", fuzz_dir, name);
    FILE *file = fopen(path, "w");
    HOLDS(file);
    HOLDS(!content.len || fwrite(content.ptr, 1, content.len, file) == content.len);
    HOLDS(fclose(file) == 0);
}

#endif
