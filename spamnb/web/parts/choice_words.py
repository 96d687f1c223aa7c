"""A person's choice in the words of the pages, such as "Spam from 0.97 up"."""

_SORTED = {"inbox": "keep {} in the inbox", "newsletters": "move {} to the newsletters"}
_CUTOFFS = {
    "spam_cutoff": "spam from {} up",
    "ham_cutoff": "ham up to {}",
    "newcomers_folder": "first letters go to {}",
    "newsletters_folder": "newsletters go to {}",
}


def cutoff_in_words(key: str, value: object) -> str:
    """Return a chosen cutoff or folder by its key in the configuration.

    >>> cutoff_in_words("spam_cutoff", 0.97), cutoff_in_words("ham_cutoff", 0.1)
    ('spam from 0.97 up', 'ham up to 0.1')
    """
    return _CUTOFFS[key].format(value)


def choice_in_words(summary: str) -> str:
    """Return a choice by its summary in the history.

    >>> choice_in_words("spam_cutoff 0.97"), choice_in_words("block *@shop.example")
    ('Spam from 0.97 up', 'block *@shop.example')
    >>> choice_in_words("newcomers_folder New")
    'First letters go to New'
    >>> choice_in_words("inbox *@shop.example")
    'keep *@shop.example in the inbox'
    """
    kind, _, value = summary.partition(" ")
    if kind in _SORTED:
        return _SORTED[kind].format(value)
    if kind not in _CUTOFFS:
        return summary
    words = cutoff_in_words(kind, value)
    return words[0].upper() + words[1:]
