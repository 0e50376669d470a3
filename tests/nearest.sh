#!/bin/sh
# Says that there is no test of this name, and which names are near. Usage:
#
#   printf '%s\n' EVERY NAME | sh tests/nearest.sh WORD...
#
# Near is what contains the word, is contained in it, or is at most two letters away.
awk -v words="$*" '
    function least(a, b) { return a < b ? a : b }
    # Insertions, deletions and replacements from a to b (Wagner and Fischer).
    function distance(a, b,    i, j, row, above, left) {
        for (j = 0; j <= length(b); j++) row[j] = j
        for (i = 1; i <= length(a); i++) {
            above = row[0]; row[0] = i
            for (j = 1; j <= length(b); j++) {
                left = above; above = row[j]
                row[j] = least(left + (substr(a, i, 1) != substr(b, j, 1)), least(row[j], row[j - 1]) + 1)
            }
        }
        return row[length(b)]
    }
    !seen[$1]++ { name[++names] = $1 }
    END {
        n = split(words, word, " ")
        for (i = 1; i <= n; i++) {
            near = ""
            for (k = 1; k <= names; k++)
                if (index(name[k], word[i]) || index(word[i], name[k]) || distance(name[k], word[i]) <= 2)
                    near = near " " name[k]
            print "there is no test named " word[i] (near == "" ? "" : "; near:" near)
        }
    }'
