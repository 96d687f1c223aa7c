# What is of shtab here: (c) 2020-2026 Casper da Costa-Luis, Mozilla Public License 2.0, https://mozilla.org/MPL/2.0/

# The --config FILE that was typed, to ask spamnb with it.
_spamnb_config() {
    local -a typed=(${(z)LBUFFER})
    local at=${typed[(ie)--config]}
    config=()
    (( at < $#typed )) && config=(--config ${${(Q)typed[at + 1]}/#\~/$HOME})
}

_spamnb_folders() {
    local -a config names
    _spamnb_config
    names=("${(@f)$(spamnb $config config 2>/dev/null | sed -n '@FOLDERS@')}")
    compadd -a names
}

_spamnb_numbers() {
    local -a config names
    _spamnb_config
    names=("${(@f)$(spamnb $config history --json 2>/dev/null | sed -n '@NUMBERS@')}")
    compadd -V numbers -a names
}
