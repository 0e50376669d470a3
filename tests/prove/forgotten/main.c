/* SPDX-License-Identifier: MIT */
/* Random lives of sessions whose checkpoints, files and messages hold words that are
 * nowhere else; some are deleted, by `cairn` in new processes, of which some are
 * killed. After a last `gc` no byte of the store may tell a word of what is gone: as it
 * is, in the content of an object, or in what a zstd frame anywhere in the files
 * unpacks to, by itself or after any content that is left. And what is left must be
 * whole.
 *
 *   forgotten DIR SEED LIVES SECONDS [FIRST]
 *
 * TRACE=1 tells every command. Prints `forgotten LIVES WORDS KILLED LOST TOLD OTHER`
 * and, before that, what went wrong as lines with '#'. */
#include "cairn/store.h"
#include "storage/object.h"
#include "storage/rows_gc.h"
#include "tests/support/program.h"
#include "tests/support/random.h"
#include "tests/support/remove_tree.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum {
    WORD = 14,
    TOLD = 9,
    WORDS = 400,
    CHECKPOINTS = 64,
    ARGS = 24,
    KILLED = 128 + 9
};
enum { GONE = 4 }; /* a session that there never is */
enum { LINES = 60, NOISE = 700, PATIENCE_MS = 60000 };

struct word {
    char text[WORD + 1];
    uint64_t in[CHECKPOINTS]; /* checkpoints that hold it */
    size_t n;
    bool shown;  /* by `checkpoint show` */
    int session; /* else: the session that does, as long as there is one; 0: none */
};
struct life {
    uint64_t seed;
    char dir[PATH_MAX - 400], store[PATH_MAX - 300];
    const char *cairn;
    bool kills, files, trace, hurt;
    struct word words[WORDS];
    size_t n_words;
    char noise[NOISE + 1];
    char line[LINES][WORD + 40]; /* of the file */
    uint64_t there[CHECKPOINTS * 4];
    size_t n_there;
    bool sessions[GONE + 1];    /* by number */
    struct cairn_store *beside; /* so that the log is not emptied by the last one */
    unsigned long told_words, killed, lost, told, other;
};

static void wrong(struct life *life, unsigned long *count, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void wrong(struct life *life, unsigned long *count, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("# ");
    vprintf(format, list);
    printf("\n");
    va_end(list);
    ++*count;
    life->hurt = true;
}

static uint32_t below(struct life *life, uint32_t n)
{
    return help_below(&life->seed, n);
}

static char letter(struct life *life)
{
    return (char)('a' + below(life, 26));
}

/* A new word that nothing holds yet. NULL: there are enough. */
static struct word *new_word(struct life *life)
{
    if (life->n_words == WORDS)
        return NULL;
    struct word *word = &life->words[life->n_words++];
    *word = (struct word){.n = 0};
    for (int i = 0; i < WORD; i++)
        word->text[i] = letter(life);
    return word;
}

static void hold(struct word *word, uint64_t checkpoint)
{
    if (word && word->n < CHECKPOINTS)
        word->in[word->n++] = checkpoint;
}

/* ---- Commands ---- */

static int run(struct life *life, uint32_t kill_us, const char *const *args)
{
    const char *argv[ARGS + 1] = {life->cairn};
    pid_t pid;
    bool hung;
    size_t n = 1;
    for (size_t i = 0; args[i] && n < ARGS; i++)
        argv[n++] = args[i];
    argv[n] = NULL;
    if (program_start(&pid, life->dir, "cairn", (char *const *)(uintptr_t)argv,
                      environ) != 0) {
        wrong(life, &life->other, "cannot start cairn %s", args[0]);
        return -1;
    }
    if (kill_us) {
        pause_us(kill_us);
        kill(pid, SIGKILL);
    }
    int status = program_wait(pid, PATIENCE_MS, &hung);
    if (hung)
        wrong(life, &life->other, "cairn %s hung", args[0]);
    if (life->trace) {
        for (size_t i = 0; args[i]; i++)
            fprintf(stderr, " %.40s", args[i]);
        fprintf(stderr, " -> %d\n", status);
    }
    return status;
}

#define RUN(life, ...) run(life, 0, (const char *const[]){__VA_ARGS__, NULL})

static void must(struct life *life, int status, const char *what)
{
    char path[PATH_MAX];
    if (status == 0)
        return;
    wrong(life, &life->other, "%s ended with %d", what, status);
    snprintf(path, sizeof path, "%s/err.cairn", life->dir);
    char *text = file_text(path);
    printf("# %.300s\n", text ? text : "");
    free(text);
}

/* Killed, in some of the lives. */
static int run_risky(struct life *life, const char *const *args)
{
    uint32_t us = life->kills && below(life, 2) ? 200 + below(life, 12000) : 0;
    int status = run(life, us, args);
    life->killed += status == KILLED;
    return status;
}

static json_t *said(const struct life *life)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/out.cairn", life->dir);
    return json_load_file(path, 0, NULL);
}

