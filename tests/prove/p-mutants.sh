# shellcheck shell=sh disable=SC2154
# Takes away one mechanism after the other (tests/prove/mutants/NAME.patch), builds what
# that changes, and runs the test that the patch names: it must fail then, and pass
# without the patch. MUTANTS='write-lock sync' tries only these.
#
#   # removed: TITLE      what the reader of the table is told
#   # promises: G1 G12
#   # test: tests/unit/storage/check_store two_handles_take_turns     program, and what fails
#   # short               it is tried in the short form, too
#   # hangs               the test fails by waiting too long; elsewhere that proves nothing
#
# Works on a copy of the sources and of the objects of $BUILD, so that each mutant costs
# one or two compilations and a link.
set -u
export PROVERS="$BUILD"
dirs="$(sed -n 's|^\([a-z]*\):.*|\1|p' "$root/tests/lint/rooms" | tr '\n' ' ')cli server web"

# ---- The copy ----
copy_all() {
    # shellcheck disable=SC2086
    mkdir -p whole/build/tests whole/tests &&
        (cd "$root" && tar -cf - Makefile mk VERSION $dirs include docs examples tests/unit tests/support tests/tools tests/lint) |
            (cd whole && tar -xf -) || return
    # Objects built for a sanitizer or for coverage cannot be linked with ours.
    if [ -f "$BUILD/base/str.o" ] && ! nm "$BUILD/base/str.o" | grep -q '__[a-z]*san_\|gcov'; then
        # shellcheck disable=SC2086
        (cd "$BUILD" && tar -cf - $dirs cairn-helper tests/tools) |
            (cd whole/build && tar -xf -) || return
        # The lists of headers name the objects by the path that they had there.
        find whole/build -name '*.d' -exec \
            sed -i "s,^[^ :]*/\\($(echo "$dirs" | sed 's/ /\\|/g')\\)/\\([^ :]*\.o:\\),build/\\1/\\2," {} +
    fi
}

# ---- One test ----
# A mutant may leave processes behind, which is what some of them are about. With a
# number space of their own they end with the test.
alone='unshare --pid --fork --kill-child --mount-proc'
$alone true 2>/dev/null || alone="$alone --map-root-user"
$alone true 2>/dev/null || alone='env'

# What a test of a program in C may take is a tenth of its time limit (10 s), so that one
# that hangs by a mutation costs little. On a loaded machine that may be too short for one
# that does not: where it counts, and without a mutation, the whole limit is given.
briefly() {
    limit=60 share=0.1
}
patiently() {
    limit=300 share=1
}

# PROGRAM BUILD: leaves its TAP in the file tap. One that hangs or crashes fails, too.
start_test() {
    case $1 in
    *.sh)
        # shellcheck disable=SC2086
        (cd scratch && BUILD=$2 CAIRN_STORE=$PWD/.cairn TMPDIR=$PWD HOME=$PWD TESTS=$root/tests PATH="$2:$PATH" \
            exec timeout -k 5 "$limit" $alone sh "$root/$1") >tap 2>log </dev/null &
        ;;
    *)
        # shellcheck disable=SC2086
        SOURCE_ROOT=$root TMPDIR=$PWD/scratch CK_TAP_LOG_FILE_NAME=$PWD/tap CK_DEFAULT_TIMEOUT=100 \
            CK_TIMEOUT_MULTIPLIER=$share timeout -k 5 "$limit" $alone "$2/$1" >log 2>&1 </dev/null &
        ;;
    esac
}

# The same to its end, or until TEST has failed.
run_test() { # PROGRAM BUILD [TEST]
    rm -rf scratch tap log
    mkdir scratch
    start_test "$1" "$2"
    pid=$!
    while [ -n "${3-}" ] && kill -0 "$pid" 2>/dev/null; do
        if grep '^not ok ' tap 2>/dev/null | grep -qF "$3"; then
            kill "$pid" 2>/dev/null
            break
        fi
        sleep 0.1
    done
    code=0
    wait "$pid" 2>/dev/null || code=$?
}

