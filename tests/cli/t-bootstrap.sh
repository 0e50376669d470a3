# bootstrap.sh on machines that this one is not: commands are replaced by small scripts.
. "$TESTS/cli/tap.sh"
mkdir -p project bin
cp "$root/bootstrap.sh" project

fake() { # NAME, body on stdin
    { echo '#!/bin/sh'; cat; } >"bin/$1"
    chmod +x "bin/$1"
}
bootstrap() {
    PATH="$PWD/bin:$PATH" sh project/bootstrap.sh "$@"
}
echo 'echo "make $*"' | fake make
echo 'echo 1' | fake nproc
echo "echo \"apt \$*\" >>'$PWD/calls'" | fake apt-get
echo 'echo 1000' | fake id
echo 'exit 1' | fake sudo
echo 'case "$*" in *libtpl-dev* | *check*) exit 1 ;; *) echo installed ;; esac' | fake dpkg-query

: >calls
exits 75 bootstrap demo
says 'apt-get install -y --no-install-recommends libtpl-dev check' 'without root: the one command to run'
silent_on calls

echo 'echo 0' | fake id
exits 0 bootstrap demo test
is "$(grep -c 'install.*libtpl-dev check' calls)" 1 'as root: it is run, for what is missing only'
says 'make -s -j1 demo test' 'and then make, with the targets'

: >calls
echo 'echo installed' | fake dpkg-query
exits 0 bootstrap
says 'make -s -j1 all' 'no target means all'
silent_on calls

echo 'echo 1000' | fake id
echo '[ "$1" = -n ] && shift && exec "$@"' | fake sudo
echo 'exit 1' | fake dpkg-query
exits 0 bootstrap lint
ok 'sudo is used when it asks for nothing' grep -q 'install.*clang-tidy' calls

rm -f bin/apt-get bin/dpkg-query
if command -v apt-get >/dev/null; then
    mkdir plain
    for tool in sh dirname tr echo cat mktemp rm find head; do
        ln -s "$(command -v $tool)" plain/$tool
    done
    cp bin/make bin/id bin/nproc plain
    run env PATH="$PWD/plain" "$(command -v sh)" project/bootstrap.sh demo
    is "$status" 75 'not Debian, no compiler: exit 75'
    says 'libsqlite3-dev' 'what is needed is named'
    cat >plain/pkg-config <<'END'
#!/bin/sh
exit 0
END
    cp plain/pkg-config plain/cc
    chmod +x plain/cc plain/pkg-config
    run env PATH="$PWD/plain" "$(command -v sh)" project/bootstrap.sh demo
    is "$status" 0 'not Debian, everything there: continues'
    says 'make -s -j1 demo' 'with make'
fi

done_testing
