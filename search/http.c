/* SPDX-License-Identifier: MIT */
/* One request by HTTP. libcurl is loaded here and nowhere else, so that no other
 * command waits for it and its libraries; where it is not installed the request fails,
 * and says so. No redirect is followed: a key goes to the address that was given. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#undef curl_easy_setopt
#undef curl_easy_getinfo

#include "base/error.h"
#include "search/service_int.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

enum { CONNECT_MS = 3000 };

struct curl {
    void *library;
    CURL *(*init)(void);
    CURLcode (*setopt)(CURL *, CURLoption, ...);
    CURLcode (*perform)(CURL *);
    CURLcode (*getinfo)(CURL *, CURLINFO, ...);
    void (*cleanup)(CURL *);
    struct curl_slist *(*append)(struct curl_slist *, const char *);
    void (*free_all)(struct curl_slist *);
};

/* It stays loaded: what it has set up at the end of the process is its own. */
static bool load(struct curl *curl)
{
    const struct {
        const char *name;
        void *at;
    } functions[] = {
        {"curl_easy_init", &curl->init},         {"curl_easy_setopt", &curl->setopt},
        {"curl_easy_perform", &curl->perform},   {"curl_easy_getinfo", &curl->getinfo},
        {"curl_easy_cleanup", &curl->cleanup},   {"curl_slist_append", &curl->append},
        {"curl_slist_free_all", &curl->free_all}};
    curl->library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!curl->library)
        return false;
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        void *found = dlsym(curl->library, functions[i].name);
        if (!found)
            return false;
        memcpy(functions[i].at, &found, sizeof found);
    }
    return true;
}

struct receiving {
    struct buf *answer;
    size_t most;
    bool too_long;
};

static size_t receive(char *bytes, size_t size, size_t n, void *context)
{
    struct receiving *r = context;
    size_t all = size * n;
    if (all > r->most - r->answer->size) {
        r->too_long = true;
        return 0;
    }
    buf_add(r->answer, bytes, all);
    return r->answer->failed ? 0 : all;
}

/* Writing to a connection that was closed would end the process. */
static CURLcode perform_quietly(const struct curl *curl, CURL *handle)
{
    sigset_t pipe, old, waiting;
    struct timespec now = {0, 0};
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&waiting);
    bool was_waiting = sigismember(&waiting, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe, &old);
    CURLcode result = curl->perform(handle);
    if (!was_waiting)
        sigtimedwait(&pipe, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return result;
}

static struct curl_slist *add_header(const struct curl *curl, struct curl_slist *list,
                                     const char *text, bool *failed)
{
    struct curl_slist *more = curl->append(list, text);
    if (!more)
        *failed = true;
    return more ? more : list;
}

static struct curl_slist *make_headers(const struct curl *curl,
                                       const struct http_request *request, bool *failed)
{
    struct buf line = BUF_INIT;
    struct curl_slist *list = NULL;
    list = add_header(curl, list, "Content-Type: application/json", failed);
    list = add_header(curl, list, "Accept: application/json", failed);
    list = add_header(curl, list, "Expect:", failed);
    if (request->key) {
        buf_format(&line, "Authorization: Bearer %s", request->key);
        if (line.failed)
            *failed = true;
        else
            list = add_header(curl, list, line.data, failed);
        if (line.data)
            explicit_bzero(line.data, line.size);
    }
    buf_release(&line);
    return list;
}

static CURLcode set_options(const struct curl *curl, CURL *handle,
                            const struct http_request *request,
                            struct receiving *receiving)
{
    const struct {
        CURLoption option;
        long value;
    } numbers[] = {{CURLOPT_POSTFIELDSIZE, (long)request->body.len},
                   {CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS},
                   {CURLOPT_TIMEOUT_MS, (long)request->timeout_ms},
                   {CURLOPT_NOSIGNAL, 1},
                   {CURLOPT_FOLLOWLOCATION, 0},
                   {CURLOPT_NETRC, CURL_NETRC_IGNORED}};
    CURLcode rc = curl->setopt(handle, CURLOPT_URL, request->url);
    if (rc == CURLE_OK)
        rc = curl->setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    if (rc == CURLE_OK && request->direct)
        rc = curl->setopt(handle, CURLOPT_PROXY, "");
    if (rc == CURLE_OK)
        rc = curl->setopt(handle, CURLOPT_POSTFIELDS, request->body.ptr);
    if (rc == CURLE_OK)
        rc = curl->setopt(handle, CURLOPT_WRITEFUNCTION, receive);
    if (rc == CURLE_OK)
        rc = curl->setopt(handle, CURLOPT_WRITEDATA, (void *)receiving);
    for (size_t i = 0; i < COUNT_OF(numbers) && rc == CURLE_OK; i++)
        rc = curl->setopt(handle, numbers[i].option, numbers[i].value);
    return rc;
}

static const char *reason(CURLcode result, const struct receiving *receiving)
{
    if (receiving->too_long)
        return "its answer is too long";
    switch (result) {
    case CURLE_COULDNT_CONNECT:
        return "no server answers there";
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return "its name is not known";
    case CURLE_OPERATION_TIMEDOUT:
        return "it took too long";
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return "its URL cannot be used";
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
        return "its certificate cannot be verified";
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return "the connection was lost";
    default:
        return NULL;
    }
}

static int ask(const struct curl *curl, const struct http_request *request,
               struct receiving *receiving, long *status, char why[SERVICE_WHY])
{
    bool failed = false;
    CURL *handle = curl->init();
    if (!handle)
        return CAIRN_ENOMEM;
    struct curl_slist *headers = make_headers(curl, request, &failed);
    CURLcode result = set_options(curl, handle, request, receiving);
    if (result == CURLE_OK)
        result = curl->setopt(handle, CURLOPT_HTTPHEADER, headers);
    if (result == CURLE_OK && !failed)
        result = perform_quietly(curl, handle);
    if (result == CURLE_OK && !failed)
        result = curl->getinfo(handle, CURLINFO_RESPONSE_CODE, status);
    curl->free_all(headers);
    curl->cleanup(handle);
    if (failed || receiving->answer->failed || result == CURLE_OUT_OF_MEMORY)
        return CAIRN_ENOMEM;
    if (result == CURLE_OK)
        return 0;
    const char *text = reason(result, receiving);
    snprintf(why, SERVICE_WHY, text ? "%s" : "it failed (libcurl says %.0s%d)",
             text ? text : "", (int)result);
    return 1;
}

int http_post(const struct http_request *request, struct buf *answer, long *status,
              char why[SERVICE_WHY], struct cairn_error *error)
{
    struct curl curl = {.library = NULL};
    struct receiving receiving = {.answer = answer, .most = request->answer_most};
    int rc = 1;
    if (load(&curl))
        rc = ask(&curl, request, &receiving, status, why);
    else
        snprintf(why, SERVICE_WHY, "%s",
                 "libcurl is not installed (libcurl4, or libcurl.so.4)");
    if (curl.library)
        dlclose(curl.library);
    return rc == CAIRN_ENOMEM ? error_nomem(error) : rc;
}
