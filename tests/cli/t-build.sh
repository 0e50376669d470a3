# examples/build: what is rebuilt after a change is what make rebuilds.
. "$TESTS/cli/tap.sh"

if ! command -v cc >/dev/null || ! command -v make >/dev/null; then
    skip 'a C project is built as make builds it' 'no cc or no make'
    done_testing
    exit
fi
# A compiler that says what it was called for.
mkdir bin
cat >bin/cc <<END
#!/bin/sh
for last; do :; done
echo "\$last" >>"\$BUILT"
PATH='$PATH' exec cc "\$@"
END
chmod +x bin/cc
PATH=$PWD/bin:$PATH
export BUILT=
unset MAKEFLAGS MAKELEVEL MFLAGS

for tool in make cairn; do
    mkdir $tool
    cp "$root"/examples/build/* $tool
    (cd $tool && sh sources.sh)
done
ok 'the workflow is no longer than the makefile' \
    test "$(wc -l <cairn/cairn.yaml)" -le "$(wc -l <make/Makefile)"
export CAIRN_STORE="$PWD/cairn/.cairn"

# build: both, and what each has built
build() { # COMMAND of cairn
    : >make.built
    : >cairn.built
    (cd make && BUILT=$PWD/../make.built make -s CC=cc) >make.out 2>&1
    is $? 0 "$what: make builds it"
    (cd cairn && BUILT=$PWD/../cairn.built cairn "$@") >cairn.out 2>&1
    is $? 0 "$what: cairn builds it"
    # The last argument of the link: the last object.
    sort make.built >make.sorted
    sort cairn.built >cairn.sorted
    is "$(cat cairn.sorted)" "$(cat make.sorted)" "$what: the same is built ($(wc -l <make.sorted) calls)"
    is "$(cairn/sums)" "$(make/sums)" 'the programs do the same'
}
edit() { # NAME COMMAND
    what=$1
    sleep 0.05
    for tool in make cairn; do
        (cd $tool/src && eval "$2")
    done
    build resume
}
what=all
build run cairn.yaml
is "$(wc -l <make.built)" 14 'all of it'
is "$(cairn/sums)" 18 'and it runs'
edit nothing :
is "$(wc -l <make.built)" 0 'then nothing'
edit 'a header of all' 'echo "#define START 5" >common.h'
is "$(wc -l <make.built)" 13 'but main.c'
edit 'a header within a header' 'echo "#define DEEP 3" >deep.h'
is "$(wc -l <make.built)" 7 'the even ones, and the program'
edit 'a header of one' 'echo "/* more */" >>unit_03.h'
edit 'a source' 'echo "/* more */" >>unit_04.c'
edit 'one header less' 'sed -i "/even.h/d; s/ [*] EVEN//" unit_06.c'
edit 'the header is not read there any more' 'echo "#define DEEP 4" >deep.h'
is "$(grep -c unit_06 make.built)" 0 'unit 6 stays'
edit 'a header moves to another place' 'mkdir ../new; mv deep.h ../new; sed -i s:deep.h:../new/deep.h: even.h'
edit 'two' 'echo "/* more */" >>unit_01.h; echo "/* more */" >>even.h'
for tool in make cairn; do rm $tool/obj/unit_07.o; done
edit 'an object is gone' :
for tool in make cairn; do rm -r $tool/obj $tool/sums; done
edit 'everything is gone' :
is "$(wc -l <make.built)" 14 'all of it'
done_testing
