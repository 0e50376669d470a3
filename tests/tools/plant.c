/* SPDX-License-Identifier: MIT
 *
 * plant: secrets that tests plant, and a search for every form of them.
 *
 *   plant make DIR N SEED     makes DIR/S00, DIR/S01, ...: values of many shapes
 *   plant with DIR CMD...     runs a command with all of them in its environment
 *   plant have DIR            are they in the environment, unchanged?
 *   plant none DIR [NAME...]  is none there in any variable, but for NAMEs?
 *   plant print DIR HOW       prints all from the environment; HOW: raw, base64,
 * percent, bytes (one write each), halves (two writes each), values (as for
 * $CAIRN_OUTPUT) plant half DIR            prints all but the last, then the first half
 * of the last plant find DIR FILE...    searches files and directories for all forms of
 * them; prints what it found where; 1 if anything was found plant unpack DB DIR every
 * value of every table of a store as a file, what is compressed as it was before: for
 * the search
 *
 * The forms are made here by encoding real text, not as cairn makes them. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SECRETS_MOST = 100, VALUE_MOST = 8192, FORM_MOST = 4 * VALUE_MOST, FORMS = 9 };

struct bytes {
    char *data;
    size_t n;
};
static struct bytes secret[SECRETS_MOST];
static size_t n_secrets;

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "plant: %s %s: %s\n", what, name, strerror(errno));
    exit(2);
}

static void *room(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (!p)
        fail("no memory for", "that");
    return p;
}

static struct bytes read_all(const char *path)
{
    struct bytes b = {room(1 << 16), 0};
    size_t capacity = 1 << 16;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = 0;
    if (fd < 0) {
        b.n = SIZE_MAX;
        return b;
    }
    while ((got = read(fd, b.data + b.n, capacity - b.n)) > 0) {
        b.n += (size_t)got;
        if (b.n == capacity && !(b.data = realloc(b.data, capacity *= 2)))
            fail("no memory for", path);
    }
    if (got < 0) /* a directory, a process that has just ended */
        b.n = SIZE_MAX;
    close(fd);
    return b;
}

static void write_file(const char *path, const void *data, size_t n)
{
    FILE *file = fopen(path, "wbe");
    if (!file || (n && fwrite(data, 1, n, file) != n) || fclose(file) != 0)
        fail("cannot write", path);
}

static void name_of(size_t i, char name[16])
{
    snprintf(name, 16, "S%02u", (unsigned)i % SECRETS_MOST);
}

/* To be freed. */
static char *join(const char *dir, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", dir, name) < 0)
        fail("no memory for", name);
    return path;
}

static void load(const char *dir)
{
    for (n_secrets = 0; n_secrets < SECRETS_MOST; n_secrets++) {
        char name[16];
        name_of(n_secrets, name);
        char *path = join(dir, name);
        secret[n_secrets] = read_all(path);
        free(path);
        if (secret[n_secrets].n == SIZE_MAX)
            break;
    }
    if (n_secrets == 0)
        fail("no secrets in", dir);
}

/* ---- Making them ---- */

static uint64_t seed;

static unsigned draw(unsigned below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

static size_t fill(char *to, size_t n, const char *letters)
{
    size_t kinds = letters ? strlen(letters) : 255;
    for (size_t i = 0; i < n; i++)
        to[i] = letters ? letters[draw((unsigned)kinds)] : (char)(1 + draw(255));
    return n;
}

#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static const char *const shapes[] = {
    "%w6",     /* as short as may be */
    "%p6",     /* punctuation only */
    "tok_%w6", /* the next two begin with this one: see below */
    "=%w6",
    "=%w30",
    "it's \"%w8\" and '%w4'",
    "line %w6\nline %w6\n\nline %w6",
    "%w12\n",
    "$(touch pwned; echo %w8)`id`${IFS}%w4",
    "%w5000",
    "%w38==",
    "%x30",
    "100%% %w4+%w4 %%2F&=%w3",
    "{\"key\": \"%w10\", \"n\": [1, 2]}",
    "C:\\new\\%w8\\n\\t\\\"",
    "abababab%w2abababababab",
    "-rf %w10",
    "\t%w6\t\r\n%w6\r",
    "p\xc3\xa4ssw\xc3\xb6rt-\xe2\x82\xac-%w9",
    "%h64",
    "%x5000",
    "%w3 %w3",
    "*?[%w5]~#!;|&<>",
    "\x1b[31m%w8\x1b[0m",
    "%w4\xff\xfe%w4",
    "AKIA%w16/%w8+%w8=",
    "https://user:%w9@host/p?q=%w5&r=%%s%%n",
    "-----BEGIN KEY-----\n%w64\n%w64\n%w31=\n-----END KEY-----\n",
    " %w7 ",
    "[REDACTED]%w6",
};

