/* SPDX-License-Identifier: MIT */
/* What an agent waits for a call of a tool.
 *
 *   calls [CAIRN [ROUNDS [SECONDS]]]      $BUILD/cairn 200 3
 *
 * `cairn mcp` over stdin and stdout, in turns: list answers by the server itself
 * (tools/list), read by a tool that reads (session_show), save stores a checkpoint
 * (checkpoint_save) after a note, and commit is a synced transaction of bare SQLite with
 * as many bytes. Then the same read over HTTP, from 8 clients at once for SECONDS. */
#include "bench/process.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/socket.h>

enum { WARM = 3, CLIENTS = 8, ANSWER = 1 << 20 };

static const char *dir;

/* ---- Over stdin and stdout ---- */

struct server {
    pid_t pid;
    FILE *to, *from;
    unsigned long calls;
};

static void start_server(struct server *s, const char *cairn, const char *store,
                         const char *listen)
{
    const char *argv[] = {cairn,  "mcp", "--store", store, listen ? "--listen" : NULL,
                          listen, NULL};
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || dup2(in[0], 0) < 0)
        bench_fail("pipe", strerror(errno));
    s->pid = bench_start(argv, out[1]);
    close(in[0]);
    close(out[1]);
    s->to = fdopen(in[1], "w");
    s->from = fdopen(out[0], "r");
    if (!s->to || !s->from)
        bench_fail("mcp", strerror(errno));
}

/* Milliseconds until the answer. */
static double call_ms(struct server *s, const char *method, const char *params)
{
    static char *line;
    static size_t capacity;
    char id[40];
    int64_t began = bench_now();
    snprintf(id, sizeof id, "\"id\":%lu,", ++s->calls);
    fprintf(s->to, "{\"jsonrpc\":\"2.0\",%s\"method\":\"%s\",\"params\":%s}\n", id,
            method, params);
    if (fflush(s->to))
        bench_fail("mcp", strerror(errno));
    do
        if (getline(&line, &capacity, s->from) < 0)
            bench_fail("mcp", "it has ended");
    while (!strstr(line, id));
    double ms = (double)(bench_now() - began) / 1e6;
    if (!strstr(line, "\"result\":") || strstr(line, "\"isError\":true"))
        bench_fail(method, line);
    return ms;
}

static const char hello[] = "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                            "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}";
static const char show[] = "{\"name\":\"session_show\",\"arguments\":{}}";

static sqlite3 *open_bare(void)
{
    char path[4200];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/bare.db", dir);
    if (sqlite3_open(path, &db) ||
        sqlite3_exec(db,
                     "PRAGMA page_size = 2048; PRAGMA journal_mode = WAL;"
                     "PRAGMA synchronous = FULL; CREATE TABLE t(x)",
                     NULL, NULL, NULL))
        bench_fail(path, sqlite3_errmsg(db));
    return db;
}

static double commit_ms(sqlite3 *db)
{
    int64_t began = bench_now();
    if (sqlite3_exec(db, "INSERT INTO t VALUES(randomblob(1024))", NULL, NULL, NULL))
        bench_fail("commit", sqlite3_errmsg(db));
    return (double)(bench_now() - began) / 1e6;
}

static void measure_pipes(const char *cairn, const char *store, unsigned long rounds)
{
    struct bench_samples list = {0}, read = {0}, save = {0}, commit = {0};
    struct server s = {0};
    char note[200];
    sqlite3 *db = open_bare();
    start_server(&s, cairn, store, NULL);
    call_ms(&s, "initialize", hello);
    for (unsigned long i = 0; i < rounds + WARM; i++) {
        snprintf(note, sizeof note,
                 "{\"name\":\"board_add\",\"arguments\":{\"kind\":\"note\",\"text\":"
                 "\"note %lu\"}}",
                 i);
        double list_ms = call_ms(&s, "tools/list", "{}");
        double read_ms = call_ms(&s, "tools/call", show);
        call_ms(&s, "tools/call", note);
        double save_ms = call_ms(
            &s, "tools/call",
            "{\"name\":\"checkpoint_save\",\"arguments\":{\"message\":\"bench\"}}");
        double bare_ms = commit_ms(db);
        if (i < WARM)
            continue;
        bench_add(&list, list_ms);
        bench_add(&read, read_ms);
        bench_add(&save, save_ms);
        bench_add(&commit, bare_ms);
    }
    double own = bench_quantile(&list, 0.5), other = bench_quantile(&read, 0.5);
    double saved = bench_quantile(&save, 0.5), bare = bench_quantile(&commit, 0.5);
    bench_figure("calls.list", &list, "ms");
    bench_figure("calls.read", &read, "ms");
    bench_value("calls.read.ratio", other / own, "of calls.list");
    bench_figure("calls.save", &save, "ms");
    bench_figure("calls.commit", &commit, "ms");
    bench_value("calls.save.over", saved - other - bare,
                "ms more than calls.read and calls.commit");
    fclose(s.to);
    fclose(s.from);
    bench_wait(s.pid, "mcp");
    sqlite3_close(db);
}

