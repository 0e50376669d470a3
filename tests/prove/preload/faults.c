/* SPDX-License-Identifier: MIT */
/* Preloaded into cairn by the provers: the N-th call of a kind fails, once or from then
 * on. CAIRN_FAULT is KIND[=CODE]:N[+] (N 0: nothing fails, calls are only counted):
 *
 *   alloc           every allocation of the process, whoever makes it
 *   sqlite=CODE     a call that cairn makes to SQLite returns IOERR, FULL, NOMEM, BUSY,
 *                   CORRUPT, CANTOPEN or INTERRUPT and does nothing; LATE: a COMMIT is
 *                   done, and then reported as failed
 *   library         threads, maps, streams in memory, zstd, libyaml and
 *                   jansson refuse
 *
 * CAIRN_FAULT_FILE is a file with room for a struct fault_page; CAIRN_FAULT_STACKS asks
 * for its stacks, CAIRN_FAULT_TRACE for the stack of the first failure on stderr. All
 * of these and LD_PRELOAD are taken out of the environment before cairn copies it.
 *
 * Calls that a library makes to itself are not counted, and neither is what runs before
 * our constructor. In the child that shares our memory nothing here may be called. */
#include "tests/prove/preload/faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OWN __attribute__((tls_model("initial-exec"))) static _Thread_local

enum kind { NOTHING, ALLOC, SQLITE, LIBRARY };
static const char *const kinds[] = {"nothing", "alloc", "sqlite", "library"};
static const struct {
    const char *name;
    int code;
} codes[] = {{"IOERR", SQLITE_IOERR},         {"FULL", SQLITE_FULL},
             {"NOMEM", SQLITE_NOMEM},         {"BUSY", SQLITE_BUSY},
             {"CORRUPT", SQLITE_CORRUPT},     {"CANTOPEN", SQLITE_CANTOPEN},
             {"INTERRUPT", SQLITE_INTERRUPT}, {"LATE", SQLITE_IOERR_FSYNC}};

static enum kind kind;
static int code;
static uint64_t wanted;
static bool onward, stacks, trace;
static struct fault_page nowhere, *page = &nowhere;
OWN int depth;       /* calls below us belong to the library, or to ourselves */
OWN int failed_with; /* SQLite's last call was made to fail with this */

/* ---- The functions behind ours ---- */

/* dlsym may want memory before it can tell where the real functions are. */
static _Alignas(16) char early[4096];
static size_t early_used;

static void *early_alloc(size_t size)
{
    size_t at = early_used;
    if (size > sizeof early - at)
        abort();
    early_used += (size + 15) & ~(size_t)15;
    return early + at;
}

static bool is_early(const void *at)
{
    return (const char *)at >= early && (const char *)at < early + sizeof early;
}

/* A function pointer through memory: ISO C has no cast for it. */
static void look_up(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    memcpy(function, &found, sizeof found);
}

#define REAL(name) (real_##name ? (void)0 : look_up(&real_##name, #name), real_##name)

static void *(*real_malloc)(size_t), *(*real_calloc)(size_t, size_t),
    *(*real_realloc)(void *, size_t), *(*real_memalign)(size_t, size_t),
    *(*real_aligned_alloc)(size_t, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void (*real_free)(void *);

static void find_allocator(void)
{
    static bool busy;
    if (busy || real_free)
        return;
    busy = true;
    look_up(&real_malloc, "malloc");
    look_up(&real_calloc, "calloc");
    look_up(&real_realloc, "realloc");
    look_up(&real_memalign, "memalign");
    look_up(&real_aligned_alloc, "aligned_alloc");
    look_up(&real_posix_memalign, "posix_memalign");
    look_up(&real_free, "free");
    busy = false;
}

/* ---- Which call fails ---- */

static void parse(const char *text)
{
    size_t length = strcspn(text, "=:");
    for (size_t i = 1; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strlen(kinds[i]) == length && !strncmp(kinds[i], text, length))
            kind = (enum kind)i;
    text += length;
    length = *text == '=' ? strcspn(++text, ":") : 0;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (length && !strncmp(codes[i].name, text, length))
            code = codes[i].code;
    text += length;
    char *end = NULL;
    wanted = *text == ':' ? strtoull(text + 1, &end, 10) : 0;
    onward = end && *end == '+';
}

__attribute__((constructor)) static void prepare(void)
{
    void *frames[2];
    find_allocator();
    backtrace(frames, 2); /* loads what it needs */
    const char *text = getenv("CAIRN_FAULT"), *path = getenv("CAIRN_FAULT_FILE");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd >= 0) {
        void *at = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED)
            abort();
        page = at;
        close(fd);
    }
    stacks = getenv("CAIRN_FAULT_STACKS") != NULL;
    trace = getenv("CAIRN_FAULT_TRACE") != NULL;
    char copy[128];
    snprintf(copy, sizeof copy, "%s", text ? text : "");
    unsetenv("CAIRN_FAULT");
    unsetenv("CAIRN_FAULT_FILE");
    unsetenv("CAIRN_FAULT_STACKS");
    unsetenv("CAIRN_FAULT_TRACE");
    unsetenv("LD_PRELOAD");
    atomic_store(&page->seen, 0);
    atomic_store(&page->fired, 0);
    parse(copy);
}