static size_t make(const char *shape, char *out)
{
    size_t n = 0;
    for (const char *c = shape; *c; c++) {
        if (*c != '%' || c[1] == '%') {
            c += *c == '%';
            out[n++] = *c;
            continue;
        }
        char kind = *++c, *end;
        size_t many = strtoul(c + 1, &end, 10);
        c = end - 1;
        n += fill(out + n, many,
                  kind == 'w'   ? WORD
                  : kind == 'h' ? "0123456789abcdef"
                  : kind == 'p' ? "!#$%&*+/;<>?@^|~"
                                : NULL);
    }
    return n;
}

static int make_all(const char *dir, size_t many)
{
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    char value[VALUE_MOST], name[16];
    size_t last = 0;
    for (size_t i = 0; i < many; i++) {
        size_t n = 0;
        if (i >= SHAPES) /* any bytes, or letters, of any length */
            n = fill(value, 6 + draw(i % 3 ? 60 : 400), i % 2 ? NULL : WORD);
        else if (shapes[i][0] == '=') /* the one before, and more */
            n = last + make(shapes[i] + 1, value + last);
        else
            n = make(shapes[i], value);
        last = n;
        name_of(i, name);
        char *path = join(dir, name);
        write_file(path, value, n);
        free(path);
    }
    return 0;
}

/* ---- The environment ---- */

static int with(char **command)
{
    for (size_t i = 0; i < n_secrets; i++) {
        char name[16], *value = room(secret[i].n + 1);
        name_of(i, name);
        memcpy(value, secret[i].data, secret[i].n);
        value[secret[i].n] = '\0';
        if (setenv(name, value, 1) != 0)
            fail("cannot set", name);
        free(value);
    }
    execvp(command[0], command);
    fail("cannot run", command[0]);
    return 2;
}

static const char *own(size_t i)
{
    char name[16];
    name_of(i, name);
    const char *value = getenv(name);
    return value ? value : "";
}

static int have(void)
{
    int status = 0;
    for (size_t i = 0; i < n_secrets; i++) {
        const char *value = own(i);
        if (strlen(value) != secret[i].n ||
            memcmp(value, secret[i].data, secret[i].n)) {
            printf("S%02zu is not here as it is\n", i);
            status = 1;
        }
    }
    return status;
}

extern char **environ;

static bool is_named(const char *variable, char **names)
{
    for (; *names; names++)
        if (strncmp(variable, *names, strlen(*names)) == 0 &&
            variable[strlen(*names)] == '=')
            return true;
    return false;
}

static int none(char **names)
{
    int status = 0;
    for (char **v = environ; *v; v++)
        for (size_t i = 0; i < n_secrets; i++)
            if (!is_named(*v, names) &&
                memmem(*v, strlen(*v), secret[i].data, secret[i].n)) {
                printf("S%02zu is in %.*s\n", i, (int)strcspn(*v, "="), *v);
                status = 1;
            }
    return status;
}

/* ---- Encoding ---- */

static size_t base64(const unsigned char *in, size_t n, bool url, char *out)
{
    const char *letters = url ? WORD "-_" : WORD "+/";
    static const char order[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789";
    size_t done = 0;
    for (size_t i = 0; i < n; i += 3) {
        unsigned long three = (unsigned long)in[i] << 16;
        three |= (i + 1 < n ? (unsigned long)in[i + 1] : 0) << 8;
        three |= i + 2 < n ? in[i + 2] : 0;
        for (unsigned k = 0; k < 4; k++) {
            unsigned digit = (unsigned)(three >> (18 - 6 * k)) & 63;
            out[done++] = k > n - i ? '=' : digit < 62 ? order[digit] : letters[digit];
        }
    }
    return done;
}

static size_t percent(const char *in, size_t n, bool upper, char *out)
{
    size_t done = 0;
    for (size_t i = 0; i < n; i++)
        if (strchr(WORD "-._~", in[i]) && in[i])
            out[done++] = in[i];
        else
            done += (size_t)snprintf(out + done, 4, upper ? "%%%02X" : "%%%02x",
                                     (unsigned char)in[i]);
    return done;
}

/* The base64 of the value behind `before` bytes, without what depends on neighbours:
 * what is the same whatever stands before and behind. */
static size_t sure_base64(const struct bytes *s, size_t before, bool url, char *out)
{
    static char text[2][VALUE_MOST + 8], code[2][FORM_MOST];
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        memset(text[i], i ? 0xff : 0, sizeof text[i]);
        memcpy(text[i] + before, s->data, s->n);
        n = base64((const unsigned char *)text[i], before + s->n + 3, url, code[i]);
    }
    size_t first = 0, last = n;
    while (first < n && (code[0][first] != code[1][first] || first * 6 < before * 8))
        first++;
    last = first;
    while (last < n && (last + 1) * 6 <= (before + s->n) * 8)
        last++;
    memcpy(out, code[0] + first, last - first);
    return last - first;
}

