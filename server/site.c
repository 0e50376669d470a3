/* SPDX-License-Identifier: MIT */
#include "server/site.h"

#include "server/listen.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static bool random_word(char word[SITE_SECRET])
{
    unsigned char bytes[(SITE_SECRET - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(word + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* Takes as long for every wrong word of that length. */
static bool same_word(const char *given, size_t n, const char *word)
{
    unsigned char differs = 0;
    if (n != SITE_SECRET - 1)
        return false;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(given[i] ^ word[i]);
    return differs == 0;
}

bool site_may_listen(const struct site_options *options, char why[512])
{
    return listen_allowed(options->listen, options->remote, why);
}

bool site_new_token(struct site *site)
{
    if (site->secret[0] == '\0' && !random_word(site->secret))
        return false;
    return random_word(site->token);
}

bool site_has_cookie(const struct site *site, const char *header)
{
    size_t n = strlen(site->cookie);
    while (header && *header) {
        header += strspn(header, " \t;");
        size_t length = strcspn(header, ";");
        size_t end = length;
        while (end > 0 && (header[end - 1] == ' ' || header[end - 1] == '\t'))
            end--;
        if (end > n && strncmp(header, site->cookie, n) == 0 && header[n] == '=' &&
            same_word(header + n + 1, end - n - 1, site->secret))
            return true;
        header += length;
    }
    return false;
}

bool site_open(struct site *site, const char *path)
{
    static const char open[] = "/open/";
    size_t n = sizeof open - 1;
    char url[200];
    if (strncmp(path, open, n) != 0 ||
        !same_word(path + n, strlen(path + n), site->token))
        return false;
    site->failed = !site_new_token(site);
    snprintf(url, sizeof url, "%s/open/%s", site->url, site->token);
    if (!site->failed)
        site->options->address(site->options->context, url, false);
    return true;
}
