#!/bin/sh
# Writes a small C project into src/: a main program and twelve units. Every unit includes
# its own header and common.h; the even ones also even.h, which includes deep.h.
set -eu
mkdir -p src
cd src
echo '#define START 1' >common.h
printf '#include "deep.h"\n#define EVEN DEEP\n' >even.h
echo '#define DEEP 2' >deep.h
echo '#include <stdio.h>' >main.c
for n in 01 02 03 04 05 06 07 08 09 10 11 12; do
    even=
    case $n in *[02468]) even=even ;; esac
    echo "int add_$n(int sum);" >"unit_$n.h"
    {
        echo "#include \"unit_$n.h\""
        echo '#include "common.h"'
        [ -z "$even" ] || echo '#include "even.h"'
        echo "int add_$n(int sum) { return sum + START${even:+ * EVEN}; }"
    } >"unit_$n.c"
    echo "#include \"unit_$n.h\"" >>main.c
done
{
    echo 'int main(void)'
    echo '{'
    echo '    int sum = 0;'
    for n in 01 02 03 04 05 06 07 08 09 10 11 12; do
        echo "    sum = add_$n(sum);"
    done
    echo '    return printf("%d", sum) < 0;'
    echo '}'
} >>main.c