/* ---- What is there ---- */

static void list_there(struct life *life)
{
    life->n_there = 0;
    for (int s = 1; s < 4; s++) {
        char name[4] = {'s', (char)('0' + s)};
        if (!life->sessions[s])
            continue;
        must(life,
             RUN(life, "checkpoint", "list", "--session", name, "--json", "--limit",
                 "100"),
             "checkpoint list");
        json_t *list = said(life), *one;
        size_t i;
        json_array_foreach(json_object_get(list, "checkpoints"), i,
                           one) if (life->n_there < CHECKPOINTS * 4)
            life->there[life->n_there++] =
            (uint64_t)json_integer_value(json_object_get(one, "seq"));
        json_decref(list);
    }
}

static bool is_there(const struct life *life, uint64_t seq)
{
    for (size_t i = 0; i < life->n_there; i++)
        if (life->there[i] == seq)
            return true;
    return false;
}

static bool is_live(const struct life *life, const struct word *word)
{
    for (size_t i = 0; i < word->n; i++)
        if (is_there(life, word->in[i]))
            return true;
    return word->session && life->sessions[word->session];
}

/* ---- Steps ---- */

static void write_file(struct life *life)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/p/conf", life->dir);
    FILE *file = fopen(path, "w");
    for (int i = 0; file && i < LINES; i++)
        fprintf(file, "%s\n", life->line[i]);
    if (!file || fclose(file))
        wrong(life, &life->other, "cannot write %s", path);
}

static void change_file(struct life *life)
{
    struct word *word = new_word(life);
    uint32_t at = below(life, LINES);
    if (word)
        snprintf(life->line[at], sizeof life->line[at], "setting_%u = %s", at,
                 word->text);
    write_file(life);
}

static void hold_file(struct life *life, uint64_t seq)
{
    for (size_t w = 0; life->files && w < life->n_words; w++)
        for (int i = 0; i < LINES; i++)
            if (strstr(life->line[i], life->words[w].text))
                hold(&life->words[w], seq);
}

static const char *some_session(struct life *life, int *number)
{
    static const char *const names[] = {"", "s1", "s2", "s3"};
    for (int i = 0; i < 8; i++) {
        *number = 1 + (int)below(life, 3);
        if (life->sessions[*number])
            return names[*number];
    }
    for (*number = 1; *number < 3 && !life->sessions[*number];)
        ++*number;
    if (!life->sessions[*number]) {
        must(life, RUN(life, "session", "start", names[*number]), "session start");
        must(life,
             RUN(life, "session", "config", "files", life->files ? "p" : "off",
                 "--session", names[*number]),
             "files");
        life->sessions[*number] = true;
    }
    return names[*number];
}

/* Long texts, of which most is the same each time. */
static void create(struct life *life)
{
    char description[NOISE * 2 + WORD + 40], summary[60], context[WORD + 20];
    int session;
    const char *name = some_session(life, &session);
    struct word *a = new_word(life), *b = new_word(life), *c = new_word(life);
    if (!a || !b || !c)
        return;
    uint32_t cut = below(life, NOISE);
    snprintf(description, sizeof description, "%.*s %s %s", (int)cut, life->noise,
             a->text, life->noise + cut);
    snprintf(summary, sizeof summary, "it is %s now", b->text);
    snprintf(context, sizeof context, "who=%s", c->text);
    int status =
        RUN(life, "checkpoint", "create", "--session", name, "--summary", summary,
            "--description", description, "--context", context, "--json");
    must(life, status, "checkpoint create");
    json_t *made = said(life);
    uint64_t seq = (uint64_t)json_integer_value(json_object_get(made, "seq"));
    if (!seq)
        wrong(life, &life->other, "no number of what was made");
    json_decref(made);
    hold(a, seq);
    hold(b, seq);
    b->shown = true;
    hold(c, seq);
    hold_file(life, seq);
}

