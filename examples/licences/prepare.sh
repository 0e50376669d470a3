#!/bin/sh
# usage: prepare.sh [DIR]: gathers the texts of DIR (/usr/share/common-licenses) in
# texts/. Links are other names of a text: they go to aliases.tsv, not to texts/.
set -eu
from=${1:-/usr/share/common-licenses}
rm -rf texts work
mkdir texts work
: >aliases.tsv
for path in "$from"/*; do
    name=${path##*/}
    if [ -L "$path" ]; then
        target=$(readlink -f "$path")
        printf '%s\t%s\n' "${target##*/}" "$name" >>aliases.tsv
    elif [ -f "$path" ]; then
        cp "$path" "texts/$name"
    fi
done
echo "$(find texts -type f | wc -l) texts in texts/, $(wc -l <aliases.tsv) other names in aliases.tsv"
