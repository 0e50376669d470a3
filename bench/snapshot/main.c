/* SPDX-License-Identifier: MIT */
/* Snapshots of trees of files: cairn beside git, restic and borg, on the same edits.
 *
 *   snapshot [CAIRN]       $BUILD/cairn; the rest by variables of the environment:
 *
 *   SNAPSHOT_TREES         "project doc synthetic": the present directory without .git
 *                          and build, /usr/share/doc, and one that is made; or paths
 *   SNAPSHOT_FILES         250000: files of the synthetic one
 *   SNAPSHOT_ROUNDS        5: snapshots after 10 edits each; the tools take turns
 *   SNAPSHOT_CHECKPOINTS   200: snapshots after edits of 1 % of the files each, of
 * trees of up to SNAPSHOT_CHECKPOINTS_FILES (20000) files SNAPSHOT_TOOLS         "cairn
 * git restic borg"; those that are not installed are named and left out
 *
 * The floor is a process that names every entry of the tree and looks at it by fstatat.
 * The first walk, before all else, is not counted, so everything is in memory. Edits
 * and snapshots are a little apart, since all of these tools read a file again that has
 * changed a moment ago. What is restored is compared with what was there. Prints
 * Markdown tables. */
#include "snapshot.h"

#include "bench/bench.h"

enum { TOOLS_MOST = 8, EDITS = 10, PAUSE_MS = 100, OLD_MS = 3500 };

struct outcome {
    bool used;
    double first_s, first_mib, later_mib;
    struct bench_samples after_ms; /* snapshots after edits */
    struct bench_samples after_cpu_ms;
    struct bench_samples many_ms; /* ... of 1 % of the files */
    double first_bytes, bytes, packed_bytes;
    struct bench_samples one_ms;
    double all_s;
};

struct bench {
    char base[4096], tree_dir[4200], copy_dir[4200];
    const char *name;
    struct tree tree;
    struct outcome outcomes[TOOLS_MOST];
    struct bench_samples walk_ms, walk_cpu_ms;
    uint64_t rounds, many, snapshots; /* so far */
    double full_bytes;                /* of a copy for each of them */
};

static unsigned long number_from_environment(const char *name, unsigned long usual)
{
    const char *text = getenv(name);
    return text && *text ? bench_number(text) : usual;
}

static void pause_ms(long ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static double median(struct bench_samples *samples)
{
    return bench_quantile(samples, 0.5);
}

/* ---- Which tools ---- */

static bool is_word_of(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (list += strspn(list, " "); *list; list += strspn(list, " ")) {
        size_t length = strcspn(list, " ");
        if (length == n && strncmp(list, word, n) == 0)
            return true;
        list += length;
    }
    return false;
}

static void find_tools(struct bench *b)
{
    const char *wanted = getenv("SNAPSHOT_TOOLS");
    char command[4200];
    for (unsigned i = 0; i < n_tools; i++) {
        bool asked = !wanted || !*wanted || is_word_of(wanted, tools[i].name);
        bool own = tools[i].version[0] == '{';
        snprintf(command, sizeof command, "%s 2>&1 | head -n 1 | grep .",
                 tools[i].version);
        printf("- %s: ", tools[i].name);
        fflush(stdout);
        b->outcomes[i].used = asked && (own || system(command) == 0);
        if (!asked)
            puts("not asked for");
        else if (own)
            puts("of this tree");
        else if (!b->outcomes[i].used)
            puts("missing: not installed");
    }
    puts("");
}

/* ---- Snapshots ---- */

static double repository_bytes(const struct bench *b, unsigned i)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/repository-%s", b->base, tools[i].name);
    return (double)tree_disk_bytes(path);
}

static struct measured run_tool(const struct bench *b, const char *commands,
                                const char *file, const char *out)
{
    return tool_run(commands, b->tree_dir, b->snapshots, file, out);
}

static void walk(struct bench *b, bool counted)
{
    struct measured took = run_tool(b, "/proc/self/exe walk .", NULL, NULL);
    if (!counted)
        return;
    bench_add(&b->walk_ms, took.ms);
    bench_add(&b->walk_cpu_ms, took.cpu_ms);
}

/* Each tool is the first one in its turn. */
static void take_all(struct bench *b, bool many)
{
    unsigned turn = (unsigned)(b->snapshots % n_tools);
    b->snapshots++;
    b->full_bytes += (double)b->tree.bytes;
    for (unsigned k = 0; k < n_tools; k++) {
        unsigned i = (k + turn) % n_tools;
        struct outcome *outcome = &b->outcomes[i];
        if (!outcome->used)
            continue;
        struct measured took = run_tool(b, tools[i].take, NULL, NULL);
        if (b->snapshots == 1) {
            outcome->first_s = took.ms / 1000;
            outcome->first_mib = took.peak_mib;
            outcome->first_bytes = repository_bytes(b, i);
            continue;
        }
        bench_add(many ? &outcome->many_ms : &outcome->after_ms, took.ms);
        if (!many)
            bench_add(&outcome->after_cpu_ms, took.cpu_ms);
        if (took.peak_mib > outcome->later_mib)
            outcome->later_mib = took.peak_mib;
    }
}