static void add_message(struct life *life)
{
    char text[NOISE * 2 + WORD + 40];
    int session;
    const char *name = some_session(life, &session);
    struct word *word = new_word(life);
    uint32_t cut = below(life, NOISE);
    if (!word)
        return;
    snprintf(text, sizeof text, "%.*s %s %s", (int)cut, life->noise, word->text,
             below(life, 2) ? life->noise : "");
    must(life,
         RUN(life, "session", "message", "add", text, "--role", "user", "--session",
             name),
         "message add");
    word->session = session;
}

static void add_item(struct life *life)
{
    char text[WORD + 40];
    int session;
    const char *name = some_session(life, &session);
    struct word *word = new_word(life);
    if (!word)
        return;
    snprintf(text, sizeof text, "perhaps %s is the cause", word->text);
    must(life, RUN(life, "hypothesis", "add", text, "--session", name),
         "hypothesis add");
    word->session = session;
}

static void delete_one(struct life *life)
{
    char seq[24];
    list_there(life);
    for (size_t n = 1 + below(life, 4); n > 0 && life->n_there; n--) {
        snprintf(seq, sizeof seq, "%llu",
                 (unsigned long long)life->there[below(life, (uint32_t)life->n_there)]);
        int status = run_risky(
            life, (const char *const[]){"checkpoint", "delete", seq, "--yes", NULL});
        /* Several times the same, or one where a branch begins. */
        if (status != 0 && status != KILLED && status != 10 && status != 2)
            must(life, status, "checkpoint delete");
    }
}

static void delete_session(struct life *life)
{
    int session;
    const char *name = some_session(life, &session);
    if (below(life, 3))
        return;
    int status = run_risky(
        life, (const char *const[]){"session", "delete", name, "--yes", NULL});
    if (status == KILLED) {
        status = RUN(life, "session", "show", name);
        life->sessions[session] = status != 10;
    } else {
        must(life, status, "session delete");
        life->sessions[session] = false;
    }
    if (!life->sessions[session])
        for (size_t i = 0; i < life->n_words; i++)
            if (life->words[i].session == session)
                life->words[i].session = GONE;
}

static void prune(struct life *life)
{
    int session;
    const char *name = some_session(life, &session);
    int status = run_risky(life, (const char *const[]){"checkpoint", "prune",
                                                       "--session", name, "--keep-last",
                                                       "2", "--manual-too", NULL});
    if (status != KILLED)
        must(life, status, "checkpoint prune");
}

static void collect(struct life *life)
{
    int status = run_risky(life, (const char *const[]){"gc", NULL});
    if (status != KILLED)
        must(life, status, "gc");
}

static void search(struct life *life)
{
    if (life->n_words)
        must(
            life,
            RUN(life, "search", life->words[below(life, (uint32_t)life->n_words)].text),
            "search");
}

static void step(struct life *life)
{
    static void (*const steps[])(struct life *) = {
        create,         create,      create,   create,     change_file,
        change_file,    add_message, add_item, delete_one, delete_one,
        delete_session, prune,       collect,  search};
    steps[below(life, sizeof steps / sizeof *steps)](life);
}

/* ---- Looking for what is gone ---- */

struct hay {
    struct life *life;
    struct buf contents[2000];
    size_t n;
    char *room;
    const char *where;
    ZSTD_DCtx *zstd;
};
enum { MOST = 1 << 18 };

/* The end of the word, as an index of words has it behind what it begins with. */
static bool tells(struct hay *hay, const char *bytes, size_t n, const char *how)
{
    struct life *life = hay->life;
    for (size_t i = 0; i < life->n_words; i++) {
        const char *end = life->words[i].text + WORD - TOLD;
        if (is_live(life, &life->words[i]) || !memmem(bytes, n, end, TOLD))
            continue;
        wrong(life, &life->told, "%s is told by %s, %s", life->words[i].text,
              hay->where, how);
        return true;
    }
    return false;
}

