"""Parts that several pages share: lines of the history, the banner, names of mailboxes, charts."""
