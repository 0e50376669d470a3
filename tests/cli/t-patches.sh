# `checkpoint diff --patch` of every kind of file that becomes every other kind, beside
# each other in several orders, applied by git: what is not binary comes out (D3).
. "$TESTS/cli/tap.sh"
command -v git >/dev/null || skip_all 'there is no git'
export HOME=$PWD GIT_CONFIG_NOSYSTEM=1

kinds='none text ended empty binary other exec link dir bindir'
# Contents have the name in them: none is a copy of another one.
bin_in() { mkdir -p "$1" && printf 'z\0 %s\n' "${1##*/}" >"$1/z"; }
make_kind() { # PATH KIND
    case $2 in
    none) ;;
    text) printf '1\n%s\n3\n' "${1##*/}" >"$1" ;;
    ended) printf '1\n%s\nthree' "${1##*/}" >"$1" ;;
    empty) : >"$1" ;;
    binary) printf 'a\0b %s\n' "${1##*/}" >"$1" ;;
    other) printf 'a\0c %s\n' "${1##*/}" >"$1" ;;
    exec) printf '1\n%s\n3\n' "${1##*/}" >"$1" && chmod 755 "$1" ;;
    link) ln -s to "$1" ;;
    dir) mkdir "$1" && printf 'in %s\n' "${1##*/}" >"$1/t" ;;
    bindir) mkdir "$1" && printf 'in %s\n' "${1##*/}" >"$1/t" && bin_in "$1" ;;
    esac
}
# What a patch can make of it: binary files are only named, and stay.
make_result() { # PATH FROM TO
    case $2-$3 in
    binary-binary | other-other) make_kind "$1" "$2" ;;
    binary-* | other-*) make_kind "$1" "$2" ;;
    none-binary | none-other) ;;
    none-bindir | text-bindir | ended-bindir | empty-bindir | exec-bindir | link-bindir) make_kind "$1" dir ;;
    dir-bindir) make_kind "$1" dir ;;
    bindir-bindir) make_kind "$1" bindir ;;
    dir-binary | dir-other) ;; # what was in it goes
    *-binary | *-other) if [ "$2" = bindir ]; then bin_in "$1"; else make_kind "$1" "$2"; fi ;;
    bindir-dir) make_kind "$1" bindir ;;
    bindir-*) bin_in "$1" ;;
    *) make_kind "$1" "$3" ;;
    esac
}
listing() { # what is in a directory, but for empty directories
    (cd "$1" && find . -path ./.git -prune -o ! -type d -printf '%p %y %m %l ' \
        -exec sh -c '[ -L "$1" ] || [ ! -f "$1" ] || cksum <"$1"' sh {} \; -printf '\n' |
        sed 's/ \(6\|7\)[0-7][0-7] / \1 /' | sort)
}

mkdir p
exits 0 cairn session start s
exits 0 cairn session config files p
for step in 7 24; do
    rm -rf p/* git want
    mkdir git want
    i=0
    for from in $kinds; do
        for to in $kinds; do
            i=$((i + 1))
            name=$(printf '%03d-%s-%s' $((i * step % 101)) "$from" "$to")
            make_kind "p/$name" "$from"
            make_kind "git/$name" "$from"
            make_result "want/$name" "$from" "$to"
        done
    done
    # What moves: a rename and a copy of a text and of a binary.
    for kind in text binary; do
        printf '%s\0' "$kind of $step" | if [ $kind = text ]; then tr '\0' '\n'; else cat; fi >"p/$kind$step-moved"
        cp "p/$kind$step-moved" git/
        cp "p/$kind$step-moved" "want/$((100 - step))-$kind-new"
        printf 'kept %s\0' "$kind" | if [ $kind = text ]; then tr '\0' '\n'; else cat; fi >"p/$kind-kept"
        cp "p/$kind-kept" git/
        cp "p/$kind-kept" want/
        cp "p/$kind-kept" "want/$((100 - step))-$kind-copy"
    done
    before=$(cairn checkpoint create "before $step" 2>err)
    for file in p/*-*-*; do
        rm -rf "$file"
    done
    i=0
    for from in $kinds; do
        for to in $kinds; do
            i=$((i + 1))
            make_kind "p/$(printf '%03d-%s-%s' $((i * step % 101)) "$from" "$to")" "$to"
        done
    done
    for kind in text binary; do
        mv "p/$kind$step-moved" "p/$((100 - step))-$kind-new"
        cp "p/$kind-kept" "p/$((100 - step))-$kind-copy"
    done
    run cairn checkpoint create "after $step"
    exits 0 cairn checkpoint diff "$before" --patch
    cp out the.patch
    (cd git && git init -q --template= . && git apply --whitespace=nowarn ../the.patch) >git.out 2>&1
    is "$(cat git.out)" '' "order $step: git takes the patch"
    listing git >got
    listing want >wanted
    ok "order $step: and makes what should be there" cmp -s got wanted || diff got wanted | sed 's/^/# /'
done
done_testing
