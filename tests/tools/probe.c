/* SPDX-License-Identifier: MIT
 *
 * probe: values that try to be more than values, and a look at what arrives.
 *
 *   probe make DIR               makes DIR/00, DIR/01, ...: hostile values
 *   probe params CMD...          runs a command with `--param pNN=VALUE` for each added
 *   probe env DIR PREFIX         are the variables PREFIXNN exactly these values?
 *   probe args DIR ARG...        are the arguments exactly these values?
 *   probe values DIR             prints them as for $CAIRN_OUTPUT: vNN
 *   probe lines FILE             a file with a line for each that is one line
 *   probe files TO               makes a file in TO for each that can be a name
 *   probe hex FILE ARG...        appends a line to FILE: the arguments in hex
 *   probe clean FILE...          1 if a file has bytes that a terminal would obey
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 37, LONG_BYTES = 100 * 1024, SET_BYTES = 4096 };

static char long_value[LONG_BYTES + 1];

static const char *const values[MANY] = {
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    "\"; touch pwned; \"",
    "\ntouch pwned\n",
    "| touch pwned &",
    "${IFS}touch${IFS}pwned",
    "x;touch${IFS}pwned",
    "one\nline\n\nand another",
    "trailing line breaks\n\n",
    "\t tab and blanks \t",
    "-n",
    "--help",
    "-rf /",
    "--param",
    "*",
    "?[a-z]{1,2}~",
    "%s%n%x%99999999d",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07\x1b[2J\x1b[H",
    "\x08\x08\x08\x7f\x0c\x0b\x0e",
    "\xc2\x9b"
    "31m and \302\2350;title\302\234",
    "\xe2\x80\xae"
    "dlo\xe2\x81\xa6\xe2\x80\x8b",
    "carriage\rreturn",
    "\xff\xfe\x80\xc3",
    "ends in half a letter \xe2\x82",
    "p\xc3\xa4\xc3\xb6 \xe2\x82\xac \xf0\x9f\x97\xbf",
    "${{ params.p00 }}",
    "}} || 'x' == 'x",
    "a=b",
    "],[=,]%41%5b%zz",
    "..",
    "\\n\\x1b\\\\\"'",
    "{\"json\": [1, null]}",
    "# no comment: - x",
    "<<END",
    long_value,
};

static int fail(const char *what)
{
    fprintf(stderr, "probe: %s: %s\n", what, strerror(errno));
    return 2;
}

static char *read_value(const char *dir, int i, size_t *n)
{
    static char data[LONG_BYTES + 2];
    char *path = NULL;
    if (asprintf(&path, "%s/%02d", dir, i) < 0)
        return NULL;
    FILE *file = fopen(path, "rbe");
    free(path);
    if (!file)
        return NULL;
    *n = fread(data, 1, sizeof data - 1, file);
    data[*n] = '\0';
    return fclose(file) == 0 ? data : NULL;
}

static int make(const char *dir)
{
    for (int i = 0; i < MANY; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s/%02d", dir, i) < 0)
            return fail(dir);
        FILE *file = fopen(path, "wbe");
        if (!file ||
            fwrite(values[i], 1, strlen(values[i]), file) != strlen(values[i]) ||
            fclose(file) != 0)
            return fail(path);
        free(path);
    }
    return 0;
}

static int params(int argc, char **argv)
{
    char **list = calloc((size_t)argc + 2 * MANY + 1, sizeof *list);
    int n = 0;
    if (!list)
        return fail("memory");
    for (; n < argc; n++)
        list[n] = argv[n];
    for (int i = 0; i < MANY; i++) {
        list[n++] = strdup("--param");
        if (asprintf(&list[n++], "p%02d=%s", i, values[i]) < 0)
            return fail("memory");
    }
    execvp(list[0], list);
    return fail(list[0]);
}

static bool is_value(const char *dir, int i, const char *text)
{
    size_t n = 0;
    const char *value = read_value(dir, i, &n);
    bool same = value && text && strlen(text) == n && memcmp(text, value, n) == 0;
    if (!same)
        printf("%02d did not arrive as it is\n", i);
    return same;
}

static int env(const char *dir, const char *prefix)
{
    bool same = true;
    for (int i = 0; i < MANY; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%02d", prefix, i);
        same &= is_value(dir, i, getenv(name));
    }
    return !same;
}

static int args(const char *dir, char **argv)
{
    bool same = true;
    int i = 0;
    for (; i < MANY && argv[i]; i++)
        same &= is_value(dir, i, argv[i]);
    if (i < MANY || argv[i]) {
        printf("%d arguments or more, not %d\n", i, MANY);
        same = false;
    }
    return !same;
}

static int print_values(const char *dir)
{
    for (int i = 0; i < MANY; i++) {
        size_t n = 0;
        const char *value = read_value(dir, i, &n);
        if (!value)
            return fail(dir);
        printf("v%02d<<+END %d+\n", i, i);
        fwrite(value, 1, n, stdout);
        printf("\n+END %d+\n", i);
    }
    return fflush(stdout) ? fail("stdout") : 0;
}

static int lines(const char *path)
{
    FILE *file = fopen(path, "wbe");
    for (int i = 0; file && i < MANY; i++)
        if (!strchr(values[i], '\n') && strlen(values[i]) < LONG_BYTES)
            fprintf(file, "%s\n", values[i]);
    return file && fclose(file) == 0 ? 0 : fail(path);
}

static int files(const char *dir)
{
    for (int i = 0; i < MANY; i++) {
        char *path = NULL;
        if (strchr(values[i], '/') || strlen(values[i]) > 200 || values[i][0] == '.')
            continue;
        if (asprintf(&path, "%s/%s", dir, values[i]) < 0)
            return fail(dir);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        free(path);
        if (fd < 0)
            return fail(dir);
        close(fd);
    }
    return 0;
}

/* One write, so that several can append at once. */
static int hex(const char *path, char **argv)
{
    static char line[1 << 16];
    size_t n = 0;
    for (char **arg = argv; *arg; arg++) {
        for (const char *c = *arg; *c && n + 4 < sizeof line; c++)
            n += (size_t)snprintf(line + n, 3, "%02x", (unsigned char)*c);
        line[n++] = arg[1] ? ' ' : '\n';
    }
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, line, n) != (ssize_t)n)
        return fail(path);
    close(fd);
    return 0;
}

