#compdef cairn
# SPDX-License-Identifier: MIT
# Completion of cairn for zsh: what the one for bash says.

_cairn() {
    local script=${CAIRN_COMPLETION:-@COMPLETION@} typed=${(Q)words[CURRENT]}
    local -a found
    whence -p bash >/dev/null && [[ -r $script ]] || { _files; return }
    found=("${(@f)$(bash "$script" $((CURRENT - 1)) "${(@Q)words}" 2>/dev/null)}")
    found=(${found:#})
    (( $#found )) || return 1
    # A directory goes on, and so does an option that wants a value.
    local -a open=(${(M)found:#*/}) closed=(${found:#*/})
    (( $#open )) && compadd -S '' -- $open
    (( $#closed )) && compadd -- $closed
    return 0
}

_cairn "$@"
