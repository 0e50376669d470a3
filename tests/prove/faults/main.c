/* SPDX-License-Identifier: MIT */
/* Makes call after call fail, in commands of cairn, and judges what became of it.
 *
 *   faults --kind alloc|library|sqlite --cairn PATH --preload PATH [OPTION...]
 *     --codes CODE,...    for sqlite: how it fails, each in turn
 *     --points N --seed N N of all places, evenly, from where the seed says
 *     --all               every call, not only those that come by a new way (stack)
 *     --once              none of them from then on
 *     --case NAME         only this command
 *     --at N[+]           only this call
 *
 * First every command is run with nothing failing, which counts its calls. Then one
 * call fails per run, once or (the first by each way) from then on. The last line
 * counts: points, fired, lost, repeated, other.
 */
#include "faults.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *kind, *codes, *only, *at, *cairn, *preload;
    unsigned long points, seed;
    bool all, once;
};

struct place {
    const struct sweep_case *c;
    const struct clean *clean;
    uint32_t call; /* from 1 */
    bool onward;
    const char *code; /* up to a comma; or NULL */
};
struct places {
    struct place *at;
    size_t n, room;
};

static void add(struct places *places, struct place place)
{
    if (places->n == places->room) {
        places->room = places->room ? 2 * places->room : 1024;
        places->at = realloc(places->at, places->room * sizeof *places->at);
        if (!places->at)
            abort();
    }
    places->at[places->n++] = place;
}

static bool is_new(const uint32_t *stacks, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (stacks[i] == stacks[n])
            return false;
    return true;
}

static const char *next_code(const char *codes, const char *code)
{
    const char *comma = code ? strchr(code, ',') : NULL;
    return comma ? comma + 1 : codes;
}

static bool is_busy(const char *code)
{
    return code && !strncmp(code, "BUSY", 4);
}

/* All that can fail in a command whose clean run was the last one. */
static void add_places(struct places *places, const struct options *options,
                       const struct fault_page *page, struct place place)
{
    uint64_t seen = page->seen;
    uint32_t n = seen < FAULT_STACKS ? (uint32_t)seen : FAULT_STACKS;
    for (uint32_t i = 0; i < n; i++) {
        bool first = is_new(page->stack, i);
        place.call = i + 1;
        place.onward = false;
        place.code = next_code(options->codes, place.code);
        if (first || options->all)
            add(places, place);
        place.onward = true;
        place.code = next_code(options->codes, place.code);
        /* Who finds the store locked waits for half a minute, as it should. */
        if (first && !options->once && !place.c->waits &&
            !(place.c->changes && is_busy(place.code)))
            add(places, place);
    }
}

/* The value of CAIRN_FAULT. */
static void fault_text(const struct options *options, const char *code, const char *at,
                       char *out, size_t size)
{
    snprintf(out, size, "%s%s%.*s:%s", options->kind, code ? "=" : "",
             code ? (int)strcspn(code, ",") : 0, code ? code : "", at);
}

static bool sweep(struct world *world, const struct options *options,
                  const struct places *places, struct counts *counts)
{
    size_t wanted =
        options->points && options->points < places->n ? options->points : places->n;
    /* Every part of the list gives one point, at another place in it. */
    size_t part = wanted ? places->n / wanted : 1;
    for (size_t i = 0; i < wanted; i++) {
        size_t at = i * places->n / wanted + (options->seed + i * 7) % part;
        const struct place *place = &places->at[at < places->n ? at : places->n - 1];
        char fault[64], call[16];
        snprintf(call, sizeof call, "%u%s", place->call, place->onward ? "+" : "");
        fault_text(options, place->code, call, fault, sizeof fault);
        if (!judge_point(world, place->c, place->clean, fault, counts))
            return false;
        fflush(stdout);
    }
    return true;
}

static bool try_case(struct world *world, const struct options *options,
                     const struct sweep_case *c, struct clean *clean,
                     struct places *places, struct counts *counts)
{
    struct place place = {.c = c, .clean = clean};
    char fault[64];
    fault_text(options, options->codes, "0", fault, sizeof fault);
    if (!judge_clean(world, c, fault, clean))
        return false;
    if (!options->at) {
        add_places(places, options, world->page, place);
        return true;
    }
    fault_text(options, options->codes, options->at, fault, sizeof fault);
    return judge_point(world, c, clean, fault, counts);
}

static bool try_all(struct world *world, const struct options *options,
                    struct counts *counts)
{
    struct places places = {0};
    struct clean *cleans = calloc(n_sweep_cases, sizeof *cleans);
    bool good = cleans != NULL;
    for (size_t i = 0; good && i < n_sweep_cases; i++) {
        const struct sweep_case *c = &sweep_cases[i];
        if (options->only && strcmp(options->only, c->name) != 0)
            continue;
        good = try_case(world, options, c, &cleans[i], &places, counts);
        if (!good)
            printf("# %s: could not be tried\n", c->name);
    }
    if (good && !options->at)
        good = sweep(world, options, &places, counts);
    printf("places %zu\n", places.n);
    for (size_t i = 0; cleans && i < n_sweep_cases; i++)
        clean_release(&cleans[i]);
    free(cleans);
    free(places.at);
    return good;
}

static bool parse(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"kind", 1, NULL, 'k'},    {"codes", 1, NULL, 'e'}, {"points", 1, NULL, 'p'},
        {"all", 0, NULL, 'a'},     {"once", 0, NULL, 'o'},  {"seed", 1, NULL, 's'},
        {"case", 1, NULL, 'c'},    {"at", 1, NULL, 't'},    {"cairn", 1, NULL, 'x'},
        {"preload", 1, NULL, 'l'}, {NULL, 0, NULL, 0}};
    int letter;
    while ((letter = getopt_long(argc, argv, "", known, NULL)) >= 0)
        switch (letter) {
        case 'k':
            options->kind = optarg;
            break;
        case 'e':
            options->codes = optarg;
            break;
        case 'p':
            options->points = strtoul(optarg, NULL, 10);
            break;
        case 'a':
            options->all = true;
            break;
        case 'o':
            options->once = true;
            break;
        case 's':
            options->seed = strtoul(optarg, NULL, 10);
            break;
        case 'c':
            options->only = optarg;
            break;
        case 't':
            options->at = optarg;
            break;
        case 'x':
            options->cairn = optarg;
            break;
        case 'l':
            options->preload = optarg;
            break;
        default:
            return false;
        }
    return options->kind && options->cairn && options->preload;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct world world;
    struct counts counts = {0};
    if (!parse(argc, argv, &options)) {
        fputs("usage: faults --kind KIND --cairn PATH --preload PATH ...\n", stderr);
        return 2;
    }
    setenv("SECRET", "plumtree-73", 1);
    unsetenv("CAIRN_STORE"); /* every state has its own */
    if (!world_open(&world, options.cairn, options.preload) || !states_prepare(&world))
        return 1;
    bool good = try_all(&world, &options, &counts);
    world_close(&world);
    printf("counts %u %u %u %u %u\n", counts.points, counts.fired, counts.lost,
           counts.repeated, counts.other);
    return good && !(counts.lost + counts.repeated + counts.other) ? 0 : 1;
}