static void note_stack(uint64_t n)
{
    enum { FRAMES = 14 };
    void *frames[FRAMES];
    uint32_t hash = 2166136261u;
    depth++;
    int count = backtrace(frames, FRAMES);
    depth--;
    for (int i = 2; i < count; i++)
        hash = (hash ^ (uint32_t)(uintptr_t)frames[i]) * 16777619u;
    if (n < FAULT_STACKS)
        page->stack[n] = hash;
}

static void tell(const char *call, uint64_t n)
{
    snprintf(page->call, sizeof page->call, "%s", call);
    if (!trace)
        return;
    void *frames[40];
    char line[128];
    depth++;
    int length = snprintf(line, sizeof line, "fault: call %lu, %s\n", n, call);
    if (write(2, line, (size_t)length) == length)
        backtrace_symbols_fd(frames, backtrace(frames, 40), 2);
    depth--;
}

static bool due(enum kind of, const char *call)
{
    if (of != kind || depth > 0)
        return false;
    uint64_t n = atomic_fetch_add(&page->seen, 1) + 1;
    if (stacks)
        note_stack(n - 1);
    if (!wanted || n < wanted || (n > wanted && !onward))
        return false;
    if (atomic_fetch_add(&page->fired, 1) == 0)
        tell(call, n);
    return true;
}

/* What a library calls while it works for us is not counted, in its own kind. */
static void enter(enum kind of)
{
    depth += of == kind;
}

static void leave(enum kind of)
{
    depth -= of == kind;
}

/* ---- Memory ---- */

static bool no_memory(const char *call)
{
    if (!due(ALLOC, call))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    find_allocator();
    if (!real_free)
        return early_alloc(size);
    return no_memory("malloc") ? NULL : real_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    find_allocator();
    if (!real_free)
        return early_alloc(n * size); /* static memory: zero */
    return no_memory("calloc") ? NULL : real_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    find_allocator();
    if (is_early(old)) {
        char *copy = malloc(size);
        size_t most = (size_t)(early + sizeof early - (char *)old);
        if (copy)
            memcpy(copy, old, size < most ? size : most);
        return copy;
    }
    return size && no_memory("realloc") ? NULL : real_realloc(old, size);
}

void free(void *at)
{
    if (is_early(at))
        return;
    find_allocator();
    real_free(at);
}

