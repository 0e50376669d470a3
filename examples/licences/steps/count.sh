#!/bin/sh
# Words, different words, and the most frequent word of five letters or more.
. steps/common.sh
text=$1
name=${text##*/}
tr '[:upper:]' '[:lower:]' <"$text" | tr -cs 'a-z0-9' '\n' | LC_ALL=C sort | uniq -c |
    awk -v OFS='\t' -v name="$name" '
        { words += $1; different++ }
        length($2) >= 5 && $1 > most { most = $1; word = $2 }
        END { print name, words + 0, different + 0, word }' |
    write_to "work/$name.count"
done_with "count[text=$text]"