static size_t form_of(const struct bytes *s, int form, char *out)
{
    if (form == 0) {
        memcpy(out, s->data, s->n);
        return s->n;
    }
    if (form < 7)
        return sure_base64(s, (size_t)(form - 1) % 3, form > 3, out);
    return percent(s->data, s->n, form == 8, out);
}

/* ---- Printing ---- */

static void put(const char *data, size_t n)
{
    while (n > 0) {
        ssize_t done = write(1, data, n);
        if (done < 0 && errno != EINTR)
            fail("cannot write to", "stdout");
        data += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
}

static void nap(void)
{
    nanosleep(&(struct timespec){0, 3000000}, NULL);
}

static void print_encoded(const char *value, size_t n, bool is_base64)
{
    static char text[VALUE_MOST + 8], out[FORM_MOST];
    for (size_t i = 0; i < (is_base64 ? 6 : 2); i++) {
        size_t before = i % 3;
        memset(text, 'x', sizeof text);
        memcpy(text + before, value, n);
        put(out, is_base64 ? base64((unsigned char *)text, before + n + i, i > 2, out)
                           : percent(value, n, i == 1, out));
        put("\n", 1);
    }
}

static void print_one(size_t i, const char *how)
{
    const char *value = own(i);
    size_t n = strlen(value);
    char name[64];
    snprintf(name, sizeof name, "k%02zu%s", i,
             strcmp(how, "values") ? "=" : "<<+END+\n");
    put(name, strlen(name));
    if (strcmp(how, "base64") == 0 || strcmp(how, "percent") == 0)
        print_encoded(value, n, *how == 'b');
    else if (strcmp(how, "bytes") == 0)
        for (size_t k = 0; k < n; k++)
            put(value + k, 1);
    else if (strcmp(how, "halves") == 0) {
        put(value, n / 2);
        nap();
        put(value + n / 2, n - n / 2);
    } else
        put(value, n);
    if (strcmp(how, "values") == 0)
        put("\n+END+\n", 7);
    else
        put("\n", 1);
}

static int print(const char *how)
{
    for (size_t i = 0; i < n_secrets; i++)
        print_one(i, how);
    return 0;
}

static int half(void)
{
    const struct bytes last = secret[n_secrets - 1];
    for (size_t i = 0; i + 1 < n_secrets; i++)
        print_one(i, "raw");
    put(last.data, last.n / 2);
    return 0;
}

/* ---- Searching ---- */

/* Forms by their first bytes, so that one pass over a file finds all. */
enum { KEY = 4, BUCKETS = 1 << 16 };
struct needle {
    struct bytes text;
    size_t secret;
    int form;
    struct needle *next;
};
static struct needle *bucket[BUCKETS];
static uint64_t searched;

static unsigned key_of(const char *p)
{
    uint32_t word;
    memcpy(&word, p, KEY);
    return word * 2654435761u >> 16;
}

static void add_needles(void)
{
    static char form[FORM_MOST];
    for (size_t i = 0; i < n_secrets; i++)
        for (int f = 0; f < FORMS; f++) {
            size_t n = form_of(&secret[i], f, form);
            if (n < 6) /* too little to be known by */
                continue;
            struct needle *needle = room(sizeof *needle);
            unsigned key = key_of(form);
            *needle = (struct needle){{room(n), n}, i, f, bucket[key]};
            memcpy(needle->text.data, form, n);
            bucket[key] = needle;
        }
}

static int find_in(const char *path)
{
    static const char *const form_name[FORMS] = {
        "as it is",         "base64, behind 0", "base64, behind 1",
        "base64, behind 2", "url64, behind 0",  "url64, behind 1",
        "url64, behind 2",  "percent, lower",   "percent, upper"};
    struct bytes b = read_all(path);
    bool found[SECRETS_MOST] = {false}, any = false;
    for (size_t at = 0; b.n != SIZE_MAX && at + KEY <= b.n; at++)
        for (struct needle *k = bucket[key_of(b.data + at)]; k; k = k->next)
            if (!found[k->secret] && k->text.n <= b.n - at &&
                !memcmp(b.data + at, k->text.data, k->text.n)) {
                printf("S%02zu %s at %zu, %s\n", k->secret, path, at,
                       form_name[k->form]);
                found[k->secret] = any = true;
            }
    searched += b.n == SIZE_MAX ? 0 : b.n;
    free(b.data);
    return any;
}

static int find_below(const char *path, int depth)
{
    struct stat st;
    int status = 0;
    if (lstat(path, &st) != 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return S_ISREG(st.st_mode) ? find_in(path) : 0;
    DIR *dir = depth < 16 ? opendir(path) : NULL;
    if (!dir)
        fail("cannot read", path);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *below = join(path, entry->d_name);
        status |= find_below(below, depth + 1);
        free(below);
    }
    closedir(dir);
    return status;
}

static int find(char **paths)
{
    int status = 0;
    add_needles();
    for (; *paths; paths++)
        status |= find_below(*paths, 0);
    fprintf(stderr, "%llu bytes searched\n", (unsigned long long)searched);
    return status;
}

/* ---- A store as files ---- */

typedef size_t unzstd_fn(void *to, size_t room, const void *from, size_t n);
typedef unsigned long long size_fn(const void *from, size_t n);
static unzstd_fn *unzstd;
static size_fn *size_of_frame;

/* What is compressed as it was before; NULL: it cannot be told. */
static char *plain(const void *data, size_t n, size_t *size)
{
    unsigned long long wanted = size_of_frame(data, n);
    char *content = wanted <= 1 << 30 ? room((size_t)wanted) : NULL;
    if (content && unzstd(content, (size_t)wanted, data, n) == wanted) {
        *size = (size_t)wanted;
        return content;
    }
    free(content);
    return NULL;
}

static void write_value(sqlite3_stmt *row, int column, const char *dir, unsigned number)
{
    char name[64];
    const void *data = sqlite3_column_blob(row, column);
    size_t n = (size_t)sqlite3_column_bytes(row, column);
    snprintf(name, sizeof name, "%u.%d", number, column);
    char *path = join(dir, name), *content = NULL;
    /* What is compressed as the difference to something else stays as it is. */
    if (n >= 4 && memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0)
        content = plain(data, n, &n);
    write_file(path, content ? content : data, n);
    free(content);
    free(path);
}

static void unpack_table(sqlite3 *db, const char *table, const char *dir)
{
    char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
    char *below = join(dir, table);
    sqlite3_stmt *row = NULL;
    if (!sql || sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK ||
        mkdir(below, 0777) != 0)
        fail("cannot read", table);
    for (unsigned i = 0; sqlite3_step(row) == SQLITE_ROW; i++)
        for (int c = 0; c < sqlite3_column_count(row); c++)
            if (sqlite3_column_type(row, c) == SQLITE_BLOB ||
                sqlite3_column_type(row, c) == SQLITE_TEXT)
                write_value(row, c, below, i);
    sqlite3_finalize(row);
    sqlite3_free(sql);
    free(below);
}

static int unpack(const char *path, const char *dir)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *tables = NULL;
    void *zstd = dlopen("libzstd.so.1", RTLD_NOW);
    if (!zstd)
        return fprintf(stderr, "plant: %s\n", dlerror()), 2;
    *(void **)&unzstd = dlsym(zstd, "ZSTD_decompress");
    *(void **)&size_of_frame = dlsym(zstd, "ZSTD_getFrameContentSize");
    if (!unzstd || !size_of_frame ||
        sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, "SELECT name FROM sqlite_schema WHERE type = 'table'",
                           -1, &tables, NULL) != SQLITE_OK)
        fail("cannot open", path);
    while (sqlite3_step(tables) == SQLITE_ROW)
        unpack_table(db, (const char *)sqlite3_column_text(tables, 0), dir);
    sqlite3_finalize(tables);
    sqlite3_close(db);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    if (strcmp(what, "make") == 0 && argc == 5) {
        seed = strtoull(argv[4], NULL, 10);
        return make_all(argv[2], strtoul(argv[3], NULL, 10));
    }
    if (strcmp(what, "unpack") == 0 && argc == 4)
        return unpack(argv[2], argv[3]);
    if (*what)
        load(argv[2]);
    if (strcmp(what, "with") == 0 && argc > 3)
        return with(argv + 3);
    if (strcmp(what, "have") == 0)
        return have();
    if (strcmp(what, "none") == 0)
        return none(argv + 3);
    if (strcmp(what, "print") == 0 && argc == 4)
        return print(argv[3]);
    if (strcmp(what, "half") == 0)
        return half();
    if (strcmp(what, "find") == 0)
        return find(argv + 3);
    fputs("usage: plant make|with|have|none|print|half|find|unpack ...\n", stderr);
    return 2;
}
