#include "../src/http.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%s/hello.txt",
             getenv("CAIRN_PORT_SERVER"));
    assert(http_status(url) == 200);
    snprintf(url, sizeof url, "http://127.0.0.1:%s/none", getenv("CAIRN_PORT_SERVER"));
    assert(http_status(url) == 404);
    return 0;
}
