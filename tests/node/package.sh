# shellcheck shell=sh disable=SC2154
# For tests of bindings/node; sourced behind tap.sh.

# node_package: compiles a copy of it, as npm would, into node_modules/ here. $package: where.
# Skips all where there is no node, or nothing to compile with.
node_package() {
    unset CAIRN_STORE CAIRN_SESSION
    command -v node >/dev/null || skip_all 'there is no node'
    if ldd "$BUILD/cairn" | grep -q 'lib[a-z]*san'; then
        skip_all 'this is a build with sanitizers, which node cannot load'
    fi
    package=$PWD/node_modules/@cairn/node
    mkdir -p "$PWD/node_modules/@cairn"
    cp -R "$root/bindings/node" "$package"
    rm -rf "$package/build" "$package/node_modules"
    if ! [ -e /usr/include/node/node_api.h ]; then
        mkdir -p "$BUILD/node" node_modules/node-api-headers
        [ -e "$BUILD/node/node-api-headers-1.9.0.tgz" ] || ! command -v npm >/dev/null ||
            (cd "$BUILD/node" && npm pack --silent node-api-headers@1.9.0) >npm.out 2>&1
        tar xzf "$BUILD/node/node-api-headers-1.9.0.tgz" --strip-components=1 -C node_modules/node-api-headers 2>/dev/null ||
            skip_all 'there are no headers of Node-API, and npm could not get them'
    fi
    export CAIRN_BUILD="$BUILD"
    run env CFLAGS='-Wall -Wextra -Werror' node "$package/build.mjs"
    is "$status" 0 'the addon is compiled'
    tap_context
}

# What a program has reported in the file tap.
report() {
    while IFS= read -r line; do
        case $line in
        'ok - '*) tap_report ok "${line#ok - }" ;;
        'not ok - '*) tap_report 'not ok' "${line#not ok - }" ;;
        *) echo "$line" ;;
        esac
    done <tap
    sed 's/^/# err: /' err
}
