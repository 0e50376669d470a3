/* SPDX-License-Identifier: MIT */
/* The project: random workflows that share files, and those files. */
#include "tests/prove/user/user.h"
#include "tests/support/program.h"
#include "tests/support/random.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

uint32_t below(struct world *w, uint32_t n)
{
    return help_below(&w->seed, n);
}

bool one_in(struct world *w, uint32_t n)
{
    return help_below(&w->seed, n) == 0;
}

void wrong(struct world *w, unsigned *count, const char *format, ...)
{
    va_list arguments;
    ++*count;
    printf("# WRONG (%s, step %llu): ", w->dir, (unsigned long long)w->steps);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
}

void say(struct world *w, const char *format, ...)
{
    va_list arguments;
    if (!w->trace)
        return;
    printf("#   %llu ", (unsigned long long)w->steps);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
}

/* ---- Contents ---- */

static uint64_t mix(uint64_t sum, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ at[i]) * 0x100000001b3u; /* FNV-1a */
    return sum;
}

uint64_t text_digest(const char *text, size_t n)
{
    uint64_t sum = mix(0xcbf29ce484222325u, text, n);
    return sum ? sum : 1;
}

uint64_t path_digest(const char *path)
{
    char *text = file_text(path);
    uint64_t sum = text ? text_digest(text, strlen(text)) : 0;
    free(text);
    return sum;
}

uint64_t made_key(const char *flow, const char *task, const char *param,
                  const char *salt, uint32_t out, const uint64_t *in, uint32_t n_in)
{
    char head[100];
    int n = snprintf(head, sizeof head, "%s/%s/%s/%s/%u", flow, task, param, salt, out);
    return mix(mix(0xcbf29ce484222325u, head, (size_t)n), in, n_in * sizeof *in);
}

/* Of one size mostly, and sometimes of more than a page. */
void made_text(uint64_t key, char *text, size_t size)
{
    int n = snprintf(text, size, "%016llx\n", (unsigned long long)key);
    size_t more = key % 8 == 0 ? size - (size_t)n - 1 : 0;
    memset(text + n, 'x', more);
    text[(size_t)n + more] = '\0';
}

void file_name(uint32_t file, char *name, size_t size)
{
    if (file < SOURCES)
        snprintf(name, size, "source%u", file);
    else
        snprintf(name, size, "file%u", file - SOURCES);
}

void file_path(const struct world *w, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", w->dir, name);
}

void file_put(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return;
    fputs(text, file);
    fclose(file);
}

void world_look(const struct world *w, struct files *files)
{
    struct stat st;
    char name[32], path[PATH_SIZE + 96];
    for (uint32_t i = 0; i < FILES; i++) {
        file_name(i, name, sizeof name);
        file_path(w, name, path, sizeof path);
        files->of[i] = path_digest(path);
        files->changed_ns[i] =
            stat(path, &st)
                ? 0
                : st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec;
    }
}

/* ---- Definitions ---- */

static bool is_output(const struct flow *flow, uint32_t n, uint32_t file)
{
    for (uint32_t t = 0; t < n; t++)
        for (uint32_t i = 0; i < flow->task[t].n_out; i++)
            if (flow->task[t].out[i] == file)
                return true;
    return false;
}

bool flow_writes(const struct flow *flow, uint32_t file)
{
    return is_output(flow, flow->n, file);
}

static bool is_input(const struct flow *flow, uint32_t n, uint32_t file)
{
    for (uint32_t t = 0; t < n; t++)
        for (uint32_t i = 0; i < flow->task[t].n_in; i++)
            if (flow->task[t].in[i] == file)
                return true;
    return false;
}

/* Within one workflow a file is written once, and read only by what needs its writer
 * or, if no task writes it, by any. What is nested in one shares nothing with it. */
static bool is_free(const struct world *w, const struct flow *flow, uint32_t n,
                    uint32_t file)
{
    const struct flow *other = NULL;
    if (flow->kind == INNER || flow->kind == OUTER)
        other = &w->flow[flow->kind == INNER ? 2 : 1];
    if (other && (is_output(other, other->n, file) || is_input(other, other->n, file)))
        return false;
    return !is_output(flow, n, file) && !is_input(flow, n, file);
}

static void make_files(struct world *w, struct flow *flow, uint32_t t)
{
    struct task *task = &flow->task[t];
    for (uint32_t n = 0; n < t; n++) {
        const struct task *need = &flow->task[n];
        if (task->needs & 1u << n && need->n_out && task->n_in < FILES_EACH &&
            !one_in(w, 4))
            task->in[task->n_in++] = need->out[below(w, need->n_out)];
    }
    if (task->n_in < FILES_EACH && one_in(w, 2)) {
        uint32_t file = one_in(w, 2) ? below(w, SOURCES) : SOURCES + below(w, POOL);
        if (file < SOURCES || is_free(w, flow, t, file))
            task->in[task->n_in++] = file;
    }
    for (uint32_t i = 0; i < 3 && task->n_out < FILES_EACH; i++) {
        uint32_t file = SOURCES + below(w, POOL);
        if (!is_output(flow, t + 1, file) && !is_input(flow, t + 1, file) &&
            is_free(w, flow, t + 1, file))
            task->out[task->n_out++] = file;
    }
}

