# What is of shtab here: (c) 2020-2026 Casper da Costa-Luis, Mozilla Public License 2.0, https://mozilla.org/MPL/2.0/

# Lines of what spamnb prints that begin with the word $1, quoted as the shell needs it: of the command $2, by sed's $3.
_spamnb_lines() {
    local line at config=()
    for ((at = 1; at < COMP_CWORD; at++)); do
        [[ ${COMP_WORDS[at]} == --config ]] && config=(--config "${COMP_WORDS[at + 1]/#\~/$HOME}")
    done
    # shellcheck disable=SC2086
    spamnb "${config[@]}" $2 2>/dev/null | sed -n "$3" | while IFS= read -r line; do
        [[ $line == "$1"* ]] && printf '%q\n' "$line"
    done
}

_spamnb_folders() {
    _spamnb_lines "$1" config '@FOLDERS@'
}

_spamnb_numbers() {
    _spamnb_lines "$1" 'history --json' '@NUMBERS@'
}

# bash takes the = of --option=value for a word of its own, which shtab takes for the value.
_spamnb() {
    local word words=() COMP_CWORD=$COMP_CWORD
    for word in "${COMP_WORDS[@]:0:COMP_CWORD}"; do
        [[ $word == = ]] || words+=("$word")
    done
    words+=("${COMP_WORDS[COMP_CWORD]#=}")
    local COMP_WORDS=("${words[@]}")
    COMP_CWORD=$((${#words[@]} - 1))
    _shtab_spamnb
}
