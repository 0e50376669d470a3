#include "http.h"

#include "url.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <unistd.h>

int http_status(const char *text)
{
    struct url url;
    int status = -1;
    if (url_parse(text, &url))
        return -1;
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((unsigned short)url.port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (inet_pton(AF_INET, url.host, &to.sin_addr) == 1 &&
        connect(fd, (struct sockaddr *)&to, sizeof to) == 0) {
        char answer[64] = "";
        dprintf(fd, "HEAD %s HTTP/1.0\r\n\r\n", url.path);
        if (read(fd, answer, sizeof answer - 1) > 0)
            sscanf(answer, "HTTP/%*s %d", &status);
    }
    close(fd);
    return status;
}
