"""A person's tag for spam in notmuch teaches, as a move does.

`program` asks notmuch, whose database is only read. `tag` is the repeated job: it finds the messages that have got or
lost the tag since its last look. `reaction_to_tag` in the rules says what that means, and `AwakeAccount.learn_by_tag`
learns it. `part` gives the job to the service, and `checks` has what `doctor` says. The setting is `notmuch_tag`.
"""