static void begin_all(struct bench *b)
{
    for (unsigned i = 0; i < n_tools; i++)
        if (b->outcomes[i].used)
            run_tool(b, tools[i].init, NULL, NULL);
    pause_ms(OLD_MS);
    walk(b, false);
    take_all(b, false);
    pause_ms(OLD_MS);
}

static void take_rounds(struct bench *b)
{
    for (uint64_t round = 0; round < b->rounds; round++) {
        tree_edit(&b->tree, EDITS);
        pause_ms(PAUSE_MS);
        walk(b, true);
        take_all(b, false);
    }
}

static void take_many(struct bench *b)
{
    for (uint64_t i = 0; i < b->many; i++) {
        tree_edit(&b->tree, (b->tree.n + 99) / 100);
        pause_ms(PAUSE_MS);
        take_all(b, true);
    }
    for (unsigned i = 0; i < n_tools && b->many; i++) {
        struct outcome *outcome = &b->outcomes[i];
        if (!outcome->used)
            continue;
        outcome->bytes = repository_bytes(b, i);
        if (!tools[i].pack)
            continue;
        run_tool(b, tools[i].pack, NULL, NULL);
        outcome->packed_bytes = repository_bytes(b, i);
    }
}

/* ---- Restoring ---- */

static const char *plain_file(const struct bench *b)
{
    for (uint64_t i = b->tree.n / 2; i < b->tree.n; i++)
        if (b->tree.files[i][strspn(b->tree.files[i],
                                    "abcdefghijklmnopqrstuvwxyz0123456789/._-")] == 0)
            return b->tree.files[i];
    bench_fail(b->tree_dir, "no file in it has a plain name");
    return NULL;
}

static void restore_one(struct bench *b)
{
    char out[4300], wanted[9000];
    const char *file = plain_file(b);
    snprintf(out, sizeof out, "%s/one", b->base);
    snprintf(wanted, sizeof wanted, "%s/%s", b->tree_dir, file);
    for (unsigned i = 0; i < n_tools; i++)
        for (uint64_t round = 0; b->outcomes[i].used && round < b->rounds; round++) {
            bench_add(&b->outcomes[i].one_ms, run_tool(b, tools[i].one, file, out).ms);
            if (!tree_same_file(wanted, out))
                bench_fail(tools[i].name, "the file that was restored differs");
        }
}

static void restore_all(struct bench *b)
{
    char away[4300];
    tree_copy(b->tree_dir, b->copy_dir);
    for (unsigned i = 0; i < n_tools; i++) {
        if (!b->outcomes[i].used)
            continue;
        snprintf(away, sizeof away, "%s/away-%s", b->base, tools[i].name);
        tree_empty(b->tree_dir, away);
        b->outcomes[i].all_s = run_tool(b, tools[i].all, NULL, NULL).ms / 1000;
        if (!tree_equal(b->copy_dir, b->tree_dir))
            bench_fail(tools[i].name, "what was restored differs");
    }
}

/* ---- One tree ---- */

static void print_times(struct bench *b)
{
    double floor = median(&b->walk_ms), cpu = median(&b->walk_cpu_ms);
    printf("\n### %s: %llu files, %llu entries, %.0f MiB\n\nA bare stat walk: %.1f ms, "
           "of these %.1f of the processor.\n",
           b->name, (unsigned long long)b->tree.n, (unsigned long long)b->tree.entries,
           (double)b->tree.bytes / 1048576, floor, cpu);
    puts(
        "\n| tool | first, s | after 10 edits, ms | times the walk | of the processor, "
        "ms | times the walk's | one file, ms | all files, s | memory, MiB | later, "
        "MiB "
        "|\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (unsigned i = 0; i < n_tools; i++) {
        struct outcome *outcome = &b->outcomes[i];
        double after = median(&outcome->after_ms);
        double after_cpu = median(&outcome->after_cpu_ms);
        if (outcome->used)
            printf(
                "| %s | %.2f | %.1f | %.2f | %.1f | %.2f | %.1f | %.2f | %.0f | %.0f "
                "|\n",
                tools[i].name, outcome->first_s, after, after / floor, after_cpu,
                after_cpu / cpu, median(&outcome->one_ms), outcome->all_s,
                outcome->first_mib, outcome->later_mib);
    }
}

