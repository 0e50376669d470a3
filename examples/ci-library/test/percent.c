#include "../src/percent.h"

#include <assert.h>
#include <string.h>

int main(void)
{
    char good[] = "a%20b%2Fc", bad[] = "100%";
    assert(percent_decode(good) == 0 && strcmp(good, "a b/c") == 0);
    assert(percent_decode(bad) == -1);
    return 0;
}
