#!/bin/sh
# make bench-agents: installs the peers below $BUILD once (better-sqlite3 may be compiled, which takes minutes), and measures.
set -eu
at=$(CDPATH='' cd -- "$(dirname "$0")" && pwd)
build=$(CDPATH='' cd -- "${BUILD:?}" && pwd)
dir=$build/bench-agents
mkdir -p "$dir"
cp "$at/bench.mjs" "$at/package.json" "$dir"
cd "$dir"
if ! [ -d node_modules/better-sqlite3/build ]; then
    ! [ -e /usr/include/node/node_api.h ] || export npm_config_nodedir=/usr
    npm install --silent --no-audit --no-fund
fi
rm -rf node_modules/@cairn
mkdir -p node_modules/@cairn
cp -R "$at/../../bindings/node" "$at/../../bindings/langgraph" node_modules/@cairn
CAIRN_BUILD=$build node node_modules/@cairn/node/build.mjs
exec node bench.mjs "${CHECKPOINTS:-10000}" "${BENCH_DIR:-.}"
