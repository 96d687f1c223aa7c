"""Everything that changes mail or lessons: learn, move, withhold, undo, answer; and the question if mail may be moved.

>>> import pathlib, tempfile
>>> from spamnb.acts.may_move import hindrance
>>> from spamnb.config import Config
>>> from spamnb.ledger.ledger import Ledger
>>> with tempfile.TemporaryDirectory() as directory, Ledger(f"{directory}/ledger.sqlite") as ledger:
...     hindrance(ledger, Config(mailboxes=(), ledger=pathlib.Path(ledger.path)), now=0.0).missing
'20 more ham messages and 5 more spam messages to learn'
"""
