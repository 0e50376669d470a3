#!/bin/sh
# Structs that callers fill begin with `size` (base/struct_take.h), but for those that
# are named here and never change; a test calls every public function that takes one.
set -eu
test=tests/unit/executor/check_struct_sizes.c
# Elements of arrays, parts of other structs, and what the library fills and takes back.
fixed='cairn_param cairn_set cairn_change cairn_page cairn_thread_channel
cairn_thread_write cairn_bytes cairn_merged cairn_head cairn_head_store'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat include/cairn/*.h | sed 's,/\*[^*]*\*/,,g' | awk '
    /^struct cairn_[a-z_]+ \{/ { name = $2; next_line = 1; next }
    next_line && NF { print (/^ *size_t size;/ ? "sized" : "plain"), name; next_line = 0 }
' >"$work/structs"
cat include/cairn/*.h | sed 's,/\*[^*]*\*/,,g' | tr '\n' ' ' | sed 's/CAIRN_API/\n&/g' |
    sed -n 's/^\(CAIRN_API [^#;]*\);.*/\1/p' >"$work/prototypes"
while read -r prototype; do
    function=$(printf '%s\n' "$prototype" | sed -E 's/^CAIRN_API[^(]*[ *](cairn_[a-z0-9_]+) *\(.*/\1/')
    # What callbacks get is filled by the library.
    printf '%s\n' "$prototype" | sed -E "s/.*[ *]$function *\(//; s/\(\*[a-z]*\)\([^)]*\)//g" |
        grep -oE 'const struct cairn_[a-z_]+ \*' | sed 's/const struct //; s/ \*//' |
        sed "s/^/$function /"
done <"$work/prototypes" | sort -u >"$work/taken"
while read -r function name; do
    if grep -qx "sized $name" "$work/structs"; then
        grep -qw "$function" "$test" ||
            echo "$function takes struct $name: call it in $test"
    elif grep -qx "plain $name" "$work/structs"; then
        printf '%s\n' "$fixed" | grep -qw "$name" ||
            echo "struct $name, which $function takes, does not begin with \`size\`"
    fi
done <"$work/taken" >"$work/found"
# The size in version 0.1 is known for each.
sed -n 's/^sized //p' "$work/structs" | while read -r name; do
    grep -q "^#define FIRST_END_$name " base/struct_take.h ||
        echo "struct $name: add FIRST_END_$name to base/struct_take.h"
done >>"$work/found"
# Until that is released, its last member is the last of the struct: one behind it would be
# ignored where `size` is 0.
if [ "$(cat VERSION)" = 0.1.0 ]; then
    cat include/cairn/*.h | tr '\n' ' ' | sed 's,/\*[^*]*\(\*[^/][^*]*\)*\*/,,g' |
        sed 's/struct cairn_[a-z_]* {/\n&/g' |
        sed -n 's/^struct \(cairn_[a-z_]*\) {\([^}]*\)}.*/\1 \2/p' |
        sed -E 's/\(\*([a-z_]+)\)\([^)]*\);/ \1;/g; s/^([a-z_]+) .*[ *]([a-z_0-9]+)(\[[^]]*\])?; *$/\1 \2/' >"$work/last"
    sed -n 's/^#define FIRST_END_//p' base/struct_take.h | while read -r name member; do
        grep -qx "$name $member" "$work/last" ||
            echo "FIRST_END_$name in base/struct_take.h is not the last member of the struct"
    done >>"$work/found"
fi
if [ -s "$work/found" ]; then
    cat "$work/found" >&2
    exit 1
fi
echo "struct_sizes: $(grep -c ^sized "$work/structs") structs begin with their size"
