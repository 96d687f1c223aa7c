"""The tag in notmuch as a part of the service."""

from collections.abc import Sequence

from spamnb.notmuch.tag import NotmuchTag
from spamnb.service.awake_account import AwakeAccount
from spamnb.service.jobs import ServiceJob
from spamnb.service.part import Part


class TagInNotmuch(Part):
    """Learns from the tag that one person's configuration names."""

    def jobs(self, awake: AwakeAccount) -> Sequence[ServiceJob]:
        """Return the job that asks notmuch, if there is a tag."""
        tag = awake.context.config.notmuch_tag
        return () if tag is None else (NotmuchTag(awake, tag),)