static bool unpacks(struct hay *hay, const char *frame, size_t n,
                    const struct buf *prefix)
{
    size_t size = ZSTD_findFrameCompressedSize(frame, n);
    unsigned long long whole = ZSTD_getFrameContentSize(frame, n);
    if (ZSTD_isError(size) || whole > MOST)
        return false;
    ZSTD_DCtx_reset(hay->zstd, ZSTD_reset_session_only);
    if (prefix)
        ZSTD_DCtx_refPrefix(hay->zstd, prefix->data, prefix->size);
    size_t got = ZSTD_decompressDCtx(hay->zstd, hay->room, MOST, frame, size);
    return !ZSTD_isError(got) &&
           tells(hay, hay->room, got, prefix ? "after some content" : "unpacked");
}

static void look_at_bytes(struct hay *hay, const char *bytes, size_t n)
{
    static const char magic[4] = {0x28, (char)0xb5, 0x2f, (char)0xfd};
    bool told = tells(hay, bytes, n, "in the clear");
    for (size_t at = 0; at + sizeof magic < n && !told; at++) {
        const char *frame = memmem(bytes + at, n - at, magic, sizeof magic);
        if (!frame)
            return;
        at = (size_t)(frame - bytes);
        told = unpacks(hay, frame, n - at, NULL);
        for (size_t i = 0; i < hay->n && !told; i++)
            told = unpacks(hay, frame, n - at, &hay->contents[i]);
    }
}

static int note_content(void *context, const struct object_size *object)
{
    struct hay *hay = context;
    struct cairn_error error;
    struct buf *content = &hay->contents[hay->n];
    if (hay->n == sizeof hay->contents / sizeof *hay->contents)
        return 1;
    *content = (struct buf)BUF_INIT;
    if (store_get_object(hay->life->beside, &object->digest, content, &error))
        wrong(hay->life, &hay->life->lost, "object %llu: %s",
              (unsigned long long)object->id, error.text);
    hay->where = "an object";
    tells(hay, content->data ? content->data : "", content->size, "as its content");
    hay->n++;
    return 0;
}

static void look_at_file(struct hay *hay, const char *path)
{
    struct stat st;
    if (stat(path, &st) || !S_ISREG(st.st_mode) || st.st_size == 0)
        return;
    char *bytes = malloc((size_t)st.st_size);
    FILE *file = fopen(path, "r");
    size_t n = file && bytes ? fread(bytes, 1, (size_t)st.st_size, file) : 0;
    if (file)
        fclose(file);
    hay->where = strrchr(path, '/') + 1;
    look_at_bytes(hay, bytes, n);
    free(bytes);
}

static bool open_beside(struct life *life)
{
    struct cairn_store_options options = {.path = life->store};
    struct cairn_error error;
    if (!life->beside && cairn_store_open(&life->beside, &options, &error))
        wrong(life, &life->other, "cannot open the store: %s", error.text);
    return life->beside != NULL;
}

static void close_beside(struct life *life)
{
    cairn_store_close(life->beside);
    life->beside = NULL;
}

static void look(struct life *life)
{
    struct hay *hay = calloc(1, sizeof *hay);
    struct cairn_error error;
    bool was_beside = life->beside != NULL;
    DIR *dir = opendir(life->store);
    hay->life = life;
    hay->room = malloc(MOST);
    hay->zstd = ZSTD_createDCtx();
    if (open_beside(life) &&
        store_each_object(life->beside, INT64_MAX, 2000, note_content, hay, &error) < 0)
        wrong(life, &life->lost, "objects: %s", error.text);
    /* With it open, what is in the log; then what is left when all have closed it. */
    for (int closed = was_beside ? 0 : 1; dir && closed < 2; closed++) {
        if (closed)
            close_beside(life);
        rewinddir(dir);
        for (struct dirent *entry; (entry = readdir(dir));) {
            char path[PATH_MAX];
            snprintf(path, sizeof path, "%s/%s", life->store, entry->d_name);
            look_at_file(hay, path);
        }
    }
    if (dir)
        closedir(dir);
    for (size_t i = 0; i < hay->n; i++)
        buf_release(&hay->contents[i]);
    ZSTD_freeDCtx(hay->zstd);
    free(hay->room);
    free(hay);
}

