#include "url.h"

#include "percent.h"

#include <stdio.h>

int url_parse(const char *text, struct url *url)
{
    url->path[1] = '\0';
    int n = sscanf(text, "http://%63[^:/]:%5u%1[/]%126s", url->host, &url->port,
                   url->path, url->path + 1);
    return n < 3 ? -1 : percent_decode(url->path);
}
