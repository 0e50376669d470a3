/* SPDX-License-Identifier: MIT */
/* Faults from around cairn, in random order, against a few rules of what must not be
 * seen.
 *
 *   outside PART DIR SEED ROUNDS SECONDS
 *
 * namespaces   runs in containers and outside, killed, resumed, looked at from each
 * other gone         a store or project that goes while its run lives, another in its
 * place hashing      files that take long to read, with limits, stops and kills
 * meanwhile limits       few descriptors, processes, bytes refused      system calls
 * that a sandbox refuses
 *
 * Begins no round after SECONDS. TRACE=1 tells every step. Prints
 * `PART ROUNDS COMMANDS LOST REPEATED UNDETECTED OTHER` and, before that, what went
 * wrong as lines with '#'. Exit status 77: this cannot be done here. */
#include "tests/prove/outside/outside.h"
#include "tests/support/program.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool find_self(char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    path[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The command that is tried: the first in PATH. */
static bool find_command(char *path)
{
    const char *list = getenv("PATH");
    while (list && *list) {
        size_t n = strcspn(list, ":");
        snprintf(path, PATH_SIZE, "%.*s/cairn", (int)n, list);
        if (access(path, X_OK) == 0)
            return true;
        list += n + (list[n] == ':');
    }
    return false;
}

/* In the directory of the build: this is tests/prove/outside there. */
static bool find_tool(const struct world *w, const char *name, char *path)
{
    static const char own[] = "/tests/prove/outside";
    size_t n = strlen(w->self), tail = sizeof own - 1;
    if (n < tail || strcmp(w->self + n - tail, own) != 0)
        return false;
    snprintf(path, PATH_SIZE, "%.*s/%s", (int)(n - tail), w->self, name);
    return access(path, X_OK) == 0;
}

static const struct {
    const char *name;
    void (*run)(struct world *w);
    bool boxes;
} parts[] = {{"namespaces", part_namespaces, true},
             {"gone", part_gone, false},
             {"hashing", part_hashing, false},
             {"limits", part_limits, false},
             {"refused", part_refused, false}};

static int do_part(struct world *w, size_t part, unsigned rounds, int64_t seconds)
{
    int64_t until = now_ms() + seconds * 1000;
    struct box box;
    if (parts[part].boxes) {
        if (!box_make(&box, CONTAINER))
            return 77;
        box_end(&box);
    }
    while (w->round < rounds && now_ms() < until && failures(w) < 10) {
        unsigned before = failures(w);
        uint64_t seed = w->seed;
        if (!round_begin(w))
            break;
        parts[part].run(w);
        round_end(w, before);
        if (failures(w) != before)
            printf("# round %u of %s had the seed %llu\n", w->round, parts[part].name,
                   (unsigned long long)seed);
    }
    printf("%s %u %u %u %u %u %u\n", parts[part].name, w->round, w->commands, w->lost,
           w->repeated, w->undetected, w->other);
    return failures(w) > 0;
}

int main(int argc, char **argv)
{
    static struct world w;
    if (argc > 1 && strcmp(argv[1], "task") == 0)
        return task_main(argc - 1, argv + 1);
    umask(022);
    unsetenv("CAIRN_STORE");
    w.trace = getenv("TRACE") != NULL;
    if (argc == 6 && find_self(w.self, sizeof w.self) && find_command(w.cairn) &&
        find_tool(&w, "tests/tools/refuse", w.refuse)) {
        snprintf(w.top, sizeof w.top, "%.200s", argv[2]);
        w.seed = strtoull(argv[3], NULL, 10);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            if (strcmp(parts[i].name, argv[1]) == 0)
                return do_part(&w, i, (unsigned)strtoul(argv[4], NULL, 10),
                               strtoll(argv[5], NULL, 10));
    }
    fprintf(stderr, "usage: outside PART DIR SEED ROUNDS SECONDS, with DIR absolute "
                    "and cairn in PATH\n");
    return 2;
}
