#!/bin/sh
# Normalised compression distance: near 0 when one text says little that the other does
# not say, near 1 when they have nothing in common.
#   (size(ab) - min(size(a), size(b))) / max(size(a), size(b))
. steps/common.sh
a=work/${1##*/}.words
b=work/${2##*/}.words
size() {
    cat "$@" | gzip -9 -n | wc -c
}
awk -v a="$(size "$a")" -v b="$(size "$b")" -v both="$(size "$a" "$b")" \
    -v from="${1##*/}" -v to="${2##*/}" 'BEGIN {
        low = a < b ? a : b
        high = a < b ? b : a
        printf "%s\t%s\t%.4f\n", from, to, (both - low) / high
    }' | write_to "work/${1##*/}--${2##*/}.distance"
done_with "compare[a=$1,b=$2]"
