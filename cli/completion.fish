# SPDX-License-Identifier: MIT
# Completion of cairn for fish: what the one for bash says.

function __cairn_words
    set -l script @COMPLETION@
    set -q CAIRN_COMPLETION; and set script $CAIRN_COMPLETION
    set -l before (commandline -opc)
    set -l typed (commandline -ct | string unescape)
    command -q bash; and test -r $script
    and bash $script (count $before) $before "$typed" 2>/dev/null
end

complete -c cairn -f -a '(__cairn_words)'