static void make_flow(struct world *w, uint32_t index, const char *name,
                      enum flow_kind kind)
{
    struct flow *flow = &w->flow[index];
    uint32_t n = 3 + below(w, TASKS - 2);
    *flow = (struct flow){.name = name, .kind = kind};
    for (uint32_t t = 0; t < n; t++) {
        struct task *task = &flow->task[t];
        for (uint32_t need = 0; need < t; need++)
            if (one_in(w, 2))
                task->needs |= 1u << need;
        task->ms = below(w, 8);
        task->nested = kind == OUTER && t == 1;
        if (!task->nested)
            make_files(w, flow, t);
        flow->n++;
    }
}

static void put_list(FILE *file, const char *key, const uint32_t *list, uint32_t n)
{
    char name[32];
    fprintf(file, "    %s: [", key);
    for (uint32_t i = 0; i < n; i++) {
        file_name(list[i], name, sizeof name);
        fprintf(file, "%s%s", i ? ", " : "", name);
    }
    fprintf(file, "]\n");
}

static void put_names(FILE *file, const char *flag, const uint32_t *list, uint32_t n)
{
    char name[32];
    fprintf(file, ", \"%s\"", flag);
    for (uint32_t i = 0; i < n; i++) {
        file_name(list[i], name, sizeof name);
        fprintf(file, ", %s", name);
    }
}

/* Beside the run inside, in half of the projects: it starts again with each resume. */
static bool has_service(const struct world *w, const struct flow *flow)
{
    return flow->kind == OUTER && w->in_place;
}

static void put_task(const struct world *w, FILE *file, const struct flow *flow,
                     uint32_t t)
{
    const struct task *task = &flow->task[t];
    bool first = true;
    fprintf(file, "  t%u:\n    needs: [", t);
    for (uint32_t n = 0; n < t; n++)
        if (task->needs & 1u << n) {
            fprintf(file, "%st%u", first ? "" : ", ", n);
            first = false;
        }
    if (task->nested && has_service(w, flow))
        fprintf(file, "%sservice", first ? "" : ", ");
    fprintf(file, "]\n    exec: [%s, %s, %s, t%u, \"${{ params.p }}\", \"%u\", \"%u\"",
            w->self, task->nested ? "nest" : "task", flow->name, t, task->salt,
            task->ms);
    if (!task->nested) {
        put_names(file, "-i", task->in, task->n_in);
        put_names(file, w->in_place ? "-O" : "-o", task->out, task->n_out);
    }
    fprintf(file, "]\n");
    if (task->n_in)
        put_list(file, "inputs", task->in, task->n_in);
    if (task->n_out)
        put_list(file, "outputs", task->out, task->n_out);
}

void flow_write(struct world *w, uint32_t index)
{
    const struct flow *flow = &w->flow[index];
    char name[32], path[PATH_SIZE + 96];
    snprintf(name, sizeof name, "%s.yaml", flow->name);
    file_path(w, name, path, sizeof path);
    FILE *file = fopen(path, "we");
    if (!file)
        return;
    fprintf(
        file,
        "name: %s\nparams: {p: {type: int}}\njobs: 3\non_failure: continue\ntasks:\n",
        flow->name);
    if (has_service(w, flow))
        fprintf(file,
                "  service: {service: true, run: exec sleep 600, ready: 'true'}\n");
    for (uint32_t t = 0; t < flow->n; t++)
        put_task(w, file, flow, t);
    fclose(file);
}

static bool make_contents(const struct world *w)
{
    char name[32], path[PATH_SIZE + 96];
    for (uint32_t i = 0; i < FILES; i++) {
        file_name(i, name, sizeof name);
        file_path(w, name, path, sizeof path);
        FILE *file = fopen(path, "we");
        if (!file)
            return false;
        fprintf(file, "first %u\n", i);
        fclose(file);
    }
    return true;
}

bool world_make(struct world *w)
{
    char store[PATH_SIZE + 40];
    snprintf(w->dir, sizeof w->dir, "%s/p", w->base);
    snprintf(store, sizeof store, "%s/.cairn", w->dir);
    if (mkdir(w->base, 0700) || mkdir(w->dir, 0700) || mkdir(store, 0700) ||
        !make_contents(w))
        return false;
    w->n_runs = w->moves = w->ghosts = 0;
    w->ghosts_inside = false;
    w->log_at = 0;
    w->n_flows = w->nested ? 3 : 2;
    memset(w->flow, 0, sizeof w->flow);
    make_flow(w, 0, "a", PLAIN);
    make_flow(w, 1, w->nested ? "inner" : "b", w->nested ? INNER : PLAIN);
    if (w->nested)
        make_flow(w, 2, "outer", OUTER);
    for (uint32_t i = 0; i < w->n_flows; i++)
        flow_write(w, i);
    return true;
}