/* What is left must be whole, and have its words. */
static void look_at_rest(struct life *life)
{
    must(life, RUN(life, "checkpoint", "verify"), "checkpoint verify");
    for (size_t i = 0; i < life->n_there && !life->hurt; i += 3) {
        char seq[24], path[PATH_MAX];
        snprintf(seq, sizeof seq, "%llu", (unsigned long long)life->there[i]);
        must(life, RUN(life, "checkpoint", "show", seq, "--json"), "checkpoint show");
        snprintf(path, sizeof path, "%s/out.cairn", life->dir);
        char *text = file_text(path);
        for (size_t w = 0; w < life->n_words; w++)
            if (life->words[w].shown && life->words[w].in[0] == life->there[i] &&
                (!text || !strstr(text, life->words[w].text)))
                wrong(life, &life->lost, "%s lost %s", seq, life->words[w].text);
        free(text);
    }
}

/* ---- A life ---- */

static void live(struct life *life)
{
    char p[PATH_MAX];
    int session;
    life->n_words = life->n_there = 0;
    memset(life->sessions, 0, sizeof life->sessions);
    memset(life->line, 0, sizeof life->line);
    for (int i = 0; i < NOISE; i++)
        life->noise[i] = below(life, 6) ? letter(life) : ' ';
    for (int i = 0; i < LINES; i++)
        snprintf(life->line[i], sizeof life->line[i], "setting_%d = none", i);
    snprintf(p, sizeof p, "%s/p", life->dir);
    if (mkdir(life->dir, 0700) || mkdir(p, 0700)) {
        wrong(life, &life->other, "cannot make %s", p);
        return;
    }
    write_file(life);
    setenv("CAIRN_STORE", life->store, 1);
    life->files = below(life, 2);
    some_session(life, &session);
    if (below(life, 4) == 0)
        open_beside(life);
    for (uint32_t i = 8 + below(life, 18); i > 0 && !life->hurt; i--)
        step(life);
    delete_one(life);
    must(life, RUN(life, "gc"), "the last gc");
    list_there(life);
    for (size_t i = 0; i < life->n_words; i++)
        life->told_words += !is_live(life, &life->words[i]);
    if (!life->hurt)
        look(life);
    close_beside(life);
    if (!life->hurt)
        look_at_rest(life);
}

static char *find_command(const char *name)
{
    const char *list = getenv("PATH");
    char path[PATH_MAX];
    while (list && *list) {
        size_t n = strcspn(list, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)n, list, name);
        if (access(path, X_OK) == 0)
            return strdup(path);
        list += n + (list[n] == ':');
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct life life;
    char *cairn = find_command("cairn");
    life.cairn = cairn;
    if (argc < 5 || !cairn) {
        fprintf(stderr,
                "usage: forgotten DIR SEED LIVES SECONDS, with cairn in PATH\n");
        return 2;
    }
    life.trace = getenv("TRACE") != NULL;
    unsetenv("CAIRN_SESSION");
    unsigned long lives = strtoul(argv[3], NULL, 10), bad = 0;
    unsigned long i = argc > 5 ? strtoul(argv[5], NULL, 10) : 0, first = i;
    int64_t until = now_ms() + 1000 * strtoll(argv[4], NULL, 10);
    for (; i < first + lives && bad < 5 && now_ms() < until; i++) {
        life.seed = strtoull(argv[2], NULL, 10) * 1000003 + i;
        life.kills = i % 3 == 2;
        life.hurt = false;
        snprintf(life.dir, sizeof life.dir, "%s/%lu", argv[1], i);
        snprintf(life.store, sizeof life.store, "%s/.cairn", life.dir);
        live(&life);
        if (!life.hurt) {
            remove_tree(life.dir);
            continue;
        }
        printf("# that was life %lu of seed %s\n", i, argv[2]);
        bad++;
    }
    printf("forgotten %lu %lu %lu %lu %lu %lu\n", i - first, life.told_words,
           life.killed, life.lost, life.told, life.other);
    free(cairn);
    return bad != 0;
}
