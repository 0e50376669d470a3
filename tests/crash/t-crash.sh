#!/bin/sh
# The crash tests (docs/crash-tests.md): a few of each kind, all with CAIRN_TEST_LEVEL=full.
unset CAIRN_STORE
case ${CAIRN_TEST_LEVEL-} in
full) exec "$BUILD/tests/crash/crash" --full ;;
*) exec "$BUILD/tests/crash/crash" --short ;;
esac
