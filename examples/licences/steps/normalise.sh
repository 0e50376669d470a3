#!/bin/sh
# One word a line, lower case, nothing but letters and digits: layout does not count.
# Only the first 16,000 bytes: two such texts fit in the 32 KiB that gzip looks back.
. steps/common.sh
text=$1
[ -s "$text" ]
tr '[:upper:]' '[:lower:]' <"$text" | tr -cs 'a-z0-9' '\n' | head -c 16000 |
    write_to "work/${text##*/}.words"
done_with "normalise[text=$text]"
