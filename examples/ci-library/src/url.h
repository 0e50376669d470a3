#ifndef URL_H
#define URL_H
/* The parts of http://HOST:PORT/PATH. */
struct url {
    char host[64];
    unsigned port;
    char path[128]; /* decoded */
};
/* Returns 0, or -1 for a text that is no such URL. */
int url_parse(const char *text, struct url *url);
#endif
