/* SPDX-License-Identifier: MIT */
/* How each tool is told the graph, and how it is called. The text of the commands is
 * the same everywhere. */
#include "peers.h"

#include <string.h>

enum { LAYER = 100 };

static const char *cairn_path = "cairn";

void tools_use(const char *cairn)
{
    cairn_path = cairn;
}

uint32_t graph_needs(const struct graph *graph, uint32_t task,
                     uint32_t needs[NEEDS_MOST])
{
    if (graph->shape == WIDE || task == 0)
        return 0;
    if (graph->shape == CHAIN) {
        needs[0] = task - 1;
        return 1;
    }
    if (task < LAYER)
        return 0;
    uint32_t first = task / LAYER * LAYER - LAYER, place = task % LAYER;
    needs[0] = first + place;
    needs[1] = first + (place + 1) % LAYER;
    needs[2] = first + (place + 7) % LAYER;
    return 3;
}

static const char *target_name(const struct graph *graph)
{
    return graph->work == NOOP ? "t" : "out/";
}

static void print_command(FILE *file, const struct graph *graph, uint32_t task)
{
    if (graph->work == NOOP)
        fputs("true", file);
    else if (graph->work == TOUCH)
        fprintf(file, "touch out/%u", task);
    else
        fprintf(file, "echo %u >>log && touch out/%u && echo %u >>ended", task, task,
                task);
}

static void print_needs(FILE *file, const struct graph *graph, uint32_t task)
{
    uint32_t needs[NEEDS_MOST], n = graph_needs(graph, task, needs);
    for (uint32_t i = 0; i < n; i++)
        fprintf(file, " %s%u", target_name(graph), needs[i]);
}

static const char *jobs_word(const struct graph *graph)
{
    static char word[16];
    snprintf(word, sizeof word, "-j%u", graph->jobs);
    return word;
}

/* ---- make ---- */

/* In one line: make takes quadratic time for as many lines. */
static void print_targets(FILE *file, const struct graph *graph, const char *before)
{
    fputs(before, file);
    for (uint32_t i = 0; i < graph->n; i++)
        fprintf(file, " %s%u", target_name(graph), i);
    fputc('\n', file);
}

static void write_make(FILE *file, const struct graph *graph)
{
    print_targets(file, graph, "all:");
    if (graph->work == NOOP)
        print_targets(file, graph, ".PHONY: all");
    for (uint32_t i = 0; i < graph->n; i++) {
        fprintf(file, "%s%u:", target_name(graph), i);
        print_needs(file, graph, i);
        fputs("\n\t@", file);
        print_command(file, graph, i);
        fputc('\n', file);
    }
}

static const char *const *words_make(const struct graph *graph, bool again)
{
    static const char *words[] = {"make", "-s", NULL, "all", NULL};
    words[2] = jobs_word(graph);
    (void)again;
    return words;
}

/* ---- ninja ---- */

static void write_ninja(FILE *file, const struct graph *graph)
{
    fputs("rule r\n  command = $c\n", file);
    for (uint32_t i = 0; i < graph->n; i++) {
        fprintf(file, "build %s%u: r", target_name(graph), i);
        print_needs(file, graph, i);
        fputs("\n  c = ", file);
        print_command(file, graph, i);
        fputc('\n', file);
    }
}

static const char *const *words_ninja(const struct graph *graph, bool again)
{
    static const char *words[] = {"ninja", "--quiet", NULL, NULL};
    words[2] = jobs_word(graph);
    (void)again;
    return words;
}

/* ---- GNU parallel ---- */

static void write_list(FILE *file, const struct graph *graph)
{
    for (uint32_t i = 0; i < graph->n; i++)
        fprintf(file, "%u\n", i);
}

static const char *const *words_parallel(const struct graph *graph, bool again)
{
    static const char *words[WORDS_MOST];
    static const char *const commands[] = {
        "true", "touch out/{}", "echo {} >>log && touch out/{} && echo {} >>ended"};
    uint32_t n = 0;
    words[n++] = "parallel";
    words[n++] = jobs_word(graph);
    words[n++] = "--joblog";
    words[n++] = "joblog";
    if (again)
        words[n++] = "--resume";
    words[n++] = "-a";
    words[n++] = "list";
    words[n++] = commands[graph->work];
    words[n] = NULL;
    return words;
}

/* ---- Snakemake ---- */

static void write_snakemake(FILE *file, const struct graph *graph)
{
    fprintf(file, "rule all:\n    input: expand('out/{i}', i=range(%u))\n", graph->n);
    if (graph->shape == CHAIN)
        fputs("def needs(w):\n    i = int(w.i)\n"
              "    return ['out/%d' % (i - 1)] if i else []\n",
              file);
    else if (graph->shape == LAYERS)
        fprintf(file,
                "def needs(w):\n    i = int(w.i)\n    first = i // %d * %d - %d\n"
                "    return ['out/%%d' %% (first + (i + k) %% %d) for k in (0, 1, 7)] "
                "if first >= 0 else []\n",
                LAYER, LAYER, LAYER, LAYER);
    else
        fputs("def needs(w):\n    return []\n", file);
    fprintf(file, "rule task:\n    input: needs\n    output: %s\n    shell: '%s'\n",
            graph->work == NOOP ? "touch('out/{i}')" : "'out/{i}'",
            graph->work == NOOP    ? "true"
            : graph->work == TOUCH ? "touch out/{wildcards.i}"
                                   : "echo {wildcards.i} >>log && touch "
                                     "out/{wildcards.i} && echo {wildcards.i} >>ended");
}

