#!/bin/sh
# report.csv for programs, report.txt for people.
. steps/common.sh
cat "$@" >work/counts.tsv # of each text
tab=$(printf '\t')
awk -F '\t' '
    FILENAME ~ /aliases/ { alias[$1] = alias[$1] (alias[$1] ? " " : "") $2; next }
    FILENAME ~ /counts/ { words[$1] = $2; different[$1] = $3; frequent[$1] = $4; next }
    { printf "%d\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n", $2, $1, alias[$1], words[$1],
             different[$1], frequent[$1], $3, $4 }
' aliases.tsv work/counts.tsv work/clusters.tsv |
    LC_ALL=C sort -t "$tab" -k 1,1n -k 2,2 >work/report.tsv
awk -F '\t' '
    BEGIN { print "cluster,text,also_known_as,words,different_words,frequent_word,nearest,distance" }
    { printf "%s,\"%s\",\"%s\",%s,%s,\"%s\",\"%s\",%s\n", $1, $2, $3, $4, $5, $6, $7, $8 }
' work/report.tsv | write_to report.csv
awk -F '\t' '
    BEGIN { form = "%-8s %-12s %-10s %6s %10s  %-13s %-12s %s\n"
            printf form, "cluster", "text", "also", "words", "different", "frequent", "nearest", "distance" }
    { printf form, ($1 == last ? "" : $1), $2, $3, $4, $5, $6, $7, $8; last = $1 }
' work/report.tsv | write_to report.txt
done_with report