/* Control characters, in UTF-8 or as single bytes, and what changes the direction. */
static bool is_obeyed(const unsigned char *p, size_t left)
{
    if ((*p < ' ' && *p != '\n' && *p != '\t') || *p == 0x7f)
        return true;
    if (*p == 0xc2 && left > 1)
        return p[1] >= 0x80 && p[1] < 0xa0;
    if (*p != 0xe2 || left < 3)
        return false;
    return (p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) ||
           (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9);
}

static bool is_clean(const char *path)
{
    unsigned char block[SET_BYTES + 4];
    size_t kept = 0, n;
    FILE *file = fopen(path, "rbe");
    bool clean = file;
    while (clean && (n = fread(block + kept, 1, SET_BYTES - kept, file)) > 0) {
        size_t all = kept + n, at = 0;
        for (; clean && at < all && (at + 2 < all || feof(file)); at++)
            clean = !is_obeyed(block + at, all - at);
        if (!clean)
            printf("%s: %02x %02x %02x\n", path, block[at - 1], block[at],
                   block[at + 1]);
        kept = clean ? all - at : 0;
        memmove(block, block + at, kept);
    }
    if (file)
        fclose(file);
    return clean;
}

static int clean(char **paths)
{
    bool all = true;
    for (; *paths; paths++)
        all &= is_clean(*paths);
    return !all;
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    memset(long_value, 'L', LONG_BYTES);
    if (strcmp(what, "make") == 0)
        return make(argv[2]);
    if (strcmp(what, "params") == 0)
        return params(argc - 2, argv + 2);
    if (strcmp(what, "env") == 0 && argc == 4)
        return env(argv[2], argv[3]);
    if (strcmp(what, "args") == 0)
        return args(argv[2], argv + 3);
    if (strcmp(what, "values") == 0)
        return print_values(argv[2]);
    if (strcmp(what, "lines") == 0)
        return lines(argv[2]);
    if (strcmp(what, "files") == 0)
        return files(argv[2]);
    if (strcmp(what, "hex") == 0)
        return hex(argv[2], argv + 3);
    if (strcmp(what, "clean") == 0)
        return clean(argv + 2);
    fputs("usage: probe make|params|env|args|values|lines|files|hex|clean ...\n",
          stderr);
    return 2;
}
