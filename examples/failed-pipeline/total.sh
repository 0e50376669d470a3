#!/bin/sh
# total.sh FILE: adds up the amounts of $ORDERS orders.
awk -F ';' -v wanted="${ORDERS:?is not set}" '
    { amount = $3 }
    amount !~ /^[0-9]+\.[0-9][0-9]$/ {
        print "total.sh: order " $1 ": \"" amount "\" is no amount" >"/dev/stderr"
        exit failed = 1
    }
    { sum += amount }
    END {
        if (failed) exit 1
        if (NR != wanted) { print "total.sh: " NR " orders, not " wanted >"/dev/stderr"; exit 1 }
        printf "%.2f\n", sum
    }' "$1"
