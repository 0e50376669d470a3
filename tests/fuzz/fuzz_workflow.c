/* SPDX-License-Identifier: MIT */
/* make: wrap=glob_expand,os_read_regular */
/* A workflow file, YAML or JSON, as `cairn validate` takes it: parsed, expanded (with
 * small limits), compiled to a graph; and encoded and read back.
 *
 * glob and lines see only what this file lets them see (the linker puts __wrap_X in
 * place of X): the result depends on nothing but the input. */
#include "base/os.h"
#include "graph/definition_codec.h"
#include "graph/fingerprint.h"
#include "graph/graph.h"
#include "tests/fuzz/fuzz.h"
#include "workflow/diagnostic.h"
#include "workflow/glob.h"
#include "workflow/parse.h"

#define FILE_NAME "w.yaml"

int __real_glob_expand(const char *root, struct str pattern, struct arena *arena,
                       struct glob_names *out, struct cairn_error *error);
int __wrap_glob_expand(const char *root, struct str pattern, struct arena *arena,
                       struct glob_names *out, struct cairn_error *error);
int __wrap_os_read_regular(const char *path, size_t limit, struct buf *out,
                           struct cairn_error *error);

int __wrap_glob_expand(const char *root, struct str pattern, struct arena *arena,
                       struct glob_names *out, struct cairn_error *error)
{
    bool outside = (pattern.len && pattern.ptr[0] == '/') ||
                   memmem(pattern.ptr, pattern.len, "..", 2) ||
                   memmem(pattern.ptr, pattern.len, "[", 1);
    if (!outside)
        return __real_glob_expand(root, pattern, arena, out, error);
    *out = (struct glob_names){NULL, 0};
    return 0;
}

int __wrap_os_read_regular(const char *path, size_t limit, struct buf *out,
                           struct cairn_error *error)
{
    static const char list[] = "one\n\ntwo words\r\n3\n\x1b[31mred\n";
    (void)limit;
    if (!strstr(path, "list"))
        return error_set(error, CAIRN_ENOTFOUND, "cannot open it");
    buf_add(out, list, sizeof list - (strstr(path, "list0") ? 0 : 1));
    return buf_check(out, error);
}

/* "w.yaml:LINE:COLUMN: ", or "w.yaml: " for the file as a whole: inside the file. */
static void check_place(struct str file, const char *text)
{
    unsigned line, column;
    int end = 0;
    struct source source = {.name = FILE_NAME, .text = file};
    struct position last = source_position(&source, file.len);
    HOLDS(strncmp(text, FILE_NAME ":", sizeof FILE_NAME) == 0);
    if (text[sizeof FILE_NAME] == ' ')
        return;
    HOLDS(sscanf(text + sizeof FILE_NAME, "%u:%u: %n", &line, &column, &end) == 2);
    HOLDS(end > 0 && text[sizeof FILE_NAME + (size_t)end]);
    HOLDS(line >= 1 && line <= last.line && column >= 1);
    struct source one = {.text = source_line(&source, line)};
    if (!one.text.ptr)
        one.text = STR("");
    HOLDS(column <= source_position(&one, one.text.len).column);
}

/* One line of words, then the place; nothing that a terminal would take amiss. */
static void check_clean(const char *text)
{
    for (const char *at = text; *at; at++)
        HOLDS(((unsigned char)*at >= 0x20 && *at != 0x7f) || *at == '\n');
}

static int parse(struct str text, struct definition *out, struct cairn_error *error)
{
    struct parse_options options = {
        .name = FILE_NAME, .file = "/w/" FILE_NAME, .root = fuzz_dir};
    return definition_parse(text, &options, out, error);
}

/* Without the byte order mark that a file may begin with. */
static struct str counted(struct str file)
{
    bool mark = file.len >= 3 && memcmp(file.ptr, "\xef\xbb\xbf", 3) == 0;
    return mark ? (struct str){file.ptr + 3, file.len - 3} : file;
}

static void check_refusal(struct str text, int code, const struct cairn_error *error)
{
    struct definition second;
    struct cairn_error again = {0};
    EXPLAINED(code, *error);
    check_place(counted(text), error->text);
    check_clean(error->text);
    HOLDS(parse(text, &second, &again) == code);
    HOLDS(strcmp(again.text, error->text) == 0);
}

static void check_graph(const struct definition *first, const struct definition *second)
{
    struct graph one, two;
    struct cairn_error error = {0}, other = {0};
    int code = graph_build(&one, first, &error);
    HOLDS(graph_build(&two, second, &other) == code);
    if (code) {
        EXPLAINED(code, error);
        return;
    }
    HOLDS(one.n_tasks == two.n_tasks && one.n_edges == two.n_edges);
    struct digest *digests = calloc(one.n_tasks * 2u, sizeof *digests);
    HOLDS(digests && graph_fingerprints(&one, digests, &error) == 0);
    HOLDS(graph_fingerprints(&two, digests + one.n_tasks, &error) == 0);
    HOLDS(memcmp(digests, digests + one.n_tasks, one.n_tasks * sizeof *digests) == 0);
    for (uint32_t task = 0; task < one.n_tasks; task++)
        HOLDS(graph_find(&one, str_of(two.id[task])) == task);
    free(digests);
    graph_release(&one);
    graph_release(&two);
}

static void check_taken(struct str text, struct definition *first)
{
    struct definition second;
    struct buf once = BUF_INIT, twice = BUF_INIT;
    struct cairn_error error = {0};
    for (uint32_t i = 0; i < first->n_warnings; i++) {
        check_place(counted(text), first->warnings[i].ptr);
        check_clean(first->warnings[i].ptr);
    }
    HOLDS(definition_encode(first, &once, &error) == 0);
    HOLDS(definition_decode(buf_view(&once), &second, &error) == 0);
    HOLDS(definition_encode(&second, &twice, &error) == 0);
    HOLDS(str_equal(buf_view(&once), buf_view(&twice)));
    check_graph(first, &second);
    buf_release(&once);
    buf_release(&twice);
    definition_release(&second);
}

static void make_files(void)
{
    char path[400];
    fuzz_dir_make();
    snprintf(path, sizeof path, "%s/d", fuzz_dir);
    HOLDS(mkdir(path, 0700) == 0 || errno == EEXIST);
    fuzz_file("a.txt", STR(""));
    fuzz_file("b.txt", STR(""));
    fuzz_file("d/c d%.txt", STR(""));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct definition definition;
    struct cairn_error error = {0};
    if (!fuzz_dir[0])
        make_files();
    struct fenced copy = fence((struct str){(const char *)data, size});
    struct str text = {copy.ptr, size};
    int code = parse(text, &definition, &error);
    if (code)
        check_refusal(text, code, &error);
    else {
        check_taken(text, &definition);
        definition_release(&definition);
    }
    unfence(&copy);
    return 0;
}
