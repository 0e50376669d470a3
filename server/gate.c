/* SPDX-License-Identifier: MIT */
#include "server/gate.h"

#include "base/clock.h"
#include "base/os.h"
#include "server/server.h"
#include "server/site.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRAP "=?base64?"

/* The member of params that a method's Mcp-Name repeats, or NULL. */
static const char *name_member(const char *method)
{
    static const char *const rows[][2] = {
        {"tools/call", "name"}, {"prompts/get", "name"}, {"resources/read", "uri"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strcmp(rows[i][0], method) == 0)
            return rows[i][1];
    return NULL;
}

static int digit_of(char c)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Whether these n digits, in whole groups of four, are `text`. */
static bool is_base64_of(const char *from, size_t n, const char *text)
{
    size_t padding = n >= 2 ? (size_t)(from[n - 1] == '=') + (from[n - 2] == '=') : 0;
    size_t bytes = n / 4 * 3 - padding;
    if (n % 4 != 0 || bytes != strlen(text))
        return false;
    for (size_t i = 0; i < bytes; i++) {
        size_t at = i / 3 * 4 + i % 3;
        int high = digit_of(from[at]), low = digit_of(from[at + 1]);
        int shift = (int)(i % 3) * 2;
        if (high < 0 || low < 0 ||
            ((high << (2 + shift) | low >> (4 - shift)) & 255) !=
                (unsigned char)text[i])
            return false;
    }
    return true;
}

static bool is_value(const char *header, const char *text)
{
    size_t n, wrap = strlen(WRAP);
    header += strspn(header, " \t");
    n = strlen(header);
    while (n > 0 && (header[n - 1] == ' ' || header[n - 1] == '\t'))
        n--;
    if (n >= wrap + 2 && strncmp(header, WRAP, wrap) == 0 &&
        strncmp(header + n - 2, "?=", 2) == 0)
        return is_base64_of(header + wrap, n - wrap - 2, text);
    return n == strlen(text) && strncmp(header, text, n) == 0;
}

static bool agrees(const char *header, const char *name, const char *text,
                   char why[160])
{
    if (header && is_value(header, text))
        return true;
    snprintf(why, 160, "the header %s %s", name,
             header ? "differs from the request" : "is required");
    return false;
}

bool headers_agree(const struct headers *headers, const char *method,
                   const struct value *params, char why[160])
{
    const struct value *meta = value_member(params, "_meta");
    const char *version = value_text(value_member(meta, META "protocolVersion"));
    const char *member = name_member(method);
    const char *name = member ? value_text(value_member(params, member)) : NULL;
    return agrees(headers->version, "MCP-Protocol-Version", version ? version : "",
                  why) &&
           agrees(headers->method, "Mcp-Method", method, why) &&
           (!name || agrees(headers->name, "Mcp-Name", name, why));
}

/* A page from anywhere can have a browser send requests to a server on this machine: as
 * another origin, or by a name of its own that it lets point here. Neither passes, and
 * the token is asked for besides. */

#define TOKEN_RANDOM 32
#define TOKEN_LEAST 32
#define TOKEN_MOST 1024

/* ---- Names ---- */

/* Whether these n bytes are this name with our port, which may be left out if it is
 * that of HTTP. */
static bool is_place(const struct gate *gate, const char *text, const char *name)
{
    size_t n = strlen(name);
    char port[8];
    if (strncasecmp(text, name, n) != 0)
        return false;
    snprintf(port, sizeof port, ":%u", gate->port);
    return strcmp(text + n, port) == 0 || (gate->port == 80 && text[n] == '\0');
}

static bool is_port(const char *text)
{
    size_t n = strspn(text, "0123456789");
    return n > 0 && n <= 5 && text[n] == '\0';
}

/* One of --allow-host: a proxy before us has a port of its own. */
static bool is_allowed(const struct gate *gate, const char *place)
{
    for (size_t i = 0; gate->hosts && gate->hosts[i]; i++) {
        size_t n = strlen(gate->hosts[i]);
        if (strncasecmp(place, gate->hosts[i], n) == 0 &&
            (place[n] == '\0' || (place[n] == ':' && is_port(place + n + 1))))
            return true;
    }
    return false;
}

/* Whether it came from this machine: only that reaches the loopback interface. */
static bool is_local(const struct gate *gate, const struct knock *knock)
{
    return gate->loopback ||
           (knock->address && (strncmp(knock->address, "127.", 4) == 0 ||
                               strcmp(knock->address, "[::1]") == 0));
}

static bool is_ours(const struct gate *gate, const struct knock *knock,
                    const char *place)
{
    static const char *const loopback[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < COUNT_OF(loopback); i++)
        if (is_local(gate, knock) && is_place(gate, place, loopback[i]))
            return true;
    /* A number cannot be made to point elsewhere. */
    return knock->address && is_place(gate, place, knock->address);
}

static bool is_our_origin(const struct gate *gate, const struct knock *knock)
{
    static const char plain[] = "http://", tls[] = "https://";
    const char *origin = knock->origin;
    if (strncasecmp(origin, tls, sizeof tls - 1) == 0)
        return is_allowed(gate, origin + sizeof tls - 1);
    if (strncasecmp(origin, plain, sizeof plain - 1) != 0)
        return false;
    origin += sizeof plain - 1;
    return is_allowed(gate, origin) || is_ours(gate, knock, origin);
}

/* ---- Secrets ---- */

bool secret_is(const char *secret, const char *given, size_t n)
{
    unsigned char differs = 0;
    if (n == 0 || n != strlen(secret))
        return false;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(given[i] ^ secret[i]);
    return differs == 0;
}

static bool has_token(const struct gate *gate, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    const char *given;
    if (!authorization || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0)
        return false;
    given = authorization + sizeof scheme - 1;
    given += strspn(given, " ");
    return secret_is(gate->token, given, strlen(given));
}

/* ---- What is sent and taken ---- */

/* Whether a list of media types has this one, or all. */
static bool accepts(const char *list, const char *type)
{
    const char *slash = strchr(type, '/');
    size_t group = (size_t)(slash - type) + 1;
    while (list && *list) {
        size_t n;
        list += strspn(list, " \t,");
        n = strcspn(list, ",; \t");
        if ((n == 3 && strncmp(list, "*/*", 3) == 0) ||
            (n == strlen(type) && strncasecmp(list, type, n) == 0) ||
            (n == group + 1 && strncasecmp(list, type, group) == 0 &&
             list[group] == '*'))
            return true;
        list += strcspn(list, ",");
    }
    return false;
}

static bool is_json(const char *type)
{
    static const char json[] = "application/json";
    size_t n = sizeof json - 1;
    return type && strncasecmp(type, json, n) == 0 && strchr("; \t", type[n]);
}

static bool is_too_long(const char *length)
{
    char *end;
    unsigned long long n = length ? strtoull(length, &end, 10) : 0;
    return n > MESSAGE_BYTES;
}

static unsigned check_post(const struct knock *knock, const char **why)
{
    *why = "the content type is application/json";
    if (!is_json(knock->content_type))
        return 415;
    *why = "a client takes application/json and text/event-stream";
    if (knock->accept && (!accepts(knock->accept, "application/json") ||
                          !accepts(knock->accept, "text/event-stream")))
        return 406;
    *why = GATE_TOO_LONG;
    return is_too_long(knock->content_length) ? 413 : 0;
}

static unsigned check_place(const struct gate *gate, const struct knock *knock,
                            const char **why)
{
    /* Who reads another one of two than somebody before us would let it pass. */
    *why = "a header occurs twice that may occur once";
    if (knock->twice)
        return 400;
    *why = "this Host header is not allowed: see --allow-host";
    if (!knock->host ||
        (!is_allowed(gate, knock->host) && !is_ours(gate, knock, knock->host)))
        return 403;
    *why = "requests from pages of another origin are refused";
    return knock->origin && !is_our_origin(gate, knock) ? 403 : 0;
}

unsigned gate_check(const struct gate *gate, const struct knock *knock,
                    const char **why)
{
    unsigned status = check_place(gate, knock, why);
    if (status != 0)
        return status;
    *why = "the token is required: Authorization: Bearer TOKEN";
    if (!has_token(gate, knock->authorization))
        return 401;
    *why = "the address is " GATE_PATH ", without any %";
    if (strchr(knock->path, '%'))
        return 400;
    *why = "the address is " GATE_PATH;
    if (strcmp(knock->path, GATE_PATH) != 0)
        return 404;
    if (strcmp(knock->method, "POST") == 0)
        return check_post(knock, why);
    *why = "GET takes text/event-stream";
    if (strcmp(knock->method, "GET") == 0)
        return knock->accept && accepts(knock->accept, "text/event-stream") ? 0 : 406;
    *why = "the methods are POST, GET and DELETE";
    return strcmp(knock->method, "DELETE") == 0 ? 0 : 405;
}

/* ---- Pages: an address that counts once, and the cookie that it gives ---- */

void site_next_address(struct site *site)
{
    bool first = site->secret[0] == '\0';
    char url[200];
    char *key = site->options->key;
    site->failed = (first && random_hex(site->secret, SITE_SECRET / 2, NULL)) ||
                   (first && key && random_hex(key, SITE_SECRET / 2, NULL)) ||
                   random_hex(site->token, SITE_SECRET / 2, NULL);
    snprintf(url, sizeof url, "%s" SITE_OPEN "%s", site->url, site->token);
    if (!site->failed)
        site->options->address(site->options->context, url, first);
}

bool site_open(struct site *site, const char *path)
{
    size_t n = strlen(SITE_OPEN);
    if (strncmp(path, SITE_OPEN, n) != 0 ||
        !secret_is(site->token, path + n, strlen(path + n)))
        return false;
    site_next_address(site);
    return true;
}

/* "cairn-8080=..." among other cookies. */
static bool has_cookie(const struct site *site, const char *header)
{
    size_t n = strlen(site->cookie);
    while (header && *header) {
        header += strspn(header, " \t;");
        size_t length = strcspn(header, ";");
        size_t end = length;
        while (end > 0 && (header[end - 1] == ' ' || header[end - 1] == '\t'))
            end--;
        if (end > n && strncmp(header, site->cookie, n) == 0 && header[n] == '=' &&
            secret_is(site->secret, header + n + 1, end - n - 1))
            return true;
        header += length;
    }
    return false;
}

/* A form of ours: a browser says from where it was sent, and no other page can have it
 * sent as this type with the cookie. Whether it has the key is looked at later. */
static unsigned check_form(const struct site *site, const struct knock *knock,
                           const char **why)
{
    static const char form[] = "application/x-www-form-urlencoded";
    size_t n = sizeof form - 1;
    char *end = NULL;
    *why = "the method is GET";
    if (!site->options->key || strcmp(knock->path, SITE_ACT) != 0)
        return 405;
    *why = "a page of another site may not ask";
    if (knock->fetch_site && strcmp(knock->fetch_site, "same-origin") != 0)
        return 403;
    *why = "open the address that was printed last";
    if (!has_cookie(site, knock->cookie))
        return 401;
    *why = "the content type is that of a form";
    if (!knock->content_type || strncasecmp(knock->content_type, form, n) != 0 ||
        !strchr("; \t", knock->content_type[n]))
        return 415;
    *why = "a form says how long it is, and has at most 64 KiB";
    return !knock->content_length ||
                   strtoull(knock->content_length, &end, 10) > SITE_FORM_BYTES ||
                   end == knock->content_length || *end != '\0'
               ? 413
               : 0;
}

unsigned gate_page(const struct gate *gate, const struct site *site,
                   const struct knock *knock, const char **why)
{
    bool head = strcmp(knock->method, "HEAD") == 0;
    unsigned status = check_place(gate, knock, why);
    if (status != 0)
        return status;
    if (strcmp(knock->method, "POST") == 0)
        return check_form(site, knock, why);
    *why = "the method is GET";
    if (strcmp(knock->method, "GET") != 0 && !head)
        return 405;
    *why = "there is no such page: the part of an address before ? has no %";
    if (strchr(knock->path, '%'))
        return 400;
    *why = "GET has no body here";
    if (knock->content_length && strcmp(knock->content_length, "0") != 0)
        return 400;
    *why = "open the address that was printed last: it counts once, for one browser";
    if (strncmp(knock->path, SITE_OPEN, strlen(SITE_OPEN)) == 0 && !head)
        return 0;
    return has_cookie(site, knock->cookie) ? 0 : 401;
}

/* ---- The token ---- */

static char *wrong(char why[512], const char *path, const char *what)
{
    snprintf(why, 512, "the token file %s %s", path, what);
    return NULL;
}

/* A new file appears whole or not at all: it is written under another name, and does
 * not replace one that somebody else made meanwhile. */
static bool make_token(const char *path)
{
    char line[2 * TOKEN_RANDOM + 2], ending[9];
    struct buf name = BUF_INIT;
    bool made = false;
    int fd, error;
    if (random_hex(line, TOKEN_RANDOM, NULL) || random_hex(ending, 4, NULL))
        return false;
    line[2 * TOKEN_RANDOM] = '\n';
    buf_format(&name, "%s.%s", path, ending);
    fd = name.failed ? -1
                     : open(name.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        made = os_write_all(fd, (struct str){line, sizeof line - 1}) == 0 &&
               fsync(fd) == 0;
        made =
            close(fd) == 0 && made && (link(name.data, path) == 0 || errno == EEXIST);
        error = errno;
        unlink(name.data);
        errno = error;
    }
    buf_release(&name);
    return made;
}

static char *read_token(int fd, const char *path, char why[512])
{
    struct stat info;
    char bytes[TOKEN_MOST + 2];
    ssize_t n;
    size_t length;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return wrong(why, path, "is not a file");
    if (info.st_uid != geteuid())
        return wrong(why, path, "belongs to another user");
    if (info.st_mode & 077)
        return wrong(why, path,
                     "can be read by others: chmod 600 it, or remove it for a "
                     "new one");
    n = read(fd, bytes, sizeof bytes - 1);
    bytes[n > 0 ? n : 0] = '\0';
    length = strcspn(bytes, " \t\r\n");
    if (n < 0 || length < TOKEN_LEAST || length > TOKEN_MOST ||
        strspn(bytes + length, " \t\r\n") != (size_t)n - length)
        return wrong(
            why, path,
            "does not hold a token: one word of 32 to 1024 characters (without "
            "the file, one is made)");
    for (size_t i = 0; i < length; i++)
        if (bytes[i] <= ' ' || bytes[i] > '~')
            return wrong(why, path, "has characters that no header can have");
    bytes[length] = '\0';
    return strdup(bytes);
}

char *gate_token(const char *path, char why[512])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char *token;
    if (fd < 0 && errno == ENOENT) {
        if (!make_token(path)) {
            snprintf(why, 512, "cannot make the token file %s: %s", path,
                     strerror(errno));
            return NULL;
        }
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    }
    if (fd < 0) {
        snprintf(why, 512, "cannot open the token file %s: %s", path, strerror(errno));
        return NULL;
    }
    snprintf(why, 512, "out of memory");
    token = read_token(fd, path, why);
    close(fd);
    return token;
}
