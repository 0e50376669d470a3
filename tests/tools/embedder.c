/* SPDX-License-Identifier: MIT */
/* A service for embeddings, for tests: 127.0.0.1 only.
 *
 *   embedder LOG
 *
 * Prints its port, and answers POST /WAY/v1/embeddings until its input ends. Its
 * vectors have a place for each of a few meanings, so that words with other letters can
 * be near. LOG gets, for each request, "REQUEST n KEY" with the number of texts and
 * what stands behind Bearer, and the body. WAY:
 *
 *   good      as it should be, in reverse order      401, 429, 500   that status
 *   few       one vector is missing                  other           other lengths
 *   long      5000 numbers     none                  no number at all
 *   garbage   no JSON          words                 texts in vectors
 *   huge      without an end   slow                  not before 60 s
 *   drop      hangs up         elsewhere             a redirect to good
 *   deep      arrays in arrays    some                  status 500 from the fifth on
 */
#include <arpa/inet.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BODY_MOST = 4 << 20, HEAD_MOST = 16384 };

static FILE *log_file;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static const char *const meanings[][4] = {{"car", "automobile", "vehicle", NULL},
                                          {"doctor", "physician", "surgeon", NULL},
                                          {"bug", "defect", "fault", NULL},
                                          {"money", "cash", "funds", NULL}};
enum { MEANINGS = sizeof meanings / sizeof meanings[0] };

static void send_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        bytes += sent;
        n -= (size_t)sent;
    }
}

static void answer(int fd, const char *status, const char *more, const char *body)
{
    char head[400];
    int n =
        snprintf(head, sizeof head,
                 "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\nConnection: close\r\n\r\n",
                 status, more, strlen(body));
    send_all(fd, head, (size_t)n);
    send_all(fd, body, strlen(body));
}

static json_t *vector_of(const char *text, size_t numbers)
{
    json_t *vector = json_array();
    for (size_t i = 0; i < numbers; i++) {
        int often = 0;
        for (size_t j = 0; i < MEANINGS && meanings[i][j]; j++)
            often += strstr(text, meanings[i][j]) != NULL;
        json_array_append_new(vector, json_real(often + 0.01));
    }
    return vector;
}

static void answer_vectors(int fd, const char *way, const json_t *input)
{
    size_t n = json_array_size(input), numbers = 8;
    json_t *root = json_object(), *data = json_array();
    for (size_t i = n; i-- > (strcmp(way, "few") == 0 ? 1 : 0);) {
        json_t *entry = json_object();
        const char *text = json_string_value(json_array_get(input, i));
        if (strcmp(way, "other") == 0)
            numbers = 5 + n + i;
        else if (strcmp(way, "long") == 0 || strcmp(way, "none") == 0)
            numbers = way[0] == 'l' ? 5000 : 0;
        json_object_set_new(entry, "index", json_integer((json_int_t)i));
        json_object_set_new(entry, "embedding",
                            strcmp(way, "words") == 0 ? json_pack("[s,s]", "a", "b")
                                                      : vector_of(text, numbers));
        json_array_append_new(data, entry);
    }
    json_object_set_new(root, "data", data);
    char *text = json_dumps(root, JSON_COMPACT);
    answer(fd, "200 OK", "Content-Type: application/json\r\n", text);
    free(text);
    json_decref(root);
}

static void answer_huge(int fd)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
                               "{\"data\":[{\"index\":0,\"embedding\":[";
    char numbers[4096];
    for (size_t i = 0; i + 2 <= sizeof numbers; i += 2)
        memcpy(numbers + i, "1,", 2);
    send_all(fd, head, sizeof head - 1);
    for (int i = 0; i < 100000; i++)
        if (send(fd, numbers, sizeof numbers, MSG_NOSIGNAL) <= 0)
            return;
}

static void answer_deep(int fd)
{
    static char body[200000];
    memset(body, '[', sizeof body - 1);
    answer(fd, "200 OK", "", body);
}