# Is there a line `ok` (or `not ok`) about this test? "" stands for any, and then `ok`
# for all of them.
said() { # ok|'not ok', name
    if [ -z "$2" ] && [ "$1" = ok ]; then
        [ "$code" -eq 0 ] && ! grep -q '^not ok' tap
    elif [ -z "$2" ]; then
        [ "$code" -ne 0 ]
    else
        grep "^$1 " tap 2>/dev/null | grep -qF "$2"
    fi
}

# It was ended by a time limit, its own or that of its program.
took_too_long() { # TEST
    if said 'not ok' "$1"; then
        [ -n "$1" ] && grep '^not ok ' tap 2>/dev/null | grep -F "$1" | grep -q 'timeout expired'
    else
        [ "$code" -eq 124 ]
    fi
}

field() { # NAME PATCH
    sed -n "s/^# $1: *//p" "$2" | head -n 1
}

# ---- Each mutant ----
# Sets $found: what became of it.
try() { # PATCH PROGRAM TEST
    rm -rf tree
    cp -a whole tree || exit 1
    if ! patch -s -p1 -d tree <"$1" >log 2>&1; then
        found='the patch does not apply any more'
        return
    fi
    case $2 in
    *.sh) target=build/cairn ;;
    *) target=build/$2 ;;
    esac
    if ! make -s -C tree BUILD=build WERROR= SANITIZE= "$target" >log 2>&1; then
        found='the mutant does not compile'
        return
    fi
    briefly
    run_test "$2" "$PWD/tree/build" "$3"
    if ! grep -qx '# hangs' "$1" && took_too_long "$3"; then
        patiently
        run_test "$2" "$PWD/tree/build" "$3"
    fi
    if ! grep -qx '# hangs' "$1" && took_too_long "$3"; then
        found="the test $3 took too long"
    elif said 'not ok' "$3"; then
        found=noticed
    elif said ok "$3"; then
        found=unnoticed
    else
        found="the test $3 said nothing (exit $code)"
    fi
}

unset CC CFLAGS LDFLAGS OPT
copy_all || exit 1
# In case $BUILD is older than the sources: once, and not for every mutant.
make -s -C whole BUILD=build WERROR= SANITIZE= build/internal.so build/internal.a support build/cairn >log 2>&1 || {
    tail -n 20 log >&2
    exit 1
}
bad=0
tried=' '
for patch in "$root"/tests/prove/mutants/*.patch; do
    name=$(basename "$patch" .patch)
    if [ -n "${MUTANTS-}" ]; then
        case " $MUTANTS " in *" $name "*) ;; *) continue ;; esac
    elif [ "$LEVEL" != full ] && ! grep -qx '# short' "$patch"; then
        continue
    fi
    program=$(field test "$patch")
    test=${program#* }
    program=${program%% *}
    [ "$test" != "$program" ] || test=
    # Without any mutation: each program once.
    case $tried in
    *" $program "*) ;;
    *)
        patiently
        run_test "$program" "$BUILD"
        cp tap "whole.${program##*/}" 2>/dev/null
        [ "$code" -eq 0 ] || echo "# $program fails without any mutant, too"
        tried="$tried$program "
        ;;
    esac
    unnoticed=0 other=0
    if ! grep -qF "$test" "whole.${program##*/}" 2>/dev/null; then
        found="it has no test of this name"
    elif ! grep '^ok' "whole.${program##*/}" | grep -qF "$test"; then
        found="the test does not pass without it"
    else
        try "$patch" "$program" "$test"
    fi
    case $found in
    noticed) ;;
    unnoticed) unnoticed=1 ;;
    *) other=1 ;;
    esac
    if [ "$found" != noticed ]; then
        bad=1
        echo "# $name ($(field removed "$patch")): $found; tests/prove/mutants/$name.patch, $program $test"
        [ "$found" = unnoticed ] || tail -n 20 log | sed 's/^/#   /'
    fi
    echo "figure|$(field promises "$patch")|removed: $(field removed "$patch"); ${program##*/}${test:+, $test,} notices|1 mutant|0|0|$unnoticed|$other"
done
exit "$bad"
