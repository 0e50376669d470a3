#include "../src/url.h"

#include <assert.h>
#include <string.h>

int main(void)
{
    struct url url;
    assert(url_parse("http://127.0.0.1:80/a%20b", &url) == 0);
    assert(url.port == 80 && strcmp(url.path, "/a b") == 0);
    assert(url_parse("http://127.0.0.1:80/", &url) == 0 && strcmp(url.path, "/") == 0);
    assert(url_parse("ftp://127.0.0.1:21/", &url) == -1);
    return 0;
}