static void print_sizes(struct bench *b)
{
    if (!b->many)
        return;
    printf(
        "\n%llu snapshots, of these %llu after edits of 1 %% of the files; copies of "
        "all would be %.0f MiB:\n",
        (unsigned long long)b->snapshots, (unsigned long long)b->many,
        b->full_bytes / 1048576);
    puts("\n| tool | after the first, MiB | after all, MiB | of full copies, % | "
         "packed, "
         "MiB | one snapshot, ms |\n|---|---:|---:|---:|---:|---:|");
    for (unsigned i = 0; i < n_tools; i++) {
        struct outcome *outcome = &b->outcomes[i];
        if (!outcome->used)
            continue;
        printf("| %s | %.1f | %.1f | %.2f | ", tools[i].name,
               outcome->first_bytes / 1048576, outcome->bytes / 1048576,
               100 * outcome->bytes / b->full_bytes);
        if (tools[i].pack)
            printf("%.1f", outcome->packed_bytes / 1048576);
        printf(" | %.1f |\n", median(&outcome->many_ms));
    }
}

static void make_tree(struct bench *b)
{
    if (strcmp(b->name, "synthetic") == 0)
        tree_make(b->tree_dir, number_from_environment("SNAPSHOT_FILES", 250000));
    else
        tree_copy(strcmp(b->name, "project") == 0 ? "."
                  : strcmp(b->name, "doc") == 0   ? "/usr/share/doc"
                                                  : b->name,
                  b->tree_dir);
    tree_list(&b->tree, b->tree_dir);
}

static void clear_outcomes(struct bench *b)
{
    for (unsigned i = 0; i < n_tools; i++) {
        struct outcome *outcome = &b->outcomes[i];
        free(outcome->after_ms.at);
        free(outcome->after_cpu_ms.at);
        free(outcome->many_ms.at);
        free(outcome->one_ms.at);
        *outcome = (struct outcome){.used = outcome->used};
    }
    free(b->walk_ms.at);
    free(b->walk_cpu_ms.at);
    b->walk_ms = b->walk_cpu_ms = (struct bench_samples){0};
    b->snapshots = 0;
    b->full_bytes = 0;
}

static void measure_tree(struct bench *b, const char *cairn)
{
    char base[4096];
    snprintf(base, sizeof base, "%s", bench_make_dir());
    if (!realpath(base, b->base))
        bench_fail(base, strerror(errno));
    snprintf(b->tree_dir, sizeof b->tree_dir, "%s/tree", b->base);
    snprintf(b->copy_dir, sizeof b->copy_dir, "%s/copy", b->base);
    tools_use(cairn, b->base, b->tree_dir);
    make_tree(b);
    b->rounds = number_from_environment("SNAPSHOT_ROUNDS", 5);
    b->many = number_from_environment("SNAPSHOT_CHECKPOINTS", 200);
    if (b->tree.n > number_from_environment("SNAPSHOT_CHECKPOINTS_FILES", 20000))
        b->many = 0;
    begin_all(b);
    take_rounds(b);
    take_many(b);
    restore_one(b);
    restore_all(b);
    print_times(b);
    print_sizes(b);
    fflush(stdout);
    tree_release(&b->tree);
    clear_outcomes(b);
    if (!remove_tree(b->base))
        bench_fail(b->base, "it could not be removed");
}

static void measure_trees(struct bench *b, const char *cairn)
{
    const char *given = getenv("SNAPSHOT_TREES");
    char *trees = strdup(given && *given ? given : "project doc synthetic"), *rest;
    if (!trees)
        bench_fail("memory", strerror(ENOMEM));
    for (char *name = strtok_r(trees, " ", &rest); name;
         name = strtok_r(NULL, " ", &rest)) {
        b->name = name;
        measure_tree(b, cairn);
    }
    free(trees);
}

int main(int argc, char **argv)
{
    static struct bench b;
    char path[4096];
    uint64_t entries;
    const char *build = getenv("BUILD");
    if (argc > 4 && strcmp(argv[1], "run") == 0)
        return tool_run_apart(argv + 1);
    if (argc > 2 && strcmp(argv[1], "walk") == 0) {
        tree_walk(argv[2], &entries);
        return entries == 0;
    }
    snprintf(path, sizeof path, "%s/cairn", build && *build ? build : "build");
    char *cairn = realpath(argc > 1 ? argv[1] : path, NULL);
    if (!cairn)
        bench_fail(argc > 1 ? argv[1] : path, strerror(errno));
    find_tools(&b);
    measure_trees(&b, cairn);
    free(cairn);
    return 0;
}
