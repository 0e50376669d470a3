#!/bin/sh
# Writes a sheet of 2,000 samples to try the example with.
awk 'BEGIN {
    print "sample,group,batch,reads,factor,note"
    for (i = 1; i <= 2000; i++)
        printf "S%04d,%s,%s,%d,%d,\"row %d, as it was\"\n", i, i % 2 ? "case" : "control",
            i % 100 ? "b" int(i / 500) : "rejected", 1000 + 37 * i % 911, 1 + i % 3, i
}'
