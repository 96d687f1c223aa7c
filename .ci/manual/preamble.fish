# What is of shtab here: (c) 2020-2026 Casper da Costa-Luis, Mozilla Public License 2.0, https://mozilla.org/MPL/2.0/

# The --config FILE that was typed, to ask spamnb with it.
function _spamnb_config
    set -l words (commandline -opc)
    if set -l at (contains -i -- --config $words)
        echo --config
        echo (string replace -r '^~' $HOME -- $words[(math $at + 1)])
    end
end

function _spamnb_folders
    command -q spamnb; and spamnb (_spamnb_config) config 2>/dev/null | sed -n '@FOLDERS@'
end

function _spamnb_numbers
    command -q spamnb; and spamnb (_spamnb_config) history --json 2>/dev/null | sed -n '@NUMBERS@'
end