static void choose(int fd, const char *way, const json_t *input)
{
    static int requests;
    if (strcmp(way, "some") == 0 && ++requests > 4)
        way = "500";
    if (strcmp(way, "401") == 0)
        answer(fd, "401 Unauthorized", "", "{\"error\":\"no\"}");
    else if (strcmp(way, "429") == 0)
        answer(fd, "429 Too Many Requests", "", "");
    else if (strcmp(way, "500") == 0)
        answer(fd, "500 Internal Server Error", "", "<html>");
    else if (strcmp(way, "garbage") == 0)
        answer(fd, "200 OK", "", "<html>it is not JSON</html>");
    else if (strcmp(way, "elsewhere") == 0)
        answer(fd, "307 Temporary Redirect", "Location: /good/v1/embeddings\r\n", "");
    else if (strcmp(way, "huge") == 0)
        answer_huge(fd);
    else if (strcmp(way, "deep") == 0)
        answer_deep(fd);
    else if (strcmp(way, "slow") == 0)
        poll(NULL, 0, 60000);
    else if (strcmp(way, "drop") != 0)
        answer_vectors(fd, way, input);
}

static void note(size_t n, const char *head, const char *body)
{
    const char *key = strstr(head, "Bearer ");
    pthread_mutex_lock(&log_lock);
    fprintf(log_file, "REQUEST %zu %.*s\n%s\n", n,
            key ? (int)strcspn(key + 7, "\r\n") : 4, key ? key + 7 : "none", body);
    fflush(log_file);
    pthread_mutex_unlock(&log_lock);
}

/* The whole request: head and body are cut apart. */
static char *read_request(int fd, char **body)
{
    char *all = calloc(1, BODY_MOST + HEAD_MOST);
    size_t n = 0, wanted = 0;
    *body = NULL;
    while (all && (!*body || n < wanted) && n + 1 < BODY_MOST + HEAD_MOST) {
        ssize_t got = recv(fd, all + n, BODY_MOST + HEAD_MOST - 1 - n, 0);
        if (got <= 0)
            break;
        n += (size_t)got;
        char *end = strstr(all, "\r\n\r\n");
        char *length = strcasestr(all, "Content-Length: ");
        if (!*body && end && length) {
            *body = end + 4;
            wanted = (size_t)(*body - all) + strtoul(length + 16, NULL, 10);
        }
    }
    if (*body)
        (*body)[-4] = '\0';
    return all;
}

static void *serve(void *context)
{
    int fd = *(int *)context;
    char way[32] = "", *body;
    char *request = read_request(fd, &body);
    json_t *root = body ? json_loads(body, 0, NULL) : NULL;
    const json_t *input = json_object_get(root, "input");
    if (json_is_array(input) && sscanf(request, "POST /%31[a-z0-9]/", way) == 1) {
        note(json_array_size(input), request, body);
        choose(fd, way, input);
    } else {
        answer(fd, "400 Bad Request", "", "");
    }
    json_decref(root);
    free(request);
    close(fd);
    free(context);
    return NULL;
}

static void *wait_for_end(void *context)
{
    char byte;
    (void)context;
    while (read(0, &byte, 1) > 0)
        ;
    _exit(0);
}

int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t length = sizeof at;
    pthread_t thread;
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    log_file = argc == 2 ? fopen(argv[1], "a") : NULL;
    if (!log_file || server < 0 || bind(server, (struct sockaddr *)&at, length) != 0 ||
        listen(server, 16) != 0 ||
        getsockname(server, (struct sockaddr *)&at, &length) != 0)
        return 1;
    printf("%u\n", (unsigned)ntohs(at.sin_port));
    fflush(stdout);
    if (pthread_create(&thread, NULL, wait_for_end, NULL) != 0)
        return 1;
    for (;;) {
        int *fd = malloc(sizeof *fd);
        if (!fd || (*fd = accept(server, NULL, NULL)) < 0 ||
            pthread_create(&thread, NULL, serve, fd) != 0)
            return 1;
        pthread_detach(thread);
    }
}