void *memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size)
{
    return no_memory("memalign") ? NULL : REAL(memalign)(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return no_memory("aligned_alloc") ? NULL : REAL(aligned_alloc)(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    return no_memory("posix_memalign") ? ENOMEM
                                       : REAL(posix_memalign)(out, alignment, size);
}

/* ---- SQLite ---- */

/* Declares `name` with its real function, and calls that unless the fault is due. */
#define SQLITE_CALL(name, parameters, arguments, before)        \
    int name parameters                                         \
    {                                                           \
        static int(*real_##name) parameters;                    \
        failed_with = 0;                                        \
        if (code != SQLITE_IOERR_FSYNC && due(SQLITE, #name)) { \
            before;                                             \
            return failed_with = code;                          \
        }                                                       \
        enter(SQLITE);                                          \
        int result = REAL(name) arguments;                      \
        leave(SQLITE);                                          \
        return result;                                          \
    }

SQLITE_CALL(sqlite3_open_v2,
            (const char *path, sqlite3 **out, int flags, const char *vfs),
            (path, out, flags, vfs), *out = NULL)
SQLITE_CALL(sqlite3_prepare_v3,
            (sqlite3 * db, const char *sql, int size, unsigned flags,
             sqlite3_stmt **out, const char **tail),
            (db, sql, size, flags, out, tail), *out = NULL)
SQLITE_CALL(sqlite3_exec,
            (sqlite3 * db, const char *sql, int (*each)(void *, int, char **, char **),
             void *context, char **message),
            (db, sql, each, context, message), (void)0)
SQLITE_CALL(sqlite3_wal_checkpoint_v2,
            (sqlite3 * db, const char *name, int mode, int *pages, int *copied),
            (db, name, mode, pages, copied), (void)0)

int sqlite3_step(sqlite3_stmt *statement)
{
    static int (*real_sqlite3_step)(sqlite3_stmt *);
    failed_with = 0;
    bool late = code == SQLITE_IOERR_FSYNC;
    const char *sql = late && depth == 0 ? sqlite3_sql(statement) : NULL;
    bool now =
        (!late || (sql && !strncmp(sql, "COMMIT", 6))) && due(SQLITE, "sqlite3_step");
    if (now && !late)
        return failed_with = code;
    enter(SQLITE);
    int result = REAL(sqlite3_step)(statement);
    leave(SQLITE);
    return now && result == SQLITE_DONE ? failed_with = code : result;
}

SQLITE_CALL(sqlite3_bind_int64, (sqlite3_stmt * s, int at, sqlite3_int64 value),
            (s, at, value), (void)0)
SQLITE_CALL(sqlite3_bind_null, (sqlite3_stmt * s, int at), (s, at), (void)0)
SQLITE_CALL(sqlite3_bind_blob64,
            (sqlite3_stmt * s, int at, const void *value, sqlite3_uint64 size,
             void (*release)(void *)),
            (s, at, value, size, release), (void)0)
SQLITE_CALL(sqlite3_bind_text64,
            (sqlite3_stmt * s, int at, const char *value, sqlite3_uint64 size,
             void (*release)(void *), unsigned char encoding),
            (s, at, value, size, release, encoding), (void)0)

/* The version of the data is in memory and cannot fail. */
int sqlite3_file_control(sqlite3 *db, const char *name, int op, void *argument)
{
    static int (*real_sqlite3_file_control)(sqlite3 *, const char *, int, void *);
    if (op != SQLITE_FCNTL_DATA_VERSION && code != SQLITE_IOERR_FSYNC &&
        due(SQLITE, "sqlite3_file_control"))
        return code;
    return REAL(sqlite3_file_control)(db, name, op, argument);
}

int sqlite3_db_config(sqlite3 *db, int option, ...)
{
    static int (*real_sqlite3_db_config)(sqlite3 *, int, ...);
    va_list rest;
    va_start(rest, option);
    int value = va_arg(rest, int);
    int *out = va_arg(rest, int *);
    va_end(rest);
    failed_with = code != SQLITE_IOERR_FSYNC && due(SQLITE, "db_config") ? code : 0;
    return failed_with ? code : REAL(sqlite3_db_config)(db, option, value, out);
}

const char *sqlite3_errmsg(sqlite3 *db)
{
    static const char *(*real_sqlite3_errmsg)(sqlite3 *);
    return failed_with ? sqlite3_errstr(failed_with) : REAL(sqlite3_errmsg)(db);
}

/* ---- Other libraries ---- */

#define LIBRARY_CALL(type, name, parameters, arguments, refusal) \
    type name parameters;                                        \
    type name parameters                                         \
    {                                                            \
        static type(*real_##name) parameters;                    \
        if (due(LIBRARY, #name))                                 \
            return refusal;                                      \
        enter(LIBRARY);                                          \
        type result = REAL(name) arguments;                      \
        leave(LIBRARY);                                          \
        return result;                                           \
    }
#define NO_MEMORY(type, value) (errno = ENOMEM, (type)(value))

LIBRARY_CALL(int, pthread_create,
             (pthread_t * thread, const pthread_attr_t *how, void *(*entry)(void *),
              void *context),
             (thread, how, entry, context), EAGAIN)
LIBRARY_CALL(void *, mmap,
             (void *at, size_t size, int protection, int flags, int fd, off_t offset),
             (at, size, protection, flags, fd, offset), NO_MEMORY(void *, MAP_FAILED))
LIBRARY_CALL(FILE *, open_memstream, (char **text, size_t *size), (text, size),
             NO_MEMORY(FILE *, NULL))
LIBRARY_CALL(void *, newlocale, (int mask, const char *name, void *base),
             (mask, name, base), NO_MEMORY(void *, NULL))
LIBRARY_CALL(void *, ZSTD_createCCtx, (void), (), NULL)
LIBRARY_CALL(void *, ZSTD_createDCtx, (void), (), NULL)
LIBRARY_CALL(size_t, ZSTD_compressCCtx,
             (void *context, void *out, size_t room, const void *bytes, size_t size,
              int level),
             (context, out, room, bytes, size, level),
             (size_t)-64 /* ZSTD_error_memory_allocation */)
LIBRARY_CALL(int, yaml_parser_initialize, (void *parser), (parser), 0)
LIBRARY_CALL(void *, json_stringn, (const char *text, size_t size), (text, size), NULL)
LIBRARY_CALL(char *, json_dumps, (const void *value, size_t flags), (value, flags),
             NULL)