static const char *const *words_snakemake(const struct graph *graph, bool again)
{
    static const char *first[] = {"snakemake", NULL, "--quiet", "all", NULL};
    /* What was cut short is named by a file of metadata; without this it stops. */
    static const char *second[] = {"snakemake",          NULL,       "--quiet", "all",
                                   "--rerun-incomplete", "--nolock", NULL};
    first[1] = second[1] = jobs_word(graph);
    return again ? second : first;
}

/* ---- cairn ---- */

static void print_action(FILE *file, const struct graph *graph, uint32_t task,
                         bool exec)
{
    if (exec && graph->work == NOOP)
        fputs("    exec: [\"true\"]\n", file);
    else if (exec)
        fprintf(file, "    exec: [touch, out/%u]\n", task);
    else {
        fputs("    run: '", file);
        print_command(file, graph, task);
        fputs("'\n", file);
    }
    if (graph->work != NOOP)
        fprintf(file, "    outputs: [out/%u]\n", task);
}

static void write_wide(FILE *file, const struct graph *graph, bool exec)
{
    static const char *const runs[] = {
        "\"true\"", "touch out/$i", "echo $i >>log && touch out/$i && echo $i >>ended"};
    fprintf(file, "  t:\n    foreach: {i: {range: [0, %u]}}\n", graph->n - 1);
    if (exec)
        fprintf(file, "    exec: %s\n",
                graph->work == NOOP ? "[\"true\"]" : "[touch, \"out/${{ i }}\"]");
    else
        fprintf(file, "    run: %s\n", runs[graph->work]);
    if (graph->work != NOOP)
        fputs("    outputs: [\"out/${{ i }}\"]\n", file);
}

static void write_cairn(FILE *file, const struct graph *graph, bool exec)
{
    fputs("name: peers\ntasks:\n", file);
    if (graph->shape == WIDE) {
        write_wide(file, graph, exec);
        return;
    }
    for (uint32_t i = 0; i < graph->n; i++) {
        uint32_t needs[NEEDS_MOST], n = graph_needs(graph, i, needs);
        fprintf(file, "  t%u:\n    needs: [", i);
        for (uint32_t k = 0; k < n; k++)
            fprintf(file, "%st%u", k ? ", " : "", needs[k]);
        fputs("]\n", file);
        print_action(file, graph, i, exec);
    }
}

static void write_run(FILE *file, const struct graph *graph)
{
    write_cairn(file, graph, false);
}

static void write_exec(FILE *file, const struct graph *graph)
{
    write_cairn(file, graph, true);
}

static const char *const *words_cairn(const struct graph *graph, const char *sync,
                                      bool again)
{
    static const char *words[WORDS_MOST];
    uint32_t n = 0;
    words[n++] = cairn_path;
    words[n++] = again ? "resume" : "run";
    words[n++] = "--quiet";
    words[n++] = "--store";
    words[n++] = ".cairn";
    words[n++] = jobs_word(graph);
    words[n++] = sync;
    if (!again)
        words[n++] = "flow.yaml";
    words[n] = NULL;
    return words;
}

static const char *const *words_full(const struct graph *graph, bool again)
{
    return words_cairn(graph, "--sync=full", again);
}

static const char *const *words_normal(const struct graph *graph, bool again)
{
    return words_cairn(graph, "--sync=normal", again);
}

const struct tool tools[] = {
    {.name = "cairn, full, exec",
     .file = "flow.yaml",
     .write = write_exec,
     .words = words_full,
     .no_logged = true},
    {.name = "cairn, full, run",
     .file = "flow.yaml",
     .write = write_run,
     .words = words_full},
    {.name = "cairn, normal, exec",
     .file = "flow.yaml",
     .write = write_exec,
     .words = words_normal,
     .no_logged = true},
    {.name = "cairn, normal, run",
     .file = "flow.yaml",
     .write = write_run,
     .words = words_normal},
    {.name = "GNU make",
     .file = "Makefile",
     .write = write_make,
     .words = words_make,
     .version = "make --version"},
    {.name = "ninja",
     .file = "build.ninja",
     .write = write_ninja,
     .words = words_ninja,
     .version = "ninja --version"},
    {.name = "GNU parallel",
     .file = "list",
     .write = write_list,
     .words = words_parallel,
     .only_wide = true,
     .kill_once = true,
     .version = "parallel --version"},
    {.name = "Snakemake",
     .file = "Snakefile",
     .write = write_snakemake,
     .words = words_snakemake,
     .most = 1000,
     .kill_once = true,
     .version = "snakemake --version"},
};
const uint32_t n_tools = sizeof tools / sizeof tools[0];
