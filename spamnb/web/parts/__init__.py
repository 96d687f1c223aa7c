"""Parts of several pages: lines of the history, badges, the banner, names of mailboxes, charts."""