/* ---- Over HTTP ---- */

static struct {
    uint16_t port;
    char token[100];
    int64_t until;
} http;

struct client {
    pthread_t thread;
    unsigned long calls;
    char session[80], *answer;
    int fd;
};

/* The answer stands in client->answer, from its head on. */
static void post(struct client *c, const char *method, const char *params)
{
    char body[600], request[1400];
    int n = snprintf(body, sizeof body,
                     "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"method\":\"%s\",\"params\":%s}",
                     ++c->calls, method, params);
    int size = snprintf(
        request, sizeof request,
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n"
        "Content-Type: application/json\r\nAccept: application/json, "
        "text/event-stream\r\n%s%s%sContent-Length: %d\r\n\r\n%s",
        http.port, http.token, *c->session ? "Mcp-Session-Id: " : "", c->session,
        *c->session ? "\r\n" : "", n, body);
    if (send(c->fd, request, (size_t)size, MSG_NOSIGNAL) != size)
        bench_fail("http", strerror(errno));
    for (size_t got = 0;;) {
        ssize_t more = recv(c->fd, c->answer + got, ANSWER - 1 - got, 0);
        if (more <= 0)
            bench_fail("http", more ? strerror(errno) : "the connection was closed");
        got += (size_t)more;
        c->answer[got] = '\0';
        const char *end = strstr(c->answer, "\r\n\r\n"), *length;
        if (!end)
            continue;
        length = strcasestr(c->answer, "content-length: ");
        size_t whole = length && length < end ? (size_t)(end + 4 - c->answer) +
                                                    strtoul(length + 16, NULL, 10)
                                              : SIZE_MAX;
        if (got == whole || (whole == SIZE_MAX && got > 7 &&
                             !strcmp(c->answer + got - 7, "\r\n0\r\n\r\n")))
            break;
    }
    if (!strstr(c->answer, "\"result\":"))
        bench_fail(method, c->answer);
}

static void *run_client(void *context)
{
    struct client *c = context;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(http.port)};
    int one = 1;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->answer = bench_memory(ANSWER, 1);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) ||
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one))
        bench_fail("connect", strerror(errno));
    post(c, "initialize", hello);
    const char *session = strcasestr(c->answer, "mcp-session-id: ");
    if (!session || sscanf(session + 16, "%79[0-9a-f]", c->session) != 1)
        bench_fail("http", "no session");
    for (c->calls = 0; bench_now() < http.until;)
        post(c, "tools/call", show);
    close(c->fd);
    free(c->answer);
    return NULL;
}

static void read_token(const char *store)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/mcp.token", store);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%99s", http.token) != 1)
        bench_fail(path, "no token");
    fclose(file);
}

static void measure_http(const char *cairn, const char *store, unsigned long seconds)
{
    struct client clients[CLIENTS] = {{0}};
    struct server s = {0};
    unsigned port;
    start_server(&s, cairn, store, "127.0.0.1:0");
    if (fscanf(s.from, "http://127.0.0.1:%u/mcp", &port) != 1)
        bench_fail("mcp --listen", "no address");
    http.port = (uint16_t)port;
    read_token(store);
    int64_t began = bench_now();
    http.until = began + (int64_t)seconds * 1000000000;
    for (int i = 0; i < CLIENTS; i++)
        if (pthread_create(&clients[i].thread, NULL, run_client, &clients[i]))
            bench_fail("thread", strerror(errno));
    double calls = 0;
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i].thread, NULL);
        calls += (double)clients[i].calls;
    }
    bench_value("calls.http.read", calls / ((double)(bench_now() - began) / 1e9),
                "calls/s, 8 clients");
    kill(s.pid, SIGTERM);
    fclose(s.to);
    fclose(s.from);
    waitpid(s.pid, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *cairn = bench_cairn(argc > 1 ? argv[1] : NULL);
    unsigned long rounds = argc > 2 ? bench_number(argv[2]) : 200;
    unsigned long seconds = argc > 3 ? bench_number(argv[3]) : 3;
    struct cairn_error error;
    char path[4200];
    dir = bench_make_dir();
    snprintf(path, sizeof path, "%s/.cairn", dir);
    if (chdir(dir))
        bench_fail(dir, strerror(errno));
    struct cairn_store *store = bench_store(dir, CAIRN_SYNC_FULL);
    bench_check(cairn_session_start(store, "bench", true, NULL, &error), "session",
                &error);
    cairn_store_close(store);
    bench_head("a call of a tool");
    measure_pipes(cairn, path, rounds);
    measure_http(cairn, path, seconds);
    remove_tree(dir);
    return 0;
}
